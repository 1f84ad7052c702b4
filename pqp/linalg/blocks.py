r"""Coupled blocks: symmetric matrices that are block diagonal but for a few columns.

With groups of items that have no column of O in common,

.. math:: S = U U^\top + B, \qquad B = O O^\top + \mathrm{diag}(a) \text{ block diagonal}

as for respondents who have part-worths in common and others of their own. In a factor model, low rank plus
diagonal, every item is a group.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from pqp.linalg.field import Array
from pqp.linalg.matrices import MatrixData, dense_matrix, is_sparse
from pqp.linalg.tolerances import ROUNDING

# At most so many columns couple the blocks: every Schur complement has all of them.
MOST_COUPLING = 64
# A sparse factor has at most one column in common for so many rows.
ROWS_PER_SHARED = 8
# A group has at most this part of all rows: with fewer groups, blocks save little.
LARGEST_GROUP = 1 / 8
# The rows of all groups are kept densely, if that is not more than this many times what the factor stores.
LOOSE = 4
# Groups are about equal if that fills them up to at most this many times their items.
EVEN = 2


@dataclass(frozen=True, eq=False)
class CoupledBlocks:
    """S by its coupling columns and, for every item, its group, its row of O and its a.

    The coupling columns are U and, behind it, the columns of the rows of a system. These rows are the last
    items; each is a group of its own, with B = 0.
    """

    coupling: Array
    group: Array
    own: Array
    added: Array
    rows: int = 0

    @property
    def shared(self) -> int:
        """The number of columns of U."""
        return int(self.coupling.shape[1]) - self.rows

    def product(self, items: Array, values: Array) -> Array:
        """Return S[:, items] times a vector, without rows: every group is a small dense product."""
        padded, position = self._padded
        U = self.coupling
        spread = np.zeros(padded.shape[:2])
        spread.reshape(-1)[position[items]] = values
        own = np.matmul(padded, np.matmul(spread[:, None], padded).transpose(0, 2, 1))
        result = own.reshape(-1).take(position)
        result += U @ (values @ U.take(items, axis=0))
        result[items] += self.added[items] * values
        return result

    @property
    def is_even(self) -> bool:
        """Whether no group has much more items than the average one."""
        sizes = np.bincount(self.group)
        return bool(len(sizes) * sizes.max(initial=0) <= EVEN * len(self.group))

    @cached_property
    def _padded(self) -> tuple[Array, Array]:
        """The rows of O by groups, filled up to equal sizes with zeros, and where the row of an item is."""
        number = _numbers_in_groups(self.group)
        width = int(number.max(initial=-1)) + 1
        padded = np.zeros((int(self.group.max(initial=-1)) + 1, width, self.own.shape[1]))
        padded[self.group, number] = self.own
        return padded, self.group * width + number

    def with_rows(self, B: MatrixData) -> "CoupledBlocks | None":
        """Return the blocks of [[S, -Bᵀ], [-B, 0]]; None if there are too many rows."""
        m = int(B.shape[0])
        if self.shared + m > MOST_COUPLING:
            return None
        below = np.zeros((m, self.shared + m))
        return replace(
            self,
            coupling=np.vstack([np.hstack([self.coupling, -dense_matrix(B.T)]), below]),
            group=np.concatenate([self.group, self.group.max(initial=-1) + 1 + np.arange(m)]),
            own=np.vstack([self.own, np.zeros((m, self.own.shape[1]))]),
            added=np.concatenate([self.added, np.zeros(m)]),
            rows=m,
        )

    def own_column(self, items: Array, item: int) -> Array:
        """Return the entries of B for some items of a group and one more item of it."""
        result = self.own.take(items, axis=0) @ self.own[item]
        result[items == item] += self.added[item]
        return result

    def own_blocks(self, items: Array) -> Array:
        """Return the blocks of B for the items of some groups, one row of items per group."""
        own, diagonal = self.own[items], self.added[items][:, :, None] * np.eye(items.shape[1])
        return np.asarray(own @ own.transpose(0, 2, 1) + diagonal)


def coupled_blocks(left: MatrixData, right: MatrixData, added: Array | None) -> CoupledBlocks | None:
    """Return left rightᵀ + diag(added) by its blocks; None if they would not be worth it."""
    n, columns = left.shape
    if not n:
        return None
    if not is_sparse(left):
        if added is None or columns > MOST_COUPLING:
            return None
        factor = _symmetric_factor(left, right)
        return None if factor is None else CoupledBlocks(factor, np.arange(n), np.zeros((n, 0)), added)
    factor = _symmetric_factor(left, right)
    return None if factor is None else _grouped(csr_array(factor), np.zeros(n) if added is None else added)


def _symmetric_factor(left: MatrixData, right: MatrixData) -> MatrixData | None:
    """Return F with F Fᵀ = left rightᵀ, None unless the columns of left are multiples of those of right."""
    if left is right:
        return right
    if is_sparse(left) != is_sparse(right):
        return None
    products, squares = (np.asarray((part * right).sum(axis=0)) for part in (left, right))
    weights = products / np.where(squares > 0, squares, 1.0)
    size = abs(left).max()
    if np.any(weights < 0) or abs(left - right * weights).max() > ROUNDING * size:
        return None
    return right * np.sqrt(weights)


def _grouped(factor: csr_array, added: Array) -> CoupledBlocks | None:
    """Return factor factorᵀ + diag(added) by groups of rows.

    >>> X = [[1, 1], [0, 1]]
    >>> pool = np.hstack([np.tile(X, (8, 1)), np.kron(np.eye(8), X)])
    >>> blocks = _grouped(csr_array(pool), np.zeros(16))
    >>> blocks.shared, blocks.own.shape, blocks.group.tolist()
    (2, (16, 2), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7])
    """
    sorting = _Sorting(factor)
    shared = sorting.fewest_shared()
    if shared is None:
        return None
    row_group, column_group = sorting.groups(shared)
    number = _numbers_in_groups(column_group)
    width = int(number.max(initial=-1)) + 1
    if factor.shape[0] * (shared + width) > LOOSE * factor.nnz:
        return None
    rows = np.zeros((factor.shape[0], shared + width))
    places = np.concatenate([np.arange(shared), shared + number])
    rows[sorting.row, places[sorting.column]] = factor.data
    _, group = np.unique(row_group, return_inverse=True)
    return CoupledBlocks(rows[:, :shared].copy(), group, rows[:, shared:].copy(), added)


@dataclass(frozen=True, eq=False)
class _Sorting:
    """The entries of a factor, columns with most of them first."""

    factor: csr_array

    @cached_property
    def row(self) -> Array:
        """The rows of all entries."""
        return np.repeat(np.arange(self.factor.shape[0]), np.diff(self.factor.indptr))

    @cached_property
    def column(self) -> Array:
        """The columns of all entries, in the new order."""
        counts = np.bincount(self.factor.indices, minlength=self.factor.shape[1])
        return np.argsort(np.argsort(-counts, kind="stable"))[self.factor.indices]

    def groups(self, shared: int) -> tuple[Array, Array]:
        """Return the group of every row, and of every column that is not shared."""
        n, columns = self.factor.shape
        kept = self.column >= shared
        places = self.row[kept], n + self.column[kept] - shared
        size = n + columns - shared
        graph: Any = coo_array((np.ones(len(places[0]), np.int8), places), shape=(size, size))
        _, group = connected_components(graph, directed=False)
        return group[:n], group[n:]

    def fewest_shared(self) -> int | None:
        """Return how many columns must be shared so that all groups are small; None if that is too many."""
        n, columns = self.factor.shape
        most = min(MOST_COUPLING, n // ROWS_PER_SHARED, columns)
        if not self._are_small(most):
            return None
        return bisect_left(range(most), True, key=self._are_small)

    def _are_small(self, shared: int) -> bool:
        sizes = np.bincount(self.groups(shared)[0])
        return bool(sizes.max(initial=0) <= LARGEST_GROUP * self.factor.shape[0])


def _numbers_in_groups(group: Array) -> Array:
    """Return for all items how many of their group stand before them.

    >>> _numbers_in_groups(np.array([2, 0, 2, 2])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    result = np.empty(len(group), dtype=np.int64)
    result[order] = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return result
