"""Affine functions of mu inside the library: the numbers behind problems, dictionaries, pieces and proofs.

What a user writes with `pqp.mu` is a `pqp.model.affine.Affine`; `QPData` turns it into these records, which
are in one arithmetic and as cheap as the pairs they are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from pqp.linalg.field import Array, Number


class AffineArray(NamedTuple):
    """An array that is affine in mu, entry by entry: constant + mu * slope.

    >>> import numpy as np
    >>> line = AffineArray(np.array([1, 2]), np.array([0, 5]))
    >>> line.at(2).tolist(), line.take([1]).at(0).tolist()
    ([1, 12], [2])
    """

    constant: Array
    slope: Array

    def at(self, mu: Number) -> Array:
        """Return the values at a finite mu."""
        return self.constant + mu * self.slope

    def about(self, mu: Number) -> "AffineArray":
        """Return the same function with mu measured from another origin."""
        return AffineArray(self.at(mu), self.slope)

    def mapped(self, linear: Callable[[Array], Array]) -> "AffineArray":
        """Return the image under a linear map, which acts on constant and slope alike."""
        return AffineArray(linear(self.constant), linear(self.slope))

    def take(self, items: Any) -> "AffineArray":
        """Return some entries, chosen by anything that indexes an array."""
        return AffineArray(self.constant[items], self.slope[items])


class AffineNumber(NamedTuple):
    """A number that is affine in mu: constant + mu * slope.

    >>> AffineNumber(3, -2).at(1)
    1
    """

    constant: Number
    slope: Number

    def at(self, mu: Number) -> Number:
        """Return the value at a finite mu."""
        return self.constant + mu * self.slope
