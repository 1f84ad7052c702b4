"""The Hessian of a document, exact and proved convex, by its entries or by its factors.

The problem of a document, every number exact and convexity proved.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from pqp.certificate.convexity import require_convex
from pqp.certificate.document import approximate, entry, index, items, number, numbers, shown
from pqp.certificate.exact import (
    ZERO,
    Floats,
    Limit,
    Line,
    Span,
    Sparse,
    Table,
    Vector,
    diagonal_table,
    read_table,
)
from pqp.errors import CertificateError


@dataclass(frozen=True)
class Hessian:
    """P = diag(diagonal) + left core leftᵀ.

    An absent diagonal is zero. Absent left and core are identities, but for a diagonal P both are absent and
    there is no second part. P itself is never formed.
    """

    size: int
    left: Table | None = None
    core: Table | None = None
    diagonal: Sequence[fmpq] | None = None

    @property
    def is_diagonal(self) -> bool:
        """Whether there is no second part."""
        return self.left is None and self.core is None

    def spread(self, j: int) -> Sparse:
        """Return how x[j] enters the vector leftᵀx."""
        if self.is_diagonal:
            return {}
        return {j: fmpq(1)} if self.left is None else self.left.row(j)

    def added(self, j: int) -> fmpq:
        """Return entry j of the diagonal part."""
        return fmpq(0) if self.diagonal is None else self.diagonal[j]

    def block(self, kept: Sequence[int]) -> list[Sparse]:
        """Return the rows and columns of P with the given indices, both counted anew."""
        if self.left is not None and self.left.is_dense and self.core is None:
            return self._gram_block(kept)
        place = {j: k for k, j in enumerate(kept)}
        rows: list[Sparse] = []
        for j in kept:
            total = {place[j]: self.added(j)} if self.added(j) else {}
            for i, value in self._second_row(j, place):
                total[place[i]] = total.get(place[i], fmpq(0)) + value
            rows.append({k: value for k, value in total.items() if value})
        return rows

    def _gram_block(self, kept: Sequence[int]) -> list[Sparse]:
        """Return the same for left leftᵀ with a dense left, by one product of integers."""
        assert self.left is not None
        rows = [self.left.integers(j) for j in kept]
        factor = fmpz_mat(len(kept), self.left.shape[1], list(chain.from_iterable(row for _, row in rows)))
        table = (factor * factor.transpose()).tolist()
        result: list[Sparse] = []
        for k, (j, (below, _)) in enumerate(zip(kept, rows, strict=True)):
            line = {i: fmpq(v, below * rows[i][0]) for i, v in enumerate(table[k]) if v}
            corner = line.get(k, fmpq(0)) + self.added(j)
            result.append(line | ({k: corner} if corner else {}))
        return result

    def _second_row(self, j: int, wanted: Mapping[int, int]) -> Iterable[tuple[int, fmpq]]:
        """Yield entries of row j of left core leftᵀ, for the wanted columns."""
        if self.left is None and self.core is not None:
            row = self.core.row(j)
            return [(i, row[i]) for i in wanted if i in row]
        inner: Sparse = {}
        for k, factor in self.spread(j).items():
            for other, value in ({k: fmpq(1)} if self.core is None else self.core.row(k)).items():
                inner[other] = inner.get(other, fmpq(0)) + factor * value
        if self.left is None:
            return [(i, value) for i, value in inner.items() if i in wanted]
        return [
            (i, sum((inner.get(k, fmpq(0)) * factor for k, factor in self.left.row(i).items()), fmpq(0)))
            for i in wanted
        ]

    @cached_property
    def curved(self) -> list[bool]:
        """Whether P[j, j] is not 0; where it is, the whole row is, P being positive semidefinite."""
        return [bool(self.block([j])[0]) for j in range(self.size)]

    def product(self, x: Mapping[int, Line], inner: Mapping[int, Line]) -> "Product":
        """Return P x entry by entry, given the nonzero entries of x and of leftᵀx."""
        return Product(self, x, inner)

    def enclose(self, x: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Return P x in float64, and the sum of the sizes of all its terms."""
        value, size = np.zeros_like(x), np.zeros_like(x)
        if not self.is_diagonal:
            value, size = _through(self.left, self.core, x, sizes)
        if self.diagonal is not None:
            value, size = value + self._added * x, size + np.abs(self._added) * sizes
        return value, size

    @cached_property
    def _added(self) -> Floats:
        return np.array([[approximate(value)] for value in self.diagonal or ()])

    @property
    def largest(self) -> float:
        """The largest absolute value of a factor's entry."""
        factors = [table.largest for table in (self.left, self.core) if table is not None]
        return max([1.0, *factors, *(np.abs(self._added).ravel().tolist())])

    @property
    def width(self) -> int:
        """The number of terms that are added up one after the other in a product."""
        return self.size + (0 if self.left is None else 2 * self.left.shape[1])


def _through(left: Table | None, core: Table | None, x: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    if left is not None:
        x, sizes = left.transposed_times(x), left.sizes().transposed_times(sizes)
    if core is not None:
        x, sizes = core.times(x), core.sizes().times(sizes)
    return (x, sizes) if left is None else (left.times(x), left.sizes().times(sizes))


class Product:
    """The exact entries of P x, worked out when asked for."""

    def __init__(self, P: Hessian, x: Mapping[int, Line], inner: Mapping[int, Line]) -> None:
        self._P, self._x, self._inner = P, x, inner
        self._middle: dict[int, Line] = {}

    @cached_property
    def _vector(self) -> Vector:
        return Vector.of(self._inner)

    def __getitem__(self, j: int) -> Line:
        total = self._x[j].scaled(self._P.added(j)) if j in self._x and self._P.added(j) else ZERO
        if self._P.core is None:
            return total if self._P.left is None else total + self._vector.dot(self._P.left.integer_row(j))
        for k, factor in self._P.spread(j).items():
            total += self._at(k, self._P.core).scaled(factor)
        return total

    def _at(self, k: int, core: Table) -> Line:
        if k not in self._middle:
            self._middle[k] = self._vector.dot(core.integer_row(k))
        return self._middle[k]


def read_hessian(value: Any, size: int, place: str) -> Hessian:
    """Return P from its entries, its factor, or its pairs.

    A factor is {"gram": F, "diagonal": d, "weights": w}, without d and w if these are 0 and 1; pairs are
    {"pair_gram": {"K": K, "pairs": pairs}}.
    """
    if isinstance(value, Mapping) and "gram" in value:
        left = read_table(value["gram"], (size, None), f"{place}.gram")
        diagonal = _nonnegative(value, "diagonal", size, place)
        weights = _nonnegative(value, "weights", left.shape[1], place)
        return Hessian(size, left, None if weights is None else diagonal_table(weights), diagonal)
    if isinstance(value, Mapping) and "sparse" not in value:
        return _read_pair_gram(entry(value, "pair_gram", place), size, f"{place}.pair_gram")
    core = read_table(value, (size, size), place)
    require_convex(core, place)
    if core.is_diagonal:
        return Hessian(size, diagonal=[core.row(j).get(j, fmpq(0)) for j in range(size)])
    return Hessian(size, core=core)


def _nonnegative(value: Mapping[str, Any], key: str, size: int, place: str) -> Sequence[fmpq] | None:
    """Return the numbers under a key, none of them negative; None without the key."""
    if key not in value:
        return None
    found = numbers(value[key], size, f"{place}.{key}")
    for j, entered in enumerate(found):
        if entered < 0:
            raise CertificateError(f"{place}.{key}[{j}] must not be negative, got {shown(entered)}")
    return found


def _read_pair_gram(value: Any, size: int, place: str) -> Hessian:
    core = read_table(entry(value, "K", place), (None, None), f"{place}.K")
    count = core.shape[0]
    if core.shape != (count, count):
        raise CertificateError(f"{place}.K must be square, got {core.shape[0]} x {core.shape[1]}")
    require_convex(core, f"{place}.K")
    pairs = [
        [index(i, count, f"{place}.pairs[{r}]") for i in items(pair, 2, f"{place}.pairs[{r}]")]
        for r, pair in enumerate(items(entry(value, "pairs", place), size, f"{place}.pairs"))
    ]
    kept = [(r, *pair) for r, pair in enumerate(pairs) if pair[0] != pair[1]]
    rows = np.array([r for r, _, _ in kept for _ in (0, 1)], dtype=np.int64)
    columns = np.array([i for _, *pair in kept for i in pair], dtype=np.int64)
    return Hessian(
        size, left=Table((size, count), rows, columns, np.array([1.0, -1.0] * len(kept))), core=core
    )


Mask: TypeAlias = npt.NDArray[np.bool_]
# Bits of a denominator up to which it pays to give it to all numbers: a few times what float64 data need.
LONGEST_COMMON = 512
# Entries up to which a sparse A may be kept with its zeros as well: some 30 MB.
LARGEST_SPREAD = 2**22


class Limits(Sequence[Limit]):
    """One line or None an entry; `is_finite` says where there is a line.

    `approximation` holds float64 copies, constants in the first row and slopes in the second.
    """

    def __init__(self, lines: Sequence[Limit]) -> None:
        self._lines = list(lines)
        self.is_finite = np.array([line is not None for line in self._lines], dtype=bool)
        self.has_any = bool(self.is_finite.any())
        known = [ZERO if line is None else line for line in self._lines]
        pairs = [(approximate(line.constant), approximate(line.slope)) for line in known]
        self.approximation: Floats = np.array(pairs, dtype=np.float64).reshape(len(known), 2).T.copy()
        self.is_constant = all(not line.slope for line in known)

    def __getitem__(self, i: Any) -> Any:
        return self._lines[i]

    def __len__(self) -> int:
        return len(self._lines)


def limits(datum: Any, length: int, infinite: str, place: str) -> Limits:
    """Return affine limits, None where the constant is the string `infinite` (then the slope must be 0)."""
    constants = items(entry(datum, "constant", place), length, f"{place}.constant")
    slopes = numbers(entry(datum, "slope", place), length, f"{place}.slope")
    found: list[Limit] = []
    for i, (constant, slope) in enumerate(zip(constants, slopes, strict=True)):
        is_infinite = isinstance(constant, str) and constant == infinite
        if is_infinite and slope:
            raise CertificateError(f"{place}.slope[{i}] must be 0 if infinite, got {shown(slope)}")
        found.append(None if is_infinite else Line(number(constant, f"{place}.constant[{i}]"), slope))
    return Limits(found)


@dataclass(frozen=True)
class Problem:
    """The problem of a document, every number exact."""

    P: Hessian
    c: Limits
    A: Table
    lower: Limits
    upper: Limits
    row_lower: Limits
    row_upper: Limits
    penalty: Limits
    constant: list[fmpq]

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.c)

    @property
    def m(self) -> int:
        """The number of rows."""
        return len(self.penalty)

    @cached_property
    def hard_limits(self) -> dict[str, list[Limit]]:
        """The limits that no x may violate: those of soft rows are left out."""
        is_hard = [penalty is None for penalty in self.penalty]
        row_lower = [limit if hard else None for limit, hard in zip(self.row_lower, is_hard, strict=True)]
        row_upper = [limit if hard else None for limit, hard in zip(self.row_upper, is_hard, strict=True)]
        bounds = {"lower": list(self.lower), "upper": list(self.upper)}
        return {"row_lower": row_lower, "row_upper": row_upper, **bounds}

    @cached_property
    def is_fixed(self) -> Mask:
        """Which variables have one line for both limits."""
        return _coincide(self.lower, self.upper)

    @cached_property
    def is_equation(self) -> Mask:
        """Which rows have one line for both limits."""
        return _coincide(self.row_lower, self.row_upper)

    @cached_property
    def reciprocals(self) -> tuple[fmpz, list[fmpz]] | None:
        """E and e with 1 / P[j, j] = e[j] / E, but e[j] = 0 where P[j, j] = 0.

        None unless P is diagonal, neither E nor the denominators of c, A and the limits make long numbers,
        and A may be written out with its zeros.
        """
        if not (self.P.is_diagonal and (self.A.is_dense or self.m * self.n <= LARGEST_SPREAD)):
            return None
        curvatures = [self.P.added(j) for j in range(self.n)]
        below = _common([value.p for value in curvatures if value])
        sides = chain(self.c, self.lower, self.upper, self.row_lower, self.row_upper, self.penalty)
        lines = [line for line in sides if line is not None]
        shared = [value.q for line in lines for value in (line.constant, line.slope)]
        if below is None or _common(shared + self.A.denominators) is None:
            return None
        return below, [below * value.q // value.p if value else fmpz(0) for value in curvatures]

    @cached_property
    def is_priceless(self) -> Mask:
        """Which rows are soft and cost nothing, so that they do not matter."""
        return np.array([line is not None and line.is_zero for line in self.penalty], dtype=bool)

    @cached_property
    def crossing(self) -> set[int]:
        """The rows that are soft and have limits that cross at some mu."""
        triples = zip(self.row_lower, self.row_upper, self.penalty, strict=True)
        return {i for i, triple in enumerate(triples) if _may_cross(*triple)}

    @cached_property
    def largest(self) -> float:
        """The largest absolute value of a number that enters enclosures, in float64."""
        vectors = (self.c, self.lower, self.upper, self.row_lower, self.row_upper, self.penalty)
        sizes = [float(np.max(np.abs(vector.approximation), initial=0.0)) for vector in vectors]
        return max(self.P.largest, self.A.largest, *sizes)

    @cached_property
    def orderly(self) -> Span:
        """The set of mu where no hard limits cross and no penalty is negative; no other mu has an optimum."""
        span, hard = Span(), self.hard_limits
        for low, high, name in (("lower", "upper", "x[{}]"), ("row_lower", "row_upper", "row {}")):
            for i, (lower, upper) in enumerate(zip(hard[low], hard[high], strict=True)):
                if lower is not None and upper is not None and lower != upper:
                    span = span.where(upper - lower, f"limits of {name.format(i)} do not cross")
        for i, penalty in enumerate(self.penalty):
            if penalty is not None:
                span = span.where(penalty, f"penalty of row {i} ≥ 0")
        return span

    def objective(self, x: Sequence[fmpq], mu: fmpq) -> fmpq:
        """Return ½ xᵀP x + c(mu)ᵀx + k(mu) + Σ penalty · violation for one x."""
        lines = {j: Line(value, fmpq(0)) for j, value in enumerate(x) if value}
        curvature = self.P.product(lines, self.inner(lines))
        value = sum(k * mu**power for power, k in enumerate(self.constant))
        value += sum((x[j] * (curvature[j].constant / 2 + self.c[j].at(mu)) for j in lines), fmpq(0))
        vector = Vector.of(lines)
        for i, penalty in enumerate(self.penalty):
            if penalty is not None:
                activity = vector.dot(self.A.integer_row(i)).constant
                lower, upper = self.row_lower[i], self.row_upper[i]
                below = fmpq(0) if lower is None else lower.at(mu) - activity
                above = fmpq(0) if upper is None else activity - upper.at(mu)
                value += penalty.at(mu) * max(fmpq(0), below, above)
        return value

    def inner(self, x: Mapping[int, Line]) -> dict[int, Line]:
        """Return the nonzero entries of leftᵀx, where P = diagonal + left core leftᵀ."""
        if self.P.left is not None and self.P.left.is_dense:
            return _dense_inner(self.P.left, x)
        total: dict[int, Line] = {}
        for j, line in x.items():
            for k, factor in self.P.spread(j).items():
                total[k] = total.get(k, ZERO) + line.scaled(factor)
        return total


def _dense_inner(left: Table, x: Mapping[int, Line]) -> dict[int, Line]:
    """Return the nonzero entries of leftᵀx by one product of matrices."""
    rows = [left.integers(j) for j in x]
    factor = fmpz_mat(len(x), left.shape[1], list(chain.from_iterable(row for _, row in rows)))
    scaled = [line.scaled(fmpq(1, below)) for (below, _), line in zip(rows, x.values(), strict=True)]
    pairs = fmpq_mat(len(x), 2, [value for line in scaled for value in (line.constant, line.slope)])
    table = (factor.transpose() * pairs).tolist()
    return {k: Line(*pair) for k, pair in enumerate(table) if any(pair)}


def _common(denominators: Sequence[fmpz]) -> fmpz | None:
    """Return the least common multiple of positive integers, None if it is long."""
    common = fmpz(1)
    for value in denominators:
        common = common.lcm(value)
        if common.bit_length() > LONGEST_COMMON:
            return None
    return common


def _coincide(lower: Limits, upper: Limits) -> Mask:
    pairs = zip(lower, upper, strict=True)
    return np.array([low is not None and low == high for low, high in pairs], dtype=bool)


def _may_cross(lower: Limit, upper: Limit, penalty: Limit) -> bool:
    if lower is None or upper is None or penalty is None:
        return False
    room = upper - lower
    return bool(room.slope) or room.constant < 0


def read_problem(data: Any, place: str = "problem") -> Problem:
    """Return the problem after checking shapes and that P is symmetric and positive semidefinite."""
    cost = entry(data, "c", place)
    constant = numbers(entry(cost, "constant", f"{place}.c"), None, f"{place}.c.constant")
    slope = numbers(entry(cost, "slope", f"{place}.c"), len(constant), f"{place}.c.slope")
    n = len(constant)
    A = read_table(data.get("A", []), (None, n), f"{place}.A")

    def read_limits(key: str, length: int, infinite: str) -> Limits:
        known = key in data
        return limits(data[key], length, infinite, f"{place}.{key}") if known else Limits([None] * length)

    return Problem(
        P=read_hessian(entry(data, "P", place), n, f"{place}.P"),
        c=Limits([Line(*pair) for pair in zip(constant, slope, strict=True)]),
        A=A,
        lower=read_limits("lower", n, "-inf"),
        upper=read_limits("upper", n, "inf"),
        row_lower=read_limits("row_lower", A.shape[0], "-inf"),
        row_upper=read_limits("row_upper", A.shape[0], "inf"),
        penalty=read_limits("penalty", A.shape[0], "inf"),
        constant=numbers(data.get("constant", [0, 0, 0]), 3, f"{place}.constant"),
    )
