"""What once went wrong, each under the name of its symptom."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

import pqp
from pqp import mu, save_problem
from pqp.cli import app as cli
from pqp.errors import NumericalTroubleError, ProblemError
from pqp.revised.exact_repair import ExactTracer
from tests.benchmarks.problems import mixture
from tests.comparison import optimal_points
from tests.engines import EVERY_ENGINE, FLOAT_ENGINES
from tests.ordinal_duals import assert_solved_throughout, objects, ordinal_dual, whole_objects
from tests.path_check import check_path
from tests.refusals import refuses


def budget():
    return pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0)


@pytest.mark.parametrize("size", [1e155, 1e200, 1e308])
@FLOAT_ENGINES
def test_float_data_that_overflow_are_refused_or_answered_rightly_but_not_with_nan(engine, size):
    problem = pqp.ParametricQP([[size]], [size * mu], lower=-size)
    try:
        path = engine.trace(problem, (-size, size))
    except NumericalTroubleError as trouble:
        assert "exact" in str(trouble)  # noqa: PT017
    else:
        mus = np.array([-size, -1.0, 0.0, 2.0, size])
        np.testing.assert_allclose(path.x(mus)[:, 0], -mus, rtol=1e-12)


def test_table_of_a_path_that_stopped_at_an_open_end_is_printed(tmp_path, capsys):
    save_problem(budget(), tmp_path / "budget.json")
    code = cli.main(["solve", str(tmp_path / "budget.json"), "--mu", "-2", "8", "--max-pieces", "1"])
    assert code == 3
    assert "[-2, 0)" in capsys.readouterr().out


@FLOAT_ENGINES
class TestSmallNumbers:
    def test_value_of_a_small_variable_is_found_where_it_is_taken(self, engine):
        # x = 1e-13 mu
        path = engine.trace(pqp.ParametricQP([[1]], [-1e-13 * mu]), (-1, 1))
        ((lo, hi),) = path.where(variable=0, equals=5e-14)
        assert lo == hi == pytest.approx(0.5)

    def test_small_jump_is_a_jump(self, engine):
        # min mu x over 0 ≤ x ≤ 1e-10 jumps at mu = 0
        path = engine.trace(pqp.ParametricQP([[0]], [mu], lower=0, upper=1e-10), (-1, 1))
        assert [jump.mu for jump in path.jumps] == [0]
        assert path.where(variable=0, equals=5e-11) == ((0, 0),)


@FLOAT_ENGINES
def test_float_path_is_solvable_at_the_exact_end_of_the_solvable_stretch(engine):
    # x ≤ (1 − 3 mu)/7 and x ≥ 0: feasible up to mu = 1/3, whose float is where the piece must end.
    problem = pqp.ParametricQP([[1]], [-1], A=[[7]], row_upper=1 - 3 * mu, lower=0)
    path = engine.trace(problem, (-1, 2))
    assert path.breakpoints[-1] == float(Fraction(1, 3))
    assert path(1 / 3).status == "optimal"


@pytest.mark.parametrize("given", ["row_lower", "row_upper", "penalty"])
def test_limits_of_rows_without_rows_are_refused(given):
    with refuses(ProblemError, given):
        pqp.ParametricQP([[1]], [0], **{given: mu})


def test_unknown_side_of_a_derivative_is_refused():
    with refuses(ProblemError, "side", found="'up'"):
        pqp.solve_path(budget(), (0, 8)).derivative(1, "up")


def test_infinite_criterion_is_refused():
    with refuses(ProblemError, "linear", expected="finite"):
        pqp.solve_path(budget(), (0, 8)).minimize(linear=[math.inf, 1])


@pytest.mark.parametrize("share", [2, -0.1])
def test_share_of_a_jump_beyond_its_ends_is_refused(share):
    path = pqp.solve_path(pqp.ParametricQP([[0]], [mu], lower=0, upper=1), (-1, 1))
    with refuses(ProblemError, "share", expected="between 0 and 1"):
        path.jumps[0].between(share)


def test_float_lcp_with_a_datum_below_round_off_is_solved_rightly_or_refused():
    try:
        answer = pqp.solve_lcp(np.eye(2), [-1, -1e-14], arithmetic="float")
    except NumericalTroubleError:
        return
    assert (answer.w >= 0).all()


def test_objective_that_was_not_finished_says_what_is_missing():
    with refuses(ProblemError, "problem", found="Objective"):
        pqp.solve_path(pqp.minimize(sympy.Symbol("x") ** 2), (0, 1))


@EVERY_ENGINE
def test_certificate_of_a_stopped_path_says_that_it_is_not_complete(engine):
    path = engine.trace(budget(), (-2, 8), max_pieces=2)
    assert "not complete: max_pieces = 2" in str(path.certify())


@EVERY_ENGINE
def test_path_stopped_on_the_right_remembers_it_when_extended_to_the_left(engine):
    path = engine.trace(budget(), (-2, 8), max_pieces=2).extend(-5)
    assert path.stopped is not None
    assert path.lo == -5
    path.certify()


def test_file_that_cannot_be_written_is_named_as_the_user_wrote_it(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        pqp.solve_path(budget(), (0, 1)).save(tmp_path / "nowhere" / "path.json")
    assert caught.value.filename == str(tmp_path / "nowhere" / "path.json")


@FLOAT_ENGINES
def test_float_rounding_of_an_end_does_not_make_soft_limits_cross(engine):
    # the limits touch at mu = 1/3, whose float lies below it
    third = Fraction(1, 3)
    problem = pqp.ParametricQP([[0]], [0], A=[[1]], row_lower=0, row_upper=mu - third, penalty=[1], lower=0)
    assert [interval.status for interval in engine.trace(problem, (third, 1)).intervals] == ["optimal"]


def test_two_rays_were_found_where_one_proves_that_the_objective_is_unbounded_everywhere():
    """x3 falls for ever at every mu, x2 below 1 only; traced from the middle, each side had its own ray."""
    problem = pqp.ParametricQP(np.zeros((3, 3), int), [0, -1 + mu, -1], lower=0)
    path = pqp.solve_path(problem, (-math.inf, math.inf))
    assert {segment.status for segment in path.segments} == {"unbounded"}
    assert {tuple(segment.ray) for segment in path.segments} == {(0, 0, 1)}
    path.certify()


@pytest.mark.parametrize("slope", [1, -1])
def test_path_that_begins_at_infinity_went_on_with_a_basis_that_holds_nowhere_else(slope):
    problem = pqp.ParametricQP([[0]], [slope * mu], lower=0)
    whole = pqp.solve_path(problem, (-math.inf, math.inf))
    for begin, target in ((-math.inf, math.inf), (math.inf, -math.inf)):
        ends = sorted((begin, 0.0))
        extended = pqp.solve_path(problem, tuple(ends)).extend(target)
        assert [part.status for part in extended.intervals] == [part.status for part in whole.intervals]
        extended.certify()


@pytest.mark.parametrize("stop", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize(("first", "second"), [(60, 140), (10, 190)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_unbalanced_svm_is_traced_from_zero_over_any_interval(first, second, kernel, stop):
    """All items tie before C = 0, where a false ray was met on short intervals."""
    X, y = mixture(first, second)
    problem = pqp.catalog.svm(X, y, kernel=kernel)
    path, longer = (pqp.solve_path(problem, (0, end)) for end in (stop, 1000 * stop))
    assert [tuple(interval) for interval in path.intervals] == [(0.0, stop, "optimal")]
    assert max(point.residuals().largest for point in optimal_points(path)) <= 1e-9
    for C in np.geomspace(stop / 1000, stop, 7):
        assert path(C).objective == pytest.approx(longer(C).objective, rel=1e-9)


def test_one_proof_serves_both_sides_of_where_the_trace_began_though_its_end_was_rounded():
    """x ≥ 2/3 and x ≤ mu − 1 contradict each other below mu = 5/3, which is no float."""
    problem = pqp.ParametricQP([[0]], [0], lower=[Fraction(2, 3)], upper=mu - 1)
    path = pqp.solve_path(problem, (-math.inf, math.inf))
    assert [segment.status for segment in path.segments] == ["infeasible", "optimal"]
    path.certify()


class TestThresholdsWhereAllLimitsMeet:
    """At C = 0 all hinges of ordinal regression tie, and with one row per threshold bases have free pairs."""

    @pytest.mark.parametrize("data", [whole_objects(12, 11, 3), objects(20, 5, 5)], ids=["whole", "real"])
    def test_path_that_exact_arithmetic_called_a_contradiction_is_the_exact_path(self, data):
        problem = ordinal_dual(*data)
        path, exact = (pqp.solve_path(problem, (0, 1), arithmetic=name) for name in ("float", "exact"))
        assert_solved_throughout(path, 1.0)
        path.certify()
        for C in (1 / 128, 1 / 8, 1 / 2, 1):
            assert path(C).objective == pytest.approx(float(exact(Fraction(C)).objective), rel=1e-12)

    def test_path_over_a_short_interval_takes_no_minute_in_exact_arithmetic(self):
        path = pqp.solve_path(ordinal_dual(*whole_objects(12, 11, 3)), (0, 1e-3), time_limit=30)
        assert_solved_throughout(path, 1e-3)

    @pytest.mark.parametrize("stop", [1e-3, 1.0, math.inf])
    def test_tiny_entries_of_a_kernel_ask_for_no_exact_arithmetic(self, monkeypatch, stop):
        """Of items far apart: exact arithmetic took 5 s for what float64 does in 10 ms."""
        X, y = objects(20, 5, 5)
        problem = ordinal_dual(3 * X, y, kernel="rbf")
        entries = problem.P.K[problem.P.K > 0]
        assert entries.min() < 1e-20
        monkeypatch.setattr(ExactTracer, "pieces", lambda *_: pytest.fail("exact arithmetic was asked"))
        assert_solved_throughout(pqp.solve_path(problem, (0, stop)), stop)

    @pytest.mark.parametrize(("n", "seed"), [(80, 2), (150, 7)])
    def test_round_off_slopes_reach_no_end_far_out_where_nothing_moves(self, n, seed):
        """The last cap is left at some C; from there on slopes of 1e-11 reached an end at 1e14."""
        path = pqp.solve_path(ordinal_dual(*objects(n, seed, 5), kernel="rbf"), (0, math.inf))
        assert_solved_throughout(path, math.inf)
        last = path.segments[-1]
        assert last.lo < 1e6
        assert not np.any(last.x[1])
        assert not np.any(last.y[1])

    def test_item_whose_limits_meet_before_the_end_but_for_round_off_is_not_taken_over_an_infinite_cap(self):
        """Stuck at one end, having stepped over the other, it was led to a step it does not have."""
        path = pqp.solve_path(ordinal_dual(*objects(150, 5, 5), ordered=True), (0, 1e-3))
        assert_solved_throughout(path, 1e-3)


class TestCostsOfDeficientRank:
    """Few rows and a P of low rank: the path jumps along flat directions, and some bases are nearly flat."""

    def problem(self, n, rank, seed):
        random = np.random.default_rng(seed)
        F = random.normal(size=(n, rank))
        cost = random.normal(size=n) + mu * random.normal(size=n)
        rows = random.normal(size=(n // 5, n))
        return pqp.ParametricQP(F @ F.T, cost, A=rows, row_lower=-1, row_upper=1, lower=-1, upper=1)

    # An end that was passed by 1e-11 was found again and again; an inverse was spoilt by small pivots.
    @pytest.mark.parametrize(
        ("n", "rank", "seed"),
        [(60, 20, 1), (60, 20, 2), (60, 20, 9), (100, 50, 1), (100, 50, 2), (100, 33, 4)],
    )
    def test_cycling_was_detected_where_there_is_none(self, n, rank, seed):
        path = pqp.solve_path(self.problem(n, rank, seed), (-1, 1))
        assert set(path.info.rungs) == {"trace"}
        assert check_path(path, (-1.0, 1.0)).faults == []

    def test_piece_with_slopes_of_1e8_was_refused_because_it_begins_1e14_too_early(self):
        path = pqp.solve_path(self.problem(100, 33, 0), (-1, 1))
        assert set(path.info.rungs) == {"trace"}
        steep = [piece for piece in path.segments if np.abs(piece.x.slope).max() > 1e7]
        assert len(steep) == 1
        assert check_path(path, (-1.0, 1.0), pieces=len(path.segments)).faults == []
