r"""Convexity: a symmetric matrix is positive semidefinite, or a direction shows that it is not.

Proofs, the cheapest first: dominant diagonal entries; a float64 Cholesky factorisation that comes through
with room for all its rounding errors; elimination in interval arithmetic (balls), whose pivots surely have a
sign; elimination in rationals.
"""

import numpy as np
import scipy.sparse.linalg
from flint import arb, ctx, fmpq

from pqp.certificate.document import shown
from pqp.certificate.rationals import ExactMatrix, Floats, Sparse
from pqp.errors import CertificateError

# Half the distance from 1 to the next float64 number: the relative rounding error of one operation.
UNIT = 2.0**-53
# Beyond these, float64 is not asked: no product of two may overflow, and what underflow loses, even divided
# by a pivot, must be negligible relative to the room left for rounding.
LARGEST, SMALLEST = 1e100, 1e-80
# Larger parts are too much for a dense factorisation in float64, or for one with balls.
LARGEST_DENSE, LARGEST_BALLS = 4000, 500
# Beyond, all eigenvectors would take more than a second in one call, which Ctrl-C cannot interrupt: one is
# found by Lanczos' method, in so many restarts or not at all.
LARGEST_CALL, LANCZOS_STEPS = 1000, 100
# By how much rounding errors may miss convexity, relative to the largest diagonal entry.
SHORTFALLS = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11)
# Precisions in bits, tried one after the other: a rounded kernel needs a few hundred.
PRECISIONS = (128, 512, 2048)


def require_convex(table: ExactMatrix, place: str) -> None:
    """Raise unless the matrix is symmetric and positive semidefinite."""
    size = table.shape[0]
    rows = [table.row(i) for i in range(size)]
    for i, row in enumerate(rows):
        for j, value in row.items():
            if rows[j].get(i, fmpq(0)) != value:
                pair = f"{shown(value)} at [{i}][{j}] and {shown(rows[j].get(i, fmpq(0)))} at [{j}][{i}]"
                raise CertificateError(argument=place, expected="symmetric", found=pair)
    # a dominant diagonal is enough (Gershgorin), and diagonal matrices are the commonest of all
    if all(_is_dominant(i, row) for i, row in enumerate(rows)):
        return
    # parts on their own: both the cost and the room for rounding errors grow with the size
    for part in _components(rows):
        _require_convex_part([rows[i] for i in part], part, place)


def convexity_shortfall(table: ExactMatrix) -> float | None:
    """Return some small s for which the matrix + s I is surely positive definite, None without one.

    A Gram matrix rounded to float64 has eigenvalues as low as minus its rounding errors.
    """
    size = table.shape[0]
    rows = [table.row(i) for i in range(size)]
    is_symmetric = all(rows[j].get(i, fmpq(0)) == v for i, row in enumerate(rows) for j, v in row.items())
    dense = _approximated(rows) if is_symmetric and 0 < size <= LARGEST_DENSE else None
    if dense is None:
        return None
    for share in SHORTFALLS:
        shift = share * float(np.max(np.diagonal(dense)))
        shifted = dense.copy()
        # rounded down, so that the exact shift is no smaller than the one that was tried
        np.fill_diagonal(shifted, np.nextafter(np.diagonal(dense) + shift, -np.inf))
        if _is_surely_definite(shifted):
            return shift
    return None


def _is_dominant(i: int, row: Sparse) -> bool:
    return row.get(i, fmpq(0)) >= sum((abs(v) for j, v in row.items() if j != i), fmpq(0))


def _components(rows: list[Sparse]) -> list[list[int]]:
    """Return the indices in groups that no entry connects."""
    groups, seen = [], [False] * len(rows)
    for start in range(len(rows)):
        group, waiting = [], [] if seen[start] else [start]
        while waiting:
            i = waiting.pop()
            if not seen[i]:
                seen[i] = True
                group.append(i)
                waiting.extend(rows[i])
        groups += [sorted(group)] if group else []
    return groups


def _require_convex_part(rows: list[Sparse], indices: list[int], place: str) -> None:
    place_of = {index: k for k, index in enumerate(indices)}
    local = [{place_of[j]: value for j, value in row.items()} for row in rows]
    dense = _approximated(local) if len(local) <= LARGEST_DENSE else None
    if dense is not None and _is_surely_definite(dense):
        return
    is_indefinite = dense is not None and _curves_down(local, dense)
    if not is_indefinite:
        precisions = PRECISIONS if len(local) <= LARGEST_BALLS else ()
        sign = next((sign for bits in precisions if (sign := _sign_with_balls(local, bits))), 0)
        is_indefinite = sign < 0 or (sign == 0 and _is_indefinite(local))
    if is_indefinite:
        found = "a direction of negative curvature"
        raise CertificateError(argument=place, expected="positive semidefinite", found=found)


def _approximated(rows: list[Sparse]) -> Floats | None:
    """Return the matrix if float64 holds it exactly and well within its range."""
    dense = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        for j, value in row.items():
            try:
                dense[i, j] = int(value.p) / int(value.q)
            except OverflowError:
                return None
            if fmpq(*float(dense[i, j]).as_integer_ratio()) != value:
                return None
    is_in_range = np.abs(dense).max() < LARGEST and np.trace(dense) > SMALLEST
    return dense if is_in_range else None


def _is_surely_definite(matrix: Floats) -> bool:
    r"""Return whether Cholesky succeeds with room for its rounding errors, which proves definiteness.

    If the factorisation of :math:`K - sI` in float64 runs to its end, then :math:`K` is positive definite
    for :math:`s \ge \gamma_{n+2}(1 - \gamma_{n+2})^{-1} \operatorname{tr} K`, however the sums are ordered
    [Rump 2006, Verification of positive definiteness, BIT 46]. Four times that is taken: it covers the
    rounding of the shift, of the trace and of the difference.
    """
    size, diagonal = len(matrix), np.diagonal(matrix)
    if (diagonal <= 0).any():
        return False
    share = (size + 2) * UNIT / (1 - 2 * (size + 2) * UNIT)
    shifted = matrix.copy()
    np.fill_diagonal(shifted, diagonal - 4 * share * float(diagonal.sum()))
    try:
        factor = np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(factor).all() and (np.diagonal(factor) > SMALLEST).all())


def _curves_down(rows: list[Sparse], dense: Floats) -> bool:
    """Return whether the exact curvature is negative along the worst direction that float64 finds."""
    if len(dense) <= LARGEST_CALL:
        worst = np.linalg.eigh(dense)[1][:, 0]
    else:
        try:
            worst = scipy.sparse.linalg.eigsh(dense, k=1, which="SA", maxiter=LANCZOS_STEPS)[1][:, 0]
        except scipy.sparse.linalg.ArpackNoConvergence:
            return False
    direction = [fmpq(*float(v).as_integer_ratio()) for v in worst]
    curvature = fmpq(0)
    for i, row in enumerate(rows):
        if direction[i]:
            terms = (value * direction[j] for j, value in row.items())
            curvature += direction[i] * sum(terms, fmpq(0))
    return bool(curvature < 0)


def _sign_with_balls(rows: list[Sparse], bits: int) -> int:
    """Return 1 if elimination meets positive pivots only, -1 if a negative one, 0 if that stays unclear.

    Numbers are balls of some precision, which surely hold the exact ones.
    """
    with ctx.workprec(bits):
        table = [[arb(row.get(j, fmpq(0))) for j in range(i + 1)] for i, row in enumerate(rows)]
        for k in range(len(table)):
            pivot = table[k][k]
            # a comparison of balls holds only if it does for all their numbers, so both may be false
            if not pivot > 0:
                return -1 if pivot < 0 else 0
            column = [table[i][k] for i in range(k + 1, len(table))]
            for i, above in enumerate(column, start=k + 1):
                factor, row = above / pivot, table[i]
                for j in range(k + 1, i + 1):
                    row[j] -= factor * column[j - k - 1]
    return 1


def _is_indefinite(rows: list[Sparse]) -> bool:
    """Return whether symmetric elimination in rationals meets a negative curvature.

    Pivots are positive diagonal entries with the fewest neighbours; the matrix is positive semidefinite if
    and only if no diagonal entry turns negative and the row of every zero diagonal entry vanishes.
    """
    rest = {i: dict(row) for i, row in enumerate(rows)}
    while rest:
        for i, row in rest.items():
            corner = row.get(i, fmpq(0))
            if corner < 0 or (not corner and row):
                return True
        pivots = [i for i, row in rest.items() if row]
        if not pivots:
            return False
        # few neighbours, little fill-in; rationals grow with every operation
        pivot = min(pivots, key=lambda i: len(rest[i]))
        row = rest.pop(pivot)
        corner = row.pop(pivot)
        for i, value in row.items():
            below = rest[i]
            del below[pivot]
            factor = value / corner
            for j, other in row.items():
                changed = below.get(j, fmpq(0)) - factor * other
                if changed:
                    below[j] = changed
                else:
                    below.pop(j, None)
    return False
