"""stepping: compiled events lead where events one by one lead, and what was recorded is what happened."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import pqp
from pqp.errors import NumericalTroubleError
from pqp.revised.basis import CHANGES, Setting, Walk, correct, is_due
from pqp.revised.passes import Journey
from pqp.revised.start import Blocked, find_start
from pqp.revised.states import build_stairs
from pqp.revised.trace import Line, Tracer
from tests.strategies import instances
from tests.walking import FEW, SEEDS, SYSTEMS, any_states, limits_of, walk_from


def lines_of(problem, interval, at_once=True):
    """The lines from a finite start, simple events at once or one by one, as for a log."""
    begin, stop = map(float, interval)
    assume(np.isfinite([begin, stop]).all())
    journey = Journey(problem)
    assume(journey.widths.violated(interval[0]) is None)
    steps = find_start(journey.scene, begin)
    assume(not isinstance(steps, Blocked))
    walk = Walk(journey.scene.setting, steps, begin)
    names = None if at_once else [str(i) for i in range(len(steps))]
    tracer = Tracer(walk, 1, names)
    return [step for step in tracer.trace(begin, stop) if isinstance(step, Line)], journey.scene.setting


def steps_on(lines):
    """The steps of every line, from the first and the changes."""
    steps, result = lines[0].steps.copy(), []
    for line in lines:
        steps[line.changes.items] = line.changes.after
        result.append(steps.copy())
    return result


@FEW
@given(instance=instances())
def test_events_at_once_end_where_events_one_by_one_end(instance):
    try:
        at_once, _ = lines_of(*instance)
        one_by_one, _ = lines_of(*instance, at_once=False)
    except NumericalTroubleError:
        assume(False)
    assume(at_once and one_by_one)
    assert at_once[0].start == one_by_one[0].start
    assert at_once[-1].end == pytest.approx(one_by_one[-1].end)


@FEW
@given(instance=instances())
def test_recorded_lines_are_those_of_their_steps(instance):
    try:
        lines, setting = lines_of(*instance)
    except NumericalTroubleError:
        assume(False)
    assume(lines)
    for line, steps in zip(lines, steps_on(lines), strict=True):
        walk = Walk(setting, steps, line.start)
        order = np.argsort(line.unknowns)
        assert np.array_equal(line.unknowns[order], np.sort(walk.inverse.items))
        lines_there = walk.unknown_lines()[np.argsort(walk.inverse.items)]
        assert np.allclose(line.values[order], lines_there, atol=1e-7)
    for line, later in pairwise(lines):
        assert line.end == later.start


@pytest.mark.parametrize("kind", SYSTEMS)
@FEW
@given(seed=SEEDS, size=st.sampled_from((1e-6, 1.0, 1e3)))
def test_correction_removes_what_is_left_over(kind, seed, size):
    system, random = SYSTEMS[kind](seed), np.random.default_rng(seed)
    limits = limits_of(random, system.size)
    q = random.integers(-3, 4, (system.size, 2)).astype(float)
    setting = Setting(system, q, build_stairs(limits), system.signs < 0)
    walk = walk_from(setting, any_states(random, limits))
    R, track = walk.inverse.items, walk.track
    before = walk.v.copy()
    by = size * random.normal(size=(len(R), 2))
    walk.v[R] += by
    walk.g[:] += system.block(np.arange(system.size), R) @ by
    correct(setting.form, setting.tables, track, np.empty(0, dtype=np.int64))
    assert np.allclose(walk.v, before, atol=1e-7 * (1 + size))
    assert np.isfinite(track.numbers).all()


def test_all_is_due_to_be_computed_anew_after_fifty_changes():
    journey = Journey(pqp.ParametricQP([[2.0]], [-pqp.mu], lower=0))
    walk = Walk(journey.scene.setting, find_start(journey.scene, 1.0), 1.0)
    assert not is_due(walk.track)
    walk.counts[CHANGES] = 50
    assert is_due(walk.track)
    walk.freshen()
    assert walk.changes == 0
