"""The problem: a family of convex quadratic programs over one parameter, checked once.

Room: data in, one frozen validated record out. Solves nothing.
May touch: `errors`, `field`, `matrices`, `affine`, `arguments`, `hessian`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pqp.affine import Affine
from pqp.arguments import (
    as_constant,
    as_cost,
    as_labels,
    as_limit,
    as_penalty,
    as_rows,
    counted,
    forbid_crossing,
    forbid_crossing_within,
    forbid_idle_penalties,
    forbid_limits_without_rows,
)
from pqp.errors import ProblemError
from pqp.field import FLOAT, RATIONAL, Array, Field, Number, infinite
from pqp.hessian import HessianProduct, Matrix, as_hessian
from pqp.matrices import MatrixData, as_matrix, dense_matrix, exact_matrix, float_matrix, is_sparse

# constant and slope
Affines = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class QPData:
    """The numbers of a problem in one arithmetic, each converted when first asked for; affine data as a pair.

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
    def c(self) -> Affines:
        """The linear cost."""
        return self._pair(self.problem.c)

    @cached_property
    def row_lower(self) -> Affines:
        """The lower limits of rows."""
        return self._pair(self.problem.row_lower)

    @cached_property
    def row_upper(self) -> Affines:
        """The upper limits of rows."""
        return self._pair(self.problem.row_upper)

    @cached_property
    def lower(self) -> Affines:
        """The lower limits of variables."""
        return self._pair(self.problem.lower)

    @cached_property
    def upper(self) -> Affines:
        """The upper limits of variables."""
        return self._pair(self.problem.upper)

    @cached_property
    def penalty(self) -> Affines:
        """The penalties of rows, infinite for hard ones."""
        return self._pair(self.problem.penalty)

    def _pair(self, data: Affine) -> Affines:
        return self.field.array(data.constant), self.field.array(data.slope)


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
