"""Reading long data, one row per alternative, of a table or a file: checked as a whole, sorted, weighed."""

import zlib
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import Attribute, Attributes, read_attributes
from ranking.conjoint.data.choice_table import Choices, ChoiceTable
from ranking.conjoint.data.columns import (
    ALTERNATIVE,
    ColumnRoles,
    RowIds,
    labels_of,
    read_row_ids,
    require_columns,
)
from ranking.conjoint.data.findings import Problems
from ranking.conjoint.data.label_text import in_order, plain, quoted
from ranking.conjoint.data.validation import (
    check_alternatives,
    read_attribute,
    read_chosen,
    read_holdout,
    read_none,
)
from ranking.core.validation import Array
from ranking.errors import DataError, must_be

WEIGHT = "weight"
WORKBOOKS, OTHER_WORKBOOKS = (".xlsx", ".xlsm"), (".xls", ".xlsb", ".ods", ".numbers")
# Options of pandas: only empty cells are missing; the header as it is written; what only text files have.
ONLY_EMPTY: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
HEADER: dict[str, Any] = {"header": None, "nrows": 1, "dtype": str, "na_values": None}
OF_TEXT = ("sep", "decimal", "encoding")


def read_long(
    frame: pd.DataFrame, roles: ColumnRoles, attributes: Attributes, found: Problems | None = None
) -> ChoiceTable:
    """Return the table of choices of long data; `found` holds problems that were found before."""
    found = Problems() if found is None else found
    wanted = read_attributes(attributes)
    require_columns(frame, roles.columns, wanted)
    frame = frame.reset_index(drop=True)
    ids = read_row_ids(frame, roles, found)
    chosen = read_chosen(frame, roles, ids, found)
    check_alternatives(frame, ids, found)
    is_none = read_none(frame, roles, list(wanted), ids, found)
    known: dict[str, Attribute] = {}
    profiles = pd.DataFrame(index=frame.index)
    for name, attribute in wanted.items():
        known[name], profiles[name] = read_attribute(attribute, frame[name], is_none, ids.place, found)
    is_holdout = read_holdout(frame, roles, ids, found)
    respondents = in_order(name for name in ids.respondent if name is not None)
    weights = _read_weights(frame, roles, ids, respondents, found)
    found.raise_any()
    # rows without the name of an alternative stay in their order
    named = [ids.respondent, ids.task, *([] if ids.alternative is None else [ids.alternative])]
    order = np.lexsort([pd.Categorical(column, in_order(column)).codes for column in reversed(named)])
    group = ids.group[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    size = np.diff(first, append=len(group))
    codes = pd.Index(respondents).get_indexer(pd.Index(ids.respondent[order][first].tolist()))
    task = as_labels(ids.task[order][first])
    choices = Choices(codes.astype(np.int64), task, size, np.flatnonzero(chosen[order]) - first)
    if ids.alternative is None:
        alternative = np.arange(len(group)) - np.repeat(first, size) + 1
    else:
        alternative = as_labels(ids.alternative[order])
    used = {*roles.columns.values(), *wanted}
    extras = frame[[name for name in frame.columns if name not in used]]
    # in the data that `to_frame` returns every role has a column of its own
    weight = roles.weight
    if weight is not None and not isinstance(weight, str):
        taken = WEIGHT in extras or WEIGHT in roles.columns.values()
        weight = f"{WEIGHT} (given)" if taken else WEIGHT
    none = roles.none if isinstance(roles.none, str) else (True if roles.has_none else None)
    return ChoiceTable(
        known,
        replace(roles, alternative=roles.alternative or ALTERNATIVE, none=none, weight=weight),
        profiles.iloc[order].reset_index(drop=True),
        extras.iloc[order].reset_index(drop=True),
        alternative,
        is_none[order],
        choices,
        is_holdout[order][choices.first],
        pd.Series(weights, index=pd.Index(respondents, name=roles.respondent), name="weight"),
    )


def read_table(path: str | PathLike[str], **options: object) -> pd.DataFrame:
    """Return a CSV file, or the first sheet of an Excel workbook, as a table.

    Only empty cells are missing: "None" or "NA" may be levels. Options go to `pandas.read_csv`, for example
    `sep=";"`, `decimal=","` or `encoding="latin-1"`; for a workbook these three are ignored.
    """
    suffix = Path(path).suffix.lower()
    if suffix in OTHER_WORKBOOKS:
        message = "{argument} {found} is a workbook of a kind that is not read"
        raise DataError(message, argument="path", found=str(path), remedy="save it as .xlsx or as CSV")
    header, table = _read_workbook(path, options) if suffix in WORKBOOKS else _read_text(path, options)
    names = [name for row in header.head(1).to_numpy().tolist() for name in row]
    for k, name in enumerate(names):
        if name and name in names[:k]:
            message = "{argument} {found}: the column {column} occurs twice"
            raise DataError(message, argument="path", found=str(path), column=name, remedy="rename one")
    return table


def _read_text(path: str | PathLike[str], options: dict[str, object]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the header of a CSV file, as it is written, and its table."""
    given = {**ONLY_EMPTY, "encoding": "utf-8-sig", **options}
    try:
        return pd.read_csv(path, **{**given, **HEADER}), pd.read_csv(path, **given)
    except UnicodeError:
        raise DataError(
            "{argument} {found} is not {expected} text",
            argument="path",
            found=str(path),
            expected=str(given["encoding"]).removesuffix("-sig").upper(),
            remedy="pass its encoding, often {setting}",
            setting=("encoding", "latin-1"),
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, EOFError, zlib.error) as error:
        message = "{argument} {found} is not {expected}"
        raise DataError(message, argument="path", found=str(path), expected=f"a CSV file ({error})") from None


def _read_workbook(
    path: str | PathLike[str], options: dict[str, object]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the header of the first sheet of a workbook, and its table."""
    kept = {name: value for name, value in options.items() if name not in OF_TEXT}
    given = {**ONLY_EMPTY, "engine": "openpyxl", **kept}
    try:
        return pd.read_excel(path, **{**given, **HEADER}), pd.read_excel(path, **given)
    except (BadZipFile, KeyError, ValueError) as error:
        message = "{argument} {found} is not {expected}"
        wanted = f"a workbook ({error})"
        remedy = "save it again, or as CSV"
        raise DataError(message, argument="path", found=str(path), expected=wanted, remedy=remedy) from None


def _read_weights(
    frame: pd.DataFrame, roles: ColumnRoles, ids: RowIds, respondents: list[Any], found: Problems
) -> Array:
    """Return the weight of every respondent, 1 if none are given."""
    if roles.weight is None:
        return np.ones(len(respondents))
    if not isinstance(roles.weight, str | Mapping | pd.Series):
        raise must_be("weight", "a column or weights by respondent", found=roles.weight)
    by_name: dict[Any, Any] = {}
    if isinstance(roles.weight, str):
        reported: set[Any] = set()
        for name, value in zip(ids.respondent, labels_of(frame[roles.weight]), strict=True):
            if name is None or name in reported or by_name.setdefault(name, value) == value:
                continue
            reported.add(name)
            message = "respondent {respondent} has different weights, {found}"
            both = {"found": f"{quoted(by_name[name])} and {quoted(value)}", "column": roles.weight}
            remedy = "write the same one in all rows"
            found.add(message, argument="weight", respondent=name, remedy=remedy, **both)
    else:
        by_name = {plain(name): value for name, value in roles.weight.items()}
    for name in in_order(by_name.keys() - set(respondents)):
        message = "{argument} names respondent {found}, who has no task"
        found.add(message, argument="weight", respondent=name, found=quoted(name))
    weights = []
    for name in respondents:
        value = by_name.get(name)
        number = pd.to_numeric(value, errors="coerce") if value is not None else np.nan
        place = {"argument": "weight", "respondent": name}
        if value is None or value != value:
            message = "respondent {respondent} has no weight"
            found.add(message, remedy="give one, or leave out {argument}", **place)
        elif not (np.isfinite(number) and number > 0):
            message = "respondent {respondent}: the weight is {found}, not {expected}"
            found.add(message, found=quoted(value), expected="a positive number", **place)
        weights.append(float(number))
    return np.array(weights)


def as_labels(values: Array) -> Array:
    """Return labels as numbers if all of them are numbers."""
    return np.asarray(pd.Index(values.tolist()))
