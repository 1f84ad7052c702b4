"""Agreement: metrics of labels and predicted labels whose order counts, and all of them as a table.

Differences of labels are counted in levels: those given, the categories of an ordered categorical, or the
numbers that occur among true and predicted labels, sorted. Between 1 and 5 there is one level if nothing else
occurs; name all levels where that is not meant.

Room: labels as handed in, in; numbers and a table out.
May touch: `errors`, `arguments`, `arrays`, `levels`, `level_metrics`, `jackknife`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ranking.arguments import Integers
from ranking.arrays import Array, as_vector
from ranking.errors import DataError
from ranking.jackknife import weighted_errors
from ranking.level_metrics import LEVEL_METRICS, confusion_table
from ranking.levels import read_levels


def mean_absolute_error(
    y_true: Any, y_pred: Any, levels: Sequence[Any] | None = None, *, sample_weight: Any = None
) -> float:
    """Return the mean number of levels between the true and the predicted one.

    >>> mean_absolute_error(["low", "high"], ["low", "low"], ["low", "middle", "high"])
    1.0
    """
    return _value("mean_absolute_error", y_true, y_pred, levels, sample_weight)


def macro_mean_absolute_error(
    y_true: Any, y_pred: Any, levels: Sequence[Any] | None = None, *, sample_weight: Any = None
) -> float:
    """Return the mean, over the true levels that occur, of the mean absolute error of their objects.

    A level counts the same however many objects have it: Baccianella, Esuli and Sebastiani (2009).

    >>> macro_mean_absolute_error([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    return _value("macro_mean_absolute_error", y_true, y_pred, levels, sample_weight)


def accuracy(
    y_true: Any, y_pred: Any, levels: Sequence[Any] | None = None, *, sample_weight: Any = None
) -> float:
    """Return the share of objects whose level was predicted.

    >>> accuracy([0, 1, 2, 2], [0, 1, 1, 2])
    0.75
    """
    return _value("accuracy", y_true, y_pred, levels, sample_weight)


def off_by_one_accuracy(
    y_true: Any, y_pred: Any, levels: Sequence[Any] | None = None, *, sample_weight: Any = None
) -> float:
    """Return the share of objects whose predicted level is the true one or next to it.

    >>> off_by_one_accuracy([0, 1, 2, 2], [0, 1, 1, 0])
    0.75
    """
    return _value("off_by_one_accuracy", y_true, y_pred, levels, sample_weight)


def quadratic_weighted_kappa(
    y_true: Any, y_pred: Any, levels: Sequence[Any] | None = None, *, sample_weight: Any = None
) -> float:
    """Return Cohen's kappa with quadratic weights: 1 less the squared distances over those due to chance.

    >>> quadratic_weighted_kappa([0, 1, 2], [0, 1, 1])
    0.6666666666666667
    """
    return _value("quadratic_weighted_kappa", y_true, y_pred, levels, sample_weight)


def level_kendall_tau(
    y_true: Any, y_pred: Any, levels: Sequence[Any] | None = None, *, sample_weight: Any = None
) -> float:
    r"""Return Kendall's :math:`\tau_b` of true and predicted levels; 0 where all predicted ones are equal.

    >>> round(level_kendall_tau([0, 1, 2], [0, 2, 2]), 9)
    0.816496581
    """
    return _value("level_kendall_tau", y_true, y_pred, levels, sample_weight)


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
    data = _compared(y_true, y_pred, levels, sample_weight)
    rows = []
    for name, metric in LEVEL_METRICS.items():
        value = float(metric.of(data.table))
        error = weighted_errors(metric.of, data.table, data.cells, data.weight)
        reason = "" if np.isfinite(value) else f" Undefined here: {_reason(name)}."
        rows.append((name, value, error, metric.definition + reason))
    return pd.DataFrame(rows, columns=["metric", "value", "standard_error", "definition"])


class _Compared(NamedTuple):
    """A confusion table, and the cell and weight of every object."""

    table: Array
    cells: Integers
    weight: Array


def _compared(y_true: Any, y_pred: Any, levels: Sequence[Any] | None, sample_weight: Any) -> _Compared:
    """Return what was predicted for what, counted."""
    if np.size(y_true) == 0:
        raise DataError("y_true is empty: there is nothing to compare")
    found = read_levels(y_true, levels, "y_true")
    if levels is None:
        found = found.extended(y_pred, "y_pred")
    true, predicted = found.codes(y_true, "y_true"), found.codes(y_pred, "y_pred")
    if len(predicted) != len(true):
        raise DataError(f"y_pred must hold one label for each of {len(true)} objects, got {len(predicted)}")
    weight = _weights(sample_weight, len(true))
    return _Compared(
        confusion_table(true, predicted, len(found), weight), true * len(found) + predicted, weight
    )


def _weights(sample_weight: Any, n: int) -> Array:
    """Return the weight of every object, 1 if none are given."""
    if sample_weight is None:
        return np.ones(n)
    weight = as_vector(sample_weight, "sample_weight", n)
    for row in np.flatnonzero(weight < 0)[:1]:
        raise DataError(f"sample_weight[{row}] must not be negative, got {weight[row]:g}")
    if not weight.any():
        raise DataError("sample_weight is 0 for every object; give at least one a positive weight")
    return weight


def _value(name: str, y_true: Any, y_pred: Any, levels: Sequence[Any] | None, sample_weight: Any) -> float:
    """Return a metric that must be defined."""
    value = float(LEVEL_METRICS[name].of(_compared(y_true, y_pred, levels, sample_weight).table))
    if not np.isfinite(value):
        raise DataError(f"{name} is not defined: {_reason(name)}")
    return value


def _reason(name: str) -> str:
    others = " and y_pred" if name == "quadratic_weighted_kappa" else ""
    return f"all labels of y_true{others} are the same"
