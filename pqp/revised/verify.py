"""Verification: by how much the pieces of a sequence miss the optimality conditions, from the data.

Every condition is a range of an affine function, so both ends of a piece decide about all of it. Where v does
not jump, the start of a piece is the end of the one before, and only the items that change their states can
miss anything new there. A miss is relative to the number and its limit, and to the height of the item: a
share of the largest number of its kind on the whole run, because where the solution is 0 float64 leaves
rounding errors of what was summed up elsewhere; or less, where the terms of the item itself are small on the
whole run. On a piece that is so steep that rounding mu moves it by more, to that.
"""

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.operators import DenseOperator
from pqp.linalg.tolerances import (
    KKT_RESIDUAL,
    LEAST_HEIGHT,
    SHARE_OF_LARGEST,
    STEEP_SHARE,
    STEEPEST,
    TIMES_OWN_TERMS,
    TINY,
)
from pqp.revised.event_kernel_choice import KERNELS
from pqp.revised.pieces import PieceSequence
from pqp.revised.states import VALUE_FIXED, MixedLCP

# Numbers of a block of points that are checked together: what fits into a cache.
BLOCK_ENTRIES = 2**17
# In large problems so many pieces still share one pass over the data.
FEWEST_PIECES = 8


class Judge:
    """Judges the pieces of a run, relative to the largest numbers of every item on all of its sound ones."""

    def __init__(self, lcp: MixedLCP) -> None:
        self.lcp = lcp
        self.largest = np.zeros((2, len(lcp.table)))

    def misses(self, parts: list[PieceSequence]) -> Array:
        """Return the misses of all pieces of some sequences.

        A trace that went astray may have numbers without end. Nothing is judged relative to them.
        """
        largest = self._largest(parts)
        while True:
            misses = [violations(part, self.lcp, largest) for part in parts]
            is_sound = [own <= KKT_RESIDUAL for own in misses]
            sound = [run for part, own in zip(parts, is_sound, strict=True) for run in part.runs(own)]
            smaller = largest if all(own.all() for own in is_sound) else self._largest(sound)
            if np.array_equal(smaller, largest):
                self.largest = largest
                return np.concatenate(misses)
            largest = smaller

    def _largest(self, parts: list[PieceSequence]) -> Array:
        """Return the largest numbers of the run and of some sequences."""
        return np.max([self.largest, *(largest_numbers(part, self.lcp) for part in parts)], axis=0)


def violations(sequence: PieceSequence, lcp: MixedLCP, largest: Array | None = None) -> Array:
    """Return the largest relative miss of every piece, over both of its ends.

    `largest` are the largest numbers of the run that the sequence is a part of, by default its own.
    """
    if sequence.lines.is_turned:
        return violations(sequence.as_traced(), lcp, largest)[::-1]
    size, total = len(lcp.table), len(sequence)
    worst = np.zeros(total)
    if not size:
        return worst
    heights, tops = _heights(lcp, largest_numbers(sequence, lcp) if largest is None else largest)
    per_block = max(FEWEST_PIECES, BLOCK_ENTRIES // (2 * size))
    all_mus = np.stack(sequence.finite_ends())
    rounding = _rounding(sequence, lcp, tops, all_mus)
    table, is_row, first = lcp.table.lines, lcp.system.is_row, sequence.first
    states, ranges = first.copy(), np.ascontiguousarray(lcp.table.of(first))
    # v is a line of an unknown, or the one that it is fixed to; both kernels replay what changes.
    lines, v_lines, fresh_ends = sequence.lines, ranges[:2].copy(), _fresh_ends(sequence)
    unknowns, values = lines.on(0)
    v_lines[:, unknowns] = values.T
    inside, last = lcp.is_unknown(first), np.full((3, size), np.nan)
    points, owners = np.empty((2 * per_block, size)), np.empty(2 * per_block + 1, dtype=np.int64)
    for begin in range(0, total, per_block):
        pieces = slice(begin, min(begin + per_block, total))
        ends = slice(pieces.start, pieces.stop + 1)
        mus = np.ascontiguousarray(all_mus[:, pieces])
        changes = sequence.change_ends[ends], sequence.items, sequence.after
        owners[:] = -1
        changed = sequence.items[slice(*sequence.change_ends[[pieces.start, pieces.stop]])]
        fresh = lines.items[slice(*fresh_ends[[pieces.start, pieces.stop]])]
        touched = np.unique(np.concatenate([changed, fresh]))
        base = v_lines.copy()
        count = KERNELS.current.fill_points(
            table,
            v_lines,
            last[0],
            tops.min(),
            mus,
            *changes,
            fresh_ends[ends],
            lines.items,
            lines.values,
            points,
            owners,
        )
        v = points[:count]
        g, offsets = _products(lcp, v, base, touched)
        KERNELS.current.find_misses(
            table, VALUE_FIXED, is_row, states, inside, ranges, last[1:], heights, rounding[pieces],
            mus,
            *changes, v, g, offsets, owners, worst[pieces],
        )  # fmt: skip
    return worst


def _fresh_ends(sequence: PieceSequence) -> Array:
    """Return where the lines begin and end that are new on each piece of a trace, but for the first piece."""
    stops = sequence.lines.stops
    return np.concatenate([stops[:1], stops])


def _heights(lcp: MixedLCP, largest: Array) -> tuple[Array, Array]:
    """Return what misses of v and g of every item are relative to, and shares of the largest of each kind.

    A number of the run is right to such a share. That is not enough for an item that has small terms only: a
    multiplier of the wrong sign may be as large as its costs.
    """
    (v, q), system, is_row = largest, lcp.system, lcp.system.is_row
    tops = np.array([_top(v, q, ~is_row), _top(v, q, is_row)])
    # Entries of M are about 1: where there is curvature, values and multipliers are sums of one another.
    if bool(np.any(system.diagonal() > 0)):
        tops[:] = tops.max()
    kinds = np.stack([is_row, ~is_row]).astype(int)
    own = TIMES_OWN_TERMS * np.maximum(np.stack([v, system.sizes(v) + q]), LEAST_HEIGHT * tops[kinds])
    shares = SHARE_OF_LARGEST * tops + TINY
    return np.minimum(own + TINY, shares[kinds]), shares


def _top(v: Array, q: Array, of_rows: Array) -> float:
    """Return the largest value, or multiplier, which v of one kind of items and g of the other are."""
    return float(max(v.max(initial=0.0, where=of_rows), q.max(initial=0.0, where=~of_rows)))


def _rounding(sequence: PieceSequence, lcp: MixedLCP, heights: Array, mus: Array) -> Array:
    """Return by how much rounding mu moves v, and the sums g of v, of every steep piece; 0 elsewhere."""
    rounded = STEEP_SHARE * steepest_slopes(sequence) * np.abs(mus).max(axis=0)
    result = np.zeros((len(sequence), 4))
    # Most pieces are not steep, and what is rounded there does not matter.
    if np.any(rounded > SHARE_OF_LARGEST * heights.min()):
        # How the rounding errors of v add up in M v, seen on a vector of signs without structure.
        signs = np.sign(np.cos(np.arange(1.0, len(lcp.table) + 1) ** 2))
        spread = max(1.0, float(np.abs(lcp.system.times(signs)).max(initial=0.0)))
        rounded = np.minimum(rounded[:, None], STEEPEST * heights)
        result[:, :2] = rounded
        result[:, 2:] = spread * rounded
    return result


def steepest_slopes(sequence: PieceSequence) -> Array:
    """Return the largest slope of every piece, of v of its unknowns."""
    lines, result = sequence.lines, np.zeros(len(sequence))
    if np.array_equal(lines.begins[1:], lines.stops[:-1]):
        # No piece shares lines with another.
        has_some = lines.stops > lines.begins
        if np.any(has_some):
            slopes = np.abs(lines.values[:, 1])
            result[has_some] = np.maximum.reduceat(slopes, lines.begins[has_some])
        return result
    for k in range(len(sequence)):
        result[k] = np.abs(lines.on(k)[1][:, 1]).max(initial=0.0)
    return result


def _products(lcp: MixedLCP, v: Array, base: Array, touched: Array) -> tuple[Array, Array]:
    """Return M v of every point but for a part that is affine in mu, and that part, q included.

    v is `base`, a line in mu, but for the touched items. Only the columns of a dense matrix cost less if
    they are few.
    """
    is_dense = isinstance(lcp.system.symmetric, DenseOperator)
    if not is_dense or 2 * len(touched) > len(lcp.table):
        return np.ascontiguousarray(lcp.system.times(v.T).T), np.ascontiguousarray(lcp.q.T)
    base[:, touched] = 0.0
    offsets = lcp.system.times(base.T) + lcp.q
    products = lcp.system.product(touched, v[:, touched].T)
    return np.ascontiguousarray(products.T), np.ascontiguousarray(offsets.T)


def largest_numbers(sequence: PieceSequence, lcp: MixedLCP) -> Array:
    """Return the largest numbers of every item on a sequence: [0] of v, [1] of q."""
    sequence = sequence.as_traced()
    lines, top = sequence.lines, np.zeros(len(lcp.table))
    starts, ends = sequence.finite_ends()
    fresh_ends, numbers = _fresh_ends(sequence), lines.numbers - lines.numbers[0]
    fresh_ends[0] = lines.begins[0]
    # In blocks of pieces: the lines of all of them are the largest arrays of a path.
    per_block = max(1, BLOCK_ENTRIES * len(sequence) // max(len(lines.items), 1))
    for begin in range(0, len(sequence), per_block):
        stop = min(begin + per_block, len(sequence))
        fresh = slice(fresh_ends[begin], fresh_ends[stop])
        # A line is largest where it begins or ends.
        first = np.repeat(np.arange(begin, stop), np.diff(fresh_ends[begin : stop + 1]))
        last = np.minimum(lines.last[fresh].astype(np.int64) - lines.numbers[0], numbers[-1])
        items, (constants, slopes), holds = lines.items[fresh], lines.values[fresh].T, last >= first
        for mus in (starts[first], ends[np.maximum(first, last)]):
            values = np.abs(constants + mus * slopes)
            np.maximum.at(top, items, np.where(holds, values, 0.0))
    q = np.zeros(len(top))
    for states, mu in ((sequence.first, starts[0]), (sequence.last_states(), ends[-1])):
        fixed = lcp.table.of(states)[:2]
        outside = ~lcp.is_unknown(states)
        top[outside] = np.maximum(top, np.abs(fixed[0] + mu * fixed[1]))[outside]
        q = np.maximum(q, np.abs(lcp.q[:, 0] + mu * lcp.q[:, 1]))
    return np.stack([top, q])
