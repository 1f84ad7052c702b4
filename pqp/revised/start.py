r"""Phase 1: an optimal basis at one mu, from the answer of a library, or the proof that there is none.

An interior-point solution suggests which limits are active. Where the unknowns of that guess are dependent,
it is repaired: an equality whose free columns are dependent pulls a column in that was at a limit, another
row is left out, a dependent variable is held where it is. The guess is then optimal for data that differ a
little: limits that it violates, or comes too close to, are shifted, by amounts that differ from item to item.
The shift is taken back along θ from 0 to 1 by the same tracer that follows mu. Pivots on blocks of items may
make that unnecessary. Nothing relies on the guess being right: a good one means few events.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dgetrf
from scipy.sparse import block_array, csr_array, diags_array, eye_array, vstack
from scipy.sparse.linalg import splu

from pqp.errors import NumericalTroubleError
from pqp.linalg.field import Array
from pqp.linalg.tolerances import (
    ACCURATE,
    GOAL_REACHED,
    HOMOTOPY_TIES,
    SMALLER_MARGIN,
    START_DEPENDENT,
    START_MARGIN,
    START_ROUNDING,
    TIE,
)
from pqp.revised.basis import BasisFactor, SingularBasisError, growth_of
from pqp.revised.basis_choice import basis_of
from pqp.revised.event_kernels import DUAL, VALUE
from pqp.revised.interior_point import ConeProgram, InteriorPoint
from pqp.revised.scaling import ScaledProblem
from pqp.revised.states import (
    ABOVE,
    BELOW,
    BETWEEN,
    EQUAL,
    HI,
    LO,
    LOWER,
    RANGE,
    UPPER,
    VALUE_FIXED,
    Bounds,
    MixedLCP,
    build_state_table,
    constants_at,
)
from pqp.revised.trace import TooManyEventsError, Tracer, TraceSettings, UnblockedRay
from pqp.revised.verify import violations
from pqp.stopping import Watch

# Rest is far from right if the way from it has more events than this and a share of the items, or than that.
MOST_EVENTS_FROM_REST, EVENTS_PER_ITEM, MOST_EVENTS_AT_ALL = 64, 0.125, 256
# Homotopies after the first one, which take back what it leaves of large shifts.
MOST_ROUNDS = 4
# Items that are at least this share of the farthest distance outside are pivoted on at once. On dense random
# problems 0.3 took 10 blocks, 0.5 took 11, 0.7 took 16, and 1 does not end for most.
BLOCK_SHARE = 0.3
# With more unknowns than this, solving for all of them at every block costs more than events do.
MOST_UNKNOWNS = 200
# So many blocks may leave as many items outside as there were before.
MOST_IN_VAIN = 3
GOLDEN_RATIO = (5**0.5 - 1) / 2
# What a held variable may weigh as a pivot of a row, relative to a free one: it is pulled in only if it must.
HELD_WEIGHT = 1e-5
# Unknowns of a guess that are looked through by a dense elimination: more would take minutes.
MOST_ELIMINATED = 2000
# A diagonal entry of at least this share of the largest entry is the better pivot: growth is least.
BUNCH_PARLETT = (1 + 17**0.5) / 8


@dataclass(frozen=True, eq=False)
class NoStart:
    """The homotopy ends before its goal: there is no solution at mu; the states and the ray at its end."""

    states: Array
    ray: UnblockedRay


def find_start(
    scaled: ScaledProblem, program: Callable[[], ConeProgram], mu: float, watch: Watch
) -> Array | NoStart:
    """Return states that are optimal at mu, or the end of a homotopy that does not lead there.

    The first guess costs nothing: everything at rest. If it is not close, a library is asked for a better
    one.
    """
    guess = Guess(scaled, mu)
    if guess.is_trivial():
        return guess.states
    # Events of a sparse basis cost more than an interior point.
    if not scaled.system.is_sparse:
        guess.rest()
        most_events = min(MOST_EVENTS_FROM_REST + EVENTS_PER_ITEM * scaled.system.size, MOST_EVENTS_AT_ALL)
        try:
            guess.repair(watch.check)
            return guess.follow(watch, most_events)
        except (NumericalTroubleError, TooManyEventsError):
            pass  # a guess that was not close enough; what follows does not depend on it
    answer = program().solve(mu, watch)
    trouble: NumericalTroubleError | None = None
    # Ties as close as rounding errors allow are rare on the way, but where there are some, more must count.
    for tie in HOMOTOPY_TIES:
        guess = Guess(scaled, mu, tie)
        guess.take(answer)
        watch.check()
        guess.repair(watch.check)
        watch.check()
        try:
            return guess.follow(watch)
        except NumericalTroubleError as error:
            trouble = error
    assert trouble is not None
    raise trouble


def resting_states(bounds: Bounds, is_row: Array, g: Array) -> Array:
    """Return states in which variables are at the limits that their gradient pushes them to, rows inactive.

    Variables without limits are left to be solved for.
    """
    lower, upper = bounds.lower[:, 0], bounds.upper[:, 0]
    pushed_up = np.isfinite(upper) & ((g < 0) | np.isinf(lower))
    states = np.where(bounds.is_equal, EQUAL, np.where(pushed_up, UPPER, LOWER))
    states[is_row | (bounds.is_free & ~is_row)] = BETWEEN
    return np.asarray(states.astype(np.int8))


def trivial_states(scaled: ScaledProblem, mu: float) -> Array | None:
    """Return states that are optimal at mu with nothing to solve for, if there are any."""
    guess = Guess(scaled, mu)
    return guess.states if guess.is_trivial() else None


class Guess:
    """States at one mu that may be optimal, and what has to be shifted so that they are."""

    def __init__(self, scaled: ScaledProblem, mu: float, tie: float = HOMOTOPY_TIES[0]) -> None:
        self.scaled, self.mu, self.tie = scaled, mu, tie
        self.system = scaled.system
        self.is_row = scaled.system.is_row
        self.bounds = scaled.bounds.at(mu)
        self.q = constants_at(scaled.q, mu)
        # The problem at this mu, without shifts.
        self.problem = MixedLCP(self.system, self.q, build_state_table(self.bounds))
        self._forget_shifts()
        size = len(self.bounds)
        self.states = np.zeros(size, dtype=np.int8)
        self.value = np.zeros(size)
        self.multiplier = np.zeros(size)
        self._basis: BasisFactor | None = None

    def _forget_shifts(self) -> None:
        """Put the corners of all states at θ = 0 where those of the problem are."""
        self.lower = self.bounds.lower[:, 0].copy()
        self.upper = self.bounds.upper[:, 0].copy()
        self.zero = np.zeros(len(self.bounds))
        self.top = self.bounds.cap[:, 0].copy()
        self.bottom = -self.bounds.cap[:, 0]
        self._is_shifted = False

    def take(self, answer: InteriorPoint) -> None:
        """Read the states off an interior-point solution."""
        reduced, d = self.scaled.reduced, self.scaled.d
        v = np.concatenate([answer.x[reduced.variables], answer.y[reduced.rows]]) / d
        if not np.all(np.isfinite(v)):
            v = np.zeros(len(d))
        self.set_states(v)

    def _dependent(self, states: Array) -> Array:
        """Return g where no item is solved for."""
        return np.asarray(self.system.times(self.problem.table.of(states)[0]) + self.q[:, 0])

    @cached_property
    def _at_lower(self) -> tuple[Array, Array]:
        """The states in which items are as far below as there are limits, and g there."""
        states = resting_states(self.bounds, self.is_row, np.zeros(len(self.bounds)))
        return states, self._dependent(states)

    def rest(self) -> None:
        """Put every item where it needs no unknown, as far as that is possible."""
        gradient = self._at_lower[1]
        self.states = resting_states(self.bounds, self.is_row, gradient)
        v, g = self.problem.table.of(self.states)[0], self._dependent(self.states)
        self.value, self.multiplier = np.where(self.is_row, g, v), np.where(self.is_row, v, g)

    def is_trivial(self) -> bool:
        """Return whether the states that follow from rest are optimal with nothing to solve for."""
        bounds, is_row = self.bounds, self.is_row
        if np.any(bounds.is_free & ~is_row):
            return False
        soft = np.isfinite(bounds.cap[:, 0]) & is_row
        # As far below as there are limits, then to where the gradients push.
        self.states, g = self._at_lower
        for _ in range(3):
            pushed = resting_states(bounds, is_row, g)
            # A soft equality has no inactive state.
            pushed[soft & ((g < bounds.lower[:, 0]) | bounds.is_equal)] = BELOW
            pushed[soft & (g > bounds.upper[:, 0])] = ABOVE
            if np.array_equal(pushed, self.states):
                break
            self.states = pushed
            g = self._dependent(self.states)
        lines = self.problem.table.of(self.states)
        room = TIE * (np.abs(g) + np.abs(lines[0]).max(initial=0.0))
        return bool(np.all(g >= lines[2] - room) and np.all(g <= lines[4] + room))

    def set_states(self, v: Array) -> None:
        """Choose for every item the state that its value and its multiplier are closest to."""
        bounds, is_row = self.bounds, self.is_row
        g = self.system.times(v) + self.q[:, 0]
        self.value, self.multiplier = np.where(is_row, g, v), np.where(is_row, v, g)
        lower, upper, cap = bounds.lower[:, 0], bounds.upper[:, 0], bounds.cap[:, 0]
        hx, hy = (
            max(np.abs(part).max(initial=0.0), TIE) for part in (v[~is_row], np.append(v[is_row], g[~is_row]))
        )
        if not np.any(~is_row):
            hx = max(np.abs(g).max(initial=0.0), TIE)
        multiplier = self.multiplier / hy
        below, above = (lower - self.value) / hx, (self.value - upper) / hx
        states = np.full(len(v), BETWEEN)
        states[multiplier > -below] = LOWER
        states[-multiplier > -above] = UPPER
        states[bounds.is_equal] = EQUAL
        soft = np.isfinite(cap)
        room = np.where(soft, cap, 0.0) / hy
        low, high = np.isin(states, (LOWER, EQUAL)) & soft, np.isin(states, (UPPER, EQUAL)) & soft
        states[low & (below > room - multiplier)] = BELOW
        states[high & (above > room + multiplier)] = ABOVE
        states[bounds.is_free] = BETWEEN
        self.states = states.astype(np.int8)

    # ---- a regular basis ----

    def repair(self, check: Callable[[], None] = lambda: None) -> None:
        """Change the guess until its unknowns are independent, by coarser measures if they must be.

        `check` is called between the steps of what takes long, and may raise.
        """
        for dependent in START_DEPENDENT:
            if self._is_regular():
                return
            self._repair_rows(dependent)
            self._repair_variables(dependent)
        if not self._is_regular():
            self._keep_independent(check)

    def _unknown(self) -> Array:
        return self.problem.is_unknown(self.states)

    def _is_regular(self) -> bool:
        """Return whether the basis of the guess is regular; if so, keep it."""
        try:
            basis = basis_of(self.system, np.flatnonzero(self._unknown()))
        except SingularBasisError:
            return False
        self._basis = basis
        return growth_of(basis.solve, len(basis.items)) <= 1 / START_DEPENDENT[0]

    def _repair_rows(self, dependent: float) -> None:
        """Make the active rows independent on the unknown variables."""
        n, unknown = self.system.variables, self._unknown()
        rows = np.flatnonzero(unknown & self.is_row)
        if not len(rows) or self.system.B is None:
            return
        certainty = np.abs(self.multiplier[rows])
        hard = self.bounds.is_equal[rows] & np.isinf(self.bounds.cap[rows, 0])
        rows = rows[np.lexsort([-certainty, ~hard])]
        # Fixed variables cannot be pulled in at all.
        weight = np.where(unknown[:n], 1.0, np.where(self.bounds.is_equal[:n], 0.0, HELD_WEIGHT))
        columns = self._rows_of_A(rows, weight)
        pivots = pivot_rows(columns, dependent)
        for item, pivot in zip(rows.tolist(), pivots.tolist(), strict=True):
            is_hard = self.bounds.is_equal[item] and np.isinf(self.bounds.cap[item, 0])
            if pivot >= n or (0 <= pivot < n and unknown[pivot]):
                continue
            if pivot >= 0 and is_hard:
                self._free(pivot)
            else:
                self._drop_row(item, bool(is_hard))

    def _rows_of_A(self, rows: Array, weight: Array) -> csr_array:
        """Return the transposed active rows, weighted; eliminated variables count as unknown ones."""
        n = self.system.variables
        assert self.system.B is not None
        own = csr_array(self.system.B)[rows - n]
        parts = [csr_array(own @ diags_array(weight)).T]
        elimination = self.scaled.reduced.elimination
        if elimination is not None:
            d = self.scaled.d[rows]
            parts.append((diags_array(d) @ csr_array(elimination.columns)[rows - n]).T)
        return csr_array(vstack(parts))

    def _free(self, item: int) -> None:
        """Let a variable that was at a limit be solved for; its multiplier becomes a shift of zero."""
        self._is_shifted = True
        self.states[item] = BETWEEN
        self.zero[item] = self.multiplier[item]

    def _drop_row(self, item: int, is_hard_equality: bool) -> None:
        """Leave an active row out; its multiplier stays where it is and is moved to its nearest end."""
        self._is_shifted = True
        value, cap = self.multiplier[item], self.bounds.cap[item, 0]
        limit = (self.bounds.lower if value > 0 else self.bounds.upper)[item, 0]
        if np.isfinite(cap) and np.isfinite(limit) and 2 * abs(value) > cap:
            self.states[item] = BELOW if value > 0 else ABOVE
            if value > 0:
                self.top[item] = value
            else:
                self.bottom[item] = value
            return
        self.states[item] = BETWEEN
        self.zero[item] = 0.0 if is_hard_equality else value

    def _repair_variables(self, dependent: float) -> None:
        """Make the unknown variables independent, in curvature and rows; others are held where they are."""
        n, unknown = self.system.variables, self._unknown()
        variables = np.flatnonzero(unknown[:n])
        if not len(variables):
            self._repair_curved_rows(dependent)
            return
        rows = np.flatnonzero(unknown & self.is_row)
        assert self.system.H is not None
        entries = self.system.H.entries()
        if entries is not None:
            curvature = csr_array(entries[variables][:, variables])
        else:
            curvature = csr_array(self.system.H.block(variables, variables))
        parts = [curvature]
        if len(rows):
            assert self.system.B is not None
            parts.append(csr_array(self.system.B)[rows - n][:, variables])
        room = np.minimum(self.value - self.lower, self.upper - self.value)[variables]
        order = np.argsort(-room, kind="stable")
        pivots = pivot_rows(csr_array(vstack(parts))[:, order], dependent)
        for item in variables[order[pivots < 0]].tolist():
            self._hold(item)

    def _repair_curved_rows(self, dependent: float) -> None:
        """Without variables, make the active rows independent in their own curvature."""
        rows = np.flatnonzero(self._unknown())
        if not len(rows) or self.system.G is None:
            return
        order = rows[np.argsort(-np.abs(self.multiplier[rows]), kind="stable")]
        pivots = pivot_rows(csr_array(self.system.block(order, order)), dependent)
        for item in order[pivots < 0].tolist():
            self._drop_row(item, False)

    def _keep_independent(self, check: Callable[[], None]) -> None:
        """Solve only for unknowns that are independent beyond doubt, however few; shifts do the rest."""
        unknowns = np.flatnonzero(self._unknown())
        if len(unknowns) > MOST_ELIMINATED:
            raise SingularBasisError
        S = self.system.signs[unknowns, None] * self.system.block(unknowns, unknowns)
        for item in np.delete(unknowns, independent_items(S, check)).tolist():
            if self.is_row[item]:
                self._drop_row(item, bool(self.bounds.is_equal[item] and np.isinf(self.bounds.cap[item, 0])))
            else:
                self._hold(item)
        # What was kept belongs to the unknowns of before.
        self._basis = None

    def _hold(self, item: int) -> None:
        """Hold a variable where it is and move it to its nearest limit."""
        self._is_shifted = True
        value, low, high = self.value[item], self.bounds.lower[item, 0], self.bounds.upper[item, 0]
        if np.isinf(low) and np.isinf(high):
            self.states[item] = EQUAL
            self.zero[item] = 0.0
        elif value - low <= high - value:
            self.states[item] = EQUAL if self.bounds.is_equal[item] else LOWER
            self.lower[item] = value
        else:
            self.states[item] = UPPER
            self.upper[item] = value

    # ---- the homotopy ----

    def follow(self, watch: Watch, most_events: float = np.inf) -> Array | NoStart:
        """Take the shifts back; return the states at θ = 1, or where the way ends before.

        All shifts vanish together at θ = 1, so that close to it everything ties. A homotopy stops before, and
        what it leaves of large shifts is taken back by another one, with smaller margins: it begins at a
        basis, not at the guess of an interior point.
        """
        for attempt in range(MOST_ROUNDS):
            tracer = Tracer(self.problem, self.states, 0.0, basis=self._basis)
            outside = np.sum(tracer.gaps().min(axis=0) < -START_MARGIN * GOAL_REACHED * self._scale(tracer))
            if not outside and violations(tracer.point().sequence(), self.problem)[0] <= ACCURATE:
                break
            # Every item outside takes an event at least.
            if outside > most_events:
                raise TooManyEventsError
            if attempt == 0 and not self.system.is_sparse and self._pivot_in_blocks():
                continue
            if self._is_shifted:
                shifted = replace(self.problem, table=build_state_table(self._bounds_at(moving=False)))
                tracer = Tracer(shifted, self.states, 0.0, basis=tracer.basis)
            self._shift_ends(tracer, START_MARGIN * SMALLER_MARGIN**attempt)
            homotopy = replace(self.problem, table=build_state_table(self._bounds_at(moving=True)))
            settings = TraceSettings(tie=self.tie, most_events=most_events)
            tracer = Tracer(homotopy, self.states, 0.0, settings, basis=tracer.basis)
            while (ray := tracer.run(1.0 - GOAL_REACHED, watch, keep_pieces=False)) is not None:
                if not self._is_rounding(tracer, ray):
                    return NoStart(tracer.states, ray)
                # An equality that depends on others is violated by rounding errors: it does not count.
                homotopy.table.lines[tracer.states[ray.item], RANGE, ray.item] = (-np.inf, 0.0, np.inf, 0.0)
                tracer.recompute()
            # On the way the bounds of an equality differ by their shifts; at its end they are one.
            at_bound = self.bounds.is_equal & np.isin(tracer.states, (LOWER, UPPER))
            self.states = np.where(at_bound, EQUAL, tracer.states).astype(np.int8)
            self._basis = tracer.basis
            self._forget_shifts()
        return self.states

    def _pivot_in_blocks(self) -> bool:
        """Return whether pivots on blocks of items lead to an optimal basis, which then is the guess.

        All items that are about as far outside their ranges as the farthest one change their states at once.
        If P is well conditioned this mostly ends after ten blocks, which cost less than the homotopy. It is
        given up once the number of items outside does not fall any more.
        """
        problem, system, states = self.problem, self.system, self.states.copy()
        fewest, in_vain = len(states) + 1, 0
        while in_vain <= MOST_IN_VAIN:
            lines, inside = problem.table.of(states), problem.is_unknown(states)
            fixed, low, high, R = lines[0], lines[2], lines[4], np.flatnonzero(inside)
            if len(R) > MOST_UNKNOWNS:
                return False
            v = np.where(inside, 0.0, fixed)
            g = system.times(v) + self.q[:, 0]
            try:
                v[R] = np.linalg.solve(system.block(R, R), fixed[R] - g[R])
            except np.linalg.LinAlgError:
                return False
            dependent = g + system.product(R, v[R])
            dependent[R] = v[R]
            gaps, is_dual = np.stack([dependent - low, high - dependent]), VALUE_FIXED[states]
            sizes, worst, nearest = np.abs(dependent), np.zeros(len(v)), gaps.min(axis=0)
            for kind in (is_dual, ~is_dual):
                own = -nearest.min(initial=0.0, where=kind)
                if own > TIE * sizes.max(initial=0.0, where=kind):
                    worst[kind] = own
            outside = (nearest < 0.0) & (nearest <= -BLOCK_SHARE * worst) & (worst > 0.0)
            count = int(np.sum((nearest < 0.0) & (worst > 0.0)))
            if not count:
                before, self.states = self.states, states
                if self._is_regular():
                    self._forget_shifts()
                    return True
                self.states = before
                return False
            in_vain = 0 if count < fewest else in_vain + 1
            fewest = min(fewest, count)
            items = np.flatnonzero(outside)
            states[items] = problem.table.following[gaps[:, items].argmin(axis=0), states[items], items]
        return False

    def _is_rounding(self, tracer: Tracer, ray: UnblockedRay) -> bool:
        """Return whether what is left to be taken back of a shift is below rounding error."""
        size = len(self.states)
        end = ray.item + (size if ray.sense < 0 else 0)
        dual = tracer.flags[DUAL]
        own = np.abs(tracer.lines[VALUE, dual == dual[ray.item]]).max(initial=0.0)
        return tracer.falls(end) * (1.0 - ray.mu) <= START_ROUNDING * own

    def _bounds_at(self, moving: bool) -> Bounds:
        """Return the corners where they are at θ = 0; moving, they are those of the problem at θ = 1."""
        own, cap, zero = self.bounds, self.bounds.cap[:, 0], np.zeros(len(self.bounds))
        goals: dict[str, Array] = {
            "lower": own.lower[:, 0],
            "upper": own.upper[:, 0],
            "zero": zero,
            "top": cap,
            "bottom": -cap,
        }
        parts: dict[str, Array] = {}
        for name, goal in goals.items():
            start = getattr(self, name)
            slope = np.subtract(goal, start, out=zero.copy(), where=moving & np.isfinite(goal))
            parts[name] = np.column_stack([start, slope])
        is_equal = own.is_equal & ((self.lower == self.upper) | (not moving))
        return replace(own, is_equal=is_equal, **parts)

    def _scale(self, tracer: Tracer) -> Array:
        """Return for every item the largest number of its kind: values, or multipliers and costs."""
        dependent, dual, costs = np.abs(tracer.lines[VALUE]), tracer.flags[DUAL], np.abs(self.q[:, 0])
        primal_top = max(dependent[~dual].max(initial=0.0), costs[self.is_row].max(initial=0.0))
        dual_top = max(dependent[dual].max(initial=0.0), costs[~self.is_row].max(initial=0.0))
        # Where all numbers of a kind are zero, the units of the scaled problem are left: about 1.
        return np.where(dual, dual_top or 1.0, primal_top or 1.0)

    def _shift_ends(self, tracer: Tracer, share: float) -> None:
        """Shift the ends of ranges that are violated, or reached, so that all items are inside by a share."""
        gaps, states = tracer.gaps(), self.states
        steps = np.modf(GOLDEN_RATIO * np.arange(1, len(states) + 1))[0]
        margin = share * self._scale(tracer) * (0.5 + steps)
        at_rest = self.bounds.is_free & (states == EQUAL)
        # A free item at rest has no room: where its multiplier is not zero, zero is where it is.
        self.zero[at_rest] -= np.where(gaps[LO] < 0, -gaps[LO], np.where(gaps[HI] < 0, gaps[HI], 0.0))[
            at_rest
        ]
        for end, corners in ((LO, _CORNERS_AT_LO), (HI, _CORNERS_AT_HI)):
            short = np.flatnonzero((gaps[end] < margin / 10) & ~at_rest)
            for state in np.unique(states[short]):
                name = corners[state]
                if name is None:
                    continue
                chosen = short[states[short] == state]
                shift = margin[chosen] - gaps[end, chosen]
                getattr(self, name)[chosen] += -shift if end == LO else shift
        # What is beyond one limit is beyond both: the other one follows where they would cross.
        self.lower = np.where(states == ABOVE, np.minimum(self.lower, self.upper), self.lower)
        self.upper = np.where(states == BELOW, np.maximum(self.lower, self.upper), self.upper)
        self.bottom = np.minimum(self.bottom, self.zero)
        self.top = np.maximum(self.top, self.zero)


# The corner that is the end of the range of the dependent quantity, by state.
_CORNERS_AT_LO: dict[int, str | None] = {
    BETWEEN: "lower", LOWER: "zero", UPPER: "bottom", EQUAL: "bottom", BELOW: None, ABOVE: "upper",
}  # fmt: skip
_CORNERS_AT_HI: dict[int, str | None] = {
    BETWEEN: "upper", LOWER: "top", UPPER: "zero", EQUAL: "top", BELOW: "lower", ABOVE: None,
}  # fmt: skip


def independent_items(S: Array, check: Callable[[], None] = lambda: None) -> Array:
    """Return items of a symmetric matrix whose own block is well conditioned, as many as there are.

    Elimination with complete pivoting on the diagonal and on 2 x 2 blocks of it (Bunch and Parlett 1971)
    stops where what is left is small. `check` is called before every step and may raise.

    >>> independent_items(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])).tolist()
    [0, 1]
    """
    rest, chosen = S.copy(), np.zeros(len(S), dtype=bool)
    smallest = START_DEPENDENT[-1] * np.abs(S).max(initial=0.0)
    while not chosen.all():
        check()
        size = np.abs(rest)
        i, j = np.unravel_index(int(size.argmax()), size.shape)
        k = int(size.diagonal().argmax())
        if size[i, j] <= smallest:
            break
        pivot = [k] if size[k, k] >= BUNCH_PARLETT * size[i, j] else [int(i), int(j)]
        columns = rest[:, pivot]
        rest -= columns @ np.linalg.solve(rest[np.ix_(pivot, pivot)], columns.T)
        rest[pivot], rest[:, pivot], chosen[pivot] = 0.0, 0.0, True
    return np.flatnonzero(chosen)


def pivot_rows(columns: csr_array, dependent: float = START_DEPENDENT[0]) -> Array:
    """Return for every column, in order, the row that is its pivot; -1 if it depends on those before.

    A rank-revealing elimination: below every column stands a small number of its own, which becomes its pivot
    where nothing else is left.

    >>> pivot_rows(csr_array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])).tolist()
    [0, -1, 1]
    """
    rows, count = columns.shape
    if not count:
        return np.empty(0, dtype=np.int64)
    if rows * count <= 2**22:
        tall = np.asfortranarray(np.vstack([columns.toarray(), dependent * np.eye(count)]))
        _, swaps, _ = dgetrf(tall, overwrite_a=True)
        order = np.arange(rows + count)
        for k, other in enumerate(swaps.tolist()):
            order[k], order[other] = order[other], order[k]
        pivots = order[:count]
        return np.where(pivots < rows, pivots, -1)
    kept = np.flatnonzero(np.diff(columns.tocsr().indptr) > 0)
    short = columns.tocsr()[kept]
    matrix = block_array([[short, eye_array(len(kept))], [dependent * eye_array(count), None]], format="csc")
    lu = splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=1.0, options={"Equil": False})
    original = np.empty(len(kept) + count, dtype=np.int64)
    original[lu.perm_r] = np.arange(len(original))
    pivots = original[lu.perm_c[:count]]
    return np.where(pivots < len(kept), kept[np.minimum(pivots, len(kept) - 1)], -1)
