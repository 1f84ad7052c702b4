"""compile: every kind of limit becomes pairs of an LCP, none is split, and paths are those by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pqp
from pqp import mu
from pqp.linalg.field import RATIONAL
from pqp.tableau.compile import Pair, compile_problem
from tests.engines import EVERY_ENGINE

# The same examples in every run, few enough for a slow machine.
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
F = Fraction


def clip(value, low, high):
    return min(max(value, low), high)


def soft_clip(value, low, high, penalty):
    """argmin ½(x − value)² + penalty · distance of x from [low, high]: a step, at most the penalty."""
    inside = clip(value, low, high)
    return value + clip(inside - value, -penalty, penalty)


# min ½x² − mu x, so x = mu but for the limit: (arguments, pairs of the LCP, x(mu), bends on [-3, 3]).
ROW = {"A": [[1]]}
KINDS = {
    "free": ({}, 1, lambda m: m, []),
    "lower": ({"lower": -1}, 1, lambda m: max(m, -1), [-1]),
    "upper": ({"upper": 1}, 1, lambda m: min(m, 1), [1]),
    "boxed": ({"lower": -1, "upper": 1}, 2, lambda m: clip(m, -1, 1), [-1, 1]),
    "fixed": ({"lower": mu / 2, "upper": mu / 2}, 0, lambda m: m / 2, []),
    "equality": ({**ROW, "row_lower": 1, "row_upper": 1}, 2, lambda m: 1, []),
    "moving equality": ({**ROW, "row_lower": 2 - mu, "row_upper": 2 - mu}, 2, lambda m: 2 - m, []),
    "row from below": ({**ROW, "row_lower": -1}, 2, lambda m: max(m, -1), [-1]),
    "row from above": ({**ROW, "row_upper": 1}, 2, lambda m: min(m, 1), [1]),
    "two-sided row": ({**ROW, "row_lower": -1, "row_upper": 1}, 3, lambda m: clip(m, -1, 1), [-1, 1]),
    "soft from below": (
        {**ROW, "row_lower": -1, "penalty": 1},
        3,
        lambda m: soft_clip(m, -1, 9, 1),
        [-2, -1],
    ),
    "soft from above": ({**ROW, "row_upper": 1, "penalty": 1}, 3, lambda m: soft_clip(m, -9, 1, 1), [1, 2]),
    "soft two-sided": (
        {**ROW, "row_lower": -1, "row_upper": 1, "penalty": 1},
        5,
        lambda m: soft_clip(m, -1, 1, 1),
        [-2, -1, 1, 2],
    ),
    "soft equality": (
        {**ROW, "row_lower": 0, "row_upper": 0, "penalty": 1},
        3,
        lambda m: soft_clip(m, 0, 0, 1),
        [-1, 1],
    ),
    "lower and soft": (
        {**ROW, "lower": -1, "row_upper": 1, "penalty": 1},
        3,
        lambda m: max(-1, soft_clip(m, -9, 1, 1)),
        [-1, 1, 2],
    ),
}
CASES = pytest.mark.parametrize("kind", KINDS)
MUS = [F(k, 4) for k in range(-12, 13)]


@CASES
class TestEveryKindOfLimit:
    def test_nothing_is_doubled(self, kind):
        arguments, size, _, _ = KINDS[kind]
        assert compile_problem(pqp.ParametricQP([[1]], [-mu], **arguments), RATIONAL).lcp.size == size

    @EVERY_ENGINE
    def test_path_is_the_one_by_hand(self, kind, engine):
        arguments, _, x, bends = KINDS[kind]
        path = engine.trace(pqp.ParametricQP([[1]], [-mu], **arguments), (-3, 3))
        assert list(path.breakpoints) == bends
        assert path.x(MUS)[:, 0].tolist() == [x(m) for m in MUS]
        assert not path.jumps

    @EVERY_ENGINE
    def test_multipliers_balance_the_gradient(self, kind, engine):
        """P x + c − Aᵀy − z = 0, and the residuals of the other conditions vanish too."""
        arguments, _, x, _ = KINDS[kind]
        path = engine.trace(pqp.ParametricQP([[1]], [-mu], **arguments), (-3, 3))
        for m in MUS:
            point = path(m)
            assert sum(point.y) + point.z[0] == x(m) - m
            assert point.residuals().largest == 0

    def test_free_pairs_are_those_of_free_variables_and_hard_equalities(self, kind):
        compiled = compile_problem(pqp.ParametricQP([[1]], [-mu], **KINDS[kind][0]), RATIONAL)
        free = {pair.kind for pair, is_free in zip(compiled.pairs, compiled.lcp.free, strict=True) if is_free}
        limited = kind in ("lower", "upper", "boxed", "fixed", "lower and soft")
        assert free == (set() if limited else {"variable"}) | (
            {"row"} if kind in ("equality", "moving equality") else set()
        )


class TestMatrix:
    def test_paper_form_gives_the_matrix_of_the_paper(self):
        """M = [[2Q, −Aᵀ], [A, 0]], q = (c, −b): paper, (4)."""
        problem = pqp.paper_form(Q=[[1, 2], [2, 5]], c=[3, mu], A=[[1, -1], [0, 2]], b=[1 - mu, 4])
        lcp = compile_problem(problem, RATIONAL).lcp
        assert lcp.M.tolist() == [[2, 4, -1, 0], [4, 10, 1, -2], [1, -1, 0, 0], [0, 2, 0, 0]]
        assert [part.tolist() for part in lcp.q] == [[3, 0, -1, -4], [0, 1, 1, 0]]

    @EVERY_ENGINE
    def test_variable_with_upper_limit_only_is_measured_downwards(self, engine):
        # 2x + y = 6, x + 2y = 0 has x = 4 > 1; at x = 1: y = -1/2 and z = 2 - 1/2 - 6 = -9/2.
        problem = pqp.ParametricQP([[2, 1], [1, 2]], [-6, 0], upper=[1, np.inf])
        point = engine.solve(problem, 0)
        assert (point.x.tolist(), point.z.tolist()) == ([1, -0.5], [-4.5, 0])

    @EVERY_ENGINE
    def test_fixed_variable_is_substituted_into_costs_and_rows(self, engine):
        # x = mu fixed; 2y + x = w, y >= 1 - x: y = max(-mu/2, 1 - mu), which meet at mu = 2.
        problem = pqp.ParametricQP(
            [[2, 1], [1, 2]], [0, 0], A=[[1, 1]], row_lower=1, lower=[mu, -np.inf], upper=[mu, np.inf]
        )
        path = engine.trace(problem, (0, 4))
        assert list(path.breakpoints) == [2]
        assert path.x([1, 3]).tolist() == [[1, 0], [3, -1.5]]
        assert path(3).z.tolist() == [2 * 3 - 1.5, 0]
        assert [segment.basis.variables for segment in path.segments] == [("fixed", "between")] * 2

    def test_pairs_carry_the_names_of_what_they_stand_for(self):
        problem = pqp.ParametricQP(
            [[1]], [0], A=[[1], [1]], row_lower=[0, -1], row_upper=[np.inf, 1], penalty=[2, None],
            lower=0, upper=5, names=["price"], row_names=["budget", "window"],
        )  # fmt: skip
        lcp = compile_problem(problem, RATIONAL).lcp
        z_names = ("price", "xi[budget]", "y[price upper]", "y[budget]", "y[window lower]", "y[window upper]")
        w_names = (
            "u[price]",
            "s[budget]",
            "v[price upper]",
            "v[budget]",
            "v[window lower]",
            "v[window upper]",
        )
        assert (lcp.z_names, lcp.w_names) == (z_names, w_names)

    def test_position_of_a_pair_is_found_or_none(self):
        compiled = compile_problem(pqp.ParametricQP([[1]], [0], lower=0, upper=1), RATIONAL)
        assert compiled.pairs[1] == Pair("bound", 0, "upper")
        assert Pair("row", 0, "lower") not in compiled.pairs

    def test_feasibility_problem_forgets_the_objective_only(self):
        compiled = compile_problem(pqp.paper_form(Q=[[1]], c=[mu], A=[[3]], b=[mu]), RATIONAL).feasibility()
        assert compiled.lcp.M.tolist() == [[0, -3], [3, 0]]
        assert [part.tolist() for part in compiled.lcp.q] == [[0, 0], [0, -1]]


def with_slacks(rows: list[list[int]], sides: str) -> pqp.ParametricQP:
    """min ½‖v‖² + mu Σ ξ with variables ξ ≥ 0 for the violations of a v ≥ 1, −1 ≤ a v ≤ 1 or a v = 1."""
    A, (m, n) = np.array(rows), np.shape(rows)
    eye = np.eye(m, dtype=int)
    blocks = {"hinge": [(1, 1)], "tube": [(1, -1), (-1, -1)], "equality": [(1, 1), (-1, -1)]}[sides]
    stacked = np.vstack([np.hstack([sign * A, eye]) for sign, _ in blocks])
    P = np.diag([1] * n + [0] * m)
    limits = np.repeat([limit for _, limit in blocks], m)
    lower = [-np.inf] * n + [0] * m
    return pqp.ParametricQP(P, [0] * n + [mu] * m, A=stacked, row_lower=limits, lower=lower)


def with_penalty(rows: list[list[int]], sides: str) -> pqp.ParametricQP:
    low, high = {"hinge": (1, None), "tube": (-1, 1), "equality": (1, 1)}[sides]
    n = len(rows[0])
    return pqp.ParametricQP(np.eye(n, dtype=int), [0] * n, A=rows, row_lower=low, row_upper=high, penalty=mu)


def bends(path: pqp.Path, n: int) -> list:
    """The breakpoints at which the first n entries of x change their slope."""
    return [
        b
        for b in path.breakpoints
        if (path.derivative(b, "left")[:n] != path.derivative(b, "right")[:n]).any()
    ]


@pytest.mark.parametrize("sides", ["hinge", "tube", "equality"])
@QUICK
@given(rows=st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2), min_size=1, max_size=4))
def test_penalty_and_explicit_slacks_give_the_same_path(sides, rows):
    soft, slack = (
        pqp.solve_path(build(rows, sides), (0, 5), arithmetic="exact")
        for build in (with_penalty, with_slacks)
    )
    assert bends(soft, 2) == bends(slack, 2)
    for m in {*soft.breakpoints, *slack.breakpoints, F(0), F(5), F(13, 7)}:
        assert soft(m).x.tolist() == slack(m).x[:2].tolist()
        assert soft(m).objective == slack(m).objective


@EVERY_ENGINE
def test_paper_form_with_slacks_gives_the_path_of_soft_rows_for_nonnegative_weights(engine):
    """The conjoint problem CBC(C) of the paper, v ≥ 0: min ‖v‖² + C Σ ξ, N v + ξ ≥ 1, v, ξ ≥ 0."""
    N = [[1, -1], [0, 1], [-1, 2]]
    Q, c = np.diag([1, 1, 0, 0, 0]), [0, 0] + [mu] * 3
    paper = pqp.paper_form(Q, c, np.hstack([N, np.eye(3, dtype=int)]), [1, 1, 1])
    soft = pqp.ParametricQP(2 * np.eye(2, dtype=int), [0, 0], A=N, row_lower=1, lower=0, penalty=mu)
    left, right = (engine.trace(problem, (0, 20)) for problem in (paper, soft))
    for m in range(21):
        assert left(m).x[:2].tolist() == pytest.approx(right(m).x.tolist(), abs=1e-12)
        assert left(m).objective == pytest.approx(right(m).objective, abs=1e-12)
