"""Problems for benchmarks and experiments, generated from a seed."""

import numpy as np
import scipy.sparse as sp

import pqp

# The six attributes of the paper's study: 24 levels in all.
LEVELS = (3, 5, 6, 2, 3, 5)


def choice_rows(choices, seed, noise=None):
    """Return rows n_ab = χ_a − χ_b of random choices between two random options.

    Without `noise` either option is chosen with probability ½; with it, the one of higher hidden utility,
    blurred by normal noise of that size.
    """
    rng = np.random.default_rng(seed)
    worth = rng.normal(size=sum(LEVELS))
    rows = []
    while len(rows) < choices:
        row = _option(rng) - _option(rng)
        if noise is not None and worth @ row + noise * rng.normal() < 0:
            row = -row
        if row.any():
            rows.append(row)
    return np.array(rows)


def _option(rng):
    return np.concatenate([np.eye(size, dtype=int)[rng.integers(size)] for size in LEVELS])


def choice_with_slacks(rows):
    """Return CBC(C) in the paper's form: v ≥ 0, ξ ≥ 0, n·v + ξ ≥ 1, minimise ½|v|² + C Σ ξ; mu is C."""
    s, n = rows.shape
    P = np.zeros((n + s, n + s), dtype=int)
    P[:n, :n] = np.eye(n, dtype=int)
    cost = pqp.mu * np.r_[np.zeros(n, dtype=int), np.ones(s, dtype=int)]
    return pqp.ParametricQP(P, cost, A=np.hstack([rows, np.eye(s, dtype=int)]), row_lower=1, lower=0)


def dense(k, seed=0, integers=True):
    """Return a strictly convex problem with k/2 free variables and k/2 rows, mu in c and in b."""
    rng = np.random.default_rng(seed)
    n, m = k // 2, k - k // 2
    if integers:
        F, A = rng.integers(-3, 4, size=(n, n)), rng.integers(-3, 4, size=(m, n))
        c, b = rng.integers(-9, 10, size=(2, n)), rng.integers(-9, 10, size=(2, m))
    else:
        F, A = rng.normal(size=(n, n)), rng.normal(size=(m, n))
        c, b = rng.normal(size=(2, n)), rng.normal(size=(2, m))
    return pqp.ParametricQP(
        pqp.Gram(F), c[0] + pqp.mu * c[1], A, row_upper=abs(b[0]) + 1 + pqp.mu * abs(b[1])
    )


def regression(rows, columns, seed=0, signals=20):
    """Return gaussian X and y = Xb + noise, with the first coefficients of b at random and the rest zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, X[:, :signals] @ rng.normal(size=signals) + rng.normal(size=rows)


def factor_market(assets, seed=0, factors=10):
    """Return means, loadings F and specific variances d of a market: the covariance is F Fᵀ + diag(d).

    The first factor is the market, all loadings on it near 1; the others are weaker and of either sign.
    """
    rng = np.random.default_rng(seed)
    market, others = rng.normal(1, 0.3, size=(assets, 1)), rng.normal(0, 0.3, size=(assets, factors - 1))
    loadings, specific = 0.15 * np.hstack([market, others]), rng.uniform(0.01, 0.1, size=assets)
    return 0.1 * rng.normal(size=assets), loadings, specific


def strictly_convex(n=40, m=80, seed=0):
    """Return P, c0, c1, A, b0, b1 of: minimise ½xᵀPx + (c0 + mu c1)·x subject to Ax ≤ b0 + mu b1."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, n))
    P, (c0, c1) = F @ F.T / n + 0.1 * np.eye(n), rng.normal(size=(2, n))
    return (P + P.T) / 2, c0, c1, rng.normal(size=(m, n)), rng.uniform(1, 2, size=m), 0.1 * rng.normal(size=m)


def mixture(first, second, seed=0, decimals=None):
    """Return points and classes -1, +1 like those of `data/mixture`: ten gaussian clouds per class.

    Rounded to a few decimals, points coincide and the path has ties.
    """
    rng = np.random.default_rng(seed)
    centres = [rng.normal(size=(10, 2)) + np.eye(2)[k] for k in (0, 1)]
    clouds = [
        centres[k][rng.integers(10, size=size)] + rng.normal(size=(size, 2)) / np.sqrt(5)
        for k, size in ((0, first), (1, second))
    ]
    X = np.vstack(clouds) if decimals is None else np.round(np.vstack(clouds), decimals)
    return X, np.repeat([-1, 1], (first, second))


def rbf(X, gamma=1.0):
    """Return the kernel matrix exp(-gamma |x - x'|²), exactly symmetric."""
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-gamma * squares)


def ranking(K, pairs):
    """Return the dual of RankSVM with the L1 loss: minimise ½αᵀDKDᵀα - Σα subject to 0 ≤ α ≤ mu."""
    count = len(pairs)
    return pqp.ParametricQP(
        pqp.PairGram(K, pairs), np.full(count, -1), lower=0, upper=pqp.mu * np.ones(count)
    )


def control(T, reach=0.7):
    """Return optimal control of a damped oscillator over T steps, the first state moving with mu in (0, 1).

    Three variables per step, the push u and both states after it, and two sparse equalities.
    """
    step, push = np.array([[1, 0.1], [-0.1, 0.98]]), np.array([[0.0], [0.1]])
    stays = sp.kron(sp.eye_array(T), sp.csr_array(np.hstack([push, -np.eye(2)])))
    moves = sp.kron(sp.eye_array(T, k=-1), sp.csr_array(np.hstack([np.zeros((2, 1)), step])))
    first, other, b0, b1 = np.array([-4, 0.0]), np.array([4, 0.5]), np.zeros(2 * T), np.zeros(2 * T)
    b0[:2], b1[:2] = -step @ (first + 0.15 * (other - first)), -reach * step @ (other - first)
    weights, target = np.tile([0.1, 1.0, 0.1], T), np.zeros(3 * T)
    target[1::3] = 3 * np.sin(np.arange(T) / 20)
    b, limit = b0 + pqp.mu * b1, np.tile([1, 6, 2.0], T)
    A = sp.csr_array(stays + moves)
    return pqp.ParametricQP(sp.diags_array(weights), -weights * target, A, b, b, -limit, limit)


def random_sparse(n, m, seed=0):
    """Return a tridiagonal P, m rows of five entries each, bounds, and a cost that moves with mu in (-1, 1).

    About a fifth of the variables change their state on the way.
    """
    rng = np.random.default_rng(seed)
    P = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.1), np.full(n - 1, -1.0)], offsets=[-1, 0, 1])
    columns = np.concatenate([rng.choice(n, size=5, replace=False) for _ in range(m)])
    A = sp.csr_array((rng.normal(size=5 * m), columns, np.arange(0, 5 * m + 1, 5)), shape=(m, n))
    c, d = rng.normal(size=n), 0.3 * rng.normal(size=n)
    return pqp.ParametricQP(P, c + pqp.mu * d, A, row_upper=rng.uniform(0.2, 1, size=m), lower=-1, upper=1)


def differences(n, order=1):
    """Return the matrix of first or second differences of n numbers, sparse."""
    D = sp.eye_array(n, format="csr")
    for _ in range(order):
        k = D.shape[0]
        D = (sp.eye_array(k - 1, k, k=1) - sp.eye_array(k - 1, k)) @ D
    return sp.csr_array(D)


def filtered_signal(n, order=1, seed=0):
    """Return a signal smoothed by total variation (order 1) or the l1 trend filter (order 2), priced by mu.

    The signal is a few steps, or slopes, with noise of size 1.
    """
    rng = np.random.default_rng(seed)
    y = np.cumsum(np.where(rng.random(n) < 20 / n, 5 * rng.normal(size=n), 0))
    if order == 2:
        y = np.cumsum(y) / 100
    y = y + rng.normal(size=n)
    D = differences(n, order)
    return pqp.ParametricQP(sp.eye_array(n), -y, A=D, row_lower=0, row_upper=0, penalty=pqp.mu)
