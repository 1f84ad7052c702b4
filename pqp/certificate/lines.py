"""Lines and spans: affine functions of mu, one by one or many at once, and the sets of mu with a sign.

Room: exact rationals in; exact rationals, and float64 numbers near them, out. Knows no document, no pieces.
May touch: python-flint, `certificate.reading`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from pqp.certificate.reading import End, approximate, shown

# A denominator shared by several lines may be this many times as long as the longest of their own.
LONGEST_SHARED = 4


@dataclass(frozen=True)
class Line:
    """The affine function constant + mu * slope."""

    constant: fmpq
    slope: fmpq

    @property
    def is_zero(self) -> bool:
        """Whether it is zero for every mu."""
        return not self.constant and not self.slope

    def __add__(self, other: "Line") -> "Line":
        return Line(self.constant + other.constant, self.slope + other.slope)

    def __neg__(self) -> "Line":
        return Line(-self.constant, -self.slope)

    def __sub__(self, other: "Line") -> "Line":
        return Line(self.constant - other.constant, self.slope - other.slope)

    def scaled(self, factor: fmpq) -> "Line":
        """Return a multiple."""
        return Line(factor * self.constant, factor * self.slope)

    def at(self, mu: fmpq) -> fmpq:
        """Return the value at mu."""
        return self.constant + mu * self.slope

    def frozen(self, mu: fmpq) -> "Line":
        """Return the constant function with the value at mu."""
        return Line(self.at(mu), fmpq(0))


Limit = Line | None  # None: no limit on that side
ZERO = Line(fmpq(0), fmpq(0))


def combine(factors: Sequence[fmpq], known: Sequence[Limit]) -> Line:
    """Return the sum of the lines times their factors; where the factor is 0 the line may be missing."""
    terms = [line.scaled(f) for f, line in zip(factors, known, strict=True) if f and line is not None]
    return sum(terms, start=ZERO)


class Vector:
    """A vector of lines by its nonzero entries: integers over one denominator, so that products are cheap."""

    def __init__(self, above: Mapping[int, Sequence[fmpz]], below: fmpz) -> None:
        self._above, self._below = above, below

    @classmethod
    def of(cls, entries: Mapping[int, Line]) -> "Vector":
        """Return the vector with these entries."""
        below = fmpz(1)
        for line in entries.values():
            below = below.lcm(line.constant.q).lcm(line.slope.q)
        above = {
            j: (line.constant.p * (below // line.constant.q), line.slope.p * (below // line.slope.q))
            for j, line in entries.items()
            if not line.is_zero
        }
        return cls(above, below)

    def dot(self, row: tuple[fmpz, Mapping[int, fmpz]]) -> Line:
        """Return the product with a row of integers over their denominator.

        >>> Vector.of({0: Line(fmpq(1, 2), fmpq(1))}).dot((fmpz(3), {0: fmpz(2), 7: fmpz(1)}))
        Line(constant=1/3, slope=2/3)
        """
        below, factors = row
        constant, slope = fmpz(0), fmpz(0)
        pairs = self._above
        for j, factor in factors.items():
            if j in pairs:
                constant += factor * pairs[j][0]
                slope += factor * pairs[j][1]
        return Line(fmpq(constant, below * self._below), fmpq(slope, below * self._below))


class Block(Mapping[int, Line]):
    """Lines by index that were solved for together: integers over one denominator where they share it.

    >>> block = Block([3, 7], fmpq_mat(2, 2, [fmpq(1, 2), 1, fmpq(1, 3), 0]))
    >>> block[7], block.approximation, block.meets(Block([7], fmpq_mat(1, 2, [0, 1])), fmpq(1, 3))
    (Line(constant=1/3, slope=0), ([0.5, 0.3333333333333333], [1.0, 0.0]), True)
    """

    def __init__(self, places: Sequence[int], table: fmpq_mat, is_shared: bool = True) -> None:
        self.places, self._table, self._is_shared = places, table, is_shared

    @classmethod
    def of(cls, places: Sequence[int], lines: Iterable[Line]) -> "Block":
        """Return a block of lines that may have nothing in common."""
        values = [value for line in lines for value in (line.constant, line.slope)]
        return cls(places, fmpq_mat(len(places), 2, values), _is_shared([value.q for value in values]))

    def __getitem__(self, place: int) -> Line:
        k = self._position[place]
        return Line(self._table[k, 0], self._table[k, 1])

    def __iter__(self) -> Iterator[int]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, place: object) -> bool:
        return place in self._position

    @cached_property
    def _position(self) -> dict[int, int]:
        return {place: k for k, place in enumerate(self.places)}

    def positions(self, places: Sequence[Any]) -> list[int] | None:
        """Return where the lines of these indices are, None if not all are here, or if one is no index."""
        if not (set(map(type, places)) <= {int} and self._position.keys() >= set(places)):
            return None
        return [self._position[place] for place in places]

    @cached_property
    def _integers(self) -> tuple[fmpz_mat, fmpz]:
        above, below = self._table.numer_denom()
        return above, below

    @cached_property
    def vector(self) -> Vector:
        """The same as a vector."""
        if not self._is_shared:
            return Vector.of(self)
        above, below = self._integers
        return Vector(dict(zip(self.places, above.tolist(), strict=True)), below)

    @cached_property
    def approximation(self) -> tuple[list[float], list[float]]:
        """The constants and the slopes, each the nearest float64 number."""
        values = self._approximated()
        return values[0::2], values[1::2]

    def _approximated(self) -> list[float]:
        if self._is_shared:
            above, below = self._integers
            divisor = int(below)
            with suppress(OverflowError):
                return [value / divisor for value in map(int, above.entries())]
        return [approximate(value) for value in self._table.entries()]

    def times(self, factors: fmpq_mat) -> "Block":
        """Return two combinations of constant and slope, as if they were constant and slope.

        >>> Block([5], fmpq_mat(1, 2, [1, 2])).times(fmpq_mat(2, 2, [1, 1, 10, 20]))[5]
        Line(constant=21, slope=41)
        """
        return Block(self.places, self._table * factors, self._is_shared)

    def column(self, k: int, positions: Sequence[int]) -> list[fmpq]:
        """Return constants (0) or slopes (1)."""
        return [self._table[r, k] for r in positions]

    def meets(self, other: "Block", mu: fmpq) -> bool:
        """Tell whether the values of what both hold are the same at mu."""
        if not (self._is_shared and other._is_shared):
            return all(self[j].at(mu) == other[j].at(mu) for j in self if j in other)
        (above, below), (other_above, other_below) = self._integers, other._integers
        weights = fmpz_mat(2, 1, [mu.q, mu.p])
        left, right = above * weights * other_below, other_above * weights * below
        if self.places == other.places:
            return bool(left == right)
        pairs = zip(self.places, left.entries(), strict=True)
        found = dict(zip(other.places, right.entries(), strict=True))
        return all(value == found[j] for j, value in pairs if j in found)


def _is_shared(belows: Sequence[fmpz]) -> bool:
    """Tell whether a common denominator is not much longer than the longest."""
    longest = LONGEST_SHARED * max((below.bit_length() for below in belows), default=1)
    common = fmpz(1)
    for below in belows:
        common = common.lcm(below)
        if common.bit_length() > longest:
            return False
    return True


@dataclass(frozen=True)
class Span:
    """A set of consecutive mu, shrunk by one inequality after the other; it remembers what ended it where."""

    lo: End = None
    hi: End = None
    lo_open: bool = False
    hi_open: bool = False
    lo_why: str = ""
    hi_why: str = ""
    nowhere: str = ""

    def where(self, line: Line, why: str, strict: bool = False) -> "Span":
        """Return the part where the line is nonnegative, or positive if `strict`.

        >>> Span().where(Line(fmpq(-1), fmpq(3)), "3 mu ≥ 1").where(Line(fmpq(2), fmpq(-1)), "mu < 2", True)
        Span(1/3 ≤ mu < 2)
        """
        if not line.slope:
            holds = line.constant > 0 or (line.constant == 0 and not strict)
            return self if holds else replace(self, nowhere=self.nowhere or why)
        root = -line.constant / line.slope
        if line.slope > 0 and (self.lo is None or root > self.lo or (root == self.lo and strict)):
            return Span(root, self.hi, strict, self.hi_open, why, self.hi_why, self.nowhere)
        if line.slope < 0 and (self.hi is None or root < self.hi or (root == self.hi and strict)):
            return Span(self.lo, root, self.lo_open, strict, self.lo_why, why, self.nowhere)
        return self

    def within(self, value: Line, lower: Limit, upper: Limit, name: str) -> "Span":
        """Return the part where the value respects its limits."""
        span = self if lower is None else self.where(value - lower, f"{name} ≥ its lower limit")
        return span if upper is None else span.where(upper - value, f"{name} ≤ its upper limit")

    def clipped(self, lo: End, hi: End) -> "Span":
        """Return the part between two ends, which belong to it."""
        span = self if lo is None else self.where(Line(-lo, fmpq(1)), "")
        return span if hi is None else span.where(Line(hi, fmpq(-1)), "")

    @property
    def is_empty(self) -> bool:
        """Whether no mu is left."""
        if self.nowhere or self.lo is None or self.hi is None:
            return bool(self.nowhere)
        return self.lo > self.hi or (self.lo == self.hi and (self.lo_open or self.hi_open))

    def holds_at(self, mu: fmpq) -> bool:
        """Answer whether mu belongs to the set."""
        above = self.lo is None or self.lo < mu or (self.lo == mu and not self.lo_open)
        below = self.hi is None or mu < self.hi or (self.hi == mu and not self.hi_open)
        return above and below and not self.nowhere

    def holds_between(self, lo: End, hi: End) -> bool:
        """Answer whether every mu strictly between lo and hi belongs to the set."""
        above = self.lo is None or (lo is not None and self.lo <= lo)
        below = self.hi is None or (hi is not None and hi <= self.hi)
        return above and below and not self.is_empty

    def __str__(self) -> str:
        if self.nowhere:
            return f"nowhere ({self.nowhere} fails)"
        left = "" if self.lo is None else f"{shown(self.lo)} {'<' if self.lo_open else '≤'} "
        right = "" if self.hi is None else f" {'<' if self.hi_open else '≤'} {shown(self.hi)}"
        why = "; ".join(filter(None, (self.lo_why, self.hi_why)))
        return f"{left}mu{right}" + (f" (needed: {why})" if why else "")

    def __repr__(self) -> str:
        return f"Span({replace(self, lo_why='', hi_why='')})"
