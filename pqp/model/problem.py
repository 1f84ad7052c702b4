"""The problem: a family of convex quadratic programs over one parameter, its arguments checked once."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pqp.errors import ProblemError, counted, must_be
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, RATIONAL, Array, Field, Number, as_numbers, infinite, is_infinite
from pqp.linalg.matrices import (
    MatrixData,
    MatrixLike,
    StoredMatrix,
    as_matrix,
    dense_matrix,
    exact_matrix,
    float_matrix,
    is_sparse,
)
from pqp.linalg.tolerances import CLEARLY_POSITIVE
from pqp.model.affine import Affine, AffineLike, affine_vector, as_affine
from pqp.model.hessian import Hessian, HessianLike, HessianProduct, Matrix, as_hessian

# The smallest and the largest normal number of float64.
SMALLEST = float(np.finfo(float).tiny)
LARGEST = float(np.finfo(float).max)


def as_rows(A: MatrixLike | None, n: int) -> MatrixData:
    """Return A as a matrix with n columns, without rows if there is none."""
    rows = as_matrix(np.zeros((0, n), dtype=np.int64) if A is None else A, "A")
    if rows.shape[1] != n:
        raise must_be("A", f"a matrix of {counted(n, 'column')} to match P", f"shape {rows.shape}")
    return rows


def as_cost(c: AffineLike, n: int) -> Affine:
    """Return c as finite affine data."""
    data = affine_vector(c, n, "c")
    _require_finite(data.constant, "c")
    _require_finite(data.slope, "c", "the slope of ")
    return data


def as_limit(value: AffineLike, length: int, name: str, default: float) -> Affine:
    """Return the limits of one side; the slope of an infinite one is 0."""
    data = affine_vector(default if value is None else value, length, name)
    _require_finite(data.slope, name, "the slope of ")
    for i in np.flatnonzero(data.constant == -default)[:1]:
        raise ProblemError(
            "{argument} is {found}, which no value satisfies",
            argument=f"{name}[{i}]",
            found=str(data.constant[i]),
            remedy=f"use {default} for no limit",
        )
    return Affine(data.constant, np.where(infinite(data.constant), 0, data.slope))


def as_penalty(value: AffineLike, length: int) -> Affine:
    """Return the penalties of rows, infinite where none is given."""
    # only here does None make sense entry by entry: hard rows among soft ones
    if isinstance(value, Sequence):
        value = [np.inf if entry is None else entry for entry in value]
    data = as_limit(value, length, "penalty", np.inf)
    # a penalty with a slope may be negative somewhere: there the problem is unbounded, which is an answer
    for i in np.flatnonzero((data.slope == 0) & (data.constant < 0))[:1]:
        raise ProblemError(
            "{argument} must be {expected}, got {found} (a negative one makes the problem unbounded)",
            argument=f"penalty[{i}]",
            found=str(data.constant[i]),
            expected="nonnegative",
        )
    return data


def forbid_limits_without_rows(**given: AffineLike) -> None:
    """Raise if limits or penalties are given without rows."""
    for name, value in given.items():
        if value is not None and as_affine(value, name).shape != (0,):
            raise ProblemError("{argument} is given, but there are no rows: A is missing", argument=name)


def forbid_idle_penalties(penalty: Affine, row_lower: Affine, row_upper: Affine) -> None:
    """Raise if a row that nothing can violate has a penalty: more likely its limit was forgotten."""
    given = ~infinite(penalty.constant)
    open_ended = infinite(row_lower.constant) & infinite(row_upper.constant)
    for i in np.flatnonzero(given & open_ended)[:1]:
        raise ProblemError(
            f"{{argument}} is {{found}}, but row {i} has no limit to violate",
            argument=f"penalty[{i}]",
            found=str(penalty[i]),
            remedy=f"give row_lower[{i}] or row_upper[{i}], or penalty None",
            row=int(i),
        )


def as_constant(value: AffineLike) -> tuple[Number, Number, Number]:
    """Return k0, k1, k2 of the constant k0 + k1 mu + k2 mu²."""
    data = as_affine(value, "constant")
    if data.shape == ():
        numbers = as_numbers([data.constant[()], data.slope[()], 0], "constant")
    elif data.shape == (3,) and not np.any(data.slope != 0):
        numbers = data.constant
    else:
        raise must_be("constant", "one number, affine data or three numbers", f"shape {data.shape}")
    _require_finite(numbers, "constant")
    k0, k1, k2 = (
        number if isinstance(number, float) else RATIONAL.number(number) for number in numbers.tolist()
    )
    return k0, k1, k2


def as_labels(names: Iterable[object] | None, length: int, argument: str, stem: str) -> tuple[str, ...]:
    """Return labels that differ from one another, numbered ones if none are given."""
    if names is None:
        return tuple([f"{stem}{i}" for i in range(1, length + 1)])
    labels = tuple(str(name) for name in names)
    if isinstance(names, str) or len(labels) != length:
        raise must_be(argument, counted(length, "label"), repr(names))
    if len(set(labels)) < length:
        twice = min(label for label, times in Counter(labels).items() if times > 1)
        raise must_be(argument, "different from one another", f"{twice!r} twice")
    return labels


def as_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Return notes as a tuple of sentences."""
    sentences = tuple(notes)
    if isinstance(notes, str) or not all(isinstance(note, str) for note in sentences):
        raise must_be("notes", "a list of sentences", repr(notes))
    return sentences


def forbid_crossing(low: Affine, high: Affine, low_name: str, high_name: str) -> None:
    """Raise if two limits of equal slope exclude each other at every mu."""
    finite = ~infinite(low.constant) & ~infinite(high.constant)
    # limits of different slopes cross at one mu only: beyond it the problem is infeasible, which is an answer
    for i in np.flatnonzero(finite & (low.slope == high.slope) & (low.constant > high.constant))[:1]:
        raise ProblemError(
            "{argument} = {found} exceeds {expected} at every mu: no x can satisfy both",
            argument=f"{low_name}[{i}]",
            found=str(low[i]),
            expected=f"{high_name}[{i}] = {high[i]}",
            remedy="swap them or correct one",
        )


def forbid_crossing_within(low: Affine, high: Affine, rows: Array, interval: tuple[Number, Number]) -> None:
    """Raise if the limits of one of the rows exclude each other somewhere in an interval."""
    both = ~infinite(low.constant[rows]) & ~infinite(high.constant[rows])
    # Limits of equal slope were compared when the problem was made.
    rows = rows[both & (low.slope[rows] != high.slope[rows])]
    if not len(rows):
        return
    # exact arithmetic on thousands of rows takes seconds, so float64 picks those it cannot decide
    doubtful = [_may_have_crossed(low[rows], high[rows], RATIONAL.number(mu)) for mu in interval]
    for i in rows[doubtful[0] | doubtful[1]]:
        gap = RATIONAL.number(high.constant[i]) - RATIONAL.number(low.constant[i])
        slope = RATIONAL.number(high.slope[i]) - RATIONAL.number(low.slope[i])
        # An affine gap that is not negative at either end is not negative between them.
        if any(gap + RATIONAL.number(mu) * slope < 0 for mu in interval):
            raise ProblemError(
                "{argument} and {expected} cross at mu = {found}, and row {row} is soft",
                argument=f"row_lower[{i}] = {low[i]}",
                found=str(-gap / slope),
                expected=f"row_upper[{i}] = {high[i]}",
                remedy="trace an interval on one side, or write its limits as two soft rows",
                row=int(i),
            )


def _may_have_crossed(low: Affine, high: Affine, mu: Number) -> Array:
    """Return which limits of different slopes may have crossed at mu: those that float64 cannot decide."""
    parts = (high.constant, -low.constant, high.slope, -low.slope)
    # Far out the slopes decide, which are known to differ.
    if is_infinite(mu):
        return np.asarray(high.slope < low.slope if mu > 0 else high.slope > low.slope, dtype=bool)
    # outside the normal range a number is not rounded to float64 with a small relative error
    is_ordinary = mu == 0 or SMALLEST <= mu <= LARGEST or SMALLEST <= -mu <= LARGEST
    if any(part.dtype == object for part in parts) or not is_ordinary:
        return np.ones(low.shape, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows compares as undecided
        terms = np.array([parts[0], parts[1], float(mu) * parts[2], float(mu) * parts[3]])
        return ~(terms.sum(axis=0) > CLEARLY_POSITIVE * np.abs(terms).sum(axis=0) + SMALLEST)


def _require_finite(values: Array, name: str, part: str = "") -> None:
    for i in np.flatnonzero(infinite(values))[:1]:
        message = f"{part}{{argument}} must be {{expected}}, got {{found}}"
        raise ProblemError(message, argument=f"{name}[{i}]", found=str(values[i]), expected="finite")


class _Converted:
    """Affine data of the problem in the arithmetic of its `QPData`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, data: "QPData", owner: type) -> AffineArray:
        given: Affine = getattr(data.problem, self.name)
        converted = AffineArray(data.field.array(given.constant), data.field.array(given.slope))
        # found there before this descriptor is asked again: exact conversion takes long
        data.__dict__[self.name] = converted
        return converted


@dataclass(frozen=True, eq=False)
class QPData:
    """The numbers of a problem in one arithmetic, each converted when first asked for.

    In float64 P and A keep their structure: both can be multiplied with, and A can be sliced by rows.
    In exact arithmetic they are arrays of Fractions. `dense_P` and `dense_A` are arrays in either.
    """

    problem: "ParametricQP"
    field: Field

    @cached_property
    def P(self) -> Any:
        """P as an array, or in float64 as a `HessianProduct` if it has structure."""
        P = self.problem.P
        if self.field is RATIONAL or (isinstance(P, Matrix) and not is_sparse(P.values)):
            return self.dense_P
        return HessianProduct(P)

    @cached_property
    def dense_P(self) -> Array:
        """All entries of P."""
        return self.problem.P.matrix(self.field)

    @cached_property
    def A(self) -> MatrixData:
        """A as an array, or in float64 as a csr_array if it was given sparse."""
        return exact_matrix(self.problem.A) if self.field is RATIONAL else float_matrix(self.problem.A)

    @cached_property
    def dense_A(self) -> Array:
        """All entries of A."""
        return dense_matrix(self.A)

    c = _Converted()
    row_lower = _Converted()
    row_upper = _Converted()
    lower = _Converted()
    upper = _Converted()
    penalty = _Converted()


@dataclass(frozen=True, eq=False, init=False)
class ParametricQP:
    r"""The family of convex quadratic programs

    .. math::

        \min_x \; \tfrac12 x^\top P x + c(\mu)^\top x + k(\mu)
        \quad\text{s.t.}\quad r^-(\mu) \le A x \le r^+(\mu),\; l(\mu) \le x \le u(\mu)

    over one real parameter :math:`\mu`, all data affine in it.

    Parameters
    ----------
    P
        Symmetric positive semidefinite, zero and singular allowed: entries (dense or sparse), or a
        factor, `Gram(F)` or `PairGram(K, pairs)`. It carries the ½. Data frames are read by position.
    A
        The rows, dense or sparse; a sparse A stays sparse, as a `scipy.sparse.csr_array`.
    c, row_lower, row_upper, lower, upper
        Numbers, or affine data made with `pqp.mu`; a single one stands for every entry. Limits
        default to none; equal limits fix a variable or make a row an equality.
    penalty
        One slope per row. Where it is finite the row is soft: a violation v ≥ 0 is allowed and costs
        penalty · v. `None` or `inf` keeps the row hard.
    names, row_names
        Labels for variables and rows, `x1, x2, ...` and `row1, row2, ...` if not given.
    constant
        k(mu): a number, affine data, or three numbers k0, k1, k2 for k0 + k1 mu + k2 mu².
    notes
        Sentences about the data that are kept with the problem, also in files. What the problem itself
        changed in its data is added: floats of P, or of the K of a `PairGram`, that miss symmetry by
        rounding errors are symmetrised. Integers and Fractions are never changed.

    >>> from pqp import mu
    >>> ParametricQP(P=[[2, 0], [0, 2]], c=[-4, -6], A=[[1, 1]], row_upper=mu, lower=0)
    ParametricQP(2 variables, 1 row)
    """

    P: Hessian
    c: Affine
    A: StoredMatrix
    row_lower: Affine
    row_upper: Affine
    lower: Affine
    upper: Affine
    penalty: Affine
    names: tuple[str, ...]
    row_names: tuple[str, ...]
    constant: tuple[Number, Number, Number]
    notes: tuple[str, ...]

    def __init__(
        self,
        P: HessianLike,
        c: AffineLike,
        A: MatrixLike | None = None,
        row_lower: AffineLike = None,
        row_upper: AffineLike = None,
        lower: AffineLike = None,
        upper: AffineLike = None,
        penalty: AffineLike = None,
        names: Iterable[object] | None = None,
        row_names: Iterable[object] | None = None,
        constant: AffineLike = 0,
        notes: Iterable[str] = (),
    ) -> None:
        hessian = as_hessian(P)
        n = hessian.size
        rows = as_rows(A, n)
        m = rows.shape[0]
        if A is None:
            forbid_limits_without_rows(row_lower=row_lower, row_upper=row_upper, penalty=penalty)
        data: dict[str, Any] = {
            "P": hessian,
            "c": as_cost(c, n),
            "A": rows,
            "row_lower": as_limit(row_lower, m, "row_lower", -np.inf),
            "row_upper": as_limit(row_upper, m, "row_upper", np.inf),
            "lower": as_limit(lower, n, "lower", -np.inf),
            "upper": as_limit(upper, n, "upper", np.inf),
            "penalty": as_penalty(penalty, m),
            "names": as_labels(names, n, "names", "x"),
            "row_names": as_labels(row_names, m, "row_names", "row"),
            "constant": as_constant(constant),
            "notes": (*as_notes(notes), *hessian.notes),
        }
        # Limits that cross at every mu are taken for a mistake, not for an infeasible problem.
        forbid_crossing(data["lower"], data["upper"], "lower", "upper")
        forbid_crossing(data["row_lower"], data["row_upper"], "row_lower", "row_upper")
        forbid_idle_penalties(data["penalty"], data["row_lower"], data["row_upper"])
        for name, value in data.items():
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.names)

    @property
    def m(self) -> int:
        """The number of rows."""
        return len(self.row_names)

    @cached_property
    def is_soft(self) -> Array:
        """Which rows carry a finite penalty."""
        return _frozen(~infinite(self.penalty.constant))

    @cached_property
    def is_fixed(self) -> Array:
        """Which variables have one and the same function for both limits."""
        return _frozen(_coincide(self.lower, self.upper))

    @cached_property
    def is_equality(self) -> Array:
        """Which rows have one and the same function for both limits."""
        return _frozen(_coincide(self.row_lower, self.row_upper))

    def data(self, field: Field) -> QPData:
        """Return all numbers in the given arithmetic, converted once."""
        return self._data[field.name]

    @cached_property
    def _data(self) -> dict[str, QPData]:
        return {field.name: QPData(self, field) for field in (FLOAT, RATIONAL)}

    def require_uncrossed_soft_rows(self, lo: Number, hi: Number) -> None:
        """Raise if the limits of a soft row cross between lo and hi: one violation could not mean both."""
        forbid_crossing_within(self.row_lower, self.row_upper, np.flatnonzero(self.is_soft), (lo, hi))

    def __repr__(self) -> str:
        return f"ParametricQP({counted(self.n, 'variable')}, {counted(self.m, 'row')})"


def paper_form(
    Q: MatrixLike, c: AffineLike, A: MatrixLike, b: AffineLike, names: Sequence[str] | None = None
) -> ParametricQP:
    """Return form (1) of the paper: min xᵀQx + c(mu)ᵀx subject to Ax ≥ b(mu), x ≥ 0.

    Q does not carry the ½, so P = 2Q.

    >>> paper_form(Q=[[1]], c=[-2], A=[[1]], b=[1]).P.values
    array([[2]])
    """
    if not isinstance(Q, np.ndarray | list | tuple) and not hasattr(Q, "shape"):
        raise must_be("Q", "a matrix", type(Q).__name__, "double the factor of a Gram matrix yourself")
    return ParametricQP(P=2 * as_matrix(Q, "Q"), c=c, A=A, row_lower=b, lower=0, names=names)


def _coincide(low: Affine, high: Affine) -> Array:
    return ~infinite(low.constant) & (low.constant == high.constant) & (low.slope == high.slope)


def _frozen(array: Array) -> Array:
    # Cached, so every caller gets this very array.
    array.flags.writeable = False
    return array
