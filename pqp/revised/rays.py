"""Rays: the exact proof that there is no solution beyond a mu.

Where the fixed value of one item can move without end, the movement (dx, dy) of all others is a ray and a
Farkas vector in one: P dx = 0, and where  c(mu)ᵀdx + penalties − (weighted bounds)  is negative there is no
solution. Only the system of the basis is solved, in rationals.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.linalg.field import RATIONAL, Array, exact_array, from_flint_matrix, infinite, to_flint_matrix
from pqp.linalg.matrices import exact_matrix
from pqp.model.hessian import Gram, Hessian, Matrix
from pqp.model.problem import ParametricQP
from pqp.records.states import ACTIVE_ROWS, State, States
from pqp.records.unsolvable import Farkas, Obstruction, descent


@dataclass(frozen=True)
class Move:
    """What moves without end, and its direction: x or z of a variable, the value or y of a row."""

    quantity: Literal["x", "z", "value", "y"]
    index: int
    sense: int


def obstruction_of(problem: ParametricQP, states: States, move: Move) -> Obstruction:
    """Return the exact obstruction that follows from an unblocked move."""
    free = np.flatnonzero(states[: problem.n] == State.BETWEEN)
    active = np.flatnonzero(np.isin(states[problem.n :], ACTIVE_ROWS))
    dx, dy = exact_array(np.zeros(problem.n)), exact_array(np.zeros(problem.m))
    solved = _solve(_matrix(problem, free, active), _right_hand_side(problem, free, active, move))
    dx[free], dy[active] = solved[: len(free)], solved[len(free) :]
    # A fixed x or y that moves is not among the unknowns that were solved for.
    if move.quantity in ("x", "y"):
        (dx if move.quantity == "x" else dy)[move.index] += move.sense
    return as_obstruction(problem, dx, dy)


def as_obstruction(problem: ParametricQP, dx: Array, dy: Array) -> Obstruction:
    """Return a ray and multipliers of rows as a pair of proofs."""
    data = problem.data(RATIONAL)
    growth = _growth(problem, dx)
    farkas = _farkas(problem, dy)
    return Obstruction(dx, growth, farkas, descent(data, dx, growth), farkas.gap(data))


def is_proof(problem: ParametricQP, obstruction: Obstruction) -> bool:
    """Return whether an obstruction proves anything: weights on finite bounds, a ray that stays feasible."""
    bounds = {"lower": problem.lower, "upper": problem.upper}
    rows = {"row_lower": problem.row_lower, "row_upper": problem.row_upper}
    for name, limit in (bounds | rows).items():
        missing = infinite(limit.constant)
        if name in rows:
            # A soft row may be violated, so its bounds do not prove infeasibility.
            missing = missing | problem.is_soft
        if np.any((getattr(obstruction.farkas, name) != 0) & missing):
            return False
    ray = obstruction.ray
    falls, rises = ray < 0, ray > 0
    if np.any(falls & ~infinite(problem.lower.constant)) or np.any(rises & ~infinite(problem.upper.constant)):
        return False
    # With curvature along the ray the objective would rise again far out.
    return _keeps_rows(problem, ray) and not np.any(_curvature(problem, ray) != 0)


def _keeps_rows(problem: ParametricQP, ray: Array) -> bool:
    drift, hard = _drift(problem, ray, ~problem.is_soft), np.flatnonzero(~problem.is_soft)
    has_lower, has_upper = (
        ~infinite(limit.constant)[hard] for limit in (problem.row_lower, problem.row_upper)
    )
    return not (np.any((drift < 0) & has_lower) or np.any((drift > 0) & has_upper))


def _curvature(problem: ParametricQP, ray: Array) -> Array:
    moving = np.flatnonzero(ray != 0)
    if not len(moving):
        return exact_array(np.zeros(1))
    return exact_block(problem.P, np.arange(problem.n), moving) @ ray[moving]


def _drift(problem: ParametricQP, ray: Array, chosen: Array) -> Array:
    """Return A ray for some rows."""
    rows, moving = np.flatnonzero(chosen), np.flatnonzero(ray != 0)
    if not len(moving) or not len(rows):
        return exact_array(np.zeros(len(rows)))
    return exact_matrix(problem.A[rows][:, moving]) @ ray[moving]


def _growth(problem: ParametricQP, ray: Array) -> Array:
    """Return by how much the violations of soft rows must grow along a ray."""
    growth, soft = exact_array(np.zeros(problem.m)), np.flatnonzero(problem.is_soft)
    drift = _drift(problem, ray, problem.is_soft)
    below = np.where(infinite(problem.row_lower.constant)[soft], exact_array(0), np.maximum(-drift, 0))
    above = np.where(infinite(problem.row_upper.constant)[soft], exact_array(0), np.maximum(drift, 0))
    # A soft row may be violated along the ray, at the price of its penalty per unit of growth.
    growth[soft] = np.maximum(below, above)
    return growth


def _farkas(problem: ParametricQP, dy: Array) -> Farkas:
    """Return multipliers of rows as weights of bounds; bounds of variables balance the rows."""
    used = np.flatnonzero(dy != 0)
    rest = exact_array(np.zeros(problem.n))
    if len(used):
        rest = exact_matrix(problem.A[used]).T @ dy[used]
    return Farkas(np.maximum(dy, 0), np.maximum(-dy, 0), np.maximum(-rest, 0), np.maximum(rest, 0))


def _matrix(problem: ParametricQP, free: Array, rows: Array) -> Array:
    active = exact_matrix(problem.A[rows][:, free])
    corner = exact_array(np.zeros((len(rows), len(rows))))
    return np.block([[exact_block(problem.P, free, free), -active.T], [active, corner]])


def _right_hand_side(problem: ParametricQP, free: Array, active: Array, move: Move) -> Array:
    top, bottom = exact_array(np.zeros(len(free))), exact_array(np.zeros(len(active)))
    alone = np.array([move.index])
    if move.quantity == "x":
        top = -move.sense * exact_block(problem.P, free, alone)[:, 0]
        bottom = -move.sense * exact_matrix(problem.A[active][:, alone])[:, 0]
    elif move.quantity == "y":
        top = move.sense * exact_matrix(problem.A[alone][:, free])[0]
    elif move.quantity == "z":
        top[np.flatnonzero(free == move.index)] += move.sense
    else:
        bottom[np.flatnonzero(active == move.index)] += move.sense
    return np.concatenate([top, bottom])


def _solve(matrix: Array, right: Array) -> Array:
    if not len(matrix):
        return right
    try:
        solution = to_flint_matrix(matrix).solve(to_flint_matrix(right[:, None]))
    except ZeroDivisionError:
        raise NumericalTroubleError(
            "a basis that is regular in float64 is singular in exact arithmetic", **EXACT_REMEDY
        ) from None
    return from_flint_matrix(solution)[:, 0]


def exact_block(P: Hessian, rows: Array, columns: Array) -> Array:
    """Return a part of a Hessian in rationals, without its other entries."""
    # Rationals of the block alone: those of a whole matrix would take far longer.
    if isinstance(P, Matrix):
        return exact_matrix(P.values[rows][:, columns])
    if isinstance(P, Gram):
        return P.exact_block(rows, columns)
    first, second = (exact_matrix(P.K[P.pairs[rows, 0]]), exact_matrix(P.K[P.pairs[rows, 1]]))
    difference = first - second
    return difference[:, P.pairs[columns, 0]] - difference[:, P.pairs[columns, 1]]
