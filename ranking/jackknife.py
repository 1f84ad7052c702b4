r"""Jackknife: the standard error of a metric of confusion tables, leaving out one object at a time.

With :math:`\theta_i` the metric without object i, over the n objects without which it is defined,

.. math:: \sqrt{\tfrac{n-1}{n} \sum_i (\theta_i - \bar\theta)^2}.

Objects of one cell of the table are alike, so that there are no more different :math:`\theta_i` than cells.

Room: a metric of tables and tables in, standard errors out. Knows no labels and no C.
May touch: `arrays`, `arguments`.
"""

from collections.abc import Callable

import numpy as np

from ranking.arguments import Integers
from ranking.arrays import Array


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
