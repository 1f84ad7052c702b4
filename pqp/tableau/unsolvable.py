"""From unsolvable pieces to infeasible and unbounded segments, each with its proof.

A vector t that obstructs the LCP is a ray and a Farkas vector in one. Where its Farkas part holds the
problem is infeasible; where a feasible x exists its ray part must hold, and the problem is
unbounded. The mu with a feasible x form a closed interval, found by tracing the constraints alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
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
from pqp.tableau.compile import compile_problem, read_x
from pqp.tableau.trace import OptimalPiece, Tracer

# Finds where an x is feasible: ascending infeasible segments, and optimal ones of a zero objective.
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
    segments: list[Segment] = []
    if _proves(obstruction.gap, obstruction, lo, hi):
        segments.append(Segment(lo, hi, "infeasible", problem, RATIONAL, proof=obstruction.farkas))
    else:
        watch.check()
        found = (feasibility or partial(_exact_feasibility, problem, watch))(lo, hi)
        for status, group in groupby(found, key=lambda segment: segment.status):
            neighbours = list(group)
            segments += _unbounded(neighbours, obstruction) if status == "optimal" else neighbours
    return [
        replace(one, lo=field.number(one.lo), hi=field.number(one.hi), problem=problem, arithmetic=field)
        for one in segments
    ]


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


def _exact_feasibility(problem: ParametricQP, watch: Watch, lo: Number, hi: Number) -> list[Segment]:
    """Return where an x is feasible, and why there is none elsewhere, by tracing the constraints alone."""
    exact = compile_problem(problem, RATIONAL)
    tracer = Tracer(exact.feasibility(), LEAST_INDEX)
    events: list[OptimalPiece | UnsolvablePiece] = []
    for event in tracer.trace(tracer.first(watch=watch), lo, hi):
        watch.check()
        events += [event] if isinstance(event, OptimalPiece | UnsolvablePiece) else []
    segments: list[Segment] = []
    for _, group in groupby(events, key=type):
        pieces = list(group)
        for piece in pieces:
            if isinstance(piece, OptimalPiece):
                x = read_x(exact, piece.z)
                segments.append(Segment(piece.start, piece.end, "optimal", problem, RATIONAL, x=x))
        proofs = [piece.obstruction for piece in pieces if isinstance(piece, UnsolvablePiece)]
        if proofs:
            ends = pieces[0].start, pieces[-1].end
            proof = _combined(proofs).farkas
            segments.append(Segment(*ends, "infeasible", problem, RATIONAL, proof=proof))
    return segments


def _unbounded(feasible: list[Segment], obstruction: Obstruction) -> list[Segment]:
    """Return unbounded segments where an x is feasible, and none if that is an end of an optimal piece."""
    lo, hi = feasible[0].lo, feasible[-1].hi
    if lo == hi and obstruction.vanishes_at(RATIONAL.number(lo)):
        return []
    descent = AffineNumber(*(-part for part in obstruction.descent))
    # Ends found in float64 may be off by a rounding error.
    if feasible[0].arithmetic is RATIONAL and not _proves(descent, obstruction, lo, hi):
        raise InternalError("an unsolvable piece is feasible, but the objective does not fall along its ray")
    problem, ray, growth = feasible[0].problem, obstruction.ray, obstruction.violation
    return [
        Segment(start, end, "unbounded", problem, RATIONAL, x=x, ray=ray, violation=growth)
        for start, end, x in _chords(feasible)
    ]


def _chords(feasible: list[Segment]) -> list[tuple[Number, Number, AffineArray]]:
    """Return a feasible affine x over all pieces: one chord, or two half-lines if both ends are infinite."""
    # the feasible (mu, x) form a convex set: a chord between two of its points stays in it
    lo, middle, hi = feasible[0].lo, feasible[0].hi, feasible[-1].hi
    first, last = feasible[0].x, feasible[-1].x
    assert first is not None
    assert last is not None
    if len(feasible) == 1:
        return [(lo, hi, first)]
    if is_infinite(lo) and is_infinite(hi):
        return [(lo, middle, first), (middle, hi, _through(middle, first, last.slope))]
    if is_infinite(hi):
        return [(lo, hi, _through(lo, first, last.slope))]
    if is_infinite(lo):
        return [(lo, hi, _through(hi, last, first.slope))]
    return [(lo, hi, _through(lo, first, (last.at(hi) - first.at(lo)) / (hi - lo)))]


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
