"""conjoint.lines, tracks, stability: what is said of an interval of C holds at every C in it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import pqp
from ranking import DataError
from ranking.conjoint import (
    Simulator,
    Tracks,
    attribute_ranges,
    first_choice_steps,
    importance_orders,
    importances,
    read_scenario,
    simulate,
    tracks_of,
)
from ranking.conjoint.lines import Lines, all_pairs, inside_of, sampled_lines
from ranking.conjoint.space import space_of
from ranking.conjoint.stability import best_of, order_of, sampled_conclusions
from tests.ranking.market import COFFEE, PACKS, mixed_study, worths

MIXED = mixed_study()
MIXED_PACKS = {f"{brand}{price}": {"brand": brand, "price": price} for brand in "ABC" for price in (5, 30)}
TRAIN = COFFEE.only(respondents=range(1, 24)).split_holdout()[0]


def bent_lines(pieces, columns, seed, end=np.inf):
    """Continuous lines with random whole numbers at whole C, so that many lines cross in the same place."""
    chance = np.random.default_rng(seed)
    knots = chance.integers(-3, 4, size=(pieces + 1, columns)).astype(float)
    knots[0] = 0
    slope = np.vstack([np.diff(knots, axis=0)[: pieces - 1], np.zeros(columns)])
    return Lines(np.append(np.arange(float(pieces)), end), knots[:pieces], slope)


def bent_tracks(study, respondents, seed, pieces=4):
    lines = tuple(bent_lines(pieces, len(study.columns), seed + r) for r in range(respondents))
    names = pd.Index(range(1, respondents + 1))
    return Tracks(lines, space_of(study), names, np.arange(1.0, respondents + 1))


def some_C(edges, seed=0, count=40):
    """C between edges, none of them on one."""
    chance = np.random.default_rng(seed)
    return chance.uniform(edges[0], edges[-1] if np.isfinite(edges[-1]) else edges[-2] + 2, size=count)


class TestLines:
    @given(seed=st.integers(0, 99))
    def test_finer_pieces_are_the_same_lines(self, seed):
        lines = bent_lines(4, 3, seed)
        finer = lines.crossed(all_pairs(range(3)))
        C = some_C(lines.edges, seed)
        assert_allclose(finer.at(C), lines.at(C), atol=1e-12)
        assert set(lines.edges) <= set(finer.edges)

    @given(seed=st.integers(0, 99))
    def test_no_two_lines_cross_inside_a_finer_piece(self, seed):
        lines = bent_lines(4, 3, seed).crossed(all_pairs(range(3)))
        ends = np.where(np.isinf(lines.edges[1:]), lines.edges[:-1] + 1, lines.edges[1:])
        for i, j in all_pairs(range(3)):
            left = lines.start[:, i] - lines.start[:, j]
            right = left + (ends - lines.edges[:-1]) * (lines.slope[:, i] - lines.slope[:, j])
            assert (left * right >= -1e-12).all()

    def test_products_are_lines_of_products(self):
        lines, M = bent_lines(3, 2, 0), np.array([[1.0, 2, 0], [0, 1, -1]])
        assert_allclose(lines.times(M).at([0.3, 1.7]), lines.at([0.3, 1.7]) @ M)

    def test_lines_are_found_from_values(self):
        lines = bent_lines(5, 3, 1)
        found = sampled_lines(lambda C: lines.at(C)[0], lines.edges)
        assert_allclose(found.start, lines.start, atol=1e-9)
        assert_allclose(found.slope, lines.slope, atol=1e-9)

    def test_a_missing_breakpoint_is_noticed(self):
        lines = Lines([0, 1, 2], [[0.0], [1.0]], [[1.0], [-1.0]])
        with pytest.raises(DataError, match="bend between the breakpoints 0 and 2; pass all"):
            sampled_lines(lambda C: lines.at(C)[0], [0, 2])

    def test_a_jump_is_none_inside_pieces(self):
        lines = Lines([0, 1, 2], [[0.0], [5.0]], [[1.0], [0.0]])
        assert_allclose(sampled_lines(lambda C: lines.at(C)[0], [0, 1, 2]).start, lines.start, atol=1e-12)

    @pytest.mark.parametrize(
        ("edges", "start", "message"),
        [
            ([1, 0], [[1.0]], "ascending"),
            ([0, 1, 2], [[1.0]], "2 pieces need as many rows"),
            ([0], np.empty((0, 1)), "at least two ascending"),
        ],
    )
    def test_wrong_lines_are_told(self, edges, start, message):
        with pytest.raises(DataError, match=message):
            Lines(edges, start, start)

    def test_C_must_be_on_the_path(self):
        with pytest.raises(DataError, match="C must lie between 0 and 1"):
            Lines([0, 1], [[0.0]], [[1.0]]).at(2)

    def test_a_point_inside_every_piece(self):
        edges = np.array([0, 1, 3, np.inf])
        inside = inside_of(edges)
        assert ((inside > edges[:-1]) & (inside < edges[1:])).all()


@pytest.mark.parametrize(("study", "packs"), [(COFFEE, PACKS), (MIXED, MIXED_PACKS)], ids=["coffee", "mixed"])
class TestFirstChoice:
    @given(seed=st.integers(0, 99), respondents=st.sampled_from([1, 3]))
    def test_shares_at_any_C_are_those_of_the_simulator(self, study, packs, seed, respondents):
        tracks = bent_tracks(study, respondents, seed)
        steps = first_choice_steps(tracks, packs)
        for C in some_C(steps.edges, seed, 12):
            weights = tracks.weights if respondents > 1 else None
            there = simulate(tracks.at(C), study, packs, "first_choice", weights=weights)["share"]
            assert_allclose(steps.at(C), there, atol=1e-9)

    @given(seed=st.integers(0, 99))
    def test_shares_change_at_every_edge(self, study, packs, seed):
        steps = first_choice_steps(bent_tracks(study, 2, seed), packs)
        assert (np.abs(np.diff(steps.shares, axis=0)).max(axis=1, initial=0) > 0).all()
        assert_allclose(steps.shares.sum(axis=1), 1)

    def test_the_winner_keeps_winning_on_its_interval(self, study, packs):
        tracks = bent_tracks(study, 3, 5)
        steps = first_choice_steps(tracks, packs)
        found = steps.winners()
        assert found.is_exact
        for C in some_C(found.edges):
            lo, hi = found.interval(C)
            assert lo <= C <= hi
            inner = np.linspace(lo, hi if np.isfinite(hi) else lo + 1, 9)[1:-1]
            assert {best_of(steps.at(c).to_numpy(), steps.names) for c in inner} == {found.at(C)}

    def test_neighbouring_intervals_conclude_differently(self, study, packs):
        for found in (f(first_choice_steps(bent_tracks(study, 3, 5), packs)) for f in (_winners, _orders)):
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
        tracks = bent_tracks(study, 1, seed)
        found = importance_orders(tracks)
        assert found.is_exact
        for C in some_C(found.edges, seed, 12):
            ranges = attribute_ranges(tracks.at(C), study).iloc[0].to_numpy()
            assert found.at(C) == order_of(ranges, list(study.attributes))

    def test_averages_are_known_where_they_were_evaluated(self):
        tracks = bent_tracks(COFFEE, 3, 0)
        found = importance_orders(tracks)
        assert not found.is_exact
        table = tracks.along(lambda v: importances(v, COFFEE))
        for C, row in table.iterrows():
            assert found.at(C) == order_of(row.to_numpy(), table.columns)

    def test_averages_are_weighted(self):
        tracks = bent_tracks(COFFEE, 3, 0)
        row = tracks.along(lambda v: importances(v, COFFEE), [1.5]).iloc[0]
        assert_allclose(row, np.average(importances(tracks.at(1.5), COFFEE), axis=0, weights=[1, 2, 3]))


def test_logit_shares_lead_to_sampled_conclusions():
    tracks = bent_tracks(COFFEE, 2, 3)
    chooser, scenario = Simulator(tracks.at(1.5), COFFEE), read_scenario(PACKS, COFFEE)
    table = tracks.along(lambda v: chooser.read(v, scenario))
    found = sampled_conclusions(tracks, table, lambda row: best_of(row, table.columns))
    assert not found.is_exact
    for C, row in table.iterrows():
        assert found.at(C) == best_of(row.to_numpy(), table.columns)


class TestPath:
    """The path of all respondents together, traced by pqp."""

    path = pqp.solve_path(pqp.catalog.choice(TRAIN.differences().rows), (0, 1))

    def tracks(self):
        def at(C):
            return pd.Series(self.path(C).x, index=TRAIN.columns)

        return tracks_of(at, self.edges(), TRAIN)

    def edges(self):
        return np.unique([0.0, 1.0, *(float(b) for b in self.path.breakpoints)])

    def test_tracks_are_the_path(self):
        tracks = self.tracks()
        assert_array_equal(tracks.edges, self.edges())
        for C in (0.001, 0.01, 0.1, 0.7):
            assert_allclose(tracks.at(C).iloc[0], self.path(C).x, atol=1e-8)

    def test_the_conclusion_on_the_interval_is_that_of_the_path(self):
        steps = first_choice_steps(self.tracks(), PACKS)
        for C in np.geomspace(1e-4, 0.9, 30):
            there = simulate(pd.Series(self.path(C).x, index=TRAIN.columns), TRAIN, PACKS, "first_choice")
            assert steps.winners().at(C) == best_of(there["share"].to_numpy(), list(there.index))


class TestTracks:
    def test_respondents_with_other_breakpoints_go_together(self):
        columns = len(COFFEE.columns)
        lines = (bent_lines(3, columns, 0), bent_lines(4, columns, 1, end=9.0))
        tracks = Tracks(lines, space_of(COFFEE), pd.Index(["a", "b"]), np.ones(2))
        assert (tracks.lo, tracks.hi) == (0, 9)
        assert tracks.edges.tolist() == [0, 1, 2, 3, 9]

    def test_many_pieces_are_thinned(self):
        tracks = bent_tracks(COFFEE, 1, 0, pieces=30)
        assert len(tracks.points(10)) == 10

    def test_weights_are_those_of_the_study(self):
        v = worths(24)
        assert_array_equal(tracks_of(lambda C: C * v, [0, 1], COFFEE).weights, COFFEE.weights)

    def test_wrong_tracks_are_told(self):
        with pytest.raises(DataError, match="lines must have the 12 columns"):
            Tracks((bent_lines(3, 2, 0),), space_of(COFFEE), pd.Index([1]), np.ones(1))
        with pytest.raises(DataError, match="a name and a weight for each"):
            Tracks((), space_of(COFFEE), pd.Index([]), np.ones(0))
        apart = (bent_lines(2, 12, 0, end=2.0), Lines([5, 6], np.zeros((1, 12)), np.zeros((1, 12))))
        with pytest.raises(DataError, match="no C in common"):
            Tracks(apart, space_of(COFFEE), pd.Index([1, 2]), np.ones(2))

    def test_C_of_a_conclusion_must_be_on_the_path(self):
        found = first_choice_steps(bent_tracks(COFFEE, 1, 0), PACKS).winners()
        with pytest.raises(DataError, match="C must lie between 0 and inf, got -1"):
            found.at(-1)
