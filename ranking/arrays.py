"""Arrays: vectors, tables, square matrices and lists of pairs as they are handed in, checked entry by entry.

Room: one argument in, its checked array out, or a `DataError`. Knows no model and no metric.
May touch: `errors`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_array

from ranking.errors import DataError

Array = NDArray[Any]

# The largest number up to which float64 holds every whole number.
LARGEST_WHOLE = 2**53
# Entries that should be equal may differ by the rounding of an inner product, relative to the largest.
ASYMMETRY = 1e-12


def as_vector(values: Any, name: str, length: int | None = None) -> Array:
    """Return finite real numbers as a float64 vector, of a given length if there is one.

    >>> as_vector([1, 2, 3], "y")
    array([1., 2., 3.])
    """
    vector = _as_real(values, name)
    if vector.ndim != 1:
        raise DataError(f"{name} must have one dimension, got shape {vector.shape}; pass one number an item")
    if length is not None and len(vector) != length:
        raise DataError(f"{name} must have {length} entries, got {len(vector)}")
    _require_finite(vector, name)
    return vector


def as_table(X: Any, name: str) -> Any:
    """Return rows of finite numbers, one row an item, as a dense array or a sparse matrix by rows."""
    try:
        return check_array(X, accept_sparse="csr", dtype=np.float64, input_name=name)
    except (ValueError, TypeError) as error:
        raise DataError(f"{name} must be a table of finite numbers, one row an item: {error}") from error


def as_dense(rows: Any) -> Array:
    """Return a table as a dense array."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def as_symmetric(K: Any, name: str = "K") -> Array:
    """Return a square matrix whose two halves agree up to rounding, exactly symmetric: (K + Kᵀ)/2."""
    matrix = _as_real(K, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"{name} must be square, got shape {matrix.shape}")
    _require_finite(matrix, name)
    difference = np.abs(matrix - matrix.T)
    if difference.size and difference.max() > ASYMMETRY * np.abs(matrix).max():
        i, j = (int(k) for k in np.unravel_index(difference.argmax(), matrix.shape))
        raise DataError(
            f"{name} must be symmetric, but {name}[{i}, {j}] = {matrix[i, j]} "
            f"and {name}[{j}, {i}] = {matrix[j, i]}"
        )
    return matrix / 2 + matrix.T / 2


def as_pairs(pairs: Any, n: int, name: str = "pairs") -> Array:
    """Return pairs (i, j) of different items among n, i the preferred one, as an m x 2 array of indices.

    >>> as_pairs([(2, 0), (1, 0)], 3)
    array([[2, 0],
           [1, 0]])
    """
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
        raise DataError(f"{name} must have at least one row and 2 columns, got shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise DataError(f"{name} must hold whole numbers, the positions of items, got dtype {array.dtype}")
    for p, column in np.argwhere((array < 0) | (array >= n))[:1]:
        raise DataError(
            f"{name}[{p}] names item {array[p, column]}, but items are numbered from 0 to {n - 1}"
        )
    for p in np.flatnonzero(array[:, 0] == array[:, 1])[:1]:
        raise DataError(f"{name}[{p}] prefers item {array[p, 0]} to itself; a pair joins two different items")
    return array.astype(np.intp)


def incidence(pairs: Array, n: int) -> csr_array[Any]:
    """Return the sparse m x n matrix D with +1 at i and −1 at j in the row of each pair (i, j).

    >>> incidence(as_pairs([(2, 0), (1, 0)], 3), 3).toarray()
    array([[-1.,  0.,  1.],
           [-1.,  1.,  0.]])
    """
    m = len(pairs)
    signs = np.tile([1.0, -1.0], m)
    return csr_array((signs, (np.repeat(np.arange(m), 2), pairs.ravel())), shape=(m, n))


def read_only(values: Array) -> Array:
    """Return a view of an array that cannot be written to."""
    view = values.view()
    view.flags.writeable = False
    return view


def _as_real(values: Any, name: str) -> Array:
    """Return real numbers as float64, without losing any digit or mask."""
    if np.ma.is_masked(values):
        raise DataError(f"{name} has masked entries; leave these items out")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{name} must be an array of numbers: {error}") from error
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"{name} must hold real numbers, got dtype {array.dtype}; convert them to float first"
        )
    if array.dtype.kind in "iu" and array.size and max(array.max(), -int(array.min())) > LARGEST_WHOLE:
        raise DataError(
            f"{name} holds whole numbers beyond 2^53, which float64 rounds; subtract an offset first"
        )
    return array.astype(np.float64)


def _require_finite(array: Array, name: str) -> None:
    for index in np.argwhere(~np.isfinite(array))[:1]:
        place = ", ".join(str(k) for k in index)
        raise DataError(
            f"{name}[{place}] is {array[tuple(index)]}: it must be finite; correct or leave out the item"
        )
