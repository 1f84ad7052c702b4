"""Unsolvable stretches: infeasible or unbounded, each with one proof for as much of it as can be.

A vector t that obstructs the LCP is a ray and a Farkas vector in one. Where its Farkas part holds the
problem is infeasible; where a feasible x exists its ray part must hold, and the problem is
unbounded. The mu with a feasible x form a closed interval, found by tracing the constraints alone.

Runs: what one trace of either engine leaves behind, and how parts of a path are put together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter

from pqp.errors import InternalError
from pqp.lcp.crisscross import LEAST_INDEX
from pqp.lcp.log import Entry
from pqp.lcp.problem import Place
from pqp.linalg.affine import AffineArray, AffineNumber
from pqp.linalg.field import RATIONAL, Array, Field, Number, is_infinite
from pqp.model.problem import ParametricQP
from pqp.records.segment import Segment, descent
from pqp.tableau.compile import CompiledQP, Obstruction, compile_problem, read_x
from pqp.tableau.trace import Piece, Stretch, Tracer


@dataclass(frozen=True)
class _Feasible:
    """A feasible x for every mu from lo to hi."""

    lo: Number
    hi: Number
    x: AffineArray


def explain(stretches: Sequence[Stretch], problem: ParametricQP, field: Field) -> list[Segment]:
    """Return the infeasible and unbounded segments, ascending, that neighbouring stretches amount to."""
    obstruction = merged([stretch.obstruction for stretch in stretches])
    lo, hi = sorted([stretches[0].exact[0], stretches[-1].exact[1]])
    if _proves(obstruction.gap, obstruction, lo, hi):
        return [_infeasible(obstruction, lo, hi, problem, field)]
    return _with_feasible_part(obstruction, lo, hi, compile_problem(problem, RATIONAL), field)


def merged(obstructions: Sequence[Obstruction]) -> Obstruction:
    """Return one proof for all stretches that were obstructed one after the other.

    Every proof but the last vanishes at its end, so it holds on the whole side it comes from. If the
    last one vanishes on the other side, the sum with its predecessor whose slope is 0 holds everywhere.
    """
    last = obstructions[-1]
    if len(obstructions) == 1:
        return last
    previous = obstructions[-2]
    slopes = previous.value.slope, last.value.slope
    if slopes[0] * slopes[1] >= 0:
        return last
    return last.plus(previous, -slopes[1] / slopes[0])


def _with_feasible_part(
    obstruction: Obstruction, lo: Number, hi: Number, exact: CompiledQP, field: Field
) -> list[Segment]:
    """Return what lies before, in and behind the interval of mu with a feasible x."""
    tracer = Tracer(exact.feasibility(), LEAST_INDEX)
    events = [event for event in tracer.trace(tracer.first(), lo, hi) if isinstance(event, Piece | Stretch)]
    segments: list[Segment] = []
    for feasible, group in groupby(events, key=lambda event: isinstance(event, Piece)):
        if feasible:
            pieces = [event for event in group if isinstance(event, Piece)]
            segments += _unbounded(pieces, obstruction, exact, field)
        else:
            stretches = [event for event in group if isinstance(event, Stretch)]
            proof = merged([stretch.obstruction for stretch in stretches])
            segments.append(
                _infeasible(proof, stretches[0].exact[0], stretches[-1].exact[1], exact.problem, field)
            )
    return segments


def _infeasible(
    obstruction: Obstruction, lo: Number, hi: Number, problem: ParametricQP, field: Field
) -> Segment:
    return Segment(field.number(lo), field.number(hi), "infeasible", problem, field, proof=obstruction.farkas)


def _unbounded(
    pieces: Sequence[Piece], obstruction: Obstruction, exact: CompiledQP, field: Field
) -> list[Segment]:
    lo, hi = pieces[0].start, pieces[-1].end
    if lo == hi and obstruction.vanishes_at(lo):
        return []  # a feasible end that belongs to the optimal neighbour
    descent = AffineNumber(*(-part for part in obstruction.descent))
    if not _proves(descent, obstruction, lo, hi):
        raise InternalError("an obstructed stretch is feasible, but its ray does not descend")
    return [
        Segment(
            field.number(part.lo),
            field.number(part.hi),
            "unbounded",
            exact.problem,
            field,
            x=part.x,
            ray=obstruction.ray,
            violation=obstruction.violation,
        )
        for part in _chords(pieces, exact)
    ]


def _chords(pieces: Sequence[Piece], exact: CompiledQP) -> list[_Feasible]:
    """Return a feasible affine x over all pieces: one chord, or two half-lines if both ends are infinite."""
    first, last = (read_x(exact, piece.z) for piece in (pieces[0], pieces[-1]))
    lo, hi = pieces[0].start, pieces[-1].end
    if len(pieces) == 1:
        return [_Feasible(lo, hi, first)]
    if is_infinite(lo) and is_infinite(hi):
        middle = pieces[0].end
        return [_Feasible(lo, middle, first), _Feasible(middle, hi, _through(middle, first, last.slope))]
    if is_infinite(hi):
        return [_Feasible(lo, hi, _through(lo, first, last.slope))]
    if is_infinite(lo):
        return [_Feasible(lo, hi, _through(hi, last, first.slope))]
    rise = (last.at(hi) - first.at(lo)) / (hi - lo)
    return [_Feasible(lo, hi, _through(lo, first, rise))]


def _through(mu: Number, x: AffineArray, slope: Array) -> AffineArray:
    """Return the line with the given slope that meets x at mu."""
    return AffineArray(x.at(mu) - mu * slope, slope)


def _proves(value: AffineNumber, obstruction: Obstruction, lo: Number, hi: Number) -> bool:
    """Tell whether an affine function is positive from lo to hi, except where the obstruction vanishes."""
    for mu, other in ((lo, hi), (hi, lo)):
        sign = Place(mu).sign_of(value)
        if sign < 0 or (sign == 0 and not (obstruction.vanishes_at(mu) and Place(other).sign_of(value) > 0)):
            return False
    return True


@dataclass
class Run:
    """What one run of an engine has produced so far; filled in by the run that owns it."""

    segments: list[Segment] = field(default_factory=list)
    pivots: list[Entry] = field(default_factory=list)
    stopped: str | None = None

    def add_stretches(self, pending: Sequence[Stretch], problem: ParametricQP, arithmetic: Field) -> None:
        """Add what unsolvable stretches amount to; the piece before ends where their proof does, exactly."""
        if not pending:
            return
        begin, end = pending[0].exact[0], pending[-1].exact[1]
        if self.segments:
            last, at = self.segments[-1], arithmetic.number(begin)
            self.segments[-1] = replace(last, hi=at) if begin <= end else replace(last, lo=at)
        found = explain(pending, problem, arithmetic)
        self.segments += found if begin <= end else reversed(found)


def in_order(segments: Sequence[Segment]) -> list[Segment]:
    """Return segments in ascending order."""
    return sorted(segments, key=attrgetter("lo", "hi"))


def ordered(one: Number, other: Number) -> tuple[Number, Number]:
    """Return two ends, the smaller first."""
    return (one, other) if one <= other else (other, one)


def seamless(segments: Sequence[Segment]) -> list[Segment]:
    """Return ascending segments, unsolvable neighbours that one proof covers taken together.

    Unbounded ones keep their own feasible points, but share a ray where one of theirs serves all.
    """
    result: list[Segment] = []
    for segment in segments:
        joined = _joined(result[-1], segment) if result else None
        if joined is None:
            result.append(segment)
        else:
            result[-1] = joined
    sides = groupby(result, key=attrgetter("status"))
    return [segment for status, side in sides for segment in _on_one_ray(status, list(side))]


def _on_one_ray(status: str, side: list[Segment]) -> list[Segment]:
    """Return neighbouring segments, with one ray if they are unbounded and one of their rays serves all."""
    if status != "unbounded" or len(side) == 1:
        return side
    for one in side:
        if _descends(one, side[0].lo, side[-1].hi):
            return [replace(segment, ray=one.ray, violation=one.violation) for segment in side]
    return side


def _descends(segment: Segment, lo: Number, hi: Number) -> bool:
    """Tell whether the objective falls along a ray inside the whole interval."""
    assert segment.ray is not None
    assert segment.violation is not None
    change = descent(segment.problem.data(RATIONAL), segment.ray, segment.violation)
    return all(end.sign_of(change) < 0 for end in _just_inside(lo, hi))


def _just_inside(lo: Number, hi: Number) -> tuple[Place, Place]:
    return Place(RATIONAL.number(lo), 1), Place(RATIONAL.number(hi), -1)


def _joined(left: Segment, right: Segment) -> Segment | None:
    """Return one segment for two unsolvable neighbours if the proof of either holds on the other too."""
    if left.status != right.status or left.status == "optimal" or left.hi != right.lo:
        return None
    for one, other in ((left, right), (right, left)):
        if left.status == "infeasible" and _contradicts(one, other.lo, other.hi):
            return replace(one, lo=left.lo, hi=right.hi)
    return None


def _contradicts(segment: Segment, lo: Number, hi: Number) -> bool:
    """Tell whether a Farkas vector contradicts feasibility inside the whole interval."""
    assert segment.proof is not None
    gap = segment.proof.gap(segment.problem.data(RATIONAL))
    return all(end.sign_of(gap) > 0 for end in _just_inside(lo, hi))
