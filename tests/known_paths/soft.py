"""Problems with soft rows: ℓ1, hinge, ε-insensitive and quantile terms, fused signals.

The hinge appears three times: soft, in the dual, and with its slacks written out.
"""

import numpy as np

import pqp
from pqp import mu
from tests.known_paths.entry import INFINITY, F, entry


def lasso(gram: object, correlations: object) -> pqp.ParametricQP:
    """Return min ½wᵀGw − rᵀw + mu|w|₁, one soft equality a coefficient."""
    n = len(gram)
    c = [-r for r in correlations]
    return pqp.ParametricQP(gram, c, A=np.eye(n, dtype=int), row_lower=0, row_upper=0, penalty=mu)


@entry(
    "by hand: soft thresholding",
    interval=(0, 5),
    bends=(3,),
    x={1: (2,), 4: (0,)},
    values={0: F(-9, 2), 1: -2},
)
def lasso_with_one_coefficient() -> pqp.ParametricQP:
    """min ½w² − 3w + mu|w| is w = max(3 − mu, 0), with value −w²/2."""
    return lasso([[1]], [3])


@entry(
    "Tibshirani, J. Royal Statist. Soc. B 58 (1996): the orthonormal design",
    interval=(0, 5),
    bends=(1, 3),
    x={F(1, 2): (F(5, 2), F(-1, 2)), 2: (1, 0), 4: (0, 0)},
    values={0: -5, 2: F(-1, 2)},
)
def lasso_with_orthonormal_design() -> pqp.ParametricQP:
    """Each coefficient is its least-squares value (3, −1) moved towards 0 by mu, and stays there."""
    return lasso([[1, 0], [0, 1]], [3, -1])


@entry(
    "by hand",
    interval=(0, 6),
    bends=(F(2, 3), 4),
    x={0: (F(7, 3), F(-2, 3)), 1: (F(3, 2), 0), 5: (0, 0)},
    values={1: F(-9, 4), 5: 0},
)
def lasso_with_correlated_design() -> pqp.ParametricQP:
    """From mu = 4 down, w1 = (4 − mu)/2; the gradient 1 − w1 of w2 reaches −mu at 2/3.

    Below it, 2w1 + w2 = 4 − mu and w1 + 2w2 = 1 + mu give w = (7 − 3mu, 3mu − 2)/3.
    """
    return lasso([[2, 1], [1, 2]], [4, 1])


@entry(
    "by hand: a linear SVM without offset, C = mu, margins w and 2w",
    interval=(0, 2),
    bends=(F(1, 6), F(1, 2), 1),
    x={F(1, 12): (F(1, 4),), F(1, 4): (F(1, 2),), F(3, 4): (F(3, 4),), 2: (1,)},
    values={F(1, 12): F(13, 96), F(1, 4): F(1, 4), 2: F(1, 2)},
)
def hinge_loss() -> pqp.ParametricQP:
    """min ½w² + mu((1 − w)₊ + (1 − 2w)₊): w = 3mu until 2w = 1, w = 1/2 while 0 ≤ 1/2 − mu ≤ 2mu,

    w = mu until w = 1, and 1 from then on.
    """
    return pqp.ParametricQP([[1]], [0], A=[[1], [2]], row_lower=1, penalty=mu)


@entry(
    "by hand: the dual of `hinge_loss`",
    interval=(-1, 2),
    statuses=((-1, 0, "infeasible"), (0, 2, "optimal")),
    bends=(0, F(1, 6), F(1, 2), 1),
    x={F(1, 12): (F(1, 12), F(1, 12)), F(1, 4): (F(1, 4), F(1, 8)), F(3, 4): (F(3, 4), 0), 2: (1, 0)},
    values={0: 0, 2: F(-1, 2)},
)
def support_vectors_in_the_dual() -> pqp.ParametricQP:
    """w = a + 2b, and ½w² − a − b over 0 ≤ a, b ≤ mu: both at mu until 2w = 1 (mu = 1/6), then

    b = (1/2 − mu)/2 until it is 0 at 1/2, then w = a = mu until w = 1.
    """
    return pqp.ParametricQP(pqp.Gram([[1], [2]]), [-1, -1], lower=0, upper=mu)


@entry(
    "by hand: form (2) of Gärtner, Giesen, Jaggi and Welsch, the slacks of `hinge_loss` written out",
    interval=(-1, 2),
    statuses=((-1, 0, "unbounded"), (0, 2, "optimal")),
    bends=(0, F(1, 6), F(1, 2), 1),
    x={F(1, 12): (F(1, 4), F(3, 4), F(1, 2)), F(1, 4): (F(1, 2), F(1, 2), 0), 2: (1, 0, 0)},
    values={F(1, 4): F(1, 4), 2: F(1, 2)},
)
def support_vectors_with_slacks() -> pqp.ParametricQP:
    """min ½w² + mu(s + t) over w + s ≥ 1, 2w + t ≥ 1: w as in `hinge_loss`, s = (1 − w)₊, t = (1 − 2w)₊.

    Slacks that are rewarded, mu < 0, have no end.
    """
    return pqp.ParametricQP(
        np.diag([1, 0, 0]), [0, mu, mu], A=[[1, 1, 0], [2, 0, 1]], row_lower=1, lower=[-INFINITY, 0, 0]
    )


@entry(
    "by hand: an SVM with offset; points 1 and −1 of classes +1 and −1",
    interval=(0, 2),
    bends=None,
    kinks=(F(1, 2),),
    x={1: (1, 0), 2: (1, 0)},
    values={0: 0, F(1, 4): F(3, 8), F(1, 2): F(1, 2), 2: F(1, 2)},
)
def hinge_loss_with_offset() -> pqp.ParametricQP:
    """min ½w² + mu((1 − w − b)₊ + (1 − w + b)₊): w = min(2mu, 1), and every |b| ≤ 1 − w is optimal."""
    return pqp.ParametricQP([[1, 0], [0, 0]], [0, 0], A=[[1, 1], [1, -1]], row_lower=1, penalty=mu)


@entry("by hand", interval=(0, 5), bends=(2,), x={1: (1,), 4: (2,)}, values={1: F(3, 2), 4: 2})
def insensitive_loss() -> pqp.ParametricQP:
    """min ½w² + mu(|w − 3| − 1)₊: w = mu until the tube [2, 4] is reached."""
    return pqp.ParametricQP([[1]], [0], A=[[1]], row_lower=2, row_upper=4, penalty=mu)


@entry(
    "by hand",
    interval=(0, 10),
    bends=(1, 2, 4),
    x={F(1, 2): (1,), F(3, 2): (2,), 3: (3,), 10: (4,)},
    values={F(1, 2): 3, 3: F(21, 2), 10: 18},
)
def insensitive_loss_of_two_tubes() -> pqp.ParametricQP:
    """Tubes [2, 4] and [5, 7] pull with mu each: w = 2mu until 2, stays while 2 − mu ≥ 0, w = mu until 4,

    and there the first tube pulls back with mu − 4 ≤ mu for ever.
    """
    return pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[2, 5], row_upper=[4, 7], penalty=mu)


@entry(
    "by hand",
    interval=(0, 4),
    bends=(F(1, 3), 1, 2),
    x={F(1, 6): (F(1, 2),), F(1, 2): (1,), F(3, 2): (F(3, 2),), 3: (2,)},
    values={F(1, 2): F(5, 2), 3: 11},
)
def path_to_the_median() -> pqp.ParametricQP:
    """min ½x² + mu Σ|x − y| for y = 1, 2, 4: three pull up until x = 1 (mu = 1/3), where 1 − 2mu ≥ −mu

    holds x until mu = 1; then x = mu until the median 2, where the outer pulls cancel and the middle one
    is 2 ≤ mu.
    """
    levels = [1, 2, 4]
    return pqp.ParametricQP([[1]], [0], A=[[1]] * 3, row_lower=levels, row_upper=levels, penalty=mu)


@entry(
    "Koenker and Bassett, Econometrica 46 (1978): the sample quantile, worked by hand",
    interval=(0, 1),
    bends=(F(1, 3), F(2, 3)),
    jumps=(F(1, 3), F(2, 3)),
    kinks=(F(1, 3), F(2, 3)),
    x={F(1, 6): (1,), F(1, 2): (2,), F(5, 6): (4,)},
    values={0: 0, F(1, 3): F(4, 3), F(1, 2): F(3, 2), F(2, 3): F(5, 3), 1: 0},
)
def quantiles_of_three_numbers() -> pqp.ParametricQP:
    """min Σ mu(y − x)₊ + (1 − mu)(x − y)₊ for y = 1, 2, 4 is worth 4mu, 1 + mu, 5 − 5mu at x = 1, 2, 4."""
    levels = [1, 2, 4]
    return pqp.ParametricQP(
        [[0]],
        [0],
        A=[[1]] * 6,
        row_lower=[*levels, *[-INFINITY] * 3],
        row_upper=[*[INFINITY] * 3, *levels],
        penalty=[mu, mu, mu, 1 - mu, 1 - mu, 1 - mu],
    )


@entry(
    "by hand",
    interval=(0, 4),
    bends=(2,),
    jumps=(2,),
    kinks=(2,),
    x={1: (2,), 3: (4,)},
    values={0: 1, 2: 5, 4: 5},
)
def weighted_median() -> pqp.ParametricQP:
    """min |x − 1| + |x − 2| + mu|x − 4|: 2 until the weight of 4 exceeds the two others, then 4."""
    levels = [1, 2, 4]
    return pqp.ParametricQP([[0]], [0], A=[[1]] * 3, row_lower=levels, row_upper=levels, penalty=[1, 1, mu])


@entry("by hand", interval=(0, 5), bends=(2,), x={1: (1, 3), 4: (2, 2)}, values={0: 0, 1: 3, 4: 4})
def fused_pair() -> pqp.ParametricQP:
    """The data (0, 4) and mu|x1 − x2|: the ends move together by mu each and meet in the mean at mu = 2."""
    return pqp.ParametricQP(
        [[1, 0], [0, 1]], [0, -4], A=[[1, -1]], row_lower=0, row_upper=0, penalty=mu, constant=8
    )


@entry(
    "by hand",
    interval=(0, 5),
    bends=(1, 3),
    x={F(1, 2): (F(1, 2), 1, F(9, 2)), 2: (F(3, 2), F(3, 2), 3), 4: (2, 2, 2)},
    values={F(1, 2): F(9, 4), 4: 7},
)
def fused_signal() -> pqp.ParametricQP:
    """The data (0, 1, 5) and mu(|x2 − x1| + |x3 − x2|): x = (mu, 1, 5 − mu) until two meet at mu = 1,

    then they rise as (1 + mu)/2 and meet the third at mu = 3, in the mean 2.
    """
    A = [[-1, 1, 0], [0, -1, 1]]
    return pqp.ParametricQP(
        np.eye(3, dtype=int), [0, -1, -5], A=A, row_lower=0, row_upper=0, penalty=mu, constant=13
    )
