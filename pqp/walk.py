r"""The walk: one basis of the revised engine, its lines, and how they change from basis to basis.

R holds the items whose v is unknown: variables between their limits, rows held at a limit. With what is
held known as lines in the parameter, the unknown lines solve  M_RR v_R = g_R − q_R − M_RN v_N,  and every
other g follows by one product. Lines are centred at `mu`: values there, and slopes. A change of basis changes
slopes alone, but for round-off and jumps, so that values stay as good as they were; each change is also a
step of iterative refinement, and everything is computed anew after `REBUILD_EVERY` changes.

Room: states in; lines, gaps and the local dictionary out. Decides no step.
May touch: `errors`, `field`, `stairs`, `forms`, `kernels`, `scanning`, `blocks`, `inverse`, `system`,
`tracks`, `refinement`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pqp.blocks import blocks_of
from pqp.columns import column_of
from pqp.errors import NumericalTroubleError
from pqp.field import (
    HOPELESS,
    MORE_CAREFUL,
    REBUILD_EVERY,
    RESIDUAL_GROWTH,
    ROUNDING,
    SINGULAR,
    TRUSTED_PIVOT,
    Array,
)
from pqp.forms import NO_PART, Form, frozen, is_thin
from pqp.inverse import Inverse
from pqp.kernels import system_product
from pqp.refinement import correct, start_afresh
from pqp.scanning import advance
from pqp.stairs import PINNED, Stairs
from pqp.system import System
from pqp.tracks import CHANGES, MU, TURBULENCE, Tables, Track, is_due, new_track, put

LO, HI = 0, 1
NOTHING = np.empty(0, dtype=np.int64)
# Steps of iterative refinement a new basis is given: an inverse with four good digits needs three.
CORRECTIONS = 4


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
        if is_thin(form, system.size) or self.inverse.has_blocks:
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
        for _ in range(CORRECTIONS):
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
        if not size * self.inverse.top() <= HOPELESS:
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
        self.singular *= MORE_CAREFUL
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
