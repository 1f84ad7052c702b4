r"""Representations: how a model writes its scores, f(x) = e(x)ᵀ b with b = B α for the dual variables α.

A linear model has e(x) = x and b = w = (D X)ᵀ α; a kernel model has e(x) = (k(x, x_1), ..., k(x, x_n)) and
b = β = Dᵀ α. Row p of D has +1 at the preferred item of pair p and -1 at the other one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

import pqp
from ranking.core.kernels import Gamma, Kernel, gamma_of, kernel_matrix, kernel_name
from ranking.core.preferences import Preferences
from ranking.core.validation import Array, incidence
from ranking.errors import DataError


@dataclass(frozen=True, eq=False)
class Representation:
    """Training rows X and a kernel; gamma is a number by now. For "precomputed", X is the Gram matrix."""

    X: Any = field(repr=False)
    kernel: Kernel
    gamma: float
    degree: float
    coef0: float
    kernel_params: Mapping[str, object] | None

    @property
    def is_linear(self) -> bool:
        """Whether scores are written with weights of features."""
        return self.kernel == "linear"

    @cached_property
    def gram(self) -> Array:
        """The Gram matrix K of the training rows."""
        return self._kernel(self.X, None)

    def evaluate(self, X: Any, rows: Any = slice(None)) -> Any:
        """Return e(x) for new rows, one per row, or what some training rows contribute to it.

        Rows of "precomputed" are e(x) already.
        """
        if self.is_linear:
            return X
        return X[:, rows] if self.kernel == "precomputed" else self._kernel(X, self.X[rows])

    def project(self, X: Any, b: Array) -> Array:
        """Return f(x) for new rows; of the training rows only those with a coefficient are used."""
        if self.is_linear:
            return np.asarray(X @ b).ravel()
        # kernel values are what a score costs, and those of rows without a coefficient count for nothing
        used = np.flatnonzero(b)
        return np.asarray(self.evaluate(X, used) @ b[used]).ravel() if len(used) else np.zeros(X.shape[0])

    def part(self, rows: Array) -> "Representation":
        """Return the representation of some training rows."""
        is_pairwise = self.kernel == "precomputed"
        return replace(self, X=self.X[rows][:, rows] if is_pairwise else self.X[rows])

    def basis(self, pairs: Array) -> Any:
        """Return B, one column per pair of rows; the row after the last is nothing, of score 0."""
        D = self._incidence(pairs)
        return (D @ self.X).T if self.is_linear else D.T.tocsr()

    def hessian(self, pairs: Array, diagonal: Array | None = None) -> Any:
        """Return D K Dᵀ, known by its factor if the kernel is linear: then it is convex exactly.

        With a diagonal, that is added; the sum over a kernel is known by its entries.
        """
        if self.is_linear:
            return pqp.Gram(self._incidence(pairs) @ self.X, diagonal)
        if diagonal is not None:
            D = self._incidence(pairs)
            return np.asarray(D @ (D @ self.gram).T) + np.diag(diagonal)
        # padding copies K, so it is done only where a pair names the item of score 0
        has_nothing = bool(pairs.max() == self.X.shape[0])
        try:
            return pqp.PairGram(np.pad(self.gram, (0, 1)) if has_nothing else self.gram, pairs)
        # a function or a matrix of the user need not be positive semidefinite
        except pqp.NotConvexError as error:
            message = "{argument} must give {expected}, got {found}"
            raise DataError(
                message, argument="kernel", found=f"{self.kernel!r}: {error}", expected="a Gram matrix K"
            ) from error

    def scores(self, b: Array) -> Array:
        """Return the scores of the training rows, from the Gram matrix if it is there already."""
        # to form K for these scores alone would take n² kernel values; `project` skips rows with b = 0
        has_gram = not self.is_linear and "gram" in self.__dict__
        return np.asarray(self.gram @ b).ravel() if has_gram else self.project(self.X, b)

    def squared_norm(self, b: Array) -> float:
        """Return ‖f‖²."""
        # ‖f‖² = βᵀKβ = βᵀf: scores suffice, K itself is not needed
        return float(b @ b if self.is_linear else b @ self.scores(b))

    def _incidence(self, pairs: Array) -> Any:
        n = self.X.shape[0]
        # the item of score 0 has the last column: without it, it adds nothing to any sum
        return incidence(pairs, n + 1)[:, :n]

    def dual(self, preferences: Preferences) -> pqp.ParametricQP:
        r"""Return the dual of L1-loss RankSVM as a program in μ = C:

        .. math:: \min_\alpha \; \tfrac12 \alpha^\top D K D^\top \alpha - \Delta^\top \alpha,
                  \qquad 0 \le \alpha \le C\,\omega
        """
        # (8) of Zapien et al. (2009) in α = α_Z/λ: there 1/λ multiplies the quadratic term, here P is
        # constant and C is in the limits, as a program in a parameter needs it
        return pqp.ParametricQP(
            self.hessian(preferences.pairs), -preferences.margin, lower=0, upper=pqp.mu * preferences.weight
        )

    def _kernel(self, X: Any, Y: Any) -> Array:
        return kernel_matrix(X, Y, self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)


def dual_solution(problem: pqp.ParametricQP, C: float, is_linear: bool) -> tuple[Array, str]:
    """Return the solution of a dual at one C, and what found it: "point", `pqp.solve`, or "path".

    The path from C = 0, where every margin is violated, ends at the solution. Where it has many pieces, with
    kernels of high rank, `pqp.solve` is faster, but rounding errors may defeat it at the ties of a kernel of
    low rank.
    """
    if not is_linear:
        try:
            return np.asarray(pqp.solve(problem, C).x), "point"
        except pqp.NumericalTroubleError:
            pass  # the path settles ties one at a time; the answer says that it was taken
    return np.asarray(pqp.solve_path(problem, (0.0, C)).x(C)), "path"


def hinge_value(
    representation: Representation, preferences: Preferences, alpha: Array, C: float
) -> tuple[float, float]:
    r"""Return the primal value of L1-loss RankSVM at dual variables, and its relative gap to the dual one.

    .. math:: \tfrac12\|f\|^2 + C \sum_p \omega_p \max(0, \Delta_p - (f_i - f_j)), \qquad
              \Delta^\top\alpha - \tfrac12\|f\|^2
    """
    b = np.asarray(representation.basis(preferences.pairs) @ alpha).ravel()
    f, norm = representation.scores(b), representation.squared_norm(b)
    slack = preferences.margin - f[preferences.pairs[:, 0]] + f[preferences.pairs[:, 1]]
    loss = float(preferences.weight @ np.maximum(0.0, slack))
    # α is feasible, so its dual value is a lower bound: the gap proves the solution, whatever found it
    primal, dual = norm / 2 + C * loss, float(preferences.margin @ alpha) - norm / 2
    return primal, (primal - dual) / primal if primal else 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class KernelEstimator(BaseEstimator):
    """The parameters that all kernel models share; fields of a dataclass are scikit-learn's parameters."""

    kernel: Kernel = "linear"
    gamma: Gamma = "scale"
    degree: float = 3
    coef0: float = 1.0
    kernel_params: Mapping[str, object] | None = None

    def _represent(self, X: Any) -> Representation:
        """Return the representation of checked training rows, gamma fixed by them."""
        # a Gram matrix has no features that gamma could be taken from, and no use for it
        has_features = kernel_name(self.kernel, self.kernel_params) != "precomputed"
        gamma = gamma_of(X, self.gamma) if has_features else 1.0
        return Representation(X, self.kernel, gamma, self.degree, self.coef0, self.kernel_params)

    def _share(self, model: Any, names: Sequence[str] = ("n_features_in_", "feature_names_in_")) -> None:
        """Give a fitted model those of some attributes that there are."""
        for name in names:
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in ("tanimoto", "minmax")
        return tags


class ModelAtC:
    """A fitted kernel model at one C: `_b` are the coefficients of its scores in `representation_`."""

    representation_: Representation
    _b: Array

    @property
    def coef_(self) -> Array:
        """The weights of features, of a linear kernel only."""
        check_is_fitted(self)
        if not self.representation_.is_linear:
            raise AttributeError("coef_ is only there with kernel='linear'; see dual_coef_")
        return self._b

    def _scores(self, rows: Any) -> Array:
        """Return the scores of checked rows."""
        return self.representation_.project(rows, self._b)


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
