"""degeneracy: the solution of a tie solves its local problem, or proves that there is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import pqp
from pqp.linalg.operators import DenseOperator
from pqp.linalg.system import System
from pqp.revised import degeneracy as ties
from pqp.revised.degeneracy import Tie, local_dictionary, solve_tie
from pqp.revised.states import BETWEEN, LOWER, Bounds, MixedLCP, build_state_table
from pqp.revised.trace import Tracer
from tests.pqp.internal.test_trace import follow
from tests.refusals import refused_at_most
from tests.systems import FEW, SEEDS, SYSTEMS, any_states, dense, mixed, setting_of, tracer_at

EVERY_SYSTEM = pytest.mark.parametrize("kind", SYSTEMS)

CLOSE = 1e-8


def system_of(Lambda, variables):
    """The system whose matrix is a bisymmetric Λ of some variables, and of rows."""
    H, B, G = Lambda[:variables, :variables], Lambda[variables:, :variables], Lambda[variables:, variables:]
    return System(DenseOperator(H), B, DenseOperator(G)) if len(B) else System(DenseOperator(H))


def tracer_on(Lambda, variables):
    """A tracer that solves for nothing, so that its local dictionary is Λ itself."""
    size = len(Lambda)
    far = np.column_stack([np.full(size, np.inf), np.zeros(size)])
    bounds = Bounds(np.zeros((size, 2)), far, far, np.zeros(size, dtype=bool))
    lcp = MixedLCP(system_of(Lambda, variables), np.zeros((size, 2)), build_state_table(bounds))
    return Tracer(lcp, np.where(lcp.system.is_row, BETWEEN, LOWER), 0.0)


def verdict_on(Lambda, slopes, ends=None, variables=None, **settings):
    """The solution of the tie of all items."""
    size = len(slopes)
    tracer = tracer_on(np.asarray(Lambda), size if variables is None else variables)
    return solve_tie(tracer, Tie(ends or [0] * size, list(range(size)), list(slopes), **settings))


def assert_solution(Lambda, slopes, crossed):
    """w = τ + Λζ ≥ 0, ζ ≥ 0 on the crossed items and 0 elsewhere, w = 0 on the crossed ones."""
    zeta = np.zeros(len(slopes))
    zeta[crossed] = np.linalg.solve(Lambda[np.ix_(crossed, crossed)], -slopes[crossed])
    w = slopes + Lambda @ zeta
    assert (zeta >= -CLOSE).all()
    assert (w >= -CLOSE).all()
    assert np.allclose(w[crossed], 0, atol=CLOSE)


def is_solvable(Lambda, slopes):
    """Whether some ζ ≥ 0 has τ + Λζ ≥ 0: for a positive semidefinite Λ that is all a solution needs."""
    found = linprog(np.zeros(len(slopes)), A_ub=-Lambda, b_ub=slopes)
    assert found.status in (0, 2)
    return found.status == 0


def singular(seed):
    """A positive semidefinite bisymmetric Λ of small integers, of any rank."""
    random = np.random.default_rng(seed)
    n, m = random.integers(1, 4), random.integers(0, 3)
    F, G = (random.integers(-1, 2, (size, random.integers(0, size + 1))) for size in (n, m))
    B = random.integers(-1, 2, (m, n))
    return np.block([[F @ F.T, -B.T], [B, G @ G.T]]).astype(float), int(n)


@FEW
@given(seed=SEEDS, data=st.data())
def test_verdict_solves_the_local_problem_of_a_regular_dictionary(seed, data):
    Lambda = dense(mixed(3, 2, seed))
    slopes = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=5, max_size=5)), dtype=float)
    solution = verdict_on(Lambda, slopes, variables=3)
    assert solution.infeasible is None
    assert_solution(Lambda, slopes, solution.crossed)


@FEW
@given(seed=SEEDS, data=st.data())
def test_verdict_is_a_solution_exactly_where_there_is_one(seed, data):
    Lambda, variables = singular(seed)
    size = len(Lambda)
    slopes = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size)), dtype=float)
    if not (slopes < 0).any():
        return  # nothing falls, nothing is to be settled
    solution = verdict_on(Lambda, slopes, variables=variables)
    assert (solution.infeasible is None) == is_solvable(Lambda, slopes)
    if solution.infeasible is None:
        assert_solution(Lambda, slopes, solution.crossed)


@FEW
@given(seed=SEEDS, data=st.data())
def test_stuck_row_falls_and_nothing_raises_it(seed, data):
    """With the crossed items stepped over, row r of the dictionary has no positive entry, and it falls."""
    Lambda, variables = singular(seed)
    size = len(Lambda)
    slopes = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size)), dtype=float)
    if not (slopes < 0).any():
        return
    solution = verdict_on(Lambda, slopes, variables=variables)
    if solution.infeasible is None:
        return
    crossed, r = solution.crossed, solution.infeasible
    inverse = np.linalg.inv(Lambda[np.ix_(crossed, crossed)])
    rest = np.setdiff1d(np.arange(size), crossed)
    if r in crossed:
        row = inverse[crossed.index(r)]
        assert -row @ slopes[crossed] < -CLOSE
        assert (row <= CLOSE).all()
        assert (-row @ Lambda[np.ix_(crossed, rest)] <= CLOSE).all()
    else:
        row = Lambda[r, crossed] @ inverse
        assert slopes[r] - row @ slopes[crossed] < -CLOSE
        assert (row <= CLOSE).all()
        assert (Lambda[r, rest] - row @ Lambda[np.ix_(crossed, rest)] <= CLOSE).all()


@FEW
@given(seed=SEEDS, data=st.data())
def test_end_that_is_reached_from_below_is_turned_round(seed, data):
    Lambda = dense(mixed(2, 2, seed))
    ends = data.draw(st.lists(st.sampled_from((0, 1)), min_size=4, max_size=4))
    slopes = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=4, max_size=4)), dtype=float)
    sense = 1 - 2 * np.array(ends)
    turned = sense[:, None] * Lambda * sense
    assert verdict_on(Lambda, slopes, ends, 2).crossed == verdict_on(turned, slopes, None, 2).crossed


class TestAlone:
    @pytest.mark.parametrize(("diagonal_entry", "infeasible"), [(2.0, None), (0.0, 0)])
    def test_single_item_steps_over_if_that_stops_its_fall(self, diagonal_entry, infeasible):
        solution = verdict_on(np.array([[diagonal_entry]]), np.array([-1.0]))
        assert solution.infeasible == infeasible
        assert solution.crossed == ([] if infeasible == 0 else [0])
        assert not solution.pivots


def test_items_that_do_not_fall_join_only_when_they_must():
    """The first item crosses at once; the second falls by that and crosses too; the third never does."""
    Lambda = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    solution = verdict_on(Lambda, np.array([-2.0, 0.5, 3.0]))
    assert sorted(solution.crossed) == [0, 1]


def test_slopes_that_differ_by_round_off_are_equal():
    """Two copies of one item: the first crosses, and the second, but for its last digits, stays put."""
    Lambda, slopes = np.full((2, 2), 3e-6), [-1e-6, -1e-6 - 1e-14]
    assert len(verdict_on(Lambda, slopes, flat=1e-13).crossed) == 1


@FEW
@given(seed=SEEDS, data=st.data())
def test_part_of_a_tie_solves_the_whole_of_it(seed, data):
    """Only closing gaps are looked at first, and others join."""
    Lambda = dense(mixed(3, 2, seed))
    slopes = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=5, max_size=5)), dtype=float)
    if not (slopes < 0).any():
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ties, "LARGE_TIE", 1)
        solution = verdict_on(Lambda, slopes, variables=3)
    assert solution.infeasible is None
    assert_solution(Lambda, slopes, solution.crossed)


@EVERY_SYSTEM
@refused_at_most(0.7)
@FEW
@given(seed=SEEDS, data=st.data())
def test_dictionary_tells_how_dependents_follow_what_is_held(kind, seed, data):
    lcp, bounds = setting_of(kind, seed)
    tracer = tracer_at(lcp, any_states(np.random.default_rng(seed), bounds))
    items = data.draw(st.lists(st.integers(0, len(bounds) - 1), min_size=1, unique=True))
    wanted = np.column_stack([follow(tracer, item) for item in items])[items]
    scale = CLOSE * (1 + np.abs(wanted).max())
    assert np.allclose(local_dictionary(tracer, np.array(items))[0], wanted, atol=scale)


@EVERY_SYSTEM
@refused_at_most(0.7)
@FEW
@given(seed=SEEDS)
def test_dictionary_is_positive_semidefinite(kind, seed):
    lcp, bounds = setting_of(kind, seed)
    tracer = tracer_at(lcp, any_states(np.random.default_rng(seed), bounds))
    Lambda, _ = local_dictionary(tracer, np.arange(len(bounds)))
    assert np.linalg.eigvalsh(Lambda + Lambda.T).min() >= -1e-7 * (1 + np.abs(Lambda).max())


def test_item_that_depends_on_the_basis_does_not_respond_at_all():
    """min over the line x1 + x2: the second variable depends linearly on the first."""
    tracer = tracer_on(np.array([[1.0, 1.0], [1.0, 1.0]]) / 3, 2)
    tracer = Tracer(tracer.lcp, np.array([BETWEEN, LOWER]), 0.0)
    assert local_dictionary(tracer, np.array([1]))[0].tolist() == [[0]]
    assert local_dictionary(tracer, np.array([0, 1]))[0][1, 1] == 0


@pytest.mark.parametrize("seed", range(20))
def test_dependent_items_with_tiny_pivots_do_not_enter_together(seed):
    """Differences of points: (0, 2) is (0, 1) + (1, 2), and 2 is next to the line through 0 and 1."""
    random = np.random.default_rng(seed)
    direction, off = random.normal(size=(2, 30))
    X = np.array([np.zeros(30), direction, random.normal() * direction + 1e-4 * off])
    D = np.array([X[0] - X[1], X[0] - X[2], X[1] - X[2]])
    tracer = tracer_on(D @ D.T, 3)
    tracer = Tracer(tracer.lcp, np.array([BETWEEN, LOWER, LOWER]), 0.0)
    solution = solve_tie(tracer, Tie([0, 0], [1, 2], [-1.0, -1.0]))
    assert len(solution.crossed) <= 1


def test_part_of_a_large_tie_gives_the_verdict_of_the_whole(monkeypatch):
    """All pairs of whole numbers: dozens of dependent pairs stay at their margin and tie with every event."""
    random = np.random.default_rng(0)
    X, y = random.integers(-2, 3, (24, 4)), random.integers(0, 3, 24)
    pairs = [(i, j) for i in range(24) for j in range(24) if y[i] > y[j]]
    problem = pqp.ParametricQP(
        pqp.PairGram(X @ X.T, pairs), -np.ones(len(pairs), dtype=int), lower=0, upper=pqp.mu
    )
    whole = pqp.solve_path(problem, (0, 10))
    monkeypatch.setattr(ties, "LARGE_TIE", 1)
    part = pqp.solve_path(problem, (0, 10))
    np.testing.assert_allclose(part.breakpoints, whole.breakpoints, rtol=1e-9)
    part.certify()
