"""degeneracy: the solution of a tie solves its local problem, or proves that there is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import pqp
from pqp.revised import degeneracy as ties
from pqp.revised.degeneracy import Tie, solve_tie
from tests.systems import FEW, SEEDS, dense, mixed

CLOSE = 1e-8


class Local:
    """As much of the local dictionary as a tie needs: Λ of the tied items alone."""

    def __init__(self, Lambda):
        self.Lambda = Lambda
        self.count = len(Lambda)

    def matrix(self, items):
        return self.Lambda[np.ix_(items, items)]

    def diagonal_entry(self, item):
        return self.Lambda[item, item]


def verdict_on(Lambda, slopes, ends=None):
    """The solution of the tie, and how many pivots it took."""
    size = len(slopes)
    pivots, deciding = 0, solve_tie(Local(Lambda), Tie(ends or [0] * size, list(range(size)), list(slopes)))
    while True:
        try:
            next(deciding)
            pivots += 1
        except StopIteration as decided:
            return decided.value, pivots


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
    return np.block([[F @ F.T, -B.T], [B, G @ G.T]]).astype(float)


@FEW
@given(seed=SEEDS, data=st.data())
def test_verdict_solves_the_local_problem_of_a_regular_dictionary(seed, data):
    Lambda = dense(mixed(3, 2, seed))
    slopes = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=5, max_size=5)), dtype=float)
    solution, _ = verdict_on(Lambda, slopes)
    assert solution.infeasible is None
    assert_solution(Lambda, slopes, solution.crossed)


@FEW
@given(seed=SEEDS, data=st.data())
def test_verdict_is_a_solution_exactly_where_there_is_one(seed, data):
    Lambda = singular(seed)
    size = len(Lambda)
    slopes = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size)), dtype=float)
    if not (slopes < 0).any():
        return  # nothing falls, nothing is to be settled
    solution, _ = verdict_on(Lambda, slopes)
    assert (solution.infeasible is None) == is_solvable(Lambda, slopes)
    if solution.infeasible is None:
        assert_solution(Lambda, slopes, solution.crossed)


@FEW
@given(seed=SEEDS, data=st.data())
def test_stuck_row_falls_and_nothing_raises_it(seed, data):
    """With the crossed items stepped over, row r of the dictionary has no positive entry, and it falls."""
    Lambda = singular(seed)
    size = len(Lambda)
    slopes = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size)), dtype=float)
    if not (slopes < 0).any():
        return
    solution, _ = verdict_on(Lambda, slopes)
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
    assert verdict_on(Lambda, slopes, ends)[0].crossed == verdict_on(turned, slopes)[0].crossed


class TestAlone:
    @pytest.mark.parametrize(("diagonal_entry", "infeasible"), [(2.0, None), (0.0, 0)])
    def test_single_item_steps_over_if_that_stops_its_fall(self, diagonal_entry, infeasible):
        solution, pivots = verdict_on(np.array([[diagonal_entry]]), np.array([-1.0]))
        assert (solution.infeasible, solution.crossed, pivots) == (
            infeasible,
            [] if infeasible == 0 else [0],
            0,
        )


def test_items_that_do_not_fall_join_only_when_they_must():
    """The first item crosses at once; the second falls by that and crosses too; the third never does."""
    Lambda = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    solution, _ = verdict_on(Lambda, np.array([-2.0, 0.5, 3.0]))
    assert sorted(solution.crossed) == [0, 1]


def test_slopes_that_differ_by_round_off_are_equal():
    """Two copies of one item: the first crosses, and the second, but for its last digits, stays put."""
    Lambda, slopes = np.full((2, 2), 3e-6), [-1e-6, -1e-6 - 1e-14]
    pivots = solve_tie(Local(Lambda), Tie([0, 0], [0, 1], slopes, flat=1e-13))
    assert len(last_of(pivots).crossed) == 1


def last_of(pivots):
    """What a generator returns in the end."""
    while True:
        try:
            next(pivots)
        except StopIteration as decided:
            return decided.value


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
