"""The picture of a path: the curves x(mu), their breakpoints and jumps, and where there is no solution."""

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pqp.errors import counted, must_be
from pqp.linalg.field import Array, is_infinite
from pqp.path.queries import some_names
from pqp.plotting import GREY, PALE, axes_for, moving_most, place_legend, plain
from pqp.records.segment import Segment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pqp.path.path import Path

# A legend of more curves is longer than the picture is high.
LONGEST_LEGEND = 12
# With more curves, so many that move most are coloured and named.
MOST_NAMED = 8
# How far beyond the outermost breakpoint an endless path is drawn, as a share of what lies between them.
ENDLESS_MARGIN = 0.3
# Room to the left of the first and to the right of the last mu, as a share of the width.
SIDE = 0.02
# Hundreds of breakpoints would be a grey wall: with more than this they fade.
MOST_STRONG = 60
# Intervals without a solution, or without an answer, are shaded by colour, and by hatching for those who
# print in grey.
SHADES: dict[str, dict[str, Any]] = {
    "infeasible": {"facecolor": "#f6dcd8", "edgecolor": "#e3b3ab", "hatch": "///"},
    "unbounded": {"facecolor": "#fbf0cf", "edgecolor": "#e6d08a", "hatch": "..."},
    "unverified": {"facecolor": "#eeeeee", "edgecolor": "#bdbdbd", "hatch": "xxx"},
}
# Of matplotlib's tab20: the strong colours but for grey, which unnamed curves have, then three light ones.
PALETTE = (0, 2, 4, 6, 8, 10, 12, 16, 18, 1, 3, 5)


class Run(NamedTuple):
    """Neighbouring optimal segments without a jump: the mu of their corners, and x there, one row each."""

    mus: Array
    x: Array


def plot_path(path: "Path", variables: Any = None, ax: "Axes | None" = None) -> "Axes":
    """Draw x(mu) of all or of the named variables and return the axes; `ax.figure.savefig` writes a file."""
    asked = _chosen(variables, path.problem.names)
    window = _window(path)
    runs = []
    for segments in _runs(path):
        mus = np.array([_clip(segment, window) for segment in segments])
        affine = np.array([segment.x for segment in segments], dtype=float)
        x = affine[:, None, 0] + mus[:, :, None] * affine[:, None, 1]
        runs.append(Run(mus.ravel(), x.reshape(mus.size, -1)))
    chosen = asked if runs else []
    colours = _colours(runs, chosen)
    axes = axes_for(ax)
    bends = [float(mu) for mu in path.breakpoints]
    style: dict[str, Any] = {"colors": "0.82", "linewidths": 0.8, "zorder": 0.5}
    style["alpha"] = min(1.0, MOST_STRONG / max(len(bends), 1))
    axes.vlines(bends, 0, 1, transform=axes.get_xaxis_transform(), **style)
    # the named curves in the order of the legend, then the others
    ordered = [*colours, *(j for j in chosen if j not in colours)]
    for number, run in enumerate(runs):
        is_point = run.mus[0] == run.mus[-1]
        marker: dict[str, Any] = {"marker": "o", "markersize": 5} if is_point else {}
        for j in ordered:
            label = plain(path.problem.names[j]) if number == 0 and j in colours else "_nolegend_"
            axes.plot(run.mus, run.x[:, j], label=label, **_style(colours.get(j)), **marker)
    # a dashed line across each jump; its marked ends are both optimal, and so is what lies between
    dashed = {"linewidth": 1.2, "linestyle": "--", "marker": "o", "markersize": 4}
    for jump in path.jumps:
        left, right = jump.left.x.astype(float), jump.right.x.astype(float)
        for j in (j for j in chosen if left[j] != right[j]):
            axes.plot([float(jump.mu)] * 2, [left[j], right[j]], **{**_style(colours.get(j)), **dashed})
    # after the curves, so that the legend names them first
    _draw_unsolvable(axes, path, window)
    _set_limits(axes, path, window)
    place_legend(axes, ax is None, right=True)
    return axes


def _chosen(variables: Any, names: tuple[str, ...]) -> list[int]:
    """Return the indices of the variables asked for, each once."""
    if variables is None:
        return list(range(len(names)))
    is_single = isinstance(variables, str) or not isinstance(variables, Iterable)
    asked = [variables] if is_single else list(variables)
    places: dict[Any, int] = {name: j for j, name in enumerate(names)} | {j: j for j in range(len(names))}
    for variable in asked:
        if not isinstance(variable, Hashable) or variable not in places:
            wanted = f"among {some_names(names, MOST_NAMED)} or indices below {len(names)}"
            raise must_be("variables", wanted, repr(variable))
    return list(dict.fromkeys(places[variable] for variable in asked))


def _window(path: "Path") -> tuple[float, float]:
    """Return the mu to draw: all of a finite path, and a margin beyond the breakpoints of an endless one."""
    ends = {float(mu) for segment in path.segments for mu in (segment.lo, segment.hi)} or {float(path.lo)}
    finite = [mu for mu in ends if not is_infinite(mu)] or [0.0]
    first, last = min(finite), max(finite)
    margin = ENDLESS_MARGIN * (last - first) or max(1.0, abs(first))
    return first - margin * is_infinite(path.lo), last + margin * is_infinite(path.hi)


def _clip(segment: Segment, window: tuple[float, float]) -> Array:
    """Return the ends of a segment as far as they are drawn."""
    return np.clip([float(segment.lo), float(segment.hi)], *window)


def _runs(path: "Path") -> list[list[Segment]]:
    """Return the optimal segments, those that x crosses without a jump together."""
    jumps = {jump.mu for jump in path.jumps}
    runs: list[list[Segment]] = [[]]
    for segment in path.segments:
        if segment.status != "optimal" or segment.lo in jumps:
            runs.append([])
        if segment.status == "optimal":
            runs[-1].append(segment)
    return [run for run in runs if run]


def _colours(runs: Sequence[Run], chosen: list[int]) -> dict[int, Any]:
    """Return a colour for each curve that is named, in the order of the legend; the others are grey."""
    from matplotlib import colormaps

    named = chosen
    if len(chosen) > LONGEST_LEGEND:
        x = np.concatenate([run.x[:, chosen] for run in runs])
        moving = [chosen[k] for k in moving_most(x, MOST_NAMED)]
        # from the top down, as the curves end
        named = sorted(moving, key=lambda j: -float(runs[-1].x[-1, j]))
    return {j: colormaps["tab20"](PALETTE[i]) for i, j in enumerate(named)}


def _style(colour: Any) -> dict[str, Any]:
    if colour is None:
        return {"color": PALE, "linewidth": 0.9, "zorder": 2}
    return {"color": colour, "linewidth": 1.8, "zorder": 3}


def _draw_unsolvable(axes: "Axes", path: "Path", window: tuple[float, float]) -> None:
    named: set[str] = set()
    for segment in path.segments:
        if style := SHADES.get(segment.status):
            label = "_nolegend_" if segment.status in named else segment.status
            axes.axvspan(*_clip(segment, window), **style, linewidth=0, zorder=0, label=label)
            named.add(segment.status)
    if not any(segment.status == "optimal" for segment in path.segments):
        axes.set_yticks([])
        is_known = all(segment.status != "unverified" for segment in path.segments)
        text = "no solution" if is_known else "no verified solution"
        axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color=GREY)


def _set_limits(axes: "Axes", path: "Path", window: tuple[float, float]) -> None:
    """Set limits, labels and title, and mark the sides on which the path has no end."""
    lo, hi = window
    side = SIDE * (hi - lo) or 1.0
    is_endless = is_infinite(path.lo), is_infinite(path.hi)
    axes.set_xlim(lo if is_endless[0] else lo - side, hi if is_endless[1] else hi + side)
    axes.margins(y=0.08)
    axes.set(xlabel="mu", ylabel="x(mu)")
    pieces = counted(len(path.segments), "piece") if path.segments else "nothing was traced"
    early = ", stopped early" if path.stopped else ""
    axes.set_title(f"Solution path: {pieces}{early}", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    ends = zip(is_endless, window, ("−∞ ←", "→ ∞"), ("left", "right"), strict=True)
    for _, mu, text, align in (end for end in ends if end[0]):
        place: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "ha": align, "va": "bottom"}
        axes.text(mu, 1.0, text, color=GREY, fontsize="small", **place)
