"""Plots of conjoint results: part-worths, importances, shares, price curves, and conclusions over C.

Each takes a table that `ranking.conjoint` hands out and `ax=None`, returns matplotlib axes, shows and prints
nothing; `axes.figure.savefig(file)` writes one.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import NONE, PER_UNIT
from ranking.conjoint.results.stability import Conclusions, ShareSteps
from ranking.core.validation import Array
from ranking.errors import DataError
from ranking.plots.axes import (
    COLOURS,
    GREY,
    Window,
    draw_C_axis,
    new_figure,
    place_legend,
    plain,
    style_of,
    window_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The height of a figure with rows in inches: of a row, and of the rest.
ROW_HEIGHT, REST_HEIGHT = 0.3, 1.1
# The height of a bar, as a share of its row.
BAR = 0.62
WHISKER: dict[str, Any] = {"fmt": "none", "ecolor": "0.15", "elinewidth": 1.2, "capsize": 3, "zorder": 3}


def plot_importances(summary: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the importances of `importance_summary` with their intervals, the largest on top."""
    table = _table(summary, "importance_summary", "estimate").sort_values("estimate", kind="stable")
    axes = _row_axes(ax, len(table))
    _draw_bars(axes, table["estimate"], table, [str(name) for name in table.index], "{:.0f} %")
    axes.set_xlabel("importance: range in per cent of all ranges, mean over respondents")
    return axes


def plot_shares(shares: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the shares of `simulate` with their intervals, products from the top as in the scenario."""
    table = 100 * _table(shares, "simulate", "share").iloc[::-1]
    axes = _row_axes(ax, len(table))
    _draw_bars(axes, table["share"], table, [str(name) for name in table.index], "{:.1f} %")
    axes.set_xlabel("share in per cent")
    return axes


def plot_part_worths(summary: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the part-worths of `part_worth_summary` with their intervals, level by level."""
    table = _table(summary, "part_worth_summary", "estimate")
    if table.index.nlevels != 2:
        raise DataError("summary must have attributes and levels as its index, see part_worth_summary")
    places, ticks = _level_places(table.index.tolist())
    axes = _row_axes(ax, -min(places) + 1)
    axes.axvline(0, color=GREY, linewidth=0.8, zorder=1)
    for number, name in enumerate(table.index.unique(0)):
        rows = np.flatnonzero(table.index.get_level_values(0) == name)
        mine, where = table.iloc[rows], np.array(places)[rows]
        colour = style_of(number)["color"]
        _draw_whiskers(axes, mine["estimate"], mine, where, colour)
        axes.plot(mine["estimate"], where, "o", color=colour, markersize=6, zorder=4)
    axes.set_yticks(list(ticks), [plain(text) for text in ticks.values()])
    for label, place in zip(axes.get_yticklabels(), ticks, strict=True):
        label.set_fontweight("bold" if place not in places else "normal")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(min(places) - 0.7, max(ticks) + 0.7)
    axes.set_xlabel("part-worth, mean over respondents")
    return axes


def plot_price_curve(curve: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the shares of `price_curve` over the price with their band, and the revenue at the right."""
    table = _table(curve, "price_curve", "share").sort_index()
    if "revenue" not in table:
        raise DataError("curve has no column 'revenue'; pass what price_curve returns")
    axes = new_figure().add_subplot() if ax is None else ax
    price = table.index.to_numpy(dtype=float)
    axes.plot(price, 100 * table["share"], color=COLOURS[0], linewidth=1.8, label="share", zorder=3)
    if table["lo"].notna().all():
        band: dict[str, Any] = {"color": COLOURS[0], "alpha": 0.15, "linewidth": 0}
        axes.fill_between(price, 100 * table["lo"], 100 * table["hi"], label="interval of the share", **band)
    axes.set_xlabel(plain(str(table.index.name or "price")))
    axes.set_ylabel("share in per cent")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.spines["top"].set_visible(False)
    _draw_revenue(axes, price, table["revenue"].to_numpy(dtype=float))
    place_legend(axes, ax is None)
    return axes


def plot_stability(
    curves: ShareSteps | pd.DataFrame,
    conclusions: Conclusions | None = None,
    C: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how shares or importances move with C, and the interval on which a conclusion at C holds.

    `curves` are the steps of `first_choice_steps`, or a table with one row per C, see
    `PartWorthLines.along`; steps are exact, the points of a table are joined by lines.
    """
    if not isinstance(curves, ShareSteps | pd.DataFrame):
        raise DataError(f"curves must be ShareSteps or a table over C, got {type(curves).__name__}")
    if C is not None and conclusions is None:
        raise DataError("C has no interval without conclusions; pass conclusions=steps.winners()")
    is_steps = isinstance(curves, ShareSteps)
    where, values, names = _step_curves(curves) if is_steps else _table_curves(curves)
    window = _window(curves, where)
    axes = new_figure().add_subplot() if ax is None else ax
    draw_C_axis(axes, window)
    how: dict[str, Any] = {"drawstyle": "steps-post"} if is_steps else {}
    for number, name in enumerate(names):
        axes.plot(where, values[:, number], label=plain(name), linewidth=1.8, **how, **style_of(number))
    axes.set_ylabel("share of first choice in per cent" if is_steps else "per cent")
    axes.set_ylim(bottom=0)
    if conclusions is not None and C is not None:
        _draw_interval(axes, conclusions, C, window)
    place_legend(axes, ax is None)
    return axes


def _table(table: Any, maker: str, column: str) -> pd.DataFrame:
    """Return a table with an estimate and the ends of its interval."""
    if not isinstance(table, pd.DataFrame) or not {column, "lo", "hi"} <= set(table.columns):
        raise DataError(f"the table must have the columns {column}, lo and hi; pass what {maker} returns")
    return table


def _row_axes(ax: "Axes | None", rows: float) -> "Axes":
    axes = new_figure(7.0, ROW_HEIGHT * rows + REST_HEIGHT).add_subplot() if ax is None else ax
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="x", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    return axes


def _draw_bars(
    axes: "Axes", values: "pd.Series[Any]", table: pd.DataFrame, names: list[str], form: str
) -> None:
    """Draw bars with whiskers, and their values where nothing covers them."""
    where = np.arange(len(values))
    axes.barh(where, values, BAR, color=COLOURS[5], zorder=2)
    _draw_whiskers(axes, values, table, where, "0.15")
    ends = table["hi"].where(table["hi"].notna(), values)
    for place, (value, end) in enumerate(zip(values, ends, strict=True)):
        offset: dict[str, Any] = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(form.format(value), (max(value, end), place), fontsize="small", **offset)
    axes.set_yticks(where, [plain(name) for name in names])
    axes.set_xlim(0, 1.12 * max(float(ends.max()), float(values.max())))


def _draw_whiskers(
    axes: "Axes", values: "pd.Series[Any]", table: pd.DataFrame, where: Array, colour: str
) -> None:
    """Draw intervals, where there are any."""
    if table[["lo", "hi"]].notna().all().all():
        # a percentile interval may end a hair beyond its estimate
        reach = np.maximum([values - table["lo"], table["hi"] - values], 0.0)
        axes.errorbar(values, where, xerr=reach, **{**WHISKER, "ecolor": colour})


def _level_places(labels: list[tuple[Any, Any]]) -> tuple[list[float], dict[float, str]]:
    """Return the place of every level from the top down, and the words at places, attributes above levels."""
    places: list[float] = []
    ticks: dict[float, str] = {}
    place, before = 1.0, None
    for name, level in labels:
        if name != before:
            place -= 1.0
            has_levels = level not in (PER_UNIT, NONE)
            if has_levels:
                ticks[place] = str(name)
                place -= 1.0
        text = level if level not in (PER_UNIT, NONE) else f"{name}, {level}" if level == PER_UNIT else name
        ticks[place] = str(text)
        places.append(place)
        place, before = place - 1.0, name
    return places, ticks


def _draw_revenue(axes: "Axes", price: Array, revenue: Array) -> None:
    """Draw the revenue with an axis of its own, and mark the price where it is largest."""
    right = axes.twinx()
    right.plot(price, revenue, color=COLOURS[1], linestyle="--", linewidth=1.6)
    right.set_ylabel("revenue, 100 at the price as it is", color=COLOURS[1])
    right.tick_params(axis="y", colors=COLOURS[1])
    right.set_ylim(0, 1.08 * np.nanmax(revenue))
    right.spines["top"].set_visible(False)
    best = float(price[np.nanargmax(revenue)])
    right.plot(best, np.nanmax(revenue), "o", color=COLOURS[1], markersize=6)
    # its name goes into the legend of the main axes
    style: dict[str, Any] = {"color": COLOURS[1], "linestyle": "--", "marker": "o"}
    axes.plot([], [], label=f"revenue, largest at {best:g}", **style)


def _step_curves(steps: Any) -> tuple[Array, Array, list[str]]:
    """Return the beginnings of steps, their values in per cent, and names; the last value stands twice."""
    shares = np.vstack([steps.shares, steps.shares[-1:]])
    last = steps.edges[-1] if np.isfinite(steps.edges[-1]) else max(10 * steps.edges[-2], 1.0)
    return np.append(steps.edges[:-1], last), 100 * shares, list(steps.names)


def _table_curves(table: Any) -> tuple[Array, Array, list[str]]:
    values = table.to_numpy(dtype=float)
    # shares are parts of 1, importances of 100
    factor = 100.0 if np.nanmax(np.abs(values).sum(axis=1)) < 1.5 else 1.0
    return table.index.to_numpy(dtype=float), factor * values, [str(name) for name in table.columns]


def _window(curves: Any, where: Array) -> Window:
    edges = curves.edges if isinstance(curves, ShareSteps) else where
    inner = edges[1:-1] if isinstance(curves, ShareSteps) else where[where > 0]
    found = window_of(inner, float(edges[-1]))
    # a little of the first step, which begins at 0
    return Window(found.lo / 3, found.hi) if isinstance(curves, ShareSteps) and len(inner) else found


def _draw_interval(axes: "Axes", conclusions: Conclusions, C: float, window: Window) -> None:
    """Shade the C on which the conclusion at C holds, and name it."""
    lo, hi = conclusions.interval(C)
    verdict = conclusions.at(C)
    words = verdict if isinstance(verdict, str) else " > ".join(verdict)
    known = "" if conclusions.is_exact else "about "
    label = plain(f"{words}: {known}C from {lo:.3g} to {hi:.3g}")
    axes.axvspan(max(lo, window.lo), min(hi, window.hi), color=COLOURS[4], alpha=0.2, zorder=0.5, label=label)
    axes.axvline(C, color=GREY, linewidth=1.2, linestyle="--", zorder=2, label=f"C = {C:.3g}")
