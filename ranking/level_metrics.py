r"""Level metrics: how well predicted levels agree with true ones, from the table of how often both met.

Entry (i, j) of the confusion table :math:`T` is how many objects of level i were given level j, or the sum of
their weights; N is the sum of all entries, :math:`r` and :math:`c` those of rows and columns. Every metric
takes a stack of tables, so that a whole path is measured at once.

Room: confusion tables in, numbers out, NaN where a table says nothing. Knows no labels and no C.
May touch: `arrays`, `arguments`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ranking.arguments import Integers
from ranking.arrays import Array


class LevelMetric(NamedTuple):
    """What a metric says of confusion tables (..., K, K), and its definition in a sentence."""

    name: str
    of: Callable[[Array], Array]
    definition: str
    greater_is_better: bool


def confusion_table(y_true: Integers, y_pred: Integers, n_levels: int, weight: Array | None = None) -> Array:
    """Return how many objects, or what weight of them, have each true level (row) and predicted one (column).

    >>> confusion_table(np.array([0, 1, 1]), np.array([0, 0, 1]), 2)
    array([[1., 0.],
           [1., 1.]])
    """
    counts = np.bincount(y_true * n_levels + y_pred, weight, minlength=n_levels**2)
    return counts.reshape(n_levels, n_levels).astype(float)


def mean_absolute_error_of(tables: Array) -> Array:
    r"""Return the mean distance of predicted from true levels, :math:`\sum_{ij} |i - j| \, T_{ij} / N`.

    >>> float(mean_absolute_error_of(np.array([[1, 0, 1], [0, 2, 0], [0, 0, 0]])))
    0.5
    """
    return _mean(tables, _distance(tables))


def accuracy_of(tables: Array) -> Array:
    """Return the share of objects whose level was predicted."""
    return _mean(tables, _distance(tables) == 0)


def off_by_one_accuracy_of(tables: Array) -> Array:
    """Return the share of objects whose predicted level is the true one or next to it."""
    return _mean(tables, _distance(tables) <= 1)


def macro_mean_absolute_error_of(tables: Array) -> Array:
    r"""Return the mean over true levels that occur of the mean distance :math:`\sum_j |i - j| T_{ij} / r_i`.

    Baccianella, Esuli and Sebastiani (2009): a level counts the same however many objects have it.

    >>> float(macro_mean_absolute_error_of(np.array([[9, 0], [1, 0]])))
    0.5
    """
    rows = tables.sum(axis=-1)
    errors = _ratio((_distance(tables) * tables).sum(axis=-1), rows)
    occurs = rows > 0
    return _ratio(np.where(occurs, errors, 0.0).sum(axis=-1), occurs.sum(axis=-1))


def quadratic_weighted_kappa_of(tables: Array) -> Array:
    r"""Return Cohen's kappa with quadratic weights,

    .. math:: 1 - \frac{\sum_{ij} (i-j)^2 \, T_{ij}}{\sum_{ij} (i-j)^2 \, r_i c_j / N};

    0/0, where all true and predicted levels are the same single one, is NaN.

    >>> float(quadratic_weighted_kappa_of(np.array([[2, 0], [0, 2]])))
    1.0
    """
    square = _distance(tables) ** 2
    chance = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :]
    total = tables.sum(axis=(-2, -1))
    return 1.0 - _ratio(total * (square * tables).sum(axis=(-2, -1)), (square * chance).sum(axis=(-2, -1)))


def kendall_tau_of(tables: Array) -> Array:
    r"""Return Kendall's :math:`\tau_b` of true and predicted levels,

    .. math:: \frac{\sum T_{ij} T_{kl} \operatorname{sgn}(i - k) \operatorname{sgn}(j - l)}
                   {\sqrt{(N^2 - \sum_i r_i^2) \, (N^2 - \sum_j c_j^2)}}.

    Predicted levels that are all equal express no order: 0/0 counts as 0. With true levels all equal it is
    NaN.

    >>> round(float(kendall_tau_of(np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0]]))), 9)
    0.333333333
    """
    k = np.arange(tables.shape[-1])
    sign = np.sign(k[:, None] - k)
    concordance = (tables * (sign @ tables @ sign.T)).sum(axis=(-2, -1))
    true_pairs, predicted_pairs = (_unequal(tables.sum(axis=axis)) for axis in (-1, -2))
    value = _ratio(concordance, np.sqrt(true_pairs * predicted_pairs))
    return np.where((predicted_pairs == 0) & (true_pairs > 0), 0.0, value)


LEVEL_METRICS: Mapping[str, LevelMetric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            LevelMetric(
                "mean_absolute_error",
                mean_absolute_error_of,
                "Mean number of levels between the true and the predicted one.",
                greater_is_better=False,
            ),
            LevelMetric(
                "macro_mean_absolute_error",
                macro_mean_absolute_error_of,
                "Mean over the true levels that occur of the mean absolute error of their objects.",
                greater_is_better=False,
            ),
            LevelMetric(
                "accuracy",
                accuracy_of,
                "Share of the objects whose level was predicted.",
                greater_is_better=True,
            ),
            LevelMetric(
                "off_by_one_accuracy",
                off_by_one_accuracy_of,
                "Share of the objects whose predicted level is the true one or next to it.",
                greater_is_better=True,
            ),
            LevelMetric(
                "quadratic_weighted_kappa",
                quadratic_weighted_kappa_of,
                "Cohen's kappa: 1 less the squared distances of levels over those expected by chance.",
                greater_is_better=True,
            ),
            LevelMetric(
                "level_kendall_tau",
                kendall_tau_of,
                "Kendall's tau-b: pairs in the right order less those in the wrong one, over the geometric "
                "mean of the numbers of pairs with unequal true and with unequal predicted levels.",
                greater_is_better=True,
            ),
        )
    }
)


def _distance(tables: Array) -> Array:
    """Return |i - j| for every entry of a table."""
    k = np.arange(tables.shape[-1])
    return np.abs(k[:, None] - k)


def _mean(tables: Array, worth: Array) -> Array:
    """Return the mean over objects of what each entry is worth."""
    return _ratio((worth * tables).sum(axis=(-2, -1)), tables.sum(axis=(-2, -1)))


def _unequal(sums: Array) -> Array:
    """Return twice the number of pairs of objects in different groups of given sizes.

    By products, which are 0 for a single group also where sizes are sums of weights.
    """
    others = sums.shape[-1] - 1
    before = np.cumsum(sums, axis=-1)[..., :others]
    return 2.0 * (before * sums[..., 1:]).sum(axis=-1)


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Return a quotient, NaN where the denominator is 0."""
    missing = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    return np.divide(numerator, denominator, out=missing, where=denominator != 0)
