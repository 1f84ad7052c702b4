"""verify: right pieces pass, and pieces with a wrong number or in wrong states do not."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import pqp
from pqp.linalg.field import FLOAT
from pqp.linalg.structure import FACTORED, PAIRED
from pqp.linalg.tolerances import ACCURATE
from pqp.revised.exact_repair import ExactTracer, Repair
from pqp.revised.interval_trace import IntervalTracer, ascending
from pqp.revised.trace import BasisPiece
from pqp.revised.verify import CHUNK, violations, violations_after
from tests.strategies import instances
from tests.systems import FEW, SEEDS
from tests.thresholds import objects, ordinal_dual


def leg_of(problem, interval):
    """The lines of a trace from a finite end, and its tracer."""
    assume(not any(np.isinf(end) for end in map(float, interval)))
    lines, tracer = lines_of(problem, *map(float, interval))
    assume(lines)
    return ascending(lines), tracer


def lines_of(problem, begin, stop):
    """The lines of a trace, and its tracer."""
    tracer = IntervalTracer(problem)
    return [event for event in tracer.events(begin, stop) if isinstance(event, BasisPiece)], tracer


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
    sequence, tracer = leg_of(problem, (0, 3))
    assert tracer.scaled.lcp.form.H.kind == FACTORED
    return sequence, tracer.scaled.lcp


def bent_at(sequence, number, by):
    """The sequence with one line moved."""
    line = sequence.pieces[number]
    moved = replace(line, values=line.values + by)
    return replace(sequence, pieces=(*sequence.pieces[:number], moved, *sequence.pieces[number + 1 :]))


@FEW
@given(seed=SEEDS)
def test_lines_over_thin_factors_pass(seed):
    sequence, lcp = thin_leg(seed)
    assert (violations(sequence, lcp) <= ACCURATE).all()


@FEW
@given(seed=SEEDS, data=st.data())
def test_wrong_number_over_thin_factors_is_found_alone(seed, data):
    sequence, lcp = thin_leg(seed)
    numbers = [k for k, line in enumerate(sequence.pieces) if len(line.unknowns)]
    assume(numbers)
    wrong = data.draw(st.sampled_from(numbers))
    bent = bent_at(sequence, wrong, [0.25, 0.0])
    assert np.flatnonzero(violations(bent, lcp) > ACCURATE).tolist() == [wrong]


@FEW
@given(seed=SEEDS, data=st.data())
def test_wrong_step_over_thin_factors_is_found(seed, data):
    """What is solved for must be what the steps leave unknown."""
    sequence, lcp = thin_leg(seed)
    assume(len(sequence.pieces) > 1)
    late = data.draw(st.integers(1, len(sequence.pieces) - 1))
    lines = (*sequence.pieces[:late], replace(sequence.pieces[late], changes=sequence.pieces[0].changes))
    assert violations(replace(sequence, pieces=lines), lcp)[late] > ACCURATE


def test_lines_over_pairs_and_rows_are_judged_as_over_the_matrix_they_stand_for():
    problem = ordinal_dual(*objects(150, 7, 5), kernel="rbf")
    lines, tracer = lines_of(problem, 1.0, 1e4)
    sequence = ascending(lines)
    paired, entries = tracer.scaled.lcp, replace(problem, P=problem.P.matrix(FLOAT))
    assert paired.form.H.kind == PAIRED
    assert len(sequence.pieces) > CHUNK
    assert (violations(sequence, paired) <= ACCURATE).all()
    for wrong in (3, CHUNK + 3):
        bent = bent_at(sequence, wrong, [0.25, 0.0])
        assert np.flatnonzero(violations(bent, paired) > ACCURATE).tolist() == [wrong]
        np.testing.assert_allclose(
            violations(bent, paired),
            violations(bent, IntervalTracer(entries).scaled.lcp),
            rtol=1e-6,
            atol=1e-10,
        )


@FEW
@given(seed=SEEDS, data=st.data())
def test_renewed_lines_are_judged_as_all_lines_are(seed, data):
    sequence, lcp = thin_leg(seed)
    numbers = [k for k, line in enumerate(sequence.pieces) if len(line.unknowns)]
    assume(numbers)
    wrong = data.draw(st.sampled_from(numbers))
    long = replace(
        sequence,
        pieces=sequence.pieces + 40 * (replace(sequence.pieces[-1], changes=sequence.pieces[0].changes),),
    )
    bent = bent_at(long, wrong, [0.25, 0.0])
    again = violations_after(bent, lcp, violations(long, lcp), np.array([wrong]))
    assert ((again > ACCURATE) == (violations(bent, lcp) > ACCURATE)).all()
    assert again[wrong] > ACCURATE


@FEW
@given(instance=instances())
def test_lines_of_a_trace_pass(instance):
    sequence, tracer = leg_of(*instance)
    assert (violations(sequence, tracer.scaled.lcp) <= ACCURATE).all()


@FEW
@given(instance=instances(), data=st.data())
def test_line_with_a_wrong_number_is_found_alone(instance, data):
    sequence, tracer = leg_of(*instance)
    numbers = [k for k, line in enumerate(sequence.pieces) if len(line.unknowns)]
    assume(numbers)
    wrong = data.draw(st.sampled_from(numbers))
    line = sequence.pieces[wrong]
    values = line.values.copy()
    values[data.draw(st.integers(0, len(values) - 1)), 0] += 0.25
    bent = replace(
        sequence,
        pieces=(*sequence.pieces[:wrong], replace(line, values=values), *sequence.pieces[wrong + 1 :]),
    )
    found = violations(bent, tracer.scaled.lcp)
    assert np.flatnonzero(found > ACCURATE).tolist() == [wrong]


@FEW
@given(instance=instances(), data=st.data())
def test_line_that_goes_too_far_is_found(instance, data):
    """Beyond its end something leaves its range, unless the interval just ended there."""
    sequence, tracer = leg_of(*instance)
    assume(len(sequence.pieces) > 1)
    line = sequence.pieces[0]
    too_far = replace(sequence, pieces=(replace(line, end=sequence.pieces[-1].end + 100.0),))
    later = violations(sequence, tracer.scaled.lcp)
    assert (later <= ACCURATE).all()
    assert violations(too_far, tracer.scaled.lcp)[0] > ACCURATE


@FEW
@given(instance=instances(), data=st.data())
def test_wrong_lines_are_repaired_exactly(instance, data):
    sequence, tracer = leg_of(*instance)
    numbers = [k for k, line in enumerate(sequence.pieces) if len(line.unknowns) and line.start < line.end]
    assume(numbers)
    wrong = data.draw(st.sampled_from(numbers))
    line = sequence.pieces[wrong]
    values = line.values + 0.25
    bent = replace(
        sequence,
        pieces=(*sequence.pieces[:wrong], replace(line, values=values), *sequence.pieces[wrong + 1 :]),
    )
    repair = Repair(tracer.postsolve, tracer.scaled, ExactTracer(tracer.problem))
    mended = repair.repaired(bent)
    assert (violations(mended, tracer.scaled.lcp) <= ACCURATE).all()
    assert (mended.pieces[0].start, mended.pieces[-1].end) == (
        sequence.pieces[0].start,
        sequence.pieces[-1].end,
    )
    assert repair.repaired(sequence) is sequence
