"""Points: x and y at both ends of pieces in float64, as they are stated, completed and refined.

Nothing here needs to be trusted: whatever point comes out is judged by its bound (`bounds`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from pqp.certificate.conditions import (
    BETWEEN,
    Conditions,
    Enclosure,
    MuWindow,
    Products,
    Windows,
    rowwise,
)
from pqp.certificate.document import approximate, entry, index, items, number, numbers
from pqp.certificate.problem import Mask, Problem
from pqp.certificate.rationals import ZERO, Affine, Floats, Indices, Vector
from pqp.certificate.states import AT_ROW_UPPER, Snapshot
from pqp.errors import CertificateError

# Slopes towards infinity below this share of the largest value are rounding errors of constants: they are
# replaced by 0, since no scale would bound them for all mu. The proof is about the numbers after that.
NO_SLOPE = 1e-11
# Steps of iterative refinement: one gives all digits there are, another those it lost itself.
REFINEMENTS = 2


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
    found = np.zeros((2, size))
    for row, key in enumerate((f"{name}0", f"{name}1")):
        listed = items(entry(stated, key, place), size, f"{place}: {key}")
        if set(map(type, listed)) <= {float}:
            found[row] = listed
        else:
            found[row] = np.nan
        if not np.isfinite(found[row]).all():
            found[row] = [approximate(v) for v in numbers(listed, size, f"{place}: {key}")]
    return found


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
        for i, j, a, kept in from_rows:
            if kept.any():
                rest = batch.targets[:, :, i] - batch.conditions.products.activity.value[:, :, i]
                batch.put_x(j, kept, batch.x[:, :, j] + rest / a)
        is_left = batch.misses_x.any(axis=1) | batch.misses_y.any(axis=1)
        if is_left.any():
            self.refine(batch, np.flatnonzero(is_left))
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
        batch.settle()
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
        self._windows = [piece.window for piece in pieces]
        self.windows = Windows(self._windows)
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
            self._conditions = Conditions(
                self._products, self.states, self.windows, lambda columns: y.of(columns)
            )
        return self._conditions

    def forget_x(self) -> None:
        """Evaluate the conditions again when next asked for: x was changed."""
        self._products = self._conditions = None

    def forget_y(self) -> None:
        """Evaluate the conditions again: only y was changed, and the costly products with x are kept."""
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

    def restore(self, chosen: Indices, x: Floats, y: Floats) -> None:
        """Take back what some pieces were."""
        if len(chosen):
            self.x[chosen], self.y[chosen] = x[chosen], y[chosen]
            self.forget_x()
            self.settle()

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

    def exact_distances(self, k: int) -> Iterator[Floats]:
        """Yield, for a piece, how far rows are above their lower and their upper limits at both ends.

        The entries of x are taken as they are and sums are exact, so each number is off by one rounding only.
        """
        problem, state, (left, right) = self.problem, self.states[k], self._windows[k].weights

        def at_ends(line: Affine) -> Affine:
            values = (w * line.constant + v * line.slope for w, v in (left, right))
            return Affine(*values)

        x = {j: at_ends(line) for j, line in state.x.items()}
        for j in np.flatnonzero(self.is_free[k]).tolist():
            x[j] = Affine(*(number(float(v), f"x[{j}]") for v in self.x[k, :, j]))
        vector = Vector.of(x)
        activities = [vector.dot(problem.A.integer_row(i)) for i in range(problem.m)]
        for limits in (problem.row_lower, problem.row_upper):
            pairs = zip(activities, limits, strict=True)
            lines = [activity - at_ends(limit or ZERO) for activity, limit in pairs]
            yield np.array([[approximate(line.constant), approximate(line.slope)] for line in lines]).T

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
