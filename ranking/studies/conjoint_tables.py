"""Tables of a survey: all that its report shows, as plain tables, sheets of a workbook and CSV files."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args
from zipfile import BadZipFile

import pandas as pd
from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from ranking.conjoint import (
    ConjointStudy,
    importance_summary,
    importances,
    order_reversals,
    part_worth_summary,
    price_curve,
    sensitivity,
    share_error,
    willingness_to_pay,
    zero_centred_diffs,
)
from ranking.conjoint.results.market import Rule
from ranking.studies.conjoint import Market, Survey

# The columns of respondents and weights in tables of theirs.
RESPONDENT, WEIGHT = "respondent", "weight"
# All tables there can be, in their order, and what they hold; some need holdouts, a price or products.
TITLES = {
    "settings": "What was chosen, and how",
    "counts": "Counts",
    "levels": "Levels: how often shown, how often chosen when shown",
    "numbers": "Linear attributes: what was shown",
    "overlap": "Overlap: share of tasks in which alternatives have the same level",
    "positions": "Positions: how often each alternative was chosen",
    "straight_liners": "Respondents who nearly always chose the same alternative",
    "duplicates": "Tasks with two equal alternatives",
    "compared": "What was compared, the best first",
    "folds_over_C": "What C was chosen by, over C",
    "part_worths": "Part-worths, zero-centred diffs, means over respondents",
    "raw_part_worths": "Part-worths as they were estimated, means over respondents",
    "importances": "Importances in per cent, means over respondents",
    "order_reversals": "Neighbouring levels that stand the wrong way round",
    "willingness_to_pay": "Willingness to pay, in units of the price",
    "holdout": "Agreement with the tasks held out",
    "holdout_shares": "Shares in tasks held out that several saw alike",
    "contradictions": "Choices that contradict each other, a minimal set for every such respondent",
    "shares": "Shares of products by every rule",
    "sensitivity": "Share of the product with every other level, one at a time",
    "price_curve": "Share and revenue of the product at every price",
    "importances_over_C": "Importances in per cent, over C",
    "importance_orders": "The order of importances, over C",
    "first_choices_over_C": "Shares of first choice, over C",
    "winners_over_C": "The product with the largest share of first choice, over C",
    "individual_part_worths": "Part-worths of every respondent",
    "individual_diffs": "Zero-centred diffs of every respondent",
    "individual_importances": "Importances of every respondent in per cent",
}


def survey_tables(survey: Survey) -> dict[str, pd.DataFrame]:
    """Return all tables of a survey, those it has, by the names of `TITLES`."""
    train, boot, worths = survey.parts.train, survey.bootstrap, survey.part_worths
    card, curve, chosen = survey.parts.study.card(), survey.curve, settings(survey)
    found = {
        "settings": pd.DataFrame({"what": list(chosen), "value": list(chosen.values())}),
        "counts": card.counts.rename_axis("what").rename("count").reset_index(),
    }
    for name in ("levels", "numbers", "overlap", "positions", "straight_liners", "duplicates"):
        table = getattr(card, name)
        if len(table) or name != "numbers":
            # an index without a name only numbers the rows
            found[name] = table.reset_index(drop=table.index.names == [None])
    steps = {"C_from": curve.edges[:-1], "C_to": curve.edges[1:], survey.plan.metric: curve.values}
    found["compared"] = survey.search.results().rename(columns={"best": survey.plan.metric})
    found["folds_over_C"] = pd.DataFrame({**steps, "standard_error": curve.errors})
    found["part_worths"] = part_worth_summary(boot, train).reset_index()
    found["raw_part_worths"] = part_worth_summary(boot, train, zero_centred=False).reset_index()
    found["importances"] = importance_summary(boot, train).reset_index()
    if survey.price is not None and len(train.attributes) > 1:
        found["willingness_to_pay"] = willingness_to_pay(boot, train, survey.price).table.reset_index()
    if survey.orders:
        found["order_reversals"] = order_reversals(worths, train, survey.orders)
    found["contradictions"] = contradictions(survey)
    if survey.agreement is not None:
        measured = {str(name): float(value) for name, value in survey.agreement.items()}
        if survey.common_shares is not None and survey.parts.held is not None:
            error = share_error(worths, survey.parts.held, survey.calibration.scale)
            measured["mean absolute error of shares"] = error
            found["holdout_shares"] = survey.common_shares.reset_index()
        found["holdout"] = pd.DataFrame({"measure": list(measured), "value": list(measured.values())})
    if survey.market is not None:
        found |= _simulated(survey, survey.market)
    stability = survey.stability
    orders = stability.orders.to_frame()
    over_C = {
        "importances_over_C": stability.importances.reset_index(),
        "importance_orders": orders.assign(verdict=[" > ".join(order) for order in orders["verdict"]]),
    }
    if stability.shares is not None and stability.winners is not None:
        over_C["first_choices_over_C"] = stability.shares.to_frame()
        over_C["winners_over_C"] = stability.winners.to_frame()
    names = {"C_lo": "C_from", "C_hi": "C_to"}
    found |= {name: table.rename(columns=names) for name, table in over_C.items()}
    columns = flat_names(train.columns)
    individual = {
        "individual_part_worths": worths.set_axis(columns, axis=1),
        # other names, so that they cannot be taken for part-worths to simulate with
        "individual_diffs": zero_centred_diffs(worths, train)
        .set_axis(columns, axis=1)
        .add_prefix("diff of "),
        "individual_importances": importances(worths, train),
    }
    front = pd.DataFrame({RESPONDENT: train.respondents, WEIGHT: train.weights.to_numpy()})
    for name, table in individual.items():
        found[name] = pd.concat([front, table.reset_index(drop=True)], axis=1)
    return {name: found[name] for name in TITLES if name in found}


def flat_names(columns: pd.MultiIndex) -> list[str]:
    """Return one name for each column of part-worths: attribute and level.

    >>> flat_names(pd.MultiIndex.from_tuples([("brand", "Alba"), ("price", 9)]))
    ['brand: Alba', 'price: 9']
    """
    names = [f"{attribute}: {level}" for attribute, level in columns]
    # two columns may read the same, "a: b" of c and a of "b: c"
    return names if len(set(names)) == len(names) else [repr(label) for label in columns.tolist()]


def settings(survey: Survey) -> dict[str, Any]:
    """Return what was chosen and how, by name; enough to estimate the same part-worths again."""
    plan, scale = survey.plan, survey.calibration.scale
    found: dict[str, Any] = {"study": survey.source, "pooling": plan.pooling, "C": survey.C}
    if survey.shrinkage is not None:
        found["shrinkage γ"] = survey.shrinkage
    return found | {
        "scale of utilities": scale,
        f"{survey.metric} in the folds": survey.search.best_score_,
        "largest C": float(plan.C_max),
        "orders kept": "; ".join(f"{name}: {order}" for name, order in plan.orders.items()) or "no order",
        "folds of tasks": plan.folds,
        "rule of choice": plan.choice,
        "respondents per pool while choosing": plan.group_size if survey.is_grouped else "all",
        "seed": plan.seed,
        "seconds of estimation": round(survey.seconds, 1),
    }


def contradictions(survey: Survey) -> pd.DataFrame:
    """Return the choices of every minimal set of contradicting ones, alternatives with their levels."""
    columns = [RESPONDENT, "task", "chosen", "over", "multiplier"]
    profiles = _profiles(survey.parts.train) if survey.conflicts else {}
    rows: list[tuple[Any, ...]] = []
    for name, conflict in survey.conflicts.items():
        for row in conflict.choices.itertuples():
            chosen, other = (profiles[row.respondent, row.task, place] for place in (row.chosen, row.other))
            rows.append((row.respondent, row.task, chosen, other, str(row.multiplier)))
        rows += [(name, "", f"order {order}", "", "") for order in conflict.orders]
    return pd.DataFrame(rows, columns=columns)


def _profiles(study: ConjointStudy) -> dict[Any, str]:
    """Return every alternative in words, by respondent, task and alternative."""
    choices, task = study.choices, study.choices.task_of_row
    names = study.respondents[choices.respondent[task]]
    words = []
    for is_none, row in zip(study.is_none, study.profiles.astype(object).to_numpy().tolist(), strict=True):
        # a number needs the name of its attribute
        levels = [
            level if isinstance(level, str) else f"{name} {level}"
            for name, level in zip(study.profiles, row, strict=True)
        ]
        words.append("none" if is_none else ", ".join(levels))
    return dict(zip(zip(names, choices.task[task], study.alternative, strict=True), words, strict=True))


def _simulated(survey: Survey, market: Market) -> dict[str, pd.DataFrame]:
    rules: tuple[Rule, ...] = get_args(Rule)
    shares = {rule: survey.simulator(rule).shares(market.scenario) for rule in rules}
    simulator, product = survey.simulator(market.rule), market.product
    varied = sensitivity(simulator, market.scenario, product)
    found = {"shares": pd.concat(shares, names=["rule"]), "sensitivity": varied.assign(product=product)}
    if survey.price is not None and float(market.scenario.products[product][survey.price]) > 0:
        curve = price_curve(simulator, market.scenario, product, survey.price)
        found["price_curve"] = curve.assign(product=product)
    return {name: table.reset_index() for name, table in found.items()}


# The first sheet lists the others; by it a workbook of ours is recognised.
CONTENTS = "contents"
# Excel refuses longer names of sheets.
LONGEST_NAME = 31
# The width of a column in letters.
NARROWEST = 8
WIDEST = 60
# Widths are measured on the first rows only, as tables may have many thousands.
MEASURED = 200


def workbook_bytes(tables: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> bytes:
    """Return an Excel workbook with one sheet per table, after a list of them.

    >>> from zipfile import is_zipfile
    >>> is_zipfile(io.BytesIO(workbook_bytes({"a": pd.DataFrame({"x": [1]})}, {"a": "A table"})))
    True
    """
    listed = pd.DataFrame({"sheet": list(tables), "holds": [titles[name] for name in tables]})
    stream = io.BytesIO()
    with pd.ExcelWriter(stream, engine="openpyxl") as writer:
        for name, table in {CONTENTS: listed, **tables}.items():
            sheet = name[:LONGEST_NAME]
            table.to_excel(writer, sheet_name=sheet, index=False, freeze_panes=(1, 0))
            for number, width in enumerate(widths(table)):
                cell = writer.sheets[sheet].cell(row=1, column=number + 1)
                writer.sheets[sheet].column_dimensions[cell.column_letter].width = width
    return stream.getvalue()


def is_our_workbook(file: Path) -> bool:
    """Return whether a file is a workbook that begins with a list of contents."""
    try:
        return str(load_workbook(file, read_only=True).sheetnames[0]) == CONTENTS
    except (BadZipFile, InvalidFileException, KeyError, OSError):
        return False


def table_files(folder: Path, tables: Mapping[str, pd.DataFrame]) -> dict[Path, bytes]:
    """Return the content of a CSV file for every table, by its path in a folder."""
    return {folder / f"{name}.csv": table.to_csv(index=False).encode() for name, table in tables.items()}


def widths(table: pd.DataFrame) -> list[int]:
    """Return the widths of the columns of a sheet, in letters.

    >>> widths(pd.DataFrame({"x": [1], "sentence": ["these are five short words"]}))
    [8, 28]
    """
    found = []
    for name, column in table.items():
        seen = column.head(MEASURED).tolist()
        cells = [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in seen]
        longest = max([len(str(name)), *map(len, cells)])
        found.append(min(max(longest + 2, NARROWEST), WIDEST))
    return found
