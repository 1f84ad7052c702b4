r"""Noise of randomized first choice: utilities that waver, alike for products that are alike.

The model of Orme (1998) and Huber, Orme and Miller (1999) chooses, again and again, the product of largest

.. math:: U_i = \beta\, x_i^\top v + z_i^\top E + e_i,

where E, one normal number a level, wavers with the standard deviation `attribute` and is the same for all
products of a draw, and :math:`e_i`, Gumbel times `product`, is a product's own. Products with the same levels
share E, so that they take shares from one another first. Without E and with `product=1` this is the logit
rule. By default :math:`e_i` is 0 and E has the variance :math:`\pi^2/6` of logit, spread over the attributes:
so products that differ in everything get about their logit shares.

:math:`z_i` is the row of the product, where the number of a linear attribute is written in units that make
its two ends as different as two levels, and the none option is as different as a whole product can be.

Room: a scenario and a seed in, noise for every draw and product out. Knows no part-worths.
May touch: `errors`, `arrays`, `scenario`.
"""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from ranking.arrays import Array
from ranking.conjoint.scenario import Scenario
from ranking.errors import DataError

# The variance of the noise of the logit rule.
LOGIT_VARIANCE = np.pi**2 / 6
# Sobol points are multiples of 2^-BITS, and are moved by odd multiples of half of that, off 0 and 1.
BITS = 30


@dataclass(frozen=True)
class Noise:
    """How utilities waver: by level (None: as much as in logit), by product, how often, and the seed.

    `draws` is a power of two, as the draws are points of a Sobol sequence, which are spread more evenly than
    random ones: with 361 respondents and 1024 draws, shares of different seeds scatter by 0.001. All
    respondents get the same draws, so nobody's share depends on who else was asked.
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
                raise DataError(f"{name} must be a standard deviation of at least 0, got {value!r}")
        is_whole = isinstance(self.draws, Integral) and not isinstance(self.draws, bool)
        if not is_whole or self.draws < 2 or self.draws & (self.draws - 1):
            raise DataError(f"draws must be a power of two, for example 1024, got {self.draws!r}")

    def of(self, scenario: Scenario) -> Array:
        """Return the noise in the utility of every product, one row a draw."""
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
        unit, block = space.attributes[name].unit, space.block(name)
        width = (hi - lo) / unit
        Z[:, block] = np.sqrt(2) * (Z[:, block] - (lo + hi) / (2 * unit)) / width if width > 0 else 0.0
    if scenario.has_none:
        Z[-1] = 0.0
        Z[-1, -1] = np.sqrt(len(space.attributes))
    return Z
