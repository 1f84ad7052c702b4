"""The pool at one C: a gap that proves the solution, whatever the size of its numbers."""

import numpy as np
import pytest

from ranking.conjoint import example_study
from ranking.conjoint.estimation.model import solution_of
from ranking.conjoint.estimation.pool import CLOSED, _improved, interior_start, pool_of, solve_pooled
from ranking.conjoint.estimation.programs import ChoiceRows, Program, choice_rows
from tests.conjoint_data import choice_study
from tests.data_folder import needs

TRAIN, _ = example_study().split_holdout()
ROWS = choice_rows(TRAIN.differences(), len(TRAIN.respondents))


def large_numbers(n=30, d=6, a_respondent=20, seed=0):
    """Rows with one column twenty times as large as the others, and a respondent without any."""
    random = np.random.default_rng(seed)
    rows = random.integers(-2, 3, size=(n * a_respondent, d)).astype(float)
    rows[:, 0] *= 20
    owner = np.repeat(np.arange(n), a_respondent)
    owner[owner >= 7] += 1
    weight = random.integers(1, 4, size=len(rows))
    return ChoiceRows(rows, weight, owner, n + 1)


def objective(rows, solution, shrinkage, C):
    """The primal value, from its definition."""
    v = np.sqrt(shrinkage) * solution.common + np.sqrt(1 - shrinkage) * solution.own
    losses = np.maximum(0, 1 - (rows.rows * v[rows.owner]).sum(axis=1))
    ridge = (solution.common**2).sum() / 2 + (solution.own**2).sum() / 2
    return ridge + C * rows.weight @ losses


@pytest.mark.parametrize("shrinkage", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("rows", [ROWS, large_numbers()], ids=["coffee", "large numbers"])
def test_the_gap_is_closed(rows, shrinkage, C):
    found = solve_pooled(rows, shrinkage, C)
    assert found.gap <= CLOSED
    assert objective(rows, found, shrinkage, C) + found.dual <= 1e-12 * abs(found.dual)
    assert (found.alpha >= 0).all()
    assert (found.alpha <= C * rows.weight).all()


def test_structure_and_path_agree_on_large_numbers():
    rows = large_numbers(8, 4, 10)
    found = solve_pooled(rows, 0.4, 0.1)
    z, form = solution_of(Program(rows, np.zeros((0, 4)), 0.4), 0.1)
    assert form == "dual"
    wanted = np.concatenate([0.4**0.5 * found.common, 0.6**0.5 * found.own.ravel()])
    np.testing.assert_allclose(wanted, z, atol=1e-8)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_interior_points_lead_near_the_optimum(C):
    pool = pool_of(large_numbers(), 0.5, C)
    start, best = interior_start(pool), solve_pooled(large_numbers(), 0.5, C)
    assert ((start >= 0) & (start <= pool.cap)).all()
    assert pool.measured(start).dual == pytest.approx(best.dual, rel=1e-4)


def test_a_gap_that_is_not_closed_is_told():
    pool = pool_of(large_numbers(), 0.5, 1.0)
    assert _improved(pool, np.zeros(len(pool.X)), 0).gap == pytest.approx(1.0)
    assert CLOSED < _improved(pool, np.zeros(len(pool.X)), 1).gap <= 1.0


@needs("choice_electricity")
@pytest.mark.parametrize("C", [0.01, 0.3])
def test_prices_as_numbers_next_to_levels_do_not_keep_the_gap_open(C):
    """Sweeps alone had left a gap of some per cent here after 40 rounds, and the path took minutes."""
    train, _ = choice_study("electricity linear").split_holdout(last=3)
    rows = choice_rows(train.differences(), len(train.respondents))
    assert solve_pooled(rows, 0.5, C).gap <= CLOSED
