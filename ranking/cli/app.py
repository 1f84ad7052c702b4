"""The command line: `ranking ranksvm`, `ordinal`, `conjoint`, `simulate`, `graph`, `metrics`, `demo`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pqp.cli import kit
from pqp.cli.kit import PICTURES, leave_if_stopped, lined_up, progress_bar, require_output, say
from ranking.cli import options
from ranking.cli.conjoint import conjoint, simulate
from ranking.cli.demo import mixture_items
from ranking.cli.inputs import (
    PAGES,
    Columns,
    Command,
    number_or_word,
    open_items,
    open_preferences,
    open_scores,
    require_whole_path,
)
from ranking.cli.ordinal import ordinal
from ranking.cli.output import announce, draw
from ranking.core.graph import Reduction
from ranking.io.tables import write_whole
from ranking.measures.tables import metric_table
from ranking.plot import plot_decisions, plot_preference_graph
from ranking.ranksvm.path import RankSVMPath
from ranking.report.ranksvm import scores_csv, summary, write_report
from ranking.studies.ranksvm import Plan, Study, conduct

CODES = (
    "Exit codes: 0 done; 1 numerical trouble; 2 wrong usage, or a wrong file; 3 a limit stopped the path, "
    "what follows from the finished part is printed and written; 130 interrupted."
)


app = kit.make_app()
for function in (ordinal, conjoint, simulate):
    kit.command(app, cls=Command)(function)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return kit.main(app, "ranking", arguments)


@app.callback(invoke_without_command=True, epilog=CODES)
def ranking(
    context: typer.Context,
    show_version: kit.Version = False,
) -> None:
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
    plain or gzip (.gz); conjoint studies are tables. `ranking COMMAND --help` tells more.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@kit.command(app, cls=Command)
def ranksvm(
    train: options.Train,
    validate: options.Validate = None,
    test: options.Test = None,
    report: options.Report = None,
    scores: options.Scores = None,
    kernel: options.Kernel = "linear",
    gamma: options.Gamma = "scale",
    degree: options.OfPoly = 3.0,
    coef0: options.OfPoly = 1.0,
    reduction: options.Pairs = "full",
    c_max: options.CMax = 1000.0,
    metric: options.Metric = "pairwise_accuracy",
    choice: options.Rule = "best",
    folds: options.Folds = 5,
    seed: options.Seed = 0,
    label: options.Label = "y",
    query: options.Query = "qid",
    ignore: options.Ignore = None,
    features: options.Features = None,
    max_pieces: options.MaxPieces = None,
    time_limit: options.TimeLimit = None,
) -> None:
    """Learn a ranking support vector machine for every C, choose C, and measure it.

    Labels are compared within queries only. The whole path is traced once, exactly; the metric is a step
    function of C and its best intervals are found without a grid.

    \b
    Examples:
      ranking ranksvm train.svm --validate vali.svm --test test.svm --report out.html
      ranking ranksvm cars.csv --label mpg --ignore name --folds 10 --choice one-standard-error
      ranking ranksvm train.svm --kernel rbf --gamma 0.5 --reduction tree --scores scores.csv
    """
    require_whole_path(validate, max_pieces, time_limit)
    inputs = [file for file in (train, validate, test) if file is not None]
    require_output(report, PAGES, "--report", inputs)
    require_output(scores, (".csv",), "--scores", inputs)
    columns = Columns(label, query, tuple(ignore or ()), features)
    learnt = open_items(train, "TRAIN", columns)
    validation = open_items(validate, "--validate", columns, learnt) if validate else None
    tested = open_items(test, "--test", columns, learnt) if test else None
    model = RankSVMPath(
        C_max=c_max,
        kernel=kernel,
        gamma=number_or_word(gamma, ("scale", "auto"), "--gamma"),
        degree=degree,
        coef0=coef0,
        reduction=reduction,
        random_state=seed,
        max_pieces=max_pieces,
        time_limit=time_limit,
    )
    with progress_bar() as watch:
        study = conduct(model, learnt, validation, tested, Plan(metric, choice, folds, seed), watch)
    _deliver(study, report, scores)


@kit.command(app, cls=Command)
def graph(
    train: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Items, or a CSV of pairs, preferred and other.", show_default=False
        ),
    ],
    reduction: Annotated[Reduction, typer.Option(help="The one to draw.")] = "tree",
    plot: Annotated[Path | None, typer.Option(help="Draw the graph: .png, .pdf or .svg.")] = None,
    label: options.Label = "y",
    query: options.Query = "qid",
    ignore: options.Ignore = None,
) -> None:
    """Count the pairs that each reduction of the preference graph leaves, and find contradictions.

    full: every pair of a query with different labels; levels: of neighbouring labels; transitive: pairs
    that do not follow from others; tree: all items of a level with one of the next, and one of it with all
    of the next. A file with the columns `preferred` and `other` holds pairs of named items; these may
    contradict one another.

    \b
    Examples:
      ranking graph train.svm
      ranking graph cars.csv --label mpg --ignore name --reduction tree --plot cars.png
    """
    require_output(plot, PICTURES, "--plot", [train])
    preferences = open_preferences(train, "FILE", Columns(label, query, tuple(ignore or ()), None))
    drawn = None if plot is None else plot_preference_graph(preferences.graph(reduction))
    say(lined_up(preferences.counts() | {"cycle": preferences.cycle() or "none"}))
    if drawn is not None and plot is not None:
        draw(drawn, plot)


@kit.command(app, cls=Command)
def metrics(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Items with labels.", show_default=False)],
    scores: Annotated[
        Path,
        typer.Argument(
            metavar="SCORES",
            help="Their scores: a CSV with a column `score`, or one number a line.",
            show_default=False,
        ),
    ],
    k: Annotated[int, typer.Option(min=1, help="Of NDCG@k.")] = 10,
    threshold: Annotated[float, typer.Option(help="Items with higher labels are relevant.")] = 0.0,
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
    items = open_items(file, "FILE", Columns(label, query, tuple(ignore or ()), None))
    values = open_scores(scores, "SCORES", items)
    table = metric_table(items.y, values, items.qid, k, threshold=threshold)
    say(table.drop(columns="definition").to_string(index=False, float_format=lambda x: f"{x:.6g}"))
    say()
    say(lined_up(dict(zip(table["metric"], table["definition"], strict=True))))


@kit.command(app, cls=Command)
def demo(
    out: Annotated[Path, typer.Option(help="The report, .html; the picture has the same name.")] = Path(
        "ranking-demo.html"
    ),
    items: Annotated[int, typer.Option(min=4, help="How many items to learn from; an even number.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Another number, other items.")] = 0,
) -> None:
    """Rank points of two overlapping mixtures of Gaussians with an rbf kernel, for every C.

    Writes a report and a picture of the scores at four C.

    \b
    Examples:
      ranking demo
      ranking demo --items 80 --seed 7 --out study.html
    """
    require_output(out, PAGES, "--out", [])
    parts = mixture_items(items, seed)
    with progress_bar() as watch:
        study = conduct(RankSVMPath(kernel="rbf", gamma=1.0), *parts, watch=watch)
    draw(plot_decisions(study.model, parts[0].X, parts[0].y)[0], out.with_suffix(".png"))
    _deliver(study, out, None)


def _deliver(study: Study, report: Path | None, scores: Path | None) -> None:
    """Write what was asked for and print the result; leave with a code of its own if a path was cut."""
    if report:
        write_report(study, report)
    if scores:
        write_whole(scores, scores_csv(study).encode())
    announce(lined_up(summary(study)), (report, scores))
    leave_if_stopped(study.model.path_.stopped)
