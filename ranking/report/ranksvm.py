"""The report of a study of a RankSVM path as one HTML file; its words are in `templates/ranksvm.html`."""

from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from ranking.core.graph import describe_cycle, preference_pairs
from ranking.core.validation import counted
from ranking.io.items import write_whole
from ranking.metrics.rankings import METRICS
from ranking.plot import plot_decision, plot_pair_counts
from ranking.report.page import Picture, Table, picture, render, shown, table
from ranking.report.sections import path_lines, path_parts, sizes
from ranking.studies.ranksvm import Study


def write_report(study: Study, file: str | PathLike[str], title: str = "RankSVM for every C") -> None:
    """Write the report of a study to an HTML file; an earlier file stays until the new one is complete."""
    write_whole(Path(file), report_html(study, title).encode())


def report_html(study: Study, title: str = "RankSVM for every C") -> str:
    """Return the report of a study as a page that needs no other file."""
    model = study.model
    preferences = model.preferences_
    definitions = pd.DataFrame(
        {"metric": list(METRICS), "definition": [m.definition for m in METRICS.values()]}
    )
    settings = {"reduction of pairs": model.reduction}
    pairs = _pairs(study)
    own = {
        "title": title,
        "summary": summary(study),
        "data": _data(study),
        "n_pairs": len(preferences),
        "reduction": model.reduction,
        "cycle": None if preferences.cycle is None else describe_cycle(preferences.cycle),
        "pairs": table(pairs, f"Pairs at C = {shown(study.C)}"),
        "pairs_picture": _pairs_picture(study, pairs),
        "plane": _plane(study) if model.n_features_in_ == 2 else None,
    }
    shared = path_parts(study, settings, {}, definitions, "each is a mean over queries")
    return render("ranksvm.html", own | shared)


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


def _data(study: Study) -> Table:
    rows = [
        {
            "part": name,
            "file": items.source,
            "rows": len(items),
            "features": items.X.shape[1],
            "queries": items.queries,
            "different labels": len(np.unique(items.y)),
            "pairs with different labels": len(preference_pairs(items.y, items.qid)),
        }
        for name, items in study.parts.items()
    ]
    return table(pd.DataFrame(rows))


def _pairs(study: Study) -> pd.DataFrame:
    sets = study.model.pair_sets(study.C)
    sizes = {
        "I₀: ranked correctly, beyond the margin": len(sets.satisfied),
        "I_α: exactly at the margin": len(sets.margin),
        "I₁: margin violated": len(sets.violated),
    }
    return pd.DataFrame({"set": list(sizes), "pairs": list(sizes.values())})


def _pairs_picture(study: Study, pairs: pd.DataFrame) -> Picture:
    sizes = "; ".join(f"{name} {size}" for name, size in pairs.itertuples(index=False))
    words = f"Sizes of the three sets of pairs over C; at the chosen C: {sizes}"
    return picture(plot_pair_counts(study.model), words, "How many pairs are in which set, for every C.")


def _plane(study: Study) -> Picture:
    axes = plot_decision(study.model, study.train.X, study.train.y)
    words = "Scores over the plane of the two features, with the training items marked by their labels."
    return picture(axes, words, f"Scores at C = {shown(study.C)}: the darker, the more preferred.")
