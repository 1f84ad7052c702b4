"""event_loop: compiled events lead where events one by one lead, and the recorded pieces are those passed."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import pqp
from pqp.revised.basis import CHANGES, MixedLCP, WorkingBasis, is_rebuild_due, refine
from pqp.revised.interval_trace import IntervalTracer
from pqp.revised.start import NoStart, find_start
from pqp.revised.states import build_state_table
from pqp.revised.trace import BasisPiece, EventTracer
from tests.refusals import may_refuse, refused_at_most
from tests.strategies import instances
from tests.systems import FEW, SEEDS, SYSTEMS, any_states, bounds_of, working_basis


def pieces_of(problem, interval, at_once=True):
    """The pieces from a finite start, simple events in the compiled loop or one by one, as for a log."""
    begin, stop = map(float, interval)
    assume(np.isfinite([begin, stop]).all())
    tracer = IntervalTracer(problem)
    assume(tracer.crossing_bounds.violated(interval[0]) is None)
    item_states = find_start(tracer.scaled, begin)
    assume(not isinstance(item_states, NoStart))
    basis = WorkingBasis(tracer.scaled.lcp, item_states, begin)
    names = None if at_once else [str(i) for i in range(len(item_states))]
    events = EventTracer(basis, 1, names)
    return [step for step in events.trace(begin, stop) if isinstance(step, BasisPiece)], tracer.scaled.lcp


def states_on(pieces):
    """The states on every piece, from the first and the changes."""
    item_states, result = pieces[0].item_states.copy(), []
    for piece in pieces:
        item_states[piece.changes.items] = piece.changes.after
        result.append(item_states.copy())
    return result


@refused_at_most(0.05)
@FEW
@given(instance=instances())
def test_events_at_once_end_where_events_one_by_one_end(instance):
    with may_refuse():
        at_once, _ = pieces_of(*instance)
        one_by_one, _ = pieces_of(*instance, at_once=False)
    assume(at_once and one_by_one)
    assert at_once[0].start == one_by_one[0].start
    assert at_once[-1].end == pytest.approx(one_by_one[-1].end)


@refused_at_most(0.05)
@FEW
@given(instance=instances())
def test_recorded_pieces_are_those_of_their_states(instance):
    with may_refuse():
        pieces, lcp = pieces_of(*instance)
    assume(pieces)
    for piece, item_states in zip(pieces, states_on(pieces), strict=True):
        basis = WorkingBasis(lcp, item_states, piece.start)
        order = np.argsort(piece.unknowns)
        assert np.array_equal(piece.unknowns[order], np.sort(basis.inverse.items))
        there = basis.unknown_lines()[np.argsort(basis.inverse.items)]
        assert np.allclose(piece.values[order], there, atol=1e-7)
    for piece, later in pairwise(pieces):
        assert piece.end == later.start


@pytest.mark.parametrize("kind", SYSTEMS)
@refused_at_most(0.3)
@FEW
@given(seed=SEEDS, size=st.sampled_from((1e-6, 1.0, 1e3)))
def test_correction_removes_what_is_left_over(kind, seed, size):
    system, random = SYSTEMS[kind](seed), np.random.default_rng(seed)
    bounds = bounds_of(random, system.size)
    q = random.integers(-3, 4, (system.size, 2)).astype(float)
    lcp = MixedLCP(system, q, build_state_table(bounds), system.signs < 0)
    basis = working_basis(lcp, any_states(random, bounds))
    R, arrays = basis.inverse.items, basis.arrays
    before = basis.v.copy()
    by = size * random.normal(size=(len(R), 2))
    basis.v[R] += by
    basis.g[:] += system.block(np.arange(system.size), R) @ by
    refine(lcp.form, lcp.tables, arrays, np.empty(0, dtype=np.int64))
    assert np.allclose(basis.v, before, atol=1e-7 * (1 + size))
    assert np.isfinite(arrays.numbers).all()


def test_all_is_due_to_be_computed_anew_after_fifty_changes():
    tracer = IntervalTracer(pqp.ParametricQP([[2.0]], [-pqp.mu], lower=0))
    basis = WorkingBasis(tracer.scaled.lcp, find_start(tracer.scaled, 1.0), 1.0)
    assert not is_rebuild_due(basis.arrays)
    basis.counts[CHANGES] = 50
    assert is_rebuild_due(basis.arrays)
    basis.recompute()
    assert basis.changes == 0
