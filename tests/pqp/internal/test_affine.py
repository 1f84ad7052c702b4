"""affine: arithmetic with `pqp.mu`, whatever the numbers around it are made of."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from pqp import Affine, mu
from pqp.errors import ProblemError
from pqp.model.affine import affine_vector, as_affine, mu_symbol
from tests.refusals import refuses

# The same examples in every run, few enough for a slow machine.
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
HALF = Fraction(1, 2)
LARGE = 2**60 + 1


def parts(value) -> tuple[object, object]:
    """Constant and slope as plain numbers or lists."""
    data = as_affine(value, "data")
    return data.constant.tolist(), data.slope.tolist()


class TestScalars:
    @pytest.mark.parametrize(
        "two",
        [2, 2.0, Fraction(2), Decimal(2), sympy.Integer(2), np.int32(2), np.float64(2), np.array(2)],
        ids=repr,
    )
    def test_sum_difference_product_and_quotient_with_every_kind_of_number(self, two):
        assert parts(two + mu) == parts(mu + two) == (2, 1)
        assert parts(two - mu) == (2, -1)
        assert parts(mu - two) == (-2, 1)
        assert parts(two * mu) == parts(mu * two) == (0, 2)
        assert parts(mu / two) == (0, HALF)

    def test_three_minus_mu_of_the_issue(self):
        assert parts(3 - mu) == (3, -1)

    def test_signs(self):
        assert parts(-mu) == (0, -1)
        assert parts(+mu) == (0, 1)

    def test_sympy_rationals_and_fractions_stay_exact(self):
        assert parts(sympy.Rational(1, 3) * mu + Fraction(1, 7)) == (Fraction(1, 7), Fraction(1, 3))
        assert parts(mu / 3) == (0, Fraction(1, 3))

    def test_float_quotient_is_a_float(self):
        assert parts(mu / 4.0) == (0, 0.25)

    def test_large_integers_are_not_rounded_and_do_not_wrap_around(self):
        assert parts(LARGE * mu + LARGE) == (LARGE, LARGE)
        assert parts((2**40 * mu) * 2**40) == (0, 2**80)
        assert parts(sum([2**62 * mu] * 8)) == (0, 2**65)
        assert parts([LARGE, 0.5 * mu]) == ([LARGE, 0], [0, HALF])

    @QUICK
    @given(a=st.fractions(), b=st.fractions(), k=st.fractions(), at=st.fractions())
    def test_arithmetic_on_functions_is_arithmetic_on_values(self, a, b, k, at):
        f = a + b * mu
        assert (k * f - 2).at(at) == k * (a + b * at) - 2
        assert (f + f).at(at) == 2 * f.at(at)


class TestArrays:
    def test_mu_times_ones_of_the_issue(self):
        assert parts(mu * np.ones(3)) == parts(np.ones(3) * mu) == ([0, 0, 0], [1, 1, 1])

    @pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, lambda v: np.array(v, dtype=object)])
    def test_constant_plus_mu_times_slope_in_every_container(self, kind):
        assert parts(kind([1, 2]) + mu * kind([3, -4])) == ([1, 2], [3, -4])
        assert parts(mu * kind([3, -4]) + kind([1, 2])) == ([1, 2], [3, -4])
        assert parts(kind([1, 2]) - mu * kind([3, -4])) == ([1, 2], [-3, 4])
        assert parts(kind([3, -4]) * mu) == ([0, 0], [3, -4])

    def test_series_keeps_its_values_not_its_labels(self):
        c = pd.Series([Fraction(1, 3), Fraction(2, 3)], index=["b", "a"])
        assert parts(mu * c) == ([0, 0], [Fraction(1, 3), Fraction(2, 3)])

    @pytest.mark.parametrize("kind", [list, tuple, pd.Series, lambda v: np.array(v, dtype=object)])
    def test_entries_may_be_affine_one_by_one(self, kind):
        data = kind([1, 3 - mu, sympy.Rational(1, 2) * mu, 0.25])
        assert parts(data) == ([1, 3, 0, 0.25], [0, -1, HALF, 0])

    def test_scalar_and_vector_combine(self):
        weights = [1, 2]
        assert parts(mu + weights) == parts(weights + mu) == ([1, 2], [1, 1])
        assert parts((1 - mu) * [1, 2]) == ([1, 2], [-1, -2])

    def test_entries_and_slices_can_be_taken(self):
        data = [1, 2, 3] + mu * [4, 5, 6]
        assert parts(data[1]) == (2, 5)
        assert parts(data[1:]) == ([2, 3], [5, 6])
        assert [parts(entry) for entry in data] == [(1, 4), (2, 5), (3, 6)]

    def test_single_number_cannot_be_iterated_over(self):
        with pytest.raises(TypeError, match="cannot be iterated over"):
            iter(mu)

    def test_arrays_are_read_only_and_independent_of_what_was_given(self):
        slope = np.array([1.0, 2.0])
        data = mu * slope
        slope[0] = 9.0
        assert data.slope.tolist() == [1.0, 2.0]
        for array in (data.constant, data.slope, mu.slope):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0

    def test_shapes_that_do_not_match_are_named(self):
        with pytest.raises(ProblemError, match=r"\(3,\).*\(2,\)"):
            mu * np.ones(3) + np.ones(2)


class TestValues:
    def test_exact_at_exact_is_exact(self):
        value = (np.array([1, 2]) + mu * [0, 5]).at(Fraction(1, 5))
        assert value.tolist() == [1, 3]
        assert all(isinstance(entry, Fraction | int) for entry in value)

    def test_exact_at_float_is_float(self):
        assert isinstance((1 - mu).at(0.5), float)

    def test_infinite_entries_stay_infinite(self):
        assert ([math.inf, -math.inf, 1] + mu * [0, 0, 2]).at(-3).tolist() == [math.inf, -math.inf, -5]

    def test_symbol_of_sympy_is_the_same_parameter(self):
        assert parts(3 - 2 * mu_symbol()) == (3, -2)
        assert parts([mu_symbol(), 1]) == ([0, 1], [1, 0])

    def test_formula_with_variables_stays_a_formula(self):
        x = sympy.Symbol("x")
        assert (mu + x, 2 * mu * x, x - mu) == (mu_symbol() + x, 2 * mu_symbol() * x, x - mu_symbol())

    def test_printing_shows_the_function(self):
        assert str(3 - mu) == "3 - mu"
        assert str([1, 2] + mu * [3, 4]) == "[1 2] + mu * [3 4]"


class TestMessages:
    @pytest.mark.parametrize(
        ("build", "wrong"),
        [
            (lambda: mu * mu, {"argument": "data", "found": "mu multiplied by mu"}),
            (
                lambda: (1 + mu) * (mu * np.ones(2)),
                {"argument": "data", "found": "mu multiplied by mu"},
            ),
            (lambda: 1 / mu, {"argument": "data", "found": "a division by mu"}),
            (lambda: mu / (1 + mu), {"argument": "data", "found": "a division by mu"}),
            (lambda: mu / 0, {"argument": "data", "found": "a division by zero"}),
            (lambda: mu + "1", {"argument": "data", "found": "strings"}),
            (lambda: as_affine(mu**2, "b"), {"argument": "b", "found": "mu**2"}),
            (lambda: as_affine(sympy.sin(mu_symbol()), "b"), {"argument": "b", "found": "sin(mu)"}),
            (lambda: as_affine(sympy.Symbol("t") * mu_symbol(), "b"), {"argument": "b", "found": "t"}),
            (lambda: as_affine([mu, math.nan], "b"), {"argument": "b[1]", "found": "nan"}),
            (lambda: as_affine([mu, None], "b"), {"argument": "b[1]", "found": "None is not a number"}),
            (
                lambda: as_affine([mu, [1, 2]], "b"),
                {"argument": "b[1]", "found": "shape (2,)"},
            ),
            (lambda: as_affine(sympy.sqrt(2) * mu, "b"), {"argument": "b"}),
            (
                lambda: affine_vector([1, 2], 3, "b"),
                {"argument": "b", "found": "shape (2,)"},
            ),
            (
                lambda: affine_vector([[1]], 1, "b"),
                {"argument": "b", "found": "shape (1, 1)"},
            ),
        ],
    )
    def test_what_is_not_affine_is_refused_with_its_reason(self, build, wrong):
        with refuses(ProblemError, **wrong):
            build()

    def test_infinite_slope_is_refused_without_a_warning(self):
        with refuses(ProblemError, "data", found="mu multiplied by infinity"):
            as_affine(mu * math.inf, "b")

    def test_data_cannot_be_changed(self):
        with pytest.raises(AttributeError):
            mu.slope = np.array(2)


def test_single_number_stands_for_every_entry():
    assert parts(affine_vector(3 - mu, 2, "b")) == ([3, 3], [-1, -1])
    assert isinstance(affine_vector(1, 2, "b"), Affine)
