r"""Metrics of predicted levels, from the confusion table, and their standard errors by the jackknife.

Entry (i, j) of the confusion table :math:`T` is how many objects of level i were given level j, or the sum of
their weights; N is the sum of all entries, :math:`r` and :math:`c` those of rows and columns. Every metric
takes a stack of tables, so that a whole path is measured at once.

The jackknife leaves out one object at a time. With :math:`\theta_i` the metric without object i, over the n
objects without which it is defined,

.. math:: \sqrt{\tfrac{n-1}{n} \sum_i (\theta_i - \bar\theta)^2}.

Objects of one cell of the table are alike, so that there are no more different :math:`\theta_i` than cells.

Differences of labels are counted in levels: those given, the categories of an ordered categorical, or the
numbers that occur among true and predicted labels, sorted. Between 1 and 5 there is one level if nothing else
occurs; name all levels where that is not meant.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from ranking.core.labels import read_levels
from ranking.core.validation import Array, Integers, as_vector
from ranking.errors import DataError, must_be


class LevelMetric(NamedTuple):
    """What a metric says of confusion tables (..., K, K), NaN for 0/0, and its definition in a sentence."""

    of: Callable[[Array], Array]
    definition: str
    greater_is_better: bool


class MetricOfLabels(Protocol):
    """A metric as a function of labels; `levels` are as in `level_metric_table`."""

    def __call__(
        self, y_true: Any, y_pred: Any, levels: Sequence[Any] | None = None, *, sample_weight: Any = None
    ) -> float:
        """Return the metric, which must be defined for these labels."""


_metrics: dict[str, LevelMetric] = {}
# All metrics by name, in the order of tables and reports; `_level_metric` enters them.
LEVEL_METRICS: Mapping[str, LevelMetric] = MappingProxyType(_metrics)


def _level_metric(
    definition: str, greater_is_better: bool
) -> Callable[[Callable[[Array], Array]], MetricOfLabels]:
    """Enter a metric of confusion tables in `LEVEL_METRICS`, and make it a function of labels."""

    def of_labels(of: Callable[[Array], Array]) -> MetricOfLabels:
        def metric(
            y_true: Any, y_pred: Any, levels: Sequence[Any] | None = None, *, sample_weight: Any = None
        ) -> float:
            table, _, _ = _compared(y_true, y_pred, levels, sample_weight)
            value = float(of(table))
            if not np.isfinite(value):
                found = _reason(of.__name__)
                raise DataError("{argument} is not defined: {found}", argument=of.__name__, found=found)
            return value

        _metrics[of.__name__] = LevelMetric(of, definition, greater_is_better)
        metric.__name__, metric.__qualname__, metric.__doc__ = of.__name__, of.__name__, of.__doc__
        return metric

    return of_labels


@_level_metric("Mean number of levels between the true and the predicted one.", greater_is_better=False)
def mean_absolute_error(tables: Array) -> Array:
    r"""Return the mean number of levels between the true and the predicted one.

    That is :math:`\sum_{ij} |i - j| T_{ij} / N`.

    >>> mean_absolute_error(["low", "high"], ["low", "low"], ["low", "middle", "high"])
    1.0
    """
    return _mean(_distance(tables), tables)


@_level_metric(
    "Mean over the true levels that occur of the mean absolute error of their objects.",
    greater_is_better=False,
)
def macro_mean_absolute_error(tables: Array) -> Array:
    r"""Return the mean, over the true levels that occur, of the mean absolute error of their objects.

    Baccianella, Esuli and Sebastiani (2009): a level counts the same however many objects have it. The mean
    absolute error of those of level i is :math:`\sum_j |i - j| T_{ij} / r_i`.

    >>> macro_mean_absolute_error([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    rows = tables.sum(axis=-1)
    errors = _ratio((_distance(tables) * tables).sum(axis=-1), rows)
    occurs = rows > 0
    return _ratio(np.where(occurs, errors, 0.0).sum(axis=-1), occurs.sum(axis=-1))


@_level_metric("Share of the objects whose level was predicted.", greater_is_better=True)
def accuracy(tables: Array) -> Array:
    """Return the share of objects whose level was predicted.

    >>> accuracy([0, 1, 2, 2], [0, 1, 1, 2])
    0.75
    """
    return _mean(_distance(tables) == 0, tables)


@_level_metric(
    "Share of the objects whose predicted level is the true one or next to it.", greater_is_better=True
)
def off_by_one_accuracy(tables: Array) -> Array:
    """Return the share of objects whose predicted level is the true one or next to it.

    >>> off_by_one_accuracy([0, 1, 2, 2], [0, 1, 1, 0])
    0.75
    """
    return _mean(_distance(tables) <= 1, tables)


@_level_metric(
    "Cohen's kappa: 1 less the squared distances of levels over those expected by chance.",
    greater_is_better=True,
)
def quadratic_weighted_kappa(tables: Array) -> Array:
    r"""Return Cohen's kappa with quadratic weights,

    .. math:: 1 - \frac{\sum_{ij} (i-j)^2 \, T_{ij}}{\sum_{ij} (i-j)^2 \, r_i c_j / N}.

    It is not defined where all true and predicted levels are the same single one.

    >>> quadratic_weighted_kappa([0, 1, 2], [0, 1, 1])
    0.6666666666666667
    """
    square = _distance(tables) ** 2
    chance = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :]
    total = tables.sum(axis=(-2, -1))
    return 1.0 - _ratio(total * (square * tables).sum(axis=(-2, -1)), (square * chance).sum(axis=(-2, -1)))


@_level_metric(
    "Kendall's tau-b: pairs in the right order less those in the wrong one, over the geometric "
    "mean of the numbers of pairs with unequal true and with unequal predicted levels.",
    greater_is_better=True,
)
def level_kendall_tau(tables: Array) -> Array:
    r"""Return Kendall's :math:`\tau_b` of true and predicted levels,

    .. math:: \frac{\sum T_{ij} T_{kl} \operatorname{sgn}(i - k) \operatorname{sgn}(j - l)}
                   {\sqrt{(N^2 - \sum_i r_i^2) \, (N^2 - \sum_j c_j^2)}}.

    Predicted levels that are all equal express no order: 0/0 counts as 0. With true levels all equal it is
    not defined.

    >>> round(level_kendall_tau([0, 1, 2], [0, 2, 2]), 9)
    0.816496581
    """
    k = np.arange(tables.shape[-1])
    sign = np.sign(k[:, None] - k)
    concordance = (tables * (sign @ tables @ sign.T)).sum(axis=(-2, -1))
    true_pairs, predicted_pairs = (_unequal(tables.sum(axis=axis)) for axis in (-1, -2))
    value = _ratio(concordance, np.sqrt(true_pairs * predicted_pairs))
    return np.where((predicted_pairs == 0) & (true_pairs > 0), 0.0, value)


def _distance(tables: Array) -> Array:
    """Return |i - j| for every entry of a table."""
    k = np.arange(tables.shape[-1])
    return np.abs(k[:, None] - k)


def _mean(worth: Array, tables: Array) -> Array:
    """Return the mean over objects of what their entries of the table are worth."""
    return _ratio((worth * tables).sum(axis=(-2, -1)), tables.sum(axis=(-2, -1)))


def _unequal(sums: Array) -> Array:
    """Return twice the number of pairs of objects in different groups of given sizes."""
    # products are 0 for a single group also where sizes are sums of weights, N² - Σ r² is not
    return 2.0 * (np.cumsum(sums, axis=-1)[..., :-1] * sums[..., 1:]).sum(axis=-1)


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Return a quotient, NaN where the denominator is 0."""
    missing = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    return np.divide(numerator, denominator, out=missing, where=denominator != 0)


def confusion_table(y_true: Integers, y_pred: Integers, n_levels: int, weight: Array | None = None) -> Array:
    """Return how many objects, or what weight of them, have each true level (row) and predicted one (column).

    >>> confusion_table(np.array([0, 1, 1]), np.array([0, 0, 1]), 2)
    array([[1., 0.],
           [1., 1.]])
    """
    counts = np.bincount(y_true * n_levels + y_pred, weight, minlength=n_levels**2)
    return counts.reshape(n_levels, n_levels).astype(float)


def table_errors(of: Callable[[Array], Array], tables: Array) -> Array:
    """Return the standard error of a metric at every table of counts of a stack (..., K, K).

    That of an accuracy of 1/2 among four objects is the root of 1/4 · 1/3:

    >>> table_errors(lambda tables: tables[..., 0, 0] / tables.sum(axis=(-2, -1)), np.array([[2, 2], [0, 0]]))
    array(0.28867513)
    """
    n_levels = tables.shape[-1]
    stack = tables.reshape(-1, n_levels, n_levels).astype(float)
    values, counts = of(stack), stack.reshape(len(stack), n_levels**2).T
    changes = np.full(counts.shape, np.nan)
    for cell, has_objects in enumerate(counts > 0):
        rest = stack[has_objects]
        rest[:, cell // n_levels, cell % n_levels] -= 1
        changes[cell, has_objects] = of(rest) - values[has_objects]
    return _spread(changes, counts).reshape(tables.shape[:-2])


def weighted_errors(of: Callable[[Array], Array], table: Array, cells: Integers, weight: Array) -> float:
    """Return the standard error at one table of weights, from the cell (i K + j) and weight of every object.

    Objects without weight are none.
    """
    is_there = weight > 0
    objects = np.column_stack([cells, weight])[is_there]
    kinds, counts = np.unique(objects, axis=0, return_counts=True)
    rest = np.repeat(table.reshape(1, -1), len(kinds), axis=0)
    rest[np.arange(len(kinds)), kinds[:, 0].astype(np.int64)] -= kinds[:, 1]
    changes = of(rest.reshape(-1, *table.shape)) - of(table)
    return float(_spread(changes, counts.astype(float)))


def _spread(changes: Array, counts: Array) -> Array:
    """Return the standard errors of changes that occur so often, along the first axis; NaN changes do not."""
    counts = np.where(np.isfinite(changes), counts, 0.0)
    changes = np.nan_to_num(changes)
    size = counts.sum(axis=0)
    first, second = ((counts * power).sum(axis=0) for power in (changes, changes**2))
    n = np.maximum(size, 2.0)
    variance = (n - 1) / n * np.maximum(second - first**2 / n, 0.0)
    return np.asarray(np.where(size < 2, np.nan, np.sqrt(variance)))


def level_metric_table(
    y_true: Any, y_pred: Any, levels: Sequence[Any] | None = None, *, sample_weight: Any = None
) -> pd.DataFrame:
    """Return every metric with its value, standard error by the jackknife over objects, and definition.

    A metric that these labels do not allow has the value NaN, and its definition ends with the reason.

    >>> level_metric_table([0, 1, 2, 2], [0, 1, 1, 2])[["metric", "value", "standard_error"]].round(3)
                          metric  value  standard_error
    0        mean_absolute_error  0.250           0.250
    1  macro_mean_absolute_error  0.167           0.217
    2                   accuracy  0.750           0.250
    3        off_by_one_accuracy  1.000           0.000
    4   quadratic_weighted_kappa  0.800           0.377
    5          level_kendall_tau  0.800           0.312
    """
    table, cells, weight = _compared(y_true, y_pred, levels, sample_weight)
    rows = []
    for name, metric in LEVEL_METRICS.items():
        value = float(metric.of(table))
        error = weighted_errors(metric.of, table, cells, weight)
        reason = "" if np.isfinite(value) else f" Undefined here: {_reason(name)}."
        rows.append((name, value, error, metric.definition + reason))
    return pd.DataFrame(rows, columns=["metric", "value", "standard_error", "definition"])


def _compared(
    y_true: Any, y_pred: Any, levels: Sequence[Any] | None, sample_weight: Any
) -> tuple[Array, Integers, Array]:
    """Return the confusion table, and the cell and weight of every object, 1 if none are given."""
    if np.size(y_true) == 0:
        raise DataError("{argument} is empty: there is nothing to compare", argument="y_true")
    found = read_levels(y_true, levels, "y_true")
    if levels is None:
        found = found.extended(y_pred, "y_pred")
    true, predicted = found.codes(y_true, "y_true"), found.codes(y_pred, "y_pred")
    n = len(true)
    if len(predicted) != n:
        raise must_be("y_pred", f"one label for each of {n} objects", found=len(predicted))
    weight = np.ones(n) if sample_weight is None else as_vector(sample_weight, "sample_weight", n)
    for row in np.flatnonzero(weight < 0)[:1]:
        raise must_be(f"sample_weight[{row}]", "at least 0", found=f"{weight[row]:g}")
    if not weight.any():
        raise must_be("sample_weight", "positive for some object", found="0 for all")
    table = confusion_table(true, predicted, len(found), weight)
    return table, true * len(found) + predicted, weight


def _reason(name: str) -> str:
    others = " and y_pred" if name == "quadratic_weighted_kappa" else ""
    return f"all labels of y_true{others} are the same"
