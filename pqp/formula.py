"""Formulas: numbers and affine expressions in mu written as text, such as "7/3" or "3 - 2*mu".

Room: text in, exact coefficients out. Understands numbers, mu, + - * / and parentheses, and nothing else.
May touch: `errors`, `field`.
"""

import math
import re
from collections import deque
from fractions import Fraction

from flint import fmpz

from pqp.errors import ProblemError
from pqp.field import Number

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
        combine = _times if tokens.popleft() == "*" else _over
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


def _times(left: Coefficients, right: Coefficients) -> Coefficients:
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
