"""table: a pivot describes the same linear system, in float64 and without fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pqp.errors import InternalError
from pqp.linalg.field import FIELDS
from pqp.linalg.tableau import ExactTableau, build_tableau, exact_tableau, float_tableau

# The same examples in every run, few enough for a slow machine.
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
ARITHMETICS = pytest.mark.parametrize("arithmetic", ["float", "exact"])


def matrices(size: int, columns: int, largest: int = 5):
    row = st.lists(st.integers(-largest, largest), min_size=columns, max_size=columns)
    return st.lists(row, min_size=size, max_size=size)


def exchanged(T: list[list[Fraction]], row: int, column: int) -> list[list[Fraction]]:
    """The pivot from its definition: equation `row` solved for variable `column` and put into the others.

    basic_r = Σ T_rj v_j  gives  v_c = (basic_r − Σ_{j≠c} T_rj v_j) / T_rc.
    """
    solved = [-entry / T[row][column] for entry in T[row]]
    solved[column] = 1 / Fraction(T[row][column])
    result = []
    for i, old in enumerate(T):
        put_in = [
            old[j] + old[column] * solved[j] if j != column else old[column] * solved[column]
            for j in range(len(old))
        ]
        result.append(solved if i == row else put_in)
    return result


def entries(table) -> list[list]:
    rows, columns = table.shape
    return [[table.entry(i, j) for j in range(columns)] for i in range(rows)]


def same(left: list[list], right: list[list], arithmetic: str) -> bool:
    if arithmetic == "exact":
        return left == right
    return np.allclose(np.array(left, dtype=float), np.array(right, dtype=float), rtol=1e-9, atol=1e-9)


@ARITHMETICS
class TestExchange:
    def test_pivot_of_a_two_by_two_system(self, arithmetic):
        # a = 2v + 3 and b = v + 4 solved for v: v = a/2 - 3/2, b = a/2 - 3/2 + 4.
        table = build_tableau(np.array([[2, 3], [1, 4]]), FIELDS[arithmetic]).pivot(0, 0)
        assert entries(table) == [[0.5, -1.5], [0.5, 2.5]]

    @QUICK
    @given(T=matrices(3, 5), moves=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=6))
    def test_every_sequence_of_pivots_equals_fraction_arithmetic(self, arithmetic, T, moves):
        table, reference = (
            build_tableau(np.array(T), FIELDS[arithmetic]),
            [[Fraction(t) for t in row] for row in T],
        )
        for row, column in moves:
            if reference[row][column] == 0:
                continue
            table, reference = table.pivot(row, column), exchanged(reference, row, column)
        assert same(entries(table), reference, arithmetic)

    @QUICK
    @given(T=matrices(3, 5), row=st.integers(0, 2), column=st.integers(0, 2))
    def test_pivoting_twice_returns_to_the_start(self, arithmetic, T, row, column):
        assume(T[row][column] != 0)
        table = build_tableau(np.array(T), FIELDS[arithmetic])
        assert same(entries(table.pivot(row, column).pivot(row, column)), entries(table), arithmetic)

    @QUICK
    @given(T=matrices(2, 4), v=st.lists(st.integers(-4, 4), min_size=2, max_size=2), mu=st.integers(-4, 4))
    def test_pivoted_table_describes_the_same_solutions(self, arithmetic, T, v, mu):
        assume(T[0][1] != 0)
        basic = [sum(t * value for t, value in zip(row, [*v, 1, mu], strict=True)) for row in T]
        table = build_tableau(np.array(T), FIELDS[arithmetic]).pivot(0, 1)
        nonbasic = [v[0], basic[0], 1, mu]
        found = [sum(t * value for t, value in zip(row, nonbasic, strict=True)) for row in entries(table)]
        assert same([found], [[v[1], basic[1]]], arithmetic)

    def test_exchange_leaves_the_old_table_alone(self, arithmetic):
        table = build_tableau(np.array([[2, 3, 1], [1, 4, 0]]), FIELDS[arithmetic])
        before = entries(table)
        table.pivot(0, 1)
        assert entries(table) == before


@ARITHMETICS
class TestSigns:
    def test_first_weight_that_does_not_vanish_decides(self, arithmetic):
        # Columns constant and mu at mu = 2, then beside it: 4 - 2·2 = 0 leaves the sign to the slope.
        values = np.array([[4, -2], [5, -2], [3, -2], [0, 0], [-4, 2]])
        table = build_tableau(values, FIELDS[arithmetic])
        assert table.value_signs([(1, 2)]) == [0, 1, -1, 0, 0]
        assert table.value_signs([(1, 2), (0, 1)]) == [-1, 1, -1, 0, 1]
        assert table.value_signs([(1, 2), (0, -1)]) == [1, 1, -1, 0, -1]

    def test_weights_may_be_fractions(self, arithmetic):
        table = build_tableau(np.array([[1, -3], [2, -3]]), FIELDS[arithmetic])
        assert table.value_signs([(1, Fraction(1, 3)), (0, 1)]) == [-1, 1]

    def test_row_signs_leave_the_right_hand_side_out(self, arithmetic):
        table = build_tableau(np.array([[3, 0, -2, -9, 9]]), FIELDS[arithmetic])
        assert table.row_signs(0, 3) == [1, 0, -1]

    def test_permutation_moves_rows_and_columns_and_keeps_the_right_hand_side_last(self, arithmetic):
        table = build_tableau(np.array([[1, 2, 10, 20], [3, 4, 30, 40]]), FIELDS[arithmetic])
        assert entries(table.permuted([1, 0])) == [[4, 3, 30, 40], [2, 1, 10, 20]]


class TestFloatZero:
    def test_round_off_in_a_row_is_relative_to_its_largest_entry(self):
        assert float_tableau(np.array([[1e6, 1e-5, 0, 0]])).row_signs(0, 2) == [1, 0]
        assert float_tableau(np.array([[1.0, 1e-5, 0, 0]])).row_signs(0, 2) == [1, 1]

    def test_value_is_judged_relative_to_the_terms_it_is_the_sum_of(self):
        table = float_tableau(np.array([[1e8, -1e8 + 1e-3]]))
        assert table.value_signs([(1, 1)]) == [0]

    def test_later_weights_decide_where_round_off_hid_the_first(self):
        assert float_tableau(np.array([[1e-12, -1.0]])).value_signs([(1, 0), (0, 1)]) == [-1]


class TestFractionFree:
    @QUICK
    @given(T=matrices(3, 5, largest=9), order=st.permutations(range(3)))
    def test_numerators_are_minors_so_the_denominator_is_the_pivoted_determinant(self, T, order):
        """After principal pivots on all rows the common denominator is |det T| (Edmonds 1967)."""
        table = exact_tableau(np.array(T))
        for i in order:
            assume(table.entry(i, i) != 0)
            table = table.pivot(i, i)
        assert int(table.denominator) == abs(round(np.linalg.det(np.array(T)[:, :3])))

    def test_denominator_stays_positive_after_a_negative_pivot(self):
        table = exact_tableau(np.array([[-3, 1, 2], [1, 1, 1]])).pivot(0, 0)
        assert int(table.denominator) == 3
        assert table.entry(0, 0) == Fraction(-1, 3)

    def test_table_must_start_from_whole_numbers(self):
        with pytest.raises(InternalError, match="needs whole numbers, got 1/2"):
            exact_tableau(np.array([[Fraction(1, 2)]], dtype=object))

    def test_integers_beyond_64_bits_are_kept(self):
        big = 10**30
        table = exact_tableau(np.array([[big, 1, 1]], dtype=object)).pivot(0, 0)
        assert isinstance(table, ExactTableau)
        assert table.entry(0, 0) == Fraction(1, big)
