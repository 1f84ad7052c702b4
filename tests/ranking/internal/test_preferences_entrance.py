"""data: the one entrance for labels and pairs, and what it says of bad input."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given

from ranking.core.graph import preference_pairs
from ranking.core.preferences import as_preferences, preferences_from_labels
from ranking.errors import DataError
from tests.ranking.items import assert_same, columns, items
from tests.refusals import refuses


class TestOneEntrance:
    @given(rows=items)
    def test_labels_and_their_pairs_give_the_same(self, rows):
        y, qid = columns(rows)
        assume(len(preference_pairs(y, qid)))
        by_labels = as_preferences(len(y), y=y, qid=qid)
        assert_same(by_labels, preferences_from_labels(y, qid))
        assert_same(as_preferences(len(y), pairs=by_labels.pairs, qid=qid), by_labels)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({}, "either y .* or pairs .* got neither"),
            ({"y": [1, 2, 3], "pairs": [(0, 1)]}, "either y .* or pairs .* got both"),
            ({"y": [1, 2]}, "y must be one label for each of 3 items, got 2"),
            ({"y": [1, np.nan, 2]}, r"y\[1\] is missing"),
            ({"y": [1, 2, 3], "qid": [1, 2]}, "qid must be one value for each of 3 items"),
            ({"y": [1, 2, 3], "reduction": "none"}, "reduction must be one of"),
            (
                {"y": [1, 2, 3], "margin": [1, 1]},
                "margin must be one number or one for each of 3 pairs, got 2",
            ),
            ({"y": [1, 1, 1]}, "no pair: all 3 labels are equal"),
            ({"pairs": [(0, 1)], "qid": [1, 2]}, "qid must be one value for each of 3 items"),
            (
                {"pairs": [(0, 1)], "reduction": "tree"},
                "reduction must be 'full' or 'transitive' with pairs, got 'tree'",
            ),
            ({"pairs": []}, "pairs is empty"),
            ({"pairs": nx.DiGraph()}, "pairs is empty"),
            ({"pairs": [(0, 3)]}, r"pairs\[0\] is \(0, 3\): item numbers run from 0 to 2"),
            ({"pairs": [(0, 1), (-1, 0)]}, r"pairs\[1\] is \(-1, 0\): item numbers"),
            ({"pairs": [(0, 1), (2, 2)]}, r"pairs\[1\] is \(2, 2\): an item cannot be preferred to itself"),
            ({"pairs": [(0, 1, 2)]}, r"pairs must have two columns, .* got shape \(1, 3\)"),
            ({"pairs": [0, 1]}, r"pairs must have two columns"),
            ({"pairs": [(0, 1), (2,)]}, "pairs must be two items each"),
            ({"pairs": [(0.0, 1.0)]}, "pairs must be integers.* float64"),
            ({"pairs": [("a", "b")]}, "pairs must be integers"),
            ({"pairs": [(0, 1)], "pair_weight": 0}, r"pair_weight\[0\] must be positive, got 0"),
            (
                {"pairs": [(0, 1), (1, 2)], "pair_weight": [1, -2]},
                r"pair_weight\[1\] must be positive, got -2",
            ),
            ({"pairs": [(0, 1)], "pair_weight": [np.inf]}, r"pair_weight\[0\] must be finite"),
            ({"pairs": [(0, 1)], "pair_weight": [np.nan]}, r"pair_weight\[0\] is missing"),
            (
                {"pairs": [(0, 1)], "pair_weight": [1, 1]},
                "pair_weight must be one number or one for each of 1",
            ),
            ({"pairs": [(0, 1)], "margin": -np.inf}, r"margin\[0\] must be finite"),
            ({"pairs": [(0, 1)], "margin": np.nan}, r"margin\[0\] is missing"),
            ({"pairs": [(0, 1)], "margin": "wide"}, "margin must be real numbers"),
            ({"pairs": nx.DiGraph([(0, 9)])}, "nodes must be item numbers from 0 to 2, got 9"),
            ({"pairs": nx.Graph([(0, 1)])}, "directed graph"),
            (
                {"pairs": nx.DiGraph([(0, 1, {"weight": 2})]), "pair_weight": 1},
                "carry 'weight' and pair_weight is given too",
            ),
            (
                {"pairs": [(0, 1), (1, 2)], "qid": ["a", "a", "b"]},
                r"pairs\[1\] is \(1, 2\), of two queries, 'a' and 'b'",
            ),
            (
                {"pairs": [(0, 1), (1, 0)], "reduction": "transitive"},
                "contradict one another, 0 > 1 > 0",
            ),
        ],
    )
    def test_bad_input_is_named_with_what_was_found(self, arguments, message):
        with pytest.raises(DataError, match=message):
            as_preferences(3, **arguments)

    @pytest.mark.parametrize("n_items", [0, -1, 2.5, "3"])
    def test_the_number_of_items_must_be_one(self, n_items):
        with refuses(DataError, "n_items", match="n_items must be a positive integer"):
            as_preferences(n_items, pairs=[(0, 1)])

    def test_queries_of_single_items_are_named_when_no_pair_is_left(self):
        message = r"single item or equal labels; 2 of 3 queries have a single item \('a', 7\)"
        with refuses(DataError, "y", match=message):
            as_preferences(4, y=[1, 2, 3, 3], qid=["a", 7, "tied", "tied"])

    def test_queries_of_equal_labels_alone_are_told_apart_from_single_items(self):
        with refuses(DataError, "y", match=r"0 of 1 queries have a single item$"):
            as_preferences(2, y=[3, 3], qid=[5, 5])
