"""The tableau engine: the paper's path algorithm on a dense dictionary (section 3.3).

Solve at the start, follow the basis to the end of its validity, run the criss-cross method again just
beyond, and so on. An unsolvable piece lasts while the row that proves it is negative.
"""

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property

from pqp.errors import EXACT_REMEDY, InternalError, NumericalTroubleError, PQPError
from pqp.lcp.crisscross import Infeasible, Rule, Solved, criss_cross
from pqp.lcp.dictionary import Dictionary, dictionary_of, first_dictionary, with_free_pairs_in
from pqp.lcp.pivot_log import Pivot
from pqp.lcp.problem import PerturbedMu, spread
from pqp.lcp.proofs import is_obstruction, is_same_mu, row_vector, unconfirmed
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, RATIONAL, Number, is_infinite, shown
from pqp.linalg.tolerances import WIDE_RANGE
from pqp.records.unsolvable import Obstruction, UnsolvablePiece
from pqp.stopping import Watch
from pqp.tableau.compile import CompiledQP, compile_problem, read_obstruction


@dataclass(frozen=True)
class OptimalPiece:
    """One basis is optimal from `start` to `end`, in the direction of the trace."""

    start: Number
    end: Number
    basis: frozenset[int]
    z: AffineArray
    w: AffineArray
    z_sizes: AffineArray


Event = Pivot | OptimalPiece | UnsolvablePiece
Trace = Generator[Event, None, None]
Pivoting = Generator[Pivot, None, Solved | Infeasible]


@dataclass(frozen=True)
class Tracer:
    """A compiled problem ready to be traced with one pivot rule."""

    compiled: CompiledQP
    rule: Rule

    @cached_property
    def exact(self) -> CompiledQP:
        """The same problem in exact arithmetic, for proofs."""
        if self.compiled.field is RATIONAL:
            return self.compiled
        return compile_problem(self.compiled.problem, RATIONAL)

    def first(self, basis: frozenset[int] | None = None, watch: Watch | None = None) -> Dictionary:
        """Return the dictionary to start from: a known basis, or none; free pairs are in."""
        lcp, check = self.compiled.lcp, None if watch is None else watch.check
        first = first_dictionary(lcp) if basis is None else dictionary_of(lcp, basis, check)
        return with_free_pairs_in(first, check)

    def trace(self, dictionary: Dictionary, begin: Number, stop: Number) -> Trace:
        """Yield what happens between two ends, in this direction, both closed; they may be infinite."""
        direction = (stop > begin) - (stop < begin)
        at = begin
        outcome = yield from self._enter(dictionary, begin, stop, direction)
        while outcome is not None:
            if isinstance(outcome, Solved):
                end = _end_of_validity(outcome.dictionary, direction, stop)
                yield self._optimal_piece(outcome, at, end)
                if end == stop:
                    return
                before, place = outcome.dictionary, PerturbedMu(end, direction)
                outcome = yield from self._pivot(before, place)
                # just beyond the end of a basis it cannot be optimal: the sign that says so was rounded
                if isinstance(outcome, Solved) and outcome.dictionary.basis == before.basis:
                    what = f"no progress at mu = {place}: every step is below rounding error"
                    raise self._trouble(what, end)
            else:
                piece = self._unsolvable_piece(outcome, at, stop, direction)
                end = piece.end
                yield piece
                if not piece.obstruction.vanishes_at(piece.exact[1]):
                    return
                outcome = yield from self._enter(outcome.dictionary, end, stop, direction)
            at = end

    def _enter(
        self, dictionary: Dictionary, mu: Number, stop: Number, direction: int
    ) -> Generator[Event, None, Solved | Infeasible | None]:
        """Begin at mu, or continue where a proof vanishes; None if all has been said.

        The problem may be solvable from here on, at this mu alone, or not at all; that needs one run of the
        method at mu and one just beyond.
        """
        if is_infinite(mu):
            return (yield from self._pivot(dictionary, PerturbedMu(mu)))
        here = yield from self._pivot(dictionary, PerturbedMu(mu))
        if isinstance(here, Infeasible):
            return here
        if mu == stop:
            yield self._optimal_piece(here, mu, mu)
            return None
        beyond = yield from self._pivot(here.dictionary, PerturbedMu(mu, direction))
        if isinstance(beyond, Infeasible):
            yield self._optimal_piece(here, mu, mu)
        return beyond

    def _pivot(self, dictionary: Dictionary, place: PerturbedMu) -> Pivoting:
        """Run the criss-cross method; if it finds no answer, rounding is the reason, or a bug."""
        outcome = yield from criss_cross(dictionary, place, self.rule)
        if isinstance(outcome, Solved | Infeasible):
            return outcome
        raise self._trouble(f"cycling detected at mu = {place} (float64 rounding)", place.mu)

    def _optimal_piece(self, outcome: Solved, start: Number, end: Number) -> OptimalPiece:
        dictionary = outcome.dictionary
        self._confirm(dictionary, (start, end))
        return OptimalPiece(
            start, end, dictionary.basis, dictionary.z(), dictionary.w(), dictionary.z_sizes()
        )

    def _confirm(self, dictionary: Dictionary, ends: tuple[Number, Number]) -> None:
        """Raise if exact arithmetic does not confirm a float basis on delicate data, or on an infinite piece.

        On an infinite piece the slopes decide, and the sign of a rounded slope that should be 0 is arbitrary.
        """
        if self.compiled.field is FLOAT and (self._is_delicate or any(map(is_infinite, ends))):
            mu = unconfirmed(self.exact.lcp, dictionary.basis, ends)
            if mu is not None:
                raise self._trouble(f"at mu = {shown(mu)} exact arithmetic does not confirm the solution", mu)

    @cached_property
    def _is_delicate(self) -> bool:
        """Whether float arithmetic alone cannot be trusted with the signs of these data."""
        return spread(self.compiled.lcp) > WIDE_RANGE

    def _trouble(self, what: str, mu: Number) -> PQPError:
        """Return the error for something that only rounding explains, or a bug if nothing was rounded."""
        if self.compiled.field is RATIONAL:
            return InternalError(f"the exact trace contradicts itself at mu = {shown(mu)}")
        message = f"{what}; the path before is good"
        return NumericalTroubleError(message, (mu, mu), **EXACT_REMEDY)

    def _unsolvable_piece(
        self, outcome: Infeasible, at: Number, stop: Number, direction: int
    ) -> UnsolvablePiece:
        """Return the piece on which the proof behind an infeasible row holds, from `at` on."""
        obstruction = self._obstruction(outcome, at, direction)
        begin, end, root = RATIONAL.number(at), RATIONAL.number(stop), obstruction.root
        course = obstruction.value.slope * direction
        if root is not None and course > 0 and not _is_before(end, root, direction):
            end = root
        if root is not None and course < 0 and is_same_mu(root, at, self.compiled.field):
            begin = root  # the float `at` is this root, rounded
        return UnsolvablePiece(at, self.compiled.field.number(end), (begin, end), obstruction)

    def _obstruction(self, outcome: Infeasible, at: Number, direction: int) -> Obstruction:
        """Return the exact proof behind an infeasible row, and make sure that it is one."""
        # from the basis and the exact data: the float row is only where to look
        t = -outcome.sign * row_vector(self.exact.lcp, outcome.dictionary.basis, outcome.row)
        mu = RATIONAL.number(at)
        place = PerturbedMu(mu) if is_infinite(mu) else PerturbedMu(mu, direction)
        obstruction = read_obstruction(self.exact, t)
        if is_obstruction(self.exact.lcp, t) and self._holds(obstruction, place):
            return obstruction
        raise self._trouble(
            f"at mu = {place} exact arithmetic does not confirm that there is no solution", at
        )

    def _holds(self, obstruction: Obstruction, place: PerturbedMu) -> bool:
        """Return whether a proof holds at a place; float64 rounds mu, so its root may be next to it."""
        if place.sign_of(obstruction.value) < 0:
            return True
        root = obstruction.root
        return (
            root is not None
            and obstruction.value.slope * place.side < 0
            and is_same_mu(root, place.mu, self.compiled.field)
        )


def _end_of_validity(dictionary: Dictionary, direction: int, stop: Number) -> Number:
    """Return the first mu, not beyond stop, at which a basic variable reaches zero."""
    end, field = stop, dictionary.lcp.field
    for i, sign in enumerate(dictionary.slope_signs()):
        if sign * direction < 0:
            constant, slope = (dictionary.table.entry(i, dictionary.size + part) for part in (0, 1))
            root = field.number(-constant / slope)
            if _is_before(root, end, direction):
                end = root
    # a breakpoint within rounding error of the end would leave a piece of no length
    return stop if is_same_mu(end, stop, field) else end


def _is_before(mu: Number, other: Number, direction: int) -> bool:
    return mu < other if direction > 0 else mu > other
