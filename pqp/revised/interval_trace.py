"""The trace over an interval, unsolvable pieces included, and its pieces as the segments of a path.

Start at the first end. Where there is no solution, continue where the proof of that ends; from the first
solution on follow the path. The mu with a solution form an interval, so nothing is left to trace once it
ends. The pieces of one or more traces are put in ascending order and packed into one trail.
"""

import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.lcp.log import Crossing, Pivot
from pqp.linalg.field import FLOAT, RATIONAL, Array, Number, shown
from pqp.model.problem import ParametricQP
from pqp.records.segment import Segment
from pqp.records.states import States
from pqp.records.trail import Trail
from pqp.records.unsolvable import Obstruction, UnsolvablePiece
from pqp.revised.basis import WorkingBasis
from pqp.revised.crossing_bounds import CrossingBounds, find_crossing_bounds
from pqp.revised.postsolve import Postsolve
from pqp.revised.presolve import presolve
from pqp.revised.rays import Move, is_proof, obstruction_of
from pqp.revised.scaling import ScaledProblem, scale_problem
from pqp.revised.start import NoStart, find_start
from pqp.revised.states import ABOVE, BELOW, VALUE_FIXED
from pqp.revised.trace import NO_CHANGES, BasisPiece, EventTracer, StateChanges, UnblockedRay, point_on

Event = BasisPiece | UnsolvablePiece | Pivot | Crossing
Events = Generator[Event, None, None]


@dataclass(frozen=True)
class IntervalTracer:
    """A problem prepared for tracing."""

    problem: ParametricQP
    log: bool = False

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """The names of items in a log."""
        if not self.log:
            return None
        variables, rows = self.postsolve.reduced.variables, self.postsolve.reduced.rows
        problem = self.problem
        return (*(problem.names[j] for j in variables), *(problem.row_names[i] for i in rows))

    @cached_property
    def postsolve(self) -> Postsolve:
        """How items of the reduced problem correspond to those of the problem."""
        return Postsolve(presolve(self.problem))

    @cached_property
    def scaled(self) -> ScaledProblem:
        """The reduced problem in scaled units."""
        return scale_problem(self.postsolve.reduced)

    @cached_property
    def crossing_bounds(self) -> CrossingBounds:
        """Bounds that may cross, and penalties that may become negative."""
        return find_crossing_bounds(self.problem, self.postsolve.reduced.slacks)

    def events(
        self, begin: Number, stop: Number, states: States | None = None, max_pivots: int = sys.maxsize
    ) -> Events:
        """Yield the pieces and pivots between two ends; `begin` must be finite.

        A tie at the beginning that takes more than `max_pivots` pivots raises `LargeTieError`.
        """
        direction = 1 if stop >= begin else -1
        # Exact, because the search resumes at the exact root of the proof before.
        at: Number = RATIONAL.number(begin)
        while True:
            # Crossed bounds are proved directly: the engine assumes that lower ≤ upper.
            blocked = self.crossing_bounds.violated(at)
            item_states: Array | NoStart | None = None
            if blocked is None:
                item_states = self._start(float(at), states)
                states = None
                if not isinstance(item_states, NoStart):
                    yield from self._follow(item_states, (at, stop), direction, max_pivots)
                    return
                blocked = self._proof(item_states.item_states, item_states.ray)
            unsolvable = self._unsolvable_piece(blocked, at, stop, direction)
            yield unsolvable
            if not unsolvable.obstruction.vanishes_at(unsolvable.exact[1]):
                return
            at = unsolvable.exact[1]

    def _start(self, mu: float, states: States | None) -> Array | NoStart:
        return find_start(self.scaled, mu) if states is None else self.postsolve.item_states(states)

    def _follow(
        self, item_states: Array, ends: tuple[Number, Number], direction: int, max_pivots: int
    ) -> Events:
        """Follow the path from a solution to where it ends, and prove that there is none beyond."""
        at, stop = ends
        # The trace never passes the mu at which bounds cross, so bounds stay ordered on the way.
        edge, wall = self.crossing_bounds.edge(RATIONAL.number(stop), direction)
        basis = WorkingBasis(self.scaled.lcp, item_states, float(at))
        ray: UnblockedRay | None = None
        if float(at) == float(edge):
            yield point_on(basis, float(at))
            ray = UnblockedRay(float(at), -1, 0) if wall is not None else None
        else:
            moved = False
            tracer = EventTracer(basis, direction, self.names)
            for step in tracer.trace(float(at), float(edge), max_pivots):
                if isinstance(step, UnblockedRay):
                    ray = step
                    # The problem may be solvable at this mu alone, which is then a piece of its own.
                    if not moved:
                        yield point_on(basis, float(at))
                else:
                    moved = moved or isinstance(step, BasisPiece)
                    yield step
        if ray is None and wall is None:
            return
        if ray is None or ray.item < 0:
            assert wall is not None
            # The proof of crossing bounds holds from the exact root on.
            yield self._unsolvable_piece(wall, edge, stop, direction)
        elif ray.mu != float(stop):
            proof = self._proof(basis.states, ray)
            # The proof holds from its exact root on; the mu at which the trace ended is rounded.
            root = proof.root
            yield self._unsolvable_piece(
                proof, RATIONAL.number(ray.mu) if root is None else root, stop, direction
            )

    def _proof(self, item_states: Array, ray: UnblockedRay) -> Obstruction:
        """Return the exact proof behind an unblocked ray."""
        states = self.postsolve.all_states(item_states)
        obstruction = obstruction_of(self.problem, states, self._move(item_states, ray))
        # Float64 found the ray; only its exact form counts as a proof.
        if not is_proof(self.problem, obstruction):
            raise _unconfirmed(ray.mu)
        return obstruction

    def _move(self, item_states: Array, ray: UnblockedRay) -> Move:
        """Return what moves along an unblocked ray in terms of the problem."""
        postsolve, reduced = self.postsolve, self.postsolve.reduced
        step, count = item_states[ray.item], len(reduced.variables)
        if ray.item < count:
            j = int(reduced.variables[ray.item])
            row = int(postsolve.row_of[j])
            if row < 0:
                return Move("x" if VALUE_FIXED[step] else "z", j, ray.sense)
            sense = -ray.sense if postsolve.is_turned[j] else ray.sense
            return Move("value" if VALUE_FIXED[step] else "y", row, sense)
        i = int(reduced.rows[ray.item - count])
        slack = int(postsolve.slack_of[i])
        if slack >= 0 and step in (BELOW, ABOVE):
            entry = reduced.slacks.entries[np.flatnonzero(reduced.slacks.rows == i)[0]]
            return Move("z", slack, -ray.sense if entry > 0 else ray.sense)
        return Move("value" if VALUE_FIXED[step] else "y", i, ray.sense)

    def _unsolvable_piece(
        self, obstruction: Obstruction, at: Number, stop: Number, direction: int
    ) -> UnsolvablePiece:
        """Return the piece on which an obstruction holds, from `at` on."""
        begin, end, root = RATIONAL.number(at), RATIONAL.number(stop), obstruction.root
        value = obstruction.value
        course = value[1] * direction
        if root is not None and course > 0 and not _is_before(end, root, direction):
            end = root
        # A proof that is 0 at its beginning still counts if it holds just beyond.
        holds = value[0] + begin * value[1] < 0 or (value[0] + begin * value[1] == 0 and course < 0)
        if not holds:
            raise _unconfirmed(FLOAT.number(begin))
        return UnsolvablePiece(FLOAT.number(begin), FLOAT.number(end), (begin, end), obstruction)


def _is_before(mu: Number, other: Number, direction: int) -> bool:
    return mu < other if direction > 0 else mu > other


def _unconfirmed(mu: Number) -> NumericalTroubleError:
    return NumericalTroubleError(
        "at mu = {found} exact arithmetic does not confirm that there is no solution",
        found=shown(mu),
        interval=(mu, mu),
        **EXACT_REMEDY,
    )


@dataclass(frozen=True, eq=False)
class PieceSequence:
    """Pieces in ascending order: the states on the first one, then the changes."""

    first: Array
    pieces: tuple[BasisPiece, ...]

    def last_states(self) -> Array:
        """Return the states on the last piece."""
        item_states = self.first.copy()
        for piece in self.pieces[1:]:
            item_states[piece.changes.items] = piece.changes.after
        return item_states


def ascending(pieces: Sequence[BasisPiece]) -> PieceSequence:
    """Return the pieces of one trace in ascending order."""
    assert pieces[0].item_states is not None
    sequence_of = _merged(pieces)
    sequence = PieceSequence(pieces[0].item_states, tuple(sequence_of))
    if sequence_of[-1].end >= sequence_of[0].start:
        return sequence
    turned = [
        BasisPiece(piece.end, piece.start, None, _reversed(later), piece.unknowns, piece.values, piece.pivots)
        for piece, later in zip(sequence_of, [*sequence_of[1:], None], strict=True)
    ]
    return PieceSequence(sequence.last_states(), tuple(reversed(turned)))


def _merged(pieces: Sequence[BasisPiece]) -> list[BasisPiece]:
    """Return the pieces, with those that change no state merged into the one before."""
    result = [pieces[0]]
    for piece in pieces[1:]:
        if len(piece.changes.items):
            result.append(piece)
        else:
            result[-1] = replace(result[-1], end=piece.end)
    return result


def _reversed(piece: BasisPiece | None) -> StateChanges:
    if piece is None:
        return NO_CHANGES
    return StateChanges(piece.changes.items, piece.changes.after, piece.changes.before)


def join(left: PieceSequence, right: PieceSequence) -> PieceSequence:
    """Return two sequences that meet at one mu as one; a piece that crosses the seam stays one piece."""
    here, there = left.last_states(), right.first
    moved = np.flatnonzero(here != there)
    first = replace(right.pieces[0], changes=StateChanges(moved, here[moved], there[moved]))
    if len(moved):
        return PieceSequence(left.first, (*left.pieces, first, *right.pieces[1:]))
    through = replace(left.pieces[-1], end=first.end)
    return PieceSequence(left.first, (*left.pieces[:-1], through, *right.pieces[1:]))


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
    changes = [piece.changes for piece in sequence.pieces]
    counts = [len(change.items) for change in changes]
    items = np.concatenate([change.items for change in changes]).astype(np.int64)
    item_states = np.concatenate([change.after for change in changes]).astype(np.int64)
    shown, codes = postsolve.states(items, item_states)
    weights = 1 + (postsolve.second[items] >= 0)
    owner = np.repeat(np.arange(len(changes)), counts)
    widths = np.bincount(owner, weights, len(changes)).astype(np.int64)
    unknowns = np.concatenate([piece.unknowns for piece in sequence.pieces], dtype=np.int32)
    values = np.concatenate([piece.values for piece in sequence.pieces])
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
        _ends([len(piece.unknowns) for piece in sequence.pieces]),
    )


def _ends(counts: Sequence[int] | Array) -> Array:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
