"""Lasso paths with exponentially many pieces.

After Mairal and Yu, Complexity Analysis of the Lasso Regularization Path, ICML 2012.
"""

from fractions import Fraction

import sympy

import pqp
from pqp import mu


def mairal_yu(p: int) -> pqp.ParametricQP:
    r"""Return a lasso problem with p coefficients whose path over mu ≥ 0 has (3^p + 1)/2 linear pieces.

    Start with y = X = 1, where w = max(1 − mu, 0) has k = 2 pieces. Given (y, X) with X invertible and k
    pieces, take

    .. math:: \tilde y = \binom{y}{1}, \quad
        \tilde X = \begin{pmatrix} X & 2\alpha y \\ 0 & \alpha \end{pmatrix}, \quad
        0 < \alpha < \frac{\lambda_1}{2 y^\top y + 1}

    with :math:`\lambda_1` the smallest bend. The correlation of the new column with a residual of the old
    path is at most :math:`\alpha(2 y^\top y + 1) < \lambda_1`, so its coefficient v stays 0 down to
    :math:`\lambda_1`, and the k − 1 old bends are met. Given v, what is left is the old problem with target
    s y, s = 1 − 2αv, solved by :math:`s\,w(\lambda/|s|)`. As v grows from 0 to 1/α (an exact fit), s falls
    from 1 to −1: :math:`\lambda/|s|` runs up through all old bends and down again. With the bend at which v
    leaves 0 that makes 3(k − 1) + 1 bends, hence 3k − 1 pieces.
    """
    X, y, signs = sympy.Matrix([[1]]), sympy.Matrix([1]), sympy.Matrix([1])
    one = sympy.Matrix([1])
    for _ in range(p - 1):
        # half of what is allowed
        alpha = _smallest_bend(X, y, signs) / (2 * (2 * y.dot(y) + 1))
        X = X.col_join(sympy.zeros(1, X.cols)).row_join((2 * alpha * y).col_join(alpha * one))
        y, signs = y.col_join(one), (-signs).col_join(one)
    c, factor = _fractions(-X.T * y), _fractions(X.T)
    rows = sympy.eye(p).tolist()
    return pqp.ParametricQP(
        pqp.Gram(factor), [c_j for (c_j,) in c], A=rows, row_lower=0, row_upper=0, penalty=mu
    )


def _smallest_bend(X: sympy.Matrix, y: sympy.Matrix, signs: sympy.Matrix) -> sympy.Rational:
    """Return where the piece that begins at mu = 0 ends.

    X is invertible and X⁻¹y has no zero, so w(mu) = X⁻¹y − mu (XᵀX)⁻¹ signs holds until an entry reaches 0.
    A new column turns the signs of the old coefficients around, their target being −y in the end, and its own
    sign is +1.
    """
    w, slopes = X.LUsolve(y), (X.T * X).LUsolve(signs)
    return min(w[i] / slopes[i] for i in range(len(w)) if w[i] * slopes[i] > 0)


def _fractions(matrix: sympy.Matrix) -> list[list[Fraction]]:
    return [[Fraction(int(entry.p), int(entry.q)) for entry in row] for row in matrix.tolist()]
