r"""Crossings: where lines in C meet, piece by piece, and sums that change there.

Lines: numbers that are piecewise linear in C, and where two of them cross.

Part-worths on a solution path are such numbers, and so are utilities and, between crossings of levels, ranges
of attributes. What depends on nothing but their order changes at crossings only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ranking.core.validation import Array, numbers, read_only
from ranking.errors import DataError
from ranking.selection.uncertainty import Flips

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


# Where inside a piece one looks, as a share of its length: not the middle, where lines with whole
# coefficients like to cross.
INSIDE = (3 - 5**0.5) / 2
# How far three values may be from one line, relative to the largest of them.
STRAIGHT = 1e-6
# Edges closer together than this part of themselves are one: round-off of the same breakpoint or crossing.
CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Lines:
    """Numbers start + (C − lo) · slope on the pieces from `edges[k]` to `edges[k + 1]`, one row a piece.

    >>> lines = Lines([0, 2, np.inf], [[0, 1], [4, 1]], [[2, 0], [0, 0]])
    >>> lines.at([1, 5]).tolist(), lines.crossed([(0, 1)]).edges.tolist()
    ([[2.0, 1.0], [4.0, 1.0]], [0.0, 0.5, 2.0, inf])
    """

    edges: Array
    start: Array
    slope: Array

    def __post_init__(self) -> None:
        for name in ("edges", "start", "slope"):
            object.__setattr__(self, name, read_only(np.array(getattr(self, name), dtype=float)))
        pieces = len(self.edges) - 1
        if pieces < 1 or not (np.diff(self.edges) > 0).all():
            raise DataError("edges must be at least two ascending numbers, the ends of the pieces")
        if self.start.shape != self.slope.shape or len(self.start) != pieces:
            raise DataError(
                f"{pieces} pieces need as many rows of start and of slope, "
                f"got shapes {self.start.shape} and {self.slope.shape}"
            )

    @property
    def inside(self) -> Array:
        """One C inside every piece; a piece without end is as long as it is away from 0, or 1."""
        return inside_of(self.edges)

    def at(self, C: Any) -> Array:
        """Return the numbers at each of some C, one row each; at an edge those of the right side."""
        where = np.atleast_1d(np.asarray(C, dtype=float))
        if not ((where >= self.edges[0]) & (where <= self.edges[-1])).all():
            raise DataError(f"C must lie between {self.edges[0]:g} and {self.edges[-1]:g}, got {C!r:.60}")
        piece = np.minimum(np.searchsorted(self.edges, where, side="right") - 1, len(self.start) - 1)
        return np.asarray(self.start[piece] + (where - self.edges[piece])[:, None] * self.slope[piece])

    def times(self, M: Array) -> "Lines":
        """Return the lines of the products of the numbers with a matrix."""
        return Lines(self.edges, self.start @ M, self.slope @ M)

    def crossed(self, pairs: Sequence[tuple[int, int]]) -> "Lines":
        """Return the same lines on pieces that also end where the lines of given pairs cross.

        Lines that are tied at one end of a piece do not cross inside it.
        """
        if not pairs:
            return self
        lo, hi = self.edges[:-1], self.edges[1:]
        lines = ScoreLines(lo, hi, self.start - lo[:, None] * self.slope, self.slope)
        return self.cut(crossings(lines, np.array(pairs))[2])

    def cut(self, C: Array) -> "Lines":
        """Return the same lines on pieces that also end at some C, except those that are edges already."""
        new = distinct_edges(C) if len(C) else C
        place = np.clip(np.searchsorted(self.edges, new), 1, len(self.edges) - 1)
        is_far = np.minimum(new - self.edges[place - 1], self.edges[place] - new) > CLOSE * new
        edges = np.sort(np.concatenate([self.edges, new[is_far]]))
        piece = np.searchsorted(self.edges, edges[:-1], side="right") - 1
        start = self.start[piece] + (edges[:-1] - self.edges[piece])[:, None] * self.slope[piece]
        return Lines(edges, start, self.slope[piece])


def distinct_edges(edges: Array) -> Array:
    """Return edges ascending, those that are the same but for round-off once; the first and last stay.

    >>> distinct_edges(np.array([2.0, 0.0, 1.0, 1.0 + 1e-15])).tolist()
    [0.0, 1.0, 2.0]
    """
    ascending = np.unique(edges)
    kept = [float(ascending[0])]
    for edge in ascending[1:].tolist():
        if edge - kept[-1] > CLOSE * edge or np.isinf(edge):
            kept.append(edge)
    if kept[-1] != ascending[-1]:
        kept = [*kept[:-1], float(ascending[-1])] if len(kept) > 1 else [*kept, float(ascending[-1])]
    return np.array(kept)


def inside_of(edges: Array) -> Array:
    """Return one C inside every piece between ascending edges.

    >>> inside_of(np.array([0.0, 1.0, np.inf])).round(3)
    array([0.382, 2.   ])
    """
    lo, hi = edges[:-1], edges[1:]
    length = np.where(np.isinf(hi), np.maximum(lo, 1.0) / INSIDE, hi - np.where(np.isinf(hi), 0.0, lo))
    return np.asarray(lo + INSIDE * length)


def all_pairs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Return every two of some places."""
    return list(combinations(places, 2))


def sampled_lines(values_at: Callable[[float], Array], breakpoints: Any) -> Lines:
    """Return the lines of a function of C that is linear between breakpoints, its ends among them.

    The function is called three times on every piece, never at its ends, where it may jump; if the three are
    not on a line, a breakpoint is missing and an error says so.
    """
    edges = read_edges(breakpoints)
    lo, middle = edges[:-1], inside_of(edges)
    left, right = (lo + middle) / 2, middle + (middle - lo) / 2
    low, mean, high = (np.array([values_at(float(C)) for C in row]) for row in (left, middle, right))
    slope = (high - low) / (right - left)[:, None]
    bend = np.abs((low + high) / 2 - mean).max(axis=1)
    sizes = np.maximum(np.abs(low), np.abs(high)).max(axis=1)
    for k in np.flatnonzero(bend > STRAIGHT * sizes)[:1]:
        raise DataError(
            f"the values bend between the breakpoints {edges[k]:g} and {edges[k + 1]:g}; pass all breakpoints"
        )
    return Lines(edges, mean - (middle - lo)[:, None] * slope, slope)


def read_edges(breakpoints: Any) -> Array:
    """Return breakpoints, ascending and distinct; the last may be infinite."""
    given = numbers(breakpoints, "breakpoints").astype(float)
    if len(np.unique(given)) < 2:
        raise DataError("breakpoints must hold at least the two ends of the path")
    return distinct_edges(given)
