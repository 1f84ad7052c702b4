"""Cross-validation of ranking paths: what `search` does, on labels within queries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import GroupKFold
from sklearn.utils.validation import check_is_fitted

from ranking.core.preferences import take_qid
from ranking.core.validation import Array, Queries, Rows, as_queries, query_codes
from ranking.errors import must_be
from ranking.ranksvm.base import RankerMixin, validated
from ranking.ranksvm.path import RankSVMPath
from ranking.selection.curve import Metric, SelectionCurve
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
class RankSVMPathCV(RankerMixin, PathSearch):
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
        What is maximised: a name from `ranking.metrics.tables`, or a function of labels, scores and queries.
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

    metric: Metric = "pairwise_accuracy"
    _path_type = RankSVMPath

    def fit(
        self, X: Rows, y: ArrayLike, qid: Queries | None = None, progress: Progress | None = None
    ) -> "RankSVMPathCV":
        """Choose by cross-validation and refit; `progress` receives the numbers of paths done and in all."""
        self._require_arguments(y)
        frame, qid = take_qid(X, qid)
        rows, labels = validated(self, frame, y)
        queries = None if qid is None else as_queries(qid)
        folds = split_rows(self.cv, labels, queries, self.random_state)
        chosen = self._search(FoldTask(fold_curve, (rows, labels, queries), folds), progress)
        self.best_estimator_ = chosen.fit(frame, labels, queries)
        return self

    def decision_function(self, X: Rows) -> Array:
        """Return a score for every row, with the C and the parameters that were chosen."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))


def fold_curve(
    model: RankSVMPath, X: Any, y: Array, qid: Array | None, fold: Fold, metric: Metric
) -> SelectionCurve:
    """Return the metric on the validation rows of a fold, along the path fitted to its training rows."""
    train, validation = fold
    is_pairwise = model.kernel == "precomputed"
    model.fit(rows_of_fold(X, train, train, is_pairwise), y[train], None if qid is None else qid[train])
    there = None if qid is None else qid[validation]
    return model.select(rows_of_fold(X, validation, train, is_pairwise), y[validation], there, metric)


def split_rows(cv: Splits, y: Array, qid: Queries | None, random_state: int | None) -> list[Fold]:
    """Return the folds as (train, validation) row numbers; queries stay together if there are several."""
    codes = query_codes(qid, len(y))
    count = given_folds(cv, y, None if qid is None else codes)
    if not isinstance(count, int):
        return count
    if codes.max() > 0:
        if codes.max() + 1 < count:
            raise must_be("cv", f"at most {codes.max() + 1}, the number of queries", found=count)
        # only rows of one query are compared: a query in two folds would lose the pairs between its parts
        splitter = GroupKFold(count, shuffle=True, random_state=random_state)
        return list(splitter.split(np.arange(len(y)), groups=codes))
    if len(y) < 2 * count:
        raise must_be("cv", f"at most {len(y) // 2}: every fold needs two rows to compare", found=count)
    return stratified_folds(count, y, random_state)
