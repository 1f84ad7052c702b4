"""Predictions: agreement of part-worths with choices, by its definitions, and part-worths as input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ranking import DataError
from ranking.conjoint import (
    agreement,
    common_shares,
    hit_rate,
    log_likelihood,
    root_likelihood,
    share_error,
    utilities,
)
from ranking.conjoint.results.part_worths import read_part_worths, weights_of
from ranking.conjoint.results.predictions import first_choices, log_logit, logit, probabilities
from tests.ranking.choice_tables import ATTRIBUTES, DRAWN, frames, study
from tests.ranking.market import COFFEE, COLUMNS, mixed_study, worths
from tests.refusals import refuses


def by_hand(part_worths, data):
    """Yield weight, utilities and place of the choice of every task, slowly."""
    for t in range(len(data.choices)):
        name = data.respondents[data.choices.respondent[t]]
        v = part_worths.loc[name] if len(part_worths) > 1 else part_worths.iloc[0]
        yield (
            data.weights[name],
            np.array([data.design[row] @ v.to_numpy() for row in data.choices.rows(t)]),
            data.choices.chosen[t],
        )


@given(frame=frames(), seed=st.integers(0, 9), scale=st.sampled_from([0, 0.3, 2.0]))
def test_measures_are_what_a_loop_over_tasks_says(frame, seed, scale):
    data = study(frame, ATTRIBUTES, **DRAWN)
    v = worths(len(data.respondents), seed, data.columns, data.respondents)
    total = hits = logs = 0.0
    for weight, u, chosen in by_hand(v, data):
        total += weight
        hits += weight * (u[chosen] == u.max()) / (u == u.max()).sum()
        logs += weight * np.log(np.exp(scale * u[chosen]) / np.exp(scale * u).sum())
    assert hit_rate(v, data) == pytest.approx(hits / total)
    assert log_likelihood(v, data, scale) == pytest.approx(logs)
    assert root_likelihood(v, data, scale) == pytest.approx(np.exp(logs / total))


def test_equal_utilities_have_the_root_likelihood_of_chance():
    nothing = pd.Series(0.0, index=COLUMNS)
    for scale in (0, 1, np.inf):
        assert root_likelihood(nothing, COFFEE, scale) == pytest.approx(1 / 4)
    assert hit_rate(nothing, COFFEE) == pytest.approx(1 / 4)


def test_chance_among_tasks_of_different_sizes_is_a_geometric_mean():
    data = mixed_study()
    weights = data.weights.to_numpy()[data.choices.respondent]
    expected = np.exp(-np.average(np.log(data.n_alternatives), weights=weights))
    found = agreement(worths(20, columns=data.columns), data)
    assert found["root likelihood by chance"] == pytest.approx(expected)
    assert found["hit rate by chance"] == pytest.approx(np.average(1 / data.n_alternatives, weights=weights))


def test_probabilities_add_up_to_one_in_every_task():
    data = mixed_study()
    p = probabilities(worths(20, columns=data.columns), data, 0.7)
    sums = np.bincount(data.choices.task_of_row, weights=p)
    assert_allclose(sums, 1)


def test_utilities_are_products_with_the_design():
    v = worths(1)
    assert_allclose(utilities(v, COFFEE), COFFEE.design @ v.iloc[0].to_numpy())


def test_rows_are_found_by_respondent_whatever_their_order():
    v = worths(24)
    assert_array_equal(utilities(v, COFFEE), utilities(v.sample(frac=1, random_state=0), COFFEE))


class TestRules:
    def test_ties_are_split(self):
        assert_array_equal(first_choices(np.array([[2.0, 2, 1], [3, 3, 3]]), np.ones(2))[0], [0.5, 0.5, 0])

    def test_round_off_is_a_tie_and_a_small_difference_is_none(self):
        sizes = np.array([1.0])
        assert first_choices(np.array([[0.1 + 0.2, 0.3]]), sizes).tolist() == [[0.5, 0.5]]
        assert first_choices(np.array([[0.3 + 1e-8, 0.3]]), sizes).tolist() == [[1, 0]]

    def test_a_large_scale_tends_to_first_choice(self):
        U, sizes = np.random.default_rng(0).normal(size=(5, 4)), np.ones(5)
        assert_allclose(logit(U, 1e6, sizes), first_choices(U, sizes), atol=1e-12)
        assert_array_equal(logit(U, np.inf, sizes), first_choices(U, sizes))

    def test_logarithms_stay_finite_where_probabilities_vanish(self):
        U = np.array([[0.0, 5000.0]])
        assert log_logit(U, 1.0, np.ones(1))[0, 0] == -5000

    def test_logarithms_are_those_of_the_probabilities(self):
        U, sizes = np.random.default_rng(1).normal(size=(5, 4)), np.ones(5)
        assert_allclose(np.exp(log_logit(U, 0.7, sizes)), logit(U, 0.7, sizes))

    @pytest.mark.parametrize("scale", [-1, np.nan, "1", True])
    def test_a_scale_is_not_negative(self, scale):
        with refuses(DataError, "scale", expected="a number of at least 0, or inf"):
            root_likelihood(worths(1), COFFEE, scale)


class TestHoldouts:
    def test_observed_shares_are_counted(self):
        _, held = COFFEE.split_holdout()
        shares = common_shares(worths(24), held)
        rows = COFFEE.to_frame()
        for (task, alternative), row in shares.iterrows():
            mine = rows[(rows["task"] == task) & (rows["alternative"] == alternative)]
            assert row["observed"] == pytest.approx(np.average(mine["chosen"], weights=mine["weight"]))
            assert row["respondents"] == 24
        assert_allclose(shares.groupby("task")[["observed", "predicted", "first choice"]].sum(), 1)

    def test_error_is_the_mean_absolute_difference(self):
        _, held = COFFEE.split_holdout()
        nothing = pd.Series(0.0, index=COLUMNS)
        observed = common_shares(nothing, held)["observed"]
        assert share_error(nothing, held) == pytest.approx(np.abs(observed - 0.25).mean())

    def test_tasks_of_single_respondents_have_no_shares(self):
        with refuses(DataError, "study"):
            common_shares(worths(24), COFFEE.split_holdout()[0])


class TestPartWorths:
    def test_columns_may_come_in_any_order(self):
        v = worths(3)
        assert read_part_worths(v[v.columns[::-1]], COFFEE).equals(v)

    def test_a_series_is_one_row(self):
        assert len(read_part_worths(worths(1).iloc[0], COFFEE)) == 1

    @pytest.mark.parametrize(
        ("change", "wrong"),
        [
            (lambda v: v.T, {"argument": "part_worths", "column": "('brand', 'Alba')"}),
            (
                lambda v: v.drop(columns=[("price", 9)]),
                {"argument": "part_worths", "column": "('price', 9)"},
            ),
            (
                lambda v: pd.concat([v, v.iloc[:, :1].set_axis([("a", "b")], axis=1)], axis=1),
                {"argument": "part_worths", "found": "('a', 'b')"},
            ),
            (
                lambda v: v * np.nan,
                {"argument": "part_worths", "respondent": 1, "column": "brand Alba", "found": "nan"},
            ),
            (lambda v: v.set_axis([5, 5, 6]), {"argument": "part_worths", "respondent": 5}),
            (
                lambda v: v.iloc[:0],
                {"argument": "part_worths", "expected": "one row per respondent, or one for all"},
            ),
            (lambda v: v.to_numpy(), {"argument": "part_worths", "found": "ndarray"}),
        ],
    )
    def test_wrong_tables_are_told_in_words(self, change, wrong):
        with refuses(DataError, **wrong):
            read_part_worths(change(worths(3)), COFFEE)

    def test_a_missing_respondent_is_named(self):
        with refuses(DataError, "part_worths", respondent=24):
            hit_rate(worths(23), COFFEE)

    def test_weights_are_those_of_the_study_unless_given(self):
        v = worths(24)
        assert_array_equal(weights_of(None, v, COFFEE), COFFEE.weights)
        assert_array_equal(weights_of(dict.fromkeys(v.index, 2.0), v, COFFEE), np.full(24, 2.0))
        assert_array_equal(
            weights_of(None, v.set_axis(list("abcdefghijklmnopqrstuvwx")), COFFEE), np.ones(24)
        )

    @pytest.mark.parametrize(
        ("weights", "wrong"),
        [
            ({1: 1.0}, {"argument": "weights", "respondent": 2}),
            (np.full(24, -1.0), {"argument": "weights", "expected": "at least 0, and not all zero"}),
            (np.zeros(24), {"argument": "weights", "expected": "at least 0, and not all zero"}),
            (np.ones(3), {"argument": "weights", "found": 3}),
        ],
    )
    def test_wrong_weights_are_told_in_words(self, weights, wrong):
        with refuses(DataError, **wrong):
            weights_of(weights, worths(24), COFFEE)

    def test_what_is_no_study_is_told(self):
        with refuses(DataError, "study", found="int"):
            read_part_worths(worths(1), 3)
