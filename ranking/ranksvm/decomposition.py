r"""The dual of RankSVM with the hinge loss by decomposition, as SVMlight does [Joachims 1999].

.. math:: \max_\alpha \; \Delta^\top\alpha - \tfrac12\|\Phi^\top D^\top\alpha\|^2, \qquad
          0 \le \alpha_p \le C\omega_p

((2.4) of Kuo et al. 2014). A step chooses the pairs whose gradient :math:`r = \Delta - Df` violates the
optimality conditions most, and solves the problem in these variables, all others fixed. Memory is linear in
the number of pairs, which are listed.
"""

import numpy as np

from ranking.ranksvm.pair_counts import ListedPairs
from ranking.ranksvm.small_qp import maximise_quadratic
from ranking.ranksvm.spaces import Callback, Solution, Space, no_convergence, zero

# Variables of a step. SVMlight takes 10; a step costs a product with the data, so that more pay here.
WORKING_SET = 50


def decompose(
    space: Space,
    pairs: ListedPairs,
    C: float,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    """Return a function whose relative duality gap is at most tol."""
    upper = C * pairs.weight
    alpha = np.zeros(pairs.count)
    point = zero(space, pairs.n_items)
    balance = np.zeros(pairs.n_items)
    for iteration in range(max_iter + 1):
        residual = pairs.margin - pairs.D @ point.scores
        norm = space.inner(point, point) / 2
        objective = norm + float(upper @ np.maximum(0.0, residual))
        dual = float(pairs.margin @ alpha) - norm
        gap = (objective - dual) / objective if objective > 0 else 0.0
        solution = Solution(C, point, objective, gap, balance, iteration, alpha.copy())
        if callback:
            callback(solution)
        if gap <= tol:
            return solution
        # what a pair adds to the gap: r (Cω − α) if it should rise, −r α if it should fall
        violation = np.where(residual > 0, residual * (upper - alpha), -residual * alpha)
        size = min(WORKING_SET, pairs.count)
        chosen = np.argpartition(-violation, size - 1)[:size]
        D = pairs.D[chosen]
        # the pairs' limits differ with C: shares of them are variables of one size
        scale = upper[chosen]
        H = space.gram_of(D)
        before = alpha[chosen]
        reward = (residual[chosen] + H @ before) * scale
        alpha[chosen] = scale * maximise_quadratic(H * np.outer(scale, scale), reward, 1.0)
        change = D.T @ (alpha[chosen] - before)
        balance = balance + change
        point = space.from_coef(point.plus(1.0, space.adjoint(change)).coef)
    raise no_convergence(solution, tol)
