"""unsolvable: infeasible and unbounded segments with exact ends, open or closed, and one proof per side."""

import math
from fractions import Fraction

import numpy as np
import pytest

import pqp
from pqp import Segment, mu
from pqp.linalg.field import RATIONAL
from tests.engines import EVERY_ENGINE, EXACT, FLOAT_ENGINES, Engine

INFINITY = math.inf
F = Fraction


def window(low, high, **others) -> dict[str, object]:
    """x1 >= 0, and x2 kept between two functions of mu: feasible where they do not cross."""
    return {"lower": [0, low], "upper": [INFINITY, high], **others}


# Each with its interval of mu, and its intervals as they print, with their ends open or closed.
LINE = np.zeros((2, 2), dtype=int)
CASES = {
    "optimal then infeasible": (
        pqp.ParametricQP(np.eye(2, dtype=int), [1, 0], **window(mu, 1)),
        (-2, 3),
        ["optimal on [-2, 1]", "infeasible on (1, 3]"],
    ),
    "infeasible before feasible": (
        pqp.ParametricQP(np.eye(2, dtype=int), [1, 0], **window(1, mu)),
        (-2, 3),
        ["infeasible on [-2, 1)", "optimal on [1, 3]"],
    ),
    "unbounded then infeasible": (
        pqp.ParametricQP(LINE, [-1, 0], **window(mu, 1)),
        (-2, 3),
        ["unbounded on [-2, 1]", "infeasible on (1, 3]"],
    ),
    "infeasible, unbounded, infeasible": (
        pqp.ParametricQP(LINE, [-1, 0], A=[[0, 1]], row_lower=-mu, **window(mu, 1)),
        (-4, 4),
        ["infeasible on [-4, -1)", "unbounded on [-1, 1]", "infeasible on (1, 4]"],
    ),
    "unbounded then optimal": (
        pqp.ParametricQP([[0]], [mu], lower=0),
        (-3, 3),
        ["unbounded on [-3, 0)", "optimal on [0, 3]"],
    ),
    "unbounded, one point, unbounded": (
        pqp.ParametricQP([[0]], [mu]),
        (-3, 3),
        ["unbounded on [-3, 0)", "optimal on [0, 0]", "unbounded on (0, 3]"],
    ),
    "infeasible, one point, infeasible": (
        pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[mu, -mu], upper=0),
        (-1, 2),
        ["infeasible on [-1, 0)", "optimal on [0, 0]", "infeasible on (0, 2]"],
    ),
    "unbounded, optimal, infeasible": (
        pqp.ParametricQP(LINE, [1 + mu, 0], **window(mu, 1)),
        (-3, 3),
        ["unbounded on [-3, -1)", "optimal on [-1, 1]", "infeasible on (1, 3]"],
    ),
    "infeasible everywhere": (
        pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[mu, -INFINITY], row_upper=[INFINITY, mu - 1]),
        (-INFINITY, INFINITY),
        ["infeasible on (-inf, inf)"],
    ),
    "unbounded everywhere": (
        pqp.ParametricQP([[0]], [1], upper=mu),
        (-INFINITY, INFINITY),
        ["unbounded on (-inf, inf)"],
    ),
    "unbounded where no optimum could be": (
        # x >= |mu| is feasible everywhere, -x falls without end everywhere.
        pqp.ParametricQP([[0]], [-1], A=[[1], [1]], row_lower=[mu, -mu]),
        (-INFINITY, INFINITY),
        ["unbounded on (-inf, inf)"],
    ),
    "penalty too small": (
        # -2x + mu max(x - 1, 0) falls without end while mu < 2.
        pqp.ParametricQP([[0]], [-2], A=[[1]], row_upper=1, penalty=mu),
        (-1, 5),
        ["unbounded on [-1, 2)", "optimal on [2, 5]"],
    ),
    "negative penalty": (
        pqp.ParametricQP([[1]], [0], A=[[1]], row_upper=1, penalty=mu),
        (-1, 1),
        ["unbounded on [-1, 0)", "optimal on [0, 1]"],
    ),
    "ends that are no decimal numbers": (
        pqp.ParametricQP([[1]], [0], lower=7 * mu, upper=1 - 3 * mu),
        (0, 1),
        ["optimal on [0, 1/10]", "infeasible on (1/10, 1]"],
    ),
}  # fmt: skip
EVERY_CASE = pytest.mark.parametrize("name", CASES)


def solved(name: str, engine: Engine, direction: str = "left-to-right") -> pqp.Path:
    problem, interval, _ = CASES[name]
    return engine.trace(problem, interval, direction=direction)


def bad_segments(path: pqp.Path, status: str) -> list[Segment]:
    return [segment for segment in path.segments if segment.status == status]


def inside(segment: Segment) -> list[object]:
    """Some mu strictly inside a segment, and far out if it is infinite."""
    lo = segment.hi - 1000 if math.isinf(segment.lo) and not math.isinf(segment.hi) else segment.lo
    lo, hi = (-1000 if math.isinf(lo) else lo), (1000 if math.isinf(segment.hi) else segment.hi)
    return [RATIONAL.number(lo) + (RATIONAL.number(hi) - RATIONAL.number(lo)) * F(k, 8) for k in range(1, 8)]


def is_feasible(problem: pqp.ParametricQP, at, x) -> bool:
    """Whether x satisfies every hard limit."""
    data, hard = problem.data(RATIONAL), ~problem.is_soft
    limits = (data.row_lower, data.row_upper, data.lower, data.upper)
    row_lower, row_upper, lower, upper = (constant + at * slope for constant, slope in limits)
    activity = data.A @ x
    rows = (row_lower <= activity)[hard].all() and (activity <= row_upper)[hard].all()
    return bool(rows and (lower <= x).all() and (x <= upper).all())


@EVERY_CASE
class TestIntervals:
    def test_statuses_and_ends_are_those_by_hand(self, name):
        assert [str(interval) for interval in solved(name, EXACT).intervals] == CASES[name][2]

    def test_leftwards_trace_finds_the_same_intervals(self, name):
        path = solved(name, EXACT, "right-to-left")
        assert [str(interval) for interval in path.intervals] == CASES[name][2]

    @FLOAT_ENGINES
    @pytest.mark.parametrize("direction", ["left-to-right", "right-to-left"])
    def test_float_finds_the_same_intervals(self, name, engine, direction):
        exact, path = solved(name, EXACT).intervals, solved(name, engine, direction).intervals
        assert [interval.status for interval in path] == [interval.status for interval in exact]
        for left, right in zip(path, exact, strict=True):
            assert (left.lo_closed, left.hi_closed) == (right.lo_closed, right.hi_closed)
            assert (left.lo, left.hi) == pytest.approx((float(right.lo), float(right.hi)))

    def test_end_belongs_to_the_interval_that_claims_it(self, name):
        path = solved(name, EXACT)
        for interval in path.intervals:
            for end, closed in ((interval.lo, interval.lo_closed), (interval.hi, interval.hi_closed)):
                if not math.isinf(end):
                    assert (end in interval) == closed == (path(end).status == interval.status)


@EVERY_CASE
@EVERY_ENGINE
@pytest.mark.parametrize("direction", ["left-to-right", "right-to-left"])
class TestProofs:
    def test_farkas_vector_contradicts_feasibility_inside(self, name, engine, direction):
        path = solved(name, engine, direction)
        data = path.problem.data(RATIONAL)
        for segment in bad_segments(path, "infeasible"):
            f = segment.proof
            assert (data.A.T @ (f.row_lower - f.row_upper) + f.lower - f.upper == 0).all()
            for at in inside(segment):
                gap = F(0)
                for side, sense in (("row_lower", 1), ("row_upper", -1), ("lower", 1), ("upper", -1)):
                    constant, slope = getattr(data, side)
                    weights = getattr(f, side)
                    assert (weights >= 0).all()
                    gap += sense * sum(
                        w * (a + at * b) for w, a, b in zip(weights, constant, slope, strict=True) if w
                    )
                assert gap > 0
            assert segment.farkas.tolist() == (f.row_lower - f.row_upper).tolist()

    def test_ray_descends_from_a_feasible_point_inside(self, name, engine, direction):
        path = solved(name, engine, direction)
        problem = path.problem
        data = problem.data(RATIONAL)
        for segment in bad_segments(path, "unbounded"):
            d, v = segment.ray, segment.violation
            assert (data.P @ d == 0).all()
            assert (v >= 0).all()
            assert (v[~problem.is_soft] == 0).all()
            for (constant, _), sense in ((data.row_lower, 1), (data.row_upper, -1)):
                assert ((sense * (data.A @ d) + v)[np.isfinite(constant.astype(float))] >= 0).all()
            for at in inside(segment):
                descent = (data.c[0] + at * data.c[1]) @ d
                descent += sum(
                    (data.penalty[0][i] + at * data.penalty[1][i]) * v[i] for i in np.flatnonzero(v)
                )
                assert descent < 0
                x = segment.x0 + at * segment.x1
                assert all(is_feasible(problem, at, x + step * d) for step in (0, 1, 1000))


@EVERY_ENGINE
def test_optimal_value_tends_to_the_one_at_the_end_of_the_interval(engine):
    # x = 0 on [2, 5] costs nothing but -2x at x = 1: value -2 from mu = 2 on.
    path = solved("penalty too small", engine)
    assert path.objective([2, 5]).tolist() == [-2, -2]


@EVERY_ENGINE
def test_one_proof_covers_a_side_that_several_rows_obstruct(engine):
    """x >= -mu, x >= 2 - mu, x >= 3 - 2mu, x <= -1: infeasible until mu = 3, where 2 - mu and -1 meet."""
    problem = pqp.ParametricQP([[1]], [0], A=[[1]] * 3, row_lower=[-mu, 2 - mu, 3 - 2 * mu], upper=-1)
    path = engine.trace(problem, (-5, 5))
    assert [tuple(interval) for interval in path.intervals] == [(-5, 3, "infeasible"), (3, 5, "optimal")]
    assert len(bad_segments(path, "infeasible")) == 1
