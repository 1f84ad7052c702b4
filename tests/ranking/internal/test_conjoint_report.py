"""The report of a conjoint survey: one page with its numbers, and a workbook with the same tables."""

import io
import re

import numpy as np
import openpyxl
import pandas as pd
import pytest

from ranking.conjoint import Attribute, ConjointStudy
from ranking.report import page as pages
from ranking.report.conjoint import (
    TabulatedSurvey,
    findings,
    intervals,
    survey_report_html,
    survey_summary,
    with_interval,
)
from ranking.studies.conjoint import Parts, SurveyPlan
from ranking.studies.conjoint_tables import TITLES, WIDEST, survey_tables, table_files, workbook_bytes
from tests.ranking.market import COFFEE, PACKS, mixed_study
from tests.ranking.pages import Page
from tests.ranking.surveys import FEW, PLAN, parts, survey

SECTIONS = ["Result", "The study", "The model", "Importances", "Part-worths", "Order reversals"]
SECTIONS += ["Willingness to pay", "Simulated market", "Holdout tasks", "Contradictions", "Stability over C"]
# Tables too long for a page, and those it shows in another form.
NOT_ON_PAGE = {"settings", "folds_over_C", "holdout", "shares", "sensitivity", "price_curve"}
NOT_ON_PAGE |= {"importances_over_C", "first_choices_over_C", "contradictions"}


@pytest.fixture(scope="module")
def found():
    return survey()


@pytest.fixture(scope="module")
def tables(found):
    return survey_tables(found)


@pytest.fixture(scope="module")
def text(found, tables):
    return survey_report_html(found, tables)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture(scope="module")
def book(tables):
    return openpyxl.load_workbook(io.BytesIO(workbook_bytes(tables, TITLES)))


def headings(text):
    return re.findall(r"<h2>(.*?)</h2>", text)


def cells(frame):
    """Rows as a page shows them."""
    return [list(row) for row in pages.table(frame, is_aligned=True).rows]


def values(column):
    """Cells as numbers where they are, gaps as None."""
    return [None if pd.isna(cell) else value(cell) for cell in column.tolist()]


def value(cell):
    try:
        return float(cell)
    except ValueError:
        return str(cell)


class TestPage:
    def test_all_sections_are_there(self, text):
        assert headings(text) == SECTIONS

    def test_tags_are_balanced_and_nothing_is_fetched(self, text, page):
        assert page.open == []
        words = re.sub(r"base64,[^\"]*", "", text)
        assert not re.search(r"https?:|//|url\(|@import|<script|<link|<iframe", words)

    def test_every_picture_is_inside_and_has_words(self, page):
        sources = page.of("img", "src")
        assert len(sources) == len(page.of("img", "alt")) == 7
        assert all(source.startswith("data:image/png;base64,") for source in sources)
        assert all(len(words) > 30 for words in page.of("img", "alt"))

    def test_every_table_is_there_to_four_digits(self, tables, page):
        for name in set(tables) - NOT_ON_PAGE:
            shown_rows = cells(tables[name])
            if not name.startswith("individual"):
                assert all(row in page.rows for row in shown_rows[:10]), name

    def test_shares_of_every_rule_stand_with_their_intervals(self, tables, page):
        shares = tables["shares"].set_index(["product", "rule"])
        rules = ("first_choice", "share_of_preference", "randomized_first_choice")
        for name in [*PACKS, "none"]:
            rows = [100 * shares.loc[(name, rule)] for rule in rules]
            assert [name, *(with_interval(row, 1, "") for row in rows)] in page.rows

    def test_holdouts_and_chosen_parameters_are_reported(self, found, tables, page):
        for name, value in tables["holdout"].itertuples(index=False):
            assert [name, f"{value:.4g}"] in page.rows
        assert ["C", pages.shown(found.C)] in page.rows
        assert ["scale of utilities", pages.shown(found.calibration.scale)] in page.rows
        best = (found.curve.C_best, 1 / found.curve.C_best, found.curve.best)
        assert any(row[:4] == ["best", *map(pages.shown, best)] for row in page.rows)

    def test_first_respondent_with_contradicting_choices_is_shown(self, tables, page):
        rows = tables["contradictions"]
        mine = rows[rows["respondent"] == rows["respondent"].iloc[0]]
        assert all(row in page.rows for row in cells(mine))

    def test_findings_come_first_in_words(self, found, tables, text):
        first = tables["importances"].set_index("attribute")["estimate"].idxmax()
        assert f"What moves choices most is {first}" in text
        hits = 100 * found.agreement["hit rate"]
        assert f"tasks held out, {hits:.0f} % were predicted correctly; by chance it would be 25 %" in text

    def test_conclusions_are_reported_with_their_intervals_of_C(self, found, page):
        for name, words in found.stability.words_at(found.C).items():
            assert [name, words] in page.rows

    def test_text_of_users_is_escaped(self):
        frame = parts().study.to_frame().rename(columns={"brand": "<b>brand"})
        frame["<b>brand"] = frame["<b>brand"].astype(object).replace({"Alba": "<script>$x_1"})
        roles = {**parts().study.arguments, "attributes": ["<b>brand", "price"]}
        given = parts(ConjointStudy.from_frame(frame, **roles))
        plan = SurveyPlan(pooling="aggregate", C_max=0.1, folds=2, refits=2)
        other = survey(plan, {"<i>": {"<b>brand": "Brio", "price": 9}}, "price", given)
        text = survey_report_html(other)
        assert not re.search("<script|<b>|<i>", text)
        assert "<script>$x_1" in {cell for row in Page(text).rows for cell in row}

    def test_without_price_holdouts_and_products_their_sections_are_missing(self):
        study = parts().train
        plan = SurveyPlan(shrinkage=(0.5,), C_max=0.1, folds=2, group_size=3)
        text = survey_report_html(survey(plan, None, None, Parts(study, study, None)))
        missing = {"Order reversals", "Willingness to pay", "Simulated market", "Holdout tasks"}
        assert headings(text) == [name for name in SECTIONS if name not in missing]
        words = " ".join(text.split())
        assert "chosen in pools of at most 3 respondents" in words
        assert "the exact paths of 2 pools of at most 3" in words

    def test_linear_price_and_different_tasks_are_reported(self):
        study = mixed_study(respondents=4)
        given = Parts(study, *study.split_holdout(last=1))
        plan = SurveyPlan(pooling="individual", C_max=0.1, folds=2, orders={"price": "falls"})
        text = survey_report_html(survey(plan, None, "price", given))
        assert "No task was shown in the same form to several respondents" in text
        assert "The orders of price were imposed" in text
        assert Attribute.linear("price").labels[0] in {cell for row in Page(text).rows for cell in row}

    def test_how_intervals_came_about_is_said(self, found):
        refitted = survey(SurveyPlan(pooling="aggregate", C_max=0.1, folds=2, refits=2), None)
        assert "95 % of 2 bootstrap draws; the model was refitted to each" in intervals(refitted)
        assert "5 bootstrap draws" in intervals(found)
        drawn = survey(SurveyPlan(shrinkage=(0.5,), C_max=0.1, folds=2, refits=0), None)
        assert "much too narrow" in intervals(drawn)
        alone = survey(SurveyPlan(pooling="individual", C_max=0.1, folds=2), None)
        assert "1000 draws" in intervals(alone)
        assert "too narrow" not in intervals(alone)


class TestSummary:
    def test_terminal_shows_what_was_chosen_and_how_well_it_does(self, found, tables):
        lines = survey_summary(found, tables)
        assert lines["study"].startswith("6 respondents, 48 tasks to learn from, and 12 tasks held out")
        assert lines["chosen"].startswith(f"C = {found.C:.4g}, γ = {found.shrinkage:g} (shrinkage)")
        measured = found.agreement
        for name in ("hit rate", "root likelihood"):
            assert f"{name} {measured[name]:.3f}" in lines["holdouts"]
        shares = found.simulator("share_of_preference").shares(found.market.scenario)["share"]
        assert f"ours {100 * shares['ours']:.0f} %" in lines["shares"]


class TestWorkbook:
    def test_there_is_a_sheet_for_every_table_after_a_list_of_them(self, book, tables):
        assert book.sheetnames == ["contents", *tables]
        rows = list(book["contents"].iter_rows(values_only=True))
        assert rows == [("sheet", "holds"), *((name, TITLES[name]) for name in tables)]

    def test_headers_stay_and_columns_are_wide_enough(self, book, tables):
        for name, table in tables.items():
            sheet = book[name]
            assert sheet.freeze_panes == "A2"
            for place, column in enumerate(table.columns, start=1):
                letter = sheet.cell(row=1, column=place).column_letter
                assert min(len(str(column)), WIDEST) <= sheet.column_dimensions[letter].width

    def test_sheets_and_files_hold_the_tables(self, book, tables, tmp_path):
        for file, content in table_files(tmp_path, tables).items():
            file.write_bytes(content)
        for name, table in tables.items():
            written = pd.read_csv(tmp_path / f"{name}.csv", dtype=str, keep_default_na=False, na_values=[""])
            header, *rows = book[name].iter_rows(values_only=True)
            sheet = pd.DataFrame(rows, columns=header)
            assert list(written.columns) == list(header) == [str(column) for column in table.columns]
            for column in table.columns:
                wanted = values(table[column])
                assert values(written[str(column)]) == wanted, name
                # Excel keeps 16 digits
                pairs = zip(values(sheet[str(column)]), wanted, strict=True)
                assert all(one == other or abs(one / other - 1) < 1e-14 for one, other in pairs), name


def test_empty_tables_are_left_out_of_a_page(found, tables):
    without = {**tables, "duplicates": tables["duplicates"].iloc[:0]}
    assert TabulatedSurvey(found, without).table("duplicates") is None


class TestFindings:
    @staticmethod
    def sentences(found):
        return " ".join(findings(TabulatedSurvey(found, survey_tables(found))))

    @pytest.mark.parametrize(("seed", "is_warned"), [(6, True), (9, False)])
    def test_a_model_no_better_than_chance_is_said_first(self, seed, is_warned):
        frame = COFFEE.only(respondents=FEW).to_frame()
        chance = np.random.default_rng(seed)
        taken = chance.integers(1, 5, size=frame.groupby(["respondent", "task"]).ngroups)
        frame["chosen"] = (frame["alternative"].to_numpy() == np.repeat(taken, 4)).astype(int)
        study = ConjointStudy.from_frame(frame, **COFFEE.arguments)
        found = survey(PLAN, None, given=parts(study))
        assert (found.calibration.root_likelihood <= found.calibration.chance) == is_warned
        assert self.sentences(found).startswith("Do not use") == is_warned

    @pytest.mark.parametrize(
        ("reach", "rivals"), [([30, 35, 9], ["brand"]), ([30, 29, 9], []), ([30, 35, 31], ["brand", "size"])]
    )
    def test_attributes_whose_intervals_overlap_are_not_ranked(self, found, tables, reach, rivals):
        ends = {"lo": [reach[0], 1.0, 1.0], "hi": [50.0, *reach[1:]]}
        rows = pd.DataFrame({"attribute": ["price", "brand", "size"], "estimate": [40.0, 25.0, 5.0], **ends})
        sentences = " ".join(findings(TabulatedSurvey(found, {**tables, "importances": rows})))
        said = f"By their intervals, {', '.join(rivals)} could be first too."
        assert (said in sentences) if rivals else ("could be first" not in sentences)

    def test_a_best_price_is_reported_with_its_gain(self, found, tables):
        best = tables["price_curve"].loc[tables["price_curve"]["revenue"].idxmax()]
        is_significant = best["revenue_lo"] > 100
        words = f"{best['revenue'] - 100:+.1f} % against today's price, within the confidence interval"
        assert (words in self.sentences(found)) != is_significant
