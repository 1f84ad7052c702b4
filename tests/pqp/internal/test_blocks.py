"""blocks: U Uᵀ + B is the matrix, B is zero between groups, and what has no such form is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, diags_array

from pqp.linalg.blocks import MOST_COUPLING
from pqp.linalg.operators import LowRankOperator
from pqp.linalg.system import System
from tests.systems import FEW, OPERATORS, SEEDS, dense, entries_of, factor_model, mixed, pooled


def assert_stands_for(blocks, S):
    """S by its blocks: B within groups, U, and the columns of rows."""
    U, rows = np.split(blocks.coupling, [blocks.shared], axis=1)
    same = np.equal.outer(blocks.group, blocks.group)
    B = same * (blocks.own @ blocks.own.T + np.diag(blocks.added))
    n = len(S) - blocks.rows
    found = U @ U.T + B
    found[:, n:] += rows
    found[n:, :n] += rows[:n].T
    assert np.allclose(found, S)


def shuffled(operator, seed):
    """The same matrix with its items in another order, and the columns of its factor too."""
    random = np.random.default_rng(seed)
    F = operator.left[random.permutation(operator.size)][:, random.permutation(operator.width)]
    return LowRankOperator(csr_array(F), csr_array(F), operator.added)


@FEW
@given(seed=SEEDS, owners=st.integers(8, 12), rows=st.integers(2, 4), added=st.booleans())
def test_groups_of_a_pool_are_found_in_any_order(seed, owners, rows, added):
    operator = shuffled(pooled(owners, rows, seed, added), seed)
    blocks = operator.coupled_blocks()
    assert_stands_for(blocks, entries_of(operator))
    assert len(np.unique(blocks.group)) == owners
    assert blocks.shared <= 2


@FEW
@given(seed=SEEDS, added=st.booleans(), even=st.booleans())
def test_products_of_a_pool_are_those_of_the_matrix(seed, added, even):
    """Groups of about equal sizes are multiplied as small dense matrices, others as sparse ones."""
    random = np.random.default_rng(seed)
    operator = pooled(30, 3, seed, added)
    kept = np.arange(90) if even else np.append(np.arange(3), np.arange(3, 90, 3))
    operator = shuffled(operator.restricted(random.permutation(kept)), seed)
    H, items = entries_of(operator), random.permutation(operator.size)[: operator.size // 2]
    assert operator.coupled_blocks().is_even == even
    for shape in ((len(items),), (len(items), 3)):
        values = random.normal(size=shape)
        assert np.allclose(operator.product(items, values), H[:, items] @ values)


@FEW
@given(seed=SEEDS, m=st.integers(0, 3))
def test_every_item_of_a_factor_model_is_a_group(seed, m):
    system = factor_model(6, m, seed)
    assert_stands_for(system.blocks, system.signs[:, None] * dense(system))
    assert len(np.unique(system.blocks.group)) == 6 + m


@FEW
@given(seed=SEEDS)
def test_columns_may_have_weights_on_one_side(seed):
    """As after the elimination of free variables, whose curvature weighs their columns."""
    pool, weights = pooled(8, 3, seed).left, np.random.default_rng(seed).uniform(0.1, 3, 18)
    operators = [
        LowRankOperator(csr_array(pool @ diags_array(weights)), pool),
        LowRankOperator(
            OPERATORS["weighted low rank"](seed).left, OPERATORS["low rank"](seed).left, np.ones(6)
        ),
    ]
    for operator in operators:
        assert_stands_for(operator.coupled_blocks(), entries_of(operator))


def test_rows_couple_the_blocks_of_a_pool():
    system = System(pooled(8, 3, 0), mixed(24, 2, 0).B)
    assert_stands_for(system.blocks, system.signs[:, None] * dense(system))


class TestNoBlocks:
    @pytest.mark.parametrize("kind", ["dense", "sparse", "pairs", "low rank", "sparse low rank"])
    def test_other_structures_have_none(self, kind):
        """A factor without a diagonal has none, a sparse one only if its rows fall into groups."""
        assert OPERATORS[kind](0).coupled_blocks() is None

    def test_sides_that_are_not_multiples_have_none(self):
        left, right = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 1.0], [1.0, 1.0]])
        assert LowRankOperator(left, right, np.ones(2)).coupled_blocks() is None

    def test_wide_coupling_has_none(self):
        F = np.ones((3, MOST_COUPLING + 1))
        assert LowRankOperator(F, F, np.ones(3)).coupled_blocks() is None
        F = F[:, :MOST_COUPLING]
        system = System(LowRankOperator(F, F, np.ones(3)), np.ones((1, 3)))
        assert system.H.coupled_blocks() is not None
        assert system.blocks is None

    def test_few_large_groups_have_none(self):
        assert pooled(4, 10, 0).coupled_blocks() is None

    def test_an_empty_matrix_has_none(self):
        F = np.zeros((0, 2))
        assert LowRankOperator(F, F, np.zeros(0)).coupled_blocks() is None

    def test_a_lower_block_besides_has_none(self):
        system = factor_model(6, 2, 0)
        assert System(system.H, system.B, mixed(6, 2, 0).G).blocks is None
