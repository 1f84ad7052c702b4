"""Plots of ordinal models: levels over the plane of two features, scores and thresholds over C.

Izunaga et al. (2014), Fig. 1 and 2, show two of the first kind.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pqp.plotting import axes_for, place_legend, plain
from ranking.core.labels import Levels
from ranking.core.validation import Array, Integers
from ranking.plots.axes import (
    LevelModel,
    PathLike,
    Plane,
    Rows,
    draw_breakpoints,
    draw_C_axis,
    fitted_path,
    knows_every_C,
    plane_of,
    require_labels,
    require_no_C,
    set_title,
)
from ranking.plots.paths import path_title, require_few, values_along, window_and_samples
from ranking.plots.ranksvm import MARKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Levels have the colours of a map whose lightness ascends with them, for every kind of colour vision.
COLOUR_MAP = "viridis"
COLOUR_RANGE = (0.0, 0.9)
# How much of its colour the region of a level has; the rest is white, so that objects stand out.
TINT = 0.32
# The size of a mark and of the ring around one whose level is not predicted, in square points.
MARK = 34.0
RING = 120.0
# The words of the legend.
THRESHOLD = "threshold, f = p"
MARGIN = "margin, f = p ± 1"
WRONG = "predicted wrongly"


def plot_levels(
    model: PathLike | LevelModel,
    X: Rows,
    y: ArrayLike,
    ax: "Axes | None" = None,
    C: float | None = None,
    grid: int = 300,
) -> "Axes":
    """Draw where an ordinal model of two features predicts which level, with objects marked by theirs.

    Lines are the thresholds f = p_k, dashed ones the margins f = p_k ± 1; objects whose level is not
    predicted are ringed. `C` is for models that know a whole path, by default the one in use; `grid` is the
    number of points per side at which the model is evaluated.
    """
    fitted: Any = model
    if hasattr(type(model), "predict_projection") and not knows_every_C(model):
        check_is_fitted(model)
        require_no_C(model, C)
    else:
        path = fitted_path(model, "level_lines", "model")
        fitted = path.at(path.C_ if C is None else C)
    plane = plane_of(fitted, X, grid)
    levels, codes = _coded(fitted, y)
    require_labels(codes, len(plane.points))
    is_right = levels.codes(fitted.predict(X)) == codes
    axes = axes_for(ax, 6.6, 5.4)
    _draw_regions(axes, fitted, levels, plane)
    _draw_objects(axes, levels, codes, plane.points, is_right)
    axes.set(xlabel=plane.names[0], ylabel=plane.names[1])
    place_legend(axes, ax is None, columns=4)
    margin = f"C = {fitted.C:.4g}" if np.isfinite(fitted.C) else "hard margin"
    kernel = "" if fitted.kernel == "linear" else f", kernel {fitted.kernel}"
    set_title(axes, f"{margin}{kernel}: {int(is_right.sum())} of {len(is_right)} predicted correctly")
    return axes


def plot_level_path(path_model: PathLike, X: Rows, y: ArrayLike, ax: "Axes | None" = None) -> "Axes":
    """Draw the thresholds p(C) over a whole path, and the scores of objects in colours of their levels."""
    model = fitted_path(path_model, "level_lines")
    levels, codes = _coded(model, y)
    require_few(len(codes))
    window, C = window_and_samples(model)
    values = values_along((block.together() for block in model.level_lines(X)), C)
    n = values.shape[1] - len(model.classes_) + 1
    require_labels(codes, n)
    axes = axes_for(ax, 8.0, 5.0)
    draw_C_axis(axes, window)
    # one thin curve per object, named by levels, the highest first
    colours = _colours(len(levels))
    for code in np.unique(codes)[::-1].tolist():
        mine = values[:, :n][:, codes == code]
        names = [plain(str(levels.names[code])), *[""] * (mine.shape[1] - 1)]
        axes.plot(C, mine, color=colours[code], linewidth=0.8, alpha=0.75, label=names)
    axes.plot(C, values[:, n], color="black", linewidth=2.0, label="thresholds p")
    axes.plot(C, values[:, n + 1 :], color="black", linewidth=2.0)
    draw_breakpoints(axes, model.breakpoints_, window)
    axes.set_ylabel("score f(x), threshold p")
    set_title(axes, path_title(model))
    place_legend(axes, ax is None, right=True)
    return axes


def _coded(model: Any, y: Any) -> tuple[Levels, Integers]:
    """Return the levels of a model and of labels, and the code of every label."""
    levels = model.training_.declared.extended(y)
    return levels, levels.codes(y)


def _draw_regions(axes: "Axes", model: Any, levels: Levels, plane: Plane) -> None:
    """Draw the regions of the predicted levels, with the thresholds and margins between them."""
    scores = model.predict_projection(plane.rows)
    low, high = float(scores.min()), float(scores.max())
    thresholds = np.sort(model.thresholds_)
    visible = np.unique(thresholds[(thresholds > low) & (thresholds < high)])
    # the level predicted just above the lowest score, and above each threshold
    above = np.searchsorted(thresholds, np.append(low, visible), side="right")
    colours = _colours(len(levels))[levels.codes(model.classes_)[above]]
    tints = (TINT * colours + 1 - TINT).tolist()
    edges = np.concatenate([[low - 1], visible, [high + 1]])
    axes.contourf(*plane.on_grid(scores), levels=edges, colors=tints, zorder=0)
    margins = np.unique(np.concatenate([thresholds - 1, thresholds + 1]))
    dashed = margins[(margins > low) & (margins < high)]
    styles: tuple[tuple[Array, str, dict[str, Any]], ...] = (
        (visible, THRESHOLD, {"colors": "black", "linewidths": 1.3, "linestyles": "solid"}),
        (dashed, MARGIN, {"colors": "0.35", "linewidths": 0.7, "linestyles": "dashed"}),
    )
    for heights, name, style in styles:
        if len(heights):
            axes.contour(*plane.on_grid(scores), levels=heights, zorder=1, **style)
            line = {key.removesuffix("s"): value for key, value in style.items()}
            axes.plot([], [], label=name, **line)


def _draw_objects(axes: "Axes", levels: Levels, codes: Integers, points: Array, is_right: Array) -> None:
    """Mark objects by their levels, the highest first in the legend, and ring those predicted wrongly."""
    edge: dict[str, Any] = {"edgecolors": "0.15", "linewidths": 0.5, "s": MARK, "zorder": 3}
    colours = _colours(len(levels))
    for code in np.unique(codes)[::-1].tolist():
        name = plain(str(levels.names[code]))
        mine, mark = points[codes == code], MARKS[code % len(MARKS)]
        axes.scatter(*mine.T, color=colours[[code]], marker=mark, label=name, **edge)
    if not is_right.all():
        ring: dict[str, Any] = {"facecolors": "none", "edgecolors": "#D55E00", "linewidths": 1.4, "s": RING}
        axes.scatter(*points[~is_right].T, marker="o", label=WRONG, zorder=4, **ring)


def _colours(count: int) -> Array:
    """Return one colour per level: red, green, blue."""
    from matplotlib import colormaps

    return np.asarray(colormaps[COLOUR_MAP](np.linspace(*COLOUR_RANGE, count)))[:, :3]
