"""The path: every optimal solution over an interval of mu, to be evaluated, queried, plotted and saved."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from pqp.errors import EXACT_SETTING, CertificateError, NoSolutionError, ProblemError, counted, must_be
from pqp.io.writing import encode_segment, path_document, write_document
from pqp.lcp.pivot_log import PivotLog
from pqp.linalg.field import Array, Field, Number, as_numbers, infinite, is_infinite, shown
from pqp.linalg.tolerances import SAME_POINT
from pqp.model.problem import ParametricQP
from pqp.path import queries
from pqp.path.plot import plot_path
from pqp.records.result import TraceInfo
from pqp.records.segment import Point, Segment, Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pqp.certificate import Certificate
    from pqp.path.images import Images

Side = Literal["left", "right"]
# Many values of mu.
Numbers: TypeAlias = Sequence[Number] | Array
# Which status an end shared by two segments has: the better one, its set of mu being closed.
_RANK = {"optimal": 2, "unbounded": 1, "infeasible": 0, "unverified": -1}


@dataclass(frozen=True)
class Interval:
    """An interval of mu with one status; unpacks to (lo, hi, status).

    Parameters
    ----------
    lo, hi
        Its ends, which may be infinite.
    status
        "optimal", "infeasible", "unbounded" or "unverified".
    lo_closed, hi_closed
        Whether the end itself has this status.
    """

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
    """A breakpoint at which x is not continuous: every point between `left` and `right` is optimal there.

    Parameters
    ----------
    mu
        The breakpoint.
    left, right
        The limits of the solution from either side.
    """

    mu: Number
    left: Point
    right: Point

    def between(self, share: Number) -> Array:
        """Return the point of the connecting segment at a share from 0 (left) to 1 (right)."""
        if not 0 <= as_numbers(share, "share")[()] <= 1:
            raise must_be("share", "between 0 and 1", share)
        return self.left.x + share * (self.right.x - self.left.x)


@dataclass(frozen=True, eq=False)
class Path:
    """The solution path of a problem, piece by piece in ascending order, as `pqp.solve_path` returns it.

    Parameters
    ----------
    problem
        The problem it solves.
    segments
        The pieces, in ascending order and without a gap.
    asked
        The interval that was asked for. If a limit stopped the trace, [lo, hi] is the part that was finished.
    arithmetic
        The arithmetic of all numbers.
    method, rule
        The engine that traced it, and its pivot rule.
    stopped
        Why the trace stopped early; None if it is complete.
    log
        Every pivot, if that was asked for.
    continuation
        The function behind `extend`; None for a path that cannot be extended.
    begin
        Where the trace began; None for the lower end.
    info
        What the revised engine did: events, ties, rungs of its ladder, residuals, seconds; None otherwise.
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
    info: TraceInfo | None = field(default=None, repr=False)

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
        # A piece without length shares its mu with both neighbours.
        return tuple(dict.fromkeys(segment.lo for segment in self.segments[1:]))

    def __call__(self, mu: Number, side: Side = "right") -> Point:
        """Return the point at one mu.

        Parameters
        ----------
        mu
            A number in [lo, hi].
        side
            Which of the two limits to take at a jump.

        Raises
        ------
        NoSolutionError
            If the path does not cover mu. Where it does and the problem has no solution, the point says so.
        """
        _require_side(side)
        return self._segment_at(self._number(mu), side).at(self._number(mu))

    def left(self, mu: Number) -> Point:
        """Return the limit from the left."""
        return self(mu, "left")

    def right(self, mu: Number) -> Point:
        """Return the limit from the right."""
        return self(mu, "right")

    def x(self, mus: Number | Numbers) -> Array:
        """Return the solution at one mu (a vector) or at many (one row per mu), found by bisection.

        Raises
        ------
        NoSolutionError
            If the problem has no solution at one of them.
        """
        return self._many(mus, "x")

    def y(self, mus: Number | Numbers) -> Array:
        """Return the row multipliers at one or many mu."""
        return self._many(mus, "y")

    def z(self, mus: Number | Numbers) -> Array:
        """Return the bound multipliers at one or many mu."""
        return self._many(mus, "z")

    @overload
    def objective(self, mus: Number) -> Number: ...
    @overload
    def objective(self, mus: Numbers) -> Array: ...
    def objective(self, mus: Number | Numbers) -> Number | Array:
        """Return the optimal value at one or many mu."""
        return self._many(mus, "objective")

    def derivative(self, mu: Number, side: Side = "right") -> Array:
        """Return dx/dmu from one side."""
        segment = self._segment_next_to(self._number(mu), side)
        if segment.status != "optimal" or segment.x1 is None:
            message = f"{segment.described} to the {side} of mu = {shown(mu)}"
            raise NoSolutionError(message, segment)
        return segment.x1

    def objective_derivative(self, mu: Number, side: Side = "right") -> Number:
        """Return the derivative of the optimal value from one side."""
        _, a1, a2 = self._segment_next_to(self._number(mu), side).objective
        return a1 + 2 * a2 * self._number(mu)

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """The status of every mu: neighbouring pieces of equal status taken together."""
        groups = [list(group) for _, group in groupby(self.segments, key=lambda segment: segment.status)]
        outer: list[list[Segment]] = [[], *groups, []]
        return tuple(
            Interval(
                group[0].lo,
                group[-1].hi,
                group[0].status,
                lo_closed=_owns(group[0], group[0].lo, before[-1:]),
                hi_closed=_owns(group[-1], group[-1].hi, behind[:1]),
            )
            for before, group, behind in zip(outer, groups, outer[2:], strict=False)
        )

    @cached_property
    def jumps(self) -> tuple[Jump, ...]:
        """The breakpoints at which x is not continuous."""
        return tuple(
            Jump(right.lo, left.at(left.hi), right.at(right.lo))
            for left, right in pairwise(self.segments)
            if left.status == right.status == "optimal" and not self._is_continuous(left, right)
        )

    def where(
        self, *, equals: Number, variable: str | int | None = None, row: str | int | None = None
    ) -> tuple[tuple[Number, Number], ...]:
        """Return the intervals (lo, hi) of mu on which a variable, or a row's activity, has a given value.

        A single mu comes as lo = hi; a jump across the value counts, since the connecting segment meets it.

        Parameters
        ----------
        equals
            The value.
        variable, row
            The name or the index of a variable or of a row: one of the two.
        """
        return queries.where(self, self._number(equals, "equals"), variable, row)

    def minimize(
        self, linear: Numbers | None = None, quadratic: Sequence[Numbers] | Array | None = None
    ) -> "queries.Minimum":
        """Return the mu in the path at which ½xᵀHx + gᵀx is smallest, for H = quadratic and g = linear.

        Raises
        ------
        NoSolutionError
            If the path has no optimal piece.
        """
        return queries.minimize(self, linear, quadratic)

    def images(self, B: object, pieces: slice = slice(None)) -> "Images":
        """Return B x(mu) (scores, exposures, part-worths) on all optimal pieces, or on some.

        Parameters
        ----------
        B
            A dense or sparse matrix with one column per variable.
        pieces
            Which of the segments to look at.
        """
        from pqp.path.images import images_of  # compiled code, which takes long to import

        return images_of(self.segments[pieces], B)

    def multiplier_images(self, B: object, pieces: slice = slice(None)) -> "Images":
        """Return B y(mu) (thresholds, prices) on all optimal pieces, or on some.

        y are the multipliers of rows: B has one column per row of the problem.

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
        return queries.state_counts(self.segments)

    def certify(self, *, thorough: bool = False, time_limit: float | None = None) -> "Certificate":
        """Return a proof of the path in exact arithmetic, by code that shares nothing with the engines.

        Parameters
        ----------
        thorough
            Solve every piece exactly, however long that takes. By default a float piece is proved optimal up
            to a bound where an exact solution would take much longer than tracing it did.
        time_limit
            Seconds after which no further float piece is solved exactly; the remaining ones are bounded.

        Raises
        ------
        CertificateError
            If some piece does not prove what it states, with the piece and the condition.
        """
        from pqp.certificate import check  # only those who ask for a proof wait for the checker

        require_verified([encode_segment(s) for s in self.segments if s.status == "unverified"])
        return check(path_document(self), thorough=thorough, time_limit=time_limit)

    def extend(
        self,
        mu: Number,
        max_pieces: int | None = None,
        max_pivots: int | None = None,
        time_limit: float | None = None,
        memory_limit: float | None = None,
        on_trouble: Literal["raise", "mark"] = "raise",
    ) -> "Path":
        """Return the path continued to mu, which lies outside [lo, hi] or is one of its ends.

        Parameters
        ----------
        mu
            The new end.
        max_pieces, max_pivots, time_limit, memory_limit
            Stop early, as in `pqp.solve_path`.
        on_trouble
            As in `pqp.solve_path`.
        """
        if self.continuation is None:
            message = "this path does not know how it was traced"
            raise ProblemError(message, remedy="call pqp.solve_path again")
        return self.continuation(self, mu, max_pieces, max_pivots, time_limit, memory_limit, on_trouble)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each end of each segment: piece, mu, status, objective, x and y by name."""
        return queries.to_frame(self)

    def plot(self, variables: Sequence[str | int] | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw x(mu), breakpoints and intervals without a solution; return the matplotlib axes.

        Parameters
        ----------
        variables
            Names or indices of the variables to draw; None for all.
        ax
            Axes to draw on; None for new ones.
        """
        return plot_path(self, variables, ax)

    def save(self, file: str | PathLike[str]) -> None:
        """Write the path to a file, which `pqp.load_path` reads back.

        Parameters
        ----------
        file
            A name that ends in .json, which keeps rationals exactly, or in .npz, for long float paths.
        """
        write_document(path_document(self), file)

    def __repr__(self) -> str:
        parts = "; ".join(map(str, self.intervals)) or "nothing traced"
        # the advice is for Python: shells and pages print `stopped` and have advice of their own
        note = f"; stopped: {self.stopped}; call path.extend(mu) to continue" if self.stopped else ""
        return f"Path({counted(len(self.segments), 'piece')}, {self.arithmetic.name}: {parts}{note})"

    def _number(self, mu: Number, name: str = "mu") -> Number:
        value = as_numbers(mu, name)
        if value.shape:
            raise must_be(name, "a single number here", f"shape {value.shape}")
        if infinite(value):
            raise must_be(name, "finite here", mu)
        return self.arithmetic.number(value[()])

    def _many(self, mus: Number | Numbers, quantity: str) -> Any:
        values = as_numbers(mus, "mu")
        if not values.shape:
            return getattr(self(values.item()), quantity)
        if infinite(values).any():
            raise must_be("mu", "finite", mus)
        numbers = self.arithmetic.array(values).ravel()
        owners = [self._segment_at(mu, "right") for mu in numbers]
        width = {"x": (self.problem.n,), "y": (self.problem.m,), "z": (self.problem.n,)}.get(quantity, ())
        return queries.evaluate(owners, numbers, quantity, self.arithmetic).reshape(values.shape + width)

    def _segment_at(self, mu: Number, side: Side) -> Segment:
        """Return the segment that owns mu: the best status, then the side asked for."""
        candidates = self._touching(mu)
        # Optimal pieces include their ends, so at a shared end the neighbour without solution gives way.
        best = max(_rank_at(segment, mu, candidates) for segment in candidates)
        owners = [segment for segment in candidates if _rank_at(segment, mu, candidates) == best]
        return owners[-1] if side == "right" else owners[0]

    def _segment_next_to(self, mu: Number, side: Side) -> Segment:
        """Return the segment that mu + ε or mu − ε lies in."""
        _require_side(side)
        candidates = self._touching(mu)
        segment = candidates[-1] if side == "right" else candidates[0]
        if (side == "right" and mu == self.hi) or (side == "left" and mu == self.lo):
            raise NoSolutionError(f"the path has no points to the {side} of mu = {shown(mu)}")
        return segment

    def _touching(self, mu: Number) -> tuple[Segment, ...]:
        """Return the segments whose closure contains mu, found by bisection."""
        if not self.segments or not self.lo <= mu <= self.hi:
            raise self._not_covered(mu)
        # ends are shared: up to two segments touch mu, and more where segments have no length
        first, last = bisect_left(self._his, mu), bisect_right(self._los, mu)
        # An end at which the only proof vanishes is proved by no piece.
        if last - first == 1 and mu in (self.lo, self.hi) and not self.segments[first].covers(mu):
            raise self._not_covered(mu)
        return self.segments[first:last]

    @cached_property
    def _los(self) -> list[Number]:
        return [segment.lo for segment in self.segments]

    @cached_property
    def _his(self) -> list[Number]:
        return [segment.hi for segment in self.segments]

    def _not_covered(self, mu: Number) -> NoSolutionError:
        covered = "; ".join(map(str, self.intervals)) or "nothing was traced"
        found = f"{covered}; {self.stopped}" if self.stopped else covered
        remedy = f"call path.extend({shown(mu)}) to continue"
        return NoSolutionError(f"mu = {shown(mu)} was not traced: {{found}}", found=found, remedy=remedy)

    def _is_continuous(self, left: Segment, right: Segment) -> bool:
        """Return whether x is the same on both sides of a shared end, up to rounding of its terms."""
        before, after = left.at(left.hi).x, right.at(right.lo).x
        if not self.arithmetic.zero:
            return bool((before == after).all())
        # constant and mu · slope may cancel: the error of their sum is relative to the larger of the two
        parts = [part for part in (left.x, right.x) if part is not None]
        terms = [np.abs(part.constant) + np.abs(right.lo * part.slope) for part in parts]
        return bool(np.max(np.abs(before - after), initial=0.0) <= SAME_POINT * np.max(terms, initial=0.0))


def require_verified(segments: object) -> None:
    """Raise if there is an unverified segment among those of a path document: it proves nothing.

    A document that is broken otherwise is left to the checker.
    """
    for segment in segments if isinstance(segments, list) else ():
        if isinstance(segment, dict) and segment.get("status") == "unverified":
            ends = f"{segment.get('lo')} to {segment.get('hi')}"
            raise CertificateError(
                "the path is unverified from mu = {found}: {expected}",
                argument="segments",
                found=ends,
                expected=str(segment.get("reason")),
                remedy="trace that interval in another way, such as {setting}",
                setting=EXACT_SETTING,
            )


def _rank_at(segment: Segment, mu: Number, neighbours: Sequence[Segment]) -> int:
    """Return how strong the claim of a segment to one of its ends is, next to some neighbours."""
    # Next to an unverified piece nobody else proves an end at which the own proof vanishes.
    if any(other.status == "unverified" for other in neighbours) and not segment.covers(mu):
        return _RANK["unverified"] - 1
    return _RANK[segment.status]


def _owns(segment: Segment, end: Number, neighbour: Sequence[Segment]) -> bool:
    """Return whether an end of a segment has its status, and not that of the neighbour, if there is one."""
    if not neighbour:
        return segment.covers(end)
    both = [segment, *neighbour]
    return _rank_at(segment, end, both) > _rank_at(neighbour[0], end, both)


def _require_side(side: Side) -> None:
    if side not in ("left", "right"):
        raise must_be("side", "'left' or 'right'", repr(side))
