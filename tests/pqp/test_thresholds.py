"""thresholds: duals of ordinal regression are traced from C = 0 on, without a hole, whatever the data."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pqp
from tests.ordinal_duals import assert_solved_throughout, ordinal_dual
from tests.systems import FEW, SEEDS

SIZE = 24
# Every one traces and checks a path.
FEWER = settings(FEW, max_examples=8)


def whole(random):
    return random.integers(-2, 3, size=(SIZE, 3)), random.integers(0, 4, SIZE)


def with_a_constant_feature(random):
    return np.column_stack([random.normal(size=(SIZE, 2)), np.ones(SIZE)]), random.integers(0, 3, SIZE)


def one_a_level(random):
    return random.normal(size=(SIZE // 2, 3)), random.permutation(SIZE // 2)


def all_twice(random):
    return np.repeat(random.normal(size=(SIZE // 2, 3)), 2, axis=0), random.integers(0, 4, SIZE)


WEIGHTS = {
    "equal": lambda random, n: None,
    "whole": lambda random, n: random.integers(1, 4, n),
    "real": lambda random, n: random.uniform(0.1, 3, n),
}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("ordered", [False, True], ids=["unordered", "ordered"])
@pytest.mark.parametrize("data", [whole, with_a_constant_feature, one_a_level, all_twice])
@FEWER
@given(
    seed=SEEDS,
    weights=st.sampled_from(sorted(WEIGHTS)),
    every=st.booleans(),
    stop=st.sampled_from([1e-3, 1.0, 1e4, math.inf]),
)
def test_path_from_zero_is_whole_and_right(data, ordered, kernel, seed, weights, every, stop):
    random = np.random.default_rng(seed)
    X, y = data(random)
    problem = ordinal_dual(X, y, kernel, ordered, WEIGHTS[weights](random, len(X)), every)
    assert_solved_throughout(pqp.solve_path(problem, (0, stop)), stop)
