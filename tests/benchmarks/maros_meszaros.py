"""The Maros-Meszaros problems at one mu and along two paths, against Clarabel.

`python -m tests.benchmarks.maros_meszaros [--only NAME] [--time-limit S] [--certify] [--record FILE]` prints
one row per problem: the solution at mu = 0, the path of the cost c + mu d and the path of moving limits, both
over (-0.5, 1). Answers are checked from the definitions (`tests/path_check.py`): both ends and the middle of
up to 400 pieces, no hole above 2e-8, three values against Clarabel. Times are CPU seconds on one thread;
Clarabel is timed in the same process, at one mu from scratch and at 50 values of mu set up once.

Every problem runs in a process that is killed where the engine does not keep its time limit.
"""

import argparse
import json
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import pqp
from tests.data_folder import DATA, index, maros_meszaros, maros_meszaros_path
from tests.path_check import (
    Arrays,
    ClarabelGrid,
    Scales,
    Solution,
    Verdict,
    check_path,
    check_solution,
    clarabel_value,
)
from tests.worker import Worker

INTERVAL = (-0.5, 1.0)
HOLE, PIECES, POINTS = 2e-8, 400, 50
# The listed optima have twelve digits, fewer where solvers had to agree on them.
LISTED = 1e-7
# Not convex.
LEFT_OUT = ("VALUES",)
# How strongly d moves: a share of the mean of what it is added to. That of the stored directions.
STRENGTH = 0.2
KINDS = ("one mu", "cost", "limits")


def names() -> list[str]:
    """Return all convex problems of both folders, the small ones first."""
    stored = [
        path.stem
        for folder in ("maros_meszaros", "maros_meszaros_paths")
        for path in (DATA / folder).glob("*.npz")
    ]
    sizes = {name: problem_and_direction(name)[0].n for name in stored if name not in LEFT_OUT}
    return sorted(sizes, key=lambda name: (sizes[name], name))


def problem_and_direction(name: str) -> tuple[pqp.ParametricQP, Any]:
    """Return a sparse problem, and the direction of its cost."""
    if (DATA / "maros_meszaros_paths" / f"{name}.npz").exists():
        return maros_meszaros_path(name)
    dense = maros_meszaros(name)
    problem = replace(dense, P=sp.csr_array(dense.P.values), A=sp.csr_array(dense.A))
    c = np.asarray(problem.c.constant, dtype=float)
    sample = c if c.any() else problem.P.values.data
    return problem, step(name, "cost", sample, problem.n)


def step(name: str, kind: str, sample: Any, size: int) -> Any:
    """Return a seeded direction as large as a share of the mean of some numbers, those that are not zero."""
    rng = np.random.default_rng(zlib.crc32(f"{name} {kind}".encode()))
    numbers = np.abs(sample[np.isfinite(sample) & (sample != 0)])
    return (STRENGTH * (numbers.mean() if len(numbers) else 1.0) * rng.normal(size=size)).round(6)


def with_moving_cost(name: str) -> pqp.ParametricQP:
    """Return the problem with the cost c + mu d."""
    problem, d = problem_and_direction(name)
    return replace(problem, c=problem.c + pqp.mu * d)


def with_moving_limits(name: str) -> pqp.ParametricQP:
    """Return the problem with rows and bounds that move with mu and are the original ones at mu = 0.

    Rows move as if the solution x at mu = 0 moved to x + mu w, so that they do not contradict each other at
    once; rows and bounds that x does not meet move a little more. Both limits of a row or variable move
    together. w is zero where x is at a bound, and in equalities that depend on others: a move of these would
    leave mu = 0 alone feasible.
    """
    problem, _ = problem_and_direction(name)
    arrays = Arrays(problem)
    _, _, solved = ClarabelGrid(arrays).setup(0.0).solve()
    x = np.asarray(solved)[: problem.n]
    lower, upper, low, high = (
        np.asarray(side.constant, dtype=float)
        for side in (problem.lower, problem.upper, problem.row_lower, problem.row_upper)
    )
    fixed, equal = arrays.equal[arrays.m :], arrays.equal[: arrays.m]
    rigid = np.flatnonzero(equal)[dependent(arrays, equal, fixed)]
    is_free = ~_meets(x, lower, upper) & (arrays.absolute_A[rigid].sum(axis=0) == 0)
    rng = np.random.default_rng(zlib.crc32(f"{name} limits".encode()))
    # few digits: the direction must not depend on the last bits of a solver
    w = np.where(is_free, _rounded(STRENGTH * x) * rng.normal(size=problem.n).round(2), 0)
    rows = arrays.A @ w
    is_loose = ~_meets(arrays.A @ x, low, high)
    rows = np.where(is_loose, rows + step(name, "rows", rows, arrays.m), rows)
    sides = np.concatenate([lower, upper])
    bounds = np.where(is_free, step(name, "bounds", sides[np.isfinite(sides)], problem.n), 0)
    return replace(
        problem,
        lower=_moving(lower, bounds),
        upper=_moving(upper, bounds),
        row_lower=_moving(low, rows),
        row_upper=_moving(high, rows),
    )


def _meets(values: Any, low: Any, high: Any) -> Any:
    """Return which values are at a limit, within what an interior point leaves."""
    slack = 1e-5 * max(1.0, float(np.abs(values).max(initial=0)))
    return (values - low <= slack) | (high - values <= slack)


def dependent(arrays: Arrays, equal: Any, fixed: Any) -> Any:
    """Return which equalities take part in a linear dependence of equalities and fixed variables."""
    E = arrays.A[np.flatnonzero(equal)][:, np.flatnonzero(~fixed)].toarray()
    if not E.size:
        return np.zeros(len(E), dtype=bool)
    scale = np.abs(E).max(axis=1, initial=0)
    u, s, _ = np.linalg.svd(E / np.where(scale, scale, 1)[:, None], full_matrices=True)
    rank = int((s > 1e-10 * s.max(initial=0)).sum())
    return np.abs(u[:, rank:]).max(axis=1, initial=0) > 1e-8


def _moving(limit: Any, slope: Any) -> Any:
    return limit + pqp.mu * np.where(np.isfinite(limit), slope, 0)


def _rounded(values: Any) -> Any:
    """Return values with two digits; what a solver leaves of zero is zero."""
    top = np.abs(values).max(initial=0)
    small = np.abs(values) <= 1e-6 * top
    safe = np.where(small, 1.0, values)
    digits = 10.0 ** np.floor(np.log10(np.abs(safe)) - 1)
    return np.where(small, 0, np.round(safe / digits) * digits)


# ---- what runs in the process --------------------------------------------------------------------------


def one_mu(name: str, _: float, __: bool) -> Iterator[dict[str, Any]]:
    """Solve a problem at mu = 0 and compare it with the listed optimum."""
    problem, _direction = problem_and_direction(name)
    arrays = Arrays(problem)
    found: dict[str, Any] = {"size": f"{problem.n} x {problem.m}", "pieces": 1}
    peer = ClarabelGrid(arrays)
    begin = time.process_time()
    status, value, _x = peer.setup(0.0).solve()
    found["clarabel"] = time.process_time() - begin
    begin = time.process_time()
    try:
        point = pqp.solve(problem, 0)
        if point.status != "optimal":
            yield {**found, "seconds": time.process_time() - begin, "verdict": "wrong", "why": point.status}
            return
        solution = Solution.of(point.segment, 0.0)
    except pqp.PQPError as refusal:
        yield {**found, "seconds": time.process_time() - begin, **refused(refusal)}
        return
    found["seconds"] = time.process_time() - begin
    verdict = Verdict()
    check_solution(arrays, Scales(arrays, [solution]), solution, verdict)
    known = index("maros_meszaros").get(name)
    if known is None:
        status, value = clarabel_value(arrays, 0.0)
    if known or status == "Solved":
        best = float(known["f_opt"]) if known else value
        miss = abs(solution.value - best) / max(1.0, abs(best))
        verdict.note("value", miss, LISTED if known else 1e-6, "mu = 0")
    yield {**found, **judged(verdict)}


def path_over(name: str, kind: str, time_limit: float, certify: bool) -> Iterator[dict[str, Any]]:
    """Trace a path, check it and time Clarabel on a grid."""
    problem = with_moving_cost(name) if kind == "cost" else with_moving_limits(name)
    found: dict[str, Any] = {"size": f"{problem.n} x {problem.m}"}
    begin = time.process_time()
    try:
        path = pqp.solve_path(problem, INTERVAL, time_limit=time_limit)
    except pqp.PQPError as refusal:
        yield {**found, "seconds": time.process_time() - begin, **refused(refusal)}
        return
    found["seconds"] = time.process_time() - begin
    found["pieces"] = len(path.segments)
    if path.stopped:
        yield {**found, "verdict": "limit", "why": f"{path.stopped} at {float(path.hi):.6g}"}
        return
    found["solvable"] = sum(float(p.hi - p.lo) for p in path.segments if p.status == "optimal")
    verdict = check_path(path, INTERVAL, hole=HOLE, pieces=PIECES)
    yield {**found, **judged(verdict)}
    peer = ClarabelGrid(Arrays(problem))
    begin = time.process_time()
    peer.solve_all(np.linspace(*INTERVAL, POINTS))
    yield {"clarabel": time.process_time() - begin}
    if certify:
        try:
            path.certify()
        except pqp.PQPError as refusal:
            yield {"certified": False, "unproved": f"{type(refusal).__name__}: {refusal}"[:300]}
            return
        yield {"certified": True}


def refused(refusal: Exception) -> dict[str, Any]:
    """Return the verdict of an engine on itself."""
    return {"verdict": "refused", "why": f"{type(refusal).__name__}: {refusal}"[:300]}


def judged(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data."""
    conditions = {name: miss for name, miss in verdict.misses.items() if name not in ("value", "cover")}
    return {
        "verdict": "right" if verdict.is_right else "wrong",
        "kkt": max(conditions.values(), default=0.0),
        "value": verdict.misses.get("value"),
        "unjudged": verdict.unjudged,
        "why": "; ".join(verdict.faults[:3])[:300],
    }


# ---- the script ----------------------------------------------------------------------------------------


def record(worker: Worker, name: str, kind: str, time_limit: float, certify: bool) -> dict[str, Any]:
    """Return what became of one run, whatever became of the engine."""
    limits = (time_limit + 15, 60.0, time_limit + 15)
    if kind == "one mu":
        stages = worker.run(one_mu, (name, time_limit, certify), limits[:1])
    else:
        stages = worker.run(path_over, (name, kind, time_limit, certify), limits)
    found: dict[str, Any] = {"name": name, "kind": kind}
    for stage in stages:
        word = next((word for word in ("killed", "error") if word in stage), None)
        if word is None:
            found.update(stage)
        elif "verdict" not in found:
            found.update(verdict=word, why=str(stage[word]))
    return {"verdict": "error", **found}


COLUMNS = ("verdict", "pieces", "KKT", "s", "Clarabel s")
HEADINGS = ("problem", "n x m", *(f"{kind}: {column}" for kind in KINDS for column in COLUMNS))


def cells(found: list[dict[str, Any]]) -> list[str]:
    """Return the three runs of a problem as a row of text."""
    size = next((one["size"] for one in found if "size" in one), "")
    row = [found[0]["name"], size]
    for one in found:
        mark = "" if "certified" not in one else ", proved" if one["certified"] else ", unproved"
        row += [one["verdict"] + mark, str(one.get("pieces", "")), _number(one.get("kkt"), ".0e")]
        row += [_number(one.get("seconds"), ".3f"), _number(one.get("clarabel"), ".3f")]
    return row


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def warm_up(_: str) -> Iterator[dict[str, Any]]:
    """Load or compile what a small path, dense and sparse, takes."""
    for P in (np.eye(2), sp.eye_array(2)):
        problem = pqp.ParametricQP(P, [pqp.mu, 1.0], A=sp.csr_array([[1.0, 1.0]]), row_upper=1, lower=0)
        pqp.solve_path(problem, (-1, 1))
        pqp.solve(problem, 0)
    yield {"warm": True}


def main() -> None:
    """Print the table, and the faults below."""
    parser = argparse.ArgumentParser(
        description="Solve the Maros-Meszaros problems at one mu and along paths."
    )
    parser.add_argument("--only", help="problems whose name contains this")
    parser.add_argument("--kind", choices=KINDS, help="one of the three runs")
    parser.add_argument("--time-limit", type=float, default=30.0)
    parser.add_argument("--certify", action="store_true", help="prove the paths too")
    parser.add_argument("--record", type=Path, help="append one JSON object per run to this file")
    options = parser.parse_args()
    print(f"| {' | '.join(HEADINGS)} |\n|{' --- |' * len(HEADINGS)}", flush=True)
    every: list[dict[str, Any]] = []
    with Worker() as worker:
        worker.run(warm_up, ("",), (900.0,))
        for name in names():
            if options.only and options.only not in name:
                continue
            found = []
            for kind in KINDS:
                if options.kind in (None, kind):
                    found.append(record(worker, name, kind, options.time_limit, options.certify))
                else:
                    found.append({"name": name, "kind": kind, "verdict": ""})
            if options.record:
                with options.record.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(one, default=float) + "\n" for one in found if one["verdict"])
            print(f"| {' | '.join(cells(found))} |", flush=True)
            every += found
    print()
    for kind in KINDS:
        words = [one["verdict"] for one in every if one["kind"] == kind and one["verdict"]]
        print(f"{kind}:", ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words))))
    for one in every:
        if one["verdict"] not in ("", "right"):
            print(f"- {one['name']}, {one['kind']}: {one['verdict']}: {one.get('why', '')}")


if __name__ == "__main__":
    main()
