"""The RankSVM path of all pairs in scores: seconds, events, memory and proof of its end.

`python -m tests.benchmarks.score_path` prints the table; `... NAME ...` some of its rows: mixture, separable,
auto, diabetes, cancer, queries. Each row is a process of its own, kernels compiled before the clock starts.
Mixture, separable and the data of Zapien et al. (2009) are traced to the last event, queries until
`SECONDS` are over. Expected on two cores, one thread: some 40 to 300 microseconds per event.
"""

import sys
import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from ranking import RankSVMPath
from tests.benchmarks.memory import in_a_process, peak_megabytes
from tests.ranking_data import zapien

NAMES = ("mixture", "separable", "auto", "diabetes", "cancer", "queries")
# How long the path of many queries is followed.
SECONDS = 280.0


def problem(name: str) -> tuple[RankSVMPath, Any, Any, Any]:
    """Return a path to fit, and rows, labels and queries to fit it to."""
    chance = np.random.default_rng(0)
    if name == "separable":
        X = StandardScaler().fit_transform(chance.normal(size=(200, 60)))
        return RankSVMPath(kernel="rbf", gamma=1 / 60), X, (X @ chance.normal(size=60) > 0).astype(int), None
    if name == "queries":
        X = StandardScaler().fit_transform(chance.normal(size=(5000, 136)))
        scores = X @ chance.normal(size=136) / 136**0.5 + chance.normal(size=5000)
        y = np.digitize(scores, [0.3, 1.2, 2.0, 2.8])
        return RankSVMPath(time_limit=SECONDS), X, y, chance.integers(0, 43, 5000)
    data = zapien(name)
    if name == "mixture":
        return RankSVMPath(kernel="rbf", gamma=1.0), data.X, data.y, None
    return RankSVMPath(kernel="rbf", gamma="auto"), StandardScaler().fit_transform(data.X), data.y, None


def row(name: str) -> dict[str, float]:
    """Return what one path takes and reaches."""
    model, X, y, qid = problem(name)
    few = slice(0, 40)
    for labels in (np.arange(40) % 2, np.arange(40) % 3):
        RankSVMPath(solver="scores", max_pieces=60).fit(X[few], labels)
    before, begin = peak_megabytes(), time.process_time()
    model.fit(X, y, qid)
    seconds, after = time.process_time() - begin, peak_megabytes()
    middle = float(np.sqrt(model.breakpoints_[0] * model.C_end_))
    return {
        "pairs": len(model.preferences_),
        "events": model.path_.events,
        "pieces": len(model.path_),
        "last C": float(model.breakpoints_[-1]),
        "complete": float(not model.path_.stopped),
        "seconds": seconds,
        "microseconds per event": 1e6 * seconds / model.path_.events,
        "megabytes": after - before,
        "gap in the middle": model.at(middle).duality_gap_,
        "gap at the end": model.at(model.C_end_).duality_gap_,
    }


def _main(names: list[str]) -> None:
    from tests.benchmarks import score_path as module  # a fresh process must find the function by its module

    rows = {name: in_a_process(module.row, name) for name in names or NAMES}
    print(pd.DataFrame(rows).T.to_string(float_format="{:.4g}".format))


if __name__ == "__main__":
    _main(sys.argv[1:])
