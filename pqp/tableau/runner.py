"""Runs of the tableau engine: its events, checked and gathered into segments."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pqp.errors import NumericalTroubleError
from pqp.lcp.crisscross import Rule
from pqp.lcp.log import Pivot
from pqp.limits import Watch
from pqp.linalg.field import FLOAT, RATIONAL, Field, Number, is_infinite
from pqp.linalg.tolerances import KKT_RESIDUAL
from pqp.model.problem import ParametricQP
from pqp.records.residuals import relative_residual
from pqp.records.segment import Segment
from pqp.records.states import Basis
from pqp.tableau.compile import basis_of, compile_problem, read_segment, read_sizes
from pqp.tableau.trace import Event, Piece, Stretch, Tracer
from pqp.tableau.unsolvable import Run, ordered


@dataclass(frozen=True)
class TableauRunner:
    """The tableau engine, ready to trace one problem in one arithmetic."""

    problem: ParametricQP
    field: Field
    rule: Rule
    log: bool

    def run(self, begin: Number, stop: Number, start: Basis | None, watch: Watch, part: Run) -> None:
        """Trace from one end to the other, starting with a basis if there is one, and fill the run."""
        tracer = Tracer(compile_problem(self.problem, self.field), self.rule)
        basis = None if start is None else basis_of(tracer.compiled, start)
        self._gather(tracer, watch.passing(tracer.trace(tracer.first(basis), begin, stop)), part)

    def _gather(self, tracer: Tracer, events: Iterator[Event], part: Run) -> None:
        """Turn events into segments, in the order of the trace."""
        pending: list[Stretch] = []
        for event in events:
            if isinstance(event, Pivot):
                part.pivots += [event] if self.log else []
            elif isinstance(event, Stretch):
                pending.append(event)
            else:
                part.add_stretches(pending, self.problem, self.field)
                pending = []
                part.segments.append(self._checked(tracer, event))
        part.add_stretches(pending, self.problem, self.field)

    def _checked(self, tracer: Tracer, piece: Piece) -> Segment:
        """Return the segment if it is optimal by definition; float pieces are not trusted blindly."""
        ends = ordered(piece.start, piece.end)
        segment = read_segment(tracer.compiled, piece.basis, piece.z, piece.w, ends)
        if self.field is RATIONAL or segment.x is None or segment.y is None or segment.z is None:
            return segment
        data, sizes = self.problem.data(FLOAT), read_sizes(tracer.compiled, piece.z_sizes)
        for mu in (float(end) for end in ends if not is_infinite(end)):
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no number, and is refused
                miss = relative_residual(data, mu, (segment.x, segment.y, segment.z), sizes)
            if not miss <= KKT_RESIDUAL:
                raise NumericalTroubleError(
                    f"the float tableau lost accuracy on [{segment.lo}, {segment.hi}]: it misses the "
                    f'optimality conditions by {miss:.1e}; use arithmetic="exact"',
                    interval=ends,
                )
        return segment
