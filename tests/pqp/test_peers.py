"""solve_path against its peers: lars_path on diabetes data, SVC on mixture data, cvxcla on frontiers."""

import math
from functools import cache

import numpy as np
import pytest

import pqp
from tests.benchmarks.problems import factor_market, rbf
from tests.data_folder import diabetes, frontier_example, mixture, needs

DIRECTIONS = ("left-to-right", "right-to-left")
# Slopes of weights are of order one; where they change at all, they change by more.
ROUND_OFF = 1e-12


def peer(name):
    return pytest.importorskip(name, reason=f"{name} is not installed: pip install '.[bench]'")


@needs("diabetes_lars")
@pytest.mark.parametrize("direction", DIRECTIONS)
class TestLassoAgainstLars:
    # The coefficients are of order 100 to 1000, the bends too.
    AGREEMENT = 1e-9

    def paths(self, direction):
        """Ours, and the bends in mu = n alpha and coefficients of lars_path, ascending, mu = 0 first."""
        X, y = diabetes()
        path = pqp.solve_path(pqp.catalog.lasso(X, y), (0, math.inf), direction=direction)
        alphas, _, coefficients = peer("sklearn.linear_model").lars_path(X, y, method="lasso")
        return path, len(y) * alphas[::-1], coefficients.T[::-1]

    def test_breakpoints_are_the_steps_of_lars(self, direction):
        path, theirs, _ = self.paths(direction)
        np.testing.assert_allclose(path.breakpoints, theirs[1:], rtol=self.AGREEMENT)
        assert theirs[0] == pytest.approx(0, abs=self.AGREEMENT)

    def test_coefficients_are_those_of_lars(self, direction):
        path, theirs, coefficients = self.paths(direction)
        size = np.abs(coefficients).max()
        np.testing.assert_allclose(path.x(np.abs(theirs)), coefficients, rtol=0, atol=self.AGREEMENT * size)

    @pytest.mark.slow
    def test_path_is_proved(self, direction):
        self.paths(direction)[0].certify()


# How the 100 + 100 points of the mixture are taken.
SAMPLES = {
    "balanced": lambda X, y: (X, y),
    "unbalanced": lambda X, y: (X[40:], y[40:]),
    "tied": lambda X, y: (np.round(X, 1), y),
    "heavily tied": lambda X, y: (np.round(2 * X) / 2, y),
}
LARGEST = 100
COSTS = np.geomspace(0.01, LARGEST, 20)


@cache
def machines(sample, kernel):
    """K, y, our path, the twenty values of C with SVC and our coefficients for each, and the points."""
    svm = peer("sklearn.svm")
    X, y = SAMPLES[sample](*mixture())
    width = {"gamma": 1.0} if kernel == "rbf" else {}
    path = pqp.solve_path(pqp.catalog.svm(X, y, kernel=kernel, **width), (0, LARGEST))
    fitted = [svm.SVC(C=C, kernel=kernel, tol=1e-10, **width).fit(X, y) for C in COSTS]
    K = rbf(X) if kernel == "rbf" else X @ X.T
    return K, y, path, list(zip(COSTS, fitted, path.x(COSTS), strict=True)), X


@pytest.mark.slow
@needs("mixture")
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("sample", SAMPLES)
class TestSupportVectorMachines:
    # SVC stops at 1e-10 of its own criterion, but keeps its kernel in single precision: by this much, times
    # the sum of its coefficients, decision values may be off; its value by far less, near an optimum.
    SINGLE = float(np.finfo(np.float32).eps)
    VALUE = 1e-9
    # Ours is in double precision: the duality gap at the same twenty C.
    GAP = 1e-10

    def test_dual_values_are_those_of_svc(self, sample, kernel):
        K, y, _, fits, _ = machines(sample, kernel)
        for C, machine, alpha in fits:
            theirs = dual_value(K, y, coefficients(machine, y))
            assert dual_value(K, y, alpha) == pytest.approx(theirs, rel=self.VALUE), f"C = {C}"

    def test_decision_values_are_those_of_svc(self, sample, kernel):
        K, y, path, fits, X = machines(sample, kernel)
        for C, machine, alpha in fits:
            found, theirs = K @ (y * alpha), machine.decision_function(X) - machine.intercept_
            off = self.SINGLE * max(1.0, np.abs(K).max() * alpha.sum())
            np.testing.assert_allclose(found, theirs, rtol=0, atol=off, err_msg=f"C = {C}")
            if is_offset_unique(alpha, C):
                np.testing.assert_allclose(-path(C).y, machine.intercept_, rtol=0, atol=off)

    def test_duality_gap_vanishes(self, sample, kernel):
        K, y, path, fits, _ = machines(sample, kernel)
        for C, _, alpha in fits:
            value = primal_value(K, y, alpha, -path(C).y[0], C)
            assert 0 <= value - dual_value(K, y, alpha) + self.GAP * value <= 2 * self.GAP * value


def coefficients(machine, y):
    """The dual variables of a fitted SVC."""
    alpha = np.zeros(len(y))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    return alpha


def is_offset_unique(alpha, C):
    """Whether some coefficient is between its limits and fixes b; without one b may lie in an interval."""
    return bool(((alpha > 1e-6 * C) & (alpha < (1 - 1e-6) * C)).any())


def dual_value(K, y, alpha):
    """Σ α - ½ Σ α_i α_j y_i y_j K_ij."""
    return alpha.sum() - (y * alpha) @ K @ (y * alpha) / 2


def primal_value(K, y, alpha, b, C):
    """½|w|² + C Σ max(0, 1 - y f) with f = K (y α) + b."""
    f = K @ (y * alpha)
    return (y * alpha) @ f / 2 + C * np.maximum(0, 1 - y * (f + b)).sum()


class TestFrontiersAgainstCvxcla:
    # Weights and the parameter are of order one up to 60.
    AGREEMENT = 1e-11

    def assert_same_frontier(self, path, mean, covariance, lower, upper):
        """Our bends are among their turning points, and at all of these the weights are equal.

        Both are linear between, so the frontiers are the same. Turning points without a bend are a matter of
        taste: where the greatest return is a corner with more limits reached than needed.
        """
        ones, cvxcla = np.ones(len(mean)), peer("cvxcla")
        theirs = cvxcla.CLA(mean, covariance, lower, upper, a=ones[None, :], b=ones[:1]).turning_points
        turns = np.array([point.lamb for point in theirs if point.lamb < math.inf])
        weights = np.array([point.weights for point in theirs if point.lamb < math.inf])
        np.testing.assert_allclose(path.x(turns), weights, atol=self.AGREEMENT)
        nearest = np.abs(np.subtract.outer(bends(path), turns)).min(axis=1)
        assert nearest.max() <= self.AGREEMENT * turns.max()
        np.testing.assert_allclose(path(2 * turns.max()).x, theirs[0].weights, atol=self.AGREEMENT)

    @needs("cla_markowitz10")
    @pytest.mark.parametrize("direction", DIRECTIONS)
    def test_ten_assets(self, direction):
        mean, covariance, lower, upper = frontier_example()
        problem = pqp.catalog.markowitz(mean, covariance, lower, upper)
        path = pqp.solve_path(problem, (0, math.inf), direction=direction)
        self.assert_same_frontier(path, mean, covariance, lower, upper)

    @pytest.mark.parametrize("direction", DIRECTIONS)
    @pytest.mark.parametrize("form", ["dense", "factor"])
    @pytest.mark.parametrize("upper", [1, 0.1], ids=["long only", "at most a tenth"])
    @pytest.mark.parametrize(("assets", "seed"), [(50, 0), (50, 1), (50, 2), (200, 0), (200, 1)])
    def test_factor_models(self, assets, seed, upper, form, direction):
        mean, F, d = factor_market(assets, seed)
        covariance = F @ F.T + np.diag(d)
        covariance = (covariance + covariance.T) / 2
        P = covariance if form == "dense" else pqp.Gram(F, diagonal=d)
        problem = pqp.catalog.markowitz(mean, P, upper=upper)
        path = pqp.solve_path(problem, (0, math.inf), direction=direction)
        self.assert_same_frontier(path, mean, covariance, np.zeros(assets), np.full(assets, upper))

    @pytest.mark.slow
    @pytest.mark.parametrize("assets", [50, 200])
    def test_factor_models_are_proved(self, assets):
        mean, F, d = factor_market(assets)
        pqp.solve_path(pqp.catalog.markowitz(mean, pqp.Gram(F, diagonal=d)), (0, math.inf)).certify()


def bends(path):
    """The breakpoints at which the direction of x changes, by more than rounding error."""
    turn = {mu: path.derivative(mu) - path.derivative(mu, "left") for mu in path.breakpoints}
    return [mu for mu in turn if np.abs(turn[mu]).max() > ROUND_OFF]
