"""inverse: whatever enters and leaves in whatever order, it is the inverse of what is there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqp.errors import NumericalTroubleError
from pqp.revised.inverse import Inverse
from tests.systems import FEW, SEEDS, dense, mixed

SIZE = 7


def matrix(seed):
    """A symmetric matrix with positive and negative diagonal, all of whose principal parts are regular."""
    system = mixed(4, 3, seed)
    return system.signs[:, None] * dense(system)


def toggle(inverse, S, item):
    if inverse.position[item] >= 0:
        inverse.leave(item)
    else:
        R = inverse.items
        inverse.enter(item, *inverse.border(S[R, item], float(S[item, item])))


def assert_inverse(inverse, S):
    R = inverse.items
    assert sorted(R) == np.flatnonzero(inverse.position >= 0).tolist()
    assert inverse.position[R].tolist() == list(range(len(R)))
    assert np.allclose(inverse.values @ S[np.ix_(R, R)], np.eye(len(R)), atol=1e-8)
    assert np.allclose(inverse.values, inverse.values.T, atol=1e-8)


@FEW
@given(
    seed=SEEDS, moves=st.lists(st.integers(0, SIZE - 1), max_size=30), capacity=st.sampled_from((1, 2, 32))
)
def test_any_sequence_of_entering_and_leaving_keeps_the_inverse(seed, moves, capacity):
    S, inverse = matrix(seed), Inverse(SIZE, capacity)
    for item in moves:
        toggle(inverse, S, item)
        assert_inverse(inverse, S)


@FEW
@given(seed=SEEDS, items=st.sets(st.integers(0, SIZE - 1)), later=st.integers(0, SIZE - 1))
def test_rebuilt_inverse_is_one_and_goes_on(seed, items, later):
    S, inverse = matrix(seed), Inverse(SIZE, 1)
    inverse.enter(0, *inverse.border(np.zeros(0), float(S[0, 0])))
    R = np.array(sorted(items), dtype=np.int64)
    inverse.rebuild(R, S[np.ix_(R, R)])
    assert inverse.items.tolist() == R.tolist()
    assert_inverse(inverse, S)
    toggle(inverse, S, later)
    assert_inverse(inverse, S)


@FEW
@given(seed=SEEDS, items=st.lists(st.integers(0, SIZE - 1), min_size=2, unique=True))
def test_reach_gives_the_schur_complement(seed, items):
    S, inverse = matrix(seed), Inverse(SIZE)
    *R, item = items
    for other in R:
        toggle(inverse, S, other)
    R = inverse.items
    solved, schur = inverse.border(S[R, item], float(S[item, item]))
    assert np.allclose(S[np.ix_(R, R)] @ solved, S[R, item])
    ratio = np.linalg.det(S[np.ix_(items, items)]) / np.linalg.det(S[np.ix_(R, R)])
    assert schur == pytest.approx(ratio)


@FEW
@given(seed=SEEDS, items=st.lists(st.integers(0, SIZE - 1), min_size=1, unique=True))
def test_column_belongs_to_its_item(seed, items):
    S, inverse = matrix(seed), Inverse(SIZE)
    for item in items:
        toggle(inverse, S, item)
    for item in items:
        unit = (inverse.items == item).astype(float)
        assert np.allclose(S[np.ix_(inverse.items, inverse.items)] @ inverse.column(item), unit, atol=1e-8)


def test_matrix_without_inverse_is_trouble_and_no_bare_error():
    with pytest.raises(NumericalTroubleError, match="float64"):
        Inverse(3).rebuild(np.array([0, 2]), np.zeros((2, 2)))
