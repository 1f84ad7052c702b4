"""Verification: every piece of a trace against the optimality conditions, from the data, compiled.

There are two ways. In general M v is formed for blocks of points. Where M has low rank, M = L Rᵀ + diag or
D K Dᵀ, no M v is formed: a point enters it by Rᵀv, or Dᵀv, alone, a few numbers that follow from those of the
point before. Many points are then checked on a few hundred items at a time, which stay in the cache together
with their part of L.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_in_any_order, compiled_inside
from pqp.linalg.products import (
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
from pqp.linalg.structure import ABSENT, DENSE, PAIRED, Form, Part, single_part
from pqp.linalg.tolerances import ACCURATE, ROUNDING, SHARE_OF_LARGEST
from pqp.revised.basis import MixedLCP, ProblemTables
from pqp.revised.interval_trace import PieceSequence
from pqp.revised.ratio_test import first_row, max_abs_positive
from pqp.revised.states import VALUE_FIXED
from pqp.revised.trace import NO_CHANGES, BasisPiece


class PackedPieces(NamedTuple):
    """Pieces in a few arrays: where each is checked, then changes and unknowns of all in a row."""

    starts: Array
    ends: Array
    change_ends: Array
    items: Array
    after: Array
    unknown_ends: Array
    unknowns: Array
    values: Array


class Cursor(NamedTuple):
    """The state of a pass over pieces: states and fixed values now, v at the end of the piece before.

    `base` is M times the fixed values, as affine functions, if it is kept; else it is empty.
    """

    states: Array
    fixed: Array
    before: Array
    is_begun: Array
    base: Array


class PointBlock(NamedTuple):
    """Points to check: the number of their piece, mu, states and v, and M v if the cursor keeps its base."""

    numbers: Array
    mus: Array
    states: Array
    v: Array
    products: Array


@compiled
def fill_block(
    form: Form, tables: ProblemTables, packed: PackedPieces, first: int, cursor: Cursor, block: PointBlock
) -> tuple[int, int]:
    """Write the points to be checked from piece `first` on; return the next piece and the number of points.

    Pieces are checked at their ends, and at their starts where they do not continue the piece before.
    """
    count, number = 0, first
    # Two points must fit: a piece that does not continue the one before is checked at its start too.
    while number < len(packed.ends) and count + 2 <= len(block.mus):
        _advance(form, tables, packed, number, cursor)
        goes_on = cursor.is_begun[0] and _continues(packed, number, cursor)
        # An affine solution that is optimal at both ends of a piece is optimal between them.
        for at_end in range(1 if goes_on else 0, 2):
            mu = packed.ends[number] if at_end else packed.starts[number]
            _write(form, packed, number, mu, cursor, block, count)
            count += 1
        cursor.before[:] = block.v[count - 1]
        cursor.is_begun[0] = True
        number += 1
    return number, count


@compiled_inside
def _advance(form: Form, tables: ProblemTables, packed: PackedPieces, number: int, cursor: Cursor) -> None:
    """Bring states and fixed values from one piece to the next."""
    for k in range(packed.change_ends[number], packed.change_ends[number + 1]):
        item, state, old = packed.items[k], packed.after[k], cursor.states[packed.items[k]]
        cursor.states[item] = state
        for part in range(2):
            # A column of M per change is cheaper than M times all fixed values.
            if cursor.base.shape[1]:
                moved = outside(tables, item, state, part) - outside(tables, item, old, part)
                if moved != 0.0:
                    add_product(form, np.full(1, item), np.full(1, moved), cursor.base[part])
            cursor.fixed[item, part] = tables.fixed[state, item, part]


@compiled
def outside(tables: ProblemTables, item: int, state: int, part: int) -> float:
    """Return the constant, or the slope, of v of an item outside R, 0 if it is in R."""
    return 0.0 if VALUE_FIXED[state] == tables.is_row[item] else tables.fixed[state, item, part]


@compiled_inside
def _continues(packed: PackedPieces, number: int, cursor: Cursor) -> bool:
    """Return whether a piece begins where the one before ended, looking only at what may differ."""
    mu, gap, magnitude = packed.starts[number], 0.0, 0.0
    unknowns = packed.unknowns[packed.unknown_ends[number] : packed.unknown_ends[number + 1]]
    for k in range(len(unknowns)):
        line = packed.values[packed.unknown_ends[number] + k]
        value = line[0] + mu * line[1]
        magnitude, gap = max(magnitude, abs(value)), max(gap, abs(cursor.before[unknowns[k]] - value))
    for k in range(packed.change_ends[number], packed.change_ends[number + 1]):
        item = packed.items[k]
        if not np.any(unknowns == item):
            fixed = cursor.fixed[item, 0] + mu * cursor.fixed[item, 1]
            magnitude, gap = max(magnitude, abs(fixed)), max(gap, abs(cursor.before[item] - fixed))
    # A gap this small is no jump: the check at the end of the piece before covers this start.
    return gap <= ACCURATE * magnitude


@compiled_inside
def _write(
    form: Form, packed: PackedPieces, number: int, mu: float, cursor: Cursor, block: PointBlock, at: int
) -> None:
    """Write one point: all v of a piece at one mu."""
    v, first, last = block.v[at], packed.unknown_ends[number], packed.unknown_ends[number + 1]
    for i in range(len(v)):
        v[i] = cursor.fixed[i, 0] + mu * cursor.fixed[i, 1]
    for k in range(first, last):
        v[packed.unknowns[k]] = packed.values[k, 0] + mu * packed.values[k, 1]
    block.numbers[at], block.mus[at] = number, mu
    block.states[at] = cursor.states
    if cursor.base.shape[1]:
        for i in range(len(v)):
            block.products[at, i] = cursor.base[0, i] + mu * cursor.base[1, i]
        unknowns = packed.unknowns[first:last]
        add_product(form, unknowns, v[unknowns], block.products[at])


@compiled
def point_violations(
    form: Form,
    tables: ProblemTables,
    q: Array,
    scales: tuple[Array, Array],
    block: PointBlock,
    products: Array,
) -> Array:
    """Return by how much every point violates the optimality conditions, relative to its terms.

    `scales` are which kinds (variables, rows) enter which g, and the largest constants and slopes of q for
    both kinds; `products` are M v. Where variables and rows differ in size, the worst equation is also judged
    relative to its own terms.
    """
    couples, tops = scales
    result, is_mixed = np.zeros(len(products)), 0 < first_row(tables.is_row) < len(tables.is_row)
    for b in range(len(products)):
        mu, v, worst, largest = block.mus[b], block.v[b], -1, 0.0
        magnitude = _magnitudes(tables, couples, v, products[b], tops[:, 0] + abs(mu) * tops[:, 1])
        for i in range(len(v)):
            state, kind = block.states[b, i], 1 if tables.is_row[i] else 0
            is_unknown = VALUE_FIXED[state] == tables.is_row[i]
            g = products[b, i] + (q[i, 0] + mu * q[i, 1])
            dependent, size = (v[i], magnitude[kind, 0]) if is_unknown else (g, magnitude[kind, 1])
            violation = range_violation(tables.lo[state, i], tables.hi[state, i], mu, dependent, size)
            result[b] = max(result[b], violation)
            if is_unknown:
                fixed, moved = tables.fixed[state, i, 0], mu * tables.fixed[state, i, 1]
                rest = relative_violation(
                    abs(g - fixed - moved), abs(fixed) + abs(moved), g, magnitude[kind, 1]
                )
                result[b] = max(result[b], rest)
                if rest > largest:
                    worst, largest = i, rest
        # Above ACCURATE the piece has failed already, below ROUNDING only rounding error is left.
        if is_mixed and ROUNDING < largest <= ACCURATE:
            line = tables.fixed[block.states[b, worst], worst]
            result[b] = max(result[b], _own_violation(form, q[worst], line, mu, v, products[b], worst))
    return result


@compiled_inside
def _own_violation(
    form: Form, q: Array, fixed: Array, mu: float, v: Array, products: Array, item: int
) -> float:
    """Return the residual of one equation relative to the sum of its own terms."""
    # Only for the worst equation: all of them would take a product with |M|.
    column = column_of(form, np.arange(len(v)), item)
    total = abs(q[0]) + abs(mu * q[1]) + abs(fixed[0]) + abs(mu * fixed[1])
    for j in range(len(v)):
        total += abs(column[j] * v[j])
    return abs(products[item] + (q[0] + mu * q[1]) - fixed[0] - mu * fixed[1]) / total


@compiled
def range_violation(lo: Array, hi: Array, mu: float, value: float, magnitude: float) -> float:
    """Return by how much a value is outside a range at mu, relative to the numbers involved."""
    lo_moved, hi_moved = mu * lo[1], mu * hi[1]
    # Most values are inside their range and need no division.
    if lo[0] + lo_moved <= value <= hi[0] + hi_moved:
        return 0.0
    below = relative_violation(lo[0] + lo_moved - value, abs(lo[0]) + abs(lo_moved), value, magnitude)
    above = relative_violation(value - hi[0] - hi_moved, abs(hi[0]) + abs(hi_moved), value, magnitude)
    return max(below, above)


@compiled
def relative_violation(violation: float, limit: float, value: float, magnitude: float) -> float:
    """Return a violation relative to the numbers involved; infinity if it is not a number."""
    if violation <= 0.0:
        return 0.0
    # Comparisons with NaN are false, so that it would pass if it were returned.
    share = violation / (abs(value) + limit + SHARE_OF_LARGEST * magnitude)
    return share if share == share else np.inf


@compiled_inside
def _magnitudes(tables: ProblemTables, couples: Array, v: Array, products: Array, tops: Array) -> Array:
    """Return for both kinds the largest term of their v and of their g.

    v is solved from equations and has the size of their terms: variables that of costs and row values,
    multipliers of rows that of costs and variables.
    """
    result, variables = np.zeros((2, 2)), first_row(tables.is_row)
    top, value = (
        (max_abs_positive(v[:variables]), max_abs_positive(v[variables:])),
        max_abs_positive(products[variables:]),
    )
    for kind in range(2):
        result[kind, 1] = tops[kind]
        for other in range(2):
            if couples[kind, other]:
                result[kind, 1] = max(result[kind, 1], top[other])
    result[0, 0] = max(top[0], tops[0], value)
    result[1, 0] = max(top[1], result[0, 1], tops[1])
    return result


# Items checked together in a sweep.
TILE = 512
# Rows of `lines`: fixed values, and the ranges of dependent ones, each as constant and slope.
FIXED, LO, HI = 0, 2, 4
NO_RANGE = np.array([0.0, 0.0, -np.inf, 0.0, np.inf, 0.0])


class SweepCursor(NamedTuple):
    """The state of a sweep: states, |R|, Rᵀ times the fixed values, v on R at the end of the piece before.

    `lines` are the fixed values and ranges outside R as the last block left them. `solved` is NaN outside R,
    and `end` is NaN before the first piece.
    """

    states: Array
    inside: Array
    lines: Array
    base: Array
    solved: Array
    end: Array

    @property
    def fixed(self) -> Array:
        """The fixed values outside R, constants and slopes, as the last block left them."""
        return self.lines[FIXED : FIXED + 2]


class SweepPoints(NamedTuple):
    """Points to check: the number of their piece, mu, Rᵀv, and their largest term.

    Instead of Dᵀv it is K Dᵀv where entries of M v are read from it. `states` are those of the unknowns of
    all packed pieces.
    """

    numbers: Array
    mus: Array
    inner: Array
    magnitudes: Array
    states: Array


def new_sweep_cursor(tables: ProblemTables, states: Array, columns: int) -> SweepCursor:
    """Return the state of a sweep before the first piece."""
    size = len(states)
    everything, is_inside = np.arange(size), VALUE_FIXED[states] == tables.is_row
    ranges = (table[states, everything].T for table in (tables.fixed, tables.lo, tables.hi))
    lines = np.where(is_inside, NO_RANGE[:, None], np.concatenate(list(ranges)))
    base, solved = np.zeros((2, columns)), np.full(size, np.nan)
    return SweepCursor(states.copy(), np.full(1, np.sum(is_inside)), lines, base, solved, np.full(1, np.nan))


def new_points(count: int, columns: int, packed: PackedPieces) -> SweepPoints:
    """Return room for some points of packed pieces."""
    numbers, states = np.empty(count, np.int64), np.empty(len(packed.unknowns), np.int8)
    return SweepPoints(numbers, np.empty(count), np.empty((count, columns)), np.empty(count), states)


def first_points(points: SweepPoints, count: int) -> SweepPoints:
    """Return the first of some points."""
    return points._replace(
        numbers=points.numbers[:count],
        mus=points.mus[:count],
        inner=points.inner[:count],
        magnitudes=points.magnitudes[:count],
    )


@compiled_inside
def _set_lines(tables: ProblemTables, item: int, state: int, lines: Array) -> None:
    """Write the fixed value and the range of an item in a state; zero and no range if it is in R."""
    if VALUE_FIXED[state] == tables.is_row[item]:
        lines[:] = NO_RANGE
        return
    for part in range(2):
        lines[FIXED + part] = tables.fixed[state, item, part]
        lines[LO + part], lines[HI + part] = tables.lo[state, item, part], tables.hi[state, item, part]


@compiled
def fill_sweep(
    part: Part,
    tables: ProblemTables,
    packed: PackedPieces,
    first: int,
    cursor: SweepCursor,
    points: SweepPoints,
) -> tuple[int, int]:
    """Write the points to be checked from piece `first` on; return the next piece and the number of points.

    Pieces are checked at their ends, and at their starts where they do not continue the piece before.
    """
    count, number = 0, first
    while number < len(packed.ends) and count + 2 <= len(points.mus):
        goes_on = cursor.end[0] == cursor.end[0] and _sweep_continues(tables, packed, number, cursor)
        _sweep_advance(part, tables, packed, number, cursor)
        for at_end in range(1 if goes_on else 0, 2):
            points.numbers[count] = number
            points.mus[count] = packed.ends[number] if at_end else packed.starts[number]
            _sweep_write(part, tables, packed, number, cursor, points, count)
            count += 1
        _remember(packed, number, cursor, points)
        number += 1
    return number, count


@compiled_inside
def _sweep_continues(tables: ProblemTables, packed: PackedPieces, number: int, cursor: SweepCursor) -> bool:
    """Return whether a piece begins where the one before ended, looking only at what may differ."""
    mu, gap, magnitude = packed.starts[number], 0.0, 0.0
    unknowns = packed.unknowns[packed.unknown_ends[number] : packed.unknown_ends[number + 1]]
    for k in range(len(unknowns)):
        line = packed.values[packed.unknown_ends[number] + k]
        value = line[0] + mu * line[1]
        magnitude, gap = (
            max(magnitude, abs(value)),
            max(gap, abs(_before(tables, cursor, unknowns[k]) - value)),
        )
    for k in range(packed.change_ends[number], packed.change_ends[number + 1]):
        item, state = packed.items[k], packed.after[k]
        if not np.any(unknowns == item):
            fixed = tables.fixed[state, item, 0] + mu * tables.fixed[state, item, 1]
            magnitude, gap = max(magnitude, abs(fixed)), max(gap, abs(_before(tables, cursor, item) - fixed))
    return gap <= ACCURATE * magnitude


@compiled_inside
def _before(tables: ProblemTables, cursor: SweepCursor, item: int) -> float:
    """Return v of an item at the end of the piece before."""
    state, value = cursor.states[item], cursor.solved[item]
    is_solved = value == value
    return value if is_solved else tables.fixed[state, item, 0] + cursor.end[0] * tables.fixed[state, item, 1]


@compiled_inside
def _sweep_advance(
    part: Part, tables: ProblemTables, packed: PackedPieces, number: int, cursor: SweepCursor
) -> None:
    """Bring states and Rᵀ times the fixed values from one piece to the next."""
    for k in range(packed.change_ends[number], packed.change_ends[number + 1]):
        item, state, old = packed.items[k], packed.after[k], cursor.states[packed.items[k]]
        for side in range(2):
            moved = outside(tables, item, state, side) - outside(tables, item, old, side)
            add_to_inner(part, item, moved, cursor.base[side])
        is_row = tables.is_row[item]
        cursor.inside[0] += int(VALUE_FIXED[state] == is_row) - int(VALUE_FIXED[old] == is_row)
        cursor.states[item] = state


@compiled_inside
def _sweep_write(
    part: Part,
    tables: ProblemTables,
    packed: PackedPieces,
    number: int,
    cursor: SweepCursor,
    points: SweepPoints,
    at: int,
) -> None:
    """Write Rᵀv of a point, NaN if the unknowns are not R, and the largest solved value."""
    mu, inner, magnitude = points.mus[at], points.inner[at], 0.0
    begin, end = packed.unknown_ends[number], packed.unknown_ends[number + 1]
    strangers = abs(end - begin - cursor.inside[0])
    for j in range(len(inner)):
        inner[j] = cursor.base[0, j] + mu * cursor.base[1, j]
    for k in range(begin, end):
        item = packed.unknowns[k]
        strangers += int(VALUE_FIXED[cursor.states[item]] != tables.is_row[item])
        value = packed.values[k, 0] + mu * packed.values[k, 1]
        add_to_inner(part, packed.unknowns[k], value, inner)
        magnitude = max(magnitude, abs(value))
    points.magnitudes[at] = magnitude
    # Unknowns that do not fit the states make a piece wrong, whatever their values: NaN lets it fail.
    if strangers:
        inner[:] = np.nan


@compiled_inside
def _remember(packed: PackedPieces, number: int, cursor: SweepCursor, points: SweepPoints) -> None:
    """Note the solved values at the end of a piece and their states, and forget the piece before."""
    # The unknowns of the piece before are fewer than all items, so they alone are cleared.
    if number:
        for k in range(packed.unknown_ends[number - 1], packed.unknown_ends[number]):
            cursor.solved[packed.unknowns[k]] = np.nan
    else:
        cursor.solved[:] = np.nan
    cursor.end[0] = packed.ends[number]
    for k in range(packed.unknown_ends[number], packed.unknown_ends[number + 1]):
        cursor.solved[packed.unknowns[k]] = packed.values[k, 0] + cursor.end[0] * packed.values[k, 1]
        points.states[k] = cursor.states[packed.unknowns[k]]


@compiled
def sweep_violations(
    part: Part,
    tables: ProblemTables,
    data: tuple[Array, Array],
    packed: PackedPieces,
    cursor: SweepCursor,
    points: SweepPoints,
) -> Array:
    """Return by how much every point violates the optimality conditions, relative to its terms.

    `data` are q, constants and slopes as rows, and the largest of both.
    """
    q, tops = data
    result, size = np.empty(len(points.mus)), len(cursor.states)
    # Two passes: errors are relative to the largest term of a point, which is known after the first.
    for begin in range(0, size, TILE):
        _raise_magnitudes(tables, packed, cursor.lines[:, begin : begin + TILE].copy(), begin, points)
    for p in range(len(result)):
        points.magnitudes[p] = max(points.magnitudes[p], tops[0] + abs(points.mus[p]) * tops[1])
        result[p] = _violation_on_R(part, tables, q, packed, points, p)
    for begin in range(0, size, TILE):
        here, tile = q[:, begin : begin + TILE].copy(), cursor.lines[:, begin : begin + TILE].copy()
        _sweep(part, tables, here, packed, tile, begin, points, result)
        cursor.lines[:, begin : begin + TILE] = tile
    return result


@compiled_inside
def _raise_magnitudes(
    tables: ProblemTables, packed: PackedPieces, tile: Array, begin: int, points: SweepPoints
) -> None:
    """Raise the largest term of every point to the fixed values of a tile."""
    number = points.numbers[0] - 1
    for p in range(len(points.mus)):
        number = _replay(tables, packed, number, points.numbers[p], begin, tile)
        top = _top_held(tile[FIXED], tile[FIXED + 1], points.mus[p])
        points.magnitudes[p] = max(points.magnitudes[p], top)


@compiled_in_any_order
def _top_held(constant: Array, slope: Array, mu: float) -> float:
    top = 0.0
    for i in range(len(constant)):
        top = max(top, abs(constant[i] + mu * slope[i]))
    return top


@compiled_inside
def _replay(
    tables: ProblemTables, packed: PackedPieces, number: int, goal: int, begin: int, tile: Array
) -> int:
    """Bring the fixed values and ranges of a tile from one piece to another; return its number."""
    for k in range(packed.change_ends[number + 1], packed.change_ends[goal + 1]):
        at = packed.items[k] - begin
        if 0 <= at < tile.shape[1]:
            _set_lines(tables, packed.items[k], packed.after[k], tile[:, at])
    return goal


@compiled_inside
def _violation_on_R(
    part: Part, tables: ProblemTables, q: Array, packed: PackedPieces, points: SweepPoints, p: int
) -> float:
    """Return by how much a point violates the conditions on R: g is fixed, and v in its range."""
    number, mu, magnitude, worst = points.numbers[p], points.mus[p], points.magnitudes[p], 0.0
    for k in range(packed.unknown_ends[number], packed.unknown_ends[number + 1]):
        i, state = packed.unknowns[k], points.states[k]
        v, g = packed.values[k, 0] + mu * packed.values[k, 1], q[0, i] + mu * q[1, i]
        g += product_of_row(part, i, points.inner[p])
        if len(part.added):
            g += part.added[i] * v
        fixed, moved = tables.fixed[state, i, 0], mu * tables.fixed[state, i, 1]
        rest = relative_violation(abs(g - fixed - moved), abs(fixed) + abs(moved), g, magnitude)
        worst = max(worst, rest, range_violation(tables.lo[state, i], tables.hi[state, i], mu, v, magnitude))
    return worst


@compiled_inside
def _sweep(
    part: Part,
    tables: ProblemTables,
    q: Array,
    packed: PackedPieces,
    tile: Array,
    begin: int,
    points: SweepPoints,
    result: Array,
) -> None:
    """Raise the violations of every point to those on a tile, which ends in the last point's states."""
    number, end = points.numbers[0] - 1, begin + tile.shape[1]
    products = products_of_tile(part, begin, end, points.inner)
    for p in range(len(points.mus)):
        number = _replay(tables, packed, number, points.numbers[p], begin, tile)
        mu, g = points.mus[p], products[p]
        if len(part.added):
            for i in range(len(g)):
                g[i] += part.added[begin + i] * (tile[FIXED, i] + mu * tile[FIXED + 1, i])
        # Nearly all tiles pass, so the slower loop with divisions runs only where one does not.
        if _is_any_outside(g, q, tile, mu):
            result[p] = max(result[p], _range_violations(g, q, tile, mu, points.magnitudes[p]))


@compiled_inside
def _is_any_outside(products: Array, q: Array, tile: Array, mu: float) -> bool:
    """Return whether any g of a tile is outside its range or not a number."""
    q_0, q_1, lo_0, lo_1, hi_0, hi_1 = q[0], q[1], tile[LO], tile[LO + 1], tile[HI], tile[HI + 1]
    # Without branches, so that the loop vectorises; a comparison with NaN is false and shows as well.
    inside = True
    for i in range(len(products)):
        g = products[i] + (q_0[i] + mu * q_1[i])
        inside &= (lo_0[i] + mu * lo_1[i] <= g) & (g <= hi_0[i] + mu * hi_1[i])
    return not inside


@compiled_inside
def _range_violations(products: Array, q: Array, tile: Array, mu: float, magnitude: float) -> float:
    worst = 0.0
    for i in range(len(products)):
        g = products[i] + (q[0, i] + mu * q[1, i])
        worst = max(worst, range_violation(tile[LO : LO + 2, i], tile[HI : HI + 2, i], mu, g, magnitude))
    return worst


# Numbers checked together, few enough to stay in the cache, and the least and most points per block, enough
# for matrix products to pay.
BLOCK, LEAST, MOST = 2**17, 16, 64
# Points checked together in a sweep.
TOGETHER = 32
# A new beginning costs about as much as checking this many pieces.
BEGINNING = 16
# Pieces packed at a time.
CHUNK = 256
# A piece without end is checked this many times farther out than it starts.
FAR = 10.0


@dataclass(frozen=True, eq=False)
class FixedProducts:
    """The fixed values outside R where some pieces begin, and M times these: constants and slopes."""

    fixed: Array
    products: Array


def violations(sequence: PieceSequence, lcp: MixedLCP) -> Array:
    """Return by how much every piece violates the optimality conditions, relative to its terms.

    Pieces are checked at their ends, and at their starts where they do not continue the piece before.
    """
    is_swept = is_single_product(lcp.form, lcp.system.size)
    return _violations_by_sweeps(sequence, lcp) if is_swept else _violations_in_full(sequence, lcp)


def violations_after(sequence: PieceSequence, lcp: MixedLCP, known: Array, renewed: Array) -> Array:
    """Return the violations of a sequence after some pieces, given by their numbers, were replaced.

    Only these and the pieces behind them, which may no longer continue them, are checked.
    """
    numbers = np.union1d(renewed, renewed + 1)
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    if BEGINNING * len(runs) > len(sequence.pieces):
        return violations(sequence, lcp)
    result, states, done = known.copy(), sequence.first.copy(), 0
    for run in runs:
        for piece in sequence.pieces[done : run[0] + 1]:
            states[piece.changes.items] = piece.changes.after
        done, (first, *others) = run[0] + 1, sequence.pieces[run[0] : run[-1] + 1]
        part = PieceSequence(states, (replace(first, changes=NO_CHANGES), *others))
        result[run[0] : run[-1] + 1] = violations(part, lcp)
    return result


def _violations_by_sweeps(sequence: PieceSequence, lcp: MixedLCP) -> Array:
    """Return the violations of all pieces, many points at a time on a few items."""
    result, tables, part = np.zeros(len(sequence.pieces)), lcp.tables, single_part(lcp.form)
    columns = inner_size(part)
    cursor = new_sweep_cursor(tables, sequence.first.astype(np.int8), columns)
    data = np.ascontiguousarray(lcp.q.T), np.max(np.abs(lcp.q), axis=0, initial=0.0)
    for begin in range(0, len(sequence.pieces), CHUNK):
        packed, number = _packed(sequence.pieces[begin : begin + CHUNK]), 0
        points = new_points(TOGETHER, columns, packed)
        # From the data for every chunk, so that rounding errors of the updates do not add up.
        cursor.base[:] = inner_of(part, cursor.fixed)
        while number < len(packed.ends):
            number, count = fill_sweep(part, tables, packed, number, cursor, points)
            filled = first_points(points, count)
            filled = filled._replace(inner=scores_of(part, filled.inner))
            found = sweep_violations(part, tables, data, packed, cursor, filled)
            np.maximum.at(result, begin + filled.numbers, found)
    return result


def _violations_in_full(sequence: PieceSequence, lcp: MixedLCP) -> Array:
    """Return the violations of all pieces, from M v of every point."""
    result = np.zeros(len(sequence.pieces))
    size = lcp.system.size
    states = sequence.first.astype(np.int8)
    fixed = lcp.state_table.fixed[states, np.arange(size)]
    cursor = Cursor(states, fixed, np.empty(size), np.zeros(1, dtype=bool), np.empty((2, 0)))
    points = _empty_block(max(LEAST, min(MOST, BLOCK // max(size, 1))), size)
    scales = _couples(lcp), _tops(lcp)
    for begin in range(0, len(sequence.pieces), CHUNK):
        packed, number = _packed(sequence.pieces[begin : begin + CHUNK]), 0
        # From the data for every chunk, so that rounding errors of the updates do not add up.
        fixed_products = _fixed_products(cursor, lcp)
        cursor = _based(cursor, fixed_products, lcp)
        while number < len(packed.ends):
            number, count = fill_block(lcp.form, lcp.tables, packed, number, cursor, points)
            found = _block_violations(lcp, scales, fixed_products, points, count)
            np.maximum.at(result, begin + points.numbers[:count], found)
    return result


def _empty_block(count: int, size: int) -> PointBlock:
    return PointBlock(
        np.empty(count, np.int64),
        np.empty(count),
        np.empty((count, size), np.int8),
        np.empty((count, size)),
        np.empty((count, size)),
    )


def _has(kind: int, lcp: MixedLCP) -> bool:
    return kind in (lcp.form.H.kind, lcp.form.G.kind)


def _fixed_products(cursor: Cursor, lcp: MixedLCP) -> FixedProducts | None:
    """Return M times the fixed values where a cursor is, if columns of M are cheaper than M."""
    if not _has(DENSE, lcp) and not _has(PAIRED, lcp):
        return None
    outside = np.where(lcp.is_unknown(cursor.states)[:, None], 0.0, cursor.fixed)
    return FixedProducts(outside.T, np.ascontiguousarray(lcp.system.times(outside).T))


def _based(cursor: Cursor, fixed_products: FixedProducts | None, lcp: MixedLCP) -> Cursor:
    """Return a cursor that keeps M times the fixed values, if M is dense."""
    if fixed_products is None or not _has(DENSE, lcp):
        return cursor
    return cursor._replace(base=fixed_products.products)


def _block_violations(
    lcp: MixedLCP,
    scales: tuple[Array, Array],
    fixed_products: FixedProducts | None,
    points: PointBlock,
    count: int,
) -> Array:
    products = points.products[:count]
    if not _has(DENSE, lcp):
        products = _products(lcp, fixed_products, points.v[:count], points.mus[:count, None])
    return np.asarray(point_violations(lcp.form, lcp.tables, lcp.q, scales, points, products))


def _products(lcp: MixedLCP, fixed_products: FixedProducts | None, v: Array, mus: Array) -> Array:
    """Return M v of some points; M times the fixed values is known, and few other items differ."""
    if fixed_products is None:
        return np.ascontiguousarray(lcp.system.times(v.T).T)
    rest = v - (fixed_products.fixed[0] + mus * fixed_products.fixed[1])
    return lcp.system.times(rest.T).T + (fixed_products.products[0] + mus * fixed_products.products[1])


def _couples(lcp: MixedLCP) -> Array:
    """Return which kinds of v enter which kinds of g: variables first, then rows."""
    if not np.any(lcp.is_row) or np.all(lcp.is_row):
        return np.ones((2, 2), dtype=bool)
    return np.array([[True, True], [True, lcp.form.G.kind != ABSENT]])


def _tops(lcp: MixedLCP) -> Array:
    """Return the largest constants and slopes of q, of variables and of rows."""
    kinds = (~lcp.is_row, lcp.is_row)
    return np.stack([np.max(np.abs(lcp.q[kind]), axis=0, initial=0.0) for kind in kinds])


def _packed(pieces: Sequence[BasisPiece]) -> PackedPieces:
    """Return pieces in a few arrays."""
    changes = [piece.changes for piece in pieces]
    return PackedPieces(
        np.array([finite_start(piece) for piece in pieces]),
        np.array([finite_end(piece) for piece in pieces]),
        _ends([change.items for change in changes]),
        np.concatenate([change.items for change in changes]).astype(np.int64),
        np.concatenate([change.after for change in changes]).astype(np.int8),
        _ends([piece.unknowns for piece in pieces]),
        np.concatenate([piece.unknowns for piece in pieces]).astype(np.int64),
        np.concatenate([piece.values for piece in pieces]).astype(float),
    )


def _ends(parts: Sequence[Array]) -> Array:
    return np.cumsum([0, *(len(part) for part in parts)])


def finite_start(piece: BasisPiece) -> float:
    """Return where a piece starts, or a mu on it if that is infinite."""
    return piece.start if np.isfinite(piece.start) else piece.end if np.isfinite(piece.end) else 0.0


def finite_end(piece: BasisPiece) -> float:
    """Return where a piece ends, or a mu far out on it if that is infinite."""
    if np.isfinite(piece.end):
        return piece.end
    start = finite_start(piece)
    return start + np.sign(piece.end) * FAR * (1.0 + abs(start))
