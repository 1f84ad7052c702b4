"""Reports on surveys: findings in words, then everything they rest on, as one HTML file.

Room: a survey in; a page and lines of text out.
May touch: `conjoint_survey`, `conjoint_tables`, `conjoint_sections`, `canvas`, `page`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from ranking.canvas import counted
from ranking.conjoint_sections import (
    Draft,
    contradictions_section,
    holdout_section,
    importances_section,
    market_section,
    model_section,
    reversals_section,
    stability_section,
    study_section,
    willingness_section,
    worths_section,
)
from ranking.conjoint_survey import Survey
from ranking.conjoint_tables import survey_tables
from ranking.page import facts, page, paragraph, section, shown

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
