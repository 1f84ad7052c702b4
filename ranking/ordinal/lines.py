"""Lines: scores of rows and thresholds along a stretch of a path, piece by piece, as selection wants them.

Where a threshold has several optimal values its middle is a line on parts of a piece only, so that some
pieces come in parts.

Room: a stretch, its training data and rows to be scored in; lines, some pieces at a time, out.
May touch: `arrays`, `level_steps`, `training`, `hinges`, `dual`, `thresholds`, `stretches`, and `pqp`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import eye_array

from ranking.arrays import Array
from ranking.level_steps import LevelLines
from ranking.ordinal.dual import threshold_matrix
from ranking.ordinal.stretches import Stretch
from ranking.ordinal.thresholds import Pieces, middle_lines
from ranking.ordinal.training import Training

# Pieces looked at together: a few megabytes.
BLOCK = 256
# Where inside a piece hinges are told apart, as a share of its length.
INSIDE = 0.5
# A dual variable this close to a limit, beside its cap, is at it.
AT_LIMIT = 1e-9


@dataclass(frozen=True, eq=False)
class Reader:
    """What turns pieces of a stretch into lines of scores and thresholds."""

    training: Training
    stretch: Stretch
    ordered: bool

    @property
    def basis(self) -> Any:
        """What makes coefficients of the dual variables: weights of features, or one an item here."""
        items, training = self.stretch.items, self.training
        return training.representation.part(items).basis(training.hinges.part(items).pairs)

    def lines(self, X: Any) -> Iterator[LevelLines]:
        """Yield scores of rows and thresholds on all pieces of the stretch."""
        path, basis = self.stretch.path, self.basis
        rows = self.training.representation.evaluate(X, self.stretch.items)
        rises = threshold_matrix(self.training.hinges.n_thresholds, self.ordered)
        for begin in range(0, self.stretch.pieces, BLOCK):
            pieces = slice(begin, min(begin + BLOCK, self.stretch.pieces))
            images, thresholds = path.images(basis, pieces), path.multiplier_images(rises, pieces)
            hi = np.minimum(images.hi, self.stretch.hi)
            coefficients, cuts = _settled(images), _settled(thresholds)
            scores = [np.asarray((rows @ part.T).T) for part in coefficients]
            block = LevelLines(images.lo, hi, scores[0], scores[1], *cuts)
            middles = {k: self._middles(k, block, coefficients) for k in self._loose(pieces)}
            yield _with_middles(block, middles)

    def _loose(self, pieces: slice) -> list[int]:
        """Return the pieces on which some threshold has no hinge strictly inside its limits, to hold it.

        A hinge also holds the neighbours its threshold is pressed against, where thresholds must ascend: the
        sum of signed α up to a threshold is less than 0 where the next one presses.
        """
        hinges = self.training.hinges.part(self.stretch.items)
        alpha = self.stretch.path.images(eye_array(len(hinges), format="csr"), pieces)
        inside = _inside(alpha.lo, alpha.hi)[:, None]
        value, cap = alpha.constant + inside * alpha.slope, inside * hinges.weight
        is_free = (value > AT_LIMIT * cap) & (value < (1 - AT_LIMIT) * cap)
        held = is_free.astype(float) @ abs(hinges.incidence).T > 0
        if self.ordered:
            sums = np.cumsum(value @ hinges.incidence.T, axis=1)
            held = _spread(held, sums < -AT_LIMIT * cap.sum(axis=1, keepdims=True))
        return np.flatnonzero(~held.all(axis=1)).tolist()

    def _middles(self, k: int, block: LevelLines, coefficients: tuple[Array, Array]) -> Pieces:
        """Return the middles of the thresholds of a piece, for the scores of all items."""
        f = [self._item_scores(part[k]) for part in coefficients]
        ends = (float(block.lo[k]), float(block.hi[k]))
        inside = float(_inside(block.lo, block.hi)[k])
        return middle_lines(self.training.hinges, (f[0], f[1]), ends, inside, self.ordered)

    def _item_scores(self, b: Array) -> Array:
        representation = self.training.representation
        return representation.scores(b if representation.is_linear else self.spread(b))

    def spread(self, b: Array) -> Array:
        """Return coefficients of the items of the stretch as coefficients of all items."""
        whole = np.zeros(self.training.hinges.n_items)
        whole[self.stretch.items] = b
        return whole


def _spread(held: Array, pressed: Array) -> Array:
    """Return what is held if it is pressed, directly or by others, against something that is held."""
    result = held.copy()
    last = held.shape[1] - 1
    for k in (*range(last), *reversed(range(last))):
        both = pressed[:, k] & (result[:, k] | result[:, k + 1])
        result[:, k] |= both
        result[:, k + 1] |= both
    return result


def _settled(images: Any) -> tuple[Array, Array]:
    """Return lines of scores or thresholds that stand still on a piece without end.

    The optimal value is concave in C, so that ‖f‖² cannot grow like C²: a slope there is round-off.
    """
    endless = np.isinf(images.hi)
    constant, slope = images.constant.copy(), images.slope.copy()
    constant[endless] += images.lo[endless, None] * slope[endless]
    slope[endless] = 0.0
    return constant, slope


def _with_middles(block: LevelLines, middles: dict[int, Pieces]) -> LevelLines:
    """Return the lines, thresholds of some pieces replaced by their middles, in parts if need be."""
    if not middles:
        return block
    every = range(len(block.lo))
    whole = [
        middles.get(k) or Pieces(block.lo[[k]], block.threshold_constant[[k]], block.threshold_slope[[k]])
        for k in every
    ]
    owner = np.repeat(every, [len(part.starts) for part in whole])
    starts, constant, slope = (np.concatenate(parts) for parts in zip(*whole, strict=True))
    ends = np.where(np.diff(owner, append=-1) == 0, np.roll(starts, -1), block.hi[owner])
    return LevelLines(starts, ends, block.constant[owner], block.slope[owner], constant, slope)


def _inside(lo: Array, hi: Array) -> Array:
    """Return some C inside every piece."""
    return np.where(np.isinf(hi), lo + 1.0, lo + INSIDE * (np.where(np.isinf(hi), lo, hi) - lo))
