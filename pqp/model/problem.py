"""Arguments: what `ParametricQP` is handed, checked entry by entry, each message with the remedy.

The problem: a family of convex quadratic programs over one parameter, checked once.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pqp.errors import ProblemError
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, RATIONAL, Array, Field, Number, as_numbers, infinite, is_infinite
from pqp.linalg.matrices import MatrixData, as_matrix, dense_matrix, exact_matrix, float_matrix, is_sparse
from pqp.linalg.tolerances import CLEARLY_POSITIVE
from pqp.model.affine import Affine, affine_vector, as_affine
from pqp.model.hessian import HessianProduct, Matrix, as_hessian

# The smallest and the largest normal number of float64.
SMALLEST, LARGEST = (float(end) for end in (np.finfo(float).tiny, np.finfo(float).max))


def as_rows(A: Any, n: int) -> MatrixData:
    """Return A as a matrix with n columns, without rows if there is none."""
    rows = as_matrix(np.zeros((0, n), dtype=np.int64) if A is None else A, "A")
    if rows.shape[1] != n:
        raise ProblemError(f"A must have {counted(n, 'column')} to match P, got shape {rows.shape}")
    return rows


def as_cost(c: Any, n: int) -> Affine:
    """Return c as finite affine data."""
    data = affine_vector(c, n, "c")
    _require_finite(data.constant, "c")
    _require_finite(data.slope, "c (its slope)")
    return data


def as_limit(value: Any, length: int, name: str, default: float) -> Affine:
    """Return one side's limits; the slope of an infinite one is 0."""
    data = affine_vector(default if value is None else value, length, name)
    _require_finite(data.slope, f"{name} (its slope)")
    wrong = np.flatnonzero(data.constant == -default)
    for i in wrong[:1]:
        raise ProblemError(
            f"{name}[{i}] is {data.constant[i]}, which no value satisfies; use {default} for no limit"
        )
    return Affine(data.constant, np.where(infinite(data.constant), 0, data.slope))


def as_penalty(value: Any, length: int) -> Affine:
    """Return the penalties of rows, infinite where none is given."""
    if isinstance(value, Sequence):
        value = [np.inf if entry is None else entry for entry in value]
    data = as_limit(value, length, "penalty", np.inf)
    negative = np.flatnonzero((data.slope == 0) & (data.constant < 0))
    for i in negative[:1]:
        raise ProblemError(
            f"penalty[{i}] is {data.constant[i]}: a negative penalty rewards violation without end"
        )
    return data


def forbid_limits_without_rows(*given: Any) -> None:
    """Raise if limits or penalties are given without rows."""
    for name, value in zip(("row_lower", "row_upper", "penalty"), given, strict=True):
        if value is not None and as_affine(value, name).shape != (0,):
            raise ProblemError(f"{name} is given, but there are no rows: A is missing")


def forbid_idle_penalties(penalty: Affine, row_lower: Affine, row_upper: Affine) -> None:
    """A row that nothing can violate has no use for a penalty: more likely its limit was forgotten."""
    given = ~infinite(penalty.constant)
    open_ended = infinite(row_lower.constant) & infinite(row_upper.constant)
    for i in np.flatnonzero(given & open_ended)[:1]:
        raise ProblemError(
            f"penalty[{i}] is {penalty[i]}, but row {i} has no limit to violate; give row_lower[{i}] or "
            f"row_upper[{i}], or penalty None"
        )


def as_constant(value: Any) -> tuple[Number, Number, Number]:
    """Return k0, k1, k2 of the constant k0 + k1 mu + k2 mu²."""
    data = as_affine(value, "constant")
    if data.shape == ():
        numbers = as_numbers([data.constant[()], data.slope[()], 0], "constant")
    elif data.shape == (3,) and not np.any(data.slope != 0):
        numbers = data.constant
    else:
        raise ProblemError(
            f"constant must be one number, affine data or three numbers, got shape {data.shape}"
        )
    _require_finite(numbers, "constant")
    k0, k1, k2 = (
        number if isinstance(number, float) else RATIONAL.number(number) for number in numbers.tolist()
    )
    return k0, k1, k2


def as_labels(names: Any, length: int, argument: str, stem: str) -> tuple[str, ...]:
    """Return labels that differ from one another, numbered ones if none are given."""
    if names is None:
        return tuple([f"{stem}{i}" for i in range(1, length + 1)])
    labels = tuple(str(name) for name in names)
    if isinstance(names, str) or len(labels) != length:
        raise ProblemError(f"{argument} must have {counted(length, 'label')}, got {names!r}")
    if len(set(labels)) < length:
        twice = min(label for label, times in Counter(labels).items() if times > 1)
        raise ProblemError(f"{argument} must differ from one another, but {twice!r} appears twice")
    return labels


def forbid_crossing(low: Affine, high: Affine, low_name: str, high_name: str) -> None:
    """Raise if two limits of equal slope exclude each other at every mu."""
    finite = ~infinite(low.constant) & ~infinite(high.constant)
    for i in np.flatnonzero(finite & (low.slope == high.slope) & (low.constant > high.constant))[:1]:
        raise ProblemError(
            f"{low_name}[{i}] = {low[i]} exceeds {high_name}[{i}] = {high[i]} at every mu: "
            f"no x can satisfy both; swap them or correct one"
        )


def forbid_crossing_within(low: Affine, high: Affine, rows: Array, interval: tuple[Number, Number]) -> None:
    """Raise if the limits of one of the rows exclude each other somewhere in an interval."""
    both = ~infinite(low.constant[rows]) & ~infinite(high.constant[rows])
    rows = rows[both & (low.slope[rows] != high.slope[rows])]
    if not len(rows):
        return
    doubtful = [_may_have_crossed(low[rows], high[rows], RATIONAL.number(mu)) for mu in interval]
    for i in rows[doubtful[0] | doubtful[1]]:
        gap, slope = (
            RATIONAL.number(upper[i]) - RATIONAL.number(lower[i])
            for lower, upper in ((low.constant, high.constant), (low.slope, high.slope))
        )
        if any(gap + RATIONAL.number(mu) * slope < 0 for mu in interval):
            raise ProblemError(
                f"row_lower[{i}] = {low[i]} and row_upper[{i}] = {high[i]} cross at mu = {-gap / slope}, and "
                f"row {i} is soft: trace an interval on one side, or write its limits as two soft rows"
            )


def _may_have_crossed(low: Affine, high: Affine, mu: Number) -> Array:
    """Tell which limits of different slopes may have crossed at mu: those that float64 is not sure about."""
    parts = (high.constant, -low.constant, high.slope, -low.slope)
    if is_infinite(mu):
        return np.asarray(high.slope < low.slope if mu > 0 else high.slope > low.slope, dtype=bool)
    if any(part.dtype == object for part in parts) or not _is_ordinary(mu):
        return np.ones(low.shape, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not sure
        terms = np.array([parts[0], parts[1], float(mu) * parts[2], float(mu) * parts[3]])
        return ~(terms.sum(axis=0) > CLEARLY_POSITIVE * np.abs(terms).sum(axis=0) + SMALLEST)


def _is_ordinary(mu: Number) -> bool:
    """Tell whether a number is rounded to float64 with a small relative error."""
    return mu == 0 or SMALLEST <= mu <= LARGEST or SMALLEST <= -mu <= LARGEST


def _require_finite(values: Array, name: str) -> None:
    for i in np.flatnonzero(infinite(values))[:1]:
        raise ProblemError(f"{name}[{i}] is {values[i]}: it must be finite")


def counted(number: int, word: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {word}{'' if number == 1 else 's'}"


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

    @cached_property
    def c(self) -> AffineArray:
        """The linear cost."""
        return self._converted(self.problem.c)

    @cached_property
    def row_lower(self) -> AffineArray:
        """The lower limits of rows."""
        return self._converted(self.problem.row_lower)

    @cached_property
    def row_upper(self) -> AffineArray:
        """The upper limits of rows."""
        return self._converted(self.problem.row_upper)

    @cached_property
    def lower(self) -> AffineArray:
        """The lower limits of variables."""
        return self._converted(self.problem.lower)

    @cached_property
    def upper(self) -> AffineArray:
        """The upper limits of variables."""
        return self._converted(self.problem.upper)

    @cached_property
    def penalty(self) -> AffineArray:
        """The penalties of rows, infinite for hard ones."""
        return self._converted(self.problem.penalty)

    def _converted(self, data: Affine) -> AffineArray:
        return AffineArray(self.field.array(data.constant), self.field.array(data.slope))


@dataclass(frozen=True, eq=False)
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
        One slope a row. Where it is finite the row is soft: a violation v ≥ 0 is allowed and costs
        penalty · v. `None` or `inf` keeps the row hard.
    names, row_names
        Labels for variables and rows, `x1, x2, ...` and `row1, row2, ...` if not given.
    constant
        k(mu): a number, affine data, or three numbers k0, k1, k2 for k0 + k1 mu + k2 mu².

    >>> from pqp import mu
    >>> ParametricQP(P=[[2, 0], [0, 2]], c=[-4, -6], A=[[1, 1]], row_upper=mu, lower=0)
    ParametricQP(2 variables, 1 row)
    """

    P: Any
    c: Any
    A: Any = None
    row_lower: Any = None
    row_upper: Any = None
    lower: Any = None
    upper: Any = None
    penalty: Any = None
    names: Any = None
    row_names: Any = None
    constant: Any = 0

    def __post_init__(self) -> None:
        hessian = as_hessian(self.P)
        n = hessian.size
        A = as_rows(self.A, n)
        m = A.shape[0]
        if self.A is None:
            forbid_limits_without_rows(self.row_lower, self.row_upper, self.penalty)
        data: dict[str, Any] = {
            "P": hessian,
            "c": as_cost(self.c, n),
            "A": A,
            "row_lower": as_limit(self.row_lower, m, "row_lower", -np.inf),
            "row_upper": as_limit(self.row_upper, m, "row_upper", np.inf),
            "lower": as_limit(self.lower, n, "lower", -np.inf),
            "upper": as_limit(self.upper, n, "upper", np.inf),
            "penalty": as_penalty(self.penalty, m),
            "names": as_labels(self.names, n, "names", "x"),
            "row_names": as_labels(self.row_names, m, "row_names", "row"),
            "constant": as_constant(self.constant),
        }
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


def paper_form(Q: Any, c: Any, A: Any, b: Any, names: Sequence[str] | None = None) -> ParametricQP:
    """Return form (1) of the paper: min xᵀQx + c(mu)ᵀx subject to Ax ≥ b(mu), x ≥ 0.

    Q does not carry the ½, so P = 2Q.

    >>> paper_form(Q=[[1]], c=[-2], A=[[1]], b=[1]).P.values
    array([[2]])
    """
    if not isinstance(Q, np.ndarray | list | tuple) and not hasattr(Q, "shape"):
        raise ProblemError(
            f"Q must be a matrix, got {type(Q).__name__}; double the factor of a Gram matrix yourself"
        )
    return ParametricQP(P=2 * as_matrix(Q, "Q"), c=c, A=A, row_lower=b, lower=0, names=names)


def _coincide(low: Affine, high: Affine) -> Array:
    return ~infinite(low.constant) & (low.constant == high.constant) & (low.slope == high.slope)


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
