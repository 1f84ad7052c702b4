"""Residuals: by how much a point misses the optimality conditions of a problem, absolutely or relatively.

Relative residuals decide whether a float piece is as accurate as float64 allows. Every residual is relative
to the terms it is the sum of, so that a large part of a problem does not excuse a small one. A multiplier of
the wrong sign counts by what it contributes to stationarity, a violated bound by what the violation does to
gradients and rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pqp.linalg.affine import AffineArray
from pqp.linalg.field import Array, Field, Number, infinite
from pqp.model.problem import QPData


@dataclass(frozen=True)
class Residuals:
    """How far a point is from satisfying each optimality condition; every entry is 0 at a solution.

    Parameters
    ----------
    primal
        The largest violation of a hard row or a bound.
    stationarity
        The largest entry of |P x + c − Aᵀy − z|.
    dual
        By how much a multiplier of a soft row exceeds its penalty.
    complementarity
        The largest minimum of a multiplier and the distance from its limit.
    """

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
    penalty, low, high, xlow, xhigh = (limit.at(mu) for limit in limits)
    activity, soft = data.A @ x, ~infinite(penalty)
    below, above = np.maximum(low - activity, 0), np.maximum(activity - high, 0)
    primal = np.concatenate([xlow - x, x - xhigh, below[~soft], above[~soft]])
    stationarity = data.P @ x + data.c.at(mu) - data.A.T @ y - z
    dual = np.maximum(np.abs(y[soft]) - penalty[soft], 0)
    # hard rows have no cap: 0 keeps infinity out of sums whose entries are dropped below
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


@dataclass(frozen=True, eq=False)
class Sizes:
    """How large the terms are that x and y of a float piece are the sums of."""

    x: AffineArray
    y: AffineArray


@dataclass(frozen=True, eq=False)
class _Scales:
    """The sizes of the sums in the optimality conditions at one mu."""

    gradient: Array
    row: Array
    multiplier: Array
    unit: Array


def relative_residual(
    data: QPData, mu: float, solution: tuple[AffineArray, AffineArray, AffineArray], sizes: Sizes
) -> float:
    """Return the largest residual of a float piece (x, y, z) at mu, relative to the terms it sums up."""
    x, y, z = (part.at(mu) for part in solution)
    # Sizes, not values: terms that cancel leave rounding errors in proportion to their sizes.
    scales = _scales(data, mu, sizes)
    parts = [
        _ratio(np.abs(data.P @ x + data.c.at(mu) - data.A.T @ y - z), scales.gradient),
        *_row_misses(data, mu, data.A @ x, y, scales),
        *_bound_misses(data, mu, x, z, scales),
    ]
    return max(float(np.max(part, initial=0.0)) for part in parts)


def _scales(data: QPData, mu: float, sizes: Sizes) -> _Scales:
    P, A, x, y = np.abs(data.dense_P), np.abs(data.dense_A), _size(sizes.x, mu), _size(sizes.y, mu)
    gradient = P @ x + _size(data.c, mu) + A.T @ y
    row = A @ x + _size(data.row_lower, mu) + _size(data.row_upper, mu)
    # a bound has no terms of its own: its violation counts by what it does to gradients and rows
    unit = np.maximum(_largest_ratio(P.T, gradient), _largest_ratio(A.T, row))
    return _Scales(gradient, row, y + _size(data.penalty, mu), np.where(unit > 0, unit, 1.0))


def _row_misses(data: QPData, mu: float, activity: Array, y: Array, scales: _Scales) -> list[Array]:
    """Return by how much rows miss feasibility, caps and complementarity."""
    penalty, low, high = (limit.at(mu) for limit in (data.penalty, data.row_lower, data.row_upper))
    below, above = _ratio(low - activity, scales.row), _ratio(activity - high, scales.row)
    # A multiplier has no scale of its own: it counts by what it adds to the gradient.
    pull, soft = (
        _largest_ratio(np.abs(data.dense_A) * np.abs(y)[:, None], scales.gradient),
        np.isfinite(penalty),
    )
    return [
        below[~soft],
        above[~soft],
        np.where(y > 0, np.minimum(pull, -below), np.minimum(pull, -above))[y != 0],
        _ratio(np.abs(y) - penalty, scales.multiplier)[soft],
        np.minimum(_ratio(penalty - y, scales.multiplier), below)[soft],
        np.minimum(_ratio(penalty + y, scales.multiplier), above)[soft],
    ]


def _bound_misses(data: QPData, mu: float, x: Array, z: Array, scales: _Scales) -> list[Array]:
    """Return by how much bounds miss feasibility and complementarity."""
    below, above = (data.lower.at(mu) - x) * scales.unit, (x - data.upper.at(mu)) * scales.unit
    force = _ratio(np.abs(z), scales.gradient)
    return [below, above, np.where(z > 0, np.minimum(force, -below), np.minimum(force, -above))[z != 0]]


def _size(data: AffineArray, mu: float) -> Array:
    """Return the size of the terms of affine data, 0 for an infinite limit."""
    return np.where(np.isinf(data.constant), 0.0, np.abs(data.constant) + np.abs(mu * data.slope))


def _largest_ratio(values: Array, scale: Array) -> Array:
    """Return the largest of values / scale in every row."""
    return np.max(_ratio(values, np.broadcast_to(scale, values.shape)), axis=1, initial=0.0)


def _ratio(value: Array, scale: Array) -> Array:
    """Return value / scale, infinite where a limit is, the sign of the value where the scale vanishes."""
    # Terms of size 0 leave no rounding error, so any residual there counts in full.
    divisor = np.where(np.isinf(value) | (scale == 0), 1.0, scale)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(value), value, np.where(scale == 0, np.sign(value), value / divisor))
