"""Packing: the long number arrays of a path document as a few blocks, which npz files hold.

Room: documents in, headers and blocks out, and back. Knows no files and no paths.
May touch: `errors`, `compact`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pqp.compact import CODES, STATES
from pqp.errors import FileFormatError
from pqp.field import Array

Document = dict[str, Any]
# The arrays of a dense optimal segment: one block a name, one row a segment.
ARRAYS = ("x0", "x1", "y0", "y1", "z0", "z1")
# What compact segments state, packed end to end with the lengths beside it: changes of states of both kinds
# of items, and what moves, each item with its constant and slope.
KINDS = ("variables", "rows")
MOVING = {"variables": ("x0", "x1"), "rows": ("y0", "y1")}


def pack(document: Document) -> tuple[Document, Document]:
    """Return the document without the long arrays of its optimal segments, and these as blocks."""
    segments = list(document["segments"])
    dense = [s for s in segments if s["status"] == "optimal" and "moving" not in s]
    blocks: Document = {name: np.array([s[name] for s in dense], dtype=float) for name in ARRAYS}
    compact = [segment for segment in segments if "moving" in segment]
    if compact:
        for kind in KINDS:
            blocks |= _packed_changes(compact, kind) | _packed_moving(compact, kind)
    return {**document, "segments": [_header(segment) for segment in segments]}, blocks


def _header(segment: Document) -> Document:
    if segment["status"] != "optimal":
        return segment
    packed = (*ARRAYS, "moving")
    kept = {key: value for key, value in segment.items() if key not in packed}
    return kept | ({"changes": {}} if "changes" in segment else {})


def _packed_changes(segments: list[Document], kind: str) -> Document:
    parts = [segment["changes"].get(kind, {}) for segment in segments]
    states = [CODES[state] for part in parts for state in part.values()]
    return {
        f"changes_{kind}": np.array([int(item) for part in parts for item in part], dtype=np.int32),
        f"changes_{kind}_states": np.array(states, dtype=np.int8),
        f"changes_{kind}_lengths": np.array([len(part) for part in parts], dtype=np.int32),
    }


def _packed_moving(segments: list[Document], kind: str) -> Document:
    blocks: Document = {}
    for name, dtype in ((kind, np.int32), *((name, np.float64) for name in MOVING[kind])):
        parts = [np.asarray(segment["moving"][name], dtype=dtype) for segment in segments]
        blocks[f"moving_{name}"] = np.concatenate(parts)
    lengths = [len(segment["moving"][kind]) for segment in segments]
    return blocks | {f"moving_{kind}_lengths": np.array(lengths, dtype=np.int32)}


def unpack(document: Any, blocks: Mapping[str, Array]) -> None:
    """Put the blocks back into the segments of a header; long vectors are left as parts of the blocks."""
    segments = document.get("segments") if isinstance(document, dict) else None
    optimal = [s for s in segments or [] if isinstance(s, dict) and s.get("status") == "optimal"]
    dense = [segment for segment in optimal if "changes" not in segment]
    for name in ARRAYS:
        if len(blocks[name]) != len(dense):
            counts = f"{len(blocks[name])} rows for {len(dense)} optimal segments"
            raise FileFormatError(f"the block {name} has {counts}")
        for segment, row in zip(dense, blocks[name], strict=True):
            segment[name] = row
    compact = [segment for segment in optimal if "changes" in segment]
    for segment in compact:
        segment |= {"changes": {}, "moving": {}}
    for kind in KINDS if compact else ():
        _unpack_changes(compact, blocks, kind)
        _unpack_moving(compact, blocks, kind)


def _unpack_changes(segments: list[Document], blocks: Mapping[str, Array], kind: str) -> None:
    codes = blocks[f"changes_{kind}_states"]
    if codes.dtype != np.int8 or not ((codes >= 0) & (codes < len(STATES))).all():
        raise FileFormatError(f"the block changes_{kind}_states must hold codes of states")
    items = _parts(blocks, f"changes_{kind}", f"changes_{kind}_lengths", len(segments))
    states = _parts(blocks, f"changes_{kind}_states", f"changes_{kind}_lengths", len(segments))
    for segment, part, new in zip(segments, items, states, strict=True):
        pairs = zip(part.tolist(), new.tolist(), strict=True)
        segment["changes"][kind] = {str(item): STATES[code] for item, code in pairs}


def _unpack_moving(segments: list[Document], blocks: Mapping[str, Array], kind: str) -> None:
    for name in (kind, *MOVING[kind]):
        parts = _parts(blocks, f"moving_{name}", f"moving_{kind}_lengths", len(segments))
        for segment, part in zip(segments, parts, strict=True):
            segment["moving"][name] = part


def _parts(blocks: Mapping[str, Array], name: str, lengths: str, count: int) -> list[Array]:
    """Return the parts of a block that was packed end to end, one a segment."""
    block, sizes = blocks[name], blocks[lengths]
    if sizes.shape != (count,) or sizes.dtype.kind != "i" or (sizes < 0).any():
        raise FileFormatError(f"the block {lengths} must hold {count} lengths")
    if block.shape != (sizes.sum(),):
        raise FileFormatError(f"the block {name} must hold {sizes.sum()} entries, got shape {block.shape}")
    ends = np.cumsum(sizes).tolist()
    return [block[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]
