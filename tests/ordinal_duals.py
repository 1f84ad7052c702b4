"""Duals of ordinal regression with fixed margins: a box that grows with mu, one row per threshold.

Object i of level k wants s (f(x_i) - p) ≥ 1 of the thresholds p next to its level, or of all of them, s = ±1.
The dual has a variable for each such hinge, 0 ≤ alpha ≤ mu weight, and a row for each threshold: what pulls
it up is what pulls it down or, if thresholds are to be in order, no sum from the first on exceeds 0.
"""

import math
from typing import Any

import numpy as np

import pqp
from pqp import mu
from tests.comparison import optimal_points

# The residual that a solution may have, relative to its largest number.
ROUND_OFF = 1e-11


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
    adjacent = every | (k == code[:, None] - 1) | (k == code[:, None])
    item, threshold = np.nonzero(adjacent)
    return item, threshold, np.where(threshold < code[item], 1, -1)


def _pairs(X: Any, item: Any, sign: Any) -> pqp.PairGram:
    """Signed items as pairs with one item of which the kernel is 0."""
    K = np.zeros((len(X) + 1, len(X) + 1))
    K[:-1, :-1] = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    nothing = np.full(len(item), len(X))
    up = sign > 0
    return pqp.PairGram(K, np.column_stack([np.where(up, item, nothing), np.where(up, nothing, item)]))


def objects(n: int, seed: int, levels: int) -> tuple[Any, Any]:
    """Objects in the order of their features, and their levels."""
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n, 3)), random.integers(0, levels, n)
    order = np.lexsort(X.T[::-1])
    return X[order], y[order]


def whole_objects(n: int, seed: int, levels: int) -> tuple[Any, Any]:
    """Objects whose features are small integers, and their levels."""
    random = np.random.default_rng(seed)
    return random.integers(-9, 10, size=(n, 3)), random.integers(0, levels, n)


def assert_solved_throughout(path: pqp.Path, stop: float) -> None:
    """Assert that a path leaves nothing out between 0 and an end, and solves the problem."""
    assert [tuple(interval) for interval in path.intervals] == [(0.0, stop, "optimal")]
    for point in optimal_points(path):
        assert point.residuals().largest <= ROUND_OFF * (1.0 + np.abs(point.x).max())
