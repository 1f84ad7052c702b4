"""Correction: the exactly optimal bases around a float piece whose own basis is off by a rounding error."""

from collections.abc import Callable
from dataclasses import dataclass

from flint import fmpq

from pqp.certificate.cover import ProvedPiece
from pqp.certificate.rationals import Span
from pqp.certificate.solution import PrimalVector
from pqp.certificate.states import ActiveSet, Snapshot


@dataclass(frozen=True)
class Correction:
    """Where the exact pieces found hold together, and x on the first and the last of them."""

    span: Span
    first_x: PrimalVector
    last_x: PrimalVector
    pieces: int


def corrected(
    states: Snapshot, piece: ProvedPiece, tolerance: fmpq, is_allowed: Callable[[ActiveSet], bool]
) -> Correction | None:
    """Return the exact pieces around a stated one, None if a few pivots do not find them."""
    return None
