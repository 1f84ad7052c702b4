"""Labels as people write them, compared, put in order and into messages.

A label is the name of a respondent, a task, an alternative or a level.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ranking.errors import DataError

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
    """Return a label for a message: words in quotes, numbers without.

    >>> quoted("red "), quoted(12.0)
    ("'red '", '12')
    """
    value = plain(value)
    return repr(value) if isinstance(value, str) else str(value)


def listing(values: Sequence[Any], most: int = 10) -> str:
    """Return the first labels for a message.

    >>> listing(["a", "b", 3], most=2)
    "'a', 'b', ..."
    """
    return ", ".join([quoted(value) for value in values[:most]] + ["..."] * (len(values) > most))


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


def guess(wrong: Any, known: Iterable[Any]) -> str | None:
    """Return the label most similar to a wrong one, quoted, or None if none is similar.

    Numbers that look alike are not taken for one another: 19.99 is not a typing error for 9.99.

    >>> guess("red ", ["blue", "red"]), guess("Blau", ["blue", "red"]), guess("green", ["blue", "red"])
    ("'red'", "'blue'", None)
    """
    by_text = {text(label).strip().casefold(): label for label in known}
    word = text(wrong).strip().casefold()
    cutoff = 1.0 if NUMBER.fullmatch(word) else ALIKE
    close = difflib.get_close_matches(word, by_text, n=1, cutoff=cutoff)
    return quoted(by_text[close[0]]) if close else None


def advice(wrong: Any, known: Iterable[Any], plural: str) -> dict[str, str]:
    """Return what an error about an unknown label expects and its remedy: the most similar label, or a list.

    >>> advice("gren", ["blue", "green"], "levels")
    {'expected': "'green'", 'remedy': 'did you mean {expected}?'}
    >>> advice("xyz", ["blue", "green"], "levels")
    {'expected': "'blue', 'green'", 'remedy': 'the levels are {expected}'}
    """
    close = guess(wrong, known)
    if close is not None:
        return {"expected": close, "remedy": "did you mean {expected}?"}
    return {"expected": listing(list(known)), "remedy": f"the {plural} are {{expected}}"}


def unknown(message: str, wrong: Any, known: Iterable[Any], plural: str, **parts: Any) -> DataError:
    """Return the error about a label that is not among those known, with the most similar one or a list.

    >>> print(unknown("{argument} names {found}", "pric", ["price", "size"], "attributes", argument="orders"))
    orders names 'pric'; did you mean 'price'?
    """
    return DataError(message, found=quoted(wrong), **advice(wrong, known, plural), **parts)
