"""Checking: the loops behind the verification of lines, compiled.

Room: packed lines, steps and products in, what they miss out.
May touch: `field`, `forms`, `kernels`, `stairs`, `scanning`, `tracks`.
"""

from typing import NamedTuple

import numpy as np

from pqp.columns import column_of
from pqp.field import ACCURATE, ROUNDING, Array
from pqp.forms import Form, compiled, compiled_inside
from pqp.kernels import add_product
from pqp.scanning import first_row, top_of
from pqp.stairs import PINNED
from pqp.tracks import Tables

# A number is judged beside itself and what it is measured against, and beside this share of the largest one
# that goes into it: the rest is round-off of sums, which a small number cannot help.
SHARE = 1e-1


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
    share = miss / (abs(value) + limit + SHARE * height)
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
