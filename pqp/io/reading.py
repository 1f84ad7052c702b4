"""Decoding: parts of a document, each checked, into numbers, arrays and affine data."""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array

from pqp.errors import FileFormatError, ProblemError
from pqp.linalg.field import EXACT_INTEGERS, Array, Number, exact_array, to_flint
from pqp.model.affine import Affine, read_affine, read_number

T = TypeVar("T")
# A message should fit on a screen.
LONGEST_SHOWN = 60
# Larger matrices do not fit into memory; a size beyond this is a slip of the pen.
LARGEST_SIZE = 10**9
NUMBER_REMEDY = 'write 3, 0.1, "7/3", "inf" or "-inf"'


def shown(value: Any) -> str:
    """Return a short text for a value of a file.

    >>> shown({"K": 1}), shown("a"), shown(None), shown(True)
    ('an object', '"a"', 'null', 'true')
    """
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int | float | Fraction):
        return _shortened(str(value) if isinstance(value, float) else str(to_flint(value)))
    if isinstance(value, str):
        return f'"{_shortened(value)}"'
    return "an object" if isinstance(value, dict) else "a list"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def read_object(
    value: Any, place: str, required: Sequence[str], optional: Sequence[str] = ()
) -> Mapping[str, Any]:
    """Return a JSON object after checking its keys: all the required, none but these and the optional."""
    if not isinstance(value, dict):
        raise FileFormatError(f"{place} must be an object {{...}}, got {shown(value)}")
    known = (*required, *optional)
    for key in value:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            remedy = f"did you mean {shown(near[0])}?" if near else f"known keys are {', '.join(known)}"
            raise FileFormatError(f"{place}: the key {shown(key)} is not known; {remedy}")
    for key in required:
        if key not in value:
            raise FileFormatError(f"{place}: the key {shown(key)} is missing; see docs/file-format.md")
    return value


def read_word(value: Any, place: str, known: Sequence[str]) -> str:
    """Return a string after checking that it is one of those known."""
    if not isinstance(value, str) or value not in known:
        raise FileFormatError(f"{place} is {shown(value)}; it must be {' or '.join(map(shown, known))}")
    return value


def read_labels(value: Any, place: str) -> list[str]:
    """Return a list of strings."""
    for i, label in enumerate(read_list(value, place)):
        if not isinstance(label, str):
            raise FileFormatError(f"{place}[{i}] is {shown(label)}; a string is needed")
    return list(value)


def read_list(value: Any, place: str, length: int | None = None) -> Sequence[Any]:
    """Return a JSON list after checking its length."""
    if not isinstance(value, list):
        raise FileFormatError(f"{place} is {shown(value)}; a list [...] is needed")
    if length is not None and len(value) != length:
        raise FileFormatError(f"{place} has {len(value)} entries; {length} are needed")
    return value


def read_scalar(value: Any, place: str) -> Number:
    """Return one number, exactly as written.

    >>> read_scalar("7/3", "lo"), read_scalar(0.1, "lo"), read_scalar("-inf", "lo")
    (Fraction(7, 3), 0.1, -inf)
    """
    if isinstance(value, str):
        return _whole(_understood(read_number, value, place))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FileFormatError(f"{place} is {shown(value)}; a number is needed: {NUMBER_REMEDY}")
    if not math.isfinite(value):
        raise FileFormatError(f"{place} is no float64 number; {NUMBER_REMEDY}")
    return value


def read_vector(value: Any, place: str, length: int | None = None) -> Array:
    """Return a list of numbers as an array, of the given length if there is one."""
    if isinstance(value, np.ndarray):
        return _float_row(value, place, length)
    entries = read_list(value, place, length)
    if set(map(type, entries)) == {float} and all(map(math.isfinite, entries)):
        return np.array(entries)  # long float paths: nothing to complain about, so no places to name
    return packed([read_scalar(entry, f"{place}[{i}]") for i, entry in enumerate(entries)])


def read_matrix(value: Any, place: str, columns: int = 0) -> Any:
    """Return a list of rows as an array, `columns` being its width if it has no rows; or a sparse matrix."""
    if isinstance(value, dict):
        return _read_sparse(read_object(value, place, required=("sparse",))["sparse"], f"{place}.sparse")
    rows = [read_list(row, f"{place}[{i}]") for i, row in enumerate(read_list(value, place))]
    width = len(rows[0]) if rows else columns
    for i, row in enumerate(rows):
        if len(row) != width:
            raise FileFormatError(f"{place} is ragged: row 0 has {width} entries, row {i} has {len(row)}")
    entries = [read_scalar(e, f"{place}[{i}][{j}]") for i, row in enumerate(rows) for j, e in enumerate(row)]
    return packed(entries).reshape(len(rows), width)


def _read_sparse(value: Any, place: str) -> Any:
    """Return the matrix given by its nonzero entries: sparse, or dense if only Fractions hold the entries."""
    keys = ("shape", "row", "column", "value")
    parts = read_object(value, place, required=keys)
    shape = read_vector(parts["shape"], f"{place}.shape", 2)
    values = read_vector(parts["value"], f"{place}.value")
    rows, columns = (read_indices(parts[key], f"{place}.{key}", len(values)) for key in keys[1:3])
    if shape.dtype.kind != "i" or (shape < 0).any() or shape.max() > LARGEST_SIZE:
        raise FileFormatError(f"{place}.shape must be two sizes, got {shown(parts['shape'])}")
    for key, indices, size in zip(keys[1:3], (rows, columns), shape, strict=True):
        if (indices >= size).any():
            raise FileFormatError(f"{place}.{key} must stay below {size}, got {indices.max()}")
    if len(set(zip(rows.tolist(), columns.tolist(), strict=True))) != len(values):
        raise FileFormatError(f"{place} states an entry twice; add them up")
    if values.dtype.kind != "O":
        return csr_array((values, (rows, columns)), shape=tuple(shape.tolist()))
    dense = np.full(shape, Fraction(0), dtype=object)
    dense[rows, columns] = values
    return dense


def read_indices(value: Any, place: str, length: int | None = None) -> Array:
    """Return a list of indices, which are counted from 0."""
    entries = value if isinstance(value, np.ndarray) else read_vector(value, place)
    if length is not None and len(entries) != length:
        raise FileFormatError(f"{place} has {len(entries)} entries; {length} are needed")
    if entries.dtype.kind != "i" or (entries < 0).any():
        raise FileFormatError(f"{place} must hold indices, counted from 0")
    return entries


def read_affine_data(value: Any, place: str) -> Affine:
    """Return affine data in any of the ways a file may state them: one entry for all, a list, or two lists.

    >>> read_affine_data([1, "3 - 2*mu"], "c").slope.tolist()
    [0, -2]
    """
    if isinstance(value, dict):
        parts = read_object(value, place, required=("constant", "slope"))
        constant, slope = (read_vector(parts[key], f"{place}.{key}") for key in ("constant", "slope"))
        if len(constant) != len(slope):
            raise FileFormatError(f"{place}: constant has {len(constant)} entries but slope has {len(slope)}")
        return Affine(constant, slope)
    if isinstance(value, list):
        entries = [_read_affine_entry(entry, f"{place}[{i}]") for i, entry in enumerate(value)]
        return Affine(packed([entry[0] for entry in entries]), packed([entry[1] for entry in entries]))
    single = _read_affine_entry(value, place)
    return Affine(packed(single[:1])[0], packed(single[1:])[0])


def packed(numbers: Sequence[Number]) -> Array:
    """Return numbers as int64, as float64, or as Fractions where only these hold every entry exactly.

    >>> packed([1, 2]).dtype.kind, packed([1, 0.5]).dtype.kind, packed([1, math.inf]).dtype.kind
    ('i', 'f', 'O')
    """
    floats = [number for number in numbers if isinstance(number, float)]
    integers = [number for number in numbers if isinstance(number, int) and abs(number) <= EXACT_INTEGERS]
    if len(integers) == len(numbers):
        return np.array(numbers, dtype=np.int64)
    has_decimals = len(floats) == len(numbers) or any(map(math.isfinite, floats))
    if len(integers) + len(floats) == len(numbers) and has_decimals:
        return np.array(numbers, dtype=float)
    return exact_array(np.array(numbers, dtype=object))


def _read_affine_entry(value: Any, place: str) -> tuple[Number, Number]:
    if not isinstance(value, str):
        return read_scalar(value, place), 0
    constant, slope = _understood(read_affine, value, place)
    return _whole(constant), _whole(slope)


def _understood(read: Callable[[str], T], text: str, place: str) -> T:
    try:
        return read(text)
    except ProblemError as error:
        raise FileFormatError(f"{place}: {error}") from None


def _whole(number: Number) -> Number:
    """Return the number, as an int if it is a rational without denominator."""
    return number.numerator if isinstance(number, Fraction) and number.denominator == 1 else number


def _float_row(values: Array, place: str, length: int | None) -> Array:
    """Return a row of a packed block after checking it."""
    if values.dtype.kind != "f" or values.shape != (length,) or not np.isfinite(values).all():
        raise FileFormatError(f"{place} must hold {length} finite float64 numbers, got shape {values.shape}")
    return values.astype(float)
