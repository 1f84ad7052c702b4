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
    if is_table(file):
        return _from_table(read_table(file), str(file), label, query, ignore)
    data = read_letor(file, n_features)
    names = [f"feature {j + 1}" for j in range(data.X.shape[1])]
    return Items(pd.DataFrame(data.X, columns=names), data.y, data.qid, str(file))


def read_objects(
    file: Path, target: str = "y", ignore: Sequence[str] = (), n_features: int | None = None
) -> Items:
    """Return the rows of a LETOR or CSV file with labels that may be words, without queries."""
    if not is_table(file):
        items = read_items(file, n_features=n_features)
        return Items(items.X, items.y, None, items.source)
    table, source = read_table(file), str(file)
    _require_columns(table, source, {target: "target"} | dict.fromkeys(ignore, "ignore"))
    for row in np.flatnonzero(table[target].isna())[:1]:
        raise DataError(
            "{argument}: {found} is empty",
            argument=source,
            found=f"column {target!r}, row {row + 1}",
            remedy="give a label or drop the row",
            row=int(row) + 1,
            column=target,
        )
    if table[target].dtype.kind == "f":
        _column(table, target, source)  # an infinite label is not a level
    # yes and no have no order of their own, so they are words
    labels = table[target].astype(str) if table[target].dtype.kind == "b" else table[target]
    return Items(_features(table, source, {target, *ignore}), labels.to_numpy(), None, source)


def same_features(items: Items, like: Items) -> Items:
    """Return items with the columns of others in their order; it is an error if these are not the same."""
    wanted, found = list(like.X.columns), list(items.X.columns)
    missing, extra = [x for x in wanted if x not in found], [x for x in found if x not in wanted]
    if missing:
        raise DataError(
            "{argument} lacks features of {found}",
            argument=items.source,
            found=f"{like.source}: {values_shown(missing)}",
        )
    if extra:
        raise DataError(
            "{argument} has features {expected} lacks: {found}",
            argument=items.source,
            found=values_shown(extra),
            expected=like.source,
            remedy="ignore them",
        )
    return Items(items.X[wanted], items.y, items.qid, items.source)


def is_table(file: Path) -> bool:
    """Return whether a file is CSV, rather than LETOR text, by its name."""
    ending = "".join(file.suffixes[-2:]).lower().removesuffix(".gz")
    if ending.endswith(".csv"):
        return True
    if any(word in ending for word in LETOR_WORDS):
        return False
    raise DataError(
        "{argument}: its name must end {expected}",
        argument=str(file),
        found=file.name,
        expected="in .csv, .svm, .letor, .txt or .dat, with or without .gz",
    )


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
        raise DataError(
            "{argument} is not {expected}: {found}",
            argument=str(file),
            found=str(error),
            expected="a CSV file",
        ) from None
    double = [name for k, name in enumerate(header) if name in header[:k]]
    if double:
        raise DataError(
            "{argument}: the column {found} is there twice",
            argument=str(file),
            found=repr(double[0]),
            remedy="rename one",
            column=double[0],
        )
    if not len(table):
        raise DataError("{argument} holds no row below its header", argument=str(file))
    return table


def read_scores(file: Path) -> Array:
    """Return scores: the column "score" of a CSV file, or the numbers of a file with one per line."""
    table = read_table(file)
    if SCORE in table.columns:
        return _column(table, SCORE, str(file))
    bare = pd.read_csv(file, header=None)
    if bare.shape[1] > 1:
        raise DataError(
            "{argument} must have {expected}, got {found}",
            argument=str(file),
            expected=f"a column {SCORE!r} or one number per line",
            found=str(list(table.columns)),
        )
    return _column(bare.set_axis([SCORE], axis=1), SCORE, str(file))


def read_pairs(table: pd.DataFrame, source: str) -> tuple[Integers, list[Any]]:
    """Return the pairs in the columns "preferred" and "other" as item numbers, and what items are called."""
    columns = table[list(PAIR)]
    if columns.isna().any(axis=None):
        place = int(columns.isna().any(axis=1).to_numpy().argmax())
        raise DataError(
            "{argument}: {found} names no item",
            argument=source,
            found=f"row {place + 1}",
            remedy="every pair needs two",
            row=place + 1,
        )
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


def _from_table(table: pd.DataFrame, source: str, label: str, query: str, ignore: Sequence[str]) -> Items:
    named = {label: "label"} | dict.fromkeys(ignore, "ignore")
    # files without queries are common, so only a column that was asked for by name has to be there
    _require_columns(table, source, named if query == QUERY else named | {query: "query"})
    has_queries = query in table.columns and query not in ignore
    qid = table[query].to_numpy() if has_queries else None
    if qid is not None and table[query].isna().any():
        row = int(table[query].isna().to_numpy().argmax()) + 1
        raise DataError(
            "{argument}: {found} is empty",
            argument=source,
            found=f"column {query!r}, row {row}",
            remedy="every row needs a query",
            row=row,
            column=query,
        )
    X = _features(table, source, {label, query, *ignore})
    return Items(X, _column(table, label, source), qid, source)


def _require_columns(table: pd.DataFrame, source: str, named: dict[str, str]) -> None:
    """Raise unless a table has columns that were named, each by an option."""
    for name, option in named.items():
        if name not in table.columns:
            known = values_shown([str(column) for column in table.columns], most=10)
            raise DataError(
                "{argument} has no column {found}; its columns are {expected}",
                argument=source,
                found=f"{name!r} ({option})",
                expected=known,
                column=name,
            )


def _features(table: pd.DataFrame, source: str, left_out: set[str]) -> pd.DataFrame:
    """Return all columns but some, which must be numbers."""
    features = [name for name in table.columns if name not in left_out]
    if not features:
        raise DataError(
            "{argument} has no feature besides {found}", argument=source, found=values_shown(sorted(left_out))
        )
    return pd.DataFrame({str(name): _column(table, name, source) for name in features})


def _column(table: pd.DataFrame, name: Any, source: str) -> Array:
    """Return a column of finite numbers."""
    given = table[name]
    values = np.asarray(pd.to_numeric(given, errors="coerce"), dtype=float)
    is_wrong = ~np.isfinite(values)
    if is_wrong.any():
        row = int(is_wrong.argmax())
        found = "is empty" if pd.isna(given.iloc[row]) else f"is {given.tolist()[row]!r}"
        raise DataError(
            "{argument}: {found}, not {expected}",
            argument=source,
            found=f"column {str(name)!r}, row {row + 1} {found}",
            expected="a finite number",
            remedy="correct it, drop the row, or leave the column out, {setting}",
            setting=("ignore", str(name)),
            row=row + 1,
            column=str(name),
        )
    return values
