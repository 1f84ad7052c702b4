"""Verification: every line of a trace against the optimality conditions, from the data, in blocks.

Room: a leg and its setting in; by how much every line misses the conditions out.
May touch: `field`, `stairs`, `forms`, `thin`, `checking`, `sweeping`, `walk`, `revised`,
`collecting`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pqp.checking import Block, Packed, Pass, fill_block, largest_misses
from pqp.collecting import Leg
from pqp.field import Array
from pqp.forms import DENSE, NOTHING, PAIRED, thin_part
from pqp.revised import NO_CHANGES, Line
from pqp.sweeping import fill_points, first_points, new_points, new_stand, swept_misses
from pqp.thin import can_sweep, entering, passing, width_of
from pqp.walk import Setting

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
    is_swept = can_sweep(setting.form, setting.system.size)
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
    result, tables, part = np.zeros(len(leg.lines)), setting.tables, thin_part(setting.form)
    columns = width_of(part)
    stand = new_stand(tables, leg.first.astype(np.int8), columns)
    data = np.ascontiguousarray(setting.q.T), np.max(np.abs(setting.q), axis=0, initial=0.0)
    for begin in range(0, len(leg.lines), CHUNK):
        packed, number = _packed(leg.lines[begin : begin + CHUNK]), 0
        points = new_points(TOGETHER, columns, packed)
        stand.base[:] = entering(part, stand.held)
        while number < len(packed.ends):
            number, count = fill_points(part, tables, packed, number, stand, points)
            filled = first_points(points, count)
            filled = filled._replace(inner=passing(part, filled.inner))
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
    return np.array([[True, True], [True, setting.form.G.kind != NOTHING]])


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
