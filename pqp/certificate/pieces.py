"""Proving one piece: optimal from its states, infeasible or unbounded from its vectors.

Room: a ledger of states and a segment of a document in, the exact set of mu on which its claim holds out.
May touch: `errors`, python-flint, `certificate.reading`, `certificate.lines`, `certificate.problem`,
`certificate.states`, `certificate.solution`, `certificate.optimality`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flint import fmpq

from pqp.certificate.lines import ZERO, Limit, Line, Span, Vector, combine
from pqp.certificate.optimality import Window, is_optimal_at, optimal_span
from pqp.certificate.problem import Problem
from pqp.certificate.reading import End, end, entry, index, items, numbers, one_of, shown, weights
from pqp.certificate.solution import Solution, derive
from pqp.certificate.states import Ledger
from pqp.errors import CertificateError


def read_interval(pair: Any, place: str) -> tuple[End, End]:
    lo, hi = items(pair, 2, place)
    ends = end(lo, "-inf", f"{place}: lo"), end(hi, "inf", f"{place}: hi")
    if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
        raise CertificateError(f"{place} must have lo ≤ hi, got {shown(ends[0])} and {shown(ends[1])}")
    return ends


@dataclass(frozen=True)
class Piece:
    """A segment after its own proof: stated ends, the exact set of mu where it holds, x if it is optimal.

    The set is known within a window around the stated ends, as wide as these may be off.
    """

    place: str
    status: str
    lo: End
    hi: End
    span: Span
    x: Mapping[int, Line] | None = None
    deviation: fmpq = field(default_factory=fmpq)

    def window(self, tolerance: fmpq) -> Window:
        """Return the ends, moved outwards by as much as they may be off."""
        lo = None if self.lo is None else self.lo - tolerance * (1 + abs(self.lo))
        return Window(lo, None if self.hi is None else self.hi + tolerance * (1 + abs(self.hi)))


def _prove_optimal(ledger: Ledger, segment: Any, piece: Piece, tolerance: fmpq) -> Piece:
    is_compact = "changes" in segment
    if is_compact and not ledger.is_set:
        raise CertificateError(f"{piece.place}: changes need states to begin with")
    if is_compact:
        ledger.change(segment["changes"], f"{piece.place}: changes")
    else:
        ledger.set_all(segment, piece.place)
    solution = derive(ledger, piece.place)
    compare = _compare_moving if is_compact else _compare_all
    deviation = compare(segment, solution, tolerance, piece.place)
    span = optimal_span(solution, piece.window(tolerance))
    # At a single mu only the values there count: lines that differ may meet just at this point.
    if piece.lo is not None and piece.lo == piece.hi and not span.holds_at(piece.lo):
        span = Span(piece.lo, piece.lo) if is_optimal_at(solution, piece.lo) else span
    return replace(piece, span=span, x=solution.x, deviation=deviation)


def _compare_all(segment: Any, solution: Solution, tolerance: fmpq, place: str) -> fmpq:
    """Return the largest deviation of the stated vectors of a dense segment."""
    n, m = solution.problem.n, solution.problem.m
    worst = fmpq(0)
    for name, size, exact_of in (("x", n, solution.x_of), ("y", m, solution.y_of), ("z", n, solution.z_of)):
        exact = [exact_of(k) for k in range(size)]
        worst = max(worst, _compare(segment, name, exact, range(size), tolerance, place))
    return worst


def _compare_moving(segment: Any, solution: Solution, tolerance: fmpq, place: str) -> fmpq:
    """Return the largest deviation of what a compact segment states."""
    moving, place = entry(segment, "moving", place), f"{place}: moving"
    worst = fmpq(0)
    kinds = (
        ("variables", "x", solution.problem.n, solution.x_of),
        ("rows", "y", solution.problem.m, solution.y_of),
    )
    for kind, name, size, exact_of in kinds:
        listed = items(entry(moving, kind, place), None, f"{place}: {kind}")
        stated = [index(k, size, f"{place}: {kind}[{r}]") for r, k in enumerate(listed)]
        worst = max(worst, _compare(moving, name, [exact_of(k) for k in stated], stated, tolerance, place))
    return worst


def _compare(
    stated: Any, name: str, exact: Sequence[Line], labels: Sequence[int], tolerance: fmpq, place: str
) -> fmpq:
    """Return the largest deviation of two stated vectors, relative to 1 + the largest exact entry of each."""
    worst = fmpq(0)
    for key, values in (
        (f"{name}0", [line.constant for line in exact]),
        (f"{name}1", [line.slope for line in exact]),
    ):
        found = numbers(entry(stated, key, place), len(values), f"{place}: {key}")
        allowed = tolerance * (1 + max((abs(v) for v in values), default=fmpq(0)))
        gaps = [abs(a - b) for a, b in zip(found, values, strict=True)]
        for k, gap in enumerate(gaps):
            if gap > allowed:
                raise CertificateError(
                    f"{place}: {key}[{labels[k]}] must be {shown(values[k])} by its states, got "
                    f"{shown(found[k])}, which is off by {shown(gap)} where {shown(allowed)} is allowed"
                )
        worst = max(worst, max(gaps, default=fmpq(0)) / (1 + max((abs(v) for v in values), default=fmpq(0))))
    return worst


def _prove_infeasible(ledger: Ledger, segment: Any, piece: Piece, tolerance: fmpq) -> Piece:
    place, problem = f"{piece.place}: farkas", ledger.problem
    farkas, gap, signed = entry(segment, "farkas", piece.place), ZERO, {}
    for key, limits in problem.hard_limits.items():
        factors = weights(entry(farkas, key, place), limits, f"{place}.{key}")
        signed[key] = [-w for w in factors] if key.endswith("upper") else factors
        gap += combine(signed[key], limits)
    sums = [low + high for low, high in zip(signed["lower"], signed["upper"], strict=True)]
    for i, pair in enumerate(zip(signed["row_lower"], signed["row_upper"], strict=True)):
        for j, value in problem.A.row(i).items() if any(pair) else ():
            sums[j] += sum(pair) * value
    for j, excess in enumerate(sums):
        if excess:
            raise CertificateError(f"{place} must cancel x[{j}], but leaves {shown(excess)} times it")
    return replace(piece, span=Span().where(gap, "gap > 0", strict=True))


def _prove_unbounded(ledger: Ledger, segment: Any, piece: Piece, tolerance: fmpq) -> Piece:
    problem, place, keys = ledger.problem, piece.place, ("ray", "x0", "x1")
    size = problem.n
    ray, x0, x1 = (numbers(entry(segment, key, place), size, f"{place}: {key}") for key in keys)
    violation = weights(entry(segment, "violation", place), problem.penalty, f"{place}: violation")
    along = {j: Line(value, fmpq(0)) for j, value in enumerate(ray) if value}
    curvature = problem.P.product(along, problem.inner(along))
    for j in range(size):
        if not curvature[j].is_zero:
            raise CertificateError(f"{place}: P ray must be 0, entry {j} is {shown(curvature[j].constant)}")
    _require_recession(ray, [fmpq(0)] * size, problem.lower, problem.upper, f"{place}: ray of x")
    growth = [line.constant for line in _activities(problem, along)]
    _require_recession(growth, violation, problem.row_lower, problem.row_upper, f"{place}: ray of row ")
    change = combine(ray, problem.c) + combine(violation, problem.penalty)
    falling = Span().where(-change, "the objective falls along the ray", strict=True)
    x = [Line(*pair) for pair in zip(x0, x1, strict=True)]
    return replace(piece, span=_feasible_part(falling, problem, x))


def _activities(problem: Problem, x: Mapping[int, Line]) -> list[Line]:
    vector = Vector(x)
    return [vector.dot(problem.A.integer_row(i)) for i in range(problem.m)]


def _require_recession(
    growth: Sequence[fmpq], slack: Sequence[fmpq], lower: Sequence[Limit], upper: Sequence[Limit], place: str
) -> None:
    for i, (change, give) in enumerate(zip(growth, slack, strict=True)):
        if (lower[i] is not None and change + give < 0) or (upper[i] is not None and change - give > 0):
            raise CertificateError(f"{place}[{i}] must respect finite limits, but changes by {shown(change)}")


def _feasible_part(span: Span, problem: Problem, x: Sequence[Line]) -> Span:
    hard = problem.hard_limits
    for j, value in enumerate(x):
        span = span.within(value, hard["lower"][j], hard["upper"][j], f"x[{j}]")
    for i, value in enumerate(_activities(problem, dict(enumerate(x)))):
        span = span.within(value, hard["row_lower"][i], hard["row_upper"][i], f"row {i}")
    return span


def prove_piece(ledger: Ledger, segment: Any, place: str, tolerance: fmpq) -> Piece:
    lo, hi = read_interval((entry(segment, "lo", place), entry(segment, "hi", place)), place)
    place = f"{place} on [{shown(lo, '-inf')}, {shown(hi)}]"
    status = one_of(tuple(PROOFS), entry(segment, "status", place), f"{place}: status")
    piece = PROOFS[status](ledger, segment, Piece(place, status, lo, hi, Span()), tolerance)
    if piece.span.is_empty:
        raise CertificateError(f"{place} is {status} for no mu: {piece.span}")
    return piece


PROOFS: dict[str, Callable[[Ledger, Any, Piece, fmpq], Piece]] = {
    "optimal": _prove_optimal,
    "infeasible": _prove_infeasible,
    "unbounded": _prove_unbounded,
}
