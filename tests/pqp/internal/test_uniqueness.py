"""uniqueness: x is called unique exactly where no other point is optimal."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import pqp
from pqp import mu
from pqp.lcp.crisscross import RULES
from pqp.linalg.field import RATIONAL
from pqp.records.segment import Segment
from pqp.records.uniqueness import is_unique
from tests.comparison import inside, optimal, traced
from tests.engines import EVERY_ENGINE

INFINITY = math.inf
# HiGHS may err by 1e-7; optimal faces of these problems are points or at least this long.
CLEARLY = 1e-3

# Problem, mu, and whether its solution is unique, with the reason.
CASES = {
    "positive definite": (pqp.ParametricQP(np.eye(2), [1, mu]), 3, True),
    "flat and free": (pqp.ParametricQP([[0]], [0]), 0, False),
    "flat in a box": (pqp.ParametricQP([[0]], [mu], lower=0, upper=1), 0, False),
    "flat but pushed to a limit": (pqp.ParametricQP([[0]], [mu], lower=0, upper=1), 1, True),
    "flat but fixed": (pqp.ParametricQP([[0]], [0], lower=2, upper=2), 0, True),
    "flat but limits meet at this mu": (pqp.ParametricQP([[0]], [0], lower=mu, upper=1), 1, True),
    "flat with an equality": (pqp.ParametricQP([[0]], [0], A=[[1]], row_lower=1, row_upper=1), 0, True),
    "sum fixed, difference free": (pqp.ParametricQP([[1, 1], [1, 1]], [-1, -1]), 0, False),
    # x + y = 1 with x, y >= 0 leaves a whole edge.
    "edge of a simplex": (pqp.ParametricQP([[1, 1], [1, 1]], [-1, -1], lower=0), 0, False),
    # x + y = 0 with x, y >= 0 leaves the corner, although no multiplier is positive.
    "corner held by two limits without multipliers": (
        pqp.ParametricQP([[1, 1], [1, 1]], [0, 0], lower=0),
        0,
        True,
    ),
    # x >= 0, -x >= 0 as rows, with nothing to minimise.
    "point held by two rows": (pqp.ParametricQP([[0]], [0], A=[[1], [-1]], row_lower=0), 0, True),
    "half line": (pqp.ParametricQP([[0]], [0], A=[[1]], row_lower=0), 0, False),
    # -x + max(x - 1, 0) is constant beyond x = 1, where the cap is reached.
    "soft row at its cap": (pqp.ParametricQP([[0]], [-1], A=[[1]], row_upper=1, penalty=1), 0, False),
    "soft row below its cap": (pqp.ParametricQP([[0]], [-1], A=[[1]], row_upper=1, penalty=2), 0, True),
    "soft row without price": (pqp.ParametricQP([[0]], [0], A=[[1]], row_upper=1, penalty=0), 0, False),
    "soft equality": (pqp.ParametricQP([[0]], [0], A=[[1]], row_lower=1, row_upper=1, penalty=1), 0, True),
    "no variables": (pqp.ParametricQP(np.zeros((0, 0)), np.zeros(0)), 0, True),
}


@EVERY_ENGINE
@pytest.mark.parametrize("name", CASES)
def test_verdict_is_the_one_by_hand(name, engine):
    problem, at, unique = CASES[name]
    (segment,) = engine.trace(problem, (at, at)).segments
    assert segment.unique is unique


@EVERY_ENGINE
def test_verdict_does_not_depend_on_which_optimal_point_is_asked(engine):
    field = engine.field
    problem, _, _ = CASES["edge of a simplex"]
    nothing = field.array([])
    for x in ([1, 0], [0, 1], [0.5, 0.5]):
        assert not is_unique(problem, field, 0, field.array(x), nothing, field.array([0, 0]))


def test_bad_pieces_are_not_called_unique():
    path = pqp.solve_path(pqp.ParametricQP([[0]], [mu], lower=0), (-1, 1))
    assert [(segment.status, segment.unique) for segment in path.segments] == [
        ("unbounded", False),
        ("optimal", True),
    ]


def random_problem(random: np.random.Generator) -> pqp.ParametricQP:
    """Few small numbers, so that costs vanish, limits meet and rows repeat."""
    n, m = int(random.integers(2, 4)), int(random.integers(1, 4))
    F = random.integers(-1, 2, (n, int(random.integers(1, 3)))) * random.integers(0, 2)
    low, row_low = random.integers(-1, 1, n), random.integers(-2, 1, m)
    return pqp.ParametricQP(
        F @ F.T,
        random.choice([0, 0, 1, -1], n) + mu * random.choice([0, 0, 1], n),
        A=random.integers(-1, 2, (m, n)),
        row_lower=row_low,
        row_upper=row_low + random.choice([0, 1, 2, INFINITY], m),
        lower=np.where(random.random(n) < 0.1, -INFINITY, low),
        upper=low + random.choice([0, 1, 2, INFINITY], n, p=[0.1, 0.3, 0.4, 0.2]),
        penalty=[None if random.random() < 0.6 else int(random.integers(0, 3)) for _ in range(m)],
    )


def is_point(problem: pqp.ParametricQP, segment: Segment) -> bool:
    """Whether the optimal face at a mu inside the segment is a single point, by linear programs.

    The optimal x' are the feasible ones with Px' = Px and the same linear cost, violations included.
    """
    at = segment.lo if segment.lo == segment.hi else (segment.lo + segment.hi) / 2
    data, soft = problem.data(RATIONAL), problem.is_soft
    point, n = segment.at(at), problem.n
    value = [pair[0] + at * pair[1] for pair in (data.row_lower, data.row_upper, data.lower, data.upper)]
    row_lower, row_upper, lower, upper = (side.astype(float) for side in value)
    c, penalty = (
        (data.c[0] + at * data.c[1]).astype(float),
        (data.penalty[0] + at * data.penalty[1])[soft].astype(float),
    )
    A, x, P = data.A.astype(float), point.x.astype(float), data.P.astype(float)
    violation = np.maximum(np.maximum(row_lower - A @ x, A @ x - row_upper), 0)[soft]
    slack = np.eye(problem.m)[:, soft]
    below, above = np.isfinite(row_lower), np.isfinite(row_upper)
    G = np.vstack([np.hstack([-A, -slack])[below], np.hstack([A, -slack])[above]])
    h = np.append(-row_lower[below], row_upper[above])
    same = np.vstack([np.hstack([P, np.zeros((n, len(violation)))]), np.append(c, penalty)])
    right = np.append(P @ x, c @ x + penalty @ violation)
    bounds = [*zip(lower, upper, strict=True), *[(0, None)] * len(violation)]
    for j in range(n):
        for sense in (1, -1):
            goal = sense * np.eye(n + len(violation))[j]
            found = linprog(goal, A_ub=G, b_ub=h, A_eq=same, b_eq=right, bounds=bounds)
            if found.status == 3 or abs(sense * found.fun - x[j]) > CLEARLY:
                return False
    return True


@EVERY_ENGINE
def test_verdict_agrees_with_linear_programs_over_the_optimal_face(engine):
    random = np.random.default_rng(5)
    verdicts = []
    for _ in range(40):
        problem = random_problem(random)
        exact = traced(problem, (-2, 2))
        for segment in optimal(engine.trace(problem, (-2, 2))):
            if segment.lo < segment.hi:
                twin = exact(inside(segment)).segment
                assert segment.unique == is_point(problem, twin), (problem, segment)
                verdicts.append(segment.unique)
    assert min(verdicts.count(True), verdicts.count(False)) > 10


def test_rules_that_find_different_points_show_that_none_is_unique():
    random = np.random.default_rng(6)
    different = 0
    for _ in range(40):
        problem = random_problem(random)
        paths = [
            pqp.solve_path(problem, (-2, 2), arithmetic="exact", rule=rule, direction=direction)
            for rule in RULES
            for direction in ("left-to-right", "right-to-left")
        ]
        for at in (Fraction(-7, 5), Fraction(1, 3), Fraction(9, 7)):
            points = [path(at) for path in paths]
            if points[0].status == "optimal" and len({tuple(point.x) for point in points}) > 1:
                assert not any(point.segment.unique for point in points)
                different += 1
    assert different > 3
