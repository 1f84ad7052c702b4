r"""Optimality: the exact set of mu at which a solution satisfies the optimality conditions.

The conditions are signs of lines, thousands a piece, and nearly all hold by far. A line that is positive at
both ends of a window is positive between them, so every condition is evaluated there in float64 first,
together with a bound on all rounding errors. If a sum of products is computed in any order with :math:`k`
roundings on the way to a term, its error is at most :math:`\gamma_k \sum |terms|` with
:math:`\gamma_k \approx k 2^{-53}` [Higham 2002, section 3.1]; twice that is allowed for. Only a condition
that holds by more than its bound is settled by this; all others are decided on their exact lines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat

from pqp.certificate.document import End, approximate
from pqp.certificate.exact import Block, Floats, Limit, Line, Span
from pqp.certificate.problem import Limits, Mask
from pqp.certificate.solution import Solution
from pqp.certificate.states import VARIABLES

# Two units of rounding: k of them exceed γ_k by a factor that covers the rounding of the bound itself.
ROUNDING = 2.0**-52
# Roundings besides those of long sums: of data to float64, of mu, of products of at most four factors.
EXTRA_ROUNDINGS = 64
# With all factors below the first, what underflow loses in a sum stays below the second.
LARGEST_FACTOR, UNDERFLOW = 1e30, 1e-200
# More conditions than this in doubt are a sign of cancellation: a piece has one at each end.
CLEAR = 4

BETWEEN, AT_LOWER, AT_UPPER, _, ZERO_STATE = range(len(VARIABLES))


class Stair(NamedTuple):
    """A value and its multiplier, and what decides if they are optimal: limits and, in soft rows, a cap."""

    name: str
    value: Line
    multiplier: Line
    lower: Limit
    upper: Limit
    cap: Limit

    def frozen(self, mu: fmpq) -> "Stair":
        """Return the same at one mu only: constants instead of lines."""
        lower, upper, cap = (side and side.frozen(mu) for side in (self.lower, self.upper, self.cap))
        return Stair(self.name, self.value.frozen(mu), self.multiplier.frozen(mu), lower, upper, cap)

    def shrink(self, span: Span) -> Span:
        """Return the part of the span where the pair is optimal.

        In a soft row, −multiplier must be a slope of cap · max(0, lower − value, value − upper); otherwise
        value and multiplier must be feasible and complementary.
        """
        if self.cap is None:
            return self._shrink_inside(span)
        if self.multiplier.is_zero and self.cap.is_zero:
            return span
        span = span.where(self.cap, f"penalty of {self.name} ≥ 0")
        if self.multiplier.is_zero:
            return span.within(self.value, self.lower, self.upper, self.name)
        if self.lower is not None and self.multiplier == self.cap:
            return self._shrink_outside(span, self.lower - self.value, "below")
        if self.upper is not None and self.multiplier == -self.cap:
            return self._shrink_outside(span, self.value - self.upper, "above")
        span = span.where(self.cap - self.multiplier, f"multiplier of {self.name} ≤ penalty")
        span = span.where(self.cap + self.multiplier, f"multiplier of {self.name} ≥ −penalty")
        return self._shrink_inside(span)

    def _shrink_inside(self, span: Span) -> Span:
        if self.value != self.upper:
            span = span.where(self.multiplier, f"multiplier of {self.name} ≥ 0")
        if self.value != self.lower:
            span = span.where(-self.multiplier, f"multiplier of {self.name} ≤ 0")
        return span.within(self.value, self.lower, self.upper, self.name)

    def _shrink_outside(self, span: Span, excess: Line, side: str) -> Span:
        span = span.where(excess, f"{self.name} {side} its limit")
        if self.lower is None or self.upper is None:
            return span
        # Where the two limits cross, both are violated and the larger excess is the one that costs.
        other = self.lower - self.upper - excess
        return span.where(excess - other, f"{self.name} more {side} than beyond its other limit")


class Enclosed(NamedTuple):
    """Float64 values at the ends of a window, one row an end, and the sums of the sizes of their terms."""

    value: Floats
    size: Floats

    def part(self, places: slice) -> "Enclosed":
        """Return some of the values."""
        return Enclosed(self.value[:, places], self.size[:, places])

    def minus(self, other: "Enclosed") -> "Enclosed":
        """Return the difference."""
        return Enclosed(self.value - other.value, self.size + other.size)

    def plus(self, other: "Enclosed") -> "Enclosed":
        """Return the sum."""
        return Enclosed(self.value + other.value, self.size + other.size)

    def filled(self, places: Sequence[int], other: "Enclosed") -> "Enclosed":
        """Return the same with other entries at some places."""
        for part, new in zip(self, other, strict=True):
            part[:, places] = new
        return self

    def has_sign(self, signs: Floats | int, bound: float) -> Mask:
        """Tell where the value has this sign, 1 or -1, at both ends by more than all rounding errors."""
        is_sure = self.value * signs > bound * self.size + UNDERFLOW
        return np.asarray(is_sure[0] & is_sure[1])


@dataclass(frozen=True)
class Window:
    """Where a piece is looked at: the values at finite ends, the slopes towards infinite ones."""

    lo: End
    hi: End

    @cached_property
    def weights(self) -> list[tuple[fmpq, fmpq]]:
        """For each end, how constant and slope of a line are to be added up."""
        left = (fmpq(0), fmpq(-1)) if self.lo is None else (fmpq(1), self.lo)
        right = (fmpq(0), fmpq(1)) if self.hi is None else (fmpq(1), self.hi)
        return [left, right]

    @cached_property
    def factors(self) -> Floats:
        """The weights in float64, one row an end."""
        return np.array([[approximate(w) for w in pair] for pair in self.weights])

    @cached_property
    def sizes(self) -> Floats:
        """The absolute values of these."""
        return np.abs(self.factors)

    def lines(self, pairs: Floats) -> Enclosed:
        """Return lines, constants in one row and slopes in another, at both ends."""
        return Enclosed(self.factors @ pairs, self.sizes @ np.abs(pairs))

    def limits(self, limits: Limits) -> Enclosed:
        """Return limits at both ends, in the shortest way if none has a slope."""
        if not limits.is_constant:
            return self.lines(limits.approximation)
        constants = limits.approximation[:1]
        return Enclosed(self.factors[:, :1] * constants, self.sizes[:, :1] * np.abs(constants))

    def blocks(self, blocks: Sequence[Block], is_exact: bool) -> Enclosed:
        """Return the lines of blocks at both ends, rounded after adding up if `is_exact`: they may cancel."""
        if is_exact:
            (a, b), (c, d) = self.weights
            blocks = [block.times(fmpq_mat(2, 2, [a, c, b, d])) for block in blocks]
        pairs = zip(*(block.approximation for block in blocks), strict=True)
        table = np.array([list(chain.from_iterable(parts)) for parts in pairs])
        return Enclosed(table, np.abs(table)) if is_exact else self.lines(table)


def optimal_span(solution: Solution, window: Window) -> Span:
    """Return the part of the window where the solution is optimal, decided exactly."""
    span = solution.problem.orderly.clipped(window.lo, window.hi)
    for stair in _doubtful(solution, window):
        span = stair.shrink(span)
    return span


def is_optimal_at(solution: Solution, mu: fmpq) -> bool:
    """Tell whether the solution is optimal at a single mu, where lines that differ may meet."""
    if not solution.problem.orderly.holds_at(mu):
        return False
    stairs = _doubtful(solution, Window(mu, mu))
    return not any(stair.frozen(mu).shrink(Span()).is_empty for stair in stairs)


def _doubtful(solution: Solution, window: Window) -> Iterator[Stair]:
    """Yield every variable and row whose conditions float64 does not prove all over the window."""
    problem = solution.problem
    with np.errstate(invalid="ignore", over="ignore"):  # what is no number proves nothing
        variables, rows = Conditions.at(solution, window, False).doubtful()
        if len(variables) + len(rows) > CLEAR:
            variables, rows = Conditions.at(solution, window, True).doubtful()
    for j in variables:
        yield Stair(f"x[{j}]", solution.x_of(j), solution.z_of(j), problem.lower[j], problem.upper[j], None)
    for i in rows:
        sides = problem.row_lower[i], problem.row_upper[i], problem.penalty[i]
        yield Stair(f"row {i}", solution.activity(i), solution.y_of(i), *sides)


@dataclass(frozen=True)
class Conditions:
    """The conditions of a piece, enclosed at the ends of a window."""

    solution: Solution
    window: Window
    x: Enclosed
    held: Enclosed
    bound: float

    @classmethod
    def at(cls, solution: Solution, window: Window, is_exact: bool) -> "Conditions":
        """Return x and the multipliers of held rows, rounded after adding up if `is_exact`, and a bound."""
        problem, free = solution.problem, solution.solved_x.places
        solved = window.blocks((solution.solved_x, solution.solved_y), is_exact)
        x, held = solved.part(slice(len(free))), solved.part(slice(len(free), None))
        if len(free) < problem.n:
            x = window.lines(solution.ledger.known_x).filled(free, x)
        sizes = window.sizes.max(), x.size.max(initial=0.0), held.size.max(initial=0.0)
        is_small = all(size < LARGEST_FACTOR for size in (problem.largest, *sizes))
        roundings = problem.n + problem.m + problem.P.width + EXTRA_ROUNDINGS
        return cls(solution, window, x, held, roundings * ROUNDING if is_small else np.inf)

    def doubtful(self) -> tuple[list[int], list[int]]:
        """Return the variables and the rows that are not surely optimal."""
        rows = self._doubtful_held() | self._doubtful_rows() | self.solution.problem.crossing
        return np.flatnonzero(self._doubtful_variables()).tolist(), sorted(rows)

    def _doubtful_variables(self) -> Mask:
        problem, states = self.solution.problem, self.solution.ledger.variables
        is_doubtful = states == ZERO_STATE
        if problem.lower.has_any or problem.upper.has_any:
            is_doubtful |= (states == BETWEEN) & ~self._is_within(problem.lower, problem.upper)
            is_lower = (states == AT_LOWER) & ~problem.is_fixed
            is_upper = (states == AT_UPPER) & ~problem.is_fixed
            if is_lower.any() or is_upper.any():
                z = self._bound_multipliers()
                is_doubtful |= is_lower & ~z.has_sign(1, self.bound)
                is_doubtful |= is_upper & ~z.has_sign(-1, self.bound)
        return is_doubtful

    def _is_within(self, lower: Limits, upper: Limits) -> Mask:
        """Tell where x is surely within its limits."""
        above = self.x.minus(self.window.lines(lower.approximation)).has_sign(1, self.bound)
        below = self.x.minus(self.window.lines(upper.approximation)).has_sign(-1, self.bound)
        return (above | ~lower.is_finite) & (below | ~upper.is_finite)

    def _bound_multipliers(self) -> Enclosed:
        """Return P x + c − Aᵀy."""
        problem, A = self.solution.problem, self.solution.problem.A
        known = self.window.lines(self.solution.ledger.known_y)
        y = known.filled(self.solution.solved_y.places, self.held)
        curvature, sizes = problem.P.enclose(self.x.value.T, self.x.size.T)
        pull = Enclosed(A.transposed_times(y.value.T).T, A.sizes().transposed_times(y.size.T).T)
        return Enclosed(curvature.T, sizes.T).minus(pull).plus(self.window.lines(problem.c.approximation))

    def _doubtful_rows(self) -> set[int]:
        """Return the rows, not held, that are not surely on their side of their limits."""
        problem, A, sides = self.solution.problem, self.solution.problem.A, self.solution.ledger.sides
        activity = Enclosed(A.times(self.x.value.T).T, A.sizes().times(self.x.size.T).T)
        found: set[int] = set()
        for limits, side in ((problem.row_lower, sides[0]), (problem.row_upper, sides[1])):
            if limits.has_any:
                gap = activity.minus(self.window.limits(limits))
                doubtful = np.flatnonzero(~gap.has_sign(side, self.bound))
                found.update(doubtful[side[doubtful] != 0].tolist())
        return found

    def _doubtful_held(self) -> set[int]:
        """Return the held rows whose multipliers do not surely have the right sign below their penalty.

        Their values need no look: limits that do not cross hold each other, and others are always doubtful.
        """
        problem, places = self.solution.problem, self.solution.solved_y.places
        signs = self.solution.ledger.signs[places]
        is_right = self.held.has_sign(signs, self.bound) | (signs == 0)
        penalty = self.window.lines(problem.penalty.approximation[:, places])
        room = Enclosed(penalty.value - np.abs(self.held.value), penalty.size + self.held.size)
        is_capped = room.has_sign(1, self.bound) | ~problem.penalty.is_finite[places]
        return {places[k] for k in np.flatnonzero(~(is_right & is_capped)).tolist()}
