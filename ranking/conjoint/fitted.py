r"""What every fitted conjoint model can do: name its part-worths, predict choices, count hits.

The utility of alternative a for respondent r is :math:`\chi_a^\top v_r`, and the best one is predicted. Where
m alternatives are the best, up to round-off, and the chosen one is among them, that is 1/m of a hit.

Room: part-worths of all respondents in; tables, utilities, predictions and hit rates out.
May touch: `errors`, `arrays`, `attributes`, `choices`, `study`.
"""

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ranking.arguments import Integers
from ranking.arrays import Array
from ranking.conjoint.choices import Choices
from ranking.conjoint.labels import quoted
from ranking.conjoint.study import ConjointStudy
from ranking.errors import DataError

Pooling = Literal["aggregate", "individual", "shrinkage"]
POOLINGS = ("aggregate", "individual", "shrinkage")
# Utilities that differ by less than this part of the largest are tied.
TIED = 1e-12


class ConjointModel(BaseEstimator):
    """A model that has part-worths for every respondent of the study it was fitted to.

    A subclass calls `_learn_names`, and tells its part-worths by `_worths` and `_common`.
    """

    @abstractmethod
    def _worths(self) -> Array:
        """Return the part-worths in use, one row a respondent."""

    @abstractmethod
    def _common(self) -> Array:
        """Return the part-worths of somebody who is not known."""

    def _learn_names(self, study: ConjointStudy) -> None:
        """Keep what names and weighs the part-worths."""
        require_study(study)
        self.respondents_, self.columns_ = study.respondents, study.columns
        self.weights_ = study.weights
        # a linear attribute matters as much as its numbers differ, the none option does not count
        design = study.design[~study.sheet.is_none]
        self.spans_ = pd.Series(np.ptp(design, axis=0), index=study.columns, name="span")
        self.attributes_ = study.attributes

    @property
    def individual_part_worths_(self) -> pd.DataFrame:
        """The part-worths, one row a respondent, columns by attribute and level."""
        check_is_fitted(self)
        return pd.DataFrame(self._worths(), index=self.respondents_, columns=self.columns_)

    @property
    def part_worths_(self) -> pd.DataFrame:
        """The mean part-worths over respondents, by their weights: attribute, level, part_worth."""
        worths = self.individual_part_worths_
        mean = np.average(worths.to_numpy(), axis=0, weights=self.weights_)
        return pd.DataFrame({"part_worth": mean}, index=self.columns_)

    @property
    def importances_(self) -> "pd.Series[Any]":
        """The share every attribute has in the differences of utilities, of each respondent, then averaged.

        The range of the part-worths of an attribute over the sum of all ranges; of a linear attribute the
        part-worth times the range of its numbers. Respondents without any preference are left out.
        """
        worths = self.individual_part_worths_
        ranges = np.column_stack([self._ranges(worths, name) for name in self.attributes_])
        total = ranges.sum(axis=1)
        has_any = total > 0
        shares = ranges[has_any] / total[has_any, None]
        weights = self.weights_.to_numpy()[has_any]
        mean = (
            np.average(shares, axis=0, weights=weights) if has_any.any() else np.full(len(ranges.T), np.nan)
        )
        return pd.Series(mean, index=pd.Index(list(self.attributes_), name="attribute"), name="importance")

    def utilities(self, study: ConjointStudy) -> Array:
        """Return the utility of every alternative of a study, row by row of its design."""
        codes = self._codes(study)
        worths = np.vstack([self._worths(), self._common()])
        rows = worths[codes[study.choices.respondent[study.choices.task_of_row]]]
        return np.asarray(np.einsum("ij,ij->i", study.design, rows))

    def predict(self, study: ConjointStudy) -> Integers:
        """Return the position of the best alternative of every task, counted from 0, the first of ties."""
        table, _ = utility_table(self.utilities(study), study.choices)
        return np.asarray(np.argmax(table, axis=1), dtype=np.int64)

    def hits(self, study: ConjointStudy) -> Array:
        """Return for every task 1 if the chosen alternative is the best, 1/m if it is one of m, else 0."""
        table, tied = utility_table(self.utilities(study), study.choices)
        is_best = table >= table.max(axis=1, keepdims=True) - tied
        chosen = is_best[np.arange(len(table)), study.choices.chosen]
        return np.asarray(chosen / is_best.sum(axis=1))

    def score(self, study: ConjointStudy) -> float:
        """Return the hit rate, tasks by the weights of their respondents."""
        hits = self.hits(study)
        if not len(hits):
            raise DataError("study has no task to count hits in")
        return float(np.average(hits, weights=study.sheet.weights[study.choices.respondent]))

    def _codes(self, study: ConjointStudy) -> Integers:
        """Return the row of part-worths of every respondent of a study; strangers have the last one."""
        check_is_fitted(self)
        require_study(study)
        if not study.columns.equals(self.columns_):
            raise DataError("study must have the attributes and levels of the study that was fitted")
        return study_codes(study, self.respondents_, self._knows_strangers())

    def _knows_strangers(self) -> bool:
        """Tell whether there are part-worths for respondents who were not there."""
        return True

    def _ranges(self, worths: pd.DataFrame, name: str) -> Array:
        part = worths[name].to_numpy()
        if self.attributes_[name].is_linear:
            return np.asarray(np.abs(part[:, 0]) * self.spans_[name].iloc[0])
        return np.asarray(np.ptp(part, axis=1))


def study_codes(study: ConjointStudy, known: "pd.Index[Any]", with_strangers: bool) -> Integers:
    """Return the place of every respondent of a study among those known; strangers come after the last."""
    codes = known.get_indexer(study.respondents)
    for place in np.flatnonzero(codes < 0)[: 0 if with_strangers else 1]:
        raise DataError(
            f"respondent {quoted(study.respondents[place])} was not there when everyone was fitted alone; "
            'fit with pooling="shrinkage" or "aggregate" to predict for strangers'
        )
    return np.where(codes < 0, len(known), codes).astype(np.int64)


def utility_table(utilities: Array, choices: Choices) -> tuple[Array, float]:
    """Return utilities with one row a task, -inf where it has no alternative, and what counts as tied."""
    table = np.full((len(choices), int(choices.size.max(initial=1))), -np.inf)
    task = choices.task_of_row
    table[task, np.arange(len(task)) - choices.first[task]] = utilities
    return table, TIED * float(np.abs(utilities).max(initial=0.0))


def require_study(study: Any) -> None:
    """Raise unless it is a study with a choice in it."""
    if not isinstance(study, ConjointStudy):
        raise DataError(
            f"study must be a ConjointStudy, got {type(study).__name__}; see ConjointStudy.from_frame"
        )


def require_pooling(pooling: Any, shrinkage: Any) -> None:
    """Raise unless respondents are pooled in a way there is."""
    if pooling not in POOLINGS:
        raise DataError(f"pooling must be one of {', '.join(POOLINGS)}, got {pooling!r}")
    is_number = isinstance(shrinkage, int | float | np.number) and not isinstance(shrinkage, bool)
    if pooling == "shrinkage" and not (is_number and 0 < shrinkage < 1):
        raise DataError(
            f"shrinkage must lie between 0, everyone alone, and 1, all alike, got {shrinkage!r}; "
            'for the ends use pooling="individual" or "aggregate"'
        )
