"""structure: rows fall into groups where they do, and blocks are used only where they are regular."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from pqp.linalg.structure import (
    GROUPED,
    SPARSE_FACTORED,
    grouped_block,
    grouped_rows,
    groups_by_size,
    sparse_factor_part,
)
from pqp.linalg.tolerances import SHARED_EXCESS
from tests.systems import FEW, SEEDS, pool

NO_DIAGONAL = np.empty(0)
OWNERS = np.repeat(np.arange(10), 4)


def random_rows(seed):
    return np.random.default_rng(seed).integers(-1, 2, (len(OWNERS), 3))


@FEW
@given(seed=SEEDS, order=st.randoms(use_true_random=False), share=st.sampled_from((0.1, 1.0, 5.0)))
def test_rows_of_a_pool_are_grouped_by_their_owners_in_whatever_order_they_come(seed, order, share):
    owner = OWNERS.copy()
    order.shuffle(owner)
    X = random_rows(seed)
    part = pool(X, owner, share=share).part
    assert (part.kind, part.shared) == (GROUPED, 3)
    for group in range(len(part.second)):
        rows = np.flatnonzero(part.first == group)
        assert len(set(owner[rows])) == 1
        assert np.linalg.matrix_rank(X[rows]) <= part.second[group] <= len(rows)


@FEW
@given(seed=SEEDS, with_diagonal=st.booleans())
def test_grouped_part_is_the_matrix_of_its_factor(seed, with_diagonal):
    random = np.random.default_rng(seed)
    diagonal = random.integers(0, 3, len(OWNERS)).astype(float) if with_diagonal else None
    gram = pool(random_rows(seed), OWNERS, diagonal)
    F, part = gram.F.toarray(), gram.part
    whole = F @ F.T + (0.0 if diagonal is None else np.diag(diagonal))
    rows, columns = random.permutation(len(F))[:7], random.permutation(len(F))[:9]
    assert part.kind == GROUPED
    assert np.allclose(grouped_block(part, rows, columns), whole[np.ix_(rows, columns)])


def test_rows_about_what_is_shared_alone_are_not_solved_through_blocks():
    """Their block is 0, and singular, where the whole matrix is not."""
    F = np.vstack([pool(random_rows(0), OWNERS).F.toarray(), [[1.0, 0, 0] + [0] * 30]])
    assert grouped_rows(csr_array(F), NO_DIAGONAL) is None
    assert sparse_factor_part(csr_array(F), np.ones(33), NO_DIAGONAL).kind == SPARSE_FACTORED
    assert grouped_rows(csr_array(F), np.ones(len(F))) is not None


@pytest.mark.parametrize(("ratio", "is_grouped"), [(0.9, True), (1.1, False)])
def test_what_is_shared_may_outweigh_what_is_a_groups_own_by_so_much_and_no_more(ratio, is_grouped):
    share = np.sqrt(ratio * SHARED_EXCESS)
    assert (pool(random_rows(1), OWNERS, share=share).part.kind == GROUPED) is is_grouped


@pytest.mark.parametrize(
    "F",
    [
        np.eye(4),
        np.ones((40, 3)),
        np.eye(40)[:, :20] + np.eye(40, k=1)[:, :20],
        np.random.default_rng(0).integers(-1, 2, (40, 30)),
    ],
    ids=["few rows", "one group", "a chain and empty rows", "dense"],
)
def test_factor_without_many_groups_stays_as_it_is(F):
    part = sparse_factor_part(csr_array(F.astype(float)), np.ones(F.shape[1]), NO_DIAGONAL)
    assert part.kind == SPARSE_FACTORED


def test_weighted_factor_stays_as_it_is():
    F = pool(random_rows(0), OWNERS).F
    assert sparse_factor_part(F, np.full(F.shape[1], 2.0), NO_DIAGONAL).kind == SPARSE_FACTORED


@FEW
@given(group=st.lists(st.integers(0, 5), max_size=20))
def test_every_item_is_in_one_row_beside_those_of_its_group_alone(group):
    group = np.array(group, dtype=np.int64)
    found = [row for rows in groups_by_size(group) for row in rows.tolist()]
    assert sorted(item for row in found for item in row) == list(range(len(group)))
    assert all(len(set(group[row])) == 1 for row in found)
    assert len(found) == len(set(group.tolist()))
