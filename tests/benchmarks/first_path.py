"""The first float path: CPU seconds in a fresh process with an empty cache of compiled code.

`python -m tests.benchmarks.first_path [--only NAME]` prints one row per problem: the first path with nothing
compiled, the first path of a second process, which loads what the first has kept, and the second path of
that process, which is what a path costs. Imports are part of the first path, `import pqp` is not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import pqp
from tests.benchmarks import problems
from tests.benchmarks.memory import ROOT

Made = tuple[pqp.ParametricQP, tuple[float, float]]


def two_variables() -> Made:
    """The problem of the README."""
    return pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], [[1, 1]], row_upper=pqp.mu, lower=0), (-2, 8)


def random_convex() -> Made:
    """A random strictly convex problem, mu in the cost and the limits."""
    P, c, d, A, b, step = problems.strictly_convex()
    return pqp.ParametricQP(P, c + pqp.mu * d, A, row_upper=b + pqp.mu * step), (-0.75, 0.75)


def factor_frontier() -> Made:
    """The frontier of a factor model."""
    mean, F, d = problems.factor_market(100)
    return pqp.catalog.markowitz(mean, pqp.Gram(F, diagonal=d)), (0, 10)


def dense_frontier() -> Made:
    """The frontier of a dense covariance matrix."""
    mean, F, d = problems.factor_market(100)
    return pqp.catalog.markowitz(mean, F @ F.T + np.diag(d)), (0, 10)


def rank_svm() -> Made:
    """A RankSVM on all pairs between two classes."""
    X, _ = problems.mixture(15, 15)
    pairs = np.array([(i, j) for i in range(15) for j in range(15, 30)])
    return problems.ranking(problems.rbf(X), pairs), (0, 1)


MAKERS: dict[str, Callable[[], Made]] = {
    "two variables": two_variables,
    "choice s = 200": lambda: (pqp.catalog.choice(problems.choice_rows(200, 0, 1.0)), (0, 10)),
    "frontier N = 100, dense": dense_frontier,
    "frontier N = 100, factor": factor_frontier,
    "lasso 200 x 50": lambda: (pqp.catalog.lasso(*problems.regression(200, 50)), (0, 1000)),
    "random pQP 40 x 80": random_convex,
    "SVM rbf 60 + 60": lambda: (pqp.catalog.svm(*problems.mixture(60, 60), kernel="rbf"), (0, 100)),
    "SVM linear 60 + 60": lambda: (pqp.catalog.svm(*problems.mixture(60, 60)), (0, 100)),
    "RankSVM, 225 pairs": rank_svm,
    "control T = 100": lambda: (problems.control(100), (0, 1)),
    "random sparse 1000 x 400": lambda: (problems.random_sparse(1000, 400), (-1, 1)),
    "total variation N = 500": lambda: (problems.filtered_signal(500), (0, 100)),
    "l1 trend filter N = 500": lambda: (problems.filtered_signal(500, 2), (0, 100)),
}


def first_and_second(name: str) -> tuple[float, float]:
    """Return the CPU seconds of the first and of the second path of this process."""
    problem, interval = MAKERS[name]()
    seconds = []
    for _ in range(2):
        begin = time.process_time()
        pqp.solve_path(problem, interval, time_limit=300)
        seconds.append(time.process_time() - begin)
    return seconds[0], seconds[1]


def fresh(name: str, folder: str, patience: float) -> tuple[float, float] | None:
    """Return the same of a fresh process which keeps compiled code in a folder; None if it took too long."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": folder,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "tests.benchmarks.first_path", "--child", name]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
        return None
    first, second = json.loads(done.stdout.splitlines()[-1])
    return first, second


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Time the first float path with nothing compiled.")
    parser.add_argument("--only", help="problems whose name contains this")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds of wall time for one process")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(first_and_second(options.child)))
        return
    print("| problem | first path, empty cache | first path, filled cache | second path |")
    print("| --- | --- | --- | --- |", flush=True)
    for name in MAKERS:
        if options.only and options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            compiled = fresh(name, folder, options.patience)
            loaded = fresh(name, folder, options.patience) if compiled else None
        cells = [f"{one:.2f} s" for one in ((compiled or ())[:1] + (loaded or ()))]
        print(f"| {' | '.join([name, *cells] if cells else [name, 'no answer'])} |", flush=True)


if __name__ == "__main__":
    main()
