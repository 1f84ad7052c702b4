"""Affine expressions as text mean what arithmetic says, and nothing else is understood."""

import contextlib
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqp.errors import ProblemError
from pqp.model.affine import read_affine, read_number

rationals = st.fractions(max_denominator=1000)
floats = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("text", "constant", "slope"),
    [
        ("mu", 0, 1),
        ("-mu", 0, -1),
        ("3 - 2*mu", 3, -2),
        ("mu/3 + 1/2", Fraction(1, 2), Fraction(1, 3)),
        ("2*(1 - mu)*3/4", Fraction(3, 2), Fraction(-3, 2)),
        ("- -(mu) + (+1)", 1, 1),
        ("1 - (2 - (3 - mu))", 2, -1),
        ("0*mu*5", 0, 0),
        ("inf", math.inf, 0),
        (" -inf ", -math.inf, 0),
    ],
)
def test_expression_has_the_coefficients_of_arithmetic(text, constant, slope):
    assert read_affine(text) == (constant, slope)


def test_decimals_are_floats_and_their_arithmetic_is_exact():
    assert read_affine("0.1 + 0.2*mu") == (0.1, 0.2)
    assert read_affine("0.1*3") == (3 * Fraction(0.1), 0)
    assert isinstance(read_affine("0.5*mu")[1], float)


NUMBERS = ["1_000", "0x10", "1j", "nan", "1e400", "inf + 1", "1/0", "３", "1,2", "[1]"]
FORMULAS = ["", " ", "x", "μ", "2mu", "mu mu", "mu*mu", "1/mu", "mu/(1-1)", "2**3", "+", "()", "(mu", "mu)"]
PYTHON = ["__import__('os')", "mu.real", "lambda: 1", "(" * 60, "mu if mu else 1", "mu # 1", "_0", "mu(1)"]
LARGE = ["-" * 20_000 + "mu", "(" * 300 + "mu" + ")" * 300]


@pytest.mark.parametrize("text", NUMBERS + FORMULAS + PYTHON)
def test_anything_else_is_refused(text):
    with pytest.raises(ProblemError, match="is not an affine expression in mu") as caught:
        read_affine(text)
    assert caught.value.found == repr(text)


@pytest.mark.parametrize("text", LARGE, ids=["signs", "parentheses"])
def test_text_of_too_many_operations_is_refused(text):
    with pytest.raises(ProblemError, match=r"\.\.\.' is not an affine expression in mu"):
        read_affine(text)


@given(constant=rationals, slope=rationals)
def test_rational_coefficients_are_kept_exactly(constant, slope):
    assert read_affine(f"{constant} + ({slope})*mu") == (constant, slope)


@given(value=floats)
def test_float_is_kept_exactly(value):
    assert read_number(repr(value)) == value


@given(value=st.one_of(rationals, st.integers()))
def test_number_is_kept_exactly(value):
    assert read_number(str(value)) == value


@given(text=st.text(alphabet="mu0123456789.+-*/() e", max_size=30))
def test_no_text_raises_anything_but_a_problem_error(text):
    with contextlib.suppress(ProblemError):
        read_affine(text)


def test_integers_may_have_any_number_of_digits():
    assert read_number("1" + "0" * 5000) == 10**5000


def test_number_must_not_depend_on_mu():
    with pytest.raises(ProblemError, match="depends on mu"):
        read_number("3*mu")
