"""scanning: the compiled loops find what a look at every item finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pqp.scanning import add_outer, correction, first_end, left_over, reached_ends
from tests.walking import FEW, INFINITY, SEEDS

SIZE = 6
TIE = 1e-11
NOISE = (1e-11, 1.0)
VARIABLES = np.zeros(SIZE, dtype=bool)


def situation(seed):
    """Lines, places and ranges of small integers, some ends missing; at mu = 1 all are inside."""
    random = np.random.default_rng(seed)
    v, g = random.integers(-2, 3, (2, SIZE, 2)).astype(float)
    place = np.where(random.random(SIZE) < 0.5, -1, np.arange(SIZE))
    dependent = np.where(place[:, None] >= 0, v, g)
    lo, hi = (np.column_stack([np.zeros(SIZE), random.integers(-2, 3, SIZE)]).astype(float) for _ in range(2))
    inside = dependent.sum(axis=1)  # at mu = 1
    lo[:, 0] = inside - random.integers(0, 3, SIZE) - lo[:, 1]
    hi[:, 0] = inside + random.integers(0, 3, SIZE) - hi[:, 1]
    lo[random.random(SIZE) < 0.2], hi[random.random(SIZE) < 0.2] = (-INFINITY, 0), (INFINITY, 0)
    return (v, g, place), (lo, hi), np.stack([dependent - lo, hi - dependent])


def distances(gaps, direction):
    """How far from mu = 1 every gap is closed, infinite where it does not fall."""
    room, rate = gaps.sum(axis=2), gaps[:, :, 1] * direction
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate < 0, room / -rate, INFINITY)


@FEW
@given(seed=SEEDS, direction=st.sampled_from((1, -1)), data=st.data())
def test_first_end_is_the_nearest_one_that_no_verdict_binds(seed, direction, data):
    lines, ranges, gaps = situation(seed)
    settled = np.array(data.draw(st.lists(st.booleans(), min_size=2 * SIZE, max_size=2 * SIZE)))
    settled = settled.reshape(2, SIZE)
    known = np.where(settled, INFINITY, distances(gaps, direction))
    distance, which = first_end(lines, ranges, settled, (1.0, float(direction)), NOISE)
    assert distance == known.min()
    assert which == -1 if np.isinf(distance) else known.flat[which] == distance


@FEW
@given(seed=SEEDS)
def test_all_ends_without_a_gap_are_found(seed):
    lines, ranges, gaps = situation(seed)
    found = np.empty(2 * SIZE, dtype=np.int64)
    count, speed = reached_ends(lines, ranges, VARIABLES, (1.0, TIE, TIE), found)
    assert sorted(found[:count]) == np.flatnonzero(gaps.sum(axis=2).ravel() == 0).tolist()
    assert speed == np.abs(lines[0][:, 1]).max()


def test_slope_that_is_round_off_reaches_nothing():
    v, nothing = np.array([[0.0, 1e-13], [0.0, 1.0]]), np.zeros((2, 2))
    ranges = np.array([[-INFINITY, 0.0]] * 2), np.array([[1.0, 0.0], [INFINITY, 0.0]])
    lines = v, nothing, np.array([0, 1])
    assert first_end(lines, ranges, np.zeros((2, 2), dtype=bool), (0.0, 1.0), (1e-11, 0.0)) == (INFINITY, -1)


def test_gap_is_judged_beside_the_numbers_it_is_made_of():
    place, hi = np.array([0]), np.array([[INFINITY, 0.0]])
    found = np.empty(2, dtype=np.int64)
    for size, reached in ((1.0, 0), (1e6, 1)):
        v = np.array([[size + 1e-6, 0.0]])
        lo = np.array([[size, 0.0]])
        assert reached_ends((v, v, place), (lo, hi), VARIABLES, (0.0, TIE, TIE), found)[0] == reached


@FEW
@given(seed=SEEDS, count=st.integers(0, SIZE))
def test_outer_product_is_added_to_the_leading_block_alone(seed, count):
    random = np.random.default_rng(seed)
    matrix, column = random.normal(size=(SIZE, SIZE)), random.normal(size=count)
    known = matrix.copy()
    known[:count, :count] += 2.0 * np.outer(column, column)
    add_outer(matrix, count, 2.0, column)
    assert np.allclose(matrix, known)


@FEW
@given(seed=SEEDS, items=st.lists(st.integers(0, SIZE - 1), unique=True))
def test_correction_removes_what_is_left_over(seed, items):
    random = np.random.default_rng(seed)
    R, signs = np.array(items, dtype=np.int64), np.where(np.arange(SIZE) < 3, 1.0, -1.0)
    F = random.normal(size=(SIZE, SIZE))
    S = F @ F.T + np.eye(SIZE)
    held, v = random.normal(size=(2, SIZE, 2))
    g = signs[:, None] * (S @ v)
    before = v.copy()
    rest = left_over(R, held, g)
    assert np.allclose(rest, held[R] - g[R])
    step, top = correction(np.linalg.inv(S[np.ix_(R, R)]), R, signs, rest, v)
    assert np.allclose(v[R], before[R] + step)
    assert top == np.max(np.abs(step), initial=0.0)
    assert np.allclose((signs[:, None] * (S @ v))[R], held[R])
    others = np.setdiff1d(np.arange(SIZE), R)
    assert np.array_equal(v[others], before[others])
