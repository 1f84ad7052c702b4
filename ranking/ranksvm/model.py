r"""RankSVM at one C: a kernel model of preferences with the hinge or the squared hinge loss.

.. math:: \min_f \; \tfrac12\|f\|^2 + C \sum_p \omega_p \, \ell(\Delta_p - (f_i - f_j)), \qquad
          \ell(t) = \max(0, t) \text{ or } \max(0, t)^2

Every solver proves its solution by a duality gap. C multiplies the loss. Other conventions:
:math:`\lambda = 1/C` (Zapien et al.).
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ranking.core.graph import Reduction, Representative
from ranking.core.preferences import Pairs, Preferences, as_preferences, preferences_from_pairs, take_qid
from ranking.core.representation import KernelEstimator, ModelAtC, Representation, validated
from ranking.core.validation import (
    Array,
    Queries,
    Rows,
    numbers,
    positive_number,
    query_codes,
    require_choice,
    whole_number,
)
from ranking.errors import DataError, rounding_remedy
from ranking.metrics.rankings import pairwise_accuracy
from ranking.ranksvm.solvers import Fitted, Loss, Solver, Step, TrainingPairs, fit_at
from ranking.ranksvm.spaces import Solution


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
    ) -> tuple[Representation, TrainingPairs]:
        """Return the checked training data, and keep what scikit-learn expects to find."""
        X, qid = take_qid(X, qid)
        if y is None and pairs is None:
            message = "{found} requires {argument} to be passed, but the target y is None"
            raise DataError(message, argument="y", found=type(self).__name__, remedy="or pass pairs")
        # after the queries are taken out: a column of them must not count as a feature
        X, y = validated(self, X, y)
        if pairs is None and pair_weight is None and margin is None and self.reduction == "full":
            labels = numbers(y, "y")
            implied = TrainingPairs(labels, query_codes(qid, len(labels)))
            if implied.sums.count:
                return self._represent(X), implied
        given = as_preferences(
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
        return self._represent(X), TrainingPairs(None, None, given)

    @property
    def preferences_(self) -> Preferences:
        """The pairs of the fit, listed when they are first asked for."""
        check_is_fitted(self)
        return self._pairs.preferences

    def _new_rows(self, X: Any) -> Any:
        """Return new rows, checked against those of the fit."""
        check_is_fitted(self)
        return validated(self, take_qid(X)[0], reset=False)[0]

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


@dataclass(kw_only=True, eq=False, repr=False)
class RankSVM(ModelAtC, Ranker):
    """A ranking support vector machine with one C.

    Parameters
    ----------
    C
        What a violated preference costs.
    kernel, gamma, degree, coef0, kernel_params
        "linear", "rbf", "poly", "tanimoto", "minmax", "precomputed" or a function; see `kernel_matrix`.
    loss
        "hinge" or "squared_hinge".
    solver
        "auto" is "exact" up to 1 000 pairs and "newton" beyond. "exact" finds the optimum to rounding, with
        `pqp` for the hinge loss; "newton" counts pairs, and takes seconds for millions of them. The systems
        that the literature compares: "decomposition" (SVMlight), "cutting_plane" (SVMrank),
        "conditional_gradient" (ROSVM), "linear_program" (RV-SVM, which is another model); hinge loss only.
    tol
        The relative duality gap at which an iteration ends.
    max_iter
        Steps of an iteration at most; None for a large number that suits the solver.
    warm_start
        Whether "newton" starts from what the last fit reached, even one that was interrupted.
    cache_size
        Megabytes for a Gram matrix; a larger one is made anew in blocks at every step of an iteration.
    reduction, representative, random_state
        Which of the pairs that labels imply are used; see `preference_pairs`. A reduced graph is another
        soft-margin problem.

    Attributes
    ----------
    coef_ : weights of features, of a linear kernel only.
    dual_coef_ : β, one per training row: f(x) = Σ β_i k(x_i, x), up to the duality gap.
    alpha_ : dual variables, one per pair of `preferences_`, of solvers that know them.
    objective_, duality_gap_ : the value reached, and how far above the least it may be, relatively.
    n_iter_ : steps taken.
    solved_by_ : the solver; "point" or "path" where `pqp` solved one C or followed the path from C = 0.
    preferences_, n_features_in_, feature_names_in_.

    >>> ranker = RankSVM(C=10).fit([[0.0], [1.0], [3.0]], [1, 2, 3])
    >>> ranker.coef_, ranker.rank([[5.0], [4.0]])
    (array([1.]), array([1, 2]))
    """

    C: float = field(default=1.0, kw_only=False)
    loss: Loss = "hinge"
    solver: Solver = "auto"
    tol: float = 1e-6
    max_iter: int | None = None
    warm_start: bool = False
    cache_size: float = 1000.0

    @rounding_remedy("lower C")
    def fit(
        self,
        X: Rows,
        y: ArrayLike | None = None,
        qid: Queries | None = None,
        pairs: Pairs | None = None,
        pair_weight: ArrayLike | None = None,
        margin: ArrayLike | None = None,
        callback: Callable[[Step], None] | None = None,
    ) -> "RankSVM":
        """Fit to labels y within queries qid, or to pairs (or a graph of them), the preferred row first.

        `callback` receives a `Step` at every step of an iteration.
        """
        C = positive_number(self.C, "C")
        require_choice(self.loss, get_args(Loss), "loss")
        require_choice(self.solver, get_args(Solver), "solver")
        tol, cache_size = positive_number(self.tol, "tol"), positive_number(self.cache_size, "cache_size")
        steps = None if self.max_iter is None else whole_number(self.max_iter, "max_iter")
        representation, pairs_of_fit = self._read(X, y, qid, pairs, pair_weight, margin)

        def note(solution: Solution) -> None:
            # kept at once, so that a fit that is interrupted can go on from here
            self._reached = solution.point.coef
            if callback:
                callback(Step(solution.iterations, solution.objective, solution.gap))

        size = representation.X.shape[1] if representation.is_linear else representation.X.shape[0]
        reached = getattr(self, "_reached", None) if self.warm_start else None
        fitted = fit_at(
            representation,
            pairs_of_fit,
            C,
            self.loss,
            self.solver,
            tol=tol,
            max_iter=steps,
            cache_size=cache_size,
            start=reached if reached is not None and len(reached) == size else None,
            callback=note,
        )
        return self._keep(representation, pairs_of_fit, fitted)

    def _keep(self, representation: Representation, pairs: TrainingPairs, fitted: Fitted) -> "RankSVM":
        """Keep a solution under the names scikit-learn's users look for."""
        self.representation_, self._pairs = representation, pairs
        self._b = self._reached = fitted.coef
        self._alpha, self.dual_coef_ = fitted.alpha, fitted.dual_coef
        self.objective_, self.duality_gap_ = fitted.objective, fitted.gap
        self.n_iter_, self.solved_by_ = fitted.iterations, fitted.solver
        return self

    @property
    def alpha_(self) -> Array:
        """The dual variables, one per pair of `preferences_`."""
        check_is_fitted(self)
        if self._alpha is None:
            raise AttributeError(f"solver={self.solved_by_!r} knows only sums of alpha_; see dual_coef_")
        return self._alpha() if callable(self._alpha) else self._alpha

    def decision_function(self, X: Rows) -> Array:
        """Return a score for every row: the higher, the more preferred."""
        return self._scores(self._new_rows(X))
