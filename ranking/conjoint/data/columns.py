"""Roles: which column of a table names the respondent, which the task, and so on.

Marks: columns that say yes or no, for what was chosen, for the none option, for holdout tasks.

Keys: whose row it is, of which task, and which alternative.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ranking.conjoint.data.messages import Problems, guess, is_empty, listing, plain, quoted, text
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
    wanted = [*columns.items(), *((f"attribute {name}", name) for name in attributes)]
    for role, column in wanted:
        if column not in known:
            found.add("column", _not_there(role, column, known))
        elif column in uses:
            found.add("column", f"column {column!r} is both {uses[column]} and {role}; name two columns")
        elif not all(map(pd.api.types.is_hashable, frame[column])):
            found.add("column", f"column {column!r} holds lists or the like; a cell is a word or a number")
        uses.setdefault(column, role)
    if ALTERNATIVE in known and ALTERNATIVE not in uses and "alternative" not in columns:
        found.add("column", "there is a column 'alternative'; say alternative='alternative', or rename it")
    found.raise_any()


def require_table(frame: Any) -> None:
    """Raise unless a table has rows, and columns with different names."""
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"the data must be a pandas DataFrame, got {type(frame).__name__}")
    if not len(frame):
        raise DataError("the data have no row below their header")
    double = frame.columns[frame.columns.duplicated()]
    if len(double):
        raise DataError(f"the column {double[0]!r} is there twice; rename one")


def _not_there(role: str, column: Any, known: list[Any]) -> str:
    sentence = f"there is no column {column!r} ({role}); the columns are {listing(known)}"
    for separator in SEPARATORS:
        if len(known) == 1 and separator in str(known[0]):
            return f"{sentence}; is the file separated by {separator!r}? then pass sep={separator!r}"
    return sentence + guess(column, known)


Booleans: TypeAlias = NDArray[np.bool_]
# Tells in words where a row is.
Place: TypeAlias = Callable[[int], str]

YES = frozenset({"1", "true", "yes", "y", "x"})
NO = frozenset({"0", "false", "no", "n"})


def read_marks(column: "pd.Series[Any]", role: str, place: Place, found: Problems) -> Booleans:
    """Return which cells of a column say yes: 1, true, yes or x; 0, false and no say no.

    A column may hold its marks alone and be empty elsewhere; where it says no in some cells, an empty one is
    a problem.

    >>> read_marks(pd.Series(["x", None]), "chosen", "row {}".format, Problems()).tolist()
    [True, False]
    """
    words = pd.Series([text(cell).strip().casefold() for cell in column], dtype=object)
    empty = is_empty(column)
    yes, no = (words.isin(accepted).to_numpy(dtype=bool) & ~empty for accepted in (YES, NO))
    name = f"column {column.name!r} ({role})"
    _note_wrong(np.flatnonzero(~(yes | no | empty)).tolist(), column, name, role, place, found)
    gaps = np.flatnonzero(empty & no.any()).tolist()
    if gaps:
        together = f"{name} is empty in {len(gaps)} rows, the first is {place(gaps[0])}; write 1 or 0"
        found.add_rows(role, gaps, lambda row: f"{place(row)}: {name} is empty; write 1 or 0", together)
    return np.asarray(yes)


def _note_wrong(
    rows: list[int], column: "pd.Series[Any]", name: str, role: str, place: Place, found: Problems
) -> None:
    """Note cells that say neither yes nor no."""
    if rows:
        first = f"the first is {quoted(column.iloc[rows[0]])} ({place(rows[0])})"
        together = f"{name} is neither 1 nor 0 in {len(rows)} rows, {first}; is it the right column?"
        found.add_rows(
            role,
            rows,
            lambda row: f"{place(row)}: {name} is {quoted(column.iloc[row])}, neither 1 nor 0",
            together,
        )


@dataclass(frozen=True, eq=False)
class Keys:
    """Respondent, task and alternative of every row as labels, and the number of the task over all
    respondents, -1 for rows that name no respondent or no task."""

    respondent: Array
    task: Array
    alternative: Array | None
    group: Integers

    def place(self, row: int) -> str:
        """Return where a row is, in words."""
        if self.group[row] < 0:
            return f"row {row + 1}"
        whole = self.place_of_task(row)
        name = None if self.alternative is None else self.alternative[row]
        return f"{whole} (row {row + 1})" if name is None else f"{whole}, alternative {name}"

    def place_of_task(self, row: int) -> str:
        """Return where the task of a row is, in words."""
        return f"respondent {self.respondent[row]}, task {self.task[row]}"

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
        found.add("respondent", f"row {row + 1}: column {roles.respondent!r} is empty; whose answer is it?")
    idle = set(respondent[~nobody]) - set(respondent[~nobody & ~nothing])
    for row in np.flatnonzero(nothing & ~nobody).tolist():
        name = respondent[row]
        who = f"respondent {name} has no task" if name in idle else f"respondent {name}"
        found.add("task", f"{who}: column {roles.task!r} is empty in row {row + 1}")
    group = np.full(len(frame), -1)
    known = ~nobody & ~nothing
    group[known] = pd.factorize(pd.MultiIndex.from_arrays([respondent[known], task[known]]))[0]
    return Keys(respondent, task, alternative, group)
