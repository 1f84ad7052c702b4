"""Straight-lining: respondents who nearly always take the same position, and how likely that is by chance.

Room: positions chosen and offered in, respondents and probabilities out. Knows no attribute.
May touch: `sheet`.
"""

from functools import reduce

import numpy as np
import pandas as pd

from ranking.arrays import Array
from ranking.conjoint.sheet import Sheet


def straight_liners(sheet: Sheet, share: float) -> pd.DataFrame:
    """Return the respondents who chose one alternative in at least this share of their tasks, and more often
    than all others together, by the name of the alternative.

    `probability` is that of a respondent who chooses at random taking any one alternative at least as often.
    """
    choices = sheet.choices
    table = pd.DataFrame(
        {"respondent": choices.respondent, "alternative": sheet.alternative[choices.chosen_rows]}
    )
    counts = table.value_counts().rename("times").reset_index()
    most = counts.sort_values("times", ascending=False, kind="stable").drop_duplicates("respondent")
    tasks = np.bincount(choices.respondent, minlength=len(sheet.respondents))[most["respondent"]]
    is_straight = ((most["times"] >= share * tasks) & (2 * most["times"] > tasks)).to_numpy()
    found = most.assign(tasks=tasks)[is_straight].sort_values("respondent", kind="stable")
    found["probability"] = [
        _by_chance(sheet, code, times)
        for code, times in zip(found["respondent"], found["times"], strict=True)
    ]
    names = sheet.respondents[found["respondent"].to_numpy(dtype=np.int64)]
    return found.assign(respondent=names).set_index("respondent")


def tail(probabilities: Array, times: int) -> float:
    r"""Return the probability that at least so many of independent events happen.

    The number of events has the generating function :math:`\prod_i (1 - p_i + p_i z)`.

    >>> tail(np.array([0.5, 0.5]), 1)
    0.75
    """
    coefficients = reduce(np.convolve, [np.array([1 - p, p]) for p in probabilities], np.ones(1))
    return float(coefficients[times:].sum())


def _by_chance(sheet: Sheet, code: int, times: int) -> float:
    """Return the sum of the tails of all alternatives: exact, for two cannot both have more than half."""
    choices = sheet.choices
    tasks = np.flatnonzero(choices.respondent == code)
    offers = [list(sheet.alternative[list(choices.rows(t))]) for t in tasks.tolist()]
    names = {name for offer in offers for name in offer}
    chances = (
        np.array([1 / len(offer) for offer in offers if name in offer]) for name in sorted(names, key=str)
    )
    return min(1.0, sum(tail(chance, times) for chance in chances))
