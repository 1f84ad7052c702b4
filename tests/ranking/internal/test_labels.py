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
        ("y", "levels", "message"),
        [
            (["b", "a"], None, r"y holds labels without an order of their own, 'a', 'b'; pass levels"),
            (pd.Categorical(["a"]), None, "y is a categorical without order, of 'a'"),
            ([1, np.nan], None, r"y\[1\] is missing"),
            ([[1], [2]], None, "y must be a vector of labels, got 2 dimensions"),
            ([1], [], "levels is empty"),
            ([1], [1, 2, 1], r"levels\[2\] occurs twice: 1"),
            ([1, 4], [1, 2], r"y\[1\] is 4, which is none of the levels 1, 2"),
        ],
    )
    def test_labels_without_a_place_are_named(self, y, levels, message):
        with pytest.raises(DataError, match=message):
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
        with refuses(DataError, "y", match=r"y has the categories .* but the levels are 'small', 'large'"):
            Levels(np.array(["small", "large"])).extended(ordered(["small"], categories))
