"""The pool at one C: a gap that proves the solution, whatever the size of its numbers."""

import numpy as np
import pytest

from ranking.conjoint import example_study
from ranking.conjoint.estimation.model import solution_of
from ranking.conjoint.estimation.pool import CLOSED, interior_point, measured, solve_pooled
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


def pool(rows, shrinkage):
    return Program(rows, np.zeros((0, rows.rows.shape[1])), shrinkage)


def objective(rows, z, shrinkage, C):
    """The primal value, from its definition."""
    common, own = z[: rows.rows.shape[1]], z[rows.rows.shape[1] :].reshape(rows.n_owners, -1)
    losses = np.maximum(0, 1 - (rows.rows * (common + own)[rows.owner]).sum(axis=1))
    ridge = (common**2).sum() / shrinkage + (own**2).sum() / (1 - shrinkage)
    return ridge / 2 + C * rows.weight @ losses


@pytest.mark.parametrize("shrinkage", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("rows", [ROWS, large_numbers()], ids=["coffee", "large numbers"])
def test_the_gap_is_closed(rows, shrinkage, C):
    found = solve_pooled(pool(rows, shrinkage), C)
    assert found.gap <= CLOSED
    assert objective(rows, found.z, shrinkage, C) + found.dual <= 1e-12 * abs(found.dual)
    assert (found.alpha >= 0).all()
    assert (found.alpha <= C * rows.weight).all()


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_structure_and_path_agree_on_large_numbers(C):
    program = pool(large_numbers(8, 4, 10), 0.4)
    z, form = solution_of(program, C)
    assert form == "dual"
    np.testing.assert_allclose(solve_pooled(program, C).z, z, atol=1e-10)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_interior_points_lead_near_the_optimum(C):
    program = pool(large_numbers(), 0.5)
    cap = C * program.rows.weight
    start = measured(program, cap, interior_point(program, cap))
    assert start.dual == pytest.approx(solve_pooled(program, C).dual, rel=1e-9)


def test_a_row_of_equal_alternatives_is_no_obstacle():
    rows = np.vstack([ROWS.rows, np.zeros(ROWS.rows.shape[1])])
    owner = np.append(ROWS.owner, ROWS.owner[-1])
    program = pool(ChoiceRows(rows, np.append(ROWS.weight, 1), owner, ROWS.n_owners), 0.3)
    found = solve_pooled(program, 0.1)
    assert found.gap <= CLOSED
    assert found.alpha[-1] == 0.1


@pytest.mark.parametrize("C", [1e9, 1e200])
def test_a_gap_that_is_not_closed_is_told(C):
    program = pool(large_numbers(), 0.5)
    assert not solve_pooled(program, C).gap <= CLOSED
    assert measured(program, C * program.rows.weight, np.zeros(600)).gap == pytest.approx(1.0)


@needs("choice_electricity")
@pytest.mark.parametrize("C", [0.01, 0.3])
def test_prices_as_numbers_next_to_levels_do_not_keep_the_gap_open(C):
    """Sweeps alone had left a gap of some per cent here after 40 rounds, and the path took minutes."""
    train, _ = choice_study("electricity linear").split_holdout(last=3)
    rows = choice_rows(train.differences(), len(train.respondents))
    assert solve_pooled(pool(rows, 0.5), C).gap <= CLOSED
