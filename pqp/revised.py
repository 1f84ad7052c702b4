"""The revised engine: parametric pivoting on a factorised basis.

Follow the lines of a basis to the first end that is reached; let the local problem of all ends reached there
decide who steps over; go on. If it has no solution, walk at this mu along the optimal set until another item
blocks, or prove that nothing does.

Room: a walk and an interval in; pieces, pivots and, where the trace cannot go on, a dead end out.
May touch: `errors`, `field`, `log`, `stairs`, `scanning`, `walk`, `ties`.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pqp.errors import NumericalTroubleError
from pqp.field import FLAT, MORE_CAREFUL, PIVOT_ON_RAY, ROUNDING, SINGULAR, TIE, Array
from pqp.log import Crossing, Pivot
from pqp.place import Place
from pqp.scanning import first_end, reached_ends
from pqp.stairs import STEP_NAMES
from pqp.ties import Verdict, settle
from pqp.walk import HI, LO, Walk


@dataclass(frozen=True, eq=False)
class Changes:
    """Items that stand on another step than on the line before, and these steps."""

    items: Array
    before: Array
    after: Array


@dataclass(frozen=True, eq=False)
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


Step = Line | DeadEnd | Pivot | Crossing
Trace = Generator[Step, None, None]
Turning = Generator[Step, None, DeadEnd | None]

# More turns at one mu than this many for each item are going in circles.
TURNS = 4


class Tracer:
    """Follows a walk in one direction; `settled` marks the ends on which a verdict binds."""

    def __init__(self, walk: Walk, direction: int, names: Sequence[str] | None = None) -> None:
        self.walk = walk
        self.direction = direction
        self.names = names
        self.settled = np.zeros((2, len(walk.states)), dtype=bool)
        self._found = np.empty(2 * len(walk.states) + 1, dtype=np.int64)
        self._reach = 0.0
        self._pivots = 0
        self._is_first = True
        self._blocking = -1
        self._before: dict[int, int] = {}

    def trace(self, begin: float, stop: float) -> Trace:
        """Yield lines from one end to the other, the states being optimal at `begin`."""
        mu, standing = begin, 0
        self._reach = abs(begin) + abs(stop) if np.isfinite(stop) else 0.0
        dead = yield from self.turn(mu)
        while dead is None and mu != stop:
            end = self._next(mu, stop)
            standing = 0 if end != mu else standing + 1
            if end != mu:
                yield self._line(mu, end)
            elif standing > TURNS * len(self.walk.states):
                raise _lost(f"round-off keeps the trace at mu = {mu}", mu)
            if end == stop:
                return
            mu = end
            dead = yield from self.turn(mu)
        if dead is not None:
            yield dead

    def _line(self, start: float, end: float) -> Line:
        self.walk.polish()
        items, states = self.walk.inverse.items.copy(), self.walk.states
        steps, changes = (states.copy(), NO_CHANGES) if self._is_first else (None, self._changes())
        pivots, self._is_first, self._before, self._pivots = self._pivots, False, {}, 0
        return Line(start, end, steps, changes, items, self.walk.v[items], pivots)

    def _changes(self) -> Changes:
        """Return what has changed since the last line."""
        items = np.array(list(self._before), dtype=np.int64)
        before = np.array(list(self._before.values()), dtype=np.int8)
        after = self.walk.states[items]
        moved = before != after
        return Changes(items[moved], before[moved], after[moved])

    def _next(self, mu: float, stop: float) -> float:
        """Return where the first end is reached that no verdict has settled, not beyond stop."""
        walk, noise = self.walk, (FLAT, self.walk.setting.speed)
        distance, which = first_end(walk.lines, walk.ranges, self.settled, (mu, self.direction), noise)
        if not distance < abs(stop - mu) - TIE * self._reach:
            return stop
        self._blocking = which
        if distance <= 0.0:
            return mu
        constant, slope = walk.gap(*divmod(which, len(walk.states)))
        end = -constant / slope
        return end if (end - mu) * self.direction > 0 else mu

    def turn(self, mu: float) -> Turning:
        """Change the basis at mu until nothing falls through its end just beyond."""
        for _ in range(TURNS * len(self.walk.states) + TURNS):
            self.settled.fill(False)
            ends, items, slopes = self._tied(mu)
            if not any(slope < 0.0 for slope in slopes):
                return None
            if len(items) == 1 and self.names is None and self.walk.response(items[0]) > 0:
                if self._crossed([(ends[0], items[0])]):  # the common case: one item steps over its end
                    return None
                continue
            verdict = yield from self._settled(mu, ends, items, slopes)
            before = None if self.names is None else self.walk.states.copy()
            if not self._crossed([(ends[k], items[k]) for k in verdict.crossed]):
                continue
            yield from self._logged(mu, "event", before, len(items))
            if verdict.stuck is None:
                return None
            before = None if self.names is None else self.walk.states.copy()
            dead = self._ray(mu, items[verdict.stuck], 1 if ends[verdict.stuck] == LO else -1)
            if dead is not None:
                return dead
            yield from self._logged(mu, "jump", before, 1)
        raise _lost(f"round-off sends the trace in circles at mu = {mu}", mu)

    def _settled(
        self, mu: float, ends: list[int], items: list[int], slopes: list[float]
    ) -> Generator[Pivot, None, Verdict]:
        """Pass on the pivots of a tie, which happen just beyond mu, and return the verdict."""
        pivots = settle(self.walk, ends, items, slopes, self.names)
        while True:
            try:
                yield replace(next(pivots), place=Place(mu, self.direction))
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
            yield Crossing(0, Place(mu, self.direction), kind, names, old, new, tied)

    def _tied(self, mu: float) -> tuple[list[int], list[int], list[float]]:
        """Return the ends reached at mu, their items and slopes, from fresh numbers if there are several."""
        walk, size = self.walk, len(self.walk.states)
        count, speed = self._reached(mu, TIE if walk.changes else ROUNDING)
        if count > 1 and walk.changes:
            walk.freshen()
            count, speed = self._reached(mu, ROUNDING)
        if self._blocking >= 0 and self._blocking not in self._found[:count]:
            self._found[count] = self._blocking  # it was reached, whatever rounding says about its gap
            count += 1
        self._blocking = -1
        found = self._found[:count]
        self.settled.flat[found] = True
        flat = FLAT * (speed + walk.setting.speed)
        ends, items = [int(e >= size) for e in found.tolist()], [e % size for e in found.tolist()]
        slopes = [walk.gap(end, item)[1] * self.direction for end, item in zip(ends, items, strict=True)]
        return ends, items, [0.0 if abs(slope) <= flat else slope for slope in slopes]

    def _reached(self, mu: float, noise: float) -> tuple[int, float]:
        """Find the ends that are reached at mu, the numbers having so much round-off; return how many."""
        walk = self.walk
        return reached_ends(walk.lines, walk.ranges, walk.setting.is_row, (mu, TIE, noise), self._found)

    def _crossed(self, crossed: list[tuple[int, int]]) -> bool:
        """Step over ends if the basis beyond can be carried; if not, go back to look more carefully."""
        walk, states = self.walk, self.walk.states.copy()
        try:
            self._cross(crossed)
        except NumericalTroubleError:
            if walk.singular > SINGULAR * MORE_CAREFUL:
                raise
            walk.go_back(states)
            return False
        walk.singular = SINGULAR
        return True

    def _cross(self, crossed: list[tuple[int, int]]) -> None:
        """Step over the given ends of items; the verdict binds at the end where the new step begins."""
        if not crossed:
            return
        self._pivots += 1
        stairs, states = self.walk.setting.stairs, self.walk.states
        new = []
        for end, item in crossed:
            old = int(states[item])
            new.append(int((stairs.next_at_hi if end == HI else stairs.next_at_lo)[old, item]))
            self._before.setdefault(item, old)
            begins = LO if stairs.next_at_lo[new[-1], item] == old else HI
            self.settled[begins, item], self.settled[1 - begins, item] = True, False
        self.walk.change([item for _, item in crossed], new)

    def _ray(self, mu: float, item: int, sense: int) -> DeadEnd | None:
        """Move what is held at an item, mu fixed, until another item blocks, and exchange the two."""
        lines, change = self.walk.gaps(), self.walk.column(item) * sense
        gaps, rates = lines[:, :, 0] + mu * lines[:, :, 1], np.stack([change, -change])
        falling = (rates < -PIVOT_ON_RAY * np.abs(change).max()) & ~self.settled
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
        beyond = far[near[state, item], item]
        self._pivots += 1
        self._before.setdefault(item, int(state))
        self.walk.change([item], [beyond])


def point_on(walk: Walk, mu: float) -> Line:
    """Return the solution of a basis at a single mu."""
    items = walk.inverse.items.copy()
    return Line(mu, mu, walk.states.copy(), NO_CHANGES, items, walk.v[items])


def _lost(what: str, mu: float) -> NumericalTroubleError:
    return NumericalTroubleError(f'{what}; use arithmetic="exact"', interval=(mu, mu))
