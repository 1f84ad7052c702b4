r"""The inverse of a basis matrix, kept up to date while items enter and leave.

With signs J = ±1 the matrix S = J M is symmetric; for a set R of items this class keeps

.. math:: S_{RR}^{-1}, \qquad M_{RR}^{-1} = S_{RR}^{-1} J_R

Entering borders the inverse, leaving takes a Schur complement, both in O(|R|²). Where S is block diagonal but
for a few columns, the inverse is kept by `blocks` and never formed. The compiled functions work on the arrays
of an `Inverse`, its `core`.
"""

from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError, inv

from pqp.errors import NumericalTroubleError
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

# How much room the arrays have beyond what is needed when they must grow.
GROWTH = 2


class Core(NamedTuple):
    """The arrays of an inverse: places of items, items of places, values, how many are in use, and blocks.

    With blocks there are no values.
    """

    place: Array
    items: Array
    values: Array
    used: Array
    blocks: Blocks


class Inverse:
    """The inverse of S_RR; `items` lists R in the order of its rows, `place` is -1 outside R."""

    def __init__(self, size: int, capacity: int = 32, blocks: Blocks | None = None) -> None:
        place, items = np.full(size, -1, dtype=np.int64), np.empty(capacity, dtype=np.int64)
        blocks = no_blocks() if blocks is None else blocks
        side = 0 if len(blocks.group) else capacity
        self.core = Core(place, items, np.empty((side, side)), np.zeros(1, dtype=np.int64), blocks)
        if self.has_blocks:
            self._give_room(capacity)

    @property
    def count(self) -> int:
        """|R|."""
        return int(self.core.used[0])

    @property
    def place(self) -> Array:
        """The row of every item, -1 outside R."""
        return self.core.place

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

    def columns(self, places: Array) -> Array:
        """Return the columns of S_RR⁻¹ at some places."""
        if not self.has_blocks:
            return self.values[:, places]
        return _beside([self.column(item) for item in self.items[places]], self.count)

    def times(self, block: Array) -> Array:
        """Return S_RR⁻¹ times a block."""
        if not self.has_blocks:
            return self.values @ block
        return _beside([solve(self.core, np.ascontiguousarray(right)) for right in block.T], self.count)

    def top(self) -> float:
        """Return the largest entry of S_RR⁻¹; of one kept by blocks, which is definite, from its diagonal."""
        if not self.has_blocks:
            return float(np.abs(self.values).max(initial=0.0))
        diagonal = diagonal_by_blocks(self.core.blocks, self.place, self.count)
        return float(np.abs(diagonal).max(initial=0.0))

    def reach(self, column: Array, corner: float) -> tuple[Array, float]:
        """Return S_RR⁻¹ s and the Schur complement s_ii − sᵀ S_RR⁻¹ s of an item outside R."""
        solved = solve(self.core, column)
        return solved, corner - float(column @ solved)

    def enter(self, item: int, solved: Array, schur: float) -> bool:
        """Add an item, given what `reach` returned for it; tell whether its block allowed that."""
        if self.is_full:
            self.grow()
        return bool(enter(self.core, item, solved, schur))

    def leave(self, item: int) -> bool:
        """Remove an item, the last one taking its place; tell whether its block allowed that."""
        return bool(leave(self.core, item))

    def rebuild(self, items: Array, matrix: Array) -> None:
        """Compute the inverse of S_RR anew for the given items."""
        try:
            values = inv(matrix) if len(items) else matrix
        except (LinAlgError, ValueError) as error:
            raise _unfactorised(str(error)) from None
        self._put(items)
        self.core.values[: len(items), : len(items)] = (values + values.T) / 2

    def rebuild_by_blocks(self, items: Array) -> None:
        """Compute all blocks anew for the given items."""
        self._put(items)
        try:
            fits = rebuild_blocks(self.core.blocks, items)
        except LinAlgError as error:
            raise _unfactorised(str(error)) from None
        if not fits:
            raise _unfactorised("more items of a group than are independent")

    def _put(self, items: Array) -> None:
        """Give places to the given items alone."""
        while len(self.core.items) < len(items):
            self.grow()
        self.place[:] = -1
        self.core.used[0] = len(items)
        self.core.items[: len(items)] = items
        self.place[items] = np.arange(len(items))

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


def _beside(columns: list[Array], count: int) -> Array:
    """Return columns as a block, which may have none."""
    return np.stack(columns, axis=1) if columns else np.empty((count, 0))


def _unfactorised(why: str) -> NumericalTroubleError:
    return NumericalTroubleError(
        f'a basis could not be factorised in float64 ({why}); use arithmetic="exact"'
    )


@compiled
def solve(core: Core, right: Array) -> Array:
    """Return S_RR⁻¹ times a vector."""
    count = core.used[0]
    if len(core.blocks.group):
        return solve_by_blocks(core.blocks, core.place, right)
    result = np.zeros(count)
    for j in range(count):
        factor, row = right[j], core.values[j]
        if factor != 0.0:
            for i in range(count):
                result[i] += factor * row[i]
    return result


@compiled
def column(core: Core, item: int) -> Array:
    """Return the column of S_RR⁻¹ that belongs to an item of R."""
    count = core.used[0]
    if len(core.blocks.group):
        return column_by_blocks(core.blocks, core.place, count, item)
    return core.values[:count, core.place[item]].copy()


@compiled
def enter(core: Core, item: int, solved: Array, schur: float) -> bool:
    """Add an item, given what `reach` returned for it; tell whether its block, if any, allowed that."""
    k = core.used[0]
    if len(core.blocks.group) == 0:
        _add_border(core.values, k, solved, schur)
    elif not enter_block(core.blocks, core.place, item, k):
        return False
    core.items[k] = item
    core.place[item] = k
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
def leave(core: Core, item: int) -> bool:
    """Remove an item, the last one taking its place; tell whether its block, if it has one, allowed that."""
    p, last = core.place[item], core.used[0] - 1
    if len(core.blocks.group) == 0:
        _take_out(core.values, p, last)
    elif not leave_block(core.blocks, core.place, item, last):
        return False
    core.items[p] = core.items[last]
    core.place[core.items[p]] = p
    core.place[item] = -1
    core.used[0] = last
    return True


@compiled_inside
def _take_out(values: Array, p: int, last: int) -> None:
    """Take a Schur complement of the leading block; its last row and column take the place of p."""
    column = values[: last + 1, p].copy()
    _add_outer(values, last + 1, -1.0 / column[p], column)
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
