r"""RankSVM at every C: the exact regularisation path of the hinge loss, scores without refitting, selection.

In Zapien's letters :math:`\lambda = 1/C` and :math:`\alpha_Z = \lambda\alpha \in [0, 1]`; both are shown.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.model_selection import GroupKFold
from sklearn.utils.validation import check_is_fitted

import pqp
from ranking.core.preferences import Pairs, Preferences, take_qid
from ranking.core.representation import validated
from ranking.core.validation import Array, Queries, Rows, as_queries, query_codes, require_choice
from ranking.errors import DataError, must_be, rounding_remedy
from ranking.ranksvm.model import Ranker, RankerMixin, RankSVM
from ranking.ranksvm.solvers import fitted_from_alpha
from ranking.selection.choice_along_path import Metric, SelectionCurve, validation_curve
from ranking.selection.path_model import PathEstimator, end_of_path, no_piece_error, on_path
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

if TYPE_CHECKING:
    from ranking.ranksvm.score_path import Line, ScorePath

# Pieces whose scores are evaluated together: a few megabytes.
BLOCK = 256
# Pairs from which a path in scores is chosen by itself: its compiled loops take half a second to load.
MANY_PAIRS = 5000
# Where a path in pairs ends unless C_max says otherwise; one in scores goes to its last event.
PAIRS_END = 1000.0

PathSolver = Literal["auto", "scores", "pairs"]


class PairSets(NamedTuple):
    """Which pairs are ranked with room to spare (I_0), just at their margin (I_α), or violate it (I_1)."""

    satisfied: Array
    margin: Array
    violated: Array


@dataclass(kw_only=True, eq=False, repr=False)
class RankSVMPath(PathEstimator, Ranker):
    """A ranking support vector machine for every C up to `C_max`, exactly.

    Parameters
    ----------
    C_max
        Where the path ends; `inf` for all of it. None is `inf` with scores, 1000 with pairs.
    solver
        "scores" follows one score per row: fast with many pairs. "pairs" follows one dual variable per pair
        with `pqp.solve_path`. Both give the same functions. "auto" takes scores from 5 000 pairs on, if all
        margins are 1.
    C
        The C that `predict` uses, until `select` chooses one; None is the end of the path.
    kernel, gamma, degree, coef0, kernel_params, reduction, representative, random_state
        As for `RankSVM`.
    max_pieces, time_limit
        Stop early; `path_.stopped` then says why, and the path reaches to `C_end_`.

    Attributes
    ----------
    path_ : the `pqp.Path` of the dual variables in C, or the `ScorePath`; `path_.certify()` proves it.
    solver_ : what was used, "scores" or "pairs".
    breakpoints_, lambdas_ : where it bends, in C and in λ = 1/C.
    C_, C_end_ : the C in use, and the last one the path knows.
    preferences_, n_features_in_, feature_names_in_.

    On these data w = 9 C at first, and w = 1/2.5 while the pair that differs by 2.5 is at its margin.

    >>> X, y = [[0.0], [1.0], [3.0], [2.5]], [1, 2, 3, 2]
    >>> ranker = RankSVMPath(C_max=10).fit(X, y)
    >>> ranker.decision_function([[1.0]], C=[0.01, 0.1]).round(9)
    array([[0.09, 0.4 ]])
    """

    kind: ClassVar[str] = "RankSVM"

    C_max: float | None = None
    solver: PathSolver = "auto"
    C: float | None = None
    max_pieces: int | None = None
    time_limit: float | None = None

    @rounding_remedy("lower C_max")
    def fit(
        self,
        X: Rows,
        y: ArrayLike | None = None,
        qid: Queries | None = None,
        pairs: Pairs | None = None,
        pair_weight: ArrayLike | None = None,
        margin: ArrayLike | None = None,
        progress: Callable[[pqp.Progress], None] | None = None,
    ) -> "RankSVMPath":
        """Trace the path for labels y within queries, or for pairs; `progress` receives a `pqp.Progress`."""
        require_choice(self.solver, ("auto", "scores", "pairs"), "solver")
        if self.C_max is not None:
            end_of_path(self.C_max, self.C)
        self.representation_, self._pairs = self._read(X, y, qid, pairs, pair_weight, margin)
        preferences = self.preferences_
        self.solver_ = self._solver_for(preferences)
        C_max = (np.inf if self.solver_ == "scores" else PAIRS_END) if self.C_max is None else self.C_max
        end_of_path(C_max, self.C)
        self.path_: Any
        if self.solver_ == "scores":
            self.path_ = self._followed(preferences, C_max, progress)
        else:
            self.path_ = self._solve(self.representation_.dual(preferences), (0.0, C_max), progress)
        self._basis = self.representation_.basis(self.preferences_.pairs)
        self.C_ = self._checked(self.C_end_ if self.C is None else self.C)
        return self

    def _solver_for(self, preferences: Preferences) -> Literal["scores", "pairs"]:
        is_plain = bool((preferences.margin == 1).all())
        if self.solver == "scores" and not is_plain:
            message = "{argument}='scores' needs margins of 1, got {found}"
            raise DataError(
                message, argument="solver", found="others", remedy="leave out margin, or take 'pairs'"
            )
        if self.solver == "auto":
            return "scores" if is_plain and len(preferences) >= MANY_PAIRS else "pairs"
        return self.solver

    def _followed(
        self, preferences: Preferences, C_max: float, progress: Callable[[pqp.Progress], None] | None
    ) -> "ScorePath":
        """Return the path in scores, within the limits."""
        # compiled loops, which only this path waits for
        from ranking.ranksvm.score_path import follow_scores, score_features

        representation = self.representation_
        begin = time.monotonic()

        def reason_to_stop(C: float, events: int) -> str | None:
            if progress is not None:
                progress(pqp.Progress(C, events, events))
            if self.max_pieces is not None and events >= self.max_pieces:
                return f"max_pieces = {self.max_pieces} was reached"
            if self.time_limit is not None and time.monotonic() - begin > self.time_limit:
                return f"time_limit = {self.time_limit} was reached"
            return None

        path = follow_scores(
            score_features(representation),
            preferences,
            C_max,
            reason_to_stop,
            gram=partial(getattr, representation, "gram"),
        )
        if not path.hi > 0:
            raise no_piece_error(path.stopped)
        return path

    @property
    def C_end_(self) -> float:
        """The largest C the path knows; the last bend of a path without end."""
        return float(self.path_.segments[-1].lo if np.isinf(float(self.path_.hi)) else self.path_.hi)

    @property
    def breakpoints_(self) -> Array:
        """The values of C at which the path bends, ascending."""
        return np.array(self.path_.breakpoints, dtype=float)

    @property
    def lambdas_(self) -> Array:
        """The same in λ = 1/C, descending."""
        # from λ/2 ‖f‖² of (6) in Zapien et al. (2009); with λ ‖f‖² of their (5) it would be 1/(2C)
        return 1 / self.breakpoints_

    def alpha_at(self, C: float) -> Array:
        """Return the dual variables at one C, one per pair."""
        return np.asarray(self.path_.x(self._checked(C)))

    def coef_at(self, C: float) -> Array:
        """Return the weights of features of a linear model, or β, one per training row, of another one."""
        if self.solver_ == "pairs":
            return super().coef_at(C)
        line = self._line(self.path_, self.path_.piece_of(self._checked(C)))
        return np.asarray(line.constant + C * line.slope)

    def _line(self, path: "ScorePath", piece: int) -> "Line":
        """Return the coefficients of a path in scores on a piece, as a function of C."""
        if not self.representation_.is_linear:
            return path.beta(piece)
        if path.F.shape[1] == self.n_features_in_:
            return path.weights(piece)
        beta = path.beta(piece)
        return beta._replace(
            constant=np.asarray(self.representation_.X.T @ beta.constant).ravel(),
            slope=np.asarray(self.representation_.X.T @ beta.slope).ravel(),
        )

    def decision_function(self, X: Rows, C: float | Sequence[float] | Array | None = None) -> Array:
        """Return a score for every row at C_, at another C, or at several, one column each."""
        return self._scores(self._new_rows(X), C)

    def at(self, C: float) -> RankSVM:
        """Return the estimator at one C, fitted."""
        shared = {name: value for name, value in self.get_params().items() if name in Ranker().get_params()}
        model = RankSVM(self._checked(C), **shared)
        # the path knows α at this C, so nothing is solved again
        model._keep(
            self.representation_,
            self._pairs,
            fitted_from_alpha(self.representation_, self._pairs, self.alpha_at(C), model.C, "path"),
        )
        self._share(model)
        return model

    def pair_sets(self, C: float) -> PairSets:
        """Return the numbers of the pairs in I_0, I_α and I_1 at, and just beyond, one C."""
        if self.solver_ == "scores":
            return PairSets(*self.path_.sets(self._checked(C)))
        # α = 0, 0 < α < C ω and α = C ω are I_0, I_α and I_1 of Zapien et al. (2009), section 5; the basis
        # says which it is without a tolerance for values next to a limit
        basis = self.path_(self._checked(C)).segment.basis
        assert basis is not None
        states = np.array(basis.variables)
        return PairSets(*(np.flatnonzero(states == name) for name in ("lower", "between", "upper")))

    def pair_counts(self) -> pd.DataFrame:
        """Return for every piece its ends in C and in λ and the sizes of I_0, I_α and I_1."""
        counts = self.path_.counts()
        # a path begins at C = 0, where λ is infinite
        with np.errstate(divide="ignore"):
            ends = {"lambda_lo": 1 / counts["hi"].to_numpy(), "lambda_hi": 1 / counts["lo"].to_numpy()}
        return pd.DataFrame(
            {
                "C_lo": counts["lo"],
                "C_hi": counts["hi"],
                **ends,
                "satisfied": counts["lower"],
                "margin": counts["between"],
                "violated": counts["upper"],
            }
        )

    def score_lines(self, X: Rows) -> Iterator[PiecewiseLinear]:
        """Yield the scores of rows as lines in C, some pieces at a time."""
        rows = self.representation_.evaluate(self._new_rows(X))
        path = self.path_
        if self.solver_ == "scores":
            for begin in range(0, len(path), BLOCK):
                edges = path.edges[begin : begin + BLOCK + 1]
                lines = zip(*(self._line(path, begin + k) for k in range(len(edges) - 1)), strict=True)
                constant, slope = (np.asarray((rows @ np.array(part).T).T) for part in lines)
                yield PiecewiseLinear(edges[:-1], edges[1:], constant, slope)
            return
        for begin in range(0, len(path.segments), BLOCK):
            # scores need B α only, which has one entry per feature or item, where α has one per pair
            images = path.images(self._basis, slice(begin, begin + BLOCK))
            constant, slope = (np.asarray((rows @ part.T).T) for part in (images.constant, images.slope))
            yield PiecewiseLinear(images.lo, images.hi, constant, slope)

    def select(
        self, X: Rows, y: ArrayLike, qid: Queries | None = None, metric: Metric = "pairwise_accuracy"
    ) -> SelectionCurve:
        """Choose C on validation data, by the metric at every C instead of a grid; `C_` becomes the best."""
        X, qid = take_qid(X, qid)
        curve = validation_curve(self.score_lines(X), y, qid, metric)
        self.C_ = curve.C_best
        return curve

    def _checked(self, C: Any) -> float:
        check_is_fitted(self)
        stopped = self.path_.stopped
        remedy = "raise C_max" if stopped is None else f"it was stopped ({stopped})"
        return on_path(C, (0.0, float(self.path_.hi)), remedy)


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
        chosen = self._search(fold_curve, (rows, labels, queries), folds, progress)
        self.best_estimator_ = chosen.fit(frame, labels, queries)
        return self

    def decision_function(self, X: Rows) -> Array:
        """Return a score for every row, with the C and the parameters that were chosen."""
        return np.asarray(self._chosen().decision_function(X))


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
