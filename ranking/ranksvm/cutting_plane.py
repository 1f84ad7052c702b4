r"""RankSVM with the hinge loss by the 1-slack cutting-plane method of SVMrank [Joachims 2006].

.. math:: \min_{w, \xi \ge 0} \; \tfrac12\|w\|^2 + C\xi \qquad \text{with} \quad
          \xi \ge \sum_p c_p \omega_p (\Delta_p - (f_i - f_j)) \quad \text{for all } c \in \{0, 1\}^p

((2.8) of Kuo et al. 2014). The plane that w violates most has c = 1 on the pairs that miss their margin; it
is added, and the dual of the problem with the planes so far, a small QP, gives the next w.
"""

import numpy as np

from ranking.core.validation import Array
from ranking.ranksvm.pair_counts import PairSums
from ranking.ranksvm.small_qp import maximise_quadratic
from ranking.ranksvm.spaces import Callback, Point, Solution, Space, no_convergence, zero


def cutting_plane(
    space: Space,
    pairs: PairSums,
    C: float,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    """Return a function whose relative duality gap is at most tol; a plane is added at every step."""
    normals: list[Point] = []
    balances: list[Array] = []
    rewards: list[float] = []
    gram = np.zeros((0, 0))
    multipliers = np.zeros(0)
    point, best, dual = zero(space, pairs.n_items), None, 0.0
    for iteration in range(max_iter + 1):
        near = pairs.near(point.scores)
        norm = space.inner(point, point) / 2
        objective = norm + C * near.total
        # the value rises now and then, so the best function so far is the solution
        if best is None or objective < best.objective:
            best = Solution(C, point, objective, 0.0, near.balance, iteration)
        balance = np.sum([m * b for m, b in zip(multipliers, balances, strict=True)], axis=0)
        gap = (best.objective - dual) / best.objective if best.objective > 0 else 0.0
        solution = best._replace(
            gap=gap, dual_balance=np.broadcast_to(balance, pairs.n_items), iterations=iteration
        )
        if callback:
            callback(solution)
        if gap <= tol:
            return solution
        normals.append(space.adjoint(near.balance))
        balances.append(near.balance)
        rewards.append(near.total + float(near.balance @ point.scores))
        column = np.array([space.inner(normals[-1], normal) for normal in normals])
        gram = np.block([[gram, column[:-1, None]], [column[None, :]]])
        # in units of C, so that the QP has numbers of one size
        shares = maximise_quadratic(gram * C, np.array(rewards), np.inf, total=1.0)
        multipliers = C * shares
        dual = float(multipliers @ rewards - multipliers @ gram @ multipliers / 2)
        point = zero(space, pairs.n_items)
        for multiplier, normal in zip(multipliers, normals, strict=True):
            point = point.plus(multiplier, normal)
    raise no_convergence(solution, tol)
