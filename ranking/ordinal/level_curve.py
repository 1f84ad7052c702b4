r"""The level curve: a metric of predicted levels along a path, exactly, as a step function of C.

The predicted level of an item is how many thresholds its score exceeds, :math:`|\{k : f(x) > p_k\}|`. Scores
and thresholds are lines in C, so it changes by one where two of them cross, and one object moves from one
cell of the confusion table to the next. A score that is a threshold, up to round-off, on a whole piece does
not exceed it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from ranking.core.validation import Array, Integers, numbers, require_choice
from ranking.errors import DataError, must_be
from ranking.metrics.levels import LEVEL_METRICS, table_errors
from ranking.selection.choice_along_path import SelectionCurve, Steps, step_curve
from ranking.selection.piecewise import ENTRIES, PiecewiseLinear, crossings, running_sums, steps_of

# The name of a level metric, or a function of the numbers of true and of predicted levels that is maximised.
LevelMetricLike: TypeAlias = str | Callable[[Integers, Integers], float]


class LevelLines(NamedTuple):
    """The scores of items and the thresholds as functions of C, on the same pieces."""

    scores: PiecewiseLinear
    thresholds: PiecewiseLinear

    @property
    def hi(self) -> Array:
        """Where the pieces end."""
        return self.scores.hi

    def pieces(self, chosen: slice) -> "LevelLines":
        """Return the same on some of the pieces."""
        return LevelLines(self.scores.pieces(chosen), self.thresholds.pieces(chosen))

    def together(self) -> PiecewiseLinear:
        """Return scores and thresholds in one, the thresholds last."""
        constant = np.hstack([self.scores.constant, self.thresholds.constant])
        slope = np.hstack([self.scores.slope, self.thresholds.slope])
        return PiecewiseLinear(self.scores.lo, self.scores.hi, constant, slope)


def level_curve(
    lines: Iterable[LevelLines],
    y_codes: Any,
    n_levels: int,
    metric: LevelMetricLike = "mean_absolute_error",
    predicted: Any = None,
) -> SelectionCurve:
    """Return a metric of predicted levels at every C.

    Parameters
    ----------
    y_codes
        The true level of every item, one of 0, ..., n_levels - 1.
    metric
        A key of `LEVEL_METRICS`, whose values are shown as they are, errors as errors; or a function of the
        numbers of true and predicted levels. A function is maximised: return the negative of a loss.
    predicted
        The level that is predicted above no, one, two, ... thresholds, ascending; all levels if None. Needed
        where a model knows fewer levels than there are.

    An item of level 1 exceeds the first threshold from C = 1 on:

    >>> score = PiecewiseLinear.on_edges([0, 4], [[0.0]], [[1.0]])
    >>> threshold = PiecewiseLinear.on_edges([0, 4], [[1.0]], [[0.0]])
    >>> curve = level_curve([LevelLines(score, threshold)], [1], 2, "accuracy")
    >>> curve.edges.tolist(), curve.values.tolist()
    ([0.0, 1.0, 4.0], [0.0, 1.0])
    """
    data = LevelValidation(y_codes, n_levels, metric, predicted)
    return step_curve(data.steps, lines, callable(metric) or LEVEL_METRICS[metric].greater_is_better)


class LevelValidation:
    """True levels to compare predicted ones with, and a metric that does so."""

    def __init__(self, y_codes: Any, n_levels: int, metric: LevelMetricLike, predicted: Any = None) -> None:
        require_choice(metric, LEVEL_METRICS, "metric", or_function=True)
        self.metric, self.n_levels = metric, n_levels
        self.y = _codes(y_codes, n_levels, "y_codes")
        if len(self.y) == 0:
            raise DataError("{argument} is empty: there is nothing to validate with", argument="y_codes")
        self.predicted = _codes(
            np.arange(n_levels) if predicted is None else predicted, n_levels, "predicted"
        )
        if not (np.diff(self.predicted) > 0).all():
            raise must_be("predicted", "ascending", found=str(self.predicted.tolist()))

    def steps(self, lines: LevelLines) -> Iterator[Steps]:
        """Yield the steps on all pieces, some pieces at a time."""
        items, thresholds = lines.scores.slope.shape[1], lines.thresholds.slope.shape[1]
        if items != len(self.y):
            raise must_be("y_codes", f"one level for each of {items} items", found=len(self.y))
        if thresholds != len(self.predicted) - 1:
            wanted = f"{thresholds} thresholds separate {thresholds + 1} levels"
            place = {"argument": "predicted", "remedy": "name them by predicted"}
            message = "{expected}, but {found} can be predicted"
            raise DataError(message, expected=wanted, found=len(self.predicted), **place)
        size = max(1, ENTRIES // max(1, len(self.y) * (len(self.predicted) - 1)))
        for begin in range(0, len(lines.hi), size):
            for starts, predicted in self._levels(lines.pieces(slice(begin, begin + size))):
                values, errors = self._measured(predicted)
                for step in np.flatnonzero(~np.isfinite(values))[:1]:
                    found = f"{values[step]} at C = {starts[step]:g}"
                    if callable(self.metric):
                        raise must_be("values of metric", "finite", found=found)
                    raise DataError(
                        "{argument} is not defined, got {found}: "
                        "all items to validate with have the same level",
                        argument=self.metric,
                        found=found,
                    )
                yield Steps(starts, values, errors)

    def _levels(self, lines: LevelLines) -> Iterator[tuple[Array, Integers]]:
        """Yield where steps begin and the predicted levels on them, one row per step, some at a time."""
        n, n_thresholds = len(self.y), len(self.predicted) - 1
        item, threshold = np.divmod(np.arange(n * n_thresholds), max(1, n_thresholds))
        # equal lines cross others at the very same C, so that no step is left between them
        together = lines.together().with_exact_ties()
        ahead, flips, at = crossings(together, np.column_stack([item, n + threshold]))
        exceeded = (ahead > 0).reshape(len(lines.hi), n, n_thresholds).sum(axis=2).astype(float)
        pieces, starts, is_flip = steps_of(together, flips.piece, at)
        # a flip says who was ahead: an item that was above a threshold falls by one level
        where = (np.arange(len(flips.pair)), item[flips.pair])
        added, begin = csr_array((-flips.change, where), shape=(len(flips.pair), n)), 0
        for counts in running_sums(exceeded, added, pieces, is_flip):
            yield starts[begin : begin + len(counts)], self.predicted[counts.astype(np.int64)]
            begin += len(counts)

    def _measured(self, predicted: Integers) -> tuple[Array, Array]:
        """Return the metric of predicted levels, one row per step, and its standard errors."""
        if callable(self.metric):
            # copies, because a user's function may change its arguments
            values = np.array([float(self.metric(self.y.copy(), row.copy())) for row in predicted])
            return values, np.full(len(values), np.nan)
        of, K, steps = LEVEL_METRICS[self.metric].of, self.n_levels, len(predicted)
        cells = (np.arange(steps)[:, None] * K + self.y) * K + predicted
        tables = np.bincount(cells.ravel(), minlength=steps * K * K).reshape(steps, K, K).astype(float)
        return of(tables), table_errors(of, tables)


def _codes(values: Any, n_levels: int, name: str) -> Integers:
    """Return numbers of levels as whole numbers below n_levels."""
    codes = numbers(values, name)
    if codes.dtype.kind not in "iu" and codes.size:
        raise must_be(name, "whole numbers, those of levels", found=f"dtype {codes.dtype}")
    for row in np.flatnonzero((codes < 0) | (codes >= n_levels))[:1]:
        raise must_be(f"{name}[{row}]", f"a level from 0 to {n_levels - 1}", found=str(codes[row]))
    return codes.astype(np.int64)
