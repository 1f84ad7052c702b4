"""The record of a RankSVM path in λ: its breakpoints, sets and events, and α anywhere on it.

Kept are the α of the pairs on the margin at every breakpoint and the stream of events; the other α are 0 or
1, as the events say. So a path of many pairs takes little memory; whole matrices are built when asked for.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ranking.errors import must_be, must_have

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
