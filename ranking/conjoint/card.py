"""The study card: what one looks at before any model, as tables and as a page of text.

Room: a sheet in, one record of tables out that can be printed.
May touch: `errors`, `labels`, `sheet`, `balance`, `straightlining`, `remarks`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranking.conjoint.balance import duplicates, level_balance, number_summary, overlap, positions
from ranking.conjoint.remarks import remarks
from ranking.conjoint.sheet import Sheet
from ranking.conjoint.straightlining import straight_liners
from ranking.errors import DataError

# The share of tasks that counts as nearly all.
NEARLY_ALL = 0.9
# Respondents and tasks that are printed; the tables hold all of them.
MOST_ROWS = 10
# Numbers from here on are printed without decimals.
LARGE = 1000


@dataclass(frozen=True, eq=False)
class StudyCard:
    """Tables about a study; `print(card)` shows them.

    `counts`: sizes. `levels`: how often each level was shown and chosen. `numbers`: ranges of linear
    attributes. `overlap`: shares of tasks where alternatives share a level. `positions`: how often each
    alternative was chosen. `straight_liners`: respondents who nearly always chose the same one, with the
    probability of that by chance. `duplicates`: tasks with two equal alternatives. `remarks`: what a look
    at the tables should not miss.
    """

    counts: "pd.Series[Any]"
    levels: pd.DataFrame
    numbers: pd.DataFrame
    overlap: pd.DataFrame
    positions: pd.DataFrame
    straight_liners: pd.DataFrame
    duplicates: pd.DataFrame
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        parts = [
            "STUDY CARD",
            self.counts.to_string(),
            _titled("Levels: how often shown, how often chosen when shown", self.levels),
            _titled("Numbers", self.numbers),
            _titled("Overlap: share of tasks where alternatives have the same level", self.overlap),
            _titled("Positions: how often each alternative was chosen", self.positions),
            _titled("Straight-liners: the same alternative nearly always", self.straight_liners),
            _titled("Tasks with two equal alternatives", self.duplicates),
            "\n".join(["Remarks", *(f"- {remark}" for remark in self.remarks)]) if self.remarks else "",
        ]
        return "\n\n".join(part for part in parts if part)


def study_card(sheet: Sheet, straight: float = NEARLY_ALL) -> StudyCard:
    """Return the card of a study; `straight` is the share of tasks that makes a straight-liner."""
    if not 0.5 <= straight <= 1:
        raise DataError(f"straight must be a share of tasks between 0.5 and 1, got {straight!r}")
    tables = {
        "levels": level_balance(sheet),
        "numbers": number_summary(sheet),
        "overlap": overlap(sheet),
        "positions": positions(sheet),
        "straight_liners": straight_liners(sheet, straight),
        "duplicates": duplicates(sheet),
    }
    return StudyCard(counts=_counts(sheet), **tables, remarks=tuple(remarks(sheet, tables)))


def _counts(sheet: Sheet) -> "pd.Series[Any]":
    choices = sheet.choices
    tasks = np.bincount(choices.respondent, minlength=len(sheet.respondents))
    levels = [len(a.labels) for a in sheet.attributes.values() if not a.is_linear]
    counts = {
        "respondents": len(sheet.respondents),
        "tasks": len(choices),
        "holdout tasks": int(sheet.is_holdout.sum()),
        "alternatives": len(sheet.alternative),
        "tasks a respondent, least": int(tasks.min()),
        "tasks a respondent, most": int(tasks.max()),
        "alternatives a task, least": int(choices.size.min()),
        "alternatives a task, most": int(choices.size.max()),
        "attributes": len(sheet.attributes),
        "levels": sum(levels),
        "linear attributes": len(sheet.attributes) - len(levels),
        "none options": int(sheet.is_none.sum()),
        "choices of none": int(sheet.is_none[choices.chosen_rows].sum()),
    }
    return pd.Series(counts, name="count")


def _shown(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= LARGE else f"{number:.3g}"


def _titled(title: str, table: pd.DataFrame) -> str:
    """Return a table under its title, cut if it is long, or nothing if it is empty."""
    if not len(table):
        return ""
    is_list = "task" in table or "probability" in table
    shown = table.head(MOST_ROWS) if is_list else table
    more = [f"... and {len(table) - len(shown)} more"] if len(shown) < len(table) else []
    body = shown.to_string(float_format=_shown, index="task" not in table)
    return "\n".join([title, body, *more])
