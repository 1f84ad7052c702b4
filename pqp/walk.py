r"""The walk: one basis of the revised engine, its lines, and how they change from basis to basis.

R holds the items whose v is unknown: variables between their limits, rows held at a limit. With what is
held known as lines in the parameter, the unknown lines solve  M_RR v_R = g_R − q_R − M_RN v_N,  and every
other g follows by one product. Both are corrected by what the last basis left over, so that each change is
also a step of iterative refinement; everything is computed anew after `REFRESH_EVERY` changes.

Room: states in; lines, gaps and the local dictionary out. Decides no step.
May touch: `errors`, `field`, `stairs`, `scanning`, `inverse`, `system`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pqp.errors import NumericalTroubleError
from pqp.field import (
    FLAT,
    ILL_CONDITIONED,
    MORE_CAREFUL,
    REBUILD_EVERY,
    RESIDUAL_GROWTH,
    SINGULAR,
    TRUSTED_PIVOT,
    TURBULENT,
    Array,
)
from pqp.inverse import Inverse
from pqp.scanning import correction, largest, left_over
from pqp.stairs import PINNED, Stairs
from pqp.system import System

LO, HI = 0, 1
NOTHING = np.empty(0, dtype=np.int64)
NO_LINES = np.empty((0, 2))
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

    def is_unknown(self, states: Array) -> Array:
        """Tell for which items v is unknown: variables that are not held, rows that are."""
        return PINNED[states] == self.is_row


class Walk:
    """A basis and its lines: v and g, what is held, and the ranges of what depends."""

    def __init__(self, setting: Setting, states: Array) -> None:
        self.setting = setting
        self.states = np.array(states, dtype=np.int8)
        self.inverse = Inverse(setting.system.size)
        self.signs = setting.system.signs
        self.changes = 0
        self.singular = SINGULAR
        self._reach_of = (-1, -1)
        self._everything = np.arange(setting.system.size)
        self.refresh()

    def refresh(self) -> None:
        """Compute everything from the states and the data."""
        stairs, states, everything = self.setting.stairs, self.states, self._everything
        self.held = stairs.held[states, everything]
        self.lo, self.hi = stairs.lo[states, everything], stairs.hi[states, everything]
        unknown = np.flatnonzero(self.setting.is_unknown(states))
        self.inverse.rebuild(unknown, self._symmetric_block(unknown))
        self.v = self.held.copy()
        self.v[unknown] = 0.0
        self.g = self.setting.q + self.setting.system.times(self.v)
        self.changes, self._reach_of, self.turbulence = 0, (-1, -1), 0.0
        self._solve()
        self._require_accuracy()

    def _symmetric_block(self, items: Array) -> Array:
        return self.signs[items, None] * self.setting.system.block(items, items)

    def _solve(self, moved: Array = NOTHING) -> None:
        """Move v on R so that g meets what is held there, after the v of some other items have moved."""
        R, system = self.inverse.items, self.setting.system
        rest, by = left_over(R, self.held, self.g), NO_LINES
        if len(moved):
            by = self.held[moved] - self.v[moved]
            self.v[moved] = self.held[moved]
            rest -= system.block(R, moved) @ by
        step, top = correction(self.inverse.values, R, self.signs, rest, self.v)
        self.turbulence = max(self.turbulence, top)
        if len(moved):
            R, step = np.concatenate([R, moved]), np.concatenate([step, by])
        self.g += system.product(R, step)

    def freshen(self) -> None:
        """Compute all lines anew with the inverse as it is, or that too if it is not good enough."""
        if not self.changes:
            return
        self.g = self.setting.q + self.setting.system.times(self.v)
        self.turbulence = 0.0
        self._solve()
        rest, R = left_over(self.inverse.items, self.held, self.g), self.inverse.items
        if not np.all(np.abs(rest) <= FLAT * (1.0 + np.abs(self.v[R]))):
            self.refresh()

    def polish(self) -> None:
        """Solve for v on R once more, with residuals in extended precision, if M_RR is ill-conditioned.

        Called before lines are handed out.

        The error of v is that of the residual times the condition: without this, multipliers of nearly
        dependent rows lose as many digits as the condition has.
        """
        if self.turbulence > TURBULENT and self.turbulence > TURBULENT * (1.0 + largest(self.v)):
            self.freshen()  # large numbers that came and went have left their rounding in g
        if largest(self.inverse.values) <= ILL_CONDITIONED:
            return
        R, everything = self.inverse.items, np.flatnonzero(np.any(self.v, axis=1))
        M = self.setting.system.block(R, everything).astype(np.longdouble)
        for _ in range(2):
            rest = self.held[R] - self.setting.q[R] - M @ self.v[everything].astype(np.longdouble)
            correction(self.inverse.values, R, self.signs, rest.astype(float), self.v)
        self.g = self.setting.q + self.setting.system.times(self.v)

    def _require_accuracy(self) -> None:
        """Correct until little is left over; a basis for which that fails is singular in float64."""
        R = self.inverse.items
        if not len(R):
            return
        for _ in range(CORRECTIONS):
            self._solve()
            rest = np.max(np.abs(self.held[R] - self.g[R]), axis=0)
            size = np.max(np.abs(self.v), axis=0) + np.max(np.abs(self.g[R]), axis=0) + 1.0
            if np.all(rest <= RESIDUAL_GROWTH * size):
                return
        condition = np.linalg.cond(self._symmetric_block(R))
        raise NumericalTroubleError(
            f'a basis is singular in float64 (condition {condition:.0e}); use arithmetic="exact"'
        )

    def go_back(self, states: Array) -> None:
        """Return to a basis that was left for one that float64 cannot carry, and be more careful there."""
        self.states[:] = states
        self.singular *= MORE_CAREFUL
        self.refresh()

    def gaps(self) -> Array:
        """Return the lines of the gaps of what depends to both ends of its range."""
        inside = (self.inverse.place >= 0)[:, None]
        dependent = np.where(inside, self.v, self.g)
        return np.stack([dependent - self.lo, self.hi - dependent])

    def gap(self, end: int, item: int) -> tuple[float, float]:
        """Return the line of one gap."""
        line = (self.v if self.inverse.place[item] >= 0 else self.g)[item].tolist()
        far = (self.lo if end == LO else self.hi)[item].tolist()
        sense = 1.0 if end == LO else -1.0
        return sense * (line[0] - far[0]), sense * (line[1] - far[1])

    @property
    def lines(self) -> tuple[Array, Array, Array]:
        """v, g and the places in R, as `scanning` takes them."""
        return self.v, self.g, self.inverse.place

    @property
    def ranges(self) -> tuple[Array, Array]:
        """The ends of all ranges, as `scanning` takes them."""
        return self.lo, self.hi

    def multipliers(self) -> Array:
        """Return the lines of the multipliers of all items: g of variables, v of rows."""
        is_row, multipliers = (
            self.setting.is_row[:, None],
            np.where(self.setting.is_row[:, None], self.v, self.g),
        )
        return np.where(PINNED[self.states][:, None], multipliers, np.where(is_row, self.v, self.held))

    def change(self, items: Sequence[int], states: Sequence[int]) -> None:
        """Put items on other steps; most of them enter or leave R by that."""
        for item, state in zip(items, states, strict=True):
            self._put(item, state)
        chosen = [item for item in items if self._is_displaced(item)]
        if self.changes + len(items) > max(REBUILD_EVERY, self.inverse.count) or not self._pivot(chosen):
            self.refresh()
            return
        self.changes += len(items)
        left = [item for item in items if self.inverse.place[item] < 0]
        self._solve(np.array(left) if left else NOTHING)

    def _put(self, item: int, state: int) -> None:
        stairs = self.setting.stairs
        self.states[item] = state
        self.held[item] = stairs.held[state, item]
        self.lo[item], self.hi[item] = stairs.lo[state, item], stairs.hi[state, item]

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
            self._reach_of = (-1, -1)
            waiting.remove(done)
        return True

    def _pivot_on(self, item: int) -> bool:
        inverse = self.inverse
        if inverse.place[item] >= 0:
            column = inverse.column(item)
            if abs(column[inverse.place[item]]) <= TRUSTED_PIVOT * np.abs(column).max():
                return False
            inverse.leave(item)
            return True
        solved, schur, size = self._reach(item)
        if abs(schur) <= TRUSTED_PIVOT * size:
            return False
        inverse.enter(item, solved, schur)
        return True

    def _reach(self, item: int) -> tuple[Array, float, float]:
        """Return what entering takes, and the size of the terms the pivot is the difference of."""
        if self._reach_of != (item, self.changes):
            self._reach_of, self._reach_kept = (item, self.changes), self._reached(item)
        return self._reach_kept

    def _reached(self, item: int) -> tuple[Array, float, float]:
        R, system = self.inverse.items, self.setting.system
        column = self.signs[R] * system.block(R, np.array([item]))[:, 0]
        corner = float(self.signs[item] * self.corners[item])
        solved, schur = self.inverse.reach(column, corner)
        size = abs(corner) + _size(column) * _size(solved)
        if len(R) and abs(schur) <= TRUSTED_PIVOT * size:
            solved = self._refined(self.signs[R, None] * column[:, None])[:, 0]
            schur = corner - float(column @ solved)
        return solved, schur, size

    @property
    def corners(self) -> Array:
        """The diagonal of M."""
        if not hasattr(self, "_corners"):
            self._corners = self.setting.system.diagonal()
        return self._corners

    def response(self, item: int) -> float:
        """Return Λ_ii: how what depends at an item follows what is held there; 0 if it does not."""
        inverse, p = self.inverse, self.inverse.place[item]
        if p >= 0:
            column = inverse.column(item)
            value, size = column[p], np.abs(column).max()
        else:
            _, value, size = self._reach(item)
        return 0.0 if abs(value) <= self.singular * size else float(value * self.signs[item])

    def dictionary(self, items: Array) -> Array:
        """Return Λ for the given items: how what depends at one follows what is held at another."""
        places = self.inverse.place[items]
        order = np.argsort(places < 0, kind="stable")  # those in R first
        inside, others = places[order][: int(np.sum(places >= 0))], items[order][int(np.sum(places >= 0)) :]
        Lambda, sizes = self._ordered_dictionary(inside, others)
        back = np.argsort(order)
        return np.where(np.abs(Lambda) <= self.singular * sizes, 0.0, Lambda)[back[:, None], back]

    def _ordered_dictionary(self, inside: Array, others: Array) -> tuple[Array, Array]:
        """Return Λ for places in R, then items outside, and the sizes of the terms of its entries."""
        inverse, system = self.inverse, self.setting.system
        K = inverse.values * self.signs[inverse.items]
        across, back = system.block(inverse.items, others), system.block(others, inverse.items)
        solved, corner = self._refined(across), system.block(others, others)
        height, width = _largest(K[inside], 1), _largest(solved, 0)
        count, size = len(inside), len(inside) + len(others)
        Lambda, sizes = np.empty((size, size)), np.empty((size, size))
        Lambda[:count, :count], Lambda[:count, count:] = K[inside[:, None], inside], -solved[inside]
        Lambda[count:, :count], Lambda[count:, count:] = back @ K[:, inside], corner - back @ solved
        sizes[:count, :count], sizes[:count, count:] = np.minimum.outer(height, height), width
        sizes[count:, :count] = width[:, None]
        sizes[count:, count:] = np.abs(corner) + np.multiply.outer(_largest(back, 1), width)
        return Lambda, sizes

    def _refined(self, right: Array) -> Array:
        """Return M_RR⁻¹ times a block, with one step of iterative refinement.

        What depends linearly on R is then recognised however ill-conditioned M_RR is.
        """
        R = self.inverse.items
        signs, S = self.signs[R, None], self._symmetric_block(R)
        solved = self.inverse.values @ (signs * right)
        return np.asarray(solved + self.inverse.values @ (signs * right - S @ solved))

    def column(self, item: int) -> Array:
        """Return how everything that depends follows what is held at one item."""
        inverse, system, R = self.inverse, self.setting.system, self.inverse.items
        p = inverse.place[item]
        alone = np.array([item])
        if p >= 0:
            step = inverse.values[:, p] * self.signs[item]
            change = system.product(R, step[:, None])[:, 0]
        else:
            step = -inverse.values @ (self.signs[R] * system.block(R, alone)[:, 0])
            change = system.product(np.append(R, item), np.append(step, 1.0)[:, None])[:, 0]
        change[R] = step
        return change


def _largest(values: Array, axis: int) -> Array:
    return np.abs(values).max(axis=axis, initial=0.0)


def _size(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))
