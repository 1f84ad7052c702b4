"""Limits and Ctrl-C: whatever is going on, a path ends with its finished part and a solve with an error."""

import multiprocessing
import os
import random
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import pqp
from pqp import mu, stopping
from pqp.errors import LimitError, NumericalTroubleError
from pqp.revised import degeneracy, verify
from pqp.revised import runner as revised_runner
from pqp.revised import start as starting
from pqp.revised.interior_point import ConeProgram
from pqp.revised.trace import Tracer
from pqp.solver import _connected
from pqp.tableau import runner as tableau_runner
from tests.engines import EVERY_ENGINE, REVISED

BUDGET = pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0)


def press_ctrl_c(*_):
    signal.raise_signal(signal.SIGINT)


def regulator(steps):
    """Control of two states over some steps; a start too far away has no solution."""
    A = sp.lil_array((2 * steps, 3 * steps))
    for k in range(steps):
        A[2 * k : 2 * k + 2, 3 * k] = [[0.0], [0.1]]
        A[2 * k : 2 * k + 2, 3 * k + 1 : 3 * k + 3] = -np.eye(2)
        if k:
            A[2 * k : 2 * k + 2, 3 * k - 2 : 3 * k] = [[1, 0.1], [-0.1, 0.98]]
    start = np.zeros(2 * steps)
    start[:2] = -1
    weights = sp.diags([np.tile([0.1, 1.0, 0.1], steps)], [0]).tocsr()
    target = np.zeros(3 * steps)
    target[1::3] = 3 * np.sin(np.arange(steps) / 20)
    limit, side = np.tile([1, 6, 2.0], steps), mu * (4 * start)
    return pqp.ParametricQP(
        weights, -weights @ target, A=A.tocsr(), row_lower=side, row_upper=side, lower=-limit, upper=limit
    )


def dense(n, exact=False):
    random = np.random.default_rng(1)
    F = random.normal(size=(n, n // 2))
    cost = random.normal(size=n) + mu * random.normal(size=n)
    rows = random.normal(size=(n // 5, n))
    P = pqp.Gram(F) if exact else F @ F.T
    return pqp.ParametricQP(P, cost, A=rows, row_lower=-1, row_upper=1, lower=-1, upper=1)


class TestSolve:
    @pytest.mark.parametrize("arithmetic", ["float", "exact"])
    def test_time_limit_of_a_single_solve_is_an_error_of_its_own(self, arithmetic):
        with pytest.raises(LimitError) as caught:
            pqp.solve(BUDGET, 3, arithmetic=arithmetic, time_limit=1e-9)
        assert "time_limit" in caught.value.stopped
        assert pqp.solve(BUDGET, 3, arithmetic=arithmetic, time_limit=1000).x.tolist() == pytest.approx(
            [1, 2]
        )

    @pytest.mark.parametrize(
        ("place", "moment"),
        [
            (revised_runner, "presolve"),
            (revised_runner, "find_start"),
            (verify, "violations"),
            (revised_runner, "segments_of"),
        ],
    )
    def test_interrupt_of_a_single_solve_is_a_keyboard_interrupt(self, place, moment, monkeypatch):
        original = getattr(place, moment)

        def pressed(*arguments):
            press_ctrl_c()
            return original(*arguments)

        monkeypatch.setattr(place, moment, pressed)
        with pytest.raises(KeyboardInterrupt):
            pqp.solve(BUDGET, 3)


def all_tied(n):
    """Every variable reaches its lower limit at mu = 0."""
    random = np.random.default_rng(0)
    F = random.normal(size=(n, n))
    return pqp.ParametricQP(F @ F.T + np.eye(n), [mu * slope for slope in random.normal(size=n)], lower=0)


class TestTies:
    """A tie of many items is one event, and may take as long as hundreds of others."""

    def test_interrupt_within_a_tie_that_is_crossed_one_by_one(self, monkeypatch):
        cross, calls = Tracer._cross, []

        def swallowing(tracer, end):
            if tracer.mu == 0.0:
                calls.append(end)
            if len(calls) == 3:
                with suppress(KeyboardInterrupt):
                    press_ctrl_c()
            return cross(tracer, end)

        monkeypatch.setattr(Tracer, "_cross", swallowing)
        path = REVISED.trace(all_tied(30), (-1, 1))
        assert len(calls) == 3
        assert ("interrupted" in path.stopped, path.breakpoints, path.segments[-1].hi) == (True, (), 0.0)
        assert path.certify().pieces == 1

    def test_interrupt_within_a_tie_that_is_solved_as_a_whole(self, monkeypatch):
        pivoting, pivots = degeneracy.criss_cross, []

        def swallowing(*arguments):
            solving = pivoting(*arguments)
            while True:
                try:
                    pivots.append(next(solving))
                except StopIteration as end:
                    return end.value
                if len(pivots) == 3:
                    with suppress(KeyboardInterrupt):
                        press_ctrl_c()
                yield pivots[-1]

        monkeypatch.setattr(degeneracy, "criss_cross", swallowing)
        path = REVISED.trace(all_tied(30), (-1, 1), log=True)
        assert len(pivots) == 3
        assert ("interrupted" in path.stopped, path.segments[-1].hi) == (True, 0.0)


@EVERY_ENGINE
class TestInterrupts:
    def test_interrupt_that_a_library_swallowed_still_stops_the_trace(self, engine):
        def swallowing(progress):
            if progress.pieces == 2:
                with suppress(KeyboardInterrupt):
                    press_ctrl_c()

        path = engine.trace(BUDGET, (-2, 8), progress=swallowing)
        assert "interrupted" in path.stopped
        assert path.extend(8).certify().pieces == 4

    def test_handler_of_the_caller_is_called_and_restored(self, engine):
        calls = []

        def own(*_):
            calls.append("pressed")

        before = signal.signal(signal.SIGINT, own)
        try:
            path = engine.trace(BUDGET, (-2, 8), progress=lambda p: press_ctrl_c() if p.pieces == 2 else None)
            assert signal.getsignal(signal.SIGINT) is own
        finally:
            signal.signal(signal.SIGINT, before)
        assert calls
        assert "interrupted" in path.stopped

    def test_path_is_traced_in_any_thread(self, engine):
        paths = []
        thread = threading.Thread(target=lambda: paths.append(engine.trace(BUDGET, (-2, 8), time_limit=1000)))
        thread.start()
        thread.join()
        assert (len(paths[0].segments), paths[0].stopped) == (4, None)

    def test_reason_names_the_end_of_the_path(self, engine):
        for direction, end in (("left-to-right", 0), ("right-to-left", 5)):
            path = engine.trace(BUDGET, (-2, 8), direction=direction, max_pieces=1)
            reason, _, at = path.stopped.rpartition(" at mu = ")
            assert (reason, float(at)) == ("max_pieces = 1 was reached", end)

    def test_reason_names_the_end_that_a_path_over_everything_but_one_point_does_not_own(self, engine):
        """mu x is unbounded for every mu but 0."""
        path = engine.trace(pqp.ParametricQP([[0]], [mu]), (0, 1), direction="right-to-left", max_pieces=1)
        assert [(piece.status, piece.lo_closed) for piece in path.intervals] == [("unbounded", False)]
        assert float(path.stopped.rpartition(" at mu = ")[2]) == 0


class TestLibraries:
    @pytest.fixture(autouse=True)
    def asks_a_library(self, monkeypatch):
        """No start is found without a library."""
        monkeypatch.setattr(starting, "MOST_EVENTS_FROM_REST", -1)

    def test_library_that_does_not_listen_is_left_behind(self, monkeypatch):
        """A solver that would take a minute does not keep a limit from being kept."""
        is_left = threading.Event()

        def endless(program, at, watch):
            return watch.wait_for(lambda is_abandoned: is_left.set() if is_abandoned.wait(60) else None)

        monkeypatch.setattr(ConeProgram, "solve", endless)
        path = pqp.solve_path(dense(20), (-1, 1), time_limit=0.2)
        assert "time_limit" in path.stopped
        assert path.segments == ()
        assert is_left.wait(60)

    def test_interrupt_while_a_library_works_is_heard(self, monkeypatch):
        def endless(program, at, watch):
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            return watch.wait_for(lambda is_abandoned: is_abandoned.wait(60))

        monkeypatch.setattr(ConeProgram, "solve", endless)
        with pytest.raises(KeyboardInterrupt):
            pqp.solve(dense(20), 0)

    def test_error_of_a_library_is_raised_where_it_can_be_caught(self, monkeypatch):
        def failing(program, at, watch):
            return watch.wait_for(lambda is_abandoned: 1 / 0)

        monkeypatch.setattr(ConeProgram, "solve", failing)
        with pytest.raises(ZeroDivisionError):
            pqp.solve(dense(20), 0)


class TestFinishedPart:
    def test_path_that_was_stopped_on_the_ladder_has_no_holes(self, monkeypatch):
        """A trace fails at mu = 4.9, is begun again beyond it, and the gap that is left is interrupted."""
        run = Tracer.run

        def failing(tracer, stop, *others, **options):
            if min(tracer.mu, stop) < 4.9 < max(tracer.mu, stop):
                run(tracer, 4.0 if tracer.mu < 4.9 else 6.0, *others, **options)
                raise NumericalTroubleError("rounding wins")
            return run(tracer, stop, *others, **options)

        monkeypatch.setattr(Tracer, "run", failing)
        monkeypatch.setattr(revised_runner._Run, "_extend_neighbours", lambda run, a, b: None)
        monkeypatch.setattr(revised_runner._Run, "_exactly", press_ctrl_c)
        path = pqp.solve_path(BUDGET, (-2, 8))
        assert "interrupted" in path.stopped
        assert path.lo == -2
        assert 4 <= path.hi < 4.9
        assert [s.hi for s in path.segments[:-1]] == [s.lo for s in path.segments[1:]]
        monkeypatch.undo()
        assert path.extend(8).certify().pieces == 4

    def test_run_that_reaches_to_the_beginning_is_the_part_that_counts(self):
        whole = REVISED.trace(BUDGET, (-2, 8)).segments
        assert _connected([whole[0], *whole[2:]], -2.0) == [whole[0]]
        assert _connected([whole[0], *whole[2:]], 8.0) == list(whole[2:])
        assert _connected([whole[1], whole[3]], -2.0) == [whole[1]]
        assert _connected([], -2.0) == []

    @EVERY_ENGINE
    def test_proof_that_takes_too_long_is_left_out_and_found_by_an_extension(self, engine, monkeypatch):
        def slow(pieces, problem, field, watch, *others):
            monkeypatch.setattr(stopping, "GRACE", -1.0)
            monkeypatch.setattr(stopping.Watch, "_due", lambda watch, now: "time_limit = 9 was reached")
            watch.check()

        whole = engine.trace(BUDGET, (-2, 8))
        monkeypatch.setattr(revised_runner, "unsolvable_segments", slow)
        monkeypatch.setattr(tableau_runner, "unsolvable_segments", slow)
        path = engine.trace(BUDGET, (-2, 8))
        monkeypatch.undo()
        assert path.stopped.startswith("time_limit = 9 was reached at mu = ")
        assert "infeasible" not in [s.status for s in path.segments]
        path = path.extend(-2) if path.segments else path.extend(8)
        assert [(s.lo, s.hi, s.status) for s in path.segments] == [
            (s.lo, s.hi, s.status) for s in whole.segments
        ]


def _serve(pipe, call):
    """Say when the call begins, and how it ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pipe.send("begin")
    try:
        path = call()
        holes = [left.hi for left, right in pairwise(path.segments) if left.hi != right.lo]
        answer = "holes" if holes else "complete" if path.stopped is None else path.stopped.split()[0]
    except KeyboardInterrupt:
        answer = "KeyboardInterrupt"
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    pipe.send(answer)


def interrupted(call, after, patience=60.0):
    """Run a call in a process, send it SIGINT after some seconds; return its answer and how long that took.

    Both are None if the call had ended before.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(theirs, call), daemon=True)
    process.start()
    assert ours.recv() == "begin"
    try:
        if ours.poll(after):
            return None, None
        begin = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        return (ours.recv() if ours.poll(patience) else "still running"), time.monotonic() - begin
    finally:
        process.kill()
        process.join()


CALLS = {
    "control": lambda n: partial(pqp.solve_path, regulator(n), (-3, 3)),
    "dense path": lambda n: partial(pqp.solve_path, dense(n), (-1, 1)),
    "dense solve": lambda n: partial(pqp.solve, dense(n), 0.3),
    "exact path": lambda n: partial(pqp.solve_path, dense(n, exact=True), (-1, 1), arithmetic="exact"),
    "tableau": lambda n: partial(pqp.solve_path, dense(n), (-1, 1), method="tableau"),
}
SIZES = {"control": 100, "dense path": 200, "dense solve": 300, "exact path": 30, "tableau": 60}
LARGE = {"control": 1000, "dense path": 500, "dense solve": 500, "exact path": 150, "tableau": 200}


@pytest.mark.parametrize("name", CALLS)
def test_interrupted_process_answers_with_what_was_finished(name):
    call = CALLS[name](SIZES[name])
    for after in (0.02, 0.2):
        answer, _ = interrupted(call, after)
        assert answer in (None, "interrupted", "KeyboardInterrupt")


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_interrupt_at_any_moment_is_answered_within_a_second(name):
    call, chance = CALLS[name](LARGE[name]), random.Random(name)
    times = []
    for _ in range(20):
        answer, seconds = interrupted(call, chance.uniform(0.0, 10.0))
        assert answer in (None, "interrupted", "KeyboardInterrupt")
        times.append(seconds or 0.0)
    # The machine may be busy at one of these moments, but not at several.
    assert sorted(times)[-3] < 1.0
