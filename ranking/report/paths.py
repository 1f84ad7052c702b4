"""Reports of studies of paths, one HTML file each, and the part on the choice of C that all reports share.

The words are in `templates/path.html`, and those of one kind in `templates/ranksvm.html` and
`templates/ordinal.html`.
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ranking.core.graph import describe_cycle, preference_pairs
from ranking.core.kernels import PARAMETERS
from ranking.core.validation import counted
from ranking.io.items import write_whole
from ranking.metrics.levels import LEVEL_METRICS
from ranking.metrics.rankings import METRICS
from ranking.plot import (
    plot_coefficients,
    plot_decision,
    plot_level_path,
    plot_levels,
    plot_pair_counts,
    plot_selection,
)
from ranking.report.page import picture, render, shown, spaced, table
from ranking.studies.conjoint import Survey
from ranking.studies.paths import LevelStudy, PathStudy, Study

TITLE = "RankSVM for every C"
LEVEL_TITLE = "Ordinal regression for every C"
SCOPES = {"adjacent": "those next to its level", "all": "all of them"}
# Longer lists are cut, and the page says so.
MOST_INTERVALS = 20
MOST_WEIGHTS = 200
# So many scores can be followed by eye; of more items some are drawn, and the caption says so.
MOST_SCORES = 200


# RankSVM


def write_report(study: Study | LevelStudy, file: str | PathLike[str], title: str = "") -> None:
    """Write the report of a study to an HTML file; an earlier file stays until the new one is complete."""
    if isinstance(study, Study):
        page = report_html(study, title or TITLE)
    else:
        page = level_report_html(study, title or LEVEL_TITLE)
    write_whole(Path(file), page.encode())


def report_html(study: Study, title: str = TITLE) -> str:
    """Return the report of a study as a page that needs no other file."""
    model = study.model
    data = [
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
    sets = model.pair_sets(study.C)
    sizes = {
        "I₀: ranked correctly, beyond the margin": len(sets.satisfied),
        "I_α: exactly at the margin": len(sets.margin),
        "I₁: margin violated": len(sets.violated),
    }
    pairs = pd.DataFrame({"set": list(sizes), "pairs": list(sizes.values())})
    listed = "; ".join(f"{name} {size}" for name, size in sizes.items())
    plane = None
    if model.n_features_in_ == 2:
        plane = picture(
            plot_decision(model, study.train.X, study.train.y),
            "Scores over the plane of the two features, with the training items marked by their labels.",
            f"Scores at C = {shown(study.C)}: the darker, the more preferred.",
        )
    cycle = model.preferences_.cycle
    own = {
        "title": title,
        "data": table(pd.DataFrame(data)),
        "n_pairs": len(model.preferences_),
        "reduction": model.reduction,
        "cycle": None if cycle is None else describe_cycle(cycle),
        "pairs": table(pairs, f"Pairs at C = {shown(study.C)}"),
        "pairs_picture": picture(
            plot_pair_counts(model),
            f"Sizes of the three sets of pairs over C; at the chosen C: {listed}",
            "How many pairs are in which set, for every C.",
        ),
        "plane": plane,
    }
    settings = {"reduction of pairs": model.reduction}
    return render("ranksvm.html", own | _path_parts(study, settings, METRICS, "each is a mean over queries"))


def scores_csv(study: Study) -> str:
    """Return query, label, score and rank of the test items, else the validation, else the training items."""
    items = list(study.parts.values())[-1]
    scores, ranks = study.model.decision_function(items.X), study.model.rank(items.X, items.qid)
    queries = {} if items.qid is None else {"qid": items.qid}
    return pd.DataFrame({**queries, "y": items.y, "score": scores, "rank": ranks}).to_csv(index=False)


# Ordinal models


def level_report_html(study: LevelStudy, title: str = LEVEL_TITLE) -> str:
    """Return the report of a study as a page that needs no other file."""
    model, train, at_C = study.model, study.train, f"at C = {shown(study.C)}"
    data = [(name, items.source, len(items), items.X.shape[1]) for name, items in study.parts.items()]
    levels = [str(name) for name in study.levels.names]
    counts = pd.DataFrame(
        {"level": levels, **{name: study.counts(items) for name, items in study.parts.items()}}
    )
    confusion = [
        table(
            study.confusion(items).add_prefix("predicted ").rename_axis("true level").reset_index(),
            f"The {name} items, {items.source}, {at_C}",
        )
        for name, items in reversed(study.parts.items())
    ]
    known = [str(name) for name in model.classes_]
    thresholds = pd.DataFrame(
        {
            "threshold": [f"p{number}" for number in range(1, len(known))],
            "level below": known[:-1],
            "level above": known[1:],
            "value": np.asarray(model.thresholds_at(study.C), dtype=float),
        }
    )
    drawn, whose = np.arange(len(train)), "all training items"
    if len(train) > MOST_SCORES:
        drawn = np.linspace(0, len(train) - 1, MOST_SCORES).astype(np.int64)
        whose = f"{MOST_SCORES} of {counted(len(train), 'training item')}"
    plane = None
    if model.n_features_in_ == 2:
        plane = picture(
            plot_levels(model, train.X, train.y),
            "Predicted levels over the plane of the two features, with the training items marked by theirs.",
            f"Predicted levels {at_C}; rings mark wrong predictions.",
        )
    own = {
        "title": title,
        "data": table(pd.DataFrame(data, columns=["part", "file", "rows", "features"])),
        "counts": table(counts, "Items of each level, the lowest first"),
        "missing": counts.loc[counts["training"] == 0, "level"].tolist(),
        "confusion": confusion,
        "thresholds": table(thresholds, f"At C = {shown(study.C)}"),
        "thresholds_picture": picture(
            plot_level_path(model, train.X.iloc[drawn], train.y[drawn]),
            f"Scores of {whose} and the {counted(len(thresholds), 'threshold')} between their levels, "
            "over C.",
            f"Scores of {whose}, in colours of their levels, and thresholds, for every C.",
        ),
        "plane": plane,
    }
    settings = {
        "levels, lowest first": ", ".join(levels),
        "thresholds an item is compared with": SCOPES[model.scope],
        "thresholds are made to ascend": "yes" if model.ordered else "no",
    }
    shared = _path_parts(study, settings, LEVEL_METRICS, "standard errors are those of the jackknife")
    shared["path_facts"]["separable"] = _separable(study)
    return render("ordinal.html", own | shared)


def predictions_csv(study: LevelStudy) -> str:
    """Return label, score and prediction of the test items, else the validation, else the training items."""
    items = list(study.parts.values())[-1]
    columns = {"score": study.model.predict_projection(items.X), "predicted": study.predicted(items)}
    return pd.DataFrame({"y": items.y, **columns}).to_csv(index=False)


def confusion_text(study: LevelStudy) -> str:
    """Return what was predicted for the test items, else the validation, else the training items, as text."""
    name, items = list(study.parts.items())[-1]
    return f"{name} items, true level by row, predicted by column:\n{study.confusion(items).to_string()}"


def _separable(study: LevelStudy) -> str:
    """Return whether some scores and thresholds keep all margins of the training items, in words."""
    found = study.model.is_separable_
    if found is None:
        return f"not known: the path ends at C = {shown(study.model.C_end_)}"
    last = f"from C = {shown(study.model.C_end_)} on"
    return f"yes: every margin is kept {last}" if found else f"no: some margins stay violated {last}"


# All paths


def summary(study: Study | LevelStudy) -> dict[str, str]:
    """Return the result in a few lines, by name."""
    metric, curve, path = study.plan.metric, study.curve, study.model.path_
    lines = {}
    for name, items in study.parts.items():
        several = f", {counted(items.queries, 'query')}" if items.qid is not None else ""
        sizes = f"{counted(len(items), 'row')}{several}, {counted(items.X.shape[1], 'feature')}"
        lines[name] = f"{sizes}, from {items.source}"
    if isinstance(study, LevelStudy):
        lines["levels"] = " < ".join(str(name) for name in study.levels.names)
    else:
        lines["pairs"] = f"{counted(len(study.model.preferences_), 'pair')} ({study.model.reduction})"
    reach = f"C from {shown(float(path.lo))} to {shown(float(path.hi))}"
    early = f", stopped early: {path.stopped}" if path.stopped else ""
    pieces = counted(len(path.segments), "piece")
    lines["path"] = f"{pieces} for {reach}, {study.seconds:.2g} s in all{early}"
    lo, hi = max(curve.best_intervals, key=lambda ends: ends[1] / ends[0] if ends[0] > 0 else np.inf)
    best = f"{metric} {shown(curve.best)} for C in [{shown(lo)}, {shown(hi)}]"
    lines["best"] = f"{best}, on {study.how_chosen}"
    lines["chosen"] = f"C = {shown(study.C)}, lambda = {shown(1 / study.C)} ({study.plan.choice})"
    if isinstance(study, LevelStudy):
        lines["separable"] = _separable(study)
    for name, items in study.parts.items():
        lines[f"{name} metric"] = f"{metric} {shown(study.measure(items))}"
    return lines


def _path_parts(
    study: Any, own: Mapping[str, Any], metrics: Mapping[str, Any], remark: str
) -> dict[str, Any]:
    """Return what `templates/path.html` shows of any kind of path.

    `own` are the settings of this kind alone, `metrics` those that it is measured by.
    """
    model, plan, at_C = study.model, study.plan, f"at C = {shown(study.C)}"
    path, bends = model.path_, model.breakpoints_
    kernel = str(model.kernel)
    # an ordinal path keeps its kernel with its training data
    representation = model.training_.representation if hasattr(model, "training_") else model.representation_
    seed = {"seed of the folds": plan.seed} if study.validation is None else {}
    measured = []
    for name, items in reversed(study.parts.items()):
        values = study.table(items)
        missing = values.loc[values["value"].isna(), ["metric", "definition"]]
        title = f"On the {name} items, {items.source}, {at_C}"
        shown_values = table(spaced(values.drop(columns="definition")), title)
        measured.append({"table": shown_values, "undefined": missing.to_numpy().tolist()})
    definitions = pd.DataFrame(
        {"metric": list(metrics), "definition": [metric.definition for metric in metrics.values()]}
    )
    return {
        "summary": summary(study),
        "settings": {
            "kernel": kernel,
            **{name: float(getattr(representation, name)) for name in PARAMETERS.get(kernel, ())},
            **own,
            "largest C asked for": "any" if model.C_max is None else float(model.C_max),
            "metric": plan.metric,
            "choice": plan.choice,
            "chosen on": study.how_chosen,
            **seed,
        },
        "path_facts": {
            "pieces": len(path.segments),
            "C from": float(path.lo),
            "C to": float(path.hi),
            "first breakpoint": f"C = {shown(float(bends[0]))}" if len(bends) else "none",
            "last breakpoint": f"C = {shown(float(bends[-1]))}" if len(bends) else "none",
            "complete": "yes" if not path.stopped else f"no: {path.stopped}",
            "seconds, choice of C included": round(study.seconds, 3),
            "relative duality gap at the chosen C": float(model.at(study.C).duality_gap_),
        },
        "selection": selection_part(study),
        "metrics": {"parts": measured, "definitions": table(definitions, f"Definitions; {remark}")},
        "weights": _weights(study) if kernel == "linear" else None,
    }


def selection_part(study: PathStudy | Survey) -> dict[str, Any]:
    """Return the metric at every C, and the C of both rules of choice."""
    curve, metric = study.curve, study.plan.metric
    rules = {"best": curve.C_best, "one-standard-error": curve.C_one_standard_error}
    rows = [
        (rule, C, 1 / C, float(curve.at(C)), curve.error_at(C), "chosen" if rule == study.plan.choice else "")
        for rule, C in rules.items()
    ]
    header = ["rule", "C", "λ = 1/C", metric, "standard error", ""]
    spans = [(lo, hi, 1 / hi, 1 / lo if lo else np.inf) for lo, hi in curve.best_intervals]
    intervals = pd.DataFrame(spans, columns=["C from", "C to", "λ from", "λ to"])
    worst = curve.values[curve.gains.argmin()]
    words = (
        f"{metric} over C, {counted(len(curve.values), 'step')}: best {shown(curve.best)} "
        f"at C = {shown(curve.C_best)}, worst {shown(float(worst))}."
    )
    known = "for every C" if curve.is_exact else f"evaluated at {len(curve.values)} C"
    title = f"Intervals of the best value, {shown(curve.best)}"
    return {
        "rules": table(pd.DataFrame(rows, columns=header), f"{metric} on {study.how_chosen}"),
        "extreme": "largest" if curve.greater_is_better else "smallest",
        "intervals": table(intervals, title, MOST_INTERVALS, noun="interval"),
        "picture": picture(
            plot_selection(curve, metric=metric), words, f"{metric} on {study.how_chosen}, {known}."
        ),
    }


def _weights(study: PathStudy) -> dict[str, Any]:
    """Return the weights of a linear model, the largest first."""
    names, weights = study.train.X.columns, study.model.coef_at(study.C)
    order = np.argsort(-np.abs(weights), kind="stable")
    frame = pd.DataFrame({"feature": [str(names[j]) for j in order], "weight": weights[order]})
    first = frame["feature"].iloc[0]
    words = f"Weights of {counted(len(frame), 'feature')} over C; largest at the chosen C: {first}."
    title = f"Weights at C = {shown(study.C)}, largest first"
    return {
        "table": table(frame, title, MOST_WEIGHTS, noun="feature"),
        "picture": picture(
            plot_coefficients(study.model), words, "Weights for every C; marks are breakpoints."
        ),
    }
