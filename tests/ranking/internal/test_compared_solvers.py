"""The solvers that RankSVM is compared with find the least value too, and their gaps tell the truth."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.metrics.pairwise import rbf_kernel

from ranking import RankSVM
from ranking.core.graph import preference_pairs
from ranking.errors import ConvergenceError
from ranking.ranksvm.conditional_gradient import conditional_gradient
from ranking.ranksvm.cutting_plane import cutting_plane
from ranking.ranksvm.decomposition import decompose
from ranking.ranksvm.linear_program import solve_linear_program
from ranking.ranksvm.pair_counts import CountedPairs, ListedPairs
from ranking.ranksvm.small_qp import maximise_quadratic
from ranking.ranksvm.spaces import KernelSpace, WeightSpace

TOL = 1e-3


def data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3))
    y, qid = rng.integers(0, 3, 20), rng.integers(0, 2, 20)
    return X, y, qid, preference_pairs(y, qid)


def spaces(X):
    K = rbf_kernel(X, gamma=0.3)
    return {"weights": (WeightSpace(X), X @ X.T), "kernel": (KernelSpace(lambda v: K @ v, K), K)}


@pytest.mark.parametrize("where", ["weights", "kernel"])
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("method", [conditional_gradient, cutting_plane, decompose])
@pytest.mark.parametrize("seed", range(2))
def test_objective_is_within_the_tolerance_of_the_least(seed, method, C, where):
    X, y, qid, pairs = data(seed)
    space, K = spaces(X)[where]
    ones = np.ones(len(pairs))
    sums = ListedPairs(pairs, ones, ones, 20) if method is decompose else CountedPairs(y, qid)
    gaps = []
    found = method(space, sums, C, tol=TOL, max_iter=20_000, callback=lambda s: gaps.append(s.gap))
    exact = RankSVM(C=C, kernel="precomputed").fit(K, y, qid)
    least = exact.objective_
    assert least * (1 - 1e-8) <= found.objective <= least * (1 + 1.01 * TOL)
    # every gap on the way was an upper bound, the last one is small enough
    assert min(gaps) == gaps[-1] <= TOL
    # Dᵀα proves it: its function has a norm no larger than what the dual value allows
    scores = K @ found.dual_balance
    assert found.dual_balance @ scores / 2 <= least * (1 + 1e-8)


@pytest.mark.parametrize("method", [conditional_gradient, cutting_plane, decompose])
def test_weights_and_margins(method):
    X, _, _, pairs = data(3)
    rng = np.random.default_rng(3)
    weight, margin = rng.uniform(0.5, 2, len(pairs)), rng.uniform(0.1, 2, len(pairs))
    sums = ListedPairs(pairs, weight, margin, 20)
    found = method(WeightSpace(X), sums, 0.5, tol=TOL, max_iter=20_000)
    least = RankSVM(C=0.5).fit(X, pairs=pairs, pair_weight=weight, margin=margin).objective_
    assert least * (1 - 1e-8) <= found.objective <= least * (1 + 1.01 * TOL)


@pytest.mark.parametrize("method", [conditional_gradient, cutting_plane, decompose])
def test_too_few_steps_are_an_error_that_names_the_gap(method):
    X, _, _, pairs = data(0)
    ones = np.ones(len(pairs))
    with pytest.raises(ConvergenceError) as caught:
        method(WeightSpace(X), ListedPairs(pairs, ones, ones, 20), 100.0, tol=1e-9, max_iter=1)
    assert caught.value.argument == "max_iter"
    assert caught.value.gap > 1e-9


def test_a_warm_start_of_the_conditional_gradient_saves_steps():
    X, y, qid, _ = data(1)
    space, sums = WeightSpace(X), CountedPairs(y, qid)
    options = {"tol": 1e-2, "max_iter": 20_000}
    first = conditional_gradient(space, sums, 1.0, **options)
    cold = conditional_gradient(space, sums, 1.05, **options)
    warm = conditional_gradient(space, sums, 1.05, first, **options)
    assert warm.iterations < cold.iterations
    assert warm.gap <= 1e-2


def test_the_rule_of_the_first_gap():
    X, y, qid, _ = data(1)
    gaps = []
    found = conditional_gradient(
        WeightSpace(X),
        CountedPairs(y, qid),
        1.0,
        tol=0.05,
        max_iter=20_000,
        rule="first gap",
        callback=lambda s: gaps.append(s.gap * s.objective),
    )
    assert found.gap * found.objective <= 0.05 * gaps[0]
    # the paper's rule stops as soon as it holds
    assert gaps[-2] > 0.05 * gaps[0]


def test_the_linear_program_is_optimal_by_its_definition():
    X, _, _, pairs = data(2)
    K = rbf_kernel(X, gamma=0.3)
    rng = np.random.default_rng(2)
    weight, margin = rng.uniform(0.5, 2, len(pairs)), rng.uniform(0.1, 2, len(pairs))
    found = solve_linear_program(K, ListedPairs(pairs, weight, margin, 20), 0.7)
    beta, scores = found.point
    slack = np.maximum(0, margin - scores[pairs[:, 0]] + scores[pairs[:, 1]])
    assert (beta >= 0).all()
    np.testing.assert_allclose(scores, K @ beta)
    assert found.objective == pytest.approx(beta.sum() + 0.7 * weight @ slack, rel=1e-9)
    assert abs(found.gap) <= 1e-9
    # weak duality by another program: the dual, written out
    D = np.zeros((len(pairs), 20))
    D[np.arange(len(pairs)), pairs[:, 0]], D[np.arange(len(pairs)), pairs[:, 1]] = 1, -1
    dual = linprog(-margin, A_ub=(D @ K).T, b_ub=np.ones(20), bounds=[(0, 0.7 * w) for w in weight])
    assert -dual.fun == pytest.approx(found.objective, rel=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_small_programs_are_optimal_and_exactly_feasible(seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(6, 4))
    H, b = factor @ factor.T * 10.0 ** rng.integers(-3, 4), rng.normal(size=6)
    x = maximise_quadratic(H, b, 2.0, total=3.0)
    assert (x >= 0).all()
    assert x.max() <= 2.0
    assert x.sum() <= 3.0 * (1 + 1e-15)
    # no vertex of the feasible set lies uphill: a linear program over the gradient
    gradient = b - H @ x
    uphill = -linprog(-gradient, A_ub=np.ones((1, 6)), b_ub=[3.0], bounds=(0, 2)).fun
    assert uphill - gradient @ x <= 1e-6 * (1 + np.abs(gradient).max())
