r"""Sweeping: the verification of lines where M is a thin part, without M v of any point in full, compiled.

A point enters M v by Rᵀv, or Dᵀv, alone, a few numbers that follow from those of the point before. So many
points are checked on a few hundred items at a time, which stay in the cache together with their part of L.

Room: packed lines, steps and factors in, what they miss out.
May touch: `field`, `forms`, `thin`, `stairs`, `tracks`, `checking`.
"""

from typing import NamedTuple

import numpy as np

from pqp.checking import Packed, miss_beside, outside, range_miss
from pqp.field import ACCURATE, Array
from pqp.forms import Part, compiled, compiled_in_any_order, compiled_inside
from pqp.stairs import PINNED
from pqp.thin import add_row, row_product, tile_products
from pqp.tracks import Tables

# Items swept over together.
TILE = 512
# Rows of the standing lines: what is held, and the ranges of what depends, each as constant and slope.
HELD, LO, HI = 0, 2, 4
NO_RANGE = np.array([0.0, 0.0, -np.inf, 0.0, np.inf, 0.0])


class Stand(NamedTuple):
    """Where a sweep stands: all steps, |R|, Rᵀ times what is held, and v on R at the end of the line before.

    `lines` are what is held and the ranges outside R as the last block left them. `solved` is no number
    outside R; the last `end` is none before the first line.
    """

    steps: Array
    inside: Array
    lines: Array
    base: Array
    solved: Array
    end: Array

    @property
    def held(self) -> Array:
        """What is held outside R, constants and slopes, as the last block left it."""
        return self.lines[HELD : HELD + 2]


class Points(NamedTuple):
    """Points to check: the number of their line, mu, Rᵀv, and the largest number that goes into them.

    In place of Dᵀv stands K Dᵀv where entries of M v are read from it.

    `steps` are those of the unknowns of all lines that are packed.
    """

    numbers: Array
    mus: Array
    inner: Array
    heights: Array
    steps: Array


def new_stand(tables: Tables, steps: Array, columns: int) -> Stand:
    """Return where a sweep stands before the first line."""
    size = len(steps)
    everything, is_inside = np.arange(size), PINNED[steps] == tables.is_row
    ranges = (table[steps, everything].T for table in (tables.held, tables.lo, tables.hi))
    lines = np.where(is_inside, NO_RANGE[:, None], np.concatenate(list(ranges)))
    base, solved = np.zeros((2, columns)), np.full(size, np.nan)
    return Stand(steps.copy(), np.full(1, np.sum(is_inside)), lines, base, solved, np.full(1, np.nan))


def new_points(count: int, columns: int, packed: Packed) -> Points:
    """Return room for some points of packed lines."""
    numbers, steps = np.empty(count, np.int64), np.empty(len(packed.unknowns), np.int8)
    return Points(numbers, np.empty(count), np.empty((count, columns)), np.empty(count), steps)


def first_points(points: Points, count: int) -> Points:
    """Return the first of some points."""
    return points._replace(
        numbers=points.numbers[:count],
        mus=points.mus[:count],
        inner=points.inner[:count],
        heights=points.heights[:count],
    )


@compiled_inside
def _stand_on(tables: Tables, item: int, step: int, lines: Array) -> None:
    """Write what is held and the range of an item on a step; nothing and no range if it is in R."""
    if PINNED[step] == tables.is_row[item]:
        lines[:] = NO_RANGE
        return
    for part in range(2):
        lines[HELD + part] = tables.held[step, item, part]
        lines[LO + part], lines[HI + part] = tables.lo[step, item, part], tables.hi[step, item, part]


@compiled
def fill_points(
    part: Part, tables: Tables, packed: Packed, first: int, stand: Stand, points: Points
) -> tuple[int, int]:
    """Write the points to be checked of the lines from `first` on; return the next line, and how many fit.

    Lines are checked at their ends, and at their starts where they do not continue the line before.
    """
    count, number = 0, first
    while number < len(packed.ends) and count + 2 <= len(points.mus):
        goes_on = stand.end[0] == stand.end[0] and _continues(tables, packed, number, stand)
        _advance(part, tables, packed, number, stand)
        for place in range(1 if goes_on else 0, 2):
            points.numbers[count] = number
            points.mus[count] = packed.ends[number] if place else packed.starts[number]
            _write(part, tables, packed, number, stand, points, count)
            count += 1
        _remember(packed, number, stand, points)
        number += 1
    return number, count


@compiled_inside
def _continues(tables: Tables, packed: Packed, number: int, stand: Stand) -> bool:
    """Tell whether a line begins where the one before ended, looking only at what may differ."""
    mu, gap, height = packed.starts[number], 0.0, 0.0
    unknowns = packed.unknowns[packed.unknown_ends[number] : packed.unknown_ends[number + 1]]
    for k in range(len(unknowns)):
        line = packed.values[packed.unknown_ends[number] + k]
        value = line[0] + mu * line[1]
        height, gap = max(height, abs(value)), max(gap, abs(_before(tables, stand, unknowns[k]) - value))
    for k in range(packed.change_ends[number], packed.change_ends[number + 1]):
        item, step = packed.items[k], packed.after[k]
        if not np.any(unknowns == item):
            held = tables.held[step, item, 0] + mu * tables.held[step, item, 1]
            height, gap = max(height, abs(held)), max(gap, abs(_before(tables, stand, item) - held))
    return gap <= ACCURATE * height


@compiled_inside
def _before(tables: Tables, stand: Stand, item: int) -> float:
    """Return v of an item at the end of the line before."""
    step, value = stand.steps[item], stand.solved[item]
    is_solved = value == value
    return value if is_solved else tables.held[step, item, 0] + stand.end[0] * tables.held[step, item, 1]


@compiled_inside
def _advance(part: Part, tables: Tables, packed: Packed, number: int, stand: Stand) -> None:
    """Bring steps and Rᵀ times what is held from one line to the next."""
    for k in range(packed.change_ends[number], packed.change_ends[number + 1]):
        item, step, old = packed.items[k], packed.after[k], stand.steps[packed.items[k]]
        for side in range(2):
            moved = outside(tables, item, step, side) - outside(tables, item, old, side)
            add_row(part, item, moved, stand.base[side])
        is_row = tables.is_row[item]
        stand.inside[0] += int(PINNED[step] == is_row) - int(PINNED[old] == is_row)
        stand.steps[item] = step


@compiled_inside
def _write(
    part: Part, tables: Tables, packed: Packed, number: int, stand: Stand, points: Points, at: int
) -> None:
    """Write Rᵀv of a point, no numbers if the unknowns are not R, and the largest number it solved for."""
    mu, inner, height = points.mus[at], points.inner[at], 0.0
    begin, end = packed.unknown_ends[number], packed.unknown_ends[number + 1]
    strangers = abs(end - begin - stand.inside[0])
    for j in range(len(inner)):
        inner[j] = stand.base[0, j] + mu * stand.base[1, j]
    for k in range(begin, end):
        item = packed.unknowns[k]
        strangers += int(PINNED[stand.steps[item]] != tables.is_row[item])
        value = packed.values[k, 0] + mu * packed.values[k, 1]
        add_row(part, packed.unknowns[k], value, inner)
        height = max(height, abs(value))
    points.heights[at] = height
    if strangers:
        inner[:] = np.nan


@compiled_inside
def _remember(packed: Packed, number: int, stand: Stand, points: Points) -> None:
    """Note what was solved for at the end of a line and on which steps, and forget the line before."""
    if number:
        for k in range(packed.unknown_ends[number - 1], packed.unknown_ends[number]):
            stand.solved[packed.unknowns[k]] = np.nan
    else:
        stand.solved[:] = np.nan
    stand.end[0] = packed.ends[number]
    for k in range(packed.unknown_ends[number], packed.unknown_ends[number + 1]):
        stand.solved[packed.unknowns[k]] = packed.values[k, 0] + stand.end[0] * packed.values[k, 1]
        points.steps[k] = stand.steps[packed.unknowns[k]]


@compiled
def swept_misses(
    part: Part, tables: Tables, data: tuple[Array, Array], packed: Packed, stand: Stand, points: Points
) -> Array:
    """Return by how much every point misses the optimality conditions, beside the numbers it is made of.

    `data` are q, constants and slopes as rows, and the largest of both.
    """
    q, tops = data
    result, size = np.empty(len(points.mus)), len(stand.steps)
    for begin in range(0, size, TILE):
        _raise_heights(tables, packed, stand.lines[:, begin : begin + TILE].copy(), begin, points)
    for p in range(len(result)):
        points.heights[p] = max(points.heights[p], tops[0] + abs(points.mus[p]) * tops[1])
        result[p] = _missed_on_R(part, tables, q, packed, points, p)
    for begin in range(0, size, TILE):
        here, tile = q[:, begin : begin + TILE].copy(), stand.lines[:, begin : begin + TILE].copy()
        _sweep(part, tables, here, packed, tile, begin, points, result)
        stand.lines[:, begin : begin + TILE] = tile
    return result


@compiled_inside
def _raise_heights(tables: Tables, packed: Packed, tile: Array, begin: int, points: Points) -> None:
    """Raise the largest number of every point to what is held on a tile."""
    number = points.numbers[0] - 1
    for p in range(len(points.mus)):
        number = _replay(tables, packed, number, points.numbers[p], begin, tile)
        top = _top_held(tile[HELD], tile[HELD + 1], points.mus[p])
        points.heights[p] = max(points.heights[p], top)


@compiled_in_any_order
def _top_held(constant: Array, slope: Array, mu: float) -> float:
    top = 0.0
    for i in range(len(constant)):
        top = max(top, abs(constant[i] + mu * slope[i]))
    return top


@compiled_inside
def _replay(tables: Tables, packed: Packed, number: int, goal: int, begin: int, tile: Array) -> int:
    """Bring the standing lines of a tile from one packed line to another; return the latter's number."""
    for k in range(packed.change_ends[number + 1], packed.change_ends[goal + 1]):
        at = packed.items[k] - begin
        if 0 <= at < tile.shape[1]:
            _stand_on(tables, packed.items[k], packed.after[k], tile[:, at])
    return goal


@compiled_inside
def _missed_on_R(part: Part, tables: Tables, q: Array, packed: Packed, points: Points, p: int) -> float:
    """Return by how much a point misses the conditions on R: g is held, and v in its range."""
    number, mu, height, worst = points.numbers[p], points.mus[p], points.heights[p], 0.0
    for k in range(packed.unknown_ends[number], packed.unknown_ends[number + 1]):
        i, step = packed.unknowns[k], points.steps[k]
        v, g = packed.values[k, 0] + mu * packed.values[k, 1], q[0, i] + mu * q[1, i]
        g += row_product(part, i, points.inner[p])
        if len(part.added):
            g += part.added[i] * v
        held, moved = tables.held[step, i, 0], mu * tables.held[step, i, 1]
        rest = miss_beside(abs(g - held - moved), abs(held) + abs(moved), g, height)
        worst = max(worst, rest, range_miss(tables.lo[step, i], tables.hi[step, i], mu, v, height))
    return worst


@compiled_inside
def _sweep(
    part: Part,
    tables: Tables,
    q: Array,
    packed: Packed,
    tile: Array,
    begin: int,
    points: Points,
    result: Array,
) -> None:
    """Raise the misses of every point to those on a tile, and leave its lines as the last point has them."""
    number, end = points.numbers[0] - 1, begin + tile.shape[1]
    products = tile_products(part, begin, end, points.inner)
    for p in range(len(points.mus)):
        number = _replay(tables, packed, number, points.numbers[p], begin, tile)
        mu, g = points.mus[p], products[p]
        if len(part.added):
            for i in range(len(g)):
                g[i] += part.added[begin + i] * (tile[HELD, i] + mu * tile[HELD + 1, i])
        if _is_any_outside(g, q, tile, mu):
            result[p] = max(result[p], _missed_ranges(g, q, tile, mu, points.heights[p]))


@compiled_inside
def _is_any_outside(products: Array, q: Array, tile: Array, mu: float) -> bool:
    """Tell whether any g of a tile is not in its range; what is no number is not."""
    q_0, q_1, lo_0, lo_1, hi_0, hi_1 = q[0], q[1], tile[LO], tile[LO + 1], tile[HI], tile[HI + 1]
    inside = True
    for i in range(len(products)):
        g = products[i] + (q_0[i] + mu * q_1[i])
        inside &= (lo_0[i] + mu * lo_1[i] <= g) & (g <= hi_0[i] + mu * hi_1[i])
    return not inside


@compiled_inside
def _missed_ranges(products: Array, q: Array, tile: Array, mu: float, height: float) -> float:
    worst = 0.0
    for i in range(len(products)):
        g = products[i] + (q[0, i] + mu * q[1, i])
        worst = max(worst, range_miss(tile[LO : LO + 2, i], tile[HI : HI + 2, i], mu, g, height))
    return worst
