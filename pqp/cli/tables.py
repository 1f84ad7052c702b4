"""A path as a table for the terminal."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from pqp.linalg.field import Number, is_infinite, to_flint
from pqp.records.segment import Segment

if TYPE_CHECKING:
    from pqp.path.path import Path


# A rational with more characters than this is shown rounded, with ≈ in front.
LONGEST_RATIONAL = 9
# Longer paths are shown with their middle left out.
MOST_ROWS = 60
SHOWN_FIRST = 40
SHOWN_LAST = 10
# A console this wide never wraps, so that a table can be measured on it.
UNLIMITED = 10**6
# How many variables are named if there is no room for one column each.
MOST_NAMED = 3

Cells = Callable[[Segment], Sequence[str]]


def path_table(path: "Path", console: Console) -> Table:
    """Return one row per piece: its interval, its status, and x from its left to its right end.

    If the columns do not fit on the console, only the variables that move most are named.
    """

    def row(piece: Segment, cells: Sequence[str]) -> list[str]:
        return [shown_range(path, piece), piece.status, *cells]

    heads = ("mu", "status")
    table = _table(path, heads, path.problem.names, lambda piece: row(piece, _movements(piece)))
    if not _fits(table, console):
        table = _table(path, heads, ("moves most",), lambda piece: row(piece, _summary(piece)))
        table.columns[-1].justify = "left"
    return table


def worth_table(path: "Path", parameter: str, console: Console) -> Table:
    """Return one row per piece: its interval, and x at its right end.

    The path must be optimal throughout, and constant on a piece without end. Numbers are rounded to two
    decimals if exact ones do not fit on the console.
    """

    def exact(piece: Segment) -> list[str]:
        is_endless = piece.status != "optimal" or is_infinite(piece.hi)
        cells = _movements(piece) if is_endless else _shown_values(piece, piece.hi)
        return [shown_range(path, piece), *cells]

    def rounded(piece: Segment) -> list[str]:
        values = piece.at(piece.lo if is_infinite(piece.hi) else piece.hi).x
        return [f"{float(piece.hi):.3g}", *(f"{round(float(value), 2) + 0.0:.2f}" for value in values)]

    columns = [name.replace(" ", "\n") for name in path.problem.names]
    table = _table(path, (parameter,), columns, exact)
    if not _fits(table, console):
        table = _table(path, (f"{parameter}\nup to",), columns, rounded)
        table.padding = (0, 1, 0, 0)
        table.caption = "Rounded; a wider terminal shows fractions."
        table.caption_justify = "left"
    return table


def shown_number(value: Number) -> str:
    """Return a number in a few characters.

    >>> [shown_number(value) for value in (Fraction(7, 3), Fraction(10**20, 3), -0.0, 1 / 3)]
    ['7/3', '≈3.333e+19', '0', '0.333333']
    """
    if isinstance(value, float):
        return f"{value + 0.0:.6g}"
    text = str(to_flint(value))
    if len(text) <= LONGEST_RATIONAL:
        return text
    try:
        return f"≈{float(value):.4g}"
    except OverflowError:
        above, below = Fraction(value).as_integer_ratio()
        return f"≈1e{len(str(to_flint(above))) - len(str(to_flint(below)))}"


def shown_range(path: "Path", piece: Segment) -> str:
    """Return the interval of a piece, with a round bracket where its end belongs to a neighbour."""
    mine = [interval for interval in path.intervals if interval.status == piece.status]
    owned = [not is_infinite(mu) and any(mu in interval for interval in mine) for mu in (piece.lo, piece.hi)]
    lo, hi = shown_number(piece.lo), shown_number(piece.hi)
    return f"{'[' if owned[0] else '('}{lo}, {hi}{']' if owned[1] else ')'}"


def _table(path: "Path", heads: Sequence[str], columns: Sequence[str], cells: Cells) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in heads:
        table.add_column(name, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", overflow="fold")
    left_out = len(path.segments) - SHOWN_FIRST - SHOWN_LAST if len(path.segments) > MOST_ROWS else 0
    for number, piece in enumerate(path.segments):
        if left_out and number == SHOWN_FIRST:
            table.add_row("...", f"{left_out} more")
        if not SHOWN_FIRST <= number < SHOWN_FIRST + left_out:
            table.add_row(*cells(piece))
    return table


def _fits(table: Table, console: Console) -> bool:
    room = console.options.update(width=UNLIMITED)
    return Measurement.get(console, room, table).maximum <= console.width


def _movements(piece: Segment) -> list[str]:
    """Return each x_j as "from → to", or as a formula if the piece has no end."""
    if piece.x is None or piece.status != "optimal":
        return []
    if is_infinite(piece.lo) or is_infinite(piece.hi):
        slopes = [slope if piece.arithmetic.sign(slope) else 0 for slope in piece.x[1]]
        return [_formula(constant, slope) for constant, slope in zip(piece.x[0], slopes, strict=True)]
    left, right = (_shown_values(piece, mu) for mu in (piece.lo, piece.hi))
    return [a if a == b else f"{a} → {b}" for a, b in zip(left, right, strict=True)]


def _summary(piece: Segment) -> list[str]:
    """Return the variables with the steepest slopes, and how many others move."""
    if piece.x is None or piece.status != "optimal":
        return []
    slopes, movements = piece.x[1], _movements(piece)
    moving = [j for j in range(len(slopes)) if piece.arithmetic.sign(slopes[j])]
    moving.sort(key=lambda j: -abs(slopes[j]))
    named = [f"{piece.problem.names[j]} {movements[j]}" for j in moving[:MOST_NAMED]]
    rest = f" and {len(moving) - MOST_NAMED} more" if len(moving) > MOST_NAMED else ""
    return [f"{', '.join(named)}{rest}" if named else "nothing"]


def _shown_values(piece: Segment, mu: Number) -> list[str]:
    """Return x as text; floats that are rounding error relative to the largest entry are shown as 0."""
    x = piece.at(mu).x
    scale = float(max(map(abs, x), default=0))
    return [shown_number(value if piece.arithmetic.sign(value, scale) else 0) for value in x]


def _formula(constant: Number, slope: Number) -> str:
    """Return an affine function of mu as text.

    >>> _formula(1, Fraction(-1, 2)), _formula(0, 1)
    ('1 - 1/2 mu', 'mu')
    """
    if not slope:
        return shown_number(constant)
    size = "" if slope in (1, -1) else f"{shown_number(-slope if slope < 0 else slope)} "
    if not constant:
        return f"{'-' if slope < 0 else ''}{size}mu"
    return f"{shown_number(constant)} {'-' if slope < 0 else '+'} {size}mu"
