r"""Images: B x(mu) or B y(mu) along a whole path, for a few rows B, without completing every piece.

Scores of a ranking model, part-worths, the exposure of a portfolio to its factors are all B x(mu) for one
matrix B; thresholds of an ordinal model are B y(mu). On a trail few items change from piece to piece, so the
contribution of the fixed items (at a limit or a cap) is updated, not summed again. Pieces on which some x, or
y, is neither fixed nor solved for, but follows from others, are completed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from pqp.errors import ProblemError
from pqp.linalg.field import FLOAT, Array, float_array
from pqp.linalg.matrices import MatrixData, as_matrix
from pqp.records.segment import Segment
from pqp.records.states import ACTIVE_ROWS, State
from pqp.records.trail import Trail

# What there are images of: x, one entry per variable, or y, one entry per row.
Part = Literal["x", "y"]
# The sum over fixed items is computed afresh after so many updates: rounding errors must not accumulate.
REFRESH_EVERY = 256
# The states in which x, or y, of an item is an unknown: the trail has it only if it was solved for.
UNKNOWN: dict[Part, tuple[State, ...]] = {"x": (State.BETWEEN,), "y": ACTIVE_ROWS}


class Items(NamedTuple):
    """The items that enter images, from `first` on: what each is fixed at by state, and unknown states."""

    first: int
    fixed: Array
    is_unknown: Array


@dataclass(frozen=True, eq=False)
class Images:
    """B x(mu), or B y(mu), on optimal pieces: constant + mu slope from `lo` to `hi`, one row per piece.

    Parameters
    ----------
    lo, hi
        The ends of the pieces.
    constant, slope
        One row per piece, one column per row of B.

    >>> import pqp
    >>> problem = pqp.ParametricQP([[1]], -pqp.mu, lower=0, upper=2)
    >>> images = pqp.solve_path(problem, (-1, 3)).images([[10]])
    >>> images.lo.tolist(), images.slope.ravel().tolist()
    ([-1.0, 0.0, 2.0], [0.0, 10.0, 0.0])
    >>> images.at(1.5)
    array([15.])
    """

    lo: Array
    hi: Array
    constant: Array
    slope: Array

    def __post_init__(self) -> None:
        for array in (self.lo, self.hi, self.constant, self.slope):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.lo)

    def at(self, mu: float) -> Array:
        """Return the image at one mu inside the pieces; where two meet, that of the right one."""
        piece = int(np.searchsorted(self.lo, mu, side="right")) - 1
        if piece < 0 or not mu <= self.hi[piece]:
            message = "{argument} = {found} is on no optimal piece of the path"
            raise ProblemError(message, argument="mu", found=mu)
        return self.constant[piece] + mu * self.slope[piece]


def images_of(segments: Sequence[Segment], B: Any, part: Part = "x") -> Images:
    """Return B x, or B y, on the optimal ones among ascending segments, in float64."""
    optimal = [segment for segment in segments if segment.status == "optimal"]
    matrix = as_matrix(B, "B")
    if segments:
        problem = segments[0].problem
        count, what = (problem.n, "variable") if part == "x" else (problem.m, "row of the problem")
        if matrix.shape[1] != count:
            message = "{argument} must have {expected}, got {found}"
            expected = f"{count} columns, one per {what}"
            raise ProblemError(message, argument="B", expected=expected, found=f"shape {matrix.shape}")
    lo, hi = (float_array([getattr(segment, end) for segment in optimal]).reshape(-1) for end in ("lo", "hi"))
    lines = np.empty((2, len(optimal), matrix.shape[0]))
    for first, last in _runs(optimal):
        _fill(optimal[first:last], matrix, part, lines[:, first:last])
    return Images(lo, hi, *lines)


def _runs(segments: Sequence[Segment]) -> list[tuple[int, int]]:
    """Return where neighbouring pieces of one trail, or single pieces, begin and end."""
    starts = [0] if segments else []
    for k, (before, segment) in enumerate(pairwise(segments), start=1):
        is_next = segment.trail is before.trail and segment.number == before.number + 1
        if segment.trail is None or not is_next:
            starts.append(k)
    return list(pairwise([*starts, len(segments)]))


def _fill(segments: Sequence[Segment], B: MatrixData, part: Part, lines: Array) -> None:
    """Write constants and slopes of some pieces, from the trail alone where that is enough."""
    trail, is_done = segments[0].trail, np.zeros(len(segments), dtype=bool)
    if trail is not None:
        sparse, items, first = csr_array(B), _items(trail, part), segments[0].number
        own = slice(items.first, items.first + items.fixed.shape[1])
        for begin in range(0, len(segments), REFRESH_EVERY):
            some = slice(begin, begin + REFRESH_EVERY)
            states = trail.states(first + begin)[own]
            is_done[some] = _replay(trail, sparse, items, states, first + begin, lines[:, some])
    for k in np.flatnonzero(~is_done).tolist():
        solution = segments[k].x if part == "x" else segments[k].y
        assert solution is not None
        for side in (0, 1):
            lines[side, k] = B @ float_array(solution[side])


def _items(trail: Trail, part: Part) -> Items:
    """Return the items that enter images: variables, fixed at their limits, or rows, fixed at their caps."""
    data, n, m = trail.problem.data(FLOAT), trail.problem.n, trail.problem.m
    fixed = np.zeros((len(State), n if part == "x" else m, 2))
    cap = np.stack(data.penalty)
    limits = {State.LOWER: data.lower, State.UPPER: data.upper, State.FIXED: data.lower}
    for state, limit in (limits if part == "x" else {State.BELOW: cap, State.ABOVE: -cap}).items():
        fixed[state] = np.where(np.isfinite(limit[0]), limit, 0.0).T
    return Items(0 if part == "x" else n, fixed, np.isin(list(State), UNKNOWN[part]))


def _replay(trail: Trail, B: Any, items: Items, states: Array, first: int, lines: Array) -> Array:
    """Write constants and slopes of some pieces; return for which of them the trail was enough.

    Few fixed items change from piece to piece: their changes add up along the pieces. The unknowns are new on
    every piece. The trail is enough if the items solved for are exactly those whose state is unknown.
    """
    size, count = len(states), lines.shape[1]
    ends = trail.change_ends[first : first + count + 1]
    changed, new = (part[ends[0] : ends[-1]] for part in (trail.changed_items, trail.changed_states))
    changed, at = changed.astype(np.int64), np.repeat(np.arange(count), np.diff(ends))
    mine = (changed >= items.first) & (changed < items.first + size) & (at > 0)
    changed, new, at = changed[mine] - items.first, new[mine], at[mine]
    # Sorted by item and piece: what an item was before a change is what the change before made of it.
    order = np.lexsort([np.arange(len(at)), at, changed])
    changed, new, at = changed[order], new[order], at[order]
    is_first = np.append(True, changed[1:] != changed[:-1])[: len(changed)]
    old = np.where(is_first, states[changed], np.append(0, new[:-1])[: len(new)]).astype(np.int64)
    solved, values, piece = trail.unknowns_over(first, first + count)
    mine = (solved >= items.first) & (solved < items.first + size)
    solved, values, piece = solved[mine] - items.first, values[mine], piece[mine]
    base = B @ items.fixed[states, np.arange(size)]
    for side in (0, 1):
        deltas = items.fixed[new, changed, side] - items.fixed[old, changed, side]
        moves = csr_array((deltas, (changed, at)), shape=(size, count))
        unknowns = csr_array((values[:, side], (solved, piece)), shape=(size, count))
        lines[side] = (
            base[:, side, None] + np.cumsum((B @ moves).toarray(), axis=1) + (B @ unknowns).toarray()
        ).T
    is_unknown = items.is_unknown
    gained = np.bincount(at, is_unknown[new].astype(float) - is_unknown[old], count)
    expected = np.count_nonzero(is_unknown[states]) + np.cumsum(gained)
    # The state of an item on a piece is that of its last change up to it.
    last = np.searchsorted(changed * count + at, solved * count + piece, side="right") - 1
    has_changed = (
        (last >= 0) & (changed[last] == solved) if len(changed) else np.zeros(len(solved), dtype=bool)
    )
    present = np.where(has_changed, new[last] if len(new) else 0, states[solved])
    found = np.bincount(piece, is_unknown[present].astype(float), count)
    return (found == expected) & (np.bincount(piece, minlength=count) == expected)
