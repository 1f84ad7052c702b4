"""Sections that reports on all kinds of paths share: results in lines, the path, the choice of C, weights."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from ranking.core.kernels import PARAMETERS
from ranking.io.tables import Items
from ranking.plot import plot_coefficients, plot_selection
from ranking.plots.axes import counted
from ranking.report.page import facts, paragraph, picture, shown, table
from ranking.selection.curve import SelectionCurve
from ranking.studies.ranksvm import PathStudy, Plan

# Longer lists are cut, and say so.
MOST_INTERVALS, MOST_WEIGHTS = 20, 200


def sizes(items: Items) -> str:
    """Return how many rows, queries and features there are, and where they come from."""
    several = f", {counted(items.queries, 'query')}" if items.qid is not None else ""
    found = f"{counted(len(items), 'row')}{several}, {counted(items.X.shape[1], 'feature')}"
    return f"{found}, from {items.source}"


def path_lines(study: PathStudy) -> dict[str, str]:
    """Return how long the path is and which C was chosen, by name."""
    metric, curve, path = study.plan.metric, study.curve, study.model.path_
    reach = f"C from {shown(float(path.lo))} to {shown(float(path.hi))}"
    early = f", stopped early: {path.stopped}" if path.stopped else ""
    best = f"{metric} {shown(curve.best)} for C in {_interval(max(curve.best_intervals, key=_ratio))}"
    return {
        "path": f"{counted(len(path.segments), 'piece')} for {reach}, {study.seconds:.2g} s in all{early}",
        "best": f"{best}, on {study.how_chosen}",
        "chosen": f"C = {shown(study.C)}, lambda = {shown(1 / study.C)} ({study.plan.choice})",
    }


def model_section(study: PathStudy, definition: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the model is, its kernel, settings of its own, and how C was chosen."""
    model, plan = study.model, study.plan
    shown_first: dict[str, Any] = {"kernel": str(model.kernel)}
    for name in PARAMETERS.get(str(model.kernel), ()):
        shown_first[name] = float(getattr(_representation(model), name))
    rest = {
        "largest C asked for": float(model.C_max),
        "metric": plan.metric,
        "choice": plan.choice,
        "chosen on": study.how_chosen,
    }
    if study.validation is None:
        rest["seed of the folds"] = plan.seed
    yield paragraph(definition)
    yield facts({**shown_first, **settings, **rest})


def path_section(study: PathStudy, more: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Yield the facts of a path."""
    model = study.model
    path, bends = model.path_, model.breakpoints_
    yield facts(
        {
            "pieces": len(path.segments),
            "C from": float(path.lo),
            "C to": float(path.hi),
            "first breakpoint": f"C = {shown(float(bends[0]))}" if len(bends) else "none",
            "last breakpoint": f"C = {shown(float(bends[-1]))}" if len(bends) else "none",
            "complete": "yes" if not path.stopped else f"no: {path.stopped}",
            "seconds, choice of C included": round(study.seconds, 3),
            "relative duality gap at the chosen C": float(model.at(study.C).duality_gap_),
            **(more or {}),
        }
    )


class Chosen(Protocol):
    """What has a curve that C was chosen by."""

    @property
    def curve(self) -> SelectionCurve: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def how_chosen(self) -> str: ...


def selection_section(study: Chosen) -> Iterator[str]:
    """Yield the metric at every C, and both choices."""
    curve, metric = study.curve, study.plan.metric
    rules = {"best": curve.C_best, "one-standard-error": curve.C_one_standard_error}
    rows = [
        (rule, C, 1 / C, float(curve.at(C)), curve.error_at(C), "chosen" if rule == study.plan.choice else "")
        for rule, C in rules.items()
    ]
    header = ("rule", "C", "λ = 1/C", metric, "standard error", "")
    yield table(header, rows, f"{metric} on {study.how_chosen}")
    largest = "largest" if curve.greater_is_better else "smallest"
    yield paragraph(
        f"best: the middle, on a logarithmic axis, of the widest interval with the {largest} value. "
        "one-standard-error: the most regularised C within one standard error of it."
    )
    intervals = curve.best_intervals
    spans = [(lo, hi, _reciprocal(hi), _reciprocal(lo)) for lo, hi in intervals[:MOST_INTERVALS]]
    yield table(
        ("C from", "C to", "λ from", "λ to"), spans, f"Intervals of the best value, {shown(curve.best)}"
    )
    yield left_out(len(intervals) - MOST_INTERVALS, "interval")
    worst = curve.values[curve.gains.argmin()]
    words = (
        f"{metric} over C, {counted(len(curve.values), 'step')}: best {shown(curve.best)} "
        f"at C = {shown(curve.C_best)}, worst {shown(float(worst))}."
    )
    known = "for every C" if curve.is_exact else f"evaluated at {len(curve.values)} C"
    caption = f"{metric} on {study.how_chosen}, {known}."
    yield picture(plot_selection(curve, metric=metric), words, caption)


def metrics_section(study: Any, definitions: Mapping[str, str], remark: str) -> Iterator[str]:
    """Yield every metric of every part of a study, the last part first, and what the metrics are."""
    for name, items in reversed(study.parts.items()):
        measured = study.table(items)
        values = measured.drop(columns="definition")
        header = [str(column).replace("_", " ") for column in values.columns]
        title = f"On the {name} items, {items.source}, at C = {shown(study.C)}"
        yield table(header, values.astype(object).to_numpy().tolist(), title)
        for metric, reason in measured.loc[measured["value"].isna(), ["metric", "definition"]].to_numpy():
            yield paragraph(f"{metric}: {reason}", "note")
    yield paragraph("The model learnt from the training items: their values are too good.", "note")
    yield table(("metric", "definition"), definitions.items(), f"Definitions; {remark}")


def weights_section(study: PathStudy) -> Iterator[str]:
    """Yield the weights of a linear model."""
    names, weights = study.train.X.columns, study.model.coef_at(study.C)
    order = np.argsort(-np.abs(weights), kind="stable")
    rows = [(str(names[j]), float(weights[j])) for j in order]
    yield table(("feature", "weight"), rows[:MOST_WEIGHTS], f"Weights at C = {shown(study.C)}, largest first")
    yield left_out(len(rows) - MOST_WEIGHTS, "feature")
    words = f"Weights of {counted(len(rows), 'feature')} over C; largest at the chosen C: {rows[0][0]}."
    yield picture(plot_coefficients(study.model), words, "Weights for every C; marks are breakpoints.")


def left_out(count: int, word: str) -> str:
    """Return a note that a list was cut, nothing if it was not."""
    return paragraph(f"{counted(count, word)} more left out.", "note") if count > 0 else ""


def _representation(model: Any) -> Any:
    """Return where a fitted path keeps its kernel."""
    return model.training_.representation if hasattr(model, "training_") else model.representation_


def _interval(ends: tuple[float, float]) -> str:
    return f"[{shown(ends[0])}, {shown(ends[1])}]"


def _ratio(ends: tuple[float, float]) -> float:
    return ends[1] / ends[0] if ends[0] > 0 else np.inf


def _reciprocal(value: float) -> float:
    return 1 / value if value else np.inf
