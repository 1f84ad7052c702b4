"""walk: the lines of a basis solve its system after any changes; Λ tells how they follow what is held."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqp.errors import NumericalTroubleError
from pqp.linalg.system import Pure
from pqp.model.hessian import Matrix
from pqp.revised.basis import Setting, Walk
from pqp.revised.degeneracy import Responses
from pqp.revised.states import BETWEEN, LOWER, build_stairs
from tests.walking import FEW, SEEDS, SYSTEMS, any_states, dense, limits_of, proper_states, walk_from

EVERY_SYSTEM = pytest.mark.parametrize("kind", SYSTEMS)
CLOSE = 1e-8


def setting_of(kind, seed):
    """A system with limits of all kinds and integer lines q."""
    system, random = SYSTEMS[kind](seed), np.random.default_rng(seed)
    limits = limits_of(random, system.size)
    q = random.integers(-3, 4, (system.size, 2)).astype(float)
    return Setting(system, q, build_stairs(limits), system.signs < 0), limits


def assert_lines(walk):
    """g = M v + q, what is held is held, and ranges are those of the steps."""
    setting, states, everything = walk.setting, walk.states, np.arange(len(walk.states))
    held = setting.stairs.held[states, everything]
    unknown = setting.is_unknown(states)
    assert sorted(walk.inverse.items) == np.flatnonzero(unknown).tolist()
    assert np.allclose(walk.g, dense(setting.system) @ walk.v + setting.q, atol=CLOSE)
    assert np.allclose(walk.g[unknown], held[unknown], atol=CLOSE)
    assert np.array_equal(walk.v[~unknown], held[~unknown])
    assert np.array_equal(walk.lo, setting.stairs.lo[states, everything])
    assert np.array_equal(walk.hi, setting.stairs.hi[states, everything])


def dependents(walk):
    return np.where(walk.setting.is_unknown(walk.states)[:, None], walk.v, walk.g)


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS, data=st.data())
def test_lines_solve_the_system_after_any_changes(kind, seed, data):
    setting, limits = setting_of(kind, seed)
    walk = walk_from(setting, any_states(np.random.default_rng(seed), limits))
    assert_lines(walk)
    for _ in range(data.draw(st.integers(0, 12))):
        items = data.draw(st.lists(st.integers(0, len(limits) - 1), min_size=1, max_size=3, unique=True))
        states = [data.draw(st.sampled_from(proper_states(limits, item))) for item in items]
        new = walk.states.copy()
        new[items] = states
        walk_from(setting, new)  # a singular basis is no step of any trace
        walk.change(items, states)
        assert walk.states.tolist() == new.tolist()
        assert_lines(walk)


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS)
def test_freshened_lines_are_the_same(kind, seed):
    setting, limits = setting_of(kind, seed)
    random = np.random.default_rng(seed)
    walk, other = (walk_from(setting, any_states(random, limits)) for _ in range(2))
    moved = np.flatnonzero(walk.states != other.states)
    walk.change(moved.tolist(), other.states[moved].tolist())
    walk.freshen()
    assert_lines(walk)
    assert np.allclose(dependents(walk), dependents(other), atol=CLOSE)


def follow(walk, item):
    """How everything that depends follows what is held at an item, by holding it one higher."""
    stairs, state = walk.setting.stairs, walk.states[item]
    held = stairs.held.copy()
    held[state, item, 0] += 1.0
    moved = Walk(replace(walk.setting, stairs=replace(stairs, held=held)), walk.states)
    return (dependents(moved) - dependents(walk))[:, 0]


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS, data=st.data())
def test_dictionary_tells_how_dependents_follow_what_is_held(kind, seed, data):
    setting, limits = setting_of(kind, seed)
    walk = walk_from(setting, any_states(np.random.default_rng(seed), limits))
    items = data.draw(st.lists(st.integers(0, len(limits) - 1), min_size=1, unique=True))
    known = np.column_stack([follow(walk, item) for item in items])
    assert np.allclose(Responses(walk).dictionary(np.array(items)), known[items], atol=CLOSE)
    for position, item in enumerate(items):
        assert np.allclose(Responses(walk).column(item), known[:, position], atol=CLOSE)
        assert Responses(walk).response(item) == pytest.approx(known[item, position], abs=CLOSE)


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS)
def test_dictionary_is_positive_semidefinite(kind, seed):
    setting, limits = setting_of(kind, seed)
    walk = walk_from(setting, any_states(np.random.default_rng(seed), limits))
    Lambda = Responses(walk).dictionary(np.arange(len(limits)))
    assert np.linalg.eigvalsh(Lambda + Lambda.T).min() >= -1e-7 * (1 + np.abs(Lambda).max())


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS)
def test_gaps_are_distances_to_the_ends(kind, seed):
    setting, limits = setting_of(kind, seed)
    walk = walk_from(setting, any_states(np.random.default_rng(seed), limits))
    gaps = walk.gaps()
    assert np.array_equal(gaps, np.stack([dependents(walk) - walk.lo, walk.hi - dependents(walk)]))


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS, mu=st.integers(-3, 3))
def test_centre_of_the_lines_does_not_matter(kind, seed, mu):
    setting, limits = setting_of(kind, seed)
    states = any_states(np.random.default_rng(seed), limits)
    here, there = walk_from(setting, states), walk_from(setting, states)
    there.move_to(float(mu))
    assert np.allclose(there.v[:, 0], here.v @ [1, mu], atol=CLOSE)
    assert np.allclose(there.g[:, 0], here.g @ [1, mu], atol=CLOSE)
    assert np.allclose(Walk(setting, states, float(mu)).v, there.v, atol=CLOSE)
    assert np.allclose(there.unknown_lines(), here.v[here.inverse.items], atol=CLOSE)


@EVERY_SYSTEM
@FEW
@given(seed=SEEDS)
def test_multipliers_are_those_of_limits_and_caps(kind, seed):
    """A pinned item's is what depends; any other's is what is held."""
    setting, limits = setting_of(kind, seed)
    walk = walk_from(setting, any_states(np.random.default_rng(seed), limits))
    known = np.where(setting.is_row[:, None], walk.v, walk.g)
    assert np.allclose(walk.multipliers(), known, atol=CLOSE)


class TestDependentItems:
    """min over the line x1 + x2: the second variable depends linearly on the first."""

    @pytest.fixture
    def walk(self):
        limits = limits_of(np.random.default_rng(0), 2)
        limits = replace(limits, lower=np.zeros((2, 2)), upper=np.array([[np.inf, 0.0]] * 2))
        limits = replace(limits, cap=limits.upper, is_equal=np.zeros(2, dtype=bool))
        system = Pure(Matrix(np.array([[1.0, 1.0], [1.0, 1.0]]) / 3))
        setting = Setting(
            system, np.array([[-1.0, 0.0], [-1.0, 0.0]]), build_stairs(limits), np.zeros(2, bool)
        )
        return Walk(setting, np.array([BETWEEN, LOWER], dtype=np.int8))

    def test_item_that_depends_on_the_basis_does_not_respond_at_all(self, walk):
        assert Responses(walk).response(1) == 0
        assert Responses(walk).dictionary(np.array([1])).tolist() == [[0]]
        assert Responses(walk).dictionary(np.array([0, 1]))[1, 1] == 0

    def test_singular_basis_is_refused(self, walk):
        with pytest.raises(NumericalTroubleError, match="float64"):
            walk.change([1], [BETWEEN])
