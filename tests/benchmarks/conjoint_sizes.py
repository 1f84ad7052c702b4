"""Times of conjoint paths: the paper's setting and larger ones, respondents alone, a pool; a pool at one C.

`python -m tests.benchmarks.conjoint_sizes` prints four tables; with names, as `pools`, only these tables.
Seconds are CPU seconds of one core, except for respondents alone, who are fitted on two.
"""

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ranking import ConjointPath, ConjointStudy, ConjointSVM
from ranking.conjoint import example_study
from tests.conjoint_data import choice_study, made_up_study

SIZES = (40, 200, 1000, 5000)
POOLS = (20, 40, 80, 160)
# Pairs of γ and C.
AT_ONE_C = ((0.3, 0.1), (0.5, 1.0), (0.02, 0.3), (0.98, 3.0))


def aggregate_row(s: int) -> dict[str, Any]:
    """Return pieces and seconds of the whole path of s choices between two options with 24 levels."""
    study = made_up_study(respondents=1, tasks=s, options=2)
    model, seconds = timed(lambda: ConjointPath(C_max=np.inf).fit(study))
    _, certified = timed(model.certify)
    bends = len(model.breakpoints_)
    return {
        "choices": s,
        "rows": len(model.programs_[0].rows),
        "bends": bends,
        "path": seconds,
        "certify": certified,
    }


def individual_row(respondents: int, tasks: int, cores: int) -> dict[str, Any]:
    """Return pieces and seconds of the whole paths of respondents alone."""
    study = made_up_study(respondents, tasks, options=4)
    model = ConjointPath(C_max=np.inf, pooling="individual", n_jobs=cores)
    _, seconds = timed(lambda: model.fit(study), time.perf_counter)  # in processes of their own
    pieces = sum(len(path.segments) for path in model.paths_)
    return {"respondents": respondents, "tasks": tasks, "pieces": pieces, "cores": cores, "seconds": seconds}


def pool_row(study: ConjointStudy, respondents: int) -> dict[str, Any]:
    """Return pieces and seconds of the path of a pool up to C = 0.3."""
    part = study.only(respondents=study.respondents[:respondents])
    model, seconds = timed(lambda: ConjointPath(C_max=0.3, pooling="shrinkage").fit(part))
    return {
        "respondents": respondents,
        "rows": len(model.programs_[0].rows),
        "pieces": len(model.path_.segments),
        "seconds": seconds,
    }


def one_C_row(name: str, study: ConjointStudy, shrinkage: float, C: float) -> dict[str, Any]:
    """Return seconds and duality gap of a pool at one C."""
    model, seconds = timed(lambda: ConjointSVM(C, pooling="shrinkage", shrinkage=shrinkage).fit(study))
    assert model.duality_gap_ is not None
    gap = f"{model.duality_gap_:.0e}"
    return {"study": name, "shrinkage": shrinkage, "C": C, "gap": gap, "seconds": seconds}


def timed(work: Any, clock: Any = time.process_time) -> tuple[Any, float]:
    """Return what work returns, and its seconds."""
    begin = clock()
    result = work()
    return result, clock() - begin


def aggregate_table() -> pd.DataFrame:
    """Return the paths of the paper's setting and of larger ones; the first row compiles."""
    aggregate_row(SIZES[0])
    return pd.DataFrame([aggregate_row(s) for s in SIZES]).round(2)


def individual_table() -> pd.DataFrame:
    """Return the paths of many respondents alone."""
    return pd.DataFrame([individual_row(1000, 12, 2)]).round(2)


def one_C_table() -> pd.DataFrame:
    """Return pools at one C."""
    pools = {"example": example_study().split_holdout()[0]}
    pools |= {f"made up, {n}": made_up_study(n, tasks=12, options=4) for n in (60, 360)}
    return pd.DataFrame([one_C_row(name, pools[name], *pair) for name in pools for pair in AT_ONE_C]).round(3)


def pools_table() -> pd.DataFrame:
    """Return the paths of pools."""
    train, _ = choice_study("electricity").split_holdout(last=3)
    pool_row(train, POOLS[0])  # compiles
    return pd.DataFrame([pool_row(train, n) for n in (*POOLS, len(train.respondents))]).round(2)


TABLES = {
    "aggregate": aggregate_table,
    "individual": individual_table,
    "one-C": one_C_table,
    "pools": pools_table,
}


def main(names: Sequence[str]) -> None:
    """Print some tables, or all of them."""
    for name in names or TABLES:
        print(TABLES[name]().to_string(index=False), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
