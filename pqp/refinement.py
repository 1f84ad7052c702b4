"""Refinement: v on R and all g after a change, corrected until no more than round-off is left over.

Room: the arrays of a walk in, the same arrays corrected out. Decides no step.
May touch: `field`, `kernels`, `inverse`, `scanning`, `tracks`.
"""

import numpy as np

from pqp.field import REFINED, ROUNDING, TIE, Array
from pqp.inverse import solve
from pqp.kernels import Form, add_product, column_of, compiled
from pqp.scanning import terms_of
from pqp.tracks import HEIGHT, MU, TURBULENCE, Tables, Track, top_slope

# Steps of iterative refinement a change is given: an inverse with four good digits needs three.
CORRECTIONS = 3


@compiled
def correct(form: Form, tables: Tables, track: Track, moved: Array) -> None:
    """Move v on R so that g meets what is held there, after the v of some other items have moved."""
    lines, mu = track.lines, track.numbers[MU]
    by = np.empty((2, len(moved)))
    for k in range(len(moved)):
        held = lines.held[0, moved[k]] + mu * lines.held[1, moved[k]]
        by[0, k], by[1, k] = held - lines.v[0, moved[k]], lines.held[1, moved[k]] - lines.v[1, moved[k]]
        lines.v[0, moved[k]], lines.v[1, moved[k]] = held, lines.held[1, moved[k]]
    height = track.numbers[HEIGHT : HEIGHT + 2].copy()
    for k in range(track.core.used[0]):
        item = track.core.items[k]
        kind = 1 if tables.is_row[item] else 0
        height[kind] = max(height[kind], abs(lines.v[0, item]))
    slope = top_slope(track, 0.0) + _top(by[1])
    for part in range(2):  # numba would compile a call with the number 0 and one with 1 separately
        terms = (slope, slope) if part else terms_of((height[0], height[1]), tables.is_plain)
        _refine(form, tables, track, part, moved, by[part], terms)


@compiled
def _refine(
    form: Form,
    tables: Tables,
    track: Track,
    part: int,
    moved: Array,
    by: Array,
    terms: tuple[float, float],
) -> None:
    """Correct the values, or the slopes, until no more than round-off of their terms is left over.

    If the steps of iterative refinement that are given to it are not enough, all is stale.
    """
    nothing = moved[:0]
    for attempt in range(CORRECTIONS):
        rest, gone = _left_over(track, part), moved if attempt == 0 else nothing
        is_moved = attempt == 0 and _top(by) > ROUNDING * terms[0]
        if not is_moved and _share(tables, track, rest, terms) <= ROUNDING:
            return
        if not _apply(form, tables, track, part, rest, gone, by, terms):
            return
        if part == 1:
            top = max(terms[0], top_slope(track, 0.0))
            terms = (top, top)
    if not _share(tables, track, _left_over(track, part), terms) <= REFINED:
        track.numbers[TURBULENCE] = np.inf


@compiled
def _share(tables: Tables, track: Track, rest: Array, terms: tuple[float, float]) -> float:
    """Return what is left over on R, beside the terms of its kind."""
    share = 0.0
    for k in range(len(rest)):
        size = terms[1] if tables.is_row[track.core.items[k]] else terms[0]
        if abs(rest[k]) > share * size:
            share = abs(rest[k]) / size
    return share


@compiled
def _left_over(track: Track, part: int) -> Array:
    """Return by how much the values, or the slopes, of g miss what is held on R."""
    lines, core = track.lines, track.core
    rest = np.empty(core.used[0])
    for k in range(len(rest)):
        i = core.items[k]
        held = lines.held[1, i] if part else lines.held[0, i] + track.numbers[MU] * lines.held[1, i]
        rest[k] = held - lines.g[part, i]
    return rest


@compiled
def _apply(
    form: Form,
    tables: Tables,
    track: Track,
    part: int,
    rest: Array,
    moved: Array,
    by: Array,
    terms: tuple[float, float],
) -> bool:
    """Move v on R by what removes the rest, as far as the inverse knows, and let g follow; tell if it did.

    Values stay where they are if g is right but for round-off and v is not: it would only be amplified.
    """
    lines, core = track.lines, track.core
    R = core.items[: core.used[0]]
    for k in range(len(moved)):
        rest -= column_of(form, R, moved[k]) * by[k]
    step = solve(core, tables.signs[R] * rest)
    is_noise = part == 0 and _top(step) > TIE * terms[0] and _share(tables, track, rest, terms) <= TIE
    if is_noise:
        step[:] = 0.0
    for k in range(len(R)):
        lines.v[part, R[k]] += step[k]
    if part == 1:
        track.numbers[TURBULENCE] = max(track.numbers[TURBULENCE], _top(step))
    everything = np.concatenate((R, moved))
    add_product(form, everything, np.concatenate((step, by[: len(moved)])), lines.g[part])
    return not is_noise


@compiled
def _top(values: Array) -> float:
    top = 0.0
    for value in values:
        top = max(top, abs(value))
    return top
