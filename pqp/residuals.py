"""Residuals: by how much a point misses the optimality conditions of a problem.

Room: data and a point in, four numbers out. Knows no path.
May touch: `field`, `problem`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pqp.field import Array, Field, Number, infinite
from pqp.problem import QPData


@dataclass(frozen=True)
class Residuals:
    """How far a point is from satisfying each optimality condition; every entry is 0 at a solution."""

    primal: Number
    stationarity: Number
    dual: Number
    complementarity: Number

    @property
    def largest(self) -> Number:
        """The largest of the four."""
        return max(self.primal, self.stationarity, self.dual, self.complementarity)


def residuals(data: QPData, mu: Number, x: Array, y: Array, z: Array) -> Residuals:
    """Return the largest violation of feasibility, stationarity, multiplier caps and complementarity."""
    limits = (data.penalty, data.row_lower, data.row_upper, data.lower, data.upper)
    penalty, low, high, xlow, xhigh = (constant + mu * slope for constant, slope in limits)
    activity, soft = data.A @ x, ~infinite(penalty)
    below, above = np.maximum(low - activity, 0), np.maximum(activity - high, 0)
    primal = np.concatenate([xlow - x, x - xhigh, below[~soft], above[~soft]])
    stationarity = data.P @ x + data.c[0] + mu * data.c[1] - data.A.T @ y - z
    dual = np.maximum(np.abs(y[soft]) - penalty[soft], 0)
    cap = np.where(soft, penalty, 0)
    complementarity = np.concatenate(
        [
            np.minimum(y, activity - low),
            np.minimum(-y, high - activity),
            np.minimum(z, x - xlow),
            np.minimum(-z, xhigh - x),
            np.minimum(cap - y, below)[soft],
            np.minimum(cap + y, above)[soft],
        ]
    )
    parts = (primal, np.abs(stationarity), dual, complementarity)
    return Residuals(*(_largest(part, data.field) for part in parts))


def _largest(values: Array, field: Field) -> Number:
    """Return the largest excess over 0."""
    zero: Any = field.number(0)
    return field.number(np.max(values, initial=zero))
