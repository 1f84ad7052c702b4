"""The demonstration: a small conjoint study, generated, whose part-worths are traced over C.

Room: a number of choices and a seed in, a `ParametricQP` out. The same seed gives the same problem.
May touch: `errors`, `affine`, `problem`.
"""

import math
import random
from collections.abc import Iterator
from itertools import islice

from pqp.affine import mu
from pqp.errors import ProblemError
from pqp.problem import ParametricQP

# What the imaginary respondent thinks of each level; the study has to find it out from choices.
TASTES: dict[str, dict[str, float]] = {
    "brand": {"Alba": 1.0, "Brio": 0.2, "Cima": -1.2},
    "price": {"9": 1.2, "12": 0.3, "15": -1.5},
    "size": {"small": -0.4, "large": 0.4},
}
# A product: one level of each attribute.
Profile = tuple[str, ...]


def conjoint_problem(choices: int = 12, seed: int = 0) -> ParametricQP:
    r"""Return CBC(C) for simulated choices between two products, its parameter mu being C.

    Every choice of product a over b asks for part-worths v with :math:`n_{ab}^\top v \ge 1`, where
    :math:`n_{ab} = \chi_a - \chi_b` marks the levels of a by 1 and those of b by -1. Violations have a price:

    .. math:: \min_v \; \tfrac12 \|v\|^2 + C \sum_{ab} \xi_{ab}
              \quad\text{s.t.}\quad n_{ab}^\top v \ge 1 - \xi_{ab},\; \xi \ge 0

    >>> conjoint_problem()
    ParametricQP(8 variables, 12 rows)
    """
    if choices < 1:
        raise ProblemError(f"choices must be at least 1, got {choices}")
    names = level_names()
    made = islice(_simulated_choices(random.Random(seed)), choices)
    rows = [[(name in chosen) - (name in rejected) for name in names] for chosen, rejected in made]
    identity = [[int(i == j) for j in range(len(names))] for i in range(len(names))]
    labels = [f"choice {i + 1}" for i in range(choices)]
    return ParametricQP(
        identity, [0] * len(names), rows, row_lower=1, penalty=mu, names=names, row_names=labels
    )


def level_names() -> list[str]:
    """Return the names of the part-worths: attribute and level."""
    return [f"{attribute} {level}" for attribute, levels in TASTES.items() for level in levels]


def _simulated_choices(chance: random.Random) -> Iterator[tuple[Profile, Profile]]:
    """Yield pairs (chosen, rejected) of different products, the choice blurred by Gumbel noise."""
    while True:
        first, second = _random_profile(chance), _random_profile(chance)
        if first != second:
            blurred = {profile: _worth(profile) + _gumbel(chance) for profile in (first, second)}
            chosen = max(blurred, key=lambda profile: blurred[profile])
            yield chosen, second if chosen == first else first


def _random_profile(chance: random.Random) -> Profile:
    return tuple(f"{attribute} {chance.choice(list(levels))}" for attribute, levels in TASTES.items())


def _worth(profile: Profile) -> float:
    levels = (name.split(" ") for name in profile)
    return sum(TASTES[attribute][level] for attribute, level in levels)


def _gumbel(chance: random.Random) -> float:
    # random() may be 0, of which there is no logarithm
    return -math.log(-math.log(chance.random() or 0.5))
