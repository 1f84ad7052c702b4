"""Trails: thousands of pieces of a path by what changes from one to the next, a few numbers per piece.

A piece keeps the states that change at its beginning and the lines that are new on it: v of an unknown as an
affine function of mu, which often holds on many pieces. The whole x, y and z follow from these and the data
of the problem, and are completed on demand.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from pqp.linalg.affine import AffineArray
from pqp.linalg.field import Array
from pqp.model.problem import ParametricQP
from pqp.records.states import States

# The states of all items are kept once every so many pieces: between them, changes are replayed.
CHECKPOINT_EVERY = 64
# Solutions kept complete, so that x0, x1 and y0 of one piece and of its neighbour cost one completion each.
KEPT_SOLUTIONS = 4

Solution: TypeAlias = tuple[AffineArray, AffineArray, AffineArray]
# Completes x, y and z from the states, the items solved for and their (constant, slope).
Completion: TypeAlias = Callable[[States, Array, Array], Solution]


@dataclass(frozen=True, eq=False)
class Lines:
    """v of the unknowns on many pieces; a line that holds on several pieces in a row is kept once.

    Line j says that v of `items[j]` is `values[j]`, a constant and a slope. On piece k hold those among the
    lines `begins[k]` to `stops[k]` whose `last` is not below `numbers[k]`, the number of the piece in the
    order in which lines were written.
    """

    items: Array
    values: Array
    last: Array
    begins: Array
    stops: Array
    numbers: Array

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        return sum(int(array.nbytes) for array in self.arrays)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays."""
        return self.items, self.values, self.last, self.begins, self.stops, self.numbers

    @property
    def is_turned(self) -> bool:
        """Whether the pieces are in the reverse of the order in which lines were written."""
        return len(self) > 1 and bool(self.numbers[0] > self.numbers[1])

    def on(self, piece: int) -> tuple[Array, Array]:
        """Return the unknowns of a piece, and their (constant, slope)."""
        part = slice(self.begins[piece], self.stops[piece])
        items, values, holds = self.items[part], self.values[part], self.last[part] >= self.numbers[piece]
        return (items, values) if holds.all() else (items[holds], values[holds])

    def over(self, begin: int, stop: int) -> tuple[Array, Array, Array]:
        """Return the unknowns of some pieces, their (constant, slope), and which of the pieces it is."""
        parts = [self.on(piece) for piece in range(begin, stop)]
        items, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        return items, values, np.repeat(np.arange(stop - begin), [len(items) for items, _ in parts])

    def part(self, begin: int, stop: int) -> "Lines":
        """Return the lines of the pieces from one number to before another."""
        begins, stops = self.begins[begin:stop], self.stops[begin:stop]
        used = slice(begins.min(), stops.max())
        own = self.items[used], self.values[used], self.last[used]
        return Lines(*own, begins - used.start, stops - used.start, self.numbers[begin:stop])

    def reversed(self) -> "Lines":
        """Return the lines of the same pieces, the last piece first."""
        turned = slice(None, None, -1)
        return replace(
            self, begins=self.begins[turned], stops=self.stops[turned], numbers=self.numbers[turned]
        )


def join_lines(parts: Sequence[Lines]) -> Lines:
    """Return the lines of the pieces of all parts, one part after the other."""
    joined, pieces, written = [], 0, 0
    for part in parts:
        moved = pieces - part.numbers.min()
        last = (np.minimum(part.last, part.numbers.max()) + moved).astype(np.int32)
        ends = part.begins + written, part.stops + written
        joined.append(Lines(part.items, part.values, last, *ends, part.numbers + moved))
        pieces += len(part)
        written += len(part.items)
    return Lines(*(np.concatenate(arrays) for arrays in zip(*(part.arrays for part in joined), strict=True)))


@dataclass(frozen=True, eq=False)
class Trail:
    """The pieces of a trace in a few arrays: what changes from piece to piece, and what was solved for.

    The lines are those of the trace: item i there is the item `owners[i]` of the problem, in `units[i]`.
    """

    problem: ParametricQP = field(repr=False)
    complete: Completion = field(repr=False)
    first: States = field(repr=False)
    changed_items: Array = field(repr=False)
    changed_states: Array = field(repr=False)
    change_ends: Array = field(repr=False)
    lines: Lines = field(repr=False)
    owners: Array = field(repr=False)
    units: Array = field(repr=False)
    _checkpoints: list[States] = field(init=False, repr=False, default_factory=list)
    _cached: Callable[[int], Solution] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for array in (*self._changes, *self.lines.arrays, self.owners, self.units):
            array.flags.writeable = False
        object.__setattr__(self, "_cached", lru_cache(maxsize=KEPT_SOLUTIONS)(self._completed))

    def __len__(self) -> int:
        return len(self.change_ends) - 1

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle keeps: the pieces, without the solutions completed so far."""
        return Trail, (self.problem, self.complete, *self._changes, self.lines, self.owners, self.units)

    @property
    def nbytes(self) -> int:
        """The size of the packed arrays in bytes; checkpoints add one byte per item every 64 pieces."""
        return sum(int(array.nbytes) for array in self._changes) + self.lines.nbytes

    def changes(self, number: int) -> tuple[Array, Array]:
        """Return the items that change at the beginning of a piece, and their new states."""
        part = slice(*self.change_ends[number : number + 2])
        return self.changed_items[part], self.changed_states[part]

    def states(self, number: int) -> States:
        """Return the states of all items on a piece."""
        if not 0 <= number < len(self):
            raise IndexError(f"the trail has pieces 0 to {len(self) - 1}, not {number}")
        # From the nearest checkpoint, so that a piece far down the path does not replay all before it.
        kept = number // CHECKPOINT_EVERY
        while len(self._checkpoints) <= kept:
            stop = len(self._checkpoints) * CHECKPOINT_EVERY
            before = self._checkpoints[-1] if stop else self.first
            self._checkpoints.append(self._replayed(before, stop - CHECKPOINT_EVERY, stop))
        return self._replayed(self._checkpoints[kept], kept * CHECKPOINT_EVERY, number + 1)

    def _replayed(self, states: States, start: int, stop: int) -> States:
        """Return the states after the changes of some pieces; where an item changes twice the last counts."""
        part = slice(self.change_ends[max(start, 0)], self.change_ends[stop])
        result = states.copy()
        result[self.changed_items[part]] = self.changed_states[part]
        return result

    def unknowns(self, number: int) -> tuple[Array, Array]:
        """Return the items solved for on a piece, and their (constant, slope)."""
        items, values = self.lines.on(number)
        return self.owners[items], values * self.units[items, None]

    def unknowns_over(self, begin: int, stop: int) -> tuple[Array, Array, Array]:
        """Return the same for some pieces one after the other, and which of the pieces it is."""
        items, values, piece = self.lines.over(begin, stop)
        return self.owners[items], values * self.units[items, None], piece

    def solution(self, number: int) -> Solution:
        """Return x, y and z on a piece, each affine in mu."""
        return self._cached(number)

    def _completed(self, number: int) -> Solution:
        solution = self.complete(self.states(number), *self.unknowns(number))
        # The cache hands the same arrays to every caller.
        for array in (array for pair in solution for array in pair):
            array.flags.writeable = False
        return solution

    @property
    def _changes(self) -> tuple[Array, ...]:
        return self.first, self.changed_items, self.changed_states, self.change_ends


def trail_of(
    problem: ParametricQP, first: States, complete: Completion, pieces: Sequence[tuple[Any, Any, Any, Any]]
) -> Trail:
    """Return the trail of pieces that share no lines, each given by four lists.

    These are the items whose states are not those of the piece before, or not the `first` ones; their states;
    the unknowns; and their (constant, slope).
    """
    changed, states, unknowns, values = (
        [np.zeros(0), *column] for column in (zip(*pieces, strict=True) if pieces else [()] * 4)
    )
    change_ends, ends = (
        np.cumsum([len(part) for part in parts], dtype=np.int64) for parts in (changed, unknowns)
    )
    numbers = np.arange(len(pieces), dtype=np.int32)
    lines = Lines(
        np.concatenate(unknowns).astype(np.int32),
        np.concatenate([np.reshape(part, (-1, 2)) for part in values]).astype(float),
        np.repeat(numbers, np.diff(ends)),
        ends[:-1],
        ends[1:],
        numbers,
    )
    codes = np.concatenate(states).astype(np.int8)
    changes = np.array(first, dtype=np.int8), np.concatenate(changed).astype(np.int32), codes, change_ends
    return Trail(problem, complete, *changes, lines, np.arange(len(first)), np.ones(len(first)))
