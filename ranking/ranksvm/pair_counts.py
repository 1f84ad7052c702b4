r"""Sums over the pairs of a ranking problem that miss their margin, from the scores of its items.

A pair p = (i, j), item i preferred to item j, has the residual :math:`r_p = \Delta_p - (f_i - f_j)`. Losses,
their gradients and the products with their Hessians need sums over the pairs with r > 0 only. `ListedPairs`
takes these sums from a list of pairs with weights and margins. `CountedPairs` holds all pairs that the levels
of items imply, each with weight and margin 1, and never lists them: l items take O(l log l log k) time for k
levels and O(l log k) memory, whatever the number of pairs.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from ranking.core.validation import Array, Integers, incidence

# So many pairs, or so many for every item, are taken one by one: their residuals are then as exact as the
# scores, while counted sums of residuals are small differences of large numbers.
LISTED, LISTED_PER_ITEM = 2_000, 4


class NearPairs(Protocol):
    r"""Some pairs, those with residuals between two numbers, and sums over them.

    Row p of D has +1 at the preferred item of pair p and -1 at the other one; :math:`\omega` are weights.
    """

    @property
    def weight(self) -> float:
        """Σ ω."""

    @property
    def total(self) -> float:
        """Σ ω r."""

    @property
    def total_of_squares(self) -> float:
        """Σ ω r²."""

    @property
    def largest(self) -> float:
        """The largest residual, or a bound."""

    @property
    def balance(self) -> Array:
        """Dᵀω, one number per item."""

    @property
    def residual_balance(self) -> Array:
        """Dᵀ(ωr), one number per item."""

    def laplacian(self, values: Array) -> Array:
        """Return DᵀΩD times a vector of one value per item, or times a matrix of one row per item."""


class PairSums(Protocol):
    """The pairs of a ranking problem, as far as its solvers need them."""

    n_items: int
    count: int
    least_margin: float

    def near(self, scores: Array) -> NearPairs:
        """Return the pairs with r > 0."""

    def band(self, scores: Array, gamma: float) -> tuple[NearPairs, NearPairs]:
        """Return the pairs with 0 < r <= γ, and those with r > γ, whose residuals count from γ on."""


@dataclass(frozen=True, eq=False)
class _Digit:
    """The pairs whose levels differ first in one binary digit.

    Among items of one `group`, which is their query and their higher digits, those with the digit 1,
    `preferred`, are preferred to all `others`. Both are sorted by group.
    """

    group: Integers
    preferred: Integers
    others: Integers


class CountedPairs:
    """All pairs of items of one query with different levels, the higher level preferred.

    Two levels differ first in exactly one binary digit. So the pairs fall into as many parts as levels have
    digits, and within a part every group of items has two kinds, preferred and other: sorting such a group
    by score counts its pairs [the two levels of Joachims 2005, for any number of levels].
    """

    least_margin = 1.0

    def __init__(self, levels: Array, queries: Integers) -> None:
        self.n_items, self.count = len(levels), 0
        self._digits = []
        # levels as 0, 1, ...: as few digits as possible
        ranks = np.unique(levels, return_inverse=True)[1].reshape(-1)
        for digit in range(int(ranks.max(initial=0)).bit_length()):
            is_one = (ranks >> digit) & 1 == 1
            keys = np.column_stack([queries, ranks >> (digit + 1)])
            group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
            ones, size = np.bincount(group, is_one).astype(np.int64), np.bincount(group)
            self.count += int(ones @ (size - ones))
            is_mixed = ((ones > 0) & (ones < size))[group]
            if is_mixed.any():
                kinds = np.flatnonzero(is_mixed & is_one), np.flatnonzero(is_mixed & ~is_one)
                self._digits.append(_Digit(group, *kinds))

    def near(self, scores: Array) -> NearPairs:
        near = _Counted(_Sorted(self._digits, scores), 1.0)
        return near.listed() if self._are_few(near.count) else near

    def band(self, scores: Array, gamma: float) -> tuple[NearPairs, NearPairs]:
        in_order = _Sorted(self._digits, scores)
        near, beyond = _Counted(in_order, 1.0), _Counted(in_order, 1.0 - gamma)
        if self._are_few(near.count - beyond.count):
            return near.listed(beyond), beyond
        return _Difference(near, beyond, gamma), beyond

    def _are_few(self, count: int) -> bool:
        return count <= max(LISTED, LISTED_PER_ITEM * self.n_items)


class _Sorted:
    """Items in the order of their scores, and those of every digit by group and score."""

    def __init__(self, digits: list[_Digit], scores: Array) -> None:
        n = len(scores)
        order = np.argsort(scores, kind="stable")
        self.scores, self.order, self.ascending = scores, order, scores[order]
        self.rank = np.empty(n, dtype=np.int64)
        self.rank[order] = np.arange(n)
        self.digits = []
        for digit in digits:
            # the place of an item among all, group after group: keys of two kinds can be compared
            key = digit.group * (n + 1) + self.rank
            preferred, others = (kind[np.argsort(key[kind])] for kind in (digit.preferred, digit.others))
            self.digits.append((_Digit(digit.group, preferred, others), key))


class _Range(NamedTuple):
    """The partners of items in a digit: a range of the other kind each, from `start` up to `end`."""

    items: Integers
    partners: Integers
    start: Integers
    end: Integers

    def sums(self, values: Array) -> Array:
        """Return for every item the sum of values, one row per item, over its partners."""
        running = np.zeros((len(self.partners) + 1, *values.shape[1:]), dtype=values.dtype)
        np.cumsum(values[self.partners], axis=0, out=running[1:])
        return running[self.end] - running[self.start]


class _Counted:
    """The pairs with f_i − f_j < margin, by their numbers only."""

    largest = np.inf

    def __init__(self, in_order: _Sorted, margin: float) -> None:
        n = len(in_order.scores)
        self._scores, self._margin = in_order.scores, margin
        # j is near i if f_j > f_i - margin, which is to say that its rank is at least the number of scores
        # that are not larger than f_i - margin
        reach = np.empty(n, dtype=np.int64)
        ascending = in_order.ascending
        reach[in_order.order] = np.searchsorted(ascending, ascending - margin, side="right")
        # for every digit the ranges of its preferred items, and those of the others
        self.ranges: list[tuple[_Range, _Range]] = []
        self._degree, signed = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        for digit, key in in_order.digits:
            group, preferred, others = digit.group, digit.preferred, digit.others
            limit, key_of_others = (group * (n + 1) + reach)[preferred], key[others]
            start = np.searchsorted(key_of_others, limit)
            end = np.searchsorted(group[others], group[preferred], side="right")
            of_preferred = _Range(preferred, others, start, end)
            first = np.searchsorted(group[preferred], group[others])
            last = np.searchsorted(limit, key_of_others, side="right")
            of_others = _Range(others, preferred, first, last)
            for part, sign in ((of_preferred, 1), (of_others, -1)):
                # an item occurs once in a digit
                number = part.end - part.start
                self._degree[part.items] += number
                signed[part.items] += sign * number
            self.ranges.append((of_preferred, of_others))
        self.count = int(self._degree.sum()) // 2
        self.weight, self.balance = float(self.count), signed.astype(float)

    @cached_property
    def total(self) -> float:
        return self._margin * self.count - float(self.balance @ self._scores)

    @cached_property
    def residual_balance(self) -> Array:
        # Dᵀr = margin Dᵀ1 - DᵀDf
        return self._margin * self.balance - self.laplacian(self._scores)

    @cached_property
    def total_of_squares(self) -> float:
        return self._margin * self.total - float(self.residual_balance @ self._scores)

    def laplacian(self, values: Array) -> Array:
        result = values * (self._degree if values.ndim == 1 else self._degree[:, None])
        for parts in self.ranges:
            for part in parts:
                result[part.items] -= part.sums(values)
        return result

    def listed(self, beyond: "_Counted | None" = None) -> "_Listed":
        """Return these pairs one by one, without those beyond."""
        pairs = []
        for k, (part, _) in enumerate(self.ranges):
            end = part.end if beyond is None else beyond.ranges[k][0].start
            length = end - part.start
            # all numbers from start up to end, one range after the other
            within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
            j = part.partners[np.repeat(part.start, length) + within]
            pairs.append(np.column_stack([np.repeat(part.items, length), j]))
        listed = np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64)
        residual = self._margin - (self._scores[listed[:, 0]] - self._scores[listed[:, 1]])
        return _Listed(incidence(listed, len(self._scores)), np.ones(len(listed)), residual)


@dataclass(frozen=True, eq=False)
class _Difference:
    """The pairs with 0 < r <= γ, as all pairs without those beyond γ."""

    near: _Counted
    beyond: _Counted
    gamma: float

    @property
    def largest(self) -> float:
        return self.gamma

    @property
    def weight(self) -> float:
        return self.near.weight - self.beyond.weight

    @property
    def total(self) -> float:
        return self.near.total - self.beyond.total - self.gamma * self.beyond.weight

    @property
    def total_of_squares(self) -> float:
        beyond, gamma = self.beyond, self.gamma
        # (r - γ)² = r² - 2γ(r - γ) - γ²
        return self.near.total_of_squares - (
            beyond.total_of_squares + 2 * gamma * beyond.total + gamma**2 * beyond.weight
        )

    @property
    def balance(self) -> Array:
        return self.near.balance - self.beyond.balance

    @property
    def residual_balance(self) -> Array:
        beyond = self.beyond.residual_balance + self.gamma * self.beyond.balance
        return self.near.residual_balance - beyond

    def laplacian(self, values: Array) -> Array:
        return self.near.laplacian(values) - self.beyond.laplacian(values)


class ListedPairs:
    """Pairs with weights and margins, one by one."""

    def __init__(self, pairs: Integers, weight: Array, margin: Array, n_items: int) -> None:
        self.n_items, self.count = n_items, len(pairs)
        self.least_margin = float(margin.min())
        self.weight, self.margin, self.D = weight, margin, incidence(pairs, n_items)

    def near(self, scores: Array) -> NearPairs:
        residual = self.margin - self.D @ scores
        return self._part(residual, residual > 0)

    def band(self, scores: Array, gamma: float) -> tuple[NearPairs, NearPairs]:
        residual = self.margin - self.D @ scores
        is_beyond = residual > gamma
        return self._part(residual, (residual > 0) & ~is_beyond), self._part(residual - gamma, is_beyond)

    def _part(self, residual: Array, chosen: Any) -> "_Listed":
        return _Listed(self.D[chosen], self.weight[chosen], residual[chosen])


class _Listed:
    def __init__(self, D: Any, weight: Array, residual: Array) -> None:
        weighted = weight * residual
        self._D, self._weight = D, weight
        self.weight, self.total = float(weight.sum()), float(weighted.sum())
        self.total_of_squares = float(weighted @ residual)
        self.largest = float(residual.max(initial=0.0))
        self.balance, self.residual_balance = D.T @ weight, D.T @ weighted

    def laplacian(self, values: Array) -> Array:
        weight = self._weight if values.ndim == 1 else self._weight[:, None]
        return np.asarray(self._D.T @ (weight * (self._D @ values)))
