"""exact_repair: the few items that move, traced exactly, give the pieces of the whole problem."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given

import pqp
from pqp.errors import NumericalTroubleError
from pqp.linalg.tolerances import ACCURATE
from pqp.records.unsolvable import UnsolvablePiece
from pqp.revised import exact_repair
from pqp.revised.basis import WorkingBasis
from pqp.revised.exact_repair import ExactTracer, Repair, sequence_of, take_subproblem
from pqp.revised.interval_trace import IntervalTracer, PieceSequence, ascending
from pqp.revised.states import BETWEEN, UPPER
from pqp.revised.trace import NO_CHANGES, BasisPiece
from pqp.revised.verify import violations
from tests.pqp.internal.test_verify import leg_of
from tests.refusals import may_refuse, refused_at_most
from tests.strategies import instances
from tests.systems import FEW


class TooLarge(ExactTracer):
    """A problem that is said to be too large to be traced exactly as a whole."""

    @property
    def is_small_enough(self) -> bool:
        return False


def repair_of(tracer, exact_tracer=ExactTracer):
    return Repair(tracer.postsolve, tracer.scaled, exact_tracer(tracer.problem))


@FEW
@given(instance=instances())
def test_excerpt_of_what_moves_has_the_solution_of_the_line(instance):
    sequence, tracer = leg_of(*instance)
    line, item_states = sequence.pieces[0], sequence.first
    assume(line.start < line.end)
    subproblem = take_subproblem(tracer.postsolve, item_states, tracer.scaled.lcp.is_unknown(item_states))
    middle = (line.start + line.end) / 2
    found = next(iter(ExactTracer(subproblem.problem).pieces(subproblem.own_states(), middle, middle)))
    assert not isinstance(found, UnsolvablePiece)
    values = subproblem.whole(found.x, found.y)[tracer.postsolve.items[line.unknowns]]
    mine = line.values * tracer.scaled.d[line.unknowns][:, None]
    np.testing.assert_allclose(values @ (1, middle), mine @ (1, middle), rtol=1e-9, atol=1e-9)


@refused_at_most(0.1)
@FEW
@given(instance=instances())
def test_pieces_of_subproblems_are_those_of_the_whole_problem(instance):
    sequence, tracer = leg_of(*instance)
    begin, stop = sequence.pieces[0].start, sequence.pieces[-1].end
    assume(begin < stop)
    whole = list(repair_of(tracer).pieces(sequence.first, begin, stop))
    with may_refuse():  # a subproblem cannot prove unsolvability
        parts = list(repair_of(tracer, TooLarge).pieces(sequence.first, begin, stop))
    assume(not any(isinstance(event, UnsolvablePiece) for event in whole))
    assert parts[-1].end == whole[-1].end
    assert (violations(sequence_of(parts), tracer.scaled.lcp) <= ACCURATE).all()


def wide(n=400):
    """More variables than exact arithmetic carries: min Σ ½xᵢ² − mu aᵢxᵢ, 0 ≤ x ≤ 1, a = 1, ..., 5, 200, ...

    x₁, ..., x₅ reach 1 at mu = 1, 1/2, 1/3, 1/4, 1/5, the others at 1/200.
    """
    slopes = np.where(np.arange(n) < 5, np.arange(n) + 1, 200)
    return pqp.ParametricQP(np.eye(n), -pqp.mu * slopes, lower=0, upper=1)


class TestLargeProblem:
    def traced(self):
        tracer = IntervalTracer(wide())
        lines = [event for event in tracer.events(0.1, 2.0) if isinstance(event, BasisPiece)]
        return repair_of(tracer), ascending(lines)

    def test_line_that_skips_bends_is_replaced_by_exact_ones(self):
        repair, sequence = self.traced()
        skipping = PieceSequence(sequence.first, (replace(sequence.pieces[0], end=2.0),))
        mended = repair.repaired(skipping)
        bends = [1 / 5, 1 / 4, 1 / 3, 1 / 2, 1]
        np.testing.assert_allclose([line.start for line in mended.pieces], [0.1, *bends], rtol=1e-15)
        assert not repair.exact_tracer.is_small_enough

    def test_line_on_a_wrong_basis_is_replaced(self):
        """On it x₁ stays at 1 although its multiplier has the wrong sign."""
        repair, sequence = self.traced()
        wrong = sequence.last_states()
        wrong[4], wrong[0] = BETWEEN, UPPER
        basis = WorkingBasis(repair.scaled.lcp, wrong, 0.6)
        line = BasisPiece(0.6, 0.7, None, NO_CHANGES, basis.inverse.items.copy(), basis.unknown_lines())
        (mended,) = repair.repaired(PieceSequence(wrong, (line,))).pieces
        assert mended.unknowns.tolist() == [0]
        np.testing.assert_allclose(mended.values, [[0, 1]], atol=1e-15)

    def test_what_cannot_be_mended_is_refused_with_its_interval_and_condition(self, monkeypatch):
        repair, sequence = self.traced()
        monkeypatch.setattr(exact_repair, "MOST_PAIRS", 3)
        skipping = PieceSequence(sequence.first, (replace(sequence.pieces[0], end=2.0),))
        with pytest.raises(NumericalTroubleError, match=r"on \[0.1, 2.0\].*condition") as caught:
            repair.repaired(skipping)
        assert caught.value.interval == (0.1, 2.0)
