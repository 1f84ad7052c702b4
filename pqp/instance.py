"""An instance: the limits and caps of a scene at one mu, and what is special there.

Room: limits as lines and a mu in; constants, and which of them meet or vanish, out. Knows no step.
May touch: `field`, `stairs`, `equilibration`.
"""

import numpy as np

from pqp.equilibration import Scene
from pqp.field import TIE, Array
from pqp.stairs import Limits

# More variables than this are many.
MANY = 16


def is_pinched(limits: Limits, mu: float) -> Array:
    """Tell which limits just meet at mu: there they count as equal."""
    low, high = at(limits.lower, mu)[:, 0], at(limits.upper, mu)[:, 0]
    with np.errstate(invalid="ignore"):
        width, size = high - low, np.abs(high) + np.abs(low)
    return np.isfinite(size) & ~limits.is_equal & (width <= TIE * size)


def is_idle(limits: Limits, mu: float) -> Array:
    """Tell which caps just vanish at mu: there their limits have no force."""
    size = np.abs(limits.cap[:, 0]) + np.abs(mu * limits.cap[:, 1])
    return np.isfinite(size) & (at(limits.cap, mu)[:, 0] <= TIE * size)


def instance_of(limits: Limits, mu: float, pinched: Array, idle: Array) -> Limits:
    """Return limits and caps at one mu."""
    lower, upper, cap = (at(lines, mu) for lines in (limits.lower, limits.upper, limits.cap))
    upper[pinched] = lower[pinched]
    lower[idle, 0], upper[idle, 0], cap[idle, 0] = -np.inf, np.inf, np.inf
    return Limits(lower, upper, cap, (limits.is_equal | pinched) & ~idle)


def at(lines: Array, mu: float) -> Array:
    """Return lines as constants: their values at mu."""
    result = np.zeros_like(lines)
    result[:, 0] = lines[:, 0] + mu * lines[:, 1]
    return result


def all_limits_meet(scene: Scene, mu: float) -> bool:
    """Tell whether there are many variables and none of them can move at mu."""
    limits, is_row = scene.limits, scene.reduction.is_row
    if np.isinf(mu) or np.count_nonzero(~is_row) <= MANY:
        return False
    return bool(np.all(limits.is_equal | is_row | is_pinched(limits, mu)))


def is_crowded(scene: Scene, mu: float) -> bool:
    """Tell whether the limits of many variables meet at mu, and not all can go where they are pulled beyond.

    That is so if all limits do and an equality would be broken just beside mu: which variables stay behind is
    then decided by a tie of all of them, a problem as large as that of any other mu and far more delicate.
    """
    limits, is_row = scene.limits, scene.reduction.is_row
    strict = is_row & limits.is_equal & np.isinf(limits.cap[:, 0])
    if not np.any(strict) or not all_limits_meet(scene, mu):
        return False
    v = np.where(is_row, 0.0, at(limits.lower, mu)[:, 0])
    g = at(scene.q, mu)[:, 0] + scene.system.times(v[:, None])[:, 0]
    moves = np.where(is_row, 0.0, np.where(g >= 0, limits.lower[:, 1], limits.upper[:, 1]))
    slopes = scene.q[:, 1] + scene.system.times(moves[:, None])[:, 0] - limits.lower[:, 1]
    return bool(np.any(np.abs(slopes[strict]) > TIE * np.abs(moves).sum()))
