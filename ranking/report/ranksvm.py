"""Reports: a study as one HTML file with its data, path, selection, metrics and weights."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ranking.core.graph import describe_cycle, preference_pairs
from ranking.core.validation import Queries
from ranking.io.tables import write_whole
from ranking.measures.rankings import METRICS
from ranking.plot import plot_decision, plot_pair_counts
from ranking.plots.axes import counted
from ranking.report.page import facts, page, paragraph, picture, section, shown, table
from ranking.report.sections import (
    metrics_section,
    model_section,
    path_lines,
    path_section,
    selection_section,
    sizes,
    weights_section,
)
from ranking.studies.ranksvm import Study

DEFINITION = (
    "The model minimises ½‖f‖² + C Σ ω max(0, Δ − (f(xᵢ) − f(xⱼ))) over the pairs in which item i is "
    "preferred to item j, with weights ω = 1 and margins Δ = 1 unless others were given. C multiplies the "
    "loss; in terms of λ = 1/C the solution is the same."
)


def write_report(study: Study, file: str | PathLike[str], title: str = "RankSVM for every C") -> None:
    """Write the report of a study to an HTML file; what was there before stays until it is complete."""
    write_whole(Path(file), report_html(study, title).encode())


def report_html(study: Study, title: str = "RankSVM for every C") -> str:
    """Return the report of a study as a page that needs no other file."""
    parts = [
        section("Result", _result(study)),
        section("Data", _data(study)),
        section("Model", model_section(study, DEFINITION, {"reduction of pairs": study.model.reduction})),
        section("Path", path_section(study)),
        section("Choice of C", selection_section(study)),
        section("Metrics", metrics_section(study, _definitions(), "each is a mean over queries")),
        section("Pairs", _pairs(study)),
    ]
    if study.model.kernel == "linear":
        parts.append(section("Weights", weights_section(study)))
    if study.model.n_features_in_ == 2:
        parts.append(section("Scores", _plane(study)))
    return page(title, parts)


def summary(study: Study) -> dict[str, str]:
    """Return the result in a few lines, by name."""
    lines = {name: sizes(items) for name, items in study.parts.items()}
    lines["pairs"] = f"{counted(len(study.model.preferences_), 'pair')} ({study.model.reduction})"
    lines |= path_lines(study)
    for name, items in study.parts.items():
        lines[f"{name} metric"] = f"{study.plan.metric} {shown(study.measure(items))}"
    return lines


def scores_csv(study: Study) -> str:
    """Return query, label, score and rank of the test items, else the validation, else the training items."""
    items = list(study.parts.values())[-1]
    scores, ranks = study.model.decision_function(items.X), study.model.rank(items.X, items.qid)
    queries = {} if items.qid is None else {"qid": items.qid}
    return pd.DataFrame({**queries, "y": items.y, "score": scores, "rank": ranks}).to_csv(index=False)


def _result(study: Study) -> Iterator[str]:
    yield facts({name.capitalize(): text for name, text in summary(study).items()})


def _data(study: Study) -> Iterator[str]:
    header = (
        "part",
        "file",
        "rows",
        "features",
        "queries",
        "different labels",
        "pairs with different labels",
    )
    rows = [
        (
            name,
            items.source,
            len(items),
            items.X.shape[1],
            items.queries,
            len(np.unique(items.y)),
            _pair_count(items.y, items.qid),
        )
        for name, items in study.parts.items()
    ]
    yield table(header, rows)
    preferences = study.model.preferences_
    yield paragraph(f"{counted(len(preferences), 'pair')} were used in training ({study.model.reduction}).")
    if preferences.cycle is None:
        yield paragraph("No pair contradicts others: the preferences have no cycle.")
    else:
        yield paragraph(
            f"The preferences contradict one another: {describe_cycle(preferences.cycle)} (rows from 0)."
        )


def _definitions() -> dict[str, str]:
    return {name: metric.definition for name, metric in METRICS.items()}


def _pairs(study: Study) -> Iterator[str]:
    sets = study.model.pair_sets(study.C)
    rows = [
        ("I₀: ranked right, beyond the margin", len(sets.satisfied)),
        ("I_α: just at the margin", len(sets.margin)),
        ("I₁: margin violated", len(sets.violated)),
    ]
    yield table(("set", "pairs"), rows, f"Pairs at C = {shown(study.C)}")
    words = "Sizes of the three sets of pairs over C: " + "; ".join(
        f"{name} {size} now" for name, size in rows
    )
    yield picture(plot_pair_counts(study.model), words, "How many pairs are in which set, for every C.")


def _plane(study: Study) -> Iterator[str]:
    axes = plot_decision(study.model, study.train.X, study.train.y)
    words = "Scores over the plane of the two features, with the training items marked by their labels."
    yield picture(axes, words, f"Scores at C = {shown(study.C)}: the darker, the more preferred.")


def _pair_count(y: Any, qid: Queries | None) -> int:
    return len(preference_pairs(y, qid))
