"""The design: characteristic vectors of alternatives, and their differences (paper, section 4)."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from ranking.conjoint import Attribute
from tests.ranking.choice_tables import ATTRIBUTES, DRAWN, frames, study, table


class TestDesign:
    def test_every_level_has_its_own_column(self):
        found = study()
        assert found.columns.tolist() == [
            ("colour", "blue"),
            ("colour", "green"),
            ("colour", "red"),
            ("price", 10),
            ("price", 20),
            ("price", 30),
        ]
        assert found.design[:3].tolist() == [[0, 0, 1, 1, 0, 0], [1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1]]
        assert found.design.dtype == np.int64

    def test_a_linear_attribute_is_its_number(self):
        found = study(attributes={"price": "linear"})
        assert found.columns.tolist() == [("price", "per unit")]
        assert found.design[:3, 0].tolist() == [10, 20, 30]
        assert found.design.dtype == np.int64

    def test_a_unit_divides_the_number(self):
        found = study(attributes=[Attribute.linear("price", unit=4)])
        assert found.design[:3, 0].tolist() == [2.5, 5.0, 7.5]

    def test_fractions_make_a_design_of_floats(self):
        found = study(table(price=table()["price"] + 0.25), {"price": "linear"})
        assert found.design.dtype == np.float64

    @settings(max_examples=8)
    @given(frame=frames())
    def test_every_entry_says_what_the_row_holds(self, frame):
        found = study(frame, ATTRIBUTES, **DRAWN)
        rows = found.to_frame()
        for j, (name, level) in enumerate(found.columns):
            if name == "none":
                wanted = rows["none"]
            elif level == "per unit":
                wanted = rows[name].fillna(0)
            else:
                wanted = rows[name].astype(object) == level
            assert found.design[:, j].tolist() == wanted.astype(float).tolist()

    def test_what_a_study_hands_out_cannot_be_written_to(self):
        found = study()
        arrays = [found.design, found.choices.chosen, found.differences().rows, found.n_alternatives]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 5


class TestDifferences:
    def test_a_task_gives_one_row_less_than_it_has_alternatives(self):
        rows = study().differences()
        assert len(rows) == 8
        assert rows.rows[:2].tolist() == [[-1, 0, 1, 1, -1, 0], [0, -1, 1, 1, 0, -1]]
        assert rows.respondent.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
        assert rows.task.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
        assert rows.rows.dtype == np.int64

    @settings(max_examples=8)
    @given(frame=frames())
    def test_every_row_is_the_chosen_alternative_minus_another_of_its_task(self, frame):
        found = study(frame, ATTRIBUTES, **DRAWN)
        all_rows = found.differences(holdout=None)
        wanted, places = [], []
        for t in range(len(found.choices)):
            rows = list(found.choices.rows(t))
            best = rows[found.choices.chosen[t]]
            wanted += [found.design[best] - found.design[b] for b in rows if b != best]
            places += [(best, b) for b in rows if b != best]
        np.testing.assert_array_equal(all_rows.rows, wanted)
        assert list(map(tuple, all_rows.pairs.tolist())) == places
        assert all_rows.weight.tolist() == found.weights.to_numpy()[all_rows.respondent].tolist()

    @settings(max_examples=8)
    @given(frame=frames())
    def test_levels_of_an_attribute_cancel_unless_none_takes_part(self, frame):
        found = study(frame, ATTRIBUTES, **DRAWN)
        rows = found.differences(holdout=None).to_frame()
        colours = rows["colour"].sum(axis=1).to_numpy()
        np.testing.assert_array_equal(colours, -rows[("none", "none")].to_numpy())

    def test_held_out_tasks_are_apart(self):
        found = study(table(held=[0, 0, 0, 1, 1, 1] * 2), holdout="held")
        assert found.differences().task.tolist() == [0, 0, 2, 2]
        assert found.differences(holdout=True).task.tolist() == [1, 1, 3, 3]
        assert len(found.differences(holdout=None)) == 8

    def test_a_frame_has_names_of_columns_and_of_rows(self):
        frame = study().differences().to_frame()
        assert isinstance(frame.columns, pd.MultiIndex)
        assert frame.index.names == ["respondent", "task"]
        assert frame[("price", 10)].tolist() == [1] * 8
