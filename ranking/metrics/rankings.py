r"""Ranking metrics: how well scores order items by their labels, query by query.

A preference pair is two items (i, j) of one query with :math:`y_i > y_j`. A query without a pair says nothing
about an order: it is left out of every mean, and shown as NaN by `per_query`. `queries="all"`, where there is
such an argument, takes the mean over all queries instead, 0/0 counting as 0, as the program that comes with
LETOR 4.0 does. Kuo et al. (2014) do not say what a query without a pair counts; their mean NDCG is
that of LETOR 4.0, hence `queries="all"`.

Pairs in the right order are counted by sorting, without visiting the pairs. Metrics of predicted labels
instead of scores come from `ranking.metrics.levels`.
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
    if discount not in ("letor", "standard"):
        raise must_be("discount", "'letor' or 'standard'", found=repr(discount))
    if y.min() < 0:
        raise DataError(
            "{argument} holds {found}, but a gain 2^y - 1 needs {expected}",
            argument="y",
            found=f"{y.min():g}",
            expected="y >= 0",
            remedy="subtract the smallest label, or take another metric",
        )
    # (2^y - 1) / 2^max y: only ratios of gains matter, and these neither overflow nor cancel
    gains = np.exp2(y - y.max()) * -np.expm1(-y * np.log(2))
    positions = np.arange(1, len(y) + 1)
    weights = 1 / np.log2(np.maximum(2, positions) if discount == "letor" else 1 + positions)
    _, ranks = np.unique(-scores, return_inverse=True)
    mean_gains = np.bincount(ranks, gains) / np.bincount(ranks)
    reached = np.cumsum(mean_gains[np.sort(ranks)] * weights)
    ideal = np.cumsum(np.sort(gains)[::-1] * weights)
    return np.divide(reached, ideal, out=np.zeros_like(ideal), where=ideal > 0)


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


def pairwise_accuracy(
    y: Any,
    scores: Any,
    qid: Any = None,
    *,
    average: Literal["queries", "pairs"] = "queries",
    ties: Ties = "half",
) -> float:
    r"""Return the share of preference pairs in the right order,

    .. math:: \frac{|\{(i, j) \in P : s_i > s_j\}| + \tfrac12 |\{(i, j) \in P : s_i = s_j\}|}{|P|},
              \qquad P = \{(i, j) : q_i = q_j,\; y_i > y_j\}.

    `average="queries"` is the mean of the shares of each query with a pair, so that large queries do not
    drown small ones; `average="pairs"` pools all pairs. `ties="wrong"` counts equal scores as an error. Kuo
    et al. (2014, section 4.2) pool and are strict: their number is `average="pairs", ties="wrong"`. O(n log
    n); the pairs are never listed.

    >>> pairwise_accuracy([2, 1, 0], [0.3, 0.1, 0.1])
    0.8333333333333334
    """
    if average == "queries":
        return float(per_query("pairwise_accuracy", y, scores, qid, ties=ties).mean())
    if average != "pairs":
        raise must_be("average", "'queries' or 'pairs'", found=repr(average))
    data = scored_queries(y, scores, qid)
    counts = np.array([count_pairs(data.y[items], data.scores[items]) for items in data.members])
    right, tied, pairs = counts.sum(axis=0).tolist()
    if pairs == 0:
        raise _nothing_to_compare(data)
    return float((right + tie_value(ties) * tied) / pairs)


def ndcg(
    y: Any,
    scores: Any,
    qid: Any = None,
    k: int | None = None,
    *,
    discount: Discount = "letor",
    queries: Queries = "paired",
) -> float:
    r"""Return the mean over queries of NDCG@k, of the whole list where k is None or larger.

    The gain of an item is :math:`2^y - 1`, so labels are relevances :math:`y \ge 0`; their size does not
    matter, since only ratios of gains are taken. `discount="letor"` is :math:`1/\log_2\max(2, i)` of Kuo et
    al. (2014) and LETOR 4.0, `"standard"` is :math:`1/\log_2(1 + i)` of most other programs.

    >>> ndcg([0, 2, 1], [0.3, 0.2, 0.1], k=2)
    0.75
    """
    return float(per_query("ndcg", y, scores, qid, k=k, discount=discount, queries=queries).mean())


def mean_ndcg(
    y: Any, scores: Any, qid: Any = None, *, discount: Discount = "letor", queries: Queries = "paired"
) -> float:
    r"""Return the mean over queries of the mean of NDCG@1, ..., NDCG@n_q, where n_q is the length of query q.

    Kuo et al. (2014, section 4.2): :math:`\sum_{m=1}^{l_q} \text{NDCG@}m \,/\, l_q`.

    >>> round(mean_ndcg([0, 2, 1], [0.3, 0.2, 0.1]), 4)
    0.5526
    """
    return float(per_query("mean_ndcg", y, scores, qid, discount=discount, queries=queries).mean())


def kendall_tau(y: Any, scores: Any, qid: Any = None) -> float:
    r"""Return the mean over queries of Kendall's :math:`\tau_b`.

    Scores that are equal throughout a query express no order: their :math:`\tau_b` of 0/0 counts as 0.

    >>> kendall_tau([1, 2, 3], [0.1, 0.3, 0.2])
    0.33333333333333337
    """
    return float(per_query("kendall_tau", y, scores, qid).mean())


def spearman(y: Any, scores: Any, qid: Any = None) -> float:
    r"""Return the mean over queries of Spearman's :math:`\rho`, the correlation of mean ranks.

    Scores that are equal throughout a query express no order: their 0/0 counts as 0.

    >>> spearman([1, 2, 3], [0.1, 0.3, 0.2])
    0.5
    """
    return float(per_query("spearman", y, scores, qid).mean())


def average_precision(y: Any, scores: Any, *, threshold: float = 0.0) -> float:
    r"""Return the average precision of one query; items with y > threshold are relevant.

    The mean, over the relevant items, of the share of relevant ones among all items whose score is at least
    theirs.

    >>> average_precision([1, 0, 1], [0.3, 0.2, 0.1])
    0.8333333333333333
    """
    return mean_average_precision(y, scores, threshold=threshold)


def mean_average_precision(
    y: Any, scores: Any, qid: Any = None, *, threshold: float = 0.0, queries: Queries = "paired"
) -> float:
    """Return the mean over queries of `average_precision`.

    Here a query has a pair if it holds both an item with y > threshold and one without. With `queries="all"`
    a query without a relevant item counts 0, and one with nothing else counts 1.

    >>> mean_average_precision([1, 0, 1, 0, 1], [0.3, 0.2, 0.1, 2.0, 1.0], [1, 1, 1, 2, 2])
    0.6666666666666666
    """
    return float(per_query("average_precision", y, scores, qid, threshold=threshold, queries=queries).mean())


def per_query(metric: str, y: Any, scores: Any, qid: Any = None, **options: Any) -> "pd.Series[float]":
    """Return a metric of each query, indexed by qid in order of first appearance; NaN where it has no pair.

    `metric` is a key of `METRICS`; `options` are those of the function of that name, such as `k=10`.

    >>> per_query("ndcg", [0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4], ["a", "a", "b", "b"], k=1)
    qid
    a    1.0
    b    NaN
    Name: ndcg, dtype: float64
    """
    require_choice(metric, METRICS, "metric")
    data, measure = scored_queries(y, scores, qid), METRICS[metric].of
    found = [measure(data.y[items], data.scores[items], **options) for items in data.members]
    values = pd.Series(found, index=data.queries, name=metric, dtype=float)
    if values.isna().all():
        threshold = options.get("threshold", 0.0) if metric == "average_precision" else None
        raise _nothing_to_compare(data, threshold)
    return values


def metric_table(
    y: Any, scores: Any, qid: Any = None, k: int = 10, *, threshold: float = 0.0
) -> pd.DataFrame:
    """Return every metric with its value, standard error over queries, number of queries and definition.

    The standard error is that of a mean over independent queries; it is NaN for a single query. A metric that
    these labels do not allow has the value NaN, and its definition ends with the reason. `table.to_string()`
    shows the definitions in full.

    >>> metric_table([0, 2, 1], [0.3, 0.2, 0.1])[["metric", "value", "queries"]].round(3)
                  metric  value  queries
    0  pairwise_accuracy  0.333        1
    1            ndcg@10  0.908        1
    2          mean_ndcg  0.553        1
    3        kendall_tau -0.333        1
    4           spearman -0.500        1
    5  average_precision  0.583        1
    """
    scored_queries(y, scores, qid)
    options: dict[str, dict[str, Any]] = {"ndcg": {"k": k}, "average_precision": {"threshold": threshold}}
    rows: list[tuple[Any, ...]] = []
    for name, metric in METRICS.items():
        title = f"ndcg@{k}" if name == "ndcg" else name
        try:
            values = per_query(name, y, scores, qid, **options.get(name, {}))
            rows.append((title, values.mean(), values.sem(), int(values.count()), metric.definition))
        except DataError as reason:
            rows.append((title, np.nan, np.nan, 0, f"{metric.definition} Undefined here: {reason}."))
    return pd.DataFrame(rows, columns=["metric", "value", "standard_error", "queries", "definition"])


def _nothing_to_compare(data: ScoredQueries, threshold: float | None = None) -> DataError:
    count = len(data.members)
    where = "the only query" if count == 1 else f"each of the {count} queries"
    if threshold is None:
        message = "{argument} and qid leave no preference pair: within {found} all labels are equal"
        return DataError(message, argument="y", found=where)
    message = (
        f"{{argument}} > {threshold:g} splits no query into relevant and other items ({{found}} has one kind)"
    )
    return DataError(message, argument="y", found=where, remedy="pass another threshold")
