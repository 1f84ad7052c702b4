r"""Selection: a metric as a function of C along a whole path, exactly, and what it says about C.

Scores on a piece of a path are lines in C. The order of two items changes where their lines cross, and a
metric of rankings is constant in between: so it is a step function of C, known completely once all crossings
of items with different labels are.

Room: score lines, labels and queries in; a step function, its best intervals and standard errors out.
May touch: `errors`, `arguments`, `graph`, `metrics`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from ranking import metrics
from ranking.arguments import numbers, query_codes
from ranking.arrays import Array
from ranking.errors import DataError
from ranking.graph import preference_pairs

# The name of a metric of `ranking.metrics`, or a function of labels, scores and queries.
Metric: TypeAlias = str | Callable[[Any, Any, Any], float]
METRICS: dict[str, Callable[..., float]] = {
    name: getattr(metrics, name)
    for name in (
        "pairwise_accuracy",
        "ndcg",
        "mean_ndcg",
        "kendall_tau",
        "spearman",
        "mean_average_precision",
    )
}
# Score differences below this part of the largest score are round-off: the pair is tied.
TIED = 1e-12
# Values of a metric that differ by less are equal: sums of weights are rounded.
EQUAL = 1e-12


class ScoreLines(NamedTuple):
    """Scores constant + C · slope of all items on the pieces from `lo` to `hi`, one row a piece."""

    lo: Array
    hi: Array
    constant: Array
    slope: Array


@dataclass(frozen=True, eq=False)
class SelectionCurve:
    """A metric as a step function: `values[k]` for C between `edges[k]` and `edges[k + 1]`.

    `errors` are standard errors of the values: over queries if there are several, else over items by the
    jackknife; over folds where curves were averaged.

    >>> curve = SelectionCurve([0, 1, 4, 16], [0.5, 0.9, 0.8], [0.1, 0.1, 0.1])
    >>> curve.best_intervals, curve.C_best, curve.C_one_standard_error
    ([(1.0, 4.0)], 2.0, 2.0)
    """

    edges: Array
    values: Array
    errors: Array

    def __post_init__(self) -> None:
        for name in ("edges", "values", "errors"):
            array = np.array(getattr(self, name), dtype=float)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def best(self) -> float:
        """The largest value."""
        return float(self.values.max())

    @property
    def best_intervals(self) -> list[tuple[float, float]]:
        """The intervals of C with the largest value, ascending."""
        return self._runs(self.values >= self.best - EQUAL)

    @property
    def C_best(self) -> float:
        """The middle, on a logarithmic axis, of the widest best interval."""
        return middle(max(self.best_intervals, key=_width))

    @property
    def C_one_standard_error(self) -> float:
        """The middle of the first step, the most regularised, within one standard error of the best."""
        best = int(self.values.argmax())
        error = float(self.errors[best]) if np.isfinite(self.errors[best]) else 0.0
        first = int((self.values >= self.best - error - EQUAL).argmax())
        return middle((float(self.edges[first]), float(self.edges[first + 1])))

    def at(self, C: Any) -> Array:
        """Return the value at one C or at many; at an edge that of the right side."""
        where = np.asarray(C, dtype=float)
        if np.any((where < self.edges[0]) | (where > self.edges[-1])):
            raise DataError(f"C must lie between {self.edges[0]:g} and {self.edges[-1]:g}, got {C!r}")
        return self.values[self._cell(where)]

    def error_at(self, C: float) -> float:
        """Return the standard error at one C."""
        return float(self.errors[self._cell(np.asarray(C, dtype=float))])

    def to_frame(self) -> pd.DataFrame:
        """Return one row a step: C_lo, C_hi, value, standard_error."""
        return pd.DataFrame(
            {
                "C_lo": self.edges[:-1],
                "C_hi": self.edges[1:],
                "value": self.values,
                "standard_error": self.errors,
            }
        )

    def _cell(self, C: Array) -> Any:
        return np.clip(np.searchsorted(self.edges, C, side="right") - 1, 0, len(self.values) - 1)

    def _runs(self, chosen: Array) -> list[tuple[float, float]]:
        """Return the ends of the runs of chosen steps."""
        steps = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
        return [(float(self.edges[a]), float(self.edges[b])) for a, b in steps.reshape(-1, 2)]


def middle(interval: tuple[float, float]) -> float:
    """Return the middle of an interval of C on a logarithmic axis; a factor 2 from its only positive end.

    >>> middle((1, 100)), middle((0, 8)), middle((8, float("inf")))
    (10.0, 4.0, 16.0)
    """
    lo, hi = interval
    if lo <= 0:
        return hi / 2 if np.isfinite(hi) else 1.0
    return float(np.sqrt(lo * hi)) if np.isfinite(hi) else 2.0 * lo


def _width(interval: tuple[float, float]) -> float:
    """Return how wide an interval is on a logarithmic axis."""
    lo, hi = interval
    return float(np.log(hi / lo)) if lo > 0 else np.inf


def validation_curve(
    lines: Iterable[ScoreLines], y: Any, qid: Any = None, metric: Metric = "pairwise_accuracy"
) -> SelectionCurve:
    """Return a metric of labels y at every C, from the scores of the items as lines in C."""
    data = _Validation(numbers(y, "y"), qid, metric)
    parts: list[tuple[Array, Array, Array]] = []
    end = 0.0
    for block in lines:
        parts.append(data.steps(block))
        end = float(block.hi[-1])
    if not parts:
        raise DataError("the path has no piece to choose from")
    starts, values, errors = (np.concatenate(column) for column in zip(*parts, strict=True))
    return SelectionCurve(*_merged(np.append(starts, end), values, errors))


def average_curves(curves: Sequence[SelectionCurve]) -> SelectionCurve:
    """Return the mean of curves, where all of them are defined, with its standard error over the curves."""
    lo, hi = max(c.edges[0] for c in curves), min(c.edges[-1] for c in curves)
    edges = np.unique(np.concatenate([curve.edges for curve in curves]))
    edges = edges[(edges >= lo) & (edges <= hi)]
    values = np.stack([curve.at(edges[:-1]) for curve in curves])
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(curves)) if len(curves) > 1 else curves[0].errors
    return SelectionCurve(*_merged(edges, values.mean(axis=0), errors))


class _Validation:
    """Labels to compare scores with: the pairs of items that differ, and what each of them weighs."""

    def __init__(self, y: Array, qid: Any, metric: Metric) -> None:
        self.y, self.qid = y, qid
        self.metric = _function(metric)
        self.pairs = preference_pairs(y, qid)
        if not len(self.pairs):
            raise DataError("y gives no pair to validate with: no query has items with different labels")
        query = query_codes(qid, len(y))[self.pairs[:, 0]]
        found, inverse, counts = np.unique(query, return_inverse=True, return_counts=True)
        self.query, self.queries = inverse, len(found)
        self.weight = 1 / (counts[inverse] * len(found))

    def steps(self, lines: ScoreLines) -> tuple[Array, Array, Array]:
        """Return where the steps on some pieces begin, the metric on them, and its standard errors."""
        left, right, roots = self._signs(lines)
        piece, pair = np.nonzero(left * right < 0)
        pieces = np.concatenate([np.arange(len(lines.lo)), piece])
        starts = np.concatenate([lines.lo, roots[piece, pair]])
        order = np.lexsort((starts, pieces))
        pieces, starts = pieces[order], starts[order]
        if self.metric is not metrics.pairwise_accuracy:
            values = self._evaluated(lines, pieces, starts)
            return starts, values, np.full(len(values), np.nan)
        gains = np.concatenate([np.zeros(len(lines.lo)), self.weight[pair] * right[piece, pair]])[order]
        total = np.cumsum(gains)
        first = np.flatnonzero(np.concatenate([[True], np.diff(pieces) > 0]))
        values = ((1 + left) / 2 @ self.weight)[pieces] + total - total[first][pieces]
        return starts, values, self._errors(left)[pieces]

    def _signs(self, lines: ScoreLines) -> tuple[Array, Array, Array]:
        """Return who is ahead at the beginning and at the end of every piece, and where that changes."""
        i, j = self.pairs.T
        d0, d1 = lines.constant[:, i] - lines.constant[:, j], lines.slope[:, i] - lines.slope[:, j]
        ends = [self._cleared(lines, d0, d1, end) for end in (lines.lo, lines.hi)]
        begin, end = (np.sign(values) for values in ends)
        left, right = np.where(begin != 0, begin, end), np.where(end != 0, end, begin)
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = np.clip(-d0 / d1, lines.lo[:, None], lines.hi[:, None])
        return left, right, roots

    @staticmethod
    def _cleared(lines: ScoreLines, d0: Array, d1: Array, at: Array) -> Array:
        """Return score differences at one end of every piece, round-off set to zero."""
        far = np.isinf(at)[:, None]
        C = np.where(far, 0.0, at[:, None])
        differences = np.where(far, np.where(d1 != 0, d1, d0), d0 + C * d1)
        scores = np.abs(lines.constant) + np.abs(C * lines.slope)
        size = np.where(far, np.abs(lines.slope) + np.abs(lines.constant), scores).max(axis=1, initial=0.0)
        return np.where(np.abs(differences) <= TIED * size[:, None], 0.0, differences)

    def _evaluated(self, lines: ScoreLines, pieces: Array, starts: Array) -> Array:
        """Return any metric in the middle of every step."""
        ends = np.where(np.diff(pieces, append=-1) == 0, np.roll(starts, -1), lines.hi[pieces])
        middles = np.where(np.isinf(ends), 2 * starts + 1, (starts + ends) / 2)
        scores = lines.constant[pieces] + middles[:, None] * lines.slope[pieces]
        return np.array([self.metric(self.y, row, self.qid) for row in scores])

    def _errors(self, signs: Array) -> Array:
        """Return the standard errors of pairwise accuracies: over queries, or over items by the jackknife."""
        right = (1 + signs) / 2
        if self.queries > 1:
            by_query = np.stack([right[:, self.query == q].mean(axis=1) for q in range(self.queries)])
            return by_query.std(axis=0, ddof=1) / np.sqrt(self.queries)
        n, m = len(self.y), len(self.pairs)
        rows, columns = self.pairs.ravel(), np.repeat(np.arange(m), 2)
        member = csr_array((np.ones(2 * m), (columns, rows)), shape=(m, n))
        own, count = right @ member, np.bincount(rows, minlength=n)
        rest = m - count
        without = np.divide(right.sum(axis=1)[:, None] - own, rest, where=rest > 0, out=np.zeros_like(own))
        used = without[:, rest > 0]
        size = used.shape[1]
        return np.sqrt((size - 1) / size * ((used - used.mean(axis=1, keepdims=True)) ** 2).sum(axis=1))


def _function(metric: Metric) -> Callable[..., float]:
    if callable(metric):
        return metric
    if metric not in METRICS:
        raise DataError(f"metric must be a function or one of {', '.join(METRICS)}, got {metric!r}")
    return METRICS[metric]


def _merged(edges: Array, values: Array, errors: Array) -> tuple[Array, Array, Array]:
    """Return a step function without steps of no length, and without edges at which nothing changes."""
    real = np.diff(edges) > 0
    starts, values, errors = edges[:-1][real], values[real], errors[real]
    new = np.concatenate([[True], np.abs(np.diff(values)) > EQUAL])
    return np.append(starts[new], edges[-1]), values[new], errors[new]
