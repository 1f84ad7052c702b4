"""Along an ε-path the relative duality gap is at most ε at every C, whatever solver and loss."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from ranking.core.graph import preference_pairs
from ranking.ranksvm.conditional_gradient import conditional_gradient
from ranking.ranksvm.epsilon_path import trace_epsilon_path
from ranking.ranksvm.newton import minimise
from ranking.ranksvm.pair_counts import CountedPairs
from ranking.ranksvm.spaces import KernelSpace, WeightSpace, zero


def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3))
    y, qid = rng.integers(0, 3, 25), rng.integers(0, 2, 25)
    return X, y, qid


def newton(space, sums, is_squared):
    def solve(C, start, tol):
        point = zero(space, sums.n_items) if start is None else start.point
        return minimise(space, sums, C, point, is_squared=is_squared, tol=tol, max_iter=200)

    return solve


def excess(K, coef, y, qid, C, is_squared, space, sums):
    """Return by how much a function misses the least value at C, relative to its own value."""
    pairs = preference_pairs(y, qid)
    point = space.from_coef(coef)
    residual = np.maximum(0, 1 - point.scores[pairs[:, 0]] + point.scores[pairs[:, 1]])
    value = space.inner(point, point) / 2 + C * (residual ** (2 if is_squared else 1)).sum()
    best = minimise(space, sums, C, zero(space, 25), is_squared=is_squared, tol=1e-7, max_iter=300)
    return (value - best.objective) / value


@pytest.mark.parametrize("where", ["weights", "kernel"])
@pytest.mark.parametrize("is_linear", [True, False])
@pytest.mark.parametrize("is_squared", [True, False])
def test_the_gap_is_at_most_epsilon_everywhere(is_squared, is_linear, where):
    X, y, qid = problem(0)
    K = rbf_kernel(X)
    space = WeightSpace(X) if where == "weights" else KernelSpace(lambda v: K @ v, K)
    sums, epsilon = CountedPairs(y, qid), 0.01 if is_linear else 0.05
    path = trace_epsilon_path(
        space, newton(space, sums, is_squared), 0.01, 10.0, epsilon, is_linear=is_linear
    )
    assert (path.C[0], path.C[-1]) == (0.01, 10.0)
    assert (path.gaps <= epsilon).all()
    rng = np.random.default_rng(1)
    for C in np.exp(rng.uniform(np.log(0.01), np.log(10.0), 12)):
        k = np.searchsorted(path.C, C) - 1
        missed = excess(K, path.coef(C), y, qid, C, is_squared, space, sums)
        assert -1e-7 <= missed <= path.gaps[k] + 1e-7


def test_smaller_epsilon_takes_about_its_inverse_root_more_pieces():
    X, y, qid = problem(2)
    space, sums = WeightSpace(X), CountedPairs(y, qid)

    def pieces(epsilon, is_linear=True):
        solve = newton(space, sums, True)
        return len(trace_epsilon_path(space, solve, 0.01, 10, epsilon, is_linear=is_linear).gaps)

    # a hundredth of ε: ten times the pieces by the theory
    assert 5 <= pieces(1e-5) / pieces(1e-3) <= 20
    assert 5 <= pieces(1e-5, is_linear=False) / pieces(1e-3, is_linear=False) <= 20
    assert pieces(1e-3, is_linear=False) > pieces(1e-3)


def test_any_solver_with_a_gap_will_do_and_a_path_may_stop():
    X, y, qid = problem(3)
    space, sums = WeightSpace(X), CountedPairs(y, qid)

    def solve(C, start, tol):
        return conditional_gradient(space, sums, C, start, tol=tol, max_iter=100_000)

    reached = []
    path = trace_epsilon_path(space, solve, 0.001, 1.0, 0.2, max_pieces=2, progress=reached.append)
    assert len(path.gaps) == 2
    assert reached == path.C[1:].tolist()
    assert path.C[-1] < 1.0
    assert (path.gaps <= 0.2).all()


def test_a_bound_that_is_too_small_would_be_noticed():
    X, y, qid = problem(0)
    space, sums = WeightSpace(X), CountedPairs(y, qid)
    # two solutions far apart mixed as if they were close: the excess is far above ε
    solve = newton(space, sums, False)
    coef = (solve(0.001, None, 1e-6).point.coef + solve(100.0, None, 1e-6).point.coef) / 2
    assert excess(None, coef, y, qid, 50.0, False, space, sums) > 0.01
