"""Quadratic programs with hard constraints only: portfolios, projections, textbook examples, singular P."""

import numpy as np

import pqp
from pqp import mu
from tests.known_paths.entry import INFINITY, F, entry

BOTH = {"row_lower": mu, "row_upper": mu}


def identity(n: int) -> np.ndarray:
    """Return P for ½|x|²."""
    return np.eye(n, dtype=int)


@entry(
    "issue 2: the budget example",
    interval=(-2, 8),
    statuses=((-2, 0, "infeasible"), (0, 8, "optimal")),
    bends=(0, 1, 5),
    x={0: (0, 0), F(1, 2): (0, F(1, 2)), 3: (1, 2), 8: (2, 3)},
    values={0: 0, 1: -5, 5: -13, 8: -13},
)
def budget() -> pqp.ParametricQP:
    """With the budget tight and both goods bought, y − x = 1, so x = (mu − 1)/2 ≥ 0 for mu ≥ 1.

    Its multiplier 4 − 2x = 5 − mu is ≥ 0 until 5; before 1 all goes into y.
    """
    return pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0)


@entry(
    "Hillier and Lieberman, Introduction to Operations Research: the quadratic example, mu for 30",
    interval=(-1, 50),
    statuses=((-1, 0, "infeasible"), (0, 50, "optimal")),
    bends=(0, F(75, 2)),
    x={10: (4, 3), 30: (12, 9), 50: (15, F(45, 4))},
    values={0: 0, 30: -270, 50: F(-1125, 4)},
)
def hillier_lieberman() -> pqp.ParametricQP:
    """max 15x + 30y + 4xy − 2x² − 4y² over x + 2y ≤ mu: with multiplier t, x = 15 − t and 4y = 45 − 3t.

    Hence mu = 75/2 − 5t/2, x = 2mu/5, y = 3mu/10 while t ≥ 0. The book's 30 gives (12, 9) and 270.
    """
    return pqp.ParametricQP([[4, -4], [-4, 8]], [-15, -30], A=[[1, 2]], row_upper=mu, lower=0)


@entry(
    "Nocedal and Wright, Numerical Optimization (2006), Example 16.4, mu for 2.5",
    interval=(-1, 6),
    bends=(0, F(3, 2), 4),
    x={-1: (1, 0), 1: (1, 1), F(5, 2): (F(7, 5), F(17, 10)), 5: (2, 2)},
    values={1: 0, F(5, 2): F(4, 5), 5: 10},
)
def nocedal_wright_16_4() -> pqp.ParametricQP:
    """The point (1, mu) is projected on a polygon. It is inside for 0 ≤ mu ≤ 3/2, then it goes to the edge

    x − 2y = −2 as ((2 + 2mu)/5, (6 + mu)/5), and from mu = 4 on to the vertex (2, 2).
    The book: (1.4, 1.7) at 2.5.
    """
    A = [[1, -2], [-1, -2], [-1, 2]]
    return pqp.ParametricQP(
        2 * identity(2), [-2, -2 * mu], A=A, row_lower=[-2, -6, -2], lower=0, constant=[1, 0, 1]
    )


@entry(
    "Nocedal and Wright, Numerical Optimization (2006), Example 16.2, mu for 3",
    interval=(-INFINITY, INFINITY),
    bends=(),
    x={0: (F(8, 13), F(8, 13), F(-8, 13)), 3: (2, -1, 1)},
    values={3: F(-7, 2)},
)
def nocedal_wright_16_2() -> pqp.ParametricQP:
    """On x1 + x3 = mu, x2 + x3 = 0 put x3 = t: the derivative is 13t − 7mu + 8. The book: (2, −1, 1) at 3."""
    P, A = [[6, 2, 1], [2, 5, 2], [1, 2, 4]], [[1, 0, 1], [0, 1, 1]]
    return pqp.ParametricQP(P, [-8, -3, -3], A=A, row_lower=[mu, 0], row_upper=[mu, 0])


@entry(
    "the matrix of Fathi, Mathematical Programming 17 (1979), n = 3, solved by hand along mu·(1, 1, 1)",
    interval=(0, 16),
    bends=(2, F(16, 3), F(28, 5), 8, 14),
    x={0: (8, 0, 0), 3: (F(23, 5), 0, F(1, 5)), F(11, 2): (F(1, 2), F(1, 2), F(1, 2)), 11: (0, 0, F(1, 3))},
)
def fathi_matrix() -> pqp.ParametricQP:
    """x = 0 down to mu = 14, then {3} with w2 = (mu − 8)/3, {2, 3} with w1 = (5mu − 28)/9, {1, 2, 3} with

    x = (28 − 5mu, 3mu − 16, 6 − mu), {1, 3} with x3 = (mu − 2)/5, and {1} with w = (0, 4 − mu, 2 − mu).
    """
    P = [[1, 2, 2], [2, 5, 6], [2, 6, 9]]
    return pqp.ParametricQP(P, [mu - 8, mu - 12, mu - 14], lower=0)


@entry(
    "Fathi, Mathematical Programming 17 (1979): M = L Lᵀ and q = −e, here with −mu e",
    interval=(-2, 3),
    bends=(0,),
    x={-1: (0, 0, 0, 0), 1: (1, 0, 0, 0), 3: (3, 0, 0, 0)},
    values={-1: 0, 2: -2},
)
def fathi_with_equal_costs() -> pqp.ParametricQP:
    """L has 1 on and 2 below the diagonal: z = (mu, 0, 0, 0) leaves w = M z − mu e = mu (0, 1, 1, 1) ≥ 0."""
    L = np.eye(4, dtype=int) + 2 * np.tri(4, k=-1, dtype=int)
    return pqp.ParametricQP(pqp.Gram(L), -mu * np.ones(4, dtype=int), lower=0)


@entry(
    "by hand: Markowitz' critical line, two assets",
    interval=(-1, 2),
    bends=(F(-1, 2), 1),
    x={-1: (1, 0), 0: (F(2, 3), F(1, 3)), 2: (0, 1)},
    values={0: F(1, 3), 2: -5},
)
def two_assets() -> pqp.ParametricQP:
    """min ½(x1² + 2x2²) − mu(x1 + 3x2) over shares: x1 = t + mu, x2 = (t + 3mu)/2 and x1 + x2 = 1.

    Hence x = (2 − 2mu, 1 + 2mu)/3 while both are ≥ 0.
    """
    return pqp.ParametricQP([[1, 0], [0, 2]], [-mu, -3 * mu], A=[[1, 1]], row_lower=1, row_upper=1, lower=0)


@entry(
    "by hand: Markowitz' critical line, three assets",
    interval=(0, 2),
    bends=(F(2, 3), F(3, 2)),
    x={0: (F(6, 11), F(3, 11), F(2, 11)), 1: (0, F(1, 5), F(4, 5)), 2: (0, 0, 1)},
    values={0: F(3, 11), 2: F(-13, 2)},
)
def three_assets() -> pqp.ParametricQP:
    """Variances 1, 2, 3 and returns 1, 2, 4: x = (6 − 9mu, 3 + mu, 2 + 8mu)/11 until x1 = 0 at 2/3,

    then x = (0, 3 − 2mu, 2 + 2mu)/5 until x2 = 0 at 3/2; both have sum 1 and equal gradients of assets held.
    """
    return pqp.ParametricQP(
        np.diag([1, 2, 3]), [-mu, -2 * mu, -4 * mu], A=[[1, 1, 1]], row_lower=1, row_upper=1, lower=0
    )


@entry(
    "by hand: water filling",
    interval=(-1, 8),
    statuses=((-1, 0, "infeasible"), (0, 8, "optimal")),
    bends=(0, 1, 5),
    x={F(1, 2): (F(1, 2), 0, 0), 3: (2, 1, 0), 8: (4, 3, 1)},
    values={0: F(13, 2), 3: 1, 5: 0, 8: F(3, 2)},
)
def projection_on_a_growing_simplex() -> pqp.ParametricQP:
    """(3, 2, 0) goes to max(p − t, 0) of sum mu: one entry until t = 2 (mu = 1), two until t = 0 (mu = 5)."""
    return pqp.ParametricQP(
        identity(3), [-3, -2, 0], A=[[1, 1, 1]], lower=0, constant=F(13, 2), row_lower=mu, row_upper=mu
    )


@entry(
    "by hand",
    interval=(-1, 3),
    statuses=((-1, 0, "infeasible"), (0, 3, "optimal")),
    bends=(0, 1, 2),
    x={F(1, 2): (F(1, 2), F(-1, 2), 0), F(3, 2): (1, F(-3, 2), 0), 3: (1, -2, 0)},
    values={0: F(5, 2), 1: F(1, 2), 3: 0},
)
def projection_on_a_growing_box() -> pqp.ParametricQP:
    """(1, −2, 0) is clipped to −mu ≤ x ≤ mu."""
    return pqp.ParametricQP(identity(3), [-1, 2, 0], lower=-mu, upper=mu, constant=F(5, 2))


@entry(
    "by hand",
    interval=(-INFINITY, INFINITY),
    bends=(-1, 1),
    x={-5: (-1,), F(1, 2): (F(1, 2),), 9: (1,)},
    values={-5: 8, 0: 0, 9: 32},
)
def clipping_over_all_reals() -> pqp.ParametricQP:
    """min ½(x − mu)² over −1 ≤ x ≤ 1."""
    return pqp.ParametricQP([[1]], [-mu], lower=-1, upper=1, constant=[0, 0, F(1, 2)])


@entry(
    "by hand",
    interval=(-INFINITY, INFINITY),
    bends=(),
    x={0: (0, 0), 5: (1, 2)},
    values={-10: 10, 5: F(5, 2)},
)
def moving_equality() -> pqp.ParametricQP:
    """The point of least norm on x + 2y = mu is mu (1, 2)/5, and its value mu²/10."""
    return pqp.ParametricQP(identity(2), [0, 0], A=[[1, 2]], **BOTH)


@entry(
    "by hand",
    interval=(-2, 2),
    bends=(),
    x={-2: (-1, -1), 1: (F(1, 2), F(1, 2))},
    values={-2: 1, 2: 1},
)
def duplicate_equalities() -> pqp.ParametricQP:
    """x + y = mu said three times, once doubled: x = y = mu/2."""
    limits = [mu, 2 * mu, mu]
    return pqp.ParametricQP(
        identity(2), [0, 0], A=[[1, 1], [2, 2], [1, 1]], row_lower=limits, row_upper=limits
    )


@entry(
    "by hand",
    interval=(-1, 4),
    bends=(2,),
    x={-1: (-1, -1, -1), 2: (2, 2, 2), 3: (2, 2, 2)},
    values={0: 0, 3: -6},
)
def duplicate_rows_and_tied_bends() -> pqp.ParametricQP:
    """(2, 2, 2) is projected on x ≤ mu, each limit given as a bound and as two rows: all end at mu = 2."""
    rows = np.vstack([identity(3), identity(3)])
    return pqp.ParametricQP(identity(3), [-2, -2, -2], A=rows, row_upper=mu, upper=mu)


@entry(
    "by hand",
    interval=(-4, 6),
    bends=(-1,),
    x={-3: (-3, 0), 3: (3, 2), 6: (6, F(7, 2))},
    values={-3: F(9, 2), 3: F(1, 2)},
)
def fixed_variable_that_moves() -> pqp.ParametricQP:
    """x1 = mu, and ½(mu − x2)² + ½x2² − x2 over x2 ≥ 0 gives x2 = (mu + 1)/2, or 0 before mu = −1."""
    return pqp.ParametricQP([[1, -1], [-1, 2]], [0, -1], lower=[mu, 0], upper=[mu, INFINITY])


@entry(
    "by hand",
    interval=(-1, 4),
    bends=(1,),
    x={0: (0,), 3: (1,)},
    values={-1: 5, 1: 5, 3: 9},
)
def constant_term() -> pqp.ParametricQP:
    """min (x − mu)² + 5 over x ≤ 1 is 5 at x = mu until mu = 1, then (1 − mu)² + 5."""
    return pqp.ParametricQP([[2]], [-2 * mu], upper=1, constant=[5, 0, 1])


@entry(
    "by hand",
    interval=(-1, 5),
    statuses=((-1, 4, "optimal"), (4, 5, "infeasible")),
    bends=(0, 2, 4),
    x={-1: (0,), 1: (1,), 3: (1,), 4: (0,)},
    values={1: F(-1, 2), 3: F(-5, 2)},
)
def mu_in_cost_and_limit() -> pqp.ParametricQP:
    """min ½x² − mu x over 0 ≤ x ≤ 4 − mu: x = mu between 0 and 2, then 4 − mu until it is negative."""
    return pqp.ParametricQP([[1]], [-mu], lower=0, upper=4 - mu)


@entry(
    "by hand: pool adjacent violators",
    interval=(-2, 9),
    bends=(0, 6),
    x={-1: (-1, 0, 3), 4: (2, 2, 3), 9: (4, 4, 4)},
    values={-1: 0, 4: 4, 9: 21},
)
def isotonic_regression() -> pqp.ParametricQP:
    """The data (mu, 0, 3) made ascending: two pool at mu/2 when mu > 0, all at (mu + 3)/3 when mu > 6."""
    A = [[-1, 1, 0], [0, -1, 1]]
    return pqp.ParametricQP(identity(3), [-mu, 0, -3], A=A, row_lower=0, constant=[F(9, 2), 0, F(1, 2)])


@entry(
    "by hand",
    interval=(-INFINITY, INFINITY),
    bends=None,
    kinks=(),
    values={-3: F(-9, 2), 0: 0, 4: -8},
)
def free_variables_and_singular_hessian() -> pqp.ParametricQP:
    """min ½(x − y)² − mu(x − y) is −mu²/2 on the whole line x − y = mu."""
    return pqp.ParametricQP([[1, -1], [-1, 1]], [-mu, mu])


@entry(
    "by hand",
    interval=(-2, 2),
    bends=(-1, 0, 1),
    jumps=(0,),
    x={-2: (3, 0), F(-1, 2): (F(5, 2), 0), F(1, 2): (0, F(5, 2)), 2: (0, 3)},
    values={-2: F(-11, 2), 0: 0, F(1, 2): F(-9, 8), 2: F(-11, 2)},
)
def jump_of_a_singular_quadratic() -> pqp.ParametricQP:
    """min ½(x + y − 2)² + mu(x − y) over [0, 3]²: x = (0, min(2 + mu, 3)) for mu > 0, else mirrored."""
    return pqp.ParametricQP([[1, 1], [1, 1]], [mu - 2, -2 - mu], lower=0, upper=3, constant=2)
