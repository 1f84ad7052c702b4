"""The bootstrap: seeded draws of respondents, percentile intervals that cover what is true."""

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ranking import ConjointStudy, DataError
from ranking.conjoint import importance_summary, part_worth_summary, refit_bootstrap, respondent_bootstrap
from ranking.conjoint.results.bootstrap import bootstrap_of, resampled, summary_of
from tests.ranking.choice_tables import assert_same
from tests.ranking.market import COFFEE, COLUMNS, counted_worths, mixed_study, worths
from tests.refusals import refuses

TRAIN = COFFEE.split_holdout()[0]


def drawn_by_hand(study, codes):
    """The study of a table in which the rows of respondents stand several times, under new names."""
    rows, who = study.to_frame(), study.arguments["respondent"]
    parts = [
        rows[rows[who] == study.respondents[code]].assign(**{who: place}) for place, code in enumerate(codes)
    ]
    return ConjointStudy.from_frame(pd.concat(parts), **study.arguments)


@pytest.mark.parametrize("study", [COFFEE, mixed_study(respondents=5)], ids=["coffee", "mixed"])
def test_a_drawn_study_is_that_of_repeated_rows(study):
    codes = np.array([3, 0, 3, 1])
    assert_same(resampled(study, codes), drawn_by_hand(study, codes))


def test_the_estimate_is_the_weighted_mean():
    v = worths(24)
    means = respondent_bootstrap(v, COFFEE).means(lambda table: table)
    assert_allclose(means.estimate, np.average(v, axis=0, weights=COFFEE.weights))


def test_draws_are_means_of_drawn_rows():
    """Counts of a multinomial distribution are those of rows drawn with replacement."""
    v, weights = worths(5), np.arange(1.0, 6)
    boot = respondent_bootstrap(v, COFFEE, weights, draws=50, random_state=3)
    counts = np.random.default_rng(3).multinomial(5, np.full(5, 0.2), size=50)
    for draw, count in zip(boot.means(lambda t: t).draws.to_numpy(), counts, strict=True):
        rows = np.repeat(np.arange(5), count)
        assert_allclose(draw, np.average(v.to_numpy()[rows], axis=0, weights=weights[rows]))


def test_the_same_seed_gives_the_same_intervals_and_another_does_not():
    one, again, other = (
        part_worth_summary(respondent_bootstrap(worths(9), COFFEE, draws=60, random_state=seed), COFFEE)
        for seed in (0, 0, 1)
    )
    assert one.equals(again)
    assert not one.equals(other)


def test_intervals_of_a_mean_cover_the_truth_about_as_often_as_they_say():
    """40 respondents, 95 % intervals: percentile intervals of a mean are a little short, 93 % say."""
    chance, covered = np.random.default_rng(0), 0
    for _ in range(300):
        v = pd.DataFrame(chance.normal(1.0, 2.0, size=(40, len(COLUMNS))), columns=COLUMNS)
        table = (
            respondent_bootstrap(v, COFFEE, np.ones(40), draws=200).means(lambda t: t.iloc[:, :1]).intervals()
        )
        covered += bool(table["lo"].iloc[0] <= 1.0 <= table["hi"].iloc[0])
    assert 0.88 <= covered / 300 <= 0.98


def test_the_standard_error_is_that_of_a_mean():
    v = worths(400)
    table = part_worth_summary(respondent_bootstrap(v, COFFEE, np.ones(400)), COFFEE, zero_centred=False)
    assert_allclose(table["standard_error"], v.std() / 20, rtol=0.1)


def test_respondents_without_a_value_are_left_out_and_counted():
    v = worths(6)
    v.loc[2] = 0.0
    table = importance_summary(v, COFFEE, weights=np.ones(6))
    assert set(table["respondents"]) == {5}
    assert_allclose(table["estimate"], importance_summary(v.drop(index=2), COFFEE, np.ones(5))["estimate"])


@pytest.mark.parametrize("rows", [1, 24], ids=["one row", "the same row for everybody"])
def test_part_worths_of_all_together_have_no_interval(rows):
    """An interval without width would claim to know them exactly."""
    same = pd.concat([worths(1)] * rows).set_axis(range(1, rows + 1))
    table = part_worth_summary(same, COFFEE)
    assert table[["standard_error", "lo", "hi"]].isna().all().all()


class TestRefits:
    def test_draws_are_fits_to_drawn_respondents(self):
        boot = refit_bootstrap(counted_worths, COFFEE, draws=5, random_state=2)
        codes = np.random.default_rng(2).integers(24, size=(5, 24))
        means = boot.means(lambda table: table)
        assert_allclose(means.estimate, counted_worths(TRAIN))
        for draw, row in zip(means.draws.to_numpy(), codes, strict=True):
            assert_allclose(draw, counted_worths(drawn_by_hand(TRAIN, row)))

    def test_individual_part_worths_keep_their_weights(self):
        def fit(study):
            rows = [counted_worths(study.only(respondents=[name])) for name in study.respondents]
            return pd.DataFrame(rows, index=study.respondents, columns=study.columns)

        refits = refit_bootstrap(fit, TRAIN, draws=4, random_state=0)
        codes = np.random.default_rng(0).integers(24, size=(4, 24))
        for (table, weights), row in zip(refits.samples, codes, strict=True):
            assert_allclose(table.to_numpy(), fit(TRAIN).to_numpy()[row])
            assert_array_equal(weights, TRAIN.weights.to_numpy()[row])

    def test_processes_do_not_matter(self):
        one = refit_bootstrap(counted_worths, TRAIN, draws=4)
        with joblib.parallel_config(backend="threading"):
            two = refit_bootstrap(counted_worths, TRAIN, draws=4, n_jobs=2)
        for (a, _), (b, _) in zip(one.samples, two.samples, strict=True):
            assert a.equals(b)

    def test_an_aggregate_model_gets_intervals(self):
        table = part_worth_summary(refit_bootstrap(counted_worths, TRAIN, draws=30), COFFEE)
        assert (table["lo"] < table["hi"]).all()


class TestMessages:
    @pytest.mark.parametrize("draws", [1, 2.5, True, "many"])
    def test_draws_are_counted(self, draws):
        with refuses(DataError, "draws", expected="a whole number of at least 2"):
            respondent_bootstrap(worths(3), COFFEE, draws=draws)

    @pytest.mark.parametrize("level", [0, 1, 95])
    def test_a_level_lies_between_0_and_1(self, level):
        with refuses(DataError, "level", expected="between 0 and 1, for example 0.95"):
            summary_of(pd.Series([1.0]), pd.DataFrame([[1.0]]), level)

    def test_weights_belong_to_the_bootstrap(self):
        boot = respondent_bootstrap(worths(3), COFFEE)
        with refuses(DataError, "weights"):
            bootstrap_of(boot, COFFEE, np.ones(3))

    def test_a_bootstrap_of_another_study_is_refused(self):
        boot = respondent_bootstrap(worths(3), COFFEE)
        with refuses(DataError, "part_worths", column="('brand', 'A')"):
            importance_summary(boot, mixed_study())
