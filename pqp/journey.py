"""Journeys of the revised engine: from one end of an interval to the other, unsolvable stretches included.

Start at the first end. If there is no solution, go on where the proof of that ends, and so on; from the
first solution on follow the path. The mu with a solution form an interval, so once it ends all is said.

Room: a problem and two ends in; lines, stretches and pivots out, in the order of the trace.
May touch: `errors`, `field`, `problem`, `log`, `reading`, `segment`, `tableau` (its records), `stairs`,
`walk`, `revised`, `reduction`, `translation`, `equilibration`, `starting`, `deadends`.
"""

import sys
from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pqp.compact import States
from pqp.deadends import Move, is_proof, obstruction_of
from pqp.equilibration import Scene, set_scene
from pqp.errors import NumericalTroubleError
from pqp.field import FLOAT, RATIONAL, Array, Number, shown
from pqp.log import Crossing, Pivot
from pqp.problem import ParametricQP
from pqp.reading import Obstruction
from pqp.reduction import reduce_problem
from pqp.revised import DeadEnd, Line, Tracer, point_on
from pqp.stairs import ABOVE, BELOW, PINNED
from pqp.starting import Blocked, find_start
from pqp.tableau import Stretch
from pqp.translation import Translation
from pqp.walk import Walk
from pqp.widths import Widths, find_widths

Event = Line | Stretch | Pivot | Crossing
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
            root = _root(proof)
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

    def _stretch(self, obstruction: Obstruction, at: Number, stop: Number, direction: int) -> Stretch:
        """Return the stretch on which an obstruction holds, from `at` on."""
        begin, end, root = RATIONAL.number(at), RATIONAL.number(stop), _root(obstruction)
        value = obstruction.value
        course = value[1] * direction
        if root is not None and course > 0 and not _is_before(end, root, direction):
            end = root
        holds = value[0] + begin * value[1] < 0 or (value[0] + begin * value[1] == 0 and course < 0)
        if not holds:
            raise _unconfirmed(FLOAT.number(begin))
        return Stretch(FLOAT.number(begin), FLOAT.number(end), (begin, end), obstruction)


def _root(obstruction: Obstruction) -> Number | None:
    constant, slope = obstruction.value
    return -constant / slope if slope else None


def _is_before(mu: Number, other: Number, direction: int) -> bool:
    return mu < other if direction > 0 else mu > other


def _unconfirmed(mu: Number) -> NumericalTroubleError:
    return NumericalTroubleError(
        f"at mu = {shown(mu)} exact arithmetic does not confirm that there is no solution; "
        'use arithmetic="exact"',
        interval=(mu, mu),
    )
