r"""Phase 1: an optimal basis at one mu, by a homotopy from a problem whose solution is trivial.

Every item gets a trivial state: variables at a bound, rows inactive or at their cap, free variables and
equalities solved for where their matrix allows. If that leaves many items to be moved, coordinate descent
proposes better states. Where the states are not optimal, costs and offsets are shifted so that they are, by
amounts that differ from item to item, and the shift is taken back along θ from 0 to 1 by the same tracer.
Free variables and equalities that could not be solved for get an artificial cap, or width, that shrinks to 0.

The proposal moves the item that gains most. With one equality, items that it couples move in pairs that keep
it, as in sequential minimal optimisation: the steepest one, and the one with which it gains most,

.. math:: \frac{(G_j - G_i)^2}{2\,(M_{ii}/B_i^2 + M_{jj}/B_j^2 - 2 M_{ij}/(B_i B_j))}, \qquad G_i = g_i / B_i.

Nothing relies on the proposal being right.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_inside
from pqp.linalg.products import add_product
from pqp.linalg.structure import Form, frozen
from pqp.linalg.system import System
from pqp.linalg.tolerances import GOAL_REACHED, REFINED, SMALL_PULL, TIE, TRUSTED_PIVOT
from pqp.revised.basis import HI, LO, MixedLCP, WorkingBasis
from pqp.revised.inverse import Inverse, InverseArrays, enter, solve
from pqp.revised.scaling import ScaledProblem
from pqp.revised.states import (
    ABOVE,
    BELOW,
    BETWEEN,
    EQUAL,
    LOWER,
    UPPER,
    VALUE_FIXED,
    Bounds,
    StateTable,
    build_state_table,
)
from pqp.revised.trace import EventTracer, UnblockedRay

# With more variables than this, a tie of all of them is worth avoiding.
MANY_VARIABLES = 16


def is_coinciding(bounds: Bounds, mu: float) -> Array:
    """Return which bounds coincide at mu without being equal: there they count as equal."""
    low, high = constants_at(bounds.lower, mu)[:, 0], constants_at(bounds.upper, mu)[:, 0]
    with np.errstate(invalid="ignore"):
        width, size = high - low, np.abs(high) + np.abs(low)
    return np.isfinite(size) & ~bounds.is_equal & (width <= TIE * size)


def is_cap_zero(bounds: Bounds, mu: float) -> Array:
    """Return which caps vanish at mu: there their bounds have no force."""
    size = np.abs(bounds.cap[:, 0]) + np.abs(mu * bounds.cap[:, 1])
    return np.isfinite(size) & (constants_at(bounds.cap, mu)[:, 0] <= TIE * size)


def bounds_at(bounds: Bounds, mu: float, coinciding: Array, cap_zero: Array) -> Bounds:
    """Return bounds and caps at one mu."""
    lower, upper, cap = (constants_at(lines, mu) for lines in (bounds.lower, bounds.upper, bounds.cap))
    upper[coinciding] = lower[coinciding]
    # A violation that costs nothing is no violation: such items are free at this mu.
    lower[cap_zero, 0], upper[cap_zero, 0], cap[cap_zero, 0] = -np.inf, np.inf, np.inf
    return Bounds(lower, upper, cap, (bounds.is_equal | coinciding) & ~cap_zero)


def constants_at(lines: Array, mu: float) -> Array:
    """Return affine functions as constants: their values at mu."""
    result = np.zeros_like(lines)
    result[:, 0] = lines[:, 0] + mu * lines[:, 1]
    return result


def all_bounds_coincide(scaled: ScaledProblem, mu: float) -> bool:
    """Return whether there are many variables and none of them can move at mu."""
    bounds, is_row = scaled.bounds, scaled.reduced.is_row
    if np.isinf(mu) or np.count_nonzero(~is_row) <= MANY_VARIABLES:
        return False
    return bool(np.all(bounds.is_equal | is_row | is_coinciding(bounds, mu)))


def begins_in_large_tie(scaled: ScaledProblem, mu: float) -> bool:
    """Return whether the bounds of many variables coincide at mu and an equality is broken beyond.

    Which variables stay at their bound is then decided by a tie of all of them, a problem as large as that of
    any other mu and more sensitive to rounding errors.
    """
    bounds, is_row = scaled.bounds, scaled.reduced.is_row
    strict = is_row & bounds.is_equal & np.isinf(bounds.cap[:, 0])
    if not np.any(strict) or not all_bounds_coincide(scaled, mu):
        return False
    v = np.where(is_row, 0.0, constants_at(bounds.lower, mu)[:, 0])
    g = constants_at(scaled.q, mu)[:, 0] + scaled.system.times(v[:, None])[:, 0]
    moves = np.where(is_row, 0.0, np.where(g >= 0, bounds.lower[:, 1], bounds.upper[:, 1]))
    slopes = scaled.q[:, 1] + scaled.system.times(moves[:, None])[:, 0] - bounds.lower[:, 1]
    return bool(np.any(np.abs(slopes[strict]) > TIE * np.abs(moves).sum()))


# Most moves per item: most items move once or twice, and a few events do the rest.
MOVES_PER_ITEM = 4


class Box(NamedTuple):
    """The range of every item, its curvature, and its entry in the equality, if any."""

    low: Array
    high: Array
    curvature: Array
    row: Array


def propose(system: System, q: Array, bounds: Bounds, is_row: Array) -> Array | None:
    """Return values v near the solution; None if items are coupled by more than one equality."""
    strict = _strict_row(system, bounds, is_row)
    if strict is None:
        return None
    box, target = _box(system, bounds, is_row, strict)
    v = np.clip(np.zeros(len(q)), box.low, box.high)
    g = q - target + system.times(v[:, None])[:, 0]
    for item in strict:
        if not _meet(system.form, box, v, g, item):
            return None
    _descend(system.form, box, v, g, MOVES_PER_ITEM * len(v))
    v[strict] = _multiplier(box, v, g)
    return v


def _strict_row(system: System, bounds: Bounds, is_row: Array) -> Array | None:
    """Return the one row that is an equality; none if there are no rows, or rows alone, with curvature."""
    rows = np.flatnonzero(is_row & ~bounds.is_free)
    if not len(rows) or is_row.all():
        return rows[:0]
    is_strict = bounds.is_equal & np.isinf(bounds.cap[:, 0]) & (system.diagonal() <= 0)
    return rows if len(rows) == 1 and is_strict[rows[0]] else None


def _box(system: System, bounds: Bounds, is_row: Array, strict: Array) -> tuple[Box, Array]:
    """Return the box of v and the origin of g; items with a kink inside their range are not moved."""
    lower, upper, cap = bounds.lower[:, 0], bounds.upper[:, 0], bounds.cap[:, 0]
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    rest = np.where(is_row, 0.0, np.clip(0.0, lower, upper))
    is_bent = np.where(is_row, has_lower & has_upper & ~bounds.is_equal, np.isfinite(cap))
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
    """Move items, those that cost least first, until the equality holds; return whether it does."""
    for _ in range(len(v) + 1):
        missing = abs(g[row])
        if missing <= REFINED * (1.0 + np.abs(v).max()):
            return True
        sense = -1.0 if g[row] > 0.0 else 1.0
        item = _steepest(box, v, g, sense)
        if item < 0:
            return False
        _set_value(v, g, item, _moved(box, v, item, sense, missing), _column(form, item, len(v)))
    return False


@compiled
def _descend(form: Form, box: Box, v: Array, g: Array, most: int) -> None:
    """Move one item, or two along the equality, where that gains most, until little is gained."""
    first, size = 0.0, len(v)
    for count in range(most):
        alone, gain_alone, pull_alone = _best_alone(box, v, g)
        i = _steepest(box, v, g, 1.0)
        column = _column(form, i, size) if i >= 0 else g
        j, gain, descent = _best_partner(box, v, g, i, column)
        descent = max(descent, pull_alone)
        first = descent if count == 0 else first
        if descent <= SMALL_PULL * first:
            return
        if gain_alone > gain:
            value = v[alone] - g[alone] / box.curvature[alone]
            value = min(max(value, box.low[alone]), box.high[alone])
            _set_value(v, g, alone, value, _column(form, alone, size))
        else:
            by = _length(box, v, g, i, j, column)
            _set_value(v, g, i, _moved(box, v, i, 1.0, by), column)
            _set_value(v, g, j, _moved(box, v, j, -1.0, by), _column(form, j, size))


@compiled_inside
def _column(form: Form, item: int, size: int) -> Array:
    """Return one column of M."""
    result = np.zeros(size)
    add_product(form, np.full(1, item), np.ones(1), result)
    return result


@compiled_inside
def _set_value(v: Array, g: Array, item: int, value: float, column: Array) -> None:
    """Set v of an item, and update g."""
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
    """Return the v with which an item changes the value of the equality, as far as it can."""
    if by < _room(box, v, item, sense):
        return v[item] + sense * by / box.row[item]
    return box.high[item] if box.row[item] * sense > 0.0 else box.low[item]


@compiled_inside
def _steepest(box: Box, v: Array, g: Array, sense: float) -> int:
    """Return the item that gains most per change of the value of the equality in one direction."""
    low, high, row, best, least = box.low, box.high, box.row, -1, np.inf
    for k in range(len(v)):
        along = sense * row[k]
        can_move = (along > 0.0 and v[k] < high[k]) or (along < 0.0 and v[k] > low[k])
        if can_move and g[k] / along < least:
            best, least = k, g[k] / along
    return best


@compiled_inside
def _best_alone(box: Box, v: Array, g: Array) -> tuple[int, float, float]:
    """Return the item that gains most by a move of its own, its gain, and the largest descent."""
    low, high, curvature, row = box
    best, most, largest = -1, 0.0, 0.0
    for k in range(len(v)):
        if row[k] == 0.0:
            descent, room = abs(g[k]), v[k] - low[k] if g[k] > 0.0 else high[k] - v[k]
            gain = descent * min(descent / curvature[k], room)
            # without curvature and without a bound in this direction there is no minimum
            if room > 0.0 and descent > 0.0 and gain < np.inf:
                largest = max(largest, descent)
                if gain > most:
                    best, most = k, gain
    return best, most, largest


@compiled_inside
def _best_partner(box: Box, v: Array, g: Array, first: int, column: Array) -> tuple[int, float, float]:
    """Return the item that gains most together with the first one, its gain, and the largest descent."""
    low, high, curvature, row = box
    best, most, largest = -1, 0.0, 0.0
    if first < 0:
        return best, most, largest
    own, least = curvature[first] / row[first] ** 2, g[first] / row[first]
    for k in range(len(v)):
        if (row[k] > 0.0 and v[k] > low[k]) or (row[k] < 0.0 and v[k] < high[k]):
            descent, terms = g[k] / row[k] - least, own + curvature[k] / row[k] ** 2
            # The curvature along a pair of equal items is 0; as a difference it may come out negative.
            bend = max(terms - 2.0 * column[k] / (row[first] * row[k]), REFINED * terms)
            largest = max(largest, descent)
            if descent > 0.0 and descent * descent > most * bend:
                best, most = k, descent * descent / bend
    return best, most, largest


@compiled_inside
def _length(box: Box, v: Array, g: Array, i: int, j: int, column: Array) -> float:
    """Return how far a pair moves: to where it gains most, or to the first bound."""
    row, curvature = box.row, box.curvature
    terms = curvature[i] / row[i] ** 2 + curvature[j] / row[j] ** 2
    bend = max(terms - 2.0 * column[j] / (row[i] * row[j]), REFINED * terms)
    return min((g[j] / row[j] - g[i] / row[i]) / bend, _room(box, v, i, 1.0), _room(box, v, j, -1.0))


@compiled
def _multiplier(box: Box, v: Array, g: Array) -> float:
    """Return the multiplier of the equality, between those of items that can raise and can lower it."""
    up, down = _steepest(box, v, g, 1.0), _steepest(box, v, g, -1.0)
    if up < 0 or down < 0:
        only = max(up, down)
        return 0.0 if only < 0 else g[only] / box.row[only]
    # At the optimum both are equal, but the descent stops before it.
    return (g[up] / box.row[up] + g[down] / box.row[down]) / 2.0


# Shifts are spread by multiples of this number, which are never close to one another: no ties in the
# homotopy.
GOLDEN_RATIO = (5**0.5 - 1) / 2
# If no more items than this have to be moved, a proposal costs more than it saves.
FEW_TO_MOVE = 64
# If more than this share of all items would have to be rounded, a proposal is dropped.
MOST_ROUNDED = 0.1


@dataclass(frozen=True, eq=False)
class NoStart:
    """The homotopy ends before its goal: there is no solution at mu; the states and the ray at its end."""

    item_states: Array
    ray: UnblockedRay


def find_start(scaled: ScaledProblem, mu: float) -> Array | NoStart:
    """Return states that are optimal at mu, or the end of a homotopy that does not lead there."""
    phase_one = _PhaseOne(scaled, mu)
    basis = phase_one.basis(phase_one.trivial_states())
    if phase_one.has_many_to_move(basis):
        basis = phase_one.with_proposal(basis)
    if phase_one.is_optimal(basis):
        return phase_one.restored(basis)
    homotopy, relaxed = phase_one.homotopy(basis)
    basis = WorkingBasis(homotopy, relaxed)
    for step in EventTracer(basis, 1, records_pieces=False).trace(0.0, 1.0):
        # A ray at θ = 1 concerns what is beyond the problem at this mu, so it proves nothing about it.
        if isinstance(step, UnblockedRay) and step.mu < 1.0 - GOAL_REACHED:
            return NoStart(phase_one.restored(basis), step)
    return phase_one.restored(basis)


def is_trivial(scaled: ScaledProblem, mu: float) -> bool:
    """Return whether the trivial states are optimal at mu, so that a start there costs nothing."""
    phase_one = _PhaseOne(scaled, mu)
    return phase_one.is_optimal(phase_one.basis(phase_one.trivial_states()))


class _PhaseOne:
    """The problem at one mu and the states in which its items begin."""

    def __init__(self, scaled: ScaledProblem, mu: float) -> None:
        self.scaled = scaled
        self.mu = mu
        self.coinciding = is_coinciding(scaled.bounds, mu)
        self.cap_zero = is_cap_zero(scaled.bounds, mu)
        self.bounds = bounds_at(scaled.bounds, mu, self.coinciding, self.cap_zero)
        low, high = constants_at(scaled.bounds.lower, mu)[:, 0], constants_at(scaled.bounds.upper, mu)[:, 0]
        # where a free variable that nothing determines stays: at a bound without force if it has one
        self.rest = np.where(self.cap_zero, np.where(np.isfinite(low), low, high), 0.0)
        self.q = constants_at(scaled.q, mu)
        self.is_row = scaled.reduced.is_row
        self.artificial = np.zeros(len(scaled.bounds), dtype=bool)
        # added to q, this makes the values of a proposal solve for its unknowns
        self.proposal_shift = np.zeros(len(scaled.bounds))

    @cached_property
    def state_table(self) -> StateTable:
        """The state table at this mu."""
        state_table = build_state_table(self.bounds)
        state_table.fixed[EQUAL, self.cap_zero, 0] = self.rest[self.cap_zero]
        return state_table

    @cached_property
    def wanted(self) -> Array:
        """Which items are to be solved for if their matrix allows: free variables and equalities."""
        bounds, is_row, hard = self.bounds, self.is_row, np.isinf(self.bounds.cap[:, 0])
        return np.where(is_row, bounds.is_equal & hard, bounds.is_free)

    def trivial_states(self) -> Array:
        """Return trivial states: only free variables and equalities are solved for."""
        bounds, is_row, wanted = self.bounds, self.is_row, self.wanted
        at_limit = np.where(bounds.is_equal, EQUAL, np.where(np.isfinite(bounds.lower[:, 0]), LOWER, UPPER))
        item_states = np.where(is_row | bounds.is_free, BETWEEN, at_limit)
        left = wanted & ~self._is_solvable(wanted)
        item_states[wanted & ~left & is_row] = EQUAL
        return self._with_caps(self._with_artificial(item_states, left))

    def _with_artificial(self, item_states: Array, left: Array) -> Array:
        """Return the states with unsolvable items at rest, and note that these get artificial bounds."""
        self.artificial = left & self.wanted
        return np.where(self.artificial, np.where(self.is_row, BETWEEN, EQUAL), item_states).astype(np.int8)

    def _is_solvable(self, wanted: Array) -> Array:
        """Return which of the wanted items can be solved for together, found one by one.

        A variable without curvature may become solvable with a row that comes later, so all are tried twice.
        """
        system, items = self.scaled.system, np.flatnonzero(wanted)
        S, inverse = system.signs[items, None] * system.block(items, items), Inverse(len(items), len(items))
        _enter_solvable(inverse.core, S, system.signs[items])
        if self.is_row[items].any():
            _enter_solvable(inverse.core, S, system.signs[items])
        result = np.zeros(len(wanted), dtype=bool)
        result[items[inverse.items]] = True
        return result

    def has_many_to_move(self, basis: WorkingBasis) -> bool:
        """Return whether many items are at an end or beyond it, so that they would have to be moved."""
        gaps = basis.gaps()[:, :, 0].min(axis=0)
        return int(np.count_nonzero(gaps <= TIE * self._margin(basis))) > FEW_TO_MOVE

    def with_proposal(self, basis: WorkingBasis) -> WorkingBasis:
        """Return a basis in the proposed states; the given one if they are not worth it."""
        v = propose(self.scaled.system, self.q[:, 0], self.bounds, self.is_row)
        if v is None:
            return basis
        item_states, left = self._states_at(v)
        if np.count_nonzero(left) > MOST_ROUNDED * len(v):
            return basis
        item_states = self._with_artificial(item_states, left)
        unknown, fixed = (
            VALUE_FIXED[item_states] == self.is_row,
            self.state_table.fixed[item_states, np.arange(len(v)), 0],
        )
        g = self.q[:, 0] + self.scaled.system.times(np.where(unknown, v, fixed)[:, None])[:, 0]
        self.proposal_shift = np.where(unknown, fixed - g, 0.0)
        return self.basis(item_states)

    def _states_at(self, v: Array) -> tuple[Array, Array]:
        """Return the states of values v, with unsolvable items rounded to an end, and a mask of those."""
        bounds, is_row = self.bounds, self.is_row
        low, high, cap = bounds.lower[:, 0], bounds.upper[:, 0], bounds.cap[:, 0]
        off, full = np.where(v > 0, BELOW, ABOVE), np.abs(v) >= cap
        fixed = np.where(bounds.is_equal, EQUAL, np.where(v > 0, LOWER, UPPER))
        row = np.where(full, off, np.where((v == 0) & ~bounds.is_equal, BETWEEN, fixed))
        inside = np.where(v <= low, LOWER, np.where(v >= high, UPPER, BETWEEN))
        item_states = np.where(is_row, row, np.where(bounds.is_equal, EQUAL, inside))
        unknown = VALUE_FIXED[item_states] == is_row
        left = unknown & ~self._is_solvable(unknown)
        row = np.where((2 * np.abs(v) < cap) & ~bounds.is_equal, BETWEEN, off)
        nearest = np.where(is_row, row, np.where(v - low <= high - v, LOWER, UPPER))
        return np.where(left, nearest, item_states), left

    def _with_caps(self, item_states: Array) -> Array:
        """Return the states with violated soft rows at their cap."""
        soft = self.is_row & np.isfinite(self.bounds.cap[:, 0])
        if not np.any(soft):
            return item_states
        value = self.basis(item_states).g[:, 0]
        item_states[soft & (value < self.bounds.lower[:, 0])] = BELOW
        item_states[soft & (value > self.bounds.upper[:, 0])] = ABOVE
        # A soft equality has no inactive state: where it is not active, its multiplier is at a cap.
        item_states[soft & self.bounds.is_equal & (item_states == BETWEEN)] = BELOW
        return item_states

    def basis(self, item_states: Array) -> WorkingBasis:
        """Return a basis of the problem at this mu."""
        return WorkingBasis(MixedLCP(self.scaled.system, self.q, self.state_table, self.is_row), item_states)

    def is_optimal(self, basis: WorkingBasis) -> bool:
        """Return whether the states of a basis are optimal."""
        size = float(np.abs(basis.v[:, 0]).max(initial=0.0)) + np.abs(basis.g[:, 0])
        return not np.any(self.artificial) and bool(np.all(basis.gaps()[:, :, 0] >= -TIE * size))

    def homotopy(self, basis: WorkingBasis) -> tuple[MixedLCP, Array]:
        """Return the problem deformed along θ, and the states that solve it at θ = 0.

        Unknowns of a proposal begin at its values, within their bounds.
        """
        if np.any(self.proposal_shift):
            q = self.q + np.column_stack([self.proposal_shift, np.zeros(len(self.proposal_shift))])
            basis = WorkingBasis(replace(basis.lcp, q=q), basis.states)
        bounds, shift = self._relaxed(basis), self._shift(basis) + self.proposal_shift
        q = self.q + np.column_stack([shift, -shift])
        item_states = basis.states.copy()
        return MixedLCP(self.scaled.system, q, build_state_table(bounds), self.is_row), item_states

    def _margin(self, basis: WorkingBasis) -> Array:
        """Return how far from its end an item begins: about the size of the numbers, all different."""
        size = 1.0 + float(np.abs(basis.v[:, 0]).max(initial=0.0))
        return size * (1.0 + np.modf(GOLDEN_RATIO * np.arange(1, len(basis.states) + 1))[0])

    def _shift(self, basis: WorkingBasis) -> Array:
        """Return the shift of q that puts every item at an end or beyond it inside its range."""
        gaps, margin = basis.gaps()[:, :, 0], self._margin(basis)
        width, near = gaps[LO] + gaps[HI], TIE * margin
        # A narrow range has no room for the margin; its middle is farthest from both ends.
        inset = np.minimum(margin, width / 2)
        shift = np.where(
            gaps[LO] <= near, inset - gaps[LO], np.where(gaps[HI] <= near, gaps[HI] - inset, 0.0)
        )
        shift[basis.inverse.items] = 0.0
        shift[self.artificial] = 0.0
        return shift

    def _relaxed(self, basis: WorkingBasis) -> Bounds:
        """Return bounds in which artificial caps of variables, and widths of rows, shrink to 0."""
        bounds, is_row = self.bounds, self.is_row
        away = np.maximum(-basis.gaps()[:, :, 0].min(axis=0), 0.0)
        # Beyond the violation by the margin of the item, so that no two of them reach their ends together.
        room = np.where(self.artificial, away + self._margin(basis), 0.0)
        shrinking = np.column_stack([room, -room])
        lower, upper, cap = bounds.lower.copy(), bounds.upper.copy(), bounds.cap.copy()
        variables, rows = self.artificial & ~is_row, self.artificial & is_row
        rest = np.column_stack([self.rest, np.zeros(len(bounds))])
        lower[variables], upper[variables], cap[variables] = (
            rest[variables],
            rest[variables],
            shrinking[variables],
        )
        lower[rows], upper[rows] = lower[rows] - shrinking[rows], upper[rows] + shrinking[rows]
        return Bounds(lower, upper, cap, (bounds.is_equal & ~rows) | variables)

    def restored(self, basis: WorkingBasis) -> Array:
        """Return the states at θ = 1 in terms of the problem: artificial caps and widths are 0."""
        basis.move_to(1.0)
        item_states, result = basis.states, basis.states.copy()
        variables, rows = self.artificial & ~self.is_row, self.artificial & self.is_row
        result[variables & ((item_states == BELOW) | (item_states == ABOVE))] = BETWEEN
        result[rows & ((item_states == LOWER) | (item_states == UPPER))] = EQUAL
        # Bounds that coincide here part beyond mu; the multiplier shows which of them the item stays on.
        pulled_up = basis.multipliers()[:, 0] >= 0
        result = np.where(self.coinciding & (result == EQUAL), np.where(pulled_up, LOWER, UPPER), result)
        return np.where(self.cap_zero, self._states_at_zero_cap(basis, result), result).astype(np.int8)

    def _states_at_zero_cap(self, basis: WorkingBasis, item_states: Array) -> Array:
        """Return the states to which the values of items with a zero cap belong."""
        bounds = self.scaled.bounds
        values = np.where(self.is_row, basis.g[:, 0], basis.v[:, 0])
        low, high = constants_at(bounds.lower, self.mu)[:, 0], constants_at(bounds.upper, self.mu)[:, 0]
        middle = np.where(bounds.is_equal, BELOW, BETWEEN)
        found = np.where(values < low, BELOW, np.where(values > high, ABOVE, middle))
        at_limit = np.where(bounds.is_equal, EQUAL, np.where(np.isfinite(low), LOWER, UPPER))
        return np.where(item_states == EQUAL, at_limit, found)


@compiled
def _enter_solvable(core: InverseArrays, S: Array, signs: Array) -> None:
    """Let items whose pivots can be trusted enter an inverse, one by one."""
    for k in range(len(S)):
        if core.position[k] >= 0:
            continue
        column, schur, top, width = S[core.items[: core.used[0]], k], S[k, k], 0.0, 0.0
        solved = solve(core, column)
        for i in range(len(column)):
            schur -= column[i] * solved[i]
            top, width = max(top, abs(column[i])), max(width, abs(solved[i]))
        if schur * signs[k] > TRUSTED_PIVOT * (abs(S[k, k]) + top * width):
            enter(core, k, solved, schur)
