"""Documents: problems and paths as plain data, written to JSON or npz files; see docs/file-format.md.

An npz file holds the document without the long vectors of its optimal segments, and these as a few blocks of
numbers (`pack`, `unpack`).
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from pqp.errors import FileFormatError, ProblemError
from pqp.linalg.field import Array, to_flint
from pqp.model.affine import Affine
from pqp.model.problem import ParametricQP
from pqp.records.segment import Segment
from pqp.records.states import WORDS, Kind, codes_of, words_of

if TYPE_CHECKING:
    from pqp.path.path import Path


Document = dict[str, Any]
# The arrays of a dense optimal segment: one block per name, one row per segment.
ARRAYS = ("x0", "x1", "y0", "y1", "z0", "z1")
# What compact segments state: changes of the states of both kinds of items, and the items solved for with
# their constants and slopes. They are packed end to end, with their lengths in a block of their own.
KINDS: tuple[Kind, ...] = ("variables", "rows")
MOVING: dict[Kind, tuple[str, str]] = {"variables": ("x0", "x1"), "rows": ("y0", "y1")}


def pack(document: Document) -> tuple[Document, Document]:
    """Return the document without the long arrays of its optimal segments, and these as blocks."""
    headers: list[Document] = []
    dense: dict[str, list[Array]] = {name: [] for name in ARRAYS}
    changes: dict[Kind, list[Document]] = {kind: [] for kind in KINDS}
    lines = {kind: _LineBlocks() for kind in KINDS}
    # One at a time: all segments written out may not fit into memory.
    for segment in document["segments"]:
        # vectors of unsolvable segments are exact proofs, which float64 blocks would round
        packed = (*ARRAYS, "moving") if segment["status"] == "optimal" else ()
        header = {key: value for key, value in segment.items() if key not in packed}
        headers.append(header | ({"changes": {}} if "changes" in segment else {}))
        if "moving" in segment:
            for kind in KINDS:
                changes[kind].append(segment["changes"].get(kind, {}))
                lines[kind].add(*(segment["moving"][name] for name in (kind, *MOVING[kind])))
        elif segment["status"] == "optimal":
            for name in ARRAYS:
                dense[name].append(np.array(segment[name], dtype=float))
    blocks: Document = {name: np.array(rows, dtype=float) for name, rows in dense.items()}
    for kind in KINDS if changes["rows"] else ():
        parts = changes[kind]
        blocks |= {
            f"changes_{kind}": np.array([int(item) for part in parts for item in part], dtype=np.int32),
            f"changes_{kind}_states": codes_of(state for part in parts for state in part.values()),
            f"changes_{kind}_lengths": np.array([len(part) for part in parts], dtype=np.int32),
            **lines[kind].blocks(kind),
        }
    return {**document, "segments": headers}, blocks


class _LineBlocks:
    """The unknowns of compact segments: a line that holds on several segments in a row is kept once."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, float, float], int] = {}
        self._new: list[Array] = []
        self._spans: list[int] = []

    def add(self, items: list[int], constants: list[float], slopes: list[float]) -> None:
        """Add the unknowns of the next segment."""
        held, self._held = self._held, {}
        new = []
        for line in zip(items, constants, slopes, strict=True):
            if line not in held:
                new.append(line)
                self._spans.append(0)
            self._held[line] = held.get(line, len(self._spans) - 1)
            self._spans[self._held[line]] += 1
        self._new.append(np.array(new, dtype=float).reshape(-1, 3))

    def blocks(self, kind: Kind) -> Document:
        """Return the lines, how many begin on every segment, and on how many segments they hold."""
        items, constants, slopes = np.concatenate(self._new).T
        found = {f"moving_{kind}": items.astype(np.int32)}
        found |= {
            f"moving_{name}": part for name, part in zip(MOVING[kind], (constants, slopes), strict=True)
        }
        counts, spans = (
            np.array([len(new) for new in self._new], dtype=np.int32),
            np.array(self._spans, np.int32),
        )
        # Versions that know no spans read files without them, and refuse the others for want of lengths.
        if np.all(spans == 1):
            return found | {f"moving_{kind}_lengths": counts}
        return found | {f"moving_{kind}_begun": counts, f"moving_{kind}_spans": spans}


def unpack(document: Any, blocks: Mapping[str, Array]) -> None:
    """Put the blocks back into the segments of a header; long vectors are left as parts of the blocks."""
    segments = document.get("segments") if isinstance(document, dict) else None
    optimal = [s for s in segments or [] if isinstance(s, dict) and s.get("status") == "optimal"]
    dense = [segment for segment in optimal if "changes" not in segment]
    for name in ARRAYS:
        if len(blocks[name]) != len(dense):
            message = "the block {argument} has {found} rows for {expected} optimal segments"
            count = len(blocks[name])
            raise FileFormatError(message, argument=name, found=count, expected=str(len(dense)))
        for segment, row in zip(dense, blocks[name], strict=True):
            segment[name] = row
    compact = [segment for segment in optimal if "changes" in segment]
    for segment in compact:
        segment |= {"changes": {}, "moving": {}}
    for kind in KINDS if compact else ():
        codes = blocks[f"changes_{kind}_states"]
        if codes.dtype != np.int8 or not ((codes >= 0) & (codes < len(WORDS))).all():
            message = "the block {argument} must hold codes of states"
            raise FileFormatError(message, argument=f"changes_{kind}_states")
        names = f"changes_{kind}", f"changes_{kind}_states"
        ends = _ends(blocks, names, f"changes_{kind}_lengths", len(compact))
        items, states = (np.split(blocks[name], ends[:-1]) for name in names)
        for segment, part, new in zip(compact, items, states, strict=True):
            pairs = zip(part.tolist(), new.tolist(), strict=True)
            segment["changes"][kind] = {str(item): WORDS[code] for item, code in pairs}
        moving = [f"moving_{name}" for name in (kind, *MOVING[kind])]
        spans, last = f"moving_{kind}_spans", np.arange(len(compact))
        if spans in blocks:
            ends = _ends(blocks, (*moving, spans), f"moving_{kind}_begun", len(compact))
            if blocks[spans].dtype.kind != "i" or (blocks[spans] < 1).any():
                raise FileFormatError("the block {argument} must hold numbers of segments", argument=spans)
            last = np.repeat(last, np.diff(ends, prepend=0)) + blocks[spans] - 1
        else:
            ends = _ends(blocks, moving, f"moving_{kind}_lengths", len(compact))
            last = np.repeat(last, np.diff(ends, prepend=0))
        held = np.zeros(0, dtype=np.int64)
        for number, (segment, end) in enumerate(zip(compact, ends.tolist(), strict=True)):
            begin = ends[number - 1] if number else 0
            held = np.concatenate([held[last[held] >= number], np.arange(begin, end)])
            segment["moving"] |= {name.removeprefix("moving_"): blocks[name][held] for name in moving}


def _ends(blocks: Mapping[str, Array], names: Sequence[str], lengths: str, count: int) -> Array:
    """Return where the parts of blocks end that were packed end to end, one part per segment."""
    sizes = blocks[lengths]
    if sizes.shape != (count,) or sizes.dtype.kind != "i" or (sizes < 0).any():
        message = "the block {argument} must hold {expected} lengths"
        raise FileFormatError(message, argument=lengths, expected=str(count))
    for name in names:
        if blocks[name].shape != (sizes.sum(),):
            message, found = (
                "the block {argument} must hold {expected} entries, got shape {found}",
                blocks[name].shape,
            )
            raise FileFormatError(message, argument=name, expected=str(sizes.sum()), found=str(found))
    return np.cumsum(sizes, dtype=np.int64)


VERSION = 1
# Larger integers are written as strings: many readers of JSON hold numbers in float64.
LARGEST_INTEGER = 2**53


def encode(value: Any) -> Any:
    """Return a number as JSON can hold it exactly: an int, a float, "p/q", "inf" or "-inf".

    >>> encode(Fraction(7, 3)), encode(Fraction(2)), encode(0.5), encode(-math.inf), encode(10**20)
    ('7/3', 2, 0.5, '-inf', '100000000000000000000')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Fraction) and value.denominator == 1:
        value = value.numerator
    if isinstance(value, Fraction) or (isinstance(value, int) and abs(value) > LARGEST_INTEGER):
        return str(to_flint(value))  # Python's own conversion stops at 4300 digits
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def encode_array(values: Array) -> Any:
    """Return an array as nested lists of encoded numbers."""
    if values.ndim == 0:
        return encode(values[()])
    if values.dtype.kind in "if" and np.max(np.abs(values), initial=0) <= LARGEST_INTEGER:
        return values.tolist()  # long paths: nothing that JSON cannot hold
    return [encode_array(row) if row.ndim else encode(row[()]) for row in map(np.asarray, values)]


def problem_document(problem: ParametricQP) -> Document:
    """Return a problem as plain data."""
    names = ("c", "row_lower", "row_upper", "lower", "upper", "penalty")
    affine: dict[str, Affine] = {name: getattr(problem, name) for name in names}
    return {
        "P": _encode_matrix(problem.P.stored()),
        "A": _encode_matrix(problem.A),
        **{
            name: {"constant": encode_array(data.constant), "slope": encode_array(data.slope)}
            for name, data in affine.items()
        },
        "constant": [encode(k) for k in problem.constant],
        "names": list(problem.names),
        "row_names": list(problem.row_names),
        # Files of problems that were not changed stay readable for earlier versions.
        **({"notes": list(problem.notes)} if problem.notes else {}),
    }


def problem_file(problem: ParametricQP) -> Document:
    """Return a problem as the content of a file of its own."""
    return {"format": "pqp-problem", "version": VERSION, **problem_document(problem)}


def path_document(path: "Path") -> Document:
    """Return a path as plain data; the segments of a compact path are written out only when looked at."""
    states: Document = {}
    segments: Sequence[Document] = [encode_segment(s) for s in path.segments if s.trail is None]
    if len(segments) < len(path.segments):
        # the states that the changes of the first compact segment refer to
        first = next(segment for segment in path.segments if segment.status == "optimal")
        words, n = words_of(first.codes().tolist()), path.problem.n
        states = {"states": {"variables": list(words[:n]), "rows": list(words[n:])}}
        segments = CompactSegments(path.segments)
    return {
        "format": "pqp-path",
        "version": VERSION,
        "problem": problem_document(path.problem),
        "interval": [encode(path.lo), encode(path.hi)],
        "asked": [encode(end) for end in path.asked],
        "method": path.method,
        "rule": path.rule,
        "arithmetic": path.arithmetic.name,
        "stopped": path.stopped,
        **states,
        "segments": segments,
    }


def write_document(document: Document, file: str | os.PathLike[str]) -> None:
    """Write a document to a .json or .npz file; an existing file is replaced only by a complete one."""
    target, is_problem = FilePath(file), document["format"] == "pqp-problem"
    if target.suffix not in ((".json",) if is_problem else (".json", ".npz")):
        message, expected = (
            "{argument} must end in {expected}, got {found}",
            ".json" if is_problem else ".json or .npz",
        )
        raise ProblemError(message, argument="file", expected=expected, found=repr(target.name))
    if target.suffix == ".npz" and document.get("arithmetic") != "float":
        message = "{found}: npz holds float64 numbers and this path is exact"
        raise ProblemError(message, argument="file", found=target.name, remedy="use .json")
    partial = target.with_name(f".{target.name}.partial")
    try:
        with partial.open("wb") as stream:
            if target.suffix == ".npz":
                header, blocks = pack(document)
                text = np.array(json.dumps(header, allow_nan=False))
                np.savez_compressed(stream, document=text, **blocks)
            else:
                options: Any = {"indent": 1, "allow_nan": False, "ensure_ascii": False}
                stream.write(json.dumps(document, default=list, **options).encode())
        partial.replace(target)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(target)) from None
    finally:
        partial.unlink(missing_ok=True)


def _encode_matrix(stored: Any) -> Any:
    """Return the rows of an array, the nonzero entries of a sparse matrix, or a dictionary of such."""
    if isinstance(stored, dict):
        return {key: _encode_matrix(value) for key, value in stored.items()}
    if isinstance(stored, np.ndarray):
        return encode_array(stored)
    entries = stored.tocoo()
    parts = {"row": entries.row, "column": entries.col, "value": entries.data}
    return {"sparse": {"shape": list(stored.shape), **{key: encode_array(v) for key, v in parts.items()}}}


class CompactSegments(Sequence[Document]):
    """The documents of segments, made one at a time: all of them at once may not fit into memory."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._pairs: list[tuple[Segment, Segment | None]] = []
        before: Segment | None = None
        for segment in segments:
            self._pairs.append((segment, before))
            before = segment if segment.status == "optimal" else before

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[i] for i in range(len(self))[number]]
        segment, before = self._pairs[number]
        return encode_segment(segment) if segment.trail is None else _encode_compact(segment, before)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)


def encode_segment(segment: Segment) -> Document:
    """Return a segment as plain data, with all that is known of it."""
    document: Document = {"lo": encode(segment.lo), "hi": encode(segment.hi), "status": segment.status}
    if segment.basis is not None:
        document |= {"variables": list(segment.basis.variables), "rows": list(segment.basis.rows)}
    if segment.proof is not None:
        names = ("row_lower", "row_upper", "lower", "upper")
        document["farkas"] = {name: encode_array(getattr(segment.proof, name)) for name in names}
    if segment.reason is not None:
        document["reason"] = segment.reason
    arrays = {name: getattr(segment, name) for name in ("ray", "violation", *ARRAYS)}
    return document | {name: encode_array(values) for name, values in arrays.items() if values is not None}


def _encode_compact(segment: Segment, before: Segment | None) -> Document:
    """Return a piece of a trail: what changes from the optimal segment before it, and what was solved for."""
    assert segment.trail is not None
    n = segment.problem.n
    items, values = segment.trail.unknowns(segment.number)
    order = np.argsort(items)
    items, values = items[order], values[order]
    is_row = items >= n
    changes: Document = {"variables": {}, "rows": {}}
    codes = segment.codes()
    for item in np.flatnonzero(codes != (codes if before is None else before.codes())).tolist():
        kind, own = ("rows", item - n) if item >= n else ("variables", item)
        changes[kind][str(own)] = WORDS[codes[item]]
    x, y = values[~is_row].T.tolist(), values[is_row].T.tolist()
    moving = {"variables": items[~is_row].tolist(), "x0": x[0], "x1": x[1]}
    moving |= {"rows": (items[is_row] - n).tolist(), "y0": y[0], "y1": y[1]}
    ends = {"lo": encode(segment.lo), "hi": encode(segment.hi)}
    return {**ends, "status": segment.status, "changes": changes, "moving": moving}
