"""Plots: the curves x(mu) of a path, its bends, jumps and unsolvable stretches, drawn with matplotlib."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pqp.errors import ProblemError
from pqp.linalg.field import Array, is_infinite
from pqp.records.segment import Segment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pqp.path.path import Jump, Path


# Beyond this many curves a legend is longer than the picture is high.
LONGEST_LEGEND = 12
# With more curves, so many that move most are coloured and named at their right end.
MOST_NAMED = 8
# How far beyond the outermost bend an endless path is drawn, as a share of what lies between the bends.
BEYOND = 0.3
# Names at the right end are this share of the height apart, about one line of text.
NAME_GAP = 0.045
# Room to the left of the first and to the right of the last mu, as a share of the width.
SIDE = 0.02
# How stretches without a solution are shaded: by colour, and by hatching for those who print in grey.
STRETCHES: dict[str, dict[str, Any]] = {
    "infeasible": {"facecolor": "#f6dcd8", "edgecolor": "#e3b3ab", "hatch": "///"},
    "unbounded": {"facecolor": "#fbf0cf", "edgecolor": "#e6d08a", "hatch": "..."},
}
# Of matplotlib's tab20: the strong colours but for grey, which unnamed curves have, then three light ones.
PALETTE = (0, 2, 4, 6, 8, 10, 12, 16, 18, 1, 3, 5)
GREY = "0.35"


@dataclass(frozen=True)
class Window:
    """The part of the mu axis that is drawn; `endless` tells on which sides the path goes on without end."""

    lo: float
    hi: float
    endless: tuple[bool, bool]

    def clip(self, segment: Segment) -> tuple[float, float]:
        """Return the visible ends of a segment."""
        return max(self.lo, float(segment.lo)), min(self.hi, float(segment.hi))


@dataclass(frozen=True, eq=False)
class Run:
    """Neighbouring optimal segments without a jump: the mu of their corners, and x there, one row each."""

    mus: Array
    x: Array


def plot_path(path: "Path", variables: Any = None, ax: "Axes | None" = None) -> "Axes":
    """Draw x(mu) of all or of the named variables and return the axes; `ax.figure.savefig` writes a file."""
    window, asked = _window(path), _chosen(variables, path.problem.names)
    runs = [_corners(run, window) for run in _runs(path)]
    chosen = asked if runs else []
    colours = _colours(runs, chosen)
    axes = _new_axes() if ax is None else ax
    _draw_stretches(axes, path, window)
    _draw_breakpoints(axes, path)
    _draw_curves(axes, runs, chosen, colours)
    _draw_jumps(axes, path.jumps, chosen, colours)
    _finish(axes, path, window)
    names = {j: _plain(path.problem.names[j]) for j in colours}
    if len(chosen) <= LONGEST_LEGEND:
        _add_legend(axes, {names[j]: colours[j] for j in chosen}, is_own=ax is None)
    else:
        _add_legend(axes, {}, is_own=ax is None)
        _name_right_ends(axes, runs[-1], names, colours)
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
            known = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
            wanted = f"{known} or indices below {len(names)}"
            raise ProblemError(f"variables must be among {wanted}, got {variable!r}")
    return list(dict.fromkeys(places[variable] for variable in asked))


def _new_axes() -> "Axes":
    """Return axes on a figure of their own, unknown to pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def _window(path: "Path") -> Window:
    """Return the mu to draw: all of a finite path, and a margin beyond the last bend of an endless one."""
    ends = {float(mu) for segment in path.segments for mu in (segment.lo, segment.hi)} or {float(path.lo)}
    finite = [mu for mu in ends if not is_infinite(mu)] or [0.0]
    first, last = min(finite), max(finite)
    margin = BEYOND * (last - first) or max(1.0, abs(first))
    endless = is_infinite(path.lo), is_infinite(path.hi)
    return Window(first - margin * endless[0], last + margin * endless[1], endless)


def _draw_stretches(axes: "Axes", path: "Path", window: Window) -> None:
    named: set[str] = set()
    for segment in path.segments:
        if style := STRETCHES.get(segment.status):
            label = "_nolegend_" if segment.status in named else segment.status
            axes.axvspan(*window.clip(segment), **style, linewidth=0, zorder=0, label=label)
            named.add(segment.status)


def _draw_breakpoints(axes: "Axes", path: "Path") -> None:
    bends = [float(mu) for mu in path.breakpoints]
    # hundreds of lines would be a grey wall: they fade as they crowd
    strength = min(1.0, 60 / max(len(bends), 1))
    style: dict[str, Any] = {"colors": "0.82", "linewidths": 0.8, "alpha": strength, "zorder": 0.5}
    axes.vlines(bends, 0, 1, transform=axes.get_xaxis_transform(), **style)


def _runs(path: "Path") -> Iterator[list[Segment]]:
    """Yield the optimal segments, those that x crosses without a jump together."""
    jumps = {jump.mu for jump in path.jumps}
    run: list[Segment] = []
    for segment in path.segments:
        if run and (segment.status != "optimal" or segment.lo in jumps):
            yield run
            run = []
        if segment.status == "optimal":
            run.append(segment)
    if run:
        yield run


def _corners(segments: Sequence[Segment], window: Window) -> Run:
    mus = [window.clip(segment) for segment in segments]
    affine = [np.asarray(segment.x, dtype=float) for segment in segments]
    x = [constant + mu * slope for ends, (constant, slope) in zip(mus, affine, strict=True) for mu in ends]
    return Run(np.array(mus).ravel(), np.array(x))


def _colours(runs: Sequence[Run], chosen: list[int]) -> dict[int, Any]:
    """Return a colour for each curve that is named; the others are drawn in grey."""
    from matplotlib import colormaps

    named = chosen
    if len(chosen) > LONGEST_LEGEND:
        x = np.concatenate([run.x for run in runs])
        movement = x.max(axis=0) - x.min(axis=0)
        moving = sorted((j for j in chosen if movement[j] > 0), key=lambda j: -float(movement[j]))
        named = sorted(moving[:MOST_NAMED])
    return {j: colormaps["tab20"](PALETTE[i]) for i, j in enumerate(named)}


def _style(colour: Any) -> dict[str, Any]:
    if colour is None:
        return {"color": "0.75", "linewidth": 0.9, "zorder": 2}
    return {"color": colour, "linewidth": 1.8, "zorder": 3}


def _draw_curves(axes: "Axes", runs: Sequence[Run], chosen: list[int], colours: dict[int, Any]) -> None:
    for run in runs:
        is_point = run.mus[0] == run.mus[-1]
        marker: dict[str, Any] = {"marker": "o", "markersize": 5} if is_point else {}
        for j in chosen:
            axes.plot(run.mus, run.x[:, j], solid_joinstyle="round", **_style(colours.get(j)), **marker)


def _draw_jumps(axes: "Axes", jumps: "Sequence[Jump]", chosen: list[int], colours: dict[int, Any]) -> None:
    """Draw a dashed line across each jump; its marked ends are both optimal, and so is what lies between."""
    for jump in jumps:
        left, right = jump.left.x.astype(float), jump.right.x.astype(float)
        for j in (j for j in chosen if left[j] != right[j]):
            style = _style(colours.get(j)) | {
                "linewidth": 1.2,
                "linestyle": "--",
                "marker": "o",
                "markersize": 4,
            }
            axes.plot([float(jump.mu)] * 2, [left[j], right[j]], **style)


def _finish(axes: "Axes", path: "Path", window: Window) -> None:
    """Set limits, labels and title, and say where the path goes on."""
    side = SIDE * (window.hi - window.lo) or 1.0
    lo, hi = (end if is_endless else end + sign * side for end, sign, is_endless in _ends(window))
    axes.set_xlim(lo, hi)
    axes.margins(y=0.08)
    axes.set(xlabel="mu", ylabel="x(mu)")
    axes.set_title(_title(path), fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    for end, sign, is_endless in _ends(window):
        if is_endless:
            text, align = ("→ ∞", "right") if sign > 0 else ("−∞ ←", "left")
            place: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "ha": align, "va": "bottom"}
            axes.text(end, 1.0, text, color=GREY, fontsize="small", **place)
    if not any(segment.status == "optimal" for segment in path.segments):
        axes.set_yticks([])
        axes.text(0.5, 0.5, "no solution", transform=axes.transAxes, ha="center", color=GREY)


def _ends(window: Window) -> tuple[tuple[float, int, bool], tuple[float, int, bool]]:
    return (window.lo, -1, window.endless[0]), (window.hi, 1, window.endless[1])


def _title(path: "Path") -> str:
    count = len(path.segments)
    pieces = f"{count} piece{'' if count == 1 else 's'}" if count else "nothing was traced"
    return f"Solution path: {pieces}{', stopped early' if path.stopped else ''}"


def _add_legend(axes: "Axes", names: dict[str, Any], is_own: bool) -> None:
    """Name curves by colour and stretches by shade: beside axes of our own, inside axes handed in."""
    from matplotlib.lines import Line2D

    shades = [patch for patch in axes.patches if patch.get_label() in STRETCHES]
    handles = [*(Line2D([], [], color=colour, linewidth=1.8) for colour in names.values()), *shades]
    labels = [*names, *(str(patch.get_label()) for patch in shades)]
    outside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
    if handles:
        place = outside if is_own and names else {"loc": "best"}
        axes.legend(handles, labels, frameon=not (is_own and names), fontsize="small", **place)


def _name_right_ends(axes: "Axes", run: Run, names: dict[int, str], colours: dict[int, Any]) -> None:
    """Write names beside the right ends of curves, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    order = sorted(colours, key=lambda j: float(run.x[-1, j]))
    shares = _apart([(run.x[-1, j] - low) / (high - low) for j in order])
    for j, share in zip(order, shares, strict=True):
        axes.annotate(
            names[j],
            xy=(run.mus[-1], run.x[-1, j]),
            xytext=(1.03, share),
            textcoords="axes fraction",
            va="center",
            fontsize="small",
            color=colours[j],
            arrowprops={"arrowstyle": "-", "color": colours[j], "linewidth": 0.6},
            annotation_clip=False,
        )


def _apart(shares: Sequence[float]) -> list[float]:
    """Return ascending heights at least a line of text apart and below the top, near the given ones.

    >>> [round(share, 3) for share in _apart([0.5, 0.5, 1.0, 1.0])]
    [0.5, 0.545, 0.955, 1.0]
    """
    places: list[float] = []
    for share in shares:
        places.append(max(share, places[-1] + NAME_GAP) if places else share)
    for i in reversed(range(len(places))):
        places[i] = min(places[i], places[i + 1] - NAME_GAP if i + 1 < len(places) else 1.0)
    return places


def _plain(name: str) -> str:
    """Return a name as matplotlib shows it letter by letter: "$" starts no formula, "_" hides nothing."""
    text = name.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
