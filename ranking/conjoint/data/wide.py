"""Wide data: one row per task, its alternatives in columns like alt1_brand; from and to long data."""

import re
import string
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import NONE, Attributes, read_attributes
from ranking.conjoint.data.choice_table import ChoiceTable
from ranking.conjoint.data.columns import (
    ALTERNATIVE,
    ColumnRoles,
    labels_of,
    require_columns,
    require_ids,
    require_table,
)
from ranking.conjoint.data.findings import Problems
from ranking.conjoint.data.label_text import in_order, is_empty, listing, plain, quoted, text
from ranking.conjoint.data.reading import read_long
from ranking.errors import DataError

PATTERN = "alt{alternative}_{attribute}"
FIELDS = {"alternative", "attribute"}


# The columns of every alternative, and which attribute each holds.
Layout: TypeAlias = dict[Any, dict[str, str]]


def layout_of(alternatives: Iterable[Any], pattern: str, names: Iterable[str]) -> Layout:
    """Return the layout in which every alternative has a column for each name.

    >>> layout_of([1, 2], PATTERN, ["price"])
    {1: {'alt1_price': 'price'}, 2: {'alt2_price': 'price'}}
    """
    return {
        label: {pattern.format(alternative=label, attribute=name): name for name in names}
        for label in alternatives
    }


def read_wide(
    frame: pd.DataFrame, roles: ColumnRoles, attributes: Attributes, pattern: str, none_choice: Any
) -> ChoiceTable:
    """Return the table of choices of wide data; all columns of every alternative with some must be there."""
    require_table(frame)
    wanted, found = read_attributes(attributes), Problems()
    names = [*wanted, *([roles.none] if isinstance(roles.none, str) else [])]
    _require_pattern(pattern)
    labels = in_order(label for column in frame.columns for label in _labels(str(column), pattern, names))
    if not labels:
        columns = listing(list(layout_of([1], pattern, names)[1]))
        message = "no column is like {expected} ({argument}); the columns are {found}"
        raise DataError(message, argument="pattern", expected=columns, found=listing(list(frame)))
    layout = layout_of(labels, pattern, names)
    for label, block in layout.items():
        for column in block:
            if column not in frame:
                message = "there is no column {column}, but there are others of alternative {alternative}"
                found.add(message, column=column, alternative=label)
    found.raise_any()
    long, roles = long_from_wide(frame, layout, roles, none_choice, found)
    return read_long(long, roles, wanted, found)


def wide_attributes(columns: Iterable[str], pattern: str = PATTERN) -> list[str]:
    """Return the attributes in the names of columns such as alt1_brand.

    >>> wide_attributes(["task", "alt1_brand", "alt2_brand", "alt1_max_price"])
    ['brand', 'max_price']
    """
    _require_pattern(pattern)
    fields = {"{alternative}": "(?:.+?)", "{attribute}": "(?P<attribute>.+)"}
    parts = re.split(r"(\{alternative\}|\{attribute\})", pattern)
    wanted = re.compile("".join(fields.get(part, re.escape(part)) for part in parts))
    matches = (wanted.fullmatch(column) for column in columns)
    return list(dict.fromkeys(match["attribute"] for match in matches if match))


def _require_pattern(pattern: str) -> None:
    fields = {field for _, field, _, _ in string.Formatter().parse(pattern) if field is not None}
    if fields != FIELDS:
        message = "{argument} must hold {expected}, got {found}"
        wanted = f"{{alternative}} and {{attribute}}, like {PATTERN!r}"
        raise DataError(message, argument="pattern", expected=wanted, found=repr(pattern))


def long_from_wide(
    frame: pd.DataFrame, layout: Layout, roles: ColumnRoles, none_choice: Any, found: Problems
) -> tuple[pd.DataFrame, ColumnRoles]:
    """Return long data and their roles; an alternative whose cells are all empty was not shown.

    With `roles.none` True such an alternative is the none option. With `none_choice` the none option has no
    columns: it was taken where the choice is that value.
    """
    names = list(next(iter(layout.values())).values())
    blocks = {column for block in layout.values() for column in block}
    base = frame[[name for name in frame.columns if name not in blocks]].reset_index(drop=True)
    _require_rows(base, roles, (*names, ALTERNATIVE))
    parts = []
    for label, block in layout.items():
        cells = frame[list(block)].rename(columns=block).reset_index(drop=True)
        named = pd.Series(label, index=base.index, name=ALTERNATIVE, dtype=object)
        parts.append(pd.concat([base, named, cells], axis=1))
    if roles.none is not True:
        absent = [np.logical_and.reduce([is_empty(part[name]) for name in names]) for part in parts]
        parts = [part[~is_absent] for part, is_absent in zip(parts, absent, strict=True)]
    if none_choice is not None:
        if roles.none is not None:
            message = "{argument} is for a none option without columns"
            remedy = "leave out either {argument} or {setting}"
            raise DataError(message, argument="none_choice", remedy=remedy, setting=("none", roles.none))
        if NONE in base:
            message = "{argument} adds a column {column}, but there is one already"
            raise DataError(message, argument="none_choice", column=NONE, remedy="rename it")
        roles = replace(roles, none=NONE)
        empty = dict.fromkeys(names)
        parts = [part.assign(**{NONE: 0}) for part in parts]
        parts.append(base.assign(**{ALTERNATIVE: none_choice, **empty, NONE: 1}))
    # rows without any cell have no dtype to offer
    long = pd.concat([part.astype(object) for part in parts if len(part)])
    long = long.sort_index(kind="stable").rename_axis("wide row").reset_index()
    _flag_choices(long, roles, found)
    return long.drop(columns="wide row"), replace(roles, alternative=ALTERNATIVE)


def wide_from_table(table: ChoiceTable, pattern: str = PATTERN) -> pd.DataFrame:
    """Return wide data, the choice by the name of the alternative; columns without a role are left out.

    If there is a none option, every alternative has a column that marks it.
    """
    names = (*table.attributes, *([NONE] if table.has_none else []))
    choices, roles = table.choices, table.roles
    cells = table.profiles.astype(object)
    if table.has_none:
        cells = cells.assign(**{NONE: table.is_none.astype(np.int64)}).astype(object)
    columns: dict[str, Any] = {
        roles.respondent: table.respondents[choices.respondent],
        roles.task: choices.task,
    }
    for label, block in layout_of(in_order(table.alternative), pattern, names).items():
        rows = np.flatnonzero(np.array([other == label for other in table.alternative.tolist()]))
        placed = cells.iloc[rows].set_axis(choices.task_of_row[rows]).reindex(range(len(choices)))
        columns.update({column: placed[name] for column, name in block.items()})
    columns[roles.chosen] = table.alternative[choices.chosen_rows]
    if isinstance(roles.weight, str):
        columns[roles.weight] = table.weights.to_numpy()[choices.respondent]
    if roles.holdout is not None:
        columns[roles.holdout] = table.is_holdout.astype(np.int64)
    return pd.DataFrame(columns)


def _labels(column: str, pattern: str, names: list[str]) -> list[Any]:
    """Return the alternative a column belongs to, if any; names made of digits are numbers.

    The longest attribute that fits is meant: alt1_max_price is max_price of 1, not price of 1_max.
    """
    for name in sorted(names, key=len, reverse=True):
        parts = pattern.replace("{attribute}", name).split("{alternative}", 1)
        before, after = (re.escape(part) for part in parts)
        if match := re.fullmatch(f"{before}(.+){after}", column):
            label = match.group(1)
            is_number = label.isdecimal() and str(int(label)) == label
            return [int(label) if is_number else label]
    return []


def _require_rows(base: pd.DataFrame, roles: ColumnRoles, made: tuple[str, ...]) -> None:
    """Raise one error about columns, rows without respondent or task, and rows that occur twice."""
    require_table(base)
    outer = {role: name for role, name in roles.columns.items() if role != "none"}
    require_columns(base.rename(columns={ALTERNATIVE: f"{ALTERNATIVE} "}), outer, [])
    found = Problems()
    for name in made:
        if name in base:
            message = "column {column} has the name of what the columns of the alternatives hold"
            found.add(message, column=name, remedy="rename it")
    respondent, task = labels_of(base[roles.respondent]), labels_of(base[roles.task])
    require_ids(is_empty(respondent), "respondent", roles.respondent, found)
    require_ids(is_empty(task), "task", roles.task, found)
    found.add_each(
        pd.MultiIndex.from_arrays([respondent, task]).duplicated(),
        lambda row: {"respondent": respondent[row], "task": task[row], "row": row + 1},
        "respondent {respondent}, task {task} occurs again in row {row}",
        remedy="remove one of the rows",
    )
    found.raise_any()


def _flag_choices(long: pd.DataFrame, roles: ColumnRoles, found: Problems) -> None:
    """Replace the choice, the name of an alternative, by 1 in its row and 0 in the others.

    Choices that name no alternative of the task are problems. Without a none option, each may stand for it.
    """
    choice, names = long[roles.chosen], long[ALTERNATIVE]
    empty = is_empty(choice)
    pairs = zip(choice, names, strict=True)
    chosen = np.array([text(cell).strip() == text(name) for cell, name in pairs]) & ~empty
    hits = pd.Series(chosen).groupby(long["wide row"]).transform("any").to_numpy()
    first = ~long["wide row"].duplicated().to_numpy()
    for row in np.flatnonzero(~hits & ~empty & first).tolist():
        cell = plain(choice.iloc[row])
        found.add(
            "{place}: the choice is {found}, but the alternatives are {expected}",
            argument="choice",
            respondent=long[roles.respondent].iloc[row],
            task=long[roles.task].iloc[row],
            found=quoted(cell),
            expected=listing(names[long["wide row"] == long["wide row"].iloc[row]].tolist()),
            remedy=None if roles.has_none else "if none was taken, pass {setting}",
            setting=None if roles.has_none else ("none_choice", cell),
        )
        # reported already: a choice anywhere in the task keeps it from being reported again as missing
        chosen[row] = True
    long[roles.chosen] = chosen.astype(np.int64)
