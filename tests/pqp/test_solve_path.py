"""solve_path and solve: what stops them early, how a path is extended, and how they fail."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import pqp
from pqp import mu
from pqp.errors import InternalError, NoSolutionError, NotConvexError, NumericalTroubleError, ProblemError
from pqp.lcp.crisscross import RULES, Cycled
from pqp.revised import exact_repair, verify
from pqp.revised import runner as revised_runner
from pqp.revised import trace as revised_trace
from pqp.tableau import runner as tableau_runs
from pqp.tableau import trace as tableau
from tests.engines import EVERY_ENGINE, EXACT, FLOAT_ENGINES, REVISED, TABLEAU, Engine
from tests.refusals import refuses

DIRECTIONS = pytest.mark.parametrize("direction", ["left-to-right", "right-to-left"])
INFINITY = math.inf
F = Fraction
# Infeasible before 0, bends at 1 and 5 (the issue's own example).
BUDGET = pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0)
# Unbounded before -1, infeasible after 1, and bends in between: x1 follows c, x2 its window [mu, 1].
WINDOW = pqp.ParametricQP(np.diag([0, 1]), [1 + mu, -mu / 2], lower=[0, mu], upper=[INFINITY, 1])
# x follows mu through five soft and hard limits: bends at -2, -1, 1, 2 and 4.
STAIRS = pqp.ParametricQP([[1]], [-mu], A=[[1]], row_lower=-1, row_upper=1, penalty=1, upper=3)
# x >= mu, x >= -mu, x <= 0 leaves mu = 0 alone.
POINT = pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[mu, -mu], upper=0)
CASES = {
    "budget": (BUDGET, (-2, 8)),
    "window": (WINDOW, (-4, 4)),
    "stairs": (STAIRS, (-4, 6)),
    "point": (POINT, (-1, 2)),
}
EVERY_CASE = pytest.mark.parametrize("name", CASES)


def trace(name: str, engine: Engine = EXACT, **options) -> pqp.Path:
    return engine.trace(*CASES[name], **options)


def summary(path: pqp.Path) -> list[tuple]:
    """Ends, status and solution of every segment."""
    return [
        (s.lo, s.hi, s.status, *([s.x0.tolist(), s.x1.tolist()] if s.status == "optimal" else []))
        for s in path.segments
    ]


def assert_valid_part(part: pqp.Path, whole: pqp.Path) -> None:
    """What a stopped path says of every mu it covers is what the whole path says."""
    assert [s.hi for s in part.segments[:-1]] == [s.lo for s in part.segments[1:]]
    for segment in part.segments:
        for at in (segment.lo, (segment.lo + segment.hi) / 2, segment.hi):
            if not any(at in interval for interval in part.intervals):
                with pytest.raises(NoSolutionError, match="was not traced"):
                    part(at)
                continue
            assert part(at).status == whole(at).status
            if part(at).status == "optimal":
                assert part(at).objective == whole(at).objective


@EVERY_CASE
class TestDirection:
    def test_right_to_left_gives_the_same_path(self, name):
        assert summary(trace(name, direction="right-to-left")) == summary(trace(name))

    @pytest.mark.parametrize("rule", RULES)
    def test_every_rule_gives_the_same_path(self, name, rule):
        assert summary(trace(name, rule=rule)) == summary(trace(name))

    @DIRECTIONS
    @FLOAT_ENGINES
    def test_float_agrees_with_exact(self, name, engine, direction):
        assert summary(trace(name, engine, direction=direction)) == summary(trace(name))

    @EVERY_ENGINE
    def test_infinite_interval_contains_the_finite_one(self, name, engine):
        problem, (lo, hi) = CASES[name]
        path = engine.trace(problem, (-INFINITY, INFINITY))
        part = trace(name, engine)
        assert (path.lo, path.hi) == (-INFINITY, INFINITY)
        for at in (F(k, 4) for k in range(4 * lo, 4 * hi + 1)):
            assert path(at).status == part(at).status

    @EVERY_ENGINE
    def test_single_points_agree_with_the_path(self, name, engine):
        problem, (lo, hi) = CASES[name]
        path = trace(name, engine)
        for at in (F(k, 2) for k in range(2 * lo, 2 * hi + 1)):
            point = engine.solve(problem, at)
            assert point.status == path(at).status
            if point.status == "optimal":
                assert point.x.tolist() == path(at).x.tolist()


STOPS = [
    {"max_pieces": 1},
    {"max_pieces": 2},
    {"max_pivots": 1},
    {"max_pivots": 3},
    {"time_limit": 1e-9},
    {"memory_limit": 1e-6},
]


@EVERY_CASE
@EVERY_ENGINE
@DIRECTIONS
@pytest.mark.parametrize("limit", STOPS, ids=str)
class TestLimits:
    def test_stopped_path_is_valid_and_says_why(self, name, engine, direction, limit):
        path, whole = trace(name, engine, direction=direction, **limit), trace(name, engine)
        assert_valid_part(path, whole)
        assert path.asked == (whole.lo, whole.hi)
        if path.stopped is None:
            assert summary(path) == summary(whole)
        else:
            (argument,) = limit
            assert argument in path.stopped
            assert "call path.extend(mu) to continue" in repr(path)

    def test_extension_gives_what_the_direct_trace_gives(self, name, engine, direction, limit):
        path, whole = trace(name, engine, direction=direction, **limit), trace(name, engine)
        target = whole.hi if direction == "left-to-right" else whole.lo
        assert summary(path.extend(target)) == summary(whole)
        assert path.extend(target).stopped is None


@EVERY_CASE
@EVERY_ENGINE
class TestExtend:
    def test_path_grows_to_both_sides(self, name, engine):
        problem, (lo, hi) = CASES[name]
        for middle in (F(-1, 2), 0, F(3, 2)):
            path = engine.trace(problem, (middle, middle)).extend(hi).extend(lo)
            assert summary(path) == summary(trace(name, engine))
            assert (path.asked, path.stopped) == ((lo, hi), None)

    def test_path_grows_step_by_step_across_every_interval(self, name, engine):
        problem, (lo, hi) = CASES[name]
        rightwards = engine.trace(problem, (lo, lo))
        leftwards = engine.trace(problem, (hi, hi))
        for step in range(1, 2 * (hi - lo) + 1):
            rightwards, leftwards = rightwards.extend(lo + F(step, 2)), leftwards.extend(hi - F(step, 2))
        assert summary(rightwards) == summary(leftwards) == summary(trace(name, engine))

    def test_extension_with_a_limit_of_one_piece_goes_on(self, name, engine):
        path, whole = trace(name, engine, max_pieces=1), trace(name, engine)
        for _ in range(2 * len(whole.segments)):
            path = path.extend(whole.hi, max_pieces=1) if path.stopped else path
        assert summary(path) == summary(whole)

    @pytest.mark.parametrize("end", [-INFINITY, INFINITY])
    def test_path_grows_to_infinity(self, name, engine, end):
        problem, (lo, hi) = CASES[name]
        interval = (lo, end) if end > 0 else (end, hi)
        direct = engine.trace(problem, interval)
        assert summary(trace(name, engine).extend(end)) == summary(direct)


@EVERY_ENGINE
class TestInterrupt:
    def test_interrupt_from_the_progress_callback_keeps_the_pieces(self, engine):
        def stop_at_two(progress):
            if progress.pieces == 2:
                raise KeyboardInterrupt

        path, whole = trace("stairs", engine, progress=stop_at_two), trace("stairs", engine)
        assert len(path.segments) == 2
        assert "interrupted at mu = -1" in path.stopped
        assert_valid_part(path, whole)
        assert summary(path.extend(6)) == summary(whole)

    def test_progress_counts_pieces_and_pivots_and_follows_mu(self, engine):
        seen = []
        path = trace("stairs", engine, log=True, progress=seen.append)
        assert (seen[-1].mu, seen[-1].pieces, seen[-1].pivots) == (6, 6, len(path.log))
        assert sorted(seen, key=lambda p: (p.mu, p.pieces, p.pivots)) == seen


# Inside which function, at its how-manieth call, Ctrl-C is pressed.
TABLEAU_MOMENTS = [
    (tableau_runs, "compile_problem", 1),
    (tableau_runs, "read_segment", 3),
    (tableau_runs, "unsolvable_segments", 1),
]
REVISED_MOMENTS = [
    (revised_runner, "presolve", 1),
    (revised_runner, "find_start", 1),
    (revised_trace, "basis_of", 1),
    (revised_trace.Tracer, "_tie", 1),
    (revised_trace.Tracer, "_cross", 2),
    (revised_trace.Tracer, "_ratio_test", 1),
    (verify, "violations", 1),
    (revised_runner, "unsolvable_segments", 1),
    (revised_runner, "segments_of", 1),
]
MOMENTS = [
    *[(engine, *moment) for engine in (TABLEAU, EXACT) for moment in TABLEAU_MOMENTS],
    *[(REVISED, *moment) for moment in REVISED_MOMENTS],
]


@pytest.mark.parametrize(
    ("engine", "module", "name", "call"), MOMENTS, ids=[f"{m[0].method}-{m[2]}-{m[3]}" for m in MOMENTS]
)
def test_interrupt_at_any_other_moment_keeps_them_too(engine, module, name, call, monkeypatch):
    original, calls = getattr(module, name), []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(*arguments)

    whole = trace("budget", engine)
    monkeypatch.setattr(module, name, interrupted)
    path = trace("budget", engine)
    monkeypatch.undo()
    assert "interrupted" in path.stopped
    assert_valid_part(path, whole)
    assert summary(path.extend(8)) == summary(whole)


def test_path_without_pieces_is_an_answer_too():
    path = trace("budget", max_pivots=1)
    assert (path.segments, path.breakpoints, path.intervals, path.jumps) == ((), (), (), ())
    assert "nothing traced" in repr(path)
    assert path.to_frame().empty
    with pytest.raises(pqp.NoSolutionError, match="nothing was traced; max_pivots = 1 was reached"):
        path(0)


MISTAKES = [
    ({"interval": (3, 1)}, {"argument": "interval", "found": "(3.0, 1.0)"}),
    ({"interval": (0, math.nan)}, {"argument": "interval[1]", "found": "nan"}),
    ({"interval": (INFINITY, INFINITY)}, {"argument": "interval", "found": "(inf, inf)"}),
    ({"interval": 3}, {"argument": "interval", "found": "shape ()"}),
    ({"interval": (0, 1, 2)}, {"argument": "interval", "found": "shape (3,)"}),
    ({"interval": ("a", "b")}, {"argument": "interval", "found": "strings"}),
    ({"interval": (0, 1j)}, {"argument": "interval", "found": "complex numbers"}),
    ({"method": "simplex"}, {"argument": "method", "found": "'simplex'"}),
    ({"arithmetic": "double"}, {"argument": "arithmetic", "found": "'double'"}),
    ({"rule": "bland"}, {"argument": "rule", "found": "'bland'"}),
    ({"direction": "down"}, {"argument": "direction", "found": "'down'"}),
    ({"max_pieces": 0}, {"argument": "max_pieces", "found": "0"}),
    ({"max_pivots": -1}, {"argument": "max_pivots", "found": "-1"}),
    ({"time_limit": math.nan}, {"argument": "time_limit", "found": "nan"}),
    ({"max_pieces": "3"}, {"argument": "max_pieces", "found": "'3'"}),
    ({"memory_limit": 0}, {"argument": "memory_limit", "found": "0"}),
]


class TestMistakes:
    @pytest.mark.parametrize(("wrong", "error"), MISTAKES, ids=[str(wrong) for wrong, _ in MISTAKES])
    def test_message_names_the_argument_what_was_found_and_what_is_needed(self, wrong, error):
        with refuses(ProblemError, **error):
            pqp.solve_path(BUDGET, **{"interval": (0, 1), **wrong})

    @EVERY_ENGINE
    def test_extension_refuses_what_is_traced_already_or_makes_no_sense(self, engine):
        path = engine.trace(BUDGET, (0, 3))
        with refuses(ProblemError, "mu", found="2"):
            path.extend(2)
        with refuses(ProblemError, "mu", found="nan"):
            path.extend(math.nan)
        with refuses(ProblemError, "mu", found="[4, 5]"):
            path.extend([4, 5])

    @EVERY_ENGINE
    def test_soft_row_whose_limits_cross_is_refused_by_trace_and_extension(self, engine):
        problem = pqp.ParametricQP([[1]], [0], A=[[1]], row_lower=mu, row_upper=1, penalty=1)
        with refuses(ProblemError, "row_lower[0] = mu", found="1"):
            engine.trace(problem, (0, 3))
        with refuses(ProblemError, "row_lower[0] = mu", found="1"):
            engine.trace(problem, (0, 1)).extend(3)

    def test_rounded_gram_matrix_is_refused_in_exact_arithmetic_before_any_pivot(self):
        factor = np.random.default_rng(0).normal(size=(6, 2))
        problem = pqp.ParametricQP(factor @ factor.T, np.zeros(6))
        assert pqp.solve(problem, 0).status == "optimal"
        with refuses(NotConvexError, "P", expected="convex"):
            pqp.solve(problem, 0, arithmetic="exact")

    def test_mu_beyond_float64_is_refused_in_float_and_fine_in_exact(self):
        with pytest.raises(ProblemError, match="too large for float64") as caught:
            pqp.solve_path(BUDGET, (0, 10**400))
        assert caught.value.setting == ("arithmetic", "exact")
        path = pqp.solve_path(BUDGET, (0, 10**400), arithmetic="exact")
        assert path(10**400).x.tolist() == [2, 3]
        assert "optimal" in repr(path)


class TestTrouble:
    def test_good_part_comes_with_the_error(self, monkeypatch):
        original = tableau.criss_cross

        def fail_late(dictionary, place, rule):
            return Cycled(dictionary, ()) if place.mu == 5 else (yield from original(dictionary, place, rule))

        monkeypatch.setattr(tableau, "criss_cross", fail_late)
        with pytest.raises(NumericalTroubleError) as caught:
            trace("budget", TABLEAU)
        assert [(s.lo, s.hi) for s in caught.value.segments] == [(-2, 0), (0, 1), (1, 5)]
        assert caught.value.interval == (5, 5)

    @pytest.fixture
    def late_trouble(self, monkeypatch):
        """Float64 cannot decide what happens beyond mu = 5, where the budget ceases to bind."""

        run = revised_trace.Tracer.run

        def failing(tracer, stop, *others, **options):
            if max(tracer.mu, stop) <= 5:
                return run(tracer, stop, *others, **options)
            if tracer.mu < 5:
                run(tracer, 5.0, *others, **options)
            raise NumericalTroubleError("rounding wins")

        monkeypatch.setattr(revised_trace.Tracer, "run", failing)

    @pytest.mark.usefixtures("late_trouble")
    @DIRECTIONS
    def test_revised_engine_gets_past_its_trouble_in_exact_arithmetic(self, direction):
        path = trace("budget", REVISED, direction=direction)
        path.certify()
        assert summary(path) == summary(trace("budget"))

    @pytest.mark.usefixtures("late_trouble")
    def test_good_part_of_the_revised_engine_comes_with_the_error(self, monkeypatch):
        monkeypatch.setattr(exact_repair, "MOST_PAIRS", 0)
        with pytest.raises(NumericalTroubleError, match="rounding wins") as caught:
            trace("budget", REVISED)
        assert [(s.lo, s.hi) for s in caught.value.segments] == [(-2, 0), (0, 1), (1, 5)]

    @pytest.mark.parametrize(
        ("engine", "module", "name"),
        [(EXACT, tableau_runs, "read_segment"), (REVISED, revised_runner, "find_start")],
        ids=["tableau", "revised"],
    )
    def test_internal_error_leaves_a_file_that_reproduces_it(self, engine, module, name, monkeypatch):
        def contradict(*arguments):
            raise InternalError("two and two make five")

        monkeypatch.setattr(module, name, contradict)
        with pytest.raises(InternalError, match="a bug in pqp; the problem is kept in") as caught:
            trace("budget", engine)
        kept = Path(caught.value.reproducer)
        assert pqp.load_problem(kept).row_upper.slope.tolist() == [1]
        kept.unlink()
