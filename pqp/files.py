"""Restoring: the segments of a path from their documents, dense or as changes.

Files: problems and paths read back from what `documents` wrote, or from what people write by hand.
"""

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path as FilePath
from typing import Any, NoReturn

import numpy as np

from pqp.errors import FileFormatError, ProblemError
from pqp.io.document import ARRAYS, KINDS, MOVING, VERSION, Document, problem_document, unpack, write_document
from pqp.io.reading import (
    read_affine_data,
    read_indices,
    read_labels,
    read_list,
    read_matrix,
    read_object,
    read_scalar,
    read_vector,
    read_word,
    shown,
)
from pqp.lcp.crisscross import RULES
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FIELDS, Array, Field, Number
from pqp.model.hessian import Gram, PairGram
from pqp.model.problem import ParametricQP
from pqp.path.path import Path
from pqp.records.segment import Segment, Status
from pqp.records.states import WORDS_OF, Basis, Kind, State, States, codes_of
from pqp.records.trail import Trail, TrailBuilder
from pqp.records.unsolvable import LIMITS, Farkas
from pqp.solver import METHODS, extend

# What a segment of each status must have besides lo, hi and status.
SEGMENT_KEYS: dict[Status, tuple[str, ...]] = {
    "optimal": ("variables", "rows", *ARRAYS),
    "infeasible": ("farkas",),
    "unbounded": ("ray", "violation", "x0", "x1"),
}
COMPACT_KEYS = ("changes", "moving")


def read_segments(
    documents: Sequence[Any], first: Any, problem: ParametricQP, field: Field, place: str
) -> tuple[Segment, ...]:
    """Return all segments; `first` are the states that the first compact segment refers to."""
    places = [f"{place}: segments[{i}]" for i in range(len(documents))]
    compact = [i for i, document in enumerate(documents) if is_compact(document)]
    trail = _read_trail(documents, places, first, problem, place) if compact else None
    numbers = {i: number for number, i in enumerate(compact)}
    segments = []
    for i, document in enumerate(documents):
        lo, hi, status = _read_common(document, field, places[i])
        own: Document = {"trail": trail, "number": numbers.get(i)}
        if i not in numbers:
            own = PARTS[status](document, problem, field, places[i])
        segments.append(Segment(lo, hi, status, problem, field, **own))
    return tuple(segments)


def is_compact(document: Any) -> bool:
    """Tell whether a segment states changes."""
    return isinstance(document, dict) and document.get("status") == "optimal" and "changes" in document


def _read_common(document: Any, field: Field, place: str) -> tuple[Number, Number, Any]:
    """Return what every segment begins with, after checking that it has the keys of its status."""
    status: Any = document.get("status") if isinstance(document, dict) else None
    read_word(status, f"{place}: status", tuple(SEGMENT_KEYS))
    wanted = COMPACT_KEYS if is_compact(document) else SEGMENT_KEYS[status]
    keys = read_object(document, place, required=("lo", "hi", "status", *wanted))
    lo, hi = read_ends([keys["lo"], keys["hi"]], field, f"{place}: [lo, hi]")
    return lo, hi, status


def read_ends(value: Any, field: Field, place: str) -> tuple[Number, Number]:
    """Return the two ends of an interval."""
    ends = [read_scalar(end, f"{place}[{i}]") for i, end in enumerate(read_list(value, place, 2))]
    lo, hi = (field.number(end) for end in ends)
    if lo > hi:
        raise FileFormatError(f"{place} must have lo ≤ hi, got {shown(lo)} and {shown(hi)}")
    return lo, hi


def _read_trail(
    documents: Sequence[Any], places: Sequence[str], first: Any, problem: ParametricQP, place: str
) -> Trail:
    """Return the compact segments as one trail, the states carried along through dense ones too."""
    from pqp.revised.postsolve import completion

    known = read_object(first, f"{place}: states", required=KINDS)
    states = _read_codes(known, problem, f"{place}: states: ")
    builder, written = TrailBuilder(problem, states, completion(problem)), states
    for document, where in zip(documents, places, strict=True):
        if is_compact(document):
            keys = read_object(document, where, required=("lo", "hi", "status", *COMPACT_KEYS))
            states = _changed(states, keys["changes"], problem, f"{where}: changes")
            items = np.flatnonzero(states != written)
            builder.add(items, states[items], *_read_moving(keys["moving"], problem, f"{where}: moving"))
            written = states
        elif isinstance(document, dict) and document.get("status") == "optimal":
            keys = read_object(document, where, required=("lo", "hi", "status", *SEGMENT_KEYS["optimal"]))
            states = _read_codes(keys, problem, f"{where}: ")
    return builder.trail()


def _read_codes(keys: Mapping[str, Any], problem: ParametricQP, prefix: str) -> States:
    words = [word for kind in KINDS for word in _read_states(keys[kind], prefix + kind, kind, problem)]
    return codes_of(words)


def _read_states(value: Any, place: str, kind: Kind, problem: ParametricQP) -> tuple[str, ...]:
    states = enumerate(read_list(value, place, _count(problem, kind)))
    return tuple(read_word(state, f"{place}[{i}]", WORDS_OF[kind]) for i, state in states)


def _count(problem: ParametricQP, kind: str) -> int:
    return problem.n if kind == "variables" else problem.m


def _changed(states: States, changes: Any, problem: ParametricQP, place: str) -> States:
    """Return the states after changes such as {"variables": {"3": "upper"}, "rows": {}}."""
    parts, result = read_object(changes, place, required=(), optional=KINDS), states.copy()
    for kind in [kind for kind in KINDS if kind in parts]:
        entries = parts[kind]
        if not isinstance(entries, dict):
            raise FileFormatError(f"{place}.{kind} must be an object {{...}}, got {shown(entries)}")
        for label, state in entries.items():
            item = int(label) if label.isascii() and label.isdecimal() and len(label) < 20 else -1
            if not 0 <= item < _count(problem, kind):
                raise FileFormatError(
                    f"{place}.{kind}: {shown(label)} must be an index below {_count(problem, kind)}"
                )
            word = read_word(state, f"{place}.{kind}.{label}", WORDS_OF[kind])
            result[item + (problem.n if kind == "rows" else 0)] = State[word.upper()]
    return result


def _read_moving(value: Any, problem: ParametricQP, place: str) -> tuple[Array, Array]:
    """Return the items solved for, and their (constant, slope)."""
    parts = read_object(value, place, required=[key for kind in KINDS for key in (kind, *MOVING[kind])])
    items, values = [], []
    for kind, names in MOVING.items():
        indices, size = read_indices(parts[kind], f"{place}.{kind}"), _count(problem, kind)
        if (indices >= size).any() or len(np.unique(indices)) < len(indices):
            raise FileFormatError(f"{place}.{kind} must hold different indices below {size}")
        items.append(indices + (problem.n if kind == "rows" else 0))
        pairs = [read_vector(parts[name], f"{place}.{name}", len(indices)).astype(float) for name in names]
        values.append(np.column_stack(pairs))
    return np.concatenate(items), np.concatenate(values)


def _optimal_parts(keys: Mapping[str, Any], problem: ParametricQP, field: Field, place: str) -> Document:
    lengths = {"x": problem.n, "y": problem.m, "z": problem.n}
    states = {kind: _read_states(keys[kind], f"{place}: {kind}", kind, problem) for kind in KINDS}
    vectors = {
        name: AffineArray(
            *(field.array(read_vector(keys[name + i], f"{place}: {name}{i}", length)) for i in "01")
        )
        for name, length in lengths.items()
    }
    return {"basis": Basis(**states), **vectors}


def _infeasible_parts(keys: Mapping[str, Any], problem: ParametricQP, field: Field, place: str) -> Document:
    weights = read_object(keys["farkas"], f"{place}: farkas", required=LIMITS)
    lengths = {key: problem.m if key.startswith("row") else problem.n for key in LIMITS}
    exact = {key: _exact(weights[key], f"{place}: farkas.{key}", length) for key, length in lengths.items()}
    return {"proof": Farkas(**exact)}


def _unbounded_parts(keys: Mapping[str, Any], problem: ParametricQP, field: Field, place: str) -> Document:
    lengths = {"ray": problem.n, "violation": problem.m, "x0": problem.n, "x1": problem.n}
    exact = {key: _exact(keys[key], f"{place}: {key}", length) for key, length in lengths.items()}
    return {"x": AffineArray(exact["x0"], exact["x1"]), "ray": exact["ray"], "violation": exact["violation"]}


def _exact(value: Any, place: str, length: int) -> Array:
    """Return a vector of a proof, which is exact in both arithmetics."""
    return FIELDS["exact"].array(read_vector(value, place, length))


PARTS: dict[str, Callable[[Mapping[str, Any], ParametricQP, Field, str], Document]] = {
    "optimal": _optimal_parts,
    "infeasible": _infeasible_parts,
    "unbounded": _unbounded_parts,
}


File = str | PathLike[str]
AFFINE = ("row_lower", "row_upper", "lower", "upper", "penalty")
LABELS = ("names", "row_names")
# What goes with the factor of a Gram matrix.
VECTORS = ("diagonal", "weights")
FRAME = ("format", "version")
PATH_KEYS = ("problem", "interval", "asked", "method", "rule", "arithmetic", "stopped", "segments")
# How the zip archive that an npz file is begins.
ZIP_MAGIC = b"PK"


def load_problem(file: File) -> ParametricQP:
    """Return the problem in a JSON file, written by hand or by `save_problem`."""
    document, place = _read(file), fspath(file)
    _require_format(document, "pqp-problem", place)
    return _read_problem({key: document[key] for key in document if key not in FRAME}, place)


def save_problem(problem: ParametricQP, file: File) -> None:
    """Write a problem to FILE.json, rationals kept exactly."""
    if FilePath(file).suffix != ".json":
        raise ProblemError(f"file must end in .json, got {FilePath(file).name!r}")
    write_document({"format": "pqp-problem", "version": VERSION, **problem_document(problem)}, file)


def load_path(file: File) -> Path:
    """Return a path that `path.save` wrote, to JSON or npz; `extend` goes on where it ended.

    The log is not saved. Nothing is proved by loading: `certify` does that.
    """
    document, place = _read(file), fspath(file)
    _require_format(document, "pqp-path", place)
    # a certificate may have been added; it is not part of the path
    frame = read_object(document, place, required=(*FRAME, *PATH_KEYS), optional=("states", "certificate"))
    return _read_path(frame, place)


def load_document(file: File) -> Document:
    """Return a path file as plain data, which `pqp.certificate.check` proves."""
    document = _read(file)
    _require_format(document, "pqp-path", fspath(file))
    return {key: _plain(value) for key, value in document.items()}


def _read(file: File) -> Document:
    """Return the object in a JSON or npz file; the first bytes tell which it is."""
    content, place = FilePath(file).read_bytes(), fspath(file)
    document = _unpack(content, place) if content.startswith(ZIP_MAGIC) else _parse(content, place)
    if not isinstance(document, dict):
        raise FileFormatError(f"{place} must hold one JSON object {{...}}, got {shown(document)}")
    return document


def _parse(content: bytes, place: str) -> Any:
    try:
        text = content.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_with_unique_keys, parse_constant=_forbid_constant)
    except FileFormatError as error:
        raise FileFormatError(f"{place}: {error}") from None
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{place} is not text in UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FileFormatError(f"{place} is not JSON: {error.msg} at {where}") from None
    except RecursionError:
        raise FileFormatError(f"{place} is nested too deeply to be a problem or a path") from None
    except ValueError:
        raise FileFormatError(f"{place} holds an integer of over 4300 digits; write it as a string") from None


def _with_unique_keys(pairs: list[tuple[str, Any]]) -> Document:
    document: Document = {}
    for key, value in pairs:
        if key in document:
            raise FileFormatError(f"the key {shown(key)} appears twice in one object; remove one")
        document[key] = value
    return document


def _forbid_constant(word: str) -> NoReturn:
    raise FileFormatError(f'{word} is not JSON; no limit is written "inf" or "-inf", with quotes')


def _unpack(content: bytes, place: str) -> Any:
    """Return the document that `write_document` packed; long vectors are left as rows of the blocks."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            blocks = {name: archive[name] for name in archive.files}
            document = _parse(str(blocks["document"][()]).encode(), place)
        unpack(document, blocks)
    except FileFormatError as error:
        message = str(error)
        raise FileFormatError(message if message.startswith(place) else f"{place}: {message}") from None
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, OSError) as error:
        raise FileFormatError(f"{place} is not an npz file written by path.save: {error}") from None
    return document


def _plain(value: Any) -> Any:
    """Return the value with arrays as lists, which is what a checker without numpy expects."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


def _require_format(document: Document, wanted: str, place: str) -> None:
    readers = {"pqp-problem": "load_problem or `pqp solve`", "pqp-path": "load_path or `pqp certify`"}
    found = document.get("format")
    if found != wanted:
        other = readers.get(found) if isinstance(found, str) else None
        remedy = f"{other} reads it" if other else f'the file must say "format": "{wanted}"'
        got = shown(found) if "format" in document else "missing"
        raise FileFormatError(f"{place}: format is {got}, {shown(wanted)} is needed; {remedy}")
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        got = shown(version) if "version" in document else "missing"
        raise FileFormatError(f"{place}: version is {got}; this pqp reads version {VERSION}")


def _read_problem(document: Any, place: str) -> ParametricQP:
    keys = read_object(document, place, required=("P", "c"), optional=("A", *AFFINE, "constant", *LABELS))
    try:
        P = _read_hessian(keys["P"], f"{place}: P")
        data: Document = {"c": read_affine_data(keys["c"], f"{place}: c")}
        if "A" in keys:
            data["A"] = read_matrix(keys["A"], f"{place}: A", columns=_size(P))
        data |= {key: read_affine_data(keys[key], f"{place}: {key}") for key in AFFINE if key in keys}
        data |= {key: read_labels(keys[key], f"{place}: {key}") for key in LABELS if key in keys}
        if "constant" in keys:
            data["constant"] = read_vector(keys["constant"], f"{place}: constant", 3)
        return ParametricQP(P=P, **data)
    except ProblemError as error:
        raise FileFormatError(f"{place}: {error}") from error


def _read_hessian(value: Any, place: str) -> Any:
    if not isinstance(value, dict) or "sparse" in value:
        return read_matrix(value, place)
    kinds = read_object(value, place, required=(), optional=("gram", *VECTORS, "pair_gram"))
    others = [key for key in VECTORS if key in kinds]
    if ("gram" in kinds) == ("pair_gram" in kinds) or (others and "pair_gram" in kinds):
        wanted = '"sparse", "gram" and "pair_gram"; "diagonal" and "weights" go with "gram"'
        raise FileFormatError(f"{place} must have one of the keys {wanted}, got {', '.join(kinds) or 'none'}")
    if "gram" in kinds:
        F = read_matrix(kinds["gram"], f"{place}.gram")
        return Gram(F, **{key: read_vector(kinds[key], f"{place}.{key}") for key in others})
    parts = read_object(kinds["pair_gram"], f"{place}.pair_gram", required=("K", "pairs"))
    K = read_matrix(parts["K"], f"{place}.pair_gram.K")
    return PairGram(K, read_matrix(parts["pairs"], f"{place}.pair_gram.pairs", columns=2))


def _size(P: Any) -> int:
    return int(P.size if isinstance(P, Gram | PairGram) else P.shape[0])


def _read_path(keys: Mapping[str, Any], place: str) -> Path:
    problem = _read_problem(keys["problem"], f"{place}: problem")
    field = FIELDS[read_word(keys["arithmetic"], f"{place}: arithmetic", tuple(FIELDS))]
    documents = read_list(keys["segments"], f"{place}: segments")
    segments = read_segments(documents, keys.get("states"), problem, field, place)
    method, rule = (_read_sentence(keys[key], f"{place}: {key}") for key in ("method", "rule"))
    path = Path(
        problem=problem,
        segments=segments,
        asked=read_ends(keys["asked"], field, f"{place}: asked"),
        arithmetic=field,
        method=method,
        rule=rule,
        stopped=None if keys["stopped"] is None else _read_sentence(keys["stopped"], f"{place}: stopped"),
        # paths from elsewhere can be read and checked, but only our own methods know how to go on
        continuation=extend if method in METHODS and rule in RULES else None,
    )
    _require_chain(path, read_ends(keys["interval"], field, f"{place}: interval"), place)
    return path


def _read_sentence(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise FileFormatError(f"{place} is {shown(value)}; a string is needed")
    return value


def _require_chain(path: Path, interval: tuple[Number, Number], place: str) -> None:
    for i, (left, right) in enumerate(pairwise(path.segments)):
        if left.hi != right.lo:
            remedy = f"begin where segments[{i}] ends, at {shown(left.hi)}, not at {shown(right.lo)}"
            raise FileFormatError(f"{place}: segments[{i + 1}] must {remedy}")
    if interval != (path.lo, path.hi):
        found, wanted = (f"[{shown(lo)}, {shown(hi)}]" for lo, hi in (interval, (path.lo, path.hi)))
        raise FileFormatError(f"{place}: interval is {found} but the segments cover {wanted}")
