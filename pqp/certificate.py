"""Certificates: an independent, exact check that a path document proves what it claims.

Room: a path document (`docs/file-format.md`) in, a `Certificate` or a `CertificateError` out. Every piece is
proved on its own from its states or vectors, in rationals; then the pieces are fitted together.
May touch: `errors`, `certificate_algebra`, python-flint; never an engine.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate, groupby, pairwise
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from flint import fmpq, fmpq_mat

from pqp.certificate_algebra import (
    ZERO,
    End,
    Limit,
    Line,
    Problem,
    Span,
    T,
    column,
    columns,
    combine,
    end,
    entry,
    items,
    lines,
    numbers,
    one_of,
    part,
    read_problem,
    shown,
    weights,
)
from pqp.errors import CertificateError

# How far a float64 number may be from the exact one, relative to 1 + the largest entry of its vector: far
# above rounding, far below what would mislead a reader. The proof itself never uses a rounded number.
TOLERANCE = fmpq(1, 10**7)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was proved: at every mu of `interval` the status, and where optimal the solution, are as stated.

    `interval` and `breakpoints` are exact (infinite ends are floats), `statuses` are the stretches (lo, hi,
    status), `deviation` is the largest relative difference between a stated number and the exact one. Where a
    stop cut the interval short beside an infeasible or unbounded piece, that end itself may be unproved.
    """

    document: Mapping[str, Any] = field(repr=False)
    arithmetic: str
    pieces: int
    deviation: float
    interval: tuple[Fraction | float, Fraction | float] = field(repr=False)
    statuses: tuple[tuple[Fraction | float, Fraction | float, str], ...] = field(repr=False)
    breakpoints: tuple[Fraction, ...] = field(repr=False)

    def __str__(self) -> str:
        interval = " to ".join(map(_text, self.interval))
        stretches = [f"{status} from {_text(lo)} to {_text(hi)}" for lo, hi, status in self.statuses]
        agree = f"agree with the exact ones to {self.deviation:.0e}" if self.deviation else "are exact"
        return (
            f"Proved in exact rationals. Pieces: {self.pieces}, covering {interval} without gap or overlap "
            f"({', '.join(stretches) or 'nothing'}). Breakpoints: {len(self.breakpoints)}. P is positive "
            "semidefinite, optimal pieces satisfy the optimality conditions at all their mu, others are "
            f"proved by their vectors, and the optimal value is continuous. The stated numbers {agree}."
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
        text = json.dumps({**self.document, "certificate": summary}, indent=1, allow_nan=False)
        Path(file).write_text(text + "\n", encoding="utf-8")


def check(document: Mapping[str, Any]) -> Certificate:
    """Return a certificate if the path document proves itself; raise at the first thing that does not hold.

    >>> problem = {"P": [], "c": {"constant": [], "slope": []}}
    >>> path = {"format": "pqp-path", "version": 1, "problem": problem, "arithmetic": "exact",
    ...         "interval": [1, 1], "asked": [1, 2], "stopped": "no time left", "segments": []}
    >>> check(path)
    Certificate(arithmetic='exact', pieces=0, deviation=0.0)
    """
    interval, cut = _read_frame(document)
    problem = read_problem(entry(document, "problem", "document"))
    tolerance = TOLERANCE if document["arithmetic"] == "float" else fmpq(0)
    segments = items(entry(document, "segments", "document"), None, "segments")
    pieces = [_prove_piece(problem, claim, f"segments[{i}]", tolerance) for i, claim in enumerate(segments)]
    _require_chain(pieces, interval, document["stopped"])
    stated = [interval[0], *(piece.hi for piece in pieces[:-1]), interval[1]]
    ends = _exact_ends(pieces, stated, cut) if pieces and tolerance else stated
    _require_cover(pieces, ends, cut)
    _require_continuity(problem, pieces, ends)
    moves = [_move(exact, mu) for exact, mu in zip(ends, stated, strict=True)]
    return _summarise(document, pieces, ends, max([*moves, *(piece.deviation for piece in pieces)]))


def _read_frame(document: Mapping[str, Any]) -> tuple[tuple[End, End], tuple[bool, bool]]:
    """Return the interval, and which of its ends are not those asked for."""
    one_of(("pqp-path",), entry(document, "format", "document"), "format")
    one_of((1,), entry(document, "version", "document"), "version")
    one_of(("exact", "float"), entry(document, "arithmetic", "document"), "arithmetic")
    (lo, hi), asked = (_read_interval(entry(document, key, "document"), key) for key in ("interval", "asked"))
    stopped = entry(document, "stopped", "document")
    if stopped is not None and not isinstance(stopped, str):
        raise CertificateError(f"stopped must be null or a sentence, got {shown(stopped)}")
    if not Span(*asked).holds_between(lo, hi) or (stopped is None and (lo, hi) != asked):
        raise CertificateError("interval must be the one in asked or, if stopped says why, a part of it")
    return (lo, hi), (lo != asked[0], hi != asked[1])


def _read_interval(pair: Any, place: str) -> tuple[End, End]:
    lo, hi = items(pair, 2, place)
    ends = end(lo, "-inf", f"{place}: lo"), end(hi, "inf", f"{place}: hi")
    if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
        raise CertificateError(f"{place} must have lo ≤ hi, got {shown(ends[0])} and {shown(ends[1])}")
    return ends


@dataclass(frozen=True)
class Piece:
    """A segment after its own proof: stated ends, the exact set of mu where it holds, x if it is optimal."""

    place: str
    status: str
    lo: End
    hi: End
    span: Span
    x: fmpq_mat | None = None
    deviation: fmpq = field(default_factory=fmpq)


class Stair(NamedTuple):
    """A value and its multiplier, and what decides if they are optimal: limits and, in soft rows, a cap."""

    name: str
    value: Line
    multiplier: Line
    lower: Limit
    upper: Limit
    cap: Limit

    def frozen(self, mu: fmpq) -> "Stair":
        """Return the same at one mu only: constants instead of lines."""
        lower, upper, cap = (side and side.frozen(mu) for side in (self.lower, self.upper, self.cap))
        return Stair(self.name, self.value.frozen(mu), self.multiplier.frozen(mu), lower, upper, cap)

    def shrink(self, span: Span) -> Span:
        """Return the part of the span where the pair is optimal.

        In a soft row, −multiplier must be a slope of cap · max(0, lower − value, value − upper); otherwise
        value and multiplier must be feasible and complementary.
        """
        if self.cap is None:
            return self._shrink_inside(span)
        if self.multiplier.is_zero and self.cap.is_zero:
            return span
        span = span.where(self.cap, f"penalty of {self.name} ≥ 0")
        if self.lower is not None and self.multiplier == self.cap:
            return self._shrink_outside(span, self.lower - self.value, "below")
        if self.upper is not None and self.multiplier == -self.cap:
            return self._shrink_outside(span, self.value - self.upper, "above")
        span = span.where(self.cap - self.multiplier, f"multiplier of {self.name} ≤ penalty")
        span = span.where(self.cap + self.multiplier, f"multiplier of {self.name} ≥ −penalty")
        return self._shrink_inside(span)

    def _shrink_inside(self, span: Span) -> Span:
        if self.value != self.upper:
            span = span.where(self.multiplier, f"multiplier of {self.name} ≥ 0")
        if self.value != self.lower:
            span = span.where(-self.multiplier, f"multiplier of {self.name} ≤ 0")
        return span.within(self.value, self.lower, self.upper, self.name)

    def _shrink_outside(self, span: Span, excess: Line, side: str) -> Span:
        span = span.where(excess, f"{self.name} {side} its limit")
        if self.lower is None or self.upper is None:
            return span
        # Where the two limits cross, both are violated and the larger excess is the one that costs.
        other = self.lower - self.upper - excess
        return span.where(excess - other, f"{self.name} more {side} than beyond its other limit")


class Solution(NamedTuple):
    """x, the multipliers of rows and bounds, and A x; each with the columns constant and slope."""

    x: fmpq_mat
    y: fmpq_mat
    z: fmpq_mat
    activity: fmpq_mat

    def stairs(self, problem: Problem) -> list[Stair]:
        """Return every value with its multiplier and limits."""
        bounds = zip(lines(self.x), lines(self.z), problem.lower, problem.upper, strict=True)
        rows = zip(lines(self.activity), lines(self.y), problem.row_lower, problem.row_upper, strict=True)
        return [Stair(f"x[{j}]", *parts, None) for j, parts in enumerate(bounds)] + [
            Stair(f"row {i}", *parts, problem.penalty[i]) for i, parts in enumerate(rows)
        ]


def _kkt_span(stairs: Iterable[Stair]) -> Span:
    span = Span()
    for stair in stairs:
        span = stair.shrink(span)
    return span


def _prove_optimal(problem: Problem, segment: Any, piece: Piece, tolerance: fmpq) -> Piece:
    solution = _derive(problem, segment, piece.place)
    deviation = fmpq(0)
    for name, exact in (("x", solution.x), ("y", solution.y), ("z", solution.z)):
        for k, vector in enumerate(exact.transpose().tolist()):
            deviation = max(deviation, _compare(segment, f"{name}{k}", vector, tolerance, piece.place))
    stairs = solution.stairs(problem)
    span = _kkt_span(stairs)
    # At a single mu only the values there count: lines that differ may meet just at this point.
    if piece.lo is not None and piece.lo == piece.hi and not span.holds_at(piece.lo):
        frozen = _kkt_span(stair.frozen(piece.lo) for stair in stairs)
        span = span if frozen.is_empty else Span(piece.lo, piece.lo)
    return replace(piece, span=span, x=solution.x, deviation=deviation)


def _compare(segment: Any, name: str, exact: Sequence[fmpq], tolerance: fmpq, place: str) -> fmpq:
    """Return the largest deviation of a stated vector, relative to 1 + the largest exact entry."""
    stated = numbers(entry(segment, name, place), len(exact), f"{place}: {name}")
    scale = 1 + max((abs(v) for v in exact), default=fmpq(0))
    deviations = [abs(a - b) / scale for a, b in zip(stated, exact, strict=True)]
    for i, deviation in enumerate(deviations):
        if deviation > tolerance:
            raise CertificateError(
                f"{place}: {name}[{i}] must be {shown(exact[i])} by its states, got {shown(stated[i])}"
            )
    return max(deviations, default=fmpq(0))


def _derive(problem: Problem, segment: Any, place: str) -> Solution:
    """Return the solution that the states stand for: the unknown x and y by one exact solve."""
    bounds = zip(problem.lower, problem.upper, strict=True)
    values = _read_states(segment, "variables", [_variable_roles(*sides) for sides in bounds], place)
    limits = zip(problem.row_lower, problem.row_upper, problem.penalty, strict=True)
    roles = _read_states(segment, "rows", [_row_roles(*sides) for sides in limits], place)
    free = [j for j, value in enumerate(values) if value is None]
    held = [i for i, (target, _) in enumerate(roles) if target is not None]
    x, y = columns(values), columns([multiplier for _, multiplier in roles])
    rest = columns([target for target, _ in roles]) - problem.A * x
    right = part(-problem.gradient(x, y), free, (0, 1)).entries() + part(rest, held, (0, 1)).entries()
    try:
        unknown = problem.system(free, held).solve(fmpq_mat(len(free) + len(held), 2, right))
    except ZeroDivisionError:
        raise CertificateError(f"{place}: the states must give a nonsingular system") from None
    for r, (vector, index) in enumerate([(x, j) for j in free] + [(y, i) for i in held]):
        vector[index, 0], vector[index, 1] = unknown[r, 0], unknown[r, 1]
    return Solution(x, y, problem.gradient(x, y), problem.A * x)


def _read_states(segment: Any, key: str, roles: Sequence[Mapping[str, T]], place: str) -> list[T]:
    states = items(entry(segment, key, place), len(roles), f"{place}: {key}")
    pairs = enumerate(zip(states, roles, strict=True))
    return [role[one_of(tuple(role), state, f"{place}: {key}[{i}]")] for i, (state, role) in pairs]


def _variable_roles(lower: Limit, upper: Limit) -> dict[str, Limit]:
    """Return what x is in each state this variable can be in, None for an unknown."""
    roles: dict[str, Limit] = {"between": None} | ({"zero": ZERO} if lower is None and upper is None else {})
    roles |= {state: limit for state, limit in (("lower", lower), ("upper", upper)) if limit is not None}
    return roles | ({"fixed": lower} if lower is not None and lower == upper else {})


def _row_roles(lower: Limit, upper: Limit, penalty: Limit) -> dict[str, tuple[Limit, Limit]]:
    """Return (limit it is held at, None) or (None, multiplier) for each state this row can be in."""
    roles: dict[str, tuple[Limit, Limit]] = {"off": (None, ZERO)}
    if lower is not None:
        roles |= {"lower": (lower, None)} | ({} if penalty is None else {"below": (None, penalty)})
    if upper is not None:
        roles |= {"upper": (upper, None)} | ({} if penalty is None else {"above": (None, -penalty)})
    return roles | ({"equal": (lower, None)} if lower is not None and lower == upper else {})


def _prove_infeasible(problem: Problem, segment: Any, piece: Piece, tolerance: fmpq) -> Piece:
    place = f"{piece.place}: farkas"
    farkas, gap, signed = entry(segment, "farkas", piece.place), ZERO, {}
    for key, limits in problem.hard_limits.items():
        factors = weights(entry(farkas, key, place), limits, f"{place}.{key}")
        signed[key] = column([-w for w in factors] if key.endswith("upper") else factors)
        gap += combine(signed[key].entries(), limits)
    rows, bounds = signed["row_lower"] + signed["row_upper"], signed["lower"] + signed["upper"]
    for j, excess in enumerate((problem.A.transpose() * rows + bounds).entries()):
        if excess:
            raise CertificateError(f"{place} must cancel x[{j}], but leaves {shown(excess)} times it")
    return replace(piece, span=Span().where(gap, "gap > 0", strict=True))


def _prove_unbounded(problem: Problem, segment: Any, piece: Piece, tolerance: fmpq) -> Piece:
    size, place, keys = problem.c.nrows(), piece.place, ("ray", "x0", "x1")
    ray, x0, x1 = (numbers(entry(segment, key, place), size, f"{place}: {key}") for key in keys)
    violation = weights(entry(segment, "violation", place), problem.penalty, f"{place}: violation")
    for j, curvature in enumerate(problem.P.times(column(ray)).entries()):
        if curvature:
            raise CertificateError(f"{place}: P ray must be 0, entry {j} is {shown(curvature)}")
    _require_recession(ray, [fmpq(0)] * size, problem.lower, problem.upper, f"{place}: ray of x")
    growth = (problem.A * column(ray)).entries()
    _require_recession(growth, violation, problem.row_lower, problem.row_upper, f"{place}: ray of row ")
    change = combine(ray, lines(problem.c)) + combine(violation, problem.penalty)
    falling = Span().where(-change, "the objective falls along the ray", strict=True)
    x = fmpq_mat(size, 2, [v for pair in zip(x0, x1, strict=True) for v in pair])
    return replace(piece, span=_feasible_part(falling, problem, x))


def _require_recession(
    growth: Sequence[fmpq], slack: Sequence[fmpq], lower: Sequence[Limit], upper: Sequence[Limit], place: str
) -> None:
    for i, (change, give) in enumerate(zip(growth, slack, strict=True)):
        if (lower[i] is not None and change + give < 0) or (upper[i] is not None and change - give > 0):
            raise CertificateError(f"{place}[{i}] must respect finite limits, but changes by {shown(change)}")


def _feasible_part(span: Span, problem: Problem, x: fmpq_mat) -> Span:
    hard = problem.hard_limits
    for j, value in enumerate(lines(x)):
        span = span.within(value, hard["lower"][j], hard["upper"][j], f"x[{j}]")
    for i, value in enumerate(lines(problem.A * x)):
        span = span.within(value, hard["row_lower"][i], hard["row_upper"][i], f"row {i}")
    return span


def _prove_piece(problem: Problem, segment: Any, place: str, tolerance: fmpq) -> Piece:
    lo, hi = _read_interval((entry(segment, "lo", place), entry(segment, "hi", place)), place)
    place = f"{place} on [{shown(lo, '-inf')}, {shown(hi)}]"
    status = one_of(tuple(PROOFS), entry(segment, "status", place), f"{place}: status")
    piece = PROOFS[status](problem, segment, Piece(place, status, lo, hi, Span()), tolerance)
    if piece.span.is_empty:
        raise CertificateError(f"{place} is {status} for no mu: {piece.span}")
    return piece


PROOFS: dict[str, Callable[[Problem, Any, Piece, fmpq], Piece]] = {
    "optimal": _prove_optimal,
    "infeasible": _prove_infeasible,
    "unbounded": _prove_unbounded,
}


def _require_chain(pieces: Sequence[Piece], interval: tuple[End, End], stopped: str | None) -> None:
    if not pieces and (stopped is None or interval[0] is None or interval[0] != interval[1]):
        raise CertificateError("segments may be empty only if stopped says why and interval is one point")
    if pieces and (pieces[0].lo, pieces[-1].hi) != interval:
        wanted, found = (
            f"from {shown(lo, '-inf')} to {shown(hi)}" for lo, hi in (interval, (pieces[0].lo, pieces[-1].hi))
        )
        raise CertificateError(f"segments must go {wanted} as interval says, they go {found}")
    for left, right in pairwise(pieces):
        if left.hi is None or left.hi != right.lo:
            raise CertificateError(f"{right.place} must start where {left.place} ends")
    if [status for status, _ in groupby(piece.status for piece in pieces)].count("optimal") > 1:
        raise CertificateError("the optimal segments must be consecutive, others lie between them")


def _exact_ends(pieces: Sequence[Piece], stated: Sequence[End], cut: tuple[bool, bool]) -> list[End]:
    """Return the ascending ends nearest to the stated ones that keep every piece inside its span.

    Ends that were asked for stay. The least such ends are the running maxima of the starts of the spans, the
    greatest the running minima of their stops; ascending numbers clamped between these stay ascending.
    """
    starts = [pieces[0].span.lo if cut[0] else stated[0], *(piece.span.lo for piece in pieces[1:]), None]
    stops = [None, *(piece.span.hi for piece in pieces[:-1]), pieces[-1].span.hi if cut[1] else stated[-1]]
    least, greatest = list(accumulate(starts, _later)), list(accumulate(stops[::-1], _earlier))[::-1]
    ends = []
    for k, (mu, low, high) in enumerate(zip(stated, least, greatest, strict=True)):
        is_asked = (k == 0 and not cut[0]) or (k == len(pieces) and not cut[1])
        exact = mu if mu is None or is_asked else _earlier(_later(mu, low), high)
        if (low is not None and high is not None and low > high) or _move(exact, mu) > TOLERANCE:
            raise CertificateError(f"{_claims(_around(pieces, k))}: no mu near {shown(mu)} is an end of both")
        ends.append(exact)
    return ends


def _require_cover(pieces: Sequence[Piece], ends: Sequence[End], cut: tuple[bool, bool]) -> None:
    """Raise unless every piece holds between its ends, and a neighbour at each end that is not cut."""
    for k, piece in enumerate(pieces):
        lo, hi = ends[k], ends[k + 1]
        is_met = lo is None or lo != hi or piece.span.holds_at(lo)
        if not (is_met and piece.span.holds_between(lo, hi)):
            raise CertificateError(f"{_claims([piece])}, not from {shown(lo, '-inf')} to {shown(hi)}")
    for k in range(cut[0], len(pieces) + 1 - cut[1]):
        mu, around = ends[k], _around(pieces, k)
        if mu is not None and around and not any(piece.span.holds_at(mu) for piece in around):
            raise CertificateError(f"{_claims(around)}: nothing is proved at mu = {shown(mu)}")


def _require_continuity(problem: Problem, pieces: Sequence[Piece], ends: Sequence[End]) -> None:
    for (left, right), mu in zip(pairwise(pieces), ends[1:-1], strict=False):
        if left.x is None or right.x is None or mu is None:
            continue
        before, after = left.x * column([fmpq(1), mu]), right.x * column([fmpq(1), mu])
        if before != after and problem.objective(before, mu) != problem.objective(after, mu):
            raise CertificateError(f"{right.place} must continue the optimal value of {left.place}")


def _summarise(
    document: Mapping[str, Any], pieces: Sequence[Piece], ends: Sequence[End], deviation: fmpq
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
    )


def _around(pieces: Sequence[Piece], k: int) -> Sequence[Piece]:
    return pieces[max(k - 1, 0) : k + 1]


def _claims(pieces: Iterable[Piece]) -> str:
    return "; ".join(f"{piece.place} is {piece.status} for {piece.span}" for piece in pieces)


def _later(*candidates: End) -> End:
    return max((mu for mu in candidates if mu is not None), default=None)


def _earlier(*candidates: End) -> End:
    return min((mu for mu in candidates if mu is not None), default=None)


def _move(exact: End, stated: End) -> fmpq:
    return fmpq(0) if exact is None or stated is None else abs(exact - stated) / (1 + abs(stated))


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _text(value: Fraction | float, in_full: bool = False) -> str:
    if not isinstance(value, Fraction):
        return str(value)
    exact = fmpq(value.numerator, value.denominator)
    return str(exact) if in_full else shown(exact)
