"""Sparse problems: whole paths against 50 points of Clarabel, one mu against one solve, growth and memory.

Clarabel runs in its best form: P and A are built once, the solver is set up once, and cost and right-hand
side are updated from one mu to the next. One mu is raced against one Clarabel solve from scratch. Every race
runs in a process that is killed where the engine does not return.

Run with `OMP_NUM_THREADS=1 pytest -m benchmark -n 0 tests/benchmarks/test_sparse.py`.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import pqp
from tests.benchmarks.memory import in_a_process, peak_megabytes
from tests.benchmarks.problems import control, filtered_signal, random_sparse
from tests.benchmarks.table import Row, alone, report, require_target
from tests.benchmarks.timing import cpu_seconds, peer, race, require_one_thread, trace, warm_up
from tests.path_check import Arrays, ClarabelGrid, check_path
from tests.worker import Worker

Made = tuple[pqp.ParametricQP, tuple[float, float]]
POINTS = 50
# One mu may take as long as so many Clarabel solves.
SOLVES = 10
# Seconds that the engine is asked to keep, and wall seconds after which its process is killed.
TIME_LIMIT, PATIENCE = 30.0, 120.0
HOLE = 2e-8
# Whole paths of filters.
SECONDS, MEGABYTES = 10.0, 300.0
# Time per event may grow like the size of the problem, with some room for what does not grow.
GROWTH = 1.5

HORIZONS = (100, 300, 1000, 3000)
PROBLEMS: dict[str, Callable[[], Made]] = {
    **{f"control T = {T}": lambda T=T: (control(T), (0.0, 1.0)) for T in HORIZONS},
    "random sparse 1000 x 400": lambda: (random_sparse(1000, 400), (-1.0, 1.0)),
    "random sparse 5000 x 2000": lambda: (random_sparse(5000, 2000), (-1.0, 1.0)),
}
FILTERS: dict[str, Callable[[], Made]] = {
    "total variation N = 5000": lambda: (filtered_signal(5000, 1), (0.0, 1000.0)),
    "l1 trend filter N = 5000": lambda: (filtered_signal(5000, 2), (0.0, 100.0)),
}
EVERY = {**PROBLEMS, **FILTERS}


def path_race(name: str) -> Iterator[dict[str, Any]]:
    """Race a whole path against Clarabel on a grid, then check it."""
    problem, interval = EVERY[name]()
    grid = ClarabelGrid(Arrays(problem))
    points = np.linspace(*interval, POINTS)
    result = race(
        lambda: trace(problem, interval, time_limit=TIME_LIMIT), lambda: grid.solve_all(points), rounds=3
    )
    path = result.answer
    yield {
        "ours": result.ours,
        "theirs": result.theirs,
        "pieces": len(path.segments),
        "stopped": path.stopped,
    }
    verdict = check_path(path, interval, hole=HOLE)
    misses = [miss for name, miss in verdict.misses.items() if name not in ("cover", "value")]
    yield {"faults": verdict.faults[:3], "miss": max(misses, default=0.0)}


def one_mu_race(name: str) -> Iterator[dict[str, Any]]:
    """Race one mu against one Clarabel solve, and compare their values."""
    problem, interval = EVERY[name]()
    arrays = Arrays(problem)
    grid, mu = ClarabelGrid(arrays), interval[0] + 0.4 * (interval[1] - interval[0])
    result = race(lambda: pqp.solve(problem, mu), lambda: grid.setup(mu).solve(), rounds=3)
    ours, (status, theirs, _) = float(result.answer.objective), result.their_answer
    miss = abs(ours - theirs - arrays.constant(mu)) / max(1.0, abs(theirs))
    yield {"ours": result.ours, "theirs": result.theirs, "miss": miss, "status": status}


@cache
def in_a_worker(task: Any, name: str) -> dict[str, Any]:
    """Return what a race found; a process that had to be killed is a failure."""
    with Worker() as worker:
        stages = worker.run(task, (name,), (PATIENCE, PATIENCE))
    found = {key: value for stage in stages for key, value in stage.items()}
    trouble = found.get("error") or ("killed" in found and f"no answer in {found['killed']:.0f} s")
    assert not trouble, f"{name}: {trouble}"
    return found


@pytest.mark.benchmark
@pytest.mark.parametrize("name", PROBLEMS)
def test_sparse_path_is_no_slower_than_fifty_points_of_clarabel(name):
    """Events cost one sparse solve each: expect all of them in the time of a few interior points."""
    require_one_thread()
    peer("clarabel")
    warm_up()
    found = in_a_worker(path_race, name)
    event = 1e6 * found["ours"] / max(found["pieces"], 1)
    times = (found["ours"], found["theirs"])
    note = f"{event:.0f} us per event"
    row = report(Row(name, "Clarabel, 50 mu", *times, 1, found["pieces"], found["miss"], note))
    assert not found["stopped"]
    assert not found["faults"]
    require_target(row)


@pytest.mark.benchmark
@pytest.mark.parametrize("name", EVERY)
def test_one_mu_takes_at_most_ten_clarabel_solves(name):
    """A single solution needs no path: expect a few interior points and a clean-up."""
    require_one_thread()
    peer("clarabel")
    warm_up()
    found = in_a_worker(one_mu_race, name)
    times = (found["ours"], found["theirs"])
    row = report(Row(f"{name}, one mu", "Clarabel, one mu", *times, SOLVES, accuracy=found["miss"]))
    assert found["status"] == "Solved"
    assert found["miss"] <= 1e-6
    require_target(row)


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "sizes",
    [
        ("control T = 100", "control T = 3000", 30),
        ("random sparse 1000 x 400", "random sparse 5000 x 2000", 5),
    ],
)
def test_cost_of_an_event_grows_at_most_like_the_size(sizes):
    """A sparse factor has about as many nonzeros as there are rows: expect time per event to grow like n."""
    require_one_thread()
    peer("clarabel")
    warm_up()
    small, large, ratio = sizes
    events = [
        found["ours"] / max(found["pieces"], 1)
        for found in (in_a_worker(path_race, name) for name in (small, large))
    ]
    report(Row(f"{large}, per event", f"per event, {small}", events[1], events[0], GROWTH * ratio))
    assert events[1] <= GROWTH * ratio * events[0]


@pytest.mark.benchmark
@pytest.mark.parametrize("name", FILTERS)
def test_filter_of_a_long_signal_is_quick_and_small(name):
    """One event for each sample or so: expect all of them in seconds and without an N x N matrix."""
    require_one_thread()
    found = in_a_process(filtered, name)
    event = 1e6 * found["seconds"] / max(found["pieces"], 1)
    report(alone(name, found, f"{event:.0f} us per event, {found['peak']:.0f} MB"))
    assert not found["stopped"]
    assert found["seconds"] <= SECONDS
    assert found["peak"] <= MEGABYTES


def filtered(name: str) -> dict[str, Any]:
    """Return what the whole path of a filter takes, with the peak noted before anything is checked."""
    problem, interval = FILTERS[name]()
    warm_up()
    seconds, path = cpu_seconds(lambda: trace(problem, interval, time_limit=TIME_LIMIT))
    found = {
        "seconds": seconds,
        "pieces": len(path.segments),
        "peak": peak_megabytes(),
        "stopped": path.stopped,
    }
    if path.stopped:
        return found
    verdict = check_path(path, interval, hole=HOLE)
    assert verdict.is_right, verdict.faults[:3]
    misses = [miss for condition, miss in verdict.misses.items() if condition not in ("cover", "value")]
    return {**found, "gap": max(misses)}
