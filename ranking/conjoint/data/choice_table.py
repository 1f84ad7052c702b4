r"""The table of choices of a study, validated and sorted, and its design matrix.

`Choices` says which alternatives every task offered and which of them was taken. `ChoiceTable` adds what the
alternatives are, who the respondents are, and which tasks are held out.

The design matrix holds alternatives as characteristic vectors: the paper's :math:`\chi_a \in \{0, 1\}^m` has
a component for every level of every attribute, 1 if it is present in option a. No level is left out as a
reference: the ridge :math:`\tfrac12\|v\|^2` makes part-worths unique without one, and treats levels alike. A
linear attribute has one component, its number divided by its unit. The none option has one more, 1 for the
none option itself, whose other components are all 0. Choices are differences of two such vectors.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import NONE, Attribute
from ranking.conjoint.data.columns import Booleans, ColumnRoles
from ranking.core.validation import LARGEST_WHOLE, Array, Integers, counted, read_only


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


@dataclass(frozen=True, eq=False)
class Differences:
    r"""Rows :math:`n_{ab} = \chi_a - \chi_b`, alternative a chosen over b: k − 1 for a task with k of them.

    For every row the rows (a, b) of the design, the code of the respondent, the number of the task among the
    study's choices, and the respondent's weight. `rows` are integers where the design is.
    """

    rows: Array
    pairs: Integers
    respondent: Integers
    task: Integers
    weight: Array
    columns: pd.MultiIndex

    def __post_init__(self) -> None:
        for name in ("rows", "pairs", "respondent", "task", "weight"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return the rows under the names of their columns, indexed by respondent code and task number."""
        index = pd.MultiIndex.from_arrays([self.respondent, self.task], names=["respondent", "task"])
        return pd.DataFrame(self.rows, index=index, columns=self.columns)


@dataclass(frozen=True, eq=False, repr=False)
class ChoiceTable:
    """The data of a study, one row per alternative.

    `profiles` has one column per attribute, a categorical of levels or numbers, empty for the none option;
    `extras` holds the columns without a role. `is_holdout` has one entry per task, `weights` one per
    respondent, by name, `alternative` and `is_none` one per row.
    """

    attributes: dict[str, Attribute]
    roles: ColumnRoles
    profiles: pd.DataFrame
    extras: pd.DataFrame
    alternative: Array
    is_none: Booleans
    choices: Choices
    is_holdout: Booleans
    weights: "pd.Series[float]"

    def __post_init__(self) -> None:
        for name in ("alternative", "is_none", "is_holdout"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __repr__(self) -> str:
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
        return f"{type(self).__name__}({counts}; {', '.join([*kinds, *none])})"

    @property
    def has_none(self) -> bool:
        """Whether there is a none option, the last column of the design."""
        return self.roles.has_none

    @property
    def respondents(self) -> "pd.Index[Any]":
        """The respondents by name; their place here is their code."""
        return self.weights.index

    @cached_property
    def columns(self) -> pd.MultiIndex:
        """The names of the columns of the design: attribute and level, "per unit" of linear attributes."""
        pairs = [(name, label) for name, entry in self.attributes.items() for label in entry.labels]
        none = [(NONE, NONE)] * self.has_none
        return pd.MultiIndex.from_tuples([*pairs, *none], names=["attribute", "level"])

    @cached_property
    def design(self) -> Array:
        """The characteristic vectors of the alternatives, one per row; integers if all entries are whole."""
        blocks: list[Array] = []
        for name, attribute in self.attributes.items():
            column: Any = self.profiles[name]
            # rows of the none option are 0
            if attribute.is_linear:
                blocks.append(column.fillna(0.0).to_numpy(dtype=float)[:, None] / attribute.unit)
            else:
                blocks.append(column.cat.codes.to_numpy()[:, None] == np.arange(len(attribute.labels)))
        if self.has_none:
            blocks.append(self.is_none[:, None])
        design = np.hstack(blocks).astype(float)
        # whole data stay whole, so that certificates of models are about the data themselves
        is_whole = (design == np.rint(design)).all() and (np.abs(design) < LARGEST_WHOLE).all()
        return read_only(design.astype(np.int64) if is_whole else design)

    def place(self, t: int) -> dict[str, object]:
        """Return the respondent and the name of task t, as parts of an error."""
        return {"respondent": self.respondents[self.choices.respondent[t]], "task": self.choices.task[t]}
