"""Textbook and paper problems with known paths, each with its source and derivation; see `Entry`."""

from catalogue import linear, quadratic, soft, unsolvable
from catalogue.entry import Entry, entries_of
from catalogue.mairal_yu import mairal_yu

CATALOGUE = entries_of(linear, unsolvable, quadratic, soft)

__all__ = ["CATALOGUE", "Entry", "mairal_yu"]
