"""Matrices as data: dense or sparse, checked once, in either arithmetic.

A sparse matrix stays one: a `scipy.sparse.csr_array` of int64 or float64 without duplicates or stored zeros.
"""

from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, eye, issparse

from pqp.errors import must_be
from pqp.linalg.field import (
    EXACT_INTEGERS,
    Array,
    as_numbers,
    entry_name,
    exact_array,
    float_array,
    from_flint,
    infinite,
    largest,
    to_flint,
)

# What a user may pass: nested sequences, arrays, scipy.sparse matrices, data frames; `as_matrix` checks it.
MatrixLike: TypeAlias = object
# What is kept of it.
StoredMatrix: TypeAlias = Array | csr_array
# The same inside the library: both have shape, @, .T and row slices, which the union of their types lacks.
MatrixData: TypeAlias = Any


def as_matrix(values: MatrixLike, name: str) -> MatrixData:
    """Return a matrix of finite numbers as a read-only array, or csr_array if it was sparse.

    >>> as_matrix([[1, 2]], "A")
    array([[1, 2]])
    >>> as_matrix(csr_array([[0, np.inf]]), "A")
    Traceback (most recent call last):
    pqp.errors.ProblemError: A[0, 1] must be finite, got inf
    """
    matrix: MatrixData = _as_csr(values, name) if issparse(values) else as_numbers(values, name)
    _require_matrix(matrix, name)
    unbounded = infinite(matrix.data if is_sparse(matrix) else matrix)
    if unbounded.any():
        index = tuple(_positions(matrix, unbounded)[0])
        raise must_be(entry_name(name, index), "finite", str(matrix[index]))
    return matrix


def is_sparse(matrix: MatrixData) -> bool:
    """Return whether a matrix is kept sparse."""
    return bool(issparse(matrix))


def identity(size: int) -> MatrixData:
    """Return the identity, sparse and in integers."""
    return _frozen(csr_array(eye(size, dtype=np.int64, format="csr")))


def float_matrix(matrix: MatrixData) -> MatrixData:
    """Return the same matrix in float64, read-only; rows of a dense one are contiguous."""
    if is_sparse(matrix):
        return _frozen(csr_array(matrix, dtype=float))
    dense = np.ascontiguousarray(float_array(matrix))
    dense.flags.writeable = False
    return dense


def dense_matrix(matrix: MatrixData) -> Array:
    """Return the same matrix as an array."""
    return matrix.toarray() if is_sparse(matrix) else matrix


def exact_matrix(matrix: MatrixData) -> Array:
    """Return the same matrix as an array of Fractions."""
    return exact_array(dense_matrix(matrix))


def exact_times(matrix: MatrixData, vector: Array) -> Array:
    """Return a matrix times a vector in rationals; only entries that are not zero take time.

    >>> exact_times(csr_array([[1.0, 0.5], [0.0, 0.0]]), exact_array([1, 3])).tolist()
    [Fraction(5, 2), Fraction(0, 1)]
    """
    entries = matrix.tocoo() if is_sparse(matrix) else None
    rows, columns = np.nonzero(matrix) if entries is None else (entries.row, entries.col)
    data = matrix[rows, columns] if entries is None else entries.data
    factors = {int(j): to_flint(vector[j]) for j in np.flatnonzero(vector != 0)}
    sums: dict[int, Any] = {}
    for i, j, entry in zip(rows.tolist(), columns.tolist(), data.tolist(), strict=True):
        if j in factors:
            term = to_flint(entry) * factors[j]
            sums[i] = sums[i] + term if i in sums else term
    result = exact_array(np.zeros(matrix.shape[0]))
    for i, total in sums.items():
        result[i] = from_flint(total)
    return result


def given_exactly(matrix: MatrixData) -> bool:
    """Return whether a matrix was given in integers or rationals rather than in floats."""
    return bool(matrix.dtype.kind != "f")


def block_of(P: MatrixData, rows: Array, columns: Array) -> Array:
    """Return a dense part of a matrix."""
    if is_sparse(P):
        return P[rows][:, columns].toarray()
    if 8 * len(columns) < P.shape[1]:
        return P[rows[:, None], columns]  # few entries: whole rows are not worth copying
    return P[rows].take(columns, axis=1)


def diagonal_block(diagonal: Array, rows: Array, columns: Array) -> Array:
    """Return a dense part of a diagonal matrix."""
    return np.where(np.equal.outer(rows, columns), diagonal[columns], 0.0)


def _as_csr(values: Any, name: str) -> MatrixData:
    _require_matrix(values, name)
    given, kind = values.tocoo(), values.dtype.kind
    if kind not in "bif" or (kind == "i" and largest(given.data) > EXACT_INTEGERS):
        return as_numbers(values.toarray(), name)  # long integers become Fractions, which are kept dense
    entries = given.data.astype(float if kind == "f" else np.int64)
    matrix = csr_array((entries, (given.row, given.col)), shape=given.shape)
    matrix.eliminate_zeros()
    if np.isnan(matrix.data).any():
        raise must_be(entry_name(name, _positions(matrix, np.isnan(matrix.data))[0]), "a number", np.nan)
    return _frozen(matrix)


def _require_matrix(values: MatrixData, name: str) -> None:
    if values.ndim != 2:
        raise must_be(name, "a matrix", f"shape {values.shape}")


def _positions(matrix: MatrixData, chosen: Array) -> Array:
    """Return the positions of chosen entries, those of a csr_array in the order it stores them."""
    if not is_sparse(matrix):
        return np.argwhere(chosen)
    coordinates = matrix.tocoo()
    return np.column_stack([coordinates.row[chosen], coordinates.col[chosen]])


def _frozen(matrix: MatrixData) -> MatrixData:
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix
