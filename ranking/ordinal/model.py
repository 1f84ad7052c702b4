r"""Ordinal regression at one C: a score and thresholds with fixed margins (Shashua, Levin; Izunaga et al.).

.. math:: \min_{f, p} \; \tfrac12\|f\|^2 + C \sum_r \omega_r \, \xi_r^{q}, \qquad
          s_r (f(x_r) - p_{k_r}) \ge 1 - \xi_r, \quad \xi \ge 0, \quad q = 1, 2

over the hinges r of all objects. C multiplies the loss; the paper's c is 2 C, see `ranking.ordinal.base`.
"""

import time
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

import pqp
from ranking.core.representation import ModelAtC, dual_solution
from ranking.core.validation import (
    Array,
    Integers,
    Labels,
    Rows,
    positive_number,
    require_choice,
    whole_number,
)
from ranking.errors import rounding_remedy
from ranking.ordinal.base import OrdinalModel, Training
from ranking.ordinal.generation import InitialSet, Round, initial_working_set, trace_sections
from ranking.ordinal.hard_margin import separate
from ranking.ordinal.programs import (
    dual_program,
    dual_value,
    primal_value,
    squared_dual_program,
    threshold_matrix,
)
from ranking.ordinal.thresholds import middle_thresholds

# Entries of a kernel that are held at a time while scores are computed: 8 MB.
ENTRIES = 2**20
# Violations are measured relative to 1 and the numbers they are differences of; less than this is rounding.
TOLERANCE = 1e-9


def _violation(training: Training, b: Array, thresholds: Array, items: Integers) -> Array:
    """Return by how much scores violate what each of some items asks, as a relative number."""
    size = max(1, ENTRIES // max(1, int(np.count_nonzero(b))))
    blocks = [items[begin : begin + size] for begin in range(0, len(items), size)]
    project, X = training.representation.project, training.representation.X
    f = np.concatenate([np.zeros(0), *(project(X[block], b) for block in blocks)])
    hinges = training.hinges.part(items)
    terms = 1 + np.abs(f[hinges.item]) + np.abs(thresholds[hinges.threshold])
    violation = np.zeros(len(items))
    np.maximum.at(violation, hinges.item, hinges.slack(f, thresholds) / terms)
    return violation


def _read_dual(
    training: Training, alpha: Array, thresholds: Array | None, ordered: bool
) -> tuple[Array, Array]:
    """Return coefficients of scores, and thresholds: those given, or of several optimal ones the middle."""
    representation, hinges = training.representation, training.hinges
    b = np.asarray(representation.basis(hinges.pairs) @ alpha).ravel()
    return b, middle_thresholds(
        hinges, representation.scores(b), ordered
    ) if thresholds is None else thresholds


@dataclass(kw_only=True, eq=False, repr=False)
class OrdinalSVM(ModelAtC, OrdinalModel):
    """An ordinal support vector machine with one C.

    Parameters
    ----------
    C
        What a violated margin costs; `inf` for the hard margin, which separable data have.
    norm
        1 for Σ ξ, 2 for Σ ξ².
    kernel, gamma, degree, coef0, kernel_params
        "linear", "rbf", "poly", "tanimoto", "minmax", "precomputed" or a function; see `kernel_matrix`.
    levels
        The labels in order, lowest first. Numbers and ordered categoricals have an order of their own.
    scope
        "adjacent": an object is compared with the thresholds next to its level; "all": with every threshold,
        which orders them by itself.
    ordered
        Whether thresholds are made to ascend. The paper does not ask for it; where its own solution ascends
        both are the same.

    working_set, add, random_state
        Row and column generation: which objects are in the program at first, "extremes" or "random" ones of
        each level or row numbers; of those that are violated the worst `add` join in every round, or all.

    Attributes
    ----------
    coef_ : weights of features, of a linear kernel only.
    dual_coef_ : one per training row: f(x) = Σ β_i k(x_i, x).
    thresholds_ : ascending; of several optimal ones the middle.
    classes_ : the levels that occur, lowest first.
    objective_, duality_gap_ : the optimal value, and how far it may be from it, relatively.
    margin_ : 2/‖f‖.
    solved_by_ : "point", or "path" where the path from C = 0 was followed; None for other margins.
    rounds_, working_set_ : how the working set grew, and which distinct objects it held in the end.
    n_features_in_, feature_names_in_.

    >>> model = OrdinalSVM(C=10).fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    Traceback (most recent call last):
    ...
    ranking.errors.DataError: y holds labels without an order of their own, 'a', 'b'; pass levels=[...], ...
    >>> model = OrdinalSVM(C=10, levels=["a", "b"]).fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.coef_, model.thresholds_, model.predict([[1.9], [2.1]])
    (array([1.]), array([2.]), array(['a', 'b'], dtype=object))
    """

    C: float = field(default=1.0, kw_only=False)
    norm: int = 1
    working_set: InitialSet | None = None
    add: int | None = None
    random_state: int | None = None

    @rounding_remedy("lower C")
    def fit(self, X: Rows, y: Labels, sample_weight: ArrayLike | None = None) -> "OrdinalSVM":
        """Fit to ordered labels; an object with weight 2 counts like two equal ones."""
        C = positive_number(self.C, "C", can_be_infinite=True)
        require_choice(self.norm, (1, 2), "norm")
        training = self._read(X, y, sample_weight)
        if self.working_set is None:
            return self._keep(training, C, *self._solve(training, C))
        X = training.representation.X[training.items]
        rows = initial_working_set(training.codes, X, self.working_set, self.random_state)
        # users number objects, programs distinct items
        start = np.unique(training.items[rows])
        if self.norm == 2 or np.isinf(C):
            return self._keep(training, C, *self._by_rounds(training, C, start))
        # objects that join have caps that rise from 0 to C: every round goes on where the one before ended
        rounds: list[Round] = []
        (section,) = trace_sections(training, (C, C), self.ordered, start, self.add, report=rounds.append)
        self.rounds_, self.working_set_ = pd.DataFrame(rounds), section.items
        alpha = np.zeros(len(training.hinges))
        alpha[section.hinges] = section.path.x(C)
        return self._keep(training, C, alpha)

    def _solve(self, training: Training, C: float) -> tuple[Array, Array | None, str | None]:
        """Return dual variables, thresholds that scores do not determine, and what found them.

        A hard margin that does not exist raises `NotSeparableError`, which names the conflict.
        """
        representation, hinges = training.representation, training.hinges
        if np.isinf(C):
            return separate(training, self.scope), None, None
        if self.norm == 1:
            program = dual_program(representation, hinges, self.ordered)
            alpha, solved_by = dual_solution(program, C, representation.is_linear)
            return alpha, None, solved_by
        point = pqp.solve(squared_dual_program(representation, hinges, self.ordered, C), 0)
        rises = threshold_matrix(hinges.n_thresholds, self.ordered)
        # the weighted quantile that scores determine is that of the 1-norm; squared slacks have other optima
        return np.asarray(point.x), rises @ np.asarray(point.y, dtype=float), None

    def _by_rounds(self, training: Training, C: float, start: Integers) -> tuple[Array, Array | None]:
        """Return the dual variables of all objects, solved on growing sets of items, and thresholds."""
        hinges = training.hinges
        wanted = "a positive integer, or None"
        most = hinges.n_items if self.add is None else whole_number(self.add, "add", wanted)
        working, rounds = start, []
        while True:
            begin, part = time.perf_counter(), training.part(working)
            own, known, _ = self._solve(part, C)
            b, thresholds = _read_dual(part, own, known, self.ordered)
            value = primal_value(part.representation, part.hinges, b, thresholds, C, self.norm)
            rest = np.setdiff1d(np.arange(hinges.n_items), working)
            violation = _violation(training, training.spread(working, b), thresholds, rest)
            # a stable sort lets the first rows of equal violation join: the same data give the same rounds
            worst = np.argsort(-violation, kind="stable")[: np.count_nonzero(violation > TOLERANCE)]
            rounds.append((value, len(working), len(worst), time.perf_counter() - begin))
            # a solution on W that violates nothing outside is optimal for all objects (Lemmas 2 and 3)
            if not len(worst):
                break
            working = np.union1d(working, rest[worst[:most]])
        columns = ["objective", "working", "violators", "seconds"]
        self.rounds_, self.working_set_ = pd.DataFrame(rounds, columns=columns), working
        # α = 0 is optimal for the objects outside, which violate nothing
        alpha = np.zeros(len(hinges))
        alpha[hinges.of_items(working)] = own
        return alpha, known

    def _keep(
        self,
        training: Training,
        C: float,
        alpha: Array,
        thresholds: Array | None = None,
        solved_by: str | None = None,
    ) -> "OrdinalSVM":
        """Keep a solution under the names scikit-learn's users look for."""
        representation, hinges = training.representation, training.hinges
        self.training_, self.representation_, self.alpha_ = training, representation, alpha
        self.solved_by_ = solved_by
        self._b, self.thresholds_ = _read_dual(training, alpha, thresholds, self.ordered)
        self.dual_coef_ = np.asarray(hinges.shares @ alpha)
        values = (representation, hinges, self._b)
        self.objective_ = primal_value(*values, self.thresholds_, C, self.norm)
        # a feasible α bounds the optimum from below, so the gap proves the solution whatever found it
        lower = dual_value(*values, alpha, C, self.norm)
        self.duality_gap_ = (self.objective_ - lower) / self.objective_ if self.objective_ else 0.0
        return self

    @property
    def margin_(self) -> float:
        """The distance 2/‖f‖ of two neighbouring levels that the hard margin keeps, or violations pay for."""
        check_is_fitted(self)
        norm = np.sqrt(self.representation_.squared_norm(self._b))
        return float(2 / norm) if norm else np.inf

    def predict_projection(self, X: Rows) -> Array:
        """Return the score f(x) of every row, which `thresholds_` cut into levels: the higher, the higher."""
        return self._scores(self._new_rows(X))

    def decision_function(self, X: Rows) -> Array:
        """Return by how much every row is inside each level, one column per level: the largest is predicted.

        With two levels, as in scikit-learn, by how much it is above the threshold.
        """
        return self._margins_of(self.predict_projection(X), self.thresholds_)

    def predict(self, X: Rows) -> Array:
        """Return the level of every row."""
        return self._labels_of(self.predict_projection(X), self.thresholds_)
