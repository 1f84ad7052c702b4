"""The kernels of `event_kernels`, compiled by numba; importing this module takes half a second.

No compiled function calls another: compilation takes time in proportion to the number of functions. All of
them compute the same bits as those of numpy: no `fastmath`, the same operations in the same order.
"""

import numpy as np
from numba import njit

from pqp.linalg.field import Array
from pqp.revised.event_kernels import (
    AT_HI,
    AT_LO,
    DUAL,
    FIXED_SLOPE,
    G_SLOPE,
    HI,
    HI_SLOPE,
    INSIDE,
    JUMP,
    LO,
    LO_SLOPE,
    SLOPE,
    VALUE,
)

# Items tested together: enough to vectorise, few enough to look at one by one where the answer is yes. The
# direction of an item is as good as random, and mispredicted branches cost more than the arithmetic.
CHUNK = 128
# What rounding may add to a product that decides whether a chunk is looked at. Where there is no end the gap
# is infinite, and the comparison is false.
NEARLY = 1e-9
_compiled = njit(cache=True, error_model="numpy", nogil=True)


@_compiled
def ratio_test(
    lines: Array, flags: Array, mu: float, direction: float, flat_primal: float, flat_dual: float
) -> tuple[float, int]:
    """See `event_kernels.ratio_test`."""
    n, best, which = lines.shape[1], np.inf, -1
    smallest = min(flat_primal, flat_dual)
    for begin in range(0, n, CHUNK):
        end = min(begin + CHUNK, n)
        value, slope = lines[VALUE, begin:end], lines[SLOPE, begin:end]
        lo, lo_slope = lines[LO, begin:end], lines[LO_SLOPE, begin:end]
        hi, hi_slope = lines[HI, begin:end], lines[HI_SLOPE, begin:end]
        hits = 0
        for i in range(end - begin):
            # A count instead of an early return, so that the loop vectorises.
            fall, gap = (lo_slope[i] - slope[i]) * direction, value[i] - (lo[i] + mu * lo_slope[i])
            hits += int((fall > smallest) & (gap - NEARLY * abs(gap) <= best * fall))
            fall, gap = (slope[i] - hi_slope[i]) * direction, hi[i] + mu * hi_slope[i] - value[i]
            hits += int((fall > smallest) & (gap - NEARLY * abs(gap) <= best * fall))
        if hits > 0:
            for i in range(end - begin):
                flat = flat_dual if flags[DUAL, begin + i] else flat_primal
                fall = (lo_slope[i] - slope[i]) * direction
                if fall > flat and not flags[AT_LO, begin + i]:
                    distance = (value[i] - (lo[i] + mu * lo_slope[i])) / fall
                    if distance < best or (distance == best and begin + i < which):
                        best, which = distance, begin + i
                fall = (slope[i] - hi_slope[i]) * direction
                if fall > flat and not flags[AT_HI, begin + i]:
                    distance = (hi[i] + mu * hi_slope[i] - value[i]) / fall
                    if distance < best or (distance == best and n + begin + i < which):
                        best, which = distance, n + begin + i
    return best, which


@_compiled
def move(
    lines: Array,
    flags: Array,
    items: Array,
    distance: float,
    mu: float,
    tie: float,
    tops: Array,
    room: Array,
    found: Array,
) -> int:
    """See `event_kernels.move`; ends at `lo` and at `hi` come in the order of the items."""
    size = abs(mu)
    primal_top, dual_top = tops[0, 0] + size * tops[1, 0], tops[0, 1] + size * tops[1, 1]
    row_offsets, cost_offsets = tops[0, 2] + size * tops[1, 2], tops[0, 3] + size * tops[1, 3]
    for k in range(len(items)):
        i = items[k]
        size = abs(lines[VALUE, i]) + abs(distance) * abs(lines[SLOPE, i])
        if flags[DUAL, i]:
            dual_top = max(dual_top, size)
        else:
            primal_top = max(primal_top, size)
    room_primal = max(tie * primal_top, room[2] * max(row_offsets, max(primal_top, dual_top)))
    room_dual = max(tie * dual_top, room[2] * max(cost_offsets, max(primal_top, dual_top)))
    room[0], room[1] = room_primal, room_dual
    n, count = lines.shape[1], 0
    flags[AT_LO] = False
    flags[AT_HI] = False
    largest = max(room_primal, room_dual)
    for begin in range(0, n, CHUNK):
        end = min(begin + CHUNK, n)
        value, slope = lines[VALUE, begin:end], lines[SLOPE, begin:end]
        lo, lo_slope = lines[LO, begin:end], lines[LO_SLOPE, begin:end]
        hi, hi_slope = lines[HI, begin:end], lines[HI_SLOPE, begin:end]
        hits = 0
        for i in range(end - begin):
            value[i] += distance * slope[i]
            x, low, high = value[i], mu * lo_slope[i], mu * hi_slope[i]
            hits += int(abs(x - (lo[i] + low)) <= largest + tie * (abs(x) + abs(low)))
            hits += int(abs(hi[i] + high - x) <= largest + tie * (abs(x) + abs(high)))
        if hits > 0:
            for i in range(end - begin):
                room = room_dual if flags[DUAL, begin + i] else room_primal
                x, low, high = value[i], mu * lo_slope[i], mu * hi_slope[i]
                if abs(x - (lo[i] + low)) <= room + tie * (abs(x) + abs(low)):
                    found[count] = begin + i
                    flags[AT_LO, begin + i] = True
                    count += 1
                if abs(hi[i] + high - x) <= room + tie * (abs(x) + abs(high)):
                    found[count] = n + begin + i
                    flags[AT_HI, begin + i] = True
                    count += 1
    return count


@_compiled
def cross(
    lines: Array,
    flags: Array,
    table: Array,
    items: Array,
    steps: Array,
    change: Array,
    item: int,
    states: tuple[int, int],
    is_dual: bool,
    begins: int,
    mu: float,
    pushed: float,
) -> tuple[float, float, float]:
    """See `event_kernels.cross`."""
    slope, g, fixed, inside = lines[SLOPE], lines[G_SLOPE], lines[FIXED_SLOPE], flags[INSIDE]
    old, new = states
    is_inside = inside[item]
    if is_inside:
        fixed[item] += pushed
    else:
        slope[item], fixed[item] = table[old, 1, item], table[new, 1, item]
        inside[item], flags[DUAL, item] = True, is_dual
    worst, primal_top, dual_top = 0.0, 0.0, 0.0
    for i in range(len(g)):
        g[i] += change[i]
        slope[i] = slope[i] if inside[i] else g[i]
    for k in range(len(items)):
        i = items[k]
        slope[i] += steps[k]
        worst = max(worst, abs(fixed[i] - g[i]))
        if flags[DUAL, i]:
            dual_top = max(dual_top, abs(slope[i]))
        else:
            primal_top = max(primal_top, abs(slope[i]))
    if is_inside:
        inside[item], flags[DUAL, item] = False, is_dual
        slope[item], fixed[item] = g[item], table[new, 1, item]
    lines[VALUE, item] = table[old, 0, item] + mu * table[old, 1, item]
    for row in range(LO, HI_SLOPE + 1):
        lines[row, item] = table[new, row, item]
    flags[AT_LO, item], flags[AT_HI, item] = begins == 0, begins == 1
    return worst, primal_top, dual_top


@_compiled
def rank_one(inverse: Array, count: int, step: Array, factor: float) -> None:
    """See `event_kernels.rank_one`."""
    for i in range(count):
        scaled, row = factor * step[i], inverse[i]
        for j in range(count):
            row[j] += scaled * step[j]


@_compiled
def largest(vector: Array) -> float:
    """See `event_kernels.largest`."""
    result = 0.0
    for i in range(len(vector)):
        result = max(result, abs(vector[i]))
    return result


@_compiled
def record(lines: Array, items: Array, mu: float, unknowns: Array, values: Array) -> None:
    """See `event_kernels.record`."""
    for k in range(len(items)):
        i = items[k]
        slope = lines[SLOPE, i]
        unknowns[k] = i
        values[k, 0], values[k, 1] = lines[VALUE, i] - mu * slope, slope


@_compiled
def fill_points(
    table: Array,
    lines: Array,
    last: Array,
    height: float,
    mus: Array,
    change_ends: Array,
    items: Array,
    after: Array,
    fresh_ends: Array,
    fresh: Array,
    values: Array,
    points: Array,
    owners: Array,
) -> int:
    """See `event_kernels.fill_points`."""
    n, count, before = lines.shape[1], 0, last
    for k in range(mus.shape[1]):
        start = mus[0, k]
        jumps = bool(np.isnan(before[0]))
        for c in range(change_ends[k], change_ends[k + 1]):
            i = items[c]
            lines[0, i], lines[1, i] = table[after[c], 0, i], table[after[c], 1, i]
        for u in range(fresh_ends[k], fresh_ends[k + 1]):
            i = fresh[u]
            lines[0, i], lines[1, i] = values[u, 0], values[u, 1]
        for c in range(change_ends[k], change_ends[k + 1]):
            i = items[c]
            moved = abs(lines[0, i] + start * lines[1, i] - before[i])
            jumps |= not moved <= JUMP * (abs(before[i]) + height)
        for u in range(fresh_ends[k], fresh_ends[k + 1]):
            i = fresh[u]
            moved = abs(lines[0, i] + start * lines[1, i] - before[i])
            jumps |= not moved <= JUMP * (abs(before[i]) + height)
        for side in range(2):
            if side == 0 and not jumps:
                continue
            mu, point = mus[side, k], points[count]
            for i in range(n):
                point[i] = lines[0, i] + mu * lines[1, i]
            owners[count] = 2 * k + side
            count += 1
        before = points[count - 1]
    last[:] = before
    return count


@_compiled
def find_misses(
    table: Array,
    value_fixed: Array,
    is_row: Array,
    states: Array,
    inside: Array,
    lines: Array,
    last: Array,
    heights: Array,
    rounding: Array,
    mus: Array,
    change_ends: Array,
    items: Array,
    after: Array,
    points: Array,
    g: Array,
    offsets: Array,
    owners: Array,
    worst: Array,
) -> None:
    """See `event_kernels.find_misses`."""
    n, row, v, own_g = lines.shape[1], 0, last[0], last[1]
    suspects = np.empty(2 * n, np.int64)
    for k in range(mus.shape[1]):
        for c in range(change_ends[k], change_ends[k + 1]):
            i = items[c]
            states[i] = after[c]
            inside[i] = value_fixed[after[c]] == is_row[i]
            for part in range(6):
                lines[part, i] = table[after[c], part, i]
        for side in range(2):
            mu, count = mus[side, k], 0
            if owners[row] == 2 * k + side:
                for begin in range(0, n, CHUNK):
                    stop, some = min(begin + CHUNK, n), False
                    for i in range(begin, stop):
                        some |= inside[i]
                    for i in range(begin, stop if some else begin):
                        if inside[i]:
                            suspects[count] = i
                            count += 1
                outside, v, own_g = 0, points[row], g[row]
                for i in range(n):
                    own_g[i] += offsets[0, i] + mu * offsets[1, i]
                    is_good = (own_g[i] >= lines[2, i] + mu * lines[3, i]) & (
                        own_g[i] <= lines[4, i] + mu * lines[5, i]
                    )
                    outside += int(not (is_good | inside[i]))
                if outside > 0:
                    for i in range(n):
                        is_good = (own_g[i] >= lines[2, i] + mu * lines[3, i]) & (
                            own_g[i] <= lines[4, i] + mu * lines[5, i]
                        )
                        if not (is_good | inside[i]):
                            suspects[count] = i
                            count += 1
                row += 1
            else:
                for c in range(change_ends[k], change_ends[k + 1]):
                    suspects[count] = items[c]
                    count += 1
            for s in range(count):
                i = suspects[s]
                is_dual = value_fixed[states[i]]
                fixed = lines[0, i] + mu * lines[1, i]
                low, high = lines[2, i] + mu * lines[3, i], lines[4, i] + mu * lines[5, i]
                dependent, miss, height = own_g[i], 0.0, heights[1, i] + rounding[k, 2 + int(is_dual)]
                if inside[i]:
                    height = heights[1, i] + (rounding[k, 2] if is_dual else rounding[k, 3])
                    miss = abs(own_g[i] - fixed) / (abs(fixed) + height)
                    dependent, height = v[i], heights[0, i] + rounding[k, int(is_dual)]
                over = max(low - dependent, dependent - high)
                if not over <= 0.0:
                    limit = high if dependent > high else low
                    over /= abs(dependent) + abs(limit) + height
                else:
                    over = 0.0
                if np.isnan(miss) or np.isnan(over):
                    worst[k] = np.inf
                worst[k] = max(worst[k], max(miss, over))
    last[0], last[1] = v, own_g
