"""What feasible, optimal, infeasible and unbounded mean, written down without the library's own checks.

Solutions are judged in rationals by the definition of cost and by Lagrange's bound; the absence of one by
linear programs that HiGHS solves.
"""

import math
from typing import Any

import numpy as np
from scipy.optimize import linprog

import pqp
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import RATIONAL
from pqp.records.segment import Point

# HiGHS may err by 1e-7; what it is asked about here differs from zero by far more.
CLEARLY = 1e-4


def at(affine: AffineArray, mu: Any) -> Any:
    """Affine data of a `QPData` at one mu, by the definition."""
    return affine.constant + mu * affine.slope


def limits_at(problem: pqp.ParametricQP, mu: Any) -> list[Any]:
    """row_lower, row_upper, lower and upper at one mu."""
    data = problem.data(RATIONAL)
    return [at(affine, mu) for affine in (data.row_lower, data.row_upper, data.lower, data.upper)]


def constant_at(problem: pqp.ParametricQP, mu: Any) -> Any:
    """k(mu)."""
    k0, k1, k2 = (RATIONAL.number(k) for k in problem.constant)
    return k0 + mu * (k1 + mu * k2)


def is_feasible(problem: pqp.ParametricQP, mu: Any, x: Any) -> bool:
    """Whether x satisfies every hard constraint."""
    row_lower, row_upper, lower, upper = limits_at(problem, mu)
    activity, hard = problem.data(RATIONAL).A @ x, ~problem.is_soft
    rows = (row_lower <= activity)[hard].all() and (activity <= row_upper)[hard].all()
    return bool(rows and (lower <= x).all() and (x <= upper).all())


def cost(problem: pqp.ParametricQP, mu: Any, x: Any) -> Any:
    """½xᵀPx + cᵀx + k + Σ penalty · violation."""
    data, soft = problem.data(RATIONAL), problem.is_soft
    row_lower, row_upper, _, _ = limits_at(problem, mu)
    activity = data.A @ x
    violation = np.maximum(np.maximum(row_lower - activity, activity - row_upper), 0)
    penalties = at(data.penalty, mu)[soft] @ violation[soft]
    return x @ data.P @ x / 2 + at(data.c, mu) @ x + constant_at(problem, mu) + penalties


def dual_bound(problem: pqp.ParametricQP, point: Point) -> Any:
    """What the multipliers of a point prove every feasible x to cost; None if they prove nothing."""
    data, soft, mu = problem.data(RATIONAL), problem.is_soft, point.mu
    stationary = (data.P @ point.x + at(data.c, mu) - data.A.T @ point.y - point.z == 0).all()
    if not stationary or (abs(point.y[soft]) > at(data.penalty, mu)[soft]).any():
        return None
    row_lower, row_upper, lower, upper = limits_at(problem, mu)
    sides = ((point.y, row_lower, row_upper), (point.z, lower, upper))
    entries = [entry for side in sides for entry in zip(*side, strict=True)]
    held = sum(value * (low if value > 0 else high) for value, low, high in entries if value)
    return held - point.x @ data.P @ point.x / 2 + constant_at(problem, mu)


class LinearPrograms:
    """The problem at one mu without its curvature: G (x, v) ≤ h, v ≥ 0 the violations of soft rows."""

    def __init__(self, problem: pqp.ParametricQP, mu: Any) -> None:
        data, soft = problem.data(RATIONAL), problem.is_soft
        n, self.violations = problem.n, int(soft.sum())
        self.P = data.P.astype(float)
        self.costs = np.array([*at(data.c, mu), *at(data.penalty, mu)[soft]], dtype=float)
        rows = np.vstack([data.A.astype(float), np.eye(n)])
        slack = np.vstack([np.eye(problem.m)[:, soft], np.zeros((n, self.violations))])
        row_lower, row_upper, lower, upper = (side.astype(float) for side in limits_at(problem, mu))
        low, high = np.append(row_lower, lower), np.append(row_upper, upper)
        has_low, has_high = low > -math.inf, high < math.inf
        self.G = np.vstack([np.hstack([-rows, -slack])[has_low], np.hstack([rows, -slack])[has_high]])
        self.h = np.append(-low[has_low], high[has_high])

    def is_feasible(self) -> bool:
        """Whether some x satisfies every hard constraint."""
        return self._minimize(0 * self.costs, self.h).status == 0

    def has_descent(self) -> bool:
        """Whether the cost falls along a direction that no limit and no curvature ever stops."""
        flat, box = self._widened(self.P), [(-1, 1)] * len(self.P) + [(0, 1)] * self.violations
        found = self._minimize(self.costs, 0 * self.h, box, A_eq=flat, b_eq=0 * flat[:, 0])
        return bool(found.fun < -CLEARLY)

    def value(self) -> float:
        """The optimal value of the linear part, k(mu) left out."""
        return float(self._minimize(self.costs, self.h).fun)

    def extent(self, point: Point) -> float:
        """How far the optimal points near one of them, those with its P x and value, reach in a direction.

        Square roots of primes are independent over the rationals: no rational segment is orthogonal to them.
        """
        n, flat = len(self.P), self._widened(self.P)
        x = point.x.astype(float)
        smooth = float(constant_at(point.segment.problem, point.mu)) + x @ self.P @ x / 2
        equations = {
            "A_eq": np.vstack([flat, self.costs]),
            "b_eq": np.append(self.P @ x, float(point.objective) - smooth),
        }
        direction = np.append(np.sqrt([2, 3, 5, 7, 11, 13][:n]), np.zeros(self.violations))
        box = [(value - 1, value + 1) for value in x] + [(0, None)] * self.violations
        ends = [self._minimize(sign * direction, self.h, box, **equations).fun for sign in (1, -1)]
        return -float(sum(ends))

    def _widened(self, matrix: Any) -> Any:
        return np.hstack([matrix, np.zeros((len(matrix), self.violations))])

    def _minimize(self, costs: Any, h: Any, box: Any = None, **equations: Any) -> Any:
        bounds = box or [(None, None)] * len(self.P) + [(0, None)] * self.violations
        found = linprog(costs, A_ub=self.G, b_ub=h, bounds=bounds, **equations)
        if found.status not in (0, 2):
            raise AssertionError(f"HiGHS failed: {found.message}")
        return found
