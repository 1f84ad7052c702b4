"""Conjoint analysis: studies of choices between alternatives, read from tables, checked and coded."""

from ranking.conjoint.attributes import Attribute
from ranking.conjoint.card import StudyCard
from ranking.conjoint.example import example_part_worths, example_study
from ranking.conjoint.study import ConjointStudy

__all__ = ["Attribute", "ConjointStudy", "StudyCard", "example_part_worths", "example_study"]
