r"""Uncertainty: the standard error of a pairwise accuracy, followed through flips of single pairs.

Over Q queries it is that of the mean of their accuracies. In one query it is the jackknife over items: with
:math:`\theta_i` the accuracy without item i,

.. math:: \sqrt{\tfrac{n-1}{n} \sum_i (\theta_i - \bar\theta)^2}, \qquad
          \theta_i = 1 - (W - W_i)/(m - m_i),

m pairs, W of them wrong, m_i and W_i of these with item i. Both need only sums of first and second powers of
how many pairs are wrong in a group (a query, an item), and a flip changes these by a few numbers.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ranking.core.validation import Array


class Flips(NamedTuple):
    """Pairs that become wrong (+1) or right (-1), in the order in which they do, on numbered pieces."""

    piece: Array
    pair: Array
    change: Array


class Sums(NamedTuple):
    """Sums over groups g of u v, u² v and u² v², where v pairs of g are wrong, and all wrong pairs."""

    first: Array
    weighted: Array
    second: Array
    wrong: Array


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of m pairs, `of` one row per pair, and the u of each group."""

    of: Array
    u: Array
    is_query: bool

    def start(self, wrong: Array) -> tuple[Array, Sums]:
        """Return how many pairs of each group are wrong, one row per piece, and the sums of that."""
        m, width = self.of.shape
        where = (np.repeat(np.arange(m), width), self.of.ravel())
        member = csr_array((np.ones(m * width), where), shape=(m, len(self.u)))
        v = np.asarray(wrong @ member)
        return v, Sums(v @ self.u, v @ self.u**2, v**2 @ self.u**2, wrong.sum(axis=1))

    def changes(self, v: Array, flips: Flips) -> Sums:
        """Return what every flip adds to the sums."""
        groups, change = self.of[flips.pair], flips.change[:, None]
        piece, u = flips.piece[:, None], self.u[groups]
        before = v[piece, groups] + earlier_changes(piece * len(self.u) + groups, change)
        first, weighted = ((power * change).sum(axis=1) for power in (u, u**2))
        # (v + δ)² - v² = 2 v δ + δ²
        second = (u**2 * (2 * before * change + change**2)).sum(axis=1)
        return Sums(first, weighted, second, flips.change)

    def errors(self, sums: Sums) -> Array:
        """Return the standard errors that belong to sums; NaN where there is nothing to compare."""
        size = int((self.u > 0).sum())
        if size < 2:
            return np.full(len(sums.first), np.nan)
        first, second, factor = sums.first, sums.second, 1 / (size * (size - 1))
        # θ_i = 1 - (W - W_i)/(m - m_i): sums over u (W - W_i) follow from those over u W_i
        if not self.is_query:
            first = sums.wrong * self.u.sum() - first
            second = sums.wrong**2 * (self.u**2).sum() - 2 * sums.wrong * sums.weighted + second
            factor = (size - 1) / size
        # a variance of 0 may come out below 0 by rounding
        return np.asarray(np.sqrt(factor * np.maximum(second - first**2 / size, 0.0)))


def groups_of(pairs: Array, query: Array, n: int) -> Groups:
    """Return the queries of pairs if there are several, numbered 0, 1, ..., else their items among n."""
    sizes = np.bincount(query)
    if len(sizes) > 1:
        return Groups(query[:, None], 1 / sizes, is_query=True)
    rest = len(pairs) - np.bincount(pairs.ravel(), minlength=n)
    # without an item that is in every pair no pair is left to measure
    u = np.divide(1.0, rest, out=np.zeros(n), where=rest > 0)
    return Groups(pairs, u, is_query=False)


def earlier_changes(keys: Array, change: Array) -> Array:
    """Return for every entry the sum of the changes before it with the same key."""
    changes = np.broadcast_to(change, keys.shape).ravel()
    order = np.argsort(keys, axis=None, kind="stable")
    ordered = keys.ravel()[order]
    sums = np.cumsum(changes[order]) - changes[order]
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    lengths = np.diff(np.append(begins, len(ordered)))
    result = np.empty(len(ordered))
    # running sums over all keys, minus their values where each key begins
    result[order] = sums - np.repeat(sums[begins], lengths)
    return result.reshape(keys.shape)
