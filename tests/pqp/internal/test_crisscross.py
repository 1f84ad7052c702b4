"""crisscross: which pivot a rule chooses, how the method ends, and how long it takes at worst."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqp.lcp.crisscross import LEAST_INDEX, RULES, Broken, Cycled, Infeasible, Solved, criss_cross
from pqp.lcp.dictionary import first_dictionary, with_free_pairs_in
from pqp.lcp.problem import PerturbedMu, unnamed_lcp
from pqp.lcp.solve_lcp import run
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FIELDS

# The same examples in every run, few enough for a slow machine.
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
ARITHMETICS = pytest.mark.parametrize("arithmetic", ["float", "exact"])
EVERY_RULE = pytest.mark.parametrize("rule", RULES)


def solve(M, q, arithmetic="exact", rule="least-index", place=PerturbedMu(0), slope=None, free=None):  # noqa: B008
    """The pivots and the outcome of the method from the first dictionary."""
    field, k = FIELDS[arithmetic], len(M)
    q0, q1 = field.array(q), field.array([0] * k if slope is None else slope)
    lcp = unnamed_lcp(field.array(M), AffineArray(q0, q1), field)
    marks = np.array([False] * k if free is None else free, dtype=bool)
    lcp = replace(lcp, free=marks)
    return run(criss_cross(with_free_pairs_in(first_dictionary(lcp)), place, RULES[rule]))


@st.composite
def quadratic_programs(draw):
    """M = [[P, −Aᵀ], [A, 0]] with q(mu), its pairs in random order: sufficient, often degenerate."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    numbers = st.integers(-2, 2)
    F = np.array(draw(st.lists(numbers, min_size=2 * n, max_size=2 * n))).reshape(n, 2)
    A = np.array(draw(st.lists(numbers, min_size=m * n, max_size=m * n)), dtype=int).reshape(m, n)
    M = np.block([[F @ F.T, -A.T], [A, np.zeros((m, m), dtype=int)]])
    order = draw(st.permutations(range(n + m)))
    q = [draw(st.lists(numbers, min_size=n + m, max_size=n + m)) for _ in range(2)]
    return M[np.ix_(order, order)], q[0], q[1]


@ARITHMETICS
class TestOnePivot:
    def test_diagonal_pivot_where_the_own_partner_helps(self, arithmetic):
        (pivot,), outcome = solve([[2]], [-1], arithmetic)
        assert (pivot.kind, pivot.r, pivot.s, pivot.moved, pivot.element) == ("diagonal", 0, 0, (0,), 2)
        assert isinstance(outcome, Solved)
        assert outcome.dictionary.z()[0].tolist() == [0.5]

    def test_exchange_pivot_where_it_does_not(self, arithmetic):
        # w2 = z1 - 1 is negative, only z1 raises it, and Λ_22 = 0.
        (pivot,), outcome = solve([[0, -1], [1, 0]], [1, -1], arithmetic)
        assert (pivot.kind, pivot.r, pivot.s, set(pivot.moved)) == ("exchange", 1, 0, {0, 1})
        assert outcome.dictionary.z()[0].tolist() == [1, 1]

    def test_paper_pivots_on_the_larger_index_alone_if_it_can(self, arithmetic):
        """r = 1, s = 2, p = max(r, s) = 2 with Λ_22 = 2: a diagonal pivot on 2, then r = 1 alone."""
        pivots, outcome = solve([[0, 1], [-1, 2]], [-1, 0], arithmetic)
        assert [(pivot.r, pivot.s, pivot.moved) for pivot in pivots] == [(0, 1, (1,)), (0, 0, (0,))]
        assert outcome.dictionary.z()[0].tolist() == [2, 1]

    @pytest.mark.parametrize("rule", ["lifo", "most-often-selected"])
    def test_other_rules_exchange_at_once(self, arithmetic, rule):
        pivots, outcome = solve([[0, 1], [-1, 2]], [-1, 0], arithmetic, rule)
        assert [pivot.kind for pivot in pivots] == ["exchange"]
        assert outcome.dictionary.z()[0].tolist() == [2, 1]

    def test_least_index_chooses_the_smallest_negative_value_index_not_the_most_negative(self, arithmetic):
        pivots, _ = solve(np.eye(3), [1, -1, -100], arithmetic)
        assert [pivot.r for pivot in pivots] == [1, 2]


@ARITHMETICS
class TestEndings:
    def test_nothing_negative_is_solved_without_a_pivot(self, arithmetic):
        pivots, outcome = solve([[1, 0], [0, 0]], [0, 3], arithmetic)
        assert not pivots
        assert isinstance(outcome, Solved)

    def test_row_without_positive_entry_proves_infeasibility(self, arithmetic):
        _, outcome = solve([[1, 0], [0, 0]], [1, -1], arithmetic)
        assert isinstance(outcome, Infeasible)
        assert (outcome.row, outcome.sign) == (1, -1)

    @pytest.mark.parametrize("value", [5, -5])
    def test_idle_free_pair_that_does_not_vanish_proves_infeasibility_with_its_sign(self, arithmetic, value):
        _, outcome = solve([[0]], [value], arithmetic, free=[True])
        assert isinstance(outcome, Infeasible)
        assert (outcome.row, outcome.sign) == (0, 1 if value > 0 else -1)

    def test_negative_diagonal_breaks_the_method(self, arithmetic):
        _, outcome = solve([[-1, 1], [1, -1]], [-1, 0], arithmetic)
        assert isinstance(outcome, Broken)
        assert (outcome.r, outcome.s) == (0, 0)

    def test_zero_diagonal_with_equal_signs_across_breaks_the_method(self, arithmetic):
        _, outcome = solve([[0, 1], [1, 0]], [-1, 0], arithmetic)
        assert isinstance(outcome, Broken)
        assert (outcome.r, outcome.s) == (0, 1)

    def test_basis_that_comes_back_is_reported_with_the_cycle(self, arithmetic):
        """w1 = z2 − 1, w2 = z2 + 1: r = 1, p = 2; then z2 = w2 − 1, w1 = w2 − 2: r = 1, p = 2 again."""
        pivots, outcome = solve([[0, 1], [0, 1]], [-1, 1], arithmetic)
        assert isinstance(outcome, Cycled)
        assert outcome.bases == (frozenset(), frozenset({1}))
        assert len(pivots) == 2


class TestRules:
    @EVERY_RULE
    @QUICK
    @given(problem=quadratic_programs())
    def test_every_choice_follows_the_rule(self, rule, problem):
        """Replays the log: r is best among the negative, s among the positive entries of row r."""
        M, q0, q1 = problem
        pivots, outcome = solve(M, q0, "exact", rule, PerturbedMu(1, 1), q1)
        ranks = [0] * len(M)
        for step, pivot in enumerate(pivots, start=1):
            before = pivot.dictionary("before")
            negative = [i for i, sign in enumerate(before.value_signs(PerturbedMu(1, 1))) if sign < 0]
            raising = [j for j in range(len(M)) if before.entry(pivot.r, j) > 0]
            assert pivot.r == max(negative, key=lambda i: (ranks[i], -i))
            assert pivot.s == pivot.r or pivot.s == max(raising, key=lambda i: (ranks[i], -i))
            assert pivot.s == pivot.r or before.entry(pivot.r, pivot.r) == 0
            for i in pivot.moved:
                ranks[i] = {"least-index": 0, "lifo": step, "most-often-selected": ranks[i] + 1}[rule]
        assert isinstance(outcome, Solved | Infeasible)

    @EVERY_RULE
    @ARITHMETICS
    @QUICK
    @given(problem=quadratic_programs())
    def test_method_ends_with_values_of_one_sign_or_a_row_of_the_other(self, rule, arithmetic, problem):
        M, q0, _ = problem
        _, outcome = solve(M, q0, arithmetic, rule)
        dictionary = outcome.dictionary
        if isinstance(outcome, Solved):
            assert all(float(dictionary.value(i)[0]) >= -1e-9 for i in range(len(M)))
        else:
            assert dictionary.value(outcome.row)[0] < 0
            assert all(float(dictionary.entry(outcome.row, j)) <= 1e-9 for j in range(len(M)))

    @QUICK
    @given(problem=quadratic_programs())
    def test_all_rules_agree_on_solvability(self, problem):
        M, q0, _ = problem
        assert len({type(solve(M, q0, "exact", rule)[1]) for rule in RULES}) == 1

    @QUICK
    @given(problem=quadratic_programs(), side=st.sampled_from([-1, 1]))
    def test_solution_beside_a_place_stays_one_for_every_small_epsilon(self, problem, side):
        M, q0, q1 = problem
        _, outcome = solve(M, q0, "exact", place=PerturbedMu(1, side), slope=q1)
        if isinstance(outcome, Solved):
            values = [outcome.dictionary.value(i) for i in range(len(M))]
            for epsilon in (Fraction(1, 10**6), Fraction(1, 10**9)):
                assert all(constant + (1 + side * epsilon) * slope >= 0 for constant, slope in values)

    @QUICK
    @given(problem=quadratic_programs(), end=st.sampled_from([-math.inf, math.inf]))
    def test_solution_far_out_stays_one_further_out(self, problem, end):
        M, q0, q1 = problem
        _, outcome = solve(M, q0, "exact", place=PerturbedMu(end), slope=q1)
        if isinstance(outcome, Solved):
            for mu in (10**9, 10**12):
                far = int(math.copysign(mu, end))
                assert all(a + far * b >= 0 for a, b in map(outcome.dictionary.value, range(len(M))))


class TestMurty:
    """Murty (1978), Math. Program. 15: a family on which principal pivoting visits every basis.

    Murty's matrix is lower triangular, 1 on the diagonal, 2 below, with q = −1, and his rule takes the
    largest index. For the least index turn the order of the pairs around: the matrix becomes upper
    triangular. Pair n then depends on itself alone. Pairs 1, ..., n−1 with z_n = 0 see q = −1 and take
    T(n−1) pivots; then z_n = 1 comes in and turns their q into −1 + 2 = +1, which sends them back the
    whole way: T(n) = 2 T(n−1) + 1, T(1) = 1, so T(n) = 2ⁿ − 1. In Murty's own order the first pivot makes
    every later value −1 + 2 = 1, and the least index is done after one.
    """

    @ARITHMETICS
    @pytest.mark.parametrize("n", range(1, 7))
    def test_least_index_needs_every_basis_on_the_reversed_matrix(self, n, arithmetic):
        M = np.eye(n, dtype=int) + 2 * np.triu(np.ones((n, n), dtype=int), 1)
        pivots, outcome = solve(M, [-1] * n, arithmetic)
        assert len(pivots) == 2**n - 1
        assert len({pivot.before for pivot in pivots} | {pivots[-1].after}) == 2**n
        assert outcome.dictionary.z()[0].tolist() == [0] * (n - 1) + [1]

    @ARITHMETICS
    @pytest.mark.parametrize("n", range(1, 7))
    def test_least_index_needs_one_pivot_in_the_original_order(self, n, arithmetic):
        M = np.eye(n, dtype=int) + 2 * np.tril(np.ones((n, n), dtype=int), -1)
        pivots, outcome = solve(M, [-1] * n, arithmetic)
        assert len(pivots) == 1
        assert outcome.dictionary.z()[0].tolist() == [1] + [0] * (n - 1)


def test_method_starts_from_any_dictionary():
    field = FIELDS["exact"]
    M, q = field.array([[2, 1], [1, 2]]), field.array([-5, -6])
    first = first_dictionary(unnamed_lcp(M, AffineArray(q, 0 * q), field))
    answers = [
        run(criss_cross(start, PerturbedMu(0), LEAST_INDEX))[1] for start in (first, first.pivot({0, 1}))
    ]
    # 2a + b = 5, a + 2b = 6: a = 4/3, b = 7/3.
    assert [answer.dictionary.z()[0].tolist() for answer in answers] == [[Fraction(4, 3), Fraction(7, 3)]] * 2
