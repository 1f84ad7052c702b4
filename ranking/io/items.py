"""Files of items, scores and pairs: LETOR text or CSV tables in, checked arrays out, and whole files written.

A file is CSV if its name says so (.csv, .csv.gz) and LETOR text if it says svm, letor, txt or dat.
"""

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ranking.core.validation import Array, Integers, query_codes, values_shown
from ranking.errors import DataError
from ranking.io.letor import read_letor

# What the name of a LETOR file holds, for example train.svm.gz or Fold1.txt.
LETOR_WORDS = ("svm", "letor", "txt", "dat")
QUERY, SCORE, PAIR = "qid", "score", ("preferred", "other")


@dataclass(frozen=True, eq=False)
class Items:
    """Rows of named features, one label each, and their queries if there are any; `source` is the file."""

    X: pd.DataFrame
    y: Array
    qid: Array | None
    source: str

    def __len__(self) -> int:
        return len(self.y)

    @property
    def queries(self) -> int:
        """How many queries there are, 1 if none are named."""
        return int(query_codes(self.qid, len(self.y)).max(initial=-1)) + 1


def read_items(
    file: Path,
    label: str = "y",
    query: str = QUERY,
    ignore: Sequence[str] = (),
    n_features: int | None = None,
) -> Items:
    """Return the items of a LETOR or CSV file; `label`, `query` and `ignore` name columns of a CSV file."""
    if not is_table(file):
        data = read_letor(file, n_features)
        names = [f"feature {j + 1}" for j in range(data.X.shape[1])]
        return Items(pd.DataFrame(data.X, columns=names), data.y, data.qid, str(file))
    table = read_table(file)
    named = {label: "label"} | dict.fromkeys(ignore, "ignore")
    # files without queries are common, so only a column that was asked for by name has to be there
    _require_columns(table, named if query == QUERY else named | {query: "query"})
    has_queries = query in table.columns and query not in ignore
    if has_queries:
        _require_filled(table, query, "every row needs a query")
    qid = table[query].to_numpy() if has_queries else None
    return Items(_features(table, {label, query, *ignore}), _column(table, label), qid, str(file))


def read_objects(
    file: Path, target: str = "y", ignore: Sequence[str] = (), n_features: int | None = None
) -> Items:
    """Return the rows of a LETOR or CSV file with labels that may be words, without queries."""
    if not is_table(file):
        items = read_items(file, n_features=n_features)
        return Items(items.X, items.y, None, items.source)
    table = read_table(file)
    _require_columns(table, {target: "target"} | dict.fromkeys(ignore, "ignore"))
    _require_filled(table, target, "give a label or drop the row")
    if table[target].dtype.kind == "f":
        _column(table, target)  # an infinite label is not a level
    # true and false have no order of their own, so they are words
    labels = table[target].astype(str) if table[target].dtype.kind == "b" else table[target]
    return Items(_features(table, {target, *ignore}), labels.to_numpy(), None, str(file))


def same_features(items: Items, like: Items) -> Items:
    """Return items with the columns of others in their order; it is an error if these are not the same."""
    wanted = list(like.X.columns)
    found = list(items.X.columns)
    if missing := [name for name in wanted if name not in found]:
        shown = f"features of {like.source}: {values_shown(missing)}"
        raise DataError("{argument} lacks {expected}", argument=items.source, expected=shown)
    if extra := [name for name in found if name not in wanted]:
        raise DataError(
            "{argument} has features that {expected}",
            argument=items.source,
            expected=f"{like.source} lacks: {values_shown(extra)}",
            remedy="ignore them",
        )
    return Items(items.X[wanted], items.y, items.qid, items.source)


def is_table(file: Path) -> bool:
    """Return whether a file is CSV rather than LETOR text, by its name."""
    ending = "".join(file.suffixes[-2:]).lower().removesuffix(".gz")
    if ending.endswith(".csv"):
        return True
    if any(word in ending for word in LETOR_WORDS):
        return False
    raise DataError("its name must end in .csv, .svm, .letor, .txt or .dat, with or without .gz")


def read_table(file: Path) -> pd.DataFrame:
    """Return a CSV file whose columns have different names, plain or gzip."""
    try:
        header = pd.read_csv(file, header=None, nrows=1, dtype=str).iloc[0].tolist()
        table = pd.read_csv(file)
    except (
        pd.errors.ParserError,
        pd.errors.EmptyDataError,
        UnicodeDecodeError,
        EOFError,
        zlib.error,
    ) as error:
        raise DataError("it is not a CSV file ({found})", found=str(error)) from None
    double = [name for k, name in enumerate(header) if name in header[:k]]
    if double:
        raise DataError("the column {column} occurs twice", column=double[0], remedy="rename one")
    if not len(table):
        raise DataError("there is no row below the header")
    return table


def read_scores(file: Path) -> Array:
    """Return scores: the column "score" of a CSV file, or the numbers of a file with one per line."""
    table = read_table(file)
    if SCORE in table.columns:
        return _column(table, SCORE)
    bare = pd.read_csv(file, header=None)
    if bare.shape[1] > 1:
        message = "there must be a column {column} or one number per line, got the columns {found}"
        raise DataError(message, column=SCORE, found=values_shown(list(table.columns), most=10))
    return _column(bare.set_axis([SCORE], axis=1), SCORE)


def read_pairs(table: pd.DataFrame) -> tuple[Integers, list[Any]]:
    """Return the pairs in the columns "preferred" and "other" as item numbers, and the names of items."""
    columns = table[list(PAIR)]
    if columns.isna().any(axis=None):
        place = int(columns.isna().any(axis=1).to_numpy().argmax())
        raise DataError("row {row} lacks an item", row=place + 1, remedy="every pair needs two")
    codes, names = pd.factorize(columns.to_numpy(dtype=object).ravel())
    return codes.astype(np.int64).reshape(-1, 2), list(names)


def write_whole(file: Path, content: bytes) -> None:
    """Write a file, all of it or nothing: what was there before stays until the new one is complete."""
    write_all({file: content})


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write several files: what was there before stays until all of the new ones are complete.

    Folders that are not there are made, and go again if not all files can be written.
    """
    made = [folder for folder in {file.parent for file in contents} if not folder.exists()]
    drafts = {file: file.with_name(f".{file.name}.{os.getpid()}") for file in contents}
    try:
        for folder in made:
            folder.mkdir()
        for file, draft in drafts.items():
            with draft.open("xb") as stream:
                stream.write(contents[file])
        for file, draft in drafts.items():
            draft.replace(file)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
        for folder in made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _require_columns(table: pd.DataFrame, named: dict[str, str]) -> None:
    """Raise unless a table has columns that were named, each by an argument."""
    for name, argument in named.items():
        if name not in table.columns:
            raise DataError(
                "there is no column {column} ({argument}); the columns are {found}",
                argument=argument,
                column=name,
                found=values_shown([str(column) for column in table.columns], most=10),
            )


def _require_filled(table: pd.DataFrame, name: str, remedy: str) -> None:
    for row in np.flatnonzero(table[name].isna())[:1].tolist():
        raise DataError("column {column}, row {row} is empty", column=name, row=row + 1, remedy=remedy)


def _features(table: pd.DataFrame, left_out: set[str]) -> pd.DataFrame:
    """Return all columns but some, which must be numbers."""
    features = [name for name in table.columns if name not in left_out]
    if not features:
        raise DataError("there is no feature besides {found}", found=values_shown(sorted(left_out)))
    return pd.DataFrame({str(name): _column(table, name) for name in features})


def _column(table: pd.DataFrame, name: Any) -> Array:
    """Return a column of finite numbers."""
    given = table[name]
    values = np.asarray(pd.to_numeric(given, errors="coerce"), dtype=float)
    for row in np.flatnonzero(~np.isfinite(values))[:1].tolist():
        is_empty = pd.isna(given.iloc[row])
        raise DataError(
            "column {column}, row {row} is {found}, not a finite number",
            column=str(name),
            row=row + 1,
            found="empty" if is_empty else repr(given.tolist()[row]),
            remedy="correct it, drop the row, or leave the column out ({setting})",
            setting=("ignore", str(name)),
        )
    return values
