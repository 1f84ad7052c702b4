"""The command `ranking conjoint`: part-worths from a study of choices, as a report, a workbook and tables.

The command `ranking simulate`: shares of products, from a study or from part-worths estimated before.
"""

from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from pqp.cli.kit import PICTURES, lined_up, progress_bar, require_output, say
from ranking.cli import conjoint_options as options
from ranking.cli.conjoint_options import Fitting, Reading, spread
from ranking.cli.inputs import (
    PAGES,
    open_part_worths,
    open_scenario,
    open_study,
    plan_of,
    price_of,
)
from ranking.cli.output import announce, draw, estimates_text, one_decimal, percent
from ranking.conjoint import Scenario, Simulator, price_curve, respondent_bootstrap
from ranking.conjoint.data.example import FILE, PACKAGE
from ranking.conjoint.results.bootstrap import Bootstrap
from ranking.conjoint.results.market import Rule
from ranking.errors import DataError
from ranking.io.tables import write_all, write_whole
from ranking.plots.conjoint import plot_price_curve, plot_shares
from ranking.report.conjoint import survey_report_html, survey_summary
from ranking.report.workbook import is_our_workbook, table_files, workbook_bytes
from ranking.studies.conjoint import Market, Parts, Survey, SurveyPlan, choose, conduct_survey, drawn
from ranking.studies.conjoint_tables import TITLES, survey_tables

# The study that comes with the package, products to go with it, and what to do with them.
COFFEE, PACKS = Path(FILE), Path("packs.csv")
PRODUCTS = (
    "product,brand,roast,size,price\n"
    "ours,Alba,dark,large,12\n"
    "theirs,Brio,medium,large,9\n"
    "cheap,Cima,light,small,9\n"
)
# Remarks on a study that the terminal shows.
MOST_REMARKS = 5
TRY = (
    "Now try: ranking conjoint coffee.csv --none empty --weight weight --holdout holdout "
    "--scenario packs.csv --report coffee.html"
)


@spread(reading=Reading, fitting=Fitting)
def conjoint(
    study: options.StudyFile = None,
    *,
    report: options.Report = None,
    reading: Reading,
    scenario: options.Scenario = None,
    product: options.Product = None,
    rule: options.Shares = "share_of_preference",
    fitting: Fitting,
    example: options.Example = False,
) -> None:
    """Estimate part-worths from a study of choices, and say what matters, how surely, and what would sell.

    Parameters are chosen and utilities calibrated by folds of the tasks that are not held out. Beside
    --report out.html there are out.xlsx, one sheet a table, and the folder out-tables, the same as .csv.

    \b
    Examples:
      ranking conjoint --example            writes coffee.csv and packs.csv to try
      ranking conjoint study.csv --holdout 3 --report out.html
      ranking conjoint study.csv --respondent id --chosen choice --linear price --order price=falls
      ranking conjoint coffee.csv --none empty --weight weight --holdout holdout --scenario packs.csv
      ranking conjoint tasks.csv --wide --none-choice 0 --pooling aggregate --sep ";"
    """
    if example:
        _write_example(study)
        return
    if study is None:
        raise DataError("STUDY is missing: name a .csv or .xlsx file; --example writes one to try")
    require_outputs(report, [file for file in (study, scenario) if file is not None])
    if product is not None and scenario is None:
        raise DataError("--product needs --scenario, the products it is one of")
    parts = open_study(study, reading)
    plan, price = plan_of(fitting, parts.study), price_of(fitting.price_attribute, parts.study)
    market = None
    if scenario is not None:
        products = open_scenario(scenario, "--scenario", parts.study, reading)
        market = Market(products, chosen_product(product, list(products.products), "--product"), rule)
    with progress_bar() as watch:
        survey = conduct_survey(parts, plan, source=str(study), price=price, market=market, watch=watch)
        tables = survey_tables(survey)
        page = survey_report_html(survey, tables) if report else ""
    written = _write(report, page, tables) if report else []
    announce("\n\n".join([lined_up(survey_summary(survey, tables)), *_texts(survey, tables)]), written)


def require_outputs(report: Path | None, inputs: list[Path]) -> None:
    """Raise before any work if the report or what stands beside it could not be written."""
    if report is None:
        return
    require_output(report, PAGES, "--report", inputs)
    require_output(report.with_suffix(".xlsx"), (".xlsx",), "--report", inputs)
    workbook = report.with_suffix(".xlsx")
    if workbook.exists() and not is_our_workbook(workbook):
        raise DataError(
            f"--report {report}: {workbook} is there, and not of an earlier report; move it, or rename one"
        )
    folder = _folder(report)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"--report {report}: tables go into the folder {folder}, but that is a file")
    if folder.resolve() in [file.resolve().parent for file in inputs]:
        raise DataError(f"--report {report}: tables go into the folder {folder}, where the data are")


def chosen_product(wanted: str | None, names: list[str], option: str) -> str:
    """Return the product that is varied, the first one if none is named."""
    if wanted is not None and wanted not in names:
        raise DataError(f"{option} names {wanted!r}, which is no product; there are {', '.join(names)}")
    return names[0] if wanted is None else wanted


def _write(report: Path, page: str, tables: dict[str, pd.DataFrame]) -> list[Path]:
    """Write the page, the workbook and the tables, and remove tables of an earlier report; return names."""
    folder = _folder(report)
    sheets = table_files(folder, tables)
    workbook = report.with_suffix(".xlsx")
    write_all({report: page.encode(), workbook: workbook_bytes(tables, TITLES), **sheets})
    for name in TITLES:
        if name not in tables:
            (folder / f"{name}.csv").unlink(missing_ok=True)
    return [report, workbook, folder]


def _texts(survey: Survey, tables: dict[str, pd.DataFrame]) -> Iterator[str]:
    """Yield the tables one looks at first."""
    if survey.remarks:
        told = [f"- {remark}" for remark in survey.remarks[:MOST_REMARKS]]
        more = len(survey.remarks) - MOST_REMARKS
        yield "\n".join(["Look at this", *told, *([f"- and {more} more in the report"] if more > 0 else [])])
    forms = {"estimate": one_decimal}
    yield estimates_text(tables["importances"].set_index("attribute"), "Importances in per cent", forms)
    worths = tables["part_worths"].set_index(["attribute", "level"])
    yield estimates_text(worths, "Part-worths, zero-centred diffs", forms)
    if survey.market is not None:
        rule = survey.market.rule
        shares = tables["shares"].query("rule == @rule").set_index("product")
        yield estimates_text(shares, f"Shares by {rule}", {"share": percent})


def _folder(report: Path) -> Path:
    return report.with_name(f"{report.stem}-tables")


def _write_example(study: Path | None) -> None:
    """Write the study that comes with the package, without replacing anything."""
    if study is not None:
        raise DataError(f"--example writes {COFFEE} and {PACKS}; leave out STUDY, {study}")
    for file in (COFFEE, PACKS):
        if file.exists():
            raise DataError(f"--example would overwrite {file}; go to another folder, or move it")
    coffee = (files(PACKAGE) / "data" / FILE).read_bytes()
    write_all({COFFEE: coffee, PACKS: PRODUCTS.encode()})
    announce("A made-up study of coffee, and three packs to simulate.", (COFFEE, PACKS))
    say(TRY)


# What intervals of part-worths that were read back are worth.
DRAWN = (
    "Part-worths are drawn as they are, so that intervals are much too short if respondents were pooled; "
    "without --part-worths the model is fitted to every draw anew."
)
Products = Annotated[
    Path,
    typer.Argument(
        metavar="PRODUCTS",
        help="The market, .csv or .xlsx: names of products, then a column an attribute.",
        show_default=False,
    ),
]
Study = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY", help="Choices, .csv or .xlsx; see `ranking conjoint`.", show_default=False
    ),
]


@spread(reading=Reading, fitting=Fitting)
def simulate(
    study: Study,
    products: Products,
    *,
    rule: options.Shares = "share_of_preference",
    part_worths: options.PartWorths = None,
    scale: options.Scale = None,
    price_curve: options.PriceCurve = None,
    out: options.SharesFile = None,
    plot: options.SharesPlot = None,
    reading: Reading,
    fitting: Fitting,
) -> None:
    """Print the shares that products would have, with intervals.

    Part-worths are those of `ranking conjoint`, read back, or of a model that is fitted first with the same
    choice of parameters. With --price-curve the curve is what is written and drawn.

    \b
    Examples:
      ranking simulate study.csv products.csv --holdout 3
      ranking simulate study.csv products.csv --part-worths out-tables/individual_part_worths.csv --scale 2.1
      ranking simulate study.csv products.csv --price-curve ours --plot curve.png --out curve.csv
    """
    inputs = [file for file in (study, products, part_worths) if file is not None]
    require_output(out, (".csv",), "--out", inputs)
    require_output(plot, PICTURES, "--plot", inputs)
    _require_scale(part_worths, scale, rule)
    parts = open_study(study, reading)
    scenario = open_scenario(products, "PRODUCTS", parts.study, reading)
    price = _price(price_curve, scenario, price_of(fitting.price_attribute, parts.study))
    plan = plan_of(fitting, parts.study)
    if part_worths is not None:
        table = open_part_worths(part_worths, "--part-worths", parts.study)
        simulator = _simulator(respondent_bootstrap(table, parts.train), parts, rule, scale)
        say(DRAWN)
    else:
        simulator = _fitted(parts, plan, rule)
    _deliver(simulator, scenario, price, out, plot)


def _fitted(parts: Parts, plan: SurveyPlan, rule: Rule) -> Simulator:
    """Return the simulator of a model that is fitted as `ranking conjoint` does it."""
    with progress_bar() as watch:
        search = choose(parts.train, plan, watch)
        return _simulator(drawn(search, parts.train, plan), parts, rule, search.calibration_.scale)


def _simulator(bootstrap: Bootstrap, parts: Parts, rule: Rule, scale: float | None) -> Simulator:
    return Simulator(bootstrap, parts.train, rule, scale=1.0 if scale is None else scale)


def _deliver(
    simulator: Simulator,
    scenario: Scenario,
    curve: tuple[str, str] | None,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Print shares, and the price curve if one is wanted; write and draw the last of them."""
    shares = simulator.shares(scenario)
    texts = [
        estimates_text(shares, f"Shares by {simulator.rule}, scale {simulator.scale:.4g}", {"share": percent})
    ]
    result: pd.DataFrame = shares
    drawing: Callable[[pd.DataFrame], Any] = plot_shares
    if curve is not None:
        product, price = curve
        result, drawing = price_curve(simulator, scenario, product, price), plot_price_curve
        forms = {"share": percent, "revenue": one_decimal}
        texts.append(estimates_text(result, f"{product} at every {price}, others as they are", forms))
    axes = drawing(result) if plot is not None else None
    if out is not None:
        write_whole(out, result.reset_index().to_csv(index=False).encode())
    announce("\n\n".join(texts), [out])
    if axes is not None and plot is not None:
        draw(axes, plot)


def _require_scale(part_worths: Path | None, scale: float | None, rule: Rule) -> None:
    if part_worths is None and scale is not None:
        raise DataError("--scale is for --part-worths; a model that is fitted here is calibrated")
    if part_worths is not None and scale is None and rule != "first_choice":
        raise DataError(
            f"--part-worths needs --scale for --rule {rule}: settings.csv beside it tells the scale of "
            "utilities; or say --rule first_choice"
        )


def _price(product: str | None, scenario: Scenario, price: str | None) -> tuple[str, str] | None:
    """Return the product whose price curve is wanted, and the attribute that is its price."""
    if product is None:
        return None
    chosen_product(product, list(scenario.products), "--price-curve")
    if price is None:
        raise DataError("--price-curve needs an attribute that is money; name it, --price-attribute")
    return product, price
