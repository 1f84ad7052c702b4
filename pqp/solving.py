"""Solving: the calls a user makes, `solve_path`, `solve`, and how a trace is gathered into a path.

Room: a problem and an interval in, a `Path` out.
May touch: everything to its left.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from pqp.accuracy import relative_residual
from pqp.compilation import compile_problem
from pqp.crisscross import RULES, Rule
from pqp.documents import VERSION, problem_document, write_document
from pqp.errors import InternalError, NumericalTroubleError, ProblemError
from pqp.field import (
    FIELDS,
    FLOAT,
    KKT_RESIDUAL,
    RATIONAL,
    Arithmetic,
    Field,
    Number,
    as_numbers,
    is_infinite,
    shown,
)
from pqp.limits import Limits, Progress, Watch
from pqp.log import Pivot, numbered
from pqp.path import Path
from pqp.problem import ParametricQP
from pqp.reading import basis_of, read_segment, read_sizes
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
    if not isinstance(problem, ParametricQP):
        remedy = "; call .subject_to() on it" if hasattr(problem, "subject_to") else ""
        raise ProblemError(f"problem must be a pqp.ParametricQP, got {type(problem).__name__}{remedy}")
    field = FIELDS[_choice(arithmetic, tuple(FIELDS), "arithmetic")]
    _choice(method, METHODS, "method")
    job = _Job(problem, field, RULES[_choice(rule, tuple(RULES), "rule")], method, log)
    _choice(direction, ("left-to-right", "right-to-left"), "direction")
    lo, hi = _interval(interval, field)
    begin, stop = (lo, hi) if direction == "left-to-right" else (hi, lo)
    problem.require_uncrossed_soft_rows(*_interval(interval, RATIONAL))
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
    at = _one_number(mu, RATIONAL)
    if is_infinite(at):
        raise ProblemError(f"mu must be finite, got {mu!r}")
    return solve_path(problem, (at, at), arithmetic=arithmetic, rule=rule)(at)


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
                part.segments.append(self._checked(tracer, event))
        self._explain(tracer, pending, part)

    def _explain(self, tracer: Tracer, pending: list[Stretch], part: _Part) -> None:
        """Add what unsolvable stretches amount to; the piece before ends where their proof does, exactly."""
        if not pending:
            return
        begin, end = pending[0].exact[0], pending[-1].exact[1]
        if part.segments:
            last, at = part.segments[-1], self.field.number(begin)
            part.segments[-1] = replace(last, hi=at) if begin <= end else replace(last, lo=at)
        found = explain(pending, tracer.exact, self.field)
        part.segments += found if begin <= end else reversed(found)

    def _checked(self, tracer: Tracer, piece: Piece) -> Segment:
        """Return the segment if it is optimal by definition; float pieces are not trusted blindly."""
        ends = _ordered(piece.start, piece.end)
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


def extend(
    path: Path,
    mu: Any,
    max_pieces: int | None = None,
    max_pivots: int | None = None,
    time_limit: float | None = None,
) -> Path:
    """Return a path carried on to mu; its last piece is traced again from its start, so that pieces join."""
    target, limits = _one_number(mu, path.arithmetic), Limits(max_pieces, max_pivots, time_limit)
    job = _Job(path.problem, path.arithmetic, RULES[path.rule], path.method, path.log is not None)
    path.problem.require_uncrossed_soft_rows(*_ordered(path.origin, target))
    if not path.segments:
        part = job.run(path.origin, target, None, limits)
        return job.path(part, part.segments, _ordered(path.origin, target), path.origin)
    rightwards = target >= path.hi
    if not rightwards and target > path.lo:
        raise ProblemError(
            f"mu must lie outside [{shown(path.lo)}, {shown(path.hi)}], which is traced already, got {mu}"
        )
    last, kept = (
        (path.segments[-1], path.segments[:-1]) if rightwards else (path.segments[0], path.segments[1:])
    )
    begin, neighbour = (last.lo, kept[-1:]) if rightwards else (last.hi, kept[:1])
    repeated = 1 + (last.status != "optimal" and bool(neighbour) and neighbour[0].status == "optimal")
    part = job.run(begin, target, last, _with_more_pieces(limits, repeated))
    if not part.segments:
        kept = path.segments
    new = [s for s in part.segments if not (_is_point(s, begin) and repeated == 2)]
    part.pivots = [*(path.log or ()), *part.pivots]
    asked = (path.asked[0], target) if rightwards else (target, path.asked[1])
    is_cut = path.lo != path.asked[0] if rightwards else path.hi != path.asked[1]
    part.stopped = part.stopped or (path.stopped if is_cut else None)
    return job.path(part, [*kept, *new] if rightwards else [*new, *kept], asked, path.origin)


def _with_more_pieces(limits: Limits, count: int) -> Limits:
    """Return limits that do not count the pieces that are only traced again."""
    return limits if limits.max_pieces is None else replace(limits, max_pieces=limits.max_pieces + count)


def _is_point(segment: Segment, mu: Number) -> bool:
    return segment.status == "optimal" and segment.lo == segment.hi == mu


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


def _choice(value: Any, allowed: tuple[str, ...], name: str) -> str:
    if value not in allowed:
        raise ProblemError(f"{name} must be {' or '.join(map(repr, allowed))}, got {value!r}")
    return str(value)


def _one_number(mu: Any, field: Field) -> Number:
    value = as_numbers(mu, "mu")
    if value.shape:
        raise ProblemError(f"mu must be a single number, got {mu!r}")
    return field.number(value[()])


def _interval(interval: Any, field: Field) -> tuple[Number, Number]:
    ends = as_numbers(interval, "interval")
    if ends.shape != (2,):
        raise ProblemError(f"interval must be (lo, hi), got shape {ends.shape}")
    lo, hi = field.number(ends[0]), field.number(ends[1])
    if lo > hi:
        raise ProblemError(
            f"interval must have lo ≤ hi, got ({shown(lo)}, {shown(hi)}); give the smaller end first"
        )
    if lo == hi and is_infinite(lo):
        raise ProblemError(f"interval ({lo}, {hi}) contains no number")
    return lo, hi
