"""interval_trace: pieces traced in any direction and in parts become the same ascending sequence."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqp.revised.interval_trace import ascending, join
from pqp.revised.trace import NO_CHANGES, BasisPiece, StateChanges
from tests.systems import FEW

SIZE = 5
NOTHING = np.empty((0, 2))


def changes_to(before, after):
    items = np.flatnonzero(before != after)
    return StateChanges(items, before[items], after[items])


def trace_through(rows, ends):
    """Lines that stand on each row of steps in turn, from one end to the next."""
    lines = []
    for number, item_states in enumerate(rows):
        changes = changes_to(rows[number - 1], item_states) if number else NO_CHANGES
        given = item_states if number == 0 else None
        lines.append(BasisPiece(ends[number], ends[number + 1], given, changes, np.array([number]), NOTHING))
    return lines


def course(sequence):
    """Start, end and steps of every line."""
    item_states, found = sequence.first.copy(), []
    for line in sequence.pieces:
        item_states[line.changes.items] = line.changes.after
        found.append((line.start, line.end, item_states.tolist()))
    return found


def merged(pieces):
    """The same course with neighbours on the same steps taken together."""
    result = [pieces[0]]
    for start, end, item_states in pieces[1:]:
        if item_states == result[-1][2]:
            result[-1] = (result[-1][0], end, item_states)
        else:
            result.append((start, end, item_states))
    return result


ITEM_STATES = st.lists(st.lists(st.integers(0, 5), min_size=SIZE, max_size=SIZE), min_size=1, max_size=6)


def rows_of(item_states):
    return [np.array(row, dtype=np.int8) for row in item_states]


@FEW
@given(item_states=ITEM_STATES)
def test_ascending_lines_stay_as_they_are_but_those_that_change_nothing(item_states):
    rows, ends = rows_of(item_states), list(range(len(item_states) + 1))
    known = merged([(ends[k], ends[k + 1], row.tolist()) for k, row in enumerate(rows)])
    sequence = ascending(trace_through(rows, ends))
    assert course(sequence) == known
    assert sequence.last_states().tolist() == known[-1][2]


@FEW
@given(item_states=ITEM_STATES)
def test_descending_lines_are_turned_round(item_states):
    rows, ends = rows_of(item_states), list(range(len(item_states) + 1))
    rightwards = ascending(trace_through(rows, ends))
    leftwards = ascending(trace_through(rows[::-1], ends[::-1]))
    assert course(leftwards) == course(rightwards)
    assert len(leftwards.pieces[0].changes.items) == 0


@FEW
@given(item_states=ITEM_STATES, data=st.data())
def test_parts_glued_at_any_seam_are_the_whole(item_states, data):
    rows, ends = rows_of(item_states), list(range(len(item_states) + 1))
    cut = data.draw(st.integers(1, len(rows)))
    left = ascending(trace_through(rows[:cut], ends[: cut + 1]))
    right = trace_through(rows[cut - 1 :], [cut, *ends[cut:]][: len(rows) - cut + 2])
    right[0] = replace(right[0], start=cut, end=max(cut, right[0].end))
    whole = join(left, ascending(right))
    known = course(ascending(trace_through(rows, ends)))
    assert [piece[2] for piece in course(whole)] == [piece[2] for piece in known]
    assert course(whole)[0][0] == 0


def test_line_through_the_seam_is_one_line():
    item_states = np.zeros(SIZE, dtype=np.int8)
    left, right = (
        ascending([BasisPiece(a, a + 1, item_states, NO_CHANGES, np.array([0]), NOTHING)]) for a in (0, 1)
    )
    assert course(join(left, right)) == [(0, 2, item_states.tolist())]


def test_lines_that_differ_at_the_seam_stay_two():
    one, other = np.zeros(SIZE, dtype=np.int8), np.ones(SIZE, dtype=np.int8)
    left = ascending([BasisPiece(0, 1, one, NO_CHANGES, np.array([0]), NOTHING)])
    right = ascending([BasisPiece(1, 2, other, NO_CHANGES, np.array([0]), NOTHING)])
    assert course(join(left, right)) == [(0, 1, one.tolist()), (1, 2, other.tolist())]


def test_first_line_must_say_its_steps():
    with pytest.raises(AssertionError):
        ascending([BasisPiece(0, 1, None, NO_CHANGES, np.array([0]), NOTHING)])
