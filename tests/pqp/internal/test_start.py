"""start: states found from nothing are optimal at mu, and where there are none a ray proves it."""

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import pqp
from pqp import mu
from pqp.errors import ProblemError
from pqp.revised import start as starting
from pqp.revised.basis import WorkingBasis
from pqp.revised.interval_trace import IntervalTracer
from pqp.revised.scaling import ScaledProblem
from pqp.revised.start import NoStart, find_start
from pqp.revised.trace import EventTracer
from tests.engines import EXACT
from tests.strategies import INFINITY, for_all, problems
from tests.systems import scaled_problem

MUS = st.sampled_from((0.0, 1.0, -1.0, 2.5))
# The numbers of these problems are of one digit.
CLOSE = 1e-7


def is_optimal(scaled: ScaledProblem, item_states, at):
    """Whether everything that depends is within its range at mu."""
    gaps = WorkingBasis(scaled.lcp, item_states).gaps()
    with np.errstate(invalid="ignore"):
        values = gaps[:, :, 0] + at * gaps[:, :, 1]
    return bool((values >= -CLOSE).all())


def has_its_widths(problem, at):
    """Whether no limits have crossed and no penalty is negative: that is decided before a start is sought."""
    try:
        problem.require_uncrossed_soft_rows(at, at)
    except ProblemError:
        return False
    return IntervalTracer(problem).crossing_bounds.violated(at) is None


@for_all(problem=problems(), at=MUS)
def test_start_is_optimal_where_there_is_a_solution_and_blocked_where_there_is_none(problem, at):
    assume(has_its_widths(problem, at))
    scaled = scaled_problem(problem)
    found = find_start(scaled, at)
    assert isinstance(found, NoStart) == (EXACT.solve(problem, at).status != "optimal")
    if not isinstance(found, NoStart):
        assert is_optimal(scaled, found, at)


def anywhere(seed):
    """What proposes values from a list of random ones, within limits and caps, without looking further."""

    def propose(system, q, bounds, is_row):
        random = np.random.default_rng(seed)
        v = random.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 9.0, -9.0], len(q))
        lower, upper, cap = (part[:, 0] for part in (bounds.lower, bounds.upper, bounds.cap))
        down, up = np.where(np.isfinite(upper), -cap, 0.0), np.where(np.isfinite(lower), cap, 0.0)
        return np.clip(v, np.where(is_row, down, lower), np.where(is_row, up, upper))

    return propose


@for_all(problem=problems(), at=MUS, seed=st.integers(0, 1000))
def test_start_is_right_whatever_is_proposed(problem, at, seed):
    """A proposal changes how far there is to go, and nothing else."""
    assume(has_its_widths(problem, at))
    scaled = scaled_problem(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starting, "FEW_TO_MOVE", -1)
        patch.setattr(starting, "propose", anywhere(seed))
        found = find_start(scaled, at)
    assert isinstance(found, NoStart) == (EXACT.solve(problem, at).status != "optimal")
    assert isinstance(found, NoStart) or is_optimal(scaled, found, at)


@for_all(problem=problems(), at=MUS)
def test_start_from_a_proposal_is_as_right_as_any(problem, at):
    assume(has_its_widths(problem, at))
    scaled = scaled_problem(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starting, "FEW_TO_MOVE", -1)
        found = find_start(scaled, at)
    assert isinstance(found, NoStart) == (EXACT.solve(problem, at).status != "optimal")
    assert isinstance(found, NoStart) or is_optimal(scaled, found, at)


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
    scaled = scaled_problem(STARTS[name])
    item_states = find_start(scaled, at)
    assert not isinstance(item_states, NoStart)
    assert is_optimal(scaled, item_states, at)


@pytest.mark.parametrize(
    "problem",
    [
        pqp.ParametricQP([[0]], [-1], lower=0),
        pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[1, -INFINITY], row_upper=[INFINITY, 0]),
        pqp.ParametricQP([[0]], [1]),
        pqp.ParametricQP(np.zeros((2, 2)), [0, 0], A=[[1, 1], [1, 1]], row_lower=[1, 2], row_upper=[1, 2]),
    ],
    ids=["unbounded", "infeasible", "free and unbounded", "equalities that contradict"],
)
def test_start_is_blocked_where_there_is_no_solution(problem):
    assert isinstance(find_start(scaled_problem(problem), 0.0), NoStart)


def machine(kernel):
    """An unbalanced SVM: a hundred samples of two classes that overlap."""
    y = np.repeat([-1, 1], (25, 75))
    X = np.random.default_rng(5).normal(size=(100, 2)) + 0.5 * y[:, None]
    return pqp.catalog.svm(X, y, kernel=kernel)


def counting(pieces):
    """A tracer that writes down what it passes."""

    class Counting(EventTracer):
        def trace(self, *ends):
            for step in super().trace(*ends):
                pieces.append(step)
                yield step

    return Counting


@pytest.mark.parametrize("at", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_proposal_shortens_the_way_to_the_start_of_a_machine(monkeypatch, kernel, at):
    scaled, counts = scaled_problem(machine(kernel)), []
    for few in (starting.FEW_TO_MOVE, 1000):
        monkeypatch.setattr(starting, "FEW_TO_MOVE", few)
        pieces = []
        monkeypatch.setattr(starting, "EventTracer", counting(pieces))
        assert is_optimal(scaled, find_start(scaled, at), at)
        counts.append(len(pieces))
    assert counts[0] <= counts[1] / 2


def test_equality_out_of_reach_is_blocked_with_many_variables_too():
    problem = pqp.ParametricQP(
        np.eye(99), -np.ones(99), A=np.ones((1, 99)), row_lower=100, row_upper=100, lower=0, upper=1
    )
    assert isinstance(find_start(scaled_problem(problem), 0.0), NoStart)


def test_fall_without_end_is_blocked_with_many_variables_too():
    P = np.diag(np.r_[0, np.ones(98)])
    assert isinstance(find_start(scaled_problem(pqp.ParametricQP(P, -np.ones(99), lower=0)), 0.0), NoStart)


def test_proposal_that_would_have_to_be_rounded_is_dropped(monkeypatch):
    """Of eighty variables inside their limits one can be solved for: there is one direction that curves."""
    problem = pqp.ParametricQP(np.ones((80, 80)), -np.ones(80), lower=0, upper=1)
    scaled, walks = scaled_problem(problem), []
    monkeypatch.setattr(starting, "propose", lambda system, q, bounds, is_row: np.full(80, 0.5))
    with_proposal = starting._PhaseOne.with_proposal
    monkeypatch.setattr(
        starting._PhaseOne,
        "with_proposal",
        lambda phase_one, basis: walks.append(with_proposal(phase_one, basis) is basis) or basis,
    )
    assert is_optimal(scaled, find_start(scaled, 0.0), 0.0)
    assert walks == [True]
