"""Runs of the revised engine: traces over an interval, verification, and the ladder where float64 fails.

A run traces from a first mu towards one end or both. Every piece is then verified from the data. What was not
traced, or not accurately, is a gap, and gaps climb one ladder of named rungs, each tried once per gap. Exact
arithmetic is the last one. `TraceResult.info` records which rung found what.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array
from threadpoolctl import ThreadpoolController

from pqp.errors import NumericalTroubleError, ProblemError
from pqp.linalg.field import FLOAT, RATIONAL, Array, Number, exact_array, is_infinite, shown
from pqp.linalg.tolerances import ACCURATE, KKT_RESIDUAL
from pqp.model.problem import ParametricQP
from pqp.records.result import TraceInfo, TraceResult, in_order, join_unsolvable, ordered
from pqp.records.segment import Segment
from pqp.records.states import Basis
from pqp.records.unsolvable import Obstruction, UnsolvablePiece
from pqp.revised.crossed_bounds import CrossingBounds, find_crossing_bounds
from pqp.revised.exact_repair import ExactTracer, Repair
from pqp.revised.interior_point import ConeProgram, cone_program
from pqp.revised.pieces import PieceRecord, PieceSequence, join_all, segments_of
from pqp.revised.postsolve import Postsolve
from pqp.revised.presolve import presolve
from pqp.revised.rays import is_proof, move_along, obstruction_of, unconfirmed, unsolvable_piece
from pqp.revised.scaling import ScaledProblem, scale_problem
from pqp.revised.start import NoStart, find_start, trivial_states
from pqp.revised.trace import LargeTieError, Tracer, TraceSettings, UnblockedRay
from pqp.revised.verify import Judge, violations
from pqp.stopping import StopLimits, StoppedError, Watch
from pqp.tableau.unsolvable import unsolvable_segments

# How far inside an interval a trace begins if its end is a large tie, relative to the length.
INSIDE_SHARES = (1e-3, 1e-5, 1e-1)
# Powers of ten at which a trivial solution is tried where an interval has no end.
FAR_OUT_POWERS = range(0, 7, 2)
# Where inside a gap a trace is started anew.
RESTART_SHARES = (0.5, 0.382, 0.9)


# Pieces are verified during the trace whenever there are so many new ones, so that little is left to do when
# a limit is reached or Ctrl-C is pressed: verification costs up to a third of the trace.
VERIFY_EVERY = 400
# A solvable interval that is narrower, relative to its ends, is below the accuracy of linear programs.
NARROW = 1e-6
# Where in a solvable interval a trace begins: at no simple fraction of it, where breakpoints often lie.
GOLDEN_SHARE = 0.382


@dataclass
class Leg:
    """A trace in one direction: unsolvable pieces before, optimal pieces, unsolvable pieces behind."""

    before: list[UnsolvablePiece] = field(default_factory=list)
    pieces: PieceRecord = field(default_factory=PieceRecord)
    behind: list[UnsolvablePiece] = field(default_factory=list)
    # The misses of the pieces that were verified during the trace: of all from the second one on, as far as
    # they go.
    misses: Array = field(default_factory=lambda: np.empty(0))

    def sequence(self) -> PieceSequence:
        """Return the optimal pieces as traced, ending where the proofs of their unsolvable neighbours do."""
        pieces = self.pieces
        first, last = pieces.starts[0], pieces.ends[-1]
        is_point = first == last
        if self.before:
            first = float(self.before[-1].end)
        if self.behind:
            last = float(self.behind[0].start)
            # A single point stays one, at the exact end.
            first = last if is_point else first
        return pieces.sequence().clipped(first, last)


@dataclass
class Cover:
    """What is known of a path: verified sequences, and pieces that are proved to have no solution."""

    sequences: list[PieceSequence] = field(default_factory=list)
    unsolvable: list[list[UnsolvablePiece]] = field(default_factory=list)
    worst: float = 0.0

    def add(self, sequence: PieceSequence) -> None:
        """Add a verified sequence."""
        self.sequences.append(sequence)
        self.sequences.sort(key=lambda sequence: (sequence.lo, sequence.hi))

    def overlaps(self, sequence: PieceSequence) -> bool:
        """Return whether a sequence has an inside in common with one that is there."""
        return any(sequence.lo < other.hi and other.lo < sequence.hi for other in self.sequences)

    def gaps(self, lo: float, hi: float) -> list[tuple[float, float]]:
        """Return the parts of an interval that nothing covers."""
        parts: list[tuple[Number, Number]] = [(sequence.lo, sequence.hi) for sequence in self.sequences]
        for pieces in self.unsolvable:
            parts += [(min(p.start, p.end), max(p.start, p.end)) for p in pieces]
        result, at = [], lo
        for begin, end in sorted((float(begin), float(end)) for begin, end in parts):
            if begin > at:
                result.append((at, min(begin, hi)))
            at = max(at, end)
        if at < hi:
            result.append((at, hi))
        if lo == hi and not parts:
            result.append((lo, hi))
        return result

    def states_at(self, mu: float, side: int) -> Array | None:
        """Return the states of the verified piece that ends (side -1) or begins (side 1) at mu."""
        for sequence in self.sequences:
            if side < 0 and sequence.hi == mu:
                return sequence.last_states()
            if side > 0 and sequence.lo == mu:
                return sequence.first
        return None


@dataclass(frozen=True)
class RevisedRunner:
    """The revised engine, ready to trace one problem."""

    problem: ParametricQP
    log: bool

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """The names of items in a log."""
        if not self.log:
            return None
        variables, rows = self.postsolve.reduced.variables, self.postsolve.reduced.rows
        problem = self.problem
        return (*(problem.names[j] for j in variables), *(problem.row_names[i] for i in rows))

    @cached_property
    def postsolve(self) -> Postsolve:
        """How items of the reduced problem correspond to those of the problem."""
        return Postsolve(presolve(self.problem))

    @cached_property
    def scaled(self) -> ScaledProblem:
        """The reduced problem in scaled units."""
        return scale_problem(self.postsolve.reduced)

    @cached_property
    def crossing_bounds(self) -> CrossingBounds:
        """Bounds that may cross, and penalties that may become negative."""
        return find_crossing_bounds(self.problem, self.postsolve.reduced.slacks)

    @cached_property
    def program(self) -> ConeProgram:
        """The problem as libraries take it."""
        return cone_program(self.problem)

    @cached_property
    def repair(self) -> Repair:
        """Exact arithmetic for what float64 cannot solve."""
        return Repair(self.postsolve, self.scaled, ExactTracer(self.problem))

    # ---- a run ----

    def run(
        self, begin: Number, stop: Number, start: Basis | None, watch: Watch, result: TraceResult
    ) -> None:
        """Trace from one end to the other, from a given basis if there is one, and fill the result."""
        with _engine_arithmetic():
            run = _Run(self, begin, stop, watch, result)
            run.execute(None if start is None else self.postsolve.item_states(start.codes()))

    def run_parts(self, cuts: Sequence[Number], jobs: int, result: TraceResult) -> None:
        """Trace the parts of an interval between cuts in parallel, and fill the result.

        Ctrl-C leaves the result with the parts that were finished before, from the left.
        """
        tasks = (delayed(_trace_part)(self, ends) for ends in pairwise(cuts))
        cover, first, info = Cover(), None, TraceInfo()
        result.info = info
        try:
            for part, part_info, trouble in Parallel(n_jobs=jobs, return_as="generator")(tasks):
                cover.sequences += part.sequences
                cover.unsolvable += part.unsolvable
                info.include(part_info)
                first = first or trouble
        finally:
            self.gather(cover, Watch(StopLimits(), cuts[0]), result)
        if first is not None:
            raise first

    def require_optimal(self, start: Basis, mu: Number) -> None:
        """Raise unless a basis is optimal at mu."""
        states = self.postsolve.item_states(start.codes())
        with _engine_arithmetic():
            point = Tracer(self.scaled.lcp, states, float(mu)).point()
            miss = violations(point.sequence(), self.scaled.lcp)[0]
        if not miss <= KKT_RESIDUAL:
            raise ProblemError(
                "{argument} is not optimal at mu = {found}",
                argument="start",
                found=shown(mu),
                expected="the basis of a solution",
                remedy="leave it out, or give the basis of a solution",
            )

    def gather(self, cover: Cover, watch: Watch, result: TraceResult) -> None:
        """Hand over all segments in ascending order; sequences that meet inside a piece become one.

        Pieces of which it is not known why they have no solution are left out: where the trace has to stop,
        or where float64 cannot tell, which is raised after all others are handed over.
        """
        segments: list[Segment] = []
        sequences = sorted(cover.sequences, key=lambda sequence: (sequence.lo, sequence.hi))
        for pending in cover.unsolvable:
            ends = sorted((float(pending[0].start), float(pending[-1].end)))
            sequences = [_outside(sequence, *ends) for sequence in sequences]
        for group in _contiguous(sequences):
            segments += segments_of(join_all(group), self.postsolve, self.scaled)
        first: NumericalTroubleError | None = None
        for pending in cover.unsolvable:
            if pending:
                is_small = self.repair.exact_tracer.is_small_enough
                feasibility = None if is_small else partial(self._feasibility, watch=watch)
                try:
                    segments += unsolvable_segments(pending, self.problem, FLOAT, watch, feasibility)
                except StoppedError:
                    continue
                except NumericalTroubleError as trouble:
                    first = first or trouble
        result.segments = join_unsolvable(in_order(segments))
        if first is not None:
            raise first

    def _feasibility(self, lo: Number, hi: Number, watch: Watch) -> list[Segment]:
        """Return the path of the constraints alone: optimal where an x is feasible."""
        problem = self.problem
        hard = np.flatnonzero(~problem.is_soft)
        constraints = ParametricQP(
            csr_array((problem.n, problem.n)),
            np.zeros(problem.n),
            problem.A[hard],
            problem.row_lower[hard],
            problem.row_upper[hard],
            problem.lower,
            problem.upper,
        )
        result = TraceResult()
        RevisedRunner(constraints, False).run(lo, hi, None, watch, result)
        watch.check()
        return [_with_soft_rows(segment, hard, problem.m) for segment in result.segments]

    # ---- proofs ----

    def proof(
        self, states: Array, ray: UnblockedRay, check: Callable[[], None] = lambda: None
    ) -> Obstruction:
        """Return the exact proof behind an unblocked ray; `check` is called now and then and may raise."""
        move = move_along(self.postsolve, states, ray)
        obstruction = obstruction_of(self.problem, self.postsolve.all_states(states), move, check)
        # Float64 found the ray; only its exact form counts as a proof.
        if not is_proof(self.problem, obstruction):
            raise unconfirmed(ray.mu)
        return obstruction


class _Run:
    """One run: its legs, what is verified of them, and the ladder."""

    def __init__(
        self, runner: RevisedRunner, begin: Number, stop: Number, watch: Watch, result: TraceResult
    ) -> None:
        self.runner, self.scaled = runner, runner.scaled
        self.begin, self.stop = begin, stop
        self.watch, self.result = watch, result
        watch.measure = self._kept_bytes
        watch.after_piece = self._verify_early
        # The bytes of pieces that are no longer in a leg.
        self._verified_bytes = 0.0
        self.cover = Cover()
        self.legs: list[Leg] = []
        self.info = TraceInfo()
        self.settings = TraceSettings()
        self.judge = Judge(self.scaled.lcp)
        result.info = self.info

    def execute(self, start: Array | None) -> None:
        """Trace, verify, and mend what was not accurate."""
        trouble: NumericalTroubleError | None = None
        try:
            try:
                with self._timed("trace"):
                    self._trace(start)
            except NumericalTroubleError as error:
                trouble = error
            self._verify("trace")
            self._climb(trouble)
        except StoppedError:
            pass  # what was found before is kept
        finally:
            self._collect()

    def _timed(self, phase: str) -> "_Timer":
        return _Timer(self.info.seconds, phase)

    def _collect(self) -> None:
        """Hand over what is verified so far."""
        with self.watch.holding():
            self._verify("trace")
            self.info.worst_residual = self.cover.worst
            with self._timed("segments"):
                self.runner.gather(self.cover, self.watch.finishing(), self.result)

    def _kept_bytes(self) -> float:
        """Return the bytes of all pieces found so far; those that a rung found again count twice."""
        return sum(leg.pieces.nbytes for leg in self.legs) + self._verified_bytes

    def _verify(self, rung: str) -> None:
        """Move what is accurate from the legs into the cover."""
        legs, self.legs = self.legs, []
        with self.watch.holding(), self._timed("verify"):
            for leg in legs:
                for side in (leg.before, leg.behind):
                    if side:
                        self.cover.unsolvable.append(side)
                        self.info.found(rung, *ordered(side[0].start, side[-1].end))
                if not leg.pieces:
                    continue
                leg.pieces.trim()
                self._verified_bytes += leg.pieces.nbytes
                sequence = leg.sequence()
                misses = self._misses(leg, sequence)
                good = misses <= ACCURATE
                if np.any(good):
                    self.cover.worst = max(self.cover.worst, float(misses[good].max()))
                for run in sequence.runs(good):
                    part = run.ascending()
                    if self.cover.overlaps(part):
                        # Two pieces for one mu are never both handed over: a later rung fills what is left.
                        continue
                    self.cover.add(part)
                    self.info.count(rung, len(part))
                    self.info.found(rung, part.lo, part.hi)

    def _verify_early(self) -> None:
        """Verify the pieces that the present trace has found since this was done last, if they are many.

        The first piece and the last one may still change their ends.
        """
        leg = self.legs[-1]
        known, count = 1 + len(leg.misses), len(leg.pieces)
        if count - 1 - known < VERIFY_EVERY:
            return
        with self._timed("verify"):
            misses = self.judge.misses([leg.pieces.sequence().part(known, count - 1)])
            leg.misses = np.concatenate([leg.misses, misses])

    def _misses(self, leg: Leg, sequence: PieceSequence) -> Array:
        """Return the misses of all pieces of a leg; those that were good before are not verified again.

        Misses are relative to the largest numbers of the run, which only grow.
        """
        result = np.full(len(sequence), np.inf)
        result[1 : 1 + len(leg.misses)] = leg.misses
        is_open = ~(result <= ACCURATE)
        if np.any(is_open):
            result[is_open] = self.judge.misses(list(sequence.runs(is_open)))
        return result

    # ---- the first pass ----

    def _trace(self, start: Array | None) -> None:
        """Trace from a finite mu towards one end or both."""
        known = start is not None and not is_infinite(self.begin)
        origin = self.begin if known else self._origin()
        if origin != self.begin or known:
            self._both_ways(origin, start if known else None, self.begin, self.stop)
            return
        try:
            self._one_way(origin, self.stop, None, first_tie=True)
        except (LargeTieError, NumericalTroubleError) as trouble:
            leg = self.legs[-1]
            if leg.pieces:
                raise
            self.result.pivots.clear()
            begin = leg.before[-1].exact[1] if leg.before else self.begin
            if not leg.before:
                self.legs.clear()
            self._from_inside(begin, self.stop, self._inside(begin, trouble), trouble)

    def _inside(self, begin: Number, trouble: Exception) -> Iterator[Number]:
        """Yield where a trace may begin that did not get away from the beginning."""
        if isinstance(trouble, NumericalTroubleError) and (solvable := self._solvable_mu()) is not None:
            yield solvable
        stop = self.stop
        for share in INSIDE_SHARES if begin != stop else ():
            if is_infinite(stop):
                yield float(begin) + (1.0 if stop > 0 else -1.0) * share / INSIDE_SHARES[0]
            else:
                yield float(begin) + share * (float(stop) - float(begin))

    def _from_inside(self, a: Number, b: Number, mus: Iterable[Number], trouble: Exception | None) -> None:
        """Trace to both ends from the first mu at which a trace can begin; raise if there is none."""
        for mu in mus:
            known = len(self.legs)
            try:
                self._both_ways(mu, None, a, b)
                return
            except NumericalTroubleError as error:
                # What was found is not to be found again, from elsewhere.
                if any(leg.pieces for leg in self.legs[known:]):
                    raise
                del self.legs[known:]
                trouble = trouble if isinstance(trouble, NumericalTroubleError) else error
        raise trouble if isinstance(trouble, NumericalTroubleError) else unconfirmed(a)

    def _both_ways(self, origin: Number, states: Array | None, a: Number, b: Number) -> None:
        """Trace from a mu to one end, unless it is there, and then to the other one."""
        if origin != a:
            leg = self._one_way(origin, a, states)
            states = leg.pieces.first if leg.pieces and not leg.before else None
        if origin != b or origin == a:
            self._one_way(origin, b, states)

    def _one_way(self, at: Number, stop: Number, states: Array | None, first_tie: bool = False) -> Leg:
        """Trace in one direction, parts without a solution included."""
        runner, leg = self.runner, Leg()
        self.legs.append(leg)
        direction = 1 if stop >= at else -1
        # Exact, because the search resumes at the exact root of the proof before.
        at = RATIONAL.number(at)
        while True:
            self.watch.check()
            # Crossed bounds are proved directly: the engine assumes that lower ≤ upper.
            blocked = runner.crossing_bounds.violated(at)
            if blocked is None:
                found: Array | NoStart
                if states is None:
                    with self._timed("start"):
                        found = find_start(self.scaled, lambda: runner.program, float(at), self.watch)
                else:
                    found, states = states, None
                if not isinstance(found, NoStart):
                    self._follow(leg, found, (at, stop), direction, first_tie)
                    return leg
                blocked = runner.proof(found.states, found.ray, self.watch.check)
            unsolvable = unsolvable_piece(blocked, at, stop, direction)
            leg.before.append(unsolvable)
            self.watch.piece(unsolvable.end, 0)
            if not unsolvable.obstruction.vanishes_at(unsolvable.exact[1]):
                return leg
            at = unsolvable.exact[1]

    def _follow(
        self, leg: Leg, states: Array, ends: tuple[Number, Number], direction: int, first_tie: bool
    ) -> None:
        """Follow the path from a solution to where it ends, and prove that there is none beyond."""
        runner = self.runner
        at, stop = ends
        # The trace never passes the mu at which bounds cross, so bounds stay ordered on the way.
        edge, wall = runner.crossing_bounds.edge(RATIONAL.number(stop), direction)
        tracer = Tracer(self.scaled.lcp, states, float(at), self.settings, runner.names)
        tracer.pieces = leg.pieces
        ray: UnblockedRay | None = None
        if float(at) == float(edge):
            leg.pieces.append_whole(tracer.point())
            self.watch.piece(float(at), 0)
        else:
            try:
                ray = tracer.run(float(edge), self.watch, first_tie=first_tie)
            finally:
                self.info.add(tracer.counts)
                self.result.pivots += tracer.log
            # The problem may be solvable at this mu alone, which is then a piece of its own.
            if ray is not None and not leg.pieces:
                leg.pieces.append_whole(tracer.point())
                self.watch.piece(float(at), 0)
        if ray is not None:
            if ray.mu != float(stop):
                proof = runner.proof(tracer.states, ray, self.watch.check)
                # The proof holds from its exact root on; the mu at which the trace ended is rounded.
                root = proof.root
                begin = RATIONAL.number(ray.mu) if root is None else root
                self._behind(leg, unsolvable_piece(proof, begin, stop, direction))
        elif wall is not None:
            # The proof of crossing bounds holds from the exact root on.
            self._behind(leg, unsolvable_piece(wall, edge, stop, direction))

    def _behind(self, leg: Leg, piece: UnsolvablePiece) -> None:
        leg.behind.append(piece)
        self.watch.piece(piece.end, 0)

    def _origin(self) -> Number:
        """Return where to start: at the beginning or, where the interval has no end, at a finite mu.

        Far out is best if the solution is trivial there, as that of a lasso with a large penalty.
        """
        begin, stop = self.begin, self.stop
        if not is_infinite(begin) and (not is_infinite(stop) or self._is_trivial(begin)):
            return begin
        endless, other = (begin, stop) if is_infinite(begin) else (stop, begin)
        near = 0.0 if is_infinite(other) else float(other)
        for power in FAR_OUT_POWERS:
            far = near + (10.0**power if endless > 0 else -(10.0**power))
            if self._is_trivial(far):
                return far
        return near if is_infinite(begin) else begin

    def _solvable_mu(self) -> float | None:
        """Return a mu well inside the part of the interval that has solutions, by linear programs."""
        lo, hi = sorted((float(self.begin), float(self.stop)))
        with self._timed("linear programs"):
            ends = self.runner.program.solvable(lo, hi, self.watch)
        if ends is None:
            return None
        low, high = ends
        # Where there is no end, close to the other one: numbers are smaller there.
        if np.isinf(low):
            low = min(high, 0.0) - 1.0 if np.isinf(high) else high - 1.0
        if np.isinf(high):
            high = low + 1.0
        if not high - low > NARROW * (abs(low) + abs(high)):
            return None
        return low + GOLDEN_SHARE * (high - low)

    def _is_trivial(self, mu: Number) -> bool:
        """Return whether no bounds have crossed at mu, and its solution costs nothing to find."""
        if self.runner.crossing_bounds.violated(RATIONAL.number(mu)) is not None:
            return False
        return trivial_states(self.scaled, float(mu)) is not None

    # ---- the ladder ----

    def _climb(self, trouble: NumericalTroubleError | None) -> None:
        """Fill what the first pass left open, rung by rung; raise if the last one leaves a gap."""
        lo, hi = sorted((float(self.begin), float(self.stop)))
        rungs: dict[str, Callable[[float, float], None]] = {
            "extended neighbour": self._extend_neighbours,
            "rebuild at every change": lambda a, b: self._again(a, b, TraceSettings(rebuild_every=1)),
            "other direction": lambda a, b: self._again(b, a, TraceSettings(rebuild_every=5)),
            "tighter ties": lambda a, b: self._again(a, b, TraceSettings(tie=1e-13, rebuild_every=5)),
            "wider ties": lambda a, b: self._again(a, b, TraceSettings(tie=1e-9, rebuild_every=5)),
            "restart inside": self._restart,
            "exact arithmetic": self._exactly,
        }
        for name, rung in rungs.items():
            for a, b in self.cover.gaps(lo, hi):
                try:
                    self.watch.check()
                    with self._timed("ladder"):
                        rung(a, b)
                except NumericalTroubleError as error:
                    trouble = trouble or error
                finally:
                    self._verify(name)
        for a, b in self.cover.gaps(lo, hi):
            trouble = trouble or NumericalTroubleError(
                f"float64 lost accuracy on [{shown(a)}, {shown(b)}]",
                remedy="use {setting}, or scale the data",
                setting=("arithmetic", "exact"),
            )
            trouble.interval = trouble.interval or (a, b)
            raise trouble

    def _extend_neighbours(self, a: float, b: float) -> None:
        """Carry the piece on either side of a gap over all of it.

        Where all limits meet, as at C = 0, everything ties just before; no basis but this one is needed.
        """
        if a == b:
            return
        for end, other, side in ((a, b, -1), (b, a, 1)):
            states = self.cover.states_at(end, side)
            if states is None or np.isinf(other):
                continue
            tracer = Tracer(self.scaled.lcp, states, other)
            leg = Leg()
            leg.pieces.append_whole(replace(tracer.point(), start=a, end=b))
            if violations(leg.sequence(), self.scaled.lcp, self.judge.largest)[0] <= ACCURATE:
                self.legs.append(leg)
                return

    def _again(self, a: float, b: float, settings: TraceSettings) -> None:
        """Trace a gap from one end to the other, from the states known there, with other settings."""
        self.settings = settings
        states = self.cover.states_at(a, -1 if b >= a else 1)
        try:
            if not np.isinf(a):
                self._one_way(a, b, states)
        finally:
            self.settings = TraceSettings()

    def _restart(self, a: float, b: float) -> None:
        """Trace a gap from inside towards both ends."""
        if np.isfinite(a) and np.isfinite(b) and a != b:
            self._from_inside(a, b, [a + share * (b - a) for share in RESTART_SHARES], None)

    def _exactly(self, a: float, b: float) -> None:
        """Trace a gap in exact arithmetic: the items that move, or a small problem as a whole."""
        leg = Leg()
        self.legs.append(leg)
        states = self.cover.states_at(a, -1)
        for piece in self.runner.repair.pieces(states, a, b, self.watch):
            if isinstance(piece, UnsolvablePiece):
                (leg.behind if leg.pieces else leg.before).append(piece)
            else:
                leg.pieces.append_whole(piece)


def _with_soft_rows(segment: Segment, hard: Array, count: int) -> Segment:
    """Return a segment of the hard rows with proofs that have an entry for every row."""
    if segment.proof is None:
        return segment
    weights = {name: exact_array(np.zeros(count)) for name in ("row_lower", "row_upper")}
    for name, weight in weights.items():
        weight[hard] = getattr(segment.proof, name)
    return replace(segment, proof=replace(segment.proof, **weights))


class _Timer:
    """Adds the seconds of a block to those of a phase."""

    def __init__(self, seconds: dict[str, float], phase: str) -> None:
        self.seconds, self.phase = seconds, phase

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(self, *exc: object) -> None:
        spent = time.perf_counter() - self.began
        self.seconds[self.phase] = self.seconds.get(self.phase, 0.0) + spent


def _outside(sequence: PieceSequence, lo: float, hi: float) -> PieceSequence:
    """Return a sequence that ends where a proof begins: the exact end of the proof, not a rounded one."""
    first, last = sequence.lo, sequence.hi
    if sequence.starts[-1] <= lo < last <= hi:
        last = lo
    if lo <= first < hi <= sequence.ends[0]:
        first = hi
    return sequence.clipped(first, last)


def _contiguous(sequences: Sequence[PieceSequence]) -> Iterator[list[PieceSequence]]:
    """Yield groups of ascending sequences of which each begins where the one before ends."""
    group: list[PieceSequence] = []
    for sequence in sequences:
        if group and group[-1].hi != sequence.lo:
            yield group
            group = []
        group.append(sequence)
    if group:
        yield group


@contextmanager
def _engine_arithmetic() -> Iterator[None]:
    """Let BLAS use one thread, and an overflow give NaN, which is refused later.

    With more threads, sums are split into as many parts, and paths differ in their last digits, sometimes in
    their pieces; and threads cost more than they gain on small matrices.
    """
    with np.errstate(over="ignore", invalid="ignore"), _blas().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas() -> ThreadpoolController:
    """Return what sets the number of BLAS threads; to look for the libraries takes milliseconds."""
    return ThreadpoolController()


def _trace_part(
    runner: RevisedRunner, ends: tuple[Number, Number]
) -> tuple[Cover, TraceInfo, NumericalTroubleError | None]:
    """Trace one part of an interval, in a process of its own; return what is verified, and any trouble."""
    with _engine_arithmetic():
        run = _Run(runner, *ends, Watch(StopLimits(), ends[0]), TraceResult())
        try:
            run.execute(None)
        except NumericalTroubleError as trouble:
            return run.cover, run.info, trouble
    return run.cover, run.info, None
