"""Problems for benchmarks and experiments, generated from a seed."""

import numpy as np

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
