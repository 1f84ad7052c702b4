"""formulations: all programs of the paper are one problem, and mean what the paper writes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array

import pqp
from ranking.core.kernels import kernel_matrix
from ranking.errors import DataError
from ranking.ordinal.base import hinges_of
from ranking.ordinal.programs import FORMS, hard_margin, soft_margin
from tests.ranking.ordinal_data import exact, labelled, mixture, separable, value, violations
from tests.refusals import refuses
from tests.strategies import QUICK

SETTINGS = settings(QUICK, max_examples=25)
# Two levels more of the same objects than of the one in between: nothing is gained by putting it right.
CROWDED = np.zeros((5, 1)), np.array([0, 0, 1, 2, 2])


def hinges(codes, scope="adjacent"):
    return hinges_of(codes, codes.max() + 1, scope=scope)


def rows(X, form):
    return X @ X.T if form == "kernel" else X


def soft_solutions(X, codes, C, **options):
    """The solution of every form, in exact arithmetic."""
    for form in FORMS:
        program = soft_margin(rows(X, form), hinges(codes), C, form=form, **options)
        point = pqp.solve(program.problem, 0, arithmetic="exact")
        yield point, program.read(point.x)


class TestOneProblem:
    @SETTINGS
    @given(data=labelled(most=6), C=st.sampled_from((0.25, 1.0, 8.0)), norm=st.sampled_from((1, 2)))
    def test_all_forms_of_the_soft_margin_have_one_value_one_f_and_one_w(self, data, C, norm):
        X, codes = data
        (point, primal), *others = soft_solutions(X, codes, C, norm=norm)
        assert point.objective == value(
            primal.w @ primal.w, primal.f, primal.thresholds, codes, Fraction(C), norm
        )
        for other, reading in others:
            assert other.objective == point.objective
            assert (reading.f == primal.f).all()
            assert reading.w is None or (reading.w == primal.w).all()

    @SETTINGS
    @given(data=separable())
    def test_all_forms_of_the_hard_margin_have_one_value_one_f_and_one_w(self, data):
        X, codes = data
        primal = pqp.solve(hard_margin(X, hinges(codes)).problem, 0, arithmetic="exact")
        w = primal.x[: X.shape[1]]
        for form in FORMS:
            program = hard_margin(rows(X, form), hinges(codes), form)
            point = pqp.solve(program.problem, 0, arithmetic="exact")
            reading = program.read(point.x)
            assert point.objective == primal.objective == w @ w / 2
            assert max(violations(reading.f, reading.thresholds, codes)) == 0
            assert (reading.f == exact(X) @ w).all()
            assert reading.w is None or (reading.w == w).all()

    @SETTINGS
    @given(data=labelled(most=5, most_levels=3), form=st.sampled_from(FORMS), ordered=st.booleans())
    def test_slack_variables_and_soft_rows_have_one_path(self, data, form, ordered):
        X, codes = data
        programs = [
            soft_margin(rows(X, form), hinges(codes), form=form, slacks=slacks, ordered=ordered)
            for slacks in (False, True)
        ]
        paths = [pqp.solve_path(program.problem, (0, 20), arithmetic="exact") for program in programs]
        for C in sorted({C for path in paths for C in path.breakpoints} | {1, 20}):
            points = [path(C) for path in paths]
            assert points[0].objective == points[1].objective
            f = [program.read(point.x).f for program, point in zip(programs, points, strict=True)]
            assert (f[0] == f[1]).all()

    @SETTINGS
    @given(data=separable(most=6))
    def test_the_soft_path_ends_at_the_hard_margin(self, data):
        X, codes = data
        hard = pqp.solve(hard_margin(X, hinges(codes)).problem, 0, arithmetic="exact")
        path = pqp.solve_path(soft_margin(X, hinges(codes)).problem, (0, np.inf), arithmetic="exact")
        end = path.segments[-1]
        assert end.objective == (hard.objective, 0, 0)
        assert (end.x0[: X.shape[1]] == hard.x[: X.shape[1]]).all()
        assert not end.x1[: X.shape[1]].any()

    def test_sparse_rows_give_the_same_program(self):
        X, codes = mixture(0, n=20)
        for form in ("primal", "dual"):
            points = [
                pqp.solve(soft_margin(table, hinges(codes), 1.0, form).problem, 0)
                for table in (X, csr_array(X))
            ]
            assert points[0].objective == pytest.approx(points[1].objective, rel=1e-12)

    def test_a_kernel_of_high_rank_gives_what_its_own_features_give(self):
        X, codes = mixture(1, n=25)
        K = kernel_matrix(X, kernel="rbf", gamma=0.5)
        features = np.linalg.cholesky(K)
        for norm in (1, 2):
            values = [
                pqp.solve(soft_margin(table, hinges(codes), 2.0, form, norm).problem, 0).objective
                for table, form in ((K, "kernel"), (features, "primal"))
            ]
            assert values[0] == pytest.approx(values[1], rel=1e-9)


class TestMeaning:
    @pytest.mark.parametrize("seed", range(3))
    def test_the_squared_loss_is_minimised_as_by_a_descent_of_its_value(self, seed):
        X, codes = mixture(seed, n=30)
        program = soft_margin(X, hinges(codes), 0.7, norm=2)
        point = pqp.solve(program.problem, 0)
        reading = program.read(point.x)

        def loss(v):
            return value(v[:3] @ v[:3], X @ v[:3], v[3:], codes, 0.7, norm=2)

        found = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-7})
        assert point.objective == pytest.approx(found.fun, rel=1e-9)
        np.testing.assert_allclose(reading.w, found.x[:3], atol=1e-4)
        np.testing.assert_allclose(reading.thresholds, found.x[3:], atol=1e-4)
        slacks = point.x[6:]
        np.testing.assert_allclose(slacks, violations(reading.f, reading.thresholds, codes), atol=1e-9)

    def test_the_numbers_of_the_paper_are_twice_ours(self):
        """The paper's (S) with c, written in its own letters, against ours with C = c/2."""
        X, codes = mixture(3, n=20)
        c = 15
        program = soft_margin(X, hinges(codes), c / 2)
        point = pqp.solve(program.problem, 0)
        reading = program.read(point.x)
        slacks = violations(reading.f, reading.thresholds, codes)
        assert 2 * point.objective == pytest.approx(reading.w @ reading.w + c * sum(slacks))

    def test_weights_of_hinges_count_like_copies_of_objects(self):
        X, codes = mixture(4, n=15)
        weight = np.where(np.arange(15) % 2, 2.0, 1.0)
        copies = np.repeat(np.arange(15), weight.astype(int))
        for norm in (1, 2):
            weighted = soft_margin(X, hinges_of(codes, codes.max() + 1, weight=weight), 1.0, norm=norm)
            copied = soft_margin(X[copies], hinges(codes[copies]), 1.0, norm=norm)
            values = [pqp.solve(program.problem, 0).objective for program in (weighted, copied)]
            assert values[0] == pytest.approx(values[1], rel=1e-12)

    def test_names_say_what_is_asked(self):
        problem = soft_margin([[0.0], [1.0]], hinges(np.array([0, 1])), slacks=True).problem
        assert problem.names == ("w1", "p1", "xi(x0<p1)", "xi(x1>p1)")
        assert problem.row_names == ("x0<p1", "x1>p1")


class TestOrder:
    def test_thresholds_of_the_papers_soft_margin_may_be_out_of_order(self):
        """With one score for all, p1 = 1 keeps both objects of level 0 and gives up the one of level 1."""
        X, codes = CROWDED
        point = pqp.solve(soft_margin(X, hinges(codes), 1.0).problem, 0, arithmetic="exact")
        assert (point.named["p1"], point.named["p2"]) == (1, -1)
        assert point.objective == 4
        assert point.segment.unique

    @pytest.mark.parametrize("slacks", [False, True])
    @pytest.mark.parametrize("norm", [1, 2])
    def test_ordered_puts_them_in_order(self, norm, slacks):
        X, codes = CROWDED
        program = soft_margin(X, hinges(codes), 1.0, norm=norm, slacks=slacks, ordered=True)
        point = pqp.solve(program.problem, 0, arithmetic="exact")
        reading = program.read(point.x)
        assert reading.thresholds[0] <= reading.thresholds[1]
        assert point.objective == value(0, reading.f, reading.thresholds, codes, 1, norm)
        # with p1 = p2 = p in [-1, 1] the hinges cost 2(1 - p) + (1 + p) + (1 - p) + 2(1 + p)
        assert norm == 2 or point.objective == 6

    @SETTINGS
    @given(data=labelled(most=6), C=st.sampled_from((0.25, 2.0)))
    def test_ordered_changes_nothing_but_disorder(self, data, C):
        X, codes = data
        free, ordered = (soft_margin(X, hinges(codes), C, ordered=ordered) for ordered in (False, True))
        points = [pqp.solve(program.problem, 0, arithmetic="exact") for program in (free, ordered)]
        p = ordered.read(points[1].x).thresholds
        assert (np.diff(p) >= 0).all()
        assert points[1].objective >= points[0].objective
        if (np.diff(free.read(points[0].x).thresholds) >= 0).all():
            assert points[1].objective == points[0].objective

    @SETTINGS
    @given(data=separable())
    def test_a_hard_margin_keeps_thresholds_two_apart(self, data):
        X, codes = data
        program = hard_margin(X, hinges(codes))
        thresholds = program.read(pqp.solve(program.problem, 0, arithmetic="exact").x).thresholds
        assert (np.diff(thresholds) >= 2).all()

    @SETTINGS
    @given(data=labelled(), C=st.sampled_from((0.25, 2.0)))
    def test_hinges_at_all_thresholds_keep_them_in_order(self, data, C):
        X, codes = data
        program = soft_margin(X, hinges(codes, "all"), C)
        thresholds = program.read(pqp.solve(program.problem, 0, arithmetic="exact").x).thresholds
        assert (np.diff(thresholds) >= 0).all()


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "wrong"),
        [
            ({"norm": 3}, {"argument": "norm", "found": "3"}),
            ({"norm": 2}, {"argument": "C", "expected": "a number with norm=2"}),
            ({"C": 0}, {"argument": "C", "found": "0"}),
            ({"form": "tall"}, {"argument": "form", "found": "'tall'"}),
        ],
    )
    def test_options_that_make_no_sense_are_named(self, options, wrong):
        with refuses(DataError, **wrong):
            soft_margin([[0.0], [1.0]], hinges(np.array([0, 1])), **options)

    def test_rows_and_items_must_be_as_many(self):
        with refuses(DataError, "X or K", found=3):
            hard_margin(np.eye(3), hinges(np.array([0, 1])))

    def test_one_level_is_not_enough(self):
        with refuses(DataError, "hinges", found=1):
            hard_margin([[0.0]], hinges_of(np.array([0]), 1))
