"""Exact algebra for the certificate checker: numbers, lines in mu, sets of mu, and the problem of a document.

Room: JSON values in, rationals out; whatever is malformed raises a `CertificateError` that names its place.
Knows no states and no pieces, and shares no code with the engines whose paths it helps to check.
May touch: `errors`, python-flint.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

from flint import arb, fmpq, fmpq_mat, fmpz

from pqp.errors import CertificateError

# Beyond this many bits a rational is shown as a decimal: a message should fit on a screen.
LONGEST_SHOWN = 64
RATIONAL = re.compile(r"(-?[0-9]+)(?:/([0-9]+))?")
End = fmpq | None  # None: no end on that side
T = TypeVar("T")


def shown(value: Any, infinite: str = "inf") -> str:
    """Return a short text for a message: rationals in full if short, other JSON values by type or start.

    >>> shown(fmpq(7, 3)), shown(None, "-inf"), shown(fmpq(1, 3) ** 60), shown([1, 2])
    ('7/3', '-inf', '~2.35898e-29', 'a list')
    """
    if value is None:
        return infinite
    if isinstance(value, fmpq):
        is_long = value.p.bit_length() + value.q.bit_length() > LONGEST_SHOWN
        return "~" + arb(value).str(6, radius=False) if is_long else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return shown(fmpq(value))
    if isinstance(value, str | float | bool):
        return repr(value)[:LONGEST_SHOWN]
    return f"a {type(value).__name__}"


def number(value: Any, place: str) -> fmpq:
    """Return the rational that a JSON number, or a string such as "7/3", stands for.

    >>> number(0.1, "c[0]"), number("-7/3", "c[1]")
    (3602879701896397/36028797018963968, -7/3)
    """
    if isinstance(value, float) and math.isfinite(value):
        return fmpq(*value.as_integer_ratio())
    if isinstance(value, int) and not isinstance(value, bool):
        return fmpq(value)
    if isinstance(value, str) and (parts := RATIONAL.fullmatch(value)) and (below := fmpz(parts[2] or "1")):
        return fmpq(fmpz(parts[1]), below)
    raise CertificateError(
        f'{place} must be a finite number or a string such as "7/3", got {shown(value, "null")}'
    )


def end(value: Any, infinite: str, place: str) -> End:
    """Return an end of an interval, None if it is the string `infinite`."""
    return None if isinstance(value, str) and value == infinite else number(value, place)


def one_of(known: Sequence[T], value: Any, place: str) -> T:
    """Return the value after checking that it is one of those known."""
    for candidate in known:
        if type(value) is type(candidate) and value == candidate:
            return candidate
    raise CertificateError(f"{place} must be one of {', '.join(map(str, known))}, got {shown(value, 'null')}")


def entry(mapping: Any, key: str, place: str) -> Any:
    """Return `mapping[key]` of a JSON object."""
    if not isinstance(mapping, Mapping):
        raise CertificateError(f"{place} must be an object, got {shown(mapping, 'null')}")
    if key not in mapping:
        raise CertificateError(f"{place} must have the key {key!r}")
    return mapping[key]


def items(value: Any, length: int | None, place: str) -> Sequence[Any]:
    """Return a JSON list after checking its length."""
    if not isinstance(value, list | tuple):
        raise CertificateError(f"{place} must be a list, got {shown(value, 'null')}")
    if length is not None and len(value) != length:
        raise CertificateError(f"{place} must have {length} entries, got {len(value)}")
    return value


def numbers(value: Any, length: int | None, place: str) -> list[fmpq]:
    """Return a list of rationals."""
    return [number(v, f"{place}[{i}]") for i, v in enumerate(items(value, length, place))]


def weights(value: Any, allowed: Sequence[object], place: str) -> list[fmpq]:
    """Return nonnegative numbers, which must be 0 where `allowed` has None."""
    found = numbers(value, len(allowed), place)
    for i, (weight, permission) in enumerate(zip(found, allowed, strict=True)):
        if weight < 0 or (weight and permission is None):
            wanted = "0 here" if permission is None else "nonnegative"
            raise CertificateError(f"{place}[{i}] must be {wanted}, got {shown(weight)}")
    return found


def matrix(value: Any, shape: tuple[int | None, int | None], place: str) -> fmpq_mat:
    """Return a matrix given by its rows; None in `shape` leaves that size open."""
    rows = items(value, shape[0], place)
    width = shape[1] if shape[1] is not None else len(items(rows[0], None, f"{place}[0]")) if rows else 0
    flat = [v for i, row in enumerate(rows) for v in numbers(row, width, f"{place}[{i}]")]
    return fmpq_mat(len(rows), width, flat)


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


def lines(table: fmpq_mat) -> list[Line]:
    """Return the rows (constant, slope) of a two-column matrix as lines."""
    return [Line(table[i, 0], table[i, 1]) for i in range(table.nrows())]


def columns(known: Sequence[Limit]) -> fmpq_mat:
    """Return lines as a two-column matrix, zero where there is none."""
    pairs = [(0, 0) if line is None else (line.constant, line.slope) for line in known]
    return fmpq_mat(len(pairs), 2, [v for pair in pairs for v in pair])


def combine(factors: Sequence[fmpq], known: Sequence[Limit]) -> Line:
    """Return the sum of the lines times their factors; where the factor is 0 the line may be missing."""
    terms = [line.scaled(f) for f, line in zip(factors, known, strict=True) if f and line is not None]
    return sum(terms, start=ZERO)


def column(values: Sequence[fmpq]) -> fmpq_mat:
    """Return a vector as a matrix with one column."""
    return fmpq_mat(len(values), 1, values)


def part(whole: fmpq_mat, rows: Sequence[int], cols: Sequence[int]) -> fmpq_mat:
    """Return the submatrix with the given rows and columns."""
    return fmpq_mat(len(rows), len(cols), [whole[i, j] for i in rows for j in cols])


def limits(datum: Any, length: int, infinite: str, place: str) -> list[Limit]:
    """Return affine limits, None where the constant is the string `infinite` (then the slope must be 0)."""
    constants = items(entry(datum, "constant", place), length, f"{place}.constant")
    slopes = numbers(entry(datum, "slope", place), length, f"{place}.slope")
    found: list[Limit] = []
    for i, (constant, slope) in enumerate(zip(constants, slopes, strict=True)):
        is_infinite = isinstance(constant, str) and constant == infinite
        if is_infinite and slope:
            raise CertificateError(f"{place}.slope[{i}] must be 0 if infinite, got {shown(slope)}")
        found.append(None if is_infinite else Line(number(constant, f"{place}.constant[{i}]"), slope))
    return found


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


@dataclass(frozen=True)
class Hessian:
    """P = left core leftᵀ, where an absent factor is the identity; P itself is never formed."""

    left: fmpq_mat | None
    core: fmpq_mat | None

    def times(self, columns: fmpq_mat) -> fmpq_mat:
        """Return P times some columns."""
        inner = columns if self.left is None else self.left.transpose() * columns
        inner = inner if self.core is None else self.core * inner
        return inner if self.left is None else self.left * inner

    def block(self, kept: Sequence[int]) -> fmpq_mat:
        """Return the rows and columns of P with the given indices."""
        if self.left is None:
            assert self.core is not None
            return part(self.core, kept, kept)
        left = part(self.left, kept, range(self.left.ncols()))
        return (left if self.core is None else left * self.core) * left.transpose()


def require_convex(core: fmpq_mat, place: str) -> None:
    r"""Raise unless the matrix is symmetric and positive semidefinite.

    The eigenvalues of a symmetric matrix are real, so they are all nonnegative if and only if the
    coefficients :math:`(-1)^k e_k` of its characteristic polynomial alternate weakly in sign.
    """
    size = core.nrows()
    for i, j in combinations(range(size), 2):
        if core[i, j] != core[j, i]:
            pair = f"{shown(core[i, j])} at [{i}][{j}] and {shown(core[j, i])} at [{j}][{i}]"
            raise CertificateError(f"{place} must be symmetric, got {pair}")
    for power, coefficient in enumerate(core.charpoly().coeffs()):
        if coefficient * (-1) ** (size - power) < 0:
            raise CertificateError(
                f"{place} must be positive semidefinite: the coefficient of t^{power} in its characteristic "
                f"polynomial has the wrong sign, {shown(coefficient)}"
            )


def read_hessian(value: Any, size: int, place: str) -> Hessian:
    """Return P from its rows, from {"gram": F}, or from {"pair_gram": {"K": K, "pairs": pairs}}."""
    if isinstance(value, Mapping) and "gram" in value:
        return Hessian(matrix(value["gram"], (size, None), f"{place}.gram"), None)
    if isinstance(value, Mapping):
        return _read_pair_gram(entry(value, "pair_gram", place), size, f"{place}.pair_gram")
    core = matrix(value, (size, size), place)
    require_convex(core, place)
    return Hessian(None, core)


def _read_pair_gram(value: Any, size: int, place: str) -> Hessian:
    count = len(items(entry(value, "K", place), None, f"{place}.K"))
    core = matrix(value["K"], (count, count), f"{place}.K")
    require_convex(core, f"{place}.K")
    left = fmpq_mat(size, count)
    for r, pair in enumerate(items(entry(value, "pairs", place), size, f"{place}.pairs")):
        for index, sign in zip(items(pair, 2, f"{place}.pairs[{r}]"), (1, -1), strict=True):
            if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
                raise CertificateError(
                    f"{place}.pairs[{r}] must hold indices below {count}, got {shown(index, 'null')}"
                )
            left[r, index] += sign
    return Hessian(left, core)


@dataclass(frozen=True)
class Problem:
    """The problem of a document, every number exact; `c` has the columns constant and slope."""

    P: Hessian
    c: fmpq_mat
    A: fmpq_mat
    lower: list[Limit]
    upper: list[Limit]
    row_lower: list[Limit]
    row_upper: list[Limit]
    penalty: list[Limit]
    constant: list[fmpq]

    @property
    def hard_limits(self) -> dict[str, list[Limit]]:
        """The limits that no x may violate: those of soft rows are left out."""
        is_hard = [penalty is None for penalty in self.penalty]
        row_lower = [limit if hard else None for limit, hard in zip(self.row_lower, is_hard, strict=True)]
        row_upper = [limit if hard else None for limit, hard in zip(self.row_upper, is_hard, strict=True)]
        return {"row_lower": row_lower, "row_upper": row_upper, "lower": self.lower, "upper": self.upper}

    def gradient(self, x: fmpq_mat, y: fmpq_mat) -> fmpq_mat:
        """Return P x + c − Aᵀy."""
        return self.P.times(x) + self.c - self.A.transpose() * y

    def system(self, free: Sequence[int], held: Sequence[int]) -> fmpq_mat:
        """Return the matrix [[P, −Aᵀ], [A, 0]] restricted to free variables and held rows."""
        active = part(self.A, held, free)
        upper = zip(self.P.block(free).tolist(), (-active).transpose().tolist(), strict=True)
        rows = [[*row, *side] for row, side in upper]
        rows += [[*row, *[fmpq(0)] * len(held)] for row in active.tolist()]
        return fmpq_mat(len(rows), len(rows), [v for row in rows for v in row])

    def objective(self, x: fmpq_mat, mu: fmpq) -> fmpq:
        """Return ½ xᵀP x + c(mu)ᵀx + k(mu) + Σ penalty · violation for one column x."""
        slope = self.P.times(x) / 2 + self.c * column([fmpq(1), mu])
        value = (x.transpose() * slope)[0, 0] + sum(k * mu**power for power, k in enumerate(self.constant))
        for i, activity in enumerate((self.A * x).entries()):
            lower, upper, penalty = self.row_lower[i], self.row_upper[i], self.penalty[i]
            if penalty is not None:
                below = fmpq(0) if lower is None else lower.at(mu) - activity
                above = fmpq(0) if upper is None else activity - upper.at(mu)
                value += penalty.at(mu) * max(fmpq(0), below, above)
        return value


def read_problem(data: Any, place: str = "problem") -> Problem:
    """Return the problem after checking shapes and that P is symmetric and positive semidefinite."""
    cost = entry(data, "c", place)
    constant = numbers(entry(cost, "constant", f"{place}.c"), None, f"{place}.c.constant")
    slope = numbers(entry(cost, "slope", f"{place}.c"), len(constant), f"{place}.c.slope")
    n, rows = len(constant), items(data.get("A", []), None, f"{place}.A")

    def read_limits(key: str, length: int, infinite: str) -> list[Limit]:
        return limits(data[key], length, infinite, f"{place}.{key}") if key in data else [None] * length

    return Problem(
        P=read_hessian(entry(data, "P", place), n, f"{place}.P"),
        c=fmpq_mat(n, 2, [v for pair in zip(constant, slope, strict=True) for v in pair]),
        A=matrix(rows, (None, n), f"{place}.A"),
        lower=read_limits("lower", n, "-inf"),
        upper=read_limits("upper", n, "inf"),
        row_lower=read_limits("row_lower", len(rows), "-inf"),
        row_upper=read_limits("row_upper", len(rows), "inf"),
        penalty=read_limits("penalty", len(rows), "inf"),
        constant=numbers(data.get("constant", [0, 0, 0]), 3, f"{place}.constant"),
    )
