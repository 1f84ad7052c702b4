"""verification: right lines pass, and lines with a wrong number or on wrong steps do not."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from pqp.collecting import ascending
from pqp.field import ACCURATE
from pqp.journey import Journey
from pqp.repair import Repair
from pqp.rescue import Rescuer
from pqp.revised import Line
from pqp.verification import misses
from tests.strategies import instances
from tests.walking import FEW


def leg_of(problem, interval):
    """The lines of a trace from a finite end, and the journey they belong to."""
    assume(not any(np.isinf(end) for end in map(float, interval)))
    journey = Journey(problem)
    begin, stop = map(float, interval)
    lines = [event for event in journey.events(begin, stop) if isinstance(event, Line)]
    assume(lines)
    return ascending(lines), journey


@FEW
@given(instance=instances())
def test_lines_of_a_trace_pass(instance):
    leg, journey = leg_of(*instance)
    assert (misses(leg, journey.scene.setting) <= ACCURATE).all()


@FEW
@given(instance=instances(), data=st.data())
def test_line_with_a_wrong_number_is_found_alone(instance, data):
    leg, journey = leg_of(*instance)
    numbers = [k for k, line in enumerate(leg.lines) if len(line.unknowns)]
    assume(numbers)
    wrong = data.draw(st.sampled_from(numbers))
    line = leg.lines[wrong]
    values = line.values.copy()
    values[data.draw(st.integers(0, len(values) - 1)), 0] += 0.25
    bent = replace(leg, lines=(*leg.lines[:wrong], replace(line, values=values), *leg.lines[wrong + 1 :]))
    found = misses(bent, journey.scene.setting)
    assert np.flatnonzero(found > ACCURATE).tolist() == [wrong]


@FEW
@given(instance=instances(), data=st.data())
def test_line_that_goes_too_far_is_found(instance, data):
    """Beyond its end something leaves its range, unless the interval just ended there."""
    leg, journey = leg_of(*instance)
    assume(len(leg.lines) > 1)
    line = leg.lines[0]
    too_far = replace(leg, lines=(replace(line, end=leg.lines[-1].end + 100.0),))
    later = misses(leg, journey.scene.setting)
    assert (later <= ACCURATE).all()
    assert misses(too_far, journey.scene.setting)[0] > ACCURATE


@FEW
@given(instance=instances(), data=st.data())
def test_wrong_lines_are_repaired_exactly(instance, data):
    leg, journey = leg_of(*instance)
    numbers = [k for k, line in enumerate(leg.lines) if len(line.unknowns) and line.start < line.end]
    assume(numbers)
    wrong = data.draw(st.sampled_from(numbers))
    line = leg.lines[wrong]
    values = line.values + 0.25
    bent = replace(leg, lines=(*leg.lines[:wrong], replace(line, values=values), *leg.lines[wrong + 1 :]))
    repair = Repair(journey.translation, journey.scene, Rescuer(journey.problem))
    mended = repair.repaired(bent)
    assert (misses(mended, journey.scene.setting) <= ACCURATE).all()
    assert (mended.lines[0].start, mended.lines[-1].end) == (leg.lines[0].start, leg.lines[-1].end)
    assert repair.repaired(leg) is leg
