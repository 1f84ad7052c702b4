r"""Bounds: what is proved of a piece whose basis is not exactly optimal, or is too large to be solved exactly.

A float piece states x and y at its two ends; between them both are affine. That is a point whether or not a
basis belongs to it, and weak duality tells how good it is. With :math:`z = P x + c - A^\top y`, convexity gives
for every feasible :math:`x'`

.. math:: f(x') - f(x) \ge y^\top (A x' - A x) + z^\top (x' - x) + \text{penalties},

so the value of x is at most the sum of all missed complementarity above that of :math:`x'`. What is measured,
each as an upper bound that includes all rounding errors of float64 (see `optimality`):

- the *violation* of limits by x and A x, and of signs and caps by z and y, each relative to the *scale* of its
  item: the largest sum of sizes of the terms that enter it, over all pieces that are bounded;
- the *gap*: the value of x exceeds that of every feasible :math:`x'` with :math:`|x'_j - x_j|` at most the
  scale of x_j by no more than this. Convexity extends this to all feasible points, in proportion to their
  distance. It is relative to the scale of the objective, the largest sum of sizes of its terms.

Violations are affine on a piece, so their maxima are at its ends. Towards an infinite end slopes take the
place of values: both a violation and its scale grow with mu.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pqp.certificate.document import approximate, entry, index, items, numbers, shown
from pqp.certificate.optimality import AT_LOWER, AT_UPPER, BETWEEN, Conditions, Enclosure, MuWindow, Windows
from pqp.certificate.problem import Mask, Problem
from pqp.certificate.rationals import Floats, Indices
from pqp.certificate.states import ROWS, Snapshot
from pqp.errors import CertificateError

# A violation or a gap up to this share of its scale is rounding: float64 keeps 1e-16 per operation, engines
# accept 1e-9 of a condition, and the smallest error known to mislead a reader was 1e-8 of the objective.
BOUND_TOLERANCE = 1e-9
# Stated z, which the proof does not use, may differ from P x + c − Aᵀy by as much as other stated numbers.
STATED_TOLERANCE = 1e-7
# Slopes towards infinity below this share of the largest value are rounding errors of constants: they are
# replaced by 0, since no scale would bound them for all mu. The proof is about the numbers after that.
NO_SLOPE = 1e-11
# Pieces are bounded together up to this many numbers per table: products are then large enough to be fast.
LARGEST_BATCH = 2**18

OFF, _, AT_ROW_UPPER, _, BELOW, ABOVE = range(len(ROWS))


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
            places = [index(k, len(given), f"{place}: {key}[{r}]") for r, k in enumerate(listed)]
            table[:, places] = np.where(wanted[places], _pairs(moving, name, len(places), place), table[:, places])
            given[places] = wanted[places]
        return cls(states, x, y, z, has_x, has_y)


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
        for i, j, a, kept in from_columns:
            if kept.any():
                rest = batch.conditions.bound_multipliers.value[:, :, j]
                batch.put_y(i, kept, batch.y[:, :, i] + rest / a)
        for i, j, a, kept in from_rows:
            if kept.any():
                rest = batch.targets[:, :, i] - batch.conditions.activity.value[:, :, i]
                batch.put_x(j, kept, batch.x[:, :, j] + rest / a)
        for k in np.flatnonzero(batch.misses_x.any(axis=1) | batch.misses_y.any(axis=1)):
            self._solve_all(batch, int(k), cost)

    def _solve_curved(self, batch: "Candidates", missing: Mask, cost: Floats) -> None:
        """Free variables that only stationarity determines: P x = Aᵀy − c over them, the rest being known."""
        rest = batch.conditions.bound_multipliers.value
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
                    self._inverses[key] = np.linalg.inv(block)
                except np.linalg.LinAlgError:
                    continue
            if where.size and np.isfinite(self._inverses[key]).all():
                kept = np.zeros((len(missing), len(where)), dtype=bool)
                kept[chosen] = True
                batch.put_x(where, kept, -rest[:, :, where] @ self._inverses[key])

    def _solve_all(self, batch: "Candidates", k: int, cost: Floats) -> None:
        """Solve the whole system of a piece in float64, if nothing shorter gives all unknowns."""
        states, problem = batch.states[k], self.problem
        free, held = np.flatnonzero(states.variables == BETWEEN), np.flatnonzero(states.is_held)
        x, y = batch.x[k].copy(), batch.y[k].copy()
        x[:, free], y[:, held] = 0.0, 0.0
        A = problem.A.compressed[held][:, free].toarray()
        system = np.block([[problem.P.float_block(free), -A.T], [A, np.zeros((len(held), len(held)))]])
        known = problem.P.enclose(x.T, np.abs(x).T)[0].T - problem.A.transposed_times(y.T).T + cost[k]
        rest = batch.targets[k] - problem.A.times(x.T).T
        right = np.concatenate([-known[:, free], rest[:, held]], axis=1).T
        try:
            found = np.linalg.solve(system, right).T
        except np.linalg.LinAlgError:
            found = np.linalg.lstsq(system, right, rcond=None)[0].T
        found = np.where(np.isfinite(found), found, 0.0)
        batch.x[k][:, free], batch.y[k][:, held] = found[:, : len(free)], found[:, len(free) :]
        batch.forget()


def _layers(
    rows: Indices, columns: Indices, values: Floats, by: int
) -> list[tuple[Indices, Indices, Floats]]:
    """Return entries of a matrix in groups in which no row (0) or column (1) comes twice."""
    found = []
    while len(rows):
        first = np.unique((rows, columns)[by], return_index=True)[1]
        found.append((rows[first], columns[first], values[first]))
        rows, columns, values = (np.delete(part, first) for part in (rows, columns, values))
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
        self.x, self.y = (self._without_noise(self.windows.factors @ pairs) for pairs in stated)
        self._known_x, self._known_y = (
            self.windows.sizes @ np.abs([getattr(state, name) for state in self.states])
            for name in ("known_x", "known_y")
        )
        self._conditions: Conditions | None = None

    @cached_property
    def targets(self) -> Floats:
        """The limits of held rows."""
        lower = self.windows.limits(self.problem.row_lower).value
        upper = self.windows.limits(self.problem.row_upper).value
        return np.where((self.rows == AT_ROW_UPPER)[:, None], upper, lower)

    @property
    def conditions(self) -> Conditions:
        """The conditions at the points as they are now."""
        if self._conditions is None:
            # unknowns are what they are; known ones are exact functions, of which these are roundings
            size_x = np.where(self.is_free[:, None], np.abs(self.x), self._known_x)
            size_y = np.where(self.is_held[:, None], np.abs(self.y), self._known_y)
            x, y = Enclosure(self.x, size_x), Enclosure(self.y, size_y)
            self._conditions = Conditions(self.problem, self.states, self.windows, x, y)
        return self._conditions

    def forget(self) -> None:
        """Evaluate the conditions again when next asked for."""
        self._conditions = None

    def put_x(self, places: Indices, kept: Mask, values: Floats) -> None:
        """Set some entries of x, where `kept` says so."""
        self.x[:, :, places] = np.where(kept[:, None], values, self.x[:, :, places])
        self.misses_x[:, places] &= ~kept
        self.forget()

    def put_y(self, places: Indices, kept: Mask, values: Floats) -> None:
        """Set some entries of y, where `kept` says so."""
        self.y[:, :, places] = np.where(kept[:, None], values, self.y[:, :, places])
        self.misses_y[:, places] &= ~kept
        self.forget()

    def _without_noise(self, table: Floats) -> Floats:
        for k in np.flatnonzero(~self.is_finite.all(axis=1)):
            for end in np.flatnonzero(~self.is_finite[k]):
                other, mu = table[k, 1 - end], self.windows.sizes[k, 1 - end, 1]
                largest = np.max(np.abs(other), initial=0.0) if self.is_finite[k, 1 - end] else 0.0
                table[k, end][np.abs(table[k, end]) * (1 + mu) <= NO_SLOPE * largest] = 0.0
        return table


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
            rows = np.argmax(table, axis=0)
            found = table[rows, np.arange(table.shape[1])]
            is_larger = ~(found <= self.values)  # what is not a number counts as larger
            self.values = np.where(is_larger, found, self.values)
            self.pieces = np.where(is_larger, pieces[rows], self.pieces)


KINDS = ("x", "row", "multiplier of x", "multiplier of row")


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
        return dict(zip(KINDS, (x, row, size["multiplier of x"], y), strict=True))


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
        self._gap = 0.0
        self._gap_piece = -1
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
            self._require_stated_multipliers(batch, pieces)
            self._note(batch, np.array([piece.number for piece in pieces]))
        for piece in pieces:
            self._pieces[piece.number] = piece.title, piece.reason

    def _note(self, batch: Candidates, pieces: Indices) -> None:
        problem, conditions = self.problem, batch.conditions
        bound, windows = conditions.bound, batch.windows
        x, y, z, activity = conditions.x, conditions.y, conditions.bound_multipliers, conditions.activity

        def excess(part: Enclosure) -> Floats:
            """How far the exact value may be above 0."""
            return np.maximum(0.0, part.value + bound * part.size)

        def size(part: Enclosure) -> Enclosure:
            return Enclosure(np.abs(part.value), part.size)

        is_free, is_held = batch.is_free[:, None], batch.is_held[:, None]
        lower, upper = windows.limits(problem.lower), windows.limits(problem.upper)
        below = np.where(problem.lower.is_finite, excess(lower.minus(x)), 0.0)
        above = np.where(problem.upper.is_finite, excess(x.minus(upper)), 0.0)
        # variables at a limit are there by definition
        wrong_x = np.where(is_free, np.maximum(below, above), 0.0)

        states = batch.variables[:, None]
        wrong_z = excess(size(z))
        wrong_z = np.where(states == AT_LOWER, excess(Enclosure(-z.value, z.size)), wrong_z)
        wrong_z = np.where(states == AT_UPPER, excess(z), wrong_z)
        wrong_z = np.where(problem.is_fixed, 0.0, wrong_z)

        codes = batch.rows[:, None]
        row_lower, row_upper = windows.limits(problem.row_lower), windows.limits(problem.row_upper)
        has_lower, has_upper = problem.row_lower.is_finite, problem.row_upper.is_finite
        under = np.where(has_lower, excess(row_lower.minus(activity)), 0.0)
        over = np.where(has_upper, excess(activity.minus(row_upper)), 0.0)
        missed = np.where(codes == AT_ROW_UPPER, excess(size(activity.minus(row_upper))), 0.0)
        missed = np.where(is_held & (codes != AT_ROW_UPPER), excess(size(activity.minus(row_lower))), missed)
        wrong_s = np.where((codes == OFF) & ~problem.is_costless, np.maximum(under, over), missed)
        wrong_s = np.where(codes == BELOW, excess(activity.minus(row_lower)), wrong_s)
        wrong_s = np.where(codes == ABOVE, excess(row_upper.minus(activity)), wrong_s)

        signs = np.array([state.signs for state in batch.states])[:, None]
        wrong_y = np.where(signs != 0, excess(Enclosure(-signs * y.value, y.size)), 0.0)
        penalty = windows.limits(problem.penalty)
        is_soft = problem.penalty.is_finite
        over_cap = excess(size(y).minus(penalty))
        wrong_y = np.where(is_soft & is_held, np.maximum(wrong_y, over_cap), wrong_y)

        # what a missed limit costs: its multiplier, and in soft rows also the penalty itself
        price = np.where(is_soft, 2 * np.maximum(np.abs(penalty.value), np.abs(y.value)), np.abs(y.value))
        half = Enclosure(conditions.curvature.value / 2, conditions.curvature.size / 2)
        gradient = np.abs(half.plus(windows.limits(problem.c)).value)
        violation = np.where(is_soft, np.maximum(under, over), 0.0)
        costs = np.where(is_soft, np.abs(penalty.value), 0.0)

        for ledger, chosen in ((self._finite, batch.is_finite), (self._infinite, ~batch.is_finite)):
            if not chosen.any():
                continue
            owners = np.broadcast_to(pieces[:, None], chosen.shape)[chosen]
            tables = (np.abs(x.value), activity.size, z.size, np.abs(y.value))
            for kind, table, wrong in zip(KINDS, tables, (wrong_x, wrong_s, wrong_z, wrong_y), strict=True):
                ledger.sizes[kind].note(table[chosen], owners)
                ledger.violations[kind].note(wrong[chosen], owners)
            spent = (np.abs(x.value) * gradient).sum(axis=-1) + (costs * violation).sum(axis=-1)
            ledger.objective = max(ledger.objective, float(np.max(spent[chosen], initial=0.0)))
        # both factors of a product are affine: the product of their maxima is above it all over the piece;
        # with slopes in the place of values it bounds the coefficients of the polynomial in mu
        gaps = (price.max(axis=1) * wrong_s.max(axis=1)).sum(axis=-1) * (1 + bound)
        worst = int(np.argmax(gaps))
        if not gaps[worst] <= self._gap:
            self._gap, self._gap_piece = float(gaps[worst]), int(pieces[worst])

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
        gap = self._gap
        for ledger in (self._finite, self._infinite):
            scales = ledger.scales(self.problem)
            for kind in KINDS:
                worst, scale = ledger.violations[kind], scales[kind]
                with np.errstate(divide="ignore", invalid="ignore"):
                    shares = np.where(worst.values > 0, worst.values / scale, 0.0)
                if not len(shares):
                    continue
                item = int(np.argmax(np.where(np.isnan(shares), np.inf, shares)))
                share = float(shares[item])
                if not share <= tolerance:
                    name = f"{kind} {item}" if kind.endswith("row") else f"{kind}[{item}]"
                    self._refuse(int(worst.pieces[item]), f"a violation of {share:.1e} at {name}", tolerance)
                self.largest_violation = max(self.largest_violation, share)
            radius, room = scales["x"], scales["row"]
            # x may move by its scale: a sign that is wrong by this much gains at most the product
            gap += float(ledger.violations["multiplier of x"].values @ radius)
            gap += float(ledger.violations["multiplier of row"].values @ room)
            gap += self._shortfall * float(radius @ radius) / 2
            sizes = ledger.sizes["x"].values * ledger.sizes["multiplier of x"].values
            ledger.objective = max(ledger.objective, float(np.max(sizes, initial=0.0)))
        self.objective_scale = max(self._finite.objective, self._infinite.objective)
        self.largest_gap = gap / self.objective_scale if gap > 0 else 0.0
        if not self.largest_gap <= tolerance:
            self._refuse(self._gap_piece, f"a gap of {self.largest_gap:.1e}", tolerance)

    def _refuse(self, number: int, found: str, tolerance: float) -> None:
        title, reason = self._pieces.get(number) or next(iter(self._pieces.values()))
        if reason is not None:
            # why the exact proof failed says more than by how much the bound does
            raise reason
        expected = f"optimal up to {tolerance:.0e} of its scales"
        message = "{argument} must be {expected}, but float64 proves no better than {found}"
        raise CertificateError(message, argument=title, expected=expected, found=found)
