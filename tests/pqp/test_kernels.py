"""kernels: parts of every structure, whole or restricted, are the matrices they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import pqp
from pqp.hessian import Matrix
from pqp.kernels import product_of, restricted
from tests.walking import FEW, SEEDS, positive

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
