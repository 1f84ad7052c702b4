"""The command `ranking conjoint`: part-worths from a study of choices, as a report, a workbook and tables.

Room: words in, text on stdout and files out.
May touch: everything to its left.
"""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pandas as pd

from ranking import conjoint_options as options
from ranking.conjoint.example import FILE, PACKAGE
from ranking.conjoint_opening import open_scenario, open_study, plan_of, price_of
from ranking.conjoint_options import Fitting, Reading, spread
from ranking.conjoint_report import survey_report_html, survey_summary
from ranking.conjoint_survey import Market, Survey, conduct_survey
from ranking.conjoint_tables import TITLES, survey_tables
from ranking.conjoint_workbook import is_our_workbook, table_files, workbook_bytes
from ranking.delivery import announce
from ranking.errors import DataError
from ranking.estimates import estimates_text, one_decimal, percent
from ranking.files import write_all
from ranking.opening import PAGES, require_output
from ranking.terminal import lined_up, progress_line, say

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
    with progress_line() as watch:
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
    coffee = (files(PACKAGE) / FILE).read_bytes()
    write_all({COFFEE: coffee, PACKS: PRODUCTS.encode()})
    announce("A made-up study of coffee, and three packs to simulate.", (COFFEE, PACKS))
    say(TRY)
