r"""Public ranking metrics: how well scores order items by their labels, query by query.

A preference pair is two items (i, j) of one query with :math:`y_i > y_j`. A query without a pair says nothing
about an order: it is left out of every mean, and shown as NaN by `per_query`. `queries="all"`, where there is
such an argument, takes the mean over all queries instead, 0/0 counting as 0, as the program that comes with
LETOR 4.0 does. Kuo et al. (2014) do not say what a query without a pair counts; their mean NDCG is
that of LETOR 4.0, hence `queries="all"`.

Metrics of predicted labels instead of scores come from `ranking.metrics.levels`.
"""

from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from ranking.core.validation import require_choice
from ranking.errors import DataError, must_be
from ranking.metrics.rankings import (
    METRICS,
    Discount,
    Queries,
    ScoredQueries,
    Ties,
    count_pairs,
    scored_queries,
    tie_value,
)


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
        return _mean(per_query("pairwise_accuracy", y, scores, qid, ties=ties))
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
    return _mean(per_query("ndcg", y, scores, qid, k=k, discount=discount, queries=queries))


def mean_ndcg(
    y: Any, scores: Any, qid: Any = None, *, discount: Discount = "letor", queries: Queries = "paired"
) -> float:
    r"""Return the mean over queries of the mean of NDCG@1, ..., NDCG@n_q, where n_q is the length of query q.

    Kuo et al. (2014, section 4.2): :math:`\sum_{m=1}^{l_q} \text{NDCG@}m \,/\, l_q`.

    >>> round(mean_ndcg([0, 2, 1], [0.3, 0.2, 0.1]), 4)
    0.5526
    """
    return _mean(per_query("mean_ndcg", y, scores, qid, discount=discount, queries=queries))


def kendall_tau(y: Any, scores: Any, qid: Any = None) -> float:
    r"""Return the mean over queries of Kendall's :math:`\tau_b`.

    Scores that are equal throughout a query express no order: their :math:`\tau_b` of 0/0 counts as 0.

    >>> kendall_tau([1, 2, 3], [0.1, 0.3, 0.2])
    0.33333333333333337
    """
    return _mean(per_query("kendall_tau", y, scores, qid))


def spearman(y: Any, scores: Any, qid: Any = None) -> float:
    r"""Return the mean over queries of Spearman's :math:`\rho`, the correlation of mean ranks.

    Scores that are equal throughout a query express no order: their 0/0 counts as 0.

    >>> spearman([1, 2, 3], [0.1, 0.3, 0.2])
    0.5
    """
    return _mean(per_query("spearman", y, scores, qid))


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
    return _mean(per_query("average_precision", y, scores, qid, threshold=threshold, queries=queries))


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
    data = scored_queries(y, scores, qid)
    values = data.by_query(partial(METRICS[metric].of, **options), metric)
    if values.isna().all():
        raise _nothing_to_compare(
            data, options.get("threshold", 0.0) if metric == "average_precision" else None
        )
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
    rows = [_row(name, (y, scores, qid), options.get(name, {})) for name in METRICS]
    return pd.DataFrame(rows, columns=["metric", "value", "standard_error", "queries", "definition"])


def _row(name: str, arguments: tuple[Any, Any, Any], options: dict[str, Any]) -> tuple[Any, ...]:
    """Return one line of the table."""
    title = f"ndcg@{options['k']}" if name == "ndcg" else name
    definition = METRICS[name].definition
    try:
        values = per_query(name, *arguments, **options)
    except DataError as reason:
        return title, np.nan, np.nan, 0, f"{definition} Undefined here: {reason}."
    return title, values.mean(), values.sem(), int(values.count()), definition


def _mean(values: "pd.Series[float]") -> float:
    """Return the mean over the queries that have a value."""
    return float(values.mean())


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
