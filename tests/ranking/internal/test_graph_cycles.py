"""graph: preferences given pair by pair, what contradicts in them and what follows from others."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.core.graph import (
    describe_cycle,
    essential_pairs,
    find_cycle,
    preference_graph,
    preference_pairs,
    read_graph,
)
from ranking.errors import DataError
from tests.ranking.items import closure, columns, items
from tests.refusals import refuses

edge_lists = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda edge: edge[0] != edge[1]), max_size=16
)


class TestCycles:
    @given(edges=edge_lists)
    def test_a_cycle_is_found_exactly_when_there_is_one(self, edges):
        graph = nx.DiGraph(edges)
        cycle = find_cycle(edges, 7)
        assert (cycle is None) == nx.is_directed_acyclic_graph(graph)
        if cycle is not None:
            assert len(set(cycle)) == len(cycle)
            assert all(graph.has_edge(i, j) for i, j in zip(cycle, [*cycle[1:], cycle[0]], strict=True))

    @given(edges=edge_lists)
    def test_it_begins_with_the_smallest_item_on_any_cycle_and_is_shortest_there(self, edges):
        cycles = list(nx.simple_cycles(nx.DiGraph(edges)))
        found = find_cycle(edges, 7)
        if cycles:
            assert found[0] == min(map(min, cycles))
            assert len(found) == min(len(cycle) for cycle in cycles if found[0] in cycle)

    @pytest.mark.parametrize(
        ("pairs", "cycle"),
        [
            ([], None),
            ([(0, 1), (1, 0)], [0, 1]),
            ([(2, 2)], [2]),
            ([(7, 5), (3, 7), (5, 3)], [3, 7, 5]),
            ([(0, 1)] * 256 + [(1, 0)] * 256, [0, 1]),
        ],
        ids=["no pair", "a contradiction", "an item with itself", "three items", "repeated pairs"],
    )
    def test_known_cycles(self, pairs, cycle):
        assert find_cycle(pairs, 8) == cycle

    @given(rows=items)
    def test_labels_never_contradict_themselves(self, rows):
        y, qid = columns(rows)
        assert find_cycle(preference_pairs(y, qid), len(y)) is None

    def test_a_long_chain_does_not_exhaust_the_stack(self):
        chain = np.column_stack([np.arange(20_000), np.arange(1, 20_001)])
        assert find_cycle(chain, 20_001) is None
        assert find_cycle([*chain.tolist(), [20_000, 0]], 20_001) == list(range(20_001))

    def test_a_cycle_reads_as_a_chain_that_closes(self):
        assert describe_cycle([3, 7, 5]) == "3 > 7 > 5 > 3"


class TestEssentialPairs:
    @given(edges=edge_lists)
    def test_they_are_the_smallest_set_that_implies_all(self, edges):
        pairs = np.array([edge for edge in dict.fromkeys(edges) if edge[0] < edge[1]]).reshape(-1, 2)
        kept = pairs[essential_pairs(pairs, 7)]
        assert closure(kept, 7) == closure(pairs, 7)
        for left_out in range(len(kept)):
            assert closure(np.delete(kept, left_out, axis=0), 7) != closure(pairs, 7)

    def test_repeated_pairs_share_their_answer(self):
        pairs = np.array([[0, 1], [0, 1], [1, 2], [0, 2], [0, 2]])
        assert essential_pairs(pairs, 3).tolist() == [True, True, True, False, False]

    def test_a_cycle_is_named(self):
        with refuses(DataError, "pairs", found="0 > 2 > 1 > 0"):
            essential_pairs(np.array([[1, 0], [0, 2], [2, 1]]), 3)


class TestReadGraph:
    def test_attributes_that_some_edges_carry_are_1_on_the_others(self):
        graph = nx.DiGraph([(0, 1, {"margin": 2.0}), (2, 1, {})])
        assert read_graph(graph, 3) == ([(0, 1), (2, 1)], {"margin": [2.0, 1]})

    def test_parallel_edges_are_repeated_pairs(self):
        assert read_graph(nx.MultiDiGraph([(0, 1), (0, 1)]), 2) == ([(0, 1), (0, 1)], {})

    def test_preference_graphs_are_read_back(self):
        graph = preference_graph([3, 1, 2, 2])
        assert read_graph(graph, 4)[0] == list(graph.edges)

    def test_nodes_that_are_no_items_are_named(self):
        with refuses(DataError, "nodes", found="'x', 5"):
            read_graph(nx.DiGraph([(0, "x"), (1, 5)]), 2)

    def test_an_undirected_graph_is_refused(self):
        with refuses(DataError, "pairs", found="an undirected one"):
            read_graph(nx.Graph([(0, 1)]), 2)
