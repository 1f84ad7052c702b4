"""graph: which pairs labels imply, how many a reduction keeps, what follows from them."""

from itertools import pairwise, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking import preference_graph, preference_pairs
from ranking.core.graph import REDUCTIONS
from ranking.errors import DataError
from tests.data_folder import DATA, needs
from tests.ranking.items import closure, columns, items
from tests.refusals import refuses

# Folder and target of the data of Zapien et al. (2009), Table 1: all pairs, and those of the reduced graph.
TABLE_1 = {
    "mixture": ("y", 10_000, 199),
    "auto_mpg": ("mpg", 75_245, 656),
    "pima": ("diabetes", 134_000, 767),
    "wdbc": ("target", 75_684, 568),
}


def all_pairs(y, qid):
    """The definition of `full`, item by item."""
    n = len(y)
    return {(i, j) for i, j in product(range(n), range(n)) if qid[i] == qid[j] and y[i] > y[j]}


def as_set(pairs):
    found = {(i, j) for i, j in pairs.tolist()}
    assert len(found) == len(pairs)
    return found


def levels_of(y, qid):
    """For each query its levels, lists of items, the lowest first."""
    for query in dict.fromkeys(qid):
        members = [i for i in range(len(y)) if qid[i] == query]
        yield [[i for i in members if y[i] == label] for label in sorted({y[i] for i in members})]


class TestPairs:
    @given(rows=items)
    def test_full_is_every_pair_of_different_labels_within_a_query(self, rows):
        y, qid = columns(rows)
        assert as_set(preference_pairs(y, qid)) == all_pairs(y, qid)

    @given(rows=items)
    def test_levels_are_the_products_of_consecutive_levels(self, rows):
        y, qid = columns(rows)
        wanted = set()
        for levels in levels_of(y, qid):
            for lower, upper in pairwise(levels):
                wanted |= set(product(upper, lower))
        assert as_set(preference_pairs(y, qid, "levels")) == wanted

    @given(rows=items, representative=st.sampled_from([min, max]))
    def test_tree_joins_levels_through_their_representatives(self, rows, representative):
        y, qid = columns(rows)
        wanted = set()
        for levels in levels_of(y, qid):
            for lower, upper in pairwise(levels):
                wanted |= {(i, representative(lower)) for i in upper}
                wanted |= {(representative(upper), j) for j in lower}
        found = preference_pairs(y, qid, "tree", lambda level: representative(level.tolist()))
        assert as_set(found) == wanted

    @given(rows=items, seed=st.integers(0, 3))
    def test_tree_has_as_many_pairs_as_the_formula_says(self, rows, seed):
        y, qid = columns(rows)
        wanted = 0
        for levels in levels_of(y, qid):
            wanted += sum(len(a) + len(b) - 1 for a, b in pairwise(levels))
        for representative in ("first", "random"):
            found = preference_pairs(y, qid, "tree", representative, random_state=seed)
            assert len(as_set(found)) == wanted
            assert as_set(found) <= all_pairs(y, qid)

    @given(rows=items, reduction=st.sampled_from(REDUCTIONS))
    def test_pairs_come_query_by_query_then_by_item_number(self, rows, reduction):
        y, qid = columns(rows)
        order = list(dict.fromkeys(qid))
        keys = [(order.index(qid[i]), i, j) for i, j in preference_pairs(y, qid, reduction).tolist()]
        assert keys == sorted(keys)

    @given(rows=items, reduction=st.sampled_from(REDUCTIONS))
    def test_queries_never_mix(self, rows, reduction):
        y, qid = columns(rows)
        assert all(qid[i] == qid[j] for i, j in preference_pairs(y, qid, reduction).tolist())

    @given(rows=items, reduction=st.sampled_from(REDUCTIONS))
    def test_a_query_gives_the_pairs_it_gives_alone(self, rows, reduction):
        y, qid = np.array(columns(rows)[0]), columns(rows)[1]
        together = as_set(preference_pairs(y, qid, reduction))
        alone = set()
        for query in set(qid):
            members = np.array([i for i in range(len(y)) if qid[i] == query])
            alone |= as_set(members[preference_pairs(y[members], reduction=reduction)])
        assert together == alone

    @pytest.mark.parametrize("reduction", REDUCTIONS)
    @given(rows=items, data=st.data())
    def test_a_permutation_of_rows_only_relabels(self, reduction, rows, data):
        y, qid = columns(rows)
        order = data.draw(st.permutations(range(len(y))))
        # the representative must not depend on the numbering, or the trees differ by right
        before = preference_pairs(y, qid, reduction, lambda level: int(level.min()))
        after = preference_pairs(
            [y[i] for i in order],
            [qid[i] for i in order],
            reduction,
            lambda level: min(level.tolist(), key=lambda item: order[item]),
        )
        assert {(order[i], order[j]) for i, j in after.tolist()} == as_set(before)

    @pytest.mark.parametrize("reduction", REDUCTIONS)
    def test_only_the_order_of_labels_counts(self, reduction):
        y = np.array([3, 1, 2, 2, 3, 1])
        pairs = preference_pairs(y, reduction=reduction)
        for other in (np.exp(y), np.array([np.inf, -np.inf, 0, 0, np.inf, -np.inf]), y.astype(np.uint8)):
            np.testing.assert_array_equal(preference_pairs(other, reduction=reduction), pairs)

    def test_labels_that_differ_beyond_the_digits_of_a_float_are_kept_apart(self):
        assert preference_pairs([2**62 + 1, 2**62]).tolist() == [[0, 1]]

    def test_classes_may_be_booleans(self):
        assert preference_pairs([False, True]).tolist() == [[1, 0]]

    @pytest.mark.parametrize("reduction", REDUCTIONS)
    @pytest.mark.parametrize("y", [[], [5], [2, 2, 2]], ids=["no item", "one item", "ties"])
    def test_nothing_to_compare_gives_no_pair(self, reduction, y):
        assert preference_pairs(y, reduction=reduction).shape == (0, 2)

    def test_queries_may_be_anything_hashable(self):
        y = [1, 0, 1, 0]
        for qid in (
            ["1", "1", 1, 1],
            [(1, 2), (1, 2), "x", "x"],
            np.array([7, 7, 8, 8]),
            pd.Series(list("bbaa")),
        ):
            assert preference_pairs(y, qid).tolist() == [[0, 1], [2, 3]]

    def test_a_series_is_read_by_position_not_by_its_index(self):
        y = pd.Series([1, 0, 1, 0], index=[3, 2, 1, 0])
        qid = pd.Series(list("aabb"), index=[9, 0, 1, 2])
        assert preference_pairs(y, qid).tolist() == [[0, 1], [2, 3]]


class TestRepresentatives:
    def test_random_ones_repeat_with_their_seed(self):
        y = np.repeat([2, 1, 0], 20)
        first, again, other = (
            preference_pairs(y, None, "tree", "random", seed).tolist() for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other

    def test_every_item_of_a_level_can_be_drawn(self):
        graphs = (preference_graph([1, 1, 1, 0, 0], None, "tree", "random", seed) for seed in range(40))
        assert {max(range(3), key=graph.out_degree) for graph in graphs} == {0, 1, 2}

    def test_a_function_sees_each_level_of_each_query_once(self):
        seen = []

        def first(level):
            seen.append(level.tolist())
            return level[0]

        preference_pairs([1, 0, 1, 0, 0], list("ababa"), "tree", first)
        assert sorted(seen) == [[0, 2], [1, 3], [4]]

    def test_a_function_that_returns_a_stranger_is_refused(self):
        with refuses(DataError, "representative", found="7"):
            preference_pairs([1, 1, 0, 0], None, "tree", lambda level: 7)

    def test_a_function_cannot_change_the_items(self):
        def spoil(level):
            chosen = int(level[0])
            level[:] = 0
            return chosen

        spoiled = preference_pairs([1, 1, 0, 0], None, "tree", spoil)
        np.testing.assert_array_equal(spoiled, preference_pairs([1, 1, 0, 0], None, "tree"))


class TestReachability:
    @pytest.mark.parametrize("reduction", ["levels", "transitive"])
    @given(rows=items)
    def test_levels_imply_every_pair(self, reduction, rows):
        y, qid = columns(rows)
        assert closure(preference_pairs(y, qid, reduction), len(y)) == all_pairs(y, qid)

    @given(rows=items)
    def test_levels_are_the_transitive_reduction(self, rows):
        y, qid = columns(rows)
        wanted = nx.transitive_reduction(preference_graph(y, qid)).edges
        for reduction in ("levels", "transitive"):
            assert as_set(preference_pairs(y, qid, reduction)) == set(wanted)

    @given(rows=items)
    def test_tree_misses_exactly_the_consecutive_pairs_without_representative(self, rows):
        y, qid = columns(rows)
        missed = set()
        for levels in levels_of(y, qid):
            for lower, upper in pairwise(levels):
                missed |= set(product(sorted(upper)[1:], sorted(lower)[1:]))
        assert closure(preference_pairs(y, qid, "tree"), len(y)) == all_pairs(y, qid) - missed

    @given(rows=items)
    def test_tree_connects_a_query_that_has_a_pair(self, rows):
        y, qid = columns(rows)
        graph = preference_graph(y, qid, "tree").to_undirected()
        wanted = sum(1 if len(levels) > 1 else len(levels[0]) for levels in levels_of(y, qid))
        assert nx.number_connected_components(graph) == wanted

    @given(y=st.lists(st.integers(0, 1), min_size=2, max_size=12).filter(lambda y: len(set(y)) == 2))
    def test_tree_of_two_levels_is_a_tree(self, y):
        assert nx.is_tree(preference_graph(y, reduction="tree").to_undirected())

    def test_tree_of_three_levels_need_not_be_a_tree(self):
        """The representatives of the outer levels both see both inner items: 0-1-3-2-0."""
        graph = preference_graph([2, 1, 1, 0], reduction="tree")
        assert nx.find_cycle(graph.to_undirected(), 0)

    def test_dependent_pairs_of_a_tree_make_the_hessian_singular(self):
        pairs = preference_pairs([2, 1, 1, 0], reduction="tree")
        D = np.eye(4)[pairs[:, 0]] - np.eye(4)[pairs[:, 1]]
        assert np.linalg.matrix_rank(D) < len(pairs)


class TestGraph:
    @given(rows=items, reduction=st.sampled_from(REDUCTIONS))
    def test_edges_are_the_pairs_and_nodes_carry_what_was_given(self, rows, reduction):
        y, qid = columns(rows)
        graph = preference_graph(y, qid, reduction)
        assert set(graph.edges) == as_set(preference_pairs(y, qid, reduction))
        assert [graph.nodes[i] for i in range(len(y))] == [
            {"y": a, "qid": b} for a, b in zip(y, qid, strict=True)
        ]
        assert list(graph) == list(range(len(y)))

    def test_without_queries_all_items_are_in_query_0(self):
        assert nx.get_node_attributes(preference_graph([1.5, 2.5]), "qid") == {0: 0, 1: 0}


@pytest.mark.parametrize("folder", [pytest.param(folder, marks=needs(folder)) for folder in TABLE_1])
def test_pairs_are_as_many_as_table_1_of_zapien_says(folder):
    target, full, reduced = TABLE_1[folder]
    y = pd.read_csv(DATA / folder / f"{folder}.csv").dropna()[target]
    assert len(preference_pairs(y)) == full
    assert len(preference_pairs(y, reduction="tree")) == reduced


@needs("auto_mpg")
def test_the_tree_of_the_cars_has_more_pairs_than_can_be_independent():
    """Zapien et al. (2009), section 4, say that the Hessian of the reduced graph is not singular."""
    y = pd.read_csv(DATA / "auto_mpg" / "auto_mpg.csv").dropna()["mpg"]
    assert len(y) - 1 < len(preference_pairs(y, reduction="tree"))
