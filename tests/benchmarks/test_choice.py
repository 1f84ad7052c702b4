"""CBC(C), 24 columns, from C = 0 to beyond the last breakpoint, against cvxcla and PIQP.

cvxcla traces the scaled dual, minimise ½bᵀNNᵀb - λ Σb subject to 0 ≤ b ≤ 1 with λ = 1 / C and b = α / C, with
its Gram operator. PIQP solves the sparse primal at 1e-8 for 50 values of C, set up from scratch for each,
and set up once and then updated.

Run with `OMP_NUM_THREADS=1 pytest -m benchmark -n 0 tests/benchmarks/test_choice.py`.
"""

import math

import numpy as np
import pytest
import scipy.sparse

import pqp
from tests.benchmarks.problems import choice_rows
from tests.benchmarks.table import Row, compared, report, require_target
from tests.benchmarks.timing import cpu_seconds, peer, race, require_one_thread, trace

SIZES = (200, 1000, 5000)
# Choices by a noisy utility: the family with about 2 bends a choice.
NOISE = 1.0
GAP, AGREEMENT = 1e-9, 1e-7
ACCURACY = ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel")


@pytest.mark.benchmark
@pytest.mark.parametrize("choices", SIZES)
def test_choice_path_takes_a_quarter_of_cvxcla(choices):
    """The same bends from both; cvxcla solves afresh at each: expect the ratio to widen."""
    require_one_thread()
    cvxcla, linalg = peer("cvxcla"), peer("cvx.linalg")
    rows = choice_rows(choices, 0, NOISE)
    problem, factor = pqp.catalog.choice(rows), rows.T.astype(float)

    def theirs():
        bounds = np.zeros(choices), np.ones(choices)
        empty = {"a": np.zeros((0, choices)), "b": np.zeros(0)}
        return cvxcla.CLA(np.ones(choices), linalg.GramOperator(factor), *bounds, **empty)

    result = race(lambda: trace(problem, (0, math.inf)), theirs)
    path, points = result.answer, result.their_answer.turning_points
    turns = [point for point in points if 0 < point.lamb < math.inf]
    miss = max(_miss(path, rows, point) for point in turns[:: max(1, len(turns) // 100)])
    gap = largest_gap(path, rows, 500)
    note = f"{len(points)} turning points of the peer, part-worths within {miss:.0e}"
    row = report(compared(f"CBC(C) s = {choices}", "cvxcla Gram", result, 1 / 4, gap, note))
    assert miss <= AGREEMENT
    assert gap <= GAP
    require_target(row)


@pytest.mark.benchmark
@pytest.mark.parametrize("start", ["cold", "updated"])
@pytest.mark.parametrize(("choices", "target"), [(200, 1), (1000, 1 / 3), (5000, 1)])
def test_choice_path_against_a_grid_of_piqp(choices, target, start):
    """All values of C instead of fifty; no slower than PIQP where it is set up once and then updated."""
    require_one_thread()
    piqp, rows = peer("piqp"), choice_rows(choices, 0, NOISE)
    problem = pqp.catalog.choice(rows)
    last = float(trace(problem, (0, math.inf)).breakpoints[-1])
    grid, solve_grid = np.geomspace(last / 1e4, last, 50), _cold if start == "cold" else _updated
    result = race(lambda: trace(problem, (0, math.inf)), lambda: solve_grid(piqp, rows, grid))
    path, values = result.answer, result.their_answer
    ours = [weights_and_values(path, rows, C)[1] for C in grid]
    miss = max(abs(mine - value) / value for mine, value in zip(ours, values, strict=True))
    target = target if start == "cold" else 1
    row = report(compared(f"CBC(C) s = {choices}", f"PIQP, {start}, 50 C", result, target, miss))
    assert miss <= AGREEMENT
    require_target(row)


@pytest.mark.benchmark
@pytest.mark.parametrize("choices", [200, 1000])
def test_cost_of_an_exact_proof(choices):
    """`certify` next to the trace, without a target."""
    require_one_thread()
    path = trace(pqp.catalog.choice(choice_rows(choices, 0, NOISE)), (0, math.inf))
    tracing, _ = cpu_seconds(lambda: trace(path.problem, (0, math.inf)))
    proving, _ = cpu_seconds(path.certify)
    report(Row(f"CBC(C) s = {choices}", "certify", tracing, proving, pieces=len(path.segments)))


def largest_gap(path, rows, count):
    """Return the largest relative duality gap at the breakpoints, or at `count` of them."""
    bends = path.breakpoints[:: max(1, len(path.breakpoints) // count)]
    values = (weights_and_values(path, rows, float(C))[1:] for C in bends)
    return max((primal - dual) / primal for primal, dual in values)


def weights_and_values(path, rows, C):
    """Return the part-worths, the primal and the dual value of ½|w|² + C Σ max(0, 1 - Nw) from the path."""
    alpha = np.asarray(path(C).y, dtype=float)
    w = rows.T @ alpha
    primal = w @ w / 2 + C * np.maximum(0, 1 - rows @ w).sum()
    return w, primal, alpha.sum() - w @ w / 2


def _miss(path, rows, point):
    """Return by how much the part-worths at a turning point of cvxcla differ from ours."""
    C = 1 / point.lamb
    theirs = rows.T @ (C * point.weights)
    w, *_ = weights_and_values(path, rows, C)
    return np.max(np.abs(w - theirs)) / max(1, np.max(np.abs(theirs)))


def _cold(piqp, rows, grid):
    return [_value(_solver(piqp, rows, C)) for C in grid]


def _updated(piqp, rows, grid):
    solver, values = _solver(piqp, rows, grid[0]), []
    for C in grid:
        solver.update(c=_cost(rows, C))
        values.append(_value(solver))
    return values


def _solver(piqp, rows, C):
    """Return PIQP on: minimise ½|w|² + C Σ ξ subject to Nw + ξ ≥ 1, ξ ≥ 0."""
    s, n = rows.shape
    P = scipy.sparse.csc_matrix(scipy.sparse.diags(np.repeat([1.0, 0.0], (n, s))))
    slacks = scipy.sparse.eye(s)
    G = scipy.sparse.csc_matrix(scipy.sparse.hstack([scipy.sparse.csc_matrix(rows, dtype=float), slacks]))
    solver = piqp.SparseSolver()
    for setting in ACCURACY:
        setattr(solver.settings, setting, 1e-8)
    lower = np.repeat([-math.inf, 0.0], (n, s))
    solver.setup(P, _cost(rows, C), G=G, h_l=np.ones(s), x_l=lower)
    return solver


def _cost(rows, C):
    return np.repeat([0.0, C], rows.shape[::-1])


def _value(solver):
    status = solver.solve()
    assert status.name == "PIQP_SOLVED"
    return solver.result.info.primal_obj
