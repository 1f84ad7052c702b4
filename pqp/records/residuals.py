"""Residuals: by how much a point misses the optimality conditions of a problem, absolutely or relatively.

Relative residuals decide whether a float piece is as accurate as float64 allows. Every residual is relative
to the terms it is the sum of, so that a large part of a problem does not excuse a small one. A multiplier of
the wrong sign counts by what it contributes to stationarity, a violated bound by what the violation does to
gradients and rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pqp.linalg.affine import AffineArray
from pqp.linalg.field import Array, Number, infinite
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
    zero: Any = data.field.number(0)
    # Absolutely, a multiplier counts by itself, and everything in its own unit.
    as_it_is = np.asarray
    misses = _misses(data, mu, (x, y, z), _Scales(as_it_is, as_it_is, as_it_is, as_it_is, np.abs(y)))
    return Residuals(*(data.field.number(np.max(part, initial=zero)) for part in misses))


@dataclass(frozen=True, eq=False)
class Sizes:
    """How large the terms are that x and y of a float piece are the sums of."""

    x: AffineArray
    y: AffineArray


@dataclass(frozen=True, eq=False)
class _Scales:
    """What misses are relative to: of gradients, rows, multipliers at caps and bounds; `pull` is |y| so."""

    gradient: Callable[[Array], Array]
    row: Callable[[Array], Array]
    cap: Callable[[Array], Array]
    bound: Callable[[Array], Array]
    pull: Array


def relative_residual(
    data: QPData, mu: float, solution: tuple[AffineArray, AffineArray, AffineArray], sizes: Sizes
) -> float:
    """Return the largest residual of a float piece (x, y, z) at mu, relative to the terms it sums up."""
    x, y, z = (part.at(mu) for part in solution)
    # Sizes, not values: terms that cancel leave rounding errors in proportion to their sizes.
    P, A = np.abs(data.dense_P), np.abs(data.dense_A)
    x_size, y_size = _size(sizes.x, mu), _size(sizes.y, mu)
    gradient = P @ x_size + _size(data.c, mu) + A.T @ y_size
    row = A @ x_size + _size(data.row_lower, mu) + _size(data.row_upper, mu)
    # a bound has no terms of its own: its violation counts by what it does to gradients and rows
    unit = np.maximum(_largest_ratio(P.T, gradient), _largest_ratio(A.T, row))
    unit = np.where(unit > 0, unit, 1.0)
    cap = y_size + _size(data.penalty, mu)
    scales = _Scales(
        partial(_ratio, scale=gradient),
        partial(_ratio, scale=row),
        partial(_ratio, scale=cap),
        lambda value: value * unit,
        # A multiplier has no scale of its own: it counts by what it adds to the gradient.
        _largest_ratio(A * np.abs(y)[:, None], gradient),
    )
    return max(float(np.max(part, initial=0.0)) for part in _misses(data, mu, (x, y, z), scales))


def _misses(
    data: QPData, mu: Number, solution: tuple[Array, Array, Array], scales: _Scales
) -> tuple[Array, Array, Array, Array]:
    """Return by how much a point misses each condition, in the order of `Residuals`; only excess counts."""
    x, y, z = solution
    limits = (data.penalty, data.row_lower, data.row_upper, data.lower, data.upper)
    penalty, low, high, xlow, xhigh = (limit.at(mu) for limit in limits)
    activity, soft = data.A @ x, ~infinite(penalty)
    below, above = scales.row(low - activity), scales.row(activity - high)
    under, over = scales.bound(xlow - x), scales.bound(x - xhigh)
    force = scales.gradient(np.abs(z))
    # hard rows have no cap: 0 keeps infinity out of sums whose entries are dropped below
    cap = np.where(soft, penalty, 0)
    complementarity = [
        np.where(y > 0, np.minimum(scales.pull, -below), np.minimum(scales.pull, -above))[y != 0],
        np.where(z > 0, np.minimum(force, -under), np.minimum(force, -over))[z != 0],
        np.minimum(scales.cap(cap - y), below)[soft],
        np.minimum(scales.cap(cap + y), above)[soft],
    ]
    return (
        np.concatenate([under, over, below[~soft], above[~soft]]),
        np.abs(scales.gradient(data.P @ x + data.c.at(mu) - data.A.T @ y - z)),
        scales.cap(np.abs(y) - cap)[soft],
        np.concatenate(complementarity),
    )


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
