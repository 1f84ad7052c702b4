r"""The RankSVM path by an active set in λ [Zapien, Gasso, Gärtner and Canu 2009, Algorithm 1].

Written from the paper and the optimality conditions, without `pqp`: the two check one another. The problem is

.. math:: \min_f \sum_i \max(0, 1 - (f(x_{k_i}) - f(x_{l_i}))) + \tfrac{\lambda}{2} \|f\|^2

with the dual (8), :math:`\max_\alpha 1^\top\alpha - \frac1{2\lambda}\alpha^\top Q\alpha`, 0 ≤ α ≤ 1,
Q = P K Pᵀ, and f = (1/λ) Σ αᵢ (k(x_kᵢ, ·) - k(x_lᵢ, ·)). With g = Qα the margins are g/λ, and optimal is
gᵢ ≥ λ where αᵢ = 0 (the set I₀), gᵢ ≤ λ where αᵢ = 1 (I₁), gᵢ = λ in between (I_α). While the sets stay, λ
falling by δ moves α by -δη, Q_αα η = 1 (11, 12), and g by -δh, h = Qη. Elsewhere in `ranking` C = 1/λ, and
α is C times the one here.

Where the paper's print contradicts its own conditions, this module follows the conditions:

- (5) prints λ‖f‖², which contradicts λ/2 in (6) and everything after it; it is λ/2 here.
- (8) prints α ∈ ℝⁿ, which contradicts one αᵢ a pair: ℝᵐ. Below (9) "= 0" is missing; in (15) ηᵀ should be η.
- 5.1 prints that "α = λ1 solves" for the first λ, which contradicts α ≤ 1; α = 1 gives the λ printed next.
- 5.2 takes "the largest λᵢ < λᵗ" of (13), (14), (17). That passes over pairs tied at λᵗ itself, and counts
  pairs that touch their bound on the way in. Here a pair counts if it moves towards its bound, at λᵗ too.

Ties: events at one λ are taken one after another, the pair of least index first, until nothing moves over
its bound. This is the least-index method of Murty for complementarity problems, finite as long as Q_αα is
nonsingular. Start and restart (I_α empty) are the same step with η empty. Where Q_αα is singular, or
round-off grows beyond `MISS`, the trace raises.

With P the pairs x items matrix of +1 (preferred) and -1, Q is never formed: a product costs one with K, a
block costs differences of rows of K. The record keeps the α of the pairs on the margin at every breakpoint
and the stream of events; the other α are 0 or 1, as the events say. So a path of many pairs takes little
memory.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, qr_delete, solve_triangular

from ranking.errors import DataError, RankingError, SingularActiveSetError, must_be, must_have

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# What K may miss of symmetry, and, times n, its eigenvalues of zero, as part of its largest entry: a Gram
# matrix with rounding errors stays well within.
SYMMETRY = 1e-10
# A pivot below this part of its diagonal entry is round-off: the subtraction behind it lost all but four
# digits.
PIVOT = 1e-12

# Codes of the sets I₀ (α = 0, margin above 1), I₁ (α = 1, margin below 1) and I_α (margin 1).
INACTIVE, VIOLATED, MARGIN = 0, 1, 2
NAMES = {INACTIVE: "0", VIOLATED: "1", MARGIN: "alpha"}


# Events closer than this part of λ, and bounds closer than this part of 1 or λ, are one event: it is what a
# few hundred additions may lose.
TIE = 1e-13
# A rate of change below this part of the largest one is zero: what round-off leaves of equal margins.
ZERO_RATE = 1e-12
# What a margin, or α, may miss: beyond it the path is not what it claims to be, and the trace raises.
MISS = 1e-9
# From this miss on α is corrected by a solve with the residual.
DRIFT = 1e-12
# A pair that would reach its margin only below this part of the present λ may be one that depends on the
# active ones and reaches it at zero; it is examined.
VANISHING = 1e-6
# The factor is computed afresh after so many changes, each of which may lose a little.
CADENCE = 50
# Events allowed for each pair by default; the paper saw 2 to 3.
EVENTS_A_PAIR = 100


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


@dataclass(frozen=True, eq=False)
class _State:
    """The solution at one λ: α, g = Qα, the set of each pair, and the factor of the pairs on the margin."""

    lambda_: float
    alpha: Floats
    g: Floats
    codes: NDArray[np.int8]
    factor: ActiveFactor


def hastie_path(
    K: ArrayLike, pairs: ArrayLike, *, lambda_min: float = 0.0, max_events: int | None = None
) -> HastiePath:
    r"""Return the RankSVM path from λ = ∞, where all α are 1, down to `lambda_min`.

    The first breakpoint is :math:`\lambda^0 = \max_i (Q 1)_i`; the trace ends when I₁ is empty (below, α is
    proportional to λ), when no event is left, or at `lambda_min`.

    >>> path = hastie_path(np.eye(3), [(0, 1), (0, 2)])
    >>> path.lambdas
    array([3., 0.])
    >>> path.alpha_at(1.5)
    array([0.5, 0.5])

    Parameters
    ----------
    K : the symmetric positive semidefinite Gram matrix of the items.
    pairs : one row per preference, the index of the preferred item first.
    max_events : how many events to allow; 100 per pair by default.

    Raises
    ------
    SingularActiveSetError : where pairs on the margin depend on one another, up to round-off; its `lambda_`,
        the last λ that is good, taken as `lambda_min` gives the path so far.
    RankingError : after `max_events` events.
    """
    gram = PairGram.of(K, pairs)
    if not (np.isfinite(lambda_min) and lambda_min >= 0):
        raise must_be("lambda_min", "finite and >= 0", found=str(lambda_min))
    if max_events is not None and max_events < 1:
        raise must_be("max_events", "at least 1 or None", found=str(max_events))
    lambda_min, max_events = float(lambda_min), max_events or EVENTS_A_PAIR * (len(gram) + 1)
    breakpoints: list[tuple[float, Ints, Floats, int]] = []
    events: list[HastieEvent] = []

    def note_breakpoint(lambda_: float, state: _State) -> None:
        active = state.factor.active
        breakpoints.append((lambda_, active, state.alpha[active], len(events)))

    state = _start(gram, lambda_min)
    seen: set[bytes] = set()
    for _ in range(max_events + 1):
        eta = state.factor.solve(np.ones(len(state.factor.active)))
        pair, step = _next_event(gram, state, eta)
        below = state.lambda_ - step
        if pair is None or below <= max(lambda_min, TIE * state.lambda_):
            if state.lambda_ > lambda_min:
                note_breakpoint(state.lambda_, state)
                state = _ended(gram, state, eta, lambda_min)
            note_breakpoint(lambda_min, state)
            return _path(gram, breakpoints, events)
        if below < state.lambda_:
            note_breakpoint(state.lambda_, state)
            before, state = state, _moved(gram, state, eta, below)
            _require_optimal(before, state, MISS * below)
            seen.clear()
        before, (state, event) = state, _changed(gram, state, pair)
        _require_optimal(before, state, MISS * state.lambda_)
        events.append(event)
        _require_new(state, seen, pair)
    message = "no end after {found}"
    reached = f"{max_events} events, at lambda = {state.lambda_:.6g}"
    raise RankingError(message, argument="max_events", found=reached, remedy="raise max_events")


def _path(
    gram: PairGram, breakpoints: list[tuple[float, Ints, Floats, int]], events: list[HastieEvent]
) -> HastiePath:
    """Return the record of a trace, read-only."""
    lambdas, active, alphas, counts = zip(*breakpoints, strict=True)
    pairs = np.column_stack([gram.better, gram.worse])
    numbers = (np.array(lambdas), np.array(counts, dtype=np.intp))
    for array in (pairs, *numbers, *active, *alphas):
        array.flags.writeable = False
    return HastiePath(pairs, len(gram.K), numbers[0], active, alphas, numbers[1], tuple(events))


def _start(gram: PairGram, lambda_min: float) -> _State:
    """Return all pairs in I₁ at λ⁰ = max (Q1)ᵢ, or at `lambda_min` if that is larger [5.1]."""
    alpha = np.ones(len(gram))
    g = gram.product(alpha)
    highest = float(g.max()) if g.max() > gram.noise(alpha) else 0.0
    codes = np.full(len(gram), VIOLATED, dtype=np.int8)
    return _State(max(highest, lambda_min), alpha, g, codes, ActiveFactor.fresh(gram, []))


def _next_event(gram: PairGram, state: _State, eta: Floats) -> tuple[int | None, float]:
    """Return the pair that reaches its bound first, of least index among ties, and how far λ falls till then.

    (13) and (14) for pairs in I_α; (17) for the others, written as the distance λ - g or g - λ over the speed
    at which it shrinks. No pair if I₁ is empty, for then α = λη down to λ = 0.
    """
    if state.lambda_ == 0 or not (state.codes == VIOLATED).any():
        return None, state.lambda_
    active, full = state.factor.active, np.zeros(len(gram))
    full[active] = eta
    # every pair's distance to its bound, its speed towards it as λ falls, and what counts as near
    side = np.where(state.codes == VIOLATED, 1.0, -1.0)
    distance, speed = side * (state.lambda_ - state.g), side * (1 - gram.product(full))
    near = np.full(len(gram), max(TIE * state.lambda_, gram.noise(state.alpha)))
    speed[np.abs(speed) <= ZERO_RATE + gram.noise(full)] = 0
    # a pair that stays at margin 1 as λ falls and is a combination of I_α makes α ambiguous
    for pair in np.flatnonzero((np.abs(distance) <= near) & (speed == 0) & (state.codes != MARGIN)).tolist():
        if state.factor.is_dependent(gram, pair):
            raise _singular(state, pair, "depends on the pairs on the margin and stays with them")
    alpha = state.alpha[active]
    distance[active] = np.where(eta > 0, alpha, 1 - alpha)
    speed[active] = np.where(np.abs(eta) > ZERO_RATE * np.abs(eta).max(initial=0), np.abs(eta), 0)
    near[active] = TIE
    moving = speed > 0
    steps = np.full(len(gram), np.inf)
    steps[moving] = np.maximum(distance[moving], 0) / speed[moving]
    steps[(steps <= TIE * state.lambda_) & (distance <= near)] = 0
    while np.isfinite(steps.min()):
        pair = int(np.argmin(steps))
        vanishing = VANISHING * state.lambda_ >= state.lambda_ - steps[pair] and state.codes[pair] != MARGIN
        if not (vanishing and state.factor.is_dependent(gram, pair)):
            return pair, float(steps[pair])
        steps[pair] = np.inf
    return None, state.lambda_


def _moved(gram: PairGram, state: _State, eta: Floats, lambda_: float) -> _State:
    """Return the solution at a smaller λ with the same sets (12), corrected if it drifted."""
    alpha = state.alpha.copy()
    alpha[state.factor.active] -= (state.lambda_ - lambda_) * eta
    return _corrected(gram, replace(state, lambda_=lambda_, alpha=alpha, g=gram.product(alpha)), state)


def _changed(gram: PairGram, state: _State, pair: int) -> tuple[_State, HastieEvent]:
    """Return the state with one pair moved between its bound and I_α, and the record of it."""
    alpha, codes, old = state.alpha.copy(), state.codes.copy(), int(state.codes[pair])
    if old == MARGIN:
        new = VIOLATED if alpha[pair] > 0.5 else INACTIVE
        alpha[pair], factor = float(new == VIOLATED), state.factor.left(pair)
    else:
        new = MARGIN
        try:
            factor = state.factor.entered(gram, pair)
        except LinAlgError:
            raise _singular(state, pair, "enters, but depends on the pairs on the margin") from None
    codes[pair] = new
    if factor.age >= CADENCE:
        factor = _fresh(gram, factor, state)
    changed = _State(state.lambda_, alpha, gram.product(alpha), codes, factor)
    return _corrected(gram, changed, state), HastieEvent(state.lambda_, pair, old, new)


def _corrected(gram: PairGram, state: _State, before: _State) -> _State:
    """Return the state, if it drifted with α_A + Q_AA⁻¹(λ - g_A) by a fresh factor, if that is closer.

    A correction of more than `MISS` is none: the path would jump.
    """
    if _residual(state) <= DRIFT * state.lambda_:
        return state
    factor, alpha = _fresh(gram, state.factor, before), state.alpha.copy()
    correction = factor.solve(state.lambda_ - state.g[factor.active])
    if np.abs(correction).max() > MISS:
        return state
    alpha[factor.active] += correction
    corrected = replace(state, alpha=alpha, g=gram.product(alpha), factor=factor)
    return min(corrected, state, key=_residual)


def _ended(gram: PairGram, state: _State, eta: Floats, lambda_min: float) -> _State:
    """Return the end of the last piece, which reaches down to `lambda_min` without an event.

    If I₁ is empty Q_αα α = λ1, and α shrinks with λ. At the end no pair is chosen by its margin, so that it
    may miss by what round-off makes of it, which relative to a small λ can be much.
    """
    if (state.codes == VIOLATED).any():
        end = _moved(gram, state, eta, lambda_min)
    else:
        alpha = state.alpha * (lambda_min / state.lambda_)
        end = replace(state, lambda_=lambda_min, alpha=alpha, g=gram.product(alpha))
    noise = gram.noise(state.alpha) + gram.noise(state.alpha - end.alpha)
    _require_optimal(state, end, MISS * lambda_min + noise)
    return end


def _residual(state: _State) -> float:
    """Return how far g is from λ for the pairs in I_α, at most."""
    return float(np.abs(state.g[state.factor.active] - state.lambda_).max(initial=0))


def _require_optimal(before: _State, state: _State, allowed: float) -> None:
    """Raise unless λ times the margins keep to their bounds up to `allowed`, and α up to `MISS`.

    If not, float64 did not carry the active set from the state before, which was good, to this one.
    """
    over = state.g - state.lambda_
    beyond = np.choose(state.codes, [-over, over, np.abs(over)])
    overshoot = np.abs(state.alpha - 0.5) - 0.5
    where = f"at lambda = {state.lambda_:.6g} already, for want of digits"
    if beyond.max() > allowed:
        pair = int(np.argmax(beyond))
        raise _singular(before, pair, f"misses its margin by {beyond[pair]:.1e}/lambda {where}")
    if overshoot.max() > MISS:
        pair = int(np.argmax(overshoot))
        raise _singular(before, pair, f"has alpha = {state.alpha[pair]:.12g} {where}")


def _require_new(state: _State, seen: set[bytes], pair: int) -> None:
    """Raise if these sets were there before at the same λ: with a positive definite Q_αα that cannot be."""
    if (mark := state.codes.tobytes()) in seen:
        raise _singular(state, pair, "goes in and out of the active set without end")
    seen.add(mark)


def _fresh(gram: PairGram, factor: ActiveFactor, before: _State) -> ActiveFactor:
    try:
        return ActiveFactor.fresh(gram, factor.active)
    except LinAlgError:
        raise _singular(before, int(factor.active[-1]), "is in a set that became dependent") from None


def _singular(state: _State, pair: int, what: str) -> SingularActiveSetError:
    return SingularActiveSetError(
        "singular active set at lambda = {expected}: {found}",
        lambda_=state.lambda_,
        argument="pairs",
        found=f"pair {pair} {what} ({len(state.factor.active)} pairs on the margin)",
        expected=f"{state.lambda_:.17g}",
        remedy="stop there by lambda_min, or drop dependent pairs",
    )
