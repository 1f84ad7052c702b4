"""stairs: on every step value and multiplier are what optimality allows, and neighbours share a corner."""

import numpy as np
import pytest
from hypothesis import given

from pqp.revised.states import ABOVE, BELOW, BETWEEN, EQUAL, LOWER, PINNED, UPPER, Limits, build_stairs
from tests.walking import FEW, INFINITY, SEEDS, limits_of, proper_states

SIZE = 8


def at(line, mu):
    return line[0] if np.isinf(line[0]) else line[0] + mu * line[1]


def is_allowed(limits, item, mu, value, multiplier):
    """Whether a multiplier belongs to a value: minus the slope of the penalty, or what a limit can bear."""
    low, high, cap = (at(lines[item], mu) for lines in (limits.lower, limits.upper, limits.cap))
    if low < value < high:
        return multiplier == 0
    most = cap if value <= low else 0.0
    least = -cap if value >= high else 0.0
    if value < low or value > high:
        return multiplier == (most if value < low else least)
    return least <= multiplier <= most


@pytest.mark.parametrize("mu", [0.0, 1.0, -2.0])
@FEW
@given(seed=SEEDS)
def test_every_point_of_every_step_is_one_optimality_allows(mu, seed):
    limits = limits_of(np.random.default_rng(seed), SIZE)
    stairs = build_stairs(limits)
    for item in range(SIZE):
        for state in proper_states(limits, item):
            held, lo, hi = (at(table[state, item], mu) for table in (stairs.held, stairs.lo, stairs.hi))
            ends = max(lo, -9.0), min(hi, 9.0)
            for dependent in (*ends, sum(ends) / 2):
                value, multiplier = (held, dependent) if PINNED[state] else (dependent, held)
                assert is_allowed(limits, item, mu, value, multiplier)


@FEW
@given(seed=SEEDS)
def test_step_beyond_an_end_begins_there_and_leads_back(seed):
    limits = limits_of(np.random.default_rng(seed), SIZE)
    stairs = build_stairs(limits)
    sides = ((stairs.lo, stairs.next_at_lo), (stairs.hi, stairs.next_at_hi))
    for item in range(SIZE):
        states = proper_states(limits, item)
        for state in states:
            for ends, neighbours in sides:
                if np.isinf(ends[state, item, 0]):
                    continue
                beyond = neighbours[state, item]
                assert beyond in states
                assert PINNED[beyond] != PINNED[state]
                assert (stairs.held[beyond, item] == ends[state, item]).all()
                assert (ends[beyond, item] == stairs.held[state, item]).all()
                assert neighbours[beyond, item] == state


def one_item(lower, upper, cap=INFINITY):
    lines = [np.array([[number, 0.0]]) for number in (lower, upper, cap)]
    return Limits(*lines, np.array([lower == upper]))


def test_staircase_of_a_soft_two_sided_item_is_walked_from_below_to_above():
    stairs = build_stairs(one_item(-1.0, 2.0, 3.0))
    walked, state = [BELOW], BELOW
    for neighbours in (stairs.next_at_hi, stairs.next_at_lo, stairs.next_at_hi, stairs.next_at_lo):
        state = int(neighbours[state, 0])
        walked.append(state)
    assert walked == [BELOW, LOWER, BETWEEN, UPPER, ABOVE]


def test_hard_item_has_no_end_beyond_its_limits():
    stairs = build_stairs(one_item(-1.0, 2.0))
    assert stairs.hi[LOWER, 0].tolist() == [INFINITY, 0]
    assert stairs.lo[UPPER, 0].tolist() == [-INFINITY, 0]


def test_free_item_at_rest_is_held_at_zero_and_leaves_as_soon_as_its_multiplier_moves():
    stairs = build_stairs(one_item(-INFINITY, INFINITY))
    assert (
        stairs.held[EQUAL, 0].tolist()
        == stairs.lo[EQUAL, 0].tolist()
        == stairs.hi[EQUAL, 0].tolist()
        == [0, 0]
    )
    assert stairs.next_at_lo[EQUAL, 0] == stairs.next_at_hi[EQUAL, 0] == BETWEEN


def test_equality_at_rest_has_no_multiplier_and_is_held_as_soon_as_its_value_moves():
    stairs = build_stairs(one_item(2.0, 2.0))
    assert stairs.held[BETWEEN, 0].tolist() == [0, 0]
    assert stairs.lo[BETWEEN, 0].tolist() == stairs.hi[BETWEEN, 0].tolist() == [2, 0]
    assert stairs.next_at_lo[BETWEEN, 0] == stairs.next_at_hi[BETWEEN, 0] == EQUAL
