"""Stopping: the limits of a trace, and how far it has come."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pqp.errors import ProblemError
from pqp.lcp.log import Crossing, Pivot
from pqp.linalg.field import Number, shown

# A pivot, or anything with the mu at which it ends.
E = TypeVar("E")
NO_LIMIT = "leave it out for no limit"


@dataclass(frozen=True)
class StopLimits:
    """When to stop early. None means no limit."""

    max_pieces: int | None = None
    max_pivots: int | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        for name, kind in (("max_pieces", int), ("max_pivots", int), ("time_limit", (int, float))):
            value = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, kind) or isinstance(value, bool):
                expected = "a whole number" if kind is int else "a number"
                raise ProblemError(argument=name, found=repr(value), expected=expected, remedy=NO_LIMIT)
            if not value > 0:  # so that nan is refused too
                raise ProblemError(argument=name, found=repr(value), expected="positive", remedy=NO_LIMIT)


@dataclass(frozen=True)
class Progress:
    """How far a trace has come.

    Parameters
    ----------
    mu
        Where the last finished piece ends.
    pieces, pivots
        How many there were so far.
    """

    mu: Number
    pieces: int
    pivots: int


class StoppedError(Exception):
    """A limit was reached: what was found so far is kept."""


class Watch:
    """Counts the events of one trace and ends it when a limit is reached; `stopped` then says why."""

    def __init__(
        self, limits: StopLimits, begin: Number, progress: Callable[[Progress], None] | None = None
    ) -> None:
        self.stopped: str | None = None
        self._limits = limits
        self._progress = progress
        self._done = Progress(begin, 0, 0)
        allowed = math.inf if limits.time_limit is None else limits.time_limit
        self._deadline = time.monotonic() + allowed

    def passing(self, events: Iterator[E]) -> Iterator[E]:
        """Yield the events until a limit is reached."""
        for event in events:
            if reached := self._reached():
                self.stopped = f"{reached} was reached {self._where()}"
                return
            yield event
            self._count(event)

    def check(self) -> None:
        """Raise `StoppedError` if a limit is reached."""
        if reached := self._reached():
            self.stopped = f"{reached} was reached {self._where()}"
            raise StoppedError

    def piece(self, end: Number, pivots: int) -> None:
        """Count a piece that ends at mu, and the pivots that led to it."""
        done = self._done
        self._done = Progress(end, done.pieces + 1, done.pivots + pivots)
        if self._progress is not None:
            self._progress(self._done)

    def seconds_left(self) -> float:
        """Return the seconds until the time limit."""
        return self._deadline - time.monotonic()

    def interrupt(self) -> None:
        """Note that the user interrupted the trace."""
        self.stopped = f"interrupted {self._where()}"

    def _count(self, event: Any) -> None:
        """Count a pivot or a piece; a piece of the revised engine comes with the number of its pivots."""
        done = self._done
        if isinstance(event, Crossing):
            return
        if isinstance(event, Pivot):
            self._done = Progress(done.mu, done.pieces, done.pivots + 1)
        else:
            self._done = Progress(event.end, done.pieces + 1, done.pivots + getattr(event, "pivots", 0))
        if self._progress is not None:
            self._progress(self._done)

    def _reached(self) -> str | None:
        limits, done = self._limits, self._done
        if limits.max_pieces is not None and done.pieces >= limits.max_pieces:
            return f"max_pieces = {limits.max_pieces}"
        if limits.max_pivots is not None and done.pivots >= limits.max_pivots:
            return f"max_pivots = {limits.max_pivots}"
        return f"time_limit = {limits.time_limit}" if time.monotonic() > self._deadline else None

    def _where(self) -> str:
        return f"at mu = {shown(self._done.mu)}"
