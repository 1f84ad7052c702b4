"""Proofs about an LCP in exact rationals: infeasibility, lack of sufficiency, and float bases confirmed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np

from pqp.errors import InternalError
from pqp.lcp.problem import ParametricLCP, PerturbedMu
from pqp.linalg.affine import AffineArray, AffineNumber
from pqp.linalg.exact_solve import solve_exactly
from pqp.linalg.field import FLOAT, RATIONAL, Array, Field, Number, exact_array, is_infinite


@dataclass(frozen=True, eq=False)
class NotSufficient:
    """A vector u with u_i (Mu)_i ≤ 0 for all i and < 0 for some: M is not column sufficient.

    If `kind` is "row", the same holds with Mᵀ, and M is not row sufficient.
    """

    kind: Literal["column", "row"]
    u: Array

    def holds_for(self, M: Array) -> bool:
        """Return whether u proves what it should, by the definition."""
        image = (M if self.kind == "column" else M.T) @ self.u
        products = self.u * image
        return bool((products <= 0).all() and (products < 0).any())


def row_vector(lcp: ParametricLCP, basis: frozenset[int], row: int) -> Array:
    """Return row `row` of M_B⁻¹: the combination of equations that expresses that basic variable."""
    unit = exact_array([int(i == row) for i in range(lcp.size)])
    return _solve(_basis_matrix(lcp, basis).T, unit)


def is_obstruction(lcp: ParametricLCP, t: Array) -> bool:
    """Return whether t ≥ 0 and Mᵀt ≤ 0, with equality for free pairs: no solution exists where tᵀq < 0."""
    image, bound = lcp.M.T @ t, ~lcp.free
    return bool((t[bound] >= 0).all() and (image[bound] <= 0).all() and (image[~bound] == 0).all())


def dictionary_matrix(lcp: ParametricLCP, basis: frozenset[int]) -> Array:
    """Return Λ = −M_B⁻¹ M_N, exactly."""
    return _solve(_basis_matrix(lcp, basis), -_basis_matrix(lcp, frozenset(range(lcp.size)) - basis))


def basic_values(lcp: ParametricLCP, basis: frozenset[int]) -> AffineArray:
    """Return the basic variables, affine in mu."""
    values = _solve(_basis_matrix(lcp, basis), np.column_stack(lcp.q))
    return AffineArray(values[:, 0], values[:, 1])


def basic_z(lcp: ParametricLCP, basis: frozenset[int], q: Array) -> Array:
    """Return z of the basic solution."""
    values = _solve(_basis_matrix(lcp, basis), q)
    inside = np.array([i in basis for i in range(lcp.size)], dtype=bool)
    return np.where(inside, values, exact_array(0))


def disprove_sufficiency(
    lcp: ParametricLCP, bases: Iterable[frozenset[int]], q: Array
) -> NotSufficient | None:
    """Return a proof that M is not sufficient, found in the dictionaries a method broke down or cycled in.

    The finiteness proof of the method (Fukuda, Namiki and Tamura 1998) says where to look: 2 x 2 sign
    patterns that no sufficient dictionary has, and differences of basic solutions in the cycle.
    """
    visited = list(bases)
    # the patterns leave a factor open in some cases: every candidate is tested by the definition
    return next((proof for proof in _candidates(lcp, visited, q) if proof.holds_for(lcp.M)), None)


def _candidates(lcp: ParametricLCP, bases: list[frozenset[int]], q: Array) -> Iterator[NotSufficient]:
    for basis in bases:
        Lambda = dictionary_matrix(lcp, basis)
        for r in range(lcp.size):
            for s in range(lcp.size):
                yield from _pattern_proofs(lcp, basis, Lambda, r, s)
    # for the difference u of two complementary solutions u_i (Mu)_i = −z_i w'_i − z'_i w_i, often negative
    for left, right in combinations(bases, 2):
        yield NotSufficient("column", basic_z(lcp, left, q) - basic_z(lcp, right, q))


def _pattern_proofs(
    lcp: ParametricLCP, basis: frozenset[int], Lambda: Array, r: int, s: int
) -> Iterator[NotSufficient]:
    """Yield proofs from Λ_rr < 0, and from Λ_rr = 0 where Λ_rs and Λ_sr do not have opposite signs."""
    if r == s and Lambda[r, r] < 0:
        yield _column_proof(lcp, basis, Lambda, {r: Fraction(1)})
    if r == s or Lambda[r, r] != 0 or (Lambda[r, s] == Lambda[s, r] == 0):
        return
    a, b, d = Lambda[r, s], Lambda[s, r], Lambda[s, s]
    if a * b > 0:
        step = abs(b) / (2 * d) if d > 0 else Fraction(1)
        yield _column_proof(lcp, basis, Lambda, {r: Fraction(-1), s: step * (1 if a > 0 else -1)})
    elif b == 0:
        yield _column_proof(lcp, basis, Lambda, {r: Fraction(-1), s: Fraction(1) if a > 0 else Fraction(-1)})
        yield _row_proof(lcp, basis, {r: -(d + 1) / a, s: Fraction(1)})
    elif a == 0:
        yield _column_proof(lcp, basis, Lambda, {r: -(d + 1) / b, s: Fraction(1)})
        yield _row_proof(lcp, basis, {r: Fraction(-1), s: Fraction(1) if b > 0 else Fraction(-1)})


def _column_proof(
    lcp: ParametricLCP, basis: frozenset[int], Lambda: Array, moves: dict[int, Fraction]
) -> NotSufficient:
    """Return z of the solution of w = Mz in which the nonbasic variables have the given values."""
    v = exact_array([moves.get(i, 0) for i in range(lcp.size)])
    inside = np.array([i in basis for i in range(lcp.size)], dtype=bool)
    return NotSufficient("column", np.where(inside, Lambda @ v, v))


def _row_proof(lcp: ParametricLCP, basis: frozenset[int], moves: dict[int, Fraction]) -> NotSufficient:
    """Return the combination of rows of M_B⁻¹ with the given weights."""
    v = exact_array([moves.get(i, 0) for i in range(lcp.size)])
    return NotSufficient("row", _solve(_basis_matrix(lcp, basis).T, v))


def _basis_matrix(lcp: ParametricLCP, basis: frozenset[int]) -> Array:
    """Return M_B: column j of −M where z_j is basic, of the identity where w_j is."""
    inside = np.array([i in basis for i in range(lcp.size)], dtype=bool)
    return np.where(inside[None, :], -lcp.M, exact_array(np.eye(lcp.size)))


def _solve(matrix: Array, right: Array) -> Array:
    try:
        return solve_exactly(matrix, right)
    except ZeroDivisionError:
        raise InternalError("a basis of the dictionary is singular in exact arithmetic") from None


def unconfirmed(lcp: ParametricLCP, basis: frozenset[int], ends: tuple[Number, Number]) -> Number | None:
    """Return an end at which a basic variable is negative by more than rounding error, or None."""
    constants, slopes = basic_values(lcp, basis)
    # a value affine in mu that is nonnegative at both ends is so between them
    for mu in ends:
        for i in range(lcp.size):
            value = AffineNumber(constants[i], slopes[i])
            is_negative = not lcp.free[i] and PerturbedMu(RATIONAL.number(mu)).sign_of(value) < 0
            if is_negative and not _is_rounding(value, row_vector(lcp, basis, i), lcp, mu):
                return mu
    return None


def is_same_mu(mu: Number, other: Number, field: Field) -> bool:
    """Return whether two mu are the same up to float rounding; exact ones must be equal."""
    if field is RATIONAL or is_infinite(mu) or is_infinite(other):
        return mu == other
    return field.sign(float(mu) - float(other), max(1.0, abs(float(other)))) == 0


def _is_rounding(value: AffineNumber, row: Array, lcp: ParametricLCP, mu: Number) -> bool:
    """Return whether a negative value is rounding error.

    It is if it is small relative to its own terms, however large other data are, or if it vanishes next to a
    mu that is itself rounded.
    """
    constant, slope = value
    # at an infinite mu the slope alone decides
    a, b = (0, 1) if is_infinite(mu) else (1, RATIONAL.number(mu))
    constants, slopes = lcp.q.mapped(lambda part: abs(row) @ abs(part))
    terms = a * constants + abs(b) * slopes
    if abs(a * constant + b * slope) <= FLOAT.zero * terms:
        return True
    return not is_infinite(mu) and slope != 0 and is_same_mu(-constant / slope, mu, FLOAT)
