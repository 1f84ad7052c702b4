r"""Row and column generation: a problem of many objects solved through few of them, at one C or along a path.

The algorithms RCH̄, RCH̃ and RCS̄ of Izunaga, Sato, Tatsumi and Yamamoto (2014) are one: solve the problem of a
working set W, find the objects outside whose hinges the solution violates, add them, until there are none.
The last solution is one of all objects [Lemmas 2 and 3]: a relaxation that turned out to be feasible.
Objectives never fall from round to round, since W only grows, at most until it holds all objects. Rows and
columns are generated together: with a kernel, w is a sum over the objects of W, and entries
:math:`k(x_i, x_j)` are computed for j in W only.

Along a path, an object outside is not in the program. While its hinges are satisfied at the scores and
thresholds of W, these are optimal for all objects too. So: trace on W, find the first C at which an object
outside is violated, let it join with α = 0, which is optimal there, and go on with the same basis. The path
on one working set is a section. Where a threshold has several optimal values its middle is a line on parts of
a piece only, so that some pieces come in parts.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import eye_array

import pqp
from ranking.core.validation import Array, Integers
from ranking.errors import DataError, must_be
from ranking.ordinal.base import Training
from ranking.ordinal.level_curve import LevelLines
from ranking.ordinal.programs import dual_program, threshold_matrix
from ranking.ordinal.thresholds import middle_lines
from ranking.selection.piecewise import PiecewiseLinear, inside

# Pieces traced before objects outside are used.
CHUNK = 64
# A margin missed by no more than this, relative to the largest score, is round-off.
VIOLATED = 1e-9
# Objects outside whose lines are evaluated together.
ROWS = 4096
# Pieces evaluated together: a few megabytes.
BLOCK = 256
# A dual variable this close to a limit, relative to its cap, is at it.
AT_LIMIT = 1e-9

# Which objects are there at first: those a rule chooses, or row numbers.
InitialSet: TypeAlias = Literal["extremes", "random"] | ArrayLike


def initial_working_set(
    codes: Integers,
    X: Any = None,
    how: InitialSet = "extremes",
    random_state: int | None = None,
    name: str = "how",
) -> Integers:
    """Return row numbers to start with, at least one of every level.

    Parameters
    ----------
    X
        Rows of features, for "extremes".
    how
        "extremes": of every level the lowest and the highest object along the direction in which the means of
        the levels rise; "random": of every level two objects; or row numbers, which are checked.
    name
        What messages call `how`.

    >>> X, codes = np.array([[1.0], [2.0], [3.0], [5.0], [6.0]]), np.array([0, 0, 0, 1, 1])
    >>> initial_working_set(codes, X).tolist(), initial_working_set(codes, how=[4, 0]).tolist()
    ([0, 2, 3, 4], [0, 4])
    """
    by_level = [np.flatnonzero(codes == level) for level in np.unique(codes)]
    if not isinstance(how, str):
        given = np.asarray(how)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise must_be(name, "row numbers", found=f"dtype {given.dtype} of shape {given.shape}")
        for row in given[(given < 0) | (given >= len(codes))][:1]:
            raise must_be(name, f"row numbers from 0 to {len(codes) - 1}", found=str(row))
        # a threshold needs hinges on both sides: without them nothing bounds it
        for level in np.setdiff1d(codes, codes[given])[:1]:
            message, remedy = "{argument} has no object of level {found}", "add at least one of every level"
            raise DataError(message, argument=name, found=str(level), remedy=remedy)
        return np.unique(given).astype(np.int64)
    if how == "extremes" and X is not None:
        means = np.array([np.asarray(X[rows].mean(axis=0)).ravel() for rows in by_level])
        level = np.unique(codes)
        # the direction is, up to a positive factor that extremes do not depend on, the least-squares slope
        # of means over levels
        along = np.asarray(X @ ((level - level.mean()) @ means)).ravel()
        chosen = [rows[[along[rows].argmin(), along[rows].argmax()]] for rows in by_level]
    elif how == "random":
        chance = np.random.default_rng(random_state)
        chosen = [chance.permutation(rows)[:2] for rows in by_level]
    else:
        remedy = "; 'extremes' needs X" if how == "extremes" else ""
        raise must_be(name, "'extremes', 'random' or row numbers", found=f"{how!r}{remedy}")
    return np.unique(np.concatenate(chosen))


class Limits(NamedTuple):
    """How many pieces are traced, and for how many seconds, at most."""

    max_pieces: int | None = None
    time_limit: float | None = None

    def leave(self, pieces: int, seconds: float) -> bool:
        """Return whether neither limit is reached."""
        is_late = self.time_limit is not None and seconds > self.time_limit
        return not is_late and (self.max_pieces is None or pieces < self.max_pieces)


Start: TypeAlias = Literal["warm", "cold", "from zero"]
States: TypeAlias = tuple[Array, tuple[str, ...]]


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


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """A working set of items: its part of the training data, and how states of its hinges are read."""

    training: Training
    items: Integers
    ordered: bool

    @cached_property
    def part(self) -> Training:
        """The training data of the working set alone."""
        # the part of all items would compute a Gram matrix again that is there already
        is_whole = len(self.items) == self.training.hinges.n_items
        return self.training if is_whole else self.training.part(self.items)

    @cached_property
    def numbers(self) -> Integers:
        """The numbers of the hinges of the working set."""
        return self.training.hinges.of_items(self.items)

    @cached_property
    def basis(self) -> Any:
        """What makes coefficients of its dual variables: weights of features, or one per item of it."""
        return self.part.representation.basis(self.part.hinges.pairs)

    def program(self, caps: Any = None) -> pqp.ParametricQP:
        """Return the dual on the working set."""
        return dual_program(self.part.representation, self.part.hinges, self.ordered, caps)

    def start(self, states: States | None) -> "pqp.Basis | None":
        """Return the basis that states of all hinges are on the working set."""
        return None if states is None else pqp.Basis(tuple(states[0][self.numbers]), states[1])

    def trace(self, ends: tuple[float, float], states: States | None) -> tuple[pqp.Path, Start]:
        """Return some pieces of the path from states, or without them, and how it was started."""
        program, basis = self.program(), self.start(states)
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

    def joined(self, states: States, joining: Integers, violated: Integers, C: float) -> States | None:
        """Return the states at C once items with violated hinges have joined: their caps rise from 0.

        At 0 what was optimal without them is optimal with them, α being 0 at both of its limits. None where
        round-off leaves a tie on the way undecided: then the next section starts cold, as its round says.
        """
        is_new = np.isin(self.part.hinges.item, np.searchsorted(self.items, joining))
        states[0][np.intersect1d(self.numbers[is_new], violated)] = "upper"
        cap = C * self.part.hinges.weight
        caps = np.where(is_new, 0.0, cap) + pqp.mu * np.where(is_new, cap, 0.0)
        try:
            path = pqp.solve_path(self.program(caps), (0.0, 1.0), start=self.start(states))
        except pqp.NumericalTroubleError:
            return None
        return self.states(path.left(1.0))

    def violators(self, path: pqp.Path, add: int | None) -> tuple[float | None, Integers, Integers]:
        """Return the first C at which hinges outside are violated, the items that join, and these hinges.

        First to join are those violated first, and of these at the start of the path those violated most.
        """
        hinges, representation = self.training.hinges, self.training.representation
        images = path.images(self.basis)
        thresholds = path.multiplier_images(threshold_matrix(hinges.n_thresholds, self.ordered))
        rest = np.setdiff1d(np.arange(hinges.n_items), self.items, assume_unique=True)
        when, slack = np.full(len(hinges), np.inf), np.full(len(hinges), -np.inf)
        for begin in range(0, len(rest), ROWS):
            some = rest[begin : begin + ROWS]
            own, part = hinges.of_items(some), hinges.part(some)
            rows = representation.evaluate(representation.X[some], self.items)
            f0, f1 = (np.asarray(rows @ lines.T).T[:, part.item] for lines in (images.constant, images.slope))
            constant = 1.0 - part.sign * (f0 - thresholds.constant[:, part.threshold])
            slope = -part.sign * (f1 - thresholds.slope[:, part.threshold])
            when[own] = _first_violation(images.lo, images.hi, constant, slope)
            slack[own] = constant[0] + images.lo[0] * slope[0]
        order = np.lexsort((-slack, when))
        violated = order[: int(np.isfinite(when).sum())]
        items = hinges.item[violated]
        joining = items[np.sort(np.unique(items, return_index=True)[1])][:add]
        C = float(when[violated[0]]) if len(violated) else None
        return C, joining, np.flatnonzero(when == C)


def _first_violation(lo: Array, hi: Array, constant: Array, slope: Array) -> Array:
    """Return for every hinge the first C at which it is violated, infinite if it never is."""
    # a piece without end is judged at a finite C; beyond it a positive slope decides
    far = np.where(np.isinf(hi), np.maximum(1.0, 2.0 * lo), hi)
    begin, end = (constant + where[:, None] * slope for where in (lo, far))
    # large terms may cancel in the sum, so rounding is relative to the terms
    size = 1.0 + np.abs(constant) + far[:, None] * np.abs(slope)
    noise = VIOLATED * size.max(axis=1, initial=0.0)[:, None]
    late = (end > noise) | (np.isinf(hi)[:, None] & (slope > 0.0))
    is_early = begin > noise
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(is_early, lo[:, None], np.clip(-constant / slope, lo[:, None], far[:, None]))
    root = np.where(is_early | late, root, np.inf)
    return np.asarray(root.min(axis=0, initial=np.inf))


@dataclass(frozen=True, eq=False)
class PathSection:
    """The path from `lo` to `hi`, traced on a working set; it may have been traced farther."""

    path: pqp.Path
    working: WorkingSet
    lo: float
    hi: float

    @property
    def items(self) -> Integers:
        """The items of the working set."""
        return self.working.items

    @property
    def hinges(self) -> Integers:
        """The numbers of the hinges of the working set."""
        return self.working.numbers

    @property
    def pieces(self) -> int:
        """How many pieces of the traced path begin before the section ends."""
        return sum(bool(segment.lo < self.hi) for segment in self.path.segments)

    def lines(self, X: Any) -> Iterator[LevelLines]:
        """Yield scores of rows and thresholds on all pieces of the section, some pieces at a time."""
        # a copy, so that the section does not keep what is computed for its lines
        working, training = replace(self.working), self.working.training
        rows = training.representation.evaluate(X, self.items)
        rises = threshold_matrix(training.hinges.n_thresholds, working.ordered)
        for begin in range(0, self.pieces, BLOCK):
            pieces = slice(begin, min(begin + BLOCK, self.pieces))
            images = self.path.images(working.basis, pieces)
            lo, hi = images.lo, np.minimum(images.hi, self.hi)
            coefficients = _settled(images)
            at = inside(lo, hi)
            scores = [np.asarray((rows @ part.T).T) for part in coefficients]
            cuts = PiecewiseLinear(lo, hi, *_settled(self.path.multiplier_images(rises, pieces)))
            # a threshold that no hinge holds has a middle for lines, in parts if it bends
            parts = [cuts.pieces(slice(k, k + 1)) for k in range(len(lo))]
            for k in self._loose(working, pieces):
                parts[k] = self._middles((lo[k], hi[k]), at[k], *(part[k] for part in coefficients))
            names = ("lo", "hi", "constant", "slope")
            cuts = PiecewiseLinear(*(np.concatenate([getattr(part, n) for part in parts]) for n in names))
            owner = np.repeat(np.arange(len(lo)), [len(part.lo) for part in parts])
            yield LevelLines(PiecewiseLinear(cuts.lo, cuts.hi, *(part[owner] for part in scores)), cuts)

    def _loose(self, working: WorkingSet, pieces: slice) -> list[int]:
        """Return the pieces on which some threshold has no hinge strictly inside its limits, to hold it.

        A hinge also holds the neighbours its threshold is pressed against, where thresholds must ascend: the
        sum of signed α up to a threshold is less than 0 where the next one presses.
        """
        hinges = working.part.hinges
        alpha = self.path.images(eye_array(len(hinges), format="csr"), pieces)
        C = inside(alpha.lo, alpha.hi)[:, None]
        value, cap = alpha.constant + C * alpha.slope, C * hinges.weight
        is_free = (value > AT_LIMIT * cap) & (value < (1 - AT_LIMIT) * cap)
        held = is_free.astype(float) @ abs(hinges.incidence).T > 0
        if working.ordered:
            sums = np.cumsum(value @ hinges.incidence.T, axis=1)
            held = _spread(held, sums < -AT_LIMIT * cap.sum(axis=1, keepdims=True))
        return np.flatnonzero(~held.all(axis=1)).tolist()

    def _middles(
        self, ends: tuple[float, float], at: float, constant: Array, slope: Array
    ) -> PiecewiseLinear:
        """Return the middles of the thresholds of a piece, which holds `at`, for coefficients of scores."""
        training = self.working.training
        f0, f1 = (training.representation.scores(training.spread(self.items, b)) for b in (constant, slope))
        return middle_lines(training.hinges, (f0, f1), ends, at, self.working.ordered)


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
    limits, pieces, started = limits or Limits(), 0, time.perf_counter()
    while limits.leave(pieces, time.perf_counter() - started):
        begin = time.perf_counter()
        working = WorkingSet(training, items, ordered)
        path, how = working.trace((C, hi), states)
        first, joining, violated = working.violators(path, add)
        end = float(path.hi) if first is None else first
        if report is not None:
            sizes = (len(items), len(joining), len(path.segments))
            report(Round(C, -float(path.objective(C)), *sizes, time.perf_counter() - begin, how))
        if end > C or first is None:
            # a copy, so that the section does not keep the kernel matrix of its working set
            section = PathSection(path, replace(working), C, end)
            pieces += section.pieces
            yield section
        if first is None and path.stopped is None:
            return
        # from the left: beyond `end` the path of this working set is not optimal for all objects
        states, items = working.states(path.left(end) if end > C else path(C)), np.union1d(items, joining)
        # objects violated where the section begins cannot join with α = 0, so their caps rise first
        if first == C:
            states = WorkingSet(training, items, ordered).joined(states, joining, violated, C)
        C = end
