"""Proofs that a problem has no solution: Farkas weights, rays of descent, and both in one vector."""

from dataclasses import dataclass

import numpy as np

from pqp.linalg.affine import AffineNumber
from pqp.linalg.field import Array, Number, is_infinite
from pqp.model.problem import QPData

LIMITS = ("row_lower", "row_upper", "lower", "upper")


@dataclass(frozen=True, eq=False)
class Farkas:
    """Why no x is feasible: nonnegative weights of limits whose weighted sum contradicts itself.

    With f = row_lower − row_upper: Aᵀf + lower − upper = 0, yet the weighted limits add up to more than 0.

    Parameters
    ----------
    row_lower, row_upper
        One weight per row.
    lower, upper
        One weight per variable.
    """

    row_lower: Array
    row_upper: Array
    lower: Array
    upper: Array

    def __post_init__(self) -> None:
        for name in LIMITS:
            getattr(self, name).flags.writeable = False

    def gap(self, data: QPData) -> AffineNumber:
        """Return by how much the weighted limits contradict each other, affine in mu."""
        total = [data.field.number(0), data.field.number(0)]
        for name, sense in zip(LIMITS, (1, -1, 1, -1), strict=True):
            weights, limit = getattr(self, name), getattr(data, name)
            # an infinite limit has weight 0, and 0 times infinity is not a number
            used = np.flatnonzero(weights != 0)
            for part in (0, 1):
                total[part] += sense * (limit[part][used] @ weights[used])
        return AffineNumber(*total)


def descent(data: QPData, ray: Array, violation: Array) -> AffineNumber:
    """Return the change of the objective along a ray, affine in mu."""
    # Penalties of hard rows are infinite, and 0 times infinity is not a number.
    soft = np.flatnonzero(violation != 0)
    penalty = data.penalty.take(soft)
    return AffineNumber(*(data.c[part] @ ray + penalty[part] @ violation[soft] for part in (0, 1)))


@dataclass(frozen=True, eq=False)
class Obstruction:
    """An exact vector t with t ≥ 0, Mᵀt ≤ 0: where tᵀq(mu) < 0 the LCP has no solution.

    It is a pair of proofs: `ray` and `violation` form a direction of descent where `descent` is
    negative, `farkas` contradicts feasibility where `gap` is positive; tᵀq = descent − gap.
    """

    ray: Array
    violation: Array
    farkas: Farkas
    descent: AffineNumber
    gap: AffineNumber

    @property
    def value(self) -> AffineNumber:
        """tᵀq, affine in mu."""
        return AffineNumber(*(down - up for down, up in zip(self.descent, self.gap, strict=True)))

    @property
    def root(self) -> Number | None:
        """The mu at which the proof vanishes, None if it never does."""
        constant, slope = self.value
        return -constant / slope if slope else None

    def vanishes_at(self, mu: Number) -> bool:
        """Return whether the proof ends at mu, which it then does not cover."""
        return not is_infinite(mu) and self.value.at(mu) == 0

    def plus(self, other: "Obstruction", weight: Number) -> "Obstruction":
        """Return the sum of this and a positive multiple of another: proofs form a cone."""
        weights = (getattr(self.farkas, name) + weight * getattr(other.farkas, name) for name in LIMITS)
        return Obstruction(
            self.ray + weight * other.ray,
            self.violation + weight * other.violation,
            Farkas(*weights),
            AffineNumber(*(self.descent[part] + weight * other.descent[part] for part in (0, 1))),
            AffineNumber(*(self.gap[part] + weight * other.gap[part] for part in (0, 1))),
        )


@dataclass(frozen=True)
class UnsolvablePiece:
    """The problem has no solution from `start` to `end`, in the direction of the trace.

    `exact` holds the same ends in rationals. An end at which the proof vanishes is not part of the piece.
    """

    start: Number
    end: Number
    exact: tuple[Number, Number]
    obstruction: Obstruction
