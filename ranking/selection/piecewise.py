r"""Piecewise linear functions of C, and where they cross.

On every piece of a solution path the scores of a model, its thresholds and its part-worths are
:math:`a + C\,b`. `PiecewiseLinear` is the one form in which selection, stability and plots read them. What
depends on nothing but the order of such functions changes at crossings only.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ranking.core.validation import Array, numbers
from ranking.errors import DataError, must_be, must_have

# Score differences below this part of the largest score of a piece are round-off: the items are tied.
TIED = 1e-12
# Where inside a piece functions are evaluated, as a share of its length: not the middle, where lines with
# whole coefficients often cross.
INSIDE = (3 - 5**0.5) / 2
# How far three values may be from one line, relative to the largest of them.
STRAIGHT = 1e-6
# Sums evaluated together: 8 MB.
ENTRIES = 2**20
# Edges closer together than this, relative to their size, are one breakpoint or crossing with round-off.
CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """Functions constant + C · slope on the pieces from `lo` to `hi`.

    Pieces ascend without gaps; the last `hi` may be infinite, and pieces may have no length. `constant` and
    `slope` have one row per piece and one column per function.

    >>> lines = PiecewiseLinear.on_edges([0, 2, np.inf], [[0, 1], [4, 1]], [[2, 0], [0, 0]])
    >>> lines.at([1, 5]).tolist(), lines.split_at_crossings([(0, 1)]).edges.tolist()
    ([[2.0, 1.0], [4.0, 1.0]], [0.0, 0.5, 2.0, inf])
    """

    lo: Array
    hi: Array
    constant: Array
    slope: Array

    @classmethod
    def on_edges(cls, edges: Any, constant: Any, slope: Any) -> "PiecewiseLinear":
        """Return functions on the pieces between ascending edges, checked."""
        ends, a, b = (np.array(part, dtype=float) for part in (edges, constant, slope))
        pieces = len(ends) - 1
        if pieces < 1 or not (np.diff(ends) > 0).all():
            raise must_be("edges", "at least two ascending numbers", found=ends.tolist())
        if a.shape != b.shape or len(a) != pieces:
            raise must_have("constant and slope", f"{pieces} rows each", found=f"{a.shape} and {b.shape}")
        return cls(ends[:-1], ends[1:], a, b)

    @property
    def edges(self) -> Array:
        """The ends of all pieces, ascending."""
        return np.append(self.lo, self.hi[-1])

    @property
    def inside(self) -> Array:
        """One C inside every piece; a piece without end is as long as it is away from 0, or 1."""
        return inside_of(self.edges)

    def pieces(self, chosen: slice) -> "PiecewiseLinear":
        """Return the same functions on some of the pieces."""
        return PiecewiseLinear(self.lo[chosen], self.hi[chosen], self.constant[chosen], self.slope[chosen])

    def at(self, C: Any) -> Array:
        """Return the values at each of some C, one row each; at an edge those of the right side."""
        where = np.atleast_1d(np.asarray(C, dtype=float))
        if not ((where >= self.lo[0]) & (where <= self.hi[-1])).all():
            raise must_be("C", f"between {self.lo[0]:g} and {self.hi[-1]:g}", found=C)
        piece = np.maximum(np.searchsorted(self.lo, where, side="right") - 1, 0)
        return np.asarray(self.constant[piece] + where[:, None] * self.slope[piece])

    def ends(self) -> tuple[Array, Array]:
        """Return the values at both ends of every piece; at infinity the slopes, which decide there."""
        lo, hi = self.lo[:, None], self.hi[:, None]
        finite = np.where(np.isinf(hi), 0.0, hi)
        end = np.where(np.isinf(hi), self.slope, self.constant + finite * self.slope)
        return self.constant + lo * self.slope, end

    def noise(self) -> Array:
        """Return the difference of values that is round-off on each piece, one row per piece."""
        far = np.where(np.isinf(self.hi), np.maximum(1.0, self.lo), self.hi)[:, None]
        return TIED * (np.abs(self.constant) + far * np.abs(self.slope)).max(axis=1, initial=0.0)[:, None]

    def times(self, M: Array) -> "PiecewiseLinear":
        """Return the products of the functions with a matrix."""
        return PiecewiseLinear(self.lo, self.hi, self.constant @ M, self.slope @ M)

    def split_at_crossings(self, pairs: Sequence[tuple[int, int]]) -> "PiecewiseLinear":
        """Return the same functions on pieces that also end where the functions of given pairs cross.

        Functions that are tied at one end of a piece do not cross inside it.
        """
        return self.split(crossings(self, np.array(pairs))[2]) if pairs else self

    def split(self, C: Array) -> "PiecewiseLinear":
        """Return the same functions on pieces that also end at some C, unless these are edges already."""
        new = distinct_edges(C) if len(C) else C
        old = self.edges
        right = np.clip(np.searchsorted(old, new), 1, len(old) - 1)
        is_far = np.minimum(new - old[right - 1], old[right] - new) > CLOSE * new
        edges = np.sort(np.concatenate([old, new[is_far]]))
        piece = np.searchsorted(old, edges[:-1], side="right") - 1
        return PiecewiseLinear(edges[:-1], edges[1:], self.constant[piece], self.slope[piece])

    def with_exact_ties(self) -> "PiecewiseLinear":
        """Return the functions with those that differ by round-off on a whole piece made equal."""
        noise = self.noise()
        count = self.constant.shape[1]
        begin, end = (_clusters(values, noise) for values in self.ends())
        constant, slope = self.constant.copy(), self.slope.copy()
        # lines that agree at both ends of a piece agree on all of it
        for k, keys in enumerate(begin * count + end):
            _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            constant[k] = constant[k, first[inverse]]
            slope[k] = slope[k, first[inverse]]
        return PiecewiseLinear(self.lo, self.hi, constant, slope)


class Flips(NamedTuple):
    """Pairs that become wrong (+1) or right (-1), in the order in which they do, on numbered pieces."""

    piece: Array
    pair: Array
    change: Array


def crossings(lines: PiecewiseLinear, pairs: Array) -> tuple[Array, Flips, Array]:
    """Return which function of a pair is ahead when a piece begins, all crossings in order, and their C.

    Ahead is +1 for the first function of the pair, -1 for the second, 0 if they are tied on the whole piece;
    one that starts, or ends, tied with the other is ahead if it is ahead on the rest of the piece.
    """
    i, j = pairs.T
    differences = (values[:, i] - values[:, j] for values in lines.ends())
    noise = lines.noise()
    begin, end = (np.sign(np.where(np.abs(d) <= noise, 0.0, d)) for d in differences)
    left = np.where(begin != 0, begin, end)
    right = np.where(end != 0, end, begin)
    piece, pair = np.nonzero(left * right < 0)
    a, b = i[pair], j[pair]
    at = (lines.constant[piece, b] - lines.constant[piece, a]) / (
        lines.slope[piece, a] - lines.slope[piece, b]
    )
    # the signs at both ends say that the crossing is on the piece; the quotient may be off by round-off
    at = np.clip(at, lines.lo[piece], lines.hi[piece])
    order = np.lexsort((at, piece))
    flips = Flips(piece[order], pair[order], left[piece, pair][order])
    return left, flips, at[order]


def steps_of(lines: PiecewiseLinear, piece: Array, at: Array) -> tuple[Array, Array, Array]:
    """Return piece and start of every step, and whether a flip, rather than a piece, begins there."""
    pieces = np.concatenate([np.arange(len(lines.lo)), piece])
    starts = np.concatenate([lines.lo, at])
    # stable: the beginning of a piece stays ahead of its crossings, and these stay in order of C
    order = np.argsort(pieces, kind="stable")
    return pieces[order], starts[order], order >= len(lines.lo)


def cumulated(first: Array, added: Array, pieces: Array, is_flip: Array) -> Array:
    """Return sums on every step: those at the beginning of the piece, plus what its flips have added."""
    increments = np.zeros((len(pieces), *added.shape[1:]))
    increments[is_flip] = added
    total = np.cumsum(increments, axis=0)
    return np.asarray(first[pieces] + total - total[~is_flip][pieces])


def running_sums(first: Array, added: Any, pieces: Array, is_flip: Array) -> Iterator[Array]:
    """Yield the same for rows of many sums, some steps at a time; `added` is sparse, one row per flip."""
    # one running sum over all steps, so the beginning of a piece enters as a difference to the end before
    flips = np.flatnonzero(is_flip)
    of_piece = csr_array(
        (np.ones(len(flips)), (pieces[flips], np.arange(len(flips)))), (len(first), len(flips))
    )
    jumps = first.copy()
    jumps[1:] -= (first + of_piece @ added)[:-1]
    total, size = np.zeros(first.shape[1]), max(1, ENTRIES // first.shape[1])
    for begin in range(0, len(pieces), size):
        here = is_flip[begin : begin + size]
        increments = np.empty((len(here), first.shape[1]))
        low, high = np.searchsorted(flips, (begin, begin + size))
        increments[here] = added[low:high].toarray()
        increments[~here] = jumps[pieces[begin : begin + size][~here]]
        sums = total + np.cumsum(increments, axis=0)
        total = sums[-1]
        yield sums


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


def _clusters(values: Array, noise: Array) -> Array:
    """Return for every row the cluster of each value; clusters are more than the noise apart."""
    order = np.argsort(values, axis=1, kind="stable")
    gaps = np.diff(np.take_along_axis(values, order, axis=1), axis=1) > noise
    ranks = np.pad(np.cumsum(gaps, axis=1), ((0, 0), (1, 0)))
    result = np.empty_like(ranks)
    np.put_along_axis(result, order, ranks, axis=1)
    return result


def distinct_edges(edges: Array) -> Array:
    """Return edges ascending, those that are the same up to round-off once; the first and last stay.

    >>> distinct_edges(np.array([2.0, 0.0, 1.0, 1.0 + 1e-15])).tolist()
    [0.0, 1.0, 2.0]
    """
    ascending = np.unique(edges)
    kept = [float(ascending[0])]
    for edge in ascending[1:].tolist():
        if edge - kept[-1] > CLOSE * edge or np.isinf(edge):
            kept.append(edge)
    # the end of a path must stay as it is, so its close neighbour goes instead
    if kept[-1] != ascending[-1]:
        kept = [*kept[:-1], float(ascending[-1])] if len(kept) > 1 else [*kept, float(ascending[-1])]
    return np.array(kept)


def inside_of(edges: Array) -> Array:
    """Return one C inside every piece between ascending edges.

    >>> inside_of(np.array([0.0, 1.0, np.inf])).round(3)
    array([0.382, 2.   ])
    """
    return inside(edges[:-1], edges[1:])


def inside(lo: Array, hi: Array) -> Array:
    """Return one C inside every piece; a piece without end is as long as it is away from 0, or 1."""
    length = np.where(np.isinf(hi), np.maximum(lo, 1.0) / INSIDE, hi - np.where(np.isinf(hi), 0.0, lo))
    return np.asarray(lo + INSIDE * length)


def all_pairs(columns: Sequence[int]) -> list[tuple[int, int]]:
    """Return every two of some columns."""
    return list(combinations(columns, 2))


def sampled_lines(values_at: Callable[[float], Array], breakpoints: Any) -> PiecewiseLinear:
    """Return functions of C that are linear between breakpoints, from their values.

    They are evaluated three times on every piece, never at its ends, where they may jump; if the three values
    are not on a line, a breakpoint is missing and an error says so.
    """
    edges = read_edges(breakpoints)
    lo, middle = edges[:-1], inside_of(edges)
    left, right = (lo + middle) / 2, middle + (middle - lo) / 2
    low, mean, high = (np.array([values_at(float(C)) for C in row]) for row in (left, middle, right))
    slope = (high - low) / (right - left)[:, None]
    bend = np.abs((low + high) / 2 - mean).max(axis=1)
    sizes = np.maximum(np.abs(low), np.abs(high)).max(axis=1)
    for k in np.flatnonzero(bend > STRAIGHT * sizes)[:1]:
        shown = f"[{edges[k]:g}, {edges[k + 1]:g}]"
        message = "values bend within {found}"
        raise DataError(message, argument="breakpoints", found=shown, remedy="pass all {argument}")
    return PiecewiseLinear.on_edges(edges, mean - middle[:, None] * slope, slope)


def read_edges(breakpoints: Any) -> Array:
    """Return breakpoints, ascending and distinct; the last may be infinite."""
    given = numbers(breakpoints, "breakpoints").astype(float)
    if len(np.unique(given)) < 2:
        raise must_be("breakpoints", "at least the two ends of the path", found=given.tolist())
    return distinct_edges(given)
