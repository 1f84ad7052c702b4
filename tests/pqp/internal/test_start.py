"""start: states found from nothing are optimal at mu, and where there are none a ray proves it."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array, vstack

import pqp
from pqp import mu
from pqp.linalg.field import RATIONAL
from pqp.revised import start as starting
from pqp.revised.event_kernels import VALUE
from pqp.revised.interior_point import InteriorPoint
from pqp.revised.rays import is_proof
from pqp.revised.start import NoStart, find_start, independent_items, pivot_rows, trivial_states
from pqp.revised.trace import Tracer
from pqp.stopping import StopLimits, Watch
from tests.engines import EXACT
from tests.refusals import may_refuse, refused_at_most
from tests.strategies import INFINITY, for_all, problems
from tests.systems import FEW, SEEDS, begin_at, has_its_widths, off_optimality

MUS = st.sampled_from((0.0, 1.0, -1.0, 2.5))
# The numbers of these problems are of one digit.
CLOSE = 1e-7


def assert_optimal(runner, states, at):
    """v on some states is a solution at mu, by the data."""
    scaled = runner.scaled
    tracer = Tracer(scaled.lcp, states, at)
    v = scaled.lcp.table.of(states)[:2].T @ (1.0, at)
    unknown = scaled.lcp.is_unknown(states)
    v[unknown] = tracer.lines[VALUE, unknown]
    size = 1 + np.abs(v).max(initial=0.0)
    assert off_optimality(scaled.bounds, scaled.system, scaled.q, at, v) <= CLOSE * size


def assert_blocked(runner, found, at):
    """The end of the homotopy is a proof that there is no solution at mu."""
    obstruction = runner.proof(found.states, found.ray)
    assert is_proof(runner.problem, obstruction)
    constant, slope = obstruction.value
    assert constant + RATIONAL.number(at) * slope < 0


def assert_right(problem, at):
    """A start is optimal, or proves that there is none, which exact arithmetic confirms."""
    runner, found = begin_at(problem, at)
    assert isinstance(found, NoStart) == (EXACT.solve(problem, at).status != "optimal")
    if isinstance(found, NoStart):
        assert_blocked(runner, found, at)
    else:
        assert_optimal(runner, found, at)


@for_all(problem=problems(), at=MUS)
def test_start_is_optimal_where_there_is_a_solution_and_a_proof_where_there_is_none(problem, at):
    assume(has_its_widths(problem, at))
    assert_right(problem, at)


@for_all(problem=problems(linear=True), at=MUS)
def test_start_of_a_linear_program_is_right(problem, at):
    assume(has_its_widths(problem, at))
    assert_right(problem, at)


@refused_at_most(0.02)
@FEW
@given(problem=problems(), at=MUS, seed=SEEDS)
def test_start_is_right_whatever_the_library_says(problem, at, seed):
    """A guess changes how far there is to go, and nothing else."""
    assume(has_its_widths(problem, at))
    assume(EXACT.solve(problem, at).status == "optimal")
    random = np.random.default_rng(seed)

    def anything(program, at, watch):
        x, y = (random.choice([-9.0, -1.0, -0.5, 0.0, 0.5, 2.0], size) for size in (problem.n, problem.m))
        return InteriorPoint(x, y, "Solved")

    with pytest.MonkeyPatch.context() as patch, may_refuse():
        patch.setattr(starting.ConeProgram, "solve", anything)
        patch.setattr(starting, "MOST_EVENTS_FROM_REST", -np.inf)
        runner, found = begin_at(problem, at)
    assert not isinstance(found, NoStart)
    assert_optimal(runner, found, at)


def strictly_convex(random, n, m):
    F = random.normal(size=(n, n))
    return pqp.ParametricQP(
        F @ F.T + np.eye(n),
        random.normal(size=n) + mu * random.normal(size=n),
        A=random.normal(size=(m, n)),
        row_lower=-random.random(m),
        row_upper=random.random(m),
        lower=-1,
        upper=1,
    )


def linear(random, n, m):
    return pqp.ParametricQP(
        np.zeros((n, n)),
        random.normal(size=n),
        A=random.normal(size=(m, n)),
        row_lower=-random.random(m),
        row_upper=random.random(m) + 1,
        lower=0,
        upper=1,
    )


def degenerate(random, n, m):
    """Whole numbers: many optimal bases at one vertex."""
    A = random.integers(-1, 2, (m, n))
    return pqp.ParametricQP(np.zeros((n, n)), random.integers(0, 2, n), A=A, row_lower=0, lower=0, upper=1)


def with_duplicates(random, n, m):
    """Every equality is there twice, and once more as a sum."""
    A = random.integers(-2, 3, (m, n))
    A = np.vstack([A, A, A.sum(axis=0, keepdims=True)])
    b = A @ np.full(n, 0.5)
    return pqp.ParametricQP(
        np.diag(random.integers(0, 2, n)),
        random.integers(-3, 4, n),
        A=A,
        row_lower=b,
        row_upper=b,
        lower=0,
        upper=1,
    )


def of_low_rank(random, n, m):
    return pqp.ParametricQP(
        pqp.Gram(random.normal(size=(n, 3))),
        random.normal(size=n),
        A=np.ones((1, n)),
        row_lower=1,
        row_upper=1,
        lower=0,
    )


FAMILIES = {
    "strictly convex": strictly_convex,
    "linear": linear,
    "degenerate": degenerate,
    "duplicate rows": with_duplicates,
    "low rank": of_low_rank,
}


@pytest.mark.parametrize("kinds", [(1, INFINITY), (INFINITY, INFINITY), (1, 1)])
@pytest.mark.parametrize("c", [(0, -1), (0, 2), (1, 0), (2, 1)])
def test_limits_of_a_violated_soft_equality_do_not_cross_on_the_way(monkeypatch, kinds, c):
    """x₂ = −1 contradicts x ≥ 0, and x₁ + 2 x₂ = 0 is violated for a price."""
    monkeypatch.setattr(starting, "MOST_EVENTS_FROM_REST", -np.inf)
    for curvature in ([0, 0], [0, 1], [1, 0]):
        problem = pqp.ParametricQP(
            np.diag(curvature), list(c), [[1, 2], [0, 1]], [0, -1], [0, -1], penalty=kinds, lower=0
        )
        runner, found = begin_at(problem, 0.0)
        if kinds[1] == 1:
            assert_optimal(runner, found, 0.0)
        else:
            assert_blocked(runner, found, 0.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "m"), [(5, 3), (30, 12)])
@pytest.mark.parametrize("family", FAMILIES)
def test_start_of_a_solvable_family_is_optimal(family, n, m, seed):
    runner, found = begin_at(FAMILIES[family](np.random.default_rng(seed), n, m), 0.0)
    assert not isinstance(found, NoStart)
    assert_optimal(runner, found, 0.0)


def no_event(*arguments, **options):
    raise AssertionError("a homotopy")


@pytest.mark.parametrize("seed", range(4))
def test_items_outside_are_pivoted_on_in_blocks_where_p_is_positive_definite(monkeypatch, seed):
    """From rest most limits are violated, and one event per item would take longer."""
    monkeypatch.setattr(starting.Tracer, "run", no_event)
    runner, found = begin_at(strictly_convex(np.random.default_rng(seed), 30, 20), 0.0)
    assert_optimal(runner, found, 0.0)


def test_guess_that_is_optimal_is_not_followed(monkeypatch):
    """At rest all 300 rows are violated: the library is asked at once, and its guess needs no event."""
    monkeypatch.setattr(starting.Tracer, "run", no_event)
    rows = np.random.default_rng(0).integers(-2, 3, size=(300, 10)).astype(float)
    runner, found = begin_at(pqp.catalog.choice(rows), 5.0)
    assert_optimal(runner, found, 5.0)


STARTS = {
    "at the lower limit": pqp.ParametricQP([[1]], [2], lower=mu),
    "at the upper limit": pqp.ParametricQP([[1]], [-2], lower=-1, upper=1),
    "inside": pqp.ParametricQP([[1]], [-2], lower=0, upper=5),
    "free": pqp.ParametricQP([[1, 1], [1, 1]], [1, 1]),
    "free with a row": pqp.ParametricQP([[1, 1], [1, 1]], [1, 1], A=[[1, -1]], row_lower=2),
    "an equality": pqp.ParametricQP(np.eye(2), [0, mu], A=[[1, 1]], row_lower=2, row_upper=2, lower=0),
    "equalities that repeat": pqp.ParametricQP(
        np.zeros((2, 2)), [1, 2], A=[[1, 1], [2, 2]], row_lower=[2, 4], row_upper=[2, 4], lower=0
    ),
    "violated soft rows": pqp.ParametricQP([[1]], [0], A=[[1], [-1]], row_lower=[5, 5], penalty=[1, 2]),
    "limits that just meet": pqp.ParametricQP([[1]], [3], A=[[1]], row_lower=1, lower=0, upper=1),
    "a free variable that nothing determines": pqp.ParametricQP(np.diag([1, 0]), [1, 0]),
}


@pytest.mark.parametrize("at", [0.0, 0.5])
@pytest.mark.parametrize("name", STARTS)
def test_start_is_found_however_the_problem_begins(name, at):
    runner, found = begin_at(STARTS[name], at)
    assert not isinstance(found, NoStart)
    assert_optimal(runner, found, at)


MANY = np.diag(np.r_[0, np.ones(98)])
BLOCKED = {
    "unbounded": pqp.ParametricQP([[0]], [-1], lower=0),
    "infeasible": pqp.ParametricQP(
        [[1]], [0], A=[[1], [1]], row_lower=[1, -INFINITY], row_upper=[INFINITY, 0]
    ),
    "free and unbounded": pqp.ParametricQP([[0]], [1]),
    "equalities that contradict": pqp.ParametricQP(
        np.zeros((2, 2)), [0, 0], A=[[1, 1], [1, 1]], row_lower=[1, 2], row_upper=[1, 2]
    ),
    "an equality out of reach": pqp.ParametricQP(
        np.eye(99), -np.ones(99), A=np.ones((1, 99)), row_lower=100, row_upper=100, lower=0, upper=1
    ),
    "a fall without end among many": pqp.ParametricQP(MANY, -np.ones(99), lower=0),
}


@pytest.mark.parametrize("name", BLOCKED)
def test_ray_proves_that_there_is_no_solution(name):
    runner, found = begin_at(BLOCKED[name], 0.0)
    assert isinstance(found, NoStart)
    assert_blocked(runner, found, 0.0)


@for_all(problem=problems(), at=MUS)
def test_trivial_states_are_optimal(problem, at):
    assume(has_its_widths(problem, at))
    runner, _ = begin_at(problem, at)
    states = trivial_states(runner.scaled, at)
    assume(states is not None)
    assert not len(Tracer(runner.scaled.lcp, states, at).basis.items)
    assert_optimal(runner, states, at)


def test_trivial_start_asks_no_library(monkeypatch):
    monkeypatch.setattr(starting.ConeProgram, "solve", None)
    runner, found = begin_at(pqp.ParametricQP(np.eye(2), [1, 1], lower=0), 0.0)
    assert_optimal(runner, found, 0.0)


# ---- independent columns ----


def sparse_answer(columns):
    """The answer of the sparse branch: rows of zeros change nothing but the size."""
    count = columns.shape[1]
    extra = csr_array((2**22 // count + 1, count))
    return pivot_rows(csr_array(vstack([columns, extra])))


def assert_pivots(columns, pivots):
    """A column has a pivot exactly where it does not depend on those before; no row is used twice."""
    dense = columns.toarray()
    for k, pivot in enumerate(pivots):
        is_new = np.linalg.matrix_rank(dense[:, : k + 1]) > np.linalg.matrix_rank(dense[:, :k])
        assert (pivot >= 0) == is_new
    used = [pivot for pivot in pivots if pivot >= 0]
    assert len(set(used)) == len(used) == np.linalg.matrix_rank(dense)
    chosen = dense[np.ix_(used, np.flatnonzero(np.array(pivots) >= 0))]
    assert np.linalg.matrix_rank(chosen) == len(used)


@FEW
@given(seed=SEEDS)
def test_pivot_rows_are_those_of_independent_columns(seed):
    random = np.random.default_rng(seed)
    rows, count = random.integers(1, 8, 2)
    columns = csr_array(random.integers(-1, 2, (rows, count)).astype(float))
    assert_pivots(columns, pivot_rows(columns).tolist())


@FEW
@given(seed=SEEDS)
def test_independent_items_are_as_many_as_the_rank(seed):
    random, size, rank = np.random.default_rng(seed), 9, 5
    factor = random.integers(-3, 4, (size, rank))
    signs = random.choice([-1.0, 1.0], rank)
    S = factor * signs @ factor.T
    items = independent_items(S)
    assert len(items) == np.linalg.matrix_rank(S)
    assert np.linalg.matrix_rank(S[np.ix_(items, items)]) == len(items)


def test_interrupt_is_heard_between_the_steps_of_the_elimination():
    calls = []

    def check():
        calls.append(None)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        independent_items(np.eye(9), check)
    assert len(calls) == 3


@pytest.mark.parametrize("seed", range(12))
def test_sparse_elimination_finds_the_same_columns(seed):
    random = np.random.default_rng(seed)
    rows, count = random.integers(1, 8, 2)
    columns = csr_array(random.integers(-1, 2, (rows, count)).astype(float))
    found = sparse_answer(columns)
    assert_pivots(columns, found.tolist())
    assert ((found >= 0) == (pivot_rows(columns) >= 0)).all()


def test_nothing_has_no_pivots():
    assert not len(pivot_rows(csr_array((3, 0))))
    assert pivot_rows(csr_array((3, 2))).tolist() == [-1, -1]


def test_start_hands_its_watch_to_the_library(monkeypatch):
    seen = []

    def noted(program, at, watch):
        seen.append(watch)
        return InteriorPoint(np.zeros(2), np.zeros(1), "MaxTime")

    monkeypatch.setattr(starting.ConeProgram, "solve", noted)
    monkeypatch.setattr(starting, "MOST_EVENTS_FROM_REST", -np.inf)
    runner, _ = begin_at(STARTS["an equality"], 0.0)
    watch = Watch(StopLimits(time_limit=100), 0.0)
    assert_optimal(runner, find_start(runner.scaled, lambda: runner.program, 0.0, watch), 0.0)
    assert seen[1] is watch
