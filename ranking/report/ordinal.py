"""Reports on ordinal paths: data, path, choice of C, predictions, thresholds and weights as one HTML file."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from ranking.io.tables import Items, write_whole
from ranking.measures.levels import LEVEL_METRICS
from ranking.plot import plot_level_path, plot_levels
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
from ranking.studies.ordinal import LevelStudy

TITLE = "Ordinal regression for every C"
DEFINITION = (
    "An item x has the level k if its score f(x) lies between the thresholds pₖ and pₖ₊₁. The model "
    "minimises ½‖f‖² + C Σ ξ over f, p and ξ ≥ 0, where every item is to be at least 1 beyond the thresholds "
    "it is compared with, f(x) ≥ pₖ + 1 − ξ and f(x) ≤ pₖ₊₁ − 1 + ξ. C multiplies the loss; Izunaga, Sato, "
    "Tatsumi and Yamamoto (2014) minimise ‖f‖² + c Σ ξ, whose c is 2 C."
)
SCOPES = {"adjacent": "those beside its level", "all": "all of them"}
# So many scores can be followed by eye; of more items some are drawn, and the caption says so.
MOST_SCORES = 200


def write_level_report(study: LevelStudy, file: str | PathLike[str], title: str = TITLE) -> None:
    """Write the report of a study to an HTML file; what was there before stays until it is complete."""
    write_whole(Path(file), level_report_html(study, title).encode())


def level_report_html(study: LevelStudy, title: str = TITLE) -> str:
    """Return the report of a study as a page that needs no other file."""
    model = study.model
    settings = {
        "levels, lowest first": ", ".join(str(name) for name in study.levels.names),
        "thresholds an item is compared with": SCOPES[model.scope],
        "thresholds are made to ascend": "yes" if model.ordered else "no",
    }
    definitions = {name: metric.definition for name, metric in LEVEL_METRICS.items()}
    parts = [
        section("Result", _result(study)),
        section("Data", _data(study)),
        section("Model", model_section(study, DEFINITION, settings)),
        section("Path", path_section(study, {"separable": _separable(study)})),
        section("Choice of C", selection_section(study)),
        section("Predictions", _confusion(study)),
        section("Metrics", metrics_section(study, definitions, "standard errors are those of the jackknife")),
        section("Thresholds", _thresholds(study)),
    ]
    if model.kernel == "linear":
        parts.append(section("Weights", weights_section(study)))
    if model.n_features_in_ == 2:
        parts.append(section("Levels in the plane", _plane(study)))
    return page(title, parts)


def level_summary(study: LevelStudy) -> dict[str, str]:
    """Return the result in a few lines, by name."""
    lines = {name: sizes(items) for name, items in study.parts.items()}
    lines["levels"] = " < ".join(str(name) for name in study.levels.names)
    lines |= path_lines(study)
    lines["separable"] = _separable(study)
    for name, items in study.parts.items():
        lines[f"{name} metric"] = f"{study.plan.metric} {shown(study.measure(items))}"
    return lines


def predictions_csv(study: LevelStudy) -> str:
    """Return label, score and prediction of the test items, else the validation, else the training items."""
    items = list(study.parts.values())[-1]
    scores = study.model.predict_projection(items.X)
    return pd.DataFrame({"y": items.y, "score": scores, "predicted": study.predicted(items)}).to_csv(
        index=False
    )


def confusion_text(study: LevelStudy) -> str:
    """Return what was predicted for the test items, else the validation, else the training items, as text."""
    name, items = list(study.parts.items())[-1]
    return f"{name} items, true level by row, predicted by column:\n{study.confusion(items).to_string()}"


def _result(study: LevelStudy) -> Iterator[str]:
    yield facts({name.capitalize(): text for name, text in level_summary(study).items()})


def _data(study: LevelStudy) -> Iterator[str]:
    rows = [(name, items.source, len(items), items.X.shape[1]) for name, items in study.parts.items()]
    yield table(("part", "file", "rows", "features"), rows)
    counts = np.column_stack([study.counts(items) for items in study.parts.values()]).tolist()
    levels = [(str(name), *row) for name, row in zip(study.levels.names, counts, strict=True)]
    yield table(("level", *study.parts), levels, "Items of each level, the lowest first")
    missing = [str(name) for (name, *row) in levels if not row[0]]
    if missing:
        yield paragraph(
            f"No training item has the level {', '.join(missing)}: it is never predicted.", "note"
        )


def _separable(study: LevelStudy) -> str:
    """Say whether some scores and thresholds keep all margins of the training items."""
    found = study.model.is_separable_
    if found is None:
        return f"not known: the path ends at C = {shown(study.model.C_end_)}"
    last = f"from C = {shown(study.model.C_end_)} on"
    return f"yes: every margin is kept {last}" if found else f"no: some margins stay violated {last}"


def _confusion(study: LevelStudy) -> Iterator[str]:
    for name, items in reversed(study.parts.items()):
        counts = study.confusion(items)
        rows = [(level, *row) for level, row in zip(counts.index, counts.to_numpy().tolist(), strict=True)]
        title = f"The {name} items, {items.source}, at C = {shown(study.C)}"
        yield table(("true level", *(f"predicted {column}" for column in counts.columns)), rows, title)


def _thresholds(study: LevelStudy) -> Iterator[str]:
    known, values = study.model.classes_, study.model.thresholds_at(study.C)
    rows = [
        (f"p{number}", str(below), str(above), float(value))
        for number, (below, above, value) in enumerate(zip(known[:-1], known[1:], values, strict=True), 1)
    ]
    yield table(("threshold", "level below", "level above", "value"), rows, f"At C = {shown(study.C)}")
    drawn, whose = _drawn(study.train)
    axes = plot_level_path(study.model, study.train.X.iloc[drawn], study.train.y[drawn])
    words = f"Scores of {whose} and the {counted(len(rows), 'threshold')} between their levels, over C."
    yield picture(axes, words, f"Scores of {whose}, in colours of their levels, and thresholds, for every C.")


def _drawn(items: Items) -> tuple[np.ndarray, str]:
    """Return the numbers of the items to draw, and which these are in words."""
    if len(items) <= MOST_SCORES:
        return np.arange(len(items)), "all training items"
    evenly = np.linspace(0, len(items) - 1, MOST_SCORES).astype(np.int64)
    return evenly, f"{MOST_SCORES} of {counted(len(items), 'training item')}"


def _plane(study: LevelStudy) -> Iterator[str]:
    axes = plot_levels(study.model, study.train.X, study.train.y)
    words = "Predicted levels over the plane of the two features, with the training items marked by theirs."
    yield picture(axes, words, f"Predicted levels at C = {shown(study.C)}; rings mark wrong ones.")
