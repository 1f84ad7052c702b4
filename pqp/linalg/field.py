"""The two arithmetics, float64 and exact rationals: how each stores, converts, compares and shows numbers."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import arb, fmpq, fmpq_mat

from pqp.errors import EXACT_REMEDY, ProblemError, must_be
from pqp.linalg.tolerances import ZERO

Number: TypeAlias = int | float | Fraction
Array: TypeAlias = npt.NDArray[Any]
Arithmetic: TypeAlias = Literal["float", "exact"]

# Integers up to this size are float64 numbers.
EXACT_INTEGERS = 2.0**53
# Rationals of more bits are shown as decimals: a message should fit on a screen.
LONGEST_SHOWN = 64


@dataclass(frozen=True)
class Field:
    """One arithmetic: how it stores arrays, and which numbers it takes for zero."""

    name: Arithmetic
    array: Callable[[Any], Array]
    number: Callable[[Any], Number]
    zero: float

    def sign(self, value: Number, scale: float = 1.0) -> int:
        """Return -1, 0 or 1; floats within `zero` times the scale count as 0.

        >>> FLOAT.sign(1e-12), RATIONAL.sign(Fraction(1, 10**12))
        (0, 1)
        """
        if self.zero and -self.zero * scale <= value <= self.zero * scale:
            return 0
        return int(value > 0) - int(value < 0)

    def signs(self, values: Array, scales: Any = 1.0) -> Array:
        """Return the sign of every number of an array, which may be infinite; see `sign`.

        >>> FLOAT.signs(np.array([1e-12, -1.0, np.inf])).tolist()
        [0, -1, 1]
        """
        found = np.sign(values).astype(np.int8)
        return np.where(np.abs(values) <= self.zero * scales, 0, found) if self.zero else found


def exact(value: Any) -> Fraction | float:
    """Return the number at face value as a Fraction; infinities stay floats.

    >>> exact(0.5), exact("1/3")
    Traceback (most recent call last):
    TypeError: '1/3' is not a number
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return value
    if isinstance(value, int | float | Decimal):
        return Fraction(value)
    return _exact_sympy(value)


def is_formula(value: Any) -> bool:
    """Return whether a value is a sympy object; if it is one, sympy, slow to import, is loaded already."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)


def _exact_sympy(value: Any) -> Fraction | float:
    if not is_formula(value):
        raise TypeError(f"{value!r} is not a number")
    import sympy

    if isinstance(value, sympy.Rational):
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, sympy.Float) or value in (sympy.oo, -sympy.oo):
        return exact(float(value))
    if isinstance(value, sympy.Expr) and value.is_number:
        raise TypeError(f"{value} is not rational; give its float value, e.g. float({value})")
    raise TypeError(f"{value!r} is not a number")


def fraction(value: Any) -> Fraction:
    """Return a finite number at face value as a Fraction.

    >>> fraction(0.25)
    Fraction(1, 4)
    """
    number = exact(value)
    if isinstance(number, float):
        raise TypeError(f"{number} is not finite")
    return number


def to_flint(value: Any) -> Any:
    """Return a finite number as a flint rational."""
    number = fraction(value)
    return fmpq(number.numerator, number.denominator)


def from_flint(value: Any) -> Fraction:
    """Return a flint rational as a Fraction.

    >>> from_flint(to_flint(0.25))
    Fraction(1, 4)
    """
    return Fraction(int(value.p), int(value.q))


def to_flint_matrix(matrix: Array) -> Any:
    """Return a matrix of finite numbers as a flint matrix of rationals."""
    rows, columns = matrix.shape
    zero = fmpq(0)
    return fmpq_mat(rows, columns, [to_flint(entry) if entry else zero for entry in matrix.flat])


def from_flint_matrix(matrix: Any) -> Array:
    """Return a flint matrix as an array of Fractions."""
    entries = exact_array([from_flint(entry) for entry in matrix.entries()])
    return entries.reshape(matrix.nrows(), matrix.ncols())


def exact_product(left: Array, right: Array) -> Array:
    """Return a matrix product in rationals, by flint: thirty times faster than Fraction by Fraction."""
    return from_flint_matrix(to_flint_matrix(left) * to_flint_matrix(right))


def exact_array(values: Any) -> Array:
    """Return the same array with Fractions for entries (infinities stay floats).

    >>> exact_array([1, 0.5])
    array([Fraction(1, 1), Fraction(1, 2)], dtype=object)
    """
    source = np.asarray(values)
    # Most entries of large matrices are zero, and one Fraction serves all of them.
    result = np.full(source.size, Fraction(0), dtype=object)
    flat = source.reshape(-1)
    is_number = source.dtype.kind in "fiu"
    for k in np.flatnonzero(flat).tolist() if is_number else range(source.size):
        result[k] = exact(flat[k])
    return result.reshape(source.shape)


def float_array(values: Any) -> Array:
    """Return the same array in float64."""
    try:
        return np.asarray(values, dtype=float)
    except OverflowError:
        raise ProblemError("a number is too large for float64", **EXACT_REMEDY) from None


def float_number(value: Any) -> float:
    """Return the number in float64."""
    return float(float_array(value)) + 0.0  # no -0.0


FLOAT = Field("float", float_array, float_number, ZERO)
RATIONAL = Field("exact", exact_array, exact, 0.0)
FIELDS: dict[str, Field] = {"float": FLOAT, "exact": RATIONAL}


def is_infinite(number: Any) -> bool:
    """Return whether a number is infinite; rationals beyond the range of float64 are not."""
    return isinstance(number, float) and math.isinf(number)


def infinite(values: Array) -> Array:
    """Return which entries of an array are infinite."""
    if values.dtype.kind == "f":
        return np.isinf(values)
    if values.dtype.kind == "i":
        return np.zeros(values.shape, dtype=bool)
    return np.array([is_infinite(entry) for entry in values.flat], dtype=bool).reshape(values.shape)


def largest(numbers: Array) -> float:
    """Return the size of the largest number of an array, 0 if it is empty."""
    return float(np.max(np.abs(numbers.astype(float)), initial=0.0))


def as_numbers(values: object, name: str) -> Array:
    """Return a read-only array of int64, float64 or Fractions, or raise with the entry that is not a number.

    >>> as_numbers([1, 2], "c").dtype.kind, as_numbers([1, 0.5], "c").dtype.kind
    ('i', 'f')
    >>> as_numbers([1, float("nan")], "c")
    Traceback (most recent call last):
    pqp.errors.ProblemError: c[1] must be a number, got nan
    """
    array = _as_array(values, name)
    kind = array.dtype.kind
    if kind not in "fibuO":
        words = {"c": "complex numbers", "U": "strings", "S": "bytes", "M": "dates"}
        raise must_be(name, "made of real numbers", words.get(kind, str(array.dtype)))
    if kind == "f":
        array = array.astype(float)
    elif kind in "ib" and largest(array) <= EXACT_INTEGERS:
        array = array.astype(np.int64)
    else:
        array = _fractions(array, name)
    for index in np.argwhere(array != array)[:1]:  # only nan differs from itself
        raise must_be(entry_name(name, index), "a number", math.nan)
    array.flags.writeable = False
    return array


def _as_array(values: Any, name: str) -> Array:
    if isinstance(values, np.ma.MaskedArray):
        raise must_be(name, "complete", "a masked array", "fill or drop the masked entries first")
    if hasattr(values, "toarray"):
        values = values.toarray()
    try:
        array = np.array(values)
        is_float = array.dtype.kind == "f"
        if is_float and np.max(np.abs(array), initial=0.0, where=np.isfinite(array)) >= EXACT_INTEGERS:
            # numpy has rounded large integers if there was a float or an infinity among the entries
            entries = np.array(values, dtype=object)
            return array if all(isinstance(entry, float) for entry in entries.flat) else entries
        return array
    except ValueError as error:
        message = "{argument} is ragged: its rows differ in length ({found})"
        raise ProblemError(message, argument=name, found=str(error)) from None


def _fractions(array: Array, name: str) -> Array:
    result = np.empty(array.shape, dtype=object)
    for index, entry in np.ndenumerate(array):
        try:
            result[index] = exact(entry)
        except TypeError as error:
            message, place = "{argument} is not a number: {found}", entry_name(name, index)
            raise ProblemError(message, argument=place, found=str(error)) from None
    return result


def shown(number: Any) -> str:
    """Return a number as messages show it: rationals in full while they are short.

    >>> shown(Fraction(7, 3)), shown(Fraction(10**30 + 1, 3)), shown(0.1), shown(-math.inf)
    ('7/3', '~3.33333e+29', '0.1', '-inf')
    """
    if isinstance(number, Fraction):
        bits = number.numerator.bit_length() + number.denominator.bit_length()
        return str(number) if bits <= LONGEST_SHOWN else "~" + arb(to_flint(number)).str(6, radius=False)
    return str(float(number)) if isinstance(number, float) else str(number)


def entry_name(name: str, index: Any) -> str:
    """Return how an entry is called in messages.

    >>> entry_name("A", (0, 2))
    'A[0, 2]'
    """
    return f"{name}[{', '.join(str(int(i)) for i in index)}]" if len(index) else name
