"""Drawings of preference graphs: items by level and query, an arrow from the preferred one to the other.

Room: a directed graph in, axes out. Opens no window, prints nothing.
May touch: `errors`, `canvas`, and networkx and matplotlib, which are imported only to draw.
"""

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from ranking.canvas import COLOURS, GREY, counted, new_figure, plain
from ranking.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More arrows than this are a black patch.
MOST_EDGES = 300
# Empty places between two queries.
GAP = 1.0
# Arrows that skip a level are bent by this, so that they pass the items between.
BEND = 0.18
NODE_SIZE = 320.0

Place = tuple[float, float]


def plot_preference_graph(graph: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw a preference graph: levels from the most preferred down, queries side by side.

    Levels are the labels `y` of the nodes; in a graph without labels an item stands one level below the
    lowest that is preferred to it. Pairs that contradict one another, those of a cycle, are dashed.
    """
    _require_drawable(graph)
    levels, ticks = _levels(graph)
    places, centres = _places(graph, levels)
    width = max(x for x, _ in places.values()) + 1
    axes = new_figure(*_size(width, len(ticks))).add_subplot() if ax is None else ax
    _draw_edges(axes, graph, levels, places)
    rings: dict[str, Any] = {"node_color": "white", "edgecolors": COLOURS[0], "node_size": NODE_SIZE}
    nx.draw_networkx_nodes(graph, places, ax=axes, **rings)
    nx.draw_networkx_labels(graph, places, ax=axes, font_size=8)
    _finish(axes, graph, ticks, centres)
    return axes


def _size(width: float, levels: int) -> tuple[float, float]:
    """Return width and height of a figure in inches."""
    return float(np.clip(0.55 * width + 1.6, 4, 14)), float(np.clip(0.9 * levels + 1.8, 3, 12))


def _require_drawable(graph: Any) -> None:
    if not isinstance(graph, nx.Graph) or not graph.is_directed():
        raise DataError(f"graph must be a networkx.DiGraph, got {type(graph).__name__}; see preference_graph")
    if not len(graph):
        raise DataError("graph has no item to draw")
    if graph.number_of_edges() > MOST_EDGES:
        raise DataError(
            f"graph has {graph.number_of_edges()} edges, at most {MOST_EDGES} can be told apart; "
            "draw a reduction, preference_graph(y, qid, reduction='tree'), or a subgraph of one query"
        )


def _levels(graph: Any) -> tuple[dict[Any, int], list[str]]:
    """Return the level of each item, 0 the lowest, and what the levels are called."""
    labels = nx.get_node_attributes(graph, "y")
    if len(labels) == len(graph):
        known = sorted(set(labels.values()))
        return {item: known.index(label) for item, label in labels.items()}, [f"{y:g}" for y in known]
    whole = nx.condensation(graph)
    generations = [list(part) for part in nx.topological_generations(whole)]
    height = {part: len(generations) - 1 - k for k, parts in enumerate(generations) for part in parts}
    levels = {item: height[part] for item, part in whole.graph["mapping"].items()}
    return levels, [""] * len(generations)


def _places(graph: Any, levels: dict[Any, int]) -> tuple[dict[Any, Place], dict[Any, float]]:
    """Return where items stand, and the middle of each query."""
    queries: dict[Any, dict[int, list[Any]]] = {}
    for item, query in graph.nodes(data="qid", default=0):
        queries.setdefault(query, {}).setdefault(levels[item], []).append(item)
    places: dict[Any, Place] = {}
    centres, left = {}, 0.0
    for query, rows in queries.items():
        width = max(len(items) for items in rows.values())
        centres[query] = left + (width - 1) / 2
        for level, items in rows.items():
            start = centres[query] - (len(items) - 1) / 2
            places |= {item: (start + k, float(level)) for k, item in enumerate(items)}
        left += width + GAP
    return places, centres


def _contradictory(graph: Any) -> list[tuple[Any, Any]]:
    """Return the pairs that lie on a cycle."""
    part = {item: k for k, items in enumerate(nx.strongly_connected_components(graph)) for item in items}
    return [(i, j) for i, j in graph.edges if part[i] == part[j]]


def _draw_edges(axes: "Axes", graph: Any, levels: dict[Any, int], places: dict[Any, Place]) -> None:
    wrong = _contradictory(graph)
    contradictory = set(wrong)
    right = [edge for edge in graph.edges if edge not in contradictory]
    near = [(i, j) for i, j in right if abs(levels[i] - levels[j]) == 1]
    far = [(i, j) for i, j in right if abs(levels[i] - levels[j]) != 1]
    strength = 0.9 if len(right) <= 60 else 0.55
    kinds: list[tuple[list[Any], dict[str, Any]]] = [
        (near, {"edge_color": GREY, "alpha": strength}),
        (far, {"edge_color": GREY, "alpha": strength / 2, "connectionstyle": f"arc3,rad={BEND}"}),
        (wrong, {"edge_color": COLOURS[1], "style": "--", "connectionstyle": f"arc3,rad={BEND}"}),
    ]
    for edges, style in kinds:
        if edges:
            sizes = {"node_size": NODE_SIZE, "arrowsize": 9, "width": 0.9}
            nx.draw_networkx_edges(graph, places, edgelist=edges, ax=axes, **sizes, **style)


def _finish(axes: "Axes", graph: Any, ticks: list[str], centres: dict[Any, float]) -> None:
    """Name levels and queries."""
    axes.spines[["top", "right", "bottom", "left"]].set_visible(False)
    axes.set_ylabel("label y (higher is preferred)" if any(ticks) else "more preferred →")
    axes.set_yticks(range(len(ticks)), ticks)
    axes.tick_params(left=False, bottom=False, labelleft=any(ticks), labelbottom=len(centres) > 1)
    if len(centres) > 1:
        axes.set_xticks(list(centres.values()), [plain(f"query {query}") for query in centres])
    axes.margins(0.08, 0.12)
    axes.grid(axis="y", color="0.93", linewidth=0.8)
    counts = f"{counted(len(graph), 'item')}, {counted(graph.number_of_edges(), 'pair')}"
    wrong = len(_contradictory(graph))
    counts += f", {wrong} of them contradictory (dashed)" if wrong else ""
    axes.set_title(counts, fontsize="medium", loc="left")
