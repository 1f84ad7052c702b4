"""Restoring: the segments of a path from their documents, dense or as changes.

Room: the part of a path document that states segments in, segments out; whatever is malformed raises a
`FileFormatError` that names its place. Proves nothing.
May touch: `errors`, `field`, `problem`, `compact`, `segment`, `packing`, `translation`, `decoding`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pqp.compact import CODES, States, Trail, TrailBuilder
from pqp.decoding import (
    read_indices,
    read_list,
    read_object,
    read_scalar,
    read_vector,
    read_word,
    shown,
)
from pqp.errors import FileFormatError
from pqp.field import FIELDS, Array, Field, Number
from pqp.packing import ARRAYS, KINDS, MOVING, Document
from pqp.problem import ParametricQP
from pqp.segment import Basis, Farkas, Segment, Status

LIMITS = ("row_lower", "row_upper", "lower", "upper")
# What a segment of each status must have besides lo, hi and status.
SEGMENT_KEYS: dict[Status, tuple[str, ...]] = {
    "optimal": ("variables", "rows", *ARRAYS),
    "infeasible": ("farkas",),
    "unbounded": ("ray", "violation", "x0", "x1"),
}
COMPACT_KEYS = ("changes", "moving")
KNOWN_STATES = {
    "variables": ("between", "lower", "upper", "fixed", "zero"),
    "rows": ("off", "lower", "upper", "equal", "below", "above"),
}


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
    from pqp.translation import completion

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
    return np.array([CODES[word] for word in words], dtype=np.int8)


def _read_states(value: Any, place: str, kind: str, problem: ParametricQP) -> tuple[str, ...]:
    states = enumerate(read_list(value, place, _count(problem, kind)))
    return tuple(read_word(state, f"{place}[{i}]", KNOWN_STATES[kind]) for i, state in states)


def _count(problem: ParametricQP, kind: str) -> int:
    return problem.n if kind == "variables" else problem.m


def _changed(states: States, changes: Any, problem: ParametricQP, place: str) -> States:
    """Return the states after changes such as {"variables": {"3": "upper"}, "rows": {}}."""
    parts, result = read_object(changes, place, required=(), optional=KINDS), states.copy()
    for kind, entries in parts.items():
        if not isinstance(entries, dict):
            raise FileFormatError(f"{place}.{kind} must be an object {{...}}, got {shown(entries)}")
        for label, state in entries.items():
            item = int(label) if label.isascii() and label.isdecimal() and len(label) < 20 else -1
            if not 0 <= item < _count(problem, kind):
                raise FileFormatError(
                    f"{place}.{kind}: {shown(label)} must be an index below {_count(problem, kind)}"
                )
            code = CODES[read_word(state, f"{place}.{kind}.{label}", KNOWN_STATES[kind])]
            result[item + (problem.n if kind == "rows" else 0)] = code
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
        name: tuple(field.array(read_vector(keys[name + i], f"{place}: {name}{i}", length)) for i in "01")
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
    return {"x": (exact["x0"], exact["x1"]), "ray": exact["ray"], "violation": exact["violation"]}


def _exact(value: Any, place: str, length: int) -> Array:
    """Return a vector of a proof, which is exact in both arithmetics."""
    return FIELDS["exact"].array(read_vector(value, place, length))


PARTS: dict[str, Callable[[Mapping[str, Any], ParametricQP, Field, str], Document]] = {
    "optimal": _optimal_parts,
    "infeasible": _infeasible_parts,
    "unbounded": _unbounded_parts,
}
