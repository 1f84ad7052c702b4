"""Affine data: what arithmetic with `pqp.mu` gives, and affine expressions written as text ("3 - 2*mu").

`Affine` is what users write and what a problem keeps, at face value; `pqp.linalg.affine` is what the engines
compute with.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq, fmpq_poly, fmpz

from pqp.errors import ProblemError, must_be
from pqp.linalg.affine import AffineNumber
from pqp.linalg.field import (
    EXACT_INTEGERS,
    Array,
    Number,
    as_numbers,
    entry_name,
    exact_array,
    fraction,
    from_flint,
    infinite,
    is_formula,
    largest,
    to_flint,
)

# Numbers, an `Affine`, a sympy expression in mu, or an array or sequence of these; `as_affine` checks it.
AffineLike: TypeAlias = object


@lru_cache
def mu_symbol() -> Any:
    """Return mu as a sympy symbol."""
    import sympy  # half a second and 45 MB, for those alone who write formulas

    return sympy.Symbol("mu", real=True)


@dataclass(frozen=True, eq=False)
class Affine:
    r"""The affine function :math:`\mu \mapsto a + \mu b` of one parameter, entry by entry.

    >>> (3 - mu).at(1), (np.array([1, 2]) + mu * [0, 5]).at(2)
    (Fraction(2, 1), array([Fraction(1, 1), Fraction(12, 1)], dtype=object))
    """

    constant: Array
    slope: Array

    # numpy and pandas then leave `array * mu` to this class
    __array_ufunc__ = None
    __pandas_priority__ = 5000

    def __post_init__(self) -> None:
        constant, slope = np.broadcast_arrays(self.constant, self.slope)
        for field, values in (("constant", constant), ("slope", slope)):
            # integers up to 2⁵³ can be added a thousand times before int64 overflows, which it does silently
            is_long = values.dtype.kind == "i" and largest(values) > EXACT_INTEGERS
            frozen = exact_array(values) if is_long else values.copy()
            frozen.flags.writeable = False
            object.__setattr__(self, field, frozen)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the data, () for a single number."""
        return self.constant.shape

    def at(self, mu: Number) -> Number | Array:
        """Return the value at one mu; infinities stay, and exact data at an exact mu stay exact."""
        number = float(mu) if isinstance(mu, float) else fraction(mu)
        finite = np.where(infinite(self.constant), 0, self.slope)
        return self.constant + _times(finite, np.asarray(number))

    def __getitem__(self, index: object) -> "Affine":
        chosen: Any = index  # whatever numpy takes
        return Affine(self.constant[chosen], self.slope[chosen])

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
            raise _not_affine("mu multiplied by mu")
        if np.any(factor.slope != 0):
            self, factor = factor, self
        slope = _times(self.slope, factor.constant)
        if infinite(slope).any() or np.any(slope != slope):
            raise _not_affine("mu multiplied by infinity")
        return Affine(_times(self.constant, factor.constant), slope)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if _has_symbols(other):
            return self._sympy_() / other
        divisor = as_affine(other, "data")
        if np.any(divisor.slope != 0):
            raise _not_affine("a division by mu")
        if np.any(divisor.constant == 0):
            raise _not_affine("a division by zero")
        return self * _reciprocal(divisor.constant)

    def __rtruediv__(self, other: Any) -> Any:
        if _has_symbols(other):
            return other / self._sympy_()
        raise _not_affine("a division by mu")

    def __pow__(self, exponent: Any) -> Any:
        return self._sympy_() ** exponent

    def __le__(self, other: Any) -> Any:
        return self._sympy_() <= other

    def __ge__(self, other: Any) -> Any:
        return self._sympy_() >= other

    def _sympy_(self) -> Any:
        """Return the affine number as a formula, so that it mixes with sympy variables."""
        import sympy

        if self.shape:
            raise sympy.SympifyError("an array of affine data is not one formula")
        return sympy.sympify(self.constant[()]) + sympy.sympify(self.slope[()]) * mu_symbol()

    def __repr__(self) -> str:
        if not self.shape:
            return str(self._sympy_())
        return f"{self.constant!s} + mu * {self.slope!s}"


def as_affine(value: AffineLike, name: str) -> Affine:
    """Return data given in any of the accepted forms as an `Affine`, or raise with what is wrong.

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


def affine_vector(value: AffineLike, length: int, name: str) -> Affine:
    """Return affine data as a vector of the given length; a single number stands for every entry."""
    data = as_affine(value, name)
    if data.shape not in ((), (length,)):
        raise must_be(name, f"of length {length} or a single number", f"shape {data.shape}")
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
            raise must_be(entry_name(name, (i,)), "a single number", f"shape {part.shape}")
    constants = as_numbers([part.constant[()] for part in parts], name)
    return Affine(constants, as_numbers([part.slope[()] for part in parts], name))


def _from_formula(formula: Any, name: str) -> Affine:
    if formula.is_infinite:
        return Affine(as_numbers(float(formula), name), np.array(0))
    if strangers := formula.free_symbols - {mu_symbol()}:
        found = ", ".join(sorted(map(str, strangers)))
        remedy = "only pqp.mu may appear, not a symbol of your own"
        raise ProblemError("{argument} contains {found}", argument=name, found=found, remedy=remedy)
    import sympy

    try:
        polynomial = sympy.Poly(formula, mu_symbol())
    except sympy.PolynomialError:
        polynomial = None
    if polynomial is None or polynomial.degree() > 1:
        raise must_be(name, "affine in mu", str(formula))
    constant = polynomial.coeff_monomial(1)
    slope = polynomial.coeff_monomial(mu_symbol())
    return Affine(as_numbers(constant, name), as_numbers(slope, name))


def _not_affine(found: str) -> ProblemError:
    return ProblemError(argument="data", found=found, expected="affine in mu with a finite slope")


def _has_symbols(value: Any) -> bool:
    return is_formula(value) and bool(value.free_symbols)


def _times(left: Array, right: Array) -> Array:
    # int64 overflows without a warning
    if left.dtype.kind == right.dtype.kind == "i" and largest(left) * largest(right) > EXACT_INTEGERS:
        left = exact_array(left)
    with np.errstate(invalid="ignore"):  # 0 times infinity is not a number, which the caller refuses
        return np.asarray(left * right)


def _require_same_shape(left: Affine, right: Affine) -> None:
    if left.shape and right.shape and left.shape != right.shape:
        found = f"{left.shape} and {right.shape}"
        raise ProblemError("affine data of shapes {found} do not fit together", found=found)


def _reciprocal(numbers: Array) -> Array:
    if numbers.dtype.kind == "f":
        return 1.0 / numbers
    # integers and Fractions stay exact, as everywhere in affine data
    return np.vectorize(lambda n: Fraction(1) / Fraction(n), otypes=[object])(numbers)


mu = Affine(np.array(0), np.array(1))


INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
RATIONAL = re.compile(r"([+-]?[0-9]+)(?:/([0-9]+))?")
# Literals are cut out before Python parses the rest: it would round 0.1 + 0.2, and refuse long integers.
LITERAL = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
CHARACTERS = re.compile(r"[a-zA-Z0-9_\s.+*/()-]*")
OPERATIONS: dict[type[ast.operator], Callable[[fmpq_poly, Any], fmpq_poly]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda polynomial, constant: polynomial / constant[0],
}
ALLOWED = "only numbers, mu, + - * / and parentheses may appear, and a multiple of mu is written 2*mu"
# A message quotes at most so much of a text.
LONGEST_QUOTE = 60


def read_number(text: str) -> Number:
    """Return the number that a text stands for: exact unless it is written with a point or an exponent.

    >>> read_number("7/3"), read_number("-inf"), read_number("0.5")
    (Fraction(7, 3), -inf, 0.5)
    """
    if (parts := RATIONAL.fullmatch(text.strip())) and (below := fmpz(parts[2] or "1")):
        # flint reads integers of any length; Python's own conversion stops at 4300 digits
        return from_flint(fmpq(fmpz(parts[1].removeprefix("+")), below))
    constant, slope = read_affine(text)
    if slope:
        raise ProblemError("{found} depends on mu, but a number is needed", found=_quoted(text))
    return constant


def read_affine(text: str) -> AffineNumber:
    """Return an affine expression in mu.

    Decimals are float64 numbers at face value and the arithmetic on them is exact.

    >>> read_affine("3 - 2*mu").slope, read_affine("0.5*mu").slope, read_affine("(1 + mu)/3").constant
    (Fraction(-2, 1), 0.5, Fraction(1, 3))
    """
    if text.strip() in INFINITE:
        return AffineNumber(INFINITE[text.strip()], 0)
    literals = LITERAL.findall(text)
    try:
        if not CHARACTERS.fullmatch(text):
            raise ProblemError(ALLOWED)
        # digits appear in literals alone, so no name of the user's can look like a placeholder
        names = iter(range(len(literals)))
        formula = " ".join(LITERAL.sub(lambda match: f" _{next(names)} ", text).split())
        values = {f"_{i}": fmpq_poly([_literal(word)]) for i, word in enumerate(literals)}
        polynomial = _evaluated(ast.parse(formula, mode="eval").body, values | {"mu": fmpq_poly([0, 1])})
    except (SyntaxError, RecursionError, MemoryError):  # the last two: thousands of nested operations
        raise _unreadable(text, ALLOWED) from None
    except ProblemError as error:
        raise _unreadable(text, error.message) from None
    # a decimal is a float to the user: the result is one too, unless float64 cannot hold it
    has_decimals = not all(word.isdigit() for word in literals)
    parts = (from_flint(polynomial[power]) for power in (0, 1))
    return AffineNumber(*(_as_float(part) if has_decimals else part for part in parts))


def _evaluated(node: ast.expr, values: dict[str, fmpq_poly]) -> fmpq_poly:
    """Return the value of a formula made of known names, + - * / and signs; anything else is refused."""
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    if isinstance(node, ast.UnaryOp) and type(node.op) in (ast.UAdd, ast.USub):
        value = _evaluated(node.operand, values)
        return -value if isinstance(node.op, ast.USub) else value
    if not isinstance(node, ast.BinOp) or type(node.op) not in OPERATIONS:
        raise ProblemError(f"{node.id!r} is not known; {ALLOWED}" if isinstance(node, ast.Name) else ALLOWED)
    left, right = (_evaluated(side, values) for side in (node.left, node.right))
    if isinstance(node.op, ast.Div) and right.degree() != 0:
        raise ProblemError(f"something is divided by {'mu' if right else '0'}")
    value = OPERATIONS[type(node.op)](left, right)
    if value.degree() > 1:
        raise ProblemError("mu is multiplied by mu")
    return value


def _literal(word: str) -> Any:
    """Return a number as a flint rational: a decimal is the float64 number nearest to it."""
    try:
        return fmpq(fmpz(word)) if word.isdigit() else to_flint(float(word))
    except TypeError:  # infinite
        raise ProblemError("a decimal is too large for float64 and must be written as an integer") from None


def _as_float(value: Number) -> Number:
    """Return the float64 number that equals the value, or the value itself if there is none."""
    try:
        return float(value) if Fraction(float(value)) == value else value
    except OverflowError:
        return value


def _unreadable(text: str, reason: str) -> ProblemError:
    return ProblemError(
        f"{{found}} is not {{expected}}: {reason}", found=_quoted(text), expected="an affine expression in mu"
    )


def _quoted(text: str) -> str:
    return repr(text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "...")
