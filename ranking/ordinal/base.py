r"""What all ordinal models share: conventions, hinges, training data and the base class.

Conventions. Izunaga, Sato, Tatsumi and Yamamoto minimise :math:`\|w\|^2 + c\,(\delta(\xi_-) +
\delta(\xi_+))`, we minimise :math:`\tfrac12\|w\|^2 + C \sum \text{loss}`, half of that: c = 2 C, and the
paper's objective is twice ours. Their c = 15 is C = 7.5. The 1-norm penalty is :math:`\delta(\xi) = \sum_i
\xi_i`; by the 2-norm penalty we understand :math:`\delta(\xi) = \sum_i \xi_i^2`, a choice the paper leaves
open. Solutions (w, p, ξ) are the same.

Hinges. Object i with label k wants :math:`p_k + 1 \le f(x_i) \le p_{k+1} - 1`. Each half is a hinge

.. math:: s \, (f(x_i) - p_k) \ge 1, \qquad s = \pm 1,

with a threshold, a sign and a weight; thresholds are numbered from 0 here, :math:`p_1, \dots, p_l` of the
paper. Hinges of equal objects are one hinge with the sum of their weights: the loss is the same, and so is
its solution, with fewer rows and no ties.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from ranking.core.labels import Levels, read_levels
from ranking.core.representation import KernelEstimator, Representation, validated
from ranking.core.validation import Array, Integers, require_choice
from ranking.errors import DataError, must_be
from ranking.selection.piecewise import TIED

# Which thresholds an object is compared with: those next to its level (the paper, Chu and Keerthi's explicit
# constraints), or all of them (their implicit ones).
Scope = Literal["adjacent", "all"]


@dataclass(frozen=True, eq=False)
class Hinges:
    """Hinges of distinct items: the item, threshold, sign and weight of each.

    `shares` has one row per object and one column per hinge: the object's share of the weight, times the
    sign, so that `shares @ alpha` are the coefficients of the objects.
    """

    item: Integers
    threshold: Integers
    sign: Array
    weight: Array
    n_items: int
    n_thresholds: int
    shares: Any = field(repr=False)

    def __len__(self) -> int:
        return len(self.item)

    @property
    def pairs(self) -> Integers:
        """The hinges as pairs of items, preferred first; the item `n_items` is nothing, of score 0."""
        pairs = np.column_stack([self.item, np.full(len(self), self.n_items)])
        return np.where(self.sign[:, None] > 0, pairs, pairs[:, ::-1])

    @property
    def incidence(self) -> Any:
        """The sparse matrix with one row per threshold and the signs of its hinges."""
        places = (self.threshold, np.arange(len(self)))
        return csr_array((self.sign, places), shape=(self.n_thresholds, len(self)))

    def of_items(self, items: Array) -> Integers:
        """Return the numbers of the hinges that belong to some items."""
        is_chosen = np.zeros(self.n_items, dtype=bool)
        is_chosen[items] = True
        return np.flatnonzero(is_chosen[self.item])

    def part(self, items: Array) -> "Hinges":
        """Return the hinges of some ascending items, which are numbered anew."""
        chosen = self.of_items(items)
        item, threshold = np.searchsorted(items, self.item[chosen]), self.threshold[chosen]
        kinds = (item, threshold, self.sign[chosen], self.weight[chosen])
        return Hinges(*kinds, len(items), self.n_thresholds, self.shares[:, chosen])

    def slack(self, f: Array, thresholds: Array) -> Array:
        """Return by how much every hinge is violated: 1 - s (f - p), or less than 0 where it is not."""
        return 1.0 - self.sign * (f[self.item] - thresholds[self.threshold])


def distinct_rows(X: Any) -> tuple[Integers, Integers]:
    """Return the number of the first of every group of equal rows, and the group of every row.

    >>> [part.tolist() for part in distinct_rows(np.array([[1.0], [0.0], [1.0]]))]
    [[0, 1], [0, 1, 0]]
    """
    if not isinstance(X, np.ndarray):
        # np.unique reads dense arrays only; equal sparse rows kept apart give the same loss, with more hinges
        everything = np.arange(X.shape[0])
        return everything, everything
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    # np.unique sorts rows; in order of appearance, data without equal rows keep their numbers
    order = np.argsort(first, kind="stable")
    rank = np.argsort(order)
    return first[order].astype(np.int64), rank[group.ravel()].astype(np.int64)


def hinges_of(
    codes: Integers,
    n_levels: int,
    items: Integers | None = None,
    weight: Array | None = None,
    scope: Scope = "adjacent",
) -> Hinges:
    """Return the hinges of objects with the given labels, those of the same item and kind taken together.

    >>> hinges = hinges_of(np.array([0, 1, 1, 2]), 3, np.array([0, 1, 1, 2]))
    >>> np.column_stack([hinges.item, hinges.threshold, hinges.sign, hinges.weight]).tolist()
    [[0.0, 0.0, -1.0, 1.0], [1.0, 0.0, 1.0, 2.0], [1.0, 1.0, -1.0, 2.0], [2.0, 1.0, 1.0, 1.0]]
    """
    n = len(codes)
    items = np.arange(n) if items is None else items
    weight = np.ones(n) if weight is None else weight
    require_choice(scope, ("adjacent", "all"), "scope")
    k = np.arange(n_levels - 1)
    side = np.where(k < codes[:, None], 1, -1)
    asked = np.ones(side.shape, dtype=bool)
    if scope == "adjacent":
        # the paper's p_ℓ and p_{ℓ+1} are thresholds ℓ - 1 and ℓ here; p_0 = -∞ and p_{l+1} = ∞ ask nothing
        asked = (k == codes[:, None] - 1) | (k == codes[:, None])
    owner, threshold = np.nonzero(asked)
    sign = side[asked]
    key = (items[owner] * (n_levels - 1) + threshold) * 2 + (sign > 0)
    # equal hinges become one with the sum of weights: otherwise their α would not be unique
    _, first, hinge = np.unique(key, return_index=True, return_inverse=True)
    total = np.bincount(hinge, weight[owner])
    # shared out by weight, every object's part of α stays below its own cap: α ω / Σω ≤ C ω
    shares = csr_array((sign * weight[owner] / total[hinge], (owner, hinge)), shape=(n, len(first)))
    kinds = (items[owner][first], threshold[first], sign[first].astype(float))
    return Hinges(*kinds, total, int(items.max(initial=-1)) + 1, n_levels - 1, shares)


@dataclass(frozen=True, eq=False)
class Training:
    """Distinct objects in a kernel's representation, their hinges, and the levels that occur.

    `declared` are all levels that labels could have. Every object has its row number, the distinct object it
    is, in `items`, and its level as a code.
    """

    representation: Representation
    hinges: Hinges
    levels: Levels
    declared: Levels
    rows: Integers
    items: Integers
    codes: Integers

    @property
    def first(self) -> Integers:
        """The row number of the first of every group of equal objects."""
        return self.rows[np.unique(self.items, return_index=True)[1]]

    def part(self, items: Integers) -> "Training":
        """Return the training data of some ascending items alone."""
        kept, hinges = np.isin(self.items, items), self.hinges.part(items)
        return replace(
            self,
            representation=self.representation.part(items),
            hinges=replace(hinges, shares=hinges.shares[kept]),
            rows=self.rows[kept],
            items=np.searchsorted(items, self.items[kept]),
            codes=self.codes[kept],
        )

    def spread(self, items: Integers, b: Array) -> Array:
        """Return coefficients of scores, those of some items, as coefficients of all items."""
        if self.representation.is_linear:
            return b
        whole = np.zeros(self.hinges.n_items)
        whole[items] = b
        return whole


@dataclass(kw_only=True, eq=False, repr=False)
class OrdinalModel(ClassifierMixin, KernelEstimator):
    """What all ordinal models share: their parameters, how data are read, how levels are predicted."""

    levels: Sequence[object] | None = None
    scope: Scope = "adjacent"
    ordered: bool = True

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Return the checked training data, and keep what scikit-learn expects to find."""
        rows, codes, weight, levels = self._checked(X, y, sample_weight)
        observed = require_two(levels.observed(codes))
        # a level without objects would leave its two thresholds without a link
        codes = np.searchsorted(np.unique(codes), codes)
        self.classes_ = observed.names
        representation = self._represent(rows)
        first, items = distinct_rows(rows)
        hinges = hinges_of(codes, len(observed), items, weight, self.scope)
        kept = representation.part(first)
        return Training(kept, hinges, observed, levels, self._counted, items, codes)

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Integers, Array, Levels]:
        """Return rows, codes and weights of the objects that count, and all levels."""
        if y is None:
            message = "{found} requires {argument} to be passed, but the target y is None"
            raise DataError(message, argument="y", found=type(self).__name__)
        rows, _ = validated(self, X)
        if self.kernel == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise must_be("precomputed X", "square", found=f"shape {rows.shape}")
        labels = _labels(y, self.levels is not None)
        try:
            check_consistent_length(rows, labels)
            weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        except ValueError as error:
            message = "{argument} do not fit together: {found}"
            raise DataError(message, argument="X, y and sample_weight", found=str(error)) from error
        levels = read_levels(labels, self.levels)
        # with weights of 0 the shares of a hinge, and 1/(2 C ω) of the 2-norm, would divide by 0
        counts = weight > 0
        kept = rows if counts.all() else rows[counts]
        if self.kernel == "precomputed" and not counts.all():
            kept = kept[:, counts]
        self._counted = np.flatnonzero(counts)
        return kept, levels.codes(labels)[counts], weight[counts], levels

    def _new_rows(self, X: Any) -> Any:
        """Return new rows, checked against those of the fit; of a precomputed kernel the items' columns."""
        check_is_fitted(self)
        rows, _ = validated(self, X, reset=False)
        return rows[:, self.training_.first] if self.kernel == "precomputed" else rows

    def _margins_of(self, f: Array, thresholds: Array) -> Array:
        """Return how far scores are inside each level, or below 0; of two levels, above the threshold."""
        if len(thresholds) == 1:
            return np.asarray(f - thresholds[0])
        # a level is how many thresholds a score exceeds, whichever they are: margins have to agree with that
        # also where thresholds do not ascend
        ends = np.concatenate([[-np.inf], np.sort(thresholds), [np.inf]])
        return np.minimum(f[:, None] - ends[:-1], ends[1:] - f[:, None])

    def _labels_of(self, f: Array, thresholds: Array) -> Array:
        """Return the level of every score, by how many thresholds it exceeds by more than round-off."""
        noise = TIED * max(np.abs(f).max(initial=0.0), np.abs(thresholds).max())
        return self.training_.levels.labels((f[:, None] - thresholds > noise).sum(axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # unordered blobs have no order to find
        return tags


def _labels(y: Any, has_order: bool) -> Any:
    """Return labels as a vector, a pandas categorical as it is."""
    if isinstance(getattr(y, "dtype", None), pd.CategoricalDtype):
        return y
    try:
        labels = column_or_1d(y, warn=True)
        if np.asarray(labels).dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        if not has_order:
            check_classification_targets(labels)
    except (ValueError, TypeError) as error:
        raise DataError("{argument} cannot be used: {found}", argument="y", found=str(error)) from error
    return labels


def require_two(observed: Levels) -> Levels:
    """Return the levels that occur, which must be two at least."""
    if len(observed) < 2:
        message = "{argument} has one class only, {found}; two are needed"
        raise DataError(message, argument="y", found=observed.shown)
    return observed
