r"""Solving at one C: dual variables of the soft margin with the 1- or 2-norm and of the hard margin.

Room: training data, a C and a norm, and a working set if there is to be one, in; dual variables and
thresholds out.
May touch: `errors`, `arguments`, `arrays`, `hinges`, `separation`, `generation`, `working`, `dual`,
`training`, `stretches`, and `pqp`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import pqp
from ranking.arguments import Integers
from ranking.arrays import Array
from ranking.ordinal.dual import dual_program, squared_dual_program, threshold_matrix
from ranking.ordinal.generation import initial_working_set
from ranking.ordinal.hinges import Scope, distinct_rows
from ranking.ordinal.separation import separate
from ranking.ordinal.stretches import Round, trace_stretches
from ranking.ordinal.training import Training
from ranking.ordinal.working import MarginProblem, generate_margin
from ranking.representation import dual_solution


@dataclass(frozen=True)
class Task:
    """Which margin is wanted: C = inf is the hard one, norm that of the slacks."""

    C: float
    norm: int
    ordered: bool
    scope: Scope


@dataclass(frozen=True, eq=False)
class Answer:
    """Dual variables; thresholds where scores do not tell them; rounds and working set of a generation."""

    alpha: Array
    thresholds: Array | None = None
    items: Integers | None = None
    rounds: pd.DataFrame | None = None


def solve_margin(training: Training, task: Task) -> Answer:
    """Return the solution for all objects at once."""
    if np.isinf(task.C):
        return Answer(_hard(training, task))
    representation, hinges = training.representation, training.hinges
    if task.norm == 1:
        program = dual_program(representation, hinges, task.ordered)
        return Answer(dual_solution(program, task.C, representation.is_linear))
    point = pqp.solve(squared_dual_program(representation, hinges, task.ordered, task.C), 0)
    rises = threshold_matrix(hinges.n_thresholds, task.ordered)
    return Answer(np.asarray(point.x), rises @ np.asarray(point.y, dtype=float))


def generate_solution(
    training: Training, task: Task, start: Any, add: int | None, random_state: int | None
) -> Answer:
    """Return the same solution by row and column generation.

    With the 1-norm, objects that join have caps that rise from 0 to C, so that every round goes on where the
    one before ended; other margins are solved anew in every round.
    """
    rows = initial_working_set(training.codes, training.representation.X[training.items], start, random_state)
    if task.norm == 1 and np.isfinite(task.C):
        return _by_rising_caps(training, task, training.items[rows], add)
    return _by_rounds(training, task, rows, add)


def _by_rising_caps(training: Training, task: Task, start: Integers, add: int | None) -> Answer:
    rounds: list[Round] = []
    ends = (task.C, task.C)
    (stretch,) = trace_stretches(training, ends, task.ordered, start, add, told=rounds.append)
    alpha = np.zeros(len(training.hinges))
    alpha[stretch.hinges] = stretch.path.x(task.C)
    return Answer(alpha, None, stretch.items, pd.DataFrame(rounds))


def _by_rounds(training: Training, task: Task, rows: Integers, add: int | None) -> Answer:
    representation, items = training.representation, training.items
    is_linear = representation.is_linear
    problem = MarginProblem(
        representation.X[items],
        training.codes,
        task.C,
        task.norm,
        "primal" if is_linear else "kernel",
        None if is_linear else representation.between,
        task.scope,
        training.weight,
        training.levels,
        task.ordered,
    )
    found = generate_margin(problem, rows, "all" if add is None else add)
    working = np.unique(items[found.working])
    answer = solve_margin(training.part(working), task)
    alpha = np.zeros(len(training.hinges))
    alpha[training.hinges.of_items(working)] = answer.alpha
    return Answer(alpha, answer.thresholds, working, found.rounds)


def _hard(training: Training, task: Task) -> Array:
    """Return the dual variables of the hard margin, or raise `NotSeparableError` with row numbers."""
    representation, hinges, items = training.representation, training.hinges, training.items
    if representation.is_linear:
        found = separate(representation.X[items], training.codes, "primal", task.scope, training.levels)
        return found.alpha
    K = representation.gram[np.ix_(items, items)]
    found = separate(K, training.codes, "kernel", task.scope, training.levels)
    _, group = distinct_rows(K)
    of_item = np.empty(hinges.n_items, dtype=np.int64)
    of_item[items] = group
    return _shared(found.hinges.item, found, of_item, training)


def _shared(item: Integers, found: Any, of_item: Integers, training: Training) -> Array:
    """Return multipliers of hinges that items with equal rows of K share, by weight."""
    hinges = training.hinges

    def keys(items: Integers, other: Any) -> Integers:
        return (items * hinges.n_thresholds + other.threshold) * 2 + (other.sign > 0)

    order = np.argsort(keys(item, found.hinges))
    mine = keys(of_item[hinges.item], hinges)
    place = order[np.searchsorted(keys(item, found.hinges)[order], mine)]
    total = np.bincount(place, hinges.weight, len(item))
    return np.asarray(found.alpha[place] * hinges.weight / total[place])
