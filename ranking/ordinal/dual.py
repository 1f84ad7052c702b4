r"""The dual of ordinal regression with fixed margins, as a program in C.

.. math:: \min_\alpha \; \tfrac12 \alpha^\top S K S \alpha - \mathbf 1^\top \alpha
    \quad\text{s.t.}\quad 0 \le \alpha \le C\,\omega, \quad \sum_{r \text{ of } k} s_r \alpha_r = 0
    \text{ for every threshold } k

over hinges r (see `hinges`); the multipliers of the rows are the thresholds. Thresholds that must ascend have
the sums of rows 1, ..., k instead, which may then be negative: their multipliers are
:math:`p_k - p_{k+1} \le 0`.

Room: a representation and hinges in; the program, and what its solution says of the primal, out.
May touch: `arrays`, `representation`, `hinges`, and `pqp`.
"""

from typing import Any

import numpy as np

import pqp
from ranking.arrays import Array
from ranking.ordinal.hinges import Hinges
from ranking.representation import Representation


def dual_program(
    representation: Representation, hinges: Hinges, ordered: bool, caps: Any = None
) -> pqp.ParametricQP:
    """Return the dual with the 1-norm penalty, in mu = C, or with other caps of α in mu."""
    rows, P = _rows(hinges, ordered), representation.hessian(hinges.pairs)
    upper = pqp.mu * hinges.weight if caps is None else caps
    return pqp.ParametricQP(P, -np.ones(len(hinges)), lower=0, upper=upper, **rows)


def squared_dual_program(
    representation: Representation, hinges: Hinges, ordered: bool, C: float
) -> pqp.ParametricQP:
    r"""Return the dual with the 2-norm penalty :math:`C \sum_r \omega_r \xi_r^2`, at one C.

    Nothing bounds α from above; instead :math:`\alpha_r = 2 C \omega_r \xi_r` costs
    :math:`\alpha_r^2 / (4 C \omega_r)`.
    """
    P = representation.gram[np.ix_(hinges.item, hinges.item)] * np.outer(hinges.sign, hinges.sign)
    P[np.diag_indices(len(hinges))] += 1 / (2 * C * hinges.weight)
    return pqp.ParametricQP(P, -np.ones(len(hinges)), lower=0, **_rows(hinges, ordered))


def threshold_matrix(n_thresholds: int, ordered: bool) -> Array:
    """Return the matrix that makes thresholds of the multipliers of the rows."""
    return np.triu(np.ones((n_thresholds, n_thresholds))) if ordered else np.eye(n_thresholds)


def primal_value(
    representation: Representation, hinges: Hinges, b: Array, thresholds: Array, C: float, norm: int
) -> float:
    """Return ½‖f‖² + C Σ ω ξ, or ξ² for the 2-norm."""
    slack = np.maximum(0.0, hinges.slack(representation.scores(b), thresholds))
    loss = float(hinges.weight @ (slack if norm == 1 else slack**2))
    return representation.squared_norm(b) / 2 + (C * loss if loss else 0.0)


def dual_value(
    representation: Representation, hinges: Hinges, b: Array, alpha: Array, C: float, norm: int
) -> float:
    """Return the value of the dual, which no primal value is below."""
    value = float(alpha.sum()) - representation.squared_norm(b) / 2
    return value if norm == 1 else value - float((alpha**2 / hinges.weight).sum()) / (4 * C)


def _rows(hinges: Hinges, ordered: bool) -> dict[str, Any]:
    """Return the rows that thresholds are multipliers of."""
    E = hinges.incidence.toarray()
    if not ordered:
        return {"A": E, "row_lower": 0, "row_upper": 0}
    lower = np.append(np.full(hinges.n_thresholds - 1, -np.inf), 0.0)
    return {"A": np.cumsum(E, axis=0), "row_lower": lower, "row_upper": 0}
