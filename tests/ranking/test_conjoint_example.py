"""The example: the study that comes with the package is what its generator makes."""

from importlib.resources import files

import numpy as np

from ranking.conjoint import example_part_worths, example_study
from ranking.conjoint.data.example import FILE, LEVELS, PACKAGE
from tests.coffee import example_frame


def test_the_file_is_what_the_generator_writes():
    written = (files(PACKAGE) / "data" / FILE).read_text(encoding="utf-8")
    assert example_frame().to_csv(index=False, lineterminator="\n") == written.replace("\r\n", "\n")


def test_another_seed_makes_another_study():
    assert not example_frame(1).equals(example_frame(0))


def test_the_study_is_as_documented():
    study = example_study()
    card = study.card()
    assert len(study.respondents) == 24
    assert set(np.bincount(study.choices.respondent)) == {10}
    assert set(study.n_alternatives) == {4}
    assert card.straight_liners.index.tolist() == [24]
    assert study.weights.loc[12] == 1.0
    assert study.weights.loc[13] == 1.5
    assert study.levels() == LEVELS
    assert len(card.duplicates) == 0


def test_holdout_tasks_are_the_same_for_all():
    _, held = example_study().split_holdout()
    designs = held.design.reshape(24, -1)
    assert (designs == designs[0]).all()


def test_part_worths_have_the_columns_of_the_design():
    assert example_part_worths().index.equals(example_study().columns)


def test_the_true_part_worths_agree_with_most_choices():
    """In a logit model the better one of two alternatives is chosen over the other more often than not."""
    study = example_study()
    worths = example_part_worths().to_numpy()
    rows = study.differences(holdout=None)
    group = (rows.respondent >= 12).astype(int)
    honest = rows.respondent < 23
    agrees = (rows.rows * worths[:, group].T).sum(axis=1) > 0
    assert agrees[honest].mean() > 0.7
