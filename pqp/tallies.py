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
    table = np.array([_of_piece(segment) for segment in _without_trail(optimal)]).reshape(-1, 2 * len(CODES))
    for trail in dict.fromkeys(segment.trail for segment in optimal if segment.trail is not None):
        numbers = [segment.number for segment in optimal if segment.trail is trail]
        table = np.concatenate([table, _of_trail(trail)[numbers]])
    order = [*_without_trail(optimal), *(segment for segment in optimal if segment.trail is not None)]
    names = [*STATES, *(f"rows {state}" for state in STATES)]
    frame = pd.DataFrame(table.astype(int), columns=names)
    frame.insert(0, "lo", [float_number(segment.lo) for segment in order])
    frame.insert(1, "hi", [float_number(segment.hi) for segment in order])
    return frame.sort_values(["lo", "hi"], ignore_index=True)


def _without_trail(segments: Sequence[Segment]) -> list[Segment]:
    return [segment for segment in segments if segment.trail is None]


def _of_piece(segment: Segment) -> list[int]:
    """Count the states of one piece."""
    basis = segment.basis
    assert basis is not None
    return [items.count(state) for items in (basis.variables, basis.rows) for state in STATES]


def _of_trail(trail: Trail) -> Array:
    """Count the states on all pieces of a trail, by what changes from piece to piece."""
    states, n = trail.states(0), trail.problem.n
    counts = np.concatenate([np.bincount(part, minlength=len(CODES)) for part in (states[:n], states[n:])])
    result = np.empty((len(trail), 2 * len(CODES)), dtype=np.int64)
    result[0] = counts
    for number in range(1, len(trail)):
        items, new = trail.changes(number)
        side = len(CODES) * (items >= n)
        np.subtract.at(counts, side + states[items], 1)
        np.add.at(counts, side + new, 1)
        states[items] = new
        result[number] = counts
    return result
