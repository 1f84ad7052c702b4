r"""Checks of arguments: vectors, tables, queries, pairs, numbers and choices as users pass them.

Every check returns an array or a number that makes sense, or raises a `DataError` with the argument, its
first wrong entry and what was found there.
"""

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, sparray, spmatrix
from sklearn.utils import check_array

from ranking.errors import DataError, must_be, must_have

Array: TypeAlias = NDArray[Any]
Integers: TypeAlias = NDArray[np.int64]
# Rows of numbers, one per item: an array, a table or a sparse matrix.
Rows: TypeAlias = ArrayLike | pd.DataFrame | sparray | spmatrix
# Labels of any kind, one per item.
Labels: TypeAlias = ArrayLike | Sequence[object]
# One hashable value per item, in any container.
Queries: TypeAlias = Sequence[object] | NDArray[Any]

# The largest number up to which float64 holds every whole number.
LARGEST_WHOLE = 2**53
# Entries that should be equal may differ by the rounding of an inner product, relative to the largest.
ASYMMETRY = 1e-12


def numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return a vector of real numbers without NaN; their type is kept, so that large integers stay apart.

    >>> numbers([1, 2**62, 2**62 + 1], "y").dtype.kind
    'i'
    """
    vector = real_array(values, name, "a vector")
    if vector.ndim != 1:
        raise must_be(name, "a vector", found=f"shape {vector.shape}", remedy=f"use {name}.ravel()")
    return vector


def real_array(values: ArrayLike, name: str, wanted: str = "an array") -> NDArray[Any]:
    """Return real numbers without NaN, of any shape and in their own type."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise must_be(name, f"{wanted} of numbers", found="entries of different lengths") from None
    if array.dtype.kind not in "biuf" and array.size:
        raise must_be(name, "real numbers", found=f"dtype {array.dtype}: {values_shown(array.ravel())}")
    for index in np.argwhere(_masked(values, array.shape) | (array != array))[:1]:
        place = ", ".join(map(str, index))
        message = "{argument} is missing (NaN or masked)"
        raise DataError(message, argument=f"{name}[{place}]", remedy="give a value")
    return array


def as_queries(qid: Queries) -> NDArray[Any]:
    """Return queries as an array that can be indexed by rows.

    A list stays as it is, entry by entry: numpy alone would turn 1 and "1" into equal strings.

    >>> as_queries([1, "1"])
    array([1, '1'], dtype=object)
    """
    return np.asarray(qid if hasattr(qid, "dtype") else pd.Series(list(qid), dtype=object))


def query_codes(qid: Queries | None, n: int, name: str = "qid") -> Integers:
    """Return the number of the query of each of n items, counted as they first appear; 0 without queries.

    >>> query_codes(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    return named_queries(qid, n, name)[0]


def named_queries(qid: Queries | None, n: int, name: str = "qid") -> tuple[Integers, "pd.Index[Any]"]:
    """Return the number of the query of each of n items, and what the queries are called.

    >>> list(named_queries(["b", "a", "b"], 3)[1])
    ['b', 'a']
    """
    if qid is None:
        return np.zeros(n, dtype=np.int64), pd.Index([0], name=name)
    try:
        column = as_queries(qid)
        if column.shape != (n,):
            raise must_be(name, f"one value for each of {n} items", found=f"shape {column.shape}")
        # unlike np.unique it keeps the order of appearance, and takes values of several types
        codes, names = pd.factorize(column)
    except TypeError:
        raise must_be(name, "a vector of hashable values", found=f"{qid!r:.80}") from None
    missing = _masked(qid, codes.shape) | (codes < 0)
    if missing.any():
        message = "{argument} is missing"
        raise DataError(message, argument=f"{name}[{missing.argmax()}]", remedy="every item needs one")
    return codes.astype(np.int64), pd.Index(names, name=name).infer_objects()


def whole_number(value: Any, name: str, wanted: str = "a positive integer", least: int = 1) -> int:
    """Return a whole number that is large enough.

    >>> whole_number(np.int64(3), "n_items")
    3
    """
    # True is an Integral, and would pass for 1
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise must_be(name, wanted, found=repr(value))
    return int(value)


def positive_number(value: Any, name: str, can_be_infinite: bool = False) -> float:
    """Return a positive number.

    >>> positive_number(2, "C")
    2.0
    """
    wanted = "a positive number, or inf" if can_be_infinite else "a positive finite number"
    # True is a Real, and would pass for 1
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not value > 0 or (np.isinf(float(value)) and not can_be_infinite):
        raise must_be(name, wanted, found=repr(value))
    return float(value)


def require_choice(value: Any, choices: Iterable[Any], argument: str, or_function: bool = False) -> None:
    """Raise unless a value is one of some choices, or a function where that is allowed.

    >>> require_choice("hinge", ("hinge", "squared_hinge"), "loss")
    """
    known = list(choices)
    if value in known or (or_function and callable(value)):
        return
    wanted = " or ".join(map(repr, known)) if len(known) == 2 else f"one of {', '.join(map(str, known))}"
    raise must_be(argument, "a function or " * or_function + wanted, found=repr(value))


def item_pairs(pairs: Any, n_items: int, name: str = "pairs") -> Integers:
    """Return pairs of item numbers below n_items, one per row, as integers.

    >>> item_pairs([(0, 2), (2, 1)], 3).tolist()
    [[0, 2], [2, 1]]
    """
    try:
        items = np.asarray(pairs)
    except ValueError:
        raise must_be(name, "two items each", found="entries of different lengths") from None
    if not items.size:
        raise DataError("{argument} is empty: at least one is needed", argument=name)
    if items.ndim != 2 or items.shape[1] != 2:
        raise must_have(name, "two columns, the preferred item first", found=f"shape {items.shape}")
    if items.dtype.kind not in "iu":
        raise must_be(name, "integers, numbers of items", found=f"dtype {items.dtype}")
    is_outside = (items < 0) | (items >= n_items)
    for is_wrong, reason in (
        (is_outside.any(axis=1), f"item numbers run from 0 to {n_items - 1}"),
        (items[:, 0] == items[:, 1], "an item cannot be preferred to itself; remove the pair"),
    ):
        for p in np.flatnonzero(is_wrong)[:1]:
            raise DataError(
                "{argument} is {found}: {expected}",
                argument=f"{name}[{p}]",
                found=str(tuple(items[p].tolist())),
                expected=reason,
                row=int(p),
            )
    return items.astype(np.int64)


def one_per_pair(values: Any, m: int, name: str) -> NDArray[np.float64]:
    """Return a finite number for each of m pairs; a single one is taken for all.

    >>> one_per_pair(0.5, 3, "margin").tolist()
    [0.5, 0.5, 0.5]
    """
    vector = numbers(np.full(m, values) if np.ndim(values) == 0 else values, name)
    if len(vector) != m:
        raise must_be(name, f"one number or one for each of {m} pairs", found=len(vector))
    require_finite(vector, name)
    return vector.astype(np.float64)


def require_finite(array: NDArray[Any], name: str) -> None:
    """Raise unless all entries of an array are finite."""
    for index in np.argwhere(~np.isfinite(array))[:1]:
        place, value = ", ".join(map(str, index)), array[tuple(index)]
        raise must_be(f"{name}[{place}]", "finite", found=str(value), remedy="leave out the item")


def listed(values: Queries) -> list[Any]:
    """Return the values as Python objects, so that a message says 3 and not np.int64(3).

    >>> listed(np.array([3, 4]))
    [3, 4]
    """
    return list(values.tolist() if hasattr(values, "tolist") else values)


def values_shown(values: Queries, most: int = 5) -> str:
    """Return the first few values for a message.

    >>> values_shown(["a", "b", "c"], most=2)
    "'a', 'b', ..."
    """
    return ", ".join([repr(value) for value in listed(values)[:most]] + ["..."] * (len(values) > most))


def counted(number: int, word: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "piece"), counted(24365, "piece"), counted(2, "query")
    ('1 piece', '24 365 pieces', '2 queries')
    """
    several = f"{word[:-1]}ies" if word.endswith("ry") else f"{word}s"
    return f"{number:,} {word if number == 1 else several}".replace(",", " ")


def _masked(values: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    # np.asarray drops a mask, and the values under it would count
    is_masked = isinstance(values, np.ma.MaskedArray)
    return np.ma.getmaskarray(values) if is_masked else np.zeros(shape, dtype=bool)


def as_vector(values: Any, name: str, length: int | None = None) -> Array:
    """Return finite real numbers as a float64 vector, of a given length if there is one.

    >>> as_vector([1, 2, 3], "y")
    array([1., 2., 3.])
    """
    vector = _as_float(numbers(values, name), name)
    if length is not None and len(vector) != length:
        raise must_have(name, f"{length} entries", found=len(vector))
    require_finite(vector, name)
    return vector


def as_table(X: Any, name: str) -> Any:
    """Return rows of finite numbers, one row per item, as a dense array or a sparse matrix by rows."""
    try:
        return check_array(X, accept_sparse="csr", dtype=np.float64, input_name=name)
    except (ValueError, TypeError) as error:
        wanted = "a table of finite numbers, one row per item"
        message = "{argument} must be {expected}: {found}"
        raise DataError(message, argument=name, expected=wanted, found=str(error)) from error


def as_dense(rows: Any) -> Array:
    """Return a table as a dense array."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def as_symmetric(K: Any, name: str = "K") -> Array:
    """Return a square matrix whose two halves agree up to rounding, exactly symmetric: (K + Kᵀ)/2."""
    matrix = _as_float(real_array(K, name), name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise must_be(name, "square", found=f"shape {matrix.shape}")
    require_finite(matrix, name)
    difference = np.abs(matrix - matrix.T)
    if difference.size and difference.max() > ASYMMETRY * np.abs(matrix).max():
        i, j = (int(k) for k in np.unravel_index(difference.argmax(), matrix.shape))
        shown = f"{name}[{i}, {j}] = {matrix[i, j]} and {name}[{j}, {i}] = {matrix[j, i]}"
        message = "{argument} must be {expected}, but {found}"
        raise DataError(message, argument=name, expected="symmetric", found=shown)
    # halves first, since a sum might overflow
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
    # a view, so that the array itself stays writable for its owner
    view = values.view()
    view.flags.writeable = False
    return view


def _as_float(array: Array, name: str) -> Array:
    """Return real numbers as float64, without losing any digit."""
    # as a Python integer, since the negative of the least int64 wraps around
    if array.dtype.kind in "iu" and array.size and max(array.max(), -int(array.min())) > LARGEST_WHOLE:
        shown = "whole numbers beyond 2^53"
        raise must_be(name, "exact in float64", found=shown, remedy="subtract an offset")
    return array.astype(np.float64)
