r"""The choice of C along a path: a ranking metric as a step function of C, exactly, and the best C of it.

The order of two items changes where their scores, linear in C, cross, and a metric of rankings is constant in
between. So it is a step function of C, known completely once all crossings are. `Validation` finds the steps,
`SelectionCurve` holds them and says which C is best. Crossings of items with equal labels matter to few
metrics.

The standard error of a pairwise accuracy is followed through flips of single pairs. Over Q queries it is that
of the mean of their accuracies. In one query it is the jackknife over items: with :math:`\theta_i` the
accuracy without item i,

.. math:: \sqrt{\tfrac{n-1}{n} \sum_i (\theta_i - \bar\theta)^2}, \qquad
          \theta_i = 1 - (W - W_i)/(m - m_i),

m pairs, W of them wrong, m_i and W_i of these with item i. Both follow from how many pairs are wrong in every
group (a query, an item), which a flip changes by one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, diags_array

from ranking.core.graph import preference_pairs
from ranking.core.validation import Array, Queries, numbers, query_codes, require_choice
from ranking.errors import DataError, must_be, must_have
from ranking.metrics.rankings import per_query
from ranking.selection.piecewise import ENTRIES, PiecewiseLinear, crossings, inside, running_sums, steps_of

# The name of a metric of `ranking.metrics.rankings`, or a function of labels, scores and queries.
Metric: TypeAlias = str | Callable[[Array, Array, Queries | None], float]
# What `per_query` calls the metrics that can be named.
NAMES = {
    "pairwise_accuracy": "pairwise_accuracy",
    "ndcg": "ndcg",
    "mean_ndcg": "mean_ndcg",
    "kendall_tau": "kendall_tau",
    "spearman": "spearman",
    "mean_average_precision": "average_precision",
}


class Steps(NamedTuple):
    """Where steps begin, ascending, the value on each of them, and its standard error."""

    starts: Array
    values: Array
    errors: Array


class Validation:
    """Labels to compare scores with, and a metric that does so."""

    def __init__(self, y: Any, qid: Any, metric: Metric) -> None:
        self.y, self.qid = numbers(y, "y"), qid
        require_choice(metric, NAMES, "metric", or_function=True)
        self.metric = metric
        self.pairs = preference_pairs(self.y, qid)
        if not len(self.pairs):
            message = "{argument} gives no pair: no query has items with different labels"
            raise DataError(message, argument="y")
        # where nothing is known of a metric, the order of equal labels may count: it does next to ties
        is_known = not callable(metric) and metric != "mean_average_precision"
        self.crossing = self.pairs if is_known else preference_pairs(np.arange(len(self.y)), qid)
        query = query_codes(qid, len(self.y))[self.pairs[:, 0]]
        _, query, counts = np.unique(query, return_inverse=True, return_counts=True)
        self.is_single = len(counts) == 1
        # the groups in which wrong pairs are counted: both items of a pair, or its query if there are several
        groups = self.pairs if self.is_single else query[:, None]
        m, width = groups.shape
        where = (np.repeat(np.arange(m), width), groups.ravel())
        shape = (m, len(self.y) if self.is_single else len(counts))
        self.member = csr_array((np.ones(m * width), where), shape=shape)
        self.sizes = np.asarray(self.member.sum(axis=0))

    def steps(self, lines: PiecewiseLinear) -> Iterator[Steps]:
        """Yield the steps on all pieces, some pieces at a time."""
        rows = lines.constant.shape[1]
        if rows != len(self.y):
            raise must_be("y", f"one label for each of {rows} rows", found=len(self.y))
        size = max(1, ENTRIES // len(self.crossing))
        for begin in range(0, len(lines.lo), size):
            part = lines.pieces(slice(begin, begin + size))
            yield from self._accuracies(part) if self.metric == "pairwise_accuracy" else self._evaluated(part)

    def _accuracies(self, lines: PiecewiseLinear) -> Iterator[Steps]:
        """Yield the steps of the pairwise accuracy: at a crossing one pair flips."""
        left, flips, at = crossings(lines, self.crossing)
        pieces, starts, is_flip = steps_of(lines, flips.piece, at)
        # a pair tied on a whole piece counts as half wrong
        first = np.asarray((1 - left) / 2 @ self.member)
        added = diags_array(flips.change) @ self.member[flips.pair]
        begin, m = 0, len(self.pairs)
        for wrong in running_sums(first, added, pieces, is_flip):
            here, begin = starts[begin : begin + len(wrong)], begin + len(wrong)
            if not self.is_single:
                accuracies = 1 - wrong / self.sizes
                errors = accuracies.std(axis=1, ddof=1) / np.sqrt(len(self.sizes))
                yield Steps(here, accuracies.mean(axis=1), errors)
                continue
            # both items of a pair count it; without an item that is in every pair no pair is left to measure
            W, rest = wrong.sum(axis=1) / 2, m - self.sizes
            without = 1 - (W[:, None] - wrong[:, rest > 0]) / rest[rest > 0]
            n = without.shape[1]
            errors = np.sqrt(n - 1) * without.std(axis=1) if n > 1 else np.full(len(W), np.nan)
            yield Steps(here, 1 - W / m, errors)

    def _evaluated(self, lines: PiecewiseLinear) -> Iterator[Steps]:
        """Yield the steps of any metric, by its value at some C inside each."""
        _, flips, at = crossings(lines, self.crossing)
        pieces, starts, _ = steps_of(lines, flips.piece, at)
        ends = np.where(np.diff(pieces, append=-1) == 0, np.roll(starts, -1), lines.hi[pieces])
        tied = lines.with_exact_ties()
        # items with equal labels that are tied at a crossing only would spoil rank correlations
        places = zip(pieces, inside(starts, ends), strict=True)
        values, errors = np.array([self._value(tied.constant[p] + C * tied.slope[p], C) for p, C in places]).T
        yield Steps(starts, values, errors)

    def _value(self, scores: Array, C: float) -> tuple[float, float]:
        """Return the metric, and its standard error over queries if its name says how to get one."""
        if callable(self.metric):
            value, error = float(self.metric(self.y, scores, self.qid)), np.nan
        else:
            by_query = per_query(NAMES[self.metric], self.y, scores, self.qid)
            value, error = float(by_query.mean()), float(np.asarray(by_query.sem()))
        if not np.isfinite(value):
            raise must_be("values of metric", "finite", found=f"{value} at C = {C:g}")
        return value, error


# Values of a metric that differ by less are equal: sums of weights are rounded.
EQUAL = 1e-12
# Standard errors that differ by less are equal: they are roots of differences of sums.
EQUAL_ERRORS = 1e-6
# Steps shorter than this part of their C are round-off: what happens at both of their ends happens at once.
SHORTEST = 1e-12


@dataclass(frozen=True, eq=False)
class SelectionCurve:
    """A metric as a step function: `values[k]` for C between `edges[k]` and `edges[k + 1]`.

    `errors` are standard errors of the values: over folds where curves were averaged, else over queries if
    there are several. In one query they are those of the jackknife over items for the pairwise accuracy, and
    not known (NaN) for other metrics. `greater_is_better` is False for errors and other losses: what is best
    is then smallest. `is_exact` is False for metrics that are not step functions, and were evaluated in the
    middle of each step.

    >>> curve = SelectionCurve([0, 1, 4, 16], [0.5, 0.9, 0.8], [0.1, 0.1, 0.1])
    >>> curve.best_intervals, curve.C_best, curve.C_one_standard_error
    ([(1.0, 4.0)], 2.0, 2.0)
    """

    edges: Array
    values: Array
    errors: Array
    greater_is_better: bool = True
    is_exact: bool = True

    def __post_init__(self) -> None:
        for name in ("edges", "values", "errors"):
            array = np.array(getattr(self, name), dtype=float)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        steps = len(self.edges) - 1
        if steps < 1 or self.values.shape != (steps,) or self.errors.shape != (steps,):
            wanted = "one value and one standard error between every two edges"
            found = f"{self.values.shape} and {self.errors.shape} for {steps + 1} edges"
            raise must_be("values and errors", wanted, found=found)
        if not (np.diff(self.edges) > 0).all():
            message = "{argument} must {expected}"
            raise DataError(message, argument="edges", found=self.edges.tolist(), expected="ascend")

    @property
    def gains(self) -> Array:
        """The values, or their negatives where smaller is better: the largest is the best."""
        return self.values if self.greater_is_better else -self.values

    @property
    def best(self) -> float:
        """The largest value, or the smallest where that is better."""
        return float(self.values[self.gains.argmax()])

    @property
    def best_intervals(self) -> list[tuple[float, float]]:
        """The intervals of C with the best value, ascending."""
        return self._runs(self.gains >= self.gains.max() - EQUAL)

    @property
    def C_best(self) -> float:
        """The middle, on a logarithmic axis, of the widest best interval."""
        # an interval that begins at 0 is endless on a logarithmic axis
        return log_midpoint(
            max(self.best_intervals, key=lambda ends: ends[1] / ends[0] if ends[0] > 0 else np.inf)
        )

    @property
    def C_one_standard_error(self) -> float:
        """The middle of the first, the most regularised, interval within one standard error of the best.

        Where no standard error is known, of the first best interval.
        """
        gains = self.gains
        best = int(gains.argmax())
        error = float(self.errors[best]) if np.isfinite(self.errors[best]) else 0.0
        first = gains[int((gains >= gains[best] - error - EQUAL).argmax())]
        return log_midpoint(self._runs(np.abs(gains - first) <= EQUAL)[0])

    def at(self, C: ArrayLike) -> Array:
        """Return the value at one C or at many; at an edge that of the right side."""
        return self.values[self._step(C)]

    def error_at(self, C: float) -> float:
        """Return the standard error at one C."""
        return float(self.errors[self._step(C)])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per step: C_lo, C_hi, value, standard_error."""
        return pd.DataFrame(
            {
                "C_lo": self.edges[:-1],
                "C_hi": self.edges[1:],
                "value": self.values,
                "standard_error": self.errors,
            }
        )

    def _step(self, C: Any) -> Any:
        where = np.asarray(C, dtype=float)
        if not np.all((where >= self.edges[0]) & (where <= self.edges[-1])):
            raise must_be("C", f"between {self.edges[0]:g} and {self.edges[-1]:g}", found=repr(C))
        # the last edge has no step to its right, so it belongs to the one before
        return np.minimum(np.searchsorted(self.edges, where, side="right") - 1, len(self.values) - 1)

    def _runs(self, chosen: Array) -> list[tuple[float, float]]:
        """Return the ends of the runs of chosen steps."""
        steps = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
        return [(float(self.edges[a]), float(self.edges[b])) for a, b in steps.reshape(-1, 2)]


def log_midpoint(interval: tuple[float, float]) -> float:
    """Return the middle of an interval of C on a logarithmic axis; a factor 2 from its only positive end.

    >>> log_midpoint((1, 100)), log_midpoint((0, 8)), log_midpoint((8, float("inf")))
    (10.0, 4.0, 16.0)
    """
    lo, hi = interval
    if lo <= 0:
        return hi / 2 if np.isfinite(hi) else 1.0
    return float(np.sqrt(lo * hi)) if np.isfinite(hi) else 2.0 * lo


def validation_curve(
    lines: Iterable[PiecewiseLinear], y: Any, qid: Any = None, metric: Metric = "pairwise_accuracy"
) -> SelectionCurve:
    """Return a metric of labels y at every C, from the scores of the items as lines in C.

    The metric must depend on nothing but the order of scores within queries.
    """
    return step_curve(Validation(y, qid, metric).steps, lines)


def step_curve(
    steps: Callable[[Any], Iterable[Steps]], lines: Iterable[Any], greater_is_better: bool = True
) -> SelectionCurve:
    """Return the curve of the steps on all blocks of lines, the last of which ends at its `hi[-1]`."""
    parts, end = [], 0.0
    for block in lines:
        parts += list(steps(block))
        end = float(block.hi[-1])
    if not parts:
        raise DataError("the {argument} has no piece to choose from", argument="path")
    starts, values, errors = (np.concatenate(column) for column in zip(*parts, strict=True))
    return SelectionCurve(*_merged(np.append(starts, end), values, errors), greater_is_better)


def average_curves(curves: Sequence[SelectionCurve]) -> SelectionCurve:
    """Return the mean of curves, where all of them are defined, with its standard error over the curves."""
    if not curves:
        raise DataError("{argument} is empty: at least one is needed", argument="curves")
    if len({curve.greater_is_better for curve in curves}) > 1:
        raise DataError("{argument} differ in whether greater is better", argument="curves")
    lo, hi = max(c.edges[0] for c in curves), min(c.edges[-1] for c in curves)
    if not lo < hi:
        raise must_have("curves", "some C in common", found=f"a start at {lo:g} and an end at {hi:g}")
    edges = np.unique(np.concatenate([curve.edges for curve in curves]))
    edges = edges[(edges >= lo) & (edges <= hi)]
    values = np.stack([curve.at(edges[:-1]) for curve in curves])
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(curves)) if len(curves) > 1 else curves[0].errors
    is_exact = all(curve.is_exact for curve in curves)
    return SelectionCurve(*_merged(edges, values.mean(axis=0), errors), curves[0].greater_is_better, is_exact)


def _merged(edges: Array, values: Array, errors: Array) -> tuple[Array, Array, Array]:
    """Return a step function without steps of no length, and without edges at which nothing changes."""
    real = np.diff(edges) > SHORTEST * edges[:-1]
    starts, values, errors = edges[:-1][real], values[real], errors[real]
    if not len(starts):
        message = "the {argument} has no length: it is C = {found} alone"
        raise DataError(message, argument="path", found=f"{edges[0]:g}")
    # an edge at which the error alone changes stays: `error_at` and `C_one_standard_error` read it
    is_new = (np.abs(np.diff(values)) > EQUAL) | (np.abs(np.diff(errors)) > EQUAL_ERRORS)
    new = np.append(True, is_new)
    return np.append(starts[new], edges[-1]), values[new], errors[new]
