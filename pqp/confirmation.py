"""Confirmation: is a basis that float arithmetic proposes optimal in exact arithmetic too?

Room: an exact LCP, a basis and two ends in; the end that is not confirmed, or nothing, out.
May touch: `field`, `lcp`, `place`, `proofs`.
"""

from pqp.field import FLOAT, RATIONAL, Array, Field, Number, is_infinite
from pqp.lcp import ParametricLCP
from pqp.place import Place
from pqp.proofs import basic_values, row_vector


def unconfirmed(lcp: ParametricLCP, basis: frozenset[int], ends: tuple[Number, Number]) -> Number | None:
    """Return an end at which a basic variable is negative by more than rounding explains, or None."""
    constants, slopes = basic_values(lcp, basis)
    for mu in ends:
        for i in range(lcp.size):
            value = constants[i], slopes[i]
            is_negative = not lcp.free[i] and Place(RATIONAL.number(mu)).sign_of(value) < 0
            if is_negative and not _is_rounding(value, row_vector(lcp, basis, i), lcp, mu):
                return mu
    return None


def is_same_mu(mu: Number, other: Number, field: Field) -> bool:
    """Tell whether two mu are the same but for float rounding; exact ones must be equal."""
    if field is RATIONAL or is_infinite(mu) or is_infinite(other):
        return mu == other
    return field.sign(float(mu) - float(other), max(1.0, abs(float(other)))) == 0


def _is_rounding(value: tuple[Number, Number], row: Array, lcp: ParametricLCP, mu: Number) -> bool:
    """Tell whether a negative value is rounding.

    It is if it is small beside its terms, or if it vanishes next to a mu that is itself rounded. A small
    datum is not explained away by a large one.
    """
    constant, slope = value
    a, b = (0, 1) if is_infinite(mu) else (1, RATIONAL.number(mu))
    terms = a * (abs(row) @ abs(lcp.q0)) + abs(b) * (abs(row) @ abs(lcp.q1))
    if abs(a * constant + b * slope) <= FLOAT.zero * terms:
        return True
    return not is_infinite(mu) and slope != 0 and is_same_mu(-constant / slope, mu, FLOAT)
