"""Lines and spans: affine functions of mu, and the sets of mu where they have a sign.

Room: exact rationals in and out. Knows no document and no pieces.
May touch: python-flint, `certificate.reading`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from flint import fmpq, fmpz

from pqp.certificate.reading import End, shown


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

    def __init__(self, entries: Mapping[int, Line]) -> None:
        below = fmpz(1)
        for line in entries.values():
            below = below.lcm(line.constant.q).lcm(line.slope.q)
        self._below = below
        self._above = {
            j: (line.constant.p * (below // line.constant.q), line.slope.p * (below // line.slope.q))
            for j, line in entries.items()
            if not line.is_zero
        }

    def dot(self, row: tuple[fmpz, Mapping[int, fmpz]]) -> Line:
        """Return the product with a row of integers over their denominator.

        >>> Vector({0: Line(fmpq(1, 2), fmpq(1))}).dot((fmpz(3), {0: fmpz(2), 7: fmpz(1)}))
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
            return replace(self, lo=root, lo_open=strict, lo_why=why)
        if line.slope < 0 and (self.hi is None or root < self.hi or (root == self.hi and strict)):
            return replace(self, hi=root, hi_open=strict, hi_why=why)
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
