"""Conjoint analysis: studies of choices between alternatives, and part-worths from them at every C."""

from ranking.conjoint.attributes import Attribute
from ranking.conjoint.card import StudyCard
from ranking.conjoint.conflicts import Conflict, find_conflict, find_conflicts
from ranking.conjoint.example import example_part_worths, example_study
from ranking.conjoint.model import ConjointSVM
from ranking.conjoint.path import ConjointPath
from ranking.conjoint.search import ConjointPathCV
from ranking.conjoint.study import ConjointStudy

__all__ = [
    "Attribute",
    "Conflict",
    "ConjointPath",
    "ConjointPathCV",
    "ConjointSVM",
    "ConjointStudy",
    "StudyCard",
    "example_part_worths",
    "example_study",
    "find_conflict",
    "find_conflicts",
]
