"""The experiment of Zapien et al. (2009), section 6, on their four data sets: reduced graphs and all pairs.

`python -m tests.benchmarks.zapien` prints Tables 1 to 3; `... all-pairs` the same with every pair;
`... whole NAME C` traces all pairs of a whole data set up to C in a process of its own.
"""

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from ranking import RankSVMPath, preference_pairs
from ranking.metrics.rankings import pairwise_accuracy
from tests.benchmarks.memory import in_a_process, peak_megabytes
from tests.ranking_data import zapien

NAMES = ("mixture", "auto", "diabetes", "cancer")
SPLITS = 10
# Tables 1 and 3 of the paper: all pairs and reduced ones; error, λ*, size of A, seconds, means of 10 runs.
PAPER_PAIRS = {
    "mixture": (10_000, 199),
    "auto": (75_245, 656),
    "diabetes": (134_000, 767),
    "cancer": (75_684, 568),
}
PAPER = {
    "mixture": (0.29, 0.02, 69, 5.92),
    "auto": (0.50, 1.71, 155.1, 74.17),
    "diabetes": (0.65, 0.77, 384, 186.79),
    "cancer": (0.63, 0.79387, 285, 0.27),
}
# How far paths go: reduced graphs to λ = 1e-3; with all pairs a hundred times as many terms are summed, and
# validation chooses a C far below these.
REACH = {
    "tree": dict.fromkeys(NAMES, 1000.0),
    "full": {"mixture": 1.0, "auto": 1.0, "diabetes": 0.05, "cancer": 0.05},
}


def halves(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Return rows for training, validation and test: a half, a quarter and a quarter."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: n // 2], order[n // 2 : n // 2 + n // 4], order[n // 2 + n // 4 :]


def one_split(name: str, reduction: str, seed: int) -> dict[str, float]:
    """Return what one split gives: test errors of the C that validation chooses, and what the path took."""
    data = zapien(name)
    train, validation, test = halves(len(data.y), seed)
    scale = StandardScaler().fit(data.X[train])
    X = scale.transform(data.X)
    model = RankSVMPath(kernel="rbf", gamma="auto", reduction=reduction, C_max=REACH[reduction][name])
    begin = time.process_time()
    model.fit(X[train], data.y[train])
    traced = time.process_time()
    curve = model.select(X[validation], data.y[validation])
    chosen = time.process_time()
    sets, scores = model.pair_sets(model.C_), model.decision_function(X[test])
    reduced = preference_pairs(data.y[test], reduction="tree")
    return {
        "train pairs": len(model.preferences_),
        "test pairs": len(reduced),
        "error": 1 - pairwise_accuracy(data.y[test], scores),
        "error, reduced": 1 - float(np.mean(scores[reduced[:, 0]] > scores[reduced[:, 1]])),
        "C*": model.C_,
        "lambda*": 1 / model.C_,
        "A": len(sets.margin) + len(sets.violated),
        "pieces": len(model.path_.segments),
        "seconds": traced - begin,
        "selection": chosen - traced,
        "steps": len(curve.values),
    }


def table(reduction: str, splits: int = SPLITS, names: Sequence[str] = NAMES) -> pd.DataFrame:
    """Return means and standard deviations over splits, one row per data set."""
    rows = {}
    for name in names:
        runs = pd.DataFrame([one_split(name, reduction, seed) for seed in range(splits)])
        rows[name] = {column: f"{runs[column].mean():.3g} ({runs[column].std():.2g})" for column in runs}
        print(name, rows[name], file=sys.stderr, flush=True)
    return pd.DataFrame(rows).T


def pair_counts() -> pd.DataFrame:
    """Return Table 1: all pairs and those of the reduced graph, ours and the paper's."""
    rows = {}
    for name in NAMES:
        y = zapien(name).y
        ours = [len(preference_pairs(y, reduction=kind)) for kind in ("full", "tree")]
        rows[name] = dict(
            zip(("all", "reduced", "paper all", "paper reduced"), (*ours, *PAPER_PAIRS[name]), strict=True)
        )
    return pd.DataFrame(rows).T


def whole(name: str, C_max: float) -> dict[str, float]:
    """Return what the path of all pairs of a whole data set takes up to some C."""
    data = zapien(name)
    X = StandardScaler().fit_transform(data.X)
    model = RankSVMPath(kernel="rbf", gamma="auto", C_max=C_max, solver="pairs")
    before, begin = peak_megabytes(), time.process_time()
    model.fit(X, data.y)
    seconds = time.process_time() - begin
    changed = np.diff(model.path_.segments[0].trail.change_ends)[1:]
    end = model.at(C_max)
    return {
        "pairs": len(model.preferences_),
        "pieces": len(model.path_.segments),
        "ties": int(np.sum(changed > 1)),
        "largest tie": int(changed.max(initial=0)),
        "seconds": seconds,
        "before": before,
        "gap": end.duality_gap_,
    }


def _main(arguments: list[str]) -> None:
    if arguments[:1] == ["whole"]:
        from tests.benchmarks import zapien as module  # a fresh process must find the function by its module

        print(json.dumps(in_a_process(module.whole, arguments[1], float(arguments[2]))))
        return
    print(pair_counts().to_string())
    print(
        table("full" if arguments[:1] == ["all-pairs"] else "tree", *map(int, arguments[1:2])).to_markdown()
    )


if __name__ == "__main__":
    _main(sys.argv[1:])
