"""thresholds: optimal for the scores, the middle of those that are, and lines along a piece."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ranking.ordinal.base import Hinges, hinges_of
from ranking.ordinal.thresholds import middle_lines, middle_thresholds, optimal_intervals, upper_envelope


@st.composite
def scored_objects(draw):
    """Hinges of a few objects of two to six levels, all of which occur, and whole scores with many ties."""
    n_levels = draw(st.integers(2, 6))
    more = draw(st.lists(st.integers(0, n_levels - 1), max_size=12))
    codes = np.array([*range(n_levels), *more])
    n = len(codes)
    numbers = st.lists(st.integers(-6, 6), min_size=n, max_size=n)
    scope = draw(st.sampled_from(["adjacent", "all"]))
    weight = np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), dtype=float)
    hinges = hinges_of(codes, n_levels, weight=weight, scope=scope)
    return hinges, np.array(draw(numbers), dtype=float), np.array(draw(numbers), dtype=float) / 4


def loss(hinges, f, thresholds):
    return float(hinges.weight @ np.maximum(0.0, hinges.slack(f, thresholds)))


def least_loss(hinges, f, ordered):
    """Return the least loss over all thresholds, by a linear program in (p, ξ)."""
    h, t = len(hinges), hinges.n_thresholds
    A = np.hstack([np.zeros((h, t)), -np.eye(h)])
    A[np.arange(h), hinges.threshold] = hinges.sign
    b = hinges.sign * f[hinges.item] - 1.0
    if ordered and t > 1:
        rows = np.zeros((t - 1, t + h))
        rows[np.arange(t - 1), np.arange(t - 1)], rows[np.arange(t - 1), np.arange(1, t)] = 1.0, -1.0
        A, b = np.vstack([A, rows]), np.append(b, np.zeros(t - 1))
    cost = np.append(np.zeros(t), hinges.weight)
    return linprog(cost, A_ub=A, b_ub=b, bounds=[(None, None)] * t + [(0, None)] * h).fun


@settings(max_examples=60, deadline=None)
@given(scored_objects(), st.booleans())
def test_the_middle_thresholds_have_the_least_loss(data, ordered):
    hinges, f, _ = data
    thresholds = middle_thresholds(hinges, f, ordered)
    assert loss(hinges, f, thresholds) == pytest.approx(least_loss(hinges, f, ordered), abs=1e-8)
    assert not ordered or (np.diff(thresholds) >= 0).all()


def test_thresholds_that_are_not_neighbours_may_have_to_be_pooled():
    """The first must be 5, the third 1, and the second may be anything from 0 to 10: all are equal."""
    signs = np.array([-1.0, 1.0] * 3)
    hinges = Hinges(np.arange(6), np.repeat([0, 1, 2], 2), signs, np.ones(6), 6, 3, shares=None)
    f = np.array([4.0, 6.0, -1.0, 11.0, 0.0, 2.0])
    assert optimal_intervals(hinges, f, ordered=False).tolist() == [[5, 5], [0, 10], [1, 1]]
    thresholds = middle_thresholds(hinges, f, ordered=True)
    assert (np.diff(thresholds) >= 0).all()
    assert loss(hinges, f, thresholds) == pytest.approx(least_loss(hinges, f, ordered=True), abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(scored_objects())
def test_each_end_of_an_interval_is_optimal_and_nothing_beyond_it(data):
    hinges, f, _ = data
    best, middles = least_loss(hinges, f, ordered=False), middle_thresholds(hinges, f, ordered=False)
    for k, (lo, hi) in enumerate(optimal_intervals(hinges, f, ordered=False)):
        for value, is_best in ((lo, True), (hi, True), (lo - 0.1, False), (hi + 0.1, False)):
            moved = middles.copy()
            moved[k] = value
            assert (loss(hinges, f, moved) <= best + 1e-9) == is_best


@settings(max_examples=60, deadline=None)
@given(scored_objects(), st.booleans())
def test_lines_of_thresholds_are_the_middles_as_long_as_no_hinge_changes_sides(data, ordered):
    hinges, constant, slope = data
    # so short a piece that scores which differ do not meet on it
    ends, inside = (0.0, 0.1), 0.05
    pieces = middle_lines(hinges, (constant, slope), ends, inside, ordered)
    assert pieces.lo[0] == ends[0]
    assert (np.diff(pieces.lo) > 0).all()
    for C in (0.013, 0.05, 0.097):
        k = int(np.searchsorted(pieces.lo, C, side="right")) - 1
        p, f = pieces.constant[k] + C * pieces.slope[k], constant + C * slope
        assert loss(hinges, f, p) == pytest.approx(least_loss(hinges, f, ordered), abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=8))
def test_the_envelope_is_the_largest_line_everywhere(lines):
    constant, slope = np.array(lines, dtype=float).T
    found = upper_envelope(constant, slope, np.arange(len(lines)), (0.0, 10.0))
    starts = [start for start, _ in found]
    assert starts == sorted(starts)
    for C in np.linspace(0.0, 10.0, 41):
        owner = found[int(np.searchsorted(starts, C, side="right")) - 1][1]
        assert constant[owner] + C * slope[owner] == pytest.approx((constant + C * slope).max())
