"""Splits: holdouts, folds and subsets divide the tasks of a study, never a task."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranking import DataError, StudyError
from ranking.conjoint import example_study
from tests.ranking.choice_tables import ATTRIBUTES, DRAWN, frames, parts, study, table
from tests.refusals import refuses


def names(found):
    """The tasks of a study: respondent and task."""
    return list(zip(found.tasks["respondent"], found.tasks["task"], strict=True))


class TestHoldout:
    def test_the_last_tasks_of_every_respondent_are_held_out(self):
        train, held = study().split_holdout(last=1)
        assert names(train) == [(7, 11), (8, 11)]
        assert names(held) == [(7, 12), (8, 12)]

    def test_tasks_are_held_out_by_name(self):
        train, held = study().split_holdout(tasks=[11])
        assert names(train) == [(7, 12), (8, 12)]
        assert names(held) == [(7, 11), (8, 11)]

    def test_tasks_marked_in_a_column_are_held_out(self):
        frame = table(held=[0] * 9 + [1] * 3)
        for found in (
            study(frame, holdout="held").split_holdout(),
            study(frame, holdout="held").split_holdout(column="held"),
            study(frame).split_holdout(column="held"),
        ):
            assert names(found[1]) == [(8, 12)]

    def test_both_parts_keep_respondents_levels_and_columns(self):
        whole = study(table(price=[10, 20, 30, 20, 10, 40] * 2))
        for part in whole.split_holdout(tasks=[11]):
            assert part.respondents.equals(whole.respondents)
            assert part.columns.equals(whole.columns)
            assert part.weights.equals(whole.weights)

    def test_parts_have_no_marks_left(self):
        train, held = example_study().split_holdout()
        assert (len(train.tasks), len(held.tasks)) == (192, 48)
        assert len(held.differences()) == 48 * 3
        assert len(train.differences(holdout=True)) == 0

    @pytest.mark.parametrize(
        ("wish", "wrong"),
        [
            ({}, {"argument": "holdout", "setting": ("last", 3)}),
            ({"last": 2}, {"argument": "last", "respondent": 7}),
            ({"last": 0}, {"argument": "last", "found": 0}),
            ({"last": 1, "tasks": [11]}, {"argument": "tasks", "found": "last and tasks"}),
            ({"tasks": [11, 12]}, {"argument": "holdout", "remedy": "hold out fewer"}),
            ({"tasks": [13]}, {"argument": "tasks", "found": "13"}),
            ({"tasks": "11"}, {"argument": "tasks", "expected": "a list of task names"}),
            ({"column": "hold"}, {"argument": "column", "found": "'hold'"}),
        ],
    )
    def test_wishes_that_make_no_sense_are_refused(self, wish, wrong):
        with refuses(DataError, **wrong):
            study().split_holdout(**wish)

    def test_a_column_that_marks_part_of_a_task_is_refused(self):
        with pytest.raises(StudyError) as caught:
            study(table(held=[0, 0, 0, 0, 1, 0] + [0] * 6)).split_holdout(column="held")
        (found,) = caught.value.problems
        assert parts(found) == {"argument": "holdout", "column": "held", "respondent": 7, "task": 12}


class TestFolds:
    @settings(max_examples=8)
    @given(frame=frames(), seed=st.integers(0, 9))
    def test_every_task_is_judged_by_once(self, frame, seed):
        whole = study(frame, ATTRIBUTES, **DRAWN)
        if len(whole.choices) < 2:
            return
        k = min(3, len(whole.choices))
        judged = []
        for train, test in whole.folds(k, seed):
            assert sorted(names(train) + names(test)) == sorted(names(whole))
            assert not set(names(train)) & set(names(test))
            judged += names(test)
        assert sorted(judged) == sorted(names(whole))

    def test_rows_of_parts_are_those_of_the_study(self):
        whole = example_study()
        rows = whole.to_frame().set_index(["respondent", "task"])
        for part in next(whole.folds(4, 1)):
            found = part.to_frame().set_index(["respondent", "task"]).drop(columns="holdout")
            wanted = rows.loc[names(part)].drop(columns="holdout")
            pd.testing.assert_frame_equal(found, wanted)

    def test_tasks_of_every_respondent_are_spread_over_the_folds(self):
        for _, test in example_study().folds(5, 0):
            assert set(np.bincount(test.choices.respondent)) == {2}

    def test_by_respondent_nobody_is_on_both_sides(self):
        sizes = []
        for train, test in example_study().folds(4, 0, by="respondent"):
            assert not set(train.choices.respondent) & set(test.choices.respondent)
            sizes.append(len(set(test.choices.respondent)))
        assert sizes == [6, 6, 6, 6]

    def test_the_same_seed_gives_the_same_folds(self):
        one, other, third = (
            [names(test) for _, test in example_study().folds(3, seed)] for seed in (0, 0, 1)
        )
        assert one == other
        assert one != third

    @pytest.mark.parametrize("k", [1, 5, 2.0, True])
    def test_a_number_of_folds_that_makes_no_sense_is_refused(self, k):
        with refuses(DataError, "k", expected="a number of folds from 2 to the 4 tasks"):
            next(study().folds(k))

    def test_folds_by_something_else_are_refused(self):
        with refuses(DataError, "by", found="'moon'"):
            next(study().folds(2, by="moon"))


class TestOnly:
    def test_some_respondents_are_a_study_of_their_own(self):
        part = study(weight={7: 1, 8: 3}).only(respondents=[8])
        assert part.respondents.tolist() == [8]
        assert part.weights.tolist() == [3]
        assert names(part) == [(8, 11), (8, 12)]
        assert part.choices.respondent.tolist() == [0, 0]
        assert part.columns.equals(study().columns)

    def test_the_order_of_the_wish_does_not_matter(self):
        assert study().only(respondents=[8, 7, 8]).respondents.tolist() == [7, 8]

    @pytest.mark.parametrize(
        ("wish", "wrong"),
        [
            ([9], {"argument": "respondents", "found": "9"}),
            ([], {"argument": "respondents"}),
            ("78", {"argument": "respondents", "found": "'78'"}),
        ],
    )
    def test_respondents_who_are_not_there_are_refused(self, wish, wrong):
        with refuses(DataError, **wrong):
            study().only(respondents=wish)
