"""The working basis of the revised engine: its affine solution, and how it changes from basis to basis.

R holds the items whose v is unknown: variables between their bounds, rows that are active at a bound. With
all fixed values known as affine functions of the parameter, the unknown ones solve

.. math:: M_{RR} v_R = g_R - q_R - M_{RN} v_N

and every other g follows by one product. All functions are centred at `mu`: values there, and slopes. A
change of basis changes slopes alone, apart from rounding errors and jumps, so values stay as accurate as they
were. Each change is also a step of iterative refinement, and everything is recomputed from the data after
`REBUILD_EVERY` changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_inside
from pqp.linalg.products import add_products, column_of, system_product
from pqp.linalg.structure import NO_PART, Form, frozen, is_low_rank
from pqp.linalg.system import System
from pqp.linalg.tolerances import (
    COARSENING,
    REBUILD_EVERY,
    REFINED,
    RESIDUAL_GROWTH,
    ROUNDING,
    SINGULAR,
    SINGULAR_BASIS,
    TIE,
    TRUSTED_PIVOT,
)
from pqp.revised.block_inverse import blocks_of, max_abs
from pqp.revised.inverse import Inverse, InverseArrays, solve
from pqp.revised.ratio_test import Lines, advance, term_sizes
from pqp.revised.states import VALUE_FIXED, StateTable

# Indices of counters: changes since everything was recomputed, pivots since the last piece, the end that was
# reached first (-1 if none), events at this mu, items whose state has changed since the last piece.
CHANGES, PIVOTS, BLOCKING, STALLS, CHANGED = range(5)
# Indices of numbers: the centre, the largest change of a slope since everything was recomputed, and the
# largest v of variables and then of rows at the last tie test.
MU, SLOPE_CHANGE, MAGNITUDE = range(3)


class ProblemTables(NamedTuple):
    """Constant data of compiled code: the state table, which items are rows, J, and the diagonal of J M.

    Rows are plain if their values are made of the variables alone; with `is_q_constant` q does not depend on
    mu.
    """

    fixed: Array
    lo: Array
    hi: Array
    next_at_lo: Array
    next_at_hi: Array
    is_row: Array
    signs: Array
    diagonal: Array
    is_plain: bool
    is_q_constant: bool


class BasisArrays(NamedTuple):
    """Variable data of compiled code: states, inverse, affine functions, counters.

    `moved` and `before` are the items that changed their state since the last piece, and their states there.
    """

    states: Array
    core: InverseArrays
    lines: Lines
    counts: Array
    numbers: Array
    moved: Array
    before: Array
    found: Array


def new_basis_arrays(states: Array, core: InverseArrays, mu: float) -> BasisArrays:
    """Return the arrays of a basis that begins at mu, without solution yet."""
    size = len(states)
    v, g, fixed, lo, hi = (np.zeros((2, size)) for _ in range(5))
    return BasisArrays(
        states,
        core,
        Lines(v, g, fixed, lo, hi, np.zeros((2, size), dtype=bool)),
        np.array([0, 0, -1, 0, 0]),
        np.array([mu, 0.0, 0.0, 0.0]),
        np.empty(size, np.int64),
        np.empty(size, np.int8),
        np.empty(2 * size + 1, np.int64),
    )


@compiled
def largest_slope(arrays: BasisArrays, data_slope: float) -> float:
    """Return the largest slope of v; slopes of fixed values are among those of the data."""
    for k in range(arrays.core.used[0]):
        data_slope = max(data_slope, abs(arrays.lines.v[1, arrays.core.items[k]]))
    return data_slope


@compiled
def is_rebuild_due(arrays: BasisArrays) -> bool:
    """Return whether it is time to recompute everything from the data."""
    # A rebuild takes O(|R|³) and an update O(|R|²), so after |R| updates it costs no more than they did.
    return arrays.counts[CHANGES] >= max(REBUILD_EVERY, arrays.core.used[0])


@compiled
def next_state(tables: ProblemTables, state: int, item: int, at_hi: bool) -> tuple[int, int]:
    """Return the state beyond an end, and at which of its own ends it begins: 0 for `lo`, 1 for `hi`."""
    new = tables.next_at_hi[state, item] if at_hi else tables.next_at_lo[state, item]
    return new, 0 if tables.next_at_lo[new, item] == state else 1


@compiled
def set_state(tables: ProblemTables, arrays: BasisArrays, item: int, state: int) -> None:
    """Put an item into a state, and note the state it had on the last piece."""
    counts, lines = arrays.counts, arrays.lines
    known = False
    for k in range(counts[CHANGED]):
        known = known or arrays.moved[k] == item
    # The state on the last piece is kept, not one that the item passed through within a tie.
    if not known:
        arrays.moved[counts[CHANGED]], arrays.before[counts[CHANGED]] = item, arrays.states[item]
        counts[CHANGED] += 1
    arrays.states[item] = state
    for part in range(2):
        lines.fixed[part, item] = tables.fixed[state, item, part]
        lines.lo[part, item] = tables.lo[state, item, part]
        lines.hi[part, item] = tables.hi[state, item, part]


# Steps of iterative refinement after a change of basis: an inverse with four good digits needs three.
REFINEMENTS_PER_CHANGE = 3


@compiled
def recompute_g(form: Form, q: Array, arrays: BasisArrays) -> None:
    """Compute all g from v and the data."""
    mu, g = arrays.numbers[MU], arrays.lines.g
    for i in range(len(q)):
        g[0, i], g[1, i] = q[i, 0] + mu * q[i, 1], q[i, 1]
    add_products(form, np.arange(len(q)), arrays.lines.v, g)


@compiled
def refine(form: Form, tables: ProblemTables, arrays: BasisArrays, moved: Array) -> None:
    """Move v on R so that g meets the fixed values there, after the v of some other items have moved."""
    lines, mu = arrays.lines, arrays.numbers[MU]
    by = np.empty((2, len(moved)))
    for k in range(len(moved)):
        fixed = lines.fixed[0, moved[k]] + mu * lines.fixed[1, moved[k]]
        by[0, k], by[1, k] = fixed - lines.v[0, moved[k]], lines.fixed[1, moved[k]] - lines.v[1, moved[k]]
        lines.v[0, moved[k]], lines.v[1, moved[k]] = fixed, lines.fixed[1, moved[k]]
    if tables.is_q_constant and not np.any(lines.fixed[1]):
        _clear_slopes(lines, by)
    magnitude = arrays.numbers[MAGNITUDE : MAGNITUDE + 2].copy()
    for k in range(arrays.core.used[0]):
        item = arrays.core.items[k]
        kind = 1 if tables.is_row[item] else 0
        magnitude[kind] = max(magnitude[kind], abs(lines.v[0, item]))
    slope = largest_slope(arrays, 0.0) + max_abs(by[1])
    terms = np.empty((2, 2))
    terms[0], terms[1] = term_sizes((magnitude[0], magnitude[1]), tables.is_plain), slope
    _refine_until_small(form, tables, arrays, moved, by, terms)


@compiled_inside
def _clear_slopes(lines: Lines, by: Array) -> None:
    """Set all slopes to 0, which they are where no datum moves: other values are rounding errors.

    On a last piece without end, an item would otherwise reach its end, however far out.
    """
    lines.v[1], lines.g[1], by[1] = 0.0, 0.0, 0.0


@compiled_inside
def _refine_until_small(
    form: Form, tables: ProblemTables, arrays: BasisArrays, moved: Array, by: Array, terms: Array
) -> None:
    """Refine values and slopes until the residual is no more than the rounding error of its terms.

    If the allowed number of refinements does not achieve that, everything is marked as stale.
    """
    is_open = np.ones(2, dtype=np.bool_)
    for attempt in range(REFINEMENTS_PER_CHANGE):
        # The items that left have made their whole step in the first round.
        if attempt:
            moved, by = moved[:0], by[:, :0]
        count, steps = arrays.core.used[0], np.zeros((2, arrays.core.used[0] + len(moved)))
        for part in range(2):
            rest = _residual(arrays, part)
            is_moved = max_abs(by[part]) > ROUNDING * terms[part, 0]
            is_open[part] &= is_moved or not _relative_residual(tables, arrays, rest, terms[part]) <= ROUNDING
            if is_open[part]:
                steps[part, count:] = by[part]
                is_open[part] = _refinement_step(
                    form, tables, arrays, part, rest, moved, steps[part], terms[part]
                )
        everything = np.concatenate((arrays.core.items[:count], moved))
        # Values and slopes together, so that the factors of M are read once (docs/method.md, Cost).
        add_products(form, everything, steps, arrays.lines.g)
        if not np.any(is_open):
            return
        terms[1] = max(terms[1, 0], largest_slope(arrays, 0.0))
    for part in range(2):
        share = _relative_residual(tables, arrays, _residual(arrays, part), terms[part])
        if is_open[part] and not share <= REFINED:
            # More steps would not help where the inverse has lost its digits: the caller computes it again.
            arrays.numbers[SLOPE_CHANGE] = np.inf


@compiled_inside
def _relative_residual(tables: ProblemTables, arrays: BasisArrays, rest: Array, terms: Array) -> float:
    """Return the largest residual on R relative to the terms of its kind."""
    share = 0.0
    for k in range(len(rest)):
        # Variables and rows may differ much in size, and one scale would hide errors of the smaller kind.
        size = terms[1] if tables.is_row[arrays.core.items[k]] else terms[0]
        if abs(rest[k]) > share * size:
            share = abs(rest[k]) / size
    return share


@compiled_inside
def _residual(arrays: BasisArrays, part: int) -> Array:
    """Return by how much the values, or the slopes, of g miss the fixed values on R."""
    lines, core = arrays.lines, arrays.core
    rest = np.empty(core.used[0])
    for k in range(len(rest)):
        i = core.items[k]
        fixed = lines.fixed[1, i] if part else lines.fixed[0, i] + arrays.numbers[MU] * lines.fixed[1, i]
        rest[k] = fixed - lines.g[part, i]
    return rest


@compiled_inside
def _refinement_step(
    form: Form,
    tables: ProblemTables,
    arrays: BasisArrays,
    part: int,
    rest: Array,
    moved: Array,
    step: Array,
    terms: Array,
) -> bool:
    """Move v on R by the inverse times the residual, and write that step; return whether it did.

    Values stay where they are if g is right up to rounding and the step is larger: it would amplify the
    error.
    """
    lines, core = arrays.lines, arrays.core
    R = core.items[: core.used[0]]
    for k in range(len(moved)):
        rest -= column_of(form, R, moved[k]) * step[len(R) + k]
    found = solve(core, tables.signs[R] * rest)
    if (
        part == 0
        and max_abs(found) > TIE * terms[0]
        and _relative_residual(tables, arrays, rest, terms) <= TIE
    ):
        return False
    for k in range(len(R)):
        step[k] = found[k]
        lines.v[part, R[k]] += found[k]
    # Slopes only: a change of basis leaves the values where they are (docs/method.md, Centred lines).
    if part == 1:
        arrays.numbers[SLOPE_CHANGE] = max(arrays.numbers[SLOPE_CHANGE], max_abs(found))
    return True


LO, HI = 0, 1
NO_ITEMS = np.empty(0, dtype=np.int64)
# Rounds of refinement after a rebuild, before the basis counts as singular.
REFINEMENTS_PER_REBUILD = 4


@dataclass(frozen=True, eq=False)
class MixedLCP:
    """The parametric mixed complementarity problem: g = M v + q(mu), every item in one of its states.

    `is_row` tells which items are rows.
    """

    system: System
    q: Array
    state_table: StateTable
    is_row: Array

    @cached_property
    def data_slope(self) -> float:
        """The largest slope among the data."""
        parts = (self.q[:, 1], self.state_table.fixed[:, :, 1])
        return max(float(np.max(np.abs(part), initial=0.0)) for part in parts)

    @cached_property
    def form(self) -> Form:
        """M as compiled code takes it."""
        return self.system.form

    @cached_property
    def tables(self) -> ProblemTables:
        """The state table as compiled code takes it."""
        state_table, signs = self.state_table, self.system.signs
        return ProblemTables(
            frozen(state_table.fixed),
            frozen(state_table.lo),
            frozen(state_table.hi),
            frozen(state_table.next_at_lo),
            frozen(state_table.next_at_hi),
            frozen(self.is_row),
            frozen(signs),
            frozen(signs * self.system.diagonal()),
            self.form.size < self.system.size and self.form.G.kind == NO_PART.kind,
            not np.any(self.q[:, 1]),
        )

    def is_unknown(self, states: Array) -> Array:
        """Return for which items v is unknown: variables that are not fixed, rows that are active."""
        return VALUE_FIXED[states] == self.is_row


class WorkingBasis:
    """A basis with v and g centred at mu, and the fixed values and ranges as functions of mu."""

    def __init__(self, lcp: MixedLCP, states: Array, mu: float = 0.0) -> None:
        self.lcp = lcp
        size = lcp.system.size
        self.states = np.array(states, dtype=np.int8)
        self.inverse = Inverse(size, blocks=blocks_of(lcp.form, size))
        self.signs = lcp.system.signs
        self.singular = SINGULAR
        self._arrays = new_basis_arrays(self.states, self.inverse.core, mu)
        self._look_up()
        self.rebuild()

    def _look_up(self) -> None:
        """Look up the fixed values and the ranges for the states of all items."""
        state_table, states, everything = self.lcp.state_table, self.states, np.arange(len(self.states))
        self.fixed[:] = state_table.fixed[states, everything]
        self.lo[:], self.hi[:] = state_table.lo[states, everything], state_table.hi[states, everything]

    @property
    def arrays(self) -> BasisArrays:
        """The variable data, as compiled code takes them."""
        return self._arrays._replace(core=self.inverse.core)

    @property
    def counts(self) -> Array:
        """Integer counters, at the indices named above."""
        return self._arrays.counts

    @property
    def mu(self) -> float:
        """The mu at which v and g are centred."""
        return float(self._arrays.numbers[MU])

    @property
    def changes(self) -> int:
        """How many items have changed their state since everything was recomputed."""
        return int(self.counts[CHANGES])

    @property
    def v(self) -> Array:
        """Values and slopes of v."""
        return self._arrays.lines.v.T

    @property
    def g(self) -> Array:
        """Values and slopes of g."""
        return self._arrays.lines.g.T

    @property
    def fixed(self) -> Array:
        """The fixed values, as functions of mu."""
        return self._arrays.lines.fixed.T

    @property
    def lo(self) -> Array:
        """The lower ends of the dependent values, as functions of mu."""
        return self._arrays.lines.lo.T

    @property
    def hi(self) -> Array:
        """The upper ends of the dependent values, as functions of mu."""
        return self._arrays.lines.hi.T

    @property
    def decided(self) -> Array:
        """The ends that the solution of a tie has decided: the ratio test skips them."""
        return self._arrays.lines.decided

    def rebuild(self) -> None:
        """Recompute everything from the states and the data; v on R begins where it was."""
        unknown = self.lcp.is_unknown(self.states)
        R = np.flatnonzero(unknown)
        self._rebuild_inverse(R)
        self.v[~unknown] = self._centred(self.fixed[~unknown])
        self.counts[CHANGES] = 0
        self._compute_g()
        self._require_accuracy()
        self._arrays.numbers[SLOPE_CHANGE] = 0.0

    def move_to(self, mu: float) -> None:
        """Move the centre of all affine functions."""
        advance(self._arrays.lines, mu - self.mu)
        self._arrays.numbers[MU] = mu

    def _centred(self, lines: Array) -> Array:
        """Return functions of mu with their values at the centre."""
        return np.column_stack([lines[:, 0] + self.mu * lines[:, 1], lines[:, 1]])

    def _compute_g(self) -> None:
        lines, system, form = self._arrays.lines, self.lcp.system, self.lcp.form
        if is_low_rank(form, system.size) or self.inverse.has_blocks:
            recompute_g(form, self.lcp.q, self.arrays)
        else:
            for part, q in enumerate(self._centred(self.lcp.q).T):
                lines.g[part] = q + system.times(lines.v[part][:, None])[:, 0]
        self._arrays.numbers[SLOPE_CHANGE] = 0.0

    def symmetric_block(self, items: Array) -> Array:
        """Return the block of J M that belongs to some items."""
        return self.signs[items, None] * self.lcp.system.block(items, items)

    def _refine_lines(self, moved: Array = NO_ITEMS) -> None:
        """Move v on R so that g meets the fixed values there, after the v of some other items have moved."""
        refine(self.lcp.form, self.lcp.tables, self.arrays, moved)

    def _residual(self) -> Array:
        """Return by how much g misses the fixed values on R."""
        R = self.inverse.items
        return self._centred(self.fixed[R]) - self.g[R]

    def recompute(self) -> None:
        """Recompute v and g with the inverse as it is, or with a new one if that is not accurate enough."""
        if is_rebuild_due(self.arrays):
            self.rebuild()
            return
        self._compute_g()
        self._refine_lines()
        if np.isinf(self._arrays.numbers[SLOPE_CHANGE]):
            self.rebuild()

    def polish(self) -> None:
        """Solve for v on R once more, with residuals in extended precision.

        The error of v is that of the residual times the condition: without this, multipliers of nearly
        dependent rows lose as many digits as the condition has.
        """
        R = self.inverse.items
        # two rounds: each correction is only as accurate as the float64 inverse
        moving = np.union1d(R, np.flatnonzero(np.any(self.v, axis=1)))
        M = self.lcp.system.block(R, moving).astype(np.longdouble)
        target = self._centred(self.fixed[R]) - self._centred(self.lcp.q[R])
        for _ in range(2):
            rest = (target - M @ self.v[moving].astype(np.longdouble)).astype(float)
            self.v[R] += self.inverse.times(self.signs[R, None] * rest)
        self._compute_g()

    def _require_accuracy(self) -> None:
        """Refine until the residual is small; if that fails, the basis is singular in float64."""
        R = self.inverse.items
        if not len(R):
            return
        for _ in range(REFINEMENTS_PER_REBUILD):
            self._refine_lines()
            rest = np.max(np.abs(self._residual()), axis=0)
            size = np.max(np.abs(self.v), axis=0) + np.max(np.abs(self.g[R]), axis=0) + 1.0
            if np.all(rest <= ROUNDING * size):
                return
        if np.all(rest <= RESIDUAL_GROWTH * size):
            return
        raise self._singular()

    def _rebuild_inverse(self, R: Array) -> None:
        """Compute the inverse from scratch."""
        if self.inverse.has_blocks:
            self.inverse.rebuild_by_blocks(R)
            size = _size(self.lcp.tables.diagonal[R])  # S is semidefinite: its diagonal bounds its entries
        else:
            block = self.symmetric_block(R)
            self.inverse.rebuild(R, block)
            size = _size(block)
        # Written with `not`, so that NaN counts as singular.
        if not size * self.inverse.top() <= SINGULAR_BASIS:
            raise self._singular()

    def _singular(self) -> NumericalTroubleError:
        R = self.inverse.items
        condition = np.linalg.cond(self.symmetric_block(R))
        return NumericalTroubleError(
            "a basis is singular in float64 (condition {found})", found=f"{condition:.0e}", **EXACT_REMEDY
        )

    def restore(self, states: Array, v: Array) -> None:
        """Return to a basis whose successor float64 could not represent, with a larger zero tolerance."""
        self.states[:], self.v[:] = states, v
        self.singular *= COARSENING
        self._look_up()
        self.rebuild()

    def unknown_lines(self) -> Array:
        """Return v on R as functions of mu itself: constants and slopes."""
        centred = self.v[self.inverse.items]
        return np.column_stack([centred[:, 0] - self.mu * centred[:, 1], centred[:, 1]])

    def gaps(self) -> Array:
        """Return the centred distances of the dependent values from both ends of their ranges."""
        inside = (self.inverse.position >= 0)[:, None]
        dependent = np.where(inside, self.v, self.g)
        return np.stack([dependent - self._centred(self.lo), self._centred(self.hi) - dependent])

    def multipliers(self) -> Array:
        """Return the centred multipliers of all items: g of variables, v of rows."""
        is_row, multipliers = (self.lcp.is_row[:, None], np.where(self.lcp.is_row[:, None], self.v, self.g))
        free = np.where(is_row, self.v, self._centred(self.fixed))
        return np.where(VALUE_FIXED[self.states][:, None], multipliers, free)

    def change(self, items: Sequence[int], states: Sequence[int]) -> None:
        """Put items into other states; most of them enter or leave R by that."""
        for item, state in zip(items, states, strict=True):
            set_state(self.lcp.tables, self.arrays, item, state)
        chosen = [item for item in items if self._is_displaced(item)]
        # Where no single pivot can be trusted, the basis after all of them may still be regular when it is
        # inverted anew.
        if self.changes + len(items) > max(REBUILD_EVERY, self.inverse.count) or not self._pivot(chosen):
            self.rebuild()
            return
        self.counts[CHANGES] += len(items)
        left = [item for item in items if self.inverse.position[item] < 0]
        self._refine_lines(np.array(left) if left else NO_ITEMS)

    def _is_displaced(self, item: int) -> bool:
        """Return whether an item is in R and should not be, or the other way round."""
        is_unknown = bool(VALUE_FIXED[self.states[item]]) == bool(self.lcp.is_row[item])
        return is_unknown != bool(self.inverse.position[item] >= 0)

    def _pivot(self, waiting: list[int]) -> bool:
        """Let items enter or leave one by one while pivots can be trusted; return whether all did."""
        while waiting:
            # A pivot that is too small now may be large once another item has entered or left.
            done = next((item for item in waiting if self._pivot_on(item)), None)
            if done is None:
                return False
            waiting.remove(done)
        return True

    def _pivot_on(self, item: int) -> bool:
        inverse = self.inverse
        if inverse.position[item] >= 0:
            column = inverse.column(item)
            if abs(column[inverse.position[item]]) <= TRUSTED_PIVOT * np.abs(column).max():
                return False
            return inverse.leave(item)
        solved, schur, size = self.entering_pivot(item)
        if abs(schur) <= TRUSTED_PIVOT * size:
            return False
        return inverse.enter(item, solved, schur)

    def entering_pivot(self, item: int) -> tuple[Array, float, float]:
        """Return the column and pivot of an entering item, and the size of the terms of the pivot."""
        R = self.inverse.items
        column = self.signs[R] * column_of(self.lcp.form, R, item)
        corner = float(self.lcp.tables.diagonal[item])
        solved, schur = self.inverse.border(column, corner)
        size = abs(corner) + _size(column) * _size(solved)
        # A small pivot is a difference of large numbers: only there do the errors of the inverse matter.
        if len(R) and abs(schur) <= TRUSTED_PIVOT * size:
            solved = self.refined(self.signs[R, None] * column[:, None])[:, 0]
            schur = corner - float(column @ solved)
        return solved, schur, size

    def refined(self, right: Array) -> Array:
        """Return M_RR⁻¹ times a block, with one step of iterative refinement.

        A column that depends linearly on R is then recognised however ill-conditioned M_RR is.
        """
        signs = self.signs[self.inverse.items, None]
        solved = self.inverse.times(signs * right)
        return np.asarray(solved + self.inverse.times(signs * (right - self._product(solved))))

    def _product(self, block: Array) -> Array:
        """Return M_RR times a block."""
        R, lcp = self.inverse.items, self.lcp
        if self.inverse.has_blocks:
            return system_product(lcp.form, lcp.system.size, R, block)[R]
        return lcp.system.block(R, R) @ block


def _size(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))
