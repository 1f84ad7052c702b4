"""Validation: does every task have one choice, and are its alternatives, none option and holdout mark sound?

Room: long data and the keys of its rows in, sentences about what is wrong out, each with respondent and task.
May touch: `labels`, `marks`, `problems`, `roles`, `keys`.
"""

from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.keys import Keys
from ranking.conjoint.labels import is_empty, listing, quoted, text
from ranking.conjoint.marks import Booleans, read_marks
from ranking.conjoint.problems import Problems
from ranking.conjoint.roles import Roles

# What to do about tasks without a choice if there is no none option, said with the first of them.
NOTHING_TAKEN = "; mark one, or if nothing was taken, add the none option as an alternative"


def read_chosen(frame: pd.DataFrame, roles: Roles, keys: Keys, found: Problems) -> Booleans:
    """Return which rows were chosen, one in every task."""
    column = frame[roles.chosen]
    if _names_alternatives(column, keys):
        found.add(
            "chosen",
            f"column {column.name!r} (chosen) names the chosen alternative in every row of a task; "
            "mark the chosen row by 1 and the others by 0: (data[chosen] == data[alternative]).astype(int)",
        )
        return np.zeros(len(column), dtype=bool)
    chosen = read_marks(column, "chosen", keys.place, found)
    check_choices(keys, chosen, roles, found)
    return chosen


def _names_alternatives(column: "pd.Series[Any]", keys: Keys) -> bool:
    """Return whether all rows of a task hold the same name, that of one of its alternatives."""
    if keys.alternative is None or (keys.group < 0).any():
        return False
    cells = pd.DataFrame(
        {"group": keys.group, "named": map(text, column), "own": map(text, keys.alternative)}
    )
    hits = (cells["named"] == cells["own"]).groupby(cells["group"]).sum()
    return bool((cells.groupby("group")["named"].nunique() == 1).all() and (hits == 1).all())


def check_choices(keys: Keys, chosen: Booleans, roles: Roles, found: Problems) -> None:
    """Note tasks without exactly one choice, and tasks that leave nothing to choose."""
    known = keys.group >= 0
    sizes = np.bincount(keys.group[known])
    marks = np.bincount(keys.group[known], weights=chosen[known])
    remedy = "" if roles.has_none else NOTHING_TAKEN
    for row in keys.first_rows().tolist():
        group = keys.group[row]
        where = keys.place_of_task(row)
        if sizes[group] == 1:
            found.add("size", f"{where} has one alternative; a choice needs at least two rows")
        if marks[group] == 0:
            found.add("choice", f"{where} has no choice in column {roles.chosen!r}{remedy}")
            remedy = ""
        if marks[group] > 1:
            rows = np.flatnonzero((keys.group == group) & chosen)
            names = rows + 1 if keys.alternative is None else keys.alternative[rows]
            what = "rows" if keys.alternative is None else "alternatives"
            shown = listing(names.tolist())
            found.add("choice", f"{where} has {int(marks[group])} choices, {what} {shown}; keep one")


def check_alternatives(frame: pd.DataFrame, keys: Keys, found: Problems) -> None:
    """Note rows that are there twice: by the name of their alternative, or as a whole if they have none."""
    if keys.alternative is None:
        _note_equal_rows(frame, keys, found)
        return
    empty = is_empty(keys.alternative)
    for row in np.flatnonzero(empty & (keys.group >= 0)).tolist():
        found.add("alternative", f"{keys.place(row)}: the alternative has no name")
    rows = np.flatnonzero(~empty & (keys.group >= 0))
    names = pd.MultiIndex.from_arrays([keys.group[rows], keys.alternative[rows]])
    for row in rows[names.duplicated()].tolist():
        name = quoted(keys.alternative[row])
        where = keys.place_of_task(row)
        found.add("alternative", f"{where}: alternative {name} is there again in row {row + 1}; remove one")


def _note_equal_rows(frame: pd.DataFrame, keys: Keys, found: Problems) -> None:
    cells = frame.astype(object).where(~frame.isna(), None).assign(**{"": keys.group})
    again = cells.duplicated().to_numpy() & (keys.group >= 0)
    for row in np.flatnonzero(again).tolist():
        found.add(
            "alternative",
            f"{keys.place_of_task(row)}: row {row + 1} repeats another row; remove it, or number the "
            "alternatives in a column, alternative=..., if the same was shown twice",
        )


def read_none(
    frame: pd.DataFrame, roles: Roles, attributes: list[str], keys: Keys, found: Problems
) -> Booleans:
    """Return which rows are the none option, of which a task may have one."""
    empty = np.logical_and.reduce([is_empty(frame[name]) for name in attributes])
    if not roles.has_none:
        _note_nameless(np.flatnonzero(empty).tolist(), keys, found)
        return np.asarray(empty)
    if isinstance(roles.none, str):
        marked = read_marks(frame[roles.none], "none", keys.place, found)
    elif roles.none is True:
        marked = np.asarray(empty)
    else:
        marked = np.logical_and.reduce([_holds(frame[name], roles.none) for name in attributes])
    if not isinstance(roles.none, str) and not marked.any():
        wanted = "empty" if roles.none is True else quoted(roles.none)
        found.add("none", f"no row has all attributes {wanted}; leave none= out")
    rows = np.flatnonzero(marked & (keys.group >= 0))
    for row in rows[pd.Index(keys.group[rows]).duplicated()].tolist():
        found.add("none", f"{keys.place_of_task(row)} has more than one none option, again in row {row + 1}")
    return np.asarray(marked)


def _note_nameless(rows: list[int], keys: Keys, found: Problems) -> None:
    """Note rows that are most likely the none option, though nothing was said of one."""
    if rows:
        what = "all attributes are empty; if this is the none option, pass none=True"
        together = f"{len(rows)} rows, the first is {keys.place(rows[0])}: {what}"
        found.add_rows("none", rows, lambda row: f"{keys.place(row)}: {what}", together)


def _holds(column: "pd.Series[Any]", value: Any) -> Booleans:
    return np.array([text(cell) == text(value) for cell in column], dtype=bool)


def read_holdout(frame: pd.DataFrame, roles: Roles, keys: Keys, found: Problems) -> Booleans:
    """Return which rows belong to holdout tasks; all rows of a task must agree."""
    if roles.holdout is None:
        return np.zeros(len(frame), dtype=bool)
    marked = read_marks(frame[roles.holdout], "holdout", keys.place, found)
    known = keys.group >= 0
    share = np.bincount(keys.group[known], weights=marked[known]) / np.bincount(keys.group[known])
    for row in keys.first_rows().tolist():
        if 0 < share[keys.group[row]] < 1:
            where = keys.place_of_task(row)
            found.add("holdout", f"{where}: column {roles.holdout!r} marks some alternatives, not all")
    return marked
