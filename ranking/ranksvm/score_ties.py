r"""A tie of events solved at once: the statuses of pairs beyond C, by a small complementarity problem.

At one C several events may be due, and one at a time they need not come to an end. What happens beyond C is
known without them: it is the symbolic ε of Gärtner et al., section 3.3, on the scores. Take a flow α that
carries β − C d on the pairs at their margin, a vertex of all that give these scores. Then the pairs with
0 < α < Cω have independent differences F_i − F_j; they stay at their margin, and the objects that they
connect are rigid groups. Of the other pairs full ones, α = Cω, may only fall below their margin, and empty
ones, α = 0, rise above it. With rows g = ∓(F_i − F_j) of G, made orthogonal to the rigid differences, and w'
the slope of w when all of them are free, the forces ν that keep such pairs closed solve

.. math:: \rho = G w' + G G^\top \nu, \qquad \rho, \nu \ge 0, \qquad \rho^\top \nu = 0.

Pairs with ν > 0 stay at their margin too; their differences are independent, since they are a basis.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import pqp
from ranking.core.validation import Array
from ranking.ranksvm.score_kernels import MARGIN, SATISFIED, SUPPLY, VIOLATED, flow_of

if TYPE_CHECKING:
    from ranking.ranksvm.score_trace import Blocks

# Score differences so close to the margin, and shares of a capacity so close to 0 or 1, are there.
AT_MARGIN = 1e-9
AT_LIMIT = 1e-9
# What is left of a difference outside the span of others, relative to it, if it depends on them.
DEPENDENT = 1e-10


def settled(blocks: "Blocks") -> Array:
    """Return the statuses of all pairs just beyond the C of a trace."""
    t, n = blocks.table, len(blocks.score)
    i, j, C = t.better, t.lower, blocks.C
    tied = np.flatnonzero(np.abs(blocks.score[i] - blocks.score[j] - 1) <= AT_MARGIN)
    share = (blocks.status[tied] == VIOLATED).astype(float)
    on_margin = blocks.status[tied] == MARGIN
    edges = tied[on_margin]
    share[on_margin] = flow_of(i[edges], j[edges], C * t.weight[edges], blocks.flows[SUPPLY])
    share[on_margin] /= C * t.weight[edges]
    differences = blocks.F[i[tied]] - blocks.F[j[tied]]
    share, Q = _vertex(share, differences, t.weight[tied])
    inside = tied[(share > 0) & (share < 1)]
    graph = coo_array((np.ones(len(inside)), (i[inside], j[inside])), shape=(n, n))
    _, group = connected_components(graph, directed=False)

    # pairs between groups, and the direction in which all of them are free
    free = group[i[tied]] != group[j[tied]]
    is_full = share > 0.5
    status = blocks.status.copy()
    status[tied] = np.where(free, np.where(is_full, VIOLATED, SATISFIED), MARGIN)
    demand = np.zeros(n)
    for objects, sign in ((i, 1), (j, -1)):
        demand += sign * np.bincount(objects, np.where(status == VIOLATED, t.weight, 0.0), n)
    slope = blocks.F.T @ demand
    slope -= (Q @ slope) @ Q

    # one row for all pairs of two groups: their differences are the same up to rigid ones
    rows, is_over = tied[free], is_full[free]
    keys = (group[i[rows]] * n + group[j[rows]]) * 2 + is_over
    _, first, key = np.unique(keys, return_index=True, return_inverse=True)
    G = (blocks.F[i[rows[first]]] - blocks.F[j[rows[first]]]) * np.where(is_over[first], -1.0, 1.0)[:, None]
    sizes = np.linalg.norm(G, axis=1)
    G -= (G @ Q.T) @ Q
    G[np.linalg.norm(G, axis=1) <= DEPENDENT * sizes] = 0.0
    is_closed = np.zeros(len(first), bool)
    if len(first):
        answer = pqp.solve_lcp(G @ G.T, G @ slope, arithmetic="float")
        if answer.status != "solved" or answer.z is None:
            raise pqp.InternalError(f"the tie at C = {C!r} has no direction: {answer.status}")
        is_closed = np.asarray(answer.z) > 0
    status[rows[is_closed[key]]] = MARGIN
    return status


def _vertex(share: Array, differences: Array, weight: Array) -> tuple[Array, Array]:
    """Return shares that give the same scores, those inside (0, 1) with independent differences.

    Also return an orthonormal basis of these differences, as rows. A difference that depends on others allows
    a move of the flow that leaves scores as they are; it is made until one of the shares is at a limit.
    """
    share = np.where(share < AT_LIMIT, 0.0, np.where(share > 1 - AT_LIMIT, 1.0, share))
    kept: list[int] = []
    Q = np.empty((0, differences.shape[1]))
    for new in np.flatnonzero((share > 0) & (share < 1)).tolist():
        while 0 < share[new] < 1:
            g = differences[new]
            rest = g - (Q @ g) @ Q
            rest -= (Q @ rest) @ Q
            length = np.linalg.norm(rest)
            if length > DEPENDENT * np.linalg.norm(g):
                kept.append(new)
                Q = np.vstack([Q, rest / length])
                break
            columns = [*kept, new]
            factors = np.linalg.lstsq(differences[kept].T, g)[0] if kept else np.empty(0)
            move = np.append(-factors, 1.0) / weight[columns]
            # the nearer of both ends of the move
            with np.errstate(divide="ignore"):
                ahead = np.where(move > 0, (1 - share[columns]) / move, -share[columns] / move)
                back = np.where(move > 0, share[columns] / move, -(1 - share[columns]) / move)
            step = ahead.min() if ahead.min() <= back.min() else -back.min()
            hit = columns[int(ahead.argmin() if step > 0 else back.argmin())]
            share[columns] += step * move
            share[hit] = np.rint(share[hit])
            if hit != new:
                kept.remove(hit)
                Q = np.linalg.qr(differences[kept].T)[0].T if kept else Q[:0]
    return share, Q
