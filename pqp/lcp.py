r"""The parametric linear complementarity problem, the form the criss-cross method works on.

.. math:: w - M z = q_0 + \mu q_1, \quad w, z \ge 0, \quad w^\top z = 0

A pair may be *free*: then z is any number and w is 0 (free variables, multipliers of equalities).

Room: arrays in, one frozen record and its scaled copy out. Knows no QP and no basis.
May touch: `field`.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from pqp.field import RATIONAL, Array, Field

# Rounds of row-and-column scaling; the largest entries agree within a factor of two after about five.
SCALING_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class ParametricLCP:
    """The complementarity problem, its numbers in one arithmetic, with a name for every w and z."""

    M: Array
    q0: Array
    q1: Array
    free: Array
    w_names: tuple[str, ...]
    z_names: tuple[str, ...]
    field: Field

    @property
    def size(self) -> int:
        """The number k of complementary pairs."""
        return len(self.q0)


@dataclass(frozen=True, eq=False)
class Scaling:
    """How the numbers in a dictionary relate to those of the problem: w = `w` · w', z = `z` · z'."""

    w: Array
    z: Array


def unnamed_lcp(M: Array, q0: Array, q1: Array, field: Field) -> ParametricLCP:
    """Return an LCP with pairs called w1, z1, w2, z2, ..."""
    k = len(q0)
    names = [tuple(f"{letter}{i + 1}" for i in range(k)) for letter in "wz"]
    return ParametricLCP(M, q0, q1, np.zeros(k, dtype=bool), names[0], names[1], field)


def scaling_of(lcp: ParametricLCP) -> Scaling:
    """Return a scaling that makes float entries about 1, and exact entries whole numbers."""
    return _denominators(lcp) if lcp.field is RATIONAL else _equilibration(lcp)


def scaled_rows(lcp: ParametricLCP, scaling: Scaling) -> Array:
    """Return [M q0 q1] as the scaled pairs see it: w' = (M z + q) / scaling.w with z = scaling.z · z'."""
    M = lcp.M * scaling.z[None, :] / scaling.w[:, None]
    return np.column_stack([M, lcp.q0 / scaling.w, lcp.q1 / scaling.w])


def spread(lcp: ParametricLCP) -> float:
    """Return the ratio of the largest to the smallest nonzero number of a float LCP after scaling."""
    sizes = np.abs(scaled_rows(lcp, scaling_of(lcp)))
    sizes = sizes[sizes > 0]
    return float(sizes.max() / sizes.min()) if sizes.size else 1.0


def _denominators(lcp: ParametricLCP) -> Scaling:
    rows = np.column_stack([lcp.M, lcp.q0, lcp.q1])
    common = [Fraction(1, lcm(*(entry.denominator for entry in row))) for row in rows]
    return Scaling(np.array(common, dtype=object), np.array([Fraction(1)] * lcp.size, dtype=object))


def _equilibration(lcp: ParametricLCP) -> Scaling:
    """Return powers of two d with d M d about 1, so that scaling commits no rounding error."""
    d = np.ones(lcp.size)
    for _ in range(SCALING_ROUNDS):
        scaled = np.abs(lcp.M) * d[:, None] * d[None, :]
        largest = np.maximum(scaled.max(axis=0, initial=0.0), scaled.max(axis=1, initial=0.0))
        factors = _power_of_two(np.where(largest > 0, largest, 1.0) ** -0.5)
        if np.all(factors == 1.0):
            break
        d = d * factors
    size = max(np.max(np.abs(d * lcp.q0), initial=0.0), np.max(np.abs(d * lcp.q1), initial=0.0)) or 1.0
    height = _power_of_two(np.array(size))
    return Scaling(height / d, height * d)


def _power_of_two(values: Array) -> Array:
    return np.asarray(np.exp2(np.round(np.log2(values))))
