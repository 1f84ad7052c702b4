"""Readers: values of a JSON document, each checked, as numbers, arrays, affine data and objects.

A reader takes a value and its place in the document ("segments[1].x0") and returns what the value stands for,
or raises `FileFormatError`. An object is read by a table of keys and their readers.
"""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from pqp.errors import FileFormatError, ProblemError
from pqp.linalg.field import Array, Field, Number, as_numbers, exact_array, to_flint
from pqp.model.affine import Affine, read_affine, read_number

Reader = Callable[[Any, str], Any]
Schema = Mapping[str, Reader]
# Longer texts are cut in messages, which should fit on a screen.
LONGEST_SHOWN = 60
# Larger matrices do not fit into memory; a size beyond this is a typing error.
LARGEST_SIZE = 10**9


def shown(value: Any) -> str:
    """Return a short text for a value of a file.

    >>> shown({"K": 1}), shown("a"), shown(None), shown(True)
    ('an object', '"a"', 'null', 'true')
    """
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if not isinstance(value, str | int | float | Fraction):
        return "an object" if isinstance(value, dict) else "a list"
    text = str(value if isinstance(value, str | float) else to_flint(value))
    text = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
    return f'"{text}"' if isinstance(value, str) else text


def misread(place: str, expected: str, value: Any, remedy: str | None = None) -> FileFormatError:
    """Return the error for a value that is not what a reader expects."""
    return FileFormatError(argument=place, expected=expected, found=shown(value), remedy=remedy)


def read_object(value: Any, place: str, required: Schema, optional: Schema | None = None) -> dict[str, Any]:
    """Return a JSON object with every value read by the reader of its key.

    All required keys must be there, and none but these and the optional ones. The place of the whole
    document is "".

    >>> read_object({"lo": "7/3"}, "", {"lo": read_scalar}, {"hi": read_scalar})
    {'lo': Fraction(7, 3)}
    """
    if not isinstance(value, dict):
        raise misread(place, "an object {...}", value)
    readers = {**required, **(optional or {})}
    prefix = "{argument}: " if place else ""
    for key in value:
        if key not in readers:
            near = difflib.get_close_matches(key, readers, n=1)
            remedy = f"did you mean {shown(near[0])}?" if near else f"known keys are {', '.join(readers)}"
            message = prefix + "the key {found} is not known"
            raise FileFormatError(message, argument=place, found=shown(key), remedy=remedy)
    for key in required:
        if key not in value:
            message, remedy = prefix + "the key {expected} is missing", "see docs/file-format.md"
            raise FileFormatError(message, argument=place, expected=shown(key), remedy=remedy)
    dot = f"{place}." if place else ""
    return {key: read(value[key], dot + key) for key, read in readers.items() if key in value}


def unread(value: Any, place: str) -> Any:
    """Return the value as it is: it is read later, when more is known."""
    return value


def read_string(value: Any, place: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise misread(place, "a string", value)
    return value


def one_of(known: Sequence[str]) -> Reader:
    """Return a reader of strings that must be among those known."""

    def read(value: Any, place: str) -> str:
        if not isinstance(value, str) or value not in known:
            raise misread(place, " or ".join(map(shown, known)), value)
        return value

    return read


def read_list(value: Any, place: str, length: int | None = None) -> Sequence[Any]:
    """Return a JSON list after checking its length."""
    if not isinstance(value, list):
        raise misread(place, "a list [...]", value)
    require_length(value, place, length)
    return value


def require_length(entries: Sequence[Any] | Array, place: str, length: int | None) -> None:
    """Raise unless there are as many entries as needed; None leaves that open."""
    if length is not None and len(entries) != length:
        message = "{argument} must have {expected} entries, got {found}"
        raise FileFormatError(message, argument=place, expected=str(length), found=len(entries))


def list_of(read: Reader, length: int | None = None) -> Reader:
    """Return a reader of lists whose entries have one reader."""
    return lambda value, place: [
        read(entry, f"{place}[{i}]") for i, entry in enumerate(read_list(value, place, length))
    ]


def read_scalar(value: Any, place: str) -> Number:
    """Return one number, exactly as written.

    >>> read_scalar("7/3", "lo"), read_scalar(0.1, "lo"), read_scalar("-inf", "lo")
    (Fraction(7, 3), 0.1, -inf)
    """
    if isinstance(value, str):
        try:
            return _whole(read_number(value))
        except ProblemError as error:
            raise as_file_error(error, place) from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise misread(place, "a finite float64 number", value, 'write 3, 0.1, "7/3", "inf" or "-inf"')
    return value


def as_file_error(error: ProblemError, place: str) -> FileFormatError:
    """Return what is wrong with data as what is wrong with the place of a file that states them."""
    return FileFormatError("{argument}: {found}" if place else "{found}", argument=place, found=str(error))


def read_vector(value: Any, place: str, length: int | None = None) -> Array:
    """Return a list of numbers as an array, of the given length if there is one."""
    if isinstance(value, np.ndarray):  # a row of an npz block
        if value.dtype.kind != "f" or value.shape != (length,) or not np.isfinite(value).all():
            message = "{argument} must hold {expected} finite float64 numbers, got shape {found}"
            raise FileFormatError(message, argument=place, expected=str(length), found=str(value.shape))
        return value.astype(float)
    entries = read_list(value, place, length)
    if set(map(type, entries)) == {float} and all(map(math.isfinite, entries)):
        return np.array(entries)  # long float paths: nothing to complain about, so no places to name
    return packed([read_scalar(entry, f"{place}[{i}]") for i, entry in enumerate(entries)])


def vector(length: int, field: Field) -> Reader:
    """Return a reader of vectors of one length in one arithmetic."""
    return lambda value, place: field.array(read_vector(value, place, length))


def read_matrix(value: Any, place: str, columns: int = 0) -> Any:
    """Return a list of rows as an array, `columns` being its width if it has no rows; or a sparse matrix."""
    if isinstance(value, dict):
        return read_object(value, place, {"sparse": _read_sparse})["sparse"]
    rows = list_of(read_list)(value, place)
    width = len(rows[0]) if rows else columns
    for i, row in enumerate(rows):
        if len(row) != width:
            message = "{argument} is ragged: row 0 has {expected} entries, row {row} has {found}"
            raise FileFormatError(message, argument=place, expected=str(width), found=len(row), row=i)
    entries = [read_scalar(e, f"{place}[{i}][{j}]") for i, row in enumerate(rows) for j, e in enumerate(row)]
    return packed(entries).reshape(len(rows), width)


def _read_sparse(value: Any, place: str) -> Any:
    """Return the matrix given by its nonzero entries: sparse, or dense if only Fractions hold the entries."""
    schema = {"shape": read_vector, "row": read_indices, "column": read_indices, "value": read_vector}
    shape, rows, columns, values = read_object(value, place, schema).values()
    if shape.shape != (2,) or shape.dtype.kind != "i" or (shape < 0).any() or shape.max() > LARGEST_SIZE:
        raise FileFormatError(argument=f"{place}.shape", expected="two sizes", found=str(shape.tolist()))
    for key, indices, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
        require_length(indices, f"{place}.{key}", len(values))
        if (indices >= size).any():
            raise FileFormatError(argument=f"{place}.{key}", expected=f"below {size}", found=indices.max())
    if len(set(zip(rows.tolist(), columns.tolist(), strict=True))) != len(values):
        raise FileFormatError("{argument} states an entry twice", argument=place, remedy="add them up")
    # scipy's sparse matrices hold no Fractions
    if values.dtype.kind != "O":
        return csr_array((values, (rows, columns)), shape=tuple(shape.tolist()))
    dense = np.full(shape, Fraction(0), dtype=object)
    dense[rows, columns] = values
    return dense


def read_indices(value: Any, place: str) -> Array:
    """Return a list of indices, which are counted from 0."""
    entries = value if isinstance(value, np.ndarray) else read_vector(value, place)
    if entries.dtype.kind != "i" or (entries < 0).any():
        raise FileFormatError("{argument} must hold indices, counted from 0", argument=place)
    return entries


def read_affine_data(value: Any, place: str) -> Affine:
    """Return affine data in any of the ways a file may state them: one entry for all, a list, or two lists.

    >>> read_affine_data([1, "3 - 2*mu"], "c").slope.tolist()
    [0, -2]
    """
    if isinstance(value, dict):
        parts = read_object(value, place, {"constant": read_vector, "slope": read_vector})
        require_length(parts["slope"], f"{place}.slope", len(parts["constant"]))
        return Affine(parts["constant"], parts["slope"])
    is_list = isinstance(value, list)
    entries = list_of(_read_affine_entry)(value, place) if is_list else [_read_affine_entry(value, place)]
    data = Affine(*(packed([entry[part] for entry in entries]) for part in (0, 1)))
    return data if is_list else data[0]


def _read_affine_entry(value: Any, place: str) -> tuple[Number, Number]:
    if not isinstance(value, str):
        return read_scalar(value, place), 0
    try:
        constant, slope = read_affine(value)
    except ProblemError as error:
        raise as_file_error(error, place) from None
    return _whole(constant), _whole(slope)


def packed(numbers: Sequence[Number]) -> Array:
    """Return numbers as int64, as float64, or as Fractions where only these hold every entry exactly.

    >>> packed([1, 2]).dtype.kind, packed([1, 0.5]).dtype.kind, packed([1, math.inf]).dtype.kind
    ('i', 'f', 'O')
    """
    floats = [number for number in numbers if isinstance(number, float)]
    if not numbers:
        return np.zeros(0, dtype=np.int64)
    if any(map(math.isfinite, floats)) or len(floats) in (0, len(numbers)):
        return as_numbers(numbers, "the data")
    # an infinity among integers must not round them
    return exact_array(np.array(numbers, dtype=object))


def _whole(number: Number) -> Number:
    """Return the number, as an int if it is a rational without denominator."""
    return number.numerator if isinstance(number, Fraction) and number.denominator == 1 else number
