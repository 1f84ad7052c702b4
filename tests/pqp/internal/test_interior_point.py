"""interior_point: what libraries are asked is the problem, and what they say is read as its x and y."""

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from scipy.sparse import csr_array

import pqp
from pqp import mu
from pqp.linalg.field import FLOAT
from pqp.revised.interior_point import cone_program
from pqp.revised.presolve import lines
from pqp.stopping import StopLimits, StoppedError, Watch
from tests.comparison import traced
from tests.engines import EXACT
from tests.strategies import for_all, instances, problems
from tests.systems import has_its_widths, off_staircase, unlimited

INFINITY = np.inf
# Clarabel's own tolerance is 1e-9 in products of a value and a multiplier: each is known to its root.
NEAR = 1e-3


def off_optimality(problem, at, x, y):
    """How far x and y are from stationary, feasible and complementary, relative to their size."""
    data = problem.data(FLOAT)
    c, low, high, lower, upper, cap = (
        lines(part)[:, 0] + at * lines(part)[:, 1]
        for part in (data.c, data.row_lower, data.row_upper, data.lower, data.upper, data.penalty)
    )
    A = data.A.toarray() if hasattr(data.A, "toarray") else data.A
    z, rows = problem.P.matrix(FLOAT) @ x + c - A.T @ y, A @ x
    sizes = [off_staircase(lower[j], upper[j], INFINITY, x[j], z[j]) for j in range(problem.n)]
    sizes += [off_staircase(low[i], high[i], cap[i], rows[i], y[i]) for i in range(problem.m)]
    return max(sizes) / (1 + np.abs(x).max() + np.abs(y).max(initial=0.0))


RANDOM = np.random.default_rng(2)
F = RANDOM.integers(-2, 3, (8, 2))
K = RANDOM.integers(-2, 3, (5, 5))
PAIRS = [(0, 1), (2, 3), (4, 0), (1, 3), (2, 2), (3, 4), (0, 4), (1, 2)]
SOFT = {
    "A": RANDOM.integers(-2, 3, (4, 8)),
    "row_lower": [1, -INFINITY, -1, 2],
    "row_upper": [INFINITY, 1, 1, 2],
}
BOX = {"lower": -1, "upper": 1 + mu}
HESSIANS = {
    "entries": np.eye(8),
    "a sparse matrix": csr_array(np.eye(8)),
    "a thin factor": pqp.Gram(F),
    "a thin factor and a diagonal": pqp.Gram(F, diagonal=np.ones(8)),
    "weights": pqp.Gram(F, weights=[3, 0.5]),
    "a wide factor": pqp.Gram(RANDOM.integers(-2, 3, (8, 9))),
    "a sparse factor": pqp.Gram(csr_array(F), diagonal=0.5),
    "pairs": pqp.PairGram(K @ K.T, PAIRS),
}


@pytest.mark.parametrize("at", [0.0, 1.5])
@pytest.mark.parametrize("penalty", [None, [2, 1, mu + 1, None]], ids=["hard", "soft"])
@pytest.mark.parametrize("kind", HESSIANS)
def test_answer_is_the_solution_however_the_matrix_is_given(kind, penalty, at):
    rows = SOFT if penalty else {"A": SOFT["A"], "row_upper": 3}
    problem = pqp.ParametricQP(HESSIANS[kind], RANDOM.integers(-3, 4, 8), penalty=penalty, **rows, **BOX)
    answer = cone_program(problem).solve(at, unlimited())
    assert "Infeasible" not in answer.status
    assert (len(answer.x), len(answer.y)) == (problem.n, problem.m)
    assert off_optimality(problem, at, answer.x, answer.y) <= NEAR


@for_all(problem=problems(), at=st.sampled_from((0.0, 1.0, -1.0, 2.5)))
def test_answer_is_optimal_where_there_is_a_solution(problem, at):
    assume(has_its_widths(problem, at))
    assume(EXACT.solve(problem, at).status == "optimal")
    answer = cone_program(problem).solve(at, unlimited())
    assume(answer.status == "Solved")
    assert off_optimality(problem, at, answer.x, answer.y) <= NEAR


@pytest.mark.parametrize(
    "problem",
    [
        pqp.ParametricQP([[0]], [-1], lower=0),
        pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[1, -INFINITY], row_upper=[INFINITY, 0]),
    ],
    ids=["unbounded", "infeasible"],
)
def test_library_says_where_it_finds_no_solution(problem):
    assert "Infeasible" in cone_program(problem).solve(0.0, unlimited()).status


def test_library_is_left_behind_at_the_time_limit():
    n = 300
    G = np.random.default_rng(0).normal(size=(n, n))
    problem = pqp.ParametricQP(G @ G.T, np.ones(n), A=G, row_lower=-1, row_upper=1, lower=0, upper=1)
    with pytest.raises(StoppedError):
        cone_program(problem).solve(0.0, Watch(StopLimits(time_limit=1e-9), 0.0))


EXTENTS = {
    "feasible from 0 on": (
        pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0),
        (-2, 8),
        (0, 8),
    ),
    "bounded from −1 on and feasible up to 1": (
        pqp.ParametricQP(np.diag([0, 1]), [1 + mu, -mu / 2], lower=[0, mu], upper=[INFINITY, 1]),
        (-4, 4),
        (-1, 1),
    ),
    "soft rows never exclude": (
        pqp.ParametricQP([[1]], [0], A=[[1], [-1]], row_lower=[5, 5], penalty=[1, 2]),
        (-3, 3),
        (-3, 3),
    ),
    "penalties are enough from 1 on": (
        pqp.ParametricQP([[0]], [1], A=[[1]], row_lower=0, penalty=mu),
        (0, 3),
        (1, 3),
    ),
    "nowhere bounded": (pqp.ParametricQP([[0]], [-1], lower=0), (-1, 1), None),
    "nowhere feasible": (pqp.ParametricQP([[1]], [0], A=[[1], [-1]], row_lower=1), (-1, 1), None),
    "feasible outside only": (pqp.ParametricQP([[1]], [0], lower=0, upper=mu - 5), (-1, 1), None),
    "without ends": (pqp.ParametricQP([[1]], [mu], lower=0), (-INFINITY, INFINITY), (-INFINITY, INFINITY)),
    "feasible without end by a free variable": (
        pqp.ParametricQP(
            np.zeros((3, 3)), [0, 0, 0], A=[[1, 1, 1]], row_lower=0, row_upper=1, lower=[0, -INFINITY, mu]
        ),
        (0, INFINITY),
        (0, INFINITY),
    ),
    "at one mu alone": (pqp.ParametricQP([[0]], [mu]), (-2, 3), (0, 0)),
}


@pytest.mark.parametrize("name", EXTENTS)
def test_solvable_interval_is_the_known_one(name):
    problem, interval, known = EXTENTS[name]
    found = cone_program(problem).solvable(*interval, unlimited())
    assert (found is None) == (known is None)
    if known is not None:
        assert found == pytest.approx(known, abs=1e-7)


@for_all(instance=instances())
def test_solvable_interval_is_that_of_the_exact_path(instance):
    problem, (lo, hi) = instance
    optimal = [s for s in traced(problem, (lo, hi)).segments if s.status == "optimal"]
    found = cone_program(problem).solvable(float(lo), float(hi), unlimited())
    assert (found is not None) == bool(optimal)
    if optimal:
        assert found == pytest.approx((float(optimal[0].lo), float(optimal[-1].hi)), abs=1e-6)
