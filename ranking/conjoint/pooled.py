r"""One convex problem for a pool of respondents, solved at one C through its structure.

The dual of the pooled problem has one variable a row,

.. math:: \min_\alpha \; \tfrac12\|w(\alpha)\|^2 - \mathbf 1^\top\alpha, \quad 0 \le \alpha_i \le C\omega_i,
    \qquad w_0 = \sqrt\gamma \sum_i \alpha_i n_i,\; w_r = \sqrt{1-\gamma} \sum_{i \in r} \alpha_i n_i.

Sweeps over single variables find which rows are at their margin; then the least change of w that puts exactly
these rows at it is computed at once. It needs a pseudo-inverse for every respondent and one system in w_0.
Both are repeated until the relative gap between primal and dual value is round-off. The gap is the proof: it
bounds the distance from the optimum, however the solution was found.

Room: rows of a pool and C in; dual variables, w and the gap out.
May touch: `errors`, `arrays`, `rows`; numba.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ranking.arrays import Array
from ranking.conjoint.rows import ChoiceRows

# A relative duality gap below this is round-off.
CLOSED = 1e-13
# Sweeps between two corrections, and how many times both are tried.
SWEEPS, ROUNDS = 20, 500
# How far a correction is followed: all the way first, which ends the search once the rows are known.
SHARES = (1.0, 0.0, 0.5, 0.25, 0.125)
# Singular values below this part of the largest belong to rows that depend on each other.
DEPENDENT = 1e-10
# The golden ratio: multiples of it spread evenly, which makes an order without a pattern and without a seed.
GOLDEN = (5**0.5 - 1) / 2


class PooledSolution(NamedTuple):
    """α, one a row; w_0 and all w_r, one a row; the dual value, and its gap to the primal one, relatively."""

    alpha: Array
    common: Array
    own: Array
    dual: float
    gap: float


def solve_pooled(rows: ChoiceRows, shrinkage: float, C: float) -> PooledSolution:
    """Return the best solution found; whether its gap is small enough is for the caller to judge."""
    X, owner, cap = rows.rows.astype(float), np.asarray(rows.owner), C * rows.weight.astype(float)
    order = np.argsort(np.arange(1, len(X) + 1) * GOLDEN % 1)
    alpha = np.zeros(len(X))
    best = _measured(X, owner, cap, rows.n_owners, shrinkage, alpha)
    for _ in range(ROUNDS):
        swept = _swept(X, owner, cap, rows.n_owners, shrinkage, alpha, order)
        direction = _correction(X, owner, cap, rows.n_owners, shrinkage, swept)
        tried = [np.clip(swept + share * direction, 0.0, cap) for share in SHARES]
        found = [_measured(X, owner, cap, rows.n_owners, shrinkage, point) for point in tried]
        best = min(best, *found, key=lambda solution: solution.gap)
        # sweeps only ever lower the dual value: a correction that raises it is not followed
        alpha = min(found, key=lambda solution: solution.dual).alpha.copy()
        if best.gap <= CLOSED:
            break
    return best


def _weights(X: Array, owner: Array, n: int, shrinkage: float, alpha: Array) -> tuple[Array, Array]:
    """Return w_0 and w_r."""
    own = np.zeros((n, X.shape[1]))
    np.add.at(own, owner, alpha[:, None] * X)
    return np.sqrt(shrinkage) * own.sum(axis=0), np.sqrt(1 - shrinkage) * own


def _measured(X: Array, owner: Array, cap: Array, n: int, shrinkage: float, alpha: Array) -> PooledSolution:
    """Return a feasible α with its duality gap, relative to the primal value."""
    common, own = _weights(X, owner, n, shrinkage, alpha)
    margins = _margins(X, owner, shrinkage, common, own)
    ridge = (common @ common + (own * own).sum()) / 2
    primal = ridge + cap @ np.maximum(0.0, 1 - margins)
    dual = ridge - alpha.sum()
    return PooledSolution(alpha, common, own, float(dual), float((primal + dual) / primal))


def _margins(X: Array, owner: Array, shrinkage: float, common: Array, own: Array) -> Array:
    v = np.sqrt(shrinkage) * common + np.sqrt(1 - shrinkage) * own
    return np.asarray(np.einsum("ij,ij->i", X, v[owner]))


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


def _correction(X: Array, owner: Array, cap: Array, n: int, shrinkage: float, alpha: Array) -> Array:
    """Return the change of α that puts all rows between their bounds at their margin, with the least of w."""
    between = np.flatnonzero((alpha > 0) & (alpha < cap))
    common, own = _weights(X, owner, n, shrinkage, alpha)
    missing = 1 - _margins(X, owner, shrinkage, common, own)
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
