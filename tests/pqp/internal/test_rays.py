"""rays: an obstruction is a proof, and what proves nothing is not accepted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import pqp
from pqp import mu
from pqp.errors import NumericalTroubleError
from pqp.linalg.field import RATIONAL, exact_array
from pqp.records.states import codes_of
from pqp.revised.rays import Move, _support, as_obstruction, is_proof, obstruction_of
from pqp.revised.runner import RevisedRunner
from pqp.revised.start import NoStart, find_start
from tests.definitions import LinearPrograms
from tests.strategies import for_all, hessians, problems
from tests.systems import unlimited

MUS = st.sampled_from((0, 1, -1, 2))


def codes(*names):
    return codes_of(names)


def proof_at(problem, at):
    """The obstruction found at a mu without solution, None if there is one."""
    runner = RevisedRunner(problem, False)
    blocked = runner.crossing_bounds.violated(at)
    if blocked is not None:
        return blocked
    found = find_start(runner.scaled, lambda: runner.program, float(at), unlimited())
    return runner.proof(found.states, found.ray) if isinstance(found, NoStart) else None


@for_all(problem=problems(), at=MUS)
def test_obstruction_is_a_proof_that_there_is_no_solution(problem, at):
    obstruction = proof_at(problem, at)
    assume(obstruction is not None)
    assert is_proof(problem, obstruction)
    constant, slope = obstruction.value
    assert constant + at * slope < 0
    programs = LinearPrograms(problem, at)
    widths_are_right = RevisedRunner(problem, False).crossing_bounds.violated(at) is None
    if widths_are_right:
        assert not programs.is_feasible() or programs.has_descent()


@for_all(problem=problems(), at=MUS, data=st.data())
def test_obstruction_with_its_ray_bent_is_no_proof_unless_it_still_is_one(problem, at, data):
    """A wrong number is noticed: what is accepted satisfies the definition."""
    obstruction = proof_at(problem, at)
    assume(obstruction is not None)
    ray = obstruction.ray.copy()
    ray[data.draw(st.integers(0, problem.n - 1))] += data.draw(st.sampled_from((1, -1)))
    bent = replace(obstruction, ray=ray)
    data_ = problem.data(RATIONAL)
    allowed = (data_.P @ ray == 0).all()
    allowed &= (ray[np.isfinite(data_.lower[0].astype(float))] >= 0).all()
    allowed &= (ray[np.isfinite(data_.upper[0].astype(float))] <= 0).all()
    drift, hard = data_.A @ ray, ~problem.is_soft
    allowed &= (drift[hard & np.isfinite(data_.row_lower[0].astype(float))] >= 0).all()
    allowed &= (drift[hard & np.isfinite(data_.row_upper[0].astype(float))] <= 0).all()
    assert is_proof(problem, bent) == bool(allowed)


class TestByHand:
    def test_variable_that_can_rise_for_ever(self):
        """min −x over x ≥ 0."""
        problem = pqp.ParametricQP([[0]], [-1], lower=0)
        obstruction = obstruction_of(problem, codes("lower"), Move("x", 0, 1))
        assert obstruction.ray.tolist() == [1]
        assert obstruction.value == (-1, 0)
        assert is_proof(problem, obstruction)

    def test_wrong_sense_proves_nothing(self):
        problem = pqp.ParametricQP([[0]], [-1], lower=0)
        assert not is_proof(problem, obstruction_of(problem, codes("lower"), Move("x", 0, -1)))

    def test_curvature_stops_a_ray(self):
        problem = pqp.ParametricQP([[1]], [-1], lower=0)
        assert not is_proof(problem, obstruction_of(problem, codes("lower"), Move("x", 0, 1)))

    def test_two_rows_that_contradict(self):
        """x ≥ mu, −x ≥ 1: the multipliers rise together, and the gap is −(mu + 1)."""
        problem = pqp.ParametricQP([[1]], [0], A=[[1], [-1]], row_lower=[mu, 1])
        obstruction = obstruction_of(problem, codes("between", "lower", "off"), Move("y", 1, 1))
        assert obstruction.farkas.row_lower.tolist() == [1, 1]
        assert obstruction.value == (-1, -1)
        assert is_proof(problem, obstruction)

    def test_multiplier_of_a_missing_limit_proves_nothing(self):
        problem = pqp.ParametricQP([[1]], [0], A=[[1], [-1]], row_lower=[mu, 1])
        assert not is_proof(problem, as_obstruction(problem, exact_array([0]), exact_array([-1, -1])))

    def test_multiplier_of_a_soft_row_proves_nothing(self):
        problem = pqp.ParametricQP([[1]], [0], A=[[1], [-1]], row_lower=[mu, 1], penalty=[None, 2])
        assert not is_proof(problem, as_obstruction(problem, exact_array([0]), exact_array([1, 1])))

    def test_ray_that_leaves_a_row_proves_nothing(self):
        problem = pqp.ParametricQP([[0]], [-1], A=[[1]], row_upper=5, lower=0)
        assert not is_proof(problem, as_obstruction(problem, exact_array([1]), exact_array([0])))

    def test_violation_of_a_soft_row_costs_on_the_way(self):
        """min −x + 3 max(x − 5, 0): the penalty outweighs the descent, 3 − 1 > 0."""
        problem = pqp.ParametricQP([[0]], [-1], A=[[1]], row_upper=5, penalty=3, lower=0)
        obstruction = as_obstruction(problem, exact_array([1]), exact_array([0]))
        assert obstruction.violation.tolist() == [1]
        assert obstruction.value == (2, 0)

    def test_basis_that_is_singular_is_trouble(self):
        problem = pqp.ParametricQP(np.ones((2, 2)), [0, 0], A=[[1, 1]], row_lower=1)
        with pytest.raises(NumericalTroubleError, match="singular"):
            obstruction_of(problem, codes("between", "between", "off"), Move("y", 0, 1))


class TestSupport:
    """Ten budgets xₖ + x′ₖ = 1 beside one that nothing bounds: a ray moves few of all unknowns."""

    COUNT = 10

    def problem(self):
        A = np.hstack([np.eye(self.COUNT, dtype=int)] * 2)
        costs = np.r_[np.ones(self.COUNT), np.zeros(self.COUNT - 1), -1]
        lower, upper = np.zeros(2 * self.COUNT), np.full(2 * self.COUNT, np.inf)
        lower[self.COUNT - 1] = -np.inf
        return pqp.ParametricQP(
            np.zeros((2 * self.COUNT,) * 2), -costs, A=A, row_lower=1, row_upper=1, lower=lower, upper=upper
        )

    def test_only_what_moves_is_solved_for(self):
        """x₁₀ may fall without end as x′₁₀ rises, which costs nothing; −1 per unit of x′ is gained twice."""
        problem, count = self.problem(), self.COUNT
        names = ["between"] * count + ["lower"] * count + ["equal"] * count
        move = Move("x", 2 * count - 1, 1)
        free, active = np.arange(count), np.arange(count)
        assert _support(problem, free, active, move).tolist() == [count - 1]
        obstruction = obstruction_of(problem, codes(*names), move)
        assert np.flatnonzero(obstruction.ray).tolist() == [count - 1, 2 * count - 1]
        assert is_proof(problem, obstruction)

    def test_support_of_singular_unknowns_is_all_of_them(self):
        problem = pqp.ParametricQP(np.ones((2, 2)), [0, 0])
        both = np.arange(2)
        assert _support(problem, both, both[:0], Move("z", 0, 1)).tolist() == [0, 1]


@for_all(P=st.integers(1, 4).flatmap(hessians), data=st.data())
def test_exact_block_is_that_part_of_the_matrix(P, data):
    P = pqp.ParametricQP(P, np.zeros(len(P) if isinstance(P, np.ndarray) else P.size)).P
    item = st.integers(0, P.size - 1)
    rows, columns = (np.array(data.draw(st.lists(item, unique=True)), dtype=np.int64) for _ in range(2))
    assert (P.exact_block(rows, columns) == P.matrix(RATIONAL)[np.ix_(rows, columns)]).all()
