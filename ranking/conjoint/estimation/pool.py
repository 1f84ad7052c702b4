r"""The pooled model at one C, solved through its structure: a dual with one block per respondent.

The dual of the pooled problem (see `ranking.conjoint.estimation.programs`) has one variable per row,

.. math:: \min_\alpha \; \tfrac12\|w(\alpha)\|^2 - \mathbf 1^\top\alpha, \quad 0 \le \alpha_i \le C\omega_i,
    \qquad w_0 = \sqrt\gamma \sum_i \alpha_i n_i,\; w_r = \sqrt{1-\gamma} \sum_{i \in r} \alpha_i n_i.

Any feasible α has a duality gap, which bounds its distance from the optimum: the gap is the proof, however
the solution was found. Two methods take turns until the gap is rounding error.

1. *Active set.* Sweeps over single dual variables find which rows are at their margin. Then the least change
   of w that puts exactly these rows at it is computed at once, from one pseudo-inverse per respondent and one
   system in w_0. Where C is small, a few rounds are enough. Otherwise sweeps make little progress, and too
   many rows are wrong for a correction.
2. *Interior point.* Between its bounds :math:`0 < \alpha < c` there are multipliers z, t > 0 with
   :math:`z - t = m - 1`, m being margins. A Newton step towards :math:`\alpha z = (c - \alpha) t = \mu`
   solves a system in :math:`\Theta + AA^\top` with the diagonal
   :math:`\Theta = z/\alpha + t/(c - \alpha)`. By Woodbury

   .. math:: (\Theta + AA^\top)^{-1} b = \Theta^{-1}(b - Ay),
       \qquad (I + A^\top\Theta^{-1}A)\,y = A^\top\Theta^{-1}b

   whose matrix is an arrow: one block per respondent, joined by w_0 alone. With
   :math:`K_r = X_r^\top\Theta_r^{-1}X_r` the system left for w_0 is that of
   :math:`I + \gamma \sum_r K_r (I + (1-\gamma) K_r)^{-1}`. Steps are Mehrotra's, predictor and corrector
   with one factorisation. As μ → 0 some entries of Θ vanish, and float64 comes no nearer than a relative gap
   of 1e-6 to 1e-9. That is near enough to know which variables are at their bounds, from where the first
   method closes the gap.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit

from ranking.conjoint.estimation.programs import ChoiceRows
from ranking.core.validation import Array, Integers

# A relative duality gap below this is rounding error.
CLOSED = 1e-13
# Sweeps between two corrections. Fewer leave too many rows on the wrong side of their margin.
SWEEPS = 20
# Rounds of sweeps and correction from α = 0, which solve small C, and from near the optimum.
FIRST_ROUNDS, ROUNDS = 5, 100
# Parts of a correction that are tried: the whole first, which ends the search once the rows are known.
SHARES = (1.0, 0.0, 0.5, 0.25, 0.125)
# Singular values below this part of the largest belong to rows that depend on each other.
DEPENDENT = 1e-10
# The golden ratio: multiples of it modulo 1 spread evenly, an order without a pattern and without a seed.
GOLDEN = (5**0.5 - 1) / 2
# Interior-point steps at most; about twenty are needed.
STEPS = 60
# Below this gap, a gap that does not shrink any more has met rounding error.
NEAR = 1e-4
# The part of the way to the nearest bound that a step may take, so that α stays between its bounds.
INSIDE = 0.995
# The exponent of Mehrotra's rule: the less the predictor reduces μ, the more the corrector centres.
CENTRING = 3


class PooledSolution(NamedTuple):
    """α, one per row of choices; w_0; all w_r, one per respondent; the dual value; the relative gap."""

    alpha: Array
    common: Array
    own: Array
    dual: float
    gap: float


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows X, whose they are, the largest α of each, the number of respondents, and γ."""

    X: Array
    owner: Integers
    cap: Array
    n: int
    shrinkage: float

    @cached_property
    def blocks(self) -> list[slice]:
        """The rows of every respondent who has some; rows are sorted by respondent."""
        ends = np.flatnonzero(np.diff(self.owner, append=-1)) + 1
        return [slice(lo, hi) for lo, hi in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]

    def owners_sums(self, values: Array) -> Array:
        """Return the sums of values, given one per row of X, over the rows of every respondent."""
        starts = [block.start for block in self.blocks]
        sums = np.zeros((self.n, *values.shape[1:]))
        sums[self.owner[starts]] = np.add.reduceat(values, starts, axis=0)
        return sums

    def weights(self, alpha: Array) -> tuple[Array, Array]:
        """Return w_0 and all w_r."""
        own = self.owners_sums(alpha[:, None] * self.X)
        return np.sqrt(self.shrinkage) * own.sum(axis=0), np.sqrt(1 - self.shrinkage) * own

    def margins(self, common: Array, own: Array) -> Array:
        """Return the margin n·v of every row, from w."""
        v = np.sqrt(self.shrinkage) * common + np.sqrt(1 - self.shrinkage) * own
        return np.asarray(np.einsum("ij,ij->i", self.X, v[self.owner]))

    def shortfall(self, alpha: Array) -> Array:
        """Return how much every row is below its margin of 1; negative where it is above."""
        return 1 - self.margins(*self.weights(alpha))

    def measured(self, alpha: Array) -> PooledSolution:
        """Return a feasible α with its duality gap, relative to the primal value."""
        common, own = self.weights(alpha)
        margins = self.margins(common, own)
        ridge = (common @ common + (own * own).sum()) / 2
        primal = ridge + self.cap @ np.maximum(0.0, 1 - margins)
        dual = ridge - alpha.sum()
        # `dual` is minimised, minus the usual dual value, so the two add up to the gap
        return PooledSolution(alpha, common, own, float(dual), float((primal + dual) / primal))


def pool_of(rows: ChoiceRows, shrinkage: float, C: float) -> Pool:
    """Return the pool of some rows at one C."""
    cap = C * rows.weight.astype(float)
    return Pool(rows.rows.astype(float), np.asarray(rows.owner), cap, rows.n_owners, shrinkage)


def solve_pooled(rows: ChoiceRows, shrinkage: float, C: float) -> PooledSolution:
    """Return the best solution found; whether its gap is small enough is for the caller to judge."""
    pool = pool_of(rows, shrinkage, C)
    first = _improved(pool, np.zeros(len(rows)), FIRST_ROUNDS)
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
    # sums of α n over all rows and over those of each respondent: w_0 and w_r without their factors
    total = np.zeros(X.shape[1])
    own = np.zeros((n, X.shape[1]))
    squares = np.zeros(len(X))
    for i in range(len(X)):
        total += alpha[i] * X[i]
        own[owner[i]] += alpha[i] * X[i]
        squares[i] = np.dot(X[i], X[i])
    for _ in range(SWEEPS):
        for i in order:
            r = owner[i]
            margin = shrinkage * np.dot(X[i], total) + (1 - shrinkage) * np.dot(X[i], own[r])
            # two equal alternatives: the row is 0, its margin cannot be reached, its α is at the bound
            if squares[i] == 0.0:
                alpha[i] = cap[i]
                continue
            # γ and 1 − γ add up to 1, so the second derivative in α_i is |n_i|² itself
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
    missing = pool.shortfall(alpha)
    groups = np.split(between, np.flatnonzero(np.diff(owner[between])) + 1)
    # pseudo-inverses, because rows of a respondent that are at their margin may depend on each other
    inverses = [np.linalg.pinv(X[rows], rcond=DEPENDENT) for rows in groups]
    d, ratio = X.shape[1], shrinkage / (1 - shrinkage)
    system, right = np.eye(d), np.zeros(d)
    for rows, inverse in zip(groups, inverses, strict=True):
        system += ratio * (inverse @ X[rows])
        right += np.sqrt(shrinkage) / (1 - shrinkage) * (inverse @ missing[rows])
    # the step of w_0 first; given it, respondents do not depend on each other
    step = np.linalg.solve(system, right)
    result = np.zeros(len(alpha))
    for rows, inverse in zip(groups, inverses, strict=True):
        rest = missing[rows] - np.sqrt(shrinkage) * (X[rows] @ step)
        result[rows] = inverse.T @ (inverse @ rest) / (1 - shrinkage)
    return result


class Point(NamedTuple):
    """α, and the multipliers of its lower and upper bounds."""

    alpha: Array
    z: Array
    t: Array


class ArrowSystem(NamedTuple):
    """Θ⁻¹, the K_r, the inverses of I + (1 − γ) K_r, and the matrix of w_0."""

    inverse: Array
    K: Array
    M: Array
    common: Array


def interior_start(pool: Pool) -> Array:
    """Return α near the optimum, at its bound wherever it is nearer to it than the multiplier is to 0."""
    alpha, z, t = _interior_point(pool)
    share = alpha / pool.cap
    return np.where(share < z, 0.0, np.where(1 - share < t, pool.cap, alpha))


def _interior_point(pool: Pool) -> Point:
    """Return the point with the smallest gap."""
    alpha = pool.cap / 2
    missing = pool.shortfall(alpha)
    # the multipliers satisfy z − t = m − 1 from the start, so every step keeps dual feasibility
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
    system = _arrow_system(pool, 1 / (z / alpha + t / (pool.cap - alpha)))
    mu = _complementarity(pool, point)
    zeros = np.zeros(len(alpha))
    ahead = _direction(pool, point, system, zeros, zeros)
    reached = _complementarity(pool, _moved(point, ahead, _reach(pool, point, ahead)))
    centre = mu * (reached / mu) ** CENTRING
    # the products of the predictor's changes are what its linearisation left out
    step = _direction(pool, point, system, centre - ahead.alpha * ahead.z, centre + ahead.alpha * ahead.t)
    return _moved(point, step, min(1.0, INSIDE * _reach(pool, point, step)))


def _complementarity(pool: Pool, point: Point) -> float:
    """Return μ, the mean of α z and (c − α) t."""
    alpha, z, t = point
    return float((alpha @ z + (pool.cap - alpha) @ t) / (2 * len(alpha)))


def _direction(pool: Pool, point: Point, system: ArrowSystem, for_z: Array, for_t: Array) -> Point:
    """Return the Newton step towards given values of α z and (c − α) t."""
    alpha, z, t = point
    rest = pool.cap - alpha
    change = _solved(pool, system, pool.shortfall(alpha) + for_z / alpha - for_t / rest)
    return Point(change, for_z / alpha - z - z / alpha * change, for_t / rest - t + t / rest * change)


def _reach(pool: Pool, point: Point, step: Point) -> float:
    """Return the part of a step that leads to the first bound; at most 1 / INSIDE."""
    shrinking = [-change / value for value, change in zip(point, step, strict=True)]
    most = max(float(part.max()) for part in [*shrinking, step.alpha / (pool.cap - point.alpha)])
    return 1 / max(INSIDE, most)


def _moved(point: Point, step: Point, share: float) -> Point:
    return Point(*(value + share * change for value, change in zip(point, step, strict=True)))


def _arrow_system(pool: Pool, inverse: Array) -> ArrowSystem:
    """Return the factors of Θ + A Aᵀ, from Θ⁻¹."""
    K = np.zeros((pool.n, pool.X.shape[1], pool.X.shape[1]))
    for rows in pool.blocks:
        K[pool.owner[rows.start]] = (inverse[rows, None] * pool.X[rows]).T @ pool.X[rows]
    one = np.eye(pool.X.shape[1])
    M = np.linalg.inv(one + (1 - pool.shrinkage) * K)
    common = pool.shrinkage * np.einsum("rij,rjk->ik", K, M)
    # symmetric in exact arithmetic; the mean of both halves removes what rounding added
    return ArrowSystem(inverse, K, M, one + (common + common.T) / 2)


def _solved(pool: Pool, system: ArrowSystem, b: Array) -> Array:
    """Return the solution of (Θ + A Aᵀ) x = b."""
    g = pool.shrinkage
    right = pool.owners_sums((system.inverse * b)[:, None] * pool.X)
    common = np.linalg.solve(system.common, np.sqrt(g) * np.einsum("rij,rj->i", system.M, right))
    own = np.sqrt(1 - g) * np.einsum("rij,rj->ri", system.M, right - np.sqrt(g) * (system.K @ common))
    return np.asarray(system.inverse * (b - pool.margins(common, own)))
