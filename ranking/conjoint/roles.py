"""Roles: which column of a table names the respondent, which the task, and so on.

Room: names of columns in, a checked record out. Looks at the header of a table only.
May touch: `errors`, `labels`, `problems`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ranking.conjoint.labels import guess, listing
from ranking.conjoint.problems import Problems
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
