"""The market simulator: shares by their rules, scenarios, sensitivity and price curves."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ranking import DataError
from ranking.conjoint import (
    Noise,
    Simulator,
    price_curve,
    read_scenario,
    refit_bootstrap,
    sensitivity,
    simulate,
)
from ranking.conjoint.results.market import noise_rows, spread_points
from tests.ranking.choice_tables import parts
from tests.ranking.market import COFFEE, PACKS, counted_worths, mixed_study, worths
from tests.refusals import refuses

MIXED = mixed_study()
RULES = ["first_choice", "share_of_preference", "randomized_first_choice"]
FEW = Noise(draws=256)
V = worths(24)


def product_utilities(v, products=PACKS, none=True):
    """The utility of every product for every respondent, level by level."""
    columns = [sum(v[(name, level)] for name, level in pack.items()) for pack in products.values()]
    return pd.concat([*columns, *([v[("none", "none")]] if none else [])], axis=1).to_numpy()


@pytest.mark.parametrize("rule", RULES)
class TestAllRules:
    def test_shares_add_up_to_one(self, rule):
        chooser = Simulator(V, COFFEE, rule, noise=FEW)
        assert chooser.shares(PACKS)["share"].sum() == pytest.approx(1)
        assert_allclose(chooser.individual_shares(PACKS).sum(axis=1), 1)

    def test_shares_are_weighted_means_of_individuals(self, rule):
        chooser = Simulator(V, COFFEE, rule, noise=FEW)
        mine = chooser.individual_shares(PACKS)
        assert_allclose(chooser.shares(PACKS)["share"], np.average(mine, axis=0, weights=COFFEE.weights))

    def test_only_one_product_without_none_gets_everything(self, rule):
        share = simulate(V, COFFEE, {"ours": PACKS["ours"]}, rule, none=False, noise=FEW)["share"]
        assert share.to_dict() == {"ours": 1.0}

    def test_the_order_of_products_does_not_matter(self, rule):
        turned = dict(reversed(PACKS.items()))
        one, other = (simulate(V, COFFEE, p, rule, noise=FEW)["share"] for p in (PACKS, turned))
        assert_allclose(other[one.index], one)

    def test_intervals_hold_the_share(self, rule):
        table = simulate(V, COFFEE, PACKS, rule, noise=FEW)
        assert ((table["lo"] <= table["share"]) & (table["share"] <= table["hi"])).all()

    def test_equal_part_worths_share_equally(self, rule):
        shares = simulate(0 * V, COFFEE, PACKS, rule, noise=Noise())["share"]
        if rule == "randomized_first_choice":
            # what products have in common makes them share, and these have a size and a price in common
            assert shares["none"] == shares.max()
        else:
            assert_allclose(shares, 0.25)

    def test_refits_give_intervals_to_one_row(self, rule):
        boot = refit_bootstrap(counted_worths, COFFEE, draws=8)
        table = simulate(boot, COFFEE, PACKS, rule, scale=5.0, noise=FEW)
        if rule != "first_choice":
            assert (table["standard_error"] > 0).all()
        assert simulate(boot.part_worths, COFFEE, PACKS, rule, noise=FEW)["lo"].isna().all()


@given(seed=st.integers(0, 999))
def test_first_choice_is_the_product_of_largest_utility(seed):
    v = worths(6, seed)
    U = product_utilities(v)
    found = Simulator(v, COFFEE, "first_choice").individual_shares(PACKS).to_numpy()
    for row, u in zip(found, U, strict=True):
        assert row.tolist() == [float(k == u.argmax()) for k in range(len(u))]


def test_identical_products_split_a_first_choice():
    twins = {"one": PACKS["ours"], "two": PACKS["ours"]}
    found = simulate(V, COFFEE, {**twins, "cheap": PACKS["cheap"]}, "first_choice")["share"]
    assert found["one"] == pytest.approx(found["two"])
    alone = simulate(V, COFFEE, {"one": PACKS["ours"], "cheap": PACKS["cheap"]}, "first_choice")["share"]
    assert found["one"] + found["two"] == pytest.approx(alone["one"])


class TestShareOfPreference:
    @given(seed=st.integers(0, 999), scale=st.sampled_from([0.0, 0.5, 3.0]))
    def test_it_is_the_logit_rule(self, seed, scale):
        v = worths(4, seed)
        U = np.exp(scale * product_utilities(v))
        found = Simulator(v, COFFEE, scale=scale).individual_shares(PACKS)
        assert_allclose(found, U / U.sum(axis=1, keepdims=True), rtol=1e-9)

    def test_a_twin_takes_from_all_in_proportion(self):
        """Irrelevant alternatives are: the ratios of the others stay, and p becomes p/(1 + p)."""
        v = worths(1)
        alone = simulate(v, COFFEE, PACKS)["share"]
        both = simulate(v, COFFEE, {**PACKS, "twin": PACKS["ours"]})["share"]
        assert both["theirs"] / both["cheap"] == pytest.approx(alone["theirs"] / alone["cheap"])
        assert both["ours"] == pytest.approx(both["twin"])
        assert both["ours"] == pytest.approx(alone["ours"] / (1 + alone["ours"]))

    def test_an_infinite_scale_is_first_choice(self):
        one, other = simulate(V, COFFEE, PACKS, scale=np.inf), simulate(V, COFFEE, PACKS, "first_choice")
        assert one.equals(other)

    def test_without_none_the_others_keep_their_ratios(self):
        v = worths(1)
        with_none, without = (simulate(v, COFFEE, PACKS, none=none)["share"] for none in (True, False))
        assert_allclose(with_none[without.index] / with_none[without.index].sum(), without)


class TestRandomizedFirstChoice:
    def test_noise_of_products_alone_is_the_logit_rule(self):
        noise = Noise(attribute=0, product=1, draws=2**14)
        found = simulate(V, COFFEE, PACKS, "randomized_first_choice", noise=noise)["share"]
        assert_allclose(found, simulate(V, COFFEE, PACKS)["share"], atol=5e-3)

    def test_noise_of_levels_alone_makes_twins_share_what_one_gets(self):
        twins = {**PACKS, "twin": PACKS["ours"]}
        alone = simulate(V, COFFEE, PACKS, "randomized_first_choice")["share"]
        both = simulate(V, COFFEE, twins, "randomized_first_choice")["share"]
        assert both["ours"] + both["twin"] == pytest.approx(alone["ours"], abs=1e-3)
        assert both["ours"] == pytest.approx(both["twin"])
        assert simulate(V, COFFEE, twins)["share"][["ours", "twin"]].sum() > alone["ours"] + 0.02

    def test_no_noise_is_first_choice(self):
        found = simulate(V, COFFEE, PACKS, "randomized_first_choice", noise=Noise(0, 0, 2))["share"]
        assert_allclose(found, simulate(V, COFFEE, PACKS, "first_choice")["share"])

    def test_products_that_differ_in_everything_get_about_their_logit_shares(self):
        """Normal noise of the same variance: probit and logit shares are within some hundredths."""
        packs = {"ours": PACKS["ours"], "cheap": PACKS["cheap"]}
        found = simulate(V, COFFEE, packs, "randomized_first_choice")["share"]
        assert_allclose(found, simulate(V, COFFEE, packs)["share"], atol=0.03)

    def test_the_seed_decides_and_a_respondent_does_not_depend_on_the_others(self):
        all_of_them, some = (
            Simulator(v, COFFEE, "randomized_first_choice", noise=FEW).individual_shares(PACKS)
            for v in (V, V.iloc[3:5])
        )
        assert all_of_them.iloc[3:5].equals(some)
        other = Simulator(V, COFFEE, "randomized_first_choice", noise=Noise(draws=256, random_state=1))
        assert not other.individual_shares(PACKS).equals(all_of_them)

    def test_a_linear_attribute_wavers_between_its_ends_like_two_levels(self):
        ends = {name: {"brand": "A", "price": price} for name, price in (("low", 5), ("high", 30))}
        low, high = noise_rows(read_scenario(ends, MIXED, none=False))
        assert ((high - low) ** 2).sum() == pytest.approx(2)

    def test_none_wavers_as_much_as_a_product(self):
        rows = noise_rows(read_scenario(PACKS, COFFEE))
        assert_allclose((rows**2).sum(axis=1), 4)

    def test_points_are_inside_the_cube_and_even(self):
        points = spread_points(1024, 7, 5)
        assert ((points > 0) & (points < 1)).all()
        for column in points.T:
            assert (np.histogram(column, bins=16, range=(0, 1))[0] == 64).all()


class TestScenario:
    def test_a_number_between_levels_is_worth_what_lies_on_the_line(self):
        packs = {str(price): {**PACKS["ours"], "price": price} for price in (9, 10, 12)}
        u = read_scenario(packs, COFFEE, none=False).design @ V.iloc[0].to_numpy()
        assert u[1] == pytest.approx(u[0] + (u[2] - u[0]) / 3)

    def test_levels_may_be_written_as_text(self):
        one, other = (read_scenario({"a": {**PACKS["ours"], "price": p}}, COFFEE).design for p in (9, "9"))
        assert_array_equal(one, other)

    def test_a_table_is_a_scenario(self):
        scenario = read_scenario(PACKS, COFFEE)
        assert_array_equal(read_scenario(scenario.to_frame(), COFFEE).design, scenario.design)

    def test_linear_numbers_are_divided_by_their_unit(self):
        row = read_scenario({"a": {"brand": "B", "price": 25}}, MIXED, none=False).design[0]
        assert row.tolist() == [0, 1, 0, 2.5, 0]

    def test_a_changed_value_changes_one_product(self):
        before = read_scenario(PACKS, COFFEE)
        after = before.with_value("ours", "brand", "Cima")
        assert (before.design != after.design).any(axis=1).tolist() == [True, False, False, False]

    @pytest.mark.parametrize(
        ("column", "value", "found", "expected"),
        [
            ("brnd", "Alba", "'brnd'", "'brand'"),
            ("brand", "alba ", "'alba '", "'Alba'"),
            ("price", 16, "16", "9, 12, 15"),
            ("price", None, "None", "9, 12, 15"),
        ],
    )
    def test_wrong_products_are_named_with_attribute_and_a_guess(self, column, value, found, expected):
        with pytest.raises(DataError) as caught:
            read_scenario({"ours": {**PACKS["ours"], column: value}}, COFFEE)
        place = {"argument": "products", "row": "ours", "column": column}
        assert parts(caught.value) == {**place, "found": found, "expected": expected}

    def test_an_unknown_number_is_told_with_the_levels_and_the_range(self):
        with pytest.raises(DataError) as caught:
            read_scenario({"ours": {**PACKS["ours"], "price": 16}}, COFFEE)
        assert str(caught.value) == (
            "product 'ours': attribute 'price' has no level 16; the levels are 9, 12, 15; "
            "give one of them or a number from 9 to 15"
        )

    @pytest.mark.parametrize(
        ("products", "wrong"),
        [
            ({"ours": {"brand": "Alba"}}, {"argument": "products", "expected": "'roast', 'size', 'price'"}),
            ({"none": PACKS["ours"]}, {"argument": "products", "row": "none"}),
            ({}, {"argument": "products", "found": "{}"}),
            ({"ours": 3}, {"argument": "products", "found": "3"}),
            (pd.DataFrame([PACKS["ours"]] * 2, index=["a", "a"]), {"argument": "products", "row": "a"}),
        ],
    )
    def test_wrong_scenarios_are_told_in_words(self, products, wrong):
        with refuses(DataError, **wrong):
            read_scenario(products, COFFEE)

    def test_numbers_beyond_what_was_shown_are_taken_only_if_asked_for(self):
        far = {"far": {"brand": "A", "price": 40}}
        with refuses(DataError, "products", column="price", found="40") as found:
            read_scenario(far, MIXED)
        assert found.value.setting == ("extrapolate", True)
        assert found.value.render(setting=lambda argument, value: None).endswith("but 5 to 30 was shown")
        assert read_scenario(far, MIXED, extrapolate=True).design[0, 3] == 4

    @pytest.mark.parametrize("price", ["dear", np.nan, None, True])
    def test_a_number_is_asked_for(self, price):
        with refuses(DataError, "products", column="price", expected="a number"):
            read_scenario({"a": {"brand": "A", "price": price}}, MIXED)

    def test_none_must_have_been_asked(self):
        frame = MIXED.to_frame().dropna(subset="brand")
        frame = frame[frame.groupby(["who", "task"])["taken"].transform("sum") == 1]
        arguments = {name: value for name, value in MIXED.arguments.items() if name != "none"}
        study = type(MIXED).from_frame(frame, **arguments)
        with refuses(DataError, "none", found=True):
            read_scenario({"a": {"brand": "A", "price": 10}}, study, none=True)
        assert read_scenario({"a": {"brand": "A", "price": 10}}, study).names == ["a"]


class TestSensitivity:
    def test_rows_are_simulations_with_one_level_changed(self):
        chooser = Simulator(V, COFFEE)
        table = sensitivity(chooser, PACKS, "ours")
        base = chooser.shares(PACKS).loc["ours", "share"]
        for (name, level), row in table.iterrows():
            changed = {**PACKS, "ours": {**PACKS["ours"], name: level}}
            assert row["share"] == pytest.approx(chooser.shares(changed).loc["ours", "share"])
            assert row["change"] == pytest.approx(row["share"] - base)
        assert table.loc[("price", 12), "change"] == 0

    def test_linear_attributes_are_tried_at_their_ends(self):
        packs = {"a": {"brand": "A", "price": 10}, "b": {"brand": "B", "price": 10}}
        table = sensitivity(Simulator(worths(20, columns=MIXED.columns), MIXED), packs, "a")
        assert table.loc["price"].index.tolist() == [5, 17.5, 30]

    def test_an_unknown_product_is_named(self):
        with refuses(DataError, "product", found="'our'"):
            sensitivity(Simulator(V, COFFEE), PACKS, "our")


class TestPriceCurve:
    def test_rows_are_simulations_at_other_prices(self):
        chooser = Simulator(V, COFFEE)
        curve = price_curve(chooser, PACKS, "ours", prices=[9, 10.5, 15])
        base = chooser.shares(PACKS).loc["ours", "share"]
        for price, row in curve.iterrows():
            there = chooser.shares({**PACKS, "ours": {**PACKS["ours"], "price": price}}).loc["ours"]
            assert_allclose(row[["share", "lo", "hi"]], there[["share", "lo", "hi"]])
            assert row["revenue"] == pytest.approx(100 * price * row["share"] / (12 * base))

    def test_revenue_is_100_at_the_price_as_it_is(self):
        row = price_curve(Simulator(V, COFFEE), PACKS, "ours", prices=[12]).iloc[0]
        assert_allclose(row[["revenue", "revenue_lo", "revenue_hi"]], 100)

    def test_it_falls_if_nobody_likes_to_pay(self):
        v = V.copy()
        v["price"] = -np.sort(-v["price"].to_numpy(), axis=1)
        assert (np.diff(price_curve(Simulator(v, COFFEE), PACKS, "ours")["share"]) < 0).all()

    def test_prices_of_a_linear_attribute_span_what_was_shown(self):
        packs = {"a": {"brand": "A", "price": 10}, "b": {"brand": "B", "price": 10}}
        curve = price_curve(Simulator(worths(20, columns=MIXED.columns), MIXED), packs, "a")
        assert (curve.index[0], curve.index[-1]) == (5, 30)

    def test_negative_prices_are_refused(self):
        with refuses(DataError, "prices", expected="at least 0"):
            price_curve(Simulator(V, COFFEE), PACKS, "ours", prices=[-1, 9])


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"rule": "logit"}, {"argument": "rule", "found": "'logit'"}),
        ({"scale": -1}, {"argument": "scale", "found": -1}),
        ({"weights": [1.0]}, {"argument": "weights", "found": 1}),
        ({"part_worths": V.T}, {"argument": "part_worths", "column": "('brand', 'Alba')"}),
    ],
)
def test_wrong_simulators_are_told_in_words(options, wrong):
    with refuses(DataError, **wrong):
        Simulator(**{"part_worths": V, "study": COFFEE, **options})


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"draws": 1000}, {"argument": "draws", "expected": "a power of two, for example 1024"}),
        ({"draws": 1}, {"argument": "draws", "expected": "a power of two, for example 1024"}),
        ({"attribute": -1}, {"argument": "attribute", "found": -1}),
        ({"product": np.inf}, {"argument": "product", "found": "inf"}),
    ],
)
def test_wrong_noise_is_told_in_words(options, wrong):
    with refuses(DataError, **wrong):
        Noise(**options)
