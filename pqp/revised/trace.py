"""The revised engine: parametric pivoting on a factorised basis.

Follow the affine solution of a basis to the first end that is reached. The local problem of all ends reached
there decides which items cross. If it has no solution, move along the optimal set at this mu until another
item blocks, or prove that nothing does.
"""

import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.lcp.log import Crossing, Pivot
from pqp.lcp.problem import PerturbedMu
from pqp.linalg.field import Array
from pqp.linalg.tolerances import COARSENING, FLAT, PIVOT_ON_RAY, SINGULAR, TIE, ZERO
from pqp.revised.basis import BLOCKING, CHANGED, HI, LO, PIVOTS, WorkingBasis, largest_slope, next_state
from pqp.revised.degeneracy import LocalDictionary, Tie, TieSolution, solve_tie
from pqp.revised.event_loop import (
    MOST_PIVOTS_AT_ONCE,
    NOT_SIMPLE,
    REACHED_STOP,
    STALE,
    STALLED,
    LoopSettings,
    PieceRecords,
    find_tied,
    new_records,
    run_events,
)
from pqp.revised.inverse import GROWTH
from pqp.revised.ratio_test import closing_rate
from pqp.revised.states import STATE_NAMES


@dataclass(frozen=True, eq=False, slots=True)
class StateChanges:
    """Items whose state differs from that on the piece before, with both states."""

    items: Array
    before: Array
    after: Array


@dataclass(frozen=True, eq=False, slots=True)
class BasisPiece:
    """One basis is optimal from `start` to `end`, in the direction of the trace.

    `item_states` are given on the first piece of a trace, `changes` on all others. `values` are v on R as
    affine functions, and `pivots` counts the changes of basis since the piece before.
    """

    start: float
    end: float
    item_states: Array | None
    changes: StateChanges
    unknowns: Array
    values: Array
    pivots: int = 0


NO_ITEMS = np.empty(0, dtype=np.int64)
NO_CHANGES = StateChanges(NO_ITEMS, NO_ITEMS, NO_ITEMS)


@dataclass(frozen=True)
class UnblockedRay:
    """Beyond `mu` nothing blocks the movement of the item: there is no solution."""

    mu: float
    item: int
    sense: int


class LargeTieError(Exception):
    """Too many items tie where a trace begins: it should begin elsewhere."""


Step = BasisPiece | UnblockedRay | Pivot | Crossing
Trace = Generator[Step, None, None]
BasisChange = Generator[Step, None, UnblockedRay | None]

# Pieces recorded per call of the loop: enough to make the call cheap, few enough to notice time limits.
PIECES_AT_ONCE = 64
# More ties at one mu than this many per item mean cycling.
TIES_PER_ITEM = 4


class EventTracer:
    """Follows a basis in one direction: simple events in the compiled loop, all others one by one.

    With names, every event is handled one by one, so that it can be logged. Without `records_pieces` the
    basis is moved and unblocked rays are reported, but no pieces.
    """

    def __init__(
        self,
        basis: WorkingBasis,
        direction: int,
        names: Sequence[str] | None = None,
        records_pieces: bool = True,
    ) -> None:
        self.basis = basis
        self.direction = direction
        self.names = names
        self.records_pieces = records_pieces
        self.dictionary = LocalDictionary(basis)
        self._is_first = True

    def trace(self, begin: float, stop: float, max_pivots: int = sys.maxsize) -> Trace:
        """Yield pieces from one end to the other; the states must be optimal at `begin`.

        A tie at the beginning that takes more than `max_pivots` pivots raises `LargeTieError`.
        """
        basis, lcp = self.basis, self.basis.lcp
        self.basis.move_to(begin)
        mu_scale, max_stalls = (
            abs(begin) + abs(stop) if np.isfinite(stop) else 0.0,
            TIES_PER_ITEM * len(basis.states),
        )
        settings = LoopSettings(
            self.direction, stop, mu_scale, lcp.data_slope, max_stalls, self.names is None
        )
        records = new_records(PIECES_AT_ONCE, 0)
        ray = yield from self._first_change(begin, max_pivots)
        while ray is None and basis.mu != stop:
            records = self._emptied(records)
            outcome = run_events(lcp.form, lcp.tables, basis.arrays, settings, records)
            if self.records_pieces:
                yield from self._pieces(records)
            if outcome == REACHED_STOP:
                return
            if outcome == STALLED:
                raise _no_progress(
                    "no progress at mu = {found}: every step is below rounding error", basis.mu
                )
            if outcome == STALE:
                basis.recompute()
            if outcome == NOT_SIMPLE:
                ray = yield from self.change_basis(basis.mu)
        if ray is not None:
            yield ray

    def _first_change(self, begin: float, max_pivots: int) -> BasisChange:
        """Change the basis at the beginning, unless that takes too many pivots."""
        changing, pivots = self.change_basis(begin), 0
        while True:
            try:
                step = next(changing)
            except StopIteration as stop:
                return stop.value
            pivots += isinstance(step, Pivot)
            if pivots > max_pivots:
                raise LargeTieError
            yield step

    def _emptied(self, records: PieceRecords) -> PieceRecords:
        """Return records without pieces, with room for the unknowns of some."""
        records.used[:] = 0
        needed = PIECES_AT_ONCE * (self.basis.inverse.count + MOST_PIVOTS_AT_ONCE)
        return records if len(records.unknowns) >= needed else new_records(PIECES_AT_ONCE, GROWTH * needed)

    def _pieces(self, records: PieceRecords) -> Iterator[BasisPiece]:
        """Yield the recorded pieces, which share one copy; the first one of a trace has all its states."""
        count, change_count, unknown_count = records.used.tolist()
        items, before, after = (
            part[:change_count].copy() for part in (records.items, records.before, records.after)
        )
        unknowns = records.unknowns[:unknown_count].astype(np.int32)
        values = records.values[:unknown_count].copy()
        ends, pivots = records.ends[:count].tolist(), records.pivots[:count].tolist()
        changed, known = 0, 0
        for number, (change, unknown) in enumerate(
            zip(records.change_ends[:count].tolist(), records.unknown_ends[:count].tolist(), strict=True)
        ):
            here, there = slice(changed, change), slice(known, unknown)
            item_states = self._first_states(records) if self._is_first else None
            changes = NO_CHANGES if self._is_first else StateChanges(items[here], before[here], after[here])
            start, end = ends[number]
            yield BasisPiece(start, end, item_states, changes, unknowns[there], values[there], pivots[number])
            self._is_first, changed, known = False, change, unknown

    def _first_states(self, records: PieceRecords) -> Array:
        """Return the states on the first recorded piece: the present ones with later changes undone."""
        item_states, late = self.basis.states.copy(), slice(int(records.change_ends[0]), int(records.used[1]))
        moved, before = self.basis.arrays.moved, self.basis.arrays.before
        count = self.basis.counts[CHANGED]
        # Backwards, so that of an item that changed more than once the earliest state remains.
        for items, states in ((moved[:count], before[:count]), (records.items[late], records.before[late])):
            item_states[items[::-1]] = states[::-1]
        return item_states

    def change_basis(self, mu: float) -> BasisChange:
        """Change the basis at mu until no gap closes just beyond."""
        for _ in range(TIES_PER_ITEM * len(self.basis.states) + TIES_PER_ITEM):
            tie = self._tied()
            if not tie.is_falling:
                return None
            solution = yield from self._solved_tie(mu, solve_tie(self.dictionary, tie, self.names))
            # Such an item has no state to go to: its bounds differ by less than rounding errors.
            if _is_at_both_ends(tie, solution):
                raise _no_progress("an item is at both its bounds at mu = {found} (float64 rounding)", mu)
            before = None if self.names is None else self.basis.states.copy()
            if not self._crossed([(tie.ends[k], tie.items[k]) for k in solution.crossed]):
                continue
            yield from self._logged(mu, "event", before, len(tie.items))
            if solution.infeasible is None:
                return None
            before = None if self.names is None else self.basis.states.copy()
            ray = self._ray(
                mu, tie.items[solution.infeasible], 1 if tie.ends[solution.infeasible] == LO else -1
            )
            if ray is not None:
                return ray
            yield from self._logged(mu, "jump", before, 1)
        raise _no_progress("cycling detected at mu = {found} (float64 rounding)", mu)

    def _solved_tie(
        self, mu: float, pivots: Generator[Pivot, None, TieSolution]
    ) -> Generator[Pivot, None, TieSolution]:
        """Yield the pivots of a tie, which happen just beyond mu, and return its solution."""
        while True:
            try:
                yield replace(next(pivots), place=PerturbedMu(mu, self.direction))
            except StopIteration as stop:
                return stop.value

    def _logged(
        self, mu: float, kind: Literal["event", "jump"], before: Array | None, tied: int
    ) -> Generator[Crossing, None, None]:
        """Yield the record of the last change, if logging is on."""
        if before is None or self.names is None:
            return
        moved = np.flatnonzero(before != self.basis.states).tolist()
        if moved:
            names = tuple(self.names[item] for item in moved)
            old, new = (
                tuple(STATE_NAMES[states[item]] for item in moved) for states in (before, self.basis.states)
            )
            yield Crossing(0, PerturbedMu(mu, self.direction), kind, names, old, new, tied)

    def _tied(self) -> Tie:
        """Return the ends reached at mu; if there are several, from recomputed numbers."""
        basis, arrays, size = self.basis, self.basis.arrays, len(self.basis.states)
        count = find_tied(basis.lcp.tables, arrays)
        # A tie is decided by differences of small numbers: errors of earlier changes are removed first.
        if count > 1 and basis.changes:
            basis.recompute()
            arrays = basis.arrays
            count = find_tied(basis.lcp.tables, arrays)
        basis.counts[BLOCKING] = -1
        found, flat = arrays.found[:count], FLAT * (largest_slope(arrays, 0.0) + basis.lcp.data_slope)
        slopes = [
            -closing_rate(arrays.lines, arrays.core.position, end, self.direction) for end in found.tolist()
        ]
        level = [0.0 if abs(slope) <= flat else slope for slope in slopes]
        # After a failed attempt more counts as zero, in the dictionary as in the basis.
        zero = ZERO * basis.singular / SINGULAR
        return Tie((found // size).tolist(), (found % size).tolist(), level, flat, zero)

    def _crossed(self, crossed: list[tuple[int, int]]) -> bool:
        """Cross ends if float64 can represent the basis beyond; else undo it and raise what is zero."""
        basis, states, v = self.basis, self.basis.states.copy(), self.basis.v.copy()
        try:
            self._cross(crossed)
        except NumericalTroubleError:
            # A few attempts with a coarser zero; one more would take real pivots for zero.
            if basis.singular > SINGULAR * COARSENING**2:
                raise
            basis.restore(states, v)
            return False
        basis.singular = SINGULAR
        return True

    def _cross(self, crossed: list[tuple[int, int]]) -> None:
        """Cross the given ends of items; the ends where the new states begin are decided."""
        if not crossed:
            return
        basis, new = self.basis, []
        for end, item in crossed:
            state, begins = next_state(basis.lcp.tables, int(basis.states[item]), item, end == HI)
            new.append(state)
            # The item is at this end of its new state, and must not be found to reach it again.
            basis.decided[:, item] = begins == LO, begins == HI
        basis.counts[PIVOTS] += 1
        basis.change([item for _, item in crossed], new)

    def _ray(self, mu: float, item: int, sense: int) -> UnblockedRay | None:
        """Move the fixed value of an item, at this mu, until another item blocks, and exchange the two."""
        gaps, change = self.basis.gaps()[:, :, 0], self.dictionary.column(item) * sense
        rates = np.stack([change, -change])
        # Ends that the tie has decided cannot block: they would give steps of length 0.
        falling = (rates < -PIVOT_ON_RAY * np.abs(change).max()) & ~self.basis.decided
        falling[:, item] = False
        room = np.full(rates.shape, np.inf)
        np.divide(gaps, -rates, out=room, where=falling)
        # of those that block at the same point up to rounding, take the largest pivot
        near = room <= room.min() + TIE * (1.0 + abs(room.min()))
        end, other = np.unravel_index(int(np.where(near, -rates, -np.inf).argmax()), room.shape)
        # The item itself may reach the other end of its neighbouring state first.
        own = self._own_room(mu, item, sense)
        if np.isinf(min(own, room[end, other])):
            return UnblockedRay(mu, item, sense)
        here = LO if sense > 0 else HI
        if own <= room[end, other]:
            self._flip(item, here)
        else:
            self._cross([(here, item), (int(end), int(other))])
        return None

    def _own_room(self, mu: float, item: int, sense: int) -> float:
        """Return how far the fixed value of an item can move before its neighbouring state ends."""
        state_table, state = self.basis.lcp.state_table, self.basis.states[item]
        neighbour = (state_table.next_at_lo if sense > 0 else state_table.next_at_hi)[state, item]
        far = (state_table.hi if sense > 0 else state_table.lo)[neighbour, item]
        here = self.basis.fixed[item]
        return float(abs(far[0] - here[0] + mu * (far[1] - here[1])))

    def _flip(self, item: int, end: int) -> None:
        """Take an item over two ends at once: it stays in R, or outside."""
        state_table, state = self.basis.lcp.state_table, self.basis.states[item]
        near, far = (state_table.next_at_lo, state_table.next_at_hi)[:: 1 if end == LO else -1]
        after = far[near[state, item], item]
        self.basis.counts[PIVOTS] += 1
        self.basis.change([item], [after])


def point_on(basis: WorkingBasis, mu: float) -> BasisPiece:
    """Return the solution of a basis at a single mu."""
    lines = basis.unknown_lines()
    return BasisPiece(mu, mu, basis.states.copy(), NO_CHANGES, basis.inverse.items.copy(), lines)


def _is_at_both_ends(tie: Tie, solution: TieSolution) -> bool:
    """Return whether an item that crossed one end would have to cross the other: its bounds coincide."""
    if solution.infeasible is None:
        return False
    return tie.items[solution.infeasible] in [
        tie.items[k] for k in solution.crossed if k != solution.infeasible
    ]


def _no_progress(what: str, mu: float) -> NumericalTroubleError:
    """Return an error that says what float64 could not do at mu."""
    return NumericalTroubleError(what, found=mu, interval=(mu, mu), **EXACT_REMEDY)
