r"""Bounds: what is proved of a piece whose basis is not exactly optimal, or too large to be solved exactly.

A float piece states x and y at its two ends; between them both are affine. That is a point whether or not a
basis belongs to it, and weak duality says how good it is. With :math:`z = P x + c - A^\top y`, convexity
gives for every feasible :math:`x'`

.. math:: f(x') - f(x) \ge y^\top (A x' - A x) + z^\top (x' - x) + \text{penalties},

so the value of x is at most the sum of all missed complementarity above that of :math:`x'`. What is measured,
each as an upper bound that includes all rounding errors of float64 (see `optimality`):

- the *violation* of limits by x and A x, and of signs and caps by z and y, each relative to the *scale* of
  its item: the largest sum of sizes of the terms that enter it, over all pieces that are bounded, or over all
  optimal pieces where those are not enough;
- the *gap*: the value of x exceeds that of every feasible :math:`x'` with :math:`|x'_j - x_j|` at most the
  scale of x_j and the largest x by no more than this. Convexity extends this to all feasible points, in
  proportion to their distance. It is relative to the scale of the objective, the largest sum of sizes of its
  terms.

Violations are affine on a piece, so their maxima are at its ends. Towards an infinite end slopes take the
place of values: both a violation and its scale grow with mu.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from types import MappingProxyType

import numpy as np
from flint import fmpq

from pqp.certificate.conditions import AT_LOWER, AT_UPPER, Enclosure, MuWindow
from pqp.certificate.document import approximate
from pqp.certificate.points import BoundedPiece, Candidates, Completion
from pqp.certificate.problem import Mask, Problem
from pqp.certificate.rationals import Floats, Indices
from pqp.certificate.states import AT_ROW_UPPER
from pqp.errors import CertificateError

# A violation or a gap up to this share of its scale is rounding: float64 keeps 1e-16 per operation, engines
# accept 1e-9 of a condition, and the smallest error known to mislead a reader was 1e-8 of the objective.
BOUND_TOLERANCE = 1e-9
# Stated z, which the proof does not use, may differ from P x + c − Aᵀy by as much as other stated numbers.
STATED_TOLERANCE = 1e-7
# What one rounding changes, and some more.
ONE_ROUNDING = 2.0**-52
# No scale is smaller than this share of the largest of its kind: 1e-9 of it is a few digits of float64.
NOISE_SHARE = 1e-5
# A piece whose bound is above this share of the tolerance is refined before it counts.
REFINED_SHARE = 0.1

KINDS = ("x", "row", "multiplier of x", "multiplier of row")


class Measure:
    """Upper bounds on all that the points of a batch miss, and the sizes these are relative to.

    Tables have one row per piece and end; `costs`, one row per piece, is what missed limits of rows cost. For
    `sharp` pieces sums over rows are exact: at a high price per row the error of float64 would be too much.
    """

    def __init__(self, batch: Candidates, sharp: Iterable[int] = ()) -> None:
        conditions, problem = batch.conditions, batch.problem
        self._batch, self.is_finite = batch, batch.is_finite
        x, y, z = conditions.x, conditions.y, conditions.bound_multipliers
        tables = np.abs(x.value), conditions.products.activity.size, z.size, np.abs(y.value)
        self.sizes = dict(zip(KINDS, tables, strict=True))
        low = conditions.distances(problem.row_lower)
        high = low if problem.is_equation.all() else conditions.distances(problem.row_upper)
        for k in sharp:
            for side, exact in zip((low, high), batch.exact_distances(k), strict=True):
                side.value[k], side.size[k] = exact, ONE_ROUNDING * np.abs(exact)
        bound = conditions.bound_with(y)
        self.violations = self._missed_equations(low, high, Enclosure(z.value, bound * z.size))
        self.inequalities = list(
            conditions.inequalities(lambda limits: low if limits is problem.row_lower else high)
        )
        for kind, columns, applies, excess in self.inequalities:
            table, places = self.violations[kind], slice(None) if columns is None else columns
            missed = np.where(applies[:, None], np.maximum(0.0, excess), 0.0)
            table[..., places] = np.maximum(table[..., places], missed)
        self.violations["multiplier of x"][np.broadcast_to(batch.is_settled[:, None], x.value.shape)] = 0.0
        gradient = np.abs(conditions.products.curvature.value / 2 + batch.windows.limits(problem.c).value)
        self.objective: Floats = (self.sizes["x"] * gradient).sum(axis=-1)
        # what a missed limit costs: its multiplier, and in soft rows the penalty as well. Both factors are
        # affine, so the product of their maxima is above it all over the piece; with slopes in the place of
        # values this bounds the coefficients of a polynomial in mu
        price = self.sizes["multiplier of row"].max(axis=1)
        if problem.penalty.has_any:
            is_soft, penalty = problem.penalty.is_finite, np.abs(batch.windows.limits(problem.penalty).value)
            below = np.where(problem.row_lower.is_finite, low.size - low.value, 0.0)
            above = np.where(problem.row_upper.is_finite, high.size + high.value, 0.0)
            outside = np.where(is_soft, np.maximum(0.0, np.maximum(below, above)), 0.0)
            self.objective += (penalty * outside).sum(axis=-1)
            price = np.where(is_soft, 2 * np.maximum(penalty.max(axis=1), price), price)
        self.costs: Floats = price * self.violations["row"].max(axis=1) * (1 + bound)

    @cached_property
    def gaps(self) -> Floats:
        """What missed limits of all rows cost, one per piece."""
        return np.asarray(self.costs.sum(axis=-1))

    def _missed_equations(self, low: Enclosure, high: Enclosure, z: Enclosure) -> dict[str, Floats]:
        """Return by how much held rows are off their limits, and how far from 0 z of free variables is."""
        batch, x, y = self._batch, self.sizes["x"], self.sizes["multiplier of row"]
        is_upper = (batch.rows == AT_ROW_UPPER)[:, None]
        distance = np.abs(np.where(is_upper, high.value, low.value)) + np.where(is_upper, high.size, low.size)
        is_at_limit = (batch.variables == AT_LOWER) | (batch.variables == AT_UPPER) | batch.problem.is_fixed
        pull = np.where(is_at_limit[:, None], 0.0, np.abs(z.value) + z.size)
        rows = np.where(batch.is_held[:, None], distance, 0.0)
        return dict(zip(KINDS, (np.zeros_like(x), rows, pull, np.zeros_like(y)), strict=True))

    def ends(self, k: int, window: MuWindow, least: dict[str, Floats], cost: float) -> list[float | None]:
        """Return where the conditions of a piece begin and cease to hold, None for ends that are right.

        What is missed by less than `least` and costs less than `cost` does not count.
        """
        lo, hi = window.lo, window.hi
        # towards an infinite end margins are slopes
        length = 1.0 if lo is None or hi is None else approximate(hi - lo)
        found: list[float | None] = []
        for end, (mu, other, inwards) in enumerate(((lo, hi, 1.0), (hi, lo, -1.0))):
            move = 0.0
            for kind, columns, applies, excess in self.inequalities:
                here, there = excess[k, end], excess[k, 1 - end]
                is_large = here > least[kind][slice(None) if columns is None else columns]
                if kind == "row":
                    is_large |= self.costs[k] > cost
                moves = length * here / (-there if other is None else here - there)
                is_crossed = applies[k] & is_large & (here > 0) & (there < 0)
                move = max(move, float(np.max(moves[is_crossed], initial=0.0)))
            found.append(approximate(mu) + inwards * move if mu is not None and move else None)
        return found


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
    sizes: dict[str, Floats] = field(init=False)
    violations: dict[str, Worst] = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing seen."""
        counts = dict(zip(KINDS, (self.n, self.m, self.n, self.m), strict=True))
        self.sizes = {kind: np.zeros(count) for kind, count in counts.items()}
        self.violations = {kind: Worst.of(count) for kind, count in counts.items()}

    def misses(self, problem: Problem, measure: "Measure", chosen: Mask, share: float) -> Mask:
        """Return the pieces that miss more than a share of the tolerance, in the scales seen so far."""
        found = np.zeros(len(chosen), dtype=bool)
        sizes = self.seen(measure, chosen) if chosen.any() else {}
        for kind, size in sizes.items():
            least = np.maximum(size, NOISE_SHARE * np.max(size, initial=0.0))
            is_small = measure.violations[kind] <= share * BOUND_TOLERANCE * least
            if not (is_small | ~chosen[..., None]).all():
                # items without a size of their own: scales cost more to find
                is_small = (
                    measure.violations[kind] <= share * BOUND_TOLERANCE * self.scales(problem, sizes)[kind]
                )
            found |= ~(is_small.all(axis=-1) | ~chosen).all(axis=-1)
        return found

    def seen(self, measure: "Measure", chosen: Mask) -> dict[str, Floats]:
        """Return the sizes with those of some pieces that are to be added."""
        return {
            kind: np.maximum(size, np.max(measure.sizes[kind][chosen], axis=0, initial=0.0))
            for kind, size in self.sizes.items()
        }

    def scales(self, problem: Problem, sizes: dict[str, Floats] | None = None) -> dict[str, Floats]:
        """Return the scale of every item: its own size, but not less than what makes a difference.

        An item that is zero all along has no size of its own. Then a value counts as large as the terms next
        to it in the equation where it matters most.
        """
        size = self.sizes if sizes is None else sizes
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


class RoughError(CertificateError):
    """Some pieces are not proved optimal up to the tolerance; `unsolved` are those never solved exactly."""

    unsolved: frozenset[int] = frozenset()
    closer_ends: Mapping[int, fmpq] = MappingProxyType({})
    reason: CertificateError | None = None


def _shifts(batch: Candidates, pieces: Sequence[BoundedPiece]) -> Floats:
    """Return how far stated x and y were moved, relative to 1 + the largest of each, one row per piece."""
    found = []
    for name in "xy":
        now, stated = getattr(batch, name), getattr(batch, f"stated_{name}")
        is_stated = np.array([getattr(piece.stated, f"has_{name}") for piece in pieces])
        gaps = np.where(is_stated, np.abs(now - stated).max(axis=1), 0.0).max(axis=1, initial=0.0)
        found.append(gaps / (1 + np.max(np.abs(now), axis=(1, 2), initial=0.0)))
    return np.stack(found, axis=1)


class Ledger:
    """What is proved about all pieces that are bounded; `require` says if it is enough."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self._shortfall = problem, problem.P.shortfall
        self._finite = EndLedger(problem.n, problem.m)
        self._infinite = EndLedger(problem.n, problem.m)
        # why each piece is not proved exactly, and its title
        self._pieces: dict[int, tuple[str, CertificateError | None]] = {}
        # per batch its pieces, what missed limits cost, and the largest wrong multipliers: what these cost
        # depends on scales, which are known at the end
        self._batches: list[tuple[list[int], float, Floats, Floats]] = []
        # ends of pieces, by their number, where conditions change that are missed at the stated ones
        self.closer_ends: dict[int, fmpq] = {}
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
            is_rough = self._are_rough(measure, REFINED_SHARE, objective)
            if is_rough.any():
                before = batch.x.copy(), batch.y.copy()
                self._completion.refine(batch, np.flatnonzero(is_rough))
                # multipliers of nearly dependent rows move far, and what is stated may be as good
                is_far = ~(_shifts(batch, pieces).max(axis=1) <= STATED_TOLERANCE)
                batch.restore(np.flatnonzero(is_far), *before)
                measure = Measure(batch)
            is_rough = self._are_rough(measure, 1.0, objective)
            if is_rough.any():
                measure = Measure(batch, np.flatnonzero(is_rough).tolist())
                self._note_ends(measure, pieces, self._are_rough(measure, 1.0, objective), objective)
            shifts = _shifts(batch, pieces)
            self.deviation = max(self.deviation, float(np.max(shifts, initial=0.0)))
            for k, name in zip(*np.nonzero(~(shifts <= STATED_TOLERANCE)), strict=True):
                error = CertificateError(
                    argument=f"{pieces[k].title}: {'xy'[name]}",
                    expected="what its states and its other numbers give",
                    found=f"off by {shifts[k, name]:.1e}",
                )
                raise pieces[k].reason or error
            self._require_stated_multipliers(batch, pieces)
            self._note_sizes(measure)
            self._note_violations(measure, [piece.number for piece in pieces])
        for piece in pieces:
            self._pieces[piece.number] = piece.title, piece.reason

    def _are_rough(self, measure: "Measure", share: float, objective: float) -> Mask:
        """Return which pieces miss more than a share of the tolerance, as far as is known yet."""
        is_rough = ~(measure.gaps <= share * BOUND_TOLERANCE * objective)
        for ledger, chosen in ((self._finite, measure.is_finite), (self._infinite, ~measure.is_finite)):
            is_rough |= ledger.misses(self.problem, measure, chosen, share)
        return is_rough

    def _note_ends(
        self, measure: "Measure", pieces: Sequence[BoundedPiece], is_rough: Mask, objective: float
    ) -> None:
        """Remember where conditions change that are missed because the end of a piece is not accurate."""
        share = REFINED_SHARE * BOUND_TOLERANCE
        sizes = self._finite.scales(self.problem, self._finite.seen(measure, measure.is_finite))
        least = {kind: share * size for kind, size in sizes.items()}
        for k in np.flatnonzero(is_rough).tolist():
            number, window = pieces[k].number, pieces[k].window
            for end, mu in enumerate(measure.ends(k, window, least, share * objective)):
                if mu is not None and math.isfinite(mu):
                    self.closer_ends[number + end] = fmpq(*mu.as_integer_ratio())

    def add_sizes(self, pieces: Sequence[BoundedPiece]) -> None:
        """Let the numbers of pieces that are proved exactly count for the scales."""
        if pieces:
            with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                batch = Candidates(self.problem, pieces)
                self._completion.fill(batch)
                self._note_sizes(Measure(batch))

    def _note_sizes(self, measure: "Measure") -> None:
        for ledger, chosen in ((self._finite, measure.is_finite), (self._infinite, ~measure.is_finite)):
            for kind in KINDS if chosen.any() else ():
                ledger.sizes[kind] = np.fmax(ledger.sizes[kind], measure.sizes[kind][chosen].max(axis=0))
            ledger.objective = max(ledger.objective, float(np.max(measure.objective[chosen], initial=0.0)))

    def _note_violations(self, measure: "Measure", pieces: list[int]) -> None:
        for ledger, chosen in ((self._finite, measure.is_finite), (self._infinite, ~measure.is_finite)):
            owners = np.broadcast_to(np.array(pieces)[:, None], chosen.shape)[chosen]
            for kind in KINDS if chosen.any() else ():
                ledger.violations[kind].note(measure.violations[kind][chosen], owners)
        wrong = [measure.violations[kind].max(axis=(0, 1), initial=0.0) for kind in KINDS[2:]]
        self._batches.append((pieces, float(measure.gaps.max()), *wrong))

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
            radius += np.minimum(scales["x"], np.max(ledger.sizes["x"], initial=0.0))
            room += np.minimum(scales["row"], np.max(ledger.sizes["row"], initial=0.0))
            sizes = ledger.sizes["x"] * ledger.sizes["multiplier of x"]
            objective = max(objective, ledger.objective, float(np.max(sizes, initial=0.0)))
        # x may move by its scale: a sign that is wrong by this much gains at most the product
        missed = self._shortfall * float(np.sum(np.square(radius))) / 2
        gaps = [cost + float(z @ radius) + float(y @ room) + missed for _, cost, z, y in self._batches]
        worst = int(np.argmax(gaps))
        self.objective_scale = objective
        self.largest_gap = gaps[worst] / objective if gaps[worst] > 0 else 0.0
        if not self.largest_gap <= tolerance:
            is_wide = [not gap <= tolerance * objective for gap in gaps]
            batches = [batch[0] for batch, is_too in zip(self._batches, is_wide, strict=True) if is_too]
            numbers = [*self._batches[worst][0], *chain.from_iterable(batches)]
            self._refuse(numbers, f"a gap of {self.largest_gap:.1e}", tolerance)

    def _require_violations(self, kind: str, worst: Worst, scale: Floats, tolerance: float) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(worst.values > 0, worst.values / scale, 0.0)
        shares[np.isnan(worst.values)] = np.inf
        if not len(shares):
            return
        item = int(np.argmax(shares))
        share = float(shares[item])
        if not share <= tolerance:
            name = f"{kind} {item}" if kind.endswith("row") else f"{kind}[{item}]"
            numbers = worst.pieces[np.argsort(-shares, kind="stable")[: int((shares > tolerance).sum())]]
            self._refuse(numbers.tolist(), f"a violation of {share:.1e} at {name}", tolerance)
        self.largest_violation = max(self.largest_violation, share)

    def _refuse(self, numbers: Sequence[int], found: str, tolerance: float) -> None:
        title, reason = self._pieces[numbers[0]]
        expected = f"optimal up to {tolerance:.0e} of its scales"
        message = "{argument} must be {expected}, but float64 proves no better than {found}"
        error = RoughError(message, argument=title, expected=expected, found=found)
        error.unsolved = frozenset(k for k in numbers if self._pieces[k][1] is None)
        # why the exact proof failed says more than by how much the bound does
        error.closer_ends, error.reason = self.closer_ends, reason
        raise error
