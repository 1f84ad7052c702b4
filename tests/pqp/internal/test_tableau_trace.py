"""tableau: the trace has no gap, in either direction, from anywhere to anywhere."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest

import pqp
from pqp import mu
from pqp.errors import InternalError, NumericalTroubleError
from pqp.lcp.crisscross import LEAST_INDEX, Cycled
from pqp.lcp.pivot_log import Pivot
from pqp.linalg.field import FIELDS, RATIONAL
from pqp.records.unsolvable import UnsolvablePiece
from pqp.tableau import trace as tableau
from pqp.tableau.compile import compile_problem
from pqp.tableau.trace import OptimalPiece, Tracer
from tests.engines import EVERY_ENGINE, FLOAT_ENGINES

ARITHMETICS = pytest.mark.parametrize("arithmetic", ["float", "exact"])
INFINITY = math.inf
# x + y <= mu, x, y >= 0: infeasible before 0, bends at 1 and 5 (the issue's own example).
BUDGET = pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0)


def events(problem, begin, stop, arithmetic) -> list[Pivot | OptimalPiece | UnsolvablePiece]:
    field = FIELDS[arithmetic]
    tracer = Tracer(compile_problem(problem, field), LEAST_INDEX)
    return list(tracer.trace(tracer.first(), field.number(begin), field.number(stop)))


def course(problem, begin, stop, arithmetic) -> list[tuple[str, object, object]]:
    """Kind, start and end of everything but pivots."""
    found = [event for event in events(problem, begin, stop, arithmetic) if not isinstance(event, Pivot)]
    return [(type(event).__name__, event.start, event.end) for event in found]


@ARITHMETICS
class TestCourse:
    def test_pieces_follow_one_another_in_the_direction_of_the_trace(self, arithmetic):
        rightwards = [
            ("UnsolvablePiece", -2, 0),
            ("OptimalPiece", 0, 1),
            ("OptimalPiece", 1, 5),
            ("OptimalPiece", 5, 8),
        ]
        assert course(BUDGET, -2, 8, arithmetic) == rightwards

    def test_leftwards_trace_meets_the_same_breakpoints(self, arithmetic):
        leftwards = [
            ("OptimalPiece", 8, 5),
            ("OptimalPiece", 5, 1),
            ("OptimalPiece", 1, 0),
            ("UnsolvablePiece", 0, -2),
        ]
        assert course(BUDGET, 8, -2, arithmetic) == leftwards

    def test_both_ends_may_be_infinite(self, arithmetic):
        expected = [
            ("UnsolvablePiece", -INFINITY, 0),
            ("OptimalPiece", 0, 1),
            ("OptimalPiece", 1, 5),
            ("OptimalPiece", 5, INFINITY),
        ]
        assert course(BUDGET, -INFINITY, INFINITY, arithmetic) == expected
        backwards = [(kind, end, start) for kind, start, end in reversed(expected)]
        assert course(BUDGET, INFINITY, -INFINITY, arithmetic) == backwards

    @pytest.mark.parametrize(
        ("at", "kind"),
        [(-1, "UnsolvablePiece"), (0, "OptimalPiece"), (1, "OptimalPiece"), (3, "OptimalPiece")],
    )
    def test_single_point_is_one_event(self, arithmetic, at, kind):
        assert course(BUDGET, at, at, arithmetic) == [(kind, at, at)]

    def test_end_on_a_breakpoint_adds_no_piece_without_length(self, arithmetic):
        assert course(BUDGET, 1, 5, arithmetic) == [("OptimalPiece", 1, 5)]
        assert course(BUDGET, 5, 1, arithmetic) == [("OptimalPiece", 5, 1)]

    def test_solvable_single_point_between_unsolvable_pieces(self, arithmetic):
        # x >= mu, x >= -mu, x <= 0 leaves mu = 0 alone.
        problem = pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[mu, -mu], upper=0)
        assert course(problem, -1, 2, arithmetic) == [
            ("UnsolvablePiece", -1, 0),
            ("OptimalPiece", 0, 0),
            ("UnsolvablePiece", 0, 2),
        ]
        assert course(problem, 2, -1, arithmetic) == [
            ("UnsolvablePiece", 2, 0),
            ("OptimalPiece", 0, 0),
            ("UnsolvablePiece", 0, -1),
        ]

    def test_unsolvable_piece_that_ends_where_the_interval_does_leaves_a_point(self, arithmetic):
        assert course(BUDGET, -2, 0, arithmetic) == [("UnsolvablePiece", -2, 0), ("OptimalPiece", 0, 0)]

    def test_unsolvable_piece_begins_at_the_last_solvable_mu(self, arithmetic):
        assert course(BUDGET, 0, -2, arithmetic) == [("OptimalPiece", 0, 0), ("UnsolvablePiece", 0, -2)]

    def test_bases_on_both_sides_of_a_breakpoint_give_the_same_x_there(self, arithmetic):
        pieces = [event for event in events(BUDGET, 0, 8, arithmetic) if isinstance(event, OptimalPiece)]
        for before, after in pairwise(pieces):
            at = before.end
            left, right = (piece.z[0][:2] + at * piece.z[1][:2] for piece in (before, after))
            assert left.tolist() == right.tolist()

    def test_trace_starts_from_a_known_basis_without_pivots(self, arithmetic):
        tracer = Tracer(compile_problem(BUDGET, FIELDS[arithmetic]), LEAST_INDEX)
        known = next(e for e in tracer.trace(tracer.first(), 2, 3) if isinstance(e, OptimalPiece)).basis
        assert [type(event) for event in tracer.trace(tracer.first(known), 2, 3)] == [OptimalPiece]


class TestExactEnds:
    def test_float_unsolvable_piece_keeps_its_end_as_a_rational(self):
        # 0 <= x <= 3 mu - 1 has a solution from mu = 1/3 on.
        problem = pqp.ParametricQP([[1]], [0], A=[[1]], row_upper=3 * mu - 1, lower=0)
        (piece,) = [event for event in events(problem, 0, 1, "float") if isinstance(event, UnsolvablePiece)]
        assert piece.exact == (0, Fraction(1, 3))
        assert piece.end == pytest.approx(1 / 3)

    def test_float_tracer_proves_in_rationals(self):
        compiled = compile_problem(BUDGET, FIELDS["float"])
        assert Tracer(compiled, LEAST_INDEX).exact.field is RATIONAL
        exact = compile_problem(BUDGET, RATIONAL)
        assert Tracer(exact, LEAST_INDEX).exact is exact


class TestTrouble:
    @staticmethod
    def going_in_circles(dictionary, place, rule):
        yield from ()
        return Cycled(dictionary, (dictionary.basis,))

    def test_float_that_goes_in_circles_names_place_consequence_and_remedy(self, monkeypatch):
        monkeypatch.setattr(tableau, "criss_cross", self.going_in_circles)
        with pytest.raises(NumericalTroubleError, match=r"at mu = 2.0 .* use arithmetic='exact'") as caught:
            events(BUDGET, 2, 3, "float")
        assert caught.value.interval == (2, 2)
        assert caught.value.setting == ("arithmetic", "exact")

    def test_exact_that_goes_in_circles_is_a_bug(self, monkeypatch):
        monkeypatch.setattr(tableau, "criss_cross", self.going_in_circles)
        with pytest.raises(InternalError, match="at mu = 2") as caught:
            events(BUDGET, 2, 3, "exact")
        assert "float" not in str(caught.value)

    def test_float_claim_of_no_solution_is_checked_in_rationals(self):
        # det P = 2⁻⁵² is below rounding error: float64 takes P for singular and the problem for unbounded.
        tiny = 2.0**-52
        problem = pqp.ParametricQP([[1, 1], [1, 1 + tiny]], [0, -1])
        with pytest.raises(NumericalTroubleError, match="use arithmetic='exact'"):
            events(problem, 0, 0, "float")
        # x + y = 0 and x + (1 + 2⁻⁵²) y = 1.
        assert pqp.solve(problem, 0, arithmetic="exact").x.tolist() == [-(2**52), 2**52]


class TestScales:
    # Far apart in size, but easy: the solution or the status by hand.
    SCALES: ClassVar = {
        "two separate problems": (pqp.ParametricQP(np.eye(2), [-1, -1e10], lower=0), [1, 1e10]),
        "a limit far away": (pqp.ParametricQP([[1]], [-1], A=[[1]], row_upper=1e10, lower=0), [1]),
        "no x between 0 and -1": (
            pqp.ParametricQP([[1]], [-1e10], A=[[1]], row_upper=-1, lower=0),
            "infeasible",
        ),
        "downhill, the limit uphill": (pqp.ParametricQP([[0]], [1], A=[[1]], row_upper=1e10), "unbounded"),
        "downhill next to a steep bowl": (
            pqp.ParametricQP(np.diag([0, 1]), [-1, -1e10], lower=0),
            "unbounded",
        ),
    }

    @EVERY_ENGINE
    @pytest.mark.parametrize("name", SCALES)
    def test_badly_scaled_data_give_the_right_answer_or_an_error(self, name, engine):
        problem, expected = self.SCALES[name]
        try:
            point = engine.solve(problem, 0)
        except NumericalTroubleError as error:
            assert not engine.is_exact
            assert error.setting == ("arithmetic", "exact")  # noqa: PT017
        else:
            assert (point.status if isinstance(expected, str) else point.x.tolist()) == expected

    @FLOAT_ENGINES
    def test_float_statuses_on_data_from_tiny_to_huge_are_right_or_refused(self, engine):
        """design.md, section 3: a naive engine gives 17 % wrong statuses on 1e±8 data."""
        random, wrong, refused = np.random.default_rng(3), [], 0
        for number in range(150):
            n, m = int(random.integers(1, 4)), int(random.integers(0, 4))
            shapes = (n, int(random.integers(1, n + 1))), (m, n), m, n
            factor, A, b, c = (random.integers(-3, 4, k) * 10.0 ** random.uniform(-8, 8, k) for k in shapes)
            lower = 0 if random.random() < 0.6 else None
            problem = pqp.ParametricQP(pqp.Gram(factor), c, A=A, row_lower=b, lower=lower)
            try:
                status = engine.solve(problem, 0).status
            except NumericalTroubleError:
                refused += 1
                continue
            if status != pqp.solve(problem, 0, arithmetic="exact").status:
                wrong.append(number)
        assert not wrong
        assert refused <= (40 if engine.method == "tableau" else 15)


@ARITHMETICS
def test_problem_without_variables_has_one_piece(arithmetic):
    problem = pqp.ParametricQP(np.zeros((0, 0)), np.zeros(0), constant=mu)
    assert course(problem, 0, 3, arithmetic) == [("OptimalPiece", 0, 3)]
