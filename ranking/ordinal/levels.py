"""Levels: labels of any ordered kind as the numbers 0, 1, ..., l, and back.

Room: labels as handed in, and an order if they have none of their own, in; levels and codes out.
May touch: `errors`, `arguments`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranking.arguments import Integers, values_shown
from ranking.arrays import Array
from ranking.errors import DataError


@dataclass(frozen=True, eq=False)
class Levels:
    """Labels in order, the lowest first.

    >>> levels = Levels(np.array(["low", "high"]))
    >>> levels.codes(["high", "low", "high"]).tolist(), levels.labels([0, 1]).tolist()
    ([1, 0, 1], ['low', 'high'])
    """

    names: Array

    def __len__(self) -> int:
        return len(self.names)

    def codes(self, y: Any) -> Integers:
        """Return the numbers of labels, all of which must be levels."""
        values = _column(y)
        codes = pd.Index(self.names).get_indexer(pd.Index(values))
        for row in np.flatnonzero(codes < 0)[:1]:
            raise DataError(f"y[{row}] is {values[row]!r}, which is none of the levels {self.shown}")
        return codes.astype(np.int64)

    def labels(self, codes: Any) -> Array:
        """Return the labels with the given numbers."""
        return self.names[np.asarray(codes)]

    def observed(self, codes: Integers) -> "Levels":
        """Return the levels that occur among codes."""
        return Levels(self.names[np.unique(codes)])

    @property
    def shown(self) -> str:
        """The levels for a message."""
        return values_shown(self.names, most=10)


def read_levels(y: Any, levels: Sequence[Any] | None = None) -> Levels:
    """Return the levels of labels: those given, the categories of an ordered categorical, or sorted numbers.

    Strings and other labels without an order of their own need `levels`: sorted by letter, "high" would be
    the lowest.

    >>> read_levels([3, 1, 3]).names.tolist()
    [1, 3]
    >>> read_levels(pd.Categorical(["b"], categories=["b", "a"], ordered=True)).names.tolist()
    ['b', 'a']
    """
    if levels is not None:
        return Levels(_distinct(levels))
    categories = _categories(y)
    if categories is not None:
        return Levels(categories)
    values = _column(y)
    if values.dtype.kind not in "biuf":
        found = values_shown(sorted(set(values.tolist()), key=str))
        raise DataError(
            f"y holds labels without an order of their own, {found}; pass levels=[...], lowest first, "
            "or a pandas categorical with ordered=True"
        )
    return Levels(np.unique(values))


def _categories(y: Any) -> Array | None:
    """Return the categories of a categorical, which must be ordered; None of anything else."""
    dtype = getattr(y, "dtype", None)
    if not isinstance(dtype, pd.CategoricalDtype):
        return None
    if not dtype.ordered:
        raise DataError(
            f"y is a categorical without order, of {values_shown(list(dtype.categories))}; "
            "use y.cat.as_ordered(), or pass levels=[...], lowest first"
        )
    return np.asarray(dtype.categories)


def _column(y: Any) -> Array:
    """Return labels as a vector without missing ones."""
    column = pd.Series(y).reset_index(drop=True) if np.ndim(y) == 1 else None
    if column is None:
        raise DataError(f"y must be a vector of labels, got {np.ndim(y)} dimensions; one column is y.ravel()")
    for row in np.flatnonzero(column.isna())[:1]:
        raise DataError(f"y[{row}] is missing (None or NaN); give a label or drop the object")
    return np.asarray(column)


def _distinct(levels: Sequence[Any]) -> Array:
    """Return given levels as a vector, each there once."""
    names = np.asarray(pd.Series(list(levels)))
    if len(names) == 0:
        raise DataError("levels is empty; give the labels in order, lowest first")
    for k in np.flatnonzero(pd.Index(names).duplicated())[:1]:
        raise DataError(f"levels[{k}] is {names[k]!r}, which is there already; name every level once")
    return names
