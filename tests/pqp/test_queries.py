"""queries: where a value is taken, where a criterion is smallest, and the path as a table."""

import math
from fractions import Fraction

import numpy as np
import pytest

import pqp
from pqp import mu
from pqp.errors import NoSolutionError, ProblemError
from tests.engines import EVERY_ENGINE
from tests.refusals import refuses

INFINITY = math.inf
F = Fraction
# Infeasible before 0; (0, mu) up to 1; ((mu − 1)/2, (mu + 1)/2) up to 5; (2, 3) from then on.
BUDGET = pqp.ParametricQP(
    [[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0, names=["x", "y"], row_names=["budget"]
)
# min mu x over 0 <= x <= 1 jumps from 1 to 0 at mu = 0.
JUMP = pqp.ParametricQP([[0]], [mu], lower=0, upper=1)
# min (x - 3 mu)² / 2 over -1 <= x <= 1: bends at -1/3 and 1/3, which no float is.
THIRDS = pqp.ParametricQP([[1]], [-3 * mu], lower=-1, upper=1)


def trace(problem, interval, engine) -> pqp.Path:
    return engine.trace(problem, interval)


@EVERY_ENGINE
class TestWhere:
    def test_value_inside_a_piece_is_found_at_its_mu(self, engine):
        path = trace(BUDGET, (-2, 8), engine)
        assert path.where(variable="x", equals=1) == ((3, 3),)
        assert path.where(variable=1, equals=F(3, 2)) == ((2, 2),)

    def test_value_held_over_several_pieces_is_one_interval(self, engine):
        path = trace(BUDGET, (-2, 8), engine)
        assert path.where(variable="x", equals=0) == ((0, 1),)
        assert path.where(variable="y", equals=3) == ((5, 8),)

    def test_value_never_taken_is_found_nowhere(self, engine):
        assert trace(BUDGET, (-2, 8), engine).where(variable="x", equals=F(5, 2)) == ()

    def test_value_taken_more_than_once_is_found_each_time_in_order(self, engine):
        # x = |mu| clipped by mu <= x and -mu <= x.
        problem = pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[mu, -mu])
        assert trace(problem, (-3, 3), engine).where(variable=0, equals=2) == ((-2, -2), (2, 2))
        assert trace(problem, (-3, 3), engine).where(variable=0, equals=0) == ((0, 0),)

    def test_activity_of_a_row_is_found_too(self, engine):
        # x + y = mu up to 5 and 5 from then on.
        path = trace(BUDGET, (-2, 8), engine)
        assert path.where(row="budget", equals=4) == ((4, 4),)
        assert path.where(row=0, equals=5) == ((5, 8),)

    def test_jump_across_a_value_counts(self, engine):
        path = trace(JUMP, (-1, 1), engine)
        assert path.where(variable=0, equals=F(1, 3)) == ((0, 0),)
        assert path.where(variable=0, equals=1) == ((-1, 0),)
        assert path.where(variable=0, equals=2) == ()

    def test_infinite_pieces_are_searched(self, engine):
        path = trace(BUDGET, (-INFINITY, INFINITY), engine)
        assert path.where(variable="x", equals=2) == ((5, INFINITY),)

    @pytest.mark.parametrize("name", ["BUDGET", "THIRDS"])
    def test_value_at_every_breakpoint_is_found_there(self, engine, name):
        problem = {"BUDGET": BUDGET, "THIRDS": THIRDS}[name]
        path = trace(problem, (0, 8), engine)
        for breakpoint_ in path.breakpoints:
            for j, value in enumerate(path.x(breakpoint_)):
                found = path.where(variable=j, equals=value)
                assert any(float(lo) - 1e-9 <= breakpoint_ <= float(hi) + 1e-9 for lo, hi in found)

    @pytest.mark.parametrize("seed", range(6))
    def test_value_at_a_breakpoint_is_found_in_rounded_data_too(self, engine, seed):
        random = np.random.default_rng(seed)
        factor, c0, c1 = random.normal(size=(3, 3)), random.normal(size=3), random.normal(size=3)
        path = trace(pqp.ParametricQP(pqp.Gram(factor), c0 + mu * c1, lower=0, upper=1), (-5, 5), engine)
        for breakpoint_ in path.breakpoints:
            for j, value in enumerate(path.x(breakpoint_)):
                found = path.where(variable=j, equals=value)
                assert any(lo - 1e-9 <= breakpoint_ <= hi + 1e-9 for lo, hi in found)

    @pytest.mark.parametrize(
        ("question", "wrong"),
        [
            ({"equals": 1}, {"argument": "variable"}),
            ({"equals": 1, "variable": "x", "row": "budget"}, {"argument": "variable"}),
            ({"equals": 1, "variable": "z"}, {"argument": "variable", "found": "'z'"}),
            ({"equals": 1, "variable": 2}, {"argument": "variable", "found": "2"}),
            ({"equals": 1, "row": "rent"}, {"argument": "row", "found": "'rent'"}),
            ({"equals": math.nan, "variable": "x"}, {"argument": "equals", "found": "nan"}),
            ({"equals": [1, 2], "variable": "x"}, {"argument": "equals", "found": "shape (2,)"}),
        ],
    )
    def test_unclear_question_is_answered_with_what_is_needed(self, engine, question, wrong):
        with refuses(ProblemError, **wrong):
            trace(BUDGET, (0, 8), engine).where(**question)

    def test_numpy_index_is_an_index(self, engine):
        path = trace(BUDGET, (0, 8), engine)
        assert path.where(variable=np.int64(0), equals=1) == path.where(variable=0, equals=1)


@EVERY_ENGINE
class TestMinimize:
    def test_linear_criterion_is_smallest_at_an_end_of_a_piece(self, engine):
        # x − 2y is −2mu, then −(mu + 3)/2, then −4: first smallest at mu = 5.
        found = trace(BUDGET, (-2, 8), engine).minimize(linear=[1, -2])
        assert (found.mu, found.value) == (5, -4)

    def test_quadratic_criterion_is_smallest_at_its_vertex(self, engine):
        # x² + y² − 2x − 2y on [1, 5] is (mu² + 1)/2 − 2mu, smallest at mu = 2: 5/2 − 4.
        found = trace(BUDGET, (-2, 8), engine).minimize(linear=[-2, -2], quadratic=[[2, 0], [0, 2]])
        assert (found.mu, found.value) == (2, F(-3, 2))

    def test_smallest_mu_is_given_when_several_do(self, engine):
        assert trace(BUDGET, (6, 8), engine).minimize(linear=[1, 1]).mu == 6

    def test_criterion_may_be_concave(self, engine):
        found = trace(BUDGET, (0, 8), engine).minimize(quadratic=[[-2, 0], [0, -2]])
        assert (found.mu, found.value) == (5, -13)

    def test_value_is_the_criterion_at_its_mu(self, engine):
        path = trace(BUDGET, (0, 8), engine)
        H, g = np.array([[3, 1], [1, 2]]), np.array([-7, 1])
        found = path.minimize(linear=g, quadratic=H)
        x = path(found.mu).x
        assert float(found.value) == pytest.approx(float(x @ H @ x / 2 + g @ x))
        others = [path(F(k, 8)).x for k in range(65)]
        assert all(float(x @ H @ x / 2 + g @ x) >= float(found.value) - 1e-12 for x in others)

    def test_criterion_that_falls_for_ever_is_smallest_at_infinity(self, engine):
        problem = pqp.ParametricQP([[1]], [-mu])
        found = trace(problem, (0, INFINITY), engine).minimize(linear=[-1])
        assert (found.mu, found.value) == (INFINITY, -INFINITY)

    def test_both_ends_of_a_jump_are_considered(self, engine):
        path = trace(JUMP, (-1, 1), engine)
        assert (path.minimize(linear=[1]).mu, path.minimize(linear=[-1]).mu) == (0, -1)

    @pytest.mark.parametrize(
        ("criterion", "wrong"),
        [
            ({}, {"argument": "linear"}),
            ({"linear": [1]}, {"argument": "linear, quadratic", "found": "(1,) and (2, 2)"}),
            ({"quadratic": [[1]]}, {"argument": "linear, quadratic", "found": "(2,) and (1, 1)"}),
            ({"linear": [1, math.nan]}, {"argument": "linear[1]", "found": "nan"}),
        ],
    )
    def test_unclear_criterion_is_answered_with_what_is_needed(self, engine, criterion, wrong):
        with refuses(ProblemError, **wrong):
            trace(BUDGET, (0, 8), engine).minimize(**criterion)

    def test_path_without_solutions_has_no_minimum(self, engine):
        with pytest.raises(NoSolutionError, match="no optimal piece to minimise over"):
            trace(BUDGET, (-2, -1), engine).minimize(linear=[1, 1])


@EVERY_ENGINE
class TestFrame:
    def test_table_has_a_row_for_each_finite_end_of_each_piece(self, engine):
        frame = trace(BUDGET, (-2, INFINITY), engine).to_frame()
        assert list(frame.columns) == ["piece", "mu", "status", "objective", "x", "y", "y[budget]"]
        assert frame["piece"].tolist() == [0, 0, 1, 1, 2, 2, 3]
        assert frame["mu"].tolist() == [-2, 0, 0, 1, 1, 5, 5]
        assert frame["status"].tolist() == ["infeasible"] * 2 + ["optimal"] * 5

    def test_rows_hold_the_solution_and_the_multipliers(self, engine):
        """At mu = 1: x = (0, 1), value 1 − 6, multiplier 2·1 − 6; at mu = 5: (2, 3), −13, 0."""
        frame = trace(BUDGET, (-2, 8), engine).to_frame()
        assert frame.iloc[3].tolist()[3:] == [-5, 0, 1, -4]
        assert frame.iloc[5].tolist()[3:] == [-13, 2, 3, 0]

    def test_rows_without_a_solution_hold_nothing(self, engine):
        frame = trace(BUDGET, (-2, 8), engine).to_frame()
        assert frame.iloc[0, 3:].isna().all()
