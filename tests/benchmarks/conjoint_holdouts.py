"""Hit rates in holdout tasks of published choice studies, parameters chosen on the other tasks alone.

`python -m tests.benchmarks.conjoint_holdouts` prints one row a study and a way of pooling: which parameters
folds of the training tasks chose, the hit rate in the last tasks of every respondent, and the seconds taken
by all of it; `python -m tests.benchmarks.conjoint_holdouts electricity` does one study.

Room: data beside the repository in, tables out.
May touch: `ranking`, `tests.conjoint_data`.
"""

import sys
import time
from typing import Any

import pandas as pd

from ranking import ConjointPath, ConjointPathCV, ConjointStudy
from tests.conjoint_data import HELD, choice_study

SHRINKAGES = (0.1, 0.3, 0.5, 0.8)
# Where paths end while parameters are chosen: hit rates are best before.
C_MAX = 0.5
FOLDS, GROUP, CORES = 3, 60, 2
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "aggregate": ({"C_max": C_MAX}, {}),
    "individual": ({"C_max": C_MAX}, {}),
    "shrinkage": ({"C_max": C_MAX}, {"shrinkage": list(SHRINKAGES)}),
}


def chosen(study: ConjointStudy, pooling: str) -> ConjointPathCV:
    """Return the model of the training tasks, its parameters chosen by folds of them."""
    fixed, grid = WAYS[pooling]
    path = ConjointPath(pooling=pooling, **fixed)
    return ConjointPathCV(path, grid, cv=FOLDS, group_size=GROUP, n_jobs=CORES).fit(study)


def row(name: str, pooling: str) -> dict[str, Any]:
    """Return what one way of pooling finds in one study."""
    train, held = choice_study(name).split_holdout(last=HELD[name])
    begin = time.perf_counter()
    model = chosen(train, pooling)
    seconds = time.perf_counter() - begin
    return {
        "study": name,
        "pooling": pooling,
        "shrinkage": model.best_params_.get("shrinkage"),
        "C": model.C_,
        "folds": model.best_score_,
        "holdout": model.score(held),
        "chance": float((1 / held.n_alternatives).mean()),
        "seconds": seconds,
    }


def main(names: list[str]) -> None:
    """Print the table of some studies."""
    rows = []
    for name in names:
        rows += [row(name, pooling) for pooling in WAYS]
        print(pd.DataFrame(rows[-len(WAYS) :]).round(4).to_string(index=False), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(HELD))
