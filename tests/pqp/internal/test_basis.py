"""basis: every kind answers as the inverse of S_RR does, after any changes."""

from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import block_diag, csr_array

import pqp
from pqp.linalg import system as linear_systems
from pqp.linalg.field import FLOAT
from pqp.linalg.operators import DenseOperator, LowRankOperator, SparseOperator
from pqp.linalg.system import System
from pqp.linalg.tolerances import SINGULAR
from pqp.revised import basis_choice
from pqp.revised import trace as revised_trace
from pqp.revised.basis import SingularBasisError
from pqp.revised.basis_choice import basis_of
from pqp.revised.block_basis import BlockBasis
from pqp.revised.dense_basis import DenseBasis
from pqp.revised.sparse_basis import MOST_BORDERS, SparseBasis
from tests.systems import FEW, SEEDS, SYSTEMS, dense, factor_model, mixed, pooled, with_singular_curvature

KINDS = {
    "dense": (DenseBasis, lambda seed: with_singular_curvature(7, 4, seed)),
    "dense, of a sparse system": (DenseBasis, lambda seed: with_singular_curvature(7, 4, seed, sparse=True)),
    "dense, with a lower block": (DenseBasis, lambda seed: mixed(5, 4, seed)),
    "dense, of pairs": (DenseBasis, SYSTEMS["pairs"]),
    "dense, of rows only": (DenseBasis, SYSTEMS["rows only"]),
    "sparse": (SparseBasis, lambda seed: with_singular_curvature(7, 4, seed, sparse=True)),
    "sparse, with a lower block": (SparseBasis, lambda seed: mixed(5, 4, seed, sparse=True)),
    "blocks of one item": (BlockBasis, lambda seed: factor_model(8, 0, seed)),
    "blocks of one item, with rows": (BlockBasis, lambda seed: factor_model(8, 2, seed)),
    "blocks of groups": (BlockBasis, lambda seed: System(pooled(8, 3, seed))),
    "blocks of groups, regular": (BlockBasis, lambda seed: System(pooled(8, 3, seed, added=True))),
    "blocks of groups, with rows": (
        BlockBasis,
        lambda seed: System(pooled(8, 3, seed), mixed(24, 2, seed).B),
    ),
    "blocks of groups, in units": (
        BlockBasis,
        lambda seed: System(pooled(8, 3, seed)).scaled(
            2.0 ** np.random.default_rng(seed).integers(-2, 3, 24)
        ),
    ),
    "sparse, of variables": (SparseBasis, SYSTEMS["a sparse matrix"]),
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
BOTH = pytest.mark.parametrize("factor", [DenseBasis, SparseBasis])
CLOSE = 1e-8
# Integer matrices of this size are singular, or far from it.
REGULAR = 1e7


def symmetric(system):
    """S = J M."""
    return system.signs[:, None] * dense(system)


def is_regular(S, items):
    return not len(items) or np.linalg.cond(S[np.ix_(items, items)]) < REGULAR


def regular_items(S, random):
    """Items of a regular basis, as many as a random order lets in one by one or in pairs."""
    items: list[int] = []
    order = random.permutation(len(S)).tolist()
    for i in order[: random.integers(0, len(S) + 1)]:
        for more in ([i], [i, *(j for j in order if j != i and j not in items)][:2]):
            if not set(more) & set(items) and is_regular(S, [*items, *more]):
                items += more
                break
    return np.array(items, dtype=np.int64)


def assert_factor(basis, S, items):
    """Items, places, solves and directions, against numpy."""
    assert sorted(basis.items.tolist()) == sorted(items)
    R = basis.items
    inverse = np.linalg.inv(S[np.ix_(R, R)])
    scale = CLOSE * (1 + np.abs(inverse).max(initial=0.0)) ** 2 * np.abs(S).max()
    for shape in ((len(R),), (len(R), 3)):
        right = np.random.default_rng(0).normal(size=shape)
        assert np.allclose(basis.solve(right), inverse @ right, atol=scale)
    for item in range(len(S)):
        place, direction = basis.place(item), basis.direction(item)
        if item in R:
            assert R[place] == item
            assert np.allclose(direction.steps, inverse[:, place], atol=scale)
            assert direction.pivot == pytest.approx(inverse[place, place], abs=scale)
        else:
            assert place == -1
            assert np.allclose(direction.steps, [*(-inverse @ S[R, item]), 1.0], atol=scale)
            wanted = S[item, item] - S[item, R] @ inverse @ S[R, item]
            assert direction.pivot == pytest.approx(wanted, abs=scale)


@EVERY_KIND
@FEW
@given(seed=SEEDS)
def test_fresh_factor_is_that_of_its_items(kind, seed):
    factor, make = KINDS[kind]
    system = make(seed)
    S = symmetric(system)
    items = regular_items(S, np.random.default_rng(seed))
    assert_factor(factor(system, items), S, items.tolist())


@EVERY_KIND
@FEW
@given(seed=SEEDS, data=st.data())
def test_factor_stays_right_through_any_changes(kind, seed, data):
    """Single items, exchanges and blocks, whatever their own pivots are."""
    factor, make = KINDS[kind]
    system = make(seed)
    S = symmetric(system)
    items = regular_items(S, np.random.default_rng(seed)).tolist()
    basis = factor(system, np.array(items, dtype=np.int64))
    for _ in range(data.draw(st.integers(1, 10))):
        moved = data.draw(st.lists(st.integers(0, len(S) - 1), min_size=1, max_size=4, unique=True))
        entering, leaving = [i for i in moved if i not in items], [i for i in moved if i in items]
        after = [i for i in items if i not in leaving] + entering
        if not is_regular(S, after):
            continue
        items = after
        basis.change(entering, leaving)
        assert_factor(basis, S, items)


@EVERY_KIND
@FEW
@given(seed=SEEDS)
def test_direction_that_is_known_need_not_be_computed_again(kind, seed):
    factor, make = KINDS[kind]
    system, random = make(seed), np.random.default_rng(seed)
    S = symmetric(system)
    items = regular_items(S, random).tolist()
    basis = factor(system, np.array(items, dtype=np.int64))
    for item in random.permutation(len(S)).tolist():
        after = [i for i in items if i != item] if item in items else [*items, item]
        if is_regular(S, after):
            lists = ([], [item]) if item in items else ([item], [])
            basis.change(*lists, basis.direction(item))
            items = after
    assert_factor(basis, S, items)


def linear_program(sparse):
    """min cᵀx over x₀ + 2x₁ + 3x₂ = b: x₀ and the row are solved for, and every 1 × 1 pivot is zero."""
    H, B = np.zeros((3, 3)), np.array([[1.0, 2.0, 3.0]])
    return System(SparseOperator(csr_array(H)), csr_array(B)) if sparse else System(DenseOperator(H), B)


@BOTH
def test_exchange_in_a_linear_program_works_where_both_single_pivots_are_zero(factor):
    system = linear_program(sparse=factor is SparseBasis)
    basis, S = factor(system, np.array([0, 3])), symmetric(system)
    assert basis.direction(0).pivot == basis.direction(1).pivot == 0
    for entering, leaving in ((1, 0), (2, 1), (0, 2)):
        basis.change([entering], [leaving])
        assert_factor(basis, S, [entering, 3])


def long_system(seed, copies=30):
    """Many small systems side by side, sparse: 90 variables with 60 rows."""
    parts = [mixed(3, 2, seed + k, sparse=True, lower_block=False) for k in range(copies)]
    H = csr_array(block_diag([part.H.values for part in parts]))
    return System(SparseOperator(H), csr_array(block_diag([part.B for part in parts])))


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_more_changes_than_a_border_holds_are_carried(factor, seed):
    system, random = long_system(seed), np.random.default_rng(seed)
    S = symmetric(system)
    items = list(range(90))
    basis = factor(system, np.array(items))
    done = 0
    while done < 3 * MOST_BORDERS:
        moved = random.choice(90, size=random.integers(1, 4), replace=False).tolist()
        entering, leaving = [i for i in moved if i not in items], [i for i in moved if i in items]
        items = [i for i in items if i not in leaving] + entering
        basis.change(entering, leaving)
        done += len(moved)
        assert sorted(basis.items.tolist()) == sorted(items)
        right = random.normal(size=len(items))
        R = basis.items
        assert np.allclose(S[np.ix_(R, R)] @ basis.solve(right), right, atol=1e-7)
    assert_factor(basis, S, items)


@BOTH
def test_changes_are_counted_since_the_last_factorisation(factor):
    system = mixed(6, 2, 0, sparse=True)
    basis = factor(system, np.arange(4))
    basis.change([4], [])
    basis.change([5], [0])
    assert basis.changes == 3
    basis.factorise(np.arange(6))
    assert basis.changes == 0


def copied(sparse):
    """Two variables and their copies, and a row with a copy."""
    H = np.tile([[2.0, 1.0], [1.0, 3.0]], (2, 2)) / 3
    B = np.tile([[1.0, 2.0]], (2, 2))
    return System(SparseOperator(csr_array(H)), csr_array(B)) if sparse else System(DenseOperator(H), B)


class TestDependentItems:
    @BOTH
    @pytest.mark.parametrize("items", [[0, 2], [0, 1, 2, 3], [0, 1, 4, 5], [4]], ids=str)
    def test_singular_items_are_refused(self, factor, items):
        with pytest.raises(SingularBasisError) as caught:
            factor(copied(sparse=factor is SparseBasis), np.array(items))
        assert caught.value.setting == ("arithmetic", "exact")

    @BOTH
    @pytest.mark.parametrize("entering", [[2, 3], [1, 2], [4, 5]], ids=str)
    def test_block_that_makes_the_basis_singular_is_refused(self, factor, entering):
        basis = factor(copied(sparse=factor is SparseBasis), np.array([0]))
        with pytest.raises(SingularBasisError):
            basis.change(entering, [])

    @BOTH
    @pytest.mark.parametrize("item", [2, 3])
    def test_pivot_of_an_item_that_depends_on_the_others_is_zero(self, factor, item):
        direction = factor(copied(sparse=factor is SparseBasis), np.array([0, 1])).direction(item)
        assert abs(direction.pivot) <= SINGULAR * direction.size

    @BOTH
    def test_copies_may_be_exchanged(self, factor):
        system = copied(sparse=factor is SparseBasis)
        basis = factor(system, np.array([0, 1]))
        basis.change([2, 3], [0, 1])
        assert_factor(basis, symmetric(system), [2, 3])


class TestChoice:
    def test_small_and_dense_systems_have_a_dense_basis(self):
        for system in (mixed(3, 2, 0), mixed(3, 2, 0, sparse=True)):
            assert isinstance(basis_of(system, np.arange(3)), DenseBasis)

    def test_large_sparse_system_has_a_sparse_basis(self, monkeypatch):
        monkeypatch.setattr(linear_systems, "SMALLEST_SPARSE", 100)
        assert isinstance(basis_of(long_system(0), np.arange(3)), SparseBasis)
        monkeypatch.setattr(linear_systems, "MOST_ENTRIES_PER_ITEM", 1)
        assert isinstance(basis_of(long_system(0), np.arange(3)), DenseBasis)

    def test_coupled_blocks_have_a_block_basis_if_there_are_enough_unknowns(self, monkeypatch):
        system = System(pooled(8, 3, 0, added=True))
        items = np.flatnonzero(system.blocks.added)
        assert isinstance(basis_of(system, items), DenseBasis)
        monkeypatch.setattr(basis_choice, "SMALLEST_BLOCKED", len(items))
        basis = basis_of(system, items)
        assert isinstance(basis, BlockBasis)
        assert basis_of(system, items, basis) is basis
        assert isinstance(basis_of(system, items[1:], basis), DenseBasis)

    def test_blocks_that_determine_few_of_their_items_are_not_used(self, monkeypatch):
        """Without a diagonal of their own, two items of a factor model with two factors are in the border."""
        monkeypatch.setattr(basis_choice, "SMALLEST_BLOCKED", 1)
        H = LowRankOperator(np.eye(3)[:, :2], np.eye(3)[:, :2], np.array([0.0, 0.0, 1.0]))
        assert len(BlockBasis(System(H), np.arange(3)).border) == 2
        assert isinstance(basis_of(System(H), np.arange(3)), DenseBasis)


@BOTH
def test_empty_basis_fills_up(factor):
    system = mixed(4, 3, 1, sparse=True)
    S = symmetric(system)
    basis = factor(system, np.empty(0, dtype=np.int64))
    for item in (3, 5, 0, 6, 1):
        basis.change([item], [])
    assert_factor(basis, S, [3, 5, 0, 6, 1])
    basis.change([], [3, 5, 0, 6, 1])
    assert_factor(basis, S, [])


def choices_of_a_pool(seed):
    """The dual of a pool of 10 respondents with 4 choices each: integer data, so many of them tie."""
    P = pqp.Gram(pooled(10, 4, seed).left)
    return pqp.ParametricQP(P, np.full(40, -1), lower=0, upper=pqp.mu)


def long_short_frontier(seed):
    """Forty assets with three factors, some of them without a variance of their own, and two rows."""
    random = np.random.default_rng(seed)
    F, d = random.integers(-2, 3, (40, 3)), random.integers(0, 3, 40)
    A, mean = np.vstack([np.ones(40, dtype=int), random.integers(-1, 2, 40)]), random.integers(-5, 6, 40)
    P = pqp.Gram(F, diagonal=d)
    return pqp.ParametricQP(P, -pqp.mu * mean, A=A, row_lower=[1, 0], row_upper=[1, 2], lower=-1, upper=1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [choices_of_a_pool, long_short_frontier])
def test_path_is_the_same_through_blocks_and_through_a_dense_inverse(make, seed, monkeypatch):
    """P x and the value of the objective are unique even where x is not; many items tie."""
    problem, paths = make(seed), []
    for kind in (BlockBasis, DenseBasis):
        build = Mock(side_effect=lambda system, items, earlier=None, kind=kind: kind(system, items))
        monkeypatch.setattr(revised_trace, "basis_of", build)
        # From the right, where there are unknowns at the start.
        paths.append(pqp.solve_path(problem, (0, 20), direction="right-to-left"))
        assert build.called
    P = problem.P.matrix(FLOAT)
    for mu in np.linspace(0, 20, 101):
        blocks, dense_inverse = (path(mu) for path in paths)
        assert blocks.objective == pytest.approx(dense_inverse.objective, rel=1e-9, abs=1e-9)
        assert np.allclose(P @ blocks.x, P @ dense_inverse.x, atol=1e-8)
