"""Sensitivity: how the share of a product moves as one of its attributes does.

Room: a simulator, a scenario and a product in, tables of shares with intervals out.
May touch: `errors`, `labels`, `bootstrap`, `scenario`, `simulator`, `willingness`.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ranking.arrays import Array, as_vector
from ranking.conjoint.bootstrap import Means, summary_of
from ranking.conjoint.labels import quoted
from ranking.conjoint.scenario import Scenario, read_scenario
from ranking.conjoint.simulator import Simulator
from ranking.conjoint.willingness import PRICE, price_row
from ranking.errors import DataError

# Prices at which a curve is drawn unless they are given, and numbers at which a linear attribute is tried.
CURVE_POINTS, LINEAR_POINTS = 25, 3


def sensitivity(simulator: Simulator, products: Any, product: str, none: bool | None = None) -> pd.DataFrame:
    """Return the share of a product with every other level, one attribute changed at a time.

    Linear attributes are tried at the ends and the middle of what was shown. `change` is the share less that
    of the product as it is.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> pack = {"brand": "Alba", "roast": "dark", "size": "large", "price": 12}
    >>> chooser = Simulator(example_part_worths().T, example_study())
    >>> sensitivity(chooser, {"ours": pack}, "ours")["change"]["price"].round(2)
    level
    9     0.14
    12    0.00
    15   -0.29
    Name: change, dtype: float64
    """
    scenario = read_scenario(products, simulator.space, none)
    scenario.require(product)
    tried = [
        (name, value)
        for name, attribute in simulator.space.attributes.items()
        for value in (_spread(simulator, name) if attribute.is_linear else attribute.labels)
    ]
    scenarios = [scenario, *(scenario.with_value(product, name, value) for name, value in tried)]
    means = own_shares(simulator, scenarios, product)
    table = summary_of(means.estimate, means.draws, simulator.level).rename(columns={"estimate": "share"})
    changed = table.assign(change=table["share"] - table["share"].iloc[0]).iloc[1:]
    changed.index = pd.MultiIndex.from_tuples(tried, names=["attribute", "level"])
    return changed


def price_curve(
    simulator: Simulator,
    products: Any,
    product: str,
    price: str = PRICE,
    prices: Iterable[float] | None = None,
    none: bool | None = None,
) -> pd.DataFrame:
    """Return the share and the revenue of a product at every price, the others as they are.

    Revenue is price times share, 100 at the price of the product in the scenario. Prices between two levels
    are mixtures of them, see `read_scenario`; by default they are spread evenly over what was shown.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> pack = {"brand": "Alba", "roast": "dark", "size": "large", "price": 12}
    >>> chooser = Simulator(example_part_worths().T, example_study())
    >>> price_curve(chooser, {"ours": pack}, "ours", prices=[9, 12, 15])[["share", "revenue"]].round(2)
           share  revenue
    price
    9.0     0.93    88.56
    12.0    0.79   100.00
    15.0    0.49    78.42
    """
    scenario = read_scenario(products, simulator.space, none)
    scenario.require(product)
    price_row(simulator.space, price)
    wanted = _prices(simulator, price) if prices is None else as_vector(list(prices), "prices")
    own = float(scenario.products[product][price])
    if own <= 0 or (wanted < 0).any():
        raise DataError(f"prices must not be negative, nor that of product {quoted(product)} be 0")
    scenarios = [scenario, *(scenario.with_value(product, price, float(value)) for value in wanted)]
    means = own_shares(simulator, scenarios, product)
    shares = summary_of(means.estimate, means.draws, simulator.level).iloc[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        index = 100 * wanted / own
        revenue = means.estimate.iloc[1:] * index / means.estimate.iloc[0]
        drawn = means.draws.iloc[:, 1:] * index / means.draws.to_numpy()[:, :1]
    money = summary_of(revenue, drawn, simulator.level)
    table = shares.rename(columns={"estimate": "share"}).assign(
        revenue=money["estimate"], revenue_lo=money["lo"], revenue_hi=money["hi"]
    )
    table.index = pd.Index(wanted, name=price)
    return table


def own_shares(simulator: Simulator, scenarios: list[Scenario], product: str) -> Means:
    """Return the share of one product in many scenarios, drawn together."""
    return simulator.bootstrap.means(
        lambda v: pd.concat(
            [simulator.read(v, s)[product] for s in scenarios], axis=1, keys=range(len(scenarios))
        )
    )


def _spread(simulator: Simulator, name: str, count: int = LINEAR_POINTS) -> list[float]:
    return np.linspace(*simulator.space.ranges[name], count).tolist()


def _prices(simulator: Simulator, price: str) -> Array:
    labels = simulator.space.attributes[price].labels
    lo, hi = simulator.space.ranges.get(price) or (float(min(labels)), float(max(labels)))
    return np.linspace(lo, hi, CURVE_POINTS)
