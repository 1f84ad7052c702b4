"""active_set: products, blocks and factors are those of the matrix P K Pᵀ written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import LinAlgError

from ranking.errors import DataError
from ranking.hastie import ActiveFactor, PairGram
from tests.refusals import refuses

ITEMS = 12


def random_gram(seed, items=ITEMS):
    """The matrix of a random tree of pairs over gaussian points, nonsingular, and P K Pᵀ written out."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(items, items + 2))
    pairs = np.array([(i, rng.integers(i)) for i in range(1, items)])
    P = np.eye(items)[pairs[:, 0]] - np.eye(items)[pairs[:, 1]]
    return PairGram.of(X @ X.T, pairs), P @ X @ X.T @ P.T


def assert_factor_of(factor, Q):
    """R is an upper triangle and Rᵀ R the block of the active pairs."""
    assert np.array_equal(factor.R, np.triu(factor.R))
    assert_allclose(factor.R.T @ factor.R, Q[np.ix_(factor.active, factor.active)], rtol=1e-11, atol=1e-11)


class TestPairGram:
    @given(seed=st.integers(0, 10**6))
    @settings(max_examples=20)
    def test_products_and_blocks_are_those_of_the_matrix_written_out(self, seed):
        gram, Q = random_gram(seed)
        alpha = np.random.default_rng(seed).uniform(size=len(gram))
        assert_allclose(gram.product(alpha), Q @ alpha, rtol=1e-10, atol=1e-10)
        assert_allclose(gram.block([3, 0], [1, 2, 3]), Q[np.ix_([3, 0], [1, 2, 3])], atol=1e-12)

    @pytest.mark.parametrize(
        ("K", "wrong"),
        [
            (np.ones((2, 3)), {"argument": "K", "found": "shape (2, 3)"}),
            ([[1.0, np.nan], [np.nan, 1.0]], {"argument": "K", "found": "nan"}),
            ([[1.0, 0.5], [0.4, 1.0]], {"argument": "K", "found": "a difference from its transpose of 0.1"}),
            ([[1.0, 2.0], [2.0, 1.0]], {"argument": "K", "found": "the eigenvalue -1"}),
            ([["a", "b"], ["c", "d"]], {"argument": "K", "found": "<U1"}),
        ],
    )
    def test_a_matrix_that_is_no_gram_matrix_is_named(self, K, wrong):
        with refuses(DataError, **wrong):
            PairGram.of(K, [(0, 1)])

    @pytest.mark.parametrize(
        ("pairs", "wrong"),
        [
            ([0, 1], {"argument": "pairs", "expected": "m x 2, preferred item first"}),
            (np.empty((0, 2), dtype=int), {"argument": "pairs", "expected": "m x 2, preferred item first"}),
            ([(0.0, 1.0)], {"argument": "pairs", "found": "float64"}),
            ([(0, 2)], {"argument": "pairs", "found": "0..2"}),
            ([(-1, 0)], {"argument": "pairs", "found": "-1..0"}),
            ([(0, 1), (1, 1)], {"argument": "pairs[1]", "found": "1"}),
        ],
    )
    def test_pairs_that_make_no_sense_are_named(self, pairs, wrong):
        with refuses(DataError, **wrong):
            PairGram.of(np.eye(2), pairs)


class TestActiveFactor:
    @given(seed=st.integers(0, 10**6), moves=st.lists(st.integers(0, ITEMS - 2), max_size=40))
    @settings(max_examples=40)
    def test_updated_factor_agrees_with_a_fresh_one(self, seed, moves):
        gram, Q = random_gram(seed)
        factor = ActiveFactor.fresh(gram, [])
        for pair in moves:
            factor = factor.left(pair) if pair in factor.active else factor.entered(gram, pair)
            assert_factor_of(factor, Q)
        fresh = ActiveFactor.fresh(gram, factor.active)
        assert_allclose(np.abs(np.diag(factor.R)), np.abs(np.diag(fresh.R)), rtol=1e-9)

    @given(seed=st.integers(0, 10**6), size=st.integers(0, ITEMS - 1))
    @settings(max_examples=20)
    def test_solve_solves_the_active_system(self, seed, size):
        gram, Q = random_gram(seed)
        factor = ActiveFactor.fresh(gram, range(size))
        assert_allclose(Q[:size, :size] @ factor.solve(np.ones(size)), np.ones(size), atol=1e-9)

    def test_a_duplicate_is_dependent_and_cannot_enter(self):
        gram = PairGram.of(np.eye(3), [(0, 1), (1, 2), (0, 1)])
        factor = ActiveFactor.fresh(gram, [0, 1])
        assert factor.is_dependent(gram, 2)
        with pytest.raises(LinAlgError):
            factor.entered(gram, 2)
        with pytest.raises(LinAlgError):
            ActiveFactor.fresh(gram, [0, 1, 2])

    def test_a_pair_of_another_edge_is_independent(self):
        gram = PairGram.of(np.eye(4), [(0, 1), (1, 2), (2, 3)])
        assert not ActiveFactor.fresh(gram, [0, 1]).is_dependent(gram, 2)

    def test_the_pair_of_an_item_with_its_copy_is_dependent_on_nothing(self):
        gram = PairGram.of(np.ones((2, 2)), [(0, 1)])
        assert ActiveFactor.fresh(gram, []).is_dependent(gram, 0)
