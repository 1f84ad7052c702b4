"""The command line: `ranking ranksvm`, `ordinal`, `conjoint`, `simulate`, `graph`, `metrics`, `demo`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

import pqp
from pqp.cli import program
from pqp.cli.program import PICTURES, Words, leave_if_stopped, lined_up, progress_bar, require_output, say
from ranking.cli import conjoint as conjoint_commands
from ranking.cli import options
from ranking.cli.inputs import (
    PAGES,
    Columns,
    level_order,
    open_items,
    open_parts,
    open_preferences,
    open_scores,
    path_parameters,
    require_learnable,
)
from ranking.cli.options import Learning
from ranking.cli.output import announce, draw
from ranking.errors import ConvergenceError, StudyError, must_be
from ranking.io.items import Items, write_all
from ranking.metrics.rankings import metric_table
from ranking.ordinal.path import OrdinalSVMPath
from ranking.plot import plot_decisions, plot_preference_graph
from ranking.ranksvm.path import RankSVMPath
from ranking.report.paths import (
    confusion_text,
    level_report_html,
    predictions_csv,
    report_html,
    scores_csv,
    summary,
)
from ranking.studies.paths import PathStudy, Plan, conduct, conduct_levels

# The mixtures of `ranking demo`, of Hastie et al. (2004): ten centres per class around these points, and the
# variance around each centre.
MIDDLES = ((1.0, 0.0), (0.0, 1.0))
CENTRES, VARIANCE = 10, 0.2
PARTS = ("training", "validation", "test")
# What the library calls otherwise than the commands about items.
WORDS = Words({"cv": "--folds", "n_splits": "--folds", "random_state": "--seed", "labels": "--levels"})


class Command(program.Command):
    """A command of `ranking`, which prints each problem of a study on a line of its own."""

    failures = (*program.Command.failures, ConvergenceError)

    def explained(self, error: pqp.errors.ExplainedError, sentence: str) -> program.CommandError:
        """Return how the command ends after an error, which a sentence describes."""
        if not isinstance(error, StudyError):
            return super().explained(error, sentence)
        heading, *problems = [line.removeprefix("- ") for line in sentence.splitlines()]
        if len(problems) == 1:
            place = heading.removesuffix(error.message)
            return program.CommandError(place + problems[0])
        return program.CommandError(heading, details=problems)


app = program.make_app()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return program.main(app, "ranking", arguments)


@app.callback(invoke_without_command=True, epilog=program.CODES)
def ranking(context: typer.Context, show_version: program.Version = False) -> None:
    """Learn to rank from preferences, levels or choices, for every regularisation parameter C at once.

    \b
    Examples:
      ranking demo                          a small data set, its report and a picture
      ranking ranksvm train.svm --validate vali.svm --test test.svm --report out.html
      ranking ranksvm cars.csv --label mpg --ignore name --kernel rbf --folds 5
      ranking ordinal students.csv --target grade --levels D,C,B,A --report out.html
      ranking conjoint study.csv --holdout 3 --report out.html
      ranking simulate study.csv products.csv
      ranking graph train.svm               how many pairs each reduction leaves
      ranking metrics test.svm scores.csv   how well scores order the items

    Files are LETOR text, `label qid:query feature:value ...` (.svm, .letor, .txt, .dat), or tables (.csv),
    plain or gzip (.gz); conjoint studies are tables. `ranking COMMAND --help` explains a command.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@program.command(app, WORDS, Command)
def ranksvm(
    train: options.Train,
    *,
    learning: Learning,
    scores: options.Scores = None,
    reduction: options.Reduction = "full",
    metric: options.Metric = "pairwise_accuracy",
    label: options.Label = "y",
    query: options.Query = "qid",
) -> None:
    """Learn a ranking support vector machine for every C, choose C, and measure it.

    Labels are compared within queries only. The whole path is traced once, exactly; the metric is a step
    function of C, and its best intervals are found without a grid.

    \b
    Examples:
      ranking ranksvm train.svm --validate vali.svm --test test.svm --report out.html
      ranking ranksvm cars.csv --label mpg --ignore name --folds 10 --choice one-standard-error
      ranking ranksvm train.svm --kernel rbf --gamma 0.5 --reduction tree --scores scores.csv
    """
    require_learnable(learning, train, scores, "--scores")
    parts = open_parts(Columns(label, query, learning.ignore, learning.features), train, "TRAIN", learning)
    model = RankSVMPath(**path_parameters(learning), reduction=reduction, random_state=learning.seed)
    with progress_bar() as watch:
        study = conduct(model, *parts, Plan(metric, learning.choice, learning.folds, learning.seed), watch)
    _deliver(study, lined_up(summary(study)), {learning.report: report_html, scores: scores_csv})


@program.command(app, WORDS, Command)
def ordinal(
    data: options.Data,
    *,
    target: options.Target = "y",
    levels: options.Levels = None,
    learning: Learning,
    predictions: options.Predictions = None,
    scope: options.Scope = "adjacent",
    ordered: options.Ordered = True,
    metric: options.LevelMetric = "mean_absolute_error",
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
    require_learnable(learning, data, predictions, "--predictions")
    parts = open_parts(Columns(target, None, learning.ignore, learning.features), data, "DATA", learning)
    order = level_order(levels, parts[0], target)
    model = OrdinalSVMPath(**path_parameters(learning), levels=order, scope=scope, ordered=ordered)
    plan = Plan(metric, learning.choice, learning.folds, learning.seed)
    with progress_bar() as watch:
        study = conduct_levels(model, *parts, plan, watch)
    result = f"{lined_up(summary(study))}\n\n{confusion_text(study)}\n"
    _deliver(study, result, {learning.report: level_report_html, predictions: predictions_csv})


# here, because --help lists commands in the order in which they are added
for function in (conjoint_commands.conjoint, conjoint_commands.simulate):
    program.command(app, conjoint_commands.WORDS, Command)(function)


@program.command(app, WORDS, Command)
def graph(
    file: options.ItemsOrPairs,
    reduction: options.DrawnReduction = "tree",
    plot: options.GraphPlot = None,
    label: options.Label = "y",
    query: options.Query = "qid",
    ignore: options.Ignore = None,
) -> None:
    """Count the pairs that each reduction of the preference graph leaves, and find contradictions.

    \b
    full        every pair of items in a query with different labels
    levels      pairs of items with neighbouring labels
    transitive  pairs that do not follow from others
    tree        all items of a level with one item of the next level, and one item with all of the next

    A file with the columns `preferred` and `other` holds pairs of named items, which may be contradictory.

    \b
    Examples:
      ranking graph train.svm
      ranking graph cars.csv --label mpg --ignore name --reduction tree --plot cars.png
    """
    require_output(plot, PICTURES, "--plot", [file])
    columns, wanted = Columns(label, query, ignore), None if plot is None else reduction
    lines, made = open_preferences(file, "FILE", columns, wanted)
    drawn = None if made is None else plot_preference_graph(made)
    say(lined_up(lines))
    if drawn is not None and plot is not None:
        draw(drawn, plot)


@program.command(app, WORDS, Command)
def metrics(
    file: options.ItemsFile,
    scores: options.ScoresFile,
    k: options.Cutoff = 10,
    threshold: options.Threshold = 0.0,
    label: options.Label = "y",
    query: options.Query = "qid",
    ignore: options.Ignore = None,
) -> None:
    """Print how well scores order the items of a file, by every metric.

    \b
    Example:
      ranking ranksvm train.svm --test test.svm --scores scores.csv
      ranking metrics test.svm scores.csv --k 5
    """
    items = open_items(file, "FILE", Columns(label, query, ignore))
    values = open_scores(scores, "SCORES", items)
    table = metric_table(items.y, values, items.qid, k, threshold=threshold)
    say(table.drop(columns="definition").to_string(index=False, float_format=lambda x: f"{x:.6g}"))
    say()
    say(lined_up(dict(zip(table["metric"], table["definition"], strict=True))))


@program.command(app, WORDS, Command)
def demo(
    out: options.DemoReport = Path("ranking-demo.html"),
    items: options.DemoItems = 60,
    seed: options.DemoSeed = 0,
) -> None:
    """Rank points of two overlapping mixtures of Gaussians with an rbf kernel, for every C.

    Writes a report, and a picture of the scores at four values of C.

    \b
    Examples:
      ranking demo
      ranking demo --items 80 --seed 7 --out study.html
    """
    require_output(out, PAGES, "--out")
    parts = mixture_items(items, seed)
    with progress_bar() as watch:
        study = conduct(RankSVMPath(kernel="rbf", gamma=1.0), *parts, watch=watch)
    draw(plot_decisions(study.model, parts[0].X, parts[0].y)[0], out.with_suffix(".png"))
    _deliver(study, lined_up(summary(study)), {out: report_html})


def mixture_items(count: int = 60, seed: int = 0) -> tuple[Items, Items, Items]:
    """Return training, validation and test items, `count` each, half of them preferred (label 1).

    >>> [len(items) for items in mixture_items(10)]
    [10, 10, 10]
    """
    if count < 4 or count % 2:
        raise must_be("items", "an even number of at least 4", found=count)
    chance = np.random.default_rng(seed)
    centres = [chance.normal(middle, 1.0, (CENTRES, 2)) for middle in MIDDLES]
    y, parts = np.repeat([0.0, 1.0], count // 2), []
    for part in PARTS:
        middles = [centre[chance.integers(CENTRES, size=count // 2)] for centre in centres]
        points = chance.normal(np.concatenate(middles), np.sqrt(VARIANCE))
        parts.append(Items(pd.DataFrame(points, columns=["x1", "x2"]), y, None, f"demo, {part}"))
    train, validation, test = parts
    return train, validation, test


def _deliver(study: PathStudy, result: str, makers: Mapping[Path | None, Callable[[Any], str]]) -> None:
    """Write what was asked for and print the result; leave with a code of its own if a path was cut."""
    # all is made before anything is written, so that nothing is left behind if any of it fails
    write_all({file: maker(study).encode() for file, maker in makers.items() if file is not None})
    announce(result, makers)
    leave_if_stopped(study.model.path_.stopped)
