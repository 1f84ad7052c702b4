"""Which kernels the event loop calls: those of numpy, or compiled ones once that pays.

The state of a trace is plain arrays, so kernels are exchanged in mid-path.
"""

import time
from typing import Any

from pqp.revised import event_kernels

# Seconds of tracing after which loading compiled kernels pays: it takes 0.5 s if they are cached, 2 s else.
WORTH_COMPILING = 1.5


class KernelChoice:
    """The kernels of this process, and the seconds that its traces took so far with those of numpy."""

    def __init__(self) -> None:
        self.current: Any = event_kernels
        self._spent = 0.0
        self._is_decided = False

    def count(self, seconds: float) -> None:
        """Count the seconds of a trace; exchange the kernels for compiled ones if that pays by now."""
        self._spent += seconds
        if self._is_decided or self._spent < WORTH_COMPILING:
            return
        self._is_decided = True
        try:
            from pqp.revised import compiled_event_kernels
        except ImportError:  # the engine is complete without a compiler
            return
        self.current = compiled_event_kernels


KERNELS = KernelChoice()


class Clock:
    """Hands the seconds of a trace to the choice of kernels, from time to time."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    def tick(self) -> None:
        """Count the seconds since the last call."""
        now = time.perf_counter()
        KERNELS.count(now - self._since)
        self._since = now
