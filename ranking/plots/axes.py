"""Axes of all plots: C on a logarithmic scale with its breakpoints, and the plane of two features.

What these have in common with the plots of `pqp`, figures, names and legends, is in `pqp.plotting`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import sparray, spmatrix
from sklearn.utils.validation import check_is_fitted

from pqp.plotting import GREY, plain
from ranking.core.preferences import take_qid
from ranking.core.validation import Array
from ranking.errors import DataError, must_be
from ranking.selection.path_model import ScorePathModel
from ranking.selection.search import PathSearch

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# What plots over C take: a path of models, or a search that chose one.
PathLike: TypeAlias = ScorePathModel | PathSearch
# Rows of features: an array, a table with names of columns, or a sparse matrix.
Rows: TypeAlias = ArrayLike | pd.DataFrame | sparray | spmatrix


class ScoreModel(Protocol):
    """A fitted model that scores rows of features."""

    def decision_function(self, X: Any) -> Array: ...


class LevelModel(Protocol):
    """A fitted model that predicts levels by the projection of rows of features."""

    def predict_projection(self, X: Any) -> Array: ...


# Okabe and Ito (2008): distinct for every kind of colour vision; their yellow is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Once the colours are used up they come again in another style.
STYLES = ("-", "--", ":")
GRID: dict[str, Any] = {"color": "0.92", "linewidth": 0.8}
# How far an endless path is drawn beyond its last breakpoint, as a share of the axis before it.
ENDLESS_MARGIN = 0.15
# The width of an axis without breakpoints, as a ratio of its ends.
EMPTY_WIDTH = 1000.0
# If the ends of an axis have a smaller ratio, only 1, 2 and 5 of every decade are named: more would touch.
NARROW = 100.0
# Marks closer together than this share of the axis are drawn as one.
MARK_GAP = 4e-3
# How high the marks are, in points, and where their middle is, as a share of the axes.
MARK_SIZE = 7.0
MARK_PLACE = 0.016
# Room around the objects in a plane, as a share of what they cover.
MARGIN = 0.06
# What plots ask of a path, and what has it.
PATHS = {
    "score_lines": "a path of scores, such as RankSVMPath or OrdinalSVMPath",
    "pair_counts": "a path of preference pairs, such as RankSVMPath",
    "level_lines": "a path of levels, such as OrdinalSVMPath",
}


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
        """Return the part of ascending C that is drawn."""
        first, last = np.searchsorted(C, (self.lo, np.nextafter(self.hi, np.inf)))
        return C[first:last]


def knows_every_C(model: Any) -> bool:
    """Return whether a model was fitted at every C, or is a search that chose such a one."""
    return isinstance(model, PathSearch) or hasattr(type(model), "score_lines")


def fitted_path(model: Any, method: str, argument: str = "path_model") -> Any:
    """Return the fitted path that a plot asks for a method of `PATHS`, or that a search chose by folds."""
    path = model
    if isinstance(model, PathSearch):
        check_is_fitted(model)
        path = model.best_estimator_
    if not hasattr(type(path), method):
        raise must_be(argument, f"{PATHS[method]}, or a search for one", found=type(model).__name__)
    check_is_fitted(path)
    return path


def require_no_C(model: Any, C: float | None) -> None:
    """Raise if a C is asked for of a model that was fitted at one C."""
    if C is not None:
        message = "{argument} is for models with a whole path, but {found} has one C"
        raise DataError(message, argument="C", found=type(model).__name__, remedy="leave it out")


def window_of(bends: Array, end: float, begin: float = 0.0) -> Window:
    """Return the C to draw of a path: from its first breakpoint to its end, or beyond the last breakpoint.

    >>> window_of(np.array([0.5, 2.0]), 10)
    Window(lo=0.5, hi=10.0)
    """
    if not len(bends):
        last = end if np.isfinite(end) else begin + 1.0
        return Window(max(begin, last / EMPTY_WIDTH), float(last))
    first, last = float(bends[0]), float(bends[-1])
    return Window(first, float(end) if np.isfinite(end) else last * max(last / first, 10.0) ** ENDLESS_MARGIN)


def draw_C_axis(axes: "Axes", window: Window) -> None:
    """Make the horizontal axis logarithmic in C, with λ = 1/C along the top."""
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log")
    axes.set_xlim(window.lo, window.hi)
    axes.set_xlabel("C, cost of a violated margin (logarithmic)")
    top = axes.secondary_xaxis("top", functions=(_reciprocal, _reciprocal))
    top.set_xlabel("λ = 1/C")
    if window.hi < NARROW * window.lo:
        for side in (axes.xaxis, top.xaxis):
            side.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axes.spines["right"].set_visible(False)
    axes.grid(axis="y", **GRID)
    axes.set_axisbelow(True)


def draw_breakpoints(axes: "Axes", bends: Array, window: Window) -> None:
    """Mark breakpoints by ticks above the axis; where thousands of them would touch they are drawn as one."""
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


def set_title(axes: "Axes", text: str) -> None:
    """Write a title in the style of all plots."""
    axes.set_title(text, fontsize="medium", loc="left")


def names_of(names: Sequence[str] | None, count: int, argument: str, default: str) -> list[str]:
    """Return one name for each of some curves, numbered from 1 if there are none."""
    if names is None:
        return [f"{default} {k + 1}" for k in range(count)]
    listed = [str(name) for name in names]
    if len(listed) != count:
        raise must_be(argument, f"one name for each of {count} curves", found=len(listed))
    return listed


def _reciprocal(values: Any) -> Array:
    with np.errstate(divide="ignore"):
        return 1 / np.asarray(values, dtype=float)


@dataclass(frozen=True, eq=False)
class Plane:
    """Objects in the plane of two features, and a grid around them as rows for a model."""

    points: Array
    names: tuple[str, str]
    grid: list[Array]
    rows: Any

    def on_grid(self, values: Array) -> list[Array]:
        """Return both coordinates of the grid and one value per row, each in the shape of the grid."""
        return [*self.grid, values.reshape(self.grid[0].shape)]


def plane_of(model: Any, X: Rows, grid: int) -> Plane:
    """Return rows of a model's two features as points, with a grid of `grid` points per side around them."""
    table, _ = take_qid(X)
    points = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=float)
    n_features = getattr(model, "n_features_in_", 2)
    if points.ndim != 2 or points.shape[1] != 2 or n_features != 2:
        found = f"shape {points.shape} and a model of {n_features} features"
        raise must_be("X", "two columns, those the model was fitted to", found=found)
    is_finite = np.isfinite(points).all(axis=1)
    if not is_finite.all():
        row = int(is_finite.argmin())
        raise DataError(argument=f"X[{row}]", found=points[row].tolist(), expected="finite", row=row)
    if grid < 2:
        raise must_be("grid", "at least 2", found=grid)
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.where(high > low, MARGIN * (high - low), 1.0)
    sides = [np.linspace(a, b, grid) for a, b in zip(low - room, high + room, strict=True)]
    coordinates = np.meshgrid(*sides)
    rows: Any = np.column_stack([side.ravel() for side in coordinates])
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        rows = pd.DataFrame(rows, columns=names)
    first, second = ("feature 1", "feature 2") if names is None else names
    return Plane(points, (plain(str(first)), plain(str(second))), list(coordinates), rows)


def require_labels(y: Any, rows: int) -> None:
    """Raise unless there is one label for each row of X."""
    if len(y) != rows:
        raise must_be("y", f"one label for each of {rows} rows of X", found=len(y))
