"""The event loop of the revised engine, compiled: one event after the other, for as long as they are simple.

A simple event is one item, or a few tied ones, whose diagonal pivots can be trusted. The least item whose gap
closes crosses its end, until no gap closes: the criss-cross method on the basis itself. Everything else (an
untrusted pivot, a large tie, full arrays, a rebuild that is due) is returned to the caller.
"""

from typing import NamedTuple

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_inside
from pqp.linalg.products import column_of
from pqp.linalg.structure import Form
from pqp.linalg.tolerances import FLAT, LARGE_STEPS, ROUNDING, TIE, TRUSTED_PIVOT
from pqp.revised.basis import (
    BLOCKING,
    CHANGED,
    CHANGES,
    MAGNITUDE,
    MU,
    PIVOTS,
    SLOPE_CHANGE,
    STALLS,
    BasisArrays,
    ProblemTables,
    is_rebuild_due,
    largest_slope,
    next_state,
    refine,
    set_state,
)
from pqp.revised.inverse import InverseArrays, column, enter, leave, solve
from pqp.revised.ratio_test import advance, closing_rate, first_end, magnitudes, reached_ends, term_sizes

# Why the loop stopped: the end is reached, the records are full, the event at mu is not simple, a rebuild is
# due, or no step is longer than rounding errors.
REACHED_STOP, RECORDS_FULL, NOT_SIMPLE, STALE, STALLED = range(5)
# Ties that take more pivots are solved on their local dictionary, which is smaller than the basis.
MOST_PIVOTS_AT_ONCE = 24


class LoopSettings(NamedTuple):
    """Direction, the mu to stop at, the size of all mu, the largest slope of the data, and `max_stalls`.

    Without `takes_events` every event is returned to the caller.
    """

    direction: float
    stop: float
    mu_scale: float
    data_slope: float
    max_stalls: int
    takes_events: bool


class PieceRecords(NamedTuple):
    """Recorded pieces: ends, then changes and unknowns of all pieces in a row; `used` counts all three."""

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


def new_records(lines: int, unknowns: int) -> PieceRecords:
    """Return empty records with room for some pieces and for their unknowns."""
    changes = lines * (MOST_PIVOTS_AT_ONCE + 2)
    whole, short = np.int64, np.int8
    return PieceRecords(
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
def run_events(
    form: Form, tables: ProblemTables, arrays: BasisArrays, settings: LoopSettings, records: PieceRecords
) -> int:
    """Follow simple events and record every piece; return why the loop stopped."""
    counts, numbers, position = arrays.counts, arrays.numbers, arrays.core.position
    while True:
        mu, top = numbers[MU], largest_slope(arrays, settings.data_slope)
        # g is updated by products with the steps of v: steps much larger than all slopes have cost digits
        if numbers[SLOPE_CHANGE] > LARGE_STEPS * (1.0 + top) or is_rebuild_due(arrays):
            return STALE
        distance, which = first_end(arrays.lines, position, mu, settings.direction, FLAT * top)
        # an end this close to `stop` cannot be told from it, and a piece of that length would be noise
        is_last = not distance < abs(settings.stop - mu) - TIE * settings.mu_scale
        # a negative distance is the rounding error of an end that is reached already
        end = settings.stop if is_last else mu + settings.direction * max(distance, 0.0)
        if end != mu:
            if not _record(arrays, records, end):
                return RECORDS_FULL
            counts[STALLS] = 0
        elif counts[STALLS] > settings.max_stalls:
            return STALLED
        if is_last:
            return REACHED_STOP
        _move(arrays, end)
        counts[STALLS] += 1
        counts[BLOCKING] = which
        if not (settings.takes_events and _resolve_tie(form, tables, arrays, settings)):
            return NOT_SIMPLE


@compiled_inside
def _move(arrays: BasisArrays, mu: float) -> None:
    if mu != arrays.numbers[MU]:
        advance(arrays.lines, mu - arrays.numbers[MU])
        arrays.numbers[MU] = mu


@compiled_inside
def _record(arrays: BasisArrays, records: PieceRecords, end: float) -> bool:
    """Record the piece up to an end and the changes since the last one; return whether it fits."""
    counts, core, used = arrays.counts, arrays.core, records.used
    number, change, unknown, count = used[0], used[1], used[2], core.used[0]
    full = number == len(records.ends) or change + counts[CHANGED] > len(records.items)
    if full or unknown + count > len(records.unknowns):
        return False
    mu = arrays.numbers[MU]
    records.ends[number, 0], records.ends[number, 1] = mu, end
    for k in range(counts[CHANGED]):
        item = arrays.moved[k]
        # an item may be back in its old state at the end of a tie, which is no change of the path
        if arrays.before[k] != arrays.states[item]:
            records.items[change], records.before[change] = item, arrays.before[k]
            records.after[change] = arrays.states[item]
            change += 1
    for k in range(count):
        item = core.items[k]
        value, slope = arrays.lines.v[0, item], arrays.lines.v[1, item]
        records.unknowns[unknown] = item
        records.values[unknown, 0], records.values[unknown, 1] = value - mu * slope, slope
        unknown += 1
    records.pivots[number], records.change_ends[number] = counts[PIVOTS], change
    records.unknown_ends[number] = unknown
    used[0], used[1], used[2] = number + 1, change, unknown
    counts[PIVOTS] = counts[CHANGED] = 0
    return True


@compiled_inside
def _resolve_tie(form: Form, tables: ProblemTables, arrays: BasisArrays, settings: LoopSettings) -> bool:
    """Let tied items cross their ends until no gap closes; return whether that was possible here.

    In a large tie only one item may cross: gaps that close then may be rounding errors of the others.
    """
    size, count = len(arrays.states), find_tied(tables, arrays)
    # bounds that differ by less than rounding errors: the state beyond one end would end at once
    if _is_any_at_both_ends(arrays, count):
        return False
    flat = FLAT * (largest_slope(arrays, 0.0) + settings.data_slope)
    for _ in range(MOST_PIVOTS_AT_ONCE if 1 < count <= MOST_PIVOTS_AT_ONCE else 1):
        least = _least_closing(arrays, count, settings.direction, flat)
        if least < 0:
            return True
        item = arrays.found[least] % size
        if not _cross(form, tables, arrays, arrays.found[least]):
            return False
        arrays.found[least] = item if arrays.lines.decided[0, item] else size + item
        arrays.counts[BLOCKING] = -1
    return count == 1 or _least_closing(arrays, count, settings.direction, flat) < 0


@compiled_inside
def _least_closing(arrays: BasisArrays, count: int, direction: float, flat: float) -> int:
    """Return which of the ends found closes and has the least item, -1 if none closes."""
    least, size = -1, len(arrays.states)
    for k in range(count):
        falls = closing_rate(arrays.lines, arrays.core.position, arrays.found[k], direction) > flat
        if falls and (least < 0 or arrays.found[k] % size < arrays.found[least] % size):
            least = k
    return least


@compiled_inside
def _is_any_at_both_ends(arrays: BasisArrays, count: int) -> bool:
    """Return whether some of the items found are at both ends of their range."""
    decided, size = arrays.lines.decided, len(arrays.states)
    for k in range(count):
        item = arrays.found[k] % size
        if decided[0, item] and decided[1, item]:
            return True
    return False


@compiled
def find_tied(tables: ProblemTables, arrays: BasisArrays) -> int:
    """Write the ends reached at mu into `found`, mark them as decided, and return how many they are."""
    found, lines, blocking = arrays.found, arrays.lines, arrays.counts[BLOCKING]
    # every change since the last rebuild may have added one rounding error
    noise = ROUNDING * (1 + arrays.counts[CHANGES])
    magnitude, position = magnitudes(lines.v, tables.is_row), arrays.core.position
    arrays.numbers[MAGNITUDE], arrays.numbers[MAGNITUDE + 1] = magnitude
    terms = term_sizes(magnitude, tables.is_plain)
    count = reached_ends(lines, position, tables.is_row, magnitude, terms, arrays.numbers[MU], noise, found)
    if blocking >= 0 and not np.any(found[:count] == blocking):
        found[count] = blocking  # it was reached, whatever rounding says about its gap
        count += 1
    lines.decided[:] = False
    size = len(arrays.states)
    for k in range(count):
        lines.decided[found[k] // size, found[k] % size] = True
    return count


@compiled_inside
def _cross(form: Form, tables: ProblemTables, arrays: BasisArrays, end: int) -> bool:
    """Let one item cross its end if its pivot can be trusted; return whether it did."""
    core, item = arrays.core, end % len(arrays.states)
    leaves = core.position[item] >= 0
    if leaves and not _left(tables, core, item):
        return False
    if not leaves and not _entered(form, tables, core, item):
        return False
    _cross_end(tables, arrays, item, end >= len(arrays.states))
    arrays.counts[CHANGES] += 1
    gone = np.full(1 if leaves else 0, item)
    refine(form, tables, arrays, gone)
    return True


@compiled_inside
def _left(tables: ProblemTables, core: InverseArrays, item: int) -> bool:
    """Let an item leave R if its pivot can be trusted."""
    found, size = column(core, item), 0.0
    for value in found:
        size = max(size, abs(value))
    # the sign counts too: Λ is positive semidefinite, so a negative diagonal entry is rounding error
    if not found[core.position[item]] * tables.signs[item] > TRUSTED_PIVOT * size:
        return False
    return leave(core, item)


@compiled_inside
def _entered(form: Form, tables: ProblemTables, core: InverseArrays, item: int) -> bool:
    """Let an item enter R if its pivot can be trusted and there is room."""
    R, sign = core.items[: core.used[0]], tables.signs[item]
    if len(R) == len(core.items):
        return False
    right = tables.signs[R] * column_of(form, R, item)
    solved, top, width = solve(core, right), 0.0, 0.0
    schur = tables.diagonal[item]
    for k in range(len(R)):
        schur -= right[k] * solved[k]
        top, width = max(top, abs(right[k])), max(width, abs(solved[k]))
    if not schur * sign > TRUSTED_PIVOT * (abs(tables.diagonal[item]) + top * width):
        return False
    return enter(core, item, solved, schur)


@compiled_inside
def _cross_end(tables: ProblemTables, arrays: BasisArrays, item: int, at_hi: bool) -> None:
    """Put an item into the state beyond an end; the end where that state begins is decided."""
    new, begins = next_state(tables, arrays.states[item], item, at_hi)
    set_state(tables, arrays, item, new)
    arrays.lines.decided[0, item], arrays.lines.decided[1, item] = begins == 0, begins == 1
    arrays.counts[PIVOTS] += 1
