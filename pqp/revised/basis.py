r"""Bases: the factorised matrix of the unknowns, which changes by a few items at every event.

With R the items whose v is unknown and J the signs that make S = J M symmetric, a basis answers solves with
S_RR. One interface, two kinds: `DenseBasis` keeps the inverse and costs O(|R|²) per change; `SparseBasis`
keeps a sparse LU of an earlier S_RR with a Schur complement for the changes since, and costs as much as the
fill of the factors.

Both change by principal pivots on a block of items that enter (E) and leave (L) together. With
W = S_RR⁻¹ S_RE and Z = S_RR⁻¹ the block

.. math:: T = \begin{pmatrix} Z_{LL} & -W_L \\ W_L^\top & S_{EE} - S_{ER} W \end{pmatrix}

may be regular where all 1 × 1 pivots are zero, as in every exchange of a linear program.
"""

from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse.csgraph import structural_rank
from scipy.sparse.linalg import splu

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.linalg.field import Array
from pqp.linalg.system import System
from pqp.linalg.tolerances import BLOCK_GROWTH, SINGULAR_BASIS
from pqp.revised.event_kernel_choice import KERNELS

# A dense basis is given room for this many items more than it has.
SPARE = 32
# Changes that a sparse basis carries in its Schur complement: 25 to 50 were fastest on all problems measured.
MOST_BORDERS = 40
# The vectors of the unknowns are kept in one block up to this many entries (256 MB).
MOST_KEPT_ENTRIES = 2**25


class SingularBasisError(NumericalTroubleError):
    """The matrix of a basis is singular in float64."""

    def __init__(self) -> None:
        super().__init__("a basis matrix is singular in float64", **EXACT_REMEDY)


class Direction(NamedTuple):
    """How v of the unknowns responds to one item, in the order of `Basis.items`.

    For an item outside R: to its own v, whose response, 1, comes last; `pivot` is the response of its J g.
    For one inside: to its J g; `pivot` is the response of its own v. `size` is the size of the terms of the
    pivot.
    """

    steps: Array
    pivot: float
    size: float


class BasisFactor(Protocol):
    """The factorised S_RR of the unknowns R."""

    changes: int

    @property
    def items(self) -> Array:
        """R, in the order of all vectors that are solved for."""

    def items_and(self, item: int) -> Array:
        """Return R and an item that is about to enter, behind the others."""

    def place(self, item: int) -> int:
        """Return the position of an item in `items`, -1 if it is outside."""

    def solve(self, right: Array) -> Array:
        """Return S_RR⁻¹ times a vector or a block."""

    def direction(self, item: int) -> Direction:
        """Return how the unknowns respond to one item."""

    def product(self, steps: Array, entering: int = -1) -> Array:
        """Return M[:, R] times steps; with an item that is about to enter, its own step comes last."""

    def change(self, entering: list[int], leaving: list[int], direction: Direction | None = None) -> None:
        """Let items enter and leave; `direction` is that of the item if it is a single one."""

    def factorise(self, items: Array) -> None:
        """Factorise the matrix of some items anew; raise `SingularBasisError` if it is singular."""


def basis_of(system: System, items: Array) -> BasisFactor:
    """Return the kind of basis that fits a system."""
    return SparseBasis(system, items) if system.is_sparse else DenseBasis(system, items)


def _size_of_terms(corner: float, column: Array, solved: Array) -> float:
    """Return the size that the pivot of an entering item is compared with.

    Of the largest factors, not of the products: where those that matter are zero, the others leave rounding
    errors of this size.
    """
    largest = KERNELS.current.largest
    return abs(corner) + float(largest(column) * largest(solved))


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
        pivot = corner - float(column @ solved)
        size = _size_of_terms(corner, column, solved)
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
        combined = steps[:k] @ self._vectors[:k]
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


class SparseBasis:
    """A sparse LU of S for earlier unknowns, bordered by the items that entered and left since.

    With K the earlier matrix, a removed item is bordered by its unit vector, which holds it at 0, and a new
    one by its column. `_solved` holds K⁻¹ times all borders.
    """

    def __init__(self, system: System, items: Array) -> None:
        assert system.entries is not None
        self.system, self._S = system, system.entries
        self._by_rows = self._S.T  # S is symmetric: the same matrix, stored for products
        self.changes = 0
        self._norm = float(np.abs(self._S.data).max(initial=0.0))
        self.factorise(items)

    @property
    def items(self) -> Array:
        return self._alive

    def items_and(self, item: int) -> Array:
        return np.append(self._alive, item)

    def place(self, item: int) -> int:
        place = int(self._position[item])
        return int(self._rank[place]) if place >= 0 else -1

    def factorise(self, items: Array) -> None:
        items = np.sort(items)
        self.changes = 0
        self._base = items
        self._position = np.full(self.system.size, -1)
        self._position[items] = np.arange(len(items))
        self._borders: list[int] = []
        self._is_new: list[bool] = []
        self._columns = np.zeros((len(items), MOST_BORDERS + 2), order="F")
        self._solved = np.zeros((len(items), MOST_BORDERS + 2), order="F")
        self._schur: Array = np.zeros((0, 0))
        self._schur_inverse = self._schur
        self._lu = None
        self._update_items()
        if not len(items):
            return
        K = self._S[:, items][items, :].tocsc()
        # SuperLU complains on the terminal about matrices that are singular by their pattern.
        if structural_rank(K) < len(items):
            raise SingularBasisError
        try:
            self._lu = splu(K, permc_spec="COLAMD")
        except RuntimeError:
            raise SingularBasisError from None
        probe = np.cos(np.arange(1.0, len(items) + 1))  # any vector without structure
        growth = np.abs(self._lu.solve(probe)).max()
        if not growth * self._norm <= SINGULAR_BASIS:
            raise SingularBasisError

    def product(self, steps: Array, entering: int = -1) -> Array:
        return self.system.product(self._alive if entering < 0 else self.items_and(entering), steps)

    def _update_items(self) -> None:
        """List the unknowns: earlier ones that were not removed, then new ones."""
        new = [item for item, is_new in zip(self._borders, self._is_new, strict=True) if is_new]
        self._extended = np.concatenate([self._base, np.array(new, dtype=np.int64)])
        kept = np.ones(len(self._extended), dtype=bool)
        removed = [item for item, is_new in zip(self._borders, self._is_new, strict=True) if not is_new]
        kept[self._position[removed]] = False
        self._kept = np.flatnonzero(kept)
        self._rank = np.where(kept, np.cumsum(kept) - 1, -1)
        self._alive = self._extended[self._kept]
        self._position[new] = len(self._base) + np.arange(len(new))

    def _base_solve(self, right: Array) -> Array:
        return right if self._lu is None or not right.size else self._lu.solve(right)

    def solve(self, right: Array) -> Array:
        solution = self._solve_once(right)
        # One step of refinement: borders lose a digit or two.
        return solution + self._solve_once(right - self._times(solution))

    def _times(self, values: Array) -> Array:
        """Return S_RR times values."""
        full = np.zeros((self.system.size, *values.shape[1:]))
        full[self._alive] = values
        return (self._by_rows @ full)[self._alive]

    def _solve_once(self, right: Array, solved: Array | None = None) -> Array:
        """Return the solution; `solved` is K⁻¹ times the part of the earlier unknowns, if it is known."""
        k, p = len(self._base), len(self._borders)
        extended = np.zeros((len(self._extended), *right.shape[1:]))
        extended[self._kept] = right
        base = extended[:k]
        solved = self._base_solve(base) if solved is None else solved
        if p:
            is_new = np.array(self._is_new)
            target = np.zeros((p, *right.shape[1:]))
            target[is_new] = extended[k:]
            border = self._schur_inverse @ (target - self._solved[:, :p].T @ base)
            extended[:k] = solved - self._solved[:, :p] @ border
            extended[k:] = border[is_new]
        else:
            extended[:k] = solved
        return extended[self._kept]

    def _column(self, item: int) -> Array:
        """Return a column of S in full."""
        column = np.zeros(self.system.size)
        begin, end = self._S.indptr[item], self._S.indptr[item + 1]
        column[self._S.indices[begin:end]] = self._S.data[begin:end]
        return column

    def direction(self, item: int) -> Direction:
        place = self.place(item)
        if place >= 0:
            right = np.zeros(len(self._alive))
            right[place] = 1.0
            steps = self.solve(right)
            return Direction(steps, float(steps[place]), float(np.abs(steps).max()))
        full = self._column(item)
        column, corner = full[self._alive], float(full[item])
        solved = self.solve(column)
        pivot = corner - float(column @ solved)
        return Direction(np.append(-solved, 1.0), pivot, _size_of_terms(corner, column, solved))

    def change(self, entering: list[int], leaving: list[int], direction: Direction | None = None) -> None:
        done = self.changes + len(entering) + len(leaving)
        moved = [*entering, *leaving]
        kept = self._alive[~np.isin(self._alive, leaving)]
        items = np.concatenate([kept, np.array(entering, dtype=np.int64)])
        if len(self._borders) + len(moved) > MOST_BORDERS:
            self.factorise(items)
            return
        for item in moved:
            if item in self._borders:
                self._take_back(self._borders.index(item))
            else:
                self._border(item)
        self.changes = done
        self._update_items()
        if not self._invert_schur():
            self.factorise(items)

    def _border(self, item: int) -> None:
        """Add a border for an item that enters, or was in the earlier matrix and leaves."""
        p, place = len(self._borders), int(self._position[item])
        is_new = place < 0
        column = np.zeros(len(self._base))
        corner = np.zeros(p + 1)
        if is_new:
            full = self._column(item)
            column, corner[p] = full[self._base], full[item]
            for q, (other, other_is_new) in enumerate(zip(self._borders, self._is_new, strict=True)):
                corner[q] = full[other] if other_is_new else 0.0
        else:
            column[place] = 1.0
        solved = self._base_solve(column)
        self._columns[:, p], self._solved[:, p] = column, solved
        schur = np.zeros((p + 1, p + 1))
        schur[:p, :p] = self._schur
        schur[p, :p] = schur[:p, p] = corner[:p] - self._columns[:, :p].T @ solved
        schur[p, p] = corner[p] - column @ solved
        self._schur = schur
        self._borders.append(item)
        self._is_new.append(is_new)

    def _take_back(self, q: int) -> None:
        """Remove a border: the item is back where it was in the earlier matrix."""
        p = len(self._borders)
        if self._is_new[q]:
            self._position[self._borders[q]] = -1
        for block in (self._columns, self._solved):
            block[:, q : p - 1] = block[:, q + 1 : p].copy()
        self._schur = np.delete(np.delete(self._schur, q, 0), q, 1)
        del self._borders[q], self._is_new[q]

    def _invert_schur(self) -> bool:
        """Invert the Schur complement; return whether it is regular."""
        if not self._borders:
            self._schur_inverse = self._schur
            return True
        try:
            self._schur_inverse = np.linalg.inv(self._schur)
        except np.linalg.LinAlgError:
            return False
        growth = np.abs(self._schur_inverse).max() * np.abs(self._schur).max()
        return bool(growth <= SINGULAR_BASIS)
