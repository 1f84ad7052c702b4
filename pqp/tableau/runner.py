"""The tableau engine as `solve_path` calls it: trace a problem, check every piece, gather the segments."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from sys import getsizeof

import numpy as np

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.lcp.crisscross import Rule
from pqp.lcp.pivot_log import Pivot
from pqp.linalg.field import FLOAT, RATIONAL, Field, Number, is_infinite
from pqp.linalg.tolerances import KKT_RESIDUAL
from pqp.model.problem import ParametricQP
from pqp.records.residuals import relative_residual
from pqp.records.result import TraceResult, ordered
from pqp.records.segment import Segment
from pqp.records.states import Basis
from pqp.records.unsolvable import UnsolvablePiece
from pqp.stopping import StoppedError, Watch
from pqp.tableau.compile import basis_of, compile_problem, read_segment, read_sizes
from pqp.tableau.trace import Event, OptimalPiece, Tracer
from pqp.tableau.unsolvable import unsolvable_segments


@dataclass(frozen=True)
class TableauRunner:
    """The tableau engine, ready to trace one problem in one arithmetic."""

    problem: ParametricQP
    field: Field
    rule: Rule
    log: bool

    def run(
        self, begin: Number, stop: Number, start: Basis | None, watch: Watch, result: TraceResult
    ) -> None:
        """Trace from one end to the other, starting with a basis if there is one, and fill the result."""
        tracer = Tracer(compile_problem(self.problem, self.field), self.rule)
        basis = None if start is None else basis_of(tracer.compiled, start)
        watch.measure = _KeptBytes(result)
        with suppress(StoppedError):
            events = watch.passing(tracer.trace(tracer.first(basis, watch), begin, stop))
            self._gather(tracer, events, result, watch.finishing())

    def _gather(self, tracer: Tracer, events: Iterator[Event], result: TraceResult, watch: Watch) -> None:
        """Turn events into segments, in the order of the trace."""
        pending: list[UnsolvablePiece] = []
        try:
            for event in events:
                if isinstance(event, Pivot):
                    result.pivots += [event] if self.log else []
                elif isinstance(event, UnsolvablePiece):
                    pending.append(event)
                else:
                    found, pending = pending, []
                    self._add_unsolvable(found, result, watch)
                    result.segments.append(self._checked(tracer, event))
        except NumericalTroubleError:
            self._add_unsolvable(pending, result, watch)
            raise
        self._add_unsolvable(pending, result, watch)

    def _add_unsolvable(self, pending: list[UnsolvablePiece], result: TraceResult, watch: Watch) -> None:
        """Add the segments of unsolvable pieces, found together so that one proof may serve all of them."""
        if not pending:
            return
        begin, end = pending[0].exact[0], pending[-1].exact[1]
        if result.segments:
            # the float end of the segment before may be off by a rounding error; the proof's end is exact
            last, at = result.segments[-1], self.field.number(begin)
            result.segments[-1] = replace(last, hi=at) if begin <= end else replace(last, lo=at)
        found = unsolvable_segments(pending, self.problem, self.field, watch)
        result.segments += found if begin <= end else reversed(found)

    def _checked(self, tracer: Tracer, piece: OptimalPiece) -> Segment:
        """Return the segment of a piece; in float64 only if it satisfies the optimality conditions."""
        ends = ordered(piece.start, piece.end)
        segment = read_segment(tracer.compiled, piece.basis, piece.z, piece.w, ends)
        if self.field is RATIONAL or segment.x is None or segment.y is None or segment.z is None:
            return segment
        data, sizes = self.problem.data(FLOAT), read_sizes(tracer.compiled, piece.z_sizes)
        for mu in (float(end) for end in ends if not is_infinite(end)):
            with np.errstate(over="ignore", invalid="ignore"):  # a residual that is not a number is refused
                miss = relative_residual(data, mu, (segment.x, segment.y, segment.z), sizes)
            if not miss <= KKT_RESIDUAL:
                raise NumericalTroubleError(
                    f"the float tableau lost accuracy on [{segment.lo}, {segment.hi}]: it misses the "
                    f"optimality conditions by {miss:.1e}",
                    interval=ends,
                    **EXACT_REMEDY,
                )
        return segment


class _KeptBytes:
    """The bytes of all optimal segments found so far, each counted once."""

    def __init__(self, result: TraceResult) -> None:
        self._result = result
        self._known, self._total = 0, 0.0

    def __call__(self) -> float:
        segments = self._result.segments
        self._total += sum(_bytes(segment) for segment in segments[self._known :])
        self._known = len(segments)
        return self._total


def _bytes(segment: Segment) -> float:
    """Return the bytes of the numbers of a segment."""
    arrays = [array for pair in (segment.x, segment.y, segment.z) if pair is not None for array in pair]
    if segment.arithmetic is not RATIONAL:
        return float(sum(array.nbytes for array in arrays))
    numbers = (number for array in arrays for number in array)
    return float(sum(getsizeof(number.numerator) + getsizeof(number.denominator) for number in numbers))
