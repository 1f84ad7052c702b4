"""Weights: how much every respondent counts.

Room: a column of long data, or weights by respondent, in; one positive number a respondent out.
May touch: `labels`, `problems`, `roles`, `keys`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ranking.arrays import Array
from ranking.conjoint.keys import Keys, labels_of
from ranking.conjoint.labels import in_order, plain, quoted
from ranking.conjoint.problems import Problems
from ranking.conjoint.roles import Roles
from ranking.errors import DataError


def read_weights(
    frame: pd.DataFrame, roles: Roles, keys: Keys, respondents: list[Any], found: Problems
) -> Array:
    """Return the weight of every respondent, 1 if nothing is said."""
    if roles.weight is None:
        return np.ones(len(respondents))
    if isinstance(roles.weight, str):
        given: Any = _weights_in(frame[roles.weight], keys, found)
    elif isinstance(roles.weight, Mapping | pd.Series):
        given = roles.weight
    else:
        raise DataError(f"weight must be a column or weights by respondent, got {roles.weight!r:.80}")
    by_name = {plain(name): value for name, value in given.items()}
    for name in in_order(by_name.keys() - set(respondents)):
        found.add("weight", f"weight names respondent {quoted(name)}, who has no task")
    return np.array([_weight(by_name, name, found) for name in respondents])


def _weights_in(column: "pd.Series[Any]", keys: Keys, found: Problems) -> dict[Any, Any]:
    """Return the weights of a column by respondent, noting respondents with several."""
    weights: dict[Any, Any] = {}
    told: set[Any] = set()
    for name, value in zip(keys.respondent, labels_of(column), strict=True):
        if name is None or name in told or weights.setdefault(name, value) == value:
            continue
        told.add(name)
        both = f"{quoted(weights[name])} and {quoted(value)}"
        found.add("weight", f"respondent {name} has different weights, {both}; write one in all rows")
    return weights


def _weight(by_name: dict[Any, Any], name: Any, found: Problems) -> float:
    value = by_name.get(name)
    number = pd.to_numeric(value, errors="coerce") if value is not None else np.nan
    if value is None or value != value:
        found.add("weight", f"respondent {name} has no weight; give one, or leave out weight=")
    elif not (np.isfinite(number) and number > 0):
        found.add("weight", f"respondent {name}: the weight is {quoted(value)}, not a positive number")
    return float(number)
