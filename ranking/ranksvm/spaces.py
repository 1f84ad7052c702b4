r"""What solvers of RankSVM at one C share: where functions live, and solutions with their duality gap.

.. math:: \min_w \; P(w) = \tfrac12\|w\|^2 + C \sum_p \omega_p \, \ell(\Delta_p - (f_i - f_j)),
          \qquad f = \Phi w

A row of Φ holds the features of an item, those of a kernel included. Solvers see Φ through a `Space`, and
pairs through the sums of `ranking.ranksvm.pair_counts`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.linalg import solve
from scipy.sparse import issparse

from ranking.core.validation import Array
from ranking.errors import ConvergenceError
from ranking.ranksvm.pair_counts import ListedPairs

# So many coefficients at most are found by elimination where an iteration takes too long.
MOST_UNKNOWNS = 2000


class Point(NamedTuple):
    """A function of the model: its coefficients, w or β, and its scores f on the training items."""

    coef: Array
    scores: Array

    def plus(self, t: float, other: "Point") -> "Point":
        """Return this + t · other."""
        return Point(self.coef + t * other.coef, self.scores + t * other.scores)


class Space(Protocol):
    """Where the functions live: weights of features, or coefficients β of kernel rows."""

    def adjoint(self, b: Array) -> Point:
        """Return Φᵀb, for one number per item."""

    def from_coef(self, coef: Array) -> Point:
        """Return the function of given coefficients."""

    def inner(self, u: Point, v: Point) -> float:
        """Return the inner product of two functions."""

    def gram_of(self, D: Any) -> Array:
        """Return DΦΦᵀDᵀ for a sparse D of few rows."""

    def solve(self, product: Callable[[Array], Array], right: Array) -> Array | None:
        """Return the coefficients d with d + ΦᵀHΦd = right, by elimination; None if that is too large."""


@dataclass(frozen=True, eq=False)
class WeightSpace:
    """Linear functions f = Xw."""

    X: Any

    def adjoint(self, b: Array) -> Point:
        return self.from_coef(np.asarray(self.X.T @ b))

    def from_coef(self, coef: Array) -> Point:
        return Point(coef, np.asarray(self.X @ coef))

    def inner(self, u: Point, v: Point) -> float:
        return float(u.coef @ v.coef)

    def gram_of(self, D: Any) -> Array:
        rows = D @ self.X
        product = rows @ rows.T
        is_sparse = issparse(product)
        return np.asarray(product.toarray() if is_sparse else product)

    def solve(self, product: Callable[[Array], Array], right: Array) -> Array | None:
        if len(right) > MOST_UNKNOWNS:
            return None
        is_sparse = issparse(self.X)
        X = self.X.toarray() if is_sparse else self.X
        return solve(np.eye(len(right)) + X.T @ product(X), right, assume_a="pos")


@dataclass(frozen=True, eq=False)
class KernelSpace:
    """Functions f = Kβ; `times` multiplies by the Gram matrix K, which is None where it is made in blocks."""

    times: Callable[[Array], Array]
    gram: Array | None = None

    def adjoint(self, b: Array) -> Point:
        return self.from_coef(b)

    def from_coef(self, coef: Array) -> Point:
        return Point(coef, self.times(coef))

    def inner(self, u: Point, v: Point) -> float:
        return float(u.coef @ v.scores)

    def gram_of(self, D: Any) -> Array:
        return np.asarray(D @ (self.times(D.T.toarray()) if self.gram is None else self.gram @ D.T))

    def solve(self, product: Callable[[Array], Array], right: Array) -> Array | None:
        if self.gram is None or len(right) > MOST_UNKNOWNS:
            return None
        # not symmetric, and close to singular where C is large: an inexact step is mended by the next one
        return np.linalg.solve(np.eye(len(right)) + product(self.gram), right)


class Solution(NamedTuple):
    r"""A function, its value P at C, its relative duality gap, and what is known of the dual point α.

    P is at most this share of itself above the least one. `dual_balance` is Dᵀα, one number per item;
    `alpha` is α itself or returns it for a list of the same pairs, where a solver knows more than sums.
    """

    C: float
    point: Point
    objective: float
    gap: float
    dual_balance: Array
    iterations: int
    alpha: Array | Callable[[ListedPairs], Array] | None = None


Callback: TypeAlias = Callable[[Solution], None]


def zero(space: Space, n_items: int) -> Point:
    """Return the function f = 0."""
    return space.adjoint(np.zeros(n_items))


def no_convergence(solution: Solution, tol: float) -> ConvergenceError:
    """Return the error of a solver that took all its steps."""
    steps = solution.iterations
    return ConvergenceError(
        "no convergence: the relative duality gap is {found}, more than {expected}",
        steps,
        solution.gap,
        argument="max_iter",
        found=f"{solution.gap:.1e} after {steps} steps",
        expected=f"tol = {tol:.1e}",
        remedy=f"raise max_iter or tol, scale the features, or lower C = {solution.C:g}",
    )
