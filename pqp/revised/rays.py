"""Rays: the exact proof that there is no solution beyond a mu.

Where the fixed value of one item can move without end, the movement (dx, dy) of all others is a ray and a
Farkas vector in one: P dx = 0, and where  c(mu)ᵀdx + penalties − (weighted bounds)  is negative there is no
solution. A float solve finds which unknowns move at all; they are few, and only their equations are solved
in rationals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import qr
from scipy.sparse import csc_array, csr_array, hstack, vstack
from scipy.sparse.linalg import splu

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.linalg.exact_solve import solve_exactly
from pqp.linalg.field import FLOAT, RATIONAL, Array, Number, exact_array, infinite, shown
from pqp.linalg.matrices import exact_matrix, exact_times
from pqp.linalg.tolerances import ON_RAY
from pqp.model.problem import ParametricQP
from pqp.records.states import ACTIVE_ROWS, State, States
from pqp.records.unsolvable import Farkas, Obstruction, UnsolvablePiece, descent
from pqp.revised.postsolve import Postsolve
from pqp.revised.states import ABOVE, BELOW, VALUE_FIXED
from pqp.revised.trace import UnblockedRay


@dataclass(frozen=True)
class Move:
    """What moves without end, and its direction: x or z of a variable, the value or y of a row."""

    quantity: Literal["x", "z", "value", "y"]
    index: int
    sense: int


def move_along(postsolve: Postsolve, states: Array, ray: UnblockedRay) -> Move:
    """Return what moves along an unblocked ray of reduced items, in terms of the problem."""
    reduced, count = postsolve.reduced, len(postsolve.reduced.variables)
    state = states[ray.item]
    if ray.item < count:
        j = int(reduced.variables[ray.item])
        row = int(postsolve.row_of[j])
        if row < 0:
            return Move("x" if VALUE_FIXED[state] else "z", j, ray.sense)
        sense = -ray.sense if postsolve.is_turned[j] else ray.sense
        return Move("value" if VALUE_FIXED[state] else "y", row, sense)
    i = int(reduced.rows[ray.item - count])
    slack = int(postsolve.slack_of[i])
    if slack >= 0 and state in (BELOW, ABOVE):
        entry = reduced.slacks.entries[np.flatnonzero(reduced.slacks.rows == i)[0]]
        return Move("z", slack, -ray.sense if entry > 0 else ray.sense)
    return Move("value" if VALUE_FIXED[state] else "y", i, ray.sense)


def unsolvable_piece(obstruction: Obstruction, at: Number, stop: Number, direction: int) -> UnsolvablePiece:
    """Return the piece on which an obstruction holds, from `at` on."""
    begin, end, root = RATIONAL.number(at), RATIONAL.number(stop), obstruction.root
    value = obstruction.value
    course = value[1] * direction
    if root is not None and course > 0 and (end - root) * direction >= 0:
        end = root
    # A proof that is 0 at its beginning still counts if it holds just beyond.
    holds = value[0] + begin * value[1] < 0 or (value[0] + begin * value[1] == 0 and course < 0)
    if not holds:
        raise unconfirmed(begin)
    return UnsolvablePiece(FLOAT.number(begin), FLOAT.number(end), (begin, end), obstruction)


def unconfirmed(mu: Number) -> NumericalTroubleError:
    """Return the error where a ray of float64 is no exact proof."""
    at = FLOAT.number(mu)
    return NumericalTroubleError(
        "at mu = {found} exact arithmetic does not confirm that there is no solution",
        found=shown(at),
        interval=(at, at),
        **EXACT_REMEDY,
    )


def obstruction_of(
    problem: ParametricQP, states: States, move: Move, check: Callable[[], None] = lambda: None
) -> Obstruction:
    """Return the exact obstruction that follows from an unblocked move; `check` is called and may raise."""
    free = np.flatnonzero(states[: problem.n] == State.BETWEEN)
    active = np.flatnonzero(np.isin(states[problem.n :], ACTIVE_ROWS))
    dx, dy = exact_array(np.zeros(problem.n)), exact_array(np.zeros(problem.m))
    # A fixed x or y that moves is not among the unknowns that are solved for.
    if move.quantity in ("x", "y"):
        (dx if move.quantity == "x" else dy)[move.index] += move.sense
    support = _support(problem, free, active, move)
    count = int(np.searchsorted(support, len(free)))
    moving, held = free[support[:count]], active[support[count:] - len(free)]
    if len(support):
        equations = _equations(problem, free, active, support, move)
        above = int(np.searchsorted(equations, len(free)))
        rows = free[equations[:above]], active[equations[above:] - len(free)]
        check()
        right = _right_hand_side(problem, *rows, move)
        try:
            solved = solve_exactly(_matrix(problem, rows, (moving, held)), right, check)
        except ZeroDivisionError:
            raise NumericalTroubleError(
                "a basis that is regular in float64 is singular in exact arithmetic", **EXACT_REMEDY
            ) from None
        dx[moving], dy[held] = dx[moving] + solved[: len(moving)], dy[held] + solved[len(moving) :]
    return as_obstruction(problem, dx, dy)


def _float_matrix(problem: ParametricQP, free: Array, active: Array) -> csc_array:
    """Return the matrix of the basis in float64."""
    entries = problem.P.operator.entries()
    P = entries[free][:, free] if entries is not None else csr_array(problem.P.operator.block(free, free))
    A = csr_array(problem.data(FLOAT).A)[active][:, free]
    below = csr_array((len(active), len(active)))
    top = _beside(P, -A.T) if len(active) else csr_array(P)
    return csc_array(vstack([top, _beside(A, below)]) if len(active) else top)


def _beside(left: csr_array, right: csr_array) -> csr_array:
    return csr_array(hstack([left, right]))


def _support(problem: ParametricQP, free: Array, active: Array, move: Move) -> Array:
    """Return the positions of the unknowns that move, by a solve in float64."""
    if not len(free) + len(active):
        return np.empty(0, dtype=np.int64)
    right = _right_hand_side(problem, free, active, move).astype(float)
    try:
        solution = splu(_float_matrix(problem, free, active)).solve(right)
    except RuntimeError:
        return np.arange(len(free) + len(active))
    largest = max(1.0, float(np.abs(solution).max(initial=0.0)))
    return np.flatnonzero(~(np.abs(solution) <= ON_RAY * largest))


def _equations(problem: ParametricQP, free: Array, active: Array, support: Array, move: Move) -> Array:
    """Return as many independent equations as there are unknowns in the support."""
    matrix = _float_matrix(problem, free, active)[:, support].tocsr()
    touched = np.flatnonzero(np.diff(matrix.indptr) > 0)
    if len(touched) == len(support):
        return touched
    _, _, order = qr(matrix[touched].toarray().T, pivoting=True, mode="economic")
    return np.sort(touched[order[: len(support)]])


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
    return exact_times(problem.P.exact_block(np.arange(problem.n), moving), ray[moving])


def _drift(problem: ParametricQP, ray: Array, chosen: Array) -> Array:
    """Return A ray for some rows."""
    rows, moving = np.flatnonzero(chosen), np.flatnonzero(ray != 0)
    if not len(moving) or not len(rows):
        return exact_array(np.zeros(len(rows)))
    return exact_times(problem.A[rows][:, moving], ray[moving])


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
        rest = exact_times(problem.A[used].T, dy[used])
    return Farkas(np.maximum(dy, 0), np.maximum(-dy, 0), np.maximum(-rest, 0), np.maximum(rest, 0))


def _matrix(problem: ParametricQP, rows: tuple[Array, Array], columns: tuple[Array, Array]) -> Array:
    """Return a part of the matrix of a basis in rationals: rows and columns of variables, then of rows."""
    corner = exact_array(np.zeros((len(rows[1]), len(columns[1]))))
    return np.block(
        [
            [problem.P.exact_block(rows[0], columns[0]), -exact_matrix(problem.A[columns[1]][:, rows[0]]).T],
            [exact_matrix(problem.A[rows[1]][:, columns[0]]), corner],
        ]
    )


def _right_hand_side(problem: ParametricQP, free: Array, active: Array, move: Move) -> Array:
    top, bottom = exact_array(np.zeros(len(free))), exact_array(np.zeros(len(active)))
    alone = np.array([move.index])
    if move.quantity == "x":
        top = -move.sense * problem.P.exact_block(free, alone)[:, 0]
        bottom = -move.sense * exact_matrix(problem.A[active][:, alone])[:, 0]
    elif move.quantity == "y":
        top = move.sense * exact_matrix(problem.A[alone][:, free])[0]
    elif move.quantity == "z":
        top[np.flatnonzero(free == move.index)] += move.sense
    else:
        bottom[np.flatnonzero(active == move.index)] += move.sense
    return np.concatenate([top, bottom])
