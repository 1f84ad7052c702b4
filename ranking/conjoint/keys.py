"""Keys: whose row it is, of which task, and which alternative.

Room: long data with named columns in, a record of labels out, with sentences for rows that do not say.
May touch: `labels`, `problems`, `roles`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranking.arguments import Integers
from ranking.arrays import Array
from ranking.conjoint.labels import is_empty, plain
from ranking.conjoint.problems import Problems
from ranking.conjoint.roles import Roles


@dataclass(frozen=True, eq=False)
class Keys:
    """Respondent, task and alternative of every row as labels, and the number of the task over all
    respondents, -1 for rows that name no respondent or no task."""

    respondent: Array
    task: Array
    alternative: Array | None
    group: Integers

    def place(self, row: int) -> str:
        """Return where a row is, in words."""
        if self.group[row] < 0:
            return f"row {row + 1}"
        whole = self.place_of_task(row)
        name = None if self.alternative is None else self.alternative[row]
        return f"{whole} (row {row + 1})" if name is None else f"{whole}, alternative {name}"

    def place_of_task(self, row: int) -> str:
        """Return where the task of a row is, in words."""
        return f"respondent {self.respondent[row]}, task {self.task[row]}"

    def first_rows(self) -> Integers:
        """Return the first row of every task."""
        rows = np.flatnonzero(self.group >= 0)
        return rows[np.unique(self.group[rows], return_index=True)[1]]


def labels_of(column: "pd.Series[Any]") -> Array:
    """Return the cells of a column as labels, None where they are empty."""
    empty = is_empty(column)
    cells = [None if nothing else plain(cell) for cell, nothing in zip(column, empty, strict=True)]
    return np.array([*cells, None], dtype=object)[:-1]


def read_keys(frame: pd.DataFrame, roles: Roles, found: Problems) -> Keys:
    """Return who and what every row is about, noting rows that do not say."""
    respondent, task = labels_of(frame[roles.respondent]), labels_of(frame[roles.task])
    alternative = None if roles.alternative is None else labels_of(frame[roles.alternative])
    nobody, nothing = is_empty(respondent), is_empty(task)
    for row in np.flatnonzero(nobody).tolist():
        found.add("respondent", f"row {row + 1}: column {roles.respondent!r} is empty; whose answer is it?")
    idle = set(respondent[~nobody]) - set(respondent[~nobody & ~nothing])
    for row in np.flatnonzero(nothing & ~nobody).tolist():
        name = respondent[row]
        who = f"respondent {name} has no task" if name in idle else f"respondent {name}"
        found.add("task", f"{who}: column {roles.task!r} is empty in row {row + 1}")
    group = np.full(len(frame), -1)
    known = ~nobody & ~nothing
    group[known] = pd.factorize(pd.MultiIndex.from_arrays([respondent[known], task[known]]))[0]
    return Keys(respondent, task, alternative, group)
