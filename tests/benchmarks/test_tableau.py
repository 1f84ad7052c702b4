"""The tableau engine: how its cost grows with k, in both arithmetics.

Run with `OMP_NUM_THREADS=1 pytest -m benchmark -n 0 tests/benchmarks/test_tableau.py`.
"""

import numpy as np
import pytest

import pqp
from pqp.linalg.tableau import exact_tableau
from tests.benchmarks.problems import dense

pytest.importorskip("pytest_benchmark", reason="install the bench extra: pip install '.[bench]'")


@pytest.mark.benchmark(group="whole path: float against exact, integer data")
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("k", [20, 40, 60, 100])
def test_path_of_integer_problem(benchmark, k, arithmetic):
    """Integers grow with the number of basic variables: expect a ratio that widens with k."""
    problem = dense(k)
    path = benchmark.pedantic(pqp.solve_path, (problem, (-10, 10)), {"arithmetic": arithmetic}, rounds=3)
    benchmark.extra_info["pieces"] = len(path.segments)
    path.certify()


@pytest.mark.benchmark(group="whole path: float against exact, float data")
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("k", [20, 40, 60])
def test_path_of_float_problem(benchmark, k, arithmetic):
    """Every dyadic entry brings about 60 bits per pivot: expect exact to fall behind much faster."""
    problem = dense(k, integers=False)
    path = benchmark.pedantic(pqp.solve_path, (problem, (-10, 10)), {"arithmetic": arithmetic}, rounds=3)
    benchmark.extra_info["pieces"] = len(path.segments)
    path.certify()


@pytest.mark.benchmark(group="one exact path, k = 60, at least 30 bends")
def test_exact_path_with_thirty_bends_takes_a_few_seconds(benchmark):
    """The figure asked for: k = n + m = 60 and 30 bends in a few seconds."""
    problem = dense(60)
    path = benchmark.pedantic(pqp.solve_path, (problem, (-10, 10)), {"arithmetic": "exact"}, rounds=3)
    assert len(path.breakpoints) >= 30
    assert benchmark.stats.stats.median < 5


@pytest.mark.benchmark(group="50 exact pivots: flint against Python integers")
@pytest.mark.parametrize("integers", ["flint", "python"])
@pytest.mark.parametrize("k", [60, 100])
@pytest.mark.parametrize("bits", [2, 53])
def test_exact_pivots(benchmark, k, bits, integers):
    """flint is why it is a dependency: expect it ahead, most of all when numbers are long."""
    rng = np.random.default_rng(0)
    start = rng.integers(-(2**bits), 2**bits, size=(k, k + 2)) + 4 * 2**bits * np.eye(k, k + 2, dtype=int)
    pivots = _flint_pivots if integers == "flint" else _python_pivots
    last = benchmark.pedantic(pivots, (start,), rounds=3)
    assert last == _flint_pivots(start)


def _flint_pivots(start):
    table = exact_tableau(start)
    for i in range(50):
        table = table.pivot(i, i)
    return int(table.numerators[0, 0]), int(table.denominator)


def _python_pivots(start):
    T, denominator = np.array(start.tolist(), dtype=object), 1
    for i in range(50):
        pivot, row, column = T[i, i], T[i].copy(), T[:, i].copy()
        T = (T * pivot - np.multiply.outer(column, row)) // denominator
        T[i], T[:, i], T[i, i], denominator = -row, column, denominator, pivot
        if pivot < 0:
            T, denominator = -T, -denominator
    return T[0, 0], denominator
