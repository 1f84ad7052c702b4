r"""Row and column generation along a path: a path in C traced on a working set of objects that grows.

An object outside the working set W is not in the program. While its hinges are satisfied at the scores and
thresholds of W, these are optimal for all objects too. So: trace on W, find the first C at which an object
outside is violated, let it join with α = 0, which is optimal there, and go on with the same basis. The path
on one working set is a section.

`LineReader` returns scores and thresholds along a section as functions of C. Where a threshold has several
optimal values its middle is a line on parts of a piece only, so that some pieces come in parts.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import eye_array

import pqp
from ranking.core.representation import Representation
from ranking.core.validation import Array, Integers
from ranking.ordinal.base import Hinges, Training
from ranking.ordinal.level_curve import LevelLines
from ranking.ordinal.programs import dual_program, threshold_matrix
from ranking.ordinal.thresholds import middle_lines
from ranking.selection.piecewise import PiecewiseLinear

# Pieces traced before objects outside are used.
CHUNK = 64
# A margin missed by no more than this, relative to the largest score, is round-off.
VIOLATED = 1e-9
# Objects outside whose lines are evaluated together.
ROWS = 4096


@dataclass(frozen=True, eq=False)
class PathSection:
    """The path from `lo` to `hi`, traced on the hinges of some items; it may have been traced farther."""

    path: pqp.Path
    items: Integers
    hinges: Integers
    lo: float
    hi: float

    @property
    def pieces(self) -> int:
        """How many pieces of the traced path begin before the section ends."""
        return sum(bool(segment.lo < self.hi) for segment in self.path.segments)


class Limits(NamedTuple):
    """How many pieces are traced, and for how many seconds, at most."""

    max_pieces: int | None = None
    time_limit: float | None = None


Start: TypeAlias = Literal["warm", "cold", "from zero"]


class Round(NamedTuple):
    """Where a section begins, its objective there, how many objects are in its working set, how many join.

    `start` says how its first solution was found: "warm", from the basis of the section before; "cold",
    without one; "from zero", along the path from C = 0, since rounding errors defeated the cold start.
    """

    C: float
    objective: float
    working: int
    joining: int
    pieces: int
    seconds: float
    start: Start


States: TypeAlias = tuple[Array, tuple[str, ...]]


class Violators(NamedTuple):
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
class WorkingSet:
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

    def trace(self, ends: tuple[float, float], states: States | None) -> tuple[pqp.Path, Start]:
        """Return some pieces of the path from states, or without them, and how it was started."""
        program, basis = self.program(), self.basis(states)
        try:
            path = pqp.solve_path(program, ends, start=basis, max_pieces=CHUNK)
            return path, "cold" if basis is None else "warm"
        except pqp.NumericalTroubleError:
            if basis is not None or ends[0] == 0:
                raise
        # at C = 0 all variables are at a bound: a start that needs no decision about ties
        approach = pqp.solve_path(program, (0.0, ends[0]))
        path = pqp.solve_path(program, ends, start=approach.segments[-1], max_pieces=CHUNK)
        return path, "from zero"

    def states(self, point: Any) -> States:
        """Return the states of all hinges at a point, those outside the working set at 0."""
        basis, states = point.segment.basis, np.full(len(self.training.hinges), "lower", dtype=object)
        states[self.numbers] = basis.variables
        return states, basis.rows

    def joined(self, states: States, found: "Violators", C: float) -> States | None:
        """Return the states at C once violated objects have joined: their caps rise from 0 to what they are.

        At 0 what was optimal without them is optimal with them, α being 0 at both of its limits. None where
        round-off leaves a tie on the way undecided: then the next section starts cold, as its round says.
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


def trace_sections(
    training: Training,
    ends: tuple[float, float],
    ordered: bool,
    start: Integers,
    add: int | None = None,
    limits: Limits | None = None,
    report: Callable[[Round], None] | None = None,
) -> Iterator[PathSection]:
    """Yield the sections of a path, begun with the working set `start` of items.

    `add` is how many objects join at most at a time, those violated first, and where the path begins those
    violated most; all that are violated anywhere on the pieces traced so far if None.
    """
    (C, hi), items, states = ends, np.unique(start), None
    budget = Budget(limits or Limits())
    while budget.is_left:
        begin = time.perf_counter()
        working = WorkingSet(training, items, ordered)
        path, how = working.trace((C, hi), states)
        found = _violators(working, path, add)
        end = float(path.hi) if found.C is None else found.C
        if report is not None:
            sizes = (len(items), len(found.items), len(path.segments))
            report(Round(C, -float(path.objective(C)), *sizes, time.perf_counter() - begin, how))
        if end > C or found.C is None:
            section = PathSection(path, items, working.numbers, C, end)
            budget.pieces += section.pieces
            yield section
        if found.C is None and path.stopped is None:
            return
        # from the left: beyond `end` the path of this working set is not optimal for all objects
        states, items = working.states(path.left(end) if end > C else path(C)), np.union1d(items, found.items)
        # objects violated where the section begins cannot join with α = 0, so their caps rise first
        if found.C == C:
            states = WorkingSet(training, items, ordered).joined(states, found, C)
        C = end


def _violators(working: WorkingSet, path: pqp.Path, add: int | None) -> Violators:
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
    # first those violated at the smallest C; among them, at the start, those violated most
    order = np.lexsort((-slack, when))
    violated = order[: int(np.isfinite(when).sum())]
    items = hinges.item[violated]
    joining = items[np.sort(np.unique(items, return_index=True)[1])][:add]
    C = float(when[violated[0]]) if len(violated) else None
    return Violators(C, joining, np.flatnonzero(when == C))


def _slack(hinges: Hinges, rows: Any, lines: Array, thresholds: Array, one: float) -> Array:
    """Return constant (one = 1) or slope (one = 0) of the violation of hinges, one row per piece."""
    f = np.asarray(rows @ lines.T).T
    return one - hinges.sign * (f[:, hinges.item] - thresholds[:, hinges.threshold])


def _first_violation(lo: Array, hi: Array, constant: Array, slope: Array) -> Array:
    """Return for every hinge the first C at which it is violated, infinite if it never is."""
    # a piece without end is judged at a finite C; beyond it a positive slope decides
    far = np.where(np.isinf(hi), np.maximum(1.0, 2.0 * lo), hi)
    begin, end = (constant + where[:, None] * slope for where in (lo, far))
    # large terms may cancel in the sum, so rounding is relative to the terms
    noise = (
        VIOLATED * (1.0 + np.abs(constant) + far[:, None] * np.abs(slope)).max(axis=1, initial=0.0)[:, None]
    )
    late = (end > noise) | (np.isinf(hi)[:, None] & (slope > 0.0))
    is_early = begin > noise
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(is_early, lo[:, None], np.clip(-constant / slope, lo[:, None], far[:, None]))
    root = np.where(is_early | late, root, np.inf)
    return np.asarray(root.min(axis=0, initial=np.inf))


# Pieces evaluated together: a few megabytes.
BLOCK = 256
# Where inside a piece it is decided which hinges are free, as a share of its length.
INSIDE = 0.5
# A dual variable this close to a limit, relative to its cap, is at it.
AT_LIMIT = 1e-9


@dataclass(frozen=True, eq=False)
class LineReader:
    """What turns pieces of a section into lines of scores and thresholds."""

    training: Training
    section: PathSection
    ordered: bool

    @property
    def basis(self) -> Any:
        """What makes coefficients of the dual variables: weights of features, or one per item here."""
        items, training = self.section.items, self.training
        return training.representation.part(items).basis(training.hinges.part(items).pairs)

    def lines(self, X: Any) -> Iterator[LevelLines]:
        """Yield scores of rows and thresholds on all pieces of the section."""
        path, basis = self.section.path, self.basis
        rows = self.training.representation.evaluate(X, self.section.items)
        rises = threshold_matrix(self.training.hinges.n_thresholds, self.ordered)
        for begin in range(0, self.section.pieces, BLOCK):
            pieces = slice(begin, min(begin + BLOCK, self.section.pieces))
            images, thresholds = path.images(basis, pieces), path.multiplier_images(rises, pieces)
            hi = np.minimum(images.hi, self.section.hi)
            coefficients, cuts = _settled(images), _settled(thresholds)
            scores = [np.asarray((rows @ part.T).T) for part in coefficients]
            block = LevelLines(PiecewiseLinear(images.lo, hi, *scores), PiecewiseLinear(images.lo, hi, *cuts))
            middles = {k: self._middles(k, block, coefficients) for k in self._loose(pieces)}
            yield _with_middles(block, middles)

    def _loose(self, pieces: slice) -> list[int]:
        """Return the pieces on which some threshold has no hinge strictly inside its limits, to hold it.

        A hinge also holds the neighbours its threshold is pressed against, where thresholds must ascend: the
        sum of signed α up to a threshold is less than 0 where the next one presses.
        """
        hinges = self.training.hinges.part(self.section.items)
        alpha = self.section.path.images(eye_array(len(hinges), format="csr"), pieces)
        inside = _inside(alpha.lo, alpha.hi)[:, None]
        value, cap = alpha.constant + inside * alpha.slope, inside * hinges.weight
        is_free = (value > AT_LIMIT * cap) & (value < (1 - AT_LIMIT) * cap)
        held = is_free.astype(float) @ abs(hinges.incidence).T > 0
        if self.ordered:
            sums = np.cumsum(value @ hinges.incidence.T, axis=1)
            held = _spread(held, sums < -AT_LIMIT * cap.sum(axis=1, keepdims=True))
        return np.flatnonzero(~held.all(axis=1)).tolist()

    def _middles(self, k: int, block: LevelLines, coefficients: tuple[Array, Array]) -> PiecewiseLinear:
        """Return the middles of the thresholds of a piece, for the scores of all items."""
        representation = self.training.representation
        constant, slope = (part[k] for part in coefficients)
        if not representation.is_linear:
            constant, slope = self.spread(constant), self.spread(slope)
        f = representation.scores(constant), representation.scores(slope)
        lo, hi = block.scores.lo, block.scores.hi
        ends = (float(lo[k]), float(hi[k]))
        inside = float(_inside(lo, hi)[k])
        return middle_lines(self.training.hinges, f, ends, inside, self.ordered)

    def spread(self, b: Array) -> Array:
        """Return coefficients of the items of the section as coefficients of all items."""
        whole = np.zeros(self.training.hinges.n_items)
        whole[self.section.items] = b
        return whole


def _spread(held: Array, pressed: Array) -> Array:
    """Return the fixed thresholds: `held`, and those pressed against one of them or through others."""
    result = held.copy()
    last = held.shape[1] - 1
    # one sweep up and one down reach the ends of every chain of thresholds pressed together
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


def _with_middles(block: LevelLines, middles: dict[int, PiecewiseLinear]) -> LevelLines:
    """Return the lines, thresholds of some pieces replaced by their middles, in parts if need be."""
    if not middles:
        return block
    every = range(len(block.hi))
    parts = [middles.get(k) or block.thresholds.pieces(slice(k, k + 1)) for k in every]
    owner = np.repeat(every, [len(part.lo) for part in parts])
    lo, hi, constant, slope = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("lo", "hi", "constant", "slope")
    )
    scores = PiecewiseLinear(lo, hi, block.scores.constant[owner], block.scores.slope[owner])
    return LevelLines(scores, PiecewiseLinear(lo, hi, constant, slope))


def _inside(lo: Array, hi: Array) -> Array:
    """Return some C inside every piece."""
    return np.where(np.isinf(hi), lo + 1.0, lo + INSIDE * (np.where(np.isinf(hi), lo, hi) - lo))
