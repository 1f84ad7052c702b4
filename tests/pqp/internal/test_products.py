"""kernels: parts of every structure, whole or restricted, are the matrices they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import pqp
from pqp.linalg.products import add_products, product_of
from pqp.linalg.structure import NO_PART, factored_part, form_of, is_low_rank, restricted
from pqp.model.hessian import Matrix
from tests.systems import FEW, SEEDS, positive

SIZE = 6
PAIRS = [(0, 1), (2, 3), (4, 5), (5, 0), (3, 1), (2, 0)]
HESSIANS = {
    "dense": lambda random: Matrix(positive(random, SIZE)),
    "sparse": lambda random: Matrix(csr_array(positive(random, SIZE))),
    "factored": lambda random: pqp.Gram(random.integers(-2, 3, (SIZE, 2)), np.ones(SIZE)),
    "sparse factored": lambda random: pqp.Gram(csr_array(random.integers(-1, 2, (SIZE, 3)))),
    "paired": lambda random: pqp.PairGram(positive(random, SIZE), PAIRS),
}
SOME = st.lists(st.integers(0, SIZE - 1), unique=True, min_size=1)


@pytest.mark.parametrize("kind", HESSIANS)
@FEW
@given(seed=SEEDS, kept=SOME, data=st.data())
def test_restricted_part_is_the_block_of_the_kept_items(kind, seed, kept, data):
    hessian = HESSIANS[kind](np.random.default_rng(seed))
    everything, kept = np.arange(SIZE), np.array(kept)
    block = hessian.block(everything, everything)[np.ix_(kept, kept)]
    part = restricted(hessian.part, kept)
    moved = np.array(data.draw(st.lists(st.integers(0, len(kept) - 1), unique=True)), dtype=np.int64)
    values = np.random.default_rng(seed).normal(size=(len(moved), 3))
    assert np.allclose(product_of(part, len(kept), moved, values), block[:, moved] @ values)
    assert np.allclose(product_of(part, len(kept), moved, values[:, 0]), block[:, moved] @ values[:, 0])


@pytest.mark.parametrize("kind", HESSIANS)
@FEW
@given(seed=SEEDS, moved=SOME, still=st.sampled_from((None, 0, 1)))
def test_two_products_at_once_are_both_products(kind, seed, moved, still):
    random = np.random.default_rng(seed)
    hessian, moved, everything = HESSIANS[kind](random), np.array(moved), np.arange(SIZE)
    form, values, out = (
        form_of(SIZE, hessian.part, NO_PART, None),
        random.normal(size=(2, len(moved))),
        np.ones((2, SIZE)),
    )
    if still is not None:
        values[still] = 0.0
    add_products(form, moved, values, out)
    assert np.allclose(out, 1.0 + values @ hessian.block(everything, everything)[moved])


@pytest.mark.parametrize("rows", [1, 511, 512, 1500])
def test_sums_of_many_rows_leave_none_out(rows):
    random = np.random.default_rng(rows)
    F, values, out = random.normal(size=(rows, 3)), random.normal(size=(2, rows)), np.zeros((2, rows))
    form = form_of(rows, factored_part(F, F, np.empty(0)), NO_PART, None)
    add_products(form, np.arange(rows), values, out)
    assert np.allclose(out, values @ F @ F.T)


@pytest.mark.parametrize("kind", HESSIANS)
def test_only_products_of_dense_factors_are_thin(kind):
    part = HESSIANS[kind](np.random.default_rng(0)).part
    assert is_low_rank(form_of(SIZE, part, NO_PART, None), SIZE) == (kind == "factored")
    assert is_low_rank(form_of(0, NO_PART, part, None), SIZE) == (kind == "factored")
    assert not is_low_rank(form_of(SIZE, part, NO_PART, np.ones((2, SIZE))), SIZE + 2)
