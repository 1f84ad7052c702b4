"""Duals of ordinal regression with fixed margins: a box that grows with mu, one row a threshold.

Object i of level k wants s (f(x_i) - p) ≥ 1 of the thresholds p beside its level, or of all of them, s = ±1.
The dual has a variable for each such hinge, 0 ≤ alpha ≤ mu weight, and a row for each threshold: what pulls
it up is what pulls it down or, if thresholds are to be in order, no sum from the first on exceeds 0.
"""

import math
from typing import Any

import numpy as np

import pqp
from pqp import mu


def ordinal_dual(
    X: Any, y: Any, kernel: str = "linear", ordered: bool = False, weight: Any = None, every: bool = False
) -> pqp.ParametricQP:
    """The dual for objects X of levels y; `every` compares them with all thresholds."""
    X, (levels, code) = np.asarray(X), np.unique(y, return_inverse=True)
    item, threshold, sign = _hinges(code, len(levels) - 1, every)
    weights = np.ones(len(X)) if weight is None else np.asarray(weight)
    E = np.zeros((len(levels) - 1, len(item)))
    E[threshold, np.arange(len(item))] = sign
    limits: dict[str, Any] = {"row_lower": np.zeros(len(E)), "row_upper": np.zeros(len(E))}
    if ordered:
        E = np.cumsum(E, axis=0)
        limits["row_lower"][:-1] = -math.inf
    P = pqp.Gram(sign[:, None] * X[item]) if kernel == "linear" else _pairs(X, item, sign)
    return pqp.ParametricQP(P, -np.ones(len(item)), A=E, lower=0, upper=mu * weights[item], **limits)


def _hinges(code: Any, thresholds: int, every: bool) -> tuple[Any, Any, Any]:
    """Object, threshold and sign of all hinges."""
    k = np.arange(thresholds)
    beside = every | (k == code[:, None] - 1) | (k == code[:, None])
    item, threshold = np.nonzero(beside)
    return item, threshold, np.where(threshold < code[item], 1, -1)


def _pairs(X: Any, item: Any, sign: Any) -> pqp.PairGram:
    """Signed items as pairs with one item of which the kernel is 0."""
    K = np.zeros((len(X) + 1, len(X) + 1))
    K[:-1, :-1] = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    nothing = np.full(len(item), len(X))
    up = sign > 0
    return pqp.PairGram(K, np.column_stack([np.where(up, item, nothing), np.where(up, nothing, item)]))
