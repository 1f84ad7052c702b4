"""Stepping: events of the revised engine one after the other, compiled, for as long as they are simple.

A simple event is one item, or a few tied ones, whose diagonal pivots can be trusted: the least of those that
fall steps over its end until none does, which is the criss-cross method on the basis itself. Whatever else
happens (an untrusted pivot, a large tie, no room, time to compute everything anew) is left to who called.

Room: the arrays of a walk in; the same arrays some events later, records of the lines passed, and why it
stopped out.
May touch: `field`, `stairs`, `kernels`, `inverse`, `scanning`.
"""

from typing import NamedTuple

import numpy as np

from pqp.field import FLAT, REBUILD_EVERY, REFINED, ROUNDING, TIE, TRUSTED_PIVOT, TURBULENT, Array
from pqp.inverse import Core, enter, leave, solve
from pqp.kernels import Form, add_product, column_of, compiled
from pqp.scanning import Lines, advance, fall_of, first_end, heights, reached_ends, terms_of

# Why stepping stopped: the end is reached, the records are full, the event at mu is not simple, numbers are
# stale, or round-off keeps it at one mu.
ARRIVED, FULL, UNDECIDED, STALE, LOST = range(5)
# Places of whole numbers that change: changes since everything was computed anew, pivots since the last line,
# the end that was reached first (-1 if none), events at this mu, items that moved since the last line.
CHANGES, PIVOTS, BLOCKING, STANDING, MOVED = range(5)
# Places of numbers that change: the centre of the lines, the largest step of a slope since all is fresh, and
# the largest values of v, of variables and then of rows, where ends were last looked for.
MU, TURBULENCE, HEIGHT = range(3)
# Steps of iterative refinement a change is given: an inverse with four good digits needs three.
CORRECTIONS = 3
# Ties that take more pivots are solved on their local dictionary, which is smaller than the basis.
FEW = 6


class Tables(NamedTuple):
    """What never changes: staircases by step and item, which items are rows, J, and the diagonal of J M.

    Rows are plain if their values are made of the variables alone.
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
        if numbers[TURBULENCE] > TURBULENT * (1.0 + top) or is_due(track):
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


@compiled
def is_due(track: Track) -> bool:
    """Tell whether it is time to compute everything anew."""
    return track.counts[CHANGES] >= max(REBUILD_EVERY, track.core.used[0])


@compiled
def top_slope(track: Track, speed: float) -> float:
    """Return the largest slope of v; that of what is held is among the data's."""
    for k in range(track.core.used[0]):
        speed = max(speed, abs(track.lines.v[1, track.core.items[k]]))
    return speed


@compiled
def _move(track: Track, mu: float) -> None:
    if mu != track.numbers[MU]:
        advance(track.lines, mu - track.numbers[MU])
        track.numbers[MU] = mu


@compiled
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


@compiled
def _turn(form: Form, tables: Tables, track: Track, course: Course) -> bool:
    """Let tied items step over their ends until none falls; tell whether that could be done here."""
    size, found, counts = len(track.states), track.found, track.counts
    count = find_tied(tables, track)
    if _is_any_pinched(track, count):
        return False
    flat = FLAT * (top_slope(track, 0.0) + course.speed)
    for pivot in range(FEW + 1 if count <= FEW else 2):
        least = -1
        for k in range(count):
            falls = fall_of(track.lines, track.core.place, found[k], course.direction) > flat
            if falls and (least < 0 or found[k] % size < found[least] % size):
                least = k
        if least < 0:
            return True
        if pivot == (FEW if count <= FEW else 1) or not _cross(form, tables, track, found[least]):
            return False
        item = found[least] % size
        found[least] = item if track.lines.settled[0, item] else size + item
        counts[BLOCKING] = -1
        if count == 1:
            return True
    return False


@compiled
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


@compiled
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


@compiled
def _left(tables: Tables, core: Core, item: int) -> bool:
    """Let an item leave R if its pivot can be trusted."""
    p, count, size = core.place[item], core.used[0], 0.0
    for i in range(count):
        size = max(size, abs(core.values[i, p]))
    if not core.values[p, p] * tables.signs[item] > TRUSTED_PIVOT * size:
        return False
    leave(core, item)
    return True


@compiled
def _entered(form: Form, tables: Tables, core: Core, item: int) -> bool:
    """Let an item enter R if its pivot can be trusted and there is room."""
    R, sign = core.items[: core.used[0]], tables.signs[item]
    if len(R) == len(core.items):
        return False
    column = tables.signs[R] * column_of(form, R, item)
    solved, top, width = solve(core, column), 0.0, 0.0
    schur = tables.corners[item]
    for k in range(len(R)):
        schur -= column[k] * solved[k]
        top, width = max(top, abs(column[k])), max(width, abs(solved[k]))
    if not schur * sign > TRUSTED_PIVOT * (abs(tables.corners[item]) + top * width):
        return False
    enter(core, item, solved, schur)
    return True


@compiled
def _step_over(tables: Tables, track: Track, item: int, at_hi: bool) -> None:
    """Put an item on the step beyond an end, note it, and bind the verdict where the new step begins."""
    new, begins = beyond(tables, track.states[item], item, at_hi)
    put(tables, track, item, new)
    track.lines.settled[0, item], track.lines.settled[1, item] = begins == 0, begins == 1
    track.counts[PIVOTS] += 1


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
