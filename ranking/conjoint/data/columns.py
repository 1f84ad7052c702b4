"""Roles: which column of a table names the respondent, which the task, and so on.

Marks: columns that say yes or no, for what was chosen, for the none option, for holdout tasks.

Keys: whose row it is, of which task, and which alternative.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ranking.conjoint.data.messages import Place, Problems, guess, is_empty, listing, plain, text
from ranking.core.validation import Array, Integers
from ranking.errors import DataError

# What the column of alternatives is called where there is none.
ALTERNATIVE = "alternative"
# What tables are separated by, beside commas.
SEPARATORS = (";", "\t", "|")


@dataclass(frozen=True, eq=False)
class Roles:
    """What columns mean. `none` is a column of marks, True for empty rows, or a value rows are filled with;
    `weight` is a column or the weights by respondent."""

    respondent: str
    task: str
    chosen: str
    alternative: str | None = None
    none: Any = None
    weight: Any = None
    holdout: str | None = None

    @property
    def has_none(self) -> bool:
        """Whether alternatives can be the none option."""
        return self.none is not None and self.none is not False

    @property
    def columns(self) -> dict[str, str]:
        """The columns by role, without those that are not there."""
        named = {
            "respondent": self.respondent,
            "task": self.task,
            "chosen": self.chosen,
            "alternative": self.alternative,
            "none": self.none if isinstance(self.none, str) else None,
            "weight": self.weight if isinstance(self.weight, str) else None,
            "holdout": self.holdout,
        }
        return {role: column for role, column in named.items() if column is not None}


def require_columns(frame: Any, columns: Mapping[str, str], attributes: Iterable[str]) -> None:
    """Raise one error that tells every column that is not in a table, and every one with two roles.

    >>> require_columns(pd.DataFrame({"who": [1], "cost": [2]}), {"respondent": "who"}, ["cost"])
    """
    require_table(frame)
    known = list(frame.columns)
    found = Problems()
    uses: dict[str, str] = {}
    wanted = [*columns.items(), *(("attributes", name) for name in attributes)]
    for role, column in wanted:
        if column not in known:
            _add_missing(role, column, known, found)
        elif column in uses:
            found.add(
                f"column {{column}} is both {uses[column]} and {role}",
                column=column,
                argument=role,
                remedy="name two columns",
            )
        elif not all(map(pd.api.types.is_hashable, frame[column])):
            found.add(
                "column {column} holds lists or other containers; each cell must be {expected}",
                column=column,
                argument=role,
                expected="a word or a number",
            )
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


def require_table(frame: Any) -> None:
    """Raise unless a table has rows, and columns with different names."""
    if not isinstance(frame, pd.DataFrame):
        raise DataError(argument="frame", expected="a pandas DataFrame", found=type(frame).__name__)
    if not len(frame):
        raise DataError("the data have no row below their header", argument="frame")
    double = frame.columns[frame.columns.duplicated()]
    if len(double):
        raise DataError("the column {column} occurs twice", column=double[0], remedy="rename one")


def _add_missing(role: str, column: Any, known: list[Any], found: Problems) -> None:
    """Add that a column is missing; a single column with other separators in its name gives the reason."""
    remedy: dict[str, Any] = {}
    for separator in SEPARATORS:
        if len(known) == 1 and separator in str(known[0]):
            remedy = {
                "remedy": f"is the file separated by {separator!r}? then pass {{setting}}",
                "setting": ("sep", separator),
            }
    if not remedy and (close := guess(column, known)):
        remedy = {"expected": close, "remedy": "did you mean {expected}?"}
    found.add(
        "there is no column {column} ({argument}); the columns are {found}",
        argument=role,
        column=column,
        found=listing(known),
        **remedy,
    )


Booleans: TypeAlias = NDArray[np.bool_]

YES = frozenset({"1", "true", "yes", "y", "x"})
NO = frozenset({"0", "false", "no", "n"})


def read_marks(column: "pd.Series[Any]", role: str, place: Place, found: Problems) -> Booleans:
    """Return which cells of a column say yes: 1, true, yes or x; 0, false and no say no.

    A column may hold its marks alone and be empty elsewhere; where it says no in some cells, an empty one is
    a problem.

    >>> read_marks(pd.Series(["x", None]), "chosen", lambda row: {"row": row + 1}, Problems()).tolist()
    [True, False]
    """
    words = pd.Series([text(cell).strip().casefold() for cell in column], dtype=object)
    empty = is_empty(column)
    yes, no = (words.isin(accepted).to_numpy(dtype=bool) & ~empty for accepted in (YES, NO))
    wrong = np.flatnonzero(~(yes | no | empty)).tolist()
    found.add_rows(
        wrong,
        place,
        "{place}: column {column} ({argument}) is {found}, not {expected}",
        f"column {{column}} ({{argument}}) is not {{expected}} in {len(wrong)} rows, the first is {{found}} "
        "({place}); is it the right column?",
        cells=column,
        argument=role,
        column=column.name,
        expected="1 or 0",
    )
    gaps = np.flatnonzero(empty & no.any()).tolist()
    found.add_rows(
        gaps,
        place,
        "{place}: column {column} ({argument}) is empty",
        f"column {{column}} ({{argument}}) is empty in {len(gaps)} rows, the first is {{place}}",
        argument=role,
        column=column.name,
        expected="1 or 0",
        remedy="write {expected}",
    )
    return np.asarray(yes)


@dataclass(frozen=True, eq=False)
class Keys:
    """Respondent, task and alternative of every row as labels, and the number of the task over all
    respondents, -1 for rows that name no respondent or no task."""

    respondent: Array
    task: Array
    alternative: Array | None
    group: Integers

    def place(self, row: int) -> dict[str, Any]:
        """Return what a row belongs to, as parts of an error; rows are counted from 1."""
        if self.group[row] < 0:
            return {"row": row + 1}
        alternative = None if self.alternative is None else self.alternative[row]
        return {**self.task_place(row), "alternative": alternative, "row": row + 1}

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
    return np.array([*cells, None], dtype=object)[:-1]


def read_keys(frame: pd.DataFrame, roles: Roles, found: Problems) -> Keys:
    """Return who and what every row is about, noting rows that do not say."""
    respondent, task = labels_of(frame[roles.respondent]), labels_of(frame[roles.task])
    alternative = None if roles.alternative is None else labels_of(frame[roles.alternative])
    nobody, nothing = is_empty(respondent), is_empty(task)
    for row in np.flatnonzero(nobody).tolist():
        found.add(
            "row {row}: column {column} ({argument}) is empty",
            argument="respondent",
            column=roles.respondent,
            row=row + 1,
        )
    idle = set(respondent[~nobody]) - set(respondent[~nobody & ~nothing])
    for row in np.flatnonzero(nothing & ~nobody).tolist():
        who = "respondent {respondent}" + " has no task" * (respondent[row] in idle)
        found.add(
            f"{who}: column {{column}} ({{argument}}) is empty in row {{row}}",
            argument="task",
            column=roles.task,
            respondent=respondent[row],
            row=row + 1,
        )
    group = np.full(len(frame), -1)
    known = ~nobody & ~nothing
    group[known] = pd.factorize(pd.MultiIndex.from_arrays([respondent[known], task[known]]))[0]
    return Keys(respondent, task, alternative, group)
