"""complementarity: solve_lcp always ends, and each of its three answers carries a proof that holds."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import pqp
from pqp import LCPAnswer, solve_lcp
from pqp.errors import NumericalTroubleError, ProblemError
from pqp.lcp.crisscross import RULES
from pqp.lcp.proofs import NotSufficient
from pqp.linalg.field import exact_array
from tests.refusals import refuses

# The same examples in every run, few enough for a slow machine.
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
ARITHMETICS = pytest.mark.parametrize("arithmetic", ["float", "exact"])
EVERY_RULE = pytest.mark.parametrize("rule", RULES)
F = Fraction


def check(M, q, answer: LCPAnswer) -> None:
    """Assert what the answer claims, by the definitions."""
    M, q = exact_array(np.asarray(M)), exact_array(np.asarray(q))
    if answer.status == "solved":
        check_solution(M, q, answer)
    elif answer.status == "infeasible":
        t = answer.farkas
        assert (t >= 0).all()
        assert (M.T @ t <= 0).all()
        assert t @ q < 0
    else:
        assert answer.status == "not sufficient"
        u, matrix = answer.witness.u, M if answer.witness.kind == "column" else M.T
        products = u * (matrix @ u)
        assert (products <= 0).all()
        assert (products < 0).any()


def check_solution(M, q, answer: LCPAnswer) -> None:
    z, w = exact_array(answer.z), exact_array(answer.w)
    slack = F(0) if answer.z.dtype == object else F(1, 10**9)
    assert (z >= -slack).all()
    assert (w >= -slack).all()
    assert (abs(w - M @ z - q) <= slack).all()
    assert (z * w == 0).all()


class TestAnswers:
    @ARITHMETICS
    @EVERY_RULE
    def test_solution_of_a_positive_definite_problem(self, arithmetic, rule):
        # Both z positive: 2a + b = 5, a + 2b = 6.
        answer = solve_lcp([[2, 1], [1, 2]], [-5, -6], arithmetic, rule)
        assert [float(value) for value in answer.z] == pytest.approx([4 / 3, 7 / 3])
        assert answer.w.tolist() == [0, 0]

    def test_exact_answers_are_exact(self):
        answer = solve_lcp([[2, 1], [1, 2]], [-5, -6])
        assert answer.z.tolist() == [F(4, 3), F(7, 3)]

    @pytest.mark.parametrize(
        "q", [[-5.0, -6.0], np.array([-5, -6]), [F(-5), sympy.Integer(-6)], (-5, -6)], ids=str
    )
    def test_numbers_may_come_in_any_form(self, q):
        assert solve_lcp([[2, 1], [1, 2]], q).z.tolist() == [F(4, 3), F(7, 3)]

    @ARITHMETICS
    def test_infeasible_problem_carries_its_farkas_vector(self, arithmetic):
        # w1 = -z1 - 1 and w2 = z1 add up to w1 + w2 = -1 < 0.
        answer = solve_lcp([[-1, 0], [1, 0]], [-1, 0], arithmetic)
        assert answer.status == "infeasible"
        check([[-1, 0], [1, 0]], [-1, 0], answer)
        assert all(isinstance(value, Fraction) for value in answer.farkas)

    @ARITHMETICS
    @pytest.mark.parametrize(
        ("M", "q"),
        [
            ([[-1, 1], [1, -1]], [-1, 0]),  # u = (1, 0): u1 (Mu)1 = -1
            ([[0, 1], [1, 0]], [-1, 0]),  # u = (1, -1): both products are -1
            (
                [[0, 1], [0, 1]],
                [-1, 1],
            ),  # rows, u = (-2, 1): Mᵀu = (0, -1), products (0, -1)
            ([[0, 1], [0, 0]], [-1, 0]),  # u = (1, -1): Mu = (-1, 0), products (-1, 0)
            ([[0, 0, 1], [0, 1, 0], [0, 0, 1]], [-1, 0, 1]),  # rows, u = (-2, 0, 1)
        ],
    )
    def test_matrix_outside_the_class_is_shown_to_be(self, M, q, arithmetic):
        answer = solve_lcp(M, q, arithmetic)
        assert answer.status == "not sufficient"
        check(M, q, answer)

    @ARITHMETICS
    def test_empty_problem_is_solved(self, arithmetic):
        answer = solve_lcp(np.zeros((0, 0)), np.zeros(0), arithmetic)
        assert (answer.status, len(answer.z)) == ("solved", 0)

    def test_solve_lcp_is_public(self):
        assert pqp.solve_lcp is solve_lcp

    def test_printing_tells_the_status_and_the_number_of_pivots(self):
        answer = solve_lcp([[2]], [-1])
        assert "solved" in repr(answer)
        assert "1 pivot" in repr(answer)

    def test_log_is_numbered_from_one_and_readable(self):
        log = solve_lcp([[2, 1], [1, 2]], [-5, -6]).log
        assert [pivot.number for pivot in log] == list(range(1, len(log) + 1))
        assert "w1 = -5 < 0" in str(log)


class TestNeverALoop:
    @EVERY_RULE
    def test_thousands_of_random_problems_end_with_a_proof(self, rule):
        """Entries −2, ..., 2 and sizes 1 to 4: every answer occurs often, and every proof holds."""
        random = np.random.default_rng(1)
        counts = {"solved": 0, "infeasible": 0, "not sufficient": 0}
        for _ in range(1500):
            n = int(random.integers(1, 5))
            M, q = random.integers(-2, 3, (n, n)), random.integers(-2, 3, n)
            answer = solve_lcp(M, q, rule=rule)
            check(M, q, answer)
            counts[answer.status] += 1
        assert min(counts.values()) > 150

    def test_float_gives_proofs_too_or_says_that_it_cannot(self):
        random, refused = np.random.default_rng(2), 0
        for _ in range(400):
            n = int(random.integers(1, 5))
            M, q = random.integers(-2, 3, (n, n)), random.integers(-2, 3, n)
            try:
                answer = solve_lcp(M, q, "float")
            except NumericalTroubleError as error:
                assert error.setting == ("arithmetic", "exact")  # noqa: PT017
                refused += 1
            else:
                check(M, q, answer)
        assert refused <= 4

    @EVERY_RULE
    @QUICK
    @given(
        entries=st.lists(st.integers(-3, 3), min_size=9, max_size=9),
        q=st.lists(st.integers(-2, 2), min_size=3, max_size=3),
    )
    def test_sufficient_matrices_are_never_accused(self, rule, entries, q):
        """Skew plus positive semidefinite is sufficient: uᵀMu ≥ 0."""
        S = np.array(entries).reshape(3, 3)
        M = S - S.T + S @ S.T
        answer = solve_lcp(M, q, rule=rule)
        assert answer.status in ("solved", "infeasible")
        check(M, q, answer)

    @QUICK
    @given(
        entries=st.lists(st.integers(-2, 2), min_size=9, max_size=9),
        q=st.lists(st.integers(-2, 2), min_size=3, max_size=3),
    )
    def test_P_matrices_have_exactly_one_solution(self, entries, q):
        """Diagonally dominant with positive diagonal: a P-matrix, solvable for every q by all rules alike."""
        M = np.array(entries).reshape(3, 3) + np.diag([9, 9, 9])
        answers = [solve_lcp(M, q, rule=rule) for rule in RULES]
        for answer in answers:
            check(M, q, answer)
        assert len({tuple(answer.z) for answer in answers}) == 1


class TestProofs:
    def test_checker_rejects_vectors_that_prove_nothing(self):
        M = exact_array([[2, 1], [1, 2]])
        vectors = [[0, 0], [1, 0], [1, -1], [3, -4]]
        assert not any(
            NotSufficient(kind, exact_array(u)).holds_for(M) for u in vectors for kind in ("column", "row")
        )

    def test_column_and_row_witnesses_are_not_the_same(self):
        # u = (1, -1): Mu = (-1, 0), products (-1, 0); with Mᵀu = (0, 1): products (0, -1).
        M = exact_array([[0, 1], [0, 0]])
        u = exact_array([1, -1])
        assert NotSufficient("column", u).holds_for(M)
        assert NotSufficient("row", u).holds_for(M)
        assert not NotSufficient("column", exact_array([1, 1])).holds_for(M)


class TestMistakes:
    @pytest.mark.parametrize(
        ("M", "q", "wrong"),
        [
            ([[1, 2]], [1], {"argument": "M and q", "found": "shapes (1, 2) and (1,)"}),
            ([[1]], [[1]], {"argument": "M and q", "found": "shapes (1, 1) and (1, 1)"}),
            ([[math.nan]], [1], {"argument": "M[0, 0]", "found": "nan"}),
            ([[1]], [math.inf], {"argument": "q[0]", "found": "inf"}),
            ([[math.inf]], [1], {"argument": "M[0, 0]", "found": "inf"}),
            ([["a"]], [1], {"argument": "M", "found": "strings"}),
            ([[1j]], [1], {"argument": "M", "found": "complex numbers"}),
            ([[1], [1, 2]], [1, 2], {"argument": "M"}),
        ],
    )
    def test_message_names_the_argument_and_what_was_found(self, M, q, wrong):
        with refuses(ProblemError, **wrong):
            solve_lcp(M, q)

    def test_infinite_entry_is_named_with_its_index(self):
        with refuses(ProblemError, "q[1]", found="-inf") as caught:
            solve_lcp(np.eye(2), [0, -math.inf])
        assert (caught.value.argument, caught.value.found) == ("q[1]", "-inf")

    @pytest.mark.parametrize(("name", "value"), [("arithmetic", "double"), ("rule", "bland")])
    def test_unknown_choice_is_answered_with_the_known_ones(self, name, value):
        with refuses(ProblemError, name, found=repr(value)):
            solve_lcp([[1]], [1], **{name: value})

    def test_arguments_are_left_untouched(self):
        M, q = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, -6.0])
        solve_lcp(M, q, "float")
        assert (M.tolist(), q.tolist()) == ([[2, 1], [1, 2]], [-5, -6])
        assert M.flags.writeable
