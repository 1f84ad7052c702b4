"""generation: growing working sets end at the solution of all objects, whatever the margin and the kernel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import pqp
from ranking.core.kernels import kernel_matrix
from ranking.core.labels import Levels
from ranking.errors import DataError, NotSeparableError
from ranking.ordinal.base import hinges_of
from ranking.ordinal.generation import MarginProblem, generate, generate_margin, initial_working_set
from ranking.ordinal.hard_margin import is_conflict, separate
from ranking.ordinal.programs import soft_margin
from tests.ranking.ordinal_data import asked, labelled, mixture, value, violations
from tests.refusals import refuses
from tests.strategies import QUICK

SOFT = [
    pytest.param(form, norm, id=f"{form}-{norm}") for form in ("primal", "dual", "kernel") for norm in (1, 2)
]


def gaussian(X, Y):
    return kernel_matrix(X, Y, kernel="rbf", gamma=0.5)


def margin_problem(X, codes, form, **options):
    return MarginProblem(X, codes, form=form, kernel=gaussian if form == "kernel" else None, **options)


def gram(X, form):
    return gaussian(X, X) if form == "kernel" else X @ X.T


def value_of(problem, solution):
    """½‖w‖² + C Σ ξ^norm over all objects, by definition."""
    everything = np.arange(len(problem.codes))
    if problem.form == "primal":
        f, squared = problem.X @ solution.coefficients, solution.coefficients @ solution.coefficients
    else:
        K = gram(problem.X, problem.form)[:, solution.rows]
        f, squared = (
            K @ solution.coefficients,
            solution.coefficients @ K[solution.rows] @ solution.coefficients,
        )
    np.testing.assert_allclose(problem.scores(solution, everything), f, atol=1e-9)
    if np.isinf(problem.C):
        assert max(violations(f, solution.thresholds, problem.codes)) <= 1e-7
        return squared / 2
    return value(squared, f, solution.thresholds, problem.codes, problem.C, problem.norm)


def violators(problem, solution, slack=1e-6):
    """Objects with a hinge that is violated, by definition."""
    f = problem.scores(solution, np.arange(len(problem.codes)))
    return {i for i, k, s in asked(problem.codes) if 1 - s * (f[i] - solution.thresholds[k]) > slack}


class TestSoft:
    @pytest.mark.parametrize(("form", "norm"), SOFT)
    @pytest.mark.parametrize("add", ["all", 3])
    def test_the_value_is_that_of_all_objects(self, form, norm, add):
        X, codes = mixture(5, n=90)
        problem = margin_problem(X, codes, form, C=2.0, norm=norm)
        found = generate_margin(problem, add=add)
        table = gram(X, form) if form == "kernel" else X
        full = soft_margin(table, hinges_of(codes, codes.max() + 1), 2.0, form, norm)
        wanted = pqp.solve(full.problem, 0).objective
        assert found.solution.objective == pytest.approx(wanted, rel=1e-9)
        assert value_of(problem, found.solution) == pytest.approx(wanted, rel=1e-9)
        assert violators(problem, found.solution) <= set(found.working.tolist())

    @settings(QUICK, max_examples=25)
    @given(data=labelled(most=9), C=st.sampled_from((0.25, 4.0)), start=st.integers(0, 3))
    def test_copies_and_ties_do_no_harm(self, data, C, start):
        X, codes = data
        found = generate_margin(MarginProblem(X, codes, C), "random", add=1, random_state=start)
        full = pqp.solve(soft_margin(X, hinges_of(codes, codes.max() + 1), C).problem, 0, arithmetic="exact")
        assert found.solution.objective == pytest.approx(float(full.objective), rel=1e-9)
        assert (np.diff(found.rounds["objective"]) >= -1e-9).all()

    def test_weights_count_like_copies(self):
        X, codes = mixture(6, n=40)
        weight = np.where(np.arange(40) % 3, 1.0, 2.0)
        copies = np.repeat(np.arange(40), weight.astype(int))
        weighted = generate_margin(MarginProblem(X, codes, 1.0, weight=weight))
        copied = generate_margin(MarginProblem(X[copies], codes[copies], 1.0))
        assert weighted.solution.objective == pytest.approx(copied.solution.objective, rel=1e-9)

    def test_sparse_rows_give_the_same(self):
        X, codes = mixture(7, n=40)
        for form in ("primal", "dual"):
            values = [
                generate_margin(MarginProblem(table, codes, 1.0, form=form)).solution.objective
                for table in (X, csr_array(X))
            ]
            assert values[0] == pytest.approx(values[1], rel=1e-9)


class TestHard:
    @pytest.mark.parametrize("form", ["primal", "dual", "kernel"])
    @pytest.mark.parametrize("add", ["all", 5])
    def test_the_margin_is_that_of_all_objects(self, form, add):
        X, codes = mixture(8, n=120, noise=0.0)
        problem = margin_problem(X, codes, form)
        found = generate_margin(problem, add=add)
        kind = "kernel" if form == "kernel" else "primal"
        wanted = separate(gram(X, form) if form == "kernel" else X, codes, kind).objective
        assert found.solution.objective == pytest.approx(wanted, rel=1e-9)
        assert value_of(problem, found.solution) == pytest.approx(wanted, rel=1e-6)
        assert (np.diff(found.rounds["objective"]) >= -1e-9 * wanted).all()

    @pytest.mark.parametrize("form", ["primal", "dual"])
    def test_a_conflict_is_told_in_row_numbers_of_all_objects(self, form):
        X, codes = mixture(9, n=80)
        levels = Levels(np.array(["D", "C", "B", "A"]))
        with refuses(NotSeparableError, "X") as caught:
            generate_margin(MarginProblem(X, codes, form=form, levels=levels))
        assert is_conflict(caught.value.certificate, X, codes)
        assert caught.value.rows == caught.value.certificate.rows


class TestRounds:
    def test_every_round_is_told(self):
        X, codes = mixture(10, n=100)
        rounds = generate_margin(MarginProblem(X, codes, 5.0), add=10).rounds
        assert rounds.columns.tolist() == ["objective", "working", "violators", "seconds"]
        assert rounds["violators"].iloc[-1] == 0
        assert (np.diff(rounds["working"]) == np.minimum(10, rounds["violators"][:-1])).all()
        assert (rounds["seconds"] > 0).all()

    def test_a_kernel_is_never_asked_for_all_pairs(self):
        X, codes = mixture(11, n=300, noise=0.1)
        asked_for = []

        def counting(left, right):
            asked_for.append(left.shape[0] * right.shape[0])
            return kernel_matrix(left, right, kernel="rbf", gamma=0.3)

        problem = MarginProblem(X, codes, 10.0, form="kernel", kernel=counting)
        found = generate_margin(problem, add=20)
        assert len(found.working) < 200
        assert max(asked_for) <= 300 * len(found.working)

    def test_an_oracle_that_overlooks_violations_is_found_out_by_the_definition(self):
        X, codes = mixture(12, n=60)
        problem = MarginProblem(X, codes, 5.0)
        start = initial_working_set(codes, X)
        right = generate(problem.solve_on, problem.violation_of, start, 60)
        wrong = generate(problem.solve_on, lambda solution, rows: np.zeros(len(rows)), start, 60)
        for found, is_right in ((right, True), (wrong, False)):
            assert (violators(problem, found.solution) <= set(found.working.tolist())) == is_right
            closes = value_of(problem, found.solution) == pytest.approx(found.solution.objective, rel=1e-9)
            assert closes == is_right


class TestStart:
    def test_extremes_are_the_lowest_and_highest_of_every_level(self):
        X, codes = mixture(13, n=50)
        start = initial_working_set(codes, X)
        means = np.array([X[codes == level].mean(axis=0) for level in range(4)])
        along = X @ (np.array([-1.5, -0.5, 0.5, 1.5]) @ means)
        for level in range(4):
            chosen, members = along[start[codes[start] == level]], along[codes == level]
            assert sorted(chosen) == [members.min(), members.max()]

    def test_random_starts_are_repeatable_and_hold_every_level(self):
        _, codes = mixture(14, n=50)
        one, same, other = (initial_working_set(codes, how="random", random_state=s) for s in (1, 1, 2))
        assert one.tolist() == same.tolist() != other.tolist()
        assert np.bincount(codes[one]).tolist() == [2, 2, 2, 2]

    @pytest.mark.parametrize(
        ("start", "wrong"),
        [
            ([0, 0], {"argument": "start", "found": "1"}),
            ([0, 7], {"argument": "start", "found": "7"}),
            ([0.5], {"argument": "start", "found": "dtype float64 of shape (1,)"}),
            ([[0, 1]], {"argument": "start", "found": "dtype int64 of shape (1, 2)"}),
            ("best", {"argument": "start", "found": "'best'"}),
        ],
    )
    def test_starts_that_make_no_sense_are_named(self, start, wrong):
        with refuses(DataError, **wrong):
            generate_margin(MarginProblem([[0.0], [1.0], [2.0]], np.array([0, 1, 1])), start)

    @pytest.mark.parametrize(
        ("options", "wrong"),
        [
            ({"form": "kernel"}, {"argument": "kernel", "expected": "given with form='kernel' alone"}),
            ({"kernel": gaussian}, {"argument": "kernel", "expected": "given with form='kernel' alone"}),
            ({"norm": 3}, {"argument": "norm", "found": "3"}),
            ({"form": "tall"}, {"argument": "form", "found": "'tall'"}),
            ({"C": -1.0}, {"argument": "C", "found": "-1.0"}),
            ({"codes": np.array([0, 2, 2])}, {"argument": "codes", "found": "1"}),
            ({"codes": np.array([0, 1])}, {"argument": "X", "found": 3}),
        ],
    )
    def test_problems_that_make_no_sense_are_named(self, options, wrong):
        with refuses(DataError, **wrong):
            MarginProblem(**{"X": [[0.0], [1.0], [2.0]], "codes": np.array([0, 1, 1]), **options})

    def test_add_is_a_number_or_all(self):
        with refuses(DataError, "add", found="0"):
            generate_margin(MarginProblem([[0.0], [1.0]], np.array([0, 1])), add=0)
