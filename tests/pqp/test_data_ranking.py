"""RankSVM with all pairs, in the dual over a Gram matrix, on data that tie as much as data can.

Features are small integers, rows are duplicated, and every pair of different relevance counts; kernels have
ranks from 1 to full. The duality gap is written from the definition: primal value of β = Dᵀα, dual one of α.
"""

import math

import numpy as np
import pytest

import pqp
from tests.benchmarks.problems import ranking, rbf
from tests.comparison import optimal_points
from tests.data_folder import mixture, needs

# Of the primal value, at every breakpoint.
GAP = 1e-9
# The rounding error in the optimality conditions, relative to C if that is large: 1e-9 was seen for 30
# objects of rank 8 with duplicates, about 2e-9 for the mixture.
RESIDUAL = 1e-8
# The gap for the kernel of the mixture, whose condition number is 1e11 and more.
ILL_CONDITIONED = 1e-8
SEEDS = range(3)
# Objects, features, duplicates and kernel: linear ones of rank 1, 2, 3, 4 and full, and gaussian ones.
SMALL = {
    "rank 1": (12, 1, 0, "linear"),
    "rank 2": (12, 2, 0, "linear"),
    "rank 3": (12, 3, 4, "linear"),
    "rank 4": (12, 4, 4, "linear"),
    "full rank": (12, 12, 0, "linear"),
    "gaussian": (12, 3, 0, "rbf"),
    "gaussian with duplicates": (12, 2, 4, "rbf"),
}
LARGE = {
    "rank 1": (30, 1, 0, "linear"),
    "rank 2": (30, 2, 10, "linear"),
    "rank 8": (30, 8, 10, "linear"),
    "full rank": (30, 40, 0, "linear"),
    "all but full rank": (30, 40, 1, "linear"),
    "gaussian": (30, 8, 0, "rbf"),
    "gaussian with duplicates": (30, 3, 10, "rbf"),
}
HUGE = {
    "rank 3": (60, 3, 20, "linear"),
    "rank 8": (60, 8, 20, "linear"),
    "gaussian with duplicates": (60, 3, 20, "rbf"),
}


def tied_data(objects, features, duplicates, kernel, seed):
    """The kernel matrix of integer features with repeated rows, and all pairs of different relevance."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(objects, features))
    X[objects - duplicates :] = X[:duplicates]
    K = X @ X.T if kernel == "linear" else rbf(X.astype(float), gamma=0.5)
    return K, all_pairs(rng.integers(0, 3, size=objects))


def all_pairs(relevance):
    return np.argwhere(np.greater.outer(relevance, relevance))


def largest_gap(path, K, pairs):
    """The largest relative gap of ½βᵀKβ + C Σ max(0, 1 - (f_i - f_j)), f = Kβ, at the breakpoints."""
    better, worse = pairs.T
    gaps = [0.0]
    for C in map(float, path.breakpoints):
        alpha = path(C).x.astype(float)
        beta = np.bincount(better, alpha, len(K)) - np.bincount(worse, alpha, len(K))
        f = K @ beta
        value = beta @ f / 2 + C * np.maximum(0, 1 - (f[better] - f[worse])).sum()
        if C > 0:
            gaps.append((value - (alpha.sum() - beta @ f / 2)) / value)
    return max(gaps)


def assert_complete(path, K, pairs, gap=GAP):
    assert [(stretch.lo, stretch.hi, stretch.status) for stretch in path.intervals] == [
        (0, math.inf, "optimal")
    ]
    assert largest_gap(path, K, pairs) <= gap
    misses = [point.residuals().largest / max(1, point.mu) for point in optimal_points(path)]
    assert max(misses) <= RESIDUAL


@pytest.mark.parametrize("seed", SEEDS)
class TestAllPairs:
    @pytest.mark.parametrize("data", SMALL)
    def test_path_is_complete_without_gap_and_proved(self, data, seed):
        K, pairs = tied_data(*SMALL[data], seed)
        path = pqp.solve_path(ranking(K, pairs), (0, math.inf))
        assert_complete(path, K, pairs)
        path.certify()

    @pytest.mark.slow
    @pytest.mark.parametrize("data", LARGE)
    def test_path_of_300_pairs_is_complete_without_gap_and_proved(self, data, seed):
        K, pairs = tied_data(*LARGE[data], seed)
        path = pqp.solve_path(ranking(K, pairs), (0, math.inf))
        assert_complete(path, K, pairs)
        path.certify()

    @pytest.mark.slow
    @pytest.mark.parametrize("data", HUGE)
    def test_path_of_1200_pairs_is_complete_and_without_gap(self, data, seed):
        K, pairs = tied_data(*HUGE[data], seed)
        assert_complete(pqp.solve_path(ranking(K, pairs), (0, math.inf)), K, pairs)

    @pytest.mark.parametrize("data", ["rank 1", "rank 2", "rank 3"])
    def test_values_are_those_of_the_exact_tableau(self, data, seed):
        K, pairs = tied_data(8, *SMALL[data][1:], seed)
        problem = ranking(K, pairs)
        path = pqp.solve_path(problem, (0, math.inf))
        exact = pqp.solve_path(problem, (0, math.inf), method="tableau", arithmetic="exact")
        places = [0, *exact.breakpoints, *path.breakpoints, 100]
        wanted = np.array(exact.objective(places), dtype=float)
        np.testing.assert_allclose(path.objective(places), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("data", SMALL)
def test_kernels_have_the_rank_they_are_named_after(data):
    objects, features, duplicates, kernel = SMALL[data]
    K, _ = tied_data(*SMALL[data], 0)
    distinct = min(features, objects) if kernel == "linear" else objects - duplicates
    assert np.linalg.matrix_rank(K) <= distinct
    assert duplicates == 0 or np.linalg.matrix_rank(K) < objects


def test_duplicates_share_their_decision_values():
    K, pairs = tied_data(12, 2, 4, "linear", 0)
    path = pqp.solve_path(ranking(K, pairs), (0, 10))
    alpha = path(3).x
    f = K @ (np.bincount(pairs[:, 0], alpha, 12) - np.bincount(pairs[:, 1], alpha, 12))
    np.testing.assert_allclose(f[8:], f[:4], rtol=0, atol=1e-12)


@pytest.mark.slow
@needs("mixture")
@pytest.mark.parametrize("decimals", [None, 1, 0], ids=["as given", "tied", "heavily tied"])
def test_path_of_the_mixture_is_complete_and_without_gap(decimals):
    X, y = mixture()
    X, y = np.vstack([X[:40], X[100:140]]), np.append(y[:40], y[100:140])
    K = rbf(X if decimals is None else np.round(X, decimals))
    pairs = all_pairs(y)
    path = pqp.solve_path(ranking(K, pairs), (0, math.inf))
    assert_complete(path, K, pairs, ILL_CONDITIONED)
