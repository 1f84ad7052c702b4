"""Collecting: the lines of one or more traces, put in ascending order and packed into the segments of a path.

Room: lines in the order they were traced in, segments that share one compact trail out.
May touch: `field`, `problem`, `compact`, `segment`, `revised`, `translation`, `equilibration`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pqp.compact import Trail
from pqp.equilibration import Scene
from pqp.field import FLOAT, Array
from pqp.revised import NO_CHANGES, Changes, Line
from pqp.segment import Segment
from pqp.translation import Translation


@dataclass(frozen=True, eq=False)
class Leg:
    """Lines in ascending order: the steps on the first one, then what changes."""

    first: Array
    lines: tuple[Line, ...]

    def last(self) -> Array:
        """Return the steps on the last line."""
        steps = self.first.copy()
        for line in self.lines[1:]:
            steps[line.changes.items] = line.changes.after
        return steps


def ascending(lines: Sequence[Line]) -> Leg:
    """Return the lines of one trace as a leg; a trace to the left is turned round."""
    assert lines[0].steps is not None
    joined = _joined(lines)
    leg = Leg(lines[0].steps, tuple(joined))
    if joined[-1].end >= joined[0].start:
        return leg
    turned = [
        Line(line.end, line.start, None, _undone(later), line.unknowns, line.values, line.pivots)
        for line, later in zip(joined, [*joined[1:], None], strict=True)
    ]
    return Leg(leg.last(), tuple(reversed(turned)))


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, those without any change since the one before taken together with it."""
    result = [lines[0]]
    for line in lines[1:]:
        if len(line.changes.items):
            result.append(line)
        else:
            result[-1] = replace(result[-1], end=line.end)
    return result


def _undone(line: Line | None) -> Changes:
    if line is None:
        return NO_CHANGES
    return Changes(line.changes.items, line.changes.after, line.changes.before)


def glue(left: Leg, right: Leg) -> Leg:
    """Return two legs that meet at one mu as one; a line that goes on through the seam is one line."""
    here, there = left.last(), right.first
    moved = np.flatnonzero(here != there)
    first = replace(right.lines[0], changes=Changes(moved, here[moved], there[moved]))
    if len(moved):
        return Leg(left.first, (*left.lines, first, *right.lines[1:]))
    through = replace(left.lines[-1], end=first.end)
    return Leg(left.first, (*left.lines[:-1], through, *right.lines[1:]))


def segments_of(leg: Leg, translation: Translation, scene: Scene) -> list[Segment]:
    """Return the optimal segments that share the trail of a leg."""
    trail = _trail(leg, translation, scene)
    problem = translation.reduction.problem
    return [
        Segment(line.start, line.end, "optimal", problem, FLOAT, trail=trail, number=number)
        for number, line in enumerate(leg.lines)
    ]


def _trail(leg: Leg, translation: Translation, scene: Scene) -> Trail:
    """Return the changes and unknowns of all lines, packed and in terms of the problem."""
    changes = [line.changes for line in leg.lines]
    counts = [len(change.items) for change in changes]
    items = np.concatenate([change.items for change in changes]).astype(np.int64)
    steps = np.concatenate([change.after for change in changes]).astype(np.int64)
    shown, codes = translation.states(items, steps)
    weights = 1 + (translation.second[items] >= 0)
    owner = np.repeat(np.arange(len(changes)), counts)
    widths = np.bincount(owner, weights, len(changes)).astype(np.int64)
    unknowns = np.concatenate([line.unknowns for line in leg.lines], dtype=np.int32)
    values = np.concatenate([line.values for line in leg.lines])
    for part in values.T:  # in place: these are the largest arrays of a path
        part *= scene.d[unknowns]
    return Trail(
        translation.reduction.problem,
        translation.complete,
        translation.all_states(leg.first),
        shown.astype(np.int32),
        codes,
        _ends(widths),
        translation.items.astype(np.int32)[unknowns],
        values,
        _ends([len(line.unknowns) for line in leg.lines]),
    )


def _ends(counts: Sequence[int] | Array) -> Array:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
