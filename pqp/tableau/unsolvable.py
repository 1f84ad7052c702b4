"""From unsolvable pieces to infeasible and unbounded segments, each with its proof.

A vector t that obstructs the LCP is a ray and a Farkas vector in one. Where its Farkas part holds the
problem is infeasible; where a feasible x exists its ray part must hold, and the problem is
unbounded. The mu with a feasible x form a closed interval, found by tracing the constraints alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from pqp.errors import InternalError
from pqp.lcp.crisscross import LEAST_INDEX
from pqp.lcp.problem import PerturbedMu
from pqp.linalg.affine import AffineArray, AffineNumber
from pqp.linalg.field import RATIONAL, Array, Field, Number, is_infinite
from pqp.model.problem import ParametricQP
from pqp.records.segment import Segment
from pqp.records.unsolvable import Obstruction, UnsolvablePiece
from pqp.stopping import Watch
from pqp.tableau.compile import CompiledQP, compile_problem, read_x
from pqp.tableau.trace import OptimalPiece, Tracer

# A feasible x for every mu from lo to hi.
_Feasible = tuple[Number, Number, AffineArray]


# Finds where an x is feasible: infeasible segments, and optimal ones of a zero objective.
Feasibility = Callable[[Number, Number], Sequence[Segment]]


def unsolvable_segments(
    pieces: Sequence[UnsolvablePiece],
    problem: ParametricQP,
    field: Field,
    watch: Watch,
    feasibility: Feasibility | None = None,
) -> list[Segment]:
    """Return the infeasible and unbounded segments, ascending, that neighbouring pieces amount to.

    Where a feasible x exists is found by `feasibility`, by default in exact arithmetic. Where the watch says
    so, that search is given up with a `StoppedError`.
    """
    obstruction = _combined([piece.obstruction for piece in pieces])
    lo, hi = sorted([pieces[0].exact[0], pieces[-1].exact[1]])
    if _proves(obstruction.gap, obstruction, lo, hi):
        return [_infeasible(obstruction, lo, hi, problem, field)]
    if feasibility is not None:
        return _with_feasible_segments(obstruction, feasibility(lo, hi), problem, field)
    watch.check()
    return _with_feasible_part(obstruction, lo, hi, compile_problem(problem, RATIONAL), field, watch)


def _with_feasible_segments(
    obstruction: Obstruction, found: Sequence[Segment], problem: ParametricQP, field: Field
) -> list[Segment]:
    """Return infeasible segments as they are, and feasible ones as unbounded, with one chord for all."""
    segments = [replace(segment, problem=problem) for segment in found if segment.status == "infeasible"]
    feasible = [segment for segment in found if segment.status == "optimal"]
    if not feasible:
        return segments
    lo, hi = feasible[0].lo, feasible[-1].hi
    x = feasible[0].x
    last = feasible[-1].x
    assert x is not None
    assert last is not None
    if len(feasible) > 1 and not is_infinite(lo) and not is_infinite(hi):
        x = _through(lo, x, (last.at(hi) - x.at(lo)) / (hi - lo))
    # A feasible end where the proof vanishes belongs to the optimal neighbour.
    if lo == hi and abs(float(obstruction.value.at(RATIONAL.number(lo)))) == 0:
        return segments
    unbounded = Segment(
        lo, hi, "unbounded", problem, field, x=x, ray=obstruction.ray, violation=obstruction.violation
    )
    return [*segments, unbounded]


def _combined(obstructions: Sequence[Obstruction]) -> Obstruction:
    """Return one proof for all pieces that were obstructed one after the other.

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
    obstruction: Obstruction, lo: Number, hi: Number, exact: CompiledQP, field: Field, watch: Watch
) -> list[Segment]:
    """Return what lies before, in and behind the interval of mu with a feasible x."""
    tracer = Tracer(exact.feasibility(), LEAST_INDEX)
    events: list[OptimalPiece | UnsolvablePiece] = []
    for event in tracer.trace(tracer.first(watch=watch), lo, hi):
        watch.check()
        if isinstance(event, OptimalPiece | UnsolvablePiece):
            events.append(event)
    segments: list[Segment] = []
    for feasible, group in groupby(events, key=lambda event: isinstance(event, OptimalPiece)):
        if feasible:
            pieces = [event for event in group if isinstance(event, OptimalPiece)]
            segments += _unbounded(pieces, obstruction, exact, field)
        else:
            unsolvable = [event for event in group if isinstance(event, UnsolvablePiece)]
            proof = _combined([piece.obstruction for piece in unsolvable])
            segments.append(
                _infeasible(proof, unsolvable[0].exact[0], unsolvable[-1].exact[1], exact.problem, field)
            )
    return segments


def _infeasible(
    obstruction: Obstruction, lo: Number, hi: Number, problem: ParametricQP, field: Field
) -> Segment:
    return Segment(field.number(lo), field.number(hi), "infeasible", problem, field, proof=obstruction.farkas)


def _unbounded(
    pieces: Sequence[OptimalPiece], obstruction: Obstruction, exact: CompiledQP, field: Field
) -> list[Segment]:
    lo, hi = pieces[0].start, pieces[-1].end
    if lo == hi and obstruction.vanishes_at(lo):
        return []  # a feasible end that belongs to the optimal neighbour
    descent = AffineNumber(*(-part for part in obstruction.descent))
    if not _proves(descent, obstruction, lo, hi):
        raise InternalError("an unsolvable piece is feasible, but the objective does not fall along its ray")
    return [
        Segment(
            field.number(start),
            field.number(end),
            "unbounded",
            exact.problem,
            field,
            x=x,
            ray=obstruction.ray,
            violation=obstruction.violation,
        )
        for start, end, x in _chords(pieces, exact)
    ]


def _chords(pieces: Sequence[OptimalPiece], exact: CompiledQP) -> list[_Feasible]:
    """Return a feasible affine x over all pieces: one chord, or two half-lines if both ends are infinite."""
    # the feasible (mu, x) form a convex set: a chord between two of its points stays in it
    first, last = (read_x(exact, piece.z) for piece in (pieces[0], pieces[-1]))
    lo, hi = pieces[0].start, pieces[-1].end
    if len(pieces) == 1:
        return [(lo, hi, first)]
    if is_infinite(lo) and is_infinite(hi):
        middle = pieces[0].end
        return [(lo, middle, first), (middle, hi, _through(middle, first, last.slope))]
    if is_infinite(hi):
        return [(lo, hi, _through(lo, first, last.slope))]
    if is_infinite(lo):
        return [(lo, hi, _through(hi, last, first.slope))]
    rise = (last.at(hi) - first.at(lo)) / (hi - lo)
    return [(lo, hi, _through(lo, first, rise))]


def _through(mu: Number, x: AffineArray, slope: Array) -> AffineArray:
    """Return the line with the given slope that meets x at mu."""
    return AffineArray(x.at(mu) - mu * slope, slope)


def _proves(value: AffineNumber, obstruction: Obstruction, lo: Number, hi: Number) -> bool:
    """Return whether an affine function is positive from lo to hi, except where the obstruction vanishes."""
    for mu, other in ((lo, hi), (hi, lo)):
        sign = PerturbedMu(mu).sign_of(value)
        if sign < 0 or (
            sign == 0 and not (obstruction.vanishes_at(mu) and PerturbedMu(other).sign_of(value) > 0)
        ):
            return False
    return True
