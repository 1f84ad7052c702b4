"""Everything that can go wrong, named after the situation it describes.

Room: exceptions only. Infeasible and unbounded problems are answers, not errors; they become one
(`NoSolutionError`) only when someone asks for the solution that does not exist.
May touch: nothing.
"""

from typing import Any


class PQPError(Exception):
    """The ancestor of every exception raised by `pqp`."""


class ProblemError(PQPError, ValueError):
    """An argument makes no sense: the message names it, what was found, and the remedy."""


class NotConvexError(ProblemError):
    """P has a direction of negative curvature.

    `direction` is a vector d with dᵀP d = `curvature` < 0.
    """

    def __init__(self, message: str, direction: Any, curvature: Any) -> None:
        super().__init__(message)
        self.direction = direction
        self.curvature = curvature


class NoSolutionError(PQPError):
    """The solution was asked for where there is none.

    `segment` is the infeasible or unbounded piece with its proof; None outside the traced interval.
    """

    def __init__(self, message: str, segment: Any = None) -> None:
        super().__init__(message)
        self.segment = segment


class CertificateError(PQPError):
    """A path does not prove what it claims: the message says which piece and which condition."""


class NumericalTroubleError(PQPError):
    """Round-off got in the way; `interval` is where, `segments` the pieces that are still good."""

    def __init__(self, message: str, interval: Any = None, segments: Any = ()) -> None:
        super().__init__(message)
        self.interval = interval
        self.segments = segments


class InternalError(PQPError):
    """The library contradicts itself: a bug in `pqp`, never in the input.

    `reproducer` is the path of a problem file that shows it, when one could be written.
    """

    def __init__(self, message: str, reproducer: Any = None) -> None:
        super().__init__(message)
        self.reproducer = reproducer


class FileFormatError(PQPError, ValueError):
    """A file is not what it should be: the message names the file, the key and the remedy."""
