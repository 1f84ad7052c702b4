"""Retention orders of molecules: the whole path against a grid of C and against conditional gradients.

`python -m tests.benchmarks.retention` prints one row per fold: molecules are kept together, pairs are formed
within a system only, the kernel is MinMax on substructure counts (Bach et al. 2018).
"""

import sys
import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold

from ranking import RankSVM, RankSVMPath, kernel_matrix
from ranking.core.preferences import preferences_from_labels
from tests.ranking_data import Ranked, retention_times

FOLDS = 5
# Twenty values of C, as parts of the largest.
GRID = 2.0 ** np.linspace(-16, 0, 20)
# ROSVM stops when the duality gap has fallen to this part of what it was at the first step.
THRESHOLD = 0.005
MOST_STEPS = 100_000


def folds(data: Ranked, seed: int = 0) -> list[tuple[Any, Any]]:
    """Return folds that keep all measurements of a molecule together."""
    return list(GroupKFold(FOLDS, shuffle=True, random_state=seed).split(data.X, groups=data.group))


def part(data: Ranked, rows: Any) -> Ranked:
    """Return some rows of the data."""
    return Ranked(data.X[rows], data.y[rows], data.qid[rows], data.group[rows])


def by_path(train: Ranked, validation: Ranked, C_max: float) -> dict[str, float]:
    """Return what the whole path up to some C takes and finds."""
    begin = time.process_time()
    model = RankSVMPath(kernel="minmax", C_max=C_max).fit(train.X, train.y, train.qid)
    traced = time.process_time()
    curve = model.select(validation.X, validation.y, validation.qid)
    return {
        "pairs": len(model.preferences_),
        "pieces": len(model.path_.segments),
        "path": traced - begin,
        "selection": time.process_time() - traced,
        "best": curve.best,
        "C": curve.C_best,
    }


def by_grid(train: Ranked, validation: Ranked, grid: Any) -> dict[str, float]:
    """Return what single fits take and find, and the largest relative duality gap among them."""
    begin = time.process_time()
    models = [RankSVM(C, kernel="minmax").fit(train.X, train.y, train.qid) for C in grid]
    scores = [model.score(validation.X, validation.y, validation.qid) for model in models]
    seconds = time.process_time() - begin
    gap = max(abs(model.duality_gap_) for model in models)
    return {"grid": seconds, "grid best": max(scores), "grid C": grid[int(np.argmax(scores))], "gap": gap}


def conditional_gradient(train: Ranked, C: float) -> dict[str, float]:
    r"""Return where ROSVM's Algorithm 1 with line search stops at one C, by its own rule.

    A step goes from α towards s, C where 1 − D K Dᵀα > 0 and 0 elsewhere, as far as (5) of Bach (2020) says,
    until h(α) = ⟨1 − D K Dᵀα, s − α⟩ is below 0.005 of what it was at the first step; α begins at 0.
    """
    pairs = preferences_from_labels(train.y, train.qid).pairs
    K, alpha = kernel_matrix(train.X, kernel="minmax"), np.zeros(len(pairs))

    def product(v: Any) -> Any:
        beta = np.bincount(pairs[:, 0], v, len(K)) - np.bincount(pairs[:, 1], v, len(K))
        f = K @ beta
        return f[pairs[:, 0]] - f[pairs[:, 1]]

    first, steps = 0.0, 0
    while steps < MOST_STEPS:
        slope = 1 - product(alpha)
        towards = np.where(slope > 0, C, 0.0) - alpha
        h = float(slope @ towards)
        first = first or h
        if h <= THRESHOLD * first:
            break
        curvature = float(towards @ product(towards))
        alpha, steps = alpha + min(1.0, h / curvature) * towards, steps + 1
    dual = float(alpha.sum() - alpha @ product(alpha) / 2)
    support = int(np.sum(alpha > 1e-12 * C))
    return {"steps": steps, "dual": dual, "support": support, "pairs": len(pairs)}


def against_conditional_gradient(train: Ranked, C: float = 8.0) -> dict[str, float]:
    """Return how far from the optimum that rule stops, relative to our solution at the same C."""
    theirs, model = (
        conditional_gradient(train, C),
        RankSVM(C, kernel="minmax").fit(train.X, train.y, train.qid),
    )
    optimum = model.objective_
    return {
        **theirs,
        "below the optimum": (optimum - theirs["dual"]) / optimum,
        "our gap": model.duality_gap_,
        "our support": int(np.sum(model.alpha_ > 0)),
    }


def _main(C_max: float = 1.0, count: int = FOLDS) -> None:
    data = retention_times()
    chosen = folds(data)[:count]
    print(against_conditional_gradient(part(data, chosen[0][0])), flush=True)
    rows = []
    for train, validation in chosen:
        here, there = part(data, train), part(data, validation)
        rows.append({**by_path(here, there, C_max), **by_grid(here, there, GRID[C_max >= GRID])})
        print(rows[-1], file=sys.stderr, flush=True)
    print(pd.DataFrame(rows).to_string())


if __name__ == "__main__":
    _main(*(float(argument) for argument in sys.argv[1:2]), *(int(argument) for argument in sys.argv[2:3]))
