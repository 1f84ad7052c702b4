r"""The inverse of a basis matrix, updated while items enter and leave the basis.

With signs J = ±1 the matrix S = J M is symmetric; for a set R of items this class keeps

.. math:: S_{RR}^{-1}, \qquad M_{RR}^{-1} = S_{RR}^{-1} J_R

Entering borders the inverse, leaving takes a Schur complement, both in O(|R|²). Where S is block diagonal but
for a few columns, `block_inverse` keeps it by blocks and it is never formed. The compiled functions work on
the arrays of an `Inverse`, its `core`.
"""

from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError, inv

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_inside
from pqp.revised.block_inverse import (
    Blocks,
    column_by_blocks,
    diagonal_by_blocks,
    enter_block,
    leave_block,
    no_blocks,
    rebuild_blocks,
    solve_by_blocks,
)

# Arrays that must grow get this many times the room they need, so that growth is rare.
GROWTH = 2


class InverseArrays(NamedTuple):
    """The arrays of an inverse: positions of items, items by position, entries, the count in use, blocks.

    With blocks there are no entries.
    """

    position: Array
    items: Array
    values: Array
    used: Array
    blocks: Blocks


class Inverse:
    """The inverse of S_RR; `items` lists R in the order of its rows, `position` is -1 outside R."""

    def __init__(self, size: int, capacity: int = 32, blocks: Blocks | None = None) -> None:
        position, items = np.full(size, -1, dtype=np.int64), np.empty(capacity, dtype=np.int64)
        blocks = no_blocks() if blocks is None else blocks
        # Blocks are there to avoid the |R|² entries of the full inverse.
        side = 0 if len(blocks.group) else capacity
        self.core = InverseArrays(
            position, items, np.empty((side, side)), np.zeros(1, dtype=np.int64), blocks
        )
        if self.has_blocks:
            self._give_room(capacity)

    @property
    def count(self) -> int:
        """|R|."""
        return int(self.core.used[0])

    @property
    def position(self) -> Array:
        """The row of every item, -1 outside R."""
        return self.core.position

    @property
    def items(self) -> Array:
        """The items of R."""
        return self.core.items[: self.core.used[0]]

    @property
    def has_blocks(self) -> bool:
        """Whether the inverse is kept by blocks."""
        return len(self.core.blocks.group) > 0

    @property
    def values(self) -> Array:
        """S_RR⁻¹, formed if it is kept by blocks."""
        count = self.core.used[0]
        return self.columns(np.arange(count)) if self.has_blocks else self.core.values[:count, :count]

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another item."""
        return self.count == len(self.core.items)

    def column(self, item: int) -> Array:
        """Return the column of S_RR⁻¹ that belongs to an item of R."""
        return column(self.core, item)

    def columns(self, positions: Array) -> Array:
        """Return the columns of S_RR⁻¹ at some positions."""
        if not self.has_blocks:
            return self.values[:, positions]
        return _stacked([self.column(item) for item in self.items[positions]], self.count)

    def times(self, block: Array) -> Array:
        """Return S_RR⁻¹ times a block."""
        if not self.has_blocks:
            return self.values @ block
        return _stacked([solve(self.core, np.ascontiguousarray(right)) for right in block.T], self.count)

    def top(self) -> float:
        """Return the largest entry of S_RR⁻¹; with blocks, where it is definite, from its diagonal."""
        if not self.has_blocks:
            return float(np.abs(self.values).max(initial=0.0))
        # The largest entry of a definite matrix is on its diagonal, so no column has to be formed.
        diagonal = diagonal_by_blocks(self.core.blocks, self.position, self.count)
        return float(np.abs(diagonal).max(initial=0.0))

    def border(self, column: Array, corner: float) -> tuple[Array, float]:
        """Return S_RR⁻¹ s and the Schur complement s_ii − sᵀ S_RR⁻¹ s of an item outside R."""
        solved = solve(self.core, column)
        return solved, corner - float(column @ solved)

    def enter(self, item: int, solved: Array, schur: float) -> bool:
        """Add an item, given what `border` returned for it; return whether its block allowed that."""
        if self.is_full:
            self.grow()
        return bool(enter(self.core, item, solved, schur))

    def leave(self, item: int) -> bool:
        """Remove an item; the last one takes its position. Return whether its block allowed that."""
        return bool(leave(self.core, item))

    def rebuild(self, items: Array, matrix: Array) -> None:
        """Compute the inverse of S_RR for the given items from scratch."""
        try:
            values = inv(matrix) if len(items) else matrix
        except (LinAlgError, ValueError) as error:
            raise _unfactorised(str(error)) from None
        self._assign_positions(items)
        # `solve` reads rows as columns, which is right only if the inverse is exactly symmetric.
        self.core.values[: len(items), : len(items)] = (values + values.T) / 2

    def rebuild_by_blocks(self, items: Array) -> None:
        """Compute all blocks for the given items from scratch."""
        self._assign_positions(items)
        try:
            fits = rebuild_blocks(self.core.blocks, items)
        except LinAlgError as error:
            raise _unfactorised(str(error)) from None
        if not fits:
            raise _unfactorised("more items of a group than are independent")

    def _assign_positions(self, items: Array) -> None:
        """Give positions to the given items and to no others."""
        while len(self.core.items) < len(items):
            self.grow()
        self.position[:] = -1
        self.core.used[0] = len(items)
        self.core.items[: len(items)] = items
        self.position[items] = np.arange(len(items))

    def grow(self) -> None:
        """Make room for more items."""
        self._give_room(GROWTH * max(len(self.core.items), 1))

    def _give_room(self, capacity: int) -> None:
        count, core = self.count, self.core
        items = np.empty(capacity, dtype=np.int64)
        items[:count] = core.items[:count]
        if self.has_blocks:
            Z = np.empty((capacity, len(core.blocks.K)))
            Z[:count] = core.blocks.Z[:count]
            self.core = core._replace(items=items, blocks=core.blocks._replace(Z=Z))
            return
        values = np.empty((capacity, capacity))
        values[:count, :count] = self.values
        self.core = core._replace(items=items, values=values)


def _stacked(columns: list[Array], count: int) -> Array:
    """Return columns as a matrix, which may have none."""
    return np.stack(columns, axis=1) if columns else np.empty((count, 0))


def _unfactorised(why: str) -> NumericalTroubleError:
    return NumericalTroubleError(
        "a basis could not be factorised in float64 ({found})", found=why, **EXACT_REMEDY
    )


@compiled
def solve(core: InverseArrays, right: Array) -> Array:
    """Return S_RR⁻¹ times a vector."""
    count = core.used[0]
    if len(core.blocks.group):
        return solve_by_blocks(core.blocks, core.position, right)
    result = np.zeros(count)
    # By rows, which are contiguous: in a symmetric matrix they are the columns.
    for j in range(count):
        factor, row = right[j], core.values[j]
        if factor != 0.0:
            for i in range(count):
                result[i] += factor * row[i]
    return result


@compiled
def column(core: InverseArrays, item: int) -> Array:
    """Return the column of S_RR⁻¹ that belongs to an item of R."""
    count = core.used[0]
    if len(core.blocks.group):
        return column_by_blocks(core.blocks, core.position, count, item)
    return core.values[:count, core.position[item]].copy()


@compiled
def enter(core: InverseArrays, item: int, solved: Array, schur: float) -> bool:
    """Add an item, given what `border` returned for it; return whether its block, if any, allowed that."""
    k = core.used[0]
    if len(core.blocks.group) == 0:
        _add_border(core.values, k, solved, schur)
    elif not enter_block(core.blocks, core.position, item, k):
        return False
    # Only after the block has agreed, so that a refusal leaves everything as it was.
    core.items[k] = item
    core.position[item] = k
    core.used[0] = k + 1
    return True


@compiled_inside
def _add_border(values: Array, k: int, solved: Array, schur: float) -> None:
    """Add a row and a column behind the leading block."""
    _add_outer(values, k, 1.0 / schur, solved)
    for i in range(k):
        values[k, i] = values[i, k] = -solved[i] / schur
    values[k, k] = 1.0 / schur


@compiled
def leave(core: InverseArrays, item: int) -> bool:
    """Remove an item; the last one takes its position. Return whether its block, if any, allowed that."""
    p, last = core.position[item], core.used[0] - 1
    if len(core.blocks.group) == 0:
        _take_out(core.values, p, last)
    elif not leave_block(core.blocks, core.position, item, last):
        return False
    core.items[p] = core.items[last]
    core.position[core.items[p]] = p
    core.position[item] = -1
    core.used[0] = last
    return True


@compiled_inside
def _take_out(values: Array, p: int, last: int) -> None:
    """Take a Schur complement of the leading block; its last row and column move to p."""
    # A copy, since the update in place changes the column that it reads.
    column = values[: last + 1, p].copy()
    _add_outer(values, last + 1, -1.0 / column[p], column)
    # Moving the last row and column takes O(|R|), closing the gap would move up to all entries.
    if p != last:
        for j in range(last):
            values[p, j] = values[last, j]
        for i in range(last):
            values[i, p] = values[i, last]
        values[p, p] = values[last, last]


@compiled_inside
def _add_outer(matrix: Array, count: int, factor: float, column: Array) -> None:
    """Add factor · column columnᵀ to the leading block of a matrix, in place."""
    for i in range(count):
        scaled, row = factor * column[i], matrix[i]
        for j in range(count):
            row[j] += scaled * column[j]
