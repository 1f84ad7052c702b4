"""Postsolve: from reduced items back to the problem: states, and solutions from the unknowns."""

from functools import cached_property

import numpy as np

from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, Array, Field
from pqp.model.problem import ParametricQP
from pqp.records.states import ACTIVE_ROWS, State, States, codes_of
from pqp.records.trail import Completion, Solution
from pqp.revised.presolve import ReducedProblem, lines, presolve
from pqp.revised.states import ABOVE, BELOW, BETWEEN, EQUAL, LOWER, UPPER

# States of a variable and of a row for the item states in the order BETWEEN, LOWER, UPPER, EQUAL, BELOW,
# ABOVE.
VARIABLE = codes_of(("between", "lower", "upper", "fixed", "between", "between"))
ROW = codes_of(("off", "lower", "upper", "equal", "below", "above"))
# The same states seen through a negative entry: lower and upper change places.
TURNED = np.array([BETWEEN, UPPER, LOWER, EQUAL, ABOVE, BELOW], np.int8)
BACK = {
    **{code: step for step, code in enumerate(VARIABLE[:BELOW].tolist())},
    State.ZERO: EQUAL,
    **{code: step for step, code in enumerate(ROW.tolist())},
}
ITEM_STATES = np.array([BACK[state] for state in State], np.int8)


class Postsolve:
    """Maps between the items of a reduced problem and those of the problem.

    v of item i belongs to `items[i]`. Its state is shown by the item `shown[i]` of the problem, as state
    `codes[state, i]`; a row with a slack is shown by a second one, `second[i]`, else -1.
    """

    def __init__(self, reduced: ReducedProblem) -> None:
        self.reduced = reduced
        problem = reduced.problem
        self.n = problem.n
        merged, slacks = reduced.merged, reduced.slacks
        # the row that shows the state of a kept variable, -1 if the variable shows it itself
        self.row_of = np.full(problem.n, -1)
        self.row_of[merged.variables] = merged.rows
        self.is_turned = np.zeros(problem.n, dtype=bool)
        self.is_turned[merged.variables] = merged.entries < 0
        self.slack_of = np.full(problem.m, -1)
        self.slack_of[slacks.rows] = slacks.variables
        self.items = np.concatenate([reduced.variables, self.n + reduced.rows])

    @cached_property
    def shown(self) -> Array:
        """The item of the problem that shows the state of every item."""
        result = self.items.copy()
        rows = self.row_of[self.reduced.variables]
        result[: len(rows)] = np.where(rows >= 0, self.n + rows, result[: len(rows)])
        return result

    @cached_property
    def second(self) -> Array:
        """The slack that belongs to an item, -1 if there is none."""
        none = np.full(len(self.reduced.variables), -1)
        return np.concatenate([none, self.slack_of[self.reduced.rows]])

    @cached_property
    def codes(self) -> Array:
        """The state of the problem for every state of every item."""
        variables, rows = self.reduced.variables, self.reduced.rows
        plain = np.repeat(VARIABLE[:, None], len(variables), axis=1)
        plain[EQUAL, ~self.reduced.problem.is_fixed[variables]] = State.ZERO
        by_row = np.where(self.is_turned[variables], ROW[TURNED][:, None], ROW[:, None])
        left = np.where(self.row_of[variables] >= 0, by_row, plain)
        right = np.repeat(ROW[:, None], len(rows), axis=1)
        softened = self.slack_of[rows] >= 0
        right[BELOW, softened], right[ABOVE, softened] = State.LOWER, State.UPPER
        return np.concatenate([left, right], axis=1).astype(np.int8)

    @cached_property
    def resting(self) -> States:
        """States of the problem that are right for everything outside the reduced problem."""
        problem = self.reduced.problem
        states = np.full(problem.n + problem.m, State.BETWEEN, dtype=np.int8)
        states[problem.n :] = State.OFF
        states[self.reduced.slacks.variables] = State.LOWER
        return states

    def states(self, items: Array, item_states: Array) -> tuple[Array, Array]:
        """Return the items of the problem that show the states of some items, and their states.

        A softened row that is violated is active at its bound, and its slack is between its bounds.
        """
        shown, codes, second = self.shown[items], self.codes[item_states, items], self.second[items]
        if not np.any(second >= 0):
            return shown, codes
        violated = (item_states == BELOW) | (item_states == ABOVE)
        slack = np.where(violated, State.BETWEEN, State.LOWER)
        pairs = np.column_stack([shown, second]).ravel(), np.column_stack([codes, slack]).ravel()
        kept = pairs[0] >= 0
        return pairs[0][kept], pairs[1][kept].astype(np.int8)

    def all_states(self, item_states: Array) -> States:
        """Return the states of the whole problem."""
        states = self.resting.copy()
        items, new = self.states(np.arange(self.reduced.size), item_states)
        states[items] = new
        return states

    def item_states(self, states: States) -> Array:
        """Return the states of the reduced items for states of the problem."""
        reduced, n = self.reduced, self.n
        variables, rows = reduced.variables, reduced.rows
        seen = ITEM_STATES[states[self.shown[: len(variables)]]]
        turned = np.where(self.is_turned[variables], TURNED[seen], seen)
        row_states = ITEM_STATES[states[n + rows]].copy()
        slack = self.slack_of[rows]
        violated = (slack >= 0) & (states[np.maximum(slack, 0)] == State.BETWEEN)
        row_states[violated] = np.where(row_states[violated] == LOWER, BELOW, ABOVE)
        item_states = np.concatenate([turned, row_states]).astype(np.int8)
        pointless = self.reduced.bounds.is_free & (item_states != EQUAL)
        return np.where(pointless, BETWEEN, item_states).astype(np.int8)

    def complete(self, states: States, unknowns: Array, values: Array) -> Solution:
        """Return x, y and z from the states and the values of the unknowns."""
        x, y = self.known_x(states, FLOAT), self.known_y(states, FLOAT)
        is_row = unknowns >= self.n
        x[unknowns[~is_row]] = values[~is_row]
        y[unknowns[is_row] - self.n] = values[is_row]
        data, elimination = self.reduced.problem.data(FLOAT), self.reduced.elimination
        if elimination is not None:
            x[elimination.variables] = elimination.variables_at(y[self.reduced.rows])
        self._fill_merged(x, y, states)
        self._fill_slacks(x, states)
        # Stationarity gives z once x and y are complete, those of presolved rows and slacks included.
        z = data.P @ x + lines(data.c) - data.A.T @ y
        # Between bounds the multiplier is 0 by definition; what is computed there is rounding error.
        z[states[: self.n] == State.BETWEEN] = 0.0
        return _pair(x), _pair(y), _pair(z)

    def known_x(self, states: States, field: Field) -> Array:
        """Return x where it is fixed at a bound, 0 elsewhere, as affine functions."""
        data, own = self.reduced.problem.data(field), states[: self.n]
        x = field.array(np.zeros((self.n, 2)))
        for limit, fixed in (
            (data.upper, own == State.UPPER),
            (data.lower, (own == State.LOWER) | (own == State.FIXED)),
        ):
            x[fixed] = np.column_stack(limit)[fixed]
        merged, entries = self.reduced.merged, field.array(self.reduced.merged.entries)
        rows = states[self.n + merged.rows]
        for limit, codes in ((data.row_upper, [State.UPPER]), (data.row_lower, [State.LOWER, State.EQUAL])):
            fixed = np.isin(rows, codes)
            x[merged.variables[fixed]] = np.column_stack(limit)[merged.rows[fixed]] / entries[fixed, None]
        return x

    def known_y(self, states: States, field: Field) -> Array:
        """Return y where it is fixed at a cap, 0 elsewhere, as affine functions."""
        problem, slacks = self.reduced.problem, self.reduced.slacks
        data, own = problem.data(field), states[self.n :]
        y = field.array(np.zeros((problem.m, 2)))
        for sense, state in ((1, State.BELOW), (-1, State.ABOVE)):
            y[own == state] = sense * np.column_stack(data.penalty)[own == state]
        violated = states[slacks.variables] == State.BETWEEN
        chosen, entries = slacks.variables[violated], field.array(slacks.entries[violated])
        y[slacks.rows[violated]] = np.column_stack(data.c)[chosen] / entries[:, None]
        return y

    def _fill_merged(self, x: Array, y: Array, states: States) -> None:
        """Set the multipliers of active rows that bound one variable: they balance its gradient."""
        merged, data = self.reduced.merged, self.reduced.problem.data(FLOAT)
        fixed = np.isin(states[self.n + merged.rows], ACTIVE_ROWS)
        if np.any(fixed):
            gradient = data.P @ x + lines(data.c) - data.A.T @ y
            y[merged.rows[fixed]] = gradient[merged.variables[fixed]] / merged.entries[fixed, None]

    def _fill_slacks(self, x: Array, states: States) -> None:
        """Set the slacks of violated rows to their violation."""
        slacks, data = self.reduced.slacks, self.reduced.problem.data(FLOAT)
        violated = states[slacks.variables] == State.BETWEEN
        if not np.any(violated):
            return
        rows = slacks.rows[violated]
        rises = (slacks.entries[violated] > 0)[:, None]
        limit = np.where(rises, lines(data.row_lower)[rows], lines(data.row_upper)[rows])
        activity = data.A[rows] @ x
        x[slacks.variables[violated]] = (limit - activity) / slacks.entries[violated, None]


def completion(problem: ParametricQP) -> Completion:
    """Return the function that completes solutions of a problem from the values of the unknowns."""
    return Postsolve(presolve(problem)).complete


def _pair(block: Array) -> AffineArray:
    return AffineArray(np.ascontiguousarray(block[:, 0]), np.ascontiguousarray(block[:, 1]))
