"""Stated numbers: how far what a path states is from the exact solutions that its states determine."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from pqp.certificate.document import approximate, entry, index, items, numbers, shown
from pqp.certificate.rationals import AffineBlock, Floats
from pqp.certificate.solution import Solution
from pqp.errors import CertificateError

# Four units of rounding, relative to all numbers involved: more than is lost on the way to a comparison.
ROUNDINGS = 2.0**-51
# More than underflow can lose there.
UNDERFLOW = 1e-300


@dataclass(frozen=True)
class StatedVector:
    """Constants (part 0) or slopes (1) that a segment states of some functions of an exact block."""

    values: Sequence[Any]
    block: AffineBlock
    positions: Sequence[int]
    part: int
    place: str

    @property
    def floats(self) -> Sequence[float]:
        """What is stated, if that is float64 numbers; nan in their place otherwise."""
        return self.values if set(map(type, self.values)) <= {float} else [math.nan] * len(self.values)

    @property
    def rounded(self) -> Floats:
        """The exact numbers, each rounded to the nearest."""
        return self.block.approximation[self.part, self.positions]

    def compare(self, tolerance: fmpq) -> float:
        """Return the largest deviation relative to 1 + the largest exact entry; raise if it is too large."""
        stated = numbers(self.values, len(self.positions), self.place)
        values = self.block.column(self.part, self.positions)
        scale = 1 + max((abs(v) for v in values), default=fmpq(0))
        gaps = [abs(a - b) for a, b in zip(stated, values, strict=True)]
        for r, gap in enumerate(gaps):
            if gap > tolerance * scale:
                raise CertificateError(
                    argument=f"{self.place}[{self.block.places[self.positions[r]]}]",
                    expected=f"{shown(values[r])} according to its states, up to {shown(tolerance * scale)}",
                    found=f"{shown(stated[r])}, which is off by {shown(gap)}",
                )
        return approximate(max(gaps, default=fmpq(0)) / scale)


def deviations(vectors: Sequence[StatedVector]) -> Floats:
    """Return bounds on the deviations of vectors that are not empty; nan where float64 proves none."""
    starts = np.cumsum([0, *(len(vector.values) for vector in vectors[:-1])])
    stated = np.array([value for vector in vectors for value in vector.floats])
    exact = np.concatenate([vector.rounded for vector in vectors])
    with np.errstate(invalid="ignore"):
        sizes, gaps = (np.maximum.reduceat(np.abs(part), starts) for part in (exact, stated - exact))
        found: Floats = (gaps + ROUNDINGS * (gaps + sizes) + UNDERFLOW) / (1 + sizes)
    return np.where(np.isfinite(sizes), found, np.nan)


def stated_vectors(segment: Any, solution: Solution, place: str) -> Iterator[StatedVector]:
    """Yield the vectors that an optimal segment states, with the exact ones."""
    n, m = solution.problem.n, solution.problem.m
    if "changes" not in segment:
        sides = (("x", n, solution.x_of), ("y", m, solution.y_of), ("z", n, solution.z_of))
        for name, size, exact_of in sides:
            exact = AffineBlock.of(range(size), map(exact_of, range(size)))
            yield from _both_parts(segment, name, exact, range(size), place)
        return
    moving = entry(segment, "moving", place)
    place = f"{place}: moving"
    for kind, name, size, solved, exact_of in (
        ("variables", "x", n, solution.solved_x, solution.x_of),
        ("rows", "y", m, solution.solved_y, solution.y_of),
    ):
        listed = items(entry(moving, kind, place), None, f"{place}: {kind}")
        found = solved.positions(listed)
        if found is None:
            known = [index(k, size, f"{place}: {kind}[{r}]") for r, k in enumerate(listed)]
            solved = AffineBlock.of(known, map(exact_of, known))
            found = list(range(len(known)))
        yield from _both_parts(moving, name, solved, found, place)


def _both_parts(
    stated: Any, name: str, block: AffineBlock, positions: Sequence[int], place: str
) -> Iterator[StatedVector]:
    for part in (0, 1):
        key = f"{name}{part}"
        values = items(entry(stated, key, place), len(positions), f"{place}: {key}")
        if values:
            yield StatedVector(values, block, positions, part, f"{place}: {key}")


def compare_stated(
    claims: Sequence[tuple[Any, Solution, str]], tolerance: fmpq
) -> tuple[float, list[CertificateError | None]]:
    """Return how far segments are from their exact solutions, and what each states wrongly, None if nothing.

    What float64 proves to be within the tolerance is not compared exactly.
    """
    errors: list[CertificateError | None] = [None] * len(claims)
    vectors, owners = [], []
    for k, (segment, solution, place) in enumerate(claims):
        try:
            found = list(stated_vectors(segment, solution, place))
        except CertificateError as error:
            errors[k] = error
            continue
        vectors += found
        owners += [k] * len(found)
    bounds = deviations(vectors) if vectors else np.zeros(0)
    # what is not a number is not below the tolerance
    for v in np.flatnonzero(~(bounds < approximate(tolerance))).tolist():
        try:
            bounds[v] = vectors[v].compare(tolerance)
        except CertificateError as error:
            errors[owners[v]] = errors[owners[v]] or error
            bounds[v] = 0.0
    return float(np.max(bounds, initial=0.0)), errors
