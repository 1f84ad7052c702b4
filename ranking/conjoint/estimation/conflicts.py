r"""Conflicts: choices that no part-worths explain, as few as possible, with a proof.

By Gordan's theorem, either some v has :math:`n_i^\top v > 0` for all choices and :math:`o_j^\top v \ge 0` for
all orders, or there are multipliers

.. math:: \lambda, \beta \ge 0, \; \lambda \ne 0 \quad\text{with}\quad
    \sum_i \lambda_i n_i + \sum_j \beta_j o_j = 0,

and these prove that there is no such v. Where the multipliers of a set of rows are positive and unique up to
their scale, no part of the set has a proof of its own: leave out any one row, and the others agree. Such sets
are the vertices of a linear program; float64 finds one, rationals confirm it.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from ranking.conjoint.data.study import ConjointStudy
from ranking.conjoint.results.orders import Orders, order_rows
from ranking.core.validation import Array, Integers
from ranking.errors import RankingError

# Multipliers below this are zero to the float solver; what is zero is decided by rationals afterwards.
NEGLIGIBLE = 1e-9
# The status of `linprog` for a program that has no solution.
INFEASIBLE = 2


@dataclass(frozen=True, eq=False)
class Conflict:
    """A minimal set of choices, and orders, that contradict each other.

    `choices` has one row per choice, of `chosen` over `other`, with its exact multiplier: these multiples of
    the rows add up to nothing. `orders` are the conditions needed in addition.
    """

    choices: pd.DataFrame
    orders: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.choices) + len(self.orders)

    def __str__(self) -> str:
        lines = [
            f"respondent {row.respondent}, task {row.task}: {row.chosen} chosen over {row.other}"
            for row in self.choices.itertuples()
        ]
        return "\n".join(lines + [f"order {name}" for name in self.orders])


def find_conflict(study: ConjointStudy, orders: Orders | None = None) -> Conflict | None:
    """Return a minimal set of choices of all respondents together that no part-worths explain, or None.

    With `orders` part-worths must keep them too.

    >>> from ranking.conjoint import example_study
    >>> coffee = example_study()
    >>> find_conflict(coffee.only(respondents=[2])) is None, len(find_conflict(coffee)) > 1
    (True, True)
    """
    differences, conditions = study.differences(), order_rows(study, orders)
    if not len(differences):
        return None
    _, first = np.unique(differences.rows, axis=0, return_index=True)
    # equal rows prove the same: the first choice stands for all
    kept = np.sort(first)
    rows = np.vstack([differences.rows[kept], conditions.rows])
    members = minimal_conflict(rows, len(kept))
    if members is None:
        return None
    multipliers = exact_multipliers(rows[members])
    is_choice = members < len(kept)
    which = kept[members[is_choice]]
    chosen, other = differences.pairs[which].T
    choices = pd.DataFrame(
        {
            "respondent": study.respondents[differences.respondent[which]],
            "task": study.choices.task[differences.task[which]],
            "chosen": study.alternative[chosen],
            "other": study.alternative[other],
            "multiplier": multipliers[: len(which)],
        }
    )
    return Conflict(choices, tuple(conditions.names[j - len(kept)] for j in members[~is_choice]))


def find_conflicts(study: ConjointStudy, orders: Orders | None = None) -> dict[Hashable, Conflict]:
    """Return a minimal set of contradicting choices for every respondent who has one, by name."""
    found = {}
    for name in study.respondents:
        alone = study.only(respondents=[name])
        conflict = find_conflict(alone, orders)
        if conflict is not None:
            found[name] = conflict
    return found


def minimal_conflict(rows: Array, s: int) -> Integers | None:
    """Return the places of a minimal set of contradicting rows, the first s of which are choices, or None.

    >>> minimal_conflict(np.array([[1, 0], [0, 1], [-1, -1], [1, 1]]), 4).tolist()
    [0, 1, 2]
    """
    members = _support(rows, np.arange(len(rows)), s)
    if members is None:
        return None
    # a vertex needs no more; where rounding error left a row too many, this finds it
    for row in members.tolist():
        smaller = _support(rows, members[members != row], s)
        members = members if smaller is None else smaller
    return members


def exact_multipliers(rows: Array) -> list[Fraction]:
    """Return the positive multiples of rows that add up to nothing, the least of them 1, exactly.

    Raises if there are none, or if they are not unique: the set would not be a minimal conflict.
    """
    from sympy import QQ
    from sympy.polys.matrices import DomainMatrix

    entries = [[QQ(*Fraction(entry).as_integer_ratio()) for entry in column] for column in rows.T.tolist()]
    matrix = DomainMatrix(entries, rows.T.shape, QQ)
    kernel = matrix.nullspace().to_Matrix()
    if kernel.shape[0] == 1:
        values = [Fraction(int(entry.p), int(entry.q)) for entry in kernel]
        if all(value > 0 for value in values) or all(value < 0 for value in values):
            least = min(abs(value) for value in values)
            return [abs(value) / least for value in values]
    message = "choices seem to contradict each other, but float64 arithmetic cannot decide which"
    raise RankingError(message, remedy="round the numbers of linear attributes")


def _support(rows: Array, members: Integers, s: int) -> Integers | None:
    """Return the members with a multiplier at a vertex of all proofs, or None if there is no proof."""
    is_choice = (members < s).astype(float)
    if not is_choice.any():
        return None
    equations = np.vstack([rows[members].T, is_choice])
    right = np.append(np.zeros(rows.shape[1]), 1.0)
    answer = linprog(np.zeros(len(members)), A_eq=equations, b_eq=right, method="highs-ds")
    return None if answer.status == INFEASIBLE else members[np.asarray(answer.x) > NEGLIGIBLE]
