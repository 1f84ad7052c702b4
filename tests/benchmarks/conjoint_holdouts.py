"""Holdout tasks of published choice studies: hits and likelihood, all chosen on the other tasks alone.

`python -m tests.benchmarks.conjoint_holdouts` prints one row per study, way of pooling and rule to choose
by: the parameters chosen in folds of the training tasks, the value of the rule there, the hit rate and, with
the scale of the same folds, the root likelihood in the last tasks of every respondent, and the seconds taken
by all of it: choice, fit, calibration, evaluation. A multinomial logit model by `xlogit` (the `bench` extra)
is the comparison. `python -m tests.benchmarks.conjoint_holdouts electricity` does one study.
"""

import sys
import time
from typing import Any

import numpy as np
import pandas as pd

from ranking import ConjointPath, ConjointPathCV, ConjointStudy
from ranking.conjoint import agreement
from tests.conjoint_data import HELD, choice_study

STUDIES = ("electricity", "minivan", "immigration", "train", "yogurt")
SHRINKAGES = (0.1, 0.3, 0.5, 0.8)
# Where paths end while parameters are chosen: hit rates are best before.
C_MAX = 0.5
FOLDS, GROUP, CORES = 3, 60, 2
RULES = ("hit_rate", "root_likelihood")
GRIDS: dict[str, dict[str, Any]] = {
    "aggregate": {},
    "individual": {},
    "shrinkage": {"shrinkage": list(SHRINKAGES)},
}


def chosen(study: ConjointStudy, pooling: Any, rule: str) -> ConjointPathCV:
    """Return the model of the training tasks, its parameters and its scale from folds of them."""
    path = ConjointPath(C_max=C_MAX, pooling=pooling)
    options = {"cv": FOLDS, "group_size": GROUP, "n_jobs": CORES}
    return ConjointPathCV(path, GRIDS[pooling], metric=rule, **options).fit(study)


def model_row(name: str, pooling: str, rule: str) -> dict[str, Any]:
    """Return what one way of pooling, chosen by one rule, finds in one study."""
    train, held = choice_study(name).split_holdout(last=HELD[name])
    begin = time.perf_counter()
    model = chosen(train, pooling, rule)
    found = agreement(model.individual_part_worths_, held, model.calibration_.scale)
    return {
        "study": name,
        "pooling": pooling,
        "chosen by": rule,
        "shrinkage": model.best_params_.get("shrinkage"),
        "C": model.C_,
        "folds": model.best_score_,
        "scale": model.calibration_.scale,
        **measures(found),
        "seconds": time.perf_counter() - begin,
    }


def logit_row(name: str) -> dict[str, Any]:
    """Return what a multinomial logit model of all respondents finds in one study."""
    train, held = choice_study(name).split_holdout(last=HELD[name])
    begin = time.perf_counter()
    found = agreement(logit_part_worths(train), held)
    seconds = time.perf_counter() - begin
    return {"study": name, "pooling": "MNL (xlogit)", **measures(found), "seconds": seconds}


def logit_part_worths(study: ConjointStudy) -> "pd.Series[float]":
    """Return the likeliest part-worths of a logit model; the first level of an attribute has worth 0."""
    from xlogit import MultinomialLogit

    is_first = ~study.columns.get_level_values(0).duplicated()
    is_linear = np.array([study.attributes[name].is_linear for name in study.columns.get_level_values(0)])
    kept = np.flatnonzero(~is_first | is_linear)
    choices = study.choices
    is_chosen = np.zeros(len(study.design))
    is_chosen[choices.chosen_rows] = 1
    position = np.arange(len(study.design)) - choices.first[choices.task_of_row]
    names = [f"part-worth {place}" for place in kept]
    model = MultinomialLogit()
    rows = {"X": study.design[:, kept].astype(float), "y": is_chosen, "varnames": names}
    model.fit(**rows, alts=position, ids=choices.task_of_row, verbose=0, skip_std_errs=True)
    if not model.convergence:
        raise RuntimeError("the logit model did not converge")
    worths = pd.Series(0.0, index=study.columns)
    worths.iloc[kept] = model.coeff_
    return worths


def measures(found: "pd.Series[Any]") -> dict[str, float]:
    """Return the measures of the holdout tasks, by short names."""
    names = {"hit rate": "hit rate", "root likelihood": "root lik.", "root likelihood by chance": "chance"}
    return {short: float(found[long]) for long, short in names.items()}


def main(names: list[str]) -> None:
    """Print the table of some studies."""
    for name in names:
        rows = [model_row(name, pooling, rule) for rule in RULES for pooling in GRIDS]
        table = pd.DataFrame([*rows, logit_row(name)])
        print(table.round(4).to_string(index=False, na_rep=""), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(STUDIES))
