"""presolve: G and w are what the equations of the eliminated variables say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from scipy.sparse import eye_array as identity

import pqp
from pqp.revised.presolve import Elimination, presolve
from tests.systems import FEW, SEEDS, positive

ROWS = 5
# How many columns, whether A is sparse, and what P_E is; a full one comes with a dense A only.
KINDS = {
    f"{columns} columns, {'sparse' if sparse else 'dense'}, {block}": (columns, sparse, block)
    for columns in (2, 7)
    for sparse in (False, True)
    for block in ("diagonal", "identity", *(() if sparse else ("full",)))
}


def case(kind, seed):
    """An elimination, its columns of A, P_E and c_E."""
    columns, sparse, block = KINDS[kind]
    random = np.random.default_rng(seed)
    A = random.integers(-2, 3, (ROWS, columns)).astype(float)
    P = {
        "full": positive(random, columns).astype(float),
        "diagonal": np.diag(2.0 ** random.integers(-2, 3, columns)),
        "identity": np.eye(columns),
    }[block]
    kept, inverse = (P, np.linalg.inv(P)) if block == "full" else (np.diag(P), 1 / np.diag(P))
    cost = random.integers(-2, 3, (columns, 2)).astype(float)
    given_A = csr_array(A) if sparse else A
    return Elimination(np.arange(columns), given_A, kept, inverse, cost), A, P, cost


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(seed=SEEDS, data=st.data())
def test_operator_is_a_p_inverse_a(kind, seed, data):
    elimination, A, P, _ = case(kind, seed)
    G = A @ np.linalg.solve(P, A.T)
    item = st.integers(0, ROWS - 1)
    rows, columns = (np.array(data.draw(st.lists(item, unique=True)), dtype=np.int64) for _ in range(2))
    values = np.random.default_rng(seed).normal(size=(len(columns), 2))
    vector = np.random.default_rng(seed).normal(size=(ROWS, 2))
    assert elimination.size == ROWS
    assert np.allclose(elimination.operator.block(rows, columns), G[np.ix_(rows, columns)])
    assert np.allclose(elimination.operator.product(columns, values), G[:, columns] @ values)
    assert np.allclose(elimination.operator.times(vector), G @ vector)
    assert np.allclose(elimination.operator.diagonal(), np.diag(G))


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(seed=SEEDS)
def test_variables_are_stationary_and_rows_see_them_through_the_operator(kind, seed):
    """P_E w + c_E − A_Eᵀy = 0, and A_E w = G y + r."""
    elimination, A, P, cost = case(kind, seed)
    y = np.random.default_rng(seed).normal(size=(ROWS, 2))
    w = elimination.variables_at(y)
    assert np.allclose(P @ w + cost - A.T @ y, 0)
    assert np.allclose(A @ w, elimination.operator.times(y) + elimination.offset())
    assert np.allclose(P @ elimination.solved(w), w)


@pytest.mark.parametrize(("entries", "is_kept_sparse"), [(2, True), (20, False)])
def test_sparse_columns_with_many_entries_are_eliminated_as_a_dense_factor(entries, is_kept_sparse):
    """An event reads single columns of the factor, which takes far longer in a sparse one."""
    rows = np.zeros((30, 40))
    for i, row in enumerate(rows):
        row[(i + np.arange(entries)) % 40] = 1.0
    problem = pqp.ParametricQP(identity(40), np.ones(40), A=csr_array(rows), row_lower=pqp.mu)
    elimination = presolve(problem).elimination
    assert issparse(elimination.columns) == is_kept_sparse
    assert np.array_equal(elimination.operator.block(np.arange(30), np.arange(30)), rows @ rows.T)
