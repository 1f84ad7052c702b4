"""starting: steps found from nothing are optimal at mu, and where there are none the dead end proves it."""

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import pqp
from pqp import mu
from pqp.equilibration import Scene
from pqp.journey import Journey
from pqp.starting import Blocked, find_start
from pqp.walk import Walk
from tests.engines import EXACT
from tests.strategies import INFINITY, for_all, problems
from tests.walking import scene_of

MUS = st.sampled_from((0.0, 1.0, -1.0, 2.5))
# The numbers of these problems are of one digit.
CLOSE = 1e-7


def is_optimal(scene: Scene, steps, at):
    """Whether everything that depends is within its range at mu."""
    gaps = Walk(scene.setting, steps).gaps()
    with np.errstate(invalid="ignore"):
        values = gaps[:, :, 0] + at * gaps[:, :, 1]
    return bool((values >= -CLOSE).all())


def has_its_widths(problem, at):
    """Whether no limits have crossed and no penalty is negative: that is decided before a start is sought."""
    return Journey(problem).widths.violated(at) is None


@for_all(problem=problems(), at=MUS)
def test_start_is_optimal_where_there_is_a_solution_and_blocked_where_there_is_none(problem, at):
    assume(has_its_widths(problem, at))
    scene = scene_of(problem)
    found = find_start(scene, at)
    assert isinstance(found, Blocked) == (EXACT.solve(problem, at).status != "optimal")
    if not isinstance(found, Blocked):
        assert is_optimal(scene, found, at)


STARTS = {
    "at the lower limit": pqp.ParametricQP([[1]], [2], lower=mu),
    "at the upper limit": pqp.ParametricQP([[1]], [-2], lower=-1, upper=1),
    "inside": pqp.ParametricQP([[1]], [-2], lower=0, upper=5),
    "free": pqp.ParametricQP([[1, 1], [1, 1]], [1, 1]),
    "free beside a row": pqp.ParametricQP([[1, 1], [1, 1]], [1, 1], A=[[1, -1]], row_lower=2),
    "an equality": pqp.ParametricQP(np.eye(2), [0, mu], A=[[1, 1]], row_lower=2, row_upper=2, lower=0),
    "equalities that repeat": pqp.ParametricQP(
        np.zeros((2, 2)), [1, 2], A=[[1, 1], [2, 2]], row_lower=[2, 4], row_upper=[2, 4], lower=0
    ),
    "violated soft rows": pqp.ParametricQP([[1]], [0], A=[[1], [-1]], row_lower=[5, 5], penalty=[1, 2]),
    "limits that just meet": pqp.ParametricQP([[1]], [3], A=[[1]], row_lower=1, lower=0, upper=1),
    "a free variable that nothing determines": pqp.ParametricQP(np.diag([1, 0]), [1, 0]),
}


@pytest.mark.parametrize("at", [0.0, 0.5])
@pytest.mark.parametrize("name", STARTS)
def test_start_is_found_however_the_problem_begins(name, at):
    scene = scene_of(STARTS[name])
    steps = find_start(scene, at)
    assert not isinstance(steps, Blocked)
    assert is_optimal(scene, steps, at)


@pytest.mark.parametrize(
    "problem",
    [
        pqp.ParametricQP([[0]], [-1], lower=0),
        pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[1, -INFINITY], row_upper=[INFINITY, 0]),
        pqp.ParametricQP([[0]], [1]),
        pqp.ParametricQP(np.zeros((2, 2)), [0, 0], A=[[1, 1], [1, 1]], row_lower=[1, 2], row_upper=[1, 2]),
    ],
    ids=["unbounded", "infeasible", "free and unbounded", "equalities that contradict"],
)
def test_start_is_blocked_where_there_is_no_solution(problem):
    assert isinstance(find_start(scene_of(problem), 0.0), Blocked)
