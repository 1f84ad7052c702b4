r"""Bounds: what is proved of a piece whose basis is not exactly optimal, or too large to be solved exactly.

A float piece states x and y at its two ends; between them both are affine. That is a point whether or not a
basis belongs to it, and weak duality says how good it is. With :math:`z = P x + c - A^\top y`, convexity
gives for every feasible :math:`x'`

.. math:: f(x') - f(x) \ge y^\top (A x' - A x) + z^\top (x' - x) + \text{penalties},

so the value of x is at most the sum of all missed complementarity above that of :math:`x'`. What is measured,
each as an upper bound that includes all rounding errors of float64 (see `optimality`):

- the *violation* of limits by x and A x, and of signs and caps by z and y, each relative to the *scale* of
  its item: the largest sum of sizes of the terms that enter it, over all pieces that are bounded;
- the *gap*: the value of x exceeds that of every feasible :math:`x'` with :math:`|x'_j - x_j|` at most the
  scale of x_j and the largest x by no more than this. Convexity extends this to all feasible points, in
  proportion to their distance. It is relative to the scale of the objective, the largest sum of sizes of its
  terms.

Violations are affine on a piece, so their maxima are at its ends. Towards an infinite end slopes take the
place of values: both a violation and its scale grow with mu.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from pqp.certificate.document import approximate, entry, index, items, numbers
from pqp.certificate.optimality import (
    AT_LOWER,
    AT_UPPER,
    BETWEEN,
    LARGEST_FACTOR,
    Conditions,
    Enclosure,
    MuWindow,
    Products,
    Windows,
    rowwise,
)
from pqp.certificate.problem import Mask, Problem
from pqp.certificate.rationals import Floats, Indices
from pqp.certificate.states import ABOVE, AT_ROW_UPPER, BELOW, OFF, Snapshot
from pqp.errors import CertificateError

# A violation or a gap up to this share of its scale is rounding: float64 keeps 1e-16 per operation, engines
# accept 1e-9 of a condition, and the smallest error known to mislead a reader was 1e-8 of the objective.
BOUND_TOLERANCE = 1e-9
# Stated z, which the proof does not use, may differ from P x + c − Aᵀy by as much as other stated numbers.
STATED_TOLERANCE = 1e-7
# Slopes towards infinity below this share of the largest value are rounding errors of constants: they are
# replaced by 0, since no scale would bound them for all mu. The proof is about the numbers after that.
NO_SLOPE = 1e-11
# No scale is smaller than this share of the largest of its kind: 1e-9 of it is a few digits of float64.
NOISE_SHARE = 1e-5
# Steps of iterative refinement: one gives all digits there are, another those it lost itself.
REFINEMENTS = 2
# A piece whose bound is above this share of the tolerance is refined before it counts.
REFINED_SHARE = 0.1


@dataclass(frozen=True)
class StatedPiece:
    """The numbers of an optimal segment in float64: constants and slopes of x and y, and which are stated."""

    states: Snapshot
    x: Floats
    y: Floats
    z: Floats | None
    has_x: Mask
    has_y: Mask

    @classmethod
    def read(cls, states: Snapshot, segment: Any, place: str) -> "StatedPiece":
        """Return what a segment states, dense or compact."""
        n, m = states.problem.n, states.problem.m
        x, y, z = states.known_x.copy(), states.known_y.copy(), None
        has_x, has_y = np.zeros(n, dtype=bool), np.zeros(m, dtype=bool)
        is_free, is_held = states.variables == BETWEEN, states.is_held.astype(bool)
        if "changes" not in segment:
            x[:, is_free] = _pairs(segment, "x", n, place)[:, is_free]
            y[:, is_held] = _pairs(segment, "y", m, place)[:, is_held]
            return cls(states, x, y, _pairs(segment, "z", n, place), is_free, is_held)
        moving, place = entry(segment, "moving", place), f"{place}: moving"
        for key, name, table, given, wanted in (
            ("variables", "x", x, has_x, is_free),
            ("rows", "y", y, has_y, is_held),
        ):
            listed = items(entry(moving, key, place), None, f"{place}: {key}")
            places = _indices(listed, len(given), f"{place}: {key}")
            table[:, places] = np.where(
                wanted[places], _pairs(moving, name, len(places), place), table[:, places]
            )
            given[places] = wanted[places]
        return cls(states, x, y, z, has_x, has_y)


def _indices(listed: Sequence[Any], size: int, place: str) -> Indices:
    """Return indices after checking that all are below `size`."""
    if set(map(type, listed)) <= {int}:
        found = np.array(listed)
        # integers beyond int64 make another type
        if found.dtype == np.int64 and found.min() >= 0 and found.max() < size:
            return found
    return np.array([index(k, size, f"{place}[{r}]") for r, k in enumerate(listed)], dtype=np.int64)


def _pairs(stated: Any, name: str, size: int, place: str) -> Floats:
    found = []
    for key in (f"{name}0", f"{name}1"):
        listed = items(entry(stated, key, place), size, f"{place}: {key}")
        is_float = set(map(type, listed)) <= {float}
        values = np.array(listed, dtype=np.float64) if is_float else np.full(size, np.nan)
        if not np.isfinite(values).all():
            values = np.array([approximate(v) for v in numbers(listed, size, f"{place}: {key}")])
        found.append(values)
    return np.array(found).reshape(2, size)


@dataclass(frozen=True)
class BoundedPiece:
    """A piece to bound: where, what it states, and why it is not proved exactly (None: it is too large)."""

    number: int
    title: str
    window: MuWindow
    stated: StatedPiece
    reason: CertificateError | None = None


class Completion:
    """Unknowns that a compact segment leaves out, in float64: each from an equation where it is the last.

    Nothing relies on their accuracy: whatever comes out is judged by the bounds.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        rows, columns, values = problem.A.entries
        is_flat = ~problem.P.touched
        counts = np.bincount(columns, minlength=problem.n)
        is_single = (counts[columns] == 1) & is_flat[columns]
        self._columns = _layers(rows[is_single], columns[is_single], values[is_single], by=0)
        is_single = np.bincount(rows, minlength=problem.m)[rows] == 1
        self._rows = _layers(rows[is_single], columns[is_single], values[is_single], by=1)
        self._inverses: dict[bytes, Floats] = {}

    def fill(self, batch: "Candidates") -> None:
        """Put values for everything that is missing."""
        problem, windows = self.problem, batch.windows
        cost = windows.limits(problem.c).value
        from_rows, from_columns = [], []
        for i, j, a in self._columns:
            # a free column without curvature in one row: stationarity has no other unknown than y of that row
            kept = batch.misses_x[:, j] & batch.misses_y[:, i]
            batch.put_y(i, kept, cost[:, :, j] / a)
            from_rows.append((i, j, a, kept))
        for i, j, a in self._rows:
            kept = batch.misses_x[:, j] & batch.misses_y[:, i]
            batch.put_x(j, kept, batch.targets[:, :, i] / a)
            from_columns.append((i, j, a, kept))
        waiting = np.zeros_like(batch.misses_x)
        for _, j, _, kept in from_rows:
            waiting[:, j] |= kept
        paired = np.zeros_like(batch.misses_y)
        for i, _, _, kept in from_columns:
            paired[:, i] |= kept
        if (batch.misses_x & ~waiting).any():
            self._solve_curved(batch, batch.misses_x & ~waiting, cost)
        for i, _, _, kept in from_columns:
            batch.misses_y[:, i] &= ~kept
        batch.single_rows = [entry for entry in from_columns if entry[-1].any()]
        batch.settle()
        for i, j, a, kept in from_rows:
            if kept.any():
                rest = batch.targets[:, :, i] - batch.conditions.products.activity.value[:, :, i]
                batch.put_x(j, kept, batch.x[:, :, j] + rest / a)
        self.refine(batch, np.flatnonzero(batch.misses_x.any(axis=1) | batch.misses_y.any(axis=1)))
        batch.drop_noise()
        batch.settle()

    def _solve_curved(self, batch: "Candidates", missing: Mask, cost: Floats) -> None:
        """Free variables that only stationarity determines: P x = Aᵀy − c over them, the rest being known."""
        pull = rowwise(self.problem.A.transposed_times, batch.y)
        rest = batch.conditions.products.curvature.value - pull + cost
        if self.problem.P.is_diagonal:
            diagonal = self.problem.P.float_diagonal
            kept = missing & (diagonal > 0)
            batch.put_x(np.arange(self.problem.n), kept, -rest / np.where(diagonal > 0, diagonal, 1.0))
            return
        for pattern in np.unique(missing, axis=0):
            chosen, where = np.flatnonzero((missing == pattern).all(axis=1)), np.flatnonzero(pattern)
            key = pattern.tobytes()
            if where.size and key not in self._inverses:
                block = self.problem.P.float_block(where)
                try:
                    self._inverses[key] = np.asarray(np.linalg.inv(block), dtype=np.float64)
                except np.linalg.LinAlgError:
                    continue
            if where.size and np.isfinite(self._inverses[key]).all():
                kept = np.zeros((len(missing), len(where)), dtype=bool)
                kept[chosen] = True
                batch.put_x(where, kept, -rest[:, :, where] @ self._inverses[key])

    def refine(self, batch: "Candidates", chosen: Indices) -> None:
        """Correct the unknowns of some pieces by what their equations miss, with a factorisation of each.

        An x that follows from large multipliers inherits their rounding errors; its own equations, solved for
        a correction, do not.
        """
        problem = self.problem
        systems = {}
        for k in chosen.tolist():
            free, held = np.flatnonzero(batch.is_free[k]), np.flatnonzero(batch.is_held[k])
            if not len(free) + len(held):
                continue
            A = problem.A.compressed[held][:, free]
            P = problem.P.sparse_block(free)
            system = scipy.sparse.block_array([[P, -A.T], [A, None]], format="csc")
            try:
                systems[k] = free, held, scipy.sparse.linalg.splu(system)
            except RuntimeError:  # exactly singular
                continue
        for _ in range(REFINEMENTS if systems else 0):
            missed_x = batch.conditions.bound_multipliers.value
            missed_y = batch.targets - batch.conditions.products.activity.value
            for k, (free, held, factor) in systems.items():
                right = np.concatenate([-missed_x[k][:, free], missed_y[k][:, held]], axis=1)
                found = np.array([factor.solve(row) for row in right])
                if np.isfinite(found).all():
                    batch.x[k][:, free] += found[:, : len(free)]
                    batch.y[k][:, held] += found[:, len(free) :]
            batch.forget_x()
        batch.settle()


def _layers(
    rows: Indices, columns: Indices, values: Floats, by: int
) -> list[tuple[Indices, Indices, Floats]]:
    """Return entries of a matrix in groups in which no row (0) or column (1) comes twice."""
    found = []
    while len(rows):
        first = np.unique((rows, columns)[by], return_index=True)[1]
        found.append((rows[first], columns[first], values[first]))
        is_left = np.ones(len(rows), dtype=bool)
        is_left[first] = False
        rows, columns, values = rows[is_left], columns[is_left], values[is_left]
    return found


class Candidates:
    """Points and multipliers at the ends of some pieces: affine between them, exact as they are."""

    def __init__(self, problem: Problem, pieces: Sequence[BoundedPiece]) -> None:
        self.problem, self.states = problem, [piece.stated.states for piece in pieces]
        self.windows = Windows([piece.window for piece in pieces])
        # 1 for values at a finite end, 0 for slopes towards an infinite one
        self.is_finite = self.windows.factors[:, :, 0] != 0
        self.variables = np.array([state.variables for state in self.states])
        self.rows = np.array([state.rows for state in self.states])
        self.is_free = self.variables == BETWEEN
        self.is_held = np.array([state.is_held for state in self.states], dtype=bool)
        self.misses_x = self.is_free & ~np.array([piece.stated.has_x for piece in pieces])
        self.misses_y = self.is_held & ~np.array([piece.stated.has_y for piece in pieces])
        stated = (np.array([getattr(piece.stated, name) for piece in pieces]) for name in ("x", "y"))
        self.x, self.y = (self.windows.factors @ pairs for pairs in stated)
        self.stated_x, self.stated_y = self.x.copy(), self.y.copy()
        self._products: Products | None = None
        self._conditions: Conditions | None = None
        self.drop_noise()
        self._known_x, self._known_y = (
            self.windows.sizes @ np.abs([getattr(state, name) for state in self.states])
            for name in ("known_x", "known_y")
        )
        # held rows with one entry whose y is not stated: y is what makes z of that variable exactly 0
        self.single_rows: list[tuple[Indices, Indices, Floats, Mask]] = []
        self.is_settled = np.zeros_like(self.is_free)
        self._settled_sizes = np.zeros_like(self.y)

    @cached_property
    def targets(self) -> Floats:
        """The limits of held rows."""
        lower = self.windows.limits(self.problem.row_lower).value
        upper = self.windows.limits(self.problem.row_upper).value
        return np.where((self.rows == AT_ROW_UPPER)[:, None], upper, lower)

    @property
    def conditions(self) -> Conditions:
        """The conditions at the points as they are now."""
        # unknowns are what they are; known ones are exact functions, of which these are roundings
        if self._products is None:
            size_x = np.where(self.is_free[:, None], np.abs(self.x), self._known_x)
            self._products = Products(self.problem, Enclosure(self.x, size_x))
        if self._conditions is None:
            size_y = np.where(self.is_held[:, None], np.abs(self.y), self._known_y)
            y = Enclosure(self.y, np.maximum(size_y, self._settled_sizes))
            self._conditions = Conditions(self._products, self.states, self.windows, lambda: y)
        return self._conditions

    def forget_x(self) -> None:
        """Evaluate the conditions again when next asked for: x was changed."""
        self._products = self._conditions = None

    def forget_y(self) -> None:
        """Evaluate again what depends on y, which was changed: products with x are the costly ones."""
        self._conditions = None

    def put_x(self, places: Indices, kept: Mask, values: Floats) -> None:
        """Set some entries of x, where `kept` says so."""
        self.x[:, :, places] = np.where(kept[:, None], values, self.x[:, :, places])
        self.misses_x[:, places] &= ~kept
        self.forget_x()

    def put_y(self, places: Indices, kept: Mask, values: Floats) -> None:
        """Set some entries of y, where `kept` says so."""
        self.y[:, :, places] = np.where(kept[:, None], values, self.y[:, :, places])
        self.misses_y[:, places] &= ~kept
        self.forget_y()

    def settle(self) -> None:
        """Let y of single rows be the exact functions that stationarity gives, and round these.

        Then z is 0 by definition, and the rounding errors of that sum are those of y.
        """
        for i, j, a, kept in self.single_rows:
            z = self.conditions.bound_multipliers
            rest, sizes = z.value[:, :, j] / a, z.size[:, :, j] / np.abs(a)
            self.y[:, :, i] += np.where(kept[:, None], rest, 0.0)
            self._settled_sizes[:, :, i] = np.where(kept[:, None], sizes, self._settled_sizes[:, :, i])
            self.is_settled[:, j] |= kept
            self.forget_y()

    def drop_noise(self) -> None:
        """Replace slopes towards infinity that are rounding errors by 0."""
        for k in np.flatnonzero(~self.is_finite.all(axis=1)):
            for end in np.flatnonzero(~self.is_finite[k]):
                for table, is_unknown in ((self.x, self.is_free[k]), (self.y, self.is_held[k])):
                    other, mu = table[k, 1 - end], self.windows.sizes[k, 1 - end, 1]
                    largest = np.max(np.abs(other), initial=0.0) if self.is_finite[k, 1 - end] else 0.0
                    is_noise = np.abs(table[k, end]) * (1 + mu) <= NO_SLOPE * largest
                    table[k, end][is_noise & is_unknown] = 0.0
                self.forget_x()


KINDS = ("x", "row", "multiplier of x", "multiplier of row")


class Measure:
    """Upper bounds on all that the points of a batch miss, and the sizes these are relative to.

    Tables have one row per piece and end. `gaps`, one per piece, is what missed limits of rows cost.
    """

    def __init__(self, batch: Candidates) -> None:
        largest = batch.conditions.y.size.max(initial=0.0)
        self._batch = batch
        self._bound = batch.conditions.bound if largest < LARGEST_FACTOR else np.inf
        self.is_finite = batch.is_finite
        conditions, problem = batch.conditions, batch.problem
        products = conditions.products
        x, y, z, activity = conditions.x, conditions.y, conditions.bound_multipliers, products.activity
        low, high = self._distances(activity)
        below = np.where(problem.row_lower.is_finite, np.maximum(0.0, low.size - low.value), 0.0)
        above = np.where(problem.row_upper.is_finite, np.maximum(0.0, high.size + high.value), 0.0)
        outside = np.maximum(below, above)
        wrong_rows = self._wrong_rows(low, high, outside)
        tables = np.abs(x.value), activity.size, z.size, np.abs(y.value)
        self.sizes = dict(zip(KINDS, tables, strict=True))
        wrong = self._wrong_x(x), wrong_rows, self._wrong_bound_multipliers(z), self._wrong_multipliers(y)
        self.violations = dict(zip(KINDS, wrong, strict=True))
        gradient = np.abs(products.curvature.value / 2 + batch.windows.limits(problem.c).value)
        self.objective: Floats = (self.sizes["x"] * gradient).sum(axis=-1)
        # what a missed limit costs: its multiplier, and in soft rows also the penalty itself
        price = self.sizes["multiplier of row"]
        if problem.penalty.has_any:
            is_soft, penalty = problem.penalty.is_finite, np.abs(batch.windows.limits(problem.penalty).value)
            self.objective += np.where(is_soft, penalty * outside, 0.0).sum(axis=-1)
            price = np.where(is_soft, 2 * np.maximum(penalty, price), price)
        # both factors are affine, so the product of their maxima is above it all over the piece; with slopes
        # in the place of values this bounds the coefficients of a polynomial in mu
        products_of_maxima = price.max(axis=1) * wrong_rows.max(axis=1)
        self.gaps: Floats = products_of_maxima.sum(axis=-1) * (1 + self._bound)

    def _excess(self, part: Enclosure) -> Floats:
        """Return how far the exact values may be above 0."""
        return np.maximum(0.0, part.value + self._bound * part.size)

    def _distance(self, part: Enclosure) -> Floats:
        """Return how far the exact values may be from 0."""
        return np.abs(part.value) + self._bound * part.size

    def _distances(self, activity: Enclosure) -> list[Enclosure]:
        """Return how far rows are above their lower and their upper limits, and the errors of that."""
        problem = self._batch.problem
        found: list[Enclosure] = []
        for limits in (problem.row_lower, problem.row_upper):
            if found and problem.is_equation.all():
                return found * 2
            value, size = activity.minus(self._batch.windows.limits(limits))
            found.append(Enclosure(value, self._bound * size))
        return found

    def _wrong_x(self, x: Enclosure) -> Floats:
        problem, windows, is_free = self._batch.problem, self._batch.windows, self._batch.is_free[:, None]
        wrong = np.zeros_like(x.value)
        # variables at a limit are there by definition
        if problem.lower.has_any:
            below = self._excess(windows.limits(problem.lower).minus(x))
            wrong = np.where(is_free & problem.lower.is_finite, below, wrong)
        if problem.upper.has_any:
            above = self._excess(x.minus(windows.limits(problem.upper)))
            wrong = np.where(is_free & problem.upper.is_finite, np.maximum(above, wrong), wrong)
        return wrong

    def _wrong_bound_multipliers(self, z: Enclosure) -> Floats:
        batch, states = self._batch, self._batch.variables[:, None]
        wrong = self._distance(z)
        if (states == AT_LOWER).any():
            wrong = np.where(states == AT_LOWER, self._excess(Enclosure(-z.value, z.size)), wrong)
        if (states == AT_UPPER).any():
            wrong = np.where(states == AT_UPPER, self._excess(z), wrong)
        return np.where(batch.problem.is_fixed | batch.is_settled[:, None], 0.0, wrong)

    def _wrong_rows(self, low: Enclosure, high: Enclosure, outside: Floats) -> Floats:
        codes, is_held = self._batch.rows[:, None], self._batch.is_held[:, None]
        wrong = np.where(is_held & (codes != AT_ROW_UPPER), np.abs(low.value) + low.size, 0.0)
        for code, miss in (
            (OFF, lambda: np.where(self._batch.problem.is_costless, 0.0, outside)),
            (AT_ROW_UPPER, lambda: np.abs(high.value) + high.size),
            (BELOW, lambda: np.maximum(0.0, low.size + low.value)),
            (ABOVE, lambda: np.maximum(0.0, high.size - high.value)),
        ):
            is_here = codes == code
            if is_here.any():
                wrong = np.where(is_here, miss(), wrong)
        return wrong

    def _wrong_multipliers(self, y: Enclosure) -> Floats:
        batch, penalty = self._batch, self._batch.problem.penalty
        signs = np.array([state.signs for state in batch.states])[:, None]
        wrong = np.zeros_like(y.value)
        if signs.any():
            wrong = np.where(signs != 0, self._excess(Enclosure(-signs * y.value, y.size)), wrong)
        if penalty.has_any:
            cap = batch.windows.limits(penalty)
            beyond = self._excess(Enclosure(np.abs(y.value) - cap.value, y.size + cap.size))
            wrong = np.where(penalty.is_finite & batch.is_held[:, None], np.maximum(wrong, beyond), wrong)
        return wrong


@dataclass
class Worst:
    """The largest value of every item so far, and the piece it comes from."""

    values: Floats
    pieces: Indices

    @classmethod
    def of(cls, size: int) -> "Worst":
        """Return zeros."""
        return cls(np.zeros(size), np.full(size, -1, dtype=np.int64))

    def note(self, table: Floats, pieces: Indices) -> None:
        """Take over what is larger; rows of the table belong to the pieces."""
        if len(table) and table.shape[1]:
            found = table.max(axis=0)
            larger = np.flatnonzero(~(found <= self.values))  # what is not a number counts as larger
            self.values[larger] = found[larger]
            self.pieces[larger] = pieces[np.argmax(table[:, larger], axis=0)]


@dataclass
class EndLedger:
    """Scales and violations of all items at finite ends, or of their slopes towards infinite ones."""

    n: int
    m: int
    objective: float = 0.0
    sizes: dict[str, Worst] = field(init=False)
    violations: dict[str, Worst] = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing seen."""
        counts = dict(zip(KINDS, (self.n, self.m, self.n, self.m), strict=True))
        self.sizes = {kind: Worst.of(count) for kind, count in counts.items()}
        self.violations = {kind: Worst.of(count) for kind, count in counts.items()}

    def scales(self, problem: Problem) -> dict[str, Floats]:
        """Return the scale of every item: its own size, but not less than what makes a difference.

        An item that is zero all along has no size of its own. Then a value counts as large as the terms next
        to it in the equation where it matters most.
        """
        size = {kind: worst.values for kind, worst in self.sizes.items()}
        rows, columns, values = problem.A.entries
        diagonal, a = problem.P.float_diagonal, np.abs(values)
        floor_x = _least(columns, size["row"][rows] / a, self.n)
        with np.errstate(divide="ignore", invalid="ignore"):
            natural = np.where(diagonal > 0, size["multiplier of x"] / diagonal, np.inf)
        floor_x = np.minimum(floor_x, np.where(natural > 0, natural, np.inf))
        x = np.maximum(size["x"], np.where(np.isfinite(floor_x), floor_x, 0.0))
        floor_row = _least(rows, a * x[columns], self.m)
        row = np.maximum(size["row"], np.where(np.isfinite(floor_row), floor_row, 0.0))
        floor_y = _least(rows, size["multiplier of x"][columns] / a, self.m)
        y = np.maximum(size["multiplier of row"], np.where(np.isfinite(floor_y), floor_y, 0.0))
        scales = (x, row, size["multiplier of x"], y)
        # items that are only noise: float64 has no digits this far below the largest
        least = (NOISE_SHARE * np.max(scale, initial=0.0) for scale in scales)
        return dict(zip(KINDS, map(np.maximum, scales, least), strict=True))


def _least(places: Indices, values: Floats, size: int) -> Floats:
    """Return the least positive value of each place, infinite without one."""
    found = np.full(size, np.inf)
    np.minimum.at(found, places, np.where(values > 0, values, np.inf))
    return found


class Ledger:
    """What is proved about all pieces that are bounded; `require` says if it is enough."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self._shortfall = problem, problem.P.shortfall
        self._finite = EndLedger(problem.n, problem.m)
        self._infinite = EndLedger(problem.n, problem.m)
        # why each piece is not proved exactly, and its title
        self._pieces: dict[int, tuple[str, CertificateError | None]] = {}
        # per batch a piece, what missed limits cost, and the largest wrong multipliers: what these cost
        # depends on scales, which are known at the end
        self._batches: list[tuple[int, float, Floats, Floats]] = []
        # how far refinement moved a stated number, relative to 1 + the largest of its vector
        self.deviation = 0.0
        self.largest_violation = 0.0
        self.largest_gap = 0.0
        self.objective_scale = 0.0

    @cached_property
    def _completion(self) -> Completion:
        return Completion(self.problem)

    def add(self, pieces: Sequence[BoundedPiece]) -> None:
        """Measure some pieces."""
        if not pieces:
            return
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            batch = Candidates(self.problem, pieces)
            self._completion.fill(batch)
            measure = Measure(batch)
            objective = max(self._finite.objective, self._infinite.objective, float(measure.objective.max()))
            limit = REFINED_SHARE * BOUND_TOLERANCE * objective
            if not (measure.gaps <= limit).all():
                self._completion.refine(batch, np.flatnonzero(~(measure.gaps <= limit)))
                measure = Measure(batch)
            self._require_stated_numbers(batch, pieces)
            self._require_stated_multipliers(batch, pieces)
            self._note(measure, np.array([piece.number for piece in pieces]))
        for piece in pieces:
            self._pieces[piece.number] = piece.title, piece.reason

    def _note(self, measure: "Measure", pieces: Indices) -> None:
        is_finite = measure.is_finite
        for ledger, chosen in ((self._finite, is_finite), (self._infinite, ~is_finite)):
            owners = np.broadcast_to(pieces[:, None], chosen.shape)[chosen]
            for kind in KINDS if chosen.any() else ():
                ledger.sizes[kind].note(measure.sizes[kind][chosen], owners)
                ledger.violations[kind].note(measure.violations[kind][chosen], owners)
            ledger.objective = max(ledger.objective, float(np.max(measure.objective[chosen], initial=0.0)))
        wrong = [measure.violations[kind].max(axis=(0, 1), initial=0.0) for kind in KINDS[2:]]
        self._batches.append((int(pieces[np.argmax(measure.gaps)]), float(measure.gaps.max()), *wrong))

    def _require_stated_numbers(self, batch: Candidates, pieces: Sequence[BoundedPiece]) -> None:
        """Raise if a stated number was moved by more than rounding: then it was not the solution."""
        for name, has in (("x", "has_x"), ("y", "has_y")):
            found, stated = getattr(batch, name), getattr(batch, f"stated_{name}")
            gaps = np.abs(found - stated).max(axis=1)
            scales = 1 + np.max(np.abs(found), axis=(1, 2), initial=0.0)
            is_stated = np.array([getattr(piece.stated, has) for piece in pieces])
            shares = np.where(is_stated, gaps / scales[:, None], 0.0)
            self.deviation = max(self.deviation, float(np.max(shares, initial=0.0)))
            for k, piece in enumerate(pieces):
                wrong = getattr(piece.stated, has) & ~(gaps[k] <= STATED_TOLERANCE * scales[k])
                if wrong.any():
                    j = int(np.argmax(wrong))
                    expected = "what its states and its other numbers give"
                    raise piece.reason or CertificateError(
                        argument=f"{piece.title}: {name}[{j}]",
                        expected=expected,
                        found=f"off by {gaps[k, j]:.1e}",
                    )

    def _require_stated_multipliers(self, batch: Candidates, pieces: Sequence[BoundedPiece]) -> None:
        """Raise if a stated z is not P x + c − Aᵀy up to rounding."""
        for k, piece in enumerate(pieces):
            if piece.stated.z is not None:
                z = batch.conditions.bound_multipliers
                gap = np.abs(batch.windows.factors[k] @ piece.stated.z - z.value[k])
                scale = 1 + np.max(z.size[k], initial=0.0)
                if not (gap <= STATED_TOLERANCE * scale).all():
                    j = int(np.argmax(np.max(gap, axis=0)))
                    raise piece.reason or CertificateError(
                        argument=f"{piece.title}: z[{j}]", expected="P x + c − Aᵀy", found=float(gap.max())
                    )

    def require(self, tolerance: float = BOUND_TOLERANCE) -> None:
        """Raise unless violations and gap are small relative to their scales; set the largest of each."""
        if not self._pieces:
            return
        radius, room, objective = np.zeros(self.problem.n), np.zeros(self.problem.m), 0.0
        for ledger in (self._finite, self._infinite):
            scales = ledger.scales(self.problem)
            for kind in KINDS:
                self._require_violations(kind, ledger.violations[kind], scales[kind], tolerance)
            # an item that is 0 all along need not be moved further than the largest of all
            radius += np.minimum(scales["x"], np.max(ledger.sizes["x"].values, initial=0.0))
            room += np.minimum(scales["row"], np.max(ledger.sizes["row"].values, initial=0.0))
            sizes = ledger.sizes["x"].values * ledger.sizes["multiplier of x"].values
            objective = max(objective, ledger.objective, float(np.max(sizes, initial=0.0)))
        # x may move by its scale: a sign that is wrong by this much gains at most the product
        gaps = [cost + float(z @ radius) + float(y @ room) for _, cost, z, y in self._batches]
        worst = int(np.argmax(gaps))
        gap = gaps[worst] + self._shortfall * float(np.sum(np.square(radius))) / 2
        self.objective_scale = objective
        self.largest_gap = gap / objective if gap > 0 else 0.0
        if not self.largest_gap <= tolerance:
            self._refuse(self._batches[worst][0], f"a gap of {self.largest_gap:.1e}", tolerance)

    def _require_violations(self, kind: str, worst: Worst, scale: Floats, tolerance: float) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(worst.values > 0, worst.values / scale, 0.0)
        if not len(shares):
            return
        item = int(np.argmax(np.where(np.isnan(shares), np.inf, shares)))
        share = float(shares[item])
        if not share <= tolerance:
            name = f"{kind} {item}" if kind.endswith("row") else f"{kind}[{item}]"
            self._refuse(int(worst.pieces[item]), f"a violation of {share:.1e} at {name}", tolerance)
        self.largest_violation = max(self.largest_violation, share)

    def _refuse(self, number: int, found: str, tolerance: float) -> None:
        title, reason = self._pieces.get(number) or next(iter(self._pieces.values()))
        expected = f"optimal up to {tolerance:.0e} of its scales"
        message = "{argument} must be {expected}, but float64 proves no better than {found}"
        error = CertificateError(message, argument=title, expected=expected, found=found)
        if reason is not None:
            # why the exact proof failed says more than by how much the bound does
            raise reason from error
        raise error
