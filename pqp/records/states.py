"""States of variables and rows: one enumeration, and its conversions to words and to arrays of codes.

A state says which limit, if any, determines a variable or a row on a piece of a path. Users and files read
words ("lower"), the engines and npz files hold codes (1); both are converted here and nowhere else.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

# One code per item: the variables 0, ..., n − 1, then row i as item n + i.
States: TypeAlias = npt.NDArray[np.int8]
Kind = Literal["variables", "rows"]


class State(IntEnum):
    """Where a variable or a row stands; the value is its code, which files hold: never renumber."""

    BETWEEN = 0
    LOWER = 1
    UPPER = 2
    FIXED = 3
    ZERO = 4
    OFF = 5
    EQUAL = 6
    BELOW = 7
    ABOVE = 8

    @property
    def word(self) -> str:
        """The state as users and JSON files read it."""
        return self.name.lower()


# All words, in the order of the codes.
WORDS = tuple(state.word for state in State)
_CODES = {state.word: int(state) for state in State}
# The states that make sense for a variable, and for a row.
WORDS_OF: dict[Kind, tuple[str, ...]] = {
    "variables": ("between", "lower", "upper", "fixed", "zero"),
    "rows": ("off", "lower", "upper", "equal", "below", "above"),
}
# Rows that hold with equality: their multipliers are unknowns.
ACTIVE_ROWS = (State.LOWER, State.UPPER, State.EQUAL)


def codes_of(words: Iterable[str]) -> States:
    """Return the codes of states given by their words.

    >>> codes_of(["lower", "off"]).tolist()
    [1, 5]
    """
    return np.array([_CODES[word] for word in words], dtype=np.int8)


def words_of(codes: Iterable[int]) -> tuple[str, ...]:
    """Return the words of states given by their codes.

    >>> words_of([1, 5])
    ('lower', 'off')
    """
    return tuple(WORDS[code] for code in codes)


@dataclass(frozen=True)
class Basis:
    """The state of every variable and every row: what determines the solution on a piece.

    Parameters
    ----------
    variables
        One state per variable: "between" its limits, at "lower" or "upper", "fixed", or "zero" (free and
        determined by nothing).
    rows
        One state per row: "off" (between its limits), at "lower" or "upper", "equal", or, if soft and
        violated, "below" or "above".

    >>> Basis(("between", "lower"), ("off",)).codes().tolist()
    [0, 1, 5]
    """

    variables: tuple[str, ...]
    rows: tuple[str, ...]

    def codes(self) -> States:
        """Return the states as codes, variables first."""
        return codes_of((*self.variables, *self.rows))

    @classmethod
    def from_codes(cls, codes: States, n: int) -> "Basis":
        """Return the basis of codes of which the first n belong to variables."""
        words = words_of(codes.tolist())
        return cls(words[:n], words[n:])
