"""The hit rate at every C of a path, exactly.

Utilities are linear in C on every piece of a path. A task is hit where no other alternative is ahead of the
chosen one, and this changes only where the utilities of the two cross: the hit rate is a step function of C.
Paths of different respondents have pieces of their own; their steps are added up.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ranking.conjoint.data.choice_table import Choices
from ranking.core.validation import Array
from ranking.errors import DataError
from ranking.selection.curve import ENTRIES, SelectionCurve
from ranking.selection.piecewise import PiecewiseLinear, crossings, cumulated, steps_of
from ranking.selection.uncertainty import earlier_changes

# Crossings closer together than this part of C are one: with whole-number data many of them coincide.
ONE_POINT = 1e-12


class HitSteps(NamedTuple):
    """From `start` on, the sums over tasks of w h, w² h and w² h², h being the hit and w its weight.

    `end` is where the last step ends; `weight` and `squares` are the sums of w and w², `tasks` their number.
    """

    start: Array
    sums: Array
    end: float
    weight: float
    squares: float
    tasks: int


class HitCounter:
    """Tasks whose hits are counted at every C."""

    def __init__(self, choices: Choices, weight: Array) -> None:
        self.choices, self.weight = choices, weight
        self.pairs = choices.pairs()
        self.task = choices.task_of_row[self.pairs[:, 0]]

    def steps(self, lines: Iterable[PiecewiseLinear]) -> HitSteps:
        """Return the steps on all pieces, from the lines of the alternatives, in their order."""
        parts, end = [], 0.0
        for block in lines:
            parts += list(self._parts(block))
            end = float(block.hi[-1])
        if not parts:
            raise DataError("the path has no piece to count hits on", argument="lines")
        starts, sums = (np.concatenate(column) for column in zip(*parts, strict=True))
        w = self.weight
        return HitSteps(starts, sums, end, float(w.sum()), float(w @ w), len(w))

    def _parts(self, lines: PiecewiseLinear) -> Iterator[tuple[Array, Array]]:
        """Yield starts and sums, some pieces at a time."""
        size = max(1, ENTRIES // max(1, len(self.pairs)))
        for begin in range(0, len(lines.lo), size):
            yield self._counted(lines.pieces(slice(begin, begin + size)))

    def _counted(self, lines: PiecewiseLinear) -> tuple[Array, Array]:
        """Return where steps begin and the three sums on them, for some pieces."""
        ahead, flips, at = crossings(lines, self.pairs)
        n = len(self.choices)
        better, level = (self._by_task(part) for part in (ahead < 0, ahead == 0))
        # an alternative that ties with the chosen one on a whole piece shares the hit
        share = 1 / (1 + level)
        first = self._sums((better == 0) * share).sum(axis=1)
        # a flip moves an alternative from behind the chosen one to ahead of it, or back: the hit ends with
        # the first alternative that gets ahead, and returns with the last one that falls behind
        task = self.task[flips.pair]
        before = better[flips.piece, task] + earlier_changes(flips.piece * n + task, flips.change)
        change = np.where(before == 0, -1.0, np.where(before + flips.change == 0, 1.0, 0.0))
        matters = change != 0
        task, piece, at = task[matters], flips.piece[matters], at[matters]
        h = share[piece, task]
        w = self.weight[task]
        added = change[matters, None] * np.column_stack([w * h, w * w * h, w * w * h * h])
        pieces, starts, is_flip = steps_of(lines, piece, at)
        return starts, cumulated(first, added, pieces, is_flip)

    def _by_task(self, is_such: Array) -> Array:
        """Return for every piece and task how many of its pairs are such."""
        counts = np.zeros((len(is_such), len(self.choices)), dtype=np.int64)
        first = np.flatnonzero(np.diff(self.task, prepend=-1))
        if len(first):
            counts[:, self.task[first]] = np.add.reduceat(is_such, first, axis=1, dtype=np.int64)
        return counts

    def _sums(self, h: Array) -> Array:
        """Return the summands of the three sums, by piece and task."""
        w = self.weight
        return np.stack([w * h, w * w * h, w * w * h * h], axis=-1)


def hit_rate_curve(steps: Sequence[HitSteps]) -> SelectionCurve:
    """Return the hit rate over the tasks of all paths, as far as all of them reach.

    Standard errors take tasks as independent of each other.
    """
    end = min(part.end for part in steps)
    starts = np.concatenate([part.start for part in steps])
    jumps = np.concatenate([np.diff(part.sums, axis=0, prepend=0.0) for part in steps])
    order = np.argsort(starts, kind="stable")
    starts, sums = starts[order], np.cumsum(jumps[order], axis=0)
    # where several steps begin at one point, the sum after the last of them counts
    is_last = np.append(np.diff(starts) > ONE_POINT * starts[1:], True)
    first = np.append(True, is_last[:-1])
    starts, sums = starts[first], sums[is_last]
    inside = starts < end
    starts, sums = starts[inside], sums[inside]
    weight, squares, tasks = (
        sum(getattr(part, name) for part in steps) for name in ("weight", "squares", "tasks")
    )
    rate = sums[:, 0] / weight
    if tasks > 1:
        spread = np.maximum(0.0, sums[:, 2] - 2 * rate * sums[:, 1] + rate * rate * squares)
        errors = np.sqrt(spread * tasks / (tasks - 1)) / weight
    else:
        errors = np.full(len(rate), np.nan)
    # edges at which the rate does not change are left out: one task hit less and another one more
    new = np.append(True, np.abs(np.diff(rate)) > ONE_POINT)
    return SelectionCurve(np.append(starts[new], end), rate[new], errors[new])
