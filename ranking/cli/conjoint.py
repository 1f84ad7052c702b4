"""The commands `ranking conjoint`, part-worths from a study, and `ranking simulate`, shares of products."""

import shlex
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from pqp.cli.program import PICTURES, CommandError, Words, lined_up, progress_bar, require_output, say
from ranking.cli import options
from ranking.cli.inputs import (
    EMPTY,
    PAGES,
    open_part_worths,
    open_scenario,
    open_study,
    plan_of,
    price_of,
    require_known,
)
from ranking.cli.options import Fitting, Reading
from ranking.cli.output import announce, draw, estimates_text, one_decimal, percent
from ranking.conjoint import Scenario, Simulator, respondent_bootstrap
from ranking.conjoint import price_curve as simulated_curve
from ranking.conjoint.data.example import FILE, PACKAGE
from ranking.conjoint.results.bootstrap import Bootstrap
from ranking.io.items import write_all, write_whole
from ranking.plots.conjoint import plot_price_curve, plot_shares
from ranking.report.conjoint import survey_report_html, survey_summary
from ranking.studies.conjoint import Market, choose, conduct_survey, drawn
from ranking.studies.conjoint_tables import (
    TITLES,
    is_our_workbook,
    survey_tables,
    table_files,
    workbook_bytes,
)

# The study that comes with the package, products to go with it, and what to do with them.
COFFEE = Path(FILE)
PACKS = Path("packs.csv")
PRODUCTS = (
    "product,brand,roast,size,price\n"
    "ours,Alba,dark,large,12\n"
    "theirs,Brio,medium,large,9\n"
    "cheap,Cima,light,small,9\n"
)
TRY = (
    "Now try: ranking conjoint coffee.csv --none empty --weight weight --holdout holdout "
    "--scenario packs.csv --report coffee.html"
)
# Remarks on a study that the terminal shows.
MOST_REMARKS = 5
# How far intervals of part-worths that were read from a file can be trusted.
READ_BACK = (
    "Note: part-worths from a file are not fitted again, so that intervals are much too short if respondents "
    "were pooled; without --part-worths the model is fitted to every draw."
)


def _attributes_setting(attributes: Any) -> str | None:
    """Return how to describe attributes at the shell: `{"price": "linear"}` is --linear price.

    >>> _attributes_setting({"price": "linear"}), _attributes_setting(["price"])
    ('--linear price', '--attributes price')
    """
    option = "--linear" if isinstance(attributes, dict) else "--attributes"
    return f"{option} {shlex.quote(','.join(attributes))}"


# What the library calls otherwise than these commands.
WORDS = Words(
    {"k": "--folds", "last": "--holdout", "orders": "--order", "n_jobs": "--jobs", "random_state": "--seed"},
    {
        "none": lambda value: f"--none {EMPTY if value is True else shlex.quote(str(value))}",
        "sep": lambda mark: f"--sep {shlex.quote(mark).encode('unicode_escape').decode()}",
        "attributes": _attributes_setting,
    },
)


def conjoint(
    study: options.OptionalStudy = None,
    report: options.StudyReport = None,
    *,
    reading: Reading,
    scenario: options.Scenario = None,
    product: options.Product = None,
    rule: options.Rule = "share_of_preference",
    fitting: Fitting,
    example: options.Example = False,
) -> None:
    """Estimate part-worths from a study of choices: what matters, with which certainty, and what would sell.

    The parameters C and γ and the scale of utilities are chosen by cross-validation on the tasks that are not
    held out. --report out.html also writes out.xlsx, one sheet per table, and the folder out-tables with the
    same tables as .csv.

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
        raise CommandError("STUDY is missing: name a .csv or .xlsx file; --example writes one to try")
    _require_outputs(report, [file for file in (study, scenario) if file is not None])
    if product is not None and scenario is None:
        raise CommandError("--product needs --scenario, the file of products")
    parts = open_study(study, reading)
    plan = plan_of(fitting, parts.study)
    price = price_of(fitting.price_attribute, parts.study)
    market = None
    if scenario is not None:
        products = open_scenario(scenario, "--scenario", parts.study, reading)
        market = Market(products, _chosen_product(product, products, "--product"), rule)
    with progress_bar() as watch:
        survey = conduct_survey(parts, plan, source=str(study), price=price, market=market, watch=watch)
        tables = survey_tables(survey)
        page = survey_report_html(survey, tables) if report else ""
    written = _write(report, page, tables) if report else []
    texts = [lined_up(survey_summary(survey, tables))]
    if survey.remarks:
        shown = [f"- {remark}" for remark in survey.remarks[:MOST_REMARKS]]
        more = len(survey.remarks) - MOST_REMARKS
        texts.append("\n".join(["Remarks", *shown, *[f"- and {more} more in the report"] * (more > 0)]))
    forms = {"estimate": one_decimal}
    found = tables["importances"].set_index("attribute")
    texts.append(estimates_text(found, "Importances in per cent", forms))
    worths = tables["part_worths"].set_index(["attribute", "level"])
    texts.append(estimates_text(worths, "Part-worths, zero-centred diffs", forms))
    if survey.market is not None:
        shares = tables["shares"].query("rule == @rule").set_index("product")
        texts.append(estimates_text(shares, f"Shares by {rule}", {"share": percent}))
    announce("\n\n".join(texts), written)


def _require_outputs(report: Path | None, inputs: list[Path]) -> None:
    """Raise before any work if the report, its workbook or its tables could not be written."""
    if report is None:
        return
    workbook = report.with_suffix(".xlsx")
    require_output(report, PAGES, "--report", inputs)
    require_output(workbook, (".xlsx",), "--report", inputs)
    if workbook.exists() and not is_our_workbook(workbook):
        raise CommandError(
            f"--report {report}: {workbook} exists and was not written by this command; move it or choose "
            "another name"
        )
    folder = _folder(report)
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"--report {report}: the tables go into the folder {folder}, but that is a file")
    if folder.resolve() in [file.resolve().parent for file in inputs]:
        message = f"--report {report}: the tables go into the folder {folder}, which holds the input"
        raise CommandError(message)


def _chosen_product(wanted: str | None, scenario: Scenario, option: str) -> str:
    """Return the product that is varied, the first one if none is named."""
    names = list(scenario.products)
    require_known([] if wanted is None else [wanted], names, option, "a product")
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


def _folder(report: Path) -> Path:
    return report.with_name(f"{report.stem}-tables")


def _write_example(study: Path | None) -> None:
    """Write the study that comes with the package, without replacing anything."""
    if study is not None:
        raise CommandError(f"--example writes {COFFEE} and {PACKS}; leave out STUDY, {study}")
    for file in (COFFEE, PACKS):
        if file.exists():
            raise CommandError(f"--example would overwrite {file}; move it, or go to another folder")
    coffee = (files(PACKAGE) / "data" / FILE).read_bytes()
    write_all({COFFEE: coffee, PACKS: PRODUCTS.encode()})
    announce("An invented study of coffee, and three packs to simulate.", (COFFEE, PACKS))
    say(TRY)


def simulate(
    study: options.Study,
    products: options.Products,
    rule: options.Rule = "share_of_preference",
    part_worths: options.PartWorths = None,
    scale: options.Scale = None,
    price_curve: options.PriceCurve = None,
    out: options.SharesFile = None,
    plot: options.SharesPlot = None,
    *,
    reading: Reading,
    fitting: Fitting,
) -> None:
    """Print the shares that products would have in a market, with intervals.

    The part-worths are read from a report of `ranking conjoint`, or come from a model that is fitted first,
    with its parameters chosen in the same way. With --price-curve, --out and --plot are about that curve.

    \b
    Examples:
      ranking simulate study.csv products.csv --holdout 3
      ranking simulate study.csv products.csv --part-worths out-tables/individual_part_worths.csv --scale 2.1
      ranking simulate study.csv products.csv --price-curve ours --plot curve.png --out curve.csv
    """
    inputs = [file for file in (study, products, part_worths) if file is not None]
    require_output(out, (".csv",), "--out", inputs)
    require_output(plot, PICTURES, "--plot", inputs)
    if part_worths is None and scale is not None:
        raise CommandError("--scale is for --part-worths; a model that is fitted here is calibrated")
    if part_worths is not None and scale is None and rule != "first_choice":
        raise CommandError(
            f"--part-worths needs --scale for --rule {rule}: settings.csv in the same folder has the "
            "scale; or use --rule first_choice"
        )
    parts = open_study(study, reading)
    scenario = open_scenario(products, "PRODUCTS", parts.study, reading)
    price = price_of(fitting.price_attribute, parts.study)
    if price_curve is not None:
        _chosen_product(price_curve, scenario, "--price-curve")
        if price is None:
            wanted = "an attribute that is money; name it with --price-attribute"
            raise CommandError(f"--price-curve needs {wanted}")
    plan = plan_of(fitting, parts.study)
    if part_worths is not None:
        table = open_part_worths(part_worths, "--part-worths", parts.study)
        bootstrap: Bootstrap = respondent_bootstrap(table, parts.train)
        say(READ_BACK)
    else:
        with progress_bar() as watch:
            search = choose(parts.train, plan, watch)
            bootstrap = drawn(search, parts.train, plan)
        scale = search.calibration_.scale
    simulator = Simulator(bootstrap, parts.train, rule, scale=1.0 if scale is None else scale)
    shares = simulator.shares(scenario)
    title = f"Shares by {simulator.rule}, scale {simulator.scale:.4g}"
    texts = [estimates_text(shares, title, {"share": percent})]
    result: pd.DataFrame = shares
    drawing: Callable[[pd.DataFrame], Any] = plot_shares
    if price is not None and price_curve is not None:
        result, drawing = simulated_curve(simulator, scenario, price_curve, price), plot_price_curve
        forms = {"share": percent, "revenue": one_decimal}
        texts.append(estimates_text(result, f"{price_curve} at every {price}, others unchanged", forms))
    # drawn before anything is written: if it fails, no file is left behind
    axes = drawing(result) if plot is not None else None
    if out is not None:
        write_whole(out, result.reset_index().to_csv(index=False).encode())
    announce("\n\n".join(texts), [out])
    if axes is not None and plot is not None:
        draw(axes, plot)
