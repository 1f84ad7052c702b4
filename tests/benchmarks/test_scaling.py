"""How the cost of an event and the memory of a path grow: CBC(C) with 24 columns, frontiers of 10 factors.

Run with `OMP_NUM_THREADS=1 pytest -m benchmark -n 0 tests/benchmarks/test_scaling.py`.
"""

import math
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import pqp
from tests.benchmarks.memory import in_a_process, peak_megabytes
from tests.benchmarks.problems import choice_rows, factor_market
from tests.benchmarks.table import Row, alone, report
from tests.benchmarks.test_choice import NOISE, largest_gap
from tests.benchmarks.timing import cpu_seconds, require_one_thread, trace, warm_up

# The whole path at s = 1 000; the same number of pieces from C = 0 at the larger sizes, whose whole
# paths have about 2 bends a choice.
PIECES = 2000
MEGABYTES = 2000
GAP = 1e-9


@pytest.mark.benchmark
@pytest.mark.parametrize("choices", [1000, 10_000, 100_000])
def test_cost_of_an_event_grows_like_a_product_not_like_its_square(choices):
    """|R| stays below 24: expect time per event to grow at most like s."""
    require_one_thread()
    found = in_a_process(first_pieces, choices)
    event, kept = 1e6 * found["seconds"] / found["pieces"], found["bytes"] / found["pieces"]
    note = f"{event:.0f} us per event, {kept:.0f} bytes per piece, {found['peak']:.0f} MB"
    report(alone(f"CBC(C) s = {choices}, first {PIECES} pieces", found, note))
    assert found["gap"] <= GAP
    assert found["peak"] < MEGABYTES


def first_pieces(choices):
    """Return what tracing the first pieces took, and the size of the file they are saved in."""
    rows = choice_rows(choices, 0, NOISE)
    problem = pqp.catalog.choice(rows)
    warm_up()
    trace(pqp.catalog.choice(choice_rows(60, 0, NOISE)), (0, math.inf))  # loads what thin factors take
    seconds, path = cpu_seconds(lambda: trace(problem, (0, math.inf), max_pieces=PIECES))
    numbers = {"seconds": seconds, "pieces": len(path.segments), "peak": peak_megabytes()}
    return {**numbers, "gap": largest_gap(path, rows, 20), "bytes": kept_bytes(problem, max_pieces=PIECES)}


def kept_bytes(problem, **limits):
    """Return how many bytes stay allocated for a path; tracing them is slow, so this is a run of its own."""
    tracemalloc.start()
    path = trace(problem, (0, math.inf), **limits)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.segments
    return kept


@pytest.mark.benchmark
@pytest.mark.parametrize("assets", [1000, 2000, 5000])
def test_event_of_a_long_short_frontier_costs_one_pass_over_the_factors(assets):
    """Hundreds to thousands of assets between their bounds: expect no growth with the square of them."""
    require_one_thread()
    found = in_a_process(long_short_frontier, assets)
    event = 1e6 * found["seconds"] / found["pieces"]
    note = f"{event:.0f} us per event, {found['unknowns']} unknowns, {found['peak']:.0f} MB"
    report(alone(f"long-short frontier N = {assets}, 10 factors", found, note))
    assert found["gap"] <= GAP
    assert found["peak"] < MEGABYTES


def long_short_frontier(assets):
    """Return what the frontier of a factor model takes, with weights of at most ten times the average."""
    mean, F, d = factor_market(assets)
    bound, ones = 10 / assets, np.ones((1, assets))
    P = pqp.Gram(F, diagonal=d)
    problem = pqp.ParametricQP(P, -pqp.mu * mean, A=ones, row_lower=1, row_upper=1, lower=-bound, upper=bound)
    warm_up()
    seconds, path = cpu_seconds(lambda: trace(problem, (0, math.inf), direction="right-to-left"))
    unknowns = max(int(np.sum(np.abs(path(mu).x) < bound)) for mu in path.breakpoints[::50])
    numbers = {"seconds": seconds, "pieces": len(path.segments), "peak": peak_megabytes()}
    return {**numbers, "unknowns": unknowns, "gap": frontier_gap(path, mean, F, d, bound)}


def frontier_gap(path, mean, F, d, bound):
    """Return by how much any weights could be better than those of the path, relative to the objective.

    The objective lies above its tangent, which is least where the budget is spent on the smallest gradients.
    """
    worst = 0.0
    for mu in np.linspace(0, float(path.breakpoints[-1]), 20):
        x = np.asarray(path(mu).x, dtype=float)
        risk = F @ (F.T @ x) + d * x
        gradient = risk - mu * mean
        spent = 1 + bound * len(x) - 2 * bound * np.arange(len(x))
        best = np.empty(len(x))
        best[np.argsort(gradient)] = np.clip(spent, 0, 2 * bound) - bound
        size = abs(risk @ x) + abs(mu * mean @ x)
        worst = max(worst, (gradient @ x - gradient @ best) / size, abs(x.sum() - 1), np.abs(x).max() - bound)
    return float(worst)


@pytest.mark.benchmark
@pytest.mark.parametrize("choices", [1000, 5000])
def test_path_is_compact_in_memory_and_on_disk(choices):
    """A dense piece of x, y, z with slopes would take 6 numbers per choice: 240 kB at s = 5 000."""
    require_one_thread()
    found = in_a_process(whole_path, choices)
    kept, saved = (found[name] / found["pieces"] for name in ("bytes", "file"))
    note = f"{kept:.0f} bytes per piece kept, {saved:.0f} saved, {found['peak']:.0f} MB"
    report(alone(f"CBC(C) s = {choices}, memory", found, note))
    assert kept < 8 * choices


def whole_path(choices):
    """Return the bytes of a whole path, and of its file."""
    problem = pqp.catalog.choice(choice_rows(choices, 0, NOISE))
    seconds, path = cpu_seconds(lambda: trace(problem, (0, math.inf)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "path.npz"
        path.save(file)
        size = file.stat().st_size
    numbers = {"seconds": seconds, "pieces": len(path.segments), "peak": peak_megabytes()}
    return {**numbers, "file": size, "bytes": kept_bytes(problem)}


@pytest.mark.benchmark
def test_first_call_of_a_process():
    """Import and, if there is any, compilation, which every other benchmark leaves out."""
    require_one_thread()
    found = in_a_process(first_and_second)
    report(Row("first solve_path of a process", "second", found["first"], found["second"]))


def first_and_second():
    """Return the seconds of two equal calls."""
    problem = pqp.catalog.choice(choice_rows(50, 0, NOISE))
    first, second = (cpu_seconds(lambda: trace(problem, (0, math.inf)))[0] for _ in range(2))
    return {"first": first, "second": second}
