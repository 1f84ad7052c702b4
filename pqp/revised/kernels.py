"""The kernels of the event loop: functions of a few plain arrays, in numpy, and the hot ones also compiled.

The numpy versions are complete and the default; they are also what the compiled ones are tested against:
both compute the same bits, so that a path does not depend on which of them were used.
Compiled versions (`compiled_kernels`) are chosen once a path is long enough to pay (`kernel_choice`).

`lines` holds one column per item:

    VALUE, SLOPE    the dependent quantity at the present mu, and its slope
    LO ... HI_SLOPE its range, each end as constant and slope in mu itself
    G_SLOPE         the slope of g
    FIXED_SLOPE     the slope of the fixed quantity

`flags` holds, per item, whether it is in R, whether its end `lo` or `hi` was decided at the present mu, and
whether its dependent quantity is a multiplier.
"""

import numpy as np

from pqp.linalg.field import Array

VALUE, SLOPE, LO, LO_SLOPE, HI, HI_SLOPE, G_SLOPE, FIXED_SLOPE = range(8)
INSIDE, AT_LO, AT_HI, DUAL = range(4)
_ENDS, _END_SLOPES = slice(LO, HI_SLOPE + 1, 2), slice(LO_SLOPE, HI_SLOPE + 1, 2)


def first_end(
    lines: Array, flags: Array, mu: float, direction: float, flat_primal: float, flat_dual: float
) -> tuple[float, int]:
    """Return the distance to the first end on the way, and its number: item, + n at `hi`; -1 if none.

    Ends that were decided at this mu are left out, and gaps that close more slowly than `flat`.
    """
    slopes = lines[_END_SLOPES]
    falls = (slopes - lines[SLOPE]) * direction
    gaps = lines[VALUE] - (lines[_ENDS] + mu * slopes)
    falls[1] *= -1.0
    gaps[1] *= -1.0
    flat = np.where(flags[DUAL], flat_dual, flat_primal)
    is_open = (falls > flat) & ~flags[AT_LO : AT_HI + 1]
    distances = np.full(falls.shape, np.inf)
    np.divide(gaps, falls, out=distances, where=is_open)
    which = int(distances.argmin())
    best = float(distances.flat[which])
    return (best, which) if best < np.inf else (best, -1)


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
    """Move all lines to mu; mark and list the ends that are reached there, and return how many they are.

    An end is reached if the gap is below `tie` times the numbers it is the difference of, plus the room.
    """
    value, slopes = lines[VALUE], lines[_END_SLOPES]
    value += distance * lines[SLOPE]
    moved = mu * slopes
    gaps = np.abs(value - (lines[_ENDS] + moved))
    room = np.where(flags[DUAL], room_dual, room_primal)
    np.less_equal(gaps, room + tie * (np.abs(value) + np.abs(moved)), out=flags[AT_LO : AT_HI + 1])
    hits = np.flatnonzero(flags[AT_LO : AT_HI + 1])
    found[: len(hits)] = hits
    return len(hits)


def apply(
    lines: Array, flags: Array, items: Array, steps: Array, change: Array
) -> tuple[float, float, float]:
    """Add a change of all slopes of g, and steps to the slopes of v on R, the items.

    Return the largest difference between the slope of g on R and the one that is fixed there, and the largest
    slopes of v on R: of variables, and of rows.
    """
    g = lines[G_SLOPE]
    g += change
    slope = lines[SLOPE]
    inside = slope[items] + steps
    np.copyto(slope, g)
    slope[items] = inside
    rest = np.abs(lines[FIXED_SLOPE, items] - g[items]).max(initial=0.0)
    sizes, dual = np.abs(inside), flags[DUAL, items]
    primal_top = sizes[~dual].max(initial=0.0)
    return float(rest), float(primal_top), float(sizes[dual].max(initial=0.0))


def rank_one(inverse: Array, count: int, step: Array, factor: float) -> None:
    """Add factor · step stepᵀ to the leading block of the inverse."""
    inverse[:count, :count] += np.multiply.outer(factor * step, step)
