"""The Hessian of a document, exact and proved convex, by its entries or by its factors.

Room: the P of a problem in, its entries and products, exact and enclosed, out.
May touch: `errors`, python-flint, numpy, `certificate.reading`, `certificate.lines`, `certificate.tables`,
`certificate.convexity`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from flint import fmpq, fmpz_mat

from pqp.certificate.convexity import require_convex
from pqp.certificate.lines import ZERO, Line, Vector
from pqp.certificate.reading import approximate, entry, index, items, numbers, shown
from pqp.certificate.tables import Floats, Sparse, Table, diagonal_table, read_table
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
