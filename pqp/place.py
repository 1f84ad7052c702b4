"""Places on the mu axis: a number, just beside it, or infinitely far out.

Beside a number means mu + ε or mu − ε with a symbolic ε, smaller than every positive number (paper,
section 3.3): the sign of σ + ετ is that of σ, or of τ where σ = 0.

Room: a place in, weights for lexicographic signs out. Knows no table and no QP.
May touch: `field`.
"""

from dataclasses import dataclass

from pqp.field import Number, is_infinite, shown


@dataclass(frozen=True)
class Place:
    """The place mu + side·ε; mu may be infinite.

    >>> print(Place(3, 1), Place(3, 0), Place(float("-inf")))
    3 + ε 3 -inf
    """

    mu: Number
    side: int = 0

    @property
    def weights(self) -> list[tuple[Number, Number]]:
        """Pairs (a, b): a function σ + mu τ has the sign of the first nonzero aσ + bτ."""
        if is_infinite(self.mu):
            return [(0, 1 if self.mu > 0 else -1), (1, 0)]
        beside: list[tuple[Number, Number]] = [(0, self.side)] if self.side else []
        return [(1, self.mu), *beside]

    def sign_of(self, value: tuple[Number, Number]) -> int:
        """Return the sign of constant + mu·slope here, in exact arithmetic.

        >>> Place(1, 1).sign_of((-1, 1)), Place(1).sign_of((-1, 1)), Place(float("-inf")).sign_of((5, 1))
        (1, 0, -1)
        """
        for a, b in self.weights:
            if number := a * value[0] + b * value[1]:
                return 1 if number > 0 else -1
        return 0

    def __str__(self) -> str:
        return f"{shown(self.mu)} {'+' if self.side > 0 else '-'} ε" if self.side else shown(self.mu)
