"""Files: problems and paths read back from what `pqp.io.writing` wrote, or from what people write by hand.

Every object of a document has a table of its keys and their readers, so the tables below are the format; it
is described for people in docs/file-format.md.
"""

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path as FilePath
from typing import Any, NoReturn

import numpy as np

from pqp.errors import FileFormatError, ProblemError
from pqp.io.fields import (
    Schema,
    as_file_error,
    list_of,
    misread,
    one_of,
    read_affine_data,
    read_indices,
    read_list,
    read_matrix,
    read_object,
    read_scalar,
    read_string,
    read_vector,
    shown,
    unread,
    vector,
)
from pqp.io.writing import KINDS, MOVING, VERSION, Document, problem_file, unpack, write_document
from pqp.lcp.crisscross import RULES
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FIELDS, RATIONAL, Array, Field, Number
from pqp.model.hessian import Gram, PairGram, is_hessian
from pqp.model.problem import ParametricQP
from pqp.path.path import Path
from pqp.records.segment import Segment, Status
from pqp.records.states import WORDS_OF, Basis, Kind, State
from pqp.records.trail import trail_of
from pqp.records.unsolvable import Farkas
from pqp.solver import METHODS, extend

File = str | PathLike[str]
# How the zip archive that an npz file is begins.
ZIP_MAGIC = b"PK"


def load_problem(file: File) -> ParametricQP:
    """Return the problem in a JSON file, written by hand or by `save_problem`.

    Parameters
    ----------
    file
        A file as described in docs/file-format.md.

    Raises
    ------
    FileFormatError
        If the file is not such a file, with `file` and, as `argument`, the key at fault.
    """
    with _document(file, "pqp-problem") as document:
        return _read_problem({key: document[key] for key in document if key not in ("format", "version")}, "")


def save_problem(problem: ParametricQP, file: File) -> None:
    """Write a problem to a JSON file, rationals kept exactly.

    Parameters
    ----------
    problem
        The problem to write.
    file
        A name that ends in .json; an existing file is replaced.
    """
    write_document(problem_file(problem), file)


def load_path(file: File) -> Path:
    """Return a path that `path.save` wrote.

    The log is not saved. Nothing is proved by loading: `path.certify` does that. `path.extend` continues
    where the path ended.

    Parameters
    ----------
    file
        A JSON or npz file.

    Raises
    ------
    FileFormatError
        If the file is not such a file, with `file` and, as `argument`, the key at fault.
    """
    with _document(file, "pqp-path") as document:
        return _read_path(document)


def load_document(file: File) -> Document:
    """Return a path file as plain data, which `pqp.certificate.check` proves.

    Parameters
    ----------
    file
        A JSON or npz file that `path.save` wrote.

    Raises
    ------
    FileFormatError
        If the file is not a path file.
    """
    with _document(file, "pqp-path") as document:
        return {key: _plain(value) for key, value in document.items()}


@contextmanager
def _document(file: File, wanted: str) -> Iterator[Document]:
    """Yield the object in a JSON or npz file of the wanted format; errors about its content name the file."""
    content = FilePath(file).read_bytes()
    try:
        # the first bytes decide, not the name: files are renamed
        document = _unpack(content) if content.startswith(ZIP_MAGIC) else _parse(content)
        if not isinstance(document, dict):
            raise misread("the content", "one JSON object {...}", document)
        _require_format(document, wanted)
        yield document
    except FileFormatError as error:
        error.file = fspath(file)
        raise


def _parse(content: bytes) -> Any:
    try:
        text = content.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_with_unique_keys, parse_constant=_forbid_constant)
    except FileFormatError:
        raise
    except UnicodeDecodeError as error:
        found = f"{error.reason} at byte {error.start}"
        raise FileFormatError("the content is not text in UTF-8: {found}", found=found) from None
    except json.JSONDecodeError as error:
        found = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise FileFormatError("the content is not JSON: {found}", found=found) from None
    except RecursionError:
        raise FileFormatError("the content is nested too deeply to be a problem or a path") from None
    except ValueError:
        message = "the content has an integer of over 4300 digits"
        raise FileFormatError(message, remedy="write it as a string") from None


def _with_unique_keys(pairs: list[tuple[str, Any]]) -> Document:
    document: Document = {}
    for key, value in pairs:
        if key in document:
            message = "the key {argument} appears twice in one object"
            raise FileFormatError(message, argument=shown(key), remedy="remove one")
        document[key] = value
    return document


def _forbid_constant(word: str) -> NoReturn:
    remedy = 'write "inf" or "-inf", with quotes, for no limit'
    raise FileFormatError("{found} is not JSON", found=word, remedy=remedy)


def _unpack(content: bytes) -> Any:
    """Return the document that `write_document` packed; long vectors are left as rows of the blocks."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            blocks = {name: archive[name] for name in archive.files}
            document = _parse(str(blocks["document"][()]).encode())
        unpack(document, blocks)
    except FileFormatError:
        raise
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, OSError) as error:
        message = "the content is not an npz file written by path.save: {found}"
        raise FileFormatError(message, found=str(error)) from None
    return document


def _plain(value: Any) -> Any:
    """Return the value with arrays as lists, which is what a checker without numpy expects."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


def _require_format(document: Document, wanted: str) -> None:
    readers = {"pqp-problem": "load_problem or `pqp solve`", "pqp-path": "load_path or `pqp certify`"}
    remedies = {
        "pqp-problem": 'write "format": "pqp-problem"; docs/file-format.md describes the keys',
        "pqp-path": "such files are written by path.save or `pqp solve --save`",
    }
    version = document.get("version")
    told = {key: shown(document[key]) if key in document else "nothing" for key in ("format", "version")}
    if document.get("format") != wanted:
        reader = readers.get(str(document.get("format")))
        remedy = f"{reader} reads this file" if reader else remedies[wanted]
        raise FileFormatError(argument="format", expected=shown(wanted), found=told["format"], remedy=remedy)
    if version != VERSION or isinstance(version, bool):
        expected = f"{VERSION} for this version of pqp"
        raise FileFormatError(argument="version", expected=expected, found=told["version"])


def _read_problem(document: Any, place: str) -> ParametricQP:
    limits = ("row_lower", "row_upper", "lower", "upper", "penalty")
    required: Schema = {"P": _read_hessian, "c": read_affine_data}
    optional: Schema = {
        "A": read_matrix,
        **dict.fromkeys(limits, read_affine_data),
        "constant": partial(read_vector, length=3),
        "names": list_of(read_string),
        "row_names": list_of(read_string),
        "notes": list_of(read_string),
    }
    try:
        parts = read_object(document, place, required, optional)
        P, A = parts["P"], parts.get("A")
        if isinstance(A, np.ndarray) and A.shape == (0, 0):
            # an empty list does not say how many columns it has
            parts["A"] = A.reshape(0, P.size if is_hessian(P) else P.shape[0])
        return ParametricQP(**parts)
    except ProblemError as error:
        raise as_file_error(error, place) from error


def _read_hessian(value: Any, place: str) -> Any:
    """Return P: a matrix, {"gram": F, "diagonal": d, "weights": w}, or {"pair_gram": {"K": K, ...}}."""
    if not isinstance(value, dict) or "sparse" in value:
        return read_matrix(value, place)
    if ("gram" in value) == ("pair_gram" in value):
        message = '{argument} must have one of the keys "sparse", "gram" and "pair_gram", got {found}'
        raise FileFormatError(message, argument=place, found=", ".join(map(shown, value)) or "none")
    if "gram" in value:
        vectors = {"diagonal": read_vector, "weights": read_vector}
        parts = read_object(value, place, {"gram": read_matrix}, vectors)
        return Gram(parts.pop("gram"), **parts)
    schema: Schema = {"K": read_matrix, "pairs": partial(read_matrix, columns=2)}
    parts = read_object(value, place, {"pair_gram": lambda pair, at: read_object(pair, at, schema)})
    return PairGram(**parts["pair_gram"])


def _read_path(document: Document) -> Path:
    schema: Schema = {
        "format": unread,
        "version": unread,
        "problem": _read_problem,
        "interval": list_of(read_scalar, 2),
        "asked": list_of(read_scalar, 2),
        "method": read_string,
        "rule": read_string,
        "arithmetic": one_of(tuple(FIELDS)),
        "stopped": lambda value, place: None if value is None else read_string(value, place),
        "segments": read_list,
    }
    # a certificate may have been added; it is not part of the path
    keys = read_object(document, "", schema, {"states": unread, "certificate": unread})
    field, method, rule = FIELDS[keys["arithmetic"]], keys["method"], keys["rule"]
    path = Path(
        problem=keys["problem"],
        segments=_SegmentReader(keys["problem"], field).read(keys["segments"], keys.get("states")),
        asked=_ends(keys["asked"], field, "asked"),
        arithmetic=field,
        method=method,
        rule=rule,
        stopped=keys["stopped"],
        # paths from elsewhere can be read and checked, but only our own methods can continue them
        continuation=extend if method in METHODS and rule in RULES else None,
    )
    _require_chain(path, _ends(keys["interval"], field, "interval"))
    return path


def _ends(ends: Sequence[Number], field: Field, place: str) -> tuple[Number, Number]:
    lo, hi = (field.number(end) for end in ends)
    if lo > hi:
        message, found = "{argument} must have {expected}, got {found}", f"{shown(lo)} and {shown(hi)}"
        raise FileFormatError(message, argument=place, expected="lo ≤ hi", found=found)
    return lo, hi


def _require_chain(path: Path, interval: tuple[Number, Number]) -> None:
    for i, (left, right) in enumerate(pairwise(path.segments)):
        if left.hi != right.lo:
            message = "{argument} must begin where the segment before ends, at {expected}, not at {found}"
            end, begin = shown(left.hi), shown(right.lo)
            raise FileFormatError(message, argument=f"segments[{i + 1}]", expected=end, found=begin)
    if interval != (path.lo, path.hi):
        found, wanted = (f"[{shown(lo)}, {shown(hi)}]" for lo, hi in (interval, (path.lo, path.hi)))
        message = "{argument} is {found} but the segments cover {expected}"
        raise FileFormatError(message, argument="interval", expected=wanted, found=found)


class _SegmentReader:
    """Reads the segments of one path: dense ones, and compact ones, which become one trail."""

    def __init__(self, problem: ParametricQP, field: Field) -> None:
        n, m = problem.n, problem.m
        self.problem, self.field = problem, field
        self.count: dict[Kind, int] = {"variables": n, "rows": m}
        self.first: dict[Kind, int] = {"variables": 0, "rows": n}
        self.states: Schema = {kind: list_of(one_of(WORDS_OF[kind]), self.count[kind]) for kind in KINDS}
        x, y = vector(n, field), vector(m, field)
        # proofs are exact in both arithmetics
        exact_x, exact_y = vector(n, RATIONAL), vector(m, RATIONAL)
        weights = {"row_lower": exact_y, "row_upper": exact_y, "lower": exact_x, "upper": exact_x}
        changes: Schema = {kind: partial(self._read_changes, kind) for kind in KINDS}
        schemas: dict[str, Schema] = {
            "optimal": {**self.states, "x0": x, "x1": x, "y0": y, "y1": y, "z0": x, "z1": x},
            # items and their new states by kind, {"variables": {"3": "upper"}, "rows": {}}
            "compact": {
                "changes": lambda value, place: read_object(value, place, {}, changes),
                "moving": self._read_moving,
            },
            "infeasible": {"farkas": lambda value, place: read_object(value, place, weights)},
            "unbounded": {"ray": exact_x, "violation": exact_y, "x0": exact_x, "x1": exact_x},
            "unverified": {"reason": read_string},
        }
        common: Schema = {"lo": read_scalar, "hi": read_scalar, "status": unread}
        self.schemas = {kind: {**common, **schema} for kind, schema in schemas.items()}

    def read(self, documents: Sequence[Any], first: Any) -> tuple[Segment, ...]:
        """Return all segments; `first` are the states that the first compact segment refers to."""
        kinds = [_kind(document, f"segments[{i}]") for i, document in enumerate(documents)]
        has_trail, start = "compact" in kinds, np.zeros(0, dtype=np.int8)
        if has_trail:
            start = _basis(read_object(first, "states", self.states)).codes()
        states = added = start
        pieces: list[tuple[Array, Array, Array, Array]] = []
        found: list[Segment] = []
        for i, (document, kind) in enumerate(zip(documents, kinds, strict=True)):
            keys = read_object(document, f"segments[{i}]", self.schemas[kind])
            lo, hi = _ends([keys["lo"], keys["hi"]], self.field, f"segments[{i}]")
            if kind != "compact":
                parts = _dense_parts(keys)
                # changes refer to the optimal segment before, which may be a dense one
                states = parts["basis"].codes() if has_trail and kind == "optimal" else states
            else:
                states = states.copy()
                for items, codes in keys["changes"].values():
                    states[items] = codes
                changed = np.flatnonzero(states != added)
                parts, added = {"number": len(pieces)}, states
                pieces.append((changed, states[changed], *keys["moving"]))
            found.append(Segment(lo, hi, keys["status"], self.problem, self.field, **parts))
        if not has_trail:
            return tuple(found)
        from pqp.revised.postsolve import completion  # only a trail needs the presolve of the engine

        trail = trail_of(self.problem, start, completion(self.problem), pieces)
        return tuple(
            replace(segment, trail=trail) if kind == "compact" else segment
            for segment, kind in zip(found, kinds, strict=True)
        )

    def _read_changes(self, kind: Kind, value: Any, place: str) -> tuple[list[int], list[State]]:
        if not isinstance(value, dict):
            raise misread(place, "an object {...}", value)
        items = []
        for label in value:
            item = int(label) if label.isascii() and label.isdecimal() and len(label) < 20 else -1
            if not 0 <= item < self.count[kind]:
                message, expected = (
                    "{argument}: {found} must be {expected}",
                    f"an index below {self.count[kind]}",
                )
                raise FileFormatError(message, argument=place, found=shown(label), expected=expected)
            items.append(self.first[kind] + item)
        read = one_of(WORDS_OF[kind])
        return items, [State[read(word, f"{place}.{label}").upper()] for label, word in value.items()]

    def _read_moving(self, value: Any, place: str) -> tuple[Array, Array]:
        """Return the items solved for, and their (constant, slope)."""
        keys: Schema = dict.fromkeys(KINDS, read_indices)
        # read after the items, whose number is the length of these
        later: Schema = {key: unread for pair in MOVING.values() for key in pair}
        parts = read_object(value, place, {**keys, **later})
        values = []
        for kind in KINDS:
            size, count = len(parts[kind]), self.count[kind]
            if (parts[kind] >= count).any() or len(np.unique(parts[kind])) < size:
                message, expected = "{argument} must hold {expected}", f"different indices below {count}"
                raise FileFormatError(message, argument=f"{place}.{kind}", expected=expected)
            columns = [read_vector(parts[key], f"{place}.{key}", size).astype(float) for key in MOVING[kind]]
            values.append(np.column_stack(columns))
        return np.concatenate([parts[kind] + self.first[kind] for kind in KINDS]), np.concatenate(values)


def _kind(document: Any, place: str) -> str:
    """Return the table a segment is read by: its status, or "compact" if it states changes."""
    if not isinstance(document, dict):
        raise misread(place, "an object {...}", document)
    known: tuple[Status, ...] = ("optimal", "infeasible", "unbounded", "unverified")
    status: str = one_of(known)(document.get("status"), f"{place}.status")
    return "compact" if status == "optimal" and "changes" in document else status


def _basis(keys: Document) -> Basis:
    return Basis(tuple(keys["variables"]), tuple(keys["rows"]))


def _dense_parts(keys: Document) -> Document:
    """Return the fields of a segment that its keys stand for."""
    parts: Document = {
        name: AffineArray(keys[name + "0"], keys[name + "1"]) for name in "xyz" if name + "0" in keys
    }
    if "variables" in keys:
        parts["basis"] = _basis(keys)
    if "farkas" in keys:
        parts["proof"] = Farkas(**keys["farkas"])
    return parts | {name: keys[name] for name in ("ray", "violation", "reason") if name in keys}
