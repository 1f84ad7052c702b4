"""Hessians: a matrix, or a factor that keeps a singular matrix exactly convex and a large one small.

Engines know P in float64 by `product`, `times`, `block` and `diagonal`; none of them forms an n × n matrix
that was not given as one.

Room: the data of P in, its products and entries in either arithmetic out.
May touch: `field`, `matrices`, `convexity`, `factors`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pqp.convexity import as_convex, is_decided_exactly, is_diagonal, require_convex
from pqp.factors import Gram, PairGram
from pqp.field import FLOAT, Array, Field, float_array
from pqp.forms import Part, part_of
from pqp.kernels import product_of
from pqp.matrices import (
    MatrixData,
    block_of,
    dense_matrix,
    diagonal_block,
    exact_matrix,
    float_matrix,
)

__all__ = ["Gram", "Hessian", "HessianProduct", "Matrix", "PairGram", "as_hessian"]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A symmetric positive semidefinite matrix given by its entries, dense or sparse.

    >>> import numpy as np
    >>> P = Matrix([[2, 1], [1, 3]])
    >>> P.product(np.array([1]), np.array([10.0])), P.diagonal()
    (array([10., 30.]), array([2., 3.]))
    """

    values: MatrixData
    name: str = "P"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", as_convex(self.values, self.name))

    @property
    def size(self) -> int:
        """The number of variables."""
        return int(self.values.shape[0])

    @cached_property
    def _float(self) -> MatrixData:
        return float_matrix(self.values)

    @cached_property
    def _pure_diagonal(self) -> Array | None:
        """The diagonal of a sparse matrix that has nothing else."""
        return self._float.diagonal() if is_diagonal(self.values) else None

    @cached_property
    def part(self) -> Part:
        """P as compiled code takes it."""
        return part_of(self._float)

    def product(self, indices: Array, values: Array) -> Array:
        """Return P[:, indices] @ values in float64, for distinct indices and one or more columns."""
        return product_of(self.part, self.size, indices, values)

    def times(self, vector: Array) -> Array:
        """Return P @ vector in float64, for a vector or a block of them."""
        if self._pure_diagonal is not None:
            return (self._pure_diagonal * vector.T).T
        return self._float @ vector

    def block(self, rows: Array, columns: Array) -> Array:
        """Return P[rows, columns] in float64."""
        if self._pure_diagonal is not None:
            return diagonal_block(self._pure_diagonal, rows, columns)
        return block_of(self._float, rows, columns)

    def diagonal(self) -> Array:
        """Return the diagonal in float64."""
        return self._float.diagonal()

    def matrix(self, field: Field) -> Array:
        """Return the entries in the given arithmetic."""
        return float_array(dense_matrix(self.values)) if field is FLOAT else exact_matrix(self.values)

    def require_exact_convexity(self) -> None:
        """Raise `NotConvexError` if the entries at face value are not positive semidefinite."""
        if not is_decided_exactly(self.values):
            require_convex(self.values, self.name, exactly=True)


Hessian = Matrix | Gram | PairGram


def as_hessian(P: Any) -> Hessian:
    """Return P as one of the three kinds of Hessian."""
    return P if isinstance(P, Matrix | Gram | PairGram) else Matrix(P)


@dataclass(frozen=True, eq=False)
class HessianProduct:
    """P as something to multiply with, in float64; `dense()` forms the matrix.

    >>> import numpy as np
    >>> P = HessianProduct(Gram([[1], [2]]))
    >>> P @ np.array([1.0, 1.0]), np.array([1.0, 1.0]) @ P
    (array([3., 6.]), array([3., 6.]))
    """

    hessian: Hessian

    # numpy leaves `vector @ P` to us
    __array_ufunc__ = None

    def __matmul__(self, vector: Array) -> Array:
        return self.hessian.times(vector)

    def __rmatmul__(self, vector: Array) -> Array:
        return self.hessian.times(vector.T).T

    def dense(self) -> Array:
        """Return the matrix itself."""
        return self.hessian.matrix(FLOAT)
