"""Small dense quadratic programs, which some solvers of RankSVM ask for at every step."""

from typing import Any

import clarabel
import numpy as np
from scipy.sparse import csc_array, triu

from ranking.core.validation import Array

# Far below the duality gaps that users ask for.
TOLERANCE = 1e-12


def maximise_quadratic(H: Array, b: Array, upper: Array | float, total: float | None = None) -> Array:
    r"""Return the x near the maximum of bᵀx − xᵀHx/2 over 0 ≤ x ≤ upper and Σx ≤ total.

    x is feasible exactly, so that its value is a bound whatever the accuracy of the solver.

    >>> maximise_quadratic(np.eye(2), np.array([0.5, 3.0]), 1.0).round(6)
    array([0.5, 1. ])
    """
    k = len(b)
    limits = np.broadcast_to(upper, k)
    has_limit = np.isfinite(limits)
    rows, ends = [-np.eye(k), np.eye(k)[has_limit]], [np.zeros(k), limits[has_limit]]
    if total is not None:
        rows, ends = [*rows, np.ones((1, k))], [*ends, np.array([total])]
    # the maximum is the same for every multiple of the objective
    unit = max(float(np.abs(b).max()), float(np.abs(H).max())) or 1.0
    settings: Any = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    solver = clarabel.DefaultSolver(
        csc_array(triu(H / unit)),
        -b / unit,
        csc_array(np.vstack(rows)),
        np.concatenate(ends),
        [clarabel.NonnegativeConeT(sum(len(part) for part in ends))],
        settings,
    )
    x = np.clip(np.asarray(solver.solve().x), 0.0, limits)
    return x if total is None else x / max(1.0, x.sum() / total)
