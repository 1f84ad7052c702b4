"""operators: what every structure answers is what its matrix says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

from pqp.linalg.operators import DenseOperator, LowRankOperator, SparseOperator, operator_of
from tests.systems import FEW, OPERATORS, SEEDS, entries_of

EVERY_OPERATOR = pytest.mark.parametrize("kind", OPERATORS)


def some_of(data, size):
    """A few of the items, in any order."""
    return np.array(data.draw(st.lists(st.integers(0, size - 1), unique=True)), dtype=np.int64)


def assert_is(operator, H):
    """All that an operator answers, against its matrix."""
    size, random = len(H), np.random.default_rng(0)
    everything = np.arange(size)
    assert operator.size == size
    assert np.allclose(operator.block(everything, everything), H)
    assert np.allclose(operator.diagonal(), np.diag(H))
    for shape in ((size,), (size, 3)):
        values = random.normal(size=shape)
        assert np.allclose(operator.times(values), H @ values)
        assert np.allclose(operator.product(everything, values), H @ values)
    entries = operator.entries()
    assert entries is None or np.allclose(entries.toarray(), H)


@EVERY_OPERATOR
@FEW
@given(seed=SEEDS)
def test_answers_are_those_of_the_matrix(kind, seed):
    operator = OPERATORS[kind](seed)
    assert_is(operator, entries_of(operator))


@EVERY_OPERATOR
@pytest.mark.parametrize("columns", [(), (2,)], ids=["vector", "block"])
@FEW
@given(seed=SEEDS, data=st.data())
def test_chosen_items_give_that_part_of_the_matrix(kind, columns, seed, data):
    operator = OPERATORS[kind](seed)
    H, rows, chosen = entries_of(operator), *(some_of(data, operator.size) for _ in range(2))
    values = np.random.default_rng(seed).normal(size=(len(chosen), *columns))
    found = operator.product(chosen, values)
    assert found.shape == (operator.size, *columns)
    assert np.allclose(found, H[:, chosen] @ values)
    block = operator.block(rows, chosen)
    assert isinstance(block, np.ndarray)
    assert np.allclose(block, H[np.ix_(rows, chosen)])


@EVERY_OPERATOR
@FEW
@given(seed=SEEDS, data=st.data())
def test_restricted_operator_is_the_block_with_the_same_structure(kind, seed, data):
    operator, items = OPERATORS[kind](seed), some_of(data, OPERATORS[kind](seed).size)
    part = operator.restricted(items)
    assert type(part) is type(operator)
    assert_is(part, entries_of(operator)[np.ix_(items, items)])


@EVERY_OPERATOR
@FEW
@given(seed=SEEDS)
def test_scaled_operator_is_the_matrix_between_units_with_the_same_structure(kind, seed):
    operator = OPERATORS[kind](seed)
    units = 2.0 ** np.random.default_rng(seed).integers(-3, 4, operator.size)
    scaled = operator.scaled(units)
    assert type(scaled) is type(operator)
    assert_is(scaled, units[:, None] * entries_of(operator) * units)
    assert_is(scaled.scaled(units), units[:, None] ** 2 * entries_of(operator) * units**2)


@EVERY_OPERATOR
@FEW
@given(seed=SEEDS, data=st.data())
def test_units_and_restriction_may_come_in_either_order(kind, seed, data):
    operator = OPERATORS[kind](seed)
    items, units = some_of(data, operator.size), 2.0 ** np.arange(operator.size)
    wanted = (units[:, None] * entries_of(operator) * units)[np.ix_(items, items)]
    assert_is(operator.scaled(units).restricted(items), wanted)
    assert_is(operator.restricted(items).scaled(units[items]), wanted)


@pytest.mark.parametrize("chosen", [1, 5, 30])
def test_product_with_few_and_with_many_columns_is_the_same(chosen):
    """Few columns of a large dense matrix are copied; many are not."""
    random = np.random.default_rng(chosen)
    F = random.normal(size=(40, 40))
    items, operator = random.permutation(40)[:chosen], DenseOperator(F @ F.T)
    values = random.normal(size=(chosen, 2))
    assert np.allclose(operator.product(items, values), (F @ F.T)[:, items] @ values)


def test_sparse_matrices_and_products_of_sparse_factors_have_entries():
    for kind, make in OPERATORS.items():
        entries = make(1).entries()
        assert issparse(entries) == kind.startswith("sparse"), kind
        if entries is not None:
            assert np.allclose(entries.toarray(), entries_of(make(1)))


def test_sparse_factors_with_a_full_column_are_not_multiplied_out():
    """Their product would be dense."""
    F = csr_array(np.eye(100) + np.outer(np.ones(100), np.eye(100)[0]))
    assert LowRankOperator(F, F).entries() is None


def test_entries_become_the_operator_of_their_kind():
    assert isinstance(operator_of(np.eye(2)), DenseOperator)
    assert isinstance(operator_of(csr_array(np.eye(2))), SparseOperator)
