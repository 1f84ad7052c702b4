"""start: proposed values are within their bounds, keep an equality and are near the solution as a rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqp
from pqp.revised import start as proposing
from pqp.revised.start import bounds_at, propose
from tests.engines import EXACT
from tests.systems import FEW, SEEDS, scaled_problem

# A proposal stops when nothing pulls more than 1e-4 of what did at first; these problems curve by about 1.
NEAR = 1e-2


def proposal(problem, at=0.0):
    """The proposal for the instance of a problem at one mu, in the problem's own units."""
    scaled = scaled_problem(problem)
    nothing = np.zeros(len(scaled.bounds), dtype=bool)
    bounds = bounds_at(scaled.bounds, at, nothing, nothing)
    v = propose(scaled.system, scaled.q @ [1.0, at], bounds, scaled.reduced.is_row)
    return None if v is None else v * scaled.d


@FEW
@given(seed=SEEDS, equality=st.booleans())
def test_proposal_is_feasible_and_no_worse_than_the_nearest_to_zero(seed, equality):
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 30))
    F, c, a = (random.integers(-2, 3, shape) for shape in ((n, n // 3), n, n))
    lower = random.integers(-3, 1, n)
    upper = lower + random.integers(0, 4, n)
    anchor = np.clip(0, lower, upper)
    rows = {"A": a[None, :], "row_lower": a @ anchor, "row_upper": a @ anchor} if equality and a.any() else {}
    x = proposal(pqp.ParametricQP(F @ F.T, c, lower=lower, upper=upper, **rows))[:n]
    assert np.array_equal(x, np.clip(x, lower, upper))
    assert not rows or abs(a @ (x - anchor)) <= 1e-9
    gain = (anchor @ F @ F.T @ anchor - x @ F @ F.T @ x) / 2 + c @ (anchor - x)
    assert gain >= -1e-9


@FEW
@given(seed=SEEDS, reach=st.sampled_from((-1.0, 0.0, 0.4, 1.0)))
def test_equality_that_can_be_met_is(seed, reach):
    random = np.random.default_rng(seed)
    a, upper = random.integers(1, 4, 20), random.integers(1, 4, 20)
    total = reach * (a @ upper)
    problem = pqp.ParametricQP(
        np.eye(20),
        random.integers(-3, 4, 20),
        A=a[None, :],
        row_lower=total,
        row_upper=total,
        lower=0,
        upper=upper,
    )
    v = proposal(problem)
    assert (v is None) == (reach < 0)
    assert v is None or a @ v[:20] == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("at", [0.1, 1.0])
@pytest.mark.parametrize("bias", [True, False])
def test_proposal_for_a_machine_is_near_its_solution(bias, at):
    random = np.random.default_rng(3)
    y = np.repeat([-1, 1], (5, 15))
    X = random.integers(-9, 10, (20, 2)) / 8 + y[:, None]
    problem = pqp.catalog.svm(X, y, kernel=lambda A, B: 1.0 * (A @ B.T) + np.eye(len(A)), bias=bias)
    solution = EXACT.solve(problem, at)
    v = proposal(problem, at)
    assert np.allclose(v[:20], solution.x.astype(float), atol=NEAR)
    assert not bias or v[20] == pytest.approx(float(solution.y[0]), abs=NEAR)


def test_proposal_for_soft_rows_is_near_their_multipliers_if_it_is_given_time(monkeypatch):
    monkeypatch.setattr(proposing, "MOVES_PER_ITEM", 50)
    rows = np.random.default_rng(4).integers(-2, 3, (20, 12))
    problem = pqp.catalog.choice(rows)
    assert scaled_problem(problem).reduced.is_row.all()
    w = rows.T @ proposal(problem, 0.25)
    assert np.allclose(w, EXACT.solve(problem, 0.25).x.astype(float), atol=NEAR)


@pytest.mark.parametrize(
    "rows",
    [
        {"A": np.eye(2, 20, dtype=int), "row_lower": 0, "row_upper": 0},
        {"A": np.ones((1, 20), dtype=int), "row_lower": 1},
        {"A": np.ones((1, 20), dtype=int), "row_lower": 1, "row_upper": 1, "penalty": 1},
    ],
    ids=["two equalities", "an inequality", "a soft equality"],
)
def test_nothing_is_proposed_beside_rows_of_other_kinds(rows):
    assert proposal(pqp.ParametricQP(np.eye(20), np.ones(20), lower=0, upper=1, **rows)) is None


def test_descent_without_end_is_left_alone():
    """Nothing curves in x, and it has no limit where its cost falls: where it stays does not matter."""
    v = proposal(pqp.ParametricQP(np.diag([0, 1]), [-1, -1], lower=[0, 0], upper=[np.inf, 5]))
    assert v == pytest.approx([0, 1])
