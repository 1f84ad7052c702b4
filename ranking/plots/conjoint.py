"""Plots of conjoint results: part-worths, importances, shares, price curves, and conclusions over C.

Each takes a table that `ranking.conjoint` returns and `ax=None`, returns matplotlib axes, shows and prints
nothing; `axes.figure.savefig(file)` writes one.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from pqp.plotting import GREY, axes_for, place_legend, plain
from ranking.core.validation import Array
from ranking.errors import DataError, must_be
from ranking.plots.axes import COLOURS, GRID, Window, draw_C_axis, style_of, window_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The height of a figure with rows in inches: of a row, and of the rest.
ROW_HEIGHT = 0.3
REST_HEIGHT = 1.1
# The height of a bar, as a share of its row.
BAR = 0.62
WHISKER: dict[str, Any] = {"fmt": "none", "ecolor": "0.15", "elinewidth": 1.2, "capsize": 3, "zorder": 3}


class Steps(Protocol):
    """Curves that are constant between edges: row k of `shares` between `edges[k]` and `edges[k + 1]`."""

    @property
    def edges(self) -> Array: ...
    @property
    def shares(self) -> Array: ...
    @property
    def names(self) -> Sequence[str]: ...


class Verdicts(Protocol):
    """What is concluded at every C, and the interval of C on which the same is concluded."""

    @property
    def is_exact(self) -> bool: ...
    def at(self, C: float) -> str | Sequence[str]: ...
    def interval(self, C: float) -> tuple[float, float]: ...


def plot_importances(summary: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the importances of `importance_summary` with their intervals, the largest on top."""
    table = _table(summary, "summary", "importance_summary", "estimate")
    axes = _draw_bars(ax, table.sort_values("estimate", kind="stable"), "{:.0f} %")
    axes.set_xlabel("importance: range in per cent of all ranges, mean over respondents")
    return axes


def plot_shares(shares: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the shares of `simulate` with their intervals, products from the top as in the scenario."""
    table = _table(shares, "shares", "simulate", "share")
    axes = _draw_bars(ax, 100 * table.iloc[::-1], "{:.1f} %")
    axes.set_xlabel("share in per cent")
    return axes


def plot_part_worths(summary: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the part-worths of `part_worth_summary` with their intervals, level by level."""
    table = _table(summary, "summary", "part_worth_summary", "estimate")
    if table.index.nlevels != 2:
        wanted = "a table of attributes and levels, as part_worth_summary returns"
        raise must_be("summary", wanted, found=f"{table.index.nlevels} index columns")
    places, ticks = _level_places(table.index.tolist())
    axes = _row_axes(ax, -min(places) + 1)
    axes.axvline(0, color=GREY, linewidth=0.8, zorder=1)
    for number, name in enumerate(table.index.unique(0)):
        rows = np.flatnonzero(table.index.get_level_values(0) == name)
        mine, where = table.iloc[rows], np.array(places)[rows]
        colour = style_of(number)["color"]
        _draw_whiskers(axes, mine, where, colour)
        axes.plot(mine["estimate"], where, "o", color=colour, markersize=6, zorder=4)
    axes.set_yticks(list(ticks), [plain(text) for text in ticks.values()])
    for label, place in zip(axes.get_yticklabels(), ticks, strict=True):
        label.set_fontweight("bold" if place not in places else "normal")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(min(places) - 0.7, max(ticks) + 0.7)
    axes.set_xlabel("part-worth, mean over respondents")
    return axes


def plot_price_curve(curve: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the shares of `price_curve` over the price with their band, and the revenue on a second axis."""
    table = _table(curve, "curve", "price_curve", "share").sort_index()
    if "revenue" not in table:
        message = "{argument} has no column {column}"
        raise DataError(message, argument="curve", column="revenue", remedy="pass what price_curve returns")
    axes = axes_for(ax)
    price = table.index.to_numpy(dtype=float)
    axes.plot(price, 100 * table["share"], color=COLOURS[0], linewidth=1.8, label="share", zorder=3)
    if table["lo"].notna().all():
        band: dict[str, Any] = {"color": COLOURS[0], "alpha": 0.15, "linewidth": 0}
        axes.fill_between(price, 100 * table["lo"], 100 * table["hi"], label="interval of the share", **band)
    axes.set_xlabel(plain(str(table.index.name or "price")))
    axes.set_ylabel("share in per cent")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", **GRID)
    axes.spines["top"].set_visible(False)
    # the revenue has an axis of its own, and the price where it is largest is marked
    revenue = table["revenue"].to_numpy(dtype=float)
    best, most = float(price[np.nanargmax(revenue)]), np.nanmax(revenue)
    right = axes.twinx()
    right.plot(price, revenue, color=COLOURS[1], linestyle="--", linewidth=1.6)
    right.plot(best, most, "o", color=COLOURS[1], markersize=6)
    right.set_ylabel("revenue, 100 at today's price", color=COLOURS[1])
    right.tick_params(axis="y", colors=COLOURS[1])
    right.set_ylim(0, 1.08 * most)
    right.spines["top"].set_visible(False)
    # twin axes have a legend of their own, so the name goes into that of the main axes
    style: dict[str, Any] = {"color": COLOURS[1], "linestyle": "--", "marker": "o"}
    axes.plot([], [], label=f"revenue, largest at {best:g}", **style)
    place_legend(axes, ax is None)
    return axes


def plot_stability(
    curves: Steps | pd.DataFrame,
    conclusions: Verdicts | None = None,
    C: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how shares or importances move with C, and the interval on which a conclusion at C holds.

    `curves` are the steps of `first_choice_steps`, or a table with one row per C, see
    `PartWorthLines.along`; steps are exact, the points of a table are joined by lines.
    """
    is_table = isinstance(curves, pd.DataFrame)
    if not is_table and not hasattr(curves, "shares"):
        raise must_be("curves", "ShareSteps or a table over C", found=type(curves).__name__)
    if C is not None and conclusions is None:
        message = "{argument} has no interval without conclusions"
        raise DataError(message, argument="C", found=C, remedy="pass conclusions too")
    how: dict[str, Any] = {}
    if isinstance(curves, pd.DataFrame):
        where, values = curves.index.to_numpy(dtype=float), curves.to_numpy(dtype=float)
        # shares are parts of 1, importances of 100
        values = values * (100.0 if np.nanmax(np.abs(values).sum(axis=1)) < 1.5 else 1.0)
        names, window = list(curves.columns), window_of(where[where > 0], float(where[-1]))
    else:
        edges, inner = curves.edges, curves.edges[1:-1]
        window = window_of(inner, float(edges[-1]))
        if len(inner):
            # a part of the first step, which begins at 0
            window = Window(window.lo / 3, window.hi)
        # steps are drawn from their beginnings; the last value stands twice, to end the last step
        where = np.append(edges[:-1], edges[-1] if np.isfinite(edges[-1]) else max(10 * edges[-2], 1.0))
        values = 100 * np.vstack([curves.shares, curves.shares[-1:]])
        names, how = list(curves.names), {"drawstyle": "steps-post"}
    axes = axes_for(ax)
    draw_C_axis(axes, window)
    for number, name in enumerate(names):
        style = {"linewidth": 1.8, **how, **style_of(number)}
        axes.plot(where, values[:, number], label=plain(str(name)), **style)
    axes.set_ylabel("per cent" if is_table else "share of first choice in per cent")
    axes.set_ylim(bottom=0)
    if conclusions is not None and C is not None:
        # the C on which the conclusion at C holds
        (lo, hi), verdict = conclusions.interval(C), conclusions.at(C)
        words = verdict if isinstance(verdict, str) else " > ".join(verdict)
        known = "" if conclusions.is_exact else "about "
        label = plain(f"{words}: {known}C from {lo:.3g} to {hi:.3g}")
        ends = max(lo, window.lo), min(hi, window.hi)
        axes.axvspan(*ends, color=COLOURS[4], alpha=0.2, zorder=0.5, label=label)
        axes.axvline(C, color=GREY, linewidth=1.2, linestyle="--", zorder=2, label=f"C = {C:.3g}")
    place_legend(axes, ax is None)
    return axes


def _table(table: Any, argument: str, maker: str, column: str) -> pd.DataFrame:
    """Return the estimates of a table, its column of that name, as first column, then their intervals."""
    columns = [column, "lo", "hi"]
    if not isinstance(table, pd.DataFrame) or not set(columns) <= set(table.columns):
        found = ", ".join(map(str, getattr(table, "columns", [type(table).__name__])))
        wanted = f"a table with the columns {column}, lo and hi"
        raise must_be(argument, wanted, found=found, remedy=f"pass what {maker} returns")
    others = [name for name in table.columns if name not in columns]
    return table[[*columns, *others]]


def _row_axes(ax: "Axes | None", rows: float) -> "Axes":
    axes = axes_for(ax, 7.0, ROW_HEIGHT * rows + REST_HEIGHT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", **GRID)
    axes.set_axisbelow(True)
    return axes


def _draw_bars(ax: "Axes | None", table: pd.DataFrame, form: str) -> "Axes":
    """Draw bars with whiskers, and their values where nothing covers them."""
    axes, where = _row_axes(ax, len(table)), np.arange(len(table))
    values = table.iloc[:, 0]
    axes.barh(where, values, BAR, color=COLOURS[5], zorder=2)
    _draw_whiskers(axes, table, where, "0.15")
    ends = np.maximum(table["hi"].fillna(values), values)
    for place, (value, end) in enumerate(zip(values, ends, strict=True)):
        offset: dict[str, Any] = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(form.format(value), (end, place), fontsize="small", **offset)
    axes.set_yticks(where, [plain(str(name)) for name in table.index])
    axes.set_xlim(0, 1.12 * float(ends.max()))
    return axes


def _draw_whiskers(axes: "Axes", table: pd.DataFrame, where: Array, colour: str) -> None:
    """Draw intervals, where there are any."""
    if table[["lo", "hi"]].notna().all().all():
        values = table.iloc[:, 0]
        # a percentile interval need not hold its estimate
        reach = np.maximum([values - table["lo"], table["hi"] - values], 0.0)
        axes.errorbar(values, where, xerr=reach, **{**WHISKER, "ecolor": colour})


def _level_places(labels: Sequence[tuple[Any, Any]]) -> tuple[list[float], dict[float, str]]:
    """Return the place of every level from the top down, and the words at places, attributes above levels.

    An attribute with one part-worth, a price per unit or none, needs no line of its own.
    """
    places: list[float] = []
    ticks: dict[float, str] = {}
    place = 0.0
    for name, group in groupby(labels, key=lambda label: label[0]):
        levels = [str(level) for _, level in group]
        if len(levels) == 1:
            levels = [str(name) if levels[0] == name else f"{name}, {levels[0]}"]
        else:
            ticks[place] = str(name)
            place -= 1.0
        for level in levels:
            ticks[place] = level
            places.append(place)
            place -= 1.0
        # an empty line between attributes
        place -= 1.0
    return places, ticks
