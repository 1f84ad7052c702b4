"""solve and solve_path: small problems of the Maros-Meszaros test set against their listed optima."""

import contextlib
from dataclasses import replace

import pytest

import pqp
from pqp import mu
from pqp.errors import NotConvexError, NumericalTroubleError
from tests.benchmarks.maros_meszaros import HOLE, INTERVAL, PIECES, with_moving_cost
from tests.comparison import optimal_points, traced
from tests.data_folder import index, maros_meszaros, needs
from tests.engines import FLOAT_ENGINES
from tests.path_check import check_path

pytestmark = needs("maros_meszaros")
# The listed optima have twelve digits, fewer where solvers had to agree on them.
LISTED = 1e-8
# What rounding error leaves of the optimality conditions: the data reach 1e5.
RESIDUAL = 1e-9

TINY = ("HS21", "QPTEST", "HS35", "HS35MOD", "HS268", "HS51", "HS53", "S268", "GENHS28", "HS118")
DUALS = ("DUALC5", "DUALC1")
BY_FLOAT = (*TINY, *DUALS, "DUAL1", "DUAL3", "CVXQP1_S", "CVXQP3_S", "PRIMALC5")
BY_FLOAT_SLOWLY = ("DPKLO1", "QSC205")
BY_EXACT_SLOWLY = ("PRIMALC1", "PRIMALC5")
# Round-off wins in these; QAFIRO has limits of 6e-16 beside others of 500, which float64 takes for zero.
HARD = ("PRIMALC1", "QISRAEL", "QAFIRO")
HARD_AND_SLOW = ("QSHARE2B", "QBRANDY", "QRECIPE")


def slow(names):
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


def is_listed_optimum(value, name):
    known = float(index("maros_meszaros")[name]["f_opt"])
    return abs(float(value) - known) <= LISTED * max(1.0, abs(known))


@pytest.mark.parametrize("name", [*BY_FLOAT, *slow(BY_FLOAT_SLOWLY)])
@FLOAT_ENGINES
def test_float_value_is_the_listed_optimum(name, engine):
    point = engine.solve(maros_meszaros(name), 0)
    assert is_listed_optimum(point.objective, name)
    assert point.residuals().largest <= RESIDUAL


@pytest.mark.parametrize("name", ["QBORE3D", "QCAPRI", "QFORPLAN"])
@needs("maros_meszaros_paths")
def test_no_multiplier_is_wrong_next_to_much_larger_ones(name):
    """Multipliers reach 1e8 where costs are about 1."""
    path = pqp.solve_path(with_moving_cost(name), INTERVAL)
    assert check_path(path, INTERVAL, hole=HOLE, pieces=PIECES, values=0).is_right


@pytest.mark.parametrize("name", [*TINY, "QAFIRO", *DUALS, *slow(BY_EXACT_SLOWLY)])
def test_exact_value_is_the_listed_optimum_and_proved(name):
    path = traced(maros_meszaros(name), (0, 0))
    path.certify()
    assert is_listed_optimum(path(0).objective, name)
    assert path(0).residuals().largest == 0


@pytest.mark.parametrize("name", BY_FLOAT)
@FLOAT_ENGINES
def test_float_solution_is_proved(name, engine):
    engine.trace(maros_meszaros(name), (0, 0)).certify()


@pytest.mark.parametrize("name", [*HARD, *slow(HARD_AND_SLOW)])
@FLOAT_ENGINES
def test_float_gives_the_right_answer_or_none(name, engine):
    with contextlib.suppress(NumericalTroubleError):
        assert is_listed_optimum(engine.solve(maros_meszaros(name), 0).objective, name)


def test_indefinite_problem_is_refused_with_a_direction_of_negative_curvature():
    with pytest.raises(NotConvexError) as caught:
        maros_meszaros("VALUES")
    assert caught.value.curvature < 0
    assert len(caught.value.direction) == int(index("maros_meszaros")["VALUES"]["n"])


MOVES = {
    "linear cost times 1 + mu": lambda problem: {"c": problem.c * (1 + mu)},
    "upper limits raised by mu": lambda problem: {
        "upper": problem.upper + mu,
        "row_upper": problem.row_upper + mu,
    },
    "lower limits raised by mu": lambda problem: {
        "lower": problem.lower + mu,
        "row_lower": problem.row_lower + mu,
    },
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("name", ["HS21", "QPTEST", "HS35", "HS53", "HS118"])
class TestMovedProblem:
    def moved(self, name, move):
        problem = maros_meszaros(name)
        return replace(problem, **MOVES[move](problem))

    def test_exact_path_is_proved_and_meets_the_listed_optimum_at_zero(self, name, move):
        path = traced(self.moved(name, move), (-5, 30))
        path.certify()
        assert all(point.residuals().largest == 0 for point in optimal_points(path))
        assert is_listed_optimum(path(0).objective, name)

    @FLOAT_ENGINES
    def test_float_path_is_proved_and_meets_the_listed_optimum_at_zero(self, name, move, engine):
        path = engine.trace(self.moved(name, move), (-5, 30))
        path.certify()
        assert all(point.residuals().largest <= RESIDUAL for point in optimal_points(path))
        assert is_listed_optimum(path(0).objective, name)
