r"""Ordinal regression at every C: the exact path of scores and thresholds, and the choice of C.

A path on all objects is one section. By row and column generation it consists of several, each with its own
working set.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

import pqp
from ranking.core.validation import Array, Integers, Labels, Rows, positive_number
from ranking.errors import DataError, must_be, rounding_remedy
from ranking.ordinal.base import OrdinalModel, require_two
from ranking.ordinal.generation import (
    InitialSet,
    Limits,
    PathSection,
    Round,
    WorkingSet,
    initial_working_set,
    trace_sections,
)
from ranking.ordinal.level_curve import LevelLines, LevelMetricLike, level_curve
from ranking.ordinal.model import OrdinalSVM
from ranking.ordinal.thresholds import middle_thresholds
from ranking.selection.choice_along_path import SelectionCurve
from ranking.selection.path_model import PathEstimator, no_piece_error, on_path
from ranking.selection.piecewise import PiecewiseLinear
from ranking.selection.search import (
    Fold,
    PathSearch,
    Progress,
    Splits,
    given_folds,
    rows_of_fold,
    stratified_folds,
)


@dataclass(frozen=True, eq=False)
class SectionedPath:
    """Sections in ascending order, without gaps; `stopped` says why there are no more, if so."""

    sections: Sequence[PathSection]
    stopped: str | None = None

    @property
    def lo(self) -> float:
        """Where the path begins."""
        return self.sections[0].lo

    @property
    def hi(self) -> float:
        """Where it ends."""
        return self.sections[-1].hi


@dataclass(kw_only=True, eq=False, repr=False)
class OrdinalSVMPath(PathEstimator, OrdinalModel):
    """An ordinal support vector machine for every C up to `C_max`, exactly.

    Parameters
    ----------
    C_max, C_min
        Where the path ends and begins; `C_max=inf` for all of it.
    C
        The C that `predict` uses, until `select` chooses one; None is the end of the path.
    kernel, gamma, degree, coef0, kernel_params, levels, scope, ordered
        As for `OrdinalSVM`.
    working_set, add, random_state
        Row and column generation: which objects are in the program at first, "extremes" or "random" ones of
        each level or row numbers; others join when they would be violated, at most `add` at a time. None has
        all objects in it from the beginning. Worth it where C_min is so large that few margins are violated.
    max_pieces, time_limit
        Stop early; `sectioned_path_.stopped` then says why, and the path reaches to `C_end_`.

    Attributes
    ----------
    path_ : the `pqp.Path` of the dual variables, one per hinge, in C; `path_.certify()` proves it.
    sectioned_path_ : the same, also where there are working sets: its `sections`.
    rounds_ : how working sets grew, and how every section was started.
    breakpoints_ : where it bends.
    C_, C_end_ : the C in use, and the last one the path knows.
    is_separable_ : whether the last piece is the hard margin's; None if the path ends before.
    classes_, n_features_in_, feature_names_in_.

    The margin is as wide as the data allow from C = 1/2 on:

    >>> path = OrdinalSVMPath(C_max=float("inf")).fit([[0.0], [1.0], [3.0], [4.0]], [1, 1, 2, 2])
    >>> path.predict_projection([[2.5]], C=[0.1, 1]).round(9), path.is_separable_
    (array([[1.25, 2.5 ]]), True)
    """

    kind: ClassVar[str] = "Ordinal"

    C_max: float = 1000.0
    C_min: float = 0.0
    C: float | None = None
    working_set: InitialSet | None = None
    add: int | None = None
    random_state: int | None = None
    max_pieces: int | None = None
    time_limit: float | None = None

    @rounding_remedy("lower C_max")
    def fit(
        self,
        X: Rows,
        y: Labels,
        sample_weight: ArrayLike | None = None,
        progress: Callable[[pqp.Progress], None] | None = None,
    ) -> "OrdinalSVMPath":
        """Trace the path for ordered labels; `progress` receives a `pqp.Progress`."""
        ends = self._interval()
        training = self._read(X, y, sample_weight)
        self.training_, self.representation_ = training, training.representation
        if self.working_set is None:
            everything = WorkingSet(training, np.arange(training.hinges.n_items), self.ordered)
            path = self._solve(everything.program(), ends, progress)
            section = PathSection(path, everything, float(path.lo), float(path.hi))
            self.sectioned_path_ = SectionedPath([section], path.stopped)
        else:
            X = training.representation.X[training.items]
            how, seed = self.working_set, self.random_state
            rows = initial_working_set(training.codes, X, how, seed, name="working_set")
            # users number objects, programs distinct items
            start = training.items[rows]
            rounds: list[Round] = []
            limits = Limits(self.max_pieces, self.time_limit)
            found = trace_sections(training, ends, self.ordered, start, self.add, limits, rounds.append)
            if not (sections := list(found)):
                raise no_piece_error("a limit was reached first")
            self.rounds_ = pd.DataFrame(rounds)
            stopped = None if sections[-1].hi == ends[1] else "a limit was reached"
            self.sectioned_path_ = SectionedPath(sections, stopped)
        self._basis = training.representation.basis(training.hinges.pairs)
        self.C_ = self._known(self.C_end_ if self.C is None else self.C)
        return self

    def _interval(self) -> tuple[float, float]:
        C_max = positive_number(self.C_max, "C_max", can_be_infinite=True)
        C_min = 0.0 if self.C_min == 0 else positive_number(self.C_min, "C_min")
        if C_min >= C_max:
            raise must_be("C_min", f"below C_max, {C_max:g}", found=repr(self.C_min))
        if self.C is not None and not C_min <= positive_number(self.C, "C") <= C_max:
            raise must_be("C", f"between C_min and C_max, {C_min:g} and {C_max:g}", found=repr(self.C))
        return C_min, C_max

    @property
    def path_(self) -> pqp.Path:
        """The path of the dual variables, where it was traced on all objects at once."""
        check_is_fitted(self)
        if self.working_set is not None:
            raise AttributeError("the path was traced on working sets: see sectioned_path_.sections")
        return self.sectioned_path_.sections[0].path

    @property
    def C_end_(self) -> float:
        """The largest C the path knows; of a path without end its last bend, or 1 beyond its beginning."""
        traced, bends = self.sectioned_path_, self.breakpoints_
        if np.isfinite(traced.hi):
            return traced.hi
        # on a piece without end scores stand still, so its beginning shows all of it
        return float(bends[-1]) if len(bends) else traced.lo + 1.0

    @property
    def breakpoints_(self) -> Array:
        """The values of C at which the path bends, ascending, without its ends."""
        sections = self.sectioned_path_.sections
        # a section may have been traced beyond its end, where it is not optimal for the objects outside
        inner = [float(C) for s in sections for C in s.path.breakpoints if s.lo < C < s.hi]
        return np.unique([*inner, *(section.lo for section in sections[1:])])

    @property
    def is_separable_(self) -> bool | None:
        """Whether every object is at its margin or beyond on the last piece; None unless C_max is inf."""
        check_is_fitted(self)
        basis = self.sectioned_path_.sections[-1].path.segments[-1].basis
        if np.isfinite(self.sectioned_path_.hi) or basis is None:
            return None
        # a hinge at its cap C ω for all larger C is never satisfied; without one the hard margin is reached
        return "upper" not in basis.variables

    def alpha_at(self, C: float) -> Array:
        """Return the dual variables at one C, one per hinge; those outside the working set are 0."""
        where, sections = self._known(C), self.sectioned_path_.sections
        # where two sections meet the later one counts: beyond, the earlier one lacks objects
        section = sections[max(bisect_right([s.lo for s in sections], where) - 1, 0)]
        alpha = np.zeros(len(self.training_.hinges))
        alpha[section.hinges] = section.path.x(where)
        return alpha

    def thresholds_at(self, C: float) -> Array:
        """Return the thresholds at one C; of several optimal ones the middle."""
        f = self.representation_.scores(self.coef_at(C))
        # multipliers may be any optimal thresholds; the middle does not depend on the basis
        return middle_thresholds(self.training_.hinges, f, self.ordered)

    def predict_projection(self, X: Rows, C: float | Sequence[float] | Array | None = None) -> Array:
        """Return the score f(x) of every row at C_, at another C, or at several, one column each."""
        return self._scores(self._new_rows(X), C)

    def decision_function(self, X: Rows, C: float | None = None) -> Array:
        """Return by how much every row is inside each level at C_, or at another C; see `OrdinalSVM`."""
        check_is_fitted(self)
        where = self.C_ if C is None else C
        return self._margins_of(self.predict_projection(X, where), self.thresholds_at(where))

    def predict(self, X: Rows, C: float | None = None) -> Array:
        """Return the level of every row at C_, or at another C."""
        check_is_fitted(self)
        where = self.C_ if C is None else C
        return self._labels_of(self.predict_projection(X, where), self.thresholds_at(where))

    def at(self, C: float) -> OrdinalSVM:
        """Return the estimator at one C, fitted."""
        where = self._known(C)
        model = OrdinalSVM(where, **{name: getattr(self, name) for name in OrdinalModel().get_params()})
        self._share(model, ("classes_", "n_features_in_", "feature_names_in_"))
        return model._keep(self.training_, where, self.alpha_at(where))

    def score_lines(self, X: Rows) -> Iterator[PiecewiseLinear]:
        """Yield the scores of rows as lines in C, some pieces at a time."""
        return (lines.scores for lines in self.level_lines(X))

    def level_lines(self, X: Rows) -> Iterator[LevelLines]:
        """Yield the scores of rows and the thresholds as lines in C, some pieces at a time."""
        rows = self._new_rows(X)
        return (lines for section in self.sectioned_path_.sections for lines in section.lines(rows))

    def select(self, X: Rows, y: Labels, metric: LevelMetricLike = "mean_absolute_error") -> SelectionCurve:
        """Choose C on validation data, by the metric at every C instead of a grid; `C_` becomes the best.

        Labels may be levels the training data lack: no prediction is one of them.
        """
        levels = self.training_.declared.extended(y)
        predicted = levels.codes(self.classes_, "classes_")
        curve = level_curve(self.level_lines(X), levels.codes(y), len(levels), metric, predicted)
        self.C_ = curve.C_best
        return curve

    def _known(self, C: Any) -> float:
        check_is_fitted(self)
        traced = self.sectioned_path_
        remedy = "change C_min or C_max" if traced.stopped is None else f"it was stopped ({traced.stopped})"
        return on_path(C, (traced.lo, traced.hi), remedy)


@dataclass(kw_only=True, eq=False, repr=False)
class OrdinalSVMPathCV(ClassifierMixin, PathSearch):
    """An ordinal support vector machine whose C, and kernel parameters, are chosen by cross-validation.

    A fold whose training rows miss a level never predicts it, but is measured in the numbers of all levels.

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
        require_two(levels.observed(codes))
        folds = split_levels(self.cv, codes, self.random_state, reader._counted)
        # with the categories a fold knows the levels that it misses
        labels = pd.Categorical.from_codes(codes, categories=levels.names, ordered=True)
        chosen = self._search(fold_curve, (rows, labels, weight), folds, progress)
        self.best_estimator_ = chosen.fit(X, y, sample_weight)
        self.best_estimator_._share(self, ("classes_", "n_features_in_", "feature_names_in_"))
        return self

    def decision_function(self, X: Rows) -> Array:
        """Return by how much every row is inside each level, with the C and parameters that were chosen."""
        return self._chosen().decision_function(X)

    def predict_projection(self, X: Rows) -> Array:
        """Return the score f(x) of every row, with the C and the parameters that were chosen."""
        return self._chosen().predict_projection(X)

    def predict(self, X: Rows) -> Array:
        """Return a label for every row, with the C and the parameters that were chosen."""
        return self._chosen().predict(X)

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
