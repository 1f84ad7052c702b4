"""What the command line opens: items and preferences in files, and places where results may go.

Room: names of files and options in, records out; a message names the argument.
May touch: `errors`, `files`, `graph`, `data`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, get_args

import networkx as nx
import pandas as pd

from ranking.arguments import Integers, values_shown
from ranking.arrays import Array
from ranking.errors import DataError
from ranking.files import (
    PAIR,
    Items,
    is_table,
    read_items,
    read_objects,
    read_pairs,
    read_scores,
    read_table,
    same_features,
)
from ranking.graph import (
    Reduction,
    essential_pairs,
    find_cycle,
    preference_graph,
    preference_pairs,
)

PICTURES, PAGES = (".png", ".pdf", ".svg"), (".html", ".htm")


@dataclass(frozen=True)
class Columns:
    """Which columns of a CSV file are what, and how many features a LETOR file has, None if it says so."""

    label: str
    query: str
    ignore: tuple[str, ...]
    features: int | None


class Preferences(Protocol):
    """Preferences of a file, to be counted and drawn."""

    def counts(self) -> dict[str, str]:
        """Return how many pairs each reduction leaves."""

    def cycle(self) -> str | None:
        """Return items that contradict one another."""

    def graph(self, reduction: Reduction) -> Any:
        """Return the graph of a reduction."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Preferences that labels imply; they never contradict one another."""

    items: Items

    def counts(self) -> dict[str, str]:
        """Return how many pairs each reduction leaves."""
        kinds: tuple[Reduction, ...] = get_args(Reduction)
        return {kind: str(len(preference_pairs(self.items.y, self.items.qid, kind))) for kind in kinds}

    def cycle(self) -> str | None:
        """Return None: labels are numbers, which have an order."""
        return None

    def graph(self, reduction: Reduction) -> Any:
        """Return the graph of a reduction."""
        return preference_graph(self.items.y, self.items.qid, reduction)


@dataclass(frozen=True, eq=False)
class Listed:
    """Preferences given pair by pair, between items with names."""

    pairs: Integers
    names: list[Any]

    def counts(self) -> dict[str, str]:
        """Return how many pairs there are, and how many do not follow from others."""
        reduced = "not defined, there is a cycle"
        if self.cycle() is None:
            reduced = str(int(essential_pairs(self.pairs, len(self.names)).sum()))
        return {"full": str(len(self.pairs)), "transitive": reduced}

    def cycle(self) -> str | None:
        """Return items that contradict one another, by name."""
        found = find_cycle(self.pairs, len(self.names))
        return None if found is None else " > ".join(str(self.names[i]) for i in [*found, found[0]])

    def graph(self, reduction: Reduction) -> Any:
        """Return the graph of all pairs, or of those that do not follow from others."""
        if reduction not in ("full", "transitive"):
            raise DataError(f"--reduction {reduction} needs labels; pairs take full or transitive")
        keep = slice(None) if reduction == "full" else essential_pairs(self.pairs, len(self.names))
        return nx.DiGraph([(self.names[i], self.names[j]) for i, j in self.pairs[keep]])


def open_items(file: Path, argument: str, columns: Columns, like: Items | None = None) -> Items:
    """Return the items of a file, with the features of others if there are any."""
    count = columns.features if like is None else like.X.shape[1]
    with _named(argument, file):
        items = read_items(file, columns.label, columns.query, columns.ignore, count)
        return items if like is None else same_features(items, like)


def open_objects(file: Path, argument: str, columns: Columns, like: Items | None = None) -> Items:
    """Return the rows of a file with labels of any kind, with the features of others if there are any."""
    count = columns.features if like is None else like.X.shape[1]
    with _named(argument, file):
        items = read_objects(file, columns.label, columns.ignore, count)
        return items if like is None else same_features(items, like)


def level_order(text: str | None, items: Items, target: str) -> list[Any] | None:
    """Return the levels named in an option, lowest first, as words or numbers like the labels of items.

    None if none are named: numbers have an order of their own, words do not.
    """
    is_number = items.y.dtype.kind in "iuf"
    if text is None:
        if not is_number:
            found = values_shown(sorted(set(items.y.tolist()), key=str), most=10)
            raise DataError(
                f"{items.source}: column {target!r} holds labels without an order of their own, {found}; "
                "name them in order, lowest first: --levels LOW,MIDDLE,HIGH"
            )
        return None
    words = [word.strip() for word in text.split(",")]
    if not is_number:
        return words
    try:
        return list(pd.to_numeric(pd.Series(words)))
    except ValueError:
        found = f"the labels of {items.source} are numbers"
        raise DataError(f"--levels must be numbers, as {found}, got {text!r}") from None


def open_preferences(file: Path, argument: str, columns: Columns) -> Preferences:
    """Return the preferences of a file of items or of pairs."""
    with _named(argument, file):
        if is_table(file):
            table = read_table(file)
            if set(PAIR) <= set(table.columns):
                return Listed(*read_pairs(table, str(file)))
    return Labelled(open_items(file, argument, columns))


def open_scores(file: Path, argument: str, items: Items) -> Array:
    """Return the scores in a file, one for each of some items."""
    with _named(argument, file):
        scores = read_scores(file)
        if len(scores) != len(items):
            raise DataError(f"{file} has {len(scores)} scores, but {items.source} has {len(items)} items")
        return scores


def require_output(file: Path | None, suffixes: Sequence[str], option: str, inputs: Sequence[Path]) -> None:
    """Raise before any work if a result could not be written, or would replace an input."""
    if file is None:
        return
    if file.suffix not in suffixes:
        raise DataError(f"{option} must end in {' or '.join(suffixes)}, got {str(file)!r}")
    if not file.parent.is_dir():
        raise DataError(f"{option} {file}: there is no folder {str(file.parent)!r}")
    if file.is_dir():
        raise DataError(f"{option} {file}: it is a folder")
    if file.resolve() in [given.resolve() for given in inputs]:
        raise DataError(f"{option} {file} would overwrite the data; choose another name")


def require_whole_path(validate: Path | None, max_pieces: int | None, time_limit: float | None) -> None:
    """Raise if paths of folds would be cut, each somewhere else."""
    if validate is None and (max_pieces or time_limit):
        raise DataError(
            "--max-pieces and --time-limit need --validate: folds cut at different C do not compare"
        )


def number_or_word(text: str, words: Sequence[str], option: str) -> Any:
    """Return an option that is a number or one of some words.

    >>> number_or_word("0.5", ("scale",), "--gamma"), number_or_word("scale", ("scale",), "--gamma")
    (0.5, 'scale')
    """
    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{option} must be a number, {' or '.join(words)}, got {text!r}") from None


@contextmanager
def _named(argument: str, file: Path) -> Iterator[None]:
    """Put the argument that names a file in front of what is wrong with it."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{argument} {error}") from None
    except OSError as error:
        raise DataError(f"{argument} {file}: {error.strerror or error}") from None
