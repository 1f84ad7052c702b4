"""Symmetric positive semidefinite matrices by their structure: products, blocks and a diagonal, in float64.

One class per structure, all behind the protocol `Operator`. None of them forms an n × n matrix that it was
not given. docs/method.md says how to add one.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.sparse import csr_array, diags_array

from pqp.linalg.blocks import CoupledBlocks, coupled_blocks
from pqp.linalg.field import Array
from pqp.linalg.matrices import MatrixData, block_of, dense_matrix, diagonal_block, is_sparse

# Sparse factors are multiplied out if their product has at most so many times their entries.
MOST_FILL = 8


class Operator(Protocol):
    """A symmetric positive semidefinite matrix H that is known by what can be done with it."""

    @property
    def size(self) -> int:
        """The number of rows."""

    def times(self, vector: Array) -> Array:
        """Return H times a vector, or times a block of them."""

    def product(self, items: Array, values: Array) -> Array:
        """Return H[:, items] times values: cheaper than `times` where few items are not zero."""

    def block(self, rows: Array, columns: Array) -> Array:
        """Return H[rows, columns], dense."""

    def diagonal(self) -> Array:
        """Return the diagonal."""

    def entries(self) -> Any:
        """Return H as a sparse matrix; None if it is not sparse."""

    def restricted(self, items: Array) -> "Operator":
        """Return the block of some items, with the same structure."""

    def scaled(self, units: Array) -> "Operator":
        """Return diag(units) H diag(units), with the same structure."""

    def short_columns(self) -> "ShortColumns | None":
        """Return how columns are kept as short dense vectors; None if the structure has no such form."""

    def coupled_blocks(self) -> CoupledBlocks | None:
        """Return H by its blocks and the columns that couple them; None if it has no such form."""


class ShortColumns(Protocol):
    """Columns of H as vectors that combine linearly: H[:, items] u = spread(u @ vectors(items)) + added · u.

    A basis keeps the vectors of its items in one block, so that a product with their columns is one product
    with that block, without copying columns together.
    """

    @property
    def width(self) -> int:
        """The length of a vector."""

    @property
    def added(self) -> Array | None:
        """What is added on the diagonal of H to what the vectors stand for; None if nothing is."""

    def vectors(self, items: Array | int) -> Array:
        """Return one vector per item, or that of a single one."""

    def spread(self, combined: Array) -> Array:
        """Return what a combination of vectors stands for, over all items."""

    def across(self, vectors: Array, items: Array, item: int) -> Array:
        """Return H[items, item] for another item, where `vectors` are those of the items."""


@dataclass(frozen=True, eq=False)
class DenseOperator:
    """A matrix of which all entries are kept."""

    values: Array
    added: ClassVar[None] = None

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return len(self.values)

    def short_columns(self) -> "DenseOperator":
        return self

    def coupled_blocks(self) -> None:
        return None

    def vectors(self, items: Array | int) -> Array:
        return self.values[items]

    def spread(self, combined: Array) -> Array:
        return combined

    def across(self, vectors: Array, items: Array, item: int) -> Array:
        return self.values[item].take(items)

    def times(self, vector: Array) -> Array:
        some = np.flatnonzero(vector.any(axis=1) if vector.ndim > 1 else vector)
        return self.product(some, vector[some])

    def product(self, items: Array, values: Array) -> Array:
        # Copying the chosen rows costs about as much as multiplying all of them.
        if 4 * len(items) < self.size:
            return self.values[items].T @ values
        full = np.zeros((self.size, *values.shape[1:]))
        full[items] = values
        return self.values @ full

    def block(self, rows: Array, columns: Array) -> Array:
        return block_of(self.values, rows, columns)

    def diagonal(self) -> Array:
        return self.values.diagonal()

    def entries(self) -> Any:
        return None

    def restricted(self, items: Array) -> "DenseOperator":
        return DenseOperator(np.ascontiguousarray(self.values[items][:, items]))

    def scaled(self, units: Array) -> "DenseOperator":
        return DenseOperator(units[:, None] * self.values * units)


@dataclass(frozen=True, eq=False)
class SparseOperator:
    """A matrix of which the entries that are not zero are kept."""

    values: csr_array

    @property
    def size(self) -> int:
        return int(self.values.shape[0])

    def short_columns(self) -> None:
        return None

    def coupled_blocks(self) -> None:
        return None

    def times(self, vector: Array) -> Array:
        return self.values @ vector

    def product(self, items: Array, values: Array) -> Array:
        full = np.zeros((self.size, *values.shape[1:]))
        full[items] = values
        return self.values @ full

    def block(self, rows: Array, columns: Array) -> Array:
        return block_of(self.values, rows, columns)

    def diagonal(self) -> Array:
        return self.values.diagonal()

    def entries(self) -> Any:
        return self.values

    def restricted(self, items: Array) -> "SparseOperator":
        return SparseOperator(csr_array(self.values[items][:, items]))

    def scaled(self, units: Array) -> "SparseOperator":
        scaling = diags_array(units)
        return SparseOperator(csr_array(scaling @ self.values @ scaling))


@dataclass(frozen=True, eq=False)
class LowRankOperator:
    """left rightᵀ + diag(added), the factors dense or sparse with few columns; `added` may be None."""

    left: MatrixData
    right: MatrixData
    added: Array | None = None

    @property
    def size(self) -> int:
        return int(self.left.shape[0])

    @cached_property
    def _right_transposed(self) -> MatrixData:
        return self.right.T.tocsr() if is_sparse(self.right) else self.right.T

    @cached_property
    def _left_transposed(self) -> MatrixData:
        return self.left.T.tocsr() if is_sparse(self.left) else self.left.T

    @property
    def width(self) -> int:
        return int(self.left.shape[1])

    def short_columns(self) -> "LowRankOperator | None":
        return None if is_sparse(self.left) or is_sparse(self.right) else self

    def coupled_blocks(self) -> CoupledBlocks | None:
        return coupled_blocks(self.left, self.right, self.added)

    def vectors(self, items: Array | int) -> Array:
        return self.right[items]

    def spread(self, combined: Array) -> Array:
        return np.asarray(self.left.dot(combined))

    def across(self, vectors: Array, items: Array, item: int) -> Array:
        return np.asarray(vectors.dot(self.left[item]))

    def times(self, vector: Array) -> Array:
        # From the right: what is between the factors is short, and their product is never formed. The long
        # product is by rows, which is how blocks of points are read.
        result = ((self._right_transposed @ vector).T @ self._left_transposed).T
        return result if self.added is None else result + (self.added * vector.T).T

    def product(self, items: Array, values: Array) -> Array:
        if self._groups is not None and values.ndim == 1:
            return self._groups.product(items, values)
        result = np.asarray(((self.right[items].T @ values).T @ self._left_transposed).T)
        if self.added is not None:
            result[items] += (self.added[items] * values.T).T
        return result

    def block(self, rows: Array, columns: Array) -> Array:
        result = dense_matrix(self.left[rows] @ self.right[columns].T)
        return result if self.added is None else result + diagonal_block(self.added, rows, columns)

    def diagonal(self) -> Array:
        if is_sparse(self.left):
            squares = np.asarray(self.left.multiply(self.right).sum(axis=1)).ravel()
        else:
            squares = np.einsum("ij,ij->i", self.left, self.right)
        return squares if self.added is None else squares + self.added

    @cached_property
    def _groups(self) -> CoupledBlocks | None:
        """The blocks of a sparse factor of about equal sizes, whose products are faster than sparse ones."""
        # The columns of other factors would have to be multiplied by roots of weights, which are rounded.
        if not is_sparse(self.left) or self.left is not self.right:
            return None
        blocks = self.coupled_blocks()
        return blocks if blocks is not None and blocks.is_even else None

    def entries(self) -> Any:
        return self._entries

    @cached_property
    def _entries(self) -> Any:
        """The product of sparse factors, unless it may have many more entries than they have."""
        if not (is_sparse(self.left) and is_sparse(self.right)):
            return None
        counts = [np.bincount(part.indices, minlength=self.width) for part in (self.left, self.right)]
        if counts[0] @ counts[1] > MOST_FILL * (self.left.nnz + self.size):
            return None
        product = csr_array(self.left @ self.right.T)
        return product if self.added is None else csr_array(product + diags_array(self.added))

    def restricted(self, items: Array) -> "LowRankOperator":
        added = None if self.added is None else self.added[items]
        return LowRankOperator(self.left[items], self.right[items], added)

    def scaled(self, units: Array) -> "LowRankOperator":
        added = None if self.added is None else self.added * units**2
        left = _rows_scaled(self.left, units)
        right = left if self.right is self.left else _rows_scaled(self.right, units)
        return LowRankOperator(left, right, added)


@dataclass(frozen=True, eq=False)
class PairOperator:
    """Differences of a kernel K over pairs of its objects: units · D K Dᵀ · units, D never formed."""

    kernel: Array
    first: Array
    second: Array
    units: Array | None = None

    @property
    def size(self) -> int:
        return len(self.first)

    added: ClassVar[None] = None

    @property
    def width(self) -> int:
        return len(self.kernel)

    def short_columns(self) -> "PairOperator":
        return self

    def coupled_blocks(self) -> None:
        return None

    @cached_property
    def _differences(self) -> tuple[csr_array, csr_array]:
        """units · D, one row per pair, and its transpose."""
        count, ones = self.size, np.ones(self.size) if self.units is None else self.units
        places = np.column_stack([self.first, self.second]).ravel()
        entries = np.column_stack([ones, -ones]).ravel()
        # Pairs of an object with itself have two entries in one place, which add up to zero.
        D = csr_array((entries, places, 2 * np.arange(count + 1)), shape=(count, len(self.kernel)))
        return D, csr_array(D.T)

    def vectors(self, items: Array | int) -> Array:
        result = self.kernel[self.first[items]] - self.kernel[self.second[items]]
        return result if self.units is None else self.units[items, None] * result

    def spread(self, combined: Array) -> Array:
        result = combined.take(self.first) - combined.take(self.second)
        return result if self.units is None else self.units * result

    def across(self, vectors: Array, items: Array, item: int) -> Array:
        result = vectors[:, self.first[item]] - vectors[:, self.second[item]]
        return result if self.units is None else self.units[item] * result

    def times(self, vector: Array) -> Array:
        D, transposed = self._differences
        return D @ (self.kernel @ (transposed @ vector))

    def product(self, items: Array, values: Array) -> Array:
        D, _ = self._differences
        return D @ (self.kernel @ (D[items].T @ values))

    def block(self, rows: Array, columns: Array) -> Array:
        above, below = (
            block_of(self.kernel, self.first[rows], ends[columns])
            - block_of(self.kernel, self.second[rows], ends[columns])
            for ends in (self.first, self.second)
        )
        result = above - below
        return result if self.units is None else self.units[rows, None] * result * self.units[columns]

    def diagonal(self) -> Array:
        own = self.kernel.diagonal()
        result = own[self.first] - 2 * self.kernel[self.first, self.second] + own[self.second]
        return result if self.units is None else result * self.units**2

    def entries(self) -> Any:
        return None

    def restricted(self, items: Array) -> "PairOperator":
        units = None if self.units is None else self.units[items]
        return PairOperator(self.kernel, self.first[items], self.second[items], units)

    def scaled(self, units: Array) -> "PairOperator":
        both = units if self.units is None else self.units * units
        return PairOperator(self.kernel, self.first, self.second, both)


def operator_of(matrix: MatrixData) -> Operator:
    """Return a matrix given by its entries as an operator."""
    return SparseOperator(csr_array(matrix)) if is_sparse(matrix) else DenseOperator(matrix)


def _rows_scaled(matrix: MatrixData, units: Array) -> MatrixData:
    if is_sparse(matrix):
        return csr_array(diags_array(units) @ matrix)
    return units[:, None] * matrix
