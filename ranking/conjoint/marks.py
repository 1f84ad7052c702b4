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
    wrong = ~(yes | no | empty)
    for row in np.flatnonzero(wrong).tolist():
        cell = quoted(column.iloc[row])
        found.add(role, f"{place(row)}: column {column.name!r} ({role}) is {cell}, neither 1 nor 0")
    for row in np.flatnonzero(empty & no.any()).tolist():
        found.add(role, f"{place(row)}: column {column.name!r} ({role}) is empty; write 1 or 0")
    return np.asarray(yes)
