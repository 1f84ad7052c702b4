"""Parts that reports on all kinds of paths share: summary, settings, path, choice of C, metrics, weights."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ranking.core.kernels import PARAMETERS
from ranking.core.validation import counted
from ranking.io.items import Items
from ranking.plot import plot_coefficients, plot_selection
from ranking.report.page import picture, shown, spaced, table
from ranking.selection.curve import SelectionCurve
from ranking.studies.ranksvm import PathStudy, Plan

# Longer lists are cut, and the page says so.
MOST_INTERVALS = 20
MOST_WEIGHTS = 200


class Chosen(Protocol):
    """A study in which C was chosen by a curve."""

    @property
    def curve(self) -> SelectionCurve: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def how_chosen(self) -> str: ...


def sizes(items: Items) -> str:
    """Return the numbers of rows, queries and features, and the source, in words."""
    several = f", {counted(items.queries, 'query')}" if items.qid is not None else ""
    found = f"{counted(len(items), 'row')}{several}, {counted(items.X.shape[1], 'feature')}"
    return f"{found}, from {items.source}"


def path_lines(study: PathStudy) -> dict[str, str]:
    """Return how long the path is and which C was chosen, by name."""
    metric, curve, path = study.plan.metric, study.curve, study.model.path_
    reach = f"C from {shown(float(path.lo))} to {shown(float(path.hi))}"
    early = f", stopped early: {path.stopped}" if path.stopped else ""
    lo, hi = max(curve.best_intervals, key=_ratio)
    return {
        "path": f"{counted(len(path.segments), 'piece')} for {reach}, {study.seconds:.2g} s in all{early}",
        "best": f"{metric} {shown(curve.best)} for C in [{shown(lo)}, {shown(hi)}], on {study.how_chosen}",
        "chosen": f"C = {shown(study.C)}, lambda = {shown(1 / study.C)} ({study.plan.choice})",
    }


def path_parts(
    study: Any, settings: Mapping[str, Any], facts: Mapping[str, Any], definitions: pd.DataFrame, remark: str
) -> dict[str, Any]:
    """Return what the template of a report on a path shows of any kind of path.

    `settings` and `facts` are those of this kind alone; `definitions` are those of its metrics.
    """
    is_linear = study.model.kernel == "linear"
    return {
        "settings": _settings(study, settings),
        "path_facts": {**_path_facts(study), **facts},
        "selection": selection_part(study),
        "metrics": _metrics(study) | {"definitions": table(definitions, f"Definitions; {remark}")},
        "weights": _weights(study) if is_linear else None,
    }


def selection_part(study: Chosen) -> dict[str, Any]:
    """Return the metric at every C, and the C of both rules of choice."""
    curve, metric = study.curve, study.plan.metric
    rules = {"best": curve.C_best, "one-standard-error": curve.C_one_standard_error}
    rows = [
        (rule, C, 1 / C, float(curve.at(C)), curve.error_at(C), "chosen" if rule == study.plan.choice else "")
        for rule, C in rules.items()
    ]
    header = ["rule", "C", "λ = 1/C", metric, "standard error", ""]
    spans = [(lo, hi, _reciprocal(hi), _reciprocal(lo)) for lo, hi in curve.best_intervals]
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


def _settings(study: PathStudy, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kernel, the settings of this kind of model, and how C was chosen."""
    model, plan = study.model, study.plan
    kernel = str(model.kernel)
    parameters = {name: float(getattr(_representation(model), name)) for name in PARAMETERS.get(kernel, ())}
    chosen: dict[str, Any] = {
        "largest C asked for": float(model.C_max),
        "metric": plan.metric,
        "choice": plan.choice,
        "chosen on": study.how_chosen,
    }
    if study.validation is None:
        chosen["seed of the folds"] = plan.seed
    return {"kernel": kernel, **parameters, **own, **chosen}


def _path_facts(study: PathStudy) -> dict[str, Any]:
    model = study.model
    path, bends = model.path_, model.breakpoints_
    return {
        "pieces": len(path.segments),
        "C from": float(path.lo),
        "C to": float(path.hi),
        "first breakpoint": f"C = {shown(float(bends[0]))}" if len(bends) else "none",
        "last breakpoint": f"C = {shown(float(bends[-1]))}" if len(bends) else "none",
        "complete": "yes" if not path.stopped else f"no: {path.stopped}",
        "seconds, choice of C included": round(study.seconds, 3),
        "relative duality gap at the chosen C": float(model.at(study.C).duality_gap_),
    }


def _metrics(study: Any) -> dict[str, Any]:
    """Return every metric of every part of a study, the last part first, with reasons for missing values."""
    parts = []
    for name, items in reversed(study.parts.items()):
        measured = study.table(items)
        missing = measured.loc[measured["value"].isna(), ["metric", "definition"]]
        title = f"On the {name} items, {items.source}, at C = {shown(study.C)}"
        values = table(spaced(measured.drop(columns="definition")), title)
        parts.append({"table": values, "undefined": missing.to_numpy().tolist()})
    return {"parts": parts}


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


def _representation(model: Any) -> Any:
    """Return where a fitted path keeps its kernel."""
    return model.training_.representation if hasattr(model, "training_") else model.representation_


def _ratio(ends: tuple[float, float]) -> float:
    return ends[1] / ends[0] if ends[0] > 0 else np.inf


def _reciprocal(value: float) -> float:
    return 1 / value if value else np.inf
