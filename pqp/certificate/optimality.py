r"""Optimality: the exact set of mu at which a solution satisfies the optimality conditions.

The conditions are signs of affine functions, thousands per piece, and nearly all hold by far. A function that
is positive at both ends of a window is positive between them, so every condition is evaluated there in
float64 first, together with a bound on all rounding errors. If a sum of products is computed in any order
with :math:`k` roundings on the way to a term, its error is at most :math:`\gamma_k \sum |terms|` with
:math:`\gamma_k \approx k 2^{-53}` [Higham 2002, section 3.1]; a little more is allowed for. Only a condition
that holds by more than its bound is settled by this; all others are decided in exact arithmetic. Many pieces
are evaluated together, since products of matrices are cheaper than many products with vectors.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat

from pqp.certificate.document import End, approximate
from pqp.certificate.problem import LimitVector, Mask, Problem
from pqp.certificate.rationals import Affine, AffineBlock, Floats, Indices, Limit, Span
from pqp.certificate.solution import Solution
from pqp.certificate.states import VARIABLES, Codes, Snapshot

# A unit of rounding and a sixteenth more: k of them exceed γ_k by what covers the rounding of the bound.
ROUNDING = 1.0625 * 2.0**-53
# Roundings besides those of long sums, at most 16: of data and of mu to float64, of products of at most four
# factors, and of the few sums and differences of such products.
EXTRA_ROUNDINGS = 24
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
    """Float64 values at the ends of windows, one row per end, and the sums of the sizes of their terms."""

    value: Floats
    size: Floats

    def minus(self, other: "Enclosure") -> "Enclosure":
        """Return the difference."""
        return Enclosure(self.value - other.value, self.size + other.size)

    def plus(self, other: "Enclosure") -> "Enclosure":
        """Return the sum."""
        return Enclosure(self.value + other.value, self.size + other.size)

    def through(self, product: Callable[[Floats], Floats], sizes: Callable[[Floats], Floats]) -> "Enclosure":
        """Return the product with a matrix, given as what it and its absolute values do to columns."""
        return Enclosure(rowwise(product, self.value), rowwise(sizes, self.size))

    def has_sign(self, signs: Floats | int, bound: float) -> Mask:
        """Return where the value has this sign, 1 or -1, at both ends by more than all rounding errors."""
        is_sure = self.value * signs > bound * self.size + UNDERFLOW
        return np.asarray(is_sure[..., 0, :] & is_sure[..., 1, :])


def rowwise(product: Callable[[Floats], Floats], table: Floats) -> Floats:
    """Return the products of a matrix with the last axis of a table."""
    found = product(_flat(table).T).T
    return found.reshape(*table.shape[:-1], found.shape[-1])


def _flat(table: Floats) -> Floats:
    """Return all rows below each other; with no columns their number has to be said."""
    return table.reshape(math.prod(table.shape[:-1]), table.shape[-1])


@dataclass(frozen=True)
class MuWindow:
    """Where a piece is looked at: the values at finite ends, the slopes towards infinite ones."""

    lo: End
    hi: End

    @property
    def weights(self) -> list[tuple[fmpq, fmpq]]:
        """For each end, how the constant and the slope of a function are to be added up."""
        left = (fmpq(0), fmpq(-1)) if self.lo is None else (fmpq(1), self.lo)
        right = (fmpq(0), fmpq(1)) if self.hi is None else (fmpq(1), self.hi)
        return [left, right]

    @property
    def factors(self) -> list[list[float]]:
        """The weights in float64, one row per end."""
        left = [0.0, -1.0] if self.lo is None else [1.0, approximate(self.lo)]
        right = [0.0, 1.0] if self.hi is None else [1.0, approximate(self.hi)]
        return [left, right]

    def block(self, block: AffineBlock) -> AffineBlock:
        """Return a block at both ends, added up before it is rounded: terms may cancel."""
        (a, b), (c, d) = self.weights
        return block.times(fmpq_mat(2, 2, [a, c, b, d]))


class Windows:
    """The windows of several pieces in float64, one row per end."""

    def __init__(self, windows: Sequence[MuWindow]) -> None:
        self.factors: Floats = np.array([window.factors for window in windows])
        self.sizes: Floats = np.abs(self.factors)
        self.are_finite = bool((self.factors[:, :, 0] == 1).all())

    def enclose(self, pairs: Floats) -> Enclosure:
        """Return affine functions, constants in one row and slopes in another, at both ends."""
        return Enclosure(self.factors @ pairs, self.sizes @ np.abs(pairs))

    def limits(self, limits: LimitVector) -> Enclosure:
        """Return limits at both ends, in the shortest way if none has a slope."""
        if not limits.is_constant:
            return self.enclose(limits.approximation)
        constants = limits.approximation[:1]
        if self.are_finite:
            shape = (*self.factors.shape[:2], len(limits))
            return Enclosure(np.broadcast_to(constants, shape), np.broadcast_to(np.abs(constants), shape))
        return Enclosure(self.factors[..., :1] * constants, self.sizes[..., :1] * np.abs(constants))


def optimal_spans(solutions: Sequence[Solution], windows: Sequence[MuWindow]) -> Iterator[Span]:
    """Yield the part of each window where its solution is optimal, decided exactly."""
    undecided = _undecided(solutions, windows)
    for solution, window, pairs in zip(solutions, windows, undecided, strict=True):
        span = solution.problem.consistent_span.clipped(window.lo, window.hi)
        for pair in pairs:
            span = pair.shrink(span)
        yield span


def optimal_span(solution: Solution, window: MuWindow) -> Span:
    """Return the part of the window where the solution is optimal, decided exactly."""
    return next(optimal_spans([solution], [window]))


def is_optimal_at(solution: Solution, mu: fmpq) -> bool:
    """Return whether the solution is optimal at a single mu, where affine functions that differ may meet."""
    if not solution.problem.consistent_span.holds_at(mu):
        return False
    (pairs,) = _undecided([solution], [MuWindow(mu, mu)])
    return not any(pair.frozen(mu).shrink(Span()).is_empty for pair in pairs)


def violated_at(solution: Solution, mu: fmpq) -> list[tuple[tuple[str, int], ComplementaryPair]]:
    """Return the variables and rows whose conditions fail at mu: kind, number and conditions."""
    with np.errstate(invalid="ignore", over="ignore"):
        ((variables, rows),) = _conditions([solution], [MuWindow(mu, mu)], is_exact=True).undecided()
    items = [("variables", j) for j in variables] + [("rows", i) for i in rows]
    pairs = zip(items, _pairs(solution, variables, rows), strict=True)
    return [(item, pair) for item, pair in pairs if pair.frozen(mu).shrink(Span()).is_empty]


def _undecided(
    solutions: Sequence[Solution], windows: Sequence[MuWindow]
) -> Iterator[Iterator[ComplementaryPair]]:
    """Yield for each solution the variables and rows whose conditions float64 does not prove."""
    with np.errstate(invalid="ignore", over="ignore"):  # a value that is not a number proves nothing
        listed = _conditions(solutions, windows, is_exact=False).undecided()
        for solution, window, (variables, rows) in zip(solutions, windows, listed, strict=True):
            if len(variables) + len(rows) > FEW_UNDECIDED:
                ((variables, rows),) = _conditions([solution], [window], is_exact=True).undecided()
            yield _pairs(solution, variables, rows)


def _pairs(solution: Solution, variables: Sequence[int], rows: Sequence[int]) -> Iterator[ComplementaryPair]:
    problem = solution.problem
    for j in variables:
        limits = problem.lower[j], problem.upper[j]
        yield ComplementaryPair(f"x[{j}]", solution.x_of(j), solution.z_of(j), *limits, None)
    for i in rows:
        sides = problem.row_lower[i], problem.row_upper[i], problem.penalty[i]
        yield ComplementaryPair(f"row {i}", solution.activity(i), solution.y_of(i), *sides)


def _conditions(solutions: Sequence[Solution], windows: Sequence[MuWindow], is_exact: bool) -> "Conditions":
    """Return the conditions of exact solutions, rounded after adding up if `is_exact`."""
    problem, states = solutions[0].problem, [solution.active for solution in solutions]
    places = Windows(windows)

    def enclosed(name: str, count: int) -> Enclosure:
        known = np.array([getattr(state, f"known_{name}") for state in states])
        blocks: list[AffineBlock] = [getattr(solution, f"solved_{name}") for solution in solutions]
        if is_exact:
            found = places.enclose(known)
            for k, (block, window) in enumerate(zip(blocks, windows, strict=True)):
                rounded = window.block(block).approximation
                found.value[k][:, block.places] = rounded
                found.size[k][:, block.places] = np.abs(rounded)
            return found
        # all entries of all pieces at once: one assignment is far cheaper than one per piece
        flat = [k * 2 * count + j for k, block in enumerate(blocks) for j in block.places]
        at = np.array(flat, dtype=np.int64)
        values = np.concatenate([block.approximation for block in blocks], axis=1)
        for half in (0, 1):
            known.reshape(-1)[at + half * count] = values[half]
        return places.enclose(known)

    def held(columns: Indices) -> Enclosure:
        """The multipliers of some rows: usually few are held, and the others are not asked for."""
        place = {i: c for c, i in enumerate(columns.tolist())}
        pairs = np.zeros((len(solutions), 2, len(columns)))
        for k, solution in enumerate(solutions):
            block = solution.solved_y
            at = [place[i] for i in block.places]
            pairs[k][:, at] = (block if not is_exact else windows[k].block(block)).approximation
        return Enclosure(pairs, np.abs(pairs)) if is_exact else places.enclose(pairs)

    products = Products(problem, enclosed("x", problem.n))
    return Conditions(products, states, places, lambda: enclosed("y", problem.m), held)


class Products:
    """Enclosed points x of some pieces, with P x and A x once asked for."""

    def __init__(self, problem: Problem, x: Enclosure) -> None:
        self.problem, self.x = problem, x

    @cached_property
    def curvature(self) -> Enclosure:
        """P x."""
        value, size = self.x
        found = self.problem.P.enclose(_flat(value).T, _flat(size).T)
        return Enclosure(*(part.T.reshape(value.shape) for part in found))

    @cached_property
    def activity(self) -> Enclosure:
        """A x."""
        A = self.problem.A
        return self.x.through(A.times, A.sizes.times)


class Conditions:
    """The conditions of some pieces with known states, enclosed at the ends of their windows."""

    def __init__(
        self,
        products: Products,
        states: Sequence[Snapshot],
        windows: Windows,
        multipliers: Callable[[], Enclosure],
        held: Callable[[Indices], Enclosure] | None = None,
    ) -> None:
        self.problem, self.windows, self.products, self.x = products.problem, windows, products, products.x
        self._states, self._multipliers, self._held = states, multipliers, held

    @cached_property
    def y(self) -> Enclosure:
        """The multipliers of all rows."""
        return self._multipliers()

    @cached_property
    def variables(self) -> Codes:
        """The states of variables, one row per piece."""
        return np.array([state.variables for state in self._states])

    @cached_property
    def bound(self) -> float:
        """The relative rounding error of all sums, infinite where numbers are out of range."""
        sizes = self.windows.sizes.max(), self.x.size.max(initial=0.0)
        is_small = all(size < LARGEST_FACTOR for size in (self.problem.largest, *sizes))
        # one bound for all sums: none has more terms, and a loose bound only sends a few more conditions to
        # exact arithmetic
        return (self.problem.longest_sum + EXTRA_ROUNDINGS) * ROUNDING if is_small else math.inf

    def undecided(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the variables and the rows of each piece that are not surely optimal."""
        variables = self._undecided_variables()
        rows = self._undecided_held() | self._undecided_rows()
        crossing = sorted(self.problem.crossing)
        rows[:, crossing] = True
        # a few entries out of many: their places are listed once, and sorted into pieces
        for_pieces: list[tuple[list[int], list[int]]] = [([], []) for _ in variables]
        for side, table in enumerate((variables, rows)):
            for k, item in zip(*(part.tolist() for part in np.nonzero(table)), strict=True):
                for_pieces[k][side].append(item)
        return iter(for_pieces)

    def _undecided_variables(self) -> Mask:
        problem, states = self.problem, self.variables
        # x = 0 without limits needs a multiplier of exactly 0, which no enclosure can prove
        is_undecided = states == ZERO_STATE
        if problem.lower.has_any or problem.upper.has_any:
            lower, upper = self.windows.limits(problem.lower), self.windows.limits(problem.upper)
            is_above = self.x.minus(lower).has_sign(1, self.bound) | ~problem.lower.is_finite
            is_below = self.x.minus(upper).has_sign(-1, self.bound) | ~problem.upper.is_finite
            is_undecided |= (states == BETWEEN) & ~(is_above & is_below)
            is_lower = (states == AT_LOWER) & ~problem.is_fixed
            is_upper = (states == AT_UPPER) & ~problem.is_fixed
            # P x and Aᵀy are the costly products, needed for variables at a bound alone
            if is_lower.any() or is_upper.any():
                z = self.bound_multipliers
                bound = self.bound if self.y.size.max(initial=0.0) < LARGEST_FACTOR else math.inf
                is_undecided |= is_lower & ~z.has_sign(1, bound)
                is_undecided |= is_upper & ~z.has_sign(-1, bound)
        return is_undecided

    @cached_property
    def bound_multipliers(self) -> Enclosure:
        """P x + c − Aᵀy."""
        A = self.problem.A
        pull = self.y.through(A.transposed_times, A.sizes.transposed_times)
        return self.products.curvature.minus(pull).plus(self.windows.limits(self.problem.c))

    def _undecided_rows(self) -> Mask:
        """Return the rows, not held, that are not surely on their side of their limits."""
        problem = self.problem
        sides = np.array([state.sides for state in self._states])
        found = np.zeros((len(sides), problem.m), dtype=bool)
        for k, limits in enumerate((problem.row_lower, problem.row_upper)):
            side = sides[:, k]
            if limits.has_any and side.any():
                gap = self.products.activity.minus(self.windows.limits(limits))
                found |= ~gap.has_sign(side[:, None], self.bound) & (side != 0)
        return found

    def _undecided_held(self) -> Mask:
        """Return the held rows whose multipliers do not surely have the right sign below their penalty.

        Their values are at a limit, so they respect the other one unless the two cross; rows whose limits
        may cross are always undecided.
        """
        penalty, is_held = self.problem.penalty, np.array([state.is_held for state in self._states])
        columns = np.flatnonzero(is_held.any(axis=0))
        found = np.zeros(is_held.shape, dtype=bool)
        if not len(columns):
            return found
        assert self._held is not None
        y = self._held(columns)
        bound = self.bound if y.size.max(initial=0.0) < LARGEST_FACTOR else math.inf
        signs = np.array([state.signs[columns] for state in self._states])
        is_undecided = (signs != 0) & ~y.has_sign(signs[:, None], bound)
        if penalty.has_any:
            cap = self.windows.enclose(penalty.approximation[:, columns])
            room = Enclosure(cap.value - np.abs(y.value), cap.size + y.size)
            is_undecided |= penalty.is_finite[columns] & ~room.has_sign(1, bound)
        found[:, columns] = is_undecided
        return found & (is_held != 0)
