r"""Ranking metrics of single queries: concordant pairs, discounted gains, precision, rank correlations.

Pairs in the right order are counted by sorting, without visiting the pairs. `scored_queries` checks labels
and scores and sorts them into queries; `ranking.metrics.over_queries` takes the means over queries.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.metrics import average_precision_score

from ranking.core.validation import Array, as_vector, named_queries, require_choice
from ranking.errors import DataError, must_be


class PairCounts(NamedTuple):
    """Of all pairs with y_i > y_j: how many have s_i > s_j, how many s_i = s_j, and how many there are."""

    right: int
    tied: int
    pairs: int


def count_pairs(y: Array, scores: Array) -> PairCounts:
    """Return the counts of one query in O(n log n), by a tree of order statistics over the scores.

    Items enter the tree level by level, the least relevant first, so that a walk down the tree counts the
    less relevant items with a smaller score [Airola et al. 2011; Kuo et al. 2014, section 3.2].

    >>> count_pairs(np.array([2, 1, 1, 0]), np.array([3.0, 1.0, 4.0, 1.0]))
    PairCounts(right=3, tied=1, pairs=5)
    """
    # numba takes a third of a second to import, which `import ranking` should not
    from ranking.metrics.concordance import count_concordant

    order = np.argsort(y, kind="stable")
    values, ranks = np.unique(scores, return_inverse=True)
    right, tied, pairs = count_concordant(np.ascontiguousarray(y[order]), ranks[order] + 1, len(values))
    return PairCounts(int(right), int(tied), int(pairs))


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
    gains, positions = _gains(y), np.arange(1, len(y) + 1)
    if discount not in ("letor", "standard"):
        raise must_be("discount", "'letor' or 'standard'", found=repr(discount))
    weights = 1 / np.log2(np.maximum(2, positions) if discount == "letor" else 1 + positions)
    reached = np.cumsum(_in_order(gains, scores) * weights)
    ideal = np.cumsum(np.sort(gains)[::-1] * weights)
    return np.divide(reached, ideal, out=np.zeros_like(ideal), where=ideal > 0)


def _gains(y: Array) -> Array:
    r"""Return :math:`(2^y - 1) / 2^{\max y}`: only ratios matter, and these neither overflow nor cancel."""
    if y.min() < 0:
        raise DataError(
            "{argument} holds {found}, but a gain 2^y - 1 needs {expected}",
            argument="y",
            found=f"{y.min():g}",
            expected="y >= 0",
            remedy="subtract the smallest label, or take another metric",
        )
    return np.exp2(y - y.max()) * -np.expm1(-y * np.log(2))


def _in_order(gains: Array, scores: Array) -> Array:
    """Return the gains by descending score, those of equal scores replaced by their mean."""
    _, ranks = np.unique(-scores, return_inverse=True)
    means = np.bincount(ranks, gains) / np.bincount(ranks)
    return means[np.sort(ranks)]


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
        raise must_be("k", "a whole number of at least 1, or None for the whole list", found=repr(k))
    curve = ndcg_curve(y, scores, discount)
    return float(curve[min(k or len(y), len(y)) - 1]) if _counts(y, queries) else np.nan


def _mean_ndcg_of(
    y: Array, scores: Array, *, discount: Discount = "letor", queries: Queries = "paired"
) -> float:
    curve = ndcg_curve(y, scores, discount)
    return float(curve.mean()) if _counts(y, queries) else np.nan


def _correlation_of(of: Callable[[Array, Array], Any], y: Array, scores: Array) -> float:
    if not _differ(y):
        return np.nan
    return float(of(y, scores).statistic) if _differ(scores) else 0.0


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
    """Return whether a query with these labels goes into the mean."""
    require_choice(queries, ("paired", "all"), "queries")
    return queries == "all" or _differ(labels)


def tie_value(ties: Ties) -> float:
    """Return what a pair with equal scores counts."""
    require_choice(ties, TIE_VALUES, "ties")
    return TIE_VALUES[ties]


METRICS = MappingProxyType(
    {
        "pairwise_accuracy": Metric(
            _accuracy_of, "Share of the pairs with y_i > y_j that have s_i > s_j, equal scores counting half."
        ),
        "ndcg": Metric(
            _ndcg_of,
            "Discounted gain of the first k items by score over that of the first k by label, "
            "gain 2^y - 1, discount 1/log2(max(2, position)), mean over orders of equal scores.",
        ),
        "mean_ndcg": Metric(_mean_ndcg_of, "Mean of NDCG@1, NDCG@2, ..., up to the length of the query."),
        "kendall_tau": Metric(
            partial(_correlation_of, stats.kendalltau),
            "Kendall's tau-b: pairs in the right order less those in the wrong one, over "
            "the geometric mean of the numbers of pairs with unequal labels and with unequal scores.",
        ),
        "spearman": Metric(
            partial(_correlation_of, stats.spearmanr),
            "Spearman's rho: correlation of the mean ranks of labels and scores.",
        ),
        "average_precision": Metric(
            _average_precision_of,
            "Mean over relevant items (y > threshold) of the share of relevant ones "
            "among the items scored at least as high.",
        ),
    }
)


@dataclass(frozen=True, eq=False)
class ScoredQueries:
    """Labels y and scores of items, and for each query, in order of first appearance, the items it holds."""

    y: Array
    scores: Array
    queries: "pd.Index[Any]"
    members: tuple[Array, ...]

    def by_query(self, measure: Callable[[Array, Array], float], name: str) -> "pd.Series[float]":
        """Return what a measure says of the labels and scores of each query."""
        values = [measure(self.y[items], self.scores[items]) for items in self.members]
        return pd.Series(values, index=self.queries, name=name, dtype=float)


def scored_queries(y: Any, scores: Any, qid: Any = None) -> ScoredQueries:
    """Return labels and scores by query, all items being one query where no qid is given.

    >>> scored_queries([1, 0, 2], [0.1, 0.2, 0.3], ["a", "b", "a"]).members
    (array([0, 2]), array([1]))
    """
    labels = as_vector(y, "y")
    if len(labels) == 0:
        raise DataError("{argument} is empty: there is nothing to rank", argument="y")
    values = as_vector(scores, "scores", len(labels))
    codes, queries = named_queries(qid, len(labels))
    bounds = np.cumsum(np.bincount(codes))[:-1]
    members = np.split(np.argsort(codes, kind="stable"), bounds)
    return ScoredQueries(labels, values, queries, tuple(members))
