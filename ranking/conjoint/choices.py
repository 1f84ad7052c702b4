r"""Choices: which alternatives every task offered, and which of them was taken.

Room: arrays over tasks in, a record out. Knows no attribute.
May touch: `arguments`, `arrays`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranking.arguments import Integers
from ranking.arrays import Array, read_only


@dataclass(frozen=True, eq=False)
class Choices:
    """One entry a task: the code of its respondent, its label, the rows of its alternatives, the choice.

    The alternatives of task t are the rows `first[t], ..., first[t] + size[t] - 1`, and the one in position
    `chosen[t]`, counted from 0, was taken.

    >>> choices = Choices(np.array([0, 0]), np.array([1, 2]), np.array([3, 2]), np.array([2, 0]))
    >>> choices.first.tolist(), choices.chosen_rows.tolist(), choices.pairs().tolist()
    ([0, 3], [2, 3], [[2, 0], [2, 1], [3, 4]])
    """

    respondent: Integers
    task: Array
    size: Integers
    chosen: Integers

    def __post_init__(self) -> None:
        for name in ("respondent", "task", "size", "chosen"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.task)

    @property
    def first(self) -> Integers:
        """The row of the first alternative of every task."""
        return np.cumsum(self.size) - self.size

    @property
    def chosen_rows(self) -> Integers:
        """The row of the chosen alternative of every task."""
        return self.first + self.chosen

    @property
    def task_of_row(self) -> Integers:
        """The task every row belongs to."""
        return np.repeat(np.arange(len(self)), self.size)

    def rows(self, t: int) -> range:
        """Return the rows of the alternatives of task t."""
        begin = int(self.first[t])
        return range(begin, begin + int(self.size[t]))

    def pairs(self) -> Integers:
        """Return the rows (chosen, other) of every choice, k − 1 pairs for a task with k alternatives."""
        task = self.task_of_row
        other = np.flatnonzero(np.arange(len(task)) != self.chosen_rows[task])
        return np.column_stack([self.chosen_rows[task[other]], other]).astype(np.int64)

    def take(self, tasks: Integers) -> "Choices":
        """Return the choices of some tasks, in the order given."""
        return Choices(self.respondent[tasks], self.task[tasks], self.size[tasks], self.chosen[tasks])

    def to_frame(self, respondents: Any = None) -> pd.DataFrame:
        """Return one row a task; respondents by name if their names are given."""
        names = self.respondent if respondents is None else pd.Index(respondents)[self.respondent]
        columns = {"task": self.task, "first": self.first, "size": self.size, "chosen": self.chosen}
        return pd.DataFrame({"respondent": names, **columns})
