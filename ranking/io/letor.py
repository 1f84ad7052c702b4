"""LETOR files: learning-to-rank text, one item per line, `label qid:query feature:value ... # comment`.

Features are numbered from 1, absent ones are 0. scikit-learn reads the features; its reader gives no line
numbers and pairs queries with the wrong items when a line has none, so queries, comments and messages are
made here. Its writer rounds to 16 digits, which is not enough for float64, so lines are written here.
"""

import gzip
import io
import zlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_svmlight_file

from ranking.errors import DataError, must_be, must_have

File: TypeAlias = str | PathLike[str] | IO[str] | IO[bytes]
# How a gzip file begins.
GZIP_MAGIC = b"\x1f\x8b"
LINE = "label qid:number feature:value ..., feature numbers rising from 1"


class LetorData(NamedTuple):
    """What a LETOR file holds: one row of X, label, query and comment ("" if none) an item."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    qid: NDArray[np.int64]
    comments: list[str]


def read_letor(file: File, n_features: int | None = None) -> LetorData:
    r"""Return the items of a LETOR file, plain or gzip, in the order of the file.

    Lines that hold nothing but a comment are not items. `n_features` is the number of columns of X, by
    default the largest feature number; give it where a test file may miss features of the training file.

    >>> data = read_letor(io.StringIO("2 qid:7 1:0.5 3:1 # doc A\n0 qid:7 2:0.25\n"))
    >>> data.X.tolist(), data.y.tolist(), data.qid.tolist(), data.comments
    ([[0.5, 0.0, 1.0], [0.0, 0.25, 0.0]], [2.0, 0.0], [7, 7], ['doc A', ''])
    """
    name = str(file if isinstance(file, str | PathLike) else getattr(file, "name", "the file"))
    content = Path(file).read_bytes() if isinstance(file, str | PathLike) else file.read()
    content = content.encode() if isinstance(content, str) else content
    try:
        content = gzip.decompress(content) if content.startswith(GZIP_MAGIC) else content
    except (OSError, EOFError, zlib.error) as error:
        raise must_be(name, "a complete gzip file", found=str(error)) from None

    def fault(line: int, message: str, found: str, expected: str) -> DataError:
        place = f"{name}, line {line}"
        return DataError(message, argument=place, found=found, expected=expected, row=line)

    lines, items, queries, comments = [], [], [], []
    for line, text in enumerate(content.split(b"\n"), start=1):
        item, _, comment = text.partition(b"#")
        if not item.strip():
            continue
        words = item.split(maxsplit=2)
        try:
            if not words[1].startswith(b"qid:"):
                raise ValueError
            queries.append(int(words[1].removeprefix(b"qid:")))
        except (IndexError, ValueError):
            found = repr(item.strip()[:40].decode(errors="replace"))
            wanted = "qid:number after the label"
            raise fault(line, "{argument}: no {expected} in {found}", found, wanted) from None
        try:
            comments.append(comment.decode().removeprefix(" ").rstrip())
        except UnicodeDecodeError as error:
            message = "{argument}: the comment is not {expected}, {found}"
            raise fault(line, message, error.reason, "UTF-8") from None
        lines.append(line)
        items.append(item)
    if not items:
        raise DataError("{argument} holds no item; expected lines {expected}", argument=name, expected=LINE)
    try:
        X, y = _load(items, n_features)
    except (ValueError, OverflowError):
        # the reader does not say which line is at fault, so each is read alone
        for line, item in zip(lines, items, strict=True):
            try:
                _load([item], n_features)
            except (ValueError, OverflowError) as error:
                raise fault(line, "{argument}: {found}; expected {expected}", str(error), LINE) from None
        raise
    for k in np.flatnonzero(~(np.isfinite(X).all(axis=1) & np.isfinite(y)))[:1]:
        message = "{argument}, line {found}: labels and features must be {expected}"
        raise DataError(message, argument=name, found=lines[k], expected="finite", row=lines[k])
    return LetorData(X, y, np.array(queries, dtype=np.int64), comments)


def write_letor(
    file: File, X: ArrayLike, y: ArrayLike, qid: ArrayLike, comments: Sequence[str] | None = None
) -> None:
    r"""Write items to a LETOR file, compressed if its name ends in .gz; `read_letor` gives them back exactly.

    Zeros are left out, except the last feature of the first item, which shows the number of columns.

    >>> text = io.StringIO()
    >>> write_letor(text, [[0.5, 0], [0, 0.1]], [1, 0], [7, 7], comments=["doc A", ""])
    >>> text.getvalue()
    '1 qid:7 1:0.5 2:0 # doc A\n0 qid:7 2:0.1\n'
    """
    features, labels = _finite(X, "X", 2), _finite(y, "y", 1)
    queries = np.asarray(qid)
    if not features.size:
        raise must_have("X", "at least one item and one feature", found=f"shape {features.shape}")
    if queries.dtype.kind not in "iu":
        raise must_be("qid", "integers", found=f"dtype {queries.dtype}", remedy="use pandas.factorize")
    remarks = [""] * len(features) if comments is None else list(comments)
    n = len(features)
    columns: dict[str, Any] = {"y": labels, "qid": queries, "comments": remarks}
    for name, column in columns.items():
        if np.shape(column)[:1] != (n,):
            raise must_have(name, f"one entry for each of the {n} rows of X", found=np.shape(column))
    lines = []
    for i, (query, remark) in enumerate(zip(queries.tolist(), remarks, strict=True)):
        if any(character in remark for character in "\n\r\0"):
            raise must_be(f"comments[{i}]", "one line", found=repr(remark))
        last = 0 if i else features.shape[1]
        cells = enumerate(features[i].tolist(), start=1)
        shown = [f"{j}:{_shortest(value)}" for j, value in cells if value or j == last]
        line = " ".join([_shortest(labels[i].item()), f"qid:{query}", *shown])
        lines.append(f"{line} # {remark}\n" if remark else f"{line}\n")
    _write(file, "".join(lines))


def _load(items: Sequence[bytes], n_features: int | None) -> tuple[Any, Any]:
    text = io.BytesIO(b"\n".join(items))
    X, y = load_svmlight_file(text, n_features=n_features, zero_based=False)
    return X.toarray(), y.copy()


def _finite(values: ArrayLike, name: str, dimensions: int) -> NDArray[np.float64]:
    try:
        if np.iscomplexobj(values) or np.ma.is_masked(values):
            raise TypeError
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise must_be(name, "real numbers, in rows of equal length", found=repr(values)) from None
    if array.ndim != dimensions:
        raise must_have(name, f"{dimensions} dimension(s)", found=f"shape {array.shape}")
    if not np.isfinite(array).all():
        place = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        raise must_be(f"{name}{place}", "finite", found=str(array[tuple(place)]))
    return array


def _shortest(value: float) -> str:
    """Return the shortest text that reads back as the same float64."""
    return repr(value).removesuffix(".0")


def _write(file: Any, text: str) -> None:
    if isinstance(file, io.TextIOBase):
        file.write(text)
    elif isinstance(file, str | PathLike):
        content = text.encode()
        # without the time of day: same data, same bytes
        Path(file).write_bytes(gzip.compress(content, mtime=0) if str(file).endswith(".gz") else content)
    else:
        file.write(text.encode())
