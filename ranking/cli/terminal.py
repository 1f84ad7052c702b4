"""The terminal: what the command line shows while it works, when it is done, and when something is wrong.

Estimates with intervals, as tables of text for the terminal.

Delivery: what the command line does with results, and the exit codes it leaves with.
"""

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ranking.io.tables import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


# How a number is written.
Form = Callable[[float], str]


def estimates_text(table: pd.DataFrame, title: str, forms: Mapping[str, Form]) -> str:
    """Return a table of estimates: its index, the first column with its interval, and other columns.

    >>> shares = pd.DataFrame({"product": ["ours"], "share": [0.5], "lo": [0.25], "hi": [0.75]})
    >>> print(estimates_text(shares.set_index("product"), "Shares", {"share": percent}))
    Shares
      product    share     from       to
     ────────────────────────────────────
      ours      50.0 %   25.0 %   75.0 %
    """
    first, *others = forms
    rows = [
        [
            *(word if isinstance(word, str) else f"{word:g}" for word in _words(name)),
            *(forms[first](row[column]) for column in (first, "lo", "hi")),
            *(forms[column](row[column]) for column in others),
        ]
        for name, row in table.iterrows()
    ]
    names = [str(name) for name in table.index.names]
    return tabled(title, [*names, first, "from", "to", *others], rows, left=len(names))


def percent(value: float) -> str:
    """Return a share in per cent; nothing where it is not known.

    >>> percent(0.256), percent(float("nan"))
    ('25.6 %', '')
    """
    return "" if value != value else f"{100 * value:.1f} %"


def one_decimal(value: float) -> str:
    """Return a number with one decimal; nothing where it is not known."""
    return "" if value != value else f"{value:.1f}"


def _words(name: object) -> tuple[object, ...]:
    return name if isinstance(name, tuple) else (name,)


# Exit codes; 0 is success, and 130 what shells report for a program that Ctrl-C ended.
FAILED, WRONG_INPUT, STOPPED, INTERRUPTED = 1, 2, 3, 130


def announce(result: str, written: Iterable[Path | None]) -> None:
    """Print the result and what was written."""
    say(result)
    for file in filter(None, written):
        say(f"Written: {file}")


def leave_if_stopped(stopped: str | None) -> None:
    """Leave with a code of its own if a path was cut."""
    if stopped:
        code = INTERRUPTED if stopped.startswith("interrupted") else STOPPED
        raise typer.Exit(complain(stopped.replace("path.extend goes on", "the rest is missing"), code))


def draw(axes: "Axes", file: Path) -> None:
    """Write a picture, all of it or nothing."""
    stream = io.BytesIO()
    figure: Any = axes.figure
    figure.savefig(stream, format=file.suffix[1:])
    write_whole(file, stream.getvalue())
    say(f"Written: {file}")
