"""Delivery: what the command line does with results, and the exit codes it leaves with.

Room: lines, pictures and names of files in; text on stdout, files and an exit out.
May touch: `files`, `terminal`, and typer.
"""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ranking.files import write_whole
from ranking.terminal import complain, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
