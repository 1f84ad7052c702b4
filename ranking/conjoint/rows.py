r"""Rows of a choice model: differences that are equal become one row with the sum of their weights.

The loss :math:`\sum_i \omega_i \max(0, 1 - n_i^\top v)` depends on equal rows only through the sum of their
weights, so that merging changes no solution, at any C. The rows of a over b and of b over a are opposite, not
equal: a contradiction stays two rows. Rows are equal up to the rounding of the subtraction that made them.

Room: the differences of a study in; rows, their weights and whose they are out.
May touch: `arguments`, `arrays`, `coding`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ranking.arguments import Integers
from ranking.arrays import Array, read_only
from ranking.conjoint.coding import Differences

# Numbers of a column that differ by less than this part of the largest differ by a rounded subtraction.
NOISE = 1e-12


@dataclass(frozen=True, eq=False)
class ChoiceRows:
    """Rows n with weights ω; `owner` is the code of the respondent, 0 where all are taken together.

    `place` tells for every difference the row it became.
    """

    rows: Array
    weight: Array
    owner: Integers
    n_owners: int
    place: Integers

    def __post_init__(self) -> None:
        for name in ("rows", "weight", "owner", "place"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, owner: int) -> "ChoiceRows":
        """Return the rows of one respondent, alone."""
        mine = np.flatnonzero(self.owner == owner)
        rank = np.full(len(self), -1)
        rank[mine] = np.arange(len(mine))
        place = rank[self.place]
        alone = np.zeros(len(mine), dtype=np.int64)
        return ChoiceRows(self.rows[mine], self.weight[mine], alone, 1, place[place >= 0])


def choice_rows(
    differences: Differences, n_respondents: int | None = None, is_weighted: bool = True
) -> ChoiceRows:
    """Return the rows of all respondents together, or of each of n respondents; equal ones are merged.

    Without `is_weighted` the weights of respondents are left out: every difference counts once.

    >>> from ranking.conjoint import example_study
    >>> differences = example_study().differences()
    >>> len(differences), len(choice_rows(differences)), len(choice_rows(differences, 24))
    (576, 329, 562)
    """
    together = n_respondents is None
    owner = np.zeros(len(differences), dtype=np.int64) if together else differences.respondent
    weight = differences.weight if is_weighted else np.ones(len(differences))
    keys = np.column_stack([owner, _without_noise(differences.rows)])
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    total = np.bincount(place, weight, len(first))
    return ChoiceRows(
        differences.rows[first],
        whole_if_possible(total),
        owner[first],
        1 if n_respondents is None else n_respondents,
        place,
    )


def _without_noise(rows: Array) -> Array:
    """Return rows to compare by: 0.3 - 0.2 and 0.2 - 0.1 are equal, though float64 says otherwise."""
    if rows.dtype.kind == "i":
        return rows
    grain = NOISE * np.abs(rows).max(axis=0, initial=0.0)
    return np.asarray(np.rint(rows / np.where(grain > 0, grain, 1.0)))


def whole_if_possible(values: Array) -> Any:
    """Return numbers as integers if all of them are: data that are whole stay exact.

    >>> whole_if_possible(np.array([1.0, 2.0])).dtype.kind, whole_if_possible(np.array([0.5])).dtype.kind
    ('i', 'f')
    """
    whole = np.rint(values)
    return whole.astype(np.int64) if (whole == values).all() else values
