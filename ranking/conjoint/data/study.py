"""ConjointStudy: the choice tasks of a survey, read, validated, split, and coded for part-worth models."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import Attributes, Level
from ranking.conjoint.data.card import NEARLY_ALL, StudyCard, study_card
from ranking.conjoint.data.choice_table import ChoiceTable, Differences
from ranking.conjoint.data.columns import Booleans, ColumnRoles, NoneOption, Weighting, read_flags
from ranking.conjoint.data.findings import Problems
from ranking.conjoint.data.label_text import plain, unknown
from ranking.conjoint.data.reading import read_long, read_table
from ranking.conjoint.data.validation import add_partly_held
from ranking.conjoint.data.wide import PATTERN, read_wide, wide_from_table
from ranking.core.validation import Integers, require_choice, whole_number
from ranking.errors import DataError, must_be

By = Literal["task", "respondent"]
# What starts a random generator; None for another one each time.
Seed: TypeAlias = int | np.random.Generator | None


@dataclass(frozen=True, eq=False, repr=False)
class ConjointStudy(ChoiceTable):
    """Respondents, their choice tasks, the alternatives of every task, and which of them was chosen.

    Made by `from_frame`, `read_csv`, `from_wide` or `read_wide_csv`. Respondents, tasks and alternatives are
    sorted by name (numbers by size), so that the order of the rows handed in does not matter.

    >>> frame = pd.DataFrame({
    ...     "who": [1, 1, 1, 1], "task": [1, 1, 2, 2], "alt": [1, 2, 1, 2], "taken": [1, 0, 0, 1],
    ...     "brand": ["Alba", "Brio", "Brio", "Alba"], "price": [9, 12, 9, 15]})
    >>> study = ConjointStudy.from_frame(frame, respondent="who", task="task", chosen="taken",
    ...     alternative="alt", attributes={"brand": "levels", "price": "linear"})
    >>> study
    ConjointStudy(1 respondent, 2 tasks, 4 alternatives; brand: 2 levels, price: linear)
    >>> study.differences().to_frame().reset_index(drop=True)
    attribute brand         price
    level      Alba Brio per unit
    0             1   -1       -3
    1             1   -1        6
    """

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        respondent: str,
        task: str,
        chosen: str,
        attributes: Attributes,
        alternative: str | None = None,
        none: NoneOption = None,
        weight: Weighting = None,
        holdout: str | None = None,
    ) -> "ConjointStudy":
        """Return the study of long data, one row per alternative.

        Parameters
        ----------
        respondent, task, alternative
            Columns that name them. Tasks of different respondents may have the same name. Without
            `alternative` the rows of a task are numbered as they come.
        chosen
            The column that marks what was taken: 1 or 0, yes or no, x or nothing; once in every task.
        attributes
            Columns, all by level; or a mapping of columns to "levels", "linear", a list of levels in order,
            or an `Attribute`.
        none
            How the none option is recognised: the name of a column that marks it; True if its attributes are
            all empty; any other value if its attributes all hold that, such as 0.
        weight
            The column with the weight of the respondent, or weights by respondent; 1 if not given.
        holdout
            The column that marks tasks kept apart from learning.

        Raises
        ------
        StudyError
            With all problems of the data in `problems`, one error each.
        """
        roles = ColumnRoles(respondent, task, chosen, alternative, none, weight, holdout)
        return cls(**vars(read_long(frame, roles, attributes)))

    @classmethod
    def read_csv(
        cls,
        path: str | PathLike[str],
        *,
        respondent: str,
        task: str,
        chosen: str,
        attributes: Attributes,
        alternative: str | None = None,
        none: NoneOption = None,
        weight: Weighting = None,
        holdout: str | None = None,
        **options: object,
    ) -> "ConjointStudy":
        """Return the study of a CSV file of long data, plain or gzip, or of a workbook; see `from_frame`.

        Other options go to `pandas.read_csv`, for example `sep=";"`, `decimal=","`, `encoding="latin-1"`.
        Only empty cells are missing: "None" and "NA" may be levels. Of a workbook, .xlsx, the first sheet is
        read.
        """
        roles = ColumnRoles(respondent, task, chosen, alternative, none, weight, holdout)
        return cls(**vars(read_long(read_table(path, **options), roles, attributes)))

    @classmethod
    def from_wide(
        cls,
        frame: pd.DataFrame,
        *,
        respondent: str,
        task: str,
        choice: str,
        attributes: Attributes,
        pattern: str = PATTERN,
        none: NoneOption = None,
        none_choice: str | float | None = None,
        weight: Weighting = None,
        holdout: str | None = None,
    ) -> "ConjointStudy":
        """Return the study of wide data, one row per task: columns like alt1_brand, alt1_price, ..., choice.

        `choice` names the chosen alternative as the columns do, here 1, 2, .... An alternative whose columns
        are all empty was not shown; with `none=True` it is the none option. `none="none"` marks the none
        option in columns like alt3_none; `none_choice` is what the choice holds where none was taken, if the
        none option has no columns. The rest is as in `from_frame`.
        """
        roles = ColumnRoles(respondent, task, choice, None, none, weight, holdout)
        return cls(**vars(read_wide(frame, roles, attributes, pattern, none_choice)))

    @classmethod
    def read_wide_csv(
        cls,
        path: str | PathLike[str],
        *,
        respondent: str,
        task: str,
        choice: str,
        attributes: Attributes,
        pattern: str = PATTERN,
        none: NoneOption = None,
        none_choice: str | float | None = None,
        weight: Weighting = None,
        holdout: str | None = None,
        **options: object,
    ) -> "ConjointStudy":
        """Return the study of a CSV file of wide data; see `from_wide`, and `read_csv` for other options."""
        roles = ColumnRoles(respondent, task, choice, None, none, weight, holdout)
        frame = read_table(path, **options)
        return cls(**vars(read_wide(frame, roles, attributes, pattern, none_choice)))

    def levels(self) -> dict[str, tuple[Level, ...]]:
        """Return the levels of the attributes by level."""
        entries = self.attributes.items()
        return {name: entry.labels for name, entry in entries if not entry.is_linear}

    @property
    def tasks(self) -> pd.DataFrame:
        """One row per task: respondent, task, number of alternatives, name of the chosen one, holdout."""
        choices = self.choices
        columns = {
            "respondent": self.respondents[choices.respondent],
            "task": choices.task,
            "alternatives": choices.size,
            "chosen": self.alternative[choices.chosen_rows],
            "holdout": self.is_holdout,
        }
        return pd.DataFrame(columns)

    @property
    def n_alternatives(self) -> Integers:
        """The number of alternatives of every task, the none option included."""
        return self.choices.size

    def differences(self, holdout: bool | None = False) -> Differences:
        """Return the row chosen − other for every task and other alternative of it.

        Of the tasks to learn from; with `holdout=True` of the tasks held out, with None of all.
        """
        pairs = self.choices.pairs()
        task = self.choices.task_of_row[pairs[:, 0]]
        if holdout is not None:
            wanted = self.is_holdout[task] == holdout
            pairs, task = pairs[wanted], task[wanted]
        rows = self.design[pairs[:, 0]] - self.design[pairs[:, 1]]
        respondent = self.choices.respondent[task]
        weight = self.weights.to_numpy()[respondent]
        return Differences(rows, pairs, respondent, task, weight, self.columns)

    def with_tasks(self, tasks: Integers) -> "ConjointStudy":
        """Return the study of some tasks by number, in the order given, each as often as it is given.

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

    def only(self, *, respondents: Iterable[Hashable]) -> "ConjointStudy":
        """Return the study of some respondents, who are numbered again from 0; levels stay as they are."""
        _require_list(respondents, "respondents", "a list of names")
        wanted = list(dict.fromkeys(plain(name) for name in respondents))
        codes = np.sort(self.respondents.get_indexer(pd.Index(wanted)).astype(np.int64))
        if not len(codes):
            raise DataError("{argument} is empty", argument="respondents", remedy="name at least one")
        for name in wanted:
            if name not in self.respondents:
                message = "there is no respondent {found}"
                raise unknown(message, name, self.respondents, "respondents", argument="respondents")
        part = self.with_tasks(np.flatnonzero(np.isin(self.choices.respondent, codes)))
        renumbered = replace(part.choices, respondent=np.searchsorted(codes, part.choices.respondent))
        return replace(part, choices=renumbered, weights=self.weights.iloc[codes])

    def split_holdout(
        self, *, last: int | None = None, tasks: Iterable[Hashable] | None = None, column: str | None = None
    ) -> tuple["ConjointStudy", "ConjointStudy"]:
        """Return the study to learn from and the one held out.

        Held out are the `last` tasks of every respondent, the `tasks` with the given names, those that a
        `column` marks, or, by default, those that were marked when the data were read. Both studies have
        all respondents, with the same codes, and no task that is held out.
        """
        ways = {"last": last, "tasks": tasks, "column": column}
        given = [name for name, value in ways.items() if value is not None]
        if len(given) > 1:
            message = "give only one of {expected}, got {found}"
            wanted = "last, tasks and column"
            raise DataError(message, argument=given[-1], expected=wanted, found=" and ".join(given))
        if last is not None:
            held = _last_tasks(self, last)
        elif tasks is not None:
            held = _named_tasks(self, tasks)
        else:
            held = self.is_holdout if column is None else _marked_tasks(self, column)
        if not held.any():
            remedy = "mark some in a column, or hold out the last tasks of everyone, for example {setting}"
            raise DataError("no task is held out", argument="holdout", remedy=remedy, setting=("last", 3))
        if held.all():
            message = "all tasks are held out, so none is left to learn from"
            raise DataError(message, argument="holdout", remedy="hold out fewer")
        return self._cut(np.flatnonzero(held))

    def without_holdout(self) -> "ConjointStudy":
        """Return the study of the tasks to learn from: those that are not marked as held out."""
        return self.split_holdout()[0] if self.is_holdout.any() else self

    def folds(
        self, k: int = 5, random_state: Seed = None, by: By = "task"
    ) -> Iterator[tuple["ConjointStudy", "ConjointStudy"]]:
        """Yield k times a study to learn from and one to judge by, which has every task once over all k.

        Tasks are never divided. By "task", those of every respondent are spread over the folds as evenly as
        they can be, at random; by "respondent", respondents are. Tasks marked as held out take part: split
        them off first.
        """
        require_choice(by, ("task", "respondent"), "by")
        respondent = self.choices.respondent
        present = np.unique(respondent)
        most = len(respondent) if by == "task" else len(present)
        if not isinstance(k, Integral) or isinstance(k, bool) or not 2 <= k <= most:
            raise must_be("k", f"a number of folds from 2 to the {most} {by}s", found=k)
        chance = np.random.default_rng(random_state)
        if by == "task":
            shuffled = chance.permutation(len(respondent))
            fold = np.empty(len(respondent), dtype=np.int64)
            fold[shuffled[np.argsort(respondent[shuffled], kind="stable")]] = np.arange(len(respondent)) % k
        else:
            turn = chance.permutation(np.arange(len(present)) % k)
            fold = turn[np.searchsorted(present, respondent)]
        for number in range(k):
            yield self._cut(np.flatnonzero(fold == number))

    def card(self, straight: float = NEARLY_ALL) -> StudyCard:
        """Return tables to look at before any model; `print` shows them."""
        return study_card(self, straight)

    def to_frame(self) -> pd.DataFrame:
        """Return long data, one row per alternative; `from_frame` reads them, see `arguments`."""
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
            columns[roles.weight] = self.weights.to_numpy()[choices.respondent[task]]
        if roles.holdout is not None:
            columns[roles.holdout] = self.is_holdout[task].astype(np.int64)
        columns.update({str(name): self.extras[name] for name in self.extras})
        return pd.DataFrame(columns)

    def to_wide(self, pattern: str = PATTERN) -> pd.DataFrame:
        """Return wide data, one row per task; `from_wide` reads them, none="none" if there is a none option.

        Columns without a role are left out.
        """
        return wide_from_table(self, pattern)

    @property
    def arguments(self) -> dict[str, object]:
        """What `from_frame` needs to read `to_frame()`, levels included."""
        roles = self.roles
        named: dict[str, object] = {**roles.columns, "attributes": self.attributes}
        return named if isinstance(roles.none, str) or not self.has_none else {**named, "none": True}

    def _cut(self, held: Integers) -> tuple["ConjointStudy", "ConjointStudy"]:
        """Return the study without some tasks, and the study of these, none of which is held out."""
        rest = np.setdiff1d(np.arange(len(self.choices)), held)
        parts = (self.with_tasks(tasks) for tasks in (rest, held))
        kept, cut = (replace(part, is_holdout=np.zeros_like(part.is_holdout)) for part in parts)
        return kept, cut


def _last_tasks(table: ChoiceTable, last: int) -> Booleans:
    """Return the last tasks of every respondent; each must have more than that."""
    whole_number(last, "last", "a positive number of tasks")
    respondent = table.choices.respondent
    counts = np.bincount(respondent, minlength=len(table.respondents))
    for code in np.flatnonzero((counts <= last) & (counts > 0))[:1]:
        few = int((counts <= last).sum())
        raise DataError(
            f"{{argument}} is {{found}}, but respondent {{respondent}} has only {{expected}} tasks "
            f"({few} such in all)",
            argument="last",
            found=last,
            respondent=table.respondents[code],
            expected=str(counts[code]),
            remedy="hold out fewer tasks, or leave these respondents out",
        )
    # tasks of a respondent are neighbours, so where they end gives the place counted from the last
    place = np.cumsum(counts)[respondent] - np.arange(len(respondent))
    return np.asarray(place <= last)


def _named_tasks(table: ChoiceTable, tasks: Iterable[Hashable]) -> Booleans:
    _require_list(tasks, "tasks", "a list of task names")
    known = list(dict.fromkeys(table.choices.task.tolist()))
    wanted = [plain(task) for task in tasks]
    for task in wanted:
        if task not in known:
            message = "{argument} names {found}, which is not a task of the study"
            raise unknown(message, task, known, "tasks", argument="tasks")
    return np.isin(table.choices.task.astype(object), np.array([*wanted, None], dtype=object)[:-1])


def _require_list(given: object, argument: str, wanted: str) -> None:
    """Raise if a single name stands where a list of names is meant."""
    if isinstance(given, str):
        advice = {"remedy": "write {setting}", "setting": (argument, [given])}
        raise DataError(argument=argument, expected=wanted, found=repr(given), **advice)


def _marked_tasks(table: ChoiceTable, column: str) -> Booleans:
    """Return the tasks marked in a column without a role, whose rows must agree within a task."""
    if column == table.roles.holdout:
        return table.is_holdout
    if column not in table.extras:
        message = "{argument} names {found}, which is not a column without a role"
        raise unknown(message, column, table.extras.columns, "columns without a role", argument="column")
    found, task = Problems(), table.choices.task_of_row
    cells = table.extras[column]
    is_held = read_flags(cells, "holdout", lambda row: table.place(int(task[row])), found)
    held = is_held[table.choices.first]
    for t in np.unique(task[is_held != held[task]]).tolist():
        add_partly_held(column, table.place(t), found)
    found.raise_any()
    return np.asarray(held)
