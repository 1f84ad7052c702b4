r"""The structure of M as plain arrays, which compiled code takes: `Form`, made of parts, one `Part` each.

A `Form` describes M by two symmetric parts H and G and the rows B that couple them, each in the structure it
came with. M itself is never formed.

A sparse factor whose rows fall into many groups, once a few columns are set aside, becomes a grouped part.
With F = (U, O) and groups of rows that have no column of O in common,

.. math:: F F^\top + \mathrm{diag} = U U^\top + B, \qquad B = O O^\top + \mathrm{diag} \text{ block diagonal}

as for respondents who share some part-worths and have others of their own. A basis is solved through the
blocks of B if these are regular wherever F Fᵀ + diag is. That is so if the rows of every group satisfy
U = O W (diag counting as columns √diag of O): rows that are dependent in O are then dependent in U, and
U Uᵀ ≤ ‖W‖² B on a group.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from pqp.linalg.field import Array
from pqp.linalg.matrices import MatrixData, diagonal_block, is_sparse
from pqp.linalg.tolerances import SHARED_EXCESS, SPANNED

# The kinds of `Part`; plain integers, because compiled code compares them.
ABSENT, DENSE, FACTORED, PAIRED, SPARSE, SPARSE_FACTORED, GROUPED = range(7)


def frozen(values: Array) -> Array:
    """Return an array as compiled code takes it: contiguous and read-only.

    Every combination of array types is compiled anew, so all arrays have the same one.
    """
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view


NO_MATRIX, NO_VECTOR = frozen(np.empty((0, 0))), frozen(np.empty(0))
NO_INDICES = frozen(np.empty(0, dtype=np.int64))


class Rows(NamedTuple):
    """A sparse matrix by its rows."""

    data: Array
    indices: Array
    indptr: Array


NO_ROWS = Rows(NO_VECTOR, NO_INDICES, frozen(np.zeros(1, dtype=np.int64)))


class Part(NamedTuple):
    """A symmetric matrix: L, L Rᵀ + diag, differences of L over pairs, or S, S diag(weights) Sᵀ + diag.

    `kind` says which; L is `left`, R `right`, S `rows`, and diag `added`. A grouped part is L Lᵀ + diag: the
    items of different groups, `first`, have only the first `shared` columns of L in common; `second` is the
    largest number of independent items of each group.
    """

    kind: int
    left: Array = NO_MATRIX
    right: Array = NO_MATRIX
    rows: Rows = NO_ROWS
    weights: Array = NO_VECTOR
    added: Array = NO_VECTOR
    first: Array = NO_INDICES
    second: Array = NO_INDICES
    shared: int = 0


NO_PART = Part(ABSENT)


class Form(NamedTuple):
    """M by its parts; items below `size` belong to H. B is dense or sparse, each by rows and by columns."""

    size: int
    H: Part
    G: Part
    B: tuple[Array, Array]
    sparse: tuple[Rows, Rows]
    units: Array


def rows_of(matrix: MatrixData) -> Rows:
    """Return a sparse matrix by its rows."""
    by_rows = csr_array(matrix).sorted_indices()
    return Rows(_floats(by_rows.data), _integers(by_rows.indices), _integers(by_rows.indptr))


def part_of(matrix: MatrixData) -> Part:
    """Return a symmetric matrix given by its entries as a part."""
    return Part(SPARSE, rows=rows_of(matrix)) if is_sparse(matrix) else Part(DENSE, left=_floats(matrix))


def factored_part(left: MatrixData, right: MatrixData, added: Array) -> Part:
    """Return left rightᵀ + diag(added), both factors dense, as a part."""
    return Part(FACTORED, left=_floats(left), right=_floats(right), added=_floats(added))


def sparse_factored_part(factor: MatrixData, weights: Array, added: Array) -> Part:
    """Return factor diag(weights) factorᵀ + diag(added) as a part."""
    return Part(SPARSE_FACTORED, rows=rows_of(factor), weights=_floats(weights), added=_floats(added))


def paired_part(K: Array, first: Array, second: Array) -> Part:
    """Return the differences of K over pairs of its items as a part."""
    return Part(PAIRED, left=_floats(K), first=_integers(first), second=_integers(second))


def form_of(size: int, H: Part, G: Part, B: MatrixData | None) -> Form:
    """Return the form of a system without units."""
    dense, rows = (NO_MATRIX, NO_MATRIX), (NO_ROWS, NO_ROWS)
    if B is not None and is_sparse(B):
        rows = (rows_of(B), rows_of(B.T))
    elif B is not None:
        dense = (_floats(B), _floats(B.T))
    return Form(size, H, G, dense, rows, NO_VECTOR)


def restricted(part: Part, items: Array) -> Part:
    """Return the block of a symmetric part that belongs to some items."""
    left, right = part.left, part.right
    if part.kind in (DENSE, FACTORED, GROUPED):
        left = left[items][:, items] if part.kind == DENSE else left[items]
    return part._replace(
        left=_floats(left),
        right=_floats(right[items]) if len(right) else right,
        rows=_restricted_rows(part, items),
        added=_floats(part.added[items]) if len(part.added) else part.added,
        first=_integers(part.first[items]) if len(part.first) else part.first,
        second=_integers(part.second[items]) if part.kind == PAIRED else part.second,
    )


def _restricted_rows(part: Part, items: Array) -> Rows:
    if part.kind not in (SPARSE, SPARSE_FACTORED):
        return part.rows
    count = len(part.rows.indptr) - 1
    columns = count if part.kind == SPARSE else len(part.weights)
    kept = csr_array(tuple(part.rows), shape=(count, columns))[items]
    return rows_of(kept[:, items] if part.kind == SPARSE else kept)


def with_units(form: Form, units: Array) -> Form:
    """Return d M d for the units d."""
    return form._replace(units=_floats(units))


def _floats(values: Array) -> Array:
    return frozen(np.asarray(values, dtype=float))


def _integers(values: Array) -> Array:
    return frozen(np.asarray(values, dtype=np.int64))


def single_part(form: Form) -> Part:
    """Return all of M if it is one symmetric part."""
    return form.H if form.size else form.G


def is_low_rank(form: Form, size: int) -> bool:
    """Return whether all of M is one low-rank product of dense factors, which a product reads row by row."""
    kind = form.H.kind if form.size else form.G.kind
    is_one = form.size == 0 or (form.G.kind == ABSENT and form.size == size)
    return is_one and kind == FACTORED and len(form.units) == 0


# At most this many columns are set aside,
MOST_SHARED = 64
# and no more than one for this many rows: shared columns are dense, and cost work at every product.
ROWS_PER_SHARED = 8
# A group has at most this part of all rows: with a few large groups, blocks save little.
LARGEST_GROUP = 1 / 8
# The entries of a group are kept densely if that takes at most this many times the memory of sparse ones.
MOST_PADDING = 4


def sparse_factor_part(factor: MatrixData, weights: Array, added: Array) -> Part:
    """Return factor diag(weights) factorᵀ + diag(added) as a part, by groups of its rows if it has them."""
    grouped = grouped_rows(csr_array(factor), added) if np.all(weights == 1.0) else None
    return sparse_factored_part(factor, weights, added) if grouped is None else grouped


def grouped_rows(factor: csr_array, added: Array) -> Part | None:
    """Return factor factorᵀ + diag(added) by groups of rows; None if groups are few, or blocks singular.

    >>> X = [[1, 1], [0, 1]]
    >>> pool = np.hstack([np.tile(X, (8, 1)), np.kron(np.eye(8), X)])
    >>> part = grouped_rows(csr_array(pool), np.empty(0))
    >>> part.shared, part.first.tolist(), part.second.tolist()
    (2, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7], [2, 2, 2, 2, 2, 2, 2, 2])
    """
    # the columns of most entries join most rows, so setting them aside breaks the factor up soonest
    sorting = _Sorting(factor)
    shared = sorting.fewest_shared()
    if shared is None:
        return None
    row_group, column_group = sorting.groups(shared)
    own = _places_in_groups(column_group)
    width = int(own.max(initial=-1)) + 1
    if factor.shape[0] * (shared + width) > MOST_PADDING * factor.nnz:
        return None
    left = np.zeros((factor.shape[0], shared + width))
    left[sorting.row, np.concatenate([np.arange(shared), shared + own])[sorting.column]] = factor.data
    names, group = np.unique(row_group, return_inverse=True)
    sizes, widths = np.bincount(group), np.bincount(column_group, minlength=int(names.max()) + 1)[names]
    ranks = sizes if len(added) else np.minimum(sizes, widths)
    if not _is_spanned(left, shared, group, added):
        return None
    return Part(
        GROUPED,
        left=_floats(left),
        first=_integers(group),
        second=_integers(ranks),
        added=_floats(added),
        shared=shared,
    )


@dataclass(frozen=True, eq=False)
class _Sorting:
    """The entries of a factor, the columns with most entries first: candidates to be shared."""

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

    def groups(self, shared: int) -> tuple[Array, Array]:
        """Return the group of every row, and of every column that is not shared."""
        from scipy.sparse.csgraph import connected_components  # slow to import, and rarely needed

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
        # groups only fall apart as more columns are set aside
        return bisect_left(range(most), True, key=self._are_small)

    def _are_small(self, shared: int) -> bool:
        return bool(np.bincount(self.groups(shared)[0]).max() <= LARGEST_GROUP * self.factor.shape[0])


def _places_in_groups(group: Array) -> Array:
    """Return for every item how many of its group come before it."""
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    result = np.empty(len(group), dtype=np.int64)
    result[order] = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return result


def _is_spanned(left: Array, shared: int, group: Array, added: Array) -> bool:
    """Return whether U = O W on every group, with W small enough to keep precision."""
    for rows in groups_by_size(group):
        U, own = left[rows][:, :, :shared], left[rows][:, :, shared:]
        if len(added):
            own = np.concatenate([own, np.sqrt(added[rows])[:, :, None] * np.eye(rows.shape[1])], axis=2)
        W = np.linalg.pinv(own, rcond=SPANNED) @ U
        missed, size = (np.abs(part).max(axis=(1, 2), initial=0.0) for part in (own @ W - U, U))
        norms = np.linalg.norm(W, 2, axis=(1, 2)) if W.size else np.zeros(1)
        if np.any(missed > SPANNED * size) or np.any(norms**2 > SHARED_EXCESS):
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
    """Yield the items of all groups of one size, one row per group, in order of size.

    >>> [rows.tolist() for rows in groups_by_size(np.array([2, 0, 2, 1]))]
    [[[1], [3]], [[0, 2]]]
    """
    order, sizes = np.argsort(group, kind="stable"), np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]):
        yield order[starts[sizes == size][:, None] + np.arange(size)]
