"""The event loop of the revised engine: parametric pivoting on a factorised basis.

`Tracer.run` is the algorithm: follow the affine solution of a basis to the first end that is reached; let the
items that tie there change their states; go on. R holds the items whose v is unknown: variables between their
bounds, rows that are active. With all fixed values known as affine functions of mu the unknown ones solve

    M_RR v_R = g_R - q_R - M_RN v_N

and every other g follows by one product. Lines are centred: a value at the present mu, and a slope. An event
costs one solve with the basis for the response of the unknowns to one item, and one product for that of all
others; everything is recomputed from the data after `REBUILD_EVERY` changes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.lcp.pivot_log import Crossing, Entry
from pqp.lcp.problem import PerturbedMu
from pqp.linalg.field import Array
from pqp.linalg.tolerances import (
    CLOSING,
    FLAT,
    INVERSE_LOSS,
    LOSS_SINCE_REBUILD,
    NO_DIGITS,
    NOISE,
    PASSED,
    PIVOT_ON_RAY,
    REBUILD_EVERY,
    REFINED,
    RESIDUAL_GROWTH,
    ROUNDING,
    STEEP_FALL,
    STILL,
    TIE,
    TINY,
    TRUSTED_PIVOT,
)
from pqp.records.result import TraceCounts
from pqp.revised.basis import BasisFactor, Direction, SingularBasisError
from pqp.revised.basis_choice import basis_of
from pqp.revised.degeneracy import MOST_REFINEMENTS, Tie, solve_tie
from pqp.revised.event_kernel_choice import KERNELS, Clock
from pqp.revised.event_kernels import (
    AT_HI,
    AT_LO,
    DUAL,
    FIXED_SLOPE,
    G_SLOPE,
    HI_SLOPE,
    INSIDE,
    LO_SLOPE,
    SLOPE,
    VALUE,
    apply,
)
from pqp.revised.event_kernels import HI as HI_LINE
from pqp.revised.event_kernels import LO as LO_LINE
from pqp.revised.pieces import Piece, PieceRecord
from pqp.revised.states import FIXED, HI, LO, RANGE, STATE_NAMES, VALUE_FIXED, MixedLCP
from pqp.stopping import Watch

# More changes in one tie than this many per tied item are left to the local problem.
TIES_PER_ITEM = 4
# More events and ties at one mu than this many per item, and a few, mean cycling.
ATTEMPTS_PER_ITEM, FEW_ATTEMPTS = 1, 50
# A tie is large with more items than this. At the beginning of an interval it counts if more than a few of
# them close; at the end, if it is as close to the stop as this part of the largest mu.
LARGE_TIE, FEW_CLOSING, CLOSE_TO_STOP = 64, 4, 1e-8
# An end this many times farther away than mu itself is far out.
FAR_OUT = 1e6
# With fewer ends, one after the other is looked at faster than all of them by numpy.
MANY_ENDS = 24
# Kernels are exchanged for compiled ones, if that pays, every so many events.
LOOK_AT_CLOCK_EVERY = 100


@dataclass(frozen=True)
class TraceSettings:
    """How carefully a trace goes: what counts as a tie, and how often everything is recomputed.

    A trace with more than `most_events` raises `TooManyEventsError`.
    """

    tie: float = TIE
    rebuild_every: int = REBUILD_EVERY
    most_events: float = math.inf


@dataclass(frozen=True)
class UnblockedRay:
    """Beyond `mu` nothing blocks the movement of the item: there is no solution."""

    mu: float
    item: int
    sense: int


class TooManyEventsError(Exception):
    """A trace has more events than its settings allow."""


class LargeTieError(Exception):
    """Too many items tie where a trace begins: it should begin elsewhere."""


class Tracer:
    """A basis with its lines, which moves along mu.

    With names, every event is settled as a tie and logged. Finished pieces are appended to `pieces`. A basis
    of the same states is taken over if there is one.
    """

    def __init__(
        self,
        lcp: MixedLCP,
        states: Array,
        mu: float,
        settings: TraceSettings | None = None,
        names: Sequence[str] | None = None,
        basis: BasisFactor | None = None,
    ) -> None:
        self.lcp, self.system = lcp, lcp.system
        self.mu = mu
        self.states = states.astype(np.int8)
        self.settings = settings or TraceSettings()
        self.names = names
        self.log: list[Entry] = []
        self.pieces = PieceRecord()
        self.counts = TraceCounts()
        self.pivots = 0
        size = len(states)
        self.lines = np.zeros((8, size))
        self.flags = np.zeros((4, size), dtype=bool)
        self._found = np.empty(2 * size, dtype=np.int64)
        self._room = np.array([0.0, 0.0, min(ROUNDING, self.settings.tie)])
        self._tops = np.zeros((2, 4))
        self._flat = (0.0, 0.0)
        self._changed: dict[int, int] = {}
        self._attempts = 0
        self._stop = mu
        self._blocking = -1
        self._inverse_loss = INVERSE_LOSS
        # The steepest slope since all values were computed from the data.
        self._steepest = 0.0
        self._pinned: set[int] = set()
        self._direction = 1
        self.basis = basis or basis_of(self.system, np.flatnonzero(lcp.is_unknown(self.states)))
        self.recompute()

    # ---- the loop ----

    def run(
        self, stop: float, watch: Watch | None = None, keep_pieces: bool = True, first_tie: bool = False
    ) -> UnblockedRay | None:
        """Trace to a mu; return the ray that shows that there is no solution beyond, if there is one.

        With `first_tie`, a large tie at the beginning raises `LargeTieError`: it should begin elsewhere.
        """
        self._direction = direction = 1 if stop >= self.mu else -1
        self._stop = stop
        mu_scale = abs(self.mu) + abs(stop) if math.isfinite(stop) else 0.0
        clock = Clock()
        self._attempts = 0
        ray = self._change_basis(watch, refuse_large=first_tie)
        while ray is None and self.mu != stop:
            if watch is not None:
                watch.check()
            if self.counts.events > self.settings.most_events:
                raise TooManyEventsError
            distance, blocking = self._ratio_test(stop)
            if not distance < abs(stop - self.mu) - TIE * mu_scale:
                self._record(stop, watch, keep_pieces)
                self._move(stop)
                break
            end = self.mu
            if distance > 0.0:
                end += direction * distance
                if end != self.mu:
                    self._record(end, watch, keep_pieces)
                    self._attempts = 0
            self._count_attempt()
            self._blocking = blocking
            tied = self._move(end)
            if len(tied) > LARGE_TIE and abs(stop - end) <= CLOSE_TO_STOP * mu_scale:
                # Where all limits meet, as at C = 0, the order of what ties just before is rounding error.
                raise no_progress("many items tie close to the end of the interval, at mu = {found}", end)
            if tied == [blocking] and self.names is None:
                ray = self._cross_alone(blocking, watch)
            else:
                ray = self._settle(tied, blocking, watch)
            self.counts.events += 1
            changes = self.basis.changes
            if changes >= self.settings.rebuild_every and changes >= len(self.basis.items):
                self.rebuild()
            if self.counts.events % LOOK_AT_CLOCK_EVERY == 0:
                clock.tick()
        clock.tick()
        return ray

    def _ratio_test(self, stop: float) -> tuple[float, int]:
        """Return the distance to the first end on the way, and its number, -1 if there is none."""
        ratio_test, flat = KERNELS.current.ratio_test, self._flat
        distance, end = ratio_test(self.lines, self.flags, self.mu, self._direction, *flat)
        if distance > FAR_OUT * (1.0 + abs(self.mu)) and math.isinf(stop):
            # Without a stop, rounding errors of slopes would reach an end somewhere.
            still = (STILL / FLAT * flat[0], STILL / FLAT * flat[1])
            distance, end = ratio_test(self.lines, self.flags, self.mu, self._direction, *still)
        return distance, end

    def _move(self, mu: float) -> list[int]:
        """Move to mu; return the ends that are reached there, the least first."""
        lines, flags, found = self.lines, self.flags, self._found
        distance, tie = mu - self.mu, self.settings.tie
        count = KERNELS.current.move(
            lines, flags, self.basis.items, distance, mu, tie, self._tops, self._room, found
        )
        self.mu = mu
        # In one order, whichever kernel listed them: ties are settled by the least index.
        return sorted(found[:count].tolist())

    def _record(self, end: float, watch: Watch | None, keep: bool) -> None:
        """Append the piece from the present mu to `end`."""
        if not keep:
            return
        pivots, items = self.pivots, self.basis.items
        unknowns, values = self.pieces.room(len(items))
        KERNELS.current.record(self.lines, items, self.mu, unknowns, values)
        if math.isinf(end):
            # Nothing but rounding error moves this slowly, and it would have no end.
            slow = STILL / FLAT * np.array(self._flat)
            is_still = np.abs(values[:, 1]) <= slow[self.flags[DUAL, items].astype(int)]
            values[is_still] = np.column_stack([self.lines[VALUE, items], np.zeros(len(items))])[is_still]
        self.pieces.append(self.mu, end, self._changed, self.states, len(items), self.system.is_sparse)
        self._changed.clear()
        self.pivots = 0
        # Counted when it is kept: a callback may interrupt, and the piece should not be lost.
        if watch is not None:
            watch.piece(end, pivots)

    def point(self) -> Piece:
        """Return the solution at the present mu as a piece of length 0."""
        items = self.basis.items.copy()
        slopes = self.lines[SLOPE, items]
        values = np.column_stack([self.lines[VALUE, items] - self.mu * slopes, slopes])
        return Piece(self.mu, self.mu, self.states.copy(), items, values)

    # ---- everything from the data ----

    def rebuild(self) -> None:
        """Factorise the basis anew and recompute all lines."""
        self.counts.refactorisations += 1
        self._inverse_loss = INVERSE_LOSS
        self.basis = basis_of(self.system, np.flatnonzero(self.flags[INSIDE]), self.basis)
        self.recompute()

    def recompute(self) -> None:
        """Compute all lines at the present mu from the data and the basis."""
        system, signs, mu = self.system, self.system.signs, self.mu
        table = self.lcp.table.of(self.states)
        # Rows are constant and slope: what is reduced item by item should lie side by side.
        centre = np.array([[1.0, mu], [0.0, 1.0]])
        fixed, q = centre @ table[FIXED], centre @ self.lcp.q.T
        R = self.basis.items
        self.flags[INSIDE] = False
        self.flags[INSIDE, R] = True
        self.flags[DUAL] = VALUE_FIXED[self.states]
        # Values do not jump where bases meet, and to solve for them again costs the digits that a basis close
        # to singular lacks: what they leave over is rounding error, what it would move them by is not.
        solved = np.stack([self.lines[VALUE, R], np.zeros(len(R))])
        v = fixed.copy()
        v[:, R] = solved
        g = system.times(v.T).T + q
        goal, kept = fixed[:, R], (solved[0].copy(), g[0].copy())
        fit, scale = np.abs(goal[0] - g[0, R]).max(initial=0.0), 2 * np.abs(fixed).max(axis=1, initial=0.0)
        for attempt in range(4):
            rest = goal - g[:, R]
            size = np.abs(solved).max(axis=1, initial=0.0) + scale
            left = np.abs(rest).max(axis=1, initial=0.0)
            if attempt == 1 and self._is_spoilt(left, size):
                self.rebuild()
                return
            # Always one step of refinement: small unknowns beside large ones need it.
            if not len(R) or (attempt > 1 and np.all(left <= REFINED * size)):
                break
            if attempt == 3:
                if not np.all(left <= RESIDUAL_GROWTH * size):
                    self._rebuild_once()
                    return
                break
            steps = self.basis.solve((signs[R] * rest).T).T
            solved += steps
            for line, step in zip(g, steps, strict=True):
                line += self.basis.product(np.ascontiguousarray(step))
        moved = np.abs(solved[0] - kept[0]).max(initial=0.0)
        if fit <= ROUNDING * size[0] and moved > TIE * size[0]:
            solved[0], g[0] = kept
            # A fresh factorisation shows if it is singular.
            if self.basis.changes or moved > NO_DIGITS * size[0]:
                self._rebuild_once()
                return
        if left[0] > max(fit, ROUNDING * size[0]):
            self._rebuild_once()
            return
        self.lines[VALUE : SLOPE + 1] = g
        self.lines[VALUE : SLOPE + 1, R] = solved
        self.lines[2:6] = table[RANGE]
        self.lines[G_SLOPE], self.lines[FIXED_SLOPE] = g[1], fixed[1]
        self._steepest = 0.0
        self._set_tolerances(np.abs(table[FIXED]))

    def _values_fit(self) -> bool:
        """Return whether the values at the present mu solve their equations; if so, forget steep slopes."""
        at, R = np.array([1.0, self.mu]), self.basis.items
        fixed = at @ self.lcp.table.of(self.states)[FIXED]
        v = fixed.copy()
        v[R] = self.lines[VALUE, R]
        g = self.system.times(v) + self.lcp.q @ at
        fits = np.abs(fixed[R] - g[R]).max(initial=0.0) <= REFINED * np.abs(v).max(initial=0.0)
        if fits:
            self._steepest = 0.0
        return bool(fits)

    def _is_spoilt(self, left: Array, size: Array) -> bool:
        """Return whether the changes of the basis have cost so many digits that it should be rebuilt.

        What a single solve leaves over tells. A fresh factorisation says how much is the matrix itself.
        """
        loss = float(np.max(left / np.maximum(size, TINY)))
        if self.basis.changes:
            return loss > self._inverse_loss
        self._inverse_loss = max(INVERSE_LOSS, LOSS_SINCE_REBUILD * loss)
        return False

    def _rebuild_once(self) -> None:
        """Rebuild a basis that does not solve its equations; a fresh one is singular in float64."""
        if not self.basis.changes:
            raise SingularBasisError
        self.rebuild()

    def _set_tolerances(self, fixed: Array) -> None:
        """Set what counts as flat, and how large fixed values of v are, from the sizes of the numbers."""
        is_row, R, outside = self.system.is_row, self.basis.items, ~self.flags[INSIDE]
        rows, costs = self.lcp.offset_tops
        # What counts as tied is a share of the largest v of its kind, or the rounding error of a product with
        # costs, or offsets of rows, among its terms.
        for place, kind in enumerate((~is_row & outside, is_row & outside)):
            self._tops[:, place] = fixed.max(axis=1, initial=0.0, where=kind)
        self._tops[:, 2], self._tops[:, 3] = rows, costs
        # Only data that are in use: a limit far away may move in units of its own.
        is_value = self.flags[DUAL]
        self._data_tops = (
            max(float(fixed[1].max(initial=0.0, where=is_value)), rows[1]),
            max(float(fixed[1].max(initial=0.0, where=~is_value)), costs[1]),
        )
        slopes, dual = np.abs(self.lines[SLOPE, R]), is_row[R]
        self._set_flat(float(slopes[~dual].max(initial=0.0)), float(slopes[dual].max(initial=0.0)))

    def _set_flat(self, primal_top: float, dual_top: float) -> float:
        """Set which slopes are rounding error: of values and of multipliers, which have different units.

        Return the largest slope of either kind.
        """
        primal, dual = self._data_tops
        self._steepest = max(self._steepest, primal_top, dual_top)
        primal, dual = max(primal_top, primal), max(dual_top, dual)
        # Slopes of either kind are sums in which those of the other may cancel.
        largest = max(primal, dual)
        noise = NOISE * largest
        self._flat = max(FLAT * primal, noise), max(FLAT * dual, noise)
        return largest

    def gaps(self) -> Array:
        """Return how far all dependent quantities are from `lo` and from `hi` at the present mu."""
        low, high = (self.lines[end] + self.mu * self.lines[end + 1] for end in (2, 4))
        return np.stack([self.lines[VALUE] - low, high - self.lines[VALUE]])

    def falls(self, end: int) -> float:
        """Return how fast the gap at an end, given by its number, closes; -inf if there is no end."""
        at_hi, i = divmod(end, len(self.states))
        item, row = self.lines.item, HI_LINE if at_hi else LO_LINE
        if math.isinf(item(row, i)):
            return -math.inf
        fall = item(row + 1, i) - item(SLOPE, i)
        return (-fall if at_hi else fall) * self._direction

    def is_falling(self, end: int) -> bool:
        """Return whether the gap at an end closes, beyond rounding error."""
        return self.falls(end) > self._flat[self.flags.item(DUAL, end % len(self.states))]

    def _closing(self, ends: list[int]) -> list[int]:
        """Return the ends whose gaps close, beyond rounding error."""
        if len(ends) < MANY_ENDS:
            return [end for end in ends if self.is_falling(end)]
        at_hi, items = np.divmod(ends, len(self.states))
        lines = self.lines[:, items]
        fall = np.where(at_hi, lines[SLOPE] - lines[HI_SLOPE], lines[LO_SLOPE] - lines[SLOPE])
        limit = np.where(at_hi, lines[HI_LINE], lines[LO_LINE])
        flat = np.where(self.flags[DUAL, items], self._flat[1], self._flat[0])
        closes = np.isfinite(limit) & (fall * self._direction > flat)
        return [end for end, is_such in zip(ends, closes.tolist(), strict=True) if is_such]

    # ---- changes of the basis ----

    def _cross_alone(self, end: int, watch: Watch | None) -> UnblockedRay | None:
        """Let the only item at an end change its state."""
        begins = self._cross(end)
        if begins is None:
            return self._change_basis(watch)
        other = self._also_at_other_end(begins)
        return self._settle([begins, *other], begins, watch) if other or self.is_falling(begins) else None

    def _settle(self, tied: list[int], blocking: int, watch: Watch | None) -> UnblockedRay | None:
        """Let what reached its end change its state: one by one while that is clear, else as a whole."""
        size = len(self.states)
        if blocking not in tied:
            tied.append(blocking)
            self.flags[AT_LO + blocking // size, blocking % size] = True
        if len(tied) > 1:
            self.counts.ties += 1
            self.counts.largest_tie = max(self.counts.largest_tie, len(tied))
        if self.names is not None:
            return self._change_basis(watch)
        # The least of those that close crosses first: the criss-cross rule on diagonal pivots.
        for _ in range(TIES_PER_ITEM * len(tied) + TIES_PER_ITEM):
            if watch is not None:
                watch.check()
            closing = self._closing(tied)
            if not closing:
                return None
            least = min(closing, key=lambda end: end % size)
            begins = self._cross(least)
            if begins is None:
                return self._change_basis(watch)
            # Its other ends belong to the state it has left.
            item = least % size
            tied = [end for end in tied if end % size != item]
            tied += [begins, *self._also_at_other_end(begins)]
        return self._change_basis(watch)

    def _also_at_other_end(self, end: int) -> list[int]:
        """Return the other end of the range of an item if that has no width at the present mu."""
        size, item = len(self.states), self.lines.item
        at_hi, i = divmod(end, size)
        low, high = item(LO_LINE, i), item(HI_LINE, i)
        if math.isinf(low) or math.isinf(high):
            return []
        low += self.mu * item(LO_SLOPE, i)
        high += self.mu * item(HI_SLOPE, i)
        room = self._room.item(int(self.flags[DUAL, i])) + self.settings.tie * (abs(low) + abs(high))
        if not high - low <= room:
            return []
        self.flags[AT_LO : AT_HI + 1, i] = True
        return [(1 - at_hi) * size + i]

    def _cross(self, end: int) -> int | None:
        """Let one item cross its end; return the end at which its new state begins.

        Return None, with nothing changed, if its pivot is too small to be trusted.
        """
        basis, table, lines = self.basis, self.lcp.table, self.lines
        at_hi, i = divmod(end, len(self.states))
        old = self.states.item(i)
        new, sign = table.following.item(at_hi, old, i), self.system.signs.item(i)
        direction = basis.direction(i)
        if not direction.pivot * sign > TRUSTED_PIVOT * direction.size:
            return None
        t = (table.lines.item(new, 1, i) - lines.item(SLOPE, i)) / direction.pivot
        if self.flags.item(INSIDE, i):
            entering, leaving, items = [], [i], basis.items
            steps = t * direction.steps
            change = basis.product(steps)
        else:
            entering, leaving, items = [i], [], basis.items_and(i)
            steps = (t * sign) * direction.steps
            change = basis.product(steps, i)
        begins = LO if table.following.item(LO, new, i) == old else HI
        is_dual, pushed = bool(VALUE_FIXED[new]), sign * t
        rest, primal_top, dual_top = KERNELS.current.cross(
            lines, self.flags, table.lines, items, steps, change,
            i, (old, new), is_dual, begins, self.mu, pushed,
        )  # fmt: skip
        basis.change(entering, leaving, direction)
        self._changed.setdefault(i, old)
        self.pivots += 1
        self.states[i] = new
        largest = self._set_flat(primal_top, dual_top)
        if max(primal_top, dual_top) * STEEP_FALL < self._steepest and not self._values_fit():
            # On a very steep piece a rounding error of mu itself has moved all values.
            self.recompute()
        elif rest > ROUNDING * largest:
            if basis.changes and rest > self._inverse_loss * KERNELS.current.largest(steps):
                # Small pivots have spoilt the inverse: the next pivots read off it would be wrong.
                self.rebuild()
            else:
                self._refine_slopes()
        return begins * len(self.states) + i

    def _refine_slopes(self) -> None:
        """Correct the slopes by what they leave over on R."""
        self.counts.refinements += 1
        R, lines = self.basis.items, self.lines
        rest = lines[FIXED_SLOPE, R] - lines[G_SLOPE, R]
        steps = self.basis.solve(self.system.signs[R] * rest)
        change = self.basis.product(steps)
        _, *tops = apply(lines, self.flags, R, steps, change)
        self._set_flat(*tops)

    def _change_basis(self, watch: Watch | None, refuse_large: bool = False) -> UnblockedRay | None:
        """Settle all that ties at the present mu by a local problem, with rays, until no gap closes.

        With `refuse_large`, a large tie raises `LargeTieError`.
        """
        if self.basis.changes:
            self.recompute()
            self._correct_breakpoint()
        self._pinned.clear()
        while True:
            if watch is not None:
                watch.check()
            self._count_attempt()
            tie = self._tie()
            if not tie.is_falling:
                return None
            closing = sum(slope < 0 for slope in tie.slopes)
            if refuse_large and len(tie.items) > LARGE_TIE and closing > FEW_CLOSING:
                raise LargeTieError
            solution = solve_tie(self, tie, self.names, (lambda: None) if watch is None else watch.check)
            place = PerturbedMu(self.mu, self._direction)
            self.log += [replace(pivot, place=place) for pivot in solution.pivots]
            if solution.infeasible is not None and tie.items[solution.infeasible] in [
                tie.items[k] for k in solution.crossed if k != solution.infeasible
            ]:
                raise no_progress("an item is at both its bounds at mu = {found} (float64 rounding)", self.mu)
            ends, items = ([part[k] for k in solution.crossed] for part in (tie.ends, tie.items))
            self._cross_together(ends, items, "event", len(tie.items))
            if solution.infeasible is None:
                return None
            item, end = tie.items[solution.infeasible], tie.ends[solution.infeasible]
            ray = self._follow_ray(item, 1 if end == LO else -1)
            if ray is not None:
                return ray

    def _correct_breakpoint(self) -> None:
        """Put the breakpoint that was just reached where recomputed lines have it.

        Rounding errors of the lines since they were last computed have moved it by some 1e-14. Where the next
        piece is a million times as steep, they would be seen there.
        """
        pieces, size = self.pieces, len(self.states)
        if self._attempts != 1 or not pieces or pieces.ends[-1] != self.mu:
            return
        end = self._blocking
        falls = self.falls(end)
        if not self.is_falling(end):
            return
        shift = self._direction * float(self.gaps()[divmod(end, size)]) / falls
        mu = self.mu + shift
        is_inside = (mu - pieces.starts[-1]) * self._direction > 0.0 and (
            self._stop - mu
        ) * self._direction > 0.0
        if abs(shift) > TIE * abs(self.mu) or not is_inside:
            return
        self.lines[VALUE] += (mu - self.mu) * self.lines[SLOPE]
        self.mu = pieces.ends[-1] = mu

    def _count_attempt(self) -> None:
        """Count what is tried at one mu; raise if it is so much that float64 must be cycling."""
        self._attempts += 1
        if self._attempts > ATTEMPTS_PER_ITEM * len(self.states) + FEW_ATTEMPTS:
            raise no_progress("cycling detected at mu = {found} (float64 rounding)", self.mu)

    def _tie(self) -> Tie:
        """Return the ends reached at the present mu, and how fast their gaps close."""
        size = len(self.states)
        tied = self._move(self.mu)
        tied += self._passed()
        slopes = [
            -self.falls(end) if self._is_steep(end) and end not in self._pinned else 0.0 for end in tied
        ]
        flat = max(self._flat)
        return Tie([end // size for end in tied], [end % size for end in tied], slopes, flat)

    def _passed(self) -> list[int]:
        """Mark and return the closing ends that are passed by more than a tie.

        All lines are more accurate once they are recomputed, and an end that was reached may then turn out to
        be passed by more than counts as a tie. The ratio test would find it again and again.
        """
        gaps = self.gaps()
        rooms = np.where(self.flags[DUAL], self._room[1], self._room[0])
        is_passed = (gaps < 0.0) & ~self.flags[AT_LO : AT_HI + 1] & (gaps >= -PASSED * rooms)
        found = [end for end in np.flatnonzero(is_passed).tolist() if self.is_falling(end)]
        self.flags[AT_LO : AT_HI + 1].reshape(-1)[found] = True
        return found

    def _is_steep(self, end: int) -> bool:
        return abs(self.falls(end)) > self._flat[int(self.flags[DUAL, end % len(self.states)])]

    def _cross_together(self, ends: Sequence[int], items: Sequence[int], kind: Any, tied: int) -> None:
        """Let items cross their ends at once, and recompute all lines."""
        if items:
            chosen = np.array(items)
            new = self.lcp.table.following[list(ends), self.states[chosen], chosen]
            self._change_states(chosen, new, kind, tied)

    def _change_states(self, items: Array, new: Array, kind: Any, tied: int) -> None:
        """Put items into new states at once, and recompute all lines."""
        table, before, old = self.lcp.table, self.states.copy(), self.states[items]
        for item, state in zip(items.tolist(), old.tolist(), strict=True):
            self._changed.setdefault(item, state)
        self.pivots += len(items)
        self.states[items] = new
        at, slope = table.lines[old, 0, items], table.lines[old, 1, items]
        self.lines[VALUE, items] = at + self.mu * slope
        # The items are at these ends of their new states, and must not be found to reach them again.
        self.flags[AT_LO, items] = is_low = table.following[LO, new, items] == old
        self.flags[AT_HI, items] = ~is_low
        was_inside, is_inside = (VALUE_FIXED[states] == self.system.is_row[items] for states in (old, new))
        entering, leaving = items[is_inside & ~was_inside], items[was_inside & ~is_inside]
        if len(entering) or len(leaving):
            self.basis.change(entering.tolist(), leaving.tolist())
        self.recompute()
        self._log_change(before, kind, tied)

    def _log_change(self, before: Array, kind: Any, tied: int) -> None:
        """Log the items whose states have changed, if logging is on."""
        moved = np.flatnonzero(before != self.states).tolist()
        if self.names is None or not moved:
            return
        names = tuple(self.names[item] for item in moved)
        old, new = (tuple(STATE_NAMES[states[item]] for item in moved) for states in (before, self.states))
        self.log.append(Crossing(0, PerturbedMu(self.mu, self._direction), kind, names, old, new, tied))

    # ---- rays ----

    def response(self, item: int) -> tuple[Array, Direction]:
        """Return how all dependent quantities follow the fixed one of an item.

        What is left over on R is solved for again: which item blocks a ray is not left to the errors of an
        inverse that was updated many times.
        """
        basis = self.basis
        direction, R = basis.direction(item), basis.items
        goal = np.zeros(len(R))
        if self.flags[INSIDE, item]:
            goal[basis.place(item)] = 1.0
            steps = direction.steps * self.system.signs[item]
            change = basis.product(steps)
        else:
            change = basis.product(direction.steps, item)
            steps = direction.steps[:-1]
        for _ in range(MOST_REFINEMENTS):
            rest = goal - change[R]
            if np.abs(rest).max(initial=0.0) <= ROUNDING * np.abs(steps).max(initial=1.0):
                break
            correction = basis.solve(self.system.signs[R] * rest)
            steps = steps + correction
            change += basis.product(correction)
        change[R] = steps
        return change, direction

    def _follow_ray(self, item: int, sense: int) -> UnblockedRay | None:
        """Move the fixed quantity of an item, at this mu, until another item blocks, and exchange the two."""
        self.counts.rays += 1
        response, _ = self.response(item)
        change = response * sense
        rates = np.stack([change, -change])
        # Ends that the tie has decided cannot block: they would give steps of length 0. Items of the same
        # class cannot either: the dictionary is positive semidefinite there, and the item's own pivot is 0.
        falling = (rates < -self._least_pivot(change)) & ~self.flags[AT_LO : AT_HI + 1]
        falling &= self._classes() != self._classes()[item]
        room = np.full(rates.shape, np.inf)
        np.divide(np.maximum(self.gaps(), 0.0), -rates, out=room, where=falling)
        # Of those that block at the same point up to rounding, take the largest pivot.
        near = room <= room.min() + TIE * (1.0 + abs(room.min()))
        end, other = np.unravel_index(int(np.where(near & falling, -rates, -np.inf).argmax()), room.shape)
        # The item itself may reach the other end of its neighbouring state first.
        own = self._own_room(item, sense)
        if np.isinf(min(own, room[end, other])):
            if self._is_closing(item, sense, response):
                return UnblockedRay(self.mu, item, sense)
            # Nothing moves the item but rounding error: its gap stays what it is.
            self._pinned.add((0 if sense > 0 else 1) * len(self.states) + item)
            return None
        here = LO if sense > 0 else HI
        if own <= room[end, other]:
            # The item goes over two ends at once: it stays in R, or outside.
            following, state = self.lcp.table.following, self.states[item]
            new = following[1 - here, following[here, state, item], item]
            self._change_states(np.array([item]), np.array([new]), "jump", 1)
            self.flags[AT_LO : AT_HI + 1] = False
        else:
            self._cross_together((here, int(end)), (item, int(other)), "jump", 1)
        return None

    def _is_closing(self, item: int, sense: int, response: Array) -> bool:
        """Return whether the gap of an item really closes, by the data that move along its ray.

        The dictionary is symmetric up to signs, so the slope of the item is a sum over the slopes of the
        data, weighted by its ray. Where they cancel, a slope that was solved for is rounding error; and where
        it closes, this sum is what proves that there is no solution.
        """
        inside, classes = self.flags[INSIDE], self._classes()
        fixed = self.lcp.table.of(self.states)[1]
        moving = fixed - np.where(inside, self.lcp.q[:, 1], 0.0)
        weights = response * classes * classes[item]
        end = self.lines[LO_SLOPE if sense > 0 else HI_SLOPE, item]
        own = 0.0 if inside[item] else self.lcp.q[item, 1]
        terms = np.append(weights * moving, [own, -end])
        slope = float(terms.sum()) * sense * self._direction
        return slope < -CLOSING * float(np.abs(terms).sum())

    def _classes(self) -> Array:
        """Return signs of the items: the dictionary is symmetric between items of one sign, else skew."""
        return np.where(self.flags[INSIDE], -self.system.signs, self.system.signs)

    def _least_pivot(self, change: Array) -> Array:
        """Return what an item must move at least to block a ray: less is rounding error.

        Values and multipliers have different units, but where one kind does not move at all, what it seems to
        move is rounding error of the other.
        """
        dual, size = self.flags[DUAL], np.abs(change)
        tops = size[~dual].max(initial=0.0), size[dual].max(initial=0.0)
        noise = ROUNDING * max(tops)
        return np.where(dual, max(PIVOT_ON_RAY * tops[1], noise), max(PIVOT_ON_RAY * tops[0], noise))

    def _own_room(self, item: int, sense: int) -> float:
        """Return how far the fixed quantity of an item can move before its neighbouring state ends."""
        table, state = self.lcp.table, self.states[item]
        neighbour = table.following[LO if sense > 0 else HI, state, item]
        far = table.lines[neighbour, slice(4, 6) if sense > 0 else slice(2, 4), item]
        here = table.lines[state, FIXED, item]
        return float(abs(far[0] - here[0] + self.mu * (far[1] - here[1])))


def no_progress(what: str, mu: float) -> NumericalTroubleError:
    """Return an error that says what float64 could not do at mu."""
    return NumericalTroubleError(what, found=mu, interval=(mu, mu), **EXACT_REMEDY)
