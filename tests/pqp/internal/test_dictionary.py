"""dictionary: after any pivots Λ = −M_B⁻¹ M_N and the values are M_B⁻¹ q, in both arithmetics."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pqp.errors import InternalError, NumericalTroubleError
from pqp.lcp.dictionary import Dictionary, dictionary_of, first_dictionary, with_free_pairs_in
from pqp.lcp.problem import ParametricLCP, PerturbedMu, unnamed_lcp
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FIELDS, exact_array
from pqp.linalg.tolerances import REBUILD_EVERY

# The same examples in every run, few enough for a slow machine.
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
ARITHMETICS = pytest.mark.parametrize("arithmetic", ["float", "exact"])


def lcp_of(M, q0=None, q1=None, arithmetic="exact", free=None) -> ParametricLCP:
    k, field = len(M), FIELDS[arithmetic]
    q0, q1 = (field.array([0] * k if q is None else q) for q in (q0, q1))
    lcp = unnamed_lcp(field.array(M), AffineArray(q0, q1), field)
    marks = np.zeros(k, dtype=bool) if free is None else np.array(free, dtype=bool)
    return replace(lcp, free=marks)


@st.composite
def quadratic_programs(draw):
    """M = [[P, −Aᵀ], [A, 0]] with P = F Fᵀ of any rank, and q(mu)."""
    n, m = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    numbers = st.integers(-2, 2)
    F = np.array(draw(st.lists(numbers, min_size=2 * n, max_size=2 * n))).reshape(n, 2)
    A = np.array(draw(st.lists(numbers, min_size=m * n, max_size=m * n)), dtype=int).reshape(m, n)
    M = np.block([[F @ F.T, -A.T], [A, np.zeros((m, m), dtype=int)]])
    q = draw(st.lists(st.tuples(numbers, numbers), min_size=n + m, max_size=n + m))
    return M, np.array([pair[0] for pair in q]), np.array([pair[1] for pair in q])


def by_definition(M, q0, q1, basis) -> tuple[np.ndarray, np.ndarray]:
    """Λ and the values from w − M z = q, solved for the basic variables with sympy."""
    k = len(M)
    columns = {True: -sympy.Matrix(M), False: sympy.eye(k)}
    basic = sympy.Matrix.hstack(*(columns[i in basis][:, i] for i in range(k)))
    nonbasic = sympy.Matrix.hstack(*(columns[i not in basis][:, i] for i in range(k)))
    inverse = basic.inv()
    right = sympy.Matrix([list(map(int, q0)), list(map(int, q1))]).T
    as_fractions = exact_array(np.array((-inverse * nonbasic).tolist(), dtype=object))
    return as_fractions, exact_array(np.array((inverse * right).tolist(), dtype=object))


def values(dictionary: Dictionary) -> np.ndarray:
    return np.array([dictionary.value(i) for i in range(dictionary.size)], dtype=object)


def same(left, right, arithmetic: str) -> bool:
    if arithmetic == "exact":
        return bool((np.asarray(left) == np.asarray(right)).all())
    return np.allclose(np.asarray(left, dtype=float), np.asarray(right, dtype=float), rtol=1e-9, atol=1e-9)


def possible_pivot(dictionary: Dictionary, chosen: set[int]) -> bool:
    """A diagonal pivot needs Λ_ii ≠ 0; exchanges are made where Λ_rr = 0 and both corners across are not."""
    if len(chosen) == 1:
        (i,) = chosen
        return dictionary.entry(i, i) != 0
    r, s = sorted(chosen)
    return dictionary.entry(r, r) == 0 and dictionary.entry(r, s) != 0 != dictionary.entry(s, r)


@ARITHMETICS
class TestPivots:
    @QUICK
    @given(
        problem=quadratic_programs(),
        moves=st.lists(st.sets(st.integers(0, 4), min_size=1, max_size=2), max_size=5),
    )
    def test_dictionary_is_minus_inverse_of_M_B_times_M_N(self, arithmetic, problem, moves):
        M, q0, q1 = problem
        dictionary, shadow = (
            first_dictionary(lcp_of(M, q0, q1, arithmetic)),
            first_dictionary(lcp_of(M, q0, q1)),
        )
        for chosen in moves:
            if max(chosen) < len(M) and possible_pivot(shadow, chosen):
                dictionary, shadow = dictionary.pivot(chosen), shadow.pivot(chosen)
        Lambda, right = by_definition(M, q0, q1, shadow.basis)
        assert dictionary.basis == shadow.basis
        assert same(dictionary.matrix(), Lambda, arithmetic)
        assert same(values(dictionary), right, arithmetic)

    @QUICK
    @given(problem=quadratic_programs(), data=st.data())
    def test_pivoting_twice_returns_to_the_start(self, arithmetic, problem, data):
        M, q0, q1 = problem
        exact = first_dictionary(lcp_of(M, q0, q1))
        pairs = [{i, j} for i in range(len(M)) for j in range(i, len(M))]
        possible = [chosen for chosen in pairs if possible_pivot(exact, chosen)]
        assume(possible)
        chosen = data.draw(st.sampled_from(possible))
        start = first_dictionary(lcp_of(M, q0, q1, arithmetic))
        back = start.pivot(chosen).pivot(chosen)
        assert back.basis == start.basis
        assert same(back.matrix(), M, arithmetic)
        assert same(values(back), np.column_stack([q0, q1]), arithmetic)

    def test_exchange_pivot_has_the_effect_of_two_diagonal_pivots(self, arithmetic):
        start = first_dictionary(lcp_of([[2, 1, 1], [1, 2, 0], [1, 0, 3]], [1, 2, 3], [0, 1, 0], arithmetic))
        both, one_by_one = start.pivot({0, 2}), start.pivot({0}).pivot({2})
        assert both.basis == one_by_one.basis == {0, 2}
        assert same(both.matrix(), one_by_one.matrix(), arithmetic)
        assert same(values(both), values(one_by_one), arithmetic)

    def test_exchange_pivot_by_hand(self, arithmetic):
        # w1 = -z2 + 1, w2 = z1 - 1: z1 = w2 + 1 and z2 = -w1 + 1.
        dictionary = first_dictionary(lcp_of([[0, -1], [1, 0]], [1, -1], arithmetic=arithmetic)).pivot({0, 1})
        assert dictionary.matrix().tolist() == [[0, 1], [-1, 0]]
        assert [dictionary.value(i)[0] for i in (0, 1)] == [1, 1]
        assert [dictionary.basic_name(i) for i in (0, 1)] == ["z1", "z2"]
        assert [dictionary.nonbasic_name(i) for i in (0, 1)] == ["w1", "w2"]

    @QUICK
    @given(problem=quadratic_programs(), basis=st.sets(st.integers(0, 4)))
    def test_dictionary_of_a_basis_needs_no_history(self, arithmetic, problem, basis):
        M, q0, q1 = problem
        basis = {i for i in basis if i < len(M)}
        assume(sympy.Matrix(M[np.ix_(sorted(basis), sorted(basis))]).det() != 0)
        dictionary = dictionary_of(lcp_of(M, q0, q1, arithmetic), basis)
        Lambda, right = by_definition(M, q0, q1, basis)
        assert same(dictionary.matrix(), Lambda, arithmetic)
        assert same(values(dictionary), right, arithmetic)

    @QUICK
    @given(problem=quadratic_programs(), basis=st.sets(st.integers(0, 4)))
    def test_every_dictionary_is_bisymmetric_and_positive_semidefinite(self, arithmetic, problem, basis):
        """Paper, (5) and below: |Λ_ij| = |Λ_ji| and vᵀΛv ≥ 0."""
        M, q0, q1 = problem
        basis = {i for i in basis if i < len(M)}
        assume(sympy.Matrix(M[np.ix_(sorted(basis), sorted(basis))]).det() != 0)
        Lambda = dictionary_of(lcp_of(M, q0, q1, arithmetic), basis).matrix()
        assert same(abs(Lambda), abs(Lambda.T), arithmetic)
        assert np.linalg.eigvalsh((Lambda + Lambda.T).astype(float))[0] >= -1e-9

    def test_units_of_the_problem_are_kept_whatever_the_scaling(self, arithmetic):
        M = [[Fraction(1, 1024), Fraction(-3)], [Fraction(3), Fraction(0)]]
        dictionary = first_dictionary(lcp_of(M, [4096, Fraction(1, 8)], arithmetic=arithmetic))
        assert same(dictionary.matrix(), M, arithmetic)
        # 0 = z1/1024 - 3 z2 + 4096 solved for z1 at z2 = 0.
        assert dictionary.pivot({0}).value(0)[0] == -4096 * 1024

    def test_z_is_zero_where_it_is_not_basic_and_w_where_z_is(self, arithmetic):
        dictionary = first_dictionary(lcp_of([[2, 0], [0, 1]], [-1, 3], [2, 0], arithmetic)).pivot({0})
        constant, slope = dictionary.z()
        assert (constant.tolist(), slope.tolist()) == ([0.5, 0], [-1, 0])

    def test_singular_basis_is_never_a_bare_linear_algebra_error(self, arithmetic):
        expected = NumericalTroubleError if arithmetic == "float" else InternalError
        with pytest.raises(expected):
            dictionary_of(lcp_of([[1, 1], [1, 1]], arithmetic=arithmetic), {0, 1})

    def test_problem_without_pairs_has_an_empty_dictionary(self, arithmetic):
        dictionary = dictionary_of(lcp_of(np.zeros((0, 0)), arithmetic=arithmetic), set())
        assert dictionary.value_signs(PerturbedMu(0)) == []


class TestAge:
    def test_float_dictionary_is_rebuilt_from_the_data_on_a_cadence(self):
        dictionary = first_dictionary(lcp_of([[3, 1], [1, 7]], [1, 2], arithmetic="float"))
        ages = []
        for step in range(REBUILD_EVERY):
            dictionary = dictionary.pivot({step % 2})
            ages.append(dictionary.age)
        assert ages == [*range(1, REBUILD_EVERY), 0]

    def test_fresh_dictionary_is_the_same_dictionary(self):
        dictionary = first_dictionary(lcp_of([[3, 1], [1, 7]], [1, 2], arithmetic="float")).pivot({0})
        assert dictionary.fresh().age == 0
        assert same(dictionary.fresh().matrix(), dictionary.matrix(), "float")


@ARITHMETICS
class TestFreePairs:
    def test_free_pairs_come_in_by_one_block_pivot(self, arithmetic):
        """min ½x² with x free and the equality x = 3: x = y = 3 in the first dictionary already."""
        lcp = lcp_of([[1, -1], [1, 0]], [0, -3], arithmetic=arithmetic, free=[True, True])
        dictionary = with_free_pairs_in(first_dictionary(lcp))
        assert dictionary.basis == {0, 1}
        assert dictionary.z()[0].tolist() == [3, 3]

    def test_free_pair_without_curvature_comes_in_with_a_row(self, arithmetic):
        lcp = lcp_of([[0, -1], [1, 0]], [1, -1], arithmetic=arithmetic, free=[True, False])
        assert with_free_pairs_in(first_dictionary(lcp)).basis == {0, 1}

    def test_free_pair_that_nothing_determines_stays_out_idle(self, arithmetic):
        lcp = lcp_of([[0, 0], [0, 2]], [5, -1], arithmetic=arithmetic, free=[True, True])
        dictionary = with_free_pairs_in(first_dictionary(lcp))
        assert dictionary.basis == {1}
        assert [dictionary.idle(i) for i in (0, 1)] == [True, False]
        assert dictionary.value_signs(PerturbedMu(0)) == [1, 0]

    def test_free_columns_never_move(self, arithmetic):
        lcp = lcp_of([[1, 2], [-2, 1]], arithmetic=arithmetic, free=[False, True])
        assert first_dictionary(lcp).row_signs(0) == [1, 0]


@ARITHMETICS
class TestPlaces:
    def test_epsilon_decides_where_the_value_vanishes(self, arithmetic):
        # Values 1 - mu, mu - 1 and 2 at mu = 1, just left and just right of it, and far out.
        dictionary = first_dictionary(lcp_of(np.eye(3), [1, -1, 2], [-1, 1, 0], arithmetic))
        places = [
            PerturbedMu(1),
            PerturbedMu(1, -1),
            PerturbedMu(1, 1),
            PerturbedMu(-math.inf),
            PerturbedMu(math.inf),
        ]
        signs = [dictionary.value_signs(place) for place in places]
        assert signs == [[0, 0, 1], [1, -1, 1], [-1, 1, 1], [1, -1, 1], [-1, 1, 1]]

    def test_place_prints_its_side(self, arithmetic):
        three = FIELDS[arithmetic].number(3)
        assert [str(PerturbedMu(three, side)).replace("3.0", "3") for side in (-1, 0, 1)] == [
            "3 - ε",
            "3",
            "3 + ε",
        ]

    @QUICK
    @given(
        value=st.tuples(st.fractions(-3, 3, max_denominator=4), st.fractions(-3, 3, max_denominator=4)),
        mu=st.fractions(-3, 3, max_denominator=4),
        side=st.sampled_from([-1, 0, 1]),
    )
    def test_weights_give_the_sign_a_real_epsilon_would_give(self, arithmetic, value, mu, side):
        constant, slope = value
        # constant + mu slope is 0 or at least 1/16 in size and |slope| <= 3, so this epsilon is small enough.
        beside = constant + (mu + side * Fraction(1, 1000)) * slope
        dictionary = first_dictionary(lcp_of([[1]], [constant], [slope], arithmetic))
        assert dictionary.value_signs(PerturbedMu(mu, side)) == [int(beside > 0) - int(beside < 0)]
