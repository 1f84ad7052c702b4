"""A traced path: one stretch after the other, read as a whole.

Room: training data and stretches in; dual variables, bends, scores and thresholds as lines out.
May touch: `arrays`, `level_steps`, `training`, `hinges`, `stretches`, `lines`.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ranking.arrays import Array
from ranking.level_steps import LevelLines
from ranking.ordinal.lines import Reader
from ranking.ordinal.stretches import Stretch
from ranking.ordinal.training import Training


@dataclass(frozen=True, eq=False)
class TracedPath:
    """Stretches in ascending order, without gaps; `stopped` says why there are no more, if so."""

    training: Training
    stretches: Sequence[Stretch]
    ordered: bool
    stopped: str | None = None

    @property
    def lo(self) -> float:
        """Where the path begins."""
        return self.stretches[0].lo

    @property
    def hi(self) -> float:
        """Where it ends."""
        return self.stretches[-1].hi

    @cached_property
    def breakpoints(self) -> Array:
        """The values of C at which pieces end, ascending, without the ends of the path."""
        inner = [float(C) for s in self.stretches for C in s.path.breakpoints if s.lo < C < s.hi]
        return np.unique([*inner, *(stretch.lo for stretch in self.stretches[1:])])

    @property
    def last_bend(self) -> float:
        """Where the path ends; of one without end its last bend, or 1 beyond its beginning."""
        if np.isfinite(self.hi):
            return self.hi
        return float(self.breakpoints[-1]) if len(self.breakpoints) else self.lo + 1.0

    @property
    def is_separable(self) -> bool | None:
        """Whether no hinge is violated on the last piece; None of a path that has an end."""
        basis = self.stretches[-1].path.segments[-1].basis
        if np.isfinite(self.hi) or basis is None:
            return None
        return "upper" not in basis.variables

    @property
    def basis(self) -> Any:
        """What makes coefficients of all dual variables: weights of features, or one an item."""
        return self.training.representation.basis(self.training.hinges.pairs)

    def alpha(self, C: float) -> Array:
        """Return the dual variables at one C; those outside the working set are 0."""
        stretch = self.stretches[max(bisect_right([s.lo for s in self.stretches], C) - 1, 0)]
        alpha = np.zeros(len(self.training.hinges))
        alpha[stretch.hinges] = stretch.path.x(C)
        return alpha

    def lines(self, X: Any) -> Iterator[LevelLines]:
        """Yield the scores of rows and the thresholds as lines in C, some pieces at a time."""
        for stretch in self.stretches:
            yield from Reader(self.training, stretch, self.ordered).lines(X)
