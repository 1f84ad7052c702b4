"""The report of an ordinal study: one HTML page with its numbers, and tables anybody can check."""

import re

import numpy as np
import pandas as pd
import pytest

from ranking import DataError
from ranking.io.items import Items
from ranking.metrics.levels import LEVEL_METRICS, level_metric_table
from ranking.ordinal.path import OrdinalSVMPath
from ranking.report.page import shown
from ranking.report.paths import (
    MOST_SCORES,
    confusion_text,
    level_report_html,
    predictions_csv,
    summary,
    write_report,
)
from ranking.studies.paths import Plan, conduct_levels
from tests.ranking.pages import Page
from tests.ranking.studies import grades, items
from tests.refusals import refuses

GRADES = list("DCBA")


@pytest.fixture(scope="module")
def study():
    parts = (grades(24, 0, "train.csv"), grades(24, 1, "vali.csv"), grades(40, 2, "test.csv"))
    return conduct_levels(OrdinalSVMPath(C_max=20, levels=GRADES), *parts)


@pytest.fixture(scope="module")
def text(study):
    return level_report_html(study)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


class TestStudy:
    def test_C_is_the_best_on_validation_items(self, study):
        again = OrdinalSVMPath(C_max=20, levels=GRADES).fit(study.train.X, study.train.y)
        curve = again.select(study.validation.X, study.validation.y)
        assert curve.C_best == study.C
        predicted = again.predict(study.validation.X, study.C)
        places = [[GRADES.index(grade) for grade in part] for part in (predicted, study.validation.y)]
        distance = np.abs(np.subtract(*places))
        assert (
            study.measure(study.validation) == pytest.approx(np.mean(distance)) == pytest.approx(curve.best)
        )

    def test_folds_replace_validation_items(self):
        plan = Plan("accuracy", "one-standard-error", folds=3, seed=2)
        study = conduct_levels(OrdinalSVMPath(C_max=1, levels=GRADES), grades(24, 0), plan=plan)
        assert study.curve.C_one_standard_error == study.C
        assert study.how_chosen == "3 folds of the training items"

    def test_confusion_table_counts_what_was_predicted_for_what(self, study):
        predicted = study.model.predict(study.test.X)
        for true in GRADES:
            for level in GRADES:
                count = int(((study.test.y == true) & (predicted == level)).sum())
                assert study.confusion(study.test).loc[true, level] == count

    def test_numbers_that_only_later_items_have_are_levels_too(self):
        train, test = items(16, 0), items(16, 1)
        known = Items(train.X, np.where(train.y == 2, 3, train.y), None, "train")
        study = conduct_levels(OrdinalSVMPath(C_max=1), known, known, test)
        assert set(study.levels.names) == set(known.y) | set(test.y)
        assert study.confusion(test).to_numpy().sum() == 16

    @pytest.mark.parametrize(
        ("plan", "wrong"),
        [
            (Plan(), {"argument": "metric", "found": "'pairwise_accuracy'"}),
            (Plan("accuracy", "worst"), {"argument": "choice", "found": "'worst'"}),
        ],
    )
    def test_unknown_plan_is_named(self, plan, wrong):
        with refuses(DataError, **wrong):
            conduct_levels(OrdinalSVMPath(levels=GRADES), grades(8, 0), plan=plan)

    @pytest.mark.parametrize("levels", [None, ["D", "C", "B"]])
    def test_labels_without_a_place_are_named_with_their_file(self, levels):
        with pytest.raises(DataError) as caught:
            conduct_levels(OrdinalSVMPath(levels=levels), grades(24, 0, "train.csv"))
        assert caught.value.argument.startswith("train.csv: label")

    def test_one_level_is_refused_before_any_work(self):
        given = Items(items(8, 0).X, np.ones(8), None, "a.csv")
        with refuses(DataError, "a.csv", found="1.0"):
            conduct_levels(OrdinalSVMPath(C_max=-1), given)


class TestNumbers:
    def test_sizes_of_the_data_and_counts_of_levels(self, study, page):
        for name, part in study.parts.items():
            assert [name, part.source, str(len(part)), "2"] in page.rows
        for grade in GRADES:
            assert [grade, *(str((part.y == grade).sum()) for part in study.parts.values())] in page.rows

    def test_path_and_choice_along_path(self, study, page):
        assert ["pieces", str(len(study.model.path_.segments))] in page.rows
        curve = study.curve
        chosen = (curve.C_best, 1 / curve.C_best, curve.best, curve.error_at(curve.C_best))
        assert ["best", *map(shown, chosen), "chosen"] in page.rows
        assert any("interval with the smallest value" in text for text in page.texts)

    def test_confusion_tables(self, study, page):
        for part in study.parts.values():
            for grade, row in study.confusion(part).iterrows():
                assert [grade, *map(str, row)] in page.rows

    def test_metrics_with_standard_errors_of_every_part(self, study, page):
        for part in study.parts.values():
            predicted = study.model.predict(part.X)
            for row in level_metric_table(part.y, predicted, GRADES).itertuples(index=False):
                assert [row.metric, shown(row.value), shown(row.standard_error)] in page.rows
        for name, metric in LEVEL_METRICS.items():
            assert [name, metric.definition] in page.rows

    def test_thresholds_and_weights(self, study, page):
        p = study.model.thresholds_at(study.C)
        for k, (below, above) in enumerate(zip("DCB", "CBA", strict=True)):
            assert [f"p{k + 1}", below, above, shown(float(p[k]))] in page.rows
        for name, weight in zip(("midterm", "final"), study.model.coef_at(study.C), strict=True):
            assert [name, shown(float(weight))] in page.rows

    @pytest.mark.parametrize(
        ("C_max", "X", "words"),
        [
            (1.0, [0, 1, 3, 4], "not known: the path ends at C = 1"),
            (np.inf, [0, 1, 3, 4], "yes: every margin is kept from C = 0.5 on"),
            (np.inf, [0, 3, 1, 4], "no: some margins stay violated"),
        ],
    )
    def test_separability_is_reported(self, C_max, X, words):
        given = Items(pd.DataFrame({"x": np.array(X, float)}), np.array([1, 1, 2, 2]), None, "line")
        study = conduct_levels(OrdinalSVMPath(C_max=C_max), given, given)
        assert summary(study)["separable"].startswith(words)

    def test_level_no_training_item_has_is_named(self):
        given = grades(24, 0)
        study = conduct_levels(OrdinalSVMPath(C_max=1, levels=["E", *GRADES]), given, given)
        assert "No training item has the level E: it is never predicted." in level_report_html(study)

    def test_metric_that_labels_do_not_allow_is_not_defined(self, study):
        same = Items(study.test.X, np.full(40, "A", dtype=object), None, "same.csv")
        other = conduct_levels(OrdinalSVMPath(C_max=1, levels=GRADES), study.train, study.validation, same)
        assert ["level_kendall_tau", "not defined", "not defined"] in Page(level_report_html(other)).rows


class TestPage:
    def test_tags_are_balanced_and_nothing_is_fetched(self, text, page):
        assert page.open == []
        words = re.sub(r"base64,[^\"]*", "", text)
        assert not re.search(r"https?:|//|url\(|@import|<script|<link|<iframe", words)

    def test_every_picture_has_words(self, page):
        assert len(page.of("img", "alt")) == len(page.of("img", "src")) == 4
        assert all(len(words) > 30 for words in page.of("img", "alt"))

    def test_kernel_model_of_many_features_shows_neither_weights_nor_plane(self):
        given = items(20, 0)
        model = OrdinalSVMPath(C_max=1, kernel="rbf", gamma=0.5, scope="all", ordered=False)
        text = level_report_html(conduct_levels(model, given, given))
        assert ["gamma", "0.5"] in Page(text).rows
        assert ["thresholds an item is compared with", "all of them"] in Page(text).rows
        assert ["thresholds are made to ascend", "no"] in Page(text).rows
        assert "<h2>Weights</h2>" not in text
        assert "<h2>Levels in the plane</h2>" not in text

    def test_text_of_users_is_escaped(self):
        X = pd.DataFrame({"<script>": [0.0, 1.0, 2.0, 4.0]})
        labels = np.array(["<b>", "<b>", "$x_1", "$x_1"], dtype=object)
        given = Items(X, labels, None, '<img src="http://x">.csv')
        model = OrdinalSVMPath(C_max=1, levels=["<b>", "$x_1"])
        text = level_report_html(conduct_levels(model, given, given))
        assert "<script" not in text
        assert "<b>" not in text
        assert "<b>" in {cell for row in Page(text).rows for cell in row}

    def test_of_many_items_some_are_drawn_and_the_caption_says_so(self):
        given = grades(MOST_SCORES + 1, 3)
        study = conduct_levels(OrdinalSVMPath(C_max=1e-4, levels=GRADES), given, given)
        assert f"Scores of {MOST_SCORES} of {MOST_SCORES + 1} training items" in level_report_html(study)


def test_predictions_are_those_of_the_test_items(study, tmp_path):
    (tmp_path / "p.csv").write_text(predictions_csv(study))
    written = pd.read_csv(tmp_path / "p.csv")
    np.testing.assert_array_equal(written["predicted"], study.model.predict(study.test.X))
    np.testing.assert_array_equal(written["y"], study.test.y)
    np.testing.assert_allclose(written["score"], study.model.predict_projection(study.test.X))


def test_confusion_is_written_as_text(study):
    _, header, *rows = confusion_text(study).splitlines()
    assert header.split() == GRADES
    assert [row.split()[0] for row in rows] == GRADES
    assert sum(int(cell) for row in rows for cell in row.split()[1:]) == 40


def test_report_is_written_as_it_is(study, text, tmp_path):
    write_report(study, tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text(encoding="utf-8") == text
