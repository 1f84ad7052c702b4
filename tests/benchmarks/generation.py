"""Row and column generation along a path on many objects, against the path on all of them.

`python -m tests.benchmarks.generation [OBJECTS]` prints one row for each, run in a process of its own so that
the largest memory is that of one of them, and how far their objectives are apart.
"""

import multiprocessing
import resource
import sys
import time
from typing import Any

import numpy as np
import pandas as pd

from ranking import OrdinalSVMPath

FEATURES, LEVELS, NOISE = 10, 5, 0.02
INTERVAL = {"C_min": 10.0, "C_max": 1000.0}
GENERATED = {"working_set": "extremes", "add": 300}
COMPARED = np.geomspace(10, 1000, 25)


def objects(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Return objects whose levels are a linear score, with a little noise, cut at its quantiles."""
    random = np.random.default_rng(seed)
    X, w = random.normal(size=(n, FEATURES)), random.normal(size=FEATURES)
    f = X @ (w / np.linalg.norm(w)) + NOISE * random.normal(size=n)
    return X, np.searchsorted(np.quantile(f, np.arange(1, LEVELS) / LEVELS), f)


def traced(n: int, options: dict[str, Any]) -> tuple[dict[str, Any], list[float]]:
    """Return what a path takes, and its objectives at some C."""
    OrdinalSVMPath(C_min=10, C_max=11, **options).fit(*objects(2000))  # compiled
    X, y = objects(n)
    begin = time.process_time()
    path = OrdinalSVMPath(**INTERVAL, **options).fit(X, y)
    seconds = time.process_time() - begin
    row = {
        "objects": n,
        "working set": len(path.sectioned_path_.sections[-1].items),
        "pieces": sum(section.pieces for section in path.sectioned_path_.sections),
        "seconds": round(seconds, 1),
        "MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    return row, [path.at(C).objective_ for C in COMPARED]


def main(n: int) -> None:
    """Print both rows."""
    found = []
    for options in (GENERATED, {}):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found.append(pool.apply(traced, (n, options)))
    (generated, ours), (whole, theirs) = found
    print(pd.DataFrame([generated, whole], index=["generated", "whole"]).to_string())
    print(f"largest relative difference of objectives: {np.abs(np.divide(ours, theirs) - 1).max():.1e}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
