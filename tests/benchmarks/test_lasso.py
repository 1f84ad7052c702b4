"""The lasso path against scikit-learn's `lars_path`, from the empty model to the unpenalised one.

Run with `OMP_NUM_THREADS=1 pytest -m benchmark -n 0 tests/benchmarks/test_lasso.py`.
"""

import math

import numpy as np
import pytest

import pqp
from tests.benchmarks.problems import regression
from tests.benchmarks.table import compared, report, require_target
from tests.benchmarks.timing import peer, race, require_one_thread, trace

# lars_path accumulates rounding errors; ours is measured by its duality gap.
AGREEMENT, GAP = 1e-6, 1e-9


@pytest.mark.benchmark
@pytest.mark.parametrize(("rows", "columns"), [(500, 1000), (2000, 500)])
def test_lasso_path_is_no_slower_than_lars(rows, columns):
    """Both factorise one Gram matrix along the path: expect the same order."""
    require_one_thread()
    lars_path = peer("sklearn.linear_model").lars_path
    X, y = regression(rows, columns)
    problem = pqp.catalog.lasso(X, y)
    result = race(
        lambda: trace(problem, (0, math.inf), direction="right-to-left"),
        lambda: lars_path(X, y, method="lasso", max_iter=100 * columns),
    )
    path, (alphas, _, coefficients) = result.answer, result.their_answer
    places = rows * alphas
    found = path.x(places)
    gap = max(_gap(X, y, b, mu) for b, mu in zip(found, places, strict=True) if mu > 0)
    miss = np.max(np.abs(found - coefficients.T)) / np.max(np.abs(coefficients))
    note = f"{len(alphas)} steps of the peer, coefficients within {miss:.0e}"
    row = report(compared(f"lasso {rows} x {columns}", "lars_path", result, 1, gap, note))
    assert miss <= AGREEMENT
    assert gap <= GAP
    require_target(row)


def _gap(X, y, b, mu):
    """Return the duality gap of ½|y - Xb|² + mu Σ|b| relative to its value at b = 0."""
    rest = y - X @ b
    scale = min(1.0, mu / max(np.max(np.abs(X.T @ rest)), np.finfo(float).tiny))
    value = rest @ rest / 2 + mu * np.abs(b).sum()
    dual = (y @ y - (y - scale * rest) @ (y - scale * rest)) / 2
    return (value - dual) / (y @ y / 2)
