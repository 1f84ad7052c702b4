"""Proving one piece: optimal from its states, infeasible or unbounded from its vectors.

Room: a problem and a segment of a document in, the exact set of mu on which its claim holds out.
May touch: `errors`, python-flint, `certificate.reading`, `certificate.lines`, `certificate.problem`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from flint import fmpq, fmpq_mat

from pqp.certificate.lines import ZERO, Limit, Line, Span, column, columns, combine, lines, part
from pqp.certificate.problem import Problem
from pqp.certificate.reading import End, T, end, entry, items, numbers, one_of, shown, weights
from pqp.errors import CertificateError


def read_interval(pair: Any, place: str) -> tuple[End, End]:
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
    solution = derive(problem, segment, piece.place)
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


def derive(problem: Problem, segment: Any, place: str) -> Solution:
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


def prove_piece(problem: Problem, segment: Any, place: str, tolerance: fmpq) -> Piece:
    lo, hi = read_interval((entry(segment, "lo", place), entry(segment, "hi", place)), place)
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
