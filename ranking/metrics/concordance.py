"""Compiled code that counts concordant pairs; `ranking.metrics.rankings` imports it when first used."""

import numpy as np
from numba import njit

from ranking.core.validation import Array

# Kept on disk, since compiling takes half a second.
compiled = njit(cache=True)


@compiled
def count_concordant(levels: Array, ranks: Array, size: int) -> tuple[int, int, int]:
    """Return how many pairs are right, tied and there, of items sorted by level; ranks run from 1 to size."""
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
