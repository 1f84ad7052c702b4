"""The demonstration: two overlapping mixtures of Gaussians in the plane, one preferred to the other."""

import numpy as np
import pandas as pd

from ranking.core.validation import Array
from ranking.errors import DataError
from ranking.io.tables import Items

# Hastie et al. (2004): ten centres per class around these points, and the variance around each centre.
MIDDLES = ((1.0, 0.0), (0.0, 1.0))
CENTRES, VARIANCE = 10, 0.2
PARTS = ("training", "validation", "test")


def mixture_items(count: int = 60, seed: int = 0) -> tuple[Items, Items, Items]:
    """Return training, validation and test items, `count` each, half of them preferred (label 1).

    >>> [len(items) for items in mixture_items(10)]
    [10, 10, 10]
    """
    if count < 4 or count % 2:
        raise DataError(argument="items", expected="an even number of at least 4", found=count)
    chance = np.random.default_rng(seed)
    centres = [chance.normal(middle, 1.0, (CENTRES, 2)) for middle in MIDDLES]
    train, validation, test = (_items(centres, count, chance, part) for part in PARTS)
    return train, validation, test


def _items(centres: list[Array], count: int, chance: np.random.Generator, part: str) -> Items:
    y = np.repeat([0.0, 1.0], count // 2)
    middles = [centre[chance.integers(CENTRES, size=count // 2)] for centre in centres]
    points = chance.normal(np.concatenate(middles), np.sqrt(VARIANCE))
    return Items(pd.DataFrame(points, columns=["x1", "x2"]), y, None, f"demo, {part}")
