"""Exact arithmetic of the checker: affine functions of mu, the sets of mu where they have a sign, matrices.

Affine functions come one by one (`Affine`) or many over one denominator (`Vector`, `AffineBlock`). `Span` is
the set of mu that a list of inequalities leaves. Matrices are kept by their nonzero entries, with float64
copies for enclosures.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from pqp.certificate.document import End, approximate, entry, index, items, number, shown
from pqp.errors import CertificateError

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]
Sparse: TypeAlias = dict[int, fmpq]
# A denominator shared by several functions may be this many times as long as the longest of their own;
# beyond, integers over it are longer than the fractions they replace.
LONGEST_SHARED = 4


# not frozen, though nothing ever changes: checking that would cost more than the arithmetic itself
@dataclass(slots=True)
class Affine:
    """The affine function constant + mu * slope."""

    constant: fmpq
    slope: fmpq

    @property
    def is_zero(self) -> bool:
        """Whether it is zero for every mu."""
        return not self.constant and not self.slope

    def __add__(self, other: "Affine") -> "Affine":
        return Affine(self.constant + other.constant, self.slope + other.slope)

    def __neg__(self) -> "Affine":
        return Affine(-self.constant, -self.slope)

    def __sub__(self, other: "Affine") -> "Affine":
        return Affine(self.constant - other.constant, self.slope - other.slope)

    def scaled(self, factor: fmpq) -> "Affine":
        """Return a multiple."""
        return Affine(factor * self.constant, factor * self.slope)

    def at(self, mu: fmpq) -> fmpq:
        """Return the value at mu."""
        return self.constant + mu * self.slope

    def frozen(self, mu: fmpq) -> "Affine":
        """Return the constant function with the value at mu."""
        return Affine(self.at(mu), fmpq(0))


Limit = Affine | None  # None: no limit on that side
ZERO = Affine(fmpq(0), fmpq(0))


def combine(factors: Sequence[fmpq], known: Sequence[Limit]) -> Affine:
    """Return the sum of functions times their factors; where the factor is 0 the function may be missing."""
    terms = [line.scaled(f) for f, line in zip(factors, known, strict=True) if f and line is not None]
    return sum(terms, start=ZERO)


def pair_table(functions: Iterable[Affine]) -> fmpq_mat:
    """Return constants and slopes as the two columns of a matrix."""
    values = [value for function in functions for value in (function.constant, function.slope)]
    return fmpq_mat(len(values) // 2, 2, values)


class Vector:
    """An affine vector by its nonzero entries: integers over one denominator, so that products are cheap."""

    def __init__(self, above: Mapping[int, Sequence[fmpz]], below: fmpz) -> None:
        self._above, self._below = above, below

    @classmethod
    def of(cls, entries: Mapping[int, Affine]) -> "Vector":
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

    def dot(self, row: tuple[fmpz, Mapping[int, fmpz]]) -> Affine:
        """Return the product with a row of integers over their denominator.

        >>> Vector.of({0: Affine(fmpq(1, 2), fmpq(1))}).dot((fmpz(3), {0: fmpz(2), 7: fmpz(1)}))
        Affine(constant=1/3, slope=2/3)
        """
        below, factors = row
        constant, slope = fmpz(0), fmpz(0)
        pairs = self._above
        for j, factor in factors.items():
            if j in pairs:
                constant += factor * pairs[j][0]
                slope += factor * pairs[j][1]
        return Affine(fmpq(constant, below * self._below), fmpq(slope, below * self._below))


class AffineBlock(Mapping[int, Affine]):
    """Affine functions by index: integers over one denominator, or as they are (`lines`).

    `above` has the constants in its first column and the slopes in its second; further rows are zero.

    >>> block = AffineBlock([3, 7], fmpz_mat(2, 2, [3, 6, 2, 0]), fmpz(6))
    >>> other = AffineBlock([7], fmpz_mat(1, 2, [0, 1]), fmpz(1))
    >>> block[7], block.approximation.tolist(), block.meets(other, fmpq(1, 3))
    (Affine(constant=1/3, slope=0), [[0.5, 0.3333333333333333], [1.0, 0.0]], True)
    """

    def __init__(
        self, places: Sequence[int], above: fmpz_mat, below: fmpz, lines: Sequence[Affine] | None = None
    ) -> None:
        self.places, self._above, self._below, self._lines = places, above, below, lines
        self._position = {place: k for k, place in enumerate(places)}
        self._approximation: Floats | None = None

    @classmethod
    def of(cls, places: Sequence[int], lines: Iterable[Affine]) -> "AffineBlock":
        """Return a block of functions that may have no denominator in common."""
        lines = list(lines)
        values = [value for line in lines for value in (line.constant, line.slope)]
        # Integers over a denominator much longer than the longest are longer than the fractions they replace.
        longest = LONGEST_SHARED * max((value.q.bit_length() for value in values), default=1)
        if common_multiple([value.q for value in values], longest) is None:
            return cls(places, fmpz_mat(0, 2), fmpz(1), lines)
        return cls(places, *fmpq_mat(len(places), 2, values).numer_denom())

    def __getitem__(self, place: int) -> Affine:
        k = self._position[place]
        if self._lines is not None:
            return self._lines[k]
        return Affine(fmpq(self._above[k, 0], self._below), fmpq(self._above[k, 1], self._below))

    def __iter__(self) -> Iterator[int]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, place: object) -> bool:
        return place in self._position

    def positions(self, places: Sequence[Any]) -> list[int] | None:
        """Return where these indices are in the block, None if some index is missing or is not an integer."""
        if not set(map(type, places)) <= {int}:
            return None
        found = [self._position.get(place, -1) for place in places]
        return None if -1 in found else found

    @cached_property
    def vector(self) -> Vector:
        """The same as a vector."""
        if self._lines is not None:
            return Vector.of(self)
        return Vector(dict(zip(self.places, self._above.tolist(), strict=False)), self._below)

    def dot(self, A: "ExactMatrix", i: int) -> Affine:
        """Return the product with a row of a matrix."""
        if self._lines is not None or not A.is_dense or len(self.places) < A.shape[1]:
            return self.vector.dot(A.integer_row(i))
        # all entries are here: one product in flint
        below, row = A.flint_row(i)
        found, below = row * self._above, below * self._below
        return Affine(fmpq(found[0, 0], below), fmpq(found[0, 1], below))

    @property
    def approximation(self) -> Floats:
        """The constants and, in a second row, the slopes, each the nearest float64 number."""
        if self._approximation is None:
            self._approximation = self._approximated()
        return self._approximation

    def _approximated(self) -> Floats:
        values: list[float] = []
        if self._lines is None:
            divisor = int(self._below)
            # Integers beyond float64 overflow, though their quotient may be an ordinary number.
            with suppress(OverflowError):
                values = [v / divisor for v in map(int, self._above.entries()[: 2 * len(self.places)])]
        if not values:
            values = [approximate(value) for line in self.values() for value in (line.constant, line.slope)]
        return np.array(values, dtype=np.float64).reshape(-1, 2).T

    def times(self, factors: fmpq_mat) -> "AffineBlock":
        """Return two combinations of constant and slope, as if they were constant and slope.

        >>> AffineBlock([5], fmpz_mat(1, 2, [1, 2]), fmpz(1)).times(fmpq_mat(2, 2, [1, 1, 10, 20]))[5]
        Affine(constant=21, slope=41)
        """
        if self._lines is not None:
            table = (pair_table(self._lines) * factors).tolist()
            return AffineBlock(self.places, self._above, self._below, [Affine(*pair) for pair in table])
        above, below = factors.numer_denom()
        return AffineBlock(self.places, self._above * above, self._below * below)

    def column(self, k: int, positions: Sequence[int]) -> list[fmpq]:
        """Return constants (0) or slopes (1)."""
        lines = [self[self.places[r]] for r in positions]
        return [line.slope if k else line.constant for line in lines]

    def meets(self, other: "AffineBlock", mu: fmpq) -> bool:
        """Return whether the values of the indices in both blocks are the same at mu."""
        if self._lines is not None or other._lines is not None:
            return all(self[j].at(mu) == other[j].at(mu) for j in self if j in other)
        # a/b + mu c/b at mu = p/q, times all denominators: integers are compared without a single division
        weights = fmpz_mat(2, 1, [mu.q, mu.p])
        left, right = self._above * (weights * other._below), other._above * (weights * self._below)
        if self.places == other.places:
            return bool(left == right)
        pairs = zip(self.places, left.entries(), strict=True)
        found = dict(zip(other.places, right.entries(), strict=True))
        return all(value == found[j] for j, value in pairs if j in found)


def common_multiple(integers: Iterable[fmpz], longest: int) -> fmpz | None:
    """Return the least common multiple of positive integers, None if it has more bits than `longest`."""
    common = fmpz(1)
    for value in integers:
        common = common.lcm(value)
        # Stopped early, since the multiple of unrelated denominators grows with every one of them.
        if common.bit_length() > longest:
            return None
    return common


@dataclass(slots=True)
class Span:
    """A set of consecutive mu, shrunk by one inequality after the other; it remembers what ended it where."""

    lo: End = None
    hi: End = None
    lo_open: bool = False
    hi_open: bool = False
    lo_why: str = ""
    hi_why: str = ""
    nowhere: str = ""

    def where(self, line: Affine, why: str, strict: bool = False) -> "Span":
        """Return the part where the function is nonnegative, or positive if `strict`.

        >>> right = Span().where(Affine(fmpq(-1), fmpq(3)), "3 mu ≥ 1")
        >>> right.where(Affine(fmpq(2), fmpq(-1)), "mu < 2", strict=True)
        Span(1/3 ≤ mu < 2)
        """
        if not line.slope:
            holds = line.constant > 0 or (line.constant == 0 and not strict)
            return self if holds else replace(self, nowhere=self.nowhere or why)
        root = -line.constant / line.slope
        # At the same root the strict inequality is the stronger one.
        if line.slope > 0 and (self.lo is None or root > self.lo or (root == self.lo and strict)):
            return Span(root, self.hi, strict, self.hi_open, why, self.hi_why, self.nowhere)
        if line.slope < 0 and (self.hi is None or root < self.hi or (root == self.hi and strict)):
            return Span(self.lo, root, self.lo_open, strict, self.lo_why, why, self.nowhere)
        return self

    def within(self, value: Affine, lower: Limit, upper: Limit, name: str) -> "Span":
        """Return the part where the value respects its limits."""
        span = self if lower is None else self.where(value - lower, f"{name} ≥ its lower limit")
        return span if upper is None else span.where(upper - value, f"{name} ≤ its upper limit")

    def clipped(self, lo: End, hi: End) -> "Span":
        """Return the part between two ends, which belong to it."""
        span = self if lo is None else self.where(Affine(-lo, fmpq(1)), "")
        return span if hi is None else span.where(Affine(hi, fmpq(-1)), "")

    @property
    def is_empty(self) -> bool:
        """Whether no mu is left."""
        if self.nowhere or self.lo is None or self.hi is None:
            return bool(self.nowhere)
        return self.lo > self.hi or (self.lo == self.hi and (self.lo_open or self.hi_open))

    def holds_at(self, mu: fmpq) -> bool:
        """Return whether mu belongs to the set."""
        above = self.lo is None or self.lo < mu or (self.lo == mu and not self.lo_open)
        below = self.hi is None or mu < self.hi or (self.hi == mu and not self.hi_open)
        return above and below and not self.nowhere

    def holds_between(self, lo: End, hi: End) -> bool:
        """Return whether every mu strictly between lo and hi belongs to the set."""
        # Open ends do not matter: only the mu strictly between are asked for.
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


# More than rounding takes from a length or from a sum of sizes.
UPWARDS = 1e-9
# Integers up to this size are float64 numbers.
EXACT_INTEGERS = 2**53
INTEGER_ZERO = fmpz(0)
# A matrix with more nonzero entries than this share is multiplied as a dense one, which is faster then.
DENSE_SHARE = 0.25


class ExactMatrix:
    """A matrix by its nonzero entries, row by row; `values` are float64 at face value, or rationals."""

    def __init__(self, shape: tuple[int, int], rows: Indices, columns: Indices, values: Any) -> None:
        # entries of a matrix given by its rows are in this order already
        if not (np.diff(rows * shape[1] + columns) > 0).all():
            order = np.lexsort((columns, rows))
            rows, columns = rows[order], columns[order]
            values = values[order] if isinstance(values, np.ndarray) else [values[k] for k in order]
        self.shape, self._rows, self._columns, self._values = shape, rows, columns, values
        self._row_starts = np.searchsorted(rows, np.arange(shape[0] + 1))
        self._kept: dict[tuple[str, int], Any] = {}

    @cached_property
    def _by_column(self) -> tuple[Indices, Indices]:
        """The entries in the order of columns, and where each column starts in that."""
        order = np.lexsort((self._rows, self._columns))
        return order, np.searchsorted(self._columns[order], np.arange(self.shape[1] + 1))

    @property
    def is_diagonal(self) -> bool:
        """Whether only diagonal entries differ from 0."""
        return bool((self._rows == self._columns).all())

    def row(self, i: int) -> Sparse:
        """Return the nonzero entries of a row by column."""
        if ("row", i) not in self._kept:
            places = range(self._row_starts[i], self._row_starts[i + 1])
            self._kept["row", i] = {int(self._columns[k]): self._exact(k) for k in places}
        return self._kept["row", i]

    def column(self, j: int) -> Sparse:
        """Return the nonzero entries of a column by row."""
        if ("column", j) not in self._kept:
            order, starts = self._by_column
            places = order[starts[j] : starts[j + 1]].tolist()
            self._kept["column", j] = {int(self._rows[k]): self._exact(k) for k in places}
        return self._kept["column", j]

    def integer_row(self, i: int) -> tuple[fmpz, dict[int, fmpz]]:
        """Return a common denominator of a row, and its entries times that."""
        if ("integer", i) not in self._kept:
            row = self.row(i)
            below = reduce(fmpz.lcm, (value.q for value in row.values()), fmpz(1))
            self._kept["integer", i] = below, {j: value.p * (below // value.q) for j, value in row.items()}
        return self._kept["integer", i]

    def integers(self, i: int) -> tuple[fmpz, list[fmpz]]:
        """Return the same with the entries that are zero."""
        if ("integers", i) not in self._kept:
            below, row = self.integer_row(i)
            self._kept["integers", i] = below, [row.get(j, INTEGER_ZERO) for j in range(self.shape[1])]
        return self._kept["integers", i]

    def flint_row(self, i: int) -> tuple[fmpz, fmpz_mat]:
        """Return the same as a matrix with one row."""
        if ("flint", i) not in self._kept:
            below, row = self.integers(i)
            self._kept["flint", i] = below, fmpz_mat(1, len(row), row)
        return self._kept["flint", i]

    def _exact(self, k: int) -> fmpq:
        value = self._values[k]
        return value if isinstance(value, fmpq) else fmpq(*float(value).as_integer_ratio())

    @property
    def denominators(self) -> list[fmpz]:
        """The denominators of all entries, each value once."""
        if isinstance(self._values, np.ndarray):
            return [fmpz(float(value).as_integer_ratio()[1]) for value in np.unique(self._values)]
        return [value.q for value in self._values]

    @cached_property
    def approximation(self) -> Floats:
        """The entries in float64, each the nearest to the exact one."""
        if isinstance(self._values, np.ndarray):
            return self._values
        return np.array([approximate(value) for value in self._values])

    @cached_property
    def largest(self) -> float:
        """The largest absolute value of an entry."""
        return float(np.max(np.abs(self.approximation), initial=0.0))

    @cached_property
    def norm(self) -> float:
        """The largest sum of the sizes of a row's entries."""
        sums = np.bincount(self._rows, np.abs(self.approximation), self.shape[0])
        return float(np.max(sums, initial=0.0)) * (1 + UPWARDS)

    @property
    def entries(self) -> tuple[Indices, Indices, Floats]:
        """The rows, the columns and, in float64, the values of the nonzero entries."""
        return self._rows, self._columns, self.approximation

    @cached_property
    def longest_row(self) -> int:
        """The largest number of nonzero entries of a row."""
        return int(np.max(np.diff(self._row_starts), initial=0))

    @cached_property
    def longest_column(self) -> int:
        """The largest number of nonzero entries of a column."""
        return int(np.max(np.bincount(self._columns), initial=0))

    @cached_property
    def bits(self) -> int:
        """About how long its numbers are: the largest integer, 53 for float64, more for rationals."""
        if not isinstance(self._values, np.ndarray):
            return max((v.p.bit_length() + v.q.bit_length() - 1 for v in self._values), default=1)
        is_whole = self.largest < EXACT_INTEGERS and bool((self._values == np.rint(self._values)).all())
        return max(1, int(self.largest).bit_length()) if is_whole else 53

    @property
    def is_dense(self) -> bool:
        """Whether a good share of the entries differs from 0."""
        return len(self._rows) > DENSE_SHARE * self.shape[0] * self.shape[1]

    @cached_property
    def _dense(self) -> tuple[Floats, Floats] | None:
        """The matrix and its transpose, both row by row in memory: products with few columns run along it."""
        if not self.is_dense:
            return None
        dense = np.zeros(self.shape)
        dense[self._rows, self._columns] = self.approximation
        return dense, np.ascontiguousarray(dense.T)

    def times(self, block: Floats) -> Floats:
        """Return the product with some columns in float64."""
        if self._dense is not None:
            return (block.T @ self._dense[1]).T
        return np.asarray(self.compressed @ block)

    def transposed_times(self, block: Floats) -> Floats:
        """Return the product of the transpose with some columns in float64."""
        if self._dense is not None:
            return (block.T @ self._dense[0]).T
        return np.asarray(self.compressed.T @ block)

    @cached_property
    def compressed(self) -> scipy.sparse.csr_array:
        """The same for scipy, in float64."""
        return scipy.sparse.csr_array((self.approximation, (self._rows, self._columns)), shape=self.shape)

    @cached_property
    def sizes(self) -> "ExactMatrix":
        """The absolute values of the entries, as they are in float64."""
        return ExactMatrix(self.shape, self._rows, self._columns, np.abs(self.approximation))


def read_matrix(value: Any, shape: tuple[int | None, int | None], place: str) -> ExactMatrix:
    """Return a matrix given by its rows or as {"sparse": ...}; None in `shape` leaves that size open."""
    if isinstance(value, Mapping):
        return _read_sparse(entry(value, "sparse", place), shape, f"{place}.sparse")
    rows = items(value, shape[0], place)
    width = shape[1] if shape[1] is not None else len(items(rows[0], None, f"{place}[0]")) if rows else 0
    listed = [items(row, width, f"{place}[{i}]") for i, row in enumerate(rows)]
    # Float64 data stay float64: they are exact, and much smaller than rationals.
    found = _exact_floats(list(chain.from_iterable(listed)))
    if found is not None:
        dense = found.reshape(len(rows), width)
        r, c = np.nonzero(dense)
        return ExactMatrix(dense.shape, r, c, dense[r, c])
    entries = [
        (i, j, exact)
        for i, row in enumerate(listed)
        for j, v in enumerate(row)
        if (exact := number(v, f"{place}[{i}][{j}]"))
    ]
    return _from_entries(entries, (len(rows), width))


def diagonal_matrix(values: Sequence[fmpq]) -> ExactMatrix:
    """Return the diagonal matrix of some numbers."""
    size = len(values)
    return _from_entries([(j, j, value) for j, value in enumerate(values) if value], (size, size))


def _from_entries(entries: Sequence[tuple[int, int, fmpq]], shape: tuple[int, int]) -> ExactMatrix:
    rows, columns = (np.array([e[k] for e in entries], dtype=np.int64) for k in (0, 1))
    return ExactMatrix(shape, rows, columns, [value for _, _, value in entries])


def _exact_floats(values: list[Any]) -> Floats | None:
    """Return numbers as float64 if that changes none of them."""
    kinds = set(map(type, values))
    if not kinds <= {int, float}:
        return None
    try:
        found = np.array(values, dtype=np.float64)
    except OverflowError:
        return None
    # integers beyond 2^53 may be rounded on the way to float64, and the checker takes numbers at face value
    is_exact = kinds <= {float} or bool((np.abs(found) <= EXACT_INTEGERS).all())
    return found if is_exact and bool(np.isfinite(found).all()) else None


def _read_sparse(value: Any, shape: tuple[int | None, int | None], place: str) -> ExactMatrix:
    sizes = items(entry(value, "shape", place), 2, f"{place}.shape")
    for size, wanted in zip(sizes, shape, strict=True):
        is_size = isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= EXACT_INTEGERS
        if not is_size or (wanted is not None and size != wanted):
            found = f"{shown(sizes[0], 'null')} x {shown(sizes[1], 'null')}"
            message = "{argument} must fit the problem, got {found}"
            raise CertificateError(message, argument=f"{place}.shape", found=found)
    values = items(entry(value, "value", place), None, f"{place}.value")
    places = []
    for key, size in (("row", sizes[0]), ("column", sizes[1])):
        listed = items(entry(value, key, place), len(values), f"{place}.{key}")
        places.append([index(v, size, f"{place}.{key}[{k}]") for k, v in enumerate(listed)])
    # Two values for one entry could mean their sum or the last of them.
    if len(set(zip(*places, strict=True))) != len(values):
        raise CertificateError("{argument} must state every entry only once", argument=place)
    exact = [number(v, f"{place}.value[{k}]") for k, v in enumerate(values)]
    entries = [(i, j, v) for i, j, v in zip(*places, exact, strict=True) if v]
    return _from_entries(entries, (sizes[0], sizes[1]))
