"""Cells: the columns of attributes, read as levels or numbers, with a sentence for every cell that is wrong.

Room: columns of a table in, a column of categories or numbers and the settled attribute out.
May touch: `attributes`, `labels`, `marks`, `problems`.
"""

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.attributes import Attribute
from ranking.conjoint.labels import counted, guess, in_order, is_empty, listing, plain, quoted, text
from ranking.conjoint.marks import Booleans, Place
from ranking.conjoint.problems import Problems

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
