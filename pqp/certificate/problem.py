"""The problem of a document: every number exact, and its Hessian proved convex."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse
from flint import fmpq, fmpz, fmpz_mat

from pqp.certificate.convexity import convexity_shortfall, require_convex
from pqp.certificate.document import approximate, entry, index, items, number, numbers, shown
from pqp.certificate.rationals import (
    UPWARDS,
    ZERO,
    Affine,
    ExactMatrix,
    Floats,
    Indices,
    Limit,
    Span,
    Sparse,
    Vector,
    common_multiple,
    diagonal_matrix,
    pair_table,
    read_matrix,
)
from pqp.errors import CertificateError

Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Hessian:
    """P = diag(diagonal) + F K Fᵀ with F = `factor` and K = `middle`; P itself is never formed.

    An absent diagonal is zero, an absent factor or middle is the identity. Only for a diagonal P are both
    absent: then there is no second part. P + `shortfall` I is positive semidefinite; `flaw` says where P
    itself is not.
    """

    size: int
    factor: ExactMatrix | None = None
    middle: ExactMatrix | None = None
    diagonal: Sequence[fmpq] | None = None
    shortfall: float = 0.0
    flaw: CertificateError | None = None

    @property
    def is_diagonal(self) -> bool:
        """Whether there is no second part."""
        return self.factor is None and self.middle is None

    def factor_row(self, j: int) -> Sparse:
        """Return how x[j] enters the vector Fᵀx."""
        if self.is_diagonal:
            return {}
        return {j: fmpq(1)} if self.factor is None else self.factor.row(j)

    def diagonal_entry(self, j: int) -> fmpq:
        """Return entry j of the diagonal part."""
        return fmpq(0) if self.diagonal is None else self.diagonal[j]

    def block(self, kept: Sequence[int]) -> list[Sparse]:
        """Return the rows and columns of P with the given indices, both counted anew."""
        # One product of integer matrices is faster there than sums of rationals one by one.
        if self.factor is not None and self.factor.is_dense and self.middle is None:
            return self._gram_block(kept)
        place = {j: k for k, j in enumerate(kept)}
        rows: list[Sparse] = []
        for j in kept:
            total = {place[j]: self.diagonal_entry(j)} if self.diagonal_entry(j) else {}
            for i, value in self._second_row(j, place):
                total[place[i]] = total.get(place[i], fmpq(0)) + value
            rows.append({k: value for k, value in total.items() if value})
        return rows

    def _gram_block(self, kept: Sequence[int]) -> list[Sparse]:
        """Return the same for F Fᵀ with a dense factor, by one product of integers."""
        assert self.factor is not None
        rows = [self.factor.integers(j) for j in kept]
        factor = fmpz_mat(len(kept), self.factor.shape[1], list(chain.from_iterable(row for _, row in rows)))
        table = (factor * factor.transpose()).tolist()
        result: list[Sparse] = []
        for k, (j, (below, _)) in enumerate(zip(kept, rows, strict=True)):
            row = {i: fmpq(v, below * rows[i][0]) for i, v in enumerate(table[k]) if v}
            corner = row.get(k, fmpq(0)) + self.diagonal_entry(j)
            result.append(row | ({k: corner} if corner else {}))
        return result

    def _second_row(self, j: int, wanted: Mapping[int, int]) -> Iterable[tuple[int, fmpq]]:
        """Yield entries of row j of F K Fᵀ, for the wanted columns."""
        if self.factor is None and self.middle is not None:
            # without a factor the row is given: wanted entries are looked up, not computed
            row = self.middle.row(j)
            return [(i, row[i]) for i in wanted if i in row]
        inner: Sparse = {}
        for k, factor in self.factor_row(j).items():
            for other, value in ({k: fmpq(1)} if self.middle is None else self.middle.row(k)).items():
                inner[other] = inner.get(other, fmpq(0)) + factor * value
        if self.factor is None:
            return [(i, value) for i, value in inner.items() if i in wanted]
        return [
            (i, sum((inner.get(k, fmpq(0)) * factor for k, factor in self.factor.row(i).items()), fmpq(0)))
            for i in wanted
        ]

    @cached_property
    def curved(self) -> list[bool]:
        """Whether P[j, j] is not 0; where it is, the whole row is, P being positive semidefinite."""
        return [bool(self.block([j])[0]) for j in range(self.size)]

    def enclose(self, x: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Return P x in float64, and the sum of the sizes of all its terms."""
        if self._gram is not None:
            # by Cauchy and Schwarz no sum of sizes is larger than a product of lengths
            P, lengths = self._gram
            value, size = P @ x, lengths[:, None] * (lengths @ sizes)
            if self.diagonal is not None:
                value, size = value + self._diagonal_floats * x, size + np.abs(self._diagonal_floats) * sizes
            return value, size
        # from the right, F (K (Fᵀx)): forming P would cost a product of matrices
        value, size = (np.zeros_like(x), np.zeros_like(x)) if self.is_diagonal else (x, sizes)
        if self.factor is not None:
            value, size = self.factor.transposed_times(value), self.factor.sizes.transposed_times(size)
        if self.middle is not None:
            value, size = self.middle.times(value), self.middle.sizes.times(size)
        if self.factor is not None:
            value, size = self.factor.times(value), self.factor.sizes.times(size)
        if self.diagonal is not None:
            value, size = value + self._diagonal_floats * x, size + np.abs(self._diagonal_floats) * sizes
        return value, size

    @cached_property
    def _gram(self) -> tuple[Floats, Floats] | None:
        """F Fᵀ and the lengths of the rows of F, if F is dense and has many columns."""
        F = self.factor
        if F is None or self.middle is not None or not F.is_dense or self.size > 2 * F.shape[1]:
            return None
        dense = F.compressed.toarray()
        return dense @ dense.T, np.sqrt((dense**2).sum(axis=1)) * (1 + UPWARDS)

    @cached_property
    def _diagonal_floats(self) -> Floats:
        return np.array([[approximate(value)] for value in self.diagonal or ()])

    @cached_property
    def entries(self) -> int:
        """The number of nonzero entries of its parts."""
        tables = (table for table in (self.factor, self.middle) if table is not None)
        return (0 if self.diagonal is None else self.size) + sum(len(table.entries[0]) for table in tables)

    @cached_property
    def touched(self) -> Mask:
        """Which variables may have curvature, by the places of nonzero entries."""
        found = np.array([bool(value) for value in self.diagonal or [fmpq(0)] * self.size], dtype=bool)
        table = self.middle if self.factor is None else self.factor
        if table is not None:
            found[table.entries[0]] = True
        return found

    @cached_property
    def float_diagonal(self) -> Floats:
        """The diagonal of P in float64."""
        found = np.zeros(self.size) if self.diagonal is None else self._diagonal_floats[:, 0].copy()
        if self.factor is None:
            return found if self.middle is None else found + self.middle.compressed.diagonal()
        F = self.factor.compressed
        product = F if self.middle is None else F @ self.middle.compressed
        return found + np.asarray(F.multiply(product).sum(axis=1)).ravel()

    def float_block(self, kept: Indices) -> Floats:
        """Return rows and columns of P with the given indices, in float64."""
        found = np.zeros((len(kept), len(kept)))
        if self.diagonal is not None:
            np.fill_diagonal(found, self._diagonal_floats[kept, 0])
        if self.factor is None:
            return found if self.middle is None else found + self.middle.compressed[kept][:, kept].toarray()
        F = self.factor.compressed[kept]
        product = F if self.middle is None else F @ self.middle.compressed
        return found + (product @ F.T).toarray()

    def sparse_block(self, kept: Indices) -> scipy.sparse.csr_array:
        """Return the same as a sparse matrix."""
        if self.is_diagonal:
            return scipy.sparse.diags_array(self.float_diagonal[kept], format="csr")
        return scipy.sparse.csr_array(self.float_block(kept))

    @property
    def largest(self) -> float:
        """The largest absolute value of a factor's entry."""
        factors = [table.largest for table in (self.factor, self.middle) if table is not None]
        return max([1.0, *factors, *(np.abs(self._diagonal_floats).ravel().tolist())])

    @cached_property
    def width(self) -> int:
        """The number of terms, not 0, that are added up one after the other in a product."""
        if self.factor is None:
            return 1 if self.middle is None else self.middle.longest_row + 1
        inside = 0 if self.middle is None else self.middle.longest_row
        return self.factor.longest_column + inside + self.factor.longest_row + 1


class Product:
    """The exact entries of P x, worked out when asked for, from the nonzero entries of x and of Fᵀx."""

    def __init__(self, P: Hessian, x: Mapping[int, Affine], inner: Mapping[int, Affine]) -> None:
        self._P, self._x, self._inner = P, x, inner
        self._products: dict[int, Affine] = {}

    @cached_property
    def _vector(self) -> Vector:
        return Vector.of(self._inner)

    def __getitem__(self, j: int) -> Affine:
        P, total = self._P, ZERO
        if j in self._x and P.diagonal_entry(j):
            total = self._x[j].scaled(P.diagonal_entry(j))
        if P.middle is None:
            return total if P.factor is None else total + self._vector.dot(P.factor.integer_row(j))
        for k, factor in P.factor_row(j).items():
            # entries of K (Fᵀx) are kept: with pairs, many j use the same two of them
            if k not in self._products:
                self._products[k] = self._vector.dot(P.middle.integer_row(k))
            total += self._products[k].scaled(factor)
        return total


def read_hessian(value: Any, size: int, place: str, is_rounded: bool = False) -> Hessian:
    """Return P from its entries, its factor, or its pairs; only if `is_rounded` may it miss convexity.

    A factor is {"gram": F, "diagonal": d, "weights": w}, without d and w if these are 0 and 1; pairs are
    {"pair_gram": {"K": K, "pairs": pairs}}.
    """
    # Convex by its form if d and w are nonnegative; a matrix given by its entries must be shown to be.
    if isinstance(value, Mapping) and "gram" in value:
        factor = read_matrix(value["gram"], (size, None), f"{place}.gram")
        diagonal = _nonnegative(value, "diagonal", size, place)
        weights = _nonnegative(value, "weights", factor.shape[1], place)
        return Hessian(size, factor, None if weights is None else diagonal_matrix(weights), diagonal)
    if isinstance(value, Mapping) and "sparse" not in value:
        return _read_pair_gram(entry(value, "pair_gram", place), size, f"{place}.pair_gram", is_rounded)
    middle = read_matrix(value, (size, size), place)
    shortfall, flaw = _judged(middle, place, is_rounded)
    if middle.is_diagonal and flaw is None:
        return Hessian(size, diagonal=[middle.row(j).get(j, fmpq(0)) for j in range(size)])
    return Hessian(size, middle=middle, shortfall=shortfall, flaw=flaw)


def _judged(table: ExactMatrix, place: str, is_rounded: bool) -> tuple[float, CertificateError | None]:
    """Return how much is missing to convexity, and what; raise if that is more than rounding errors."""
    try:
        require_convex(table, place)
    except CertificateError as error:
        shortfall = convexity_shortfall(table) if is_rounded else None
        if shortfall is None:
            raise
        return shortfall, error
    return 0.0, None


def _nonnegative(value: Mapping[str, Any], key: str, size: int, place: str) -> Sequence[fmpq] | None:
    """Return the numbers under a key, none of them negative; None without the key."""
    if key not in value:
        return None
    found = numbers(value[key], size, f"{place}.{key}")
    for j, entered in enumerate(found):
        if entered < 0:
            key_at_fault = f"{place}.{key}[{j}]"
            raise CertificateError(argument=key_at_fault, expected="nonnegative", found=shown(entered))
    return found


def _read_pair_gram(value: Any, size: int, place: str, is_rounded: bool) -> Hessian:
    middle = read_matrix(entry(value, "K", place), (None, None), f"{place}.K")
    count = middle.shape[0]
    if middle.shape != (count, count):
        found = f"{middle.shape[0]} x {middle.shape[1]}"
        raise CertificateError(argument=f"{place}.K", expected="square", found=found)
    # D K Dᵀ is convex if K is, so that it need not be formed.
    shortfall, flaw = _judged(middle, f"{place}.K", is_rounded)
    pairs = [
        [index(i, count, f"{place}.pairs[{r}]") for i in items(pair, 2, f"{place}.pairs[{r}]")]
        for r, pair in enumerate(items(entry(value, "pairs", place), size, f"{place}.pairs"))
    ]
    # a pair of an item with itself is a zero row of F
    kept = [(r, *pair) for r, pair in enumerate(pairs) if pair[0] != pair[1]]
    rows = np.array([r for r, _, _ in kept for _ in (0, 1)], dtype=np.int64)
    columns = np.array([i for _, *pair in kept for i in pair], dtype=np.int64)
    factor = ExactMatrix((size, count), rows, columns, np.array([1.0, -1.0] * len(kept)))
    # a vector of length 1 is at most twice the number of pairs long after Dᵀ, squared
    return Hessian(size, factor, middle, shortfall=2 * len(kept) * shortfall, flaw=flaw)


# Longer common denominators (in bits) make integers slower than rationals; float64 data need far fewer.
LONGEST_COMMON = 512
# Entries up to which a sparse A may be kept with its zeros as well: some 30 MB.
LARGEST_SPREAD = 2**22


class LimitVector(Sequence[Limit]):
    """One affine limit per entry, or None; `is_finite` says where there is one.

    `approximation` holds float64 copies, constants in the first row and slopes in the second.
    """

    def __init__(self, limits: Sequence[Limit]) -> None:
        self._limits = list(limits)
        self.is_finite = np.array([limit is not None for limit in self._limits], dtype=bool)
        self.has_any = bool(self.is_finite.any())
        known = [ZERO if limit is None else limit for limit in self._limits]
        pairs = [(approximate(limit.constant), approximate(limit.slope)) for limit in known]
        self.approximation: Floats = np.array(pairs, dtype=np.float64).reshape(len(known), 2).T.copy()
        self.is_constant = all(not limit.slope for limit in known)

    def __getitem__(self, i: Any) -> Any:
        return self._limits[i]

    def __len__(self) -> int:
        return len(self._limits)


def limits(datum: Any, length: int, infinite: str, place: str) -> LimitVector:
    """Return affine limits, None where the constant is the string `infinite` (then the slope must be 0)."""
    constants = items(entry(datum, "constant", place), length, f"{place}.constant")
    slopes = numbers(entry(datum, "slope", place), length, f"{place}.slope")
    found: list[Limit] = []
    for i, (constant, slope) in enumerate(zip(constants, slopes, strict=True)):
        is_infinite = isinstance(constant, str) and constant == infinite
        if is_infinite and slope:
            key_at_fault = f"{place}.slope[{i}]"
            raise CertificateError(argument=key_at_fault, expected="0 if infinite", found=shown(slope))
        found.append(None if is_infinite else Affine(number(constant, f"{place}.constant[{i}]"), slope))
    return LimitVector(found)


@dataclass(frozen=True)
class Problem:
    """The problem of a document, every number exact."""

    P: Hessian
    c: LimitVector
    A: ExactMatrix
    lower: LimitVector
    upper: LimitVector
    row_lower: LimitVector
    row_upper: LimitVector
    penalty: LimitVector
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
    def bits(self) -> int:
        """About how long the numbers of P and A are; float64 numbers that are not short integers have 53."""
        tables = [self.A, *(table for table in (self.P.factor, self.P.middle) if table is not None)]
        lengths = [table.bits for table in tables]
        return max([1, *lengths, *(v.p.bit_length() + v.q.bit_length() - 1 for v in self.P.diagonal or ())])

    @property
    def entries(self) -> int:
        """The number of nonzero entries of P, as it is given, and of A."""
        return len(self.A.entries[0]) + self.P.entries

    @cached_property
    def longest_sum(self) -> int:
        """The largest number of terms, not 0, of an entry of A x or of P x + c − Aᵀy."""
        return max(self.A.longest_row, self.A.longest_column + self.P.width) + 1

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
        """Which variables have one affine function for both limits."""
        return _coincide(self.lower, self.upper)

    @cached_property
    def is_equation(self) -> Mask:
        """Which rows have one affine function for both limits."""
        return _coincide(self.row_lower, self.row_upper)

    @cached_property
    def reciprocals(self) -> tuple[fmpz, list[fmpz]] | None:
        """E and e with 1 / P[j, j] = e[j] / E, but e[j] = 0 where P[j, j] = 0.

        None unless P is diagonal, E and `denominators` are short, and A may be written out with its zeros.
        """
        if not (self.P.is_diagonal and (self.A.is_dense or self.m * self.n <= LARGEST_SPREAD)):
            return None
        curvatures = [self.P.diagonal_entry(j) for j in range(self.n)]
        below = common_multiple((value.p for value in curvatures if value), LONGEST_COMMON)
        if below is None or self.denominators is None:
            return None
        return below, [below * value.q // value.p if value else fmpz(0) for value in curvatures]

    @cached_property
    def denominators(self) -> tuple[fmpz, fmpz] | None:
        """Common denominators of A, and of c, the limits and their products with A; None if these are long.

        Integers over a long common denominator would be slower than the rationals they replace.
        """
        sides = chain(self.c, self.lower, self.upper, self.row_lower, self.row_upper, self.penalty)
        known = [side for side in sides if side is not None]
        shared = [value.q for side in known for value in (side.constant, side.slope)]
        b, s = common_multiple(self.A.denominators, LONGEST_COMMON), common_multiple(shared, LONGEST_COMMON)
        return None if b is None or s is None else (b, s * b)

    @cached_property
    def is_costless(self) -> Mask:
        """Which rows are soft and cost nothing, so that they do not matter."""
        return np.array([penalty is not None and penalty.is_zero for penalty in self.penalty], dtype=bool)

    @cached_property
    def crossing(self) -> set[int]:
        """The rows that are soft and have limits that cross at some mu."""
        found: set[int] = set()
        triples = zip(self.row_lower, self.row_upper, self.penalty, strict=True)
        for i, (lower, upper, penalty) in enumerate(triples):
            if lower is not None and upper is not None and penalty is not None:
                room = upper - lower
                found |= {i} if room.slope or room.constant < 0 else set()
        return found

    @cached_property
    def largest(self) -> float:
        """The largest absolute value of a number that enters enclosures, in float64."""
        vectors = (self.c, self.lower, self.upper, self.row_lower, self.row_upper, self.penalty)
        sizes = [float(np.max(np.abs(vector.approximation), initial=0.0)) for vector in vectors]
        return max(self.P.largest, self.A.largest, *sizes)

    @cached_property
    def consistent_span(self) -> Span:
        """The set of mu where no hard limits cross and no penalty is negative; no other mu has an optimum."""
        span = Span()
        hard = self.hard_limits
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
        lines = {j: Affine(value, fmpq(0)) for j, value in enumerate(x) if value}
        curvature = Product(self.P, lines, self.inner(lines))
        value = sum(k * mu**power for power, k in enumerate(self.constant))
        value += sum((x[j] * (curvature[j].constant / 2 + self.c[j].at(mu)) for j in lines), fmpq(0))
        # violations of hard rows cost nothing here: whether x is feasible is decided elsewhere
        vector = Vector.of(lines)
        for i, penalty in enumerate(self.penalty):
            if penalty is not None:
                activity = vector.dot(self.A.integer_row(i)).constant
                lower, upper = self.row_lower[i], self.row_upper[i]
                below = fmpq(0) if lower is None else lower.at(mu) - activity
                above = fmpq(0) if upper is None else activity - upper.at(mu)
                value += penalty.at(mu) * max(fmpq(0), below, above)
        return value

    def inner(self, x: Mapping[int, Affine]) -> dict[int, Affine]:
        """Return the nonzero entries of Fᵀx, where P = diagonal + F K Fᵀ."""
        F = self.P.factor
        if F is not None and F.is_dense:
            # one product of matrices: flint chooses the fastest way to multiply many integers
            rows = [F.integers(j) for j in x]
            wide = fmpz_mat(len(x), F.shape[1], list(chain.from_iterable(row for _, row in rows)))
            scaled = [line.scaled(fmpq(1, below)) for (below, _), line in zip(rows, x.values(), strict=True)]
            table = (wide.transpose() * pair_table(scaled)).tolist()
            return {k: Affine(*pair) for k, pair in enumerate(table) if any(pair)}
        total: dict[int, Affine] = {}
        for j, line in x.items():
            for k, factor in self.P.factor_row(j).items():
                total[k] = total.get(k, ZERO) + line.scaled(factor)
        return total


def _coincide(lower: LimitVector, upper: LimitVector) -> Mask:
    pairs = zip(lower, upper, strict=True)
    return np.array([low is not None and low == high for low, high in pairs], dtype=bool)


def read_problem(data: Any, place: str = "problem", is_rounded: bool = False) -> Problem:
    """Return the problem after checking shapes and that P is symmetric and positive semidefinite.

    If `is_rounded`, P may miss this by rounding errors, and says by how much.
    """
    cost = entry(data, "c", place)
    constant = numbers(entry(cost, "constant", f"{place}.c"), None, f"{place}.c.constant")
    slope = numbers(entry(cost, "slope", f"{place}.c"), len(constant), f"{place}.c.slope")
    n = len(constant)
    A = read_matrix(data.get("A", []), (None, n), f"{place}.A")

    def read_limits(key: str, length: int, infinite: str) -> LimitVector:
        if key not in data:
            return LimitVector([None] * length)
        return limits(data[key], length, infinite, f"{place}.{key}")

    return Problem(
        P=read_hessian(entry(data, "P", place), n, f"{place}.P", is_rounded),
        c=LimitVector([Affine(*pair) for pair in zip(constant, slope, strict=True)]),
        A=A,
        lower=read_limits("lower", n, "-inf"),
        upper=read_limits("upper", n, "inf"),
        row_lower=read_limits("row_lower", A.shape[0], "-inf"),
        row_upper=read_limits("row_upper", A.shape[0], "inf"),
        penalty=read_limits("penalty", A.shape[0], "inf"),
        constant=numbers(data.get("constant", [0, 0, 0]), 3, f"{place}.constant"),
    )
