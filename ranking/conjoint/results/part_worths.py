"""Part-worths as they are passed in: read, checked, matched with the respondents and weights of a study.

A table of part-worths has one row per respondent, or one row for all of them. Its columns are given by the
`AttributeSpace` of the study: the attributes, their levels or ranges. `as_fit` makes a function from studies
to part-worths of an estimator, for what has to estimate many times.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone

from ranking.conjoint.data.attributes import Attribute
from ranking.conjoint.data.label_text import listing
from ranking.conjoint.data.study import ConjointStudy
from ranking.core.validation import Array, Integers, as_vector
from ranking.errors import DataError, must_be


class HasPartWorths(Protocol):
    """A fitted model with the part-worths of every respondent."""

    @property
    def individual_part_worths_(self) -> pd.DataFrame:
        """The part-worths, one row per respondent."""


class Estimator(Protocol):
    """A model that can be fitted to a study."""

    def fit(self, study: ConjointStudy) -> HasPartWorths:
        """Return the fitted model."""


PartWorths: TypeAlias = "pd.DataFrame | pd.Series[float] | HasPartWorths"
# One for every row of part-worths, or by respondent.
Weights: TypeAlias = "ArrayLike | Mapping[Hashable, float] | pd.Series[float] | None"
# From a study to part-worths with its columns.
Fit: TypeAlias = Callable[[ConjointStudy], PartWorths]


def fitted_part_worths(model: Estimator, study: ConjointStudy) -> pd.DataFrame:
    """Return the part-worths that a clone of an estimator finds in a study."""
    return clone(model).fit(study).individual_part_worths_


def as_fit(fit: Fit | Estimator) -> Fit:
    """Return a function from studies to part-worths, from one, or from an estimator such as `ConjointSVM`."""
    if not isinstance(fit, type) and hasattr(fit, "fit"):
        return partial(fitted_part_worths, fit)  # which can go to other processes
    if isinstance(fit, type) or not callable(fit):
        wanted = "an estimator, such as ConjointSVM(C=0.1), or a function from studies to part-worths"
        raise must_be("fit", wanted, found=f"{fit!r:.60}")
    return fit


@dataclass(frozen=True, eq=False)
class AttributeSpace:
    """Attributes by name, the smallest and largest number shown of the linear ones, and the columns.

    >>> from ranking.conjoint import example_study
    >>> space = space_of(example_study())
    >>> space.blocks["size"], space.ranges
    (slice(6, 8, None), {})
    """

    attributes: dict[str, Attribute]
    ranges: dict[str, tuple[float, float]]
    columns: pd.MultiIndex
    has_none: bool

    @cached_property
    def blocks(self) -> dict[str, slice]:
        """Which columns are those of each attribute."""
        ends = np.cumsum([0, *(len(attribute.labels) for attribute in self.attributes.values())])
        return {
            name: slice(*part) for name, part in zip(self.attributes, pairwise(ends.tolist()), strict=True)
        }


# What gives the columns of part-worths: a study, or its space.
StudyOrSpace: TypeAlias = ConjointStudy | AttributeSpace


def space_of(study: StudyOrSpace) -> AttributeSpace:
    """Return the space of a study; linear attributes range over the numbers that were shown."""
    if isinstance(study, AttributeSpace):
        return study
    if not isinstance(study, ConjointStudy):
        raise must_be("study", "a ConjointStudy, or its space", found=type(study).__name__)
    profiles = study.profiles
    linear = [name for name, attribute in study.attributes.items() if attribute.is_linear]
    ranges = {name: (float(profiles[name].min()), float(profiles[name].max())) for name in linear}
    return AttributeSpace(study.attributes, ranges, study.columns, study.has_none)


def read_part_worths(part_worths: PartWorths, study: StudyOrSpace) -> pd.DataFrame:
    """Return part-worths with the columns of a study in their order, one row per respondent.

    A series, or a table of one row, holds the part-worths of all respondents together; a fitted model has
    those of its respondents.
    """
    columns = space_of(study).columns
    given = getattr(part_worths, "individual_part_worths_", part_worths)
    table = given.to_frame().T if isinstance(given, pd.Series) else given
    if not isinstance(table, pd.DataFrame):
        wanted = "a DataFrame, a Series or a fitted model"
        raise must_be("part_worths", wanted, found=type(part_worths).__name__)
    if not table.columns.equals(columns):
        _require_columns(table, columns)
        table = table[columns.tolist()]
        table.columns = columns
    if not len(table):
        message = "{argument} has no row"
        wanted = "one row per respondent, or one for all"
        raise DataError(message, argument="part_worths", expected=wanted, remedy="give {expected}")
    if not table.index.is_unique:
        double = table.index[table.index.duplicated()][0]
        message = "{argument} has two rows for respondent {respondent}"
        raise DataError(message, argument="part_worths", respondent=double, remedy="keep one")
    numbers = table.astype(float)
    for row, column in np.argwhere(~np.isfinite(numbers.to_numpy()))[:1]:
        raise DataError(
            "{argument} must be {expected}, but {column} of respondent {respondent} is {found}",
            argument="part_worths",
            expected="finite",
            column=" ".join(map(str, columns[column])),
            respondent=numbers.index[row],
            found=str(numbers.iat[row, column]),
        )
    return numbers


def _require_columns(table: pd.DataFrame, columns: pd.MultiIndex) -> None:
    """Raise unless a table has the columns of the study, in any order."""
    is_transposed = table.index.isin(columns).any()
    remedy = "pass part_worths.T" if is_transposed else "the columns must be study.columns"
    missing = [label for label in columns.tolist() if label not in table.columns]
    if missing:
        message = "{argument} has no column {column}"
        raise DataError(message, argument="part_worths", column=missing[0], remedy=remedy)
    others = [label for label in table.columns.tolist() if label not in columns]
    if others or len(table.columns) != len(columns):
        message = "{argument} has columns that the study does not have, or has them twice: {found}"
        raise DataError(message, argument="part_worths", found=listing(others), remedy=remedy)


def rows_of(part_worths: pd.DataFrame, study: ConjointStudy) -> Integers:
    """Return the row of every respondent of a study among part-worths; a single row is that of all."""
    if len(part_worths) == 1:
        return np.zeros(len(study.respondents), dtype=np.int64)
    rows = part_worths.index.get_indexer(study.respondents)
    asked = np.unique(study.choices.respondent)
    for code in asked[rows[asked] < 0][:1]:
        message = "{argument} has no row for respondent {respondent}"
        remedy = "its index must hold the respondents, or it must have one row for all"
        raise DataError(message, argument="part_worths", respondent=study.respondents[code], remedy=remedy)
    return rows.astype(np.int64)


def weights_of(weights: Weights, part_worths: pd.DataFrame, study: StudyOrSpace) -> Array:
    """Return the weight of every row of part-worths.

    Without `weights` those of the study if the rows are its respondents, else all the same.
    """
    index = part_worths.index
    if len(index) == 1:
        return np.ones(1)
    if weights is None:
        if not isinstance(study, ConjointStudy) or not index.isin(study.respondents).any():
            return np.ones(len(index))
        weights = study.weights
    if isinstance(weights, Mapping | pd.Series):
        by_name = pd.Series(weights)
        for name in index[~index.isin(by_name.index)][:1]:
            message = "{argument} has none for respondent {respondent}"
            raise DataError(message, argument="weights", respondent=name, remedy="give one for every row")
        weights = by_name.loc[index].to_numpy()
    vector = as_vector(weights, "weights", len(index))
    if (vector < 0).any() or not vector.sum() > 0:
        message = "{argument} must be {expected}"
        raise DataError(message, argument="weights", expected="at least 0, and not all zero")
    return vector
