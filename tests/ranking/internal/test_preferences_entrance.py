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
        ("arguments", "wrong"),
        [
            ({}, {"argument": "y", "found": "neither"}),
            ({"y": [1, 2, 3], "pairs": [(0, 1)]}, {"argument": "y", "found": "both"}),
            ({"y": [1, 2]}, {"argument": "y", "found": 2}),
            ({"y": [1, np.nan, 2]}, {"argument": "y[1]"}),
            ({"y": [1, 2, 3], "qid": [1, 2]}, {"argument": "qid", "found": "shape (2,)"}),
            ({"y": [1, 2, 3], "reduction": "none"}, {"argument": "reduction", "found": "'none'"}),
            (
                {"y": [1, 2, 3], "margin": [1, 1]},
                {"argument": "margin", "found": 2},
            ),
            ({"y": [1, 1, 1]}, {"argument": "y", "found": 3}),
            ({"pairs": [(0, 1)], "qid": [1, 2]}, {"argument": "qid", "found": "shape (2,)"}),
            (
                {"pairs": [(0, 1)], "reduction": "tree"},
                {"argument": "reduction", "found": "'tree'"},
            ),
            ({"pairs": []}, {"argument": "pairs"}),
            ({"pairs": nx.DiGraph()}, {"argument": "pairs"}),
            ({"pairs": [(0, 3)]}, {"argument": "pairs[0]", "found": "(0, 3)"}),
            ({"pairs": [(0, 1), (-1, 0)]}, {"argument": "pairs[1]", "found": "(-1, 0)"}),
            ({"pairs": [(0, 1), (2, 2)]}, {"argument": "pairs[1]", "found": "(2, 2)"}),
            ({"pairs": [(0, 1, 2)]}, {"argument": "pairs", "found": "shape (1, 3)"}),
            ({"pairs": [0, 1]}, {"argument": "pairs", "found": "shape (2,)"}),
            ({"pairs": [(0, 1), (2,)]}, {"argument": "pairs", "found": "entries of different lengths"}),
            ({"pairs": [(0.0, 1.0)]}, {"argument": "pairs", "found": "dtype float64"}),
            ({"pairs": [("a", "b")]}, {"argument": "pairs", "found": "dtype <U1"}),
            ({"pairs": [(0, 1)], "pair_weight": 0}, {"argument": "pair_weight[0]", "found": "0.0"}),
            (
                {"pairs": [(0, 1), (1, 2)], "pair_weight": [1, -2]},
                {"argument": "pair_weight[1]", "found": "-2.0"},
            ),
            ({"pairs": [(0, 1)], "pair_weight": [np.inf]}, {"argument": "pair_weight[0]", "found": "inf"}),
            ({"pairs": [(0, 1)], "pair_weight": [np.nan]}, {"argument": "pair_weight[0]"}),
            (
                {"pairs": [(0, 1)], "pair_weight": [1, 1]},
                {"argument": "pair_weight", "found": 2},
            ),
            ({"pairs": [(0, 1)], "margin": -np.inf}, {"argument": "margin[0]", "found": "-inf"}),
            ({"pairs": [(0, 1)], "margin": np.nan}, {"argument": "margin[0]"}),
            ({"pairs": [(0, 1)], "margin": "wide"}, {"argument": "margin", "found": "dtype <U4: 'wide'"}),
            ({"pairs": nx.DiGraph([(0, 9)])}, {"argument": "nodes", "found": "9"}),
            ({"pairs": nx.Graph([(0, 1)])}, {"argument": "pairs", "found": "an undirected one"}),
            (
                {"pairs": nx.DiGraph([(0, 1, {"weight": 2})]), "pair_weight": 1},
                {"argument": "pair_weight", "found": "'weight'"},
            ),
            (
                {"pairs": [(0, 1), (1, 2)], "qid": ["a", "a", "b"]},
                {"argument": "pairs[1] is (1, 2)", "found": "'a' and 'b'"},
            ),
            (
                {"pairs": [(0, 1), (1, 0)], "reduction": "transitive"},
                {"argument": "pairs", "found": "0 > 1 > 0"},
            ),
        ],
    )
    def test_bad_input_is_named_with_what_was_found(self, arguments, wrong):
        with refuses(DataError, **wrong):
            as_preferences(3, **arguments)

    @pytest.mark.parametrize("n_items", [0, -1, 2.5, "3"])
    def test_the_number_of_items_must_be_one(self, n_items):
        with refuses(DataError, "n_items", expected="a positive integer"):
            as_preferences(n_items, pairs=[(0, 1)])

    def test_queries_of_single_items_are_named_when_no_pair_is_left(self):
        with refuses(DataError, "y", found="2 of 3 queries have a single item ('a', 7)"):
            as_preferences(4, y=[1, 2, 3, 3], qid=["a", 7, "tied", "tied"])

    def test_queries_of_equal_labels_alone_are_told_apart_from_single_items(self):
        with refuses(DataError, "y", found="0 of 1 queries have a single item"):
            as_preferences(2, y=[3, 3], qid=[5, 5])
