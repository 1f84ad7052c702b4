r"""The interior-point method for a pool: near its optimum in some twenty steps, through its structure.

Between its bounds :math:`0 < \alpha < c` there are multipliers z, t > 0 with :math:`z - t = m - 1`, m being
margins. A Newton step towards :math:`\alpha z = (c - \alpha) t = \mu` solves a system in
:math:`\Theta + AA^\top` with the diagonal :math:`\Theta = z/\alpha + t/(c - \alpha)`. By Woodbury

.. math:: (\Theta + AA^\top)^{-1} b = \Theta^{-1}(b - Ay),
    \qquad (I + A^\top\Theta^{-1}A)\,y = A^\top\Theta^{-1}b

whose matrix is an arrow: blocks of respondents, joined by w_0 alone. With the matrices
:math:`K_r = X_r^\top\Theta_r^{-1}X_r` what is left for w_0 is the system of
:math:`I + \gamma \sum_r K_r (I + (1-\gamma) K_r)^{-1}`. Steps are Mehrotra's, predictor and corrector with
one factorisation. As μ → 0 some of Θ vanish, and float64 comes no nearer than a relative gap of 1e-6 to 1e-9:
what is at its bounds is known then, but not proven.

Room: a pool in; dual variables near the optimum, those that seem to be at a bound put there, out.
May touch: `arrays`, `pool`.
"""

from typing import NamedTuple

import numpy as np

from ranking.arrays import Array
from ranking.conjoint.pool import Pool

# Steps at most; some twenty are needed.
STEPS = 60
# From this gap on, one that does not shrink any more has met round-off.
NEAR = 1e-4
# How much of the way to the boundary is gone.
INSIDE = 0.995
# The exponent of Mehrotra's rule: what a predictor cannot reduce is centred.
CENTRING = 3


class Point(NamedTuple):
    """α, and the multipliers of its lower and upper bounds."""

    alpha: Array
    z: Array
    t: Array


class Arrow(NamedTuple):
    """Θ⁻¹, the K_r, the inverses of I + (1 − γ) K_r, and the matrix of w_0."""

    inverse: Array
    K: Array
    M: Array
    common: Array


def interior_start(pool: Pool) -> Array:
    """Return α near the optimum, at its bound wherever it is nearer to it than the multiplier is to 0."""
    alpha, z, t = _nearest(pool)
    share = alpha / pool.cap
    return np.where(share < z, 0.0, np.where(1 - share < t, pool.cap, alpha))


def _nearest(pool: Pool) -> Point:
    """Return the point with the smallest gap."""
    alpha = pool.cap / 2
    missing = 1 - pool.margins(*pool.weights(alpha))
    point = best = Point(alpha, np.maximum(-missing, 0.0) + 1, np.maximum(missing, 0.0) + 1)
    smallest = np.inf
    for _ in range(STEPS):
        gap = pool.measured(point.alpha).gap
        if gap < smallest:
            best, smallest = point, gap
        elif smallest < NEAR:
            break
        point = _stepped(pool, point)
    return best


def _stepped(pool: Pool, point: Point) -> Point:
    """Return the point after one step of predictor and corrector."""
    alpha, z, t = point
    arrow = _arrow(pool, 1 / (z / alpha + t / (pool.cap - alpha)))
    mu = _complementarity(pool, point)
    nothing = np.zeros(len(alpha))
    ahead = _direction(pool, point, arrow, nothing, nothing)
    reached = _complementarity(pool, _moved(point, ahead, _reach(pool, point, ahead)))
    centre = mu * (reached / mu) ** CENTRING
    towards = centre - ahead.alpha * ahead.z, centre + ahead.alpha * ahead.t
    step = _direction(pool, point, arrow, *towards)
    return _moved(point, step, min(1.0, INSIDE * _reach(pool, point, step)))


def _complementarity(pool: Pool, point: Point) -> float:
    """Return μ, the mean of α z and (c − α) t."""
    alpha, z, t = point
    return float((alpha @ z + (pool.cap - alpha) @ t) / (2 * len(alpha)))


def _direction(pool: Pool, point: Point, arrow: Arrow, for_z: Array, for_t: Array) -> Point:
    """Return the Newton step towards given values of α z and (c − α) t."""
    alpha, z, t = point
    rest = pool.cap - alpha
    missing = 1 - pool.margins(*pool.weights(alpha))
    change = _solved(pool, arrow, missing + for_z / alpha - for_t / rest)
    return Point(change, for_z / alpha - z - z / alpha * change, for_t / rest - t + t / rest * change)


def _reach(pool: Pool, point: Point, step: Point) -> float:
    """Return how much of a step can be gone before a bound is met; at most what 1 / INSIDE allows."""
    shrinking = [-change / value for value, change in zip(point, step, strict=True)]
    most = max(float(part.max()) for part in [*shrinking, step.alpha / (pool.cap - point.alpha)])
    return 1 / max(INSIDE, most)


def _moved(point: Point, step: Point, share: float) -> Point:
    return Point(*(value + share * change for value, change in zip(point, step, strict=True)))


def _arrow(pool: Pool, inverse: Array) -> Arrow:
    """Return the arrow of Θ, from Θ⁻¹."""
    K = np.zeros((pool.n, pool.X.shape[1], pool.X.shape[1]))
    for rows in pool.blocks:
        K[pool.owner[rows.start]] = (inverse[rows, None] * pool.X[rows]).T @ pool.X[rows]
    one = np.eye(pool.X.shape[1])
    M = np.linalg.inv(one + (1 - pool.shrinkage) * K)
    common = pool.shrinkage * np.einsum("rij,rjk->ik", K, M)
    return Arrow(inverse, K, M, one + (common + common.T) / 2)


def _solved(pool: Pool, arrow: Arrow, b: Array) -> Array:
    """Return the solution of (Θ + A Aᵀ) x = b."""
    g = pool.shrinkage
    right = pool.owners_sums((arrow.inverse * b)[:, None] * pool.X)
    common = np.linalg.solve(arrow.common, np.sqrt(g) * np.einsum("rij,rj->i", arrow.M, right))
    own = np.sqrt(1 - g) * np.einsum("rij,rj->ri", arrow.M, right - np.sqrt(g) * (arrow.K @ common))
    return np.asarray(arrow.inverse * (b - pool.margins(common, own)))
