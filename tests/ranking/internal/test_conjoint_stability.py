"""Stability over C: what is said of an interval of C holds at every C in it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import pqp
from ranking import DataError
from ranking.conjoint import (
    PartWorthLines,
    Simulator,
    attribute_ranges,
    first_choice_steps,
    importance_orders,
    importances,
    part_worth_lines,
    read_scenario,
    simulate,
)
from ranking.conjoint.results.part_worths import space_of
from ranking.conjoint.results.stability import best_of, order_of, sampled_conclusions
from ranking.selection.piecewise import PiecewiseLinear, all_pairs, inside_of, sampled_lines
from tests.ranking.market import COFFEE, PACKS, mixed_study, worths
from tests.refusals import refuses

MIXED = mixed_study()
MIXED_PACKS = {f"{brand}{price}": {"brand": brand, "price": price} for brand in "ABC" for price in (5, 30)}
TRAIN = COFFEE.only(respondents=range(1, 13)).split_holdout()[0]


def from_starts(edges, start, slope):
    """Functions with given values where pieces begin."""
    lo = np.array(edges[:-1], dtype=float)[:, None]
    return PiecewiseLinear.on_edges(edges, start - lo * np.array(slope), slope)


def starts(lines):
    """Values where pieces begin."""
    return lines.constant + lines.lo[:, None] * lines.slope


def bent_lines(pieces, columns, seed, end=np.inf):
    """Continuous lines with random whole numbers at whole C, so that many lines cross in the same place."""
    chance = np.random.default_rng(seed)
    knots = chance.integers(-3, 4, size=(pieces + 1, columns)).astype(float)
    knots[0] = 0
    slope = np.vstack([np.diff(knots, axis=0)[: pieces - 1], np.zeros(columns)])
    return from_starts(np.append(np.arange(float(pieces)), end), knots[:pieces], slope)


def bent_part_worths(study, respondents, seed, pieces=4):
    lines = tuple(bent_lines(pieces, len(study.columns), seed + r) for r in range(respondents))
    names = pd.Index(range(1, respondents + 1))
    return PartWorthLines(lines, space_of(study), names, np.arange(1.0, respondents + 1))


def some_C(edges, seed=0, count=40):
    """C between edges, none of them on one."""
    chance = np.random.default_rng(seed)
    return chance.uniform(edges[0], edges[-1] if np.isfinite(edges[-1]) else edges[-2] + 2, size=count)


class TestLines:
    @given(seed=st.integers(0, 99))
    def test_finer_pieces_are_the_same_lines(self, seed):
        lines = bent_lines(4, 3, seed)
        finer = lines.split_at_crossings(all_pairs(range(3)))
        C = some_C(lines.edges, seed)
        assert_allclose(finer.at(C), lines.at(C), atol=1e-12)
        assert set(lines.edges) <= set(finer.edges)

    @given(seed=st.integers(0, 99))
    def test_no_two_lines_cross_inside_a_finer_piece(self, seed):
        lines = bent_lines(4, 3, seed).split_at_crossings(all_pairs(range(3)))
        ends = np.where(np.isinf(lines.edges[1:]), lines.edges[:-1] + 1, lines.edges[1:])
        for i, j in all_pairs(range(3)):
            left = starts(lines)[:, i] - starts(lines)[:, j]
            right = left + (ends - lines.edges[:-1]) * (lines.slope[:, i] - lines.slope[:, j])
            assert (left * right >= -1e-12).all()

    def test_products_are_lines_of_products(self):
        lines, M = bent_lines(3, 2, 0), np.array([[1.0, 2, 0], [0, 1, -1]])
        assert_allclose(lines.times(M).at([0.3, 1.7]), lines.at([0.3, 1.7]) @ M)

    def test_lines_are_found_from_values(self):
        lines = bent_lines(5, 3, 1)
        found = sampled_lines(lambda C: lines.at(C)[0], lines.edges)
        assert_allclose(starts(found), starts(lines), atol=1e-9)
        assert_allclose(found.slope, lines.slope, atol=1e-9)

    def test_a_missing_breakpoint_is_noticed(self):
        lines = from_starts([0, 1, 2], [[0.0], [1.0]], [[1.0], [-1.0]])
        with refuses(DataError, "breakpoints", found="[0, 2]"):
            sampled_lines(lambda C: lines.at(C)[0], [0, 2])

    def test_a_jump_is_none_inside_pieces(self):
        lines = from_starts([0, 1, 2], [[0.0], [5.0]], [[1.0], [0.0]])
        found = sampled_lines(lambda C: lines.at(C)[0], [0, 1, 2])
        assert_allclose(starts(found), starts(lines), atol=1e-12)

    def test_lines_that_start_together_but_for_round_off_do_not_cross(self):
        """At C = 0 all part-worths are 0, or 1e-19 after a subtraction: no conclusion depends on that."""
        lines = from_starts([0, 1], [[1e-19, -1e-19]], [[1.0, 2.0]])
        assert lines.split_at_crossings([(0, 1)]).edges.tolist() == [0, 1]

    def test_lines_without_end_cross_far_out_or_not_at_all(self):
        lines = from_starts([1, np.inf], [[1.0, 0.0, 1e-15]], [[0.0, 1e-3, 1e-20]])
        assert_allclose(lines.split_at_crossings(all_pairs(range(3))).edges, [1, 1001, np.inf])

    def test_a_cut_never_replaces_a_breakpoint(self):
        lines = from_starts([0, 1, 2], [[0.0], [1.0]], [[1.0], [5.0]])
        cut = lines.split(np.array([1 - 1e-12, 1.5, 1.5 + 1e-12, 2 - 1e-12]))
        assert cut.edges.tolist() == [0, 1, 1.5, 2]
        assert_allclose(cut.at([0.9, 1.2, 1.9]), lines.at([0.9, 1.2, 1.9]))

    def test_breakpoints_that_differ_by_round_off_are_one(self):
        lines = bent_lines(3, 2, 0, end=3.0)
        found = sampled_lines(lambda C: lines.at(C)[0], [*lines.edges, 1 + 2e-16, 3 - 4e-16])
        assert_array_equal(found.edges, lines.edges)

    @pytest.mark.parametrize("breakpoints", [[1], [2, 2], [0, np.nan], "all"])
    def test_breakpoints_are_numbers_and_two_at_least(self, breakpoints):
        with pytest.raises(DataError) as caught:
            sampled_lines(lambda C: np.zeros(1), breakpoints)
        assert caught.value.argument.startswith("breakpoints")

    @pytest.mark.parametrize(
        ("edges", "start", "wrong"),
        [
            ([1, 0], [[1.0]], {"argument": "edges", "found": "[1.0, 0.0]"}),
            ([0, 1, 2], [[1.0]], {"argument": "constant and slope", "found": "(1, 1) and (1, 1)"}),
            ([0], np.empty((0, 1)), {"argument": "edges", "found": "[0.0]"}),
        ],
    )
    def test_wrong_lines_are_refused(self, edges, start, wrong):
        with refuses(DataError, **wrong):
            PiecewiseLinear.on_edges(edges, start, start)

    def test_C_must_be_on_the_path(self):
        with refuses(DataError, "C", found=2):
            from_starts([0, 1], [[0.0]], [[1.0]]).at(2)

    def test_a_point_inside_every_piece(self):
        edges = np.array([0, 1, 3, np.inf])
        inside = inside_of(edges)
        assert ((inside > edges[:-1]) & (inside < edges[1:])).all()


@pytest.mark.parametrize(("study", "packs"), [(COFFEE, PACKS), (MIXED, MIXED_PACKS)], ids=["coffee", "mixed"])
class TestFirstChoice:
    @given(seed=st.integers(0, 99), respondents=st.sampled_from([1, 3]))
    def test_shares_at_any_C_are_those_of_the_simulator(self, study, packs, seed, respondents):
        part_worths = bent_part_worths(study, respondents, seed)
        steps = first_choice_steps(part_worths, packs)
        for C in some_C(steps.edges, seed, 5):
            weights = part_worths.weights if respondents > 1 else None
            there = simulate(part_worths.at(C), study, packs, "first_choice", weights=weights)["share"]
            assert_allclose(steps.at(C), there, atol=1e-9)

    @given(seed=st.integers(0, 99))
    def test_shares_change_at_every_edge(self, study, packs, seed):
        steps = first_choice_steps(bent_part_worths(study, 2, seed), packs)
        assert (np.abs(np.diff(steps.shares, axis=0)).max(axis=1, initial=0) > 0).all()
        assert_allclose(steps.shares.sum(axis=1), 1)

    def test_the_winner_keeps_winning_on_its_interval(self, study, packs):
        part_worths = bent_part_worths(study, 3, 5)
        steps = first_choice_steps(part_worths, packs)
        found = steps.winners()
        assert found.is_exact
        for C in some_C(found.edges):
            lo, hi = found.interval(C)
            assert lo <= C <= hi
            inner = np.linspace(lo, hi if np.isfinite(hi) else lo + 1, 9)[1:-1]
            assert {best_of(steps.at(c).to_numpy(), steps.names) for c in inner} == {found.at(C)}

    def test_neighbouring_intervals_conclude_differently(self, study, packs):
        for found in (
            f(first_choice_steps(bent_part_worths(study, 3, 5), packs)) for f in (_winners, _orders)
        ):
            assert all(a != b for a, b in zip(found.verdicts, found.verdicts[1:], strict=False))
            assert len(found.to_frame()) == len(found.verdicts)


def _winners(steps):
    return steps.winners()


def _orders(steps):
    return steps.orders()


class TestImportances:
    @pytest.mark.parametrize("study", [COFFEE, MIXED], ids=["coffee", "mixed"])
    @given(seed=st.integers(0, 99))
    def test_the_order_of_one_row_is_exact(self, study, seed):
        part_worths = bent_part_worths(study, 1, seed)
        found = importance_orders(part_worths)
        assert found.is_exact
        for C in some_C(found.edges, seed, 5):
            ranges = attribute_ranges(part_worths.at(C), study).iloc[0].to_numpy()
            assert found.at(C) == order_of(ranges, list(study.attributes))

    def test_the_same_row_for_everybody_is_one_row(self):
        one = bent_part_worths(COFFEE, 1, 7)
        all_alike = PartWorthLines(3 * one.lines, one.space, pd.Index([1, 2, 3]), np.ones(3))
        found, wanted = importance_orders(all_alike), importance_orders(one)
        assert found.is_exact
        assert found.verdicts == wanted.verdicts
        assert_array_equal(found.edges, wanted.edges)

    def test_averages_are_known_where_they_were_evaluated(self):
        part_worths = bent_part_worths(COFFEE, 3, 0)
        found = importance_orders(part_worths)
        assert not found.is_exact
        table = part_worths.along(lambda v: importances(v, COFFEE))
        for C, row in table.iterrows():
            assert found.at(C) == order_of(row.to_numpy(), table.columns)

    def test_averages_are_weighted(self):
        part_worths = bent_part_worths(COFFEE, 3, 0)
        row = part_worths.along(lambda v: importances(v, COFFEE), [1.5]).iloc[0]
        assert_allclose(row, np.average(importances(part_worths.at(1.5), COFFEE), axis=0, weights=[1, 2, 3]))


def test_logit_shares_lead_to_sampled_conclusions():
    part_worths = bent_part_worths(COFFEE, 2, 3)
    chooser, scenario = Simulator(part_worths.at(1.5), COFFEE), read_scenario(PACKS, COFFEE)
    table = part_worths.along(lambda v: chooser.respondent_shares(v, scenario))
    found = sampled_conclusions(part_worths, table, lambda row: best_of(row, table.columns))
    assert not found.is_exact
    for C, row in table.iterrows():
        assert found.at(C) == best_of(row.to_numpy(), table.columns)


@pytest.fixture(scope="module")
def path():
    """The path of all respondents together, traced by pqp."""
    return pqp.solve_path(pqp.catalog.choice(TRAIN.differences().rows), (0, 1))


class TestPath:
    def edges(self, path):
        return np.unique([0.0, 1.0, *(float(b) for b in path.breakpoints)])

    def part_worths(self, path):
        return part_worth_lines(lambda C: pd.Series(path(C).x, index=TRAIN.columns), self.edges(path), TRAIN)

    def test_part_worths_are_the_path(self, path):
        part_worths = self.part_worths(path)
        assert_array_equal(part_worths.edges, self.edges(path))
        for C in (0.001, 0.01, 0.1, 0.7):
            assert_allclose(part_worths.at(C).iloc[0], path(C).x, atol=1e-8)

    def test_the_conclusion_on_the_interval_is_that_of_the_path(self, path):
        winners = first_choice_steps(self.part_worths(path), PACKS).winners()
        for C in np.geomspace(1e-4, 0.9, 30):
            there = simulate(pd.Series(path(C).x, index=TRAIN.columns), TRAIN, PACKS, "first_choice")
            assert winners.at(C) == best_of(there["share"].to_numpy(), list(there.index))


class TestTracks:
    def test_respondents_with_other_breakpoints_go_together(self):
        columns = len(COFFEE.columns)
        lines = (bent_lines(3, columns, 0), bent_lines(4, columns, 1, end=9.0))
        part_worths = PartWorthLines(lines, space_of(COFFEE), pd.Index(["a", "b"]), np.ones(2))
        assert (part_worths.lo, part_worths.hi) == (0, 9)
        assert part_worths.edges.tolist() == [0, 1, 2, 3, 9]

    def test_many_pieces_are_thinned(self):
        part_worths = bent_part_worths(COFFEE, 1, 0, pieces=30)
        assert len(part_worths.points(10)) == 10

    def test_weights_are_those_of_the_study(self):
        v = worths(24)
        assert_array_equal(part_worth_lines(lambda C: C * v, [0, 1], COFFEE).weights, COFFEE.weights)

    def test_wrong_part_worths_are_told(self):
        with refuses(DataError, "lines", found=2):
            PartWorthLines((bent_lines(3, 2, 0),), space_of(COFFEE), pd.Index([1]), np.ones(1))
        with refuses(DataError, "lines", found="0 lines, 0 names, 0 weights"):
            PartWorthLines((), space_of(COFFEE), pd.Index([]), np.ones(0))
        apart = (bent_lines(2, 12, 0, end=2.0), from_starts([5, 6], np.zeros((1, 12)), np.zeros((1, 12))))
        with refuses(DataError, "lines"):
            PartWorthLines(apart, space_of(COFFEE), pd.Index([1, 2]), np.ones(2))

    def test_C_of_a_conclusion_must_be_on_the_path(self):
        found = first_choice_steps(bent_part_worths(COFFEE, 1, 0), PACKS).winners()
        with refuses(DataError, "C", found=-1):
            found.at(-1)
