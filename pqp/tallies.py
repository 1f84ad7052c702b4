"""Tallies: how many variables and rows are in which state on every piece of a path.

Room: segments in, a table with one row a piece out.
May touch: `field`, `compact`, `segment`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pqp.compact import CODES, STATES, Trail
from pqp.field import Array, float_number
from pqp.segment import Segment

if TYPE_CHECKING:
    import pandas as pd


def tally(segments: Sequence[Segment]) -> "pd.DataFrame":
    """Return lo and hi of every optimal segment and how many variables, and rows, are in each state."""
    import pandas as pd  # a third of a second, spared to those who want no table

    optimal = [segment for segment in segments if segment.status == "optimal"]
    shared = {segment.trail for segment in optimal}
    trails = {trail: _of_trail(trail) for trail in shared if trail is not None}
    table = [trails[s.trail][s.number] if s.trail is not None else _of_piece(s) for s in optimal]
    names = [*STATES, *(f"rows {state}" for state in STATES)]
    frame = pd.DataFrame(np.array(table, dtype=np.int64).reshape(-1, len(names)), columns=names)
    frame.insert(0, "lo", [float_number(segment.lo) for segment in optimal])
    frame.insert(1, "hi", [float_number(segment.hi) for segment in optimal])
    return frame


def _of_piece(segment: Segment) -> list[int]:
    """Count the states of one piece."""
    basis = segment.basis
    assert basis is not None
    return [items.count(state) for items in (basis.variables, basis.rows) for state in STATES]


def _of_trail(trail: Trail) -> Array:
    """Count the states on all pieces of a trail, by what changes from piece to piece."""
    states, n, kinds = trail.states(0), trail.problem.n, 2 * len(CODES)
    side = np.repeat([0, len(CODES)], [n, len(states) - n])
    counts = np.bincount(side + states, minlength=kinds)
    result = np.empty((len(trail), kinds), dtype=np.int64)
    result[0] = counts
    for number in range(1, len(trail)):
        items, new = trail.changes(number)
        touched = np.unique(items)
        counts -= np.bincount(side[touched] + states[touched], minlength=kinds)
        states[items] = new
        counts += np.bincount(side[touched] + states[touched], minlength=kinds)
        result[number] = counts
    return result
