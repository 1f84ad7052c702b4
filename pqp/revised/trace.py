"""The revised engine: parametric pivoting on a factorised basis.

Follow the lines of a basis to the first end that is reached; let the local problem of all ends reached there
decide who steps over; go on. If it has no solution, walk at this mu along the optimal set until another item
blocks, or prove that nothing does.
"""

import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pqp.errors import NumericalTroubleError
from pqp.lcp.log import Crossing, Pivot
from pqp.lcp.problem import PerturbedMu
from pqp.linalg.field import Array
from pqp.linalg.tolerances import COARSENING, FLAT, PIVOT_ON_RAY, SINGULAR, TIE, ZERO
from pqp.revised.basis import BLOCKING, HI, LO, MOVED, PIVOTS, Walk, beyond, top_slope
from pqp.revised.degeneracy import Responses, Tie, Verdict, settle
from pqp.revised.event_loop import (
    ARRIVED,
    FEW,
    LOST,
    STALE,
    UNDECIDED,
    Course,
    Records,
    find_tied,
    new_records,
    run,
)
from pqp.revised.ratio_test import fall_of
from pqp.revised.states import STEP_NAMES


@dataclass(frozen=True, eq=False, slots=True)
class Changes:
    """Items that stand on another step than on the line before, and these steps."""

    items: Array
    before: Array
    after: Array


@dataclass(frozen=True, eq=False, slots=True)
class Line:
    """One basis is optimal from `start` to `end`, in the direction of the trace.

    `steps` are given on the first line of a trace, `changes` on all others; `values` are the lines of v, and
    `pivots` counts the changes of basis since the line before.
    """

    start: float
    end: float
    steps: Array | None
    changes: Changes
    unknowns: Array
    values: Array
    pivots: int = 0


NOTHING = np.empty(0, dtype=np.int64)
NO_CHANGES = Changes(NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True)
class DeadEnd:
    """Beyond `mu` nothing stops the item from moving: there is no solution."""

    mu: float
    item: int
    sense: int


class CrowdedError(Exception):
    """Too many items tie where a trace begins: it is better begun elsewhere."""


Step = Line | DeadEnd | Pivot | Crossing
Trace = Generator[Step, None, None]
Turning = Generator[Step, None, DeadEnd | None]

# Lines recorded at a time: enough to make handing them over cheap, few enough to notice limits in time.
LINES = 64
# How much room records have beyond what is needed when they must grow.
GROWTH = 2
# More turns at one mu than this many for each item are going in circles.
TURNS = 4


class Tracer:
    """Follows a walk in one direction: simple events at once, all others one by one.

    With names, every event is one by one, so that it can be told in a log. Without `tells_lines` the walk is
    moved, and dead ends are told, but no lines.
    """

    def __init__(
        self, walk: Walk, direction: int, names: Sequence[str] | None = None, tells_lines: bool = True
    ) -> None:
        self.walk = walk
        self.direction = direction
        self.names = names
        self.tells_lines = tells_lines
        self.responses = Responses(walk)
        self._is_first = True

    def trace(self, begin: float, stop: float, crowd: int = sys.maxsize) -> Trace:
        """Yield lines from one end to the other, the states being optimal at `begin`.

        A tie at the beginning that takes more pivots than `crowd` raises `CrowdedError`.
        """
        walk, setting = self.walk, self.walk.setting
        self.walk.move_to(begin)
        reach, patience = abs(begin) + abs(stop) if np.isfinite(stop) else 0.0, TURNS * len(walk.states)
        course = Course(self.direction, stop, reach, setting.speed, patience, self.names is None)
        records = new_records(LINES, 0)
        dead = yield from self._begun(begin, crowd)
        while dead is None and walk.mu != stop:
            records = self._emptied(records)
            outcome = run(setting.form, setting.tables, walk.track, course, records)
            if self.tells_lines:
                yield from self._lines(records)
            if outcome == ARRIVED:
                return
            if outcome == LOST:
                raise _lost(f"round-off keeps the trace at mu = {walk.mu}", walk.mu)
            if outcome == STALE:
                walk.freshen()
            if outcome == UNDECIDED:
                dead = yield from self.turn(walk.mu)
        if dead is not None:
            yield dead

    def _begun(self, begin: float, crowd: int) -> Turning:
        """Turn at the beginning, unless that takes too many pivots."""
        turning, pivots = self.turn(begin), 0
        while True:
            try:
                step = next(turning)
            except StopIteration as stop:
                return stop.value
            pivots += isinstance(step, Pivot)
            if pivots > crowd:
                raise CrowdedError
            yield step

    def _emptied(self, records: Records) -> Records:
        """Return records without lines, with room for the unknowns of some."""
        records.used[:] = 0
        needed = LINES * (self.walk.inverse.count + FEW)
        return records if len(records.unknowns) >= needed else new_records(LINES, GROWTH * needed)

    def _lines(self, records: Records) -> Iterator[Line]:
        """Yield the recorded lines, which share one copy; the first one of a trace tells all its steps."""
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
            steps = self._first_steps(records) if self._is_first else None
            changes = NO_CHANGES if self._is_first else Changes(items[here], before[here], after[here])
            start, end = ends[number]
            yield Line(start, end, steps, changes, unknowns[there], values[there], pivots[number])
            self._is_first, changed, known = False, change, unknown

    def _first_steps(self, records: Records) -> Array:
        """Return the steps on the first recorded line: those now, what came later undone."""
        steps, late = self.walk.states.copy(), slice(int(records.change_ends[0]), int(records.used[1]))
        moved, before = self.walk.track.moved, self.walk.track.before
        count = self.walk.counts[MOVED]
        for items, states in ((moved[:count], before[:count]), (records.items[late], records.before[late])):
            steps[items[::-1]] = states[::-1]
        return steps

    def turn(self, mu: float) -> Turning:
        """Change the basis at mu until nothing falls through its end just beyond."""
        for _ in range(TURNS * len(self.walk.states) + TURNS):
            tie = self._tied()
            if not tie.is_falling:
                return None
            verdict = yield from self._settled(mu, settle(self.responses, tie, self.names))
            if _is_pinched(tie, verdict):
                raise _lost(f"round-off makes limits meet at mu = {mu}", mu)
            before = None if self.names is None else self.walk.states.copy()
            if not self._crossed([(tie.ends[k], tie.items[k]) for k in verdict.crossed]):
                continue
            yield from self._logged(mu, "event", before, len(tie.items))
            if verdict.stuck is None:
                return None
            before = None if self.names is None else self.walk.states.copy()
            dead = self._ray(mu, tie.items[verdict.stuck], 1 if tie.ends[verdict.stuck] == LO else -1)
            if dead is not None:
                return dead
            yield from self._logged(mu, "jump", before, 1)
        raise _lost(f"round-off sends the trace in circles at mu = {mu}", mu)

    def _settled(self, mu: float, pivots: Generator[Pivot, None, Verdict]) -> Generator[Pivot, None, Verdict]:
        """Pass on the pivots of a tie, which happen just beyond mu, and return the verdict."""
        while True:
            try:
                yield replace(next(pivots), place=PerturbedMu(mu, self.direction))
            except StopIteration as stop:
                return stop.value

    def _logged(
        self, mu: float, kind: Literal["event", "jump"], before: Array | None, tied: int
    ) -> Generator[Crossing, None, None]:
        """Yield the record of what has just changed, if anyone wants to know."""
        if before is None or self.names is None:
            return
        moved = np.flatnonzero(before != self.walk.states).tolist()
        if moved:
            names = tuple(self.names[item] for item in moved)
            old, new = (
                tuple(STEP_NAMES[states[item]] for item in moved) for states in (before, self.walk.states)
            )
            yield Crossing(0, PerturbedMu(mu, self.direction), kind, names, old, new, tied)

    def _tied(self) -> Tie:
        """Return the ends reached at mu; if there are several, from numbers computed afresh."""
        walk, track, size = self.walk, self.walk.track, len(self.walk.states)
        count = find_tied(walk.setting.tables, track)
        if count > 1 and walk.changes:
            walk.freshen()
            track = walk.track
            count = find_tied(walk.setting.tables, track)
        walk.counts[BLOCKING] = -1
        found, flat = track.found[:count], FLAT * (top_slope(track, 0.0) + walk.setting.speed)
        slopes = [-fall_of(track.lines, track.core.place, end, self.direction) for end in found.tolist()]
        level = [0.0 if abs(slope) <= flat else slope for slope in slopes]
        zero = ZERO * walk.singular / SINGULAR
        return Tie((found // size).tolist(), (found % size).tolist(), level, flat, zero)

    def _crossed(self, crossed: list[tuple[int, int]]) -> bool:
        """Step over ends if the basis beyond can be carried; if not, go back to look more carefully."""
        walk, states, v = self.walk, self.walk.states.copy(), self.walk.v.copy()
        try:
            self._cross(crossed)
        except NumericalTroubleError:
            if walk.singular > SINGULAR * COARSENING**2:
                raise
            walk.go_back(states, v)
            return False
        walk.singular = SINGULAR
        return True

    def _cross(self, crossed: list[tuple[int, int]]) -> None:
        """Step over the given ends of items; the verdict binds at the end where the new step begins."""
        if not crossed:
            return
        walk, new = self.walk, []
        for end, item in crossed:
            state, begins = beyond(walk.setting.tables, int(walk.states[item]), item, end == HI)
            new.append(state)
            walk.settled[:, item] = begins == LO, begins == HI
        walk.counts[PIVOTS] += 1
        walk.change([item for _, item in crossed], new)

    def _ray(self, mu: float, item: int, sense: int) -> DeadEnd | None:
        """Move what is held at an item, mu fixed, until another item blocks, and exchange the two."""
        gaps, change = self.walk.gaps()[:, :, 0], self.responses.column(item) * sense
        rates = np.stack([change, -change])
        falling = (rates < -PIVOT_ON_RAY * np.abs(change).max()) & ~self.walk.settled
        falling[:, item] = False
        room = np.full(rates.shape, np.inf)
        np.divide(gaps, -rates, out=room, where=falling)
        # of those that block at the same place but for rounding, the one that does so most clearly
        near = room <= room.min() + TIE * (1.0 + abs(room.min()))
        end, other = np.unravel_index(int(np.where(near, -rates, -np.inf).argmax()), room.shape)
        own = self._own_room(mu, item, sense)
        if np.isinf(min(own, room[end, other])):
            return DeadEnd(mu, item, sense)
        here = LO if sense > 0 else HI
        if own <= room[end, other]:
            self._flip(item, here)
        else:
            self._cross([(here, item), (int(end), int(other))])
        return None

    def _own_room(self, mu: float, item: int, sense: int) -> float:
        """Return how far what is held at an item can move before the step it moves on ends."""
        stairs, state = self.walk.setting.stairs, self.walk.states[item]
        neighbour = (stairs.next_at_lo if sense > 0 else stairs.next_at_hi)[state, item]
        far = (stairs.hi if sense > 0 else stairs.lo)[neighbour, item]
        here = self.walk.held[item]
        return float(abs(far[0] - here[0] + mu * (far[1] - here[1])))

    def _flip(self, item: int, end: int) -> None:
        """Take an item over two ends at once: it stays in R, or outside."""
        stairs, state = self.walk.setting.stairs, self.walk.states[item]
        near, far = (stairs.next_at_lo, stairs.next_at_hi)[:: 1 if end == LO else -1]
        after = far[near[state, item], item]
        self.walk.counts[PIVOTS] += 1
        self.walk.change([item], [after])


def point_on(walk: Walk, mu: float) -> Line:
    """Return the solution of a basis at a single mu."""
    lines = walk.unknown_lines()
    return Line(mu, mu, walk.states.copy(), NO_CHANGES, walk.inverse.items.copy(), lines)


def _is_pinched(tie: Tie, verdict: Verdict) -> bool:
    """Tell whether an item is stuck at one of its ends having stepped over the other: both limits meet."""
    if verdict.stuck is None:
        return False
    return tie.items[verdict.stuck] in [tie.items[k] for k in verdict.crossed if k != verdict.stuck]


def _lost(what: str, mu: float) -> NumericalTroubleError:
    return NumericalTroubleError(f'{what}; use arithmetic="exact"', interval=(mu, mu))
