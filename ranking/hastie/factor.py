"""The active set of a RankSVM path: products with its Hessian, and the factor of the pairs on the margin.

With P the pairs x items matrix of +1 (preferred) and -1, the Hessian of the RankSVM dual is Q = P K Pᵀ. It is
never formed: a product costs one with K, a block costs differences of rows of K.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, qr_delete, solve_triangular

from ranking.errors import DataError, must_be

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# What K may miss of symmetry, and, times n, its eigenvalues of zero, as part of its largest entry: a Gram
# matrix with rounding errors stays well within.
SYMMETRY = 1e-10
# A pivot below this part of its diagonal entry is round-off: the subtraction behind it lost all but four
# digits.
PIVOT = 1e-12


@dataclass(frozen=True, eq=False)
class PairGram:
    """The matrix Q = P K Pᵀ of preference pairs, kept as K and the items `better[i]` over `worse[i]`.

    >>> gram = PairGram.of(np.eye(3), [(0, 1), (1, 2)])
    >>> gram.block([0, 1], [0, 1])
    array([[ 2., -1.],
           [-1.,  2.]])
    >>> gram.product(np.array([1.0, 1.0]))
    array([1., 1.])
    """

    K: Floats
    better: Ints
    worse: Ints

    @classmethod
    def of(cls, K: ArrayLike, pairs: ArrayLike) -> "PairGram":
        """Return the matrix of checked arguments; whatever makes no sense raises `DataError`."""
        found = np.asarray(K)
        if found.dtype.kind not in "biuf":
            raise must_be("K", "real numbers", found=str(found.dtype))
        gram = np.array(found, dtype=float)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or gram.size == 0:
            raise must_be("K", "a square matrix, one row per item", found=f"shape {gram.shape}")
        if not np.isfinite(gram).all():
            raise must_be("K", "finite", found=str(gram[~np.isfinite(gram)][0]))
        allowed = SYMMETRY * np.abs(gram).max()
        if (miss := np.abs(gram - gram.T).max()) > allowed:
            raise must_be("K", "symmetric", found=f"a difference from its transpose of {miss:.3g}")
        if (least := np.linalg.eigvalsh(gram)[0]) < -allowed * len(gram):
            raise must_be("K", "positive semidefinite", found=f"the eigenvalue {least:.3g}")
        items = np.asarray(pairs)
        if items.ndim != 2 or items.shape[1] != 2 or len(items) == 0:
            raise must_be("pairs", "m x 2, preferred item first", found=f"shape {items.shape}")
        if items.dtype.kind not in "iu":
            raise must_be("pairs", "integers, indices of rows of K", found=str(items.dtype))
        if items.min() < 0 or items.max() >= len(gram):
            raise must_be("pairs", f"in 0..{len(gram) - 1}", found=f"{items.min()}..{items.max()}")
        if (same := np.flatnonzero(items[:, 0] == items[:, 1])).size:
            message = "{argument} prefers item {found} to itself"
            raise DataError(message, argument=f"pairs[{same[0]}]", found=str(items[same[0], 0]))
        better, worse = items.astype(np.intp).T
        return cls(gram, better, worse)

    def __len__(self) -> int:
        return len(self.better)

    def weights(self, alpha: Floats) -> Floats:
        """Return Pᵀα: what every item gains as the better and loses as the worse one."""
        items = len(self.K)
        gained, lost = (np.bincount(side, alpha, items) for side in (self.better, self.worse))
        return np.asarray(gained - lost, dtype=float)

    def product(self, alpha: Floats) -> Floats:
        """Return Q α."""
        scores = self.K @ self.weights(alpha)
        return np.asarray(scores[self.better] - scores[self.worse], dtype=float)

    def block(self, rows: ArrayLike, columns: ArrayLike) -> Floats:
        """Return the entries of Q in some rows and columns."""
        i, j = np.asarray(rows, dtype=np.intp), np.asarray(columns, dtype=np.intp)
        differences = self.K[self.better[i]] - self.K[self.worse[i]]
        return np.asarray(differences[:, self.better[j]] - differences[:, self.worse[j]], dtype=float)

    def noise(self, alpha: Floats) -> float:
        """Return how far round-off may put the entries of Q α from what they are."""
        largest = np.diag(self.K).max() * np.abs(self.weights(alpha)).sum()
        return float(8 * np.finfo(float).eps * largest)


@dataclass(frozen=True, eq=False)
class ActiveFactor:
    r"""The upper triangle R with :math:`R^\top R = Q_{AA}` for the pairs A in `active`, in that order.

    One pair more borders R, one pair less deletes a column and turns R back into a triangle by rotations:
    both in :math:`O(|A|^2)`. `age` counts such changes since R was last computed from scratch.

    >>> gram = PairGram.of(np.eye(3), [(0, 1), (1, 2)])
    >>> factor = ActiveFactor.fresh(gram, [1]).entered(gram, 0)
    >>> factor.solve(np.ones(2))
    array([1., 1.])
    """

    active: Ints
    R: Floats
    age: int = 0

    @classmethod
    def fresh(cls, gram: PairGram, active: ArrayLike) -> "ActiveFactor":
        """Return the factor computed from scratch; `LinAlgError` if the matrix is singular in float64."""
        A = np.asarray(active, dtype=np.intp)
        if len(A) == 0:
            return cls(A, np.zeros((0, 0)))
        Q = gram.block(A, A)
        R = np.asarray(cholesky(Q), dtype=float)
        _require_pivots(np.diag(R) ** 2, np.diag(Q))
        return cls(A, R)

    def entered(self, gram: PairGram, pair: int) -> "ActiveFactor":
        """Return the factor with one pair more, at the end; `LinAlgError` if it depends on the others."""
        column, square, diagonal = self._border(gram, pair)
        _require_pivots(square, diagonal)
        size = len(self.active)
        R = np.zeros((size + 1, size + 1))
        R[:size, :size], R[:size, size], R[size, size] = self.R, column, np.sqrt(square)
        return ActiveFactor(np.append(self.active, pair), R, self.age + 1)

    def left(self, pair: int) -> "ActiveFactor":
        """Return the factor with one pair less."""
        place, size = int(np.flatnonzero(self.active == pair)[0]), len(self.active)
        if size == 1:
            return ActiveFactor(self.active[:0], np.zeros((0, 0)))
        _, R = qr_delete(np.eye(size), self.R, place, which="col")
        return ActiveFactor(np.delete(self.active, place), np.asarray(R[: size - 1]), self.age + 1)

    def is_dependent(self, gram: PairGram, pair: int) -> bool:
        """Return whether the row of a pair is a combination of the active ones, up to round-off."""
        _, square, diagonal = self._border(gram, pair)
        return not square > PIVOT * diagonal

    def solve(self, right: Floats) -> Floats:
        """Return the solution x of Q_AA x = right."""
        if len(right) == 0:
            return right
        return np.asarray(cho_solve((self.R, False), right), dtype=float)

    def _border(self, gram: PairGram, pair: int) -> tuple[Floats, float, float]:
        """Return the column above the new diagonal entry of R, the square of that entry, and Q_ii."""
        row = gram.block([pair], np.append(self.active, pair))[0]
        column, diagonal = row[:-1], float(row[-1])
        if len(column):
            column = np.asarray(solve_triangular(self.R, column, trans="T"), dtype=float)
        return column, diagonal - float(column @ column), diagonal


def _require_pivots(squares: ArrayLike, diagonal: ArrayLike) -> None:
    if not np.all(np.asarray(squares) > PIVOT * np.asarray(diagonal)):
        raise LinAlgError("a pivot is round-off")
