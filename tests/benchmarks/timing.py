"""Timing: two ways to one answer, run in turn in one process on one thread, and the best CPU time of each."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

import pqp
from pqp.revised.event_kernel_choice import KERNELS, WORTH_COMPILING

# The engine that is timed; "tableau" runs the same benchmarks on the reference engine.
METHOD = os.environ.get("PQP_BENCH_METHOD", "revised")
# Runs of each side; the best counts, so that compilation and whatever else the machine does drop out.
ROUNDS = 5
# CPU seconds one race may take beyond its first round: long workloads are steady enough to run once or twice.
BUDGET = 30.0
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Race:
    """The best CPU seconds of both sides, and the last answer of each."""

    ours: float
    theirs: float
    answer: Any
    their_answer: Any


def trace(problem: pqp.ParametricQP, interval: tuple[float, float], **options: Any) -> pqp.Path:
    """Return the path, traced by the engine under test."""
    return pqp.solve_path(problem, interval, method=METHOD, **options)


def race(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int = ROUNDS) -> Race:
    """Run both in turn, as often as asked while the budget lasts, and return the best time of each."""
    warm_up()
    best, spent = [float("inf"), float("inf")], 0.0
    answers: list[Any] = [None, None]
    for done in range(rounds):
        for side, run in enumerate((ours, theirs)):
            seconds, answers[side] = cpu_seconds(run)
            best[side] = min(best[side], seconds)
            spent += seconds
        if spent + spent / (done + 1) > BUDGET:
            break
    return Race(*best, *answers)


@cache
def warm_up() -> None:
    """Trace something small with compiled kernels, so that what has to be loaded is before anything is timed.

    Long paths exchange the kernels themselves; here all paths are timed with the same ones.
    """
    KERNELS.count(2 * WORTH_COMPILING)
    trace(pqp.catalog.choice([[1, 0], [0, 1], [1, -1]]), (0, 10))


def best_of(run: Callable[[], Any], rounds: int = ROUNDS) -> tuple[float, Any]:
    """Return the best CPU time of one function and its last answer."""
    result = race(run, lambda: None, rounds)
    return result.ours, result.answer


def cpu_seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU time of one call, and its answer."""
    begin = time.process_time()
    answer = run()
    return time.process_time() - begin, answer


def require_one_thread() -> None:
    """Skip unless BLAS was limited to one thread before it was loaded."""
    if not any(os.environ.get(name) == "1" for name in THREADS):
        pytest.skip("set OMP_NUM_THREADS=1: timings are for one BLAS thread")
    threads = pytest.importorskip("threadpoolctl", reason="install the bench extra: pip install '.[bench]'")
    assert all(pool["num_threads"] == 1 for pool in threads.threadpool_info())


def peer(name: str) -> Any:
    """Return the module of a peer, or skip."""
    return pytest.importorskip(name, reason=f"{name} is not installed: pip install '.[bench]'")
