r"""Exact repair: pieces that float64 got wrong, or could not trace at all, by the exact tableau.

The last basis that float64 is sure of is given to exact arithmetic, which continues from there, or starts
again at that mu, until the difficulty is passed. A small problem is traced exactly as a whole. For a large
one only the items that may move are: near a basis most items keep their state. With x_N and y_N of these
known as affine functions of mu, the others, F and W, solve a subproblem with costs and bounds

.. math:: c_F + P_{FN} x_N - A_{NF}^\top y_N, \qquad r_W - A_{WN} x_N .

Its solution is that of the whole problem for as long as no other item reaches an end. An item that does joins
the subproblem, which is then traced again from there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pqp.errors import InternalError, NumericalTroubleError
from pqp.lcp.crisscross import LEAST_INDEX
from pqp.lcp.dictionary import Dictionary
from pqp.linalg.field import RATIONAL, Array, Number, exact_product, float_array
from pqp.linalg.matrices import exact_matrix
from pqp.linalg.tolerances import ACCURATE, NEAR_LIMIT
from pqp.model.affine import Affine
from pqp.model.problem import ParametricQP
from pqp.records.states import Basis, States
from pqp.records.unsolvable import UnsolvablePiece
from pqp.revised.event_kernels import HI_SLOPE, LO_SLOPE, SLOPE, VALUE
from pqp.revised.pieces import Piece
from pqp.revised.postsolve import Postsolve
from pqp.revised.scaling import ScaledProblem
from pqp.revised.trace import Tracer
from pqp.stopping import Watch
from pqp.tableau.compile import CompiledQP, basis_of, compile_problem, read_segment
from pqp.tableau.trace import OptimalPiece
from pqp.tableau.trace import Tracer as TableauTracer

# Beyond this many pairs an exact dictionary takes minutes, and the trouble is reported instead.
MOST_PAIRS = 150


@dataclass(frozen=True, eq=False)
class ExactPiece:
    """One exact piece: its ends in the direction of the trace, its states, and x and y in float64."""

    start: Number
    end: Number
    states: States
    x: Array
    y: Array


@dataclass(frozen=True)
class ExactTracer:
    """A problem ready to be traced exactly."""

    problem: ParametricQP

    @cached_property
    def compiled(self) -> CompiledQP:
        """The exact complementarity problem."""
        return compile_problem(self.problem, RATIONAL)

    @property
    def is_small_enough(self) -> bool:
        """Whether the problem is small enough."""
        # A bound on the data first: to compile a large problem in rationals takes long itself.
        size = self.problem.n + 2 * self.problem.m
        return size <= MOST_PAIRS and self.compiled.lcp.size <= MOST_PAIRS

    def pieces(
        self, states: States | None, begin: Number, stop: Number, watch: Watch
    ) -> Iterator[ExactPiece | UnsolvablePiece]:
        """Yield the exact pieces from one mu on, from a given basis if there is one."""
        tracer = TableauTracer(self.compiled, LEAST_INDEX)
        first = self._first(tracer, states, watch)
        for event in tracer.trace(first, RATIONAL.number(begin), RATIONAL.number(stop)):
            watch.check()
            if isinstance(event, OptimalPiece):
                yield self._read(event)
            elif isinstance(event, UnsolvablePiece):
                yield event

    def _first(self, tracer: TableauTracer, states: States | None, watch: Watch) -> Dictionary:
        """Return the dictionary of some states; the first one if they are no basis in exact arithmetic."""
        if states is None:
            return tracer.first(watch=watch)
        try:
            return tracer.first(basis_of(self.compiled, Basis.from_codes(states, self.problem.n)), watch)
        except InternalError:
            return tracer.first(watch=watch)

    def _read(self, piece: OptimalPiece) -> ExactPiece:
        segment = read_segment(self.compiled, piece.basis, piece.z, piece.w, (piece.start, piece.end))
        assert segment.basis is not None
        assert segment.x is not None
        assert segment.y is not None
        x, y = (np.column_stack([float_array(part) for part in pair]) for pair in (segment.x, segment.y))
        return ExactPiece(piece.start, piece.end, segment.basis.codes(), x, y)


@dataclass(frozen=True, eq=False)
class Subproblem:
    """The problem of some items: `items` are theirs in the whole problem, `states` those of all items."""

    problem: ParametricQP
    items: Array
    states: States

    def own_states(self) -> States:
        """Return the states of the subproblem's own items."""
        return self.states[self.items]

    def whole_states(self, own: States) -> States:
        """Return the states of the whole problem when the subproblem's items are in some states."""
        states = self.states.copy()
        states[self.items] = own
        return states

    def whole(self, x: Array, y: Array) -> Array:
        """Return x, then y, of the subproblem at the positions of the whole problem, 0 elsewhere."""
        result = np.zeros((len(self.states), 2))
        result[self.items] = np.concatenate([x, y])
        return result


def take_subproblem(postsolve: Postsolve, item_states: Array, moving: Array) -> Subproblem:
    """Return the problem of the reduced items that may move; all others keep their states."""
    problem, states = postsolve.reduced.problem, postsolve.all_states(item_states)
    variables, rows = _kept(postsolve, moving)
    x, y = postsolve.known_x(states, RATIONAL), postsolve.known_y(states, RATIONAL)
    # What the subproblem solves for must not enter its costs and bounds as known.
    x[variables], y[rows] = 0, 0
    row_lower, row_upper = _bounds(problem, rows, x)
    part = ParametricQP(
        problem.P.restricted(variables),
        _costs(problem, variables, x, y),
        problem.A[rows][:, variables],
        row_lower,
        row_upper,
        problem.lower[variables],
        problem.upper[variables],
        problem.penalty[rows],
    )
    return Subproblem(part, np.concatenate([variables, problem.n + rows]), states)


def _kept(postsolve: Postsolve, moving: Array) -> tuple[Array, Array]:
    """Return the variables and rows that a subproblem needs so that some reduced items can move."""
    reduced, count = postsolve.reduced, len(postsolve.reduced.variables)
    variables, rows = reduced.variables[moving[:count]], reduced.rows[moving[count:]]
    limiting, slacks = postsolve.row_of[variables], postsolve.slack_of[rows]
    # What presolve removed comes back, since the exact tableau takes problems without presolve.
    free = variables[:0] if reduced.elimination is None else reduced.elimination.variables
    return (
        np.unique(np.concatenate([variables, slacks[slacks >= 0], free])).astype(np.int64),
        np.unique(np.concatenate([rows, limiting[limiting >= 0]])).astype(np.int64),
    )


def _costs(problem: ParametricQP, variables: Array, x: Array, y: Array) -> Affine:
    """Return c_F + P_FN x_N − A_NFᵀ y_N."""
    data = problem.data(RATIONAL)
    result = np.column_stack(data.c)[variables]
    others, active = (np.flatnonzero(np.any(known != 0, axis=1)) for known in (x, y))
    if len(others):
        result = result + exact_product(problem.P.exact_block(variables, others), x[others])
    if len(active):
        result = result - exact_product(exact_matrix(problem.A[active][:, variables]).T, y[active])
    return _affine(result)


def _bounds(problem: ParametricQP, rows: Array, x: Array) -> tuple[Affine, Affine]:
    """Return the bounds of some rows, less the contribution of the other variables."""
    data, others = problem.data(RATIONAL), np.flatnonzero(np.any(x != 0, axis=1))
    bounds = [np.column_stack(limit)[rows] for limit in (data.row_lower, data.row_upper)]
    if len(others) and len(rows):
        shift = exact_product(exact_matrix(problem.A[rows][:, others]), x[others])
        bounds = [limit - shift for limit in bounds]
        for limit in bounds:
            # An infinite limit has slope 0 by convention, and the shift has changed that.
            limit[np.isinf(limit[:, 0].astype(float)), 1] = 0
    lower, upper = map(_affine, bounds)
    return lower, upper


def _affine(lines: Array) -> Affine:
    return Affine(lines[:, 0], lines[:, 1])


# A subproblem that had to be enlarged this often will not stay small.
MOST_ENLARGEMENTS = 20


@dataclass(frozen=True)
class Repair:
    """Exact pieces of a problem as pieces of its reduced problem."""

    postsolve: Postsolve
    scaled: ScaledProblem
    exact_tracer: ExactTracer

    def pieces(
        self, item_states: Array | None, begin: Number, stop: Number, watch: Watch
    ) -> Iterator[Piece | UnsolvablePiece]:
        """Yield exact pieces from one mu to another, each with all its states.

        If the problem is too large for that, the states at the first mu must be known.
        """
        if not self.exact_tracer.is_small_enough:
            if item_states is None:
                raise _not_attempted("the problem has more than {found} pairs", MOST_PAIRS)
            yield from self._pieces_of_subproblems(item_states, begin, stop, watch)
            return
        states = None if item_states is None else self.postsolve.all_states(item_states)
        for exact_piece in self.exact_tracer.pieces(states, begin, stop, watch):
            yield exact_piece if isinstance(exact_piece, UnsolvablePiece) else self._piece(exact_piece)

    def _pieces_of_subproblems(
        self, item_states: Array, begin: Number, stop: Number, watch: Watch
    ) -> Iterator[Piece]:
        """Yield exact pieces while no item outside the subproblem moves; one that does joins."""
        moving = self._near_an_end(item_states, float(begin))
        for _ in range(MOST_ENLARGEMENTS):
            late = np.zeros_like(moving)
            for exact_piece in self._exact_pieces(
                take_subproblem(self.postsolve, item_states, moving), begin, stop, watch
            ):
                piece = self._piece(exact_piece)
                late = self._violated_outside(piece, moving)
                if np.any(late):
                    break
                yield piece
                begin, item_states = exact_piece.end, piece.states
            if not np.any(late):
                return
            moving |= late
        raise _not_attempted("the active subproblem was enlarged {found} times", MOST_ENLARGEMENTS)

    def _near_an_end(self, item_states: Array, mu: float) -> Array:
        """Return which items are solved for, or close to an end, at mu."""
        tracer = Tracer(self.scaled.lcp, item_states, mu)
        gaps = tracer.gaps().min(axis=0)
        return np.asarray(self.scaled.lcp.is_unknown(item_states) | (gaps <= NEAR_LIMIT * _size(tracer)))

    def _violated_outside(self, piece: Piece, moving: Array) -> Array:
        """Return which items outside a subproblem are beyond an end somewhere on a piece."""
        (start,), (end,) = piece.sequence().finite_ends()
        tracer = Tracer(self.scaled.lcp, piece.states, float(start))
        # Gaps are affine: both ends of the piece decide about all of it.
        gaps, lines = tracer.gaps(), tracer.lines
        distance = float(end) - tracer.mu
        rates = np.stack([lines[SLOPE] - lines[LO_SLOPE], lines[HI_SLOPE] - lines[SLOPE]])
        smallest = np.minimum(gaps, gaps + distance * rates).min(axis=0)
        return np.asarray(~moving & (smallest < -ACCURATE * _size(tracer)))

    def _exact_pieces(
        self, subproblem: Subproblem, begin: Number, stop: Number, watch: Watch
    ) -> Iterator[ExactPiece]:
        """Yield exact pieces of a subproblem in terms of the whole problem; it cannot prove unsolvability."""
        exact_tracer, n = ExactTracer(subproblem.problem), self.exact_tracer.problem.n
        if not exact_tracer.is_small_enough:
            raise _not_attempted("the active subproblem has more than {found} pairs", MOST_PAIRS)
        try:
            for exact_piece in exact_tracer.pieces(subproblem.own_states(), begin, stop, watch):
                if isinstance(exact_piece, UnsolvablePiece):
                    raise _not_attempted("the active subproblem has no solution")
                values, states = (
                    subproblem.whole(exact_piece.x, exact_piece.y),
                    subproblem.whole_states(exact_piece.states),
                )
                yield replace(exact_piece, states=states, x=values[:n], y=values[n:])
        except InternalError:  # rounded data need not be exactly convex
            raise _not_attempted("the active subproblem is not exactly convex") from None

    def _piece(self, exact_piece: ExactPiece) -> Piece:
        item_states = self.postsolve.item_states(exact_piece.states)
        unknowns = np.flatnonzero(self.scaled.lcp.is_unknown(item_states))
        values = np.concatenate([exact_piece.x, exact_piece.y])[self.postsolve.items[unknowns]]
        # Back to scaled units, in which all pieces of a sequence are kept.
        values = values / self.scaled.d[unknowns, None]
        return Piece(float(exact_piece.start), float(exact_piece.end), item_states, unknowns, values)


def _size(tracer: Tracer) -> float:
    """Return the largest v of a basis."""
    return float(np.abs(tracer.lines[VALUE, tracer.basis.items]).max(initial=0.0))


def _not_attempted(why: str, found: object = None) -> NumericalTroubleError:
    return NumericalTroubleError(f"exact repair not attempted: {why}", found=found)
