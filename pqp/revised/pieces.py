"""Pieces of a path in a few arrays: recorded while tracing, ordered, split and joined, made into segments.

A piece keeps the states that change at its beginning and v of its unknowns as affine functions of mu. It is
appended once, to `PieceRecord`; verification, segments, files and certificates read the same arrays.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pqp.linalg.field import FLOAT, Array
from pqp.linalg.tolerances import SAME_POINT
from pqp.records.segment import Segment
from pqp.records.trail import Trail
from pqp.revised.postsolve import Postsolve
from pqp.revised.scaling import ScaledProblem

# Where a piece has no end, the point checked is this many times its length from 0, or from its other end.
FAR = 10.0
# Room for this many unknowns when a record begins; it grows by one part in so many.
FIRST_ROOM, GROWTH = 256, 4


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
        self.unknowns = np.empty(FIRST_ROOM, dtype=np.int32)
        self.values = np.empty((FIRST_ROOM, 2))
        self.unknown_ends: list[int] = []

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def is_ascending(self) -> bool:
        """Whether it was traced towards larger mu."""
        return self.ends[-1] >= self.starts[0]

    def room(self, count: int) -> tuple[Array, Array]:
        """Return where the unknowns and values of the next piece go, with room for `count`."""
        used = self.unknown_ends[len(self.ends) - 1] if self.ends else 0
        if used + count > len(self.unknowns):
            # In place, since these are the largest arrays of a path; no sequence is in use while it grows.
            size = used + count + used // GROWTH
            self.unknowns.resize(size, refcheck=False)
            self.values.resize((size, 2), refcheck=False)
        return self.unknowns[used : used + count], self.values[used : used + count]

    def append(self, start: float, end: float, changed: dict[int, int], states: Array, count: int) -> None:
        """Append the piece whose unknowns were written into `room`.

        `changed` holds the states before of items that may have changed. A piece on which nothing has
        changed prolongs the one before.
        """
        number = len(self.ends)
        del self.starts[number:], self.change_ends[number:], self.unknown_ends[number:]
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
        self.unknown_ends.append((self.unknown_ends[-1] if number else 0) + count)
        self.ends.append(end)

    def append_whole(self, piece: Piece) -> None:
        """Append a piece that has all its states."""
        unknowns, values = self.room(len(piece.unknowns))
        unknowns[:], values[:] = piece.unknowns, piece.values
        before = self.last_states() if self.ends else piece.states
        moved = np.flatnonzero(before != piece.states)
        changed = dict(zip(moved.tolist(), before[moved].tolist(), strict=True))
        self.append(piece.start, piece.end, changed, piece.states, len(piece.unknowns))

    def last_states(self) -> Array:
        """Return the states on the last piece."""
        states = self.first.copy()
        changes = self.change_ends[len(self.ends) - 1]
        for item, state in zip(self.items[:changes], self.after[:changes], strict=True):
            states[item] = state
        return states

    def sequence(self) -> "PieceSequence":
        """Return the pieces in ascending order."""
        count = len(self.ends)
        used, changes = self.unknown_ends[count - 1], self.change_ends[count - 1]
        result = PieceSequence(
            self.first,
            np.array(self.starts[:count]),
            np.array(self.ends),
            np.array([0, *self.change_ends[:count]], dtype=np.int64),
            np.array(self.items[:changes], dtype=np.int64),
            np.array(self.before[:changes], dtype=np.int8),
            np.array(self.after[:changes], dtype=np.int8),
            np.array([0, *self.unknown_ends[:count]], dtype=np.int64),
            self.unknowns[:used],
            self.values[:used],
        )
        return result if self.is_ascending else result.reversed()


@dataclass(frozen=True, eq=False)
class PieceSequence:
    """Pieces in ascending order: the states on the first one, then what changes from one to the next.

    On piece k, `items[change_ends[k] : change_ends[k + 1]]` had the states `before` on the piece before and
    have `after` now, and `unknowns[unknown_ends[k] : unknown_ends[k + 1]]` have v = `values`, as constants
    and slopes.
    """

    first: Array
    starts: Array
    ends: Array
    change_ends: Array
    items: Array
    before: Array
    after: Array
    unknown_ends: Array
    unknowns: Array
    values: Array

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
        part = slice(*self.unknown_ends[number : number + 2])
        ends = float(self.starts[number]), float(self.ends[number])
        return Piece(*ends, self.states_on(number), self.unknowns[part], self.values[part])

    def finite_ends(self) -> tuple[Array, Array]:
        """Return the starts and the ends, or a mu far away where a piece has none."""
        starts, ends = self.starts.copy(), self.ends.copy()
        for here, other, sense in ((starts, self.ends, -1.0), (ends, self.starts, 1.0)):
            for k in np.flatnonzero(np.isinf(here)).tolist():
                base = other[k] if np.isfinite(other[k]) else 0.0
                here[k] = base + sense * FAR * max(abs(base), 1.0)
        return starts, ends

    def part(self, begin: int, stop: int) -> "PieceSequence":
        """Return the pieces from one number to before another."""
        changes = self.change_ends[begin + 1 : stop + 1]
        moved, solved = (
            slice(changes[0], changes[-1]),
            slice(self.unknown_ends[begin], self.unknown_ends[stop]),
        )
        return PieceSequence(
            self.states_on(begin),
            self.starts[begin:stop],
            self.ends[begin:stop],
            # The first piece of a sequence changes nothing.
            np.concatenate([[0], changes - changes[0]]),
            self.items[moved],
            self.before[moved],
            self.after[moved],
            self.unknown_ends[begin : stop + 1] - self.unknown_ends[begin],
            self.unknowns[solved],
            self.values[solved],
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

    def reversed(self) -> "PieceSequence":
        """Return a descending sequence in ascending order.

        Seen from the other side, a piece begins with the changes that ended it, undone.
        """
        # The changes of pieces 1, 2, ... become those of the pieces before them; the last one has none.
        turned, change_ends = _turned(self.change_ends[1:])
        solved, unknown_ends = _turned(self.unknown_ends)
        return PieceSequence(
            self.last_states(),
            self.ends[::-1],
            self.starts[::-1],
            np.concatenate([[0], change_ends]),
            self.items[turned],
            self.after[turned],
            self.before[turned],
            unknown_ends,
            self.unknowns[solved],
            self.values[solved],
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

    def joined(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    def joined_ends(name: str) -> Array:
        return _ends(np.concatenate([np.diff(getattr(part, name)) for part in parts]))

    plain = {
        name: joined(name) for name in ("starts", "ends", "items", "before", "after", "unknowns", "values")
    }
    return PieceSequence(
        first=parts[0].first,
        change_ends=joined_ends("change_ends"),
        unknown_ends=joined_ends("unknown_ends"),
        **plain,
    )


def _is_prolonged(last: PieceSequence, following: PieceSequence) -> bool:
    """Return whether the last piece of a sequence says what the first one of another does.

    Equal states are not enough: where a basis is singular in float64, they leave v open.
    """
    own, other = slice(*last.unknown_ends[-2:]), slice(*following.unknown_ends[:2])
    if own.stop - own.start != other.stop - other.start:
        return False
    mu = float(following.ends[0]) if np.isfinite(following.ends[0]) else float(following.starts[0])
    points = [
        sequence.values[part][np.argsort(sequence.unknowns[part])] @ np.array([1.0, mu])
        for sequence, part in ((last, own), (following, other))
    ]
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
    unknowns = sequence.unknowns
    return Trail(
        postsolve.reduced.problem,
        postsolve.complete,
        postsolve.all_states(sequence.first),
        shown.astype(np.int32),
        codes,
        widths[sequence.change_ends].astype(np.int64),
        postsolve.items.astype(np.int32)[unknowns],
        # Without scaling the values are handed over as they are: they are the largest array of a path.
        sequence.values if np.all(scaled.d == 1.0) else sequence.values * scaled.d[unknowns, None],
        sequence.unknown_ends,
    )


def _ends(counts: Array) -> Array:
    """Return where groups of so many entries end, beginning with 0."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
