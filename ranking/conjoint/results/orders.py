r"""Orders of levels that part-worths should keep, as linear conditions, and respondents who reverse them.

"The price falls" says that of two neighbouring levels the larger has no larger part-worth,
:math:`v_j - v_{j+1} \ge 0`; for a linear attribute, that its only part-worth is not positive. Models keep
such conditions as constraints; `order_reversals` counts where part-worths violate them.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import Attribute
from ranking.conjoint.data.label_text import text, unknown
from ranking.conjoint.results.part_worths import (
    AttributeSpace,
    PartWorths,
    StudyOrSpace,
    Weights,
    read_part_worths,
    space_of,
    weights_of,
)
from ranking.conjoint.results.predictions import TIED
from ranking.core.validation import Array
from ranking.errors import DataError, must_be

# For every attribute "rises", "falls" or its levels, some or all, from the worst to the best.
Orders: TypeAlias = Mapping[str, str | Sequence[Hashable]]
RISES, FALLS = "rises", "falls"


class OrderRows(NamedTuple):
    """Conditions o·v ≥ 0, one per row: an attribute and two neighbouring levels, the worse and the better."""

    rows: Array
    neighbours: list[tuple[str, Hashable, Hashable]]

    def __len__(self) -> int:
        return len(self.neighbours)

    @property
    def names(self) -> list[str]:
        """What the conditions say."""
        return [f"{name}: {better} at least {worse}" for name, worse, better in self.neighbours]


def order_rows(study: StudyOrSpace, orders: Orders | None) -> OrderRows:
    """Return the conditions that orders put on part-worths, from the worst level of each to the best.

    >>> from ranking.conjoint import example_study
    >>> order_rows(example_study(), {"price": "falls"}).names
    ['price: 12 at least 15', 'price: 9 at least 12']
    """
    if orders is not None and not isinstance(orders, Mapping):
        raise must_be("orders", 'a mapping such as {"price": "falls"}', found=f"{orders!r:.80}")
    space = space_of(study)
    rows: list[Array] = []
    neighbours: list[tuple[str, Hashable, Hashable]] = []
    for name, order in (orders or {}).items():
        if name not in space.attributes:
            message = "{argument} names {found}, which is not an attribute"
            raise unknown(message, name, space.attributes, "attributes", argument="orders")
        attribute = space.attributes[name]
        for row in _rows(attribute, order):
            # whole numbers, so that constraints in a certificate are exact
            rows.append(np.zeros(len(space.columns), dtype=np.int64))
            rows[-1][space.blocks[name]] = row
            # the worse and the better neighbour, in words if the attribute is linear
            worse: Hashable = "less" if row[0] > 0 else "more"
            better: Hashable = "more" if row[0] > 0 else "less"
            if not attribute.is_linear:
                worse, better = (attribute.labels[int(pick(row))] for pick in (np.argmin, np.argmax))
            neighbours.append((name, worse, better))
    return OrderRows(np.array(rows, dtype=np.int64).reshape(len(rows), len(space.columns)), neighbours)


def _rows(attribute: Attribute, order: str | Sequence[Hashable]) -> list[Array]:
    """Return the conditions of one attribute, in its own columns."""
    units = np.eye(len(attribute.labels), dtype=np.int64)
    if not attribute.is_linear:
        return [units[better] - units[worse] for worse, better in pairwise(_places(attribute, order))]
    if order not in (RISES, FALLS):
        raise DataError(
            "the order of a linear attribute, {argument}, must be {expected}, got {found}",
            argument=f"orders[{attribute.name!r}]",
            column=attribute.name,
            expected="'rises' or 'falls'",
            found=f"{order!r:.60}",
        )
    return [units[0] if order == RISES else -units[0]]


def _places(attribute: Attribute, order: str | Sequence[Hashable]) -> list[int]:
    """Return the places of levels from the worst to the best."""
    labels = [text(label) for label in attribute.labels]
    if isinstance(order, str) and order in (RISES, FALLS):
        return list(range(len(labels)))[:: 1 if order == RISES else -1]
    place = {"argument": f"orders[{attribute.name!r}]", "column": attribute.name}
    if isinstance(order, str) or not isinstance(order, Iterable):
        wanted = "'rises', 'falls' or levels from the worst to the best"
        raise DataError(expected=wanted, found=repr(order), **place)
    wished = list(order)
    for level in wished:
        if text(level) not in labels:
            message = "{argument} names {found}, which is not a level"
            raise unknown(message, level, attribute.labels, "levels", **place)
    places = [labels.index(text(level)) for level in wished]
    if len(places) < 2 or len(set(places)) < len(places):
        message = "{argument} must name {expected}, got {found}"
        raise DataError(message, expected="at least two levels, each once", found=wished, **place)
    return places


def order_reversals(
    part_worths: PartWorths, study: StudyOrSpace, orders: Orders, weights: Weights = None
) -> pd.DataFrame:
    """Return one row for every two neighbouring levels: how many respondents reverse them.

    Parameters
    ----------
    part_worths, study
        As for `attribute_ranges`.
    orders
        By attribute: "rises" or "falls" along its levels, or along the numbers of a linear attribute; or
        its levels from the worst to the best.
    weights
        Of the rows; by default those of the study.

    Returns
    -------
    pd.DataFrame
        attribute, worse, better; `reversed`, how many respondents; `share` of them, weighted; `difference`,
        the mean part-worth of the better level less that of the worse.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> order_reversals(example_part_worths().T, example_study(), {"price": "falls", "roast": "rises"})
      attribute   worse  better  reversed  share  difference
    0     price      15      12         0    0.0        1.65
    1     price      12       9         0    0.0        1.05
    2     roast   light  medium         0    0.0        0.55
    3     roast  medium    dark         1    0.5        0.25
    """
    table, steps, is_wrong = _reversals(part_worths, space_of(study), orders)
    counts = weights_of(weights, table, study)
    found = pd.DataFrame(steps.neighbours, columns=["attribute", "worse", "better"])
    return found.assign(
        reversed=is_wrong.sum(axis=0),
        share=np.average(is_wrong, axis=0, weights=counts),
        difference=np.average(table.to_numpy() @ steps.rows.T, axis=0, weights=counts),
    )


def reversal_counts(part_worths: PartWorths, study: StudyOrSpace, orders: Orders) -> "pd.Series[int]":
    """Return for every respondent how many neighbouring levels are reversed; see `order_reversals`."""
    table, _, is_wrong = _reversals(part_worths, space_of(study), orders)
    return pd.Series(is_wrong.sum(axis=1), index=table.index, name="reversals")


def _reversals(
    part_worths: PartWorths, space: AttributeSpace, orders: Orders
) -> tuple[pd.DataFrame, OrderRows, Array]:
    """Return part-worths, the neighbours to look at, and which of them each respondent reverses."""
    table, steps = read_part_worths(part_worths, space), order_rows(space, orders)
    if not len(steps):
        wanted = "at least one attribute, such as {'price': 'falls'}"
        raise DataError("{argument} must name {expected}, got none", argument="orders", expected=wanted)
    v, o = table.to_numpy(), steps.rows
    # beyond rounding error
    return table, steps, v @ o.T < -TIED * (np.abs(v) @ np.abs(o).T)
