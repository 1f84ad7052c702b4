"""system: products, blocks and diagonals of every structure are those of one matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.systems import FEW, SEEDS, SYSTEMS, dense, mixed

EVERY_SYSTEM = pytest.mark.parametrize("kind", SYSTEMS)


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS, data=st.data())
def test_blocks_and_products_of_chosen_items_are_those_of_the_matrix(kind, seed, data):
    system = SYSTEMS[kind](seed)
    M, item = dense(system), st.integers(0, system.size - 1)
    rows, columns = (
        np.array(data.draw(st.lists(item, unique=True, max_size=system.size)), dtype=np.int64)
        for _ in range(2)
    )
    for shape in ((len(columns),), (len(columns), 2)):
        values = np.random.default_rng(seed).normal(size=shape)
        assert np.allclose(system.product(columns, values), M[:, columns] @ values)
    assert np.allclose(system.block(rows, columns), M[np.ix_(rows, columns)])
    for column in columns.tolist():
        assert np.allclose(system.column(column), M[:, column])


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS)
def test_whole_products_and_diagonal_are_those_of_the_matrix(kind, seed):
    system = SYSTEMS[kind](seed)
    M, everything = dense(system), np.arange(system.size)
    assert M.shape == (system.size, system.size)
    assert np.allclose(system.block(everything, everything), M)
    for shape in ((system.size,), (system.size, 2)):
        vector = np.random.default_rng(seed).normal(size=shape)
        assert np.allclose(system.times(vector), M @ vector)
    assert np.allclose(system.diagonal(), np.diag(M))


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS)
def test_signs_make_the_matrix_symmetric_and_it_is_positive_semidefinite(kind, seed):
    system = SYSTEMS[kind](seed)
    M = dense(system)
    signed = system.signs[:, None] * M
    assert set(system.signs) <= {1.0, -1.0}
    if system.B is not None:
        assert ((system.signs < 0) == system.is_row).all()
    assert np.allclose(signed, signed.T)
    assert np.linalg.eigvalsh(M + M.T).min() >= -1e-9


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS)
def test_entries_are_the_signed_matrix_where_all_parts_are_sparse(kind, seed):
    system = SYSTEMS[kind](seed)
    all_sparse = all(part.entries() is not None for part in (system.H, system.G) if part is not None)
    assert (system.entries is not None) == (all_sparse and not isinstance(system.B, np.ndarray))
    if system.entries is not None:
        assert np.allclose(system.entries.toarray(), system.signs[:, None] * dense(system))


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS)
def test_scaled_matrix_is_d_m_d(kind, seed):
    system = SYSTEMS[kind](seed)
    d = 2.0 ** np.random.default_rng(seed).integers(-3, 4, system.size)
    assert np.allclose(dense(system.scaled(d)), d[:, None] * dense(system) * d)


@pytest.mark.parametrize("sparse", [False, True])
def test_coupling_is_the_size_of_the_entries_between_rows_and_variables(sparse):
    system = mixed(4, 3, 7, sparse=sparse)
    assert np.allclose(system.coupling().toarray(), np.abs(dense(system)[4:, :4]))


@pytest.mark.parametrize("kind", ["variables only", "rows only"])
def test_nothing_is_coupled_where_there_is_one_operator(kind):
    system = SYSTEMS[kind](7)
    assert system.coupling().shape == (system.size - system.variables, system.variables)
    assert system.coupling().nnz == 0
    assert system.single is (system.G if system.H is None else system.H)
