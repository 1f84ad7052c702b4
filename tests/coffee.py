"""How the study of coffee was made that comes with the package, and others like it."""

import math
import random
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ranking.conjoint.data.attributes import NONE
from ranking.conjoint.data.example import LEVELS, WORTHS

RESPONDENTS, TASKS, HOLDOUTS, PACKS = 24, 8, 2, 3
# The last of the first group, the one who takes the first pack, and the weights of the groups.
LAST_PRICE_MINDED, FIRST_TAKER = 12, 24
WEIGHTS = {"price-minded": 1.0, "brand-minded": 1.5}
# A pack: one level of each attribute.
Pack = dict[str, Any]


def example_frame(seed: int = 0) -> pd.DataFrame:
    """Return long data of a study made up in the same way; those of seed 0 are the example."""
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
