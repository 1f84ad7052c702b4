r"""RankSVM at one C: a kernel model of preferences with the hinge or the squared hinge loss.

.. math:: \min_f \; \tfrac12\|f\|^2 + C \sum_p \omega_p \, \ell(\Delta_p - (f_i - f_j)), \qquad
          \ell(t) = \max(0, t) \text{ or } \max(0, t)^2

C multiplies the loss. Other conventions: :math:`\lambda = 1/C` (Zapien et al.).

Room: rows and preferences in, a fitted estimator out.
May touch: `errors`, `arguments`, `arrays`, `graph`, `kernels`, `data`, `newton`, `representation`,
`ranker`, and `pqp`.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

import pqp
from ranking.arguments import Queries, positive_number
from ranking.arrays import Array
from ranking.data import Pairs, Preferences
from ranking.errors import DataError
from ranking.graph import Reduction, Representative
from ranking.kernels import Gamma, Kernel
from ranking.newton import solve_squared_hinge
from ranking.ranker import Ranker
from ranking.representation import Representation, hinge_value

Loss = Literal["hinge", "squared_hinge"]


class RankSVM(Ranker):
    """A ranking support vector machine with one C.

    Parameters
    ----------
    C
        What a violated preference costs.
    kernel, gamma, degree, coef0, kernel_params
        "linear", "rbf", "poly", "tanimoto", "minmax", "precomputed" or a function; see `kernel_matrix`.
    loss
        "hinge", solved exactly by `pqp`, or "squared_hinge", by Newton's method.
    reduction, representative, random_state
        Which of the pairs that labels imply are used; see `preference_pairs`. A reduced graph is another
        soft-margin problem.

    Attributes
    ----------
    alpha_ : dual variables, one a pair of `preferences_`.
    coef_ : weights of features, of a linear kernel only.
    dual_coef_ : β, one a training row: f(x) = Σ β_i k(x_i, x).
    objective_, duality_gap_ : the optimal value, and how far it may be from it, relatively.
    preferences_, n_features_in_, feature_names_in_.

    >>> ranker = RankSVM(C=10).fit([[0.0], [1.0], [3.0]], [1, 2, 3])
    >>> ranker.coef_, ranker.rank([[5.0], [4.0]])
    (array([1.]), array([1, 2]))
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Kernel = "linear",
        loss: Loss = "hinge",
        gamma: Gamma = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        reduction: Reduction = "full",
        representative: Representative = "first",
        random_state: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            reduction=reduction,
            representative=representative,
            random_state=random_state,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Queries | None = None,
        pairs: Pairs | None = None,
        pair_weight: Any = None,
        margin: Any = None,
    ) -> "RankSVM":
        """Fit to labels y within queries qid, or to pairs (a graph will do), the preferred row first."""
        C = positive_number(self.C, "C")
        if self.loss not in ("hinge", "squared_hinge"):
            raise DataError(f"loss must be 'hinge' or 'squared_hinge', got {self.loss!r}")
        representation, preferences = self._read(X, y, qid, pairs, pair_weight, margin)
        if self.loss == "hinge":
            alpha = _solve_hinge(representation, preferences, C)
            self.objective_, self.duality_gap_ = hinge_value(representation, preferences, alpha, C)
        else:
            edges, weights, margins = preferences.pairs, preferences.weight, preferences.margin
            solution = solve_squared_hinge(representation.gram, edges, C, weights=weights, margins=margins)
            alpha, self.objective_, self.duality_gap_ = (
                solution.alpha,
                solution.objective,
                solution.duality_gap,
            )
        return self._keep(representation, preferences, alpha)

    def _keep(self, representation: Representation, preferences: Preferences, alpha: Array) -> "RankSVM":
        """Keep a solution under the names scikit-learn's users look for."""
        self.representation_, self.preferences_, self.alpha_ = representation, preferences, alpha
        self._b = np.asarray(representation.basis(preferences.pairs) @ alpha).ravel()
        first, second = preferences.pairs.T
        n = preferences.n_items
        self.dual_coef_ = np.bincount(first, alpha, n) - np.bincount(second, alpha, n)
        return self

    @property
    def coef_(self) -> Array:
        """The weights of features, of a linear kernel only."""
        check_is_fitted(self)
        if not self.representation_.is_linear:
            raise AttributeError("coef_ is only there with kernel='linear'; see dual_coef_")
        return self._b

    def decision_function(self, X: Any) -> Array:
        """Return a score for every row: the higher, the more preferred."""
        return np.asarray(self._rows(X) @ self._b).ravel()


def _solve_hinge(representation: Representation, preferences: Preferences, C: float) -> Array:
    """Return the dual solution at one C.

    The end of the path from C = 0, where every pair is violated. Where it has many pieces, with kernels of
    high rank, `pqp.solve` is faster, but may lose its way among the ties of a kernel of low rank.
    """
    problem = representation.dual(preferences)
    if not representation.is_linear:
        try:
            return np.asarray(pqp.solve(problem, C).x)
        except pqp.NumericalTroubleError:
            pass
    return np.asarray(pqp.solve_path(problem, (0.0, C)).x(C))
