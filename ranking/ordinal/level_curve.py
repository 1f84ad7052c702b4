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
from ranking.selection.piecewise import (
    ENTRIES,
    PiecewiseLinear,
    crossings,
    earlier_changes,
    running_sums,
    steps_of,
)

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


class Moves(NamedTuple):
    """The levels when pieces begin, one row each; then all steps; then who moves from where to where."""

    begin: Integers
    piece: Integers
    start: Array
    is_move: Array
    item: Integers
    before: Integers
    after: Integers


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
        measure = self._called if callable(self.metric) else self._counted
        size = max(1, ENTRIES // max(1, len(self.y) * (len(self.predicted) - 1)))
        for begin in range(0, len(lines.hi), size):
            for steps in measure(self._moves(lines.pieces(slice(begin, begin + size)))):
                for step in np.flatnonzero(~np.isfinite(steps.values))[:1]:
                    found = f"{steps.values[step]} at C = {steps.starts[step]:g}"
                    if callable(self.metric):
                        raise must_be("values of metric", "finite", found=found)
                    raise DataError(
                        "{argument} is not defined, got {found}: "
                        "all items to validate with have the same level",
                        argument=self.metric,
                        found=found,
                    )
                yield steps

    def _moves(self, lines: LevelLines) -> Moves:
        """Return the predicted levels on all pieces, as what they are at first and what changes."""
        n, n_thresholds = len(self.y), len(self.predicted) - 1
        item, threshold = np.divmod(np.arange(n * n_thresholds), max(1, n_thresholds))
        # equal lines cross others at the very same C, so that no step is left between them
        together = lines.together().with_exact_ties()
        ahead, flips, at = crossings(together, np.column_stack([item, n + threshold]))
        exceeded = (ahead > 0).reshape(len(lines.hi), n, n_thresholds).sum(axis=2)
        piece, start, is_move = steps_of(together, flips.piece, at)
        # a flip says who was ahead: an item that was above a threshold falls by one level
        who, change = item[flips.pair], -flips.change
        # an item may cross several thresholds on one piece: its level counts its own flips before
        before = exceeded[flips.piece, who] + earlier_changes(flips.piece * n + who, change).astype(np.int64)
        after = before + change.astype(np.int64)
        levels = (self.predicted[part] for part in (before, after))
        return Moves(self.predicted[exceeded], piece, start, is_move, who, *levels)

    def _counted(self, moves: Moves) -> Iterator[Steps]:
        """Yield the steps of a metric of confusion tables, some steps at a time."""
        assert not callable(self.metric)
        of = LEVEL_METRICS[self.metric].of
        K, cells = self.n_levels, self.n_levels**2
        n_pieces, n_moves = len(moves.begin), len(moves.item)
        keys = np.arange(n_pieces)[:, None] * cells + self.y * K + moves.begin
        first = np.bincount(keys.ravel(), minlength=n_pieces * cells).reshape(n_pieces, cells).astype(float)
        row, move = self.y[moves.item] * K, np.arange(n_moves)
        where = (np.append(move, move), np.append(row + moves.before, row + moves.after))
        added = csr_array((np.repeat([-1.0, 1.0], n_moves), where), shape=(n_moves, cells))
        begin = 0
        for sums in running_sums(first, added, moves.piece, moves.is_move):
            tables, start = sums.reshape(-1, K, K), moves.start[begin : begin + len(sums)]
            begin += len(sums)
            yield Steps(start, of(tables), table_errors(of, tables))

    def _called(self, moves: Moves) -> Iterator[Steps]:
        """Yield the steps of any function, by calling it on each."""
        assert callable(self.metric)
        levels, move, values = moves.begin[0], 0, []
        for piece, is_move in zip(moves.piece, moves.is_move, strict=True):
            if is_move:
                levels[moves.item[move]] = moves.after[move]
                move += 1
            else:
                levels = moves.begin[piece]
            # copies, because a user's function may change its arguments
            values.append(float(self.metric(self.y.copy(), levels.copy())))
        yield Steps(moves.start, np.array(values), np.full(len(values), np.nan))


def _codes(values: Any, n_levels: int, name: str) -> Integers:
    """Return numbers of levels as whole numbers below n_levels."""
    codes = numbers(values, name)
    if codes.dtype.kind not in "iu" and codes.size:
        raise must_be(name, "whole numbers, those of levels", found=f"dtype {codes.dtype}")
    for row in np.flatnonzero((codes < 0) | (codes >= n_levels))[:1]:
        raise must_be(f"{name}[{row}]", f"a level from 0 to {n_levels - 1}", found=str(codes[row]))
    return codes.astype(np.int64)
