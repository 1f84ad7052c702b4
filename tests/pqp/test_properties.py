"""paths: what theory promises of every path, on problems that are degenerate on purpose."""

import math
import tempfile
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import pqp
from pqp import load_path
from pqp.io.writing import path_document
from pqp.lcp.crisscross import RULES
from tests.comparison import (
    assert_same_solutions,
    finite_ends,
    inside,
    marks,
    optimal,
    optimal_points,
    traced,
    unique_points,
)
from tests.definitions import CLEARLY, LinearPrograms, constant_at, cost, dual_bound, is_feasible
from tests.engines import ENGINES, EVERY_ENGINE, TABLEAU
from tests.strategies import for_all, instances

# The data have one or two digits and the paths a few pieces: rounding error stays far below this.
CLOSE = 1e-9
DIRECTIONS = ("left-to-right", "right-to-left")


def is_close(found, known):
    known = np.asarray(known, dtype=float)
    return np.allclose(np.asarray(found, dtype=float), known, rtol=CLOSE, atol=CLOSE)


def derivative(segment, mu):
    _, a1, a2 = segment.objective
    return a1 + 2 * a2 * mu


# What a path says is true.


@for_all(instance=instances())
def test_residuals_are_exactly_zero_at_every_breakpoint_and_midpoint(instance):
    for point in optimal_points(traced(*instance)):
        assert point.residuals().largest == 0


@for_all(instance=instances())
def test_solutions_are_feasible_and_cost_what_their_multipliers_prove(instance):
    problem, interval = instance
    for point in optimal_points(traced(problem, interval)):
        assert is_feasible(problem, point.mu, point.x)
        assert cost(problem, point.mu, point.x) == point.objective == dual_bound(problem, point)


@for_all(instance=instances())
def test_exact_path_is_certified(instance):
    traced(*instance).certify()


@for_all(instance=instances())
def test_float_path_of_the_tableau_is_certified(instance):
    TABLEAU.trace(*instance).certify()


@for_all(instance=instances())
def test_status_inside_every_stretch_is_the_one_linear_programs_find(instance):
    problem, interval = instance
    for stretch in traced(problem, interval).intervals:
        programs = LinearPrograms(problem, inside(stretch))
        assert programs.is_feasible() == (stretch.status != "infeasible")
        if stretch.status != "infeasible":
            assert programs.has_descent() == (stretch.status == "unbounded")


@for_all(instance=instances(linear=True))
def test_value_of_a_linear_problem_is_the_one_highs_finds(instance):
    problem, interval = instance
    for point in optimal_points(traced(problem, interval)):
        value = LinearPrograms(problem, point.mu).value() + float(constant_at(problem, point.mu))
        assert math.isclose(value, point.objective, rel_tol=1e-7, abs_tol=1e-7)


@for_all(instance=instances())
def test_solution_is_called_unique_where_the_optimal_set_has_no_extent(instance):
    problem, interval = instance
    for segment in optimal(traced(problem, interval)):
        point = segment.at(inside(segment))
        assert segment.unique == (LinearPrograms(problem, point.mu).extent(point) < CLEARLY)


# Status along mu.


@for_all(instance=instances())
def test_pieces_cover_the_interval_without_gap_or_overlap(instance):
    path = traced(*instance)
    assert (path.segments[0].lo, path.segments[-1].hi) == path.asked
    assert all(left.hi == right.lo for left, right in pairwise(path.segments))


@for_all(instance=instances())
def test_solvable_mu_lie_between_the_unbounded_and_those_between_the_infeasible(instance):
    statuses = [stretch.status for stretch in traced(*instance).intervals]
    feasible = [key for key, _ in groupby(status != "infeasible" for status in statuses)]
    assert sum(feasible) <= 1
    assert statuses.count("optimal") <= 1


@for_all(instance=instances())
def test_shared_end_belongs_to_the_better_status(instance):
    path = traced(*instance)
    for left, right in pairwise(path.intervals):
        owner = min(left.status, right.status, key=("optimal", "unbounded", "infeasible").index)
        assert path(left.hi).status == owner
        assert (left.hi_closed, right.lo_closed) == (left.status == owner, right.status == owner)
        assert LinearPrograms(path.problem, left.hi).is_feasible()
    assert path.intervals[0].lo_closed
    assert path.intervals[-1].hi_closed


@for_all(instance=instances())
def test_one_farkas_vector_proves_an_infeasible_side_and_one_ray_an_unbounded_one(instance):
    path = traced(*instance)
    for status, side in groupby(path.segments, key=lambda segment: segment.status):
        segments = list(side)
        if status == "infeasible":
            assert len(segments) == 1
        elif status == "unbounded":
            assert len({(*segment.ray, *segment.violation) for segment in segments}) == 1


# The value as a function of mu.


@for_all(instance=instances())
def test_value_is_continuous(instance):
    for left, right in pairwise(optimal(traced(*instance))):
        assert left.at(left.hi).objective == right.at(right.lo).objective


@for_all(instance=instances(moving="b"))
def test_value_is_convex_if_only_the_limits_move(instance):
    proper = [segment for segment in optimal(traced(*instance)) if segment.lo < segment.hi]
    assert all(segment.objective[2] >= 0 for segment in proper)
    for left, right in pairwise(proper):
        assert derivative(left, left.hi) <= derivative(right, right.lo)


@for_all(instance=instances(moving="c"))
def test_value_is_concave_if_only_the_cost_moves(instance):
    proper = [segment for segment in optimal(traced(*instance)) if segment.lo < segment.hi]
    assert all(segment.objective[2] <= 0 for segment in proper)
    for left, right in pairwise(proper):
        assert derivative(left, left.hi) >= derivative(right, right.lo)


# The same problem, traced in another way.


@for_all(instance=instances(), rule=st.sampled_from(sorted(RULES)), direction=st.sampled_from(DIRECTIONS))
def test_every_rule_and_direction_gives_the_same_solutions(instance, rule, direction):
    assert_same_solutions(traced(*instance), traced(*instance, rule=rule, direction=direction))


@for_all(instance=instances(), data=st.data())
def test_sub_interval_has_the_part_of_the_path_in_it(instance, data):
    path = traced(*instance)
    somewhere = st.sampled_from(marks(path))
    lo, hi = sorted(data.draw(st.tuples(somewhere, somewhere)))
    part = traced(path.problem, (lo, hi))
    shared = [*marks(part), *(mu for mu in marks(path) if lo <= mu <= hi)]
    assert [part(mu).status for mu in shared] == [path(mu).status for mu in shared]
    for point in optimal_points(part):
        assert point.objective == path(point.mu).objective
    for point in unique_points(part):
        assert (point.x == path(point.mu).x).all()


@for_all(instance=instances())
def test_solving_at_one_mu_gives_the_value_of_the_path(instance):
    path = traced(*instance)
    for mu in marks(path):
        point = pqp.solve(path.problem, mu, arithmetic="exact")
        assert point.status == path(mu).status
        assert point.status != "optimal" or point.objective == path(mu).objective


@for_all(instance=instances(), data=st.data())
def test_path_extended_to_either_side_is_the_path_traced_at_once(instance, data):
    path = traced(*instance)
    start = data.draw(st.sampled_from(marks(path)))
    leftwards = traced(path.problem, (start, path.hi)).extend(path.lo)
    rightwards = traced(path.problem, (path.lo, start)).extend(path.hi)
    for extended in (leftwards, rightwards):
        extended.certify()
        assert_same_solutions(path, extended)


@for_all(instance=instances(), engine=st.sampled_from(list(ENGINES.values())))
def test_saved_path_is_loaded_unchanged(instance, engine):
    path = engine.trace(*instance)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("path.json", "path.npz")[: 1 if engine.is_exact else 2]:
            path.save(Path(folder) / name)
            assert path_document(load_path(Path(folder) / name)) == path_document(path)


# The tableau in floats against exact; the revised engine has a file of its own, `test_engines`.


def traced_twice(problem, interval):
    """The path in rationals and in floats, over an interval whose ends are the same numbers in both.

    A rounded end may lie beyond the last solvable mu, and then the two paths rightly differ.
    """
    assume(all(float(end) == end for end in interval))
    return traced(problem, interval), TABLEAU.trace(problem, interval)


@for_all(instance=instances())
def test_float_path_has_the_breakpoints_of_the_exact_one(instance):
    exact, found = traced_twice(*instance)
    assert [stretch.status for stretch in found.intervals] == [stretch.status for stretch in exact.intervals]
    assert len(found.breakpoints) == len(exact.breakpoints)
    assert is_close(found.breakpoints, exact.breakpoints)


@for_all(instance=instances())
def test_float_path_has_the_values_of_the_exact_one(instance):
    exact, found = traced_twice(*instance)
    for segment in optimal(exact):
        # a float path may begin with a piece as long as a rounding error: the piece that matters is meant
        middle = float(inside(segment))
        twin = next(piece for piece in optimal(found) if piece.lo <= middle <= piece.hi)
        for mu in (*finite_ends(segment), inside(segment)):
            assert is_close(twin.at(float(mu)).objective, segment.at(mu).objective)
        if segment.unique:
            assert is_close(twin.at(float(inside(segment))).x, segment.at(inside(segment)).x)


# Found by these properties.


@EVERY_ENGINE
def test_problem_whose_variables_are_all_fixed_is_traced_to_infinity(engine):
    problem = pqp.ParametricQP([[0]], [0], lower=0, upper=0)
    path = engine.trace(problem, (-math.inf, math.inf))
    path.certify()
    assert [stretch.status for stretch in path.intervals] == ["optimal"]
