"""The options of the commands: their types and what --help says about them.

Options that two commands share are fields of a record, which `pqp.cli.program.command` spreads: `Learning` of
`ranking ranksvm` and `ordinal`, `Reading` and `Fitting` of `ranking conjoint` and `simulate`.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer import Option

from pqp.cli.program import CommandError, number_option
from ranking.conjoint.data.wide import PATTERN
from ranking.conjoint.estimation.cv import Metric as ChoiceMetric
from ranking.conjoint.estimation.model import Pooling
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

# Models of items and the choice of C

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
Seed = Annotated[int, number_option("--seed", int, "Seed of the folds and of all random draws.", least=0)]


@dataclass(frozen=True)
class Learning:
    """How a path of items is learnt and C is chosen."""

    validate: Annotated[
        Path | None, Option(help="File of items to choose C by, instead of cross-validation.")
    ] = None
    test: Annotated[Path | None, Option(help="File of items to measure the chosen model on.")] = None
    report: Annotated[Path | None, Option(help="Write a report to this .html file, pictures included.")] = (
        None
    )
    kernel: Annotated[str, _choice("--kernel", KERNELS, "Kernel that compares two items.")] = "linear"
    gamma: Annotated[str, Option(help="Width of rbf and poly kernels: a number, scale or auto.")] = "scale"
    degree: Annotated[float, number_option("--degree", float, "Degree of the polynomial kernel.")] = 3.0
    coef0: Annotated[float, number_option("--coef0", float, "Constant term of the polynomial kernel.")] = 1.0
    c_max: Annotated[
        float, number_option("--c-max", float, "Largest C of the path; inf for the whole path.")
    ] = 1000.0
    choice: Choice = "best"
    folds: Annotated[
        int,
        number_option("--folds", int, "Number of folds of the cross-validation without --validate.", least=2),
    ] = 5
    seed: Seed = 0
    ignore: Ignore = None
    features: Annotated[
        int | None,
        number_option(
            "--features", int, "Number of features of LETOR files, if TRAIN lacks the last ones.", least=1
        ),
    ] = None
    max_pieces: Annotated[
        int | None, number_option("--max-pieces", int, "Stop the path after this many pieces.", least=1)
    ] = None
    time_limit: Annotated[
        float | None, number_option("--time-limit", float, "Stop the path after this many seconds.")
    ] = None


# Metrics and demonstration

Cutoff = Annotated[
    int, number_option("--k", int, "Number of items at the top that NDCG@k looks at.", least=1)
]
Threshold = Annotated[
    float, number_option("--threshold", float, "Items with a label above this number count as relevant.")
]
DemoItems = Annotated[
    int, number_option("--items", int, "Number of items to learn from; must be even.", least=4)
]
DemoSeed = Annotated[
    int, number_option("--seed", int, "Seed of the items; another number gives other items.", least=0)
]

# Conjoint studies


@dataclass(frozen=True)
class Reading:
    """How a study is read: which columns are what, and how the file is written."""

    wide: Annotated[bool, Option("--wide", help="One row per task, its alternatives in columns.")] = False
    respondent: Annotated[str, Option(help="Column that holds the respondents.")] = "respondent"
    task: Annotated[str, Option(help="Column that holds the tasks.")] = "task"
    alternative: Annotated[
        str | None, Option(help="Column that holds the alternatives; by default `alternative`, if it exists.")
    ] = None
    chosen: Annotated[
        str | None,
        Option(
            help="Column that holds the choices: by default `chosen`, 1 or 0; with --wide `choice`, the name "
            "of the chosen alternative."
        ),
    ] = None
    attributes: Annotated[
        str | None,
        Option(help="Columns of the attributes, separated by commas; by default all other columns."),
    ] = None
    ignore: Annotated[list[str] | None, Option(help="Column to leave out; may be repeated.")] = None
    linear: Annotated[
        str | None,
        Option(
            help="Attributes that enter as a number, separated by commas; price/10 is in units of 10. The "
            "others get one part-worth per level."
        ),
    ] = None
    levels: Annotated[
        list[str] | None,
        Option(help="Levels of an attribute in order, size=small,large; may be repeated. By default sorted."),
    ] = None
    none: Annotated[
        str | None,
        Option(
            help="How to recognise the none option: `empty` if its attributes are empty, a column that marks "
            "it, or the number that its attributes hold."
        ),
    ] = None
    none_choice: Annotated[
        str | None, Option(help="With --wide: the choice if none was chosen, for example 0.")
    ] = None
    weight: Annotated[str | None, Option(help="Column that holds the weights of the respondents.")] = None
    holdout: Annotated[
        str | None,
        Option(
            help="Tasks to measure predictions by, not to learn from: a number, the last tasks of every "
            "respondent, or a column that marks them."
        ),
    ] = None
    pattern: Annotated[str, Option(help="With --wide: how the columns of the alternatives are named.")] = (
        PATTERN
    )
    sep: Annotated[str, Option(help=r"Character between the columns of CSV files, such as ; or \t.")] = ","
    decimal: Annotated[str, Option(help="Decimal point of CSV files: . or ,")] = "."
    encoding: Annotated[str, Option(help="Encoding of CSV files, for example latin-1.")] = "utf-8-sig"


@dataclass(frozen=True)
class Fitting:
    """How part-worths are estimated, and how their parameters are chosen."""

    pooling: Annotated[
        Pooling,
        _choice(
            "--pooling",
            get_args(Pooling),
            "One set of part-worths for all, one per respondent alone, or in between.",
        ),
    ] = "shrinkage"
    shrinkage: Annotated[
        str,
        Option(
            help="Values of γ to compare: near 0 everyone is fitted alone, near 1 all have the same values."
        ),
    ] = "0.1,0.3,0.5,0.8"
    order: Annotated[
        list[str] | None,
        Option(
            help="Order that part-worths must keep: price=falls, quality=rises, or levels from the worst to "
            "the best, size=small,large; may be repeated."
        ),
    ] = None
    c_max: Annotated[float, number_option("--c-max", float, "Largest C of the paths.")] = 0.5
    metric: Annotated[
        ChoiceMetric,
        _choice(
            "--metric",
            get_args(ChoiceMetric),
            "Metric that C and γ are chosen by: hits, or how probable the choices are.",
        ),
    ] = "hit_rate"
    choice: Choice = "best"
    folds: Annotated[
        int,
        number_option("--folds", int, "Number of folds of tasks to choose C, γ and the scale by.", least=2),
    ] = 3
    group_size: Annotated[
        int,
        number_option(
            "--group-size",
            int,
            "Respondents pooled at most while C and γ are chosen, which is faster; 0: no limit.",
            least=0,
        ),
    ] = 60
    refits: Annotated[
        int | None,
        number_option(
            "--refits",
            int,
            "Draws of respondents to which the model is fitted again, for intervals: by default 100, or "
            "none with --pooling individual. 0 is fast, but intervals of pooled respondents are much too "
            "short.",
            least=0,
        ),
    ] = None
    jobs: Annotated[int, number_option("--jobs", int, "Number of processes; -1 for one per processor.")] = 1
    seed: Seed = 0
    price_attribute: Annotated[
        str | None, Option(help="The attribute that is money; by default `price`, if it exists.")
    ] = None


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
    number_option(
        "--scale", float, "Factor for the utilities of --part-worths; settings.csv has it.", least=0
    ),
]
PriceCurve = Annotated[str | None, Option(help="A product: print its share and revenue at every price.")]
