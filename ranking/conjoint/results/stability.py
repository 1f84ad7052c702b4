"""Stability over C: part-worths at every C of a solution path, and on which interval a conclusion holds.

Utilities of products are linear in C between breakpoints, so a respondent's first choice changes only where
two of them cross: shares of first choice are step functions of C, known exactly at every C. The ranges of
attributes are linear between crossings of levels, so the order of the importances of part-worths common to
all changes at crossings only, and is known exactly too. Averages of importances over respondents and logit
shares are not linear: conclusions from them are known where they were evaluated, between breakpoints and, if
there are very many, between some of them; `is_exact` is then False.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ranking.conjoint.results.bootstrap import Statistic, weighted_mean
from ranking.conjoint.results.importances import importances
from ranking.conjoint.results.market import Products, read_scenario
from ranking.conjoint.results.part_worths import (
    AttributeSpace,
    PartWorths,
    StudyOrSpace,
    Weights,
    read_part_worths,
    space_of,
    weights_of,
)
from ranking.conjoint.results.predictions import TIED, first_choices
from ranking.core.validation import Array, as_vector
from ranking.errors import DataError, must_be, must_have
from ranking.selection.piecewise import (
    PiecewiseLinear,
    all_pairs,
    distinct_edges,
    inside_of,
    read_edges,
    sampled_lines,
)

# A name, or names from the first to the last.
Verdict: TypeAlias = str | tuple[str, ...]
# C at which curves are evaluated, if there are more pieces.
MOST_POINTS = 400


@dataclass(frozen=True, eq=False)
class PartWorthLines:
    """Part-worths as functions of C, one `PiecewiseLinear` per respondent or one for all, with weights.

    Made by `part_worth_lines`, or from lines that are known: their columns are those of the space.
    """

    lines: tuple[PiecewiseLinear, ...]
    space: AttributeSpace
    names: "pd.Index[Any]"
    weights: Array

    def __post_init__(self) -> None:
        if not self.lines or not len(self.lines) == len(self.names) == len(self.weights):
            message = "there must be {argument}, a name and a weight for each of at least one respondent"
            shown = f"{len(self.lines)} lines, {len(self.names)} names, {len(self.weights)} weights"
            raise DataError(message, argument="lines", found=shown)
        wanted = len(self.space.columns)
        for lines in self.lines:
            if lines.slope.shape[1] != wanted:
                raise must_have("lines", f"the {wanted} columns of the study", found=lines.slope.shape[1])
        if self.lo >= self.hi:
            raise DataError("the {argument} of different respondents have no C in common", argument="lines")

    @property
    def lo(self) -> float:
        """The first C that all respondents have."""
        return max(float(lines.edges[0]) for lines in self.lines)

    @property
    def hi(self) -> float:
        """The last C that all respondents have."""
        return min(float(lines.edges[-1]) for lines in self.lines)

    @property
    def edges(self) -> Array:
        """All breakpoints, the ends included, where part-worths of any respondent bend."""
        return common_edges([lines.edges for lines in self.lines], self.lo, self.hi)

    def at(self, C: float) -> pd.DataFrame:
        """Return the part-worths at C, one row per respondent."""
        rows = [lines.at(C)[0] for lines in self.lines]
        return pd.DataFrame(rows, index=self.names, columns=self.space.columns)

    def points(self, most: int = MOST_POINTS) -> Array:
        """Return C to evaluate at: inside every piece, or inside some of them, evenly, if there are many."""
        inside = inside_of(self.edges)
        return inside[np.unique(np.linspace(0, len(inside) - 1, most).round().astype(int))]

    def along(self, statistic: Statistic, C: ArrayLike | None = None) -> pd.DataFrame:
        """Return the weighted mean of a statistic of the part-worths, at every one of some C.

        >>> from ranking.conjoint import example_part_worths, example_study, importances
        >>> study = example_study()
        >>> part_worths = part_worth_lines(lambda C: C * example_part_worths().T, [0, 1], study)
        >>> part_worths.along(lambda v: importances(v, study), [0.5, 1]).round(1)
             brand  roast  size  price
        C
        0.5   34.2   15.0   9.3   41.4
        1.0   34.2   15.0   9.3   41.4
        """
        where = self.points() if C is None else np.atleast_1d(as_vector(C, "C"))
        means = [weighted_mean(statistic(self.at(c)), self.weights) for c in where]
        return pd.DataFrame(means, index=pd.Index(where, name="C"))


def part_worth_lines(
    part_worths_at: Callable[[float], PartWorths],
    breakpoints: ArrayLike,
    study: StudyOrSpace,
    weights: Weights = None,
) -> PartWorthLines:
    """Return part-worths at every C from a function that is linear in C between breakpoints.

    Parameters
    ----------
    part_worths_at
        Called with C; returns one row per respondent, or one for all.
    breakpoints
        Those of all respondents, with the ends of the path, of which the last may be infinite.
    study
        The study, or its space.
    weights
        Of the rows; by default those of the study.
    """
    space = space_of(study)
    edges = read_edges(breakpoints)
    first = read_part_worths(part_worths_at(float(inside_of(edges)[0])), space)
    n, m = first.shape

    def flat(C: float) -> Array:
        return read_part_worths(part_worths_at(C), space).to_numpy().ravel()

    whole = sampled_lines(flat, edges)
    constant, slope = (array.reshape(-1, n, m) for array in (whole.constant, whole.slope))
    lines = tuple(PiecewiseLinear(whole.lo, whole.hi, constant[:, r], slope[:, r]) for r in range(n))
    return PartWorthLines(lines, space, first.index, weights_of(weights, first, study))


def common_edges(edges: Sequence[Array], lo: float, hi: float) -> Array:
    """Return all edges from lo to hi, ascending.

    >>> common_edges([np.array([0.0, 1.0, 3.0]), np.array([0.5, 2.0])], 0.5, 2)
    array([0.5, 1. , 2. ])
    """
    together = np.concatenate([*edges, [lo, hi]])
    return distinct_edges(together[(together >= lo) & (together <= hi)])


@dataclass(frozen=True, eq=False)
class Conclusions:
    """What is concluded on every interval of C: `verdicts[k]` between `edges[k]` and `edges[k + 1]`.

    >>> found = Conclusions(np.array([0, 1, 4, 9]), ("A", "B", "A"), True)
    >>> found.at(2), found.interval(2)
    ('B', (1.0, 4.0))
    """

    edges: Array
    verdicts: tuple[Verdict, ...]
    is_exact: bool

    def at(self, C: float) -> Verdict:
        """Return the conclusion at C; at an edge that of the right side."""
        return self.verdicts[self._step(C)]

    def interval(self, C: float) -> tuple[float, float]:
        """Return the largest interval around C on which the conclusion does not change."""
        step = self._step(C)
        return float(self.edges[step]), float(self.edges[step + 1])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per interval: C_lo, C_hi, verdict."""
        columns = {"C_lo": self.edges[:-1], "C_hi": self.edges[1:], "verdict": list(self.verdicts)}
        return pd.DataFrame(columns)

    def _step(self, C: float) -> int:
        if not self.edges[0] <= C <= self.edges[-1]:
            raise must_be("C", f"between {self.edges[0]:g} and {self.edges[-1]:g}", found=C)
        return min(int(np.searchsorted(self.edges, C, side="right")) - 1, len(self.verdicts) - 1)


@dataclass(frozen=True, eq=False)
class ShareSteps:
    """Shares of first choice as step functions: row k of `shares` between `edges[k]` and `edges[k + 1]`."""

    edges: Array
    shares: Array
    names: tuple[str, ...]

    def at(self, C: float) -> "pd.Series[float]":
        """Return the shares at C; at an edge those of the right side."""
        step = min(int(np.searchsorted(self.edges, C, side="right")) - 1, len(self.shares) - 1)
        return pd.Series(self.shares[step], index=pd.Index(self.names, name="product"), name="share")

    def winners(self) -> Conclusions:
        """Return which product has the largest share; several names joined by " = " where they are tied."""
        return concluded(self.edges, [best_of(row, self.names) for row in self.shares], True)

    def orders(self) -> Conclusions:
        """Return the products from the largest share to the smallest, as a tuple."""
        return concluded(self.edges, [order_of(row, self.names) for row in self.shares], True)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per interval: C_lo, C_hi, and the share of every product."""
        ends = pd.DataFrame({"C_lo": self.edges[:-1], "C_hi": self.edges[1:]})
        return pd.concat([ends, pd.DataFrame(self.shares, columns=list(self.names))], axis=1)


def first_choice_steps(
    part_worths: PartWorthLines, products: Products, none: bool | None = None
) -> ShareSteps:
    """Return the shares of first choice at every C, exactly.

    Parameters
    ----------
    part_worths
        At every C, from `ConjointPath.part_worth_lines` or `part_worth_lines`.
    products, none
        As for `read_scenario`.

    >>> from ranking.conjoint import example_part_worths, example_study, part_worth_lines
    >>> pack = {"brand": "Alba", "roast": "dark", "size": "large", "price": 15}
    >>> cheap = {"brand": "Brio", "roast": "dark", "size": "large", "price": 9}
    >>> v = example_part_worths()
    >>> turn = lambda C: C * v["price-minded"] + (1 - C) * v["brand-minded"]
    >>> lines = part_worth_lines(turn, [0, 1], example_study())
    >>> steps = first_choice_steps(lines, {"ours": pack, "cheap": cheap})
    >>> steps.winners().to_frame().round(3)
       C_lo   C_hi verdict
    0  0.00  0.07...    ours
    1  0.07...  1.00   cheap
    """
    scenario = read_scenario(products, part_worths.space, none)
    X = scenario.design
    pairs = all_pairs(range(len(X)))
    steps = []
    for lines in part_worths.lines:
        own = lines.times(X.T).split_at_crossings(pairs).edges
        v = lines.at(inside_of(own))
        steps.append(_merged(own, first_choices(v @ X.T, (np.abs(v) @ np.abs(X).T).max(axis=1))))
    edges = common_edges([edges for edges, _ in steps], part_worths.lo, part_worths.hi)
    inside = inside_of(edges)
    # inside of a piece no utilities cross, so a tie there is one on the whole piece
    total = np.zeros((len(inside), len(scenario.names)))
    for weight, (own, shares) in zip(part_worths.weights, steps, strict=True):
        total += weight * shares[np.searchsorted(own, inside, side="right") - 1]
    return ShareSteps(*_merged(edges, total / part_worths.weights.sum()), tuple(scenario.names))


def importance_orders(part_worths: PartWorthLines) -> Conclusions:
    """Return the attributes from the most to the least important at every C.

    The result is exact if all respondents have the same part-worths.

    Parameters
    ----------
    part_worths
        At every C, from `ConjointPath.part_worth_lines` or `part_worth_lines`.
    """
    names = tuple(part_worths.space.attributes)
    first, *others = part_worths.lines
    parts = ("edges", "constant", "slope")
    if not all(np.array_equal(getattr(first, part), getattr(own, part)) for own in others for part in parts):
        table = part_worths.along(lambda v: importances(v, part_worths.space))
        return sampled_conclusions(part_worths, table, lambda row: order_of(row, names))
    ranges = _range_lines(first, part_worths.space)
    ranges = ranges.split_at_crossings(all_pairs(range(len(names))))
    found = [order_of(row[0], names) for row in map(ranges.at, ranges.inside)]
    return concluded(ranges.edges, found, True)


def sampled_conclusions(
    part_worths: PartWorthLines, table: pd.DataFrame, conclude: Callable[[Array], Verdict]
) -> Conclusions:
    """Return what follows from values evaluated at some C, see `PartWorthLines.along`; not exact.

    Where the conclusion changes between two of these C, the edge lies in their middle.
    """
    where = table.index.to_numpy(dtype=float)
    edges = np.concatenate([[part_worths.lo], (where[:-1] + where[1:]) / 2, [part_worths.hi]])
    return concluded(edges, [conclude(row) for row in table.to_numpy()], False)


def concluded(edges: Array, verdicts: Sequence[Verdict], is_exact: bool) -> Conclusions:
    """Return conclusions with equal neighbours made one."""
    new = [k for k in range(len(verdicts)) if k == 0 or verdicts[k] != verdicts[k - 1]]
    return Conclusions(np.append(edges[new], edges[-1]), tuple(verdicts[k] for k in new), is_exact)


def best_of(values: Array, names: Sequence[str]) -> str:
    """Return the name with the largest value, several joined if they are tied.

    >>> best_of(np.array([0.2, 0.4, 0.4]), ["a", "b", "c"])
    'b = c'
    """
    is_best = first_choices(values[None, :], np.abs(values).max(keepdims=True))[0] > 0
    return " = ".join(name for name, best in zip(names, is_best, strict=True) if best)


def order_of(values: Array, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names from the largest value to the smallest, tied ones joined in their own order.

    >>> order_of(np.array([0.2, 0.4, 0.4]), ["a", "b", "c"])
    ('b = c', 'a')
    """
    descending = np.argsort(-values, kind="stable")
    # neighbours that differ by rounding error are one group; its members keep the order of the names
    gaps = -np.diff(values[descending]) > TIED * np.abs(values).max(initial=0.0)
    groups = np.split(descending, np.flatnonzero(gaps) + 1)
    return tuple(" = ".join(names[k] for k in np.sort(group)) for group in groups)


def _range_lines(lines: PiecewiseLinear, space: AttributeSpace) -> PiecewiseLinear:
    """Return the ranges of attributes as lines, on pieces that end where the best or worst level changes."""
    # the matrix from part-worths to levels, of a linear attribute its two ends, and the places of each
    columns: list[Array] = []
    blocks: list[list[int]] = []
    units = np.eye(len(space.columns))
    for name, attribute in space.attributes.items():
        part = units[space.blocks[name]]
        if attribute.is_linear:
            part = np.outer(space.ranges[name], part[0]) / attribute.unit
        blocks.append(list(range(len(columns), len(columns) + len(part))))
        columns.extend(part)
    levels = lines.times(np.array(columns).T)
    finer = levels.split_at_crossings([pair for block in blocks for pair in all_pairs(block)])
    inside = finer.at(finer.inside)
    rows = np.arange(len(inside))
    constants, slopes = [], []
    for block in blocks:
        best, worst = (np.array(block)[pick(inside[:, block], axis=1)] for pick in (np.argmax, np.argmin))
        # between crossings best and worst level stay the same, so the range is the line between them
        constants.append(finer.constant[rows, best] - finer.constant[rows, worst])
        slopes.append(finer.slope[rows, best] - finer.slope[rows, worst])
    return PiecewiseLinear(finer.lo, finer.hi, np.array(constants).T, np.array(slopes).T)


def _merged(edges: Array, values: Array) -> tuple[Array, Array]:
    """Return a step function with equal neighbours made one."""
    is_new = np.append(True, (np.abs(np.diff(values, axis=0)) > TIED).any(axis=1))
    return np.append(edges[:-1][is_new], edges[-1]), values[is_new]
