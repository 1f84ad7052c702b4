"""Correction: the exactly optimal bases around a float piece whose own basis is off by a rounding error.

Where float64 could not tell which of two items changes first, a basis misses a condition by a rounding error,
or a tiny piece is left out. A few exact pivots find the bases that hold; the proof is that of any other
basis, so nothing here needs to be trusted. A pivot changes the state of an item that violates its condition;
if the system then becomes singular, an item that is close to a change takes part.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
from flint import fmpq

from pqp.certificate.conditions import BETWEEN, MuWindow
from pqp.certificate.cover import ProvedPiece, earlier, later
from pqp.certificate.document import End, approximate
from pqp.certificate.optimality import ComplementaryPair, optimal_span, violated_at
from pqp.certificate.points import StatedPiece
from pqp.certificate.problem import Mask
from pqp.certificate.rationals import ZERO, Affine, Floats, Limit, Span
from pqp.certificate.solution import Solution, derive
from pqp.certificate.states import ROWS, VARIABLES, ActiveSet, Snapshot, row_roles, variable_roles
from pqp.errors import CertificateError

# More is no longer a rounding error of one piece: it is bounded instead.
MOST_PIECES, MOST_PIVOTS, MOST_PARTNERS = 6, 12, 3

Item = tuple[str, int]


@dataclass(frozen=True)
class Correction:
    """Where the exact pieces found hold together, and the first and the last of them."""

    span: Span
    first: Solution
    last: Solution

    def is_near(self, stated: StatedPiece, ends: tuple[End, End], tolerance: float) -> bool:
        """Return whether the stated x is that of the exact pieces at both ends."""
        is_known = stated.has_x | (stated.states.variables != BETWEEN)
        for mu, solution in zip(ends, (self.first, self.last), strict=True):
            if not _deviation(stated.x, solution.x_of, is_known, mu) <= tolerance:
                return False
        return True

    def confirms(self, stated: StatedPiece, ends: tuple[End, End], tolerance: float) -> bool:
        """Return whether one exact piece has all stated numbers at both ends, and does what the states say.

        Then nothing is left to be bounded: the states differ in items that are degenerate all over the piece.
        """
        has_y = stated.has_y | (stated.states.is_held == 0)
        if self.first is not self.last or not has_y.all():
            return False
        has_x = stated.has_x | (stated.states.variables != BETWEEN)
        sides = [(stated.x, self.first.x_of, has_x), (stated.y, self.first.y_of, has_y)]
        sides += [] if stated.z is None else [(stated.z, self.first.z_of, np.ones_like(has_x))]
        return all(
            _deviation(pairs, exact_of, is_known, mu) <= tolerance
            for mu in ends
            for pairs, exact_of, is_known in sides
        ) and all(
            abs(approximate(line.at(mu))) <= tolerance
            for mu in ends
            if mu is not None
            for line in _claims(self.first, stated.states)
        )


def _deviation(pairs: Floats, exact_of: Callable[[int], Affine], is_known: Mask, mu: End) -> float:
    """Return how far stated numbers are from the exact ones at mu, relative to 1 + the largest of these."""
    assert mu is not None
    exact = np.array([approximate(exact_of(item).at(mu)) for item in range(pairs.shape[1])])
    gaps = np.abs(pairs[0] + approximate(mu) * pairs[1] - exact)[is_known]
    return float(np.max(gaps, initial=0.0) / (1 + np.max(np.abs(exact), initial=0.0)))


def _claims(solution: Solution, states: Snapshot) -> Iterator[Affine]:
    """Yield what is 0 according to other states than those of the solution, where they differ."""
    problem = solution.problem
    for j in np.flatnonzero(solution.active.variables != states.variables).tolist():
        known = variable_roles(problem.lower[j], problem.upper[j])[VARIABLES[states.variables[j]]]
        yield solution.z_of(j) if known is None else solution.x_of(j) - known
    for i in np.flatnonzero(solution.active.rows != states.rows).tolist():
        roles = row_roles(problem.row_lower[i], problem.row_upper[i], problem.penalty[i])
        target, known = roles[ROWS[states.rows[i]]]
        yield solution.activity(i) - target if target is not None else solution.y_of(i) - (known or ZERO)


class Corrector:
    """Exactly optimal bases near a given one, with a limited number of pivots."""

    def __init__(self, states: Snapshot, is_allowed: Callable[[ActiveSet], bool]) -> None:
        self._active = ActiveSet(states.problem)
        self._is_allowed = is_allowed
        self._pivots = 0
        words = {
            "variables": [VARIABLES[code] for code in states.variables],
            "rows": [ROWS[code] for code in states.rows],
        }
        self._active.set_all(words, "states")

    def cover(self, lo: fmpq, hi: fmpq, window: MuWindow) -> list[tuple[Span, Solution]] | None:
        """Return solutions whose sets of optimal mu cover [lo, hi], from left to right."""
        found: list[tuple[Span, Solution]] = []
        waiting = [lo, hi]
        while waiting:
            mu = waiting.pop(0)
            if any(span.holds_at(mu) for span, _ in found):
                continue
            solution = self._optimal_at(mu) if len(found) < MOST_PIECES else None
            if solution is None:
                return None
            span = optimal_span(solution, window)
            if not span.holds_at(mu):
                return None
            found.append((span, solution))
            found.sort(key=lambda pair: (pair[0].lo or lo, pair[0].hi or hi))
            waiting += _holes(found, hi)
        return found

    def _optimal_at(self, mu: fmpq) -> Solution | None:
        """Pivot until the basis is optimal at mu."""
        solution = self._solved()
        while solution is not None:
            wrong = violated_at(solution, mu)
            if not wrong:
                return solution
            solution = self._pivot(wrong[0], solution, mu)
        return None

    def _solved(self) -> Solution | None:
        self._pivots += 1
        if self._pivots > MOST_PIVOTS or not self._is_allowed(self._active):
            return None
        try:
            return derive(self._active, "")
        except CertificateError:
            return None

    def _pivot(self, item: tuple[Item, ComplementaryPair], solution: Solution, mu: fmpq) -> Solution | None:
        place, pair = item
        state = self._repaired(place, pair.frozen(mu))
        if state is None:
            return None
        partners = list(self._partners(place, solution, mu))
        self._set(place, state)
        found = self._solved()
        for other, changed in partners[:MOST_PARTNERS] if found is None else ():
            before = self._state(other)
            self._set(other, changed)
            found = self._solved()
            if found is not None:
                return found
            self._set(other, before)
        return found

    def _repaired(self, place: Item, pair: ComplementaryPair) -> str | None:
        """Return the state that an item should have instead, by what it violates."""
        kind, state = place[0], self._state(place)
        value, multiplier = pair.value.constant, pair.multiplier.constant
        is_low = pair.lower is not None and value < pair.lower.constant
        is_high = pair.upper is not None and value > pair.upper.constant
        inactive, equal = ("between", "fixed") if kind == "variables" else ("off", "equal")
        # limits that only meet at this mu do not make it fixed
        problem = self._active.problem
        is_fixed = (problem.is_fixed if kind == "variables" else problem.is_equation)[place[1]]
        if state == inactive and (is_low or is_high):
            return equal if is_fixed else "lower" if is_low else "upper"
        if pair.cap is not None and kind == "rows":
            if state in ("lower", "upper", "equal") and abs(multiplier) > pair.cap.constant:
                return "below" if multiplier > 0 else "above"
            if state in ("below", "above"):
                return equal if is_fixed else "lower" if state == "below" else "upper"
        return inactive if state in ("lower", "upper") else None

    def _partners(self, place: Item, solution: Solution, mu: fmpq) -> Iterator[tuple[Item, str]]:
        """Yield items and new states, those first that are closest to such a change at mu."""
        problem, found = solution.problem, []

        def near(item: Item, value: fmpq, limit: Limit, state: str) -> None:
            if limit is not None and item != place:
                found.append((abs(approximate(value - limit.at(mu))), item, state))

        for j in solution.solved_x:
            value = solution.x_of(j).at(mu)
            near(("variables", j), value, problem.lower[j], "lower")
            near(("variables", j), value, problem.upper[j], "upper")
        for i in solution.solved_y:
            if not problem.is_equation[i]:
                near(("rows", i), solution.y_of(i).at(mu), ZERO, "off")
        for j, code in enumerate(solution.active.variables):
            if VARIABLES[code] in ("lower", "upper") and not problem.is_fixed[j]:
                near(("variables", j), solution.z_of(j).at(mu), ZERO, "between")
        for i, code in enumerate(solution.active.rows):
            if ROWS[code] == "off":
                value = solution.activity(i).at(mu)
                near(("rows", i), value, problem.row_lower[i], "lower")
                near(("rows", i), value, problem.row_upper[i], "upper")
        for _, item, state in sorted(found, key=lambda entry: entry[0]):
            yield item, state

    def _state(self, place: Item) -> str:
        kind, item = place
        return (
            VARIABLES[self._active.variables[item]] if kind == "variables" else ROWS[self._active.rows[item]]
        )

    def _set(self, place: Item, state: str) -> None:
        self._active.change({place[0]: {str(place[1]): state}}, "correction")


def _holes(found: list[tuple[Span, Solution]], hi: fmpq) -> list[fmpq]:
    """Return a mu in every hole between sets that are sorted by their starts."""
    middles, reached = [], found[0][0].hi
    for span, _ in found[1:]:
        if reached is not None and span.lo is not None and span.lo > reached:
            middles.append((span.lo + reached) / 2)
        reached = None if reached is None or span.hi is None else max(reached, span.hi)
    return middles


def corrected(
    states: Snapshot, piece: ProvedPiece, tolerance: fmpq, is_allowed: Callable[[ActiveSet], bool]
) -> Correction | None:
    """Return the exact pieces around a stated one, None if a few pivots do not find them."""
    if piece.lo is None or piece.hi is None:
        return None
    found = Corrector(states, is_allowed).cover(piece.lo, piece.hi, piece.window(tolerance))
    if found is None:
        return None
    lo, hi = reduce(earlier, (span.lo for span, _ in found)), reduce(later, (span.hi for span, _ in found))
    return Correction(Span(lo, hi), found[0][1], found[-1][1])
