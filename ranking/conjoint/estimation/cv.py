"""ConjointPathCV: C, shrinkage and other parameters of a path, chosen by folds of whole tasks.

Folds are compared by the hit rate, a step function of C that is known exactly, or by the root likelihood,
which is not a step function. Utilities of a large-margin model have no scale, so at every C the choices get
the scale that makes them most likely: what is compared is how well utilities predict the odds, not how large
they are. The root likelihood is evaluated in the middle of cells, which are equally wide on a logarithmic
axis, and the curve has this value on the whole cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, cast, get_args

import numpy as np
import pandas as pd
from sklearn.base import clone

from ranking.conjoint.data.study import By, ConjointStudy
from ranking.conjoint.estimation.model import (
    ConjointModel,
    ConjointSVM,
    HasIndividualPartWorths,
    require_study,
)
from ranking.conjoint.estimation.path import ConjointPath, hit_rate_curve
from ranking.conjoint.results.calibration import Calibration, calibrate, fit_scale, gaps_of, joined
from ranking.core.validation import Array, Integers, require_choice, whole_number
from ranking.errors import DataError, must_be
from ranking.selection.choice_along_path import SelectionCurve, log_midpoint
from ranking.selection.search import PathSearch, Progress

# How many cells there are for a factor of ten, and for how many such factors below C_max.
CELLS, DECADES = 10, 3
# A path that should end at an edge may end this part of C before it, by rounding.
ROUNDED = 1e-12


def likelihood_curve(judged: Sequence[tuple[ConjointPath, ConjointStudy]]) -> SelectionCurve:
    """Return the root likelihood of the choices of some studies, each by a path of its own.

    All of them together have one scale at every C. Standard errors are not known.
    """
    edges = cell_edges(float(judged[0][0].C_max), min(path.C_end_ for path, _ in judged))
    values = []
    for C in map(log_midpoint, pairwise(edges.tolist())):
        gaps = [gaps_of(path.individual_part_worths_at(C), study) for path, study in judged]
        values.append(fit_scale(*joined(gaps)).root_likelihood)
    return SelectionCurve(edges, np.array(values), np.full(len(values), np.nan), is_exact=False)


def cell_edges(C_max: float, end: float) -> Array:
    """Return the edges of those cells of C up to C_max that paths reach which end at `end`.

    >>> cell_edges(1.0, 1.0)[[0, 10, 20, 30]].round(12).tolist()
    [0.001, 0.01, 0.1, 1.0]
    """
    require_end(C_max)
    edges = C_max * 10.0 ** (-np.arange(CELLS * DECADES, -1, -1) / CELLS)
    reached = edges[edges <= end * (1 + ROUNDED)]
    if len(reached) < 2:
        message = f"a path ends at C = {{found}}, before C_max / 10^{DECADES}"
        raise DataError(message, argument="time_limit", found=f"{end:g}", remedy="raise {argument}")
    return np.asarray(reached)


def require_end(C_max: float) -> None:
    """Raise for paths without end."""
    if np.isinf(C_max):
        wanted = "finite for the metric root_likelihood, which is evaluated at single C"
        raise must_be("C_max", wanted, found="inf")


# A study to learn from, and one to judge by.
StudyFold = tuple[ConjointStudy, ConjointStudy]
Metric = Literal["hit_rate", "root_likelihood"]
METRICS = get_args(Metric)


@dataclass(kw_only=True, eq=False, repr=False)
class ConjointPathCV(HasIndividualPartWorths, PathSearch):
    """Part-worths from choices, with C and other parameters chosen by cross-validation on whole paths.

    Parameters
    ----------
    estimator
        A `ConjointPath`; its parameters other than those in `param_grid` are kept.
    param_grid
        Values of its parameters to compare, as for `GridSearchCV`, e.g. {"shrinkage": [0.1, 0.3]}.
    cv
        The number of folds. Tasks are never divided.
    by
        "task": the tasks of every respondent are spread over the folds; "respondent": respondents are, which
        judges how well new respondents are predicted.
    metric
        "hit_rate", at every C; or "root_likelihood", with the scale that suits each C best, at ten values of
        C for every factor of ten, from C_max / 1000 to C_max.
    choice
        "best", or "one_standard_error" for the most regularised C within one standard error of the best.
    group_size
        How many respondents are pooled, at most, while parameters are compared; None for all of them. Paths
        of small pools are traced much faster than those of large ones. It matters only with
        pooling="shrinkage", and only for the choice: the model is then fitted to everybody together.
    n_jobs, random_state
        Processes, as in joblib; the seed of the folds and of the groups.

    Attributes
    ----------
    C_, best_params_, best_score_ : what was chosen, and the mean of its metric.
    curve_ : the mean `SelectionCurve` of the chosen parameters; `curve_.best_intervals` are all best C.
    candidates_ : parameters, curves of folds and mean curve of everything compared.
    best_estimator_ : a `ConjointSVM` at C_, fitted to all tasks.
    calibration_ : the scale of its utilities, from the same folds: everybody together is fitted once more to
        the tasks outside each fold. Where there are orders, which makes large pools slow, by groups.
    part_worths_, individual_part_worths_, importances_ : those of best_estimator_.

    >>> from ranking.conjoint import example_study
    >>> train, held = example_study().split_holdout()
    >>> path = ConjointPath(C_max=1, pooling="shrinkage")
    >>> model = ConjointPathCV(path, {"shrinkage": [0.2, 0.5]}, cv=3).fit(train)
    >>> model.score(held) > 0.5
    True
    >>> print(model.calibration_)
    scale ...: root likelihood ... in 192 tasks, 0.250 by chance
    """

    cv: int = 5
    metric: str = "hit_rate"
    by: By = "task"
    group_size: int | None = None
    _path_type = ConjointPath

    def fit(self, study: ConjointStudy, y: None = None, progress: Progress | None = None) -> "ConjointPathCV":
        """Choose by cross-validation on the tasks that are not held out, and fit to all of them."""
        require_study(study)
        self._require_arguments(study)
        require_choice(self.metric, METRICS, "metric")
        if self.metric == "root_likelihood":
            require_end(self._base().C_max)
        size = self.group_size
        if size is not None:
            size = whole_number(size, "group_size", "a positive number of respondents, or None")
        study = study.without_holdout()
        folds: Any = list(study.folds(self.cv, self.random_state, self.by))
        groups = respondent_groups(len(study.respondents), size, self.random_state)
        chosen = self._search(fold_curve, (groups,), folds, progress)
        shared = ("pooling", "shrinkage", "orders")
        model = ConjointSVM(self.C_, n_jobs=self.n_jobs, **{name: getattr(chosen, name) for name in shared})
        # orders leave the structure of a pool unused, so its whole path is traced: minutes for hundreds
        is_slow = model.pooling == "shrinkage" and model.orders
        together = [np.arange(len(study.respondents))]
        fit = partial(part_worths_by_group, clone(model), groups if is_slow else together)
        self.calibration_: Calibration = calibrate(
            fit, study, self.cv, self.random_state, self.n_jobs, self.by
        )
        self.best_estimator_ = model.fit(study)
        return self

    def _fitted(self) -> ConjointModel:
        return cast(ConjointModel, self._chosen())


def fold_curve(
    model: ConjointPath, groups: list[Integers], fold: StudyFold, metric: str = "hit_rate"
) -> SelectionCurve:
    """Return a metric in the tasks of a fold along paths fitted to the others, group by group."""
    train, held = fold
    if model.pooling == "shrinkage":
        names = [train.respondents[group] for group in groups]
        parts = [(train.only(respondents=part), held.only(respondents=part)) for part in names]
    else:
        # without pooling, part-worths do not depend on who else is in the group
        parts = [fold]
    # one path at a time, as those of large pools are long
    judged = ((clone(model).fit(own), tasks) for own, tasks in parts if len(tasks.choices))
    if metric == "root_likelihood":
        return likelihood_curve(list(judged))
    return hit_rate_curve([steps for path, tasks in judged for steps in path.hit_steps(tasks)])


def part_worths_by_group(model: ConjointSVM, groups: list[Integers], study: ConjointStudy) -> pd.DataFrame:
    """Return the part-worths of everybody, each group fitted by itself."""
    parts = [study.only(respondents=study.respondents[group]) for group in groups]
    return pd.concat([clone(model).fit(part).individual_part_worths_ for part in parts])


def respondent_groups(n: int, size: int | None, random_state: int | None) -> list[Integers]:
    """Return the codes of respondents in random groups of nearly equal size; all in one without a size.

    >>> [len(group) for group in respondent_groups(10, 4, 0)]
    [4, 3, 3]
    """
    if size is None or size >= n:
        return [np.arange(n)]
    shuffled = np.random.default_rng(random_state).permutation(n)
    return [np.sort(part) for part in np.array_split(shuffled, -(-n // size))]
