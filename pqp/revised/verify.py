r"""Checking: the loops behind the verification of lines, compiled.

Sweeping: the verification of lines where M is a thin part, without M v of any point in full, compiled.

A point enters M v by Rᵀv, or Dᵀv, alone, a few numbers that follow from those of the point before. So many
points are checked on a few hundred items at a time, which stay in the cache together with their part of L.

Verification: every line of a trace against the optimality conditions, from the data, in blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_in_any_order, compiled_inside
from pqp.linalg.kernels import (
    add_product,
    add_to_inner,
    column_of,
    inner_of,
    inner_size,
    is_single_product,
    product_of_row,
    products_of_tile,
    scores_of,
)
from pqp.linalg.structure import (
    ABSENT,
    DENSE,
    PAIRED,
    Form,
    Part,
    single_part,
)
from pqp.linalg.tolerances import ACCURATE, ROUNDING, SHARE_OF_LARGEST
from pqp.revised.basis import Setting, Tables
from pqp.revised.passes import Leg
from pqp.revised.ratio_test import first_row, top_of
from pqp.revised.states import PINNED
from pqp.revised.trace import NO_CHANGES, Line


class Packed(NamedTuple):
    """Some lines: where each is checked at its start and end, then changes and unknowns of all in a row."""

    starts: Array
    ends: Array
    change_ends: Array
    items: Array
    after: Array
    unknown_ends: Array
    unknowns: Array
    values: Array


class Pass(NamedTuple):
    """Where a pass over lines stands: steps and what is held now, v at the end of the line before.

    `base` is M times what is held, as lines, if it is kept; else it is empty.
    """

    steps: Array
    held: Array
    before: Array
    is_begun: Array
    base: Array


class Block(NamedTuple):
    """Points to check: the number of their line, mu, steps and v, and M v if the pass keeps its base."""

    numbers: Array
    mus: Array
    steps: Array
    v: Array
    products: Array


@compiled
def fill_block(
    form: Form, tables: Tables, packed: Packed, first: int, state: Pass, block: Block
) -> tuple[int, int]:
    """Write the points to be checked of the lines from `first` on; return the next line, and how many fit.

    Lines are checked at their ends, and at their starts where they do not continue the line before.
    """
    count, number = 0, first
    while number < len(packed.ends) and count + 2 <= len(block.mus):
        _advance(form, tables, packed, number, state)
        goes_on = state.is_begun[0] and _continues(packed, number, state)
        for place in range(1 if goes_on else 0, 2):
            mu = packed.ends[number] if place else packed.starts[number]
            _write(form, packed, number, mu, state, block, count)
            count += 1
        state.before[:] = block.v[count - 1]
        state.is_begun[0] = True
        number += 1
    return number, count


@compiled_inside
def _advance(form: Form, tables: Tables, packed: Packed, number: int, state: Pass) -> None:
    """Bring steps and held lines from one line to the next."""
    for k in range(packed.change_ends[number], packed.change_ends[number + 1]):
        item, step, old = packed.items[k], packed.after[k], state.steps[packed.items[k]]
        state.steps[item] = step
        for part in range(2):
            if state.base.shape[1]:
                moved = outside(tables, item, step, part) - outside(tables, item, old, part)
                if moved != 0.0:
                    add_product(form, np.full(1, item), np.full(1, moved), state.base[part])
            state.held[item, part] = tables.held[step, item, part]


@compiled
def outside(tables: Tables, item: int, step: int, part: int) -> float:
    """Return the constant, or the slope, of the v of an item outside R, 0 if it is in R."""
    return 0.0 if PINNED[step] == tables.is_row[item] else tables.held[step, item, part]


@compiled_inside
def _continues(packed: Packed, number: int, state: Pass) -> bool:
    """Tell whether a line begins where the one before ended, looking only at what may differ."""
    mu, gap, height = packed.starts[number], 0.0, 0.0
    unknowns = packed.unknowns[packed.unknown_ends[number] : packed.unknown_ends[number + 1]]
    for k in range(len(unknowns)):
        line = packed.values[packed.unknown_ends[number] + k]
        value = line[0] + mu * line[1]
        height, gap = max(height, abs(value)), max(gap, abs(state.before[unknowns[k]] - value))
    for k in range(packed.change_ends[number], packed.change_ends[number + 1]):
        item = packed.items[k]
        if not np.any(unknowns == item):
            held = state.held[item, 0] + mu * state.held[item, 1]
            height, gap = max(height, abs(held)), max(gap, abs(state.before[item] - held))
    return gap <= ACCURATE * height


@compiled_inside
def _write(form: Form, packed: Packed, number: int, mu: float, state: Pass, block: Block, at: int) -> None:
    """Write one point: all v of a line at one mu."""
    v, first, last = block.v[at], packed.unknown_ends[number], packed.unknown_ends[number + 1]
    for i in range(len(v)):
        v[i] = state.held[i, 0] + mu * state.held[i, 1]
    for k in range(first, last):
        v[packed.unknowns[k]] = packed.values[k, 0] + mu * packed.values[k, 1]
    block.numbers[at], block.mus[at] = number, mu
    block.steps[at] = state.steps
    if state.base.shape[1]:
        for i in range(len(v)):
            block.products[at, i] = state.base[0, i] + mu * state.base[1, i]
        unknowns = packed.unknowns[first:last]
        add_product(form, unknowns, v[unknowns], block.products[at])


@compiled
def largest_misses(
    form: Form, tables: Tables, q: Array, scales: tuple[Array, Array], block: Block, products: Array
) -> Array:
    """Return by how much every point misses the optimality conditions, beside the numbers it is made of.

    `scales` are which kinds (variables, rows) enter which g, and the largest constants and slopes of q for
    both kinds; `products` are M v. Where variables and rows differ in size, the worst equation is also judged
    beside its own terms.
    """
    couples, tops = scales
    result, is_mixed = np.zeros(len(products)), 0 < first_row(tables.is_row) < len(tables.is_row)
    for b in range(len(products)):
        mu, v, worst, largest = block.mus[b], block.v[b], -1, 0.0
        height = _heights(tables, couples, v, products[b], tops[:, 0] + abs(mu) * tops[:, 1])
        for i in range(len(v)):
            step, kind = block.steps[b, i], 1 if tables.is_row[i] else 0
            is_unknown = PINNED[step] == tables.is_row[i]
            g = products[b, i] + (q[i, 0] + mu * q[i, 1])
            dependent, size = (v[i], height[kind, 0]) if is_unknown else (g, height[kind, 1])
            miss = range_miss(tables.lo[step, i], tables.hi[step, i], mu, dependent, size)
            result[b] = max(result[b], miss)
            if is_unknown:
                held, moved = tables.held[step, i, 0], mu * tables.held[step, i, 1]
                rest = miss_beside(abs(g - held - moved), abs(held) + abs(moved), g, height[kind, 1])
                result[b] = max(result[b], rest)
                if rest > largest:
                    worst, largest = i, rest
        if is_mixed and ROUNDING < largest <= ACCURATE:
            line = tables.held[block.steps[b, worst], worst]
            result[b] = max(result[b], _own_miss(form, q[worst], line, mu, v, products[b], worst))
    return result


@compiled_inside
def _own_miss(form: Form, q: Array, held: Array, mu: float, v: Array, products: Array, item: int) -> float:
    """Return what is left over of one equation beside the sum of its own terms."""
    column = column_of(form, np.arange(len(v)), item)
    total = abs(q[0]) + abs(mu * q[1]) + abs(held[0]) + abs(mu * held[1])
    for j in range(len(v)):
        total += abs(column[j] * v[j])
    return abs(products[item] + (q[0] + mu * q[1]) - held[0] - mu * held[1]) / total


@compiled
def range_miss(lo: Array, hi: Array, mu: float, value: float, height: float) -> float:
    """Return by how much a value misses the range between two lines at mu, beside the numbers involved."""
    lo_moved, hi_moved = mu * lo[1], mu * hi[1]
    if lo[0] + lo_moved <= value <= hi[0] + hi_moved:
        return 0.0
    below = miss_beside(lo[0] + lo_moved - value, abs(lo[0]) + abs(lo_moved), value, height)
    above = miss_beside(value - hi[0] - hi_moved, abs(hi[0]) + abs(hi_moved), value, height)
    return max(below, above)


@compiled
def miss_beside(miss: float, limit: float, value: float, height: float) -> float:
    """Return a miss beside the numbers involved; what is no number misses everything."""
    if miss <= 0.0:
        return 0.0
    share = miss / (abs(value) + limit + SHARE_OF_LARGEST * height)
    return share if share == share else np.inf


@compiled_inside
def _heights(tables: Tables, couples: Array, v: Array, products: Array, tops: Array) -> Array:
    """Return for both kinds the largest number that goes into their v and, beside it, into their g.

    What is solved for, v, is made of what its equations are made of: variables of costs and of the values of
    rows, multipliers of rows of costs and of the variables.
    """
    result, variables = np.zeros((2, 2)), first_row(tables.is_row)
    top, value = (top_of(v[:variables]), top_of(v[variables:])), top_of(products[variables:])
    for kind in range(2):
        result[kind, 1] = tops[kind]
        for other in range(2):
            if couples[kind, other]:
                result[kind, 1] = max(result[kind, 1], top[other])
    result[0, 0] = max(top[0], tops[0], value)
    result[1, 0] = max(top[1], result[0, 1], tops[1])
    return result


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
        goes_on = stand.end[0] == stand.end[0] and _sweep_continues(tables, packed, number, stand)
        _sweep_advance(part, tables, packed, number, stand)
        for place in range(1 if goes_on else 0, 2):
            points.numbers[count] = number
            points.mus[count] = packed.ends[number] if place else packed.starts[number]
            _sweep_write(part, tables, packed, number, stand, points, count)
            count += 1
        _remember(packed, number, stand, points)
        number += 1
    return number, count


@compiled_inside
def _sweep_continues(tables: Tables, packed: Packed, number: int, stand: Stand) -> bool:
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
def _sweep_advance(part: Part, tables: Tables, packed: Packed, number: int, stand: Stand) -> None:
    """Bring steps and Rᵀ times what is held from one line to the next."""
    for k in range(packed.change_ends[number], packed.change_ends[number + 1]):
        item, step, old = packed.items[k], packed.after[k], stand.steps[packed.items[k]]
        for side in range(2):
            moved = outside(tables, item, step, side) - outside(tables, item, old, side)
            add_to_inner(part, item, moved, stand.base[side])
        is_row = tables.is_row[item]
        stand.inside[0] += int(PINNED[step] == is_row) - int(PINNED[old] == is_row)
        stand.steps[item] = step


@compiled_inside
def _sweep_write(
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
        add_to_inner(part, packed.unknowns[k], value, inner)
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
        g += product_of_row(part, i, points.inner[p])
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
    products = products_of_tile(part, begin, end, points.inner)
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


# Numbers checked together, few enough to stay in the cache, and points at the least and at the most, enough
# for products of blocks to pay.
BLOCK, LEAST, MOST = 2**17, 16, 64
# Points swept over together.
TOGETHER = 32
# Beginning anew costs about as much as checking this many lines.
BEGINNING = 16
# Lines packed at a time.
CHUNK = 256
# A line without end is checked this many times farther out than it starts.
FAR = 10.0


@dataclass(frozen=True, eq=False)
class Standing:
    """What is held outside R where some lines begin, and M times that: constants and slopes as rows."""

    held: Array
    products: Array


def misses(leg: Leg, setting: Setting) -> Array:
    """Return by how much every line misses the optimality conditions, beside the numbers it is made of.

    Lines are checked at their ends, and at their starts where they do not continue the line before.
    """
    is_swept = is_single_product(setting.form, setting.system.size)
    return _missed_by_sweeps(leg, setting) if is_swept else _missed_in_full(leg, setting)


def misses_again(leg: Leg, setting: Setting, known: Array, renewed: Array) -> Array:
    """Return the misses of a leg of which some lines, given by their numbers, have been renewed.

    Only these and the lines behind them, which may no longer continue them, are looked at.
    """
    numbers = np.union1d(renewed, renewed + 1)
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    if BEGINNING * len(runs) > len(leg.lines):
        return misses(leg, setting)
    result, steps, done = known.copy(), leg.first.copy(), 0
    for run in runs:
        for line in leg.lines[done : run[0] + 1]:
            steps[line.changes.items] = line.changes.after
        done, (first, *others) = run[0] + 1, leg.lines[run[0] : run[-1] + 1]
        part = Leg(steps, (replace(first, changes=NO_CHANGES), *others))
        result[run[0] : run[-1] + 1] = misses(part, setting)
    return result


def _missed_by_sweeps(leg: Leg, setting: Setting) -> Array:
    """Return the misses of all lines, many points at a time on a few items."""
    result, tables, part = np.zeros(len(leg.lines)), setting.tables, single_part(setting.form)
    columns = inner_size(part)
    stand = new_stand(tables, leg.first.astype(np.int8), columns)
    data = np.ascontiguousarray(setting.q.T), np.max(np.abs(setting.q), axis=0, initial=0.0)
    for begin in range(0, len(leg.lines), CHUNK):
        packed, number = _packed(leg.lines[begin : begin + CHUNK]), 0
        points = new_points(TOGETHER, columns, packed)
        stand.base[:] = inner_of(part, stand.held)
        while number < len(packed.ends):
            number, count = fill_points(part, tables, packed, number, stand, points)
            filled = first_points(points, count)
            filled = filled._replace(inner=scores_of(part, filled.inner))
            found = swept_misses(part, tables, data, packed, stand, filled)
            np.maximum.at(result, begin + filled.numbers, found)
    return result


def _missed_in_full(leg: Leg, setting: Setting) -> Array:
    """Return the misses of all lines, from M v of every point."""
    result = np.zeros(len(leg.lines))
    size = setting.system.size
    steps = leg.first.astype(np.int8)
    held = setting.stairs.held[steps, np.arange(size)]
    state = Pass(steps, held, np.empty(size), np.zeros(1, dtype=bool), np.empty((2, 0)))
    points = _empty_block(max(LEAST, min(MOST, BLOCK // max(size, 1))), size)
    scales = _couples(setting), _tops(setting)
    for begin in range(0, len(leg.lines), CHUNK):
        packed, number = _packed(leg.lines[begin : begin + CHUNK]), 0
        standing = _standing(state, setting)
        state = _based(state, standing, setting)
        while number < len(packed.ends):
            number, count = fill_block(setting.form, setting.tables, packed, number, state, points)
            found = _block_misses(setting, scales, standing, points, count)
            np.maximum.at(result, begin + points.numbers[:count], found)
    return result


def _empty_block(count: int, size: int) -> Block:
    return Block(
        np.empty(count, np.int64),
        np.empty(count),
        np.empty((count, size), np.int8),
        np.empty((count, size)),
        np.empty((count, size)),
    )


def _has(kind: int, setting: Setting) -> bool:
    return kind in (setting.form.H.kind, setting.form.G.kind)


def _standing(state: Pass, setting: Setting) -> Standing | None:
    """Return what stands where a pass is, if columns of M are cheaper than M."""
    if not _has(DENSE, setting) and not _has(PAIRED, setting):
        return None
    outside = np.where(setting.is_unknown(state.steps)[:, None], 0.0, state.held)
    return Standing(outside.T, np.ascontiguousarray(setting.system.times(outside).T))


def _based(state: Pass, standing: Standing | None, setting: Setting) -> Pass:
    """Return a pass that begins afresh to keep M times what is held, if M is dense."""
    if standing is None or not _has(DENSE, setting):
        return state
    return state._replace(base=standing.products)


def _block_misses(
    setting: Setting, scales: tuple[Array, Array], standing: Standing | None, points: Block, count: int
) -> Array:
    products = points.products[:count]
    if not _has(DENSE, setting):
        products = _products(setting, standing, points.v[:count], points.mus[:count, None])
    return np.asarray(largest_misses(setting.form, setting.tables, setting.q, scales, points, products))


def _products(setting: Setting, standing: Standing | None, v: Array, mus: Array) -> Array:
    """Return M v of some points; of what still stands the product is known, and few other items differ."""
    if standing is None:
        return np.ascontiguousarray(setting.system.times(v.T).T)
    rest = v - (standing.held[0] + mus * standing.held[1])
    return setting.system.times(rest.T).T + (standing.products[0] + mus * standing.products[1])


def _couples(setting: Setting) -> Array:
    """Return which kinds of v enter which kinds of g: variables first, then rows."""
    if not np.any(setting.is_row) or np.all(setting.is_row):
        return np.ones((2, 2), dtype=bool)
    return np.array([[True, True], [True, setting.form.G.kind != ABSENT]])


def _tops(setting: Setting) -> Array:
    """Return the largest constants and slopes of q, of variables and of rows."""
    kinds = (~setting.is_row, setting.is_row)
    return np.stack([np.max(np.abs(setting.q[kind]), axis=0, initial=0.0) for kind in kinds])


def _packed(lines: Sequence[Line]) -> Packed:
    """Return lines in a few arrays."""
    changes = [line.changes for line in lines]
    return Packed(
        np.array([place_on(line) for line in lines]),
        np.array([far_on(line) for line in lines]),
        _ends([change.items for change in changes]),
        np.concatenate([change.items for change in changes]).astype(np.int64),
        np.concatenate([change.after for change in changes]).astype(np.int8),
        _ends([line.unknowns for line in lines]),
        np.concatenate([line.unknowns for line in lines]).astype(np.int64),
        np.concatenate([line.values for line in lines]).astype(float),
    )


def _ends(parts: Sequence[Array]) -> Array:
    return np.cumsum([0, *(len(part) for part in parts)])


def place_on(line: Line) -> float:
    """Return where a line starts, or a place on it if that is infinitely far."""
    return line.start if np.isfinite(line.start) else line.end if np.isfinite(line.end) else 0.0


def far_on(line: Line) -> float:
    """Return where a line ends, or a place far out on it if that is infinitely far."""
    if np.isfinite(line.end):
        return line.end
    start = place_on(line)
    return start + np.sign(line.end) * FAR * (1.0 + abs(start))
