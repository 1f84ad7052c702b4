"""state counts: the counts of a path are those of the states of its pieces, counted one by one."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given

import pqp
from pqp.path.queries import state_counts
from pqp.records.segment import Segment
from pqp.records.states import WORDS
from pqp.records.trail import Trail
from tests.pqp.compacting import compacted
from tests.pqp.test_images import ranking_path
from tests.strategies import instances
from tests.systems import FEW


def assert_counted(path):
    optimal = [segment for segment in path.segments if segment.status == "optimal"]
    table = path.counts()
    assert len(table) == len(optimal)
    for row, segment in zip(table.to_dict("records"), optimal, strict=True):
        assert (row.pop("lo"), row.pop("hi")) == (float(segment.lo), float(segment.hi))
        variables, rows = Counter(segment.basis.variables), Counter(segment.basis.rows)
        assert row == {s: variables[s] for s in WORDS} | {f"rows {s}": rows[s] for s in WORDS}


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@FEW
@given(instance=instances())
def test_counts_on_any_problem_are_those_of_its_pieces(arithmetic, instance):
    assert_counted(pqp.solve_path(*instance, arithmetic=arithmetic))


@FEW
@given(instance=instances())
def test_counts_of_a_trail_do_not_depend_on_its_direction(instance):
    path = pqp.solve_path(*instance, method="tableau")
    if any(segment.status == "optimal" for segment in path.segments):
        assert_counted(compacted(path))
        assert_counted(compacted(path, backwards=True))


def test_counts_of_a_long_compact_path_are_those_of_its_pieces():
    path = ranking_path()
    assert len(path.segments) > 300
    assert path.segments[100].trail is not None
    assert_counted(path)


def test_a_piece_whose_item_changes_twice_counts_it_once():
    path = ranking_path(pieces=3)
    trail = path.segments[0].trail
    twice = np.repeat(np.arange(len(trail.changed_items)), 2)
    doubled = Trail(
        trail.problem,
        trail.complete,
        trail.first,
        trail.changed_items[twice],
        trail.changed_states[twice],
        2 * trail.change_ends,
        trail.lines,
        trail.owners,
        trail.units,
    )
    segments = tuple(
        Segment(s.lo, s.hi, s.status, s.problem, s.arithmetic, trail=doubled, number=s.number)
        for s in path.segments
    )
    for found, wanted in zip(state_counts(segments).values, path.counts().values, strict=True):
        assert (found == wanted).all()


def test_a_path_without_an_optimal_piece_has_no_counts():
    path = pqp.solve_path(pqp.ParametricQP([[1]], [0], lower=1, upper=pqp.mu), (-2, 0))
    assert path.counts().empty
