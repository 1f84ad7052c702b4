"""Wide data: one row per task, alternatives side by side; the same study as long data."""

import pandas as pd
import pytest
from hypothesis import given, settings

from ranking import ConjointStudy, DataError, StudyError
from ranking.conjoint.data.validation import NOTHING_TAKEN
from tests.ranking.choice_tables import ATTRIBUTES, DRAWN, assert_same, frames, parts, study, table
from tests.refusals import refuses

NAMES = {"respondent": "who", "task": "task", "choice": "taken"}


def wide(**changes):
    """Two tasks of one respondent between two alternatives."""
    frame = pd.DataFrame(
        {
            "who": [7, 7],
            "task": [1, 2],
            "alt1_price": [10, 20],
            "alt1_colour": ["red", "blue"],
            "alt2_price": [20, 10],
            "alt2_colour": ["blue", "red"],
            "taken": [1, 2],
        }
    )
    return frame.assign(**changes)


def read(frame, attributes=("colour", "price"), **arguments):
    return ConjointStudy.from_wide(frame, attributes=attributes, **{**NAMES, **arguments})


def problems(frame, **arguments):
    with pytest.raises(StudyError) as caught:
        read(frame, **arguments)
    return list(caught.value.problems)


class TestReading:
    def test_every_block_is_an_alternative(self):
        found = read(wide())
        assert found.alternative.tolist() == [1, 2, 1, 2]
        assert found.design.tolist() == [[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]]
        assert found.choices.chosen.tolist() == [0, 1]

    @settings(max_examples=10)
    @given(frame=frames())
    def test_long_to_wide_to_long_is_the_same_study(self, frame):
        one = study(frame, ATTRIBUTES, **DRAWN)
        again = read(one.to_wide(), one.attributes, **DRAWN)
        assert_same(again, one)

    def test_another_pattern_names_other_columns(self):
        one = read(wide())
        columns = one.to_wide("{attribute} of option {alternative}")
        assert "price of option 2" in columns
        assert_same(read(columns, pattern="{attribute} of option {alternative}"), one)

    @pytest.mark.parametrize("pattern", ["alt{alternative}_{attribute}", "{attribute}_{alternative}"])
    def test_an_attribute_may_end_or_begin_like_another(self, pattern):
        names = ["price", "max_price", "price_now"]
        frame = table(max_price=table()["price"] + 5, price_now=table()["price"])
        one = study(frame.drop(columns="colour"), names)
        assert_same(read(one.to_wide(pattern), names, pattern=pattern), one)

    def test_alternatives_may_have_words_for_names(self):
        renamed = wide(taken=["left", "right"]).rename(
            columns=lambda name: name.replace("alt1", "left").replace("alt2", "right")
        )
        found = read(renamed, pattern="{alternative}_{attribute}")
        assert found.alternative.tolist() == ["left", "right"] * 2

    def test_an_empty_block_was_not_shown(self):
        found = read(wide(alt3_price=[None, 30], alt3_colour=[None, "red"]))
        assert found.n_alternatives.tolist() == [2, 3]
        assert found.levels()["price"] == (10, 20, 30)

    def test_an_empty_block_is_the_none_option_if_one_says_so(self):
        found = read(wide(alt3_price=None, alt3_colour=None, taken=[3, 2]), none=True)
        assert found.is_none.tolist() == [False, False, True] * 2
        assert found.choices.chosen.tolist() == [2, 1]

    def test_none_may_be_a_value_of_the_choice(self):
        found = read(wide(taken=["nothing", 2]), none_choice="nothing")
        assert found.is_none.tolist() == [False, False, True] * 2
        assert found.choices.chosen.tolist() == [2, 1]
        with_block = read(wide(alt3_price=None, alt3_colour=None, taken=[3, 2]), none=True)
        assert found.design.tolist() == with_block.design.tolist()

    def test_weights_and_holdouts_stand_once_a_row(self):
        found = read(wide(w=2.5, held=[0, 1]), weight="w", holdout="held")
        assert found.weights.tolist() == [2.5]
        assert found.tasks["holdout"].tolist() == [False, True]

    def test_a_file_is_read_like_a_table(self, tmp_path):
        path = tmp_path / "wide.csv"
        wide().to_csv(path, index=False, sep=";")
        found = ConjointStudy.read_wide_csv(path, attributes=["colour", "price"], sep=";", **NAMES)
        assert_same(found, read(wide()))


class TestMessages:
    def test_a_choice_that_was_not_offered_is_named(self):
        place = {"argument": "choice", "respondent": 7, "task": 1, "found": "5"}
        (found,) = problems(wide(taken=[5, 2]))
        assert parts(found) == {**place, "expected": "1, 2", "setting": ("none_choice", 5)}
        assert str(found).endswith("; if none was taken, pass none_choice=5")
        (found,) = problems(wide(taken=[5, 2]), none_choice=0)
        assert parts(found) == {**place, "expected": "1, 2, 0"}

    def test_a_missing_choice_is_named(self):
        (found,) = problems(wide(taken=[None, 2]))
        assert parts(found) == {"argument": "chosen", "column": "taken", "respondent": 7, "task": 1}
        assert found.remedy == NOTHING_TAKEN

    def test_problems_of_choices_and_cells_are_told_together(self):
        choice, nothing, empty = problems(wide(taken=[None, 5], alt2_price=[None, 10]))
        assert (choice.argument, choice.task) == ("choice", 2)
        assert (nothing.argument, nothing.task) == ("chosen", 1)
        assert (empty.column, empty.task, empty.alternative) == ("price", 1, 2)

    def test_a_task_that_is_there_twice_is_named(self):
        (found,) = problems(wide(task=1))
        assert str(found) == "respondent 7, task 1 occurs again in row 2; remove one of the rows"

    def test_rows_without_respondent_or_task_are_told_by_their_number(self):
        assert list(map(parts, problems(wide(who=[7, None], task=[None, 2])))) == [
            {"argument": "respondent", "column": "who", "row": 2},
            {"argument": "task", "column": "task", "row": 1},
        ]

    def test_a_column_missing_in_a_block_is_named(self):
        (found,) = problems(wide().drop(columns="alt2_price"))
        assert parts(found) == {"column": "alt2_price", "alternative": 2}

    def test_a_column_outside_the_blocks_may_not_have_their_name(self):
        (found,) = problems(wide(price=3))
        assert (found.column, found.remedy) == ("price", "rename it")

    @pytest.mark.parametrize(
        ("arguments", "argument"),
        [
            ({"pattern": "alt_{attribute}"}, "pattern"),
            ({"attributes": ["size"]}, "pattern"),
            ({"none": True, "none_choice": 3}, "none_choice"),
        ],
    )
    def test_arguments_that_make_no_sense_are_refused(self, arguments, argument):
        with refuses(DataError, argument):
            read(wide(), **arguments)

    def test_a_column_that_is_not_there_is_refused(self):
        (found,) = problems(wide(), respondent="whom")
        assert (found.argument, found.column) == ("respondent", "whom")
