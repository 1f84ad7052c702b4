"""The sympy front end: `minimize(expr).subject_to(x + y <= mu, ...)`, a problem written down as on paper.

>>> import sympy
>>> from pqp import mu
>>> x, y = sympy.symbols("x y")
>>> problem = minimize(x**2 + y**2 - 4 * x - 6 * y).subject_to(x + y <= mu, x >= 0, y >= 0)
>>> problem, problem.names, problem.row_upper[0]
(ParametricQP(2 variables, 1 row), ('x', 'y'), mu)
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import sympy

from pqp.errors import ProblemError, must_be
from pqp.linalg.field import Array, Number, exact, exact_array, fraction
from pqp.model.affine import Affine, AffineLike, as_affine, mu_symbol
from pqp.model.problem import ParametricQP

_INFINITY = float("inf")

MU_SYMBOL = mu_symbol()
SOFT_INSTEAD = "write 2 |a| as pqp.soft(sympy.Eq(a, 0), 2), and 2 max(a, 0) as pqp.soft(a <= 0, 2)"


@dataclass(frozen=True)
class Term:
    """One monomial: coefficient · Π variable^power · mu^mu_power."""

    coefficient: Number
    powers: dict[sympy.Symbol, int]
    mu_power: int
    text: str

    @property
    def degrees(self) -> tuple[int, int]:
        """The degree in the variables and the degree in mu."""
        return sum(self.powers.values()), self.mu_power


def read_formula(value: object, where: str) -> sympy.Expr:
    """Return a sympy expression for a formula or a number."""
    try:
        formula = sympy.sympify(value, strict=True)
    except sympy.SympifyError:
        formula = None
    if not isinstance(formula, sympy.Expr):
        raise must_be(where, "a sympy expression", repr(value))
    return formula


def read_terms(formula: sympy.Expr, where: str) -> list[Term]:
    """Return the monomials of a polynomial, its numbers as they were written."""
    return [_term(term, where) for term in sympy.Add.make_args(sympy.expand(formula)) if term != 0]


def _term(term: Any, where: str) -> Term:
    number, monomial = term.as_independent(*term.free_symbols, as_Add=False)
    powers = dict(monomial.as_powers_dict()) if monomial != 1 else {}
    for base, exponent in powers.items():
        if not base.is_Symbol or not (exponent.is_Integer and exponent > 0):
            is_piecewise = term.has(sympy.Abs, sympy.Max)
            raise _misfit(where, term, "which is not a polynomial", SOFT_INSTEAD if is_piecewise else None)
    degrees = {base: int(exponent) for base, exponent in powers.items()}
    mu_power = degrees.pop(MU_SYMBOL, 0)
    for symbol in degrees:
        require_plain(symbol)
    return Term(_number(number, f"the coefficient of {term} in {where}"), degrees, mu_power, str(term))


def _misfit(where: str, term: object, trouble: str, remedy: str | None = None) -> ProblemError:
    """Return the error for a term that has no place in a formula."""
    message = f"{{argument}} contains {{found}}, {trouble}"
    return ProblemError(message, argument=where, found=str(term), remedy=remedy)


def _number(value: Any, where: str) -> Number:
    """Return a float for a float and an int or Fraction for a rational, never rounded."""
    if isinstance(value, sympy.Float):
        return float(value)
    try:
        number = exact(value)
    except TypeError as error:
        raise ProblemError("{argument} is not a number: {found}", argument=where, found=str(error)) from None
    if number in (_INFINITY, -_INFINITY):
        raise must_be(where, "finite", number, "leave out a limit that does not bind")
    return int(number) if number == int(number) else number


def require_plain(symbol: Any) -> None:
    """Raise if a symbol is called mu, or carries assumptions, which are not constraints."""
    if symbol.name == MU_SYMBOL.name:
        remedy = "use pqp.mu for the parameter, or rename yours"
        raise ProblemError("a symbol of your own is called {found}", found=symbol.name, remedy=remedy)
    signed = symbol.is_extended_nonnegative or symbol.is_extended_nonpositive
    if signed or symbol.is_integer or symbol.is_extended_real is False:
        raise ProblemError(
            "{argument} was declared with assumptions ({found}), which are not constraints",
            argument=str(symbol),
            found=sympy.srepr(symbol),
            remedy="declare it without them, and write constraints where they are needed",
        )


def objective_terms(expression: sympy.Expr) -> list[Term]:
    """Return the monomials of an objective, or raise if one of them has no place there."""
    terms = read_terms(expression, "the objective")
    for term in terms:
        degree, mu_power = term.degrees
        if degree > 2:
            raise _misfit("the objective", term.text, "but it must be quadratic in the variables")
        if degree == 2 and mu_power:
            remedy = "divide the objective by mu and let mu stand for 1/mu"
            raise _misfit("the objective", term.text, "but mu may not multiply a quadratic term", remedy)
        if degree == 1 and mu_power > 1:
            remedy = "let mu stand for another function of your parameter"
            raise _misfit("the objective", term.text, "but coefficients must be affine in mu", remedy)
        if degree == 0 and mu_power > 2:
            remedy = "leave it out, the solution does not depend on it"
            raise _misfit("the objective", term.text, "but a constant may have mu up to its square", remedy)
    return terms


Sense = Literal["<=", ">=", "=="]
Bounds = dict[tuple[Any, Sense], Affine]
_FLIPPED: dict[Sense, Sense] = {"<=": ">=", ">=": "<=", "==": "=="}


@dataclass(frozen=True)
class Soft:
    """A constraint that may be violated, at a price: see `soft`."""

    constraint: sympy.logic.boolalg.Boolean
    penalty: Affine


@dataclass(frozen=True)
class Objective:
    """What is to be minimised; `subject_to` makes it a problem."""

    expression: sympy.Expr
    variables: tuple[sympy.Symbol, ...] | None = None

    def __post_init__(self) -> None:
        # Read at once, so that an error is raised where the objective was written.
        objective_terms(self.expression)

    def subject_to(self, *constraints: object) -> ParametricQP:
        """Return the problem with these constraints; none of them leaves it unconstrained.

        Each is `<=`, `>=`, `sympy.Eq(left, right)`, or one of these made `soft`. A limit of one variable
        becomes a bound, everything else a row, in the order given. Python cannot chain comparisons of
        formulas: write 0 <= x <= mu as two constraints.
        """
        terms = objective_terms(self.expression)
        read = [_read_constraint(constraint) for constraint in constraints]
        used = {v for term in terms for v in term.powers}.union(*(row.coefficients for row in read))
        variables = _ordered(used, self.variables)
        bounds, rows = _bounds_and_rows(read)
        P, c = _quadratic_and_linear(terms, variables)
        return ParametricQP(
            P=P,
            c=c,
            A=[[row.coefficients.get(v, 0) for v in variables] for row in rows] or None,
            row_lower=_stacked([None if row.sense == "<=" else row.limit for row in rows], -_INFINITY),
            row_upper=_stacked([None if row.sense == ">=" else row.limit for row in rows], _INFINITY),
            lower=_stacked([bounds.get((v, ">=")) for v in variables], -_INFINITY),
            upper=_stacked([bounds.get((v, "<=")) for v in variables], _INFINITY),
            penalty=_stacked([row.penalty for row in rows], _INFINITY),
            names=[v.name for v in variables],
            constant=[sum(t.coefficient for t in terms if t.degrees == (0, power)) for power in range(3)],
        )


def minimize(expression: object, variables: Iterable[sympy.Symbol] | None = None) -> Objective:
    """Return the objective given by a formula: quadratic in its symbols, mu only in the linear part.

    Parameters
    ----------
    variables
        The symbols in the order they should have in x; sorted by name (x1, x2, x10) if not given.

    >>> import sympy
    >>> from pqp import mu
    >>> x = sympy.Symbol("x")
    >>> minimize((x - mu) ** 2).subject_to().constant
    (Fraction(0, 1), Fraction(0, 1), Fraction(1, 1))
    >>> minimize(mu * x**2)
    Traceback (most recent call last):
    pqp.errors.ProblemError: the objective contains mu*x**2, but mu may not multiply a quadratic term; ...
    """
    formula = read_formula(expression, "the objective")
    return Objective(formula, None if variables is None else tuple(variables))


def soft(constraint: object, penalty: AffineLike) -> Soft:
    """Return a constraint whose violation v ≥ 0 costs penalty · v, an equality its |left − right|.

    The penalty is a number or affine in mu, and counts the violation of the constraint as written.

    >>> import sympy
    >>> from pqp import mu
    >>> w = sympy.Symbol("w")
    >>> minimize((w - 3) ** 2 / 2).subject_to(soft(sympy.Eq(w, 0), mu)).penalty[0]
    mu
    """
    if isinstance(constraint, Soft):
        found, remedy = str(constraint.constraint), "add the penalties up instead"
        raise ProblemError("{found} is soft already", found=found, remedy=remedy)
    price = as_affine(penalty, "penalty")
    if price.shape:
        raise must_be("penalty", "one number or affine in mu", f"shape {price.shape}")
    return Soft(constraint, price)


@dataclass(frozen=True)
class _Constraint:
    """The row Σ coefficient · variable, its sense and limit, and its penalty if soft."""

    coefficients: dict[Any, Number]
    sense: Sense
    limit: Affine
    penalty: Affine | None = None

    @property
    def is_bound(self) -> bool:
        return len(self.coefficients) == 1 and self.penalty is None


def _read_constraint(constraint: Any) -> _Constraint:
    if isinstance(constraint, Soft):
        return replace(_read_constraint(constraint.constraint), penalty=constraint.penalty)
    relation, where = _relation(constraint), f"the constraint {constraint}"
    # sympy writes 3 >= x as it is given; variables on the left give the row the sign a user expects
    if not relation.lhs.free_symbols - {MU_SYMBOL}:
        relation = relation.reversed
    terms = read_terms(read_formula(relation.lhs, where) - read_formula(relation.rhs, where), where)
    for term in terms:
        _require_linear(term, where)
    coefficients = {v: term.coefficient for term in terms for v in term.powers}
    if not coefficients:
        remedy = "to restrict mu, pass its interval to pqp.solve_path"
        raise ProblemError("{argument} has no variables", argument=where, remedy=remedy)
    parts = [sum(-t.coefficient for t in terms if t.degrees == (0, power)) for power in (0, 1)]
    return _Constraint(coefficients, relation.rel_op, _affine(*parts))


def _require_linear(term: Term, where: str) -> None:
    degree, mu_power = term.degrees
    if degree > 1:
        raise _misfit(where, term.text, "but it must be linear in the variables")
    if degree == 1 and mu_power:
        trouble = "but mu may move the limit of a constraint only, not the coefficients of its variables"
        remedy = "divide by mu or scale the variable if that makes them constant"
        raise _misfit(where, term.text, trouble, remedy)
    if mu_power > 1:
        raise _misfit(where, term.text, "but its limit must be affine in mu")


def _relation(constraint: Any) -> Any:
    """Return a constraint if it is <=, >= or Eq, or raise with what to write instead."""
    if isinstance(constraint, sympy.LessThan | sympy.GreaterThan | sympy.Equality):
        return constraint
    found = str(constraint)
    if isinstance(constraint, bool | np.bool_ | sympy.logic.boolalg.BooleanAtom):
        message = "a constraint is {found} instead of a relation: Python evaluates `==` at once"
        remedy = "write sympy.Eq(left, right), and leave out comparisons that do not depend on the variables"
    elif isinstance(constraint, list | tuple | set):
        message, found = "subject_to takes constraints one by one, got a {found}", type(constraint).__name__
        remedy = "unpack it"
    elif isinstance(constraint, sympy.And):
        message = "{found} is several constraints in one"
        remedy = "give them to subject_to one by one"
    elif isinstance(constraint, sympy.StrictLessThan | sympy.StrictGreaterThan):
        message = "the constraint {found} is strict, and a minimum need not exist on an open set"
        remedy = f"write {constraint.rel_op}="
    else:
        message, found, remedy = "{argument} must be {expected}, got {found}", repr(constraint), None
    expected = "<=, >= or sympy.Eq(left, right)"
    raise ProblemError(message, argument="a constraint", found=found, expected=expected, remedy=remedy)


def _bounds_and_rows(constraints: Sequence[_Constraint]) -> tuple[Bounds, list[_Constraint]]:
    """Return one lower and one upper bound per variable, and all that is not a bound as rows, in order.

    Equalities come first, so that they fix their variable. Of two parallel bounds the tighter one holds
    at every mu; of two that cross, the second becomes a row.
    """
    bounds: Bounds = {}
    taken = set()
    for i in sorted(range(len(constraints)), key=lambda i: constraints[i].sense != "=="):
        if constraints[i].is_bound and _take_bound(bounds, constraints[i]):
            taken.add(i)
    return bounds, [constraint for i, constraint in enumerate(constraints) if i not in taken]


def _take_bound(bounds: Bounds, constraint: _Constraint) -> bool:
    """Add a constraint on one variable to the bounds; return False if it crosses one of them."""
    ((variable, coefficient),) = constraint.coefficients.items()
    # dividing in rationals, floats at face value, leaves the same set of x
    limit = constraint.limit * (1 / fraction(coefficient))
    sense = constraint.sense if coefficient > 0 else _FLIPPED[constraint.sense]
    sides: list[Sense] = ["<=", ">="] if sense == "==" else [sense]
    present = {side: bounds[variable, side] for side in sides if (variable, side) in bounds}
    # Which of two bounds with different slopes is tighter depends on mu.
    if any(bound.slope != limit.slope for bound in present.values()):
        return False
    for side in sides:
        bound = present.get(side, limit)
        is_tighter = (bound.constant <= limit.constant) == (side == "<=")
        bounds[variable, side] = bound if is_tighter else limit
    return True


def _ordered(used: set[Any], given: tuple[Any, ...] | None) -> list[Any]:
    """Return the variables in the order given, or by name, x2 before x10."""
    variables = list(given) if given is not None else sorted(used, key=lambda v: _natural(v.name))
    for variable in variables:
        if not isinstance(variable, sympy.Symbol) or variable == MU_SYMBOL:
            raise must_be("variables", "sympy symbols other than mu", repr(variable))
        require_plain(variable)
    if missing := ", ".join(sorted(str(v) for v in used - set(variables))):
        message = "{argument} lacks {found}, which the formulas contain"
        raise ProblemError(message, argument="variables", found=missing)
    if not variables:
        raise ProblemError("the objective and the constraints contain no variables")
    return variables


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts x2 before x10.

    >>> sorted(["x10", "y", "x2", "x"], key=_natural)
    ['x', 'x2', 'x10', 'y']
    """
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _quadratic_and_linear(terms: Sequence[Term], variables: Sequence[Any]) -> tuple[Array, Affine]:
    """Return P, which carries the ½, and c."""
    place = {v: i for i, v in enumerate(variables)}
    P = np.zeros((len(variables), len(variables)), dtype=object)
    c = np.zeros((2, len(variables)), dtype=object)
    for term in terms:
        if term.degrees == (2, 0):
            i, j = (place[v] for v, power in term.powers.items() for _ in range(power))
            # On the diagonal i = j, so both lines together double the coefficient: P carries the ½.
            P[i, j] += term.coefficient
            P[j, i] += term.coefficient
        elif term.degrees[0] == 1:
            c[term.mu_power, place[next(iter(term.powers))]] += term.coefficient
    # one rounded entry may cost P its exact convexity, so a P with floats is judged as float64 is
    has_floats = any(isinstance(entry, float) for entry in P.flat)
    return P.astype(float) if has_floats else P, Affine(c[0], c[1])


def _stacked(entries: Sequence[Affine | None], default: float) -> Affine:
    filled = [_affine(default, 0) if entry is None else entry for entry in entries]
    return _affine([entry.constant[()] for entry in filled], [entry.slope[()] for entry in filled])


def _affine(constant: Any, slope: Any) -> Affine:
    """Return affine data at face value, without letting numpy round integers to floats."""
    return Affine(*(exact_array(np.array(part, dtype=object)) for part in (constant, slope)))
