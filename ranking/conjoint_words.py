"""Words of options: lists with commas, settings like price=falls, numbers, and names that must be known.

Room: words in, values out; a message names the option.
May touch: `errors`, `arguments`.
"""

import re
from collections.abc import Sequence
from typing import Any

from ranking.arguments import values_shown
from ranking.errors import DataError


def read_setting(words: str, option: str, example: str) -> tuple[str, str]:
    """Return name and text of a setting.

    >>> read_setting("price=falls", "--order", "price=falls")
    ('price', 'falls')
    """
    name, sign, text = words.partition("=")
    if not (name and sign and text):
        raise DataError(f"{option} must be like {example}, got {words!r}")
    return name.strip(), text.strip()


def split_words(text: str | None) -> list[str]:
    """Return the words of a list with commas."""
    return [] if text is None else [word.strip() for word in text.split(",") if word.strip()]


def read_number(word: str, option: str) -> float:
    """Return the number that a word writes."""
    try:
        return float(word)
    except ValueError:
        raise DataError(f"{option} must be a number, got {word!r}") from None


def read_value(word: str) -> Any:
    """Return a word, or the number that it writes.

    >>> read_value("12"), read_value("2.5"), read_value("Alba"), read_value("007")
    (12, 2.5, 'Alba', '007')
    """
    for kind in (int, float):
        try:
            if str(kind(word)) == word:
                return kind(word)
        except ValueError:
            pass
    return word


def read_count(text: str) -> int | None:
    """Return a number of tasks, None if it is the name of a column."""
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def require_known(names: Sequence[str], known: Sequence[str], option: str, kind: str) -> None:
    """Raise unless names that an option gives are known."""
    for name in names:
        if name not in known:
            found = values_shown([str(other) for other in known], most=10)
            raise DataError(f"{option} names {name!r}, which is no {kind}; there are {found}")


def require_same(kind: str, wanted: list[str], found: list[str]) -> None:
    """Raise unless names are those of the study, each once."""
    for name in wanted:
        if name not in found:
            raise DataError(f"there is no {kind} {name!r}, which the study has: was it made from this study?")
    for name in found:
        if name not in wanted or found.count(name) > 1:
            raise DataError(f"the {kind} {name!r} is not in the study, or there twice")
