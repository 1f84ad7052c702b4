r"""Optimality: the exact set of mu at which a solution satisfies the optimality conditions.

The conditions are signs of affine functions, thousands per piece, and nearly all hold by far. A function that
is positive at both ends of a window is positive between them, so every condition is evaluated there in
float64 first, together with a bound on all rounding errors. If a sum of products is computed in any order
with :math:`k` roundings on the way to a term, its error is at most :math:`\gamma_k \sum |terms|` with
:math:`\gamma_k \approx k 2^{-53}` [Higham 2002, section 3.1]; twice that is allowed for. Only a condition
that holds by more than its bound is settled by this; all others are decided in exact arithmetic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat

from pqp.certificate.document import End, approximate
from pqp.certificate.problem import LimitVector, Mask
from pqp.certificate.rationals import Affine, AffineBlock, Floats, Limit, Span
from pqp.certificate.solution import Solution
from pqp.certificate.states import VARIABLES

# Two units of rounding: k of them exceed γ_k by a factor that covers the rounding of the bound itself.
ROUNDING = 2.0**-52
# Roundings besides those of long sums: of data to float64, of mu, of products of at most four factors.
EXTRA_ROUNDINGS = 64
# With all factors below the first, what underflow loses in a sum stays below the second.
LARGEST_FACTOR, UNDERFLOW = 1e30, 1e-200
# A piece has one condition in doubt at each end; more are a sign of cancellation: they are evaluated again.
FEW_UNDECIDED = 4

BETWEEN, AT_LOWER, AT_UPPER, _, ZERO_STATE = range(len(VARIABLES))


class ComplementaryPair(NamedTuple):
    """A value and its multiplier, and what decides if they are optimal: limits and, in soft rows, a cap."""

    name: str
    value: Affine
    multiplier: Affine
    lower: Limit
    upper: Limit
    cap: Limit

    def frozen(self, mu: fmpq) -> "ComplementaryPair":
        """Return the same at one mu only: constants instead of affine functions."""
        lower, upper, cap = (side and side.frozen(mu) for side in (self.lower, self.upper, self.cap))
        value, multiplier = self.value.frozen(mu), self.multiplier.frozen(mu)
        return ComplementaryPair(self.name, value, multiplier, lower, upper, cap)

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

    def _shrink_outside(self, span: Span, excess: Affine, side: str) -> Span:
        span = span.where(excess, f"{self.name} {side} its limit")
        if self.lower is None or self.upper is None:
            return span
        # Where the two limits cross, both are violated and the larger excess is the one that costs.
        other = self.lower - self.upper - excess
        return span.where(excess - other, f"{self.name} more {side} than beyond its other limit")


class Enclosure(NamedTuple):
    """Float64 values at the ends of a window, one row per end, and the sums of the sizes of their terms."""

    value: Floats
    size: Floats

    def part(self, places: slice) -> "Enclosure":
        """Return some of the values."""
        return Enclosure(self.value[:, places], self.size[:, places])

    def minus(self, other: "Enclosure") -> "Enclosure":
        """Return the difference."""
        return Enclosure(self.value - other.value, self.size + other.size)

    def plus(self, other: "Enclosure") -> "Enclosure":
        """Return the sum."""
        return Enclosure(self.value + other.value, self.size + other.size)

    def filled(self, places: Sequence[int], other: "Enclosure") -> "Enclosure":
        """Return the same with other entries at some places."""
        for part, new in zip(self, other, strict=True):
            part[:, places] = new
        return self

    def has_sign(self, signs: Floats | int, bound: float) -> Mask:
        """Return where the value has this sign, 1 or -1, at both ends by more than all rounding errors."""
        is_sure = self.value * signs > bound * self.size + UNDERFLOW
        return np.asarray(is_sure[0] & is_sure[1])


@dataclass(frozen=True)
class MuWindow:
    """Where a piece is looked at: the values at finite ends, the slopes towards infinite ones."""

    lo: End
    hi: End

    @cached_property
    def weights(self) -> list[tuple[fmpq, fmpq]]:
        """For each end, how the constant and the slope of a function are to be added up."""
        left = (fmpq(0), fmpq(-1)) if self.lo is None else (fmpq(1), self.lo)
        right = (fmpq(0), fmpq(1)) if self.hi is None else (fmpq(1), self.hi)
        return [left, right]

    @cached_property
    def factors(self) -> Floats:
        """The weights in float64, one row per end."""
        return np.array([[approximate(w) for w in pair] for pair in self.weights])

    @cached_property
    def sizes(self) -> Floats:
        """The absolute values of these."""
        return np.abs(self.factors)

    def enclose(self, pairs: Floats) -> Enclosure:
        """Return affine functions, constants in one row and slopes in another, at both ends."""
        return Enclosure(self.factors @ pairs, self.sizes @ np.abs(pairs))

    def limits(self, limits: LimitVector) -> Enclosure:
        """Return limits at both ends, in the shortest way if none has a slope."""
        if not limits.is_constant:
            return self.enclose(limits.approximation)
        constants = limits.approximation[:1]
        return Enclosure(self.factors[:, :1] * constants, self.sizes[:, :1] * np.abs(constants))

    def blocks(self, blocks: Sequence[AffineBlock], is_exact: bool) -> Enclosure:
        """Return blocks at both ends, rounded after adding up if `is_exact`: terms may cancel."""
        if is_exact:
            (a, b), (c, d) = self.weights
            blocks = [block.times(fmpq_mat(2, 2, [a, c, b, d])) for block in blocks]
        pairs = zip(*(block.approximation for block in blocks), strict=True)
        table = np.array([list(chain.from_iterable(parts)) for parts in pairs])
        return Enclosure(table, np.abs(table)) if is_exact else self.enclose(table)


def optimal_span(solution: Solution, window: MuWindow) -> Span:
    """Return the part of the window where the solution is optimal, decided exactly."""
    span = solution.problem.consistent_span.clipped(window.lo, window.hi)
    for pair in _undecided(solution, window):
        span = pair.shrink(span)
    return span


def is_optimal_at(solution: Solution, mu: fmpq) -> bool:
    """Return whether the solution is optimal at a single mu, where affine functions that differ may meet."""
    if not solution.problem.consistent_span.holds_at(mu):
        return False
    pairs = _undecided(solution, MuWindow(mu, mu))
    return not any(pair.frozen(mu).shrink(Span()).is_empty for pair in pairs)


def _undecided(solution: Solution, window: MuWindow) -> Iterator[ComplementaryPair]:
    """Yield every variable and row whose conditions float64 does not prove all over the window."""
    problem = solution.problem
    with np.errstate(invalid="ignore", over="ignore"):  # a value that is not a number proves nothing
        variables, rows = Conditions.at(solution, window, False).undecided()
        if len(variables) + len(rows) > FEW_UNDECIDED:
            variables, rows = Conditions.at(solution, window, True).undecided()
    for j in variables:
        limits = problem.lower[j], problem.upper[j]
        yield ComplementaryPair(f"x[{j}]", solution.x_of(j), solution.z_of(j), *limits, None)
    for i in rows:
        sides = problem.row_lower[i], problem.row_upper[i], problem.penalty[i]
        yield ComplementaryPair(f"row {i}", solution.activity(i), solution.y_of(i), *sides)


@dataclass(frozen=True)
class Conditions:
    """The conditions of a piece, enclosed at the ends of a window."""

    solution: Solution
    window: MuWindow
    x: Enclosure
    held: Enclosure
    bound: float

    @classmethod
    def at(cls, solution: Solution, window: MuWindow, is_exact: bool) -> "Conditions":
        """Return x and the multipliers of held rows, rounded after adding up if `is_exact`, and a bound."""
        problem, free = solution.problem, solution.solved_x.places
        solved = window.blocks((solution.solved_x, solution.solved_y), is_exact)
        x, held = solved.part(slice(len(free))), solved.part(slice(len(free), None))
        if len(free) < problem.n:
            x = window.enclose(solution.active.known_x).filled(free, x)
        sizes = window.sizes.max(), x.size.max(initial=0.0), held.size.max(initial=0.0)
        is_small = all(size < LARGEST_FACTOR for size in (problem.largest, *sizes))
        # one bound for all sums: none has more terms, and a loose bound only sends a few more conditions to
        # exact arithmetic
        roundings = problem.n + problem.m + problem.P.width + EXTRA_ROUNDINGS
        return cls(solution, window, x, held, roundings * ROUNDING if is_small else np.inf)

    def undecided(self) -> tuple[list[int], list[int]]:
        """Return the variables and the rows that are not surely optimal."""
        rows = self._undecided_held() | self._undecided_rows() | self.solution.problem.crossing
        return np.flatnonzero(self._undecided_variables()).tolist(), sorted(rows)

    def _undecided_variables(self) -> Mask:
        problem, states = self.solution.problem, self.solution.active.variables
        # x = 0 without limits needs a multiplier of exactly 0, which no enclosure can prove
        is_undecided = states == ZERO_STATE
        if problem.lower.has_any or problem.upper.has_any:
            lower = self.window.enclose(problem.lower.approximation)
            upper = self.window.enclose(problem.upper.approximation)
            is_above = self.x.minus(lower).has_sign(1, self.bound) | ~problem.lower.is_finite
            is_below = self.x.minus(upper).has_sign(-1, self.bound) | ~problem.upper.is_finite
            is_undecided |= (states == BETWEEN) & ~(is_above & is_below)
            is_lower = (states == AT_LOWER) & ~problem.is_fixed
            is_upper = (states == AT_UPPER) & ~problem.is_fixed
            # P x and Aᵀy are the costly products, needed for variables at a bound alone
            if is_lower.any() or is_upper.any():
                z = self._bound_multipliers()
                is_undecided |= is_lower & ~z.has_sign(1, self.bound)
                is_undecided |= is_upper & ~z.has_sign(-1, self.bound)
        return is_undecided

    def _bound_multipliers(self) -> Enclosure:
        """Return P x + c − Aᵀy."""
        problem, A = self.solution.problem, self.solution.problem.A
        known = self.window.enclose(self.solution.active.known_y)
        y = known.filled(self.solution.solved_y.places, self.held)
        curvature, sizes = problem.P.enclose(self.x.value.T, self.x.size.T)
        pull = Enclosure(A.transposed_times(y.value.T).T, A.sizes.transposed_times(y.size.T).T)
        return Enclosure(curvature.T, sizes.T).minus(pull).plus(self.window.enclose(problem.c.approximation))

    def _undecided_rows(self) -> set[int]:
        """Return the rows, not held, that are not surely on their side of their limits."""
        problem, A, sides = self.solution.problem, self.solution.problem.A, self.solution.active.sides
        activity = Enclosure(A.times(self.x.value.T).T, A.sizes.times(self.x.size.T).T)
        found: set[int] = set()
        for limits, side in ((problem.row_lower, sides[0]), (problem.row_upper, sides[1])):
            if limits.has_any:
                gap = activity.minus(self.window.limits(limits))
                undecided = np.flatnonzero(~gap.has_sign(side, self.bound))
                found.update(undecided[side[undecided] != 0].tolist())
        return found

    def _undecided_held(self) -> set[int]:
        """Return the held rows whose multipliers do not surely have the right sign below their penalty.

        Their values are at a limit, so they respect the other one unless the two cross; rows whose limits
        may cross are always undecided.
        """
        problem, places = self.solution.problem, self.solution.solved_y.places
        signs = self.solution.active.signs[places]
        is_right = self.held.has_sign(signs, self.bound) | (signs == 0)
        penalty = self.window.enclose(problem.penalty.approximation[:, places])
        room = Enclosure(penalty.value - np.abs(self.held.value), penalty.size + self.held.size)
        is_capped = room.has_sign(1, self.bound) | ~problem.penalty.is_finite[places]
        return {places[k] for k in np.flatnonzero(~(is_right & is_capped)).tolist()}
