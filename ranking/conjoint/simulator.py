"""The simulator: shares of products that respondents with known part-worths would choose among.

Room: part-worths and scenarios in, shares with intervals out.
May touch: `errors`, `arrays`, `rules`, `space`, `worths`, `bootstrap`, `scenario`, `noise`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from ranking.arrays import Array
from ranking.conjoint.bootstrap import LEVEL, Bootstrap, Means, bootstrap_of
from ranking.conjoint.noise import Noise
from ranking.conjoint.rules import first_choices, logit, read_scale
from ranking.conjoint.scenario import Scenario, read_scenario
from ranking.conjoint.space import HasSpace, Space, space_of
from ranking.conjoint.worths import read_part_worths
from ranking.errors import DataError

Rule = Literal["first_choice", "share_of_preference", "randomized_first_choice"]
# Respondents times draws times products looked at together: 32 MB an array.
ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class Simulator:
    """Part-worths, a rule by which they choose, and how shares are averaged.

    Parameters
    ----------
    part_worths
        One row a respondent or one for all; or a bootstrap, which then says how intervals come about.
    study
        The study or its space, for attributes, levels and, if not given, weights.
    rule
        "first_choice"; "share_of_preference", the logit rule; or "randomized_first_choice", see `Noise`.
    scale
        What utilities are multiplied by, see `calibrate`; without meaning for first choice.
    """

    part_worths: Any
    study: HasSpace
    rule: Rule = "share_of_preference"
    scale: float = 1.0
    weights: Any = None
    noise: Noise = field(default_factory=Noise)
    level: float = LEVEL

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise DataError(f"rule must be one of {', '.join(get_args(Rule))}, got {self.rule!r}")
        read_scale(self.scale)
        self.bootstrap  # noqa: B018 - bad part-worths or weights raise before any work

    @cached_property
    def space(self) -> Space:
        """The space of the study."""
        return space_of(self.study)

    @cached_property
    def bootstrap(self) -> Bootstrap:
        """The part-worths with weights, and how they are drawn."""
        return bootstrap_of(self.part_worths, self.study, self.weights)

    def shares(self, products: Any, none: bool | None = None) -> pd.DataFrame:
        """Return the share of every product with its standard error and interval; see `read_scenario`."""
        return (
            self.means(read_scenario(products, self.space, none))
            .intervals(self.level)
            .rename(columns={"estimate": "share"})
        )

    def individual_shares(self, products: Any, none: bool | None = None) -> pd.DataFrame:
        """Return the probability with which every respondent chooses every product."""
        return self.read(self.bootstrap.part_worths, read_scenario(products, self.space, none))

    def means(self, scenario: Scenario) -> Means:
        """Return mean shares and their draws."""
        return self.bootstrap.means(lambda v: self.read(v, scenario))

    def read(self, part_worths: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
        """Return the shares of a scenario for every row of part-worths."""
        table = read_part_worths(part_worths, self.space)
        shares = self._rule_shares(table.to_numpy(), scenario)
        names = pd.Index(scenario.names, name="product")
        return pd.DataFrame(shares, index=table.index, columns=names)

    def _rule_shares(self, v: Array, scenario: Scenario) -> Array:
        X = scenario.design
        U, sizes = v @ X.T, (np.abs(v) @ np.abs(X).T).max(axis=1)
        if self.rule == "first_choice" or np.isinf(self.scale):
            return first_choices(U, sizes)
        if self.rule == "share_of_preference":
            return logit(U, self.scale, sizes)
        return randomized_first_choices(self.scale * U, self.scale * sizes, self.noise.of(scenario))


def simulate(
    part_worths: Any,
    study: HasSpace,
    products: Any,
    rule: Rule = "share_of_preference",
    *,
    none: bool | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Return the share of every product, with its standard error and interval.

    Other options are those of `Simulator`: scale, weights, noise, level.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> pack = {"brand": "Alba", "roast": "dark", "size": "large", "price": 9}
    >>> rival = {"brand": "Cima", "roast": "dark", "size": "large", "price": 9}
    >>> shares = simulate(example_part_worths().T, example_study(), {"ours": pack, "theirs": rival})
    >>> shares["share"].round(2).to_dict()
    {'ours': 0.79, 'theirs': 0.15, 'none': 0.06}
    """
    return Simulator(part_worths, study, rule, **options).shares(products, none)


def randomized_first_choices(U: Array, sizes: Array, noise: Array) -> Array:
    """Return how often every product is best of its row over the draws of noise, the same for all rows."""
    block = max(1, ENTRIES // noise.size)
    reach = np.abs(noise).max(axis=1)
    parts = [
        first_choices(U[k : k + block, None, :] + noise, sizes[k : k + block, None] + reach).mean(axis=1)
        for k in range(0, len(U), block)
    ]
    return np.concatenate(parts)
