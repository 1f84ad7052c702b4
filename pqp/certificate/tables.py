"""Tables: exact matrices by their nonzero entries, with float64 copies for enclosures.

Room: matrices of a document in; rows and columns in rationals, and float64 products, out.
May touch: `errors`, python-flint, numpy, `certificate.reading`.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpz

from pqp.certificate.reading import approximate, entry, index, items, number, shown
from pqp.errors import CertificateError

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]
Sparse: TypeAlias = dict[int, fmpq]
# Integers up to this size are float64 numbers.
EXACT_INTEGERS = 2**53
NOTHING = fmpz(0)
# A table with more nonzero entries than this share is multiplied as a dense one: a quarter is where it pays.
DENSE_SHARE = 0.25


class Table:
    """A matrix by its nonzero entries, row by row; `values` are float64 at face value, or rationals."""

    def __init__(self, shape: tuple[int, int], rows: Indices, columns: Indices, values: Any) -> None:
        order = np.lexsort((columns, rows))
        self.shape, self._rows, self._columns = shape, rows[order], columns[order]
        self._values = values[order] if isinstance(values, np.ndarray) else [values[k] for k in order]
        self._by_column = np.lexsort((self._rows, self._columns))
        self._row_starts = np.searchsorted(self._rows, np.arange(shape[0] + 1))
        self._column_starts = np.searchsorted(self._columns[self._by_column], np.arange(shape[1] + 1))
        self._kept: dict[tuple[str, int], Any] = {}

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
            places = self._by_column[self._column_starts[j] : self._column_starts[j + 1]].tolist()
            self._kept["column", j] = {int(self._rows[k]): self._exact(k) for k in places}
        return self._kept["column", j]

    def integer_row(self, i: int) -> tuple[fmpz, dict[int, fmpz]]:
        """Return a common denominator of a row, and its entries times that."""
        if ("integer", i) not in self._kept:
            row = self.row(i)
            below = fmpz(1)
            for value in row.values():
                below = below.lcm(value.q)
            self._kept["integer", i] = below, {j: value.p * (below // value.q) for j, value in row.items()}
        return self._kept["integer", i]

    def integers(self, i: int) -> tuple[fmpz, list[fmpz]]:
        """Return the same with the entries that are zero."""
        if ("integers", i) not in self._kept:
            below, row = self.integer_row(i)
            self._kept["integers", i] = below, [row.get(j, NOTHING) for j in range(self.shape[1])]
        return self._kept["integers", i]

    def _exact(self, k: int) -> fmpq:
        value = self._values[k]
        return value if isinstance(value, fmpq) else fmpq(*float(value).as_integer_ratio())

    @property
    def denominators(self) -> list[fmpz]:
        """The denominators of entries that are not float64 numbers, whose denominators are powers of two."""
        return [] if isinstance(self._values, np.ndarray) else [value.q for value in self._values]

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

    @cached_property
    def _sizes(self) -> "Table":
        return Table(self.shape, self._rows, self._columns, np.abs(self.approximation))

    def times(self, block: Floats) -> Floats:
        """Return the product with some columns in float64."""
        if self._dense is not None:
            return (block.T @ self._dense[1]).T
        return _scattered(self._rows, self._columns, self.approximation, block, self.shape[0])

    def transposed_times(self, block: Floats) -> Floats:
        """Return the product of the transpose with some columns in float64."""
        if self._dense is not None:
            return (block.T @ self._dense[0]).T
        return _scattered(self._columns, self._rows, self.approximation, block, self.shape[1])

    def sizes(self) -> "Table":
        """Return the absolute values of the entries, as they are in float64."""
        return self._sizes


def _scattered(into: Indices, source: Indices, values: Floats, block: Floats, size: int) -> Floats:
    sums = [np.bincount(into, values * column[source], size) for column in block.T]
    return np.array(sums).reshape(len(sums), size).T


def read_table(value: Any, shape: tuple[int | None, int | None], place: str) -> Table:
    """Return a matrix given by its rows or as {"sparse": ...}; None in `shape` leaves that size open."""
    if isinstance(value, Mapping):
        return _read_sparse(entry(value, "sparse", place), shape, f"{place}.sparse")
    rows = items(value, shape[0], place)
    width = shape[1] if shape[1] is not None else len(items(rows[0], None, f"{place}[0]")) if rows else 0
    listed = [items(row, width, f"{place}[{i}]") for i, row in enumerate(rows)]
    found = _exact_floats(list(chain.from_iterable(listed)))
    if found is not None:
        dense = found.reshape(len(rows), width)
        r, c = np.nonzero(dense)
        return Table(dense.shape, r, c, dense[r, c])
    entries = [
        (i, j, exact)
        for i, row in enumerate(listed)
        for j, v in enumerate(row)
        if (exact := number(v, f"{place}[{i}][{j}]"))
    ]
    return _table(entries, (len(rows), width))


def diagonal_table(values: Sequence[fmpq]) -> Table:
    """Return the diagonal matrix of some numbers."""
    return _table([(j, j, value) for j, value in enumerate(values) if value], (len(values), len(values)))


def _table(entries: Sequence[tuple[int, int, fmpq]], shape: tuple[int, int]) -> Table:
    rows, columns = (np.array([e[k] for e in entries], dtype=np.int64) for k in (0, 1))
    return Table(shape, rows, columns, [value for _, _, value in entries])


def _exact_floats(values: list[Any]) -> Floats | None:
    """Return numbers as float64 if that changes none of them."""
    if not set(map(type, values)) <= {int, float}:
        return None
    try:
        found = np.array(values, dtype=np.float64)
    except OverflowError:
        return None
    is_exact = {type(v) for v in values} <= {float} or bool((np.abs(found) <= EXACT_INTEGERS).all())
    return found if is_exact and bool(np.isfinite(found).all()) else None


def _read_sparse(value: Any, shape: tuple[int | None, int | None], place: str) -> Table:
    sizes = items(entry(value, "shape", place), 2, f"{place}.shape")
    for size, wanted in zip(sizes, shape, strict=True):
        is_size = isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= EXACT_INTEGERS
        if not is_size or (wanted is not None and size != wanted):
            found = f"{shown(sizes[0], 'null')} x {shown(sizes[1], 'null')}"
            raise CertificateError(f"{place}.shape must fit the problem, got {found}")
    values = items(entry(value, "value", place), None, f"{place}.value")
    places = []
    for key, size in (("row", sizes[0]), ("column", sizes[1])):
        listed = items(entry(value, key, place), len(values), f"{place}.{key}")
        places.append([index(v, size, f"{place}.{key}[{k}]") for k, v in enumerate(listed)])
    if len(set(zip(*places, strict=True))) != len(values):
        raise CertificateError(f"{place} must state every entry only once")
    exact = [number(v, f"{place}.value[{k}]") for k, v in enumerate(values)]
    return _table([(i, j, v) for i, j, v in zip(*places, exact, strict=True) if v], (sizes[0], sizes[1]))
