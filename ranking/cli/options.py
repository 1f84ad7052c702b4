"""The options of the commands: their types and what --help says about them.

Options that two commands share are fields of a record, which `pqp.cli.program.command` spreads: `Learning` of
`ranking ranksvm` and `ordinal`, `Reading` and `Fitting` of `ranking conjoint` and `simulate`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from pqp.cli.program import AtLeast, OneOf
from ranking.conjoint.data.wide import PATTERN
from ranking.conjoint.estimation.cv import Metric as ChoiceMetric
from ranking.conjoint.estimation.model import Pooling
from ranking.conjoint.results.market import Rule as RuleName
from ranking.core.graph import Reduction as ReductionName
from ranking.core.kernels import PARAMETERS
from ranking.metrics.levels import LEVEL_METRICS
from ranking.ordinal.base import Scope as ScopeName
from ranking.selection.choice_along_path import NAMES
from ranking.studies.paths import Choice as ChoiceName

# A Gram matrix does not fit into a file of items.
KERNELS = [name for name in PARAMETERS if name != "precomputed"]


def _argument(metavar: str, sentence: str) -> Any:
    return typer.Argument(metavar=metavar, help=sentence, show_default=False)


# Files

Train = Annotated[Path, _argument("TRAIN", "Items to learn from: LETOR text or CSV.")]
Data = Annotated[Path, _argument("DATA", "Items to learn from: CSV or LETOR text.")]
ItemsFile = Annotated[Path, _argument("FILE", "Items with labels: LETOR text or CSV.")]
ItemsOrPairs = Annotated[
    Path, _argument("FILE", "Items with labels, or a CSV file of pairs with the columns preferred and other.")
]
ScoresFile = Annotated[
    Path, _argument("SCORES", "Their scores: a CSV file with a column `score`, or one number per line.")
]
STUDY = "Choices, .csv or .xlsx: one row per alternative, or with --wide one row per task."
Study = Annotated[Path, _argument("STUDY", STUDY)]
OptionalStudy = Annotated[Path | None, _argument("STUDY", STUDY)]
Products = Annotated[
    Path, _argument("PRODUCTS", "The market, .csv or .xlsx: a column of names, then one per attribute.")
]
StudyReport = Annotated[
    Path | None,
    "Write a report to this .html file, pictures included; next to it, under the same name, a "
    "workbook, .xlsx, and a folder NAME-tables with every table as .csv.",
]
Scores = Annotated[
    Path | None, "Write scores and ranks of the test (else validation, else training) items to this .csv."
]
Predictions = Annotated[
    Path | None,
    Option(
        "--predictions",
        "--scores",
        help="Write scores and levels of the test (else validation, else training) items to this .csv.",
    ),
]
GraphPlot = Annotated[Path | None, "Draw the graph into this file: .png, .pdf or .svg."]
SharesFile = Annotated[Path | None, "Write the shares, or the price curve, to this .csv file."]
SharesPlot = Annotated[
    Path | None, "Draw the shares, or the price curve, into this file: .png, .pdf or .svg."
]
DemoReport = Annotated[Path, "File of the report, .html; the picture has the same name."]

# Columns of CSV files of items

Label = Annotated[str, "Column of a CSV file that holds the labels; higher is preferred."]
Target = Annotated[str, "Column of a CSV file that holds the levels."]
Levels = Annotated[str | None, "All levels, lowest first, separated by commas; needed if levels are words."]
Query = Annotated[str, "Column of a CSV file that holds the queries; qid may be missing."]
Ignore = Annotated[list[str] | None, "Column of a CSV file to leave out; may be repeated."]

# Models of items and the choice of C

Reduction = Annotated[ReductionName, "Which pairs are used; see `ranking graph --help`."]
DrawnReduction = Annotated[ReductionName, "Which reduction --plot draws."]
Scope = Annotated[ScopeName, "Thresholds that an item is compared with: those next to its level, or all."]
Ordered = Annotated[bool, "Whether the thresholds must be in ascending order."]
Metric = Annotated[str, "Metric that C is chosen by; it is maximised.", OneOf(list(NAMES))]
LevelMetric = Annotated[str, "Metric that C is chosen by; errors are minimised.", OneOf(list(LEVEL_METRICS))]
Choice = Annotated[ChoiceName, "The best C, or the most regularised one within a standard error of the best."]
Seed = Annotated[int, "Seed of the folds and of all random draws.", AtLeast(0)]


@dataclass(frozen=True)
class Learning:
    """How a path of items is learnt and C is chosen."""

    validate: Annotated[Path | None, "File of items to choose C by, instead of cross-validation."] = None
    test: Annotated[Path | None, "File of items to measure the chosen model on."] = None
    report: Annotated[Path | None, "Write a report to this .html file, pictures included."] = None
    kernel: Annotated[str, "Kernel that compares two items.", OneOf(KERNELS)] = "linear"
    gamma: Annotated[str, "Width of rbf and poly kernels: a number, scale or auto."] = "scale"
    degree: Annotated[float, "Degree of the polynomial kernel."] = 3.0
    coef0: Annotated[float, "Constant term of the polynomial kernel."] = 1.0
    c_max: Annotated[float, "Largest C of the path; inf for the whole path."] = 1000.0
    choice: Choice = "best"
    folds: Annotated[int, "Number of folds of the cross-validation without --validate.", AtLeast(2)] = 5
    seed: Seed = 0
    ignore: Ignore = None
    features: Annotated[
        int | None, "Number of features of LETOR files, if TRAIN lacks the last ones.", AtLeast(1)
    ] = None
    max_pieces: Annotated[int | None, "Stop the path after this many pieces.", AtLeast(1)] = None
    time_limit: Annotated[float | None, "Stop the path after this many seconds."] = None


# Metrics and demonstration

Cutoff = Annotated[int, "Number of items at the top that NDCG@k looks at.", AtLeast(1)]
Threshold = Annotated[float, "Items with a label above this number count as relevant."]
DemoItems = Annotated[int, "Number of items to learn from; must be even.", AtLeast(4)]
DemoSeed = Annotated[int, "Seed of the items; another number gives other items.", AtLeast(0)]

# Conjoint studies


@dataclass(frozen=True)
class Reading:
    """How a study is read: which columns are what, and how the file is written."""

    wide: Annotated[bool, "One row per task, its alternatives in columns."] = False
    respondent: Annotated[str, "Column that holds the respondents."] = "respondent"
    task: Annotated[str, "Column that holds the tasks."] = "task"
    alternative: Annotated[
        str | None, "Column that holds the alternatives; by default `alternative`, if it exists."
    ] = None
    chosen: Annotated[
        str | None,
        "Column that holds the choices: by default `chosen`, 1 or 0; with --wide `choice`, the name "
        "of the chosen alternative.",
    ] = None
    attributes: Annotated[
        str | None, "Columns of the attributes, separated by commas; by default all other columns."
    ] = None
    ignore: Annotated[list[str] | None, "Column to leave out; may be repeated."] = None
    linear: Annotated[
        str | None,
        "Attributes that enter as a number, separated by commas; price/10 is in units of 10. The "
        "others get one part-worth per level.",
    ] = None
    levels: Annotated[
        list[str] | None,
        "Levels of an attribute in order, size=small,large; may be repeated. By default sorted.",
    ] = None
    none: Annotated[
        str | None,
        "How to recognise the none option: `empty` if its attributes are empty, a column that marks "
        "it, or the number that its attributes hold.",
    ] = None
    none_choice: Annotated[str | None, "With --wide: the choice if none was chosen, for example 0."] = None
    weight: Annotated[str | None, "Column that holds the weights of the respondents."] = None
    holdout: Annotated[
        str | None,
        "Tasks to measure predictions by, not to learn from: a number, the last tasks of every "
        "respondent, or a column that marks them.",
    ] = None
    pattern: Annotated[str, "With --wide: how the columns of the alternatives are named."] = PATTERN
    sep: Annotated[str, r"Character between the columns of CSV files, such as ; or \t."] = ","
    decimal: Annotated[str, "Decimal point of CSV files: . or ,"] = "."
    encoding: Annotated[str, "Encoding of CSV files, for example latin-1."] = "utf-8-sig"


@dataclass(frozen=True)
class Fitting:
    """How part-worths are estimated, and how their parameters are chosen."""

    pooling: Annotated[
        Pooling, "One set of part-worths for all, one per respondent alone, or in between."
    ] = "shrinkage"
    shrinkage: Annotated[
        str, "Values of γ to compare: near 0 everyone is fitted alone, near 1 all have the same values."
    ] = "0.1,0.3,0.5,0.8"
    order: Annotated[
        list[str] | None,
        "Order that part-worths must keep: price=falls, quality=rises, or levels from the worst to "
        "the best, size=small,large; may be repeated.",
    ] = None
    c_max: Annotated[float, "Largest C of the paths."] = 0.5
    metric: Annotated[
        ChoiceMetric, "Metric that C and γ are chosen by: hits, or how probable the choices are."
    ] = "hit_rate"
    choice: Choice = "best"
    folds: Annotated[int, "Number of folds of tasks to choose C, γ and the scale by.", AtLeast(2)] = 3
    group_size: Annotated[
        int, "Respondents pooled at most while C and γ are chosen, which is faster; 0: no limit.", AtLeast(0)
    ] = 60
    refits: Annotated[
        int | None,
        "Draws of respondents to which the model is fitted again, for intervals: by default 100, or "
        "none with --pooling individual. 0 is fast, but intervals of pooled respondents are much too "
        "short.",
        AtLeast(0),
    ] = None
    jobs: Annotated[int, "Number of processes; -1 for one per processor."] = 1
    seed: Seed = 0
    price_attribute: Annotated[
        str | None, "The attribute that is money; by default `price`, if it exists."
    ] = None


Scenario = Annotated[
    Path | None, "Products to simulate, .csv or .xlsx: a column of names, then one column per attribute."
]
Product = Annotated[str | None, "The product to vary; by default the first one."]
Rule = Annotated[RuleName, "How simulated respondents choose among the products."]
Example = Annotated[bool, "Write a small study to try, coffee.csv and packs.csv, and exit."]
PartWorths = Annotated[
    Path | None, "Read individual_part_worths.csv of `ranking conjoint` instead of fitting a model first."
]
Scale = Annotated[float | None, "Factor for the utilities of --part-worths; settings.csv has it.", AtLeast(0)]
PriceCurve = Annotated[str | None, "A product: print its share and revenue at every price."]
