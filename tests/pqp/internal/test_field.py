"""field: numbers of two arithmetics, their signs, and the messages for what is not a number."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from pqp.errors import PQPError, ProblemError
from pqp.linalg.field import (
    FLOAT,
    RATIONAL,
    as_numbers,
    entry_name,
    exact,
    exact_array,
    fraction,
    from_flint,
    to_flint,
)
from pqp.linalg.matrices import given_exactly
from tests.refusals import refuses

# The same examples in every run, few enough for a slow machine.
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
LARGE = 2**60 + 1


@pytest.mark.parametrize("field", [FLOAT, RATIONAL], ids=["float", "exact"])
class TestSign:
    def test_signs_of_plain_numbers(self, field):
        assert [field.sign(field.number(value)) for value in (-3, 0, 0.5)] == [-1, 0, 1]

    @QUICK
    @given(value=st.fractions())
    def test_negation_flips_the_sign(self, field, value):
        number = field.number(value)
        assert field.sign(-number) == -field.sign(number)


class TestWhatCountsAsZero:
    def test_float_takes_round_off_for_zero_relative_to_the_scale(self):
        assert FLOAT.sign(1e-12) == 0
        assert FLOAT.sign(1e-4, scale=1e6) == 0
        assert FLOAT.sign(1e-4) == 1

    def test_exact_takes_nothing_but_zero_for_zero(self):
        assert RATIONAL.sign(Fraction(-1, 10**300), scale=1e6) == -1


class TestExact:
    def test_float_is_taken_at_face_value(self):
        # docs/file-format.md: the float64 nearest to 0.1 is this dyadic rational.
        assert exact(0.1) == Fraction(3602879701896397, 36028797018963968)

    @pytest.mark.parametrize(
        "value",
        [
            np.float64(0.75),
            np.float32(0.75),
            Decimal("0.75"),
            sympy.Rational(3, 4),
            sympy.Float(0.75),
            Fraction(3, 4),
        ],
    )
    def test_every_kind_of_number_becomes_the_same_fraction(self, value):
        assert exact(value) == Fraction(3, 4)
        assert isinstance(exact(value), Fraction)

    @pytest.mark.parametrize("value", [np.int8(-3), np.bool_(True), sympy.Integer(5), 2**80, True])
    def test_whole_numbers_of_every_kind_are_kept(self, value):
        assert exact(value) == Fraction(int(value))

    @pytest.mark.parametrize("value", [math.inf, np.float64(np.inf), sympy.oo])
    def test_infinity_stays_infinite(self, value):
        assert exact(value) == math.inf
        assert exact(-value) == -math.inf

    def test_irrational_number_is_refused_with_a_remedy(self):
        with pytest.raises(TypeError, match=r"sqrt\(2\) is not rational; give its float value"):
            exact(sympy.sqrt(2))

    @pytest.mark.parametrize("value", ["1/3", None, 1j, sympy.Symbol("x")])
    def test_what_is_no_number_is_named(self, value):
        with pytest.raises(TypeError, match="is not a number"):
            exact(value)

    def test_fraction_refuses_infinity(self):
        with pytest.raises(TypeError, match="inf is not finite"):
            fraction(math.inf)

    @QUICK
    @given(value=st.fractions())
    def test_flint_and_back_changes_nothing(self, value):
        assert from_flint(to_flint(value)) == value

    @QUICK
    @given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False)))
    def test_exact_array_of_floats_loses_nothing(self, values):
        assert [float(entry) for entry in exact_array(values)] == values


class TestAsNumbers:
    def test_integers_rationals_and_floats_keep_their_kind(self):
        assert as_numbers([1, 2], "c").dtype == np.int64
        assert as_numbers([1, 0.5], "c").dtype == np.float64
        assert as_numbers([1, Fraction(1, 3)], "c").tolist() == [Fraction(1), Fraction(1, 3)]

    def test_only_floats_count_as_inexact(self):
        kinds = [[1], [True], [Fraction(1, 3)], [2**70], [0.5]]
        assert [given_exactly(as_numbers(values, "c")) for values in kinds] == [True, True, True, True, False]

    @pytest.mark.parametrize(
        "values",
        [
            [LARGE, 0.5],
            [LARGE, Fraction(1, 2)],
            [LARGE, math.inf],
            [2**64 + 1, 0.5],
            (0.5, LARGE),
            [2**63, -1],
        ],
        ids=str,
    )
    def test_large_integers_beside_others_are_not_rounded(self, values):
        assert [exact(entry) for entry in as_numbers(values, "c").tolist()] == [
            exact(value) for value in values
        ]

    def test_unsigned_integers_do_not_wrap_around(self):
        top = np.array([2**64 - 1], dtype=np.uint64)
        assert (-as_numbers(top, "c")).tolist() == [-(2**64 - 1)]

    def test_sparse_matrices_and_frames_are_read_like_dense_ones(self):
        dense = [[0, 2], [1, 0]]
        for values in (scipy.sparse.csr_matrix(dense), scipy.sparse.coo_array(dense), pd.DataFrame(dense)):
            assert as_numbers(values, "A").tolist() == dense

    def test_result_is_read_only_and_a_copy(self):
        given_ = np.array([1.0, 2.0])
        numbers = as_numbers(given_, "c")
        given_[0] = 7.0
        assert numbers.tolist() == [1.0, 2.0]
        assert given_.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            numbers[0] = 3

    @pytest.mark.parametrize(
        ("values", "wrong"),
        [
            ([1, math.nan], {"argument": "c[1]", "found": "nan"}),
            ([[1, 2], [3, math.nan]], {"argument": "c[1, 1]", "found": "nan"}),
            ([Fraction(1), math.nan], {"argument": "c[1]", "found": "nan"}),
            (math.nan, {"argument": "c", "found": "nan"}),
            (pd.Series([1, None]), {"argument": "c[1]", "found": "nan"}),
            (pd.Series([1, None], dtype="Int64"), {"argument": "c[1]", "found": "nan"}),
            ([1, None], {"argument": "c[1]", "found": "None is not a number"}),
            ([1, 2 + 0j], {"argument": "c", "found": "complex numbers"}),
            (["1", "2"], {"argument": "c", "found": "strings"}),
            ([b"1"], {"argument": "c", "found": "bytes"}),
            (np.array(["2020-01-01"], dtype="M8[D]"), {"argument": "c", "found": "dates"}),
            ([[1, 2], [3]], {"argument": "c"}),
            (
                [1, sympy.pi],
                {"argument": "c[1]"},
            ),
            (
                np.ma.array([1, 2], mask=[0, 1]),
                {"argument": "c", "found": "a masked array"},
            ),
        ],
        ids=str,
    )
    def test_message_names_the_argument_what_was_found_and_what_is_needed(self, values, wrong):
        with refuses(ProblemError, **wrong) as caught:
            as_numbers(values, "c")
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, PQPError)

    def test_number_beyond_float64_is_kept_in_exact_and_refused_in_float(self):
        huge = as_numbers([10**400], "c")
        assert RATIONAL.array(huge).tolist() == [10**400]
        with pytest.raises(ProblemError, match="too large for float64; use arithmetic='exact'"):
            FLOAT.array(huge)


def test_entries_are_called_by_name_and_index():
    assert [entry_name("A", index) for index in [(0, 2), (3,), ()]] == ["A[0, 2]", "A[3]", "A"]
