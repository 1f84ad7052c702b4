"""Concordance: how many preference pairs scores put in the right order, without visiting the pairs.

Room: labels and scores of one query in, three counts out. Knows no queries and no averages.
May touch: `arrays`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ranking.arrays import Array

# Kept on disk, since compiling takes half a second.
compiled = njit(cache=True)


class PairCounts(NamedTuple):
    """Of all pairs with y_i > y_j: how many have s_i > s_j, how many s_i = s_j, and how many there are."""

    right: int
    tied: int
    pairs: int


def count_pairs(y: Array, scores: Array) -> PairCounts:
    """Return the counts of one query in O(n log n), by a tree of order statistics over the scores.

    Items enter the tree level by level, the least relevant first, so that a walk down the tree counts the
    less relevant items with a smaller score [Airola et al. 2011; Kuo et al. 2014, section 3.2].

    >>> count_pairs(np.array([2, 1, 1, 0]), np.array([3.0, 1.0, 4.0, 1.0]))
    PairCounts(right=3, tied=1, pairs=5)
    """
    order = np.argsort(y, kind="stable")
    values, ranks = np.unique(scores, return_inverse=True)
    right, tied, pairs = _walk(np.ascontiguousarray(y[order]), ranks[order] + 1, len(values))
    return PairCounts(int(right), int(tied), int(pairs))


@compiled
def _walk(levels: Array, ranks: Array, size: int) -> tuple[int, int, int]:
    """Count over items sorted by level; ranks run from 1 to size."""
    tree, same = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    right, tied, pairs, start = 0, 0, 0, 0
    for item in range(len(levels)):
        if levels[item] != levels[start]:
            for lower in range(start, item):
                same[ranks[lower]] += 1
                _add(tree, ranks[lower])
            start = item
        right += _sum_up_to(tree, ranks[item] - 1)
        tied += same[ranks[item]]
        pairs += start
    return right, tied, pairs


@compiled
def _add(tree: Array, rank: int) -> None:
    """Count one more item of a rank (Fenwick tree: node r holds the last r & −r ranks up to r)."""
    while rank < len(tree):
        tree[rank] += 1
        rank += rank & -rank


@compiled
def _sum_up_to(tree: Array, rank: int) -> int:
    """Return how many items have at most this rank."""
    total = 0
    while rank > 0:
        total += tree[rank]
        rank -= rank & -rank
    return total
