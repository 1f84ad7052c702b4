"""excerpt and repair: the few items that move, traced exactly, give the lines of the whole problem."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given

import pqp
from pqp.errors import NumericalTroubleError
from pqp.linalg.tolerances import ACCURATE
from pqp.records.unsolvable import UnsolvablePiece
from pqp.revised import exact_repair as rescue
from pqp.revised.basis import Walk
from pqp.revised.exact_repair import Repair, Rescuer, joined, take_excerpt
from pqp.revised.passes import Journey, Leg, ascending
from pqp.revised.states import BETWEEN, UPPER
from pqp.revised.trace import NO_CHANGES, Line
from pqp.revised.verify import misses
from tests.pqp.internal.test_verify import leg_of
from tests.strategies import instances
from tests.walking import FEW


class TooLarge(Rescuer):
    """A problem that is said to be too large to be traced exactly as a whole."""

    @property
    def is_able(self) -> bool:
        return False


def repair_of(journey, rescuer=Rescuer):
    return Repair(journey.translation, journey.scene, rescuer(journey.problem))


@FEW
@given(instance=instances())
def test_excerpt_of_what_moves_has_the_solution_of_the_line(instance):
    leg, journey = leg_of(*instance)
    line, steps = leg.lines[0], leg.first
    assume(line.start < line.end)
    excerpt = take_excerpt(journey.translation, steps, journey.scene.setting.is_unknown(steps))
    middle = (line.start + line.end) / 2
    found = next(iter(Rescuer(excerpt.problem).pieces(excerpt.own_states(), middle, middle)))
    assert not isinstance(found, UnsolvablePiece)
    values = excerpt.whole(found.x, found.y)[journey.translation.items[line.unknowns]]
    mine = line.values * journey.scene.d[line.unknowns][:, None]
    np.testing.assert_allclose(values @ (1, middle), mine @ (1, middle), rtol=1e-9, atol=1e-9)


@FEW
@given(instance=instances())
def test_lines_in_excerpts_are_those_of_the_whole_problem(instance):
    leg, journey = leg_of(*instance)
    begin, stop = leg.lines[0].start, leg.lines[-1].end
    assume(begin < stop)
    whole = list(repair_of(journey).lines(leg.first, begin, stop))
    try:
        parts = list(repair_of(journey, TooLarge).lines(leg.first, begin, stop))
    except NumericalTroubleError:  # an excerpt proves no dead end
        parts = []
    assume(parts)
    assume(not any(isinstance(event, UnsolvablePiece) for event in whole))
    assert parts[-1].end == whole[-1].end
    assert (misses(joined(parts), journey.scene.setting) <= ACCURATE).all()


def wide(n=400):
    """More variables than exact arithmetic carries: min Σ ½xᵢ² − mu aᵢxᵢ, 0 ≤ x ≤ 1, a = 1, ..., 5, 200, ...

    x₁, ..., x₅ reach 1 at mu = 1, 1/2, 1/3, 1/4, 1/5, the others at 1/200.
    """
    slopes = np.where(np.arange(n) < 5, np.arange(n) + 1, 200)
    return pqp.ParametricQP(np.eye(n), -pqp.mu * slopes, lower=0, upper=1)


class TestLargeProblem:
    def traced(self):
        journey = Journey(wide())
        lines = [event for event in journey.events(0.1, 2.0) if isinstance(event, Line)]
        return repair_of(journey), ascending(lines)

    def test_line_that_skips_bends_is_replaced_by_exact_ones(self):
        repair, leg = self.traced()
        skipping = Leg(leg.first, (replace(leg.lines[0], end=2.0),))
        mended = repair.repaired(skipping)
        bends = [1 / 5, 1 / 4, 1 / 3, 1 / 2, 1]
        np.testing.assert_allclose([line.start for line in mended.lines], [0.1, *bends], rtol=1e-15)
        assert not repair.rescuer.is_able

    def test_line_on_a_wrong_basis_is_replaced(self):
        """On it x₁ stays at 1 although its multiplier has the wrong sign."""
        repair, leg = self.traced()
        wrong = leg.last()
        wrong[4], wrong[0] = BETWEEN, UPPER
        walk = Walk(repair.scene.setting, wrong, 0.6)
        line = Line(0.6, 0.7, None, NO_CHANGES, walk.inverse.items.copy(), walk.unknown_lines())
        (mended,) = repair.repaired(Leg(wrong, (line,))).lines
        assert mended.unknowns.tolist() == [0]
        np.testing.assert_allclose(mended.values, [[0, 1]], atol=1e-15)

    def test_what_cannot_be_mended_is_refused_with_its_interval_and_condition(self, monkeypatch):
        repair, leg = self.traced()
        monkeypatch.setattr(rescue, "LARGEST", 3)
        skipping = Leg(leg.first, (replace(leg.lines[0], end=2.0),))
        with pytest.raises(NumericalTroubleError, match=r"on \[0.1, 2.0\].*condition") as caught:
            repair.repaired(skipping)
        assert caught.value.interval == (0.1, 2.0)
