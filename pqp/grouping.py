r"""Grouping: sparse factors whose rows fall into many groups once a few columns are set aside.

With F = (U, O) and groups of rows that have no column of O in common,

.. math:: F F^\top + \mathrm{diag} = U U^\top + B, \qquad B = O O^\top + \mathrm{diag} \text{ block diagonal}

as for respondents who have part-worths in common and others of their own. A basis is solved through the
blocks of B if these are regular wherever F Fᵀ + diag is. That is so if the rows of every group satisfy
U = O W (diag counting as columns √diag of O): what depends in O then depends in U, and U Uᵀ ≤ ‖W‖² B on a
group.

Room: a sparse factor in; a part, grouped if it can be, and its blocks out.
May touch: `field`, `forms`, `matrices`.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from pqp.field import OUTWEIGHED, SPANNED, Array
from pqp.forms import Part, grouped_part, sparse_factored_part
from pqp.matrices import MatrixData, diagonal_block

# At most so many columns are set aside, and one for so many rows.
MOST_SHARED, ROWS_PER_SHARED = 64, 8
# A group has at most this part of all rows: with fewer groups, blocks save little.
LARGEST_GROUP = 1 / 8
# Groups keep their entries densely, if that is not more than this many times what is stored.
LOOSE = 4


def sparse_factor_part(factor: MatrixData, weights: Array, added: Array) -> Part:
    """Return factor diag(weights) factorᵀ + diag(added) as a part, by groups of its rows if it has them."""
    grouped = grouped_rows(csr_array(factor), added) if np.all(weights == 1.0) else None
    return sparse_factored_part(factor, weights, added) if grouped is None else grouped


def grouped_rows(factor: csr_array, added: Array) -> Part | None:
    """Return factor factorᵀ + diag(added) by groups of rows; None if there are few, or blocks would not do.

    >>> X = [[1, 1], [0, 1]]
    >>> pool = np.hstack([np.tile(X, (8, 1)), np.kron(np.eye(8), X)])
    >>> part = grouped_rows(csr_array(pool), np.empty(0))
    >>> part.shared, part.first.tolist(), part.second.tolist()
    (2, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7], [2, 2, 2, 2, 2, 2, 2, 2])
    """
    sorting = _Sorting(factor)
    shared = sorting.fewest_shared()
    if shared is None:
        return None
    row_group, column_group = sorting.groups(shared)
    own = _places_in_groups(column_group)
    width = int(own.max(initial=-1)) + 1
    if factor.shape[0] * (shared + width) > LOOSE * factor.nnz:
        return None
    left = np.zeros((factor.shape[0], shared + width))
    left[sorting.row, np.concatenate([np.arange(shared), shared + own])[sorting.column]] = sorting.value
    names, group = np.unique(row_group, return_inverse=True)
    sizes, widths = np.bincount(group), np.bincount(column_group, minlength=int(names.max()) + 1)[names]
    ranks = sizes if len(added) else np.minimum(sizes, widths)
    if not _is_spanned(left, shared, group, added):
        return None
    return grouped_part(left, shared, group, ranks, added)


@dataclass(frozen=True, eq=False)
class _Sorting:
    """The entries of a factor, columns with most of them first."""

    factor: csr_array

    @cached_property
    def _order(self) -> Array:
        return np.argsort(-np.bincount(self.factor.indices, minlength=self.factor.shape[1]), kind="stable")

    @cached_property
    def row(self) -> Array:
        """The rows of all entries."""
        return np.repeat(np.arange(self.factor.shape[0]), np.diff(self.factor.indptr))

    @cached_property
    def column(self) -> Array:
        """The columns of all entries, in the new order."""
        return np.argsort(self._order)[self.factor.indices]

    @property
    def value(self) -> Array:
        """All entries."""
        return self.factor.data

    def groups(self, shared: int) -> tuple[Array, Array]:
        """Return the group of every row, and of every column that is not shared."""
        n, m = self.factor.shape
        kept = self.column >= shared
        places = self.row[kept], n + self.column[kept] - shared
        graph = coo_array((np.ones(len(places[0]), np.int8), places), shape=(n + m - shared,) * 2)
        _, group = connected_components(graph, directed=False)
        return group[:n], group[n:]

    def fewest_shared(self) -> int | None:
        """Return how many columns must be set aside so that all groups are small; None if that is many."""
        n, m = self.factor.shape
        most = min(MOST_SHARED, n // ROWS_PER_SHARED, m)
        if not most or not self._are_small(most):
            return None
        return bisect_left(range(most), True, key=self._are_small)

    def _are_small(self, shared: int) -> bool:
        return bool(np.bincount(self.groups(shared)[0]).max() <= LARGEST_GROUP * self.factor.shape[0])


def _places_in_groups(group: Array) -> Array:
    """Return for all items how many of their group stand before them."""
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    result = np.empty(len(group), dtype=np.int64)
    result[order] = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return result


def _is_spanned(left: Array, shared: int, group: Array, added: Array) -> bool:
    """Tell whether U = O W on every group, with W not too large."""
    for rows in groups_by_size(group):
        U, own = left[rows][:, :, :shared], left[rows][:, :, shared:]
        if len(added):
            own = np.concatenate([own, np.sqrt(added[rows])[:, :, None] * np.eye(rows.shape[1])], axis=2)
        W = np.linalg.pinv(own, rcond=SPANNED) @ U
        missed, size = (np.abs(part).max(axis=(1, 2), initial=0.0) for part in (own @ W - U, U))
        norms = np.linalg.norm(W, 2, axis=(1, 2)) if W.size else np.zeros(1)
        if np.any(missed > SPANNED * size) or np.any(norms**2 > OUTWEIGHED):
            return False
    return True


def grouped_block(part: Part, rows: Array, columns: Array) -> Array:
    """Return the entries of a grouped part for some rows and columns."""
    left, right = part.left[rows], part.left[columns]
    result = left[:, : part.shared] @ right[:, : part.shared].T
    i, j = np.nonzero(np.equal.outer(part.first[rows], part.first[columns]))
    result[i, j] += np.einsum("ij,ij->i", left[i, part.shared :], right[j, part.shared :])
    return result + diagonal_block(part.added, rows, columns) if len(part.added) else result


def groups_by_size(group: Array) -> Iterator[Array]:
    """Yield the items of all groups of one size, one row a group, for one size after the other.

    >>> [rows.tolist() for rows in groups_by_size(np.array([2, 0, 2, 1]))]
    [[[1], [3]], [[0, 2]]]
    """
    order, sizes = np.argsort(group, kind="stable"), np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]):
        yield order[starts[sizes == size][:, None] + np.arange(size)]
