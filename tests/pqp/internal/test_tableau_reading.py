"""compile: bases become states and back, and a row that proves becomes a Farkas vector and a ray."""

from fractions import Fraction

import numpy as np
import pytest

import pqp
from pqp import mu
from pqp.lcp.crisscross import LEAST_INDEX
from pqp.linalg.field import RATIONAL, exact_array
from pqp.records.unsolvable import UnsolvablePiece
from pqp.tableau.compile import basis_of, compile_problem, read_obstruction, read_states, read_x
from pqp.tableau.trace import Tracer
from tests.engines import EVERY_ENGINE

INFINITY = float("inf")
# min ½x² − mu x on [-3, 3], so x rises with mu: the states of variable and row on its way.
STATES = {
    "free": ({}, [("between", None)]),
    "boxed": ({"lower": -1, "upper": 1}, [("lower", None), ("between", None), ("upper", None)]),
    "from above": ({"upper": 1}, [("between", None), ("upper", None)]),
    "fixed": ({"lower": 0, "upper": 0}, [("fixed", None)]),
    "equality": ({"row_lower": 1, "row_upper": 1}, [("between", "equal")]),
    "two-sided": (
        {"row_lower": -1, "row_upper": 1},
        [("between", "lower"), ("between", "off"), ("between", "upper")],
    ),
    "soft two-sided": (
        {"row_lower": -1, "row_upper": 1, "penalty": 1},
        [("between", state) for state in ("below", "lower", "off", "upper", "above")],
    ),
    "soft equality": (
        {"row_lower": 0, "row_upper": 0, "penalty": 1},
        [("between", state) for state in ("below", "equal", "above")],
    ),
    "soft and boxed": (
        {"row_lower": 0, "penalty": 1, "lower": -1, "upper": 1},
        # x = -1 until mu + 1 = -1, then mu + 1 up to 0, 0 up to mu = 0, mu up to 1.
        [
            ("lower", "below"),
            ("between", "below"),
            ("between", "lower"),
            ("between", "off"),
            ("upper", "off"),
        ],
    ),
}


def states_of(kind: str) -> tuple[pqp.ParametricQP, list[tuple[str, str | None]]]:
    limits, states = STATES[kind]
    rows = {"A": [[1]]} if "row_lower" in limits else {}
    return pqp.ParametricQP([[1]], [-mu], **rows, **limits), states


@EVERY_ENGINE
@pytest.mark.parametrize("kind", STATES)
class TestStates:
    def test_states_tell_what_holds_the_solution(self, kind, engine):
        problem, expected = states_of(kind)
        path = engine.trace(problem, (-3, 3))
        found = [(s.basis.variables[0], s.basis.rows[0] if s.basis.rows else None) for s in path.segments]
        assert found == expected

    def test_states_and_basis_are_inverse_to_each_other(self, kind, engine):
        problem, _ = states_of(kind)
        compiled = compile_problem(problem, engine.field)
        for segment in engine.trace(problem, (-3, 3)).segments:
            assert read_states(compiled, basis_of(compiled, segment.basis)) == segment.basis


@EVERY_ENGINE
def test_variable_that_nothing_determines_is_held_at_zero(engine):
    problem = pqp.ParametricQP(np.diag([1, 0]), [-mu, 0])
    (segment,) = engine.trace(problem, (0, 1)).segments
    assert segment.basis.variables == ("between", "zero")
    assert segment.at(1).x.tolist() == [1, 0]


@EVERY_ENGINE
def test_x_is_measured_from_the_limit_of_each_variable(engine):
    # lower 2, upper 5 - mu only, fixed at 7, free: x = (2 + z1, 5 - mu - z2, 7, z3).
    problem = pqp.ParametricQP(
        np.eye(4), np.zeros(4), lower=[2, -INFINITY, 7, -INFINITY], upper=[INFINITY, 5 - mu, 7, INFINITY]
    )
    compiled = compile_problem(problem, engine.field)
    z = engine.field.array([1, 2, 3]), engine.field.array([0, 0, 1])
    constant, slope = read_x(compiled, z)
    assert (constant.tolist(), slope.tolist()) == ([3, 3, 7, 3], [0, -1, 0, 1])


OBSTRUCTED = {
    "rows against bounds": pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0),
    "equality against a box": pqp.ParametricQP(
        np.eye(2), [1, 1], A=[[1, -1]], row_lower=mu, row_upper=mu, lower=0, upper=1
    ),
    "two rows": pqp.ParametricQP(
        [[0]], [mu], A=[[1], [2]], row_lower=[1, -INFINITY], row_upper=[INFINITY, mu]
    ),
    "no curvature, no limit": pqp.ParametricQP([[0]], [mu]),
    "downhill along an edge": pqp.ParametricQP(
        np.zeros((2, 2)), [1, mu], A=[[1, -1]], row_lower=0, row_upper=0
    ),
    "soft row too cheap": pqp.ParametricQP([[0]], [-2], A=[[1]], row_upper=1, penalty=mu),
    "soft equality too cheap": pqp.ParametricQP([[0]], [2], A=[[1]], row_lower=1, row_upper=1, penalty=mu),
}  # fmt: skip


@pytest.mark.parametrize("name", OBSTRUCTED)
class TestObstructions:
    """Every piece without a solution comes with t ≥ 0, Mᵀt ≤ 0, a ray and a Farkas vector in one."""

    @staticmethod
    def pieces(name: str) -> list[UnsolvablePiece]:
        tracer = Tracer(compile_problem(OBSTRUCTED[name], RATIONAL), LEAST_INDEX)
        found = [
            event
            for event in tracer.trace(tracer.first(), Fraction(-9), Fraction(9))
            if isinstance(event, UnsolvablePiece)
        ]
        assert found
        return found

    def test_weights_of_limits_add_up_to_nothing(self, name):
        """Aᵀ(row_lower − row_upper) + lower − upper = 0; no weight is negative or without its limit."""
        problem = OBSTRUCTED[name]
        data = problem.data(RATIONAL)
        for piece in self.pieces(name):
            farkas = piece.obstruction.farkas
            total = data.A.T @ (farkas.row_lower - farkas.row_upper) + farkas.lower - farkas.upper
            assert (total == 0).all()
            for side in ("row_lower", "row_upper", "lower", "upper"):
                weights, limit = getattr(farkas, side), getattr(data, side)[0].astype(float)
                assert (weights >= 0).all()
                assert (weights[np.isinf(limit)] == 0).all()
            assert (farkas.row_lower[problem.is_soft] == 0).all()
            assert (farkas.row_upper[problem.is_soft] == 0).all()

    def test_ray_keeps_every_limit_and_meets_no_curvature(self, name):
        """The conditions of docs/file-format.md on d and v."""
        problem = OBSTRUCTED[name]
        data = problem.data(RATIONAL)
        for piece in self.pieces(name):
            d, v = piece.obstruction.ray, piece.obstruction.violation
            drift = data.A @ d
            assert (data.P @ d == 0).all()
            assert (v >= 0).all()
            assert (v[~problem.is_soft] == 0).all()
            for move, limits, sense in ((d, data.lower, 1), (d, data.upper, -1)):
                assert (sense * move[np.isfinite(limits[0].astype(float))] >= 0).all()
            for limits, sense in ((data.row_lower, 1), (data.row_upper, -1)):
                assert ((sense * drift + v)[np.isfinite(limits[0].astype(float))] >= 0).all()

    def test_value_is_descent_less_gap_and_negative_inside(self, name):
        for piece in self.pieces(name):
            obstruction = piece.obstruction
            lo, hi = sorted(piece.exact)
            inside = (lo + hi) / 2
            (a, b), (g, h) = obstruction.descent, obstruction.gap
            assert obstruction.value == (a - g, b - h)
            assert a + inside * b - g - inside * h < 0


def test_proofs_form_a_cone():
    compiled = compile_problem(OBSTRUCTED["rows against bounds"], RATIONAL)
    t = exact_array([0, 0, 1])
    one, three = read_obstruction(compiled, t), read_obstruction(compiled, 3 * t)
    total = one.plus(one, Fraction(2))
    assert (total.value, total.gap) == (three.value, three.gap)
    assert total.farkas.row_upper.tolist() == three.farkas.row_upper.tolist() == [3]
    # t weighs x + y <= mu: gap(mu) = -mu, which vanishes at 0 only.
    assert (one.vanishes_at(0), one.vanishes_at(1), one.vanishes_at(INFINITY)) == (True, False, False)
