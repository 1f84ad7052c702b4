"""How far intervals of pooled part-worths can be trusted, in studies whose making is known.

`python -m tests.benchmarks.conjoint_coverage` makes studies like the example, each with other choices, and
compares how importances and a share scatter between them with the standard errors that one study reports:
from part-worths drawn as they were estimated, and from a model refitted to every draw. `coverage` is how
often the 95 % interval of the share contains its mean over all studies.
"""

from typing import Any

import numpy as np
import pandas as pd

from ranking import ConjointStudy, ConjointSVM
from ranking.conjoint import importance_summary, refit_bootstrap, respondent_bootstrap, simulate
from ranking.conjoint.data.example import LEVELS
from tests.coffee import example_frame

STUDIES, REFITS, C = 40, 40, 0.1
POOLS = {"aggregate": 0.5, "shrinkage 0.8": 0.8, "shrinkage 0.5": 0.5, "individual": 0.5}
PACKS = {
    "ours": {"brand": "Alba", "roast": "dark", "size": "large", "price": 12},
    "theirs": {"brand": "Brio", "roast": "medium", "size": "large", "price": 9},
}


def made_up(seed: int) -> ConjointStudy:
    """Return the tasks to learn from of a study like the example."""
    roles = {"respondent": "respondent", "task": "task", "alternative": "alternative", "chosen": "chosen"}
    study = ConjointStudy.from_frame(
        example_frame(seed), **roles, attributes=LEVELS, none=True, weight="weight", holdout="holdout"
    )
    return study.split_holdout()[0]


def estimates(bootstrap: Any, study: ConjointStudy) -> pd.Series:
    """Return importance of the price and share of the first product, with errors and the interval."""
    price = importance_summary(bootstrap, study).loc["price"]
    share = simulate(bootstrap, study, PACKS).loc["ours"]
    parts = {"importance": price["estimate"], "importance error": price["standard_error"]}
    return pd.Series({**parts, **share[["share", "standard_error", "lo", "hi"]]})


def row(pooling: str, shrinkage: float) -> list[dict[str, Any]]:
    """Return the standard errors that one way of pooling reports, by both bootstraps."""
    model = ConjointSVM(C, pooling=pooling.split()[0], shrinkage=shrinkage)
    found: dict[str, list[pd.Series]] = {"drawn": [], "refitted": []}
    for seed in range(1, STUDIES + 1):
        study = made_up(seed)
        worths = model.fit(study).individual_part_worths_
        found["drawn"].append(estimates(respondent_bootstrap(worths, study), study))
        found["refitted"].append(estimates(refit_bootstrap(model, study, REFITS, seed, n_jobs=2), study))
    return [summary(pooling, way, pd.DataFrame(rows)) for way, rows in found.items()]


def summary(pooling: str, way: str, found: pd.DataFrame) -> dict[str, Any]:
    """Return true scatter, mean reported error, and coverage."""
    mean = found["share"].mean()
    return {
        "pooling": pooling,
        "intervals": way,
        "importance: scatter": found["importance"].std(),
        "importance: SE": found["importance error"].mean(),
        "share: scatter": found["share"].std(),
        "share: SE": found["standard_error"].mean(),
        "coverage": np.mean((found["lo"] <= mean) & (mean <= found["hi"])),
    }


def main() -> None:
    """Print the table."""
    rows = [line for pooling, shrinkage in POOLS.items() for line in row(pooling, shrinkage)]
    print(pd.DataFrame(rows).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
