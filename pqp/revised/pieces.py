"""Sequences of pieces in ascending order, how they are split and joined, and the segments they become."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pqp.linalg.field import FLOAT, Array
from pqp.records.segment import Segment
from pqp.records.trail import Trail
from pqp.revised.postsolve import Postsolve
from pqp.revised.scaling import ScaledProblem
from pqp.revised.trace import BasisPiece

_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PieceSequence:
    """Pieces in ascending order: the states on the first one, then the changes."""

    first: Array
    pieces: tuple[BasisPiece, ...]

    @property
    def lo(self) -> float:
        """Where it begins."""
        return self.pieces[0].start

    @property
    def hi(self) -> float:
        """Where it ends."""
        return self.pieces[-1].end

    def last_states(self) -> Array:
        """Return the states on the last piece."""
        states = self.first.copy()
        for piece in self.pieces[1:]:
            states[piece.items] = piece.after
        return states

    def runs(self, is_good: Array) -> Iterator["PieceSequence"]:
        """Yield the runs of consecutive good pieces, each as a sequence of its own."""
        states, begin = self.first.copy(), None
        run: list[BasisPiece] = []
        for number, piece in enumerate(self.pieces):
            if number:
                states[piece.items] = piece.after
            if is_good[number]:
                if begin is None:
                    begin = states.copy()
                run.append(piece if run else _unchanged(piece))
            elif begin is not None:
                yield PieceSequence(begin, tuple(run))
                begin, run = None, []
        if begin is not None:
            yield PieceSequence(begin, tuple(run))


def _unchanged(piece: BasisPiece) -> BasisPiece:
    """Return a piece as the first one of a sequence."""
    return replace(piece, states=None, items=_NONE, before=_NONE, after=_NONE)


def ascending(pieces: Sequence[BasisPiece]) -> PieceSequence:
    """Return the pieces of one trace in ascending order; those that change no state are merged."""
    assert pieces[0].states is not None
    merged = [pieces[0]]
    for piece in pieces[1:]:
        if len(piece.items):
            merged.append(piece)
        else:
            merged[-1] = replace(merged[-1], end=piece.end)
    sequence = PieceSequence(pieces[0].states, (_unchanged(merged[0]), *merged[1:]))
    if merged[-1].end >= merged[0].start:
        return sequence
    # Seen from the other side, a piece begins with the changes that ended it, undone.
    turned = [
        replace(piece, start=piece.end, end=piece.start, states=None)
        if later is None
        else replace(
            piece,
            start=piece.end,
            end=piece.start,
            states=None,
            items=later.items,
            before=later.after,
            after=later.before,
        )
        for piece, later in zip(merged, [*merged[1:], None], strict=True)
    ]
    turned[-1] = _unchanged(turned[-1])
    return PieceSequence(sequence.last_states(), tuple(reversed(turned)))


def join(left: PieceSequence, right: PieceSequence) -> PieceSequence:
    """Return two sequences that meet at one mu as one; a piece that crosses the seam stays one piece."""
    here, there = left.last_states(), right.first
    moved = np.flatnonzero(here != there)
    first = replace(right.pieces[0], items=moved, before=here[moved], after=there[moved])
    if len(moved):
        return PieceSequence(left.first, (*left.pieces, first, *right.pieces[1:]))
    through = replace(left.pieces[-1], end=first.end)
    return PieceSequence(left.first, (*left.pieces[:-1], through, *right.pieces[1:]))


def join_all(sequences: Sequence[PieceSequence]) -> PieceSequence:
    """Return ascending sequences as one."""
    first, pieces = sequences[0].first, list(sequences[0].pieces)
    states = sequences[0].last_states()
    for sequence in sequences[1:]:
        moved = np.flatnonzero(states != sequence.first)
        head = sequence.pieces[0]
        if len(moved):
            head = replace(head, items=moved, before=states[moved], after=sequence.first[moved])
            pieces.append(head)
        else:
            pieces[-1] = replace(pieces[-1], end=head.end)
        pieces += sequence.pieces[1:]
        states = sequence.last_states()
    return PieceSequence(first, tuple(pieces))


def segments_of(sequence: PieceSequence, postsolve: Postsolve, scaled: ScaledProblem) -> list[Segment]:
    """Return the optimal segments that share the trail of a sequence."""
    trail = _trail(sequence, postsolve, scaled)
    problem = postsolve.reduced.problem
    return [
        Segment(piece.start, piece.end, "optimal", problem, FLOAT, trail=trail, number=number)
        for number, piece in enumerate(sequence.pieces)
    ]


def _trail(sequence: PieceSequence, postsolve: Postsolve, scaled: ScaledProblem) -> Trail:
    """Return the changes and unknowns of all pieces, packed and in terms of the problem."""
    pieces = sequence.pieces
    counts = [len(piece.items) for piece in pieces]
    items = np.concatenate([piece.items for piece in pieces]).astype(np.int64)
    states = np.concatenate([piece.after for piece in pieces]).astype(np.int64)
    shown, codes = postsolve.states(items, states)
    weights = 1 + (postsolve.second[items] >= 0)
    owner = np.repeat(np.arange(len(pieces)), counts)
    widths = np.bincount(owner, weights, len(pieces)).astype(np.int64)
    unknowns = np.concatenate([piece.unknowns for piece in pieces], dtype=np.int32)
    values = np.concatenate([piece.values for piece in pieces])
    for part in values.T:  # in place: these are the largest arrays of a path
        part *= scaled.d[unknowns]
    return Trail(
        postsolve.reduced.problem,
        postsolve.complete,
        postsolve.all_states(sequence.first),
        shown.astype(np.int32),
        codes,
        _ends(widths),
        postsolve.items.astype(np.int32)[unknowns],
        values,
        _ends([len(piece.unknowns) for piece in pieces]),
    )


def _ends(counts: Sequence[int] | Array) -> Array:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
