"""Dense bases: the inverse of S_RR, for systems that are small or without structure."""

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.system import System
from pqp.linalg.tolerances import BLOCK_GROWTH, SINGULAR_BASIS
from pqp.revised.basis import Direction, SingularBasisError, size_of_terms
from pqp.revised.event_kernel_choice import KERNELS

# A dense basis is given room for this many items more than it has.
SPARE = 32
# The vectors of the unknowns are kept in one block up to this many entries (256 MB).
MOST_KEPT_ENTRIES = 2**25


class DenseBasis:
    """The inverse of S_RR, updated by pivots of rank one or of small rank.

    The short columns of the unknowns are kept in one block, in the same order, where the structure has some.
    """

    def __init__(self, system: System, items: Array) -> None:
        self.system = system
        self.changes = 0
        self._columns = None if system.symmetric is None else system.symmetric.short_columns()
        self._diagonal = system.signs * system.diagonal()
        self._place = np.full(system.size, -1)
        self._items = np.empty(0, dtype=np.int64)
        self._count = 0
        self._inverse = np.zeros((0, 0))
        self._vectors = np.zeros((0, 0 if self._columns is None else self._columns.width))
        self.factorise(items)

    @property
    def items(self) -> Array:
        return self._items[: self._count]

    def items_and(self, item: int) -> Array:
        k = self._count
        self._make_room(k + 1)
        self._items[k] = item
        return self._items[: k + 1]

    def place(self, item: int) -> int:
        return int(self._place[item])

    def solve(self, right: Array) -> Array:
        k = self._count
        return self._inverse[:k, :k] @ right

    def direction(self, item: int) -> Direction:
        k, place = self._count, self._place[item]
        if place >= 0:
            steps = self._inverse[place, :k].copy()
            return Direction(steps, float(steps[place]), KERNELS.current.largest(steps))
        column, corner = self._column(item), float(self._diagonal[item])
        steps = np.empty(k + 1)
        solved = np.matmul(self._inverse[:k, :k], column, out=steps[:k])
        pivot = corner - float(column.dot(solved))  # @ takes 2 µs more
        size = size_of_terms(corner, column, solved)
        solved *= -1.0
        steps[k] = 1.0
        return Direction(steps, pivot, size)

    def _column(self, item: int) -> Array:
        """Return the column of S of an item on R."""
        if self._columns is None:
            column = self.system.block(self.items, np.array([item]))[:, 0]
            return self.system.signs[self.items] * column
        return self._columns.across(self._vectors[: self._count], self.items, item)

    def product(self, steps: Array, entering: int = -1) -> Array:
        columns, k = self._columns, self._count
        R = self.items if entering < 0 else self.items_and(entering)
        if columns is None:
            return self.system.product(R, steps)
        combined = steps[:k].dot(self._vectors[:k])
        if entering >= 0:
            combined += steps[k] * columns.vectors(entering)
        change = columns.spread(combined)
        if columns.added is not None:
            change[R] += columns.added[R] * steps
        if self.system.B is not None:
            change *= self.system.signs
        return change

    def change(self, entering: list[int], leaving: list[int], direction: Direction | None = None) -> None:
        self.changes += len(entering) + len(leaving)
        if len(entering) + len(leaving) == 1:
            item = (entering or leaving)[0]
            direction = direction or self.direction(item)
            if entering:
                self._enter(item, direction)
            else:
                self._leave(item, direction)
            return
        if not self._pivot(np.array(entering, dtype=np.int64), np.array(leaving, dtype=np.int64)):
            kept = self.items[~np.isin(self.items, leaving)]
            self.factorise(np.concatenate([kept, np.array(entering, dtype=np.int64)]))

    def _enter(self, item: int, direction: Direction) -> None:
        k = self._count
        self._make_room(k + 1)
        self._inverse[k, : k + 1] = 0.0
        self._inverse[: k + 1, k] = 0.0
        KERNELS.current.rank_one(self._inverse, k + 1, direction.steps, 1.0 / direction.pivot)
        if self._columns is not None:
            self._vectors[k] = self._columns.vectors(item)
        self._items[k], self._place[item], self._count = item, k, k + 1

    def _leave(self, item: int, direction: Direction) -> None:
        place, last = self.place(item), self._count - 1
        KERNELS.current.rank_one(self._inverse, last + 1, direction.steps, -1.0 / direction.pivot)
        self._move_last_to(place)
        self._place[item] = -1

    def _move_last_to(self, place: int) -> None:
        """Close the gap at a position by the last item."""
        last, Z = self._count - 1, self._inverse
        if place != last:
            Z[place, :last] = Z[last, :last]
            Z[:last, place] = Z[:last, last]
            Z[place, place] = Z[last, last]
            if self._columns is not None:
                self._vectors[place] = self._vectors[last]
            moved = self._items[last]
            self._items[place], self._place[moved] = moved, place
        self._count = last

    def _pivot(self, entering: Array, leaving: Array) -> bool:
        """Pivot on a block of items; return whether that was accurate enough."""
        k, signs = self._count, self.system.signs
        Z, R = self._inverse[:k, :k], self.items
        across = signs[R, None] * self.system.block(R, entering)
        W = Z @ across
        corner = signs[entering, None] * self.system.block(entering, entering) - across.T @ W
        out = self._place[leaving]
        count = len(leaving)
        T = np.block([[Z[np.ix_(out, out)], -W[out]], [W[out].T, corner]])
        try:
            inverse = np.linalg.inv(T)
        except np.linalg.LinAlgError:
            return False
        if not np.abs(inverse).max() * np.abs(T).max() <= BLOCK_GROWTH:
            return False
        left, right = np.hstack([Z[:, out], -W]), np.vstack([Z[out], W.T])
        moved = inverse @ right
        new = Z - left @ moved
        kept = np.setdiff1d(np.arange(k), out)
        size = len(kept) + len(entering)
        result = np.empty((size, size))
        result[: len(kept), : len(kept)] = new[np.ix_(kept, kept)]
        result[len(kept) :, : len(kept)] = -moved[count:][:, kept]
        result[: len(kept), len(kept) :] = result[len(kept) :, : len(kept)].T
        result[len(kept) :, len(kept) :] = inverse[count:, count:]
        self._place[leaving] = -1
        self._set(np.concatenate([R[kept], entering]), result)
        return True

    def factorise(self, items: Array) -> None:
        S = self.system.signs[items, None] * self.system.block(items, items)
        self.changes = 0
        self._place[self.items] = -1
        try:
            inverse = np.linalg.inv(S)
        except np.linalg.LinAlgError:
            raise SingularBasisError from None
        if len(items) and not np.abs(inverse).max() * np.abs(S).max() <= SINGULAR_BASIS:
            raise SingularBasisError
        self._set(items, (inverse + inverse.T) / 2)

    def _set(self, items: Array, inverse: Array) -> None:
        k = len(items)
        self._count = 0
        self._make_room(k)
        self._inverse[:k, :k] = inverse
        if self._columns is not None:
            self._vectors[:k] = self._columns.vectors(items)
        self._items[:k], self._place[items], self._count = items, np.arange(k), k

    def _make_room(self, needed: int) -> None:
        if needed <= len(self._items):
            return
        k, room = self._count, needed + needed // 2 + SPARE
        inverse, items = np.zeros((room, room)), np.empty(room, dtype=np.int64)
        inverse[:k, :k], items[:k] = self._inverse[:k, :k], self._items[:k]
        self._inverse, self._items = inverse, items
        if self._columns is None:
            return
        if room * self._columns.width > MOST_KEPT_ENTRIES:
            self._columns = None
            return
        vectors = np.zeros((room, self._columns.width))
        vectors[:k] = self._vectors[:k]
        self._vectors = vectors
