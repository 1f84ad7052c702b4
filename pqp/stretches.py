"""Unsolvable stretches: infeasible or unbounded, each with one proof for as much of it as can be.

A vector t that obstructs the LCP is a ray and a Farkas vector in one. Where its Farkas part holds the
problem is infeasible; where a feasible x exists its ray part must hold, and the problem is
unbounded. The mu with a feasible x form a closed interval, found by tracing the constraints alone.

Room: obstructed stretches in, infeasible and unbounded segments out.
May touch: `errors`, `field`, `compilation`, `reading`, `segment`, `crisscross`, `tableau`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pqp.compilation import CompiledQP
from pqp.crisscross import LEAST_INDEX
from pqp.errors import InternalError
from pqp.field import RATIONAL, Array, Field, Number
from pqp.problem import Affines
from pqp.reading import Obstruction, read_x
from pqp.segment import Segment
from pqp.tableau import Piece, Stretch, Tracer


@dataclass(frozen=True)
class _Feasible:
    """A feasible x for every mu from lo to hi."""

    lo: Number
    hi: Number
    x: Affines


def explain(stretches: Sequence[Stretch], exact: CompiledQP, field: Field) -> list[Segment]:
    """Return the infeasible and unbounded segments that neighbouring stretches amount to, in ascending order."""
    obstruction = merged([stretch.obstruction for stretch in stretches])
    ends = [_exact(stretches[0].start), _exact(stretches[-1].end)]
    lo, hi = min(ends), max(ends)
    if _is_positive_inside(obstruction.gap, lo, hi):
        return [_infeasible(obstruction, lo, hi, exact, field)]
    return _with_feasible_part(obstruction, lo, hi, exact, field)


def merged(obstructions: Sequence[Obstruction]) -> Obstruction:
    """Return one proof for all stretches that were obstructed one after the other.

    Every proof but the last vanishes at its end, so it holds on the whole side it comes from. If the
    last one vanishes on the other side, the sum with its predecessor whose slope is 0 holds everywhere.
    """
    last = obstructions[-1]
    if len(obstructions) == 1:
        return last
    previous = obstructions[-2]
    slopes = previous.value[1], last.value[1]
    if slopes[0] * slopes[1] >= 0:
        return last
    return last.plus(previous, -slopes[1] / slopes[0])


def _with_feasible_part(
    obstruction: Obstruction, lo: Number, hi: Number, exact: CompiledQP, field: Field
) -> list[Segment]:
    """Return what lies before, in and behind the interval of mu with a feasible x."""
    tracer = Tracer(exact.feasibility(), LEAST_INDEX)
    segments: list[Segment] = []
    pieces: list[Piece] = []
    blocked: list[Stretch] = []
    for event in tracer.trace(tracer.first(), lo, hi):
        if isinstance(event, Piece):
            if blocked:
                segments.append(_blocked(blocked, exact, field))
                blocked = []
            pieces.append(event)
        elif isinstance(event, Stretch):
            if pieces:
                segments += _unbounded(pieces, obstruction, exact, field)
                pieces = []
            blocked.append(event)
    if pieces:
        segments += _unbounded(pieces, obstruction, exact, field)
    if blocked:
        segments.append(_blocked(blocked, exact, field))
    return segments


def _blocked(stretches: Sequence[Stretch], exact: CompiledQP, field: Field) -> Segment:
    obstruction = merged([stretch.obstruction for stretch in stretches])
    return _infeasible(obstruction, _exact(stretches[0].start), _exact(stretches[-1].end), exact, field)


def _infeasible(obstruction: Obstruction, lo: Number, hi: Number, exact: CompiledQP, field: Field) -> Segment:
    return Segment(
        field.number(lo), field.number(hi), "infeasible", exact.problem, field, proof=obstruction.farkas
    )


def _unbounded(
    pieces: Sequence[Piece], obstruction: Obstruction, exact: CompiledQP, field: Field
) -> list[Segment]:
    if not _is_negative_inside(obstruction.descent, pieces[0].start, pieces[-1].end):
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
    if math.isinf(lo) and math.isinf(hi):
        middle = pieces[0].end
        return [_Feasible(lo, middle, first), _Feasible(middle, hi, _through(middle, first, last[1]))]
    if math.isinf(hi):
        return [_Feasible(lo, hi, _through(lo, first, last[1]))]
    if math.isinf(lo):
        return [_Feasible(lo, hi, _through(hi, last, first[1]))]
    rise = (last[0] + hi * last[1] - first[0] - lo * first[1]) / (hi - lo)
    return [_Feasible(lo, hi, _through(lo, first, rise))]


def _through(mu: Number, x: Affines, slope: Array) -> Affines:
    """Return the line with the given slope that meets x at mu."""
    return x[0] + mu * x[1] - mu * slope, slope


def _is_positive_inside(value: tuple[Number, Number], lo: Number, hi: Number) -> bool:
    return _is_negative_inside((-value[0], -value[1]), lo, hi)


def _is_negative_inside(value: tuple[Number, Number], lo: Number, hi: Number) -> bool:
    """Tell whether an affine function is negative on the open interval, or at its only point."""
    constant, slope = value
    if lo == hi:
        return constant + lo * slope < 0
    at_ends = [_end_value(value, lo, -1), _end_value(value, hi, 1)]
    return max(at_ends) <= 0 and (slope != 0 or constant < 0)


def _end_value(value: tuple[Number, Number], mu: Number, side: int) -> Number:
    constant, slope = value
    if not math.isinf(mu):
        return constant + mu * slope
    return side * slope * math.inf if slope else constant


def _exact(mu: Number) -> Number:
    return RATIONAL.number(mu)
