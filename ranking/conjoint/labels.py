"""Labels: names of respondents, tasks and levels as people write them, put in order and into sentences.

Room: single values and columns in, keys, texts and guesses out. Knows no study.
May touch: nothing.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

DIGITS = re.compile(r"(\d+)")
NUMBER = re.compile(r"[-+]?[\d.,]+")
# How alike two words must be (difflib's ratio) to be taken for one another in a guess.
ALIKE = 0.6


def plain(value: Any) -> Any:
    """Return a value as a Python object, whole numbers as int: 30.0 of a column with empty cells is 30.

    >>> plain(np.float64(30.0)), plain(2.5), plain("30")
    (30, 2.5, '30')
    """
    value = value.item() if isinstance(value, np.generic) else value
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def text(value: Any) -> str:
    """Return what is compared when a cell is looked up among labels.

    >>> text(30.0) == text("30")
    True
    """
    return str(plain(value))


def quoted(value: Any) -> str:
    """Return a label for a message: words in double quotes, numbers bare.

    >>> quoted("red "), quoted(12.0)
    ('"red "', '12')
    """
    value = plain(value)
    return f'"{value}"' if isinstance(value, str) else str(value)


def listing(values: Sequence[Any], most: int = 10) -> str:
    """Return the first labels for a message.

    >>> listing(["a", "b", 3], most=2)
    '"a", "b", ...'
    """
    return ", ".join([quoted(value) for value in values[:most]] + ["..."] * (len(values) > most))


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "task"), counted(3, "task")
    ('1 task', '3 tasks')
    """
    return f"{count} {noun}" + "s" * (count != 1)


def natural_key(value: Any) -> tuple[Any, ...]:
    """Return what labels are sorted by: numbers first, by size, then words, the numbers in them by size.

    >>> sorted(["T10", "T2", "t1", 3, 2.5], key=natural_key)
    [2.5, 3, 't1', 'T2', 'T10']
    """
    value = plain(value)
    if isinstance(value, Real):
        return (0, float(value), text(value))
    parts = DIGITS.split(str(value))
    words = tuple((0, int(part), "") if k % 2 else (1, 0, part.casefold()) for k, part in enumerate(parts))
    return (1, words, str(value))


def in_order(values: Iterable[Any]) -> list[Any]:
    """Return the different labels among values in their natural order.

    >>> in_order(["b", "a10", "a9", "b"])
    ['a9', 'a10', 'b']
    """
    return sorted({plain(value): None for value in values}, key=natural_key)


def is_empty(column: Any) -> NDArray[np.bool_]:
    """Return which cells hold nothing: None, NaN, or blanks only.

    >>> is_empty(["a", " ", None]).tolist()
    [False, True, True]
    """
    cells = pd.Series(column, dtype=object)
    blank = [isinstance(cell, str) and not cell.strip() for cell in cells]
    return np.asarray(cells.isna().to_numpy(dtype=bool) | np.array(blank, dtype=bool))


def guess(wrong: Any, known: Iterable[Any]) -> str:
    """Return '; did you mean ...?' with the most similar label, or nothing if none is similar.

    Numbers that are written alike are not meant alike: 19.99 is no slip of 9.99.

    >>> guess("red ", ["blue", "red"]), guess("Blau", ["blue", "red"]), guess("green", ["blue", "red"])
    ('; did you mean "red"?', '; did you mean "blue"?', '')
    """
    by_text = {text(label).strip().casefold(): label for label in known}
    word = text(wrong).strip().casefold()
    cutoff = 1.0 if NUMBER.fullmatch(word) else ALIKE
    close = difflib.get_close_matches(word, by_text, n=1, cutoff=cutoff)
    return f"; did you mean {quoted(by_text[close[0]])}?" if close else ""
