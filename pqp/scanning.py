"""Scanning: the passes over all items, compiled.

One pass over all items finds the first end on the way, another one all ends that are reached. numpy needs
some twenty passes with temporary arrays for the same, which was half of the time an event took
(docs/benchmarks.md).

Lines are centred: their first column is the value at the mu of the walk, their second one the slope.

Room: lines and ranges of all items in, ends out. Knows no matrix and decides nothing.
May touch: `field`.
"""

from typing import NamedTuple

import numpy as np

from pqp.field import TIE, Array
from pqp.kernels import compiled, compiled_in_any_order


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
    v, g, lo, hi, settled = lines.v, lines.g, lines.lo, lines.hi, lines.settled
    size, best, which = len(place), np.inf, -1
    for i in range(size):
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
                best, which = gap / fall, size + i
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
    top = 1e-300
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
    v, g, lo, hi = lines.v, lines.g, lines.lo, lines.hi
    size, count = len(place), 0
    for i in range(size):
        kind = 1 if is_row[i] else 0
        if place[i] >= 0:
            value, allowed = v[0, i], max(TIE * height[kind], noise * terms[kind])
        else:
            value, allowed = g[0, i], noise * terms[kind]
        low, high = lo[0, i] + mu * lo[1, i], hi[0, i] + mu * hi[1, i]
        if abs(value - low) <= allowed + TIE * (abs(value) + abs(mu * lo[1, i])):
            found[count] = i
            count += 1
        if abs(high - value) <= allowed + TIE * (abs(value) + abs(mu * hi[1, i])):
            found[count] = size + i
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
