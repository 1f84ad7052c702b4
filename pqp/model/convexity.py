"""Convexity: whether a matrix is symmetric and positive semidefinite, and if not, along which direction.

Float64 decides where it is clear; exact pivots decide the rest where the data are exact. A large sparse
matrix is decided by the signs of the pivots of a sparse factorisation, without being made dense; exactly only
when exact arithmetic is asked for.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from pqp.errors import NotConvexError, ProblemError, must_be
from pqp.linalg.field import EXACT_INTEGERS, Array, float_array, shown
from pqp.linalg.matrices import (
    MatrixData,
    MatrixLike,
    as_matrix,
    dense_matrix,
    exact_matrix,
    float_matrix,
    given_exactly,
    identity,
    is_sparse,
)
from pqp.linalg.tableau import ExactTableau, exact_tableau
from pqp.linalg.tolerances import CONVEX_SLACK, SYMMETRY_ROUNDING

# Sparse matrices of more rows are decided by a sparse factorisation: dense eigenvalues take seconds here.
LARGEST_DENSE = 2000


def as_convex(values: MatrixLike, name: str) -> tuple[MatrixData, tuple[str, ...]]:
    """Return a matrix, dense or sparse, that is square, symmetric and positive semidefinite, or raise.

    With it come notes on what was changed: floats that miss symmetry by rounding errors are symmetrised.

    >>> as_convex([[1, 2], [3, 4]], "P")
    Traceback (most recent call last):
    pqp.errors.ProblemError: P must be symmetric, but P[0, 1] = 2 and P[1, 0] = 3; ...
    """
    matrix = as_matrix(values, name)
    if matrix.shape[0] != matrix.shape[1]:
        raise must_be(name, "square", f"shape {matrix.shape}")
    matrix, notes = _symmetric(matrix, name)
    require_convex(matrix, name, exactly=is_decided_exactly(matrix))
    return matrix, notes


def is_decided_exactly(matrix: MatrixData) -> bool:
    """Return whether `as_convex` is exact: on integers and Fractions, unless large and sparse."""
    return given_exactly(matrix) and not _is_large(matrix)


def require_convex(values: MatrixData, name: str, exactly: bool) -> None:
    """Raise `NotConvexError` unless a symmetric matrix is positive semidefinite.

    Eigenvalues down to -`CONVEX_SLACK` times the largest pass as rounding error, unless `exactly` is set.

    >>> require_convex(np.array([[1, 1], [1, 1]]), "P", exactly=True)
    """
    if is_diagonal(values):
        diagonal = values.diagonal()
        for i in np.flatnonzero(diagonal < 0)[:1]:
            raise _not_convex(name, np.eye(1, len(diagonal), i)[0], diagonal[i])
    elif _is_dominant(values):
        return
    elif _is_large(values):
        _require_convex_sparse(values, name, exactly)
    else:
        _require_convex_dense(dense_matrix(values), name, exactly)


def negative_direction(matrix: MatrixData) -> tuple[Array, Any] | None:
    r"""Return d and :math:`d^\top P d < 0`, decided exactly, or None if P is positive semidefinite.

    Principal pivots on nonzero diagonal entries leave the Schur complement of the rest; P is
    positive semidefinite if and only if no pivot is negative and the complement ends as zero.

    >>> negative_direction(np.array([[1, 2], [2, 1]]))
    (array([Fraction(-2, 1), Fraction(1, 1)], dtype=object), Fraction(-3, 1))
    >>> negative_direction(np.array([[1, 1], [1, 1]])) is None
    True
    """
    P = exact_matrix(matrix)
    # a positive multiple of P has the same directions, and fraction-free pivots need whole numbers
    table, rest = exact_tableau(P * lcm(*(entry.denominator for entry in P.flat), 1)), list(range(len(P)))
    while rest:
        pivot = next((i for i in rest if table.entry(i, i) != 0), None)
        if pivot is None or table.entry(pivot, pivot) < 0:
            break
        table = table.pivot(pivot, pivot)
        rest.remove(pivot)
    partial = _negative_in_complement(table, rest)
    if partial is None:
        return None
    d = np.array([Fraction(partial.get(i, 0)) for i in range(len(P))], dtype=object)
    # the variables pivoted on follow the others so that the curvature is that of the Schur complement
    for i in set(range(len(P))) - set(rest):
        d[i] = sum((table.entry(i, j) * weight for j, weight in partial.items()), Fraction(0))
    return d, d @ P @ d


def is_diagonal(values: MatrixData) -> bool:
    """Return whether a matrix is sparse and has no entry off its diagonal."""
    return is_sparse(values) and bool(values.nnz == np.count_nonzero(values.diagonal()))


def _is_large(values: MatrixData) -> bool:
    return is_sparse(values) and bool(values.shape[0] > LARGEST_DENSE)


def _negative_in_complement(table: ExactTableau, rest: Sequence[int]) -> dict[int, int] | None:
    """Return the entries of a direction of negative curvature of the Schur complement, None if it is zero."""
    for i in rest:
        if table.entry(i, i) < 0:
            return {i: 1}
        for j in rest:
            # between two zeros on the diagonal any entry a gives the curvatures 2a and -2a
            if table.entry(i, i) == table.entry(j, j) == 0 != table.entry(i, j):
                return {i: 1, j: -1 if table.entry(i, j) > 0 else 1}
    return None


def _symmetric(values: MatrixData, name: str) -> tuple[MatrixData, tuple[str, ...]]:
    """Return a matrix that is its own transpose, with notes; raise with the worst pair if it is far from it.

    Integers and Fractions have no rounding errors, so they are never changed.
    """
    rows, columns, gaps = _asymmetry(values)
    if not len(gaps):
        return values, ()
    worst = int(np.argmax(gaps))
    i, j = int(rows[worst]), int(columns[worst])
    found = f"{name}[{i}, {j}] = {values[i, j]} and {name}[{j}, {i}] = {values[j, i]}"
    if given_exactly(values) or not _is_rounding(values, rows, columns, gaps):
        message, remedy = (
            "{argument} must be {expected}, but {found}",
            f"({name} + {name}.T) / 2 gives the same objective",
        )
        raise ProblemError(message, argument=name, found=found, expected="symmetric", remedy=remedy)
    # Halves first: a sum might overflow.
    mirrored = values / 2 + values.T / 2
    note = (
        f"{name} missed symmetry by rounding errors of up to {gaps[worst]:.1e}, as {found}: "
        f"it was replaced by ({name} + {name}.T) / 2"
    )
    return as_matrix(mirrored, name), (note,)


def _asymmetry(values: MatrixData) -> tuple[Array, Array, Array]:
    """Return the rows and columns of entries that differ from their mirror images, and by how much."""
    if is_sparse(values):
        gap = abs(values - values.T).tocoo()
        different = gap.data != 0
        return gap.row[different], gap.col[different], gap.data[different]
    rows, columns = np.nonzero(values != values.T)
    with np.errstate(over="ignore"):
        gaps = values[rows, columns] - values[columns, rows]
    return rows, columns, np.abs(float_array(gaps))


def _is_rounding(values: MatrixData, rows: Array, columns: Array, gaps: Array) -> bool:
    """Return whether pairs of entries of a float64 matrix differ by rounding errors alone."""
    one, other = (np.asarray(values[pair]).ravel() for pair in ((rows, columns), (columns, rows)))
    roots = np.sqrt(np.maximum(values.diagonal(), 0.0))
    sizes = np.maximum(np.maximum(np.abs(one), np.abs(other)), roots[rows] * roots[columns])
    return bool(np.all(gaps <= SYMMETRY_ROUNDING * sizes))


def _is_dominant(values: MatrixData) -> bool:
    """Return whether every diagonal entry exceeds the rest of its row, for integers: convex by Gershgorin."""
    if values.dtype.kind != "i" or 0 in values.shape:
        return False
    sizes = np.asarray(abs(values).astype(float).sum(axis=1)).ravel()
    return bool(sizes.max() <= EXACT_INTEGERS and (2 * values.diagonal() >= sizes).all())


def _require_convex_dense(values: Array, name: str, exactly: bool) -> None:
    if _is_clearly_convex(values, exactly):
        return
    try:
        matrix = float_array(values)
    except ProblemError:
        matrix = np.zeros(values.shape)  # eigenvalues of 0 leave the decision to exact pivots
    eigenvalues, vectors = np.linalg.eigh(matrix) if values.size else (np.zeros(1), np.zeros((0, 1)))
    slack = CONVEX_SLACK * float(np.max(np.abs(eigenvalues)))
    if eigenvalues[0] > slack:
        return
    if exactly:
        _require_no_direction(values, name)
    elif eigenvalues[0] < -slack:
        raise _not_convex(name, vectors[:, 0], float(eigenvalues[0]))


def _require_no_direction(values: MatrixData, name: str) -> None:
    found = negative_direction(values)
    if found is not None:
        raise _not_convex(name, *found)


def _is_clearly_convex(values: Array, exactly: bool) -> bool:
    """Return whether Cholesky succeeds on P shifted by the slack: much faster than eigenvalues.

    The largest diagonal entry is at most the largest eigenvalue, the largest row sum at least.
    """
    try:
        matrix = np.array(float_array(values))
        with np.errstate(all="ignore"):
            # shifted down, Cholesky proves P definite; shifted up, it proves P convex up to the slack
            room = -np.max(np.abs(matrix).sum(axis=1)) if exactly else np.max(np.diag(matrix))
            matrix[np.diag_indices_from(matrix)] += CONVEX_SLACK * room
            return bool(np.isfinite(np.diag(np.linalg.cholesky(matrix))).all())
    # beyond float64, without rows, or not definite
    except (ProblemError, ValueError, np.linalg.LinAlgError):
        return False


def _require_convex_sparse(values: MatrixData, name: str, exactly: bool) -> None:
    """Raise unless P + slack is definite; exactly: unless P - slack is, or exact pivots find nothing."""
    matrix = float_matrix(values)
    # the largest row sum stands for the largest eigenvalue, which it bounds and which costs more to compute
    slack = CONVEX_SLACK * float(abs(matrix).sum(axis=1).max())
    if exactly and _is_definite(_factored(matrix, -slack)):
        return
    factor = _factored(matrix, slack)
    if not _is_definite(factor):
        d = np.zeros(matrix.shape[0]) if factor is None else _worst_direction(factor)
        curvature = float(d @ (matrix @ d))
        # a factorisation without exchanges may grow without bound: only the curvature itself is a proof
        if not curvature < 0:
            message = "{argument} must be {expected}, which rounding errors leave open for a large matrix"
            remedy = "pass its factor instead: pqp.Gram(F) for F Fᵀ"
            raise ProblemError(message, argument=name, expected="positive semidefinite", remedy=remedy)
        raise _not_convex(name, d, curvature)
    if exactly:
        _require_no_direction(values, name)


def _factored(matrix: MatrixData, shift: float) -> Any:
    """Return P + shift = L U with every pivot taken from the diagonal, or None if one is zero."""
    from scipy.sparse.linalg import splu  # slow to import, and only needed for large sparse matrices

    # no row exchanges: by Sylvester's law the signs of symmetric pivots are those of the eigenvalues
    shifted = (matrix + shift * identity(matrix.shape[0])).tocsc()
    try:
        factor = splu(shifted, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular
        return None
    return factor if (factor.perm_r == factor.perm_c).all() else None


def _is_definite(factor: Any) -> bool:
    """Return whether all pivots are positive; rounding errors are then as small as in Cholesky's method."""
    return factor is not None and bool((factor.U.diagonal() > 0).all())


def _worst_direction(factor: Any) -> Array:
    """Return the d with Lᵀd = e at the smallest pivot of L D Lᵀ, which is its curvature."""
    from scipy.sparse.linalg import spsolve_triangular

    unit = np.zeros(factor.shape[0])
    unit[int(np.argmin(factor.U.diagonal()))] = 1.0
    d = spsolve_triangular(factor.L.T.tocsr(), unit, lower=False, unit_diagonal=True)
    return np.asarray(d[factor.perm_c] / np.linalg.norm(d))


def _not_convex(name: str, direction: Array, curvature: Any) -> NotConvexError:
    listed = ", ".join(shown(entry) for entry in direction[:8]) + (", ..." if len(direction) > 8 else "")
    return NotConvexError(
        f"{{argument}} must be positive semidefinite, but along d = ({listed}) the curvature dᵀ{name}d is "
        f"{shown(curvature)}",
        direction,
        curvature,
        argument=name,
        remedy=f"if {name} is a rounded Gram matrix of deficient rank, pass its factor: pqp.Gram(F) for F Fᵀ",
    )
