"""crossed_bounds: where bounds cross or penalties are negative there is no solution, with a proof."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

import pqp
from pqp import mu
from pqp.linalg.field import RATIONAL
from pqp.revised.crossed_bounds import find_crossing_bounds
from pqp.revised.presolve import presolve
from pqp.revised.rays import is_proof
from tests.definitions import at as value_at
from tests.strategies import for_all, problems

INFINITY = math.inf
F = Fraction


def widths_of(problem):
    return find_crossing_bounds(problem, presolve(problem).slacks)


def negative(problem, at):
    """Whether hard limits have crossed, or a penalty is below 0, at one mu."""
    data, soft = problem.data(RATIONAL), problem.is_soft
    pairs = ((data.lower, data.upper, False), (data.row_lower, data.row_upper, soft))
    crossed = any(((value_at(low, at) > value_at(high, at)) & ~spared).any() for low, high, spared in pairs)
    slacks = presolve(problem).slacks.variables
    costs = (value_at(data.penalty, at)[soft], value_at(data.c, at)[slacks])
    return crossed or any((cost < 0).any() for cost in costs)


@for_all(problem=problems(), at=st.sampled_from((0, 1, -1, F(1, 3), 4)))
def test_negative_width_is_noticed_and_proved(problem, at):
    proof = widths_of(problem).violated(at)
    assert (proof is not None) == negative(problem, at)
    if proof is not None:
        assert proof.value[0] + at * proof.value[1] < 0


@for_all(problem=problems(), start=st.sampled_from((0, 1)), direction=st.sampled_from((1, -1)))
def test_edge_is_where_the_first_width_turns_negative(problem, start, direction):
    if negative(problem, start):
        return
    edge, proof = widths_of(problem).edge(direction * INFINITY, direction)
    assert (proof is None) == math.isinf(edge)
    probes = [edge] if proof else [start + direction * 10**9]
    assert not any(negative(problem, probe) for probe in (start, (start + probes[0]) / 2, *probes))
    if proof:
        assert negative(problem, edge + direction * F(1, 10**9))
        assert proof.vanishes_at(edge)


@pytest.mark.parametrize(
    ("problem", "edge"),
    [
        (pqp.ParametricQP([[1]], [0], lower=mu, upper=3), 3),
        (pqp.ParametricQP([[1]], [0], lower=7 * mu, upper=1 - 3 * mu), F(1, 10)),
        (pqp.ParametricQP([[1]], [0], A=[[1]], row_lower=mu, row_upper=5 - mu), F(5, 2)),
        (pqp.ParametricQP([[1]], [0], A=[[1]], row_upper=1, penalty=2 - mu), 2),
        (pqp.ParametricQP(np.diag([1, 0]), [0, 4 - mu], A=[[1, 1]], row_lower=1, lower=[-INFINITY, 0]), 4),
    ],
    ids=["variable", "no decimal number", "row", "penalty", "cost of a slack"],
)
class TestByHand:
    def test_edge_is_exact(self, problem, edge):
        found, proof = widths_of(problem).edge(RATIONAL.number(100), 1)
        assert (found, type(found)) == (edge, Fraction)
        assert proof.vanishes_at(edge)

    def test_stop_before_the_edge_is_the_edge(self, problem, edge):
        assert widths_of(problem).edge(edge, 1) == (edge, None)

    def test_width_that_grows_has_no_edge(self, problem, edge):
        assert widths_of(problem).edge(-INFINITY, -1) == (-INFINITY, None)

    def test_width_of_zero_is_no_obstruction_and_a_negative_one_is(self, problem, edge):
        assert widths_of(problem).violated(edge) is None
        proof = widths_of(problem).violated(edge + F(1, 10**12))
        assert proof.value[0] + (edge + 1) * proof.value[1] < 0


def test_crossed_limits_are_proved_by_their_sum():
    problem = pqp.ParametricQP([[1]], [0], lower=mu, upper=3)
    proof = widths_of(problem).violated(4)
    assert is_proof(problem, proof)
    assert (proof.farkas.lower.tolist(), proof.farkas.upper.tolist()) == ([1], [1])
