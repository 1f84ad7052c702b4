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
from pqp.linalg.matrices import MatrixData, exact_matrix
from pqp.linalg.tolerances import ACCURATE, KKT_RESIDUAL, NEAR_LIMIT, SAME_POINT, TIE
from pqp.model.affine import Affine
from pqp.model.hessian import Gram, Hessian, Matrix, PairGram
from pqp.model.problem import ParametricQP
from pqp.records.states import Basis, States
from pqp.records.unsolvable import UnsolvablePiece
from pqp.revised.basis import WorkingBasis
from pqp.revised.interval_trace import PieceSequence, join
from pqp.revised.postsolve import Postsolve
from pqp.revised.rays import exact_block
from pqp.revised.scaling import ScaledProblem
from pqp.revised.states import BETWEEN
from pqp.revised.trace import NO_CHANGES, BasisPiece, StateChanges
from pqp.revised.verify import finite_end, finite_start, violations, violations_after
from pqp.tableau.compile import CompiledQP, basis_of, compile_problem, read_segment
from pqp.tableau.trace import OptimalPiece, Tracer

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
        self, states: States | None, begin: Number, stop: Number
    ) -> Iterator[ExactPiece | UnsolvablePiece]:
        """Yield the exact pieces from one mu on, from a given basis if there is one."""
        tracer = Tracer(self.compiled, LEAST_INDEX)
        for event in tracer.trace(self._first(tracer, states), RATIONAL.number(begin), RATIONAL.number(stop)):
            if isinstance(event, OptimalPiece):
                yield self._read(event)
            elif isinstance(event, UnsolvablePiece):
                yield event

    def _first(self, tracer: Tracer, states: States | None) -> Dictionary:
        """Return the dictionary of some states; the first one if they are no basis in exact arithmetic."""
        if states is None:
            return tracer.first()
        try:
            return tracer.first(basis_of(self.compiled, Basis.from_codes(states, self.problem.n)))
        except InternalError:
            return tracer.first()

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
        _block(problem.P, variables),
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
        result = result + exact_product(exact_block(problem.P, variables, others), x[others])
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


def _block(P: Hessian, variables: Array) -> Hessian | MatrixData:
    """Return the block of a Hessian that belongs to some variables, with the same structure."""
    if isinstance(P, Matrix):
        return P.values[variables][:, variables]
    if isinstance(P, Gram):
        return Gram(P.F[variables], None if P.d is None else P.d[variables], P.w)
    return PairGram(P.K, P.pairs[variables])


def _affine(lines: Array) -> Affine:
    return Affine(lines[:, 0], lines[:, 1])


# A subproblem that had to be enlarged this often will not stay small.
MOST_ENLARGEMENTS = 20
# If more pieces than this need exact arithmetic, the data are beyond float64 and repair would take too long.
MOST_EXACT = 16


@dataclass(frozen=True)
class Repair:
    """Exact pieces of a problem as pieces of its reduced problem."""

    postsolve: Postsolve
    scaled: ScaledProblem
    exact_tracer: ExactTracer

    def pieces(
        self, item_states: Array | None, begin: Number, stop: Number
    ) -> Iterator[BasisPiece | UnsolvablePiece]:
        """Yield exact pieces from one mu to another, each with all its states.

        If the problem is too large for that, the states at the first mu must be known.
        """
        if not self.exact_tracer.is_small_enough:
            if item_states is None:
                raise _not_attempted("the problem has more than {found} pairs", MOST_PAIRS)
            yield from self._pieces_of_subproblems(item_states, begin, stop)
            return
        states = None if item_states is None else self.postsolve.all_states(item_states)
        for exact_piece in self.exact_tracer.pieces(states, begin, stop):
            yield exact_piece if isinstance(exact_piece, UnsolvablePiece) else self._piece(exact_piece)

    def _pieces_of_subproblems(self, item_states: Array, begin: Number, stop: Number) -> Iterator[BasisPiece]:
        """Yield exact pieces while no item outside the subproblem moves; one that does joins."""
        moving = self._near_an_end(item_states, float(begin))
        for _ in range(MOST_ENLARGEMENTS):
            late = np.zeros_like(moving)
            for exact_piece in self._exact_pieces(
                take_subproblem(self.postsolve, item_states, moving), begin, stop
            ):
                piece = self._piece(exact_piece)
                late = self._violated_outside(piece, moving)
                if np.any(late):
                    break
                yield piece
                assert piece.item_states is not None
                begin, item_states = exact_piece.end, piece.item_states
            if not np.any(late):
                return
            moving |= late
        raise _not_attempted("the active subproblem was enlarged {found} times", MOST_ENLARGEMENTS)

    def _near_an_end(self, item_states: Array, mu: float) -> Array:
        """Return which items are solved for, or close to an end, at mu."""
        basis = WorkingBasis(self.scaled.lcp, item_states, mu)
        gaps = basis.gaps()[:, :, 0].min(axis=0)
        return np.asarray(self.scaled.lcp.is_unknown(item_states) | (gaps <= NEAR_LIMIT * _size(basis)))

    def _violated_outside(self, piece: BasisPiece, moving: Array) -> Array:
        """Return which items outside a subproblem are beyond an end somewhere on a piece."""
        assert piece.item_states is not None
        basis = WorkingBasis(self.scaled.lcp, piece.item_states, finite_start(piece))
        # Gaps are affine: both ends of the piece decide about all of it.
        gaps, size = basis.gaps(), ACCURATE * _size(basis)
        far = (
            gaps[:, :, 0] + (piece.end - basis.mu) * gaps[:, :, 1]
            if np.isfinite(piece.end)
            else gaps[:, :, 0]
        )
        return np.asarray(~moving & (np.minimum(gaps[:, :, 0], far).min(axis=0) < -size))

    def _exact_pieces(self, subproblem: Subproblem, begin: Number, stop: Number) -> Iterator[ExactPiece]:
        """Yield exact pieces of a subproblem in terms of the whole problem; it cannot prove unsolvability."""
        exact_tracer, n = ExactTracer(subproblem.problem), self.exact_tracer.problem.n
        if not exact_tracer.is_small_enough:
            raise _not_attempted("the active subproblem has more than {found} pairs", MOST_PAIRS)
        try:
            for exact_piece in exact_tracer.pieces(subproblem.own_states(), begin, stop):
                if isinstance(exact_piece, UnsolvablePiece):
                    raise _not_attempted("the active subproblem has no solution")
                values, states = (
                    subproblem.whole(exact_piece.x, exact_piece.y),
                    subproblem.whole_states(exact_piece.states),
                )
                yield replace(exact_piece, states=states, x=values[:n], y=values[n:])
        except InternalError:  # rounded data need not be exactly convex
            raise _not_attempted("the active subproblem is not exactly convex") from None

    def _piece(self, exact_piece: ExactPiece) -> BasisPiece:
        item_states = self.postsolve.item_states(exact_piece.states)
        unknowns = np.flatnonzero(self.scaled.lcp.is_unknown(item_states))
        values = np.concatenate([exact_piece.x, exact_piece.y])[self.postsolve.items[unknowns]]
        # Back to scaled units, in which all pieces of a sequence are kept.
        values = values / self.scaled.d[unknowns, None]
        return BasisPiece(
            float(exact_piece.start), float(exact_piece.end), item_states, NO_CHANGES, unknowns, values
        )

    def repaired(self, sequence: PieceSequence) -> PieceSequence:
        """Return the sequence with wrong pieces solved again or replaced by exact ones.

        A piece that moves when it is solved again has a wrong basis, however small its violation is then.
        """
        # All pieces are checked from the data, since errors of a long trace do not show in its own numbers.
        known = violations(sequence, self.scaled.lcp)
        found = np.flatnonzero(~(known <= ACCURATE))
        if not len(found):
            return sequence
        pieces = list(sequence.pieces)
        for number in found.tolist():
            pieces[number] = self._solved_anew(sequence, number)
        # A wrong basis can satisfy the conditions by luck of rounding; its solution then lies elsewhere.
        moved = {number for number in found.tolist() if self._differ(sequence.pieces[number], pieces[number])}
        sequence = PieceSequence(sequence.first, tuple(pieces))
        left = violations_after(sequence, self.scaled.lcp, known, found)
        wrong = {n: float(left[n]) for n in found.tolist() if n in moved or not left[n] <= ACCURATE}
        # Cheap repairs come first: exact arithmetic is for the pieces that float64 cannot mend.
        if len(wrong) <= MOST_EXACT or self.exact_tracer.is_small_enough:
            return self._replaced(sequence, wrong)
        worst = int(np.argmax(left))
        if not left[worst] <= KKT_RESIDUAL:
            raise self._inaccurate(sequence.pieces[worst], float(left[worst]))
        return sequence

    def _solved_anew(self, sequence: PieceSequence, number: int) -> BasisPiece:
        """Return a piece with its values computed from its basis and the data."""
        piece = sequence.pieces[number]
        return replace(
            self.solved_at(_states_on(sequence, number), piece, finite_start(piece)), end=piece.end
        )

    def solved_at(self, item_states: Array, piece: BasisPiece, mu: float) -> BasisPiece:
        """Return a piece that ends at mu, with its values computed there from its basis and the data."""
        basis = WorkingBasis(self.scaled.lcp, item_states, mu)
        basis.polish()
        items = basis.inverse.items.copy()
        return replace(piece, end=mu, unknowns=items, values=self._on_coinciding_bounds(basis, items, mu))

    def _on_coinciding_bounds(self, basis: WorkingBasis, items: Array, mu: float) -> Array:
        """Return v of the unknowns; variables whose bounds coincide at mu are exactly there.

        In rows that contain nothing else, only their rounding errors would be left.
        """
        lines, state_table = basis.unknown_lines(), self.scaled.lcp.state_table
        low, high = (bounds[BETWEEN, items] @ (1.0, mu) for bounds in (state_table.lo, state_table.hi))
        meets = (low == high) & ~self.scaled.lcp.is_row[items]
        lines[meets, 0] = low[meets] - mu * lines[meets, 1]
        return lines

    def is_optimal_until(self, item_states: Array, piece: BasisPiece, mu: float) -> bool:
        """Return whether the basis of a piece is optimal where it starts and at mu."""
        try:
            carried = self.solved_at(item_states, replace(piece, item_states=None, changes=NO_CHANGES), mu)
        except NumericalTroubleError:
            return False
        return bool(violations(PieceSequence(item_states, (carried,)), self.scaled.lcp)[0] <= ACCURATE)

    def _differ(self, one: BasisPiece, other: BasisPiece) -> bool:
        """Return whether two pieces begin at different points, relative to their size, in original units."""
        is_row, begin, end = self.scaled.lcp.is_row, finite_start(one), finite_end(one)
        first, second = (self._point(piece, begin) for piece in (one, other))
        gap, size = np.abs(first - second), np.maximum(np.abs(first), np.abs(self._point(one, end)))
        # Variables and rows have different units, so neither may set the scale of the other.
        kinds = (~is_row, is_row)
        return any(gap[kind].max(initial=0.0) > SAME_POINT * size[kind].max(initial=0.0) for kind in kinds)

    def _point(self, piece: BasisPiece, mu: float) -> Array:
        """Return the unknowns of a piece at mu, in the units of the problem."""
        point = np.zeros(len(self.scaled.d))
        point[piece.unknowns] = (piece.values @ (1.0, mu)) * self.scaled.d[piece.unknowns]
        return point

    def _replaced(self, sequence: PieceSequence, wrong: dict[int, float]) -> PieceSequence:
        """Return the sequence with pieces that violate the conditions replaced by exact ones."""
        if not wrong:
            return sequence
        result: PieceSequence | None = None
        item_states = sequence.first.copy()
        for number, piece in enumerate(sequence.pieces):
            item_states[piece.changes.items] = piece.changes.after
            part = PieceSequence(item_states.copy(), (replace(piece, changes=NO_CHANGES),))
            if number in wrong:
                part = self._exact_sequence(part, wrong[number])
            result = part if result is None else join(result, part)
        assert result is not None
        return result

    def _exact_sequence(self, part: PieceSequence, violation: float) -> PieceSequence:
        """Return the exact pieces between the ends of one piece that violates the conditions."""
        original = part.pieces[0]
        try:
            found = list(self.pieces(part.first, original.start, original.end))
        except NumericalTroubleError:
            if violation <= KKT_RESIDUAL:
                return part
            raise self._inaccurate(original, violation) from None
        pieces = [piece for piece in found if isinstance(piece, BasisPiece)]
        # a rounded end may lie just outside the solvable interval
        if not pieces or any(
            isinstance(piece, UnsolvablePiece) and not _is_rounding(piece) for piece in found
        ):
            raise self._inaccurate(original, np.inf)
        pieces[0], pieces[-1] = (
            replace(pieces[0], start=original.start),
            replace(pieces[-1], end=original.end),
        )
        return sequence_of(pieces)

    def _inaccurate(self, piece: BasisPiece, violation: float) -> NumericalTroubleError:
        R = piece.unknowns
        condition = np.linalg.cond(self.scaled.system.block(R, R)) if len(R) else 1.0
        return NumericalTroubleError(
            f"float64 lost accuracy on [{piece.start}, {piece.end}]: the solution violates the optimality "
            f"conditions by {{found}}, the basis has condition {condition:.0e}",
            interval=(piece.start, piece.end),
            found=f"{violation:.1e}",
            remedy="use {setting}, or scale the data",
            setting=("arithmetic", "exact"),
        )


def sequence_of(pieces: list[BasisPiece]) -> PieceSequence:
    """Return pieces that all have their states as one sequence."""
    legs = [
        PieceSequence(piece.item_states, (replace(piece, item_states=None, changes=NO_CHANGES),))
        for piece in pieces
        if piece.item_states is not None
    ]
    result = legs[0]
    for sequence in legs[1:]:
        result = join(result, sequence)
    return result


def changes_between(before: Array, after: Array) -> StateChanges:
    """Return the changes from some states to others."""
    items = np.flatnonzero(before != after)
    return StateChanges(items, before[items], after[items])


def _states_on(sequence: PieceSequence, number: int) -> Array:
    return PieceSequence(sequence.first, sequence.pieces[: number + 1]).last_states()


def _is_rounding(unsolvable: UnsolvablePiece) -> bool:
    """Return whether an unsolvable piece is no longer than the rounding errors of its ends."""
    return abs(float(unsolvable.end) - float(unsolvable.start)) <= TIE * (1.0 + abs(float(unsolvable.start)))


def _size(basis: WorkingBasis) -> float:
    """Return the largest v of a basis."""
    return float(np.abs(basis.v[:, 0]).max(initial=0.0))


def _not_attempted(why: str, found: object = None) -> NumericalTroubleError:
    return NumericalTroubleError(f"exact repair not attempted: {why}", found=found)
