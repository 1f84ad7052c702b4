"""Measures: what each metric says of one query, and its definition in a sentence.

Room: labels and scores of one query in, a number out, NaN where the query says nothing. Knows no averages.
May touch: `errors`, `arrays`, `concordance`, `gains`.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats
from sklearn.metrics import average_precision_score

from ranking.arrays import Array
from ranking.concordance import count_pairs
from ranking.errors import DataError
from ranking.gains import Discount, ndcg_curve

Ties = Literal["half", "wrong"]
Queries = Literal["paired", "all"]
# What a pair with equal scores counts.
TIE_VALUES = {"half": 0.5, "wrong": 0.0}


class Metric(NamedTuple):
    """What a metric says of one query, NaN where it says nothing, and its definition in a sentence."""

    of: Callable[..., float]
    definition: str


def _accuracy_of(y: Array, scores: Array, *, ties: Ties = "half") -> float:
    right, tied, pairs = count_pairs(y, scores)
    value = right + tie_value(ties) * tied
    return value / pairs if pairs else np.nan


def _ndcg_of(
    y: Array,
    scores: Array,
    *,
    k: int | None = None,
    discount: Discount = "letor",
    queries: Queries = "paired",
) -> float:
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise DataError(f"k must be a whole number of at least 1, or None for the whole list, got {k!r}")
    curve = ndcg_curve(y, scores, discount)
    return float(curve[min(k or len(y), len(y)) - 1]) if _counts(y, queries) else np.nan


def _mean_ndcg_of(
    y: Array, scores: Array, *, discount: Discount = "letor", queries: Queries = "paired"
) -> float:
    curve = ndcg_curve(y, scores, discount)
    return float(curve.mean()) if _counts(y, queries) else np.nan


def _kendall_of(y: Array, scores: Array) -> float:
    if not _differ(y):
        return np.nan
    return float(stats.kendalltau(y, scores).statistic) if _differ(scores) else 0.0


def _spearman_of(y: Array, scores: Array) -> float:
    if not _differ(y):
        return np.nan
    return float(stats.spearmanr(y, scores).statistic) if _differ(scores) else 0.0


def _average_precision_of(
    y: Array, scores: Array, *, threshold: float = 0.0, queries: Queries = "paired"
) -> float:
    relevant = y > threshold
    if not _counts(relevant, queries):
        return np.nan
    return float(average_precision_score(relevant, scores)) if relevant.any() else 0.0


def _differ(values: Array) -> bool:
    return bool((values != values[0]).any())


def _counts(labels: Array, queries: Queries) -> bool:
    """Tell whether a query with these labels goes into the mean."""
    if queries not in ("paired", "all"):
        raise DataError(f"queries must be 'paired' or 'all', got {queries!r}")
    return queries == "all" or _differ(labels)


def tie_value(ties: Ties) -> float:
    """Return what a pair with equal scores counts."""
    if ties not in TIE_VALUES:
        raise DataError(f"ties must be 'half' or 'wrong', got {ties!r}")
    return TIE_VALUES[ties]


METRICS = MappingProxyType(
    {
        "pairwise_accuracy": Metric(
            _accuracy_of,
            "Share of the pairs with y_i > y_j that have s_i > s_j, equal scores counting half.",
        ),
        "ndcg": Metric(
            _ndcg_of,
            "Discounted gain of the first k items by score over that of the first k by label, "
            "gain 2^y - 1, discount 1/log2(max(2, position)), mean over orders of equal scores.",
        ),
        "mean_ndcg": Metric(_mean_ndcg_of, "Mean of NDCG@1, NDCG@2, ..., up to the length of the query."),
        "kendall_tau": Metric(
            _kendall_of,
            "Kendall's tau-b: pairs in the right order less those in the wrong one, over "
            "the geometric mean of the numbers of pairs with unequal labels and with unequal scores.",
        ),
        "spearman": Metric(
            _spearman_of, "Spearman's rho: correlation of the mean ranks of labels and scores."
        ),
        "average_precision": Metric(
            _average_precision_of,
            "Mean over relevant items (y > threshold) of the share of relevant ones "
            "among the items scored at least as high.",
        ),
    }
)
