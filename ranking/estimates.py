"""Estimates with intervals, as tables of text for the terminal.

Room: tables with an estimate and the ends of its interval in, text out.
May touch: `terminal`.
"""

from collections.abc import Callable, Mapping

import pandas as pd

from ranking.terminal import tabled

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
