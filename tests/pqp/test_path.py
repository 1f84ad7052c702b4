"""path: evaluation, one-sided limits, intervals and jumps, in the arithmetic of the trace."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sympy

import pqp
from pqp import mu
from pqp.errors import NoSolutionError, ProblemError
from pqp.linalg.field import RATIONAL
from pqp.path.path import Interval
from tests.engines import ENGINES, EVERY_ENGINE, EXACT, REVISED, Engine
from tests.refusals import refuses

INFINITY = math.inf
F = Fraction
# Infeasible before 0; (0, mu) up to 1; ((mu − 1)/2, (mu + 1)/2) up to 5; (2, 3) from then on.
BUDGET = pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0)
# min mu (x + 2y) over the unit square: all of it is optimal at mu = 0, where (1, 1) jumps to (0, 0).
SQUARE = pqp.ParametricQP(np.zeros((2, 2), dtype=int), [mu, 2 * mu], lower=0, upper=1)
# min x over the triangle x >= 0, y >= 0, x + y >= 1, tilted by mu y: (1, 0) for mu > 1 and (0, 1) for mu < 1.
TILT = pqp.ParametricQP(np.zeros((2, 2), dtype=int), [1, mu], A=[[1, 1]], row_lower=1, lower=0)
# -x + mu max(x - 1, 0), 0 <= x <= 3: 3 jumps to 1 at mu = 1.
SOFT = pqp.ParametricQP([[0]], [-1], A=[[1]], row_upper=1, penalty=mu, lower=0, upper=3)


def budget(engine: Engine, interval=(-2, 8)) -> pqp.Path:
    return engine.trace(BUDGET, interval)


def cost(problem: pqp.ParametricQP, at, x):
    """½xᵀPx + c(mu)ᵀx + Σ penalty · violation, by definition."""
    data = problem.data(RATIONAL)
    x = RATIONAL.array(x)
    limits = [pair[0] + at * pair[1] for pair in (data.row_lower, data.row_upper, data.penalty)]
    violation = np.maximum(np.maximum(limits[0] - data.A @ x, data.A @ x - limits[1]), 0)
    price = sum(p * v for p, v in zip(limits[2], violation, strict=True) if v)
    return x @ data.P @ x / 2 + (data.c[0] + at * data.c[1]) @ x + price


@EVERY_ENGINE
class TestEvaluation:
    def test_points_of_the_issue(self, engine):
        path = budget(engine)
        assert path.breakpoints == (0, 1, 5)
        assert path(3).x.tolist() == [1, 2]
        assert [tuple(interval) for interval in path.intervals] == [(-2, 0, "infeasible"), (0, 8, "optimal")]

    def test_many_mu_give_one_row_each(self, engine):
        path = budget(engine)
        assert path.x([0, 1, 3, 8]).tolist() == [[0, 0], [0, 1], [1, 2], [2, 3]]
        assert path.y([0, 3]).tolist() == [[-6], [-2]]
        assert path.z([0, 3]).tolist() == [[2, 0], [0, 0]]
        assert path.objective([0, 1, 5]).tolist() == [0, -5, -13]

    @pytest.mark.parametrize(
        "mus",
        [(0, 3), np.array([0.0, 3.0]), pd.Series([0, 3]), [F(0), sympy.Integer(3)]],
        ids=["tuple", "array", "series", "rationals"],
    )
    def test_mus_may_come_in_any_container(self, engine, mus):
        assert budget(engine).x(mus).tolist() == [[0, 0], [1, 2]]

    def test_order_of_the_mus_does_not_matter(self, engine):
        path = budget(engine)
        assert path.x([8, 0, 3, 0]).tolist() == [[2, 3], [0, 0], [1, 2], [0, 0]]

    def test_shape_of_the_mus_is_kept(self, engine):
        path = budget(engine)
        assert path.x([[0, 1, 2], [3, 4, 5]]).shape == (2, 3, 2)
        assert path.objective([[0, 1, 2], [3, 4, 5]]).shape == (2, 3)
        assert path.x([]).shape == (0, 2)
        assert path.objective([]).shape == (0,)

    def test_single_mu_gives_a_vector_and_a_number(self, engine):
        path = budget(engine)
        assert path.x(3).tolist() == [1, 2]
        assert path.objective(3) == -11

    def test_evaluation_agrees_with_the_points_everywhere(self, engine):
        path, mus = budget(engine), [F(k, 7) for k in range(57)]
        assert path.x(mus).tolist() == [path(m).x.tolist() for m in mus]
        one_by_one = [float(path(m).objective) for m in mus]
        assert path.objective(mus).astype(float) == pytest.approx(one_by_one, rel=1e-14)

    def test_solution_is_asked_for_where_there_is_none(self, engine):
        path = budget(engine)
        for question in (path.x, path.y, path.z, path.objective):
            with pytest.raises(NoSolutionError, match="infeasible at mu = -1") as caught:
                question([0, -1])
            assert caught.value.segment is path.segments[0]

    def test_mu_outside_the_path_is_answered_with_what_it_covers(self, engine):
        with pytest.raises(
            NoSolutionError, match=r"mu = 9.* was not traced: .*on \[-2.*on \[0.*, 8.*extend\(9"
        ):
            budget(engine)(9)

    @pytest.mark.parametrize(
        ("bad", "wrong"),
        [
            (math.nan, {"argument": "mu", "found": "nan"}),
            ("3", {"argument": "mu", "found": "strings"}),
            ([1, 2], {"argument": "mu", "found": "shape (2,)"}),
        ],
    )
    def test_bad_mu_is_named(self, engine, bad, wrong):
        with refuses(ProblemError, **wrong):
            budget(engine)(bad)

    @pytest.mark.parametrize("end", [-INFINITY, INFINITY])
    def test_infinite_mu_is_no_point_of_an_infinite_path(self, engine, end):
        path = engine.trace(pqp.ParametricQP([[1]], [0 * mu], lower=0), (-INFINITY, INFINITY))
        for question in (path, path.x, path.objective):
            with refuses(pqp.PQPError, "mu", expected="finite here"):
                question(end)

    def test_unknown_side_is_refused(self, engine):
        with refuses(ProblemError, "side", found="'up'"):
            budget(engine)(1, side="up")


class TestExactness:
    def test_exact_path_gives_rationals_for_rational_mu(self):
        path = budget(EXACT)
        assert path(F(7, 3)).x.tolist() == [F(2, 3), F(5, 3)]
        assert path(sympy.Rational(7, 3)).x.tolist() == [F(2, 3), F(5, 3)]
        assert all(isinstance(mu_, Fraction) for mu_ in path.breakpoints)

    def test_exact_path_takes_floats_at_face_value(self):
        assert budget(EXACT)(1.1).x.tolist() == [(F(1.1) - 1) / 2, (F(1.1) + 1) / 2]

    def test_float_path_gives_floats(self):
        path = budget(REVISED)
        assert path.x([F(7, 3)]).dtype == float
        assert path(F(7, 3)).x == pytest.approx([2 / 3, 5 / 3])
        assert all(isinstance(mu_, float) for mu_ in path.breakpoints)


@EVERY_ENGINE
class TestSides:
    def test_derivative_changes_at_a_bend(self, engine):
        path = budget(engine)
        assert path.derivative(1, "left").tolist() == [0, 1]
        assert path.derivative(1).tolist() == path.derivative(1, "right").tolist() == [0.5, 0.5]
        assert path.derivative(3, "left").tolist() == path.derivative(3, "right").tolist()

    def test_objective_derivative_is_continuous_where_only_a_limit_moves_and_x_is_unique(self, engine):
        # mu² − 6mu and mu²/2 − 5mu − 1/2 have slopes −4 at 1; the second has slope 0 at 5.
        path = budget(engine)
        assert path.objective_derivative(1, "left") == path.objective_derivative(1, "right") == -4
        assert path.objective_derivative(5, "left") == path.objective_derivative(5, "right") == 0

    def test_there_is_no_derivative_beyond_the_ends_or_where_there_is_no_solution(self, engine):
        path = budget(engine)
        with pytest.raises(NoSolutionError, match="no points to the right of mu = 8"):
            path.derivative(8)
        with pytest.raises(NoSolutionError, match="infeasible to the left of mu = 0"):
            path.derivative(0, "left")
        with pytest.raises(NoSolutionError, match="infeasible"):
            path.objective_derivative(0, "left")

    def test_solvable_side_owns_a_shared_end(self, engine):
        path = budget(engine)
        for point in (path(0), path.left(0), path.right(0)):
            assert (point.status, point.x.tolist()) == ("optimal", [0, 0])

    def test_sides_of_a_jump_differ(self, engine):
        path = engine.trace(SQUARE, (-1, 1))
        assert path.left(0).x.tolist() == [1, 1]
        assert path.right(0).x.tolist() == path(0).x.tolist() == [0, 0]
        assert path.left(0).objective == path.right(0).objective == 0


JUMPS = {
    "square": (SQUARE, 0, [1, 1], [0, 0]),
    "tilt": (TILT, 1, [0, 1], [1, 0]),
    "soft": (SOFT, 1, [3], [1]),
}


@EVERY_ENGINE
@pytest.mark.parametrize("direction", ["left-to-right", "right-to-left"])
@pytest.mark.parametrize("name", JUMPS)
class TestJumps:
    def test_jump_has_both_one_sided_limits(self, name, direction, engine):
        problem, at, left, right = JUMPS[name]
        path = engine.trace(problem, (F(1, 2) if at else -1, 2), direction=direction)
        (jump,) = path.jumps
        assert jump.mu == at
        assert (jump.left.x.tolist(), jump.right.x.tolist()) == (left, right)
        assert path.left(at).x.tolist() == left

    def test_connecting_segment_is_optimal_at_the_breakpoint(self, name, direction, engine):
        problem, at, _, _ = JUMPS[name]
        path = engine.trace(problem, (F(1, 2) if at else -1, 2), direction=direction)
        (jump,) = path.jumps
        assert jump.between(0).tolist() == jump.left.x.tolist()
        assert jump.between(1).tolist() == jump.right.x.tolist()
        for share in (F(1, 3), F(1, 2), F(9, 10)):
            x = jump.between(share if engine.is_exact else float(share))
            lower, upper, activity = problem.lower.at(at), problem.upper.at(at), problem.A @ x
            assert (lower <= x).all()
            assert (x <= upper).all()
            assert (problem.is_soft | (problem.row_lower.at(at).astype(float) <= activity + 1e-12)).all()
            assert float(cost(problem, at, x)) == pytest.approx(float(path.objective(at)))


@EVERY_ENGINE
def test_continuous_paths_have_no_jumps(engine):
    assert budget(engine).jumps == ()


class TestIntervals:
    def test_interval_contains_its_closed_ends_only(self):
        interval = Interval(0, 1, "optimal", lo_closed=True, hi_closed=False)
        assert [m in interval for m in (-1, 0, F(1, 2), 1, 2)] == [False, True, True, False, False]
        assert str(interval) == "optimal on [0, 1)"

    def test_infinite_ends_print_as_open(self):
        assert str(Interval(-INFINITY, INFINITY, "optimal")) == "optimal on (-inf, inf)"

    def test_every_mu_lies_in_exactly_one_interval(self):
        intervals = budget(EXACT).intervals
        for m in (-2, F(-1, 10), 0, 1, 5, 8):
            assert sum(m in interval for interval in intervals) == 1

    def test_printing_a_path_tells_its_intervals(self):
        assert repr(budget(EXACT)) == "Path(4 pieces, exact: infeasible on [-2, 0); optimal on [0, 8])"

    def test_segments_join_without_gap_or_overlap(self):
        path = budget(EXACT)
        assert [s.hi for s in path.segments[:-1]] == [s.lo for s in path.segments[1:]]
        assert (path.lo, path.hi) == (path.segments[0].lo, path.segments[-1].hi) == (-2, 8)


def test_same_input_gives_the_same_bytes():
    for engine in ENGINES.values():
        one, two = budget(engine), budget(engine)
        assert [s.x0.tolist() if engine.is_exact else s.x0.tobytes() for s in one.segments[1:]] == [
            s.x0.tolist() if engine.is_exact else s.x0.tobytes() for s in two.segments[1:]
        ]
        assert str(one.to_frame()) == str(two.to_frame())


def test_path_is_frozen():
    with pytest.raises(AttributeError):
        budget(EXACT).segments = ()
