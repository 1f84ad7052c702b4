"""Random strictly convex problems, n = 40, m = 80, mu in c and in b, against PPOPT and DAQP.

Against PPOPT both sides are timed from arrays to answer, since building its program already removes redundant
rows. It needs a linear and a quadratic solver: GLPK (through cvxopt) and quadprog are the fastest it knows,
three times faster than Gurobi, its default. DAQP is called from scratch at each of 101 values of mu, and warm
from one value to the next.

Run with `OMP_NUM_THREADS=1 pytest -m benchmark -n 0 tests/benchmarks/test_random_pqp.py`.
"""

import contextlib
import io

import numpy as np
import pytest

import pqp
from tests.benchmarks.problems import strictly_convex
from tests.benchmarks.table import compared, report, require_target
from tests.benchmarks.timing import peer, race, require_one_thread, trace

SEEDS = range(5)
# 26 to 52 bends within.
INTERVAL = (-0.75, 0.75)
GRID = np.linspace(*INTERVAL, 101)
AGREEMENT = 1e-9
# DAQP's word for no limit.
NO_LIMIT = 1e30


@pytest.mark.benchmark
@pytest.mark.parametrize("seed", SEEDS)
def test_path_takes_a_thirtieth_of_ppopt(seed):
    """PPOPT solves linear programs to describe every region: expect a large ratio."""
    require_one_thread()
    data = strictly_convex(seed=seed)
    result = race(lambda: trace(_problem(data), INTERVAL), lambda: _regions(_ppopt_program(data)), rounds=3)
    path, regions = result.answer, result.their_answer
    centres = [_centre(region) for region in regions]
    values = [_value(region, data, mu) for region, mu in zip(regions, centres, strict=True)]
    miss = _largest_miss(path, centres, values)
    row = report(compared(f"random pQP 40 x 80, seed {seed}", "PPOPT geometric", result, 1 / 30, miss))
    assert len(regions) == len(path.segments)
    assert miss <= AGREEMENT
    require_target(row)


@pytest.mark.benchmark
@pytest.mark.parametrize("start", ["cold", "warm"])
@pytest.mark.parametrize("seed", SEEDS)
def test_path_is_no_slower_than_a_grid_of_daqp(seed, start):
    """All bends in the time of a hundred points, also of a DAQP that starts each from the one before."""
    require_one_thread()
    daqp = peer("daqp")
    data = strictly_convex(seed=seed)
    problem = _problem(data)
    solve_grid = _cold if start == "cold" else _warm
    result = race(lambda: trace(problem, INTERVAL), lambda: solve_grid(daqp, *data))
    path, answers = result.answer, result.their_answer
    miss = _largest_miss(path, GRID, [answer[1] for answer in answers])
    row = report(compared(f"random pQP 40 x 80, seed {seed}", f"DAQP, {start}, 101 mu", result, 1, miss))
    assert {answer[2] for answer in answers} == {1}
    assert miss <= AGREEMENT
    require_target(row)


def _problem(data):
    P, c0, c1, A, b0, b1 = data
    return pqp.ParametricQP(P, c0 + pqp.mu * c1, A, row_upper=b0 + pqp.mu * b1)


def _largest_miss(path, places, values):
    """Return the largest relative difference of the optimal value."""
    pairs = zip(path.objective(np.asarray(places)), values, strict=True)
    return max(abs(float(ours) - theirs) / (1 + abs(theirs)) for ours, theirs in pairs)


def _cold(daqp, P, c0, c1, A, b0, b1):
    lower = np.full(len(b0), -NO_LIMIT)
    return [daqp.solve(P, c0 + mu * c1, A, b0 + mu * b1, lower) for mu in GRID]


def _warm(daqp, P, c0, c1, A, b0, b1):
    lower, model, answers = np.full(len(b0), -NO_LIMIT), daqp.Model(), []
    model.setup(P, c0 + GRID[0] * c1, A, b0 + GRID[0] * b1, lower)
    for mu in GRID:
        model.update(f=c0 + mu * c1, bupper=b0 + mu * b1, blower=lower)
        answers.append(model.solve())
    return answers


def _ppopt_program(data):
    """Return the problem in PPOPT's form: minimise ½xᵀQx + θHᵀx + cᵀx, Ax ≤ b + Fθ, within the interval."""
    for solver in ("cvxopt", "quadprog"):
        peer(solver)
    programs, solvers = peer("ppopt.mpqp_program"), peer("ppopt.solver")
    P, c0, c1, A, b0, b1 = data
    c0, c1, b0, b1, ends = (np.reshape(v, (-1, 1)) for v in (c0, c1, b0, b1, [INTERVAL[1], -INTERVAL[0]]))
    chosen = solvers.Solver({"lp": "glpk", "qp": "quadprog"})
    return programs.MPQP_Program(A, b0, c0, c1, P, np.array([[1.0], [-1.0]]), ends, b1, solver=chosen)


def _regions(program):
    """Return the critical regions; PPOPT prints, which is not shown."""
    algorithms = peer("ppopt.mp_solvers.solve_mpqp")
    with contextlib.redirect_stdout(io.StringIO()):
        return algorithms.solve_mpqp(program, algorithms.mpqp_algorithm.geometric).critical_regions


def _centre(region):
    """Return the middle of the interval E θ ≤ f."""
    ends = region.f.ravel() / region.E.ravel()
    return float(np.min(ends[region.E.ravel() > 0]) + np.max(ends[region.E.ravel() < 0])) / 2


def _value(region, data, mu):
    """Return the objective at x = A θ + b, PPOPT's law of the region."""
    P, c0, c1, *_ = data
    x = region.A.ravel() * mu + region.b.ravel()
    return float(x @ P @ x / 2 + (c0 + mu * c1) @ x)
