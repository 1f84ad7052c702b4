"""runner: from a known basis, in parallel parts, past what float64 cannot decide."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import pqp
from pqp import mu
from pqp.errors import NumericalTroubleError, ProblemError
from pqp.path.path import Path
from pqp.records.result import TraceResult
from pqp.records.states import Basis
from pqp.revised import exact_repair, runner, trace, verify
from pqp.revised.runner import Cover, RevisedRunner
from pqp.revised.trace import Tracer
from pqp.stopping import StopLimits, Watch
from tests.comparison import inside, marks, optimal, optimal_points, traced
from tests.engines import EVERY_ENGINE, EXACT, REVISED
from tests.refusals import refuses
from tests.strategies import for_all, instances

# Infeasible before 0, bends at 1 and 5.
BUDGET = pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0)
CLOSE = 1e-7


def summary(path: Path) -> list[tuple]:
    """Ends, status and solution of every segment."""
    return [
        (s.lo, s.hi, s.status, *([s.x0.tolist(), s.x1.tolist()] if s.status == "optimal" else []))
        for s in path.segments
    ]


def is_close(found, known):
    known = np.asarray(known, dtype=float)
    return np.allclose(np.asarray(found, dtype=float), known, rtol=CLOSE, atol=CLOSE)


class TestStart:
    @EVERY_ENGINE
    def test_known_basis_gives_the_same_path(self, engine):
        whole = engine.trace(BUDGET, (0, 8))
        for start in (whole.segments[1], whole.segments[1].basis):
            part = engine.trace(BUDGET, (2, 8), start=start)
            assert summary(part)[1:] == summary(whole)[2:]
            assert part(2).x.tolist() == whole(2).x.tolist()

    def test_known_basis_needs_no_start_of_its_own(self, monkeypatch):
        whole = REVISED.trace(BUDGET, (0, 8))

        def refuse(*arguments):
            raise AssertionError("a start was sought")

        monkeypatch.setattr("pqp.revised.runner.find_start", refuse)
        assert summary(REVISED.trace(BUDGET, (2, 8), start=whole.segments[1]))[1:] == summary(whole)[2:]

    def test_everything_at_its_cap_is_where_a_hinge_problem_starts(self):
        """min ½w² + mu (max(0, 1 − w) + max(0, 1 + w)): both rows are violated at mu = 0."""
        problem = pqp.ParametricQP([[1]], [0], A=[[1], [-1]], row_lower=1, penalty=mu)
        basis = Basis(("between",), ("below", "below"))
        assert REVISED.trace(problem, (0, 3), start=basis).x([1, 3]).tolist() == [[0], [0]]

    def test_basis_that_is_not_optimal_is_refused(self):
        wrong = REVISED.trace(BUDGET, (0, 8)).segments[2]
        with refuses(ProblemError, "start", match=r"start is not optimal at mu = 2"):
            REVISED.trace(BUDGET, (2, 8), start=wrong)

    @EVERY_ENGINE
    def test_basis_of_another_size_is_refused(self, engine):
        with refuses(ProblemError, "start", match="start must have 2 variables and 1 rows, got 1 and 0"):
            engine.trace(BUDGET, (2, 8), start=Basis(("lower",), ()))

    @pytest.mark.parametrize("direction", ["left-to-right", "right-to-left"])
    def test_start_belongs_to_the_end_the_trace_begins_at(self, direction):
        whole = REVISED.trace(BUDGET, (0, 8))
        start = whole.segments[0 if direction == "left-to-right" else -1]
        assert summary(REVISED.trace(BUDGET, (0, 8), direction=direction, start=start)) == summary(whole)


@for_all(instance=instances(), data=st.data())
def test_start_from_any_exact_basis_gives_the_exact_values(instance, data):
    problem, interval = instance
    exact = traced(problem, interval)
    pieces = [s for s in optimal(exact) if s.lo < s.hi]
    assume(pieces)
    segment = data.draw(st.sampled_from(pieces))
    begin = float(inside(segment))
    assume(segment.lo < begin < segment.hi)
    path = REVISED.trace(problem, (begin, float(interval[1])), start=segment.basis)
    for point in optimal_points(exact):
        if begin <= point.mu <= path.hi and path(float(point.mu)).status == "optimal":
            assert is_close(path(float(point.mu)).objective, point.objective)
    path.certify()


class TestParts:
    @pytest.mark.parametrize("interval", [(-2, 8), (-np.inf, np.inf), (0, np.inf), (3, 3)], ids=str)
    def test_path_in_parts_is_the_path_in_one(self, interval):
        serial = REVISED.trace(BUDGET, interval)
        parallel = REVISED.trace(BUDGET, interval, n_jobs=2)
        assert [s.status for s in parallel.segments] == [s.status for s in serial.segments]
        for ours, theirs in zip(parallel.segments, serial.segments, strict=True):
            assert (ours.lo, ours.hi) == pytest.approx((theirs.lo, theirs.hi), abs=1e-12)
            assert ours.status != "optimal" or ours.x1.tolist() == theirs.x1.tolist()
        parallel.certify()

    @pytest.mark.parametrize("n_jobs", [0, 1.5, True, "2"])
    def test_wrong_number_of_jobs_is_refused(self, n_jobs):
        with refuses(ProblemError, "n_jobs", match="n_jobs must be a whole number other than 0"):
            REVISED.trace(BUDGET, (0, 8), n_jobs=n_jobs)

    @pytest.mark.parametrize("option", [{"max_pieces": 1}, {"log": True}, {"progress": print}], ids=str)
    def test_parts_do_not_go_with_what_counts_along_the_way(self, option):
        with refuses(ProblemError, "n_jobs", match="n_jobs cannot be combined with"):
            REVISED.trace(BUDGET, (0, 8), n_jobs=2, **option)

    def test_interrupt_leaves_the_parts_that_were_finished(self, monkeypatch):
        def first_part_then_interrupt(**options):
            def results(tasks):
                function, arguments, _ = next(tasks)
                yield function(*arguments)
                raise KeyboardInterrupt

            return results

        whole = pqp.solve_path(BUDGET, (0, 8))
        monkeypatch.setattr(runner, "Parallel", first_part_then_interrupt)
        path = pqp.solve_path(BUDGET, (0, 8), n_jobs=2)
        assert (path.stopped, path.lo, path.hi) == ("interrupted at mu = 4.0", 0, 4)
        path.certify()
        assert path.extend(8)(7).objective == pytest.approx(whole(7).objective, rel=1e-12)

    def test_tableau_is_not_split(self):
        with refuses(ProblemError, "n_jobs", match="n_jobs needs the revised engine"):
            pqp.solve_path(BUDGET, (0, 8), method="tableau", n_jobs=2)


def test_joined_unbounded_parts_keep_a_ray_that_covers_the_closed_end():
    """At mu = 0 the soft row costs nothing, so the ray of the left part proves nothing there."""
    problem = pqp.ParametricQP([[0, 0]] * 2, [0, mu - 1], A=[[0, 0]], row_lower=0, lower=0, penalty=mu)
    serial = REVISED.trace(problem, (-1, 0))
    part = TraceResult()
    RevisedRunner(problem, False).run_parts([-1.0, -0.5, 0.0], 1, part)
    Path(**{**fields_of(serial), "segments": tuple(part.segments)}).certify()


@for_all(instance=instances(), data=st.data())
def test_parts_cut_anywhere_join_to_the_whole(instance, data):
    """Also at breakpoints, at jumps and where there is no solution."""
    problem, (lo, hi) = instance
    assume(lo < hi)
    serial = REVISED.trace(problem, (lo, hi))
    cuts = {mark for mark in marks(serial) if serial.lo < mark < serial.hi}
    assume(cuts)
    chosen = sorted(data.draw(st.sets(st.sampled_from(sorted(cuts)), min_size=1)))
    part = TraceResult()
    RevisedRunner(problem, False).run_parts([serial.lo, *chosen, serial.hi], 1, part)
    assert all(left.hi == right.lo for left, right in pairwise(part.segments))
    sequence_of = Path(**{**fields_of(serial), "segments": tuple(part.segments)})
    assert [i.status for i in sequence_of.intervals] == [i.status for i in serial.intervals]
    assert is_close([(i.lo, i.hi) for i in sequence_of.intervals], [(i.lo, i.hi) for i in serial.intervals])
    for point in optimal_points(serial):
        assert is_close(sequence_of(point.mu).objective, point.objective)
    sequence_of.certify()


def test_joined_parts_keep_the_proof_that_covers_the_closed_end():
    """Until 0.1.0 the proof −½ ≤ x ≤ mu, which vanishes at mu = −½, replaced 0 ≤ x ≤ mu, which does not."""
    problem = pqp.ParametricQP([[0]], [0], A=[[0]], row_lower=-0.5, row_upper=mu)
    serial, part = REVISED.trace(problem, (-1, -0.5)), TraceResult()
    RevisedRunner(problem, False).run_parts([-1.0, -0.75, -0.5], 1, part)
    joined = Path(**{**fields_of(serial), "segments": tuple(part.segments)})
    assert joined(-0.5).status == "infeasible"
    joined.certify()


def fields_of(path):
    names = ("problem", "asked", "arithmetic", "method", "rule", "stopped", "log", "continuation", "begin")
    return {name: getattr(path, name) for name in names}


class TestRescue:
    """2⁻⁵² is rounding error for float64, which takes P for singular and the problem for unbounded."""

    PROBLEM = pqp.ParametricQP([[1, 1], [1, 1 + 2.0**-52]], [0, -1])

    def test_what_float64_cannot_decide_is_decided_exactly(self):
        assert REVISED.solve(self.PROBLEM, 0).x.tolist() == [-(2.0**52), 2.0**52]

    def test_or_it_is_refused(self, monkeypatch):
        monkeypatch.setattr(exact_repair, "MOST_PAIRS", 0)
        with pytest.raises(pqp.NumericalTroubleError) as caught:
            REVISED.solve(self.PROBLEM, 0)
        assert caught.value.setting == ("arithmetic", "exact")


def bends(count):
    """min Σ ½xᵢ² − mu xᵢ over xᵢ ≤ i: one bend at every whole number up to a count."""
    return pqp.ParametricQP(np.eye(count), -mu * np.ones(count), lower=-9, upper=np.arange(1, count + 1))


class TestLadder:
    """Gaps climb rung by rung, and the path says which rung found what."""

    @pytest.fixture
    def failed_traces(self, monkeypatch):
        """The settings of the traces that fail at mu = 2: the first one alone."""
        seen, run = [], Tracer.run

        def failing(tracer, stop, *others, **options):
            lo, hi = sorted((tracer.mu, stop))
            if seen or not lo < 2.0 < hi:
                return run(tracer, stop, *others, **options)
            seen.append(tracer.settings)
            run(tracer, 2.0, *others, **options)
            raise NumericalTroubleError("rounding wins")

        monkeypatch.setattr(Tracer, "run", failing)
        return seen

    def test_first_pass_alone_counts_as_trace(self):
        path = REVISED.trace(bends(5), (0, 8))
        assert path.info.rungs == {"trace": 6}
        assert path.info.events == 5
        assert path.info.worst_residual <= 1e-9
        assert {"trace", "verify", "segments"} <= set(path.info.seconds)

    def test_gap_is_filled_by_a_rung_that_is_counted(self, failed_traces):
        path = REVISED.trace(bends(5), (0, 8))
        assert len(failed_traces) == 1
        assert summary(path) == summary(EXACT.trace(bends(5), (0, 8)))
        assert path.info.rungs["trace"] == 2
        others = {name: pieces for name, pieces in path.info.rungs.items() if name != "trace"}
        assert sum(others.values()) == 4
        path.certify()

    def test_exact_arithmetic_is_the_last_rung(self, monkeypatch):
        def failing(tracer, *others, **options):
            raise NumericalTroubleError("rounding wins")

        monkeypatch.setattr(Tracer, "run", failing)
        path = REVISED.trace(bends(5), (0, 8))
        assert set(path.info.rungs) == {"exact arithmetic"}
        assert summary(path) == summary(EXACT.trace(bends(5), (0, 8)))
        path.certify()

    def test_inaccurate_pieces_are_found_again(self, monkeypatch):
        judged, original = [], verify.violations

        def doubtful(sequence, *others):
            judged.append(sequence)
            misses = original(sequence, *others)
            if len(judged) == 1:
                misses[2] = 0.5
            return misses

        monkeypatch.setattr(verify, "violations", doubtful)
        path = REVISED.trace(bends(5), (0, 8))
        assert summary(path) == summary(EXACT.trace(bends(5), (0, 8)))
        assert path.info.rungs["trace"] == 5
        assert sum(path.info.rungs.values()) == 6

    def test_what_no_rung_finds_is_an_error_with_the_good_part(self, monkeypatch):
        run = Tracer.run

        def failing(tracer, stop, *others, **options):
            if max(tracer.mu, stop) <= 2.0:
                return run(tracer, stop, *others, **options)
            if tracer.mu < 2.0:
                run(tracer, 2.0, *others, **options)
            raise NumericalTroubleError("rounding wins")

        monkeypatch.setattr(Tracer, "run", failing)
        monkeypatch.setattr(exact_repair, "MOST_PAIRS", 0)
        with pytest.raises(NumericalTroubleError) as caught:
            REVISED.trace(bends(5), (0, 8))
        assert caught.value.interval == (2, 8)
        assert [(s.lo, s.hi) for s in caught.value.segments] == [(0, 1), (1, 2)]


class TestStops:
    def test_most_pieces_end_the_loop_itself(self):
        path = REVISED.trace(bends(40), (0, 50), max_pieces=3)
        assert [s.hi for s in path.segments] == [1, 2, 3]
        assert path.info.events <= 4

    def test_most_pivots_end_the_loop_itself(self):
        path = REVISED.trace(bends(40), (0, 50), max_pivots=3)
        assert path.info.events <= 4
        assert path.segments[-1].hi <= 5

    def test_time_limit_ends_the_loop_itself(self, monkeypatch):
        """A clock that moves on by a second whenever it is looked at."""
        ticks = iter(range(10_000))
        monkeypatch.setattr("pqp.stopping.time.monotonic", lambda: float(next(ticks)))
        path = REVISED.trace(bends(40), (0, 50), time_limit=15, direction="right-to-left")
        assert "time_limit" in path.stopped
        assert 0 < len(path.segments) < 15
        assert path.info.events < 15

    @pytest.mark.parametrize("event", [1, 7])
    def test_interrupt_keeps_what_was_finished(self, monkeypatch, event):
        original, calls = Tracer._cross, []

        def interrupted(tracer, *others):
            calls.append(tracer.mu)
            if len(calls) == event:
                raise KeyboardInterrupt
            return original(tracer, *others)

        monkeypatch.setattr(Tracer, "_cross", interrupted)
        path = REVISED.trace(bends(40), (0, 50), direction="right-to-left")
        assert "interrupted" in path.stopped
        assert [s.lo for s in path.segments] == list(range(41 - event, 41))
        monkeypatch.undo()
        assert summary(path.extend(0)) == summary(REVISED.trace(bends(40), (0, 50)))


@for_all(instance=instances())
def test_parts_are_the_run(instance):
    """The same statuses and values, whether the interval is cut or not."""
    problem, (lo, hi) = instance
    assume(np.isfinite(float(lo)) and np.isfinite(float(hi)) and lo < hi)
    middle = (float(lo) + float(hi)) / 2 + 0.01 * (float(hi) - float(lo))
    whole, parts, machine = TraceResult(), TraceResult(), RevisedRunner(problem, False)
    machine.run(float(lo), float(hi), None, Watch(StopLimits(), float(lo)), whole)
    machine.run_parts([float(lo), middle, float(hi)], 1, parts)
    assert {s.status for s in parts.segments} == {s.status for s in whole.segments}
    for segment in whole.segments:
        at = inside(segment)
        twin = next(s for s in parts.segments if s.lo <= at <= s.hi)
        if segment.lo < segment.hi and twin.lo < at < twin.hi:
            assert twin.status == segment.status
            if segment.status == "optimal":
                assert is_close(twin.at(at).objective, segment.at(at).objective)


class TestVerificationOnTheWay:
    @pytest.mark.parametrize("direction", ["left-to-right", "right-to-left"])
    def test_every_piece_is_verified_once_and_the_path_is_the_same(self, direction, monkeypatch):
        whole = REVISED.trace(bends(40), (0, 50), direction=direction)
        original, verified = verify.violations, []

        def counted(sequence, *others):
            verified.append(len(sequence))
            return original(sequence, *others)

        monkeypatch.setattr(verify, "violations", counted)
        monkeypatch.setattr(runner, "VERIFY_EVERY", 3)
        path = REVISED.trace(bends(40), (0, 50), direction=direction)
        assert summary(path) == summary(whole)
        assert sum(verified) == len(path.segments)
        assert len(verified) > 10

    @pytest.mark.parametrize("direction", ["left-to-right", "right-to-left"])
    def test_bad_piece_is_looked_at_again_at_the_end_and_repaired(self, direction, monkeypatch):
        original, bad = verify.violations, []

        def blamed(sequence, *others):
            misses = original(sequence, *others)
            if len(bad) < 2:
                for number in range(len(sequence)):
                    lo, hi = sorted((sequence.starts[number], sequence.ends[number]))
                    if lo <= 20.5 <= hi:
                        bad.append(number)
                        misses[number] = 1.0
            return misses

        monkeypatch.setattr(verify, "violations", blamed)
        monkeypatch.setattr(runner, "VERIFY_EVERY", 3)
        path = REVISED.trace(bends(40), (0, 50), direction=direction)
        assert len(bad) == 2
        assert {path.info.rung_of(s) for s in path.segments if s.lo <= 20.5 <= s.hi} != {"trace"}
        assert len(path.info.rungs) == 2
        path.certify()


class TestCover:
    def test_gaps_are_what_nothing_covers(self):
        whole = TraceResult()
        machine = RevisedRunner(bends(3), False)
        run = runner._Run(machine, 0.0, 5.0, Watch(StopLimits(), 0.0), whole)
        run.execute(None)
        (sequence,) = run.cover.sequences
        cover = Cover()
        assert cover.gaps(0.0, 5.0) == [(0.0, 5.0)]
        for part in sequence.runs(np.array([True, False, True, False])):
            cover.add(part)
        assert cover.gaps(0.0, 5.0) == [(1.0, 2.0), (3.0, 5.0)]
        assert cover.states_at(1.0, -1).tolist() == sequence.first.tolist()
        assert cover.states_at(1.0, 1) is None
        assert cover.states_at(2.0, 1) is not None
        assert run.cover.gaps(0.0, 5.0) == []

    def test_single_mu_that_nothing_covers_is_a_gap(self):
        assert Cover().gaps(1.0, 1.0) == [(1.0, 1.0)]


class TestCrowdedBeginning:
    """At C = 0 all limits of an SVM meet; where that tie is long, the trace begins inside."""

    @pytest.fixture
    def machine(self):
        random = np.random.default_rng(1)
        y = np.repeat([-1, 1], (6, 12))
        return pqp.catalog.svm(random.normal(size=(18, 2)) + y[:, None], y, kernel="linear")

    def test_start_inside_gives_the_same_path(self, machine, monkeypatch):
        values = []
        for is_large in (False, True):
            if is_large:
                monkeypatch.setattr(trace, "LARGE_TIE", 1)
                monkeypatch.setattr(trace, "FEW_CLOSING", 0)
            path = pqp.solve_path(machine, (0, 10))
            path.certify()
            values.append([path(C).objective for C in np.linspace(0, 10, 41)])
        assert np.allclose(*values, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("direction", ["left-to-right", "right-to-left"])
    def test_crowd_behind_a_stretch_without_solution_is_no_obstacle(self, machine, direction):
        path = pqp.solve_path(machine, (-1, 10), direction=direction)
        path.certify()
        statuses = [path(C).status for C in (-1, -0.5, 0, 5)]
        assert statuses == ["infeasible", "infeasible", "optimal", "optimal"]
        whole = pqp.solve_path(machine, (0, 10))
        at = np.linspace(0, 10, 41)
        values = ([p(C).objective for C in at] for p in (path, whole))
        assert np.allclose(*values, rtol=1e-9, atol=1e-12)

    def test_trace_that_leaves_a_crowd_into_nothing_says_so(self, machine):
        path = pqp.solve_path(machine, (-1, 0), direction="right-to-left")
        assert (path(-1).status, path(0).status) == ("infeasible", "optimal")

    def test_line_that_ends_where_all_limits_meet_is_right_to_the_end(self, machine):
        """Its values there are 0; sums of larger numbers would leave rounding errors."""
        assert np.abs(pqp.solve_path(machine, (0, 10))(1e-12).x).max() <= 1e-12
