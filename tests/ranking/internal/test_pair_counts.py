"""Sums over near pairs equal those over all pairs one by one, by their definition."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.core.graph import preference_pairs
from ranking.ranksvm import pair_counts
from ranking.ranksvm.pair_counts import CountedPairs, ListedPairs


def brute_force(pairs, weight, margin, scores, low, high, vector):
    """The six sums over low < r <= high, pair by pair; residuals count from low on."""
    n = len(scores)
    heft, total, squares = 0.0, 0.0, 0.0
    balance, residual_balance, product = np.zeros(n), np.zeros(n), np.zeros(n)
    for (i, j), w, delta in zip(pairs, weight, margin, strict=True):
        r = delta - (scores[i] - scores[j])
        if low < r <= high:
            r -= low
            heft, total, squares = heft + w, total + w * r, squares + w * r * r
            for k, sign in ((i, 1), (j, -1)):
                balance[k] += sign * w
                residual_balance[k] += sign * w * r
                product[k] += sign * w * (vector[i] - vector[j])
    return heft, total, squares, balance, residual_balance, product


def assert_equal_sums(sums, listed, scores, gamma):
    """The pairs near, in the band and beyond have the sums of their definition."""
    vector = np.arange(len(scores)) ** 2.0
    near, (band, beyond) = sums.near(scores), sums.band(scores, gamma)
    for part, low, high in ((near, 0, np.inf), (band, 0, gamma), (beyond, gamma, np.inf)):
        expected = brute_force(*listed, scores, low, high, vector)
        found = (
            part.weight,
            part.total,
            part.total_of_squares,
            part.balance,
            part.residual_balance,
            part.laplacian(vector),
        )
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-9)
        columns = part.laplacian(np.column_stack([vector, vector]))
        np.testing.assert_allclose(columns[:, 1], part.laplacian(vector), rtol=1e-12, atol=1e-9)


# scores on a grid of 1/4, exact in floats: pairs exactly at their margin occur, and many scores are equal
@st.composite
def problems(draw):
    n = draw(st.integers(1, 12))
    levels = draw(st.lists(st.integers(-2, 5), min_size=n, max_size=n))
    queries = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    scores = draw(st.lists(st.integers(-12, 12), min_size=n, max_size=n))
    gamma = draw(st.sampled_from([0.25, 0.5, 1.0, 4.0]))
    return np.array(levels), np.array(queries), np.array(scores) / 4, gamma


@pytest.mark.parametrize("listed", [0, 2_000])
@given(problem=problems())
def test_counted_pairs_equal_pairs_one_by_one(listed, problem):
    levels, queries, scores, gamma = problem
    pairs = preference_pairs(levels, queries)
    ones = np.ones(len(pairs))
    counted = CountedPairs(levels, queries)
    assert counted.count == len(pairs)
    # with none listed all sums are counted
    with patch.multiple(pair_counts, LISTED=listed, LISTED_PER_ITEM=min(listed, 4)):
        assert_equal_sums(counted, (pairs, ones, ones), scores, gamma)


@pytest.mark.parametrize("seed", range(5))
def test_listed_pairs_with_weights_and_margins(seed):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, 15, (60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    weight, margin = rng.uniform(0.1, 3, len(pairs)), rng.uniform(-1, 2, len(pairs))
    listed = ListedPairs(pairs, weight, margin, 15)
    assert listed.least_margin == margin.min()
    assert_equal_sums(listed, (pairs, weight, margin), rng.normal(size=15), 0.3)


def test_counted_equal_listed_on_many_levels_and_queries():
    rng = np.random.default_rng(0)
    levels, queries, scores = rng.normal(size=300), rng.integers(0, 4, 300), rng.normal(size=300)
    pairs = preference_pairs(levels, queries)
    ones = np.ones(len(pairs))
    ours = CountedPairs(levels, queries).near(scores)
    theirs = ListedPairs(pairs, ones, ones, 300).near(scores)
    assert 0 < ours.weight == theirs.weight < len(pairs)
    np.testing.assert_allclose(ours.residual_balance, theirs.residual_balance, rtol=1e-11)
    np.testing.assert_allclose(ours.total_of_squares, theirs.total_of_squares, rtol=1e-12)
    np.testing.assert_allclose(ours.laplacian(levels), theirs.laplacian(levels), rtol=1e-10, atol=1e-10)


def test_one_level_has_no_pair():
    counted = CountedPairs(np.zeros(4), np.zeros(4, dtype=int))
    near = counted.near(np.arange(4.0))
    assert (counted.count, near.weight, near.total) == (0, 0.0, 0.0)
    assert not near.balance.any()
    assert not near.laplacian(np.arange(4.0)).any()
