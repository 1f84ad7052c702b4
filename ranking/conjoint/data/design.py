r"""Coding: alternatives as characteristic vectors, choices as differences of two of them.

The paper's :math:`\chi_a \in \{0, 1\}^m` has a component for every level of every attribute, 1 if it is
present in option a. No level is left out as a reference: the ridge :math:`\tfrac12\|v\|^2` makes part-worths
unique without, and treats all levels alike. A linear attribute has one component, its number divided by its
unit, and the none option one more, 1 for the none option itself, whose other components are all 0.

Splitting: which tasks are kept apart, to choose or to judge a model by.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import NONE, Attribute
from ranking.conjoint.data.columns import Booleans, read_marks
from ranking.conjoint.data.messages import Problems, plain, unknown
from ranking.conjoint.data.table import Sheet
from ranking.conjoint.data.validation import add_partly_held
from ranking.core.validation import LARGEST_WHOLE, Array, Integers, read_only
from ranking.errors import DataError


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


def columns_of(sheet: Sheet) -> pd.MultiIndex:
    """Return the names of the columns of the design, attribute and level; the none option comes last."""
    pairs = [(name, label) for name, entry in sheet.attributes.items() for label in entry.labels]
    if sheet.has_none:
        pairs.append((NONE, NONE))
    return pd.MultiIndex.from_tuples(pairs, names=["attribute", "level"])


def design_of(sheet: Sheet) -> Array:
    """Return the characteristic vectors, one row an alternative; integers if all entries are whole."""
    blocks = [_block(entry, sheet.profiles[name]) for name, entry in sheet.attributes.items()]
    if sheet.has_none:
        blocks.append(sheet.is_none[:, None].astype(float))
    design = np.hstack(blocks)
    is_whole = (design == np.rint(design)).all() and (np.abs(design) < LARGEST_WHOLE).all()
    return read_only(design.astype(np.int64) if is_whole else design)


def differences_of(sheet: Sheet, design: Array, columns: pd.MultiIndex, tasks: Integers) -> Differences:
    """Return the differences of the choices of some tasks, task by task."""
    choices = sheet.choices
    pairs = choices.pairs()
    task = choices.task_of_row[pairs[:, 0]]
    keep = np.isin(task, tasks)
    pairs, task = pairs[keep], task[keep]
    respondent = choices.respondent[task]
    rows = design[pairs[:, 0]] - design[pairs[:, 1]]
    return Differences(rows, pairs, respondent, task, sheet.weights[respondent], columns)


def _block(attribute: Attribute, column: Any) -> Array:
    """Return the columns of one attribute; rows of the none option are 0."""
    if attribute.is_linear:
        return column.fillna(0.0).to_numpy(dtype=float)[:, None] / attribute.unit
    codes = column.cat.codes.to_numpy()
    return (codes[:, None] == np.arange(len(attribute.labels))).astype(float)


By = Literal["task", "respondent"]


def holdout_tasks(
    sheet: Sheet, last: int | None = None, tasks: Iterable[Any] | None = None, column: str | None = None
) -> Booleans:
    """Return which tasks are held out: the last ones, named ones, those a column marks, or those marked."""
    given = [
        name for name, value in (("last", last), ("tasks", tasks), ("column", column)) if value is not None
    ]
    if len(given) > 1:
        raise DataError(
            "give only one of {expected}, got {found}",
            argument=given[-1],
            expected="last, tasks and column",
            found=" and ".join(given),
        )
    if last is not None:
        held = _last_tasks(sheet, last)
    elif tasks is not None:
        held = _named_tasks(sheet, tasks)
    else:
        held = sheet.is_holdout if column is None else _marked_tasks(sheet, column)
    if not held.any():
        raise DataError(
            "no task is held out",
            argument="holdout",
            remedy="mark some in a column, or hold out the last tasks of everyone, for example {setting}",
            setting=("last", 3),
        )
    if held.all():
        raise DataError("all tasks are held out, so none is left to learn from", remedy="hold out fewer")
    return held


def fold_tasks(sheet: Sheet, k: int, random_state: Any, by: By) -> Iterator[Integers]:
    """Yield the tasks of every fold; every task is in one of them.

    By task, the tasks of every respondent are spread over the folds as evenly as they can be, at random; by
    respondent, all tasks of a respondent are in the same fold.
    """
    if by not in ("task", "respondent"):
        raise DataError(argument="by", expected="'task' or 'respondent'", found=repr(by))
    respondent = sheet.choices.respondent
    most = len(respondent) if by == "task" else len(np.unique(respondent))
    if not isinstance(k, Integral) or isinstance(k, bool) or not 2 <= k <= most:
        raise DataError(argument="k", expected=f"a number of folds from 2 to the {most} {by}s", found=k)
    chance = np.random.default_rng(random_state)
    fold = np.empty(len(respondent), dtype=np.int64)
    if by == "task":
        shuffled = chance.permutation(len(respondent))
        fold[shuffled[np.argsort(respondent[shuffled], kind="stable")]] = np.arange(len(respondent)) % k
    else:
        present = np.unique(respondent)
        turn = chance.permutation(np.arange(len(present)) % k)
        fold = turn[np.searchsorted(present, respondent)]
    for number in range(k):
        yield np.flatnonzero(fold == number)


def _last_tasks(sheet: Sheet, last: int) -> Booleans:
    """Return the last tasks of every respondent; each must have more than that."""
    if not isinstance(last, Integral) or isinstance(last, bool) or last < 1:
        raise DataError(argument="last", expected="a positive number of tasks", found=last)
    respondent = sheet.choices.respondent
    counts = np.bincount(respondent, minlength=len(sheet.respondents))
    for code in np.flatnonzero((counts <= last) & (counts > 0))[:1]:
        few = int((counts <= last).sum())
        raise DataError(
            f"{{argument}} is {{found}}, but respondent {{respondent}} has only {{expected}} tasks "
            f"({few} such in all)",
            argument="last",
            found=last,
            respondent=sheet.respondents[code],
            expected=str(counts[code]),
            remedy="hold out fewer tasks, or leave these respondents out",
        )
    # tasks of a respondent are neighbours, so the place from behind follows from where they end
    place = np.cumsum(counts)[respondent] - np.arange(len(respondent))
    return np.asarray(place <= last)


def _named_tasks(sheet: Sheet, tasks: Iterable[Any]) -> Booleans:
    if isinstance(tasks, str):
        raise DataError(
            argument="tasks",
            expected="a list of task names",
            found=repr(tasks),
            remedy="write {setting}",
            setting=("tasks", [tasks]),
        )
    known = list(dict.fromkeys(sheet.choices.task.tolist()))
    wanted = [plain(task) for task in tasks]
    for task in wanted:
        if task not in known:
            message = "{argument} names {found}, which is not a task of the study"
            raise unknown(message, task, known, "tasks", argument="tasks")
    return np.isin(sheet.choices.task.astype(object), np.array([*wanted, None], dtype=object)[:-1])


def _marked_tasks(sheet: Sheet, column: str) -> Booleans:
    """Return the tasks marked in a column without a role, whose rows must agree within a task."""
    if column == sheet.roles.holdout:
        return sheet.is_holdout
    if column not in sheet.extras:
        message = "{argument} names {found}, which is not a column without a role"
        raise unknown(message, column, sheet.extras.columns, "columns without a role", argument="column")
    found, task = Problems(), sheet.choices.task_of_row
    cells = sheet.extras[column]
    marked = read_marks(cells, "holdout", lambda row: sheet.place(int(task[row])), found)
    held = marked[sheet.choices.first]
    for t in np.unique(task[marked != held[task]]).tolist():
        add_partly_held(column, sheet.place(t), found)
    found.raise_any()
    return np.asarray(held)


def respondent_codes(sheet: Sheet, respondents: Iterable[Any]) -> Integers:
    """Return the ascending codes of respondents given by name."""
    if isinstance(respondents, str):
        raise DataError(
            argument="respondents",
            expected="a list of names",
            found=repr(respondents),
            remedy="write {setting}",
            setting=("respondents", [respondents]),
        )
    wanted = list(dict.fromkeys(plain(name) for name in respondents))
    codes = sheet.respondents.get_indexer(pd.Index(wanted))
    for place in np.flatnonzero(codes < 0)[:1]:
        message = "there is no respondent {found}"
        raise unknown(message, wanted[place], sheet.respondents, "respondents", argument="respondents")
    if not len(codes):
        raise DataError("{argument} is empty", argument="respondents", remedy="name at least one")
    return np.sort(codes).astype(np.int64)
