r"""The inverse of a basis matrix, kept up to date while items enter and leave.

With signs J = ±1 the matrix S = J M is symmetric; for a set R of items this class keeps

.. math:: S_{RR}^{-1}, \qquad M_{RR}^{-1} = S_{RR}^{-1} J_R

Entering borders the inverse, leaving takes a Schur complement, both in O(|R|²). The compiled functions work
on the arrays of an `Inverse`, its `core`.

Room: columns of a symmetric matrix in, solutions out. Knows no staircase and no parameter.
May touch: `errors`, `field`.
"""

from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError, inv

from pqp.errors import NumericalTroubleError
from pqp.field import Array
from pqp.forms import compiled

# How much room the arrays have beyond what is needed when they must grow.
GROWTH = 2


class Core(NamedTuple):
    """The arrays of an inverse: places of items, items of places, values, and how many of them are in use."""

    place: Array
    items: Array
    values: Array
    used: Array


class Inverse:
    """The inverse of S_RR; `items` lists R in the order of its rows, `place` is -1 outside R."""

    def __init__(self, size: int, capacity: int = 32) -> None:
        place, items = np.full(size, -1, dtype=np.int64), np.empty(capacity, dtype=np.int64)
        self.core = Core(place, items, np.empty((capacity, capacity)), np.zeros(1, dtype=np.int64))

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
    def values(self) -> Array:
        """S_RR⁻¹."""
        count = self.core.used[0]
        return self.core.values[:count, :count]

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another item."""
        return self.count == len(self.core.items)

    def column(self, item: int) -> Array:
        """Return the column of S_RR⁻¹ that belongs to an item of R."""
        return self.values[:, self.place[item]]

    def reach(self, column: Array, corner: float) -> tuple[Array, float]:
        """Return S_RR⁻¹ s and the Schur complement s_ii − sᵀ S_RR⁻¹ s of an item outside R."""
        solved = solve(self.core, column)
        return solved, corner - float(column @ solved)

    def enter(self, item: int, solved: Array, schur: float) -> None:
        """Add an item, given what `reach` returned for it."""
        if self.is_full:
            self.grow()
        enter(self.core, item, solved, schur)

    def leave(self, item: int) -> None:
        """Remove an item; the last one takes its place."""
        leave(self.core, item)

    def rebuild(self, items: Array, matrix: Array) -> None:
        """Compute the inverse of S_RR anew for the given items."""
        try:
            values = inv(matrix) if len(items) else matrix
        except (LinAlgError, ValueError) as error:
            raise NumericalTroubleError(
                f'a basis could not be factorised in float64 ({error}); use arithmetic="exact"'
            ) from None
        while len(self.core.items) < len(items):
            self.grow()
        count = len(items)
        self.place[:] = -1
        self.core.used[0] = count
        self.core.items[:count] = items
        self.place[items] = np.arange(count)
        self.core.values[:count, :count] = (values + values.T) / 2

    def grow(self) -> None:
        """Make room for more items."""
        capacity, count = GROWTH * max(len(self.core.items), 1), self.count
        items, values = np.empty(capacity, dtype=np.int64), np.empty((capacity, capacity))
        items[:count], values[:count, :count] = self.items, self.values
        self.core = self.core._replace(items=items, values=values)


@compiled
def solve(core: Core, right: Array) -> Array:
    """Return S_RR⁻¹ times a vector."""
    count = core.used[0]
    result = np.zeros(count)
    for j in range(count):
        factor, row = right[j], core.values[j]
        if factor != 0.0:
            for i in range(count):
                result[i] += factor * row[i]
    return result


@compiled
def enter(core: Core, item: int, solved: Array, schur: float) -> None:
    """Add an item, given what `reach` returned for it."""
    k, values = core.used[0], core.values
    _add_outer(values, k, 1.0 / schur, solved)
    for i in range(k):
        values[k, i] = values[i, k] = -solved[i] / schur
    values[k, k] = 1.0 / schur
    core.items[k] = item
    core.place[item] = k
    core.used[0] = k + 1


@compiled
def leave(core: Core, item: int) -> None:
    """Remove an item; the last one takes its place."""
    values, p, last = core.values, core.place[item], core.used[0] - 1
    column = values[: last + 1, p].copy()
    _add_outer(values, last + 1, -1.0 / column[p], column)
    if p != last:
        for j in range(last):
            values[p, j] = values[last, j]
        for i in range(last):
            values[i, p] = values[i, last]
        values[p, p] = values[last, last]
        core.items[p] = core.items[last]
        core.place[core.items[p]] = p
    core.place[item] = -1
    core.used[0] = last


@compiled
def _add_outer(matrix: Array, count: int, factor: float, column: Array) -> None:
    """Add factor · column columnᵀ to the leading block of a matrix, in place."""
    for i in range(count):
        scaled, row = factor * column[i], matrix[i]
        for j in range(count):
            row[j] += scaled * column[j]
