"""The terminal: what the command line shows while it works, when it is done, and when something is wrong.

Room: text in, lines on stdout and stderr out.
May touch: nothing but rich.
"""

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

# The exit code of a program whose reader went away, as shells report it: 128 + SIGPIPE.
PIPE_CLOSED = 141
# What is shown until the first piece of a path is there; compiled code is kept on disk from then on.
STARTING = "starting; the first run after installing compiles for about a minute"
# Seconds between two updates of the progress line.
REFRESH = 0.1
# Letters in a line of a table, at most.
WIDE = 300


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


def complain(message: str, code: int, details: Sequence[str] = ()) -> int:
    """Return the exit code after saying in one line on stderr what is wrong, and in one more each detail."""
    lines = [f"ranking: {message}", *(f"- {detail}" for detail in details)]
    print("\n".join(" ".join(line.split()) for line in lines), file=sys.stderr)
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


def tabled(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a table as text, the first columns to the left and the others to the right.

    >>> print(tabled("Shares", ["product", "share"], [["ours", "52 %"], ["theirs", "7 %"]]))
    Shares
      product   share
     ─────────────────
      ours       52 %
      theirs      7 %
    """
    table = Table(box=SIMPLE_HEAD)
    for place, name in enumerate(header):
        table.add_column(name, justify="right" if place >= left else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    stream = io.StringIO()
    # as wide as it needs to be, without colours: it may go into a file
    Console(file=stream, width=WIDE, color_system=None, markup=False, emoji=False, highlight=False).print(
        table
    )
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    return "\n".join([title, *filter(None, lines)])
