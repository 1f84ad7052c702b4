"""Calibration: the scale is where the derivative of the log likelihood is zero."""

import joblib
import numpy as np
import pandas as pd
import pytest

from ranking import DataError
from ranking.conjoint import ConjointStudy, ConjointSVM, calibrate, refit_bootstrap, root_likelihood
from ranking.conjoint.results.calibration import fit_scale, slope_of
from ranking.conjoint.results.predictions import task_utilities, task_weights
from tests.data_folder import DATA, needs
from tests.ranking.market import COFFEE, conditional_logit, counted_worths, mixed_study, worths
from tests.refusals import refuses


def gaps(part_worths, study):
    """Utilities less those of the chosen alternatives, weights and sizes."""
    U, sizes = task_utilities(part_worths, study)
    return U - U[np.arange(len(U)), study.choices.chosen][:, None], task_weights(study), sizes


def log_likelihood_of(D, weights, scale):
    chosen = np.argmax(D == 0, axis=1)
    shares = np.exp(scale * np.where(np.isinf(D), 0, D)) * np.isfinite(D)
    return weights @ np.log(shares[np.arange(len(D)), chosen] / shares.sum(axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_the_scale_is_where_the_likelihood_is_largest(seed):
    data = mixed_study(seed)
    noisy = conditional_logit(data) + worths(1, seed, data.columns).iloc[0] / 4
    D, weights, sizes = gaps(7 * noisy, data)
    found = fit_scale(D, weights, sizes)
    assert found.verdict == "fitted"
    assert abs(slope_of(D, weights, found.scale)) < 1e-9 * np.abs(D[np.isfinite(D)]).sum()
    here = log_likelihood_of(D, weights, found.scale)
    for factor in (0.9, 1.1):
        assert log_likelihood_of(D, weights, factor * found.scale) < here
    assert found.root_likelihood == pytest.approx(np.exp(here / weights.sum()))


def test_the_derivative_is_that_of_the_likelihood():
    D, weights, _ = gaps(worths(20, columns=mixed_study().columns), mixed_study())
    step = 1e-5
    change = log_likelihood_of(D, weights, 0.5 + step) - log_likelihood_of(D, weights, 0.5 - step)
    assert slope_of(D, weights, 0.5) == pytest.approx(change / (2 * step), rel=1e-6)


def test_a_likeliest_logit_model_is_calibrated_already():
    """Its score is zero, so that along its own direction is zero too."""
    data = mixed_study()
    assert fit_scale(*gaps(conditional_logit(data), data)).scale == pytest.approx(1, abs=1e-4)


def test_scaled_part_worths_have_the_inverse_scale():
    one = calibrate(counted_worths, COFFEE)
    ten = calibrate(lambda study: 10 * counted_worths(study), COFFEE)
    assert one.scale == pytest.approx(10 * ten.scale)
    assert one.root_likelihood == pytest.approx(ten.root_likelihood)


def test_utilities_that_agree_with_all_choices_have_an_infinite_scale():
    D = np.array([[0.0, -1, -2], [-3, 0, -np.inf]])
    found = fit_scale(D, np.ones(2), np.ones(2))
    assert (found.scale, found.verdict, found.root_likelihood) == (np.inf, "infinite", 1.0)
    assert "all of 2 tasks" in str(found)


def test_ties_within_round_off_do_not_hide_an_infinite_scale():
    D = np.array([[0.0, 1e-16], [0.0, -1.0]])
    assert fit_scale(D, np.ones(2), np.ones(2)).verdict == "infinite"


@pytest.mark.parametrize("D", [[[0.0, 1, 2]], [[0.0, 0.0, 0.0]], [[0.0, 1.0, -1.0]]])
def test_utilities_no_better_than_chance_have_scale_zero(D):
    found = fit_scale(np.array(D), np.ones(1), np.ones(1))
    assert (found.scale, found.verdict) == (0.0, "zero")
    assert found.root_likelihood == pytest.approx(1 / 3)
    assert "no better than chance" in str(found)


def test_tasks_are_judged_by_part_worths_that_have_not_seen_them():
    """Part-worths that know their tasks by heart would choose all right, and have an infinite scale."""
    seen = []

    def fit(study):
        seen.append({*zip(study.choices.respondent.tolist(), study.choices.task.tolist(), strict=True)})
        return counted_worths(study)

    found = calibrate(fit, COFFEE, k=4)
    train, held = COFFEE.split_holdout()
    tasks = {*zip(train.choices.respondent.tolist(), train.choices.task.tolist(), strict=True)}
    kept = {*zip(held.choices.respondent.tolist(), held.choices.task.tolist(), strict=True)}
    assert len(seen) == 4
    assert found.tasks == len(train.choices)
    assert all(part < tasks and not part & kept for part in seen)
    assert sum(len(tasks - part) for part in seen) == len(tasks)


def test_an_estimator_is_as_good_as_a_function_and_stays_as_it_is():
    model = ConjointSVM(C=0.05)

    def by_hand(study):
        return ConjointSVM(C=0.05).fit(study).individual_part_worths_

    assert calibrate(model, COFFEE, 3) == calibrate(by_hand, COFFEE, 3)
    draws, drawn = (refit_bootstrap(fit, COFFEE, draws=2).samples for fit in (model, by_hand))
    for (table, _), (other, _) in zip(draws, drawn, strict=True):
        pd.testing.assert_frame_equal(table, other)
    assert not hasattr(model, "worths_")


@pytest.mark.parametrize("fit", [None, ConjointSVM, 0.1])
def test_what_cannot_estimate_is_refused(fit):
    with refuses(DataError, "fit"):
        calibrate(fit, COFFEE)


def test_folds_can_be_of_respondents():
    """Everyone is then judged by part-worths from others alone."""
    seen = []

    def fit(study):
        seen.append(set(study.choices.respondent.tolist()))
        return counted_worths(study)

    found = calibrate(fit, COFFEE, k=3, by="respondent")
    everyone = set(range(len(COFFEE.respondents)))
    assert found.tasks == len(COFFEE.split_holdout()[0].choices)
    assert sorted(code for part in seen for code in everyone - part) == sorted(everyone)


def test_folds_in_parallel_give_the_same_scale():
    with joblib.parallel_config(backend="threading"):
        assert calibrate(counted_worths, COFFEE, n_jobs=2) == calibrate(counted_worths, COFFEE)


@needs("choice_electricity")
def test_a_logit_model_of_the_electricity_data_is_calibrated():
    attributes = dict.fromkeys(["pf", "cl", "loc", "wk", "tod", "seas"], "linear")
    table = pd.read_csv(DATA / "choice_electricity" / "electricity.csv.gz")
    roles = {"respondent": "resp", "task": "task", "alternative": "alt", "chosen": "choice"}
    study = ConjointStudy.from_frame(table, attributes=attributes, **roles)
    train, held = study.split_holdout(last=3)
    found = calibrate(conditional_logit, train, k=3)
    assert found.scale == pytest.approx(1, abs=0.05)
    worth = conditional_logit(train)
    assert root_likelihood(worth, held, found.scale) > 0.25
    assert fit_scale(*gaps(worth, train)).scale == pytest.approx(1, abs=1e-3)
