"""exact_repair: the few items that move, traced exactly, give the pieces of the whole problem."""

import numpy as np
import pytest
from hypothesis import assume, given

import pqp
from pqp.errors import NumericalTroubleError
from pqp.linalg.tolerances import ACCURATE
from pqp.records.unsolvable import UnsolvablePiece
from pqp.revised import exact_repair
from pqp.revised.exact_repair import ExactTracer, Repair, take_subproblem
from pqp.revised.states import BETWEEN, UPPER
from pqp.revised.verify import violations
from tests.refusals import may_refuse, refused_at_most
from tests.strategies import instances
from tests.systems import FEW, sequence_of, trace_of, unlimited


class TooLarge(ExactTracer):
    """A problem that is said to be too large to be traced exactly as a whole."""

    @property
    def is_small_enough(self) -> bool:
        return False


def repair_of(runner, exact_tracer=ExactTracer):
    return Repair(runner.postsolve, runner.scaled, exact_tracer(runner.problem))


@FEW
@given(instance=instances())
def test_excerpt_of_what_moves_has_the_solution_of_the_line(instance):
    traced = trace_of(*instance)
    sequence, runner = traced.sequence, traced.runner
    line, item_states = sequence.piece(0), sequence.first
    assume(line.start < line.end < np.inf)
    subproblem = take_subproblem(runner.postsolve, item_states, runner.scaled.lcp.is_unknown(item_states))
    middle = (line.start + line.end) / 2
    found = next(
        iter(ExactTracer(subproblem.problem).pieces(subproblem.own_states(), middle, middle, unlimited()))
    )
    assert not isinstance(found, UnsolvablePiece)
    values = subproblem.whole(found.x, found.y)[runner.postsolve.items[line.unknowns]]
    mine = line.values * runner.scaled.d[line.unknowns][:, None]
    np.testing.assert_allclose(values @ (1, middle), mine @ (1, middle), rtol=1e-9, atol=1e-9)


@refused_at_most(0.1)
@FEW
@given(instance=instances())
def test_pieces_of_subproblems_are_those_of_the_whole_problem(instance):
    traced = trace_of(*instance)
    sequence, runner = traced.sequence, traced.runner
    begin, stop = sequence.lo, sequence.hi
    assume(begin < stop < np.inf)
    whole = list(repair_of(runner).pieces(sequence.first, begin, stop, unlimited()))
    with may_refuse():  # a subproblem cannot prove unsolvability
        parts = list(repair_of(runner, TooLarge).pieces(sequence.first, begin, stop, unlimited()))
    assume(not any(isinstance(event, UnsolvablePiece) for event in whole))
    assert parts[-1].end == whole[-1].end
    for pieces in (whole, parts):
        assert (violations(sequence_of(pieces), runner.scaled.lcp) <= ACCURATE).all()


def wide(n=400):
    """More variables than exact arithmetic carries: min Σ ½xᵢ² − mu aᵢxᵢ, 0 ≤ x ≤ 1, a = 1, ..., 5, 200, ...

    x₁, ..., x₅ reach 1 at mu = 1, 1/2, 1/3, 1/4, 1/5, the others at 1/200.
    """
    slopes = np.where(np.arange(n) < 5, np.arange(n) + 1, 200)
    return pqp.ParametricQP(np.eye(n), -pqp.mu * slopes, lower=0, upper=1)


class TestLargeProblem:
    BENDS = (1 / 5, 1 / 4, 1 / 3, 1 / 2, 1)

    def traced(self):
        traced = trace_of(wide(), (0.1, 2.0))
        return repair_of(traced.runner), traced.sequence

    def test_items_that_move_are_traced_exactly_and_others_join(self):
        repair, sequence = self.traced()
        pieces = list(repair.pieces(sequence.first, 0.1, 2.0, unlimited()))
        assert not repair.exact_tracer.is_small_enough
        np.testing.assert_allclose([piece.start for piece in pieces], [0.1, *self.BENDS], rtol=1e-15)
        assert (violations(sequence_of(pieces), repair.scaled.lcp) <= ACCURATE).all()

    def test_exact_pieces_begin_in_the_middle_of_a_path_too(self):
        repair, sequence = self.traced()
        late = next(iter(sequence.runs(np.arange(len(sequence)) == 4)))
        (piece,) = repair.pieces(late.first, 0.6, 0.7, unlimited())
        assert piece.unknowns.tolist() == [0]
        np.testing.assert_allclose(piece.values, [[0, 1]], atol=1e-15)

    def test_states_that_are_not_optimal_are_replaced(self):
        """x₁ is at 1 although its multiplier has the wrong sign, and x₅ is not."""
        repair, sequence = self.traced()
        wrong = sequence.last_states()
        wrong[4], wrong[0] = BETWEEN, UPPER
        pieces = list(repair.pieces(wrong, 0.6, 0.7, unlimited()))
        assert (violations(sequence_of(pieces), repair.scaled.lcp) <= ACCURATE).all()
        assert pieces[-1].states[[0, 4]].tolist() == [BETWEEN, UPPER]

    def test_without_states_a_large_problem_is_refused(self):
        repair, _ = self.traced()
        with pytest.raises(NumericalTroubleError) as caught:
            next(repair.pieces(None, 0.1, 2.0, unlimited()))
        assert caught.value.found == exact_repair.MOST_PAIRS

    def test_what_has_too_many_moving_items_is_refused(self, monkeypatch):
        repair, sequence = self.traced()
        monkeypatch.setattr(exact_repair, "MOST_PAIRS", 3)
        with pytest.raises(NumericalTroubleError) as caught:
            list(repair.pieces(sequence.first, 0.1, 2.0, unlimited()))
        assert caught.value.found == 3


def test_small_problem_is_traced_from_nothing():
    traced = trace_of(pqp.ParametricQP([[1]], [-pqp.mu], lower=0, upper=1), (0, 2))
    pieces = list(repair_of(traced.runner).pieces(None, -1, 2, unlimited()))
    assert [(piece.start, piece.end) for piece in pieces] == [(-1, 0), (0, 1), (1, 2)]


def test_exact_pieces_say_where_there_is_no_solution():
    problem = pqp.ParametricQP([[1]], [0], lower=0, upper=pqp.mu)
    traced = trace_of(problem, (1, 2))
    kinds = [
        isinstance(p, UnsolvablePiece) for p in repair_of(traced.runner).pieces(None, -1, 2, unlimited())
    ]
    assert kinds[0]
    assert not kinds[-1]
