"""The study card: counts, balance, overlap, positions and straight-liners by their definitions."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy.stats import binom

from ranking import ConjointStudy, DataError
from ranking.conjoint.data.card import confounded, tail
from tests.ranking.choice_tables import ATTRIBUTES, DRAWN, frames, study, table
from tests.refusals import refuses


class TestCounts:
    def test_counts_are_those_of_the_table(self):
        counts = study(table(held=[0] * 9 + [1] * 3), holdout="held").card().counts
        assert counts["respondents"] == 2
        assert counts["tasks"] == 4
        assert counts["holdout tasks"] == 1
        assert counts["alternatives"] == 12
        assert counts["alternatives per task, most"] == 3
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
        with refuses(DataError, "straight", expected="a share of tasks between 0.5 and 1"):
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
        assert "colour: level 'black' was never shown, so its part-worth says nothing" in remarks
        assert "price: level 20 was shown 4 times and never chosen" in remarks

    def test_an_attribute_that_never_varies_is_remarked(self):
        remarks = study(table(colour="red")).card().remarks
        assert any(remark.startswith("colour is the same for all alternatives") for remark in remarks)

    def test_a_long_list_is_cut_and_counted(self):
        frame = pd.concat([TestPositions().rows([0] * 5).assign(who=who) for who in range(12)])
        text = str(study(frame, ["price"]).card())
        assert "... and 2 more" in text


class TestConfounding:
    """Attributes are identified if and only if differences within tasks have full rank on them."""

    @staticmethod
    def design(prices, colours=("red", "blue", "green"), seed=0, tasks=30, **roles):
        """A study in which the price of a colour is given, or any of some."""
        chance = np.random.default_rng(seed)
        shown = [str(colour) for _ in range(tasks) for colour in chance.choice(colours, 2, replace=False)]
        frame = pd.DataFrame({"who": 1, "task": np.repeat(np.arange(tasks), 2), "colour": shown})
        frame["price"] = [prices(colour, chance) for colour in shown]
        frame["size"] = chance.choice(["S", "L"], size=len(frame))
        frame["chosen"] = np.tile([1, 0], tasks)
        attributes = {"colour": "levels", "price": "levels", "size": "levels"} | roles
        return ConjointStudy.from_frame(
            frame, respondent="who", task="task", chosen="chosen", attributes=attributes
        )

    def test_a_price_that_follows_from_the_colour_is_confounded_with_it(self):
        given = {"red": 10, "blue": 20, "green": 40}
        study = self.design(lambda colour, chance: given[colour])
        assert confounded(study) == ["colour", "price"]
        told = "colour and price are confounded in this design; their part-worths are not identified"
        assert any(told in remark for remark in study.card().remarks)

    def test_a_linear_price_that_follows_from_the_colour_is_confounded_with_it(self):
        given = {"red": 1000, "blue": 2000, "green": 4000}
        study = self.design(lambda colour, chance: given[colour], price="linear")
        assert confounded(study) == ["colour", "price"]

    @pytest.mark.parametrize("coding", ["levels", "linear"])
    def test_a_price_that_varies_is_told_apart(self, coding):
        study = self.design(lambda colour, chance: int(chance.choice([10, 20, 40])), price=coding)
        assert confounded(study) == []

    @pytest.mark.parametrize("seed", range(5))
    def test_it_is_so_for_few_tasks_by_rank_alone(self, seed):
        study = self.design(lambda colour, chance: int(chance.choice([10, 20, 40])), seed=seed, tasks=4)
        D = np.array(study.differences().rows, dtype=float)
        design = pd.DataFrame(D, columns=study.columns)
        differing = [name for name in study.attributes if design[name].to_numpy().any()]
        needed = sum(len(study.attributes[name].labels) - 1 for name in differing)
        is_deficient = np.linalg.matrix_rank(D) < needed
        assert bool(confounded(study)) == is_deficient


class TestDoubts:
    def test_a_none_option_of_zeros_is_asked_about(self):
        frame = pd.DataFrame(
            {"who": 1, "task": [1, 1, 1, 2, 2, 2], "size": [1, 2, 0, 2, 1, 0], "price": [5, 9, 0, 5, 9, 0]}
        ).assign(chosen=[1, 0, 0, 0, 0, 1])
        roles = {"respondent": "who", "task": "task", "chosen": "chosen", "attributes": ["size", "price"]}
        for none, is_asked in ((None, True), (0, False)):
            found = ConjointStudy.from_frame(frame, **roles, none=none).card().remarks
            assert any("if it is the none option, set none to 0" in remark for remark in found) == is_asked

    @pytest.mark.parametrize(("factor", "is_told"), [(1, False), (1e-4, True), (1e4, True)])
    def test_units_that_shrink_a_linear_attribute_too_much_or_hardly_are_told(self, factor, is_told):
        frame = table()
        frame["price"] = frame["price"] * factor
        found = study(frame, attributes={"colour": "levels", "price": "linear"}).card().remarks
        assert any("results depend on the unit" in remark for remark in found) == is_told

    def test_many_odd_levels_of_one_attribute_are_one_remark(self):
        frame = table()
        frame["stamp"] = np.arange(len(frame))
        found = study(frame, attributes=["colour", "price", "stamp"]).card().remarks
        assert sum(remark.startswith("stamp") for remark in found) <= 1
