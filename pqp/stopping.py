"""Stopping: the limits of a trace, Ctrl-C, and how far the trace has come."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, TypeVar

from pqp.errors import ProblemError
from pqp.lcp.pivot_log import Crossing, Pivot
from pqp.linalg.field import Number

# A pivot, or anything with the mu at which it ends.
E = TypeVar("E")
# What a library answers.
A = TypeVar("A")
NO_LIMIT = "leave it out for no limit"
# Seconds that may be spent on finishing what was found once a trace has to stop, and between two looks at a
# library that is at work: users expect an answer to Ctrl-C within a second.
GRACE = 0.5
POLL = 0.05
# The reason to stop that Ctrl-C is.
INTERRUPTED = "interrupted"
# Bytes in the unit of `memory_limit`.
MEGABYTE = 1e6


@dataclass(frozen=True)
class StopLimits:
    """When to stop early: pieces, pivots, seconds, and megabytes of pieces. None means no limit."""

    max_pieces: int | None = None
    max_pivots: int | None = None
    time_limit: float | None = None
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        kinds: dict[str, Any] = {"max_pieces": int, "max_pivots": int}
        for name in ("max_pieces", "max_pivots", "time_limit", "memory_limit"):
            value, kind = getattr(self, name), kinds.get(name, (int, float))
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
    """A limit was reached, or Ctrl-C was pressed: what was found so far is kept."""


class Watch:
    """Counts the events of one trace and ends it when a limit is reached; `reason` then says which.

    Used as a context, it also notes Ctrl-C. The usual handler still raises `KeyboardInterrupt`, which may get
    lost in a callback of a library; the next `check` then ends the trace all the same.

    Parameters
    ----------
    limits
        The limits.
    begin
        Where the trace begins.
    progress
        Called after every pivot and every piece.
    """

    def __init__(
        self, limits: StopLimits, begin: Number, progress: Callable[[Progress], None] | None = None
    ) -> None:
        self.reason: str | None = None
        # The bytes of the pieces found so far; an engine that keeps pieces says how many.
        self.measure: Callable[[], float] = lambda: 0.0
        # Called after every piece of the revised engine, before `progress`.
        self.after_piece: Callable[[], None] = lambda: None
        self._limits = limits
        self._progress = progress
        self._done = Progress(begin, 0, 0)
        allowed = math.inf if limits.time_limit is None else limits.time_limit
        self._deadline = time.monotonic() + allowed
        self._interrupted_at = math.inf
        self._is_held = False
        self._previous: Any = None

    # ---- limits ----

    def passing(self, events: Iterator[E]) -> Iterator[E]:
        """Yield the events until a limit is reached."""
        for event in events:
            if reached := self._reached():
                self.reason = reached
                return
            yield event
            self._count(event)

    def check(self) -> None:
        """Raise `StoppedError` if a limit is reached."""
        if reached := self._reached():
            self.reason = reached
            raise StoppedError

    def piece(self, end: Number, pivots: int) -> None:
        """Count a piece that ends at mu, and the pivots that led to it."""
        done = self._done
        self._done = Progress(end, done.pieces + 1, done.pivots + pivots)
        self.after_piece()
        if self._progress is not None:
            self._progress(self._done)

    def seconds_left(self) -> float:
        """Return the seconds until the time limit."""
        return self._deadline - time.monotonic()

    def finishing(self) -> "Watch":
        """Return the watch of work that finishes what was found, such as a proof.

        It has no limits of its own, but once this trace has to stop there are `GRACE` seconds left for it.
        """
        return _Finishing(self)

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
            return f"max_pieces = {limits.max_pieces} was reached"
        if limits.max_pivots is not None and done.pivots >= limits.max_pivots:
            return f"max_pivots = {limits.max_pivots} was reached"
        if limits.memory_limit is not None and self.measure() >= limits.memory_limit * MEGABYTE:
            return f"memory_limit = {limits.memory_limit} was reached"
        return self._due(time.monotonic())

    def _due(self, now: float) -> str | None:
        """Return why the trace should have stopped before a time, if it should."""
        if now > self._interrupted_at:
            return INTERRUPTED
        return f"time_limit = {self._limits.time_limit} was reached" if now > self._deadline else None

    # ---- interrupts ----

    def interrupt(self) -> None:
        """Note that the user interrupted the trace."""
        self.reason = INTERRUPTED

    @property
    def was_interrupted(self) -> bool:
        """Whether Ctrl-C was pressed, even if the exception got lost."""
        return self.reason == INTERRUPTED or self._interrupted_at < math.inf

    def __enter__(self) -> "Watch":
        # Only the main thread may set handlers, and only handlers written in Python can be called.
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._previous = handler
                signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Let a short block of work end before the first Ctrl-C counts; the second one ends it at once."""
        before, self._is_held = self._is_held, True
        try:
            yield
        finally:
            self._is_held = before

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        is_first = self._interrupted_at == math.inf
        self._interrupted_at = min(self._interrupted_at, time.monotonic())
        if not (is_first and self._is_held):
            self._previous(number, frame)

    # ---- libraries ----

    def wait_for(self, call: Callable[["threading.Event"], A]) -> A:
        """Return what a library answers, called in a thread because it knows neither limits nor Ctrl-C.

        Where the trace has to stop, the thread is left behind and the event that it is given is set.
        """
        answers: list[A] = []
        errors: list[BaseException] = []
        is_abandoned = threading.Event()

        def work() -> None:
            try:
                answers.append(call(is_abandoned))
            except BaseException as error:  # raised again below, where it can be caught
                errors.append(error)

        # The context has numpy's settings for overflows.
        thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(POLL)
                self.check()
        except BaseException:
            is_abandoned.set()
            raise
        if errors:
            raise errors[0]
        return answers[0]


class _Finishing(Watch):
    """The watch of work that finishes what another one's trace has found."""

    def __init__(self, trace: Watch) -> None:
        super().__init__(StopLimits(), 0)
        self._trace = trace
        self._began = time.monotonic()

    def check(self) -> None:
        """Raise `StoppedError` if the trace had to stop some time ago."""
        if reached := self._reached():
            self._trace.reason = self._trace.reason or reached
            raise StoppedError

    def seconds_left(self) -> float:
        """Return the seconds until the time limit and what is granted beyond it."""
        return self._trace.seconds_left() + GRACE

    def finishing(self) -> Watch:
        """Return this watch: what finishes an end is granted no more time."""
        return self

    def _reached(self) -> str | None:
        now = time.monotonic()
        return self._trace._due(now - GRACE) if now > self._began + GRACE else None
