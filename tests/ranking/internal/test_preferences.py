"""data: one record of checked pairs, whatever form the preferences come in."""

import dataclasses
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ranking.core.graph import REDUCTIONS, preference_graph, preference_pairs
from ranking.core.preferences import (
    Preferences,
    as_preferences,
    preferences_from_labels,
    preferences_from_pairs,
    preferences_from_signs,
    retention_pairs,
    take_qid,
)
from ranking.errors import ConvergenceError, DataError, RankingError, SingularActiveSetError
from tests.data_folder import DATA, needs
from tests.ranking.items import COLUMNS, assert_same, columns, items
from tests.refusals import refuses


class TestLabels:
    @given(rows=items, reduction=st.sampled_from(REDUCTIONS))
    def test_pairs_are_those_of_the_graph_with_weight_and_margin_1(self, rows, reduction):
        y, qid = columns(rows)
        pairs = preference_pairs(y, qid, reduction)
        assume(len(pairs))
        found = preferences_from_labels(y, qid, reduction)
        np.testing.assert_array_equal(found.pairs, pairs)
        assert (found.weight == 1).all()
        assert (found.margin == 1).all()
        assert found.n_items == len(y)
        assert len(found) == len(pairs)

    @given(rows=items)
    def test_group_is_the_query_counted_as_it_first_appears(self, rows):
        y, qid = columns(rows)
        assume(len(preference_pairs(y, qid)))
        found = preferences_from_labels(y, qid)
        order = list(dict.fromkeys(qid))
        assert [order[code] for code in found.group] == [qid[i] for i in found.pairs[:, 0]]

    def test_representatives_are_handed_on(self):
        y = np.repeat([1, 0], 30)
        arguments = {"reduction": "tree", "representative": "random", "random_state": 5}
        np.testing.assert_array_equal(
            as_preferences(60, y=y, **arguments).pairs, preference_pairs(y, **arguments)
        )

    def test_weights_and_margins_follow_the_order_of_the_pairs(self):
        y = [0, 2, 1]
        pairs = preference_pairs(y)
        gaps = np.array(y)[pairs[:, 0]] - np.array(y)[pairs[:, 1]]
        found = as_preferences(3, y=y, margin=gaps, pair_weight=2)
        assert found.margin.tolist() == gaps.tolist()
        assert found.weight.tolist() == [2, 2, 2]

    def test_a_query_without_pair_is_no_error(self):
        assert preferences_from_labels([1, 0, 5], qid=["a", "a", "alone"]).pairs.tolist() == [[0, 1]]


class TestPairs:
    @pytest.mark.parametrize(
        "form", [list, np.array, lambda pairs: np.array(pairs, dtype=np.uint8), pd.DataFrame]
    )
    def test_forms_of_the_same_pairs_agree(self, form):
        pairs = [(2, 0), (0, 1), (2, 0)]
        assert preferences_from_pairs(form(pairs), 3).pairs.tolist() == [[2, 0], [0, 1], [2, 0]]

    @given(rows=items)
    def test_the_graph_of_labels_gives_the_pairs_of_labels(self, rows):
        y, qid = columns(rows)
        assume(len(preference_pairs(y, qid)))
        found = preferences_from_pairs(preference_graph(y, qid), len(y), qid=qid)
        wanted = preferences_from_labels(y, qid)
        assert sorted(found.pairs.tolist()) == sorted(wanted.pairs.tolist())
        assert sorted(found.group) == sorted(wanted.group)

    def test_a_graph_hands_over_weights_and_margins(self):
        graph = nx.DiGraph()
        graph.add_edge(0, 1, weight=3)
        graph.add_edge(2, 1, margin=0.5)
        found = preferences_from_pairs(graph, 3)
        assert found.pairs.tolist() == [[0, 1], [2, 1]]
        assert found.weight.tolist() == [3, 1]
        assert found.margin.tolist() == [1, 0.5]

    def test_a_graph_without_weights_takes_those_given(self):
        found = preferences_from_pairs(nx.DiGraph([(0, 1), (2, 1)]), 3, pair_weight=[5, 6])
        assert found.weight.tolist() == [5, 6]

    def test_transitive_reduction_keeps_the_weights_of_what_it_keeps(self):
        pairs = [(0, 1), (0, 2), (1, 2), (0, 1)]
        found = as_preferences(
            3,
            pairs=pairs,
            pair_weight=[1, 2, 3, 4],
            margin=[5, 6, 7, 8],
            qid=list("xxx"),
            reduction="transitive",
        )
        assert found.pairs.tolist() == [[0, 1], [1, 2], [0, 1]]
        assert found.weight.tolist() == [1, 3, 4]
        assert found.margin.tolist() == [5, 7, 8]

    def test_margins_may_be_zero_or_negative(self):
        assert preferences_from_pairs([(0, 1), (1, 2)], 3, margin=[0, -1]).margin.tolist() == [0, -1]

    def test_arguments_are_copied_and_left_writable(self):
        pairs, weight = np.array([[0, 1]]), np.array([2.0])
        found = preferences_from_pairs(pairs, 2, pair_weight=weight)
        pairs[:], weight[:] = 7, 7
        assert found.pairs.tolist() == [[0, 1]]
        assert found.weight.tolist() == [2]


class TestSigns:
    @given(
        rows=st.lists(
            st.tuples(st.integers(0, 4), st.integers(5, 9), st.sampled_from([-1, 1])), min_size=1, max_size=9
        )
    )
    def test_the_preferred_item_comes_first(self, rows):
        left, right, sign = zip(*rows, strict=True)
        found = preferences_from_signs(left, right, sign, 10)
        wanted = [[i, j] if s > 0 else [j, i] for i, j, s in rows]
        assert found.pairs.tolist() == wanted

    @pytest.mark.parametrize(
        ("arguments", "wrong"),
        [
            (([0], [1], [0]), {"argument": "sign[0]", "found": "0"}),
            (([0], [1], [np.nan]), {"argument": "sign[0]"}),
            (
                ([0, 1], [1], [1]),
                {"argument": "left, right and sign", "found": "{'left': 2, 'right': 1, 'sign': 1}"},
            ),
            (([0.5], [1], [1]), {"argument": "pairs", "found": "dtype float64"}),
        ],
    )
    def test_senseless_comparisons_are_named(self, arguments, wrong):
        with refuses(DataError, **wrong):
            preferences_from_signs(*arguments, n_items=2)


class TestRetentionTimes:
    @given(rows=items)
    def test_a_pair_is_a_positive_sign_of_a_difference_within_a_system(self, rows):
        times, system = columns(rows)
        n = len(times)
        wanted = [
            [i, j]
            for i in range(n)
            for j in range(n)
            if system[i] == system[j] and np.sign(times[i] - times[j]) == 1
        ]
        assert sorted(retention_pairs(times, system).tolist()) == wanted

    @pytest.mark.parametrize(
        ("times", "system", "wrong"),
        [
            ([1, np.nan], "aa", {"argument": "times[1]"}),
            ([1, np.inf], "aa", {"argument": "times[1]", "found": "inf"}),
            ([1, 2], "a", {"argument": "system", "found": "shape (1,)"}),
        ],
    )
    def test_senseless_times_are_named(self, times, system, wrong):
        with refuses(DataError, **wrong):
            retention_pairs(times, list(system))

    @needs("retention_time")
    def test_published_times_are_compared_within_their_system_only(self):
        table = pd.read_csv(DATA / "retention_time" / "rt_predret.csv.gz")
        pairs = retention_pairs(table["rt"], table["dataset"])
        wanted = 0
        for _, times in table.groupby("dataset")["rt"]:
            ties = times.value_counts()
            wanted += (len(times) ** 2 - (ties**2).sum()) // 2
        assert len(pairs) == wanted
        later, earlier = pairs.T
        times, system = table["rt"].to_numpy(), table["dataset"].to_numpy()
        assert (times[later] > times[earlier]).all()
        assert (system[later] == system[earlier]).all()


class TestRecord:
    def test_arrays_are_read_only_and_typed(self):
        found = preferences_from_labels([2, 1, 0])
        for name, kind in zip(COLUMNS, (np.int64, np.float64, np.float64, np.int64), strict=True):
            column = getattr(found, name)
            assert column.dtype == kind
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 1

    def test_fields_are_frozen(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            preferences_from_labels([2, 1]).n_items = 3

    def test_the_record_itself_refuses_bad_pairs(self):
        one = np.ones(1)
        with refuses(DataError, "pairs[0]", found="(0, 5)"):
            Preferences(np.array([[0, 5]]), one, one, np.zeros(1, dtype=int), 2)
        with refuses(DataError, "group", found=2):
            Preferences(np.array([[0, 1]]), one, one, np.zeros(2, dtype=int), 2)

    def test_contradictions_are_found_when_asked_for(self):
        found = preferences_from_pairs([(5, 3), (3, 7), (7, 5), (0, 3)], 8)
        assert "cycle" not in vars(found)
        assert found.cycle == (3, 7, 5)
        assert vars(found)["cycle"] is found.cycle

    def test_labels_hold_no_contradiction(self):
        assert preferences_from_labels([2, 1, 0]).cycle is None

    def test_it_survives_pickling(self):
        found = preferences_from_labels([2, 1, 0])
        assert_same(pickle.loads(pickle.dumps(found)), found)


class TestTakeQid:
    table = pd.DataFrame({"length": [1.0, 2.0, 3.0], "qid": ["b", "a", "b"]})

    def test_a_column_is_taken_out_of_the_features(self):
        X, qid = take_qid(self.table)
        assert list(X.columns) == ["length"]
        assert list(qid) == ["b", "a", "b"]
        assert "qid" in self.table

    def test_an_index_level_does_too(self):
        X, qid = take_qid(self.table.set_index("qid", append=True))
        assert list(X.columns) == ["length"]
        assert list(qid) == ["b", "a", "b"]

    @pytest.mark.parametrize("X", [np.eye(2), [[1.0], [2.0]], pd.DataFrame({"length": [1.0, 2.0]})])
    @pytest.mark.parametrize("qid", [None, ["a", "b"]])
    def test_anything_else_is_returned_as_it_came(self, X, qid):
        same_X, same_qid = take_qid(X, qid)
        assert same_X is X
        assert same_qid is qid

    def test_queries_given_apart_outrank_an_index(self):
        indexed = self.table.set_index("qid")
        X, qid = take_qid(indexed, [1, 2, 3])
        assert X is indexed
        assert qid == [1, 2, 3]

    def test_queries_given_twice_are_refused(self):
        with refuses(DataError, "qid"):
            take_qid(self.table, self.table["qid"])

    def test_two_columns_of_that_name_are_refused(self):
        with refuses(DataError, "X"):
            take_qid(self.table.set_index("qid", drop=False))

    def test_what_it_takes_feeds_the_entrance(self):
        X, qid = take_qid(self.table)
        assert as_preferences(len(X), y=[1, 5, 0], qid=qid).pairs.tolist() == [[0, 2]]


class TestErrors:
    def test_bad_data_are_value_errors_of_this_package(self):
        assert issubclass(DataError, RankingError)
        assert issubclass(DataError, ValueError)

    def test_they_carry_where_they_happened_also_through_a_pickle(self):
        singular = pickle.loads(pickle.dumps(SingularActiveSetError("singular", lambda_=0.25)))
        assert (str(singular), singular.lambda_) == ("singular", 0.25)
        slow = pickle.loads(pickle.dumps(ConvergenceError("slow", iterations=7, gap=0.5)))
        assert (str(slow), slow.iterations, slow.gap) == ("slow", 7, 0.5)
