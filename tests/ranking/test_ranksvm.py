"""ranksvm: one C, both losses, against scikit-learn and the conditions of optimality."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import LinearSVC

import pqp
from ranking import RankSVM, RankSVMPath, difference_features, kernel_matrix
from ranking.errors import DataError
from tests.ranking.rankings import TIED, gap, gaussian, violation, whole
from tests.refusals import refuses


def linear_svc(X, pairs, weight, C, loss):
    """Weights of the same model, from both signs of all differences, each at half the price."""
    Z = difference_features(X, pairs)
    signs = np.repeat([1, -1], len(Z))
    svc = LinearSVC(C=C / 2, loss=loss, fit_intercept=False, tol=1e-10, max_iter=2_000_000, random_state=0)
    svc.fit(np.concatenate([Z, -Z]), signs, sample_weight=np.concatenate([weight, weight]))
    return svc.coef_.ravel()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 0.3, 5.0])
def test_weights_are_those_of_a_linear_svm_on_differences(loss, C):
    X, y = gaussian(20, 3, seed=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(RankSVM().fit(X, y).preferences_))
    model = RankSVM(C, loss=loss).fit(X, y, pair_weight=weight)
    assert_allclose(model.coef_, linear_svc(X, model.preferences_.pairs, weight, C, loss), atol=1e-4)


@pytest.mark.parametrize("C", [0.02, 1.0, 50.0])
@pytest.mark.parametrize("name", TIED)
def test_the_solution_is_optimal_through_ties(name, C):
    items, features, kernel, reduction = TIED[name]
    X, y, qid = whole(items, features, seed=3)
    model = RankSVM(C, kernel=kernel, gamma=0.5, reduction=reduction).fit(X, y, qid)
    K = kernel_matrix(X, kernel=kernel, gamma=0.5)
    assert violation(model, K, model.alpha_, C) <= 1e-8 * max(1, C)
    assert abs(gap(model, K, model.alpha_, C)) <= 1e-9
    assert model.duality_gap_ == pytest.approx(gap(model, K, model.alpha_, C), abs=1e-9)
    assert_allclose(K @ model.dual_coef_, model.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_precomputed_kernel_of_low_rank_and_large_offset_is_solved(seed):
    random = np.random.default_rng(seed)
    X = random.normal(100, size=(20, 2)).round(3)
    K, y = X @ X.T, random.integers(0, 3, 20)
    model = RankSVM(kernel="precomputed").fit(K, y)
    assert abs(model.duality_gap_) <= 1e-6  # differences lose four of the digits of K
    assert_allclose(model.decision_function(K), RankSVM().fit(X, y).decision_function(X), atol=1e-5)


def test_what_the_quick_solver_cannot_solve_the_path_does(monkeypatch):
    X, y = gaussian(12, 2, seed=1)
    wanted = RankSVM(kernel="rbf").fit(X, y)

    def lost(*_):
        raise pqp.NumericalTroubleError("lost")

    monkeypatch.setattr(pqp, "solve", lost)
    assert_allclose(RankSVM(kernel="rbf").fit(X, y).predict(X), wanted.predict(X), atol=1e-9)


def test_weights_of_features_are_forgotten_with_another_kernel():
    X, y = gaussian(12, 2, seed=1)
    model = RankSVM().fit(X, y)
    assert model.coef_.shape == (2,)
    model.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({"C": 0}, {"argument": "C", "found": "0"}),
        ({"C": np.inf}, {"argument": "C", "found": "inf"}),
        ({"C": "1"}, {"argument": "C", "found": "'1'"}),
        ({"loss": "log"}, {"argument": "loss", "found": "'log'"}),
        ({"kernel": "cubic"}, {"argument": "kernel", "found": "'cubic'"}),
        ({"kernel_params": {"a": 1}}, {"argument": "kernel_params", "found": "{'a': 1}"}),
    ],
)
def test_bad_parameters_are_named(parameters, wrong):
    with refuses(DataError, **wrong):
        RankSVM(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_a_matrix_that_is_no_gram_matrix_is_named():
    for model in (RankSVM(kernel="precomputed"), RankSVMPath(kernel="precomputed")):
        with refuses(DataError, "kernel", expected="a Gram matrix K"):
            model.fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
