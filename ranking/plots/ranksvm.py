"""Plots of ranking models: scores over the plane of two features, and preference graphs.

Zapien et al. (2009), Fig. 4, show scores at four C along a path.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pqp.plotting import GREY, axes_for, new_figure, place_legend, plain
from ranking.core.validation import Array, counted, numbers
from ranking.errors import DataError, must_be
from ranking.plots.axes import (
    COLOURS,
    GRID,
    PathLike,
    Plane,
    Rows,
    ScoreModel,
    fitted_path,
    knows_every_C,
    plane_of,
    require_labels,
    require_no_C,
    set_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The number of bands of equal colour, about.
BANDS = 14
# Up to so many different labels have a colour and a mark each; more are shown by a colour scale.
MOST_MARKS = len(COLOURS)
MARKS = ("o", "^", "s", "D", "v", "P", "X")
# How dark the lowest and the highest scores are: pale, so that items stand out.
SHADES = (0.02, 0.62)
# How many panels of `plot_decisions` stand side by side, and their size in inches.
COLUMNS = 2
PANEL = (4.2, 3.6)
# More arrows than this are a black patch.
MOST_EDGES = 300
# Empty places between two queries.
GAP = 1.0
# Arrows that skip a level are bent by this, so that they pass the items between.
BEND = 0.18
NODE_SIZE = 320.0

Place = tuple[float, float]


def plot_decision(
    model: PathLike | ScoreModel,
    X: Rows,
    y: ArrayLike,
    ax: "Axes | None" = None,
    C: float | None = None,
    grid: int = 150,
) -> "Axes":
    """Draw the scores of a model of two features as filled contours, with items marked by their labels.

    `C` is for models that know a whole path, by default the one in use; `grid` is the number of points per
    side at which scores are computed. Only differences of scores have a meaning: darker is preferred.
    """
    check_is_fitted(model)
    plane = plane_of(model, X, grid)
    labels = _labels(y, plane)
    scores = _scores(model, plane, C)
    axes = axes_for(ax, 6.4, 4.8)
    _draw_scores(axes, plane, scores)
    _draw_items(axes, plane, labels)
    place_legend(axes, ax is None, columns=4)
    set_title(axes, _title(model, C))
    return axes


def plot_decisions(
    path_model: PathLike, X: Rows, y: ArrayLike, Cs: Sequence[float] | None = None, grid: int = 120
) -> "list[Axes]":
    """Draw the scores at several C along a path, one panel each; returns their axes, all on one figure.

    By default four C, from the first breakpoint of the path to its end, evenly on a logarithmic axis.
    """
    model = fitted_path(path_model, "pair_counts")
    chosen = [float(C) for C in (_spread(model) if Cs is None else Cs)]
    if not chosen:
        raise must_be("Cs", "at least one C", found="none")
    plane = plane_of(model, X, grid)
    labels = _labels(y, plane)
    rows, columns = -(-len(chosen) // COLUMNS), min(COLUMNS, len(chosen))
    figure = new_figure(columns * PANEL[0], rows * PANEL[1] + 0.4)
    panels = [figure.add_subplot(rows, columns, k + 1) for k in range(len(chosen))]
    for letter, C, axes in zip("abcdefghijklmnopqrstuvwxyz", chosen, panels, strict=False):
        _draw_scores(axes, plane, _scores(model, plane, C))
        _draw_items(axes, plane, labels)
        set_title(axes, f"({letter}) {_title(model, C)}")
    handles, names = panels[0].get_legend_handles_labels()
    if handles:
        place: dict[str, Any] = {"loc": "outside lower center", "ncols": 4, "frameon": False}
        figure.legend(handles, names, fontsize="small", **place)
    return panels


def _spread(model: Any) -> Array:
    bends = model.breakpoints_
    first = bends[0] if len(bends) else model.C_end_ / 1000
    return np.minimum(np.geomspace(first, model.C_end_, 4), model.C_end_)


def _labels(y: Any, plane: Plane) -> Array:
    labels = numbers(y, "y")
    require_labels(labels, len(plane.points))
    return labels


def _scores(model: Any, plane: Plane, C: float | None) -> Array:
    """Return the score of every point of the grid."""
    if knows_every_C(model):
        path = fitted_path(model, "pair_counts", "model")
        return np.asarray(path.decision_function(plane.rows, C=path.C_ if C is None else C))
    require_no_C(model, C)
    return np.asarray(model.decision_function(plane.rows))


def _draw_scores(axes: "Axes", plane: Plane, scores: Array) -> None:
    """Draw bands of equal scores with a scale next to them; a constant score is one pale band."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("pale", colormaps["Greys"](np.linspace(*SHADES, 256)))
    low, high = float(scores.min()), float(scores.max())
    levels = BANDS if high > low else [low - 0.5, low + 0.5]
    filled = axes.contourf(*plane.on_grid(scores), levels=levels, cmap=shades)
    if high > low:
        thin: dict[str, Any] = {"colors": "0.45", "linewidths": 0.4, "linestyles": "solid"}
        axes.contour(*plane.on_grid(scores), levels=filled.levels, **thin)
    axes.figure.colorbar(filled, ax=axes, label="score f(x)", pad=0.02)
    axes.set(xlabel=plane.names[0], ylabel=plane.names[1])


def _draw_items(axes: "Axes", plane: Plane, y: Array) -> None:
    """Mark items by their labels: a colour and a shape each, or colours of a scale if there are many."""
    levels = np.unique(y)
    edge: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.6, "s": 30, "zorder": 3}
    if len(levels) > MOST_MARKS:
        marks = axes.scatter(plane.points[:, 0], plane.points[:, 1], c=y, cmap="viridis", **edge)
        axes.figure.colorbar(marks, ax=axes, label="label y", pad=0.02)
        return
    for number, level in enumerate(levels):
        mine = plane.points[y == level]
        axes.scatter(*mine.T, color=COLOURS[number], marker=MARKS[number], label=f"y = {level:g}", **edge)


def _title(model: Any, C: float | None) -> str:
    used = C if C is not None else getattr(model, "C_", getattr(model, "C", None))
    if used is None or isinstance(used, str):
        return "Scores"
    return f"C = {used:.4g}, λ = {1 / used:.4g}" if used else "C = 0"


def plot_preference_graph(graph: nx.DiGraph, ax: "Axes | None" = None) -> "Axes":
    """Draw a preference graph: levels from the most preferred down, queries side by side.

    Levels are the labels `y` of the nodes; in a graph without labels an item stands one level below the
    lowest that is preferred to it. Pairs that contradict one another, those of a cycle, are dashed.
    """
    if not isinstance(graph, nx.Graph) or not graph.is_directed():
        raise must_be("graph", "a networkx.DiGraph, as preference_graph returns", found=type(graph).__name__)
    if not len(graph):
        raise DataError("{argument} has no item to draw", argument="graph")
    if graph.number_of_edges() > MOST_EDGES:
        raise DataError(
            "{argument} has {found} edges, {expected} can be distinguished in a picture",
            argument="graph",
            found=graph.number_of_edges(),
            expected=f"at most {MOST_EDGES}",
            remedy="draw a graph of one query, or one made with {setting}",
            setting=("reduction", "tree"),
        )
    levels, ticks = _levels(graph)
    places, centres = _places(graph, levels)
    width = max(x for x, _ in places.values()) + 1
    axes = axes_for(ax, np.clip(0.55 * width + 1.6, 4, 14), np.clip(0.9 * len(ticks) + 1.8, 3, 12))
    # the pairs that lie on a cycle, and of the others those that skip a level or not
    cycles = nx.strongly_connected_components(graph)
    wrong = [edge for items in cycles for edge in graph.subgraph(items).edges]
    right = [edge for edge in graph.edges if edge not in wrong]
    near = [(i, j) for i, j in right if abs(levels[i] - levels[j]) == 1]
    far = [(i, j) for i, j in right if abs(levels[i] - levels[j]) != 1]
    strength = 0.9 if len(right) <= 60 else 0.55
    bent = f"arc3,rad={BEND}"
    kinds: list[tuple[list[Any], dict[str, Any]]] = [
        (near, {"edge_color": GREY, "alpha": strength}),
        (far, {"edge_color": GREY, "alpha": strength / 2, "connectionstyle": bent}),
        (wrong, {"edge_color": COLOURS[1], "style": "--", "connectionstyle": bent}),
    ]
    for edges, style in kinds:
        if edges:
            sizes = {"node_size": NODE_SIZE, "arrowsize": 9, "width": 0.9}
            nx.draw_networkx_edges(graph, places, edgelist=edges, ax=axes, **sizes, **style)
    rings: dict[str, Any] = {"node_color": "white", "edgecolors": COLOURS[0], "node_size": NODE_SIZE}
    nx.draw_networkx_nodes(graph, places, ax=axes, **rings)
    nx.draw_networkx_labels(graph, places, ax=axes, font_size=8)
    axes.spines[["top", "right", "bottom", "left"]].set_visible(False)
    axes.set_ylabel("label y (higher is preferred)" if any(ticks) else "more preferred →")
    axes.set_yticks(range(len(ticks)), ticks)
    axes.tick_params(left=False, bottom=False, labelleft=any(ticks), labelbottom=len(centres) > 1)
    if len(centres) > 1:
        axes.set_xticks(list(centres.values()), [plain(f"query {query}") for query in centres])
    axes.margins(0.08, 0.12)
    axes.grid(axis="y", **GRID)
    counts = f"{counted(len(graph), 'item')}, {counted(graph.number_of_edges(), 'pair')}"
    set_title(axes, f"{counts}, {len(wrong)} of them contradictory (dashed)" if wrong else counts)
    return axes


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
