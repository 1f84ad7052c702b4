"""OrdinalSVM: optimal by definition, equal to other solvers where they solve the same, and never silent."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from ranking import DataError
from ranking.ordinal import OrdinalSVM
from tests.refusals import refuses

LEVELS = ["low", "middle", "high"]


def objects(n=40, features=3, levels=4, seed=0, noise=0.5):
    """Return rows and levels that depend on them, with some noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, features))
    f = X @ np.arange(1, features + 1) + noise * random.normal(size=n)
    return X, np.searchsorted(np.quantile(f, np.arange(1, levels) / levels), f)


@st.composite
def whole_data(draw):
    """Rows of small whole numbers with duplicates, and two to four levels, all of which occur."""
    levels = draw(st.integers(2, 4))
    n = draw(st.integers(levels, 10))
    X = draw(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=n, max_size=n))
    y = list(range(levels)) + draw(
        st.lists(st.integers(0, levels - 1), min_size=n - levels, max_size=n - levels)
    )
    return np.array(X, dtype=float), np.array(y)


@settings(max_examples=40, deadline=None)
@given(
    whole_data(),
    st.sampled_from([0.01, 0.5, 3.0, 100.0]),
    st.sampled_from(["linear", "rbf"]),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.sampled_from(["adjacent", "all"]),
)
def test_no_other_solution_is_better(data, C, kernel, norm, ordered, scope):
    """The dual value bounds every primal one from below, and the model reaches it."""
    X, y = data
    model = OrdinalSVM(C, norm=norm, kernel=kernel, ordered=ordered, scope=scope).fit(X, y)
    assert abs(model.duality_gap_) <= 1e-9
    hinges = model.training_.hinges
    assert (model.alpha_ >= -1e-9 * C).all()
    assert norm == 2 or (model.alpha_ <= C * hinges.weight * (1 + 1e-9)).all()
    sums = hinges.incidence @ model.alpha_
    balance = np.cumsum(sums) if ordered else sums
    assert abs(balance[-1]) <= 1e-9 * max(1.0, model.alpha_.sum())
    assert (balance <= 1e-9 * max(1.0, model.alpha_.sum())).all()
    assert ordered or np.abs(sums).max() <= 1e-9 * max(1.0, model.alpha_.sum())


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_two_levels_are_the_support_vector_machine_of_scikit_learn(kernel, C):
    X, y = objects(60, levels=2)
    model = OrdinalSVM(C, kernel=kernel, gamma=0.5).fit(X, y)
    other = SVC(C=C, kernel=kernel, gamma=0.5, tol=1e-8).fit(X, y)
    new = np.random.default_rng(1).normal(size=(50, 3))
    assert_allclose(model.decision_function(new), other.decision_function(new), rtol=1e-4, atol=1e-5)


def test_the_two_norm_is_what_a_smooth_solver_finds():
    X, y = objects(30, features=2, levels=3)
    C = 2.0
    model = OrdinalSVM(C, norm=2, ordered=False).fit(X, y)

    def value(z):
        f, p = X @ z[:2], np.concatenate([[-np.inf], z[2:], [np.inf]])
        slack = np.concatenate([np.maximum(0, p[y] + 1 - f), np.maximum(0, f - p[y + 1] + 1)])
        return z[:2] @ z[:2] / 2 + C * (slack**2).sum()

    found = minimize(value, np.zeros(4), options={"gtol": 1e-9})
    assert model.objective_ == pytest.approx(found.fun, rel=1e-8)
    assert_allclose(model.coef_, found.x[:2], atol=1e-5)
    assert_allclose(model.thresholds_, found.x[2:], atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(whole_data(), st.data())
def test_an_object_of_weight_two_counts_like_two(data, draw):
    X, y = data
    weight = np.array(draw.draw(st.lists(st.integers(1, 3), min_size=len(y), max_size=len(y))))
    weighted = OrdinalSVM(0.7).fit(X, y, sample_weight=weight)
    repeated = OrdinalSVM(0.7).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    assert_allclose(weighted.thresholds_, repeated.thresholds_, atol=1e-8)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)


def test_coefficients_of_objects_make_the_score():
    X, y = objects()
    model = OrdinalSVM(kernel="rbf", gamma=0.3).fit(np.vstack([X, X[:5]]), np.append(y, y[:5]))
    K = rbf_kernel(X, np.vstack([X, X[:5]]), gamma=0.3)
    assert_allclose(K @ model.dual_coef_, model.predict_projection(X), atol=1e-9)
    linear = OrdinalSVM().fit(X, y)
    assert_allclose(X.T @ linear.dual_coef_, linear.coef_, atol=1e-9)


def test_a_precomputed_kernel_and_sparse_rows_give_the_same_model():
    X, y = objects()
    X[3], new = X[7], np.random.default_rng(1).normal(size=(9, 3))
    wanted = OrdinalSVM(2.0, kernel="rbf", gamma=0.4).fit(X, y)
    given_kernel = OrdinalSVM(2.0, kernel="precomputed").fit(rbf_kernel(X, gamma=0.4), y)
    found = given_kernel.predict_projection(rbf_kernel(new, X, gamma=0.4))
    assert_allclose(found, wanted.predict_projection(new), atol=1e-8)
    dense, sparse = (OrdinalSVM(2.0).fit(rows, y) for rows in (X, csr_array(X)))
    assert_allclose(sparse.predict_projection(csr_array(new)), dense.predict_projection(new), atol=1e-9)


class TestLabels:
    X = np.array([[0.0], [1.0], [4.0], [5.0], [8.0], [9.0]])

    @pytest.mark.parametrize(
        "y",
        [
            [1, 1, 2, 2, 3, 3],
            [-1.0, -1.0, 0.0, 0.0, 5.0, 5.0],
            pd.Categorical(np.repeat(LEVELS, 2), categories=LEVELS, ordered=True),
            pd.Series(pd.Categorical(np.repeat(LEVELS, 2), categories=LEVELS, ordered=True)),
        ],
    )
    def test_labels_with_an_order_of_their_own_are_predicted_as_they_are(self, y):
        model = OrdinalSVM(C=10).fit(self.X, y)
        assert list(model.predict(self.X)) == list(y)
        assert (np.diff(model.thresholds_) > 0).all()

    def test_strings_need_an_order(self):
        y = np.repeat(LEVELS, 2)
        assert list(OrdinalSVM(C=10, levels=LEVELS).fit(self.X, y).predict(self.X)) == list(y)
        with refuses(DataError, "y", found="'high', 'low', 'middle'"):
            OrdinalSVM().fit(self.X, y)

    def test_a_level_without_objects_is_never_predicted(self):
        y = pd.Categorical(np.repeat(["low", "high"], 3), categories=LEVELS, ordered=True)
        model = OrdinalSVM().fit(self.X, y)
        assert model.classes_.tolist() == ["low", "high"]
        assert len(model.thresholds_) == 1

    def test_one_object_a_level_is_enough(self):
        model = OrdinalSVM(C=100).fit([[0.0], [2.0], [4.0]], [1, 2, 3])
        assert_allclose(model.coef_, [1.0])
        assert_allclose(model.thresholds_, [1.0, 3.0])

    def test_equal_objects_with_different_labels_are_weighed_against_each_other(self):
        model = OrdinalSVM(C=5).fit([[0.0], [0.0], [0.0], [1.0]], [1, 1, 2, 2])
        assert abs(model.duality_gap_) <= 1e-9
        assert model.predict([[0.0]]) == [1]

    def test_constant_features_have_no_weight(self):
        X = np.column_stack([np.full(6, 3.0), self.X[:, 0]])
        model = OrdinalSVM(C=10).fit(X, [1, 1, 2, 2, 3, 3])
        without = OrdinalSVM(C=10).fit(self.X, [1, 1, 2, 2, 3, 3])
        assert abs(model.coef_[0]) <= 1e-12
        assert_allclose(model.coef_[1:], without.coef_, atol=1e-9)

    def test_objects_that_do_not_differ_get_the_commonest_level(self):
        model = OrdinalSVM().fit(np.ones((5, 2)), [1, 1, 1, 2, 3])
        assert_array_equal(model.predict(np.ones((1, 2))), [1])
        assert_allclose(model.coef_, 0, atol=1e-12)


X3, Y3 = np.array([[0.0], [1.0], [2.0]]), np.array([1, 2, 2])


@pytest.mark.parametrize(
    ("parameters", "X", "y", "weight", "wrong"),
    [
        ({}, X3, [1, 1, 1], None, {"argument": "y", "found": "1"}),
        ({}, X3, [1, 2], None, {"argument": "X, y and sample_weight"}),
        ({}, X3, None, None, {"argument": "y", "found": "OrdinalSVM"}),
        ({}, X3, [1.5, 2.5, 1.0], None, {"argument": "y"}),
        ({}, X3, ["a", None, "b"], None, {"argument": "y"}),
        ({"levels": ["a", "b"]}, X3, ["a", "b", "c"], None, {"argument": "y[2]", "found": "'c'"}),
        ({"levels": ["a", "a"]}, X3, ["a", "a", "a"], None, {"argument": "levels[1]", "found": "'a'"}),
        ({}, [[np.nan], [0.0], [1.0]], Y3, None, {"argument": "X"}),
        ({}, X3, Y3, [0, 0, 0], {"argument": "X, y and sample_weight"}),
        ({}, X3, Y3, [0, 1, 1], {"argument": "y", "found": "2"}),
        ({}, X3, Y3, [-1, 1, 1], {"argument": "X, y and sample_weight"}),
        ({"C": -1}, X3, Y3, None, {"argument": "C", "found": "-1"}),
        ({"norm": 3}, X3, Y3, None, {"argument": "norm", "found": "3"}),
        ({"scope": "some"}, X3, Y3, None, {"argument": "scope", "found": "'some'"}),
        ({"kernel": "cubic"}, X3, Y3, None, {"argument": "kernel", "found": "'cubic'"}),
        ({"kernel": "precomputed"}, X3, Y3, None, {"argument": "precomputed X", "found": "shape (3, 1)"}),
        ({}, X3, pd.Categorical(["a", "b", "b"]), None, {"argument": "y", "found": "'a', 'b'"}),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_done(parameters, X, y, weight, wrong):
    with refuses(DataError, **wrong):
        OrdinalSVM(**parameters).fit(X, y, sample_weight=weight)
