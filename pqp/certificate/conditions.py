r"""The optimality conditions of many pieces at once, evaluated in float64 with bounds on all rounding errors.

The conditions are signs of affine functions, thousands per piece, and nearly all hold by far. A function that
is positive at both ends of a window is positive between them, so each is evaluated there, together with a
bound on all rounding errors. If a sum of products is computed in any order with :math:`k` roundings on the
way to a term, its error is at most :math:`\gamma_k \sum |terms|` with :math:`\gamma_k \approx k 2^{-53}`
[Higham 2002, section 3.1]; a little more is allowed for. Many pieces are evaluated together, since products
of matrices are cheaper than many products with vectors.
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
from pqp.certificate.rationals import AffineBlock, Floats, Indices
from pqp.certificate.states import ABOVE, BELOW, VARIABLES, Codes, Snapshot

# A unit of rounding and a sixteenth more: k of them exceed γ_k by what covers the rounding of the bound.
ROUNDING = 1.0625 * 2.0**-53
# Roundings besides those of long sums, at most 16: of data and of mu to float64, of products of at most four
# factors, and of the few sums and differences of such products.
EXTRA_ROUNDINGS = 24
# With all factors below the first, what underflow loses in a sum stays below the second.
LARGEST_FACTOR, UNDERFLOW = 1e30, 1e-200

BETWEEN, AT_LOWER, AT_UPPER, _, ZERO_STATE = range(len(VARIABLES))


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

    def of(self, columns: Indices | None) -> "Enclosure":
        """Return some of the functions, None for all."""
        return self if columns is None else Enclosure(self.value[..., columns], self.size[..., columns])

    def through(self, product: Callable[[Floats], Floats], sizes: Callable[[Floats], Floats]) -> "Enclosure":
        """Return the product with a matrix, given as what it and its absolute values do to columns."""
        return Enclosure(rowwise(product, self.value), rowwise(sizes, self.size))


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
    def row_values(self) -> Floats:
        """A x, without bounds on its errors."""
        return rowwise(self.problem.A.times, self.x.value)

    @cached_property
    def activity(self) -> Enclosure:
        """A x."""
        return Enclosure(self.row_values, rowwise(self.problem.A.sizes.times, self.x.size))


class Inequality(NamedTuple):
    """What may not be positive, of the items that a mask picks; `columns` are their numbers, None for all.

    `excess` is an upper bound on how far the exact value is on the wrong side: negative if it is surely not.
    """

    kind: str
    columns: Indices | None
    applies: Mask
    excess: Floats


class Conditions:
    """The conditions of some pieces with known states, enclosed at the ends of their windows.

    `multipliers` gives y of some rows, by default of all; where x and y are those of a basis, the equations
    of that hold exactly, and the inequalities say if it is optimal.
    """

    def __init__(
        self,
        products: Products,
        states: Sequence[Snapshot],
        windows: Windows,
        multipliers: Callable[[Indices | None], Enclosure],
    ) -> None:
        self.problem, self.windows, self.products, self.x = products.problem, windows, products, products.x
        self._states, self._multipliers = states, multipliers

    @cached_property
    def y(self) -> Enclosure:
        """The multipliers of all rows."""
        return self._multipliers(None)

    @cached_property
    def variables(self) -> Codes:
        """The states of variables, one row per piece."""
        return np.array([state.variables for state in self._states])

    @cached_property
    def is_held(self) -> Mask:
        """Which rows are held at a limit, one row per piece."""
        return np.array([state.is_held for state in self._states], dtype=bool)

    @cached_property
    def bound(self) -> float:
        """The relative rounding error of all sums, infinite where numbers are out of range."""
        sizes = self.windows.sizes.max(), self.x.size.max(initial=0.0)
        # one bound for all sums: none has more terms, and a loose bound only sends a few more conditions to
        # exact arithmetic
        return self._bound_for(max(self.problem.largest, *sizes))

    def _bound_for(self, largest: float) -> float:
        is_small = largest < LARGEST_FACTOR
        return (self.problem.longest_sum + EXTRA_ROUNDINGS) * ROUNDING if is_small else math.inf

    def bound_with(self, y: Enclosure) -> float:
        """Return the same for sums that multipliers enter as well."""
        return max(self.bound, self._bound_for(y.size.max(initial=0.0)))

    @cached_property
    def bound_multipliers(self) -> Enclosure:
        """P x + c − Aᵀy."""
        A = self.problem.A
        pull = self.y.through(A.transposed_times, A.sizes.transposed_times)
        return self.products.curvature.minus(pull).plus(self.windows.limits(self.problem.c))

    def distances(self, limits: LimitVector) -> Enclosure:
        """Return how far rows are above some limits, and the errors of that."""
        value, size = self.products.activity.minus(self.windows.limits(limits))
        return Enclosure(value, self.bound * size)

    def loose_distances(self, limits: LimitVector) -> Enclosure:
        """Return the same with one bound on the errors per piece and end: cheap, and enough for most rows."""
        limit = self.windows.limits(limits)
        largest = self.problem.A.norm * self.x.size.max(axis=-1, keepdims=True, initial=0.0)
        largest += limit.size.max(axis=-1, keepdims=True, initial=0.0)
        return Enclosure(self.products.row_values - limit.value, self.bound * largest)

    def inequalities(self, distances: Callable[[LimitVector], Enclosure]) -> Iterator[Inequality]:
        """Yield the conditions that are inequalities; `distances` says how far rows are from limits."""
        yield from self._limits_of_x()
        yield from self._limits_of_rows(distances)
        yield from self._crossing_limits()
        yield from self._signs_of_bound_multipliers()
        yield from self._signs_of_multipliers()

    def _limits_of_x(self) -> Iterator[Inequality]:
        """Free variables respect their limits; the others are at a limit by definition."""
        is_free = self.variables == BETWEEN
        for limits, side in ((self.problem.lower, -1.0), (self.problem.upper, 1.0)):
            if limits.has_any:
                value, size = self.x.minus(self.windows.limits(limits))
                yield Inequality("x", None, is_free & limits.is_finite, side * value + self.bound * size)

    def _limits_of_rows(self, distances: Callable[[LimitVector], Enclosure]) -> Iterator[Inequality]:
        """Rows that are not held are on the side of their limits that their states say."""
        sides = np.array([state.sides for state in self._states])
        for k, limits in enumerate((self.problem.row_lower, self.problem.row_upper)):
            side = sides[:, k]
            if side.any():
                value, error = distances(limits)
                yield Inequality("row", None, side != 0, error - side[:, None] * value)

    def _crossing_limits(self) -> Iterator[Inequality]:
        """Where limits of a soft row cross, it is not held, and beyond the one that it misses more."""
        columns = np.array(sorted(self.problem.crossing), dtype=np.int64)
        if not len(columns):
            return
        limits = self.problem.row_lower, self.problem.row_upper
        lower, upper = (self.windows.limits(side).of(columns) for side in limits)
        crossed = lower.minus(upper)
        excess = crossed.value + self.bound * crossed.size
        yield Inequality("row", columns, self.is_held[:, columns], excess)
        codes = np.array([state.rows[columns] for state in self._states])
        side = (codes == BELOW) * 1.0 - (codes == ABOVE)
        rows, middle = self.products.activity.of(columns), lower.plus(upper)
        excess = side[:, None] * (2 * rows.value - middle.value)
        yield Inequality("row", columns, side != 0, excess + self.bound * (2 * rows.size + middle.size))

    def _signs_of_bound_multipliers(self) -> Iterator[Inequality]:
        """Variables at a limit are pushed against it: only for these the costly P x and Aᵀy are needed."""
        codes = self.variables
        signs = np.where(self.problem.is_fixed, 0.0, (codes == AT_LOWER) * 1.0 - (codes == AT_UPPER))
        if signs.any():
            z = self.bound_multipliers
            excess = self.bound_with(self.y) * z.size - signs[:, None] * z.value
            yield Inequality("multiplier of x", None, signs != 0, excess)

    def _signs_of_multipliers(self) -> Iterator[Inequality]:
        """Held rows push to the side of their limit, by no more than their penalty.

        Usually few rows are held, and the others are not asked for.
        """
        columns = np.flatnonzero(self.is_held.any(axis=0))
        if not len(columns):
            return
        y, penalty = self._multipliers(columns), self.problem.penalty
        bound = self.bound_with(y)
        signs = np.array([state.signs[columns] for state in self._states])
        if signs.any():
            excess = bound * y.size - signs[:, None] * y.value
            yield Inequality("multiplier of row", columns, signs != 0, excess)
        if penalty.has_any:
            cap = self.windows.enclose(penalty.approximation[:, columns])
            excess = np.abs(y.value) - cap.value + bound * (cap.size + y.size)
            is_capped = self.is_held[:, columns] & penalty.is_finite[columns]
            yield Inequality("multiplier of row", columns, is_capped, excess)

    def undecided(self, is_loose: bool) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the variables and the rows of each piece that are not surely optimal."""
        rows = np.zeros(self.is_held.shape, dtype=bool)
        # x = 0 without limits needs a multiplier of exactly 0, which no enclosure can prove
        variables = self.variables == ZERO_STATE
        distances = self.loose_distances if is_loose else self.distances
        for kind, columns, applies, excess in self.inequalities(distances):
            is_sure = excess < -UNDERFLOW
            found = applies & ~(is_sure[:, 0] & is_sure[:, 1])
            table = rows if kind.endswith("row") else variables
            if columns is None:
                table |= found
            else:
                table[:, columns] |= found
        rows[:, sorted(self.problem.crossing)] = True
        # a few entries out of many: their places are listed once, and sorted into pieces
        for_pieces: list[tuple[list[int], list[int]]] = [([], []) for _ in self._states]
        for side, table in enumerate((variables, rows)):
            for k, item in zip(*(part.tolist() for part in np.nonzero(table)), strict=True):
                for_pieces[k][side].append(item)
        return iter(for_pieces)
