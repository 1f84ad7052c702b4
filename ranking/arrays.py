"""Arrays: vectors, tables and square matrices of numbers as they are handed in, checked entry by entry.

Room: one argument in, its checked array out, or a `DataError`. Knows no model and no metric.
May touch: `errors`, `arguments`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_array

from ranking.arguments import numbers, real_array, require_finite
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
    vector = _as_float(numbers(values, name), name)
    if length is not None and len(vector) != length:
        raise DataError(f"{name} must have {length} entries, got {len(vector)}")
    require_finite(vector, name)
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
    matrix = _as_float(real_array(K, name), name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"{name} must be square, got shape {matrix.shape}")
    require_finite(matrix, name)
    difference = np.abs(matrix - matrix.T)
    if difference.size and difference.max() > ASYMMETRY * np.abs(matrix).max():
        i, j = (int(k) for k in np.unravel_index(difference.argmax(), matrix.shape))
        raise DataError(
            f"{name} must be symmetric, but {name}[{i}, {j}] = {matrix[i, j]} "
            f"and {name}[{j}, {i}] = {matrix[j, i]}"
        )
    return matrix / 2 + matrix.T / 2


def incidence(pairs: Array, n: int) -> csr_array[Any]:
    """Return the sparse m x n matrix D with +1 at i and −1 at j in the row of each pair (i, j).

    >>> incidence(np.array([(2, 0), (1, 0)]), 3).toarray()
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


def _as_float(array: Array, name: str) -> Array:
    """Return real numbers as float64, without losing any digit."""
    if array.dtype.kind in "iu" and array.size and max(array.max(), -int(array.min())) > LARGEST_WHOLE:
        raise DataError(
            f"{name} holds whole numbers beyond 2^53, which float64 rounds; subtract an offset first"
        )
    return array.astype(np.float64)
