"""Segments and points: the pieces of a path with everything that holds on them, and a path at one mu."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Literal, TypeVar, overload

import numpy as np

from pqp.errors import NoSolutionError
from pqp.linalg.affine import AffineArray, AffineNumber
from pqp.linalg.field import RATIONAL, Array, Field, Number, is_infinite, shown
from pqp.linalg.tolerances import SHORT_PIECE
from pqp.model.problem import ParametricQP
from pqp.records.residuals import Residuals, residuals
from pqp.records.states import Basis, States
from pqp.records.trail import Trail
from pqp.records.uniqueness import is_unique
from pqp.records.unsolvable import Farkas, descent

Status = Literal["optimal", "infeasible", "unbounded", "unverified"]
T = TypeVar("T")


class _Part(Generic[T]):
    """A field that is what was handed in or, on a piece of a trail, read from the trail whenever asked."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, segment: None, owner: type) -> None: ...
    @overload
    def __get__(self, segment: "Segment", owner: type) -> T | None: ...
    def __get__(self, segment: "Segment | None", owner: type) -> T | None:
        if segment is None:
            return None  # the default of the field
        # Not kept here: all completed pieces of a long path would fill the memory (docs/method.md, Cost).
        trail, found = segment.trail, segment.__dict__[self.name]
        if trail is not None and self.name == "basis":
            found = Basis.from_codes(trail.states(segment.number), trail.problem.n)
        elif trail is not None:
            found = trail.solution(segment.number)["xyz".index(self.name)]
        return found

    def __set__(self, segment: "Segment", value: T | None) -> None:
        segment.__dict__[self.name] = value


@dataclass(frozen=True, eq=False)
class Segment:
    """One piece of a path, from `lo` to `hi`; optimal pieces include both ends.

    Parameters
    ----------
    lo, hi
        Its ends, which may be infinite.
    status
        "optimal", "infeasible" or "unbounded"; or "unverified" where float64 found no answer that it could
        verify, which a path has only where that was asked for.
    problem
        The problem it belongs to.
    arithmetic
        The arithmetic of its numbers; proofs are exact in both.
    basis
        The states of variables and rows, on optimal pieces.
    x
        The optimal point x0 + mu x1; on unbounded pieces a feasible one.
    y, z
        The multipliers of rows and of bounds, affine in mu, on optimal pieces.
    proof
        On infeasible pieces, the weights of limits that contradict each other.
    ray, violation
        On unbounded pieces, the direction of descent, and the growth of the violation of soft rows along it.
    reason
        On unverified pieces, what went wrong, as a sentence.
    trail, number
        Basis, x, y and z are those of this piece of a trail, which completes them on demand.
    """

    lo: Number
    hi: Number
    status: Status
    problem: ParametricQP = field(repr=False)
    arithmetic: Field = field(repr=False)
    basis: _Part[Basis] = _Part()
    x: _Part[AffineArray] = _Part()
    y: _Part[AffineArray] = _Part()
    z: _Part[AffineArray] = _Part()
    proof: Farkas | None = field(default=None, repr=False)
    ray: Array | None = field(default=None, repr=False)
    violation: Array | None = field(default=None, repr=False)
    reason: str | None = field(default=None, repr=False)
    trail: Trail | None = field(default=None, repr=False)
    number: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if self.trail is not None:  # what the trail knows is not kept twice
            known = self.__dict__
            known["basis"] = known["x"] = known["y"] = known["z"] = None
            return
        for array in (*(self.x or ()), *(self.y or ()), *(self.z or ()), self.ray, self.violation):
            if array is not None:
                array.flags.writeable = False

    def codes(self) -> States:
        """Return the codes of the states of all items of an optimal piece, variables first."""
        if self.trail is not None:
            return self.trail.states(self.number)
        assert self.basis is not None
        return self.basis.codes()

    def covers(self, mu: Number) -> bool:
        """Return whether the piece proves its status at one of its ends; if not, a neighbour does."""
        strength = proof_strength(self)
        return strength is None or is_infinite(mu) or strength.at(RATIONAL.number(mu)) > 0

    @property
    def farkas(self) -> Array | None:
        """The proof of infeasibility as one number per row: positive weighs row_lower, negative row_upper."""
        return None if self.proof is None else self.proof.row_lower - self.proof.row_upper

    @property
    def x0(self) -> Array | None:
        """x(mu) = x0 + mu x1: the optimal point, or on unbounded pieces a feasible one."""
        return None if self.x is None else self.x[0]

    @property
    def x1(self) -> Array | None:
        """See `x0`."""
        return None if self.x is None else self.x[1]

    @property
    def y0(self) -> Array | None:
        """Row multipliers y0 + mu y1: positive at row_lower, negative at row_upper."""
        return None if self.y is None else self.y[0]

    @property
    def y1(self) -> Array | None:
        """See `y0`."""
        return None if self.y is None else self.y[1]

    @property
    def z0(self) -> Array | None:
        """Bound multipliers z0 + mu z1: positive at lower, negative at upper."""
        return None if self.z is None else self.z[0]

    @property
    def z1(self) -> Array | None:
        """See `z0`."""
        return None if self.z is None else self.z[1]

    @property
    def described(self) -> str:
        """What holds on the piece, as the beginning of a message."""
        if self.status != "unverified":
            return f"the problem is {self.status}"
        return f"the path is unverified from mu = {shown(self.lo)} to {shown(self.hi)} ({self.reason})"

    def at(self, mu: Number) -> "Point":
        """Return the point of this piece at a mu, which is not checked to lie in it."""
        return Point(mu, self)

    @cached_property
    def unique(self) -> bool:
        """Whether x(mu) is the only optimal point at every mu inside the piece."""
        if self.status != "optimal":
            return False
        # A nonnegative affine gap that is 0 inside a piece is 0 on all of it, so one mu decides for all.
        point = self.at(_inside(self.lo, self.hi))
        return is_unique(self.problem, self.arithmetic, point.mu, point.x, point.y, point.z)

    @cached_property
    def objective(self) -> tuple[Number, Number, Number]:
        """The optimal value as a0 + a1 mu + a2 mu²."""
        x, y, basis = self.x, self.y, self.basis
        if x is None or y is None or basis is None:
            raise NoSolutionError(f"{self.described} on this piece: it has no optimal value", self)
        data = self.problem.data(self.arithmetic)
        origin = self._origin
        x, y = x.about(origin), y.about(origin)
        smooth = product(x.mapped(lambda part: data.P @ part), x) / 2 + product(data.c.about(origin), x)
        k0, k1, k2 = (self.arithmetic.number(k) for k in self.problem.constant)
        a0, a1, a2 = smooth + self._penalties(x, y, basis.rows, origin)
        return a0 - origin * (a1 - origin * a2) + k0, a1 - 2 * origin * a2 + k1, a2 + k2

    @property
    def _origin(self) -> Number:
        """Where mu is measured from in sums over the piece: its middle in float64, if that is far away.

        A short piece may be steep, and the terms of its slopes cancel but for what is left of them near it.
        """
        if self.arithmetic.name == "exact" or is_infinite(self.lo) or is_infinite(self.hi):
            return 0
        lo, hi = float(self.lo), float(self.hi)
        return (lo + hi) / 2 if hi - lo < SHORT_PIECE * abs(lo + hi) else 0

    def _penalties(self, x: AffineArray, y: AffineArray, rows: tuple[str, ...], origin: Number) -> Array:
        """Return Σ penalty · violation: a violated row's multiplier is its penalty, up to sign."""
        data = self.problem.data(self.arithmetic)
        total = self.arithmetic.array([0, 0, 0])
        for state, limit in (("below", data.row_lower), ("above", data.row_upper)):
            violated = np.array([row == state for row in rows], dtype=bool)
            activity = [data.A[violated] @ part for part in x]
            own = limit.take(violated).about(origin)
            shortfall = AffineArray(*(own[part] - activity[part] for part in (0, 1)))
            total = total + product(y.take(violated), shortfall)
        return total

    def __repr__(self) -> str:
        return f"Segment({shown(self.lo)}, {shown(self.hi)}, {self.status!r})"


@dataclass(frozen=True, eq=False)
class Point:
    """What a path says at one mu: the solution, or why there is none.

    x, y, z, `objective` and `named` raise `NoSolutionError` where the problem has no solution.

    Parameters
    ----------
    mu
        The value of the parameter.
    segment
        The piece it lies on.
    """

    mu: Number
    segment: Segment

    @property
    def status(self) -> Status:
        """Whether the problem is optimal, infeasible or unbounded here, or the path is unverified."""
        return self.segment.status

    @property
    def x(self) -> Array:
        """The solution."""
        return self._value("x", self.segment.x)

    @property
    def y(self) -> Array:
        """The row multipliers: positive at row_lower, negative at row_upper."""
        return self._value("y", self.segment.y)

    @property
    def z(self) -> Array:
        """The bound multipliers: positive at lower, negative at upper."""
        return self._value("z", self.segment.z)

    @property
    def objective(self) -> Number:
        """The optimal value."""
        if self.status != "optimal":
            raise self._no_solution("objective")
        a0, a1, a2 = self.segment.objective
        return a0 + self.mu * (a1 + self.mu * a2)

    @property
    def named(self) -> dict[str, Number]:
        """The solution by variable name."""
        return dict(zip(self.segment.problem.names, self.x.tolist(), strict=True))

    def residuals(self) -> Residuals:
        """Return by how much the optimality conditions fail, computed from the data: all 0 if exact."""
        data = self.segment.problem.data(self.segment.arithmetic)
        return residuals(data, self.mu, self.x, self.y, self.z)

    def _value(self, name: str, affine: AffineArray | None) -> Array:
        if self.status != "optimal" or affine is None:
            raise self._no_solution(name)
        return affine.at(self.mu)

    def _no_solution(self, name: str) -> NoSolutionError:
        if self.status == "unverified":
            return NoSolutionError(
                f"{self.segment.described}: no {name} at mu = {shown(self.mu)}", self.segment
            )
        advice = "segment.farkas proves it" if self.status == "infeasible" else "segment.ray shows it"
        message = f"the problem is {self.status} at mu = {shown(self.mu)}: no {name}"
        return NoSolutionError(message, self.segment, remedy=advice)

    def __repr__(self) -> str:
        if self.status != "optimal":
            return f"Point(mu={shown(self.mu)}, {self.status})"
        values = ", ".join(f"{name}={shown(value)}" for name, value in self.named.items())
        return f"Point(mu={shown(self.mu)}, {values})"


def proof_strength(segment: Segment) -> AffineNumber | None:
    """Return what is positive where the proof of an unsolvable segment holds; None if it has no proof."""
    # Proofs are exact in both arithmetics, so their sign is read in rationals.
    data = segment.problem.data(RATIONAL)
    if segment.proof is not None:
        return segment.proof.gap(data)
    if segment.ray is None or segment.violation is None:
        return None
    return AffineNumber(*(-part for part in descent(data, segment.ray, segment.violation)))


def product(left: AffineArray, right: AffineArray) -> Array:
    """Return the three coefficients of the quadratic (l0 + mu l1)·(r0 + mu r1)."""
    return np.array([left[0] @ right[0], left[0] @ right[1] + left[1] @ right[0], left[1] @ right[1]])


def _inside(lo: Number, hi: Number) -> Number:
    """Return a mu inside the interval."""
    # Not an end: there, gaps may be 0 that are positive inside.
    if is_infinite(lo) and is_infinite(hi):
        return 0
    if is_infinite(lo):
        return hi - 1
    return lo + 1 if is_infinite(hi) else (lo + hi) / 2
