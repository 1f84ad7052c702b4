"""The report of a RankSVM study: one HTML page with its numbers, nothing fetched, unescaped or unfinished."""

import re

import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError

from ranking import DataError, RankSVMPath
from ranking.core.graph import preference_pairs
from ranking.io.items import Items, write_whole
from ranking.metrics.rankings import metric_table
from ranking.report.page import render, shown, table
from ranking.report.paths import report_html, scores_csv, summary, write_report
from ranking.studies.paths import Plan, Study, conduct
from tests.ranking.pages import Page
from tests.ranking.studies import NAMES, items, plane
from tests.refusals import refuses


@pytest.fixture(scope="module")
def study():
    parts = (items(18, 0, "train.svm", queries=3), items(18, 1, "vali.svm", 3), items(18, 2, "test.svm", 3))
    return conduct(RankSVMPath(C_max=20), *parts)


@pytest.fixture(scope="module")
def page(study):
    return Page(report_html(study))


class TestNumbers:
    def test_sizes_of_the_data(self, study, page):
        for name, part in study.parts.items():
            pairs = len(preference_pairs(part.y, part.qid))
            labels = len(set(part.y.tolist()))
            assert [name, part.source, "18", "4", "3", str(labels), str(pairs)] in page.rows

    def test_path(self, study, page):
        assert ["pieces", str(len(study.model.path_.segments))] in page.rows
        assert ["C to", "20"] in page.rows
        assert ["complete", "yes"] in page.rows

    def test_choice_along_path(self, study, page):
        curve = study.curve
        chosen = (curve.C_best, 1 / curve.C_best, curve.best, curve.error_at(curve.C_best))
        assert ["best", *map(shown, chosen), "chosen"] in page.rows
        for lo, hi in curve.best_intervals[:20]:
            assert [shown(lo), shown(hi)] in [row[:2] for row in page.rows]

    def test_metrics_of_every_part(self, study, page):
        for part in study.parts.values():
            scores = study.model.decision_function(part.X, C=study.curve.C_best)
            for row in metric_table(part.y, scores, part.qid).itertuples(index=False):
                assert [
                    row.metric,
                    shown(row.value),
                    shown(row.standard_error),
                    str(row.queries),
                ] in page.rows

    def test_weights_by_name_the_largest_first(self, study, page):
        weights = dict(zip(NAMES, study.model.coef_at(study.C), strict=True))
        listed = [row for row in page.rows if row[0] in NAMES]
        assert [row[0] for row in listed] == sorted(NAMES, key=lambda name: -abs(weights[name]))
        assert all(shown(float(weights[name])) == value for name, value in listed)

    def test_sets_of_pairs(self, study, page):
        sizes = [len(part) for part in study.model.pair_sets(study.C)]
        assert [int(row[1]) for row in page.rows if row[0].startswith("I") and len(row) == 2] == sizes
        assert sum(sizes) == len(study.model.preferences_)

    def test_summary_says_the_metric_on_test_items(self, study):
        scores = study.model.decision_function(study.test.X)
        value = metric_table(study.test.y, scores, study.test.qid).set_index("metric")["value"]
        assert summary(study)["test metric"] == f"pairwise_accuracy {shown(value['pairwise_accuracy'])}"


class TestPage:
    def test_tags_are_balanced(self, page):
        assert page.open == []

    def test_nothing_is_fetched(self, study, page):
        text = re.sub(r"base64,[^\"]*", "", report_html(study))
        assert not re.search(r"https?:|//|url\(|@import|<script|<link|<iframe", text)
        assert all(source.startswith("data:image/png;base64,") for source in page.of("img", "src"))

    def test_every_picture_has_words(self, page):
        assert len(page.of("img", "alt")) == len(page.of("img", "src")) == 3
        assert all(len(words) > 30 for words in page.of("img", "alt"))

    def test_text_of_users_is_escaped(self):
        name = '<script>alert("x")</script> & "quotes"'
        X = pd.DataFrame({name: [0.0, 1.0, 2.0, 4.0], "b": [1.0, 0.0, 1.0, 0.0]})
        given = Items(X, np.array([0.0, 1, 1, 2]), None, '<img src="http://x">.csv')
        text = report_html(conduct(RankSVMPath(C_max=1), given, given))
        assert "<script" not in text
        assert "http://x" not in [
            value for _, name, value in Page(text).attributes if name in ("src", "href")
        ]
        assert name in {cell for row in Page(text).rows for cell in row}

    def test_cells_are_escaped_and_numbers_marked(self):
        X = pd.DataFrame({"<b>": [0.0, 1.0], "b": [1.0, 0.0]})
        given = Items(X, np.array([0.0, 1]), None, "a.csv")
        study = conduct(RankSVMPath(C_max=0.5), given, given)
        # w = C (1, -1) as long as the only pair violates its margin
        assert f'<td>&lt;b&gt;</td><td class="number">{study.C:g}</td>' in report_html(study)

    def test_a_long_table_is_cut_and_says_so(self):
        found = table(pd.DataFrame({"a": [1.5, 2.0, 3.0]}), most=1)
        assert (found.rows, found.left_out) == ([("1.5",)], 2)

    def test_gaps_of_an_aligned_table_are_empty_and_its_numbers_have_the_same_decimals(self):
        found = table(pd.DataFrame({"a": [123.456, 0.0123, None], "b": ["x", None, 7]}), is_aligned=True)
        assert found.rows == [("123.5", "x"), ("0.0", ""), ("", "7")]
        assert [column.is_number for column in found.columns] == [True, False]

    def test_a_name_a_template_misspells_is_an_error(self):
        with pytest.raises(UndefinedError, match="title"):
            render("base.html", {})


class TestStudy:
    def test_one_standard_error_is_used_if_asked_for(self):
        plan = Plan(choice="one-standard-error")
        study = conduct(RankSVMPath(C_max=20), items(18, 0), items(18, 1), plan=plan)
        assert study.curve.C_one_standard_error == study.C
        assert ["one-standard-error", shown(study.C)] == next(
            row[:2] for row in Page(report_html(study)).rows if row[-1] == "chosen"
        )

    def test_folds_replace_validation_items(self):
        study = conduct(RankSVMPath(C_max=5), items(18, 0), plan=Plan(folds=3))
        assert study.curve.C_best == study.C
        assert ["chosen on", "3 folds of the training items"] in Page(report_html(study)).rows

    def test_kernel_model_of_two_features_shows_the_plane_and_no_weights(self):
        X, y = plane(16, seed=0)
        given = Items(pd.DataFrame(X, columns=["a", "b"]), y.astype(float), None, "plane")
        text = report_html(conduct(RankSVMPath(C_max=5, kernel="rbf", gamma=0.5), given, given))
        assert ["gamma", "0.5"] in Page(text).rows
        assert "<h2>Scores</h2>" in text
        assert "<h2>Weights</h2>" not in text

    def test_contradictory_pairs_are_named(self):
        given = items(6, 0)
        model = RankSVMPath(C_max=1).fit(given.X, pairs=[(0, 1), (1, 2), (2, 0), (3, 4)])
        curve = model.select(given.X, given.y)
        text = report_html(Study(model, curve, Plan(), 0.1, given, given, None))
        assert "0 &gt; 1 &gt; 2 &gt; 0" in text

    def test_path_that_was_cut_says_why(self):
        study = conduct(RankSVMPath(C_max=20, max_pieces=3), items(18, 0), items(18, 1))
        (row,) = [row for row in Page(report_html(study)).rows if row[0] == "complete"]
        assert row[1].startswith("no: max_pieces = 3")

    def test_metric_that_labels_do_not_allow_is_refused_before_any_work(self):
        given = items(8, 0, "a.csv")
        negative = Items(given.X, given.y - 10, None, "b.csv")
        with refuses(DataError, "b.csv", expected="ndcg"):
            conduct(RankSVMPath(C_max=-1), given, negative, plan=Plan(metric="ndcg"))

    @pytest.mark.parametrize(
        ("plan", "wrong"),
        [
            (Plan(metric="auc"), {"argument": "metric", "found": "'auc'"}),
            (Plan(choice="worst"), {"argument": "choice", "found": "'worst'"}),
        ],
    )
    def test_unknown_plan_is_named(self, plan, wrong):
        with refuses(DataError, **wrong):
            conduct(RankSVMPath(), items(8, 0), plan=plan)

    def test_other_features_are_named(self):
        other = Items(pd.DataFrame({"price": [1.0]}), np.ones(1), None, "b.csv")
        with refuses(DataError, "b.csv", match="lacks features of items: 'weight', "):
            conduct(RankSVMPath(), items(8, 0), other)


def test_scores_are_those_of_the_test_items(study, tmp_path):
    (tmp_path / "scores.csv").write_text(scores_csv(study))
    written = pd.read_csv(tmp_path / "scores.csv")
    np.testing.assert_allclose(written["score"], study.model.decision_function(study.test.X))
    np.testing.assert_array_equal(written["rank"], study.model.rank(study.test.X, study.test.qid))
    np.testing.assert_array_equal(written["qid"], study.test.qid)


def test_report_is_written_as_it_is(study, tmp_path):
    write_report(study, tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text(encoding="utf-8") == report_html(study)
    assert [file.name for file in tmp_path.iterdir()] == ["out.html"]


def test_file_that_cannot_be_finished_leaves_the_old_one(tmp_path):
    file = tmp_path / "out.html"
    file.write_text("old")
    with pytest.raises(TypeError):
        write_whole(file, "text instead of bytes")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
