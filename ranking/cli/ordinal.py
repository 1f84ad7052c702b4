"""The command `ranking ordinal`: levels of items learnt for every C, C chosen, predictions measured."""

from pathlib import Path

from pqp.cli.program import leave_if_stopped, lined_up, progress_bar, require_output
from ranking.cli import options
from ranking.cli.inputs import PAGES, Columns, level_order, number_or_word, open_parts, require_whole_path
from ranking.cli.output import announce
from ranking.io.tables import write_all
from ranking.ordinal.path import OrdinalSVMPath
from ranking.report.ordinal import confusion_text, level_report_html, level_summary, predictions_csv
from ranking.studies.ordinal import LevelStudy, conduct_levels
from ranking.studies.ranksvm import Plan


def ordinal(
    data: options.Data,
    target: options.Target = "y",
    levels: options.Levels = None,
    validate: options.Validate = None,
    test: options.Test = None,
    report: options.Report = None,
    predictions: options.Predictions = None,
    kernel: options.Kernel = "linear",
    gamma: options.Gamma = "scale",
    degree: options.Degree = 3.0,
    coef0: options.Coef0 = 1.0,
    scope: options.Scope = "adjacent",
    ordered: options.Ordered = True,
    c_max: options.CMax = 1000.0,
    metric: options.LevelMetric = "mean_absolute_error",
    choice: options.Choice = "best",
    folds: options.Folds = 5,
    seed: options.Seed = 0,
    ignore: options.Ignore = None,
    features: options.Features = None,
    max_pieces: options.MaxPieces = None,
    time_limit: options.TimeLimit = None,
) -> None:
    """Learn levels that have an order, such as grades, for every C, choose C, and measure predictions.

    Thresholds cut the score of an item into levels; items should keep a margin of 1 from the thresholds. The
    whole path is traced once, exactly; the metric is a step function of C, and its best intervals are found
    without a grid.

    \b
    Examples:
      ranking ordinal students.csv --target grade --levels D,C,B,A --report out.html
      ranking ordinal wine.csv --target quality --test new.csv --folds 10 --predictions levels.csv
      ranking ordinal students.csv --target grade --levels D,C,B,A --kernel rbf --gamma 0.01 --c-max inf
    """
    require_whole_path(validate, max_pieces, time_limit)
    inputs = [file for file in (data, validate, test) if file is not None]
    require_output(report, PAGES, "--report", inputs)
    require_output(predictions, (".csv",), "--predictions", inputs)
    parts = open_parts(Columns(target, None, ignore, features), data, "DATA", validate, test)
    model = OrdinalSVMPath(
        C_max=c_max,
        kernel=kernel,
        gamma=number_or_word(gamma, ("scale", "auto"), "--gamma"),
        degree=degree,
        coef0=coef0,
        levels=level_order(levels, parts[0], target),
        scope=scope,
        ordered=ordered,
        max_pieces=max_pieces,
        time_limit=time_limit,
    )
    with progress_bar() as watch:
        study = conduct_levels(model, *parts, Plan(metric, choice, folds, seed), watch)
    _deliver(study, report, predictions)


def _deliver(study: LevelStudy, report: Path | None, predictions: Path | None) -> None:
    """Write what was asked for, nothing if any of it cannot be made, and print the result."""
    contents = {
        report: level_report_html(study) if report else "",
        predictions: predictions_csv(study) if predictions else "",
    }
    write_all({file: text.encode() for file, text in contents.items() if file is not None})
    announce(f"{lined_up(level_summary(study))}\n\n{confusion_text(study)}\n", contents)
    leave_if_stopped(study.model.path_.stopped)
