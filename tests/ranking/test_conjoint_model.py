"""ConjointSVM: what it minimises, what hard margins and orders mean, and what it says about choices."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ranking import ConjointStudy, ConjointSVM, ContradictionError, DataError
from ranking.conjoint import example_study, find_conflict, find_conflicts
from ranking.conjoint.estimation.conflicts import exact_multipliers, minimal_conflict
from ranking.conjoint.estimation.pool import solve_pooled
from ranking.conjoint.estimation.programs import Program, choice_rows
from ranking.errors import RankingError
from tests.ranking.choice_tables import study, table
from tests.refusals import refuses

COFFEE = example_study()
TRAIN, HELD = COFFEE.split_holdout()
NAMES = list(COFFEE.attributes)
FEW = TRAIN.only(respondents=range(1, 7))


def pooled_objective(part, v_0, v, shrinkage, C):
    """The objective of a pool, from its definition."""
    differences = part.differences()
    margins = (differences.rows * v[differences.respondent]).sum(axis=1)
    ridge = v_0 @ v_0 / (2 * shrinkage) + ((v - v_0) ** 2).sum() / (2 * (1 - shrinkage))
    return ridge + C * (differences.weight * np.maximum(0, 1 - margins)).sum()


def single_objective(rows, weight, v, C):
    """The objective of one set of part-worths."""
    return v @ v / 2 + C * weight @ np.maximum(0, 1 - rows @ v)


class TestDefinitions:
    @pytest.mark.parametrize("C", [0.02, 0.5])
    def test_no_other_part_worths_are_better(self, C):
        model, differences = ConjointSVM(C).fit(TRAIN), TRAIN.differences()
        v, random = model.part_worths_["part_worth"].to_numpy(), np.random.default_rng(0)
        best = single_objective(differences.rows, differences.weight, v, C)
        for size in 10.0 ** -np.arange(1, 6):
            other = v + size * random.normal(size=len(v))
            assert single_objective(differences.rows, differences.weight, other, C) >= best - 1e-12

    @pytest.mark.parametrize("shrinkage", [0.05, 0.5, 0.95])
    @pytest.mark.parametrize("orders", [None, {"price": "falls"}], ids=["free", "in order"])
    def test_no_other_pool_is_better(self, shrinkage, orders):
        C = 0.2
        model = ConjointSVM(C, pooling="shrinkage", shrinkage=shrinkage, orders=orders).fit(FEW)
        v, v_0 = model.individual_part_worths_.to_numpy(), model.common_part_worths_
        best, random = pooled_objective(FEW, v_0, v, shrinkage, C), np.random.default_rng(1)
        for size in 10.0 ** -np.arange(0, 5):
            change = size * random.normal(size=(7, len(v_0)))
            if orders:
                price = COFFEE.columns.get_loc("price")
                # steps that keep the order of prices
                change[:, price] = -np.sort(-change[:, price], axis=1)
            other_0, other = v_0 + change[6], v + change[:6]
            assert pooled_objective(FEW, other_0, other, shrinkage, C) >= best - 1e-11

    @pytest.mark.parametrize("shrinkage", [0.1, 0.6])
    def test_structure_and_path_find_the_same_pool(self, shrinkage):
        free = ConjointSVM(0.3, pooling="shrinkage", shrinkage=shrinkage).fit(FEW)
        assert free.duality_gap_ is not None
        assert free.duality_gap_ < 1e-13
        # the path takes over where there are orders: here one that all of them keep anyway
        worths = np.vstack([free.coef_, free.common_part_worths_])
        name, kept = self.kept_order(worths)
        model = ConjointSVM(0.3, pooling="shrinkage", shrinkage=shrinkage, orders={name: kept}).fit(FEW)
        assert model.duality_gap_ is None
        np.testing.assert_allclose(model.coef_, free.coef_, atol=1e-9)

    @staticmethod
    def kept_order(worths):
        """Two levels of one attribute, the worse first, that all rows of part-worths agree on."""
        for i, (name, worse) in enumerate(COFFEE.columns):
            for j, (other, better) in enumerate(COFFEE.columns):
                if name == other and i != j and (worths[:, i] < worths[:, j]).all():
                    return name, [worse, better]
        raise AssertionError("no two levels are in the same order for everyone")

    def test_the_gap_of_a_pool_bounds_how_wrong_it_is(self):
        program = Program(choice_rows(FEW.differences(), 6), np.zeros((0, len(FEW.columns))), 0.3)
        found = solve_pooled(program, 0.5)
        value = pooled_objective(FEW, program.common(found.z), program.part_worths(found.z), 0.3, 0.5)
        assert found.gap < 1e-13
        assert abs(value + found.dual) <= 1e-12 * value

    def test_alone_is_what_a_study_of_one_gives(self):
        model = ConjointSVM(0.3, pooling="individual").fit(FEW)
        for name in FEW.respondents:
            alone = ConjointSVM(0.3).fit(FEW.only(respondents=[name]))
            np.testing.assert_allclose(
                model.individual_part_worths_.loc[name], alone.part_worths_["part_worth"], atol=1e-10
            )

    @pytest.mark.parametrize(("shrinkage", "pooling"), [(1e-7, "individual"), (1 - 1e-7, "aggregate")])
    def test_the_ends_of_shrinkage_are_alone_and_all_alike(self, shrinkage, pooling):
        pool = ConjointSVM(0.05, pooling="shrinkage", shrinkage=shrinkage).fit(FEW)
        end = ConjointSVM(0.05, pooling=pooling).fit(FEW)
        np.testing.assert_allclose(pool.coef_, end.coef_, atol=1e-4)

    def test_a_respondent_of_weight_two_counts_as_two(self):
        twice = table(weight=[2] * 6 + [1] * 6)
        twin = pd.concat([table(), table().iloc[:6].assign(who=9)], ignore_index=True)
        weighted = ConjointSVM(0.1).fit(study(twice, weight="weight"))
        repeated = ConjointSVM(0.1).fit(study(twin))
        np.testing.assert_allclose(weighted.coef_[0], repeated.coef_[0], atol=1e-12)


class TestOrders:
    @pytest.mark.parametrize("pooling", ["aggregate", "individual", "shrinkage"])
    def test_orders_hold_for_everyone(self, pooling):
        model = ConjointSVM(1.0, pooling=pooling, orders={"price": "falls"}).fit(TRAIN)
        assert (model.individual_part_worths_["price"].diff(axis=1).iloc[:, 1:] <= 1e-9).all(axis=None)

    def test_levels_can_be_named_from_the_worst_to_the_best(self):
        first, second, *_ = COFFEE.attributes["brand"].labels
        for worse, better in ((first, second), (second, first)):
            model = ConjointSVM(1.0, orders={"brand": [worse, better]}).fit(TRAIN)
            worths = model.part_worths_["part_worth"]
            assert worths["brand", better] >= worths["brand", worse] - 1e-12

    def test_a_linear_attribute_rises_or_falls(self):
        part = study(attributes={"colour": "levels", "price": "linear"})
        assert ConjointSVM(1.0).fit(part).part_worths_.loc[("price", "per unit"), "part_worth"] < 0
        forced = ConjointSVM(1.0, orders={"price": "rises"}).fit(part)
        assert abs(forced.part_worths_.loc[("price", "per unit"), "part_worth"]) < 1e-12

    @pytest.mark.parametrize(
        ("orders", "wrong"),
        [
            ({"prize": "falls"}, {"argument": "orders", "found": "'prize'"}),
            ({"price": "down"}, {"argument": "orders['price']", "found": "'down'"}),
            ({"price": [9, 10]}, {"argument": "orders['price']", "found": "10"}),
            ({"price": [9]}, {"argument": "orders['price']", "found": "[9]"}),
            ({"price": 3}, {"argument": "orders['price']", "found": "3"}),
            ("falls", {"argument": "orders", "found": "'falls'"}),
        ],
    )
    def test_bad_orders_are_named(self, orders, wrong):
        with refuses(DataError, **wrong):
            ConjointSVM(orders=orders).fit(TRAIN)


class TestHardMargin:
    def test_all_choices_are_explained_with_the_shortest_part_worths(self):
        agreeing = TRAIN.only(respondents=[2])
        model = ConjointSVM(np.inf).fit(agreeing)
        v = model.part_worths_["part_worth"].to_numpy()
        assert (agreeing.differences().rows @ v >= 1 - 1e-9).all()
        soft = ConjointSVM(1e4).fit(agreeing)
        np.testing.assert_allclose(soft.coef_, model.coef_, atol=1e-8)

    def test_contradictions_are_told_by_name(self):
        frame = table()
        frame.loc[6:, "taken"] = [0, 1, 0, 1, 0, 0]
        with refuses(ContradictionError, "C", expected="finite") as caught:
            ConjointSVM(np.inf).fit(study(frame))
        assert len(caught.value.conflicts) == 1

    def test_everyone_who_contradicts_themselves_is_named(self):
        with refuses(ContradictionError, "C", expected="finite") as caught:
            ConjointSVM(np.inf, pooling="individual").fit(TRAIN)
        assert len(caught.value.conflicts) == len(find_conflicts(TRAIN)) > 1


class TestConflicts:
    @pytest.mark.parametrize("orders", [None, {"price": "falls"}], ids=["choices", "choices and orders"])
    def test_every_choice_of_a_conflict_is_needed(self, orders):
        for name, conflict in find_conflicts(TRAIN, orders).items():
            part = TRAIN.only(respondents=[name])
            rows = self.rows_of(part, conflict)
            assert minimal_conflict(np.vstack([rows, self.order_rows(part, conflict)]), len(rows)) is not None
            for k in range(len(rows)):
                fewer = np.vstack([np.delete(rows, k, axis=0), self.order_rows(part, conflict)])
                assert minimal_conflict(fewer, len(rows) - 1) is None

    def test_multiples_of_the_rows_add_up_to_nothing(self):
        conflict = find_conflict(TRAIN)
        total = conflict.choices["multiplier"].to_numpy() @ self.rows_of(TRAIN, conflict)
        assert (total == 0).all()

    @staticmethod
    def rows_of(part, conflict):
        """The rows of the choices of a conflict, looked up by name in the data handed in."""
        frame, design = part.to_frame(), part.design
        keys = list(zip(frame["respondent"], frame["task"], frame["alternative"], strict=True))
        place = {key: row for row, key in enumerate(keys)}
        return np.array(
            [
                design[place[row.respondent, row.task, row.chosen]]
                - design[place[row.respondent, row.task, row.other]]
                for row in conflict.choices.itertuples()
            ]
        )

    @staticmethod
    def order_rows(part, conflict):
        """The rows of the orders of a conflict, from their sentences."""
        rows = np.zeros((len(conflict.orders), len(part.columns)), dtype=int)
        for row, sentence in zip(rows, conflict.orders, strict=True):
            better, worse = sentence.removeprefix("price: ").split(" at least ")
            row[part.columns.get_loc(("price", int(better)))] = 1
            row[part.columns.get_loc(("price", int(worse)))] = -1
        return rows

    def test_identical_alternatives_contradict_by_themselves(self):
        frame = table()
        frame.loc[1, ["colour", "price"]] = ["red", 10]
        conflict = find_conflict(study(frame))
        assert len(conflict) == 1
        assert str(conflict) == "respondent 7, task 11: 1 chosen over 2"

    def test_rows_that_agree_have_no_conflict(self):
        assert minimal_conflict(np.array([[1, 0], [0, 1]]), 2) is None

    @pytest.mark.parametrize("rows", [[[1, 0], [0, 1]], [[1], [-1], [2]], [[1], [1]]])
    def test_rows_that_are_no_minimal_conflict_are_refused(self, rows):
        with pytest.raises(RankingError, match="cannot decide which"):
            exact_multipliers(np.array(rows))


class TestUse:
    def test_part_worths_are_named_and_averaged(self):
        model = ConjointSVM(0.1, pooling="shrinkage").fit(TRAIN)
        assert model.part_worths_.index.names == ["attribute", "level"]
        assert model.individual_part_worths_.shape == (24, len(COFFEE.columns))
        mean = TRAIN.weights @ model.individual_part_worths_ / TRAIN.weights.sum()
        np.testing.assert_allclose(model.part_worths_["part_worth"], mean)

    def test_importances_are_shares_of_ranges(self):
        model = ConjointSVM(0.1, pooling="individual").fit(TRAIN)
        worths = model.individual_part_worths_
        ranges = pd.DataFrame({name: worths[name].max(axis=1) - worths[name].min(axis=1) for name in NAMES})
        shares = 100 * TRAIN.weights @ ranges.div(ranges.sum(axis=1), axis=0) / TRAIN.weights.sum()
        np.testing.assert_allclose(model.importances_[NAMES], shares[NAMES], atol=1e-10)
        assert abs(model.importances_.sum() - 100) < 1e-10

    def test_a_linear_attribute_matters_by_the_range_of_its_numbers(self):
        linear = ConjointSVM(0.1).fit(study(attributes={"colour": "levels", "price": "linear"}))
        worths = linear.part_worths_["part_worth"]
        price, colour = abs(worths["price", "per unit"]) * 20, np.ptp(worths["colour"])
        assert linear.importances_["price"] == pytest.approx(100 * price / (price + colour))

    def test_ties_are_parts_of_hits(self):
        model = ConjointSVM(0.1).fit(TRAIN)
        model.coef_ = 0 * model.coef_
        assert model.score(HELD) == pytest.approx(float((1 / HELD.n_alternatives).mean()))

    def test_the_predicted_alternative_has_the_largest_utility(self):
        model = ConjointSVM(0.1, pooling="shrinkage").fit(TRAIN)
        utilities, choices = model.utilities(HELD), HELD.choices
        for t, position in enumerate(model.predict(HELD)):
            mine = utilities[list(choices.rows(t))]
            assert mine[position] == mine.max()
        hits, weights = model.predict(HELD) == choices.chosen, HELD.weights.to_numpy()[choices.respondent]
        assert model.score(HELD) == pytest.approx(weights @ hits / weights.sum())

    def test_strangers_get_the_common_part_worths_of_a_pool(self):
        model = ConjointSVM(0.1, pooling="shrinkage").fit(FEW)
        stranger = TRAIN.only(respondents=[20])
        np.testing.assert_allclose(model.utilities(stranger), stranger.design @ model.common_part_worths_)

    def test_strangers_are_refused_where_everyone_is_alone(self):
        model = ConjointSVM(0.1, pooling="individual").fit(FEW)
        with refuses(DataError, "pooling", respondent=7) as caught:
            model.score(TRAIN)
        assert (caught.value.respondent, caught.value.setting) == (7, ("pooling", "shrinkage"))

    def test_a_clone_has_the_same_parameters(self):
        model = ConjointSVM(2.0, pooling="shrinkage", shrinkage=0.2, orders={"price": "falls"})
        assert clone(model).get_params() == model.get_params()

    @pytest.mark.parametrize(
        ("parameters", "data", "wrong"),
        [
            ({"C": 0}, TRAIN, {"argument": "C", "found": "0"}),
            ({"pooling": "all"}, TRAIN, {"argument": "pooling", "found": "'all'"}),
            ({"pooling": "shrinkage", "shrinkage": 1}, TRAIN, {"argument": "shrinkage", "found": 1}),
            ({}, table(), {"argument": "study", "found": "DataFrame"}),
        ],
    )
    def test_bad_arguments_are_named(self, parameters, data, wrong):
        with refuses(DataError, **wrong):
            ConjointSVM(**parameters).fit(data)

    def test_another_study_must_have_the_same_levels(self):
        with refuses(DataError, "study", expected="the attributes and levels of the study that was fitted"):
            ConjointSVM().fit(TRAIN).score(study())

    def test_a_study_without_tasks_to_learn_from_is_refused(self):
        frame = table(held=1)
        held = ConjointStudy.from_frame(
            frame,
            respondent="who",
            task="task",
            chosen="taken",
            alternative="alt",
            attributes=["colour", "price"],
            holdout="held",
        )
        with refuses(DataError, "study"):
            ConjointSVM().fit(held)
