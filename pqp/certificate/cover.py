"""Proofs of single pieces, and that these cover the interval.

A piece is proved optimal from its states, infeasible or unbounded from the vectors it states. Proved pieces
must fit together over the whole interval, with no gap, no overlap and no step in the optimal value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, groupby, pairwise
from typing import Any, NamedTuple

from flint import fmpq

from pqp.certificate.bounds import BOUND_TOLERANCE, NOISE_SHARE
from pqp.certificate.conditions import MuWindow
from pqp.certificate.document import (
    End,
    approximate,
    end,
    entry,
    items,
    numbers,
    one_of,
    shown,
    weights,
)
from pqp.certificate.problem import Problem, Product
from pqp.certificate.rationals import ZERO, Affine, Limit, Span, Vector, combine
from pqp.certificate.solution import PrimalVector
from pqp.errors import CertificateError

# How a piece was proved: as it is, after exact pivots, or optimal up to a bound.
EXACT, CORRECTED, BOUNDED = PROOF_KINDS = ("exact", "corrected", "bounded")


def read_interval(pair: Any, place: str) -> tuple[End, End]:
    """Return the ends of an interval, in ascending order."""
    lo, hi = items(pair, 2, place)
    ends = end(lo, "-inf", f"{place}: lo"), end(hi, "inf", f"{place}: hi")
    if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
        found = f"{shown(ends[0])} and {shown(ends[1])}"
        raise CertificateError(argument=place, expected="an interval with lo ≤ hi", found=found)
    return ends


class ProvedPiece(NamedTuple):
    """A segment after its own proof: stated ends, the exact set of mu where it holds, x if it is optimal.

    The set is known within a window around the stated ends, as wide as these may be off. `violation` is by
    how much the feasible point of an unbounded piece misses its limits, relative to their scales.
    """

    place: str
    status: str
    lo: End
    hi: End
    span: Span
    x: PrimalVector | None = None
    proof: str = EXACT
    violation: float = 0.0

    @property
    def title(self) -> str:
        """Its place and its stated ends, for messages."""
        return f"{self.place} on [{shown(self.lo, '-inf')}, {shown(self.hi)}]"

    def window(self, tolerance: fmpq) -> MuWindow:
        """Return the ends, moved outwards by as much as they may be off."""
        lo = None if self.lo is None else self.lo - tolerance * (1 + abs(self.lo))
        return MuWindow(lo, None if self.hi is None else self.hi + tolerance * (1 + abs(self.hi)))


def _prove_infeasible(problem: Problem, segment: Any, piece: ProvedPiece, _: bool) -> ProvedPiece:
    place = f"{piece.place}: farkas"
    farkas, gap, signed = entry(segment, "farkas", piece.place), ZERO, {}
    for key, limits in problem.hard_limits.items():
        factors = weights(entry(farkas, key, place), limits, f"{place}.{key}")
        signed[key] = [-w for w in factors] if key.endswith("upper") else factors
        gap += combine(signed[key], limits)
    sums = [low + high for low, high in zip(signed["lower"], signed["upper"], strict=True)]
    for i, pair in enumerate(zip(signed["row_lower"], signed["row_upper"], strict=True)):
        for j, value in problem.A.row(i).items() if any(pair) else ():
            sums[j] += sum(pair) * value
    # Only if every x cancels does the weighted sum of limits hold for all x, and contradict itself.
    for j, excess in enumerate(sums):
        if excess:
            message = "{argument} must cancel {expected}, but leaves {found} times it"
            raise CertificateError(message, argument=place, expected=f"x[{j}]", found=shown(excess))
    return piece._replace(span=Span().where(gap, "gap > 0", strict=True))


def _prove_unbounded(problem: Problem, segment: Any, piece: ProvedPiece, is_float: bool) -> ProvedPiece:
    place, keys = piece.place, ("ray", "x0", "x1")
    size = problem.n
    ray, x0, x1 = (numbers(entry(segment, key, place), size, f"{place}: {key}") for key in keys)
    violation = weights(entry(segment, "violation", place), problem.penalty, f"{place}: violation")
    along = {j: Affine(value, fmpq(0)) for j, value in enumerate(ray) if value}
    # With curvature along the ray the objective would rise again far out.
    curvature = Product(problem.P, along, problem.inner(along))
    for j in range(size):
        if not curvature[j].is_zero:
            found = shown(curvature[j].constant)
            raise CertificateError(argument=f"{place}: (P ray)[{j}]", expected="0", found=found)
    _require_recession(ray, [fmpq(0)] * size, problem.lower, problem.upper, f"{place}: ray of x")
    growth = [line.constant for line in _activities(problem, along)]
    _require_recession(growth, violation, problem.row_lower, problem.row_upper, f"{place}: ray of row ")
    change = combine(ray, problem.c) + combine(violation, problem.penalty)
    span = Span().where(-change, "the objective falls along the ray", strict=True)
    # a ray makes the problem unbounded only where there is a feasible point to start from
    x = [Affine(*pair) for pair in zip(x0, x1, strict=True)]
    sides = _sides(problem, x, [mu for mu in (piece.lo, piece.hi) if mu is not None])
    exact = span
    for side in sides:
        exact = exact.within(side.value, side.lower, side.upper, side.name)
    if exact.holds_between(piece.lo, piece.hi) or not is_float:
        return piece._replace(span=exact)
    # equations leave no room for the rounding errors of a float point: like an optimal one it is bounded
    for side in sides:
        room = Affine(side.scale * fmpq(*BOUND_TOLERANCE.as_integer_ratio()), fmpq(0))
        lower, upper = side.lower and side.lower - room, side.upper and side.upper + room
        span = span.within(side.value, lower, upper, side.name)
    worst = max((side.violation for side in sides), default=0.0)
    return piece._replace(span=span, proof=BOUNDED, violation=worst)


class _Side(NamedTuple):
    """A value of a point, its hard limits and scale, and by how much it misses a limit, relatively."""

    name: str
    value: Affine
    lower: Limit
    upper: Limit
    scale: fmpq
    violation: float


def _sides(problem: Problem, x: Sequence[Affine], ends: Sequence[fmpq]) -> list[_Side]:
    """Return x and A x with their limits, in scales as those of bounded optimal pieces (`bounds`)."""
    hard, found = problem.hard_limits, []
    noise = fmpq(*NOISE_SHARE.as_integer_ratio())
    sizes = [max((abs(line.at(mu)) for mu in ends), default=fmpq(0)) for line in x]
    # rows of which all x are 0 have no size of their own either
    largest = max(sizes, default=fmpq(0))
    sizes = [max(size, largest * noise) for size in sizes]
    terms = (problem.A.row(i).items() for i in range(problem.m))
    row_sizes = [sum((abs(value) * sizes[j] for j, value in row), fmpq(0)) for row in terms]
    for name, values, scales, lower, upper in (
        ("x[{}]", x, sizes, hard["lower"], hard["upper"]),
        ("row {}", _activities(problem, dict(enumerate(x))), row_sizes, hard["row_lower"], hard["row_upper"]),
    ):
        least = max(scales, default=fmpq(0)) * noise
        for k, (value, low, high) in enumerate(zip(values, lower, upper, strict=True)):
            misses = [low.at(mu) - value.at(mu) for mu in ends if low is not None]
            misses += [value.at(mu) - high.at(mu) for mu in ends if high is not None]
            scale, miss = max(scales[k], least), max(misses, default=fmpq(0))
            share = approximate(miss / scale) if miss > 0 and scale else 0.0
            found.append(_Side(name.format(k), value, low, high, scale, share))
    return found


def _activities(problem: Problem, x: Mapping[int, Affine]) -> list[Affine]:
    vector = Vector.of(x)
    return [vector.dot(problem.A.integer_row(i)) for i in range(problem.m)]


def _require_recession(
    growth: Sequence[fmpq], slack: Sequence[fmpq], lower: Sequence[Limit], upper: Sequence[Limit], place: str
) -> None:
    for i, (change, give) in enumerate(zip(growth, slack, strict=True)):
        if (lower[i] is not None and change + give < 0) or (upper[i] is not None and change - give > 0):
            message = "{argument} must respect finite limits, but changes by {found}"
            raise CertificateError(message, argument=f"{place}[{i}]", found=shown(change))


PROOFS: dict[str, Callable[[Problem, Any, ProvedPiece, bool], ProvedPiece]] = {
    "infeasible": _prove_infeasible,
    "unbounded": _prove_unbounded,
}


def read_piece(segment: Any, place: str) -> ProvedPiece:
    """Return the ends and the status of a segment, nothing of it proved yet."""
    ends = read_interval((entry(segment, "lo", place), entry(segment, "hi", place)), place)
    status = one_of(("optimal", *PROOFS), entry(segment, "status", place), f"{place}: status")
    return ProvedPiece(place, status, *ends, Span())


def prove_unsolvable(problem: Problem, segment: Any, piece: ProvedPiece, is_float: bool) -> ProvedPiece:
    """Return an infeasible or unbounded segment as a proved piece."""
    with located(piece):
        piece = PROOFS[piece.status](problem, segment, piece, is_float)
    require_somewhere(piece)
    return piece


@contextmanager
def located(piece: ProvedPiece) -> Iterator[None]:
    """Let errors name the ends of a piece as well, written out only when an error is due."""
    try:
        yield
    except CertificateError as error:
        error.argument = piece.title + (error.argument or piece.place).removeprefix(piece.place)
        raise


def require_somewhere(piece: ProvedPiece) -> None:
    """Raise if a piece holds nowhere."""
    if piece.span.is_empty:
        message = "{argument} is {expected} for no mu: {found}"
        found = str(piece.span)
        raise CertificateError(message, argument=piece.title, expected=piece.status, found=found)


# How far a float64 number may be from the exact one, relative to 1 + the largest entry of its vector: far
# above rounding, far below what would mislead a reader. The proof itself never uses a rounded number.
TOLERANCE = fmpq(1, 10**7)


def require_chain(pieces: Sequence[ProvedPiece], interval: tuple[End, End]) -> None:
    """Raise unless the stated ends cover the interval one after the other, the optimal pieces together."""
    if not pieces:
        message = "{argument} must not be empty: a path without pieces proves nothing"
        raise CertificateError(message, argument="segments")
    if (pieces[0].lo, pieces[-1].hi) != interval:
        wanted = _range(*interval)
        found = _range(pieces[0].lo, pieces[-1].hi)
        message = "{argument} must cover `interval`, {expected}, but they go {found}"
        raise CertificateError(message, argument="segments", expected=wanted, found=found)
    for left, right in pairwise(pieces):
        if left.hi is None or left.hi != right.lo:
            message = "{argument} must start where {expected} ends"
            raise CertificateError(message, argument=right.title, expected=left.title)
    # the mu with a feasible point form an interval, those with a dual feasible one too, hence those with both
    if [status for status, _ in groupby(piece.status for piece in pieces)].count("optimal") > 1:
        message = "the optimal {argument} must be consecutive, others lie between them"
        raise CertificateError(message, argument="segments")


def _range(lo: End, hi: End) -> str:
    return f"from {shown(lo, '-inf')} to {shown(hi)}"


class MisfitError(CertificateError):
    """Two pieces next to end number k hold on sets that do not meet near it."""

    reason: CertificateError | None = None

    def __init__(self, pieces: Sequence[ProvedPiece], mu: End, k: int) -> None:
        message = "{argument}: no mu near {found} is an end of both"
        super().__init__(message, argument=_proved_sets(pieces), found=shown(mu))
        self.number = k


def exact_ends(pieces: Sequence[ProvedPiece], stated: Sequence[End]) -> list[End]:
    """Return the ascending ends nearest to the stated float ones that keep every piece inside its span.

    The least such ends are the running maxima of the starts of the spans, the
    greatest the running minima of their stops; ascending numbers clamped between these stay ascending.
    """
    starts = [*(piece.span.lo for piece in pieces), None]
    stops = [None, *(piece.span.hi for piece in pieces)]
    least, greatest = list(accumulate(starts, later)), list(accumulate(stops[::-1], earlier))[::-1]
    ends = []
    for k, (mu, low, high) in enumerate(zip(stated, least, greatest, strict=True)):
        exact = None if mu is None else earlier(later(mu, low), high)
        if (low is not None and high is not None and low > high) or displacement(exact, mu) > TOLERANCE:
            raise MisfitError(pieces[max(k - 1, 0) : k + 1], mu, k)
        ends.append(exact)
    return ends


def require_cover(pieces: Sequence[ProvedPiece], ends: Sequence[End], cut: tuple[bool, bool]) -> None:
    """Raise unless every piece holds between its ends, and a neighbour at each end that is not cut."""
    for k, piece in enumerate(pieces):
        lo, hi = ends[k], ends[k + 1]
        is_met = lo is None or lo != hi or piece.span.holds_at(lo)
        if not (is_met and piece.span.holds_between(lo, hi)):
            sets = _proved_sets([piece])
            raise CertificateError("{argument}, not {expected}", argument=sets, expected=_range(lo, hi))
    for k in range(cut[0], len(pieces) + 1 - cut[1]):
        mu, around = ends[k], pieces[max(k - 1, 0) : k + 1]
        if mu is not None and around and not any(piece.span.holds_at(mu) for piece in around):
            message = "{argument}: nothing is proved at mu = {found}"
            raise CertificateError(message, argument=_proved_sets(around), found=shown(mu))


def require_continuity(problem: Problem, left: ProvedPiece, right: ProvedPiece) -> None:
    """Raise unless the optimal value is the same on both pieces wherever they may meet.

    They meet where both hold: at one mu, or anywhere on an overlap. There the values are quadratics of mu,
    equal all over if x is the same function on both, or else if they agree at three mu.
    """
    if left.x is None or right.x is None or left.hi is None or left.hi != right.lo:
        return
    lo, hi = later(left.span.lo, right.span.lo), earlier(left.span.hi, right.span.hi)
    if lo is None or hi is None or lo > hi:
        return  # the ends of the pieces do not fit, which `exact_ends` reports
    if left.x.meet(right.x, lo) and (lo == hi or left.x.meet(right.x, hi)):
        return
    for mu in {lo, (lo + hi) / 2, hi}:
        before, after = ([x.get(j, ZERO).at(mu) for j in range(problem.n)] for x in (left.x, right.x))
        if before != after and problem.objective(before, mu) != problem.objective(after, mu):
            message = "{argument} must continue the optimal value of {expected}"
            raise CertificateError(message, argument=right.place, expected=left.place)


def _proved_sets(pieces: Iterable[ProvedPiece]) -> str:
    return "; ".join(f"{piece.title} is {piece.status} for {piece.span}" for piece in pieces)


def later(one: End, other: End) -> End:
    """Return the later of two ends, None if there is none."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def earlier(one: End, other: End) -> End:
    """Return the earlier of two ends, None if there is none."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def displacement(exact: End, stated: End) -> fmpq:
    """Return how far an exact end is from the stated one, relative to 1 + its size."""
    return fmpq(0) if exact is None or stated is None else abs(exact - stated) / (1 + abs(stated))
