r"""The market simulator: shares of products that respondents with known part-worths would choose.

A `Scenario` holds the products, described by the attributes of a study. A `Simulator` turns part-worths into
shares by one of three rules: first choice, the logit rule, or randomized first choice. `sensitivity` and
`price_curve` change one attribute of a product and simulate again.

Randomized first choice, the model of Orme (1998) and Huber, Orme and Miller (1999), chooses, in many draws,
the product of largest

.. math:: U_i = \beta\, x_i^\top v + z_i^\top E + e_i,

where E has one normal number per level, with the standard deviation `attribute`, the same for all products of
a draw, and :math:`e_i`, Gumbel times `product`, is a product's own. Products with the same levels share E,
so that they take shares from one another first. Without E and with `product=1` this is the logit rule. By
default :math:`e_i` is 0 and E has the variance :math:`\pi^2/6` of logit, divided among the attributes: so
products that differ in everything get about their logit shares.

:math:`z_i` is the row of the product, where the number of a linear attribute is written in units that make
its two ends as different as two levels, and the none option is as different as a whole product can be.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import qmc

from ranking.conjoint.data.attributes import NONE, Attribute
from ranking.conjoint.data.label_text import listing, plain, quoted, text, unknown
from ranking.conjoint.results.bootstrap import (
    LEVEL,
    Bootstrap,
    Means,
    PartWorthsOrBootstrap,
    bootstrap_of,
    summary_of,
)
from ranking.conjoint.results.part_worths import (
    AttributeSpace,
    StudyOrSpace,
    Weights,
    read_part_worths,
    space_of,
)
from ranking.conjoint.results.predictions import first_choices, logit, read_scale
from ranking.conjoint.results.willingness import PRICE, price_row
from ranking.core.validation import Array, as_vector, read_only, require_choice
from ranking.errors import DataError, must_be


@dataclass(frozen=True, eq=False)
class Scenario:
    """Products by name, each with a level or number of every attribute, and the rows of their design.

    If `has_none`, the none option is one more of them, the last row. Made by `read_scenario`.
    """

    products: dict[str, dict[str, str | float]]
    design: Array
    has_none: bool
    space: AttributeSpace
    extrapolate: bool = False

    @property
    def names(self) -> list[str]:
        """The names of the rows of the design: the products, then the none option."""
        return [*self.products, *[NONE] * self.has_none]

    def with_value(self, product: str, attribute: str, value: str | float) -> "Scenario":
        """Return the scenario in which one product has another level or number of an attribute."""
        self.require(product)
        changed = {**self.products, product: {**self.products[product], attribute: value}}
        return read_scenario(changed, self.space, self.has_none, self.extrapolate)

    def require(self, product: str) -> None:
        """Raise unless a product is in the scenario."""
        if product not in self.products:
            message = "there is no product {found}"
            raise unknown(message, product, self.products, "products", argument="product")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per product; `read_scenario` reads it."""
        return pd.DataFrame.from_dict(self.products, orient="index")


# Names of products with {attribute: level or number}, or a table with one row per product.
Products: TypeAlias = Mapping[str, Mapping[str, str | float]] | pd.DataFrame | Scenario


def read_scenario(
    products: Products, study: StudyOrSpace, none: bool | None = None, extrapolate: bool = False
) -> Scenario:
    """Return the scenario of products.

    A number between two levels, if all levels are numbers, stands for the mixture of its neighbours: its
    part-worth lies on the line between theirs.

    Parameters
    ----------
    products
        A mapping of names to {attribute: level or number}, or a table with one row per product.
    study
        The study, or its space.
    none
        Whether the none option takes part; by default if the study has one.
    extrapolate
        Whether numbers of linear attributes may lie outside what was shown.

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
    given: Any = products
    if isinstance(products, pd.DataFrame):
        for name in products.index[products.index.duplicated()][:1]:
            message = "product '{row}' occurs twice"
            raise DataError(message, argument="products", row=name, remedy="give every product its own name")
        given = products.to_dict("index")
    if not isinstance(given, Mapping) or not given:
        message = "{argument} must map names of products to their levels, for example {expected}, got {found}"
        wanted = "{'ours': {'price': 9}}"
        raise DataError(message, argument="products", expected=wanted, found=f"{given!r:.60}")
    if none and not space.has_none:
        message = "the study had no none option, so nothing is known about it"
        raise DataError(message, argument="none", found=none, remedy="leave {argument} out")
    has_none = space.has_none if none is None else bool(none)
    named = {str(name): _profile(str(name), profile, space) for name, profile in given.items()}
    rows = []
    for name, profile in named.items():
        parts = []
        for attribute in space.attributes.values():
            place = {"argument": "products", "row": name, "column": attribute.name}
            value = profile[attribute.name]
            if attribute.is_linear:
                ends = (-np.inf, np.inf) if extrapolate else space.ranges[attribute.name]
                parts.append(np.array([_number(value, *ends, place) / attribute.unit]))
            else:
                parts.append(_mixture(attribute, value, place))
        # a product is not the none option, whose column is the last one
        rows.append(np.concatenate([*parts, np.zeros(int(space.has_none))]))
    if has_none:
        rows.append(np.eye(len(space.columns))[-1])
    return Scenario(named, read_only(np.array(rows)), has_none, space, extrapolate)


def _profile(name: str, profile: Any, space: AttributeSpace) -> dict[str, Any]:
    """Return the attributes of a product in the order of the study, all of them and no other."""
    if name == NONE:
        message = "a product cannot be called {row}, the name of the none option"
        remedy = "rename it; the none option takes part wherever the study has one"
        raise DataError(message, argument="products", row=name, remedy=remedy)
    place = {"argument": "products", "row": name}
    if not isinstance(profile, Mapping):
        message = "product '{row}' must be {expected}, got {found}"
        wanted = "a mapping of attributes to levels"
        raise DataError(message, expected=wanted, found=f"{profile!r:.60}", **place)
    for attribute in profile:
        if attribute not in space.attributes:
            message = "product '{row}': {found} is not an attribute of the study"
            raise unknown(message, attribute, space.attributes, "attributes", column=attribute, **place)
    missing = [attribute for attribute in space.attributes if attribute not in profile]
    if missing:
        message = "product '{row}' has no {expected}"
        remedy = "give all attributes of every product"
        raise DataError(message, expected=listing(missing), remedy=remedy, **place)
    return {attribute: plain(profile[attribute]) for attribute in space.attributes}


def _number(value: Any, lo: float, hi: float, place: dict[str, str]) -> float:
    is_number = isinstance(value, str | Real) and not isinstance(value, bool)
    number = float(pd.to_numeric(value, errors="coerce")) if is_number else np.nan
    if not np.isfinite(number):
        message = "product '{row}': attribute {column} must be {expected}, got {found}"
        raise DataError(message, expected="a number", found=quoted(value), **place)
    if not lo <= number <= hi:
        raise DataError(
            "product '{row}': attribute {column} is {found}, but {expected} was shown",
            found=f"{number:g}",
            expected=f"{lo:g} to {hi:g}",
            remedy="read_scenario goes beyond with {setting}",
            setting=("extrapolate", True),
            **place,
        )
    return number


def _mixture(attribute: Attribute, value: Any, place: dict[str, str]) -> Array:
    """Return how much of every level a value is: one of them, or two if it is a number between them."""
    labels = attribute.labels
    texts = [text(label) for label in labels]
    if text(value) in texts:
        return np.eye(len(labels))[texts.index(text(value))]
    is_number = isinstance(value, Real) and all(isinstance(label, Real) for label in labels)
    if not is_number or not min(labels) < value < max(labels):
        between = f"; give one of them or a number from {min(labels)} to {max(labels)}" if is_number else ""
        error = unknown(
            "product '{row}': attribute {column} has no level {found}", value, labels, "levels", **place
        )
        error.remedy = f"{error.remedy}{between}"
        raise error
    order = np.argsort(np.array(labels, dtype=float))
    numbers = np.array(labels, dtype=float)[order]
    return np.array([np.interp(float(value), numbers, unit[order]) for unit in np.eye(len(labels))])


# The variance of the noise of the logit rule.
LOGIT_VARIANCE = np.pi**2 / 6
# Sobol points are multiples of 2^-BITS, and are moved by odd multiples of half of that, off 0 and 1.
BITS = 30


@dataclass(frozen=True)
class Noise:
    """The random parts of utilities in randomized first choice.

    Parameters
    ----------
    attribute, product
        Standard deviation per level (None: as much as in logit) and factor of the Gumbel noise per product.
    draws
        A power of two, as the draws are points of a Sobol sequence, which are spread more evenly than random
        ones: with 361 respondents and 1024 draws, shares of different seeds scatter by 0.001. All respondents
        get the same draws, so no share depends on who else was asked.
    random_state
        The seed.
    """

    attribute: float | None = None
    product: float = 0.0
    draws: int = 1024
    random_state: int = 0

    def __post_init__(self) -> None:
        for name in ("attribute", "product"):
            value = getattr(self, name)
            if name == "attribute" and value is None:
                continue
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if not is_number or not 0 <= float(value) < np.inf:
                raise must_be(name, "a standard deviation of at least 0", found=value)
        is_whole = isinstance(self.draws, Integral) and not isinstance(self.draws, bool)
        if not is_whole or self.draws < 2 or self.draws & (self.draws - 1):
            raise must_be("draws", "a power of two, for example 1024", found=self.draws)

    def of(self, scenario: Scenario) -> Array:
        """Return the noise in the utility of every product, one row per draw."""
        Z = noise_rows(scenario)
        count = len(scenario.space.attributes)
        sd = np.sqrt(LOGIT_VARIANCE / count) if self.attribute is None else self.attribute
        points = spread_points(self.draws, Z.shape[1] + len(Z), self.random_state)
        levels, products = points[:, : Z.shape[1]], points[:, Z.shape[1] :]
        return np.asarray(sd * ndtri(levels) @ Z.T - self.product * np.log(-np.log(products)))


def spread_points(count: int, width: int, random_state: int) -> Array:
    """Return points strictly inside the unit cube: a Sobol sequence, moved at random and wrapped around."""
    points = qmc.Sobol(width, scramble=False, bits=BITS).random_base2(int(count).bit_length() - 1)
    moved = np.random.default_rng(random_state).integers(2**BITS, size=width) + 0.5
    return np.asarray((points + moved / 2**BITS) % 1.0)


def noise_rows(scenario: Scenario) -> Array:
    """Return the rows of a design as noise sees them."""
    space, Z = scenario.space, np.array(scenario.design, dtype=float)
    for name, (lo, hi) in space.ranges.items():
        unit, block = space.attributes[name].unit, space.blocks[name]
        width = (hi - lo) / unit
        # two levels are two coordinates that differ by 1 each, a distance of √2: so far apart are the ends
        Z[:, block] = np.sqrt(2) * (Z[:, block] - (lo + hi) / (2 * unit)) / width if width > 0 else 0.0
    if scenario.has_none:
        Z[-1] = 0.0
        # as long as the row of a product, which has one level of every attribute
        Z[-1, -1] = np.sqrt(len(space.attributes))
    return Z


Rule = Literal["first_choice", "share_of_preference", "randomized_first_choice"]
# Respondents times draws times products looked at together: 32 MB an array.
ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class Simulator:
    """Part-worths, the rule by which respondents choose, and how shares are averaged.

    Parameters
    ----------
    part_worths
        One row per respondent or one for all; or a bootstrap, which then gives the intervals.
    study
        The study or its space, for attributes, levels and, if not given, weights.
    rule
        "first_choice"; "share_of_preference", the logit rule; or "randomized_first_choice", see `Noise`.
    scale
        What utilities are multiplied by, see `calibrate`; it does not matter for first choice.
    weights
        Of respondents; by default those of the study.
    noise
        Of randomized first choice.
    level
        The probability of the intervals.
    """

    part_worths: PartWorthsOrBootstrap
    study: StudyOrSpace
    rule: Rule = "share_of_preference"
    scale: float = 1.0
    weights: Weights = None
    noise: Noise = field(default_factory=Noise)
    level: float = LEVEL

    def __post_init__(self) -> None:
        require_choice(self.rule, get_args(Rule), "rule")
        read_scale(self.scale)
        self.bootstrap  # noqa: B018 - bad part-worths or weights raise before any work

    @cached_property
    def space(self) -> AttributeSpace:
        """The space of the study."""
        return space_of(self.study)

    @cached_property
    def bootstrap(self) -> Bootstrap:
        """The part-worths with weights, and how they are drawn."""
        return bootstrap_of(self.part_worths, self.study, self.weights)

    def shares(self, products: Products, none: bool | None = None) -> pd.DataFrame:
        """Return the share of every product with its standard error and interval; see `read_scenario`."""
        scenario = read_scenario(products, self.space, none)
        means = self.bootstrap.means(lambda v: self.respondent_shares(v, scenario))
        return means.intervals(self.level).rename(columns={"estimate": "share"})

    def individual_shares(self, products: Products, none: bool | None = None) -> pd.DataFrame:
        """Return the probability with which every respondent chooses every product."""
        return self.respondent_shares(self.bootstrap.part_worths, read_scenario(products, self.space, none))

    def respondent_shares(self, part_worths: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
        """Return the shares of a scenario for every row of part-worths."""
        table = read_part_worths(part_worths, self.space)
        v, X = table.to_numpy(), scenario.design
        U, sizes = v @ X.T, (np.abs(v) @ np.abs(X).T).max(axis=1)
        # an infinite scale leaves no room for noise: every rule is first choice
        if self.rule == "first_choice" or np.isinf(self.scale):
            shares = first_choices(U, sizes)
        elif self.rule == "share_of_preference":
            shares = logit(U, self.scale, sizes)
        else:
            shares = randomized_first_choices(self.scale * U, self.scale * sizes, self.noise.of(scenario))
        names = pd.Index(scenario.names, name="product")
        return pd.DataFrame(shares, index=table.index, columns=names)


def simulate(
    part_worths: PartWorthsOrBootstrap,
    study: StudyOrSpace,
    products: Products,
    rule: Rule = "share_of_preference",
    *,
    none: bool | None = None,
    scale: float = 1.0,
    weights: Weights = None,
    noise: Noise | None = None,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Return the share of every product, with its standard error and interval.

    Parameters
    ----------
    part_worths, study, rule, scale, weights, noise, level
        As for `Simulator`.
    products, none
        As for `read_scenario`.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> pack = {"brand": "Alba", "roast": "dark", "size": "large", "price": 9}
    >>> rival = {"brand": "Cima", "roast": "dark", "size": "large", "price": 9}
    >>> shares = simulate(example_part_worths().T, example_study(), {"ours": pack, "theirs": rival})
    >>> shares["share"].round(2).to_dict()
    {'ours': 0.79, 'theirs': 0.15, 'none': 0.06}
    """
    return Simulator(part_worths, study, rule, scale, weights, noise or Noise(), level).shares(products, none)


def randomized_first_choices(U: Array, sizes: Array, noise: Array) -> Array:
    """Return how often every product is best of its row over the draws of noise, the same for all rows."""
    # all draws at once would need respondents × draws × products numbers
    block = max(1, ENTRIES // noise.size)
    # what counts as a tie is relative to all terms of a utility, noise included
    reach = np.abs(noise).max(axis=1)
    parts = [
        first_choices(U[k : k + block, None, :] + noise, sizes[k : k + block, None] + reach).mean(axis=1)
        for k in range(0, len(U), block)
    ]
    return np.concatenate(parts)


# Prices at which a curve is drawn unless they are given, and numbers at which a linear attribute is tried.
CURVE_POINTS, LINEAR_POINTS = 25, 3


def sensitivity(
    simulator: Simulator, products: Products, product: str, none: bool | None = None
) -> pd.DataFrame:
    """Return the share of a product with every other level, one attribute changed at a time.

    Parameters
    ----------
    simulator
        The part-worths and the rule.
    products, none
        As for `read_scenario`.
    product
        The one that is changed. Linear attributes are tried at the ends and the middle of what was shown.

    Returns
    -------
    pd.DataFrame
        One row per level: share, standard_error, lo, hi, and `change` relative to the product as it is.

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
    space = simulator.space
    values = {name: attribute.labels for name, attribute in space.attributes.items()}
    values |= {name: np.linspace(*ends, LINEAR_POINTS).tolist() for name, ends in space.ranges.items()}
    tried = [(name, value) for name in values for value in values[name]]
    scenarios = [scenario, *(scenario.with_value(product, name, value) for name, value in tried)]
    means = own_shares(simulator, scenarios, product)
    table = means.intervals(simulator.level).rename(columns={"estimate": "share"})
    changed = table.assign(change=table["share"] - table["share"].iloc[0]).iloc[1:]
    changed.index = pd.MultiIndex.from_tuples(tried, names=["attribute", "level"])
    return changed


def price_curve(
    simulator: Simulator,
    products: Products,
    product: str,
    price: str = PRICE,
    prices: Iterable[float] | None = None,
    none: bool | None = None,
) -> pd.DataFrame:
    """Return the share and the revenue of a product at every price, the others as they are.

    Parameters
    ----------
    simulator, products, none
        As for `sensitivity`.
    product
        The one whose price is changed.
    price
        The attribute that is the price.
    prices
        Prices between two levels are mixtures of them, see `read_scenario`; by default they are spread evenly
        over what was shown.

    Returns
    -------
    pd.DataFrame
        One row per price: share and revenue with their intervals. Revenue is price times share, 100 at the
        price of the product in the scenario.

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
    labels = simulator.space.attributes[price].labels
    lo, hi = simulator.space.ranges.get(price) or (float(min(labels)), float(max(labels)))
    evenly = np.linspace(lo, hi, CURVE_POINTS)
    wanted = evenly if prices is None else as_vector(list(prices), "prices")
    own = float(scenario.products[product][price])
    if own <= 0 or (wanted < 0).any():
        message = "{argument} must be {expected}, that of product '{row}' positive"
        raise DataError(message, argument="prices", expected="at least 0", row=product)
    scenarios = [scenario, *(scenario.with_value(product, price, float(value)) for value in wanted)]
    means = own_shares(simulator, scenarios, product)
    shares = means.intervals(simulator.level).iloc[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        # a share of 0 at today's price has no revenue to compare with: NaN
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

    def together(v: pd.DataFrame) -> pd.DataFrame:
        shares = [simulator.respondent_shares(v, scenario)[product] for scenario in scenarios]
        return pd.concat(shares, axis=1, keys=range(len(scenarios)))

    # one bootstrap for all scenarios: they see the same draws, so that their differences scatter less
    return simulator.bootstrap.means(together)
