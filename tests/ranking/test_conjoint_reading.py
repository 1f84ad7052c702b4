"""Reading: long data become a study, whatever the order of rows and the way cells are written."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranking import ConjointStudy, DataError, StudyError
from ranking.conjoint import Attribute
from tests.ranking.choice_tables import (
    ATTRIBUTES,
    COLOURS,
    DRAWN,
    ROLES,
    assert_same,
    frames,
    study,
    table,
    with_cell,
)
from tests.refusals import refuses


class TestRows:
    def test_sizes_are_those_of_the_table(self):
        found = study()
        assert found.respondents.tolist() == [7, 8]
        assert found.choices.task.tolist() == [11, 12, 11, 12]
        assert found.n_alternatives.tolist() == [3, 3, 3, 3]
        assert found.choices.chosen.tolist() == [0, 1, 0, 1]
        assert list(found.choices.rows(1)) == [3, 4, 5]
        assert found.weights.tolist() == [1, 1]

    @settings(max_examples=10)
    @given(frame=frames(), seed=st.integers(0, 99))
    def test_the_order_of_rows_changes_nothing(self, frame, seed):
        shuffled = frame.sample(frac=1, random_state=seed)
        one, other = (study(rows, ATTRIBUTES, **DRAWN) for rows in (frame, shuffled))
        assert_same(one, other)

    def test_without_names_alternatives_are_numbered_as_they_come(self):
        frame = table().drop(columns="alt")
        tasks = [group for _, group in frame.groupby(["who", "task"])]
        found = study(pd.concat(tasks[::-1]), alternative=None)
        assert found.alternative.tolist() == [1, 2, 3] * 4
        assert_same(found, study())

    def test_names_with_numbers_are_sorted_by_their_numbers(self):
        frame = table(task=[f"task {10 if t == 12 else 9}" for t in table()["task"]])
        assert study(frame).choices.task.tolist() == ["task 9", "task 10"] * 2

    def test_a_study_can_be_pickled(self):
        assert_same(pickle.loads(pickle.dumps(study())), study())

    def test_the_table_handed_in_is_not_changed(self):
        frame = table()
        study(frame)
        pd.testing.assert_frame_equal(frame, table())


@pytest.mark.parametrize(
    "other",
    [
        study(with_cell(0, "colour", "blue"), {"colour": COLOURS, "price": "levels"}),
        study(table(taken=[0, 1, 0, 0, 1, 0] * 2)),
        study(weight={7: 1, 8: 2}),
        study(table(who=np.repeat([7, 9], 6))),
        study(attributes=["price", "colour"]),
    ],
    ids=["cell", "choice", "weight", "respondent", "columns"],
)
def test_studies_that_differ_are_seen_to_differ(other):
    with pytest.raises(AssertionError):
        assert_same(study(attributes={"colour": COLOURS, "price": "levels"}), other)


class TestRoundTrips:
    @settings(max_examples=10)
    @given(frame=frames())
    def test_long_data_written_and_read_are_the_same_study(self, frame):
        one = study(frame, ATTRIBUTES, **DRAWN)
        assert_same(ConjointStudy.from_frame(one.to_frame(), **one.arguments), one)

    @settings(max_examples=5)
    @given(frame=frames())
    def test_a_file_written_and_read_is_the_same_study(self, frame):
        one = study(frame, ATTRIBUTES, **DRAWN)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "study.csv"
            one.to_frame().to_csv(path, index=False)
            assert_same(ConjointStudy.read_csv(path, **one.arguments), one)

    def test_columns_without_a_role_are_kept(self):
        one = study(table(age=[30] * 6 + [40] * 6))
        assert one.to_frame().groupby("who")["age"].first().tolist() == [30, 40]


class TestLevels:
    def test_numbers_are_sorted_by_size_and_words_by_letter(self):
        found = study(table(price=[9, 12, 100] * 4))
        assert found.levels() == {"colour": ("blue", "green", "red"), "price": (9, 12, 100)}

    def test_levels_come_in_the_order_given(self):
        found = study(attributes={"colour": ["red", "green", "blue"], "price": "levels"})
        assert found.columns.tolist()[:3] == [("colour", "red"), ("colour", "green"), ("colour", "blue")]

    def test_categories_that_never_occur_are_levels_too(self):
        colours = pd.Categorical(table()["colour"], categories=["red", "blue", "green", "black"])
        found = study(table(colour=colours))
        assert found.levels()["colour"] == ("red", "blue", "green", "black")
        assert not found.design[:, found.columns.get_loc(("colour", "black"))].any()

    def test_a_number_is_the_same_level_written_as_text(self):
        found = study(table(price=table()["price"].astype(str)), {"price": [10, 20, 30]})
        assert_same(found, study(attributes=["price"]), extras=False)

    def test_whole_numbers_next_to_empty_cells_stay_whole(self):
        frame = pd.concat(
            [table(), table(alt=4, colour=None, price=None, taken=0).drop_duplicates(["who", "task"])]
        )
        assert study(frame, none=True).levels()["price"] == (10, 20, 30)

    def test_many_numbers_are_levels_if_they_are_listed(self):
        frame = pd.concat([table(who=who, price=np.arange(12) + 12 * who) for who in range(3)])
        frame = frame.assign(task=frame.groupby("who").cumcount() // 3)
        with pytest.raises(StudyError) as caught:
            study(frame)
        (problem,) = caught.value.problems
        assert (problem.column, problem.found) == ("price", "36 different numbers")
        assert len(study(frame, {"price": range(36)}).levels()["price"]) == 36


class TestMarks:
    @pytest.mark.parametrize(
        ("yes", "no"), [(1, 0), (True, False), ("yes", "no"), ("x", None), ("X ", ""), (1.0, 0.0), ("1", "0")]
    )
    def test_choices_may_be_marked_in_many_ways(self, yes, no):
        marks = pd.Series([yes if taken else no for taken in table()["taken"]], dtype=object)
        assert_same(study(table(taken=marks)), study())


class TestNone:
    def none_rows(self, **cells):
        rows = table().drop_duplicates(["who", "task"]).assign(alt=4, taken=0, **cells)
        return pd.concat([table(), rows], ignore_index=True)

    def test_the_three_ways_to_tell_the_none_option_agree(self):
        by_empty = study(self.none_rows(colour=None, price=None), none=True)
        by_zero = study(self.none_rows(colour=0, price=0), none=0)
        marked = self.none_rows(colour="red", price=10)
        by_column = study(marked.assign(nix=(marked["alt"] == 4).astype(int)), none="nix")
        assert_same(by_empty, by_zero)
        assert_same(by_empty, by_column)

    def test_none_has_a_column_of_its_own_and_no_level(self):
        found = study(self.none_rows(colour=None, price=None), none=True)
        assert found.columns[-1] == ("none", "none")
        last = found.design[3]
        assert last.tolist() == [0] * 6 + [1]
        assert found.design[:3, -1].tolist() == [0, 0, 0]

    def test_without_a_none_option_there_is_no_column(self):
        assert "none" not in study().columns.get_level_values("attribute")
        assert_same(study(none=False), study())


class TestWeights:
    def test_a_column_and_a_mapping_give_the_same_weights(self):
        by_column = study(table(w=[2.0] * 6 + [0.5] * 6), weight="w")
        by_name = study(weight={8: 0.5, 7: 2})
        by_series = study(weight=pd.Series([0.5, 2.0], index=[8, 7]))
        for found in (by_column, by_name, by_series):
            assert found.weights.to_dict() == {7: 2.0, 8: 0.5}
        again = ConjointStudy.from_frame(by_name.to_frame(), **by_name.arguments)
        assert again.weights.to_dict() == {7: 2.0, 8: 0.5}


class TestFiles:
    def test_words_that_pandas_takes_for_missing_are_levels(self, tmp_path):
        path = tmp_path / "study.csv"
        colours = table()["colour"].replace({"red": "None", "blue": "NA"})
        table(colour=colours).to_csv(path, index=False)
        assert ConjointStudy.read_csv(path, attributes=["colour"], **ROLES).levels()["colour"] == (
            "green",
            "NA",
            "None",
        )

    def test_first_sheet_of_a_workbook_is_the_same_study(self, tmp_path):
        path = tmp_path / "study.xlsx"
        table(colour=["None", "NA"] * 6).to_excel(path, index=False)
        found = ConjointStudy.read_csv(path, attributes=["colour", "price"], sep=";", **ROLES)
        assert_same(found, study(table(colour=["None", "NA"] * 6), ["colour", "price"]))

    def test_semicolons_and_decimal_commas_are_read_if_one_says_so(self, tmp_path):
        path = tmp_path / "study.csv"
        table(price=table()["price"] + 0.5).to_csv(path, index=False, sep=";", decimal=",")
        found = ConjointStudy.read_csv(path, attributes={"price": "linear"}, sep=";", decimal=",", **ROLES)
        assert sorted(set(found.design[:, 0])) == [10.5, 20.5, 30.5]
        with pytest.raises(StudyError) as caught:
            ConjointStudy.read_csv(path, attributes=["price"], **ROLES)
        assert ("sep", ";") in [problem.setting for problem in caught.value.problems]

    def test_files_that_are_no_tables_are_refused(self, tmp_path):
        path = tmp_path / "study.csv"
        arguments = {"attributes": ["price"], **ROLES}
        path.write_bytes("köln".encode("latin-1"))
        with refuses(DataError, "path", expected="UTF-8") as caught:
            ConjointStudy.read_csv(path, **arguments)
        assert (caught.value.argument, caught.value.setting) == ("path", ("encoding", "latin-1"))
        path.write_text("")
        with refuses(DataError, "path", expected="a CSV file (No columns to parse from file)"):
            ConjointStudy.read_csv(path, **arguments)
        path.write_text("who,who\n1,2\n")
        with refuses(DataError, "path", column="who"):
            ConjointStudy.read_csv(path, **arguments)
        with pytest.raises(FileNotFoundError):
            ConjointStudy.read_csv(tmp_path / "nothing.csv", **arguments)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ([], "attributes is empty"),
        ("price", "must be a list of columns"),
        (["price", "price"], "names 'price' twice"),
        ({"price": "cubic"}, "must be 'levels', 'linear' or a list of levels, got 'cubic'"),
        ({"price": 3}, "must be 'levels', 'linear' or a list of levels, got 3"),
        ({"price": []}, "empty list of levels"),
        ({"price": [10, "10"]}, "has the level '10' twice"),
        ({"price": [10, ""]}, "level 2 of 10, '' is empty"),
        ({"price": Attribute("cost")}, "is called 'cost'"),
        ([3], "must be a word"),
        (["none"], "cannot be called 'none'"),
    ],
)
def test_attributes_that_make_no_sense_are_refused(attributes, message):
    with pytest.raises(DataError) as caught:
        study(attributes=attributes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"kind": "cubic"}, {"argument": "kind", "column": "price", "found": "'cubic'"}),
        ({"kind": "linear", "levels": (1, 2)}, {"argument": "levels", "column": "price", "found": "(1, 2)"}),
        ({"unit": 2}, {"argument": "unit", "column": "price", "found": 2}),
        ({"kind": "linear", "unit": 0}, {"argument": "unit of attribute 'price'", "found": "0"}),
    ],
)
def test_records_of_attributes_are_checked(arguments, wrong):
    with refuses(DataError, **wrong):
        Attribute("price", **arguments)
