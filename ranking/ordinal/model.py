r"""Ordinal regression at one C: a score and thresholds with fixed margins (Shashua, Levin; Izunaga et al.).

.. math:: \min_{f, p} \; \tfrac12\|f\|^2 + C \sum_r \omega_r \, \xi_r^{q}, \qquad
          s_r (f(x_r) - p_{k_r}) \ge 1 - \xi_r, \quad \xi \ge 0, \quad q = 1, 2

over the hinges r of all objects. C multiplies the loss; the paper's c is 2 C, see `conventions`.

Room: rows and labels in, a fitted estimator out.
May touch: `errors`, `arguments`, `arrays`, `kernels`, `training`, `hinges`, `dual`, `thresholds`,
`separation`, and `pqp`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import pqp
from ranking.arguments import positive_number
from ranking.arrays import Array
from ranking.errors import DataError
from ranking.kernels import Gamma, Kernel
from ranking.ordinal.dual import dual_program, dual_value, primal_value, squared_dual_program
from ranking.ordinal.hinges import Scope
from ranking.ordinal.thresholds import middle_thresholds
from ranking.ordinal.training import OrdinalModel, Training


class OrdinalSVM(OrdinalModel):
    """An ordinal support vector machine with one C.

    Parameters
    ----------
    C
        What a violated margin costs; `inf` for the hard margin, which separable data have.
    norm
        1 for Σ ξ, 2 for Σ ξ².
    kernel, gamma, degree, coef0, kernel_params
        "linear", "rbf", "poly", "tanimoto", "minmax", "precomputed" or a function; see `kernel_matrix`.
    levels
        The labels in order, lowest first. Numbers and ordered categoricals have an order of their own.
    scope
        "adjacent": an object is compared with the thresholds beside its level; "all": with every threshold,
        which orders them by itself.
    ordered
        Whether thresholds are made to ascend. The paper does not ask for it; where its own solution ascends
        both are the same.

    Attributes
    ----------
    coef_ : weights of features, of a linear kernel only.
    dual_coef_ : one a training row: f(x) = Σ β_i k(x_i, x).
    thresholds_ : ascending; of several optimal ones the middle.
    classes_ : the levels that occur, lowest first.
    objective_, duality_gap_ : the optimal value, and how far it may be from it, relatively.
    n_features_in_, feature_names_in_.

    >>> model = OrdinalSVM(C=10).fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    Traceback (most recent call last):
    ...
    ranking.errors.DataError: y holds labels without an order of their own, 'a', 'b'; pass levels=[...], ...
    >>> model = OrdinalSVM(C=10, levels=["a", "b"]).fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.coef_, model.thresholds_, model.predict([[1.9], [2.1]])
    (array([1.]), array([2.]), array(['a', 'b'], dtype=object))
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        norm: int = 1,
        kernel: Kernel = "linear",
        gamma: Gamma = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        levels: Sequence[Any] | None = None,
        scope: Scope = "adjacent",
        ordered: bool = True,
    ) -> None:
        self.C = C
        self.norm = norm
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            levels=levels,
            scope=scope,
            ordered=ordered,
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "OrdinalSVM":
        """Fit to ordered labels; an object with weight 2 counts like two equal ones."""
        C = positive_number(self.C, "C", can_be_infinite=True)
        if self.norm not in (1, 2):
            raise DataError(f"norm must be 1 or 2, got {self.norm!r}")
        training = self._read(X, y, sample_weight)
        return self._keep(training, self._solved(training, C), C)

    def _solved(self, training: Training, C: float) -> Array:
        """Return the dual variables."""
        representation, hinges = training.representation, training.hinges
        if self.norm == 2:
            return np.asarray(pqp.solve(squared_dual_program(representation, hinges, self.ordered, C), 0).x)
        return np.asarray(pqp.solve(dual_program(representation, hinges, self.ordered), C).x)

    def _keep(self, training: Training, alpha: Array, C: float) -> "OrdinalSVM":
        """Keep a solution under the names scikit-learn's users look for."""
        representation, hinges = training.representation, training.hinges
        self.training_, self.alpha_ = training, alpha
        self._b = np.asarray(representation.basis(hinges.pairs) @ alpha).ravel()
        self.dual_coef_ = np.asarray(hinges.shares @ alpha)
        self.thresholds_ = middle_thresholds(hinges, representation.scores(self._b), self.ordered)
        values = (representation, hinges, self._b)
        self.objective_ = primal_value(*values, self.thresholds_, C, self.norm)
        lower = dual_value(*values, alpha, C, self.norm)
        self.duality_gap_ = (self.objective_ - lower) / self.objective_ if self.objective_ else 0.0
        return self

    @property
    def coef_(self) -> Array:
        """The weights of features, of a linear kernel only."""
        check_is_fitted(self)
        if not self.training_.representation.is_linear:
            raise AttributeError("coef_ is only there with kernel='linear'; see dual_coef_")
        return self._b

    def predict_projection(self, X: Any) -> Array:
        """Return the score f(x) of every row, which `thresholds_` cut into levels: the higher, the higher."""
        return self.training_.representation.project(self._new_rows(X), self._b)

    def decision_function(self, X: Any) -> Array:
        """Return by how much every row is inside each level, one column a level: the largest is predicted.

        With two levels, as in scikit-learn, by how much it is above the threshold.
        """
        return self._margins_of(self.predict_projection(X), self.thresholds_)

    def predict(self, X: Any) -> Array:
        """Return the level of every row."""
        return self._labels_of(self.predict_projection(X), self.thresholds_)
