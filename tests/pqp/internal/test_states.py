"""states: value and multiplier are what optimality allows, and neighbouring states share a corner."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from pqp.revised.states import (
    ABOVE,
    BELOW,
    BETWEEN,
    EQUAL,
    HI,
    LO,
    LOWER,
    UPPER,
    VALUE_FIXED,
    Bounds,
    build_state_table,
)
from tests.systems import FEW, INFINITY, SEEDS, any_states, bounds_of, proper_states, setting_of

SIZE = 8


def at(line, mu):
    return line[0] if np.isinf(line[0]) else line[0] + mu * line[1]


def lines_of(state_table, state, item=0):
    """The fixed quantity, and both ends of the dependent one."""
    return state_table.lines[state, :, item].reshape(3, 2)


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
            fixed, lo, hi = (at(line, mu) for line in lines_of(state_table, state, item))
            ends = max(lo, -9.0), min(hi, 9.0)
            for dependent in (*ends, sum(ends) / 2):
                value, multiplier = (fixed, dependent) if VALUE_FIXED[state] else (dependent, fixed)
                assert is_allowed(bounds, item, mu, value, multiplier)


@FEW
@given(seed=SEEDS)
def test_step_beyond_an_end_begins_there_and_leads_back(seed):
    bounds = bounds_of(np.random.default_rng(seed), SIZE)
    state_table = build_state_table(bounds)
    for item in range(SIZE):
        states = proper_states(bounds, item)
        for state in states:
            fixed, *ends = lines_of(state_table, state, item)
            for end, neighbours in zip(ends, state_table.following[:, :, item], strict=True):
                if np.isinf(end[0]):
                    continue
                next_state = int(neighbours[state])
                assert next_state in states
                assert VALUE_FIXED[next_state] != VALUE_FIXED[state]
                next_fixed, *next_ends = lines_of(state_table, next_state, item)
                assert (next_fixed == end).all()
                back = [k for k in (LO, HI) if state_table.following[k, next_state, item] == state]
                assert any((next_ends[k] == fixed).all() for k in back)


@FEW
@given(seed=SEEDS)
def test_fixed_quantity_rises_beyond_lo_and_falls_beyond_hi(seed):
    """Beyond `lo` the item goes on towards the larger fixed values of the next state but one."""
    bounds = bounds_of(np.random.default_rng(seed), SIZE)
    state_table = build_state_table(bounds)
    for item in range(SIZE):
        for state in proper_states(bounds, item):
            fixed, *ends = lines_of(state_table, state, item)
            for end, sense in ((LO, 1), (HI, -1)):
                if np.isinf(ends[end][0]):
                    continue
                next_state = state_table.following[end, state, item]
                # The dependent quantity of the next state is the fixed one of this.
                _, low, high = lines_of(state_table, next_state, item)
                further = high if sense > 0 else low
                assert sense * (at(further, 0.0) - at(fixed, 0.0)) > 0 or bounds.is_equal[item]


def test_lines_of_chosen_states_are_those_of_the_table():
    random = np.random.default_rng(3)
    bounds = bounds_of(random, SIZE)
    state_table, states = build_state_table(bounds), any_states(random, bounds)
    assert len(state_table) == SIZE
    found = state_table.of(states)
    for item, state in enumerate(states):
        assert found[:, item].tolist() == state_table.lines[state, :, item].tolist()


@FEW
@given(seed=SEEDS)
def test_bounds_at_one_mu_are_constants(seed):
    bounds = bounds_of(np.random.default_rng(seed), SIZE)
    here = bounds.at(2.0)
    for name in ("lower", "upper", "cap"):
        assert getattr(here, name)[:, 0].tolist() == [at(line, 2.0) for line in getattr(bounds, name)]
        assert not getattr(here, name)[:, 1].any()


def test_shifted_corners_take_the_place_of_zero_and_the_caps():
    zero, top, bottom = (np.array([[number, 0.0]]) for number in (0.5, 7.0, -6.0))
    table = build_state_table(replace(one_item(-1.0, 2.0, 3.0), zero=zero, top=top, bottom=bottom))
    corners = {state: lines_of(table, state)[:, 0].tolist() for state in range(6) if state != EQUAL}
    assert corners[BETWEEN] == [0.5, -1, 2]
    assert corners[LOWER] == [-1, 0.5, 7]
    assert corners[UPPER] == [2, -6, 0.5]
    assert corners[BELOW] == [7, -INFINITY, -1]
    assert corners[ABOVE] == [-6, 2, INFINITY]


@FEW
@given(seed=SEEDS)
def test_unknowns_are_variables_that_move_and_rows_that_bind(seed):
    lcp, bounds = setting_of("dense", seed)
    states = any_states(np.random.default_rng(seed), bounds)
    for i, state in enumerate(states):
        is_held = state in (LOWER, UPPER, EQUAL)
        assert lcp.is_unknown(states)[i] == (is_held if lcp.system.is_row[i] else not is_held)


def one_item(lower, upper, cap=INFINITY):
    lines = [np.array([[number, 0.0]]) for number in (lower, upper, cap)]
    return Bounds(*lines, np.array([lower == upper]))


def test_staircase_of_a_soft_two_sided_item_is_walked_from_below_to_above():
    state_table = build_state_table(one_item(-1.0, 2.0, 3.0))
    walked, state = [BELOW], BELOW
    for end in (HI, LO, HI, LO):
        state = int(state_table.following[end, state, 0])
        walked.append(state)
    assert walked == [BELOW, LOWER, BETWEEN, UPPER, ABOVE]


def test_hard_item_has_no_end_beyond_its_limits():
    state_table = build_state_table(one_item(-1.0, 2.0))
    assert lines_of(state_table, LOWER)[2].tolist() == [INFINITY, 0]
    assert lines_of(state_table, UPPER)[1].tolist() == [-INFINITY, 0]


def test_free_item_at_rest_is_held_at_zero_and_leaves_as_soon_as_its_multiplier_moves():
    state_table = build_state_table(one_item(-INFINITY, INFINITY))
    assert not lines_of(state_table, EQUAL).any()
    assert state_table.following[:, EQUAL, 0].tolist() == [BETWEEN, BETWEEN]


def test_equality_at_rest_has_no_multiplier_and_is_held_as_soon_as_its_value_moves():
    state_table = build_state_table(one_item(2.0, 2.0))
    assert lines_of(state_table, BETWEEN).tolist() == [[0, 0], [2, 0], [2, 0]]
    assert state_table.following[:, BETWEEN, 0].tolist() == [EQUAL, EQUAL]
