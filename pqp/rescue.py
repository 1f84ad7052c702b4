"""Rescue: where float64 cannot decide, a stretch of the path by the exact tableau.

The last basis that float64 is sure of is handed to exact arithmetic, which goes on from there, or starts anew
at that mu, for as long as it takes to get past the difficulty.

Room: a problem, states and a mu in; exact pieces as states and numbers, one by one, out.
May touch: `errors`, `field`, `compact`, `compilation`, `crisscross`, `reading`, `tableau`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pqp.compact import CODES, STATES, States
from pqp.compilation import CompiledQP, compile_problem
from pqp.crisscross import LEAST_INDEX
from pqp.dictionary import Dictionary
from pqp.errors import InternalError
from pqp.field import RATIONAL, Array, Number, float_array
from pqp.problem import ParametricQP
from pqp.reading import basis_of, read_segment
from pqp.segment import Basis
from pqp.tableau import Piece, Stretch, Tracer

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

    def pieces(self, states: States | None, begin: Number, stop: Number) -> Iterator[ExactPiece | Stretch]:
        """Yield the exact pieces and stretches from one mu on, starting with a basis if there is one."""
        tracer = Tracer(self.compiled, LEAST_INDEX)
        for event in tracer.trace(self._first(tracer, states), RATIONAL.number(begin), RATIONAL.number(stop)):
            if isinstance(event, Piece):
                yield self._read(event)
            elif isinstance(event, Stretch):
                yield event

    def _first(self, tracer: Tracer, states: States | None) -> Dictionary:
        """Return the dictionary of some states; that of no basis if they are none in exact arithmetic."""
        if states is None:
            return tracer.first()
        try:
            return tracer.first(basis_of(self.compiled, basis_from(self.problem, states)))
        except InternalError:
            return tracer.first()

    def _read(self, piece: Piece) -> ExactPiece:
        segment = read_segment(self.compiled, piece.basis, piece.z, piece.w, (piece.start, piece.end))
        assert segment.basis is not None
        assert segment.x is not None
        assert segment.y is not None
        x, y = (np.column_stack([float_array(part) for part in pair]) for pair in (segment.x, segment.y))
        return ExactPiece(piece.start, piece.end, codes_of(segment.basis), x, y)


def basis_from(problem: ParametricQP, states: States) -> Basis:
    """Return states given as codes by their names."""
    names = [STATES[code] for code in states]
    return Basis(tuple(names[: problem.n]), tuple(names[problem.n :]))


def codes_of(basis: Basis) -> States:
    """Return states given by their names as codes."""
    return np.array([CODES[state] for state in (*basis.variables, *basis.rows)], dtype=np.int8)
