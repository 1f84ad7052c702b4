"""Lines: scores of rows and thresholds along a path, piece by piece, as selection wants them.

Where a threshold has several optimal values its middle is a line on parts of a piece only, so that some
pieces come in parts.

Room: a traced path, its training data and rows to be scored in; lines, some pieces at a time, out.
May touch: `arrays`, `level_steps`, `training`, `hinges`, `dual`, `thresholds`, and `pqp`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import eye_array

import pqp
from ranking.arrays import Array
from ranking.level_steps import LevelLines
from ranking.ordinal.dual import threshold_matrix
from ranking.ordinal.thresholds import Pieces, middle_lines
from ranking.ordinal.training import Training

# Pieces looked at together: a few megabytes.
BLOCK = 256
# Where inside a piece hinges are told apart, as a share of its length.
INSIDE = 0.5
# A dual variable this close to a limit, beside its cap, is at it.
AT_LIMIT = 1e-9


def level_lines(
    path: "pqp.Path", training: Training, basis: Any, rows: Any, ordered: bool
) -> Iterator[LevelLines]:
    """Yield scores of rows and thresholds on all pieces of a path."""
    for begin in range(0, len(path.segments), BLOCK):
        pieces = slice(begin, begin + BLOCK)
        coefficients = path.images(basis, pieces)
        rises = threshold_matrix(training.hinges.n_thresholds, ordered)
        thresholds = multiplier_lines(path, rises, pieces)
        lines = (coefficients.constant, coefficients.slope)
        scores = tuple(np.asarray((rows @ part.T).T) for part in lines)
        block = LevelLines(coefficients.lo, coefficients.hi, *scores, thresholds.constant, thresholds.slope)
        loose = np.flatnonzero(_are_loose(path, training, pieces))
        yield _with_middles(block, loose, lines, training, ordered)


def _are_loose(path: "pqp.Path", training: Training, pieces: slice) -> Array:
    """Tell on which pieces some threshold has no hinge strictly inside its limits, which would hold it."""
    hinges = training.hinges
    alpha = path.images(eye_array(len(hinges), format="csr"), pieces)
    inside = _inside(alpha.lo, alpha.hi)[:, None]
    value, cap = alpha.constant + inside * alpha.slope, inside * hinges.weight
    is_free = (value > AT_LIMIT * cap) & (value < (1 - AT_LIMIT) * cap)
    held = is_free.astype(float) @ (hinges.incidence != 0).T
    return np.asarray((held == 0).any(axis=1))


def _with_middles(
    block: LevelLines, loose: Array, lines: tuple[Array, Array], training: Training, ordered: bool
) -> LevelLines:
    """Return the lines, thresholds of loose pieces replaced by their middles, in parts if need be."""
    if not len(loose):
        return block
    inside, parts = _inside(block.lo, block.hi), dict[int, Pieces]()
    for k in loose.tolist():
        f = [training.representation.scores(part[k]) for part in lines]
        ends = (float(block.lo[k]), float(block.hi[k]))
        parts[k] = middle_lines(training.hinges, (f[0], f[1]), ends, float(inside[k]), ordered)
    owner = np.repeat(
        np.arange(len(block.lo)), [len(parts[k].starts) if k in parts else 1 for k in range(len(block.lo))]
    )
    starts = np.concatenate([parts[k].starts if k in parts else block.lo[[k]] for k in range(len(block.lo))])
    ends = np.where(np.diff(owner, append=-1) == 0, np.roll(starts, -1), block.hi[owner])
    constant, slope = (
        np.concatenate([getattr(parts[k], name) if k in parts else whole[[k]] for k in range(len(block.lo))])
        for name, whole in (("constant", block.threshold_constant), ("slope", block.threshold_slope))
    )
    return LevelLines(starts, ends, block.constant[owner], block.slope[owner], constant, slope)


def _inside(lo: Array, hi: Array) -> Array:
    """Return some C inside every piece."""
    return np.where(np.isinf(hi), lo + 1.0, lo + INSIDE * (np.where(np.isinf(hi), lo, hi) - lo))


def multiplier_lines(path, rises, pieces=slice(None)):
    class M:
        pass

    m = M()
    ys = [segment.y for segment in path.segments[pieces]]
    m.constant = np.array([np.asarray(y[0], float) for y in ys]) @ rises.T
    m.slope = np.array([np.asarray(y[1], float) for y in ys]) @ rises.T
    return m
