"""RankSVM at one C with the squared hinge loss, for pairs one by one and to rounding: Newton's method."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr, solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csr_array

from ranking.core.validation import (
    Array,
    as_symmetric,
    as_vector,
    incidence,
    item_pairs,
    positive_number,
    read_only,
)
from ranking.errors import ConvergenceError, DataError, must_be

# The method is finite and takes 5 to 20 steps; many more mean that rounding error prevents convergence.
MAX_ITERATIONS = 100
# By how much a Gram matrix may miss being positive semidefinite through rounding, relative to its diagonal:
# distances inside an RBF kernel lose that many digits where points lie far from the origin.
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class NewtonSolution:
    r"""A solution of the L2 problem: f = Kβ, and the dual α that proves it.

    `objective` is the primal value; `duality_gap` is (primal − dual)/primal, so the primal value is at most
    this share above the least one (a negative gap is rounding). β is the shortest of all that give the same
    f; Dᵀα is another one, up to the accuracy reached, and the same if K is not singular.
    """

    beta: Array
    alpha: Array
    objective: float
    duality_gap: float
    iterations: int


def solve_squared_hinge(
    K: ArrayLike,
    pairs: ArrayLike,
    C: float = 1.0,
    *,
    weights: ArrayLike | None = None,
    margins: ArrayLike | None = None,
    tol: float = 1e-10,
) -> NewtonSolution:
    r"""Return the minimiser of the L2 loss over preference pairs, at one C.

    .. math:: \min_\beta \; \tfrac12 \beta^\top K \beta
              + C \sum_{p = (i, j)} \omega_p \max(0, \Delta_p - (f_i - f_j))^2, \qquad f = K\beta

    [Kuo et al. 2014, (3.13), where ω = Δ = 1]. C multiplies the loss, and there is no ½ on the loss. With
    :math:`\alpha_p = 2 C \omega_p \max(0, \Delta_p - (f_i - f_j))` as a point of the dual problem

    .. math:: \max_{\alpha \ge 0} \; \Delta^\top \alpha - \tfrac12 \alpha^\top D K D^\top \alpha
              - \sum_p \frac{\alpha_p^2}{4 C \omega_p}

    every point carries its own certificate: the gap between the two values.

    The method. Factor :math:`K = LL^\top`, L having as many columns as K has rank, and put
    :math:`w = L^\top \beta`, so that the problem is well-posed where K is singular. On the pairs S with a
    loss, let :math:`A = 2 C D_S^\top \Omega_S D_S`; the gradient is :math:`w - L^\top D^\top \alpha`, the
    generalised Hessian :math:`I + L^\top A L`. Each Newton step goes to the exact minimum on its line, which
    makes the method finite [Keerthi and DeCoste 2005]; it stops at a relative gap of `tol`. A step takes
    O(n³) time for n items and O(n² + m) memory for m pairs; no matrix has a row and a column per pair.

    A float64 Gram matrix of deficient rank is positive semidefinite only up to rounding; it is read as the
    matrix :math:`LL^\top`, which differs from it by rounding only. Where it differs by more, K is rejected.

    Parameters
    ----------
    K : symmetric positive semidefinite, n x n; singular and zero are allowed.
    pairs : m x 2, item i preferred to item j; a pair may occur more than once.
    weights : ω >= 0, 1 where not given.
    margins : Δ, 1 where not given.

    >>> solution = solve_squared_hinge([[1.0, 0.0], [0.0, 1.0]], [(1, 0)], C=0.25)
    >>> solution.beta.round(12), round(solution.objective, 12)
    (array([-0.25,  0.25]), 0.125)
    """
    gram = as_symmetric(K)
    edges = item_pairs(pairs, len(gram))
    positive_number(C, "C")
    m = len(edges)
    omega = np.ones(m) if weights is None else as_vector(weights, "weights", m)
    for p in np.flatnonzero(omega < 0)[:1]:
        raise must_be(f"weights[{p}]", "at least 0", found=str(omega[p]), remedy="swap i and j")
    delta = np.ones(m) if margins is None else as_vector(margins, "margins", m)
    positive_number(tol, "tol")
    # the loss of a pair is (c/2) max(0, slack)²
    L, D, c = _factor(gram), incidence(edges, len(gram)), 2 * C * omega
    w, slack = np.zeros(L.shape[1]), delta
    for iteration in range(MAX_ITERATIONS):
        alpha = c * np.maximum(slack, 0)
        image = L.T @ (D.T @ alpha)
        # computed afresh: a certificate must not inherit the rounding error of the slack carried along
        objective = float(w @ w + c @ np.maximum(delta - D @ (L @ w), 0) ** 2) / 2
        # a pair of weight 0 has c = 0 and α = 0, and 0/0 is not a number
        conjugate = np.divide(alpha**2, c, out=np.zeros_like(c), where=c > 0)
        lower = float(delta @ alpha - image @ image / 2 - conjugate.sum() / 2)
        gap = (objective - lower) / objective if objective != lower else 0.0
        # rounding can make a gap negative, and one far below 0 proves nothing either
        if abs(gap) <= tol:
            # where K is singular Lᵀβ = w has many solutions; QR gives the shortest one, without forming LᵀL
            Q, R = qr(L, mode="economic")
            beta = np.asarray(Q @ solve_triangular(R, w, trans="T"))
            return NewtonSolution(read_only(beta), read_only(alpha), objective, gap, iteration)
        active = slack > 0
        step = _newton_step(L, D[active], c[active], image - w)
        # to the least point on the line w + t·step
        change = D @ (L @ step)
        t = _line_minimum(c, slack, change, (float(w @ step), float(step @ step)))
        # the slack is carried from step to step: at large C it is far smaller than the margin it is the rest
        # of, and computing it afresh would leave α = c·slack without correct digits
        w, slack = w + t * step, slack - t * change
    raise ConvergenceError(
        "no convergence: the relative duality gap is {found}, more than {expected}",
        MAX_ITERATIONS,
        gap,
        argument="tol",
        found=f"{gap:.1e} after {MAX_ITERATIONS} Newton steps",
        expected=f"tol = {tol:.1e}",
        remedy=f"the objective reached is {objective:.6g}; raise tol or lower C = {C:g}",
    )


def _factor(K: Array) -> Array:
    """Return L with K = LLᵀ up to rounding and as many columns as K has rank, by Cholesky with pivoting."""
    size = float(np.abs(K.diagonal()).max())
    # pivoting finds the rank; Cholesky without it fails on the singular matrices of low-rank kernels
    lower, pivots, rank, _ = dpstrf(K, lower=1)
    L = np.zeros((len(K), rank if size else 0))
    L[pivots - 1] = np.tril(lower)[:, : L.shape[1]]
    missing = np.abs(K - L @ L.T)
    if missing.max() > ROUNDING * size:
        i, j = (int(k) for k in np.unravel_index(missing.argmax(), K.shape))
        raise DataError(
            "{argument} must be {expected}, but it is not: {found}",
            argument="K",
            expected="positive semidefinite",
            found=f"the nearest product LL' misses K[{i}, {j}] = {K[i, j]} by {missing[i, j]:.1e}",
            remedy="check that K is a Gram matrix, in full precision",
        )
    return L


def _newton_step(L: Array, D_S: csr_array[Any], curvature: Array, descent: Array) -> Array:
    r"""Return d with (I + LᵀAL) d = `descent`; only items in a pair of S have a row in A."""
    T = np.unique(D_S.indices)
    D_ST, L_T = D_S[:, T], L[T]
    A_TT = (D_ST.T @ (D_ST * curvature[:, None])).toarray()
    # K + 2 C K AᵀA K of Kuo et al. (2014), appendix B, their A being D_S, written in w = Lᵀβ: so it has
    # an inverse although K need not have one
    hessian = np.eye(L_T.shape[1]) + L_T.T @ (A_TT @ L_T)
    try:
        # all eigenvalues are at least 1, so this fails only where C times K makes the identity vanish
        return np.asarray(cho_solve(cho_factor(hessian), descent))
    except LinAlgError as error:
        message = "C times K is {found}: the regulariser is below rounding error"
        raise ConvergenceError(
            message, argument="C", found=f"{np.abs(hessian).max():.1e}", remedy="lower C"
        ) from error


def _line_minimum(c: Array, a: Array, b: Array, line: tuple[float, float]) -> float:
    r"""Return the t >= 0 that minimises a line's objective.

    .. math:: p t + \tfrac{q}{2} t^2 + \sum \tfrac{c}{2} \max(0, a - t b)^2, \qquad (p, q) = \text{line}

    The derivative is continuous, piecewise linear and increasing; its bends are where some a − tb vanishes.
    """
    p, q = line

    def derivative(t: float) -> float:
        return p + t * q - float((c * b) @ np.maximum(a - t * b, 0))

    bends = np.unique(np.divide(a, b, out=np.zeros_like(a), where=a * b > 0))
    # the derivative increases, so bisection finds the two bends between which it vanishes
    place = bisect_left(bends, 0.0, key=derivative)
    low = bends[place - 1] if place else 0.0
    # beyond the last bend nothing changes any more, so any t there will do
    high = bends[place] if place < len(bends) else 2 * low + 1
    # which pairs have a loss is the same between two bends; halfway no pair is at its bend
    on = a - (low + high) / 2 * b > 0
    slope = q + float((c * b**2)[on].sum())
    return max((float((c * a * b)[on].sum()) - p) / slope, 0.0) if slope > 0 else 0.0
