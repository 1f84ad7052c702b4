"""Order reversals: part-worths that contradict an order everybody should agree with.

Room: part-worths and orders of levels in, how often neighbours stand the wrong way round out.
May touch: `errors`, `attributes`, `labels`, `rules`, `space`, `worths`.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ranking.arrays import Array
from ranking.conjoint.attributes import Attribute
from ranking.conjoint.labels import guess, listing, quoted, text
from ranking.conjoint.rules import TIED
from ranking.conjoint.space import HasSpace, Space, space_of
from ranking.conjoint.worths import read_part_worths, weights_of
from ranking.errors import DataError

RISES, FALLS = "rises", "falls"


def order_reversals(
    part_worths: Any, study: HasSpace, orders: Mapping[str, Any], weights: Any = None
) -> pd.DataFrame:
    """Return one row for every two neighbouring levels: how many respondents have them the wrong way round.

    `orders` says for attributes that their worth "rises" or "falls" along their levels, or along the numbers
    of a linear attribute; or it lists levels from the worst to the best. `share` is weighted;
    `difference` is the mean worth of the better level less that of the worse.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> order_reversals(example_part_worths().T, example_study(), {"price": "falls", "roast": "rises"})
      attribute   worse  better  reversed  share  difference
    0     price      15      12         0    0.0        1.65
    1     price      12       9         0    0.0        1.05
    2     roast   light  medium         0    0.0        0.55
    3     roast  medium    dark         1    0.5        0.25
    """
    space = space_of(study)
    table = read_part_worths(part_worths, space)
    counts = weights_of(weights, table, study)
    labels, steps = order_steps(space, orders)
    worths = table.to_numpy() @ steps.T
    is_wrong = worths < -TIED * (np.abs(table.to_numpy()) @ np.abs(steps).T)
    found = pd.DataFrame(labels, columns=["attribute", "worse", "better"])
    return found.assign(
        reversed=is_wrong.sum(axis=0),
        share=np.average(is_wrong, axis=0, weights=counts),
        difference=np.average(worths, axis=0, weights=counts),
    )


def reversal_counts(part_worths: Any, study: HasSpace, orders: Mapping[str, Any]) -> "pd.Series[Any]":
    """Return for every respondent how many neighbouring levels stand the wrong way round."""
    space = space_of(study)
    table = read_part_worths(part_worths, space)
    _, steps = order_steps(space, orders)
    is_wrong = table.to_numpy() @ steps.T < -TIED * (np.abs(table.to_numpy()) @ np.abs(steps).T)
    return pd.Series(is_wrong.sum(axis=1), index=table.index, name="reversals")


def order_steps(space: Space, orders: Mapping[str, Any]) -> tuple[list[tuple[str, Any, Any]], Array]:
    """Return (attribute, worse, better) of neighbours, and the rows that give better less worse."""
    if not isinstance(orders, Mapping) or not orders:
        raise DataError(
            f"orders must map attributes to their order, such as {{'price': 'falls'}}: {orders!r:.60}"
        )
    labels: list[tuple[str, Any, Any]] = []
    rows: list[Array] = []
    for name, order in orders.items():
        if name not in space.attributes:
            remedy = guess(name, space.attributes) or f"; there are {listing(list(space.attributes))}"
            raise DataError(f"orders names {quoted(name)}, which is no attribute{remedy}")
        first = space.block(name).start
        for worse, better in _neighbours(space.attributes[name], order):
            row = np.zeros(len(space.columns))
            for place, sign in ((worse, -1), (better, 1)):
                if place is not None:
                    row[first + place] += sign
            labels.append((name, *_names(space.attributes[name], worse, better)))
            rows.append(row)
    return labels, np.array(rows)


def _neighbours(attribute: Attribute, order: Any) -> list[tuple[int | None, int | None]]:
    """Return places of neighbours, the worse first; a linear attribute has one place, against nothing."""
    if attribute.is_linear:
        if order not in (RISES, FALLS):
            raise DataError(f"orders[{attribute.name!r}] must be 'rises' or 'falls', got {order!r:.60}")
        return [(None, 0) if order == RISES else (0, None)]
    return list(pairwise(_places(attribute, order)))


def _places(attribute: Attribute, order: Any) -> list[int]:
    """Return the places of levels from the worst to the best."""
    levels = [text(level) for level in attribute.labels]
    if isinstance(order, str):
        if order not in (RISES, FALLS):
            wanted = "'rises', 'falls' or a list of levels from the worst to the best"
            raise DataError(f"orders[{attribute.name!r}] must be {wanted}, got {order!r}")
        return list(range(len(levels)))[:: 1 if order == RISES else -1]
    wished = list(order) if isinstance(order, Iterable) else [order]
    for level in wished:
        if text(level) not in levels:
            remedy = guess(level, attribute.labels) or f"; its levels are {listing(attribute.labels)}"
            raise DataError(f"orders[{attribute.name!r}]: {quoted(level)} is no level{remedy}")
    if len(wished) < 2 or len({text(level) for level in wished}) < len(wished):
        raise DataError(f"orders[{attribute.name!r}] must list at least two different levels")
    return [levels.index(text(level)) for level in wished]


def _names(attribute: Attribute, worse: int | None, better: int | None) -> tuple[Any, Any]:
    if attribute.is_linear:
        return ("less", "more") if worse is None else ("more", "less")
    return attribute.labels[worse or 0], attribute.labels[better or 0]
