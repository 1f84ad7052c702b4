"""Tracks: the part-worths of respondents at every C of a solution path.

Room: a way to ask for part-worths at C, or lines, in; part-worths and whatever is read off them, over C, out.
May touch: `errors`, `arrays`, `space`, `worths`, `bootstrap`, `lines`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranking.arrays import Array, as_vector
from ranking.conjoint.bootstrap import Read, weighted_mean
from ranking.conjoint.lines import Lines, distinct_edges, inside_of, read_edges, sampled_lines
from ranking.conjoint.space import HasSpace, Space, space_of
from ranking.conjoint.worths import read_part_worths, weights_of
from ranking.errors import DataError

# C at which curves are evaluated, if there are more pieces.
MOST_POINTS = 400


@dataclass(frozen=True, eq=False)
class Tracks:
    """Part-worths as lines in C, one `Lines` a respondent, or one for all; with names and weights.

    Made by `tracks_of`, or from lines that are known: their columns are those of the space.
    """

    lines: tuple[Lines, ...]
    space: Space
    names: "pd.Index[Any]"
    weights: Array

    def __post_init__(self) -> None:
        if not self.lines or not len(self.lines) == len(self.names) == len(self.weights):
            raise DataError("tracks need lines, a name and a weight for each of at least one respondent")
        if any(lines.start.shape[1] != len(self.space.columns) for lines in self.lines):
            raise DataError(f"lines must have the {len(self.space.columns)} columns of the study")
        if self.lo >= self.hi:
            raise DataError("the lines of different respondents have no C in common")

    @property
    def lo(self) -> float:
        """The first C that all respondents have."""
        return max(float(lines.edges[0]) for lines in self.lines)

    @property
    def hi(self) -> float:
        """The last C that all respondents have."""
        return min(float(lines.edges[-1]) for lines in self.lines)

    @property
    def is_common(self) -> bool:
        """Whether all respondents have the same part-worths at every C."""
        first, *others = self.lines
        return all(
            np.array_equal(getattr(first, name), getattr(lines, name))
            for lines in others
            for name in ("edges", "start", "slope")
        )

    @property
    def edges(self) -> Array:
        """All breakpoints, the ends included, where part-worths of any respondent bend."""
        return common_edges([lines.edges for lines in self.lines], self.lo, self.hi)

    def at(self, C: float) -> pd.DataFrame:
        """Return the part-worths at C, one row a respondent."""
        rows = [lines.at(C)[0] for lines in self.lines]
        return pd.DataFrame(rows, index=self.names, columns=self.space.columns)

    def points(self, most: int = MOST_POINTS) -> Array:
        """Return C to evaluate at: inside every piece, or inside some of them, evenly, if there are many."""
        inside = inside_of(self.edges)
        return inside[np.unique(np.linspace(0, len(inside) - 1, most).round().astype(int))]

    def along(self, read: Read, C: Any = None) -> pd.DataFrame:
        """Return the weighted mean of a table read off the part-worths, at every one of some C.

        >>> from ranking.conjoint import example_part_worths, example_study, importances
        >>> study = example_study()
        >>> tracks = tracks_of(lambda C: C * example_part_worths().T, [0, 1], study)
        >>> tracks.along(lambda v: importances(v, study), [0.5, 1]).round(1)
             brand  roast  size  price
        C
        0.5   34.2   15.0   9.3   41.4
        1.0   34.2   15.0   9.3   41.4
        """
        where = self.points() if C is None else np.atleast_1d(as_vector(C, "C"))
        means = [weighted_mean(read(self.at(c)), self.weights) for c in where]
        return pd.DataFrame(means, index=pd.Index(where, name="C"))


def tracks_of(
    part_worths_at: Callable[[float], Any], breakpoints: Any, study: HasSpace, weights: Any = None
) -> Tracks:
    """Return the tracks of part-worths that are linear in C between breakpoints.

    `part_worths_at(C)` has one row a respondent, or one for all; `breakpoints` are those of all respondents,
    with the ends of the path, of which the last may be infinite.
    """
    space = space_of(study)
    edges = read_edges(breakpoints)
    first = read_part_worths(part_worths_at(float(inside_of(edges)[0])), space)
    n, m = first.shape

    def flat(C: float) -> Array:
        return read_part_worths(part_worths_at(C), space).to_numpy().ravel()

    whole = sampled_lines(flat, edges)
    start, slope = (array.reshape(-1, n, m) for array in (whole.start, whole.slope))
    lines = tuple(Lines(whole.edges, start[:, r], slope[:, r]) for r in range(n))
    return Tracks(lines, space, first.index, weights_of(weights, first, study))


def common_edges(edges: Sequence[Array], lo: float, hi: float) -> Array:
    """Return all edges from lo to hi, ascending.

    >>> common_edges([np.array([0.0, 1.0, 3.0]), np.array([0.5, 2.0])], 0.5, 2)
    array([0.5, 1. , 2. ])
    """
    together = np.concatenate([*edges, [lo, hi]])
    return distinct_edges(together[(together >= lo) & (together <= hi)])
