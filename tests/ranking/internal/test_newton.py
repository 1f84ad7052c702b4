"""Newton's method over counted pairs against definitions, the exact engine and the dense method on pairs."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from ranking import RankSVM
from ranking.core.graph import preference_pairs
from ranking.errors import ConvergenceError
from ranking.ranksvm.dense_newton import solve_squared_hinge
from ranking.ranksvm.newton import minimise
from ranking.ranksvm.pair_counts import CountedPairs, ListedPairs
from ranking.ranksvm.spaces import KernelSpace, WeightSpace, zero

TOL = 1e-7


def data(seed, is_tied=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    if is_tied:
        X = np.round(X)
    y = rng.integers(0, 4, 30) if seed % 2 else np.digitize(X @ [1.0, -1.0, 0.5], [-0.5, 0.5])
    return X, y, rng.integers(0, 2, 30)


def spaces(X):
    K = rbf_kernel(X, gamma=0.3)
    return {
        "weights": (WeightSpace(X), X @ X.T),
        "kernel": (KernelSpace(lambda v: K @ v, K), K),
        "kernel in blocks": (KernelSpace(lambda v: K @ v), K),
    }


def value(K, solution, pairs, C, power):
    """Return P at a solution, pair by pair, and the dual value of the α that its residuals stand for."""
    scores = solution.point.scores
    residual = np.maximum(0, 1 - scores[pairs[:, 0]] + scores[pairs[:, 1]])
    norm = scores @ np.linalg.lstsq(K, scores, rcond=None)[0]
    return norm / 2 + C * (residual**power).sum()


@pytest.mark.parametrize("where", ["weights", "kernel", "kernel in blocks"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("is_squared", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_objective_is_least(seed, is_squared, C, where):
    X, y, qid = data(seed, is_tied=seed > 1)
    space, K = spaces(X)[where]
    found = minimise(
        space, CountedPairs(y, qid), C, zero(space, 30), is_squared=is_squared, tol=TOL, max_iter=300
    )
    assert -1e-10 <= found.gap <= TOL
    pairs = preference_pairs(y, qid)
    at_solution = value(K, found, pairs, C, 2 if is_squared else 1)
    assert found.objective == pytest.approx(at_solution, rel=1e-9)
    if is_squared:
        least = solve_squared_hinge(K, pairs, C).objective
    else:
        least = RankSVM(C=C, kernel="precomputed").fit(K, y, qid).objective_
    assert least * (1 - 1e-9) <= found.objective <= least * (1 + 2 * TOL)
    # the dual point's value, of which the gap speaks, is no more than the least one
    norm = found.dual_balance @ K @ found.dual_balance / 2
    assert norm <= least * (1 + 1e-6)


@pytest.mark.parametrize("is_squared", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_listed_pairs_with_weights_and_margins(seed, is_squared):
    X, y, qid = data(seed)
    pairs = preference_pairs(y, qid)
    rng = np.random.default_rng(seed)
    weight, margin = rng.uniform(0.2, 2, len(pairs)), rng.uniform(-0.5, 2, len(pairs))
    sums, space = ListedPairs(pairs, weight, margin, 30), WeightSpace(X)
    found = minimise(space, sums, 0.7, zero(space, 30), is_squared=is_squared, tol=TOL, max_iter=300)
    if is_squared:
        least = solve_squared_hinge(X @ X.T, pairs, 0.7, weights=weight, margins=margin).objective
    else:
        exact = RankSVM(C=0.7).fit(X, pairs=pairs, pair_weight=weight, margin=margin)
        least = exact.objective_
    assert least * (1 - 1e-9) <= found.objective <= least * (1 + 2 * TOL)


def test_separable_data_at_huge_C():
    # f = w x with w = 2 meets the margin 1 at the distance 1/2: P = 2 for all large C
    X = np.array([[0.0], [0.5], [1.5]])
    space = WeightSpace(X)
    for C in (1e2, 1e4, 1e6):
        found = minimise(
            space,
            CountedPairs(np.arange(3), np.zeros(3)),
            C,
            zero(space, 3),
            is_squared=False,
            tol=1e-6,
            max_iter=300,
        )
        assert found.objective == pytest.approx(2.0, rel=2e-6)


def test_a_start_at_the_solution_takes_no_step():
    X, y, qid = data(1)
    space, sums = WeightSpace(X), CountedPairs(y, qid)
    options = {"is_squared": True, "tol": 1e-6, "max_iter": 50}
    first = minimise(space, sums, 1.0, zero(space, 30), **options)
    assert first.iterations > 0
    assert minimise(space, sums, 1.0, first.point, **options).iterations == 0


def test_the_gap_falls_and_too_few_steps_are_an_error():
    X, y, qid = data(0)
    space, gaps = WeightSpace(X), []
    options = {"is_squared": True, "tol": 1e-9, "callback": lambda state: gaps.append(state.gap)}
    minimise(space, CountedPairs(y, qid), 10.0, zero(space, 30), max_iter=50, **options)
    assert gaps[-1] <= 1e-9 < gaps[0]
    with pytest.raises(ConvergenceError) as caught:
        minimise(space, CountedPairs(y, qid), 10.0, zero(space, 30), max_iter=1, **options)
    assert caught.value.argument == "max_iter"
