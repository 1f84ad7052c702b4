"""Marks: columns that say yes or no, for what was chosen, for the none option, for holdout tasks.

Room: one column in, a vector of booleans out. Knows no task.
May touch: `labels`, `problems`.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ranking.conjoint.labels import is_empty, quoted, text
from ranking.conjoint.problems import Problems

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
