"""Scenarios: the products of a market, described by the attributes of a study.

Room: what users say about products in, checked rows of a design out.
May touch: `errors`, `attributes`, `labels`, `space`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from ranking.arrays import Array, read_only
from ranking.conjoint.attributes import NONE, Attribute
from ranking.conjoint.labels import guess, listing, plain, quoted, text
from ranking.conjoint.space import HasSpace, Space, space_of
from ranking.errors import DataError


@dataclass(frozen=True, eq=False)
class Scenario:
    """Products by name, each with a level or number of every attribute, and the rows of their design.

    If `has_none`, the none option is one more of them, the last row. Made by `read_scenario`.
    """

    products: dict[str, dict[str, Any]]
    design: Array
    has_none: bool
    space: Space
    extrapolate: bool = False

    @property
    def names(self) -> list[str]:
        """The names of the rows of the design: the products, then the none option."""
        return [*self.products, *[NONE] * self.has_none]

    def with_value(self, product: str, attribute: str, value: Any) -> "Scenario":
        """Return the scenario in which one product has another level or number of an attribute."""
        self.require(product)
        changed = {**self.products, product: {**self.products[product], attribute: value}}
        return read_scenario(changed, self.space, self.has_none, self.extrapolate)

    def require(self, product: str) -> None:
        """Raise unless a product is in the scenario."""
        if product not in self.products:
            remedy = guess(product, self.products) or f"; there are {listing(list(self.products))}"
            raise DataError(f"there is no product {quoted(product)}{remedy}")

    def to_frame(self) -> pd.DataFrame:
        """Return one row a product; `read_scenario` reads it."""
        return pd.DataFrame.from_dict(self.products, orient="index")


def read_scenario(
    products: Any, study: HasSpace, none: bool | None = None, extrapolate: bool = False
) -> Scenario:
    """Return the scenario of products: a mapping of names to {attribute: level or number}, or a table.

    A number between two levels, if all levels are numbers, stands for the mixture of its neighbours: its
    worth lies on the line between theirs. Numbers of linear attributes must lie within what was shown, unless
    `extrapolate`. The none option is there if the study has one, unless `none=False`.

    >>> from ranking.conjoint import example_study
    >>> pack = {"brand": "Alba", "roast": "dark", "size": "large", "price": 10}
    >>> scenario = read_scenario({"ours": pack}, example_study())
    >>> scenario.design.round(2)[:, 8:]
    array([[0.67, 0.33, 0.  , 0.  ],
           [0.  , 0.  , 0.  , 1.  ]])
    """
    if isinstance(products, Scenario):
        return products
    space = space_of(study)
    if isinstance(products, pd.DataFrame):
        _require_unique(products)
        products = products.to_dict("index")
    if not isinstance(products, Mapping) or not products:
        raise DataError(
            "products must map names of products to their levels, for example "
            f"{{'ours': {{'price': 9}}}}, got {products!r:.60}"
        )
    if none and not space.has_none:
        raise DataError("none=True, but the study had no none option, so nothing is known of it")
    has_none = space.has_none if none is None else bool(none)
    named = {str(name): _profile(str(name), profile, space) for name, profile in products.items()}
    rows = [_row(name, profile, space, extrapolate) for name, profile in named.items()]
    if has_none:
        rows.append(np.eye(len(space.columns))[-1])
    return Scenario(named, read_only(np.array(rows)), has_none, space, extrapolate)


def _require_unique(products: pd.DataFrame) -> None:
    for name in products.index[products.index.duplicated()][:1]:
        raise DataError(f"products has {quoted(name)} twice; give every product its own name")


def _profile(name: str, profile: Any, space: Space) -> dict[str, Any]:
    """Return the attributes of a product in the order of the study, all of them and no other."""
    if name == NONE:
        raise DataError(f"a product cannot be called {NONE!r}, the none option is; it comes with none=True")
    if not isinstance(profile, Mapping):
        raise DataError(f"product {quoted(name)} must map attributes to levels, got {profile!r:.60}")
    for attribute in profile:
        if attribute not in space.attributes:
            remedy = guess(attribute, space.attributes) or f"; there are {listing(list(space.attributes))}"
            raise DataError(
                f"product {quoted(name)}: {quoted(attribute)} is no attribute of the study{remedy}"
            )
    missing = [attribute for attribute in space.attributes if attribute not in profile]
    if missing:
        raise DataError(f"product {quoted(name)} has no {listing(missing)}; say all attributes of a product")
    return {attribute: plain(profile[attribute]) for attribute in space.attributes}


def _row(name: str, profile: Mapping[str, Any], space: Space, extrapolate: bool) -> Array:
    """Return the design of a product."""
    row = np.zeros(len(space.columns))
    for attribute in space.attributes.values():
        place = f"product {quoted(name)}: {attribute.name}"
        value, block = profile[attribute.name], space.block(attribute.name)
        if attribute.is_linear:
            lo, hi = (-np.inf, np.inf) if extrapolate else space.ranges[attribute.name]
            row[block] = _number(value, lo, hi, place) / attribute.unit
        else:
            row[block] = _mixture(attribute, value, place)
    return row


def _number(value: Any, lo: float, hi: float, place: str) -> float:
    is_number = isinstance(value, str | Real) and not isinstance(value, bool)
    number = float(pd.to_numeric(value, errors="coerce")) if is_number else np.nan
    if not np.isfinite(number):
        raise DataError(f"{place} must be a number, got {quoted(value)}")
    if not lo <= number <= hi:
        raise DataError(
            f"{place} is {number:g}, but {lo:g} to {hi:g} was shown; "
            "read_scenario(..., extrapolate=True) goes beyond"
        )
    return number


def _mixture(attribute: Attribute, value: Any, place: str) -> Array:
    """Return how much of every level a value is: one of them, or two if it is a number between them."""
    labels = attribute.labels
    texts = [text(label) for label in labels]
    if text(value) in texts:
        return np.eye(len(labels))[texts.index(text(value))]
    is_number = isinstance(value, Real) and all(isinstance(label, Real) for label in labels)
    if not is_number or not min(labels) < value < max(labels):
        between = f", say one or a number from {min(labels)} to {max(labels)}" if is_number else ""
        remedy = guess(value, labels) or f"; its levels are {listing(labels)}{between}"
        raise DataError(f"{place} has no level {quoted(value)}{remedy}")
    order = np.argsort(np.array(labels, dtype=float))
    mixed = [
        np.interp(float(value), np.array(labels, dtype=float)[order], unit[order])
        for unit in np.eye(len(labels))
    ]
    return np.array(mixed)
