r"""The pooled model at one C, by an interior-point method and one correction.

The dual of the pooled problem (see `ranking.conjoint.estimation.programs`),

.. math:: \min_\alpha \; \tfrac12 z^\top W^{-1} z - \mathbf 1^\top\alpha, \quad 0 \le \alpha_i \le C\omega_i,
    \qquad z = W A^\top\alpha,

is given to Clarabel with z as variables, so that it sees the sparse A instead of the dense :math:`AWA^\top`.
Its factorisation finds the structure by itself: one block per respondent, joined by v_0 alone.

An interior point knows which rows are at their margin better than it knows part-worths: a relative gap of
1e-13 can leave errors of 1e-6 in z. So α near a bound is put on it, and the least change of z that puts the
rows in between exactly at their margin follows, from one pseudo-inverse per respondent and one system in v_0.

Any feasible α has a duality gap, which bounds its distance from the optimum: the gap is computed here, from
the definition, and is the proof, however the solution was found.
"""

from typing import Any, NamedTuple

import clarabel
import numpy as np
from scipy.sparse import block_array, block_diag, csc_array, diags_array, eye_array

from ranking.conjoint.estimation.programs import Program
from ranking.core.validation import Array

# A relative duality gap below this is rounding error: the sums of the two values have about so many digits.
CLOSED = 1e-12
# The tolerance of the interior points. With 1e-10, rows within rounding of their margin are put on the wrong
# side of it in one of ten pools; smaller ones are not always reached, and their last steps change nothing.
PRECISION = 1e-13
# Singular values below this part of the largest belong to rows that depend on each other.
DEPENDENT = 1e-10


class PooledSolution(NamedTuple):
    """α, one per row of choices; z; the dual value, which is minimised; the gap relative to the primal."""

    alpha: Array
    z: Array
    dual: float
    gap: float


def solve_pooled(program: Program, C: float) -> PooledSolution:
    """Return the best solution found of a pool without orders; its caller judges the gap."""
    cap = C * program.rows.weight.astype(float)
    inside = measured(program, cap, interior_point(program, cap))
    corrected = measured(program, cap, _corrected(program, cap, inside))
    return min(corrected, inside, key=lambda solution: solution.gap)


def measured(program: Program, cap: Array, alpha: Array) -> PooledSolution:
    """Return α, moved between its bounds, with its duality gap."""
    alpha = np.clip(alpha, 0.0, cap)
    z = program.readout @ alpha
    ridge = z @ (z / program.diagonal) / 2
    primal = ridge + cap @ np.maximum(0.0, 1 - program.A @ z)
    dual = ridge - alpha.sum()
    # `dual` is minimised, minus the usual dual value, so the two add up to the gap
    return PooledSolution(alpha, z, float(dual), float((primal + dual) / primal))


def interior_point(program: Program, cap: Array) -> Array:
    """Return α from Clarabel, in the variables z and α with the rows z − W Aᵀα = 0, α ≥ 0 and α ≤ cap."""
    s, n = program.A.shape
    settings: Any = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = PRECISION
    one = eye_array(s)
    solver = clarabel.DefaultSolver(
        csc_array(block_diag([diags_array(1 / program.diagonal), csc_array((s, s))])),
        np.repeat([0.0, -1.0], [n, s]),
        csc_array(block_array([[eye_array(n), -program.readout], [None, -one], [None, one]])),
        np.concatenate([np.zeros(n + s), cap]),
        [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(2 * s)],
        settings,
    )
    return np.asarray(solver.solve().x)[n:]


def _corrected(program: Program, cap: Array, inside: PooledSolution) -> Array:
    """Return α with entries near a bound put on it, and all other rows put at their margin."""
    X, owner, g = program.rows.rows, program.rows.owner, program.shrinkage
    assert g is not None
    excess = program.A @ inside.z - 1
    # α is on a bound where it is nearer to it than the multiplier of the bound is to 0
    low, high = inside.alpha < excess, cap - inside.alpha < -excess
    alpha = np.where(low, 0.0, np.where(high, cap, inside.alpha))
    between = np.flatnonzero((alpha > 0) & (alpha < cap))
    missing = 1 - program.A @ (program.readout @ alpha)
    groups = np.split(between, np.flatnonzero(np.diff(owner[between])) + 1)
    # pseudo-inverses, because rows of a respondent that are at their margin may depend on each other
    inverses = [np.linalg.pinv(X[rows].astype(float), rcond=DEPENDENT) for rows in groups]
    system, right = np.eye(program.d) * (1 - g) / g, np.zeros(program.d)
    for rows, inverse in zip(groups, inverses, strict=True):
        system += inverse @ X[rows]
        right += inverse @ missing[rows]
    # the step of v_0 first; given it, respondents do not depend on each other
    step = np.linalg.solve(system, right)
    for rows, inverse in zip(groups, inverses, strict=True):
        alpha[rows] += inverse.T @ (inverse @ (missing[rows] - X[rows] @ step)) / (1 - g)
    return alpha
