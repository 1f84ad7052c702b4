"""Attributes: what the alternatives of a study differ in, by level or as a number."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from ranking.conjoint.data.label_text import listing, plain, quoted, text
from ranking.core.validation import positive_number
from ranking.errors import DataError, must_be

Kind = Literal["levels", "linear"]
# Levels are words or numbers.
Level: TypeAlias = str | float
KINDS = ("levels", "linear")
# The name of the none option among the columns, as attribute and as level.
NONE = "none"
# The name of the only column of a linear attribute.
PER_UNIT = "per unit"


@dataclass(frozen=True)
class Attribute:
    """One attribute: by level, a part-worth for every level; or linear, a part-worth for every unit.

    `levels` are in the order of the columns. While they are None, an attribute by level takes them from the
    data: the categories of a pandas categorical, or what occurs, numbers by size and words by letter. A
    linear attribute enters as number / unit: with `unit=1000` a price of 2500 is 2.5, and its part-worth is
    that of 1000.

    >>> Attribute("brand", levels=("Alba", "Brio")).labels
    ('Alba', 'Brio')
    >>> Attribute.linear("price", unit=1000).labels
    ('per unit',)
    """

    name: str
    kind: Kind = "levels"
    levels: tuple[Level, ...] | None = None
    unit: float = 1

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            message = "the name of an attribute must be {expected}, got {found}"
            wanted = "a word, the name of its column"
            raise DataError(message, argument="name", expected=wanted, found=self.name)
        if self.name == NONE:
            message = "an attribute cannot be called {found}, the name of the none option"
            raise DataError(message, argument="name", found=repr(NONE), remedy="rename the column")
        if self.kind not in KINDS:
            message = "attribute {column}: {argument} must be {expected}, got {found}"
            kinds = "'levels' or 'linear'"
            raise DataError(message, argument="kind", column=self.name, expected=kinds, found=repr(self.kind))
        if self.kind == "linear" and self.levels is not None:
            message = "attribute {column} is linear, so it has no {argument}, got {found}"
            raise DataError(message, argument="levels", column=self.name, found=self.levels)
        if self.kind == "levels" and self.unit != 1:
            message = "attribute {column}: {argument} is for linear attributes, got {found}"
            raise DataError(message, argument="unit", column=self.name, found=self.unit)
        positive_number(self.unit, f"unit of attribute {self.name!r}")
        if self.levels is not None:
            object.__setattr__(self, "levels", _distinct(self.levels, self.name))

    @classmethod
    def linear(cls, name: str, unit: float = 1) -> "Attribute":
        """Return an attribute that enters as a number."""
        return cls(name, "linear", None, unit)

    @property
    def is_linear(self) -> bool:
        """Whether the attribute enters as a number."""
        return self.kind == "linear"

    @property
    def labels(self) -> tuple[Level, ...]:
        """The names of the columns of this attribute: its levels, or "per unit"."""
        return (PER_UNIT,) if self.is_linear else (self.levels or ())

    def with_levels(self, levels: Iterable[Level]) -> "Attribute":
        """Return the same attribute with the given levels."""
        return replace(self, levels=tuple(levels))


# "linear", "levels", the levels in order, or the whole record.
Description: TypeAlias = str | Sequence[Level] | Attribute
# Names of columns, by level if nothing is said; or a description for every name.
Attributes: TypeAlias = Sequence[str | Attribute] | Mapping[str, Description]


def read_attributes(given: Attributes) -> dict[str, Attribute]:
    """Return attributes by name, in the order given.

    >>> list(read_attributes(["brand", Attribute.linear("price")]))
    ['brand', 'price']
    >>> read_attributes({"brand": "levels", "size": ["small", "large"], "price": "linear"})["price"].kind
    'linear'
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise must_be("attributes", "a list of columns, or a mapping of columns", found=f"{given!r:.80}")
    if isinstance(given, Mapping):
        found = []
        for name, description in given.items():
            place = {"argument": f"attributes[{name!r}]", "column": name}
            if isinstance(description, Attribute):
                if description.name != name:
                    message, remedy = "{argument} is called {found}", "use the same name twice"
                    raise DataError(message, found=repr(description.name), remedy=remedy, **place)
                found.append(description)
            elif isinstance(description, str) and description in KINDS:
                found.append(Attribute(name, "linear" if description == "linear" else "levels"))
            elif isinstance(description, str) or not isinstance(description, Iterable):
                wanted = "'levels', 'linear' or a list of levels"
                raise DataError(expected=wanted, found=f"{description!r:.80}", **place)
            else:
                found.append(Attribute(name, "levels", tuple(description)))
    else:
        found = [entry if isinstance(entry, Attribute) else Attribute(entry) for entry in given]
    if not found:
        message = "{argument} is empty"
        remedy = "name at least one column, for example {setting}"
        raise DataError(message, argument="attributes", remedy=remedy, setting=("attributes", ["price"]))
    names = [attribute.name for attribute in found]
    for k, name in enumerate(names):
        if name in names[:k]:
            message = "{argument} names {column} twice"
            raise DataError(message, argument="attributes", column=name, remedy="name every column once")
    return {attribute.name: attribute for attribute in found}


def _distinct(levels: Iterable[Level], name: str) -> tuple[Level, ...]:
    """Return levels as Python objects, each there once."""
    found = tuple(plain(level) for level in levels)
    if not found:
        message = "attribute {column} has an empty list of levels"
        raise DataError(message, argument="levels", column=name, remedy="name them, or leave the list out")
    texts = [text(level) for level in found]
    for k, level in enumerate(found):
        if level is None or (isinstance(level, float) and np.isnan(level)) or not texts[k].strip():
            message = f"attribute {{column}}: level {k + 1} of {{found}} is empty"
            remedy = "give it a name"
            raise DataError(message, argument="levels", column=name, found=listing(found), remedy=remedy)
        if texts[k] in texts[:k]:
            message = "attribute {column} has the level {found} twice"
            remedy = "name every level once"
            raise DataError(message, argument="levels", column=name, found=quoted(level), remedy=remedy)
    return found
