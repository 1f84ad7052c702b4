"""Certificates: an independent, exact check that a path document proves what it claims.

The checker reads plain data and shares no code with the engines, so that it cannot share a mistake with them.
It works in four steps: read the problem exactly and prove it convex; derive the exact solution of every piece
from its states alone; find the exact set of mu on which that solution is optimal; and check that these sets
cover the whole interval. Stated numbers are only compared with the exact ones. They are used only for float
pieces that are not exactly optimal or too large to be solved exactly: these are proved optimal up to a bound.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import groupby
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from flint import fmpq

from pqp.certificate.bounds import RoughError
from pqp.certificate.cover import (
    BOUNDED,
    CORRECTED,
    EXACT,
    TOLERANCE,
    MisfitError,
    displacement,
    exact_ends,
    read_interval,
    require_chain,
    require_cover,
)
from pqp.certificate.document import End, approximate, entry, items, one_of, shown
from pqp.certificate.problem import read_problem
from pqp.certificate.proving import Plan, Prover, Work
from pqp.certificate.rationals import Span
from pqp.errors import CertificateError

# Proofs that take less than this many seconds do not mention it: their text is then the same every time.
REPORTED_SECONDS = 1.0
# Each round finds at least one more piece that has to be proved in another way.
MOST_ROUNDS = 20


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
        The number of segments proved: the sum of the next three.
    exact
        How many of them are exactly as their states say: optimal, infeasible or unbounded.
    corrected
        How many are exactly optimal after a few exact pivots: their states were off by a rounding error.
    bounded
        How many are as stated up to a proven bound: they are not exactly optimal, or too large to be solved
        exactly; or they are unbounded, and their feasible point misses limits by rounding errors.
    largest_violation
        The largest violation of a limit or of a sign on a bounded or corrected piece as it is stated,
        relative to the scale of its item: the largest sum of sizes of the terms that enter it. 0 without such
        pieces.
    largest_gap
        By how much the value of such a piece may exceed the least one, relative to `objective_scale`.
    objective_scale
        The largest sum of the sizes of the terms of the objective on such a piece.
    deviation
        By how much, relatively, a stated number differs at most from the exact one; on bounded pieces from
        the refined one that the bound is about, if it had to be refined.
    interval
        The exact ends of what was proved; infinite ends are floats.
    statuses
        The intervals of equal status, as (lo, hi, status).
    breakpoints
        The mu at which one piece ends and the next begins: exact, unless both pieces are bounded.
    proofs
        How each piece was proved: "exact", "corrected" or "bounded".
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
    proofs: tuple[str, ...] = field(default=(), repr=False)
    largest_violation: float = 0.0
    largest_gap: float = 0.0
    objective_scale: float = field(default=0.0, repr=False)

    @property
    def exact(self) -> int:
        """How many pieces are exactly as stated."""
        return self.proofs.count(EXACT)

    @property
    def corrected(self) -> int:
        """How many pieces are exactly optimal after a few exact pivots."""
        return self.proofs.count(CORRECTED)

    @property
    def bounded(self) -> int:
        """How many pieces are optimal up to a proven bound."""
        return self.proofs.count(BOUNDED)

    def __str__(self) -> str:
        interval = " to ".join(map(_text, self.interval))
        intervals = [f"{status} from {_text(lo)} to {_text(hi)}" for lo, hi, status in self.statuses]
        stopped = self.document.get("stopped")
        cost = f" The proof took {self.seconds:.0f} s." if self.seconds >= REPORTED_SECONDS else ""
        cut = f" The path is not complete: {stopped}." if stopped else ""
        return (
            f"Proved in exact rationals. Pieces: {self.pieces}, covering {interval} without gap or overlap "
            f"({', '.join(intervals) or 'nothing'}). Breakpoints: {len(self.breakpoints)}. {self._sentence}"
            f"{cost}{cut}"
        )

    @property
    def _sentence(self) -> str:
        """What is exact and what is bounded."""
        agree = f"agree with the exact ones to {self.deviation:.0e}" if self.deviation else "are exact"
        general = (
            "P is positive semidefinite, optimal pieces satisfy the optimality conditions at all their mu, "
            "others are proved by a Farkas vector or a ray, and the optimal value is continuous."
        )
        corrected = f" Corrected by exact pivots: {self.corrected}." if self.corrected else ""
        if not self.bounded:
            return f"{general} The stated numbers {agree}.{corrected}"
        share = f" Exactly as stated: {self.exact}." if self.exact else ""
        rest = f" {general.replace('optimal pieces', 'these optimal pieces')} Their numbers {agree}."
        return (
            f"As stated up to a proven bound: {self.bounded}, with violations of at most "
            f"{self.largest_violation:.0e} of their scales and a duality gap of at most "
            f"{self.largest_gap:.0e} of {self.objective_scale:.3g}, the scale of the objective."
            f"{share}{corrected}{rest if self.exact + self.corrected else ''}"
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
            "exact": self.exact,
            "corrected": self.corrected,
            "bounded": self.bounded,
            "largest_violation": self.largest_violation,
            "largest_gap": self.largest_gap,
            "objective_scale": self.objective_scale,
            "deviation": self.deviation,
            "interval": [full(mu) for mu in self.interval],
            "statuses": [[full(lo), full(hi), status] for lo, hi, status in self.statuses],
            "breakpoints": [full(mu) for mu in self.breakpoints],
        }
        document = {**self.document, "certificate": summary}
        text = json.dumps(document, indent=1, allow_nan=False, default=list)
        Path(file).write_text(text + "\n", encoding="utf-8")


def check(
    document: Mapping[str, object], *, thorough: bool = False, time_limit: float | None = None
) -> Certificate:
    """Return a certificate if the path document proves itself.

    Parameters
    ----------
    document
        A path as plain data, as `pqp.load_document` returns it or as JSON holds it.
    thorough
        Solve every piece exactly, however long that takes. By default a float piece is bounded where an exact
        solution would take much longer than tracing it did.
    time_limit
        Seconds after which no further float piece is solved exactly; the remaining ones are bounded.

    Raises
    ------
    CertificateError
        At the first condition that does not hold, with the place in the document.

    >>> problem = {"P": [[1]], "c": {"constant": [0], "slope": [-1]}}
    >>> piece = {"lo": 0, "hi": 1, "status": "optimal", "variables": ["between"], "rows": [],
    ...          "x0": [0], "x1": [1], "y0": [], "y1": [], "z0": [0], "z1": [0]}
    >>> path = {"format": "pqp-path", "version": 1, "problem": problem, "arithmetic": "exact",
    ...         "interval": [0, 1], "asked": [0, 1], "stopped": None, "segments": [piece]}
    >>> check(path)
    Certificate(arithmetic='exact', pieces=1, deviation=0.0, largest_violation=0.0, largest_gap=0.0)
    """
    began = perf_counter()
    interval, cut = _read_frame(document)
    # Float numbers are roundings of the exact ones; exact numbers must be right.
    tolerance = TOLERANCE if document["arithmetic"] == "float" else fmpq(0)
    deadline = math.inf if time_limit is None else began + time_limit
    problem = read_problem(entry(document, "problem", "document"), is_rounded=bool(tolerance))
    count = len(items(entry(document, "segments", "document"), None, "segments"))
    plan = Plan()
    for round_number in range(1, MOST_ROUNDS + 1):
        prover = Prover(document, problem, tolerance, Work(problem, count, thorough, deadline), plan)
        # float64 only decides comparisons that are clear; a result that is not a number decides none
        with np.errstate(invalid="ignore", over="ignore"):
            pieces = list(prover.pieces())
        require_chain(pieces, interval)
        stated = [interval[0], *(piece.hi for piece in pieces[:-1]), interval[1]]
        try:
            prover.ledger.require()
            # float ends are rounded, so the exact ones next to them are found; exact paths must state them
            ends = exact_ends(pieces, stated) if tolerance else stated
            break
        except (MisfitError, RoughError) as error:
            if round_number == MOST_ROUNDS or not plan.revise(error, pieces):
                if error.reason is not None:
                    raise error.reason from error
                raise
    require_cover(pieces, ends, cut)
    moves = [displacement(exact, mu) for exact, mu in zip(ends, stated, strict=True)]
    known = [-math.inf if ends[0] is None else _fraction(ends[0])]
    known += [math.inf if mu is None else _fraction(mu) for mu in ends[1:]]
    runs = [list(run) for _, run in groupby(range(len(pieces)), key=lambda i: pieces[i].status)]
    return Certificate(
        document=document,
        arithmetic=str(document["arithmetic"]),
        pieces=len(pieces),
        deviation=max(approximate(max(moves)), prover.deviation, prover.ledger.deviation),
        interval=(known[0], known[-1]),
        statuses=tuple((known[run[0]], known[run[-1] + 1], pieces[run[0]].status) for run in runs),
        # A piece without length has both its ends at one breakpoint.
        breakpoints=tuple(dict.fromkeys(Fraction(mu) for mu in known[1:-1])),
        seconds=perf_counter() - began,
        proofs=tuple(piece.proof for piece in pieces),
        largest_violation=prover.ledger.largest_violation,
        largest_gap=prover.ledger.largest_gap,
        objective_scale=prover.ledger.objective_scale,
    )


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
