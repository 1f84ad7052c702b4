"""Journeys of the revised engine: from one end of an interval to the other, unsolvable stretches included.

Start at the first end. If there is no solution, go on where the proof of that ends, and so on; from the
first solution on follow the path. The mu with a solution form an interval, so once it ends all is said.

Collecting: the lines of one or more traces, put in ascending order and packed into the segments of a path.
"""

import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pqp.errors import NumericalTroubleError
from pqp.lcp.log import Crossing, Pivot
from pqp.linalg.field import FLOAT, RATIONAL, Array, Number, shown
from pqp.model.problem import ParametricQP
from pqp.records.segment import Segment
from pqp.records.states import States
from pqp.records.trail import Trail
from pqp.records.unsolvable import Obstruction, UnsolvablePiece
from pqp.revised.basis import Walk
from pqp.revised.crossing_bounds import Widths, find_widths
from pqp.revised.postsolve import Translation
from pqp.revised.presolve import reduce_problem
from pqp.revised.rays import Move, is_proof, obstruction_of
from pqp.revised.scaling import Scene, set_scene
from pqp.revised.start import Blocked, find_start
from pqp.revised.states import ABOVE, BELOW, PINNED
from pqp.revised.trace import NO_CHANGES, Changes, DeadEnd, Line, Tracer, point_on

Event = Line | UnsolvablePiece | Pivot | Crossing
Events = Generator[Event, None, None]


@dataclass(frozen=True)
class Journey:
    """A problem prepared for tracing."""

    problem: ParametricQP
    log: bool = False

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """What items are called in a log."""
        if not self.log:
            return None
        variables, rows = self.translation.reduction.variables, self.translation.reduction.rows
        problem = self.problem
        return (*(problem.names[j] for j in variables), *(problem.row_names[i] for i in rows))

    @cached_property
    def translation(self) -> Translation:
        """How items of the reduction and of the problem correspond."""
        return Translation(reduce_problem(self.problem))

    @cached_property
    def scene(self) -> Scene:
        """The reduction in scaled units."""
        return set_scene(self.translation.reduction)

    @cached_property
    def widths(self) -> Widths:
        """Limits that move against each other and penalties that move."""
        return find_widths(self.problem, self.translation.reduction.slacks)

    def events(
        self, begin: Number, stop: Number, states: States | None = None, crowd: int = sys.maxsize
    ) -> Events:
        """Yield what happens between two finite-or-later ends; `begin` must be finite.

        A tie at the beginning that takes more pivots than `crowd` raises `CrowdedError`.
        """
        direction = 1 if stop >= begin else -1
        at: Number = RATIONAL.number(begin)
        while True:
            blocked = self.widths.violated(at)
            steps: Array | Blocked | None = None
            if blocked is None:
                steps = self._start(float(at), states)
                states = None
                if not isinstance(steps, Blocked):
                    yield from self._follow(steps, (at, stop), direction, crowd)
                    return
                blocked = self._proof(steps.steps, steps.dead)
            stretch = self._stretch(blocked, at, stop, direction)
            yield stretch
            if not stretch.obstruction.vanishes_at(stretch.exact[1]):
                return
            at = stretch.exact[1]

    def _start(self, mu: float, states: States | None) -> Array | Blocked:
        return find_start(self.scene, mu) if states is None else self.translation.steps(states)

    def _follow(self, steps: Array, ends: tuple[Number, Number], direction: int, crowd: int) -> Events:
        """Follow the path from a solution to where it ends, and explain what is beyond."""
        at, stop = ends
        edge, wall = self.widths.edge(RATIONAL.number(stop), direction)
        walk = Walk(self.scene.setting, steps, float(at))
        dead: DeadEnd | None = None
        if float(at) == float(edge):
            yield point_on(walk, float(at))
            dead = DeadEnd(float(at), -1, 0) if wall is not None else None
        else:
            moved = False
            tracer = Tracer(walk, direction, self.names)
            for step in tracer.trace(float(at), float(edge), crowd):
                if isinstance(step, DeadEnd):
                    dead = step
                    if not moved:
                        yield point_on(walk, float(at))
                else:
                    moved = moved or isinstance(step, Line)
                    yield step
        if dead is None and wall is None:
            return
        if dead is None or dead.item < 0:
            assert wall is not None
            yield self._stretch(wall, edge, stop, direction)
        elif dead.mu != float(stop):
            proof = self._proof(walk.states, dead)
            root = proof.root
            yield self._stretch(proof, RATIONAL.number(dead.mu) if root is None else root, stop, direction)

    def _proof(self, steps: Array, dead: DeadEnd) -> Obstruction:
        """Return the exact proof behind a dead end."""
        states = self.translation.all_states(steps)
        obstruction = obstruction_of(self.problem, states, self._move(steps, dead))
        if not is_proof(self.problem, obstruction):
            raise _unconfirmed(dead.mu)
        return obstruction

    def _move(self, steps: Array, dead: DeadEnd) -> Move:
        """Return what moves at a dead end in terms of the problem."""
        translation, reduction = self.translation, self.translation.reduction
        step, count = steps[dead.item], len(reduction.variables)
        if dead.item < count:
            j = int(reduction.variables[dead.item])
            row = int(translation.row_of[j])
            if row < 0:
                return Move("x" if PINNED[step] else "z", j, dead.sense)
            sense = -dead.sense if translation.is_turned[j] else dead.sense
            return Move("value" if PINNED[step] else "y", row, sense)
        i = int(reduction.rows[dead.item - count])
        slack = int(translation.slack_of[i])
        if slack >= 0 and step in (BELOW, ABOVE):
            entry = reduction.slacks.entries[np.flatnonzero(reduction.slacks.rows == i)[0]]
            return Move("z", slack, -dead.sense if entry > 0 else dead.sense)
        return Move("value" if PINNED[step] else "y", i, dead.sense)

    def _stretch(self, obstruction: Obstruction, at: Number, stop: Number, direction: int) -> UnsolvablePiece:
        """Return the stretch on which an obstruction holds, from `at` on."""
        begin, end, root = RATIONAL.number(at), RATIONAL.number(stop), obstruction.root
        value = obstruction.value
        course = value[1] * direction
        if root is not None and course > 0 and not _is_before(end, root, direction):
            end = root
        holds = value[0] + begin * value[1] < 0 or (value[0] + begin * value[1] == 0 and course < 0)
        if not holds:
            raise _unconfirmed(FLOAT.number(begin))
        return UnsolvablePiece(FLOAT.number(begin), FLOAT.number(end), (begin, end), obstruction)


def _is_before(mu: Number, other: Number, direction: int) -> bool:
    return mu < other if direction > 0 else mu > other


def _unconfirmed(mu: Number) -> NumericalTroubleError:
    return NumericalTroubleError(
        f"at mu = {shown(mu)} exact arithmetic does not confirm that there is no solution; "
        'use arithmetic="exact"',
        interval=(mu, mu),
    )


@dataclass(frozen=True, eq=False)
class Leg:
    """Lines in ascending order: the steps on the first one, then what changes."""

    first: Array
    lines: tuple[Line, ...]

    def last(self) -> Array:
        """Return the steps on the last line."""
        steps = self.first.copy()
        for line in self.lines[1:]:
            steps[line.changes.items] = line.changes.after
        return steps


def ascending(lines: Sequence[Line]) -> Leg:
    """Return the lines of one trace as a leg; a trace to the left is turned round."""
    assert lines[0].steps is not None
    joined = _joined(lines)
    leg = Leg(lines[0].steps, tuple(joined))
    if joined[-1].end >= joined[0].start:
        return leg
    turned = [
        Line(line.end, line.start, None, _undone(later), line.unknowns, line.values, line.pivots)
        for line, later in zip(joined, [*joined[1:], None], strict=True)
    ]
    return Leg(leg.last(), tuple(reversed(turned)))


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, those without any change since the one before taken together with it."""
    result = [lines[0]]
    for line in lines[1:]:
        if len(line.changes.items):
            result.append(line)
        else:
            result[-1] = replace(result[-1], end=line.end)
    return result


def _undone(line: Line | None) -> Changes:
    if line is None:
        return NO_CHANGES
    return Changes(line.changes.items, line.changes.after, line.changes.before)


def glue(left: Leg, right: Leg) -> Leg:
    """Return two legs that meet at one mu as one; a line that goes on through the seam is one line."""
    here, there = left.last(), right.first
    moved = np.flatnonzero(here != there)
    first = replace(right.lines[0], changes=Changes(moved, here[moved], there[moved]))
    if len(moved):
        return Leg(left.first, (*left.lines, first, *right.lines[1:]))
    through = replace(left.lines[-1], end=first.end)
    return Leg(left.first, (*left.lines[:-1], through, *right.lines[1:]))


def segments_of(leg: Leg, translation: Translation, scene: Scene) -> list[Segment]:
    """Return the optimal segments that share the trail of a leg."""
    trail = _trail(leg, translation, scene)
    problem = translation.reduction.problem
    return [
        Segment(line.start, line.end, "optimal", problem, FLOAT, trail=trail, number=number)
        for number, line in enumerate(leg.lines)
    ]


def _trail(leg: Leg, translation: Translation, scene: Scene) -> Trail:
    """Return the changes and unknowns of all lines, packed and in terms of the problem."""
    changes = [line.changes for line in leg.lines]
    counts = [len(change.items) for change in changes]
    items = np.concatenate([change.items for change in changes]).astype(np.int64)
    steps = np.concatenate([change.after for change in changes]).astype(np.int64)
    shown, codes = translation.states(items, steps)
    weights = 1 + (translation.second[items] >= 0)
    owner = np.repeat(np.arange(len(changes)), counts)
    widths = np.bincount(owner, weights, len(changes)).astype(np.int64)
    unknowns = np.concatenate([line.unknowns for line in leg.lines], dtype=np.int32)
    values = np.concatenate([line.values for line in leg.lines])
    for part in values.T:  # in place: these are the largest arrays of a path
        part *= scene.d[unknowns]
    return Trail(
        translation.reduction.problem,
        translation.complete,
        translation.all_states(leg.first),
        shown.astype(np.int32),
        codes,
        _ends(widths),
        translation.items.astype(np.int32)[unknowns],
        values,
        _ends([len(line.unknowns) for line in leg.lines]),
    )


def _ends(counts: Sequence[int] | Array) -> Array:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
