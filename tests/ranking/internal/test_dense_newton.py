"""newton: the L2 problem is solved, whatever the rank of K and the size of C, and the gap proves it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from ranking.core.kernels import difference_features, kernel_matrix
from ranking.errors import ConvergenceError, DataError
from ranking.ranksvm.dense_newton import solve_squared_hinge
from tests.refusals import refuses
from tests.strategies import QUICK, THOROUGH

# The default accuracy of the solver, and room for rounding when the two values are computed here again.
GAP = 1e-10


def primal_value(K, pairs, C, beta, weights=1.0, margins=1.0):
    """½βᵀKβ + C Σ ω max(0, Δ − (f_i − f_j))², written out."""
    f, (i, j) = K @ beta, np.asarray(pairs).T
    return beta @ f / 2 + C * np.sum(weights * np.maximum(0, margins - (f[i] - f[j])) ** 2)


def dual_value(K, pairs, C, alpha, weights=1.0, margins=1.0):
    """Δᵀα − ½αᵀDKDᵀα − Σ α²/(4Cω), written out."""
    gamma, (i, j) = np.zeros(len(K)), np.asarray(pairs).T
    np.add.at(gamma, i, alpha)
    np.add.at(gamma, j, -alpha)
    return np.sum(margins * alpha) - gamma @ K @ gamma / 2 - np.sum(alpha**2 / (4 * C * weights))


def assert_solves(solution, K, pairs, C, weights=1.0, margins=1.0):
    """A feasible dual point whose value equals that of the primal point proves both."""
    primal = primal_value(K, pairs, C, solution.beta, weights, margins)
    dual = dual_value(K, pairs, C, solution.alpha, weights, margins)
    assert (solution.alpha >= 0).all()
    assert abs(solution.duality_gap) <= GAP
    assert primal == pytest.approx(solution.objective, rel=1e-9, abs=1e-300)
    assert dual == pytest.approx(primal, rel=1e-9, abs=1e-300)


def data(seed, n=12, rank=4, m=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, rank))
    pairs = np.array([rng.permutation(n)[:2] for _ in range(m)])
    return X, X @ X.T, pairs


@st.composite
def problems(draw):
    """Small integers, so that items coincide, ranks are deficient and slacks vanish exactly."""
    n, rank, m = draw(st.integers(2, 8)), draw(st.integers(0, 4)), draw(st.integers(1, 12))
    X = np.array(
        draw(st.lists(st.lists(st.integers(-2, 2), min_size=rank, max_size=rank), min_size=n, max_size=n))
    )
    pairs = draw(st.lists(st.permutations(range(n)).map(lambda order: order[:2]), min_size=m, max_size=m))
    weights = draw(st.lists(st.sampled_from((1.0, 2.0, 0.5)), min_size=m, max_size=m))
    margins = draw(st.lists(st.sampled_from((1.0, 2.0, 0.0, -1.0)), min_size=m, max_size=m))
    K = X.reshape(n, rank) @ X.reshape(n, rank).T * draw(st.sampled_from((1.0, 1e-3, 1e3)))
    return K, np.array(pairs), 10.0 ** draw(st.integers(-4, 6)), np.array(weights), np.array(margins)


def certificate_closes(problem):
    K, pairs, C, weights, margins = problem
    solution = solve_squared_hinge(K, pairs, C, weights=weights, margins=margins)
    assert abs(solution.duality_gap) <= GAP
    value = primal_value(K, pairs, C, solution.beta, weights, margins)
    assert value == pytest.approx(solution.objective, rel=1e-7, abs=1e-12)


class TestOptimality:
    @settings(QUICK, max_examples=100)
    @given(problem=problems())
    def test_the_gap_closes_on_every_small_problem(self, problem):
        certificate_closes(problem)

    @pytest.mark.slow
    @THOROUGH
    @given(problem=problems())
    def test_the_gap_closes_on_thousands_of_small_problems(self, problem):
        certificate_closes(problem)

    @pytest.mark.parametrize("exponent", range(-4, 7))
    @pytest.mark.parametrize("kernel", ["full rank", "deficient rank", "separable"])
    def test_primal_and_dual_value_agree_at_every_C(self, exponent, kernel):
        X, K, pairs = data(seed=exponent + 10)
        if kernel == "full rank":
            K = kernel_matrix(X, kernel="rbf", gamma=0.5)
        if kernel == "separable":
            pairs = np.sort(pairs, axis=1)[:, ::-1]
            X[:, 0] = np.arange(len(X))
            K = X @ X.T
        C = 10.0**exponent
        assert_solves(solve_squared_hinge(K, pairs, C), K, pairs, C)

    @pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
    def test_no_general_minimiser_finds_less(self, C):
        X, K, pairs = data(seed=1)
        rng = np.random.default_rng(2)
        weights, margins = rng.uniform(0.5, 2, len(pairs)), rng.uniform(0, 2, len(pairs))
        Z = difference_features(X, pairs)

        def objective(w):
            slack = np.maximum(0, margins - Z @ w)
            return w @ w / 2 + C * (weights * slack) @ slack, w - 2 * C * Z.T @ (weights * slack)

        found = minimize(objective, np.zeros(X.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9})
        solution = solve_squared_hinge(K, pairs, C, weights=weights, margins=margins)
        assert solution.objective == pytest.approx(found.fun, rel=1e-9)
        assert X.T @ solution.beta == pytest.approx(found.x, rel=1e-5, abs=1e-7)

    @pytest.mark.parametrize("C", [0.1, 10.0])
    def test_the_linear_model_is_that_of_liblinear(self, C):
        """LinearSVC minimises ½‖w‖² + C Σ max(0, 1 − y_p zᵀw)² over differences z; the y_p alternate."""
        X, K, pairs = data(seed=3)
        Z, signs = difference_features(X, pairs), np.resize([1, -1], len(pairs))
        peer = LinearSVC(
            C=C, loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-10, max_iter=10000
        )
        w = peer.fit(Z * signs[:, None], signs).coef_.ravel()
        assert X.T @ solve_squared_hinge(K, pairs, C).beta == pytest.approx(w, rel=1e-5, abs=1e-7)

    def test_one_pair_is_solved_by_hand(self):
        """w = βᵀ(1, −1)/1: min over t of ½·2t² + C ω(Δ − 2t)² at t = 2CωΔ/(1 + 4Cω)."""
        C, omega, delta = 3.0, 0.5, 2.0
        solution = solve_squared_hinge(np.eye(2), [(0, 1)], C, weights=[omega], margins=[delta])
        t = 2 * C * omega * delta / (1 + 4 * C * omega)
        assert solution.beta == pytest.approx([t, -t], rel=1e-12)
        assert solution.alpha == pytest.approx([t], rel=1e-12)

    def test_beta_is_the_sum_of_pairs_where_K_is_regular(self):
        X, _, pairs = data(seed=4)
        K = kernel_matrix(X, kernel="rbf", gamma=1.0)
        solution = solve_squared_hinge(K, pairs, 2.0)
        gamma = np.zeros(len(K))
        np.add.at(gamma, pairs[:, 0], solution.alpha)
        np.add.at(gamma, pairs[:, 1], -solution.alpha)
        assert solution.beta == pytest.approx(gamma, abs=1e-4)

    def test_the_mixture_of_all_pairs_needs_few_steps(self):
        rng = np.random.default_rng(5)
        X = np.vstack([rng.normal(0, 1, (60, 2)), rng.normal(1, 1, (60, 2))])
        pairs = [(60 + i, j) for i in range(60) for j in range(60)]
        K = kernel_matrix(X, kernel="rbf", gamma=1.0)
        solution = solve_squared_hinge(K, pairs, 1.0)
        assert_solves(solution, K, pairs, 1.0)
        assert solution.iterations <= 20


class TestWeightsAndPairs:
    def test_a_pair_listed_twice_is_a_pair_of_weight_two(self):
        _, K, pairs = data(seed=6)
        twice = solve_squared_hinge(K, np.vstack([pairs, pairs[:7]]), 0.7)
        weights = np.ones(len(pairs))
        weights[:7] = 2
        weighted = solve_squared_hinge(K, pairs, 0.7, weights=weights)
        assert twice.objective == pytest.approx(weighted.objective, rel=1e-9)
        assert K @ twice.beta == pytest.approx(K @ weighted.beta, abs=1e-6)

    def test_weights_scale_C(self):
        _, K, pairs = data(seed=7)
        there = solve_squared_hinge(K, pairs, 5.0)
        back = solve_squared_hinge(K, pairs, 1.0, weights=np.full(len(pairs), 5.0))
        assert there.objective == pytest.approx(back.objective, rel=1e-9)

    def test_a_pair_without_weight_might_as_well_not_be_there(self):
        _, K, pairs = data(seed=8)
        weights = np.ones(len(pairs))
        weights[::3] = 0
        there = solve_squared_hinge(K, pairs, 2.0, weights=weights)
        back = solve_squared_hinge(K, pairs[weights > 0], 2.0)
        assert there.objective == pytest.approx(back.objective, rel=1e-9)
        assert (there.alpha[weights == 0] == 0).all()

    def test_doubling_all_margins_doubles_the_scores(self):
        _, K, pairs = data(seed=9)
        one = solve_squared_hinge(K, pairs, 1.5)
        two = solve_squared_hinge(K, pairs, 1.5, margins=np.full(len(pairs), 2.0))
        assert K @ two.beta == pytest.approx(2 * K @ one.beta, abs=1e-6)

    def test_margins_that_nothing_violates_leave_zero(self):
        solution = solve_squared_hinge(np.eye(3), [(0, 1), (2, 1)], margins=[0.0, -1.0])
        assert solution.objective == 0
        assert (solution.beta == 0).all()

    def test_equal_items_with_a_preference_pay_it_in_full(self):
        K = np.ones((2, 2))
        assert solve_squared_hinge(K, [(0, 1)], 4.0, margins=[3.0]).objective == pytest.approx(36, rel=1e-12)

    def test_beta_is_the_same_for_equal_items(self):
        X, _, pairs = data(seed=10)
        X[6:] = X[:6]
        beta = solve_squared_hinge(X @ X.T, pairs, 1.0).beta
        assert beta[6:] == pytest.approx(beta[:6], abs=1e-9)

    def test_a_kernel_of_zeros_leaves_only_the_loss(self):
        solution = solve_squared_hinge(np.zeros((3, 3)), [(0, 1), (2, 1)], 2.0)
        assert solution.objective == 4
        assert (solution.beta == 0).all()

    def test_the_record_is_read_only(self):
        solution = solve_squared_hinge(np.eye(2), [(0, 1)])
        with pytest.raises(ValueError, match="read-only"):
            solution.beta[0] = 1


class TestRefusals:
    def test_a_certificate_is_not_closed_by_another_point(self):
        """The checker of this file objects to a solution of another C."""
        _, K, pairs = data(seed=11)
        with pytest.raises(AssertionError):
            assert_solves(solve_squared_hinge(K, pairs, 1.0), K, pairs, 1.01)

    def test_accuracy_beyond_float64_is_not_claimed(self):
        _, K, pairs = data(seed=12)
        with refuses(ConvergenceError, "tol", expected="tol = 1.0e-30"):
            solve_squared_hinge(K + 0.1 * np.eye(len(K)), pairs, 0.3, tol=1e-30)

    def test_a_C_that_drowns_the_regulariser_is_named(self):
        _, K, pairs = data(seed=13, rank=8, m=12)
        with refuses(ConvergenceError, "C", found="1.9e+26"):
            solve_squared_hinge(K, pairs[:3], 1e25)

    def test_an_indefinite_matrix_is_refused(self):
        with refuses(DataError, "K", expected="positive semidefinite"):
            solve_squared_hinge([[1.0, 2.0], [2.0, 1.0]], [(0, 1)])
        with refuses(DataError, "K", expected="positive semidefinite"):
            solve_squared_hinge([[0.0, 1.0], [1.0, 0.0]], [(0, 1)])
        with refuses(DataError, "K", expected="positive semidefinite"):
            solve_squared_hinge([[1.0, 0.0], [0.0, -1.0]], [(0, 1)])

    @pytest.mark.parametrize(
        ("change", "wrong"),
        [
            ({"K": [[1.0, 0.0]]}, {"argument": "K", "found": "shape (1, 2)"}),
            ({"K": [[1.0, np.nan], [np.nan, 1.0]]}, {"argument": "K[0, 1]"}),
            ({"pairs": [(0, 2)]}, {"argument": "pairs[0]", "found": "(0, 2)"}),
            ({"pairs": np.zeros((0, 2), dtype=int)}, {"argument": "pairs"}),
            ({"C": 0.0}, {"argument": "C", "found": "0.0"}),
            ({"C": np.inf}, {"argument": "C", "found": "inf"}),
            ({"weights": [-1.0]}, {"argument": "weights[0]", "found": "-1.0"}),
            ({"weights": [1.0, 2.0]}, {"argument": "weights", "found": 2}),
            ({"margins": [np.nan]}, {"argument": "margins[0]"}),
            ({"tol": -1.0}, {"argument": "tol", "found": "-1.0"}),
        ],
    )
    def test_bad_arguments_are_named(self, change, wrong):
        arguments = {"K": np.eye(2), "pairs": [(0, 1)], "C": 1.0} | change
        with refuses(DataError, **wrong):
            solve_squared_hinge(**arguments)
