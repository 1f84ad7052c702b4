"""Cross-validation of ordinal paths: what `search` does, on labels in order.

A fold whose training rows miss a level never predicts it, but is measured in the numbers of all levels.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from ranking.core.validation import Array, Integers, Labels, Rows
from ranking.errors import DataError, must_be
from ranking.ordinal.path import OrdinalSVMPath
from ranking.ordinal.selection import LevelMetricLike
from ranking.selection.curve import SelectionCurve
from ranking.selection.search import (
    Fold,
    FoldTask,
    PathSearch,
    Progress,
    Splits,
    given_folds,
    rows_of_fold,
    stratified_folds,
)


@dataclass(kw_only=True, eq=False, repr=False)
class OrdinalSVMPathCV(ClassifierMixin, PathSearch):
    """An ordinal support vector machine whose C, and kernel parameters, are chosen by cross-validation.

    Parameters
    ----------
    estimator
        An `OrdinalSVMPath`; its parameters other than those in `param_grid` are kept.
    cv
        The number of folds, a splitter or a list of (train, validation) row numbers. For a number of folds,
        rows sorted by level are dealt out one by one, so that a level of several rows is in the training
        rows of every fold.
    metric
        By what it is chosen: a key of `ranking.metrics.levels.LEVEL_METRICS`, of which errors are
        minimised; or a function of the numbers of true and predicted levels, which is maximised.
    param_grid, choice, n_jobs, random_state
        As for `RankSVMPathCV`.

    Attributes
    ----------
    C_, best_params_, best_score_, curve_, candidates_, best_estimator_ : as of `RankSVMPathCV`.
    classes_ : the labels that occur, lowest first.
    """

    metric: LevelMetricLike = "mean_absolute_error"
    _path_type = OrdinalSVMPath

    def fit(
        self, X: Rows, y: Labels, sample_weight: ArrayLike | None = None, progress: Progress | None = None
    ) -> "OrdinalSVMPathCV":
        """Choose by cross-validation and refit; `progress` receives the numbers of paths done and in all.

        Weights count where paths are fitted. Validation rows all count the same, but those of weight 0, which
        are left out everywhere.
        """
        self._require_arguments(y)
        # a clone, because reading sets attributes and a search must not change the estimator it was given
        reader = clone(self._base())
        rows, codes, weight, levels = reader._checked(X, y, sample_weight)
        if len(observed := levels.observed(codes)) < 2:
            message = "{argument} has one class only, {found}; two are needed"
            raise DataError(message, argument="y", found=observed.shown)
        folds = split_levels(self.cv, codes, self.random_state, reader._counted)
        # with the categories a fold knows the levels that it misses
        labels = pd.Categorical.from_codes(codes, categories=levels.names, ordered=True)
        chosen = self._search(FoldTask(fold_curve, (rows, labels, weight), folds), progress)
        self.best_estimator_ = chosen.fit(X, y, sample_weight)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def decision_function(self, X: Rows) -> Array:
        """Return by how much every row is inside each level, with the C and parameters that were chosen."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def predict_projection(self, X: Rows) -> Array:
        """Return the score f(x) of every row, with the C and the parameters that were chosen."""
        check_is_fitted(self)
        return self.best_estimator_.predict_projection(X)

    def predict(self, X: Rows) -> Array:
        """Return a label for every row, with the C and the parameters that were chosen."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = self._base().__sklearn_tags__().classifier_tags
        return tags


def fold_curve(
    model: OrdinalSVMPath, X: Any, y: Any, weight: Array, fold: Fold, metric: LevelMetricLike
) -> SelectionCurve:
    """Return the metric on the validation rows of a fold, along the path fitted to its training rows."""
    train, validation = fold
    is_pairwise = model.kernel == "precomputed"
    model.fit(rows_of_fold(X, train, train, is_pairwise), y[train], weight[train])
    return model.select(rows_of_fold(X, validation, train, is_pairwise), y[validation], metric)


def split_levels(
    cv: Splits, codes: Integers, random_state: int | None, counted: Integers | None = None
) -> list[Fold]:
    """Return the folds as (train, validation) row numbers, each with at least two levels.

    Where some rows do not count, `counted` are the numbers of those that do, by which a list of folds names
    them; codes are theirs alone, and the result numbers them from 0.

    >>> codes = np.array([0, 0, 1, 1])
    >>> [codes[validation].tolist() for _, validation in split_levels(2, codes, 0)]
    [[0, 1], [0, 1]]
    """
    if counted is not None and isinstance(cv, Iterable):
        cv = [(_places(train, counted), _places(validation, counted)) for train, validation in cv]
    folds = given_folds(cv, codes)
    if isinstance(folds, int):
        if len(codes) < folds:
            raise must_be("cv", f"at most {len(codes)}, the number of rows", found=folds)
        folds = stratified_folds(folds, codes, random_state)
    for number, (train, _) in enumerate(folds):
        if len(np.unique(codes[train])) < 2:
            raise DataError(
                "the training rows of fold {found} are of one level only, {expected} are needed",
                argument="cv",
                found=number,
                expected="at least two",
                remedy="use other folds, or more objects of the other levels",
            )
    return folds


def _places(rows: Any, counted: Integers) -> Integers:
    """Return where rows are among those that count, without the others."""
    found = pd.Index(counted).get_indexer(pd.Index(np.asarray(rows)))
    return found[found >= 0].astype(np.int64)
