"""The terminal: what the command line shows while it works, when it is done, and when something is wrong.

Room: text in, lines on stdout and stderr out.
May touch: nothing but rich.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

# The exit code of a program whose reader went away, as shells report it: 128 + SIGPIPE.
PIPE_CLOSED = 141
# What is shown until the first piece of a path is there; compiled code is kept on disk from then on.
STARTING = "starting; the first run after installing compiles for about a minute"
# Seconds between two updates of the progress line.
REFRESH = 0.1


def say(text: str = "") -> None:
    """Print a line at once; a reader who has left ends the program quietly."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise SystemExit(close_pipe()) from None


def close_pipe() -> int:
    """Return the exit code after silencing stdout: whoever read it has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def complain(message: str, code: int) -> int:
    """Return the exit code after saying in one line on stderr what is wrong."""
    print(f"ranking: {' '.join(message.split())}", file=sys.stderr)
    return code


@contextmanager
def progress_line() -> Iterator[Callable[[str], None] | None]:
    """Yield what hears how far the work is and shows it on stderr, None if nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    due = time.monotonic()

    def report(text: str) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + REFRESH
            status.update(text)

    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    with console.status(STARTING) as status:
        yield report


def lined_up(lines: dict[str, str]) -> str:
    """Return named lines with their texts below one another.

    >>> print(lined_up({"path": "2 pieces", "chosen": "C = 1"}))
    path    2 pieces
    chosen  C = 1
    """
    width = max(map(len, lines))
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines.items())
