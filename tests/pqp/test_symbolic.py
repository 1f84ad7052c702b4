"""model: formulas become the same problem as the matrices they stand for, or a message says why not."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import pqp
from pqp import Affine, minimize, mu, soft
from pqp.errors import NotConvexError, ProblemError
from pqp.model.symbolic import Objective
from tests.refusals import refuses

x, y, z = sympy.symbols("x y z")
x1, x2, x10 = sympy.symbols("x1 x2 x10")
INFINITY = float("inf")
THIRD = sympy.Rational(1, 3)


def pairs(data: Affine) -> list[tuple[object, object]]:
    """Affine data as (constant, slope) for each entry."""
    return list(zip(data.constant.tolist(), data.slope.tolist(), strict=True))


class TestObjective:
    def test_P_is_the_hessian(self):
        problem = minimize(x**2 + 3 * x * y + 4 * y**2).subject_to()
        assert problem.P.values.tolist() == [[2, 3], [3, 8]]

    def test_products_are_expanded(self):
        problem = minimize((x - y) * (x - y) / 2 + mu * (x + 2) + 3).subject_to()
        assert problem.P.values.tolist() == [[1, -1], [-1, 1]]
        assert pairs(problem.c) == [(0, 1), (0, 0)]
        assert problem.constant == (3, 2, 0)

    def test_constant_keeps_the_square_of_mu(self):
        problem = minimize((x - mu) ** 2 + 5).subject_to()
        assert problem.constant == (5, 0, 1)
        assert pqp.solve(problem, 7, arithmetic="exact").objective == 5

    def test_rationals_stay_exact_and_floats_keep_their_face_value(self):
        problem = minimize(THIRD * x**2 + Fraction(1, 7) * x + 0.1 * y).subject_to()
        assert problem.P.values[0, 0] == Fraction(2, 3)
        assert pairs(problem.c) == [(Fraction(1, 7), 0), (Fraction(0.1), 0)]

    def test_large_integers_are_not_rounded(self):
        large = 2**60 + 1
        problem = minimize(large * x**2 + large * y).subject_to(x <= large)
        assert problem.P.values[0, 0] == 2 * large
        assert pairs(problem.upper)[0] == (large, 0)

    def test_rounded_squares_are_judged_as_floats(self):
        problem = minimize((0.1 * x + 0.3 * y) ** 2 + THIRD * z**2).subject_to()
        assert problem.P.values.dtype == float

    def test_pqp_mu_and_its_sympy_symbol_are_the_same(self):
        by_symbol = minimize(x**2 - sympy.Symbol("mu", real=True) * x).subject_to()
        assert pairs(by_symbol.c) == pairs(minimize(x**2 - mu * x).subject_to().c)

    def test_objective_without_constraints_is_a_record_that_cannot_change(self):
        with pytest.raises(AttributeError):
            minimize(x**2).expression = y
        assert isinstance(minimize(x**2), Objective)


class TestVariables:
    def test_names_are_sorted_with_their_numbers_counted(self):
        assert minimize(x10 + x2 + x1 + y).subject_to().names == ("x1", "x2", "x10", "y")

    def test_order_can_be_given(self):
        problem = minimize(x**2 + 2 * y, variables=[y, x]).subject_to(y <= 1)
        assert problem.names == ("y", "x")
        assert pairs(problem.c) == [(2, 0), (0, 0)]
        assert problem.upper.constant.tolist() == [1, INFINITY]

    def test_variables_may_appear_in_constraints_only_or_nowhere(self):
        problem = minimize(x**2, variables=[x, y, z]).subject_to(x + y >= 1)
        assert problem.n == 3
        assert problem.A.tolist() == [[1, 1, 0]]


class TestRows:
    def test_sides_are_collected(self):
        problem = minimize(x + y).subject_to(2 * x + 3 <= mu - y, sympy.Eq(x - y, 2 * mu), x + y + 1 >= 0)
        assert problem.A.tolist() == [[2, 1], [1, -1], [1, 1]]
        assert pairs(problem.row_upper) == [(-3, 1), (0, 2), (INFINITY, 0)]
        assert pairs(problem.row_lower) == [(-INFINITY, 0), (0, 2), (-1, 0)]
        assert problem.is_equality.tolist() == [False, True, False]

    def test_variables_on_the_right_keep_their_sign(self):
        problem = minimize(x).subject_to(mu <= x + y, 3 - mu >= x - y)
        assert problem.A.tolist() == [[1, 1], [1, -1]]
        assert pairs(problem.row_lower)[0] == (0, 1)
        assert pairs(problem.row_upper)[1] == (3, -1)

    def test_duplicates_are_kept(self):
        assert minimize(x).subject_to(x + y <= mu, x + y <= mu).m == 2

    def test_no_constraint_gives_no_rows_and_free_variables(self):
        problem = minimize(x**2).subject_to()
        assert problem.m == 0
        assert pairs(problem.lower) == [(-INFINITY, 0)]


class TestBounds:
    def test_one_variable_makes_a_bound(self):
        problem = minimize(x).subject_to(x >= 0, x <= mu)
        assert problem.m == 0
        assert (pairs(problem.lower), pairs(problem.upper)) == ([(0, 0)], [(0, 1)])

    def test_negative_coefficient_turns_the_bound_around(self):
        problem = minimize(x).subject_to(-3 * x <= 1 + mu)
        assert pairs(problem.lower) == [(Fraction(-1, 3), Fraction(-1, 3))]
        assert pairs(problem.upper) == [(INFINITY, 0)]

    def test_float_coefficient_divides_without_rounding(self):
        problem = minimize(x).subject_to(49.0 * x <= 49, 0.1 * y <= 0.3)
        assert pairs(problem.upper) == [(1, 0), (Fraction(0.3) / Fraction(0.1), 0)]

    def test_tighter_of_parallel_bounds_wins(self):
        problem = minimize(x).subject_to(x >= 1 + mu, x >= 3 + mu, x >= 2 + mu, x <= 9, 2 * x <= 10)
        assert problem.m == 0
        assert (pairs(problem.lower), pairs(problem.upper)) == ([(3, 1)], [(5, 0)])

    def test_second_of_crossing_bounds_becomes_a_row(self):
        problem = minimize(x).subject_to(x >= 0, y <= 1, -2 * x <= -mu)
        assert pairs(problem.lower)[0] == (0, 0)
        assert problem.A.tolist() == [[-2, 0]]
        assert pairs(problem.row_upper) == [(0, -1)]

    def test_equality_fixes_its_variable_wherever_it_stands(self):
        problem = minimize(x).subject_to(x >= 0, sympy.Eq(2 * x, mu))
        assert problem.is_fixed.tolist() == [True]
        assert problem.A.tolist() == [[1]]
        assert pairs(problem.row_lower) == [(0, 0)]


class TestSoft:
    def test_soft_constraint_is_a_row_with_its_penalty(self):
        problem = minimize(x**2).subject_to(x + y >= 1, soft(2 * x <= 4, 1 + mu), soft(sympy.Eq(y, 0), 3))
        assert problem.A.tolist() == [[1, 1], [2, 0], [0, 1]]
        assert problem.is_soft.tolist() == [False, True, True]
        assert pairs(problem.penalty) == [(INFINITY, 0), (1, 1), (3, 0)]

    def test_soft_equality_is_an_absolute_value(self):
        # min ½(x − 3)² + mu |x| is 3 − mu until it reaches 0
        path = pqp.solve_path(
            minimize((x - 3) ** 2 / 2).subject_to(soft(sympy.Eq(x, 0), mu)), (0, 5), arithmetic="exact"
        )
        assert path.breakpoints == (3,)
        assert path.x([1, 4]).tolist() == [[2], [0]]

    def test_penalty_must_be_one_number(self):
        with refuses(ProblemError, "penalty", found="shape (2,)"):
            soft(x <= 1, [1, 2])

    def test_soft_twice_is_refused(self):
        with pytest.raises(ProblemError, match="soft already"):
            soft(soft(x <= 1, 2), 3)


OBJECTIVES = {
    "mu times a square": (mu * x**2, r"contains mu\*x\*\*2, but mu may not multiply a quadratic term"),
    "mu squared times x": (mu**2 * x, r"contains mu\*\*2\*x, but coefficients must be affine in mu"),
    "cubic": (x**3 + x, r"contains x\*\*3, but it must be quadratic"),
    "cube of mu": (x + mu**3, r"contains mu\*\*3, but a constant may have mu up to its square"),
    "absolute value": (sympy.Abs(x) + y, r"contains Abs\(x\).*pqp\.soft"),
    "division by mu": (x / mu, r"contains x/mu, which is not a polynomial"),
    "irrational number": (sympy.pi * x, r"coefficient of pi\*x .* give its float value"),
    "text": ("x**2", r"must be a sympy expression, got 'x\*\*2'"),
    "stranger called mu": (sympy.Symbol("mu") * x, r"use pqp\.mu for the parameter"),
    "sign assumption": (
        sympy.Symbol("p", positive=True),
        r"p was declared with .*; declare it without",
    ),
    "integer assumption": (sympy.Symbol("k", integer=True), r"k was declared with assumptions"),
}

CONSTRAINTS = {
    "python equality": (lambda: x == y, r"is False instead of a relation.*sympy\.Eq"),
    "true for every x": (lambda: sympy.Eq(x, x), r"is True instead of a relation"),
    "strictly less": (lambda: x < mu, r"x < mu is strict.*write <="),
    "strictly greater": (lambda: x > 1, r"x > 1 is strict.*write >="),
    "not equal": (lambda: sympy.Ne(x, 1), r"must be <=, >= or sympy\.Eq"),
    "expression": (lambda: x + y, r"must be <=, >= or sympy\.Eq.*got x \+ y"),
    "list": (lambda: [x <= 1], r"one by one, got a list"),
    "conjunction": (lambda: (x >= 0) & (x <= 1), r"several constraints in one"),
    "mu alone": (lambda: mu <= 3, r"mu <= 3 has no variables; to restrict mu, pass its interval"),
    "variables that cancel": (lambda: x + 1 <= x, r"has no variables"),
    "mu times x": (lambda: mu * x + y <= 1, r"contains mu\*x, but mu may move the limit"),
    "product": (lambda: x * y <= 1, r"contains x\*y, but it must be linear"),
    "square of mu": (lambda: x <= mu**2, r"its limit must be affine in mu"),
    "infinite limit": (lambda: x <= sympy.oo, r"must be finite, got -inf; leave out a limit"),
    "lower beyond upper": (lambda: sympy.Eq(z, z + x - 11), r"lower\[0\] = 11 exceeds upper\[0\] = 10"),
    "negative penalty": (lambda: soft(x <= 1, -1), r"penalty\[0\] must be nonnegative, got -1"),
}


@pytest.mark.parametrize(("expression", "message"), OBJECTIVES.values(), ids=OBJECTIVES)
def test_objective_that_is_no_pqp_is_refused_with_the_term_named(expression, message):
    with pytest.raises(ProblemError, match=message):
        minimize(expression)


@pytest.mark.parametrize(("constraint", "message"), CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_constraint_that_is_no_pqp_is_refused_with_its_remedy(constraint, message):
    with pytest.raises(ProblemError, match=message):
        minimize(x**2).subject_to(x <= 10, constraint())


@pytest.mark.parametrize(
    ("objective", "variables", "message"),
    [
        (x + y, [x], "variables lacks y"),
        (x, [x, x], "got 'x' twice"),
        (x, [x, mu], "symbols other than mu"),
        (x, "x", "must be sympy symbols"),
        (mu, None, "contain no variables"),
        (x + sympy.Symbol("x", real=True), None, "got 'x' twice"),
    ],
    ids=["missing", "twice", "mu", "text", "none", "same name"],
)
def test_variables_that_do_not_fit_are_refused(objective, variables, message):
    with pytest.raises(ProblemError, match=message):
        minimize(objective, variables=variables).subject_to()


def test_concave_objective_is_refused():
    with pytest.raises(NotConvexError):
        minimize(x * y).subject_to()


def test_budget_example_is_the_problem_of_its_matrices():
    formula = minimize(x**2 + y**2 - 4 * x - 6 * y).subject_to(x + y <= mu, x >= 0, y >= 0)
    matrices = pqp.ParametricQP(P=[[2, 0], [0, 2]], c=[-4, -6], A=[[1, 1]], row_upper=mu, lower=0)
    paths = [pqp.solve_path(problem, (-2, 8), arithmetic="exact") for problem in (formula, matrices)]
    assert paths[0].breakpoints == paths[1].breakpoints
    assert paths[0].x([0, 3, 8]).tolist() == paths[1].x([0, 3, 8]).tolist()


# three numbers per variable or row: coefficient, constant, slope
NUMBERS = st.fractions(-5, 5, max_denominator=7)
TRIPLES = st.tuples(NUMBERS.filter(bool), NUMBERS, NUMBERS)


@given(
    factor=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=3),
    cost=st.tuples(TRIPLES, TRIPLES),
    row=st.tuples(TRIPLES, TRIPLES),
)
def test_written_out_data_are_read_back(factor, cost, row):
    squares = sum((a * x + b * y) ** 2 for a, b in factor) / sympy.Integer(2)
    linear = sum((constant + slope * mu) * v for (_, constant, slope), v in zip(cost, (x, y), strict=True))
    limit = row[0][1] + row[0][2] * mu
    problem = minimize(squares + linear, variables=[x, y]).subject_to(row[0][0] * x + row[1][0] * y <= limit)
    F = np.array(factor, dtype=object).T
    assert (problem.P.values == F @ F.T).all()
    assert pairs(problem.c) == [(constant, slope) for _, constant, slope in cost]
    assert problem.A.tolist() == [[row[0][0], row[1][0]]]
    assert pairs(problem.row_upper) == [row[0][1:]]
