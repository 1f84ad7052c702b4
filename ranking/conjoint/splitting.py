"""Splitting: which tasks are kept apart, to choose or to judge a model by.

Room: a sheet and a wish in, numbers of tasks out. A task is never divided.
May touch: `errors`, `labels`, `marks`, `problems`, `sheet`.
"""

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, Literal

import numpy as np
import pandas as pd

from ranking.arguments import Integers
from ranking.conjoint.labels import guess, listing, plain, quoted
from ranking.conjoint.marks import Booleans, read_marks
from ranking.conjoint.problems import Problems
from ranking.conjoint.sheet import Sheet
from ranking.errors import DataError

By = Literal["task", "respondent"]


def holdout_tasks(
    sheet: Sheet, last: int | None = None, tasks: Iterable[Any] | None = None, column: str | None = None
) -> Booleans:
    """Return which tasks are held out: the last ones, named ones, those a column marks, or those marked."""
    given = [
        name for name, value in (("last", last), ("tasks", tasks), ("column", column)) if value is not None
    ]
    if len(given) > 1:
        raise DataError(f"give one of last, tasks and column, got {' and '.join(given)}")
    if last is not None:
        held = _last_tasks(sheet, last)
    elif tasks is not None:
        held = _named_tasks(sheet, tasks)
    else:
        held = sheet.is_holdout if column is None else _marked_tasks(sheet, column)
    if not held.any():
        raise DataError("no task is held out; say which: last=3, tasks=[...] or column='...'")
    if held.all():
        raise DataError("all tasks are held out, so none is left to learn from; hold out fewer")
    return held


def fold_tasks(sheet: Sheet, k: int, random_state: Any, by: By) -> Iterator[Integers]:
    """Yield the tasks of every fold; every task is in one of them.

    By task, the tasks of every respondent are spread over the folds as evenly as they can be, at random; by
    respondent, all tasks of a respondent are in the same fold.
    """
    if by not in ("task", "respondent"):
        raise DataError(f"by must be 'task' or 'respondent', got {by!r}")
    respondent = sheet.choices.respondent
    most = len(respondent) if by == "task" else len(np.unique(respondent))
    if not isinstance(k, Integral) or isinstance(k, bool) or not 2 <= k <= most:
        raise DataError(f"k must be a number of folds from 2 to the {most} {by}s, got {k!r}")
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
        raise DataError(f"last must be a positive number of tasks, got {last!r}")
    respondent = sheet.choices.respondent
    counts = np.bincount(respondent, minlength=len(sheet.respondents))
    for code in np.flatnonzero((counts <= last) & (counts > 0))[:1]:
        few = int((counts <= last).sum())
        raise DataError(
            f"last={last}, but respondent {sheet.respondents[code]} has only {counts[code]} tasks "
            f"({few} such in all); hold out fewer, or leave them out with .only(respondents=...)"
        )
    # tasks of a respondent are neighbours, so the place from behind follows from where they end
    place = np.cumsum(counts)[respondent] - np.arange(len(respondent))
    return np.asarray(place <= last)


def _named_tasks(sheet: Sheet, tasks: Iterable[Any]) -> Booleans:
    if isinstance(tasks, str):
        raise DataError(f"tasks must be a list of task names, got {tasks!r}; write tasks=[{tasks!r}]")
    known = list(dict.fromkeys(sheet.choices.task.tolist()))
    wanted = [plain(task) for task in tasks]
    for task in wanted:
        if task not in known:
            remedy = guess(task, known) or f"; the tasks are {listing(known)}"
            raise DataError(f"tasks names {quoted(task)}, which is no task of the study{remedy}")
    return np.isin(sheet.choices.task.astype(object), np.array([*wanted, None], dtype=object)[:-1])


def _marked_tasks(sheet: Sheet, column: str) -> Booleans:
    """Return the tasks marked in a column without a role, whose rows must agree within a task."""
    if column == sheet.roles.holdout:
        return sheet.is_holdout
    if column not in sheet.extras:
        remedy = guess(column, sheet.extras.columns) or f"; there are {listing(list(sheet.extras.columns))}"
        raise DataError(f"column={column!r} is no column without a role{remedy}")
    found, task = Problems(), sheet.choices.task_of_row
    cells = sheet.extras[column]
    marked = read_marks(cells, "holdout", lambda row: sheet.place(int(task[row])), found)
    held = marked[sheet.choices.first]
    for t in np.unique(task[marked != held[task]]).tolist():
        found.add("holdout", f"{sheet.place(t)}: column {column!r} marks some alternatives, not all")
    found.raise_any()
    return np.asarray(held)


def respondent_codes(sheet: Sheet, respondents: Iterable[Any]) -> Integers:
    """Return the ascending codes of respondents given by name."""
    if isinstance(respondents, str):
        raise DataError(f"respondents must be a list of names, got {respondents!r}; write [{respondents!r}]")
    wanted = list(dict.fromkeys(plain(name) for name in respondents))
    codes = sheet.respondents.get_indexer(pd.Index(wanted))
    for place in np.flatnonzero(codes < 0)[:1]:
        known = list(sheet.respondents)
        remedy = guess(wanted[place], known) or f"; there are {listing(known)}"
        raise DataError(f"there is no respondent {quoted(wanted[place])}{remedy}")
    if not len(codes):
        raise DataError("respondents is empty; name at least one")
    return np.sort(codes).astype(np.int64)
