"""Rankers: what every ranking estimator can do once it gives scores.

Room: scores in; ranks, predicted preferences and a pairwise accuracy out. Fits nothing.
May touch: `errors`, `arguments`, `data`, `metrics`.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ranking.arguments import Queries, item_pairs, query_codes
from ranking.arrays import Array
from ranking.data import Pairs, Preferences, as_preferences, take_qid
from ranking.errors import DataError
from ranking.graph import Reduction, Representative
from ranking.kernels import Gamma, Kernel
from ranking.metrics import pairwise_accuracy
from ranking.representation import Representation, represent


class Ranker(BaseEstimator):
    """A kernel model of preferences: shared parameters, how data are read, and what follows from scores."""

    def __init__(
        self,
        *,
        kernel: Kernel = "linear",
        gamma: Gamma = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        reduction: Reduction = "full",
        representative: Representative = "first",
        random_state: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.reduction = reduction
        self.representative = representative
        self.random_state = random_state

    def _read(
        self, X: Any, y: Any, qid: Any, pairs: Pairs | None, pair_weight: Any, margin: Any
    ) -> tuple[Representation, Preferences]:
        """Return the checked training data, and keep what scikit-learn expects to find."""
        X, qid = take_qid(X, qid)
        options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_min_samples": 2}
        if y is None and pairs is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; or pass pairs"
            )
        if y is None:
            X = validate_data(self, X, **options)
        else:
            X, y = validate_data(self, X, y, y_numeric=True, **options)
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
        kernel = (self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)
        return represent(X, *kernel), preferences

    def _rows(self, X: Any) -> Any:
        """Return e(x) of new rows, checked against those of the fit."""
        check_is_fitted(self)
        X, _ = take_qid(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self.representation_.evaluate(X)

    @abstractmethod
    def decision_function(self, X: Any) -> Array:
        """Return a score for every row: the higher, the more preferred."""

    def predict(self, X: Any) -> Array:
        """Return a score for every row, the same as `decision_function`."""
        return self.decision_function(X)

    def rank(self, X: Any, qid: Queries | None = None) -> Array:
        """Return the place of every row in its query, 1 for the most preferred; equal scores share one."""
        X, qid = take_qid(X, qid)
        scores = self.decision_function(X)
        places, codes = np.zeros(len(scores), dtype=np.int64), query_codes(qid, len(scores))
        for query in range(codes.max(initial=-1) + 1):
            places[codes == query] = rankdata(-scores[codes == query], method="min")
        return places

    def predict_pairs(self, X: Any, pairs: Any) -> Array:
        """Return for every pair (i, j) of rows +1 if i is preferred, -1 if j is, 0 if they score the same."""
        scores = self.decision_function(X)
        items = item_pairs(pairs, len(scores))
        return np.sign(scores[items[:, 0]] - scores[items[:, 1]])

    def score(self, X: Any, y: Any = None, qid: Queries | None = None, pairs: Any = None) -> float:
        """Return the pairwise accuracy: the mean over queries of the share of pairs in the right order.

        A pair with equal scores counts one half. With `pairs`, preferred row first, instead of labels y all
        pairs count alike.
        """
        X, qid = take_qid(X, qid)
        if pairs is None:
            return pairwise_accuracy(y, self.decision_function(X), qid)
        return float(np.mean((1 + self.predict_pairs(X, pairs)) / 2))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in ("tanimoto", "minmax")
        tags.target_tags.required = True
        return tags
