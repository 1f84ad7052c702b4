"""Runs of the revised engine: where a trace begins, what is tried where float64 fails, and the segments.

A run consists of one or two traces, each in one direction. Their pieces are joined, verified, repaired, and
become segments that share one trail.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed

from pqp.errors import NumericalTroubleError, ProblemError
from pqp.lcp.log import Crossing, Pivot
from pqp.linalg.field import FLOAT, RATIONAL, Array, Number, is_infinite, shown
from pqp.linalg.tolerances import KKT_RESIDUAL, NEAR_GOAL, SPURIOUS_BREAKPOINT
from pqp.model.problem import ParametricQP
from pqp.records.result import TraceResult, in_order, join_unsolvable
from pqp.records.segment import Segment
from pqp.records.states import Basis, States
from pqp.records.unsolvable import UnsolvablePiece
from pqp.revised.basis import WorkingBasis
from pqp.revised.exact_repair import ExactTracer, Repair, changes_between
from pqp.revised.interval_trace import Event, IntervalTracer, PieceSequence, ascending, join, segments_of
from pqp.revised.postsolve import Postsolve
from pqp.revised.start import all_bounds_coincide, begins_in_large_tie, is_trivial
from pqp.revised.trace import BasisPiece, LargeTieError, point_on
from pqp.revised.verify import violations
from pqp.stopping import StopLimits, Watch
from pqp.tableau.unsolvable import unsolvable_segments


@dataclass
class DirectedTrace:
    """A trace in one direction: unsolvable pieces before, optimal pieces, unsolvable pieces behind."""

    before: list[UnsolvablePiece] = field(default_factory=list)
    pieces: list[BasisPiece] = field(default_factory=list)
    behind: list[UnsolvablePiece] = field(default_factory=list)

    def add(self, event: BasisPiece | UnsolvablePiece) -> None:
        """Append a piece; an optimal one is stored by its changes from the piece before."""
        if isinstance(event, UnsolvablePiece):
            (self.behind if self.pieces else self.before).append(event)
        elif self.pieces and event.item_states is not None:
            self.pieces.append(
                replace(
                    event, item_states=None, changes=changes_between(self.item_states(), event.item_states)
                )
            )
        else:
            self.pieces.append(event)

    def item_states(self) -> Array:
        """Return the states on the last piece."""
        assert self.pieces[0].item_states is not None
        return PieceSequence(self.pieces[0].item_states, tuple(self.pieces)).last_states()

    def first_states(self, postsolve: Postsolve) -> States | None:
        """Return the states where the trace begins, if it begins with an optimal piece."""
        if self.before or not self.pieces or self.pieces[0].item_states is None:
            return None
        return postsolve.all_states(self.pieces[0].item_states)

    def aligned(self) -> list[BasisPiece]:
        """Return the optimal pieces, ending where the proofs of their unsolvable neighbours do."""
        pieces = self.pieces.copy()
        if self.before:
            pieces[0] = replace(pieces[0], start=float(self.before[-1].end))
        if self.behind:
            pieces[-1] = replace(pieces[-1], end=float(self.behind[0].start))
        return pieces

    def trimmed(self, end: float, short: float) -> "DirectedTrace | None":
        """Return the trace without pieces that begin within `short` of `end`; None if none is left."""
        kept = [piece for piece in self.pieces if abs(piece.start - end) > short]
        return DirectedTrace(self.before, kept, self.behind) if kept else None


# If a tie at the beginning of an interval takes more pivots, the trace starts inside instead.
FIRST_TIE_PIVOTS = 4
# How far inside, relative to the length of the interval: the first mu from which a trace can begin is taken.
INSIDE_SHARES = (1e-3, 1e-5, 1e-1)
# Powers of ten at which a trivial solution is tried where an interval has no end.
FAR_OUT_POWERS = range(0, 7, 2)


@dataclass(frozen=True)
class RevisedRunner:
    """The revised engine, ready to trace one problem."""

    problem: ParametricQP
    log: bool

    @cached_property
    def tracer(self) -> IntervalTracer:
        """The problem prepared for tracing."""
        return IntervalTracer(self.problem, self.log)

    @cached_property
    def repair(self) -> Repair:
        """Exact arithmetic for what float64 cannot solve."""
        return Repair(self.tracer.postsolve, self.tracer.scaled, ExactTracer(self.problem))

    def run(self, begin: Number, stop: Number, start: Basis | None, watch: Watch, part: TraceResult) -> None:
        """Trace from one end to the other, from a given basis if there is one, and fill the result."""
        traces: list[DirectedTrace] = []
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow gives NaN, which is refused later
            try:
                self._trace(traces, (begin, stop), start, watch, part)
            finally:
                part.segments = self.segments(traces)

    def _trace(
        self,
        traces: list[DirectedTrace],
        ends: tuple[Number, Number],
        start: Basis | None,
        watch: Watch,
        part: TraceResult,
    ) -> None:
        """Trace from a finite mu towards one end or both.

        Where many bounds coincide, as those of an unbalanced SVM at C = 0, all items tie. Where a penalty
        vanishes, as that of a lasso, bases may be singular. Then a start elsewhere costs less.
        """
        begin, stop = ends
        known = start is not None and not is_infinite(begin)
        origin = begin if known else self._origin(begin, stop)
        if origin != begin or known:
            states = start.codes() if known and start is not None else None
            self._trace_both_ways(traces, ends, origin, states, watch, part)
            return
        # Known in advance: do not spend pivots on a tie that will be given up.
        if begins_in_large_tie(self.tracer.scaled, float(begin)) and self._is_valid(self._inside(*ends)):
            self._from_inside(traces, ends, watch, part, LargeTieError())
            return
        try:
            self._trace_one_way(self._new_trace(traces), ends, None, watch, part, FIRST_TIE_PIVOTS)
        except (LargeTieError, NumericalTroubleError) as trouble:
            unsolvable_pieces = traces[-1].before
            if traces[-1].pieces or (unsolvable_pieces and isinstance(trouble, NumericalTroubleError)):
                raise
            if unsolvable_pieces:  # the large tie is where they end
                ends = unsolvable_pieces[-1].exact[1], stop
            else:
                traces.clear()
            part.pivots.clear()
            self._from_inside(traces, ends, watch, part, trouble)

    def _from_inside(
        self,
        traces: list[DirectedTrace],
        ends: tuple[Number, Number],
        watch: Watch,
        part: TraceResult,
        trouble: Exception,
    ) -> None:
        """Trace from inside the interval; if that fails too, raise the error of the beginning."""
        known, last = len(traces), trouble
        for close in INSIDE_SHARES:
            try:
                self._trace_both_ways(traces, ends, self._inside(*ends, close), None, watch, part)
                return
            except NumericalTroubleError as error:
                # Part of the path is known by now: an error there must not be hidden by another start.
                if any(trace.pieces for trace in traces[known:]):
                    raise
                last = last if isinstance(last, NumericalTroubleError) else error
                del traces[known:]
        raise last

    def _trace_both_ways(
        self,
        traces: list[DirectedTrace],
        ends: tuple[Number, Number],
        origin: Number,
        states: States | None,
        watch: Watch,
        part: TraceResult,
    ) -> None:
        """Trace from a mu to the beginning, unless it is there, and then to the other end."""
        begin, stop = ends
        if origin != begin:
            trace = self._new_trace(traces)
            self._trace_one_way(trace, (origin, begin), states, watch, part)
            self._solve_last_piece_again(trace, (origin, begin))
            states = trace.first_states(self.tracer.postsolve)
        if origin != stop or origin == begin:
            self._trace_one_way(self._new_trace(traces), (origin, stop), states, watch, part)

    def _solve_last_piece_again(self, trace: DirectedTrace, ends: tuple[Number, Number]) -> None:
        """Solve for the last piece of a trace again, at an end where all bounds coincide.

        What is 0 there was a sum of larger numbers elsewhere, so that all of it would be rounding error. The
        last breakpoints before may be rounding errors too.
        """
        mu = float(ends[1])
        if not trace.pieces or trace.pieces[-1].end != mu or not all_bounds_coincide(self.tracer.scaled, mu):
            return
        # First try without the last short pieces, which may be rounding errors.
        if not self._extends_to_end(trace, ends, SPURIOUS_BREAKPOINT):
            trace.pieces[-1] = self.repair.solved_at(trace.item_states(), trace.pieces[-1], mu)

    def _extends_to_end(
        self, trace: DirectedTrace, ends: tuple[Number, Number], close: float = NEAR_GOAL
    ) -> bool:
        """Return whether a trace ends so close to its goal that its last long piece can be extended to it.

        Where all bounds coincide, all items tie just before. A basis that is optimal at both ends of a piece
        is optimal in between.
        """
        end, short = float(ends[1]), close * abs(float(ends[0]) - float(ends[1]))
        if not trace.pieces or not abs(trace.pieces[-1].end - end) <= short:
            return False
        trimmed = trace.trimmed(end, short)
        if trimmed is None or not self.repair.is_optimal_until(
            trimmed.item_states(), trimmed.pieces[-1], end
        ):
            return False
        trimmed.pieces[-1] = self.repair.solved_at(trimmed.item_states(), trimmed.pieces[-1], end)
        trace.pieces[:] = trimmed.pieces
        return True

    def _new_trace(self, traces: list[DirectedTrace]) -> DirectedTrace:
        traces.append(DirectedTrace())
        return traces[-1]

    def _origin(self, begin: Number, stop: Number) -> Number:
        """Return where to start: at the beginning or, where the interval has no end, at a finite mu.

        Far out is best if the solution is trivial there, as that of a lasso with a large penalty.
        """
        if not is_infinite(begin) and (not is_infinite(stop) or self._is_trivial(begin)):
            return begin
        endless, other = (begin, stop) if is_infinite(begin) else (stop, begin)
        near = 0.0 if is_infinite(other) else float(other)
        for power in FAR_OUT_POWERS:
            far = near + (10.0**power if endless > 0 else -(10.0**power))
            if self._is_trivial(far):
                return far
        return near if is_infinite(begin) else begin

    def _is_trivial(self, mu: Number) -> bool:
        return self._is_valid(mu) and is_trivial(self.tracer.scaled, float(mu))

    def _is_valid(self, mu: Number) -> bool:
        """Return whether no bounds have crossed at mu, and no penalty is negative."""
        return self.tracer.crossing_bounds.violated(RATIONAL.number(mu)) is None

    def _inside(self, begin: Number, stop: Number, close: float = INSIDE_SHARES[0]) -> Number:
        """Return a mu inside an interval, close to its beginning."""
        if is_infinite(stop):
            return float(begin) + (1.0 if stop > 0 else -1.0) * close / INSIDE_SHARES[0]
        return float(begin) + close * (float(stop) - float(begin))

    def run_parts(self, cuts: Sequence[Number], jobs: int, part: TraceResult) -> None:
        """Trace the parts of an interval between cuts in parallel, and fill the result."""
        parts = Parallel(n_jobs=jobs)(delayed(_trace_part)(self, ends) for ends in pairwise(cuts))
        part.segments = self.segments([trace for traces in parts for trace in traces])

    def require_optimal(self, start: Basis, mu: Number) -> None:
        """Raise unless a basis is optimal at mu."""
        lcp, item_states = self.tracer.scaled.lcp, self.tracer.postsolve.item_states(start.codes())
        piece = point_on(WorkingBasis(lcp, item_states, float(mu)), float(mu))
        if not violations(PieceSequence(item_states, (piece,)), lcp)[0] <= KKT_RESIDUAL:
            raise ProblemError(
                "{argument} is not optimal at mu = {found}",
                argument="start",
                found=shown(mu),
                expected="the basis of a solution",
                remedy="leave it out, or give the basis of a solution",
            )

    def _trace_one_way(
        self,
        trace: DirectedTrace,
        ends: tuple[Number, Number],
        states: States | None,
        watch: Watch,
        part: TraceResult,
        max_pivots: int = sys.maxsize,
    ) -> None:
        """Trace in one direction; where float64 fails, exact arithmetic traces some pieces.

        A tie at the beginning that takes more than `max_pivots` pivots raises `LargeTieError`.
        """
        at, exact_pieces = ends[0], 1
        # Signs of such data may be all rounding error: small problems are traced exactly from the start.
        if self.tracer.scaled.is_delicate and self.repair.exact_tracer.is_small_enough:
            self._trace_exactly(trace, ends, sys.maxsize, watch)
            return
        while True:
            try:
                self._collect(trace, watch.passing(self.tracer.events(at, ends[1], states, max_pivots)), part)
                return
            except NumericalTroubleError as trouble:
                reached = float(trace.pieces[-1].end if trace.pieces else at)
                if self._extends_to_end(trace, ends):
                    return
                try:
                    passed = self._trace_exactly(trace, ends, exact_pieces, watch)
                except NumericalTroubleError:
                    raise _located(trouble, reached) from trouble
                if passed is None:
                    return
                # No progress in exact arithmetic either: another round would repeat this one.
                if passed == at:
                    raise trouble
                at, states, exact_pieces = (
                    passed,
                    self.tracer.postsolve.all_states(trace.item_states()),
                    2 * exact_pieces,
                )

    def _collect(self, trace: DirectedTrace, events: Iterator[Event], part: TraceResult) -> None:
        for event in events:
            if isinstance(event, Pivot | Crossing):
                part.pivots += [event] if self.log else []
            else:
                trace.add(event)

    def _trace_exactly(
        self, trace: DirectedTrace, ends: tuple[Number, Number], count: int, watch: Watch
    ) -> Number | None:
        """Trace some pieces exactly; return where that stopped, None if it reached the end."""
        begin, item_states, last = ends[0], None, trace.pieces[-1:]
        if last:
            begin, item_states = last[0].start, trace.item_states()
        elif trace.before:
            begin = trace.before[-1].exact[1]
        done = 0
        for event in watch.passing(self.repair.pieces(item_states, begin, ends[1])):
            if last:  # the exact form of the last piece comes first and replaces it
                last = []
                trace.pieces.pop()
            trace.add(event)
            done += isinstance(event, BasisPiece) and event.start != event.end
            if done > count and isinstance(event, BasisPiece):
                return event.end if event.end != ends[1] else None
        return None

    def segments(self, traces: list[DirectedTrace]) -> list[Segment]:
        """Return all segments in ascending order; traces that meet inside a piece become one."""
        legs = sorted((ascending(trace.aligned()) for trace in traces if trace.pieces), key=_extent)
        segments: list[Segment] = []
        if legs:
            sequence = self.repair.repaired(reduce(join, legs))
            segments = segments_of(sequence, self.tracer.postsolve, self.tracer.scaled)
        for pending in (
            unsolvable_pieces
            for trace in traces
            for unsolvable_pieces in (trace.before, trace.behind)
            if unsolvable_pieces
        ):
            segments += unsolvable_segments(pending, self.problem, FLOAT)
        return join_unsolvable(in_order(segments))


def _trace_part(runner: RevisedRunner, ends: tuple[Number, Number]) -> list[DirectedTrace]:
    """Trace one part of an interval, in a process of its own."""
    traces: list[DirectedTrace] = []
    runner._trace(traces, ends, None, Watch(StopLimits(), ends[0]), TraceResult())
    return traces


def _located(trouble: NumericalTroubleError, mu: float) -> NumericalTroubleError:
    """Return an error that says where it arose."""
    if trouble.interval is not None:
        return trouble
    return NumericalTroubleError(
        f"at mu = {shown(mu)}: {trouble.message}",
        interval=(mu, mu),
        found=trouble.found,
        remedy=trouble.remedy,
        setting=trouble.setting,
    )


def _extent(sequence: PieceSequence) -> tuple[float, float]:
    return sequence.pieces[0].start, sequence.pieces[-1].end
