"""Tracks: the arrays a walk is made of, as compiled code takes them, and the smallest things done to them.

Room: staircases and steps in, records of arrays out. Decides nothing.
May touch: `field`, `inverse`, `forms`, `scanning`.
"""

from typing import NamedTuple

import numpy as np

from pqp.field import REBUILD_EVERY, Array
from pqp.forms import compiled
from pqp.inverse import Core
from pqp.scanning import Lines

# Places of whole numbers that change: changes since everything was computed anew, pivots since the last line,
# the end that was reached first (-1 if none), events at this mu, items that moved since the last line.
CHANGES, PIVOTS, BLOCKING, STANDING, MOVED = range(5)
# Places of numbers that change: the centre of the lines, the largest step of a slope since all is fresh, and
# the largest values of v, of variables and then of rows, where ends were last looked for.
MU, TURBULENCE, HEIGHT = range(3)


class Tables(NamedTuple):
    """What never changes: staircases by step and item, which items are rows, J, and the diagonal of J M.

    Rows are plain if their values are made of the variables alone; with `is_still` the lines q do not move.
    """

    held: Array
    lo: Array
    hi: Array
    next_at_lo: Array
    next_at_hi: Array
    is_row: Array
    signs: Array
    corners: Array
    is_plain: bool
    is_still: bool


class Track(NamedTuple):
    """What changes: steps, inverse, lines, counters; `moved` and `before` are items since the last line."""

    states: Array
    core: Core
    lines: Lines
    counts: Array
    numbers: Array
    moved: Array
    before: Array
    found: Array


def new_track(states: Array, core: Core, mu: float) -> Track:
    """Return the track of a walk that begins at mu, without lines yet."""
    size = len(states)
    v, g, held, lo, hi = (np.zeros((2, size)) for _ in range(5))
    return Track(
        states,
        core,
        Lines(v, g, held, lo, hi, np.zeros((2, size), dtype=bool)),
        np.array([0, 0, -1, 0, 0]),
        np.array([mu, 0.0, 0.0, 0.0]),
        np.empty(size, np.int64),
        np.empty(size, np.int8),
        np.empty(2 * size + 1, np.int64),
    )


@compiled
def top_slope(track: Track, speed: float) -> float:
    """Return the largest slope of v; that of what is held is among the data's."""
    for k in range(track.core.used[0]):
        speed = max(speed, abs(track.lines.v[1, track.core.items[k]]))
    return speed


@compiled
def is_due(track: Track) -> bool:
    """Tell whether it is time to compute everything anew."""
    return track.counts[CHANGES] >= max(REBUILD_EVERY, track.core.used[0])


@compiled
def beyond(tables: Tables, state: int, item: int, at_hi: bool) -> tuple[int, int]:
    """Return the step beyond an end, and at which of its own ends it begins: 0 for `lo`, 1 for `hi`."""
    new = tables.next_at_hi[state, item] if at_hi else tables.next_at_lo[state, item]
    return new, 0 if tables.next_at_lo[new, item] == state else 1


@compiled
def put(tables: Tables, track: Track, item: int, state: int) -> None:
    """Put an item on a step, and note on which one it stood on the last line."""
    counts, lines = track.counts, track.lines
    known = False
    for k in range(counts[MOVED]):
        known = known or track.moved[k] == item
    if not known:
        track.moved[counts[MOVED]], track.before[counts[MOVED]] = item, track.states[item]
        counts[MOVED] += 1
    track.states[item] = state
    for part in range(2):
        lines.held[part, item] = tables.held[state, item, part]
        lines.lo[part, item] = tables.lo[state, item, part]
        lines.hi[part, item] = tables.hi[state, item, part]
