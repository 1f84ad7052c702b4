"""Searches on whole paths: every C is judged in every fold, and parameters of the path are compared.

Folds and parameters are independent, so they go through joblib: `n_jobs=2`, or
`with joblib.parallel_config(backend="dask"):` for a cluster.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from ranking.core.validation import Array, require_choice
from ranking.errors import DataError, must_be
from ranking.selection.choice_along_path import SelectionCurve, average_curves

Fold = tuple[Array, Array]
Grid = Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]]
Progress = Callable[[int, int], None]


class Splitter(Protocol):
    """What splits rows into folds, as the splitters of scikit-learn do."""

    def split(self, X: Array, y: Array | None, groups: Array | None) -> Iterable[Fold]:
        """Return the folds as (train, validation) row numbers."""


# A number of folds, a splitter, or the folds themselves.
Splits = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]


@dataclass(frozen=True, eq=False)
class Candidate:
    """Parameters of a path, the curve of every fold, and their mean."""

    parameters: Mapping[str, Any]
    folds: tuple[SelectionCurve, ...]
    mean: SelectionCurve


@dataclass(kw_only=True, eq=False, repr=False)
class PathSearch(MetaEstimatorMixin, BaseEstimator):
    """A path estimator whose C, and other parameters, are chosen by cross-validation.

    A subclass names its kind of path, reads its own data and folds, and calls `_search`, which returns the
    chosen estimator for it to fit to all data as `best_estimator_`.
    """

    estimator: BaseEstimator | None = field(default=None, kw_only=False)
    param_grid: Grid | None = field(default=None, kw_only=False)
    cv: Splits = 5
    metric: object = None
    choice: str = "best"
    n_jobs: int | None = None
    random_state: int | None = 0
    # the class of path estimators that is searched
    _path_type: ClassVar[type[Any]]

    def _base(self) -> Any:
        """Return the estimator to vary, or one of the default parameters."""
        kind = self._path_type
        base = kind() if self.estimator is None else self.estimator
        if not isinstance(base, kind):
            article = "an" if kind.__name__[0] in "AEIOU" else "a"
            raise must_be("estimator", f"{article} {kind.__name__}", found=type(base).__name__)
        return base

    def _require_arguments(self, y: Any) -> None:
        """Raise for parameters or labels that no data can make sense of."""
        require_choice(self.choice, ("best", "one_standard_error"), "choice")
        self._base()
        if y is None:
            message = "{found} requires {argument} to be passed, but the target y is None"
            raise DataError(message, argument="y", found=type(self).__name__)

    def _search(
        self,
        curve: Callable[..., SelectionCurve],
        data: tuple[Any, ...],
        folds: list[Fold],
        progress: Progress | None = None,
    ) -> Any:
        """Choose, and return an estimator with what was chosen, not fitted yet.

        `curve(model, *data, fold, metric)` fits a model to the training rows of data, and returns its curve
        on the others; it is called in other processes.
        """
        base = self._base()
        grid = list(ParameterGrid(self.param_grid or {}))
        # one clone for every path, since several may be fitted at the same time
        models = [(clone(base).set_params(**parameters), fold) for parameters in grid for fold in folds]
        tasks = [(model, *data, fold, self.metric) for model, fold in models]
        running = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(curve)(*arguments) for arguments in tasks
        )
        curves = []
        for found in running:
            curves.append(found)
            if progress is not None:
                progress(len(curves), len(tasks))
        self.candidates_ = []
        for k, parameters in enumerate(grid):
            part = curves[k * len(folds) : (k + 1) * len(folds)]
            self.candidates_.append(Candidate(parameters, tuple(part), average_curves(part)))
        best = max(self.candidates_, key=lambda candidate: candidate.mean.gains.max())
        self.curve_, self.best_params_ = best.mean, dict(best.parameters)
        self.C_ = self.curve_.C_best if self.choice == "best" else self.curve_.C_one_standard_error
        self.best_score_ = float(self.curve_.at(self.C_))
        return clone(base).set_params(**self.best_params_, C=self.C_)

    def _chosen(self) -> Any:
        """Return the chosen estimator, fitted."""
        check_is_fitted(self)
        return self.best_estimator_

    def results(self) -> pd.DataFrame:
        """Return one row for everything compared: parameters, best mean metric, its standard error, C."""
        check_is_fitted(self)
        rows = []
        for candidate in self.candidates_:
            mean = candidate.mean
            found = {"best": mean.best, "standard_error": mean.error_at(mean.C_best), "C_best": mean.C_best}
            rows.append({**candidate.parameters, **found, "C_one_standard_error": mean.C_one_standard_error})
        smallest_first = not self.curve_.greater_is_better
        return pd.DataFrame(rows).sort_values(
            "best", ascending=smallest_first, ignore_index=True, kind="stable"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self._base().__sklearn_tags__().input_tags
        tags.target_tags.required = True
        return tags


def given_folds(cv: Splits, y: Array, groups: Array | None = None) -> list[Fold] | int:
    """Return the folds of a splitter, or of a list of them; or how many are to be made."""
    if isinstance(cv, int | np.integer):
        if cv < 2:
            raise must_be("cv", "at least 2 folds", found=str(cv))
        return int(cv)
    given: Any = cv.split(np.arange(len(y)), y, groups) if hasattr(cv, "split") else cv
    return list(given)


def stratified_folds(cv: int, y: Array, random_state: int | None) -> list[Fold]:
    """Return folds that got the rows, sorted by label and equal ones shuffled, one by one.

    A label that several rows have is thus in the training rows of every fold.

    >>> [validation.tolist() for _, validation in stratified_folds(2, np.array([5, 1, 3, 2]), 0)]
    [[1, 2], [0, 3]]
    """
    random = np.random.default_rng(random_state)
    fold = np.empty(len(y), dtype=np.int64)
    fold[np.lexsort((random.permutation(len(y)), y))] = np.arange(len(y)) % cv
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(cv)]


def rows_of_fold(X: Any, rows: Array, train: Array, is_pairwise: bool) -> Any:
    """Return some rows, of a Gram matrix only the columns of training rows."""
    return X[rows][:, train] if is_pairwise else X[rows]
