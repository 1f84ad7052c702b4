"""The example: a small study of coffee, made up, whose part-worths are known.

Twenty-four respondents choose eight times among three packs of coffee and none of them, and twice more in
holdout tasks, which are the same for all. Respondents 1 to 12 mind the price, 13 to 23 the brand; respondent
24 takes the first pack whatever it is. Those of the second group weigh 1.5, the others 1. The utility of a
pack is the sum of its part-worths, blurred by Gumbel noise, so choices follow a logit model.

The data of seed 0 are `coffee.csv` in the package `pqp`, where `pqp demo` can read them too.
"""

import math
import random
from collections.abc import Iterator
from importlib.resources import as_file, files
from typing import Any

import pandas as pd

from ranking.conjoint.data.attributes import NONE
from ranking.conjoint.data.study import ConjointStudy

PACKAGE, FILE = "pqp", "coffee.csv"
RESPONDENTS, TASKS, HOLDOUTS, PACKS = 24, 8, 2, 3
LEVELS: dict[str, tuple[Any, ...]] = {
    "brand": ("Alba", "Brio", "Cima"),
    "roast": ("light", "medium", "dark"),
    "size": ("small", "large"),
    "price": (9, 12, 15),
}
# What the two groups think of every level, in the order above.
WORTHS: dict[str, dict[str, tuple[float, ...]]] = {
    "price-minded": {
        "brand": (0.4, 0.1, -0.5),
        "roast": (-0.3, 0.3, 0.0),
        "size": (-0.4, 0.4),
        "price": (2.0, 0.3, -2.3),
        NONE: (0.5,),
    },
    "brand-minded": {
        "brand": (1.6, 0.2, -1.8),
        "roast": (-0.6, -0.1, 0.7),
        "size": (-0.2, 0.2),
        "price": (0.5, 0.1, -0.6),
        NONE: (0.0,),
    },
}
# The last of the first group, the one who takes the first pack, and the weights of the groups.
LAST_PRICE_MINDED, FIRST_TAKER = 12, 24
WEIGHTS = {"price-minded": 1.0, "brand-minded": 1.5}
# A pack: one level of each attribute.
Pack = dict[str, Any]


def example_study() -> ConjointStudy:
    """Return the study of coffee that comes with the package: four attributes by level, and a none option.

    >>> example_study()
    ConjointStudy(24 respondents, 240 tasks, 960 alternatives;
                  brand: 3 levels, roast: 3 levels, size: 2 levels, price: 3 levels, a none option)
    """
    with as_file(files(PACKAGE) / "data" / FILE) as path:
        return ConjointStudy.read_csv(
            path,
            respondent="respondent",
            task="task",
            alternative="alternative",
            chosen="chosen",
            attributes=LEVELS,
            none=True,
            weight="weight",
            holdout="holdout",
        )


def example_part_worths() -> pd.DataFrame:
    """Return the part-worths that the choices were made with, one column per group of respondents.

    >>> example_part_worths().loc["size"]
           price-minded  brand-minded
    level
    small          -0.4          -0.2
    large           0.4           0.2
    """
    labels = [(name, level) for name, levels in [*LEVELS.items(), (NONE, (NONE,))] for level in levels]
    index = pd.MultiIndex.from_tuples(labels, names=["attribute", "level"])
    columns = {
        group: [worth for name in [*LEVELS, NONE] for worth in worths[name]]
        for group, worths in WORTHS.items()
    }
    return pd.DataFrame(columns, index=index)


def example_frame(seed: int = 0) -> pd.DataFrame:
    """Return long data of a study made up in the same way; those of seed 0 are the example.

    >>> example_frame().columns.tolist()
    ['respondent', 'task', 'alternative', 'brand', 'roast', 'size', 'price', 'chosen', 'weight', 'holdout']
    """
    # of all generators, the stream of random.random() is promised never to change
    chance = random.Random(seed)
    holdouts = [_packs(chance) for _ in range(HOLDOUTS)]
    rows: list[dict[str, Any]] = []
    for respondent in range(1, RESPONDENTS + 1):
        shown = [*(_packs(chance) for _ in range(TASKS)), *holdouts]
        for task, packs in enumerate(shown, start=1):
            rows.extend(_answers(chance, respondent, task, packs))
    # prices stay whole numbers although the none option has empty cells
    return pd.DataFrame(rows).astype({"price": "Int64"})


def _answers(
    chance: random.Random, respondent: int, task: int, packs: list[Pack]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a task: the packs, then none of them."""
    group = "price-minded" if respondent <= LAST_PRICE_MINDED else "brand-minded"
    offers: list[Pack] = [*packs, dict.fromkeys(LEVELS)]
    worths = WORTHS[group]
    utilities = []
    for offer in offers:
        parts = [
            worths[name][LEVELS[name].index(level)] for name, level in offer.items() if level is not None
        ]
        # Gumbel noise makes the choices a logit model; random() may be 0, which has no logarithm
        noise = -math.log(-math.log(chance.random() or 0.5))
        utilities.append((sum(parts) if parts else worths[NONE][0]) + noise)
    best = 0 if respondent == FIRST_TAKER else utilities.index(max(utilities))
    for place, offer in enumerate(offers):
        where = {"respondent": respondent, "task": task, "alternative": place + 1}
        marks = {"chosen": int(place == best), "weight": WEIGHTS[group], "holdout": int(task > TASKS)}
        yield {**where, **offer, **marks}


def _packs(chance: random.Random) -> list[Pack]:
    """Return different packs, drawn at random."""
    packs: list[Pack] = []
    while len(packs) < PACKS:
        pack = {name: levels[int(len(levels) * chance.random())] for name, levels in LEVELS.items()}
        if pack not in packs:
            packs.append(pack)
    return packs
