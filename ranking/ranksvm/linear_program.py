r"""The linear program of RV-SVM [Yu et al. 2011], on HiGHS.

.. math:: \min_{\beta, \xi \ge 0} \; \mathbf 1^\top\beta + C \sum_p \omega_p \xi_p \qquad \text{with} \quad
          D K \beta \ge \Delta - \xi

((2.10) of Kuo et al. 2014). This is another model than RankSVM: it asks for β ≥ 0 and adds them up, which is
neither norm of a weight vector. It is here to be compared with.
"""

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack

from ranking.core.validation import Array
from ranking.errors import ConvergenceError
from ranking.ranksvm.pair_counts import ListedPairs
from ranking.ranksvm.spaces import Point, Solution


def solve_linear_program(
    gram: Array, pairs: ListedPairs, C: float, *, max_iter: int | None = None
) -> Solution:
    """Return the solution for a Gram matrix K, with the gap between the two values of the program."""
    n, m = len(gram), pairs.count
    differences = csr_array(pairs.D @ gram)
    cost = np.concatenate([np.ones(n), C * pairs.weight])
    options: Any = {} if max_iter is None else {"maxiter": max_iter}
    # variables are at least 0 by default
    result: Any = linprog(
        cost, A_ub=hstack([-differences, -eye_array(m)]), b_ub=-pairs.margin, method="highs", options=options
    )
    if result.status != 0:
        raise ConvergenceError(
            "no convergence: {found}",
            int(result.nit),
            np.inf,
            argument="max_iter",
            found=str(result.message),
            remedy=f"raise max_iter, or lower C = {C:g}",
        )
    alpha = -result.ineqlin.marginals
    objective, dual = float(result.fun), float(alpha @ pairs.margin)
    beta = result.x[:n]
    gap = (objective - dual) / objective if objective > 0 else 0.0
    return Solution(C, Point(beta, gram @ beta), objective, gap, pairs.D.T @ alpha, int(result.nit))
