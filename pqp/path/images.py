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
from pqp.linalg.jit import compiled
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
        is_done = _fill_run(trail, segments[0].number, csr_array(B), _items(trail, part), lines)
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


def _fill_run(trail: Trail, first: int, B: Any, items: Items, lines: Array) -> Array:
    """Write constants and slopes of consecutive pieces; return for which of them the trail was enough."""
    # By columns, since an item that changes concerns one column of B.
    columns, is_done = B.T.tocsr(), np.zeros(lines.shape[1], dtype=bool)
    changes = (trail.change_ends, trail.changed_items, trail.changed_states)
    solved = (trail.solved_ends, trail.solved_items, trail.solved_values)
    matrix = (columns.indptr, columns.indices, columns.data.astype(float))
    own = slice(items.first, items.first + items.fixed.shape[1])
    for begin in range(0, lines.shape[1], REFRESH_EVERY):
        states, some = trail.states(first + begin)[own], slice(begin, begin + REFRESH_EVERY)
        base = np.ascontiguousarray((B @ items.fixed[states, np.arange(len(states))]).T)
        _replay(changes, solved, matrix, items, states, base, first + begin, lines[:, some], is_done[some])
    return is_done


@compiled
def _replay(
    changes: tuple[Array, Array, Array],
    solved: tuple[Array, Array, Array],
    matrix: tuple[Array, Array, Array],
    items: Items,
    states: Array,
    base: Array,
    first: int,
    lines: Array,
    is_done: Array,
) -> None:
    """Write constants and slopes piece by piece: few fixed items change, the unknowns are always new.

    The trail is enough for a piece if the items solved for are exactly those whose state is unknown.
    """
    fixed, is_unknown, size = items.fixed, items.is_unknown, len(states)
    count = np.sum(is_unknown[states])
    for k in range(lines.shape[1]):
        for c in range(changes[0][first + k] if k else 0, changes[0][first + k + 1] if k else 0):
            item, state = changes[1][c] - items.first, changes[2][c]
            if 0 <= item < size:
                _add(matrix, item, fixed[state, item] - fixed[states[item], item], base)
                count += int(is_unknown[state]) - int(is_unknown[states[item]])
                states[item] = state
        # The unknowns differ on every piece, so they are added to a copy and never enter the base.
        lines[:, k] = base
        found = 0
        others = 0
        for u in range(solved[0][first + k], solved[0][first + k + 1]):
            item = solved[1][u] - items.first
            if 0 <= item < size:
                _add(matrix, item, solved[2][u], lines[:, k])
                found = found + 1
                others = others + int(not is_unknown[states[item]])
        is_done[k] = found == count and others == 0


@compiled
def _add(matrix: tuple[Array, Array, Array], column: int, line: Array, total: Array) -> None:
    """Add a column of B times a constant and a slope."""
    for e in range(matrix[0][column], matrix[0][column + 1]):
        total[0, matrix[1][e]] += matrix[2][e] * line[0]
        total[1, matrix[1][e]] += matrix[2][e] * line[1]
