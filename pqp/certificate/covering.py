"""Covering: proved pieces fit together over the whole interval, with no gap, overlap or step in the value.

Room: proved pieces in, exact ends out, or a `CertificateError`.
May touch: `errors`, python-flint, `certificate.reading`, `certificate.lines`, `certificate.problem`,
`certificate.solution`, `certificate.pieces`.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, pairwise

from flint import fmpq

from pqp.certificate.lines import ZERO, Block
from pqp.certificate.pieces import Piece
from pqp.certificate.problem import Problem
from pqp.certificate.reading import End, shown
from pqp.certificate.solution import Entries
from pqp.errors import CertificateError

# How far a float64 number may be from the exact one, relative to 1 + the largest entry of its vector: far
# above rounding, far below what would mislead a reader. The proof itself never uses a rounded number.
TOLERANCE = fmpq(1, 10**7)


def require_chain(pieces: Sequence[Piece], interval: tuple[End, End], stopped: str | None) -> None:
    if not pieces and (stopped is None or interval[0] is None or interval[0] != interval[1]):
        raise CertificateError("segments may be empty only if stopped says why and interval is one point")
    if pieces and (pieces[0].lo, pieces[-1].hi) != interval:
        wanted, found = (
            f"from {shown(lo, '-inf')} to {shown(hi)}" for lo, hi in (interval, (pieces[0].lo, pieces[-1].hi))
        )
        raise CertificateError(f"segments must go {wanted} as interval says, they go {found}")
    for left, right in pairwise(pieces):
        if left.hi is None or left.hi != right.lo:
            raise CertificateError(f"{right.title} must start where {left.title} ends")
    if [status for status, _ in groupby(piece.status for piece in pieces)].count("optimal") > 1:
        raise CertificateError("the optimal segments must be consecutive, others lie between them")


def exact_ends(pieces: Sequence[Piece], stated: Sequence[End]) -> list[End]:
    """Return the ascending ends nearest to the stated float ones that keep every piece inside its span.

    The least such ends are the running maxima of the starts of the spans, the
    greatest the running minima of their stops; ascending numbers clamped between these stay ascending.
    """
    starts = [*(piece.span.lo for piece in pieces), None]
    stops = [None, *(piece.span.hi for piece in pieces)]
    least, greatest = list(accumulate(starts, _later)), list(accumulate(stops[::-1], _earlier))[::-1]
    ends = []
    for k, (mu, low, high) in enumerate(zip(stated, least, greatest, strict=True)):
        exact = None if mu is None else _earlier(_later(mu, low), high)
        if (low is not None and high is not None and low > high) or move(exact, mu) > TOLERANCE:
            raise CertificateError(f"{_claims(_around(pieces, k))}: no mu near {shown(mu)} is an end of both")
        ends.append(exact)
    return ends


def require_cover(pieces: Sequence[Piece], ends: Sequence[End], cut: tuple[bool, bool]) -> None:
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


def require_continuity(problem: Problem, left: Piece, right: Piece) -> None:
    """Raise unless the optimal value is the same on both pieces wherever they may meet.

    They meet where both hold: at one mu, or anywhere on an overlap. There the values are quadratics of mu,
    equal all over if the lines of x are, or else if they agree at three mu.
    """
    if left.x is None or right.x is None or left.hi is None or left.hi != right.lo:
        return
    lo, hi = _later(left.span.lo, right.span.lo), _earlier(left.span.hi, right.span.hi)
    if lo is None or hi is None or lo > hi:
        return  # the ends of the pieces will not fit, which is said elsewhere
    if all(_meet(left, right, mu) for mu in ((lo,) if lo == hi else (lo, hi))):
        return
    for mu in {lo, (lo + hi) / 2, hi}:
        before, after = (_point(piece, problem.n, mu) for piece in (left, right))
        if before != after and problem.objective(before, mu) != problem.objective(after, mu):
            raise CertificateError(f"{right.place} must continue the optimal value of {left.place}")


def _meet(left: Piece, right: Piece, mu: fmpq) -> bool:
    """Tell whether two pieces have the same x at mu."""
    before, after = (_entries(piece) for piece in (left, right))
    return before.meet(after, mu)


def _entries(piece: Piece) -> Entries:
    assert piece.x is not None
    return piece.x if isinstance(piece.x, Entries) else Entries(piece.x, Block.of([], []))


def _point(piece: Piece, size: int, mu: fmpq) -> list[fmpq]:
    assert piece.x is not None
    return [piece.x.get(j, ZERO).at(mu) for j in range(size)]


def _around(pieces: Sequence[Piece], k: int) -> Sequence[Piece]:
    return pieces[max(k - 1, 0) : k + 1]


def _claims(pieces: Iterable[Piece]) -> str:
    return "; ".join(f"{piece.title} is {piece.status} for {piece.span}" for piece in pieces)


def _later(*candidates: End) -> End:
    return max((mu for mu in candidates if mu is not None), default=None)


def _earlier(*candidates: End) -> End:
    return min((mu for mu in candidates if mu is not None), default=None)


def move(exact: End, stated: End) -> fmpq:
    return fmpq(0) if exact is None or stated is None else abs(exact - stated) / (1 + abs(stated))
