"""Measures of rankings and of predicted levels: the public names of `ranking.metrics`."""

from ranking.metrics.levels import (
    accuracy,
    level_kendall_tau,
    level_metric_table,
    macro_mean_absolute_error,
    mean_absolute_error,
    off_by_one_accuracy,
    quadratic_weighted_kappa,
)
from ranking.metrics.rankings import (
    METRICS,
    average_precision,
    kendall_tau,
    mean_average_precision,
    mean_ndcg,
    metric_table,
    ndcg,
    pairwise_accuracy,
    per_query,
    spearman,
)

__all__ = [
    "METRICS",
    "accuracy",
    "average_precision",
    "kendall_tau",
    "level_kendall_tau",
    "level_metric_table",
    "macro_mean_absolute_error",
    "mean_absolute_error",
    "mean_average_precision",
    "mean_ndcg",
    "metric_table",
    "ndcg",
    "off_by_one_accuracy",
    "pairwise_accuracy",
    "per_query",
    "quadratic_weighted_kappa",
    "spearman",
]
