r"""Hinges: what every object asks of the thresholds beside its label, in one list.

Object i with label k wants :math:`p_k + 1 \le f(x_i) \le p_{k+1} - 1`. Each half is a hinge

.. math:: s \, (f(x_i) - p_k) \ge 1, \qquad s = \pm 1,

with a threshold, a sign and a weight; thresholds are numbered from 0 here, :math:`p_1, \dots, p_l` of the
paper. Hinges of equal objects are one hinge with the sum of their weights: the loss is the same, and so is
its solution, with fewer rows and no ties.

Room: labels as numbers and rows of X in, distinct items and hinges out. Knows no kernel and no program.
May touch: `errors`, `arguments`, `arrays`.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from ranking.arguments import Integers
from ranking.arrays import Array
from ranking.errors import DataError

# Which thresholds an object is compared with: those beside its level (the paper, Chu and Keerthi's explicit
# constraints), or all of them (their implicit ones).
Scope = Literal["adjacent", "all"]


@dataclass(frozen=True, eq=False)
class Hinges:
    """Hinges of distinct items: the item, threshold, sign and weight of each.

    `shares` has one row an object and one column a hinge: the object's share of the weight, times the sign,
    so that `shares @ alpha` are the coefficients of the objects.
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
        nothing = np.full(len(self), self.n_items)
        ascending = self.sign > 0
        return np.column_stack(
            [np.where(ascending, self.item, nothing), np.where(ascending, nothing, self.item)]
        )

    @property
    def incidence(self) -> Any:
        """The sparse matrix with one row a threshold and the signs of its hinges."""
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
        kept = (part[chosen] for part in (self.threshold, self.sign, self.weight))
        item = np.searchsorted(items, self.item[chosen])
        return Hinges(item, *kept, len(items), self.n_thresholds, self.shares[:, chosen])

    def slack(self, f: Array, thresholds: Array) -> Array:
        """Return by how much every hinge is violated: 1 - s (f - p), or less than 0 where it is not."""
        return 1.0 - self.sign * (f[self.item] - thresholds[self.threshold])


def distinct_rows(X: Any) -> tuple[Integers, Integers]:
    """Return the number of the first of every group of equal rows, and the group of every row.

    >>> [part.tolist() for part in distinct_rows(np.array([[1.0], [0.0], [1.0]]))]
    [[0, 1], [0, 1, 0]]
    """
    if not isinstance(X, np.ndarray):
        everything = np.arange(X.shape[0])
        return everything, everything
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
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
    owner, threshold, sign = _asked(codes, n_levels - 1, scope)
    key = (items[owner] * (n_levels - 1) + threshold) * 2 + (sign > 0)
    _, first, hinge = np.unique(key, return_index=True, return_inverse=True)
    total = np.bincount(hinge, weight[owner])
    shares = csr_array((sign * weight[owner] / total[hinge], (owner, hinge)), shape=(n, len(first)))
    kinds = (items[owner][first], threshold[first], sign[first].astype(float))
    return Hinges(*kinds, total, int(items.max(initial=-1)) + 1, n_levels - 1, shares)


def _asked(codes: Integers, n_thresholds: int, scope: Scope) -> tuple[Integers, Integers, Integers]:
    """Return object, threshold and sign of everything that is asked, an object at a time."""
    if scope not in ("adjacent", "all"):
        raise DataError(f"scope must be 'adjacent' or 'all', got {scope!r}")
    k = np.arange(n_thresholds)
    sign = np.where(k < codes[:, None], 1, -1)
    asked = np.ones(sign.shape, dtype=bool)
    if scope == "adjacent":
        asked = (k == codes[:, None] - 1) | (k == codes[:, None])
    owner, threshold = np.nonzero(asked)
    return owner, threshold, sign[asked]
