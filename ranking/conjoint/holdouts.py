"""Holdout shares: what tasks that several respondents saw alike say of predicted shares.

Room: part-worths and a study in, observed and predicted shares of its common tasks out.
May touch: `errors`, `arrays`, `choices`, `study`, `worths`, `rules`, `utilities`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ranking.arguments import Integers
from ranking.conjoint.rules import first_choices, logit, read_scale
from ranking.conjoint.study import ConjointStudy
from ranking.conjoint.utilities import task_utilities, task_weights
from ranking.errors import DataError


def common_shares(part_worths: Any, study: ConjointStudy, scale: float = 1.0) -> pd.DataFrame:
    """Return shares of the alternatives of tasks that several respondents saw alike.

    One row an alternative: how many saw it, the share that chose it, the share predicted by the logit rule
    at the scale, and by first choice; all weighted by respondent.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> held = example_study().split_holdout()[1]
    >>> common_shares(example_part_worths()["brand-minded"], held).columns.tolist()
    ['respondents', 'observed', 'predicted', 'first choice']
    """
    U, sizes = task_utilities(part_worths, study)
    rules = {"predicted": logit(U, read_scale(scale), sizes), "first choice": first_choices(U, sizes)}
    weights, choices = task_weights(study), study.choices
    tables = []
    for tasks in _alike(study):
        k = int(choices.size[tasks[0]])
        taken = np.eye(k)[choices.chosen[tasks]]
        columns = {"observed": taken, **{name: table[tasks, :k] for name, table in rules.items()}}
        shares = {name: np.average(table, axis=0, weights=weights[tasks]) for name, table in columns.items()}
        names = study.sheet.alternative[list(choices.rows(tasks[0]))]
        labels = {"task": choices.task[tasks[0]], "alternative": names, "respondents": len(tasks)}
        tables.append(pd.DataFrame({**labels, **shares}))
    if not tables:
        raise DataError(
            "no task was seen alike by several respondents, so there are no shares to compare with"
        )
    return pd.concat(tables).set_index(["task", "alternative"])


def share_error(part_worths: Any, study: ConjointStudy, scale: float = 1.0) -> float:
    """Return the mean absolute error of predicted shares over alternatives of tasks seen alike by several."""
    shares = common_shares(part_worths, study, scale)
    return float((shares["predicted"] - shares["observed"]).abs().mean())


def _alike(study: ConjointStudy) -> Iterator[Integers]:
    """Yield groups of at least two tasks of the same name with the same alternatives in the same order."""
    choices = study.choices
    groups: dict[Any, list[int]] = {}
    for t in range(len(choices)):
        shown = np.ascontiguousarray(study.design[list(choices.rows(t))])
        groups.setdefault((choices.task[t], shown.tobytes()), []).append(t)
    for tasks in groups.values():
        if len(tasks) > 1:
            yield np.array(tasks)
