"""The long-only efficient frontier of a 10-factor market against cvxcla, dense and factored.

Run with `OMP_NUM_THREADS=1 pytest -m benchmark -n 0 tests/benchmarks/test_frontier.py`.
"""

import math

import numpy as np
import pytest

import pqp
from tests.benchmarks.problems import factor_market
from tests.benchmarks.table import compared, report, require_target
from tests.benchmarks.timing import peer, race, require_one_thread, trace

# Weights and multipliers are of order one.
AGREEMENT = 1e-8


@pytest.mark.benchmark
@pytest.mark.parametrize("form", ["dense", "factor"])
@pytest.mark.parametrize("assets", [100, 500, 1000])
def test_frontier_is_no_slower_than_cvxcla(assets, form):
    """The same critical lines from both: expect the factor form to grow like the number of assets."""
    require_one_thread()
    cvxcla = peer("cvxcla")
    mean, F, d = factor_market(assets)
    dense = F @ F.T + np.diag(d)
    dense = (dense + dense.T) / 2
    problem = pqp.catalog.markowitz(mean, dense if form == "dense" else pqp.Gram(F, diagonal=d))

    def theirs():
        covariance = (
            dense if form == "dense" else cvxcla.FactorCovariance(d=d, u=F, delta=np.ones(F.shape[1]))
        )
        zeros, ones = np.zeros(assets), np.ones(assets)
        return cvxcla.CLA(mean, covariance, zeros, ones, a=ones[None, :], b=np.ones(1))

    result = race(lambda: trace(problem, (0, math.inf), direction="right-to-left"), theirs)
    path, points = result.answer, result.their_answer.turning_points
    turns = [point for point in points if 0 < point.lamb < math.inf]
    miss = max(np.max(np.abs(path(point.lamb).x - point.weights)) for point in turns)
    note = f"{len(points)} turning points of the peer"
    row = report(compared(f"frontier N = {assets}, {form}", "cvxcla", result, 1, miss, note))
    _require_same_turns(path, turns)
    assert miss <= AGREEMENT
    require_target(row)


def _require_same_turns(path, turns):
    """Every bend of ours is a turning point of the peer and the other way round."""
    ours = np.array([float(mu) for mu in path.breakpoints])
    theirs = np.array(sorted(point.lamb for point in turns))
    for some, others in ((ours, theirs), (theirs, ours)):
        nearest = np.min(np.abs(some[:, None] - others[None, :]), axis=1)
        assert np.max(nearest) <= AGREEMENT * np.max(theirs)
