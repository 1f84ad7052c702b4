r"""Steps: where a metric changes along scores that are lines in C, and its values in between.

The order of two items changes where their lines cross, and a metric of rankings is constant in between: so
it is a step function of C, known completely once all crossings are. Those of items with equal labels matter
to few metrics.

Room: score lines, labels and queries in; the steps of a metric and their standard errors out.
May touch: `errors`, `arguments`, `arrays`, `graph`, `metrics`, `uncertainty`, `crossings`.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ranking import metrics
from ranking.arguments import numbers, query_codes
from ranking.arrays import Array
from ranking.crossings import ScoreLines, crossings, places, running, with_exact_ties
from ranking.errors import DataError
from ranking.graph import preference_pairs
from ranking.uncertainty import Sums, groups_of

# The name of a metric of `ranking.metrics`, or a function of labels, scores and queries.
Metric: TypeAlias = str | Callable[[Any, Any, Any], float]
# What `per_query` calls the metrics that can be named.
NAMES = {
    "pairwise_accuracy": "pairwise_accuracy",
    "ndcg": "ndcg",
    "mean_ndcg": "mean_ndcg",
    "kendall_tau": "kendall_tau",
    "spearman": "spearman",
    "mean_average_precision": "average_precision",
}
# Where inside a step a metric is evaluated, as a share of its length: not the middle, where lines with whole
# coefficients like to cross; items with equal labels that are tied there only would spoil rank correlations.
INSIDE = (3 - 5**0.5) / 2
# Pieces times pairs looked at together: 8 MB an array.
ENTRIES = 2**20


class Steps(NamedTuple):
    """Where steps begin, ascending, the value on each of them, and its standard error."""

    starts: Array
    values: Array
    errors: Array


class Validation:
    """Labels to compare scores with, and a metric that does so."""

    def __init__(self, y: Any, qid: Any, metric: Metric) -> None:
        self.y, self.qid = numbers(y, "y"), qid
        if not callable(metric) and metric not in NAMES:
            raise DataError(f"metric must be a function or one of {', '.join(NAMES)}, got {metric!r}")
        self.metric = metric
        self.pairs = preference_pairs(self.y, qid)
        if not len(self.pairs):
            raise DataError("y gives no pair to validate with: no query has items with different labels")
        # where nothing is known of a metric, the order of equal labels may count: it does beside ties
        is_known = not callable(metric) and metric != "mean_average_precision"
        self.crossing = self.pairs if is_known else preference_pairs(np.arange(len(self.y)), qid)
        query = query_codes(qid, len(self.y))[self.pairs[:, 0]]
        found, self.query, counts = np.unique(query, return_inverse=True, return_counts=True)
        self.weight = 1 / (counts[self.query] * len(found))
        self.groups = groups_of(self.pairs, self.query, len(self.y))

    def steps(self, lines: ScoreLines) -> Iterator[Steps]:
        """Yield the steps on all pieces, some pieces at a time."""
        if lines.constant.shape[1] != len(self.y):
            raise DataError(
                f"y must hold one label for each of {lines.constant.shape[1]} rows, got {len(self.y)}"
            )
        size = max(1, ENTRIES // len(self.crossing))
        for begin in range(0, len(lines.lo), size):
            part = ScoreLines(*(array[begin : begin + size] for array in lines))
            yield self._accuracies(part) if self.metric == "pairwise_accuracy" else self._evaluated(part)

    def _accuracies(self, lines: ScoreLines) -> Steps:
        """Return the steps of the pairwise accuracy: at a crossing one pair flips."""
        left, flips, at = crossings(lines, self.crossing)
        pieces, starts, is_flip = places(lines, flips.piece, at)
        v, first = self.groups.start((1 - left) / 2)
        added = self.groups.changes(v, flips)
        sums = Sums(*(running(*column, pieces, is_flip) for column in zip(first, added, strict=True)))
        gained = -self.weight[flips.pair] * flips.change
        values = running((1 + left) / 2 @ self.weight, gained, pieces, is_flip)
        return Steps(starts, values, self.groups.errors(sums))

    def _evaluated(self, lines: ScoreLines) -> Steps:
        """Return the steps of any metric, by its value at some C inside each."""
        _, flips, at = crossings(lines, self.crossing)
        pieces, starts, _ = places(lines, flips.piece, at)
        ends = np.where(np.diff(pieces, append=-1) == 0, np.roll(starts, -1), lines.hi[pieces])
        lengths = np.where(np.isinf(ends), starts + 1, ends - starts)
        inside = starts + INSIDE * lengths
        tied = with_exact_ties(lines)
        found = [
            self._value(tied.constant[p] + C * tied.slope[p], C) for p, C in zip(pieces, inside, strict=True)
        ]
        values, errors = np.array(found).T
        return Steps(starts, values, errors)

    def _value(self, scores: Array, C: float) -> tuple[float, float]:
        """Return the metric, and its standard error over queries if its name says how to get one."""
        if callable(self.metric):
            value, error = float(self.metric(self.y, scores, self.qid)), np.nan
        else:
            by_query = metrics.per_query(NAMES[self.metric], self.y, scores, self.qid)
            value, error = float(by_query.mean()), float(np.asarray(by_query.sem()))
        if not np.isfinite(value):
            raise DataError(f"metric must return a finite number, got {value} at C = {C:g}")
        return value, error
