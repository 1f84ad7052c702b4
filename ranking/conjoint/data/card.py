r"""The study card: what one looks at before any model, as tables and as a page of text.

How often levels and positions were shown and chosen, how much alternatives overlap, who nearly always takes
the same position, which attributes are confounded, and remarks on what is unusual.

Let D hold the differences of alternatives of the same task. Part-worths v and v + z have the same utilities
in every task, up to a constant, if D z = 0. This is always so for the z that add one number to all levels of
an attribute (and to the none option). An attribute is confounded with others if some z with D z = 0 is not
like that on its levels: its part-worths are then not identified, whatever is chosen.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd

from ranking.conjoint.data.attributes import NONE
from ranking.conjoint.data.choice_table import ChoiceTable
from ranking.conjoint.data.label_text import in_order, quoted
from ranking.core.validation import Array, counted
from ranking.errors import must_be


def straight_liners(table: ChoiceTable, share: float) -> pd.DataFrame:
    """Return the respondents who chose one alternative in at least this share of their tasks, and more often
    than all others together, by the name of the alternative.

    `probability` is that of a respondent who chooses at random taking any one alternative at least as often.
    """
    choices = table.choices
    taken = pd.DataFrame(
        {"respondent": choices.respondent, "alternative": table.alternative[choices.chosen_rows]}
    )
    counts = taken.value_counts().rename("times").reset_index()
    most = counts.sort_values("times", ascending=False, kind="stable").drop_duplicates("respondent")
    tasks = np.bincount(choices.respondent, minlength=len(table.respondents))[most["respondent"]]
    is_straight = ((most["times"] >= share * tasks) & (2 * most["times"] > tasks)).to_numpy()
    found = most.assign(tasks=tasks)[is_straight].sort_values("respondent", kind="stable")
    probabilities = []
    for code, times in zip(found["respondent"], found["times"], strict=True):
        tasks = np.flatnonzero(choices.respondent == code)
        offers = [list(table.alternative[list(choices.rows(t))]) for t in tasks.tolist()]
        names = sorted({name for offer in offers for name in offer}, key=str)
        chances = (np.array([1 / len(offer) for offer in offers if name in offer]) for name in names)
        # the sum of the tails of all alternatives is exact, for two cannot both have more than half
        probabilities.append(min(1.0, sum(tail(chance, times) for chance in chances)))
    found["probability"] = probabilities
    names = table.respondents[found["respondent"].to_numpy(dtype=np.int64)]
    return found.assign(respondent=names).set_index("respondent")


def tail(probabilities: Array, times: int) -> float:
    r"""Return the probability that at least so many of independent events happen.

    The number of events has the generating function :math:`\prod_i (1 - p_i + p_i z)`.

    >>> tail(np.array([0.5, 0.5]), 1)
    0.75
    """
    coefficients = reduce(np.convolve, [np.array([1 - p, p]) for p in probabilities], np.ones(1))
    return float(coefficients[times:].sum())


def level_balance(table: ChoiceTable) -> pd.DataFrame:
    """Return for every level, and the none option, how often it was shown and chosen.

    `share` is that among all alternatives shown with the attribute, `chosen_share` that of the times it was
    shown. Linear attributes are in `number_summary`.
    """
    linear = [name for name, attribute in table.attributes.items() if attribute.is_linear]
    by_level = ~table.columns.get_level_values("attribute").isin(linear)
    design, kept = table.design[:, by_level] != 0, table.columns[by_level]
    shown, chosen = design.sum(axis=0), design[table.choices.chosen_rows].sum(axis=0)
    whole = np.where(kept.get_level_values("attribute") == NONE, len(design), (~table.is_none).sum())
    shares = {"share": _ratio(shown, whole), "chosen": chosen, "chosen_share": _ratio(chosen, shown)}
    return pd.DataFrame({"shown": shown, **shares}, index=kept)


def number_summary(table: ChoiceTable) -> pd.DataFrame:
    """Return for every linear attribute how many values it has, their range, and their means."""
    names = [name for name, attribute in table.attributes.items() if attribute.is_linear]
    values = table.profiles[names].astype(float)
    chosen = values.iloc[table.choices.chosen_rows]
    columns = {
        "values": values.nunique(),
        "least": values.min(),
        "mean": values.mean(),
        "greatest": values.max(),
        "mean_chosen": chosen.mean(),
    }
    return pd.DataFrame(columns, index=pd.Index(names, name="attribute"))


def overlap(table: ChoiceTable) -> pd.DataFrame:
    """Return for every attribute the share of tasks in which alternatives have the same level.

    `some`: a level, or number, occurs more than once; `all`: all alternatives but the none option have the
    same one, so that the task says nothing about the attribute. Tasks with one alternative other than the
    none option have no overlap.
    """
    task, used = table.choices.task_of_row, ~table.is_none
    sizes = np.bincount(task[used], minlength=len(table.choices))
    shares = {}
    for name in table.attributes:
        cells = pd.DataFrame({"task": task[used], "cell": pd.factorize(table.profiles[name][used])[0]})
        counts = cells.groupby("task")["cell"].nunique()
        different = counts.reindex(range(len(sizes)), fill_value=0).to_numpy()
        shares[name] = (np.mean(different < sizes), np.mean((different == 1) & (sizes > 1)))
    return pd.DataFrame.from_dict(shares, orient="index", columns=["some", "all"]).rename_axis("attribute")


def positions(table: ChoiceTable) -> pd.DataFrame:
    """Return for every alternative, by name, how often it was shown and chosen, and would be by chance."""
    choices = table.choices
    names = in_order(table.alternative)
    codes = pd.Index(names).get_indexer(pd.Index(table.alternative.tolist()))
    shown, chosen = (np.bincount(x, minlength=len(names)) for x in (codes, codes[choices.chosen_rows]))
    expected = np.bincount(codes, weights=1 / choices.size[choices.task_of_row], minlength=len(names))
    columns = {"shown": shown, "chosen": chosen, "by_chance": expected, "chosen_share": _ratio(chosen, shown)}
    return pd.DataFrame(columns, index=pd.Index(names, name="alternative"))


def duplicates(table: ChoiceTable) -> pd.DataFrame:
    """Return the tasks in which two alternatives have the same levels and numbers throughout."""
    task = table.choices.task_of_row
    cells = table.profiles.astype(object).assign(**{"": task})[~table.is_none]
    again = np.unique(task[~table.is_none][cells.duplicated().to_numpy()])
    names = table.respondents[table.choices.respondent[again]]
    return pd.DataFrame({"respondent": names, "task": table.choices.task[again]})


def _ratio(part: Array, whole: Array) -> Array:
    """Return quotients, NaN where nothing was shown."""
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=np.asarray(whole) > 0)


# With columns of length 1, an eigenvalue of DᵀD below this is rounding error: its vector solves D z = 0.
ZERO = 1e-9
# With a largest entry of 1, smaller differences between the entries of z are rounding error.
EQUAL_ENTRIES = 1e-6


def confounded(table: ChoiceTable) -> list[str]:
    """Return the attributes whose levels, as they were shown together, could have other part-worths as well.

    Attributes that never differ within a task, and levels that were never shown, are not looked at.

    >>> from ranking.conjoint import example_study
    >>> confounded(example_study())
    []
    """
    # the differences from the first alternative of every task, and the attribute of each column
    design = np.asarray(table.design, dtype=float)
    first = table.choices.first[table.choices.task_of_row]
    D, owner = design - design[first], table.columns.get_level_values(0).to_numpy()
    differing = {name for name in table.attributes if D[:, owner == name].any()}
    kept = design.any(axis=0) & np.array(
        [name in differing or name not in table.attributes for name in owner]
    )
    D, owner = D[:, kept], owner[kept]
    # a basis of all z with D z = 0, one per column; columns of D have length 1 for it, so that the unit of a
    # linear attribute does not decide what counts as zero
    lengths = np.linalg.norm(D, axis=0)
    scale = np.where(lengths > 0, lengths, 1.0)
    values, vectors = np.linalg.eigh((D / scale).T @ (D / scale))
    free = vectors[:, values <= ZERO * max(1.0, float(values.max(initial=0.0)))] / scale[:, None]
    free /= np.abs(free).max(axis=0, initial=0.0)
    found = []
    for name, attribute in table.attributes.items():
        part = free[owner == name]
        # a z that is one number on all levels of an attribute says nothing, on a linear one only 0 does
        moved = part if attribute.is_linear or not len(part) else part - part.mean(axis=0)
        if (np.abs(moved) > EQUAL_ENTRIES).any():
            found.append(name)
    return found


# A level shown less often than this share of what even balance gives it is worth a remark.
RARE = 0.2
# Of one attribute so many levels are named, more of them counted.
MOST_LEVELS = 3
# Straight-lining less probable than this by chance is worth a remark.
UNLIKELY = 0.01
# The range of a linear attribute in its units, which is what its part-worth is shrunk by.
NARROW, WIDE = 0.1, 100.0


def remarks(table: ChoiceTable, tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Yield remarks, the most serious first: on attributes, numbers, levels and choices."""
    for name, share in tables["overlap"]["all"].items():
        if share == 1:
            yield f"{name} is the same for all alternatives of every task: its part-worths are not identified"
    *others, last = confounded(table) or [""]
    if last:
        names = f"{', '.join(others)} and {last}" if others else f"the levels of {last}"
        yield (
            f"{names} are confounded in this design; their part-worths are not identified: do not "
            "rely on their importances, nor on the willingness to pay for them"
        )
    is_zero = (table.profiles.astype(str).isin(["0", "0.0"])).all(axis=1).to_numpy()
    if not table.has_none and (np.bincount(table.choices.task_of_row, is_zero) == 1).all():
        yield "one alternative of every task has 0 in all attributes: if it is the none option, set none to 0"
    for name, row in tables["numbers"].iterrows():
        unit = table.attributes[str(name)].unit
        reach = row["greatest"] - row["least"]
        width = reach / unit
        if width and not NARROW <= width <= WIDE:
            yield (
                f"{name} ranges over {width:.3g} of its units, and the part-worth of one unit is shrunk like "
                f"that of a level, so results depend on the unit: choose one of about {reach:.3g}"
            )
    for name, attribute in table.attributes.items():
        if attribute.is_linear:
            continue
        mine = tables["levels"].loc[[name]]
        rare = mine[(mine["share"] * len(attribute.labels) < RARE) | (mine["chosen"] == 0)]
        if len(rare) > MOST_LEVELS:
            found = f"{len(rare)} of {len(mine)} levels"
            yield f"{name}: {found} were hardly shown or never chosen; is it an attribute?"
            continue
        for (_, level), row in rare.iterrows():
            times = f"was shown {counted(int(row['shown']), 'time')} and never chosen"
            if row["chosen"]:
                times = f"was shown only {counted(int(row['shown']), 'time')}; is it meant?"
            elif not row["shown"]:
                times = "was never shown, so its part-worth says nothing"
            yield f"{name}: level {quoted(level)} {times}"
    straight, double = (tables["straight_liners"]["probability"] < UNLIKELY).sum(), len(tables["duplicates"])
    if straight:
        who = f"{straight} of {counted(len(table.respondents), 'respondent')}"
        yield f"{who} chose the same alternative more often than chance explains: do they belong?"
    if double:
        yield f"{counted(double, 'task')} with two equal alternatives: choosing between them says nothing"
    idle = len(table.respondents) - len(np.unique(table.choices.respondent))
    if idle:
        yield f"{counted(idle, 'respondent')} without tasks"


# The share of tasks that counts as nearly all.
NEARLY_ALL = 0.9
# Respondents and tasks that are printed; the tables hold all of them.
MOST_ROWS = 10
# Numbers from here on are printed without decimals.
LARGE = 1000
TITLES = {
    "levels": "Levels: how often shown, how often chosen when shown",
    "numbers": "Numbers",
    "overlap": "Overlap: share of tasks where alternatives have the same level",
    "positions": "Positions: how often each alternative was chosen",
    "straight_liners": "Straight-liners: the same alternative nearly always",
    "duplicates": "Tasks with two equal alternatives",
}


@dataclass(frozen=True, eq=False)
class StudyCard:
    """Tables about a study; `print(card)` shows them.

    `counts`: sizes. `levels`: how often each level was shown and chosen. `numbers`: ranges of linear
    attributes. `overlap`: shares of tasks where alternatives share a level. `positions`: how often each
    alternative was chosen. `straight_liners`: respondents who nearly always chose the same one, with the
    probability of that by chance. `duplicates`: tasks with two equal alternatives. `remarks`: what a look
    at the tables should not miss.
    """

    counts: "pd.Series[int]"
    levels: pd.DataFrame
    numbers: pd.DataFrame
    overlap: pd.DataFrame
    positions: pd.DataFrame
    straight_liners: pd.DataFrame
    duplicates: pd.DataFrame
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        parts = ["STUDY CARD", self.counts.to_string()]
        for name, title in TITLES.items():
            table = getattr(self, name)
            is_list = "task" in table or "probability" in table
            shown = table.head(MOST_ROWS) if is_list else table
            body = shown.to_string(float_format=_shown, index="task" not in table)
            more = [f"... and {len(table) - len(shown)} more"] if len(shown) < len(table) else []
            if len(table):
                parts.append("\n".join([title, body, *more]))
        if self.remarks:
            parts.append("\n".join(["Remarks", *(f"- {remark}" for remark in self.remarks)]))
        return "\n\n".join(parts)


def _shown(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= LARGE else f"{number:.3g}"


def study_card(table: ChoiceTable, straight: float = NEARLY_ALL) -> StudyCard:
    """Return the card of a study; `straight` is the share of tasks that makes a straight-liner."""
    if not 0.5 <= straight <= 1:
        raise must_be("straight", "a share of tasks between 0.5 and 1", found=straight)
    choices = table.choices
    tasks = np.bincount(choices.respondent, minlength=len(table.respondents))
    levels = [len(a.labels) for a in table.attributes.values() if not a.is_linear]
    counts = {
        "respondents": len(table.respondents),
        "tasks": len(choices),
        "holdout tasks": int(table.is_holdout.sum()),
        "alternatives": len(table.alternative),
        "tasks per respondent, least": int(tasks.min()),
        "tasks per respondent, most": int(tasks.max()),
        "alternatives per task, least": int(choices.size.min()),
        "alternatives per task, most": int(choices.size.max()),
        "attributes": len(table.attributes),
        "levels": sum(levels),
        "linear attributes": len(table.attributes) - len(levels),
        "none options": int(table.is_none.sum()),
        "choices of none": int(table.is_none[choices.chosen_rows].sum()),
    }
    tables = {
        "levels": level_balance(table),
        "numbers": number_summary(table),
        "overlap": overlap(table),
        "positions": positions(table),
        "straight_liners": straight_liners(table, straight),
        "duplicates": duplicates(table),
    }
    return StudyCard(pd.Series(counts, name="count"), **tables, remarks=tuple(remarks(table, tables)))
