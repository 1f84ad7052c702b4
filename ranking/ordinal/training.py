"""Training data of an ordinal model: what was handed in, checked, as a kernel, hinges and levels.

Room: X, y, weights and the parameters of a model as scikit-learn's users hand them in, in; a record out.
May touch: `errors`, `arguments`, `arrays`, `kernels`, `representation`, `levels`, `hinges`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from ranking.arguments import Integers
from ranking.arrays import Array
from ranking.crossings import TIED
from ranking.errors import DataError
from ranking.kernels import Gamma, Kernel
from ranking.levels import Levels, read_levels
from ranking.ordinal.hinges import Hinges, Scope, distinct_rows, hinges_of
from ranking.representation import Representation, represent


@dataclass(frozen=True, eq=False)
class Training:
    """Distinct objects in a kernel's representation, their hinges, and the levels that occur.

    `declared` are all levels that labels could have; `first` are the row numbers of the distinct objects,
    `items` tells which of them every object is; `codes` and `weight` are those of all objects.
    """

    representation: Representation
    hinges: Hinges
    levels: Levels
    declared: Levels
    first: Integers
    items: Integers
    codes: Integers
    weight: Array


class OrdinalModel(ClassifierMixin, BaseEstimator):
    """What all ordinal models share: their parameters, how data are read, how levels are predicted."""

    def __init__(
        self,
        *,
        kernel: Kernel = "linear",
        gamma: Gamma = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        levels: Sequence[Any] | None = None,
        scope: Scope = "adjacent",
        ordered: bool = True,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.levels = levels
        self.scope = scope
        self.ordered = ordered

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Return the checked training data, and keep what scikit-learn expects to find."""
        rows, codes, weight, levels = self._checked(X, y, sample_weight)
        observed = levels.observed(codes)
        if len(observed) < 2:
            raise DataError(f"y has one class only, {observed.shown}; at least two levels are needed")
        codes = np.searchsorted(np.unique(codes), codes)
        self.classes_ = observed.names
        parameters = (self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)
        representation = represent(rows, *parameters)
        first, items = distinct_rows(rows)
        hinges = hinges_of(codes, len(observed), items, weight, self.scope)
        return Training(representation.part(first), hinges, observed, levels, first, items, codes, weight)

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Integers, Array, Levels]:
        """Return rows, codes and weights of the objects that count, and all levels."""
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        rows = self._rows_of(X, reset=True)
        if self.kernel == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise DataError(f"X, precomputed, must be square, one row and column an object, got {rows.shape}")
        labels = _labels(y, self.levels is not None)
        try:
            check_consistent_length(rows, labels)
            weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        except ValueError as error:
            raise DataError(f"X, y and sample_weight do not fit together: {error}") from error
        levels = read_levels(labels, self.levels)
        counts = weight > 0
        if not counts.any():
            raise DataError("sample_weight is 0 for every object; at least two levels need a positive one")
        kept = rows if counts.all() else rows[counts]
        if self.kernel == "precomputed" and not counts.all():
            kept = kept[:, counts]
        self._counted = np.flatnonzero(counts)
        return kept, levels.codes(labels)[counts], weight[counts], levels

    def _rows_of(self, X: Any, reset: bool) -> Any:
        options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_min_samples": 1 + reset}
        try:
            return validate_data(self, X, reset=reset, **options)
        except ValueError as error:
            raise DataError(f"X cannot be used: {error}") from error

    def _new_rows(self, X: Any) -> Any:
        """Return new rows, checked against those of the fit; of a precomputed kernel the items' columns."""
        check_is_fitted(self)
        rows = self._rows_of(X, reset=False)
        return rows[:, self._counted][:, self.training_.first] if self.kernel == "precomputed" else rows

    def _margins_of(self, f: Array, thresholds: Array) -> Array:
        """Return how far scores are inside each level, below 0 outside; of two levels, above the threshold."""
        if len(thresholds) == 1:
            return np.asarray(f - thresholds[0])
        ends = np.concatenate([[-np.inf], np.sort(thresholds), [np.inf]])
        return np.minimum(f[:, None] - ends[:-1], ends[1:] - f[:, None])

    def _labels_of(self, f: Array, thresholds: Array) -> Array:
        """Return the level of every score, by how many thresholds it exceeds by more than round-off."""
        noise = TIED * max(np.abs(f).max(initial=0.0), np.abs(thresholds).max())
        return self.training_.levels.labels((f[:, None] - thresholds > noise).sum(axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in ("tanimoto", "minmax")
        tags.classifier_tags.poor_score = True  # unordered blobs have no order to find
        return tags


def _labels(y: Any, has_order: bool) -> Any:
    """Return labels as a vector, a pandas categorical as it is."""
    if isinstance(getattr(y, "dtype", None), pd.CategoricalDtype):
        return y
    try:
        labels = column_or_1d(y, warn=True)
        if not has_order:
            check_classification_targets(labels)
    except (ValueError, TypeError) as error:
        raise DataError(f"y cannot be used: {error}") from error
    return labels
