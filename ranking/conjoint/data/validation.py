"""Validation of long data: attributes, choices, alternatives, the none option and holdout tasks.

Every function reads one role of the table and adds a finding to `Problems` for whatever is wrong with it, so
that users see all problems of a file at once.
"""

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import Attribute
from ranking.conjoint.data.columns import Booleans, ColumnRoles, RowIds, read_flags
from ranking.conjoint.data.findings import Place, Problems
from ranking.conjoint.data.label_text import advice, in_order, is_empty, listing, plain, quoted, text
from ranking.core.validation import counted

# More different numbers than this are hardly levels; if they are meant, they can be listed.
MOST_NUMBERS = 30
DECIMAL_COMMA = re.compile(r"\s*-?\d+,\d+\s*")
# What to do about tasks without a choice if there is no none option; the first of them says it.
NOTHING_TAKEN = "mark one, or if nothing was taken, add the none option as an alternative"


def read_attribute(
    attribute: Attribute, column: "pd.Series[Any]", is_none: Booleans, place: Place, found: Problems
) -> tuple[Attribute, "pd.Series[Any]"]:
    """Return an attribute with its levels, and its column; cells of the none option are ignored.

    >>> sizes = pd.Series(["small", "large", None])
    >>> none = np.array([False, False, True])
    >>> attribute, column = read_attribute(Attribute("size"), sizes, none, lambda row: {}, Problems())
    >>> attribute.levels, column.cat.codes.tolist()
    (('large', 'small'), [1, 0, -1])
    """
    column = column.reset_index(drop=True)
    used = ~is_empty(column) & ~is_none
    if not used.any():
        found.add("attribute {column}: the whole column is empty", column=attribute.name)
        return attribute, column
    empty, what = ~used & ~is_none, "attribute {column} is empty"
    found.add_rows(empty, place, what, column=attribute.name, remedy="fill it in")
    if attribute.is_linear:
        return attribute, _read_numbers(attribute.name, column, used, place, found)
    known = attribute if attribute.levels else _with_levels(attribute, column, used, found)
    return known, _read_levels(known, column, used, place, found)


def _read_numbers(
    name: str, column: "pd.Series[Any]", used: Booleans, place: Place, found: Problems
) -> "pd.Series[Any]":
    """Return a column as numbers, NaN where it is not used."""
    values = pd.to_numeric(column.where(used).astype(object), errors="coerce").astype(float)
    wrong = used & ~np.isfinite(values.to_numpy())
    has_comma = np.array([isinstance(cell, str) and bool(DECIMAL_COMMA.fullmatch(cell)) for cell in column])
    point = {
        "remedy": "write a decimal point instead of the comma, or pass {setting}",
        "setting": ("decimal", ","),
    }
    for rows, remedy in ((wrong & has_comma, point), (wrong & ~has_comma, {})):
        found.add_rows(
            rows,
            place,
            "attribute {column} is {found}, which is not a number",
            f"attribute {{column}} is not a number in {rows.sum()} rows, the first is {{found}} ({{place}})",
            cells=column,
            column=name,
            expected="a number",
            **remedy,
        )
    return values


def _read_levels(
    attribute: Attribute, column: "pd.Series[Any]", used: Booleans, place: Place, found: Problems
) -> "pd.Series[Any]":
    """Return a column as categories, one per level, empty where it is not used."""
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
    attribute: Attribute, column: "pd.Series[Any]", used: Booleans, found: Problems
) -> Attribute:
    """Return an attribute with the levels that its column has, all categories of a categorical."""
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
    # levels that differ only in blanks or capitals are most likely one level, mistyped
    counts = Counter(text(cell) for cell in cells)
    groups: dict[str, list[str]] = {}
    for cell in in_order(counts):
        groups.setdefault(" ".join(cell.split()).casefold(), []).append(cell)
    for alike in groups.values():
        if len(alike) > 1:
            message = "attribute {column}: {found} differ only in blanks or capitals"
            shown = " and ".join(f"{quoted(cell)} ({counted(counts[cell], 'row')})" for cell in alike)
            remedy = "spell them alike, or list the levels if they are meant"
            found.add(message, column=attribute.name, found=shown, remedy=remedy)
    return attribute.with_levels(levels)


def read_chosen(frame: pd.DataFrame, roles: ColumnRoles, ids: RowIds, found: Problems) -> Booleans:
    """Return which rows were chosen, one in every task."""
    column = frame[roles.chosen]
    if _names_alternatives(column, ids):
        message = "column {column} ({argument}) names the chosen alternative in every row of a task"
        wanted = "1 in the row of the chosen alternative and 0 in the others"
        found.add(message, argument="chosen", column=column.name, expected=wanted, remedy="write {expected}")
        return np.zeros(len(column), dtype=bool)
    chosen = read_flags(column, "chosen", ids.place, found)
    known = ids.group >= 0
    sizes = np.bincount(ids.group[known])
    counts = np.bincount(ids.group[known], weights=chosen[known])
    remedy = None if roles.has_none else NOTHING_TAKEN
    role = {"argument": "chosen", "column": roles.chosen}
    for row in ids.first_rows().tolist():
        group = ids.group[row]
        task = ids.task_place(row)
        if sizes[group] == 1:
            found.add("{place} has one alternative", expected="at least two", **task)
        if counts[group] == 0:
            found.add("{place} has no choice in column {column}", remedy=remedy, **role, **task)
            remedy = None
        if counts[group] > 1:
            rows = np.flatnonzero((ids.group == group) & chosen)
            names = rows + 1 if ids.alternative is None else ids.alternative[rows]
            kind = "rows" if ids.alternative is None else "alternatives"
            shown = f"{int(counts[group])} choices, {kind} {listing(names.tolist())}"
            found.add("{place} has {found}", found=shown, remedy="keep one", **role, **task)
    return chosen


def _names_alternatives(column: "pd.Series[Any]", ids: RowIds) -> bool:
    """Return whether all rows of a task hold the same name, that of one of its alternatives."""
    if ids.alternative is None or (ids.group < 0).any():
        return False
    names = pd.DataFrame({"group": ids.group, "chosen": map(text, column), "own": map(text, ids.alternative)})
    hits = (names["chosen"] == names["own"]).groupby(names["group"]).sum()
    return bool((names.groupby("group")["chosen"].nunique() == 1).all() and (hits == 1).all())


def check_alternatives(frame: pd.DataFrame, ids: RowIds, found: Problems) -> None:
    """Add rows that occur twice: by the name of their alternative, or as a whole if they have none."""
    if ids.alternative is None:
        cells = frame.astype(object).where(~frame.isna(), None).assign(**{"": ids.group})
        again = cells.duplicated().to_numpy() & (ids.group >= 0)
        message = "respondent {respondent}, task {task}: row {row} repeats another row"
        remedy = (
            "remove it, or, if the same was shown twice, number the alternatives in a column and "
            "name that column by {argument}"
        )
        found.add_each(again, ids.place, message, argument="alternative", remedy=remedy)
        return
    empty = is_empty(ids.alternative)
    known = ids.group >= 0
    found.add_each(empty & known, ids.place, "{place}: the alternative has no name")
    again = pd.MultiIndex.from_arrays([ids.group, ids.alternative]).duplicated() & ~empty & known
    found.add_each(again, ids.place, "{place} occurs again in row {row}", remedy="remove one")


def read_none(
    frame: pd.DataFrame, roles: ColumnRoles, attributes: list[str], ids: RowIds, found: Problems
) -> Booleans:
    """Return which rows are the none option, of which a task may have one."""
    empty = np.asarray(np.logical_and.reduce([is_empty(frame[name]) for name in attributes]))
    if not roles.has_none:
        # most likely the none option, although nobody declared one
        what, remedy = "all attributes are empty", "if this is the none option, pass {setting}"
        found.add_rows(empty, ids.place, what, argument="none", remedy=remedy, setting=("none", True))
        return empty
    if isinstance(roles.none, str):
        is_none = read_flags(frame[roles.none], "none", ids.place, found)
    elif roles.none is True:
        is_none = empty
    else:
        wanted = text(roles.none)
        held = [[text(cell) == wanted for cell in frame[name]] for name in attributes]
        is_none = np.logical_and.reduce(np.array(held, dtype=bool))
    if not isinstance(roles.none, str) and not is_none.any():
        message = "no row has all attributes {expected}"
        sought = "empty" if roles.none is True else quoted(roles.none)
        found.add(message, argument="none", expected=sought, remedy="leave {argument} out")
    known = is_none & (ids.group >= 0)
    again = known & pd.Series(ids.group).where(known).duplicated().to_numpy()
    message = "respondent {respondent}, task {task} has more than one none option, again in row {row}"
    found.add_each(again, ids.place, message, argument="none")
    return np.asarray(is_none)


def read_holdout(frame: pd.DataFrame, roles: ColumnRoles, ids: RowIds, found: Problems) -> Booleans:
    """Return which rows belong to holdout tasks; all rows of a task must agree."""
    if roles.holdout is None:
        return np.zeros(len(frame), dtype=bool)
    is_held = read_flags(frame[roles.holdout], "holdout", ids.place, found)
    known = ids.group >= 0
    share = np.bincount(ids.group[known], weights=is_held[known]) / np.bincount(ids.group[known])
    for row in ids.first_rows().tolist():
        if 0 < share[ids.group[row]] < 1:
            add_partly_held(roles.holdout, ids.task_place(row), found)
    return is_held


def add_partly_held(column: str, task: dict[str, Any], found: Problems) -> None:
    """Add that the rows of a task do not agree on whether it is held out."""
    message = "{place}: column {column} ({argument}) marks some alternatives, not all"
    found.add(message, argument="holdout", column=column, **task)
