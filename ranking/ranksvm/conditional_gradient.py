r"""The dual of RankSVM with the hinge loss by the conditional gradient method of ROSVM [Bach 2020].

.. math:: \max_\alpha \; \Delta^\top\alpha - \tfrac12\|\Phi^\top D^\top\alpha\|^2, \qquad
          0 \le \alpha_p \le C\omega_p

A step moves towards the vertex that the gradient :math:`r = \Delta - D f` asks for: every pair with r > 0 at
its upper limit, all others at 0. Only :math:`D^\top\alpha` and :math:`\Delta^\top\alpha` are kept, and both
are sums over the pairs with r > 0, so pairs are counted.
"""

from typing import Literal

import numpy as np

from ranking.ranksvm.pair_counts import PairSums
from ranking.ranksvm.spaces import Callback, Solution, Space, no_convergence, zero


def conditional_gradient(
    space: Space,
    pairs: PairSums,
    C: float,
    start: Solution | None = None,
    *,
    tol: float,
    max_iter: int,
    rule: Literal["objective", "first gap"] = "objective",
    callback: Callback | None = None,
) -> Solution:
    r"""Return a function whose duality gap h(α) is at most tol times the objective.

    With the rule "first gap" it is at most tol times the first gap, h(α) / h(α⁰) of the paper, which proves
    less. `start` is a solution of this method, whose α is scaled to C.
    """
    if start is None:
        point, balance, reward = zero(space, pairs.n_items), np.zeros(pairs.n_items), 0.0
    else:
        share = C / start.C
        balance = share * start.dual_balance
        # the dual value is Δᵀα − ‖f‖²/2
        dual = start.objective * (1 - start.gap)
        reward = share * (dual + space.inner(start.point, start.point) / 2)
        point = space.adjoint(balance)
    first_gap = 0.0
    for iteration in range(max_iter + 1):
        near = pairs.near(point.scores)
        norm = space.inner(point, point) / 2
        objective = norm + C * near.total
        h = objective - (reward - norm)
        first_gap = first_gap or h
        solution = Solution(C, point, objective, h / objective, balance, iteration)
        if callback:
            callback(solution)
        if h <= tol * (objective if rule == "objective" else first_gap):
            return solution
        to_vertex = C * near.balance - balance
        direction = space.adjoint(to_vertex)
        # h is the slope of the dual value along the direction, which is a parabola there
        t = min(1.0, h / space.inner(direction, direction))
        # Σ Δ over the pairs with r > 0 is Σ r + Σ (f_i − f_j)
        reward += t * (C * (near.total + float(near.balance @ point.scores)) - reward)
        point, balance = point.plus(t, direction), balance + t * to_vertex
    raise no_convergence(solution, tol)
