"""Cross-validation on whole paths: every C is judged in every fold, and kernel parameters are compared.

Folds and kernel parameters are independent, so they go through joblib: `n_jobs=2`, or
`with joblib.parallel_config(backend="dask"):` for a cluster.

Room: rows and labels in; the mean curve of every candidate, the chosen C and a path refitted on all data out.
May touch: `errors`, `arguments`, `arrays`, `data`, `steps`, `selection`, `ranker`, `ranksvm_path`; joblib.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import GroupKFold, ParameterGrid
from sklearn.utils.validation import check_is_fitted

from ranking.arguments import Queries, as_queries, query_codes
from ranking.arrays import Array
from ranking.data import take_qid
from ranking.errors import DataError
from ranking.ranker import RankerMixin, validated
from ranking.ranksvm_path import RankSVMPath
from ranking.selection import SelectionCurve, average_curves
from ranking.steps import Metric

Fold = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Candidate:
    """Kernel parameters, the curve of every fold, and their mean."""

    parameters: Mapping[str, Any]
    folds: tuple[SelectionCurve, ...]
    mean: SelectionCurve


class RankSVMPathCV(RankerMixin, MetaEstimatorMixin, BaseEstimator):
    """A ranking support vector machine whose C, and kernel parameters, are chosen by cross-validation.

    Parameters
    ----------
    estimator
        A `RankSVMPath`; its parameters other than those in `param_grid` are kept.
    param_grid
        Values of its parameters to compare, as for `GridSearchCV`, e.g. {"gamma": [0.1, 1]}.
    cv
        The number of folds, a splitter or a list of (train, validation) row numbers. A number of folds keeps
        queries together if there are several; else rows sorted by label are dealt out one by one, so that
        every fold has labels of all sizes.
    metric
        What is maximised: a name from `ranking.metrics`, or a function of labels, scores and queries.
    choice
        "best", or "one_standard_error" for the most regularised C within one standard error of the best.
    n_jobs, random_state
        Processes, as in joblib; the seed of the split of queries, or of rows with equal labels.

    Attributes
    ----------
    C_, best_params_, best_score_ : what was chosen, and its mean metric.
    curve_ : the mean `SelectionCurve` of the chosen parameters; `curve_.best_intervals` are all best C.
    candidates_ : parameters, curves of folds and mean curve of everything compared.
    best_estimator_ : the path refitted on all data, with C_ in use.
    """

    def __init__(
        self,
        estimator: RankSVMPath | None = None,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
        *,
        cv: Any = 5,
        metric: Metric = "pairwise_accuracy",
        choice: str = "best",
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.metric = metric
        self.choice = choice
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, qid: Queries | None = None, progress: Callable[[int, int], None] | None = None
    ) -> "RankSVMPathCV":
        """Choose by cross-validation and refit; `progress` hears how many of how many paths are done."""
        if self.choice not in ("best", "one_standard_error"):
            raise DataError(f"choice must be 'best' or 'one_standard_error', got {self.choice!r}")
        base = self._base()
        if y is None:
            raise DataError("RankSVMPathCV requires y to be passed, but the target y is None")
        frame, qid = take_qid(X, qid)
        rows, labels = validated(self, frame, y)
        queries = None if qid is None else as_queries(qid)
        folds = split_rows(self.cv, labels, queries, self.random_state)
        grid = list(ParameterGrid(self.param_grid or {}))
        models = [(clone(base).set_params(**parameters), fold) for parameters in grid for fold in folds]
        tasks = [(model, rows, labels, queries, fold, self.metric) for model, fold in models]
        curves = self._curves(tasks, progress)
        self.candidates_ = [
            Candidate(parameters, tuple(part), average_curves(part))
            for parameters, part in zip(grid, _chunks(curves, len(folds)), strict=True)
        ]
        self._choose(clone(base), frame, labels, queries)
        return self

    def _base(self) -> RankSVMPath:
        base = RankSVMPath() if self.estimator is None else self.estimator
        if not isinstance(base, RankSVMPath):
            raise DataError(f"estimator must be a RankSVMPath, got {type(base).__name__}")
        return base

    def _curves(
        self, tasks: list[tuple[Any, ...]], progress: Callable[[int, int], None] | None
    ) -> list[SelectionCurve]:
        """Return the curve of every task, in order."""
        running = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(fold_curve)(*task) for task in tasks
        )
        curves = []
        for curve in running:
            curves.append(curve)
            if progress is not None:
                progress(len(curves), len(tasks))
        return curves

    def _choose(self, base: RankSVMPath, X: Any, y: Array, qid: Queries | None) -> None:
        best = max(self.candidates_, key=lambda candidate: candidate.mean.best)
        self.curve_, self.best_params_ = best.mean, dict(best.parameters)
        self.C_ = self.curve_.C_best if self.choice == "best" else self.curve_.C_one_standard_error
        self.best_score_ = float(self.curve_.at(self.C_))
        self.best_estimator_ = base.set_params(**self.best_params_, C=self.C_).fit(X, y, qid)

    def results(self) -> pd.DataFrame:
        """Return one row for everything compared: parameters, best mean metric, its standard error, C."""
        rows = []
        for candidate in self.candidates_:
            mean = candidate.mean
            found = {"best": mean.best, "standard_error": mean.error_at(mean.C_best), "C_best": mean.C_best}
            rows.append({**candidate.parameters, **found, "C_one_standard_error": mean.C_one_standard_error})
        return pd.DataFrame(rows).sort_values("best", ascending=False, ignore_index=True, kind="stable")

    def decision_function(self, X: Any) -> Array:
        """Return a score for every row, with the C and the parameters that were chosen."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self._base().__sklearn_tags__().input_tags
        tags.target_tags.required = True
        return tags


def fold_curve(
    model: RankSVMPath, X: Any, y: Array, qid: Array | None, fold: Fold, metric: Metric
) -> SelectionCurve:
    """Return the metric on the validation rows of a fold, along the path fitted to its training rows."""
    train, validation = fold
    is_pairwise = model.kernel == "precomputed"
    model.fit(_rows(X, train, train, is_pairwise), y[train], None if qid is None else qid[train])
    there = None if qid is None else qid[validation]
    return model.select(_rows(X, validation, train, is_pairwise), y[validation], there, metric)


def split_rows(cv: Any, y: Array, qid: Queries | None, random_state: int | None) -> list[Fold]:
    """Return the folds as (train, validation) row numbers; queries stay together if there are several."""
    codes, rows = query_codes(qid, len(y)), np.arange(len(y))
    if not isinstance(cv, int | np.integer):
        groups = None if qid is None else codes
        return list(cv.split(rows, y, groups) if hasattr(cv, "split") else cv)
    if cv < 2:
        raise DataError(f"cv must be at least 2 folds, got {cv}")
    if codes.max() > 0:
        if codes.max() + 1 < cv:
            raise DataError(
                f"cv is {cv} folds, but there are only {codes.max() + 1} queries to keep together"
            )
        return list(GroupKFold(cv, shuffle=True, random_state=random_state).split(rows, groups=codes))
    if len(y) < 2 * cv:
        raise DataError(f"cv is {cv} folds, but {len(y)} rows are too few: every fold needs two to compare")
    return _dealt(y, int(cv), np.random.default_rng(random_state))


def _dealt(y: Array, cv: int, random: np.random.Generator) -> list[Fold]:
    """Return folds that got the rows, sorted by label and equal ones shuffled, one by one."""
    fold = np.empty(len(y), dtype=np.int64)
    fold[np.lexsort((random.permutation(len(y)), y))] = np.arange(len(y)) % cv
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(cv)]


def _rows(X: Any, rows: Array, columns: Array, is_pairwise: bool) -> Any:
    return X[rows][:, columns] if is_pairwise else X[rows]


def _chunks(curves: list[SelectionCurve], size: int) -> list[list[SelectionCurve]]:
    return [curves[k : k + size] for k in range(0, len(curves), size)]
