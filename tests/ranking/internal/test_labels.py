"""levels: labels of any ordered kind, their numbers, and what further labels do to them."""

import numpy as np
import pandas as pd
import pytest

from ranking.core.labels import Levels, read_levels
from ranking.errors import DataError
from tests.refusals import refuses

SIZES = ["small", "medium", "large"]


def ordered(values, categories=SIZES):
    return pd.Categorical(values, categories=categories, ordered=True)


class TestReading:
    @pytest.mark.parametrize(
        ("y", "levels", "names"),
        [
            ([3, 1, 3], None, [1, 3]),
            ([0.5, -1.0], None, [-1.0, 0.5]),
            (ordered(["large"]), None, SIZES),
            (pd.Series(ordered(["large"]), index=[7]), None, SIZES),
            (["large", "small"], SIZES, SIZES),
            ([1, 2], [3, 2, 1], [3, 2, 1]),
        ],
    )
    def test_levels_are_given_ordered_categories_or_sorted_numbers(self, y, levels, names):
        assert read_levels(y, levels).names.tolist() == names

    def test_codes_and_labels_undo_one_another(self):
        levels = read_levels([], SIZES)
        assert levels.labels(levels.codes(["large", "small"])).tolist() == ["large", "small"]
        assert levels.observed(np.array([2, 0, 2])).names.tolist() == ["small", "large"]

    @pytest.mark.parametrize(
        ("y", "levels", "wrong"),
        [
            (["b", "a"], None, {"argument": "y", "found": "'a', 'b'"}),
            (pd.Categorical(["a"]), None, {"argument": "y", "found": "'a'"}),
            ([1, np.nan], None, {"argument": "y[1]"}),
            ([[1], [2]], None, {"argument": "y", "found": "2 dimensions"}),
            ([1], [], {"argument": "levels"}),
            ([1], [1, 2, 1], {"argument": "levels[2]", "found": "1"}),
            ([1, 4], [1, 2], {"argument": "y[1]", "found": "4"}),
        ],
    )
    def test_labels_without_a_place_are_named(self, y, levels, wrong):
        with refuses(DataError, **wrong):
            read_levels(y, levels).codes(y)


class TestExtending:
    @pytest.mark.parametrize(
        ("names", "y", "wanted"),
        [
            ([1, 3], [2, 2], [1, 2, 3]),
            ([3, 1], [2, 2], [3, 1]),
            (["small", "large"], ordered(["small"]), SIZES),
            (["small", "large"], ["medium"], ["small", "large"]),
            ([0, 2], ordered([1], [0, 1, 2]), [0, 1, 2]),
        ],
    )
    def test_labels_that_have_a_place_get_it(self, names, y, wanted):
        assert Levels(np.array(names)).extended(y).names.tolist() == wanted

    @pytest.mark.parametrize("categories", [["large", "small"], ["small", "medium"]])
    def test_categories_in_another_order_or_without_a_level_are_refused(self, categories):
        with refuses(DataError, "y", expected="'small', 'large'"):
            Levels(np.array(["small", "large"])).extended(ordered(["small"], categories))
