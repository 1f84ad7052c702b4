r"""Thresholds: those that are optimal for given scores, and of several the middle ones.

For scores f the loss of threshold k is piecewise linear in p, with slope

.. math:: \sum_{b_r < p} \omega_r - \sum_{s_r = -1} \omega_r, \qquad b_r = f_r - s_r,

over its hinges r: the optimal p are a weighted quantile of the b, one number or an interval. Thresholds that
must ascend but whose intervals do not allow it share one block, whose loss is the sum of theirs.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ranking.core.validation import Array
from ranking.ordinal.base import Hinges
from ranking.selection.piecewise import PiecewiseLinear

# Which line is the largest, and from where on.
Envelope: TypeAlias = list[tuple[float, int]]
# Sums of weights that differ by less, relative to their total, are equal.
EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class Block:
    """Thresholds from `first` to `last` that are equal, the hinges at or below them, and those above.

    `lo` and `hi` are the ends of the interval of optimal values.
    """

    first: int
    last: int
    below: Array
    above: Array
    lo: float
    hi: float


def middle_thresholds(hinges: Hinges, f: Array, ordered: bool) -> Array:
    """Return for every threshold the middle of its optimal values, given the scores of the items.

    >>> from ranking.ordinal.base import hinges_of
    >>> middle_thresholds(hinges_of(np.array([0, 1]), 2), np.array([-3.0, 5.0]), ordered=True)
    array([1.])
    """
    ends = optimal_intervals(hinges, f, ordered)
    return np.asarray(ends.mean(axis=1))


def optimal_intervals(hinges: Hinges, f: Array, ordered: bool) -> Array:
    """Return the least and the largest optimal value of every threshold, ascending if they must.

    >>> from ranking.ordinal.base import hinges_of
    >>> optimal_intervals(hinges_of(np.array([0, 1]), 2), np.array([-3.0, 5.0]), ordered=True)
    array([[-2.,  4.]])
    """
    least, largest = optimal_blocks(hinges, f, ordered)
    lo = [block.lo for block in least for _ in range(block.first, block.last + 1)]
    hi = [block.hi for block in largest for _ in range(block.first, block.last + 1)]
    return np.column_stack([lo, hi])


def optimal_blocks(hinges: Hinges, f: Array, ordered: bool) -> tuple[list[Block], list[Block]]:
    """Return the thresholds in blocks that are equal where all of them are least, and where all are largest.

    Where they must ascend, neighbours whose least values do not are pooled (pool adjacent violators), which
    gives the least of all optimal solutions; largest values give the largest. One block each otherwise.
    """
    b = f[hinges.item] - hinges.sign
    single = [_block(hinges, b, k, k) for k in range(hinges.n_thresholds)]
    if not ordered:
        return single, single
    return _pooled(hinges, b, single, "lo"), _pooled(hinges, b, single, "hi")


def _pooled(hinges: Hinges, b: Array, single: list[Block], end: Literal["lo", "hi"]) -> list[Block]:
    """Return blocks whose least, or largest, values ascend."""
    blocks: list[Block] = []
    for block in single:
        while blocks and getattr(blocks[-1], end) > getattr(block, end):
            block = _block(hinges, b, blocks.pop().first, block.last)
        blocks.append(block)
    return blocks


def middle_lines(
    hinges: Hinges, lines: tuple[Array, Array], ends: tuple[float, float], inside: float, ordered: bool
) -> PiecewiseLinear:
    """Return the middle thresholds as lines on the parts of a piece on which scores are lines in C.

    `inside` is some C in the piece, at which it is decided which hinges are below and which above: that is
    the same for all C of a piece, but which of them is nearest may change, and there a part begins.
    """
    constant, slope = lines
    least, largest = optimal_blocks(hinges, constant + inside * slope, ordered)
    b = (constant[hinges.item] - hinges.sign, slope[hinges.item])
    envelopes = []
    for k in range(hinges.n_thresholds):
        below = [block.below for block in least if block.first <= k and (ordered or k <= block.last)]
        above = [block.above for block in largest if k <= block.last and (ordered or block.first <= k)]
        envelopes.append((k, upper_envelope(b[0], b[1], np.concatenate(below), ends)))
        envelopes.append((k, upper_envelope(-b[0], -b[1], np.concatenate(above), ends)))
    # a part begins wherever one of the envelopes bends, and the middle is half the sum of both
    starts = np.unique([start for _, envelope in envelopes for start, _ in envelope])
    middles = np.zeros((2, len(starts), hinges.n_thresholds))
    for k, envelope in envelopes:
        bends, owners = np.array(envelope).T
        owner = owners[np.searchsorted(bends, starts, side="right") - 1].astype(int)
        middles[:, :, k] += np.array([part[owner] for part in b]) / 2
    return PiecewiseLinear(starts, np.append(starts[1:], ends[1]), *middles)


def upper_envelope(constant: Array, slope: Array, chosen: Array, ends: tuple[float, float]) -> Envelope:
    """Return which of the chosen lines is the largest, and from where on.

    >>> upper_envelope(np.array([0.0, -1.0]), np.array([0.0, 1.0]), np.array([0, 1]), (0.0, 5.0))
    [(0.0, 0), (1.0, 1)]
    """
    at, stop = ends
    height = constant[chosen] + at * slope[chosen]
    # of lines tied at the beginning the steepest is the largest right after it
    top = int(chosen[np.lexsort((slope[chosen], height))[-1]])
    found = [(at, top)]
    while True:
        steeper = chosen[slope[chosen] > slope[top]]
        crossing = (constant[top] - constant[steeper]) / (slope[steeper] - slope[top])
        if not len(steeper) or not crossing.min() < stop:
            return found
        # only steeper lines can overtake; of those that do so at once the steepest stays ahead
        first = steeper[crossing == crossing.min()]
        top = int(first[slope[first].argmax()])
        found.append((max(float(crossing.min()), at), top))


def _block(hinges: Hinges, b: Array, first: int, last: int) -> Block:
    """Return a block of thresholds with its interval: a quantile of the points where the slope changes."""
    mine = np.flatnonzero((hinges.threshold >= first) & (hinges.threshold <= last))
    order = mine[np.argsort(b[mine], kind="stable")]
    reached = np.cumsum(hinges.weight[order])
    target = hinges.weight[mine][hinges.sign[mine] < 0].sum()
    # the loss has slope (weight below p) - target, so it is least where the sum of weights reaches the target
    near = EQUAL * reached[-1]
    low = min(int(np.searchsorted(reached, target - near)), len(order) - 1)
    is_flat = abs(reached[low] - target) <= near and low + 1 < len(order)
    high = low + 1 if is_flat else low
    return Block(first, last, order[: low + 1], order[high:], float(b[order[low]]), float(b[order[high]]))
