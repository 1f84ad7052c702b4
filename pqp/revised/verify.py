"""Verification: by how much the pieces of a sequence miss the optimality conditions, from the data.

Every condition is a range of an affine function, so both ends of a piece decide about all of it. Where v does
not jump, the start of a piece is the end of the one before, and only the items that change their states can
miss anything new there. A miss is relative to the number and its limit, and to a share of the largest number
of its kind on the whole run: where the solution is 0 float64 leaves rounding errors of what was summed up
elsewhere. On a piece that is so steep that rounding mu moves it by more, to that.
"""

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.operators import DenseOperator
from pqp.linalg.tolerances import SHARE_OF_LARGEST, STEEP_SHARE, STEEPEST, TINY
from pqp.revised.event_kernel_choice import KERNELS
from pqp.revised.pieces import PieceSequence
from pqp.revised.states import VALUE_FIXED, MixedLCP

# Numbers of a block of points that are checked together: what fits into a cache.
BLOCK_ENTRIES = 2**17
# In large problems so many pieces still share one pass over the data.
FEWEST_PIECES = 8


def violations(sequence: PieceSequence, lcp: MixedLCP, tops: Array | None = None) -> Array:
    """Return the largest relative miss of every piece, over both of its ends.

    `tops` are the largest numbers of the run that the sequence is a part of, by default its own.
    """
    size, total = len(lcp.table), len(sequence)
    worst = np.zeros(total)
    if not size:
        return worst
    heights = SHARE_OF_LARGEST * (largest_numbers(sequence, lcp) if tops is None else tops) + TINY
    per_block = max(FEWEST_PIECES, BLOCK_ENTRIES // (2 * size))
    all_mus = np.stack(sequence.finite_ends())
    all_heights = _heights(sequence, lcp, heights, all_mus)
    table, is_row, first = lcp.table.lines, lcp.system.is_row, sequence.first
    # Both kernels replay the changes of states, one before and one after the products of all points.
    filling, checking = ((first.copy(), np.ascontiguousarray(lcp.table.of(first))) for _ in range(2))
    inside, last = lcp.is_unknown(first), np.full((3, size), np.nan)
    points, owners = np.empty((2 * per_block, size)), np.empty(2 * per_block + 1, dtype=np.int64)
    for begin in range(0, total, per_block):
        pieces = slice(begin, min(begin + per_block, total))
        ends = slice(pieces.start, pieces.stop + 1)
        mus = np.ascontiguousarray(all_mus[:, pieces])
        changes = sequence.change_ends[ends], sequence.items, sequence.after
        unknowns = sequence.unknown_ends[ends], sequence.unknowns
        owners[:] = -1
        changed = sequence.items[slice(*sequence.change_ends[[pieces.start, pieces.stop]])]
        solved = sequence.unknowns[slice(*sequence.unknown_ends[[pieces.start, pieces.stop]])]
        touched = np.unique(np.concatenate([changed, solved]))
        base = filling[1][:2].copy()
        count = KERNELS.current.fill_points(
            table,
            *filling,
            last[0],
            float(heights.min()),
            mus,
            *changes,
            *unknowns,
            sequence.values,
            points,
            owners,
        )
        v = points[:count]
        g, offsets = _products(lcp, v, base, touched)
        KERNELS.current.find_misses(
            table, VALUE_FIXED, is_row, checking[0], inside, checking[1], last[1:], all_heights[pieces], mus,
            *changes, *unknowns, v, g, offsets, owners, worst[pieces],
        )  # fmt: skip
    return worst


def _heights(sequence: PieceSequence, lcp: MixedLCP, heights: Array, mus: Array) -> Array:
    """Return what misses on every piece are relative to: of [0, 1] v, and of [2, 3] the sums g of v."""
    rounded = STEEP_SHARE * steepest_slopes(sequence) * np.abs(mus).max(axis=0)
    result = np.tile(heights, (len(sequence), 2))
    # Most pieces are not steep, and what is rounded there does not matter.
    if np.any(rounded > SHARE_OF_LARGEST * heights.min()):
        # How the rounding errors of v add up in M v, seen on a vector of signs without structure.
        signs = np.sign(np.cos(np.arange(1.0, len(lcp.table) + 1) ** 2))
        spread = max(1.0, float(np.abs(lcp.system.times(signs)).max(initial=0.0)))
        rounded = np.minimum(rounded[:, None], STEEPEST * heights)
        result[:, :2] += rounded
        result[:, 2:] += spread * rounded
    return result


def steepest_slopes(sequence: PieceSequence) -> Array:
    """Return the largest slope of every piece, of v of its unknowns."""
    ends, result = sequence.unknown_ends, np.zeros(len(sequence))
    has_some = ends[1:] > ends[:-1]
    if np.any(has_some):
        slopes = np.abs(sequence.values[: ends[-1], 1])
        result[has_some] = np.maximum.reduceat(slopes, ends[:-1][has_some])
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
    """Return the largest numbers on a sequence: of values, and of multipliers."""
    is_row, system = lcp.system.is_row, lcp.system
    tops = [0.0, 0.0]
    starts, ends = sequence.finite_ends()
    # In blocks of pieces: the unknowns of all of them are the largest arrays of a path.
    per_block = max(1, BLOCK_ENTRIES * len(sequence) // max(len(sequence.unknowns), 1))
    for begin in range(0, len(sequence), per_block):
        stop = min(begin + per_block, len(sequence))
        solved = slice(sequence.unknown_ends[begin], sequence.unknown_ends[stop])
        counts = np.diff(sequence.unknown_ends[begin : stop + 1])
        rows, (constants, slopes) = is_row[sequence.unknowns[solved]], sequence.values[solved].T
        for mus in (starts[begin:stop], ends[begin:stop]):
            values = np.abs(constants + np.repeat(mus, counts) * slopes)
            tops[0] = max(tops[0], float(values.max(initial=0.0, where=~rows)))
            tops[1] = max(tops[1], float(values.max(initial=0.0, where=rows)))
    states = sequence.first
    lines = lcp.table.of(states)
    for mu in (starts[0], ends[-1]):
        fixed = np.abs(lines[0] + mu * lines[1])
        v_fixed = ~lcp.is_unknown(states)
        tops[0] = max(tops[0], float(fixed[v_fixed & ~is_row].max(initial=0.0)))
        tops[1] = max(tops[1], float(fixed[v_fixed & is_row].max(initial=0.0)))
        q = np.abs(lcp.q[:, 0] + mu * lcp.q[:, 1])
        tops[1] = max(tops[1], float(q[~is_row].max(initial=0.0)))
        tops[0] = max(tops[0], float(q[is_row].max(initial=0.0)))
    # Entries of M are about 1: where there is curvature, values and multipliers are sums of one another.
    if bool(np.any(system.diagonal() > 0)):
        tops = [max(tops)] * 2
    return np.array(tops)
