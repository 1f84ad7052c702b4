"""Ways: one direction of a run of the revised engine, its lines and the stretches before and behind them.

Runs of the revised engine: its lines and stretches, gathered into segments that share a compact trail.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed

from pqp.errors import NumericalTroubleError, ProblemError
from pqp.lcp.log import Crossing, Pivot
from pqp.limits import StopLimits, Watch
from pqp.linalg.field import FLOAT, RATIONAL, Array, Number, is_infinite, shown
from pqp.linalg.tolerances import KKT_RESIDUAL, NEAR_GOAL, SPURIOUS_BREAKPOINT
from pqp.model.problem import ParametricQP
from pqp.records.result import TraceResult, in_order, join_unsolvable
from pqp.records.segment import Segment
from pqp.records.states import Basis, States
from pqp.records.unsolvable import UnsolvablePiece
from pqp.revised.basis import Walk
from pqp.revised.exact_repair import Repair, Rescuer, changes_between
from pqp.revised.passes import Event, Journey, Leg, ascending, glue, segments_of
from pqp.revised.postsolve import Translation
from pqp.revised.start import all_limits_meet, is_crowded, is_obvious
from pqp.revised.trace import CrowdedError, Line, point_on
from pqp.revised.verify import misses
from pqp.tableau.unsolvable import unsolvable_segments


@dataclass
class Way:
    """One direction of a run: stretches before the lines, the lines, stretches behind them."""

    before: list[UnsolvablePiece] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    behind: list[UnsolvablePiece] = field(default_factory=list)

    def add(self, event: Line | UnsolvablePiece) -> None:
        """Add a line, its changes told from the line before, or a stretch."""
        if isinstance(event, UnsolvablePiece):
            (self.behind if self.lines else self.before).append(event)
        elif self.lines and event.steps is not None:
            self.lines.append(replace(event, steps=None, changes=changes_between(self.steps(), event.steps)))
        else:
            self.lines.append(event)

    def steps(self) -> Array:
        """Return the steps on the last line."""
        assert self.lines[0].steps is not None
        return Leg(self.lines[0].steps, tuple(self.lines)).last()

    def first_states(self, translation: Translation) -> States | None:
        """Return the states where the way begins, if it begins with a line."""
        if self.before or not self.lines or self.lines[0].steps is None:
            return None
        return translation.all_states(self.lines[0].steps)

    def aligned(self) -> list[Line]:
        """Return the lines, the outer ones ending where the proofs of their unsolvable neighbours do."""
        lines = self.lines.copy()
        if self.before:
            lines[0] = replace(lines[0], start=float(self.before[-1].end))
        if self.behind:
            lines[-1] = replace(lines[-1], end=float(self.behind[0].start))
        return lines

    def trimmed(self, end: float, short: float) -> "Way | None":
        """Return the way without lines that begin closer to its end than some length; None if none is."""
        kept = [line for line in self.lines if abs(line.start - end) > short]
        return Way(self.before, kept, self.behind) if kept else None


# A tie at the beginning of an interval that takes more pivots is left alone, and the start is inside.
CROWD = 4
# How far inside it is, beside the length of the interval: the first place from which a trace can begin.
CLOSE = (1e-3, 1e-5, 1e-1)
# How far out an obvious solution is looked for where an interval has no end.
POWERS = range(0, 7, 2)


@dataclass(frozen=True)
class RevisedRunner:
    """The revised engine, ready to trace one problem."""

    problem: ParametricQP
    log: bool

    @cached_property
    def journey(self) -> Journey:
        """The problem prepared for tracing."""
        return Journey(self.problem, self.log)

    @cached_property
    def repair(self) -> Repair:
        """What helps where float64 cannot."""
        return Repair(self.journey.translation, self.journey.scene, Rescuer(self.problem))

    def run(self, begin: Number, stop: Number, start: Basis | None, watch: Watch, part: TraceResult) -> None:
        """Trace from one end to the other, starting with a basis if there is one, and fill the run."""
        ways: list[Way] = []
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no number, and is refused
            try:
                self._trace(ways, (begin, stop), start, watch, part)
            finally:
                part.segments = self.segments(ways)

    def _trace(
        self,
        ways: list[Way],
        ends: tuple[Number, Number],
        start: Basis | None,
        watch: Watch,
        part: TraceResult,
    ) -> None:
        """Trace from a finite place towards one end or both.

        Where many limits meet, as those of an unbalanced SVM at C = 0, all items tie, and where a penalty
        vanishes, as that of a lasso, bases may be singular: then a start elsewhere costs less.
        """
        begin, stop = ends
        known = start is not None and not is_infinite(begin)
        origin = begin if known else self._origin(begin, stop)
        if origin != begin or known:
            states = start.codes() if known and start is not None else None
            self._both_ways(ways, ends, origin, states, watch, part)
            return
        if is_crowded(self.journey.scene, float(begin)) and self._is_valid(self._inside(*ends)):
            self._from_inside(ways, ends, watch, part, CrowdedError())
            return
        try:
            self._go(self._new(ways), ends, None, watch, part, CROWD)
        except (CrowdedError, NumericalTroubleError) as trouble:
            stretches = ways[-1].before
            if ways[-1].lines or (stretches and isinstance(trouble, NumericalTroubleError)):
                raise
            if stretches:  # the crowd is where they end
                ends = stretches[-1].exact[1], stop
            else:
                ways.clear()
            part.pivots.clear()
            self._from_inside(ways, ends, watch, part, trouble)

    def _from_inside(
        self,
        ways: list[Way],
        ends: tuple[Number, Number],
        watch: Watch,
        part: TraceResult,
        trouble: Exception,
    ) -> None:
        """Trace from a place inside; if no place is better, say what the trouble was at the beginning."""
        known, last = len(ways), trouble
        for close in CLOSE:
            try:
                self._both_ways(ways, ends, self._inside(*ends, close), None, watch, part)
                return
            except NumericalTroubleError as error:
                if any(way.lines for way in ways[known:]):
                    raise
                last = last if isinstance(last, NumericalTroubleError) else error
                del ways[known:]
        raise last

    def _both_ways(
        self,
        ways: list[Way],
        ends: tuple[Number, Number],
        origin: Number,
        states: States | None,
        watch: Watch,
        part: TraceResult,
    ) -> None:
        """Trace from a place to the beginning, if it is not there, and then to the other end."""
        begin, stop = ends
        if origin != begin:
            way = self._new(ways)
            self._go(way, (origin, begin), states, watch, part)
            self._sharpen(way, (origin, begin))
            states = way.first_states(self.journey.translation)
        if origin != stop or origin == begin:
            self._go(self._new(ways), (origin, stop), states, watch, part)

    def _sharpen(self, way: Way, ends: tuple[Number, Number]) -> None:
        """Solve anew, at its end, for the last line of a way to where all limits meet.

        What is 0 there was a sum of larger numbers elsewhere, so that all of it would be round-off, and so
        may be the last breakpoints before.
        """
        mu = float(ends[1])
        if not way.lines or way.lines[-1].end != mu or not all_limits_meet(self.journey.scene, mu):
            return
        if not self._has_arrived(way, ends, SPURIOUS_BREAKPOINT):
            way.lines[-1] = self.repair.solved_at(way.steps(), way.lines[-1], mu)

    def _has_arrived(self, way: Way, ends: tuple[Number, Number], close: float = NEAR_GOAL) -> bool:
        """Tell whether a way ends so close to its goal that its last line of any length can be carried on.

        Where all limits meet, all items tie before; what is optimal at both ends of a line is so between.
        """
        end, short = float(ends[1]), close * abs(float(ends[0]) - float(ends[1]))
        if not way.lines or not abs(way.lines[-1].end - end) <= short:
            return False
        trimmed = way.trimmed(end, short)
        if trimmed is None or not self.repair.reaches(trimmed.steps(), trimmed.lines[-1], end):
            return False
        trimmed.lines[-1] = self.repair.solved_at(trimmed.steps(), trimmed.lines[-1], end)
        way.lines[:] = trimmed.lines
        return True

    def _new(self, ways: list[Way]) -> Way:
        ways.append(Way())
        return ways[-1]

    def _origin(self, begin: Number, stop: Number) -> Number:
        """Return where to start: at the beginning or, where an interval has no end, at a finite place.

        Far out is best if the solution is obvious there, as that of a lasso with a large penalty.
        """
        if not is_infinite(begin) and (not is_infinite(stop) or self._is_obvious(begin)):
            return begin
        endless, other = (begin, stop) if is_infinite(begin) else (stop, begin)
        near = 0.0 if is_infinite(other) else float(other)
        for power in POWERS:
            far = near + (10.0**power if endless > 0 else -(10.0**power))
            if self._is_obvious(far):
                return far
        return near if is_infinite(begin) else begin

    def _is_obvious(self, mu: Number) -> bool:
        return self._is_valid(mu) and is_obvious(self.journey.scene, float(mu))

    def _is_valid(self, mu: Number) -> bool:
        """Tell whether no limits have crossed at mu, and no penalty is negative."""
        return self.journey.widths.violated(RATIONAL.number(mu)) is None

    def _inside(self, begin: Number, stop: Number, close: float = CLOSE[0]) -> Number:
        """Return a place inside an interval, close to its beginning."""
        if is_infinite(stop):
            return float(begin) + (1.0 if stop > 0 else -1.0) * close / CLOSE[0]
        return float(begin) + close * (float(stop) - float(begin))

    def run_parts(self, cuts: Sequence[Number], jobs: int, part: TraceResult) -> None:
        """Trace the parts of an interval between cuts side by side, and fill the run."""
        parts = Parallel(n_jobs=jobs)(delayed(_ways)(self, ends) for ends in pairwise(cuts))
        part.segments = self.segments([way for ways in parts for way in ways])

    def require_optimal(self, start: Basis, mu: Number) -> None:
        """Raise unless a basis is optimal at mu."""
        setting, steps = self.journey.scene.setting, self.journey.translation.steps(start.codes())
        line = point_on(Walk(setting, steps, float(mu)), float(mu))
        if not misses(Leg(steps, (line,)), setting)[0] <= KKT_RESIDUAL:
            raise ProblemError(
                f"start is not optimal at mu = {shown(mu)}; leave it out, or give the basis of a solution"
            )

    def _go(
        self,
        way: Way,
        ends: tuple[Number, Number],
        states: States | None,
        watch: Watch,
        part: TraceResult,
        crowd: int = sys.maxsize,
    ) -> None:
        """Follow one direction; where float64 is at a loss, exact arithmetic takes some steps.

        A tie at the beginning that takes more pivots than `crowd` raises `CrowdedError`.
        """
        at, patience = ends[0], 1
        if self.journey.scene.is_delicate and self.repair.rescuer.is_able:
            self._rescued(way, ends, sys.maxsize, watch)
            return
        while True:
            try:
                self._collect(way, watch.passing(self.journey.events(at, ends[1], states, crowd)), part)
                return
            except NumericalTroubleError as trouble:
                reached = float(way.lines[-1].end if way.lines else at)
                if self._has_arrived(way, ends):
                    return
                try:
                    passed = self._rescued(way, ends, patience, watch)
                except NumericalTroubleError:
                    raise _located(trouble, reached) from trouble
                if passed is None:
                    return
                if passed == at:
                    raise trouble
                at, states, patience = passed, self.journey.translation.all_states(way.steps()), 2 * patience

    def _collect(self, way: Way, events: Iterator[Event], part: TraceResult) -> None:
        for event in events:
            if isinstance(event, Pivot | Crossing):
                part.pivots += [event] if self.log else []
            else:
                way.add(event)

    def _rescued(self, way: Way, ends: tuple[Number, Number], count: int, watch: Watch) -> Number | None:
        """Let exact arithmetic go on for some pieces; return where it stopped, None if it reached the end."""
        begin, steps, last = ends[0], None, way.lines[-1:]
        if last:
            begin, steps = last[0].start, way.steps()
        elif way.before:
            begin = way.before[-1].exact[1]
        done = 0
        for event in watch.passing(self.repair.lines(steps, begin, ends[1])):
            if last:  # its exact form comes first
                last = []
                way.lines.pop()
            way.add(event)
            done += isinstance(event, Line) and event.start != event.end
            if done > count and isinstance(event, Line):
                return event.end if event.end != ends[1] else None
        return None

    def segments(self, ways: list[Way]) -> list[Segment]:
        """Return all segments in ascending order; ways that meet in a line become one."""
        legs = sorted((ascending(way.aligned()) for way in ways if way.lines), key=_extent)
        segments: list[Segment] = []
        if legs:
            leg = self.repair.repaired(reduce(glue, legs))
            segments = segments_of(leg, self.journey.translation, self.journey.scene)
        for pending in (stretches for way in ways for stretches in (way.before, way.behind) if stretches):
            segments += unsolvable_segments(pending, self.problem, FLOAT)
        return join_unsolvable(in_order(segments))


def _ways(runner: RevisedRunner, ends: tuple[Number, Number]) -> list[Way]:
    """Trace one part of an interval, in a process of its own."""
    ways: list[Way] = []
    runner._trace(ways, ends, None, Watch(StopLimits(), ends[0]), TraceResult())
    return ways


def _located(trouble: NumericalTroubleError, mu: float) -> NumericalTroubleError:
    """Return a trouble that says where it arose."""
    if trouble.interval is not None:
        return trouble
    return NumericalTroubleError(f"at mu = {shown(mu)}: {trouble}", interval=(mu, mu))


def _extent(leg: Leg) -> tuple[float, float]:
    return leg.lines[0].start, leg.lines[-1].end
