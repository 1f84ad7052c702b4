"""ranking conjoint and ranking simulate: studies at the shell; what is wrong is said on stderr."""

import re
import signal
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from typer.testing import CliRunner

from ranking.cli import app as cli
from ranking.cli import conjoint as conjoint_command
from ranking.cli.inputs import open_part_worths, open_scenario, open_study
from ranking.cli.options import Reading
from ranking.conjoint import ConjointSVM, Simulator, price_curve, refit_bootstrap
from ranking.conjoint import simulate as simulated
from ranking.studies.conjoint_tables import survey_tables
from tests.ranking.market import PACKS
from tests.ranking.surveys import LEVELS, OPTIONS, coffee_rows, survey

ROLES = "--none empty --weight weight --holdout holdout"
ALONE = f"conjoint coffee.csv {OPTIONS} {LEVELS} --pooling individual"
COMMAND = f"conjoint coffee.csv {OPTIONS} {LEVELS} --refits 5"
SIMULATE = f"simulate coffee.csv packs.csv {OPTIONS} {LEVELS} --refits 5"
READING = Reading(
    none="empty",
    weight="weight",
    holdout="holdout",
    levels=["roast=light,medium,dark", "size=small,large"],
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test works in a folder of its own with the study and products."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    coffee_rows().to_csv("coffee.csv", index=False)
    Path("packs.csv").write_text(conjoint_command.PRODUCTS, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def found():
    return survey()


@pytest.fixture(scope="module")
def tables(found):
    return survey_tables(found)


def read(file):
    return pd.read_csv(file)


class TestConjoint:
    def test_page_workbook_and_tables_are_written_and_the_result_printed(self, run, here, found, tables):
        code, out, err = run(f"{COMMAND} --scenario packs.csv --report out.html")
        assert (code, err) == (0, "")
        assert f"C = {found.C:.4g}, γ = {found.shrinkage:g} (shrinkage)" in out
        assert f"hit rate {found.agreement['hit rate']:.3f} (0.250 by chance)" in out
        assert out.endswith("Written: out.html\nWritten: out.xlsx\nWritten: out-tables\n")
        assert "<h2>Simulated market</h2>" in (here / "out.html").read_text(encoding="utf-8")
        names = {file.stem for file in (here / "out-tables").iterdir()}
        assert names == set(tables) == set(openpyxl.load_workbook("out.xlsx").sheetnames) - {"contents"}
        worths = read("out-tables/individual_part_worths.csv")
        np.testing.assert_allclose(worths, tables["individual_part_worths"], rtol=1e-12)

    def test_tables_to_look_at_first_are_printed_with_their_intervals(self, run, found, tables):
        _, out, _ = run(f"{COMMAND} --scenario packs.csv")
        for name in ("importances", "part_worths"):
            for _, row in tables[name].iterrows():
                told = r"\s+".join(f"{row[column]:.1f}" for column in ("estimate", "lo", "hi"))
                assert re.search(rf"{row['attribute']}\s.*{told}", out), (name, row)
        for name, row in found.simulator("share_of_preference").shares(PACKS).iterrows():
            told = r"\s+".join(f"{100 * row[column]:.1f} %" for column in ("share", "lo", "hi"))
            assert re.search(rf"{name}\s+{told}", out)

    def test_choice_by_likelihood_is_that_of_python(self, run):
        _, out, _ = run(f"{COMMAND} --metric root_likelihood --report out.html")
        assert "folds           root likelihood" in out
        assert "evaluated at" in Path("out.html").read_text(encoding="utf-8")

    def test_a_workbook_of_somebody_else_is_not_replaced(self, run, here):
        pd.DataFrame({"mine": [1]}).to_excel("out.xlsx", index=False)
        before = (here / "out.xlsx").read_bytes()
        code, _, err = run(f"{COMMAND} --report out.html")
        assert code == 2
        assert "out.xlsx exists and was not written by this command" in err
        assert (here / "out.xlsx").read_bytes() == before

    def test_tables_of_an_earlier_report_do_not_stay(self, run, here):
        (here / "out-tables").mkdir()
        for name in ("shares.csv", "notes.txt"):
            (here / "out-tables" / name).write_text("old")
        code, _, _ = run(f"{COMMAND} --report out.html")
        assert code == 0
        assert not (here / "out-tables" / "shares.csv").exists()
        assert (here / "out-tables" / "notes.txt").read_text() == "old"

    def test_without_a_report_nothing_is_written(self, run, here):
        before = sorted(here.iterdir())
        code, out, _ = run(ALONE)
        assert code == 0
        assert "(individual)" in out
        assert sorted(here.iterdir()) == before

    def test_example_is_written_and_the_command_it_names_works(self, run, here):
        for file in ("coffee.csv", "packs.csv"):
            (here / file).unlink()
        code, out, _ = run("conjoint --example")
        assert code == 0
        words = out.splitlines()[-1].removeprefix("Now try: ranking ")
        small = "--pooling aggregate --refits 2 --c-max 0.01 --folds 2"
        code, out, err = run(f"{words} {small}")
        assert (code, err) == (0, "")
        assert "24 respondents, 192 tasks to learn from, and 48 tasks held out" in out

    def test_nothing_is_written_if_not_everything_can_be(self, run, here, monkeypatch):
        (here / "out.html").write_text("old")

        def fail(tables, titles):
            raise OSError(28, "No space left on device", "out.xlsx")

        monkeypatch.setattr(conjoint_command, "workbook_bytes", fail)
        code, out, err = run(f"{COMMAND} --report out.html")
        assert (code, out, err) == (2, "", "ranking: out.xlsx: No space left on device\n")
        assert (here / "out.html").read_text() == "old"
        assert not (here / "out-tables").exists()

    def test_help_teaches_by_example(self, run):
        code, out, _ = run("conjoint --help")
        assert code == 0
        assert "ranking conjoint study.csv --holdout 3 --report out.html" in out
        assert "--group-size" in out

    def test_command_is_part_of_the_typer_application(self):
        result = CliRunner().invoke(cli.app, ALONE.split())
        assert result.exit_code == 0
        assert "importances" in result.output


class TestOpening:
    def test_study_of_a_file_is_that_of_python(self, found):
        opened = open_study(Path("coffee.csv"), READING)
        assert opened.study.columns.equals(found.parts.study.columns)
        np.testing.assert_array_equal(opened.train.design, found.parts.train.design)
        np.testing.assert_array_equal(opened.held.choices.chosen, found.parts.held.choices.chosen)
        assert opened.study.weights.tolist() == found.parts.study.weights.tolist()

    def test_other_names_and_marks(self, found):
        names = {"respondent": "who", "task": "screen", "alternative": "pack", "chosen": "taken"}
        frame = coffee_rows().rename(columns=names)
        frame["nothing"] = frame["brand"].isna().astype(int)
        frame.to_csv("other.csv", index=False, sep=";", decimal=",")
        reading = Reading(
            respondent="who",
            task="screen",
            alternative="pack",
            chosen="taken",
            none="nothing",
            weight="weight",
        )
        ignoring = {**vars(reading), "ignore": ["holdout"], "sep": ";", "decimal": ",", "holdout": "3"}
        opened = open_study(Path("other.csv"), Reading(**ignoring))
        assert len(opened.held.choices) == 3 * len(found.parts.study.respondents)
        assert list(opened.study.attributes) == ["brand", "roast", "size", "price"]
        assert opened.study.weights.tolist() == found.parts.study.weights.tolist()

    def test_linear_attributes_with_a_unit(self):
        opened = open_study(Path("coffee.csv"), Reading(**{**vars(READING), "linear": "price/10"}))
        price = opened.study.attributes["price"]
        assert (price.is_linear, price.unit) == (True, 10)

    def test_wide_study_is_the_same(self, found):
        study = found.parts.study
        study.to_wide().rename(columns={"chosen": "choice"}).to_csv("wide.csv", index=False)
        opened = open_study(Path("wide.csv"), Reading(**{**vars(READING), "wide": True, "none": "none"}))
        np.testing.assert_array_equal(opened.study.design, study.design)
        np.testing.assert_array_equal(opened.study.choices.chosen, study.choices.chosen)

    def test_choice_of_none_without_columns_of_it(self, found):
        wide = found.parts.study.to_wide().rename(columns={"chosen": "choice"})
        wide["choice"] = wide["choice"].replace({4: 0})
        last = [name for name in wide.columns if name.startswith("alt4") or name.endswith("_none")]
        wide.drop(columns=last).to_csv("wide.csv", index=False)
        reading = {**vars(READING), "wide": True, "none": None, "none_choice": "0"}
        opened = open_study(Path("wide.csv"), Reading(**reading))
        assert opened.study.has_none
        none = opened.study.is_none[opened.study.choices.chosen_rows].sum()
        assert none == (wide["choice"] == 0).sum()

    def test_first_sheets_of_workbooks_are_read_like_text(self, found):
        coffee_rows().to_excel("coffee.xlsx", index=False)
        pd.read_csv("packs.csv").to_excel("packs.xlsx", index=False)
        opened = open_study(Path("coffee.xlsx"), READING)
        np.testing.assert_array_equal(opened.study.design, found.parts.study.design)
        assert opened.study.columns.equals(found.parts.study.columns)
        products = open_scenario(Path("packs.xlsx"), "PRODUCTS", found.parts.study, READING).products
        assert products == PACKS

    def test_products_of_a_file_are_those_of_python(self, found):
        opened = open_scenario(Path("packs.csv"), "PRODUCTS", found.parts.study, READING)
        assert opened.products == PACKS

    def test_part_worths_are_read_as_they_were_written(self, found, tables):
        shuffled = tables["individual_part_worths"].iloc[::-1, ::-1]
        shuffled.to_csv("worths.csv", index=False)
        again = open_part_worths(Path("worths.csv"), "--part-worths", found.parts.study)
        pd.testing.assert_frame_equal(again, found.part_worths, check_names=False)


class TestSimulate:
    def test_shares_are_those_of_simulate(self, run, found):
        code, out, err = run(f"{SIMULATE} --out shares.csv --plot shares.png")
        assert (code, err) == (0, "")
        model = ConjointSVM(found.C, pooling="shrinkage", shrinkage=found.shrinkage)
        drawn, scale = refit_bootstrap(model, found.parts.train, 5), found.calibration.scale
        wanted = simulated(drawn, found.parts.train, PACKS, scale=scale)
        pd.testing.assert_frame_equal(read("shares.csv").set_index("product"), wanted)
        for name, row in wanted.iterrows():
            assert re.search(rf"{name}\s+{100 * row['share']:.1f} %\s+{100 * row['lo']:.1f} %", out)
        assert Path("shares.png").read_bytes().startswith(b"\x89PNG")

    def test_part_worths_written_before_give_the_same_shares(self, run, found, tables):
        tables["individual_part_worths"].to_csv("worths.csv", index=False)
        scale = found.calibration.scale
        read_back = f"--part-worths worths.csv --scale {scale!r} --rule randomized_first_choice"
        code, _, err = run(f"{SIMULATE} {read_back} --out shares.csv")
        assert (code, err) == (0, "")
        rule = "randomized_first_choice"
        wanted = simulated(found.part_worths, found.parts.train, PACKS, rule, scale=scale)
        pd.testing.assert_frame_equal(read("shares.csv").set_index("product"), wanted)

    def test_first_choices_need_no_scale(self, run, found, tables):
        tables["individual_part_worths"].to_csv("worths.csv", index=False)
        code, _, _ = run(f"{SIMULATE} --part-worths worths.csv --rule first_choice --out shares.csv")
        wanted = simulated(found.part_worths, found.parts.train, PACKS, "first_choice")
        assert code == 0
        pd.testing.assert_frame_equal(read("shares.csv").set_index("product"), wanted)

    def test_price_curve_is_printed_written_and_drawn(self, run, found, tables):
        tables["individual_part_worths"].to_csv("worths.csv", index=False)
        files = "--price-curve ours --out curve.csv --plot curve.svg"
        code, out, _ = run(f"{SIMULATE} --part-worths worths.csv --scale 2 {files}")
        assert code == 0
        assert "ours at every price, others unchanged" in out
        simulator = Simulator(found.part_worths, found.parts.train, scale=2.0)
        pd.testing.assert_frame_equal(
            read("curve.csv").set_index("price"), price_curve(simulator, PACKS, "ours")
        )
        assert "<svg" in Path("curve.svg").read_text(encoding="utf-8")

    def test_help_teaches_by_example(self, run):
        code, out, _ = run("simulate --help")
        assert code == 0
        assert "ranking simulate study.csv products.csv --price-curve ours" in out


WRONG = {
    "no study": ("conjoint", "STUDY is missing: name a .csv or .xlsx file; --example writes one to try"),
    "file missing": ("conjoint none.csv", "STUDY none.csv: No such file"),
    "not a table": ("conjoint empty.csv", "STUDY empty.csv is not a CSV file"),
    "no column": (
        f"conjoint coffee.csv {ROLES} --respondent id",
        "STUDY coffee.csv: there is no column 'id' .--respondent.; the columns are 'respondent', ",
    ),
    "no column of choices": (f"conjoint coffee.csv {ROLES} --chosen took", "no column 'took' .--chosen."),
    "other separator": (
        "conjoint semi.csv",
        "semi.csv: there is only one column.*use --sep ';'$",
    ),
    "unclear column": (
        "conjoint coffee.csv --none empty --holdout holdout",
        "STUDY coffee.csv: column 'weight' has no role; use --weight weight.*--ignore weight.*--attributes",
    ),
    "unclear column of an option": (
        "conjoint coffee.csv --none empty --holdout holdout --linear weight",
        "STUDY coffee.csv: column 'weight' has no role; use --weight weight",
    ),
    "no such attribute": (
        f"conjoint coffee.csv {ROLES} --attributes brand,cost",
        "--attributes names 'cost'",
    ),
    "linear word": (f"conjoint coffee.csv {ROLES} --linear cost", "--linear names 'cost', which is no"),
    "linear and by level": (f"{COMMAND} --linear size", "--linear size: it has --levels too"),
    "unit is a word": (f"conjoint coffee.csv {ROLES} --linear price/ten", "--linear price/ must be a number"),
    "levels without a name": (
        f"conjoint coffee.csv {ROLES} --levels small",
        "--levels must be like size=small",
    ),
    "none is a word": (
        "conjoint coffee.csv --none nothing",
        "STUDY coffee.csv: there is no column 'nothing' .--none.; the columns are 'respondent', .*; if the "
        "none option has empty attributes, use --none empty; if they all hold one number, give that number$",
    ),
    "none choice of long data": (f"{COMMAND} --none-choice 0", "--none-choice is for --wide"),
    "alternatives of wide data": (f"{COMMAND} --wide --alternative a", "--alternative is for one row"),
    "pattern": (
        "conjoint wide.csv --wide --pattern alt",
        "--pattern must hold .alternative. and .attribute.",
    ),
    "no column like the pattern": (
        "conjoint wide.csv --wide --pattern p{alternative}{attribute}",
        "no column is",
    ),
    "too many holdouts": (
        "conjoint coffee.csv --none empty --weight weight --ignore holdout --holdout 10",
        "--holdout is 10, but respondent 1 has only 10 tasks .*leave these respondents out",
    ),
    "negative holdout": (
        f"{COMMAND} --ignore holdout --holdout -1",
        "--holdout must be a positive number",
    ),
    "nothing held out": (
        "conjoint whole.csv --none empty --weight weight --holdout holdout",
        "no task is held out; mark some in a column, or .* for example --holdout 3",
    ),
    "shrinkage out of range": (
        f"{COMMAND} --shrinkage 0,0.5",
        "--shrinkage must be between 0 .* got 0",
    ),
    "shrinkage a word": (f"{COMMAND} --shrinkage much", "--shrinkage must be a number, got 'much'"),
    "order without sense": (f"{COMMAND} --order price", "--order must be like price=falls, got 'price'"),
    "order of nothing": (f"{COMMAND} --order cost=falls", "--order names 'cost', which is not an attribute"),
    "order of unknown levels": (
        f"{COMMAND} --order size=tiny,large",
        "--order size names 'tiny', which is not",
    ),
    "order of another word": (
        f"{COMMAND} --order price=up",
        "--order price=up: an order is rises, falls, or levels",
    ),
    "order of a number by levels": (
        f"{COMMAND} --linear price --order price=9,12",
        "order of a linear attribute, --order price, must be 'rises' or 'falls', got .9, 12.",
    ),
    "two orders": (
        f"{COMMAND} --order price=falls --order price=rises",
        "--order price occurs twice, falls and rises; leave one out",
    ),
    "levels twice": (f"{COMMAND} --levels size=large,small", "--levels size occurs twice"),
    "no separator": (f"{COMMAND} --sep=", "--sep must be one character, such as , or ;.*got ''"),
    "word as separator": (f"{COMMAND} --sep semicolon", "--sep must be one character.*got 'semicolon'"),
    "decimal point of two signs": (f"{COMMAND} --decimal xx", "--decimal must be . or , got 'xx'"),
    "decimal comma and separator": (f"{COMMAND} --decimal ,", "--sep and --decimal are both ','; set --sep"),
    "encoding unknown": (f"{COMMAND} --encoding foo", "--encoding names 'foo', which is not known; use"),
    "encoding of bytes": (f"{COMMAND} --encoding hex", "--encoding names 'hex', which is not known"),
    "other encoding": (
        "conjoint latin.csv",
        "STUDY latin.csv is not UTF-8 text; .*--encoding latin-1$",
    ),
    "text without its mark": (f"{COMMAND} --encoding utf-16", "STUDY coffee.csv is not UTF-16 text"),
    "no jobs": (f"{COMMAND} --jobs 0", "--jobs must be a number of processes, or -1.*got 0"),
    "pattern of long data": (
        f"{COMMAND} --pattern p{{alternative}}_{{attribute}}",
        "--pattern is for --wide",
    ),
    "wide data": (
        "conjoint wide.csv",
        "wide.csv: there is no column 'chosen' .--chosen.,.*use --wide$",
    ),
    "products with another separator": (
        f"{COMMAND} --scenario semi.csv",
        "--scenario semi.csv: there is only one column.*--sep ';'$",
    ),
    "price that no level is near": (
        f"{COMMAND} --scenario far.csv",
        "product 'ours': attribute .price. has no level 19; .* 9, 12, 15; give one .* number from 9 to 15$",
    ),
    "workbook of another kind": (
        "conjoint old.xls",
        "STUDY old.xls is a workbook .*save it as .xlsx or as CSV",
    ),
    "no workbook": ("conjoint text.xlsx", "STUDY text.xlsx is not a workbook .*save it again, or as CSV"),
    "empty workbook": ("conjoint blank.xlsx", "STUDY blank.xlsx: there is no row below the header"),
    "column of a workbook twice": (
        "conjoint twice.xlsx",
        "STUDY twice.xlsx: the column 'task' occurs twice",
    ),
    "product called none": (
        f"{COMMAND} --scenario nix.csv",
        "a product cannot be called none",
    ),
    "number not shown": (
        f"{COMMAND} --linear price --scenario dear.csv",
        "--scenario dear.csv: .*'price' is 99, but 9 to 15 was shown$",
    ),
    "refits of everyone alone": (f"{COMMAND} --pooling individual --refits 5", "--refits is for pooled"),
    "pooling unknown": (f"{COMMAND} --pooling some", "--pooling must be one of .*, got '"),
    "C_max negative": (f"{COMMAND} --c-max -1", "--c-max must be a positive number, or inf, got -1"),
    "C_max zero": (f"{COMMAND} --c-max 0", "--c-max must be a positive number, or inf, got 0"),
    "C_max infinite for likelihoods": (
        f"{COMMAND} --c-max inf --metric root_likelihood",
        "--c-max must be finite for the metric root_likelihood",
    ),
    "more folds than tasks": (
        f"{COMMAND} --folds 999",
        r"--folds must be a number of folds from 2 to the \d+ tasks, got 999",
    ),
    "one fold": (f"{COMMAND} --folds 1", "--folds must be a whole number of at least 2, got '1'"),
    "price of words": (
        f"{COMMAND} --price-attribute brand",
        "--price-attribute brand: its levels must be num",
    ),
    "price unknown": (f"{COMMAND} --price-attribute cost", "--price-attribute names 'cost'"),
    "report as text": (f"{COMMAND} --report out.txt", r"--report must end in \.html"),
    "report into no folder": (f"{COMMAND} --report none/out.html", "--report .*no folder 'none'"),
    "tables where a file is": (
        f"{COMMAND} --report taken.html",
        "the folder taken-tables, but that is a file",
    ),
    "product without products": (f"{COMMAND} --product ours", "--product needs --scenario"),
    "product unknown": (
        f"{COMMAND} --scenario packs.csv --product x",
        "--product names 'x'.*'ours', 'th",
    ),
    "products missing": (f"{COMMAND} --scenario none.csv", "--scenario none.csv: No such file"),
    "products with a gap": (
        f"{COMMAND} --scenario gap.csv",
        "--scenario gap.csv: row 1 is empty in column 'price'",
    ),
    "products of one column": (
        f"{COMMAND} --scenario one.csv",
        "--scenario one.csv: there must be a column of",
    ),
    "level unknown": (
        f"{COMMAND} --scenario level.csv",
        "--scenario level.csv: product 'ours': attribute .brand. has no level",
    ),
    "example with a study": ("conjoint coffee.csv --example", "leave out STUDY"),
    "example would overwrite": ("conjoint --example", "would overwrite coffee.csv"),
    "choices that say nothing": (
        "conjoint mute.csv --folds 2 --report out.html",
        "say nothing about the attributes: all levels of each have the same part-worth",
    ),
    "no products": ("simulate coffee.csv", "Missing argument 'PRODUCTS'"),
    "no scale": (f"{SIMULATE} --part-worths w.csv", "--part-worths needs --scale for --rule share_of_pref"),
    "scale without part-worths": (f"{SIMULATE} --scale 2", "--scale is for --part-worths"),
    "part-worths of another study": (
        f"{SIMULATE} --part-worths other.csv --scale 1",
        "--part-worths other.csv: missing column 'brand: Alba'; was this file made from another",
    ),
    "part-worths of others": (
        f"{SIMULATE} --part-worths few.csv --scale 1",
        "--part-worths few.csv: missing respondent '2'",
    ),
    "part-worths of too many": (
        f"{SIMULATE} --part-worths many.csv --scale 1",
        "--part-worths many.csv: the respondent '99' is not in the study",
    ),
    "part-worths with a gap": (
        f"{SIMULATE} --part-worths hole.csv --scale 1",
        "--part-worths hole.csv: 'size: small' of respondent 1 is not a finite number",
    ),
    "curve of no product": (f"{SIMULATE} --price-curve x", "--price-curve names 'x', which is not a product"),
    "curve without a price": (
        f"simulate coffee.csv nop.csv {ROLES} --ignore price --price-curve ours",
        "--price-curve needs an attribute that is money",
    ),
    "shares as text": (f"{SIMULATE} --out shares.txt", r"--out must end in \.csv"),
    "shares over the data": (f"{SIMULATE} --out packs.csv", "--out packs.csv would overwrite the input"),
    "picture of no kind": (f"{SIMULATE} --plot shares.gif", r"--plot must end in \.png"),
}


# Whoever has the first or the last of two equal alternatives says nothing of their price.
MUTE = "respondent,task,alternative,price,chosen\n" + "".join(
    f"1,{task},{place},{price},{int(place == 1)}\n"
    for task, prices in enumerate([(1, 1), (2, 2), (1, 1), (2, 2)])
    for place, price in enumerate(prices, 1)
)


def wrong_files(worths):
    """Write what wrong calls name."""
    contents = {
        "empty.csv": "",
        "semi.csv": "respondent;task\n1;1\n",
        "wide.csv": "respondent,task,choice,alt1_a,alt2_a\n1,1,1,x,y\n",
        "taken-tables": "a file",
        "gap.csv": "product,brand,roast,size,price\nours,Alba,dark,large,\n",
        "one.csv": "product\nours\n",
        "level.csv": "product,brand,roast,size,price\nours,Alma,dark,large,9\n",
        "nop.csv": "product,brand,roast,size\nours,Alba,dark,large\n",
        "nix.csv": "product,brand,roast,size,price\nnone,Alba,dark,large,9\n",
        "far.csv": "product,brand,roast,size,price\nours,Alba,dark,large,19\n",
        "dear.csv": "product,brand,roast,size,price\nours,Alba,dark,large,99\n",
        "mute.csv": MUTE,
        "other.csv": "respondent,weight,colour: red\n1,1,0.5\n",
    }
    for name, text in contents.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("latin.csv").write_bytes("respondent,task,chosen,café\n1,1,1,crème\n".encode("latin-1"))
    for name in ("old.xls", "text.xlsx"):
        Path(name).write_text("respondent,task\n", encoding="utf-8")
    pd.DataFrame().to_excel("blank.xlsx", index=False)
    pd.DataFrame([[1, 1]], columns=["task", "task"]).to_excel("twice.xlsx", index=False)
    coffee_rows().assign(holdout=0).to_csv("whole.csv", index=False)
    worths.iloc[:1].to_csv("few.csv", index=False)
    worths.assign(**{"size: small": worths["size: small"].where(worths["respondent"] > 1)}).to_csv(
        "hole.csv", index=False
    )
    pd.concat([worths, worths.iloc[:1].assign(respondent=99)]).to_csv("many.csv", index=False)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_code_2_and_one_line_that_says_why(case, run, here, tables):
    words, reason = WRONG[case]
    wrong_files(tables["individual_part_worths"])
    before = {file.name: file.read_bytes() for file in here.iterdir()}
    code, out, err = run(words)
    assert (code, out) == (2, ""), err
    assert err.startswith("ranking: ")
    assert err.count("\n") == 1
    assert re.search(reason, err), err
    assert {file.name: file.read_bytes() for file in here.iterdir()} == before


def test_all_missing_roles_are_asked_for_at_once(run):
    code, out, err = run("conjoint coffee.csv")
    assert (code, out) == (2, "")
    first, *problems = err.splitlines()
    assert first == "ranking: STUDY coffee.csv: the data have 3 problems:"
    advice = "--ignore {0}, or list the attributes with --attributes"
    for line, name in zip(problems, ("weight", "holdout"), strict=False):
        assert line == f"- column '{name}' has no role; use --{name} {name}, {advice.format(name)}"
    assert problems[2].endswith("; if this is the none option, pass --none empty")
    assert len(problems) == 3


def test_all_problems_of_a_study_are_told_each_in_a_line(run):
    frame = coffee_rows()
    frame.loc[(frame["task"] == 1) & (frame["respondent"] <= 6), "chosen"] = 0
    frame.loc[frame["task"] == 2, "chosen"] = 0
    frame.to_csv("coffee.csv", index=False)
    code, out, err = run(f"{COMMAND} --report out.html")
    first, *problems = err.splitlines()
    assert (code, out) == (2, "")
    assert first == "ranking: STUDY coffee.csv: the data have 12 problems:"
    assert len(problems) == 12
    assert problems[0] == "- respondent 1, task 1 has no choice in column 'chosen'"


def test_of_a_flood_of_problems_the_first_are_told_and_the_others_counted(run):
    coffee_rows().assign(chosen=0).to_csv("coffee.csv", index=False)
    code, _, err = run(COMMAND)
    heading, *problems = err.splitlines()
    count = int(re.search(r"the data have (\d+) problems:$", heading).group(1))
    assert (code, len(problems)) == (2, 21)
    assert problems[-1] == f"- and {count - 20} more"


@pytest.mark.parametrize(("words", "command"), [("conjoint --fold", "ranking conjoint"), ("--x", "ranking")])
def test_wrong_words_point_to_the_help_of_their_command(words, command, run):
    assert run(words)[2].endswith(f"; try '{command} --help'\n")


def test_interrupt_is_code_130_and_a_word(run, monkeypatch):
    monkeypatch.setattr(
        conjoint_command, "conduct_survey", lambda *_, **__: signal.raise_signal(signal.SIGINT)
    )
    assert run(COMMAND) == (130, "", "ranking: interrupted\n")


def test_column_that_names_the_chosen_is_told_without_python(run):
    rows = coffee_rows()
    taken = rows[rows["chosen"] == 1].set_index(["respondent", "task"])["alternative"].rename("chosen")
    rows.drop(columns="chosen").join(taken, on=["respondent", "task"]).to_csv("coffee.csv", index=False)
    _, _, err = run(COMMAND)
    assert err.endswith(
        "names the chosen alternative in every row of a task; write 1 in the row of the chosen alternative "
        "and 0 in the others\n"
    )


def test_none_option_that_nobody_named_is_told_by_its_option(run):
    _, _, err = run("conjoint coffee.csv --weight weight --holdout holdout")
    assert re.search("all attributes are empty.*; if this is the none option, pass --none empty\n", err)
    coffee_rows().dropna().to_csv("coffee.csv", index=False)
    _, _, err = run(COMMAND)
    assert "no row has all attributes empty; leave --none out" in err


def test_choice_of_nothing_in_wide_data_is_told_by_its_option(run):
    rows = "1,1,0,x,y\n1,2,1,x,y\n"
    Path("wide.csv").write_text(f"respondent,task,choice,alt1_a,alt2_a\n{rows}", encoding="utf-8")
    _, _, err = run("conjoint wide.csv --wide")
    assert err.endswith("if none was taken, pass --none-choice 0\n")


def test_separator_may_be_the_two_letters_that_stand_for_a_tab(here):
    coffee_rows().to_csv("tabs.csv", index=False, sep="\t")
    opened = open_study(Path("tabs.csv"), Reading(**{**vars(READING), "sep": "\\t"}))
    assert len(opened.study.respondents) == coffee_rows()["respondent"].nunique()


def test_levels_and_orders_made_of_numbers_are_numbers(run):
    words = f"{ALONE} --levels price=9,12,15 --order price=15,12,9 --order size=rises"
    code, _, err = run(f"{words} --report out.html")
    assert (code, err) == (0, "")
    rows = read("out-tables/order_reversals.csv")
    assert rows["reversed"].tolist() == [0, 0, 0]
