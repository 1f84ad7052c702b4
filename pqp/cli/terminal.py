"""The terminal: what the command line shows while it works, when it is done, and when something is wrong."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from pqp.cli.tables import shown_number
from pqp.limits import Progress
from pqp.linalg.field import Number

# The exit code of a program whose reader went away, as shells report it: 128 + SIGPIPE.
PIPE_CLOSED = 141
# Lines in a file or a pipe may be longer than in a terminal, whose width rich knows.
WIDE = 1000
# Seconds between two updates of the progress line.
REFRESH = 0.1


class Screen(Console):
    """Stdout: text is shown as it is, without markup, and wrapped to the terminal if it is one."""

    def __init__(self) -> None:
        width = None if sys.stdout.isatty() else WIDE
        super().__init__(markup=False, emoji=False, highlight=False, width=width)

    def on_broken_pipe(self) -> None:
        """Stop quietly."""
        raise SystemExit(close_pipe())


def close_pipe() -> int:
    """Return the exit code after silencing stdout: whoever read it has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def complain(message: str, code: int) -> int:
    """Return the exit code after saying in one line on stderr what is wrong."""
    print(f"pqp: {' '.join(message.split())}", file=sys.stderr)
    return code


@contextmanager
def waiting(text: str) -> Iterator[Any]:
    """Show a line on stderr while work goes on; yields None if nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    with console.status(text) as status:
        yield status


@contextmanager
def progress_line(lo: Number, hi: Number) -> Iterator[Callable[[Progress], None] | None]:
    """Yield what a trace from lo to hi reports its progress to, None if nobody watches."""
    due = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + REFRESH
            where = f"mu = {shown_number(progress.mu)} in [{shown_number(lo)}, {shown_number(hi)}]"
            status.update(f"{where}: {progress.pieces} pieces, {progress.pivots} pivots")

    with waiting("starting") as status:
        yield report if status else None
