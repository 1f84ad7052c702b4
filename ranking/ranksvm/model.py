r"""RankSVM at one C: a kernel model of preferences with the hinge or the squared hinge loss.

.. math:: \min_f \; \tfrac12\|f\|^2 + C \sum_p \omega_p \, \ell(\Delta_p - (f_i - f_j)), \qquad
          \ell(t) = \max(0, t) \text{ or } \max(0, t)^2

The hinge loss is solved by `pqp`; the squared hinge loss by Newton's method (`solve_squared_hinge`), whose
solution is proved by its duality gap. C multiplies the loss. Other conventions: :math:`\lambda = 1/C` (Zapien
et al.).
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ranking.core.preferences import Pairs, Preferences
from ranking.core.representation import Representation, dual_solution, hinge_value
from ranking.core.validation import (
    Array,
    Queries,
    Rows,
    positive_number,
    require_choice,
)
from ranking.ranksvm.base import Ranker
from ranking.ranksvm.newton import solve_squared_hinge

Loss = Literal["hinge", "squared_hinge"]


@dataclass(kw_only=True, eq=False, repr=False)
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
    alpha_ : dual variables, one per pair of `preferences_`.
    coef_ : weights of features, of a linear kernel only.
    dual_coef_ : β, one per training row: f(x) = Σ β_i k(x_i, x).
    objective_, duality_gap_ : the optimal value, and how far it may be from it, relatively.
    solved_by_ : with the hinge loss, "point", or "path" where the path from C = 0 was followed instead.
    preferences_, n_features_in_, feature_names_in_.

    >>> ranker = RankSVM(C=10).fit([[0.0], [1.0], [3.0]], [1, 2, 3])
    >>> ranker.coef_, ranker.rank([[5.0], [4.0]])
    (array([1.]), array([1, 2]))
    """

    C: float = field(default=1.0, kw_only=False)
    loss: Loss = "hinge"

    def fit(
        self,
        X: Rows,
        y: ArrayLike | None = None,
        qid: Queries | None = None,
        pairs: Pairs | None = None,
        pair_weight: ArrayLike | None = None,
        margin: ArrayLike | None = None,
    ) -> "RankSVM":
        """Fit to labels y within queries qid, or to pairs (or a graph of them), the preferred row first."""
        C = positive_number(self.C, "C")
        require_choice(self.loss, ("hinge", "squared_hinge"), "loss")
        representation, preferences = self._read(X, y, qid, pairs, pair_weight, margin)
        if self.loss == "hinge":
            alpha, self.solved_by_ = dual_solution(
                representation.dual(preferences), C, representation.is_linear
            )
            self.objective_, self.duality_gap_ = hinge_value(representation, preferences, alpha, C)
        else:
            # unknowns are at most one per item here, in the dual one per pair, O(n²) of them
            # [Kuo et al. 2014, section 3.1]
            edges, weights, margins = preferences.pairs, preferences.weight, preferences.margin
            solution = solve_squared_hinge(representation.gram, edges, C, weights=weights, margins=margins)
            alpha, self.objective_ = solution.alpha, solution.objective
            self.duality_gap_ = solution.duality_gap
        return self._keep(representation, preferences, alpha)

    def _keep(self, representation: Representation, preferences: Preferences, alpha: Array) -> "RankSVM":
        """Keep a solution under the names scikit-learn's users look for."""
        self.representation_, self.preferences_, self.alpha_ = representation, preferences, alpha
        self._b = np.asarray(representation.basis(preferences.pairs) @ alpha).ravel()
        first, second = preferences.pairs.T
        n = preferences.n_items
        # β = Pᵀ α / λ in Zapien et al. (2009), section 3; our α is their α / λ, so it holds the factor
        self.dual_coef_ = np.bincount(first, alpha, n) - np.bincount(second, alpha, n)
        return self

    @property
    def coef_(self) -> Array:
        """The weights of features, of a linear kernel only."""
        check_is_fitted(self)
        if not self.representation_.is_linear:
            raise AttributeError("coef_ is only there with kernel='linear'; see dual_coef_")
        return self._b

    def decision_function(self, X: Rows) -> Array:
        """Return a score for every row: the higher, the more preferred."""
        return np.asarray(self._rows(X) @ self._b).ravel()
