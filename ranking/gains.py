r"""Gains: discounted cumulative gain of one query, for labels of any size.

Room: labels and scores of one query in, the curve of NDCG@m out. Knows no queries and no averages.
May touch: `errors`, `arrays`.
"""

from typing import Literal

import numpy as np

from ranking.arrays import Array
from ranking.errors import DataError

Discount = Literal["letor", "standard"]


def ndcg_curve(y: Array, scores: Array, discount: Discount = "letor") -> Array:
    r"""Return NDCG@1, NDCG@2, ..., NDCG@n of one query.

    With :math:`\pi` an order of descending labels and :math:`\bar\pi` one of descending scores [Kuo et al.
    2014, section 4.2],

    .. math:: \text{NDCG@}m = \frac{\sum_{i \le m} (2^{y_{\bar\pi(i)}} - 1)\, d(i)}
                                   {\sum_{i \le m} (2^{y_{\pi(i)}} - 1)\, d(i)},
              \qquad d(i) = \frac{1}{\log_2 \max(2, i)} .

    Items of equal score are taken in every order, and the mean over these orders is returned: each of them
    gets the mean gain of all. A query whose labels are all 0 has NDCG 0/0, which is returned as 0, as by the
    LETOR 4.0 program.

    >>> ndcg_curve(np.array([0.0, 2.0, 1.0]), np.array([0.3, 0.2, 0.1]))
    array([0.    , 0.75  , 0.9077...])
    """
    gains = _gains(y)
    weights = _discounts(len(y), discount)
    reached = np.cumsum(_in_order(gains, scores) * weights)
    ideal = np.cumsum(np.sort(gains)[::-1] * weights)
    return np.divide(reached, ideal, out=np.zeros_like(ideal), where=ideal > 0)


def _gains(y: Array) -> Array:
    r"""Return :math:`(2^y - 1) / 2^{\max y}`: only ratios matter, and these neither overflow nor cancel."""
    if y.min() < 0:
        raise DataError(
            f"y holds {y.min():g}, but a gain 2^y - 1 needs y >= 0; "
            f"subtract the smallest label, or take another metric"
        )
    return np.exp2(y - y.max()) * -np.expm1(-y * np.log(2))


def _in_order(gains: Array, scores: Array) -> Array:
    """Return the gains by descending score, those of equal scores replaced by their mean."""
    _, ranks = np.unique(-scores, return_inverse=True)
    means = np.bincount(ranks, gains) / np.bincount(ranks)
    return means[np.sort(ranks)]


def _discounts(n: int, discount: Discount) -> Array:
    """Return d(1), ..., d(n)."""
    positions = np.arange(1, n + 1)
    if discount == "letor":
        return 1 / np.log2(np.maximum(2, positions))
    if discount == "standard":
        return 1 / np.log2(1 + positions)
    raise DataError(f"discount must be 'letor' or 'standard', got {discount!r}")
