"""Remarks: what a look at a study should not miss before any model.

Room: a sheet and the tables of its card in, sentences out.
May touch: `labels`, `sheet`, `coding`, `confounding`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.confounding import confounded
from ranking.conjoint.labels import counted, listing, quoted
from ranking.conjoint.sheet import Sheet

# A level shown less often than this share of what even balance gives it is worth a remark.
RARE = 0.2
# Of one attribute so many levels are named, more of them counted.
MOST_LEVELS = 3
# Straight-lining less probable than this by chance is worth a remark.
UNLIKELY = 0.01
# The range of a linear attribute in its units, which is what its part-worth is shrunk by.
NARROW, WIDE = 0.1, 100.0


def remarks(sheet: Sheet, tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Yield remarks, the gravest first."""
    yield from _about_attributes(sheet, tables["overlap"])
    yield from _about_numbers(sheet, tables["numbers"])
    yield from _about_levels(sheet, tables["levels"])
    yield from _about_choices(sheet, tables)


def _about_attributes(sheet: Sheet, overlap: pd.DataFrame) -> Iterator[str]:
    for name, share in overlap["all"].items():
        if share == 1:
            yield f"{name} is the same for all alternatives of every task: nothing can be learnt on it"
    mixed = confounded(sheet)
    if mixed:
        yield (
            f"the tasks do not tell the worths of {listing(mixed)} apart: others explain any choices as "
            "well, and which are reported is a convention; do not rely on their importances, nor on what is "
            "paid for them"
        )
    if not sheet.has_none and _has_zeros(sheet):
        yield "one alternative of every task has 0 in all attributes: is it the none option? Then say none=0"


def _has_zeros(sheet: Sheet) -> bool:
    """Tell whether every task has one alternative whose attributes are all 0."""
    is_zero = (sheet.profiles.astype(str).isin(["0", "0.0"])).all(axis=1).to_numpy()
    return bool((np.bincount(sheet.choices.task_of_row, is_zero) == 1).all())


def _about_numbers(sheet: Sheet, numbers: pd.DataFrame) -> Iterator[str]:
    for name, row in numbers.iterrows():
        unit = sheet.attributes[str(name)].unit
        reach = row["greatest"] - row["least"]
        width = reach / unit
        if width and not NARROW <= width <= WIDE:
            yield (
                f"{name} ranges over {width:.3g} of its units, and a part-worth of one unit is shrunk like "
                f"that of a level, so that results hang on the unit: one of about {reach:.3g} would suit it"
            )


def _about_levels(sheet: Sheet, levels: pd.DataFrame) -> Iterator[str]:
    for name, attribute in sheet.attributes.items():
        if attribute.is_linear:
            continue
        mine = levels.loc[[name]]
        rare = mine[(mine["share"] * len(attribute.labels) < RARE) | (mine["chosen"] == 0)]
        if len(rare) > MOST_LEVELS:
            found = f"{len(rare)} of {len(mine)} levels"
            yield f"{name}: {found} were hardly shown or never chosen; is it an attribute?"
        else:
            yield from (_about_level(name, label[1], row) for label, row in rare.iterrows())


def _about_level(name: str, level: Any, row: "pd.Series[Any]") -> str:
    times = counted(int(row["shown"]), "time")
    if not row["shown"]:
        return f"{name}: level {quoted(level)} was never shown, so its part-worth says nothing"
    if not row["chosen"]:
        return f"{name}: level {quoted(level)} was shown {times} and never chosen"
    return f"{name}: level {quoted(level)} was shown only {times}; is it meant?"


def _about_choices(sheet: Sheet, tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    straight, double = (tables["straight_liners"]["probability"] < UNLIKELY).sum(), len(tables["duplicates"])
    if straight:
        who = f"{straight} of {counted(len(sheet.respondents), 'respondent')}"
        yield f"{who} chose the same alternative more often than chance explains: do they belong?"
    if double:
        yield f"{counted(double, 'task')} with two equal alternatives: choosing between them says nothing"
    idle = len(sheet.respondents) - len(np.unique(sheet.choices.respondent))
    if idle:
        yield f"{counted(idle, 'respondent')} without tasks"
