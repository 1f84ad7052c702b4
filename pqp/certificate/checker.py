"""Certificates: an independent, exact check that a path document proves what it claims.

The checker reads plain data and shares no code with the engines, so that it cannot share a mistake with them.
It works in four steps: read the problem exactly and prove it convex; derive the exact solution of every piece
from its states alone; find the exact set of mu on which that solution is optimal; and check that these sets
cover the whole interval. Stated numbers are only compared with the exact ones, never used.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import groupby
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from flint import fmpq

from pqp.certificate.cover import (
    TOLERANCE,
    Accuracy,
    ProvedPiece,
    displacement,
    exact_ends,
    prove_piece,
    read_interval,
    require_chain,
    require_continuity,
    require_cover,
)
from pqp.certificate.document import End, entry, items, one_of, shown
from pqp.certificate.problem import read_problem
from pqp.certificate.rationals import Span
from pqp.certificate.states import ActiveSet
from pqp.errors import CertificateError

# Proofs that take less than this many seconds do not mention it: their text is then the same every time.
REPORTED_SECONDS = 1.0


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was proved: at every mu of `interval` the status, and where optimal the solution, are as stated.

    Where a trace was stopped next to an infeasible or unbounded piece, that end itself may be unproved.

    Parameters
    ----------
    document
        The path document that was checked.
    arithmetic
        "exact", or "float" if stated numbers may differ from the exact ones by rounding errors.
    pieces
        The number of segments proved.
    deviation
        The largest relative difference between a stated number and the exact one.
    interval
        The exact ends of what was proved; infinite ends are floats.
    statuses
        The intervals of equal status, as (lo, hi, status).
    breakpoints
        The exact mu at which one piece ends and the next begins.
    seconds
        How long the proof took.
    """

    document: Mapping[str, object] = field(repr=False)
    arithmetic: str
    pieces: int
    deviation: float
    interval: tuple[Fraction | float, Fraction | float] = field(repr=False)
    statuses: tuple[tuple[Fraction | float, Fraction | float, str], ...] = field(repr=False)
    breakpoints: tuple[Fraction, ...] = field(repr=False)
    seconds: float = field(repr=False)

    def __str__(self) -> str:
        interval = " to ".join(map(_text, self.interval))
        intervals = [f"{status} from {_text(lo)} to {_text(hi)}" for lo, hi, status in self.statuses]
        agree = f"agree with the exact ones to {self.deviation:.0e}" if self.deviation else "are exact"
        stopped = self.document.get("stopped")
        cost = f" The proof took {self.seconds:.0f} s." if self.seconds >= REPORTED_SECONDS else ""
        cut = f" The path is not complete: {stopped}." if stopped else ""
        return (
            f"Proved in exact rationals. Pieces: {self.pieces}, covering {interval} without gap or overlap "
            f"({', '.join(intervals) or 'nothing'}). Breakpoints: {len(self.breakpoints)}. P is positive "
            "semidefinite, optimal pieces satisfy the optimality conditions at all their mu, others are "
            "proved by a Farkas vector or a ray, and the optimal value is continuous. The stated numbers "
            f"{agree}."
            f"{cost}{cut}"
        )

    def save(self, file: str | PathLike[str]) -> None:
        """Write the document as JSON with a `certificate` block added; `check` accepts the result again.

        Parameters
        ----------
        file
            Where to write it; an existing file is replaced.
        """
        full = partial(_text, in_full=True)
        summary = {
            "pieces": self.pieces,
            "deviation": self.deviation,
            "interval": [full(mu) for mu in self.interval],
            "statuses": [[full(lo), full(hi), status] for lo, hi, status in self.statuses],
            "breakpoints": [full(mu) for mu in self.breakpoints],
        }
        document = {**self.document, "certificate": summary}
        text = json.dumps(document, indent=1, allow_nan=False, default=list)
        Path(file).write_text(text + "\n", encoding="utf-8")


def check(document: Mapping[str, object]) -> Certificate:
    """Return a certificate if the path document proves itself.

    Parameters
    ----------
    document
        A path as plain data, as `pqp.load_document` returns it or as JSON holds it.

    Raises
    ------
    CertificateError
        At the first condition that does not hold, with the place in the document.

    >>> problem = {"P": [], "c": {"constant": [], "slope": []}}
    >>> path = {"format": "pqp-path", "version": 1, "problem": problem, "arithmetic": "exact",
    ...         "interval": [1, 1], "asked": [1, 2], "stopped": "no time left", "segments": []}
    >>> check(path)
    Certificate(arithmetic='exact', pieces=0, deviation=0.0)
    """
    began = perf_counter()
    interval, cut = _read_frame(document)
    # Float numbers are roundings of the exact ones; exact numbers must be right.
    tolerance = TOLERANCE if document["arithmetic"] == "float" else fmpq(0)
    accuracy = Accuracy(tolerance)
    # float64 only decides comparisons that are clear; a result that is not a number decides none
    with np.errstate(invalid="ignore", over="ignore"):
        pieces = list(_prove_pieces(document, accuracy))
    require_chain(pieces, interval, is_stopped=document["stopped"] is not None)
    stated = [interval[0], *(piece.hi for piece in pieces[:-1]), interval[1]]
    # float ends are rounded, so the exact ones next to them are found; exact paths must state them exactly
    ends = exact_ends(pieces, stated) if pieces and tolerance else stated
    require_cover(pieces, ends, cut)
    moves = [displacement(exact, mu) for exact, mu in zip(ends, stated, strict=True)]
    known = [-math.inf if ends[0] is None else _fraction(ends[0])]
    known += [math.inf if mu is None else _fraction(mu) for mu in ends[1:]]
    runs = [list(run) for _, run in groupby(range(len(pieces)), key=lambda i: pieces[i].status)]
    return Certificate(
        document=document,
        arithmetic=str(document["arithmetic"]),
        pieces=len(pieces),
        deviation=float(_fraction(max([*moves, accuracy.worst]))),
        interval=(known[0], known[-1]),
        statuses=tuple((known[run[0]], known[run[-1] + 1], pieces[run[0]].status) for run in runs),
        # A piece without length has both its ends at one breakpoint.
        breakpoints=tuple(dict.fromkeys(Fraction(mu) for mu in known[1:-1])),
        seconds=perf_counter() - began,
    )


def _prove_pieces(document: Mapping[str, Any], accuracy: Accuracy) -> Iterator[ProvedPiece]:
    """Yield the segments as proved pieces; a solution is dropped once the next piece is compared with it."""
    problem = read_problem(entry(document, "problem", "document"))
    active, before = ActiveSet(problem), None
    if document.get("states") is not None:
        active.set_all(document["states"], "states")
    for i, claim in enumerate(items(entry(document, "segments", "document"), None, "segments")):
        piece = prove_piece(active, claim, f"segments[{i}]", accuracy)
        if before is not None:
            require_continuity(problem, before, piece)
        before = piece
        # One solution at a time, so that memory does not grow with the number of pieces.
        yield replace(piece, x=None)


def _read_frame(document: Mapping[str, Any]) -> tuple[tuple[End, End], tuple[bool, bool]]:
    """Return the interval, and which of its ends are not those asked for."""
    allowed = {"format": ("pqp-path",), "version": (1,), "arithmetic": ("exact", "float")}
    for key, known in allowed.items():
        one_of(known, entry(document, key, "document"), key)
    (lo, hi), asked = (read_interval(entry(document, key, "document"), key) for key in ("interval", "asked"))
    stopped = entry(document, "stopped", "document")
    if stopped is not None and not isinstance(stopped, str):
        raise CertificateError(argument="stopped", expected="null or a sentence", found=shown(stopped))
    if not Span(*asked).holds_between(lo, hi) or (stopped is None and (lo, hi) != asked):
        found = f"[{shown(lo, '-inf')}, {shown(hi)}]"
        message = "`{argument}` must equal `asked`, or lie inside it when `stopped` is set, got {found}"
        raise CertificateError(message, argument="interval", found=found)
    return (lo, hi), (lo != asked[0], hi != asked[1])


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _text(value: Fraction | float, in_full: bool = False) -> str:
    if not isinstance(value, Fraction):
        return str(value)
    exact = fmpq(value.numerator, value.denominator)
    return str(exact) if in_full else shown(exact)
