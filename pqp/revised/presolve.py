r"""Presolve: which variables and rows of a problem the revised engine keeps, and how the others follow.

Removed, exactly: rows with a single entry on a free variable, which are bounds of that variable; variables
that only soften one row (zero Hessian, one entry, cost c ≥ 0), which are penalties of that row; and free
variables with a positive definite Hessian block of their own. These solve  P_E w = A_Eᵀy − c_E,  so that the
rows see  A_E w = G y + r  with

.. math:: G = A_E P_E^{-1} A_E^\top, \qquad r = -A_E P_E^{-1} c_E

and a problem in (w, ξ) costs what its dual costs. G is known by its factors.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array

from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, Array
from pqp.linalg.matrices import MatrixData, dense_matrix, is_sparse
from pqp.linalg.operators import DenseOperator, LowRankOperator, Operator
from pqp.linalg.tolerances import WELL_CONDITIONED
from pqp.model.hessian import Hessian
from pqp.model.problem import ParametricQP
from pqp.revised.states import Bounds


@dataclass(frozen=True, eq=False)
class Elimination:
    """Eliminated variables, their columns of A, and P_E and P_E⁻¹: diagonals, or all of them."""

    variables: Array
    columns: MatrixData
    own_block: Array
    inverse: Array
    cost: Array

    @property
    def size(self) -> int:
        """The number of rows of A."""
        return int(self.columns.shape[0])

    def solved(self, right: Array) -> Array:
        """Return P_E⁻¹ times a block, with one step of refinement where the inverse was rounded."""
        if self.inverse.ndim == 1:
            return right / self.own_block[:, None]
        solution = self.inverse @ right
        return np.asarray(solution + self.inverse @ (right - self.own_block @ solution))

    @cached_property
    def _weighted(self) -> MatrixData:
        """A_E P_E⁻¹."""
        if self.inverse.ndim > 1:
            return np.ascontiguousarray(self.columns @ self.inverse)
        if np.all(self.inverse == 1.0):
            return self.columns
        return (
            (self.columns * self.inverse).tocsr() if is_sparse(self.columns) else self.columns * self.inverse
        )

    @cached_property
    def _transposed(self) -> MatrixData:
        return self.columns.T.tocsr() if is_sparse(self.columns) else self.columns.T

    @cached_property
    def operator(self) -> Operator:
        """G, multiplied out where that is smaller than its factors."""
        rows, columns = self.columns.shape
        if columns >= rows and not is_sparse(self.columns):
            product = self._weighted @ self._transposed
            return DenseOperator((product + product.T) / 2)
        return LowRankOperator(self._weighted, self.columns)

    def offset(self) -> Array:
        """Return r."""
        return -(self._weighted @ self.cost)

    def variables_at(self, y: Array) -> Array:
        """Return w for the multipliers of all rows, as affine functions."""
        return self.solved(self._transposed @ y - self.cost)


# Free variables beyond this number are eliminated only if their block is diagonal: P_E⁻¹ is kept in full.
LARGEST_BLOCK = 1000
# Eliminated columns with more entries than this share are kept as a dense factor: an event reads single rows
# of it, and a path of choices, with 1/3, took a quarter of the time.
MOST_SPARSE = 0.1


@dataclass(frozen=True, eq=False)
class MatrixEntries:
    """Single entries of A: `entries[k]` of variable `variables[k]` in row `rows[k]`."""

    variables: Array
    rows: Array
    entries: Array


@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """The kept variables and rows of a problem, and what became of the others.

    Rows in `merged` bound a free variable; variables in `slacks` soften a row.
    """

    problem: ParametricQP
    variables: Array
    rows: Array
    merged: MatrixEntries
    slacks: MatrixEntries
    elimination: Elimination | None

    @property
    def size(self) -> int:
        """The number of items: kept variables, then kept rows."""
        return len(self.variables) + len(self.rows)

    @cached_property
    def is_row(self) -> Array:
        """Which items are rows."""
        return np.arange(self.size) >= len(self.variables)

    @cached_property
    def q(self) -> Array:
        """q of g = M v + q: costs of variables, offsets of rows."""
        cost = lines(self.problem.data(FLOAT).c)[self.variables]
        if self.elimination is None:
            return np.concatenate([cost, np.zeros((len(self.rows), 2))])
        return np.concatenate([cost, self.elimination.offset()])

    @cached_property
    def bounds(self) -> Bounds:
        """The bounds and caps of all items; bounds with a cap that is always 0 are dropped."""
        variable, row = self._variable_bounds(), self._row_bounds()
        lower, upper, cap = (np.concatenate([a, b]) for a, b in zip(variable, row, strict=True))
        pointless = ~np.any(cap, axis=1)
        lower[pointless], upper[pointless], cap[pointless] = (-np.inf, 0), (np.inf, 0), (np.inf, 0)
        is_equal = np.isfinite(lower[:, 0]) & np.all(lower == upper, axis=1)
        return Bounds(lower, upper, cap, is_equal)

    def _variable_bounds(self) -> tuple[Array, Array, Array]:
        data, merged = self.problem.data(FLOAT), self.merged
        lower, upper = lines(data.lower), lines(data.upper)
        cap = _infinite(self.problem.n)
        low, high = (lines(limit)[merged.rows] for limit in (data.row_lower, data.row_upper))
        turned, a = (merged.entries < 0)[:, None], merged.entries[:, None]
        lower[merged.variables] = np.where(turned, high, low) / a
        upper[merged.variables] = np.where(turned, low, high) / a
        cap[merged.variables] = lines(data.penalty)[merged.rows] * np.abs(a)
        kept = self.variables
        return lower[kept], upper[kept], cap[kept]

    def _row_bounds(self) -> tuple[Array, Array, Array]:
        data, slacks = self.problem.data(FLOAT), self.slacks
        lower, upper, cap = (lines(part) for part in (data.row_lower, data.row_upper, data.penalty))
        cap[slacks.rows] = lines(data.c)[slacks.variables] / np.abs(slacks.entries)[:, None]
        return lower[self.rows], upper[self.rows], cap[self.rows]


def presolve(problem: ParametricQP) -> ReducedProblem:
    """Return the reduced problem.

    >>> import pqp
    >>> reduced = presolve(pqp.catalog.lasso([[1, 0], [0, 2]], [3, 4]))
    >>> reduced.variables.tolist(), reduced.rows.tolist()
    ([0, 1], [])
    """
    A = _Columns(problem)
    free = np.isinf(A.data.lower[0]) & np.isinf(A.data.upper[0])
    slacks = _find_slacks(problem, A)
    merged = _find_merged(problem, A, free, slacks)
    kept = np.ones(problem.n, dtype=bool)
    kept[slacks.variables] = False
    rows = np.ones(problem.m, dtype=bool)
    rows[merged.rows] = False
    remaining = np.flatnonzero(rows)
    candidates = free & kept
    candidates[merged.variables] = False
    # Last, since merged rows and slacks leave fewer variables free.
    elimination = _eliminated(problem, np.flatnonzero(candidates), remaining)
    if elimination is not None:
        kept[elimination.variables] = False
    return ReducedProblem(problem, np.flatnonzero(kept), remaining, merged, slacks, elimination)


class _Columns:
    """A by its entries: counts per row and per column, and positions."""

    def __init__(self, problem: ParametricQP) -> None:
        self.data = problem.data(FLOAT)
        A = self.data.A
        if is_sparse(A):
            entries = coo_array(A)
            stored = entries.data != 0
            self.row, self.column = entries.row[stored], entries.col[stored]
            self.value = entries.data[stored]
        else:
            self.row, self.column = np.nonzero(A)
            self.value = A[self.row, self.column]
        self.in_row = np.bincount(self.row, minlength=problem.m)
        self.in_column = np.bincount(self.column, minlength=problem.n)

    def first_of_each(self, groups: Array, found: Array) -> MatrixEntries:
        """Return of the entries that were found the first one of each group."""
        chosen = found[np.unique(groups[found], return_index=True)[1]] if len(found) else found
        return MatrixEntries(self.column[chosen], self.row[chosen], self.value[chosen])


def _find_slacks(problem: ParametricQP, A: _Columns) -> MatrixEntries:
    """Return the variables with 0 ≤ x, no Hessian and one entry, which only raise a row to its bound."""
    data = A.data
    is_slack = (data.lower[0] == 0) & (data.lower[1] == 0) & np.isinf(data.upper[0])
    is_slack &= (A.in_column == 1) & (problem.P.operator.diagonal() == 0)
    # A cost that is 0 for every mu would make the row no constraint at all.
    is_slack &= (data.c[0] > 0) | (data.c[1] != 0)
    has_lower, has_upper = np.isfinite(data.row_lower[0]), np.isfinite(data.row_upper[0])
    hard, rises = np.isinf(data.penalty[0])[A.row], A.value > 0
    # One-sided rows only: a slack of a two-sided row would soften one side and not the other.
    fits = np.where(rises, has_lower[A.row] & ~has_upper[A.row], has_upper[A.row] & ~has_lower[A.row])
    found = np.flatnonzero(is_slack[A.column] & hard & fits & (A.in_row[A.row] > 1))
    # A second slack of the same row stays a variable: a penalty has one slope.
    return A.first_of_each(A.row, found)


def _find_merged(problem: ParametricQP, A: _Columns, free: Array, slacks: MatrixEntries) -> MatrixEntries:
    """Return rows with a single entry on a free variable, one per variable."""
    data = A.data
    taken = np.isinf(data.row_lower[0]) & np.isinf(data.row_upper[0])
    # Without a penalty a row has no force, so it bounds nothing.
    taken |= (data.penalty[0] == 0) & (data.penalty[1] == 0)
    taken[slacks.rows] = True
    found = np.flatnonzero((A.in_row[A.row] == 1) & free[A.column] & ~taken[A.row])
    # One row per variable, since a variable shows the state of one row only (`Postsolve.row_of`).
    return A.first_of_each(A.column, found)


def _eliminated(problem: ParametricQP, candidates: Array, rows: Array) -> Elimination | None:
    """Return the elimination of free variables whose block is positive definite and stands alone."""
    if not len(rows):
        return None
    alone, block, inverse = _own_block(problem.P, problem.n, candidates)
    if not len(alone):
        return None
    data = problem.data(FLOAT)
    columns: MatrixData = data.A[rows][:, alone]
    # P_E⁻¹ is dense, and then the product is too.
    if inverse.ndim > 1 or (is_sparse(columns) and columns.nnz > MOST_SPARSE * len(rows) * len(alone)):
        columns = dense_matrix(columns)
    columns = columns.tocsr() if is_sparse(columns) else np.ascontiguousarray(columns)
    return Elimination(alone, columns, block, inverse, lines(data.c)[alone])


def _own_block(P: Hessian, n: int, candidates: Array) -> tuple[Array, Array, Array]:
    """Return which candidates can be eliminated, their block or its diagonal, and the inverse of that."""
    nothing = candidates[:0], np.empty(0), np.empty(0)
    sparse = P.operator.entries()
    if sparse is not None:
        entries = np.diff(csr_array(sparse).indptr)
        diagonal = P.operator.diagonal()
        # The inverse of a sparse block may be full, so only variables coupled with no other are taken.
        alone = candidates[(entries[candidates] == 1) & (diagonal[candidates] > 0)]
        return alone, diagonal[alone], 1.0 / diagonal[alone]
    if not len(candidates) or len(candidates) > LARGEST_BLOCK:
        return nothing
    others = np.delete(np.arange(n), candidates)
    if len(others) and np.any(P.operator.block(candidates, others)):
        return nothing
    block = P.operator.block(candidates, candidates)
    if not np.any(block - np.diag(np.diag(block))) and np.all(np.diag(block) > 0):
        return candidates, np.diag(block), 1.0 / np.diag(block)
    inverse = _inverse(block)
    return nothing if inverse is None else (candidates, block, inverse)


def _inverse(block: Array) -> Array | None:
    """Return the inverse of a well-conditioned positive definite matrix, None if it is not one."""
    try:
        L = np.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        return None
    # An ill-conditioned block would lose digits in every product with G.
    if np.any(np.diag(L) ** 2 <= WELL_CONDITIONED * np.diag(block)):
        return None
    inverse = np.linalg.inv(block)
    return np.asarray((inverse + inverse.T) / 2)


def lines(pair: AffineArray) -> Array:
    """Return affine data as an array with the columns constant and slope."""
    return np.column_stack(pair).astype(float)


def _infinite(count: int) -> Array:
    return np.column_stack([np.full(count, np.inf), np.zeros(count)])
