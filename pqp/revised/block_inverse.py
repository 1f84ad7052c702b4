r"""The inverse by blocks: S_RR⁻¹ for S = B + U Uᵀ with B block diagonal and U of few columns.

With Z = B_RR⁻¹ U_R, one row per item of R, and K = (I + U_Rᵀ Z)⁻¹,

.. math:: S_{RR}^{-1} = B_{RR}^{-1} - Z K Z^\top

so that a solution takes O(Σ k_g² + |R| d) for blocks of k_g items and d columns of U. Entering borders one
block, leaving takes a Schur complement of it; both change Z on that block only, and K by rank one.
"""

from typing import NamedTuple

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_inside
from pqp.linalg.structure import GROUPED, NO_INDICES, NO_MATRIX, NO_VECTOR, Form, frozen, groups_by_size
from pqp.linalg.tolerances import TRUSTED_PIVOT


class Blocks(NamedTuple):
    """Constant: rows (U, O) of all items, with B = O Oᵀ + diag(added) within their groups.

    Then, for every group, where its members and the entries of its block begin. Variable: members and their
    number, which member an item is, the entries of B_RR⁻¹, Z by position, and K.
    """

    rows: Array
    added: Array
    group: Array
    begins: Array
    entries: Array
    members: Array
    counts: Array
    numbers: Array
    values: Array
    Z: Array
    K: Array


def no_blocks() -> Blocks:
    """Return the blocks of a matrix that has none."""
    whole, values = np.empty(0, dtype=np.int64), np.empty((0, 0))
    fixed = NO_MATRIX, NO_VECTOR, NO_INDICES, NO_INDICES, NO_INDICES
    return Blocks(*fixed, whole, whole, whole, np.empty(0), values, values)


def blocks_of(form: Form, size: int) -> Blocks:
    """Return empty blocks for a system that is one grouped part; no blocks for any other."""
    part = form.H
    if form.size != size or part.kind != GROUPED:
        return no_blocks()
    rows, added = part.left, part.added
    if len(form.units):
        rows = frozen(rows * form.units[:, None])
        added = frozen(added * form.units**2) if len(added) else added
    ends, squares = (np.concatenate([[0], np.cumsum(ranks)]) for ranks in (part.second, part.second**2))
    return Blocks(
        rows,
        added,
        part.first,
        frozen(ends),
        frozen(squares),
        np.empty(ends[-1], dtype=np.int64),
        np.zeros(len(part.second), dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(squares[-1]),
        np.empty((0, part.shared)),
        np.eye(part.shared),
    )


def rebuild_blocks(blocks: Blocks, R: Array) -> bool:
    """Compute all blocks, Z and K for the given items; return whether no block has too many."""
    group, shared = blocks.group[R], blocks.K.shape[0]
    blocks.counts[:] = np.bincount(group, minlength=len(blocks.counts))
    # The room of a block is the rank of its group: more items are dependent, and the basis singular.
    if np.any(blocks.counts > np.diff(blocks.begins)):
        return False
    U = blocks.rows[R, :shared]
    # Groups are many and small, so all of one size are inverted in one call.
    for positions in groups_by_size(group):
        items, where, numbers = R[positions], group[positions[:, 0]], np.arange(positions.shape[1])
        inverse = np.linalg.inv(_own_blocks(blocks, items))
        inverse = (inverse + inverse.transpose(0, 2, 1)) / 2
        blocks.members[blocks.begins[where][:, None] + numbers] = items
        blocks.numbers[items] = numbers
        width = np.diff(blocks.begins)[where][:, None, None]
        blocks.values[blocks.entries[where][:, None, None] + width * numbers[:, None] + numbers] = inverse
        blocks.Z[positions] = inverse @ U[positions]
    K = np.linalg.inv(np.eye(shared) + U.T @ blocks.Z[: len(R)])
    blocks.K[:] = (K + K.T) / 2
    return True


def _own_blocks(blocks: Blocks, items: Array) -> Array:
    """Return the blocks of B that belong to some items, one row of items per group."""
    own = blocks.rows[items][:, :, blocks.K.shape[0] :]
    result = own @ own.transpose(0, 2, 1)
    if len(blocks.added):
        result += blocks.added[items][:, :, None] * np.eye(items.shape[1])
    return np.asarray(result)


@compiled_inside
def solve_by_blocks(blocks: Blocks, position: Array, right: Array) -> Array:
    """Return S_RR⁻¹ times a vector."""
    result, inner = np.zeros(len(right)), np.zeros(len(blocks.K))
    for g in range(len(blocks.counts)):
        members = _members(blocks, g)
        for a in range(len(members)):
            row, total = _row(blocks, g, a), 0.0
            for b in range(len(members)):
                total += row[b] * right[position[members[b]]]
            result[position[members[a]]] = total
    for k in range(len(right)):
        _add(inner, right[k], blocks.Z[k])
    # From right to left, Z (K (Zᵀb)) takes O(|R| d), and Z K Zᵀ is never formed.
    _subtract_products(blocks.Z, _times(blocks.K, inner), result)
    return result


@compiled_inside
def column_by_blocks(blocks: Blocks, position: Array, count: int, item: int) -> Array:
    """Return the column of S_RR⁻¹ that belongs to an item of R."""
    result, g = np.zeros(count), blocks.group[item]
    row, members = _row(blocks, g, blocks.numbers[item]), _members(blocks, g)
    for b in range(len(members)):
        result[position[members[b]]] = row[b]
    _subtract_products(blocks.Z, _times(blocks.K, blocks.Z[position[item]]), result)
    return result


@compiled
def diagonal_by_blocks(blocks: Blocks, position: Array, count: int) -> Array:
    """Return the diagonal of S_RR⁻¹."""
    result = np.zeros(count)
    for g in range(len(blocks.counts)):
        members = _members(blocks, g)
        for a in range(len(members)):
            k = position[members[a]]
            z = blocks.Z[k]
            result[k] = _row(blocks, g, a)[a] - _dot(z, _times(blocks.K, z))
    return result


@compiled_inside
def enter_block(blocks: Blocks, position: Array, item: int, new: int) -> bool:
    """Let an item enter its block if its pivot there can be trusted; return whether it did."""
    shared, g = len(blocks.K), blocks.group[item]
    members, count = _members(blocks, g), blocks.counts[g]
    if blocks.begins[g] + count == blocks.begins[g + 1]:
        return False
    column, solved = np.empty(count), np.zeros(count)
    for b in range(count):
        column[b] = _own_entry(blocks, item, members[b])
        _add(solved, column[b], _row(blocks, g, b))
    corner = _own_entry(blocks, item, item)
    schur = corner - _dot(column, solved)
    # The caller has tested the pivot of M_RR; that of the block is another one, and both must be trusted
    # (docs/method.md, Groups).
    if not schur > TRUSTED_PIVOT * (corner + max_abs(column) * max_abs(solved)):
        return False
    z = np.zeros(shared)
    _add(z, 1.0 / schur, blocks.rows[item])
    for b in range(count):
        _add(z, -solved[b] / schur, blocks.rows[members[b]])
    for b in range(count):
        _add(blocks.Z[position[members[b]]], -solved[b], z)
    for j in range(shared):
        blocks.Z[new, j] = z[j]
    _add_border(blocks, g, solved, schur)
    # UᵀZ grows by schur z zᵀ, so K changes by rank one (Sherman and Morrison).
    w = _times(blocks.K, z)
    _add_outer(blocks.K, -1.0 / (1.0 / schur + _dot(z, w)), w)
    blocks.members[blocks.begins[g] + count], blocks.numbers[item] = item, count
    blocks.counts[g] = count + 1
    return True


@compiled_inside
def _own_entry(blocks: Blocks, i: int, j: int) -> float:
    """Return an entry of B for two items of one group."""
    one, other, total = blocks.rows[i], blocks.rows[j], 0.0
    for k in range(len(blocks.K), len(one)):
        total += one[k] * other[k]
    return total + (blocks.added[i] if i == j and len(blocks.added) else 0.0)


@compiled_inside
def _add_border(blocks: Blocks, g: int, solved: Array, schur: float) -> None:
    """Add a row and a column to the inverse of a block."""
    count = len(solved)
    last = _row(blocks, g, count)
    for a in range(count):
        row = _row(blocks, g, a)
        for b in range(count):
            row[b] += solved[a] * solved[b] / schur
        last[a] = row[count] = -solved[a] / schur
    last[count] = 1.0 / schur


@compiled_inside
def leave_block(blocks: Blocks, position: Array, item: int, last: int) -> bool:
    """Let an item leave its block if its pivot there can be trusted; return whether it did.

    The row of Z at the last position moves to the position of the item.
    """
    g, p = blocks.group[item], blocks.numbers[item]
    # Copies, since the updates below change the rows they are read from.
    members, column, z = _members(blocks, g), _copy(_row(blocks, g, p)), _copy(blocks.Z[position[item]])
    column = column[: len(members)]
    w = _times(blocks.K, z)
    # `rest` is the pivot of M_RR, `column[p]` that of the block: both must be trusted.
    rest = column[p] - _dot(z, w)
    if not (column[p] > TRUSTED_PIVOT * max_abs(column) and rest > TRUSTED_PIVOT * column[p]):
        return False
    for a in range(len(members)):
        row = _row(blocks, g, a)
        for b in range(len(members)):
            row[b] -= column[a] * column[b] / column[p]
        _add(blocks.Z[position[members[a]]], -column[a] / column[p], z)
    # UᵀZ loses z zᵀ / column[p], again by rank one.
    _add_outer(blocks.K, 1.0 / rest, w)
    for j in range(len(z)):
        blocks.Z[position[item], j] = blocks.Z[last, j]
    _close_gap(blocks, g, p)
    return True


@compiled_inside
def _close_gap(blocks: Blocks, g: int, p: int) -> None:
    """Give the number of a member that has left to the last member of its group."""
    last = blocks.counts[g] - 1
    here, there = _row(blocks, g, p), _row(blocks, g, last)
    for a in range(last):
        row = _row(blocks, g, a)
        row[p] = here[a] = there[a]
    here[p] = there[last]
    moved = blocks.members[blocks.begins[g] + last]
    blocks.members[blocks.begins[g] + p], blocks.numbers[moved] = moved, p
    blocks.counts[g] = last


@compiled_inside
def _members(blocks: Blocks, g: int) -> Array:
    begin = blocks.begins[g]
    return blocks.members[begin : begin + blocks.counts[g]]


@compiled_inside
def _row(blocks: Blocks, g: int, a: int) -> Array:
    """Return a row of the inverse of a block, with all its capacity."""
    # Rows have the width of a full block, so that blocks grow and shrink in place.
    width = blocks.begins[g + 1] - blocks.begins[g]
    begin = blocks.entries[g] + a * width
    return blocks.values[begin : begin + width]


@compiled_inside
def _subtract_products(Z: Array, inner: Array, out: Array) -> None:
    for k in range(len(out)):
        out[k] -= _dot(Z[k], inner)


@compiled_inside
def _times(K: Array, vector: Array) -> Array:
    result = np.zeros(len(K))
    for j in range(len(K)):
        _add(result, vector[j], K[j])
    return result


@compiled_inside
def _add_outer(K: Array, factor: float, vector: Array) -> None:
    for i in range(len(K)):
        _add(K[i], factor * vector[i], vector)


@compiled_inside
def _add(out: Array, factor: float, vector: Array) -> None:
    """Add a multiple of a vector, or of its leading part."""
    for j in range(len(out)):
        out[j] += factor * vector[j]


@compiled_inside
def _copy(vector: Array) -> Array:
    result = np.empty(len(vector))
    for j in range(len(vector)):
        result[j] = vector[j]
    return result


@compiled_inside
def _dot(one: Array, other: Array) -> float:
    total = 0.0
    for j in range(len(one)):
        total += one[j] * other[j]
    return total


@compiled_inside
def max_abs(values: Array) -> float:
    """Return the largest absolute value."""
    top = 0.0
    for value in values:
        top = max(top, abs(value))
    return top
