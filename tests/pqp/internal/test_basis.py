"""basis: v and g solve the system after any changes, and Λ says how they follow the fixed values."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqp.errors import NumericalTroubleError
from pqp.linalg.system import Pure
from pqp.model.hessian import Matrix
from pqp.revised.basis import MixedLCP, WorkingBasis
from pqp.revised.degeneracy import LocalDictionary
from pqp.revised.states import BETWEEN, LOWER, build_state_table
from tests.refusals import refused_at_most
from tests.systems import FEW, SEEDS, SYSTEMS, any_states, bounds_of, dense, proper_states, working_basis

EVERY_SYSTEM = pytest.mark.parametrize("kind", SYSTEMS)
CLOSE = 1e-8


def setting_of(kind, seed):
    """A system with limits of all kinds and integer lines q."""
    system, random = SYSTEMS[kind](seed), np.random.default_rng(seed)
    bounds = bounds_of(random, system.size)
    q = random.integers(-3, 4, (system.size, 2)).astype(float)
    return MixedLCP(system, q, build_state_table(bounds), system.signs < 0), bounds


def assert_lines(basis):
    """g = M v + q, the fixed values is held, and ranges are those of the steps."""
    lcp, states, everything = basis.lcp, basis.states, np.arange(len(basis.states))
    fixed = lcp.state_table.fixed[states, everything]
    unknown = lcp.is_unknown(states)
    assert sorted(basis.inverse.items) == np.flatnonzero(unknown).tolist()
    assert np.allclose(basis.g, dense(lcp.system) @ basis.v + lcp.q, atol=CLOSE)
    assert np.allclose(basis.g[unknown], fixed[unknown], atol=CLOSE)
    assert np.array_equal(basis.v[~unknown], fixed[~unknown])
    assert np.array_equal(basis.lo, lcp.state_table.lo[states, everything])
    assert np.array_equal(basis.hi, lcp.state_table.hi[states, everything])


def dependents(basis):
    return np.where(basis.lcp.is_unknown(basis.states)[:, None], basis.v, basis.g)


@EVERY_SYSTEM
@refused_at_most(0.3)
@FEW
@given(seed=SEEDS, data=st.data())
def test_lines_solve_the_system_after_any_changes(kind, seed, data):
    lcp, bounds = setting_of(kind, seed)
    basis = working_basis(lcp, any_states(np.random.default_rng(seed), bounds))
    assert_lines(basis)
    for _ in range(data.draw(st.integers(0, 12))):
        items = data.draw(st.lists(st.integers(0, len(bounds) - 1), min_size=1, max_size=3, unique=True))
        states = [data.draw(st.sampled_from(proper_states(bounds, item))) for item in items]
        new = basis.states.copy()
        new[items] = states
        working_basis(lcp, new)  # a singular basis is no step of any trace
        basis.change(items, states)
        assert basis.states.tolist() == new.tolist()
        assert_lines(basis)


@EVERY_SYSTEM
@refused_at_most(0.3)
@FEW
@given(seed=SEEDS)
def test_freshened_lines_are_the_same(kind, seed):
    lcp, bounds = setting_of(kind, seed)
    random = np.random.default_rng(seed)
    basis, other = (working_basis(lcp, any_states(random, bounds)) for _ in range(2))
    moved = np.flatnonzero(basis.states != other.states)
    basis.change(moved.tolist(), other.states[moved].tolist())
    basis.recompute()
    assert_lines(basis)
    assert np.allclose(dependents(basis), dependents(other), atol=CLOSE)


def follow(basis, item):
    """How everything that depends follows the fixed values at an item, by holding it one higher."""
    state_table, state = basis.lcp.state_table, basis.states[item]
    fixed = state_table.fixed.copy()
    fixed[state, item, 0] += 1.0
    moved = WorkingBasis(replace(basis.lcp, state_table=replace(state_table, fixed=fixed)), basis.states)
    return (dependents(moved) - dependents(basis))[:, 0]


@EVERY_SYSTEM
@refused_at_most(0.3)
@FEW
@given(seed=SEEDS, data=st.data())
def test_dictionary_tells_how_dependents_follow_what_is_held(kind, seed, data):
    lcp, bounds = setting_of(kind, seed)
    basis = working_basis(lcp, any_states(np.random.default_rng(seed), bounds))
    items = data.draw(st.lists(st.integers(0, len(bounds) - 1), min_size=1, unique=True))
    known = np.column_stack([follow(basis, item) for item in items])
    assert np.allclose(LocalDictionary(basis).matrix(np.array(items)), known[items], atol=CLOSE)
    for position, item in enumerate(items):
        assert np.allclose(LocalDictionary(basis).column(item), known[:, position], atol=CLOSE)
        assert LocalDictionary(basis).diagonal_entry(item) == pytest.approx(known[item, position], abs=CLOSE)


@EVERY_SYSTEM
@refused_at_most(0.3)
@FEW
@given(seed=SEEDS)
def test_dictionary_is_positive_semidefinite(kind, seed):
    lcp, bounds = setting_of(kind, seed)
    basis = working_basis(lcp, any_states(np.random.default_rng(seed), bounds))
    Lambda = LocalDictionary(basis).matrix(np.arange(len(bounds)))
    assert np.linalg.eigvalsh(Lambda + Lambda.T).min() >= -1e-7 * (1 + np.abs(Lambda).max())


@EVERY_SYSTEM
@refused_at_most(0.3)
@FEW
@given(seed=SEEDS)
def test_gaps_are_distances_to_the_ends(kind, seed):
    lcp, bounds = setting_of(kind, seed)
    basis = working_basis(lcp, any_states(np.random.default_rng(seed), bounds))
    gaps = basis.gaps()
    assert np.array_equal(gaps, np.stack([dependents(basis) - basis.lo, basis.hi - dependents(basis)]))


@EVERY_SYSTEM
@refused_at_most(0.3)
@FEW
@given(seed=SEEDS, mu=st.integers(-3, 3))
def test_centre_of_the_lines_does_not_matter(kind, seed, mu):
    lcp, bounds = setting_of(kind, seed)
    states = any_states(np.random.default_rng(seed), bounds)
    here, there = working_basis(lcp, states), working_basis(lcp, states)
    there.move_to(float(mu))
    assert np.allclose(there.v[:, 0], here.v @ [1, mu], atol=CLOSE)
    assert np.allclose(there.g[:, 0], here.g @ [1, mu], atol=CLOSE)
    assert np.allclose(WorkingBasis(lcp, states, float(mu)).v, there.v, atol=CLOSE)
    assert np.allclose(there.unknown_lines(), here.v[here.inverse.items], atol=CLOSE)


@EVERY_SYSTEM
@refused_at_most(0.3)
@FEW
@given(seed=SEEDS)
def test_multipliers_are_those_of_limits_and_caps(kind, seed):
    """The multiplier of a pinned item is its dependent quantity; that of any other is its fixed value."""
    lcp, bounds = setting_of(kind, seed)
    basis = working_basis(lcp, any_states(np.random.default_rng(seed), bounds))
    known = np.where(lcp.is_row[:, None], basis.v, basis.g)
    assert np.allclose(basis.multipliers(), known, atol=CLOSE)


class TestDependentItems:
    """min over the line x1 + x2: the second variable depends linearly on the first."""

    @pytest.fixture
    def basis(self):
        bounds = bounds_of(np.random.default_rng(0), 2)
        bounds = replace(bounds, lower=np.zeros((2, 2)), upper=np.array([[np.inf, 0.0]] * 2))
        bounds = replace(bounds, cap=bounds.upper, is_equal=np.zeros(2, dtype=bool))
        system = Pure(Matrix(np.array([[1.0, 1.0], [1.0, 1.0]]) / 3))
        lcp = MixedLCP(
            system, np.array([[-1.0, 0.0], [-1.0, 0.0]]), build_state_table(bounds), np.zeros(2, bool)
        )
        return WorkingBasis(lcp, np.array([BETWEEN, LOWER], dtype=np.int8))

    def test_item_that_depends_on_the_basis_does_not_respond_at_all(self, basis):
        assert LocalDictionary(basis).diagonal_entry(1) == 0
        assert LocalDictionary(basis).matrix(np.array([1])).tolist() == [[0]]
        assert LocalDictionary(basis).matrix(np.array([0, 1]))[1, 1] == 0

    def test_singular_basis_is_refused(self, basis):
        with pytest.raises(NumericalTroubleError, match="float64"):
            basis.change([1], [BETWEEN])
