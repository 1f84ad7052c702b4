r"""The parametric linear complementarity problem, the form the criss-cross method works on.

.. math:: w - M z = q_0 + \mu q_1, \quad w, z \ge 0, \quad w^\top z = 0

A pair may be *free*: then z is any number and w is 0 (free variables, multipliers of equalities).

It is solved at a mu that may be perturbed by a symbolic ε, smaller than every positive number (paper,
section 3.3): the sign of σ + ετ is that of σ, or of τ where σ = 0.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from pqp.linalg.affine import AffineArray
from pqp.linalg.field import RATIONAL, Array, Field, Number, is_infinite, shown

# Rounds of row-and-column scaling; the largest entries agree within a factor of two after about five.
SCALING_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class ParametricLCP:
    """The complementarity problem, its numbers in one arithmetic, with a name for every w and z."""

    M: Array
    q: AffineArray
    free: Array
    w_names: tuple[str, ...]
    z_names: tuple[str, ...]
    field: Field

    @property
    def size(self) -> int:
        """The number k of complementary pairs."""
        return len(self.M)


@dataclass(frozen=True, eq=False)
class Scaling:
    """How the numbers in a dictionary relate to those of the problem: w = `w` · w', z = `z` · z'."""

    w: Array
    z: Array


def unnamed_lcp(M: Array, q: AffineArray, field: Field) -> ParametricLCP:
    """Return an LCP with pairs called w1, z1, w2, z2, ..."""
    k = len(M)
    w_names, z_names = (tuple(f"{letter}{i + 1}" for i in range(k)) for letter in "wz")
    return ParametricLCP(M, q, np.zeros(k, dtype=bool), w_names, z_names, field)


def scaling_of(lcp: ParametricLCP) -> Scaling:
    """Return a scaling that makes float entries about 1, and exact entries whole numbers."""
    if lcp.field is not RATIONAL:
        return _equilibration(lcp)
    # fraction-free pivots need whole numbers to start from; a positive factor per row changes no sign
    rows = np.column_stack([lcp.M, *lcp.q])
    common = [Fraction(1, lcm(*(entry.denominator for entry in row))) for row in rows]
    return Scaling(np.array(common, dtype=object), np.array([Fraction(1)] * lcp.size, dtype=object))


def scaled_rows(lcp: ParametricLCP, scaling: Scaling) -> Array:
    """Return [M q0 q1] as the scaled pairs see it: w' = (M z + q) / scaling.w with z = scaling.z · z'."""
    M = lcp.M * scaling.z[None, :] / scaling.w[:, None]
    return np.column_stack([M, *(part / scaling.w for part in lcp.q)])


def spread(lcp: ParametricLCP) -> float:
    """Return the ratio of the largest to the smallest nonzero number of a float LCP after scaling."""
    sizes = np.abs(scaled_rows(lcp, scaling_of(lcp)))
    sizes = sizes[sizes > 0]
    return float(sizes.max() / sizes.min()) if sizes.size else 1.0


def _equilibration(lcp: ParametricLCP) -> Scaling:
    """Return powers of two d with d M d about 1: dividing by them rounds nothing."""
    d = np.ones(lcp.size)
    for _ in range(SCALING_ROUNDS):
        scaled = np.abs(lcp.M) * d[:, None] * d[None, :]
        largest = np.maximum(scaled.max(axis=0, initial=0.0), scaled.max(axis=1, initial=0.0))
        # the root, because an entry is multiplied by the factor of its row and by that of its column
        factors = _power_of_two(np.where(largest > 0, largest, 1.0) ** -0.5)
        if np.all(factors == 1.0):
            break
        d = d * factors
    # one factor for all of q, so that values are about 1 too; M does not depend on it
    size = max(np.max(np.abs(d * part), initial=0.0) for part in lcp.q) or 1.0
    height = _power_of_two(np.array(size))
    return Scaling(height / d, height * d)


def _power_of_two(values: Array) -> Array:
    return np.asarray(np.exp2(np.round(np.log2(values))))


@dataclass(frozen=True)
class PerturbedMu:
    """The parameter mu + side·ε for a symbolic ε > 0; mu may be infinite.

    >>> print(PerturbedMu(3, 1), PerturbedMu(3, 0), PerturbedMu(float("-inf")))
    3 + ε 3 -inf
    """

    mu: Number
    side: int = 0

    @property
    def weights(self) -> list[tuple[Number, Number]]:
        """Pairs (a, b): a function σ + mu τ has the sign of the first nonzero aσ + bτ."""
        if is_infinite(self.mu):
            return [(0, 1 if self.mu > 0 else -1), (1, 0)]
        at_mu: list[tuple[Number, Number]] = [(1, self.mu)]
        return [*at_mu, (0, self.side)] if self.side else at_mu

    def sign_of(self, value: tuple[Number, Number]) -> int:
        """Return the sign of constant + mu·slope here, in exact arithmetic.

        >>> PerturbedMu(1, 1).sign_of((-1, 1)), PerturbedMu(1).sign_of((-1, 1))
        (1, 0)
        >>> PerturbedMu(float("-inf")).sign_of((5, 1))
        -1
        """
        for a, b in self.weights:
            if number := a * value[0] + b * value[1]:
                return 1 if number > 0 else -1
        return 0

    def __str__(self) -> str:
        return f"{shown(self.mu)} {'+' if self.side > 0 else '-'} ε" if self.side else shown(self.mu)
