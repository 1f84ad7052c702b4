"""conjoint.validation: what is wrong with data is said in words, with respondent and task, all at once."""

import pickle

import numpy as np
import pandas as pd
import pytest

from ranking import DataError, StudyError
from ranking.conjoint.data.validation import NOTHING_TAKEN
from tests.ranking.choice_tables import study, table, with_cell

LINEAR = {"colour": ("blue", "green", "red"), "price": "linear"}


def problems(frame, attributes=LINEAR, **roles):
    """All that is found wrong with a table."""
    with pytest.raises(StudyError) as caught:
        study(frame, attributes, **roles)
    return list(caught.value.problems)


class TestChoices:
    def test_a_task_without_choice_is_named(self):
        frame = with_cell(4, "taken", 0)
        assert problems(frame) == [f"respondent 7, task 12 has no choice in column 'taken'{NOTHING_TAKEN}"]

    def test_two_choices_in_a_task_are_named(self):
        frame = with_cell(5, "taken", 1)
        assert problems(frame) == ["respondent 7, task 12 has 2 choices, alternatives 2, 3; keep one"]
        assert problems(frame.drop(columns="alt"), alternative=None) == [
            "respondent 7, task 12 has 2 choices, rows 5, 6; keep one"
        ]

    def test_a_mark_that_is_neither_yes_nor_no_is_shown(self):
        frame = with_cell(3, "taken", "maybe")
        assert problems(frame) == [
            "respondent 7, task 12, alternative 1: column 'taken' (chosen) is \"maybe\", neither 1 nor 0"
        ]

    def test_an_empty_mark_among_zeros_is_a_problem(self):
        assert problems(with_cell(3, "taken", None)) == [
            "respondent 7, task 12, alternative 1: column 'taken' (chosen) is empty; write 1 or 0"
        ]

    def test_a_column_that_names_the_chosen_alternative_is_recognised(self):
        (found,) = problems(table(taken=[1, 1, 1, 2, 2, 2] * 2))
        assert found.startswith("column 'taken' (chosen) names the chosen alternative in every row of a task")

    def test_a_task_with_one_alternative_is_named(self):
        assert problems(
            table().drop(index=[4, 5]).assign(taken=lambda f: f.index.isin([0, 3, 6, 10]) * 1)
        ) == ["respondent 7, task 12 has one alternative; a choice needs at least two rows"]


class TestRows:
    def test_an_alternative_that_is_there_twice_is_named(self):
        frame = pd.concat([table(), table().iloc[[5]]], ignore_index=True)
        assert problems(frame) == [
            "respondent 7, task 12: alternative 3 is there again in row 13; remove one"
        ]

    def test_a_repeated_row_is_seen_without_names_of_alternatives(self):
        frame = pd.concat([table(), table().iloc[[5]]], ignore_index=True).drop(columns="alt")
        (found,) = problems(frame, alternative=None)
        assert found.startswith("respondent 7, task 12: row 13 repeats another row; remove it")

    def test_the_same_row_in_two_tasks_is_no_problem(self):
        study(table(task=[1, 1, 1, 2, 2, 2] * 2, colour="red", price=10))

    def test_an_alternative_without_name_is_told_by_its_row(self):
        assert problems(with_cell(4, "alt", None)) == [
            "respondent 7, task 12 (row 5): the alternative has no name"
        ]

    def test_rows_without_respondent_or_task_are_told_by_their_number(self):
        frame = with_cell(5, "task", " ", with_cell(2, "who", None))
        assert problems(frame) == [
            "row 3: column 'who' is empty; whose answer is it?",
            "respondent 7: column 'task' is empty in row 6",
        ]

    def test_a_respondent_without_tasks_is_named(self):
        frame = pd.concat([table(), table(who=9, task=None).iloc[:1]], ignore_index=True)
        assert problems(frame) == ["respondent 9 has no task: column 'task' is empty in row 13"]


class TestCells:
    def test_an_empty_cell_is_named(self):
        assert problems(with_cell(3, "price", None)) == [
            "respondent 7, task 12, alternative 1: price is empty; fill it in"
        ]

    def test_text_among_numbers_is_shown(self):
        frame = with_cell(4, "price", "cheap", with_cell(3, "price", "12,5"))
        assert problems(frame) == [
            'respondent 7, task 12, alternative 1: price is "12,5", which is not a number; write a point for '
            "the comma, or read the file with decimal=','",
            'respondent 7, task 12, alternative 2: price is "cheap", which is not a number',
        ]

    def test_many_rows_with_the_same_problem_are_told_in_one_sentence(self):
        frame = table(price=["$15.99"] * 12)
        assert problems(frame) == [
            'price: 12 rows are not numbers, the first is "$15.99" (respondent 7, task 11, alternative 1); '
            "write plain numbers"
        ]
        assert problems(table(price=["9,5"] * 12))[0].endswith(
            "write a point for the comma, or read the file with decimal=','"
        )
        assert problems(table(price=[1.0] + [None] * 11)) == [
            "price: 11 rows are empty, the first is respondent 7, task 11, alternative 2; fill them in"
        ]

    def test_numbers_are_not_guessed_by_their_digits(self):
        levels = {"price": [9.99, 12.99, 15.99]}
        told = problems(table(price=[19.99] + [9.99] * 11), levels)
        assert told == [
            "price: level 19.99 is unknown (1 row, the first is respondent 7, task 11, alternative 1); "
            "the levels are 9.99, 12.99, 15.99"
        ]
        told = problems(table(price=["9.99 "] + [9.99] * 11), levels)
        assert told[0].endswith("; did you mean 9.99?")

    def test_many_marks_that_are_none_are_told_in_one_sentence(self):
        told = problems(table(taken=["maybe"] * 12))
        assert told[0] == (
            "column 'taken' (chosen) is neither 1 nor 0 in 12 rows, the first is \"maybe\" (respondent 7, "
            "task 11, alternative 1); is it the right column?"
        )
        told = problems(table(taken=[0] + [None] * 11))
        assert told[0].startswith(
            "column 'taken' (chosen) is empty in 11 rows, the first is respondent 7, task"
        )

    def test_an_infinite_number_is_refused(self):
        assert problems(table(price=[np.inf] + [1] * 11)) == [
            "respondent 7, task 11, alternative 1: price is inf, which is not a number"
        ]

    @pytest.mark.parametrize(
        ("typed", "remedy"),
        [
            ("red ", 'did you mean "red"?'),
            ("Red", 'did you mean "red"?'),
            ("gren", 'did you mean "green"?'),
            ("xyz", 'the levels are "blue", "green", "red"'),
        ],
    )
    def test_an_unknown_level_comes_with_a_guess(self, typed, remedy):
        frame = with_cell(10, "colour", typed, with_cell(4, "colour", typed))
        where = "2 rows, the first is respondent 7, task 12, alternative 2"
        assert problems(frame) == [f'colour: level "{typed}" is unknown ({where}); {remedy}']

    def test_levels_that_differ_in_blanks_or_capitals_are_suspect(self):
        assert problems(with_cell(4, "colour", "red "), ["colour"]) == [
            'colour: "red" (5 rows) and "red " (1 row) differ only in blanks or capitals; spell them alike, '
            "or list the levels if they are meant"
        ]
        assert (
            len(study(with_cell(4, "colour", "red "), {"colour": ["red", "red ", "blue", "green"]}).columns)
            == 4
        )

    @pytest.mark.parametrize("kind", ["levels", "linear"])
    def test_an_empty_column_is_said_once(self, kind):
        assert problems(table(price=None), {"colour": "levels", "price": kind}) == [
            "price: the whole column is empty"
        ]


class TestNone:
    def test_an_empty_alternative_may_be_the_none_option(self):
        frame = with_cell(5, "price", None, with_cell(5, "colour", None))
        assert problems(frame) == [
            "respondent 7, task 12, alternative 3: all attributes are empty; if this is the none option, "
            "pass none=True"
        ]
        assert study(frame, none=True).has_none

    def test_two_none_options_in_a_task_are_named(self):
        frame = table(nix=[0, 0, 0, 0, 1, 1] + [0, 0, 1] * 2)
        assert problems(frame, none="nix") == [
            "respondent 7, task 12 has more than one none option, again in row 6"
        ]

    @pytest.mark.parametrize(("none", "word"), [(True, "empty"), (0, "0")])
    def test_a_none_option_that_never_occurs_is_a_problem(self, none, word):
        assert problems(table(), none=none) == [f"no row has all attributes {word}; leave none= out"]


class TestWeightsAndHoldouts:
    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (
                [1.0] * 5 + [2.0] + [1.0] * 6,
                "respondent 7 has different weights, 1 and 2; write one in all rows",
            ),
            ([None] * 6 + [1.0] * 6, "respondent 7 has no weight; give one, or leave out weight="),
            ([-1] * 6 + [1] * 6, "respondent 7: the weight is -1, not a positive number"),
            (["much"] * 6 + [1] * 6, 'respondent 7: the weight is "much", not a positive number'),
        ],
    )
    def test_weights_that_make_no_sense_are_named(self, weights, message):
        assert problems(table(w=pd.Series(weights, dtype=object)), weight="w") == [message]

    def test_weights_of_unknown_or_forgotten_respondents_are_named(self):
        assert problems(table(), weight={7: 1, 9: 1}) == [
            "weight names respondent 9, who has no task",
            "respondent 8 has no weight; give one, or leave out weight=",
        ]

    def test_respondents_of_another_type_are_told_apart(self):
        found = problems(table(), weight={"7": 1, 8: 1})
        assert found[0] == 'weight names respondent "7", who has no task'

    def test_weights_must_be_a_column_or_by_respondent(self):
        with pytest.raises(DataError, match="weight must be a column or weights by respondent"):
            study(weight=[1, 2])

    def test_a_task_held_out_in_part_is_named(self):
        assert problems(table(held=[1, 1, 1, 0, 1, 0] + [0] * 6), holdout="held") == [
            "respondent 7, task 12: column 'held' marks some alternatives, not all"
        ]


class TestColumns:
    def test_every_missing_column_is_named_with_a_guess(self):
        found = problems(table(), ["color", "price"], respondent="whom")
        assert found == [
            "there is no column 'whom' (respondent); the columns are "
            '"who", "task", "alt", "colour", "price", "taken"; did you mean "who"?',
            "there is no column 'color' (attribute color); the columns are "
            '"who", "task", "alt", "colour", "price", "taken"; did you mean "colour"?',
        ]

    def test_a_column_with_two_roles_is_named(self):
        assert problems(table(), ["price", "taken"]) == [
            "column 'taken' is both chosen and attribute taken; name two columns"
        ]

    def test_cells_that_are_lists_are_refused(self):
        assert problems(table(price=[[1]] * 12)) == [
            "column 'price' holds lists or the like; a cell is a word or a number"
        ]

    def test_a_column_of_alternatives_that_is_not_used_is_a_problem(self):
        (found,) = problems(table().rename(columns={"alt": "alternative"}), alternative=None)
        assert "say alternative='alternative', or rename it" in found

    @pytest.mark.parametrize(
        ("frame", "message"),
        [
            ([1, 2], "must be a pandas DataFrame, got list"),
            (table().iloc[:0], "no row below their header"),
            (pd.concat([table(), table()["who"]], axis=1), "the column 'who' is there twice"),
        ],
    )
    def test_what_is_no_table_is_refused(self, frame, message):
        with pytest.raises(DataError, match=message):
            study(frame, LINEAR)


class TestTogether:
    def test_all_problems_are_told_at_once_by_kind(self):
        frame = with_cell(0, "taken", 0, with_cell(4, "colour", "red ", with_cell(7, "price", "dear")))
        with pytest.raises(StudyError) as caught:
            study(frame, LINEAR)
        assert str(caught.value).splitlines() == [
            "the data have 3 problems:",
            f"- respondent 7, task 11 has no choice in column 'taken'{NOTHING_TAKEN}",
            '- colour: level "red " is unknown (1 row, the first is respondent 7, task 12, alternative 2); '
            'did you mean "red"?',
            '- respondent 8, task 11, alternative 2: price is "dear", which is not a number',
        ]

    def test_many_problems_are_cut_and_counted_and_no_kind_is_lost(self):
        parts = [table(who=who, taken=0).iloc[:6] for who in range(20)]
        frame = with_cell(3, "colour", "redd", pd.concat(parts, ignore_index=True))
        with pytest.raises(StudyError) as caught:
            study(frame, LINEAR)
        lines = str(caught.value).splitlines()
        assert len(caught.value.problems) == 41
        assert lines[0] == "the data have 41 problems:"
        assert len(lines) == 22
        assert sum("has no choice" in line for line in lines) == 19
        assert sum('"redd"' in line for line in lines) == 1
        assert lines[-1] == "- and 21 more (all of them: .problems of this error)"

    def test_the_error_keeps_its_problems_when_pickled(self):
        error = StudyError("two problems", ("one", "two"))
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.problems) == ("two problems", ("one", "two"))
