r"""Orders: what is known of part-worths before any choice, as rows that must hold, or may be looked at.

"The price falls" says that of two neighbouring levels the larger has no larger part-worth,
:math:`v_j - v_{j+1} \ge 0`; of a linear attribute that its only part-worth is not positive.

Room: what users say about attributes in; rows o of the condition o·v ≥ 0, with names, out.
May touch: `errors`, `arrays`, `attributes`, `labels`, `space`.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ranking.arrays import Array
from ranking.conjoint.attributes import Attribute
from ranking.conjoint.labels import guess, listing, quoted, text
from ranking.conjoint.space import HasSpace, space_of
from ranking.errors import DataError

# For every attribute "rises", "falls" or its levels, some or all, from the worst to the best.
Orders: TypeAlias = Mapping[str, Any]
RISES, FALLS = "rises", "falls"


class OrderRows(NamedTuple):
    """Conditions o·v ≥ 0, one a row, each of an attribute and two neighbours: the worse, and the better."""

    rows: Array
    neighbours: list[tuple[str, Any, Any]]

    def __len__(self) -> int:
        return len(self.neighbours)

    @property
    def names(self) -> list[str]:
        """What the conditions say."""
        return [f"{name}: {better} at least {worse}" for name, worse, better in self.neighbours]


def order_rows(study: HasSpace, orders: Orders | None) -> OrderRows:
    """Return the conditions that orders put on part-worths, from the worst level of each to the best.

    >>> from ranking.conjoint import example_study
    >>> order_rows(example_study(), {"price": "falls"}).names
    ['price: 12 at least 15', 'price: 9 at least 12']
    """
    if orders is not None and not isinstance(orders, Mapping):
        raise DataError(f'orders must be a mapping such as {{"price": "falls"}}, got {orders!r:.80}')
    space = space_of(study)
    rows: list[Array] = []
    neighbours: list[tuple[str, Any, Any]] = []
    for name, order in (orders or {}).items():
        if name not in space.attributes:
            remedy = guess(name, space.attributes) or f"; there are {listing(list(space.attributes))}"
            raise DataError(f"orders names {quoted(name)}, which is no attribute{remedy}")
        attribute = space.attributes[name]
        for row in _rows(attribute, order):
            rows.append(np.zeros(len(space.columns), dtype=np.int64))
            rows[-1][space.block(name)] = row
            neighbours.append((name, *_ends(attribute, row)))
    return OrderRows(np.array(rows, dtype=np.int64).reshape(len(rows), len(space.columns)), neighbours)


def _rows(attribute: Attribute, order: Any) -> list[Array]:
    """Return the conditions of one attribute, in its own columns."""
    units = np.eye(len(attribute.labels), dtype=np.int64)
    if not attribute.is_linear:
        return [units[better] - units[worse] for worse, better in pairwise(_places(attribute, order))]
    if order not in (RISES, FALLS):
        raise DataError(
            f"orders[{attribute.name!r}] is of a linear attribute: say 'rises' or 'falls', got {order!r:.60}"
        )
    return [units[0] if order == RISES else -units[0]]


def _places(attribute: Attribute, order: Any) -> list[int]:
    """Return the places of levels from the worst to the best."""
    labels = [text(label) for label in attribute.labels]
    if isinstance(order, str) and order in (RISES, FALLS):
        return list(range(len(labels)))[:: 1 if order == RISES else -1]
    if isinstance(order, str) or not isinstance(order, Iterable):
        wanted = "'rises', 'falls' or levels from worst to best"
        raise DataError(f"orders[{attribute.name!r}] must be {wanted}, got {order!r}")
    wished = list(order)
    for level in wished:
        if text(level) not in labels:
            remedy = guess(level, attribute.labels) or f"; there are {listing(attribute.labels)}"
            raise DataError(f"orders[{attribute.name!r}] names {quoted(level)}, which is no level{remedy}")
    places = [labels.index(text(level)) for level in wished]
    if len(places) < 2 or len(set(places)) < len(places):
        raise DataError(
            f"orders[{attribute.name!r}] must name at least two levels, each once, got {wished!r}"
        )
    return places


def _ends(attribute: Attribute, row: Array) -> tuple[Any, Any]:
    """Return the worse and the better neighbour of a condition, in words if the attribute is linear."""
    if attribute.is_linear:
        return ("less", "more") if row[0] > 0 else ("more", "less")
    return attribute.labels[int(np.argmin(row))], attribute.labels[int(np.argmax(row))]
