r"""Rescue: where float64 cannot decide, a stretch of the path by the exact tableau.

The last basis that float64 is sure of is handed to exact arithmetic, which goes on from there, or starts anew
at that mu, for as long as it takes to get past the difficulty.

Excerpts: the part of a large problem in which something may happen, small enough for exact arithmetic.

Near a basis most items stay where they are: variables at a limit, rows off or at their cap. With x_N and y_N
of these known as lines in mu, the others, F and W, solve a problem of their own, with costs and limits

.. math:: c_F + P_{FN} x_N - A_{NF}^\top y_N, \qquad r_W - A_{WN} x_N .

Its solution is that of the whole problem for as long as no item left out reaches an end; that is for who
asked to check.

Repair: lines that float64 got wrong, or could not get at all, from exact pieces.

A small problem is traced exactly as a whole. Of a large one an excerpt is: the items that may move; one that
was left out and would have moved joins, and the excerpt is traced again from there.
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
from pqp.revised.basis import Walk
from pqp.revised.passes import Leg, glue
from pqp.revised.postsolve import Translation
from pqp.revised.rays import exact_block
from pqp.revised.scaling import Scene
from pqp.revised.states import BETWEEN
from pqp.revised.trace import NO_CHANGES, Changes, Line
from pqp.revised.verify import far_on, misses, misses_again, place_on
from pqp.tableau.compile import CompiledQP, basis_of, compile_problem, read_segment
from pqp.tableau.trace import OptimalPiece, Tracer

# Beyond this many pairs an exact dictionary takes minutes, and the trouble is reported instead.
LARGEST = 150


@dataclass(frozen=True, eq=False)
class ExactPiece:
    """One exact piece: its ends in the direction of the trace, its states, and x and y as float lines."""

    start: Number
    end: Number
    states: States
    x: Array
    y: Array


@dataclass(frozen=True)
class Rescuer:
    """A problem ready to be traced exactly."""

    problem: ParametricQP

    @cached_property
    def compiled(self) -> CompiledQP:
        """The exact complementarity problem."""
        return compile_problem(self.problem, RATIONAL)

    @property
    def is_able(self) -> bool:
        """Whether the problem is small enough."""
        size = self.problem.n + 2 * self.problem.m
        return size <= LARGEST and self.compiled.lcp.size <= LARGEST

    def pieces(
        self, states: States | None, begin: Number, stop: Number
    ) -> Iterator[ExactPiece | UnsolvablePiece]:
        """Yield the exact pieces and stretches from one mu on, starting with a basis if there is one."""
        tracer = Tracer(self.compiled, LEAST_INDEX)
        for event in tracer.trace(self._first(tracer, states), RATIONAL.number(begin), RATIONAL.number(stop)):
            if isinstance(event, OptimalPiece):
                yield self._read(event)
            elif isinstance(event, UnsolvablePiece):
                yield event

    def _first(self, tracer: Tracer, states: States | None) -> Dictionary:
        """Return the dictionary of some states; that of no basis if they are none in exact arithmetic."""
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
class Excerpt:
    """The problem of some items; `items` tells which of the whole problem they are, `states` all states."""

    problem: ParametricQP
    items: Array
    states: States

    def own_states(self) -> States:
        """Return the states of the excerpt's own items."""
        return self.states[self.items]

    def whole_states(self, own: States) -> States:
        """Return the states of the whole problem when the excerpt's items are in some states."""
        states = self.states.copy()
        states[self.items] = own
        return states

    def whole(self, x: Array, y: Array) -> Array:
        """Return x, then y, of the excerpt at the places of the whole problem, 0 elsewhere."""
        result = np.zeros((len(self.states), 2))
        result[self.items] = np.concatenate([x, y])
        return result


def take_excerpt(translation: Translation, steps: Array, moving: Array) -> Excerpt:
    """Return the problem of the reduced items that may move; all others stay on their steps."""
    problem, states = translation.reduction.problem, translation.all_states(steps)
    variables, rows = _kept(translation, moving)
    x, y = translation.known_x(states, RATIONAL), translation.known_y(states, RATIONAL)
    x[variables], y[rows] = 0, 0
    row_lower, row_upper = _limits(problem, rows, x)
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
    return Excerpt(part, np.concatenate([variables, problem.n + rows]), states)


def _kept(translation: Translation, moving: Array) -> tuple[Array, Array]:
    """Return the variables and rows that an excerpt must have so that some reduced items can move."""
    reduction, count = translation.reduction, len(translation.reduction.variables)
    variables, rows = reduction.variables[moving[:count]], reduction.rows[moving[count:]]
    limiting, slacks = translation.row_of[variables], translation.slack_of[rows]
    free = variables[:0] if reduction.elimination is None else reduction.elimination.variables
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


def _limits(problem: ParametricQP, rows: Array, x: Array) -> tuple[Affine, Affine]:
    """Return the limits of some rows, less what the variables left out contribute."""
    data, others = problem.data(RATIONAL), np.flatnonzero(np.any(x != 0, axis=1))
    limits = [np.column_stack(limit)[rows] for limit in (data.row_lower, data.row_upper)]
    if len(others) and len(rows):
        shift = exact_product(exact_matrix(problem.A[rows][:, others]), x[others])
        limits = [limit - shift for limit in limits]
        for limit in limits:
            limit[np.isinf(limit[:, 0].astype(float)), 1] = 0
    lower, upper = map(_affine, limits)
    return lower, upper


def _block(P: Hessian, variables: Array) -> Hessian | MatrixData:
    """Return the block of a Hessian that belongs to some variables, in the form the Hessian has."""
    if isinstance(P, Matrix):
        return P.values[variables][:, variables]
    if isinstance(P, Gram):
        return Gram(P.F[variables], None if P.d is None else P.d[variables], P.w)
    return PairGram(P.K, P.pairs[variables])


def _affine(lines: Array) -> Affine:
    return Affine(lines[:, 0], lines[:, 1])


# An excerpt to which items were added this often is no excerpt any more.
ROUNDS = 20
# More lines than this that only exact arithmetic can mend are a sign of data float64 cannot carry.
MENDED = 16


@dataclass(frozen=True)
class Repair:
    """What it takes to turn exact pieces of a problem into lines of its reduction."""

    translation: Translation
    scene: Scene
    rescuer: Rescuer

    def lines(self, steps: Array | None, begin: Number, stop: Number) -> Iterator[Line | UnsolvablePiece]:
        """Yield exact lines from one mu to another, each with all its steps.

        Of a problem that is too large for that, the steps at the first mu must be known.
        """
        if not self.rescuer.is_able:
            if steps is None:
                raise _unhelped()
            yield from self._lines_in_excerpts(steps, begin, stop)
            return
        states = None if steps is None else self.translation.all_states(steps)
        for piece in self.rescuer.pieces(states, begin, stop):
            yield piece if isinstance(piece, UnsolvablePiece) else self._line(piece)

    def _lines_in_excerpts(self, steps: Array, begin: Number, stop: Number) -> Iterator[Line]:
        """Yield exact lines for as long as no item outside the excerpt moves; if one does, it joins."""
        moving = self._near(steps, float(begin))
        for _ in range(ROUNDS):
            late = np.zeros_like(moving)
            for piece in self._pieces(take_excerpt(self.translation, steps, moving), begin, stop):
                line = self._line(piece)
                late = self._overlooked(line, moving)
                if np.any(late):
                    break
                yield line
                assert line.steps is not None
                begin, steps = piece.end, line.steps
            if not np.any(late):
                return
            moving |= late
        raise _unhelped()

    def _near(self, steps: Array, mu: float) -> Array:
        """Tell which items are solved for, or close to an end, at mu."""
        walk = Walk(self.scene.setting, steps, mu)
        gaps = walk.gaps()[:, :, 0].min(axis=0)
        return np.asarray(self.scene.setting.is_unknown(steps) | (gaps <= NEAR_LIMIT * _size(walk)))

    def _overlooked(self, line: Line, moving: Array) -> Array:
        """Tell which items outside an excerpt are beyond an end somewhere on a line."""
        assert line.steps is not None
        walk = Walk(self.scene.setting, line.steps, place_on(line))
        gaps, size = walk.gaps(), ACCURATE * _size(walk)
        far = gaps[:, :, 0] + (line.end - walk.mu) * gaps[:, :, 1] if np.isfinite(line.end) else gaps[:, :, 0]
        return np.asarray(~moving & (np.minimum(gaps[:, :, 0], far).min(axis=0) < -size))

    def _pieces(self, excerpt: Excerpt, begin: Number, stop: Number) -> Iterator[ExactPiece]:
        """Yield exact pieces of an excerpt in terms of the whole problem; an excerpt proves no dead end."""
        rescuer, n = Rescuer(excerpt.problem), self.rescuer.problem.n
        if not rescuer.is_able:
            raise _unhelped()
        try:
            for piece in rescuer.pieces(excerpt.own_states(), begin, stop):
                if isinstance(piece, UnsolvablePiece):
                    raise _unhelped()
                values, states = excerpt.whole(piece.x, piece.y), excerpt.whole_states(piece.states)
                yield replace(piece, states=states, x=values[:n], y=values[n:])
        except InternalError:  # rounded data need not be convex at face value
            raise _unhelped() from None

    def _line(self, piece: ExactPiece) -> Line:
        steps = self.translation.steps(piece.states)
        unknowns = np.flatnonzero(self.scene.setting.is_unknown(steps))
        values = np.concatenate([piece.x, piece.y])[self.translation.items[unknowns]]
        values = values / self.scene.d[unknowns, None]
        return Line(float(piece.start), float(piece.end), steps, NO_CHANGES, unknowns, values)

    def repaired(self, leg: Leg) -> Leg:
        """Return the leg, lines that miss the conditions solved for anew or replaced by exact ones.

        A line that moves when it is solved for anew stands on a wrong basis, however little it misses then.
        """
        known = misses(leg, self.scene.setting)
        found = np.flatnonzero(~(known <= ACCURATE))
        if not len(found):
            return leg
        lines = list(leg.lines)
        for number in found.tolist():
            lines[number] = self._solved_anew(leg, number)
        moved = {number for number in found.tolist() if self._differ(leg.lines[number], lines[number])}
        leg = Leg(leg.first, tuple(lines))
        left = misses_again(leg, self.scene.setting, known, found)
        wrong = {n: float(left[n]) for n in found.tolist() if n in moved or not left[n] <= ACCURATE}
        if len(wrong) <= MENDED or self.rescuer.is_able:
            return self._replaced(leg, wrong)
        worst = int(np.argmax(left))
        if not left[worst] <= KKT_RESIDUAL:
            raise self._lost(leg.lines[worst], float(left[worst]))
        return leg

    def _solved_anew(self, leg: Leg, number: int) -> Line:
        """Return a line, its numbers computed from its basis and the data."""
        line = leg.lines[number]
        return replace(self.solved_at(_steps_on(leg, number), line, place_on(line)), end=line.end)

    def solved_at(self, steps: Array, line: Line, mu: float) -> Line:
        """Return a line that ends at mu, its numbers computed there from its basis and the data."""
        walk = Walk(self.scene.setting, steps, mu)
        walk.polish()
        items = walk.inverse.items.copy()
        return replace(line, end=mu, unknowns=items, values=self._on_meeting_limits(walk, items, mu))

    def _on_meeting_limits(self, walk: Walk, items: Array, mu: float) -> Array:
        """Return the lines of the unknowns; variables whose limits meet at mu are there, and not beside.

        Their round-off would be all that is left of rows in which nothing else is.
        """
        lines, stairs = walk.unknown_lines(), self.scene.setting.stairs
        low, high = (limits[BETWEEN, items] @ (1.0, mu) for limits in (stairs.lo, stairs.hi))
        meets = (low == high) & ~self.scene.setting.is_row[items]
        lines[meets, 0] = low[meets] - mu * lines[meets, 1]
        return lines

    def reaches(self, steps: Array, line: Line, mu: float) -> bool:
        """Tell whether the basis of a line is optimal where it starts and at mu."""
        try:
            carried = self.solved_at(steps, replace(line, steps=None, changes=NO_CHANGES), mu)
        except NumericalTroubleError:
            return False
        return bool(misses(Leg(steps, (carried,)), self.scene.setting)[0] <= ACCURATE)

    def _differ(self, one: Line, other: Line) -> bool:
        """Tell whether two lines begin at different points, beside how far they go, in given units."""
        is_row, begin, end = self.scene.setting.is_row, place_on(one), far_on(one)
        first, second = (self._point(line, begin) for line in (one, other))
        gap, size = np.abs(first - second), np.maximum(np.abs(first), np.abs(self._point(one, end)))
        kinds = (~is_row, is_row)
        return any(gap[kind].max(initial=0.0) > SAME_POINT * size[kind].max(initial=0.0) for kind in kinds)

    def _point(self, line: Line, mu: float) -> Array:
        """Return where the unknowns of a line are at mu, in the units of the problem."""
        point = np.zeros(len(self.scene.d))
        point[line.unknowns] = (line.values @ (1.0, mu)) * self.scene.d[line.unknowns]
        return point

    def _replaced(self, leg: Leg, wrong: dict[int, float]) -> Leg:
        """Return the leg, lines that miss the conditions replaced by what exact arithmetic says there."""
        if not wrong:
            return leg
        result: Leg | None = None
        steps = leg.first.copy()
        for number, line in enumerate(leg.lines):
            steps[line.changes.items] = line.changes.after
            part = Leg(steps.copy(), (replace(line, changes=NO_CHANGES),))
            if number in wrong:
                part = self._exact_leg(part, wrong[number])
            result = part if result is None else glue(result, part)
        assert result is not None
        return result

    def _exact_leg(self, part: Leg, miss: float) -> Leg:
        """Return what exact arithmetic says between the ends of one line, which misses the conditions."""
        line = part.lines[0]
        try:
            found = list(self.lines(part.first, line.start, line.end))
        except NumericalTroubleError:
            if miss <= KKT_RESIDUAL:
                return part
            raise self._lost(line, miss) from None
        pieces = [piece for piece in found if isinstance(piece, Line)]
        # a rounded end may lie just outside the solvable stretch
        if not pieces or any(
            isinstance(piece, UnsolvablePiece) and not _is_rounding(piece) for piece in found
        ):
            raise self._lost(line, np.inf)
        pieces[0], pieces[-1] = replace(pieces[0], start=line.start), replace(pieces[-1], end=line.end)
        return joined(pieces)

    def _lost(self, line: Line, miss: float) -> NumericalTroubleError:
        R = line.unknowns
        condition = np.linalg.cond(self.scene.system.block(R, R)) if len(R) else 1.0
        return NumericalTroubleError(
            f"float64 lost accuracy on [{line.start}, {line.end}]: the solution misses the optimality "
            f"conditions by {miss:.1e}, the basis has condition {condition:.0e}; "
            'use arithmetic="exact", or scale the data',
            interval=(line.start, line.end),
        )


def joined(lines: list[Line]) -> Leg:
    """Return lines that all state their steps as one leg."""
    legs = [
        Leg(line.steps, (replace(line, steps=None, changes=NO_CHANGES),))
        for line in lines
        if line.steps is not None
    ]
    result = legs[0]
    for leg in legs[1:]:
        result = glue(result, leg)
    return result


def changes_between(before: Array, after: Array) -> Changes:
    """Return what changes from some steps to others."""
    items = np.flatnonzero(before != after)
    return Changes(items, before[items], after[items])


def _steps_on(leg: Leg, number: int) -> Array:
    return Leg(leg.first, leg.lines[: number + 1]).last()


def _is_rounding(stretch: UnsolvablePiece) -> bool:
    """Tell whether a stretch is no longer than the rounding of its ends."""
    return abs(float(stretch.end) - float(stretch.start)) <= TIE * (1.0 + abs(float(stretch.start)))


def _size(walk: Walk) -> float:
    """Return the largest number of a basis."""
    return float(np.abs(walk.v[:, 0]).max(initial=0.0))


def _unhelped() -> NumericalTroubleError:
    return NumericalTroubleError("the part of the problem that moves is too large for exact arithmetic")
