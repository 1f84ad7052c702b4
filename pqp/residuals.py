"""Residuals: by how much a point misses the optimality conditions of a problem.

Room: data and a point in, four numbers out. Knows no path.
May touch: `field`, `problem`.
"""

from dataclasses import dataclass

import numpy as np

from pqp.field import Array, Number, infinite
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
    primal = [*np.maximum(xlow - x, 0), *np.maximum(x - xhigh, 0), *below[~soft], *above[~soft]]
    stationarity = data.P @ x + data.c[0] + mu * data.c[1] - data.A.T @ y - z
    dual = np.maximum(np.abs(y[soft]) - penalty[soft], 0)
    cap = np.where(soft, penalty, 0)
    complementarity = [
        *_clashes(np.maximum(y, 0), activity - low),
        *_clashes(np.maximum(-y, 0), high - activity),
        *_clashes(np.maximum(z, 0), x - xlow),
        *_clashes(np.maximum(-z, 0), xhigh - x),
        *_clashes((cap - y)[soft], below[soft]),
        *_clashes((cap + y)[soft], above[soft]),
    ]
    return Residuals(*(_largest(part) for part in (primal, stationarity, dual, complementarity)))


def _clashes(multiplier: Array, slack: Array) -> list[Number]:
    """Return min(multiplier, slack) of every complementary pair, 0 where one of them vanishes."""
    return [max(min(m, s), 0) for m, s in zip(multiplier, slack, strict=True)]


def _largest(values: object) -> Number:
    return max((abs(value) for value in np.asarray(values, dtype=object).flat), default=0)
