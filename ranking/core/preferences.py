"""Preferences as data: weighted pairs with margins, from labels, pairs, signs or retention times."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ranking.core.graph import (
    Reduction,
    Representative,
    essential_pairs,
    find_cycle,
    preference_pairs,
    read_graph,
)
from ranking.core.validation import (
    Integers,
    Queries,
    item_pairs,
    listed,
    numbers,
    one_per_pair,
    query_codes,
    require_finite,
    values_shown,
    whole_number,
)
from ranking.errors import DataError, must_be, must_have

QID = "qid"


@dataclass(frozen=True, eq=False)
class Preferences:
    r"""The pairs (i, j), item i preferred to item j, of a soft-margin ranking problem

    .. math:: \min_f \; \tfrac12\|f\|^2 + C \sum_{(i,j)} \omega_{ij} \max(0, \Delta_{ij} - (f_i - f_j))

    with weights :math:`\omega > 0` and margins :math:`\Delta`. `group` numbers the query of a pair, in the
    order in which queries first appear among the items. A pair that is there twice counts twice.
    """

    pairs: Integers
    weight: NDArray[np.float64]
    margin: NDArray[np.float64]
    group: Integers
    n_items: int

    def __post_init__(self) -> None:
        n_items = whole_number(self.n_items, "n_items")
        pairs = item_pairs(self.pairs, n_items)
        weight, margin, group = (
            one_per_pair(values, len(pairs), name)
            for name, values in (("pair_weight", self.weight), ("margin", self.margin), ("group", self.group))
        )
        if (weight <= 0).any():
            p = int((weight <= 0).argmax())
            raise must_be(f"pair_weight[{p}]", "positive", found=str(weight[p]), remedy="or remove the pair")
        columns = {"pairs": pairs, "weight": weight, "margin": margin, "group": group.astype(np.int64)}
        for name, column in columns.items():
            # `cycle` is computed once, and would not follow a change of the pairs
            column.setflags(write=False)
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def cycle(self) -> tuple[int, ...] | None:
        """Items that contradict one another, (3, 7, 5) for 3 > 7 > 5 > 3, or None; see `find_cycle`."""
        found = find_cycle(self.pairs, self.n_items)
        return None if found is None else tuple(found)


# Preferred item first: an array, a list of tuples, a graph whose edges may carry `weight` and `margin`, or
# the record that `preferences_from_signs` and the like return.
Pairs: TypeAlias = ArrayLike | nx.DiGraph | Preferences


def as_preferences(
    n_items: int,
    y: ArrayLike | None = None,
    qid: Queries | None = None,
    pairs: Pairs | None = None,
    pair_weight: ArrayLike | None = None,
    margin: ArrayLike | None = None,
    reduction: Reduction = "full",
    representative: Representative = "first",
    random_state: int | np.random.Generator | None = None,
) -> Preferences:
    """Return the preferences among n_items items, given either as labels y or as pairs.

    The arguments are those of `preferences_from_labels` and `preferences_from_pairs`.

    >>> as_preferences(3, y=[2, 0, 1]).pairs.tolist()
    [[0, 1], [0, 2], [2, 1]]
    >>> as_preferences(3, pairs=[(2, 1)], margin=0.5).margin.tolist()
    [0.5]
    """
    n = whole_number(n_items, "n_items")
    if y is None and pairs is not None:
        return preferences_from_pairs(pairs, n, pair_weight, margin, qid, reduction)
    if y is None or pairs is not None:
        message = "give either {argument} (labels) or pairs (preferred item first), got {found}"
        raise DataError(message, argument="y", found="neither" if y is None else "both")
    labels = numbers(y, "y")
    if len(labels) != n:
        raise must_be("y", f"one label for each of {n} items", found=len(labels))
    return preferences_from_labels(labels, qid, reduction, representative, random_state, pair_weight, margin)


def preferences_from_labels(
    y: ArrayLike,
    qid: Queries | None = None,
    reduction: Reduction = "full",
    representative: Representative = "first",
    random_state: int | np.random.Generator | None = None,
    pair_weight: ArrayLike | None = None,
    margin: ArrayLike | None = None,
) -> Preferences:
    """Return the preferences that labels imply within queries; rows may come in any order.

    Pairs come as `preference_pairs` lists them; weights and margins, one number or one per pair, follow it.

    >>> preferences_from_labels([2, 5, 1, 7], qid=["b", "a", "b", "a"]).pairs.tolist()
    [[0, 2], [3, 1]]
    """
    labels = numbers(y, "y")
    pairs = preference_pairs(labels, qid, reduction, representative, random_state)
    query = query_codes(qid, len(labels))
    if not len(pairs):
        if qid is None:
            message = "{argument} gives no pair: all {found} labels are equal; {expected} must differ"
            raise DataError(message, argument="y", found=len(query), expected="at least two")
        names = listed(qid)
        _, first, size = np.unique(query, return_index=True, return_counts=True)
        single = [names[i] for i in first[size == 1]]
        shown = f" ({values_shown(single)})" if single else ""
        raise DataError(
            "{argument} gives no pair: every query has a single item or equal labels; {found}",
            argument="y",
            found=f"{len(single)} of {len(size)} queries have a single item{shown}",
            remedy="does qid name items instead of queries?" if single else None,
        )
    return _complete(pairs, pair_weight, margin, query)


def preferences_from_pairs(
    pairs: Pairs,
    n_items: int,
    pair_weight: ArrayLike | None = None,
    margin: ArrayLike | None = None,
    qid: Queries | None = None,
    reduction: Reduction = "full",
) -> Preferences:
    """Return preferences given pair by pair, in the order given.

    A directed graph of item numbers is allowed too; its edges may carry `weight` and `margin`, 1 where
    absent. So does a record of preferences, which carries everything. With reduction="transitive" pairs that
    follow from others are left out, weights and margins with them.

    >>> preferences_from_pairs([(0, 2), (2, 1), (0, 1)], 3, reduction="transitive").pairs.tolist()
    [[0, 2], [2, 1]]
    """
    n = whole_number(n_items, "n_items")
    if reduction not in ("full", "transitive"):
        raise must_be("reduction", "'full' or 'transitive' with pairs", found=repr(reduction))
    if isinstance(pairs, Preferences):
        if pairs.n_items != n:
            raise must_be("pairs", f"preferences among {n} items", found=f"{pairs.n_items} items")
        if pair_weight is not None or margin is not None:
            message = "{argument} carry their weights and margins"
            raise DataError(message, argument="pairs", remedy="leave out pair_weight and margin")
        if qid is None and reduction == "full":
            return pairs
        pair_weight, margin, pairs = pairs.weight, pairs.margin, pairs.pairs
    if isinstance(pairs, nx.Graph):
        pairs, carried = read_graph(pairs, n)
        pair_weight = _one_source(pair_weight, carried, "weight", "pair_weight")
        margin = _one_source(margin, carried, "margin", "margin")
    items = item_pairs(pairs, n)
    query = query_codes(qid, n)
    is_mixed = query[items[:, 0]] != query[items[:, 1]]
    if qid is not None and is_mixed.any():
        p = int(is_mixed.argmax())
        i, j = items[p].tolist()
        names, place = listed(qid), {"argument": f"pairs[{p}] is {(i, j)}", "row": p}
        found = f"{names[i]!r} and {names[j]!r}"
        raise DataError("{argument}, of two queries, {found}", found=found, remedy="remove it", **place)
    # before pairs are left out, since weights and margins are given for all of them
    preferences = _complete(items, pair_weight, margin, query)
    if reduction == "full":
        return preferences
    keep = essential_pairs(preferences.pairs, n)
    weight, delta = preferences.weight[keep], preferences.margin[keep]
    return Preferences(items[keep], weight, delta, preferences.group[keep], n)


def preferences_from_signs(
    left: ArrayLike,
    right: ArrayLike,
    sign: ArrayLike,
    n_items: int,
    pair_weight: ArrayLike | None = None,
    margin: ArrayLike | None = None,
    qid: Queries | None = None,
) -> Preferences:
    """Return preferences given as comparisons: +1 if the left item is preferred, -1 if the right one is.

    >>> preferences_from_signs([0, 1], [2, 2], [+1, -1], n_items=3).pairs.tolist()
    [[0, 2], [2, 1]]
    """
    columns = {"left": numbers(left, "left"), "right": numbers(right, "right"), "sign": numbers(sign, "sign")}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise must_have("left, right and sign", "the same length", found=lengths)
    is_sign = np.isin(columns["sign"], (-1, 1))
    if not is_sign.all():
        p = int(is_sign.argmin())
        raise must_be(f"sign[{p}]", "+1 or -1", found=str(columns["sign"][p]), remedy="leave out ties")
    given = np.column_stack([columns["left"], columns["right"]])
    pairs = np.where(columns["sign"][:, None] > 0, given, given[:, ::-1])
    return preferences_from_pairs(pairs, n_items, pair_weight, margin, qid)


def retention_pairs(times: ArrayLike, system: Queries) -> Integers:
    r"""Return the pairs (i, j) of one chromatographic system with retention times :math:`t_i > t_j`.

    The later molecule is preferred: :math:`y_{ij} = \operatorname{sign}(t_i - t_j)` in ROSVM (Bach 2020,
    section 3.2). Equal times give no pair, and times of different systems are never compared.

    >>> retention_pairs([4.2, 1.5, 1.5, 9.0], ["A", "A", "A", "B"]).tolist()
    [[0, 1], [0, 2]]
    """
    minutes = numbers(times, "times")
    require_finite(minutes, "times")
    return preference_pairs(minutes, query_codes(system, len(minutes), "system"))


def take_qid(X: Any, qid: Queries | None = None) -> tuple[Any, Queries | None]:
    """Return the features and the queries of a table that may carry its queries along.

    A pandas DataFrame may name them in a column or in an index level called "qid"; the column is then taken
    out of the features. Anything else is returned as it came.

    >>> X, qid = take_qid(pd.DataFrame({"qid": ["a", "b"], "length": [3.0, 4.0]}))
    >>> list(X.columns), list(qid)
    (['length'], ['a', 'b'])
    """
    if not isinstance(X, pd.DataFrame):
        return X, qid
    # two columns of a DataFrame may have one name, and X[QID] would be both of them
    in_columns, in_index = list(X.columns).count(QID), list(X.index.names).count(QID)
    if in_columns and qid is not None:
        message = "X has a column qid and {argument} is given too"
        raise DataError(message, argument="qid", remedy="leave out one of them")
    if qid is not None or not in_columns + in_index:
        return X, qid
    if in_columns + in_index > 1:
        message = "{argument} has more than one column or index level qid"
        raise DataError(message, argument="X", remedy="keep one, or give qid")
    if in_index:
        return X, np.asarray(X.index.get_level_values(QID))
    return X.drop(columns=QID), np.asarray(X[QID])


def _complete(pairs: Integers, pair_weight: Any, margin: Any, query: Integers) -> Preferences:
    """Return preferences with weight and margin 1 where nothing is said."""
    weight: Any = 1 if pair_weight is None else pair_weight
    delta: Any = 1 if margin is None else margin
    # both items of a pair are of one query, so either says which
    return Preferences(pairs, weight, delta, query[pairs[:, 0]], len(query))


def _one_source(given: ArrayLike | None, carried: dict[str, list[Any]], name: str, argument: str) -> Any:
    if given is not None and name in carried:
        message = "edges carry {found} and {argument} is given too"
        raise DataError(message, argument=argument, found=repr(name), remedy="keep one")
    return carried.get(name, given)
