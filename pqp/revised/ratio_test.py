"""Scanning: the passes over all items, compiled.

One pass over all items finds the first end on the way, another one all ends that are reached. numpy needs
some twenty passes with temporary arrays for the same, which was half of the time an event took
(docs/benchmarks.md). Both ask first whether a stretch of items holds anything of interest, several items at a
time: which way a line goes is as good as random, and a processor that guesses wrong waits.

Lines are centred: their first column is the value at the mu of the walk, their second one the slope.
"""

from typing import NamedTuple

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_in_any_order, compiled_inside
from pqp.linalg.tolerances import TIE, TINY

# Items asked about together: many enough to pay, few enough to look at one by one where the answer is yes.
STRETCH = 128


class Lines(NamedTuple):
    """Centred lines v and g by rows (values, slopes); what is held and the ranges as lines in mu itself."""

    v: Array
    g: Array
    held: Array
    lo: Array
    hi: Array
    settled: Array


@compiled
def first_end(lines: Lines, place: Array, mu: float, direction: float, flat: float) -> tuple[float, int]:
    """Return the distance from mu to the first end that is reached, and its number: item, + size at `hi`.

    Ends on which a verdict binds are passed over, and gaps that close more slowly than `flat`.
    """
    size, best, which = len(place), np.inf, -1
    for begin in range(0, size, STRETCH):
        end = min(begin + STRETCH, size)
        if _is_any_nearer(lines, place, (begin, end), mu, direction, flat, best):
            best, which = _nearest(lines, place, (begin, end), mu, direction, flat, (best, which))
    return best, which


@compiled_inside
def _is_any_nearer(
    lines: Lines, place: Array, ends: tuple[int, int], mu: float, direction: float, flat: float, best: float
) -> bool:
    """Tell whether any end of some items is reached before a distance, settled or not."""
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
    inside, hits = place[begin:end], 0
    for i in range(end - begin):
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
    place: Array,
    ends: tuple[int, int],
    mu: float,
    direction: float,
    flat: float,
    found: tuple[float, int],
) -> tuple[float, int]:
    """Return the first end among some items if it is reached before the one found, which is returned else."""
    v, g, lo, hi, settled = lines.v, lines.g, lines.lo, lines.hi, lines.settled
    best, which = found
    for i in range(ends[0], ends[1]):
        value, slope = (v[0, i], v[1, i]) if place[i] >= 0 else (g[0, i], g[1, i])
        fall = (lo[1, i] - slope) * direction
        if fall > flat and not settled[0, i]:
            gap = value - (lo[0, i] + mu * lo[1, i])
            if gap < best * fall:
                best, which = gap / fall, i
        fall = (slope - hi[1, i]) * direction
        if fall > flat and not settled[1, i]:
            gap = hi[0, i] + mu * hi[1, i] - value
            if gap < best * fall:
                best, which = gap / fall, len(place) + i
    return best, which


@compiled
def heights(v: Array, is_row: Array) -> tuple[float, float]:
    """Return the largest value among variables, which come first, and among rows."""
    first = first_row(is_row)
    return top_of(v[0, :first]), top_of(v[0, first:])


@compiled
def first_row(is_row: Array) -> int:
    """Return the number of variables."""
    low, high = 0, len(is_row)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_row[middle] else (middle + 1, high)
    return low


@compiled_in_any_order
def top_of(values: Array) -> float:
    """Return the size of the largest of some numbers."""
    top = TINY
    for value in values:
        top = max(top, abs(value))
    return top


@compiled
def terms_of(height: tuple[float, float], is_plain: bool) -> tuple[float, float]:
    """Return the largest number that goes into g of variables and of rows; plain rows are made of x alone."""
    largest = max(height[0], height[1])
    return largest, height[0] if is_plain else largest


@compiled
def reached_ends(
    lines: Lines,
    place: Array,
    is_row: Array,
    height: tuple[float, float],
    terms: tuple[float, float],
    mu: float,
    noise: float,
    found: Array,
) -> int:
    """Write the numbers of all ends that are reached at mu into `found`; return how many they are.

    An end is reached if the gap is below `TIE` times its own constant. For what was solved for, round-off of
    that share of the largest number of its kind, `height`, is allowed for; for what follows by one product,
    `noise` times the largest number that goes into it, `terms`.
    """
    size, first, count = len(place), first_row(is_row), 0
    for kind, begin, end in ((0, 0, first), (1, first, size)):
        outside = noise * terms[kind]
        allowed = outside, max(TIE * height[kind], outside)
        for start in range(begin, end, STRETCH):
            ends = start, min(start + STRETCH, end)
            if _is_any_reached(lines, place, ends, allowed, mu):
                count = _write_reached(lines, place, ends, allowed, mu, found, count)
    return count


@compiled_inside
def _is_any_reached(
    lines: Lines, place: Array, ends: tuple[int, int], allowed: tuple[float, float], mu: float
) -> bool:
    """Tell whether any end of some items is reached; `allowed` is for what follows and for v."""
    begin, end = ends
    v, g, inside, hits = lines.v[0, begin:end], lines.g[0, begin:end], place[begin:end], 0
    lo, lo_slope = lines.lo[0, begin:end], lines.lo[1, begin:end]
    hi, hi_slope = lines.hi[0, begin:end], lines.hi[1, begin:end]
    for i in range(end - begin):
        value, v_value = g[i], v[i]
        value, room = (v_value if inside[i] >= 0 else value), allowed[1] if inside[i] >= 0 else allowed[0]
        low, high = mu * lo_slope[i], mu * hi_slope[i]
        hits += int(abs(value - (lo[i] + low)) <= room + TIE * (abs(value) + abs(low)))
        hits += int(abs(hi[i] + high - value) <= room + TIE * (abs(value) + abs(high)))
    return hits > 0


@compiled_inside
def _write_reached(
    lines: Lines,
    place: Array,
    ends: tuple[int, int],
    allowed: tuple[float, float],
    mu: float,
    found: Array,
    count: int,
) -> int:
    """Write the ends of some items that are reached behind those found; return how many they are then."""
    v, g, lo, hi = lines.v, lines.g, lines.lo, lines.hi
    for i in range(ends[0], ends[1]):
        value, room = (v[0, i], allowed[1]) if place[i] >= 0 else (g[0, i], allowed[0])
        low, high = lo[0, i] + mu * lo[1, i], hi[0, i] + mu * hi[1, i]
        if abs(value - low) <= room + TIE * (abs(value) + abs(mu * lo[1, i])):
            found[count] = i
            count += 1
        if abs(high - value) <= room + TIE * (abs(value) + abs(mu * hi[1, i])):
            found[count] = len(place) + i
            count += 1
    return count


@compiled
def fall_of(lines: Lines, place: Array, end: int, direction: float) -> float:
    """Return how fast the gap at an end, given by its number, closes."""
    size = len(place)
    i = end % size
    slope = lines.v[1, i] if place[i] >= 0 else lines.g[1, i]
    return (lines.lo[1, i] - slope if end < size else slope - lines.hi[1, i]) * direction


@compiled
def advance(lines: Lines, distance: float) -> None:
    """Move the centre of all lines."""
    for i in range(lines.v.shape[1]):
        lines.v[0, i] += distance * lines.v[1, i]
    for i in range(lines.g.shape[1]):
        lines.g[0, i] += distance * lines.g[1, i]
