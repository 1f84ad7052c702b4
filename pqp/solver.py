"""The calls a user makes: `solve_path` for an interval of mu, `solve` for one mu, `extend` behind a path."""

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pqp.errors import InternalError, LimitError, NumericalTroubleError, ProblemError
from pqp.io.writing import problem_file, write_document
from pqp.lcp.crisscross import RULES, Rule
from pqp.lcp.pivot_log import numbered
from pqp.linalg.field import FIELDS, RATIONAL, Arithmetic, Field, Number, as_numbers, is_infinite, shown
from pqp.model.problem import ParametricQP
from pqp.path.path import Path
from pqp.records.result import TraceResult, in_order, ordered
from pqp.records.segment import Point, Segment
from pqp.records.states import Basis
from pqp.stopping import INTERRUPTED, Progress, StopLimits, StoppedError, Watch
from pqp.tableau.runner import TableauRunner

if TYPE_CHECKING:
    from pqp.revised.runner import RevisedRunner

METHODS = ("revised", "tableau")
OnTrouble: TypeAlias = Literal["raise", "mark"]


def solve_path(
    problem: ParametricQP,
    interval: tuple[Number, Number],
    method: str = "revised",
    arithmetic: Arithmetic = "float",
    log: bool = False,
    *,
    rule: str = "least-index",
    direction: Literal["left-to-right", "right-to-left"] = "left-to-right",
    start: Basis | Segment | None = None,
    n_jobs: int = 1,
    max_pieces: int | None = None,
    max_pivots: int | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    on_trouble: OnTrouble = "raise",
    progress: Callable[[Progress], None] | None = None,
) -> Path:
    """Return the complete solution path of a problem over an interval of mu, ends included.

    Parameters
    ----------
    problem
        What to solve.
    interval
        (lo, hi) with lo ≤ hi; either may be infinite.
    method
        "revised": parametric pivoting on a factorised basis, for real problems, in float64 with exact repair;
        "tableau": the paper's algorithm on a dense dictionary, for teaching and reference.
    arithmetic
        "float", or "exact" for rationals; floats in the data are then taken at face value. Exact paths are
        traced by the tableau engine.
    log
        Keep every pivot, and every event of the revised engine, in `path.log`.
    direction
        "left-to-right", or "right-to-left" to start at hi; the path is in ascending order either way.
    rule
        How pivots of the tableau engine are chosen: "least-index", "lifo" or "most-often-selected".
    start
        A basis, or a segment that has one, which is optimal where the trace begins: no time is spent on
        finding one.
    n_jobs
        Trace this many parts of the interval in parallel processes (-1: one per core); the path is the same.
        Not with limits, `start`, `log` or `progress`.
    max_pieces, max_pivots, time_limit
        Stop early, after so many pieces, pivots or seconds; the path then ends where it was stopped, and
        `path.stopped` says why. Ctrl-C does the same.
    memory_limit
        Stop early once the pieces found so far take so many megabytes (10⁶ bytes). The matrices that a trace
        works with are not counted.
    on_trouble
        What happens where float64 finds no answer that it can verify, and exact repair is out of reach:
        "raise" raises `NumericalTroubleError`; "mark" returns a path with "unverified" pieces there, which
        have no solution and no certificate.
    progress
        Called after every pivot and every piece with a `pqp.Progress`.

    Returns
    -------
    Path
        All pieces in ascending order; if a limit or Ctrl-C stopped the trace, those that were finished.

    Raises
    ------
    ProblemError
        If an argument makes no sense, before any work is done.
    NotConvexError
        If P is not positive semidefinite.
    NumericalTroubleError
        If float64 is not accurate enough, with the interval at fault and the segments that are good; not
        with `on_trouble="mark"`.

    >>> import pqp
    >>> problem = pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=pqp.mu, lower=0)
    >>> path = pqp.solve_path(problem, (-2, 8), arithmetic="exact")
    >>> [str(mu) for mu in path.breakpoints]
    ['0', '1', '5']
    """
    if not isinstance(problem, ParametricQP):
        remedy = "call .subject_to() on it" if hasattr(problem, "subject_to") else None
        found = type(problem).__name__
        expected = "a pqp.ParametricQP"
        raise ProblemError(argument="problem", expected=expected, found=found, remedy=remedy)
    field = FIELDS[_choice(arithmetic, tuple(FIELDS), "arithmetic")]
    _choice(method, METHODS, "method")
    method = "tableau" if field is RATIONAL else method
    engine = _Engine(problem, field, RULES[_choice(rule, tuple(RULES), "rule")], method, log)
    _choice(direction, ("left-to-right", "right-to-left"), "direction")
    lo, hi = _interval(interval, field)
    begin, stop = (lo, hi) if direction == "left-to-right" else (hi, lo)
    problem.require_uncrossed_soft_rows(*_interval(interval, RATIONAL))
    if field is RATIONAL:
        problem.P.require_exact_convexity()
    limits = StopLimits(max_pieces, max_pivots, time_limit, memory_limit)
    marks = _choice(on_trouble, ("raise", "mark"), "on_trouble") == "mark"
    if jobs := _jobs(n_jobs, limits == StopLimits() and start is None and not log and progress is None):
        result = engine.run_parts((lo, hi), jobs, marks)
    else:
        result = engine.run(begin, stop, engine.checked(start, begin), limits, marks, progress)
    return engine.path(result, result.segments, (lo, hi), begin)


def solve(
    problem: ParametricQP,
    mu: Number,
    arithmetic: Arithmetic = "float",
    rule: str = "least-index",
    *,
    time_limit: float | None = None,
) -> Point:
    """Return the solution at one mu.

    Parameters
    ----------
    problem
        What to solve.
    mu
        A finite number.
    arithmetic, rule
        As in `solve_path`.
    time_limit
        Seconds after which to give up.

    Returns
    -------
    Point
        The solution, or why there is none.

    Raises
    ------
    LimitError
        If the time limit is reached first.
    KeyboardInterrupt
        If Ctrl-C is pressed first.

    >>> import pqp
    >>> pqp.solve(pqp.ParametricQP([[2]], [-4], lower=0), 0).x
    array([2.])
    """
    at = _one_number(mu, RATIONAL)
    if is_infinite(at):
        raise ProblemError(argument="mu", expected="finite", found=mu)
    path = solve_path(problem, (at, at), arithmetic=arithmetic, rule=rule, time_limit=time_limit)
    if path.stopped is not None:
        if path.stopped.startswith(INTERRUPTED):
            raise KeyboardInterrupt
        if not path.segments:
            raise LimitError("{found}: there is no solution yet", path.stopped, remedy="allow more time")
    return path(at)


@dataclass(frozen=True)
class _Engine:
    """An engine with everything a trace needs apart from its interval."""

    problem: ParametricQP
    field: Field
    rule: Rule
    method: str
    log: bool

    def run(
        self,
        begin: Number,
        stop: Number,
        start: Basis | None,
        limits: StopLimits,
        marks: bool,
        progress: Callable[[Progress], None] | None = None,
    ) -> TraceResult:
        """Trace from one end to the other, starting with a basis if there is one.

        With `marks`, what float64 cannot verify becomes unverified segments instead of an error.
        """
        result, watch = TraceResult(), Watch(limits, begin, progress)
        try:
            with watch:
                if self.method == "tableau":
                    tableau = TableauRunner(self.problem, self.field, self.rule, self.log)
                    tableau.run(begin, stop, start, watch, result)
                else:
                    self._revised().run(begin, stop, start, watch, result)
        except KeyboardInterrupt:
            watch.interrupt()
        except StoppedError:
            pass  # before there was anything to keep
        except NumericalTroubleError as trouble:
            self._keep(trouble, result, ordered(begin, stop), marks)
        except InternalError as bug:
            handle, file = tempfile.mkstemp(prefix="pqp-bug-", suffix=".json")
            os.close(handle)
            write_document(problem_file(self.problem), file)
            message = f"{bug} (a bug in pqp; the problem is kept in {file}, traced from {begin} to {stop})"
            raise InternalError(message, file) from bug
        result.segments = in_order(result.segments)
        if reason := INTERRUPTED if watch.was_interrupted else watch.reason:
            result.segments = _connected(result.segments, begin)
            at = begin if not result.segments else _far_end(result.segments, begin, stop)
            result.stopped = f"{reason} at mu = {shown(at)}"
        return result

    def _keep(
        self, trouble: NumericalTroubleError, result: TraceResult, ends: tuple[Number, Number], marks: bool
    ) -> None:
        """Hand the good segments over with the error, or mark what lies between them as unverified."""
        good = in_order(result.segments)
        if not marks:
            trouble.segments = tuple(good)
            raise trouble
        at, stop = ends
        result.segments = []
        for segment in good:
            if at < segment.lo:
                result.segments.append(self._unverified(at, segment.lo, trouble))
            result.segments.append(segment)
            at = segment.hi
        if at < stop or not good:
            result.segments.append(self._unverified(at, stop, trouble))

    def _unverified(self, lo: Number, hi: Number, trouble: NumericalTroubleError) -> Segment:
        return Segment(lo, hi, "unverified", self.problem, self.field, reason=str(trouble))

    def checked(self, start: Basis | Segment | None, begin: Number) -> Basis | None:
        """Return the basis to start from after checking it."""
        basis = start.basis if isinstance(start, Segment) else start
        if basis is None:
            return None
        if (len(basis.variables), len(basis.rows)) != (self.problem.n, self.problem.m):
            expected = f"{self.problem.n} variables and {self.problem.m} rows"
            message = "{argument} must have {expected}, got {found}"
            found = f"{len(basis.variables)} and {len(basis.rows)}"
            raise ProblemError(message, argument="start", expected=expected, found=found)
        if self.method == "revised":
            self._revised().require_optimal(basis, begin)
        return basis

    def run_parts(self, ends: tuple[Number, Number], jobs: int, marks: bool) -> TraceResult:
        """Trace the parts of an interval in parallel."""
        result = TraceResult()
        if self.method != "revised":
            message = "{argument} needs {expected}"
            expected = "the revised engine and float arithmetic"
            raise ProblemError(message, argument="n_jobs", expected=expected, remedy="leave it out")
        try:
            self._revised().run_parts(_cuts(*ends, jobs), jobs, result)
        except KeyboardInterrupt:
            result.segments = _connected(in_order(result.segments), ends[0])
            at = result.segments[-1].hi if result.segments else ends[0]
            result.stopped = f"{INTERRUPTED} at mu = {shown(at)}"
        except NumericalTroubleError as trouble:
            self._keep(trouble, result, ends, marks)
        return result

    def _revised(self) -> "RevisedRunner":
        # imported here alone: compiled code brings numba, and `import pqp` should take no longer than numpy
        from pqp.revised.runner import RevisedRunner

        return RevisedRunner(self.problem, self.log)

    def path(
        self, result: TraceResult, segments: list[Segment], asked: tuple[Number, Number], begin: Number
    ) -> Path:
        """Return the finished path."""
        return Path(
            problem=self.problem,
            segments=tuple(segments),
            asked=asked,
            arithmetic=self.field,
            method=self.method,
            rule=self.rule.name,
            stopped=result.stopped,
            log=numbered(result.pivots) if self.log else None,
            continuation=extend,
            begin=begin,
            info=result.info,
        )


def _connected(segments: Sequence[Segment], begin: Number) -> list[Segment]:
    """Return segments without a gap between them: those that reach to `begin`, or else the longest run.

    A trace may begin inside the interval, and one that was stopped may have left gaps to be filled later.
    """
    runs: list[list[Segment]] = []
    for segment in segments:
        if runs and runs[-1][-1].hi == segment.lo:
            runs[-1].append(segment)
        else:
            runs.append([segment])
    return max(runs, key=lambda run: (run[0].lo <= begin <= run[-1].hi, len(run)), default=[])


def _far_end(segments: Sequence[Segment], begin: Number, stop: Number) -> Number:
    """Return the end of a stopped path that the trace was on its way to, or where it left something out."""
    ends = segments[0].lo, segments[-1].hi
    near, far = ends if begin <= stop else ends[::-1]
    # A path that reaches both ends lacks the point at the far one.
    return near if far == stop and near != begin else far


def extend(
    path: Path,
    mu: Number,
    max_pieces: int | None = None,
    max_pivots: int | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    on_trouble: OnTrouble = "raise",
) -> Path:
    """Return a path continued to mu; its last piece is traced again from its start, so that pieces join."""
    target = _one_number(mu, path.arithmetic)
    limits = StopLimits(max_pieces, max_pivots, time_limit, memory_limit)
    marks = _choice(on_trouble, ("raise", "mark"), "on_trouble") == "mark"
    engine = _Engine(path.problem, path.arithmetic, RULES[path.rule], path.method, path.log is not None)
    path.problem.require_uncrossed_soft_rows(*ordered(path.origin, target))
    if not path.segments:
        result = engine.run(path.origin, target, None, limits, marks)
        return engine.path(result, result.segments, ordered(path.origin, target), path.origin)
    rightwards = target >= path.hi
    if not rightwards and target > path.lo:
        message = "{argument} must lie outside {expected}, which is traced already, got {found}"
        traced = f"[{shown(path.lo)}, {shown(path.hi)}]"
        raise ProblemError(message, argument="mu", expected=traced, found=str(mu))
    if rightwards:
        last, kept, neighbour = path.segments[-1], path.segments[:-1], path.segments[-2:-1]
        begin, asked, is_cut = last.lo, (path.asked[0], target), path.lo != path.asked[0]
    else:
        last, kept, neighbour = path.segments[0], path.segments[1:], path.segments[1:2]
        begin, asked, is_cut = last.hi, (target, path.asked[1]), path.hi != path.asked[1]
    # an unsolvable piece begins at the end of an optimal one, which the trace then meets again as a point
    meets_neighbour = last.status != "optimal" and bool(neighbour) and neighbour[0].status == "optimal"
    if limits.max_pieces is not None:  # pieces that are only traced again do not count
        limits = replace(limits, max_pieces=limits.max_pieces + 1 + meets_neighbour)
    result = engine.run(begin, target, last.basis, limits, marks)
    if not result.segments:
        kept = path.segments
    new = result.segments
    if meets_neighbour:
        new = [s for s in new if not (s.status == "optimal" and s.lo == s.hi == begin)]
    result.pivots = [*(path.log or ()), *result.pivots]
    if path.info is not None and result.info is not None and kept:
        result.info.include(path.info, kept[0].lo, kept[-1].hi)
    # the other end may have been cut short as well, and still is
    result.stopped = result.stopped or (path.stopped if is_cut else None)
    return engine.path(result, [*kept, *new] if rightwards else [*new, *kept], asked, path.origin)


def _jobs(n_jobs: Any, is_plain: bool) -> int:
    """Return how many parts to trace in parallel, 0 if there is one."""
    if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ProblemError(argument="n_jobs", expected="a whole number other than 0", found=n_jobs)
    if n_jobs == 1:
        return 0
    from joblib import effective_n_jobs  # slow to import, and most paths are traced in one process

    jobs = effective_n_jobs(n_jobs)
    if jobs > 1 and not is_plain:
        message = "{argument} cannot be combined with limits, start, log or progress"
        raise ProblemError(message, argument="n_jobs", remedy="leave it or them out")
    return jobs if jobs > 1 else 0


def _cuts(lo: Number, hi: Number, parts: int) -> list[Number]:
    """Return the ends of the parts: equal ones, or, over an infinite interval, tangents of equal angles."""
    shares = [k / parts for k in range(1, parts)]
    if is_infinite(lo) and is_infinite(hi):
        inner = [math.tan(math.pi * (share - 0.5)) for share in shares]
    elif is_infinite(hi):
        inner = [lo + math.tan(math.pi / 2 * share) for share in shares]
    elif is_infinite(lo):
        inner = [hi - math.tan(math.pi / 2 * (1 - share)) for share in shares]
    else:
        inner = [lo + share * (hi - lo) for share in shares]
    return [lo, *inner, hi]


def _choice(value: Any, allowed: tuple[str, ...], name: str) -> str:
    if value not in allowed:
        raise ProblemError(argument=name, expected=" or ".join(map(repr, allowed)), found=repr(value))
    return str(value)


def _one_number(mu: object, field: Field) -> Number:
    value = as_numbers(mu, "mu")
    if value.shape:
        raise ProblemError(argument="mu", expected="a single number", found=mu)
    return field.number(value[()])


def _interval(interval: object, field: Field) -> tuple[Number, Number]:
    ends = as_numbers(interval, "interval")
    if ends.shape != (2,):
        raise ProblemError(argument="interval", expected="(lo, hi)", found=f"shape {ends.shape}")
    lo, hi = field.number(ends[0]), field.number(ends[1])
    if lo > hi:
        message = "{argument} must have {expected}, got {found}"
        remedy = "give the smaller end first"
        found = f"({shown(lo)}, {shown(hi)})"
        raise ProblemError(message, argument="interval", expected="lo ≤ hi", found=found, remedy=remedy)
    if lo == hi and is_infinite(lo):
        message = "{argument} {found} contains no number"
        raise ProblemError(message, argument="interval", found=f"({lo}, {hi})")
    return lo, hi
