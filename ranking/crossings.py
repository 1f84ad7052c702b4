r"""Crossings: where lines in C meet, piece by piece, and sums that change there.

Room: lines and pairs of them in; crossings in order and running sums out. Knows no labels and no metric.
May touch: `arrays`, `uncertainty`.
"""

from typing import NamedTuple

import numpy as np

from ranking.arrays import Array
from ranking.uncertainty import Flips

# Score differences below this part of the largest score of a piece are round-off: the items are tied.
TIED = 1e-12


class ScoreLines(NamedTuple):
    """Scores constant + C · slope of all items on the pieces from `lo` to `hi`, one row a piece."""

    lo: Array
    hi: Array
    constant: Array
    slope: Array

    def ends(self) -> tuple[Array, Array]:
        """Return the scores at both ends of every piece; at infinity their slopes decide."""
        lo, hi = self.lo[:, None], self.hi[:, None]
        finite = np.where(np.isinf(hi), 0.0, hi)
        end = np.where(np.isinf(hi), self.slope, self.constant + finite * self.slope)
        return self.constant + lo * self.slope, end

    def noise(self) -> Array:
        """Return for every piece the difference of scores that is round-off, one row a piece."""
        far = np.where(np.isinf(self.hi), np.maximum(1.0, self.lo), self.hi)[:, None]
        return TIED * (np.abs(self.constant) + far * np.abs(self.slope)).max(axis=1, initial=0.0)[:, None]


def crossings(lines: ScoreLines, pairs: Array) -> tuple[Array, Flips, Array]:
    """Return which line of a pair is ahead when a piece begins, all crossings in order, and their C.

    Ahead is +1 for the first line of the pair, -1 for the second, 0 if they are tied on the whole piece; a
    line that starts, or ends, level with the other is ahead of it where it is on the rest of the piece.
    """
    i, j = pairs.T
    differences = (scores[:, i] - scores[:, j] for scores in lines.ends())
    noise = lines.noise()
    begin, end = (np.sign(np.where(np.abs(d) <= noise, 0.0, d)) for d in differences)
    left, right = np.where(begin != 0, begin, end), np.where(end != 0, end, begin)
    piece, pair = np.nonzero(left * right < 0)
    a, b = i[pair], j[pair]
    at = (lines.constant[piece, b] - lines.constant[piece, a]) / (
        lines.slope[piece, a] - lines.slope[piece, b]
    )
    at = np.clip(at, lines.lo[piece], lines.hi[piece])
    order = np.lexsort((at, piece))
    flips = Flips(piece[order], pair[order], left[piece, pair][order])
    return left, flips, at[order]


def places(lines: ScoreLines, piece: Array, at: Array) -> tuple[Array, Array, Array]:
    """Return of all steps, those at the beginning of pieces included: piece, start, and if a pair flips."""
    pieces = np.concatenate([np.arange(len(lines.lo)), piece])
    starts = np.concatenate([lines.lo, at])
    order = np.argsort(pieces, kind="stable")
    return pieces[order], starts[order], order >= len(lines.lo)


def running(first: Array, added: Array, pieces: Array, is_flip: Array) -> Array:
    """Return a sum on every step: what it is when the piece begins, and what flips have added since."""
    increments = np.zeros(len(pieces))
    increments[is_flip] = added
    total = np.cumsum(increments)
    return first[pieces] + total - total[~is_flip][pieces]


def with_exact_ties(lines: ScoreLines) -> ScoreLines:
    """Return the lines with those that differ by round-off on a whole piece made equal."""
    noise, n = lines.noise(), lines.constant.shape[1]
    begin, end = (_clusters(scores, noise) for scores in lines.ends())
    constant, slope = lines.constant.copy(), lines.slope.copy()
    for k, keys in enumerate(begin * n + end):
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        constant[k], slope[k] = constant[k, first[inverse]], slope[k, first[inverse]]
    return lines._replace(constant=constant, slope=slope)


def _clusters(scores: Array, noise: Array) -> Array:
    """Return for every row the number of the cluster of each score, clusters being apart by noise."""
    order = np.argsort(scores, axis=1, kind="stable")
    gaps = np.diff(np.take_along_axis(scores, order, axis=1), axis=1) > noise
    ranks = np.pad(np.cumsum(gaps, axis=1), ((0, 0), (1, 0)))
    result = np.empty_like(ranks)
    np.put_along_axis(result, order, ranks, axis=1)
    return result
