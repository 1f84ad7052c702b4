"""The plotting kit of `pqp` and `ranking`: axes, names, legends, and which of many curves to name.

matplotlib is imported only to draw, and pyplot never: no global setting changes, and no window opens.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Text and lines that explain, and curves without a name.
GREY = "0.35"
PALE = "0.76"


def new_figure(width: float = 8.0, height: float = 4.5) -> "Figure":
    """Return a figure of its own, unknown to pyplot; sizes are in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def axes_for(ax: "Axes | None", width: float = 8.0, height: float = 4.5) -> "Axes":
    """Return the axes handed in, or new ones on a figure of their own."""
    return new_figure(width, height).add_subplot() if ax is None else ax


def plain(name: str) -> str:
    r"""Return a name as matplotlib shows it letter by letter: "$" starts no formula, "_" hides nothing.

    >>> plain("_price in $")
    ' _price in \\$'
    """
    text = name.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def place_legend(axes: "Axes", is_own: bool, right: bool = False, columns: int = 3) -> None:
    """Name what was drawn: outside axes of our own, where nothing is covered; else where it fits."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    place: dict[str, Any] = {"loc": "best"}
    if is_own and right:
        place = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "frameon": False}
    elif is_own:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "frameon": False, "ncols": columns}
    axes.legend(handles, labels, fontsize="small", **place)


def moving_most(values: NDArray[np.float64], most: int) -> list[int]:
    """Return which curves, one per column, move most; those that do not move are left out.

    >>> moving_most(np.array([[0.0, 1.0, 5.0], [3.0, 1.0, 0.0]]), most=2)
    [2, 0]
    """
    movement = values.max(axis=0) - values.min(axis=0)
    order = np.argsort(-movement, kind="stable")[:most]
    return [int(j) for j in order if movement[j] > 0]
