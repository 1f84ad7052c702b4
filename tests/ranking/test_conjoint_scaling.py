"""Importances, order reversals and willingness to pay: conventions of the trade, by their definitions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ranking import DataError
from ranking.conjoint import (
    attribute_ranges,
    hit_rate,
    importance_summary,
    importances,
    order_reversals,
    part_worth_summary,
    refit_bootstrap,
    respondent_bootstrap,
    reversal_counts,
    utilities,
    willingness_to_pay,
    zero_centred_diffs,
)
from tests.ranking.market import COFFEE, COLUMNS, conditional_logit, mixed_study, worths
from tests.refusals import refuses

MIXED = mixed_study()
STUDIES = pytest.mark.parametrize("study", [COFFEE, MIXED], ids=["coffee", "mixed"])
SEEDS = st.integers(0, 999)


@STUDIES
class TestZeroCentredDiffs:
    @given(seed=SEEDS)
    def test_worths_add_up_to_zero_and_ranges_are_100_on_average(self, study, seed):
        found = zero_centred_diffs(worths(4, seed, study.columns), study)
        for name in study.levels():
            assert_allclose(found[name].sum(axis=1), 0, atol=1e-9)
        assert_allclose(attribute_ranges(found, study).mean(axis=1), 100)

    def test_choices_stay_as_they_are(self, study):
        v = worths(24, columns=study.columns)
        assert hit_rate(zero_centred_diffs(v, study), study) == pytest.approx(hit_rate(v, study))

    def test_utilities_change_by_a_constant_and_a_factor(self, study):
        v = worths(1, columns=study.columns)
        before, after = utilities(v, study), utilities(zero_centred_diffs(v, study), study)
        (slope, _), (residual,), *_ = np.polyfit(before, after, 1, full=True)
        assert slope > 0
        assert residual < 1e-16 * np.square(after).sum()

    @given(seed=SEEDS)
    def test_scale_does_not_matter(self, study, seed):
        v = worths(3, seed, study.columns)
        assert_allclose(zero_centred_diffs(5 * v, study), zero_centred_diffs(v, study), atol=1e-9)

    def test_nobody_is_given_a_scale_who_has_none(self, study):
        v = worths(3, columns=study.columns)
        v.loc[2] = 0.0
        assert zero_centred_diffs(v, study).isna().all(axis=1).tolist() == [False, True, False]
        assert importances(v, study).isna().all(axis=1).tolist() == [False, True, False]


@STUDIES
class TestImportances:
    @given(seed=SEEDS)
    def test_they_add_up_to_100(self, study, seed):
        found = importances(worths(4, seed, study.columns), study)
        assert_allclose(found.sum(axis=1), 100)
        assert (found.to_numpy() >= 0).all()

    def test_they_are_ranges_in_per_cent(self, study):
        v = worths(4, columns=study.columns)
        ranges = attribute_ranges(v, study)
        assert_allclose(
            importances(v, study), 100 * ranges.to_numpy() / ranges.to_numpy().sum(axis=1)[:, None]
        )

    def test_averages_come_after_individuals(self, study):
        v = worths(len(study.respondents), columns=study.columns)
        found = importance_summary(v, study)["estimate"]
        assert_allclose(found, np.average(importances(v, study), axis=0, weights=study.weights))
        assert found.sum() == pytest.approx(100)


def test_the_range_of_a_linear_attribute_is_that_of_the_numbers_shown():
    v = worths(3, columns=MIXED.columns)
    shown = MIXED.to_frame()["price"]
    expected = v[("price", "per unit")].abs() * (shown.max() - shown.min()) / 10
    assert_allclose(attribute_ranges(v, MIXED)["price"], expected)


def test_raw_summaries_are_weighted_means():
    v = worths(24)
    found = part_worth_summary(v, COFFEE, zero_centred=False)
    assert_allclose(found["estimate"], np.average(v, axis=0, weights=COFFEE.weights))
    assert found.index.equals(COLUMNS)


class TestReversals:
    @given(seed=SEEDS)
    def test_they_are_counted(self, seed):
        v = worths(5, seed)
        found = order_reversals(v, COFFEE, {"price": "falls", "size": ["large", "small"]}, np.ones(5))
        counts = [
            (v[("price", 12)] < v[("price", 15)]).sum(),
            (v[("price", 9)] < v[("price", 12)]).sum(),
            (v[("size", "small")] < v[("size", "large")]).sum(),
        ]
        assert found["reversed"].tolist() == counts
        assert_allclose(found["share"], np.array(counts) / 5)
        per_respondent = reversal_counts(v, COFFEE, {"price": "falls", "size": ["large", "small"]})
        assert per_respondent.sum() == sum(counts)

    def test_a_linear_attribute_has_one_slope(self):
        v = worths(6, columns=MIXED.columns)
        found = order_reversals(v, MIXED, {"price": "falls"}, np.ones(6))
        assert found["reversed"].tolist() == [(v[("price", "per unit")] > 0).sum()]
        assert found[["worse", "better"]].iloc[0].tolist() == ["more", "less"]

    def test_equal_worths_are_no_reversal(self):
        assert not order_reversals(0 * worths(3), COFFEE, {"price": "falls"})["reversed"].any()

    @pytest.mark.parametrize(
        ("orders", "wrong"),
        [
            ({"prize": "falls"}, {"argument": "orders", "found": "'prize'"}),
            ({"price": "down"}, {"argument": "orders['price']", "found": "'down'"}),
            ({"price": [9, 16]}, {"argument": "orders['price']", "found": "16"}),
            ({"price": [9]}, {"argument": "orders['price']", "found": "[9]"}),
            ({}, {"argument": "orders", "expected": "at least one attribute, such as {'price': 'falls'}"}),
            ("falls", {"argument": "orders", "found": "'falls'"}),
        ],
    )
    def test_wrong_orders_are_told_in_words(self, orders, wrong):
        with refuses(DataError, **wrong):
            order_reversals(worths(3), COFFEE, orders)


def priced(slopes, gains):
    """Part-worths of the mixed study with given worths of 1 of money and of brand B over A."""
    v = pd.DataFrame(0.0, index=range(1, len(slopes) + 1), columns=MIXED.columns)
    v[("price", "per unit")] = 10 * np.asarray(slopes, dtype=float)
    v[("brand", "B")] = np.asarray(gains, dtype=float)
    return v


class TestWillingnessToPay:
    def test_it_compensates_for_the_level(self):
        """Paying that much more for the level leaves the mean utility as it is."""
        v = worths(20, columns=MIXED.columns)
        v[("price", "per unit")] = -np.abs(v[("price", "per unit")])
        amount = willingness_to_pay(v, MIXED).table.loc[("brand", "C"), "estimate"]
        gain = v[("brand", "C")] - v[("brand", "A")] + v[("price", "per unit")] * amount / 10
        assert np.average(gain, weights=MIXED.weights) == pytest.approx(0)

    def test_a_price_by_level_has_the_slope_of_least_squares(self):
        v = worths(1)
        slope = np.polyfit([9, 12, 15], v["price"].iloc[0], 1)[0]
        assert willingness_to_pay(v, COFFEE).price_slope == pytest.approx(slope)

    def test_another_level_to_compare_with_shifts_all_amounts(self):
        v = priced([-1, -2], [3, 1]) + worths(2, columns=MIXED.columns) / 10
        one = willingness_to_pay(v, MIXED).table["estimate"]["brand"]
        other = willingness_to_pay(v, MIXED, against={"brand": "B"}).table["estimate"]["brand"]
        assert other["C"] == pytest.approx(one["C"] - one["B"])
        assert other["A"] == pytest.approx(-one["B"])

    def test_intervals_cover_the_truth_about_as_often_as_they_say(self):
        chance, covered = np.random.default_rng(1), 0
        for _ in range(200):
            v = priced(chance.normal(-1, 0.5, 50), chance.normal(2, 1, 50))
            boot = respondent_bootstrap(v, MIXED, np.ones(50), draws=200)
            row = willingness_to_pay(boot, MIXED).table.loc[("brand", "B")]
            covered += bool(row["lo"] <= 2 <= row["hi"])
        assert 0.88 <= covered / 200 <= 0.99

    def test_a_price_that_may_be_liked_gives_no_interval_and_says_why(self):
        v = priced([-3, 1, 1, -2, 2, -1], [1, 1, 1, 1, 1, 1])
        found = willingness_to_pay(v, MIXED, weights=np.ones(6))
        assert found.table[["lo", "hi"]].isna().all().all()
        assert np.isfinite(found.table["estimate"]).all()
        assert found.wrong_respondents == pytest.approx(0.5)
        assert 0.025 <= found.wrong_draws < 1
        assert "does not differ from 0" in found.remark
        assert "50% of the respondents" in str(found)

    def test_a_price_that_is_liked_gives_no_amount_and_says_why(self):
        found = willingness_to_pay(priced([1, 1], [1, 1]), MIXED)
        assert found.table["estimate"].isna().all()
        assert "no amounts" in found.remark

    def test_few_wrong_draws_leave_a_finite_interval(self):
        chance = np.random.default_rng(0)
        v = priced(chance.normal(-1, 3.0, 60), chance.normal(2, 1, 60))
        found = willingness_to_pay(v, MIXED, weights=np.ones(60))
        assert 0 < found.wrong_draws < 0.025
        assert np.isfinite(found.table.loc[("brand", "B"), ["lo", "hi"]].astype(float)).all()

    def test_an_aggregate_logit_model_finds_what_the_choices_were_made_with(self):
        """Brand B is worth 1 less than A, 1 of money 0.15: within four standard errors, 6.7 less."""
        study = mixed_study(respondents=150)
        boot = refit_bootstrap(conditional_logit, study, draws=60)
        row = willingness_to_pay(boot, study).table.loc[("brand", "B")]
        error = (row["hi"] - row["lo"]) / (2 * 1.96)
        assert abs(row["estimate"] + 1 / 0.15) < 4 * error
        assert row["lo"] < row["estimate"] < row["hi"] < 0

    @pytest.mark.parametrize(
        ("options", "wrong"),
        [
            ({"price": "prize"}, {"argument": "price", "found": "'prize'"}),
            ({"price": "brand"}, {"argument": "price", "column": "brand", "found": "'Alba', 'Brio', 'Cima'"}),
            ({"against": {"price": 9}}, {"argument": "against", "column": "price"}),
            ({"against": {"brand": "Albo"}}, {"argument": "against['brand']", "found": "'Albo'"}),
        ],
    )
    def test_wrong_wishes_are_told_in_words(self, options, wrong):
        with refuses(DataError, **wrong):
            willingness_to_pay(worths(3), COFFEE, **options)
