"""residuals: zero at a solution, and each condition that is broken shows by how much."""

import math
from fractions import Fraction

import numpy as np
import pytest

import pqp
from pqp import mu
from pqp.linalg.field import FIELDS
from pqp.records.residuals import Residuals, residuals
from tests.engines import EVERY_ENGINE

ARITHMETICS = pytest.mark.parametrize("arithmetic", ["float", "exact"])
INFINITY = math.inf


def of(problem: pqp.ParametricQP, arithmetic: str, x, y=(), z=None, at=0) -> Residuals:
    field = FIELDS[arithmetic]
    z = [0] * len(x) if z is None else z
    return residuals(problem.data(field), field.number(at), *(field.array(list(part)) for part in (x, y, z)))


# min ½x² − 3x, x <= 1: the solution is x = 1, z = -2.
BOUND = pqp.ParametricQP([[1]], [-3], lower=-5, upper=1)
# The same with the limit as a row, and as a soft row of penalty 1 (then x = 2, y = -1).
ROW = pqp.ParametricQP([[1]], [-3], A=[[1]], row_lower=-5, row_upper=1)
SOFT = pqp.ParametricQP([[1]], [-3], A=[[1]], row_lower=-5, row_upper=1, penalty=1)


@ARITHMETICS
class TestConditions:
    def test_all_vanish_at_a_solution(self, arithmetic):
        assert of(BOUND, arithmetic, [1], z=[-2]) == Residuals(0, 0, 0, 0)
        assert of(ROW, arithmetic, [1], [-2]) == Residuals(0, 0, 0, 0)
        assert of(SOFT, arithmetic, [2], [-1]) == Residuals(0, 0, 0, 0)

    def test_point_outside_its_limits_is_infeasible_by_the_distance(self, arithmetic):
        assert of(BOUND, arithmetic, [3]).primal == 2
        assert of(BOUND, arithmetic, [-7]).primal == 2
        assert of(ROW, arithmetic, [3], [0]).primal == 2
        assert of(ROW, arithmetic, [-7], [0]).primal == 2

    def test_violating_a_soft_row_is_not_infeasible(self, arithmetic):
        assert of(SOFT, arithmetic, [3], [-1]).primal == 0

    def test_gradient_without_its_multiplier_is_not_stationary(self, arithmetic):
        assert of(BOUND, arithmetic, [1]).stationarity == 2
        assert of(ROW, arithmetic, [1], [-3]).stationarity == 1

    def test_multiplier_beyond_its_cap_is_counted(self, arithmetic):
        assert of(SOFT, arithmetic, [1], [-3]).dual == 2
        assert of(SOFT, arithmetic, [1], [3]).dual == 2
        assert of(ROW, arithmetic, [1], [-3]).dual == 0

    @pytest.mark.parametrize(
        ("problem", "x", "y", "z"),
        [
            (BOUND, [0], [], [-3]),  # pushed down by an upper limit that is 1 away
            (BOUND, [-4], [], [3]),  # pushed up by a lower limit that is 1 away
            (ROW, [0], [-3], [0]),
            (ROW, [-4], [3], [0]),
            (SOFT, [0], [-1], [0]),
            (SOFT, [2], [0], [0]),  # violated by 1, its multiplier 1 short of the cap
            (SOFT, [-6], [0], [0]),
        ],
    )
    def test_multiplier_and_distance_must_not_both_be_positive(self, arithmetic, problem, x, y, z):
        assert of(problem, arithmetic, x, y, z).complementarity == 1

    def test_limits_are_taken_at_mu(self, arithmetic):
        problem = pqp.ParametricQP([[1]], [-mu], A=[[1]], row_upper=mu - 1, penalty=mu, lower=-mu)
        # At mu = 2: x <= 1 soft with cap 2, x >= -2, gradient x - 2.
        assert of(problem, arithmetic, [1], [-1], [0], at=2) == Residuals(0, 0, 0, 0)
        assert of(problem, arithmetic, [-3], [0], [0], at=2).primal == 1
        assert of(problem, arithmetic, [1], [-3], [0], at=2).dual == 1

    def test_equality_binds_on_both_sides_with_either_sign(self, arithmetic):
        problem = pqp.ParametricQP([[1]], [0], A=[[1]], row_lower=2, row_upper=2)
        assert of(problem, arithmetic, [2], [2]) == Residuals(0, 0, 0, 0)
        assert of(problem, arithmetic, [3], [3]).primal == 1
        assert of(problem, arithmetic, [1], [1]).primal == 1

    def test_largest_is_the_largest_of_the_four(self, arithmetic):
        found = of(BOUND, arithmetic, [4])
        assert found.largest == max(found.primal, found.stationarity, found.dual, found.complementarity) == 3

    def test_missing_limits_break_nothing(self, arithmetic):
        free = pqp.ParametricQP([[1]], [-3], A=[[1]])
        assert of(free, arithmetic, [3], [0]) == Residuals(0, 0, 0, 0)

    def test_multiplier_of_a_missing_limit_is_counted(self, arithmetic):
        """y > 0 needs a row_lower, z < 0 an upper: without one nothing bounds the distance."""
        free = pqp.ParametricQP([[1]], [-3], A=[[1]])
        assert of(free, arithmetic, [3], [2]).complementarity == 2
        assert of(free, arithmetic, [3], [0], [-2]).complementarity == 2


@EVERY_ENGINE
def test_numbers_of_the_path_have_no_residuals(engine):
    problem = pqp.ParametricQP([[2, 1], [1, 2]], [-mu, 1], A=[[1, 1]], row_lower=mu - 2, lower=0, upper=4)
    path = engine.trace(problem, (-3, 9))
    for at in np.linspace(-3, 9, 25):
        assert path(at).residuals().largest <= (0 if engine.is_exact else 1e-12)


def test_exact_residuals_are_rationals():
    third = Fraction(1, 3)
    assert of(BOUND, "exact", [1 + third], z=[-2]).primal == third
