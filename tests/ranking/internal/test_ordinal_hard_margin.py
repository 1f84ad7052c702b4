"""separation: a hard margin, or objects that conflict, proved by multipliers, none to be left out."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import pqp
from ranking import OrdinalSVM
from ranking.core.kernels import kernel_matrix
from ranking.errors import DataError, NotSeparableError, RankingError
from ranking.ordinal.base import hinges_of
from ranking.ordinal.hard_margin import LevelConflict, is_conflict
from ranking.ordinal.programs import hard_margin
from tests.ranking.ordinal_data import asked, labelled, mixture, separable, violations
from tests.refusals import refuses
from tests.strategies import QUICK

SETTINGS = settings(QUICK, max_examples=60)
SCOPES = st.sampled_from(("adjacent", "all"))


def is_separable(X, codes, part, scope="adjacent"):
    """Whether some w and p satisfy what some of the objects ask, by HiGHS; thresholds are those of all."""
    n_features, part = X.shape[1], set(part)
    A = []
    for i, k, s in asked(codes, scope):
        if i in part:
            A.append(np.concatenate([-s * X[i], s * np.eye(max(codes))[k]]))
    unknowns = n_features + max(codes)
    found = linprog(np.zeros(unknowns), A, -np.ones(len(A)), bounds=[(None, None)] * unknowns)
    return found.status == 0


def conflict_of(X, codes, form="primal", scope="adjacent"):
    """The error, None if the objects are separable."""
    try:
        margin_of(X, codes, form, scope)
    except NotSeparableError as error:
        return error
    return None


def margin_of(X, codes, form="primal", scope="adjacent", levels=None):
    """The hard margin of rows, or of a kernel matrix."""
    kernel = "precomputed" if form == "kernel" else "linear"
    return OrdinalSVM(np.inf, kernel=kernel, scope=scope, levels=levels).fit(X, codes)


def assert_minimal(error, X, codes, scope="adjacent"):
    assert not is_separable(X, codes, error.rows, scope)
    for row in error.rows:
        assert is_separable(X, codes, set(error.rows) - {row}, scope)


class TestConflicts:
    @SETTINGS
    @given(data=labelled(), scope=SCOPES)
    def test_either_there_is_a_margin_or_an_exact_conflict_without_a_superfluous_object(self, data, scope):
        X, codes = data
        error = conflict_of(X, codes, scope=scope)
        assert (error is None) == is_separable(X, codes, range(len(codes)), scope)
        if error is not None:
            assert error.certificate.alpha.dtype == object
            assert is_conflict(error.certificate, X, codes, scope)
            assert error.rows == error.certificate.rows
            assert_minimal(error, X, codes, scope)

    @SETTINGS
    @given(data=labelled(), scope=SCOPES)
    def test_a_kernel_matrix_decides_as_the_rows_it_comes_from(self, data, scope):
        X, codes = data
        error = conflict_of(X @ X.T, codes, "kernel", scope)
        assert (error is None) == (conflict_of(X, codes, scope=scope) is None)
        if error is not None:
            assert is_conflict(error.certificate, X @ X.T, codes, scope)
            assert is_conflict(error.certificate, X, codes, scope)
            assert_minimal(error, X, codes, scope)

    @pytest.mark.parametrize("seed", range(3))
    def test_noise_leaves_a_small_conflict_among_many_objects(self, seed):
        X, codes = mixture(seed, n=150)
        error = conflict_of(X, codes)
        assert is_conflict(error.certificate, X, codes)
        assert_minimal(error, X, codes)

    @pytest.mark.parametrize("degree", [1, 2])
    def test_a_kernel_of_low_rank_has_a_conflict_too(self, degree):
        X, codes = mixture(0, n=100, noise=1.0)
        K = kernel_matrix(X, kernel="poly", degree=degree, gamma=1.0)
        error = conflict_of(K, codes, "kernel")
        assert is_conflict(error.certificate, K, codes)
        if degree == 1:
            assert_minimal(error, X, codes)

    def test_a_narrow_kernel_separates_all_but_copies(self):
        X, codes = mixture(0, n=80)
        K = kernel_matrix(X, kernel="rbf", gamma=5.0)
        assert conflict_of(K, codes, "kernel") is None
        one, other = np.flatnonzero(codes == 0)[0], np.flatnonzero(codes == 1)[0]
        X[one] = X[other]
        error = conflict_of(kernel_matrix(X, kernel="rbf", gamma=5.0), codes, "kernel")
        assert error.rows == tuple(sorted((one, other)))

    def test_the_message_names_rows_levels_and_the_remedy(self):
        levels = ["D", "C", "B"]
        with refuses(NotSeparableError, "X", found="1 (level C), 2 (level B)"):
            margin_of([[0.0], [1.0], [1.0]], levels, levels=levels)

    def test_objects_of_weight_0_are_not_counted_in_the_row_numbers(self):
        X, codes = np.array([[9.0], [0.0], [1.0], [1.0]]), np.array([1, 0, 1, 2])
        with refuses(NotSeparableError, "X", found="2 (level 1), 3 (level 2)") as caught:
            OrdinalSVM(np.inf).fit(X, codes, [0, 1, 1, 1])
        assert is_conflict(caught.value.certificate, X, codes)

    def test_the_error_is_ours_and_survives_pickling(self):
        error = conflict_of(np.zeros((2, 1)), np.array([0, 1]))
        copy = pickle.loads(pickle.dumps(error))
        assert isinstance(error, RankingError)
        assert isinstance(error, ValueError)
        assert (copy.rows, str(copy)) == (error.rows, str(error))


class TestEqualObjects:
    def test_neighbouring_labels_conflict_by_themselves(self):
        error = conflict_of(np.array([[0.0], [5.0], [5.0]]), np.array([0, 1, 2]))
        assert error.rows == (1, 2)
        assert error.certificate.alpha.tolist() == [Fraction(1, 2)] * 2

    def test_labels_further_apart_need_an_object_between(self):
        """Without one nothing links their thresholds: w = 0, p1 = 1 and p2 = -1 satisfy both."""
        X, codes = np.array([[1.0], [7.0], [1.0]]), np.array([0, 1, 2])
        assert conflict_of(X, codes).rows == (0, 1, 2)
        assert is_separable(X, codes, [0, 2])
        assert violations([0, 0], [1, -1], [0, 2]) == [0, 0]

    def test_with_hinges_at_all_thresholds_they_do_not(self):
        assert conflict_of(np.array([[1.0], [7.0], [1.0]]), np.array([0, 1, 2]), scope="all").rows == (0, 2)

    def test_the_chain_over_a_level_is_shortened_if_its_own_objects_conflict(self):
        X, codes = np.array([[1.0], [7.0], [6.0], [1.0]]), np.array([0, 1, 2, 3])
        error = conflict_of(X, codes)
        assert is_conflict(error.certificate, X, codes)
        assert_minimal(error, X, codes)


class TestChecker:
    X, codes = np.array([[0.0], [1.0], [3.0]]), np.array([0, 1, 0])
    # 1 lies between 0 and 3: twice (f_1 > p) against (f_0 < p) 4/3 and (f_2 < p) 2/3, over their sum
    right = LevelConflict(
        np.array([0, 1, 2]),
        np.array([0, 0, 0]),
        np.array([-1.0, 1.0, -1.0]),
        np.array([Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)]),
    )

    def test_a_right_one_passes(self):
        assert is_conflict(self.right, self.X, self.codes)
        assert is_conflict(replace(self.right, alpha=self.right.alpha.astype(float)), self.X, self.codes)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"alpha": np.array([Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)])},  # not 0 over x
            {"alpha": np.array([Fraction(2, 3), Fraction(1), Fraction(1, 3)])},  # does not add up to 1
            {"alpha": np.array([-Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)])},
            {"alpha": np.array([1 / 3, 0.5 + 1e-6, 1 / 6])},  # not 0 over the threshold
            {"alpha": np.array([Fraction(1, 3), Fraction(1, 2), Fraction(1, 6) + Fraction(1, 10**20)])},
            {"row": np.array([0, 2, 1])},  # hinges of other labels
            {"sign": np.array([1.0, -1.0, 1.0])},
            {"threshold": np.array([0, 1, 0])},
        ],
    )
    def test_wrong_ones_do_not(self, wrong):
        assert not is_conflict(replace(self.right, **wrong), self.X, self.codes)

    def test_nor_does_a_right_one_of_other_data(self):
        assert not is_conflict(self.right, self.X + np.array([[0], [1e-6], [0]]), self.codes)
        assert not is_conflict(self.right, self.X, np.array([0, 1, 1]))


class TestMargin:
    @SETTINGS
    @given(data=separable())
    def test_rows_and_kernel_have_the_margin_of_the_program(self, data):
        X, codes = data
        program = hard_margin(X, hinges_of(codes, codes.max() + 1))
        point = pqp.solve(program.problem, 0, arithmetic="exact")
        for table, form in ((X, "primal"), (X @ X.T, "kernel")):
            found = margin_of(table, codes, form)
            f = found.predict_projection(table)
            assert found.objective_ == pytest.approx(float(point.objective), rel=1e-9)
            assert found.margin_ == pytest.approx(2 / np.sqrt(2 * float(point.objective)), rel=1e-9)
            np.testing.assert_allclose(f, program.read(point.x).f.astype(float), atol=1e-8)
            np.testing.assert_allclose(X @ X.T @ found.dual_coef_, f, atol=1e-8)
            assert max(violations(f, found.thresholds_, codes)) <= 1e-8
        np.testing.assert_allclose(X @ margin_of(X, codes).coef_, f, atol=1e-8)

    def test_a_gaussian_kernel_has_the_margin_of_its_features(self):
        X, codes = mixture(2, n=40)
        K = kernel_matrix(X, kernel="rbf", gamma=1.0)
        features = np.linalg.cholesky(K)
        by_kernel, by_features = margin_of(K, codes, "kernel"), margin_of(features, codes)
        f = by_kernel.predict_projection(K)
        assert by_kernel.margin_ == pytest.approx(by_features.margin_, rel=1e-9)
        assert not hasattr(by_kernel, "coef_")
        np.testing.assert_allclose(f, by_features.predict_projection(features), atol=1e-7)
        assert max(violations(f, by_kernel.thresholds_, codes)) <= 1e-8


class TestArguments:
    def test_a_matrix_that_is_no_kernel_is_named(self):
        with refuses(DataError, "K", found="the eigenvalue -1 < 0"):
            margin_of([[0.0, 1.0], [1.0, 0.0]], np.array([0, 1]), "kernel")
