"""The options of the command line: their types and what --help says of them."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ranking.core.graph import Reduction
from ranking.ordinal.base import Scope
from ranking.studies.ranksvm import Choice

KernelName = Literal["linear", "rbf", "poly", "tanimoto", "minmax"]
MetricName = Literal[
    "pairwise_accuracy", "ndcg", "mean_ndcg", "kendall_tau", "spearman", "mean_average_precision"
]

LevelMetricName = Literal[
    "mean_absolute_error",
    "macro_mean_absolute_error",
    "accuracy",
    "off_by_one_accuracy",
    "quadratic_weighted_kappa",
    "level_kendall_tau",
]

Train = Annotated[
    Path, typer.Argument(metavar="TRAIN", help="Items to learn from: LETOR text or CSV.", show_default=False)
]
Validate = Annotated[Path | None, typer.Option(help="Items to choose C by; else folds of TRAIN.")]
Test = Annotated[Path | None, typer.Option(help="Items to measure the chosen model on.")]
Report = Annotated[Path | None, typer.Option(help="Write a report, .html, pictures inside.")]
Scores = Annotated[
    Path | None,
    typer.Option(help="Write scores and ranks of the test, else validation, else training items, .csv."),
]
Kernel = Annotated[KernelName, typer.Option(help="How items are compared.")]
Gamma = Annotated[str, typer.Option(help="Of rbf and poly: a number, scale or auto.")]
OfPoly = Annotated[float, typer.Option(help="Of poly.")]
Pairs = Annotated[Reduction, typer.Option(help="Which pairs are used; see `ranking graph`.")]
CMax = Annotated[float, typer.Option(help="Where the path ends; inf for all of it.")]
Metric = Annotated[MetricName, typer.Option(help="What is maximised.")]
Rule = Annotated[
    Choice, typer.Option(help="The best C, or the most regularised within a standard error of it.")
]
Folds = Annotated[int, typer.Option(min=2, help="Of cross-validation, where there is no --validate.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the folds, and of random choices.")]
Label = Annotated[str, typer.Option(help="The column of labels of a CSV file; higher is preferred.")]
Query = Annotated[str, typer.Option(help="The column of queries of a CSV file; a file may lack qid.")]
Ignore = Annotated[
    list[str] | None, typer.Option(help="A column of a CSV file to leave out; may be repeated.")
]
Features = Annotated[
    int | None, typer.Option(min=1, help="Features of LETOR files, where TRAIN lacks the last ones.")
]
MaxPieces = Annotated[int | None, typer.Option(min=1, help="Stop the path after so many pieces.")]
TimeLimit = Annotated[float | None, typer.Option(help="Stop the path after so many seconds.")]

Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="Items to learn from: CSV or LETOR text.", show_default=False)
]
Target = Annotated[str, typer.Option(help="The column of levels of a CSV file.")]
LevelOrder = Annotated[
    str | None, typer.Option(help="All levels, lowest first, with commas; words need it, numbers do not.")
]
Predictions = Annotated[
    Path | None,
    typer.Option(
        "--predictions",
        "--scores",
        help="Write scores and levels of the test, else validation, else training items, .csv.",
    ),
]
Scopes = Annotated[
    Scope, typer.Option(help="Which thresholds items are compared with: those beside their level, or all.")
]
Ordered = Annotated[bool, typer.Option(help="Whether thresholds are made to ascend.")]
LevelMetric = Annotated[LevelMetricName, typer.Option(help="What C is chosen by; errors are minimised.")]
