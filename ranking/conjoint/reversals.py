"""Order reversals: part-worths that contradict an order everybody should agree with.

Room: part-worths and orders of levels in, how often neighbours stand the wrong way round out.
May touch: `errors`, `arrays`, `orders`, `rules`, `space`, `worths`.
"""

from typing import Any

import numpy as np
import pandas as pd

from ranking.arrays import Array
from ranking.conjoint.orders import OrderRows, Orders, order_rows
from ranking.conjoint.rules import TIED
from ranking.conjoint.space import HasSpace, Space, space_of
from ranking.conjoint.worths import read_part_worths, weights_of
from ranking.errors import DataError


def order_reversals(part_worths: Any, study: HasSpace, orders: Orders, weights: Any = None) -> pd.DataFrame:
    """Return one row for every two neighbouring levels: how many respondents have them the wrong way round.

    `orders` says for attributes that their worth "rises" or "falls" along their levels, or along the numbers
    of a linear attribute; or it lists levels from the worst to the best. `share` is weighted;
    `difference` is the mean worth of the better level less that of the worse.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> order_reversals(example_part_worths().T, example_study(), {"price": "falls", "roast": "rises"})
      attribute   worse  better  reversed  share  difference
    0     price      15      12         0    0.0        1.65
    1     price      12       9         0    0.0        1.05
    2     roast   light  medium         0    0.0        0.55
    3     roast  medium    dark         1    0.5        0.25
    """
    space = space_of(study)
    table = read_part_worths(part_worths, space)
    counts = weights_of(weights, table, study)
    steps = _steps(space, orders)
    found = pd.DataFrame(steps.neighbours, columns=["attribute", "worse", "better"])
    is_wrong = _reversed(table, steps)
    return found.assign(
        reversed=is_wrong.sum(axis=0),
        share=np.average(is_wrong, axis=0, weights=counts),
        difference=np.average(table.to_numpy() @ steps.rows.T, axis=0, weights=counts),
    )


def reversal_counts(part_worths: Any, study: HasSpace, orders: Orders) -> "pd.Series[Any]":
    """Return for every respondent how many neighbouring levels stand the wrong way round."""
    space = space_of(study)
    table = read_part_worths(part_worths, space)
    is_wrong = _reversed(table, _steps(space, orders))
    return pd.Series(is_wrong.sum(axis=1), index=table.index, name="reversals")


def _steps(space: Space, orders: Orders) -> OrderRows:
    """Return the neighbours to look at, at least one."""
    steps = order_rows(space, orders)
    if not len(steps):
        raise DataError("orders must name at least one attribute, such as {'price': 'falls'}, got none")
    return steps


def _reversed(table: pd.DataFrame, steps: OrderRows) -> Array:
    """Return which neighbours stand the wrong way round, beyond round-off, one row a respondent."""
    v, o = table.to_numpy(), steps.rows
    return np.asarray(v @ o.T < -TIED * (np.abs(v) @ np.abs(o).T))
