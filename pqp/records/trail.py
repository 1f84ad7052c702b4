"""Trails: thousands of pieces of a path by what changes from one to the next, a few numbers per piece.

A piece keeps the states that change at its beginning and the unknowns that were solved for. The whole x, y
and z follow from these and the data of the problem, and are completed on demand.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
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


class TrailBuilder:
    """Collects the pieces of a trace; items are the variables 0, ..., n − 1, then row i as n + i."""

    def __init__(self, problem: ParametricQP, states: States, complete: Completion) -> None:
        self._problem, self._complete = problem, complete
        self._states = np.array(states, dtype=np.int8)
        self._changes: list[tuple[Array, Array]] = []
        self._unknowns: list[tuple[Array, Array]] = []

    def add(self, changed: Array, states: Array, unknowns: Array, values: Array) -> int:
        """Add a piece and return its number.

        `changed` items have other `states` than on the piece added before; `values` holds constant and slope
        of every unknown: x of a variable, y of a row.
        """
        items = np.array(changed, dtype=np.int32)
        self._changes.append((items, np.array(states, dtype=np.int8).reshape(items.shape)))
        solved = np.array(unknowns, dtype=np.int32)
        self._unknowns.append((solved, np.array(values, dtype=float).reshape(len(solved), 2)))
        return len(self._changes) - 1

    def trail(self) -> "Trail":
        """Return the pieces added so far, packed."""
        items, codes, change_ends = _packed(self._changes, np.zeros(0, dtype=np.int8))
        unknowns, values, unknown_ends = _packed(self._unknowns, np.zeros((0, 2)))
        packed = (self._states.copy(), items, codes, change_ends, unknowns, values, unknown_ends)
        return Trail(self._problem, self._complete, *packed)


def _packed(parts: list[tuple[Array, Array]], nothing: Array) -> tuple[Array, Array, Array]:
    """Return all items, all that belongs to them, and where each piece begins and ends."""
    ends = np.cumsum([0, *(len(items) for items, _ in parts)], dtype=np.int64)
    items = np.concatenate([np.zeros(0, dtype=np.int32), *(items for items, _ in parts)])
    return items, np.concatenate([nothing, *(values for _, values in parts)]), ends


@dataclass(frozen=True, eq=False)
class Trail:
    """The pieces of a trace in a few arrays: what changes from piece to piece, and what was solved for."""

    problem: ParametricQP = field(repr=False)
    complete: Completion = field(repr=False)
    first: States = field(repr=False)
    changed_items: Array = field(repr=False)
    changed_states: Array = field(repr=False)
    change_ends: Array = field(repr=False)
    solved_items: Array = field(repr=False)
    solved_values: Array = field(repr=False)
    solved_ends: Array = field(repr=False)
    _checkpoints: list[States] = field(init=False, repr=False, default_factory=list)
    _cached: Callable[[int], Solution] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for array in self._arrays:
            array.flags.writeable = False
        object.__setattr__(self, "_cached", lru_cache(maxsize=KEPT_SOLUTIONS)(self._completed))

    def __len__(self) -> int:
        return len(self.change_ends) - 1

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle keeps: the pieces, without the solutions completed so far."""
        return Trail, (self.problem, self.complete, *self._arrays)

    @property
    def nbytes(self) -> int:
        """The size of the packed arrays in bytes; checkpoints add one byte per item every 64 pieces."""
        return sum(array.nbytes for array in self._arrays)

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
        part = slice(*self.solved_ends[number : number + 2])
        return self.solved_items[part], self.solved_values[part]

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
    def _arrays(self) -> tuple[Any, ...]:
        changes = (self.first, self.changed_items, self.changed_states, self.change_ends)
        return (*changes, self.solved_items, self.solved_values, self.solved_ends)
