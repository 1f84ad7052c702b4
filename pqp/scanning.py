"""Scanning: the inner loop of the revised engine, compiled.

One pass over all items finds the first end on the way, another one all ends that are reached at a mu. numpy
needs some twenty passes with temporary arrays for the same, which was half of the time an event took
(docs/benchmarks.md); compiling takes a few seconds once and is kept on disk.

Room: lines and ranges of all items in, ends out. Knows no matrix and decides nothing.
May touch: `field`.
"""

import numpy as np
from numba import njit

from pqp.field import Array


@njit(cache=True)
def first_end(
    lines: tuple[Array, Array, Array],
    ranges: tuple[Array, Array],
    settled: Array,
    course: tuple[float, float],
    noise: tuple[float, float],
) -> tuple[float, int]:
    """Return the distance from mu to the first end that is reached, and its number: item, + size at `hi`.

    `lines` are v, g and the places in R, `course` is mu and the direction. Ends on which a verdict binds are
    passed over, and slopes that are round-off: `noise` is their share of the largest one, and of the data's.
    """
    v, g, place = lines
    lo, hi = ranges
    mu, direction = course
    size, best, which = len(place), np.inf, -1
    flat = noise[1]
    for i in range(size):
        flat = max(flat, abs(v[i, 1]))
    flat *= noise[0]
    for i in range(size):
        if place[i] >= 0:
            constant, slope = v[i, 0], v[i, 1]
        else:
            constant, slope = g[i, 0], g[i, 1]
        fall = (lo[i, 1] - slope) * direction
        if fall > flat and not settled[0, i]:
            distance = (constant - lo[i, 0] + mu * (slope - lo[i, 1])) / fall
            if distance < best:
                best, which = distance, i
        fall = (slope - hi[i, 1]) * direction
        if fall > flat and not settled[1, i]:
            distance = (hi[i, 0] - constant + mu * (hi[i, 1] - slope)) / fall
            if distance < best:
                best, which = distance, size + i
    return best, which


@njit(cache=True)
def reached_ends(
    lines: tuple[Array, Array, Array],
    ranges: tuple[Array, Array],
    is_row: Array,
    course: tuple[float, float, float],
    found: Array,
) -> tuple[int, float]:
    """Write the numbers of all ends that are reached at mu into `found`; return how many, and the top slope.

    `course` is mu, `tie` and `noise`. An end is reached if the gap is below `tie` times its own constant. For
    what was solved for, round-off of that share of the largest number of its kind is allowed for; for what
    follows by one product, `noise` times the largest number of all.
    """
    v, g, place = lines
    lo, hi = ranges
    mu, tie, noise = course
    size, count, speed = len(place), 0, 0.0
    heights = np.array([1e-300, 1e-300])
    for i in range(size):
        kind = 1 if is_row[i] else 0
        heights[kind] = max(heights[kind], abs(v[i, 0] + mu * v[i, 1]))
        speed = max(speed, abs(v[i, 1]))
    floor = noise * max(heights[0], heights[1])
    for i in range(size):
        if place[i] >= 0:
            constant, slope = v[i, 0], v[i, 1]
            allowed = max(tie * heights[1 if is_row[i] else 0], floor)
        else:
            constant, slope, allowed = g[i, 0], g[i, 1], floor
        above, below = constant - lo[i, 0], hi[i, 0] - constant
        if above < np.inf and abs(above + mu * (slope - lo[i, 1])) <= allowed + tie * abs(above):
            found[count] = i
            count += 1
        if below < np.inf and abs(below + mu * (hi[i, 1] - slope)) <= allowed + tie * abs(below):
            found[count] = size + i
            count += 1
    return count, speed


@njit(cache=True)
def add_outer(matrix: Array, count: int, factor: float, column: Array) -> None:
    """Add factor · column columnᵀ to the leading block of a matrix, in place."""
    for i in range(count):
        scaled = factor * column[i]
        for j in range(count):
            matrix[i, j] += scaled * column[j]


@njit(cache=True)
def correction(inverse: Array, items: Array, signs: Array, rest: Array, v: Array) -> tuple[Array, float]:
    """Return what the unknown v have to move by so that nothing is left over, and move them.

    The second number is the largest of these steps.
    """
    count, top = len(items), 0.0
    step = np.zeros((count, 2))
    for j in range(count):
        constant, slope = signs[items[j]] * rest[j, 0], signs[items[j]] * rest[j, 1]
        for i in range(count):
            step[i, 0] += inverse[i, j] * constant
            step[i, 1] += inverse[i, j] * slope
    for i in range(count):
        v[items[i], 0] += step[i, 0]
        v[items[i], 1] += step[i, 1]
        top = max(top, abs(step[i, 0]), abs(step[i, 1]))
    return step, top


@njit(cache=True)
def left_over(items: Array, held: Array, g: Array) -> Array:
    """Return by how much g misses what is held, for the items of R."""
    rest = np.empty((len(items), 2))
    for j in range(len(items)):
        rest[j, 0] = held[items[j], 0] - g[items[j], 0]
        rest[j, 1] = held[items[j], 1] - g[items[j], 1]
    return rest


@njit(cache=True)
def fill_held(held: Array, mu: float, row: Array) -> None:
    """Write what is held at one mu into a row."""
    for i in range(len(held)):
        row[i] = held[i, 0] + mu * held[i, 1]


@njit(cache=True)
def largest_miss(
    tables: tuple[Array, Array, Array],
    kinds: tuple[Array, Array],
    steps: Array,
    mus: Array,
    v: Array,
    g: Array,
) -> Array:
    """Return by how much every row of v misses the optimality conditions.

    Values and multipliers of variables and of rows are each judged beside the largest of their kind.
    `tables` are held lines and both ends for every step and item, `kinds` tell which steps are pinned and
    which items are rows.
    """
    held, lo, hi = tables
    pinned, is_row = kinds
    count, size = v.shape
    result = np.zeros(count)
    for b in range(count):
        mu, worst, heights = mus[b], np.zeros((2, 2)), np.ones((2, 2))
        for i in range(size):
            step, kind = steps[b, i], 1 if is_row[i] else 0
            heights[kind, 0] = max(heights[kind, 0], abs(v[b, i]))
            heights[kind, 1] = max(heights[kind, 1], abs(g[b, i]))
            if pinned[step] == is_row[i]:
                dependent, quantity = v[b, i], 0
                rest = abs(g[b, i] - held[step, i, 0] - mu * held[step, i, 1])
                if not rest <= worst[kind, 1]:
                    worst[kind, 1] = rest
            else:
                dependent, quantity = g[b, i], 1
            below = lo[step, i, 0] + mu * lo[step, i, 1] - dependent
            above = dependent - hi[step, i, 0] - mu * hi[step, i, 1]
            if not (below <= worst[kind, quantity] and above <= worst[kind, quantity]):
                worst[kind, quantity] = max(below, above)
        result[b] = (worst / heights).max()
    return result


@njit(cache=True)
def seam(
    before: Array, held: Array, moved: Array, unknowns: Array, values: Array, mu: float
) -> tuple[float, float]:
    """Return by how much v differs from `before` at mu where it may, and the largest unknown there."""
    gap, height = 0.0, 0.0
    for k in range(len(unknowns)):
        value = values[k, 0] + mu * values[k, 1]
        height = max(height, abs(value))
        gap = max(gap, abs(before[unknowns[k]] - value))
    for item in moved:
        is_unknown = False
        for unknown in unknowns:
            is_unknown = is_unknown or unknown == item
        if not is_unknown:
            gap = max(gap, abs(before[item] - held[item, 0] - mu * held[item, 1]))
    return gap, height


@njit(cache=True)
def largest(values: Array) -> float:
    """Return the size of the largest entry of a matrix."""
    top = 0.0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            top = max(top, abs(values[i, j]))
    return top
