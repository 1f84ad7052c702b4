"""Splits of a study: tasks held out, folds of tasks or of respondents, and parts with some respondents."""

from collections.abc import Hashable, Iterable, Iterator
from numbers import Integral
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from ranking.conjoint.data.choice_table import ChoiceTable
from ranking.conjoint.data.columns import Booleans, read_flags
from ranking.conjoint.data.findings import Problems
from ranking.conjoint.data.label_text import plain, unknown
from ranking.conjoint.data.validation import add_partly_held
from ranking.core.validation import Integers, require_choice, whole_number
from ranking.errors import DataError, must_be

By = Literal["task", "respondent"]
# What starts a random generator; None for another one each time.
Seed: TypeAlias = int | np.random.Generator | None


def holdout_tasks(
    table: ChoiceTable,
    last: int | None = None,
    tasks: Iterable[Hashable] | None = None,
    column: str | None = None,
) -> Booleans:
    """Return which tasks are held out: the last ones, named ones, those of a column, or those of the data."""
    ways = {"last": last, "tasks": tasks, "column": column}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1:
        message = "give only one of {expected}, got {found}"
        wanted = "last, tasks and column"
        raise DataError(message, argument=given[-1], expected=wanted, found=" and ".join(given))
    if last is not None:
        held = _last_tasks(table, last)
    elif tasks is not None:
        held = _named_tasks(table, tasks)
    else:
        held = table.is_holdout if column is None else _marked_tasks(table, column)
    if not held.any():
        remedy = "mark some in a column, or hold out the last tasks of everyone, for example {setting}"
        raise DataError("no task is held out", argument="holdout", remedy=remedy, setting=("last", 3))
    if held.all():
        message = "all tasks are held out, so none is left to learn from"
        raise DataError(message, argument="holdout", remedy="hold out fewer")
    return held


def fold_tasks(table: ChoiceTable, k: int, random_state: Seed, by: By) -> Iterator[Integers]:
    """Yield the tasks of every fold; every task is in one of them.

    By task, the tasks of every respondent are spread over the folds as evenly as they can be, at random; by
    respondent, all tasks of a respondent are in the same fold.
    """
    require_choice(by, ("task", "respondent"), "by")
    respondent = table.choices.respondent
    most = len(respondent) if by == "task" else len(np.unique(respondent))
    if not isinstance(k, Integral) or isinstance(k, bool) or not 2 <= k <= most:
        raise must_be("k", f"a number of folds from 2 to the {most} {by}s", found=k)
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


def respondent_codes(table: ChoiceTable, respondents: Iterable[Hashable]) -> Integers:
    """Return the ascending codes of respondents given by name."""
    _require_list(respondents, "respondents", "a list of names")
    wanted = list(dict.fromkeys(plain(name) for name in respondents))
    codes = table.respondents.get_indexer(pd.Index(wanted))
    for place in np.flatnonzero(codes < 0)[:1]:
        message = "there is no respondent {found}"
        raise unknown(message, wanted[place], table.respondents, "respondents", argument="respondents")
    if not len(codes):
        raise DataError("{argument} is empty", argument="respondents", remedy="name at least one")
    return np.sort(codes).astype(np.int64)
