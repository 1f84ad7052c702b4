"""solve_path on sequences of online QPs: from each to the next, all data moved affinely with mu from 0 to 1.

H and A are the same throughout each of the three sequences; g and the limits move.
"""

import math

import numpy as np
import pytest

import pqp
from pqp import mu
from tests.comparison import optimal_points
from tests.data_folder import needs, online_qp

pytestmark = needs("online_qp")
# The listed optima are those of other codes, in double precision.
LISTED = 1e-9
# Where two codes differ by more than this about an optimum, the collection asks not to rely on it.
RELIABLE = 1e-7
# What rounding leaves of the optimality conditions: the eigenvalues of H are 2e-5..1, 5e-4..5 and 1e-4..4e7.
RESIDUAL = {"diesel": 1e-8, "chain80": 1e-11, "crane1": 1e-6}
# A few steps of each sequence, and all of them in blocks.
FEW = {"diesel": range(0, 599, 40), "chain80": (50,), "crane1": range(0, 530, 60)}
STEPS, BLOCK = {"diesel": 599, "chain80": 100, "crane1": 530}, 50
BLOCKS = [(name, first) for name in STEPS for first in range(0, STEPS[name], BLOCK)]
# Steps of crane1 at which float64 takes two events for one; exact arithmetic finds the piece between them.
ROUGH = (437, 511, 513)
# Not chain80: the certificate of one path, a 240 x 240 Hessian of floats, was not done in a minute.
PROVED = [(name, first) for name, first in BLOCKS if name != "chain80"]


def moved(numbers, key, step):
    """The data of one step with mu from 0 to 1; a limit that is infinite stays where it is."""
    before, after = numbers[key][step], numbers[key][step + 1]
    change = np.subtract(after, before, where=before != after, out=np.zeros_like(before))
    return before + mu * change


def homotopy(name, step):
    numbers = online_qp(name)
    limits = {"lower": moved(numbers, "lb", step), "upper": moved(numbers, "ub", step)}
    if "A" in numbers:
        rows = moved(numbers, "lbA", step), moved(numbers, "ubA", step)
        limits |= {"A": numbers["A"], "row_lower": rows[0], "row_upper": rows[1]}
    return pqp.ParametricQP(numbers["H"], moved(numbers, "g", step), **limits)


def is_listed_optimum(point, name, step):
    numbers = online_qp(name)
    if "obj_gap" in numbers and numbers["obj_gap"][step] > RELIABLE:
        return True
    known = numbers["obj_opt"][step]
    return abs(point.objective - known) <= LISTED * max(1.0, abs(known))


def assert_leads_from_optimum_to_optimum(path, name, step):
    assert [(stretch.lo, stretch.hi, stretch.status) for stretch in path.intervals] == [(0, 1, "optimal")]
    assert not path.jumps
    assert max(point.residuals().largest for point in optimal_points(path)) <= RESIDUAL[name]
    for end in (0, 1):
        assert is_listed_optimum(path(end), name, step + end), f"not the listed optimum {step + end}"


@pytest.mark.parametrize(("name", "step"), [(name, step) for name in FEW for step in FEW[name]])
def test_path_leads_from_one_listed_optimum_to_the_next(name, step):
    path = pqp.solve_path(homotopy(name, step), (0, 1))
    assert_leads_from_optimum_to_optimum(path, name, step)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "first"), BLOCKS)
def test_every_path_leads_from_one_listed_optimum_to_the_next(name, first):
    for step in range(first, min(first + BLOCK, STEPS[name])):
        path = pqp.solve_path(homotopy(name, step), (0, 1))
        assert_leads_from_optimum_to_optimum(path, name, step)


@pytest.mark.parametrize("step", ROUGH)
def test_rough_step_is_mended_and_proved(step):
    path = pqp.solve_path(homotopy("crane1", step), (0, 1))
    assert_leads_from_optimum_to_optimum(path, "crane1", step)
    path.certify()


@pytest.mark.parametrize(("name", "steps"), [("diesel", range(20)), ("crane1", range(20))])
class TestSequenceFromTheLastBasis:
    def test_each_path_starts_where_the_one_before_ended(self, name, steps):
        last = None
        for step in steps:
            path = pqp.solve_path(homotopy(name, step), (0, 1), start=last)
            assert_leads_from_optimum_to_optimum(path, name, step)
            last = path.segments[-1]

    def test_path_is_the_one_traced_without_a_start(self, name, steps):
        before, after = steps[:2]
        last = pqp.solve_path(homotopy(name, before), (0, 1)).segments[-1]
        path, alone = (pqp.solve_path(homotopy(name, after), (0, 1), start=start) for start in (last, None))
        np.testing.assert_allclose(path.breakpoints, alone.breakpoints, rtol=1e-6)
        places = np.linspace(0, 1, 11)
        np.testing.assert_allclose(path.x(places), alone.x(places), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_whole_sequence_from_the_last_basis(name):
    last = None
    for step in range(STEPS[name]):
        path = pqp.solve_path(homotopy(name, step), (0, 1), start=last)
        assert_leads_from_optimum_to_optimum(path, name, step)
        last = path.segments[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "first"), PROVED)
def test_every_path_is_proved(name, first):
    for step in range(first, min(first + BLOCK, STEPS[name])):
        pqp.solve_path(homotopy(name, step), (0, 1)).certify()


@pytest.mark.parametrize("name", ["diesel", "chain80"])
def test_solution_and_multipliers_are_the_listed_ones(name):
    numbers = online_qp(name)
    for step in FEW[name][-1:]:
        point = pqp.solve_path(homotopy(name, step), (0, 1))(1)
        np.testing.assert_allclose(point.x, numbers["x_opt"][step + 1], atol=1e-6)
        listed = numbers["y_opt"][step + 1]
        np.testing.assert_allclose(np.append(point.z, point.y), listed, atol=1e-8)


def test_limits_that_are_infinite_stay_so_along_the_way():
    problem = homotopy("crane1", 3)
    assert all(limit == math.inf for limit in problem.upper.constant)
    assert not problem.upper.slope.any()
