"""scaling: the scaled problem is the same problem in other units, all powers of two."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import pqp
from pqp import mu
from pqp.errors import NumericalTroubleError
from pqp.revised.event_kernels import VALUE
from pqp.revised.presolve import presolve
from pqp.revised.scaling import scale_problem
from pqp.revised.start import NoStart
from pqp.revised.trace import Tracer
from tests.engines import REVISED
from tests.refusals import may_refuse, refused_at_most
from tests.strategies import problems
from tests.systems import FEW, SEEDS, begin_at, dense, off_staircase, positive

POWERS = st.integers(-20, 20)


def badly_scaled(seed, sparse=False):
    """A problem with rows and variables in units between 2⁻²⁰ and 2²⁰."""
    random = np.random.default_rng(seed)
    units, row_units = (2.0 ** random.integers(-20, 21, size) for size in (4, 3))
    A = row_units[:, None] * random.integers(-2, 3, (3, 4)) / units
    P = positive(random, 4) / units[:, None] / units
    c = random.integers(-3, 4, 4) / units
    rows = {"row_lower": -row_units, "row_upper": row_units * (1 + mu)}
    return pqp.ParametricQP(P, c * (1 + mu), A=csr_array(A) if sparse else A, lower=-3 * units, **rows)


@pytest.mark.parametrize("sparse", [False, True])
@FEW
@given(seed=SEEDS)
def test_units_are_powers_of_two_and_bring_the_diagonal_to_about_one(sparse, seed):
    scaled = scale_problem(presolve(badly_scaled(seed, sparse)))
    assert np.array_equal(np.log2(scaled.d), np.round(np.log2(scaled.d)))
    M = np.abs(dense(scaled.system))
    largest = M.max(axis=1)[M.any(axis=1)]
    assert largest.max() <= 64
    assert largest.min() >= 1 / 64


@FEW
@given(problem=st.one_of(problems(), SEEDS.map(badly_scaled)), seed=SEEDS)
def test_scaled_setting_is_the_problem_in_other_units(problem, seed):
    """v = d v', g = g' / d: the scaled system, limits and caps are the plain ones, entry by entry."""
    reduced = presolve(problem)
    scaled, random = scale_problem(reduced), np.random.default_rng(seed)
    v = random.normal(size=(reduced.size, 2))
    plain = plain_system(reduced) @ (scaled.d[:, None] * v) + reduced.q
    g = scaled.system.times(v) + scaled.q
    assert np.allclose(g, scaled.d[:, None] * plain, rtol=1e-12, atol=1e-9)
    value_unit = np.where(reduced.is_row, 1 / scaled.d, scaled.d)[:, None]
    for ours, theirs, unit in (
        (scaled.bounds.lower, reduced.bounds.lower, value_unit),
        (scaled.bounds.upper, reduced.bounds.upper, value_unit),
        (scaled.bounds.cap, reduced.bounds.cap, 1 / value_unit),
    ):
        assert np.array_equal(ours * unit, theirs)
    assert np.array_equal(scaled.bounds.is_equal, reduced.bounds.is_equal)


def plain_system(reduced):
    """M of the kept items, formed from P, A and G."""
    problem, variables, rows = reduced.problem, reduced.variables, reduced.rows
    H = problem.P.operator.block(variables, variables)
    A = np.asarray(problem.A.toarray() if hasattr(problem.A, "toarray") else problem.A, dtype=float)
    B, G = A[np.ix_(rows, variables)], np.zeros((len(rows), len(rows)))
    if reduced.elimination is not None:
        G = reduced.elimination.operator.times(np.eye(len(rows)))
    return np.block([[H, -B.T], [B, G]])


def test_data_of_about_one_are_left_alone():
    scaled = scale_problem(
        presolve(pqp.ParametricQP(2 * np.eye(2), [1, mu], A=[[3, 1]], row_lower=1, lower=0))
    )
    assert scaled.d.tolist() == [1, 1, 1]


@pytest.mark.parametrize("seed", range(5))
def test_path_of_badly_scaled_data_is_proved(seed):
    REVISED.trace(badly_scaled(seed), (0, 4)).certify()


@refused_at_most(0.02)
@FEW
@given(seed=SEEDS, at=st.sampled_from((0.0, 0.5, 2.0)))
def test_unscaled_solution_of_the_scaled_problem_solves_the_problem(seed, at):
    """In the units of the problem v = d v' is where optimality allows."""
    with may_refuse():
        runner, states = begin_at(badly_scaled(seed), at)
    assume(not isinstance(states, NoStart))
    scaled, tracer = runner.scaled, Tracer(runner.scaled.lcp, states, at)
    reduced, d = scaled.reduced, scaled.d
    fixed = scaled.lcp.table.of(states)[:2].T @ (1.0, at)
    v = np.where(scaled.lcp.is_unknown(states), tracer.lines[VALUE], fixed) * d
    g = plain_system(reduced) @ v + reduced.q @ (1.0, at)
    here, unit = reduced.bounds.at(at), np.where(reduced.is_row, 1 / d, d)
    value, multiplier = np.where(reduced.is_row, g, v) / unit, np.where(reduced.is_row, v, g) * unit
    size = np.abs(value).max() + np.abs(multiplier).max()
    for i in range(reduced.size):
        corners = here.lower[i, 0] / unit[i], here.upper[i, 0] / unit[i], here.cap[i, 0] * unit[i]
        assert off_staircase(*corners, value[i], multiplier[i]) <= 1e-9 * (1 + size)


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**30])
def test_units_of_the_objective_of_a_linear_program_do_not_matter(factor):
    """Nothing relates costs to limits: they are balanced."""
    random = np.random.default_rng(0)
    A, c = random.integers(-2, 3, (3, 5)), random.integers(1, 4, 5)
    problem = pqp.ParametricQP(np.zeros((5, 5)), c * factor, A=A, row_lower=-1, lower=0, upper=3)
    scaled = scale_problem(presolve(problem))
    costs = np.abs(scaled.q).max()
    limits = np.concatenate([scaled.bounds.lower, scaled.bounds.upper])[:, 0]
    assert 1 / 8 <= costs / np.abs(limits[np.isfinite(limits)]).max() <= 8


def test_data_that_overflow_are_refused():
    problem = pqp.ParametricQP([[1e-300]], [1e200], lower=-1e200)
    with pytest.raises(NumericalTroubleError, match="overflow float64"):
        scale_problem(presolve(problem))
