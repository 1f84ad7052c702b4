"""Curves over C: weights and scores of a path, its sets of pairs, and the metric that C is chosen by."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pqp.plotting import GREY, PALE, axes_for, moving_most, place_legend, plain
from ranking.core.validation import Array, counted
from ranking.errors import DataError, must_be
from ranking.plots.axes import (
    COLOURS,
    ENDLESS_MARGIN,
    PathLike,
    Rows,
    Window,
    draw_breakpoints,
    draw_C_axis,
    fitted_path,
    names_of,
    set_title,
    style_of,
    window_of,
)
from ranking.selection.choice_along_path import SelectionCurve
from ranking.selection.path_model import PathModel, ScorePathModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Beyond this many curves only those that move most are named.
MOST_NAMED = 12
# More curves than this cannot be read.
MOST_CURVES = 1000
# Points at which curves are evaluated: evenly on the axis, and at so many of the breakpoints.
EVEN_POINTS = 600
MOST_CORNERS = 2000
# If there are more steps, only the extreme ones of every column of a picture are drawn.
MOST_STEPS = 5000
PICTURE_COLUMNS = 1500
# The sets of pairs as a legend names them, by their column in `pair_counts`.
SETS = {
    "violated": r"$I_1$: margin violated",
    "margin": r"$I_\alpha$: just at the margin",
    "satisfied": r"$I_0$: margin exceeded",
}


def plot_coefficients(
    path_model: PathLike, names: Sequence[str] | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw the weights w(C) of a linear model over its whole path; returns the matplotlib axes.

    `names` are those of the features, by default the column names seen in `fit`. With many features those
    whose weights move most are named and the others drawn in grey.
    """
    model = fitted_path(path_model, "score_lines")
    if model.kernel != "linear":
        message = "{argument} has no weights of features, its kernel is {found}"
        raise DataError(message, argument="path_model", found=repr(model.kernel), remedy="use plot_scores")
    known = getattr(model, "feature_names_in_", None)
    listed = names_of(known if names is None else names, model.n_features_in_, "names", "feature")
    # the scores of unit vectors are the weights
    units: Any = np.eye(model.n_features_in_)
    if known is not None:
        units = pd.DataFrame(units, columns=known)
    return _draw_path(model, units, listed, "weight w(C)", ax)


def plot_scores(
    path_model: PathLike, X: Rows, labels: Sequence[str] | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw the scores f(x) of the rows of X over the whole path; `labels` are the names of the rows."""
    model = fitted_path(path_model, "score_lines")
    rows: Any = X  # the types of numpy do not know the shapes of tables
    count = np.shape(rows)[0]
    require_few(count)
    return _draw_path(model, X, names_of(labels, count, "labels", "row"), "score f(x)", ax)


def require_few(count: int) -> None:
    """Raise if there are too many rows to draw one curve for each."""
    if count > MOST_CURVES:
        message = "{argument} has {found} rows, too many for a picture"
        raise DataError(message, argument="X", found=count, remedy=f"pass at most {MOST_CURVES} of them")


def plot_pair_counts(path_model: PathLike, ax: "Axes | None" = None) -> "Axes":
    """Draw how many pairs violate their margin (I_1), are at it (I_α) or beyond it (I_0), over C."""
    model = fitted_path(path_model, "pair_counts")
    window, _ = window_and_samples(model)
    counts = model.pair_counts()
    counts = counts[counts["C_hi"] > window.lo]
    starts = np.append(np.maximum(counts["C_lo"], window.lo), window.hi)
    axes = axes_for(ax)
    draw_C_axis(axes, window)
    for number, (column, name) in enumerate(SETS.items()):
        sizes = np.append(counts[column], counts[column].iloc[-1])
        axes.plot(starts, sizes, drawstyle="steps-post", label=name, linewidth=1.6, **style_of(number))
    # a logarithm, as I_α is small relative to the others; linear up to 1, as each of them may be empty
    axes.set_yscale("symlog", linthresh=1, linscale=0.4)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylim(-0.15, 1.6 * len(model.preferences_))
    axes.set_ylabel("number of pairs (logarithmic from 1)")
    set_title(axes, f"{counted(len(model.preferences_), 'pair')} along the path")
    place_legend(axes, ax is None)
    return axes


def plot_selection(curve: SelectionCurve, ax: "Axes | None" = None, metric: str = "metric") -> "Axes":
    """Draw a metric over every C, its standard errors, where it is best, and the two choices of C."""
    if not isinstance(curve, SelectionCurve):
        wanted = "a SelectionCurve, as the method `select` of a path returns"
        raise must_be("curve", wanted, found=type(curve).__name__)
    choices = (curve.C_best, curve.C_one_standard_error)
    inner = curve.edges[1:-1]
    window = window_of(inner, float(curve.edges[-1]))
    if len(inner):
        # a little of the first step too, which begins at 0
        before = (window.hi / window.lo) ** (ENDLESS_MARGIN / 2)
        window = Window(max(float(curve.edges[0]), window.lo / before), window.hi)
    window = Window(min(window.lo, *choices), max(window.hi, *choices))
    axes = axes_for(ax)
    draw_C_axis(axes, window)
    _draw_steps(axes, curve, window)
    # the intervals of the best value, all of them as one artist; an edge keeps those visible that are
    # narrower than a dot
    ends = np.clip(curve.best_intervals, window.lo, window.hi)
    name = f"best, {curve.best:.4g}" + (f" ({len(ends)} intervals)" if len(ends) > 1 else "")
    shade: dict[str, Any] = {"facecolor": COLOURS[4], "edgecolor": COLOURS[4], "alpha": 0.3, "linewidth": 1}
    spans = list(zip(ends[:, 0].tolist(), np.diff(ends, axis=1).ravel().tolist(), strict=True))
    axes.broken_barh(spans, (0, 1), transform=axes.get_xaxis_transform(), zorder=0.5, label=name, **shade)
    best: dict[str, Any] = {"color": COLOURS[1], "linestyle": "-", "marker": "o"}
    simple: dict[str, Any] = {"color": COLOURS[2], "linestyle": "--", "marker": "s"}
    rules = ("best", "within one standard error")
    for name, C, style in zip(rules, choices, (best, simple), strict=True):
        axes.axvline(C, color=style["color"], linestyle=style["linestyle"], linewidth=1.2, zorder=3)
        label = f"{name}: C = {C:.4g}, λ = {1 / C:.4g}"
        axes.plot(C, curve.at(C), markersize=7, markeredgecolor="white", zorder=4, label=label, **style)
    better = "" if curve.greater_is_better else ", less is better"
    axes.set_ylabel(plain(metric.replace("_", " ")) + better)
    known = ", known at every C" if curve.is_exact else ", each evaluated at one C"
    set_title(axes, f"{counted(len(curve.values), 'step')} of the metric{known}")
    place_legend(axes, ax is None, columns=2)
    return axes


def values_along(blocks: Iterable[Any], C: Array) -> Array:
    """Return what lines on the pieces of a path are at many ascending C, one row each."""
    found, done = [], 0
    for lines in blocks:
        end = int(np.searchsorted(C, lines.hi[-1], side="right"))
        mine = C[done:end]
        piece = np.maximum(np.searchsorted(lines.lo, mine, side="right") - 1, 0)
        found.append(lines.constant[piece] + mine[:, None] * lines.slope[piece])
        done = end
    return np.concatenate(found)


def window_and_samples(model: PathModel) -> tuple[Window, Array]:
    """Return the interval of C to draw of a path, and the C at which its curves are evaluated."""
    bends = model.breakpoints_
    window = window_of(bends, float(model.path_.hi), float(model.path_.lo))
    corners = window.inside(bends)
    thinned = corners[:: max(1, -(-len(corners) // MOST_CORNERS))]
    # many points between two corners too: on a logarithmic axis lines in C are not straight
    evenly = np.geomspace(window.lo, window.hi, EVEN_POINTS)
    return window, np.unique(np.concatenate([evenly, thinned]))


def path_title(model: PathModel) -> str:
    """Return what kind of path it is and how many pieces it has."""
    early = ", stopped early" if model.path_.stopped else ""
    return f"{model.kind} path: {counted(len(model.path_.segments), 'piece')}{early}"


def _draw_path(model: ScorePathModel, X: Any, names: list[str], quantity: str, ax: "Axes | None") -> "Axes":
    """Draw the scores of rows with their names, and the breakpoints of the path."""
    window, C = window_and_samples(model)
    values = values_along(model.score_lines(X), C)
    axes = axes_for(ax)
    draw_C_axis(axes, window)
    axes.axhline(0, color=GREY, linewidth=0.6, zorder=1)
    named = moving_most(values, MOST_NAMED) if len(names) > MOST_NAMED else list(range(len(names)))
    others = np.setdiff1d(np.arange(len(names)), named)
    if len(others):
        axes.plot(C, values[:, others], color=PALE, linewidth=0.8, zorder=2)
    # from the top down, as the curves end
    for number, j in enumerate(sorted(named, key=lambda j: -float(values[-1, j]))):
        axes.plot(C, values[:, j], label=plain(names[j]), linewidth=1.6, zorder=3, **style_of(number))
    axes.margins(y=0.1)
    draw_breakpoints(axes, model.breakpoints_, window)
    axes.set_ylabel(quantity)
    grey = f"; {counted(len(others), 'curve')} that move least in grey" if len(others) else ""
    set_title(axes, f"{path_title(model)}{grey}")
    place_legend(axes, ax is None, right=True)
    return axes


def _draw_steps(axes: "Axes", curve: SelectionCurve, window: Window) -> None:
    """Draw the step function and the band of its standard errors, if it has any."""
    kept = np.arange(len(curve.values))
    if len(kept) > MOST_STEPS:
        # of every column of a picture the first, last, lowest and highest
        starts = np.clip(curve.edges[:-1], window.lo, window.hi)
        groups = pd.Series(curve.values).groupby((window.share(starts) * PICTURE_COLUMNS).astype(int))
        ends = [np.asarray(part.index) for part in (groups.head(1), groups.tail(1))]
        kept = np.unique(np.concatenate([groups.idxmin(), groups.idxmax(), *ends]))
    edges = np.clip(np.append(curve.edges[kept], curve.edges[-1]), window.lo, window.hi)
    values, errors = (np.append(column[kept], column[-1]) for column in (curve.values, curve.errors))
    axes.plot(
        edges, values, drawstyle="steps-post", color=COLOURS[0], linewidth=1.4, label="value", zorder=2.5
    )
    if np.isfinite(errors).any():
        band: dict[str, Any] = {"step": "post", "color": COLOURS[0], "alpha": 0.15, "linewidth": 0}
        axes.fill_between(edges, values - errors, values + errors, label="± 1 standard error", **band)
