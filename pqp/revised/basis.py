r"""Tracks: the arrays a walk is made of, as compiled code takes them, and the smallest things done to them.

Refinement: v on R and all g after a change, corrected until no more than round-off is left over.

The walk: one basis of the revised engine, its lines, and how they change from basis to basis.

R holds the items whose v is unknown: variables between their limits, rows held at a limit. With what is
held known as lines in the parameter, the unknown lines solve  M_RR v_R = g_R − q_R − M_RN v_N,  and every
other g follows by one product. Lines are centred at `mu`: values there, and slopes. A change of basis changes
slopes alone, but for round-off and jumps, so that values stay as good as they were; each change is also a
step of iterative refinement, and everything is computed anew after `REBUILD_EVERY` changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pqp.errors import NumericalTroubleError
from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_inside
from pqp.linalg.kernels import add_products, column_of, system_product
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
from pqp.revised.block_inverse import blocks_of, top_of
from pqp.revised.inverse import Core, Inverse, solve
from pqp.revised.ratio_test import Lines, advance, terms_of
from pqp.revised.states import PINNED, Stairs

# Places of whole numbers that change: changes since everything was computed anew, pivots since the last line,
# the end that was reached first (-1 if none), events at this mu, items that moved since the last line.
CHANGES, PIVOTS, BLOCKING, STANDING, MOVED = range(5)
# Places of numbers that change: the centre of the lines, the largest step of a slope since all is fresh, and
# the largest values of v, of variables and then of rows, where ends were last looked for.
MU, TURBULENCE, HEIGHT = range(3)


class Tables(NamedTuple):
    """What never changes: staircases by step and item, which items are rows, J, and the diagonal of J M.

    Rows are plain if their values are made of the variables alone; with `is_still` the lines q do not move.
    """

    held: Array
    lo: Array
    hi: Array
    next_at_lo: Array
    next_at_hi: Array
    is_row: Array
    signs: Array
    corners: Array
    is_plain: bool
    is_still: bool


class Track(NamedTuple):
    """What changes: steps, inverse, lines, counters; `moved` and `before` are items since the last line."""

    states: Array
    core: Core
    lines: Lines
    counts: Array
    numbers: Array
    moved: Array
    before: Array
    found: Array


def new_track(states: Array, core: Core, mu: float) -> Track:
    """Return the track of a walk that begins at mu, without lines yet."""
    size = len(states)
    v, g, held, lo, hi = (np.zeros((2, size)) for _ in range(5))
    return Track(
        states,
        core,
        Lines(v, g, held, lo, hi, np.zeros((2, size), dtype=bool)),
        np.array([0, 0, -1, 0, 0]),
        np.array([mu, 0.0, 0.0, 0.0]),
        np.empty(size, np.int64),
        np.empty(size, np.int8),
        np.empty(2 * size + 1, np.int64),
    )


@compiled
def top_slope(track: Track, speed: float) -> float:
    """Return the largest slope of v; that of what is held is among the data's."""
    for k in range(track.core.used[0]):
        speed = max(speed, abs(track.lines.v[1, track.core.items[k]]))
    return speed


@compiled
def is_due(track: Track) -> bool:
    """Tell whether it is time to compute everything anew."""
    return track.counts[CHANGES] >= max(REBUILD_EVERY, track.core.used[0])


@compiled
def beyond(tables: Tables, state: int, item: int, at_hi: bool) -> tuple[int, int]:
    """Return the step beyond an end, and at which of its own ends it begins: 0 for `lo`, 1 for `hi`."""
    new = tables.next_at_hi[state, item] if at_hi else tables.next_at_lo[state, item]
    return new, 0 if tables.next_at_lo[new, item] == state else 1


@compiled
def put(tables: Tables, track: Track, item: int, state: int) -> None:
    """Put an item on a step, and note on which one it stood on the last line."""
    counts, lines = track.counts, track.lines
    known = False
    for k in range(counts[MOVED]):
        known = known or track.moved[k] == item
    if not known:
        track.moved[counts[MOVED]], track.before[counts[MOVED]] = item, track.states[item]
        counts[MOVED] += 1
    track.states[item] = state
    for part in range(2):
        lines.held[part, item] = tables.held[state, item, part]
        lines.lo[part, item] = tables.lo[state, item, part]
        lines.hi[part, item] = tables.hi[state, item, part]


# Steps of iterative refinement a change is given: an inverse with four good digits needs three.
CORRECTIONS = 3


@compiled
def start_afresh(form: Form, q: Array, track: Track) -> None:
    """Compute all g from v and the data."""
    mu, g = track.numbers[MU], track.lines.g
    for i in range(len(q)):
        g[0, i], g[1, i] = q[i, 0] + mu * q[i, 1], q[i, 1]
    add_products(form, np.arange(len(q)), track.lines.v, g)


@compiled
def correct(form: Form, tables: Tables, track: Track, moved: Array) -> None:
    """Move v on R so that g meets what is held there, after the v of some other items have moved."""
    lines, mu = track.lines, track.numbers[MU]
    by = np.empty((2, len(moved)))
    for k in range(len(moved)):
        held = lines.held[0, moved[k]] + mu * lines.held[1, moved[k]]
        by[0, k], by[1, k] = held - lines.v[0, moved[k]], lines.held[1, moved[k]] - lines.v[1, moved[k]]
        lines.v[0, moved[k]], lines.v[1, moved[k]] = held, lines.held[1, moved[k]]
    if tables.is_still and not np.any(lines.held[1]):
        _stand_still(lines, by)
    height = track.numbers[HEIGHT : HEIGHT + 2].copy()
    for k in range(track.core.used[0]):
        item = track.core.items[k]
        kind = 1 if tables.is_row[item] else 0
        height[kind] = max(height[kind], abs(lines.v[0, item]))
    slope = top_slope(track, 0.0) + top_of(by[1])
    terms = np.empty((2, 2))
    terms[0], terms[1] = terms_of((height[0], height[1]), tables.is_plain), slope
    _refine(form, tables, track, moved, by, terms)


@compiled_inside
def _stand_still(lines: Lines, by: Array) -> None:
    """Make all slopes 0, which they are where no datum moves: what was computed is round-off of earlier ones.

    On a last piece without end, an item would reach its end by that, however far out.
    """
    lines.v[1], lines.g[1], by[1] = 0.0, 0.0, 0.0


@compiled_inside
def _refine(form: Form, tables: Tables, track: Track, moved: Array, by: Array, terms: Array) -> None:
    """Correct values and slopes until no more than round-off of their terms is left over.

    If the steps of iterative refinement that are given to it are not enough, all is stale.
    """
    is_open = np.ones(2, dtype=np.bool_)
    for attempt in range(CORRECTIONS):
        if attempt:
            moved, by = moved[:0], by[:, :0]
        count, steps = track.core.used[0], np.zeros((2, track.core.used[0] + len(moved)))
        for part in range(2):
            rest = _left_over(track, part)
            is_moved = top_of(by[part]) > ROUNDING * terms[part, 0]
            is_open[part] &= is_moved or not _share(tables, track, rest, terms[part]) <= ROUNDING
            if is_open[part]:
                steps[part, count:] = by[part]
                is_open[part] = _find_step(form, tables, track, part, rest, moved, steps[part], terms[part])
        everything = np.concatenate((track.core.items[:count], moved))
        add_products(form, everything, steps, track.lines.g)
        if not np.any(is_open):
            return
        terms[1] = max(terms[1, 0], top_slope(track, 0.0))
    for part in range(2):
        share = _share(tables, track, _left_over(track, part), terms[part])
        if is_open[part] and not share <= REFINED:
            track.numbers[TURBULENCE] = np.inf


@compiled_inside
def _share(tables: Tables, track: Track, rest: Array, terms: Array) -> float:
    """Return what is left over on R, beside the terms of its kind."""
    share = 0.0
    for k in range(len(rest)):
        size = terms[1] if tables.is_row[track.core.items[k]] else terms[0]
        if abs(rest[k]) > share * size:
            share = abs(rest[k]) / size
    return share


@compiled_inside
def _left_over(track: Track, part: int) -> Array:
    """Return by how much the values, or the slopes, of g miss what is held on R."""
    lines, core = track.lines, track.core
    rest = np.empty(core.used[0])
    for k in range(len(rest)):
        i = core.items[k]
        held = lines.held[1, i] if part else lines.held[0, i] + track.numbers[MU] * lines.held[1, i]
        rest[k] = held - lines.g[part, i]
    return rest


@compiled_inside
def _find_step(
    form: Form,
    tables: Tables,
    track: Track,
    part: int,
    rest: Array,
    moved: Array,
    step: Array,
    terms: Array,
) -> bool:
    """Move v on R by what removes the rest, as far as the inverse knows, and write that; tell if it did.

    Values stay where they are if g is right but for round-off and v is not: it would only be amplified.
    """
    lines, core = track.lines, track.core
    R = core.items[: core.used[0]]
    for k in range(len(moved)):
        rest -= column_of(form, R, moved[k]) * step[len(R) + k]
    found = solve(core, tables.signs[R] * rest)
    if part == 0 and top_of(found) > TIE * terms[0] and _share(tables, track, rest, terms) <= TIE:
        return False
    for k in range(len(R)):
        step[k] = found[k]
        lines.v[part, R[k]] += found[k]
    if part == 1:
        track.numbers[TURBULENCE] = max(track.numbers[TURBULENCE], top_of(found))
    return True


LO, HI = 0, 1
NOTHING = np.empty(0, dtype=np.int64)
# Steps of iterative refinement a new basis is given: an inverse with four good digits needs three.
LINE_CORRECTIONS = 4


@dataclass(frozen=True, eq=False)
class Setting:
    """What a walk goes through: the system, the lines q, the staircases; which items are rows."""

    system: System
    q: Array
    stairs: Stairs
    is_row: Array

    @cached_property
    def speed(self) -> float:
        """The largest slope among the data."""
        parts = (self.q[:, 1], self.stairs.held[:, :, 1])
        return max(float(np.max(np.abs(part), initial=0.0)) for part in parts)

    @cached_property
    def form(self) -> Form:
        """M as compiled code takes it."""
        return self.system.form

    @cached_property
    def tables(self) -> Tables:
        """The staircases as compiled code takes them."""
        stairs, signs = self.stairs, self.system.signs
        return Tables(
            frozen(stairs.held),
            frozen(stairs.lo),
            frozen(stairs.hi),
            frozen(stairs.next_at_lo),
            frozen(stairs.next_at_hi),
            frozen(self.is_row),
            frozen(signs),
            frozen(signs * self.system.diagonal()),
            self.form.size < self.system.size and self.form.G.kind == NO_PART.kind,
            not np.any(self.q[:, 1]),
        )

    def is_unknown(self, states: Array) -> Array:
        """Tell for which items v is unknown: variables that are not held, rows that are."""
        return PINNED[states] == self.is_row


class Walk:
    """A basis and its lines v and g, centred at mu; what is held and the ranges of what depends, in mu."""

    def __init__(self, setting: Setting, states: Array, mu: float = 0.0) -> None:
        self.setting = setting
        size = setting.system.size
        self.states = np.array(states, dtype=np.int8)
        self.inverse = Inverse(size, blocks=blocks_of(setting.form, size))
        self.signs = setting.system.signs
        self.singular = SINGULAR
        self._track = new_track(self.states, self.inverse.core, mu)
        self._look_up()
        self.refresh()

    def _look_up(self) -> None:
        """Look up what is held and the ranges of what depends on all steps."""
        stairs, states, everything = self.setting.stairs, self.states, np.arange(len(self.states))
        self.held[:] = stairs.held[states, everything]
        self.lo[:], self.hi[:] = stairs.lo[states, everything], stairs.hi[states, everything]

    @property
    def track(self) -> Track:
        """What changes, as compiled code takes it."""
        return self._track._replace(core=self.inverse.core)

    @property
    def counts(self) -> Array:
        """Whole numbers that change, at the places `stepping` names."""
        return self._track.counts

    @property
    def mu(self) -> float:
        """The centre of the lines."""
        return float(self._track.numbers[MU])

    @property
    def changes(self) -> int:
        """How many items have changed their step since everything was computed anew."""
        return int(self.counts[CHANGES])

    @property
    def v(self) -> Array:
        """Values and slopes of v."""
        return self._track.lines.v.T

    @property
    def g(self) -> Array:
        """Values and slopes of g."""
        return self._track.lines.g.T

    @property
    def held(self) -> Array:
        """What is held, as lines in mu."""
        return self._track.lines.held.T

    @property
    def lo(self) -> Array:
        """The lower ends of what depends, as lines in mu."""
        return self._track.lines.lo.T

    @property
    def hi(self) -> Array:
        """The upper ends of what depends, as lines in mu."""
        return self._track.lines.hi.T

    @property
    def settled(self) -> Array:
        """The ends on which a verdict binds."""
        return self._track.lines.settled

    def refresh(self) -> None:
        """Compute everything from the states and the data, v on R beginning where it was."""
        unknown = self.setting.is_unknown(self.states)
        R = np.flatnonzero(unknown)
        self._rebuild(R)
        self.v[~unknown] = self._centred(self.held[~unknown])
        self.counts[CHANGES] = 0
        self._compute_g()
        self._require_accuracy()
        self._track.numbers[TURBULENCE] = 0.0

    def move_to(self, mu: float) -> None:
        """Move the centre of the lines."""
        advance(self._track.lines, mu - self.mu)
        self._track.numbers[MU] = mu

    def _centred(self, lines: Array) -> Array:
        """Return lines in mu with their values at the centre."""
        return np.column_stack([lines[:, 0] + self.mu * lines[:, 1], lines[:, 1]])

    def _compute_g(self) -> None:
        lines, system, form = self._track.lines, self.setting.system, self.setting.form
        if is_low_rank(form, system.size) or self.inverse.has_blocks:
            start_afresh(form, self.setting.q, self.track)
        else:
            for part, q in enumerate(self._centred(self.setting.q).T):
                lines.g[part] = q + system.times(lines.v[part][:, None])[:, 0]
        self._track.numbers[TURBULENCE] = 0.0

    def symmetric_block(self, items: Array) -> Array:
        """Return the block of J M that belongs to some items."""
        return self.signs[items, None] * self.setting.system.block(items, items)

    def _correct(self, moved: Array = NOTHING) -> None:
        """Move v on R so that g meets what is held there, after the v of some other items have moved."""
        correct(self.setting.form, self.setting.tables, self.track, moved)

    def _left_over(self) -> Array:
        """Return by how much g misses what is held on R."""
        R = self.inverse.items
        return self._centred(self.held[R]) - self.g[R]

    def freshen(self) -> None:
        """Compute all lines anew with the inverse as it is, or that too if it is not good enough."""
        if is_due(self.track):
            self.refresh()
            return
        self._compute_g()
        self._correct()
        if np.isinf(self._track.numbers[TURBULENCE]):
            self.refresh()

    def polish(self) -> None:
        """Solve for v on R once more, with residuals in extended precision.

        The error of v is that of the residual times the condition: without this, multipliers of nearly
        dependent rows lose as many digits as the condition has.
        """
        R = self.inverse.items
        moving = np.union1d(R, np.flatnonzero(np.any(self.v, axis=1)))
        M = self.setting.system.block(R, moving).astype(np.longdouble)
        target = self._centred(self.held[R]) - self._centred(self.setting.q[R])
        for _ in range(2):
            rest = (target - M @ self.v[moving].astype(np.longdouble)).astype(float)
            self.v[R] += self.inverse.times(self.signs[R, None] * rest)
        self._compute_g()

    def _require_accuracy(self) -> None:
        """Correct until little is left over; a basis for which that fails is singular in float64."""
        R = self.inverse.items
        if not len(R):
            return
        for _ in range(LINE_CORRECTIONS):
            self._correct()
            rest = np.max(np.abs(self._left_over()), axis=0)
            size = np.max(np.abs(self.v), axis=0) + np.max(np.abs(self.g[R]), axis=0) + 1.0
            if np.all(rest <= ROUNDING * size):
                return
        if np.all(rest <= RESIDUAL_GROWTH * size):
            return
        raise self._singular()

    def _rebuild(self, R: Array) -> None:
        """Compute the inverse anew."""
        if self.inverse.has_blocks:
            self.inverse.rebuild_by_blocks(R)
            size = _size(self.setting.tables.corners[R])  # S is semidefinite
        else:
            block = self.symmetric_block(R)
            self.inverse.rebuild(R, block)
            size = _size(block)
        if not size * self.inverse.top() <= SINGULAR_BASIS:
            raise self._singular()

    def _singular(self) -> NumericalTroubleError:
        R = self.inverse.items
        condition = np.linalg.cond(self.symmetric_block(R))
        return NumericalTroubleError(
            f'a basis is singular in float64 (condition {condition:.0e}); use arithmetic="exact"'
        )

    def go_back(self, states: Array, v: Array) -> None:
        """Return to a basis that was left for one that float64 cannot carry, and be more careful there."""
        self.states[:], self.v[:] = states, v
        self.singular *= COARSENING
        self._look_up()
        self.refresh()

    def unknown_lines(self) -> Array:
        """Return the lines of v on R in mu itself: constants and slopes."""
        centred = self.v[self.inverse.items]
        return np.column_stack([centred[:, 0] - self.mu * centred[:, 1], centred[:, 1]])

    def gaps(self) -> Array:
        """Return the centred lines of the gaps of what depends to both ends of its range."""
        inside = (self.inverse.place >= 0)[:, None]
        dependent = np.where(inside, self.v, self.g)
        return np.stack([dependent - self._centred(self.lo), self._centred(self.hi) - dependent])

    def multipliers(self) -> Array:
        """Return the centred lines of the multipliers of all items: g of variables, v of rows."""
        is_row, multipliers = (
            self.setting.is_row[:, None],
            np.where(self.setting.is_row[:, None], self.v, self.g),
        )
        free = np.where(is_row, self.v, self._centred(self.held))
        return np.where(PINNED[self.states][:, None], multipliers, free)

    def change(self, items: Sequence[int], states: Sequence[int]) -> None:
        """Put items on other steps; most of them enter or leave R by that."""
        for item, state in zip(items, states, strict=True):
            put(self.setting.tables, self.track, item, state)
        chosen = [item for item in items if self._is_displaced(item)]
        if self.changes + len(items) > max(REBUILD_EVERY, self.inverse.count) or not self._pivot(chosen):
            self.refresh()
            return
        self.counts[CHANGES] += len(items)
        left = [item for item in items if self.inverse.place[item] < 0]
        self._correct(np.array(left) if left else NOTHING)

    def _is_displaced(self, item: int) -> bool:
        """Tell whether an item is in R and should not be, or the other way round."""
        is_unknown = bool(PINNED[self.states[item]]) == bool(self.setting.is_row[item])
        return is_unknown != bool(self.inverse.place[item] >= 0)

    def _pivot(self, waiting: list[int]) -> bool:
        """Let items enter or leave one by one while pivots can be trusted; tell whether all did."""
        while waiting:
            done = next((item for item in waiting if self._pivot_on(item)), None)
            if done is None:
                return False
            waiting.remove(done)
        return True

    def _pivot_on(self, item: int) -> bool:
        inverse = self.inverse
        if inverse.place[item] >= 0:
            column = inverse.column(item)
            if abs(column[inverse.place[item]]) <= TRUSTED_PIVOT * np.abs(column).max():
                return False
            return inverse.leave(item)
        solved, schur, size = self.reach(item)
        if abs(schur) <= TRUSTED_PIVOT * size:
            return False
        return inverse.enter(item, solved, schur)

    def reach(self, item: int) -> tuple[Array, float, float]:
        """Return what entering takes, and the size of the terms the pivot is the difference of."""
        R = self.inverse.items
        column = self.signs[R] * column_of(self.setting.form, R, item)
        corner = float(self.setting.tables.corners[item])
        solved, schur = self.inverse.reach(column, corner)
        size = abs(corner) + _size(column) * _size(solved)
        if len(R) and abs(schur) <= TRUSTED_PIVOT * size:
            solved = self.refined(self.signs[R, None] * column[:, None])[:, 0]
            schur = corner - float(column @ solved)
        return solved, schur, size

    def refined(self, right: Array) -> Array:
        """Return M_RR⁻¹ times a block, with one step of iterative refinement.

        What depends linearly on R is then recognised however ill-conditioned M_RR is.
        """
        signs = self.signs[self.inverse.items, None]
        solved = self.inverse.times(signs * right)
        return np.asarray(solved + self.inverse.times(signs * (right - self._product(solved))))

    def _product(self, block: Array) -> Array:
        """Return M_RR times a block."""
        R, setting = self.inverse.items, self.setting
        if self.inverse.has_blocks:
            return system_product(setting.form, setting.system.size, R, block)[R]
        return setting.system.block(R, R) @ block


def _size(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))
