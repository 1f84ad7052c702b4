"""The options of the commands: their types and what --help says about them."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import typer
from typer import Option

from pqp.cli.program import CommandError
from ranking.conjoint.data.wide import PATTERN
from ranking.conjoint.estimation.cv import Metric as ChoiceMetric
from ranking.conjoint.estimation.model import Pooling as PoolingName
from ranking.conjoint.results.market import Rule as RuleName
from ranking.core.graph import Reduction as ReductionName
from ranking.core.kernels import PARAMETERS
from ranking.metrics.levels import LEVEL_METRICS
from ranking.ordinal.base import Scope as ScopeName
from ranking.selection.curve import NAMES
from ranking.studies.ranksvm import Choice as ChoiceName

# A Gram matrix does not fit into a file of items.
KERNELS = [name for name in PARAMETERS if name != "precomputed"]


def _argument(metavar: str, sentence: str) -> Any:
    return typer.Argument(metavar=metavar, help=sentence, show_default=False)


def _choice(option: str, names: Iterable[str], sentence: str) -> Any:
    """Return an option whose value is one of some names; to a wrong one it answers with the nearest."""
    known = list(names)

    def read(word: str) -> str:
        if word in known:
            return word
        near = difflib.get_close_matches(word, known, n=1)
        guess = f"; did you mean {near[0]!r}?" if near else ""
        raise CommandError(f"{option} must be one of {', '.join(known)}, got {word!r}{guess}")

    return Option(option, parser=read, metavar=f"<{'|'.join(known)}>", help=sentence)


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
Validate = Annotated[Path | None, Option(help="File of items to choose C by, instead of cross-validation.")]
Test = Annotated[Path | None, Option(help="File of items to measure the chosen model on.")]
Report = Annotated[Path | None, Option(help="Write a report to this .html file, pictures included.")]
StudyReport = Annotated[
    Path | None,
    Option(
        help="Write a report to this .html file, pictures included; next to it, under the same name, a "
        "workbook, .xlsx, and a folder NAME-tables with every table as .csv."
    ),
]
Scores = Annotated[
    Path | None,
    Option(help="Write scores and ranks of the test (else validation, else training) items to this .csv."),
]
Predictions = Annotated[
    Path | None,
    Option(
        "--predictions",
        "--scores",
        help="Write scores and levels of the test (else validation, else training) items to this .csv.",
    ),
]
GraphPlot = Annotated[Path | None, Option(help="Draw the graph into this file: .png, .pdf or .svg.")]
SharesFile = Annotated[Path | None, Option(help="Write the shares, or the price curve, to this .csv file.")]
SharesPlot = Annotated[
    Path | None, Option(help="Draw the shares, or the price curve, into this file: .png, .pdf or .svg.")
]
DemoReport = Annotated[Path, Option(help="File of the report, .html; the picture has the same name.")]

# Columns of CSV files of items

Label = Annotated[str, Option(help="Column of a CSV file that holds the labels; higher is preferred.")]
Target = Annotated[str, Option(help="Column of a CSV file that holds the levels.")]
Levels = Annotated[
    str | None, Option(help="All levels, lowest first, separated by commas; needed if levels are words.")
]
Query = Annotated[str, Option(help="Column of a CSV file that holds the queries; qid may be missing.")]
Ignore = Annotated[list[str] | None, Option(help="Column of a CSV file to leave out; may be repeated.")]
Features = Annotated[
    int | None, Option(min=1, help="Number of features of LETOR files, if TRAIN lacks the last ones.")
]

# Models and the choice of C

Kernel = Annotated[str, _choice("--kernel", KERNELS, "Kernel that compares two items.")]
Gamma = Annotated[str, Option(help="Width of the rbf and poly kernels: a number, scale or auto.")]
Degree = Annotated[float, Option(help="Degree of the polynomial kernel.")]
Coef0 = Annotated[float, Option(help="Constant term of the polynomial kernel.")]
Reduction = Annotated[
    ReductionName,
    _choice("--reduction", get_args(ReductionName), "Which pairs are used; see `ranking graph --help`."),
]
DrawnReduction = Annotated[
    ReductionName, _choice("--reduction", get_args(ReductionName), "Which reduction --plot draws.")
]
Scope = Annotated[
    ScopeName,
    _choice(
        "--scope",
        get_args(ScopeName),
        "Thresholds that an item is compared with: those next to its level, or all.",
    ),
]
Ordered = Annotated[bool, Option(help="Whether the thresholds must be in ascending order.")]
CMax = Annotated[float, Option(help="Largest C of the path; inf for the whole path.")]
Metric = Annotated[str, _choice("--metric", NAMES, "Metric that C is chosen by; it is maximised.")]
LevelMetric = Annotated[
    str, _choice("--metric", LEVEL_METRICS, "Metric that C is chosen by; errors are minimised.")
]
Choice = Annotated[
    ChoiceName,
    _choice(
        "--choice",
        get_args(ChoiceName),
        "The best C, or the most regularised one within a standard error of the best.",
    ),
]
Folds = Annotated[int, Option(min=2, help="Number of folds of the cross-validation without --validate.")]
Seed = Annotated[int, Option(min=0, help="Seed of the folds and of all random draws.")]
MaxPieces = Annotated[int | None, Option(min=1, help="Stop the path after this many pieces.")]
TimeLimit = Annotated[float | None, Option(help="Stop the path after this many seconds.")]

# Metrics and demonstration

Cutoff = Annotated[int, Option(min=1, help="Number of items at the top that NDCG@k looks at.")]
Threshold = Annotated[float, Option(help="Items with a label above this number count as relevant.")]
DemoItems = Annotated[int, Option(min=4, help="Number of items to learn from; must be even.")]
DemoSeed = Annotated[int, Option(min=0, help="Seed of the items; another number gives other items.")]

# Conjoint studies: columns and files

Wide = Annotated[bool, Option("--wide", help="One row per task, with its alternatives in columns.")]
Respondent = Annotated[str, Option(help="Column that holds the respondents.")]
Task = Annotated[str, Option(help="Column that holds the tasks.")]
Alternative = Annotated[
    str | None, Option(help="Column that holds the alternatives; by default `alternative`, if it exists.")
]
Chosen = Annotated[
    str | None,
    Option(
        help="Column that holds the choices: by default `chosen`, 1 or 0; with --wide `choice`, the name of "
        "the chosen alternative."
    ),
]
AttributeColumns = Annotated[
    str | None, Option(help="Columns of the attributes, separated by commas; by default all other columns.")
]
IgnoreColumn = Annotated[list[str] | None, Option(help="Column to leave out; may be repeated.")]
Linear = Annotated[
    str | None,
    Option(
        help="Attributes that enter as a number, separated by commas; price/10 is in units of 10. The others "
        "get one part-worth per level."
    ),
]
AttributeLevels = Annotated[
    list[str] | None,
    Option(help="Levels of an attribute in order, size=small,large; may be repeated. By default sorted."),
]
NoneOption = Annotated[
    str | None,
    Option(
        help="How to recognise the none option: `empty` if its attributes are empty, a column that marks it, "
        "or the number that its attributes hold."
    ),
]
NoneChoice = Annotated[str | None, Option(help="With --wide: the choice if none was chosen, for example 0.")]
Weight = Annotated[str | None, Option(help="Column that holds the weights of the respondents.")]
Holdout = Annotated[
    str | None,
    Option(
        help="Tasks to measure predictions by, not to learn from: a number, the last tasks of every "
        "respondent, or a column that marks them."
    ),
]
Pattern = Annotated[str, Option(help="With --wide: how the columns of the alternatives are named.")]
Separator = Annotated[str, Option(help=r"Character between the columns of CSV files, such as ; or \t.")]
Decimal = Annotated[str, Option(help="Decimal point of CSV files: . or ,")]
Encoding = Annotated[str, Option(help="Encoding of CSV files, for example latin-1.")]

# Conjoint studies: estimation and simulation

Pooling = Annotated[
    PoolingName,
    _choice(
        "--pooling",
        get_args(PoolingName),
        "One set of part-worths for all, one per respondent alone, or in between.",
    ),
]
Shrinkage = Annotated[
    str,
    Option(help="Values of γ to compare: near 0 everyone is fitted alone, near 1 all have the same values."),
]
Order = Annotated[
    list[str] | None,
    Option(
        help="Order that part-worths must keep: price=falls, quality=rises, or levels from the worst to the "
        "best, size=small,large; may be repeated."
    ),
]
StudyCMax = Annotated[float, Option(help="Largest C of the paths.")]
StudyMetric = Annotated[
    ChoiceMetric,
    _choice(
        "--metric",
        get_args(ChoiceMetric),
        "Metric that C and γ are chosen by: hits, or how probable the choices are.",
    ),
]
StudyFolds = Annotated[int, Option(min=2, help="Number of folds of tasks to choose C, γ and the scale by.")]
GroupSize = Annotated[
    int,
    Option(min=0, help="Respondents pooled at most while C and γ are chosen, which is faster; 0: no limit."),
]
Refits = Annotated[
    int | None,
    Option(
        min=0,
        help="Draws of respondents to which the model is fitted again, for intervals: by default 100, or "
        "none with --pooling individual. 0 is fast, but intervals of pooled respondents are much too short.",
        show_default=False,
    ),
]
Jobs = Annotated[int, Option(help="Number of processes; -1 for one per processor.")]
PriceAttribute = Annotated[
    str | None, Option(help="The attribute that is money; by default `price`, if it exists.")
]
Scenario = Annotated[
    Path | None,
    Option(help="Products to simulate, .csv or .xlsx: a column of names, then one column per attribute."),
]
Product = Annotated[str | None, Option(help="The product to vary; by default the first one.")]
Rule = Annotated[
    RuleName, _choice("--rule", get_args(RuleName), "How simulated respondents choose among the products.")
]
Example = Annotated[
    bool, Option("--example", help="Write a small study to try, coffee.csv and packs.csv, and exit.")
]
PartWorths = Annotated[
    Path | None,
    Option(help="Read individual_part_worths.csv of `ranking conjoint` instead of fitting a model first."),
]
Scale = Annotated[
    float | None,
    Option(min=0, help="Factor for the utilities of --part-worths; settings.csv has it."),
]
PriceCurve = Annotated[str | None, Option(help="A product: print its share and revenue at every price.")]


@dataclass(frozen=True)
class Reading:
    """How a study is read: which columns are what, and how the file is written."""

    wide: Wide = False
    respondent: Respondent = "respondent"
    task: Task = "task"
    alternative: Alternative = None
    chosen: Chosen = None
    attributes: AttributeColumns = None
    ignore: IgnoreColumn = None
    linear: Linear = None
    levels: AttributeLevels = None
    none: NoneOption = None
    none_choice: NoneChoice = None
    weight: Weight = None
    holdout: Holdout = None
    pattern: Pattern = PATTERN
    sep: Separator = ","
    decimal: Decimal = "."
    encoding: Encoding = "utf-8-sig"


@dataclass(frozen=True)
class Fitting:
    """How part-worths are estimated, and how their parameters are chosen."""

    pooling: Pooling = "shrinkage"
    shrinkage: Shrinkage = "0.1,0.3,0.5,0.8"
    order: Order = None
    c_max: StudyCMax = 0.5
    metric: StudyMetric = "hit_rate"
    choice: Choice = "best"
    folds: StudyFolds = 3
    group_size: GroupSize = 60
    refits: Refits = None
    jobs: Jobs = 1
    seed: Seed = 0
    price_attribute: PriceAttribute = None


Record = TypeVar("Record", Reading, Fitting)


def collect(record: type[Record], context: typer.Context) -> Record:
    """Return the options of a command that belong to a record."""
    return record(**{field.name: context.params[field.name] for field in fields(record)})
