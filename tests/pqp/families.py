"""Families of ordinary models, each with its own parameter, made from a seed.

A seed decides the size and the kind of the data: integers, decimals or gaussian numbers. All models are well
posed, so a refusal is a fault of the engine.

`python -m tests.pqp.families [--seeds N] [--only NAME] [--time-limit S] [--list-faults]` traces, checks and
certifies them, prints one line per family, and survives whatever an engine does.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import pqp
from pqp import mu
from tests.benchmarks.problems import control as control_problem
from tests.benchmarks.problems import differences
from tests.path_check import check_path
from tests.worker import Worker

Instance = tuple[pqp.ParametricQP, tuple[float, float]]
Family = Callable[[int], Instance]
FAMILIES: dict[str, Family] = {}

KINDS = ("integer", "decimal", "gaussian")
# Twelve seeds reach the largest; exact proofs of dense gaussian data take long beyond 40.
SIZES = (12, 25, 40, 80, 60)


def family(make: Family) -> Family:
    """Add a generator to the list, under its name."""
    FAMILIES[make.__name__] = make
    return make


# ---- data ----------------------------------------------------------------------------------------------


def numbers(rng: Any, seed: int, *shape: int) -> Any:
    """Return numbers of the kind that the seed asks for, of size about 1."""
    kind = KINDS[seed % 3]
    if kind == "integer":
        return rng.integers(-3, 4, size=shape)
    values = rng.normal(size=shape)
    return values.round(1) if kind == "decimal" else values


def chance(seed: int, salt: int) -> Any:
    """Return a generator of random numbers that differs between families of equal seed."""
    return np.random.default_rng([seed, salt])


def size(seed: int, largest: int = 80) -> int:
    """Return a size for the seed: each goes with each kind of data."""
    return min(SIZES[(seed // 3) % len(SIZES)], largest)


def rbf(X: Any, gamma: float) -> Any:
    """Return the kernel matrix exp(-gamma |x - x'|²), exactly symmetric."""
    return np.exp(-gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))


def regression(seed: int, salt: int, rows: int, columns: int) -> tuple[Any, Any]:
    """Return X and y = Xb + noise, the noise as large as the signal."""
    rng = chance(seed, salt)
    X = numbers(rng, seed, rows, columns)
    y = X[:, :3].sum(axis=1) + 2 * rng.normal(size=rows)
    return X, y.round() if seed % 3 == 0 else y.round(1) if seed % 3 == 1 else y


def classes(seed: int, salt: int, count: int, columns: int = 3) -> tuple[Any, Any]:
    """Return points and classes -1, +1 that overlap; both classes occur."""
    rng = chance(seed, salt)
    X = numbers(rng, seed, count, columns)
    s = np.where(X[:, 0] + X[:, 1] + rng.normal(size=count) > 0, 1, -1)
    s[:2] = 1, -1
    return X, s


def covariance(seed: int, salt: int, n: int) -> tuple[Any, Any]:
    """Return means and a covariance matrix of full rank."""
    rng = chance(seed, salt)
    F = numbers(rng, seed, n, n)
    return numbers(rng, seed + 1, n), F @ F.T / n + 0.1 * np.eye(n)


def signal(seed: int, salt: int, n: int) -> Any:
    """Return steps with noise."""
    rng = chance(seed, salt)
    y = np.repeat(rng.integers(-4, 5, size=n // 6 + 1), 6)[:n] + rng.normal(size=n)
    return y.round().astype(int) if seed % 3 == 0 else y.round(1) if seed % 3 == 1 else y


# ---- regression ----------------------------------------------------------------------------------------


@family
def svr_primal(seed: int) -> Instance:
    """Epsilon-SVR: ½|w|² + C Σ max(0, |y - Xw - b| - mu), the tube widening with mu."""
    k = size(seed)
    X, y = regression(seed, 1, k, 4)
    A = np.c_[X, np.ones(k)]
    P = np.diag([1.0] * 4 + [0.0])
    return pqp.ParametricQP(P, 0, A=A, row_lower=y - mu, row_upper=y + mu, penalty=0.5), (0, 6)


@family
def svr_primal_in_c(seed: int) -> Instance:
    """Epsilon-SVR with a fixed tube, in the price of a residual."""
    k = size(seed)
    X, y = regression(seed, 2, k, 5)
    A = np.c_[X, np.ones(k)]
    P = np.diag([1.0] * 5 + [0.0])
    # with an unlimited b and mu = 0 every b is optimal
    return pqp.ParametricQP(P, 0, A=A, row_lower=y - 0.5, row_upper=y + 0.5, penalty=mu), (0, 5)


@family
def svr_dual(seed: int) -> Instance:
    """The dual of epsilon-SVR with an RBF kernel, in epsilon: soft rows beta = 0 of price mu."""
    k = size(seed)
    X, y = regression(seed, 3, k, 4)
    K, y = rbf(X, 0.1), y / 3
    A = np.vstack([np.ones((1, k)), np.eye(k)])
    penalty = np.r_[np.inf, np.zeros(k)] + mu * np.r_[0.0, np.ones(k)]
    return pqp.ParametricQP(K, -y, A=A, row_lower=0, row_upper=0, lower=-1, upper=1, penalty=penalty), (0, 3)


@family
def quantile_l1(seed: int) -> Instance:
    """Quantile regression (30 %) with the l1 norm of the coefficients priced by mu: a linear program."""
    k, p = 2 * size(seed), 5
    X, y = regression(seed, 4, k, p)
    A = np.vstack([np.c_[X, np.ones(k)], np.c_[X, np.ones(k)], np.eye(p, p + 1)])
    inf, none = np.full(k, np.inf), np.zeros(p)
    low, high = np.r_[y, -inf, none], np.r_[inf, y, none]
    penalty = np.r_[np.full(k, 0.3), np.full(k, 0.7), none] + mu * np.r_[np.zeros(2 * k), np.ones(p)]
    return pqp.ParametricQP(np.zeros((p + 1, p + 1)), 0, A, low, high, penalty=penalty), (0, 40)


@family
def one_hot_median(seed: int) -> Instance:
    """Median regression with l1 on one-hot columns: integers, ties everywhere."""
    rng, k, levels, factors = chance(seed, 5), 60 + 40 * (seed % 6), 8, 4
    drawn = rng.integers(0, levels, size=(k, factors))
    X = np.hstack([np.eye(levels, dtype=int)[drawn[:, j]] for j in range(factors)])
    y, p = rng.integers(-3, 4, size=k), levels * factors
    b = np.r_[y, np.zeros(p, dtype=int)]
    penalty = np.r_[np.ones(k), np.zeros(p)] + mu * np.r_[np.zeros(k), np.ones(p)]
    A = np.vstack([X, np.eye(p, dtype=int)])
    return pqp.ParametricQP(np.zeros((p, p)), 0, A=A, row_lower=b, row_upper=b, penalty=penalty), (0, 50)


@family
def least_absolute_deviations(seed: int) -> Instance:
    """LAD while the target moves from one to another."""
    k = size(seed)
    X, y = regression(seed, 6, k, 4)
    _, other = regression(seed, 7, k, 4)
    b = y + mu * (other - y)
    return pqp.ParametricQP(np.zeros((4, 4)), 0, A=X, row_lower=b, row_upper=b, penalty=1), (0, 1)


@family
def huber(seed: int) -> Instance:
    """Huber regression with slacks u for the squares and the price of the rest rising with mu."""
    k = size(seed)
    X, y = regression(seed, 8, k, 4)
    P = np.diag(np.r_[np.zeros(4), np.ones(k)])
    A = np.hstack([X, np.eye(k)])
    return pqp.ParametricQP(P, 0, A=A, row_lower=y, row_upper=y, penalty=mu), (0.05, 5)


@family
def lasso(seed: int) -> Instance:
    """The lasso from the catalogue, from no penalty to no coefficient."""
    k = size(seed)
    X, y = regression(seed, 9, k + 20, k // 2 + 4)
    return pqp.catalog.lasso(X, y), (0, 1.1 * float(np.abs(X.T @ y).max()) + 1)


@family
def wide_lasso(seed: int) -> Instance:
    """The lasso with more columns than rows: P is singular."""
    k = size(seed, 60)
    X, y = regression(seed, 10, k // 2 + 4, 2 * k)
    top = float(np.abs(X.T @ y).max()) + 1
    return pqp.catalog.lasso(X, y), (0.02 * top, 1.1 * top)


@family
def elastic_net(seed: int) -> Instance:
    """The elastic net with a fixed ridge part, nonnegative coefficients in every other seed."""
    k = size(seed)
    X, y = regression(seed, 11, k // 2 + 4, k)
    p = X.shape[1]
    P = X.T @ X + 0.5 * np.eye(p)
    signs = {"lower": 0} if seed % 2 else {}
    interval = (0, 1.1 * float(np.abs(X.T @ y).max()) + 1)
    problem = pqp.ParametricQP(
        P, -(X.T @ y), A=np.eye(p, dtype=int), row_lower=0, row_upper=0, penalty=mu, **signs
    )
    return problem, interval


@family
def fused_lasso(seed: int) -> Instance:
    """½|y - Xb|² + mu Σ|b_j - b_j-1| + ¼ Σ|b_j|."""
    k = size(seed, 60)
    X, y = regression(seed, 12, k + 10, k)
    rows = sp.vstack([differences(k), sp.eye_array(k)], format="csr")
    penalty = np.r_[np.zeros(k - 1), np.full(k, 0.25)] + mu * np.r_[np.ones(k - 1), np.zeros(k)]
    top = float(np.abs(X.T @ y).sum()) / 2
    return pqp.ParametricQP(X.T @ X, -(X.T @ y), A=rows, row_lower=0, row_upper=0, penalty=penalty), (0, top)


@family
def total_variation(seed: int) -> Instance:
    """Denoising of a signal by total variation, from the signal to its mean."""
    n = 40 + size(seed)
    y = signal(seed, 13, n)
    D = differences(n)
    return pqp.ParametricQP(sp.eye_array(n), -y, A=D, row_lower=0, row_upper=0, penalty=mu), (0, 60)


@family
def l1_trend_filter(seed: int) -> Instance:
    """The l1 trend filter: second differences of a signal priced by mu."""
    n = 20 + size(seed)
    y = signal(seed, 14, n)
    D = differences(n, 2)
    return pqp.ParametricQP(sp.eye_array(n), -y, A=D, row_lower=0, row_upper=0, penalty=mu), (0, 100)


@family
def nearly_isotonic(seed: int) -> Instance:
    """Nearly-isotonic regression: every decrease costs mu."""
    n = 40 + size(seed)
    y = signal(seed, 15, n) + np.arange(n) // 12
    return pqp.ParametricQP(sp.eye_array(n), -y, A=differences(n), row_lower=0, penalty=mu), (0, 30)


@family
def isotonic_while_data_move(seed: int) -> Instance:
    """Isotonic regression while the data turn round: long blocks merge and split."""
    n = 20 + size(seed)
    y = signal(seed, 16, n)
    return pqp.ParametricQP(sp.eye_array(n), -y + mu * (y - y[::-1]), A=differences(n), row_lower=0), (0, 1)


@family
def dantzig_selector(seed: int) -> Instance:
    """The Dantzig selector: the smallest l1 norm with |Xᵀ(y - Xb)| ≤ mu, a linear program."""
    k = size(seed, 40)
    X, y = regression(seed, 17, k + 5, k // 2 + 3)
    G, g, p = X.T @ X, X.T @ y, X.shape[1]
    A = np.vstack([G, np.eye(p)])
    low = np.r_[g, np.zeros(p)] - mu * np.r_[np.ones(p), np.zeros(p)]
    high = np.r_[g, np.zeros(p)] + mu * np.r_[np.ones(p), np.zeros(p)]
    penalty = [None] * p + [1] * p
    return pqp.ParametricQP(np.zeros((p, p)), 0, A, low, high, penalty=penalty), (
        0,
        1.1 * float(np.abs(g).max()) + 1,
    )


@family
def basis_pursuit(seed: int) -> Instance:
    """Basis pursuit: the smallest l1 norm with Xb = y0 + mu y1, fewer rows than columns."""
    k = size(seed, 60)
    rng = chance(seed, 18)
    rows = k // 3 + 3
    X = numbers(rng, seed, rows, k)
    y, d = numbers(rng, seed, rows), numbers(rng, seed, rows)
    A, b = np.vstack([X, np.eye(k)]), np.r_[y, np.zeros(k)] + mu * np.r_[d, np.zeros(k)]
    return pqp.ParametricQP(np.zeros((k, k)), 0, A, b, b, penalty=[None] * rows + [1] * k), (-2, 2)


@family
def nonnegative_least_squares(seed: int) -> Instance:
    """Nonnegative least squares while the target moves."""
    k = size(seed)
    X, y = regression(seed, 19, k + 20, k)
    _, other = regression(seed, 20, k + 20, k)
    return pqp.ParametricQP(pqp.Gram(X.T), -(X.T @ y) + mu * (X.T @ (y - other)), lower=0), (-1, 2)


@family
def constrained_ridge(seed: int) -> Instance:
    """Ridge regression with a sum and an order of coefficients, the sum moving."""
    k = size(seed, 60)
    X, y = regression(seed, 21, k + 20, k)
    A = np.vstack([np.ones((1, k)), differences(k).toarray()[: k // 3]])
    low = np.r_[0.0, np.zeros(k // 3)] + mu * np.r_[1.0, np.zeros(k // 3)]
    high = np.r_[0.0, np.full(k // 3, np.inf)] + mu * np.r_[1.0, np.zeros(k // 3)]
    return pqp.ParametricQP(X.T @ X + np.eye(k), -(X.T @ y), A, low, high, lower=-2, upper=2), (-10, 10)


@family
def chebyshev_regression(seed: int) -> Instance:
    """The least largest residual while the target moves: a linear program in (b, t)."""
    k = size(seed)
    X, y = regression(seed, 22, k, 4)
    _, other = regression(seed, 23, k, 4)
    A, step = np.vstack([np.c_[X, np.ones(k)], np.c_[-X, np.ones(k)]]), other - y
    low = np.r_[y, -y] + mu * np.r_[step, -step]
    return pqp.ParametricQP(np.zeros((5, 5)), [0, 0, 0, 0, 1], A=A, row_lower=low), (0, 1)


# ---- classification and ranking ------------------------------------------------------------------------


@family
def svm_dual_linear(seed: int) -> Instance:
    """The dual of a linear SVM, in C: P has the rank of the features."""
    return pqp.catalog.svm(*classes(seed, 30, size(seed))), (0, 5)


@family
def svm_dual_rbf(seed: int) -> Instance:
    """The dual of an SVM with an RBF kernel, in C; equal points are dropped to keep K regular."""
    X, s = classes(seed, 31, size(seed))
    _, kept = np.unique(X, axis=0, return_index=True)
    kept = np.sort(kept)
    return pqp.catalog.svm(rbf(X[kept], 0.5), s[kept], kernel="precomputed"), (0, 20)


@family
def svm_primal(seed: int) -> Instance:
    """The primal of a linear SVM: soft rows s(Xw + b) ≥ 1 of price C = mu."""
    k = size(seed)
    X, s = classes(seed, 32, k)
    A = s[:, None] * np.c_[X, np.ones(k, dtype=int)]
    return pqp.ParametricQP(np.diag([1, 1, 1, 0]), 0, A=A, row_lower=1, penalty=mu), (0, 5)


@family
def svm_with_slacks(seed: int) -> Instance:
    """The primal of a linear SVM with one slack variable for each point."""
    k = size(seed, 60)
    X, s = classes(seed, 33, k)
    A = np.hstack([s[:, None] * np.c_[X, np.ones(k)], np.eye(k)])
    P, cost = np.diag(np.r_[1.0, 1, 1, np.zeros(k + 1)]), np.r_[np.zeros(4), np.ones(k)]
    low = np.r_[np.full(4, -np.inf), np.zeros(k)]
    return pqp.ParametricQP(P, mu * cost, A=A, row_lower=1, lower=low), (0, 5)


@family
def nu_svm(seed: int) -> Instance:
    """The dual of nu-SVM in the weight of support vectors, infeasible where the smaller class ends."""
    k = size(seed)
    X, s = classes(seed, 34, k)
    A, low = np.vstack([s, np.ones(k, dtype=int)]), np.array([0, 0]) + mu * np.array([0, 1])
    high = [0, np.inf] + mu * np.array([0, 0])
    Q = s[:, None] * rbf(X, 0.3) * s
    return pqp.ParametricQP(Q, 0, A, low, high, lower=0, upper=1 / k), (0, 1)


@family
def one_class_svm(seed: int) -> Instance:
    """The dual of the one-class SVM, in the total weight."""
    k = size(seed)
    X, _ = classes(seed, 35, k)
    return pqp.ParametricQP(
        rbf(X, 0.5), 0, A=np.ones((1, k)), row_lower=mu, row_upper=mu, lower=0, upper=1
    ), (0.5, k - 0.5)


@family
def one_class_slab(seed: int) -> Instance:
    """A slab SVM: 0 ≤ Xw - r ≤ mu for most points, both sides soft."""
    k, p = size(seed), 2
    X = numbers(chance(seed, 36), seed, k, p)
    A, inf, zero = np.vstack([np.c_[X, -np.ones(k)]] * 2), np.full(k, np.inf), np.zeros(k)
    high = np.r_[inf, zero] + mu * np.r_[zero, np.ones(k)]
    P, c = np.diag([1.0] * p + [0.0]), np.r_[np.zeros(p), -1.0]
    return pqp.ParametricQP(P, c, A, np.r_[zero, -inf], high, penalty=1 / (0.2 * k)), (0, 3)


@family
def soft_ball(seed: int) -> Instance:
    """The dual of support vector data description: the smallest ball, points outside priced by mu."""
    k = size(seed)
    X, _ = classes(seed, 37, k)
    K = X @ X.T
    return pqp.ParametricQP(
        pqp.Gram(2 * X, weights=[0.5] * X.shape[1]),
        -np.diag(K),
        A=np.ones((1, k)),
        row_lower=1,
        row_upper=1,
        lower=0,
        upper=mu,
    ), (0, 1)


@family
def choice(seed: int) -> Instance:
    """Choice-based conjoint analysis with one-hot attributes, part-worths nonnegative in every other seed."""
    rng, k, levels = chance(seed, 38), 3 * size(seed), (3, 4, 2, 5)
    options = np.hstack([np.eye(c, dtype=int)[rng.integers(0, c, size=2 * k)] for c in levels])
    rows = options[:k] - options[k:]
    rows = rows[rows.any(axis=1)]
    return pqp.catalog.choice(rows, lower=0 if seed % 2 else None), (0, 5)


@family
def rank_svm(seed: int) -> Instance:
    """The dual of RankSVM on preference pairs, by `PairGram`."""
    k = size(seed, 40) // 2 + 4
    rng = chance(seed, 39)
    X = numbers(rng, seed, k, 3)
    y = X[:, 0] + rng.normal(size=k)
    pairs = np.array([(i, j) for i in range(k) for j in range(k) if y[i] > y[j] + 0.7])[: 4 * k]
    # rounding makes X Xᵀ indefinite by 1e-16, which the certificate of a convex problem would refuse
    K = X @ X.T + 1e-9 * np.eye(k) if seed % 2 else rbf(X, 0.5)
    return pqp.ParametricQP(pqp.PairGram(K, pairs), -1, lower=0, upper=mu * np.ones(len(pairs))), (0, 3)


# ---- portfolios, control, linear programs --------------------------------------------------------------


@family
def frontier(seed: int) -> Instance:
    """The efficient frontier with no short sales and at most a fifth in each asset."""
    n = size(seed)
    mean, S = covariance(seed, 40, n)
    return pqp.catalog.markowitz(mean, S, lower=0, upper=max(0.2, 1.5 / n)), (0, 10)


@family
def frontier_with_turnover(seed: int) -> Instance:
    """The frontier of a factor model where every trade away from the present portfolio costs."""
    n = size(seed)
    rng = chance(seed, 41)
    mean, F = numbers(rng, seed, n), numbers(rng, seed, n, 4)
    held = np.full(n, 1 / n)
    A, start = np.vstack([np.ones((1, n)), np.eye(n)]), np.r_[1.0, held]
    problem = pqp.ParametricQP(
        pqp.Gram(F, diagonal=np.full(n, 0.5)),
        mu * -mean,
        A,
        start,
        start,
        lower=-0.1,
        upper=0.5,
        penalty=[None] + [0.05] * n,
    )
    return problem, (0, 3)


@family
def control(seed: int) -> Instance:
    """Sparse optimal control of a damped oscillator, its first state moving; infeasible ends in some."""
    T = 8 + size(seed, 60) // 2
    return control_problem(T, reach=1.0 if seed % 2 else 0.6), (0, 1)


@family
def bounded_lp(seed: int) -> Instance:
    """A linear program with bounds on all variables and random rows, its cost moving."""
    n = size(seed)
    rng = chance(seed, 43)
    A, c, d = numbers(rng, seed, n // 2, n), numbers(rng, seed, n), numbers(rng, seed, n)
    return pqp.ParametricQP(np.zeros((n, n)), c + mu * d, A, row_upper=5, lower=0, upper=3), (-3, 3)


@family
def transport(seed: int) -> Instance:
    """A transport problem whose costs move: a degenerate linear program with a redundant row."""
    rng, k = chance(seed, 44), 3 + (seed // 3) % 5
    shape = (k, k + 2)
    supply = np.full(k, k + 2)
    demand = np.full(k + 2, k)
    A = sp.vstack(
        [sp.kron(sp.eye_array(k), np.ones((1, k + 2))), sp.kron(np.ones((1, k)), sp.eye_array(k + 2))]
    )
    c, d = numbers(rng, seed, *shape).ravel() + 4, numbers(rng, seed, *shape).ravel()
    b = np.r_[supply, demand]
    n = len(c)
    return pqp.ParametricQP(sp.csr_array((n, n)), c + mu * d, sp.csr_array(A), b, b, lower=0), (-2, 2)


@family
def random_strictly_convex(seed: int) -> Instance:
    """Random strictly convex problems, mu in the cost and in the limits."""
    n = size(seed, 40)
    m = 2 * n
    rng = chance(seed, 45)
    F, A = numbers(rng, seed, n, n), numbers(rng, seed, m, n)
    (c, d), b = numbers(rng, seed, 2, n), rng.uniform(1, 2, size=m).round(1)
    step = (0.3 * rng.normal(size=m)).round(2)
    P = F @ F.T / n + 0.1 * np.eye(n)
    return pqp.ParametricQP(P, c + mu * d, A, row_upper=b + mu * step), (-2, 2)


@family
def random_convex_with_equalities(seed: int) -> Instance:
    """Convex problems of low rank with equalities, two-sided rows and bounds, mu everywhere."""
    n = size(seed, 40)
    rng = chance(seed, 46)
    F, A = numbers(rng, seed, n, n // 3 + 1), numbers(rng, seed, n // 2, n)
    inside = rng.integers(-1, 2, size=n)
    (c, d), step = numbers(rng, seed, 2, n), numbers(rng, seed, n // 2) * 0.25
    width = np.where(np.arange(n // 2) < n // 4, 0, 2)
    low = A @ inside - width + mu * step
    high = A @ inside + width + mu * step
    return pqp.ParametricQP(pqp.Gram(F), c + mu * d, A, low, high, lower=-3, upper=3), (-3, 3)


# ---- ends without a solution, degeneracy, units --------------------------------------------------------


@family
def infeasible_ends(seed: int) -> Instance:
    """A budget that runs below and above what the bounds allow."""
    n = size(seed)
    mean, S = covariance(seed, 50, n)
    return pqp.catalog.markowitz(0.1 * mean, S, lower=0, upper=2 / n, budget=mu), (-1, 3)


@family
def unbounded_ends(seed: int) -> Instance:
    """A singular P whose cost turns into its null space beyond some mu: unbounded there."""
    n = size(seed, 40)
    rng = chance(seed, 51)
    F = numbers(rng, seed, n, n // 2)
    A = np.abs(numbers(rng, seed, 4, n)) + 1
    c = np.abs(numbers(rng, seed, n)) + 1
    return pqp.ParametricQP(pqp.Gram(F), c - mu * np.ones(n), A=A, row_lower=1, lower=0), (-2, 12)


@family
def duplicated_rows_and_columns(seed: int) -> Instance:
    """Rows twice, columns twice: nothing is unique but the value."""
    n = size(seed, 40)
    rng = chance(seed, 52)
    F, A = numbers(rng, seed, n, n), numbers(rng, seed, n // 2, n)
    c, d = numbers(rng, seed, 2, n)
    F, A = np.vstack([F, F]), np.hstack([A, A])
    problem = pqp.ParametricQP(
        pqp.Gram(F),
        np.r_[c, c] + mu * np.r_[d, d],
        A=np.vstack([A, A]),
        row_upper=4,
        row_lower=-4,
        lower=-2,
        upper=2,
    )
    return problem, (-5, 5)


@family
def ties_everywhere(seed: int) -> Instance:
    """Small integers, many rows through one corner: most events are ties."""
    n = size(seed, 25)
    rng = chance(seed, 53)
    A = rng.integers(-1, 2, size=(3 * n, n))
    c, d = rng.integers(-2, 3, size=(2, n))
    return pqp.ParametricQP(np.eye(n, dtype=int), c + mu * d, A, row_lower=-1, row_upper=1), (-4, 4)


def units(seed: int) -> tuple[Any, ...]:
    """Return P, c, d, A, b of a problem whose units are then changed."""
    rng, n = chance(seed, 54), size(seed, 40)
    F, A = numbers(rng, seed, n, n), numbers(rng, seed, n // 2 + 2, n)
    c, d = numbers(rng, seed, 2, n)
    return F @ F.T / n, c, d, A, 1 + np.abs(rng.normal(size=len(A))).round(2)


@family
def objective_in_small_units(seed: int) -> Instance:
    """The objective times 1e8."""
    P, c, d, A, b = units(seed)
    return pqp.ParametricQP(1e8 * P, 1e8 * c + mu * (1e8 * d), A, row_upper=b, lower=-1, upper=1), (-5, 5)


@family
def mu_in_other_units(seed: int) -> Instance:
    """mu measured in millionths, or in millions."""
    P, c, d, A, b = units(seed)
    unit = 1e6 if seed % 2 else 1e-6
    return pqp.ParametricQP(P, c + mu * (unit * d), A, row_upper=b, lower=-1, upper=1), (-5 / unit, 5 / unit)


@family
def columns_in_other_units(seed: int) -> Instance:
    """Every variable in units of its own, from 1e-4 to 1e4."""
    P, c, d, A, b = units(seed)
    scale = 10.0 ** chance(seed, 55).integers(-4, 5, size=len(c))
    limit = 1 / scale
    P = scale[:, None] * P * scale
    return pqp.ParametricQP(
        (P + P.T) / 2, scale * c + mu * (scale * d), A * scale, row_upper=b, lower=-limit, upper=limit
    ), (-5, 5)


@family
def rows_in_other_units(seed: int) -> Instance:
    """Every row in units of its own, from 1e-4 to 1e4."""
    P, c, d, A, b = units(seed)
    scale = 10.0 ** chance(seed, 56).integers(-4, 5, size=len(b))
    return pqp.ParametricQP(P, c + mu * d, scale[:, None] * A, row_upper=scale * b, lower=-1, upper=1), (
        -5,
        5,
    )


@family
def large_penalties(seed: int) -> Instance:
    """Soft rows with a price of 1e6, which stand for hard ones, next to cheap ones."""
    P, c, d, A, b = units(seed)
    penalty = np.where(np.arange(len(b)) % 2, 1e6, 0.5)
    return pqp.ParametricQP(P, c + mu * d, A, row_upper=b, lower=-1, upper=1, penalty=penalty), (-5, 5)


# ---- the script ----------------------------------------------------------------------------------------


def judged(name: str, seed: int, time_limit: float = 20.0) -> Iterator[dict[str, Any]]:
    """Trace an instance and check it, then certify it: one dictionary for each of the two."""
    problem, interval = FAMILIES[name](seed)
    begin = time.process_time()
    try:
        path = pqp.solve_path(problem, interval, time_limit=time_limit)
    except pqp.PQPError as refusal:
        seconds = time.process_time() - begin
        yield {"verdict": "refused", "seconds": seconds, "why": f"{type(refusal).__name__}: {refusal}"}
        return
    seconds = time.process_time() - begin
    verdict = check_path(path, interval)
    word = "limit" if path.stopped else "right" if verdict.is_right else "wrong"
    found = {"seconds": seconds, "pieces": len(path.segments), "unjudged": verdict.unjudged}
    yield {"verdict": word, **found, "why": "; ".join(verdict.faults[:3]), "misses": verdict.misses}
    if word == "limit":
        return
    begin = time.process_time()
    try:
        path.certify()
    except pqp.PQPError as refusal:
        yield {"certified": False, "why": f"{type(refusal).__name__}: {refusal}"}
        return
    yield {"certified": True, "proof": time.process_time() - begin}


def record(worker: Worker, name: str, seed: int, time_limit: float) -> dict[str, Any]:
    """Return what became of one instance, whatever became of the engine."""
    # The limit of the path, the check and a little patience; then a proof may take as long again.
    stages = worker.run(judged, (name, seed, time_limit), (1.5 * time_limit + 10, time_limit + 10))
    found: dict[str, Any] = {"name": name, "seed": seed, "certified": False, "seconds": 0.0, "why": ""}
    for stage in stages:
        if "killed" in stage:
            stage = {"why": "no proof in time"} if "verdict" in found else {"verdict": "killed"}
        elif "error" in stage:
            stage = (
                {"why": stage["error"]} if "verdict" in found else {"verdict": "error", "why": stage["error"]}
            )
        found.update({key: value for key, value in stage.items() if key != "why" or value})
    return {"verdict": "error", **found}


HEADINGS = ("family", "right", "refused", "wrong", "limit", "killed", "error", "certified", "s", "proof s")


def line(cells: tuple[Any, ...]) -> str:
    """Return one line of the table."""
    first, *others = cells
    return f"{first!s:<32}" + "".join(f"{cell!s:>10}" for cell in others)


def main() -> None:
    """Print one line per family, and what went wrong below."""
    parser = argparse.ArgumentParser(description="Trace, check and certify families of ordinary models.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="families whose name contains this")
    parser.add_argument("--time-limit", type=float, default=20.0)
    parser.add_argument("--list-faults", action="store_true", help="print every instance that is not right")
    options = parser.parse_args()
    print(line(HEADINGS), flush=True)
    totals: Counter[str] = Counter()
    faults = []
    with Worker() as worker:
        worker.run(judged, ("choice", 0, 600.0), (900.0, 900.0))  # compiles and loads
        for name in FAMILIES:
            if options.only and options.only not in name:
                continue
            found = [record(worker, name, seed, options.time_limit) for seed in range(options.seeds)]
            counts = Counter(one["verdict"] for one in found)
            counts["certified"] = sum(one["certified"] for one in found)
            totals.update(counts)
            faults += [one for one in found if one["verdict"] != "right" or not one["certified"]]
            seconds, proofs = (sum(one.get(key, 0.0) for one in found) for key in ("seconds", "proof"))
            middle = (counts[key] for key in HEADINGS[1:-2])
            print(line((name, *middle, f"{seconds:.2f}", f"{proofs:.2f}")), flush=True)
    print(line(("all", *(totals[key] for key in HEADINGS[1:-2]), "", "")))
    for one in faults if options.list_faults else []:
        state = one["verdict"] + ("" if one["certified"] else ", not certified")
        print(f"{one['name']}({one['seed']}): {state}: {one['why'][:300]}")


if __name__ == "__main__":
    main()
