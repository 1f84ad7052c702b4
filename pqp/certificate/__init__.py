"""Certificates: an independent, exact check that a path document proves what it claims."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
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
    Gauge,
    Piece,
    exact_ends,
    move,
    prove_piece,
    read_interval,
    require_chain,
    require_continuity,
    require_cover,
)
from pqp.certificate.document import End, entry, items, one_of, shown
from pqp.certificate.exact import Span
from pqp.certificate.problem import read_problem
from pqp.certificate.states import Ledger
from pqp.errors import CertificateError

# Seconds from which on the cost of a proof is told: shorter ones say the same every time.
WORTH_TELLING = 1.0
__all__ = ["Certificate", "check"]


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was proved: at every mu of `interval` the status, and where optimal the solution, are as stated.

    `interval` and `breakpoints` are exact (infinite ends are floats), `statuses` are the stretches (lo, hi,
    status), `deviation` is the largest relative difference between a stated number and the exact one,
    `seconds` is what the proof took. Where a stop cut the interval short beside an infeasible or unbounded
    piece, that end itself may be unproved.
    """

    document: Mapping[str, Any] = field(repr=False)
    arithmetic: str
    pieces: int
    deviation: float
    interval: tuple[Fraction | float, Fraction | float] = field(repr=False)
    statuses: tuple[tuple[Fraction | float, Fraction | float, str], ...] = field(repr=False)
    breakpoints: tuple[Fraction, ...] = field(repr=False)
    seconds: float = field(repr=False)

    def __str__(self) -> str:
        interval = " to ".join(map(_text, self.interval))
        stretches = [f"{status} from {_text(lo)} to {_text(hi)}" for lo, hi, status in self.statuses]
        agree = f"agree with the exact ones to {self.deviation:.0e}" if self.deviation else "are exact"
        stopped = self.document.get("stopped")
        cost = f" The proof took {self.seconds:.0f} s." if self.seconds >= WORTH_TELLING else ""
        cut = f" The path is not complete: {stopped}." if stopped else ""
        return (
            f"Proved in exact rationals. Pieces: {self.pieces}, covering {interval} without gap or overlap "
            f"({', '.join(stretches) or 'nothing'}). Breakpoints: {len(self.breakpoints)}. P is positive "
            "semidefinite, optimal pieces satisfy the optimality conditions at all their mu, others are "
            f"proved by their vectors, and the optimal value is continuous. The stated numbers {agree}."
            f"{cost}{cut}"
        )

    def save(self, file: str | PathLike[str]) -> None:
        """Write the document as JSON with a `certificate` block added; `check` accepts the result again."""
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


def check(document: Mapping[str, Any]) -> Certificate:
    """Return a certificate if the path document proves itself; raise at the first thing that does not hold.

    >>> problem = {"P": [], "c": {"constant": [], "slope": []}}
    >>> path = {"format": "pqp-path", "version": 1, "problem": problem, "arithmetic": "exact",
    ...         "interval": [1, 1], "asked": [1, 2], "stopped": "no time left", "segments": []}
    >>> check(path)
    Certificate(arithmetic='exact', pieces=0, deviation=0.0)
    """
    began = perf_counter()
    interval, cut = _read_frame(document)
    tolerance = TOLERANCE if document["arithmetic"] == "float" else fmpq(0)
    gauge = Gauge(tolerance)
    with np.errstate(invalid="ignore", over="ignore"):  # a float that is no number proves nothing
        pieces = list(_prove_pieces(document, gauge))
    require_chain(pieces, interval, document["stopped"])
    stated = [interval[0], *(piece.hi for piece in pieces[:-1]), interval[1]]
    ends = exact_ends(pieces, stated) if pieces and tolerance else stated
    require_cover(pieces, ends, cut)
    moves = [move(exact, mu) for exact, mu in zip(ends, stated, strict=True)]
    return _summarise(document, pieces, ends, max([*moves, gauge.worst]), perf_counter() - began)


def _prove_pieces(document: Mapping[str, Any], gauge: Gauge) -> Iterator[Piece]:
    """Yield the segments as proved pieces, and forget their solutions once the next one continues them."""
    problem = read_problem(entry(document, "problem", "document"))
    ledger, before = Ledger(problem), None
    if document.get("states") is not None:
        ledger.set_all(document["states"], "states")
    for i, claim in enumerate(items(entry(document, "segments", "document"), None, "segments")):
        piece = prove_piece(ledger, claim, f"segments[{i}]", gauge)
        if before is not None:
            require_continuity(problem, before, piece)
        before = piece
        yield replace(piece, x=None)


def _read_frame(document: Mapping[str, Any]) -> tuple[tuple[End, End], tuple[bool, bool]]:
    """Return the interval, and which of its ends are not those asked for."""
    one_of(("pqp-path",), entry(document, "format", "document"), "format")
    one_of((1,), entry(document, "version", "document"), "version")
    one_of(("exact", "float"), entry(document, "arithmetic", "document"), "arithmetic")
    (lo, hi), asked = (read_interval(entry(document, key, "document"), key) for key in ("interval", "asked"))
    stopped = entry(document, "stopped", "document")
    if stopped is not None and not isinstance(stopped, str):
        raise CertificateError(f"stopped must be null or a sentence, got {shown(stopped)}")
    if not Span(*asked).holds_between(lo, hi) or (stopped is None and (lo, hi) != asked):
        raise CertificateError("interval must be the one in asked or, if stopped says why, a part of it")
    return (lo, hi), (lo != asked[0], hi != asked[1])


def _summarise(
    document: Mapping[str, Any],
    pieces: Sequence[Piece],
    ends: Sequence[End],
    deviation: fmpq,
    seconds: float,
) -> Certificate:
    known = [-math.inf if ends[0] is None else _fraction(ends[0])]
    known += [math.inf if mu is None else _fraction(mu) for mu in ends[1:]]
    runs = [list(run) for _, run in groupby(range(len(pieces)), key=lambda i: pieces[i].status)]
    return Certificate(
        document=document,
        arithmetic=document["arithmetic"],
        pieces=len(pieces),
        deviation=float(_fraction(deviation)),
        interval=(known[0], known[-1]),
        statuses=tuple((known[run[0]], known[run[-1] + 1], pieces[run[0]].status) for run in runs),
        breakpoints=tuple(dict.fromkeys(Fraction(mu) for mu in known[1:-1])),
        seconds=seconds,
    )


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _text(value: Fraction | float, in_full: bool = False) -> str:
    if not isinstance(value, Fraction):
        return str(value)
    exact = fmpq(value.numerator, value.denominator)
    return str(exact) if in_full else shown(exact)
