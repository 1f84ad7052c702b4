"""What two paths that describe the same solutions must have in common, and where to look."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import pqp
from pqp.linalg.field import RATIONAL
from pqp.path.path import Path
from pqp.records.segment import Point, Segment

Map = Callable[[Any], Any]


def traced(problem: pqp.ParametricQP, interval: tuple[Any, Any], **options: Any) -> Path:
    """The path in exact arithmetic."""
    return pqp.solve_path(problem, interval, arithmetic="exact", **options)


def inside(segment: Any) -> Any:
    """A mu inside a segment or interval: the midpoint, or one beyond its finite end."""
    lo, hi = segment.lo, segment.hi
    if math.isinf(lo):
        return 0 if math.isinf(hi) else hi - 1
    return lo + 1 if math.isinf(hi) else (lo + hi) / 2


def finite_ends(segment: Any) -> list[Any]:
    """The ends of a segment or interval that are numbers."""
    return [mu for mu in (segment.lo, segment.hi) if not math.isinf(mu)]


def marks(path: Path) -> list[Any]:
    """The finite ends of all pieces, whatever their status, and a mu inside each, ascending."""
    return sorted({mu for segment in path.segments for mu in (*finite_ends(segment), inside(segment))})


def optimal(path: Path) -> list[Segment]:
    """The optimal segments."""
    return [segment for segment in path.segments if segment.status == "optimal"]


def optimal_points(path: Path) -> Iterator[Point]:
    """At every end of every optimal piece, from either side, and inside it: what it says there."""
    for segment in optimal(path):
        yield from (segment.at(mu) for mu in dict.fromkeys([*finite_ends(segment), inside(segment)]))


def unique_points(path: Path) -> Iterator[Point]:
    """Inside every optimal piece whose solutions are the only ones: the solution."""
    return (segment.at(inside(segment)) for segment in optimal(path) if segment.unique)


def status_intervals(path: Path, to: Map = lambda mu: mu) -> list[tuple[Any, Any, str]]:
    """The statuses over mu, whose numbers are replaced by what `to` makes of them, in ascending order."""
    moved = [(*sorted((to(interval.lo), to(interval.hi))), interval.status) for interval in path.intervals]
    return moved if len(moved) < 2 or moved[0][1] <= moved[1][0] else moved[::-1]


def assert_same_solutions(
    path: Path, other: Path, to: Map = lambda mu: mu, times: Any = 1, read: Map = lambda x: x
) -> None:
    """Both have the same statuses, values, P x, and the same x wherever there is only one.

    The other path is at `to(mu)` where this one is at mu, its values are `times` as large, and `read` finds
    this problem's x in its x.
    """
    assert status_intervals(path, to) == status_intervals(other)
    P = path.problem.data(RATIONAL).P
    for point in optimal_points(path):
        twin = other(to(point.mu))
        assert twin.objective == times * point.objective, f"values differ at mu = {point.mu}"
        assert (P @ read(twin.x) == P @ point.x).all(), f"P x differs at mu = {point.mu}"
    for point in unique_points(path):
        assert (read(other(to(point.mu)).x) == point.x).all(), f"the unique x differs at mu = {point.mu}"
