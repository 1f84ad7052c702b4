"""pqp.demo: its problem is that of `ConjointPath` for one respondent alone, and its path the same."""

import math

import numpy as np
import pytest

import pqp
from pqp.cli import demo
from pqp.cli.demo import LEVELS, RESPONDENT, RESPONDENTS, TASKS, conjoint_problem
from ranking import ConjointPath
from ranking.conjoint import example_study
from ranking.conjoint.data.example import FILE, PACKAGE
from tests.refusals import refuses

# Someone who contradicts themselves, someone who does not, one who minds the brand, one who takes the first.
SOME = (RESPONDENT, 7, 19, 24)


@pytest.fixture(scope="module", params=SOME)
def respondent(request):
    return request.param


@pytest.fixture(scope="module")
def demo_path(respondent):
    return pqp.solve_path(conjoint_problem(respondent), (0, math.inf), arithmetic="exact")


@pytest.fixture(scope="module")
def model(respondent):
    study = example_study().only(respondents=[respondent])
    return ConjointPath(C_max=math.inf, pooling="individual").fit(study)


class TestPath:
    def test_part_worths_are_those_of_ConjointPath_at_every_breakpoint_of_both(self, demo_path, model):
        ends = [0.0, *map(float, demo_path.breakpoints), *model.breakpoints_.tolist()]
        for C in [*ends, 2 * max(ends)]:
            theirs = model.individual_part_worths_at(C).to_numpy()[0]
            np.testing.assert_allclose(demo_path(C).x.astype(float), theirs, atol=1e-9)

    def test_part_worths_of_one_respondent_are_not_those_of_another(self, demo_path, respondent):
        other = conjoint_problem(respondent - 1)
        theirs = pqp.solve(other, 1, arithmetic="exact").x
        assert (demo_path(1).x != theirs).any()


@pytest.mark.parametrize("number", range(1, RESPONDENTS + 1))
def test_rows_are_the_differences_of_the_tasks_that_are_not_held_out(number):
    study = example_study().only(respondents=[number])
    np.testing.assert_array_equal(conjoint_problem(number).A, study.differences().rows)


def test_fewer_tasks_are_the_first_ones():
    whole, part = conjoint_problem(), conjoint_problem(tasks=3)
    np.testing.assert_array_equal(part.A, whole.A[:9])
    assert part.row_names == whole.row_names[:9]


def test_names_are_the_columns_of_the_study():
    names = [f"{attribute} {level}" for attribute, level in example_study().columns[:-1]]
    assert list(conjoint_problem().names) == [*names, "none"]
    assert {name: tuple(map(str, levels)) for name, levels in example_study().levels().items()} == LEVELS


def test_row_names_tell_task_and_alternatives():
    frame = example_study().only(respondents=[RESPONDENT]).to_frame()
    first = frame[frame["task"] == 1]
    chosen = first.loc[first["chosen"] == 1, "alternative"].item()
    others = [place for place in first["alternative"] if place != chosen]
    assert list(conjoint_problem(tasks=1).row_names) == [f"task 1: {chosen} over {other}" for other in others]


def test_numbers_of_respondents_and_tasks_are_those_of_the_study():
    train, _ = example_study().split_holdout()
    assert train.respondents.tolist() == list(range(1, RESPONDENTS + 1))
    assert set(np.bincount(train.choices.respondent)) == {TASKS}


def test_both_packages_read_the_same_file():
    assert (PACKAGE, FILE) == ("pqp", demo.FILE)


@pytest.mark.parametrize(
    ("arguments", "name"), [((0,), "respondent"), ((25,), "respondent"), ((1, 9), "tasks")]
)
def test_numbers_out_of_range_are_refused(arguments, name):
    with refuses(pqp.ProblemError, name, found=arguments[-1]):
        conjoint_problem(*arguments)
