"""Which column of a table plays which role, columns of yes and no, and whose row each row is."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ranking.conjoint.data.findings import Place, Problems
from ranking.conjoint.data.label_text import guess, is_empty, listing, plain, text
from ranking.core.validation import Array, Integers
from ranking.errors import DataError, must_be

Booleans: TypeAlias = NDArray[np.bool_]
# A column of yes and no, True if its attributes are empty, or the value that all its attributes hold.
NoneOption: TypeAlias = str | bool | float | None
# A column, or the weights by respondent.
Weighting: TypeAlias = "str | Mapping[Hashable, float] | pd.Series[float] | None"

# What the column of alternatives is called where there is none.
ALTERNATIVE = "alternative"
# What tables are separated by, other than commas.
SEPARATORS = (";", "\t", "|")
# What a column of yes and no may hold, in any case.
YES = frozenset({"1", "true", "yes", "y", "x"})
NO = frozenset({"0", "false", "no", "n"})


@dataclass(frozen=True, eq=False)
class ColumnRoles:
    """The column of every role; `none` and `weight` may be values instead, see `NoneOption`, `Weighting`."""

    respondent: str
    task: str
    chosen: str
    alternative: str | None = None
    none: NoneOption = None
    weight: Weighting = None
    holdout: str | None = None

    @property
    def has_none(self) -> bool:
        """Whether alternatives can be the none option."""
        return self.none is not None and self.none is not False

    @property
    def columns(self) -> dict[str, str]:
        """The columns by role, without roles that have none."""
        return {role: column for role, column in vars(self).items() if isinstance(column, str)}


def require_columns(frame: object, columns: Mapping[str, str], attributes: Iterable[str]) -> None:
    """Raise one error about all columns that are missing, play two roles or hold containers.

    >>> require_columns(pd.DataFrame({"who": [1], "cost": [2]}), {"respondent": "who"}, ["cost"])
    """
    frame = require_table(frame)
    known = list(frame.columns)
    found = Problems()
    uses: dict[str, str] = {}
    for role, column in [*columns.items(), *(("attributes", name) for name in attributes)]:
        place = {"argument": role, "column": column}
        if column not in known:
            close = guess(column, known)
            advice: dict[str, Any] = (
                {"expected": close, "remedy": "did you mean {expected}?"} if close else {}
            )
            separators = [mark for mark in SEPARATORS if len(known) == 1 and mark in str(known[0])]
            for mark in separators[:1]:
                remedy = f"is the file separated by {mark!r}? then pass {{setting}}"
                advice = {"remedy": remedy, "setting": ("sep", mark)}
            message = "there is no column {column} ({argument}); the columns are {found}"
            found.add(message, **place, found=listing(known), **advice)
        elif column in uses:
            message = f"column {{column}} is both {uses[column]} and {role}"
            found.add(message, **place, remedy="name two columns")
        elif not all(map(pd.api.types.is_hashable, frame[column])):
            message = "column {column} holds lists or other containers; each cell must be {expected}"
            found.add(message, **place, expected="a word or a number")
        uses.setdefault(column, role)
    if ALTERNATIVE in known and ALTERNATIVE not in uses and "alternative" not in columns:
        found.add(
            "column {column} has no role",
            argument="alternative",
            column=ALTERNATIVE,
            remedy="pass {setting}, or rename it",
            setting=("alternative", ALTERNATIVE),
        )
    found.raise_any()


def require_table(frame: object) -> pd.DataFrame:
    """Return a table that has rows, and columns with different names, or raise."""
    if not isinstance(frame, pd.DataFrame):
        raise must_be("frame", "a pandas DataFrame", found=type(frame).__name__)
    if not len(frame):
        raise DataError("the data have no row below their header", argument="frame")
    double = frame.columns[frame.columns.duplicated()]
    if len(double):
        raise DataError("the column {column} occurs twice", column=double[0], remedy="rename one")
    return frame


def read_flags(column: "pd.Series[Any]", role: str, place: Place, found: Problems) -> Booleans:
    """Return which cells of a column say yes: 1, true, yes or x; 0, false and no say no.

    A column may say yes and be empty elsewhere. But where it says no in some cells, an empty one is a
    problem: it could be either.

    >>> read_flags(pd.Series(["x", None]), "chosen", lambda row: {"row": row + 1}, Problems()).tolist()
    [True, False]
    """
    words = pd.Series([text(cell).strip().casefold() for cell in column], dtype=object)
    empty = is_empty(column)
    yes, no = (words.isin(accepted).to_numpy(dtype=bool) & ~empty for accepted in (YES, NO))
    parts: dict[str, Any] = {"argument": role, "column": column.name, "expected": "1 or 0"}
    wrong = ~(yes | no | empty)
    found.add_rows(
        wrong,
        place,
        "column {column} ({argument}) is {found}, not {expected}",
        f"column {{column}} ({{argument}}) is not {{expected}} in {wrong.sum()} rows, the first is {{found}} "
        "({place}); is it the right column?",
        cells=column,
        **parts,
    )
    gaps, remedy = empty & no.any(), "write {expected}"
    found.add_rows(gaps, place, "column {column} ({argument}) is empty", remedy=remedy, **parts)
    return np.asarray(yes)


@dataclass(frozen=True, eq=False)
class RowIds:
    """The respondent, task and alternative of every row.

    `group` is the number of the task over all respondents, -1 for rows without a respondent or a task.
    """

    respondent: Array
    task: Array
    alternative: Array | None
    group: Integers

    def place(self, row: int) -> dict[str, Any]:
        """Return what a row belongs to, as parts of an error; rows are counted from 1."""
        if self.group[row] < 0:
            return {"row": row + 1}
        place = {"respondent": self.respondent[row], "task": self.task[row], "row": row + 1}
        return place if self.alternative is None else {**place, "alternative": self.alternative[row]}

    def task_place(self, row: int) -> dict[str, Any]:
        """Return the respondent and the task of a row, as parts of an error."""
        return {"respondent": self.respondent[row], "task": self.task[row]}

    def first_rows(self) -> Integers:
        """Return the first row of every task."""
        rows = np.flatnonzero(self.group >= 0)
        return rows[np.unique(self.group[rows], return_index=True)[1]]


def labels_of(column: "pd.Series[Any]") -> Array:
    """Return the cells of a column as labels, None where they are empty."""
    empty = is_empty(column)
    cells = [None if nothing else plain(cell) for cell, nothing in zip(column, empty, strict=True)]
    # the extra None keeps numpy from making a matrix of cells that are tuples
    return np.array([*cells, None], dtype=object)[:-1]


def read_row_ids(frame: pd.DataFrame, roles: ColumnRoles, found: Problems) -> RowIds:
    """Return the respondent, task and alternative of every row; rows without the first two are problems."""
    respondent, task = labels_of(frame[roles.respondent]), labels_of(frame[roles.task])
    alternative = None if roles.alternative is None else labels_of(frame[roles.alternative])
    no_respondent, no_task = is_empty(respondent), is_empty(task)
    require_ids(no_respondent, "respondent", roles.respondent, found)
    idle = set(respondent[~no_respondent]) - set(respondent[~no_respondent & ~no_task])
    for row in np.flatnonzero(no_task & ~no_respondent).tolist():
        who = "respondent {respondent}" + " has no task" * (respondent[row] in idle)
        message = f"{who}: column {{column}} ({{argument}}) is empty in row {{row}}"
        found.add(message, argument="task", column=roles.task, respondent=respondent[row], row=row + 1)
    group = np.full(len(frame), -1)
    known = ~no_respondent & ~no_task
    group[known] = pd.factorize(pd.MultiIndex.from_arrays([respondent[known], task[known]]))[0]
    return RowIds(respondent, task, alternative, group)


def require_ids(no_id: Booleans, role: str, column: str, found: Problems) -> None:
    """Add the rows that do not name their respondent or task."""
    message = "row {row}: column {column} ({argument}) is empty"
    found.add_each(no_id, lambda row: {"row": row + 1}, message, argument=role, column=column)
