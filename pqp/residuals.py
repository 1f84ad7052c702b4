"""Residuals: by how much a point misses the optimality conditions of a problem.

Room: data and a point in, four numbers out. Knows no path.
May touch: `field`, `problem`.
"""

from dataclasses import dataclass

import numpy as np

from pqp.field import Array, Number, infinite
from pqp.problem import Affines, QPData


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


def relative_residual(
    data: QPData, mu: float, solution: tuple[Affines, Affines, Affines], sizes: tuple[Affines, Affines]
) -> float:
    """Return the largest residual of a float piece at mu, each relative to the terms it is the sum of.

    `sizes` are those of the terms that x and y themselves are the sums of.

    A multiplier of the wrong sign counts by what it contributes to stationarity, a bound that is missed by
    what the miss does to gradients and rows.
    """
    limits = (data.penalty, data.row_lower, data.row_upper, data.lower, data.upper)
    penalty, low, high, xlow, xhigh = (_at(limit, mu) for limit in limits)
    at, multiplier, cost = (_at(part, mu) for part in solution)
    P, A, soft = np.abs(data.P), np.abs(data.A), np.isfinite(penalty)
    activity, (size_x, size_y) = data.A @ at, (_size(part, mu) for part in sizes)
    gradient = data.P @ at + _at(data.c, mu) - data.A.T @ multiplier
    weight = P @ size_x + _size(data.c, mu) + A.T @ size_y
    reach = A @ size_x + _size(data.row_lower, mu) + _size(data.row_upper, mu)
    force, pull = _ratio(np.abs(cost), weight), _largest_ratio(A * np.abs(multiplier)[:, None], weight)
    below, above = _ratio(low - activity, reach), _ratio(activity - high, reach)
    unit = np.maximum(_largest_ratio(P.T, weight), _largest_ratio(A.T, reach))
    xbelow, xabove = _scaled(xlow - at, unit), _scaled(at - xhigh, unit)
    parts = [
        _ratio(np.abs(gradient - cost), weight),
        *(side[~soft] for side in (below, above)),
        xbelow,
        xabove,
        _ratio(np.abs(multiplier) - penalty, size_y + _size(data.penalty, mu))[soft],
        np.where(multiplier > 0, np.minimum(pull, -below), np.minimum(pull, -above))[multiplier != 0],
        np.where(cost > 0, np.minimum(force, -xbelow), np.minimum(force, -xabove))[cost != 0],
        np.minimum(_ratio(penalty - multiplier, size_y + _size(data.penalty, mu)), below)[soft],
        np.minimum(_ratio(penalty + multiplier, size_y + _size(data.penalty, mu)), above)[soft],
    ]
    return max(float(np.max(part, initial=0.0)) for part in parts)


def _at(data: Affines, mu: float) -> Array:
    return data[0] + mu * data[1]


def _size(data: Affines, mu: float) -> Array:
    """Return the size of the terms of affine data, 0 for an infinite limit."""
    return np.where(np.isinf(data[0]), 0.0, np.abs(data[0]) + np.abs(mu * data[1]))


def _scaled(value: Array, unit: Array) -> Array:
    """Return a miss of bounds in units of what one unit of x does to the rest, 1 where that is nothing."""
    return value * np.where(unit > 0, unit, 1.0)


def _largest_ratio(values: Array, scale: Array) -> Array:
    """Return the largest of values / scale in every row."""
    return np.max(_ratio(values, np.broadcast_to(scale, values.shape)), axis=1, initial=0.0)


def _ratio(value: Array, scale: Array) -> Array:
    """Return value / scale, infinite where a limit is, 0 where both vanish."""
    finite = np.where(np.isinf(value) | (scale == 0), 1.0, scale)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(value), value, np.where(scale == 0, np.sign(value), value / finite))
