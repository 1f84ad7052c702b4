"""Pieces of a path in a few arrays: recorded while tracing, ordered, split and joined, made into segments.

A piece keeps the states that change at its beginning and the lines of its unknowns that are new on it. It is
appended once, to `PieceRecord`; verification, segments, files and certificates read the same arrays.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pqp.linalg.field import FLOAT, Array
from pqp.linalg.tolerances import SAME_LINE, SAME_POINT
from pqp.records.segment import Segment
from pqp.records.trail import Lines, Trail, join_lines
from pqp.revised.postsolve import Postsolve
from pqp.revised.scaling import ScaledProblem

# Where a piece has no end, the point checked is this many times its length from 0, or from its other end.
FAR = 10.0
# Room for so many lines: a record begins with the first and takes the next one when that is full. Memory that
# is not written costs nothing, but arrays that grow in small steps leave holes as large as themselves until
# they are so large that the system moves them as a whole. From there on they grow by one part in so many.
ROOMS, GROWTH = (2**8, 2**12, 2**16, 2**21), 16
# All lines of a piece are written anew once so many times its unknowns were written since that was done last.
LINES_PER_UNKNOWN = 8
# The last piece of a line that still holds.
OPEN = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class Piece:
    """One piece on its own: from `start` to `end`, the states of all items, and v of the unknowns."""

    start: float
    end: float
    states: Array
    unknowns: Array
    values: Array

    def sequence(self) -> "PieceSequence":
        """Return it as a sequence."""
        record = PieceRecord()
        record.append_whole(self)
        return record.sequence()


class PieceRecord:
    """The pieces of one trace in its direction, appended one by one.

    An interrupt between two statements loses no piece: `ends` is written last, and counts. Sequences share
    the arrays of the record they were made of, and must not be used any more once another piece is appended.
    """

    def __init__(self) -> None:
        self.first: Array = np.empty(0, dtype=np.int8)
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.items: list[int] = []
        self.before: list[int] = []
        self.after: list[int] = []
        self.change_ends: list[int] = []
        self.unknowns = np.empty(ROOMS[0], dtype=np.int32)
        self.values = np.empty((ROOMS[0], 2))
        self.last = np.empty(ROOMS[0], dtype=np.int32)
        self.begins: list[int] = []
        self.stops: list[int] = []
        # The line of every item that has one on the last piece, else -1; None where it is not known.
        self._line_of: Array | None = None

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def used(self) -> int:
        """How many lines there are."""
        return self.stops[len(self.ends) - 1] if self.ends else 0

    @property
    def nbytes(self) -> int:
        """The bytes of all lines, by far the largest part of a path."""
        return self.used * (self.unknowns.itemsize + 2 * self.values.itemsize + self.last.itemsize)

    def room(self, count: int) -> tuple[Array, Array]:
        """Return where the unknowns and values of the next piece go, with room for `count`."""
        used = self.used
        if used + count > len(self.unknowns):
            self._grow(used + count)
        return self.unknowns[used : used + count], self.values[used : used + count]

    def trim(self) -> None:
        """Give back the room that is not used."""
        for array in (self.unknowns, self.values, self.last):
            array.resize((self.used, *array.shape[1:]), refcheck=False)

    def _grow(self, needed: int) -> None:
        """Make room for at least so many lines."""
        size = next((size for size in ROOMS if size >= needed), needed + needed // GROWTH)
        for name, old in (("unknowns", self.unknowns), ("values", self.values), ("last", self.last)):
            if size > ROOMS[-1]:
                # In place, since they are the largest arrays of a path; no sequence is in use meanwhile.
                old.resize((size, *old.shape[1:]), refcheck=False)
            else:
                new = np.empty((size, *old.shape[1:]), old.dtype)
                new[: self.used] = old[: self.used]
                setattr(self, name, new)

    def append(
        self, start: float, end: float, changed: dict[int, int], states: Array, count: int, is_sparse: bool
    ) -> None:
        """Append the piece whose unknowns were written into `room`.

        `changed` holds the states before of items that may have changed. A piece on which nothing has
        changed prolongs the one before. In a sparse system few lines change, and the others are not kept
        again.
        """
        number = len(self.ends)
        del self.starts[number:], self.change_ends[number:], self.begins[number:], self.stops[number:]
        del self.items[self.change_ends[-1] if number else 0 :]
        del self.before[len(self.items) :], self.after[len(self.items) :]
        if not number:
            self.first = states.copy()
        else:
            for item, old in changed.items():
                new = int(states[item])
                if new != old:
                    self.items.append(item)
                    self.before.append(old)
                    self.after.append(new)
            if len(self.items) == self.change_ends[-1]:
                self.ends[-1] = end
                return
        self.starts.append(start)
        self.change_ends.append(len(self.items))
        # An interrupt leaves it unknown, and all lines are written anew.
        line_of, self._line_of = self._line_of, None
        begin = used = self.used
        if number and is_sparse and line_of is not None:
            if used - self.begins[-1] <= LINES_PER_UNKNOWN * count:
                begin = self.begins[-1]
                count = self._without_known(line_of, list(changed), start, count)
            else:
                line_of[:] = -1
        if number and begin == used and is_sparse:
            ended = self.last[self.begins[-1] : used]
            np.minimum(ended, number - 1, out=ended)
        self.last[used : used + count] = OPEN if is_sparse else number
        self.begins.append(begin)
        self.stops.append(used + count)
        if is_sparse:
            line_of = np.full(len(states), -1) if line_of is None else line_of
            line_of[self.unknowns[used : used + count]] = np.arange(used, used + count)
        self.ends.append(end)
        self._line_of = line_of

    def _without_known(self, line_of: Array, changed: list[int], start: float, count: int) -> int:
        """End the lines that no longer hold; leave only new ones in the room and return their number.

        A line still holds if the slope is the same and the value is, but for rounding errors.
        """
        used, last = self.used, len(self.ends) - 1
        items, values = self.unknowns[used : used + count], self.values[used : used + count]
        gone = line_of[changed]
        self.last[gone[gone >= 0]] = last
        line_of[changed] = -1
        lines = line_of[items]
        before = self.values[lines]
        size = np.abs(values[:, 0]) + abs(start) * np.abs(values[:, 1])
        is_known = (lines >= 0) & (before[:, 1] == values[:, 1])
        is_known &= np.abs(before[:, 0] - values[:, 0]) <= SAME_LINE * size
        new = np.flatnonzero(~is_known)
        gone = lines[new]
        self.last[gone[gone >= 0]] = last
        items[: len(new)], values[: len(new)] = items[new], values[new]
        return len(new)

    def append_whole(self, piece: Piece) -> None:
        """Append a piece that has all its states."""
        unknowns, values = self.room(len(piece.unknowns))
        unknowns[:], values[:] = piece.unknowns, piece.values
        before = self.last_states() if self.ends else piece.states
        moved = np.flatnonzero(before != piece.states)
        changed = dict(zip(moved.tolist(), before[moved].tolist(), strict=True))
        self.append(piece.start, piece.end, changed, piece.states, len(piece.unknowns), is_sparse=False)

    def last_states(self) -> Array:
        """Return the states on the last piece."""
        states = self.first.copy()
        changes = self.change_ends[len(self.ends) - 1]
        for item, state in zip(self.items[:changes], self.after[:changes], strict=True):
            states[item] = state
        return states

    def sequence(self) -> "PieceSequence":
        """Return the pieces as they were traced."""
        count, used = len(self.ends), self.used
        changes = self.change_ends[count - 1]
        lines = Lines(
            self.unknowns[:used],
            self.values[:used],
            self.last[:used],
            np.array(self.begins[:count], dtype=np.int64),
            np.array(self.stops[:count], dtype=np.int64),
            np.arange(count, dtype=np.int32),
        )
        return PieceSequence(
            self.first,
            np.array(self.starts[:count]),
            np.array(self.ends),
            np.array([0, *self.change_ends[:count]], dtype=np.int64),
            np.array(self.items[:changes], dtype=np.int64),
            np.array(self.before[:changes], dtype=np.int8),
            np.array(self.after[:changes], dtype=np.int8),
            lines,
        )


@dataclass(frozen=True, eq=False)
class PieceSequence:
    """Pieces one after the other: the states on the first one, then what changes from one to the next.

    On piece k, `items[change_ends[k] : change_ends[k + 1]]` had the states `before` on the piece before and
    have `after` now. It is as it was traced, or in ascending order.
    """

    first: Array
    starts: Array
    ends: Array
    change_ends: Array
    items: Array
    before: Array
    after: Array
    lines: Lines

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def lo(self) -> float:
        """Where it begins."""
        return float(self.starts[0])

    @property
    def hi(self) -> float:
        """Where it ends."""
        return float(self.ends[-1])

    def states_on(self, number: int) -> Array:
        """Return the states on a piece."""
        states = self.first.copy()
        changes = slice(self.change_ends[number + 1])
        # Where an item changes twice, the last assignment counts.
        states[self.items[changes]] = self.after[changes]
        return states

    def last_states(self) -> Array:
        """Return the states on the last piece."""
        return self.states_on(len(self) - 1)

    def piece(self, number: int) -> Piece:
        """Return one piece on its own."""
        ends = float(self.starts[number]), float(self.ends[number])
        return Piece(*ends, self.states_on(number), *self.lines.on(number))

    def finite_ends(self) -> tuple[Array, Array]:
        """Return the starts and the ends, or a mu far away where a piece has none."""
        starts, ends = self.starts.copy(), self.ends.copy()
        for here, other in ((starts, self.ends), (ends, self.starts)):
            for k in np.flatnonzero(np.isinf(here)).tolist():
                base = other[k] if np.isfinite(other[k]) else 0.0
                here[k] = base + np.sign(here[k]) * FAR * max(abs(base), 1.0)
        return starts, ends

    def part(self, begin: int, stop: int) -> "PieceSequence":
        """Return the pieces from one number to before another."""
        changes = self.change_ends[begin + 1 : stop + 1]
        moved = slice(changes[0], changes[-1])
        return PieceSequence(
            self.states_on(begin),
            self.starts[begin:stop],
            self.ends[begin:stop],
            # The first piece of a sequence changes nothing.
            np.concatenate([[0], changes - changes[0]]),
            self.items[moved],
            self.before[moved],
            self.after[moved],
            self.lines.part(begin, stop),
        )

    def runs(self, is_good: Array) -> Iterator["PieceSequence"]:
        """Yield the runs of consecutive good pieces, each as a sequence of its own."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], is_good, [False]]).astype(np.int8)))
        for begin, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            yield self if stop - begin == len(self) else self.part(begin, stop)

    def clipped(self, lo: float, hi: float) -> "PieceSequence":
        """Return it with its first start and its last end moved."""
        starts, ends = self.starts.copy(), self.ends.copy()
        starts[0], ends[-1] = lo, hi
        return replace(self, starts=starts, ends=ends)

    def ascending(self) -> "PieceSequence":
        """Return it in ascending order."""
        return self if self.ends[-1] >= self.starts[0] else self.reversed()

    def as_traced(self) -> "PieceSequence":
        """Return it in the order in which it was traced; joined ones have none."""
        return self.reversed() if self.lines.is_turned else self

    def reversed(self) -> "PieceSequence":
        """Return the pieces in the reverse order.

        Seen from the other side, a piece begins with the changes that ended it, undone.
        """
        # The changes of pieces 1, 2, ... become those of the pieces before them; the last one has none.
        turned, change_ends = _turned(self.change_ends[1:])
        return PieceSequence(
            self.last_states(),
            self.ends[::-1],
            self.starts[::-1],
            np.concatenate([[0], change_ends]),
            self.items[turned],
            self.after[turned],
            self.before[turned],
            self.lines.reversed(),
        )


def _turned(ends: Array) -> tuple[Array, Array]:
    """Return the order of all entries when their groups are put in reverse order, and where groups end."""
    counts = np.diff(ends)[::-1]
    turned = _ends(counts)
    begins = ends[:-1][::-1]
    return np.arange(turned[-1]) + np.repeat(begins - turned[:-1], counts), turned


def join_all(sequences: Sequence[PieceSequence]) -> PieceSequence:
    """Return ascending sequences as one, each beginning where the one before ends.

    A piece that crosses a seam stays one piece.
    """
    parts = [sequences[0]]
    for sequence in sequences[1:]:
        last = parts[-1]
        states, rest = last.last_states(), sequence
        if np.array_equal(states, sequence.first) and _is_prolonged(last, sequence):
            parts[-1] = last.clipped(last.lo, float(sequence.ends[0]))
            if len(sequence) == 1:
                continue
            rest = sequence.part(1, len(sequence))
        moved = np.flatnonzero(states != rest.first)
        parts.append(
            replace(
                rest,
                items=np.concatenate([moved, rest.items]),
                before=np.concatenate([states[moved], rest.before]),
                after=np.concatenate([rest.first[moved], rest.after]),
                change_ends=np.concatenate([[0], rest.change_ends[1:] + len(moved)]),
            )
        )
    if len(parts) == 1:
        return parts[0]

    names = ("starts", "ends", "items", "before", "after")
    return PieceSequence(
        first=parts[0].first,
        change_ends=_ends(np.concatenate([np.diff(part.change_ends) for part in parts])),
        lines=join_lines([part.lines for part in parts]),
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
    )


def _is_prolonged(last: PieceSequence, following: PieceSequence) -> bool:
    """Return whether the last piece of a sequence says what the first one of another does.

    Equal states are not enough: where a basis is singular in float64, they leave v open.
    """
    own, other = last.lines.on(-1), following.lines.on(0)
    if len(own[0]) != len(other[0]):
        return False
    mu = float(following.ends[0]) if np.isfinite(following.ends[0]) else float(following.starts[0])
    points = [values[np.argsort(unknowns)] @ np.array([1.0, mu]) for unknowns, values in (own, other)]
    height = np.abs(points).max(initial=0.0)
    return bool(np.all(np.abs(points[0] - points[1]) <= SAME_POINT * height))


def segments_of(sequence: PieceSequence, postsolve: Postsolve, scaled: ScaledProblem) -> list[Segment]:
    """Return the optimal segments that share the trail of a sequence."""
    trail = _trail(sequence, postsolve, scaled)
    problem = postsolve.reduced.problem
    return [
        Segment(start, end, "optimal", problem, FLOAT, trail=trail, number=number)
        for number, (start, end) in enumerate(
            zip(sequence.starts.tolist(), sequence.ends.tolist(), strict=True)
        )
    ]


def _trail(sequence: PieceSequence, postsolve: Postsolve, scaled: ScaledProblem) -> Trail:
    """Return the changes and unknowns of all pieces in terms of the problem."""
    items = sequence.items
    shown, codes = postsolve.states(items, sequence.after.astype(np.int64))
    # A row with a slack is shown by two items.
    widths = np.concatenate([[0], np.cumsum(1 + (postsolve.second[items] >= 0))])
    return Trail(
        postsolve.reduced.problem,
        postsolve.complete,
        postsolve.all_states(sequence.first),
        shown.astype(np.int32),
        codes,
        widths[sequence.change_ends].astype(np.int64),
        # As they are: they are the largest arrays of a path.
        sequence.lines,
        postsolve.items,
        scaled.d,
    )


def _ends(counts: Array) -> Array:
    """Return where groups of so many entries end, beginning with 0."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
