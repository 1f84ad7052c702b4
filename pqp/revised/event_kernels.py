"""The kernels of the event loop and of verification: functions of a few plain arrays, in numpy.

These versions are complete and the default; they are also what the compiled ones are tested against: both
compute the same bits, so that a path does not depend on which of them were used. Products with matrices are
not among them: those are BLAS calls in either case. Compiled versions (`compiled_event_kernels`) are chosen
once a path is long enough to pay (`event_kernel_choice`).

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
# v is continuous at the start of a piece if it differs by less than this from v at the end before.
JUMP = 1e-12
_ENDS, _END_SLOPES = slice(LO, HI_SLOPE + 1, 2), slice(LO_SLOPE, HI_SLOPE + 1, 2)


def ratio_test(
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
    items: Array,
    distance: float,
    mu: float,
    tie: float,
    tops: Array,
    room: Array,
    found: Array,
) -> int:
    """Move all lines to mu; mark and list the ends that are reached there, and return how many they are.

    An end is reached if the gap is below `tie` times the numbers it is the difference of, plus a room: `tie`
    times the largest v of its kind on the way, and rounding errors of what follows by a product. `tops` has
    these sizes as constants and slopes in |mu|: of fixed v, [0] of variables and [1] of rows; of the offsets
    of [2] rows and [3] variables. `room` has the rounding error per unit in [2], and the rooms are written in
    front: [0] for values, [1] for multipliers.
    """
    value, slopes = lines[VALUE], lines[_END_SLOPES]
    sizes, dual = np.abs(value[items]) + abs(distance) * np.abs(lines[SLOPE, items]), flags[DUAL, items]
    fixed = tops[0] + abs(mu) * tops[1]
    primal, other = sizes[~dual].max(initial=fixed[0]), sizes[dual].max(initial=fixed[1])
    largest = max(primal, other)
    room[0] = max(tie * primal, room[2] * max(fixed[2], largest))
    room[1] = max(tie * other, room[2] * max(fixed[3], largest))
    value += distance * lines[SLOPE]
    moved = mu * slopes
    gaps = np.abs(value - (lines[_ENDS] + moved))
    rooms = np.where(flags[DUAL], room[1], room[0])
    np.less_equal(gaps, rooms + tie * (np.abs(value) + np.abs(moved)), out=flags[AT_LO : AT_HI + 1])
    hits = np.flatnonzero(flags[AT_LO : AT_HI + 1])
    found[: len(hits)] = hits
    return len(hits)


def apply(
    lines: Array, flags: Array, items: Array, steps: Array, change: Array
) -> tuple[float, float, float]:
    """Add a change of all slopes of g, and steps to the slopes of v on R, the items.

    It is part of `cross`; on its own it is called too rarely to be compiled.
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
    """Let an item enter R, or leave it, with the slopes that follow; return what `apply` does.

    `states` are those before and after, `table` the lines of all states. The new state begins at its end
    `begins`. An item that leaves is pushed from the slope that was fixed before to the one that it has now.
    """
    old, new = states
    is_inside = bool(flags[INSIDE, item])
    if is_inside:
        lines[FIXED_SLOPE, item] += pushed
    else:
        lines[SLOPE, item], lines[FIXED_SLOPE, item] = table[old, 1, item], table[new, 1, item]
        flags[INSIDE, item], flags[DUAL, item] = True, is_dual
    result = apply(lines, flags, items, steps, change)
    if is_inside:
        flags[INSIDE, item], flags[DUAL, item] = False, is_dual
        lines[SLOPE, item], lines[FIXED_SLOPE, item] = lines[G_SLOPE, item], table[new, 1, item]
    lines[VALUE, item] = table[old, 0, item] + mu * table[old, 1, item]
    lines[LO : HI_SLOPE + 1, item] = table[new, 2:, item]
    # The item is at this end of its new state, and must not be found to reach it again.
    flags[AT_LO : AT_HI + 1, item] = begins == 0, begins == 1
    return result


def rank_one(inverse: Array, count: int, step: Array, factor: float) -> None:
    """Add factor · step stepᵀ to the leading block of the inverse."""
    inverse[:count, :count] += np.multiply.outer(factor * step, step)


def largest(vector: Array) -> float:
    """Return the largest absolute value; 0 if there is none."""
    return float(np.abs(vector).max(initial=0.0))


def record(lines: Array, items: Array, mu: float, unknowns: Array, values: Array) -> None:
    """Write the unknowns of a piece, and v of each as constant and slope."""
    slopes = lines[SLOPE, items]
    unknowns[:] = items
    values[:, 0] = lines[VALUE, items] - mu * slopes
    values[:, 1] = slopes


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
    """Write v in full at the points at which pieces are to be checked; return how many points there are.

    `lines` and `last` are constants and slopes of v, and v, at the end of the piece before; they are brought
    up to date, with what v of items that change their states is fixed to, and with the lines of unknowns that
    are `fresh` on a piece. A piece is checked at its end, and at its start only if v jumps there, by more
    than rounding relative to v and `height`. `owners` receives the piece of every point: 2k for the start of
    piece k, 2k + 1 for its end.
    """
    count, before = 0, last.copy()
    for k in range(mus.shape[1]):
        start, end = mus[0, k], mus[1, k]
        changes, part = slice(change_ends[k], change_ends[k + 1]), slice(fresh_ends[k], fresh_ends[k + 1])
        moved, inside = items[changes], fresh[part]
        lines[:, moved] = table[after[changes], :2, moved].T
        lines[:, inside] = values[part].T
        point = points[count]
        np.add(lines[0], start * lines[1], out=point)
        touched = np.concatenate([moved, inside])
        is_same = np.abs(point[touched] - before[touched]) <= JUMP * (np.abs(before[touched]) + height)
        if np.isnan(before[0]) or not np.all(is_same):
            owners[count] = 2 * k
            count += 1
        point = points[count]
        np.add(lines[0], end * lines[1], out=point)
        owners[count] = 2 * k + 1
        count += 1
        before = point
    last[:] = before
    return count


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
    """Write the largest relative miss of the conditions of every piece.

    `states`, `inside` (which items are in R) and `lines` of the state table are those of the piece before,
    and are brought up to date; `last` is v, then g, at its end; `heights` are what misses of [0] v and of [1]
    g of every item are relative to, and `rounding` what is added on every piece: [0] for values and [1] for
    multipliers that were solved for, [2, 3] for those that follow. `g` comes without its
    `offsets`, a constant and a slope in mu. Where v does not jump at the start of a piece, all conditions
    there are those of the end before but for the items that change their states.
    """
    row, all_v, all_g = 0, last[0].copy(), last[1].copy()
    for k in range(mus.shape[1]):
        moved = items[change_ends[k] : change_ends[k + 1]]
        states[moved] = after[change_ends[k] : change_ends[k + 1]]
        lines[:, moved] = table[states[moved], :, moved].T
        inside[moved] = value_fixed[states[moved]] == is_row[moved]
        for side in range(2):
            mu = mus[side, k]
            if owners[row] == 2 * k + side:
                g[row] += offsets[0] + mu * offsets[1]
                all_v, all_g, row = points[row], g[row], row + 1
                is_good = (all_g >= lines[2] + mu * lines[3]) & (all_g <= lines[4] + mu * lines[5])
                suspects = np.flatnonzero(~is_good | inside)
            else:
                suspects = moved
            v, own_g = all_v[suspects], all_g[suspects]
            fixed, low, high = (lines[line, suspects] + mu * lines[line + 1, suspects] for line in (0, 2, 4))
            is_unknown, is_dual = inside[suspects], value_fixed[states[suspects]]
            # The equations of the unknowns: there g is the fixed quantity, of the other kind than v.
            height = heights[1, suspects] + np.where(is_dual, rounding[k, 2], rounding[k, 3])
            rest = np.abs(own_g - fixed) / (np.abs(fixed) + height)
            dependent = np.where(is_unknown, v, own_g)
            miss = np.maximum(low - dependent, dependent - high)
            limit = np.where(dependent > high, high, low)
            height = heights[np.where(is_unknown, 0, 1), suspects]
            height = height + rounding[k, np.where(is_unknown, 0, 2) + is_dual]
            scale = np.abs(dependent) + np.abs(limit) + height
            with np.errstate(invalid="ignore"):
                found = np.concatenate([rest[is_unknown], np.where(miss <= 0.0, 0.0, miss / scale)])
            # NaN is the worst miss.
            largest_miss = found.max(initial=0.0)
            worst[k] = max(worst[k], np.inf if np.isnan(largest_miss) else largest_miss)
    last[0], last[1] = all_v, all_g
