"""Ordinal data: whole paths and their selection against a grid of single fits of skordinal's SVOR.

`python -m tests.benchmarks.ordinal [NAME ...] [--limit SECONDS]` prints one row per data set and kernel. Both
sides get the same five folds. SVOR with explicit constraints solves the same problem, but adds 0.001 to the
diagonal of its kernel, which counts where C is large: errors are compared with our kernel and exactly with
theirs. Its linear kernel is divided by the number m of features, so that our C is C / m.
A grid that takes longer than the limit is stopped, and what it had done by then is compared.
"""

import multiprocessing
import sys
import time
from typing import Any

import numpy as np
import pandas as pd

import pqp
from ranking import OrdinalSVM, OrdinalSVMPath, OrdinalSVMPathCV, kernel_matrix
from ranking.ordinal.path import split_levels
from tests.ranking_data import ORDINAL, Ranked, ordinal

GRID = np.logspace(-3, 3, 10)
FOLDS = 5
# What SVOR adds to the diagonal of its kernel.
RIDGE = 0.001
# Seconds a grid may take.
LIMIT = 600.0


def folds(data: Ranked) -> list[tuple[Any, Any]]:
    """Return the folds that both sides get."""
    return split_levels(FOLDS, np.unique(data.y, return_inverse=True)[1], 0)


def scale(data: Ranked, kernel: str) -> float:
    """Return our C divided by that of SVOR."""
    return 1 / data.X.shape[1] if kernel == "linear" else 1.0


def options(data: Ranked, kernel: str) -> dict[str, Any]:
    """Return the kernel, the same on both sides."""
    return {"kernel": kernel, "gamma": 1 / data.X.shape[1]}


def by_grid(data: Ranked, kernel: str, sender: Any) -> None:
    """Fit SVOR at every C of the grid in every fold; send the error and the time of each fit."""
    from skordinal.classifiers import SVOR

    for C in GRID:
        for train, test in folds(data):
            begin = time.process_time()
            model = SVOR(C=C, constraints="explicit", **options(data, kernel)).fit(
                data.X[train], data.y[train]
            )
            error = np.abs(model.predict(data.X[test]) - data.y[test]).mean()
            sender.send((float(error), time.process_time() - begin))
    sender.send(None)


def limited_grid(data: Ranked, kernel: str, limit: float) -> tuple[Any, float, bool]:
    """Return errors, one row per finished C, the time taken, and whether it was all of the grid."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    worker = multiprocessing.Process(target=by_grid, args=(data, kernel, sender))
    worker.start()
    found, end = [], time.perf_counter() + limit
    while receiver.poll(max(0.0, end - time.perf_counter())):
        fit = receiver.recv()
        if fit is None:
            break
        found.append(fit)
    is_whole = len(found) == len(GRID) * FOLDS
    worker.terminate()
    worker.join()
    errors = np.array([error for error, _ in found[: len(found) // FOLDS * FOLDS]]).reshape(-1, FOLDS)
    return errors, max(sum(seconds for _, seconds in found), 0.0 if is_whole else limit), is_whole


def by_path(data: Ranked, kernel: str) -> tuple[OrdinalSVMPathCV, float]:
    """Return the choice of C on whole paths in all folds and the path on all data, and the time it takes."""
    path = OrdinalSVMPath(C_max=float(GRID[-1]) * scale(data, kernel), **options(data, kernel))
    begin = time.process_time()
    search = OrdinalSVMPathCV(path, cv=folds(data)).fit(data.X, data.y)
    return search, time.process_time() - begin


def svor_kernel(data: Ranked, kernel: str, rows: Any, columns: Any) -> Any:
    """Return the kernel of SVOR between rows of the data: 0.001 more where an object meets itself."""
    X, Y = data.X[rows], data.X[columns]
    K = X @ Y.T / X.shape[1] if kernel == "linear" else kernel_matrix(X, Y, **options(data, kernel))
    return K + RIDGE * (rows[:, None] == columns)


def errors_of_paths(data: Ranked, kernel: str, is_theirs: bool) -> Any:
    """Return our errors at every C of the grid, one column per fold, with our kernel or with theirs."""
    found = []
    for train, test in folds(data):
        if is_theirs:
            parts = [svor_kernel(data, kernel, rows, train) for rows in (train, test)]
            path, grid = OrdinalSVMPath(C_max=float(GRID[-1]), kernel="precomputed"), GRID
        else:
            parts, grid = [data.X[train], data.X[test]], GRID * scale(data, kernel)
            path = OrdinalSVMPath(C_max=float(grid[-1]), **options(data, kernel))
        path.fit(parts[0], data.y[train])
        found.append([np.abs(path.predict(parts[1], C) - data.y[test]).mean() for C in grid])
    return np.array(found).T


def compared(name: str, kernel: str, limit: float) -> dict[str, Any]:
    """Return one row of the table."""
    data = ordinal(name)
    search, seconds = by_path(data, kernel)
    theirs, their_seconds, is_whole = limited_grid(data, kernel, limit)
    kinds = {"our kernel": False, "their kernel": True}
    differences = {
        f"MAE ours - theirs, {word}": _compared_errors(data, kernel, is_theirs, theirs)
        for word, is_theirs in kinds.items()
    }
    return {
        "data": name,
        "kernel": kernel,
        "objects": len(data.y),
        "levels": len(np.unique(data.y)),
        "pieces": sum(
            len(section.path.segments) for section in search.best_estimator_.sectioned_path_.sections
        ),
        "paths and choice, s": round(seconds, 2),
        "grid, s": f"{'' if is_whole else '> '}{their_seconds:.1f}",
        "ratio": f"{'' if is_whole else '< '}{seconds / their_seconds:.3f}",
        "MAE chosen": round(search.best_score_, 4),
        "MAE best of grid": round(float(theirs.mean(axis=1).min()), 4),
        **differences,
        "values of C": len(theirs),
    }


def _compared_errors(data: Ranked, kernel: str, is_theirs: bool, theirs: Any) -> str:
    """Return the least and the largest difference of mean errors over the values of C both sides have."""
    try:
        ours = errors_of_paths(data, kernel, is_theirs)
    except pqp.NumericalTroubleError:
        return "refused"
    difference = (ours[: len(theirs)] - theirs).mean(axis=1)
    return f"{difference.min():+.4f} to {difference.max():+.4f}"


def generated(name: str, kernel: str, C: float = 1.0) -> dict[str, Any]:
    """Return how generation compares with the full solution at one C."""
    data = ordinal(name)
    chosen = {**options(data, kernel), "C": C * scale(data, kernel)}
    whole = OrdinalSVM(**chosen).fit(data.X, data.y)
    part = OrdinalSVM(**chosen, working_set="extremes", add=100).fit(data.X, data.y)
    return {
        "data": name,
        "kernel": kernel,
        "distinct objects": whole.training_.hinges.n_items,
        "working set": len(part.working_set_),
        "rounds": len(part.rounds_),
        "objective": whole.objective_,
        "relative difference": f"{abs(part.objective_ / whole.objective_ - 1):.1e}",
        "duality gap": f"{abs(part.duality_gap_):.1e}",
    }


def main(arguments: list[str]) -> None:
    """Print both tables, row by row."""
    limit = LIMIT
    if "--limit" in arguments:
        place = arguments.index("--limit")
        limit, arguments = float(arguments[place + 1]), arguments[:place] + arguments[place + 2 :]
    names = arguments or list(ORDINAL)
    for kernel in ("linear", "rbf"):  # compiled once
        by_path(ordinal("pyrimidines"), kernel)
    for title, row in (("generation", generated), ("grid", compared)):
        for name in names:
            for kernel in ("linear", "rbf"):
                values = (name, kernel) if title == "generation" else (name, kernel, limit)
                print(pd.DataFrame([row(*values)]).to_csv(index=False), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
