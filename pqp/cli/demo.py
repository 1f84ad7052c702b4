"""The demonstration: which part-worths explain what one respondent chose in a small study of coffee?

The study is `pqp/data/coffee.csv`, with invented answers; `ranking/conjoint/data/example.py` says how they
were made. A row is an alternative of a task: a pack of coffee, with one level of each attribute, or the none
option, whose cells are empty. The last two tasks of every respondent are held out and not used here.
"""

import csv
from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby

from pqp.errors import ProblemError
from pqp.model.affine import mu
from pqp.model.problem import ParametricQP

FILE = "coffee.csv"
RESPONDENTS = 24
# Tasks of each respondent that are not held out.
TASKS = 8
# A respondent who cares about the price and whose choices contradict each other; the path ends in fifths.
RESPONDENT = 12
LEVELS: dict[str, tuple[str, ...]] = {
    "brand": ("Alba", "Brio", "Cima"),
    "roast": ("light", "medium", "dark"),
    "size": ("small", "large"),
    "price": ("9", "12", "15"),
}
NONE = "none"
# A row of the file, by the names of its columns.
Alternative = dict[str, str]


def conjoint_problem(respondent: int = RESPONDENT, tasks: int = TASKS) -> ParametricQP:
    r"""Return CBC(C) for the first choices of a respondent, its parameter mu being C.

    If a was chosen rather than b, the part-worths v should satisfy :math:`n_{ab}^\top v \ge 1`, where
    :math:`n_{ab} = \chi_a - \chi_b` is 1 at the levels of a and -1 at those of b. Violations cost C:

    .. math:: \min_v \; \tfrac12 \|v\|^2 + C \sum_{ab} \xi_{ab}
              \quad\text{s.t.}\quad n_{ab}^\top v \ge 1 - \xi_{ab},\; \xi \ge 0

    >>> conjoint_problem(respondent=7, tasks=5)
    ParametricQP(12 variables, 15 rows)
    """
    _require_within(respondent, RESPONDENTS, "respondent")
    _require_within(tasks, TASKS, "tasks")
    names = part_worth_names()
    pairs = list(_comparisons(respondent, tasks))
    marks = [(_marks(a), _marks(b)) for a, b in pairs]
    rows = [[(name in chosen) - (name in other) for name in names] for chosen, other in marks]
    identity = [[int(i == j) for j in range(len(names))] for i in range(len(names))]
    labels = [f"task {a['task']}: {a['alternative']} over {b['alternative']}" for a, b in pairs]
    return ParametricQP(
        identity, [0] * len(names), rows, row_lower=1, penalty=mu, names=names, row_names=labels
    )


def part_worth_names() -> list[str]:
    """Return the names of the part-worths: attribute and level, and the none option.

    >>> part_worth_names()[:3]
    ['brand Alba', 'brand Brio', 'brand Cima']
    """
    return [f"{attribute} {level}" for attribute, levels in LEVELS.items() for level in levels] + [NONE]


def _comparisons(respondent: int, tasks: int) -> Iterator[tuple[Alternative, Alternative]]:
    """Yield every chosen alternative with each alternative that was not chosen, task by task."""
    lines = (files("pqp") / "data" / FILE).read_text(encoding="utf-8").splitlines()
    shown = [row for row in csv.DictReader(lines) if int(row["respondent"]) == respondent]
    asked = [row for row in shown if row["holdout"] == "0" and int(row["task"]) <= tasks]
    for _, together in groupby(asked, key=lambda row: row["task"]):
        alternatives = list(together)
        (chosen,) = (row for row in alternatives if row["chosen"] == "1")
        yield from ((chosen, other) for other in alternatives if other is not chosen)


def _marks(alternative: Alternative) -> set[str]:
    """Return the names of the part-worths whose sum is the utility of an alternative."""
    levels = {f"{attribute} {alternative[attribute]}" for attribute in LEVELS if alternative[attribute]}
    return levels or {NONE}


def _require_within(number: int, most: int, name: str) -> None:
    if not 1 <= number <= most:
        raise ProblemError(argument=name, expected=f"from 1 to {most}", found=number)
