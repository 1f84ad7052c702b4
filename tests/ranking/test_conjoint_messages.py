"""Errors about the data of a study carry respondent, task, column and remedy, all findings in one error."""

import pickle

import numpy as np
import pandas as pd
import pytest

from ranking import DataError, StudyError
from ranking.conjoint.data.validation import NOTHING_TAKEN
from tests.ranking.choice_tables import parts, study, table, with_cell

LINEAR = {"colour": ("blue", "green", "red"), "price": "linear"}
# Where the cells of row 3 and the task of row 4 are, rows counted from 0.
ALTERNATIVE = {"respondent": 7, "task": 12, "alternative": 1, "row": 4}
TASK = {"respondent": 7, "task": 12}
CHOSEN = {"argument": "chosen", "column": "taken"}


def problems(frame, attributes=LINEAR, **roles):
    """All that is found wrong with a table."""
    with pytest.raises(StudyError) as caught:
        study(frame, attributes, **roles)
    return list(caught.value.problems)


def only(frame, attributes=LINEAR, **roles):
    """The only thing that is wrong with a table."""
    (found,) = problems(frame, attributes, **roles)
    return found


class TestChoices:
    def test_a_task_without_choice_is_named(self):
        found = only(with_cell(4, "taken", 0))
        assert parts(found) == {**CHOSEN, **TASK}
        assert str(found) == f"respondent 7, task 12 has no choice in column 'taken'; {NOTHING_TAKEN}"

    def test_two_choices_in_a_task_are_named(self):
        frame = with_cell(5, "taken", 1)
        found = only(frame)
        assert parts(found) == {**CHOSEN, **TASK, "found": "2 choices, alternatives 2, 3"}
        assert str(found) == "respondent 7, task 12 has 2 choices, alternatives 2, 3; keep one"
        assert only(frame.drop(columns="alt"), alternative=None).found == "2 choices, rows 5, 6"

    def test_a_mark_that_is_neither_yes_nor_no_is_shown(self):
        found = only(with_cell(3, "taken", "maybe"))
        assert parts(found) == {**CHOSEN, **ALTERNATIVE, "found": "'maybe'", "expected": "1 or 0"}
        assert str(found) == (
            "respondent 7, task 12, alternative 1: column 'taken' (chosen) is 'maybe', not 1 or 0"
        )

    def test_an_empty_mark_among_zeros_is_a_problem(self):
        found = only(with_cell(3, "taken", None))
        assert parts(found) == {**CHOSEN, **ALTERNATIVE, "expected": "1 or 0"}
        assert str(found).endswith("column 'taken' (chosen) is empty; write 1 or 0")

    def test_a_column_that_names_the_chosen_alternative_is_recognised(self):
        found = only(table(taken=[1, 1, 1, 2, 2, 2] * 2))
        assert str(found).startswith("column 'taken' (chosen) names the chosen alternative in every row")
        assert parts(found) == {
            **CHOSEN,
            "expected": "1 in the row of the chosen alternative and 0 in the others",
        }

    def test_a_task_with_one_alternative_is_named(self):
        frame = table().drop(index=[4, 5]).assign(taken=lambda f: f.index.isin([0, 3, 6, 10]) * 1)
        found = only(frame)
        assert parts(found) == {**TASK, "expected": "at least two"}
        assert str(found) == "respondent 7, task 12 has one alternative"


class TestRows:
    def test_an_alternative_that_is_there_twice_is_named(self):
        found = only(pd.concat([table(), table().iloc[[5]]], ignore_index=True))
        assert parts(found) == {**TASK, "alternative": 3, "row": 13}
        assert str(found) == "respondent 7, task 12, alternative 3 occurs again in row 13; remove one"

    def test_a_repeated_row_is_seen_without_names_of_alternatives(self):
        frame = pd.concat([table(), table().iloc[[5]]], ignore_index=True).drop(columns="alt")
        found = only(frame, alternative=None)
        assert parts(found) == {"argument": "alternative", **TASK, "row": 13}
        assert str(found).startswith("respondent 7, task 12: row 13 repeats another row; remove it")
        assert found.render(name="--{}".format).endswith("name that column by --alternative")

    def test_the_same_row_in_two_tasks_is_no_problem(self):
        study(table(task=[1, 1, 1, 2, 2, 2] * 2, colour="red", price=10))

    def test_an_alternative_without_name_is_told_by_its_row(self):
        found = only(with_cell(4, "alt", None))
        assert parts(found) == {**TASK, "row": 5}
        assert str(found) == "respondent 7, task 12 (row 5): the alternative has no name"

    def test_rows_without_respondent_or_task_are_told_by_their_number(self):
        frame = with_cell(5, "task", " ", with_cell(2, "who", None))
        nobody, nothing = problems(frame)
        assert parts(nobody) == {"argument": "respondent", "column": "who", "row": 3}
        assert parts(nothing) == {"argument": "task", "column": "task", "respondent": 7, "row": 6}
        assert str(nobody) == "row 3: column 'who' (respondent) is empty"

    def test_a_respondent_without_tasks_is_named(self):
        frame = pd.concat([table(), table(who=9, task=None).iloc[:1]], ignore_index=True)
        assert str(only(frame)) == "respondent 9 has no task: column 'task' (task) is empty in row 13"


class TestCells:
    def test_an_empty_cell_is_named(self):
        found = only(with_cell(3, "price", None))
        assert parts(found) == {"column": "price", **ALTERNATIVE}
        assert str(found) == "respondent 7, task 12, alternative 1: attribute 'price' is empty; fill it in"

    def test_text_among_numbers_is_shown(self):
        comma, word = problems(with_cell(4, "price", "cheap", with_cell(3, "price", "12,5")))
        place = {"column": "price", "expected": "a number"}
        assert parts(comma) == {**place, **ALTERNATIVE, "found": "'12,5'", "setting": ("decimal", ",")}
        assert parts(word) == {**place, **ALTERNATIVE, "alternative": 2, "row": 5, "found": "'cheap'"}
        assert str(comma) == (
            "respondent 7, task 12, alternative 1: attribute 'price' is '12,5', which is not a number; "
            "write a decimal point instead of the comma, or pass decimal=','"
        )

    def test_many_rows_with_the_same_problem_are_told_in_one_sentence(self):
        found = only(table(price=["$15.99"] * 12))
        assert (found.row, found.found) == (1, "'$15.99'")
        assert str(found) == (
            "attribute 'price' is not a number in 12 rows, the first is '$15.99' (respondent 7, task 11, "
            "alternative 1)"
        )
        assert only(table(price=["9,5"] * 12)).setting == ("decimal", ",")
        assert str(only(table(price=[1.0] + [None] * 11))) == (
            "attribute 'price' is empty in 11 rows, the first is respondent 7, task 11, alternative 2; "
            "fill it in"
        )

    def test_numbers_are_not_guessed_by_their_digits(self):
        levels = {"price": [9.99, 12.99, 15.99]}
        found = only(table(price=[19.99] + [9.99] * 11), levels)
        assert (found.found, found.expected) == ("19.99", "9.99, 12.99, 15.99")
        assert found.remedy == "the levels are {expected}"
        found = only(table(price=["9.99 "] + [9.99] * 11), levels)
        assert str(found).endswith("; did you mean 9.99?")

    def test_many_marks_that_are_none_are_told_in_one_sentence(self):
        first, *_ = problems(table(taken=["maybe"] * 12))
        assert str(first) == (
            "column 'taken' (chosen) is not 1 or 0 in 12 rows, the first is 'maybe' (respondent 7, "
            "task 11, alternative 1); is it the right column?"
        )
        first, *_ = problems(table(taken=[0] + [None] * 11))
        assert str(first).startswith(
            "column 'taken' (chosen) is empty in 11 rows, the first is respondent 7, task"
        )

    def test_an_infinite_number_is_refused(self):
        found = only(table(price=[np.inf] + [1] * 11))
        assert (found.column, found.found, found.expected) == ("price", "inf", "a number")

    @pytest.mark.parametrize(
        ("typed", "expected", "remedy"),
        [
            ("red ", "'red'", "did you mean {expected}?"),
            ("Red", "'red'", "did you mean {expected}?"),
            ("gren", "'green'", "did you mean {expected}?"),
            ("xyz", "'blue', 'green', 'red'", "the levels are {expected}"),
        ],
    )
    def test_an_unknown_level_comes_with_a_guess(self, typed, expected, remedy):
        found = only(with_cell(10, "colour", typed, with_cell(4, "colour", typed)))
        assert parts(found) == {
            "column": "colour",
            **ALTERNATIVE,
            "alternative": 2,
            "row": 5,
            "found": f"'{typed}'",
            "expected": expected,
        }
        assert found.remedy == remedy
        assert "(2 rows, the first is respondent 7, task 12, alternative 2); " in str(found)

    def test_levels_that_differ_in_blanks_or_capitals_are_suspect(self):
        found = only(with_cell(4, "colour", "red "), ["colour"])
        assert parts(found) == {"column": "colour", "found": "'red' (5 rows) and 'red ' (1 row)"}
        meant = study(with_cell(4, "colour", "red "), {"colour": ["red", "red ", "blue", "green"]})
        assert len(meant.columns) == 4

    @pytest.mark.parametrize("kind", ["levels", "linear"])
    def test_an_empty_column_is_said_once(self, kind):
        found = only(table(price=None), {"colour": "levels", "price": kind})
        assert str(found) == "attribute 'price': the whole column is empty"

    def test_text_of_the_data_is_never_taken_for_a_placeholder(self):
        found = only(with_cell(4, "colour", "{row}"))
        assert "level '{row}' is unknown" in str(found)


class TestNone:
    def test_an_empty_alternative_may_be_the_none_option(self):
        frame = with_cell(5, "price", None, with_cell(5, "colour", None))
        found = only(frame)
        assert parts(found) == {
            "argument": "none",
            **ALTERNATIVE,
            "alternative": 3,
            "row": 6,
            "setting": ("none", True),
        }
        assert str(found) == (
            "respondent 7, task 12, alternative 3: all attributes are empty; if this is the none option, "
            "pass none=True"
        )
        assert study(frame, none=True).has_none

    def test_two_none_options_in_a_task_are_named(self):
        found = only(table(nix=[0, 0, 0, 0, 1, 1] + [0, 0, 1] * 2), none="nix")
        assert str(found) == "respondent 7, task 12 has more than one none option, again in row 6"

    @pytest.mark.parametrize(("none", "word"), [(True, "empty"), (0, "0")])
    def test_a_none_option_that_never_occurs_is_a_problem(self, none, word):
        found = only(table(), none=none)
        assert parts(found) == {"argument": "none", "expected": word}
        assert str(found) == f"no row has all attributes {word}; leave none out"


class TestWeightsAndHoldouts:
    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (
                [1.0] * 5 + [2.0] + [1.0] * 6,
                "respondent 7 has different weights, 1 and 2; write the same one in all rows",
            ),
            ([None] * 6 + [1.0] * 6, "respondent 7 has no weight; give one, or leave out weight"),
            ([-1] * 6 + [1] * 6, "respondent 7: the weight is -1, not a positive number"),
            (["much"] * 6 + [1] * 6, "respondent 7: the weight is 'much', not a positive number"),
        ],
    )
    def test_weights_that_make_no_sense_are_named(self, weights, message):
        found = only(table(w=pd.Series(weights, dtype=object)), weight="w")
        assert (found.argument, found.respondent, str(found)) == ("weight", 7, message)

    def test_weights_of_unknown_or_forgotten_respondents_are_named(self):
        unknown, forgotten = problems(table(), weight={7: 1, 9: 1})
        assert parts(unknown) == {"argument": "weight", "respondent": 9, "found": "9"}
        assert parts(forgotten) == {"argument": "weight", "respondent": 8}

    def test_respondents_of_another_type_are_told_apart(self):
        found = problems(table(), weight={"7": 1, 8: 1})
        assert str(found[0]) == "weight names respondent '7', who has no task"

    def test_weights_must_be_a_column_or_by_respondent(self):
        with pytest.raises(DataError) as caught:
            study(weight=[1, 2])
        assert parts(caught.value) == {
            "argument": "weight",
            "expected": "a column or weights by respondent",
            "found": [1, 2],
        }

    def test_a_task_held_out_in_part_is_named(self):
        found = only(table(held=[1, 1, 1, 0, 1, 0] + [0] * 6), holdout="held")
        assert parts(found) == {"argument": "holdout", "column": "held", **TASK}


class TestColumns:
    def test_every_missing_column_is_named_with_a_guess(self):
        known = "'who', 'task', 'alt', 'colour', 'price', 'taken'"
        who, colour = problems(table(), ["color", "price"], respondent="whom")
        assert parts(who) == {
            "argument": "respondent",
            "column": "whom",
            "found": known,
            "expected": "'who'",
        }
        assert parts(colour) == {
            "argument": "attributes",
            "column": "color",
            "found": known,
            "expected": "'colour'",
        }
        assert str(who) == (
            f"there is no column 'whom' (respondent); the columns are {known}; did you mean 'who'?"
        )

    def test_a_column_with_two_roles_is_named(self):
        found = only(table(), ["price", "taken"])
        assert str(found) == "column 'taken' is both chosen and attributes; name two columns"

    def test_cells_that_are_lists_are_refused(self):
        found = only(table(price=[[1]] * 12))
        assert parts(found) == {
            "argument": "attributes",
            "column": "price",
            "expected": "a word or a number",
        }

    def test_a_column_of_alternatives_that_is_not_used_is_a_problem(self):
        found = only(table().rename(columns={"alt": "alternative"}), alternative=None)
        assert found.setting == ("alternative", "alternative")
        assert str(found).endswith("pass alternative='alternative', or rename it")

    @pytest.mark.parametrize(
        ("frame", "message"),
        [
            ([1, 2], "must be a pandas DataFrame, got list"),
            (table().iloc[:0], "no row below their header"),
            (pd.concat([table(), table()["who"]], axis=1), "the column 'who' occurs twice"),
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
            f"- respondent 7, task 11 has no choice in column 'taken'; {NOTHING_TAKEN}",
            "- attribute 'colour': level 'red ' is unknown (1 row, the first is respondent 7, task 12, "
            "alternative 2); did you mean 'red'?",
            "- respondent 8, task 11, alternative 2: attribute 'price' is 'dear', which is not a number",
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
        assert sum("'redd'" in line for line in lines) == 1
        assert lines[-1] == "- and 21 more (all of them: .problems of this error)"
        assert caught.value.render().splitlines()[-1] == "- and 21 more"

    def test_another_front_end_renders_every_finding_in_its_own_words(self):
        with pytest.raises(StudyError) as caught:
            study(with_cell(3, "price", "12,5"), LINEAR, weight={7: 1})
        told = caught.value.render("--{}".format, lambda argument, value: f"--{argument} {value}")
        assert told.splitlines() == [
            "the data have 2 problems:",
            "- respondent 7, task 12, alternative 1: attribute 'price' is '12,5', which is not a number; "
            "write a decimal point instead of the comma, or pass --decimal ,",
            "- respondent 8 has no weight; give one, or leave out --weight",
        ]

    def test_the_error_keeps_its_problems_when_pickled(self):
        error = StudyError("two problems:", (DataError("one"), DataError("two")))
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error) == "two problems:\n- one\n- two"
        assert list(map(str, again.problems)) == ["one", "two"]
