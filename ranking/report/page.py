"""Pages: plain semantic HTML in one file, pictures inside it, readable without them."""

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


# Dots an inch: sharp in print at the width of a column.
RESOLUTION = 160
# Digits of the largest number of a column.
DIGITS = 4
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c1c1c; max-width: 60rem; }
body { margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem; border-bottom: 1px solid #ddd; }
table { border-collapse: collapse; margin: 0.8rem 0; display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding: 0.2rem 0; white-space: nowrap; }
th, td { padding: 0.25rem 0.9rem 0.25rem 0; text-align: left; vertical-align: top; }
tr { border-bottom: 1px solid #eee; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1.2rem 0; } img { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: 0.9rem; }
p.note { color: #555; }
"""


class Rounded(float):
    """A number that is shown with some decimals, so that numbers of a column stand below one another."""

    decimals: int

    def __new__(cls, value: float, decimals: int) -> "Rounded":
        """Return the number as it is, with what is to be shown of it."""
        number = super().__new__(cls, value)
        number.decimals = decimals
        return number


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page that needs nothing else."""
    head = f'<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    body = "\n".join([f"<h1>{escape(title)}</h1>", *parts])
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}{view}<style>{STYLE}</style>\n</head>\n'
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def section(title: str, parts: Iterable[str]) -> str:
    """Return parts under a heading."""
    inside = "\n".join(part for part in parts if part)
    return f"<section>\n<h2>{escape(title)}</h2>\n{inside}\n</section>"


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph.

    >>> paragraph("1 < 2")
    '<p>1 &lt; 2</p>'
    """
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def facts(rows: Mapping[str, Any], caption: str = "") -> str:
    """Return a table of two columns: what, and how much."""
    lines = [
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(shown(value))}</td></tr>'
        for name, value in rows.items()
    ]
    return _table(caption, "", lines)


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Return a table; numbers are shown with six digits and aligned to the right."""
    listed = [list(row) for row in rows]
    numeric = [_is_numeric([row[k] for row in listed]) for k in range(len(header))]
    kinds = [' class="number"' if is_number else "" for is_number in numeric]
    titles = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(header, kinds, strict=True)
    )
    cells = [[_cell(*cell) for cell in zip(row, kinds, strict=True)] for row in listed]
    lines = [f"<tr>{''.join(row)}</tr>" for row in cells]
    return _table(caption, f"<thead><tr>{titles}</tr></thead>", lines)


def frame_table(frame: "pd.DataFrame", caption: str = "", most: int | None = None) -> str:
    """Return a table of the first rows, numbers to four digits of the largest of their column."""
    shown_rows = frame if most is None else frame.head(most)
    header = [str(column).replace("_", " ") for column in frame.columns]
    columns = [rounded(shown_rows.iloc[:, k].astype(object).tolist()) for k in range(len(header))]
    return table(header, list(zip(*columns, strict=True)), caption)


def rounded(values: list[Any]) -> list[Any]:
    """Return numbers with as many decimals as the largest of them needs for four digits, gaps as nothing.

    >>> [shown(value) for value in rounded([123.456, 0.0123, 7, None])]
    ['123.5', '0.0', '7', '']
    """
    sizes = [abs(value) for value in values if isinstance(value, float) and isfinite(value)]
    largest = max(sizes, default=0.0)
    decimals = max(0, DIGITS - 1 - floor(log10(largest))) if largest > 0 else 0
    return ["" if value is None or value != value else _rounded(value, decimals) for value in values]


def picture(axes: "Axes", alternative: str, caption: str) -> str:
    """Return a picture inside the page, with words for those who do not see it."""
    stream = io.BytesIO()
    figure: Any = axes.figure
    figure.savefig(stream, format="png", dpi=RESOLUTION)
    data = base64.b64encode(stream.getvalue()).decode()
    image = f'<img alt="{escape(alternative)}" src="data:image/png;base64,{data}">'
    return f"<figure>\n{image}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"


def shown(value: Any) -> str:
    """Return a number with six digits, anything else as it is.

    >>> shown(1 / 3), shown(10**6), shown(float("nan")), shown("a")
    ('0.333333', '1000000', 'not defined', 'a')
    """
    if isinstance(value, Rounded):
        return f"{value:.{value.decimals}f}"
    if isinstance(value, float):
        return "not defined" if value != value else f"{value:.6g}"
    return str(value)


def _rounded(value: Any, decimals: int) -> Any:
    return Rounded(value, decimals) if isinstance(value, float) and isfinite(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_numeric(values: list[Any]) -> bool:
    """Tell whether a column holds numbers, and perhaps gaps."""
    return any(map(_is_number, values)) and all(_is_number(value) or value == "" for value in values)


def _cell(value: Any, kind: str) -> str:
    return f"<td{kind}>{escape(shown(value))}</td>"


def _table(caption: str, head: str, lines: Sequence[str]) -> str:
    title = f"<caption>{escape(caption)}</caption>\n" if caption else ""
    body = "\n".join(lines)
    return f"<table>\n{title}{head}<tbody>\n{body}\n</tbody>\n</table>"
