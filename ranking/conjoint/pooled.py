r"""One convex problem for a pool of respondents, solved at one C through its structure.

Sweeps over single dual variables find which rows are at their margin; then the least change of w that puts
exactly these rows at it is computed at once. It needs a pseudo-inverse for every respondent and one system in
w_0. Where C is small a few rounds of both do. Otherwise sweeps creep, the more so if numbers differ in size,
and too many rows are wrong for a correction; then the interior-point method leads near the optimum, and
the rounds go on from there until the relative gap between primal and dual value is round-off. The gap is the
proof: it bounds the distance from the optimum, however the solution was found.

Room: rows of a pool and C in; dual variables, w and the gap out.
May touch: `arrays`, `rows`, `pool`, `interior`; numba.
"""

import numpy as np
from numba import njit

from ranking.arrays import Array
from ranking.conjoint.interior import interior_start
from ranking.conjoint.pool import Pool, PooledSolution, pool_of
from ranking.conjoint.rows import ChoiceRows

# A relative duality gap below this is round-off.
CLOSED = 1e-13
# Sweeps between two corrections; how many times both are tried from nothing, and from near the optimum.
SWEEPS, FIRST, ROUNDS = 20, 5, 100
# How far a correction is followed: all the way first, which ends the search once the rows are known.
SHARES = (1.0, 0.0, 0.5, 0.25, 0.125)
# Singular values below this part of the largest belong to rows that depend on each other.
DEPENDENT = 1e-10
# The golden ratio: multiples of it spread evenly, which makes an order without a pattern and without a seed.
GOLDEN = (5**0.5 - 1) / 2


def solve_pooled(rows: ChoiceRows, shrinkage: float, C: float) -> PooledSolution:
    """Return the best solution found; whether its gap is small enough is for the caller to judge."""
    pool = pool_of(rows, shrinkage, C)
    first = _improved(pool, np.zeros(len(rows)), FIRST)
    if first.gap <= CLOSED:
        return first
    return min(first, _improved(pool, interior_start(pool), ROUNDS), key=lambda solution: solution.gap)


def _improved(pool: Pool, alpha: Array, rounds: int) -> PooledSolution:
    """Return the best solution found from α in some rounds of sweeps and correction."""
    order = np.argsort(np.arange(1, len(alpha) + 1) * GOLDEN % 1)
    best = pool.measured(alpha)
    for _ in range(rounds):
        swept = _swept(pool.X, pool.owner, pool.cap, pool.n, pool.shrinkage, alpha.copy(), order)
        direction = _correction(pool, swept)
        tried = [np.clip(swept + share * direction, 0.0, pool.cap) for share in SHARES]
        found = [pool.measured(point) for point in tried]
        best = min(best, *found, key=lambda solution: solution.gap)
        # sweeps only ever lower the dual value: a correction that raises it is not followed
        alpha = min(found, key=lambda solution: solution.dual).alpha
        if best.gap <= CLOSED:
            break
    return best


@njit(cache=True)
def _swept(X: Array, owner: Array, cap: Array, n: int, shrinkage: float, alpha: Array, order: Array) -> Array:
    """Return α after some sweeps, each of which optimises one variable after the other."""
    total, own = np.zeros(X.shape[1]), np.zeros((n, X.shape[1]))
    squares = np.zeros(len(X))
    for i in range(len(X)):
        total += alpha[i] * X[i]
        own[owner[i]] += alpha[i] * X[i]
        squares[i] = np.dot(X[i], X[i])
    for _ in range(SWEEPS):
        for i in order:
            r = owner[i]
            margin = shrinkage * np.dot(X[i], total) + (1 - shrinkage) * np.dot(X[i], own[r])
            if squares[i] == 0.0:
                alpha[i] = cap[i]
                continue
            moved = min(max(alpha[i] + (1.0 - margin) / squares[i], 0.0), cap[i])
            change = moved - alpha[i]
            if change != 0.0:
                alpha[i] = moved
                total += change * X[i]
                own[r] += change * X[i]
    return alpha


def _correction(pool: Pool, alpha: Array) -> Array:
    """Return the change of α that puts all rows between their bounds at their margin, with the least of w."""
    X, owner, shrinkage = pool.X, pool.owner, pool.shrinkage
    between = np.flatnonzero((alpha > 0) & (alpha < pool.cap))
    missing = 1 - pool.margins(*pool.weights(alpha))
    groups = np.split(between, np.flatnonzero(np.diff(owner[between])) + 1)
    inverses = [np.linalg.pinv(X[rows], rcond=DEPENDENT) for rows in groups]
    d, ratio = X.shape[1], shrinkage / (1 - shrinkage)
    system, right = np.eye(d), np.zeros(d)
    for rows, inverse in zip(groups, inverses, strict=True):
        system += ratio * (inverse @ X[rows])
        right += np.sqrt(shrinkage) / (1 - shrinkage) * (inverse @ missing[rows])
    step = np.linalg.solve(system, right)
    result = np.zeros(len(alpha))
    for rows, inverse in zip(groups, inverses, strict=True):
        rest = missing[rows] - np.sqrt(shrinkage) * (X[rows] @ step)
        result[rows] = inverse.T @ (inverse @ rest) / (1 - shrinkage)
    return result
