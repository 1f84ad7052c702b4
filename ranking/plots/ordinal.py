"""Pictures of ordinal models: their levels over a plane of two features, and scores and thresholds over C.

Izunaga et al. (2014), Fig. 1 and 2, show two of the first kind.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranking.core.labels import Levels
from ranking.core.validation import Array, Integers
from ranking.errors import DataError
from ranking.ordinal.model import OrdinalSVM
from ranking.ordinal.path import OrdinalSVMPath
from ranking.plots.axes import (
    Mesh,
    draw_bends,
    draw_C_axis,
    fitted_path,
    mesh_around,
    new_figure,
    place_legend,
    plain,
    plane_of,
)
from ranking.plots.paths import path_title, require_few, set_title, values_along, window_and_samples
from ranking.plots.ranksvm import MARKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Levels have the colours of a map whose lightness ascends with them, for every kind of colour vision.
COLOUR_MAP, COLOUR_RANGE = "viridis", (0.0, 0.9)
# How much of its colour the region of a level has; the rest is white, so that objects stand out.
TINT = 0.32
# The size of a mark and of the ring around one whose level is not predicted, in square points.
MARK, RING = 34.0, 120.0
# The words of the legend.
THRESHOLD, MARGIN, WRONG = "threshold, f = p", "margin, f = p ± 1", "predicted wrongly"


@dataclass(frozen=True, eq=False)
class _Cut:
    """What a picture of levels shows: the levels, those of the objects, and the model at one C."""

    model: OrdinalSVM
    levels: Levels
    codes: Integers

    @property
    def thresholds(self) -> Array:
        """The thresholds, ascending."""
        return np.sort(self.model.thresholds_)

    def level_above(self, scores: Array) -> Integers:
        """Return the level predicted just above scores."""
        return self.levels.codes(self.model.classes_)[np.searchsorted(self.thresholds, scores, side="right")]


def plot_levels(
    model: Any, X: Any, y: Any, ax: "Axes | None" = None, C: float | None = None, grid: int = 300
) -> "Axes":
    """Draw where an ordinal model of two features predicts which level, with objects marked by theirs.

    Lines are the thresholds f = p_k, dashed ones the margins f = p_k ± 1; objects whose level is not
    predicted are ringed. `C` is for models that know a whole path, by default the one in use; `grid` is the
    number of points a side at which the model is asked.
    """
    fitted = _at(model, C)
    plane = plane_of(fitted, X)
    levels, codes = _coded(fitted, y)
    plane.require_one_each(codes)
    cut, mesh = _Cut(fitted, levels, codes), mesh_around(fitted, plane, grid)
    scores = mesh.shaped(fitted.predict_projection(mesh.rows))
    is_right = levels.codes(fitted.predict(X)) == codes
    axes = new_figure(6.6, 5.4).add_subplot() if ax is None else ax
    _draw_regions(axes, cut, mesh, scores)
    _draw_objects(axes, cut, plane.points, is_right)
    axes.set(xlabel=plane.names[0], ylabel=plane.names[1])
    place_legend(axes, ax is None, columns=4)
    set_title(axes, _title(fitted, is_right))
    return axes


def plot_level_path(path_model: Any, X: Any, y: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the thresholds p(C) over a whole path, and the scores of objects in colours of their levels."""
    model = fitted_path(path_model, (OrdinalSVMPath,))
    levels, codes = _coded(model, y)
    require_few(len(codes))
    window, C = window_and_samples(model)
    values = values_along((block.together() for block in model.level_lines(X)), C)
    n = values.shape[1] - len(model.classes_) + 1
    if len(codes) != n:
        raise DataError(f"y must hold one label for each of {n} rows of X, got {len(codes)}")
    axes = new_figure(8.0, 5.0).add_subplot() if ax is None else ax
    draw_C_axis(axes, window)
    _draw_scores(axes, C, values[:, :n], levels, codes)
    axes.plot(C, values[:, n], color="black", linewidth=2.0, label="thresholds p")
    axes.plot(C, values[:, n + 1 :], color="black", linewidth=2.0)
    draw_bends(axes, model.breakpoints_, window)
    axes.set_ylabel("score f(x), threshold p")
    set_title(axes, path_title(model))
    place_legend(axes, ax is None, beside=True)
    return axes


def _at(model: Any, C: float | None) -> OrdinalSVM:
    """Return an ordinal model at one C."""
    if isinstance(model, OrdinalSVM):
        check_is_fitted(model)
        if C is not None:
            raise DataError("C is for models with a whole path, but OrdinalSVM has one C; leave it out")
        return model
    path: OrdinalSVMPath = fitted_path(model, (OrdinalSVMPath, OrdinalSVM))
    return path.at(path.C_ if C is None else C)


def _coded(model: Any, y: Any) -> tuple[Levels, Integers]:
    """Return the levels a model or the labels know, and the numbers of the labels."""
    levels = model.training_.declared.extended(y)
    return levels, levels.codes(y)


def _draw_regions(axes: "Axes", cut: _Cut, mesh: Mesh, scores: Array) -> None:
    """Draw what is predicted where, and the curves between."""
    low, high = float(scores.min()), float(scores.max())
    visible = np.unique(cut.thresholds[(cut.thresholds > low) & (cut.thresholds < high)])
    tints = _tinted(_colours(len(cut.levels))[cut.level_above(np.append(low, visible))])
    edges = np.concatenate([[low - 1], visible, [high + 1]])
    axes.contourf(mesh.across, mesh.up, scores, levels=edges, colors=tints, zorder=0)
    margins = np.unique(np.concatenate([cut.thresholds - 1, cut.thresholds + 1]))
    dashed = margins[(margins > low) & (margins < high)]
    styles: tuple[tuple[Array, str, dict[str, Any]], ...] = (
        (visible, THRESHOLD, {"colors": "black", "linewidths": 1.3, "linestyles": "solid"}),
        (dashed, MARGIN, {"colors": "0.35", "linewidths": 0.7, "linestyles": "dashed"}),
    )
    for heights, name, style in styles:
        if len(heights):
            axes.contour(mesh.across, mesh.up, scores, levels=heights, zorder=1, **style)
            line = {key.removesuffix("s"): value for key, value in style.items()}
            axes.plot([], [], label=name, **line)


def _draw_objects(axes: "Axes", cut: _Cut, points: Array, is_right: Array) -> None:
    """Mark objects by their levels, the highest first in the legend, and ring those predicted wrongly."""
    edge: dict[str, Any] = {"edgecolors": "0.15", "linewidths": 0.5, "s": MARK, "zorder": 3}
    colours = _colours(len(cut.levels))
    for code in np.unique(cut.codes)[::-1].tolist():
        name = plain(str(cut.levels.names[code]))
        mine, mark = points[cut.codes == code], MARKS[code % len(MARKS)]
        axes.scatter(*mine.T, color=colours[[code]], marker=mark, label=name, **edge)
    if not is_right.all():
        ring: dict[str, Any] = {"facecolors": "none", "edgecolors": "#D55E00", "linewidths": 1.4, "s": RING}
        axes.scatter(*points[~is_right].T, marker="o", label=WRONG, zorder=4, **ring)


def _draw_scores(axes: "Axes", C: Array, scores: Array, levels: Levels, codes: Integers) -> None:
    """Draw a thin curve an object, named by levels, the highest first."""
    colours = _colours(len(levels))
    for code in np.unique(codes)[::-1].tolist():
        mine = scores[:, codes == code]
        names = [plain(str(levels.names[code])), *[""] * (mine.shape[1] - 1)]
        axes.plot(C, mine, color=colours[code], linewidth=0.8, alpha=0.75, label=names)


def _colours(count: int) -> Array:
    """Return one colour a level, red, green, blue."""
    from matplotlib import colormaps

    return np.asarray(colormaps[COLOUR_MAP](np.linspace(*COLOUR_RANGE, count)))[:, :3]


def _tinted(colours: Array) -> list[list[float]]:
    return (TINT * colours + 1 - TINT).tolist()


def _title(model: OrdinalSVM, is_right: Array) -> str:
    margin = f"C = {model.C:.4g}" if np.isfinite(model.C) else "hard margin"
    kernel = "" if model.kernel == "linear" else f", kernel {model.kernel}"
    return f"{margin}{kernel}: {int(is_right.sum())} of {len(is_right)} predicted right"
