"""pieces: recorded in any direction, split and joined, pieces keep their states and their unknowns."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqp.revised.pieces import Piece, PieceRecord, join_all
from tests.systems import FEW, pieces_of, sequence_of

SIZE = 5


def recorded(rows, ends):
    """Pieces on each row of states in turn, from one end to the next; unknowns tell pieces apart."""
    counts = [int(states[0]) % 3 for states in rows]
    return sequence_of(
        Piece(ends[k], ends[k + 1], rows[k], np.arange(count), np.full((count, 2), float(rows[k][1])))
        for k, count in enumerate(counts)
    )


def course(sequence):
    """Start, end and states of every piece; what a piece says it changes is what was there."""
    found = []
    for number, piece in enumerate(pieces_of(sequence)):
        changes = slice(*sequence.change_ends[number : number + 2])
        items = sequence.items[changes]
        if number:
            assert np.array(found[-1][2])[items].tolist() == sequence.before[changes].tolist()
        else:
            assert not len(items)
        assert piece.states[items].tolist() == sequence.after[changes].tolist()
        assert piece.unknowns.tolist() == list(range(piece.states[0] % 3))
        assert (piece.values == piece.states[1]).all()
        found.append((piece.start, piece.end, piece.states.tolist()))
    assert sequence.last_states().tolist() == found[-1][2]
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
    sequence = recorded(rows, ends)
    assert course(sequence) == known(rows)
    assert (sequence.lo, sequence.hi) == (0, len(rows))


@FEW
@given(states=EITHER)
def test_descending_pieces_are_turned_round(states):
    rows, ends = rows_of(states), list(range(len(states) + 1))
    assert course(recorded(rows[::-1], ends[::-1])) == known(rows)


@FEW
@given(states=EITHER, data=st.data())
def test_parts_joined_at_any_seams_are_the_whole(states, data):
    rows = rows_of(states)
    cuts = (
        data.draw(st.sets(st.integers(1, len(rows)).filter(lambda cut: cut < len(rows)), max_size=3))
        if (len(rows) > 1)
        else set()
    )
    parts = []
    for a, b in pairwise([0, *sorted(cuts), len(rows)]):
        backwards = data.draw(st.booleans())
        chosen, ends = rows[a:b], list(range(a, b + 1))
        parts.append(recorded(chosen[::-1], ends[::-1]) if backwards else recorded(chosen, ends))
    assert course(join_all(parts)) == known(rows)


@FEW
@given(states=EITHER, data=st.data())
def test_runs_are_the_good_pieces_with_their_states(states, data):
    rows = rows_of(states)
    sequence = recorded(rows, list(range(len(rows) + 1)))
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
    sequence = recorded(rows, list(range(len(rows) + 1)))
    count = len(sequence)
    good = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    parts = sorted([*sequence.runs(good), *sequence.runs(~good)], key=lambda part: part.lo)
    assert course(join_all(parts)) == course(sequence)


LINES = st.lists(st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE), min_size=1, max_size=30)


def sparsely_recorded(rows, interrupted=()):
    """A piece for each row: an item is on the line that its number says, and not solved for where it is 0."""
    record, states, expected = PieceRecord(), np.zeros(SIZE, dtype=np.int8), []
    for number, row in enumerate(np.array(rows)):
        before, states = states, (row > 0).astype(np.int8)
        # One item that is never solved for makes every piece a new one.
        states = np.append(states, np.int8(number % 2))
        changed = {
            item: int(before[item]) for item in np.flatnonzero(before[:SIZE] != states[:SIZE]).tolist()
        }
        changed[SIZE] = 1 - number % 2
        solved = np.flatnonzero(row).astype(np.int32)
        for is_half_way in (True, False) if number in interrupted else (False,):
            unknowns, values = record.room(len(solved))
            unknowns[:], values[:] = solved, np.column_stack([10.0 * row[solved], row[solved]])
            if is_half_way:
                record.ends = CannotGrow(record.ends)
                with pytest.raises(KeyboardInterrupt):
                    record.append(number, number + 1, changed, states, len(solved), is_sparse=True)
                record.ends = list(record.ends)
            else:
                record.append(number, number + 1, changed, states, len(solved), is_sparse=True)
        expected.append({int(item): (10.0 * row[item], float(row[item])) for item in solved})
    return record, expected


class CannotGrow(list):
    def append(self, _):
        raise KeyboardInterrupt


def lines_of(sequence):
    """The line of every unknown, piece by piece."""
    return [
        dict(zip(items.tolist(), map(tuple, values.tolist()), strict=True))
        for items, values in (sequence.lines.on(number) for number in range(len(sequence)))
    ]


@FEW
@given(rows=LINES, data=st.data())
def test_lines_that_are_kept_once_are_read_on_all_their_pieces(rows, data):
    interrupted = data.draw(st.sets(st.integers(0, len(rows) - 1), max_size=2))
    record, expected = sparsely_recorded(rows, interrupted)
    sequence = record.sequence()
    assert lines_of(sequence) == expected
    assert lines_of(sequence.reversed()) == expected[::-1]
    assert lines_of(sequence.reversed().as_traced()) == expected
    cut = data.draw(st.integers(0, len(rows) - 1))
    parts = [sequence.part(*ends) for ends in ((0, cut), (cut, len(rows))) if ends[0] < ends[1]]
    assert [line for part in parts for line in lines_of(part)] == expected
    assert lines_of(join_all(parts)) == expected
    items, values, piece = sequence.lines.over(cut, len(rows))
    found = [{} for _ in range(cut, len(rows))]
    for item, value, at in zip(items.tolist(), values.tolist(), piece.tolist(), strict=True):
        found[at][item] = tuple(value)
    assert found == expected[cut:]


def test_line_that_does_not_change_is_written_a_few_times_only():
    record, _ = sparsely_recorded([[1, 2, 3, 1 + k % 2, 1] for k in range(1000)])
    assert record.used <= 1000 * (1 + 5 / 30)


class TestSeam:
    def test_piece_through_the_seam_is_one_piece(self):
        states = np.zeros(SIZE, dtype=np.int8)
        parts = recorded([states], [0, 1]), recorded([states], [1, 2])
        assert course(join_all(parts)) == [(0, 2, states.tolist())]

    def test_pieces_that_differ_at_the_seam_stay_two(self):
        one, other = np.zeros(SIZE, dtype=np.int8), np.ones(SIZE, dtype=np.int8)
        parts = recorded([one], [0, 1]), recorded([other], [1, 2])
        assert course(join_all(parts)) == [(0, 1, one.tolist()), (1, 2, other.tolist())]


@pytest.mark.parametrize("written", ["starts", "items", "begins", "stops"])
def test_piece_that_was_interrupted_half_way_does_not_count(written):
    """Whatever of it was written is overwritten by the next piece."""
    record, states = PieceRecord(), np.zeros(SIZE, dtype=np.int8)
    record.append_whole(Piece(0.0, 1.0, states, np.array([1]), np.ones((1, 2))))
    getattr(record, written).append(7)
    assert len(record) == len(record.sequence()) == 1
    later = np.ones(SIZE, dtype=np.int8)
    record.append_whole(Piece(1.0, 2.0, later, np.array([2]), np.zeros((1, 2))))
    sequence = record.sequence()
    assert (sequence.starts.tolist(), sequence.ends.tolist()) == ([0.0, 1.0], [1.0, 2.0])
    assert sequence.piece(0).unknowns.tolist() == [1]
    assert sequence.piece(1).unknowns.tolist() == [2]
    assert sequence.piece(1).states.tolist() == later.tolist()
