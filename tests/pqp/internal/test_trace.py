"""trace: pieces are solutions by the data, without a gap, and a basis that moves keeps its lines right."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import pqp
from pqp import mu
from pqp.revised.event_kernels import AT_HI, AT_LO, DUAL, FIXED_SLOPE, G_SLOPE, INSIDE, SLOPE, VALUE
from pqp.revised.runner import RevisedRunner
from pqp.revised.states import BELOW, BETWEEN, LOWER, UPPER, VALUE_FIXED
from pqp.revised.trace import LargeTieError, Tracer
from pqp.stopping import StopLimits, StoppedError, Watch
from tests.engines import EXACT
from tests.refusals import refused_at_most
from tests.strategies import for_all, instances
from tests.systems import (
    FEW,
    SEEDS,
    SYSTEMS,
    any_states,
    bounds_of,
    dense,
    off_optimality,
    pieces_of,
    setting_of,
    trace_of,
    tracer_at,
)

EVERY_SYSTEM = pytest.mark.parametrize("kind", SYSTEMS)
CLOSE = 1e-8
# The numbers of random problems have one digit.
OPTIMAL = 1e-7


def points_of(traced):
    """Both ends and the middle of every piece, with v there by its states and its unknowns."""
    lcp = traced.lcp
    for piece in pieces_of(traced.sequence):
        states = piece.states
        assert np.flatnonzero(lcp.is_unknown(states)).tolist() == sorted(piece.unknowns)
        ends = [end for end in (piece.start, piece.end) if np.isfinite(end)]
        outwards = 3 * sum(np.sign(end) for end in (piece.start, piece.end) if not np.isfinite(end))
        for at in (*ends, sum(ends) / len(ends) + outwards):
            v = lcp.table.of(states)[:2].T @ (1.0, at)
            v[piece.unknowns] = piece.values @ (1.0, at)
            yield at, v


@for_all(instance=instances(), backwards=st.booleans())
def test_every_point_of_every_piece_is_optimal_by_the_data(instance, backwards):
    problem, interval = instance
    traced = trace_of(problem, interval[::-1] if backwards else interval)
    scaled = traced.runner.scaled
    for at, v in points_of(traced):
        size = 1 + np.abs(v).max(initial=0.0)
        assert off_optimality(scaled.bounds, scaled.system, scaled.q, at, v) <= OPTIMAL * size


@for_all(instance=instances(), backwards=st.booleans())
def test_pieces_cover_the_way_to_the_goal_or_to_the_ray(instance, backwards):
    problem, interval = instance
    traced = trace_of(problem, interval[::-1] if backwards else interval)
    pieces = traced.tracer.pieces
    end = traced.end if traced.ray is None else traced.ray.mu
    if not pieces:
        assert end == traced.begin
        return
    assert (pieces.starts[0], pieces.ends[-1]) == (traced.begin, end)
    assert pieces.ends[:-1] == pieces.starts[1:]


@for_all(instance=instances())
def test_ray_is_where_the_exact_path_ends(instance):
    problem, interval = instance
    traced = trace_of(problem, interval)
    if traced.ray is None:
        assert EXACT.solve(problem, traced.end if np.isfinite(traced.end) else 1e6).status == "optimal"
    else:
        assert EXACT.solve(problem, traced.ray.mu + 1e-6).status != "optimal"


@for_all(instance=instances())
def test_pieces_do_not_depend_on_how_often_all_is_recomputed(instance):
    one, other = (trace_of(*instance, rebuild_every=often) for often in (50, 1))
    assume(len(one.tracer.pieces))
    assert np.allclose(one.sequence.ends, other.sequence.ends)
    assert one.sequence.last_states().tolist() == other.sequence.last_states().tolist()


@FEW
@given(instance=instances())
def test_logged_trace_is_the_same_path_and_names_what_crosses(instance):
    plain = trace_of(*instance)
    assume(len(plain.tracer.pieces))
    names = [f"item {i}" for i in range(len(plain.tracer.states))]
    tracer = Tracer(plain.lcp, plain.tracer.pieces.first, plain.begin, names=names)
    with np.errstate(over="ignore", invalid="ignore"):
        tracer.run(plain.end)
    assert np.allclose(tracer.pieces.ends, plain.tracer.pieces.ends)
    crossed = {name for entry in tracer.log for name in getattr(entry, "items", ())}
    assert crossed <= set(names)


def assert_lines(tracer):
    """g = M v + q, fixed quantities are held, and ranges are those of the states."""
    lcp, states, at = tracer.lcp, tracer.states, tracer.mu
    table, unknown = lcp.table.of(states), lcp.is_unknown(states)
    assert sorted(tracer.basis.items) == np.flatnonzero(unknown).tolist()
    assert np.array_equal(tracer.flags[INSIDE], unknown)
    assert np.array_equal(tracer.flags[DUAL], VALUE_FIXED[states])
    fixed = np.stack([table[0] + at * table[1], table[1]])
    v = np.where(unknown, tracer.lines[[VALUE, SLOPE]], fixed)
    g = dense(lcp.system) @ v.T + np.column_stack([lcp.q @ (1.0, at), lcp.q[:, 1]])
    scale = CLOSE * (1 + np.abs(v).max())
    assert np.allclose(g.T[:, unknown], fixed[:, unknown], atol=scale)
    assert np.allclose(g.T[:, ~unknown], tracer.lines[[VALUE, SLOPE]][:, ~unknown], atol=scale)
    assert np.allclose(tracer.lines[G_SLOPE], g[:, 1], atol=scale)
    assert np.array_equal(tracer.lines[FIXED_SLOPE], table[1])
    assert np.array_equal(tracer.lines[2:6], table[2:6])


@EVERY_SYSTEM
@refused_at_most(0.7)
@FEW
@given(seed=SEEDS, at=st.sampled_from((0.0, 1.0, -2.5)))
def test_lines_solve_the_system(kind, seed, at):
    lcp, bounds = setting_of(kind, seed)
    assert_lines(tracer_at(lcp, any_states(np.random.default_rng(seed), bounds), at))


@FEW
@given(instance=instances())
def test_lines_solve_the_system_after_a_trace_and_after_a_rebuild(instance):
    traced = trace_of(*instance)
    assume(np.isfinite(traced.tracer.mu))
    assert_lines(traced.tracer)
    traced.tracer.rebuild()
    assert_lines(traced.tracer)


def follow(tracer, item):
    """How everything that depends follows the fixed quantity of an item, by holding it one higher."""
    table = tracer.lcp.table
    lines = table.lines.copy()
    lines[tracer.states[item], 0, item] += 1.0
    moved = Tracer(replace(tracer.lcp, table=replace(table, lines=lines)), tracer.states, tracer.mu)
    return moved.lines[VALUE] - tracer.lines[VALUE]


@EVERY_SYSTEM
@refused_at_most(0.7)
@FEW
@given(seed=SEEDS, data=st.data())
def test_response_is_how_dependents_follow_what_is_held(kind, seed, data):
    lcp, bounds = setting_of(kind, seed)
    tracer = tracer_at(lcp, any_states(np.random.default_rng(seed), bounds))
    item = data.draw(st.integers(0, len(bounds) - 1))
    wanted = follow(tracer, item)
    assert np.allclose(tracer.response(item)[0], wanted, atol=CLOSE * (1 + np.abs(wanted).max()))


@EVERY_SYSTEM
@refused_at_most(0.7)
@FEW
@given(seed=SEEDS)
def test_gaps_are_distances_to_the_ends(kind, seed):
    lcp, bounds = setting_of(kind, seed)
    states = any_states(np.random.default_rng(seed), bounds)
    tracer = tracer_at(lcp, states, 2.0)
    table, value = lcp.table.of(states), tracer.lines[VALUE]
    low, high = (table[end] + 2.0 * table[end + 1] for end in (2, 4))
    assert np.array_equal(tracer.gaps(), np.stack([value - low, high - value]))


@EVERY_SYSTEM
@refused_at_most(0.7)
@FEW
@given(seed=SEEDS)
def test_point_is_the_solution_at_one_mu(kind, seed):
    lcp, bounds = setting_of(kind, seed)
    states = any_states(np.random.default_rng(seed), bounds)
    tracer = tracer_at(lcp, states, 2.0)
    point = tracer.point()
    assert (point.start, point.end, point.states.tolist()) == (2.0, 2.0, states.tolist())
    assert np.allclose(point.values @ (1.0, 2.0), tracer.lines[VALUE, point.unknowns])
    assert np.allclose(point.values[:, 1], tracer.lines[SLOPE, point.unknowns])


def rising(size):
    """min Σ ½x² − mu x over 0 ≤ x ≤ 1: at mu = 0 everything ties, and all of it must rise."""
    return RevisedRunner(pqp.ParametricQP(np.eye(size), -mu * np.ones(size), lower=0, upper=1), False)


class TestFirstTie:
    def test_large_tie_at_the_beginning_is_left_to_a_start_elsewhere(self):
        tracer = Tracer(rising(100).scaled.lcp, np.full(100, LOWER), 0.0)
        with pytest.raises(LargeTieError):
            tracer.run(2.0, first_tie=True)
        assert len(tracer.pieces) == 0

    @pytest.mark.parametrize(("size", "first_tie"), [(100, False), (30, True)])
    def test_small_ties_and_patient_traces_are_settled(self, size, first_tie):
        tracer = Tracer(rising(size).scaled.lcp, np.full(size, LOWER), 0.0)
        assert tracer.run(2.0, first_tie=first_tie) is None
        assert tracer.pieces.ends == [1.0, 2.0]
        assert tracer.pieces.first.tolist() == [BETWEEN] * size


def staircase(size):
    """min Σ ½xᵢ² − mu xᵢ over xᵢ ≤ i: one bend at every whole number."""
    problem = pqp.ParametricQP(np.eye(size), -mu * np.ones(size), lower=-9, upper=np.arange(1, size + 1))
    runner = RevisedRunner(problem, False)
    return Tracer(runner.scaled.lcp, np.zeros(size, dtype=np.int8), 0.0)


class TestStops:
    def test_trace_stops_at_the_piece_that_is_one_too_many(self):
        tracer, watch = staircase(20), Watch(StopLimits(max_pieces=3), 0.0)
        with pytest.raises(StoppedError):
            tracer.run(30.0, watch)
        assert tracer.pieces.ends == [1, 2, 3]
        assert tracer.counts.events == 3

    def test_trace_stops_when_its_time_is_over(self):
        tracer, watch = staircase(20), Watch(StopLimits(time_limit=1e-9), 0.0)
        with pytest.raises(StoppedError):
            tracer.run(30.0, watch)
        assert len(tracer.pieces) == 0

    def test_stopped_trace_goes_on_from_where_it_was(self):
        tracer = staircase(20)
        with pytest.raises(StoppedError):
            tracer.run(30.0, Watch(StopLimits(max_pieces=3), 0.0))
        assert tracer.run(30.0) is None
        assert tracer.pieces.ends == [*range(1, 21), 30]

    def test_pieces_that_are_not_wanted_are_not_kept(self):
        tracer = staircase(5)
        tracer.run(10.0, keep_pieces=False)
        assert (tracer.mu, len(tracer.pieces)) == (10.0, 0)


def test_ends_that_were_decided_are_marked():
    tracer = staircase(3)
    tracer.run(1.0)
    assert np.flatnonzero(tracer.flags[AT_HI]).tolist() == [0]
    assert not tracer.flags[AT_LO].any()


def test_jump_along_the_optimal_set_is_one_event_with_a_ray():
    """min (mu − 1) x over 0 ≤ x ≤ 1: at mu = 1 all x are optimal, and x jumps from 1 to 0."""
    runner = RevisedRunner(pqp.ParametricQP([[0]], [mu - 1], lower=0, upper=1), False)
    tracer = Tracer(runner.scaled.lcp, np.array([UPPER]), 0.0)
    assert tracer.run(3.0) is None
    assert (tracer.pieces.starts, tracer.pieces.ends) == ([0, 1], [1, 3])
    assert tracer.counts.rays == 1
    assert tracer.states.tolist() == [LOWER]


def test_unblocked_ray_names_what_moves_without_end():
    """min (1 − mu) x over x ≥ 0: unbounded beyond mu = 1."""
    runner = RevisedRunner(pqp.ParametricQP([[0]], [1 - mu], lower=0), False)
    tracer = Tracer(runner.scaled.lcp, np.array([LOWER]), 0.0)
    ray = tracer.run(3.0)
    assert (ray.mu, ray.item, ray.sense) == (1.0, 0, 1)
    assert tracer.pieces.ends == [1.0]


def test_soft_row_is_left_when_its_penalty_is_reached():
    """min ½x² + mu max(0, 1 − x): x = mu until mu = 1."""
    runner = RevisedRunner(pqp.ParametricQP([[1]], [0], A=[[2]], row_lower=2, penalty=mu / 2), False)
    scaled = runner.scaled
    tracer = Tracer(scaled.lcp, np.full(len(scaled.bounds), BELOW), 0.0)
    assert tracer.run(3.0) is None
    assert tracer.pieces.ends == [1.0, 3.0]


def test_random_bounds_have_every_kind():
    """What the properties above are tested on."""
    bounds = bounds_of(np.random.default_rng(0), 200)
    assert bounds.is_equal.any()
    assert bounds.is_free.any()
    assert np.isfinite(bounds.cap[:, 0]).any()
