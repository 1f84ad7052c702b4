"""The problem: a family of convex quadratic programs over one parameter, checked once.

Room: data in, one frozen validated record out. Solves nothing.
May touch: `errors`, `field`, `affine`, `hessian`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pqp.affine import Affine, affine_vector, as_affine
from pqp.errors import ProblemError
from pqp.field import FLOAT, RATIONAL, Array, Field, Number, as_numbers, infinite
from pqp.hessian import as_hessian

# constant and slope
Affines = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class QPData:
    """The numbers of a problem in one arithmetic; affine data as (constant, slope)."""

    field: Field
    P: Array
    c: Affines
    A: Array
    row_lower: Affines
    row_upper: Affines
    lower: Affines
    upper: Affines
    penalty: Affines


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
        A = _as_rows(self.A, n)
        m = len(A)
        if self.A is None:
            _forbid_limits_without_rows(self.row_lower, self.row_upper, self.penalty)
        data: dict[str, Any] = {
            "P": hessian,
            "c": _linear_cost(self.c, n),
            "A": A,
            "row_lower": _limit(self.row_lower, m, "row_lower", -np.inf),
            "row_upper": _limit(self.row_upper, m, "row_upper", np.inf),
            "lower": _limit(self.lower, n, "lower", -np.inf),
            "upper": _limit(self.upper, n, "upper", np.inf),
            "penalty": _penalty(self.penalty, m),
            "names": _labels(self.names, n, "names", "x"),
            "row_names": _labels(self.row_names, m, "row_names", "row"),
            "constant": _constant(self.constant),
        }
        _forbid_crossing(data["lower"], data["upper"], "lower", "upper")
        _forbid_crossing(data["row_lower"], data["row_upper"], "row_lower", "row_upper")
        _forbid_idle_penalties(data["penalty"], data["row_lower"], data["row_upper"])
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

    @property
    def is_soft(self) -> Array:
        """Which rows carry a finite penalty."""
        return ~infinite(self.penalty.constant)

    @property
    def is_fixed(self) -> Array:
        """Which variables have one and the same function for both limits."""
        return _coincide(self.lower, self.upper)

    @property
    def is_equality(self) -> Array:
        """Which rows have one and the same function for both limits."""
        return _coincide(self.row_lower, self.row_upper)

    def data(self, field: Field) -> QPData:
        """Return all numbers in the given arithmetic, converted once."""
        return self._exact_data if field is RATIONAL else self._float_data

    @cached_property
    def _exact_data(self) -> QPData:
        return _converted(self, RATIONAL)

    @cached_property
    def _float_data(self) -> QPData:
        return _converted(self, FLOAT)

    def require_uncrossed_soft_rows(self, lo: Number, hi: Number) -> None:
        """Raise if the limits of a soft row cross between lo and hi: one violation could not mean both."""
        for i in np.flatnonzero(self.is_soft):
            low, high = self.row_lower[i], self.row_upper[i]
            gap = RATIONAL.number(high.constant[()]) - RATIONAL.number(low.constant[()])
            slope = RATIONAL.number(high.slope[()]) - RATIONAL.number(low.slope[()])
            if min(_value_towards(gap, slope, lo), _value_towards(gap, slope, hi)) < 0:
                raise ProblemError(
                    f"row_lower[{i}] = {low} and row_upper[{i}] = {high} cross at mu = {-gap / slope}, and "
                    f"row {i} is soft: trace an interval on one side, or write its limits as two soft rows"
                )

    def __repr__(self) -> str:
        return f"ParametricQP({_count(self.n, 'variable')}, {_count(self.m, 'row')})"


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
    return ParametricQP(P=2 * as_numbers(Q, "Q"), c=c, A=A, row_lower=b, lower=0, names=names)


def _value_towards(constant: Number, slope: Number, mu: Number) -> Number:
    return constant + RATIONAL.number(mu) * slope if slope else constant


def _converted(problem: ParametricQP, field: Field) -> QPData:
    names = ("c", "row_lower", "row_upper", "lower", "upper", "penalty")
    affine = {name: getattr(problem, name) for name in names}
    pairs = {name: (field.array(data.constant), field.array(data.slope)) for name, data in affine.items()}
    return QPData(field=field, P=problem.P.matrix(field), A=field.array(problem.A), **pairs)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _as_rows(A: Any, n: int) -> Array:
    rows = as_numbers(np.zeros((0, n), dtype=np.int64) if A is None else A, "A")
    if rows.ndim != 2 or rows.shape[1] != n:
        raise ProblemError(f"A must have {_count(n, 'column')} to match P, got shape {rows.shape}")
    for i, j in np.argwhere(infinite(rows))[:1]:
        raise ProblemError(f"A[{i}, {j}] is {rows[i, j]}: entries of A must be finite")
    return rows


def _linear_cost(c: Any, n: int) -> Affine:
    data = affine_vector(c, n, "c")
    _require_finite(data.constant, "c")
    _require_finite(data.slope, "c (its slope)")
    return data


def _limit(value: Any, length: int, name: str, default: float) -> Affine:
    data = affine_vector(default if value is None else value, length, name)
    _require_finite(data.slope, f"{name} (its slope)")
    wrong = np.flatnonzero(data.constant == -default)
    for i in wrong[:1]:
        raise ProblemError(
            f"{name}[{i}] is {data.constant[i]}, which no value satisfies; use {default} for no limit"
        )
    return Affine(data.constant, np.where(infinite(data.constant), 0, data.slope))


def _penalty(value: Any, length: int) -> Affine:
    if isinstance(value, Sequence):
        value = [np.inf if entry is None else entry for entry in value]
    data = _limit(value, length, "penalty", np.inf)
    negative = np.flatnonzero((data.slope == 0) & (data.constant < 0))
    for i in negative[:1]:
        raise ProblemError(
            f"penalty[{i}] is {data.constant[i]}: a negative penalty rewards violation without end"
        )
    return data


def _forbid_limits_without_rows(*given: Any) -> None:
    for name, value in zip(("row_lower", "row_upper", "penalty"), given, strict=True):
        if value is not None and as_affine(value, name).shape != (0,):
            raise ProblemError(f"{name} is given, but there are no rows: A is missing")


def _forbid_idle_penalties(penalty: Affine, row_lower: Affine, row_upper: Affine) -> None:
    """A row that nothing can violate has no use for a penalty: more likely its limit was forgotten."""
    given = ~infinite(penalty.constant)
    open_ended = infinite(row_lower.constant) & infinite(row_upper.constant)
    for i in np.flatnonzero(given & open_ended)[:1]:
        raise ProblemError(
            f"penalty[{i}] is {penalty[i]}, but row {i} has no limit to violate; give row_lower[{i}] or "
            f"row_upper[{i}], or penalty None"
        )


def _constant(value: Any) -> tuple[Number, Number, Number]:
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


def _require_finite(values: Array, name: str) -> None:
    for i in np.flatnonzero(infinite(values))[:1]:
        raise ProblemError(f"{name}[{i}] is {values[i]}: it must be finite")


def _labels(names: Any, length: int, argument: str, stem: str) -> tuple[str, ...]:
    labels = (
        tuple(f"{stem}{i + 1}" for i in range(length))
        if names is None
        else tuple(str(name) for name in names)
    )
    if isinstance(names, str) or len(labels) != length:
        raise ProblemError(f"{argument} must have {_count(length, 'label')}, got {names!r}")
    if (
        duplicates := sorted({label for label in labels if labels.count(label) > 1})
        if names is not None
        else []
    ):
        raise ProblemError(f"{argument} must differ from one another, but {duplicates[0]!r} appears twice")
    return labels


def _coincide(low: Affine, high: Affine) -> Array:
    return ~infinite(low.constant) & (low.constant == high.constant) & (low.slope == high.slope)


def _forbid_crossing(low: Affine, high: Affine, low_name: str, high_name: str) -> None:
    finite = ~infinite(low.constant) & ~infinite(high.constant)
    for i in np.flatnonzero(finite & (low.slope == high.slope) & (low.constant > high.constant))[:1]:
        raise ProblemError(
            f"{low_name}[{i}] = {low[i]} exceeds {high_name}[{i}] = {high[i]} at every mu: "
            f"no x can satisfy both; swap them or correct one"
        )
