"""Verification: by how much the pieces of a sequence miss the optimality conditions, from the data.

Every condition is a range of an affine function, so both ends of a piece decide about all of it. A miss is
relative to the number and its limit, and to a share of the largest number of its kind on the whole run: where
the solution is 0 float64 leaves rounding errors of what was summed up elsewhere.
"""

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.tolerances import SHARE_OF_LARGEST, TINY
from pqp.revised.pieces import PieceSequence
from pqp.revised.states import VALUE_FIXED, MixedLCP
from pqp.revised.trace import BasisPiece

# Numbers of a block of points that are checked together: what fits into a cache.
BLOCK_ENTRIES = 2**18
# Where a piece has no end, the point checked is this many times its length from 0, or from its other end.
FAR = 10.0


def violations(sequence: PieceSequence, lcp: MixedLCP, tops: Array | None = None) -> Array:
    """Return the largest relative miss of every piece, over both of its ends.

    `tops` are the largest numbers of the run that the sequence is a part of, by default its own.
    """
    size = len(lcp.table)
    if not size:
        return np.zeros(len(sequence.pieces))
    per_block = max(1, BLOCK_ENTRIES // (2 * size))
    heights = SHARE_OF_LARGEST * (largest_numbers(sequence, lcp) if tops is None else tops) + TINY
    states = sequence.first.astype(np.int64)
    lines = np.ascontiguousarray(lcp.table.of(sequence.first))
    result = np.empty(len(sequence.pieces))
    for begin in range(0, len(sequence.pieces), per_block):
        block = sequence.pieces[begin : begin + per_block]
        count = 2 * len(block)
        mus = np.array([mu for piece in block for mu in (finite_start(piece), finite_end(piece))])
        # One row per point: a start or an end of a piece.
        points, low, high = (np.empty((count, size)) for _ in range(3))
        dual = np.empty((count, size), dtype=bool)
        for k, piece in enumerate(block):
            if begin + k and len(piece.items):
                states[piece.items] = piece.after
                lines[:, piece.items] = lcp.table.lines[piece.after.astype(np.int64), :, piece.items].T
            for row in (2 * k, 2 * k + 1):
                mu = mus[row]
                np.add(lines[0], mu * lines[1], out=points[row])
                np.add(lines[2], mu * lines[3], out=low[row])
                np.add(lines[4], mu * lines[5], out=high[row])
                dual[row] = VALUE_FIXED[states]
        counts = [len(piece.unknowns) for piece in block for _ in range(2)]
        rows = np.repeat(np.arange(count), counts)
        unknowns = np.concatenate([piece.unknowns for piece in block for _ in range(2)])
        solved = np.concatenate([piece.values for piece in block for _ in range(2)])
        fixed = points[rows, unknowns]
        points[rows, unknowns] = solved[:, 0] + mus[rows] * solved[:, 1]
        g = lcp.system.times(points.T).T + (lcp.q[:, 0] + mus[:, None] * lcp.q[:, 1])
        result[begin : begin + len(block)] = (
            _misses(points, g, fixed, (rows, unknowns), low, high, dual, heights).reshape(-1, 2).max(axis=1)
        )
    return result


def _misses(
    points: Array,
    g: Array,
    fixed: Array,
    unknown: tuple[Array, Array],
    low: Array,
    high: Array,
    dual: Array,
    heights: Array,
) -> Array:
    """Return the largest relative miss of every point: of ranges, and of the equations of its unknowns."""
    worst = np.zeros(len(points))
    # The equations: there g is the fixed quantity, of the other kind than the unknown.
    rest = np.abs(g[unknown] - fixed)
    np.maximum.at(worst, unknown[0], rest / (np.abs(fixed) + np.where(dual[unknown], heights[0], heights[1])))
    dependent = g
    dependent[unknown] = points[unknown]
    miss = np.maximum(low - dependent, dependent - high)
    # Few miss their range at all, even by rounding; NaN is the worst miss.
    row, item = np.nonzero(~(miss <= 0.0))
    value, over = dependent[row, item], miss[row, item]
    limit = np.where(dependent[row, item] > high[row, item], high[row, item], low[row, item])
    scale = np.abs(value) + np.abs(limit) + np.where(dual[row, item], heights[1], heights[0])
    with np.errstate(invalid="ignore"):
        np.maximum.at(worst, row, over / scale)
    return np.where(np.isnan(worst), np.inf, worst)


def largest_numbers(sequence: PieceSequence, lcp: MixedLCP) -> Array:
    """Return the largest numbers on a sequence: of values, and of multipliers."""
    is_row, system = lcp.system.is_row, lcp.system
    tops = [0.0, 0.0]
    for piece in sequence.pieces:
        for mu in (finite_start(piece), finite_end(piece)):
            values = np.abs(piece.values[:, 0] + mu * piece.values[:, 1])
            rows = is_row[piece.unknowns]
            tops[0] = max(tops[0], float(values[~rows].max(initial=0.0)))
            tops[1] = max(tops[1], float(values[rows].max(initial=0.0)))
    ends = [finite_start(sequence.pieces[0]), finite_end(sequence.pieces[-1])]
    states = sequence.first
    lines = lcp.table.of(states)
    for mu in ends:
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


def finite_start(piece: BasisPiece) -> float:
    """Return the start of a piece, or a mu far from its end."""
    return _finite(piece.start, piece.end)


def finite_end(piece: BasisPiece) -> float:
    """Return the end of a piece, or a mu far from its start."""
    return _finite(piece.end, piece.start)


def _finite(mu: float, other: float) -> float:
    if np.isfinite(mu):
        return mu
    base = other if np.isfinite(other) else 0.0
    return base + (1.0 if mu > 0 else -1.0) * FAR * max(abs(base), 1.0)
