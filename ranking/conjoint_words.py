"""Words of options: lists with commas, settings like price=falls, numbers, and names that must be known.

Room: words in, values out; a message names the option, and speaks of options where Python has arguments.
May touch: `errors`, `arguments`.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ranking.arguments import values_shown
from ranking.errors import DataError, StudyError

# What separates columns beside commas.
SEPARATORS = (";", "\t", "|")
# What messages of `ranking.conjoint` tell to do in Python, and what that is at the shell.
AT_THE_SHELL = {
    "pass none=True": "say --none empty",
    "leave none= out": "leave --none out",
    "it comes with none=True": "it is there if the study has one",
    "pass none_choice=": "say --none-choice ",
    "give none= or none_choice=, not both": "say --none or --none-choice, not both",
    "with none_choice= a column": "with --none-choice a column",
    "leave out weight=": "leave out --weight",
    "in a column, alternative=...,": "in a column, --alternative,",
    "say 'linear' in attributes=": "say --linear",
    "pass its encoding, often encoding='latin-1'": "say its encoding, often --encoding latin-1",
    "read the file with decimal=','": "say --decimal ,",
    "read_scenario(..., extrapolate=True) goes beyond": "nothing is known beyond",
    "leave them out with .only(respondents=...)": "leave their rows out of the file",
    "say which: last=3, tasks=[...] or column='...'": "say how many, or mark some in a column",
    "last must be": "it must be",
    "k must be a number of folds": "--folds must be a number",
    ": (data[chosen] == data[alternative]).astype(int)": "",
    " (all of them: .problems of this error)": "",
}


def at_the_shell(message: str) -> str:
    """Return a message of the library in the words of the command line.

    >>> at_the_shell("all attributes are empty; if this is the none option, pass none=True")
    'all attributes are empty; if this is the none option, say --none empty'
    """
    for python, shell in AT_THE_SHELL.items():
        message = message.replace(python, shell)
    return message


@contextmanager
def about(option: str, file: Path) -> Iterator[None]:
    """Put the argument that names a file in front of what is wrong with it."""
    prefix = f"{option} {file}"
    try:
        yield
    except StudyError as error:
        problems = tuple(map(at_the_shell, error.problems))
        raise StudyError(f"{prefix}: {at_the_shell(str(error))}", problems) from None
    except DataError as error:
        told = at_the_shell(str(error).removeprefix(str(file)).lstrip(": "))
        raise DataError(f"{prefix}: {told}") from None
    except OSError as error:
        raise DataError(f"{prefix}: {error.strerror or error}") from None


def read_dialect(sep: str, decimal: str, encoding: str) -> dict[str, str]:
    """Return how text files are written, as `pandas.read_csv` wants to know it.

    >>> read_dialect(";", ",", "latin-1")
    {'sep': ';', 'decimal': ',', 'encoding': 'latin-1'}
    """
    # a shell hands over a tab most easily as the two letters that stand for it
    sep = "\t" if sep == "\\t" else sep
    if len(sep) != 1 or sep.isalnum() or sep in '\r\n"':
        raise DataError(f"--sep must be one sign, such as , or ; or \\t, got {sep!r}")
    if decimal not in (".", ","):
        raise DataError(f"--decimal must be . or , got {decimal!r}")
    if decimal == sep:
        raise DataError(f"--decimal {decimal} separates columns too; say by --sep what does, often --sep ';'")
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise DataError(
            f"--encoding names {encoding!r}, which is not known; say utf-8, latin-1, cp1252 or another one"
        ) from None
    return {"sep": sep, "decimal": decimal, "encoding": encoding}


def read_settings(given: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Return the texts of settings by name, each there once.

    >>> read_settings(["price=falls", "size=rises"], "--order", "price=falls")
    {'price': 'falls', 'size': 'rises'}
    """
    settings: dict[str, str] = {}
    for name, text in (read_setting(words, option, example) for words in given):
        if name in settings:
            raise DataError(f"{option} {name} is there twice, {settings[name]} and {text}; leave one out")
        settings[name] = text
    return settings


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


def read_parts(text: str, option: str) -> tuple[float, ...]:
    """Return the numbers between 0 and 1 of a list with commas."""
    found = tuple(read_number(word, option) for word in split_words(text))
    if not found or not all(0 < value < 1 for value in found):
        raise DataError(f"{option} must be numbers between 0 and 1, with commas, got {text!r}")
    return found


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


def require_columns(known: list[str], roles: dict[str, str], hint: str = "") -> None:
    """Raise unless the columns that options name are there; the hint ends the message."""
    for option, column in roles.items():
        if column not in known:
            hint = separator_hint(known) or hint
            found = values_shown(known, most=10)
            raise DataError(f"there is no column {column!r} ({option}); the columns are {found}{hint}")


def separator_hint(known: list[str]) -> str:
    """Return what to say if the only column there is looks like several."""
    marks = [mark for mark in SEPARATORS if len(known) == 1 and mark in known[0]]
    return "".join(f"; is it separated by {mark!r}? say --sep {mark!r}" for mark in marks[:1])
