"""The report of a conjoint survey as one HTML file; its words are in `templates/conjoint.html`.

The findings come first, in sentences made here; then everything they rest on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from ranking.conjoint import willingness_to_pay
from ranking.core.validation import counted
from ranking.plots.conjoint import (
    plot_importances,
    plot_part_worths,
    plot_price_curve,
    plot_shares,
    plot_stability,
)
from ranking.report.page import Picture, Table, picture, render, shown, spaced, table
from ranking.report.paths import selection_part
from ranking.studies.conjoint import Market, Survey
from ranking.studies.conjoint_tables import TITLES, settings, survey_tables

TITLE = "Conjoint study"
RULES = {
    "first_choice": "Everyone chooses the product of largest utility.",
    "share_of_preference": "Everyone chooses each product with its logit probability.",
    "randomized_first_choice": "Everyone chooses the best product, many times, with noise on the utilities.",
}
# Longer lists are cut, and the page says so; the tables in files are whole.
MOST_ROWS = 60
MOST_FEW = 10
SHORT_TABLES = ("straight_liners", "duplicates")


@dataclass(frozen=True, eq=False)
class TabulatedSurvey:
    """A survey with its tables, of which a page is made."""

    survey: Survey
    tables: Mapping[str, pd.DataFrame]

    def table(self, name: str) -> Table | None:
        """Return a table of the survey under its title, cut if it is long; None if it is empty or missing."""
        frame = self.tables.get(name)
        if frame is None or frame.empty:
            return None
        most = MOST_FEW if name in SHORT_TABLES else MOST_ROWS
        return table(spaced(frame), TITLES[name], most, is_aligned=True)

    def near(self, name: str, C: float) -> Table:
        """Return the rows of a table over C that are nearest to one C."""
        frame = self.tables[name]
        place = int((frame["C_from"] <= C).sum()) - 1
        first = max(0, min(place - MOST_FEW // 2, len(frame) - MOST_FEW))
        rows = frame.iloc[first : first + MOST_FEW]
        found = table(spaced(rows), f"{TITLES[name]}, around {shown(C)}", is_aligned=True)
        return replace(found, left_out=len(frame) - len(rows))


def survey_report_html(
    survey: Survey, tables: Mapping[str, pd.DataFrame] | None = None, title: str = TITLE
) -> str:
    """Return the report of a survey as a page that needs no other file."""
    tabulated = TabulatedSurvey(survey, survey_tables(survey) if tables is None else tables)
    parts = {
        "title": title,
        "titles": TITLES,
        "survey": survey,
        "tabulated": tabulated,
        "findings": list(findings(tabulated)),
        "summary": survey_summary(survey, tabulated.tables),
        "settings": settings(survey),
        "selection": selection_part(survey),
        "intervals": intervals(survey),
        "pictures": _pictures(tabulated),
        "willingness": None,
        "market": None if survey.market is None else _market(tabulated, survey.market),
        "holdout": None,
        "contradiction": None,
        "conclusions": survey.stability.words_at(survey.C),
        "most_remarks": MOST_FEW,
    }
    if survey.price is not None and "willingness_to_pay" in tabulated.tables:
        parts["willingness"] = willingness_to_pay(survey.bootstrap, survey.parts.train, survey.price)
    for name in list(survey.conflicts)[:1]:
        rows = tabulated.tables["contradictions"]
        title = f"A minimal set, of respondent {name}: leave out any one choice and the others agree"
        parts["contradiction"] = table(rows[rows["respondent"] == name], title, is_aligned=True)
    if "holdout" in tabulated.tables:
        measured = tabulated.tables["holdout"].set_index("measure")["value"]
        parts["holdout"] = {str(name): f"{value:.4g}" for name, value in measured.items()}
    return render("conjoint.html", parts)


def _pictures(tabulated: TabulatedSurvey) -> dict[str, Picture | None]:
    """Return the pictures of part-worths and importances, and of how conclusions depend on C."""
    found, C = tabulated.survey.stability, tabulated.survey.C
    diffs = tabulated.tables["part_worths"].set_index(["attribute", "level"])
    attribute, level = diffs["estimate"].idxmax()
    largest = (
        f"Part-worths of {counted(len(diffs), 'level')} with intervals; the largest is {attribute}, {level}."
    )
    important = tabulated.tables["importances"].set_index("attribute")
    estimates = ", ".join(f"{name} {value:.0f}" for name, value in important["estimate"].items())
    words = found.words_at(C)
    pictures: dict[str, Picture | None] = {
        "importances": picture(
            plot_importances(important),
            f"Importances in per cent: {estimates}.",
            "Importances, means over respondents, with intervals.",
        ),
        "part_worths": picture(
            plot_part_worths(diffs), largest, "Zero-centred diffs, means over respondents."
        ),
        "importances_over_C": picture(
            plot_stability(found.importances, found.leaders, C),
            f"Importances over C; {words['most important']}.",
            "Importances over C.",
        ),
        "shares_over_C": None,
    }
    if found.shares is not None and found.winners is not None:
        pictures["shares_over_C"] = picture(
            plot_stability(found.shares, found.winners, C),
            f"Shares of first choice over C; largest: {words['largest share of first choice']}.",
            "Shares of first choice, exact at every C.",
        )
    return pictures


def _market(tabulated: TabulatedSurvey, market: Market) -> dict[str, Any]:
    """Return the shares of products, and how that of one product changes with its attributes."""
    shares = tabulated.tables["shares"].set_index(["product", "rule"])
    names = market.scenario.names
    by_rule = {
        rule: [with_interval(100 * shares.loc[(name, rule)], 1, "") for name in names] for rule in RULES
    }
    chosen = shares.xs(market.rule, level="rule")
    listed = ", ".join(f"{name} {100 * share:.0f} %" for name, share in chosen["share"].items())
    varied = tabulated.tables["sensitivity"].drop(columns="product")
    title = TITLES["sensitivity"].replace("the product", market.product)
    price_picture = None
    if "price_curve" in tabulated.tables:
        price = str(tabulated.survey.price)
        curve = tabulated.tables["price_curve"].set_index(price)
        best = shown(float(curve["revenue"].idxmax()))
        price_picture = picture(
            plot_price_curve(curve),
            f"Share and revenue of {market.product} over {price}; the revenue is largest at {best}.",
            f"{market.product} at every {price}, the other products unchanged.",
        )
    return {
        "products": table(
            market.scenario.to_frame().rename_axis("product").reset_index(), "The products", is_aligned=True
        ),
        "shares": table(
            pd.DataFrame({"product": names, **by_rule}), f"{TITLES['shares']}, in per cent, with intervals"
        ),
        "rules": table(pd.DataFrame(RULES.items(), columns=["rule", "how a respondent chooses"])),
        "shares_picture": picture(
            plot_shares(chosen),
            f"Shares by {market.rule}: {listed}.",
            f"Shares by {market.rule}, with intervals.",
        ),
        "sensitivity": table(spaced(varied), title, MOST_ROWS, is_aligned=True),
        "price_picture": price_picture,
    }


def with_interval(row: "pd.Series[Any]", decimals: int = 0, unit: str = " %") -> str:
    """Return an estimate in per cent, the first entry of a row, with its interval, if it has one."""
    estimate, lo, hi = (f"{row[name]:.{decimals}f}" for name in (row.index[0], "lo", "hi"))
    return f"{estimate}{unit}" if row[["lo", "hi"]].isna().any() else f"{estimate}{unit} ({lo} to {hi})"


def intervals(survey: Survey) -> str:
    """Return how intervals were computed, in words."""
    samples = getattr(survey.bootstrap, "samples", None)
    if samples is not None:
        return f"Intervals hold 95 % of {len(samples)} bootstrap draws; the model was refitted to each."
    drawn = "Intervals hold 95 % of 1000 draws of respondents, whose part-worths stay as they were estimated."
    if survey.plan.pooling == "individual":
        return drawn
    return (
        f"{drawn} Respondents learn from one another, so these are much too narrow; "
        "with 100 refits the model is fitted to each of 100 draws."
    )


def survey_summary(survey: Survey, tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Return the result in a few lines, by name."""
    found = tables["importances"].set_index("attribute")["estimate"]
    found = found.sort_values(ascending=False, kind="stable")
    gamma = f", γ = {shown(survey.shrinkage)}" if survey.shrinkage is not None else ""
    study, train, held = survey.parts
    kept = f", and {counted(len(held.choices), 'task')} held out" if held is not None else ""
    respondents = counted(len(study.respondents), "respondent")
    sizes = f"{respondents}, {counted(len(train.choices), 'task')} to learn from{kept}"
    coded = {
        name: "linear" if attribute.is_linear else f"{len(attribute.labels)} levels"
        for name, attribute in study.attributes.items()
    }
    lines = {
        "study": f"{sizes}, from {survey.source}",
        "attributes": ", ".join(f"{name} ({kind})" for name, kind in coded.items()),
        "chosen": f"C = {survey.C:.4g}{gamma} ({survey.plan.pooling}), on {survey.how_chosen}",
        "folds": f"{survey.metric} {survey.search.best_score_:.3f}",
        "calibration": str(survey.calibration),
        "importances": ", ".join(f"{k} {v:.0f} %" for k, v in found.items()),
        "contradictions": f"in the choices of {len(survey.conflicts)} "
        f"of {counted(len(train.respondents), 'respondent')}",
    }
    if survey.agreement is not None:
        measured = survey.agreement
        words = [
            f"{name} {measured[name]:.3f} ({measured[f'{name} by chance']:.3f} by chance)"
            for name in ("hit rate", "root likelihood")
        ]
        lines["holdouts"] = f"{', '.join(words)} in {measured['tasks']:.0f} tasks"
    if survey.market is not None:
        shares = tables["shares"].set_index("rule").loc[[survey.market.rule]]
        listed = [f"{k} {100 * v:.0f} %" for k, v in zip(shares["product"], shares["share"], strict=True)]
        lines["shares"] = f"{', '.join(listed)} ({survey.market.rule})"
    stable = survey.stability.words_at(survey.C)
    lines["stability"] = "; ".join(
        f"{name}: {text}" for name, text in stable.items() if name != "order of importances"
    )
    return lines | {"estimated in": f"{survey.seconds:.3g} seconds"}


def findings(tabulated: TabulatedSurvey) -> Iterator[str]:
    """Yield the main findings as sentences for people who read no further."""
    survey = tabulated.survey
    found = tabulated.tables["importances"].sort_values("estimate", ascending=False, kind="stable")
    first, *others = [f"{name} {with_interval(row)}" for name, row in found.set_index("attribute").iterrows()]
    rest = f", then {', '.join(others)}" if others else ""
    if not survey.is_better_than_chance:
        yield (
            "Do not use what follows: in tasks it was not fitted to, the model predicts no better than "
            f"chance ({survey.calibration})."
        )
    # by their intervals these attributes could be the most important one too
    rivals = found["attribute"][1:][found["hi"].iloc[1:] >= found["lo"].iloc[0]].tolist()
    doubt = f" By their intervals, {', '.join(map(str, rivals))} could be first too." if rivals else ""
    yield f"What moves choices most is {first}{rest}: importances over the levels shown.{doubt}"
    worths = tabulated.tables["part_worths"].query("attribute in @survey.parts.study.attributes")
    liked = worths.loc[worths.groupby("attribute", sort=False)["estimate"].idxmax()]
    levels = [f"{a} {b}" for a, b in zip(liked["attribute"], liked["level"], strict=True) if b != "per unit"]
    if levels:
        yield f"On average these levels are liked best: {', '.join(levels)}."
    if survey.agreement is not None:
        hits, chance = survey.agreement["hit rate"], survey.agreement["hit rate by chance"]
        yield (
            f"Of the {survey.agreement['tasks']:.0f} tasks held out, {100 * hits:.0f} % were predicted "
            f"correctly; by chance it would be {100 * chance:.0f} %."
        )
    if survey.market is not None:
        rule, product = survey.market.rule, survey.market.product
        shares = tabulated.tables["shares"].set_index("rule").loc[[rule]].set_index("product")
        listed = ", ".join(f"{name} {with_interval(100 * row)}" for name, row in shares.iterrows())
        yield f"In the simulated market shares would be {listed}, by {rule.replace('_', ' ')}."
    if survey.market is not None and "price_curve" in tabulated.tables:
        curve = tabulated.tables["price_curve"].set_index(str(survey.price))
        best = curve.iloc[int(curve["revenue"].argmax())]
        where = f"{survey.price} {float(curve['revenue'].idxmax()):g}"
        # today's revenue is 100: a gain that is not clearly above it is named with its doubt
        if not best["revenue_lo"] > 100:
            gain = f"{best['revenue'] - 100:+.1f} %"
            where += f" ({gain} against today's price, within the confidence interval)"
        yield f"The revenue of {product} would be largest at {where}."
    words = survey.stability.words_at(survey.C)["most important"]
    yield f"Sensitivity to C: the most important attribute is {words}; the chosen C is {survey.C:.3g}."
