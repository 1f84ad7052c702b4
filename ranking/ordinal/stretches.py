r"""Stretches: a path in C traced on a working set of objects that grows, row and column generation along it.

An object outside the working set W is not in the program. While its hinges are satisfied at the scores and
thresholds of W, these are optimal for all objects too. So: trace on W, find the first C at which an object
outside is violated, let it join with α = 0, which is optimal there, and go on with the same basis.

Room: training data and an interval in; stretches of the path, each with its working set, out.
May touch: `errors`, `arguments`, `arrays`, `training`, `hinges`, `dual`, and `pqp`.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import pqp
from ranking.arguments import Integers
from ranking.arrays import Array
from ranking.ordinal.dual import dual_program, threshold_matrix
from ranking.ordinal.hinges import Hinges
from ranking.ordinal.training import Training
from ranking.representation import Representation

# Pieces traced before objects outside are looked at.
CHUNK = 64
# A margin missed by no more than this, beside the largest score, is round-off.
VIOLATED = 1e-9
# Objects outside whose lines are looked at together.
ROWS = 4096


@dataclass(frozen=True, eq=False)
class Stretch:
    """The path from `lo` to `hi`, traced on the hinges of some items; it may have been traced farther."""

    path: pqp.Path
    items: Integers
    hinges: Integers
    lo: float
    hi: float

    @property
    def pieces(self) -> int:
        """How many pieces of the traced path begin before the stretch ends."""
        return sum(bool(segment.lo < self.hi) for segment in self.path.segments)


class Limits(NamedTuple):
    """How many pieces are traced, and for how many seconds, at most."""

    max_pieces: int | None = None
    time_limit: float | None = None


class Round(NamedTuple):
    """Where a stretch begins, its objective there, how many objects are in its working set, how many join."""

    C: float
    objective: float
    working: int
    joining: int
    pieces: int
    seconds: float


States: TypeAlias = tuple[Array, tuple[str, ...]]


class Outside(NamedTuple):
    """The first C, if any, at which hinges outside are violated, these hinges, and the items that join."""

    C: float | None
    items: Integers
    violated: Integers


class Budget:
    """What is left of limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.pieces, self.begin = limits, 0, time.perf_counter()

    @property
    def is_left(self) -> bool:
        """Whether neither limit is reached."""
        most, seconds = self.limits
        is_late = seconds is not None and time.perf_counter() - self.begin > seconds
        return not is_late and (most is None or self.pieces < most)


@dataclass(frozen=True, eq=False)
class Working:
    """A working set of items: its program, and how states of its hinges are read and written."""

    training: Training
    items: Integers
    ordered: bool

    @cached_property
    def numbers(self) -> Integers:
        """The numbers of the hinges of the working set."""
        return self.training.hinges.of_items(self.items)

    @cached_property
    def hinges(self) -> Hinges:
        """The hinges of the working set."""
        return self.training.hinges.part(self.items)

    @cached_property
    def representation(self) -> Representation:
        """The kernel on the working set."""
        return self.training.representation.part(self.items)

    def program(self, caps: Any = None) -> pqp.ParametricQP:
        """Return the dual on the working set."""
        return dual_program(self.representation, self.hinges, self.ordered, caps)

    def basis(self, states: States | None) -> "pqp.Basis | None":
        """Return the basis that states of all hinges are on the working set."""
        return None if states is None else pqp.Basis(tuple(states[0][self.numbers]), states[1])

    def trace(self, ends: tuple[float, float], states: States | None) -> pqp.Path:
        """Return some pieces of the path from states, or from nothing, if need be on the way from C = 0."""
        program, basis = self.program(), self.basis(states)
        try:
            return pqp.solve_path(program, ends, start=basis, max_pieces=CHUNK)
        except pqp.NumericalTroubleError:
            if basis is not None or ends[0] == 0:
                raise
        way = pqp.solve_path(program, (0.0, ends[0]))
        return pqp.solve_path(program, ends, start=way.segments[-1], max_pieces=CHUNK)

    def states(self, point: Any) -> States:
        """Return the states of all hinges at a point, those outside the working set at 0."""
        basis, states = point.segment.basis, np.full(len(self.training.hinges), "lower", dtype=object)
        states[self.numbers] = basis.variables
        return states, basis.rows

    def joined(self, states: States, found: "Outside", C: float) -> States | None:
        """Return the states at C once violated objects have joined: their caps rise from 0 to what they are.

        At 0 what was optimal without them is optimal with them, α being 0 at both of its limits. None where
        round-off leaves a tie on the way undecided: then the solution has to be found from nothing.
        """
        is_new = np.isin(self.hinges.item, np.searchsorted(self.items, found.items))
        states[0][np.intersect1d(self.numbers[is_new], found.violated)] = "upper"
        cap = C * self.hinges.weight
        caps = np.where(is_new, 0.0, cap) + pqp.mu * np.where(is_new, cap, 0.0)
        try:
            path = pqp.solve_path(self.program(caps), (0.0, 1.0), start=self.basis(states))
        except pqp.NumericalTroubleError:
            return None
        return self.states(path.left(1.0))


def trace_stretches(
    training: Training,
    ends: tuple[float, float],
    ordered: bool,
    start: Integers,
    add: int | None = None,
    limits: Limits | None = None,
    told: Callable[[Round], None] | None = None,
) -> Iterator[Stretch]:
    """Yield the stretches of a path, begun with the working set `start` of items.

    `add` is how many objects join at most at a time, those violated first, and where the path begins those
    violated most; all that are violated anywhere on the pieces traced so far if None.
    """
    (C, hi), items, states = ends, np.unique(start), None
    budget = Budget(limits or Limits())
    while budget.is_left:
        begin = time.perf_counter()
        working = Working(training, items, ordered)
        path = working.trace((C, hi), states)
        found = _outside(working, path, add)
        end = float(path.hi) if found.C is None else found.C
        if told is not None:
            sizes = (len(items), len(found.items), len(path.segments))
            told(Round(C, -float(path.objective(C)), *sizes, time.perf_counter() - begin))
        if end > C or found.C is None:
            stretch = Stretch(path, items, working.numbers, C, end)
            budget.pieces += stretch.pieces
            yield stretch
        if found.C is None and path.stopped is None:
            return
        states, items = working.states(path.left(end) if end > C else path(C)), np.union1d(items, found.items)
        if found.C == C:
            states = Working(training, items, ordered).joined(states, found, C)
        C = end


def _outside(working: Working, path: pqp.Path, add: int | None) -> Outside:
    """Return where the first object outside is violated, and which join: first the first, and the worst."""
    hinges, representation = working.training.hinges, working.training.representation
    images = path.images(working.representation.basis(working.hinges.pairs))
    thresholds = path.multiplier_images(threshold_matrix(hinges.n_thresholds, working.ordered))
    rest = np.setdiff1d(np.arange(hinges.n_items), working.items, assume_unique=True)
    when, slack = np.full(len(hinges), np.inf), np.full(len(hinges), -np.inf)
    for begin in range(0, len(rest), ROWS):
        some = rest[begin : begin + ROWS]
        own, part = hinges.of_items(some), hinges.part(some)
        rows = representation.evaluate(representation.X[some], working.items)
        constant = _slack(part, rows, images.constant, thresholds.constant, 1.0)
        slope = _slack(part, rows, images.slope, thresholds.slope, 0.0)
        when[own] = _first_violation(images.lo, images.hi, constant, slope)
        slack[own] = constant[0] + images.lo[0] * slope[0]
    order = np.lexsort((-slack, when))
    violated = order[: int(np.isfinite(when).sum())]
    items = hinges.item[violated]
    joining = items[np.sort(np.unique(items, return_index=True)[1])][:add]
    C = float(when[violated[0]]) if len(violated) else None
    return Outside(C, joining, np.flatnonzero(when == C))


def _slack(hinges: Hinges, rows: Any, lines: Array, thresholds: Array, one: float) -> Array:
    """Return the constant (one = 1) or the slope (one = 0) of how much hinges are violated, a row a piece."""
    f = np.asarray(rows @ lines.T).T
    return one - hinges.sign * (f[:, hinges.item] - thresholds[:, hinges.threshold])


def _first_violation(lo: Array, hi: Array, constant: Array, slope: Array) -> Array:
    """Return for every hinge the first C at which it is violated, infinite if it never is."""
    far = np.where(np.isinf(hi), np.maximum(1.0, 2.0 * lo), hi)
    begin, end = (constant + where[:, None] * slope for where in (lo, far))
    noise = (
        VIOLATED * (1.0 + np.abs(constant) + far[:, None] * np.abs(slope)).max(axis=1, initial=0.0)[:, None]
    )
    late = (end > noise) | (np.isinf(hi)[:, None] & (slope > 0.0))
    is_early = begin > noise
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(is_early, lo[:, None], np.clip(-constant / slope, lo[:, None], far[:, None]))
    root = np.where(is_early | late, root, np.inf)
    return np.asarray(root.min(axis=0, initial=np.inf))
