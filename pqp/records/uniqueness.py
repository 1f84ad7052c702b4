r"""Uniqueness: is x the only optimal point of the problem at one mu?

With one dual solution (y, z) fixed, the optimal points are exactly those x' with P x' = P x whose
entries and rows stay in the intervals that complementarity with (y, z) allows. So x is unique if
and only if the cone of directions

.. math:: \{ d : P d = 0,\; E d = 0,\; G d \ge 0 \}

is {0}, E holding the intervals that are points and G those that x sits at one end of. By Stiemke's
theorem that is so if and only if (P, E, G) has full column rank and :math:`G^\top u + H^\top v = 0` for
some u ≥ 1 and any v, where H = (P, E).
"""

import numpy as np

from pqp.lcp.crisscross import Solved, criss_cross
from pqp.lcp.dictionary import first_dictionary, with_free_pairs_in
from pqp.lcp.problem import ParametricLCP, PerturbedMu
from pqp.lcp.solve_lcp import run
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, Array, Field, Number, infinite, to_flint_matrix
from pqp.model.problem import ParametricQP


def is_unique(problem: ParametricQP, field: Field, mu: Number, x: Array, y: Array, z: Array) -> bool:
    """Return whether x is the only optimal point at mu, given multipliers y of rows and z of bounds."""
    data = problem.data(field)
    bounds = data.lower.at(mu), data.upper.at(mu)
    row_limits = data.row_lower.at(mu), data.row_upper.at(mu)
    fixed, rising = _directions(field, x, bounds, z, np.full(len(x), np.inf))
    # What cannot move has d = 0, so its columns can be left out.
    kept = np.flatnonzero(~fixed)
    row_fixed, row_rising = _directions(field, data.A @ x, row_limits, y, data.penalty.at(mu))
    H = np.vstack([data.dense_P, data.dense_A[row_fixed]])[:, kept]
    everything = np.vstack([field.array(np.eye(len(x))), data.dense_A])
    senses = np.concatenate([rising, row_rising])
    at_end = senses != 0
    G = (everything[at_end] * senses[at_end, None])[:, kept]
    both = np.vstack([H, G])
    if 0 in both.shape:
        rank = 0
    else:
        rank = np.linalg.matrix_rank(both) if field is FLOAT else to_flint_matrix(both).rank()
    # a direction in the kernel of all of them can be followed both ways
    if rank < len(kept):
        return False
    # Full rank leaves no line in the cone; whether it leaves a ray is decided by Stiemke's theorem.
    return len(G) == 0 or _has_positive_combination(G, H, field)


def _directions(
    field: Field, values: Array, limits: tuple[Array, Array], multipliers: Array, penalty: Array
) -> tuple[Array, Array]:
    """Return which values cannot move, and for the others +1, -1 or 0: only up, only down, both."""
    signs, soft = field.signs(multipliers), ~infinite(penalty)
    # complementarity: a multiplier keeps its value at one limit, and at a cap the limit may be violated
    at_cap, at_floor = np.zeros((2, len(values)), dtype=bool)
    at_cap[soft] = field.signs((penalty - multipliers)[soft]) <= 0
    at_floor[soft] = field.signs((penalty + multipliers)[soft]) <= 0
    low = np.where(at_cap, -np.inf, np.where(signs < 0, limits[1], limits[0]))
    high = np.where(at_floor, np.inf, np.where(signs > 0, limits[0], limits[1]))
    # The rounding error of a float grows with it; exact arithmetic has no tolerance to scale.
    scales = np.maximum(1.0, np.abs(values))
    at_low, at_high = field.signs(values - low, scales) == 0, field.signs(high - values, scales) == 0
    return at_low & at_high, np.where(at_low & at_high, 0, at_low.astype(int) - at_high.astype(int))


def _has_positive_combination(G: Array, H: Array, field: Field) -> bool:
    """Return whether Gᵀu + Hᵀv = 0 has a solution with u ≥ 1, by the criss-cross method itself."""
    rows = np.hstack([G.T, H.T])
    n, k = rows.shape[1], sum(rows.shape)
    M = field.array(np.zeros((k, k)))
    M[n:, :n], M[:n, n:] = rows, -rows.T
    q = field.array([*[0] * n, *(G.T @ field.array(np.ones(len(G))))])
    # u = 1 + u' with u' ≥ 0, so that the sign conditions of the LCP say u ≥ 1; v is free
    free = np.array([False] * len(G) + [True] * (k - len(G)), dtype=bool)
    names = tuple(str(i) for i in range(k))
    lcp = ParametricLCP(M, AffineArray(q, 0 * q), free, names, names, field)
    _, outcome = run(criss_cross(with_free_pairs_in(first_dictionary(lcp)), PerturbedMu(0)))
    return isinstance(outcome, Solved)
