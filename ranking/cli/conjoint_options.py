"""The options of `ranking conjoint` and `ranking simulate`: records of them, and what --help says.

Both commands read a study and fit a model in the same ways, so these options are fields of records, and
`spread` puts the fields of a record among the parameters of a command.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ranking.conjoint.data.wide import PATTERN
from ranking.conjoint.estimation.cv import Metric
from ranking.conjoint.estimation.model import Pooling
from ranking.conjoint.results.market import Rule
from ranking.studies.ranksvm import Choice

StudyFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="STUDY",
        help="Choices, .csv or .xlsx: one row an alternative, or with --wide one row a task.",
        show_default=False,
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        help="Write a report, .html, pictures inside; with the same name a workbook, .xlsx, and a folder "
        "NAME-tables with every table as .csv."
    ),
]
Scenario = Annotated[
    Path | None,
    typer.Option(help="Products to simulate, .csv or .xlsx: their names, then a column an attribute."),
]
Product = Annotated[
    str | None, typer.Option(help="The product to vary; the first one if not given.", show_default=False)
]
Shares = Annotated[Rule, typer.Option(help="How respondents choose among products.")]
Example = Annotated[
    bool,
    typer.Option("--example", help="Write a small study to try, coffee.csv and packs.csv, and leave."),
]
PartWorths = Annotated[
    Path | None,
    typer.Option(help="individual_part_worths.csv of `ranking conjoint`; else a model is fitted first."),
]
Scale = Annotated[
    float | None,
    typer.Option(min=0, help="What utilities of --part-worths are multiplied by; the report tells it."),
]
PriceCurve = Annotated[
    str | None, typer.Option(help="A product: its share and revenue at every price.", show_default=False)
]
SharesFile = Annotated[Path | None, typer.Option(help="Write the shares, .csv.")]
SharesPlot = Annotated[
    Path | None, typer.Option(help="Draw the shares, or the price curve: .png, .pdf or .svg.")
]


@dataclass(frozen=True)
class Reading:
    """Which columns of a study are what."""

    wide: Annotated[bool, typer.Option("--wide", help="One row a task, alternatives in columns.")] = False
    respondent: Annotated[str, typer.Option(help="The column of respondents.")] = "respondent"
    task: Annotated[str, typer.Option(help="The column of tasks.")] = "task"
    alternative: Annotated[
        str | None,
        typer.Option(
            help="The column of alternatives; `alternative` if there is one, else rows are numbered."
        ),
    ] = None
    chosen: Annotated[
        str | None,
        typer.Option(
            help="The column of choices; `chosen`, 1 or 0, or with --wide `choice`, the alternative's name."
        ),
    ] = None
    attributes: Annotated[
        str | None, typer.Option(help="The columns of attributes, with commas; all others if not given.")
    ] = None
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")] = None
    linear: Annotated[
        str | None, typer.Option(help="Attributes that enter as a number, with commas; others by level.")
    ] = None
    levels: Annotated[
        list[str] | None,
        typer.Option(help="Levels in order, size=small,large; may be repeated. Else sorted."),
    ] = None
    none: Annotated[
        str | None,
        typer.Option(
            help="How the none option is told: `empty`, its attributes are; a column that marks it; or the "
            "number its attributes hold."
        ),
    ] = None
    none_choice: Annotated[
        str | None, typer.Option(help="With --wide: what the choice holds where none was taken.")
    ] = None
    weight: Annotated[str | None, typer.Option(help="The column of weights of respondents.")] = None
    holdout: Annotated[
        str | None,
        typer.Option(
            help="Tasks to measure by, never to learn from: the last N of everyone, or a column of marks."
        ),
    ] = None
    pattern: Annotated[str, typer.Option(help="With --wide: how columns are called.")] = PATTERN
    sep: Annotated[str, typer.Option(help="What separates the columns of the files.")] = ","
    decimal: Annotated[str, typer.Option(help="The decimal point of the files.")] = "."
    encoding: Annotated[str, typer.Option(help="Of the files, for example latin-1.")] = "utf-8-sig"


@dataclass(frozen=True)
class Fitting:
    """How part-worths are estimated, and how their parameters are chosen."""

    pooling: Annotated[
        Pooling, typer.Option(help="One set of part-worths for all, everyone alone, or in between.")
    ] = "shrinkage"
    shrinkage: Annotated[
        str, typer.Option(help="γ to compare, with commas: near 0 everyone is alone, near 1 all are alike.")
    ] = "0.1,0.3,0.5,0.8"
    order: Annotated[
        list[str] | None,
        typer.Option(
            help="An order part-worths must keep: price=falls, quality=rises, or levels from the worst to "
            "the best, size=small,large; may be repeated."
        ),
    ] = None
    c_max: Annotated[float, typer.Option(help="Where paths in C end.")] = 0.5
    metric: Annotated[
        Metric,
        typer.Option(help="What C and γ are chosen by in the folds: hits, or how probable choices are."),
    ] = "hit_rate"
    choice: Annotated[
        Choice, typer.Option(help="The best C, or the most regularised within a standard error of it.")
    ] = "best"
    folds: Annotated[int, typer.Option(min=2, help="Of tasks, to choose C, γ and the scale by.")] = 3
    group_size: Annotated[
        int,
        typer.Option(
            min=0, help="Respondents pooled at most while choosing, as paths of large pools are long; 0: all."
        ),
    ] = 60
    refits: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Draws of respondents that the model is fitted to anew, for intervals; 100 unless everyone "
            "is alone. 0 is quick, but intervals are much too short where respondents are pooled.",
            show_default=False,
        ),
    ] = None
    jobs: Annotated[int, typer.Option(help="Processes to work with; -1 for all.")] = 1
    seed: Annotated[int, typer.Option(min=0, help="Of folds, groups and draws.")] = 0
    price_attribute: Annotated[
        str | None,
        typer.Option(help="The attribute that is money; `price` if there is one.", show_default=False),
    ] = None


def spread(**records: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that replaces parameters, which are records, by the fields of these records.

    >>> @dataclass
    ... class Size:
    ...     width: int = 1
    >>> @spread(size=Size)
    ... def show(name: str, size: Size) -> None:
    ...     print(name, size)
    >>> show("box", width=2), str(inspect.signature(show))
    box Size(width=2)
    (None, '(name: str, width: int = 1) -> None')
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def call(*given: Any, **words: Any) -> None:
            made = {
                name: record(**{f.name: words.pop(f.name) for f in fields(record) if f.name in words})
                for name, record in records.items()
            }
            command(*given, **words, **made)

        signature = inspect.signature(command)
        expand = partial(_expanded, records)
        parameters = [new for old in signature.parameters.values() for new in expand(old)]
        # an option may come before an argument without a default only by name
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
        call.__name__, call.__doc__ = command.__name__, command.__doc__
        return call

    return decorate


def _expanded(records: dict[str, type[Any]], parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return a parameter, or in its place one for each field of its record."""
    if parameter.name not in records:
        return [parameter]
    record = records[parameter.name]
    hints = get_type_hints(record, include_extras=True)
    return [
        parameter.replace(name=field.name, default=field.default, annotation=hints[field.name])
        for field in fields(record)
    ]
