"""start: bounds that coincide at one mu, and large ties of them."""

import numpy as np
import pytest

import pqp
from pqp.revised.start import MANY_VARIABLES, all_bounds_coincide, begins_in_large_tie
from tests.systems import scaled_problem


def machine(positive, negative):
    """The scaled problem of an SVM with some samples of two classes, all different."""
    y = np.repeat([1, -1], [positive, negative])
    return scaled_problem(pqp.catalog.svm(np.arange(positive + negative)[:, None] % 7, y))


@pytest.mark.parametrize(("at", "meet"), [(0.0, True), (1.0, False), (np.inf, False)])
def test_limits_of_a_machine_meet_at_zero_alone(at, meet):
    assert all_bounds_coincide(machine(10, 20), at) == meet


def test_one_variable_that_can_move_is_enough():
    upper = np.full(30, 1) * pqp.mu
    open_box = pqp.ParametricQP(np.eye(30), -np.ones(30), lower=np.r_[-1, np.zeros(29)], upper=upper)
    assert not all_bounds_coincide(scaled_problem(open_box), 0.0)


@pytest.mark.parametrize(
    ("counts", "at", "crowded"),
    [
        ((10, 20), 0.0, True),
        ((15, 15), 0.0, False),
        ((10, 20), 1.0, False),
        ((1, MANY_VARIABLES - 1), 0.0, False),
    ],
    ids=["unbalanced", "balanced", "elsewhere", "few"],
)
def test_crowd_is_where_an_equality_holds_back_some_of_many(counts, at, crowded):
    assert begins_in_large_tie(machine(*counts), at) == crowded


def test_without_an_equality_everyone_may_go():
    y = np.repeat([1, -1], [10, 20])
    assert not begins_in_large_tie(
        scaled_problem(pqp.catalog.svm(np.arange(30)[:, None], y, bias=False)), 0.0
    )
