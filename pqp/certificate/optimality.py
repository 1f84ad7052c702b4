r"""Optimality: the exact set of mu at which a solution satisfies the optimality conditions.

The conditions are signs of lines, thousands a piece, and nearly all hold by far. A line that is positive at
both ends of a window is positive between them, so every condition is evaluated there in float64 first,
together with a bound on all rounding errors. If a sum of products is computed in any order with :math:`k`
roundings on the way to a term, its error is at most :math:`\gamma_k \sum |terms|` with
:math:`\gamma_k \approx k 2^{-53}` [Higham 2002, section 3.1]; twice that is allowed for. Only a condition
that holds by more than its bound is settled by this; all others are decided on their exact lines.

Room: a solution and a window of mu in, the part of the window where it is optimal out.
May touch: python-flint, numpy, `certificate.lines`, `certificate.problem`, `certificate.states`,
`certificate.solution`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from flint import fmpq

from pqp.certificate.lines import Limit, Line, Span
from pqp.certificate.problem import Limits, Mask
from pqp.certificate.reading import End, approximate
from pqp.certificate.solution import Solution
from pqp.certificate.states import ROWS, VARIABLES
from pqp.certificate.tables import Floats, Indices

# Two units of rounding: k of them exceed γ_k by a factor that covers the rounding of the bound itself.
ROUNDING = 2.0**-52
# Roundings besides those of long sums: of data to float64, of mu, of products of at most four factors.
EXTRA_ROUNDINGS = 64
# With all factors below the first, what underflow loses in a sum stays below the second.
LARGEST_FACTOR, UNDERFLOW = 1e30, 1e-200

BETWEEN, AT_LOWER, AT_UPPER, _, ZERO_STATE = range(len(VARIABLES))
OFF, _, _, _, BELOW, ABOVE = range(len(ROWS))


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
    """Float64 values at the ends of a window, and the sums of the sizes of their terms."""

    value: Floats
    size: Floats

    def minus(self, other: "Enclosed") -> "Enclosed":
        """Return the difference."""
        return Enclosed(self.value - other.value, self.size + other.size)

    def __neg__(self) -> "Enclosed":
        return Enclosed(-self.value, self.size)


@dataclass(frozen=True)
class Window:
    """Where a piece is looked at: the values at finite ends, the slopes towards infinite ones."""

    lo: End
    hi: End

    @property
    def weights(self) -> list[tuple[fmpq, fmpq]]:
        """For each end, how constant and slope of a line are to be added up."""
        left = (fmpq(0), fmpq(-1)) if self.lo is None else (fmpq(1), self.lo)
        right = (fmpq(0), fmpq(1)) if self.hi is None else (fmpq(1), self.hi)
        return [left, right]

    def lines(self, pairs: Floats) -> Enclosed:
        """Return rows (constant, slope) at both ends."""
        factors = np.array([[approximate(w) for w in pair] for pair in self.weights]).T
        with np.errstate(invalid="ignore", over="ignore"):  # what is no number proves nothing
            return Enclosed(pairs @ factors, np.abs(pairs) @ np.abs(factors))

    def exact(self, line: Line) -> list[float]:
        """Return the nearest float64 numbers to the exact values at both ends."""
        return [approximate(a * line.constant + b * line.slope) for a, b in self.weights]


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
    x, y = _enclosed_x(solution, window), _enclosed_y(solution, window)
    roundings = problem.n + problem.m + problem.P.width + EXTRA_ROUNDINGS
    largest = np.max([problem.largest, *(np.max(part.size, initial=0.0) for part in (x, y))])
    bound = roundings * ROUNDING if largest < LARGEST_FACTOR else np.inf
    for j in _doubtful_variables(solution, window, x, y, bound):
        yield Stair(f"x[{j}]", solution.x_of(j), solution.z_of(j), problem.lower[j], problem.upper[j], None)
    for i in _doubtful_rows(solution, window, x, bound):
        sides = problem.row_lower[i], problem.row_upper[i], problem.penalty[i]
        yield Stair(f"row {i}", solution.activity(i), solution.y_of(i), *sides)


def _enclosed_x(solution: Solution, window: Window) -> Enclosed:
    return _enclosed(window, solution.ledger.known_x, solution.solved_x)


def _enclosed_y(solution: Solution, window: Window) -> Enclosed:
    return _enclosed(window, solution.ledger.known_y, solution.solved_y)


def _enclosed(window: Window, known: Floats, solved: dict[int, Line]) -> Enclosed:
    value, size = window.lines(known)
    if solved:
        places = list(solved)
        value[places] = [window.exact(line) for line in solved.values()]
        size[places] = np.abs(value[places])
    return Enclosed(value, size)


def _doubtful_variables(
    solution: Solution, window: Window, x: Enclosed, y: Enclosed, bound: float
) -> Indices:
    problem, states = solution.problem, solution.ledger.variables
    is_free = states == BETWEEN
    is_doubtful = (states == ZERO_STATE) | ~_within(problem.lower, problem.upper, window, x, bound, is_free)
    is_lower = (states == AT_LOWER) & ~problem.is_fixed
    is_upper = (states == AT_UPPER) & ~problem.is_fixed
    if is_lower.any() or is_upper.any():
        curvature = Enclosed(*problem.P.enclose(*x))
        pull = Enclosed(problem.A.transposed_times(y.value), problem.A.sizes().transposed_times(y.size))
        z = curvature.minus(pull).minus(-window.lines(problem.c.approximation))
        is_doubtful |= (is_lower & ~_is_surely_positive(z, bound)) | (
            is_upper & ~_is_surely_positive(-z, bound)
        )
    return np.flatnonzero(is_doubtful)


def _doubtful_rows(solution: Solution, window: Window, x: Enclosed, bound: float) -> Indices:
    """Return the rows that are not surely on their side of their limits; held and crossing ones always."""
    problem, states = solution.problem, solution.ledger.rows
    activity = Enclosed(problem.A.times(x.value), problem.A.sizes().times(x.size))
    is_off = (states == OFF) & ~problem.is_priceless
    is_doubtful = ~_within(problem.row_lower, problem.row_upper, window, activity, bound, is_off)
    for state, limits, sense in ((BELOW, problem.row_lower, 1), (ABOVE, problem.row_upper, -1)):
        excess = window.lines(limits.approximation).minus(activity)
        is_here = (states == state) & ~problem.is_priceless
        is_doubtful |= is_here & ~_is_surely_positive(excess if sense > 0 else -excess, bound)
    is_doubtful[list(solution.solved_y)] = True
    is_doubtful |= problem.is_crossing
    return np.flatnonzero(is_doubtful)


def _within(lower: Limits, upper: Limits, window: Window, value: Enclosed, bound: float, asked: Mask) -> Mask:
    """Tell where a value is surely within its limits, or is not asked for."""
    above = value.minus(window.lines(lower.approximation))
    below = window.lines(upper.approximation).minus(value)
    is_above = ~lower.is_finite | _is_surely_positive(above, bound)
    return ~asked | (is_above & (~upper.is_finite | _is_surely_positive(below, bound)))


def _is_surely_positive(enclosed: Enclosed, bound: float) -> Mask:
    """Tell where the value is positive at both ends by more than all rounding errors."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray((enclosed.value > bound * enclosed.size + UNDERFLOW).all(axis=1))
