"""The example: a small study of coffee, made up, whose part-worths are known.

Twenty-four respondents choose eight times among three packs of coffee and none of them, and twice more in
holdout tasks, which are the same for all. Respondents 1 to 12 mind the price, 13 to 23 the brand; respondent
24 takes the first pack whatever it is. Those of the second group weigh 1.5, the others 1. The utility of a
pack is the sum of its part-worths, blurred by Gumbel noise, so choices follow a logit model.

The data are `coffee.csv` in the package `pqp`, where `pqp demo` can read them too.
"""

from importlib.resources import as_file, files
from typing import Any

import pandas as pd

from ranking.conjoint.data.attributes import NONE
from ranking.conjoint.data.study import ConjointStudy

PACKAGE, FILE = "pqp", "coffee.csv"
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
