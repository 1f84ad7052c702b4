"""engines: the revised one against the exact tableau, on problems that are degenerate on purpose.

Statuses, the intervals they hold on, values everywhere and unique solutions must be the same; pieces need not
be, for multipliers and solutions that are not unique may bend elsewhere.
"""

import tempfile
from itertools import groupby
from pathlib import Path

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import pqp
from pqp import load_path, mu
from pqp.io.writing import path_document
from tests.comparison import inside, marks, optimal, optimal_points, traced, unique_points
from tests.engines import REVISED
from tests.strategies import INFINITY, for_all, instances

# What float64 may differ from the exact path by, relative to 1 and the number itself.
CLOSE = 1e-7
DIRECTIONS = st.sampled_from(("left-to-right", "right-to-left"))
# The tableau needs more than a second for an exact path with more variables and rows than this.
MOST = 8


def is_close(found, known):
    known = np.asarray(known, dtype=float)
    return np.allclose(np.asarray(found, dtype=float), known, rtol=CLOSE, atol=CLOSE)


def assert_same_statuses(found, exact):
    """The same statuses on the same intervals, which own the same ends."""
    assert [stretch.status for stretch in found.intervals] == [stretch.status for stretch in exact.intervals]
    for ours, theirs in zip(found.intervals, exact.intervals, strict=True):
        assert is_close((ours.lo, ours.hi), (theirs.lo, theirs.hi))
        assert (ours.lo_closed, ours.hi_closed) == (theirs.lo_closed, theirs.hi_closed)


def at(path, mu):
    """What a path says at a mu that rounding may have moved just out of the solvable stretch."""
    pieces = optimal(path)
    return pqp.Path.__call__(path, min(max(float(mu), pieces[0].lo), pieces[-1].hi))


def assert_same_path(found, exact):
    """Statuses, values everywhere, and x where it is unique."""
    assert_same_statuses(found, exact)
    for point in optimal_points(exact):
        assert is_close(at(found, point.mu).objective, point.objective), f"values differ at mu = {point.mu}"
    for point in unique_points(exact):
        assert is_close(at(found, point.mu).x, point.x), f"the unique x differs at mu = {point.mu}"
    for segment in optimal(found):
        if segment.lo < segment.hi and not np.isclose(segment.lo, segment.hi, rtol=CLOSE, atol=CLOSE):
            point = segment.at(inside(segment))
            assert is_close(point.objective, exact(point.mu).objective), f"values differ at mu = {point.mu}"


def assume_ends_are_floats(interval):
    """A rounded end may lie beyond the last solvable mu, and then the two paths rightly differ."""
    assume(all(float(end) == end for end in interval))


@for_all(instance=instances(), direction=DIRECTIONS)
def test_revised_path_is_the_exact_one(instance, direction):
    problem, interval = instance
    assume_ends_are_floats(interval)
    found = REVISED.trace(problem, interval, direction=direction)
    assert_same_path(found, traced(problem, interval))
    found.certify()


@for_all(instance=instances(most=MOST), direction=DIRECTIONS)
def test_revised_path_of_a_larger_problem_is_the_exact_one(instance, direction):
    problem, interval = instance
    assume_ends_are_floats(interval)
    found = REVISED.trace(problem, interval, direction=direction)
    assert_same_path(found, traced(problem, interval))
    found.certify()


@for_all(instance=instances(linear=True), direction=DIRECTIONS)
def test_revised_path_of_a_linear_problem_is_the_exact_one(instance, direction):
    problem, interval = instance
    assume_ends_are_floats(interval)
    found = REVISED.trace(problem, interval, direction=direction)
    assert_same_path(found, traced(problem, interval))
    found.certify()


@for_all(instance=instances(), direction=DIRECTIONS)
def test_revised_path_over_any_interval_is_certified(instance, direction):
    problem, interval = instance
    found = REVISED.trace(problem, interval, direction=direction)
    assert (found.lo, found.hi) == tuple(map(float, interval))
    found.certify()


@for_all(instance=instances())
def test_uniqueness_is_what_exact_arithmetic_says(instance):
    problem, interval = instance
    assume_ends_are_floats(interval)
    exact = traced(problem, interval)
    for segment in optimal(REVISED.trace(problem, interval)):
        if not np.isclose(segment.lo, segment.hi, rtol=CLOSE, atol=CLOSE):
            twin = exact(inside(segment)).segment
            assert twin.lo == twin.hi or segment.unique == twin.unique


@for_all(instance=instances(), direction=DIRECTIONS)
def test_one_farkas_vector_proves_an_infeasible_side_and_one_ray_an_unbounded_one(instance, direction):
    path = REVISED.trace(*instance, direction=direction)
    for status, side in groupby(path.segments, key=lambda segment: segment.status):
        segments = list(side)
        if status == "infeasible":
            assert len(segments) == 1
        elif status == "unbounded":
            assert len({(*segment.ray, *segment.violation) for segment in segments}) == 1


@for_all(instance=instances(), direction=DIRECTIONS)
def test_direction_makes_no_difference(instance, direction):
    problem, interval = instance
    one, other = (REVISED.trace(problem, interval, direction=d) for d in (direction, "left-to-right"))
    assert_same_statuses(one, other)
    for point in optimal_points(one):
        assert is_close(at(other, point.mu).objective, point.objective)


@for_all(instance=instances(), data=st.data())
def test_path_extended_to_either_side_is_the_path_traced_at_once(instance, data):
    problem, interval = instance
    assume_ends_are_floats(interval)
    exact, (lo, hi) = traced(problem, interval), interval
    start = float(data.draw(st.sampled_from(marks(exact))))
    assume(lo <= start <= hi)
    for extended in (
        REVISED.trace(problem, (start, hi)).extend(lo),
        REVISED.trace(problem, (lo, start)).extend(hi),
    ):
        assert_same_path(extended, exact)
        extended.certify()


@for_all(instance=instances(), pieces=st.integers(1, 3), direction=DIRECTIONS)
def test_path_that_was_stopped_and_goes_on_is_the_path_traced_at_once(instance, pieces, direction):
    problem, interval = instance
    assume_ends_are_floats(interval)
    path, (lo, hi) = REVISED.trace(problem, interval, direction=direction, max_pieces=pieces), interval
    # The last point may be all that is missing: there the status is another one.
    first, last = path.intervals[0], path.intervals[-1]
    lo_reached = path.lo == lo and (first.lo_closed or np.isinf(lo))
    hi_reached = path.hi == hi and (last.hi_closed or np.isinf(hi))
    assert (path.stopped is None) == (lo_reached and hi_reached)
    path = path if hi_reached else path.extend(hi)
    path = path if lo_reached else path.extend(lo)
    assert path.stopped is None
    assert_same_path(path, traced(problem, interval))
    path.certify()


@for_all(instance=instances(most=MOST))
def test_saved_revised_path_is_loaded_unchanged_and_still_proved(instance):
    path = REVISED.trace(*instance)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("path.json", "path.npz"):
            path.save(Path(folder) / name)
            loaded = load_path(Path(folder) / name)
            assert path_document(loaded) == path_document(path)
            loaded.certify()


# One hinge problem, four formulations: min ½‖w‖² + mu Σ max(0, 1 − n_i w) over free or nonnegative w.


def soft_rows(N):
    return pqp.ParametricQP(np.eye(N.shape[1]), np.zeros(N.shape[1]), A=N, row_lower=1, penalty=mu)


def with_slacks(N):
    """(w, ξ) with N w + ξ ≥ 1, ξ ≥ 0 and the cost mu Σ ξ."""
    s, n = N.shape
    P = np.diag([1] * n + [0] * s)
    c = [0] * n + [mu] * s
    lower = [-INFINITY] * n + [0] * s
    return pqp.ParametricQP(P, c, A=np.hstack([N, np.eye(s, dtype=int)]), row_lower=1, lower=lower)


def dual(N):
    """min ½‖Nᵀα‖² − Σα over 0 ≤ α ≤ mu; w = Nᵀα."""
    return pqp.ParametricQP(pqp.Gram(N), -np.ones(len(N)), lower=0, upper=mu)


ROWS = st.integers(1, 3).flatmap(
    lambda n: st.lists(st.lists(st.integers(-2, 2), min_size=n, max_size=n), min_size=1, max_size=6)
).map(np.array)  # fmt: skip


@for_all(N=ROWS, direction=DIRECTIONS, hi=st.sampled_from((5, INFINITY)))
def test_hinge_problem_has_one_path_in_all_its_formulations(N, direction, hi):
    n = N.shape[1]
    exact = traced(soft_rows(N), (0, hi))
    read = {soft_rows: lambda x: x, with_slacks: lambda x: x[:n], dual: lambda x: N.T @ x}
    paths = {build: REVISED.trace(build(N), (0, hi), direction=direction) for build in read}
    for build, path in paths.items():
        path.certify()
        for mark in {*marks(exact), *(mark for other in paths.values() for mark in marks(other))}:
            w, twin = read[build](path(float(mark)).x), exact(mark)
            assert is_close(w, twin.x), f"w of {build.__name__} differs at mu = {mark}"
            assert is_close(abs(path(float(mark)).objective), abs(twin.objective))
