"""The ratio test: which item reaches the end of its range first, and which ones reach it together; compiled.

One pass over all items finds the first end, another one finds all ends that are reached. numpy needs about
twenty passes with temporary arrays for the same, which was half of the time of an event (docs/benchmarks.md).
Both passes first ask whether a chunk of items contains anything of interest, several items at a time: the
direction of an item is as good as random, and mispredicted branches cost more than the arithmetic.

Affine functions are centred: the first row is the value at the mu of the basis, the second row the slope.
"""

from typing import NamedTuple

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_in_any_order, compiled_inside
from pqp.linalg.tolerances import TIE, TINY

# Items tested together: enough to vectorise, few enough to look at one by one where the answer is yes.
CHUNK = 128


class Lines(NamedTuple):
    """Centred v and g by rows (values, slopes); fixed values and ranges as functions of mu itself."""

    v: Array
    g: Array
    fixed: Array
    lo: Array
    hi: Array
    decided: Array


@compiled
def first_end(lines: Lines, position: Array, mu: float, direction: float, flat: float) -> tuple[float, int]:
    """Return the distance from mu to the first end that is reached, and its number: item, + size at `hi`.

    Ends that the solution of a tie has decided are skipped, and so are gaps that close more slowly than
    `flat`.
    """
    size, best, which = len(position), np.inf, -1
    for begin in range(0, size, CHUNK):
        end = min(begin + CHUNK, size)
        if _is_any_nearer(lines, position, (begin, end), mu, direction, flat, best):
            best, which = _nearest(lines, position, (begin, end), mu, direction, flat, (best, which))
    return best, which


@compiled_inside
def _is_any_nearer(
    lines: Lines,
    position: Array,
    ends: tuple[int, int],
    mu: float,
    direction: float,
    flat: float,
    best: float,
) -> bool:
    """Return whether any end of some items is reached before a distance, decided or not."""
    begin, end = ends
    v, v_slope, g, g_slope = (
        lines.v[0, begin:end],
        lines.v[1, begin:end],
        lines.g[0, begin:end],
        lines.g[1, begin:end],
    )
    lo, lo_slope, hi, hi_slope = (
        lines.lo[0, begin:end],
        lines.lo[1, begin:end],
        lines.hi[0, begin:end],
        lines.hi[1, begin:end],
    )
    inside, hits = position[begin:end], 0
    for i in range(end - begin):
        # Selections instead of branches, and a count instead of an early return, so that the loop vectorises.
        # Ends that are decided are few; `_nearest` leaves them out.
        value, slope, v_value, v_rate = g[i], g_slope[i], v[i], v_slope[i]
        value, slope = (v_value if inside[i] >= 0 else value), (v_rate if inside[i] >= 0 else slope)
        fall, gap = (lo_slope[i] - slope) * direction, value - (lo[i] + mu * lo_slope[i])
        hits += int((fall > flat) & (gap < best * fall))
        fall, gap = (slope - hi_slope[i]) * direction, hi[i] + mu * hi_slope[i] - value
        hits += int((fall > flat) & (gap < best * fall))
    return hits > 0


@compiled_inside
def _nearest(
    lines: Lines,
    position: Array,
    ends: tuple[int, int],
    mu: float,
    direction: float,
    flat: float,
    found: tuple[float, int],
) -> tuple[float, int]:
    """Return the nearer of the first end among some items and the one found before."""
    v, g, lo, hi, decided = lines.v, lines.g, lines.lo, lines.hi, lines.decided
    best, which = found
    for i in range(ends[0], ends[1]):
        value, slope = (v[0, i], v[1, i]) if position[i] >= 0 else (g[0, i], g[1, i])
        fall = (lo[1, i] - slope) * direction
        # The solution of a tie binds: where its ends were tested again, the trace would stall in steps of
        # length 0.
        if fall > flat and not decided[0, i]:
            gap = value - (lo[0, i] + mu * lo[1, i])
            if gap < best * fall:
                best, which = gap / fall, i
        fall = (slope - hi[1, i]) * direction
        if fall > flat and not decided[1, i]:
            gap = hi[0, i] + mu * hi[1, i] - value
            if gap < best * fall:
                best, which = gap / fall, len(position) + i
    return best, which


@compiled
def magnitudes(v: Array, is_row: Array) -> tuple[float, float]:
    """Return the largest value among variables, which come first, and among rows."""
    first = first_row(is_row)
    return max_abs_positive(v[0, :first]), max_abs_positive(v[0, first:])


@compiled
def first_row(is_row: Array) -> int:
    """Return the number of variables."""
    # Variables come before rows, so that a bisection is enough.
    low, high = 0, len(is_row)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_row[middle] else (middle + 1, high)
    return low


@compiled_in_any_order
def max_abs_positive(values: Array) -> float:
    """Return the largest absolute value; at least 1e-300, so that it can be divided by."""
    top = TINY
    for value in values:
        top = max(top, abs(value))
    return top


@compiled
def term_sizes(magnitude: tuple[float, float], is_plain: bool) -> tuple[float, float]:
    """Return the largest term of g, for variables and for rows; plain rows are made of x alone."""
    largest = max(magnitude[0], magnitude[1])
    return largest, magnitude[0] if is_plain else largest


@compiled
def reached_ends(
    lines: Lines,
    position: Array,
    is_row: Array,
    magnitude: tuple[float, float],
    terms: tuple[float, float],
    mu: float,
    noise: float,
    found: Array,
) -> int:
    """Write the numbers of all ends that are reached at mu into `found`; return how many they are.

    An end is reached if the gap is below `TIE` times its own constant. A value that was solved for may have a
    rounding error of that share of the largest value of its kind, `magnitude`. A value that follows by one
    product may have one of `noise` times the largest term of that product, `terms`.
    """
    size, first, count = len(position), first_row(is_row), 0
    for kind, begin, end in ((0, 0, first), (1, first, size)):
        outside = noise * terms[kind]
        # Values that were solved for carry the error of the inverse, others that of one product only.
        allowed = outside, max(TIE * magnitude[kind], outside)
        for start in range(begin, end, CHUNK):
            ends = start, min(start + CHUNK, end)
            if _is_any_reached(lines, position, ends, allowed, mu):
                count = _write_reached(lines, position, ends, allowed, mu, found, count)
    return count


@compiled_inside
def _is_any_reached(
    lines: Lines, position: Array, ends: tuple[int, int], allowed: tuple[float, float], mu: float
) -> bool:
    """Return whether any end of some items is reached; `allowed` are the errors of g and of v."""
    begin, end = ends
    v, g, inside, hits = lines.v[0, begin:end], lines.g[0, begin:end], position[begin:end], 0
    lo, lo_slope = lines.lo[0, begin:end], lines.lo[1, begin:end]
    hi, hi_slope = lines.hi[0, begin:end], lines.hi[1, begin:end]
    for i in range(end - begin):
        value, v_value = g[i], v[i]
        value, room = (v_value if inside[i] >= 0 else value), allowed[1] if inside[i] >= 0 else allowed[0]
        low, high = mu * lo_slope[i], mu * hi_slope[i]
        # Not relative to `lo` itself: an infinite end would always be reached. Near a finite one its size is
        # at most that of the two other numbers together.
        hits += int(abs(value - (lo[i] + low)) <= room + TIE * (abs(value) + abs(low)))
        hits += int(abs(hi[i] + high - value) <= room + TIE * (abs(value) + abs(high)))
    return hits > 0


@compiled_inside
def _write_reached(
    lines: Lines,
    position: Array,
    ends: tuple[int, int],
    allowed: tuple[float, float],
    mu: float,
    found: Array,
    count: int,
) -> int:
    """Append the ends of some items that are reached to `found`; return the new count."""
    v, g, lo, hi = lines.v, lines.g, lines.lo, lines.hi
    for i in range(ends[0], ends[1]):
        value, room = (v[0, i], allowed[1]) if position[i] >= 0 else (g[0, i], allowed[0])
        low, high = lo[0, i] + mu * lo[1, i], hi[0, i] + mu * hi[1, i]
        if abs(value - low) <= room + TIE * (abs(value) + abs(mu * lo[1, i])):
            found[count] = i
            count += 1
        if abs(high - value) <= room + TIE * (abs(value) + abs(mu * hi[1, i])):
            found[count] = len(position) + i
            count += 1
    return count


@compiled
def closing_rate(lines: Lines, position: Array, end: int, direction: float) -> float:
    """Return how fast the gap at an end, given by its number, closes."""
    size = len(position)
    i = end % size
    slope = lines.v[1, i] if position[i] >= 0 else lines.g[1, i]
    return (lines.lo[1, i] - slope if end < size else slope - lines.hi[1, i]) * direction


@compiled
def advance(lines: Lines, distance: float) -> None:
    """Move the centre of all affine functions."""
    for i in range(lines.v.shape[1]):
        lines.v[0, i] += distance * lines.v[1, i]
    for i in range(lines.g.shape[1]):
        lines.g[0, i] += distance * lines.g[1, i]
