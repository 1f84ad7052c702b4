"""Problems that cannot be solved at some or all mu: infeasible, unbounded, solvable at a single mu."""

import pqp
from pqp import mu
from tests.known_paths.entry import INFINITY, F, entry


@entry(
    "by hand",
    interval=(-INFINITY, INFINITY),
    statuses=((-INFINITY, INFINITY, "infeasible"),),
    bends=(),
)
def infeasible_everywhere() -> pqp.ParametricQP:
    """x + y cannot be at least mu + 1 and at most mu."""
    return pqp.ParametricQP(
        [[1, 0], [0, 1]], [0, mu], A=[[1, 1], [1, 1]], row_lower=[mu + 1, -INFINITY], row_upper=[INFINITY, mu]
    )


@entry(
    "by hand",
    interval=(-INFINITY, INFINITY),
    statuses=((-INFINITY, INFINITY, "unbounded"),),
    bends=(),
)
def unbounded_everywhere() -> pqp.ParametricQP:
    """min −x over x − y ≤ mu, x, y ≥ 0: y ≥ −mu is feasible, and along (1, 1) the cost falls for ever."""
    return pqp.ParametricQP([[0, 0], [0, 0]], [-1, 0], A=[[1, -1]], row_upper=mu, lower=0)


@entry(
    "by hand",
    interval=(-INFINITY, INFINITY),
    statuses=((-INFINITY, -1, "infeasible"), (-1, 0, "optimal"), (0, INFINITY, "unbounded")),
    bends=(-1, 0),
    x={-1: (0, 0), F(-1, 2): (0, F(1, 2))},
    values={-1: 0, 0: 0},
)
def infeasible_then_unbounded() -> pqp.ParametricQP:
    """min −mu x over x, y ≥ 0 with y = mu + 1: no y before −1, x = 0 until 0, no end of x after it."""
    return pqp.ParametricQP(
        [[0, 0], [0, 0]], [-mu, 0], A=[[0, 1]], row_lower=mu + 1, row_upper=mu + 1, lower=0
    )


@entry(
    "by hand",
    interval=(-1, 1),
    statuses=((-1, 0, "infeasible"), (0, 0, "optimal"), (0, 1, "infeasible")),
    bends=(0,),
    x={0: (0,)},
    values={0: 0},
)
def feasible_at_one_mu() -> pqp.ParametricQP:
    """mu ≤ x, −mu ≤ x and x ≤ 0 together say |mu| ≤ 0."""
    return pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[mu, -mu], upper=0)


@entry(
    "by hand",
    interval=(-1, 3),
    statuses=((-1, 1, "infeasible"), (1, 1, "optimal"), (1, 3, "infeasible")),
    bends=(1,),
    x={1: (F(1, 2), F(1, 2))},
    values={1: F(1, 4)},
)
def two_equalities_that_meet_once() -> pqp.ParametricQP:
    """x + y = mu and x + y = 2 − mu agree at mu = 1, where ½(x² + y²) is least at x = y = ½."""
    return pqp.ParametricQP(
        [[1, 0], [0, 1]], [0, 0], A=[[1, 1], [1, 1]], row_lower=[mu, 2 - mu], row_upper=[mu, 2 - mu]
    )


@entry(
    "by hand",
    interval=(-1, 1),
    statuses=((-1, 0, "unbounded"), (0, 0, "optimal"), (0, 1, "unbounded")),
    bends=None,
    values={0: 0},
)
def bounded_at_one_mu() -> pqp.ParametricQP:
    """min ½(x − y)² + mu (x + y) has no end along ∓(1, 1) unless mu = 0, where all x = y are optimal."""
    return pqp.ParametricQP([[1, -1], [-1, 1]], [mu, mu])


@entry(
    "by hand",
    interval=(0, 3),
    statuses=((0, 2, "optimal"), (2, 3, "infeasible")),
    bends=(1, 2),
    x={F(1, 2): (1,), F(3, 2): (F(3, 2),), 2: (2,)},
    values={0: F(-1, 2), 2: 0},
)
def crossing_bounds() -> pqp.ParametricQP:
    """min ½x² − x over mu ≤ x ≤ 4 − mu is x = max(1, mu), and after mu = 2 the bounds have crossed."""
    return pqp.ParametricQP([[1]], [-1], lower=mu, upper=4 - mu)


@entry(
    "by hand",
    interval=(-1, 2),
    statuses=((-1, 0, "unbounded"), (0, 2, "optimal")),
    bends=(0, 1),
    x={F(1, 2): (F(1, 2), F(1, 2)), 2: (1, 0)},
    values={0: 0, 1: F(1, 2), 2: F(1, 2)},
)
def unbounded_tail() -> pqp.ParametricQP:
    """min ½x² + mu y over x + y ≥ 1, y ≥ 0: no end of y for mu < 0; then x = mu, y = 1 − mu until y = 0."""
    return pqp.ParametricQP([[1, 0], [0, 0]], [0, mu], A=[[1, 1]], row_lower=1, lower=[-INFINITY, 0])


@entry(
    "by hand: the efficient frontier by target return",
    interval=(-1, 3),
    statuses=((-1, 0, "infeasible"), (0, 2, "optimal"), (2, 3, "infeasible")),
    bends=(0, F(1, 3), F(5, 3), 2),
    x={
        0: (1, 0, 0),
        1: (F(1, 3),) * 3,
        F(3, 2): (F(1, 12), F(1, 3), F(7, 12)),
        F(11, 6): (0, F(1, 6), F(5, 6)),
    },
    values={0: F(1, 2), 1: F(1, 6), 2: F(1, 2)},
)
def target_return_out_of_reach() -> pqp.ParametricQP:
    """min ½|x|² over shares of returns 0, 1, 2 with return mu: x = 1/3 + (mu − 1)(−1, 0, 1)/2 while ≥ 0,

    that is on [1/3, 5/3]; outside, two assets are left, and (1 − mu, mu, 0) or (0, 2 − mu, mu − 1) is forced.
    """
    A, limits = [[1, 1, 1], [0, 1, 2]], [1, mu]
    identity = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    return pqp.ParametricQP(identity, [0, 0, 0], A=A, row_lower=limits, row_upper=limits, lower=0)
