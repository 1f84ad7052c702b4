"""The hot kernels of `kernels`, compiled by numba; importing this module takes half a second.

No compiled function calls another: compilation takes time in proportion to the number of functions. All of
them compute the same bits as those of numpy: no `fastmath`, the same operations in the same order.
"""

from types import SimpleNamespace

import numpy as np
from numba import njit

from pqp.linalg.field import Array
from pqp.revised.kernels import (
    AT_HI,
    AT_LO,
    DUAL,
    FIXED_SLOPE,
    G_SLOPE,
    HI,
    HI_SLOPE,
    INSIDE,
    LO,
    LO_SLOPE,
    SLOPE,
    VALUE,
)

# Items tested together: enough to vectorise, few enough to look at one by one where the answer is yes. The
# direction of an item is as good as random, and mispredicted branches cost more than the arithmetic.
CHUNK = 128
# What rounding may add to a product that decides whether a chunk is looked at.
NEARLY = 1e-9
_compiled = njit(cache=True, error_model="numpy", nogil=True)


@_compiled
def first_end(
    lines: Array, flags: Array, mu: float, direction: float, flat_primal: float, flat_dual: float
) -> tuple[float, int]:
    """See `kernels.first_end`."""
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
            hits += int((fall > smallest) & (gap <= best * fall + NEARLY * abs(gap)))
            fall, gap = (slope[i] - hi_slope[i]) * direction, hi[i] + mu * hi_slope[i] - value[i]
            hits += int((fall > smallest) & (gap <= best * fall + NEARLY * abs(gap)))
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
    distance: float,
    mu: float,
    tie: float,
    room_primal: float,
    room_dual: float,
    found: Array,
) -> int:
    """See `kernels.move`; ends at `lo` and at `hi` come in the order of the items."""
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
def apply(
    lines: Array, flags: Array, items: Array, steps: Array, change: Array
) -> tuple[float, float, float]:
    """See `kernels.apply`."""
    slope, g, fixed, inside = lines[SLOPE], lines[G_SLOPE], lines[FIXED_SLOPE], flags[INSIDE]
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
    return worst, primal_top, dual_top


@_compiled
def rank_one(inverse: Array, count: int, step: Array, factor: float) -> None:
    """See `kernels.rank_one`."""
    for i in range(count):
        scaled, row = factor * step[i], inverse[i]
        for j in range(count):
            row[j] += scaled * step[j]


COMPILED = SimpleNamespace(first_end=first_end, move=move, apply=apply, rank_one=rank_one)
