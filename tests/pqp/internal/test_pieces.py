"""pieces: traced in any direction, split and joined, pieces keep their states."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqp.revised.pieces import PieceSequence, ascending, join, join_all
from pqp.revised.trace import BasisPiece
from tests.systems import FEW

SIZE = 5
NOTHING = np.empty((0, 2))
NONE = np.empty(0, dtype=np.int64)


def trace_through(rows, ends):
    """Pieces on each row of states in turn, from one end to the next."""
    pieces = []
    for number, states in enumerate(rows):
        before = rows[number - 1] if number else states
        items = np.flatnonzero(before != states)
        first = states if number == 0 else None
        pieces.append(
            BasisPiece(
                ends[number],
                ends[number + 1],
                first,
                items,
                before[items],
                states[items],
                np.array([number]),
                NOTHING,
            )
        )
    return pieces


def course(sequence):
    """Start, end and states of every piece; what a piece says it changes is what was there."""
    states, found = sequence.first.copy(), []
    for number, piece in enumerate(sequence.pieces):
        if number:
            assert states[piece.items].tolist() == piece.before.tolist()
        else:
            assert not len(piece.items)
        states[piece.items] = piece.after
        found.append((piece.start, piece.end, states.tolist()))
    assert states.tolist() == sequence.last_states().tolist()
    return found


def merged(pieces):
    """The same course with neighbours on the same states taken together."""
    result = [pieces[0]]
    for start, end, states in pieces[1:]:
        if states == result[-1][2]:
            result[-1] = (result[-1][0], end, states)
        else:
            result.append((start, end, states))
    return result


STATES = st.lists(st.lists(st.integers(0, 5), min_size=SIZE, max_size=SIZE), min_size=1, max_size=6)
FEW_STATES = st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=2), min_size=1, max_size=8)
EITHER = st.one_of(STATES, FEW_STATES)


def rows_of(states):
    return [np.array(row, dtype=np.int8) for row in states]


def known(rows, begin=0):
    return merged([(begin + k, begin + k + 1, row.tolist()) for k, row in enumerate(rows)])


@FEW
@given(states=EITHER)
def test_ascending_pieces_stay_as_they_are_but_those_that_change_nothing(states):
    rows, ends = rows_of(states), list(range(len(states) + 1))
    sequence = ascending(trace_through(rows, ends))
    assert course(sequence) == known(rows)
    assert (sequence.lo, sequence.hi) == (0, len(rows))


@FEW
@given(states=EITHER)
def test_descending_pieces_are_turned_round(states):
    rows, ends = rows_of(states), list(range(len(states) + 1))
    leftwards = ascending(trace_through(rows[::-1], ends[::-1]))
    assert course(leftwards) == known(rows)


@FEW
@given(states=EITHER, data=st.data())
def test_parts_joined_at_any_seams_are_the_whole(states, data):
    rows = rows_of(states)
    cuts = (
        data.draw(st.sets(st.integers(1, len(rows)).filter(lambda cut: cut < len(rows)), max_size=3))
        if (len(rows) > 1)
        else set()
    )
    marks = [0, *sorted(cuts), len(rows)]
    parts = []
    for a, b in pairwise(marks):
        backwards = data.draw(st.booleans())
        chosen, ends = rows[a:b], list(range(a, b + 1))
        parts.append(
            ascending(trace_through(chosen[::-1], ends[::-1]) if backwards else trace_through(chosen, ends))
        )
    assert course(join_all(parts)) == known(rows)
    whole = parts[0]
    for part in parts[1:]:
        whole = join(whole, part)
    assert course(whole) == known(rows)


@FEW
@given(states=EITHER, data=st.data())
def test_runs_are_the_good_pieces_with_their_states(states, data):
    rows = rows_of(states)
    sequence = ascending(trace_through(rows, list(range(len(rows) + 1))))
    whole = course(sequence)
    good = np.array(data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole))))
    runs = [course(run) for run in sequence.runs(good)]
    assert [piece for run in runs for piece in run] == [
        piece for piece, is_good in zip(whole, good, strict=True) if is_good
    ]
    # No two runs touch: they would be one.
    assert all(left[-1][1] < right[0][0] for left, right in pairwise(runs))


@FEW
@given(states=EITHER, data=st.data())
def test_runs_and_what_is_between_them_join_to_the_whole(states, data):
    rows = rows_of(states)
    sequence = ascending(trace_through(rows, list(range(len(rows) + 1))))
    count = len(sequence.pieces)
    good = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    parts = sorted([*sequence.runs(good), *sequence.runs(~good)], key=lambda part: part.lo)
    assert course(join_all(parts)) == course(sequence)


def alone(start, end, states):
    return PieceSequence(states, (BasisPiece(start, end, None, NONE, NONE, NONE, np.array([0]), NOTHING),))


@pytest.mark.parametrize("joined", [join, lambda *parts: join_all(parts)], ids=["join", "join_all"])
class TestSeam:
    def test_piece_through_the_seam_is_one_piece(self, joined):
        states = np.zeros(SIZE, dtype=np.int8)
        assert course(joined(alone(0, 1, states), alone(1, 2, states))) == [(0, 2, states.tolist())]

    def test_pieces_that_differ_at_the_seam_stay_two(self, joined):
        one, other = np.zeros(SIZE, dtype=np.int8), np.ones(SIZE, dtype=np.int8)
        assert course(joined(alone(0, 1, one), alone(1, 2, other))) == [
            (0, 1, one.tolist()),
            (1, 2, other.tolist()),
        ]


def test_first_piece_must_say_its_states():
    with pytest.raises(AssertionError):
        ascending([BasisPiece(0, 1, None, NONE, NONE, NONE, np.array([0]), NOTHING)])
