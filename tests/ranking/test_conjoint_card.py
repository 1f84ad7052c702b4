"""conjoint.card: counts, balance, overlap, positions and straight-liners by their definitions."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy.stats import binom

from ranking import DataError
from ranking.conjoint.straightlining import tail
from tests.ranking.choice_tables import ATTRIBUTES, DRAWN, frames, study, table


class TestCounts:
    def test_counts_are_those_of_the_table(self):
        counts = study(table(held=[0] * 9 + [1] * 3), holdout="held").card().counts
        assert counts["respondents"] == 2
        assert counts["tasks"] == 4
        assert counts["holdout tasks"] == 1
        assert counts["alternatives"] == 12
        assert counts["alternatives a task, most"] == 3
        assert counts["levels"] == 6

    @settings(max_examples=8)
    @given(frame=frames())
    def test_levels_are_counted_as_pandas_counts_them(self, frame):
        levels = study(frame, ATTRIBUTES, **DRAWN).card().levels
        products = frame[frame["none"] == 0]
        for (name, level), row in levels.iterrows():
            cells = frame["none"] == 1 if name == "none" else products[name] == level
            shown = frame.loc[cells[cells].index]
            assert (row["shown"], row["chosen"]) == (len(shown), shown["taken"].sum())
            total = len(frame) if name == "none" else len(products)
            assert row["share"] == pytest.approx(len(shown) / total if total else np.nan, nan_ok=True)

    def test_linear_attributes_have_a_range(self):
        numbers = study(attributes={"price": "linear"}).card().numbers
        assert numbers.loc["price"].tolist() == [3, 10, 20, 30, 10]


class TestOverlap:
    def test_shares_of_tasks_with_equal_levels(self):
        colours = ["red", "red", "red", "blue", "red", "red"] + ["red", "blue", "green"] * 2
        found = study(table(colour=colours)).card().overlap
        assert found.loc["colour"].tolist() == [0.5, 0.25]
        assert found.loc["price"].tolist() == [0, 0]

    @settings(max_examples=8)
    @given(frame=frames())
    def test_shares_are_those_of_the_definition(self, frame):
        found = study(frame, ATTRIBUTES, **DRAWN).card().overlap
        for name in ATTRIBUTES:
            some, every = [], []
            for _, task in frame.groupby(["who", "task"]):
                cells = task.loc[task["none"] == 0, name].tolist()
                some.append(len(set(cells)) < len(cells))
                every.append(len(cells) > 1 and len(set(cells)) == 1)
            assert found.loc[name].tolist() == pytest.approx([np.mean(some), np.mean(every)])

    def test_tasks_with_equal_alternatives_are_listed(self):
        frame = table(
            colour=["red", "blue", "blue", *table()["colour"][3:]], price=[10, 20, 20, *table()["price"][3:]]
        )
        card = study(frame).card()
        assert card.duplicates.to_numpy().tolist() == [[7, 11]]
        assert "1 task with two equal alternatives: choosing between them says nothing" in card.remarks


class TestPositions:
    def test_positions_are_counted(self):
        found = study().card().positions
        assert found["shown"].tolist() == [4, 4, 4]
        assert found["chosen"].tolist() == [2, 2, 0]
        assert found["by_chance"].tolist() == pytest.approx([4 / 3] * 3)

    def rows(self, places, size=3):
        """One respondent who takes the given places."""
        count = len(places)
        return pd.DataFrame(
            {
                "who": 1,
                "task": np.repeat(np.arange(count), size),
                "alt": np.tile(np.arange(size), count),
                "price": np.tile(np.arange(size), count),
                "taken": (np.tile(np.arange(size), count) == np.repeat(places, size)).astype(int),
            }
        )

    @pytest.mark.parametrize(
        ("places", "straight"), [([2, 2, 2, 2], 0.9), ([0, 0, 0, 1, 0], 0.8), ([1, 1, 2], 0.6)]
    )
    def test_the_probability_is_that_of_counting_all_ways_to_answer(self, places, straight):
        found = study(self.rows(places), ["price"]).card(straight).straight_liners
        times = max(places.count(place) for place in places)
        ways = [max(way.count(p) for p in range(3)) >= times for way in product(range(3), repeat=len(places))]
        assert found["times"].tolist() == [times]
        assert found["probability"].tolist() == pytest.approx([np.mean(ways)])

    def test_tasks_of_different_sizes_have_different_chances(self):
        frame = self.rows([0, 0, 0])
        frame = frame[~((frame["task"] == 1) & (frame["alt"] == 2))]
        found = study(frame, ["price"]).card().straight_liners
        # the third alternative was shown twice only, so it cannot be taken three times
        assert found["probability"].tolist() == pytest.approx([2 / 18])

    def test_those_who_vary_are_not_listed(self):
        assert study(self.rows([0, 1, 2, 0]), ["price"]).card().straight_liners.empty

    @pytest.mark.parametrize("straight", [0.3, 1.5])
    def test_a_share_that_makes_no_sense_is_refused(self, straight):
        with pytest.raises(DataError, match=r"straight must be a share of tasks between 0\.5 and 1"):
            study().card(straight)

    def test_the_tail_is_that_of_the_binomial(self):
        assert tail(np.full(12, 0.25), 9) == pytest.approx(binom.sf(8, 12, 0.25))


class TestText:
    def test_the_text_holds_every_table_that_is_not_empty(self):
        text = str(study().card())
        assert "Levels: how often shown" in text
        assert "Positions" in text
        assert "Numbers" not in text
        assert "Straight-liners" not in text

    def test_levels_never_shown_or_never_chosen_are_remarked(self):
        remarks = (
            study(attributes={"colour": ["red", "blue", "green", "black"], "price": "levels"}).card().remarks
        )
        assert 'colour: level "black" was never shown' in remarks
        assert "price: level 20 was shown 4 times and never chosen" in remarks

    def test_an_attribute_that_never_varies_is_remarked(self):
        assert any("nothing can be learnt" in remark for remark in study(table(colour="red")).card().remarks)

    def test_a_long_list_is_cut_and_counted(self):
        frame = pd.concat([TestPositions().rows([0] * 5).assign(who=who) for who in range(12)])
        text = str(study(frame, ["price"]).card())
        assert "... and 2 more" in text
