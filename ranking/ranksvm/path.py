r"""RankSVM at every C: the exact regularisation path of the hinge loss, scores without refitting, selection.

In Zapien's letters :math:`\lambda = 1/C` and :math:`\alpha_Z = \lambda\alpha \in [0, 1]`; both are shown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

import pqp
from ranking.core.preferences import Pairs, take_qid
from ranking.core.representation import hinge_value
from ranking.core.validation import Array, Queries, Rows
from ranking.ranksvm.base import Ranker
from ranking.ranksvm.model import RankSVM
from ranking.selection.curve import Metric, SelectionCurve, validation_curve
from ranking.selection.path_model import end_of_path, no_piece_error, on_path
from ranking.selection.piecewise import PiecewiseLinear

# Pieces whose scores are evaluated together: a few megabytes.
BLOCK = 256


class PairSets(NamedTuple):
    """Which pairs are ranked with room to spare (I_0), just at their margin (I_α), or violate it (I_1)."""

    satisfied: Array
    margin: Array
    violated: Array


@dataclass(kw_only=True, eq=False, repr=False)
class RankSVMPath(Ranker):
    """A ranking support vector machine for every C up to `C_max`, exactly.

    Parameters
    ----------
    C_max
        Where the path ends; `inf` for all of it.
    C
        The C that `predict` uses, until `select` chooses one; None is the end of the path.
    kernel, gamma, degree, coef0, kernel_params, reduction, representative, random_state
        As for `RankSVM`.
    max_pieces, time_limit
        Stop early; `path_.stopped` then says why, and the path reaches to `C_end_`.

    Attributes
    ----------
    path_ : the `pqp.Path` of the dual variables in C; `path_.certify()` proves it.
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

    C_max: float = 1000.0
    C: float | None = None
    max_pieces: int | None = None
    time_limit: float | None = None

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
        C_max = end_of_path(self.C_max, self.C)
        self.representation_, self.preferences_ = self._read(X, y, qid, pairs, pair_weight, margin)
        self.path_ = pqp.solve_path(
            self.representation_.dual(self.preferences_),
            (0.0, C_max),
            max_pieces=self.max_pieces,
            time_limit=self.time_limit,
            progress=progress,
        )
        if not self.path_.segments:
            raise no_piece_error(self.path_.stopped)
        self._basis = self.representation_.basis(self.preferences_.pairs)
        self.C_ = self._checked(self.C_end_ if self.C is None else self.C)
        return self

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
        return np.asarray(self._basis @ self.alpha_at(C)).ravel()

    def decision_function(self, X: Rows, C: float | Sequence[float] | Array | None = None) -> Array:
        """Return a score for every row at C_, at another C, or at several, one column each."""
        rows = self._rows(X)
        where: Any = self.C_ if C is None else C
        if np.ndim(where) == 0:
            return np.asarray(rows @ self.coef_at(where)).ravel()
        columns = np.array([self.coef_at(value) for value in where]).reshape(len(where), self._basis.shape[0])
        return np.asarray(rows @ columns.T)

    def at(self, C: float) -> RankSVM:
        """Return the estimator at one C, fitted."""
        shared = {name: value for name, value in self.get_params().items() if name in Ranker().get_params()}
        model = RankSVM(self._checked(C), **shared)
        # the path knows α at this C, so nothing is solved again
        model._keep(self.representation_, self.preferences_, self.alpha_at(C))
        model.objective_, model.duality_gap_ = hinge_value(
            self.representation_, self.preferences_, model.alpha_, model.C
        )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model

    def pair_sets(self, C: float) -> PairSets:
        """Return the numbers of the pairs in I_0, I_α and I_1 at, and just beyond, one C."""
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
        rows = self._rows(X)
        for begin in range(0, len(self.path_.segments), BLOCK):
            # scores need B α only, which has one entry per feature or item, where α has one per pair
            images = self.path_.images(self._basis, slice(begin, begin + BLOCK))
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
