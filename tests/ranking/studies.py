"""Small ranking problems for tests of pictures, reports and the command line."""

import numpy as np
import pandas as pd

from ranking.io.items import Items
from ranking.ordinal.students import students

NAMES = ["price", "weight", "size in $", "_age"]
TASTE = np.array([2.0, 1.0, 0.0, -1.0])


def items(count, seed, source="items", queries=1):
    """Items whose labels follow a taste, blurred, in some queries."""
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(count, len(NAMES)))
    y = np.round(X @ TASTE + chance.normal(size=count)).clip(-2, 2) + 2
    qid = None if queries == 1 else np.arange(count) % queries
    return Items(pd.DataFrame(X, columns=NAMES), y, qid, source)


def plane(count, seed):
    """Points of the plane and two overlapping classes."""
    chance = np.random.default_rng(seed)
    y = np.arange(count) % 2
    return chance.normal(size=(count, 2)) + y[:, None], y


def grades(count, seed, source="students"):
    """Students as items, their grades as words."""
    found = students(count, seed)
    return Items(found[["midterm", "final"]], found["grade"].astype(str).to_numpy(), None, source)
