"""A path in scores as it is read: weights, β, α and pair sets at every C, from the events of the trace."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from ranking.core.preferences import Preferences
from ranking.core.representation import Representation
from ranking.core.validation import Array, counted
from ranking.errors import must_be
from ranking.ranksvm.score_certificate import ProvedPiece, is_surely_convex, prove_piece, require_cover
from ranking.ranksvm.score_kernels import (
    DEMAND,
    MARGIN,
    SATISFIED,
    SUPPLY,
    SUPPLY_RATE,
    VIOLATED,
    flow_of,
)
from ranking.ranksvm.score_trace import APART, Blocks, PairTable, Trace, gram_factor, is_long, trace

# Pieces shorter than this part of C are of no length but for rounding errors.
NO_LENGTH = 1e-11


class ScoreCertificate(NamedTuple):
    """The pieces that are proved, and whether K is proved to be positive semidefinite, as they assume."""

    pieces: tuple[ProvedPiece, ...]
    is_convex: bool


class Piece(NamedTuple):
    """The interval of C of a piece."""

    lo: float
    hi: float


class Line(NamedTuple):
    """A vector as a function of C: constant + C · slope."""

    constant: Array
    slope: Array


def follow_scores(
    F: Array,
    preferences: Preferences,
    C_max: float = np.inf,
    should_stop: Callable[[float, int], str | None] = lambda C, events: None,
    patience: int | None = None,
    gram: Callable[[], Array] | None = None,
) -> "ScorePath":
    """Return the path of a ranking problem with K = F Fᵀ and margins 1; see `trace`.

    `gram` returns the K that proofs are about; F Fᵀ by default.

    >>> from ranking.core.preferences import preferences_from_labels
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> path = follow_scores(X, preferences_from_labels([0, 0, 1]))
    >>> path.breakpoints.round(9).tolist(), path.weights(0).slope.tolist()
    ([0.066666667, 0.166666667, 0.25], [5.0])
    """
    n, (better, worse) = len(F), preferences.pairs.T
    # With objects in the order of queries and levels, those below another one have consecutive numbers, which
    # makes the search for a merge fast.
    query = np.full(n, -1)
    query[better], query[worse] = preferences.group, preferences.group
    order = np.lexsort((np.bincount(better, minlength=n), query))
    number = np.empty(n, np.int64)
    number[order] = np.arange(n)
    table = PairTable.of(number[preferences.pairs], preferences.weight, n)
    rows = np.ascontiguousarray(F[order])
    found = trace(rows, table, C_max, should_stop, patience)
    return ScorePath(rows, table, order, preferences, found, gram or partial(np.matmul, F, F.T))


class ScorePath:
    """The solutions of a ranking problem for every C in [0, hi], replayed from the events of their trace.

    A piece is what lies between two values of C at which something happens. `order` has the item of every
    object of the trace. `stopped` says why the path ends early, where it does.
    """

    def __init__(
        self,
        F: Array,
        table: PairTable,
        order: Array,
        preferences: Preferences,
        found: Trace,
        gram: Callable[[], Array],
    ) -> None:
        self.F, self.table, self.order, self.preferences = F, table, order, preferences
        self.lo, self.hi, self.stopped = 0.0, found.end, found.stopped
        self._trace, self._gram = found, gram
        C = found.events.C
        self._starts = np.unique(np.append(0.0, C[self.hi > C]))
        # events up to the start of each piece, those at it included
        self._done = np.searchsorted(C, self._starts, side="right")
        self._state, self._position = Blocks(F, table), 0

    def __repr__(self) -> str:
        early = f", {self.stopped}" if self.stopped else ""
        return f"ScorePath({counted(len(self), 'piece')} on [0, {self.hi:g}]{early})"

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self._starts)

    @property
    def edges(self) -> Array:
        """The ends of all pieces, ascending; the last may be infinite."""
        return np.append(self._starts, self.hi)

    @property
    def breakpoints(self) -> Array:
        """The values of C at which two pieces meet, ascending."""
        return self._starts[1:]

    @property
    def segments(self) -> list[Piece]:
        """Where the pieces begin and end."""
        return [Piece(*ends) for ends in pairwise(self.edges.tolist())]

    @property
    def events(self) -> int:
        """The number of joins and splits."""
        return len(self._trace.events)

    @property
    def ties(self) -> int:
        """The number of ties that were solved at once."""
        return self._trace.events.ties

    def piece_of(self, C: float) -> int:
        """Return the number of the piece that C lies on; at a breakpoint that of the right side."""
        if not self.lo <= C <= self.hi:
            raise must_be("C", f"between {self.lo:g} and {self.hi:g}, the ends of the path", found=C)
        return int(np.searchsorted(self._starts, C, side="right")) - 1

    def state(self, piece: int) -> Blocks:
        """Return the state at the start of a piece; it is valid until another one is asked for."""
        target = int(self._done[piece])
        snapshot = target // APART
        if target < self._position or snapshot > self._position // APART:
            self._state.restore(self._trace.snapshots[snapshot])
            self._position = snapshot * APART
        while self._position < target:
            self._state.replay(self._trace.events[self._position])
            self._position += 1
        C, end = self.edges[piece : piece + 2]
        if is_long(end - C, C):
            self._state.refresh()
        return self._state

    def weights(self, piece: int) -> Line:
        """Return w with scores F w, on a piece."""
        state = self.state(piece)
        return Line(state.w - state.C * state.w_rate, state.w_rate.copy())

    def beta(self, piece: int) -> Line:
        """Return β with scores K β, on a piece."""
        state = self.state(piece)
        supply, rate = state.flows[SUPPLY], state.flows[SUPPLY_RATE]
        return Line(self._by_item(supply - state.C * rate), self._by_item(state.flows[DEMAND] + rate))

    def _by_item(self, values: Array) -> Array:
        result = np.empty_like(values)
        result[self.order] = values
        return result

    def statuses(self, C: float) -> Array:
        """Return for every pair whether it is `VIOLATED`, on the `MARGIN` or `SATISFIED`."""
        return np.asarray(self.state(self.piece_of(C)).status[self.table.row])

    def sets(self, C: float) -> list[Array]:
        """Return the numbers of the pairs that are satisfied, on the margin and violated."""
        statuses = self.statuses(C)
        return [np.flatnonzero(statuses == kind) for kind in (SATISFIED, MARGIN, VIOLATED)]

    def counts(self) -> pd.DataFrame:
        """Return for every piece its ends and how many α are 0 (lower), inside, and C ω (upper)."""
        multiplicity = np.bincount(self.table.row)
        sizes = [
            [multiplicity[self.state(k).status == kind].sum() for kind in (SATISFIED, MARGIN, VIOLATED)]
            for k in range(len(self))
        ]
        table = pd.DataFrame(np.reshape(sizes, (-1, 3)), columns=["lower", "between", "upper"])
        return table.assign(lo=self.edges[:-1], hi=self.edges[1:])

    def x(self, C: float) -> Array:
        r"""Return dual variables at C, one per pair.

        They are 0 on satisfied pairs and C ω on violated ones. Those on the margin are a flow that carries
        β − C d; with more pairs than the rank of K others are optimal too.
        """
        state, t = self.state(self.piece_of(C)), self.table
        alpha = np.where(state.status == VIOLATED, C * t.weight, 0.0)
        edges = np.flatnonzero(state.status == MARGIN)
        if len(edges):
            excess = state.flows[SUPPLY] + (C - state.C) * state.flows[SUPPLY_RATE]
            alpha[edges] = flow_of(t.better[edges], t.lower[edges], C * t.weight[edges], excess)
        return np.asarray(alpha[t.row] * (self.preferences.weight / t.weight[t.row]))

    def certify(self, pieces: Iterable[int] | None = None) -> ScoreCertificate:
        """Prove pieces, all by default, in exact rationals from K and the preferences, or raise.

        All pieces together must also cover the path without a gap; those of no length, at a tie, prove
        themselves by that. The time of a piece grows with the third power of the objects on a margin.
        """
        K, w = self._gram(), self.preferences
        ends = np.minimum(self.edges, 2 * self._starts[-1] + 1)
        proved = []
        for k in range(len(self)) if pieces is None else pieces:
            C = float((ends[k] + ends[k + 1]) / 2)
            if ends[k + 1] - ends[k] > NO_LENGTH * ends[k + 1]:
                proved.append(prove_piece(K, w.pairs, w.weight, self.statuses(C), C))
        if pieces is None:
            require_cover(proved, self.hi)
        return ScoreCertificate(tuple(proved), is_surely_convex(K))


def score_features(representation: Representation) -> Array:
    """Return F with K = F Fᵀ: the rows of a linear model, unless they are longer than those of K."""
    X = representation.X
    if representation.is_linear and X.shape[1] <= X.shape[0]:
        return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X)
    return gram_factor(representation.gram)
