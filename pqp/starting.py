r"""Self-start: from an instance whose solution is obvious to the one at a given mu, by the same tracer.

Everything is put on an obvious step: variables at a limit, rows off or at their cap, free variables and
equalities solved for where their matrix allows. Where that is not optimal, costs and offsets are shifted so
that it is, by amounts that differ from item to item, and the shift is taken back along θ from 0 to 1. Free
variables and equalities that could not be solved for begin with a cap, or a width, that shrinks to nothing.

Room: a scene and a mu in; steps that are optimal there, or a dead end that proves there are none, out.
May touch: `field`, `stairs`, `inverse`, `walk`, `revised`, `equilibration`.
"""

from dataclasses import dataclass

import numpy as np

from pqp.equilibration import Scene
from pqp.field import ARRIVED, TIE, TRUSTED_PIVOT, Array
from pqp.inverse import Inverse
from pqp.revised import DeadEnd, Tracer
from pqp.stairs import ABOVE, BELOW, BETWEEN, EQUAL, LOWER, UPPER, Limits, build_stairs
from pqp.walk import HI, LO, Setting, Walk

# Shifts are spread by the multiples of this number, which are never close to one another.
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Blocked:
    """The way to the instance ends before it is reached: it has no solution; `steps` are those of the end."""

    steps: Array
    dead: DeadEnd


def find_start(scene: Scene, mu: float) -> Array | Blocked:
    """Return steps that are optimal at mu, or those from which no way leads there."""
    opening = _Opening(scene, mu)
    steps = opening.guess()
    walk = opening.walk(steps)
    if opening.is_optimal(walk):
        return opening.restored(walk)
    homotopy, relaxed = opening.homotopy(walk)
    walk = Walk(homotopy, relaxed)
    for step in Tracer(walk, 1).trace(0.0, 1.0):
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
        self.pinched = _is_pinched(scene.limits, mu)
        self.idle = _is_idle(scene.limits, mu)
        self.limits = _instance(scene.limits, mu, self.pinched, self.idle)
        low, high = _at(scene.limits.lower, mu)[:, 0], _at(scene.limits.upper, mu)[:, 0]
        # where a free variable that nothing determines rests: at a limit without force if it has one
        self.rest = np.where(self.idle, np.where(np.isfinite(low), low, high), 0.0)
        self.q = _at(scene.q, mu)
        self.is_row = scene.reduction.is_row
        self.loose = np.zeros(len(scene.limits), dtype=bool)

    def guess(self) -> Array:
        """Return obvious steps: no item but free variables and equalities is solved for."""
        limits, is_row = self.limits, self.is_row
        has_lower, hard = np.isfinite(limits.lower[:, 0]), np.isinf(limits.cap[:, 0])
        at_limit = np.where(limits.is_equal, EQUAL, np.where(has_lower, LOWER, UPPER))
        steps = np.where(is_row | limits.is_free, BETWEEN, at_limit)
        wanted = (~is_row & limits.is_free) | (is_row & limits.is_equal & hard)
        entered = self._solvable(np.flatnonzero(wanted))
        steps[entered[is_row[entered]]] = EQUAL
        self.loose = wanted.copy()
        self.loose[entered] = False
        steps[self.loose & ~is_row] = EQUAL
        return self._with_caps(steps.astype(np.int8))

    def _solvable(self, candidates: Array) -> Array:
        """Return candidates that can be solved for together, found one by one."""
        system, inverse = self.scene.system, Inverse(self.scene.system.size)
        signs, diagonal = system.signs, system.diagonal()
        for item in candidates:
            R = inverse.items
            column = signs[R] * system.block(R, np.array([item]))[:, 0]
            solved, schur = inverse.reach(column, float(signs[item] * diagonal[item]))
            size = abs(diagonal[item]) + np.abs(column).max(initial=0.0) * np.abs(solved).max(initial=0.0)
            if schur * signs[item] > TRUSTED_PIVOT * size:
                inverse.enter(int(item), solved, schur)
        return np.sort(inverse.items)

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
        stairs = build_stairs(self.limits)
        stairs.held[EQUAL, self.idle, 0] = self.rest[self.idle]
        return Walk(Setting(self.scene.system, self.q, stairs, self.is_row), steps)

    def is_optimal(self, walk: Walk) -> bool:
        """Tell whether the obvious steps are optimal already."""
        size = float(np.abs(walk.v[:, 0]).max(initial=0.0)) + np.abs(walk.g[:, 0])
        return not np.any(self.loose) and bool(np.all(walk.gaps()[:, :, 0] >= -TIE * size))

    def homotopy(self, walk: Walk) -> tuple[Setting, Array]:
        """Return the deformed family in θ, and the steps that solve it at θ = 0."""
        limits, shift = self._relaxed(walk), self._shift(walk)
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
        low, high = _at(limits.lower, self.mu)[:, 0], _at(limits.upper, self.mu)[:, 0]
        middle = np.where(limits.is_equal, BELOW, BETWEEN)
        found = np.where(values < low, BELOW, np.where(values > high, ABOVE, middle))
        at_limit = np.where(limits.is_equal, EQUAL, np.where(np.isfinite(low), LOWER, UPPER))
        return np.where(steps == EQUAL, at_limit, found)


def _is_pinched(limits: Limits, mu: float) -> Array:
    """Tell which limits just meet at mu: there they count as equal."""
    low, high = _at(limits.lower, mu)[:, 0], _at(limits.upper, mu)[:, 0]
    with np.errstate(invalid="ignore"):
        width, size = high - low, np.abs(high) + np.abs(low)
    return np.isfinite(size) & ~limits.is_equal & (width <= TIE * size)


def _is_idle(limits: Limits, mu: float) -> Array:
    """Tell which caps just vanish at mu: there their limits have no force."""
    size = np.abs(limits.cap[:, 0]) + np.abs(mu * limits.cap[:, 1])
    return np.isfinite(size) & (_at(limits.cap, mu)[:, 0] <= TIE * size)


def _instance(limits: Limits, mu: float, pinched: Array, idle: Array) -> Limits:
    """Return limits and caps at one mu."""
    lower, upper, cap = (_at(lines, mu) for lines in (limits.lower, limits.upper, limits.cap))
    upper[pinched] = lower[pinched]
    lower[idle, 0], upper[idle, 0], cap[idle, 0] = -np.inf, np.inf, np.inf
    return Limits(lower, upper, cap, (limits.is_equal | pinched) & ~idle)


def _at(lines: Array, mu: float) -> Array:
    """Return lines as constants: their values at mu."""
    result = np.zeros_like(lines)
    result[:, 0] = lines[:, 0] + mu * lines[:, 1]
    return result
