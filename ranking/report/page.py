"""Tables and pictures of a report as data, and the templates that make one HTML file of them.

The words and tags of a page are in `templates/`: `base.html` is the frame of every page, `blocks.html` draws
tables and pictures, `path.html` is what reports on paths share, and each report has a template of its own.
Python hands over values only. Templates escape whatever they are given, so text of users needs no care here.
"""

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from ranking.core.validation import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Dots per inch: sharp in print at the width of a column.
RESOLUTION = 160
# Significant digits of the largest number of an aligned column.
DIGITS = 4


@dataclass(frozen=True)
class Column:
    """A column of a table as it is shown; numbers are aligned to the right."""

    name: str
    cells: list[str]
    is_number: bool


@dataclass(frozen=True)
class Table:
    """A table as it is shown, perhaps cut: `left_out` counts what is missing, called `noun`."""

    caption: str
    columns: list[Column]
    left_out: int = 0
    noun: str = "row"

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells, one tuple per row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


@dataclass(frozen=True)
class Picture:
    """A picture as part of a page: `source` holds it, `alternative` is for those who do not see it."""

    source: str
    alternative: str
    caption: str


def table(
    frame: pd.DataFrame,
    caption: str = "",
    most: int | None = None,
    *,
    noun: str = "row",
    is_aligned: bool = False,
) -> Table:
    """Return the first rows of a frame as a table.

    Numbers are shown with six digits, or in an aligned table with as many decimals as the largest of their
    column needs for four digits, so that they can be compared from row to row.

    >>> table(pd.DataFrame({"a": [123.456, 0.0123]}), is_aligned=True).columns
    [Column(name='a', cells=['123.5', '0.0'], is_number=True)]
    """
    kept = frame if most is None else frame.head(most)
    columns = [
        _column(str(name), values.astype(object).tolist(), is_aligned) for name, values in kept.items()
    ]
    return Table(caption, columns, len(frame) - len(kept), noun)


def spaced(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose columns are named in words: "standard error" for "standard_error"."""
    return frame.rename(columns=lambda name: str(name).replace("_", " "))


def picture(axes: "Axes", alternative: str, caption: str) -> Picture:
    """Return what was drawn as a picture inside a page."""
    stream = io.BytesIO()
    figure: Any = axes.figure
    figure.savefig(stream, format="png", dpi=RESOLUTION)
    data = base64.b64encode(stream.getvalue()).decode()
    return Picture(f"data:image/png;base64,{data}", alternative, caption)


def shown(value: Any) -> str:
    """Return a number with six digits, anything else as it is.

    >>> shown(1 / 3), shown(10**6), shown(float("nan")), shown("a")
    ('0.333333', '1000000', 'not defined', 'a')
    """
    if isinstance(value, float):
        return "not defined" if value != value else f"{value:.6g}"
    return str(value)


def render(template: str, parts: Mapping[str, Any]) -> str:
    """Return a page that needs no other file, from a template and the values it names."""
    return _environment().get_template(template).render(parts)


@cache
def _environment() -> Environment:
    # a misspelt name in a template is an error, not an empty place on a page
    environment = Environment(
        loader=PackageLoader("ranking.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["shown"] = shown
    environment.filters["counted"] = counted
    return environment


def _column(name: str, values: list[Any], is_aligned: bool) -> Column:
    is_number = any(map(_is_number, values)) and all(_is_number(value) or _is_gap(value) for value in values)
    if not is_aligned:
        return Column(name, [shown(value) for value in values], is_number)
    sizes = [abs(value) for value in values if isinstance(value, float) and isfinite(value)]
    largest = max(sizes, default=0.0)
    decimals = max(0, DIGITS - 1 - floor(log10(largest))) if largest > 0 else 0
    cells = []
    for value in values:
        is_aligned = isinstance(value, float) and isfinite(value)
        cells.append("" if _is_gap(value) else f"{value:.{decimals}f}" if is_aligned else shown(value))
    return Column(name, cells, is_number)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_gap(value: Any) -> bool:
    return value is None or value == "" or value != value
