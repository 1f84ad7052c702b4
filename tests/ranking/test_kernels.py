"""kernels and pair_features: Gram matrices against their formulas, written out or taken from scikit-learn."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from ranking import difference_features, exterior_kernel, exterior_product_features, kernel_matrix
from ranking.core.kernels import BLOCK, PARAMETERS, gamma_of
from ranking.errors import DataError
from tests.refusals import refuses
from tests.strategies import QUICK

COUNT_KERNELS = ["tanimoto", "minmax"]
FORMULAS = [name for name in PARAMETERS if name != "precomputed"]
COUNTS = arrays(np.int64, st.tuples(st.integers(1, 6), st.just(4)), elements=st.integers(0, 3))
SMALL = arrays(np.float64, (5, 3), elements=st.integers(-3, 3).map(float))
PAIRS = st.lists(st.permutations(range(5)).map(lambda order: order[:2]), min_size=1, max_size=6)


def written_out(x, y, name):
    """A kernel of two count vectors by its definition."""
    if name == "minmax":
        top, bottom = sum(map(min, x, y)), sum(map(max, x, y))
    else:
        product = sum(a * b for a, b in zip(x, y, strict=True))
        top, bottom = product, sum(a * a for a in x) + sum(b * b for b in y) - product
    return top / bottom if bottom else 1.0


def smallest_eigenvalue(K):
    return np.linalg.eigvalsh(K).min()


def rng_features(n=30, d=5):
    return np.random.default_rng(0).normal(size=(n, d))


@pytest.mark.parametrize("name", COUNT_KERNELS)
class TestCountKernels:
    @QUICK
    @given(X=COUNTS, Y=COUNTS)
    def test_entries_are_the_definition(self, name, X, Y):
        expected = [[written_out(x.tolist(), y.tolist(), name) for y in Y] for x in X]
        assert kernel_matrix(X, Y, name) == pytest.approx(np.array(expected), rel=1e-14, abs=1e-15)

    @QUICK
    @given(X=COUNTS)
    def test_the_gram_matrix_is_positive_semidefinite_with_ones_on_its_diagonal(self, name, X):
        K = kernel_matrix(X, kernel=name)
        assert (K.diagonal() == 1).all()
        assert smallest_eigenvalue(K) > -1e-14 * len(K)

    def test_sparse_and_dense_fingerprints_give_the_same(self, name):
        X = np.random.default_rng(1).poisson(0.4, size=(40, 60))
        for sparse in (scipy.sparse.csr_array(X), scipy.sparse.csr_matrix(X), scipy.sparse.coo_array(X)):
            assert (kernel_matrix(sparse, kernel=name) == kernel_matrix(X, kernel=name)).all()
            assert (kernel_matrix(sparse, X[:3], name) == kernel_matrix(X, X[:3], name)).all()

    def test_blocks_fit_together(self, name):
        X = np.random.default_rng(2).poisson(0.6, size=(2 * BLOCK + 3, 7))
        K, some = kernel_matrix(X, kernel=name), [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK, 2 * BLOCK + 2]
        expected = [[written_out(X[i].tolist(), X[j].tolist(), name) for j in some] for i in some]
        assert K[np.ix_(some, some)] == pytest.approx(np.array(expected), rel=1e-14)
        assert (kernel_matrix(X, X.copy(), name) == K).all()

    def test_wide_sparse_fingerprints_are_never_dense_all_at_once(self, name, monkeypatch):
        monkeypatch.setattr("ranking.core.kernels.ENTRIES", 2**16)
        X = scipy.sparse.random_array((60, 20_000), density=1e-3, rng=np.random.default_rng(4)).tocsr()
        tracemalloc.start()
        kernel_matrix(X, kernel=name)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 60 * 20_000 * 8 / 2

    def test_negative_counts_are_refused(self, name):
        with refuses(DataError, "Y", found="-2"):
            kernel_matrix([[1, 0]], [[1, -2]], name)

    def test_two_empty_fingerprints_are_equal_and_unlike_all_others(self, name):
        assert kernel_matrix([[0, 0], [0, 0], [1, 0]], kernel=name).tolist() == [
            [1, 1, 0],
            [1, 1, 0],
            [0, 0, 1],
        ]


def test_tanimoto_and_minmax_agree_on_binary_fingerprints():
    X = np.random.default_rng(3).integers(0, 2, size=(25, 30))
    assert kernel_matrix(X, kernel="minmax") == pytest.approx(kernel_matrix(X, kernel="tanimoto"), rel=1e-14)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_gram_matrix_is_exactly_symmetric(name):
    X = np.abs(rng_features(57, 13))
    K = kernel_matrix(X, kernel=name, gamma=0.3)
    assert (K == K.T).all()


class TestVectorKernels:
    def test_entries_are_those_of_scikit_learn(self):
        X, Y = rng_features(), rng_features(7)
        cases = {
            "linear": {},
            "rbf": {"gamma": 0.2},
            "poly": {"gamma": 0.2, "degree": 4, "coef0": 0.5},
        }
        for name, parameters in cases.items():
            expected = pairwise_kernels(X, Y, metric=name, **parameters)
            assert (kernel_matrix(X, Y, name, **parameters) == expected).all()

    def test_rbf_is_the_exponential_of_the_squared_distance(self):
        X = rng_features()
        squared = ((X[:, None] - X) ** 2).sum(axis=2)
        assert kernel_matrix(X, kernel="rbf", gamma=0.7) == pytest.approx(np.exp(-0.7 * squared), rel=1e-12)

    def test_a_function_gets_its_parameters(self):
        def shifted(x, y, shift):
            return float(x @ y) + shift

        X = rng_features(6)
        expected = X @ X.T + 2.5
        assert kernel_matrix(X, kernel=shifted, kernel_params={"shift": 2.5}) == pytest.approx(expected)
        assert kernel_matrix(X, X[:2], shifted, kernel_params={"shift": 2.5}) == pytest.approx(
            expected[:, :2]
        )

    def test_sparse_features_give_the_same_dense_matrix(self):
        X = np.random.default_rng(4).integers(0, 3, size=(20, 8)).astype(float)
        for name in ("linear", "rbf", "poly"):
            K = kernel_matrix(scipy.sparse.csr_array(X), kernel=name)
            assert isinstance(K, np.ndarray)
            assert pytest.approx(kernel_matrix(X, kernel=name), rel=1e-13) == K


class TestGamma:
    @pytest.mark.parametrize("gamma", ["scale", "auto"])
    @pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csr_array])
    def test_it_is_that_of_svc(self, gamma, form):
        X = np.random.default_rng(5).integers(0, 4, size=(30, 6)).astype(float)
        model = SVC(gamma=gamma).fit(form(X), np.arange(30) % 2)
        assert gamma_of(form(X), gamma) == pytest.approx(model._gamma, rel=1e-12)

    def test_none_is_auto_and_a_number_is_itself(self):
        X = rng_features()
        assert gamma_of(X) == gamma_of(X, "auto") == 1 / 5
        assert gamma_of(X, 0.25) == 0.25
        assert (kernel_matrix(X, kernel="rbf") == kernel_matrix(X, kernel="rbf", gamma=0.2)).all()

    def test_constant_data_have_gamma_1_as_in_svc(self):
        assert gamma_of(np.ones((3, 2)), "scale") == 1

    def test_scale_is_used_on_one_set_and_must_be_fixed_for_two(self):
        X = rng_features()
        fixed = kernel_matrix(X, kernel="rbf", gamma=gamma_of(X, "scale"))
        assert (kernel_matrix(X, kernel="rbf", gamma="scale") == fixed).all()
        with refuses(DataError, "gamma", found="'scale'"):
            kernel_matrix(X, X[:2], "rbf", gamma="scale")

    @pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, "large"])
    def test_what_is_no_scale_is_refused(self, gamma):
        with refuses(DataError, "gamma", expected="a positive number, 'scale', 'auto' or None"):
            kernel_matrix(rng_features(), kernel="rbf", gamma=gamma)


class TestPrecomputed:
    def test_a_gram_matrix_comes_back_exactly_symmetric(self):
        K = kernel_matrix(rng_features(), kernel="rbf", gamma=1.0)
        bent = K.copy()
        bent[0, 1] = np.nextafter(K[0, 1], 1)
        back = kernel_matrix(bent, kernel="precomputed")
        assert (back == back.T).all()
        assert back == pytest.approx(K, rel=1e-15)

    def test_an_asymmetric_matrix_is_refused(self):
        with refuses(DataError, "X", found="X[0, 1] = 0.5 and X[1, 0] = 0.4"):
            kernel_matrix([[1, 0.5], [0.4, 1]], kernel="precomputed")

    def test_new_rows_are_measured_against_the_old_ones(self):
        K, new = np.eye(3), np.array([[0.1, 0.2, 0.3]])
        assert (kernel_matrix(new, K, "precomputed") == new).all()
        with refuses(DataError, "X", found="shape (1, 2)"):
            kernel_matrix(new[:, :2], K, "precomputed")


class TestBadInput:
    def test_an_unknown_kernel_is_named(self):
        with refuses(DataError, "kernel", found="'laplace'"):
            kernel_matrix([[1.0]], kernel="laplace")

    def test_parameters_without_a_function_are_refused(self):
        with refuses(DataError, "kernel_params", found="{'gamma': 1}"):
            kernel_matrix([[1.0]], kernel="rbf", kernel_params={"gamma": 1})

    @pytest.mark.parametrize("X", [[[np.nan]], [1.0, 2.0], [["a"]], np.zeros((0, 2)), [[1, 2], [3]]])
    def test_what_is_no_table_of_numbers_is_refused(self, X):
        with refuses(DataError, "X", expected="a table of finite numbers, one row per item"):
            kernel_matrix(X)

    def test_columns_must_match(self):
        with refuses(DataError, "Y", found=1):
            kernel_matrix([[1, 2]], [[1]])


class TestPairFeatures:
    @QUICK
    @given(X=SMALL, pairs=PAIRS)
    def test_differences_have_the_gram_matrix_of_pairs(self, X, pairs):
        D = np.zeros((len(pairs), 5))
        for p, (i, j) in enumerate(pairs):
            D[p, i], D[p, j] = 1, -1
        Z = difference_features(X, pairs)
        assert (Z @ Z.T == D @ (X @ X.T) @ D.T).all()

    def test_differences_of_sparse_features_are_sparse(self):
        X = np.eye(3)
        Z = difference_features(scipy.sparse.csr_array(X), [(0, 1), (2, 0)])
        assert scipy.sparse.issparse(Z)
        assert (Z.toarray() == difference_features(X, [(0, 1), (2, 0)])).all()

    def test_components_are_the_minors_of_two_rows(self):
        X = rng_features(4, 4)
        (row,) = exterior_product_features(X, [(1, 3)])
        minors = [np.linalg.det(X[np.ix_([1, 3], [a, b])]) for a in range(4) for b in range(a + 1, 4)]
        assert row == pytest.approx(np.array(minors), rel=1e-12)

    @QUICK
    @given(X=SMALL, pairs=PAIRS, others=PAIRS)
    def test_the_exterior_kernel_is_the_gram_matrix_of_the_features(self, X, pairs, others):
        left, right = exterior_product_features(X, pairs), exterior_product_features(X, others)
        assert (exterior_kernel(X @ X.T, pairs, others) == left @ right.T).all()

    @QUICK
    @given(X=SMALL, pairs=PAIRS)
    def test_swapping_a_pair_flips_the_sign(self, X, pairs):
        swapped = [(j, i) for i, j in pairs]
        assert (exterior_product_features(X, swapped) == -exterior_product_features(X, pairs)).all()
        assert (exterior_kernel(X @ X.T, swapped, pairs) == -exterior_kernel(X @ X.T, pairs)).all()

    def test_the_exterior_kernel_of_any_kernel_is_symmetric_and_positive_semidefinite(self):
        pairs = [(i, j) for i in range(8) for j in range(8) if i != j]
        K = exterior_kernel(kernel_matrix(rng_features(8), kernel="rbf", gamma=0.4), pairs)
        assert (K == K.T).all()
        assert smallest_eigenvalue(K) > -1e-13

    def test_new_items_are_measured_against_old_ones_through_a_rectangular_matrix(self):
        old, new = rng_features(6), rng_features(4) + 1
        pairs, others = [(0, 1), (3, 2)], [(5, 0), (1, 2), (4, 3)]
        expected = exterior_product_features(new, pairs) @ exterior_product_features(old, others).T
        assert exterior_kernel(new @ old.T, pairs, others) == pytest.approx(expected, rel=1e-12)
        with refuses(DataError, "other_pairs", found="shape (4, 6)"):
            exterior_kernel(new @ old.T, pairs)
        with refuses(DataError, "other_pairs[0]", found="(6, 0)"):
            exterior_kernel(new @ old.T, pairs, [(6, 0)])
