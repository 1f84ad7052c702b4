"""ratio_test: the compiled loops find what a look at every item finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pqp.revised.ratio_test import (
    CHUNK,
    Lines,
    advance,
    closing_rate,
    first_end,
    magnitudes,
    reached_ends,
    term_sizes,
)
from tests.systems import FEW, INFINITY, SEEDS

SIZE = 6
TIE, FLAT = 1e-11, 1e-11
MU = 1.0


def situation(seed, count=SIZE):
    """Lines centred at mu = 1, places, and gaps of small integers; some ends missing, all items inside."""
    random = np.random.default_rng(seed)
    v, g = random.integers(-2, 3, (2, 2, count)).astype(float)
    position = np.where(random.random(count) < 0.5, -1, np.arange(count))
    dependent = np.where(position >= 0, v, g)
    lo, hi = (np.stack([np.zeros(count), random.integers(-2, 3, count)]).astype(float) for _ in range(2))
    lo[0] = dependent[0] - random.integers(0, 3, count) - MU * lo[1]
    hi[0] = dependent[0] + random.integers(0, 3, count) - MU * hi[1]
    for limit, far in ((lo, -INFINITY), (hi, INFINITY)):
        limit[:, random.random(count) < 0.2] = [[far], [0.0]]
    lines = Lines(v, g, np.zeros((2, count)), lo, hi, np.zeros((2, count), dtype=bool))
    rooms = np.stack([dependent[0] - lo[0] - MU * lo[1], hi[0] + MU * hi[1] - dependent[0]])
    return lines, position, rooms, np.stack([dependent[1] - lo[1], hi[1] - dependent[1]])


def reached_in(lines, position, mu, found):
    """How many ends are reached at mu, all items being variables."""
    is_row = np.zeros(len(position), dtype=bool)
    magnitude = magnitudes(lines.v, is_row)
    return reached_ends(lines, position, is_row, magnitude, term_sizes(magnitude, False), mu, TIE, found)


def distances(rooms, rates, direction):
    """How far from mu every gap is closed, infinite where it does not fall."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rates * direction < 0, rooms / -(rates * direction), INFINITY)


@FEW
@given(seed=SEEDS, direction=st.sampled_from((1.0, -1.0)), data=st.data())
def test_first_end_is_the_nearest_one_that_no_verdict_binds(seed, direction, data):
    lines, position, rooms, rates = situation(seed)
    bound = data.draw(st.lists(st.booleans(), min_size=2 * SIZE, max_size=2 * SIZE))
    lines.decided[:] = np.array(bound).reshape(2, SIZE)
    known = np.where(lines.decided, INFINITY, distances(rooms, rates, direction))
    distance, which = first_end(lines, position, MU, direction, FLAT)
    assert distance == known.min()
    assert which == -1 if np.isinf(distance) else known.flat[which] == distance


@FEW
@given(seed=SEEDS, size=st.integers(1, 3 * CHUNK), direction=st.sampled_from((1.0, -1.0)))
def test_no_stretch_of_items_is_left_out(seed, size, direction):
    lines, position, rooms, rates = situation(seed, size)
    more = np.random.default_rng(seed).integers(0, 8, rooms.shape) * 2.0**-6
    rooms += more
    lines.lo[0] -= more[0]
    lines.hi[0] += more[1]
    distance, which = first_end(lines, position, MU, direction, FLAT)
    known = distances(rooms, rates, direction)
    assert distance == known.min()
    assert which == -1 if np.isinf(distance) else known.flat[which] == distance
    found = np.empty(2 * size + 1, dtype=np.int64)
    count = reached_in(lines, position, MU, found)
    assert sorted(found[:count]) == np.flatnonzero(rooms.ravel() == 0).tolist()


@FEW
@given(seed=SEEDS, direction=st.sampled_from((1.0, -1.0)))
def test_fall_of_an_end_is_how_fast_its_gap_closes(seed, direction):
    lines, position, _, rates = situation(seed)
    for end in range(2 * SIZE):
        assert closing_rate(lines, position, end, direction) == -direction * rates.flat[end]


@FEW
@given(seed=SEEDS)
def test_all_ends_without_a_gap_are_found(seed):
    lines, position, rooms, _ = situation(seed)
    found = np.empty(2 * SIZE, dtype=np.int64)
    count = reached_in(lines, position, MU, found)
    assert sorted(found[:count]) == np.flatnonzero(rooms.ravel() == 0).tolist()


@FEW
@given(seed=SEEDS, distance=st.integers(-3, 3))
def test_lines_move_along_their_slopes(seed, distance):
    lines, *_ = situation(seed)
    v, g = lines.v.copy(), lines.g.copy()
    advance(lines, float(distance))
    assert np.array_equal(lines.v, [v[0] + distance * v[1], v[1]])
    assert np.array_equal(lines.g, [g[0] + distance * g[1], g[1]])


def two_items(v, lo, hi):
    """Lines of items that are all unknown."""
    nothing = np.zeros_like(v)
    return Lines(v, nothing, nothing, lo, hi, np.zeros(v.shape, dtype=bool))


def test_slope_that_is_round_off_reaches_nothing():
    v = np.array([[0.0, 0.0], [1e-13, 1.0]])
    lo, hi = np.array([[-INFINITY] * 2, [0.0] * 2]), np.array([[1.0, INFINITY], [0.0, 0.0]])
    assert first_end(two_items(v, lo, hi), np.array([0, 1]), 0.0, 1.0, FLAT) == (INFINITY, -1)


def test_gap_is_judged_beside_the_numbers_it_is_made_of():
    position, hi = np.array([0]), np.array([[INFINITY], [0.0]])
    found = np.empty(2, dtype=np.int64)
    for size, reached in ((1.0, 0), (1e6, 1)):
        v, lo = np.array([[size + 1e-6], [0.0]]), np.array([[size], [0.0]])
        assert reached_in(two_items(v, lo, hi), position, 0.0, found) == reached
