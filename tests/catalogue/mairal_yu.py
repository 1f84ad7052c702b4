"""Lasso paths with exponentially many pieces, after Mairal and Yu, Complexity Analysis of the Lasso
Regularization Path, ICML 2012."""

from fractions import Fraction

import sympy

import pqp
from pqp import mu


def mairal_yu(p: int) -> pqp.ParametricQP:
    r"""Return a lasso problem with p coefficients whose path over mu ≥ 0 has (3^p + 1)/2 linear pieces.

    Start with y = X = 1, where w = max(1 − mu, 0) has k = 2 pieces. Given (y, X) with X invertible and k pieces, take

    .. math:: \tilde y = \binom{y}{1}, \quad \tilde X = \begin{pmatrix} X & 2\alpha y \\ 0 & \alpha \end{pmatrix},
        \quad 0 < \alpha < \frac{\lambda_1}{2 y^\top y + 1}

    with :math:`\lambda_1` the smallest bend. The new column's correlation with any residual of the old path is at
    most :math:`\alpha(2 y^\top y + 1) < \lambda_1`, so its coefficient v stays 0 down to :math:`\lambda_1` and all k − 1
    bends are met. Given v, what is left is the old problem with target s y, s = 1 − 2αv, that is
    :math:`s\,w(\lambda/|s|)`. As v grows from 0 to 1/α (an exact fit), s falls from 1 to −1: :math:`\lambda/|s|` runs
    up through all old bends and down again, which with the start of v makes 3(k − 1) + 1 bends, 3k − 1 pieces.
    """
    X, y = sympy.Matrix([[1]]), sympy.Matrix([1])
    signs = sympy.Matrix([1])
    for _ in range(p - 1):
        # half of what is allowed
        alpha = _smallest_bend(X, y, signs) / (2 * (2 * y.dot(y) + 1))
        X = sympy.Matrix(sympy.BlockMatrix([[X, 2 * alpha * y], [sympy.zeros(1, X.cols), sympy.Matrix([[alpha]])]]))
        y, signs = y.col_join(sympy.Matrix([1])), (-signs).col_join(sympy.Matrix([1]))
    factor = [[Fraction(int(entry.p), int(entry.q)) for entry in row] for row in X.T.tolist()]
    c = [Fraction(int(entry.p), int(entry.q)) for entry in -X.T * y]
    return pqp.ParametricQP(
        pqp.Gram(factor), c, A=sympy.eye(p).tolist(), row_lower=0, row_upper=0, penalty=mu
    )


def _smallest_bend(X: sympy.Matrix, y: sympy.Matrix, signs: sympy.Matrix) -> sympy.Rational:
    """Return where the piece that begins at mu = 0 ends: X is invertible, so w = X⁻¹y there has no zero and

    w(mu) = X⁻¹y − mu (XᵀX)⁻¹ signs holds until its first entry reaches 0. Adding a column turns the signs
    of the old coefficients around, the target being −y in the end, and gives the new one the sign +1.
    """
    w = X.LUsolve(y)
    slopes = (X.T * X).LUsolve(signs)
    return min(w[i] / slopes[i] for i in range(len(w)) if w[i] * slopes[i] > 0)
