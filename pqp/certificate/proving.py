"""The proof of the pieces of a path one after the other: exactly, after exact pivots, or up to a bound.

A piece is proved from its states where that is cheap enough; many such pieces are evaluated together. Where a
float piece is not exactly optimal, a few exact pivots may put its basis right (`correction`); otherwise what
it states is bounded (`bounds`). Exact documents have to be right as they are.
"""

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import perf_counter
from typing import Any

from flint import fmpq

from pqp.certificate.bounds import BOUND_TOLERANCE, Ledger, RoughError
from pqp.certificate.conditions import MuWindow
from pqp.certificate.correction import Correction, corrected
from pqp.certificate.cover import (
    BOUNDED,
    CORRECTED,
    EXACT,
    TOLERANCE,
    MisfitError,
    ProvedPiece,
    displacement,
    earlier,
    later,
    located,
    prove_unsolvable,
    read_piece,
    require_continuity,
    require_somewhere,
)
from pqp.certificate.diagonal import LARGEST_DIAGONAL_CASE, is_diagonal_case
from pqp.certificate.document import approximate, entry, items
from pqp.certificate.optimality import is_optimal_at, optimal_spans
from pqp.certificate.points import BoundedPiece, StatedPiece
from pqp.certificate.problem import Problem
from pqp.certificate.rationals import Span
from pqp.certificate.solution import Solution, derive
from pqp.certificate.stated import compare_stated
from pqp.certificate.states import ActiveSet, Snapshot
from pqp.errors import CertificateError

# Pieces are evaluated together, in tables of about this many numbers: enough for products of matrices to pay,
# few enough to stay in a cache.
BATCH_NUMBERS, SHORTEST_BATCH, LONGEST_BATCH = 2**15, 8, 64


class Work:
    """How much exact work a piece may take, in microseconds of an ordinary machine.

    A trace takes about 40 µs per piece, 0.4 µs per unknown and 0.1 ns per nonzero entry of the data (measured
    on choices, lasso, fused lasso and trend filters). An exact solve of `k` unknowns takes about `k` to the
    power 2.4, times 0.8 µs for float64 data and less in proportion to their length: 0.2, 3.7 and 54 ms at
    10, 30 and 100. Exact work may take as much time as a few traces of the whole path, and more for short
    paths. The rule counts work, not time, so that a path has one certificate on all machines.
    """

    TRACES = 4.0
    # For short paths: a second, and less with the square of their length once there are more than 50 pieces;
    # and a little at the beginning of every path.
    SPARE, SHORT, BEGIN = 1e6, 50, 5e3
    # Pieces whose bound is too large may take some seconds more.
    EXTRA = 1e7
    # One piece may take this many times its own share of what is left.
    LARGEST_SHARE = 8.0

    def __init__(self, problem: Problem, pieces: int, is_unlimited: bool, deadline: float) -> None:
        self._problem = problem
        self._per_piece = 40.0 + 1e-4 * problem.entries
        self._left = self.BEGIN + self.SPARE / max(1.0, pieces / self.SHORT) ** 2
        self._pieces = max(pieces, 1)
        self._is_unlimited, self._deadline = is_unlimited, deadline
        self._has_begun = False
        self._share, self._extra = 0.0, self.EXTRA

    def cost(self, active: ActiveSet, unknowns: int) -> float:
        """Return about how long the exact solution of a piece takes that states so many unknowns."""
        problem, free, held = self._problem, len(active.free), len(active.targets)
        # the first time all data are made rationals
        start = 0.0 if self._has_begun or problem.P.is_diagonal else 3.0 * problem.P.entries
        cost = 20.0 + start + unknowns + 0.8 * problem.bits / 53 * unknowns**2.4
        if is_diagonal_case(problem, (), ()) and held * free <= LARGEST_DIAGONAL_CASE:
            return cost + held * free * (0.05 + 0.002 * held) + 0.5 * free
        # unknowns that are not stated are read off, each from a row of P and of A
        cost += max(free + held - unknowns, 0) * (3.0 + problem.P.entries / problem.n)
        return cost + (held * free * (1.0 + 0.04 * held) if problem.P.is_diagonal else 0.0)

    def allows(self, cost: float, is_needed: bool = False) -> bool:
        """Return whether this much work is left for a piece, and count it if so."""
        if perf_counter() > self._deadline:
            return False
        if is_needed and cost <= self._extra:
            self._extra -= cost
            return True
        largest = max(self._share, self.LARGEST_SHARE * self._left / self._pieces)
        if not self._is_unlimited and cost > min(self._left, largest):
            return False
        self._left -= cost
        self._has_begun = True
        return True

    def begin(self, unknowns: int) -> None:
        """Count a piece and what tracing it took."""
        self._share = self.TRACES * (self._per_piece + 0.4 * unknowns)
        self._left += self._share
        self._pieces = max(self._pieces - 1, 1)


@dataclass
class Plan:
    """What earlier rounds of the proof found: each round proves all pieces, and may ask for another one.

    `bounded` are pieces that are bounded in any case: their exact sets do not meet those of their neighbours.
    `solved` are solved exactly, whatever that costs: their bounds are too large. With `takes_all_scales`, the
    numbers of all optimal pieces count for the scales of bounds, and not only those of bounded ones. `ends`
    replace inaccurate stated ones between bounded pieces: piece k goes from number k to number k + 1.
    """

    bounded: dict[int, CertificateError] = field(default_factory=dict)
    solved: set[int] = field(default_factory=set)
    takes_all_scales: bool = False
    ends: dict[int, fmpq] = field(default_factory=dict)

    def revise(self, error: MisfitError | RoughError, pieces: Sequence[ProvedPiece]) -> bool:
        """Return whether another round may prove what this one could not."""
        if isinstance(error, RoughError):
            if not self.takes_all_scales and any(piece.proof == EXACT for piece in pieces):
                self.takes_all_scales = True
                return True
            ends = {
                k: mu
                for k, mu in error.closer_ends.items()
                if k not in self.ends and 0 < k < len(pieces) and displacement(mu, pieces[k].lo) <= TOLERANCE
            }
            if ends:
                self.ends |= ends
                return True
            # those that have a reason were solved, and are not exactly optimal
            new = error.unsolved - self.solved
            self.solved |= new
            return bool(new)
        near = range(max(error.number - 1, 0), min(error.number + 1, len(pieces)))
        found = {k: error for k in near if pieces[k].status == "optimal" and pieces[k].proof != BOUNDED}
        is_new = bool(found.keys() - self.bounded.keys())
        self.bounded |= found
        return is_new


@dataclass
class Draft:
    """A piece on its way: its states and, if solved, its exact solution; or why it is not exactly optimal."""

    number: int
    segment: Any
    piece: ProvedPiece
    states: Snapshot | None = None
    solution: Solution | None = None
    reason: CertificateError | None = None
    correction: Correction | None = None
    # what is stated is the corrected solution, and not only near it
    is_confirmed: bool = False

    def bound(self, plan: Plan, reason: CertificateError | None) -> None:
        """Let this piece be bounded: it holds from one end to the other, up to that bound."""
        self.reason = self.reason or reason
        lo, hi = plan.ends.get(self.number, self.piece.lo), plan.ends.get(self.number + 1, self.piece.hi)
        if lo is not None and hi is not None and lo > hi:
            lo, hi = self.piece.lo, self.piece.hi
        self.piece = self.piece._replace(span=Span(lo, hi), x=None, proof=BOUNDED)


class Prover:
    """Proves the segments of a document."""

    def __init__(
        self,
        document: Mapping[str, Any],
        problem: Problem,
        tolerance: fmpq,
        work: Work,
        plan: Plan,
    ) -> None:
        self.problem, self.tolerance, self.work, self.plan = problem, tolerance, work, plan
        self.is_float = bool(tolerance)
        # how far a stated number is from the exact one, at most
        self.deviation = 0.0
        self.ledger = Ledger(problem)
        self._document = document
        self._active = ActiveSet(problem)
        if document.get("states") is not None:
            self._active.set_all(document["states"], "states")

    def pieces(self) -> Iterator[ProvedPiece]:
        """Yield the segments as proved pieces, without their solutions."""
        segments = items(entry(self._document, "segments", "document"), None, "segments")
        fitting = BATCH_NUMBERS // (self.problem.n + self.problem.m + 1)
        size = max(SHORTEST_BATCH, min(LONGEST_BATCH, fitting))
        before: list[Draft] = []
        for start in range(0, len(segments), size):
            drafts = [self._draft(i, segments[i]) for i in range(start, min(start + size, len(segments)))]
            self._prove_exactly(drafts)
            joined = before + drafts
            is_last = start + size >= len(segments)
            self._join(joined, is_last)
            # the last one may still be bounded, depending on the piece after it, and move the end before it
            done, before = (joined, []) if is_last else (joined[:-2], joined[-2:])
            self._measure(done)
            for draft in done:
                # One solution at a time, so that memory does not grow with the number of pieces.
                yield draft.piece._replace(x=None)

    def _draft(self, number: int, segment: Any) -> Draft:
        place = f"segments[{number}]"
        piece = read_piece(segment, place)
        if piece.status != "optimal":
            piece = prove_unsolvable(self.problem, segment, piece, self.is_float)
            self.ledger.largest_violation = max(self.ledger.largest_violation, piece.violation)
            return Draft(number, segment, piece)
        with located(piece):
            if "changes" in segment and not self._active.is_set:
                message = "{argument} need `states` to start from"
                raise CertificateError(message, argument=f"{place}: changes")
            if "changes" in segment:
                self._active.change(segment["changes"], f"{place}: changes")
            else:
                self._active.set_all(segment, place)
        draft = Draft(number, segment, piece)
        self._solve(draft)
        return draft

    def _solve(self, draft: Draft) -> None:
        """Derive the exact solution of a piece, if it is not too large."""
        segment, piece = draft.segment, draft.piece
        unknowns = self._unknowns(segment)
        self.work.begin(unknowns)
        flaw = self.plan.bounded.get(draft.number) or self.problem.P.flaw
        if self.is_float and (flaw or not self._may_solve(draft.number, self._active, unknowns)):
            draft.states, draft.reason = self._active.snapshot(), flaw
            return
        try:
            with located(piece):
                draft.solution = derive(self._active, piece.place)
            draft.states = draft.solution.active
        except CertificateError as error:
            # numbers may be right even if float64 took dependent rows for independent ones
            if not self.is_float:
                raise
            draft.states, draft.reason = self._active.snapshot(), error

    def _compare_stated(self, drafts: Sequence[Draft]) -> None:
        """Compare what is stated with the exact solutions; float pieces that are wrong are not solved."""
        claims = [(draft.segment, draft.solution, draft.piece.place) for draft in drafts if draft.solution]
        deviation, errors = compare_stated(claims, self.tolerance)
        self.deviation = max(self.deviation, deviation)
        for draft, error in zip(drafts, errors, strict=True):
            if error is not None:
                draft.reason, draft.solution = error, None
                if not self.is_float:
                    with located(draft.piece):
                        raise error
                self._correct(draft)

    def _unknowns(self, segment: Any) -> int:
        """Return how many unknowns an exact solve has, more or less: those stated of a compact segment."""
        moving = segment.get("moving")
        if isinstance(moving, Mapping):
            stated = [moving.get(key) for key in ("variables", "rows")]
            return sum(len(part) for part in stated if isinstance(part, Sized))
        return self._largest_system(self._active)

    def _correct(self, draft: Draft) -> None:
        """Look for the exactly optimal bases around a piece."""
        assert draft.states is not None
        found = corrected(
            draft.states,
            draft.piece,
            self.tolerance,
            lambda active: self._may_solve(draft.number, active, self._largest_system(active)),
        )
        if found is None:
            return
        with located(draft.piece):
            stated = StatedPiece.read(draft.states, draft.segment, draft.piece.place)
        ends = draft.piece.lo, draft.piece.hi
        if found.is_near(stated, ends, approximate(self.tolerance)):
            draft.correction = found
            draft.is_confirmed = found.confirms(stated, ends, BOUND_TOLERANCE)

    def _largest_system(self, active: ActiveSet) -> int:
        """Return how many unknowns an exact solve has at most: rows that hold a variable are read off."""
        held, free = len(active.targets), len(active.free)
        return held if self.problem.P.is_diagonal else max(held, free)

    def _may_solve(self, number: int, active: ActiveSet, unknowns: int) -> bool:
        """Return whether an exact solve is cheap enough, or asked for."""
        return self.work.allows(self.work.cost(active, unknowns), number in self.plan.solved)

    def _prove_exactly(self, drafts: Sequence[Draft]) -> None:
        """Find the exact spans of all drafts that are solved; the others are bounded or corrected."""
        self._compare_stated([draft for draft in drafts if draft.solution is not None])
        solved = [(draft, draft.solution) for draft in drafts if draft.solution is not None]
        windows = [draft.piece.window(self.tolerance) for draft, _ in solved]
        spans = list(optimal_spans([solution for _, solution in solved], windows)) if solved else []
        for (draft, solution), span in zip(solved, spans, strict=True):
            piece = draft.piece
            # At a single mu only the values there count: functions that differ may meet just at this point.
            if piece.lo is not None and piece.lo == piece.hi and not span.holds_at(piece.lo):
                span = Span(piece.lo, piece.lo) if is_optimal_at(solution, piece.lo) else span
            draft.piece = piece._replace(span=span, x=solution.x)
            draft.solution = None
            try:
                require_somewhere(draft.piece)
            except CertificateError as error:
                if not self.is_float:
                    raise
                draft.reason = error
                self._correct(draft)
        for draft in drafts:
            if draft.piece.status == "optimal" and (draft.reason or draft.piece.x is None):
                self._settle(draft)

    def _settle(self, draft: Draft) -> None:
        """Let a piece be corrected if that was possible, bounded otherwise."""
        if draft.correction is None:
            draft.bound(self.plan, None)
            return
        found = draft.correction
        draft.piece = draft.piece._replace(span=found.span, x=found.last.x, proof=CORRECTED)

    def _join(self, drafts: Sequence[Draft], is_last: bool) -> None:
        """Let neighbours meet: where exact sets leave a hole, the piece that falls short is bounded."""
        if self.is_float:
            for k, draft in enumerate(drafts):
                self._require_ends(draft, draft.number == 0, is_last and k == len(drafts) - 1)
            # twice: a piece that is bounded because of its right neighbour may have to reach to its left one
            for left, right in [*pairwise(drafts), *pairwise(drafts)]:
                if _are_apart(left, right):
                    self._close(left, right)
        for left, right in pairwise(drafts):
            first_x = right.correction.first.x if right.correction else right.piece.x
            if left.piece.proof != BOUNDED and right.piece.proof != BOUNDED:
                require_continuity(self.problem, left.piece, right.piece._replace(x=first_x))

    def _require_ends(self, draft: Draft, is_first: bool, is_last: bool) -> None:
        """Bound a first or last piece that misses the end of the path by more than rounding."""
        piece, tolerance = draft.piece, self.tolerance
        if piece.status != "optimal" or piece.proof == BOUNDED or not (is_first or is_last):
            return
        starts_late = displacement(later(piece.span.lo, piece.lo), piece.lo) > tolerance
        ends_early = displacement(earlier(piece.span.hi, piece.hi), piece.hi) > tolerance
        # None is no end: a set with an end does not reach that far
        starts_late |= piece.lo is None and piece.span.lo is not None
        ends_early |= piece.hi is None and piece.span.hi is not None
        if (is_first and starts_late) or (is_last and ends_early):
            missed = piece.lo if is_first and starts_late else piece.hi
            draft.bound(self.plan, MisfitError([piece], missed, draft.number))

    def _close(self, left: Draft, right: Draft) -> None:
        """Correct or bound what falls short; then let a bounded piece reach to its exact neighbour."""
        mu = left.piece.hi
        if mu is None or mu != right.piece.lo:
            return  # the ends do not fit, which `require_chain` reports
        misfit = MisfitError([left.piece, right.piece], mu, right.number)
        is_exact = BOUNDED not in (left.piece.proof, right.piece.proof)
        for draft, reached in ((left, left.piece.span.hi), (right, right.piece.span.lo)):
            falls_short = reached != mu and (later(reached, mu) == mu) == (draft is left)
            # a bounded neighbour can reach over a rounding error, not over a part of a piece
            is_wide = is_exact or displacement(reached, mu) > self.tolerance
            if falls_short and is_wide and draft.piece.status == "optimal":
                draft.reason = misfit
                self._correct(draft)
                self._settle(draft)
        if not _are_apart(left, right):
            return
        # the stated end of a bounded optimal piece may be off by rounding, as any number of it
        if left.piece.proof == BOUNDED and left.piece.status == "optimal":
            left.piece = left.piece._replace(span=replace(left.piece.span, hi=right.piece.span.lo))
        elif right.piece.proof == BOUNDED and right.piece.status == "optimal":
            right.piece = right.piece._replace(span=replace(right.piece.span, lo=left.piece.span.hi))

    def _measure(self, drafts: Sequence[Draft]) -> None:
        """Bound what is stated of those drafts that are not exactly as stated."""
        waiting, exact = [], []
        for draft in drafts:
            piece = draft.piece
            if piece.status != "optimal":
                continue
            # a correction finds the solution wherever it starts: unless the stated one is the same, a bound
            # has to show that it is off by no more than a rounding error
            if piece.proof == EXACT or (piece.proof == CORRECTED and draft.is_confirmed):
                exact += [self._stated(draft)] if self.plan.takes_all_scales else []
                continue
            bounded = self._stated(draft)
            if not self.problem.consistent_span.holds_between(bounded.window.lo, bounded.window.hi):
                found = str(self.problem.consistent_span)
                message = "{argument} has consistent limits only for {found}"
                raise draft.reason or CertificateError(message, argument=piece.title, found=found)
            waiting.append(bounded)
        self.ledger.add_sizes(exact)
        self.ledger.add(waiting)

    def _stated(self, draft: Draft) -> BoundedPiece:
        """Return what a piece states, and where: a bounded piece reaches to its exact neighbours."""
        assert draft.states is not None
        piece = draft.piece
        with located(piece):
            stated = StatedPiece.read(draft.states, draft.segment, piece.place)
        ends = (piece.span.lo, piece.span.hi) if piece.proof == BOUNDED else (piece.lo, piece.hi)
        return BoundedPiece(draft.number, piece.title, MuWindow(*ends), stated, draft.reason)


def _are_apart(left: Draft, right: Draft) -> bool:
    """Return whether the sets of two neighbours leave a hole."""
    stop, start = left.piece.span.hi, right.piece.span.lo
    return stop is not None and start is not None and start > stop
