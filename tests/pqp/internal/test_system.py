"""system: products, blocks and diagonals of every structure are those of one matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqp.linalg.products import column_of, system_product
from tests.systems import FEW, SEEDS, SYSTEMS, dense

EVERY_SYSTEM = pytest.mark.parametrize("kind", SYSTEMS)


def columns_of(system):
    """M by products with unit vectors, which form no block."""
    unit = np.eye(system.size)
    return np.hstack([system.times(unit[:, [j, j]])[:, :1] for j in range(system.size)])


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS, data=st.data())
def test_blocks_and_products_of_chosen_items_are_those_of_the_matrix(kind, seed, data):
    system = SYSTEMS[kind](seed)
    M, item = columns_of(system), st.integers(0, system.size - 1)
    rows, columns = (
        np.array(data.draw(st.lists(item, unique=True, max_size=system.size)), dtype=np.int64)
        for _ in range(2)
    )
    values = np.random.default_rng(seed).normal(size=(len(columns), 2))
    assert np.allclose(system.block(rows, columns), M[np.ix_(rows, columns)])
    assert np.allclose(system_product(system.form, system.size, columns, values), M[:, columns] @ values)
    for column in columns.tolist():
        assert np.allclose(column_of(system.form, rows, column), M[rows, column])


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS)
def test_whole_products_and_diagonal_are_those_of_the_matrix(kind, seed):
    system = SYSTEMS[kind](seed)
    vector = np.random.default_rng(seed).normal(size=(system.size, 2))
    assert np.allclose(dense(system), columns_of(system))
    assert np.allclose(system.times(vector), dense(system) @ vector)
    assert np.allclose(system.diagonal(), np.diag(dense(system)))


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS)
def test_signs_make_the_matrix_symmetric_and_it_is_positive_semidefinite(kind, seed):
    system = SYSTEMS[kind](seed)
    M = dense(system)
    signed = system.signs[:, None] * M
    assert set(system.signs) <= {1.0, -1.0}
    assert np.allclose(signed, signed.T)
    assert np.linalg.eigvalsh(M + M.T).min() >= -1e-9


def test_matrix_is_the_one_of_the_definition():
    """M = [[H, −Bᵀ], [B, G]]."""
    system = SYSTEMS["dense"](3)
    H, B, G = system.H.values, system.B, system.G.values
    assert np.array_equal(dense(system), np.block([[H, -B.T], [B, G]]))


def test_scaled_matrix_is_d_m_d():
    system = SYSTEMS["scaled"](5)
    assert np.allclose(dense(system), system.d[:, None] * dense(system.system) * system.d)
