"""block_inverse: the inverse kept by blocks is the inverse, and paths through it are the paths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqp
from pqp.errors import NumericalTroubleError
from pqp.linalg.structure import GROUPED, NO_PART, form_of, sparse_factored_part, with_units
from pqp.model import hessian as factors
from pqp.revised import basis as basis
from pqp.revised.block_inverse import blocks_of, no_blocks
from pqp.revised.inverse import Inverse
from tests.systems import FEW, SEEDS, pool, scaled_problem

OWNERS = np.repeat(np.arange(9), 3)
SIZE, WIDTH = len(OWNERS), 3
ITEMS = st.integers(0, SIZE - 1)


def rows_of(random):
    """Rows of which every group has independent ones: (1, a, b), (0, 1, c), (0, 0, 1)."""
    above = np.triu(random.integers(-2, 3, (9, WIDTH, WIDTH)), 1)
    return (above + np.eye(WIDTH, dtype=int)).reshape(SIZE, WIDTH)


def matrix_and_inverse(seed, capacity=32, is_scaled=False, has_diagonal=False):
    random = np.random.default_rng(seed)
    diagonal = random.integers(1, 3, SIZE).astype(float) if has_diagonal else None
    gram = pool(rows_of(random), OWNERS, diagonal, share=random.choice([0.2, 1.0, 3.0]))
    everything, units = np.arange(SIZE), 2.0 ** random.integers(-2, 3, SIZE) if is_scaled else np.ones(SIZE)
    form = form_of(SIZE, gram.part, NO_PART, None)
    form = with_units(form, units) if is_scaled else form
    assert gram.part.kind == GROUPED
    S = units[:, None] * gram.block(everything, everything) * units
    return S, Inverse(SIZE, capacity, blocks_of(form, SIZE))


def toggle(inverse, S, item):
    if inverse.position[item] >= 0:
        assert inverse.leave(item)
    else:
        assert inverse.enter(item, *inverse.border(S[inverse.items, item], float(S[item, item])))


def assert_inverse(inverse, S):
    R = inverse.items
    known = np.linalg.inv(S[np.ix_(R, R)])
    size = np.abs(known).max(initial=1.0)
    assert inverse.position[R].tolist() == list(range(len(R)))
    assert sorted(R) == np.flatnonzero(inverse.position >= 0).tolist()
    assert np.allclose(inverse.values, known, atol=1e-9 * size)
    assert np.allclose(inverse.times(np.eye(len(R))), known, atol=1e-9 * size)
    assert inverse.top() == pytest.approx(np.abs(known).max(initial=0.0), rel=1e-8)


@FEW
@given(
    seed=SEEDS,
    moves=st.lists(ITEMS, max_size=60),
    capacity=st.sampled_from((1, 32)),
    is_scaled=st.booleans(),
    has_diagonal=st.booleans(),
)
def test_any_sequence_of_entering_and_leaving_keeps_the_inverse(
    seed, moves, capacity, is_scaled, has_diagonal
):
    S, inverse = matrix_and_inverse(seed, capacity, is_scaled, has_diagonal)
    for item in moves:
        toggle(inverse, S, item)
    assert_inverse(inverse, S)


@FEW
@given(seed=SEEDS, order=st.permutations(range(6)), again=st.permutations(range(6)))
def test_blocks_that_empty_fill_again(seed, order, again):
    S, inverse = matrix_and_inverse(seed)
    for item in (*range(6), *order, *again):
        toggle(inverse, S, item)
        assert_inverse(inverse, S)
    assert sorted(inverse.items) == list(range(6))


@FEW
@given(seed=SEEDS, items=st.sets(ITEMS), later=st.lists(ITEMS, max_size=5))
def test_rebuilt_inverse_is_one_and_goes_on(seed, items, later):
    S, inverse = matrix_and_inverse(seed, 1)
    toggle(inverse, S, 0)
    inverse.rebuild_by_blocks(np.array(sorted(items), dtype=np.int64))
    assert inverse.items.tolist() == sorted(items)
    for item in later:
        toggle(inverse, S, item)
    assert_inverse(inverse, S)


@FEW
@given(seed=SEEDS, items=st.lists(ITEMS, min_size=1, unique=True))
def test_column_belongs_to_its_item(seed, items):
    S, inverse = matrix_and_inverse(seed)
    for item in items:
        toggle(inverse, S, item)
    for item in items:
        unit = (inverse.items == item).astype(float)
        assert np.allclose(S[np.ix_(inverse.items, inverse.items)] @ inverse.column(item), unit, atol=1e-7)


def twins():
    """Nine groups of two equal rows each."""
    gram = pool(np.ones((18, 1)), np.repeat(np.arange(9), 2))
    return Inverse(18, blocks=blocks_of(form_of(18, gram.part, NO_PART, None), 18))


def test_item_that_depends_on_its_group_is_not_let_in():
    inverse = twins()
    assert inverse.enter(0, np.empty(0), 1.25)
    assert not inverse.enter(1, np.ones(1), 1.0)
    assert inverse.items.tolist() == [0]
    assert inverse.values == pytest.approx(1 / 1.25)


def test_group_with_more_items_than_are_independent_is_trouble():
    with pytest.raises(NumericalTroubleError, match="more items of a group than are independent"):
        twins().rebuild_by_blocks(np.array([0, 1]))


def test_blocks_that_are_singular_are_trouble():
    rows = np.tile([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]], (9, 1))
    gram = pool(rows, OWNERS)
    inverse = Inverse(SIZE, blocks=blocks_of(form_of(SIZE, gram.part, NO_PART, None), SIZE))
    with pytest.raises(NumericalTroubleError, match="float64"):
        inverse.rebuild_by_blocks(np.array([0, 1]))


def test_system_that_is_not_grouped_has_no_blocks():
    form = form_of(2, pqp.Gram(np.ones((2, 1))).part, NO_PART, None)
    assert not Inverse(2, blocks=blocks_of(form, 2)).has_blocks


def pooled_choices(seed, repeated):
    """The dual of choices by nine respondents, some of them made twice, by one or by several."""
    random = np.random.default_rng(seed)
    count = int(random.integers(3, 7))
    X = random.integers(-1, 2, (9 * count, WIDTH))
    if repeated == "within":
        X[1::count] = X[0::count]
    if repeated == "across":
        X[count:] = np.tile(X[:count], (8, 1))
    gram = pool(X, np.repeat(np.arange(9), count), share=2.0 ** random.integers(-2, 2))
    return pqp.ParametricQP(P=gram, c=-1, lower=0, upper=pqp.mu * random.integers(1, 3, len(X)))


@pytest.fixture
def without_blocks(monkeypatch):
    """Lets paths be traced without groups from then on."""

    def leave_out():
        monkeypatch.setattr(factors, "sparse_factor_part", sparse_factored_part)
        monkeypatch.setattr(basis, "blocks_of", lambda form, size: no_blocks())

    return leave_out


@pytest.mark.parametrize("repeated", ["never", "within", "across"])
def test_paths_of_pools_are_the_same_with_and_without_blocks_and_proven(repeated, without_blocks):
    problems = [pooled_choices(seed, repeated) for seed in range(6)]
    assert all(scaled_problem(problem).lcp.form.H.kind == GROUPED for problem in problems)
    paths = [pqp.solve_path(problem, (0, 3)) for problem in problems]
    without_blocks()
    for seed, path in enumerate(paths):
        path.certify()
        F = path.problem.P.F
        other = pqp.solve_path(pooled_choices(seed, repeated), (0, 3))
        for mu in np.linspace(0, 3, 31):
            assert np.allclose(F.T @ path.x(mu), F.T @ other.x(mu), atol=1e-9)
        bends, others = bends_of(path, F), bends_of(other, F)
        assert len(bends) == len(others)
        assert np.allclose(bends, others, atol=1e-9)


def bends_of(path, F):
    """Where Fᵀx, which is unique where x is not, changes its direction."""
    pieces = [segment for segment in path.segments if segment.hi - segment.lo > 1e-9]
    slopes = [F.T @ np.asarray(segment.x[1], dtype=float) for segment in pieces]
    return [
        piece.lo
        for piece, before, after in zip(pieces[1:], slopes, slopes[1:], strict=False)
        if np.abs(before - after).max() > 1e-9
    ]
