"""Well-known models as parametric programs, with the structure of their data kept.

Every entry takes data as arrays, scipy.sparse matrices or pandas (read by position; column names become the
names of variables) and returns a `ParametricQP` in the parameter mu, which is the model's own: a penalty
weight or the appetite for return. Integers and Fractions stay exact.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from pqp.errors import ProblemError, must_be
from pqp.linalg.field import EXACT_INTEGERS, Array, as_numbers, exact_array, float_number, infinite
from pqp.linalg.matrices import (
    MatrixData,
    MatrixLike,
    StoredMatrix,
    as_matrix,
    dense_matrix,
    exact_matrix,
    identity,
    is_sparse,
)
from pqp.model.affine import AffineLike, as_affine, mu
from pqp.model.hessian import Gram, Hessian, HessianLike, Matrix, is_hessian
from pqp.model.problem import ParametricQP

KERNELS = ("linear", "rbf", "precomputed")


def lasso(X: MatrixLike, y: object) -> ParametricQP:
    r"""Return the lasso, one variable per column of X:

    .. math:: \min_b \; \tfrac12 \|y - X b\|^2 + \mu \sum_j |b_j|

    mu ≥ 0 weighs the absolute values. They are soft rows :math:`b_j = 0` whose violation costs mu, so no
    variable is split. From mu = max |Xᵀy| on all coefficients are zero. scikit-learn divides the squares by
    the number of samples: its `alpha` is mu / n_samples. Centre X and y first if there is an intercept.

    Xᵀy is rounded if X or y holds floats; give integers or Fractions for exact work.

    >>> import pqp
    >>> path = pqp.solve_path(pqp.catalog.lasso([[1, 0], [0, 2]], [3, 4]), (0, 10), arithmetic="exact")
    >>> [str(end) for end in path.breakpoints], [str(b) for b in path(4).x]
    (['3', '8'], ['0', '1'])
    """
    features = as_matrix(X, "X")
    target, size = _vector(y, "y", features.shape[0], "X"), features.shape[1]
    squares = _product(target, target)
    return ParametricQP(
        # the factor is kept: with fewer samples than columns XᵀX is larger than X and singular
        P=Gram(features.T),
        c=-_product(features.T, target),
        A=identity(size),
        row_lower=0,
        row_upper=0,
        penalty=mu,
        names=_own_names(X, "columns"),
        row_names=_own_names(X, "columns"),
        constant=squares / 2 if isinstance(squares, float) else Fraction(squares) / 2,
    )


def svm(
    X: MatrixLike,
    y: object,
    kernel: str | Callable[[StoredMatrix, StoredMatrix], MatrixLike] = "linear",
    gamma: float | None = None,
    bias: bool = True,
) -> ParametricQP:
    r"""Return the dual of the two-class support vector machine, one variable per sample, in C = mu:

    .. math:: \min_a \; \tfrac12 a^\top Q a - \mathbf 1^\top a
        \quad\text{s.t.}\quad 0 \le a \le \mu,\; y^\top a = 0,\quad Q_{ij} = y_i y_j k(x_i, x_j)

    with y = 1 for the larger of the two labels and -1 for the other. A new x is classified by the sign of
    :math:`\sum_i y_i a_i k(x_i, x) + b`, and b is minus the multiplier of the row. Infeasible for mu < 0.

    Parameters
    ----------
    kernel
        "linear", which keeps X as a factor; "rbf", :math:`e^{-\gamma \|x - x'\|^2}`; "precomputed", with
        the kernel matrix for X; or a function of (X, X) that returns it.
    gamma
        Of "rbf"; 1 / (number of features · variance of X) if not given, as in scikit-learn.
    bias
        False drops b and the row that belongs to it.

    >>> import pqp
    >>> path = pqp.solve_path(pqp.catalog.svm([[1], [3]], ["no", "yes"]), (0, 2), arithmetic="exact")
    >>> [str(end) for end in path.breakpoints], path(2).x.astype(float), -path(2).y.astype(float)
    (['1/2'], array([0.5, 0.5]), array([-2.]))
    """
    data = as_matrix(X, "X")
    signs = _signs(y)
    _require_length(signs, data.shape[0], "y", "X")
    rows: dict[str, Any] = {"A": signs[None, :], "row_lower": 0, "row_upper": 0, "row_names": ["bias"]}
    return ParametricQP(
        P=_signed_kernel(data, signs, kernel, gamma), c=-1, lower=0, upper=mu, **(rows if bias else {})
    )


def markowitz(
    mean: object,
    covariance: HessianLike,
    lower: AffineLike = 0,
    upper: AffineLike = None,
    budget: AffineLike = 1,
) -> ParametricQP:
    r"""Return the portfolio choice of Markowitz, one variable per asset:

    .. math:: \min_x \; \tfrac12 x^\top S x - \mu\, m^\top x
        \quad\text{s.t.}\quad \mathbf 1^\top x = \text{budget},\; l \le x \le u

    mu ≥ 0 is the appetite for expected return: 0 gives the portfolio of least variance, and the path to
    infinity is the efficient frontier. The covariance S is a matrix or any Hessian: a factor model
    :math:`S = F F^\top + \mathrm{diag}(d)` is `pqp.Gram(F, diagonal=d)`. `lower=None` allows short sales.

    >>> import pqp
    >>> frontier = pqp.catalog.markowitz(mean=[1, 2], covariance=[[1, 0], [0, 3]])
    >>> path = pqp.solve_path(frontier, (0, 5), arithmetic="exact")
    >>> [str(share) for share in path(0).x], [str(end) for end in path.breakpoints]
    (['3/4', '1/4'], ['3'])
    """
    S = covariance if is_hessian(covariance) else Matrix(covariance, name="covariance")
    m = _vector(mean, "mean", S.size, "covariance")
    return ParametricQP(
        P=S,
        c=mu * -m,
        A=np.ones((1, S.size), dtype=np.int64),
        row_lower=budget,
        row_upper=budget,
        lower=lower,
        upper=upper,
        names=_own_names(mean, "index") or _own_names(covariance, "columns"),
        row_names=["budget"],
    )


def choice(
    differences: MatrixLike, penalty: AffineLike = mu, lower: AffineLike = None, weights: object = None
) -> ParametricQP:
    r"""Return choice-based conjoint analysis as a support vector machine, one variable per part-worth:

    .. math:: \min_w \; \tfrac12 \|w\|^2 + \mu \sum_i \omega_i \max(0,\, 1 - n_i^\top w)

    Row :math:`n_i` of `differences` is the chosen alternative minus one that was not; mu ≥ 0, often called
    C, is the price of a choice that w does not explain. The rows are soft, so there are no slacks.

    Parameters
    ----------
    penalty
        mu, or other affine data; for every row the same unless there are weights.
    lower
        Limits of part-worths: 0 keeps them nonnegative.
    weights
        ω ≥ 0, one per row, 1 if not given.

    >>> import pqp
    >>> path = pqp.solve_path(pqp.catalog.choice([[1, 0], [1, -1]]), (0, 2), arithmetic="exact")
    >>> [str(end) for end in path.breakpoints], path(2).x.astype(int)
    (['1/3', '1'], array([1, 0]))
    """
    rows = as_matrix(differences, "differences")
    price = as_affine(penalty, "penalty")
    if weights is not None:
        values = _vector(weights, "weights", rows.shape[0], "differences")
        for i in np.flatnonzero(values < 0)[:1]:
            raise must_be(f"weights[{i}]", "nonnegative", str(values[i]))
        price = price * values
    return ParametricQP(
        P=identity(rows.shape[1]),
        c=0,
        A=rows,
        row_lower=1,
        lower=lower,
        penalty=price,
        names=_own_names(differences, "columns"),
    )


def _signed_kernel(data: MatrixData, signs: Array, kernel: Any, gamma: float | None) -> Hessian:
    if isinstance(kernel, str) and kernel not in KERNELS:
        raise must_be("kernel", f"one of {', '.join(KERNELS)} or a function", repr(kernel))
    if gamma is not None and kernel != "rbf":
        raise ProblemError(
            "{argument} is {found}, but the kernel is not rbf",
            argument="gamma",
            found=gamma,
            remedy="leave it out or pass {setting}",
            setting=("kernel", "rbf"),
        )
    if kernel == "linear":
        return Gram(data.multiply(signs[:, None]) if is_sparse(data) else signs[:, None] * data)
    if kernel == "rbf":
        data = _gaussian(dense_matrix(data), gamma)
    elif kernel != "precomputed":
        data = as_matrix(kernel(data, data), "kernel(X, X)")
    if data.shape != (len(signs), len(signs)):
        raise must_be("the kernel matrix", f"{len(signs)} x {len(signs)}", f"shape {data.shape}")
    return Matrix(signs[:, None] * dense_matrix(data) * signs, name="Q")


def _gaussian(X: Array, gamma: float | None) -> Array:
    """Return the kernel matrix exp(-gamma |x - x'|²), symmetric to the last bit."""
    X = X.astype(float)
    spread = float(X.var()) if X.size else 0.0
    width = 1 / (X.shape[1] * spread or 1.0) if gamma is None else float_number(as_numbers(gamma, "gamma"))
    if not 0 < width < np.inf:
        raise must_be("gamma", "positive and finite", gamma)
    from scipy.spatial.distance import pdist, squareform  # slow to import, and only needed here

    return np.exp(-width * squareform(pdist(X, "sqeuclidean")))


def _signs(y: object) -> Array:
    """Return 1 for the larger of two labels and -1 for the other."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise must_be("y", "a list of labels", f"shape {labels.shape}")
    try:
        classes, places = np.unique(labels, return_inverse=True)
    except TypeError:
        raise must_be("y", "made of labels of one kind", "a mixture that has no order") from None
    if len(classes) != 2 or (classes != classes).any():
        listed = ", ".join(str(label) for label in classes[:4])
        raise must_be("y", "made of two different labels", f"{len(classes)}: {listed}")
    return np.where(places == 1, 1, -1)


def _vector(values: object, name: str, length: int, other: str) -> Array:
    vector = as_numbers(values, name)
    if vector.ndim != 1:
        raise must_be(name, "a vector", f"shape {vector.shape}")
    for i in np.flatnonzero(infinite(vector))[:1]:
        raise must_be(f"{name}[{i}]", "finite", str(vector[i]))
    _require_length(vector, length, name, other)
    return vector


def _require_length(vector: Array, length: int, name: str, other: str) -> None:
    if len(vector) != length:
        raise must_be(name, f"of length {length}, one entry per row of {other}", len(vector))


def _product(left: MatrixData, right: Array) -> Any:
    """Return left @ right, in Fractions where int64 might overflow; a single number is Python's own."""
    if left.dtype.kind == right.dtype.kind == "i":
        bound = float(abs(left).max() if left.size else 0) * float(np.abs(right.astype(float)).sum())
        if bound > EXACT_INTEGERS:
            return exact_matrix(left) @ exact_array(right)
    product = left @ right
    return product.item() if isinstance(product, np.generic) else product


def _own_names(data: Any, axis: Literal["columns", "index"]) -> list[Any] | None:
    """Return the names along an axis of pandas data, None if they are only numbers in order."""
    # a list has a method `index`, but no `to_frame`
    if not hasattr(data, "columns" if axis == "columns" else "to_frame"):
        return None
    names = list(getattr(data, axis))
    return None if names == list(range(len(names))) else names
