"""The tableau engine: the paper's path algorithm on a dense dictionary (section 3.3).

Solve at the start, follow the basis to the end of its validity, run the criss-cross method again just
beyond, and so on. An unsolvable stretch lasts while the row that proves it is negative.
"""

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property

from pqp.errors import InternalError, NumericalTroubleError, PQPError
from pqp.lcp.crisscross import Infeasible, Rule, Solved, criss_cross
from pqp.lcp.dictionary import Dictionary, dictionary_of, first_dictionary, with_free_pairs_in
from pqp.lcp.log import Pivot
from pqp.lcp.problem import Place, spread
from pqp.lcp.proofs import is_obstruction, is_same_mu, row_vector, unconfirmed
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, RATIONAL, Number, is_infinite, shown
from pqp.linalg.tolerances import WIDE_RANGE
from pqp.tableau.compile import CompiledQP, Obstruction, compile_problem, read_obstruction


@dataclass(frozen=True)
class Piece:
    """One basis is optimal from `start` to `end`, in the direction of the trace."""

    start: Number
    end: Number
    basis: frozenset[int]
    z: AffineArray
    w: AffineArray
    z_sizes: AffineArray


@dataclass(frozen=True)
class Stretch:
    """The LCP has no solution from `start` to `end`, as `obstruction` proves.

    `exact` holds the same ends in rationals. An end at which the proof vanishes is not part of the stretch.
    """

    start: Number
    end: Number
    exact: tuple[Number, Number]
    obstruction: Obstruction


Event = Pivot | Piece | Stretch
Trace = Generator[Event, None, None]
Settling = Generator[Pivot, None, Solved | Infeasible]


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

    def first(self, basis: frozenset[int] | None = None) -> Dictionary:
        """Return the dictionary to start from: a known basis, or none; free pairs are in."""
        lcp = self.compiled.lcp
        return with_free_pairs_in(first_dictionary(lcp) if basis is None else dictionary_of(lcp, basis))

    def trace(self, dictionary: Dictionary, begin: Number, stop: Number) -> Trace:
        """Yield what happens between two ends, in this direction, both closed; they may be infinite."""
        direction = (stop > begin) - (stop < begin)
        at = begin
        outcome = yield from self._enter(dictionary, begin, stop, direction)
        while outcome is not None:
            if isinstance(outcome, Solved):
                end = _end_of_validity(outcome.dictionary, direction, stop)
                yield self._piece(outcome, at, end)
                if end == stop:
                    return
                outcome = yield from self._go_on(outcome.dictionary, Place(end, direction))
            else:
                stretch = self._stretch(outcome, at, stop, direction)
                end = stretch.end
                yield stretch
                if not stretch.obstruction.vanishes_at(stretch.exact[1]):
                    return
                outcome = yield from self._enter(outcome.dictionary, end, stop, direction)
            at = end

    def _enter(
        self, dictionary: Dictionary, mu: Number, stop: Number, direction: int
    ) -> Generator[Event, None, Solved | Infeasible | None]:
        """Begin at mu, or go on where a proof vanishes: solvable from here on, only here, or not."""
        if is_infinite(mu):
            return (yield from self._settle(dictionary, Place(mu)))
        here = yield from self._settle(dictionary, Place(mu))
        if isinstance(here, Infeasible):
            return here
        if mu == stop:
            yield self._piece(here, mu, mu)
            return None
        beyond = yield from self._settle(here.dictionary, Place(mu, direction))
        if isinstance(beyond, Infeasible):
            yield self._piece(here, mu, mu)
        return beyond

    def _go_on(self, dictionary: Dictionary, place: Place) -> Settling:
        """Run the method just beyond the end of a basis, which must not come out as optimal again."""
        outcome = yield from self._settle(dictionary, place)
        if isinstance(outcome, Solved) and outcome.dictionary.basis == dictionary.basis:
            raise self._trouble(f"at mu = {place} round-off hides why the basis ends there", place.mu)
        return outcome

    def _settle(self, dictionary: Dictionary, place: Place) -> Settling:
        """Run the criss-cross method; anything but an answer is round-off, or a bug in exact arithmetic."""
        outcome = yield from criss_cross(dictionary, place, self.rule)
        if isinstance(outcome, Solved | Infeasible):
            return outcome
        raise self._trouble(f"at mu = {place} round-off sends the float tableau in circles", place.mu)

    def _piece(self, outcome: Solved, start: Number, end: Number) -> Piece:
        dictionary = outcome.dictionary
        self._confirm(dictionary, (start, end))
        return Piece(start, end, dictionary.basis, dictionary.z(), dictionary.w(), dictionary.z_sizes())

    def _confirm(self, dictionary: Dictionary, ends: tuple[Number, Number]) -> None:
        """Raise if exact arithmetic does not confirm a float basis that is delicate or holds for ever."""
        if self.compiled.field is FLOAT and (self._is_delicate or any(map(is_infinite, ends))):
            mu = unconfirmed(self.exact.lcp, dictionary.basis, ends)
            if mu is not None:
                raise self._trouble(f"at mu = {shown(mu)} exact arithmetic does not confirm the solution", mu)

    @cached_property
    def _is_delicate(self) -> bool:
        """Whether float arithmetic alone cannot be trusted with the signs of these data."""
        return spread(self.compiled.lcp) > WIDE_RANGE

    def _trouble(self, what: str, mu: Number) -> PQPError:
        """Return the error for something that only round-off explains, or a bug if nothing was rounded."""
        if self.compiled.field is RATIONAL:
            return InternalError(f"the exact trace contradicts itself at mu = {shown(mu)}")
        message = f'{what}; the path before is good; use arithmetic="exact"'
        return NumericalTroubleError(message, interval=(mu, mu))

    def _stretch(self, outcome: Infeasible, at: Number, stop: Number, direction: int) -> Stretch:
        obstruction = self._obstruction(outcome, at, direction)
        begin, end, root = RATIONAL.number(at), RATIONAL.number(stop), _root(obstruction)
        course = obstruction.value[1] * direction
        if root is not None and course > 0 and not _is_before(end, root, direction):
            end = root
        if root is not None and course < 0 and is_same_mu(root, at, self.compiled.field):
            begin = root
        return Stretch(at, self.compiled.field.number(end), (begin, end), obstruction)

    def _obstruction(self, outcome: Infeasible, at: Number, direction: int) -> Obstruction:
        """Return the exact proof behind an infeasible row, and make sure that it is one."""
        t = -outcome.sign * row_vector(self.exact.lcp, outcome.dictionary.basis, outcome.row)
        place = _beside(RATIONAL.number(at), direction)
        obstruction = read_obstruction(self.exact, t)
        if is_obstruction(self.exact.lcp, t) and self._holds(obstruction, place):
            return obstruction
        raise self._trouble(
            f"at mu = {place} exact arithmetic does not confirm that there is no solution", at
        )

    def _holds(self, obstruction: Obstruction, place: Place) -> bool:
        """Tell whether a proof holds at a place; in float, which rounds mu, a root next to it will do."""
        if place.sign_of(obstruction.value) < 0:
            return True
        root = _root(obstruction)
        return (
            root is not None
            and obstruction.value[1] * place.side < 0
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
    return stop if is_same_mu(end, stop, field) else end


def _beside(mu: Number, direction: int) -> Place:
    return Place(mu) if is_infinite(mu) else Place(mu, direction)


def _is_before(mu: Number, other: Number, direction: int) -> bool:
    return mu < other if direction > 0 else mu > other


def _root(obstruction: Obstruction) -> Number | None:
    """Return the mu at which a proof vanishes, None if it never does."""
    constant, slope = obstruction.value
    return -constant / slope if slope else None
