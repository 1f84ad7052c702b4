"""Solving: the calls a user makes, `solve_path`, `solve`, and how a trace is gathered into a path.

Room: a problem and an interval in, a `Path` out.
May touch: everything to its left.
"""

import math
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from pqp.compilation import compile_problem
from pqp.crisscross import RULES, Rule
from pqp.documents import VERSION, problem_document, write_document
from pqp.errors import InternalError, NumericalTroubleError, ProblemError
from pqp.field import FIELDS, FLOAT, KKT_RESIDUAL, RATIONAL, Arithmetic, Field, Number, as_numbers, shown
from pqp.limits import Limits, Progress, Watch
from pqp.log import Pivot, numbered
from pqp.path import Path
from pqp.problem import ParametricQP
from pqp.reading import basis_of, read_segment
from pqp.segment import Point, Segment
from pqp.stretches import explain
from pqp.tableau import Event, Piece, Stretch, Tracer

METHODS = ("tableau",)


def solve_path(
    problem: ParametricQP,
    interval: tuple[Any, Any],
    method: str = "tableau",
    arithmetic: Arithmetic = "float",
    log: bool = False,
    *,
    rule: str = "least-index",
    direction: Literal["left-to-right", "right-to-left"] = "left-to-right",
    max_pieces: int | None = None,
    max_pivots: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Path:
    """Return the complete solution path of a problem over an interval of mu, ends included.

    Parameters
    ----------
    interval
        (lo, hi) with lo ≤ hi; either may be infinite.
    method
        "tableau": the paper's algorithm on a dense dictionary.
    arithmetic
        "float", or "exact" for rationals; floats in the data are then taken at face value.
    log
        Keep every pivot in `path.log`.
    direction
        "left-to-right", or "right-to-left" to start at hi; the path is in ascending order either way.
    rule
        How pivots are chosen: "least-index", "lifo" or "most-often-selected".
    max_pieces, max_pivots, time_limit
        Stop early; the path then ends where it was stopped, and `path.stopped` says why.
    progress
        Called after every pivot and every piece with how far the trace has come.

    >>> import pqp
    >>> problem = pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=pqp.mu, lower=0)
    >>> path = pqp.solve_path(problem, (-2, 8), arithmetic="exact")
    >>> [str(mu) for mu in path.breakpoints]
    ['0', '1', '5']
    """
    field = FIELDS[_choice(arithmetic, tuple(FIELDS), "arithmetic")]
    _choice(method, METHODS, "method")
    job = _Job(problem, field, RULES[_choice(rule, tuple(RULES), "rule")], method, log)
    _choice(direction, ("left-to-right", "right-to-left"), "direction")
    lo, hi = _interval(interval, field)
    begin, stop = (lo, hi) if direction == "left-to-right" else (hi, lo)
    problem.require_uncrossed_soft_rows(lo, hi)
    if field is RATIONAL:
        problem.P.require_exact_convexity()
    part = job.run(begin, stop, None, Limits(max_pieces, max_pivots, time_limit), progress)
    return job.path(part, part.segments, (lo, hi), begin)


def solve(
    problem: ParametricQP, mu: Any, arithmetic: Arithmetic = "float", rule: str = "least-index"
) -> Point:
    """Return the solution at one mu.

    >>> import pqp
    >>> pqp.solve(pqp.ParametricQP([[2]], [-4], lower=0), 0).x
    array([2.])
    """
    path = solve_path(problem, (mu, mu), arithmetic=arithmetic, rule=rule)
    return path(mu)


@dataclass
class _Part:
    """What one run of the tracer has produced so far; filled in by the run that owns it."""

    segments: list[Segment] = field(default_factory=list)
    pivots: list[Pivot] = field(default_factory=list)
    stopped: str | None = None


@dataclass(frozen=True)
class _Job:
    """Everything a trace needs apart from its interval."""

    problem: ParametricQP
    field: Field
    rule: Rule
    method: str
    log: bool

    def run(
        self,
        begin: Number,
        stop: Number,
        start: Segment | None,
        limits: Limits,
        progress: Callable[[Progress], None] | None = None,
    ) -> _Part:
        """Trace from one end to the other, starting with the basis of a segment if there is one."""
        part, watch = _Part(), Watch(limits, begin, progress)
        try:
            tracer = Tracer(compile_problem(self.problem, self.field), self.rule)
            basis = None if start is None or start.basis is None else basis_of(tracer.compiled, start.basis)
            self._gather(tracer, watch.passing(tracer.trace(tracer.first(basis), begin, stop)), part)
        except KeyboardInterrupt:
            watch.interrupt()
        except NumericalTroubleError as trouble:
            trouble.segments = tuple(_ascending(part.segments))
            raise
        except InternalError as bug:
            raise InternalError(*_reproducible(bug, self.problem, (begin, stop))) from bug
        part.segments, part.stopped = _ascending(part.segments), watch.stopped
        return part

    def _gather(self, tracer: Tracer, events: Iterator[Event], part: _Part) -> None:
        """Turn events into segments, in the order of the trace."""
        pending: list[Stretch] = []
        for event in events:
            if isinstance(event, Pivot):
                part.pivots += [event] if self.log else []
            elif isinstance(event, Stretch):
                pending.append(event)
            else:
                self._explain(tracer, pending, part)
                pending = []
                part.segments.append(self._checked(_segment(tracer, event)))
        self._explain(tracer, pending, part)

    def _explain(self, tracer: Tracer, pending: list[Stretch], part: _Part) -> None:
        if pending:
            found = explain(pending, tracer.exact, self.field)
            part.segments += found if pending[0].start <= pending[-1].end else reversed(found)

    def _checked(self, segment: Segment) -> Segment:
        """Return the segment if it is optimal by definition; float pieces are not trusted blindly."""
        if self.field is FLOAT:
            for mu in (segment.lo, segment.hi):
                if not math.isinf(mu) and _relative_residual(segment.at(mu)) > KKT_RESIDUAL:
                    raise NumericalTroubleError(
                        f"the float tableau lost accuracy on [{segment.lo}, {segment.hi}]: it misses the "
                        f"optimality conditions by {_relative_residual(segment.at(mu)):.1e}; "
                        f'use arithmetic="exact"',
                        interval=(segment.lo, segment.hi),
                    )
        return segment

    def path(self, part: _Part, segments: list[Segment], asked: tuple[Number, Number], begin: Number) -> Path:
        """Return the finished path."""
        return Path(
            problem=self.problem,
            segments=tuple(segments),
            asked=asked,
            arithmetic=self.field,
            method=self.method,
            rule=self.rule.name,
            stopped=part.stopped,
            log=numbered(part.pivots) if self.log else None,
            continuation=extend,
            begin=begin,
        )


def extend(path: Path, mu: Any, **limits: Any) -> Path:
    """Return a path carried on to mu; its last piece is traced again from its start, so that pieces join."""
    target = path.arithmetic.number(as_numbers(mu, "mu")[()])
    job = _Job(path.problem, path.arithmetic, RULES[path.rule], path.method, path.log is not None)
    if not path.segments:
        part = job.run(path.origin, target, None, Limits(**limits))
        return job.path(part, part.segments, _ordered(path.origin, target), path.origin)
    rightwards = target >= path.hi
    if not rightwards and target > path.lo:
        raise ProblemError(f"mu must lie outside [{path.lo}, {path.hi}], which is traced already, got {mu}")
    last, kept = (
        (path.segments[-1], path.segments[:-1]) if rightwards else (path.segments[0], path.segments[1:])
    )
    begin = last.lo if rightwards else last.hi
    part = job.run(begin, target, last, Limits(**limits))
    if not part.segments or (last.lo == last.hi and not _joins(part.segments, last, rightwards)):
        kept = path.segments
    segments = [*kept, *part.segments] if rightwards else [*part.segments, *kept]
    part.pivots = [*(path.log or ()), *part.pivots]
    asked = (path.asked[0], target) if rightwards else (target, path.asked[1])
    return job.path(part, segments, asked, path.origin)


def _joins(segments: list[Segment], point: Segment, rightwards: bool) -> bool:
    """Tell whether the new pieces cover a solvable single point that the old ones ended with."""
    return (segments[0] if rightwards else segments[-1]).status == point.status


def _segment(tracer: Tracer, piece: Piece) -> Segment:
    return read_segment(tracer.compiled, piece.basis, piece.z, piece.w, _ordered(piece.start, piece.end))


def _ascending(segments: list[Segment]) -> list[Segment]:
    return sorted(segments, key=lambda segment: (segment.lo, segment.hi))


def _ordered(one: Number, other: Number) -> tuple[Number, Number]:
    return (one, other) if one <= other else (other, one)


def _reproducible(
    bug: InternalError, problem: ParametricQP, interval: tuple[Number, Number]
) -> tuple[str, str]:
    """Return the message of a bug and the file in which its problem was kept."""
    handle, file = tempfile.mkstemp(prefix="pqp-bug-", suffix=".json")
    os.close(handle)
    write_document({"format": "pqp-problem", "version": VERSION, **problem_document(problem)}, file)
    return (
        f"{bug} (a bug in pqp; the problem is kept in {file}, traced from {interval[0]} to {interval[1]})",
        file,
    )


def _relative_residual(point: Point) -> float:
    """Return the largest residual relative to the size of the numbers it is the difference of."""
    data = point.segment.problem.data(FLOAT)
    x, y = abs(point.x).max(initial=0), abs(point.y).max(initial=0)
    size = abs(data.P).max(initial=0) * x + abs(data.A).max(initial=0) * max(x, y)
    c = abs(data.c[0] + point.mu * data.c[1]).max(initial=0)
    return float(point.residuals().largest) / max(1.0, float(size), float(c), float(x) * float(y))


def _choice(value: Any, allowed: tuple[str, ...], name: str) -> str:
    if value not in allowed:
        raise ProblemError(f"{name} must be {' or '.join(map(repr, allowed))}, got {value!r}")
    return str(value)


def _interval(interval: Any, field: Field) -> tuple[Number, Number]:
    ends = as_numbers(interval, "interval")
    if ends.shape != (2,):
        raise ProblemError(f"interval must be (lo, hi), got shape {ends.shape}")
    lo, hi = field.number(ends[0]), field.number(ends[1])
    if lo > hi:
        raise ProblemError(
            f"interval must have lo ≤ hi, got ({shown(lo)}, {shown(hi)}); give the smaller end first"
        )
    if lo == hi and math.isinf(lo):
        raise ProblemError(f"interval ({lo}, {hi}) contains no number")
    return lo, hi
