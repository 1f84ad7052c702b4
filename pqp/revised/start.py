r"""An instance: the limits and caps of a scene at one mu, and what is special there.

Proposal: where the solution of an instance will be about, by moving one item or two at a time.

With limits alone, the item that gains most moves; with one equality as well, items that it couples move in
pairs that keep it, as in sequential minimal optimisation: a first one that pulls hardest, and the second one
with which it gains most,

.. math:: \frac{(G_j - G_i)^2}{2\,(M_{ii}/B_i^2 + M_{jj}/B_j^2 - 2 M_{ij}/(B_i B_j))}, \qquad G_i = g_i / B_i.

What comes out is a proposal and no more: nothing relies on it being right.

Self-start: from an instance whose solution is obvious to the one at a given mu, by the same tracer.

Everything is put on an obvious step: variables at a limit, rows off or at their cap, free variables and
equalities solved for where their matrix allows. If that leaves many items to be moved, a `proposal` says
which steps are better. Where they are not optimal, costs and offsets are shifted so that they are, by amounts
that differ from item to item, and the shift is taken back along θ from 0 to 1. Free variables and equalities
that could not be solved for begin with a cap, or a width, that shrinks to nothing.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_inside
from pqp.linalg.kernels import add_product
from pqp.linalg.structure import Form, frozen
from pqp.linalg.system import System
from pqp.linalg.tolerances import GOAL_REACHED, REFINED, SMALL_PULL, TIE, TRUSTED_PIVOT
from pqp.revised.basis import HI, LO, Setting, Walk
from pqp.revised.inverse import Core, Inverse, enter, solve
from pqp.revised.scaling import Scene
from pqp.revised.states import (
    ABOVE,
    BELOW,
    BETWEEN,
    EQUAL,
    LOWER,
    PINNED,
    UPPER,
    Limits,
    Stairs,
    build_stairs,
)
from pqp.revised.trace import DeadEnd, Tracer

# More variables than this are many.
MANY = 16


def is_pinched(limits: Limits, mu: float) -> Array:
    """Tell which limits just meet at mu: there they count as equal."""
    low, high = at(limits.lower, mu)[:, 0], at(limits.upper, mu)[:, 0]
    with np.errstate(invalid="ignore"):
        width, size = high - low, np.abs(high) + np.abs(low)
    return np.isfinite(size) & ~limits.is_equal & (width <= TIE * size)


def is_idle(limits: Limits, mu: float) -> Array:
    """Tell which caps just vanish at mu: there their limits have no force."""
    size = np.abs(limits.cap[:, 0]) + np.abs(mu * limits.cap[:, 1])
    return np.isfinite(size) & (at(limits.cap, mu)[:, 0] <= TIE * size)


def instance_of(limits: Limits, mu: float, pinched: Array, idle: Array) -> Limits:
    """Return limits and caps at one mu."""
    lower, upper, cap = (at(lines, mu) for lines in (limits.lower, limits.upper, limits.cap))
    upper[pinched] = lower[pinched]
    lower[idle, 0], upper[idle, 0], cap[idle, 0] = -np.inf, np.inf, np.inf
    return Limits(lower, upper, cap, (limits.is_equal | pinched) & ~idle)


def at(lines: Array, mu: float) -> Array:
    """Return lines as constants: their values at mu."""
    result = np.zeros_like(lines)
    result[:, 0] = lines[:, 0] + mu * lines[:, 1]
    return result


def all_limits_meet(scene: Scene, mu: float) -> bool:
    """Tell whether there are many variables and none of them can move at mu."""
    limits, is_row = scene.limits, scene.reduction.is_row
    if np.isinf(mu) or np.count_nonzero(~is_row) <= MANY:
        return False
    return bool(np.all(limits.is_equal | is_row | is_pinched(limits, mu)))


def is_crowded(scene: Scene, mu: float) -> bool:
    """Tell whether the limits of many variables meet at mu, and not all can go where they are pulled beyond.

    That is so if all limits do and an equality would be broken just beside mu: which variables stay behind is
    then decided by a tie of all of them, a problem as large as that of any other mu and far more delicate.
    """
    limits, is_row = scene.limits, scene.reduction.is_row
    strict = is_row & limits.is_equal & np.isinf(limits.cap[:, 0])
    if not np.any(strict) or not all_limits_meet(scene, mu):
        return False
    v = np.where(is_row, 0.0, at(limits.lower, mu)[:, 0])
    g = at(scene.q, mu)[:, 0] + scene.system.times(v[:, None])[:, 0]
    moves = np.where(is_row, 0.0, np.where(g >= 0, limits.lower[:, 1], limits.upper[:, 1]))
    slopes = scene.q[:, 1] + scene.system.times(moves[:, None])[:, 0] - limits.lower[:, 1]
    return bool(np.any(np.abs(slopes[strict]) > TIE * np.abs(moves).sum()))


# Moves at most, for each item: most items move once or twice, and what is left is a matter of few events.
MOVES = 4


class Box(NamedTuple):
    """Between which values every item may move, its curvature, and its entry in the equality, if any."""

    low: Array
    high: Array
    curvature: Array
    row: Array


def propose(system: System, q: Array, limits: Limits, is_row: Array) -> Array | None:
    """Return values v near the solution; None if items are coupled by more than one equality."""
    strict = _strict_row(system, limits, is_row)
    if strict is None:
        return None
    box, target = _box(system, limits, is_row, strict)
    v = np.clip(np.zeros(len(q)), box.low, box.high)
    g = q - target + system.times(v[:, None])[:, 0]
    for item in strict:
        if not _meet(system.form, box, v, g, item):
            return None
    _descend(system.form, box, v, g, MOVES * len(v))
    v[strict] = _multiplier(box, v, g)
    return v


def _strict_row(system: System, limits: Limits, is_row: Array) -> Array | None:
    """Return the one row that is an equality; none if there are no rows, or rows alone, with curvature."""
    rows = np.flatnonzero(is_row & ~limits.is_free)
    if not len(rows) or is_row.all():
        return rows[:0]
    is_strict = limits.is_equal & np.isinf(limits.cap[:, 0]) & (system.diagonal() <= 0)
    return rows if len(rows) == 1 and is_strict[rows[0]] else None


def _box(system: System, limits: Limits, is_row: Array, strict: Array) -> tuple[Box, Array]:
    """Return the box of v and what g is measured from; an item that may bend on the way stays put."""
    lower, upper, cap = limits.lower[:, 0], limits.upper[:, 0], limits.cap[:, 0]
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    rest = np.where(is_row, 0.0, np.clip(0.0, lower, upper))
    is_bent = np.where(is_row, has_lower & has_upper & ~limits.is_equal, np.isfinite(cap))
    low = np.where(is_row, np.where(has_upper, -cap, 0.0), lower)
    high = np.where(is_row, np.where(has_lower, cap, 0.0), upper)
    target = np.where(is_row, np.where(has_lower, lower, np.where(has_upper, upper, 0.0)), 0.0)
    row = np.zeros(system.size)
    for item in strict:
        row = np.where(is_row, 0.0, system.block(np.array([item]), np.arange(system.size))[0])
        is_bent[item] = True
    low, high = np.where(is_bent, rest, low), np.where(is_bent, rest, high)
    return Box(*(frozen(part) for part in (low, high, system.diagonal(), row))), target


@compiled
def _meet(form: Form, box: Box, v: Array, g: Array, row: int) -> bool:
    """Move items, those that cost least first, until the equality is met; tell whether it could be."""
    for _ in range(len(v) + 1):
        missing = abs(g[row])
        if missing <= REFINED * (1.0 + np.abs(v).max()):
            return True
        sense = -1.0 if g[row] > 0.0 else 1.0
        item = _keenest(box, v, g, sense)
        if item < 0:
            return False
        _put(v, g, item, _moved(box, v, item, sense, missing), _column(form, item, len(v)))
    return False


@compiled
def _descend(form: Form, box: Box, v: Array, g: Array, most: int) -> None:
    """Move one item, or two along the equality, where that gains most, while it is worth it."""
    first, size = 0.0, len(v)
    for count in range(most):
        alone, gain_alone, pull_alone = _best_alone(box, v, g)
        i = _keenest(box, v, g, 1.0)
        column = _column(form, i, size) if i >= 0 else g
        j, gain, pull = _best_partner(box, v, g, i, column)
        pull = max(pull, pull_alone)
        first = pull if count == 0 else first
        if pull <= SMALL_PULL * first:
            return
        if gain_alone > gain:
            value = v[alone] - g[alone] / box.curvature[alone]
            value = min(max(value, box.low[alone]), box.high[alone])
            _put(v, g, alone, value, _column(form, alone, size))
        else:
            by = _length(box, v, g, i, j, column)
            _put(v, g, i, _moved(box, v, i, 1.0, by), column)
            _put(v, g, j, _moved(box, v, j, -1.0, by), _column(form, j, size))


@compiled_inside
def _column(form: Form, item: int, size: int) -> Array:
    """Return one column of M."""
    result = np.zeros(size)
    add_product(form, np.full(1, item), np.ones(1), result)
    return result


@compiled_inside
def _put(v: Array, g: Array, item: int, value: float, column: Array) -> None:
    """Put an item at a value, and let g follow."""
    by = value - v[item]
    for k in range(len(g)):
        g[k] += by * column[k]
    v[item] = value


@compiled_inside
def _room(box: Box, v: Array, item: int, sense: float) -> float:
    """Return how far an item can raise the value of the equality, or lower it."""
    limit = box.high[item] if box.row[item] * sense > 0.0 else box.low[item]
    return (limit - v[item]) * box.row[item] * sense


@compiled_inside
def _moved(box: Box, v: Array, item: int, sense: float, by: float) -> float:
    """Return the v with which an item raises the value of the equality, or lowers it, as far as it can."""
    if by < _room(box, v, item, sense):
        return v[item] + sense * by / box.row[item]
    return box.high[item] if box.row[item] * sense > 0.0 else box.low[item]


@compiled_inside
def _keenest(box: Box, v: Array, g: Array, sense: float) -> int:
    """Return the item that gains most by raising the value of the equality a little, or lowering it."""
    low, high, row, best, least = box.low, box.high, box.row, -1, np.inf
    for k in range(len(v)):
        along = sense * row[k]
        can_move = (along > 0.0 and v[k] < high[k]) or (along < 0.0 and v[k] > low[k])
        if can_move and g[k] / along < least:
            best, least = k, g[k] / along
    return best


@compiled_inside
def _best_alone(box: Box, v: Array, g: Array) -> tuple[int, float, float]:
    """Return the item that gains most by a move of its own, how much, and the hardest pull of all."""
    low, high, curvature, row = box
    best, most, hardest = -1, 0.0, 0.0
    for k in range(len(v)):
        if row[k] == 0.0:
            pull, room = abs(g[k]), v[k] - low[k] if g[k] > 0.0 else high[k] - v[k]
            gain = pull * min(pull / curvature[k], room)
            # what curves nowhere, and has no limit in this direction, has no best place
            if room > 0.0 and pull > 0.0 and gain < np.inf:
                hardest = max(hardest, pull)
                if gain > most:
                    best, most = k, gain
    return best, most, hardest


@compiled_inside
def _best_partner(box: Box, v: Array, g: Array, first: int, column: Array) -> tuple[int, float, float]:
    """Return the item that gains most together with the first one, how much, and the hardest pull of all."""
    low, high, curvature, row = box
    best, most, hardest = -1, 0.0, 0.0
    if first < 0:
        return best, most, hardest
    own, least = curvature[first] / row[first] ** 2, g[first] / row[first]
    for k in range(len(v)):
        if (row[k] > 0.0 and v[k] > low[k]) or (row[k] < 0.0 and v[k] < high[k]):
            pull, terms = g[k] / row[k] - least, own + curvature[k] / row[k] ** 2
            bend = max(terms - 2.0 * column[k] / (row[first] * row[k]), REFINED * terms)
            hardest = max(hardest, pull)
            if pull > 0.0 and pull * pull > most * bend:
                best, most = k, pull * pull / bend
    return best, most, hardest


@compiled_inside
def _length(box: Box, v: Array, g: Array, i: int, j: int, column: Array) -> float:
    """Return how far a pair moves: to where it gains most, or to the first limit."""
    row, curvature = box.row, box.curvature
    terms = curvature[i] / row[i] ** 2 + curvature[j] / row[j] ** 2
    bend = max(terms - 2.0 * column[j] / (row[i] * row[j]), REFINED * terms)
    return min((g[j] / row[j] - g[i] / row[i]) / bend, _room(box, v, i, 1.0), _room(box, v, j, -1.0))


@compiled
def _multiplier(box: Box, v: Array, g: Array) -> float:
    """Return the multiplier of the equality, between those of items that can raise and that can lower it."""
    up, down = _keenest(box, v, g, 1.0), _keenest(box, v, g, -1.0)
    if up < 0 or down < 0:
        only = max(up, down)
        return 0.0 if only < 0 else g[only] / box.row[only]
    return (g[up] / box.row[up] + g[down] / box.row[down]) / 2.0


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
        if isinstance(step, DeadEnd) and step.mu < 1.0 - GOAL_REACHED:
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
