"""ConjointSVM: part-worths at one C, for all respondents together, each alone, or pooled.

`ConjointModel` is what all fitted models share: they name their part-worths, predict choices, count hits.
What can be computed from a table of part-worths alone is in `ranking.conjoint.results`.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import pqp
from ranking.conjoint.data.study import ConjointStudy
from ranking.conjoint.estimation.conflicts import Conflict, find_conflict, find_conflicts
from ranking.conjoint.estimation.pool import CLOSED, solve_pooled
from ranking.conjoint.estimation.programs import Program, choice_rows, trace, z_at
from ranking.conjoint.results.bootstrap import weighted_mean
from ranking.conjoint.results.importances import importances
from ranking.conjoint.results.orders import Orders, order_rows
from ranking.conjoint.results.part_worths import space_of
from ranking.conjoint.results.predictions import hit_rate, hits, task_utilities, utilities
from ranking.core.validation import Array, Integers, positive_number, require_choice
from ranking.errors import ContradictionError, DataError, must_be, rounding_remedy

Pooling = Literal["aggregate", "individual", "shrinkage"]
POOLINGS = get_args(Pooling)


class HasIndividualPartWorths:
    """What follows from part-worths for every respondent: those of a model, or of one that a search chose."""

    @abstractmethod
    def _fitted(self) -> "ConjointModel":
        """Return the fitted model that has the part-worths."""

    @property
    def individual_part_worths_(self) -> pd.DataFrame:
        """The part-worths, one row per respondent, columns by attribute and level."""
        model = self._fitted()
        return pd.DataFrame(model._individual(), index=model.respondents_, columns=model.space_.columns)

    @property
    def part_worths_(self) -> pd.DataFrame:
        """The mean part-worths over respondents, by their weights: attribute, level, part_worth."""
        weights = self._fitted().weights_.to_numpy()
        return weighted_mean(self.individual_part_worths_, weights).to_frame("part_worth")

    @property
    def importances_(self) -> "pd.Series[float]":
        """The importance of every attribute in per cent, of each respondent, then averaged by their weights.

        See `ranking.conjoint.importances`; respondents without any preference are left out.
        """
        model = self._fitted()
        table = importances(self.individual_part_worths_, model.space_)
        mean = weighted_mean(table, model.weights_.to_numpy())
        return mean.rename("importance").rename_axis("attribute")

    def part_worths_for(self, study: ConjointStudy) -> pd.DataFrame:
        """Return the part-worths of the respondents of a study; new ones have those common to all."""
        model = self._fitted()
        worths = np.vstack([model._individual(), model._common()])
        return pd.DataFrame(worths[model._codes(study)], index=study.respondents, columns=study.columns)

    def utilities(self, study: ConjointStudy) -> Array:
        """Return the utility of every alternative of a study, row by row of its design."""
        return utilities(self.part_worths_for(study), study)

    def predict(self, study: ConjointStudy) -> Integers:
        """Return the position of the best alternative of every task, counted from 0, the first of ties."""
        table, _ = task_utilities(self.part_worths_for(study), study)
        return np.asarray(np.argmax(table, axis=1), dtype=np.int64)

    def hits(self, study: ConjointStudy) -> Array:
        """Return for every task 1 if the chosen alternative is the best, 1/m if it is one of m, else 0."""
        return hits(self.part_worths_for(study), study)

    def score(self, study: ConjointStudy) -> float:
        """Return the hit rate, tasks by the weights of their respondents."""
        return hit_rate(self.part_worths_for(study), study)


@dataclass(kw_only=True, eq=False, repr=False)
class ConjointModel(HasIndividualPartWorths, BaseEstimator):
    """A model that has part-worths for every respondent of the study it was fitted to.

    A subclass calls `_learn_names`, and returns its part-worths by `_individual` and `_common`.
    """

    pooling: Pooling = "aggregate"
    shrinkage: float = 0.3
    orders: Orders | None = None
    n_jobs: int | None = None

    @abstractmethod
    def _individual(self) -> Array:
        """Return the part-worths in use, one row per respondent."""

    @abstractmethod
    def _common(self) -> Array:
        """Return the part-worths that a new respondent is predicted by."""

    def _fitted(self) -> "ConjointModel":
        check_is_fitted(self)
        return self

    def _learn_names(self, study: ConjointStudy) -> None:
        """Keep what names and weighs the part-worths."""
        require_study(study)
        self.space_ = space_of(study)
        self.respondents_, self.weights_ = study.respondents, study.weights

    def _codes(self, study: ConjointStudy) -> Integers:
        """Return the row of part-worths of every respondent of a study; new ones have the last row."""
        check_is_fitted(self)
        require_study(study)
        if not study.columns.equals(self.space_.columns):
            wanted = "the attributes and levels of the study that was fitted"
            raise DataError("{argument} must have {expected}", argument="study", expected=wanted)
        codes = self.respondents_.get_indexer(study.respondents)
        for place in np.flatnonzero(codes < 0)[: self.pooling == "individual"]:
            raise DataError(
                "respondent {respondent} is not in the training data; pooling 'individual' cannot predict "
                "new respondents",
                argument="pooling",
                respondent=study.respondents[place],
                remedy="fit with {setting}",
                setting=("pooling", "shrinkage"),
            )
        return np.where(codes < 0, len(self.respondents_), codes).astype(np.int64)


def require_study(study: object) -> None:
    """Raise unless it is a study with a choice in it."""
    if not isinstance(study, ConjointStudy):
        wanted = "a ConjointStudy"
        raise must_be("study", wanted, found=type(study).__name__, remedy="see ConjointStudy.from_frame")


def require_pooling(pooling: str, shrinkage: float) -> None:
    """Raise unless respondents are pooled in a way there is."""
    require_choice(pooling, POOLINGS, "pooling")
    is_number = isinstance(shrinkage, int | float | np.number) and not isinstance(shrinkage, bool)
    if pooling == "shrinkage" and not (is_number and 0 < shrinkage < 1):
        wanted = "between 0 (everyone alone) and 1 (all alike)"
        remedy = "for the ends choose the pooling 'individual' or 'aggregate'"
        raise must_be("shrinkage", wanted, found=shrinkage, remedy=remedy)


@dataclass(kw_only=True, eq=False, repr=False)
class ConjointSVM(ConjointModel):
    r"""Part-worths from choices, as a support vector machine with one C.

    Parameters
    ----------
    C
        What a choice costs that part-worths do not explain; `inf` explains all of them, or raises
        `ContradictionError` with a minimal set of choices that contradict each other.
    pooling
        "aggregate": one set of part-worths for all; "individual": each respondent alone, with weights of
        respondents used only in means; "shrinkage": :math:`v_r = v_0 + u_r`, see
        `ranking.conjoint.estimation.programs`.
    shrinkage
        γ, between 0 (everyone alone) and 1 (all alike), of pooling="shrinkage".
    orders
        Orders of levels that all part-worths must keep, also those for new respondents: {"price":
        "falls", "quality": "rises"}, or levels from the worst to the best.
    n_jobs
        Processes for respondents alone, as in joblib.

    Attributes
    ----------
    part_worths_, individual_part_worths_ : means over respondents, and those of everyone.
    common_part_worths_ : v_0, the prediction for new respondents; the mean where there is no v_0.
    importances_ : of attributes in per cent, of everyone, then averaged.
    duality_gap_ : of pooling="shrinkage" solved through its structure, relatively; else None.
    solved_by_ : for each program "pool", through that structure; "dual", by the path from C = 0; "primal",
        by that of the program itself, where float64 failed on the dual; "hard", for an infinite C.

    >>> from ranking.conjoint import example_study
    >>> train, held = example_study().split_holdout()
    >>> model = ConjointSVM(C=0.1, pooling="shrinkage", orders={"price": "falls"}).fit(train)
    >>> bool((model.individual_part_worths_["price"].diff(axis=1).iloc[:, 1:] < 1e-9).all(axis=None))
    True
    >>> model.score(held) > 0.5
    True
    """

    C: float = field(default=1.0, kw_only=False)

    @rounding_remedy("lower C")
    def fit(self, study: ConjointStudy, y: None = None) -> "ConjointSVM":
        """Fit to the tasks of a study that are not held out."""
        C = positive_number(self.C, "C", can_be_infinite=True)
        require_pooling(self.pooling, self.shrinkage)
        programs = programs_of(study, self.pooling, self.shrinkage, self.orders)
        if np.isinf(C):
            _require_agreement(study, self.pooling, self.orders)
        self._learn_names(study)
        self.duality_gap_: float | None = None
        if self.pooling == "shrinkage":
            (program,) = programs
            z, self.duality_gap_, form = solve_pool(program, C)
            self.solved_by_: tuple[str, ...] = (form,)
            return self._keep(program.part_worths(z), program.common(z))
        found = Parallel(n_jobs=self.n_jobs)(delayed(solution_of)(program, C) for program in programs)
        self.solved_by_ = tuple(form for _, form in found)
        pairs = zip(programs, found, strict=True)
        worths = np.vstack([program.part_worths(z) for program, (z, _) in pairs])
        # one program for all respondents together, or one for each
        return self._keep(np.repeat(worths, len(study.respondents) // len(programs), axis=0))

    def _keep(self, worths: Array, common: Array | None = None) -> "ConjointSVM":
        """Keep part-worths under the names users look for."""
        self.coef_ = worths
        mean = np.average(worths, axis=0, weights=self.weights_)
        self.common_part_worths_ = mean if common is None else common
        return self

    def _individual(self) -> Array:
        return self.coef_

    def _common(self) -> Array:
        return self.common_part_worths_


def programs_of(
    study: ConjointStudy, pooling: Pooling, shrinkage: float, orders: Orders | None
) -> list[Program]:
    """Return the program of a study, or one for every respondent."""
    require_study(study)
    differences, conditions = study.differences(), order_rows(study, orders).rows
    if not len(differences):
        message = "{argument} has no task to learn from: all are held out, or have one alternative only"
        raise DataError(message, argument="study")
    if pooling == "aggregate":
        return [Program(choice_rows(differences), conditions)]
    n = len(study.respondents)
    if pooling == "shrinkage":
        return [Program(choice_rows(differences, n), conditions, float(shrinkage))]
    # alone, a weight would only be another C for its respondent, and C is to mean the same for all
    rows = choice_rows(differences, n, is_weighted=False)
    return [Program(rows.of(code), conditions) for code in range(n)]


def solution_of(program: Program, C: float) -> tuple[Array, str]:
    """Return z at one C, which is infinite if choices are hard, and the form that was solved."""
    if np.isinf(C):
        return np.asarray(pqp.solve(program.hard(), 0).x, dtype=float), "hard"
    path, form = trace(program, C)
    return z_at(program, path, C), form


def solve_pool(program: Program, C: float) -> tuple[Array, float | None, str]:
    """Return z of a pool, the duality gap, and the form solved: the structure of the pool if possible.

    Where there are orders, or the gap does not close, the path from C = 0 is traced and the gap is None.
    """
    if not len(program.orders) and np.isfinite(C):
        # less than a second for hundreds of respondents, where their common path would take minutes
        found = solve_pooled(program, C)
        if found.gap <= CLOSED:
            return found.z, found.gap, "pool"
    z, form = solution_of(program, C)
    return z, None, form


def _require_agreement(study: ConjointStudy, pooling: Pooling, orders: Orders | None) -> None:
    """Raise if choices that must all be explained contradict each other."""
    if pooling == "aggregate":
        conflict = find_conflict(study, orders)
        conflicts: tuple[Conflict, ...] = () if conflict is None else (conflict,)
    else:
        # respondents may differ, so only choices of the same respondent can contradict each other
        conflicts = tuple(find_conflicts(study, orders).values())
    if conflicts:
        more = f" ({len(conflicts)} respondents in all)" if len(conflicts) > 1 else ""
        message = (
            f"no part-worths explain all choices: these contradict each other{more}; give a finite C\n"
            "{found}"
        )
        raise ContradictionError(message, conflicts, argument="C", found=str(conflicts[0]), expected="finite")
