"""Surveys: chosen and calibrated on training tasks alone, and every table what Python returns."""

import numpy as np
import pandas as pd
import pytest

from ranking.conjoint import (
    ConjointPath,
    ConjointPathCV,
    ConjointStudy,
    ConjointSVM,
    agreement,
    calibrate,
    common_shares,
    find_conflicts,
    importance_summary,
    importances,
    order_reversals,
    part_worth_summary,
    refit_bootstrap,
    simulate,
    willingness_to_pay,
    zero_centred_diffs,
)
from ranking.studies.conjoint import Parts, SurveyPlan, in_words, stability_along_path
from ranking.studies.conjoint_tables import TITLES, flat_names, settings, survey_tables
from tests.ranking.market import COFFEE, PACKS, mixed_study
from tests.ranking.surveys import FEW, PLAN, parts, survey

# Tables of the whole study, or of its holdouts.
TIME = "seconds of estimation"
MEASURES = {"holdout", "holdout_shares", "counts", "levels", "positions", "straight_liners"}


@pytest.fixture(scope="module")
def found():
    return survey()


@pytest.fixture(scope="module")
def tables(found):
    return survey_tables(found)


class TestChoice:
    def test_C_and_shrinkage_are_those_of_folds_of_the_training_tasks(self, found):
        path = ConjointPath(C_max=0.2, pooling="shrinkage")
        search = ConjointPathCV(path, {"shrinkage": [0.3, 0.7]}, cv=2, random_state=0).fit(found.parts.train)
        assert (found.C, found.shrinkage) == (search.C_, search.best_params_["shrinkage"])
        pd.testing.assert_frame_equal(found.part_worths, search.individual_part_worths_)

    def test_scale_is_that_of_folds_of_the_training_tasks(self, found):
        model = ConjointSVM(found.C, pooling="shrinkage", shrinkage=found.shrinkage)
        scale = calibrate(lambda s: model.fit(s).individual_part_worths_, found.parts.train, k=2).scale
        assert found.calibration.scale == pytest.approx(scale)

    def test_choices_in_holdouts_change_nothing_but_the_measures_of_them(self, found, tables):
        frame = found.parts.study.to_frame()
        is_held = frame["holdout"] == 1
        frame.loc[is_held, "chosen"] = (frame["alternative"] == 4).astype(int)[is_held]
        other = survey(given=parts(ConjointStudy.from_frame(frame, **found.parts.study.arguments)))
        changed = survey_tables(other)
        assert changed["holdout"]["value"].tolist() != tables["holdout"]["value"].tolist()
        for name in set(tables) - MEASURES - {"settings"}:
            pd.testing.assert_frame_equal(changed[name], tables[name], obj=name)
        assert {**settings(other), TIME: 0} == {**settings(found), TIME: 0}

    def test_pools_of_a_few_are_used_while_choosing_only(self):
        few = survey(SurveyPlan(shrinkage=(0.5,), C_max=0.2, folds=2, group_size=3), products=None)
        assert few.is_grouped
        assert few.stability.pools == 2
        whole = ConjointSVM(few.C, pooling="shrinkage", shrinkage=0.5).fit(few.parts.train)
        pd.testing.assert_frame_equal(few.part_worths, whole.individual_part_worths_)

    @pytest.mark.parametrize("pooling", ["aggregate", "individual"])
    def test_other_ways_of_pooling(self, pooling):
        refits = 3 if pooling == "aggregate" else None
        other = survey(SurveyPlan(pooling=pooling, C_max=0.2, folds=2, refits=refits))
        model = ConjointSVM(other.C, pooling=pooling).fit(other.parts.train)
        pd.testing.assert_frame_equal(other.part_worths, model.individual_part_worths_)
        assert survey_tables(other)["importances"]["lo"].notna().all()
        assert other.shrinkage is None

    def test_orders_are_kept_and_counted(self):
        plan = SurveyPlan(shrinkage=(0.5,), C_max=0.2, folds=2, orders={"size": "rises"})
        other = survey(plan, products=None)
        assert list(other.orders) == ["price", "size"]
        rows = survey_tables(other)["order_reversals"].set_index("attribute")
        assert rows.loc["size", "reversed"] == 0
        assert (other.part_worths["size", "large"] >= other.part_worths["size", "small"] - 1e-9).all()

    def test_without_holdouts_nothing_is_measured(self):
        study = parts().train
        other = survey(PLAN, None, None, Parts(study, study, None))
        assert other.agreement is None
        names = set(survey_tables(other))
        assert not names & {"holdout", "holdout_shares", "shares", "willingness_to_pay", "order_reversals"}

    def test_a_price_that_is_a_number_and_tasks_of_different_sizes(self):
        study = mixed_study(respondents=4)
        given = Parts(study, *study.split_holdout(last=2))
        products = {"a": {"brand": "A", "price": 10}, "b": {"brand": "B", "price": 20}}
        other = survey(SurveyPlan(shrinkage=(0.5,), C_max=0.1, folds=2), products, "price", given)
        tables = survey_tables(other)
        assert set(TITLES) - set(tables) <= {"holdout_shares"}
        assert tables["price_curve"]["price"].between(5, 30).all()


def chosen(found):
    """The model that a survey chose, not fitted."""
    return ConjointSVM(found.C, pooling="shrinkage", shrinkage=found.shrinkage)


class TestTables:
    def test_all_tables_have_titles_and_the_usual_order(self, tables):
        assert list(tables) == [name for name in TITLES if name in tables]
        assert set(TITLES) - set(tables) == {"numbers"}

    def test_part_worths_importances_and_money_are_those_of_the_functions(self, found, tables):
        boot, train = refit_bootstrap(chosen(found), found.parts.train, 5), found.parts.train
        wanted = {
            "part_worths": part_worth_summary(boot, train),
            "raw_part_worths": part_worth_summary(boot, train, zero_centred=False),
            "importances": importance_summary(boot, train),
            "willingness_to_pay": willingness_to_pay(boot, train).table,
        }
        for name, table in wanted.items():
            pd.testing.assert_frame_equal(tables[name], table.reset_index(), obj=name)
        reversals = order_reversals(found.part_worths, train, {"price": "falls"})
        pd.testing.assert_frame_equal(tables["order_reversals"], reversals)

    def test_individual_tables_have_respondents_and_weights_in_front(self, found, tables):
        train = found.parts.train
        wanted = {
            "individual_part_worths": found.part_worths,
            "individual_diffs": zero_centred_diffs(found.part_worths, train),
            "individual_importances": importances(found.part_worths, train),
        }
        for name, table in wanted.items():
            assert tables[name]["respondent"].tolist() == list(FEW)
            assert tables[name]["weight"].tolist() == train.weights.tolist()
            np.testing.assert_array_equal(tables[name].iloc[:, 2:], table)

    def test_holdouts_are_measured_with_the_calibrated_scale(self, found, tables):
        held, scale = found.parts.held, found.calibration.scale
        measured = agreement(found.part_worths, held, scale)
        rows = tables["holdout"].set_index("measure")["value"]
        assert rows[measured.index].tolist() == measured.tolist()
        shares = common_shares(found.part_worths, held, scale)
        error = (shares["predicted"] - shares["observed"]).abs().mean()
        assert rows["mean absolute error of shares"] == pytest.approx(error)
        pd.testing.assert_frame_equal(tables["holdout_shares"], shares.reset_index())

    def test_shares_are_those_of_simulate_by_every_rule(self, found, tables):
        shares = tables["shares"].set_index("rule")
        scale, drawn = found.calibration.scale, refit_bootstrap(chosen(found), found.parts.train, 5)
        for rule in ("first_choice", "share_of_preference", "randomized_first_choice"):
            wanted = simulate(drawn, found.parts.train, PACKS, rule, scale=scale)
            mine = shares.loc[rule].set_index("product")
            pd.testing.assert_frame_equal(mine, wanted)

    def test_contradictions_are_told_by_levels(self, found, tables):
        conflicts = find_conflicts(found.parts.train)
        rows = tables["contradictions"]
        assert sorted(rows["respondent"].unique()) == sorted(conflicts)
        assert len(rows) == sum(map(len, conflicts.values()))
        assert rows["chosen"].str.match(r"none|\w+, \w+, \w+, price \d+").all()

    def test_names_of_columns_that_read_the_same_are_told_apart(self):
        columns = pd.MultiIndex.from_tuples([("a: b", "c"), ("a", "b: c")])
        assert len(set(flat_names(columns))) == 2


class TestStability:
    def test_shares_over_C_are_those_of_part_worths_at_C(self, found):
        steps = found.stability.shares
        path = ConjointPath(C_max=0.2, pooling="shrinkage", shrinkage=found.shrinkage).fit(found.parts.train)
        for C in (0.013, 0.11):
            wanted = simulate(path.individual_part_worths_at(C), found.parts.train, PACKS, "first_choice")
            assert steps.at(C).tolist() == pytest.approx(wanted["share"].tolist())

    @pytest.mark.parametrize("pooling", ["aggregate", "individual", "shrinkage"])
    def test_importances_over_C_weigh_respondents(self, pooling):
        study = COFFEE.only(respondents=[1, 2, 20])
        path = ConjointPath(C_max=0.1, pooling=pooling)
        stability = stability_along_path(path, study, 2, 0, None)
        C = float(stability.importances.index[3])
        row = stability.importances.loc[C]
        assert row.sum() == pytest.approx(100)
        if pooling != "shrinkage":  # pools of two are not the pool of three
            fitted = path.fit(study)
            each = importances(fitted.individual_part_worths_at(C), study)
            assert row.tolist() == pytest.approx(np.average(each, axis=0, weights=study.weights).tolist())

    def test_interval_of_a_conclusion_holds_the_chosen_C_and_not_more(self, found):
        leaders = found.stability.leaders
        lo, hi = leaders.interval(found.C)
        assert lo <= found.C <= hi
        assert all(one != other for one, other in zip(leaders.verdicts, leaders.verdicts[1:], strict=False))
        assert in_words(leaders, found.C).startswith(leaders.at(found.C))
