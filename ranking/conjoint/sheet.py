"""The sheet: the checked data of a study, sorted by respondent, task and alternative.

Room: checked columns in, one record out that can be cut to some tasks or respondents.
May touch: `arguments`, `arrays`, `attributes`, `labels`, `marks`, `roles`, `choices`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ranking.arguments import Integers
from ranking.arrays import Array, read_only
from ranking.conjoint.attributes import Attribute
from ranking.conjoint.choices import Choices
from ranking.conjoint.labels import counted
from ranking.conjoint.marks import Booleans
from ranking.conjoint.roles import Roles


@dataclass(frozen=True, eq=False)
class Sheet:
    """Rows are alternatives. `profiles` has a column an attribute, a categorical of levels or numbers, empty
    for the none option; `extras` holds the columns without a role."""

    attributes: dict[str, Attribute]
    roles: Roles
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

    def with_tasks(self, tasks: Integers) -> "Sheet":
        """Return the sheet of some tasks; respondents keep their codes, even those left without tasks."""
        rows = np.flatnonzero(np.isin(self.choices.task_of_row, tasks))
        return replace(
            self,
            profiles=self.profiles.iloc[rows].reset_index(drop=True),
            extras=self.extras.iloc[rows].reset_index(drop=True),
            alternative=self.alternative[rows],
            is_none=self.is_none[rows],
            choices=self.choices.take(tasks),
            is_holdout=self.is_holdout[tasks],
        )

    def with_respondents(self, codes: Integers) -> "Sheet":
        """Return the sheet of some respondents, given by ascending codes, which are numbered anew."""
        tasks = np.flatnonzero(np.isin(self.choices.respondent, codes))
        part = self.with_tasks(tasks)
        renumbered = replace(part.choices, respondent=np.searchsorted(codes, part.choices.respondent))
        return replace(
            part,
            choices=renumbered,
            respondents=self.respondents[codes],
            weights=self.weights[codes],
        )

    def unmarked(self) -> "Sheet":
        """Return the sheet without its marks of holdout tasks."""
        return replace(self, is_holdout=np.zeros(len(self.choices), dtype=bool))

    def place(self, t: int) -> str:
        """Return where task t is, in words."""
        return f"respondent {self.respondents[self.choices.respondent[t]]}, task {self.choices.task[t]}"

    @property
    def summary(self) -> str:
        """What the study is made of, in one line."""
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
        """Return one row a task, under fixed names."""
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
        """Return long data, one row an alternative, under the names they came with."""
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
