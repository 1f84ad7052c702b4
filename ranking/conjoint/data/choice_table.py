"""The table of choices of a study, validated and sorted by respondent, task and alternative.

`Choices` says which alternatives every task offered and which of them was taken. `ChoiceTable` adds what the
alternatives are, who the respondents are, and which tasks are held out.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import Attribute
from ranking.conjoint.data.columns import Booleans, ColumnRoles
from ranking.core.validation import Array, Integers, counted, read_only


@dataclass(frozen=True, eq=False)
class Choices:
    """One entry per task: the code of its respondent, its name, the rows of its alternatives, the choice.

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

    def to_frame(self, respondents: "pd.Index[Any] | None" = None) -> pd.DataFrame:
        """Return one row per task; respondents by name if their names are given."""
        names = self.respondent if respondents is None else respondents[self.respondent]
        columns = {"task": self.task, "first": self.first, "size": self.size, "chosen": self.chosen}
        return pd.DataFrame({"respondent": names, **columns})


@dataclass(frozen=True, eq=False)
class ChoiceTable:
    """The data of a study, one row per alternative.

    `profiles` has one column per attribute, a categorical of levels or numbers, empty for the none option;
    `extras` holds the columns without a role. `is_holdout` has one entry per task, `weights` one per
    respondent, `alternative` and `is_none` one per row.
    """

    attributes: dict[str, Attribute]
    roles: ColumnRoles
    profiles: pd.DataFrame
    extras: pd.DataFrame
    alternative: Array
    is_none: Booleans
    choices: Choices
    is_holdout: Booleans
    respondents: "pd.Index[Any]"
    weights: Array

    def __post_init__(self) -> None:
        for name in ("alternative", "is_none", "is_holdout", "weights"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def has_none(self) -> bool:
        """Whether there is a none option."""
        return self.roles.has_none

    def with_tasks(self, tasks: Integers) -> "ChoiceTable":
        """Return the table of some tasks in the order given, each as often as it is given.

        Respondents keep their codes, even those left without tasks.
        """
        size = self.choices.size[tasks]
        # how far the rows of each task move from their old place to the one behind the rows before them
        moved = self.choices.first[tasks] - (np.cumsum(size) - size)
        rows = np.arange(size.sum()) + np.repeat(moved, size)
        return replace(
            self,
            profiles=self.profiles.iloc[rows].reset_index(drop=True),
            extras=self.extras.iloc[rows].reset_index(drop=True),
            alternative=self.alternative[rows],
            is_none=self.is_none[rows],
            choices=self.choices.take(tasks),
            is_holdout=self.is_holdout[tasks],
        )

    def with_respondents(self, codes: Integers) -> "ChoiceTable":
        """Return the table of some respondents, given by ascending codes, which are numbered again from 0."""
        tasks = np.flatnonzero(np.isin(self.choices.respondent, codes))
        part = self.with_tasks(tasks)
        renumbered = replace(part.choices, respondent=np.searchsorted(codes, part.choices.respondent))
        names = self.respondents[codes]
        return replace(part, choices=renumbered, respondents=names, weights=self.weights[codes])

    def without_holdout(self) -> "ChoiceTable":
        """Return the table in which no task is held out."""
        return replace(self, is_holdout=np.zeros(len(self.choices), dtype=bool))

    def place(self, t: int) -> dict[str, Any]:
        """Return the respondent and the name of task t, as parts of an error."""
        return {"respondent": self.respondents[self.choices.respondent[t]], "task": self.choices.task[t]}

    @property
    def summary(self) -> str:
        """The sizes and attributes of the study, in one line."""
        sizes = {
            "respondent": len(self.respondents),
            "task": len(self.choices),
            "alternative": len(self.alternative),
        }
        kinds = [
            f"{name}: {'linear' if entry.is_linear else counted(len(entry.labels), 'level')}"
            for name, entry in self.attributes.items()
        ]
        none = ["a none option"] * self.has_none
        counts = ", ".join(counted(size, noun) for noun, size in sizes.items())
        return f"{counts}; {', '.join([*kinds, *none])}"

    def task_frame(self) -> pd.DataFrame:
        """Return one row per task, under fixed names."""
        choices = self.choices
        columns = {
            "respondent": self.respondents[choices.respondent],
            "task": choices.task,
            "alternatives": choices.size,
            "chosen": self.alternative[choices.chosen_rows],
            "holdout": self.is_holdout,
        }
        return pd.DataFrame(columns)

    def to_frame(self) -> pd.DataFrame:
        """Return long data, one row per alternative, under the names they came with."""
        roles, choices = self.roles, self.choices
        task = choices.task_of_row
        chosen = np.zeros(len(task), dtype=np.int64)
        chosen[choices.chosen_rows] = 1
        columns: dict[str, Any] = {
            roles.respondent: self.respondents[choices.respondent[task]],
            roles.task: choices.task[task],
            str(roles.alternative): self.alternative,
            **{name: self.profiles[name] for name in self.attributes},
            roles.chosen: chosen,
        }
        if isinstance(roles.none, str):
            columns[roles.none] = self.is_none.astype(np.int64)
        if isinstance(roles.weight, str):
            columns[roles.weight] = self.weights[choices.respondent[task]]
        if roles.holdout is not None:
            columns[roles.holdout] = self.is_holdout[task].astype(np.int64)
        columns.update({str(name): self.extras[name] for name in self.extras})
        return pd.DataFrame(columns)
