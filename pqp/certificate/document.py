"""Reading a document for the checker: JSON values in, rationals out."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from flint import arb, fmpq, fmpz

from pqp.errors import CertificateError

# Beyond this many bits a rational is shown as a decimal: a message should fit on a screen.
LONGEST_SHOWN = 64
RATIONAL = re.compile(r"(-?[0-9]+)(?:/([0-9]+))?")
End = fmpq | None  # None: no end on that side
T = TypeVar("T")


def shown(value: Any, infinite: str = "inf") -> str:
    """Return a short text for a message: rationals in full if short, other JSON values by type or start.

    >>> shown(fmpq(7, 3)), shown(None, "-inf"), shown(fmpq(1, 3) ** 60), shown([1, 2])
    ('7/3', '-inf', '~2.35898e-29', 'a list')
    """
    if value is None:
        return infinite
    if isinstance(value, fmpq):
        is_long = value.p.bit_length() + value.q.bit_length() > LONGEST_SHOWN
        return "~" + arb(value).str(6, radius=False) if is_long else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return shown(fmpq(value))
    if isinstance(value, str | float | bool):
        return repr(value)[:LONGEST_SHOWN]
    return f"a {type(value).__name__}"


def number(value: Any, place: str) -> fmpq:
    """Return the rational that a JSON number, or a string such as "7/3", stands for.

    >>> number(0.1, "c[0]"), number("-7/3", "c[1]")
    (3602879701896397/36028797018963968, -7/3)
    """
    # at face value: the checker proves the problem that the file states, not the one that was meant
    if isinstance(value, float) and math.isfinite(value):
        return fmpq(*value.as_integer_ratio())
    if isinstance(value, int) and not isinstance(value, bool):
        return fmpq(value)
    if isinstance(value, str) and (parts := RATIONAL.fullmatch(value)) and (below := fmpz(parts[2] or "1")):
        return fmpq(fmpz(parts[1]), below)
    expected = 'a finite number or a string such as "7/3"'
    raise CertificateError(argument=place, expected=expected, found=shown(value, "null"))


def end(value: Any, infinite: str, place: str) -> End:
    """Return an end of an interval, None if it is the string `infinite`."""
    return None if isinstance(value, str) and value == infinite else number(value, place)


def one_of(known: Sequence[T], value: Any, place: str) -> T:
    """Return the value after checking that it is one of those known."""
    for candidate in known:
        # True == 1 in Python, but a document that says true for a version is not one of ours
        if type(value) is type(candidate) and value == candidate:
            return candidate
    expected = f"one of {', '.join(map(str, known))}"
    raise CertificateError(argument=place, expected=expected, found=shown(value, "null"))


def entry(mapping: Any, key: str, place: str) -> Any:
    """Return `mapping[key]` of a JSON object."""
    # asking for the type first spares most calls a slow look at abstract classes
    if type(mapping) is not dict and not isinstance(mapping, Mapping):
        raise CertificateError(argument=place, expected="an object", found=shown(mapping, "null"))
    if key not in mapping:
        raise CertificateError("{argument} must have the key {expected}", argument=place, expected=repr(key))
    return mapping[key]


def items(value: Any, length: int | None, place: str) -> Sequence[Any]:
    """Return a JSON list after checking its length."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if type(value) is not list and (not isinstance(value, Sequence) or isinstance(value, str | bytes)):
        raise CertificateError(argument=place, expected="a list", found=shown(value, "null"))
    if length is not None and len(value) != length:
        raise CertificateError(argument=place, expected=f"a list of {length} entries", found=len(value))
    return value


def numbers(value: Any, length: int | None, place: str) -> list[fmpq]:
    """Return a list of rationals."""
    return [number(v, f"{place}[{i}]") for i, v in enumerate(items(value, length, place))]


def weights(value: Any, allowed: Sequence[object], place: str) -> list[fmpq]:
    """Return nonnegative numbers, which must be 0 where `allowed` has None."""
    found = numbers(value, len(allowed), place)
    for i, (weight, permission) in enumerate(zip(found, allowed, strict=True)):
        if weight < 0 or (weight and permission is None):
            wanted = "0 here" if permission is None else "nonnegative"
            raise CertificateError(argument=f"{place}[{i}]", expected=wanted, found=shown(weight))
    return found


def index(value: Any, size: int, place: str) -> int:
    """Return an index after checking that it is below `size`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < size:
        raise CertificateError(argument=place, expected=f"an index below {size}", found=shown(value, "null"))
    return value


def approximate(value: fmpq) -> float:
    """Return the nearest float64 number, infinite beyond its range."""
    try:
        # Python's division of integers is correctly rounded, however long they are
        return int(value.p) / int(value.q)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
