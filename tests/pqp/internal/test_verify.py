"""verification: right lines pass, and lines with a wrong number or on wrong steps do not."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import pqp
from pqp.linalg.field import FLOAT
from pqp.linalg.structure import FACTORED, PAIRED
from pqp.linalg.tolerances import ACCURATE
from pqp.revised.exact_repair import Repair, Rescuer
from pqp.revised.passes import Journey, ascending
from pqp.revised.trace import Line
from pqp.revised.verify import CHUNK, misses, misses_again
from tests.strategies import instances
from tests.thresholds import objects, ordinal_dual
from tests.walking import FEW, SEEDS


def leg_of(problem, interval):
    """The lines of a trace from a finite end, and the journey they belong to."""
    assume(not any(np.isinf(end) for end in map(float, interval)))
    lines, journey = lines_of(problem, *map(float, interval))
    assume(lines)
    return ascending(lines), journey


def lines_of(problem, begin, stop):
    """The lines of a trace, and the journey they belong to."""
    journey = Journey(problem)
    return [event for event in journey.events(begin, stop) if isinstance(event, Line)], journey


def thin_leg(seed):
    """The lines of a trace whose matrix is known by two columns, with or without a diagonal."""
    random, size = np.random.default_rng(seed), 12
    diagonal = random.integers(1, 3, size) if seed % 2 else None
    problem = pqp.ParametricQP(
        P=pqp.Gram(random.integers(-2, 3, (size, 2)), diagonal),
        c=random.integers(-9, 10, size) + pqp.mu * random.integers(-5, 6, size),
        lower=np.zeros(size),
        upper=np.ones(size) + pqp.mu * random.integers(0, 2, size),
    )
    leg, journey = leg_of(problem, (0, 3))
    assert journey.scene.setting.form.H.kind == FACTORED
    return leg, journey.scene.setting


def bent_at(leg, number, by):
    """The leg with one line moved."""
    line = leg.lines[number]
    moved = replace(line, values=line.values + by)
    return replace(leg, lines=(*leg.lines[:number], moved, *leg.lines[number + 1 :]))


@FEW
@given(seed=SEEDS)
def test_lines_over_thin_factors_pass(seed):
    leg, setting = thin_leg(seed)
    assert (misses(leg, setting) <= ACCURATE).all()


@FEW
@given(seed=SEEDS, data=st.data())
def test_wrong_number_over_thin_factors_is_found_alone(seed, data):
    leg, setting = thin_leg(seed)
    numbers = [k for k, line in enumerate(leg.lines) if len(line.unknowns)]
    assume(numbers)
    wrong = data.draw(st.sampled_from(numbers))
    bent = bent_at(leg, wrong, [0.25, 0.0])
    assert np.flatnonzero(misses(bent, setting) > ACCURATE).tolist() == [wrong]


@FEW
@given(seed=SEEDS, data=st.data())
def test_wrong_step_over_thin_factors_is_found(seed, data):
    """What is solved for must be what the steps leave unknown."""
    leg, setting = thin_leg(seed)
    assume(len(leg.lines) > 1)
    late = data.draw(st.integers(1, len(leg.lines) - 1))
    lines = (*leg.lines[:late], replace(leg.lines[late], changes=leg.lines[0].changes))
    assert misses(replace(leg, lines=lines), setting)[late] > ACCURATE


def test_lines_over_pairs_and_rows_are_judged_as_over_the_matrix_they_stand_for():
    problem = ordinal_dual(*objects(150, 7, 5), kernel="rbf")
    lines, journey = lines_of(problem, 1.0, 1e4)
    leg = ascending(lines)
    paired, entries = journey.scene.setting, replace(problem, P=problem.P.matrix(FLOAT))
    assert paired.form.H.kind == PAIRED
    assert len(leg.lines) > CHUNK
    assert (misses(leg, paired) <= ACCURATE).all()
    for wrong in (3, CHUNK + 3):
        bent = bent_at(leg, wrong, [0.25, 0.0])
        assert np.flatnonzero(misses(bent, paired) > ACCURATE).tolist() == [wrong]
        np.testing.assert_allclose(
            misses(bent, paired), misses(bent, Journey(entries).scene.setting), rtol=1e-6, atol=1e-10
        )


@FEW
@given(seed=SEEDS, data=st.data())
def test_renewed_lines_are_judged_as_all_lines_are(seed, data):
    leg, setting = thin_leg(seed)
    numbers = [k for k, line in enumerate(leg.lines) if len(line.unknowns)]
    assume(numbers)
    wrong = data.draw(st.sampled_from(numbers))
    long = replace(leg, lines=leg.lines + 40 * (replace(leg.lines[-1], changes=leg.lines[0].changes),))
    bent = bent_at(long, wrong, [0.25, 0.0])
    again = misses_again(bent, setting, misses(long, setting), np.array([wrong]))
    assert ((again > ACCURATE) == (misses(bent, setting) > ACCURATE)).all()
    assert again[wrong] > ACCURATE


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
