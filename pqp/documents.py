"""Documents: problems and paths as plain data, in JSON or npz files, described in docs/file-format.md.

Room: records to dictionaries of lists and numbers, and dictionaries to files. Reading back is in `files`.
May touch: `errors`, `field`, `affine`, `hessian`, `problem`, `segment`.
"""

import json
import math
import os
from fractions import Fraction
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from pqp.affine import Affine
from pqp.errors import ProblemError
from pqp.field import Array, to_flint
from pqp.hessian import Gram, Hessian, PairGram
from pqp.problem import ParametricQP
from pqp.segment import Segment

if TYPE_CHECKING:
    from pqp.path import Path

VERSION = 1
Document = dict[str, Any]
# The arrays of an optimal segment, which npz files pack one block a name.
ARRAYS = ("x0", "x1", "y0", "y1", "z0", "z1")
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
    return [encode_array(row) if row.ndim else encode(row[()]) for row in map(np.asarray, values)]


def problem_document(problem: ParametricQP) -> Document:
    """Return a problem as plain data."""
    affine = ("c", "row_lower", "row_upper", "lower", "upper", "penalty")
    return {
        "P": _encode_hessian(problem.P),
        "A": encode_array(problem.A),
        **{name: _encode_affine(getattr(problem, name)) for name in affine},
        "constant": [encode(k) for k in problem.constant],
        "names": list(problem.names),
        "row_names": list(problem.row_names),
    }


def path_document(path: "Path") -> Document:
    """Return a path as plain data."""
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
        "segments": [_encode_segment(segment) for segment in path.segments],
    }


def write_document(document: Document, file: str | os.PathLike[str]) -> None:
    """Write a document to a .json or .npz file; an existing file is replaced only by a complete one."""
    target = FilePath(file)
    if target.suffix not in (".json", ".npz"):
        raise ProblemError(f"file must end in .json or .npz, got {target.name!r}")
    if target.suffix == ".npz" and document.get("arithmetic") != "float":
        raise ProblemError(f"{target.name}: npz holds float64 numbers and this path is exact; use .json")
    partial = target.with_name(f".{target.name}.partial")
    try:
        with partial.open("wb") as stream:
            _write_npz(document, stream) if target.suffix == ".npz" else _write_json(document, stream)
        partial.replace(target)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(target)) from None
    finally:
        partial.unlink(missing_ok=True)


def _write_json(document: Document, stream: Any) -> None:
    stream.write(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False).encode())


def _write_npz(document: Document, stream: Any) -> None:
    optimal = [segment for segment in document["segments"] if segment["status"] == "optimal"]
    blocks: Document = {
        name: np.array([segment[name] for segment in optimal], dtype=float) for name in ARRAYS
    }
    rest = [
        {key: value for key, value in segment.items() if key not in ARRAYS or segment["status"] != "optimal"}
        for segment in document["segments"]
    ]
    header = json.dumps({**document, "segments": rest}, allow_nan=False)
    np.savez_compressed(stream, document=np.array(header), **blocks)


def _encode_hessian(P: Hessian) -> Any:
    if isinstance(P, Gram):
        return {"gram": encode_array(P.F)}
    if isinstance(P, PairGram):
        return {"pair_gram": {"K": encode_array(P.K), "pairs": P.pairs.tolist()}}
    return encode_array(P.values)


def _encode_affine(data: Affine) -> Document:
    return {"constant": encode_array(data.constant), "slope": encode_array(data.slope)}


def _encode_segment(segment: Segment) -> Document:
    document: Document = {"lo": encode(segment.lo), "hi": encode(segment.hi), "status": segment.status}
    if segment.basis is not None:
        document |= {"variables": list(segment.basis.variables), "rows": list(segment.basis.rows)}
    if segment.proof is not None:
        names = ("row_lower", "row_upper", "lower", "upper")
        document["farkas"] = {name: encode_array(getattr(segment.proof, name)) for name in names}
    arrays = {name: getattr(segment, name) for name in ("ray", "violation", *ARRAYS)}
    return document | {name: encode_array(values) for name, values in arrays.items() if values is not None}
