"""Cells: the columns of attributes, read as levels or numbers, with a sentence for every cell that is wrong.

Validation: does every task have one choice, and are its alternatives, none option and holdout mark sound?
"""

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import Attribute
from ranking.conjoint.data.columns import Booleans, Keys, Place, Roles, read_marks
from ranking.conjoint.data.messages import (
    Problems,
    counted,
    guess,
    in_order,
    is_empty,
    listing,
    plain,
    quoted,
    text,
)

# More numbers than this are hardly levels; whoever means it lists them.
MOST_NUMBERS = 30
WITHOUT_COMMA = "write a point for the comma, or read the file with decimal=','"
DECIMAL_COMMA = re.compile(r"\s*-?\d+,\d+\s*")


def read_cells(
    attribute: Attribute, column: "pd.Series[Any]", is_none: Booleans, place: Place, found: Problems
) -> tuple[Attribute, "pd.Series[Any]"]:
    """Return an attribute that knows its levels, and its column; cells of the none option are ignored.

    >>> sizes = pd.Series(["small", "large", None])
    >>> none = np.array([False, False, True])
    >>> attribute, column = read_cells(Attribute("size"), sizes, none, str, Problems())
    >>> attribute.levels, column.cat.codes.tolist()
    (('large', 'small'), [1, 0, -1])
    """
    column = column.reset_index(drop=True)
    used = ~is_empty(column) & ~is_none
    if not used.any():
        found.add(f"empty {attribute.name}", f"{attribute.name}: the whole column is empty")
        return attribute, column
    _note_empty(attribute.name, np.flatnonzero(~used & ~is_none).tolist(), place, found)
    if attribute.is_linear:
        return attribute, _numbers(attribute, column, used, place, found)
    settled = attribute if attribute.levels else _with_levels(attribute, column, used, place, found)
    return settled, _levels(settled, column, used, place, found)


def _numbers(
    attribute: Attribute, column: "pd.Series[Any]", used: Booleans, place: Place, found: Problems
) -> "pd.Series[Any]":
    """Return a column as numbers, NaN where it is not used."""
    values = pd.to_numeric(column.where(used).astype(object), errors="coerce").astype(float)
    rows = np.flatnonzero(used & ~np.isfinite(values.to_numpy())).tolist()

    def single(row: int) -> str:
        cell = column.iloc[row]
        remedy = f"; {WITHOUT_COMMA}" if _has_comma(cell) else ""
        return f"{place(row)}: {attribute.name} is {quoted(cell)}, which is not a number{remedy}"

    if rows:
        cell = column.iloc[rows[0]]
        first = f"the first is {quoted(cell)} ({place(rows[0])})"
        remedy = WITHOUT_COMMA if _has_comma(cell) else "write plain numbers"
        together = f"{attribute.name}: {len(rows)} rows are not numbers, {first}; {remedy}"
        found.add_rows(f"number {attribute.name}", rows, single, together)
    return values


def _has_comma(cell: Any) -> bool:
    return isinstance(cell, str) and DECIMAL_COMMA.fullmatch(cell) is not None


def _note_empty(name: str, rows: list[int], place: Place, found: Problems) -> None:
    if rows:
        together = f"{name}: {len(rows)} rows are empty, the first is {place(rows[0])}; fill them in"
        found.add_rows(
            f"empty {name}", rows, lambda row: f"{place(row)}: {name} is empty; fill it in", together
        )


def _levels(
    attribute: Attribute, column: "pd.Series[Any]", used: Booleans, place: Place, found: Problems
) -> "pd.Series[Any]":
    """Return a column as categories, one a level, empty where it is not used."""
    levels = list(attribute.levels or ())
    by_text = {text(level): code for code, level in enumerate(levels)}
    cells = [text(cell) for cell in column]
    codes = np.array([by_text.get(cell, -1) for cell in cells], dtype=np.int64)
    unknown = np.flatnonzero(used & (codes < 0)).tolist()
    rows = Counter(cells[row] for row in unknown)
    first = {cells[row]: row for row in reversed(unknown)}
    for cell in in_order(rows):
        row = first[cell]
        where = f"{counted(rows[cell], 'row')}, the first is {place(row)}"
        remedy = guess(column.iloc[row], levels) or f"; the levels are {listing(levels)}"
        name = quoted(column.iloc[row])
        found.add(f"level {attribute.name}", f"{attribute.name}: level {name} is unknown ({where}){remedy}")
    return pd.Series(pd.Categorical.from_codes(np.where(used, codes, -1), categories=pd.Index(levels)))


def _with_levels(
    attribute: Attribute, column: "pd.Series[Any]", used: Booleans, place: Place, found: Problems
) -> Attribute:
    """Return an attribute with the levels its column has, all categories of a categorical."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return attribute.with_levels(column.dtype.categories)
    cells = [plain(cell) for cell in column[used]]
    is_text = any(isinstance(cell, str) for cell in cells)
    levels = in_order(text(cell) if is_text else cell for cell in cells)
    if not is_text and len(levels) > MOST_NUMBERS:
        found.add(
            f"level {attribute.name}",
            f"{attribute.name} has {len(levels)} different numbers, many for levels; make it linear, "
            "say 'linear' in attributes=, or list its levels",
        )
    _require_no_twins(attribute.name, [text(cell) for cell in cells], found)
    return attribute.with_levels(levels)


def _require_no_twins(name: str, cells: list[str], found: Problems) -> None:
    """Note levels that differ only in blanks or capitals: most likely one level, mistyped."""
    counts = Counter(cells)
    groups: dict[str, list[str]] = {}
    for cell in in_order(counts):
        groups.setdefault(" ".join(cell.split()).casefold(), []).append(cell)
    for alike in groups.values():
        if len(alike) > 1:
            shown = " and ".join(f"{quoted(cell)} ({counted(counts[cell], 'row')})" for cell in alike)
            remedy = "spell them alike, or list the levels if they are meant"
            found.add(f"level {name}", f"{name}: {shown} differ only in blanks or capitals; {remedy}")


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
