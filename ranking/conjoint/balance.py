"""Balance: how often levels and positions were shown and chosen, and how much alternatives overlap.

Room: a sheet in, tables of counts out.
May touch: `attributes`, `labels`, `sheet`, `coding`.
"""

import numpy as np
import pandas as pd

from ranking.arrays import Array
from ranking.conjoint.attributes import NONE
from ranking.conjoint.coding import columns_of, design_of
from ranking.conjoint.labels import in_order
from ranking.conjoint.sheet import Sheet


def level_balance(sheet: Sheet) -> pd.DataFrame:
    """Return for every level, and the none option, how often it was shown and chosen.

    `share` is that among all alternatives shown with the attribute, `chosen_share` that of the times it was
    shown. Linear attributes are in `number_summary`.
    """
    linear = [name for name, attribute in sheet.attributes.items() if attribute.is_linear]
    columns = columns_of(sheet)
    by_level = ~columns.get_level_values("attribute").isin(linear)
    design = design_of(sheet)[:, by_level] != 0
    shown, chosen = design.sum(axis=0), design[sheet.choices.chosen_rows].sum(axis=0)
    products = int((~sheet.is_none).sum())
    kept = columns[by_level]
    whole = np.where(kept.get_level_values("attribute") == NONE, len(design), products)
    return pd.DataFrame(
        {
            "shown": shown,
            "share": _ratio(shown, whole),
            "chosen": chosen,
            "chosen_share": _ratio(chosen, shown),
        },
        index=kept,
    )


def number_summary(sheet: Sheet) -> pd.DataFrame:
    """Return for every linear attribute how many values it has, their range, and their means."""
    names = [name for name, attribute in sheet.attributes.items() if attribute.is_linear]
    values = sheet.profiles[names].astype(float)
    chosen = values.iloc[sheet.choices.chosen_rows]
    table = {
        "values": values.nunique(),
        "least": values.min(),
        "mean": values.mean(),
        "greatest": values.max(),
        "mean_chosen": chosen.mean(),
    }
    return pd.DataFrame(table, index=pd.Index(names, name="attribute"))


def overlap(sheet: Sheet) -> pd.DataFrame:
    """Return for every attribute the share of tasks in which alternatives have the same level.

    `some`: a level, or number, occurs more than once; `all`: all alternatives but the none option have the
    same one, so that the task says nothing about the attribute. Tasks with one alternative beside the none
    option have no overlap.
    """
    task, used = sheet.choices.task_of_row, ~sheet.is_none
    sizes = np.bincount(task[used], minlength=len(sheet.choices))
    shares = {}
    for name in sheet.attributes:
        cells = pd.DataFrame({"task": task[used], "cell": pd.factorize(sheet.profiles[name][used])[0]})
        different = (
            cells.groupby("task")["cell"].nunique().reindex(range(len(sizes)), fill_value=0).to_numpy()
        )
        shares[name] = (np.mean(different < sizes), np.mean((different == 1) & (sizes > 1)))
    return pd.DataFrame.from_dict(shares, orient="index", columns=["some", "all"]).rename_axis("attribute")


def positions(sheet: Sheet) -> pd.DataFrame:
    """Return for every alternative, by name, how often it was shown and chosen, and would be by chance."""
    choices = sheet.choices
    names = in_order(sheet.alternative)
    codes = pd.Index(names).get_indexer(pd.Index(sheet.alternative.tolist()))
    shown, chosen = (np.bincount(x, minlength=len(names)) for x in (codes, codes[choices.chosen_rows]))
    expected = np.bincount(codes, weights=1 / choices.size[choices.task_of_row], minlength=len(names))
    columns = {"shown": shown, "chosen": chosen, "by_chance": expected, "chosen_share": _ratio(chosen, shown)}
    return pd.DataFrame(columns, index=pd.Index(names, name="alternative"))


def duplicates(sheet: Sheet) -> pd.DataFrame:
    """Return the tasks in which two alternatives have the same levels and numbers throughout."""
    task = sheet.choices.task_of_row
    cells = sheet.profiles.astype(object).assign(**{"": task})[~sheet.is_none]
    again = np.unique(task[~sheet.is_none][cells.duplicated().to_numpy()])
    names = sheet.respondents[sheet.choices.respondent[again]]
    return pd.DataFrame({"respondent": names, "task": sheet.choices.task[again]})


def _ratio(part: Array, whole: Array) -> Array:
    """Return quotients, NaN where nothing was shown."""
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=np.asarray(whole) > 0)
