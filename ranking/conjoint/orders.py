r"""Orders: what is known of part-worths before any choice, as rows that must hold.

"The price falls" says that of two neighbouring levels the larger has no larger part-worth,
:math:`v_j - v_{j+1} \ge 0`; of a linear attribute that its only part-worth is not positive.

Room: what users say about attributes in; rows o of the condition o·v ≥ 0, with names, out.
May touch: `errors`, `arrays`, `attributes`, `labels`, `study`.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from ranking.arrays import Array
from ranking.conjoint.attributes import Attribute
from ranking.conjoint.labels import guess, listing, plain, quoted
from ranking.conjoint.study import ConjointStudy
from ranking.errors import DataError

# For every attribute "rises", "falls" or its levels, some or all, from the worst to the best.
Orders: TypeAlias = Mapping[str, Any]


class OrderRows(NamedTuple):
    """Conditions o·v ≥ 0, one a row, and what they say."""

    rows: Array
    names: list[str]

    def __len__(self) -> int:
        return len(self.names)


def order_rows(study: ConjointStudy, orders: Orders | None) -> OrderRows:
    """Return the conditions that orders put on part-worths.

    >>> from ranking.conjoint import example_study
    >>> order_rows(example_study(), {"price": "falls"}).names
    ['price: 9 at least 12', 'price: 12 at least 15']
    """
    found: list[tuple[dict[Any, int], str]] = []
    if orders is not None and not isinstance(orders, Mapping):
        raise DataError(f'orders must be a mapping such as {{"price": "falls"}}, got {orders!r:.80}')
    for name, order in (orders or {}).items():
        if name not in study.attributes:
            known = list(study.attributes)
            raise DataError(
                f"orders names {quoted(name)}, which is no attribute"
                f"{guess(name, known) or f'; there are {listing(known)}'}"
            )
        found += _conditions(study.attributes[name], order)
    rows = np.zeros((len(found), len(study.columns)), dtype=np.int64)
    for row, (signs, _) in zip(rows, found, strict=True):
        for column, sign in signs.items():
            row[study.columns.get_loc(column)] = sign
    return OrderRows(rows, [sentence for _, sentence in found])


def _conditions(attribute: Attribute, order: Any) -> list[tuple[dict[Any, int], str]]:
    """Return the conditions of one attribute: signs by column, and a sentence."""
    name = attribute.name
    if attribute.is_linear:
        if order not in ("rises", "falls"):
            raise DataError(
                f"orders[{name!r}] is of a linear attribute: say 'rises' or 'falls', got {order!r}"
            )
        return [({(name, attribute.labels[0]): 1 if order == "rises" else -1}, f"{name} {order}")]
    worst_to_best = _levels(attribute, order)
    return [
        ({(name, better): 1, (name, worse): -1}, f"{name}: {better} at least {worse}")
        for worse, better in pairwise(worst_to_best)
    ][:: -1 if order == "falls" else 1]


def _levels(attribute: Attribute, order: Any) -> list[Any]:
    """Return levels from the worst to the best."""
    labels = list(attribute.labels)
    if isinstance(order, str):
        if order not in ("rises", "falls"):
            raise DataError(
                f"orders[{attribute.name!r}] must be 'rises', 'falls' or levels from worst to best, "
                f"got {order!r}"
            )
        return labels if order == "rises" else labels[::-1]
    if not isinstance(order, Iterable):
        raise DataError(
            f"orders[{attribute.name!r}] must be 'rises', 'falls' or levels from worst to best, got {order!r}"
        )
    wanted = [plain(level) for level in order]
    for level in wanted:
        if level not in labels:
            raise DataError(
                f"orders[{attribute.name!r}] names {quoted(level)}, which is no level"
                f"{guess(level, labels) or f'; there are {listing(labels)}'}"
            )
    if pd.Index(wanted).duplicated().any() or len(wanted) < 2:
        raise DataError(
            f"orders[{attribute.name!r}] must name at least two levels, each once, got {wanted!r}"
        )
    return wanted
