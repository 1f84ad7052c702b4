"""Hessians: a matrix, or a factor that keeps a singular matrix exactly convex.

Room: the data of P in, its entries in either arithmetic and a verdict on convexity out.
May touch: `errors`, `field`, `table`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from pqp.errors import NotConvexError, ProblemError
from pqp.field import (
    CONVEX_SLACK,
    FLOAT,
    Array,
    Field,
    as_numbers,
    exact_array,
    exact_product,
    float_array,
    is_exact,
    shown,
)
from pqp.field import (
    infinite as infinite_entries,
)
from pqp.table import ExactTable, exact_table


@dataclass(frozen=True, eq=False)
class Matrix:
    """A symmetric positive semidefinite matrix given by its entries."""

    values: Array
    name: str = "P"

    def __post_init__(self) -> None:
        values = as_numbers(self.values, self.name)
        _require_finite_matrix(values, self.name)
        if values.shape[0] != values.shape[1]:
            raise ProblemError(f"{self.name} must be square, got shape {values.shape}")
        _require_symmetric(values, self.name)
        _require_convex(values, self.name, exactly=is_exact(values))
        object.__setattr__(self, "values", values)

    @property
    def size(self) -> int:
        """The number of variables."""
        return len(self.values)

    def matrix(self, field: Field) -> Array:
        """Return the entries in the given arithmetic."""
        return field.array(self.values)

    def require_exact_convexity(self) -> None:
        """Raise `NotConvexError` if the entries at face value are not positive semidefinite."""
        if not is_exact(self.values):
            _require_convex(self.values, self.name, exactly=True)


@dataclass(frozen=True, eq=False)
class Gram:
    """The matrix F Fᵀ, exactly positive semidefinite whatever its rank.

    >>> from pqp.field import RATIONAL
    >>> Gram([[1], [2]]).matrix(RATIONAL).astype(int)
    array([[1, 2],
           [2, 4]])
    """

    F: Array

    def __post_init__(self) -> None:
        F = as_numbers(self.F, "F")
        _require_finite_matrix(F, "F")
        object.__setattr__(self, "F", F)

    @property
    def size(self) -> int:
        """The number of variables."""
        return len(self.F)

    def matrix(self, field: Field) -> Array:
        """Return the entries of F Fᵀ in the given arithmetic."""
        F = field.array(self.F)
        return F @ F.T if field is FLOAT else exact_product(F, F.T)

    def require_exact_convexity(self) -> None:
        """A Gram matrix is convex: nothing to check."""


@dataclass(frozen=True, eq=False)
class PairGram:
    """The matrix D K Dᵀ for preference pairs: row r of D has +1 at the first and -1 at the second of pair r.

    >>> from pqp.field import RATIONAL
    >>> PairGram(np.eye(3, dtype=int), [(0, 1), (2, 1)]).matrix(RATIONAL).astype(int)
    array([[2, 1],
           [1, 2]])
    """

    K: Array
    pairs: Array

    def __post_init__(self) -> None:
        kernel = Matrix(self.K, name="K")
        object.__setattr__(self, "K", kernel.values)
        object.__setattr__(self, "pairs", _valid_pairs(self.pairs, kernel.size))

    @property
    def size(self) -> int:
        """The number of variables, one a pair."""
        return len(self.pairs)

    def matrix(self, field: Field) -> Array:
        """Return the entries of D K Dᵀ in the given arithmetic."""
        K = field.array(self.K)
        rows = K[self.pairs[:, 0]] - K[self.pairs[:, 1]]
        return rows[:, self.pairs[:, 0]] - rows[:, self.pairs[:, 1]]

    def require_exact_convexity(self) -> None:
        """Raise `NotConvexError` if K at face value is not positive semidefinite."""
        Matrix(self.K, name="K").require_exact_convexity()


Hessian = Matrix | Gram | PairGram


def as_hessian(P: Any) -> Hessian:
    """Return P as one of the three kinds of Hessian."""
    return P if isinstance(P, Matrix | Gram | PairGram) else Matrix(P)


def negative_direction(matrix: Array) -> tuple[Array, Any] | None:
    r"""Return d and :math:`d^\top P d < 0`, decided exactly, or None if P is positive semidefinite.

    Principal pivots on nonzero diagonal entries leave the Schur complement of the rest; P is
    positive semidefinite if and only if no pivot is negative and the complement ends as zero.

    >>> negative_direction(np.array([[1, 2], [2, 1]]))
    (array([Fraction(-2, 1), Fraction(1, 1)], dtype=object), Fraction(-3, 1))
    >>> negative_direction(np.array([[1, 1], [1, 1]])) is None
    True
    """
    P = exact_array(matrix)
    table, rest = exact_table(P * lcm(*(entry.denominator for entry in P.flat), 1)), list(range(len(P)))
    while rest:
        pivot = next((i for i in rest if table.entry(i, i) != 0), None)
        if pivot is None or table.entry(pivot, pivot) < 0:
            break
        table = table.exchange(pivot, pivot)
        rest.remove(pivot)
    d = _direction_in(table, rest, len(P))
    return None if d is None else (d, d @ P @ d)


def _direction_in(table: ExactTable, rest: Sequence[int], size: int) -> Array | None:
    """Return a direction of negative curvature of the Schur complement, extended to all variables."""
    for i in rest:
        if table.entry(i, i) < 0:
            return _extended(table, rest, {i: 1}, size)
        for j in rest:
            if table.entry(i, i) == table.entry(j, j) == 0 != table.entry(i, j):
                return _extended(table, rest, {i: 1, j: -1 if table.entry(i, j) > 0 else 1}, size)
    return None


def _extended(table: ExactTable, rest: Sequence[int], partial: dict[int, int], size: int) -> Array:
    direction = np.array([Fraction(partial.get(i, 0)) for i in range(size)], dtype=object)
    for i in set(range(size)) - set(rest):
        direction[i] = sum((table.entry(i, j) * weight for j, weight in partial.items()), Fraction(0))
    return direction


def _require_convex(values: Array, name: str, exactly: bool) -> None:
    """Raise unless P is convex: float eigenvalues decide where they are clear, exact pivots where not."""
    eigenvalues, vectors = _eigen(values)
    slack = CONVEX_SLACK * float(np.max(np.abs(eigenvalues)))
    if eigenvalues[0] > slack:
        return
    if exactly:
        found = negative_direction(values)
        if found is not None:
            raise NotConvexError(_not_convex(name, *found), *found)
    elif eigenvalues[0] < -slack:
        d, curvature = vectors[:, 0], float(eigenvalues[0])
        raise NotConvexError(_not_convex(name, d, curvature), d, curvature)


def _eigen(values: Array) -> tuple[Array, Array]:
    """Return eigenvalues and vectors in float64; all zero, hence unclear, where float64 cannot hold P."""
    try:
        matrix = float_array(values)
    except ProblemError:
        matrix = np.zeros(values.shape)
    return np.linalg.eigh(matrix) if values.size else (np.zeros(1), np.zeros((0, 1)))


def _not_convex(name: str, direction: Array, curvature: Any) -> str:
    listed = ", ".join(shown(entry) for entry in direction[:8]) + (", ..." if len(direction) > 8 else "")
    return (
        f"{name} must be positive semidefinite, but along d = ({listed}) the curvature dᵀ{name}d is "
        f"{shown(curvature)}. If {name} is a rounded Gram matrix of deficient rank, hand over its factor "
        f"instead: pqp.Gram(F) for F Fᵀ"
    )


def _require_symmetric(values: Array, name: str) -> None:
    if (values == values.T).all():
        return
    gap = np.abs(float_array(values - values.T))
    i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
    raise ProblemError(
        f"{name} must be symmetric, but {name}[{i}, {j}] = {values[i, j]} and "
        f"{name}[{j}, {i}] = {values[j, i]}; ({name} + {name}.T) / 2 gives the same objective"
    )


def _require_finite_matrix(values: Array, name: str) -> None:
    if values.ndim != 2:
        raise ProblemError(f"{name} must be a matrix, got shape {values.shape}")
    found = np.argwhere(infinite_entries(values))
    for i, j in found[:1]:
        raise ProblemError(f"{name}[{i}, {j}] is {values[i, j]}: entries of {name} must be finite")


def _valid_pairs(pairs: Any, size: int) -> Array:
    array = as_numbers(pairs, "pairs")
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind != "i":
        raise ProblemError(f"pairs must be rows of two indices, got {array.dtype} of shape {array.shape}")
    outside = np.argwhere((array < 0) | (array >= size))
    for r, side in outside[:1]:
        raise ProblemError(f"pairs[{r}, {side}] is {array[r, side]}: K has rows 0 to {size - 1}")
    return array
