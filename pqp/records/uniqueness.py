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
from pqp.linalg.field import FLOAT, Array, Field, Number, is_infinite, to_flint_matrix
from pqp.model.problem import ParametricQP, QPData


def is_unique(problem: ParametricQP, field: Field, mu: Number, x: Array, y: Array, z: Array) -> bool:
    """Return whether x is the only optimal point at mu, given multipliers y of rows and z of bounds."""
    data = problem.data(field)
    bounds = zip(data.lower.at(mu), data.upper.at(mu), z, strict=True)
    fixed, rising = _directions(field, x, [_hard_interval(field, *bound) for bound in bounds])
    # What cannot move has d = 0, so its columns can be left out.
    kept = np.flatnonzero(~fixed)
    row_fixed, row_rising = _row_directions(data, mu, data.A @ x, y)
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


def _row_directions(data: QPData, mu: Number, activity: Array, y: Array) -> tuple[Array, Array]:
    low, high, penalty = data.row_lower.at(mu), data.row_upper.at(mu), data.penalty.at(mu)
    allowed = [
        _soft_interval(data.field, low[i], high[i], y[i], penalty[i])
        if not is_infinite(penalty[i])
        else _hard_interval(data.field, low[i], high[i], y[i])
        for i in range(len(activity))
    ]
    return _directions(data.field, activity, allowed)


def _hard_interval(field: Field, low: Number, high: Number, multiplier: Number) -> tuple[Number, Number]:
    """Return the values that complementarity with a multiplier allows."""
    sign = field.sign(multiplier)
    return (low, low) if sign > 0 else (high, high) if sign < 0 else (low, high)


def _soft_interval(
    field: Field, low: Number, high: Number, y: Number, penalty: Number
) -> tuple[Number, Number]:
    """Return the same for a soft row: at a cap the row may be violated."""
    everything: Number = float("inf")
    above_floor, below_cap = field.sign(y + penalty) > 0, field.sign(penalty - y) > 0
    if not above_floor and not below_cap:
        return -everything, everything
    if not below_cap:
        return -everything, low
    if not above_floor:
        return high, everything
    return _hard_interval(field, low, high, y)


def _directions(field: Field, values: Array, allowed: list[tuple[Number, Number]]) -> tuple[Array, Array]:
    """Return which values cannot move, and for the others +1, -1 or 0: only up, only down, both."""
    at_low, at_high = np.zeros(len(values), dtype=bool), np.zeros(len(values), dtype=bool)
    for i, (value, (low, high)) in enumerate(zip(values, allowed, strict=True)):
        # The rounding error of a float grows with it; exact arithmetic has no tolerance to scale.
        scale = max(1.0, abs(float(value)))
        at_low[i] = field.sign(value - low, scale) == 0
        at_high[i] = field.sign(high - value, scale) == 0
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
