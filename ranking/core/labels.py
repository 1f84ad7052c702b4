"""Ordered labels (levels) of any kind as the numbers 0, 1, ..., l, and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranking.core.validation import Array, Integers, values_shown
from ranking.errors import DataError, must_be


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

    def codes(self, y: Any, name: str = "y") -> Integers:
        """Return the numbers of labels, all of which must be levels."""
        values = _column(y, name)
        codes = pd.Index(self.names).get_indexer(pd.Index(values))
        for row in np.flatnonzero(codes < 0)[:1]:
            raise DataError(
                "{argument} is {found}, which is none of the levels {expected}",
                argument=f"{name}[{row}]",
                found=values_shown(values[[row]]),
                expected=self.shown,
                row=int(row),
            )
        return codes.astype(np.int64)

    def labels(self, codes: Any) -> Array:
        """Return the labels with the given numbers."""
        return self.names[np.asarray(codes)]

    def observed(self, codes: Integers) -> "Levels":
        """Return the levels that occur among codes."""
        return Levels(self.names[np.unique(codes)])

    def extended(self, y: Any, name: str = "y") -> "Levels":
        """Return the levels that these and further labels are compared in.

        Those of an ordered categorical are its categories, which must hold these levels in the same order.
        Other numbers take their place between numbers. No other label has a place: the levels stay.

        >>> Levels(np.array([1, 3])).extended([2, 3]).names.tolist()
        [1, 2, 3]
        """
        categories = _categories(y, name)
        if categories is not None:
            places = pd.Index(categories).get_indexer(pd.Index(self.names))
            if (places < 0).any() or (np.diff(places) < 0).any():
                raise DataError(
                    "{argument} has the categories {found}, but the levels are {expected}",
                    argument=name,
                    found=values_shown(categories, most=10),
                    expected=self.shown,
                    remedy="the categories must hold them in this order",
                )
            return Levels(categories)
        values = _column(y, name)
        is_number = self.names.dtype.kind in "biuf" and values.dtype.kind in "biuf"
        # where levels are not in the order of numbers, a new number has no place among them
        if not is_number or not np.array_equal(self.names, np.unique(self.names)):
            return self
        return Levels(np.union1d(self.names, values))

    @property
    def shown(self) -> str:
        """The levels for a message."""
        return values_shown(self.names, most=10)


def read_levels(y: Any, levels: Sequence[Any] | None = None, name: str = "y") -> Levels:
    """Return the levels of labels: those given, the categories of an ordered categorical, or sorted numbers.

    Strings and other labels without an order of their own need `levels`: sorted by letter, "high" would be
    the lowest.

    >>> read_levels([3, 1, 3]).names.tolist()
    [1, 3]
    >>> read_levels(pd.Categorical(["b"], categories=["b", "a"], ordered=True)).names.tolist()
    ['b', 'a']
    """
    if levels is not None:
        # by pandas: numpy alone would turn 1 and "1" into equal strings
        names = np.asarray(pd.Series(list(levels)))
        if len(names) == 0:
            message = "{argument} is empty"
            raise DataError(message, argument="levels", remedy="give the labels in order, lowest first")
        for k in np.flatnonzero(pd.Index(names).duplicated())[:1]:
            message = "{argument} occurs twice: {found}"
            raise DataError(message, argument=f"levels[{k}]", found=values_shown(names[[k]]))
        return Levels(names)
    categories = _categories(y, name)
    if categories is not None:
        return Levels(categories)
    values = _column(y, name)
    if values.dtype.kind not in "biuf":
        message = "{argument} holds labels without an order of their own, {found}"
        found = values_shown(sorted(set(values.tolist()), key=str))
        remedy = "pass levels=[...], lowest first, or a pandas categorical with ordered=True"
        raise DataError(message, argument=name, found=found, remedy=remedy)
    return Levels(np.unique(values))


def _categories(y: Any, name: str) -> Array | None:
    """Return the categories of a categorical, which must be ordered; None of anything else."""
    dtype = getattr(y, "dtype", None)
    if not isinstance(dtype, pd.CategoricalDtype):
        return None
    if not dtype.ordered:
        raise DataError(
            "{argument} is a categorical without order, of {found}",
            argument=name,
            found=values_shown(list(dtype.categories)),
            remedy="make it ordered, by cat.as_ordered(), or pass levels=[...], lowest first",
        )
    return np.asarray(dtype.categories)


def _column(y: Any, name: str) -> Array:
    """Return labels as a vector without missing ones."""
    column = pd.Series(y).reset_index(drop=True) if np.ndim(y) == 1 else None
    if column is None:
        raise must_be(name, "a vector of labels", found=f"{np.ndim(y)} dimensions")
    for row in np.flatnonzero(column.isna())[:1]:
        raise DataError("{argument} is missing (None or NaN)", argument=f"{name}[{row}]", row=int(row))
    return np.asarray(column)
