"""Random items for tests of preferences: few labels and queries, so that ties and single items are common."""

import networkx as nx
import numpy as np
from hypothesis import strategies as st

QUERIES = ("a", "b", 3)
# The arrays of a record of preferences.
COLUMNS = ("pairs", "weight", "margin", "group")

# (label, query) of each item, in any order.
items = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(QUERIES)), min_size=1, max_size=14)


def columns(rows):
    """Labels and queries of items."""
    return [label for label, _ in rows], [query for _, query in rows]


def closure(pairs, n):
    """All pairs that follow from pairs of n items, which have no cycle."""
    graph = nx.DiGraph(pairs.tolist())
    graph.add_nodes_from(range(n))
    return set(nx.transitive_closure_dag(graph).edges)


def assert_same(found, wanted):
    """Two records of preferences hold the same arrays."""
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert found.n_items == wanted.n_items
