"""Hessians: a matrix by its entries, or by a factor that keeps it convex and never grows to n × n.

One class per kind, all behind the protocol `Hessian`. Engines know P in float64 by its `operator`, and in
rationals by `exact_block`; none of them forms an n × n matrix that was not given as one. CONTRIBUTING.md says
how to add a kind.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard

import numpy as np
from scipy.sparse import csr_array, diags_array

from pqp.errors import ProblemError
from pqp.linalg.field import (
    FLOAT,
    Array,
    Field,
    as_numbers,
    exact_array,
    exact_product,
    float_array,
    infinite,
)
from pqp.linalg.matrices import (
    MatrixData,
    MatrixLike,
    StoredMatrix,
    as_matrix,
    dense_matrix,
    exact_matrix,
    float_matrix,
    is_sparse,
)
from pqp.linalg.operators import DenseOperator, LowRankOperator, Operator, PairOperator, operator_of
from pqp.model.convexity import as_convex, is_decided_exactly, require_convex

# What a file keeps of P: a matrix, or the arguments of a kind by name.
Stored: TypeAlias = StoredMatrix | dict[str, "StoredMatrix | dict[str, Array]"]


class Factors(NamedTuple):
    """P as factor · inner · factorᵀ + diag(added), all sparse: what a library needs to keep it sparse."""

    factor: csr_array
    inner: Any
    added: Array


class Hessian(Protocol):
    """A symmetric positive semidefinite P: what engines, files and libraries ask of it."""

    @property
    def size(self) -> int:
        """The number of variables."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed in the data, as sentences."""

    @property
    def operator(self) -> Operator:
        """P in float64, by its products."""

    def matrix(self, field: Field) -> Array:
        """Return the entries in the given arithmetic."""

    def exact_block(self, rows: Array, columns: Array) -> Array:
        """Return P[rows, columns] in rationals."""

    def require_exact_convexity(self) -> None:
        """Raise `NotConvexError` if the data at face value are not positive semidefinite."""

    def restricted(self, variables: Array) -> "Hessian":
        """Return the block of some variables, with the same structure."""

    def factors(self) -> Factors | None:
        """Return P by its factors; None if the entries themselves serve better."""

    def stored(self) -> Stored:
        """Return what a file keeps: a matrix, or a dictionary of the arguments of the kind."""


@dataclass(frozen=True, eq=False, init=False)
class Gram:
    """The matrix F Fᵀ, or F diag(w) Fᵀ + diag(d) with w, d ≥ 0, exactly positive semidefinite in any rank.

    F may be sparse. A wide dense F is multiplied out once in float64: the product is the smaller one. Weights
    w of columns keep exactly what a factor multiplied by their square roots would round.

    >>> from pqp.linalg.field import RATIONAL
    >>> Gram([[1], [2]]).matrix(RATIONAL).astype(int)
    array([[1, 2],
           [2, 4]])
    >>> Gram([[1], [2]], diagonal=[0, 5]).operator.diagonal()
    array([1., 9.])
    >>> Gram([[1, 1], [2, 0]], weights=[3, 2]).matrix(RATIONAL).astype(int)
    array([[ 5,  6],
           [ 6, 12]])
    """

    F: StoredMatrix
    d: Array | None
    w: Array | None

    def __init__(self, F: MatrixLike, diagonal: object = None, weights: object = None) -> None:
        factor = as_matrix(F, "F")
        rows, columns = factor.shape
        object.__setattr__(self, "F", factor)
        object.__setattr__(self, "d", _nonnegative(diagonal, rows, "diagonal", "row"))
        object.__setattr__(self, "w", _nonnegative(weights, columns, "weights", "column"))

    @property
    def size(self) -> int:
        """The number of variables."""
        return int(self.F.shape[0])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed in the data: nothing, a product with its own transpose is symmetric."""
        return ()

    @cached_property
    def _factor(self) -> MatrixData:
        """A factor of P less its diagonal part in float64, its columns multiplied by roots of weights."""
        F = float_matrix(self.F)
        if self.w is None:
            return F
        roots = np.sqrt(float_array(self.w))
        # in float64 the roots may be rounded; exact work multiplies by the weights themselves
        return F.multiply(roots).tocsr() if is_sparse(F) else F * roots

    @cached_property
    def operator(self) -> Operator:
        """P in float64; multiplied out where that is not much larger than F."""
        rows, columns = self.F.shape
        # A column of P then costs reading it; through the factor it costs a product of rows * columns.
        if 2 * columns >= rows and not is_sparse(self.F):
            return DenseOperator(self.matrix(FLOAT))
        return LowRankOperator(self._factor, self._factor, None if self.d is None else self._added)

    @cached_property
    def _added(self) -> Array:
        return np.zeros(self.size) if self.d is None else float_array(self.d)

    def matrix(self, field: Field) -> Array:
        """Return the entries in the given arithmetic."""
        if field is FLOAT:
            return dense_matrix(self._factor @ self._factor.T) + np.diag(self._added)
        everything = np.arange(self.size)
        return self.exact_block(everything, everything)

    def exact_block(self, rows: Array, columns: Array) -> Array:
        """Return P[rows, columns] in rationals."""
        left, right = exact_matrix(self.F[rows]), exact_matrix(self.F[columns])
        # With the weights themselves: most of their roots are not rational.
        product = exact_product(left if self.w is None else left * exact_array(self.w), right.T)
        if self.d is None:
            return product
        return product + np.where(np.equal.outer(rows, columns), exact_array(self.d)[columns], exact_array(0))

    def require_exact_convexity(self) -> None:
        """A Gram matrix is convex: nothing to check."""

    def restricted(self, variables: Array) -> "Gram":
        """Return the block of some variables, by the rows of F."""
        return Gram(self.F[variables], None if self.d is None else self.d[variables], self.w)

    def factors(self) -> Factors | None:
        """Return F, the weights and the diagonal; None for a wide dense F, which is multiplied out."""
        rows, columns = self.F.shape
        if not is_sparse(self.F) and 2 * columns >= rows:
            return None
        weights = np.ones(columns) if self.w is None else float_array(self.w)
        return Factors(csr_array(float_matrix(self.F)), diags_array(weights), self._added)

    def stored(self) -> Stored:
        """Return F and, where there are some, the diagonal and the weights."""
        vectors = {"diagonal": self.d, "weights": self.w}
        return {"gram": self.F, **{key: vector for key, vector in vectors.items() if vector is not None}}


@dataclass(frozen=True, eq=False, init=False)
class PairGram:
    """The matrix D K Dᵀ for preference pairs: row r of D has +1 at the first and -1 at the second of pair r.

    Products pass through the objects that K compares, so that n pairs never make an n × n matrix.

    >>> from pqp.linalg.field import RATIONAL
    >>> PairGram(np.eye(3, dtype=int), [(0, 1), (2, 1)]).matrix(RATIONAL).astype(int)
    array([[2, 1],
           [1, 2]])
    """

    K: Array
    pairs: Array
    notes: tuple[str, ...]

    def __init__(self, K: MatrixLike, pairs: object) -> None:
        # convexity of K is enough, D K Dᵀ inherits it; a sparse K would gain nothing, kernels are dense
        kernel, notes = as_convex(dense_matrix(K), "K")
        object.__setattr__(self, "K", kernel)
        object.__setattr__(self, "notes", notes)
        object.__setattr__(self, "pairs", _valid_pairs(pairs, len(kernel)))

    @property
    def size(self) -> int:
        """The number of variables, one per pair."""
        return len(self.pairs)

    @cached_property
    def _kernel(self) -> Array:
        return float_matrix(self.K)

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """The first and the second object of every pair."""
        first, second = (np.ascontiguousarray(self.pairs[:, side]) for side in (0, 1))
        return first, second

    @cached_property
    def operator(self) -> Operator:
        """P in float64."""
        return PairOperator(self._kernel, *self._ends)

    def matrix(self, field: Field) -> Array:
        """Return the entries of D K Dᵀ in the given arithmetic."""
        K = field.array(self.K)
        rows = K[self.pairs[:, 0]] - K[self.pairs[:, 1]]
        return rows[:, self.pairs[:, 0]] - rows[:, self.pairs[:, 1]]

    def exact_block(self, rows: Array, columns: Array) -> Array:
        """Return P[rows, columns] in rationals."""
        first, second = (exact_matrix(self.K[self.pairs[rows, side]]) for side in (0, 1))
        difference = first - second
        return difference[:, self.pairs[columns, 0]] - difference[:, self.pairs[columns, 1]]

    def require_exact_convexity(self) -> None:
        """Raise `NotConvexError` if K at face value is not positive semidefinite."""
        if not is_decided_exactly(self.K):
            require_convex(self.K, "K", exactly=True)

    def restricted(self, variables: Array) -> "PairGram":
        """Return the matrix of some pairs."""
        return PairGram(self.K, self.pairs[variables])

    def factors(self) -> Factors:
        """Return D and K."""
        n, places = self.size, (np.tile(np.arange(self.size), 2), self.pairs.T.ravel())
        D = csr_array((np.repeat([1.0, -1.0], n), places), shape=(n, len(self.K)))
        return Factors(D, csr_array(self._kernel), np.zeros(n))

    def stored(self) -> Stored:
        """Return K and the pairs."""
        return {"pair_gram": {"K": self.K, "pairs": self.pairs}}


def _nonnegative(given: object, size: int, name: str, side: str) -> Array | None:
    """Return numbers that keep a Gram matrix convex, one for each row or column of F."""
    if given is None:
        return None
    array = as_numbers(given, name)
    if array.shape not in ((), (size,)):
        expected = f"of length {size}, one entry per {side} of F"
        raise ProblemError(argument=name, found=f"shape {array.shape}", expected=expected)
    array = np.broadcast_to(array, (size,))
    for i in np.flatnonzero((array < 0) | infinite(array))[:1]:
        raise ProblemError(argument=f"{name}[{i}]", found=str(array[i]), expected="finite and nonnegative")
    return array


def _valid_pairs(pairs: object, size: int) -> Array:
    array = as_numbers(pairs, "pairs")
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind != "i":
        raise ProblemError(
            argument="pairs", found=f"{array.dtype} of shape {array.shape}", expected="rows of two indices"
        )
    outside = np.argwhere((array < 0) | (array >= size))
    for r, side in outside[:1]:
        expected = f"an index from 0 to {size - 1}, the rows of K"
        raise ProblemError(argument=f"pairs[{r}, {side}]", found=int(array[r, side]), expected=expected)
    return array


@dataclass(frozen=True, eq=False, init=False)
class Matrix:
    """A symmetric positive semidefinite matrix given by its entries, dense or sparse.

    >>> import numpy as np
    >>> P = Matrix([[2, 1], [1, 3]]).operator
    >>> P.times(np.array([0.0, 10.0])), P.diagonal()
    (array([10., 30.]), array([2., 3.]))
    """

    values: StoredMatrix
    name: str
    notes: tuple[str, ...]

    def __init__(self, values: MatrixLike, name: str = "P") -> None:
        matrix, notes = as_convex(values, name)
        object.__setattr__(self, "values", matrix)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "notes", notes)

    @property
    def size(self) -> int:
        """The number of variables."""
        return int(self.values.shape[0])

    @cached_property
    def operator(self) -> Operator:
        """P in float64."""
        return operator_of(float_matrix(self.values))

    def matrix(self, field: Field) -> Array:
        """Return the entries in the given arithmetic."""
        return float_array(dense_matrix(self.values)) if field is FLOAT else exact_matrix(self.values)

    def exact_block(self, rows: Array, columns: Array) -> Array:
        """Return P[rows, columns] in rationals."""
        # Rationals of the block alone: those of a whole matrix would take far longer.
        return exact_matrix(self.values[rows][:, columns])

    def require_exact_convexity(self) -> None:
        """Raise `NotConvexError` if the entries at face value are not positive semidefinite."""
        # Integers and Fractions were decided exactly when the matrix was given.
        if not is_decided_exactly(self.values):
            require_convex(self.values, self.name, exactly=True)

    def restricted(self, variables: Array) -> "Matrix":
        """Return the block of some variables."""
        return Matrix(self.values[variables][:, variables], self.name)

    def factors(self) -> None:
        """A matrix is known by its entries."""

    def stored(self) -> StoredMatrix:
        """Return the entries."""
        return self.values


# A `Hessian`, or the entries of one; `as_hessian` checks it.
HessianLike: TypeAlias = object


def as_hessian(P: HessianLike) -> Hessian:
    """Return P as a Hessian: itself, or a matrix by its entries."""
    return P if is_hessian(P) else Matrix(P)


def is_hessian(P: object) -> TypeGuard[Hessian]:
    """Return whether P is of a kind of its own; a matrix by its entries is not."""
    return hasattr(P, "exact_block")


@dataclass(frozen=True, eq=False)
class HessianProduct:
    """P as something to multiply with, in float64; `dense()` forms the matrix.

    >>> import numpy as np
    >>> P = HessianProduct(Gram([[1], [2]]))
    >>> P @ np.array([1.0, 1.0]), np.array([1.0, 1.0]) @ P
    (array([3., 6.]), array([3., 6.]))
    """

    hessian: Hessian

    # numpy then leaves `vector @ P` to this class
    __array_ufunc__ = None

    def __matmul__(self, vector: Array) -> Array:
        return self.hessian.operator.times(vector)

    def __rmatmul__(self, vector: Array) -> Array:
        return self.hessian.operator.times(vector.T).T

    def dense(self) -> Array:
        """Return the matrix itself."""
        return self.hessian.matrix(FLOAT)
