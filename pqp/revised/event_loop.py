"""Stepping: events of the revised engine one after the other, compiled, for as long as they are simple.

A simple event is one item, or a few tied ones, whose diagonal pivots can be trusted: the least of those that
fall steps over its end until none does, which is the criss-cross method on the basis itself. Whatever else
happens (an untrusted pivot, a large tie, no room, time to compute everything anew) is left to who called.
"""

from typing import NamedTuple

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_inside
from pqp.linalg.kernels import column_of
from pqp.linalg.structure import Form
from pqp.linalg.tolerances import FLAT, LARGE_STEPS, ROUNDING, TIE, TRUSTED_PIVOT
from pqp.revised.basis import (
    BLOCKING,
    CHANGES,
    HEIGHT,
    MOVED,
    MU,
    PIVOTS,
    STANDING,
    TURBULENCE,
    Tables,
    Track,
    beyond,
    correct,
    is_due,
    put,
    top_slope,
)
from pqp.revised.inverse import Core, column, enter, leave, solve
from pqp.revised.ratio_test import advance, fall_of, first_end, heights, reached_ends, terms_of

# Why stepping stopped: the end is reached, the records are full, the event at mu is not simple, numbers are
# stale, or round-off keeps it at one mu.
ARRIVED, FULL, UNDECIDED, STALE, LOST = range(5)
# Ties that take more pivots are solved on their local dictionary, which is smaller than the basis.
FEW = 24


class Course(NamedTuple):
    """Where to: direction, the mu to stop at, the size of all mu, the top slope of the data, patience.

    Without `is_free` every event is left to who called.
    """

    direction: float
    stop: float
    reach: float
    speed: float
    patience: int
    is_free: bool


class Records(NamedTuple):
    """Lines passed: ends, then changes and unknowns of all lines in a row; `used` counts all three."""

    ends: Array
    pivots: Array
    change_ends: Array
    items: Array
    before: Array
    after: Array
    unknown_ends: Array
    unknowns: Array
    values: Array
    used: Array


def new_records(lines: int, unknowns: int) -> Records:
    """Return empty records with room for some lines and for their unknowns."""
    changes = lines * (FEW + 2)
    whole, short = np.int64, np.int8
    return Records(
        np.empty((lines, 2)),
        np.empty(lines, whole),
        np.empty(lines, whole),
        np.empty(changes, whole),
        np.empty(changes, short),
        np.empty(changes, short),
        np.empty(lines, whole),
        np.empty(unknowns, whole),
        np.empty((unknowns, 2)),
        np.zeros(3, whole),
    )


@compiled
def run(form: Form, tables: Tables, track: Track, course: Course, records: Records) -> int:
    """Follow simple events, writing every line that is passed into the records; return why it stopped."""
    counts, numbers, place = track.counts, track.numbers, track.core.place
    while True:
        mu, top = numbers[MU], top_slope(track, course.speed)
        if numbers[TURBULENCE] > LARGE_STEPS * (1.0 + top) or is_due(track):
            return STALE
        distance, which = first_end(track.lines, place, mu, course.direction, FLAT * top)
        is_last = not distance < abs(course.stop - mu) - TIE * course.reach
        end = course.stop if is_last else mu + course.direction * max(distance, 0.0)
        if end != mu:
            if not _record(track, records, end):
                return FULL
            counts[STANDING] = 0
        elif counts[STANDING] > course.patience:
            return LOST
        if is_last:
            return ARRIVED
        _move(track, end)
        counts[STANDING] += 1
        counts[BLOCKING] = which
        if not (course.is_free and _turn(form, tables, track, course)):
            return UNDECIDED


@compiled_inside
def _move(track: Track, mu: float) -> None:
    if mu != track.numbers[MU]:
        advance(track.lines, mu - track.numbers[MU])
        track.numbers[MU] = mu


@compiled_inside
def _record(track: Track, records: Records, end: float) -> bool:
    """Write the line from the centre to an end, and what has changed since the last one; tell if it fits."""
    counts, core, used = track.counts, track.core, records.used
    number, change, unknown, count = used[0], used[1], used[2], core.used[0]
    full = number == len(records.ends) or change + counts[MOVED] > len(records.items)
    if full or unknown + count > len(records.unknowns):
        return False
    mu = track.numbers[MU]
    records.ends[number, 0], records.ends[number, 1] = mu, end
    for k in range(counts[MOVED]):
        item = track.moved[k]
        if track.before[k] != track.states[item]:
            records.items[change], records.before[change] = item, track.before[k]
            records.after[change] = track.states[item]
            change += 1
    for k in range(count):
        item = core.items[k]
        value, slope = track.lines.v[0, item], track.lines.v[1, item]
        records.unknowns[unknown] = item
        records.values[unknown, 0], records.values[unknown, 1] = value - mu * slope, slope
        unknown += 1
    records.pivots[number], records.change_ends[number] = counts[PIVOTS], change
    records.unknown_ends[number] = unknown
    used[0], used[1], used[2] = number + 1, change, unknown
    counts[PIVOTS] = counts[MOVED] = 0
    return True


@compiled_inside
def _turn(form: Form, tables: Tables, track: Track, course: Course) -> bool:
    """Let tied items step over their ends until none falls; tell whether that could be done here.

    Of a large tie one item alone may step over: what falls then may be round-off of the others.
    """
    size, count = len(track.states), find_tied(tables, track)
    if _is_any_pinched(track, count):
        return False
    flat = FLAT * (top_slope(track, 0.0) + course.speed)
    for _ in range(FEW if 1 < count <= FEW else 1):
        least = _least_falling(track, count, course.direction, flat)
        if least < 0:
            return True
        item = track.found[least] % size
        if not _cross(form, tables, track, track.found[least]):
            return False
        track.found[least] = item if track.lines.settled[0, item] else size + item
        track.counts[BLOCKING] = -1
    return count == 1 or _least_falling(track, count, course.direction, flat) < 0


@compiled_inside
def _least_falling(track: Track, count: int, direction: float, flat: float) -> int:
    """Return which of the ends found closes and has the least item, -1 if none closes."""
    least, size = -1, len(track.states)
    for k in range(count):
        falls = fall_of(track.lines, track.core.place, track.found[k], direction) > flat
        if falls and (least < 0 or track.found[k] % size < track.found[least] % size):
            least = k
    return least


@compiled_inside
def _is_any_pinched(track: Track, count: int) -> bool:
    """Tell whether some of the items found are at both their ends."""
    settled, size = track.lines.settled, len(track.states)
    for k in range(count):
        item = track.found[k] % size
        if settled[0, item] and settled[1, item]:
            return True
    return False


@compiled
def find_tied(tables: Tables, track: Track) -> int:
    """Write the ends reached at mu into `found`, bind them, and return how many they are."""
    found, lines, blocking = track.found, track.lines, track.counts[BLOCKING]
    noise = ROUNDING * (1 + track.counts[CHANGES])
    height, place = heights(lines.v, tables.is_row), track.core.place
    track.numbers[HEIGHT], track.numbers[HEIGHT + 1] = height
    terms = terms_of(height, tables.is_plain)
    count = reached_ends(lines, place, tables.is_row, height, terms, track.numbers[MU], noise, found)
    if blocking >= 0 and not np.any(found[:count] == blocking):
        found[count] = blocking  # it was reached, whatever rounding says about its gap
        count += 1
    lines.settled[:] = False
    size = len(track.states)
    for k in range(count):
        lines.settled[found[k] // size, found[k] % size] = True
    return count


@compiled_inside
def _cross(form: Form, tables: Tables, track: Track, end: int) -> bool:
    """Let one item step over its end if its pivot can be trusted; tell whether it did."""
    core, item = track.core, end % len(track.states)
    leaves = core.place[item] >= 0
    if leaves and not _left(tables, core, item):
        return False
    if not leaves and not _entered(form, tables, core, item):
        return False
    _step_over(tables, track, item, end >= len(track.states))
    track.counts[CHANGES] += 1
    gone = np.full(1 if leaves else 0, item)
    correct(form, tables, track, gone)
    return True


@compiled_inside
def _left(tables: Tables, core: Core, item: int) -> bool:
    """Let an item leave R if its pivot can be trusted."""
    found, size = column(core, item), 0.0
    for value in found:
        size = max(size, abs(value))
    if not found[core.place[item]] * tables.signs[item] > TRUSTED_PIVOT * size:
        return False
    return leave(core, item)


@compiled_inside
def _entered(form: Form, tables: Tables, core: Core, item: int) -> bool:
    """Let an item enter R if its pivot can be trusted and there is room."""
    R, sign = core.items[: core.used[0]], tables.signs[item]
    if len(R) == len(core.items):
        return False
    right = tables.signs[R] * column_of(form, R, item)
    solved, top, width = solve(core, right), 0.0, 0.0
    schur = tables.corners[item]
    for k in range(len(R)):
        schur -= right[k] * solved[k]
        top, width = max(top, abs(right[k])), max(width, abs(solved[k]))
    if not schur * sign > TRUSTED_PIVOT * (abs(tables.corners[item]) + top * width):
        return False
    return enter(core, item, solved, schur)


@compiled_inside
def _step_over(tables: Tables, track: Track, item: int, at_hi: bool) -> None:
    """Put an item on the step beyond an end, note it, and bind the verdict where the new step begins."""
    new, begins = beyond(tables, track.states[item], item, at_hi)
    put(tables, track, item, new)
    track.lines.settled[0, item], track.lines.settled[1, item] = begins == 0, begins == 1
    track.counts[PIVOTS] += 1
