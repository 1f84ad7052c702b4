"""states: value and multiplier are what optimality allows, and neighbouring states share a corner."""

import numpy as np
import pytest
from hypothesis import given

from pqp.revised.states import (
    ABOVE,
    BELOW,
    BETWEEN,
    EQUAL,
    LOWER,
    UPPER,
    VALUE_FIXED,
    Bounds,
    build_state_table,
)
from tests.systems import FEW, INFINITY, SEEDS, bounds_of, proper_states

SIZE = 8


def at(line, mu):
    return line[0] if np.isinf(line[0]) else line[0] + mu * line[1]


def is_allowed(bounds, item, mu, value, multiplier):
    """Whether a multiplier belongs to a value: minus the slope of the penalty, or what a limit can bear."""
    low, high, cap = (at(lines[item], mu) for lines in (bounds.lower, bounds.upper, bounds.cap))
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
    bounds = bounds_of(np.random.default_rng(seed), SIZE)
    state_table = build_state_table(bounds)
    for item in range(SIZE):
        for state in proper_states(bounds, item):
            fixed, lo, hi = (
                at(table[state, item], mu) for table in (state_table.fixed, state_table.lo, state_table.hi)
            )
            ends = max(lo, -9.0), min(hi, 9.0)
            for dependent in (*ends, sum(ends) / 2):
                value, multiplier = (fixed, dependent) if VALUE_FIXED[state] else (dependent, fixed)
                assert is_allowed(bounds, item, mu, value, multiplier)


@FEW
@given(seed=SEEDS)
def test_step_beyond_an_end_begins_there_and_leads_back(seed):
    bounds = bounds_of(np.random.default_rng(seed), SIZE)
    state_table = build_state_table(bounds)
    sides = ((state_table.lo, state_table.next_at_lo), (state_table.hi, state_table.next_at_hi))
    for item in range(SIZE):
        states = proper_states(bounds, item)
        for state in states:
            for ends, neighbours in sides:
                if np.isinf(ends[state, item, 0]):
                    continue
                next_state = neighbours[state, item]
                assert next_state in states
                assert VALUE_FIXED[next_state] != VALUE_FIXED[state]
                assert (state_table.fixed[next_state, item] == ends[state, item]).all()
                assert (ends[next_state, item] == state_table.fixed[state, item]).all()
                assert neighbours[next_state, item] == state


def one_item(lower, upper, cap=INFINITY):
    lines = [np.array([[number, 0.0]]) for number in (lower, upper, cap)]
    return Bounds(*lines, np.array([lower == upper]))


def test_staircase_of_a_soft_two_sided_item_is_walked_from_below_to_above():
    state_table = build_state_table(one_item(-1.0, 2.0, 3.0))
    walked, state = [BELOW], BELOW
    for neighbours in (
        state_table.next_at_hi,
        state_table.next_at_lo,
        state_table.next_at_hi,
        state_table.next_at_lo,
    ):
        state = int(neighbours[state, 0])
        walked.append(state)
    assert walked == [BELOW, LOWER, BETWEEN, UPPER, ABOVE]


def test_hard_item_has_no_end_beyond_its_limits():
    state_table = build_state_table(one_item(-1.0, 2.0))
    assert state_table.hi[LOWER, 0].tolist() == [INFINITY, 0]
    assert state_table.lo[UPPER, 0].tolist() == [-INFINITY, 0]


def test_free_item_at_rest_is_held_at_zero_and_leaves_as_soon_as_its_multiplier_moves():
    state_table = build_state_table(one_item(-INFINITY, INFINITY))
    assert (
        state_table.fixed[EQUAL, 0].tolist()
        == state_table.lo[EQUAL, 0].tolist()
        == state_table.hi[EQUAL, 0].tolist()
        == [0, 0]
    )
    assert state_table.next_at_lo[EQUAL, 0] == state_table.next_at_hi[EQUAL, 0] == BETWEEN


def test_equality_at_rest_has_no_multiplier_and_is_held_as_soon_as_its_value_moves():
    state_table = build_state_table(one_item(2.0, 2.0))
    assert state_table.fixed[BETWEEN, 0].tolist() == [0, 0]
    assert state_table.lo[BETWEEN, 0].tolist() == state_table.hi[BETWEEN, 0].tolist() == [2, 0]
    assert state_table.next_at_lo[BETWEEN, 0] == state_table.next_at_hi[BETWEEN, 0] == EQUAL
