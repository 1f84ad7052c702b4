"""The canvas: axes over C on a logarithmic scale, colours everybody can tell apart, names beside curves.

The plane: objects with two features, and a grid of points around them at which a model is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranking.core.validation import Array
from ranking.errors import DataError
from ranking.ranksvm.path import RankSVMPath
from ranking.selection.search import PathSearch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

import pandas as pd

from ranking.core.preferences import take_qid

# Okabe and Ito (2008): told apart with every kind of colour vision; their yellow is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Once the colours are used up they come again in another style.
STYLES = ("-", "--", ":")
GREY, PALE = "0.35", "0.78"
# How far a path without end is drawn beyond its last bend, as a share of the axis before it.
BEYOND = 0.15
# The width of an axis on which nothing bends, as a ratio of its ends.
EMPTY_WIDTH = 1000.0
# An axis whose ends have a smaller ratio has fewer named ticks in a decade.
NARROW = 100.0
# Marks closer together than this share of the axis are drawn as one.
MARK_GAP = 4e-3
# How high the marks are, in points, and where their middle is, as a share of the axes.
MARK_SIZE, MARK_PLACE = 7.0, 0.016


@dataclass(frozen=True)
class Window:
    """The part of the C axis that is drawn."""

    lo: float
    hi: float

    def share(self, C: Array) -> Array:
        """Return where C lies: 0 at the left end and 1 at the right one.

        >>> Window(1, 100).share(np.array([10.0]))
        array([0.5])
        """
        return np.asarray(np.log(C / self.lo) / np.log(self.hi / self.lo))

    def inside(self, C: Array) -> Array:
        """Return those of ascending C that are drawn."""
        first, last = np.searchsorted(C, (self.lo, np.nextafter(self.hi, np.inf)))
        return C[first:last]


def fitted_path(model: Any, kinds: tuple[type[Any], ...] = (RankSVMPath,)) -> Any:
    """Return the fitted path of an estimator that has one of the given kinds, or chose one by folds."""
    path = model
    if isinstance(model, PathSearch):
        check_is_fitted(model)
        path = model.best_estimator_
    if not isinstance(path, kinds):
        wanted = " or ".join(f"a {kind.__name__}" for kind in kinds).replace("a O", "an O")
        raise DataError(
            f"path_model must be {wanted}, or chosen by folds, to know every C; got {type(model).__name__}"
        )
    check_is_fitted(path)
    return path


def window_of(bends: Array, end: float, begin: float = 0.0) -> Window:
    """Return the C to draw of a path: from its first bend to its end, or beyond the last.

    >>> window_of(np.array([0.5, 2.0]), 10)
    Window(lo=0.5, hi=10.0)
    """
    if not len(bends):
        last = end if np.isfinite(end) else begin + 1.0
        return Window(max(begin, last / EMPTY_WIDTH), float(last))
    first, last = float(bends[0]), float(bends[-1])
    return Window(first, float(end) if np.isfinite(end) else last * max(last / first, 10.0) ** BEYOND)


def new_figure(width: float = 8.0, height: float = 4.5) -> "Figure":
    """Return a figure of its own, unknown to pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw_C_axis(axes: "Axes", window: Window) -> None:
    """Make the horizontal axis logarithmic in C, with λ = 1/C along the top."""
    axes.set_xscale("log")
    axes.set_xlim(window.lo, window.hi)
    axes.set_xlabel("C, cost of a violated margin (logarithmic)")
    top = axes.secondary_xaxis("top", functions=(_reciprocal, _reciprocal))
    top.set_xlabel("λ = 1/C")
    if window.hi < NARROW * window.lo:
        _draw_few_ticks(axes.xaxis, top.xaxis)
    axes.spines["right"].set_visible(False)
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)


def _draw_few_ticks(*sides: Any) -> None:
    """Name 1, 2 and 5 of every decade alone: where there are few decades all others would touch."""
    from matplotlib.ticker import LogLocator

    for side in sides:
        side.set_minor_locator(LogLocator(subs=(2.0, 5.0)))


def draw_bends(axes: "Axes", bends: Array, window: Window) -> None:
    """Mark where a path bends by ticks above the axis; thousands of them merge where they would touch."""
    seen = window.inside(bends)
    _, first = np.unique((window.share(seen) / MARK_GAP).round(), return_index=True)
    place: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "zorder": 1, "linestyle": "none"}
    mark: dict[str, Any] = {"marker": "|", "markersize": MARK_SIZE, "markeredgewidth": 0.5, "color": GREY}
    axes.plot(seen[first], np.full(len(first), MARK_PLACE), label="breakpoints", **place, **mark)


def style_of(number: int) -> dict[str, Any]:
    """Return colour and style of a curve: as many differ as there are colours times styles."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": STYLES[number // len(COLOURS) % len(STYLES)],
    }


def place_legend(axes: "Axes", is_own: bool, beside: bool = False, columns: int = 3) -> None:
    """Name what was drawn: below or beside axes of our own, where nothing is covered; else where it fits."""
    handles, labels = axes.get_legend_handles_labels()
    if not is_own:
        axes.legend(handles, labels, fontsize="small", loc="best")
    elif beside:
        place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
        axes.legend(handles, labels, fontsize="small", frameon=False, **place)
    else:
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16)}
        axes.legend(handles, labels, fontsize="small", frameon=False, ncols=columns, **below)


def names_of(names: Sequence[str] | None, count: int, argument: str, default: str) -> list[str]:
    """Return one name for each of some curves, numbered from 1 if there are none."""
    if names is None:
        return [f"{default} {k + 1}" for k in range(count)]
    listed = [str(name) for name in names]
    if len(listed) != count:
        raise DataError(f"{argument} must hold one name for each of {count} curves, got {len(listed)}")
    return listed


def plain(name: str) -> str:
    """Return a name as matplotlib shows it letter by letter: "$" starts no formula, "_" hides nothing.

    >>> plain("_price in $")
    ' _price in \\\\$'
    """
    text = name.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _reciprocal(values: Any) -> Array:
    with np.errstate(divide="ignore"):
        return 1 / np.asarray(values, dtype=float)


# Room around the objects, as a share of what they cover.
MARGIN = 0.06


@dataclass(frozen=True, eq=False)
class Plane:
    """Objects in a plane and what the two features are called."""

    points: Array
    names: tuple[str, str]

    def require_one_each(self, y: Any) -> None:
        """Raise unless there is a label for every object."""
        if len(y) != len(self.points):
            raise DataError(f"y must hold one label for each of {len(self.points)} rows of X, got {len(y)}")


@dataclass(frozen=True, eq=False)
class Mesh:
    """The two coordinates of the points of a grid, and these points as rows for a model."""

    across: Array
    up: Array
    rows: Any

    def shaped(self, values: Array) -> Array:
        """Return one value a row as one a point of the grid."""
        return values.reshape(self.across.shape)


def plane_of(model: Any, X: Any) -> Plane:
    """Return rows of a model's two features as points."""
    X, _ = take_qid(X)
    points = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2 or getattr(model, "n_features_in_", 2) != 2:
        found = f"X has shape {points.shape}, the model {getattr(model, 'n_features_in_', 2)} features"
        raise DataError(f"X must have two columns, those the model was fitted to, to be drawn: {found}")
    if not np.isfinite(points).all():
        raise DataError(f"X[{np.isfinite(points).all(axis=1).argmin()}] must be finite to be drawn")
    names = getattr(model, "feature_names_in_", ("feature 1", "feature 2"))
    return Plane(points, (plain(str(names[0])), plain(str(names[1]))))


def mesh_around(model: Any, plane: Plane, grid: int) -> Mesh:
    """Return `grid` points a side, evenly around the objects."""
    if grid < 2:
        raise DataError(f"grid must be at least 2 points a side, got {grid}")
    low, high = plane.points.min(axis=0), plane.points.max(axis=0)
    room = np.where(high > low, MARGIN * (high - low), 1.0)
    sides = [np.linspace(a, b, grid) for a, b in zip(low - room, high + room, strict=True)]
    across, up = np.meshgrid(*sides)
    rows: Any = np.column_stack([across.ravel(), up.ravel()])
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.feature_names_in_)
    return Mesh(across, up, rows)
