"""The report of a study of an ordinal path as one HTML file; its words are in `templates/ordinal.html`."""

from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from ranking.core.validation import Integers, counted
from ranking.io.items import Items, write_whole
from ranking.metrics.levels import LEVEL_METRICS
from ranking.plot import plot_level_path, plot_levels
from ranking.report.page import Picture, Table, picture, render, shown, table
from ranking.report.sections import path_lines, path_parts, sizes
from ranking.studies.ordinal import LevelStudy

TITLE = "Ordinal regression for every C"
SCOPES = {"adjacent": "those next to its level", "all": "all of them"}
# So many scores can be followed by eye; of more items some are drawn, and the caption says so.
MOST_SCORES = 200


def write_level_report(study: LevelStudy, file: str | PathLike[str], title: str = TITLE) -> None:
    """Write the report of a study to an HTML file; an earlier file stays until the new one is complete."""
    write_whole(Path(file), level_report_html(study, title).encode())


def level_report_html(study: LevelStudy, title: str = TITLE) -> str:
    """Return the report of a study as a page that needs no other file."""
    model = study.model
    settings = {
        "levels, lowest first": ", ".join(str(name) for name in study.levels.names),
        "thresholds an item is compared with": SCOPES[model.scope],
        "thresholds are made to ascend": "yes" if model.ordered else "no",
    }
    metrics = LEVEL_METRICS.values()
    definitions = pd.DataFrame({"metric": list(LEVEL_METRICS), "definition": [m.definition for m in metrics]})
    counts = _counts(study)
    thresholds = _thresholds(study)
    own = {
        "title": title,
        "summary": level_summary(study),
        "data": _data(study),
        "counts": table(counts, "Items of each level, the lowest first"),
        "missing": counts.loc[counts["training"] == 0, "level"].tolist(),
        "confusion": [_confusion(study, *part) for part in reversed(study.parts.items())],
        "thresholds": table(thresholds, f"At C = {shown(study.C)}"),
        "thresholds_picture": _thresholds_picture(study, len(thresholds)),
        "plane": _plane(study) if model.n_features_in_ == 2 else None,
    }
    remark = "standard errors are those of the jackknife"
    shared = path_parts(study, settings, {"separable": _separable(study)}, definitions, remark)
    return render("ordinal.html", own | shared)


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


def _data(study: LevelStudy) -> Table:
    rows = [(name, items.source, len(items), items.X.shape[1]) for name, items in study.parts.items()]
    return table(pd.DataFrame(rows, columns=["part", "file", "rows", "features"]))


def _counts(study: LevelStudy) -> pd.DataFrame:
    """Return how many items of every part have each level."""
    names = [str(name) for name in study.levels.names]
    return pd.DataFrame({"level": names, **{name: study.counts(part) for name, part in study.parts.items()}})


def _separable(study: LevelStudy) -> str:
    """Return whether some scores and thresholds keep all margins of the training items, in words."""
    found = study.model.is_separable_
    if found is None:
        return f"not known: the path ends at C = {shown(study.model.C_end_)}"
    last = f"from C = {shown(study.model.C_end_)} on"
    return f"yes: every margin is kept {last}" if found else f"no: some margins stay violated {last}"


def _confusion(study: LevelStudy, part: str, items: Items) -> Table:
    counts = study.confusion(items).add_prefix("predicted ").rename_axis("true level").reset_index()
    return table(counts, f"The {part} items, {items.source}, at C = {shown(study.C)}")


def _thresholds(study: LevelStudy) -> pd.DataFrame:
    known, values = study.model.classes_, study.model.thresholds_at(study.C)
    names = [str(name) for name in known]
    numbers = [f"p{number}" for number in range(1, len(names))]
    columns = {"threshold": numbers, "level below": names[:-1], "level above": names[1:]}
    return pd.DataFrame({**columns, "value": np.asarray(values, dtype=float)})


def _thresholds_picture(study: LevelStudy, count: int) -> Picture:
    drawn, whose = _drawn(study.train)
    axes = plot_level_path(study.model, study.train.X.iloc[drawn], study.train.y[drawn])
    words = f"Scores of {whose} and the {counted(count, 'threshold')} between their levels, over C."
    caption = f"Scores of {whose}, in colours of their levels, and thresholds, for every C."
    return picture(axes, words, caption)


def _drawn(items: Items) -> tuple[Integers, str]:
    """Return the numbers of the items to draw, and which these are in words."""
    if len(items) <= MOST_SCORES:
        return np.arange(len(items)), "all training items"
    evenly = np.linspace(0, len(items) - 1, MOST_SCORES).astype(np.int64)
    return evenly, f"{MOST_SCORES} of {counted(len(items), 'training item')}"


def _plane(study: LevelStudy) -> Picture:
    axes = plot_levels(study.model, study.train.X, study.train.y)
    words = "Predicted levels over the plane of the two features, with the training items marked by theirs."
    return picture(axes, words, f"Predicted levels at C = {shown(study.C)}; rings mark wrong predictions.")
