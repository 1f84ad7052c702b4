"""Reports: a study as one HTML file with its data, path, selection, metrics and weights.

Room: a study in, a page out, written whole or not at all.
May touch: `files`, `study`, `page`, `plot`, `graph`.
"""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ranking.arguments import Queries
from ranking.canvas import counted
from ranking.files import Items, write_whole
from ranking.graph import describe_cycle, preference_pairs
from ranking.kernels import PARAMETERS
from ranking.measures import METRICS
from ranking.page import facts, page, paragraph, picture, section, shown, table
from ranking.plot import plot_coefficients, plot_decision, plot_pair_counts, plot_selection
from ranking.study import Study

# Longer lists are cut, and say so.
MOST_INTERVALS, MOST_WEIGHTS = 20, 200
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
        section("Model", _model(study)),
        section("Path", _path(study)),
        section("Choice of C", _selection(study)),
        section("Metrics", _metrics(study)),
        section("Pairs", _pairs(study)),
    ]
    if study.model.kernel == "linear":
        parts.append(section("Weights", _weights(study)))
    if study.model.n_features_in_ == 2:
        parts.append(section("Scores", _plane(study)))
    return page(title, parts)


def summary(study: Study) -> dict[str, str]:
    """Return the result in a few lines, by name."""
    metric, curve, path = study.plan.metric, study.curve, study.model.path_
    lines = {name: _sizes(items) for name, items in study.parts.items()}
    lines["pairs"] = f"{counted(len(study.model.preferences_), 'pair')} ({study.model.reduction})"
    reach = f"C from 0 to {shown(float(path.hi))}"
    early = f", stopped early: {path.stopped}" if path.stopped else ""
    lines["path"] = f"{counted(len(path.segments), 'piece')} for {reach}, {study.seconds:.2g} s in all{early}"
    best = f"{metric} {shown(curve.best)} for C in {_interval(max(curve.best_intervals, key=_ratio))}"
    lines["best"] = f"{best}, on {study.how_chosen}"
    lines["chosen"] = f"C = {shown(study.C)}, lambda = {shown(1 / study.C)} ({study.plan.choice})"
    for name, items in study.parts.items():
        lines[f"{name} metric"] = f"{metric} {shown(study.measure(items))}"
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


def _model(study: Study) -> Iterator[str]:
    model, plan = study.model, study.plan
    settings: dict[str, Any] = {"kernel": str(model.kernel)}
    for name in PARAMETERS.get(str(model.kernel), ()):
        settings[name] = float(getattr(model.representation_, name))
    settings |= {
        "reduction of pairs": model.reduction,
        "largest C asked for": float(model.C_max),
        "metric": plan.metric,
        "choice": plan.choice,
        "chosen on": study.how_chosen,
    }
    if study.validation is None:
        settings["seed of the folds"] = plan.seed
    yield paragraph(DEFINITION)
    yield facts(settings)


def _path(study: Study) -> Iterator[str]:
    model = study.model
    path, bends = model.path_, model.breakpoints_
    yield facts(
        {
            "pieces": len(path.segments),
            "C from": 0.0,
            "C to": float(path.hi),
            "first breakpoint": f"C = {shown(float(bends[0]))}" if len(bends) else "none",
            "last breakpoint": f"C = {shown(float(bends[-1]))}" if len(bends) else "none",
            "complete": "yes" if not path.stopped else f"no: {path.stopped}",
            "seconds, choice of C included": round(study.seconds, 3),
            "relative duality gap at the chosen C": float(model.at(study.C).duality_gap_),
        }
    )


def _selection(study: Study) -> Iterator[str]:
    curve, metric = study.curve, study.plan.metric
    rules = {"best": curve.C_best, "one-standard-error": curve.C_one_standard_error}
    rows = [
        (rule, C, 1 / C, float(curve.at(C)), curve.error_at(C), "chosen" if rule == study.plan.choice else "")
        for rule, C in rules.items()
    ]
    yield table(
        ("rule", "C", "λ = 1/C", metric, "standard error", ""), rows, f"{metric} on {study.how_chosen}"
    )
    yield paragraph(
        "best: the middle, on a logarithmic axis, of the widest interval with the largest value. "
        "one-standard-error: the most regularised C within one standard error of it."
    )
    intervals = curve.best_intervals
    spans = [(lo, hi, _reciprocal(hi), _reciprocal(lo)) for lo, hi in intervals[:MOST_INTERVALS]]
    yield table(
        ("C from", "C to", "λ from", "λ to"), spans, f"Intervals of the best value, {shown(curve.best)}"
    )
    yield _left_out(len(intervals) - MOST_INTERVALS, "interval")
    words = (
        f"{metric} over C, a step function of {counted(len(curve.values), 'step')}: best {shown(curve.best)} "
        f"at C = {shown(curve.C_best)}, worst {shown(float(curve.values.min()))}."
    )
    yield picture(
        plot_selection(curve, metric=metric), words, f"{metric} on {study.how_chosen}, for every C."
    )


def _metrics(study: Study) -> Iterator[str]:
    for name, items in reversed(study.parts.items()):
        measured = study.table(items)
        rows = measured.drop(columns="definition").astype(object).to_numpy().tolist()
        title = f"On the {name} items, {items.source}, at C = {shown(study.C)}"
        yield table(("metric", "value", "standard error", "queries"), rows, title)
        for metric, reason in measured.loc[measured["value"].isna(), ["metric", "definition"]].to_numpy():
            yield paragraph(f"{metric}: {reason}", "note")
    yield paragraph("The model learnt from the training items: their values are too good.", "note")
    definitions = [(name, metric.definition) for name, metric in METRICS.items()]
    yield table(("metric", "definition"), definitions, "Definitions; each is a mean over queries")


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


def _weights(study: Study) -> Iterator[str]:
    names, weights = study.train.X.columns, study.model.coef_at(study.C)
    order = np.argsort(-np.abs(weights), kind="stable")
    rows = [(str(names[j]), float(weights[j])) for j in order]
    yield table(("feature", "weight"), rows[:MOST_WEIGHTS], f"Weights at C = {shown(study.C)}, largest first")
    yield _left_out(len(rows) - MOST_WEIGHTS, "feature")
    words = f"Weights of {counted(len(rows), 'feature')} over C; largest at the chosen C: {rows[0][0]}."
    yield picture(plot_coefficients(study.model), words, "Weights for every C; marks are breakpoints.")


def _plane(study: Study) -> Iterator[str]:
    axes = plot_decision(study.model, study.train.X, study.train.y)
    words = "Scores over the plane of the two features, with the training items marked by their labels."
    yield picture(axes, words, f"Scores at C = {shown(study.C)}: the darker, the more preferred.")


def _sizes(items: Items) -> str:
    several = f", {counted(items.queries, 'query')}" if items.qid is not None else ""
    return (
        f"{counted(len(items), 'row')}{several}, {counted(items.X.shape[1], 'feature')}, from {items.source}"
    )


def _pair_count(y: Any, qid: Queries | None) -> int:
    return len(preference_pairs(y, qid))


def _interval(ends: tuple[float, float]) -> str:
    return f"[{shown(ends[0])}, {shown(ends[1])}]"


def _ratio(ends: tuple[float, float]) -> float:
    return ends[1] / ends[0] if ends[0] > 0 else np.inf


def _reciprocal(value: float) -> float:
    return 1 / value if value else np.inf


def _left_out(count: int, word: str) -> str:
    return paragraph(f"{counted(count, word)} more left out.", "note") if count > 0 else ""
