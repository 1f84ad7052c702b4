r"""Elimination: free variables with a positive definite Hessian block of their own, taken out.

They solve  P_E w = A_Eᵀy − c_E,  so rows see  A_E w = G y + r  with

.. math:: G = A_E P_E^{-1} A_E^\top, \qquad r = -A_E P_E^{-1} c_E

and a problem in (w, ξ) costs what its dual costs. G is known by its factors.

Room: a block of P and columns of A in; G, r and w out.
May touch: `field`, `matrices`, `forms`, `grouping`, `kernels`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pqp.field import Array
from pqp.forms import Part, factored_part, part_of
from pqp.grouping import sparse_factor_part
from pqp.kernels import product_of
from pqp.matrices import MatrixData, block_of, dense_matrix, is_sparse


@dataclass(frozen=True, eq=False)
class Elimination:
    """Which variables are eliminated, their columns of A, and P_E and P_E⁻¹: diagonals, or all of them."""

    variables: Array
    columns: MatrixData
    own_block: Array
    inverse: Array
    cost: Array

    @property
    def size(self) -> int:
        """The number of rows of A."""
        return int(self.columns.shape[0])

    def solved(self, right: Array) -> Array:
        """Return P_E⁻¹ times a block, refined once where it was rounded."""
        if self.inverse.ndim == 1:
            return right / self.own_block[:, None]
        solution = self.inverse @ right
        return np.asarray(solution + self.inverse @ (right - self.own_block @ solution))

    @cached_property
    def _weighted(self) -> MatrixData:
        """A_E P_E⁻¹."""
        if self.inverse.ndim > 1:
            return np.ascontiguousarray(self.columns @ self.inverse)
        if np.all(self.inverse == 1.0):
            return self.columns
        return (
            (self.columns * self.inverse).tocsr() if is_sparse(self.columns) else self.columns * self.inverse
        )

    @cached_property
    def _transposed(self) -> MatrixData:
        return self.columns.T.tocsr() if is_sparse(self.columns) else self.columns.T

    @cached_property
    def _expanded(self) -> Array | None:
        """G itself where that is smaller than its factors."""
        rows, columns = self.columns.shape
        is_smaller = columns >= rows and not is_sparse(self.columns)
        return self._weighted @ self._transposed if is_smaller else None

    @cached_property
    def part(self) -> Part:
        """G as compiled code takes it."""
        if self._expanded is not None:
            return part_of(self._expanded)
        if is_sparse(self.columns):
            return sparse_factor_part(self.columns, self.inverse, np.empty(0))
        return factored_part(self._weighted, self.columns, np.empty(0))

    def product(self, indices: Array, values: Array) -> Array:
        """Return G[:, indices] @ values."""
        return product_of(self.part, self.size, indices, values)

    def times(self, vector: Array) -> Array:
        """Return G @ vector."""
        return self._weighted @ (self._transposed @ vector)

    def block(self, rows: Array, columns: Array) -> Array:
        """Return G[rows, columns]."""
        if self._expanded is not None:
            return block_of(self._expanded, rows, columns)
        return dense_matrix(self._weighted[rows] @ self.columns[columns].T)

    def diagonal(self) -> Array:
        """Return the diagonal of G."""
        if is_sparse(self.columns):
            return np.asarray(self._weighted.multiply(self.columns).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", self._weighted, self.columns)

    def offset(self) -> Array:
        """Return r."""
        return -(self._weighted @ self.cost)

    def variables_at(self, y: Array) -> Array:
        """Return w for the multipliers of all rows, as lines."""
        return self.solved(self._transposed @ y - self.cost)
