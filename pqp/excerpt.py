r"""Excerpts: the part of a large problem in which something may happen, small enough for exact arithmetic.

Near a basis most items stay where they are: variables at a limit, rows off or at their cap. With x_N and y_N
of these known as lines in mu, the others, F and W, solve a problem of their own, with costs and limits

.. math:: c_F + P_{FN} x_N - A_{NF}^\top y_N, \qquad r_W - A_{WN} x_N .

Its solution is that of the whole problem for as long as no item left out reaches an end; that is for who
asked to check.

Room: a translation, steps and the items that may move in, a small exact `ParametricQP` out.
May touch: `affine`, `field`, `hessian`, `matrices`, `problem`, `compact`, `translation`, `deadends`.
"""

from dataclasses import dataclass

import numpy as np

from pqp.affine import Affine
from pqp.compact import States
from pqp.deadends import exact_block
from pqp.field import RATIONAL, Array, exact_product
from pqp.hessian import Gram, Hessian, Matrix, PairGram
from pqp.matrices import MatrixData, exact_matrix
from pqp.problem import ParametricQP
from pqp.translation import Translation


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The problem of some items; `items` tells which of the whole problem they are, `states` all states."""

    problem: ParametricQP
    items: Array
    states: States

    def own_states(self) -> States:
        """Return the states of the excerpt's own items."""
        return self.states[self.items]

    def whole_states(self, own: States) -> States:
        """Return the states of the whole problem when the excerpt's items are in some states."""
        states = self.states.copy()
        states[self.items] = own
        return states

    def whole(self, x: Array, y: Array) -> Array:
        """Return x, then y, of the excerpt at the places of the whole problem, 0 elsewhere."""
        result = np.zeros((len(self.states), 2))
        result[self.items] = np.concatenate([x, y])
        return result


def take_excerpt(translation: Translation, steps: Array, moving: Array) -> Excerpt:
    """Return the problem of the reduced items that may move; all others stay on their steps."""
    problem, states = translation.reduction.problem, translation.all_states(steps)
    variables, rows = _kept(translation, moving)
    x, y = translation.known_x(states, RATIONAL), translation.known_y(states, RATIONAL)
    x[variables], y[rows] = 0, 0
    row_lower, row_upper = _limits(problem, rows, x)
    part = ParametricQP(
        _block(problem.P, variables),
        _costs(problem, variables, x, y),
        problem.A[rows][:, variables],
        row_lower,
        row_upper,
        problem.lower[variables],
        problem.upper[variables],
        problem.penalty[rows],
    )
    return Excerpt(part, np.concatenate([variables, problem.n + rows]), states)


def _kept(translation: Translation, moving: Array) -> tuple[Array, Array]:
    """Return the variables and rows that an excerpt must have so that some reduced items can move."""
    reduction, count = translation.reduction, len(translation.reduction.variables)
    variables, rows = reduction.variables[moving[:count]], reduction.rows[moving[count:]]
    limiting, slacks = translation.row_of[variables], translation.slack_of[rows]
    free = variables[:0] if reduction.elimination is None else reduction.elimination.variables
    return (
        np.unique(np.concatenate([variables, slacks[slacks >= 0], free])).astype(np.int64),
        np.unique(np.concatenate([rows, limiting[limiting >= 0]])).astype(np.int64),
    )


def _costs(problem: ParametricQP, variables: Array, x: Array, y: Array) -> Affine:
    """Return c_F + P_FN x_N − A_NFᵀ y_N."""
    data = problem.data(RATIONAL)
    result = np.column_stack(data.c)[variables]
    others, active = (np.flatnonzero(np.any(known != 0, axis=1)) for known in (x, y))
    if len(others):
        result = result + exact_product(exact_block(problem.P, variables, others), x[others])
    if len(active):
        result = result - exact_product(exact_matrix(problem.A[active][:, variables]).T, y[active])
    return _affine(result)


def _limits(problem: ParametricQP, rows: Array, x: Array) -> tuple[Affine, Affine]:
    """Return the limits of some rows, less what the variables left out contribute."""
    data, others = problem.data(RATIONAL), np.flatnonzero(np.any(x != 0, axis=1))
    limits = [np.column_stack(limit)[rows] for limit in (data.row_lower, data.row_upper)]
    if len(others) and len(rows):
        shift = exact_product(exact_matrix(problem.A[rows][:, others]), x[others])
        limits = [limit - shift for limit in limits]
        for limit in limits:
            limit[np.isinf(limit[:, 0].astype(float)), 1] = 0
    lower, upper = map(_affine, limits)
    return lower, upper


def _block(P: Hessian, variables: Array) -> Hessian | MatrixData:
    """Return the block of a Hessian that belongs to some variables, in the form the Hessian has."""
    if isinstance(P, Matrix):
        return P.values[variables][:, variables]
    if isinstance(P, Gram):
        return Gram(P.F[variables], None if P.d is None else P.d[variables], P.w)
    return PairGram(P.K, P.pairs[variables])


def _affine(lines: Array) -> Affine:
    return Affine(lines[:, 0], lines[:, 1])
