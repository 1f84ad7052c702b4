"""Cells: the columns of attributes, read as levels or numbers, with a sentence for every cell that is wrong.

Validation: does every task have one choice, and are its alternatives, none option and holdout mark sound?
"""

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import Attribute
from ranking.conjoint.data.columns import Booleans, Keys, Roles, read_marks
from ranking.conjoint.data.messages import (
    Place,
    Problems,
    advice,
    counted,
    in_order,
    is_empty,
    listing,
    plain,
    quoted,
    text,
)

# More numbers than this are hardly levels; whoever means it lists them.
MOST_NUMBERS = 30
DECIMAL_COMMA = re.compile(r"\s*-?\d+,\d+\s*")


def read_cells(
    attribute: Attribute, column: "pd.Series[Any]", is_none: Booleans, place: Place, found: Problems
) -> tuple[Attribute, "pd.Series[Any]"]:
    """Return an attribute that knows its levels, and its column; cells of the none option are ignored.

    >>> sizes = pd.Series(["small", "large", None])
    >>> none = np.array([False, False, True])
    >>> attribute, column = read_cells(Attribute("size"), sizes, none, lambda row: {}, Problems())
    >>> attribute.levels, column.cat.codes.tolist()
    (('large', 'small'), [1, 0, -1])
    """
    column = column.reset_index(drop=True)
    used = ~is_empty(column) & ~is_none
    if not used.any():
        found.add("attribute {column}: the whole column is empty", column=attribute.name)
        return attribute, column
    empty = np.flatnonzero(~used & ~is_none).tolist()
    found.add_rows(
        empty,
        place,
        "{place}: attribute {column} is empty",
        f"attribute {{column}} is empty in {len(empty)} rows, the first is {{place}}",
        column=attribute.name,
        remedy="fill it in",
    )
    if attribute.is_linear:
        return attribute, _numbers(attribute, column, used, place, found)
    settled = attribute if attribute.levels else _with_levels(attribute, column, used, place, found)
    return settled, _levels(settled, column, used, place, found)


def _numbers(
    attribute: Attribute, column: "pd.Series[Any]", used: Booleans, place: Place, found: Problems
) -> "pd.Series[Any]":
    """Return a column as numbers, NaN where it is not used."""
    values = pd.to_numeric(column.where(used).astype(object), errors="coerce").astype(float)
    wrong = used & ~np.isfinite(values.to_numpy())
    has_comma = np.array(
        [isinstance(cell, str) and DECIMAL_COMMA.fullmatch(cell) is not None for cell in column]
    )
    remedies: list[tuple[Booleans, dict[str, Any]]] = [
        (
            has_comma,
            {
                "remedy": "write a decimal point instead of the comma, or pass {setting}",
                "setting": ("decimal", ","),
            },
        ),
        (~has_comma, {}),
    ]
    for those, remedy in remedies:
        rows = np.flatnonzero(wrong & those).tolist()
        found.add_rows(
            rows,
            place,
            "{place}: attribute {column} is {found}, which is not a number",
            f"attribute {{column}} is not a number in {len(rows)} rows, the first is {{found}} ({{place}})",
            cells=column,
            column=attribute.name,
            expected="a number",
            **remedy,
        )
    return values


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
        found.add(
            f"attribute {{column}}: level {{found}} is unknown ({counted(rows[cell], 'row')}, "
            "the first is {place})",
            column=attribute.name,
            found=quoted(column.iloc[row]),
            **advice(column.iloc[row], levels, "levels"),
            **place(row),
        )
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
            f"attribute {{column}} has {len(levels)} different numbers, too many for levels",
            argument="attributes",
            column=attribute.name,
            found=f"{len(levels)} different numbers",
            expected=f"at most {MOST_NUMBERS}",
            remedy="make it linear, {setting}, or list its levels",
            setting=("attributes", {attribute.name: "linear"}),
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
            found.add(
                "attribute {column}: {found} differ only in blanks or capitals",
                column=name,
                found=shown,
                remedy="spell them alike, or list the levels if they are meant",
            )


# What to do about tasks without a choice if there is no none option; the first of them says it.
NOTHING_TAKEN = "mark one, or if nothing was taken, add the none option as an alternative"


def read_chosen(frame: pd.DataFrame, roles: Roles, keys: Keys, found: Problems) -> Booleans:
    """Return which rows were chosen, one in every task."""
    column = frame[roles.chosen]
    if _names_alternatives(column, keys):
        found.add(
            "column {column} ({argument}) names the chosen alternative in every row of a task",
            argument="chosen",
            column=column.name,
            expected="1 in the row of the chosen alternative and 0 in the others",
            remedy="write {expected}",
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
    remedy = None if roles.has_none else NOTHING_TAKEN
    role = {"argument": "chosen", "column": roles.chosen}
    for row in keys.first_rows().tolist():
        group = keys.group[row]
        where = keys.task_place(row)
        if sizes[group] == 1:
            found.add("{place} has one alternative", expected="at least two", **where)
        if marks[group] == 0:
            found.add("{place} has no choice in column {column}", remedy=remedy, **role, **where)
            remedy = None
        if marks[group] > 1:
            rows = np.flatnonzero((keys.group == group) & chosen)
            names = rows + 1 if keys.alternative is None else keys.alternative[rows]
            what = "rows" if keys.alternative is None else "alternatives"
            shown = f"{int(marks[group])} choices, {what} {listing(names.tolist())}"
            found.add("{place} has {found}", found=shown, remedy="keep one", **role, **where)


def check_alternatives(frame: pd.DataFrame, keys: Keys, found: Problems) -> None:
    """Note rows that are there twice: by the name of their alternative, or as a whole if they have none."""
    if keys.alternative is None:
        _note_equal_rows(frame, keys, found)
        return
    empty = is_empty(keys.alternative)
    for row in np.flatnonzero(empty & (keys.group >= 0)).tolist():
        found.add("{place}: the alternative has no name", **keys.place(row))
    rows = np.flatnonzero(~empty & (keys.group >= 0))
    names = pd.MultiIndex.from_arrays([keys.group[rows], keys.alternative[rows]])
    for row in rows[names.duplicated()].tolist():
        found.add("{place} occurs again in row {row}", remedy="remove one", **keys.place(row))


def _note_equal_rows(frame: pd.DataFrame, keys: Keys, found: Problems) -> None:
    cells = frame.astype(object).where(~frame.isna(), None).assign(**{"": keys.group})
    again = cells.duplicated().to_numpy() & (keys.group >= 0)
    for row in np.flatnonzero(again).tolist():
        found.add(
            "respondent {respondent}, task {task}: row {row} repeats another row",
            argument="alternative",
            remedy="remove it, or, if the same was shown twice, number the alternatives in a column and name "
            "that column by {argument}",
            **keys.place(row),
        )


def read_none(
    frame: pd.DataFrame, roles: Roles, attributes: list[str], keys: Keys, found: Problems
) -> Booleans:
    """Return which rows are the none option, of which a task may have one."""
    empty = np.logical_and.reduce([is_empty(frame[name]) for name in attributes])
    if not roles.has_none:
        rows = np.flatnonzero(empty).tolist()
        found.add_rows(
            rows,
            keys.place,
            "{place}: all attributes are empty",
            f"all attributes are empty in {len(rows)} rows, the first is {{place}}",
            argument="none",
            remedy="if this is the none option, pass {setting}",
            setting=("none", True),
        )
        return np.asarray(empty)
    if isinstance(roles.none, str):
        marked = read_marks(frame[roles.none], "none", keys.place, found)
    elif roles.none is True:
        marked = np.asarray(empty)
    else:
        marked = np.logical_and.reduce([_holds(frame[name], roles.none) for name in attributes])
    if not isinstance(roles.none, str) and not marked.any():
        wanted = "empty" if roles.none is True else quoted(roles.none)
        found.add(
            "no row has all attributes {expected}",
            argument="none",
            expected=wanted,
            remedy="leave {argument} out",
        )
    rows = np.flatnonzero(marked & (keys.group >= 0))
    for row in rows[pd.Index(keys.group[rows]).duplicated()].tolist():
        found.add(
            "respondent {respondent}, task {task} has more than one none option, again in row {row}",
            argument="none",
            **keys.place(row),
        )
    return np.asarray(marked)


def _holds(column: "pd.Series[Any]", value: Any) -> Booleans:
    return np.array([text(cell) == text(value) for cell in column], dtype=bool)


def add_partly_held(column: str, where: dict[str, Any], found: Problems) -> None:
    """Add that the rows of a task do not agree on whether it is held out."""
    found.add(
        "{place}: column {column} ({argument}) marks some alternatives, not all",
        argument="holdout",
        column=column,
        **where,
    )


def read_holdout(frame: pd.DataFrame, roles: Roles, keys: Keys, found: Problems) -> Booleans:
    """Return which rows belong to holdout tasks; all rows of a task must agree."""
    if roles.holdout is None:
        return np.zeros(len(frame), dtype=bool)
    marked = read_marks(frame[roles.holdout], "holdout", keys.place, found)
    known = keys.group >= 0
    share = np.bincount(keys.group[known], weights=marked[known]) / np.bincount(keys.group[known])
    for row in keys.first_rows().tolist():
        if 0 < share[keys.group[row]] < 1:
            add_partly_held(roles.holdout, keys.task_place(row), found)
    return marked
