r"""Block bases: S_RR block diagonal but for a few columns, solved through its blocks and a small matrix.

With S = U Uᵀ + B and B block diagonal (`pqp/linalg/blocks.py`), the unknowns of S_RR are those of

.. math:: K = \begin{pmatrix} B_{XX} & E \\ E^\top & C \end{pmatrix}

X are the items of R that are in *blocks*. The *border* has the columns of U, with -1 on the diagonal of C,
the rows of the system, and items whose pivot in their own block is too small to be trusted, because they
depend on others of their group but for U. A regular S_RR has no more of these than columns of U and rows.
Kept are B_XX⁻¹ by its blocks, Z = B_XX⁻¹ E, and the Schur complement C - EᵀZ with its inverse. With blocks of
k items and a border of c, a change costs O(k² + k c + c³), a direction O(|R| c), and memory is |R| (k + c).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.system import System
from pqp.linalg.tolerances import SINGULAR_BASIS, TRUSTED_PIVOT
from pqp.revised.basis import Direction, SingularBasisError, growth_of, size_of_terms
from pqp.revised.event_kernel_choice import KERNELS

# Arrays are given room for this many items more than there are.
SPARE = 32


class _Column(NamedTuple):
    """A column of K for an item outside: on some places of X, where it is not zero, and on the border.

    `solved` is B_XX⁻¹ times the first part, `rest` what is left of the second, `corner` of the diagonal.
    """

    places: Array | slice
    entries: Array
    solved: Array
    rest: Array
    corner: float
    size: float


class _Response(NamedTuple):
    """How the unknowns of the border respond to an item, those of U included, and its pivot.

    `column` is that of an item outside.
    """

    item: int
    border: Array
    pivot: float
    column: _Column | None = None


class BlockBasis:
    """The inverse blocks of B_XX, Z, and the inverse of the Schur complement of the border.

    Rows of the arrays are places: first the items in blocks, in any order, then those of the border. A row
    of `_inverse` is that of an item in the inverse of its own block, whose columns are numbered as the
    members of the group are.
    """

    _items: Array
    _place: Array
    _number: Array
    _members: Array
    _sizes: Array
    _inverse: Array
    _Z: Array
    _schur: Array
    _schur_inverse: Array
    _count: int
    _size: int
    _response: _Response | None

    def __init__(self, system: System, items: Array) -> None:
        blocks = system.blocks
        assert blocks is not None
        self.system, self.blocks = system, blocks
        self.changes = 0
        self._diagonal = np.abs(system.diagonal())
        self._first_row = system.size - blocks.rows
        self._norm = max(self._diagonal.max(initial=0.0), np.abs(blocks.coupling).max(initial=0.0))
        self.factorise(items)

    # ---- what a trace asks for ----

    @property
    def items(self) -> Array:
        return self._items[: self._size]

    @property
    def border(self) -> Array:
        """The items in the border."""
        return self._items[self._count : self._size]

    def items_and(self, item: int) -> Array:
        size = self._size
        self._make_room(size + 1)
        self._items[size] = item
        return self._items[: size + 1]

    def place(self, item: int) -> int:
        return int(self._place[item])

    def solve(self, right: Array) -> Array:
        k, c, Z = self._count, self.blocks.shared, self._Z[: self._count]
        rest = -(Z.T @ right[:k])
        rest[c:] += right[k:]
        border = self._schur_inverse @ rest
        return np.concatenate([self._solve_blocks(right[:k]) - Z @ border, border[c:]])

    def direction(self, item: int) -> Direction:
        k, c, place, Z = self._count, self.blocks.shared, self._place[item], self._Z[: self._count]
        if place >= 0:
            steps = np.zeros(self._size)
            if place < k:
                others = self._places(item)
                border = -(self._schur_inverse @ Z[place])
                steps[others] = self._inverse[place, : len(others)]
            else:
                border = self._schur_inverse[:, c + place - k]
            steps[:k] -= Z @ border
            steps[k:] = border[c:]
            self._response = _Response(item, border, float(steps[place]))
            return Direction(steps, self._response.pivot, KERNELS.current.largest(steps))
        column = self._column(item)
        border = -(self._schur_inverse @ column.rest)
        steps = np.empty(self._size + 1)
        steps[:k] = -(Z @ border)
        steps[column.places] -= column.solved
        steps[k:-1] = border[c:]
        steps[-1] = 1.0
        self._response = _Response(item, border, column.corner + float(column.rest @ border), column)
        size = column.size + size_of_terms(0.0, column.rest, border)
        return Direction(steps, self._response.pivot, size)

    def product(self, steps: Array, entering: int = -1) -> Array:
        return self.system.product(self.items if entering < 0 else self.items_and(entering), steps)

    def change(self, entering: list[int], leaving: list[int], direction: Direction | None = None) -> None:
        self.changes += len(entering) + len(leaving)
        response, width = self._response, len(self._schur)
        self._response = None
        if direction is None or response is None or response.item not in (*entering, *leaving):
            response = None
        # No pivot of S is divided by on the way, so it does not matter which of them are zero.
        for item in leaving:
            self._take_out(item)
        for item in entering:
            self._put_in(item, None if response is None else response.column)
        if response is not None and len(self._schur) == width:
            # As in the inverse of K; its border only changes by this.
            sign = 1.0 if entering else -1.0
            border = response.border
            self._schur_inverse += np.multiply.outer(sign / response.pivot * border, border)
        elif not self._invert_schur():
            self.factorise(self.items.copy())

    def factorise(self, items: Array) -> None:
        self.changes = 0
        self._clear(len(items))
        late = self._factorise_blocks(items)
        U = self.blocks.coupling[self.items, : self.blocks.shared]
        self._Z[: self._count] = self._solve_blocks(U)
        self._schur = -np.eye(self.blocks.shared) - U.T @ self._Z[: self._count]
        for item in late.tolist():
            self._put_in(item)
        if not self._invert_schur():
            raise SingularBasisError
        if not growth_of(self.solve, len(items)) * self._norm <= SINGULAR_BASIS:
            raise SingularBasisError

    # ---- entries of K ----

    def _entries(self, items: Array, item: int) -> Array:
        """Return the entries of K for some items and one more."""
        blocks, row = self.blocks, item - self._first_row
        if row >= 0:
            return blocks.coupling[items, blocks.shared + row]
        result = np.zeros(len(items))
        rows = items >= self._first_row
        result[rows] = blocks.coupling[item, blocks.shared + items[rows] - self._first_row]
        same = blocks.group[items] == blocks.group[item]
        result[same] = blocks.own_column(items[same], item)
        return result

    def _column(self, item: int) -> _Column:
        """Return the column of K of an item outside, solved with the blocks."""
        blocks, border = self.blocks, self.border
        on_border = blocks.coupling[item, : blocks.shared]
        if len(border):
            on_border = np.concatenate([on_border, self._entries(border, item)])
        places: Array | slice
        if item >= self._first_row:
            places, own = slice(0, self._count), 0.0
            entries = self._entries(self._items[: self._count], item)
            solved = self._solve_blocks(entries)
        else:
            members, places = self._members_of(item), self._places(item)
            own = float(blocks.own[item] @ blocks.own[item] + blocks.added[item])
            entries = blocks.own.take(members, axis=0) @ blocks.own[item]
            solved = self._inverse[places, : len(members)] @ entries
        return _Column(
            places,
            entries,
            solved,
            on_border - self._Z[places].T @ entries,
            own - float(entries @ solved),
            size_of_terms(self._diagonal[item], entries, solved),
        )

    def _members_of(self, item: int) -> Array:
        """Return the items of X in the group of an item."""
        group = self.blocks.group[item]
        return self._members[group, : self._sizes[group]]

    def _places(self, item: int) -> Array:
        """Return the places of the items of X in the group of an item."""
        return self._place[self._members_of(item)]

    def _solve_blocks(self, right: Array) -> Array:
        """Return B_XX⁻¹ times a vector or a block."""
        k = self._count
        inverse = self._inverse[:k]
        if inverse.shape[1] == 1:
            return (inverse[:, 0] * right.T).T
        # Numbers that no member has point behind all items, where there is a zero.
        padded = np.concatenate([right, np.zeros((1, *right.shape[1:]))])
        places = self._place[self._members[self.blocks.group[self._items[:k]]]]
        return np.asarray(np.einsum("pa,pa...->p...", inverse, padded[places]))

    # ---- changes of K ----

    def _put_in(self, item: int, column: _Column | None = None) -> None:
        """Let an item enter its block, or the border if its block does not determine it."""
        column = column or self._column(item)
        self._make_room(self._size + 1)
        if column.corner > TRUSTED_PIVOT * column.size:
            self._put_into_block(item, column)
        else:
            self._put_into_border(item, column)
        self._size += 1

    def _put_into_block(self, item: int, column: _Column) -> None:
        k, group, count = self._count, self.blocks.group[item], len(column.solved)
        places = column.places
        solved, z = column.solved / column.corner, column.rest / column.corner
        self._widen(count + 1)
        self._inverse[places, :count] += np.multiply.outer(column.solved, solved)
        self._inverse[places, count] = -solved
        self._inverse[k] = 0.0
        self._inverse[k, :count] = -solved
        self._inverse[k, count] = 1.0 / column.corner
        self._Z[places] -= np.multiply.outer(column.solved, z)
        self._Z[k] = z
        self._schur -= np.multiply.outer(column.rest, z)
        self._members[group, count], self._sizes[group] = item, count + 1
        self._number[item] = count
        self._seat(k + 1, self.border)
        self._seat(k, np.array([item]))
        self._count = k + 1

    def _put_into_border(self, item: int, column: _Column) -> None:
        p = len(self._schur)
        self._Z = np.column_stack([self._Z, np.zeros(len(self._Z))])
        self._Z[column.places, p] = column.solved
        schur = np.empty((p + 1, p + 1))
        schur[:p, :p] = self._schur
        schur[p, :p] = schur[:p, p] = column.rest
        schur[p, p] = column.corner
        self._schur = schur
        self._seat(self._size, np.array([item]))

    def _take_out(self, item: int) -> None:
        """Let an item leave its block or the border."""
        place = int(self._place[item])
        if place < self._count:
            self._take_out_of_block(item, place)
        else:
            p = self.blocks.shared + place - self._count
            self._Z = np.delete(self._Z, p, axis=1)
            self._schur = np.delete(np.delete(self._schur, p, axis=0), p, axis=1)
            self._seat(place, self._items[place + 1 : self._size])
        self._place[item] = -1
        self._size -= 1

    def _take_out_of_block(self, item: int, place: int) -> None:
        places, group, number = self._places(item), self.blocks.group[item], self._number[item]
        last, last_number = self._count - 1, len(places) - 1
        column, z = self._inverse[place, : len(places)].copy(), self._Z[place].copy()
        pivot = column[number]
        self._inverse[places, : len(places)] -= np.multiply.outer(column, column / pivot)
        self._Z[places] -= np.multiply.outer(column, z / pivot)
        self._schur += np.multiply.outer(z, z / pivot)
        # The last member takes the number that is free now, the last item in blocks the place.
        self._inverse[places, number] = self._inverse[places, last_number]
        self._inverse[places, last_number] = 0.0
        moved = self._members[group, last_number]
        self._members[group, number], self._number[moved] = moved, number
        self._members[group, last_number], self._sizes[group] = self.system.size, last_number
        self._inverse[place], self._Z[place] = self._inverse[last], self._Z[last]
        self._seat(place, self._items[last : last + 1])
        self._seat(last, self.border)
        self._count = last

    def _seat(self, place: int, items: Array) -> None:
        """Give items consecutive places."""
        places = np.arange(place, place + len(items))
        self._place[items] = places
        self._items[places] = items.copy()

    def _invert_schur(self) -> bool:
        """Invert the Schur complement; return whether it is regular."""
        try:
            self._schur_inverse = np.linalg.inv(self._schur)
        except np.linalg.LinAlgError:
            return False
        growth = np.abs(self._schur_inverse).max(initial=0.0) * np.abs(self._schur).max(initial=0.0)
        return bool(growth <= SINGULAR_BASIS)

    # ---- everything from the data ----

    def _clear(self, room: int) -> None:
        """Begin without items."""
        size, groups = self.system.size, int(self.blocks.group.max(initial=-1)) + 1
        self._items = np.empty(room + SPARE, dtype=np.int64)
        # What is no item has the place of the last row of a vector, which is kept zero.
        self._place = np.full(size + 1, -1)
        self._number = np.full(size, -1)
        self._members = np.full((groups, 1), size)
        self._sizes = np.zeros(groups, dtype=np.int64)
        self._inverse = np.zeros((room + SPARE, 1))
        self._Z = np.zeros((room + SPARE, self.blocks.shared))
        self._count = self._size = 0
        self._response = None

    def _factorise_blocks(self, items: Array) -> Array:
        """Invert the blocks that are regular; return the items of all others."""
        blocks = self.blocks
        own = np.einsum("ij,ij->i", blocks.own[items], blocks.own[items]) + blocks.added[items]
        has_own = own > TRUSTED_PIVOT * self._diagonal[items]
        late = [items[~has_own]]
        for members in _by_group(items[has_own], blocks.group):
            S = blocks.own_blocks(members)
            try:
                inverse = np.linalg.inv(S)
            except np.linalg.LinAlgError:
                late.append(members.ravel())
                continue
            growth = np.abs(inverse).max(axis=(1, 2)) * self._diagonal[members].max(axis=1)
            is_regular = growth * TRUSTED_PIVOT <= 1.0
            late.append(members[~is_regular].ravel())
            self._set_blocks(members[is_regular], inverse[is_regular])
        return np.concatenate(late)

    def _set_blocks(self, members: Array, inverse: Array) -> None:
        """Take blocks of one size over."""
        k, count = self._count, members.size
        number, width = np.arange(members.shape[1]), members.shape[1]
        self._widen(width)
        groups = self.blocks.group[members[:, :1]]
        self._members[groups, number], self._sizes[groups[:, 0]] = members, width
        self._number[members] = number
        even = (inverse + inverse.transpose(0, 2, 1)) / 2
        self._inverse[k : k + count, :width] = even.reshape(count, width)
        self._seat(k, members.ravel())
        self._count = self._size = k + count

    def _widen(self, width: int) -> None:
        """Make room for blocks of some items."""
        more = width - self._members.shape[1]
        if more <= 0:
            return
        more += width // 2
        absent = np.full((len(self._members), more), self.system.size)
        self._members = np.hstack([self._members, absent])
        self._inverse = np.hstack([self._inverse, np.zeros((len(self._inverse), more))])

    def _make_room(self, needed: int) -> None:
        more = needed - len(self._items)
        if more <= 0:
            return
        more += needed // 2 + SPARE
        self._items = np.append(self._items, np.empty(more, dtype=np.int64))
        for name in ("_inverse", "_Z"):
            block = getattr(self, name)
            setattr(self, name, np.vstack([block, np.zeros((more, block.shape[1]))]))


def _by_group(items: Array, group: Array) -> Iterator[Array]:
    """Yield the items of all groups of one size, one row per group, for one size after the other.

    >>> group = np.array([2, 0, 2, 1])
    >>> [rows.tolist() for rows in _by_group(np.arange(4), group)]
    [[[1], [3]], [[0, 2]]]
    """
    order = items[np.argsort(group[items], kind="stable")]
    _, starts, sizes = np.unique(group[order], return_index=True, return_counts=True)
    for size in np.unique(sizes).tolist():
        yield order[starts[sizes == size][:, None] + np.arange(size)]
