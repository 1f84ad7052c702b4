"""Labels: names of respondents, tasks and levels as people write them, put in order and into sentences.

Problems: everything that is wrong with the data of a study, collected, then said at once.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ranking.errors import StudyError

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


# How many problems a message tells; all of them are in the list that the exception carries.
MOST_TOLD = 20
# More rows than this with the same problem are told together.
FEW = 3


@dataclass
class Problems:
    """A list of sentences that grows while data are checked, by the kind of problem they tell.

    >>> found = Problems()
    >>> found.add("choice", "respondent 7, task 12: no alternative is chosen")
    >>> len(found), found.sentences
    (1, ['respondent 7, task 12: no alternative is chosen'])
    """

    by_kind: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, sentence: str) -> None:
        """Note a problem."""
        self.by_kind.setdefault(kind, []).append(sentence)

    def add_rows(self, kind: str, rows: Sequence[int], single: Callable[[int], str], together: str) -> None:
        """Note rows with the same problem: each in a sentence if they are few, else all in one."""
        for sentence in map(single, rows) if len(rows) <= FEW else [together]:
            self.add(kind, sentence)

    def __len__(self) -> int:
        return sum(map(len, self.by_kind.values()))

    @property
    def sentences(self) -> list[str]:
        """All problems, those of a kind together."""
        return [sentence for kind in self.by_kind.values() for sentence in kind]

    def raise_any(self) -> None:
        """Raise one error that tells every problem, if there are any."""
        if not len(self):
            return
        told = self._told()
        lines = [f"- {sentence}" for sentence in told]
        if len(self) > len(told):
            lines.append(f"- and {len(self) - len(told)} more (all of them: .problems of this error)")
        heading = f"the data have {counted(len(self), 'problem')}:"
        raise StudyError("\n".join([heading, *lines]), tuple(self.sentences))

    def _told(self) -> list[str]:
        """Return the sentences a message has room for: of every kind the first, then the second, ..."""
        ranked = [
            (rank, kind, sentence)
            for kind, sentences in enumerate(self.by_kind.values())
            for rank, sentence in enumerate(sentences)
        ]
        chosen = sorted(ranked, key=lambda entry: entry[:2])[:MOST_TOLD]
        return [sentence for _, _, sentence in sorted(chosen, key=lambda entry: (entry[1], entry[0]))]
