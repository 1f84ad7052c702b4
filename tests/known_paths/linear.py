"""Linear programs, P = 0: moving right-hand sides, moving costs, cycling examples and ties."""

import numpy as np

import pqp
from pqp import mu
from tests.known_paths.entry import INFINITY, F, entry

CYCLING_STATUS = ((-1, 0, "infeasible"), (0, 4, "optimal"))


def linear_program(c: object, A: object, **limits: object) -> pqp.ParametricQP:
    """Return the problem with P = 0 and x ≥ 0 unless said otherwise."""
    n = len(A[0])
    return pqp.ParametricQP(np.zeros((n, n), dtype=int), c, A=A, **{"lower": 0, **limits})


@entry(
    "Beale, Naval Research Logistics Quarterly 2 (1955); mu for the 1 in the last row",
    interval=(-1, 4),
    statuses=CYCLING_STATUS,
    bends=(0,),
    x={1: (1, 0, 1, 0), 3: (3, 0, 3, 0)},
    values={1: F(-5, 4), 4: -5},
)
def beale_cycling() -> pqp.ParametricQP:
    """Multipliers (0, 3/2, 5/4) of the three rows give the reduced costs (0, 2, 0, 21/2) ≥ 0, so x2 = x4 = 0.

    Rows 2 and 3 are then tight: x1 = x3 = mu, and the value is −5mu/4. x3 ≤ mu < 0 contradicts x3 ≥ 0.
    """
    A = [[F(1, 4), -8, -1, 9], [F(1, 2), -12, F(-1, 2), 3], [0, 0, 1, 0]]
    return linear_program([F(-3, 4), 20, F(-1, 2), 6], A, row_upper=[0, 0, mu])


@entry(
    "Chvátal, Linear Programming (1983), chapter 3: the cycling example; mu for the 1 in the last row",
    interval=(-1, 4),
    statuses=CYCLING_STATUS,
    bends=(0,),
    x={1: (1, 0, 1, 0), F(5, 2): (F(5, 2), 0, F(5, 2), 0)},
    values={1: -1, 4: -4},
)
def chvatal_cycling() -> pqp.ParametricQP:
    """Multipliers (0, 18, 1) give the reduced costs (0, 30, 0, 42), so x2 = x4 = 0 and rows 2, 3 are tight.

    Hence x1 = x3 = mu with value −10mu + 9mu = −mu; x1 ≤ mu < 0 is impossible.
    """
    A = [[F(1, 2), F(-11, 2), F(-5, 2), 9], [F(1, 2), F(-3, 2), F(-1, 2), 1], [1, 0, 0, 0]]
    return linear_program([-10, 57, 9, 24], A, row_upper=[0, 0, mu])


@entry(
    "Kuhn's cycling example, in Balinski and Tucker, SIAM Review 11 (1969); mu for the 2 in the last row",
    interval=(-3, 5),
    bends=None,
    kinks=(),
    values={-3: 3, 0: 0, 2: -2, 5: -5},
)
def kuhn_cycling() -> pqp.ParametricQP:
    """The last row is minus the objective, so the value is at least −mu.

    It is reached by mu·(1, 0, 1, 0) for mu ≥ 0, and by −mu/9·(0, 1, 0, 1) for mu ≤ 0.
    """
    A = [[-2, -9, 1, 9], [F(1, 3), 1, F(-1, 3), -2], [2, 3, -1, -12]]
    return linear_program([-2, -3, 1, 12], A, row_upper=[0, 0, mu])


@entry(
    "the cube of Klee and Minty (1972) for n = 3 as in Chvátal (1983), chapter 4; the cost of x3 moves",
    interval=(0, 2),
    bends=(F(1, 2), 1),
    jumps=(F(1, 2), 1),
    x={F(1, 4): (0, 0, 10000), F(3, 4): (0, 100, 8000), F(3, 2): (0, 100, 0)},
    values={0: -10000, F(1, 2): -5000, 1: -1000, 2: -1000},
)
def klee_minty_cube() -> pqp.ParametricQP:
    """With t = 1 − mu the eight vertices are worth 0, 100, 900, 1000 and, with x3 > 0,

    10000t, 100 + 9800t, 900 + 8200t, 1000 + 8000t. The last four agree at t = 1/2; above it the first is the
    largest, between 0 and 1/2 the last, and below 0 the vertex (0, 100, 0).
    """
    A = [[1, 0, 0], [20, 1, 0], [200, 20, 1]]
    return linear_program([-100, -10, mu - 1], A, row_upper=[1, 100, 10000])


@entry(
    "after Bertsimas and Tsitsiklis, Introduction to Linear Optimization (1997), section 5.5; solved by hand",
    interval=(-INFINITY, INFINITY),
    statuses=(
        (-INFINITY, F(5, 4), "unbounded"),
        (F(5, 4), F(11, 3), "optimal"),
        (F(11, 3), INFINITY, "unbounded"),
    ),
    bends=(F(5, 4), F(3, 2), 3, F(11, 3)),
    jumps=(F(3, 2), 3),
    x={F(7, 5): (F(7, 2), 0, 0), 2: (0, 0, 0), F(7, 2): (0, F(5, 2), 0)},
    values={F(5, 4): F(-7, 4), F(7, 5): F(-7, 10), 2: 0, F(7, 2): F(-5, 4), F(11, 3): F(-5, 3)},
)
def bertsimas_tsitsiklis() -> pqp.ParametricQP:
    """The dual minimises 5p + 7q over p, q ≥ 0, p + 2q ≥ 3 − 2mu, 2p + q ≥ mu − 3, 3p + 4q ≤ 1.

    It is 0 on [3/2, 3]. Left of it q = (3 − 2mu)/2 is the cheapest, possible while 4q ≤ 1, that is mu ≥ 5/4;
    right of it p = (mu − 3)/2, possible while 3p ≤ 1, that is mu ≤ 11/3. Complementarity: x1 = 7/2, x2 = 5/2.
    """
    return linear_program([2 * mu - 3, 3 - mu, 1], [[1, 2, -3], [2, 1, -4]], row_upper=[5, 7])


@entry(
    "Hillier and Lieberman, Introduction to Operations Research: Wyndor Glass with costs (3 + 2θ, 5 − θ)",
    interval=(0, 10),
    bends=(F(9, 7), 5),
    jumps=(F(9, 7), 5),
    x={1: (2, 6), 2: (4, 3), 6: (4, 0)},
    values={0: -36, F(9, 7): F(-234, 7), 5: -52, 10: -92},
)
def wyndor_glass() -> pqp.ParametricQP:
    """The vertices (2, 6), (4, 3), (4, 0) are worth 36 − 2mu, 27 + 5mu, 12 + 8mu; (0, 6) and 0 never win.

    The first two agree at mu = 9/7, the last two at mu = 5.
    """
    return linear_program([-3 - 2 * mu, mu - 5], [[1, 0], [0, 2], [3, 2]], row_upper=[4, 12, 18])


@entry(
    "by hand",
    interval=(-1, 8),
    statuses=((-1, 0, "infeasible"), (0, 6, "optimal"), (6, 8, "infeasible")),
    bends=(0, 1, 3, 6),
    kinks=(0, 1, 3, 6),
    x={F(1, 2): (F(1, 2), 0, 0), 2: (1, 1, 0), 5: (1, 2, 2)},
    values={0: 0, 1: 1, 3: 5, 6: 17},
)
def merit_order_of_power_plants() -> pqp.ParametricQP:
    """Demand mu is met by plants of cost 1, 2, 4 and capacity 1, 2, 3, the cheapest first.

    The value is convex and piecewise linear with slopes 1, 2, 4; no plan meets less than 0 or more than 6.
    """
    return linear_program([1, 2, 4], [[1, 1, 1]], row_lower=mu, row_upper=mu, upper=[1, 2, 3])


@entry(
    "by hand",
    interval=(0, 5),
    bends=(2,),
    jumps=(2,),
    x={1: (1, 0), 3: (0, 1)},
    values={0: 3, 1: 4, 2: 5, 5: 5},
)
def two_routes() -> pqp.ParametricQP:
    """One unit travels on a road of cost 3 + mu or on one of cost 5: all of it jumps over at mu = 2."""
    return linear_program([3 + mu, 5], [[1, 1]], row_lower=1, row_upper=1)


@entry(
    "by hand",
    interval=(-1, 3),
    statuses=((-1, 0, "infeasible"), (0, 2, "optimal"), (2, 3, "infeasible")),
    bends=None,
    kinks=(0, 2),
    x={0: (0, 0), 2: (1, 1)},
    values={0: 0, 1: 0, 2: 0},
)
def nothing_to_minimise() -> pqp.ParametricQP:
    """P = 0 and c = 0: every x in the unit square with x1 + x2 = mu is optimal, and 0 ≤ mu ≤ 2 has one."""
    return linear_program([0, 0], [[1, 1]], row_lower=mu, row_upper=mu, upper=1)


@entry(
    "by hand",
    interval=(-1, 3),
    statuses=((-1, 0, "infeasible"), (0, 3, "optimal")),
    bends=(0, 1),
    jumps=(1,),
    x={F(1, 2): (F(1, 2),), 2: (0,)},
    values={0: 0, F(1, 2): F(-1, 4), 1: 0, 3: 0},
)
def cost_and_limit_both_move() -> pqp.ParametricQP:
    """min (mu − 1) x over 0 ≤ x ≤ mu: x = mu, worth mu² − mu, while the cost is negative, then x = 0."""
    return linear_program([mu - 1], [[1]], row_upper=mu)
