"""catalog: each entry is the model it claims to be, keeps its structure, and names what is wrong with it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import pqp
from pqp import Gram, catalog, mu
from pqp.errors import NotConvexError, ProblemError
from pqp.linalg.field import RATIONAL
from pqp.model.hessian import Matrix
from tests.refusals import refuses

RNG = np.random.default_rng(11)
# Small integers, so that every path is exact.
X = RNG.integers(-3, 4, size=(8, 3))
TARGET = RNG.integers(-5, 6, size=8)
LABELS = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
RETURNS = RNG.integers(-4, 7, size=(6, 4))
CHOICES = RNG.integers(-1, 2, size=(9, 4))


def exact_path(problem: pqp.ParametricQP, hi: int = 50) -> pqp.Path:
    return pqp.solve_path(problem, (0, hi), method="tableau", arithmetic="exact")


def dense_twin(problem: pqp.ParametricQP) -> pqp.ParametricQP:
    """The same problem by its entries only."""
    P, A = problem.P.matrix(RATIONAL), problem.A
    return replace(problem, P=P, A=A.toarray() if scipy.sparse.issparse(A) else A)


ENTRIES = {
    "lasso": lambda: catalog.lasso(X, TARGET),
    "lasso, more columns than rows": lambda: catalog.lasso(X[:2], TARGET[:2]),
    "sparse lasso": lambda: catalog.lasso(scipy.sparse.csr_array(X), TARGET),
    "linear svm": lambda: catalog.svm(X, LABELS),
    "sparse svm": lambda: catalog.svm(scipy.sparse.csr_array(X), LABELS),
    "svm without bias": lambda: catalog.svm(X, LABELS, bias=False),
    "precomputed svm": lambda: catalog.svm((X @ X.T + 1) ** 2, LABELS, kernel="precomputed"),
    "markowitz": lambda: catalog.markowitz(RETURNS.sum(axis=0), np.diag([3, 1, 4, 2]) + 1),
    "factor markowitz": lambda: catalog.markowitz(
        [3, 1, 2], Gram([[1], [2], [1]], diagonal=[1, 2, 1]), upper=Fraction(1, 2)
    ),
    "choice": lambda: catalog.choice(CHOICES),
    "sparse choice": lambda: catalog.choice(scipy.sparse.csr_array(CHOICES)),
    "nonnegative weighted choice": lambda: catalog.choice(CHOICES, lower=0, weights=range(9)),
}


@pytest.mark.parametrize("name", ENTRIES)
class TestEveryEntry:
    def test_exact_path_is_that_of_the_dense_twin_and_certified(self, name):
        problem = ENTRIES[name]()
        path, twin = exact_path(problem), exact_path(dense_twin(problem))
        assert path.breakpoints == twin.breakpoints
        for at in (0, 1, Fraction(7, 3), 50):
            assert path(at).residuals().largest == 0
            assert path(at).objective == twin(at).objective
        twin.certify()

    def test_path_is_certified_with_its_structure(self, name):
        exact_path(ENTRIES[name]()).certify()

    def test_float_path_satisfies_the_optimality_conditions(self, name):
        path = pqp.solve_path(ENTRIES[name](), (0, 50), method="tableau")
        assert max(path(at).residuals().largest for at in (0, 0.5, 3, 50)) < 1e-8


class TestLasso:
    def test_objective_is_half_the_squares_plus_mu_times_the_absolute_values(self):
        path = exact_path(catalog.lasso(X, TARGET))
        for at in (0, 2, 11):
            b = path(at).x
            rest = TARGET - X @ b
            assert path(at).objective == rest @ rest / 2 + at * np.abs(b).sum()

    def test_all_coefficients_vanish_from_the_largest_correlation_on(self):
        path = exact_path(catalog.lasso(X, TARGET))
        last = np.abs(X.T @ TARGET).max()
        assert path.breakpoints[-1] == last
        assert not path(last).x.any()

    def test_structure_is_kept(self):
        problem = catalog.lasso(scipy.sparse.csr_array(X), TARGET)
        assert isinstance(problem.P, Gram)
        assert scipy.sparse.issparse(problem.P.F)
        assert scipy.sparse.issparse(problem.A)

    def test_columns_of_a_frame_name_the_coefficients(self):
        frame = pd.DataFrame(X, columns=["age", "income", "size"])
        assert catalog.lasso(frame, pd.Series(TARGET)).names == ("age", "income", "size")
        assert catalog.lasso(pd.DataFrame(X), TARGET).names == ("x1", "x2", "x3")

    def test_long_integers_do_not_wrap_around(self):
        problem = catalog.lasso([[2**40], [1]], [2**40, 1])
        assert problem.c.constant.tolist() == [-(2**80) - 1]
        assert problem.constant[0] == Fraction(2**80 + 1, 2)

    def test_agrees_with_scikit_learn(self):
        linear_model = pytest.importorskip("sklearn.linear_model")
        features, target = RNG.normal(size=(20, 4)), RNG.normal(size=20)
        path = pqp.solve_path(catalog.lasso(features, target), (0, 30), method="tableau")
        for at in (0.5, 2.0, 5.0):
            model = linear_model.Lasso(alpha=at / 20, fit_intercept=False, tol=1e-12, max_iter=100_000)
            np.testing.assert_allclose(path(at).x, model.fit(features, target).coef_, atol=1e-7)
        alphas, _, _ = linear_model.lars_path(features, target, method="lasso")
        np.testing.assert_allclose(sorted(20 * alphas)[1:], path.breakpoints, atol=1e-9)


class TestSVM:
    def test_linear_kernel_keeps_the_factor(self):
        assert catalog.svm(X, LABELS).P.F.tolist() == (LABELS[:, None] * X).tolist()
        assert scipy.sparse.issparse(catalog.svm(scipy.sparse.csr_array(X), LABELS).P.F)

    def test_kernels_agree_with_one_another(self):
        twins = [
            catalog.svm(X, LABELS),
            catalog.svm(X @ X.T, LABELS, kernel="precomputed"),
            catalog.svm(X, LABELS, kernel=lambda left, right: left @ right.T),
        ]
        matrices = [twin.P.matrix(RATIONAL) for twin in twins]
        assert all((matrix == matrices[0]).all() for matrix in matrices)

    def test_any_two_labels_will_do(self):
        words = np.where(LABELS > 0, "yes", "no")
        assert (catalog.svm(X, words).A == LABELS).all()
        assert (catalog.svm(X, pd.Series(LABELS > 0)).A == LABELS).all()

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_agrees_with_scikit_learn(self, kernel):
        sklearn_svm = pytest.importorskip("sklearn.svm")
        features = RNG.normal(size=(16, 2))
        labels = np.where(features[:, 0] + 0.7 * RNG.normal(size=16) > 0, 1, -1)
        path = pqp.solve_path(catalog.svm(features, labels, kernel=kernel), (0, 3), method="tableau")
        for at in (0.1, 1.0, 3.0):
            model = sklearn_svm.SVC(C=at, kernel=kernel, tol=1e-9).fit(features, labels)
            dual = np.zeros(16)
            dual[model.support_] = model.dual_coef_[0]
            np.testing.assert_allclose(path(at).x * labels, dual, atol=1e-5)
            np.testing.assert_allclose(-path(at).y, model.intercept_, atol=1e-5)


class TestMarkowitz:
    def test_budget_and_limits_are_kept_along_the_frontier(self):
        path = exact_path(ENTRIES["factor markowitz"]())
        for at in (0, 1, 50):
            assert sum(path(at).x) == 1
            assert all(0 <= share <= Fraction(1, 2) for share in path(at).x)

    def test_short_sales_are_allowed_without_lower_limits(self):
        # min ½x² + ½y² - mu y, x + y = 1: x = (1 - mu) / 2.
        path = exact_path(catalog.markowitz([0, 1], [[1, 0], [0, 1]], lower=None))
        assert path(5).x.tolist() == [-2, 3]

    def test_covariance_is_any_hessian(self):
        factor = Gram([[1], [2]], diagonal=[1, 1])
        assert catalog.markowitz([1, 2], factor).P is factor

    def test_assets_are_named_by_mean_or_covariance(self):
        shares, entries = ["A", "B"], [[1, 0], [0, 1]]
        frame = pd.DataFrame(entries, index=shares, columns=shares)
        assert catalog.markowitz(pd.Series([1, 2], index=shares), entries).names == ("A", "B")
        assert catalog.markowitz([1, 2], frame).names == ("A", "B")


class TestChoice:
    def test_integers_and_structure_stay(self):
        problem = catalog.choice(scipy.sparse.csr_array(CHOICES))
        assert problem.A.dtype == problem.P.values.dtype == np.int64
        assert scipy.sparse.issparse(problem.A)
        assert scipy.sparse.issparse(problem.P.values)

    def test_objective_is_half_the_norm_plus_weighted_hinges(self):
        weights = np.arange(9)
        path = exact_path(catalog.choice(CHOICES, weights=weights))
        for at in (0, 1, 20):
            w = path(at).x
            hinges = np.maximum(0, 1 - CHOICES @ w)
            assert path(at).objective == w @ w / 2 + at * (weights @ hinges)

    def test_part_worths_take_the_names_of_columns(self):
        frame = pd.DataFrame(CHOICES, columns=list("abcd"))
        assert catalog.choice(frame).names == ("a", "b", "c", "d")

    def test_penalty_may_be_other_affine_data(self):
        assert str(catalog.choice(CHOICES, penalty=2 * mu + 1).penalty[0]) == "2*mu + 1"


MISTAKES = [
    (lambda: catalog.lasso(X, TARGET[:3]), {"argument": "y", "found": 3}),
    (lambda: catalog.lasso(X, [[1]]), {"argument": "y", "found": "shape (1, 1)"}),
    (lambda: catalog.lasso([[1.0, np.nan]], [1]), {"argument": "X[0, 1]", "found": "nan"}),
    (lambda: catalog.lasso([[1]], [np.inf]), {"argument": "y[0]", "found": "inf"}),
    (lambda: catalog.svm(X, [1] * 8), {"argument": "y", "found": "1: 1"}),
    (lambda: catalog.svm(X, range(8)), {"argument": "y", "found": "8: 0, 1, 2, 3"}),
    (lambda: catalog.svm(X[:2], [1, np.nan]), {"argument": "y", "found": "2: 1.0, nan"}),
    (lambda: catalog.svm(X[:2], [[1, 2]]), {"argument": "y", "found": "shape (1, 2)"}),
    (
        lambda: catalog.svm(X[:2], np.array([1, "a"], dtype=object)),
        {"argument": "y", "found": "a mixture that has no order"},
    ),
    (lambda: catalog.svm(X, LABELS[:4]), {"argument": "y", "found": 4}),
    (
        lambda: catalog.svm(X, LABELS, kernel="cubic"),
        {"argument": "kernel", "found": "'cubic'"},
    ),
    (lambda: catalog.svm(X, LABELS, gamma=1), {"argument": "gamma", "found": 1}),
    (lambda: catalog.svm(X, LABELS, kernel="rbf", gamma=-1), {"argument": "gamma", "found": -1}),
    (
        lambda: catalog.svm(X, LABELS, kernel="precomputed"),
        {"argument": "the kernel matrix", "found": "shape (8, 3)"},
    ),
    (
        lambda: catalog.markowitz([1], np.eye(2)),
        {"argument": "mean", "found": 1},
    ),
    (
        lambda: catalog.markowitz([1, 2], [[1, 2], [3, 4]]),
        {"argument": "covariance", "found": "covariance[0, 1] = 2 and covariance[1, 0] = 3"},
    ),
    (lambda: catalog.choice([1, 2]), {"argument": "differences", "found": "shape (2,)"}),
    (
        lambda: catalog.choice(CHOICES, weights=[1]),
        {"argument": "weights", "found": 1},
    ),
    (lambda: catalog.choice(CHOICES, weights=[-1] * 9), {"argument": "weights[0]", "found": "-1"}),
]


@pytest.mark.parametrize(("build", "wrong"), MISTAKES, ids=[str(wrong) for _, wrong in MISTAKES])
def test_message_names_argument_and_finding(build, wrong):
    with refuses(ProblemError, **wrong):
        build()


def test_indefinite_covariance_comes_with_its_direction():
    with refuses(NotConvexError, "covariance", found="curvature -3"):
        catalog.markowitz([1, 2], [[1, 2], [2, 1]])


def test_covariance_given_by_entries_is_a_matrix():
    assert isinstance(catalog.markowitz([1, 2], np.eye(2)).P, Matrix)
