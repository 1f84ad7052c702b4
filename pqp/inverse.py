r"""The inverse of a basis matrix, kept up to date while items enter and leave.

With signs J = ±1 the matrix S = J M is symmetric; for a set R of items this class keeps

.. math:: S_{RR}^{-1}, \qquad M_{RR}^{-1} = S_{RR}^{-1} J_R

Entering borders the inverse, leaving takes a Schur complement, both in O(|R|²).

Room: columns of a symmetric matrix in, solutions out. Knows no staircase and no parameter.
May touch: `errors`, `field`, `scanning`.
"""

import numpy as np
from numpy.linalg import LinAlgError, inv

from pqp.errors import NumericalTroubleError
from pqp.field import Array
from pqp.scanning import add_outer

# How much room the arrays have beyond what is needed when they must grow.
GROWTH = 2


class Inverse:
    """The inverse of S_RR; `items` lists R in the order of its rows, `place` is -1 outside R."""

    def __init__(self, size: int, capacity: int = 32) -> None:
        self.count = 0
        self.place = np.full(size, -1, dtype=np.int64)
        self._items = np.empty(capacity, dtype=np.int64)
        self._values = np.empty((capacity, capacity))

    @property
    def items(self) -> Array:
        """The items of R."""
        return self._items[: self.count]

    @property
    def values(self) -> Array:
        """S_RR⁻¹."""
        return self._values[: self.count, : self.count]

    def column(self, item: int) -> Array:
        """Return the column of S_RR⁻¹ that belongs to an item of R."""
        return self.values[:, self.place[item]]

    def reach(self, column: Array, corner: float) -> tuple[Array, float]:
        """Return S_RR⁻¹ s and the Schur complement s_ii − sᵀ S_RR⁻¹ s of an item outside R."""
        solved = self.values @ column
        return solved, corner - float(column @ solved)

    def enter(self, item: int, solved: Array, schur: float) -> None:
        """Add an item, given what `reach` returned for it."""
        k = self.count
        if k == len(self._items):
            self._grow()
        B = self._values
        scaled = solved / schur
        add_outer(B, k, 1.0 / schur, solved)
        B[k, :k] = B[:k, k] = -scaled
        B[k, k] = 1.0 / schur
        self._items[k] = item
        self.place[item] = k
        self.count = k + 1

    def leave(self, item: int) -> None:
        """Remove an item; the last one takes its place."""
        p, last = int(self.place[item]), self.count - 1
        B = self.values
        column = B[:, p].copy()
        add_outer(self._values, self.count, -1.0 / column[p], column)
        if p != last:
            B[p, :last] = B[last, :last]
            B[:last, p] = B[:last, last]
            B[p, p] = B[last, last]
            self._items[p] = self._items[last]
            self.place[self._items[p]] = p
        self.place[item] = -1
        self.count = last

    def rebuild(self, items: Array, matrix: Array) -> None:
        """Compute the inverse of S_RR anew for the given items."""
        try:
            values = inv(matrix) if len(items) else matrix
        except (LinAlgError, ValueError) as error:
            raise NumericalTroubleError(
                f'a basis could not be factorised in float64 ({error}); use arithmetic="exact"'
            ) from None
        while len(self._items) < len(items):
            self._grow()
        self.place[:] = -1
        self.count = len(items)
        self._items[: self.count] = items
        self.place[items] = np.arange(self.count)
        self._values[: self.count, : self.count] = (values + values.T) / 2

    def _grow(self) -> None:
        capacity = GROWTH * max(len(self._items), 1)
        items, values = np.empty(capacity, dtype=np.int64), np.empty((capacity, capacity))
        items[: self.count], values[: self.count, : self.count] = self.items, self.values
        self._items, self._values = items, values
