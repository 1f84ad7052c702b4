r"""The path of RankSVM with all pairs, in the scores of the objects instead of one variable per pair.

.. math:: \min_\beta \; \tfrac12 \beta^\top K \beta + C \sum_{(i, j)} \omega_{ij} \max(0, 1 - (s_i - s_j)),
          \qquad s = K\beta

Pairs are violated, satisfied or on the margin. *Blocks* are the objects that margin pairs connect; inside a
block all score differences are fixed: s = e + a constant, e the integer offsets. Let d_i be the weight of
violated pairs in which i is preferred, minus that of those in which it is not. Then β is optimal at C if and
only if

1. s_i − s_j ≤ 1 on violated pairs, ≥ 1 on satisfied ones, = 1 on those on the margin;
2. there is a flow 0 ≤ α ≤ Cω on the margin pairs whose divergence is the supply β − C d.

With K = F Fᵀ and w = Fᵀβ the scores are F w. Between events w moves along a line whose slope is the part of
Fᵀd that is orthogonal to FᵀM, where the columns of M span the vectors whose sum over every block is zero. A
pair of two blocks that reaches its margin joins them: one more column of M. A cut X of a block whose capacity
is used up, C out(X) = (β − C d)(X), splits it: X moves down, and M has one column less for each part. FᵀM is
kept orthonormal, so that nearly singular K lose no more digits than they must.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import pqp
from ranking.core.validation import Array
from ranking.errors import DataError
from ranking.ranksvm import score_kernels as kernels
from ranking.ranksvm.score_kernels import DEMAND, MARGIN, SATISFIED, SUPPLY, SUPPLY_RATE, VIOLATED
from ranking.ranksvm.score_ties import settled

# By how much K may miss being positive semidefinite, relative to its diagonal: distances inside an RBF kernel
# lose that many digits where points lie far from the origin.
ROUNDING = 1e-10
# Objects whose squared distance is below this part of their squared lengths are the same.
SAME = 8 * np.finfo(float).eps
# Weights whose slope is below this part of Fᵀd stand still: it is the rounding error of the projection.
STANDING = 1e-14
# A pair whose difference the others fix already has no freedom left: δ = ‖(I − QQᵀ)Fᵀu‖² relative to
# K_ii + K_jj. The norm is computed to about 1e-15, and to 1e-12 when Q is old.
DEPENDENT = 1e-24
# Below this, M and Q are computed afresh before that freedom is believed.
DOUBTFUL = 1e-12
# Events after which everything but M and Q is computed afresh, and how far the scores of a block may spread
# before M and Q are, too.
CADENCE = 50
SPREAD = 1e-10
# By how much a score difference may be on the wrong side of its margin before the trace gives up.
WRONG_SIDE = 1e-6
# Steps below this part of C have no length.
NO_LENGTH = 1e-13
# Events between two snapshots, from which the path is read.
APART = 250


def gram_factor(K: Array) -> Array:
    """Return F with K = F Fᵀ up to rounding and as many columns as K has rank, by Cholesky with pivoting.

    Objects whose distance in feature space is a rounding error have the same row: what is left of a distance
    in the last columns of F would be noise, enlarged.
    """
    diagonal = K.diagonal()
    is_same = diagonal[:, None] + diagonal - 2 * K <= SAME * (diagonal[:, None] + diagonal)
    twin = is_same.argmax(axis=1)
    alone, row = np.unique(twin, return_inverse=True)
    lower, pivots, rank, _ = dpstrf(K[np.ix_(alone, alone)], lower=1)
    F = np.zeros((len(alone), rank))
    F[pivots - 1] = np.tril(lower)[:, :rank]
    F = np.ascontiguousarray(F[row])
    # a function or a matrix of the user need not be positive semidefinite
    missing = float(np.abs(K - F @ F.T).max())
    if missing > ROUNDING * float(diagonal.max()):
        message = "{argument} must give {expected}: the nearest F F' misses it by {found}"
        raise DataError(message, argument="kernel", found=f"{missing:.1e}", expected="a Gram matrix K")
    return F


@dataclass(frozen=True, eq=False)
class PairTable:
    """Pairs (i, j), i preferred, by both of their objects, with the arrays that `score_kernels` describes.

    A pair that is there several times is one row with the sum of its weights; `row` has the row of each pair.
    """

    better: Array
    first: Array
    lower: Array
    into: Array
    upper: Array
    entering: Array
    weight: Array
    row: Array
    is_whole: bool
    is_complete: bool

    @classmethod
    def of(cls, pairs: Array, weight: Array, n: int) -> "PairTable":
        """Return the table of pairs among n objects."""
        keys, row = np.unique(pairs[:, 0] * n + pairs[:, 1], return_inverse=True)
        better, worse = keys // n, keys % n
        weights = np.bincount(row, weight)
        entering = np.argsort(worse, kind="stable")
        first, into = (np.searchsorted(column, np.arange(n + 1)) for column in (better, worse[entering]))
        is_complete = bool((weights == 1).all()) and _is_complete(better, worse, n)
        is_whole = bool((weights == np.rint(weights)).all())
        return cls(
            better, first, worse, into, better[entering], entering, weights, row, is_whole, is_complete
        )


def _is_complete(better: Array, worse: Array, n: int) -> bool:
    """Return whether pairs are those of two levels, all of them, in every query."""
    graph = coo_array((np.ones(len(better)), (better, worse)), shape=(n, n))
    _, query = connected_components(graph, directed=False)
    above, below = (np.bincount(objects, minlength=n) > 0 for objects in (better, worse))
    pairs = np.bincount(query[better], minlength=n)
    sides = (np.bincount(query[side], minlength=n) for side in (above, below))
    return not (above & below).any() and bool((np.multiply(*sides) == pairs).all())


def is_long(step: float, C: float) -> bool:
    """Return whether rounding errors of a direction would count on a step, unless it is computed afresh."""
    return step >= C


class Snapshot(NamedTuple):
    """What determines the state of a trace: pairs that are violated, one bit each, blocks and offsets."""

    C: float
    violated: Array
    block: Array
    offset: Array


class Blocks:
    """The state of the trace at one C: blocks, statuses of pairs, the weights, and how they move."""

    def __init__(self, F: Array, table: PairTable) -> None:
        n, size = F.shape
        self.F, self.table, self.C = F, table, 0.0
        self.diagonal = np.einsum("ij,ij->i", F, F)
        self.status = np.full(len(table.lower), VIOLATED, np.int8)
        self.block, self.successor, self.offset = np.arange(n), np.arange(n), np.zeros(n, np.int64)
        # the part of its capacity that flows on every pair on the margin, where a search for a flow begins
        self.share = np.zeros(len(table.lower))
        self.flows = np.zeros((3, n))
        self.flows[DEMAND] = self._demand()
        # objects of blocks with two members or more have a column in M; `place` is its number
        self.objects, self.place, self.count = np.empty(n, np.int64), np.full(n, -1), 0
        # rows k < rank: a vector m_k with zero sum over every block, and Fᵀm_k; the latter are orthonormal
        self.M, self.Q, self.rank = np.zeros((16, 16)), np.zeros((16, size)), 0
        self._cut = np.empty(n, np.int64)
        # blocks whose difference of velocities is fixed to zero, though no margin pair joins them
        self.kin = np.arange(n)
        self.w, self.score = np.zeros(size), np.zeros(n)
        self.w_rate = F.T @ self.flows[DEMAND]
        self.velocity = F @ self.w_rate

    @property
    def beta(self) -> Array:
        """β = C d + supply."""
        return np.asarray(self.C * self.flows[DEMAND] + self.flows[SUPPLY])

    def next_merge(self) -> tuple[float, int, int]:
        """Return the step to the first pair of two blocks that reaches its margin, and its objects."""
        t = self.table
        return kernels.next_merge(t.first, t.lower, self.status, self.score, self.velocity)

    def next_split(self, step: float) -> tuple[float, Array]:
        """Return the step to the first cut that is used up, at most the one given, and the set it lowers."""
        t = self.table
        first, size = kernels.next_split(
            self.C,
            step,
            self.flows,
            self.share,
            t.first,
            t.lower,
            t.weight,
            self.status,
            self.block,
            self.offset,
            self.successor,
            self.objects[: self.count],
            t.is_complete,
            self._cut,
        )
        return first, self._cut[:size]

    def advance(self, step: float) -> None:
        """Move along the line."""
        self.C += step
        kernels.advance(step, self.w, self.w_rate, self.score, self.velocity, self.flows)

    def merge(self, i: int, j: int) -> bool:
        """Join the blocks of i and j, i above j by the margin, unless the other blocks fix that already."""
        size = self.diagonal[i] + self.diagonal[j]
        known, q, delta = kernels.project(self.F[i] - self.F[j], self.Q, self.rank)
        if DEPENDENT * size < delta < DOUBTFUL * size:
            self.rebuild()
            known, q, delta = kernels.project(self.F[i] - self.F[j], self.Q, self.rank)
        if not delta > DEPENDENT * size:
            # Their velocities are equal then, and so are those of all blocks that are tied in this way.
            tied = self.kin == self.kin[j]
            self.velocity[tied], self.kin[tied] = self.velocity[i], self.kin[i]
            return False
        if self.count + 2 > self.M.shape[1]:
            self.M = np.pad(self.M, ((0, 0), (0, self.M.shape[1])))
        if self.rank == len(self.Q):
            self.M, self.Q = (np.pad(table, ((0, len(table)), (0, 0))) for table in (self.M, self.Q))
        self.count = kernels.attach(
            known,
            q,
            i,
            j,
            self.M,
            self.Q,
            self.F,
            self.objects,
            self.place,
            self.count,
            self.flows,
            self.w_rate,
            self.velocity,
        )
        self.rank += 1
        t = self.table
        kernels.join(
            i,
            j,
            t.first,
            t.lower,
            t.into,
            t.upper,
            t.entering,
            t.weight,
            self.status,
            self.share,
            self.C,
            self.flows,
            self.block,
            self.offset,
            self.successor,
        )
        kernels.level(self.velocity, self.successor, i)
        self.kin[self.kin == self.kin[j]] = self.kin[i]
        return True

    def split(self, cut: Array) -> None:
        """Let the objects of a cut move down, away from the rest of their block."""
        t = self.table
        members = np.empty(len(self.score), np.int64)
        count = kernels.divide(
            cut,
            t.first,
            t.lower,
            t.into,
            t.upper,
            t.entering,
            t.weight,
            self.status,
            self.C,
            self.flows,
            self.block,
            self.offset,
            self.successor,
            members,
        )
        self.rank, self.count = kernels.separate(
            members,
            count,
            self.block,
            self.successor,
            self.M,
            self.Q,
            self.rank,
            self.F,
            self.objects,
            self.place,
            self.count,
            self.flows,
            self.w_rate,
            self.velocity,
        )
        self.kin = self.block.copy()

    def replay(self, event: "Event") -> None:
        """Move to an event of a trace, and through it."""
        C, objects, is_split, tie = event
        if is_long(C - self.C, self.C):
            self.refresh()
        self.advance(C - self.C)
        if tie is not None:
            self.restore(tie)
        elif is_split:
            self.split(objects)
        elif not self.merge(int(objects[0]), int(objects[1])):
            raise pqp.InternalError(f"objects {objects} do not join at C = {C!r} when the path is read")

    def _demand(self) -> Array:
        """Return d from the statuses."""
        t, n = self.table, len(self.block)
        weight = np.where(self.status == VIOLATED, t.weight, 0.0)
        return np.asarray(np.bincount(t.better, weight, n) - np.bincount(t.lower, weight, n))

    def rebuild(self) -> None:
        """Compute M and Q from their definition."""
        objects = self.objects[: self.count]
        roots = self.block[objects]
        # the label of a block is one of its members: the differences of the others to it span the zero sums
        free = np.flatnonzero(roots != objects)
        Q, R = qr((self.F[objects[free]] - self.F[roots[free]]).T, mode="economic")
        B = np.zeros((len(free), self.count))
        B[np.arange(len(free)), free] = 1.0
        B[np.arange(len(free)), self.place[roots[free]]] = -1.0
        self.rank = len(free)
        while len(self.Q) < self.rank:
            self.M, self.Q = (np.pad(table, ((0, len(table)), (0, 0))) for table in (self.M, self.Q))
        self.M[: self.rank, : self.count] = solve_triangular(R, B, trans="T")
        self.Q[: self.rank] = Q.T

    def refresh(self) -> None:
        """Compute weights, scores and direction afresh; M and Q too, where scores of a block have spread."""
        objects = self.objects[: self.count]
        if not self.table.is_whole:
            # sums and differences of these weights are rounded, and what is left of them would grow with C
            self.flows[DEMAND] = self._demand()
        for _ in range(2):
            M, Q = self.M[: self.rank, : self.count], self.Q[: self.rank]
            g = self.F.T @ self.flows[DEMAND]
            known, self.w_rate, length = kernels.project(g, self.Q, self.rank)
            if length <= STANDING**2 * (g @ g):
                self.w_rate[:] = 0.0
            place = M @ self.offset[objects]
            self.w = self.C * self.w_rate + place @ Q
            self.flows[SUPPLY:] = 0.0
            self.flows[SUPPLY, objects] = (place - self.C * known) @ M
            self.flows[SUPPLY_RATE, objects] = -known @ M
            self.score, self.velocity = self.F @ self.w, self.F @ self.w_rate
            if self._level() <= SPREAD:
                break
            self.rebuild()
        t = self.table
        if kernels.worst_gap(t.first, t.lower, self.status, self.score) > WRONG_SIDE:
            raise trouble(self.C, "a pair is on the wrong side of its margin")

    def _level(self) -> float:
        """Make scores and velocities of blocks those of rigid bodies; return by how much scores were not."""
        n = len(self.score)
        sizes = np.maximum(np.bincount(self.block, minlength=n), 1)
        place = self.score - self.offset
        means, speeds = (
            (np.bincount(self.block, values, n) / sizes)[self.block] for values in (place, self.velocity)
        )
        self.score, self.velocity = means + self.offset, speeds
        for kin in np.unique(self.kin[self.kin != self.block]):
            tied = self.kin == kin
            self.velocity[tied] = self.velocity[tied][0]
        return float(np.abs(place - means).max())

    def snapshot(self) -> Snapshot:
        """Return what determines this state, besides C."""
        violated = np.packbits(self.status == VIOLATED)
        return Snapshot(self.C, violated, self.block.astype(np.int32), self.offset.astype(np.int32))

    def restore(self, at: Snapshot) -> None:
        """Go to the state of a snapshot."""
        t, n = self.table, len(self.score)
        self.C, self.block, self.offset = at.C, at.block.astype(np.int64), at.offset.astype(np.int64)
        violated = np.unpackbits(at.violated, count=len(t.lower)).astype(bool)
        is_margin = (self.block[t.better] == self.block[t.lower]) & (
            self.offset[t.better] == self.offset[t.lower] + 1
        )
        self.status[:] = np.where(is_margin, MARGIN, np.where(violated, VIOLATED, SATISFIED))
        self.flows[DEMAND] = self._demand()
        # rings of blocks: each member is followed by the next one of its block, the last by the first
        order = np.argsort(self.block, kind="stable")
        ends = np.flatnonzero(np.diff(self.block[order], append=-1))
        after = np.roll(order, -1)
        after[ends] = order[np.append(0, ends[:-1] + 1)]
        self.successor[order] = after
        members = np.flatnonzero(self.successor != np.arange(n))
        self.count, self.rank = len(members), 0
        self.objects[: self.count] = members
        self.place[:] = -1
        self.place[members] = np.arange(self.count)
        if self.count > self.M.shape[1]:
            self.M = np.zeros((len(self.M), 2 * self.count))
        self.kin = self.block.copy()
        self.rebuild()
        self.refresh()

    def settle(self) -> Snapshot:
        """Solve a tie at once, and return the state beyond it."""
        status, n = settled(self), len(self.score)
        edges = np.flatnonzero(status == MARGIN)
        graph = coo_array((np.ones(len(edges)), (self.table.better[edges], self.table.lower[edges])), (n, n))
        _, part = connected_components(graph, directed=False)
        _, roots = np.unique(part, return_index=True)
        block = roots[part]
        offset = np.rint(self.score - self.score[block])
        free = np.flatnonzero(block != np.arange(n))
        if np.linalg.matrix_rank(self.F[free] - self.F[block[free]]) < len(free):
            raise trouble(self.C, "differences within the blocks of a tie depend on one another")
        violated = np.packbits(status == VIOLATED)
        self.restore(Snapshot(self.C, violated, block.astype(np.int32), offset.astype(np.int32)))
        return self.snapshot()


class Event(NamedTuple):
    """What happens at C: two objects join, a set splits off and moves down, or a tie is solved at once."""

    C: float
    objects: Array
    is_split: bool
    tie: Snapshot | None


class Events:
    """The events of a trace in order, a few bytes each."""

    def __init__(self) -> None:
        self._C, self._is_split = array("d"), array("b")
        self._objects, self._ends = array("i"), array("q", [0])
        self._ties: dict[int, Snapshot] = {}

    def __len__(self) -> int:
        return len(self._C)

    def append(
        self, C: float, objects: ArrayLike, is_split: bool = False, tie: Snapshot | None = None
    ) -> None:
        """Add an event."""
        if tie is not None:
            self._ties[len(self)] = tie
        self._objects.frombytes(np.asarray(objects, np.int32).tobytes())
        self._ends.append(len(self._objects))
        self._is_split.append(is_split)
        self._C.append(C)

    @property
    def C(self) -> Array:
        """The C of every event."""
        return np.array(self._C)

    @property
    def ties(self) -> int:
        """The number of ties that were solved at once."""
        return len(self._ties)

    def __getitem__(self, k: int) -> Event:
        objects = np.array(self._objects[self._ends[k] : self._ends[k + 1]], dtype=np.int64)
        return Event(self._C[k], objects, bool(self._is_split[k]), self._ties.get(k))


@dataclass(frozen=True, eq=False)
class Trace:
    """What a trace found: its events, a snapshot before every `APART` of them, where it ended, and why."""

    events: Events
    snapshots: list[Snapshot]
    end: float
    stopped: str | None


def trace(
    F: Array,
    table: PairTable,
    C_max: float = np.inf,
    should_stop: Callable[[float, int], str | None] = lambda C, events: None,
    patience: int | None = None,
) -> Trace:
    """Follow the scores from C = 0 to C_max, or to the last event; `should_stop` returns a reason to stop.

    One event at a time: of those at one C each changes the direction before the next one is looked for, and
    steps between them have no length. After `patience` steps without length, by default two per object, all
    that is due at this C is solved at once (`settle`), so that the trace comes to an end. Where rounding
    errors defeat it, the path ends at the last C at which the state was computed afresh and found right.
    """
    blocks, events = Blocks(F, table), Events()
    snapshots: list[Snapshot] = []
    is_fresh, still, most = True, 0, 2 * len(F) if patience is None else patience
    right = 0.0
    try:
        while True:
            done = len(events)
            if done == APART * len(snapshots):
                snapshots.append(blocks.snapshot())
            if reason := should_stop(blocks.C, done):
                return Trace(events, snapshots, blocks.C, reason)
            merge_step, i, j = blocks.next_merge()
            left = C_max - blocks.C
            step, cut = blocks.next_split(min(merge_step, left))
            if is_long(step, blocks.C) and not is_fresh:
                blocks.refresh()
                is_fresh, right = True, blocks.C
                continue
            if not len(cut) and merge_step >= left:
                return Trace(events, snapshots, C_max, None)
            still = still + 1 if step <= NO_LENGTH * blocks.C else 0
            if still > most + 2 * len(F):
                raise trouble(blocks.C, "the events at this C do not come to an end")
            blocks.advance(step)
            if still == most + 1:
                events.append(blocks.C, (), tie=blocks.settle())
            elif len(cut):
                blocks.split(cut)
                events.append(blocks.C, cut, is_split=True)
            elif blocks.merge(i, j):
                events.append(blocks.C, (i, j))
            else:
                continue
            is_fresh = (done + 1) % CADENCE == 0
            if is_fresh:
                blocks.refresh()
                right = blocks.C
    except pqp.NumericalTroubleError as error:
        return Trace(events, snapshots, right, str(error))
    except KeyboardInterrupt:
        return Trace(events, snapshots, float(events.C[-1]) if len(events) else 0.0, "interrupted")


def trouble(C: float, what: str) -> pqp.NumericalTroubleError:
    """Return the error of a trace that rounding errors defeat at some C."""
    return pqp.NumericalTroubleError(
        "rounding errors at {found}", found=f"C = {C:g}: {what}", remedy="follow the pairs instead"
    )
