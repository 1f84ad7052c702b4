"""Judgements: labels and scores of items, checked and sorted into queries.

Room: y, scores and qid as handed in, in; a record of them by query out. Knows no metric.
May touch: `errors`, `arguments`, `arrays`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranking.arguments import named_queries
from ranking.arrays import Array, as_vector
from ranking.errors import DataError


@dataclass(frozen=True, eq=False)
class Judgements:
    """Labels y and scores of items, and for each query, in order of first appearance, the items it holds."""

    y: Array
    scores: Array
    queries: "pd.Index[Any]"
    members: tuple[Array, ...]

    def by_query(self, measure: Callable[[Array, Array], float], name: str) -> "pd.Series[float]":
        """Return what a measure says of the labels and scores of each query."""
        values = [measure(self.y[items], self.scores[items]) for items in self.members]
        return pd.Series(values, index=self.queries, name=name, dtype=float)


def judgements(y: Any, scores: Any, qid: Any = None) -> Judgements:
    """Return labels and scores by query, all items being one query where no qid is given.

    >>> judgements([1, 0, 2], [0.1, 0.2, 0.3], ["a", "b", "a"]).members
    (array([0, 2]), array([1]))
    """
    labels = as_vector(y, "y")
    if len(labels) == 0:
        raise DataError("y is empty: there is nothing to rank")
    values = as_vector(scores, "scores", len(labels))
    codes, queries = named_queries(qid, len(labels))
    bounds = np.cumsum(np.bincount(codes))[:-1]
    members = np.split(np.argsort(codes, kind="stable"), bounds)
    return Judgements(labels, values, queries, tuple(members))
