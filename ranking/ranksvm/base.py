"""Rankers: what every ranking estimator can do once it gives scores."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ranking.core.graph import Reduction, Representative
from ranking.core.preferences import Pairs, Preferences, as_preferences, preferences_from_pairs, take_qid
from ranking.core.representation import KernelEstimator, Representation
from ranking.core.validation import Array, Queries, Rows, query_codes
from ranking.errors import DataError
from ranking.metrics.tables import pairwise_accuracy


class RankerMixin:
    """What follows from the scores of an estimator: ranks, preferences between rows, a pairwise accuracy."""

    @abstractmethod
    def decision_function(self, X: Rows) -> Array:
        """Return a score for every row: the higher, the more preferred."""

    def predict(self, X: Rows) -> Array:
        """Return a score for every row, the same as `decision_function`."""
        return self.decision_function(X)

    def rank(self, X: Rows, qid: Queries | None = None) -> Array:
        """Return the place of every row in its query, 1 for the most preferred; equal scores share one."""
        X, qid = take_qid(X, qid)
        scores = self.decision_function(X)
        codes = query_codes(qid, len(scores))
        # ranks of pandas ascend, and the highest score has place 1
        return pd.Series(-scores).groupby(codes).rank(method="min").to_numpy().astype(np.int64)

    def predict_pairs(self, X: Rows, pairs: Pairs) -> Array:
        """Return for every pair (i, j) of rows +1 if i is preferred, -1 if j is, 0 if they score the same."""
        scores = self.decision_function(X)
        first, second = preferences_from_pairs(pairs, len(scores)).pairs.T
        return np.sign(scores[first] - scores[second])

    def score(
        self, X: Rows, y: ArrayLike | None = None, qid: Queries | None = None, pairs: Pairs | None = None
    ) -> float:
        """Return the pairwise accuracy: the mean over queries of the share of pairs in the right order.

        A pair with equal scores counts one half. With `pairs`, preferred row first, instead of labels y all
        pairs count alike.
        """
        if (y is None) == (pairs is None):
            message = "give either {argument} (labels) or pairs (preferred row first), got {found}"
            raise DataError(message, argument="y", found="neither" if y is None else "both")
        X, qid = take_qid(X, qid)
        if pairs is None:
            return pairwise_accuracy(y, self.decision_function(X), qid)
        return float(np.mean((1 + self.predict_pairs(X, pairs)) / 2))


@dataclass(kw_only=True, eq=False, repr=False)
class Ranker(RankerMixin, KernelEstimator):
    """A kernel model of preferences: parameters that all of them have, and how data are read."""

    reduction: Reduction = "full"
    representative: Representative = "first"
    random_state: int | None = None

    def _read(
        self, X: Any, y: Any, qid: Any, pairs: Pairs | None, pair_weight: Any, margin: Any
    ) -> tuple[Representation, Preferences]:
        """Return the checked training data, and keep what scikit-learn expects to find."""
        X, qid = take_qid(X, qid)
        if y is None and pairs is None:
            message = "{found} requires {argument} to be passed, but the target y is None"
            raise DataError(message, argument="y", found=type(self).__name__, remedy="or pass pairs")
        # after the queries are taken out: a column of them must not count as a feature
        X, y = validated(self, X, y)
        preferences = as_preferences(
            X.shape[0],
            y,
            qid,
            pairs,
            pair_weight,
            margin,
            self.reduction,
            self.representative,
            self.random_state,
        )
        return self._represent(X), preferences

    def _rows(self, X: Any) -> Any:
        """Return e(x) of new rows, checked against those of the fit."""
        check_is_fitted(self)
        X, _ = take_qid(X)
        return self.representation_.evaluate(validated(self, X, reset=False)[0])

    @property
    def cycle_(self) -> tuple[int, ...] | None:
        """Training rows whose preferences contradict one another, (3, 7, 5) for 3 > 7 > 5 > 3, or None.

        Contradictions are not errors: the loss weighs them. All of them cannot be met, though.
        """
        check_is_fitted(self)
        return self.preferences_.cycle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def validated(estimator: BaseEstimator, X: Any, y: Any = None, reset: bool = True) -> tuple[Any, Any]:
    """Return rows, and labels if there are any, as scikit-learn checks them."""
    # one row can be scored, but a fit needs two, since one alone is preferred to nothing
    options = {"accept_sparse": "csr", "dtype": np.float64, "reset": reset, "ensure_min_samples": 1 + reset}
    try:
        if y is None:
            return validate_data(estimator, X, **options), None
        X, y = validate_data(estimator, X, y, y_numeric=True, **options)
        return X, y
    except ValueError as error:
        message = "{argument} cannot be used: {found}"
        raise DataError(message, argument="X" if y is None else "X with y", found=str(error)) from error
