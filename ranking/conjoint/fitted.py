r"""What every fitted conjoint model can do: name its part-worths, predict choices, count hits.

What can be read off a table of part-worths is in `utilities` and `scaling`; a model has the part-worths for
the respondents of a study, also of those it did not know.

Room: part-worths of all respondents in; tables, utilities, predictions and hit rates out.
May touch: `errors`, `arrays`, `labels`, `study`, `space`, `utilities`, `bootstrap`, `scaling`.
"""

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ranking.arguments import Integers
from ranking.arrays import Array
from ranking.conjoint.bootstrap import weighted_mean
from ranking.conjoint.labels import quoted
from ranking.conjoint.scaling import importances
from ranking.conjoint.space import space_of
from ranking.conjoint.study import ConjointStudy
from ranking.conjoint.utilities import hit_rate, hits, task_utilities, utilities
from ranking.errors import DataError

Pooling = Literal["aggregate", "individual", "shrinkage"]
POOLINGS = ("aggregate", "individual", "shrinkage")


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
        self.space_ = space_of(study)
        self.respondents_, self.weights_ = study.respondents, study.weights

    @property
    def individual_part_worths_(self) -> pd.DataFrame:
        """The part-worths, one row a respondent, columns by attribute and level."""
        check_is_fitted(self)
        return pd.DataFrame(self._worths(), index=self.respondents_, columns=self.space_.columns)

    @property
    def part_worths_(self) -> pd.DataFrame:
        """The mean part-worths over respondents, by their weights: attribute, level, part_worth."""
        return weighted_mean(self.individual_part_worths_, self.weights_.to_numpy()).to_frame("part_worth")

    @property
    def importances_(self) -> "pd.Series[Any]":
        """The importance of every attribute in per cent, of each respondent, then averaged by their weights.

        See `ranking.conjoint.importances`; respondents without any preference are left out.
        """
        table = importances(self.individual_part_worths_, self.space_)
        mean = weighted_mean(table, self.weights_.to_numpy())
        return mean.rename("importance").rename_axis("attribute")

    def part_worths_for(self, study: ConjointStudy) -> pd.DataFrame:
        """Return the part-worths of the respondents of a study, strangers having those common to all."""
        worths = np.vstack([self._worths(), self._common()])
        return pd.DataFrame(worths[self._codes(study)], index=study.respondents, columns=study.columns)

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

    def _codes(self, study: ConjointStudy) -> Integers:
        """Return the row of part-worths of every respondent of a study; strangers have the last one."""
        check_is_fitted(self)
        require_study(study)
        if not study.columns.equals(self.space_.columns):
            raise DataError("study must have the attributes and levels of the study that was fitted")
        return study_codes(study, self.respondents_, self._knows_strangers())

    def _knows_strangers(self) -> bool:
        """Tell whether there are part-worths for respondents who were not there."""
        return True


def study_codes(study: ConjointStudy, known: "pd.Index[Any]", with_strangers: bool) -> Integers:
    """Return the place of every respondent of a study among those known; strangers come after the last."""
    codes = known.get_indexer(study.respondents)
    for place in np.flatnonzero(codes < 0)[: 0 if with_strangers else 1]:
        raise DataError(
            f"respondent {quoted(study.respondents[place])} was not there when everyone was fitted alone; "
            'fit with pooling="shrinkage" or "aggregate" to predict for strangers'
        )
    return np.where(codes < 0, len(known), codes).astype(np.int64)


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
