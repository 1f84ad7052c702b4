r"""The interface of bases: the factorised matrix of the unknowns, which changes at every event.

With R the items whose v is unknown and J the signs that make S = J M symmetric, a basis answers solves with
S_RR. `basis_choice` says which kind fits a system; all of them change by principal pivots on a block of items
that enter (E) and leave (L) together. With W = S_RR⁻¹ S_RE and Z = S_RR⁻¹ the block

.. math:: T = \begin{pmatrix} Z_{LL} & -W_L \\ W_L^\top & S_{EE} - S_{ER} W \end{pmatrix}

may be regular where all 1 × 1 pivots are zero, as in every exchange of a linear program.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.linalg.field import Array
from pqp.revised.event_kernel_choice import KERNELS


class SingularBasisError(NumericalTroubleError):
    """The matrix of a basis is singular in float64."""

    def __init__(self) -> None:
        super().__init__("a basis matrix is singular in float64", **EXACT_REMEDY)


class Direction(NamedTuple):
    """How v of the unknowns responds to one item, in the order of `Basis.items`.

    For an item outside R: to its own v, whose response, 1, comes last; `pivot` is the response of its J g.
    For one inside: to its J g; `pivot` is the response of its own v. `size` is the size of the terms of the
    pivot.
    """

    steps: Array
    pivot: float
    size: float


class BasisFactor(Protocol):
    """The factorised S_RR of the unknowns R."""

    changes: int

    @property
    def items(self) -> Array:
        """R, in the order of all vectors that are solved for."""

    def items_and(self, item: int) -> Array:
        """Return R and an item that is about to enter, behind the others."""

    def place(self, item: int) -> int:
        """Return the position of an item in `items`, -1 if it is outside."""

    def solve(self, right: Array) -> Array:
        """Return S_RR⁻¹ times a vector or a block."""

    def direction(self, item: int) -> Direction:
        """Return how the unknowns respond to one item."""

    def product(self, steps: Array, entering: int = -1) -> Array:
        """Return M[:, R] times steps; with an item that is about to enter, its own step comes last."""

    def change(self, entering: list[int], leaving: list[int], direction: Direction | None = None) -> None:
        """Let items enter and leave; `direction` is that of the item if it is a single one."""

    def factorise(self, items: Array) -> None:
        """Factorise the matrix of some items anew; raise `SingularBasisError` if it is singular."""


def growth_of(solve: Callable[[Array], Array], size: int) -> float:
    """Return the largest number of a solution where the right-hand side is of order 1 and has no structure.

    It tells a singular matrix from a regular one without its inverse.
    """
    return float(np.abs(solve(np.cos(np.arange(1.0, size + 1)))).max(initial=0.0))


def size_of_terms(corner: float, column: Array, solved: Array) -> float:
    """Return the size that the pivot of an entering item is compared with.

    Of the largest factors, not of the products: where those that matter are zero, the others leave rounding
    errors of this size.
    """
    largest = KERNELS.current.largest
    return abs(corner) + float(largest(column) * largest(solved))
