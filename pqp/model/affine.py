"""Affine data: `pqp.mu` and what arithmetic with it gives, constant + mu * slope.

Formulas: numbers and affine expressions in mu written as text, such as "7/3" or "3 - 2*mu".
"""

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import fmpz

from pqp.errors import ProblemError
from pqp.linalg.field import (
    EXACT_INTEGERS,
    Array,
    Number,
    as_numbers,
    entry_name,
    exact_array,
    fraction,
    infinite,
    is_formula,
)


@lru_cache
def mu_symbol() -> Any:
    """Return mu as a sympy symbol."""
    import sympy  # half a second, and 45 MB, spared to those who write no formula

    return sympy.Symbol("mu", real=True)


@dataclass(frozen=True, eq=False)
class Affine:
    r"""The affine function :math:`\mu \mapsto a + \mu b` of one parameter, entry by entry.

    >>> (3 - mu).at(1), (np.array([1, 2]) + mu * [0, 5]).at(2)
    (Fraction(2, 1), array([Fraction(1, 1), Fraction(12, 1)], dtype=object))
    """

    constant: Array
    slope: Array

    # numpy and pandas leave `array * mu` to us
    __array_ufunc__ = None
    __pandas_priority__ = 5000

    def __post_init__(self) -> None:
        constant, slope = np.broadcast_arrays(self.constant, self.slope)
        for field, values in (("constant", constant), ("slope", slope)):
            frozen = _without_overflow(values.copy())
            frozen.flags.writeable = False
            object.__setattr__(self, field, frozen)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the data, () for a single number."""
        return self.constant.shape

    def at(self, mu: Number) -> Any:
        """Return the value at one mu; infinities stay, and exact data at an exact mu stay exact."""
        number = float(mu) if isinstance(mu, float) else fraction(mu)
        finite = np.where(infinite(self.constant), 0, self.slope)
        return self.constant + _times(finite, np.asarray(number))

    def __getitem__(self, index: Any) -> "Affine":
        return Affine(self.constant[index], self.slope[index])

    def __iter__(self) -> Iterator["Affine"]:
        if not self.shape:
            raise TypeError("a single affine number cannot be iterated over")
        return (self[i] for i in range(self.shape[0]))

    def __add__(self, other: Any) -> Any:
        if _has_symbols(other):
            return self._sympy_() + other
        right = as_affine(other, "data")
        _require_same_shape(self, right)
        return Affine(self.constant + right.constant, self.slope + right.slope)

    __radd__ = __add__

    def __neg__(self) -> "Affine":
        return Affine(-self.constant, -self.slope)

    def __pos__(self) -> "Affine":
        return self

    def __sub__(self, other: Any) -> Any:
        return self + (
            -other if isinstance(other, Affine) or is_formula(other) else -as_affine(other, "data")
        )

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if _has_symbols(other):
            return self._sympy_() * other
        factor = as_affine(other, "data")
        _require_same_shape(self, factor)
        if np.any(factor.slope != 0) and np.any(self.slope != 0):
            raise ProblemError("data must be affine in mu, but mu was multiplied by mu")
        if np.any(factor.slope != 0):
            self, factor = factor, self
        slope = _times(self.slope, factor.constant)
        if infinite(slope).any() or np.any(slope != slope):
            raise ProblemError(
                "data must be affine in mu with a finite slope, but mu was multiplied by infinity"
            )
        return Affine(_times(self.constant, factor.constant), slope)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if _has_symbols(other):
            return self._sympy_() / other
        divisor = as_affine(other, "data")
        if np.any(divisor.slope != 0):
            raise ProblemError("data must be affine in mu, but something was divided by mu")
        if np.any(divisor.constant == 0):
            raise ProblemError("data must be affine in mu, but it was divided by zero")
        return self * _reciprocal(divisor.constant)

    def __rtruediv__(self, other: Any) -> Any:
        if _has_symbols(other):
            return other / self._sympy_()
        raise ProblemError("data must be affine in mu, but something was divided by mu")

    def __pow__(self, exponent: Any) -> Any:
        return self._sympy_() ** exponent

    def __le__(self, other: Any) -> Any:
        return self._sympy_() <= other

    def __ge__(self, other: Any) -> Any:
        return self._sympy_() >= other

    def _sympy_(self) -> Any:
        """Return the affine number as a formula, so that it mixes with sympy variables."""
        if self.shape:
            from sympy import SympifyError

            raise SympifyError("an array of affine data is not one formula")
        return _sympy_number(self.constant[()]) + _sympy_number(self.slope[()]) * mu_symbol()

    def __repr__(self) -> str:
        if not self.shape:
            return str(self._sympy_())
        return f"{self.constant!s} + mu * {self.slope!s}"


def as_affine(value: Any, name: str) -> Affine:
    """Return data given in any of the accepted ways as an `Affine`, or say what is wrong with it.

    >>> import sympy
    >>> as_affine([1, 3 - mu, sympy.Rational(1, 2) * mu], "b").slope
    array([Fraction(0, 1), Fraction(-1, 1), Fraction(1, 2)], dtype=object)
    """
    if isinstance(value, Affine):
        return Affine(as_numbers(value.constant, name), as_numbers(value.slope, name))
    if is_formula(value):
        return _from_formula(value, name)
    if _has_affine_entries(value):
        return _from_entries(value, name)
    numbers = as_numbers(value, name)
    return Affine(numbers, np.zeros(numbers.shape, dtype=np.int64))


def affine_vector(value: Any, length: int, name: str) -> Affine:
    """Return affine data as a vector of the given length; a single number stands for every entry."""
    data = as_affine(value, name)
    if data.shape not in ((), (length,)):
        raise ProblemError(
            f"{name} must have {length} {'entry' if length == 1 else 'entries'} or be a single number, "
            f"got shape {data.shape}"
        )
    return Affine(*(np.broadcast_to(part, (length,)) for part in (data.constant, data.slope)))


def _has_affine_entries(value: Any) -> bool:
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ndarray):
        return value.dtype == object and _has_affine_entries(list(value.flat))
    return isinstance(value, Sequence) and any(isinstance(v, Affine) or is_formula(v) for v in value)


def _from_entries(entries: Any, name: str) -> Affine:
    parts = [as_affine(entry, entry_name(name, (i,))) for i, entry in enumerate(entries)]
    for i, part in enumerate(parts):
        if part.shape:
            raise ProblemError(
                f"{name} is ragged: entry {i} has shape {part.shape}, a single number is needed"
            )
    constants = as_numbers([part.constant[()] for part in parts], name)
    return Affine(constants, as_numbers([part.slope[()] for part in parts], name))


def _from_formula(formula: Any, name: str) -> Affine:
    if formula.is_infinite:
        return Affine(as_numbers(float(formula), name), np.array(0))
    if strangers := formula.free_symbols - {mu_symbol()}:
        found = ", ".join(sorted(map(str, strangers)))
        raise ProblemError(f"{name} contains {found}; only pqp.mu may appear, not a symbol of your own")
    import sympy

    try:
        polynomial = sympy.Poly(formula, mu_symbol())
    except sympy.PolynomialError:
        polynomial = None
    if polynomial is None or polynomial.degree() > 1:
        raise ProblemError(f"{name} must be affine in mu, got {formula}")
    slope, constant = polynomial.coeff_monomial(mu_symbol()), polynomial.coeff_monomial(1)
    return Affine(as_numbers(constant, name), as_numbers(slope, name))


def _has_symbols(value: Any) -> bool:
    return is_formula(value) and bool(value.free_symbols)


def _without_overflow(numbers: Array) -> Array:
    """Return the array, in Fractions if its integers are too large to be added in int64."""
    if numbers.dtype.kind == "i" and _largest(numbers) > EXACT_INTEGERS:
        return exact_array(numbers)
    return numbers


def _largest(numbers: Array) -> float:
    return float(np.max(np.abs(numbers.astype(float)), initial=0.0))


def _times(left: Array, right: Array) -> Array:
    if left.dtype.kind == right.dtype.kind == "i" and _largest(left) * _largest(right) > EXACT_INTEGERS:
        left = exact_array(left)
    with np.errstate(invalid="ignore"):  # 0 times infinity is NaN, which the caller refuses
        return np.asarray(left * right)


def _require_same_shape(left: Affine, right: Affine) -> None:
    if left.shape and right.shape and left.shape != right.shape:
        raise ProblemError(f"affine data of shapes {left.shape} and {right.shape} do not fit together")


def _reciprocal(numbers: Array) -> Array:
    if numbers.dtype.kind == "f":
        return 1.0 / numbers
    return np.vectorize(lambda n: Fraction(1) / Fraction(n), otypes=[object])(numbers)


def _sympy_number(number: Any) -> Any:
    import sympy

    if isinstance(number, Fraction):
        return sympy.Rational(number.numerator, number.denominator)
    return sympy.sympify(number)


mu = Affine(np.array(0), np.array(1))


# constant and slope
Coefficients = tuple[Fraction, Fraction]
INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
RATIONAL = re.compile(r"([+-]?[0-9]+)(?:/([0-9]+))?")
DECIMAL = r"(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
TOKEN = re.compile(rf"\s*({DECIMAL}|[0-9]+|[^\W\d]\w*|\S)")
# Deeper parentheses than anyone writes, shallow enough for the recursion below.
DEEPEST = 50
ALLOWED = "numbers, mu, + - * / and parentheses may appear"


def read_number(text: str) -> Number:
    """Return the number that a text stands for: exact unless it is written with a point or an exponent.

    >>> read_number("7/3"), read_number("-inf"), read_number("0.5")
    (Fraction(7, 3), -inf, 0.5)
    """
    if (parts := RATIONAL.fullmatch(text.strip())) and (below := _integer(parts[2] or "1")):
        return Fraction(_integer(parts[1]), below)
    constant, slope = read_affine(text)
    if slope:
        raise ProblemError(f"{text!r} depends on mu, but a number is needed")
    return constant


def read_affine(text: str) -> tuple[Number, Number]:
    """Return constant and slope of an affine expression in mu.

    Decimals are float64 numbers at face value and the arithmetic on them is exact.

    >>> read_affine("3 - 2*mu"), read_affine("0.5*mu"), read_affine("(1 + mu)/3")
    ((Fraction(3, 1), Fraction(-2, 1)), (0.0, 0.5), (Fraction(1, 3), Fraction(1, 3)))
    """
    if text.strip() in INFINITE:
        return INFINITE[text.strip()], 0
    if text.count("(") > DEEPEST:
        raise ProblemError(f"{_quoted(text)} has more than {DEEPEST} parentheses")
    tokens = deque(TOKEN.findall(text))
    has_decimals = any(re.fullmatch(DECIMAL, token) for token in tokens)
    try:
        constant, slope = _sum(tokens)
        if tokens:
            raise ProblemError(_surprise(tokens[0]))
    except ProblemError as error:
        raise ProblemError(f"{_quoted(text)} is not an affine expression in mu: {error}") from None
    return (_as_float(constant), _as_float(slope)) if has_decimals else (constant, slope)


def _sum(tokens: deque[str]) -> Coefficients:
    total = _product(tokens)
    while tokens and tokens[0] in "+-":
        sign = 1 if tokens.popleft() == "+" else -1
        term = _product(tokens)
        total = total[0] + sign * term[0], total[1] + sign * term[1]
    return total


def _product(tokens: deque[str]) -> Coefficients:
    total = _factor(tokens)
    while tokens and tokens[0] in "*/":
        combine = _parsed_product if tokens.popleft() == "*" else _over
        total = combine(total, _factor(tokens))
    return total


def _factor(tokens: deque[str]) -> Coefficients:
    sign = 1
    while tokens and tokens[0] in "+-":
        sign = sign if tokens.popleft() == "+" else -sign
    constant, slope = _atom(tokens)
    return sign * constant, sign * slope


def _atom(tokens: deque[str]) -> Coefficients:
    token = tokens.popleft() if tokens else ""
    if token == "mu":
        return Fraction(0), Fraction(1)
    if token == "(":
        inner = _sum(tokens)
        if not tokens or tokens.popleft() != ")":
            raise ProblemError("a parenthesis is not closed")
        return inner
    if token[:1].isascii() and (token[:1].isdigit() or token[:1] == "."):
        return _literal(token), Fraction(0)
    raise ProblemError(_surprise(token))


def _literal(token: str) -> Fraction:
    if token.isdigit():
        return Fraction(_integer(token))
    try:
        return Fraction(float(token))
    except ValueError:
        raise ProblemError(_surprise(token)) from None
    except OverflowError:
        raise ProblemError(f"{token} is too large for a float64; write it as an integer") from None


def _parsed_product(left: Coefficients, right: Coefficients) -> Coefficients:
    if left[1] and right[1]:
        raise ProblemError("mu is multiplied by mu")
    return left[0] * right[0], left[0] * right[1] + left[1] * right[0]


def _over(left: Coefficients, right: Coefficients) -> Coefficients:
    if right[1]:
        raise ProblemError("something is divided by mu")
    if not right[0]:
        raise ProblemError("something is divided by 0")
    return left[0] / right[0], left[1] / right[0]


def _integer(digits: str) -> int:
    """Return an integer of any length; Python's own conversion stops at 4300 digits."""
    return int(fmpz(digits.removeprefix("+")))


def _as_float(value: Fraction) -> Number:
    """Return the float64 number that equals the value, or the value itself if there is none."""
    try:
        return float(value) if Fraction(float(value)) == value else value
    except OverflowError:
        return value


def _surprise(token: str) -> str:
    found = f"{token[:20]!r} is not expected here" if token else "it ends too early"
    remedy = "write 2*mu for a multiple of mu; " if token == "mu" else ""
    return f"{found}; {remedy}{ALLOWED}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
