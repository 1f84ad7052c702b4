"""From reduced items back to the problem: states, and whole solutions from the solved unknowns."""

from functools import cached_property

import numpy as np

from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, Array, Field
from pqp.model.problem import ParametricQP
from pqp.records.states import ACTIVE_ROWS, State, States, codes_of
from pqp.records.trail import Completion, Solution
from pqp.revised.presolve import Reduction, lines, reduce_problem
from pqp.revised.states import ABOVE, BELOW, BETWEEN, EQUAL, LOWER, UPPER

# Steps as states of a variable and of a row, in the order BETWEEN, LOWER, UPPER, EQUAL, BELOW, ABOVE.
VARIABLE = codes_of(("between", "lower", "upper", "fixed", "between", "between"))
ROW = codes_of(("off", "lower", "upper", "equal", "below", "above"))
# The same staircase walked through a negative entry.
TURNED = np.array([BETWEEN, UPPER, LOWER, EQUAL, ABOVE, BELOW], np.int8)
BACK = {
    **{code: step for step, code in enumerate(VARIABLE[:BELOW].tolist())},
    State.ZERO: EQUAL,
    **{code: step for step, code in enumerate(ROW.tolist())},
}
STEPS = np.array([BACK[state] for state in State], np.int8)


class Translation:
    """One reduction, with the tables that translate between its items and those of the problem.

    `items[i]` tells what v of item i is; `shown[i]` is the item of the problem that shows its step, by state
    `codes[step, i]`; a row with a slack has a second one, `second[i]`, else -1.
    """

    def __init__(self, reduction: Reduction) -> None:
        self.reduction = reduction
        problem = reduction.problem
        self.n = problem.n
        merged, slacks = reduction.merged, reduction.slacks
        # the row that shows the step of a kept variable, -1 if the variable shows it itself
        self.row_of = np.full(problem.n, -1)
        self.row_of[merged.variables] = merged.rows
        self.is_turned = np.zeros(problem.n, dtype=bool)
        self.is_turned[merged.variables] = merged.entries < 0
        self.slack_of = np.full(problem.m, -1)
        self.slack_of[slacks.rows] = slacks.variables
        self.items = np.concatenate([reduction.variables, self.n + reduction.rows])

    @cached_property
    def shown(self) -> Array:
        """The item of the problem that shows the step of every item."""
        result = self.items.copy()
        rows = self.row_of[self.reduction.variables]
        result[: len(rows)] = np.where(rows >= 0, self.n + rows, result[: len(rows)])
        return result

    @cached_property
    def second(self) -> Array:
        """The slack that belongs to an item, -1 if there is none."""
        none = np.full(len(self.reduction.variables), -1)
        return np.concatenate([none, self.slack_of[self.reduction.rows]])

    @cached_property
    def codes(self) -> Array:
        """The state that every step of every item is shown as."""
        variables, rows = self.reduction.variables, self.reduction.rows
        plain = np.repeat(VARIABLE[:, None], len(variables), axis=1)
        plain[EQUAL, ~self.reduction.problem.is_fixed[variables]] = State.ZERO
        by_row = np.where(self.is_turned[variables], ROW[TURNED][:, None], ROW[:, None])
        left = np.where(self.row_of[variables] >= 0, by_row, plain)
        right = np.repeat(ROW[:, None], len(rows), axis=1)
        softened = self.slack_of[rows] >= 0
        right[BELOW, softened], right[ABOVE, softened] = State.LOWER, State.UPPER
        return np.concatenate([left, right], axis=1).astype(np.int8)

    @cached_property
    def resting(self) -> States:
        """States of the problem in which everything outside the reduction is right and stays so."""
        problem = self.reduction.problem
        states = np.full(problem.n + problem.m, State.BETWEEN, dtype=np.int8)
        states[problem.n :] = State.OFF
        states[self.reduction.slacks.variables] = State.LOWER
        return states

    def states(self, items: Array, steps: Array) -> tuple[Array, Array]:
        """Return the items of the problem that show the steps of some items, and their states.

        A softened row that is violated is held at its limit, and its slack is between.
        """
        shown, codes, second = self.shown[items], self.codes[steps, items], self.second[items]
        if not np.any(second >= 0):
            return shown, codes
        violated = (steps == BELOW) | (steps == ABOVE)
        slack = np.where(violated, State.BETWEEN, State.LOWER)
        pairs = np.column_stack([shown, second]).ravel(), np.column_stack([codes, slack]).ravel()
        kept = pairs[0] >= 0
        return pairs[0][kept], pairs[1][kept].astype(np.int8)

    def all_states(self, steps: Array) -> States:
        """Return the states of the whole problem."""
        states = self.resting.copy()
        items, new = self.states(np.arange(self.reduction.size), steps)
        states[items] = new
        return states

    def steps(self, states: States) -> Array:
        """Return the steps of the reduced items that states of the problem stand for."""
        reduction, n = self.reduction, self.n
        variables, rows = reduction.variables, reduction.rows
        seen = STEPS[states[self.shown[: len(variables)]]]
        turned = np.where(self.is_turned[variables], TURNED[seen], seen)
        row_steps = STEPS[states[n + rows]].copy()
        slack = self.slack_of[rows]
        violated = (slack >= 0) & (states[np.maximum(slack, 0)] == State.BETWEEN)
        row_steps[violated] = np.where(row_steps[violated] == LOWER, BELOW, ABOVE)
        steps = np.concatenate([turned, row_steps]).astype(np.int8)
        pointless = self.reduction.limits.is_free & (steps != EQUAL)
        return np.where(pointless, BETWEEN, steps).astype(np.int8)

    def complete(self, states: States, unknowns: Array, values: Array) -> Solution:
        """Return x, y and z from the states and what was solved for."""
        x, y = self.known_x(states, FLOAT), self.known_y(states, FLOAT)
        is_row = unknowns >= self.n
        x[unknowns[~is_row]] = values[~is_row]
        y[unknowns[is_row] - self.n] = values[is_row]
        data, elimination = self.reduction.problem.data(FLOAT), self.reduction.elimination
        if elimination is not None:
            x[elimination.variables] = elimination.variables_at(y[self.reduction.rows])
        self._fill_merged(x, y, states)
        self._fill_slacks(x, states)
        z = data.P @ x + lines(data.c) - data.A.T @ y
        z[states[: self.n] == State.BETWEEN] = 0.0
        return _pair(x), _pair(y), _pair(z)

    def known_x(self, states: States, field: Field) -> Array:
        """Return x where it is held at a limit, 0 elsewhere, as lines."""
        data, own = self.reduction.problem.data(field), states[: self.n]
        x = field.array(np.zeros((self.n, 2)))
        for limit, held in (
            (data.upper, own == State.UPPER),
            (data.lower, (own == State.LOWER) | (own == State.FIXED)),
        ):
            x[held] = np.column_stack(limit)[held]
        merged, entries = self.reduction.merged, field.array(self.reduction.merged.entries)
        rows = states[self.n + merged.rows]
        for limit, codes in (
            (data.row_upper, [State.UPPER]),
            (data.row_lower, [State.LOWER, State.EQUAL]),
        ):
            held = np.isin(rows, codes)
            x[merged.variables[held]] = np.column_stack(limit)[merged.rows[held]] / entries[held, None]
        return x

    def known_y(self, states: States, field: Field) -> Array:
        """Return y where it is held at a cap, 0 elsewhere, as lines."""
        problem, slacks = self.reduction.problem, self.reduction.slacks
        data, own = problem.data(field), states[self.n :]
        y = field.array(np.zeros((problem.m, 2)))
        for sense, state in ((1, State.BELOW), (-1, State.ABOVE)):
            y[own == state] = sense * np.column_stack(data.penalty)[own == state]
        violated = states[slacks.variables] == State.BETWEEN
        chosen, entries = slacks.variables[violated], field.array(slacks.entries[violated])
        y[slacks.rows[violated]] = np.column_stack(data.c)[chosen] / entries[:, None]
        return y

    def _fill_merged(self, x: Array, y: Array, states: States) -> None:
        """Set the multipliers of held rows that are limits of a variable: they balance its gradient."""
        merged, data = self.reduction.merged, self.reduction.problem.data(FLOAT)
        held = np.isin(states[self.n + merged.rows], ACTIVE_ROWS)
        if np.any(held):
            gradient = data.P @ x + lines(data.c) - data.A.T @ y
            y[merged.rows[held]] = gradient[merged.variables[held]] / merged.entries[held, None]

    def _fill_slacks(self, x: Array, states: States) -> None:
        """Set the slacks of violated rows to what the rows lack."""
        slacks, data = self.reduction.slacks, self.reduction.problem.data(FLOAT)
        violated = states[slacks.variables] == State.BETWEEN
        if not np.any(violated):
            return
        rows = slacks.rows[violated]
        rises = (slacks.entries[violated] > 0)[:, None]
        limit = np.where(rises, lines(data.row_lower)[rows], lines(data.row_upper)[rows])
        activity = data.A[rows] @ x
        x[slacks.variables[violated]] = (limit - activity) / slacks.entries[violated, None]


def completion(problem: ParametricQP) -> Completion:
    """Return the function that completes solutions of a problem from what was solved for."""
    return Translation(reduce_problem(problem)).complete


def _pair(block: Array) -> AffineArray:
    return AffineArray(np.ascontiguousarray(block[:, 0]), np.ascontiguousarray(block[:, 1]))
