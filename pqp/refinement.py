"""Refinement: v on R and all g after a change, corrected until no more than round-off is left over.

Room: the arrays of a walk in, the same arrays corrected out. Decides no step.
May touch: `field`, `forms`, `kernels`, `columns`, `blocks`, `inverse`, `scanning`, `tracks`.
"""

import numpy as np

from pqp.blocks import top_of
from pqp.columns import column_of
from pqp.field import REFINED, ROUNDING, TIE, Array
from pqp.forms import Form, compiled, compiled_inside
from pqp.inverse import solve
from pqp.kernels import add_products
from pqp.scanning import Lines, terms_of
from pqp.tracks import HEIGHT, MU, TURBULENCE, Tables, Track, top_slope

# Steps of iterative refinement a change is given: an inverse with four good digits needs three.
CORRECTIONS = 3


@compiled
def start_afresh(form: Form, q: Array, track: Track) -> None:
    """Compute all g from v and the data."""
    mu, g = track.numbers[MU], track.lines.g
    for i in range(len(q)):
        g[0, i], g[1, i] = q[i, 0] + mu * q[i, 1], q[i, 1]
    add_products(form, np.arange(len(q)), track.lines.v, g)


@compiled
def correct(form: Form, tables: Tables, track: Track, moved: Array) -> None:
    """Move v on R so that g meets what is held there, after the v of some other items have moved."""
    lines, mu = track.lines, track.numbers[MU]
    by = np.empty((2, len(moved)))
    for k in range(len(moved)):
        held = lines.held[0, moved[k]] + mu * lines.held[1, moved[k]]
        by[0, k], by[1, k] = held - lines.v[0, moved[k]], lines.held[1, moved[k]] - lines.v[1, moved[k]]
        lines.v[0, moved[k]], lines.v[1, moved[k]] = held, lines.held[1, moved[k]]
    if tables.is_still and not np.any(lines.held[1]):
        _stand_still(lines, by)
    height = track.numbers[HEIGHT : HEIGHT + 2].copy()
    for k in range(track.core.used[0]):
        item = track.core.items[k]
        kind = 1 if tables.is_row[item] else 0
        height[kind] = max(height[kind], abs(lines.v[0, item]))
    slope = top_slope(track, 0.0) + top_of(by[1])
    terms = np.empty((2, 2))
    terms[0], terms[1] = terms_of((height[0], height[1]), tables.is_plain), slope
    _refine(form, tables, track, moved, by, terms)


@compiled_inside
def _stand_still(lines: Lines, by: Array) -> None:
    """Make all slopes 0, which they are where no datum moves: what was computed is round-off of earlier ones.

    On a last piece without end, an item would reach its end by that, however far out.
    """
    lines.v[1], lines.g[1], by[1] = 0.0, 0.0, 0.0


@compiled_inside
def _refine(form: Form, tables: Tables, track: Track, moved: Array, by: Array, terms: Array) -> None:
    """Correct values and slopes until no more than round-off of their terms is left over.

    If the steps of iterative refinement that are given to it are not enough, all is stale.
    """
    is_open = np.ones(2, dtype=np.bool_)
    for attempt in range(CORRECTIONS):
        if attempt:
            moved, by = moved[:0], by[:, :0]
        count, steps = track.core.used[0], np.zeros((2, track.core.used[0] + len(moved)))
        for part in range(2):
            rest = _left_over(track, part)
            is_moved = top_of(by[part]) > ROUNDING * terms[part, 0]
            is_open[part] &= is_moved or not _share(tables, track, rest, terms[part]) <= ROUNDING
            if is_open[part]:
                steps[part, count:] = by[part]
                is_open[part] = _find_step(form, tables, track, part, rest, moved, steps[part], terms[part])
        everything = np.concatenate((track.core.items[:count], moved))
        add_products(form, everything, steps, track.lines.g)
        if not np.any(is_open):
            return
        terms[1] = max(terms[1, 0], top_slope(track, 0.0))
    for part in range(2):
        share = _share(tables, track, _left_over(track, part), terms[part])
        if is_open[part] and not share <= REFINED:
            track.numbers[TURBULENCE] = np.inf


@compiled_inside
def _share(tables: Tables, track: Track, rest: Array, terms: Array) -> float:
    """Return what is left over on R, beside the terms of its kind."""
    share = 0.0
    for k in range(len(rest)):
        size = terms[1] if tables.is_row[track.core.items[k]] else terms[0]
        if abs(rest[k]) > share * size:
            share = abs(rest[k]) / size
    return share


@compiled_inside
def _left_over(track: Track, part: int) -> Array:
    """Return by how much the values, or the slopes, of g miss what is held on R."""
    lines, core = track.lines, track.core
    rest = np.empty(core.used[0])
    for k in range(len(rest)):
        i = core.items[k]
        held = lines.held[1, i] if part else lines.held[0, i] + track.numbers[MU] * lines.held[1, i]
        rest[k] = held - lines.g[part, i]
    return rest


@compiled_inside
def _find_step(
    form: Form,
    tables: Tables,
    track: Track,
    part: int,
    rest: Array,
    moved: Array,
    step: Array,
    terms: Array,
) -> bool:
    """Move v on R by what removes the rest, as far as the inverse knows, and write that; tell if it did.

    Values stay where they are if g is right but for round-off and v is not: it would only be amplified.
    """
    lines, core = track.lines, track.core
    R = core.items[: core.used[0]]
    for k in range(len(moved)):
        rest -= column_of(form, R, moved[k]) * step[len(R) + k]
    found = solve(core, tables.signs[R] * rest)
    if part == 0 and top_of(found) > TIE * terms[0] and _share(tables, track, rest, terms) <= TIE:
        return False
    for k in range(len(R)):
        step[k] = found[k]
        lines.v[part, R[k]] += found[k]
    if part == 1:
        track.numbers[TURBULENCE] = max(track.numbers[TURBULENCE], top_of(found))
    return True
