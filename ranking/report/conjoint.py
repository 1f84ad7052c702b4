"""Sections of a report on a survey: the study, the model, part-worths, holdouts, a market, stability.

Reports on surveys: findings in words, then everything they rest on, as one HTML file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ranking.conjoint import willingness_to_pay
from ranking.plots.axes import counted
from ranking.plots.conjoint import (
    plot_importances,
    plot_part_worths,
    plot_price_curve,
    plot_shares,
    plot_stability,
)
from ranking.report.page import facts, frame_table, page, paragraph, picture, section, shown, table
from ranking.report.sections import left_out, selection_section
from ranking.studies.conjoint import Market, Survey
from ranking.studies.conjoint_tables import TITLES, settings, survey_tables

FORMULA = (
    "Part-worths v minimise ½‖v‖² + C Σ ω max(0, 1 − n·v): n is a chosen alternative less another one of the "
    "task, ω the weight of the respondent, and C the price of a choice that v does not explain. "
)
POOLS = {
    "aggregate": "All respondents have the same v.",
    "individual": "Every respondent has a v of his own, from his choices alone; weights count in means only.",
    "shrinkage": "Respondent r has v₀ + uᵣ, and ½‖v‖² is ‖v₀‖²/(2γ) + Σ ‖uᵣ‖²/(2(1 − γ)): near γ = 0 "
    "everyone is alone, near γ = 1 all are alike.",
}
EVALUATED = {
    "hit_rate": "at every C",
    "root_likelihood": "at ten C for every factor of ten, each with the scale that suits it best",
}
RULES = {
    "first_choice": "Everyone takes the product of largest utility.",
    "share_of_preference": "Everyone takes each product with its logit probability.",
    "randomized_first_choice": "Everyone takes the best one again and again, as utilities waver.",
}
# Longer lists are cut, and say so; the tables beside the page are whole.
MOST_ROWS = 60
MOST_FEW = 10


@dataclass(frozen=True, eq=False)
class Draft:
    """A survey with its tables, of which a page is made."""

    survey: Survey
    tables: Mapping[str, pd.DataFrame]

    def table(self, name: str, most: int = MOST_ROWS) -> str:
        """Return a table of the survey under its title, cut if it is long; nothing if it is empty."""
        frame = self.tables[name]
        if not len(frame):
            return ""
        return frame_table(frame, TITLES[name], most) + left_out(len(frame) - most, "row")

    def near(self, name: str, C: float) -> str:
        """Return the rows of a table over C that are nearest to one C."""
        frame = self.tables[name]
        place = int((frame["C_from"] <= C).sum()) - 1
        first = max(0, min(place - MOST_FEW // 2, len(frame) - MOST_FEW))
        rows = frame.iloc[first : first + MOST_FEW]
        return frame_table(rows, f"{TITLES[name]}, around {shown(C)}") + left_out(
            len(frame) - len(rows), "row"
        )


def study_section(draft: Draft) -> Iterator[str]:
    """Yield the card of the study."""
    yield paragraph("All tasks, those held out included; counts are without weights.", "note")
    remarks = draft.survey.remarks
    for remark in remarks[:MOST_FEW]:
        yield paragraph(f"Look at this: {remark}{'' if remark.endswith('?') else '.'}")
    yield left_out(len(remarks) - MOST_FEW, "remark")
    for name in ("counts", "levels", "numbers", "overlap", "positions"):
        if name in draft.tables:
            yield draft.table(name)
    for name in ("straight_liners", "duplicates"):
        found = draft.table(name, MOST_FEW)
        yield found or paragraph(f"{TITLES[name]}: none.", "note")


def model_section(draft: Draft) -> Iterator[str]:
    """Yield what the model is and how its parameters were chosen."""
    survey = draft.survey
    yield paragraph(FORMULA + POOLS[survey.plan.pooling])
    yield facts(settings(survey))
    yield paragraph(_how_chosen(survey))
    yield paragraph(f"Calibration, by folds of the training tasks: {survey.calibration}.")
    yield draft.table("compared")
    yield from selection_section(survey)


def _how_alike(survey: Survey) -> str:
    """Return what the chosen γ means, in words."""
    g = survey.shrinkage
    if g is None:
        return ""
    much = "much" if g >= 0.7 else "little" if g <= 0.3 else "as much as from their own choices"
    return f" γ = {shown(g)}: respondents learn {much} from one another."


def _how_chosen(survey: Survey) -> str:
    chosen = "C and γ were" if survey.shrinkage is not None else "C was"
    folds = f"{chosen} chosen by the {survey.metric} in {survey.how_chosen}, {EVALUATED[survey.plan.metric]}."
    if not survey.is_grouped:
        return folds + _how_alike(survey)
    return (
        f"{folds}{_how_alike(survey)} Paths of large pools are long, so they were chosen in pools of at most "
        f"{survey.plan.group_size} respondents; the part-worths are those of everybody together."
    )


def worths_section(draft: Draft) -> Iterator[str]:
    """Yield zero-centred and raw part-worths."""
    diffs = draft.tables["part_worths"].set_index(["attribute", "level"])
    yield paragraph(
        "Zero-centred diffs: within every attribute the mean is 0, and the ranges of the attributes of every "
        f"respondent are 100 on average. {intervals(draft.survey)}"
    )
    best = diffs["estimate"].idxmax()
    words = (
        f"Part-worths of {counted(len(diffs), 'level')} with intervals; the largest is {best[0]}, {best[1]}."
    )
    yield picture(plot_part_worths(diffs), words, "Zero-centred diffs, means over respondents.")
    yield draft.table("part_worths")
    yield draft.table("raw_part_worths")


def importances_section(draft: Draft) -> Iterator[str]:
    """Yield the importances of attributes."""
    found = draft.tables["importances"].set_index("attribute")
    yield paragraph(
        "The importance of an attribute is the range of its part-worths in per cent of all ranges, of every "
        "respondent, then averaged. It depends on the levels shown."
    )
    words = "Importances in per cent: " + ", ".join(f"{k} {v:.0f}" for k, v in found["estimate"].items())
    yield picture(
        plot_importances(found), words + ".", "Importances, means over respondents, with intervals."
    )
    yield draft.table("importances")


def reversals_section(draft: Draft) -> Iterator[str]:
    """Yield how often levels stand the wrong way round."""
    kept = ", ".join(draft.survey.plan.orders)
    yield paragraph(
        "How many respondents have two neighbouring levels the wrong way round; `share` is weighted, "
        "`difference` the mean worth of the better level less that of the worse."
    )
    if kept:
        yield paragraph(
            f"The orders of {kept} were kept by force, so that nothing is reversed there.", "note"
        )
    yield draft.table("order_reversals")


def willingness_section(draft: Draft) -> Iterator[str]:
    """Yield what levels are worth in money."""
    survey = draft.survey
    assert survey.price is not None
    worth = willingness_to_pay(survey.bootstrap, survey.parts.train, survey.price)
    yield paragraph(
        f"What a level is worth more than the one it is held against, in units of {survey.price}: the "
        "difference of their part-worths divided by the worth of one unit of money."
    )
    wrong = 100 * worth.wrong_respondents
    yield paragraph(f"{wrong:.0f} % of the respondents like a higher price as well, or better.", "note")
    if worth.remark:
        yield paragraph(f"There are {worth.remark}.")
    yield draft.table("willingness_to_pay")


def holdout_section(draft: Draft) -> Iterator[str]:
    """Yield how well tasks held out are predicted."""
    yield paragraph(
        "These tasks took no part in anything else. Hit rate: the share of tasks whose chosen alternative "
        "has the largest utility. Root likelihood: the geometric mean of the probabilities of the chosen "
        "alternatives, from the calibrated utilities."
    )
    measured = draft.tables["holdout"].set_index("measure")["value"]
    yield facts({str(name): f"{value:.4g}" for name, value in measured.items()}, TITLES["holdout"])
    if "holdout_shares" in draft.tables:
        yield draft.table("holdout_shares")
    else:
        yield paragraph(
            "No task was seen alike by several respondents, so there are no shares to compare.", "note"
        )


def contradictions_section(draft: Draft) -> Iterator[str]:
    """Yield how many respondents contradict themselves, and how the first of them does."""
    survey = draft.survey
    found, everybody = survey.conflicts, counted(len(survey.parts.train.respondents), "respondent")
    if not found:
        yield paragraph(f"Of {everybody} none contradicts himself: part-worths explain all choices of each.")
        return
    first = next(iter(found))
    yield paragraph(
        f"{len(found)} of {everybody} made choices that no part-worths explain all of. That is usual: nobody "
        "answers like a machine, and the model pays C for it."
    )
    mine = draft.tables["contradictions"]
    rows = mine[mine["respondent"] == first]
    title = f"A minimal set, of respondent {first}: leave out any one choice and the others agree"
    yield frame_table(rows, title)
    yield paragraph("These multiples of the differences chosen − other add up to nothing.", "note")


def market_section(draft: Draft, market: Market) -> Iterator[str]:
    """Yield shares of products, and how those of one move with its attributes."""
    products = market.scenario.to_frame().rename_axis("product").reset_index()
    yield frame_table(products, "The products")
    shares = draft.tables["shares"].set_index(["product", "rule"])
    names = market.scenario.names
    rows = [(name, *(with_interval(shares.loc[(name, rule)]) for rule in RULES)) for name in names]
    yield table(("product", *RULES), rows, f"{TITLES['shares']}, in per cent, with intervals")
    yield table(("rule", "a respondent chooses like this"), RULES.items())
    chosen = shares.xs(market.rule, level="rule")
    told = ", ".join(f"{name} {100 * share:.0f} %" for name, share in chosen["share"].items())
    words = f"Shares by {market.rule}: {told}"
    yield picture(plot_shares(chosen), f"{words}.", f"Shares by {market.rule}, with intervals.")
    yield paragraph(
        f"How the share of {market.product} changes if one of its attributes does ({market.rule})."
    )
    varied = draft.tables["sensitivity"].drop(columns="product")
    yield frame_table(varied, TITLES["sensitivity"].replace("the product", market.product), MOST_ROWS)
    yield left_out(len(varied) - MOST_ROWS, "row")
    if "price_curve" in draft.tables:
        yield _price_picture(draft, market)


def _price_picture(draft: Draft, market: Market) -> str:
    price = str(draft.survey.price)
    curve = draft.tables["price_curve"].set_index(price)
    best = float(curve["revenue"].idxmax())
    words = f"Share and revenue of {market.product} over {price}; the revenue is largest at {shown(best)}."
    return picture(plot_price_curve(curve), words, f"{market.product} at every {price}, others as they are.")


def stability_section(draft: Draft) -> Iterator[str]:
    """Yield how conclusions hang on C."""
    survey, found = draft.survey, draft.survey.stability
    C = survey.C
    yield paragraph(f"{_whose_path(survey)} The chosen C is {shown(C)}.")
    yield paragraph(
        "C weighs choices against simplicity, and nobody knows the right one. A conclusion that holds on a "
        "wide interval around the chosen C does not hang on it; one that ends nearby is not to be relied on."
    )
    yield facts(found.words_at(C), "Conclusions at the chosen C, and the C on which they are the same")
    axes = plot_stability(found.importances, found.leaders, C)
    yield picture(axes, f"Importances over C; {found.words_at(C)['most important']}.", "Importances over C.")
    yield draft.near("importance_orders", C)
    if found.shares is not None and found.winners is not None:
        words = found.words_at(C)["largest share of first choice"]
        yield picture(
            plot_stability(found.shares, found.winners, C),
            f"Shares of first choice over C; largest: {words}.",
            "Shares of first choice, exact at every C.",
        )
        yield draft.near("winners_over_C", C)


def _whose_path(survey: Survey) -> str:
    if survey.plan.pooling == "aggregate":
        return "All part-worths are followed over C along the path of all respondents together, exactly."
    if survey.plan.pooling == "individual":
        return "All part-worths are followed over C along the path of every respondent, exactly."
    if not survey.is_grouped:
        return "All part-worths are followed over C along the path of the whole pool, exactly."
    return (
        f"The path of {counted(len(survey.parts.train.respondents), 'respondent')} in one pool would be "
        f"long, so part-worths are followed over C along the exact paths of {survey.stability.pools} "
        f"pools of at most {survey.plan.group_size}, those in which C was chosen."
    )


def with_interval(row: "pd.Series[Any]") -> str:
    """Return a share in per cent with its interval, if it has one."""
    share, lo, hi = (100 * float(row[name]) for name in ("share", "lo", "hi"))
    return f"{share:.1f}" if lo != lo else f"{share:.1f} ({lo:.1f} to {hi:.1f})"


def intervals(survey: Survey) -> str:
    """Return how intervals came about, in words."""
    samples = getattr(survey.bootstrap, "samples", None)
    if samples is not None:
        return (
            f"Intervals hold 95 % of {len(samples)} draws of respondents that the model was fitted to anew."
        )
    told = "Intervals hold 95 % of 1000 draws of respondents, whose part-worths stay as they were estimated."
    if survey.plan.pooling == "individual":
        return told
    return f"{told} Respondents learn from one another, so these are much too short; --refits 100 fits anew."


TITLE = "Conjoint study"


def survey_report_html(
    survey: Survey, tables: Mapping[str, pd.DataFrame] | None = None, title: str = TITLE
) -> str:
    """Return the report of a survey as a page that needs no other file."""
    draft = Draft(survey, survey_tables(survey) if tables is None else tables)
    parts = {
        "Result": _result(draft),
        "The study": study_section(draft),
        "The model": model_section(draft),
        "Importances": importances_section(draft),
        "Part-worths": worths_section(draft),
    }
    if "order_reversals" in draft.tables:
        parts["Order reversals"] = reversals_section(draft)
    if "willingness_to_pay" in draft.tables:
        parts["Willingness to pay"] = willingness_section(draft)
    if survey.market is not None:
        parts["Simulated market"] = market_section(draft, survey.market)
    if survey.agreement is not None:
        parts["Holdout tasks"] = holdout_section(draft)
    parts["Contradictions"] = contradictions_section(draft)
    parts["Stability over C"] = stability_section(draft)
    return page(title, [section(name, part) for name, part in parts.items()])


def survey_summary(survey: Survey, tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Return the result in a few lines, by name."""
    gamma = f", γ = {shown(survey.shrinkage)}" if survey.shrinkage is not None else ""
    lines = {
        "study": f"{_sizes(survey)}, from {survey.source}",
        "attributes": _attributes(survey),
        "chosen": f"C = {survey.C:.4g}{gamma} ({survey.plan.pooling}), on {survey.how_chosen}",
        "folds": f"{survey.metric} {survey.search.best_score_:.3f}",
        "calibration": str(survey.calibration),
        "importances": ", ".join(f"{k} {v:.0f} %" for k, v in _estimates(tables).items()),
        "contradictions": f"in the choices of {len(survey.conflicts)} "
        f"of {counted(len(survey.parts.train.respondents), 'respondent')}",
    }
    if survey.agreement is not None:
        lines["holdouts"] = _agreement_words(survey.agreement)
    if survey.market is not None:
        shares = tables["shares"].set_index("rule").loc[[survey.market.rule]]
        told = [f"{k} {100 * v:.0f} %" for k, v in zip(shares["product"], shares["share"], strict=True)]
        lines["shares"] = f"{', '.join(told)} ({survey.market.rule})"
    stable = survey.stability.words_at(survey.C)
    lines["stability"] = "; ".join(
        f"{name}: {words}" for name, words in stable.items() if name != "order of importances"
    )
    return lines | {"estimated in": f"{survey.seconds:.3g} seconds"}


def _result(draft: Draft) -> Iterator[str]:
    yield from (paragraph(sentence) for sentence in findings(draft))
    lines = survey_summary(draft.survey, draft.tables)
    yield facts({name.capitalize(): text for name, text in lines.items()})


def findings(draft: Draft) -> Iterator[str]:
    """Yield the main findings as sentences for people who read no further."""
    survey = draft.survey
    found = draft.tables["importances"].sort_values("estimate", ascending=False, kind="stable")
    first, *others = [f"{name} {_interval(row)}" for name, row in found.set_index("attribute").iterrows()]
    rest = f", then {', '.join(others)}" if others else ""
    if not survey.is_better_than_chance:
        yield (
            "Do not use what follows: in tasks it had not learnt from, the model predicts no better than "
            f"chance ({survey.calibration})."
        )
    yield f"What moves choices most is {first}{rest}: importances over the levels shown.{_not_apart(found)}"
    best = draft.tables["part_worths"].query("attribute in @survey.parts.study.attributes")
    liked = best.loc[best.groupby("attribute", sort=False)["estimate"].idxmax()]
    levels = [f"{a} {b}" for a, b in zip(liked["attribute"], liked["level"], strict=True) if b != "per unit"]
    if levels:
        yield f"On average these levels are liked best: {', '.join(levels)}."
    if survey.agreement is not None:
        hits, chance = survey.agreement["hit rate"], survey.agreement["hit rate by chance"]
        yield (
            f"Of the {survey.agreement['tasks']:.0f} tasks held out {100 * hits:.0f} % were predicted, by "
            f"chance it would be {100 * chance:.0f} %."
        )
    yield from _market_findings(draft)
    words = survey.stability.words_at(survey.C)["most important"]
    yield f"How far this hangs on C: the most important attribute is {words}; the chosen C is {survey.C:.3g}."


def _market_findings(draft: Draft) -> Iterator[str]:
    market = draft.survey.market
    if market is None:
        return
    shares = draft.tables["shares"].set_index("rule").loc[[market.rule]].set_index("product")
    told = [f"{name} {_interval(100 * row)}" for name, row in shares.iterrows()]
    yield f"In the simulated market shares would be {', '.join(told)}, by {market.rule.replace('_', ' ')}."
    if "price_curve" in draft.tables:
        curve = draft.tables["price_curve"].set_index(str(draft.survey.price))
        where = f"{draft.survey.price} {float(curve['revenue'].idxmax()):g}{_flat(curve)}"
        yield f"The revenue of {market.product} would be largest at {where}."


def _flat(curve: pd.DataFrame) -> str:
    """Return what is to be said if the largest revenue is not told apart from that of today, 100."""
    best = curve.iloc[int(curve["revenue"].argmax())]
    if best["revenue_lo"] > 100:
        return ""
    return (
        f", but that is {best['revenue'] - 100:.1f} % more than at its price now, and not told apart from it"
    )


def _not_apart(found: pd.DataFrame) -> str:
    """Return which attributes could be the most important as well, from the largest importance on."""
    reach = found["lo"].iloc[0]
    others = found["attribute"][1:][found["hi"].iloc[1:] >= reach].tolist()
    if not others:
        return ""
    return f" By their intervals, {', '.join(map(str, others))} could be first as well."


def _sizes(survey: Survey) -> str:
    study, train, held = survey.parts
    kept = f", and {counted(len(held.choices), 'task')} held out" if held is not None else ""
    respondents = counted(len(study.respondents), "respondent")
    return f"{respondents}, {counted(len(train.choices), 'task')} to learn from{kept}"


def _attributes(survey: Survey) -> str:
    coded = survey.parts.study.attributes.items()
    return ", ".join(
        f"{name} (linear)" if attribute.is_linear else f"{name} ({len(attribute.labels)} levels)"
        for name, attribute in coded
    )


def _estimates(tables: Mapping[str, pd.DataFrame]) -> "pd.Series[Any]":
    found = tables["importances"].set_index("attribute")["estimate"]
    return found.sort_values(ascending=False, kind="stable")


def _agreement_words(measured: "pd.Series[Any]") -> str:
    words = [
        f"{name} {measured[name]:.3f} ({measured[f'{name} by chance']:.3f} by chance)"
        for name in ("hit rate", "root likelihood")
    ]
    return f"{', '.join(words)} in {measured['tasks']:.0f} tasks"


def _interval(row: "pd.Series[Any]") -> str:
    """Return an estimate in per cent, the first entry of a row, with its interval, if it has one."""
    if row[["lo", "hi"]].isna().any():
        return f"{row.iloc[0]:.0f} %"
    return f"{row.iloc[0]:.0f} % ({row['lo']:.0f} to {row['hi']:.0f})"
