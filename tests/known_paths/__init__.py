"""Textbook and paper problems with known paths, each with its source and derivation; see `Entry`."""

from tests.known_paths import linear, quadratic, soft, unsolvable
from tests.known_paths.entry import Entry, entries_of
from tests.known_paths.mairal_yu import mairal_yu

CATALOGUE = entries_of(linear, unsolvable, quadratic, soft)

__all__ = ["CATALOGUE", "Entry", "mairal_yu"]
