"""Conjoint studies of published choice data, kept outside the repository; sizes are those of its README."""

from functools import cache

import pandas as pd
import pytest

from ranking import ConjointStudy, StudyError
from tests import data_folder
from tests.data_folder import needs
from tests.ranking.choice_tables import assert_same

ROLES = {"respondent": "resp", "task": "task", "chosen": "choice", "alternative": "alt"}
IMMIGRATION = ["Education", "Gender", "CountryOfOrigin", "ReasonForApplication", "Job", "JobExperience"]
IMMIGRATION += ["JobPlans", "PriorEntry", "LanguageSkills"]
ATTRIBUTES = {
    "electricity": dict.fromkeys(["pf", "cl"], "linear")
    | dict.fromkeys(["loc", "wk", "tod", "seas"], "levels"),
    "immigration": IMMIGRATION,
    "minivan": ["seat", "cargo", "eng", "price"],
    "train": {"price": "linear", "time": "linear", "change": "levels", "comfort": [0, 1, 2]},
    "yogurt": {"price": "linear", "feat": "levels", "brand": "levels"},
}
# Respondents, tasks, alternatives per task, rows.
SIZES = {
    "electricity": (361, 4308, 4, 17232),
    "immigration": (1396, 6980, 2, 13960),
    "minivan": (200, 3000, 3, 9000),
    "train": (235, 2929, 2, 5858),
    "yogurt": (100, 2412, 4, 9648),
}
CASES = [pytest.param(name, marks=needs(f"choice_{name}"), id=name) for name in SIZES]


def file(name):
    return data_folder.DATA / f"choice_{name}" / f"{name}.csv.gz"


@cache
def read(name):
    return ConjointStudy.read_csv(file(name), attributes=ATTRIBUTES[name], **ROLES)


@pytest.mark.parametrize("name", CASES)
class TestPublishedData:
    def test_sizes_are_as_published(self, name):
        study, (respondents, tasks, size, rows) = read(name), SIZES[name]
        assert len(study.respondents) == respondents
        assert len(study.tasks) == tasks
        assert set(study.n_alternatives) == {size}
        assert len(study.design) == rows
        assert len(study.differences()) == tasks * (size - 1)

    def test_cells_and_choices_are_those_of_the_file(self, name):
        study, rows = read(name), pd.read_csv(file(name))
        rows = rows.sort_values(["resp", "task", "alt"], kind="stable").reset_index(drop=True)
        found = study.to_frame()
        for column in ["resp", "task", "alt", "choice", *study.attributes]:
            assert found[column].tolist() == rows[column].tolist()

    def test_wide_and_back_is_the_same_study(self, name):
        study = read(name)
        arguments = {"respondent": "resp", "task": "task", "choice": "choice"}
        again = ConjointStudy.from_wide(study.to_wide(), attributes=study.attributes, **arguments)
        assert_same(again, study, extras=False)

    def test_the_order_of_rows_changes_nothing(self, name):
        rows = pd.read_csv(file(name)).sample(frac=1, random_state=0)
        again = ConjointStudy.from_frame(rows, attributes=ATTRIBUTES[name], **ROLES)
        assert_same(again, read(name))

    def test_the_card_counts_every_choice_once(self, name):
        study = read(name)
        card = study.card()
        assert card.positions["chosen"].sum() == SIZES[name][1]
        by_attribute = card.levels.groupby(level="attribute")["chosen"].sum()
        assert set(by_attribute) == {SIZES[name][1]}


@needs("choice_minivan")
def test_levels_of_the_minivans_are_as_published():
    assert read("minivan").levels() == {
        "seat": (6, 7, 8),
        "cargo": (2, 3),
        "eng": ("elec", "gas", "hyb"),
        "price": (30, 35, 40),
    }


@needs("choice_train")
def test_prices_of_trains_are_too_many_for_levels():
    with pytest.raises(StudyError) as caught:
        ConjointStudy.read_csv(file("train"), attributes=["price", "time", "change", "comfort"], **ROLES)
    assert len(caught.value.problems) == 2
    first = caught.value.problems[0]
    assert (first.column, first.found) == ("price", "211 different numbers")


@needs("choice_minivan")
def test_a_broken_file_is_told_by_respondent_and_task():
    rows = pd.read_csv(file("minivan"))
    rows.loc[(rows["resp"] == 7) & (rows["task"] == 100), "choice"] = 0
    rows.loc[rows.index[10], "eng"] = "gas "
    with pytest.raises(StudyError) as caught:
        ConjointStudy.from_frame(rows, attributes=ATTRIBUTES["minivan"], **ROLES)
    no_choice, level = caught.value.problems
    assert (no_choice.respondent, no_choice.task, no_choice.column) == (7, 100, "choice")
    assert (level.column, "'gas ' (1 row)" in level.found) == ("eng", True)
