"""segment: what holds on one piece, and what is said where there is no solution."""

import math
from fractions import Fraction

import numpy as np
import pytest

import pqp
from pqp import mu
from pqp.errors import NoSolutionError
from pqp.linalg.field import RATIONAL
from tests.engines import EVERY_ENGINE, Engine

F = Fraction
# Infeasible before 0; (0, mu) up to 1; ((mu − 1)/2, (mu + 1)/2) up to 5; (2, 3) from then on.
BUDGET = pqp.ParametricQP(
    [[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0, names=["x", "y"], row_names=["budget"]
)
UNBOUNDED = pqp.ParametricQP([[0]], [mu], A=[[1]], row_lower=[mu])


def budget(engine: Engine) -> pqp.Path:
    return engine.trace(BUDGET, (-2, 8))


@EVERY_ENGINE
class TestOptimal:
    def test_solution_and_multipliers_are_affine_in_mu(self, engine):
        """On [1, 5]: y = 2x − 4 = mu − 5 (negative at an upper limit), z = 0."""
        segment = budget(engine).segments[2]
        assert (segment.lo, segment.hi, segment.status) == (1, 5, "optimal")
        assert (segment.x0.tolist(), segment.x1.tolist()) == ([-0.5, 0.5], [0.5, 0.5])
        assert (segment.y0.tolist(), segment.y1.tolist()) == ([-5], [1])
        assert (segment.z0.tolist(), segment.z1.tolist()) == ([0, 0], [0, 0])

    def test_bound_multipliers_are_the_reduced_costs(self, engine):
        """On [0, 1]: x = 0, y = mu, row 2mu − 6, z_x = −4 − (2mu − 6) = 2 − 2mu."""
        segment = budget(engine).segments[1]
        assert (segment.y0.tolist(), segment.y1.tolist()) == ([-6], [2])
        assert (segment.z0.tolist(), segment.z1.tolist()) == ([2, 0], [-2, 0])

    def test_objective_is_the_quadratic_by_hand(self, engine):
        """mu² − 6mu; then x² + y² − 4x − 6y at the halves = mu²/2 − 5mu − 1/2; then −13."""
        found = [segment.objective for segment in budget(engine).segments[1:]]
        assert [tuple(map(float, quadratic)) for quadratic in found] == [
            (0, -6, 1),
            (-0.5, -5, 0.5),
            (-13, 0, 0),
        ]

    def test_objective_equals_its_definition_with_penalties_and_constant(self, engine):
        problem = pqp.ParametricQP(
            [[1]], [-mu], A=[[1], [1]], row_upper=[1, 2], penalty=[F(1, 2), mu], constant=[3, -2, F(1, 4)]
        )
        path = engine.trace(problem, (0, 6))
        assert {row for s in path.segments for row in s.basis.rows} >= {"above", "upper", "off"}
        for k in range(25):
            at = F(k, 4)
            x = RATIONAL.number(path(at).x[0])
            violations = max(x - 1, 0) / 2 + at * max(x - 2, 0)
            expected = x * x / 2 - at * x + violations + 3 - 2 * at + at * at / 4
            assert float(path(at).objective) == pytest.approx(float(expected), abs=1e-12)

    def test_point_carries_everything_at_its_mu(self, engine):
        point = budget(engine)(3)
        assert (point.mu, point.status, point.x.tolist(), point.y.tolist()) == (3, "optimal", [1, 2], [-2])
        assert point.objective == 1 + 4 - 4 - 12
        assert point.named == {"x": 1, "y": 2}
        assert point.residuals().largest == 0

    def test_points_and_segments_print_what_they_are(self, engine):
        path = budget(engine)
        assert repr(path(3)).replace(".0", "") == "Point(mu=3, x=1, y=2)"
        assert repr(path(-1)).replace(".0", "") == "Point(mu=-1, infeasible)"
        assert repr(path.segments[2]).replace(".0", "") == "Segment(1, 5, 'optimal')"

    def test_numbers_are_of_the_arithmetic(self, engine):
        point = budget(engine)(3)
        kind = Fraction if engine.is_exact else float
        assert all(isinstance(value, kind) for value in (*point.x, *point.y, *point.z, point.objective))

    def test_records_cannot_be_changed(self, engine):
        segment = budget(engine).segments[2]
        with pytest.raises(AttributeError):
            segment.lo = 0
        for array in (segment.x0, segment.x1, segment.y0, segment.z1):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 7


@EVERY_ENGINE
class TestNoSolution:
    @pytest.mark.parametrize("question", ["x", "y", "z", "objective", "named"])
    def test_infeasible_point_says_so_and_carries_the_proof(self, engine, question):
        point = budget(engine)(-1)
        assert point.status == "infeasible"
        with pytest.raises(
            NoSolutionError, match=r"infeasible at mu = -1.*segment.farkas proves it"
        ) as caught:
            getattr(point, question)
        # x + y <= -1 with x, y >= 0: one number per row, negative because it weighs row_upper.
        assert caught.value.segment is point.segment
        assert (caught.value.segment.farkas < 0).all()

    @pytest.mark.parametrize("question", ["x", "y", "z", "objective"])
    def test_unbounded_point_says_so_and_carries_the_ray(self, engine, question):
        point = engine.solve(UNBOUNDED, -2)
        with pytest.raises(NoSolutionError, match=r"unbounded at mu = -2.*segment.ray shows it") as caught:
            getattr(point, question)
        # The cost -2x falls with x, from any x >= mu = -2.
        assert caught.value.segment.ray[0] > 0
        assert caught.value.segment.x0[0] - 2 * caught.value.segment.x1[0] >= -2

    def test_residuals_of_no_point_are_refused(self, engine):
        with pytest.raises(NoSolutionError):
            budget(engine)(-1).residuals()

    def test_objective_of_a_bad_segment_is_refused_with_its_status(self, engine):
        segment = budget(engine).segments[0]
        with pytest.raises(NoSolutionError, match="infeasible on this piece") as caught:
            _ = segment.objective
        assert caught.value.segment is segment

    def test_bad_segments_have_no_solution_to_offer(self, engine):
        segment = budget(engine).segments[0]
        assert (segment.basis, segment.x0, segment.y0, segment.z1, segment.ray) == (None,) * 5
        optimal = budget(engine).segments[1]
        assert (optimal.farkas, optimal.proof, optimal.ray) == (None, None, None)

    def test_proofs_are_rationals_in_both_arithmetics(self, engine):
        assert all(isinstance(value, Fraction) for value in budget(engine).segments[0].farkas)
        unbounded = engine.solve(UNBOUNDED, -2).segment
        assert all(isinstance(value, Fraction) for value in (*unbounded.ray, *unbounded.x0, *unbounded.x1))


@EVERY_ENGINE
def test_uniqueness_is_judged_inside_infinite_pieces_too(engine):
    path = engine.trace(pqp.ParametricQP(np.diag([1, 0]), [-mu, 0], lower=[0, 0], upper=[math.inf, 1]),
                          (-math.inf, math.inf))  # fmt: skip
    assert [segment.unique for segment in path.segments] == [False, False]
