r"""Optimality: the exact set of mu at which a solution satisfies the optimality conditions.

Only a condition that float64 shows to hold by more than all rounding errors (`conditions`) is settled by
this; all others are decided in exact arithmetic.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from flint import fmpq

from pqp.certificate.conditions import Conditions, Enclosure, MuWindow, Products, Windows
from pqp.certificate.rationals import Affine, AffineBlock, Indices, Limit, Span
from pqp.certificate.solution import Solution

# A piece has one condition in doubt at each end; more are a sign of cancellation: they are evaluated again.
FEW_UNDECIDED = 4


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
        ((variables, rows),) = _conditions([solution], [MuWindow(mu, mu)], is_exact=True).undecided(
            is_loose=False
        )
    items = [("variables", j) for j in variables] + [("rows", i) for i in rows]
    pairs = zip(items, _pairs(solution, variables, rows), strict=True)
    return [(item, pair) for item, pair in pairs if pair.frozen(mu).shrink(Span()).is_empty]


def _undecided(
    solutions: Sequence[Solution], windows: Sequence[MuWindow]
) -> Iterator[Iterator[ComplementaryPair]]:
    """Yield for each solution the variables and rows whose conditions float64 does not prove."""
    with np.errstate(invalid="ignore", over="ignore"):  # a value that is not a number proves nothing
        listed = _conditions(solutions, windows, is_exact=False).undecided(True)
        for solution, window, (variables, rows) in zip(solutions, windows, listed, strict=True):
            if len(variables) + len(rows) > FEW_UNDECIDED:
                ((variables, rows),) = _conditions([solution], [window], is_exact=True).undecided(
                    is_loose=False
                )
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

    def multipliers(columns: Indices | None) -> Enclosure:
        if columns is None:
            return enclosed("y", problem.m)
        place = {i: c for c, i in enumerate(columns.tolist())}
        pairs = np.zeros((len(solutions), 2, len(columns)))
        for k, solution in enumerate(solutions):
            block = solution.solved_y
            at = [place[i] for i in block.places]
            pairs[k][:, at] = (block if not is_exact else windows[k].block(block)).approximation
        return Enclosure(pairs, np.abs(pairs)) if is_exact else places.enclose(pairs)

    products = Products(problem, enclosed("x", problem.n))
    return Conditions(products, states, places, multipliers)
