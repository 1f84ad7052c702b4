"""The preference graph: who is preferred to whom, and which of these pairs are kept.

An edge i -> j says that item i is preferred to item j. Labels y, compared within a query only, sort its
items into levels. Four choices of edges: "full", every pair with y_i > y_j; "levels", pairs of consecutive
levels; "transitive", pairs that do not follow from others, for labels the same as "levels"; "tree", Zapien
et al. (2009), Fig. 3. They are different soft-margin problems, not equivalent ones.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ranking.core.validation import (
    Integers,
    Queries,
    listed,
    numbers,
    query_codes,
    require_choice,
    values_shown,
)
from ranking.errors import DataError, must_be

Reduction: TypeAlias = Literal["full", "levels", "tree", "transitive"]
Representative: TypeAlias = Literal["first", "random"] | Callable[[Integers], int]
REDUCTIONS = ("full", "levels", "tree", "transitive")


def preference_graph(
    y: ArrayLike,
    qid: Queries | None = None,
    reduction: Reduction = "full",
    representative: Representative = "first",
    random_state: int | np.random.Generator | None = None,
) -> nx.DiGraph:
    r"""Return the directed graph of the preferences that labels imply.

    Nodes are the items :math:`0, \dots, n-1` with attributes `y` and `qid` (0 when there are no queries); the
    edges are the rows of `preference_pairs`, which explains the arguments.

    >>> preference_graph([3, 1, 2], reduction="levels").edges
    OutEdgeView([(0, 2), (2, 1)])
    """
    pairs = preference_pairs(y, qid, reduction, representative, random_state)
    labels = numbers(y, "y").tolist()
    queries = [0] * len(labels) if qid is None else listed(qid)
    graph = nx.DiGraph()
    for i, (label, query) in enumerate(zip(labels, queries, strict=True)):
        graph.add_node(i, y=label, qid=query)
    graph.add_edges_from(pairs.tolist())
    return graph


def preference_pairs(
    y: ArrayLike,
    qid: Queries | None = None,
    reduction: Reduction = "full",
    representative: Representative = "first",
    random_state: int | np.random.Generator | None = None,
) -> Integers:
    r"""Return the pairs (i, j), one per row, of the preference graph of labels: i is preferred to j.

    Let :math:`L_1 < \dots < L_K` be the levels of a query, of sizes :math:`n_1, \dots, n_K`. Per query,

    - `full` has :math:`\sum_{k>l} n_k n_l` pairs, `levels` and `transitive` have
      :math:`\sum_k n_k n_{k-1}`; the transitive closure of these is `full`;
    - `tree` has :math:`\sum_k (n_k + n_{k-1} - 1)`: each item of :math:`L_k` with the representative of
      :math:`L_{k-1}`, and the representative of :math:`L_k` with the rest of :math:`L_{k-1}`. It implies all
      pairs except those of consecutive levels without a representative. Undirected, it is a tree if there
      are two levels. With more it has undirected cycles wherever an inner level has several items, and the
      Hessian of the dual is singular then as well.

    Equal labels give no pair. Only the order of labels counts, so they may be infinite. Queries come as they
    first appear, the pairs of a query by the number of the preferred item, then by that of the other.

    Parameters
    ----------
    representative
        Of each level, for `tree`: its first item, a random one, or what a function of its items returns.
    random_state
        Seed or generator for random representatives.

    >>> preference_pairs([2, 0, 1, 0], qid=["a", "a", "b", "b"]).tolist()
    [[0, 1], [2, 3]]
    >>> preference_pairs([1, 1, 0, 0], reduction="tree").tolist()
    [[0, 2], [0, 3], [1, 2]]
    """
    require_choice(reduction, REDUCTIONS, "reduction")
    require_choice(representative, ("first", "random"), "representative", or_function=True)
    labels = numbers(y, "y")
    query = query_codes(qid, len(labels))
    if not len(labels):
        return np.empty((0, 2), dtype=np.int64)
    # by query, then from the highest label down, then by number; ranks can be negated whatever the type
    rank = np.unique(labels, return_inverse=True)[1]
    items = np.lexsort((-rank, query))
    begins = np.append(True, (np.diff(rank[items]) != 0) | (np.diff(query[items]) != 0))
    # level k of all levels holds items[start[k]:start[k + 1]], and items[p] is in level[p]
    start, level = np.append(np.flatnonzero(begins), len(items)), np.cumsum(begins) - 1
    owner = query[items[start[:-1]]]
    has_lower = np.append(owner[1:] == owner[:-1], [False])
    if reduction == "tree":
        chosen = _choose(items, start, representative, random_state)
        # nothing is below the last level: rolled round, this says that nothing is above the first
        has_upper = np.roll(has_lower, 1)
        down = has_lower[level]
        # the pair of both representatives is among those that go down already
        up = has_upper[level] & (items != chosen[level])
        upper = np.append(items[down], chosen[level[up] - 1])
        lower = np.append(chosen[level[down] + 1], items[up])
    else:
        # in the sorted order the partners of an item are neighbours: those from `first` to before `last`
        first = start[1:]
        if reduction == "full":
            last = start[np.searchsorted(owner, owner, side="right")]
        else:
            last = np.where(has_lower, np.append(first[1:], first[-1]), first)
        count = (last - first)[level]
        before = np.cumsum(count) - count
        partner = np.arange(count.sum()) + np.repeat(first[level] - before, count)
        upper, lower = np.repeat(items, count), items[partner]
    # stable, so that the items of a query stay in the order of their numbers
    by_query = np.argsort(query, kind="stable")
    place, n = np.argsort(by_query), len(query)
    # one integer a pair, because these sort faster than rows
    key = np.sort(place[upper] * n + place[lower])
    return by_query[np.column_stack(np.divmod(key, n))]


def read_graph(graph: Any, n: int) -> tuple[list[tuple[int, int]], dict[str, list[Any]]]:
    """Return the edges of a directed graph of n items, and what these carry as `weight` and `margin`.

    An attribute that no edge has is left out; where some have it, it is 1 on the others.

    >>> read_graph(nx.DiGraph([(0, 1, {"weight": 2}), (1, 2, {})]), 3)
    ([(0, 1), (1, 2)], {'weight': [2, 1]})
    """
    if not graph.is_directed():
        raise must_be("pairs", "a directed graph, networkx.DiGraph", found="an undirected one")
    strange = [node for node in graph if node not in range(n)]
    if strange:
        wanted = f"item numbers from 0 to {n - 1}"
        raise must_be("nodes", wanted, found=values_shown(strange), remedy="relabel them")
    present = [name for name in ("weight", "margin") if nx.get_edge_attributes(graph, name)]
    carried = {name: [value for *_, value in graph.edges(data=name, default=1)] for name in present}
    return [(int(i), int(j)) for i, j in graph.edges()], carried


def essential_pairs(pairs: Integers, n: int) -> NDArray[np.bool_]:
    """Return, for each pair of n items, whether it does not follow from other pairs by transitivity.

    These are the edges of the transitive reduction, of which an acyclic graph has exactly one. A pair that is
    there twice counts as one: both rows get the same answer.

    >>> essential_pairs(np.array([[0, 1], [1, 2], [0, 2]]), 3).tolist()
    [True, True, False]
    """
    if cycle := find_cycle(pairs, n):
        raise DataError(
            "{argument} contradict one another, {found}, and have no transitive reduction",
            argument="pairs",
            found=describe_cycle(cycle),
            remedy="remove one of these pairs, or keep all pairs with {setting}",
            setting=("reduction", "full"),
        )
    reduced = nx.transitive_reduction(nx.DiGraph(pairs.tolist()))
    return np.array([reduced.has_edge(i, j) for i, j in pairs.tolist()], dtype=bool)


def find_cycle(pairs: ArrayLike, n: int) -> list[int] | None:
    """Return a cycle of contradictory preferences among n items, or None if there is none.

    [3, 7, 5] means 3 > 7 > 5 > 3. It begins with the smallest item that lies on any cycle, and no cycle
    through that item is shorter.

    >>> find_cycle([[5, 3], [3, 7], [7, 5], [1, 3]], 8)
    [3, 7, 5]
    >>> find_cycle([[0, 1], [1, 2], [0, 2]], 3) is None
    True
    """
    edges = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    upper, lower = edges.T
    adjacency = coo_array((np.ones(len(edges)), (upper, lower)), shape=(n, n))
    # networkx alone would walk the reachable edges anew from every item
    _, component = connected_components(adjacency, directed=True, connection="strong")
    # an edge inside a strong component lies on a cycle, and no other edge does
    is_inside = component[upper] == component[lower]
    if not is_inside.any():
        return None
    start = int(upper[is_inside].min())
    graph = nx.DiGraph(edges[is_inside].tolist())
    steps = nx.single_source_shortest_path_length(graph, start)
    # a shortest cycle is a shortest path to an item from which one edge leads back
    last = min(graph.predecessors(start), key=lambda item: (steps[item], item))
    return [int(item) for item in nx.shortest_path(graph, start, last)]


def describe_cycle(cycle: Sequence[int]) -> str:
    """Return a cycle as people write it.

    >>> describe_cycle([3, 7, 5])
    '3 > 7 > 5 > 3'
    """
    return " > ".join(map(str, [*cycle, cycle[0]]))


def _choose(
    items: Integers,
    start: Integers,
    representative: Representative,
    random_state: int | np.random.Generator | None,
) -> Integers:
    """Return the representative of each level, which begins at `start`."""
    if callable(representative):
        chosen = []
        for level in np.split(items, start[1:-1]):
            # a copy, because a user's function may change its argument
            answer = representative(level.copy())
            if answer not in level.tolist():
                raise must_be("representative", f"one of the items {values_shown(level)}", found=repr(answer))
            chosen.append(answer)
        return np.array(chosen, dtype=np.int64)
    size = np.diff(start)
    place = np.random.default_rng(random_state).integers(size) if representative == "random" else 0
    return items[start[:-1] + place]
