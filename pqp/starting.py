r"""Self-start: from an instance whose solution is obvious to the one at a given mu, by the same tracer.

Everything is put on an obvious step: variables at a limit, rows off or at their cap, free variables and
equalities solved for where their matrix allows. If that leaves many items to be moved, a `proposal` says
which steps are better. Where they are not optimal, costs and offsets are shifted so that they are, by amounts
that differ from item to item, and the shift is taken back along θ from 0 to 1. Free variables and equalities
that could not be solved for begin with a cap, or a width, that shrinks to nothing.

Room: a scene and a mu in; steps that are optimal there, or a dead end that proves there are none, out.
May touch: `field`, `stairs`, `inverse`, `forms`, `walk`, `revised`, `equilibration`,
`instance`, `proposal`.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pqp.equilibration import Scene
from pqp.field import ARRIVED, TIE, TRUSTED_PIVOT, Array
from pqp.forms import compiled
from pqp.instance import at, instance_of, is_idle, is_pinched
from pqp.inverse import Core, Inverse, enter, solve
from pqp.proposal import propose
from pqp.revised import DeadEnd, Tracer
from pqp.stairs import ABOVE, BELOW, BETWEEN, EQUAL, LOWER, PINNED, UPPER, Limits, Stairs, build_stairs
from pqp.walk import HI, LO, Setting, Walk

# Shifts are spread by the multiples of this number, which are never close to one another.
GOLDEN = (5**0.5 - 1) / 2
# A start from which no more items have to be moved is not worth improving.
FEW = 64
# If more than this part of all items would have to be rounded, what is left of a proposal is not worth much.
ROUNDED = 0.1


@dataclass(frozen=True, eq=False)
class Blocked:
    """The way to the instance ends before it is reached: it has no solution; `steps` are those of the end."""

    steps: Array
    dead: DeadEnd


def find_start(scene: Scene, mu: float) -> Array | Blocked:
    """Return steps that are optimal at mu, or those from which no way leads there."""
    opening = _Opening(scene, mu)
    walk = opening.walk(opening.guess())
    if opening.is_far(walk):
        walk = opening.improved(walk)
    if opening.is_optimal(walk):
        return opening.restored(walk)
    homotopy, relaxed = opening.homotopy(walk)
    walk = Walk(homotopy, relaxed)
    for step in Tracer(walk, 1, tells_lines=False).trace(0.0, 1.0):
        if isinstance(step, DeadEnd) and step.mu < 1.0 - ARRIVED:
            return Blocked(opening.restored(walk), step)
    return opening.restored(walk)


def is_obvious(scene: Scene, mu: float) -> bool:
    """Tell whether the obvious steps are optimal at mu, so that a start there costs nothing."""
    opening = _Opening(scene, mu)
    return opening.is_optimal(opening.walk(opening.guess()))


class _Opening:
    """The instance at one mu and where its items begin."""

    def __init__(self, scene: Scene, mu: float) -> None:
        self.scene = scene
        self.mu = mu
        self.pinched = is_pinched(scene.limits, mu)
        self.idle = is_idle(scene.limits, mu)
        self.limits = instance_of(scene.limits, mu, self.pinched, self.idle)
        low, high = at(scene.limits.lower, mu)[:, 0], at(scene.limits.upper, mu)[:, 0]
        # where a free variable that nothing determines rests: at a limit without force if it has one
        self.rest = np.where(self.idle, np.where(np.isfinite(low), low, high), 0.0)
        self.q = at(scene.q, mu)
        self.is_row = scene.reduction.is_row
        self.loose = np.zeros(len(scene.limits), dtype=bool)
        # what added to q makes a proposal solve for its unknowns
        self.pull = np.zeros(len(scene.limits))

    @cached_property
    def stairs(self) -> Stairs:
        """The staircases of the instance."""
        stairs = build_stairs(self.limits)
        stairs.held[EQUAL, self.idle, 0] = self.rest[self.idle]
        return stairs

    @cached_property
    def wanted(self) -> Array:
        """Which items are to be solved for if their matrix allows: free variables and equalities."""
        limits, is_row, hard = self.limits, self.is_row, np.isinf(self.limits.cap[:, 0])
        return np.where(is_row, limits.is_equal & hard, limits.is_free)

    def guess(self) -> Array:
        """Return obvious steps: no item but free variables and equalities is solved for."""
        limits, is_row, wanted = self.limits, self.is_row, self.wanted
        at_limit = np.where(limits.is_equal, EQUAL, np.where(np.isfinite(limits.lower[:, 0]), LOWER, UPPER))
        steps = np.where(is_row | limits.is_free, BETWEEN, at_limit)
        left = wanted & ~self._is_solvable(wanted)
        steps[wanted & ~left & is_row] = EQUAL
        return self._with_caps(self._loosened(steps, left))

    def _loosened(self, steps: Array, left: Array) -> Array:
        """Return the steps with what could not be solved for at rest, and note that it is loose."""
        self.loose = left & self.wanted
        return np.where(self.loose, np.where(self.is_row, BETWEEN, EQUAL), steps).astype(np.int8)

    def _is_solvable(self, wanted: Array) -> Array:
        """Tell which of the wanted items can be solved for together, found one by one.

        A variable that does not curve beside others may do so beside a row, so all are looked at twice.
        """
        system, items = self.scene.system, np.flatnonzero(wanted)
        S, inverse = system.signs[items, None] * system.block(items, items), Inverse(len(items), len(items))
        _enter_all(inverse.core, S, system.signs[items])
        if self.is_row[items].any():
            _enter_all(inverse.core, S, system.signs[items])
        result = np.zeros(len(wanted), dtype=bool)
        result[items[inverse.items]] = True
        return result

    def is_far(self, walk: Walk) -> bool:
        """Tell whether many items are beyond an end, or at it, so that they would have to be moved."""
        gaps = walk.gaps()[:, :, 0].min(axis=0)
        return int(np.count_nonzero(gaps <= TIE * self._margin(walk))) > FEW

    def improved(self, walk: Walk) -> Walk:
        """Return a walk on the steps that are proposed; the same one if they are not worth it."""
        v = propose(self.scene.system, self.q[:, 0], self.limits, self.is_row)
        if v is None:
            return walk
        steps, left = self._steps_at(v)
        if np.count_nonzero(left) > ROUNDED * len(v):
            return walk
        steps = self._loosened(steps, left)
        unknown, held = PINNED[steps] == self.is_row, self.stairs.held[steps, np.arange(len(v)), 0]
        g = self.q[:, 0] + self.scene.system.times(np.where(unknown, v, held)[:, None])[:, 0]
        self.pull = np.where(unknown, held - g, 0.0)
        return self.walk(steps)

    def _steps_at(self, v: Array) -> tuple[Array, Array]:
        """Return the steps to which values v belong, what cannot be solved for rounded, and which that is."""
        limits, is_row = self.limits, self.is_row
        low, high, cap = limits.lower[:, 0], limits.upper[:, 0], limits.cap[:, 0]
        off, full = np.where(v > 0, BELOW, ABOVE), np.abs(v) >= cap
        held = np.where(limits.is_equal, EQUAL, np.where(v > 0, LOWER, UPPER))
        row = np.where(full, off, np.where((v == 0) & ~limits.is_equal, BETWEEN, held))
        inside = np.where(v <= low, LOWER, np.where(v >= high, UPPER, BETWEEN))
        steps = np.where(is_row, row, np.where(limits.is_equal, EQUAL, inside))
        unknown = PINNED[steps] == is_row
        left = unknown & ~self._is_solvable(unknown)
        row = np.where((2 * np.abs(v) < cap) & ~limits.is_equal, BETWEEN, off)
        nearest = np.where(is_row, row, np.where(v - low <= high - v, LOWER, UPPER))
        return np.where(left, nearest, steps), left

    def _with_caps(self, steps: Array) -> Array:
        """Return the steps with soft rows that are violated moved to their cap."""
        soft = self.is_row & np.isfinite(self.limits.cap[:, 0])
        if not np.any(soft):
            return steps
        value = self.walk(steps).g[:, 0]
        steps[soft & (value < self.limits.lower[:, 0])] = BELOW
        steps[soft & (value > self.limits.upper[:, 0])] = ABOVE
        steps[soft & self.limits.is_equal & (steps == BETWEEN)] = BELOW
        return steps

    def walk(self, steps: Array) -> Walk:
        """Return a walk at the instance."""
        return Walk(Setting(self.scene.system, self.q, self.stairs, self.is_row), steps)

    def is_optimal(self, walk: Walk) -> bool:
        """Tell whether the steps of a walk are optimal already."""
        size = float(np.abs(walk.v[:, 0]).max(initial=0.0)) + np.abs(walk.g[:, 0])
        return not np.any(self.loose) and bool(np.all(walk.gaps()[:, :, 0] >= -TIE * size))

    def homotopy(self, walk: Walk) -> tuple[Setting, Array]:
        """Return the deformed family in θ, and the steps that solve it at θ = 0.

        Unknowns of a proposal begin where it has them, within their limits.
        """
        if np.any(self.pull):
            q = self.q + np.column_stack([self.pull, np.zeros(len(self.pull))])
            walk = Walk(replace(walk.setting, q=q), walk.states)
        limits, shift = self._relaxed(walk), self._shift(walk) + self.pull
        q = self.q + np.column_stack([shift, -shift])
        steps = walk.states.copy()
        return Setting(self.scene.system, q, build_stairs(limits), self.is_row), steps

    def _margin(self, walk: Walk) -> Array:
        """Return how far an item is to be from its end: about the size of the numbers, all different."""
        size = 1.0 + float(np.abs(walk.v[:, 0]).max(initial=0.0))
        return size * (1.0 + np.modf(GOLDEN * np.arange(1, len(walk.states) + 1))[0])

    def _shift(self, walk: Walk) -> Array:
        """Return what added to q puts every item that is beyond an end, or at it, inside its range."""
        gaps, margin = walk.gaps()[:, :, 0], self._margin(walk)
        width, near = gaps[LO] + gaps[HI], TIE * margin
        inset = np.minimum(margin, width / 2)
        shift = np.where(
            gaps[LO] <= near, inset - gaps[LO], np.where(gaps[HI] <= near, gaps[HI] - inset, 0.0)
        )
        shift[walk.inverse.items] = 0.0
        shift[self.loose] = 0.0
        return shift

    def _relaxed(self, walk: Walk) -> Limits:
        """Return limits in which loose variables have a cap, and loose rows a width, that shrinks to 0."""
        limits, is_row = self.limits, self.is_row
        away = np.maximum(-walk.gaps()[:, :, 0].min(axis=0), 0.0)
        room = np.where(self.loose, away + self._margin(walk), 0.0)
        shrinking = np.column_stack([room, -room])
        lower, upper, cap = limits.lower.copy(), limits.upper.copy(), limits.cap.copy()
        variables, rows = self.loose & ~is_row, self.loose & is_row
        rest = np.column_stack([self.rest, np.zeros(len(limits))])
        lower[variables], upper[variables], cap[variables] = (
            rest[variables],
            rest[variables],
            shrinking[variables],
        )
        lower[rows], upper[rows] = lower[rows] - shrinking[rows], upper[rows] + shrinking[rows]
        return Limits(lower, upper, cap, (limits.is_equal & ~rows) | variables)

    def restored(self, walk: Walk) -> Array:
        """Return the steps at θ = 1 in terms of the instance: caps and widths have shrunk to nothing."""
        walk.move_to(1.0)
        steps, result = walk.states, walk.states.copy()
        variables, rows = self.loose & ~self.is_row, self.loose & self.is_row
        result[variables & ((steps == BELOW) | (steps == ABOVE))] = BETWEEN
        result[rows & ((steps == LOWER) | (steps == UPPER))] = EQUAL
        pulled_up = walk.multipliers()[:, 0] >= 0
        result = np.where(self.pinched & (result == EQUAL), np.where(pulled_up, LOWER, UPPER), result)
        return np.where(self.idle, self._idle_steps(walk, result), result).astype(np.int8)

    def _idle_steps(self, walk: Walk, steps: Array) -> Array:
        """Return the steps that the values of items without force are on."""
        limits = self.scene.limits
        values = np.where(self.is_row, walk.g[:, 0], walk.v[:, 0])
        low, high = at(limits.lower, self.mu)[:, 0], at(limits.upper, self.mu)[:, 0]
        middle = np.where(limits.is_equal, BELOW, BETWEEN)
        found = np.where(values < low, BELOW, np.where(values > high, ABOVE, middle))
        at_limit = np.where(limits.is_equal, EQUAL, np.where(np.isfinite(low), LOWER, UPPER))
        return np.where(steps == EQUAL, at_limit, found)


@compiled
def _enter_all(core: Core, S: Array, signs: Array) -> None:
    """Let items whose pivots can be trusted enter an inverse, one by one."""
    for k in range(len(S)):
        if core.place[k] >= 0:
            continue
        column, schur, top, width = S[core.items[: core.used[0]], k], S[k, k], 0.0, 0.0
        solved = solve(core, column)
        for i in range(len(column)):
            schur -= column[i] * solved[i]
            top, width = max(top, abs(column[i])), max(width, abs(solved[i]))
        if schur * signs[k] > TRUSTED_PIVOT * (abs(S[k, k]) + top * width):
            enter(core, k, solved, schur)
