"""Terms: the monomials of a formula, with their numbers as they were written.

Room: sympy expressions in, coefficients and powers out, or a message that names the offending term.
May touch: `errors`, `field`, `affine`.
"""

from dataclasses import dataclass
from typing import Any

import sympy

from pqp.affine import mu_symbol
from pqp.errors import ProblemError
from pqp.field import Number, exact

_INFINITY = float("inf")

MU_SYMBOL = mu_symbol()


@dataclass(frozen=True)
class Term:
    """One monomial: coefficient · Π variable^power · mu^mu_power."""

    coefficient: Number
    powers: dict[Any, int]
    mu_power: int
    text: str

    @property
    def degrees(self) -> tuple[int, int]:
        """The degree in the variables and the degree in mu."""
        return sum(self.powers.values()), self.mu_power


def read_formula(value: Any, where: str) -> Any:
    try:
        formula = sympy.sympify(value, strict=True)
    except sympy.SympifyError:
        formula = None
    if not isinstance(formula, sympy.Expr):
        raise ProblemError(f"{where} must be a sympy expression, got {value!r}")
    return formula


def read_terms(formula: Any, where: str) -> list[Term]:
    """Return the monomials of a polynomial, its numbers as they were written."""
    return [_term(term, where) for term in sympy.Add.make_args(sympy.expand(formula)) if term != 0]


def _term(term: Any, where: str) -> Term:
    number, monomial = term.as_independent(*term.free_symbols, as_Add=False)
    powers = dict(monomial.as_powers_dict()) if monomial != 1 else {}
    for base, exponent in powers.items():
        if not base.is_Symbol or not (exponent.is_Integer and exponent > 0):
            raise ProblemError(f"{where} contains {term}, which is not a polynomial{_soft_instead(term)}")
    degrees = {base: int(exponent) for base, exponent in powers.items()}
    mu_power = degrees.pop(MU_SYMBOL, 0)
    for symbol in degrees:
        require_plain(symbol)
    return Term(_number(number, f"the coefficient of {term} in {where}"), degrees, mu_power, str(term))


def _soft_instead(term: Any) -> str:
    if not term.has(sympy.Abs, sympy.Max):
        return ""
    return "; write 2 |a| as pqp.soft(sympy.Eq(a, 0), 2), and 2 max(a, 0) as pqp.soft(a <= 0, 2)"


def _number(value: Any, where: str) -> Number:
    """Return a float for a float and an int or Fraction for a rational, never rounded."""
    if isinstance(value, sympy.Float):
        return float(value)
    try:
        number = exact(value)
    except TypeError as error:
        raise ProblemError(f"{where} is no number: {error}") from None
    if number in (_INFINITY, -_INFINITY):
        raise ProblemError(f"{where} is {number}: it must be finite; leave out a limit that does not bind")
    return int(number) if number == int(number) else number


def require_plain(symbol: Any) -> None:
    if symbol.name == MU_SYMBOL.name:
        raise ProblemError("a symbol of your own is called mu; use pqp.mu for the parameter, or rename yours")
    signed = symbol.is_extended_nonnegative or symbol.is_extended_nonpositive
    if signed or symbol.is_integer or symbol.is_extended_real is False:
        raise ProblemError(
            f"{symbol} was declared with assumptions ({sympy.srepr(symbol)}), which are not constraints; "
            f"use sympy.Symbol({symbol.name!r}) and write {symbol} >= 0 where it is needed"
        )


def objective_terms(expression: Any) -> list[Term]:
    terms = read_terms(expression, "the objective")
    for term in terms:
        if remedy := _trouble(*term.degrees):
            raise ProblemError(f"the objective contains {term.text}: {remedy}")
    return terms


def _trouble(degree: int, mu_power: int) -> str | None:
    """Return why a term of these degrees has no place in an objective, and what to do about it."""
    if degree > 2:
        return "it must be quadratic in the variables"
    if degree == 2 and mu_power:
        return "mu may not multiply a quadratic term; divide the objective by mu and let mu stand for 1/mu"
    if degree == 1 and mu_power > 1:
        return "coefficients must be affine in mu; let mu stand for another function of your parameter"
    if degree == 0 and mu_power > 2:
        return "a constant may have mu up to its square; leave it out, the solution does not depend on it"
    return None
