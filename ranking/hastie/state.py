"""The record of a RankSVM path in λ: its breakpoints, sets and events, and α anywhere on it.

Kept are the α of the pairs on the margin at every breakpoint and the stream of events; the other α are 0 or
1, as the events say. So a path of many pairs takes little memory; whole matrices are built when asked for.

The active set: with P the pairs x items matrix of +1 (preferred) and -1, the Hessian of the RankSVM dual is Q
= P K Pᵀ. It is never formed: a product costs one with K, a block costs differences of rows of K.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, qr_delete, solve_triangular

from ranking.errors import DataError, must_be, must_have

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Codes of the sets I₀ (α = 0, margin above 1), I₁ (α = 1, margin below 1) and I_α (margin 1).
INACTIVE, VIOLATED, MARGIN = 0, 1, 2
NAMES = {INACTIVE: "0", VIOLATED: "1", MARGIN: "alpha"}


@dataclass(frozen=True)
class HastieEvent:
    """A pair that changes its set at some λ.

    >>> HastieEvent(2.5, 7, VIOLATED, MARGIN).kind
    '1->alpha'
    """

    lambda_: float
    pair: int
    old: int
    new: int

    @property
    def kind(self) -> str:
        """The sets it leaves and enters, as "1->alpha", "0->alpha", "alpha->0" or "alpha->1"."""
        return f"{NAMES[self.old]}->{NAMES[self.new]}"


@dataclass(frozen=True, eq=False)
class HastiePath:
    r"""The solutions α(λ) of a RankSVM, piecewise linear in λ, from λ = ∞ down to the last of `lambdas`.

    `lambdas` falls strictly; at all but the last one events take place, and above the first one all α are 1.
    `active[t]` are the pairs on the margin from `lambdas[t]` down to `lambdas[t + 1]`, `active_alphas[t]`
    their α at `lambdas[t]`, and `counts[t]` says how many of the `events` have happened by then, those at
    `lambdas[t]` included. In terms of C = 1/λ the dual variable with 0 ≤ α ≤ C is C times this one.
    """

    pairs: Ints
    n_items: int
    lambdas: Floats
    active: tuple[Ints, ...]
    active_alphas: tuple[Floats, ...]
    counts: Ints
    events: tuple[HastieEvent, ...]

    @property
    def alphas(self) -> Floats:
        """α at the breakpoints, one row each; built when asked for."""
        return np.array([self._alpha(t) for t in range(len(self.lambdas))])

    @property
    def codes(self) -> NDArray[np.int8]:
        """The sets just below each breakpoint, one row each: 0 for I₀, 1 for I₁, 2 for I_α."""
        return np.array([self.codes_below(t) for t in range(len(self.lambdas))])

    def codes_below(self, t: int) -> NDArray[np.int8]:
        """Return the set of every pair just below breakpoint number t."""
        codes = np.full(len(self.pairs), VIOLATED, dtype=np.int8)
        changed, became = self._changes
        # Of several values for one index numpy keeps the last, which is the latest event of that pair.
        codes[changed[: self.counts[t]]] = became[: self.counts[t]]
        return codes

    def alpha_at(self, lambda_: float) -> Floats:
        """Return α at any λ of the path, by linear interpolation between its breakpoints."""
        if not lambda_ >= self.lambdas[-1]:
            raise must_be("lambda_", f"at least {self.lambdas[-1]:g}, where the path ends", found=lambda_)
        if lambda_ > self.lambdas[0]:
            return np.ones(len(self.pairs))
        t = int(np.searchsorted(-self.lambdas, -lambda_))
        if lambda_ == self.lambdas[t]:
            return self._alpha(t)
        high, low = self.lambdas[t - 1], self.lambdas[t]
        from_high, from_low = (lambda_ - low) / (high - low), (high - lambda_) / (high - low)
        return from_high * self._alpha(t - 1) + from_low * self._alpha(t)

    def beta_at(self, lambda_: float) -> Floats:
        """Return the coefficients β = Pᵀα/λ of the items, f = Σ βⱼ k(xⱼ, ·), at λ > 0."""
        alpha = self.alpha_at(lambda_)
        if lambda_ == 0:
            raise must_be("lambda_", "positive for scores", found=lambda_)
        gained = np.bincount(self.pairs[:, 0], alpha, self.n_items)
        return (gained - np.bincount(self.pairs[:, 1], alpha, self.n_items)) / lambda_

    def scores_at(self, K_test_rows: ArrayLike, lambda_: float) -> Floats:
        """Return f at new points, whose kernel values with the items are the rows of `K_test_rows`."""
        rows = np.asarray(K_test_rows, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != self.n_items:
            wanted = f"{self.n_items} columns, one per item"
            raise must_have("K_test_rows", wanted, found=f"shape {rows.shape}")
        return np.asarray(rows @ self.beta_at(lambda_), dtype=float)

    @cached_property
    def _changes(self) -> tuple[Ints, NDArray[np.int8]]:
        changed = np.array([event.pair for event in self.events], dtype=np.intp)
        return changed, np.array([event.new for event in self.events], dtype=np.int8)

    def _alpha(self, t: int) -> Floats:
        alpha = (self.codes_below(t) == VIOLATED).astype(float)
        alpha[self.active[t]] = self.active_alphas[t]
        return alpha


@dataclass
class Recorder:
    """Collects the breakpoints and events of a trace."""

    pairs: Ints
    n_items: int
    lambdas: list[float] = field(default_factory=list)
    active: list[Ints] = field(default_factory=list)
    active_alphas: list[Floats] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    events: list[HastieEvent] = field(default_factory=list)

    def add_breakpoint(self, lambda_: float, active: Ints, alpha: Floats) -> None:
        """Take down the state just below a breakpoint, all events there being made."""
        self.lambdas.append(lambda_)
        self.active.append(active)
        self.active_alphas.append(alpha[active])
        self.counts.append(len(self.events))

    def path(self) -> HastiePath:
        """Return what was collected, read-only."""
        numbers = (np.asarray(self.pairs), np.array(self.lambdas), np.array(self.counts, dtype=np.intp))
        for array in (*numbers, *self.active, *self.active_alphas):
            array.flags.writeable = False
        pairs, lambdas, counts = numbers
        active, alphas = tuple(self.active), tuple(self.active_alphas)
        return HastiePath(pairs, self.n_items, lambdas, active, alphas, counts, tuple(self.events))


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
