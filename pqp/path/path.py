"""Tallies: how many variables and rows are in which state on every piece of a path.

The path: every optimal solution over an interval of mu, to be evaluated, questioned and kept.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pqp.linalg.field import Array, float_number
from pqp.records.segment import Segment
from pqp.records.states import WORDS
from pqp.records.trail import Trail

if TYPE_CHECKING:
    import pandas as pd
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from pqp.errors import NoSolutionError, ProblemError
from pqp.io.document import path_document, write_document
from pqp.lcp.log import PivotLog
from pqp.linalg.field import Field, Number, as_numbers, infinite, is_infinite, shown
from pqp.linalg.tolerances import SAME_POINT
from pqp.model.problem import ParametricQP
from pqp.path import queries
from pqp.path.plot import plot_path
from pqp.records.segment import Point, Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pqp.certificate import Certificate
    from pqp.path.images import Images


def tally(segments: Sequence[Segment]) -> "pd.DataFrame":
    """Return lo and hi of every optimal segment and how many variables, and rows, are in each state."""
    import pandas as pd  # a third of a second, spared to those who want no table

    optimal = [segment for segment in segments if segment.status == "optimal"]
    shared = {segment.trail for segment in optimal}
    trails = {trail: _of_trail(trail) for trail in shared if trail is not None}
    table = [trails[s.trail][s.number] if s.trail is not None else _of_piece(s) for s in optimal]
    names = [*WORDS, *(f"rows {word}" for word in WORDS)]
    frame = pd.DataFrame(np.array(table, dtype=np.int64).reshape(-1, len(names)), columns=names)
    frame.insert(0, "lo", [float_number(segment.lo) for segment in optimal])
    frame.insert(1, "hi", [float_number(segment.hi) for segment in optimal])
    return frame


def _of_piece(segment: Segment) -> list[int]:
    """Count the states of one piece."""
    basis = segment.basis
    assert basis is not None
    return [items.count(word) for items in (basis.variables, basis.rows) for word in WORDS]


def _of_trail(trail: Trail) -> Array:
    """Count the states on all pieces of a trail, by what changes from piece to piece."""
    states, n, kinds = trail.states(0), trail.problem.n, 2 * len(WORDS)
    side = np.repeat([0, len(WORDS)], [n, len(states) - n])
    counts = np.bincount(side + states, minlength=kinds)
    result = np.empty((len(trail), kinds), dtype=np.int64)
    result[0] = counts
    for number in range(1, len(trail)):
        items, new = trail.changes(number)
        touched = np.unique(items)
        counts -= np.bincount(side[touched] + states[touched], minlength=kinds)
        states[items] = new
        counts += np.bincount(side[touched] + states[touched], minlength=kinds)
        result[number] = counts
    return result


Side = Literal["left", "right"]
# Which status an end shared by two segments has: the better one, its set of mu being closed.
_RANK = {"optimal": 2, "unbounded": 1, "infeasible": 0}


@dataclass(frozen=True)
class Interval:
    """A stretch of mu with one status; unpacks to (lo, hi, status)."""

    lo: Number
    hi: Number
    status: Status
    lo_closed: bool = True
    hi_closed: bool = True

    def __iter__(self) -> Iterator[Number | Status]:
        return iter((self.lo, self.hi, self.status))

    def __contains__(self, mu: Number) -> bool:
        above = self.lo < mu or (self.lo_closed and self.lo == mu)
        return above and (mu < self.hi or (self.hi_closed and mu == self.hi))

    def __str__(self) -> str:
        opening = "[" if self.lo_closed and not is_infinite(self.lo) else "("
        closing = "]" if self.hi_closed and not is_infinite(self.hi) else ")"
        return f"{self.status} on {opening}{shown(self.lo)}, {shown(self.hi)}{closing}"


@dataclass(frozen=True, eq=False)
class Jump:
    """A breakpoint at which x is not continuous: every point between `left` and `right` is optimal there."""

    mu: Number
    left: Point
    right: Point

    def between(self, share: Number) -> Array:
        """Return the point of the connecting segment at a share from 0 (left) to 1 (right)."""
        if not 0 <= as_numbers(share, "share")[()] <= 1:
            raise ProblemError(f"share must lie between 0 and 1, got {share!r}")
        return self.left.x + share * (self.right.x - self.left.x)


@dataclass(frozen=True, eq=False)
class Path:
    """The solution path of a problem, piece by piece in ascending order.

    `asked` is the interval that was asked for; if a limit stopped the trace, `stopped` says why and
    [lo, hi] is the part that was finished.
    """

    problem: ParametricQP = field(repr=False)
    segments: tuple[Segment, ...] = field(repr=False)
    asked: tuple[Number, Number]
    arithmetic: Field = field(repr=False)
    method: str = "tableau"
    rule: str = "least-index"
    stopped: str | None = None
    log: PivotLog | None = field(default=None, repr=False)
    continuation: "Callable[..., Path] | None" = field(default=None, repr=False)
    begin: Number | None = field(default=None, repr=False)

    @property
    def origin(self) -> Number:
        """Where the trace began."""
        return self.asked[0] if self.begin is None else self.begin

    @property
    def lo(self) -> Number:
        """The smallest mu covered."""
        return self.segments[0].lo if self.segments else self.origin

    @property
    def hi(self) -> Number:
        """The largest mu covered."""
        return self.segments[-1].hi if self.segments else self.origin

    @property
    def breakpoints(self) -> tuple[Number, ...]:
        """Where one piece ends and the next begins, ascending; the ends of the path are not among them."""
        return tuple(dict.fromkeys(segment.lo for segment in self.segments[1:]))

    def __call__(self, mu: object, side: Side = "right") -> Point:
        """Return the point at one mu; `side` chooses between the two limits at a jump."""
        if side not in ("left", "right"):
            raise ProblemError(f"side must be 'left' or 'right', got {side!r}")
        return self._segment_at(self._number(mu), side).at(self._number(mu))

    def left(self, mu: object) -> Point:
        """Return the limit from the left."""
        return self(mu, "left")

    def right(self, mu: object) -> Point:
        """Return the limit from the right."""
        return self(mu, "right")

    def x(self, mus: object) -> Array:
        """Return the solution at one mu (a vector) or at many (one row each), found by bisection."""
        return self._many(mus, "x")

    def y(self, mus: object) -> Array:
        """Return the row multipliers at one or many mu."""
        return self._many(mus, "y")

    def z(self, mus: object) -> Array:
        """Return the bound multipliers at one or many mu."""
        return self._many(mus, "z")

    def objective(self, mus: object) -> Number | Array:
        """Return the optimal value at one or many mu."""
        return self._many(mus, "objective")

    def derivative(self, mu: object, side: Side = "right") -> Array:
        """Return dx/dmu from one side."""
        segment = self._beside(self._number(mu), side)
        if segment.status != "optimal" or segment.x1 is None:
            raise NoSolutionError(
                f"the problem is {segment.status} to the {side} of mu = {shown(mu)}", segment
            )
        return segment.x1

    def objective_derivative(self, mu: object, side: Side = "right") -> Number:
        """Return the derivative of the optimal value from one side."""
        _, a1, a2 = self._beside(self._number(mu), side).objective
        return a1 + 2 * a2 * self._number(mu)

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """The status of every mu: neighbouring pieces of equal status taken together."""
        groups: list[list[Segment]] = []
        for segment in self.segments:
            if groups and groups[-1][-1].status == segment.status:
                groups[-1].append(segment)
            else:
                groups.append([segment])
        ranks = [_RANK[group[0].status] for group in groups]
        return tuple(
            Interval(
                group[0].lo,
                group[-1].hi,
                group[0].status,
                lo_closed=ranks[i] > ranks[i - 1] if i else group[0].covers(group[0].lo),
                hi_closed=ranks[i] > ranks[i + 1] if i + 1 < len(groups) else group[-1].covers(group[-1].hi),
            )
            for i, group in enumerate(groups)
        )

    @cached_property
    def jumps(self) -> tuple[Jump, ...]:
        """The breakpoints at which x is not continuous."""
        pairs = zip(self.segments, self.segments[1:], strict=False)
        return tuple(
            Jump(right.lo, left.at(left.hi), right.at(right.lo))
            for left, right in pairs
            if left.status == right.status == "optimal" and not self._is_continuous(left, right)
        )

    def where(
        self, *, equals: object, variable: str | int | None = None, row: str | int | None = None
    ) -> "tuple[queries.Ends, ...]":
        """Return the intervals (lo, hi) of mu on which a variable, or a row's activity, has a given value.

        A single mu comes as lo = hi; a jump across the value counts, since the connecting segment meets it.
        """
        return queries.where(self, self._number(equals, "equals"), variable, row)

    def minimize(self, linear: object = None, quadratic: object = None) -> "queries.Minimum":
        """Return the mu in the path at which ½xᵀHx + gᵀx is smallest, for H = quadratic and g = linear."""
        return queries.minimize(self, linear, quadratic)

    def images(self, B: object, pieces: slice = slice(None)) -> "Images":
        """Return the lines of B x (scores, exposures, part-worths) on all optimal pieces, or on some."""
        from pqp.path.images import images_of  # compiled code, which takes long to import

        return images_of(self.segments[pieces], B)

    def multiplier_images(self, B: object, pieces: slice = slice(None)) -> "Images":
        """Return the lines of B y (thresholds, prices), on all optimal pieces, or on some.

        y are the multipliers of rows: B has one column a row of the problem.

        >>> import pqp
        >>> problem = pqp.ParametricQP([[1]], [-4], A=[[2]], row_upper=pqp.mu)
        >>> prices = pqp.solve_path(problem, (0, 10)).multiplier_images([[10]])
        >>> prices.lo.tolist(), prices.at(4.0).tolist()
        ([0.0, 8.0], [-10.0])
        """
        from pqp.path.images import images_of

        return images_of(self.segments[pieces], B, "y")

    def counts(self) -> "pd.DataFrame":
        """Return for every optimal piece how many variables, and rows, are in which state."""
        return tally(self.segments)

    def certify(self) -> "Certificate":
        """Prove the path in exact arithmetic, with code that shares nothing with the engine, or raise."""
        from pqp.certificate import check  # only those who ask for a proof wait for the checker

        return check(path_document(self))

    def extend(self, mu: object, **limits: float | None) -> "Path":
        """Return the path carried on to another end; limits as in `solve_path`."""
        if self.continuation is None:
            raise ProblemError("this path does not know how it was traced; call pqp.solve_path again")
        return self.continuation(self, mu, **limits)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each end of each segment: piece, mu, status, objective, x and y by name."""
        return queries.to_frame(self)

    def plot(self, variables: object = None, ax: "Axes | None" = None) -> "Axes":
        """Draw x(mu), breakpoints and unsolvable stretches; returns the matplotlib axes."""
        return plot_path(self, variables, ax)

    def save(self, file: str | PathLike[str]) -> None:
        """Write the path to FILE.json, rationals kept exactly, or to FILE.npz for long float paths."""
        write_document(path_document(self), file)

    def __repr__(self) -> str:
        parts = "; ".join(map(str, self.intervals)) or "nothing traced"
        note = f"; stopped: {self.stopped}" if self.stopped else ""
        count = f"{len(self.segments)} piece{'' if len(self.segments) == 1 else 's'}"
        return f"Path({count}, {self.arithmetic.name}: {parts}{note})"

    def _number(self, mu: object, name: str = "mu") -> Number:
        value = as_numbers(mu, name)
        if value.shape:
            raise ProblemError(f"{name} must be a single number here, got shape {value.shape}")
        if infinite(value):
            raise ProblemError(f"{name} must be finite here, got {mu!r}")
        return self.arithmetic.number(value[()])

    def _many(self, mus: object, quantity: str) -> Any:
        values = as_numbers(mus, "mu")
        if not values.shape:
            return getattr(self(mus), quantity)
        if infinite(values).any():
            raise ProblemError(f"mu must be finite, got {mus!r}")
        numbers = self.arithmetic.array(values).ravel()
        owners = [self._segment_at(mu, "right") for mu in numbers]
        width = {"x": (self.problem.n,), "y": (self.problem.m,), "z": (self.problem.n,)}.get(quantity, ())
        return queries.evaluate(owners, numbers, quantity, self.arithmetic).reshape(values.shape + width)

    def _segment_at(self, mu: Number, side: Side) -> Segment:
        """Return the segment that owns mu: the best status, then the side asked for."""
        candidates = self._touching(mu)
        best = max(_RANK[segment.status] for segment in candidates)
        owners = [segment for segment in candidates if _RANK[segment.status] == best]
        return owners[-1] if side == "right" else owners[0]

    def _beside(self, mu: Number, side: Side) -> Segment:
        """Return the segment that mu + ε or mu − ε lies in."""
        if side not in ("left", "right"):
            raise ProblemError(f"side must be 'left' or 'right', got {side!r}")
        candidates = self._touching(mu)
        segment = candidates[-1] if side == "right" else candidates[0]
        if (side == "right" and mu == self.hi) or (side == "left" and mu == self.lo):
            raise NoSolutionError(f"the path has no points to the {side} of mu = {shown(mu)}")
        return segment

    def _touching(self, mu: Number) -> tuple[Segment, ...]:
        """Return the segments whose closure contains mu, found by bisection."""
        if not self.segments or not self.lo <= mu <= self.hi:
            raise NoSolutionError(self._not_covered(mu))
        first, last = bisect_left(self._his, mu), bisect_right(self._los, mu)
        if last - first == 1 and mu in (self.lo, self.hi) and not self.segments[first].covers(mu):
            raise NoSolutionError(self._not_covered(mu))
        return self.segments[first:last]

    @cached_property
    def _los(self) -> list[Number]:
        return [segment.lo for segment in self.segments]

    @cached_property
    def _his(self) -> list[Number]:
        return [segment.hi for segment in self.segments]

    def _not_covered(self, mu: Number) -> str:
        covered = "; ".join(map(str, self.intervals)) or "nothing was traced"
        remedy = self.stopped or f"path.extend({shown(mu)}) goes on"
        return f"mu = {shown(mu)} was not traced: {covered}; {remedy}"

    def _is_continuous(self, left: Segment, right: Segment) -> bool:
        """Tell whether x is the same on both sides of a shared end, but for rounding beside its terms."""
        before, after = left.at(left.hi).x, right.at(right.lo).x
        if not self.arithmetic.zero:
            return bool((before == after).all())
        terms = [
            np.abs(part[0]) + np.abs(right.lo * part[1]) for part in (left.x, right.x) if part is not None
        ]
        return bool(np.max(np.abs(before - after), initial=0.0) <= SAME_POINT * np.max(terms, initial=0.0))
