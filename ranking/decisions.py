"""Decisions: the scores of a model over a plane of two features, as contours with the items on top.

Zapien et al. (2009), Fig. 4, show four such pictures along a path.

Room: a fitted model and two-dimensional items in, axes out. Opens no window, prints nothing.
May touch: `errors`, `arguments`, `canvas`, `plane`, `ranksvm_path`, `crossvalidation`, and matplotlib, which
is imported only to draw.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranking.arguments import numbers
from ranking.arrays import Array
from ranking.canvas import COLOURS, fitted_path, new_figure
from ranking.crossvalidation import RankSVMPathCV
from ranking.errors import DataError
from ranking.plane import Mesh, Plane, mesh_around, plane_of
from ranking.ranksvm_path import RankSVMPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Bands of equal colour, about.
BANDS = 14
# With so many different labels each has a colour and a mark of its own, with more there is a scale.
MOST_MARKS = len(COLOURS)
MARKS = ("o", "^", "s", "D", "v", "P", "X")
# How dark the lowest and the highest scores are: pale, so that items stand out.
SHADES = (0.02, 0.62)
# The pictures of `plot_decisions` beside one another, and how large one is.
COLUMNS, PANEL = 2, (4.2, 3.6)


def plot_decision(
    model: Any, X: Any, y: Any, ax: "Axes | None" = None, C: float | None = None, grid: int = 150
) -> "Axes":
    """Draw the scores of a model of two features as filled contours, with items marked by their labels.

    `C` is for models that know a whole path, by default the one in use; `grid` is the number of points a side
    at which scores are taken. Only differences of scores have a meaning: the darker, the more preferred.
    """
    check_is_fitted(model)
    plane = plane_of(model, X)
    labels, mesh = _labels(y, plane), mesh_around(model, plane, grid)
    scores = _scores(model, mesh, C)
    axes = new_figure(6.4, 4.8).add_subplot() if ax is None else ax
    _draw_scores(axes, plane, mesh, scores)
    _draw_items(axes, plane, labels)
    if len(np.unique(labels)) <= MOST_MARKS:
        place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "frameon": False}
        axes.legend(fontsize="small", ncols=4, **(place if ax is None else {"loc": "best"}))
    axes.set_title(_title(model, C), fontsize="medium", loc="left")
    return axes


def plot_decisions(
    path_model: Any, X: Any, y: Any, Cs: Sequence[float] | None = None, grid: int = 120
) -> "list[Axes]":
    """Draw the scores at several C along a path, one picture each; returns their axes, all on one figure.

    By default four C, from the first bend of the path to its end, evenly on a logarithmic axis.
    """
    model = fitted_path(path_model)
    chosen = [float(C) for C in (_spread(model) if Cs is None else Cs)]
    if not chosen:
        raise DataError("Cs must hold at least one C, got none")
    plane = plane_of(model, X)
    labels, mesh = _labels(y, plane), mesh_around(model, plane, grid)
    rows, columns = -(-len(chosen) // COLUMNS), min(COLUMNS, len(chosen))
    figure = new_figure(columns * PANEL[0], rows * PANEL[1] + 0.4)
    panels = [figure.add_subplot(rows, columns, k + 1) for k in range(len(chosen))]
    for letter, C, axes in zip("abcdefghijklmnopqrstuvwxyz", chosen, panels, strict=False):
        _draw_scores(axes, plane, mesh, _scores(model, mesh, C))
        _draw_items(axes, plane, labels)
        axes.set_title(f"({letter}) {_title(model, C)}", fontsize="medium", loc="left")
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
    plane.require_one_each(labels)
    return labels


def _scores(model: Any, mesh: Mesh, C: float | None) -> Array:
    """Return the score of every point of a grid."""
    if C is not None and not isinstance(model, RankSVMPath | RankSVMPathCV):
        found = f"{type(model).__name__} has one C"
        raise DataError(f"C is for models with a whole path, but {found}; leave it out")
    if C is None:
        return mesh.shaped(model.decision_function(mesh.rows))
    return mesh.shaped(fitted_path(model).decision_function(mesh.rows, C=C))


def _draw_scores(axes: "Axes", plane: Plane, mesh: Mesh, scores: Array) -> None:
    """Draw bands of equal scores with a scale beside them; a constant score is one pale band."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("pale", colormaps["Greys"](np.linspace(*SHADES, 256)))
    low, high = float(scores.min()), float(scores.max())
    levels = BANDS if high > low else [low - 0.5, low + 0.5]
    filled = axes.contourf(mesh.across, mesh.up, scores, levels=levels, cmap=shades)
    if high > low:
        thin: dict[str, Any] = {"colors": "0.45", "linewidths": 0.4, "linestyles": "solid"}
        axes.contour(mesh.across, mesh.up, scores, levels=filled.levels, **thin)
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
