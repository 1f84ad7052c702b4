"""verify: right pieces pass, and pieces with a wrong number, in wrong states or too long do not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import pqp
from pqp.linalg.field import FLOAT
from pqp.linalg.operators import LowRankOperator, PairOperator
from pqp.linalg.tolerances import ACCURATE
from pqp.revised import verify
from pqp.revised.runner import RevisedRunner
from pqp.revised.states import BETWEEN, LOWER
from pqp.revised.verify import largest_numbers, violations
from tests.ordinal_duals import objects, ordinal_dual
from tests.strategies import instances
from tests.systems import FEW, SEEDS, pieces_of, sequence_of, trace_of


def thin_trace(seed):
    """A trace whose matrix is known by two columns, with or without a diagonal."""
    random, size = np.random.default_rng(seed), 12
    diagonal = random.integers(1, 3, size) if seed % 2 else None
    problem = pqp.ParametricQP(
        P=pqp.Gram(random.integers(-2, 3, (size, 2)), diagonal),
        c=random.integers(-9, 10, size) + pqp.mu * random.integers(-5, 6, size),
        lower=np.zeros(size),
        upper=np.ones(size) + pqp.mu * random.integers(0, 2, size),
    )
    traced = trace_of(problem, (0, 3))
    assert isinstance(traced.lcp.system.H, LowRankOperator)
    return traced.sequence, traced.lcp


def any_trace(instance):
    traced = trace_of(*instance)
    return traced.sequence, traced.lcp


def with_piece(sequence, number, piece):
    pieces = pieces_of(sequence)
    pieces[number] = piece
    return sequence_of(pieces)


def bent_at(sequence, number, by):
    """The sequence with one piece moved."""
    piece = sequence.piece(number)
    return with_piece(sequence, number, replace(piece, values=piece.values + by))


def any_with_unknowns(sequence, data):
    numbers = [number for number, piece in enumerate(pieces_of(sequence)) if len(piece.unknowns)]
    assume(numbers)
    return data.draw(st.sampled_from(numbers))


def wrong_pieces(sequence, lcp):
    return np.flatnonzero(violations(sequence, lcp) > ACCURATE).tolist()


@FEW
@given(instance=instances())
def test_pieces_of_a_trace_pass(instance):
    assert wrong_pieces(*any_trace(instance)) == []


@FEW
@given(seed=SEEDS)
def test_pieces_over_thin_factors_pass(seed):
    assert wrong_pieces(*thin_trace(seed)) == []


@FEW
@given(instance=instances(), data=st.data())
def test_piece_with_a_wrong_number_is_found_alone(instance, data):
    sequence, lcp = any_trace(instance)
    wrong = any_with_unknowns(sequence, data)
    piece = sequence.piece(wrong)
    values = piece.values.copy()
    values[data.draw(st.integers(0, len(values) - 1)), 0] += 0.25
    assert wrong_pieces(with_piece(sequence, wrong, replace(piece, values=values)), lcp) == [wrong]


@FEW
@given(seed=SEEDS, data=st.data(), by=st.sampled_from(([0.25, 0.0], [0.0, 0.25], [1e-7, 0.0])))
def test_wrong_number_over_thin_factors_is_found_alone(seed, data, by):
    sequence, lcp = thin_trace(seed)
    wrong = any_with_unknowns(sequence, data)
    assert wrong_pieces(bent_at(sequence, wrong, by), lcp) == [wrong]


@FEW
@given(instance=instances())
def test_piece_that_goes_too_far_is_found(instance):
    """Beyond its end something leaves its range."""
    sequence, lcp = any_trace(instance)
    assume(len(sequence) > 1)
    first = sequence.piece(0)
    assert wrong_pieces(replace(first, end=first.end + 100.0).sequence(), lcp) == [0]


class TestByHand:
    """min ½x² − mu x over 0 ≤ x ≤ 1: x = mu between 0 and 1."""

    @pytest.fixture
    def traced(self):
        return trace_of(pqp.ParametricQP([[1]], [-pqp.mu], lower=0, upper=1), (0.25, 0.75))

    @pytest.mark.parametrize("by", [1e-7, -1e-7])
    def test_value_that_is_slightly_off_is_found(self, traced, by):
        assert wrong_pieces(traced.sequence, traced.lcp) == []
        assert wrong_pieces(bent_at(traced.sequence, 0, [by, 0.0]), traced.lcp) == [0]

    @pytest.mark.parametrize(("start", "end"), [(0.25, 1.0 + 1e-7), (-1e-7, 0.75)])
    def test_end_that_is_slightly_beyond_is_found(self, traced, start, end):
        piece = traced.sequence.piece(0)
        for ends, wrong in (((0.0, 1.0), []), ((start, end), [0])):
            longer = with_piece(traced.sequence, 0, replace(piece, start=ends[0], end=ends[1]))
            assert wrong_pieces(longer, traced.lcp) == wrong

    def test_wrong_state_is_found(self, traced):
        """At its lower bound x would have the multiplier −mu."""
        piece, none = traced.sequence.piece(0), np.empty(0, dtype=np.int64)
        held = replace(piece, states=np.array([LOWER]), unknowns=none, values=np.empty((0, 2)))
        assert wrong_pieces(held.sequence(), traced.lcp) == [0]

    def test_nan_is_the_worst_miss(self, traced):
        with np.errstate(invalid="ignore"):
            assert violations(bent_at(traced.sequence, 0, [np.nan, 0.0]), traced.lcp)[0] == np.inf

    def test_piece_without_end_is_looked_at_far_away(self, traced):
        piece = replace(traced.sequence.piece(0), end=np.inf)
        assert np.concatenate(piece.sequence().finite_ends()).tolist() == [0.25, 10.25]
        assert wrong_pieces(with_piece(traced.sequence, 0, piece), traced.lcp) == [0]
        assert traced.sequence.first.tolist() == [BETWEEN]

    def test_miss_is_relative_to_the_largest_number_of_the_run(self, traced):
        bent = bent_at(traced.sequence, 0, [1e-7, 0.0])
        tops = largest_numbers(traced.sequence, traced.lcp)
        assert (tops >= 0.75).all()
        assert violations(bent, traced.lcp, 1e6 * tops)[0] < ACCURATE


def test_wrong_sign_next_to_large_numbers_is_found():
    """min ½|x|² − 1e8 (1 + mu) x₁ − x₂ over x ≥ 0: x₂ = 1, held at 0 its multiplier would be −1."""
    problem = pqp.ParametricQP(np.eye(2), [-1e8 - 1e8 * pqp.mu, -1.0], lower=0)
    traced = trace_of(problem, (0, 1))
    assert wrong_pieces(traced.sequence, traced.lcp) == []
    piece = traced.sequence.piece(0)
    states = np.array([BETWEEN, LOWER])
    held = replace(piece, states=states, unknowns=piece.unknowns[:1], values=piece.values[:1])
    assert piece.unknowns.tolist() == [0, 1]
    assert wrong_pieces(held.sequence(), traced.lcp) == [0]


@FEW
@given(instance=instances())
def test_bound_on_the_sizes_of_terms_holds(instance):
    problem, _ = instance
    system = RevisedRunner(problem, False).scaled.system
    everything, v = np.arange(system.size), np.arange(1.0, system.size + 1)
    terms = np.abs(system.block(everything, everything)) @ v
    assert (system.sizes(v) >= terms * (1 - 1e-12)).all()


def test_blocks_of_points_do_not_change_the_verdict(monkeypatch):
    sequence, lcp = thin_trace(1)
    bent = bent_at(sequence, len(sequence) // 2, [0.25, 0.0])
    whole = violations(bent, lcp)
    monkeypatch.setattr(verify, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(verify, "FEWEST_PIECES", 1)
    np.testing.assert_allclose(violations(bent, lcp), whole, rtol=1e-9, atol=1e-12)


def test_pieces_over_pairs_and_rows_are_judged_as_over_the_matrix_they_stand_for():
    problem = ordinal_dual(*objects(60, 7, 5), kernel="rbf")
    traced = trace_of(problem, (1.0, 1e3))
    sequence, paired = traced.sequence, traced.lcp
    entries = RevisedRunner(replace(problem, P=problem.P.matrix(FLOAT)), False).scaled.lcp
    assert isinstance(paired.system.H, PairOperator)
    assert wrong_pieces(sequence, paired) == []
    bent = bent_at(sequence, 3, [0.25, 0.0])
    assert wrong_pieces(bent, paired) == wrong_pieces(bent, entries) == [3]
    np.testing.assert_allclose(violations(bent, paired), violations(bent, entries), rtol=1e-6, atol=1e-10)
