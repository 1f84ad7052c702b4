"""What the commands print and write: estimates with intervals as text, results, and pictures."""

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pqp.cli.program import say, text_table
from ranking.io.items import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    labels = table.index.to_frame().to_numpy(dtype=object).tolist()
    rows = [
        [
            *(word if isinstance(word, str) else f"{word:g}" for word in levels),
            *(forms[first](row[column]) for column in (first, "lo", "hi")),
            *(forms[column](row[column]) for column in others),
        ]
        for levels, (_, row) in zip(labels, table.iterrows(), strict=True)
    ]
    names = [str(name) for name in table.index.names]
    return text_table(title, [*names, first, "from", "to", *others], rows, left=len(names))


def percent(value: float) -> str:
    """Return a share in per cent; nothing where it is not known.

    >>> percent(0.256), percent(float("nan"))
    ('25.6 %', '')
    """
    return "" if value != value else f"{100 * value:.1f} %"


def one_decimal(value: float) -> str:
    """Return a number with one decimal; nothing where it is not known."""
    return "" if value != value else f"{value:.1f}"


def announce(result: str, written: Iterable[Path | None]) -> None:
    """Print the result and what was written."""
    say(result)
    for file in filter(None, written):
        say(f"Written: {file}")


def draw(axes: "Axes", file: Path) -> None:
    """Write a picture, all of it or nothing."""
    stream = io.BytesIO()
    figure: Any = axes.figure
    figure.savefig(stream, format=file.suffix[1:])
    write_whole(file, stream.getvalue())
    say(f"Written: {file}")
