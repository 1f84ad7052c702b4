"""Sparse bases: an LU of S_RR whose memory and time per event grow with the fill of the factors."""

import numpy as np
from scipy.sparse.csgraph import structural_rank
from scipy.sparse.linalg import splu

from pqp.linalg.field import Array
from pqp.linalg.system import System
from pqp.linalg.tolerances import SINGULAR_BASIS
from pqp.revised.basis import Direction, SingularBasisError, growth_of, size_of_terms

# Changes that a sparse basis carries in its Schur complement: 25 to 50 were fastest on all problems measured.
MOST_BORDERS = 40


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
        if not growth_of(self._lu.solve, len(items)) * self._norm <= SINGULAR_BASIS:
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

    def _solve_once(self, right: Array) -> Array:
        """Return the solution by the earlier factors and the Schur complement of the borders."""
        k, p = len(self._base), len(self._borders)
        extended = np.zeros((len(self._extended), *right.shape[1:]))
        extended[self._kept] = right
        base = extended[:k]
        solved = self._base_solve(base)
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
        return Direction(np.append(-solved, 1.0), pivot, size_of_terms(corner, column, solved))

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
