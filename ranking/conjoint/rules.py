r"""Rules of choice: from utilities of alternatives to the probability that each of them is taken.

First choice takes the alternative of largest utility, ties in equal parts. The logit rule takes alternative
a with probability

.. math:: p_a = e^{\beta u_a} / \sum_b e^{\beta u_b},

and tends to first choice as the scale :math:`\beta` grows.

Room: rows of utilities in, rows of probabilities out. Knows no study.
May touch: `errors`, `arrays`.
"""

import numpy as np
from scipy.special import logsumexp, softmax

from ranking.arrays import Array
from ranking.errors import DataError

# Utilities closer than this share of the sizes of what was added up to them are tied: the rest is round-off.
TIED = 1e-10


def first_choices(U: Array, sizes: Array) -> Array:
    """Return which alternative of every row is best, in equal parts where several are.

    `sizes` says how large the sums behind the utilities of each row were; −inf is no alternative.

    >>> first_choices(np.array([[1.0, 3.0, 3.0]]), np.array([3.0]))
    array([[0. , 0.5, 0.5]])
    """
    is_best = U.max(axis=-1, keepdims=True) - U <= TIED * sizes[..., None]
    return np.asarray(is_best / is_best.sum(axis=-1, keepdims=True))


def logit(U: Array, scale: float, sizes: Array) -> Array:
    """Return choice probabilities at a scale; an infinite one is first choice.

    >>> logit(np.array([[0.0, 0.0, -np.inf]]), 2.0, np.array([1.0]))
    array([[0.5, 0.5, 0. ]])
    """
    if np.isinf(scale):
        return first_choices(U, sizes)
    return np.asarray(softmax(scaled(U, scale), axis=-1))


def log_logit(U: Array, scale: float, sizes: Array) -> Array:
    """Return logarithms of choice probabilities, precise where these are tiny."""
    if np.isinf(scale):
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(first_choices(U, sizes)))
    multiplied = scaled(U, scale)
    return np.asarray(multiplied - logsumexp(multiplied, axis=-1, keepdims=True))


def scaled(U: Array, scale: float) -> Array:
    """Return scale · U, with −inf, no alternative, as it is at scale 0 too."""
    is_missing = np.isneginf(U)
    return np.where(is_missing, -np.inf, scale * np.where(is_missing, 0.0, U))


def read_scale(scale: float) -> float:
    """Return a scale: a number from 0 to infinity."""
    if not isinstance(scale, int | float | np.number) or isinstance(scale, bool) or not scale >= 0:
        raise DataError(f"scale must be a number of at least 0, or inf, got {scale!r}")
    return float(scale)
