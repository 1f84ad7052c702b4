"""catalog.choice on the design's families of choices: complete paths, proved, without a duality gap.

The rows are differences of two random options with 24 levels in all; chosen at random, or by a hidden utility
with noise. The gap is written from the definition: the primal value of w, and the dual value of multipliers.
"""

import math

import numpy as np
import pytest

import pqp
from tests.benchmarks.problems import choice_rows

# Of the primal value, at every breakpoint.
GAP = 1e-9
SEEDS = range(5)
SMALL, LARGE = (40, 80), (200, 1000, 5000)


def primal_value(rows, w, C):
    """½|w|² + C Σ max(0, 1 - n·w)."""
    return w @ w / 2 + C * np.maximum(0, 1 - rows @ w).sum()


def dual_value(rows, alpha):
    """Σ α - ½|Nᵀα|²: below every primal value if 0 ≤ α ≤ C."""
    v = rows.T @ alpha
    return alpha.sum() - v @ v / 2


def largest_gap(path, rows):
    """The largest relative duality gap at the breakpoints, multipliers moved into [0, C] first."""
    gaps = []
    for C in map(float, path.breakpoints):
        point = path(C)
        w, alpha = point.x.astype(float), np.clip(point.y.astype(float), 0, C)
        value = primal_value(rows, w, C)
        gaps.append((value - dual_value(rows, alpha)) / value)
    return max(gaps)


def assert_evident(rows):
    """The path from C = 0 to infinity is complete, has no gap, ends where nothing changes, and is proved."""
    path = pqp.solve_path(pqp.catalog.choice(rows), (0, math.inf))
    assert [(stretch.lo, stretch.hi, stretch.status) for stretch in path.intervals] == [
        (0, math.inf, "optimal")
    ]
    assert not path.jumps
    assert largest_gap(path, rows) <= GAP
    assert not path(0).x.any()
    path.certify()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("noise", [None, 1.0], ids=["random", "utility"])
class TestChoiceFamilies:
    @pytest.mark.parametrize("choices", SMALL)
    def test_path_is_complete_without_gap_and_proved(self, choices, noise, seed):
        assert_evident(choice_rows(choices, seed, noise))

    @pytest.mark.slow
    @pytest.mark.parametrize("choices", LARGE)
    def test_long_path_is_complete_without_gap_and_proved(self, choices, noise, seed):
        assert_evident(choice_rows(choices, seed, noise))


def test_path_of_200_choices_is_complete_without_gap_and_proved():
    assert_evident(choice_rows(200, 0))


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_path_is_that_of_the_exact_tableau(seed):
    problem = pqp.catalog.choice(choice_rows(40, seed, 1.0))
    path = pqp.solve_path(problem, (0, math.inf))
    exact = pqp.solve_path(problem, (0, math.inf), method="tableau", arithmetic="exact")
    np.testing.assert_allclose(path.breakpoints, np.array(exact.breakpoints, dtype=float), rtol=1e-9)
    bends = [0, *exact.breakpoints]
    np.testing.assert_allclose(path.x(bends), exact.x(bends).astype(float), atol=1e-9)


def test_path_is_the_same_from_either_side():
    problem = pqp.catalog.choice(choice_rows(80, 0, 1.0))
    there = pqp.solve_path(problem, (0.01, 50))
    back = pqp.solve_path(problem, (0.01, 50), direction="right-to-left")
    np.testing.assert_allclose(there.breakpoints, back.breakpoints, rtol=1e-9)
    places = np.geomspace(0.01, 50, 30)
    np.testing.assert_allclose(there.x(places), back.x(places), atol=1e-9)


def test_gap_of_wrong_multipliers_is_seen():
    rows = choice_rows(40, 0, 1.0)
    path = pqp.solve_path(pqp.catalog.choice(rows), (0, 1))
    point = path(0.5)
    value = primal_value(rows, point.x, 0.5)
    assert value - dual_value(rows, point.y) <= GAP * value
    assert value - dual_value(rows, 0.9 * point.y) > 1e3 * GAP * value
