r"""Images: the lines of B x along a whole path, for a few rows B, without completing every piece.

Scores of a ranking model, part-worths, the exposure of a portfolio to its factors are all B x(mu) for one
matrix B. On a trail only few items change from piece to piece, and of the others the contribution is kept.

Room: segments and a matrix in, one line a piece and row of B out.
May touch: `errors`, `field`, `forms`, `matrices`, `compact`, `segment`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from pqp.compact import CODES, Trail
from pqp.errors import ProblemError
from pqp.field import FLOAT, Array, float_array
from pqp.forms import compiled
from pqp.matrices import MatrixData, as_matrix
from pqp.segment import Segment

# What is kept of held variables is summed up anew after so many pieces, so that round-off does not pile up.
SUM_ANEW_EVERY = 256


@dataclass(frozen=True, eq=False)
class Images:
    """B x(mu) = constant + mu slope on the optimal pieces from `lo` to `hi`, one row a piece.

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
        """Return B x at one mu inside the pieces; where two meet, that of the right one."""
        piece = int(np.searchsorted(self.lo, mu, side="right")) - 1
        if piece < 0 or not mu <= self.hi[piece]:
            raise ProblemError(f"mu = {mu} is on no optimal piece of the path")
        return self.constant[piece] + mu * self.slope[piece]


def images_of(segments: Sequence[Segment], B: Any) -> Images:
    """Return the lines of B x on the optimal ones among ascending segments, in float64."""
    optimal = [segment for segment in segments if segment.status == "optimal"]
    matrix = as_matrix(B, "B")
    _require_fit(matrix, segments)
    lo, hi = (float_array([getattr(segment, end) for segment in optimal]).reshape(-1) for end in ("lo", "hi"))
    lines = np.empty((2, len(optimal), matrix.shape[0]))
    for first, last in _runs(optimal):
        _fill(optimal[first:last], matrix, lines[:, first:last])
    return Images(lo, hi, *lines)


def multiplier_images_of(segments: Sequence[Segment], B: Any) -> Images:
    """Return the lines of B y on the optimal ones among ascending segments, in float64."""
    optimal = [segment for segment in segments if segment.status == "optimal"]
    matrix = as_matrix(B, "B")
    lo, hi = (float_array([getattr(segment, end) for segment in optimal]).reshape(-1) for end in ("lo", "hi"))
    lines = np.empty((2, len(optimal), matrix.shape[0]))
    for k, segment in enumerate(optimal):
        assert segment.y is not None
        for part in (0, 1):
            lines[part, k] = matrix @ float_array(segment.y[part])
    return Images(lo, hi, *lines)


def _require_fit(B: MatrixData, segments: Sequence[Segment]) -> None:
    n = segments[0].problem.n if segments else B.shape[1]
    if B.shape[1] != n:
        raise ProblemError(f"B must have {n} columns, one a variable, got shape {B.shape}")


def _runs(segments: Sequence[Segment]) -> list[tuple[int, int]]:
    """Return where neighbouring pieces of one trail, or single pieces, begin and end."""
    starts = [
        k
        for k, segment in enumerate(segments)
        if k == 0
        or segment.trail is None
        or segment.trail is not segments[k - 1].trail
        or segment.number != segments[k - 1].number + 1
    ]
    return list(pairwise([*starts, len(segments)]))


def _fill(segments: Sequence[Segment], B: MatrixData, lines: Array) -> None:
    """Write the lines of some pieces; where there are no rows the trail alone tells x."""
    trail = segments[0].trail
    if trail is not None and not trail.problem.m:
        _fill_run(trail, segments[0].number, csr_array(B), lines)
        return
    for k, segment in enumerate(segments):
        assert segment.x is not None
        for part in (0, 1):
            lines[part, k] = B @ float_array(segment.x[part])


def _fill_run(trail: Trail, first: int, B: Any, lines: Array) -> None:
    """Write the lines of consecutive pieces of a trail."""
    data, columns = trail.problem.data(FLOAT), B.T.tocsr()
    held = np.zeros((len(CODES), trail.problem.n, 2))
    for name, limit in (("lower", data.lower), ("upper", data.upper), ("fixed", data.lower)):
        held[CODES[name]] = np.where(np.isfinite(limit[0]), limit, 0.0).T
    changes = (trail.change_ends, trail.changed_items, trail.changed_states)
    solved = (trail.solved_ends, trail.solved_items, trail.solved_values)
    matrix = (columns.indptr, columns.indices, columns.data.astype(float))
    for begin in range(0, lines.shape[1], SUM_ANEW_EVERY):
        states = trail.states(first + begin)
        base = np.ascontiguousarray((B @ held[states, np.arange(len(states))]).T)
        part = lines[:, begin : begin + SUM_ANEW_EVERY]
        _walk(changes, solved, matrix, held, states, base, first + begin, part)


@compiled
def _walk(
    changes: tuple[Array, Array, Array],
    solved: tuple[Array, Array, Array],
    matrix: tuple[Array, Array, Array],
    held: Array,
    states: Array,
    base: Array,
    first: int,
    lines: Array,
) -> None:
    """Write the lines of B x piece by piece: few held items change, what was solved for is new."""
    for k in range(lines.shape[1]):
        if k > 0:
            for c in range(changes[0][first + k], changes[0][first + k + 1]):
                item, state = changes[1][c], changes[2][c]
                _add(matrix, item, held[state, item] - held[states[item], item], base)
                states[item] = state
        lines[:, k] = base
        for u in range(solved[0][first + k], solved[0][first + k + 1]):
            _add(matrix, solved[1][u], solved[2][u], lines[:, k])


@compiled
def _add(matrix: tuple[Array, Array, Array], column: int, line: Array, total: Array) -> None:
    """Add a column of B times a line."""
    for e in range(matrix[0][column], matrix[0][column + 1]):
        total[0, matrix[1][e]] += matrix[2][e] * line[0]
        total[1, matrix[1][e]] += matrix[2][e] * line[1]
